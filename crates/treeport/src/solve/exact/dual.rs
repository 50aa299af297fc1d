//! Lower bounds of W₁ from dual values.
//!
//! For any u on the sources, v_j = minᵢ(cᵢⱼ − uᵢ) is dual feasible: uᵢ + v_j ≤ cᵢⱼ. So Σ supply·u +
//! Σ demand·v is at most the cost of every plan.

use super::edges;
use super::price::Cost;
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::numeric::rounding::double;
use crate::solve::problem::posed::OnMetric;
use crate::solve::route::searches_pay;
use crate::solve::sides::{Costs, Sides};
use crate::solve::workspace;

/// Computes a certified lower bound of W₁ between two valid measures from heights of their points,
/// best from Kantorovich potentials.
///
/// The heights of the sources, lowered to the largest feasible values, are one set of dual values;
/// those that the heights of the sinks allow are another. The larger bound is returned, which is
/// symmetric in a and b: a few passes over at most [`MOST_COSTS`] distances, else 0, or on a graph
/// five searches.
pub(crate) fn lower_bound(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
    height: impl Fn(usize) -> f64,
) -> f64 {
    workspace::lend(|space| {
        let workspace::Workspace { sides, table, .. } = space;
        sides.read(&OnMetric { metric, a: *a, b: *b }, metric.is_metric());
        if sides.is_empty() {
            return 0.0;
        }
        let sign = if sides.swapped { -1.0 } else { 1.0 };
        let height = |point| sign * height(point);
        let (left, right) = (sides.left.len(), sides.right.len());
        if searches_pay(metric, left, right) {
            return edges::lower_bound_by_searches(metric, sides, &height);
        }
        // Without memory for a table the bound is the trivial one.
        if left * right > MOST_COSTS || table.fill(Costs::Metric(metric), sides, &|_| true).is_err()
        {
            return 0.0;
        }
        bound_by_heights(sides, &table.cost, &height)
    })
}

/// Most distances that a thread stores for a bound: 256 MiB, or 5,792 points on each side.
const MOST_COSTS: usize = 1 << 25;

/// Computes the lower bound that heights of the points prove, from a table of all costs.
pub(super) fn bound_by_heights(sides: &Sides, cost: &[f64], height: &dyn Fn(usize) -> f64) -> f64 {
    let Sides { left, right, supply, demand, .. } = sides;
    let (m, mut bound) = (demand.len(), Vec::new());
    let above: Vec<f64> = left.iter().map(|&point| height(point)).collect();
    let below: Vec<f64> = right.iter().map(|&point| height(point)).collect();
    let allowed = |height: &[f64]| -> Vec<f64> {
        cost.chunks_exact(m).map(|row| f64::least(row, height)).collect()
    };
    largest_right(cost, &above, m, &mut bound);
    let lowered: Vec<f64> = bound.iter().map(|v| -v).collect();
    let sets = [allowed(&lowered), allowed(&below)];
    let bounds = sets.map(|duals| {
        let (value, rounding) = dual_bound(supply, demand, cost, &duals, &mut bound);
        value - rounding
    });
    bounds.into_iter().fold(0.0, f64::max)
}

/// Computes Σ supply·u + Σ demand·v for `left` = u and the largest feasible v, which is written to
/// `right`, and the largest rounding error of that sum: dual values may be far larger than the sum.
pub(super) fn dual_bound(
    supply: &[f64],
    demand: &[f64],
    cost: &[f64],
    left: &[f64],
    right: &mut Vec<f64>,
) -> (f64, f64) {
    largest_right(cost, left, demand.len(), right);
    let (mut bound, mut size, mut largest) = (0.0, 0.0, 0.0f64);
    for (mass, dual) in supply.iter().zip(left).chain(demand.iter().zip(&*right)) {
        bound += mass * dual;
        size += mass * dual.abs();
        largest = largest.max(dual.abs());
    }
    // One rounding each for products, sums and differences, and for totals that differ.
    let roundings = double(supply.len() + demand.len() + 4);
    let (total_supply, total_demand): (f64, f64) = (supply.iter().sum(), demand.iter().sum());
    let rounding = roundings * size + double(2) * total_demand * largest;
    (bound, rounding + (total_supply - total_demand).abs() * largest)
}

/// Computes minᵢ(cᵢⱼ − uᵢ) for every sink j, from rows of `m` costs.
fn largest_right(cost: &[f64], left: &[f64], m: usize, out: &mut Vec<f64>) {
    out.clear();
    out.resize(m, f64::INFINITY);
    for (row, u) in cost.chunks_exact(m).zip(left) {
        for (least, cost) in out.iter_mut().zip(row) {
            let allowed = cost - u;
            *least = if allowed < *least { allowed } else { *least };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Measures;
    use crate::metric::PointMetric;

    #[test]
    fn the_bound_is_the_better_of_both_sides_by_plain_loops() {
        let n = 12;
        let wave = |k: usize| ((k * 7919 + 13) % 101) as f64 / 101.0;
        for seed in 0..50 {
            let distances = (0..n * (n - 1) / 2).map(|k| wave(k + 7 * seed)).collect();
            let metric = GroundMetric::from_condensed(n, distances).unwrap();
            let masses: Vec<f64> =
                (0..2 * n).map(|k| (wave(k * k + seed) - 0.3).max(0.0)).collect();
            let measures = Measures::from_dense(n, &masses).unwrap().normalized();
            let (a, b) = (measures.row(0), measures.row(1));
            let height = |p: usize| 2.0 * wave(p * seed);
            let least =
                |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
            let right_of = |u: &dyn Fn(usize) -> f64, j: usize| {
                least(&mut a.iter().map(|(i, _)| metric.distance(i, j) - u(i)))
            };
            let left_of = |v: &dyn Fn(usize) -> f64, i: usize| {
                least(&mut b.iter().map(|(j, _)| metric.distance(i, j) - v(j)))
            };
            let value = |u: &dyn Fn(usize) -> f64| -> f64 {
                let left: f64 = a.iter().map(|(i, mass)| mass * u(i)).sum();
                left + b.iter().map(|(j, mass)| mass * right_of(u, j)).sum::<f64>()
            };
            let from_left = value(&|i| left_of(&|j| right_of(&height, j), i));
            let from_right = value(&|i| left_of(&|j| -height(j), i));
            let judge = from_left.max(from_right).max(0.0);
            let ours = lower_bound(&metric, &a, &b, height);
            assert!(ours <= judge && judge - ours <= 1e-12, "{ours} {judge}");
        }
    }

    #[test]
    fn the_bound_is_zero_beyond_the_largest_table() {
        let side = MOST_COSTS.isqrt() + 1;
        let line = (0..2 * side).map(|k| k as f64).collect();
        let metric = GroundMetric::from_points(1, line, PointMetric::Euclidean).unwrap();
        let halves = [0..side, side..2 * side];
        let rows = halves.map(|half| half.map(|p| (p, 1.0)).collect::<Vec<_>>());
        let measures = Measures::from_rows(2 * side, rows).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        assert_eq!(lower_bound(&metric, &a, &b, |_| 0.0), 0.0);
        // A single source is within the limit, however much mass stays.
        let mut masses: Vec<_> = a.iter().collect();
        masses[0].0 = side;
        masses.sort_unstable_by_key(|entry| entry.0);
        let rows = [a.iter().collect(), masses];
        let measures = Measures::from_rows(2 * side, rows).unwrap();
        let bound = lower_bound(&metric, &measures.row(0), &measures.row(1), |_| 0.0);
        assert!((bound - side as f64).abs() <= 1e-6, "{bound}");
    }
}
