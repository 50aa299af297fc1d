//! The network simplex against independent solvers: all permutations, successive shortest paths, closed forms.

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Answer, Error, GroundMetric, Measures, PointMetric, Problem, Problems, silent};

use crate::shortest_paths::transport;

/// Costs of any kind: ties, zeros, sizes far apart; no triangle inequality.
fn costs(n: usize) -> impl Strategy<Value = Vec<f64>> {
    let cost = prop_oneof![
        4 => 0.0..10.0,
        3 => (0..4).prop_map(f64::from),
        1 => Just(1e12),
        1 => 0.0..1e-9,
    ];
    vec(cost, n * (n - 1) / 2)
}

/// Masses over thirty orders of magnitude, many of them equal.
fn masses(n: usize) -> impl Strategy<Value = Vec<f64>> {
    let mass = prop_oneof![
        4 => 0.01..1.0,
        2 => Just(0.0),
        2 => Just(0.25),
        1 => (-30.0..0.0f64).prop_map(|e| 10f64.powf(e)),
    ];
    vec(mass, n)
}

fn problems() -> impl Strategy<Value = (GroundMetric, Measures)> {
    (2..14usize).prop_flat_map(|n| {
        (costs(n), masses(n), masses(n)).prop_filter_map("no mass", move |(costs, a, b)| {
            let measures = Measures::from_dense(n, &[a, b].concat()).ok()?.normalized();
            Some((GroundMetric::from_condensed(n, costs).unwrap(), measures))
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn it_agrees_with_successive_shortest_paths((metric, measures) in problems()) {
        let (a, b) = (measures.row(0), measures.row(1));
        let ours = Problem::new(&metric, &a, &b).solve(&silent).unwrap();
        let judge = transport(a, b, |i, j| metric.distance(i, j), false).unwrap().value;
        // A mass is known to 1e-16, so a cost of 1e12 is known to 1e-4.
        let rounding = 1e-15 * metric.condensed().unwrap().into_iter().fold(0.0, f64::max);
        prop_assert!((ours.value() - judge).abs() <= 1e-9 * judge + rounding, "{} {judge}", ours.value());
        prop_assert!(ours.gap() <= 1e-9 * ours.value());
        prop_assert_eq!(Problem::new(&metric, &a, &b).value(&silent).unwrap(), ours.value());
    }

    #[test]
    fn plans_have_the_marginals_and_duals_prove_them((metric, measures) in problems()) {
        let (a, b) = (measures.row(0), measures.row(1));
        let found = Problem::new(&metric, &a, &b).solve(&silent).unwrap();
        let n = metric.points();
        let (mut left, mut right) = (vec![0.0; n], vec![0.0; n]);
        for (i, j, mass) in found.plan.iter() {
            prop_assert!(mass > 0.0);
            left[i] += mass;
            right[j] += mass;
        }
        a.iter().for_each(|(p, mass)| left[p] -= mass);
        b.iter().for_each(|(p, mass)| right[p] -= mass);
        prop_assert!(left.iter().chain(&right).all(|rest: &f64| rest.abs() <= 1e-14));
        let cost = found.plan.cost(|i, j| metric.distance(i, j));
        prop_assert!((cost - found.value()).abs() <= 1e-12 * cost);
        for &(i, u) in &found.left {
            for &(j, v) in &found.right {
                let cost = metric.distance(i, j);
                prop_assert!(
                    u + v <= cost + 1e-12 * (cost + u.abs() + v.abs()),
                    "{u} + {v} > {cost}, integers: {}", found.integers
                );
            }
        }
    }

    #[test]
    fn equal_masses_agree_with_all_permutations(costs in costs(14), n in 1..8usize) {
        let metric = GroundMetric::from_condensed(14, costs).unwrap();
        let rows = [0, 7].map(|first| (0..n).map(move |k| (first + k, 1.0)));
        let measures = Measures::from_rows(14, rows).unwrap();
        let ours = Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
        let judge = cheapest_permutation(&metric, &mut (0..n).collect(), 0);
        prop_assert!((ours - judge).abs() <= 1e-9 * judge, "{ours} {judge}");
    }

    #[test]
    fn on_a_metric_shared_mass_may_stay(points in vec(-5.0..5.0f64, 12), a in masses(12), b in masses(12)) {
        let measures = Measures::from_dense(12, &[a, b].concat());
        prop_assume!(measures.is_ok());
        let measures = measures.unwrap().normalized();
        let promised = GroundMetric::from_points(1, points, PointMetric::Euclidean).unwrap();
        // The same distances without the promise: everything is solved.
        let unpromised = GroundMetric::from_condensed(12, promised.condensed().unwrap()).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        let short = Problem::new(&promised, &a, &b).value(&silent).unwrap();
        let long = Problem::new(&unpromised, &a, &b).value(&silent).unwrap();
        prop_assert!((short - long).abs() <= 1e-9 * long + 1e-14, "{short} {long}");
    }
}

/// The smallest total over all ways to pair `0..n` with `7..7 + n`.
fn cheapest_permutation(metric: &GroundMetric, order: &mut Vec<usize>, fixed: usize) -> f64 {
    if fixed == order.len() {
        return order.iter().enumerate().map(|(i, &j)| metric.distance(i, 7 + j)).sum();
    }
    let mut best = f64::INFINITY;
    for k in fixed..order.len() {
        order.swap(fixed, k);
        best = best.min(cheapest_permutation(metric, order, fixed + 1));
        order.swap(fixed, k);
    }
    best
}

#[test]
fn without_the_triangle_inequality_shared_mass_has_to_move() {
    let metric = GroundMetric::from_condensed(3, vec![1.0, 5.0, 1.0]).unwrap();
    let measures = Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5]).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    assert_eq!(Problem::new(&metric, &a, &b).value(&silent).unwrap(), 1.0);
    // Whoever promises it all the same is told where it does not hold.
    let refused = metric.assume_metric().unwrap_err();
    assert!(matches!(refused, treeport::Error::NotMetric { i: 0, j: 2, k: 1, .. }), "{refused}");
}

#[test]
fn costs_forty_orders_apart_are_right_or_refused() {
    // Two clusters far apart, each balanced: near costs of 1e-22, far ones of 1e15.
    use rand::RngExt;
    let mut rng = treeport_lab::generate::seeded(7);
    for _ in 0..300 {
        let near: Vec<f64> = (0..25).map(|_| rng.random_range(1.0..2.0)).collect();
        // Multiples of 2^-10, so that each cluster balances to the last bit.
        let mut masses: Vec<f64> = (0..10).map(|_| f64::from(rng.random_range(1..200))).collect();
        for k in [4, 9] {
            masses[k] = 1024.0 - masses[k - 4..k].iter().sum::<f64>();
        }
        let problem = |unit: f64, far: f64| {
            let cost = |i: usize, j: usize| match (i, j) {
                (0..5, 5..10) => near[5 * i + j - 5] * unit,
                (0..10, 10 | 11) => far,
                (10, 11) => 0.0,
                _ => unit,
            };
            let row = |i: usize| (i + 1..12).map(move |j| (i, j));
            let condensed = (0..12).flat_map(row).map(|(i, j)| cost(i, j)).collect();
            GroundMetric::from_condensed(12, condensed).unwrap()
        };
        let row = |k: usize| {
            let cluster = (5 * k..5 * k + 5).map(|p| (p, masses[p] / 1024.0));
            cluster.chain([(10 + k, 1.0)]).collect::<Vec<_>>()
        };
        let measures = Measures::from_rows(12, [row(0), row(1)]).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        let judge = Problem::new(&problem(1.0, 10.0), &a, &b).value(&silent).unwrap();
        match Problem::new(&problem(1e-22, 1e15), &a, &b).solve(&silent) {
            Ok(found) => {
                assert!((found.value() / (judge * 1e-22) - 1.0).abs() < 1e-6, "{}", found.value());
                assert!(found.gap() <= 1e-9 * found.value());
            }
            Err(error) => assert!(error.to_string().contains("could not be proved"), "{error}"),
        }
    }
}

#[test]
fn only_the_rounding_of_arcs_in_use_counts() {
    // One source has one plan: nearly all mass stays at no cost, the rest goes 0 to 29 orders further.
    let costs = vec![8e-14, 1e-14, 1e-15, 1e-14, 2e-13, 1e-4, 4e-15, 2e-9, 1e14, 4e-4];
    let metric = GroundMetric::from_condensed(5, costs).unwrap();
    let total = 1.21e-6;
    let shares = [1.21e-6, 3.2e11, 3.2e-16, 1.21e-15, 1.21e12];
    let whole: f64 = shares.iter().sum();
    let right: Vec<_> = shares.iter().map(|s| s * (total / whole)).enumerate().collect();
    let measures = Measures::from_rows(5, [vec![(4, total)], right.clone()]).unwrap();
    let found = Problem::new(&metric, &measures.row(0), &measures.row(1)).solve(&silent).unwrap();
    let plan: f64 = right.iter().map(|&(j, mass)| mass * metric.distance(4, j)).sum();
    // The smallest share is known to one quantum, 2^-99 of the total.
    assert!((found.value() / plan - 1.0).abs() < 1e-2, "{} {plan}", found.value());
    assert!(found.gap() <= Answer::TOLERANCE * found.value());
}

#[test]
fn costs_at_the_end_of_the_range_are_right_or_refused() {
    for n in [1, 2, 7, 8, 9, 16, 100, 200] {
        let metric = GroundMetric::from_condensed(2 * n, vec![f64::MAX; n * (2 * n - 1)]).unwrap();
        let rows = [0, n].map(|first| (0..n).map(move |k| (first + k, 0.5 / n as f64)));
        let measures = Measures::from_rows(2 * n, rows).unwrap();
        let value =
            Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
        assert!((value / (0.5 * f64::MAX) - 1.0).abs() < 1e-12, "{n}: {value}");
    }
    // Ten billion at 1e300 is no number.
    let metric = GroundMetric::from_condensed(2, vec![1e300]).unwrap();
    let measures = Measures::from_dense(2, &[1e10, 0.0, 0.0, 1e10]).unwrap();
    let error =
        Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap_err();
    assert!(matches!(error, Error::Overflow { .. }), "{error}");
    // The thread's solver is as good as new after it.
    let metric = GroundMetric::from_condensed(2, vec![3.0]).unwrap();
    assert_eq!(
        Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap(),
        3e10
    );
}

#[test]
fn many_pairs_are_the_same_on_any_number_of_threads() {
    use treeport_lab::generate::{random_pairs, seeded, sparse_measures, uniform_points};
    let mut rng = seeded(3);
    let points = uniform_points(60, 2, 0.0, 1.0, &mut rng);
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap();
    let measures = sparse_measures(60, 20, 40, &mut rng).unwrap();
    let pairs = random_pairs(300, 40, &mut rng).unwrap();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Problems::new(&metric, &measures, &pairs).values(&silent).unwrap())
    };
    let (one, many) = (on(1), on(4));
    assert_eq!(one, many);
    for (&(i, j), value) in pairs.iter().zip(&one) {
        assert_eq!(
            *value,
            Problem::new(&metric, &measures.row(i), &measures.row(j)).value(&silent).unwrap()
        );
    }
    let stopped = Problems::new(&metric, &measures, &pairs).values(&|state| state.done < 50);
    assert!(matches!(stopped, Err(treeport::Error::Canceled)));
}

#[test]
fn large_supports_agree_with_the_line() {
    use rand::RngExt;
    // More nodes than bit sets are for, then enough arcs to try a few first; one-point supports; ties.
    for (n, m, ties) in [
        (200, 150, false),
        (1100, 1000, false),
        (1100, 1000, true),
        (1, 3000, false),
        (3000, 1, true),
    ] {
        let mut rng = treeport_lab::generate::seeded(11);
        let mut at: Vec<f64> = (0..n + m).map(|_| rng.random_range(0.0..10.0)).collect();
        if ties {
            at = at.into_iter().map(f64::floor).collect();
        }
        let mut mass = || 1.0 - rng.random::<f64>();
        let rows: [Vec<_>; 2] = [0..n, n..n + m].map(|own| own.map(|p| (p, mass())).collect());
        let measures = Measures::from_rows(n + m, rows).unwrap().normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        // W₁ on the line is the area between the two distributions.
        let mut steps: Vec<_> = a.iter().chain(b.iter().map(|(p, mass)| (p, -mass))).collect();
        steps.sort_by(|x, y| at[x.0].total_cmp(&at[y.0]));
        let (mut judge, mut above) = (0.0, 0.0f64);
        for pair in steps.windows(2) {
            above += pair[0].1;
            judge += above.abs() * (at[pair[1].0] - at[pair[0].0]);
        }
        let metric = GroundMetric::from_points(1, at, PointMetric::Euclidean).unwrap();
        let found = Problem::new(&metric, &a, &b).solve(&silent).unwrap();
        assert!((found.value() / judge - 1.0).abs() < 1e-9, "{n} × {m}: {} {judge}", found.value());
    }
}

#[test]
fn nearly_equal_measures_need_no_integers() {
    let wave = |k: usize| ((k * 2_654_435_761) % 1_000_003) as f64 / 1_000_003.0;
    let n = 300;
    let metric =
        GroundMetric::from_points(2, (0..2 * n).map(wave).collect(), PointMetric::Euclidean)
            .unwrap();
    for off in [1e-3, 1e-6, 1e-9] {
        let left: Vec<f64> = (0..n).map(|k| 0.1 + wave(k + 7)).collect();
        let right: Vec<f64> = (0..n).map(|k| left[k] * (1.0 + off * wave(k + 1234))).collect();
        let measures = Measures::from_dense(n, &[left, right].concat()).unwrap().normalized();
        let found =
            Problem::new(&metric, &measures.row(0), &measures.row(1)).solve(&silent).unwrap();
        assert!(!found.integers && found.gap() <= 1e-9 * found.value(), "{off}: {}", found.gap());
    }
}
