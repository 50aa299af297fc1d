//! `auto` through the one door: every stage judged by labels that were held back, the best kept; and what stops and
//! checkpoints of any method do.

use crate::common;
use std::sync::Mutex;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treeport::fit::{EdgeOptions, Stage, Start, fit_labels};
use treeport::learn::{Checkpoint, resume};
use treeport::progress::State;
use treeport::progress::tasks;
use treeport::progress::tasks::{EDGES, LEARNING, POINTS};
use treeport::{
    Error, Fit, FitOptions, GroundMetric, Kind, Labeled, LearnOptions, Linkage, Measures, Method,
    PointMetric, Progress, Tree, fit, learn, linkage, silent,
};

/// Points in the square, measures on a few of them, and labels between neighbors in the list.
struct Scene {
    metric: GroundMetric,
    data: Labeled,
    start: Tree,
}

impl Scene {
    /// Distances times `unit`.
    fn new(points: usize, labels: usize, unit: f64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let coordinates = (0..2 * points).map(|_| unit * rng.random::<f64>()).collect();
        let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
        let mut row = || -> Vec<(usize, f64)> {
            (0..6).map(|_| (rng.random_range(0..points), rng.random())).collect()
        };
        let rows: Vec<_> = (0..2 * labels).map(|_| row()).collect();
        let measures = Measures::from_rows(points, rows).unwrap().normalized();
        let pairs = (0..labels).map(|k| (2 * k, 2 * k + 1)).collect();
        let data = Labeled::solve(&metric, &measures, pairs, &silent).unwrap();
        let start = linkage(&metric, Linkage::Average, &treeport::silent).unwrap();
        Self { metric, data, start }
    }

    fn fit(&self, options: &FitOptions) -> Fit {
        self.stopped(options, &silent)
    }

    fn stopped(&self, options: &FitOptions, progress: &Progress<'_>) -> Fit {
        fit(&self.metric, Some(&self.data), options, progress).unwrap()
    }

    /// Stops at a step of learning: what is given back, and the checkpoint left.
    fn stopped_at(&self, options: &FitOptions, step: usize) -> (Fit, Checkpoint) {
        let left = Mutex::new(None);
        let keep = |state: &State<'_>| {
            if state.task != LEARNING {
                return true;
            }
            *left.lock().unwrap() = state.checkpoint.map(|make| make());
            state.done < step
        };
        let stopped = self.stopped(options, &keep);
        let bytes = left.into_inner().unwrap().expect("learning has begun");
        let from = Checkpoint::from_bytes(&bytes).unwrap();
        assert_eq!(from.step(), step);
        (stopped, from)
    }
}

fn tree(fitted: &Fit) -> &Tree {
    fitted.model.tree().expect("one tree")
}

fn error_of(fitted: &Fit, stage: Stage) -> f64 {
    fitted.stage_errors.iter().find(|e| e.0 == stage).unwrap().1
}

/// The error on some labels, after the factor that others give.
fn error_after_factor(tree: &Tree, train: &Labeled, test: &Labeled) -> f64 {
    let predicted = |data: &Labeled| tree.pairs(data.measures(), data.pairs(), &silent).unwrap();
    let factor = train.factor(&predicted(train));
    let scaled: Vec<f64> = predicted(test).iter().map(|p| factor * p).collect();
    test.score(&scaled).mean
}

fn seeded(seed: u64) -> FitOptions {
    FitOptions { epochs: Some(10), seed, ..FitOptions::of(Method::Tree) }
}

#[test]
fn what_is_kept_is_the_best_of_all_stages() {
    let scene = Scene::new(40, 320, 1.0);
    for seed in 0..3 {
        let fitted = scene.fit(&seeded(seed));
        let stages: Vec<Stage> = fitted.stage_errors.iter().map(|e| e.0).collect();
        assert_eq!(stages, [Stage::Start, Stage::Points, Stage::Learned, Stage::Edges]);
        let best = fitted.stage_errors.iter().map(|e| e.1).fold(f64::INFINITY, f64::min);
        assert!(error_of(&fitted, fitted.stage.unwrap()) <= best * (1.0 + 1e-8));
        assert!(best <= error_of(&fitted, Stage::Start) && fitted.finished);
    }
}

#[test]
fn few_labels_keep_edges_only_where_they_clearly_win() {
    let scene = Scene::new(40, 320, 1.0);
    let (mut won, mut kept) = (0, 0);
    for seed in 0..30 {
        let (few, _) = scene.data.split(0.9, seed);
        let fitted = fit(&scene.metric, Some(&few), &seeded(seed), &silent).unwrap();
        let (learned, edges) = (error_of(&fitted, Stage::Learned), error_of(&fitted, Stage::Edges));
        won += usize::from(edges < learned * (1.0 - 1e-8));
        kept += usize::from(fitted.stage == Some(Stage::Edges));
    }
    // Of 32 labels six judge: luck makes most of the gains.
    assert!(won >= 15 && kept <= won / 3, "{kept} kept of {won} that won");
}

#[test]
fn auto_is_the_tree_or_the_slices_whichever_held_out_labels_favor() {
    let scene = Scene::new(40, 320, 1.0);
    for (labels, takes_slices) in [(3, false), (320, true)] {
        let (some, _) = scene.data.split_at(labels);
        let fit = |method| {
            let options = FitOptions { method, ..seeded(2) };
            fit(&scene.metric, Some(&some), &options, &silent).unwrap()
        };
        let (auto, tree) = (fit(None), fit(Some(Method::Tree)));
        let found = error_of(&auto, Stage::Slices);
        let best = error_of(&tree, tree.stage.unwrap());
        assert_eq!(auto.stage_errors[..tree.stage_errors.len()], tree.stage_errors);
        assert_eq!(auto.stage == Some(Stage::Slices), found < 0.9 * best);
        assert_eq!(auto.stage == Some(Stage::Slices), takes_slices, "{found} for {best}");
        let options = FitOptions { seed: 2, ..FitOptions::of(Method::Slices) };
        let slices = treeport::fit(&scene.metric, Some(&some), &options, &silent).unwrap();
        let kept = if takes_slices { slices.model } else { tree.model };
        assert_eq!(auto.model, kept);
    }
}

/// Held-out pairs share their measures with the training pairs, so a tree that gains on them may
/// lose on new measures.
#[test]
fn auto_is_better_than_its_start_on_new_measures_of_the_whole_globe() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let mut place =
        || [rng.random_range(-1.0_f64..1.0).asin().to_degrees(), rng.random_range(-180.0..180.0)];
    let places = (0..150).flat_map(|_| place()).collect();
    let metric = GroundMetric::from_points(2, places, PointMetric::Haversine).unwrap();
    for seed in 0..3 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |count: usize, pairs: usize| {
            let masses: Vec<f64> = (0..150 * count).map(|_| rng.random_range(0.0..1.0)).collect();
            let measures = Measures::from_dense(150, &masses).unwrap().normalized();
            Labeled::sample(&metric, &measures, pairs, seed, &silent).unwrap()
        };
        let (train, test) = (draw(60, 150), draw(30, 100));
        let error = |method| {
            let options = FitOptions {
                epochs: (method != Method::Average).then_some(50),
                seed,
                ..FitOptions::of(method)
            };
            let model = fit(&metric, Some(&train), &options, &silent).unwrap().model;
            test.score(&model.pairs(test.measures(), test.pairs(), &silent).unwrap()).mean
        };
        let (start, auto) = (error(Method::Average), error(Method::Auto));
        assert!(auto < 0.7 * start, "{auto} for {start}");
    }
}

#[test]
fn a_tree_starts_at_average_linkage() {
    let scene = Scene::new(30, 40, 1.0);
    let auto = scene.fit(&seeded(0));
    for start in [Start::Tree(scene.start.clone()), Start::Linkage(Linkage::Average)] {
        assert_eq!(scene.fit(&FitOptions { start: Some(start), ..seeded(0) }), auto);
    }
    let single = Start::Linkage(Linkage::Single);
    let other = scene.fit(&FitOptions { start: Some(single), ..seeded(0) });
    assert_ne!(error_of(&other, Stage::Start), error_of(&auto, Stage::Start));
}

#[test]
fn all_labels_choose_between_the_start_and_the_fit_to_points() {
    let scene = Scene::new(40, 60, 1.0);
    let mut seen = [false; 2];
    for seed in 0..20 {
        // Few points and few labels: now one is better, now the other.
        let options = FitOptions { epochs: Some(0), point_pairs: Some(10), ..seeded(seed) };
        let fitted = scene.fit(&options);
        let points = Labeled::of_points(&scene.metric, 10, seed).unwrap();
        let edges =
            EdgeOptions { tolerance: 1e-5, max_iterations: 100, seed, ..EdgeOptions::default() };
        let points = fit_labels(&scene.start, &points, &edges, &silent).unwrap().tree;
        let error = |tree: &Tree| error_after_factor(tree, &scene.data, &scene.data);
        let better = error(&points) < error(&scene.start);
        let first = if better { Stage::Points } else { Stage::Start };
        // Without epochs the learner only rescales, which rounds.
        let learned = error_of(&fitted, Stage::Learned);
        assert!((learned - error_of(&fitted, first)).abs() < 1e-12, "{:?}", fitted.stage_errors);
        assert_ne!(fitted.stage, Some(Stage::Learned));
        if fitted.stage == Some(first) {
            let kept = if better { &points } else { &scene.start };
            assert!((error(tree(&fitted)) - error(kept)).abs() < 1e-9);
            let predicted = |t: &Tree| t.pairs(scene.data.measures(), scene.data.pairs(), &silent);
            let factor = scene.data.factor(&predicted(tree(&fitted)).unwrap());
            assert!((factor - 1.0).abs() < 1e-12, "all labels set the scale, not {factor}");
        }
        seen[usize::from(better)] = true;
    }
    assert_eq!(seen, [true; 2]);
}

#[test]
fn labels_held_back_that_are_0_leave_the_choice_to_the_others() {
    let mut scene = Scene::new(40, 5, 1.0);
    // A measure that is the same as another, and every one of five labels held back by some seed.
    let (mut pairs, mut distances) = (scene.data.pairs().to_vec(), scene.data.distances().to_vec());
    (pairs[3], distances[3]) = ((6, 6), 0.0);
    scene.data = Labeled::new(scene.data.measures(), pairs, distances).unwrap();
    for seed in 0..20 {
        let fitted = scene.fit(&seeded(seed));
        assert!(fitted.stage_errors.iter().all(|e| e.1.is_finite()), "{:?}", fitted.stage_errors);
        assert_ne!(tree(&fitted), &scene.start);
    }
}

#[test]
fn unseen_pairs_gain_over_the_start() {
    let scene = Scene::new(40, 400, 1.0);
    let (train, test) = scene.data.split_at(200);
    let fitted = fit(&scene.metric, Some(&train), &seeded(0), &silent).unwrap();
    let error = |tree: &Tree| error_after_factor(tree, &train, &test);
    let (start, ours) = (error(&scene.start), error(tree(&fitted)));
    // 0.147 and 0.106 where this was written.
    assert!(ours < 0.85 * start, "{ours} after {start}");
}

#[test]
fn a_seed_names_the_tree_on_any_number_of_threads() {
    let scene = Scene::new(30, 40, 1.0);
    let with = |threads: usize, seed: u64| common::on_threads(threads, || scene.fit(&seeded(seed)));
    assert_eq!(with(1, 3), with(2, 3));
    assert_ne!(with(1, 3).model, with(1, 4).model);
}

#[test]
fn distances_times_a_power_of_two_give_the_tree_times_it() {
    let plain = Scene::new(25, 30, 1.0).fit(&seeded(1));
    for unit in [2f64.powi(-300), 0.25, 2f64.powi(300)] {
        let scaled = Scene::new(25, 30, unit).fit(&seeded(1));
        assert_eq!((scaled.stage, &scaled.stage_errors), (plain.stage, &plain.stage_errors));
        assert_eq!(scaled.model, plain.model.scaled(unit).unwrap());
    }
}

#[test]
fn without_labels_pairs_of_points_teach() {
    let scene = Scene::new(30, 5, 1.0);
    let options = FitOptions { epochs: Some(5), ..FitOptions::default() };
    let fitted = fit(&scene.metric, None, &options, &silent).unwrap();
    let points = Labeled::of_points(&scene.metric, 10_000, 0).unwrap();
    let learning = LearnOptions { epochs: 5, ..LearnOptions::default() };
    let learned = learn(&scene.start, &points, &learning, &silent).unwrap();
    assert_eq!((tree(&fitted), &fitted.history), (&learned.tree, &learned.history));
    // `tree` has all stages even then, and `auto` no others.
    for method in [Method::Tree, Method::Auto] {
        let options = FitOptions { method: Some(method), ..seeded(0) };
        let fitted = fit(&scene.metric, None, &options, &silent).unwrap();
        assert_eq!((fitted.stage_errors.len(), fitted.history.len()), (4, 11));
    }
}

#[test]
fn a_learned_tree_is_the_learners_to_the_bit() {
    let scene = Scene::new(30, 40, 1.0);
    for method in [Method::Additive, Method::Ultrametric, Method::SkipMst] {
        for scale in [true, false] {
            let options = FitOptions { epochs: Some(4), scale, seed: 3, ..FitOptions::of(method) };
            let fitted = scene.fit(&options);
            let kind = method.kind().unwrap();
            let options =
                LearnOptions { kind, epochs: 4, scale, seed: 3, ..LearnOptions::default() };
            let learned = learn(&scene.start, &scene.data, &options, &silent).unwrap();
            assert_eq!((tree(&fitted), &fitted.history), (&learned.tree, &learned.history));
            assert_eq!(
                (fitted.best_epoch, fitted.finished, fitted.stage),
                (learned.best_epoch, true, None)
            );
        }
    }
}

#[test]
fn a_stop_in_any_stage_gives_the_best_so_far() {
    let scene = Scene::new(30, 40, 1.0);
    let at = |task: &'static str| scene.stopped(&seeded(0), &|state| state.task != task);
    let (at_points, at_learning, at_edges) = (at(POINTS), at(LEARNING), at(EDGES));
    for fitted in [&at_points, &at_learning, &at_edges] {
        assert!(!fitted.finished);
        let error = |tree: &Tree| error_after_factor(tree, &scene.data, &scene.data);
        assert!(error(tree(fitted)) <= error(&scene.start) * (1.0 + 1e-12));
        assert!(fitted.stage_errors.iter().all(|e| e.0 != Stage::Edges));
    }
    assert!(at_points.stage_errors.iter().all(|e| e.0 != Stage::Points));
    assert_eq!(at_learning.history.len(), 1);
    assert_eq!(at_edges.history.len(), 11);
}

#[test]
fn one_learned_tree_gives_the_best_so_far_and_all_others_are_canceled() {
    let scene = Scene::new(30, 40, 1.0);
    for &method in Method::ALL {
        let options = FitOptions::of(method);
        let heard = Mutex::new(0);
        // Of a learned tree there is nothing to give back before its start is there.
        let learned = method == Method::Auto || method.kind().is_some();
        let stop = |state: &State<'_>| {
            if learned && [tasks::BUILDING, tasks::DISTANCES].contains(&state.task) {
                return true;
            }
            *heard.lock().unwrap() += 1;
            false
        };
        let stopped = fit(&scene.metric, Some(&scene.data), &options, &stop);
        if heard.into_inner().unwrap() == 0 {
            // Nothing that takes long.
            assert!(stopped.unwrap().finished, "{method}");
        } else if learned {
            let stopped = stopped.unwrap();
            assert!(!stopped.finished && stopped.model.tree().is_some(), "{method}");
            assert_eq!((stopped.history.len(), stopped.best_epoch), (1, 0), "{method}");
        } else {
            assert!(matches!(stopped, Err(Error::Canceled)), "{method}");
        }
    }
}

#[test]
fn forests_are_canceled_in_every_part_of_the_work() {
    let scene = Scene::new(30, 40, 1.0);
    let options = FitOptions { epochs: Some(2), ..FitOptions::of(Method::LearnedForest) };
    let tasks = Mutex::new(Vec::new());
    let listen = |state: &State<'_>| {
        let mut tasks = tasks.lock().unwrap();
        if tasks.last() != Some(&state.task) {
            tasks.push(state.task);
        }
        true
    };
    scene.stopped(&options, &listen);
    let tasks = tasks.into_inner().unwrap();
    // Edges fitted together are not kept here: trees are weighted by all labels in the end.
    let wanted =
        ["building trees", "fitting points", "learning", "distances", "fitting edges", "distances"];
    assert_eq!(tasks, wanted);
    for task in tasks {
        for done in [0, 3] {
            let stop = |state: &State<'_>| state.task != task || state.done <= done;
            let stopped = fit(&scene.metric, Some(&scene.data), &options, &stop);
            assert!(matches!(stopped, Err(Error::Canceled)), "{task} after {done}");
        }
    }
}

#[test]
fn labels_that_say_nothing_leave_the_start() {
    let mut scene = Scene::new(10, 5, 1.0);
    scene.data = common::relabeled(&scene.data, |_, _| 0.0);
    let fitted = scene.fit(&seeded(0));
    assert_eq!((fitted.stage, tree(&fitted)), (Some(Stage::Start), &scene.start));
    let same = GroundMetric::from_condensed(3, vec![0.0; 3]).unwrap();
    let measures = Measures::unit_masses(3, 0..3).unwrap();
    let data = Labeled::new(&measures, vec![(0, 1), (1, 2)], vec![0.0, 0.0]).unwrap();
    let fitted = fit(&same, Some(&data), &seeded(0), &silent).unwrap();
    assert_eq!(fitted.model.leaf_distance(0, 2), 0.0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let scene = Scene::new(10, 5, 1.0);
    let other = Scene::new(11, 5, 1.0);
    let run = |data: &Labeled, options: &FitOptions| {
        fit(&scene.metric, Some(data), options, &silent).unwrap_err()
    };
    let usual = seeded(0);
    let elsewhere = FitOptions { start: Some(Start::Tree(other.start)), ..usual.clone() };
    let error = run(&scene.data, &elsewhere);
    assert!(matches!(error, Error::BadOption { option: "start", .. }), "{error}");
    let error = run(&other.data, &usual);
    assert!(matches!(error, Error::PointCount { .. }), "{error}");
    let error = run(&scene.data.split_at(0).0, &usual);
    assert!(matches!(error, Error::NothingToLearn { .. }), "{error}");
    let bad = FitOptions { validation_fraction: Some(1.0), ..usual.clone() };
    let error = run(&scene.data, &bad);
    assert!(matches!(error, Error::BadOption { option: "validation_fraction", .. }), "{error}");
    let error = run(&scene.data, &FitOptions { point_pairs: Some(0), ..usual.clone() });
    assert!(matches!(error, Error::BadOption { option: "point_pairs", .. }), "{error}");
    let (_, of_other) = Scene::new(11, 5, 1.0).stopped_at(&usual, 1);
    let error = run(&scene.data, &FitOptions { resume: Some(of_other), ..usual });
    assert!(error.to_string().contains("other points"), "{error}");
}

#[test]
fn a_checkpoint_of_learning_goes_on_to_the_same_tree() {
    let scene = Scene::new(30, 40, 1.0);
    for method in [Method::Auto, Method::Additive, Method::Ultrametric, Method::SkipMst] {
        let options = FitOptions { method: Some(method), ..seeded(3) };
        let whole = scene.fit(&options);
        for at in [1, 7, 20] {
            let (stopped, from) = scene.stopped_at(&options, at);
            assert!(!stopped.finished);
            let again = scene.fit(&FitOptions { resume: Some(from), ..options.clone() });
            assert_eq!(again, whole, "{method} from {at}");
        }
    }
}

#[test]
fn a_checkpoint_of_the_door_is_one_of_the_learner() {
    let scene = Scene::new(30, 40, 1.0);
    let options = FitOptions { method: Some(Method::Additive), ..seeded(3) };
    let (_, from) = scene.stopped_at(&options, 7);
    let learning =
        LearnOptions { kind: Kind::Additive, epochs: 10, seed: 3, ..LearnOptions::default() };
    let resumed = resume(Some(&from), &scene.start, &scene.data, &learning, &silent).unwrap();
    assert_eq!(&resumed.tree, tree(&scene.fit(&options)));
}

#[test]
fn without_labels_a_checkpoint_goes_on_to_the_same_tree_too() {
    let scene = Scene::new(20, 5, 1.0);
    for method in [Method::Auto, Method::Additive] {
        let options = FitOptions { epochs: Some(3), ..FitOptions::of(method) };
        let whole = fit(&scene.metric, None, &options, &silent).unwrap();
        let left = Mutex::new(None);
        let keep = |state: &State<'_>| {
            if let Some(make) = state.checkpoint {
                *left.lock().unwrap() = Some(make());
            }
            state.task != LEARNING || state.done < 11
        };
        assert!(!fit(&scene.metric, None, &options, &keep).unwrap().finished);
        let from = Checkpoint::from_bytes(&left.into_inner().unwrap().unwrap()).unwrap();
        let options = FitOptions { resume: Some(from), ..options };
        assert_eq!(fit(&scene.metric, None, &options, &silent).unwrap(), whole, "{method}");
    }
}
