//! What learning promises whatever the data: equivariance, determinism, honest stops and errors.

use crate::common;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treeport::learn::{Checkpoint, Loss, Schedule, resume};
use treeport::progress::State;
use treeport::progress::tasks::LEARNING;
use treeport::{
    Error, GroundMetric, Kind, Labeled, LearnOptions, Learned, Linkage, Measures, Tree, learn,
    linkage, silent,
};

const KINDS: [Kind; 3] = [Kind::Ultrametric, Kind::Additive, Kind::SkipMst];

/// A random metric's average linkage, and labels from the single linkage of another random metric.
#[derive(Clone)]
struct Problem {
    start: Tree,
    data: Labeled,
}

fn random_metric(n: usize, rng: &mut Xoshiro256PlusPlus) -> GroundMetric {
    let distances = (0..n * (n - 1) / 2).map(|_| rng.random_range(1.0..2.0)).collect();
    GroundMetric::from_condensed(n, distances).unwrap()
}

fn problem(n: usize, seed: u64) -> Problem {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let start = linkage(&random_metric(n, &mut rng), Linkage::Average, &treeport::silent).unwrap();
    let hidden =
        linkage(&random_metric(n, &mut rng), Linkage::Complete, &treeport::silent).unwrap();
    let masses: Vec<f64> = (0..60 * n).map(|_| rng.random()).collect();
    let measures = Measures::from_dense(n, &masses).unwrap().normalized();
    let pairs: Vec<(usize, usize)> =
        (0..80).map(|k| (k % 60, (7 * k + 1 + k / 60) % 60)).filter(|(i, j)| i != j).collect();
    let distances = hidden.pairs(&measures, &pairs, &silent).unwrap();
    Problem { start, data: Labeled::new(&measures, pairs, distances).unwrap() }
}

fn run(problem: &Problem, options: &LearnOptions) -> Learned {
    learn(&problem.start, &problem.data, options, &silent).unwrap()
}

/// The same labels between other measures.
fn with_measures(data: &Labeled, measures: &Measures) -> Labeled {
    Labeled::new(measures, data.pairs().to_vec(), data.distances().to_vec()).unwrap()
}

fn options(kind: Kind) -> LearnOptions {
    LearnOptions { kind, epochs: 10, batch_size: 7, ..LearnOptions::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn distances_times_a_power_of_two_give_that_tree_times_it_exactly(
        seed in any::<u64>(), n in 2..30usize, power in -8..8i32,
    ) {
        let factor = 2f64.powi(power);
        let small = problem(n, seed);
        let large = Problem {
            start: small.start.scaled(factor).unwrap(),
            data: common::relabeled(&small.data, |_, d| d * factor),
        };
        for kind in KINDS {
            let (small, large) = (run(&small, &options(kind)), run(&large, &options(kind)));
            prop_assert_eq!(&large.tree, &small.tree.scaled(factor).unwrap());
            prop_assert_eq!(&large.history, &small.history);
        }
    }

    #[test]
    fn distances_times_any_number_give_the_tree_times_it(
        seed in any::<u64>(), n in 2..20usize, factor in 1e-3..1e3,
    ) {
        let small = problem(n, seed);
        let large = Problem {
            start: small.start.scaled(factor).unwrap(),
            data: common::relabeled(&small.data, |_, d| d * factor),
        };
        // The additive kind meets ties that rounding breaks one way or the other: powers of two only.
        for kind in [Kind::Ultrametric, Kind::SkipMst] {
            let (small, large) = (run(&small, &options(kind)), run(&large, &options(kind)));
            for (i, j) in common::pairs(n) {
                let (one, other) = (small.tree.leaf_distance(i, j), large.tree.leaf_distance(i, j));
                prop_assert!((factor * one - other).abs() < 1e-6 * factor, "{kind:?} {one} {other}");
            }
        }
    }

    #[test]
    fn the_order_of_points_does_not_matter(seed in any::<u64>(), n in 2..20usize) {
        let first = problem(n, seed);
        let order = common::shuffled(n, seed);
        let rows = first.data.measures().iter();
        let rows = rows.map(|m| m.iter().map(|(p, mass)| (order[p], mass)));
        let second = Problem {
            start: common::with_leaves_at(&first.start, &order),
            data: with_measures(&first.data, &Measures::from_rows(n, rows).unwrap()),
        };
        // The additive kind draws a point by number each step, so it is left out.
        for kind in [Kind::Ultrametric, Kind::SkipMst] {
            let (one, other) = (run(&first, &options(kind)), run(&second, &options(kind)));
            for (i, j) in common::pairs(n) {
                let other = other.tree.leaf_distance(order[i], order[j]);
                prop_assert!((one.tree.leaf_distance(i, j) - other).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    // Large enough that batches are shared between threads.
    let problem = problem(3000, 5);
    let on = |threads: usize, kind: Kind| {
        let options = LearnOptions { epochs: 2, batch_size: 32, ..options(kind) };
        common::on_threads(threads, || run(&problem, &options))
    };
    for kind in KINDS {
        let (one, many) = (on(1, kind), on(4, kind));
        assert_eq!(one.tree, many.tree);
        assert_eq!(one.history, many.history);
    }
}

#[test]
fn the_seed_decides() {
    let problem = problem(20, 1);
    let seeded = |seed| run(&problem, &LearnOptions { seed, ..options(Kind::Ultrametric) }).tree;
    assert_eq!(seeded(1), seeded(1));
    assert_ne!(seeded(1), seeded(2));
}

#[test]
fn every_kind_of_tree_fits_better_than_its_start() {
    let problem = problem(30, 2);
    for kind in KINDS {
        for schedule in [Schedule::Linear, Schedule::Cosine, Schedule::Constant] {
            let options = LearnOptions { epochs: 40, schedule, ..options(kind) };
            let learned = run(&problem, &options);
            let first = learned.history[0].relative_error;
            let best = learned.history[learned.best_epoch].relative_error;
            // A shape that stays as it was drawn can only fit a little better.
            let enough = if kind == Kind::SkipMst { 1.0 } else { 0.85 };
            assert!(best <= enough * first, "{kind:?} {schedule:?}: {first} to {best}");
            assert_eq!(learned.tree.is_ultrametric(), kind != Kind::Additive);
        }
    }
}

#[test]
fn the_tree_returned_is_the_best_of_the_history() {
    let problem = problem(30, 3);
    for kind in KINDS {
        // A rate far too large, so that the best epoch is not the last.
        let options = LearnOptions {
            learning_rate: 3.0,
            validation_fraction: 0.0,
            loss: Loss::Squared,
            schedule: Schedule::Constant,
            ..options(kind)
        };
        let learned = run(&problem, &options);
        let (data, distances) = (&problem.data, problem.data.distances());
        let predicted = learned.tree.pairs(data.measures(), data.pairs(), &silent).unwrap();
        let squares: f64 = predicted.iter().zip(distances).map(|(p, d)| (p - d) * (p - d)).sum();
        let loss = squares / distances.iter().map(|d| d * d).sum::<f64>();
        let best = learned.history[learned.best_epoch].training_loss;
        assert!((loss - best).abs() < 1e-9, "{kind:?}: {loss} is not {best}");
        assert!(learned.history.iter().all(|e| e.training_loss >= best));
    }
}

/// Two leaves at distance 2h, so that W_T = 2h·|a − b| and everything can be done by hand.
fn two_leaves(distances: Vec<f64>) -> Problem {
    let start = Tree::new(2, vec![2, 2, 2], vec![1.0, 1.0, 0.0]).unwrap();
    let start = start.with_names(vec!["a".into(), "b".into()]).unwrap();
    let measures = Measures::from_dense(2, &[1.0, 0.0, 0.0, 1.0, 0.5, 0.5]).unwrap();
    let pairs = [(0, 1), (0, 2), (1, 2)][..distances.len()].to_vec();
    Problem { start, data: Labeled::new(&measures, pairs, distances).unwrap() }
}

#[test]
fn the_start_is_rescaled_by_the_median_of_the_labels_above_zero() {
    // W_T is 2, 1, 1; the ratios are 3, 4 and, left out, 0: of two the larger counts.
    let problem = two_leaves(vec![6.0, 4.0, 0.0]);
    let none = LearnOptions { epochs: 0, validation_fraction: 0.0, ..LearnOptions::default() };
    assert_eq!(run(&problem, &none).tree.leaf_distance(0, 1), 8.0);
    let kept = run(&problem, &LearnOptions { scale: false, ..none }).tree;
    assert_eq!(kept.leaf_distance(0, 1), 2.0);
    assert_eq!(kept.names().unwrap(), ["a", "b"]);
}

#[test]
fn each_loss_has_its_own_optimum() {
    // One height h with predictions 2h and h for labels 2 and 3: Σw(ah − d)² is least at Σwad/Σwa².
    let problem = two_leaves(vec![2.0, 3.0]);
    for (loss, weights) in [(Loss::Squared, [1.0, 1.0]), (Loss::Relative, [1.0 / 4.0, 1.0 / 9.0])] {
        let options = LearnOptions {
            kind: Kind::Ultrametric,
            epochs: 2000,
            batch_size: 2,
            learning_rate: 0.3,
            validation_fraction: 0.0,
            loss,
            ..LearnOptions::default()
        };
        let h = 0.5 * run(&problem, &options).tree.leaf_distance(0, 1);
        let best = (weights[0] * 2.0 * 2.0 + weights[1] * 3.0) / (weights[0] * 4.0 + weights[1]);
        assert!((h - best).abs() < 1e-6, "{loss:?}: {h} is not {best}");
    }
}

#[test]
fn held_out_labels_choose_but_do_not_teach() {
    // Corrupting the labels that are held out changes what is chosen, not the path that is taken.
    let clean = problem(12, 9);
    let half = LearnOptions { validation_fraction: 0.5, ..options(Kind::Ultrametric) };
    let first = run(&clean, &half);
    let labels = clean.data.len();
    let mut moved = (0, 0);
    for label in 0..labels {
        let wrong = |k: usize, d: f64| if k == label { 1.5 * d } else { d };
        let changed = Problem { data: common::relabeled(&clean.data, wrong), ..clean.clone() };
        let second = run(&changed, &half);
        let trained = first
            .history
            .iter()
            .zip(&second.history)
            .any(|(a, b)| a.training_loss != b.training_loss);
        let judged = first
            .history
            .iter()
            .zip(&second.history)
            .any(|(a, b)| a.validation_loss != b.validation_loss);
        assert!(judged, "label {label} has no say");
        moved = if trained { (moved.0 + 1, moved.1) } else { (moved.0, moved.1 + 1) };
    }
    assert_eq!(moved, (labels - labels.div_ceil(2), labels.div_ceil(2)));
}

#[test]
fn the_rate_falls_as_the_schedule_says() {
    // With one label the first step at rate r closes the gap by the factor 1 − r, the second by what is left.
    let gap = |schedule: Schedule| {
        let options = LearnOptions {
            kind: Kind::Ultrametric,
            epochs: 2,
            learning_rate: 0.5,
            validation_fraction: 0.0,
            scale: false,
            schedule,
            ..LearnOptions::default()
        };
        4.0 - run(&two_leaves(vec![4.0]), &options).tree.leaf_distance(0, 1)
    };
    for (schedule, second) in
        [(Schedule::Linear, 0.25), (Schedule::Constant, 0.5), (Schedule::Cosine, 0.25)]
    {
        let expected = 2.0 * (1.0 - 0.5) * (1.0 - second);
        assert!((gap(schedule) - expected).abs() < 1e-12, "{schedule:?}: {}", gap(schedule));
    }
}

#[test]
fn any_start_becomes_ultrametric_where_that_is_asked() {
    let problem = problem(10, 11);
    let uneven = run(&problem, &options(Kind::Additive)).tree;
    assert!(!uneven.is_ultrametric());
    for kind in [Kind::Ultrametric, Kind::SkipMst] {
        let options = LearnOptions { epochs: 0, ..options(kind) };
        assert!(
            run(&Problem { start: uneven.clone(), ..problem.clone() }, &options)
                .tree
                .is_ultrametric()
        );
    }
}

#[test]
fn labels_and_masses_of_any_size_are_learned_from() {
    for (labels, masses) in
        [(1e-170, 1.0), (1e200, 1.0), (1.0, 1e-160), (1.0, 1e160), (1e-300, 1e-200)]
    {
        let usual = problem(10, 12);
        let rows = usual.data.measures().iter();
        let rows = rows.map(|m| m.iter().map(move |(p, mass)| (p, mass * masses)));
        let measures = Measures::from_rows(10, rows).unwrap();
        let data = common::relabeled(&with_measures(&usual.data, &measures), |_, d| d * labels);
        let extreme = Problem { data, ..usual.clone() };
        for kind in KINDS {
            let learned = run(&extreme, &options(kind));
            let usual = run(&usual, &options(kind));
            let (a, b) = (learned.history[0].training_loss, usual.history[0].training_loss);
            assert!((a - b).abs() < 1e-6, "{labels} {masses} {kind}: {a} {b}");
            assert!(kind == Kind::SkipMst || learned.best_epoch > 0, "{labels} {masses} {kind}");
        }
    }
}

#[test]
fn a_rate_far_too_large_stops_and_keeps_the_best_tree() {
    let problem = problem(10, 13);
    for kind in KINDS {
        for rate in [1e3, 1e300] {
            let options = LearnOptions {
                learning_rate: rate,
                epochs: 500,
                schedule: Schedule::Constant,
                ..options(kind)
            };
            let learned = run(&problem, &options);
            assert!(learned.history[learned.best_epoch].training_loss.is_finite());
        }
    }
}

#[test]
fn labels_that_are_zero_are_no_reason_to_stop_learning() {
    let mut some_zero = problem(10, 14);
    let data = &some_zero.data;
    let (mut pairs, mut distances) = (data.pairs().to_vec(), data.distances().to_vec());
    for k in (0..data.len()).step_by(3) {
        pairs[k].1 = pairs[k].0;
        distances[k] = 0.0;
    }
    some_zero.data = Labeled::new(data.measures(), pairs, distances).unwrap();
    for seed in 0..10 {
        // A validation split of one or two labels, which may all be 0.
        let options =
            LearnOptions { validation_fraction: 0.02, seed, ..options(Kind::Ultrametric) };
        let learned = run(&some_zero, &options);
        let fit = |e: usize| learned.history[e].training_loss;
        assert!(learned.history.iter().any(|e| e.training_loss < fit(0)));
        assert!(learned.history[0].relative_error != 0.0);
    }
}

#[test]
fn an_absurd_number_of_epochs_with_patience_is_fine() {
    let options = LearnOptions { epochs: usize::MAX, patience: 2, ..options(Kind::Ultrametric) };
    assert!(!run(&problem(5, 15), &options).finished);
}

#[test]
fn patience_stops_early_and_the_closure_stops_at_once() {
    let problem = problem(12, 4);
    let impatient = LearnOptions {
        epochs: 5000,
        patience: 3,
        schedule: Schedule::Constant,
        ..options(Kind::Ultrametric)
    };
    let learned = run(&problem, &impatient);
    assert!(!learned.finished && learned.history.len() < 5000);
    assert_eq!(learned.history.len() - 1, learned.best_epoch + 3);

    let calls = AtomicUsize::new(0);
    let stop = |state: &State<'_>| {
        calls.fetch_add(1, Ordering::Relaxed);
        state.done < 5
    };
    let learned = learn(&problem.start, &problem.data, &options(Kind::Additive), &stop).unwrap();
    assert_eq!((calls.into_inner(), learned.finished), (5, false));
}

#[test]
fn progress_tells_steps_and_the_error_of_the_last_epoch() {
    let problem = problem(12, 4);
    let heard = Mutex::new(Vec::new());
    let listen = |state: &State<'_>| {
        assert_eq!((state.task, state.checkpoint.is_some()), (LEARNING, true));
        heard.lock().unwrap().push((state.done, state.total, state.error));
        true
    };
    let learned = learn(&problem.start, &problem.data, &options(Kind::Additive), &listen).unwrap();
    // 72 of 80 labels teach, 7 at a time.
    let expected: Vec<_> = (0..110)
        .map(|k| (k + 1, Some(110), Some(learned.history[k / 11].relative_error)))
        .collect();
    assert_eq!(heard.into_inner().unwrap(), expected);
}

#[test]
fn a_learned_tree_can_be_learned_further() {
    let problem = problem(20, 6);
    for kind in [Kind::Ultrametric, Kind::Additive] {
        let first = run(&problem, &options(kind));
        let more = LearnOptions { scale: false, learning_rate: 0.2, ..options(kind) };
        let again = run(&Problem { start: first.tree.clone(), ..problem.clone() }, &more);
        let (before, after) = (first.history[first.best_epoch], again.history[again.best_epoch]);
        assert!((again.history[0].relative_error - before.relative_error).abs() < 1e-9);
        assert!(after.relative_error <= before.relative_error + 1e-9);
    }
}

#[test]
fn without_measures_it_learns_from_pairs_of_points() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
    let hidden =
        linkage(&random_metric(12, &mut rng), Linkage::Complete, &treeport::silent).unwrap();
    let metric = GroundMetric::from_condensed(12, common::leaf_distances(&hidden)).unwrap();
    let start = linkage(&random_metric(12, &mut rng), Linkage::Single, &treeport::silent).unwrap();
    let data = Labeled::of_points(&metric, usize::MAX, 0).unwrap();
    assert_eq!(data.len(), 66);
    let options = LearnOptions {
        kind: Kind::Additive,
        epochs: 400,
        learning_rate: 1.0,
        validation_fraction: 0.0,
        ..LearnOptions::default()
    };
    let learned = run(&Problem { start, data }, &options);
    let error = learned.history[learned.best_epoch].relative_error;
    assert!(error < 0.02, "mean relative error {error}");
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let Problem { start, data } = problem(5, 7);
    let refused =
        |data: &Labeled, options: &LearnOptions| learn(&start, data, options, &silent).unwrap_err();
    let message = |options: &LearnOptions| refused(&data, options).to_string();
    let good = LearnOptions::default();
    let none = data.split_at(0).0;
    let nothing = refused(&none, &good).to_string();
    assert_eq!(nothing, "there are no exact distances: there is nothing to learn from");
    let elsewhere = refused(&problem(6, 7).data, &good);
    assert!(matches!(elsewhere, Error::PointCount { measures: 6, points: 5 }), "{elsewhere}");
    let batch = LearnOptions { batch_size: 0, ..good.clone() };
    assert_eq!(message(&batch), "batch_size is 0; a batch holds at least one pair");
    let rate = LearnOptions { learning_rate: f64::NAN, ..good.clone() };
    assert_eq!(message(&rate), "learning_rate is NaN; it must be above 0; try 0.5");
    let share = LearnOptions { validation_fraction: 1.0, ..good };
    assert_eq!(message(&share), "validation_fraction is 1; a share from 0 to below 1");
}

/// The checkpoint at the step that a run is stopped at; none if it ends before.
fn stopped_at(problem: &Problem, options: &LearnOptions, stop: usize) -> Option<Checkpoint> {
    let left = Mutex::new(None);
    let keep = |state: &State<'_>| {
        if state.done < stop {
            return true;
        }
        *left.lock().unwrap() = state.checkpoint.map(|make| make());
        false
    };
    learn(&problem.start, &problem.data, options, &keep).unwrap();
    let bytes = left.into_inner().unwrap()?;
    Some(Checkpoint::from_bytes(&bytes).unwrap())
}

fn resumed(
    from: &Checkpoint,
    problem: &Problem,
    options: &LearnOptions,
) -> treeport::Result<Learned> {
    resume(Some(from), &problem.start, &problem.data, options, &silent)
}

#[test]
fn a_resumed_run_ends_where_an_uninterrupted_one_does() {
    let problem = problem(12, 5);
    for kind in KINDS {
        for patience in [0, 2] {
            let options = LearnOptions { patience, ..options(kind) };
            let whole = run(&problem, &options);
            // In the middle of an epoch, at its last step, and at the very end.
            for stop in [1, 3, 11, 22, 57, 110] {
                let Some(from) = stopped_at(&problem, &options, stop) else { continue };
                assert_eq!(from.step(), stop);
                let resumed = resumed(&from, &problem, &options).unwrap();
                assert_eq!(resumed.tree, whole.tree, "{kind} stopped at {stop}");
                assert_eq!(resumed.history, whole.history);
                assert_eq!(
                    (resumed.best_epoch, resumed.finished),
                    (whole.best_epoch, whole.finished)
                );
            }
        }
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let (one, other) = (problem(12, 5), problem(9, 5));
    let options = options(Kind::Additive);
    let from = stopped_at(&one, &options, 110).unwrap();
    let error = resumed(&from, &other, &options).unwrap_err();
    assert!(error.to_string().contains("other points"), "{error}");
    assert!(resumed(&from, &one, &LearnOptions { epochs: 1, ..options }).is_err());
}
