//! Tests of bounds by sweeps against exact values.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::Problem;
use crate::measures::Measures;
use crate::metric::PointMetric;
use crate::solve::exact::random::random;

/// Generates every kind of metric: points in few and many dimensions, some of them equal or nearly
/// so; a matrix without the triangle inequality; and a graph.
fn metrics() -> impl Strategy<Value = GroundMetric> {
    let kinds = prop::sample::select(vec![
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
    ]);
    let dims = prop::sample::select(vec![1usize, 2, 7, 20, 60]);
    let sizes = prop::sample::select(vec![1e-140, 1e-3, 1.0, 1e7, 1e140]);
    let points = (kinds, dims, sizes, 10usize..120, any::<u64>()).prop_filter_map(
        "no such metric",
        |(kind, dim, size, n, seed)| {
            let mut random = random(seed);
            let grid = seed % 3 == 0;
            let mut coordinate = || {
                let x = random();
                size * if grid { (4.0 * x).round() + 1.0 } else { x }
            };
            let coordinates = (0..n * dim).map(|_| coordinate()).collect();
            GroundMetric::from_points(dim, coordinates, kind).ok()
        },
    );
    let others = (10usize..90, any::<u64>(), any::<bool>()).prop_map(|(n, seed, graph)| {
        let mut random = random(seed);
        if graph {
            let mut edges: Vec<_> = (1..n).map(|v| (v / 2, v, random())).collect();
            edges.extend((0..n).map(|v| (v, (7 * v + 3) % n, random())));
            edges.retain(|edge| edge.0 != edge.1);
            return GroundMetric::from_edges(n, &edges).unwrap();
        }
        let entry = |x: f64| if x < 0.1 { 0.0 } else { x.powi(3) };
        let distances = (0..n * (n - 1) / 2).map(|_| entry(random())).collect();
        GroundMetric::from_condensed(n, distances).unwrap()
    });
    prop_oneof![3 => points, 2 => others]
}

/// Creates two measures that share some points, with masses that may differ by orders of magnitude.
fn measures(n: usize, masses: &[(bool, f64)]) -> Option<Measures> {
    let row = |k: usize| {
        let entries = (0..n).map(move |p| (p, masses[(p + k * n) % masses.len()]));
        entries.filter(|(_, (is_there, _))| *is_there).map(|(p, (_, mass))| (p, mass)).collect()
    };
    let rows: [Vec<(usize, f64)>; 2] = [row(0), row(1)];
    Some(Measures::from_rows(n, rows).ok()?.normalized())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn w1_is_never_outside_and_nobody_comes_first(
        metric in metrics(),
        masses in vec((any::<bool>(), prop_oneof![Just(1.0), 1e-9..1.0f64, Just(1e-12)]), 241),
    ) {
        let Some(measures) = measures(metric.points(), &masses) else { return Ok(()) };
        let (a, b) = (measures.row(0), measures.row(1));
        let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
        let (lower, upper) = interval(&metric, &a, &b, f64::INFINITY).unwrap();
        prop_assert!(lower <= exact * (1.0 + 1e-11) && exact <= upper * (1.0 + 1e-11), "{lower} {exact} {upper}");
        let back = interval(&metric, &b, &a, f64::INFINITY).unwrap();
        // Where nearly all mass stays, rounding affects the little mass that moves.
        let largest = metric.condensed().unwrap().into_iter().fold(0.0, f64::max);
        let near = |x: f64, y: f64| (x - y).abs() <= 1e-6 * x + 1e-13 * largest;
        prop_assert!(near(lower, back.0) && near(upper, back.1), "{lower} {upper} {back:?}");
    }
}

#[test]
fn they_are_narrow_where_mass_moves_to_neighbors_and_where_it_moves_far() {
    for (dim, support, most) in [(2, 200, 0.08), (5, 200, 0.04), (100, 200, 0.02)] {
        let mut random = random(7);
        let points = (0..2 * support * dim).map(|_| random()).collect();
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean).unwrap();
        let rows = [0, support].map(|first| {
            (first..first + support).map(|p| (p, random() + 0.01)).collect::<Vec<_>>()
        });
        let measures = Measures::from_rows(2 * support, rows).unwrap().normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let (lower, upper) = interval(&metric, &a, &b, f64::INFINITY).unwrap();
        assert!(upper / lower - 1.0 < most, "{dim} {}", upper / lower - 1.0);
        let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
        assert!(lower <= exact && exact <= upper);
        // A matrix without the triangle inequality is bounded as well, although shared mass may
        // move.
        let matrix = GroundMetric::from_condensed(2 * support, metric.condensed().unwrap());
        let bounds = interval(&matrix.unwrap(), &a, &b, f64::INFINITY).unwrap();
        assert!(bounds.1 / bounds.0 - 1.0 < most && bounds.0 <= exact && exact <= bounds.1);
    }
}

#[test]
fn next_to_no_mass_somewhere_spoils_no_bound() {
    let mut random = random(3);
    let points = (0..400).map(|_| random()).collect();
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap();
    for least in [1e-8, 1e-13, 1e-16, 1e-20, 1e-31, 1e-45, 1e-200] {
        // Bell curves that fall by many orders of magnitude, and single points with even less mass.
        let rows = [0, 100].map(|first| {
            let mass = |k: usize| if k.is_multiple_of(7) { least } else { 0.01 + (k % 5) as f64 };
            (first..first + 100).map(|p| (p, mass(p))).collect::<Vec<_>>()
        });
        let measures = Measures::from_rows(200, rows).unwrap().normalized();
        let (lower, upper) = interval(&metric, &measures.row(0), &measures.row(1), 0.05).unwrap();
        assert!(upper / lower - 1.0 < 0.08, "{least} {}", upper / lower - 1.0);
    }
}

#[test]
fn distances_at_the_end_of_the_range_do_not_panic() {
    let n = 130;
    for huge in [f64::MAX, 1e300] {
        let distances = vec![huge; n * (n - 1) / 2];
        let metric = GroundMetric::from_condensed(n, distances).unwrap();
        let rows = [0, 65].map(|first| (first..first + 65).map(|p| (p, 1.0)).collect::<Vec<_>>());
        let measures = Measures::from_rows(n, rows).unwrap().normalized();
        let (lower, upper) = interval(&metric, &measures.row(0), &measures.row(1), 0.05).unwrap();
        assert!(
            lower <= huge && !upper.is_nan() && upper >= huge * (1.0 - 1e-9),
            "{lower} {upper}"
        );
    }
}

#[test]
fn equal_measures_and_points_in_one_place_cost_nothing() {
    let metric = GroundMetric::from_points(1, vec![3.0; 6], PointMetric::Euclidean).unwrap();
    let matrix = GroundMetric::from_condensed(6, vec![1.0; 15]).unwrap();
    let measures = Measures::from_dense(6, &[1.0, 2.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
    let moved = Measures::from_dense(6, &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).unwrap();
    let (a, b) = (measures.row(0), moved.row(0));
    let (lower, upper) = interval(&metric, &a, &b, f64::INFINITY).unwrap();
    assert!(lower == 0.0 && upper < 1e-15, "{lower} {upper}");
    assert_eq!(interval(&matrix, &a, &a, 0.05).unwrap(), (0.0, 0.0));
    let (lower, upper) = interval(&matrix, &a, &b, 0.05).unwrap();
    assert!(lower <= 1.0 && 1.0 <= upper && upper - lower < 1e-5, "{lower} {upper}");
}
