//! `baseline::fit`: every stage judged by labels that were held back, the best kept.

use std::sync::Mutex;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treeport::baseline::{Doing, Fit, FitOptions, Stage, fit, resume_fit};
use treeport::{Error, GroundMetric, Labels, LearnOptions, Linkage, Measures, Norm, Tree};
use treeport::{exact, linkage, silent};

/// Points in the square, measures on a few of them, and labels between neighbors in the list.
struct Data {
    metric: GroundMetric,
    measures: Measures,
    labels: Labels,
    start: Tree,
}

impl Data {
    /// Distances times `unit`.
    fn new(points: usize, labels: usize, unit: f64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let coordinates = (0..2 * points).map(|_| unit * rng.random::<f64>()).collect();
        let metric = GroundMetric::from_points(2, coordinates, Norm::Euclidean).unwrap();
        let mut row = || -> Vec<(usize, f64)> {
            (0..6).map(|_| (rng.random_range(0..points), rng.random())).collect()
        };
        let rows: Vec<_> = (0..2 * labels).map(|_| row()).collect();
        let measures = Measures::from_rows(points, rows).unwrap().normalized();
        let pairs: Vec<_> = (0..labels).map(|k| (2 * k, 2 * k + 1)).collect();
        let distances = exact::pairs(&metric, &measures, &pairs, &silent).unwrap();
        let start = linkage(&metric, Linkage::Average).unwrap();
        Self { metric, measures, labels: Labels { pairs, distances }, start }
    }

    fn fit(&self, options: &FitOptions) -> Fit {
        self.stopped(options, &|_| true)
    }

    fn stopped(&self, options: &FitOptions, go_on: &(dyn Fn(&Doing<'_>) -> bool + Sync)) -> Fit {
        let Self { metric, measures, labels, start } = self;
        fit(start, metric, measures, labels, options, go_on).unwrap()
    }
}

fn seeded(seed: u64) -> FitOptions {
    let defaults = FitOptions::default();
    FitOptions { learn: LearnOptions { epochs: 10, seed, ..defaults.learn }, ..defaults }
}

#[test]
fn what_is_kept_is_the_best_of_all_stages() {
    let data = Data::new(40, 60, 1.0);
    for seed in 0..5 {
        let fitted = data.fit(&seeded(seed));
        let stages: Vec<Stage> = fitted.errors.iter().map(|e| e.0).collect();
        assert_eq!(stages, [Stage::Start, Stage::Points, Stage::Learned, Stage::Edges]);
        let of = |stage| fitted.errors.iter().find(|e| e.0 == stage).unwrap().1;
        let best = fitted.errors.iter().map(|e| e.1).fold(f64::INFINITY, f64::min);
        assert!(of(fitted.stage) <= best * (1.0 + 1e-8));
        assert!(best <= of(Stage::Start) && fitted.finished);
    }
}

#[test]
fn learning_starts_from_the_better_of_the_start_and_the_fit_to_points() {
    let data = Data::new(40, 60, 1.0);
    let mut seen = [false; 2];
    for seed in 0..20 {
        let mut options = seeded(seed);
        // Few points and few labels: now one is better, now the other.
        options.learn.epochs = 0;
        options.weights.pairs = 10;
        let fitted = data.fit(&options);
        let of = |stage| fitted.errors.iter().find(|e| e.0 == stage).unwrap().1;
        let (start, points) = (of(Stage::Start), of(Stage::Points));
        // The learner rescales, which rounds.
        assert!((of(Stage::Learned) - start.min(points)).abs() < 1e-12);
        assert_ne!(fitted.stage, Stage::Learned);
        seen[usize::from(points < start)] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn labels_held_back_that_are_0_leave_the_choice_to_the_others() {
    let mut data = Data::new(40, 5, 1.0);
    // A measure that is the same as another, and every one of five labels held back by some seed.
    data.labels.pairs[3] = (6, 6);
    data.labels.distances[3] = 0.0;
    for seed in 0..20 {
        let fitted = data.fit(&seeded(seed));
        assert!(fitted.errors.iter().all(|e| e.1.is_finite()), "{:?}", fitted.errors);
        assert_ne!(fitted.tree, data.start);
    }
}

#[test]
fn unseen_pairs_gain_over_the_start() {
    let data = Data::new(40, 400, 1.0);
    let (train, test) = (0..200, 200..400);
    let part = |range: std::ops::Range<usize>| Labels {
        pairs: data.labels.pairs[range.clone()].to_vec(),
        distances: data.labels.distances[range].to_vec(),
    };
    let (train, test) = (part(train), part(test));
    let fitted =
        fit(&data.start, &data.metric, &data.measures, &train, &seeded(0), &|_| true).unwrap();
    let error = |tree: &Tree| {
        let ratios = |labels: &Labels| -> Vec<f64> {
            let predicted = tree.pairs(&data.measures, &labels.pairs, &silent).unwrap();
            predicted.iter().zip(&labels.distances).map(|(p, d)| p / d).collect()
        };
        let mut known = ratios(&train);
        known.sort_by(f64::total_cmp);
        let middle = known[known.len() / 2];
        let errors = ratios(&test).into_iter().map(|r| (r / middle - 1.0).abs());
        errors.sum::<f64>() / test.pairs.len() as f64
    };
    let (start, ours) = (error(&data.start), error(&fitted.tree));
    // 0.147 and 0.106 where this was written.
    assert!(ours < 0.85 * start, "{ours} after {start}");
}

#[test]
fn a_seed_names_the_tree_on_any_number_of_threads() {
    let data = Data::new(30, 40, 1.0);
    let with = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| data.fit(&seeded(seed)).tree)
    };
    assert_eq!(with(1, 3), with(2, 3));
    assert_ne!(with(1, 3), with(1, 4));
}

#[test]
fn distances_times_a_power_of_two_give_the_tree_times_it() {
    let plain = Data::new(25, 30, 1.0).fit(&seeded(1));
    for unit in [2f64.powi(-300), 0.25, 2f64.powi(300)] {
        let scaled = Data::new(25, 30, unit).fit(&seeded(1));
        assert_eq!((scaled.stage, &scaled.errors), (plain.stage, &plain.errors));
        assert_eq!(scaled.tree, plain.tree.scaled(unit).unwrap());
    }
}

#[test]
fn a_stop_in_any_stage_gives_the_best_so_far() {
    let data = Data::new(30, 40, 1.0);
    let at_points = data.stopped(&seeded(0), &|doing| !matches!(doing, Doing::Points(_)));
    let at_learning = data.stopped(&seeded(0), &|doing| !matches!(doing, Doing::Learning(_)));
    let at_edges = data.stopped(&seeded(0), &|doing| !matches!(doing, Doing::Edges(_)));
    for fitted in [&at_points, &at_learning, &at_edges] {
        assert!(!fitted.finished);
        let start = fitted.errors[0].1;
        assert!(fitted.errors.iter().any(|e| e.0 == fitted.stage && e.1 <= start));
        assert!(fitted.errors.iter().all(|e| e.0 != Stage::Edges));
    }
    assert!(at_points.errors.iter().all(|e| e.0 != Stage::Points));
    assert_eq!(at_learning.learned.history.len(), 1);
    assert_eq!(at_edges.learned.history.len(), 11);
}

#[test]
fn labels_that_say_nothing_leave_the_start() {
    let mut data = Data::new(10, 5, 1.0);
    data.labels.distances.fill(0.0);
    let fitted = data.fit(&seeded(0));
    assert_eq!((fitted.stage, fitted.tree), (Stage::Start, data.start));
    let same = GroundMetric::from_condensed(3, vec![0.0; 3]).unwrap();
    let measures = Measures::unit_masses(3, 0..3).unwrap();
    let labels = Labels { pairs: vec![(0, 1), (1, 2)], distances: vec![0.0, 0.0] };
    let start = linkage(&same, Linkage::Average).unwrap();
    let fitted = fit(&start, &same, &measures, &labels, &seeded(0), &|_| true).unwrap();
    assert_eq!(fitted.tree.leaf_distance(0, 2), 0.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let data = Data::new(10, 5, 1.0);
    let other = Data::new(11, 5, 1.0);
    let run = |start: &Tree, measures: &Measures, labels: &Labels, options: &FitOptions| {
        fit(start, &data.metric, measures, labels, options, &|_| true).unwrap_err()
    };
    let usual = seeded(0);
    let error = run(&other.start, &data.measures, &data.labels, &usual);
    assert!(matches!(error, Error::PointCount { .. }), "{error}");
    let error = run(&data.start, &other.measures, &data.labels, &usual);
    assert!(matches!(error, Error::PointCount { .. }), "{error}");
    let error = run(&data.start, &data.measures, &Labels::default(), &usual);
    assert!(matches!(error, Error::NothingToLearn { .. }), "{error}");
    let mut bad = usual.clone();
    bad.learn.validation = 1.0;
    let error = run(&data.start, &data.measures, &data.labels, &bad);
    assert!(matches!(error, Error::BadOption { option: "validation", .. }), "{error}");
    let mut bad = usual;
    bad.weights.tolerance = f64::NAN;
    let error = run(&data.start, &data.measures, &data.labels, &bad);
    assert!(matches!(error, Error::BadOption { option: "tolerance", .. }), "{error}");
}

#[test]
fn a_checkpoint_of_learning_goes_on_to_the_same_tree() {
    let data = Data::new(30, 40, 1.0);
    let whole = data.fit(&seeded(3));
    for at in [1, 7, 20] {
        let kept = Mutex::new(None);
        let stopped = data.stopped(&seeded(3), &|doing| {
            let Doing::Learning(status) = doing else { return true };
            *kept.lock().unwrap() = Some(status.checkpoint());
            status.step < at
        });
        assert!(!stopped.finished);
        let from = kept.into_inner().unwrap().unwrap();
        assert_eq!(from.step(), at);
        let Data { metric, measures, labels, start } = &data;
        let again =
            resume_fit(&from, start, metric, measures, labels, &seeded(3), &|_| true).unwrap();
        assert_eq!((&again.tree, again.stage), (&whole.tree, whole.stage));
        assert_eq!((&again.errors, again.finished), (&whole.errors, true));
        assert_eq!(again.learned.history, whole.learned.history);
    }
}
