//! Tests of the auction against the solver with a table of all costs.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::measures::Measures;
use crate::numeric::rounding::TOTALS;
use crate::solve::costs::device::Device;
use crate::solve::costs::tests::{SlowDevice, distances, entries, points};
use crate::solve::exact::SLACK;
use crate::solve::exact::random::random;
use crate::solve::problem::matrix::MatrixView;
use crate::solve::problem::posed::{OnMatrix, OnMetric};
use crate::solve::relax::Relaxation;

/// Creates two measures with masses that are equal, random, over 20 orders of magnitude, on the
/// same points, or equal and as many on either side.
fn measures(n: usize, kind: u8, seed: u64) -> Option<Measures> {
    let mut random = random(seed ^ 0xabcd);
    let mut mass = || match kind {
        0 | 4 => 1.0,
        1 | 3 => random() + 1e-3,
        _ => 10f64.powf(-20.0 * random()),
    };
    let half = n / 2;
    let sides = match kind {
        3 => [0..n, 0..n],
        4 => [0..half, half..2 * half],
        _ => [0..half, half..n],
    };
    let rows = sides.map(|side| side.map(|point| (point, mass())).collect::<Vec<_>>());
    Some(Measures::from_rows(n, rows).ok()?.normalized())
}

/// Returns the sides of two measures on a metric.
pub(super) fn sides_of(metric: &GroundMetric, measures: &Measures) -> Sides {
    let mut sides = Sides::default();
    let (a, b) = (measures.row(0), measures.row(1));
    sides.read(&OnMetric { metric, a, b }, metric.is_metric());
    sides
}

/// Creates a problem with coarse levels above `coarsest` points.
pub(super) fn laid_out<'a>(
    costs: Costs<'a>,
    sides: &Sides,
    device: Option<&Arc<dyn Device>>,
    coarsest: usize,
) -> Option<AuctionProblem<'a>> {
    let laid_out = costs::cost_source(costs, sides, device, &|_| true).unwrap()?;
    Some(AuctionProblem {
        coarsest,
        ..AuctionProblem::new(laid_out, [&sides.supply, &sides.demand])
    })
}

/// Solves with a table of all costs.
pub(super) fn judged(costs: Costs<'_>, sides: &Sides) -> Answer {
    let mut units = Units::default();
    Table::default().answer(costs, sides, &mut units, Wanted::Plan, &|_| true).unwrap()
}

pub(super) fn goal(width: f64, keeps_bounds: bool) -> Goal<'static> {
    Goal { width, keep_going: &|_| true, keeps_bounds, has_passed: &|| false }
}

/// Asserts that the bounds match the plan and the dual values, and that they contain the value.
fn check(
    best: &Best,
    (costs, sides): (Costs<'_>, &Sides),
    value: f64,
) -> std::result::Result<(), TestCaseError> {
    let near = 1e-9 * value + 1e-300;
    prop_assert!(best.lower <= value + near, "{} {value}", best.lower);
    prop_assert!(best.upper >= value - near, "{} {value}", best.upper);
    if let Some(found) = best.certified {
        prop_assert!((found.value - value).abs() <= 2.0 * near, "{} {value}", found.value);
        prop_assert_eq!(found.value, best.upper);
        prop_assert!(best.moves.len() < sides.left.len() + sides.right.len());
    }
    let cost = |i: usize, j: usize| match costs {
        Costs::Metric(metric) => metric.distance(sides.left[i], sides.right[j]),
        Costs::Matrix(view) if sides.swapped => view.entry(sides.right[j], sides.left[i]),
        Costs::Matrix(view) => view.entry(sides.left[i], sides.right[j]),
    };
    // The plan has the given masses, and costs the upper bound.
    let total: f64 = sides.supply.iter().sum();
    let (mut supply, mut demand, mut paid) = (sides.supply.clone(), sides.demand.clone(), 0.0);
    for &(i, j, mass) in &best.moves {
        prop_assert!(mass > 0.0);
        supply[i] -= mass;
        demand[j] -= mass;
        paid += mass * cost(i, j);
    }
    let most = supply.iter().chain(&demand).fold(0.0, |most: f64, rest| most.max(rest.abs()));
    prop_assert!(most <= TOTALS * total, "{most}");
    prop_assert!((paid - best.upper).abs() <= 1e-12 * paid + best.settling);
    // The dual values give the lower bound for all pairs.
    if best.left.is_empty() {
        prop_assert_eq!(best.lower, 0.0);
        return Ok(());
    }
    let largest = best.left.iter().chain(&best.right).fold(0.0, |m: f64, d| m.max(d.abs()));
    for (i, u) in best.left.iter().enumerate() {
        for (j, v) in best.right.iter().enumerate() {
            prop_assert!(u + v <= cost(i, j) + 1e-15 * largest);
        }
    }
    let sum = |masses: &[f64], duals: &[f64]| -> f64 {
        masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
    };
    let proved = sum(&sides.supply, &best.left) + sum(&sides.demand, &best.right);
    prop_assert!(best.lower <= proved + 1e-12 * total * largest);
    Ok(())
}

/// Checks whether a value is too small compared with the largest cost to be certified: the last
/// steps stop where no reduced cost is below minus [`SLACK`] times the largest cost on a list, and
/// lists may have every sink of a small problem.
fn is_lost_in_slack(largest: f64, sides: &Sides, value: f64) -> bool {
    let total: f64 = sides.supply.iter().sum();
    SLACK * largest * total > 0.5 * Answer::TOLERANCE * value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn points_are_solved_as_by_all_of_their_costs(
        metric in points(),
        (kind, seed) in (0u8..5, any::<u64>()),
        (width, keeps_bounds) in (prop_oneof![2 => Just(0.0), 1 => Just(0.01), 1 => Just(0.2)], any::<bool>()),
        coarsest in prop::sample::select(vec![4usize, 24, 512]),
        by_device in any::<bool>(),
    ) {
        let Some(measures) = measures(metric.points(), kind, seed) else { return Ok(()) };
        let (sides, costs) = (sides_of(&metric, &measures), Costs::Metric(&metric));
        if sides.is_empty() {
            return Ok(());
        }
        let device = by_device.then(|| Arc::new(SlowDevice::default()));
        let there: Option<Arc<dyn Device>> = device.clone().map(|d| -> Arc<dyn Device> { d });
        let Some(problem) = laid_out(costs, &sides, there.as_ref(), coarsest) else {
            return Ok(());
        };
        let best = problem.solve(&mut Simplex::default(), &goal(width, keeps_bounds)).unwrap();
        let judge = judged(costs, &sides);
        check(&best, (costs, &sides), judge.upper)?;
        let largest = metric.condensed().unwrap().into_iter().fold(0.0, f64::max);
        let is_lost = is_lost_in_slack(largest, &sides, judge.upper);
        prop_assert!(best.reaches(width) || is_lost, "{} {}", best.lower, judge.upper);
        if let Some(device) = device.filter(|_| supports_on_device(&metric)) {
            prop_assert!(*device.searches.lock().unwrap() > 0);
        }
    }

    #[test]
    fn mass_that_is_left_behind_moves_to_spares(
        metric in points(),
        (kind, seed) in (0u8..3, any::<u64>()),
        (share, more) in (prop::sample::select(vec![0.01, 0.3, 3.0]), 0.5..2.0),
        coarsest in prop::sample::select(vec![4usize, 512]),
    ) {
        let Some(measures) = measures(metric.points(), kind, seed) else { return Ok(()) };
        let (mut sides, of_points) = (sides_of(&metric, &measures), Costs::Metric(&metric));
        sides.demand.iter_mut().for_each(|mass| *mass *= more);
        let (n, m) = (sides.left.len(), sides.right.len());
        let laid_out = costs::cost_source(of_points, &sides, None, &|_| true).unwrap();
        let Some(laid_out) = laid_out else { return Ok(()) };
        let cost = |i: usize, j: usize| metric.distance(sides.left[i], sides.right[j]);
        let mut random = random(seed);
        let mut penalty = |at: usize| share * cost(at % n, at % m) * (0.5 + random());
        let of_sides = [n, m].map(|count| (0..count).map(&mut penalty).collect::<Vec<_>>());
        let mut all: Vec<f64> = Vec::new();
        for i in 0..n {
            all.extend((0..m).map(|j| cost(i, j)).chain([of_sides[0][i]]));
        }
        all.extend(of_sides[1].iter().chain([&0.0]));
        let totals = [&sides.supply, &sides.demand].map(|masses| masses.iter().sum::<f64>());
        let (left, right) = ((0..=n).collect(), (0..=m).collect());
        let mut with_spares = Sides { left, right, swapped: false, ..sides };
        with_spares.supply.push(totals[1]);
        with_spares.demand.push(totals[0]);
        let laid_out = laid_out.with_spares(&SpareCosts { of_sides, between: 0.0 });
        let problem = AuctionProblem { coarsest, ..AuctionProblem::new(laid_out, [&with_spares.supply, &with_spares.demand]) };
        let best = problem.solve(&mut Simplex::default(), &goal(0.0, false)).unwrap();
        let view = MatrixView::new(n + 1, m + 1, &all).unwrap();
        let judge = judged(Costs::Matrix(&view), &with_spares);
        check(&best, (Costs::Matrix(&view), &with_spares), judge.upper)?;
        let largest = all.iter().fold(0.0, |most: f64, &cost| most.max(cost));
        let is_lost = is_lost_in_slack(largest, &with_spares, judge.upper);
        prop_assert!(best.reaches(0.0) || is_lost, "{} {}", best.lower, judge.upper);
    }

    #[test]
    fn a_matrix_is_solved_as_by_all_of_its_costs(
        (n, m) in (2usize..90, 2usize..90),
        (kind, seed, is_transposed) in (0u8..6, any::<u64>(), any::<bool>()),
        (coarsest, is_equal) in (prop::sample::select(vec![4usize, 24, 512]), any::<bool>()),
        (width, keeps_bounds) in (prop_oneof![2 => Just(0.0), 1 => Just(0.01), 1 => Just(0.2)], any::<bool>()),
    ) {
        let (n, m) = if is_transposed { (m, n) } else { (n, if is_equal { n } else { m }) };
        let all = match kind {
            4 | 5 => distances([n, m], kind == 5, seed),
            _ => entries(kind, n * m, seed),
        };
        let mut random = random(seed ^ 7);
        let mut masses = |count: usize| -> Vec<f64> {
            let mut mass = || if is_equal { 1.0 } else { random() + 1e-3 };
            let all: Vec<f64> = (0..count).map(|_| mass()).collect();
            let total: f64 = all.iter().sum();
            all.into_iter().map(|mass| mass / total).collect()
        };
        let (a, b) = (masses(n), masses(m));
        let view = MatrixView::new(n, m, &all).unwrap();
        let mut sides = Sides::default();
        sides.read_matrix(&OnMatrix { costs: &view, a: &a, b: &b }, Relaxation::Balanced).unwrap();
        let costs = Costs::Matrix(&view);
        let problem = laid_out(costs, &sides, None, coarsest).unwrap();
        let best = problem.solve(&mut Simplex::default(), &goal(width, keeps_bounds)).unwrap();
        let judge = judged(costs, &sides);
        check(&best, (costs, &sides), judge.upper)?;
        let largest = all.iter().fold(0.0, |most: f64, &cost| most.max(cost));
        let is_lost = is_lost_in_slack(largest, &sides, judge.upper);
        prop_assert!(best.reaches(width) || is_lost, "{} {}", best.lower, judge.upper);
    }
}
