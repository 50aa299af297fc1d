//! Forests from a metric and from labels: what must not change them, what must, and what is refused.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::build::{PerturbedOptions, perturbed};
use treeport::fit::{TreeWeightOptions, learned, weighted};
use treeport::names::Named;
use treeport::progress::State;
use treeport::progress::tasks::BUILDING;
use treeport::{
    Error, Forest, GroundMetric, Labeled, LearnOptions, Linkage, Measures, PointMetric, Tree,
    linkage, silent,
};

fn options(n_trees: usize, seed: u64) -> PerturbedOptions {
    PerturbedOptions { n_trees, seed, ..PerturbedOptions::default() }
}

fn grown(metric: &GroundMetric, options: &PerturbedOptions) -> Forest {
    perturbed(metric, options, &silent).expect("good options")
}

fn with_shrinkage(forest: &Forest, data: &Labeled, shrinkage: Option<f64>) -> Forest {
    let options = TreeWeightOptions { shrinkage, ..TreeWeightOptions::default() };
    weighted(forest, data, &options, &silent).expect("good labels")
}

fn mean_error(forest: &Forest, data: &Labeled) -> f64 {
    data.score(&forest.pairs(data.measures(), data.pairs(), &silent).expect("valid pairs")).mean
}

proptest! {
    #[test]
    fn without_noise_every_tree_is_the_linkage_and_follows_the_points(
        (points, order) in (2..12usize).prop_flat_map(|n| {
            (vec(-5.0..5.0, 2 * n), Just((0..n).collect::<Vec<_>>()).prop_shuffle())
        }),
    ) {
        let metric = GroundMetric::from_points(2, points.clone(), PointMetric::Euclidean).unwrap();
        let moved: Vec<f64> = order.iter().flat_map(|&p| points[2 * p..][..2].to_vec()).collect();
        let moved = GroundMetric::from_points(2, moved, PointMetric::Euclidean).unwrap();
        let plain = PerturbedOptions { noise: Some(0.0), ..options(3, 5) };
        let (forest, other) = (grown(&metric, &plain), grown(&moved, &plain));
        let tree = linkage(&metric, Linkage::Average, &treeport::silent).unwrap();
        prop_assert!(forest.trees().iter().all(|grown| *grown == tree));
        for (i, j) in common::pairs(order.len()) {
            let (here, there) = (tree.leaf_distance(order[i], order[j]), other.trees()[0].leaf_distance(i, j));
            // A linkage sums in the order of the points.
            prop_assert!((here - there).abs() < 1e-9, "{} {}", here, there);
        }
    }

    #[test]
    fn distances_times_a_power_of_two_give_the_forest_times_it(
        distances in vec(0.0..9.0, 28),
        exponent in -300..300i32,
        seed in any::<u64>(),
    ) {
        let unit = 2f64.powi(exponent);
        let scaled = distances.iter().map(|d| d * unit).collect();
        let small = GroundMetric::from_condensed(8, distances).unwrap();
        let large = GroundMetric::from_condensed(8, scaled).unwrap();
        for linkage in Linkage::ALL.iter().copied() {
            let options = PerturbedOptions { linkage, ..options(2, seed) };
            prop_assert_eq!(grown(&small, &options).scaled(unit).unwrap(), grown(&large, &options));
        }
    }

    #[test]
    fn a_perturbed_forest_is_a_metric(
        distances in vec(0.0..9.0, 15),
        noise in 0.0..3.0,
        seed in any::<u64>(),
        masses in vec(vec(0.01..1.0, 6), 3),
    ) {
        let metric = GroundMetric::from_condensed(6, distances).unwrap();
        let forest = grown(&metric, &PerturbedOptions { noise: Some(noise), ..options(4, seed) });
        let measures = Measures::from_dense(6, &masses.concat()).unwrap().normalized();
        let d = forest.pairwise(&measures, &silent).unwrap();
        let at = |i: usize, j: usize| d[i * 3 + j];
        for i in 0..3 {
            prop_assert_eq!(at(i, i), 0.0);
            for (j, k) in [(0, 1), (1, 2), (2, 0)] {
                prop_assert_eq!(at(i, j), at(j, i));
                prop_assert!(at(j, k) <= at(j, i) + at(i, k) + 1e-12 * (1.0 + at(j, k)));
            }
        }
    }
}

#[test]
fn noise_changes_every_tree_and_the_seed_names_the_forest() {
    let metric = common::cloud(40, 2);
    let forest = grown(&metric, &options(5, 1));
    for (a, b) in common::pairs(5) {
        assert_ne!(forest.trees()[a], forest.trees()[b]);
    }
    assert_ne!(grown(&metric, &options(5, 2)), forest);
    // A larger forest begins with the smaller one.
    assert_eq!(grown(&metric, &options(9, 1)).trees()[..5], *forest.trees());
}

#[test]
fn the_usual_noise_follows_the_spread_of_distances() {
    // All distances the same: nothing to perturb. Wide apart: 0.7.
    let same = GroundMetric::from_condensed(6, vec![2.0; 15]).unwrap();
    let plain = grown(&same, &options(2, 0));
    assert!(
        plain
            .trees()
            .iter()
            .all(|tree| *tree == linkage(&same, Linkage::Average, &treeport::silent).unwrap())
    );
    let powers = (0..30).map(|k| 2f64.powi(k)).collect();
    let metric = GroundMetric::from_points(1, powers, PointMetric::Euclidean).unwrap();
    let given = PerturbedOptions { noise: Some(0.7), ..options(3, 1) };
    assert_eq!(grown(&metric, &options(3, 1)), grown(&metric, &given));
}

#[test]
fn one_thread_and_many_agree_to_the_bit() {
    let metric = common::cloud(60, 2);
    let data = common::lessons(&metric, 40);
    let work = || {
        let forest = grown(&metric, &options(6, 3));
        let learning = LearnOptions { epochs: 3, ..LearnOptions::default() };
        let learned = learned(&forest, &data, &learning, &silent).unwrap();
        (with_shrinkage(&learned, &data, None), forest)
    };
    assert_eq!(common::on_threads(1, work), work());
}

#[test]
fn points_matrix_and_graph_give_the_same_forest() {
    // A path: its shortest paths are the distances on the line.
    let at = [0.0, 1.0, 3.0, 7.0, 15.0];
    let edges: Vec<(usize, usize, f64)> = (0..4).map(|i| (i, i + 1, at[i + 1] - at[i])).collect();
    let graph = GroundMetric::from_edges(5, &edges).unwrap();
    let points = GroundMetric::from_points(1, at.to_vec(), PointMetric::Manhattan).unwrap();
    let matrix = points.materialized().unwrap();
    let single = GroundMetric::from_condensed_f32(
        5,
        points.condensed().unwrap().into_iter().map(|d| d as f32).collect(),
    )
    .unwrap();
    for linkage in Linkage::ALL.iter().copied() {
        let options = PerturbedOptions { linkage, ..options(4, 9) };
        let forest = grown(&points, &options);
        for other in [&graph, &matrix, &single] {
            assert_eq!(grown(other, &options), forest, "{linkage:?}");
        }
    }
}

#[test]
fn extreme_metrics_are_no_trouble() {
    for (n, value) in [(1, 0.0), (2, 0.0), (2, 1e308), (4, f64::MIN_POSITIVE), (4, 1e307)] {
        let metric = GroundMetric::from_condensed(n, vec![value; n * (n - 1) / 2]).unwrap();
        // Ward's heights grow with the number of points, beyond the largest number.
        for linkage in Linkage::ALL.iter().copied().filter(|l| *l != Linkage::Ward || value < 1.0) {
            for noise in [None, Some(0.0), Some(0.3), Some(10.0)] {
                let options = PerturbedOptions { linkage, noise, ..options(3, 0) };
                let forest = perturbed(&metric, &options, &silent);
                assert_eq!(forest.unwrap().leaves(), n, "{linkage:?} of {value}, noise {noise:?}");
            }
        }
    }
}

#[test]
fn progress_counts_trees_and_can_stop() {
    let metric = common::cloud(20, 2);
    let most = std::sync::atomic::AtomicUsize::new(0);
    let watch = |state: &State<'_>| {
        assert_eq!((state.task, state.total), (BUILDING, Some(7)));
        most.fetch_max(state.done, std::sync::atomic::Ordering::Relaxed);
        true
    };
    perturbed(&metric, &options(7, 0), &watch).unwrap();
    assert_eq!(most.into_inner(), 7);
    let stopped = perturbed(&metric, &options(7, 0), &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
    let data = common::lessons(&metric, 40);
    let forest = grown(&metric, &options(2, 0));
    let stopped = learned(&forest, &data, &LearnOptions::default(), &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
    let stopped = weighted(&forest, &data, &TreeWeightOptions::default(), &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
}

#[test]
fn learning_and_weights_fit_the_labels_better() {
    let metric = common::cloud(50, 2);
    let data = common::lessons(&metric, 40);
    let forest = grown(&metric, &options(6, 4));
    let weigh = |shrinkage| with_shrinkage(&forest, &data, shrinkage);
    let (equal, free, chosen) = (weigh(Some(f64::INFINITY)), weigh(Some(0.0)), weigh(None));
    assert!(equal.weights().iter().all(|w| (w - 1.0 / 6.0).abs() < 1e-15));
    for weighted in [&equal, &free, &chosen] {
        assert!((weighted.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let (before, after) = (mean_error(&forest, &data), mean_error(weighted, &data));
        assert!(after < before, "{before} {after}");
    }
    let learned = learned(&forest, &data, &LearnOptions::default(), &silent).unwrap();
    assert_eq!(learned.weights(), forest.weights());
    let (before, after) = (mean_error(&equal, &data), mean_error(&learned, &data));
    assert!(after < before, "{before} {after}");
}

#[test]
fn one_tree_gets_one_factor_and_units_cancel() {
    let metric = common::cloud(30, 2);
    let data = common::lessons(&metric, 40);
    let tree = linkage(&metric, Linkage::Average, &treeport::silent).unwrap();
    let forest = Forest::uniform(vec![tree.clone()]).unwrap();
    let weighted = with_shrinkage(&forest, &data, None);
    let factor = weighted.trees()[0].lengths()[0] / tree.lengths()[0];
    assert_eq!(
        (weighted.weights(), &weighted.trees()[0]),
        (&[1.0][..], &tree.scaled(factor).unwrap())
    );
    // Labels and trees in units far apart.
    let far = forest.scaled(2f64.powi(-600)).unwrap();
    assert_eq!(with_shrinkage(&far, &data, None), weighted);
}

#[test]
fn what_cannot_be_grown_or_weighed_is_refused() {
    let metric = common::cloud(10, 2);
    let message =
        |options: PerturbedOptions| perturbed(&metric, &options, &silent).unwrap_err().to_string();
    assert_eq!(message(options(0, 0)), "n_trees is 0; it must be from 1 to 100,000");
    for noise in [-0.1, f64::NAN, f64::INFINITY, 10.1] {
        let text = message(PerturbedOptions { noise: Some(noise), ..options(2, 0) });
        assert_eq!(text, format!("noise is {noise}; it must be from 0 to 10; try 0.3"));
    }
    let data = common::lessons(&metric, 40);
    let forest = grown(&metric, &options(2, 0));
    let weigh = |forest: &Forest, data: &Labeled, shrinkage| {
        let options = TreeWeightOptions { shrinkage, ..TreeWeightOptions::default() };
        weighted(forest, data, &options, &silent).unwrap_err()
    };
    for shrinkage in [-1.0, f64::NAN] {
        let error = weigh(&forest, &data, Some(shrinkage));
        assert!(matches!(error, Error::BadOption { option: "shrinkage", .. }));
    }
    let zero = common::relabeled(&data, |_, _| 0.0);
    let empty = data.split_at(data.len()).1;
    let nothing = [
        (weigh(&forest, &zero, None), "all exact distances are 0"),
        (weigh(&forest, &empty, None), "there are no exact distances"),
        (
            weigh(&forest.scaled(0.0).unwrap(), &data, None),
            "the trees see no difference in any of the pairs",
        ),
    ];
    for (error, what) in nothing {
        assert_eq!(error.to_string(), format!("{what}: there is nothing to learn from"));
    }
    let learned_from = |data: &Labeled| learned(&forest, data, &LearnOptions::default(), &silent);
    assert!(matches!(learned_from(&empty), Err(Error::NothingToLearn { .. })));
    let elsewhere = Measures::unit_masses(3, [0, 1]).unwrap();
    let elsewhere = Labeled::new(&elsewhere, vec![(0, 1)], vec![1.0]).unwrap();
    assert!(matches!(weigh(&forest, &elsewhere, None), Error::PointCount { .. }));
    assert!(matches!(learned_from(&elsewhere), Err(Error::PointCount { .. })));
}

#[test]
fn names_are_shared_and_must_agree() {
    let named = |text: &str| Tree::from_newick(text).unwrap();
    let plain = Tree::new(2, vec![2; 3], vec![1.0, 1.0, 0.0]).unwrap();
    let forest = Forest::uniform(vec![plain.clone(), named("(a:1,b:1);")]).unwrap();
    assert_eq!(forest.names(), Some(&["a".to_owned(), "b".to_owned()][..]));
    let clash = Forest::uniform(vec![plain, named("(a:1,b:1);"), named("(a:1,c:1);")]).unwrap_err();
    assert_eq!(clash.to_string(), "not a forest: tree 1 calls point 1 `b`, tree 2 `c`");
    assert!(matches!(
        forest.clone().with_names(vec!["x".into()]),
        Err(Error::NameCount { names: 1, points: 2 })
    ));
    let other = forest.with_names(vec!["x".into(), "y".into()]).unwrap();
    assert_eq!(other.trees()[1].name(1), "y");
}
