//! Linkages against clustering done the slow way: all pairs, nearest first, one merge at a time.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{GroundMetric, Linkage, PointMetric, Tree, linkage};

const NORMS: [PointMetric; 4] =
    [PointMetric::Euclidean, PointMetric::SqEuclidean, PointMetric::Manhattan, PointMetric::Cosine];

fn matrices(points: std::ops::Range<usize>) -> impl Strategy<Value = GroundMetric> {
    points.prop_flat_map(|n| {
        // Ties and zeros are common in real data.
        let distance = prop_oneof![4 => 0.0..10.0, 2 => (0..4).prop_map(f64::from)];
        vec(distance, n * (n - 1) / 2)
            .prop_map(move |d| GroundMetric::from_condensed(n, d).unwrap())
    })
}

fn graphs() -> impl Strategy<Value = GroundMetric> {
    (2..30usize).prop_flat_map(|n| {
        let weight = prop_oneof![Just(0.0), 0.0..5.0];
        let path = vec(weight.clone(), n - 1);
        let more = vec((0..n, 0..n, weight), 0..40);
        (path, more).prop_map(move |(path, more)| {
            let mut edges: Vec<_> = path.iter().enumerate().map(|(i, &w)| (i, i + 1, w)).collect();
            edges.extend(more);
            GroundMetric::from_edges(n, &edges).unwrap()
        })
    })
}

fn square(metric: &GroundMetric) -> Vec<Vec<f64>> {
    let n = metric.points();
    let row = |i| {
        let mut row = vec![0.0; n];
        metric.row(i, &mut row);
        row
    };
    (0..n).map(row).collect()
}

/// Merge distance of every pair of points: merges the nearest clusters until one is left.
fn agglomerate(metric: &GroundMetric, method: Linkage) -> Vec<Vec<f64>> {
    let n = metric.points();
    let d = square(metric);
    let mut merged = vec![vec![0.0; n]; n];
    let mut clusters: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
    while clusters.len() > 1 {
        let mut best = (f64::INFINITY, 0, 0);
        for (a, b) in common::pairs(clusters.len()) {
            let between = compare(&d, &clusters[a], &clusters[b], method);
            if between < best.0 {
                best = (between, a, b);
            }
        }
        let (height, a, b) = best;
        let other = clusters.swap_remove(b);
        for &i in &clusters[a] {
            for &j in &other {
                merged[i][j] = height;
                merged[j][i] = height;
            }
        }
        clusters[a].extend(other);
    }
    merged
}

/// How far apart two clusters are, from the distances of their points.
fn compare(d: &[Vec<f64>], a: &[usize], b: &[usize], method: Linkage) -> f64 {
    let across = || a.iter().flat_map(|&i| b.iter().map(move |&j| d[i][j]));
    let (p, q) = (a.len() as f64, b.len() as f64);
    match method {
        Linkage::Average | Linkage::Neighbors => across().sum::<f64>() / (p * q),
        Linkage::Complete => across().fold(0.0, f64::max),
        Linkage::Ward => {
            // Ward from squared distances alone: between minus within, as for points in a space.
            let within = |c: &[usize]| {
                let squares = c.iter().flat_map(|&i| c.iter().map(move |&j| d[i][j].powi(2)));
                squares.sum::<f64>() / (c.len() as f64).powi(2)
            };
            let between = across().map(|x| x * x).sum::<f64>() / (p * q);
            let centers = between - 0.5 * within(a) - 0.5 * within(b);
            (2.0 * p * q / (p + q) * centers.max(0.0)).sqrt()
        }
        Linkage::Single | Linkage::Closest => across().fold(f64::INFINITY, f64::min),
        other => panic!("{other} has no judge yet"),
    }
}

fn assert_merges(tree: &Tree, judge: &[Vec<f64>], tolerance: f64) {
    assert!(tree.is_ultrametric());
    for (i, j) in common::pairs(tree.leaves()) {
        let (ours, judge) = (tree.leaf_distance(i, j), judge[i][j]);
        assert!((ours - judge).abs() <= tolerance, "{i} and {j} merge at {ours}, not {judge}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn single_linkage_of_a_matrix(metric in matrices(1..25)) {
        let judge = agglomerate(&metric, Linkage::Single);
        assert_merges(&linkage(&metric, Linkage::Single, &treeport::silent).unwrap(), &judge, 1e-12);
    }

    /// So few points are all compared.
    #[test]
    fn neighbors_linkage_of_a_small_matrix_is_average_linkage(metric in matrices(1..25)) {
        // Equal distances, and equal means of them, may merge in another order: so there are none.
        let distances = metric.condensed().unwrap().into_iter().zip(0..);
        let distances = distances.map(|(d, k)| d + 1e-3 * (0.618_034 * f64::from(k * k + 1)).fract());
        let metric = GroundMetric::from_condensed(metric.points(), distances.collect()).unwrap();
        let average = linkage(&metric, Linkage::Average, &treeport::silent).unwrap();
        let neighbors = linkage(&metric, Linkage::Neighbors, &treeport::silent).unwrap();
        let judge: Vec<Vec<f64>> = (0..metric.points())
            .map(|i| (0..metric.points()).map(|j| average.leaf_distance(i, j)).collect())
            .collect();
        assert_merges(&neighbors, &judge, 1e-9);
    }

    #[test]
    fn single_linkage_of_points_is_that_of_their_distances(
        coordinates in vec(prop_oneof![3 => -10.0..10.0, 1 => Just(1.0)], 37 * 5),
        dim in 1..37usize,
    ) {
        let n = coordinates.len() / dim;
        for norm in NORMS {
            let points = coordinates[..n * dim].to_vec();
            let metric = GroundMetric::from_points(dim, points, norm).unwrap();
            let flat: Vec<f64> = square(&metric).concat();
            let judge = common::single_linkage(n, &flat);
            let tree = linkage(&metric, Linkage::Single, &treeport::silent).unwrap();
            let scale = flat.iter().copied().fold(0.0, f64::max);
            for (i, j) in common::pairs(n) {
                let gap = (tree.leaf_distance(i, j) - judge[i * n + j]).abs();
                prop_assert!(gap <= 1e-12 * scale, "{norm}: {i} and {j} differ by {gap}");
            }
        }
    }

    #[test]
    fn single_linkage_of_a_graph_needs_only_its_edges(metric in graphs()) {
        let judge = agglomerate(&metric, Linkage::Single);
        assert_merges(&linkage(&metric, Linkage::Single, &treeport::silent).unwrap(), &judge, 1e-12);
    }

    #[test]
    fn the_closest_ultrametric_is_half_the_gap_above_single_linkage(metric in matrices(2..25)) {
        let single = linkage(&metric, Linkage::Single, &treeport::silent).unwrap();
        let closest = linkage(&metric, Linkage::Closest, &treeport::silent).unwrap();
        let n = metric.points();
        let largest = |tree: &Tree| {
            let gap = |(i, j)| (metric.distance(i, j) - tree.leaf_distance(i, j)).abs();
            common::pairs(n).map(gap).fold(0.0, f64::max)
        };
        let gap = largest(&single);
        prop_assert!((largest(&closest) - 0.5 * gap).abs() <= 1e-12);
        for (i, j) in common::pairs(n) {
            let raised = single.leaf_distance(i, j) + 0.5 * gap;
            prop_assert!((closest.leaf_distance(i, j) - raised).abs() <= 1e-12);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // Distances without ties: with them the order of merges, and so the heights, are a matter of taste.
    #[test]
    fn the_other_linkages_merge_as_the_slow_way_does(
        coordinates in vec(-10.0..10.0f64, 3 * 20),
        n in 1..20usize,
    ) {
        let points = coordinates[..3 * n].to_vec();
        let metric = GroundMetric::from_points(3, points, PointMetric::Euclidean).unwrap();
        for method in [Linkage::Average, Linkage::Complete, Linkage::Ward] {
            let judge = agglomerate(&metric, method);
            assert_merges(&linkage(&metric, method, &treeport::silent).unwrap(), &judge, 1e-9);
        }
    }
}

#[test]
fn distances_of_any_size_are_linked() {
    for unit in [1e-200, 1.0, 1e200] {
        let metric = GroundMetric::from_condensed(3, vec![unit, unit, 0.5 * unit]).unwrap();
        for method in [Linkage::Single, Linkage::Average, Linkage::Complete, Linkage::Ward] {
            let tree = linkage(&metric, method, &treeport::silent).unwrap();
            assert!((tree.leaf_distance(1, 2) / unit - 0.5).abs() < 1e-12, "{method:?} {unit}");
            assert!(tree.leaf_distance(0, 1) / unit > 0.9, "{method:?} {unit}");
        }
    }
    for scale in [1e-200, 1.0, 1e200] {
        let points = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0].map(|x| x * scale).to_vec();
        let metric = GroundMetric::from_points(2, points, PointMetric::Cosine).unwrap();
        let tree = linkage(&metric, Linkage::Single, &treeport::silent).unwrap();
        assert!((tree.leaf_distance(0, 2) - (1.0 - 0.5f64.sqrt())).abs() < 1e-12, "{scale}");
    }
}

#[test]
fn single_linkage_of_many_points_is_the_same_on_any_number_of_threads() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(3);
    let coordinates: Vec<f64> = (0..4000 * 20).map(|_| rng.random()).collect();
    // A copy would know the tree already: the metric keeps it.
    let on = |threads: usize| {
        let metric = GroundMetric::from_points(20, coordinates.clone(), PointMetric::Euclidean);
        common::on_threads(threads, || {
            linkage(&metric.unwrap(), Linkage::Single, &treeport::silent).unwrap()
        })
    };
    assert_eq!(on(1), on(4));
}
