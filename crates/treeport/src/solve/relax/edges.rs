//! Penalties on the edges of a graph, without distances.
//!
//! A spare node is joined to every point with mass by an edge as long as its penalty. A unit that
//! leaves its source through the spare node, and one that arrives through it at a sink, have paid
//! both penalties, which is the cost of moving neither. The spare node has the difference of the
//! totals. So the engine of balanced problems answers, with its certificate, on a graph with one
//! node more. Dual values of the points are differences to the spare node.
//!
//! Mass may also pass a point on its way to the spare node. With one penalty for all points that
//! costs no less than to leave it behind at once, and so it does if no penalty exceeds another by
//! more than the distance between the points; a search of the graph shows that. Other penalties,
//! and those that differ between the two measures, need the table.

use super::{Penalty, penalized};
use crate::error::Result;
use crate::metric::GroundMetric;
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::rounding::double;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::exact::edges::{EdgeProblem, OnEdges};
use crate::solve::exact::integer_mass::Units;
use crate::solve::run::Asked;
use crate::solve::sides::Sides;

/// Solves a problem with penalties on the edges of a graph; `None` if it needs a table.
///
/// # Errors
/// Those of [`EdgeProblem::answer`].
pub(in crate::solve) fn answer(
    metric: &GroundMetric,
    sides: &Sides,
    penalty: Penalty<'_>,
    (units, memory): (&mut Units, &mut OnEdges),
    Asked { aim, deadline, .. }: Asked<'_>,
) -> Result<Option<Answer>> {
    let Some(edges) = metric.edges() else { return Ok(None) };
    let prices = penalized::prices(sides, penalty);
    if matches!(penalty, Penalty::OfPoints(_)) && !may_pass(metric, sides, &prices) {
        return Ok(None);
    }
    let spare = metric.points();
    let ends = [&sides.left, &sides.right].into_iter().zip(&prices);
    let to_spare = ends.flat_map(|(points, prices)| {
        points.iter().zip(prices).map(move |(&point, &price)| (point, spare, price))
    });
    let edges = edges.iter().map(|&(u, v, length)| (u as usize, v as usize, length));
    let joined: Vec<_> = edges.chain(to_spare).collect();
    let joined = GroundMetric::from_edges(spare + 1, &joined)?;
    let Some(network) = joined.network() else { return Ok(None) };
    let (balanced, difference) = balanced(sides, &prices, penalty, spare);
    let problem = EdgeProblem {
        metric: &joined,
        network,
        sides: &balanced,
        spare: Some(spare),
        aim,
        deadline,
    };
    let mut answer = problem.answer(units, memory)?;
    if aim.wanted > Wanted::Value {
        shift_duals(&mut answer, &prices, difference);
    }
    Ok(Some(answer))
}

/// Returns whether no penalty exceeds another by more than the distance between their points, and
/// those of a point with mass on both sides are equal.
fn may_pass(metric: &GroundMetric, sides: &Sides, prices: &[Vec<f64>; 2]) -> bool {
    let mut least = vec![f64::MAX / 4.0; metric.points()];
    let all = || {
        let ends = [&sides.left, &sides.right].into_iter().zip(prices);
        ends.flat_map(|(points, prices)| points.iter().copied().zip(prices.iter().copied()))
    };
    for (point, price) in all() {
        least[point] = least[point].min(price);
    }
    metric.make_lipschitz(&mut least);
    // Sums along paths round.
    let digits = double(4 * metric.points());
    all().all(|(point, price)| price - least[point] <= digits * price)
}

/// Returns both sides with the difference of their totals at a spare node, and that difference: 0 if
/// it and its penalty are rounding errors of all masses and of all penalties.
fn balanced(
    sides: &Sides,
    prices: &[Vec<f64>; 2],
    penalty: Penalty<'_>,
    spare: usize,
) -> (Sides, f64) {
    let mut balanced = sides.clone();
    let totals = [&sides.supply, &sides.demand].map(|masses| total(masses.iter().copied()));
    let paid = [(&sides.supply, 0), (&sides.demand, 1)].map(|(masses, side): (_, usize)| {
        total(masses.iter().zip(&prices[side]).map(|(mass, price)| mass * price)).rounded()
    });
    let stays = total(sides.shared.iter().map(|entry| entry.1)).rounded();
    let price_of =
        |&(point, mass): &(usize, f64)| mass * (penalty.at(0, point) + penalty.at(1, point));
    let price_of_shared = total(sides.shared.iter().map(price_of)).rounded();
    let largest = prices.iter().flatten().copied().fold(0.0, f64::max);
    let digits = double(sides.left.len() + sides.right.len() + sides.shared.len() + 4);
    let mut difference = totals[0].minus(totals[1]);
    let most = stays + totals[0].rounded().max(totals[1].rounded());
    if difference.abs() <= digits * most
        && difference.abs() * largest <= digits * (price_of_shared + paid[0].max(paid[1]))
    {
        difference = 0.0;
    }
    let (points, masses) = if difference > 0.0 {
        (&mut balanced.right, &mut balanced.demand)
    } else {
        (&mut balanced.left, &mut balanced.supply)
    };
    if difference != 0.0 {
        points.push(spare);
        masses.push(difference.abs());
    }
    (balanced, difference)
}

fn total(masses: impl Iterator<Item = f64>) -> DoubleDouble {
    masses.fold(DoubleDouble::default(), |sum, mass| sum + mass.into())
}

/// Replaces dual values by differences to that of the spare node, and leaves that one out.
fn shift_duals(answer: &mut Answer, prices: &[Vec<f64>; 2], difference: f64) {
    let Answer { left, right, .. } = answer;
    let by = if difference > 0.0 {
        right.pop().map_or(0.0, |spare| spare.1)
    } else if difference < 0.0 {
        left.pop().map_or(0.0, |spare| -spare.1)
    } else {
        // The least shift that keeps dual values below their penalties.
        let excess = |duals: &[(usize, f64)], prices: &[f64]| {
            let over = duals.iter().zip(prices).map(|(dual, price)| dual.1 - price);
            over.fold(f64::NEG_INFINITY, f64::max)
        };
        let [least, most] = [excess(right, &prices[1]), -excess(left, &prices[0])];
        if least > 0.0 { least } else { most.min(0.0) }
    };
    for (duals, by, prices) in [(left, by, &prices[0]), (right, -by, &prices[1])] {
        for (dual, price) in duals.iter_mut().zip(prices) {
            dual.1 = (dual.1 + by).min(*price);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Relaxation;
    use super::super::spares::tests::{check_by, masses};
    use super::*;
    use crate::measures::Measures;
    use crate::progress::silent;
    use crate::solve::aim::{Aim, Deadline};
    use crate::solve::exact::random::random;
    use crate::solve::problem::posed::{OnMetric, Posed};
    use crate::solve::run::Found;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn penalties_on_edges_have_the_value_of_a_table(
            (n, kind, seed) in (2usize..40, 0u8..3, any::<u64>()),
            share in prop::sample::select(vec![0.0, 0.05, 0.3, 1.0, 10.0, 1e6]),
            prices in 0u8..3,
            (is_shared, is_grid) in (any::<bool>(), any::<bool>()),
            more in prop::sample::select(vec![0.3, 1.0, 2.0]),
            width in prop::sample::select(vec![0.0, 0.0, 0.05]),
        ) {
            let mut draw = random(seed ^ 2);
            let mut length = || if is_grid { (3.0 * draw()).ceil() } else { draw() };
            let mut edges: Vec<_> = (1..n).map(|v| (v, v - 1 - v / 3, length())).collect();
            edges.extend((2..n).map(|v| (v, v / 2, length())));
            let metric = GroundMetric::from_edges(n, &edges).unwrap();
            let (supply, demand) = (masses(n, kind, seed), masses(n, kind, seed ^ 1));
            let is_left = |v: &usize| is_shared || v.is_multiple_of(2);
            let is_right = |v: &usize| is_shared || !v.is_multiple_of(2);
            let rows = [
                (0..n).filter(is_left).map(|v| (v, supply[v])).collect::<Vec<_>>(),
                (0..n).filter(is_right).map(|v| (v, more * demand[v])).collect(),
            ];
            let measures = Measures::from_rows(n, rows).unwrap();
            let (a, b) = (measures.row(0), measures.row(1));
            let mut price = || share * (0.5 + length());
            let mut of_points: Vec<f64> = (0..n).map(|_| price()).collect();
            if prices == 1 {
                metric.make_lipschitz(&mut of_points);
            }
            let penalty = match prices {
                0 => Penalty::Same(of_points[0]),
                _ => Penalty::OfPoints([&of_points, &of_points]),
            };
            let posed = Posed::Metric(OnMetric { metric: &metric, a, b });
            let cost = |i: usize, j: usize| metric.distance(i, j);
            let aim = Aim::within(width);
            check_by(&posed, Relaxation::Penalty(penalty), &aim, &cost, &|_, _, space| {
                let deadline = Deadline::new(None, &silent);
                let asked = Asked { aim: &aim, device: None, deadline: &deadline };
                let memory = (&mut space.units, &mut space.edges);
                let found = answer(&metric, &space.sides, penalty, memory, asked).unwrap();
                assert!(found.is_some() || prices == 2, "no penalty exceeds another by more than a way");
                found.map(Found::exact)
            })?;
        }
    }
}
