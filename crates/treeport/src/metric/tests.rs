//! Points, matrices and graphs give the same answers.

use super::*;
use crate::progress::silent;
use rayon::prelude::*;

fn all_kinds() -> [GroundMetric; 4] {
    let line = || vec![0.0, 1.0, 3.0, 7.0];
    let points = GroundMetric::from_points(1, line(), PointMetric::Manhattan).unwrap();
    let condensed = [1.0, 3.0, 7.0, 2.0, 6.0, 4.0];
    let double = GroundMetric::from_condensed(4, condensed.to_vec()).unwrap();
    let single = condensed.iter().map(|&d| d as f32).collect();
    let single = GroundMetric::from_condensed_f32(4, single).unwrap();
    let edges = [(1, 0, 1.0), (1, 2, 2.0), (3, 2, 4.0), (0, 3, 9.0), (1, 2, 5.0), (2, 2, 1.0)];
    [points, double, single, GroundMetric::from_edges(4, &edges).unwrap()]
}

#[test]
fn all_kinds_answer_alike() {
    let condensed = [1.0, 3.0, 7.0, 2.0, 6.0, 4.0];
    for metric in all_kinds() {
        assert_eq!(metric.points(), 4);
        assert_eq!(metric.condensed().unwrap(), condensed, "{metric:?}");
        assert_eq!(
            metric.condensed_as(single_precision, &silent).unwrap(),
            condensed.map(|d| d as f32)
        );
        assert_eq!(metric.distance(3, 1), 6.0);
        assert_eq!(metric.distance(2, 2), 0.0);
        let mut row = [f64::NAN; 4];
        metric.row(2, &mut row);
        assert_eq!(row, [3.0, 2.0, 0.0, 4.0]);
        let mut block = [f64::NAN; 4];
        metric.block(&[3, 0], &[0, 1], &mut block);
        assert_eq!(block, [7.0, 6.0, 0.0, 1.0]);
        metric.block(&[1, 2], &[], &mut []);
        let matrix = metric.materialized().unwrap();
        assert_eq!(
            (matrix.condensed().unwrap(), matrix.is_metric()),
            (condensed.into(), metric.is_metric())
        );
        assert!(matrix.matrix().is_some() && metric.assume_metric().unwrap().is_metric());
    }
}

#[test]
fn each_kind_says_what_it_is() {
    let [points, double, single, graph] = all_kinds();
    assert_eq!(points.coordinates(), Some((1, &[0.0, 1.0, 3.0, 7.0][..])));
    assert_eq!(points.point_metric(), Some(PointMetric::Manhattan));
    assert_eq!(double.coordinates(), None);
    assert_eq!(graph.point_metric(), None);
    let edges = [(0, 1, 1.0), (0, 3, 9.0), (1, 2, 2.0), (2, 3, 4.0)];
    assert_eq!(graph.edges(), Some(&edges[..]));
    assert_eq!(points.edges(), None);
    assert!(matches!(single.matrix(), Some(Storage::F32(_))));
    assert!(points.is_metric() && graph.is_metric() && !double.is_metric());
    assert_eq!(format!("{points:?}"), "GroundMetric(4 points, manhattan in 1 dimensions)");
    assert_eq!(format!("{graph:?}"), "GroundMetric(4 points, graph of 4 edges)");
}

#[test]
fn the_promise_follows_the_norm() {
    for (point_metric, promised) in [
        (PointMetric::Euclidean, true),
        (PointMetric::Manhattan, true),
        (PointMetric::SqEuclidean, false),
        (PointMetric::Cosine, false),
    ] {
        let metric = GroundMetric::from_points(1, vec![1.0, 2.0], point_metric).unwrap();
        assert_eq!(metric.is_metric(), promised);
    }
}

#[test]
fn one_point_is_enough_and_equal_points_are_fine() {
    let one = GroundMetric::from_points(2, vec![1.0, 2.0], PointMetric::Euclidean).unwrap();
    assert_eq!(one.condensed().unwrap(), [0.0; 0]);
    assert_eq!(GroundMetric::from_square(1, &[0.0]).unwrap().points(), 1);
    let twins = GroundMetric::from_points(1, vec![5.0, 5.0, 6.0], PointMetric::Euclidean).unwrap();
    assert_eq!(twins.condensed().unwrap(), [0.0, 1.0, 1.0]);
    assert_eq!(GroundMetric::from_condensed(2, vec![0.0]).unwrap().distance(0, 1), 0.0);
}

#[test]
fn distances_beyond_single_precision_are_capped() {
    let far = GroundMetric::from_condensed(2, vec![1e300]).unwrap();
    assert_eq!(far.condensed_as(single_precision, &silent).unwrap(), [f32::MAX]);
}

/// A ring with chords, in which sums along paths round differently from either end.
fn ring() -> GroundMetric {
    let length = |k: usize| 0.1 + (k * k % 7) as f64 / 3.0;
    let ring = (0..30).map(|k| (k, (k + 1) % 30, length(k)));
    let edges: Vec<_> = ring.chain((0..30).map(|k| (k, k * 7 % 30, length(k + 3)))).collect();
    GroundMetric::from_edges(30, &edges).unwrap()
}

#[test]
fn a_graph_that_is_worked_out_answers_as_its_matrix_to_the_bit() {
    let graph = ring();
    let (matrix, copy) = (graph.materialized().unwrap(), graph.clone().assume_metric().unwrap());
    let all: Vec<usize> = (0..30).collect();
    let pairs: Vec<(usize, usize)> = (0..90).map(|k| (k % 30, k * k % 30)).collect();
    let answers = |metric: &GroundMetric| {
        let (mut block, mut row) = (vec![f64::NAN; 900], vec![f64::NAN; 30]);
        metric.block(&all, &all, &mut block);
        let one_by_one: Vec<f64> = pairs.iter().map(|&(i, j)| metric.distance(i, j)).collect();
        let mut rows = Vec::new();
        for i in 0..30 {
            metric.row(i, &mut row);
            rows.extend_from_slice(&row);
        }
        (
            block,
            rows,
            one_by_one,
            metric.pairs(&pairs),
            metric.condensed().unwrap(),
            metric.condensed_as(single_precision, &silent).unwrap(),
        )
    };
    let (before, judge) = (answers(&graph), answers(&matrix));
    assert_eq!((&before.2, &before.4), (&judge.2, &judge.4));
    assert!(before.0.iter().zip(&judge.0).all(|(a, b)| (a - b).abs() <= 1e-14 * b));
    graph.materialize(&crate::silent).unwrap();
    graph.materialize(&crate::silent).unwrap();
    // Clones from before share the table.
    for metric in [&graph, &copy] {
        assert!(metric.storage().is_some());
        assert_eq!(answers(metric), judge);
        assert!(metric.matrix().is_none() && metric.edges().is_some(), "it is a graph still");
    }
    assert!(ring().storage().is_none());
}

#[test]
fn any_number_of_threads_works_a_graph_out_to_the_same_bits() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let graph = ring();
        pool.install(|| graph.materialize(&crate::silent).unwrap());
        graph.condensed().unwrap()
    };
    assert_eq!(on(1), on(3));
}

#[test]
fn copies_share_what_was_worked_out() {
    for metric in all_kinds() {
        let copy = metric.clone();
        assert!(Arc::ptr_eq(&metric.shared, &copy.shared));
        assert!(Arc::ptr_eq(&metric.shared, &metric.clone().assume_metric().unwrap().shared));
        crate::linkage(&copy, crate::Linkage::Single, &crate::silent).unwrap();
        assert_eq!(metric.shared.cache.spanning.get().map(Vec::len), Some(3));
    }
}

/// A thread that waits for all distances of a graph may be given work that needs them, too.
#[test]
fn a_graph_is_worked_out_from_many_threads_at_once() {
    let edges: Vec<_> = (1..400).map(|v| (v, v / 2, 1.0 + (v % 7) as f64)).collect();
    let metric = GroundMetric::from_edges(400, &edges).unwrap();
    let judge = metric.materialized().unwrap();
    (0..64).into_par_iter().for_each(|i: usize| {
        let copy = metric.clone();
        copy.materialize(&crate::silent).unwrap();
        crate::linkage(&copy, crate::Linkage::Single, &crate::silent).unwrap();
        assert_eq!(copy.distance(i, 399 - i), judge.distance(i, 399 - i));
    });
}
