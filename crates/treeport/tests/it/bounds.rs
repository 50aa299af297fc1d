//! Bounds with the potentials behind the lower one, times that many problems share, and forecasts.

use std::time::Duration;

use proptest::prelude::*;
use treeport::metric::Components;
use treeport::{
    Accuracy, Aim, Answer, GroundMetric, MatrixView, Measure, Measures, Period, PointMetric,
    Potentials, Problem, Problems, Relax, Wanted, silent,
};

/// A number from 0 to 1 for every pair of whole numbers.
fn noise(seed: u64, k: usize) -> f64 {
    let mut state = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(k as u64 * 2 + 1);
    for _ in 0..3 {
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (state >> 11) as f64 / (1u64 << 53) as f64
}

/// Every kind of points, with and without periods.
fn geometry(kind: u8) -> (usize, treeport::Geometry) {
    let turning = |metric: PointMetric| {
        metric.with_optional_period(Some(Period::Each(vec![Some(0.7), None])))
    };
    match kind {
        0 => (2, PointMetric::Euclidean.into()),
        1 => (3, PointMetric::Manhattan.into()),
        2 => (2, PointMetric::Chebyshev.into()),
        3 => (2, PointMetric::SqEuclidean.into()),
        4 => (3, PointMetric::Cosine.into()),
        5 => (2, PointMetric::Haversine.into()),
        6 => (1, PointMetric::Euclidean.into()),
        7 => (1, PointMetric::SqEuclidean.into()),
        8 => (2, turning(PointMetric::Euclidean)),
        _ => (2, turning(PointMetric::SqEuclidean)),
    }
}

const KINDS: u8 = 10;

/// Points of a kind, and two measures of as many points each, every third of which has no mass.
fn scene(kind: u8, n: usize, seed: u64) -> (GroundMetric, Measures) {
    let (dim, geometry) = geometry(kind);
    let scale = if kind == 5 { 85.0 } else { 1.0 };
    let coordinates = (0..2 * n * dim).map(|k| scale * (noise(seed, k) + 0.01)).collect();
    let metric = GroundMetric::from_points(dim, coordinates, geometry).unwrap();
    let row = |first: usize| {
        let with_mass = (0..n).filter(|k| k % 3 != 0 || n < 3);
        with_mass.map(|k| (first + k, 0.1 + noise(seed, first + k + 7))).collect::<Vec<_>>()
    };
    (metric, Measures::from_rows(2 * n, [row(0), row(n)]).unwrap().normalized())
}

fn targets() -> [Aim; 5] {
    let hasty = Aim::exact().in_time(Duration::ZERO);
    [Aim::within(0.3), Aim::within(0.01), Aim::within(0.0), Aim::exact(), hasty]
}

/// Bounds are bounds, and potentials prove the lower one for all pairs that have a cost.
fn judge(
    problem: &Problem<'_>,
    masses: [&[f64]; 2],
    cost: impl Fn(usize, usize) -> Option<f64>,
    penalty: f64,
) {
    let exact = problem.value(&silent).unwrap();
    for target in targets() {
        let wanted = target.wanting(Wanted::Potentials);
        let Answer { lower, upper, potentials, .. } = problem.answer(&wanted, &silent).unwrap();
        let Potentials { left, right } = potentials.unwrap();
        assert!(lower <= exact * (1.0 + 1e-9) && exact <= upper * (1.0 + 1e-9), "{lower} {exact}");
        if let (Accuracy::Within(error), None) = (target.accuracy, target.time) {
            assert!(upper - lower <= error.max(1e-9) * lower, "{target:?} {lower} {upper}");
        }
        assert_eq!([left.len(), right.len()], masses.map(<[f64]>::len));
        let largest = left.iter().chain(&right).fold(0.0f64, |most, dual| most.max(dual.abs()));
        let worth = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
        };
        let proved = worth(masses[0], &left) + worth(masses[1], &right);
        let total: f64 = masses.iter().copied().flatten().sum();
        let off = 1e-12 * total * largest + 2e-9 * exact;
        assert!((proved - lower).abs() <= off, "{target:?}: {proved} {lower} of {exact}");
        for (i, u) in left.iter().enumerate() {
            assert!(*u <= penalty + 1e-12 * largest);
            for (j, v) in right.iter().enumerate() {
                let Some(cost) = cost(i, j) else { continue };
                assert!(u + v <= cost + 1e-13 * (cost + largest), "{i} {j}: {u} {v} {cost}");
            }
        }
        assert!(right.iter().all(|v| *v <= penalty + 1e-12 * largest));
        // Without being asked for them, the bounds are the same or a little wider.
        let plain = problem.answer(&target, &silent).unwrap();
        if target.time.is_none() {
            assert!(plain.lower <= lower && plain.upper == upper, "{plain:?}");
        }
    }
}

fn dense(measures: &Measures, row: usize, points: usize) -> Vec<f64> {
    let mut all = vec![0.0; points];
    measures.row(row).iter().for_each(|(point, mass)| all[point] = mass);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn potentials_prove_the_lower_bound(
        kind in 0..KINDS,
        n in prop::sample::select(vec![1usize, 4, 30, 90]),
        seed: u64,
        price in prop::sample::select(vec![f64::INFINITY, 0.2, 3.0]),
    ) {
        let (metric, measures) = scene(kind, n, seed);
        let (a, b) = (measures.row(0), measures.row(1));
        let [dense_a, dense_b] = [0, 1].map(|row| dense(&measures, row, 2 * n));
        let masses = [&dense_a[..], &dense_b];
        let relax = if price.is_finite() { Relax::Penalty(price) } else { Relax::Balanced };
        let problem = Problem::new(&metric, &a, &b).relaxed(relax);
        judge(&problem, masses, |i, j| Some(metric.distance(i, j)), price);
        // The same costs as a matrix, and without the promise of a metric.
        let costs: Vec<f64> =
            (0..4 * n * n).map(|at| metric.distance(at / (2 * n), at % (2 * n))).collect();
        let view = MatrixView::new(2 * n, 2 * n, &costs).unwrap();
        let problem = Problem::between(masses[0], masses[1], view).relaxed(relax);
        judge(&problem, masses, |i, j| Some(costs[i * 2 * n + j]), price);
        let matrix = GroundMetric::from_condensed(2 * n, metric.condensed().unwrap()).unwrap();
        judge(&Problem::new(&matrix, &a, &b).relaxed(relax), masses, |i, j| Some(matrix.distance(i, j)), price);
    }

    #[test]
    fn graphs_have_potentials_behind_bounds(n in 2..60usize, seed: u64, cuts in 0..3usize) {
        // A ring of rings, of which some are cut off.
        let edges: Vec<_> = (1..n)
            .filter(|v| cuts == 0 || v % (n / (cuts + 1) + 1) != 0)
            .flat_map(|v| [(v, v - 1, noise(seed, v))])
            .collect();
        let ground = Components::from_edges(n, &edges).unwrap();
        let side = |k: usize| (0..n).map(|v| noise(seed, 1000 + v + k * n)).collect::<Vec<_>>();
        let (a, mut b) = (side(1), side(2));
        // Equal masses in every piece.
        let mut first = 0;
        for v in 1..=n {
            let ends = v == n || !edges.iter().any(|edge| edge.0 == v);
            if ends {
                let total = |side: &[f64]| side[first..v].iter().sum::<f64>();
                let factor = total(&a) / total(&b);
                b[first..v].iter_mut().for_each(|mass| *mass *= factor);
                first = v;
            }
        }
        let measures = Measures::from_dense(n, &[&a[..], &b].concat()).unwrap();
        let (row, other) = (measures.row(0), measures.row(1));
        let problem = Problem::new(&ground, &row, &other);
        let cost = |i: usize, j: usize| Some(ground.distance(i, j)).filter(|d| d.is_finite());
        judge(&problem, [&a, &b], cost, f64::INFINITY);
    }
}

#[test]
fn large_problems_have_potentials_behind_bounds() {
    // Enough points for the auction, a third of which have no mass.
    for kind in [0, 3, 5, 8] {
        let (metric, measures) = scene(kind, 2300, 11);
        let (a, b) = (measures.row(0), measures.row(1));
        let problem = Problem::new(&metric, &a, &b);
        let target = Aim::within(0.05);
        let mut bounds = problem.answer(&target.wanting(Wanted::Potentials), &silent).unwrap();
        let Potentials { left, right } = bounds.potentials.take().unwrap();
        let worth: f64 = a.iter().map(|(i, mass)| mass * left[i]).sum::<f64>()
            + b.iter().map(|(j, mass)| mass * right[j]).sum::<f64>();
        let largest = left.iter().chain(&right).fold(0.0f64, |most, dual| most.max(dual.abs()));
        assert!((worth - bounds.lower).abs() <= 1e-12 * 2.0 * largest, "{kind}");
        assert!(bounds.lower > 0.9 * bounds.upper);
        for i in (0..metric.points()).step_by(7) {
            for (j, v) in right.iter().enumerate() {
                assert!(left[i] + v <= metric.distance(i, j) + 1e-13 * largest, "{kind} {i} {j}");
            }
        }
    }
}

#[test]
fn potentials_with_a_mass_prove_the_bound_of_few_points_and_of_many() {
    for count in [9, 900] {
        let (metric, measures) = scene(0, count, 1);
        let (a, b) = (measures.row(0), measures.row(1));
        let mass = 0.4 * a.total().min(b.total());
        let problem = Problem::new(&metric, &a, &b).with_mass(mass);
        for aim in [Aim::exact(), Aim::within(0.1)] {
            let answer = problem.answer(&aim.wanting(Wanted::Potentials), &silent).unwrap();
            let (proof, penalty) = (answer.potentials.unwrap(), answer.penalty.unwrap());
            let worth = |side: &Measure<'_>, duals: &[f64]| -> f64 {
                side.iter().map(|(point, mass)| mass * (duals[point] - penalty)).sum()
            };
            let bound = worth(&a, &proof.left) + worth(&b, &proof.right) + 2.0 * penalty * mass;
            assert!((bound - answer.lower).abs() <= 1e-9 * answer.upper, "{count} {bound}");
            for i in 0..metric.points() {
                assert!(proof.left[i].max(proof.right[i]) <= penalty);
                for j in (0..metric.points()).step_by(7) {
                    assert!(proof.left[i] + proof.right[j] <= metric.distance(i, j) + 1e-13);
                }
            }
        }
    }
}

#[test]
fn problems_share_their_time() {
    let (metric, measures) = scene(0, 300, 3);
    let pairs = vec![(0, 1); 40];
    let problems = Problems::new(&metric, &measures, &pairs);
    let target = |time| Aim::exact().in_time(time);
    // No time at all: all have bounds nevertheless.
    let hasty = problems.bounds(&target(Duration::ZERO), &silent).unwrap();
    assert!(hasty.lower.iter().zip(&hasty.upper).all(|(lower, upper)| lower <= upper));
    assert_eq!(hasty.lower.len(), 40);
    // More than enough for all: exactly the values.
    let all = problems.bounds(&target(Duration::from_secs(100_000)), &silent).unwrap();
    let exact = problems.values(&silent).unwrap();
    for (upper, exact) in all.upper.iter().zip(&exact) {
        assert!((upper - exact).abs() <= 1e-9 * exact);
    }
    // A time that no clock has is no limit.
    assert_eq!(problems.bounds(&target(Duration::MAX), &silent).unwrap(), all);
}

#[test]
fn forecasts_grow_with_the_work() {
    let exactly = Aim::exact();
    let forecast = |kind: u8, n: usize| {
        let (metric, measures) = scene(kind, n, 3);
        Problem::new(&metric, &measures.row(0), &measures.row(1)).forecast(&exactly)
    };
    for kind in 0..KINDS {
        let [few, many] = [100, 4000].map(|n| forecast(kind, n));
        assert!(few.seconds > 0.0 && many.seconds > 2.0 * few.seconds, "{kind} {few:?} {many:?}");
        assert!(few.bytes > 0 && many.bytes > few.bytes, "{kind}");
        assert!(!few.is_long());
    }
    let (metric, measures) = scene(0, 100, 3);
    let (a, b) = (measures.row(0), measures.row(1));
    let hasty = exactly.in_time(Duration::from_nanos(1));
    assert!(Problem::new(&metric, &a, &b).forecast(&hasty).seconds <= 1e-9);
    // Three pairs take three times as long as one, on one thread.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let of = |pairs: &[(usize, usize)]| Problems::new(&metric, &measures, pairs).forecast(&exactly);
    let (one, three) = pool.install(|| (of(&[(0, 1)]), of(&[(0, 1); 3])));
    assert!((three.seconds - 3.0 * one.seconds).abs() <= 1e-12);
    assert_eq!(of(&[]).seconds, 0.0);
    assert_eq!(of(&[(0, 9)]).seconds, 0.0);
}

/// The rates of points of the second measure, by moving a little mass between them.
fn judge_rates(
    value: impl Fn(&[f64]) -> f64,
    masses: &[f64],
    rates: &[f64],
    reachable: impl Fn(usize, usize) -> bool,
) {
    const STEP: f64 = 1e-6;
    let from = (0..masses.len()).max_by(|&i, &j| masses[i].total_cmp(&masses[j])).unwrap();
    for to in (0..masses.len()).filter(|&to| to != from && reachable(from, to)) {
        let mut moved = masses.to_vec();
        moved[from] -= STEP;
        moved[to] += STEP;
        let change = (value(&moved) - value(masses)) / STEP;
        let expected = rates[to] - rates[from];
        assert!((change - expected).abs() <= 1e-6 * (1.0 + change.abs()), "{change} {expected}");
    }
}

/// Masses of `n` points, some of them 0, with a total of 1.
fn masses_with_zeros(n: usize, seed: u64) -> Vec<f64> {
    let mass = |k: usize| if noise(seed, k) < 0.4 { 0.0 } else { 0.1 + noise(seed, k + 1000) };
    let mut masses: Vec<f64> = (0..n).map(mass).collect();
    masses[0] += 0.2;
    let total: f64 = masses.iter().sum();
    masses.into_iter().map(|mass| mass / total).collect()
}

#[test]
fn rates_are_those_of_mass_that_arrives() {
    for seed in 0..20 {
        let (n, m) = (6, 8);
        let (a, b) = (masses_with_zeros(n, seed), masses_with_zeros(m, seed + 100));
        let costs: Vec<f64> = (0..n * m).map(|k| noise(seed, k + 5000)).collect();
        let costs = MatrixView::new(n, m, &costs).unwrap();
        let value = |a: &[f64], b: &[f64]| Problem::between(a, b, costs).value(&silent).unwrap();
        let aim = Aim::exact().wanting(Wanted::Rates);
        let answer = Problem::between(&a, &b, costs).answer(&aim, &silent).unwrap();
        let rates = answer.rates.unwrap();
        judge_rates(|b| value(&a, b), &b, &rates.right, |_, _| true);
        judge_rates(|a| value(a, &b), &a, &rates.left, |_, _| true);
        assert!(answer.potentials.is_some(), "rates include the potentials");
    }
}

#[test]
fn rates_on_a_graph_in_two_pieces() {
    let edge = |k: usize, i: usize, j: usize| (i, j, 0.5 + noise(7, k));
    let edges: Vec<_> = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 3), (4, 5), (5, 6), (6, 4)]
        .into_iter()
        .enumerate()
        .map(|(k, (i, j))| edge(k, i, j))
        .collect();
    let ground = Components::from_edges(7, &edges).unwrap();
    let a = [0.3, 0.0, 0.31, 0.0, 0.4, 0.0, 0.0];
    let b = [0.0, 0.22, 0.0, 0.39, 0.0, 0.4, 0.0];
    let value = |a: &[f64], b: &[f64]| {
        let measures = Measures::from_dense(7, &[a, b].concat()).unwrap();
        Problem::new(&ground, &measures.row(0), &measures.row(1)).value(&silent).unwrap()
    };
    let measures = Measures::from_dense(7, &[a, b].concat()).unwrap();
    let problem = Problem::new(&ground, &measures.row(0), &measures.row(1));
    let aim = Aim::exact().wanting(Wanted::Rates);
    let rates = problem.answer(&aim, &silent).unwrap().rates.unwrap();
    let joined = |i: usize, j: usize| (i < 4) == (j < 4);
    judge_rates(|b| value(&a, b), &b, &rates.right, joined);
    judge_rates(|a| value(a, &b), &a, &rates.left, joined);
}

#[test]
fn few_points_against_many_prove_their_value_at_all_points() {
    for kind in [PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::SqEuclidean] {
        let (few, many) = (3, 400);
        let coordinates = |first: usize, n: usize| -> Vec<f64> {
            (0..2 * n).map(|k| noise(3, first + k)).collect()
        };
        let (x, y) = (coordinates(0, few), coordinates(100, many));
        let view = |n, at| MatrixView::new(n, 2, at).unwrap();
        let a = Measures::from_dense(few, &[0.2, 0.5, 0.3]).unwrap();
        let b = Measures::from_dense(many, &vec![1.0 / many as f64; many]).unwrap();
        let (a, b) = (a.row(0), b.row(0));
        let all = GroundMetric::from_points(2, [&x[..], &y].concat(), kind).unwrap();
        let cost = |i: usize, j: usize| all.distance(i, few + j);
        let problem = Problem::of_points(&a, &b, view(few, &x), Some(view(many, &y)), kind);
        let aim = Aim::exact().wanting(Wanted::Potentials);
        let answer = problem.unwrap().answer(&aim, &silent).unwrap();
        let Potentials { left, right } = answer.potentials.unwrap();
        let proved: f64 = a.iter().map(|(i, mass)| mass * left[i]).sum::<f64>()
            + b.iter().map(|(j, mass)| mass * right[j]).sum::<f64>();
        assert!((proved - answer.upper).abs() <= 1e-9 * answer.upper);
        for i in 0..few {
            assert!((0..many).all(|j| left[i] + right[j] <= cost(i, j) + 1e-12));
        }
    }
}
