//! Forests from a metric and from labels: what must not change them, what must, and what is refused.

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{
    Error, Forest, ForestOptions, ForestWeightOptions, GroundMetric, Labels, LearnOptions, Linkage,
    Measures, Norm, Tree, exact, linkage, silent,
};

const LINKAGES: [Linkage; 5] =
    [Linkage::Single, Linkage::Average, Linkage::Complete, Linkage::Ward, Linkage::Closest];

fn options(trees: usize, seed: u64) -> ForestOptions {
    ForestOptions { trees, seed, ..ForestOptions::default() }
}

fn grown(metric: &GroundMetric, options: &ForestOptions) -> Forest {
    Forest::perturbed(metric, options, &silent).expect("good options")
}

/// Points of no particular shape.
fn coordinates(n: usize) -> Vec<f64> {
    (0..2 * n).map(|k| ((k * 7919 + k * k % 613) % 1009) as f64 / 100.0).collect()
}

fn plane(n: usize) -> GroundMetric {
    GroundMetric::from_points(2, coordinates(n), Norm::Euclidean).expect("points")
}

/// Measures on the plane with exact labels of some pairs.
fn lessons(n: usize, metric: &GroundMetric) -> (Measures, Labels) {
    let row = |r: usize| {
        (0..n).map(move |i| {
            (i, if (i + r).is_multiple_of(3) { 1.0 + (i * r % 7) as f64 } else { 0.0 })
        })
    };
    let measures = Measures::from_rows(n, (0..24).map(row)).expect("masses").normalized();
    let pairs: Vec<(usize, usize)> = (0..40).map(|k| (k % 24, (k * 5 + 7) % 24)).collect();
    let distances = exact::pairs(metric, &measures, &pairs, &silent).expect("solvable");
    (measures, Labels { pairs, distances })
}

fn mean_error(forest: &Forest, measures: &Measures, labels: &Labels) -> f64 {
    let found = forest.pairs(measures, &labels.pairs, &silent).expect("valid pairs");
    let pairs = found.iter().zip(&labels.distances).filter(|(_, d)| **d > 0.0);
    pairs.map(|(w, d)| (w - d).abs() / d).sum::<f64>() / found.len() as f64
}

proptest! {
    #[test]
    fn without_noise_every_tree_is_the_linkage_and_follows_the_points(
        (points, order) in (2..12usize).prop_flat_map(|n| {
            (vec(-5.0..5.0, 2 * n), Just((0..n).collect::<Vec<_>>()).prop_shuffle())
        }),
    ) {
        let metric = GroundMetric::from_points(2, points.clone(), Norm::Euclidean).unwrap();
        let moved: Vec<f64> = order.iter().flat_map(|&p| points[2 * p..][..2].to_vec()).collect();
        let moved = GroundMetric::from_points(2, moved, Norm::Euclidean).unwrap();
        let plain = ForestOptions { noise: Some(0.0), ..options(3, 5) };
        let (forest, other) = (grown(&metric, &plain), grown(&moved, &plain));
        let tree = linkage(&metric, Linkage::Average).unwrap();
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
        for linkage in LINKAGES {
            let options = ForestOptions { linkage, ..options(2, seed) };
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
        let forest = grown(&metric, &ForestOptions { noise: Some(noise), ..options(4, seed) });
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
    let metric = plane(40);
    let forest = grown(&metric, &options(5, 1));
    for (a, b) in common::pairs(5) {
        assert_ne!(forest.trees()[a], forest.trees()[b]);
    }
    assert_ne!(grown(&metric, &options(5, 2)), forest);
    // A larger forest begins with the smaller one.
    assert_eq!(grown(&metric, &options(9, 1)).trees()[..5], *forest.trees());
    let first = ForestOptions { plain_first: true, ..options(5, 1) };
    let with_plain = grown(&metric, &first);
    assert_eq!(with_plain.trees()[0], linkage(&metric, Linkage::Average).unwrap());
    assert_eq!(with_plain.trees()[1..], forest.trees()[1..]);
}

#[test]
fn the_usual_noise_follows_the_spread_of_distances() {
    // All distances the same: nothing to perturb. Wide apart: 0.7.
    let same = GroundMetric::from_condensed(6, vec![2.0; 15]).unwrap();
    let plain = grown(&same, &options(2, 0));
    assert!(plain.trees().iter().all(|tree| *tree == linkage(&same, Linkage::Average).unwrap()));
    let powers = (0..30).map(|k| 2f64.powi(k)).collect();
    let metric = GroundMetric::from_points(1, powers, Norm::Euclidean).unwrap();
    let given = ForestOptions { noise: Some(0.7), ..options(3, 1) };
    assert_eq!(grown(&metric, &options(3, 1)), grown(&metric, &given));
}

#[test]
fn one_thread_and_many_agree_to_the_bit() {
    let metric = plane(60);
    let (measures, labels) = lessons(60, &metric);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let work = || {
        let forest = grown(&metric, &options(6, 3));
        let learning = LearnOptions { epochs: 3, ..LearnOptions::default() };
        let learned = forest.learned(&measures, &labels, &learning, &silent).unwrap();
        let weighing = ForestWeightOptions::default();
        (learned.weighted_by(&measures, &labels, &weighing, &silent).unwrap(), forest)
    };
    assert_eq!(pool.install(work), work());
}

#[test]
fn points_matrix_and_graph_give_the_same_forest() {
    // A path: its shortest paths are the distances on the line.
    let at = [0.0, 1.0, 3.0, 7.0, 15.0];
    let edges: Vec<(usize, usize, f64)> = (0..4).map(|i| (i, i + 1, at[i + 1] - at[i])).collect();
    let graph = GroundMetric::from_edges(5, &edges).unwrap();
    let points = GroundMetric::from_points(1, at.to_vec(), Norm::Manhattan).unwrap();
    let matrix = points.materialized();
    let single = GroundMetric::from_condensed_f32(5, points.condensed_f32()).unwrap();
    for linkage in LINKAGES {
        let options = ForestOptions { linkage, ..options(4, 9) };
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
        for linkage in LINKAGES.into_iter().filter(|l| *l != Linkage::Ward || value < 1.0) {
            for noise in [None, Some(0.0), Some(0.3), Some(10.0)] {
                let options = ForestOptions { linkage, noise, ..options(3, 0) };
                let forest = Forest::perturbed(&metric, &options, &silent);
                assert_eq!(forest.unwrap().leaves(), n, "{linkage:?} of {value}, noise {noise:?}");
            }
        }
    }
}

#[test]
fn progress_counts_trees_and_can_stop() {
    let metric = plane(20);
    let most = std::sync::atomic::AtomicUsize::new(0);
    let watch = |done| {
        most.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
        true
    };
    Forest::perturbed(&metric, &options(7, 0), &watch).unwrap();
    assert_eq!(most.into_inner(), 7);
    let stopped = Forest::perturbed(&metric, &options(7, 0), &|_| false);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    let (measures, labels) = lessons(20, &metric);
    let forest = grown(&metric, &options(2, 0));
    let learning = LearnOptions::default();
    let stopped = forest.learned(&measures, &labels, &learning, &|_| false);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    let weighing = ForestWeightOptions::default();
    let stopped = forest.weighted_by(&measures, &labels, &weighing, &|_| false);
    assert!(matches!(stopped, Err(Error::Cancelled)));
}

#[test]
fn learning_and_weights_fit_the_labels_better() {
    let metric = plane(50);
    let (measures, labels) = lessons(50, &metric);
    let forest = grown(&metric, &options(6, 4));
    let weigh = |shrinkage| {
        let options = ForestWeightOptions { shrinkage, ..ForestWeightOptions::default() };
        forest.weighted_by(&measures, &labels, &options, &silent).unwrap()
    };
    let (equal, free, chosen) = (weigh(Some(f64::INFINITY)), weigh(Some(0.0)), weigh(None));
    assert!(equal.weights().iter().all(|w| (w - 1.0 / 6.0).abs() < 1e-15));
    for weighted in [&equal, &free, &chosen] {
        assert!((weighted.weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let (before, after) =
            (mean_error(&forest, &measures, &labels), mean_error(weighted, &measures, &labels));
        assert!(after < before, "{before} {after}");
    }
    let learned = forest.learned(&measures, &labels, &LearnOptions::default(), &silent).unwrap();
    assert_eq!(learned.weights(), forest.weights());
    let (before, after) =
        (mean_error(&equal, &measures, &labels), mean_error(&learned, &measures, &labels));
    assert!(after < before, "{before} {after}");
}

#[test]
fn one_tree_gets_one_factor_and_units_cancel() {
    let metric = plane(30);
    let (measures, labels) = lessons(30, &metric);
    let tree = linkage(&metric, Linkage::Average).unwrap();
    let forest = Forest::uniform(vec![tree.clone()]).unwrap();
    let weighing = ForestWeightOptions::default();
    let weighted = forest.weighted_by(&measures, &labels, &weighing, &silent).unwrap();
    let factor = weighted.trees()[0].lengths()[0] / tree.lengths()[0];
    assert_eq!(
        (weighted.weights(), &weighted.trees()[0]),
        (&[1.0][..], &tree.scaled(factor).unwrap())
    );
    // Labels and trees in units far apart.
    let far = forest.scaled(2f64.powi(-600)).unwrap();
    let again = far.weighted_by(&measures, &labels, &weighing, &silent).unwrap();
    assert_eq!(again, weighted);
}

#[test]
fn what_cannot_be_grown_or_weighed_is_refused() {
    let metric = plane(10);
    let message = |options: ForestOptions| {
        Forest::perturbed(&metric, &options, &silent).unwrap_err().to_string()
    };
    assert_eq!(message(options(0, 0)), "trees is 0; a forest has at least one");
    for noise in [-0.1, f64::NAN, f64::INFINITY, 10.1] {
        let text = message(ForestOptions { noise: Some(noise), ..options(2, 0) });
        assert_eq!(text, format!("noise is {noise}; it must be from 0 to 10; try 0.3"));
    }
    let (measures, labels) = lessons(10, &metric);
    let forest = grown(&metric, &options(2, 0));
    let weigh = |forest: &Forest, measures: &Measures, labels: &Labels, shrinkage| {
        let options = ForestWeightOptions { shrinkage, ..ForestWeightOptions::default() };
        forest.weighted_by(measures, labels, &options, &silent).unwrap_err()
    };
    for shrinkage in [-1.0, f64::NAN] {
        let error = weigh(&forest, &measures, &labels, Some(shrinkage));
        assert!(matches!(error, Error::BadOption { option: "shrinkage", .. }));
    }
    let zero = Labels { distances: vec![0.0; labels.pairs.len()], ..labels.clone() };
    let nothing = [
        (weigh(&forest, &measures, &Labels::default(), None), "there are no labels"),
        (weigh(&forest, &measures, &zero, None), "all labels are 0"),
        (
            weigh(&forest.scaled(0.0).unwrap(), &measures, &labels, None),
            "the trees see no difference in any labelled pair",
        ),
    ];
    for (error, what) in nothing {
        assert_eq!(error.to_string(), format!("{what}: there is nothing to learn from"));
    }
    let bad = Labels { distances: vec![f64::NAN; labels.pairs.len()], ..labels.clone() };
    assert!(matches!(weigh(&forest, &measures, &bad, None), Error::BadLabel { .. }));
    let elsewhere = Measures::unit_masses(3, [0, 1]).unwrap();
    assert!(matches!(weigh(&forest, &elsewhere, &labels, None), Error::PointCount { .. }));
    let learned = forest.learned(&elsewhere, &labels, &LearnOptions::default(), &silent);
    assert!(matches!(learned, Err(Error::PointCount { .. })));
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
