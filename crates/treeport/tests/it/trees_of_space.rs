//! Quadtrees and cluster trees: by their bounds, by what must not change them, and on points that make trouble.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::build::{Splitting, cluster_tree, quadtree};
use treeport::{Error, GroundMetric, Measures, PointMetric, Problems, Tree, silent};

fn euclidean(dim: usize, coordinates: Vec<f64>) -> GroundMetric {
    GroundMetric::from_points(dim, coordinates, PointMetric::Euclidean).expect("points")
}

fn farthest(metric: &GroundMetric, branching: usize, depth: usize, seed: u64) -> Tree {
    cluster_tree(metric, Splitting::Farthest, branching, depth, seed, &silent).expect("a tree")
}

fn kmeans(metric: &GroundMetric, branching: usize, depth: usize, seed: u64) -> Tree {
    cluster_tree(metric, Splitting::KMeans, branching, depth, seed, &silent).expect("a tree")
}

/// Coordinates with ties, from a few values or anywhere.
fn clouds() -> impl Strategy<Value = (usize, Vec<f64>)> {
    let coordinate = prop_oneof![(0..4i32).prop_map(f64::from), -3.0..3.0];
    (1..4usize, 1..12usize)
        .prop_flat_map(move |(dim, n)| (Just(dim), vec(coordinate.clone(), dim * n)))
}

proptest! {
    #[test]
    fn quadtrees_are_never_below_the_largest_coordinate_difference((dim, x) in clouds(), seed in 0..9u64) {
        let tree = quadtree(&euclidean(dim, x.clone()), seed).unwrap();
        for (i, j) in common::pairs(x.len() / dim) {
            let differences = (0..dim).map(|k| (x[i * dim + k] - x[j * dim + k]).abs());
            let largest = differences.fold(0.0, f64::max);
            let found = tree.leaf_distance(i, j);
            prop_assert!(found >= largest * (1.0 - 1e-12) - 1e-14, "{} {}", found, largest);
            prop_assert_eq!(found == 0.0, largest < 1e-14, "{}", largest);
        }
    }

    #[test]
    fn quadtrees_do_not_care_for_order_or_unit((dim, x) in clouds(), seed in 0..9u64, order in any::<u64>()) {
        let n = x.len() / dim;
        let tree = quadtree(&euclidean(dim, x.clone()), seed).unwrap();
        let order = common::shuffled(n, order);
        let moved: Vec<f64> = order.iter().flat_map(|&i| x[i * dim..(i + 1) * dim].to_vec()).collect();
        let other = quadtree(&euclidean(dim, moved), seed).unwrap();
        for (i, j) in common::pairs(n) {
            prop_assert_eq!(other.leaf_distance(i, j), tree.leaf_distance(order[i], order[j]));
        }
        for unit in [2f64.powi(80), 2f64.powi(-80)] {
            let scaled = quadtree(&euclidean(dim, x.iter().map(|x| x * unit).collect()), seed).unwrap();
            prop_assert_eq!(scaled, tree.scaled(unit).unwrap());
        }
    }

    #[test]
    fn cluster_trees_are_never_below_the_metric(
        (dim, x) in clouds(),
        branching in 2..6usize,
        depth in 1..5usize,
        seed in 0..9u64,
    ) {
        let metric = euclidean(dim, x);
        for tree in [farthest(&metric, branching, depth, seed), kmeans(&metric, branching, depth, seed)] {
            let statistics = tree.statistics();
            prop_assert_eq!(statistics.leaves, metric.points());
            // One more for points at the same place.
            prop_assert!(statistics.max_depth <= depth + 2);
            for (i, j) in common::pairs(metric.points()) {
                // A path leads over the centers, and every detour is longer.
                let (found, direct) = (tree.leaf_distance(i, j), metric.distance(i, j));
                prop_assert!(found >= direct - 1e-12, "{} {}", found, direct);
                prop_assert!(direct > 0.0 || found <= 1e-12, "{}", found);
            }
        }
    }

    #[test]
    fn cluster_trees_need_only_distances(x in vec(-3.0..3.0, 24), seed in 0..9u64) {
        // Without ties, which the last bit of a distance would break one way or the other.
        let metric = euclidean(2, x);
        let from_points = farthest(&metric, 3, 3, seed);
        let from_matrix = farthest(&metric.materialized().unwrap(), 3, 3, seed);
        prop_assert_eq!(from_points.nodes(), from_matrix.nodes());
        for (i, j) in common::pairs(metric.points()) {
            let (a, b) = (from_points.leaf_distance(i, j), from_matrix.leaf_distance(i, j));
            prop_assert!((a - b).abs() <= 1e-10);
        }
    }
}

#[test]
fn quadtrees_keep_their_bounds_in_the_mean() {
    // 30 points on a fine grid, so that no tree is deeper than the halvings from 2·31 to 1.
    let dim = 3;
    let x: Vec<f64> = (0..30 * dim).map(|k| ((k * 7919 + k * k * 31) % 32) as f64).collect();
    let metric = euclidean(dim, x.clone());
    let manhattan = GroundMetric::from_points(dim, x, PointMetric::Manhattan).unwrap();
    let masses: Vec<f64> = (0..30 * 12).map(|k| 0.01 + f64::from((k * 613) % 89)).collect();
    let measures = Measures::from_dense(30, &masses).unwrap().normalized();
    let pairs: Vec<(usize, usize)> = (0..6).map(|k| (k, 11 - k)).collect();
    let exact = Problems::new(&metric, &measures, &pairs).values(&silent).unwrap();
    let city = Problems::new(&manhattan, &measures, &pairs).values(&silent).unwrap();
    let (seeds, depth) = (200, 62f64.log2().ceil() + 1.0);
    let mut means = vec![0.0; pairs.len()];
    for seed in 0..seeds {
        let found = quadtree(&metric, seed).unwrap().pairs(&measures, &pairs, &silent).unwrap();
        for (k, found) in found.iter().enumerate() {
            assert!(*found >= exact[k] / (dim as f64).sqrt() - 1e-12);
            means[k] += found / seeds as f64;
        }
    }
    for (k, mean) in means.iter().enumerate() {
        // The tree is above W₁ in the mean, and below the bound by the logarithm.
        assert!(*mean >= exact[k], "mean {mean}, exact {}", exact[k]);
        assert!(*mean <= 4.0 * depth * city[k], "mean {mean}, bound {}", 4.0 * depth * city[k]);
    }
}

#[test]
fn points_at_the_same_place_are_at_distance_0() {
    let metric = euclidean(2, vec![1.0, 1.0, 5.0, 2.0, 1.0, 1.0, 5.0, 2.0, 1.0, 1.0]);
    for tree in
        [quadtree(&metric, 3).unwrap(), farthest(&metric, 2, 4, 3), kmeans(&metric, 2, 4, 3)]
    {
        assert_eq!(
            tree.leaf_distance(0, 4) + tree.leaf_distance(0, 2) + tree.leaf_distance(1, 3),
            0.0
        );
        assert!(tree.leaf_distance(0, 1) > 0.0);
    }
    let same = euclidean(3, vec![7.5; 12]);
    for tree in [quadtree(&same, 0).unwrap(), farthest(&same, 5, 6, 0), kmeans(&same, 5, 6, 0)] {
        assert_eq!((tree.leaves(), tree.statistics().total_length), (4, 0.0));
    }
    // Cut off by depth, and known by distances only.
    let line = euclidean(1, vec![0.0, 3.0, 0.0, 1.0, 1.0, 2.0, 9.0]);
    for tree in [
        farthest(&line, 2, 1, 0),
        kmeans(&line, 2, 1, 0),
        farthest(&line.materialized().unwrap(), 2, 1, 0),
    ] {
        assert_eq!(tree.leaf_distance(0, 2) + tree.leaf_distance(3, 4), 0.0);
        assert!(tree.leaf_distance(0, 3) > 0.0);
    }
    // Nearer than the grid can tell: one place, not an endless descent.
    let near = euclidean(1, vec![0.0, 1e-30, 1.0]);
    assert_eq!(quadtree(&near, 0).unwrap().leaf_distance(0, 1), 0.0);
}

#[test]
fn one_point_is_a_tree() {
    let one = euclidean(4, vec![1.0; 4]);
    for tree in [quadtree(&one, 0).unwrap(), farthest(&one, 2, 1, 0), kmeans(&one, 2, 1, 0)] {
        assert_eq!((tree.leaves(), tree.nodes()), (1, 1));
    }
}

#[test]
fn thousands_of_dimensions_have_only_occupied_cells() {
    let (dim, n) = (2_000, 40);
    let x = (0..dim * n).map(|k| ((k * 7919 + k / dim * 131) % 997) as f64).collect();
    let metric = euclidean(dim, x);
    let tree = quadtree(&metric, 1).unwrap();
    assert_eq!(tree.leaves(), n);
    assert!(tree.nodes() <= 2 * n);
}

#[test]
fn all_norms_and_a_graph_have_cluster_trees() {
    let x = || vec![1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.1, 0.9, -1.0, 0.2];
    for norm in [
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
    ] {
        let metric = GroundMetric::from_points(2, x(), norm).unwrap();
        for tree in
            [quadtree(&metric, 0).unwrap(), farthest(&metric, 3, 3, 0), kmeans(&metric, 3, 3, 0)]
        {
            assert!(tree.leaf_distance(0, 1) < tree.leaf_distance(0, 4), "{norm}");
        }
    }
    let edges = [(0, 1, 1.0), (1, 2, 9.0), (2, 3, 1.0), (3, 4, 1.0)];
    let graph = GroundMetric::from_edges(5, &edges).unwrap();
    let tree = farthest(&graph, 2, 4, 0);
    assert!(tree.leaf_distance(0, 1) < tree.leaf_distance(1, 2));
    assert_eq!(tree, farthest(&graph.materialized().unwrap(), 2, 4, 0));
}

#[test]
fn trees_of_any_number_of_threads_are_the_same() {
    let x: Vec<f64> = (0..900).map(|k| f64::from((k * 7919) % 1009)).collect();
    let metric = euclidean(3, x);
    let build = || (farthest(&metric, 4, 5, 2), kmeans(&metric, 4, 5, 2));
    assert_eq!(common::on_threads(1, build), build());
    assert_ne!(farthest(&metric, 4, 5, 2), farthest(&metric, 4, 5, 3));
}

#[test]
fn what_cannot_be_built_is_named() {
    let matrix = GroundMetric::from_condensed(3, vec![1.0, 2.0, 2.5]).unwrap();
    assert_eq!(
        quadtree(&matrix, 0).unwrap_err().to_string(),
        "a quadtree needs coordinates, and this ground metric is a matrix or a graph; take a method that needs distances only, such as cluster or ctwd"
    );
    let build = |splitting, branching, depth| {
        cluster_tree(&matrix, splitting, branching, depth, 0, &silent).unwrap_err()
    };
    assert!(matches!(build(Splitting::KMeans, 2, 2), Error::NoCoordinates { .. }));
    assert_eq!(
        build(Splitting::Farthest, 1, 2).to_string(),
        "branching is 1; a cluster is split into at least 2"
    );
    assert_eq!(
        build(Splitting::Farthest, 2, 0).to_string(),
        "depth is 0; a cluster tree has at least one level"
    );
    let stopped = cluster_tree(&matrix, Splitting::Farthest, 2, 2, 0, &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
}
