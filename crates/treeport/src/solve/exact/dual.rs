//! Lower bounds of W₁ from dual values.
//!
//! For any u on the sources, v_j = minᵢ(cᵢⱼ − uᵢ) leaves uᵢ + v_j ≤ cᵢⱼ everywhere, so Σ supply·u +
//! Σ demand·v is below the cost of every plan.

use super::price::Cost;
use super::{Solver, reused};
use crate::measure::Measure;
use crate::metric::GroundMetric;
use crate::rounding::double;

/// A certified lower bound of W₁ between two measures that fit the metric and each other, from
/// heights of their points: any will do, and those of which mass runs down by as much as it costs
/// are the best.
///
/// The heights of the sources, lowered to what sinks allow, are one set of dual values; what the
/// heights of the sinks allow the sources is another. The larger bound counts, so it is the same
/// from b to a.
///
/// # Complexity
/// s² distances for s points, and a few passes over them; 0 where those that move are more than
/// [`MOST_COSTS`]. On a graph five searches of all of it, O(E log N), where that is less.
pub(crate) fn lower_bound(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
    height: impl Fn(usize) -> f64,
) -> f64 {
    reused(|solver| {
        solver.lay_out(metric, a, b);
        if solver.left.is_empty() {
            return 0.0;
        }
        let sign = if solver.turned { -1.0 } else { 1.0 };
        let height = |point| sign * height(point);
        if solver.asks_by_searches(metric) {
            return solver.lower_bound_by_searches(metric, &height);
        }
        if solver.left.len() * solver.right.len() > MOST_COSTS {
            return 0.0;
        }
        // Without memory for it nothing is proved.
        if solver.fill_costs(metric, &|_| true).is_err() {
            return 0.0;
        }
        solver.lower_bound(&height)
    })
}

/// Distances that a thread keeps for nothing but a bound: 256 MiB, or 5,792 points on each side.
const MOST_COSTS: usize = 1 << 25;

impl Solver {
    /// What heights prove once all costs are known.
    pub(super) fn lower_bound(&mut self, height: &dyn Fn(usize) -> f64) -> f64 {
        let Self { left, right, supply, demand, cost, bound, .. } = self;
        let m = demand.len();
        let above: Vec<f64> = left.iter().map(|&point| height(point)).collect();
        let below: Vec<f64> = right.iter().map(|&point| height(point)).collect();
        let allowed = |height: &[f64]| -> Vec<f64> {
            cost.chunks_exact(m).map(|row| f64::least(row, height)).collect()
        };
        reaches(cost, &above, m, bound);
        let lowered: Vec<f64> = bound.iter().map(|v| -v).collect();
        let sides = [allowed(&lowered), allowed(&below)];
        let bounds = sides.map(|duals| {
            let (value, rounding) = dual_bound(supply, demand, cost, &duals, bound);
            value - rounding
        });
        bounds.into_iter().fold(0.0, f64::max)
    }
}

/// Σ supply·u + Σ demand·v for the u given and the best v they allow, which `right` then holds; and
/// how far rounding may have put it off, for duals may be far larger than it.
pub(super) fn dual_bound(
    supply: &[f64],
    demand: &[f64],
    cost: &[f64],
    left: &[f64],
    right: &mut Vec<f64>,
) -> (f64, f64) {
    reaches(cost, left, demand.len(), right);
    let (mut bound, mut size, mut largest) = (0.0, 0.0, 0.0f64);
    for (mass, dual) in supply.iter().zip(left).chain(demand.iter().zip(&*right)) {
        bound += mass * dual;
        size += mass * dual.abs();
        largest = largest.max(dual.abs());
    }
    // One rounding for each product and sum, and one for each c − u that v is the smallest of; and
    // totals that are not quite equal let the bound depend on where the duals are 0.
    let roundings = double(supply.len() + demand.len() + 4);
    let (given, taken): (f64, f64) = (supply.iter().sum(), demand.iter().sum());
    let rounding = roundings * size + double(2) * taken * largest;
    (bound, rounding + (given - taken).abs() * largest)
}

/// minᵢ(cᵢⱼ − uᵢ) for every sink j, from rows of `m` costs.
fn reaches(cost: &[f64], left: &[f64], m: usize, out: &mut Vec<f64>) {
    out.clear();
    out.resize(m, f64::INFINITY);
    for (row, u) in cost.chunks_exact(m).zip(left) {
        for (least, cost) in out.iter_mut().zip(row) {
            let reach = cost - u;
            *least = if reach < *least { reach } else { *least };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Measures;
    use crate::metric::PointMetric;

    #[test]
    fn it_is_the_better_of_both_sides_by_plain_loops() {
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
    fn more_distances_than_a_thread_may_keep_prove_nothing() {
        let side = MOST_COSTS.isqrt() + 1;
        let line = (0..2 * side).map(|k| k as f64).collect();
        let metric = GroundMetric::from_points(1, line, PointMetric::Euclidean).unwrap();
        let halves = [0..side, side..2 * side];
        let rows = halves.map(|half| half.map(|p| (p, 1.0)).collect::<Vec<_>>());
        let measures = Measures::from_rows(2 * side, rows).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        assert_eq!(lower_bound(&metric, &a, &b, |_| 0.0), 0.0);
        // One that moves is not too much, whatever stays.
        let mut masses: Vec<_> = a.iter().collect();
        masses[0].0 = side;
        masses.sort_unstable_by_key(|entry| entry.0);
        let rows = [a.iter().collect(), masses];
        let measures = Measures::from_rows(2 * side, rows).unwrap();
        let bound = lower_bound(&metric, &measures.row(0), &measures.row(1), |_| 0.0);
        assert!((bound - side as f64).abs() <= 1e-6, "{bound}");
    }
}
