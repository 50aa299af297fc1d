//! The same questions to points, matrices and graphs.

use super::*;

fn all_kinds() -> [GroundMetric; 4] {
    let line = || vec![0.0, 1.0, 3.0, 7.0];
    let points = GroundMetric::from_points(1, line(), Norm::Manhattan).unwrap();
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
        assert_eq!(metric.condensed(), condensed, "{metric:?}");
        assert_eq!(metric.condensed_f32(), condensed.map(|d| d as f32));
        assert_eq!(metric.distance(3, 1), 6.0);
        assert_eq!(metric.distance(2, 2), 0.0);
        let mut row = [f64::NAN; 4];
        metric.row(2, &mut row);
        assert_eq!(row, [3.0, 2.0, 0.0, 4.0]);
        let mut block = [f64::NAN; 4];
        metric.block(&[3, 0], &[0, 1], &mut block);
        assert_eq!(block, [7.0, 6.0, 0.0, 1.0]);
        metric.block(&[1, 2], &[], &mut []);
        let matrix = metric.materialized();
        assert_eq!(
            (matrix.condensed(), matrix.is_metric()),
            (condensed.into(), metric.is_metric())
        );
        assert!(matrix.matrix().is_some() && metric.assume_metric().is_metric());
    }
}

#[test]
fn each_kind_says_what_it_is() {
    let [points, double, single, graph] = all_kinds();
    assert_eq!(points.coordinates(), Some((1, &[0.0, 1.0, 3.0, 7.0][..])));
    assert_eq!(points.norm(), Some(Norm::Manhattan));
    assert_eq!(double.coordinates(), None);
    assert_eq!(graph.norm(), None);
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
    for (norm, promised) in [
        (Norm::Euclidean, true),
        (Norm::Manhattan, true),
        (Norm::SqEuclidean, false),
        (Norm::Cosine, false),
    ] {
        let metric = GroundMetric::from_points(1, vec![1.0, 2.0], norm).unwrap();
        assert_eq!(metric.is_metric(), promised);
    }
}

#[test]
fn one_point_is_enough_and_equal_points_are_fine() {
    let one = GroundMetric::from_points(2, vec![1.0, 2.0], Norm::Euclidean).unwrap();
    assert_eq!(one.condensed(), [0.0; 0]);
    assert_eq!(GroundMetric::from_square(1, &[0.0]).unwrap().points(), 1);
    let twins = GroundMetric::from_points(1, vec![5.0, 5.0, 6.0], Norm::Euclidean).unwrap();
    assert_eq!(twins.condensed(), [0.0, 1.0, 1.0]);
    assert_eq!(GroundMetric::from_condensed(2, vec![0.0]).unwrap().distance(0, 1), 0.0);
}

#[test]
fn distances_beyond_single_precision_are_capped() {
    let far = GroundMetric::from_condensed(2, vec![1e300]).unwrap();
    assert_eq!(far.condensed_f32(), [f32::MAX]);
}
