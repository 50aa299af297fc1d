use proptest::prelude::*;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::merging::{DistanceNoise, FirstNeighbors, MergePlan, grow};
use super::points::ClusterCenters;
use super::representatives::Representatives;
use super::{Clusters, neighbors};
use crate::build::binary::BinaryTree;
use crate::build::{Linkage, linkage};
use crate::metric::{GroundMetric, PointMetric};
use crate::numeric::seed::generator;
use crate::progress::silent;
use crate::tree::Tree;

use PointMetric::{Cosine, Euclidean, Manhattan, SqEuclidean};

fn random(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = generator(seed);
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

fn points(dim: usize, coordinates: Vec<f64>, metric: PointMetric) -> GroundMetric {
    GroundMetric::from_points(dim, coordinates, metric).unwrap()
}

fn tree_of(metric: &GroundMetric, plan: &MergePlan) -> Tree {
    let (dim, vectors) = metric.vectors().unwrap();
    let centers = ClusterCenters::new(metric.point_metric().unwrap(), dim, vectors, 1.0);
    grow(centers, plan, &FirstNeighbors::new(), &silent).unwrap().to_tree().unwrap()
}

fn leaf_distances(tree: &Tree) -> Vec<f64> {
    let n = tree.leaves();
    (0..n).flat_map(|i| (0..n).map(move |j| tree.leaf_distance(i, j))).collect()
}

fn assert_near(a: &[f64], b: &[f64]) {
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-6), "{a} {b}");
    }
}

/// All pairs are compared.
fn complete() -> MergePlan {
    MergePlan { dense: usize::MAX, ..MergePlan::default() }
}

/// All pairs are linked, and merged one after the other.
fn linked() -> MergePlan {
    MergePlan { neighbors: 1_000, links: 1_000, dense: 1, ..MergePlan::default() }
}

/// So few links that neighbors are searched repeatedly.
fn sparse() -> MergePlan {
    MergePlan { neighbors: 6, links: 9, dense: 20, ..MergePlan::default() }
}

#[test]
fn with_all_links_it_is_average_linkage() {
    for (metric, seed) in [(SqEuclidean, 0), (Cosine, 1), (Euclidean, 2), (Manhattan, 3)] {
        let metric = points(3, random(3 * 150, seed), metric);
        let judge = leaf_distances(&linkage(&metric, Linkage::Average, &crate::silent).unwrap());
        assert_near(&leaf_distances(&tree_of(&metric, &complete())), &judge);
    }
    // Linked clusters are centers and spreads, which give the mean of squares.
    for (metric, seed) in [(SqEuclidean, 0), (Cosine, 1)] {
        let metric = points(3, random(3 * 150, seed), metric);
        let judge = leaf_distances(&linkage(&metric, Linkage::Average, &crate::silent).unwrap());
        assert_near(&leaf_distances(&tree_of(&metric, &linked())), &judge);
    }
}

#[test]
fn euclidean_merges_along_links_are_those_of_the_squares() {
    let coordinates = random(4 * 120, 3);
    let ours = leaf_distances(&tree_of(&points(4, coordinates.clone(), Euclidean), &linked()));
    let squares =
        linkage(&points(4, coordinates, SqEuclidean), Linkage::Average, &crate::silent).unwrap();
    let roots: Vec<f64> = leaf_distances(&squares).iter().map(|d| d.sqrt()).collect();
    assert_near(&ours, &roots);
}

#[test]
fn few_links_miss_little() {
    for metric in [Euclidean, Manhattan, Cosine, SqEuclidean] {
        let metric = points(3, random(3 * 600, 4), metric);
        let (few, all) = (tree_of(&metric, &sparse()), tree_of(&metric, &complete()));
        let total = |tree: &Tree| tree.lengths().iter().sum::<f64>();
        // Links of single points average Manhattan distances exactly.
        let manhattan = metric.point_metric() == Some(Manhattan);
        let tolerance = if manhattan { 0.1 } else { 0.03 };
        let ratio = total(&few) / total(&all);
        assert!((ratio - 1.0).abs() < tolerance, "{metric:?}: {ratio}");
    }
}

/// A grid of streets with random lengths.
fn streets(side: usize, seed: u64) -> GroundMetric {
    let mut rng = generator(seed);
    let node = |x: usize, y: usize| x * side + y;
    let right = (0..side).flat_map(|x| (1..side).map(move |y| (node(x, y - 1), node(x, y))));
    let down = (1..side).flat_map(|x| (0..side).map(move |y| (node(x - 1, y), node(x, y))));
    let edges: Vec<_> =
        right.chain(down).map(|(a, b)| (a, b, rng.random_range(1.0..3.0))).collect();
    GroundMetric::from_edges(side * side, &edges).unwrap()
}

#[test]
fn along_the_edges_of_a_graph_little_is_missed() {
    for seed in 0..3 {
        let metric = streets(30, seed);
        let grown = |dense: usize| {
            let edges = metric.edges().unwrap();
            let clusters = Representatives::on_graph(&metric, edges, &silent).unwrap();
            grow(
                clusters,
                &MergePlan { dense, ..MergePlan::default() },
                &FirstNeighbors::new(),
                &silent,
            )
            .unwrap()
            .to_tree()
            .unwrap()
        };
        let total = |tree: &Tree| tree.lengths().iter().sum::<f64>();
        let judge = linkage(&metric, Linkage::Average, &crate::silent).unwrap();
        assert_near(&leaf_distances(&grown(900)), &leaf_distances(&judge));
        for dense in [1, 100] {
            let ratio = total(&grown(dense)) / total(&judge);
            assert!((ratio - 1.0).abs() < 0.05, "{dense}: {ratio}");
        }
    }
}

#[test]
fn clusters_far_apart_are_found() {
    // Six groups of 40 points in R⁵, in random order.
    let mut rng = generator(5);
    let mut group: Vec<usize> = (0..240).map(|i| i % 6).collect();
    group.shuffle(&mut rng);
    let centers = random(6 * 5, 6);
    let at = |(k, noise): (usize, f64)| 100.0 * centers[group[k / 5] * 5 + k % 5] + noise;
    let coordinates = random(240 * 5, 7).into_iter().enumerate().map(at).collect();
    let tree = tree_of(&points(5, coordinates, Euclidean), &sparse());
    for i in 0..240 {
        for j in 0..240 {
            assert_eq!(group[i] == group[j], tree.leaf_distance(i, j) < 20.0, "{i} {j}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The reference is the mean over all pairs of points.
    #[test]
    fn centers_and_spreads_give_the_mean_over_all_pairs(
        n in 1usize..12, m in 1usize..12, dim in 1usize..6, seed: u64,
    ) {
        let coordinates = random((n + m) * dim, seed);
        for metric in [SqEuclidean, Euclidean] {
            let mut clusters = ClusterCenters::new(metric, dim, &coordinates, 1.0);
            (1..n).for_each(|i| clusters.merge(0, i));
            (n + 1..n + m).for_each(|i| clusters.merge(n, i));
            let at = |i: usize| &coordinates[i * dim..(i + 1) * dim];
            let pairs = (0..n).flat_map(|i| (n..n + m).map(move |j| (i, j)));
            let sum: f64 = pairs.map(|(i, j)| SqEuclidean.between(at(i), at(j), None)).sum();
            let mean = sum / (n * m) as f64;
            let expected = if metric == Euclidean { mean.sqrt() } else { mean };
            let found = clusters.distance(0, n);
            prop_assert!((found - expected).abs() <= 1e-12 * expected.max(1.0), "{found} {expected}");
        }
    }

    /// Duplicates, points on a line, and very few points make valid trees.
    #[test]
    fn any_points_make_a_tree(n in 1usize..60, dim in 1usize..4, values in 1u32..6, seed: u64) {
        let coordinates: Vec<f64> =
            random(n * dim, seed).iter().map(|x| (x * f64::from(values)).round() + 7.0).collect();
        for metric in [Euclidean, Manhattan, SqEuclidean, Cosine] {
            let metric = points(dim, coordinates.clone(), metric);
            let plan = MergePlan { neighbors: 2, links: 3, dense: 4, ..MergePlan::default() };
            for tree in [tree_of(&metric, &plan), linkage(&metric, Linkage::Neighbors, &crate::silent).unwrap()] {
                prop_assert_eq!(tree.leaves(), n);
                prop_assert!(tree.is_ultrametric());
                for j in 1..n {
                    if metric.distance(0, j) == 0.0 {
                        prop_assert!(tree.leaf_distance(0, j) < 1e-7);
                    }
                }
            }
        }
    }
}

#[test]
fn manhattan_spreads_are_right_at_both_ends() {
    let coordinates = random(2 * 3, 8);
    let alone = ClusterCenters::new(Manhattan, 3, &coordinates, 1.0);
    let exact = points(3, coordinates, Manhattan).distance(0, 1);
    assert!((alone.distance(0, 1) - exact).abs() < 1e-12);
    // Two clusters with the same center, and two far apart.
    for (offset, tolerance) in [(0.0, 0.05), (50.0, 0.001)] {
        let (n, dim) = (400, 2);
        let mut rng = generator(9);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let coordinates: Vec<f64> =
            (0..2 * n * dim).map(|k| normal() + if k < n * dim { 0.0 } else { offset }).collect();
        let metric = points(dim, coordinates.clone(), Manhattan);
        let mut clusters = ClusterCenters::new(Manhattan, dim, &coordinates, 1.0);
        (1..n).for_each(|i| clusters.merge(0, i));
        (n + 1..2 * n).for_each(|i| clusters.merge(n, i));
        let pairs = (0..n).flat_map(|i| (n..2 * n).map(move |j| (i, j)));
        let mean = pairs.map(|(i, j)| metric.distance(i, j)).sum::<f64>() / (n * n) as f64;
        assert!((clusters.distance(0, n) / mean - 1.0).abs() < tolerance);
    }
}

#[test]
fn the_order_of_points_does_not_matter() {
    let (n, dim) = (300, 3);
    let coordinates = random(n * dim, 10);
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut generator(11));
    let moved = order.iter().flat_map(|&i| coordinates[i * dim..(i + 1) * dim].to_vec()).collect();
    let one = tree_of(&points(dim, coordinates, Euclidean), &sparse());
    let other = tree_of(&points(dim, moved, Euclidean), &sparse());
    let moved: Vec<f64> = order
        .iter()
        .flat_map(|&i| order.iter().map(move |&j| (i, j)))
        .map(|(i, j)| one.leaf_distance(i, j))
        .collect();
    assert_near(&moved, &leaf_distances(&other));
}

#[test]
fn distances_times_a_factor_give_the_tree_times_it() {
    let coordinates = random(200 * 3, 12);
    for metric in [Euclidean, Manhattan, SqEuclidean] {
        let one =
            linkage(&points(3, coordinates.clone(), metric), Linkage::Neighbors, &crate::silent)
                .unwrap();
        for factor in [4.0, 2f64.powi(-500), 2f64.powi(400)] {
            let scaled = coordinates.iter().map(|x| x * factor).collect();
            let factor = if metric == SqEuclidean { factor * factor } else { factor };
            if !(1e-280..1e280).contains(&factor) {
                continue;
            }
            let other =
                linkage(&points(3, scaled, metric), Linkage::Neighbors, &crate::silent).unwrap();
            assert_eq!(one.scaled(factor).unwrap(), other, "{metric} {factor}");
        }
    }
}

#[test]
fn long_chains_take_no_longer_than_other_points() {
    // Every gap is longer than the one before: each point's nearest is the one before it.
    let coordinates: Vec<f64> =
        (0..3_000).map(|i| f64::from(i) + 1e-4 * f64::from(i * i)).collect();
    let tree = tree_of(&points(1, coordinates, Euclidean), &sparse());
    assert_eq!(tree.leaves(), 3_000);
}

#[test]
fn noise_changes_merges_and_is_the_same_for_a_seed() {
    let metric = points(2, random(2 * 200, 13), Euclidean);
    let grown = |noise| neighbors(&metric, noise, &FirstNeighbors::new(), &silent).unwrap();
    let with = |seed| grown(Some(DistanceNoise { sigma: 0.3, seed }));
    assert_eq!(with(1), with(1));
    assert_ne!(with(1).children, with(2).children);
    assert_ne!(with(1).children, grown(None).children);
}

#[test]
fn representatives_are_points_of_their_cluster() {
    let metric = points(2, random(2 * 40, 14), Euclidean).materialized().unwrap();
    let mut clusters = Representatives::new(&metric);
    (1..20).for_each(|i| clusters.merge(0, i));
    (21..40).for_each(|i| clusters.merge(20, i));
    let mean = |a: usize, b: usize| clusters.distance(a, b);
    // Sixteen distances between four points of each cluster.
    assert!(mean(0, 20) > 0.0 && mean(0, 20) < 3.0);
    assert!((mean(0, 20) - mean(20, 0)).abs() < 1e-12);
}

#[test]
fn a_matrix_has_a_tree_near_average_linkage() {
    let metric = points(2, random(2 * 1_500, 15), Euclidean).materialized().unwrap();
    let plan = MergePlan { dense: 100, ..MergePlan::default() };
    let ours = grow(Representatives::new(&metric), &plan, &FirstNeighbors::new(), &silent)
        .unwrap()
        .to_tree()
        .unwrap();
    let cost = |tree: &Tree| {
        let error =
            |(i, j): (usize, usize)| (tree.leaf_distance(i, j) - metric.distance(i, j)).abs();
        (0..400).map(|k| error((3 * k, 3 * k + 1))).sum::<f64>()
    };
    let ours = cost(&ours);
    let average = cost(&linkage(&metric, Linkage::Average, &crate::silent).unwrap());
    assert!(ours < 1.3 * average, "{ours} {average}");
}

#[test]
fn stopped_work_is_canceled() {
    let metric = points(2, random(2 * 50, 16), Euclidean);
    let stop = |_: &crate::progress::State<'_>| false;
    let stopped: crate::Result<BinaryTree> =
        neighbors(&metric, None, &FirstNeighbors::new(), &stop);
    assert!(matches!(stopped, Err(crate::Error::Canceled)));
}
