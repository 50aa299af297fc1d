//! Exact distances of many pairs are those of one pair after another, to the bit.

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Answer, GroundMetric, Labeled, Measures, PointMetric, Problem, Problems, silent};

/// Points in `dim` dimensions and measures on a few of them, which share some.
fn scenes(dim: usize) -> impl Strategy<Value = (GroundMetric, Measures)> {
    let metrics = [PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::SqEuclidean];
    (prop::sample::select(metrics.to_vec()), 8..40usize).prop_flat_map(move |(metric, n)| {
        let coordinates = vec(prop_oneof![-3..3i32, -900..900i32], n * dim);
        let masses = prop_oneof![2 => Just(0.0), 1 => Just(1.0), 1 => 0.01..9.0f64];
        (coordinates, vec(masses, 4 * n)).prop_map(move |(coordinates, mut masses)| {
            let coordinates = coordinates.into_iter().map(|x| f64::from(x) / 7.0).collect();
            // No measure is empty.
            masses.iter_mut().step_by(n).for_each(|mass| *mass += 0.5);
            let measures = Measures::from_dense(n, &masses).unwrap().normalized();
            (GroundMetric::from_points(dim, coordinates, metric).unwrap(), measures)
        })
    })
}

fn on_threads<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(job)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_batch_is_one_pair_after_another(
        (metric, measures) in prop_oneof![scenes(2), scenes(3), scenes(30)],
    ) {
        // Runs of the same measure on the left, and changes of it.
        let pairs: Vec<(usize, usize)> =
            (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).chain([(1, 0), (0, 1), (3, 0)]).collect();
        let judge: Vec<u64> = pairs
            .iter()
            .map(|&(i, j)| Problem::new(&metric, &measures.row(i), &measures.row(j)).value(&silent).unwrap())
            .map(f64::to_bits)
            .collect();
        for threads in [1, 3] {
            let batch =
                on_threads(threads, || Problems::new(&metric, &measures, &pairs).values(&silent).unwrap());
            prop_assert_eq!(&judge, &batch.into_iter().map(f64::to_bits).collect::<Vec<_>>());
        }
        let labeled = Labeled::solve(&metric, &measures, pairs.clone(), &silent).unwrap();
        prop_assert_eq!(judge, labeled.distances().iter().map(|d| d.to_bits()).collect::<Vec<_>>());
    }
}

#[test]
fn lopsided_supports_are_proved_from_both_sides() {
    let (few, many) = (7, 900);
    let wave = |k: usize| ((k * 7919 + 13) % 4001) as f64 / 4001.0;
    let coordinates = (0..3 * (few + many)).map(|k| wave(k * k + k)).collect();
    let metric = GroundMetric::from_points(3, coordinates, PointMetric::Euclidean).unwrap();
    let side = |points: std::ops::Range<usize>| points.map(|p| (p, 0.1 + wave(p))).collect();
    let rows: [Vec<(usize, f64)>; 2] = [side(0..few), side(few..few + many)];
    let measures = Measures::from_rows(few + many, rows).unwrap().normalized();
    let (a, b) = (measures.row(0), measures.row(1));
    let (there, back) = (
        Problem::new(&metric, &a, &b).solve(&silent).unwrap(),
        Problem::new(&metric, &b, &a).solve(&silent).unwrap(),
    );
    for (solution, first, second) in [(&there, &a, &b), (&back, &b, &a)] {
        assert!(solution.gap() <= Answer::TOLERANCE * solution.value() && !solution.integers);
        let sent = |from: usize| -> f64 {
            solution.plan.iter().filter(|m| m.0 == from).map(|m| m.2).sum()
        };
        for (point, mass) in first.iter() {
            assert!((sent(point) - mass).abs() <= 1e-15, "{point}");
        }
        let duals =
            solution.left.iter().map(|&(i, u)| first.iter().find(|e| e.0 == i).unwrap().1 * u);
        let bound = duals.sum::<f64>()
            + solution
                .right
                .iter()
                .map(|&(j, v)| second.iter().find(|e| e.0 == j).unwrap().1 * v)
                .sum::<f64>();
        assert!((bound - solution.value()).abs() <= 1e-12 * solution.value());
        for &(i, u) in &solution.left {
            for &(j, v) in &solution.right {
                assert!(u + v <= metric.distance(i, j) + 1e-12);
            }
        }
    }
    assert!((there.value() - back.value()).abs() <= 1e-12 * there.value());
}
