//! Entropic transport against closed forms, the exact solver and POT.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::sinkhorn::{self, Entropic, Epsilon, SinkhornOptions};
use treeport::{Error, GroundMetric, Measures, PointMetric, Problem, silent};

fn options(epsilon: Epsilon) -> SinkhornOptions {
    SinkhornOptions { epsilon, ..SinkhornOptions::default() }
}

/// Converges within 10⁻¹² of the mass.
fn sharp(epsilon: Epsilon) -> SinkhornOptions {
    SinkhornOptions { tolerance: 1e-12, ..options(epsilon) }
}

fn solve(metric: &GroundMetric, measures: &Measures, options: &SinkhornOptions) -> Entropic {
    sinkhorn::solve(&Problem::new(metric, &measures.row(0), &measures.row(1)), options, &silent)
        .unwrap()
}

fn line(coordinates: Vec<f64>) -> GroundMetric {
    GroundMetric::from_points(1, coordinates, PointMetric::Euclidean).unwrap()
}

/// Two measures on points of the plane, at most `size` of them, with masses of total 1.
fn problems(size: usize) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let masses = |n| vec(prop_oneof![1 => Just(0.0), 3 => 0.01..1.0f64], n);
    (2..size).prop_flat_map(move |n| {
        (vec(0.0..10.0f64, 2 * n), masses(n), masses(n)).prop_map(move |(points, mut a, mut b)| {
            (a[0], b[n - 1]) = (a[0].max(0.1), b[n - 1].max(0.1));
            a.extend(b);
            (points, a)
        })
    })
}

fn setup(points: &[f64], masses: &[f64]) -> (GroundMetric, Measures) {
    let metric = GroundMetric::from_points(2, points.to_vec(), PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(metric.points(), masses).unwrap().normalized();
    (metric, measures)
}

/// The largest difference between the plan's marginals and the measures, the right one at the left's total.
fn marginal_error(entropic: &Entropic, measures: &Measures) -> f64 {
    let (a, b) = (measures.row(0), measures.row(1));
    let mut rest = vec![[0.0, 0.0]; measures.points()];
    a.iter().for_each(|(p, mass)| rest[p][0] += mass);
    b.iter().for_each(|(p, mass)| rest[p][1] += mass * a.total() / b.total());
    for (i, j, mass) in entropic.plan.iter() {
        rest[i][0] -= mass;
        rest[j][1] -= mass;
    }
    rest.iter().flatten().fold(0.0, |worst, r| r.abs().max(worst)) / a.total()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_plan_is_a_plan_between_w1_and_the_entropic_bound(
        (points, masses) in problems(30), share in prop_oneof![Just(1.0), Just(0.1), Just(0.01)],
    ) {
        let (metric, measures) = setup(&points, &masses);
        let found = solve(&metric, &measures, &options(Epsilon::Relative(share)));
        // A hundredth may leave too little flow between clusters of nearly equal mass.
        prop_assert!(found.converged || share == 0.01);
        prop_assert_eq!(found.converged, found.violation <= 1e-9);
        prop_assert!(marginal_error(&found, &measures) < 1e-14);
        prop_assert!(found.plan.iter().all(|(_, _, mass)| mass > 0.0));
        let cost = found.plan.cost(|i, j| metric.distance(i, j));
        prop_assert!((cost - found.transport_cost).abs() <= 1e-12 * cost);
        let w1 = Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
        let fewer = measures.row(0).support().len().min(measures.row(1).support().len());
        let bound = w1 + found.epsilon * (fewer as f64).ln();
        prop_assert!(found.transport_cost >= w1 * (1.0 - 1e-12));
        prop_assert!(found.transport_cost <= bound + 1e-6 || !found.converged);
    }

    #[test]
    fn the_potentials_give_the_plan_and_the_objective((points, masses) in problems(20)) {
        let (metric, measures) = setup(&points, &masses);
        let found = solve(&metric, &measures, &sharp(Epsilon::Relative(0.1)));
        let (a, b) = (measures.row(0), measures.row(1));
        let mut plan = found.plan.iter();
        let mut dual = 0.0;
        for (&(i, f), mine) in found.left.iter().zip(a.masses()) {
            dual += f * mine;
            for (&(j, g), theirs) in found.right.iter().zip(b.masses()) {
                let slack = f + g - metric.distance(i, j);
                let (from, to, mass) = plan.next().unwrap();
                prop_assert_eq!((from, to), (i, j));
                prop_assert!((mass - mine * theirs * (slack / found.epsilon).exp()).abs() < 1e-11);
            }
        }
        dual += found.right.iter().zip(b.masses()).map(|((_, g), mass)| g * mass).sum::<f64>();
        prop_assert!((dual - found.regularized_cost).abs() < 1e-9, "{dual} {}", found.regularized_cost);
        prop_assert!(found.regularized_cost >= found.transport_cost - 1e-12, "KL is at least 0");
    }

    #[test]
    fn both_directions_cost_the_same((points, masses) in problems(20)) {
        let (metric, measures) = setup(&points, &masses);
        let options = sharp(Epsilon::Relative(0.1));
        let (a, b) = (measures.row(0), measures.row(1));
        let forth = sinkhorn::value(&Problem::new(&metric, &a, &b), &options, &silent).unwrap();
        let back = sinkhorn::value(&Problem::new(&metric, &b, &a), &options, &silent).unwrap();
        prop_assert!((forth - back).abs() < 1e-8, "{forth} {back}");
    }

    #[test]
    fn units_of_distance_and_mass_do_not_matter((points, masses) in problems(20)) {
        let (metric, measures) = setup(&points, &masses);
        let here = solve(&metric, &measures, &options(Epsilon::Relative(0.05)));
        // Powers of 2, so that every product is exact and the results are the same to the bit.
        let (units, weight) = (f64::from(1 << 20), 0.125);
        let far: Vec<f64> = points.iter().map(|x| x * units).collect();
        let metric = GroundMetric::from_points(2, far, PointMetric::Euclidean).unwrap();
        let rows = measures.iter().map(|row| row.iter().map(move |(p, m)| (p, m * weight)));
        let light = Measures::from_rows(measures.points(), rows).unwrap();
        let there = solve(&metric, &light, &options(Epsilon::Relative(0.05)));
        prop_assert_eq!(there.transport_cost, here.transport_cost * units * weight);
        prop_assert_eq!(there.iterations, here.iterations);
        let close = there.regularized_cost / (here.regularized_cost * units * weight);
        prop_assert!((close - 1.0).abs() < 1e-12);
    }
}

/// x, what stays of the mass at the first of two points `d` apart: x(1 − p − q + x) = e^{2d/ε}(p − x)(q − x).
fn two_points(p: f64, q: f64, d: f64, epsilon: f64) -> f64 {
    let odds = (2.0 * d / epsilon).exp();
    let (square, linear, constant) = (1.0 - odds, 1.0 - p - q + odds * (p + q), -odds * p * q);
    let x = 2.0 * constant / (-linear - (linear * linear - 4.0 * square * constant).sqrt());
    d * (p + q - 2.0 * x)
}

#[test]
fn two_points_follow_the_closed_form() {
    for (p, q, d, epsilon) in
        [(0.5, 0.5, 1.0, 1.0), (0.3, 0.6, 2.0, 0.5), (0.9, 0.2, 1.0, 0.25), (0.01, 0.5, 3.0, 2.0)]
    {
        let measures = Measures::from_dense(2, &[p, 1.0 - p, q, 1.0 - q]).unwrap();
        let found = solve(&line(vec![0.0, d]), &measures, &sharp(Epsilon::Absolute(epsilon)));
        let judge = two_points(p, q, d, epsilon);
        assert!((found.transport_cost - judge).abs() < 1e-10, "{} {judge}", found.transport_cost);
    }
}

#[test]
fn pot_finds_the_same() {
    // ot.sinkhorn2(a, b, D, reg, method="sinkhorn_log", stopThr=1e-15), POT 0.9.7.
    let pot = [
        (0, 1.0, 1.446_163_935_329_860_5),
        (0, 0.2, 1.085_559_333_524_828_6),
        (1, 1.0, 1.280_399_202_454_804_5),
        (1, 0.2, 0.907_729_615_773_003_6),
        (2, 1.0, 1.391_487_296_992_183_4),
        (2, 0.2, 1.068_915_273_052_549_3),
    ];
    let points = (0..12).flat_map(|k| [f64::from(k * k % 7), f64::from(3 * k % 5)]).collect();
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap();
    for (t, reg, judge) in pot {
        let a: Vec<_> = (0..6 + t).map(|i| (i, 1.0 + (i * (t + 1) % 5) as f64)).collect();
        let b: Vec<_> = (4 - t..12).map(|j| (j, 1.0 + (j * j % 4) as f64)).collect();
        let measures = Measures::from_rows(12, [a, b]).unwrap().normalized();
        for scaling in [None, Some(0.25), Some(0.5)] {
            let options = SinkhornOptions { scaling, ..sharp(Epsilon::Absolute(reg)) };
            let ours = solve(&metric, &measures, &options).transport_cost;
            assert!((ours - judge).abs() < 1e-10, "{ours} is not {judge}");
        }
    }
}

/// 40 points with irregular places and masses.
fn irregular() -> (GroundMetric, Measures) {
    let points: Vec<f64> = (0..80).map(|k| f64::from(k * k * 37 % 1009)).collect();
    let masses: Vec<f64> = (0..80).map(|k| f64::from(k * 53 % 101)).collect();
    setup(&points, &masses)
}

#[test]
fn less_entropy_comes_down_to_the_exact_cost() {
    let (metric, measures) = irregular();
    let w1 = Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
    let mut last = f64::INFINITY;
    for share in [1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6] {
        let found = solve(&metric, &measures, &options(Epsilon::Relative(share)));
        assert!(found.converged, "{share}: {} after {}", found.violation, found.iterations);
        assert!(found.transport_cost >= w1 * (1.0 - 1e-12) && found.transport_cost < last);
        last = found.transport_cost;
    }
    assert!(last - w1 < 1e-6 * w1, "{last} is not near {w1}");
}

#[test]
fn without_scaling_a_tiny_epsilon_gives_a_plan_all_the_same() {
    let (metric, measures) = irregular();
    let w1 = Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
    for epsilon in [Epsilon::Relative(1e-6), Epsilon::Relative(1e-15), Epsilon::Absolute(1e-300)] {
        let plain = SinkhornOptions { scaling: None, max_iterations: 200, ..options(epsilon) };
        let found = solve(&metric, &measures, &plain);
        assert!(!found.converged && found.violation.is_finite() && found.iterations == 200);
        assert!(marginal_error(&found, &measures) < 1e-14);
        assert!(found.transport_cost >= w1 * (1.0 - 1e-12));
    }
}

#[test]
fn equal_measures_are_not_at_distance_0() {
    let (metric, measures) = irregular();
    let a = measures.row(0);
    let spread = |share| {
        sinkhorn::value(&Problem::new(&metric, &a, &a), &options(Epsilon::Relative(share)), &silent)
            .unwrap()
    };
    assert!(spread(0.1) > spread(0.01) && spread(0.01) > 0.0);
    assert!(spread(1e-4) < 1e-4 * spread(0.1));
}

#[test]
fn one_point_leaves_no_choice() {
    let metric = line(vec![0.0, 1.0, 5.0]);
    let measures = Measures::from_dense(3, &[0.0, 0.0, 2.0, 1.0, 1.0, 0.0]).unwrap();
    let found = solve(&metric, &measures, &SinkhornOptions::default());
    assert!((found.transport_cost - 9.0).abs() < 1e-12 && found.converged);
    let b = measures.row(1);
    let back = sinkhorn::solve(
        &Problem::new(&metric, &b, &measures.row(0)),
        &SinkhornOptions::default(),
        &silent,
    )
    .unwrap();
    assert!((back.transport_cost - 9.0).abs() < 1e-12 && back.converged);
    let stay = sinkhorn::solve(
        &Problem::new(&metric, &measures.row(0), &measures.row(0)),
        &options(Epsilon::Relative(0.5)),
        &silent,
    );
    let stay = stay.unwrap();
    assert_eq!((stay.transport_cost, stay.regularized_cost, stay.converged), (0.0, 0.0, true));
    assert_eq!(stay.plan.iter().collect::<Vec<_>>(), [(2, 2, 2.0)]);
}

#[test]
fn points_at_one_place_share_in_proportion() {
    let measures = Measures::from_dense(2, &[0.25, 0.75, 0.5, 0.5]).unwrap();
    let found = solve(&line(vec![3.0, 3.0]), &measures, &SinkhornOptions::default());
    assert_eq!((found.transport_cost, found.converged), (0.0, true));
    let plan: Vec<_> = found.plan.iter().collect();
    assert_eq!(plan, [(0, 0, 0.125), (0, 1, 0.125), (1, 0, 0.375), (1, 1, 0.375)]);
}

#[test]
fn large_costs_and_tiny_masses_are_no_trouble() {
    let metric = line(vec![0.0, 1e12, 3e12, 1e12 + 1.0]);
    for tiny in [1e-9, 1e-30, 1e-200, 5e-324] {
        let masses = [0.5, tiny, 0.5, 0.0, tiny, 0.25, 0.25, 0.5];
        let measures = Measures::from_dense(4, &masses).unwrap();
        let w1 = Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
        for share in [1.0, 0.01, 1e-6] {
            let found = solve(&metric, &measures, &options(Epsilon::Relative(share)));
            assert!(found.converged, "{tiny} {share}: {}", found.violation);
            assert!(
                found.transport_cost >= w1 * (1.0 - 1e-9) && found.regularized_cost.is_finite()
            );
            assert!(marginal_error(&found, &measures) < 1e-14);
            let potentials = found.left.iter().chain(&found.right);
            assert!(potentials.clone().all(|(_, value)| value.is_finite()));
        }
    }
    let huge = Measures::from_dense(2, &[1e200, 3e200, 2e200, 2e200]).unwrap();
    let found = solve(&line(vec![0.0, 1e-100]), &huge, &options(Epsilon::Relative(1e-3)));
    assert!((found.transport_cost / 1e100 - 1.0).abs() < 1e-6);
}

#[test]
fn a_tiny_mass_out_of_reach_still_gets_its_row() {
    // e⁻¹⁰⁰⁰ times 10⁻¹⁴⁰ is 0 in the kernel, and the violation too small to notice.
    let measures = Measures::from_dense(2, &[1.0, 1e-140, 1.0, 0.0]).unwrap();
    let plain = SinkhornOptions { scaling: None, ..options(Epsilon::Absolute(1.0)) };
    let found = solve(&line(vec![0.0, 1000.0]), &measures, &plain);
    assert!(found.converged && found.plan.len() == 2, "{found:?}");
    assert!((found.transport_cost - 1e-137).abs() < 1e-149);
    assert!(found.left.iter().all(|(_, value)| value.is_finite()));
}

#[test]
fn slightly_unequal_totals_follow_the_left() {
    let measures = Measures::from_dense(2, &[0.5, 0.5, 0.25, 0.75 + 5e-7]).unwrap();
    let found = solve(&line(vec![0.0, 1.0]), &measures, &SinkhornOptions::default());
    assert!(found.converged && marginal_error(&found, &measures) < 1e-14);
}

#[test]
fn any_number_of_threads_agrees_with_one_pair_at_a_time() {
    let points: Vec<f64> = (0..120).map(|k| f64::from(k * k * 29 % 211)).collect();
    let metric = GroundMetric::from_points(2, points, PointMetric::Manhattan).unwrap();
    // Supports of many sizes, so that memory from one pair is reused for a larger and a smaller one.
    let row =
        |r: usize| (0..=r * 7 % 40).map(move |k| ((k * 11 + r) % 60, (1 + (k + r) % 9) as f64));
    let measures = Measures::from_rows(60, (0..12).map(row)).unwrap().normalized();
    let pairs: Vec<_> = (0..12).flat_map(|i| (0..12).map(move |j| (i, j))).collect();
    let options = SinkhornOptions::default();
    let judge: Vec<f64> = pairs
        .iter()
        .map(|&(i, j)| {
            sinkhorn::value(
                &Problem::new(&metric, &measures.row(i), &measures.row(j)),
                &options,
                &silent,
            )
        })
        .collect::<Result<_, _>>()
        .unwrap();
    for threads in [1, 2, 5] {
        let solve = || sinkhorn::pairs(&metric, &measures, &pairs, &options, &silent);
        let ours = common::on_threads(threads, solve);
        assert_eq!(ours.unwrap(), judge);
    }
}

#[test]
fn blocks_of_a_large_problem_have_the_same_bits_on_any_number_of_threads() {
    let points: Vec<f64> = (0..1_300).map(|k| f64::from(k * k * 29 % 2_113)).collect();
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap();
    let row = |r: usize| (0..320).map(move |k| (2 * k + r, (1 + (k * 7 + r) % 9) as f64));
    let measures = Measures::from_rows(650, (0..2).map(row)).unwrap().normalized();
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    for epsilon in [0.3, 0.02] {
        let options = options(Epsilon::Relative(epsilon));
        let [one, other] = [1, 3].map(|threads| {
            common::on_threads(threads, || sinkhorn::solve(&problem, &options, &silent)).unwrap()
        });
        assert!(one.converged && marginal_error(&one, &measures) < 1e-13);
        assert_eq!(one, other);
        assert_eq!(sinkhorn::value(&problem, &options, &silent).unwrap(), one.transport_cost);
    }
}

#[test]
fn what_has_not_converged_is_reported_and_not_returned() {
    let (metric, measures) = irregular();
    let (a, b) = (measures.row(0), measures.row(1));
    let hasty = SinkhornOptions { max_iterations: 3, ..SinkhornOptions::default() };
    let found = sinkhorn::solve(&Problem::new(&metric, &a, &b), &hasty, &silent).unwrap();
    assert!(!found.converged && found.iterations == 3 && found.violation > 1e-9);
    assert!(marginal_error(&found, &measures) < 1e-14, "the plan is rounded all the same");
    let error = sinkhorn::value(&Problem::new(&metric, &a, &b), &hasty, &silent).unwrap_err();
    let Error::NotConverged { violation, iterations: 3, .. } = error else { panic!("{error}") };
    assert_eq!(violation, found.violation);
    let error = sinkhorn::pairs(&metric, &measures, &[(1, 0)], &hasty, &silent).unwrap_err();
    assert!(matches!(error, Error::NotConverged { left: 1, right: 0, .. }));
    let message = Error::NotConverged {
        left: 1,
        right: 0,
        violation: 0.012_34,
        tolerance: 1e-9,
        iterations: 3,
    };
    assert_eq!(
        message.to_string(),
        "entropic transport between measures 1 and 0 misses its marginals by 1.2e-2 of the mass after \
         3 iterations, more than the tolerance 1.0e-9; raise `max_iterations`, `epsilon` or `tolerance`"
    );
}

#[test]
fn bad_options_are_named() {
    let (metric, measures) = irregular();
    let message = |options: SinkhornOptions| {
        let pairs = sinkhorn::pairs(&metric, &measures, &[], &options, &silent);
        let one = sinkhorn::value(
            &Problem::new(&metric, &measures.row(0), &measures.row(1)),
            &options,
            &silent,
        );
        let message = one.unwrap_err().to_string();
        assert_eq!(pairs.unwrap_err().to_string(), message);
        message
    };
    let default = SinkhornOptions::default;
    assert_eq!(
        message(options(Epsilon::Absolute(0.0))),
        "epsilon is 0; it must be above 0; exact transport is without entropy"
    );
    assert_eq!(
        message(options(Epsilon::Relative(f64::NAN))),
        "epsilon is NaN; it must be above 0; exact transport is without entropy"
    );
    for factor in [0.0, 1.0, f64::NAN] {
        assert_eq!(
            message(SinkhornOptions { scaling: Some(factor), ..default() }),
            format!("scaling is {factor}; a factor above 0 and at most 0.9; try 0.25")
        );
    }
    assert_eq!(
        message(SinkhornOptions { max_iterations: 0, ..default() }),
        "max_iterations is 0; there must be at least one"
    );
    assert_eq!(
        message(SinkhornOptions { tolerance: -1.0, ..default() }),
        "tolerance is -1; it must be above 0; try 1e-9"
    );
}

#[test]
fn bad_measures_and_a_wish_to_stop_are_errors() {
    let metric = line(vec![0.0, 1.0, 2.0]);
    let options = SinkhornOptions::default();
    let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
    let one = |metric, a, b| {
        sinkhorn::value(
            &Problem::new(metric, &measures.row(a), &measures.row(b)),
            &options,
            &silent,
        )
    };
    assert!(matches!(one(&metric, 0, 1), Err(Error::Unbalanced { left: 0, right: 1, .. })));
    let small = line(vec![0.0, 1.0]);
    assert!(matches!(one(&small, 0, 1), Err(Error::PointCount { measures: 3, points: 2 })));
    let many = |pairs: &[_]| sinkhorn::pairs(&metric, &measures, pairs, &options, &|_| false);
    assert!(matches!(many(&[(1, 0)]), Err(Error::Unbalanced { left: 1, right: 0, .. })));
    assert!(matches!(many(&[(0, 7)]), Err(Error::NoSuchMeasure { measure: 7, measures: 2 })));
    assert!(matches!(many(&[(0, 0)]), Err(Error::Canceled)));
    assert!(sinkhorn::pairs(&small, &measures, &[], &options, &silent).is_err());
}
