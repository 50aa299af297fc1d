//! Forests and flow: judged by their trees one by one, and by exact transport.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::progress::State;
use treeport::progress::tasks::DISTANCES;
use treeport::{
    Error, Forest, GroundMetric, Measures, PointMetric, Problem, Problems, Tree, flow, silent,
};

proptest! {
    #[test]
    fn a_forest_is_the_weighted_mean_of_its_trees((forest, measures) in common::forests(4)) {
        let pairs: Vec<(usize, usize)> = common::pairs(4).collect();
        let matrix = forest.pairwise(&measures, &silent).unwrap();
        let rows = common::dense_rows(&forest.embed(&measures).unwrap());
        let found = forest.pairs(&measures, &pairs, &silent).unwrap();
        for (&(i, j), &found) in pairs.iter().zip(&found) {
            let (a, b) = (measures.row(i), measures.row(j));
            let judge: f64 = forest.trees().iter().zip(forest.weights())
                .map(|(tree, weight)| weight * tree.distance(&a, &b).unwrap()).sum();
            let city: f64 = rows[i].iter().zip(&rows[j]).map(|(x, y)| (x - y).abs()).sum();
            let one = forest.distance(&a, &b).unwrap();
            // Sums of a few dozen edges of length up to 45.
            for value in [found, one, city, matrix[i * 4 + j], matrix[j * 4 + i]] {
                prop_assert!((value - judge).abs() < 1e-12 * 100.0, "{} {}", value, judge);
            }
        }
        let paired = forest.paired(&measures, &measures, &silent).unwrap();
        prop_assert!(paired.iter().all(|&d| d.abs() < 1e-12 * 100.0), "{:?}", paired);
        let turned = Measures::from_rows(measures.points(), (0..4).map(|i| measures.row(3 - i).iter())).unwrap();
        for (i, found) in forest.paired(&measures, &turned, &silent).unwrap().into_iter().enumerate() {
            prop_assert!((found - matrix[i * 4 + 3 - i]).abs() < 1e-12 * 100.0);
        }
        let doubled = forest.scaled(2.0).unwrap().pairs(&measures, &pairs, &silent).unwrap();
        prop_assert!(doubled.iter().zip(&found).all(|(d, f)| (d - 2.0 * f).abs() < 1e-12 * 100.0));
    }

    #[test]
    fn flow_is_never_below_exact_transport(
        ((tree, _), measures, points) in (3..9usize).prop_flat_map(|n| {
            (common::ultrametric_trees(n..n + 1), common::measures(n, 4), vec(-5.0..5.0, 2 * n))
        }),
        norm in prop_oneof![Just(PointMetric::Euclidean), Just(PointMetric::Manhattan), Just(PointMetric::SqEuclidean)],
    ) {
        let metric = GroundMetric::from_points(2, points, norm).unwrap();
        let pairs: Vec<(usize, usize)> = common::pairs(4).collect();
        let flows = flow::pairs(&tree, &metric, &measures, &pairs, &silent).unwrap();
        let exact = Problems::new(&metric, &measures, &pairs).values(&silent).unwrap();
        for (flow, exact) in flows.iter().zip(&exact) {
            // Rounding of masses near 1 over distances up to 200.
            prop_assert!(*flow >= exact - 1e-12 * 200.0, "flow {}, exact {}", flow, exact);
        }
    }

    #[test]
    fn flow_is_exact_on_the_trees_own_metric(
        (tree, measures) in common::trees(4..25).prop_flat_map(|tree| {
            let n = tree.leaves();
            (Just(tree), common::measures(n.max(2), 4))
        }).prop_filter("at least two points", |(tree, _)| tree.leaves() >= 2),
    ) {
        let distances = common::leaf_distances(&tree);
        let largest = distances.iter().copied().fold(0.0, f64::max);
        let metric = GroundMetric::from_condensed(tree.leaves(), distances).unwrap().assume_metric().unwrap();
        for (i, j) in common::pairs(4) {
            let (a, b) = (measures.row(i), measures.row(j));
            let flow = flow::distance(&tree, &metric, &a, &b).unwrap();
            let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
            prop_assert!((flow - exact).abs() <= 1e-9 * exact + 1e-14 * largest);
        }
    }
}

#[test]
fn what_is_no_forest_is_refused() {
    let two = || Tree::from_newick("(a:1,b:1);").unwrap();
    let three = || Tree::from_newick("(a:1,b:1,c:1);").unwrap();
    let message = |trees, weights| Forest::new(trees, weights).unwrap_err().to_string();
    assert_eq!(message(vec![], vec![]), "not a forest: it has no trees");
    assert_eq!(message(vec![two()], vec![]), "not a forest: 1 trees and 0 weights");
    assert_eq!(
        message(vec![two(), three()], vec![1.0, 1.0]),
        "not a forest: tree 0 has 2 points, tree 1 has 3"
    );
    assert_eq!(
        message(vec![two(), two()], vec![1.0, f64::NAN]),
        "not a forest: tree 1 has weight NaN; weights are at least 0"
    );
    assert_eq!(message(vec![two()], vec![0.0]), "not a forest: the weights add up to 0");
    assert_eq!(
        message(vec![two(), two()], vec![1e308; 2]),
        "not a forest: the weights add up to inf"
    );
    let forest = Forest::uniform(vec![two(), two()]).unwrap();
    assert_eq!((forest.leaves(), forest.weights()), (2, &[0.5, 0.5][..]));
    assert!(forest.scaled(f64::NAN).is_err());
    let uneven = Measures::from_dense(2, &[1.0, 0.0, 0.0, 0.9]).unwrap();
    let plan = forest.coupling(&uneven.row(0), &uneven.row(1));
    assert!(matches!(plan, Err(Error::Unbalanced { .. })));
    let elsewhere = Measures::unit_masses(3, [0, 1]).unwrap();
    assert!(matches!(
        forest.pairs(&elsewhere, &[(0, 1)], &silent),
        Err(Error::PointCount { measures: 3, points: 2 })
    ));
}

#[test]
fn progress_of_a_forest_runs_through_the_pairs_once_and_can_stop_it() {
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    let forest = Forest::uniform(vec![tree; 4]).unwrap();
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    let most = std::sync::atomic::AtomicUsize::new(0);
    let watch = |state: &State<'_>| {
        assert_eq!((state.task, state.total), (DISTANCES, Some(100)));
        most.fetch_max(state.done, std::sync::atomic::Ordering::Relaxed) <= state.done
    };
    forest.pairs(&measures, &[(0, 1); 100], &watch).unwrap();
    assert_eq!(most.into_inner(), 100);
    let stopped = forest.pairs(&measures, &[(0, 1); 100], &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
}

#[test]
fn flow_wants_measures_metric_and_tree_on_the_same_points() {
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    let metric = GroundMetric::from_condensed(3, vec![1.0; 3]).unwrap();
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    let found = flow::pairs(&tree, &metric, &measures, &[(0, 1)], &silent);
    assert!(matches!(found, Err(Error::PointCount { .. })));
    let found = flow::distance(&tree, &metric, &measures.row(0), &measures.row(1));
    assert!(matches!(found, Err(Error::PointCount { .. })));
}
