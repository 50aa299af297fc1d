//! Exact transport from lower bounds of the costs: only a few exact costs are computed.
//!
//! A search knows all costs of a pair in single precision, rounded down. In hundreds of
//! dimensions, the exact costs of a table take most of the time of a solve; an optimal basis uses
//! n + m − 1 of n·m. So the simplex runs on the lowered costs, the costs of its basis are replaced
//! by exact ones, and it continues from that basis, until the costs of the whole basis are exact.
//! The other costs are not above the exact ones, so dual values that are feasible for them are
//! feasible for all exact costs, and the basis is optimal. Lowered costs are near, so two to four
//! rounds suffice.
//!
//! # Bits
//! The value is the sum over the optimal plan, in order, of mass times distance by the formula of
//! the metric. If the optimal plan is unique, it is the same for any lower bounds. If another plan
//! may cost as much (a reduced cost outside of the basis is 0 up to rounding), there is no answer,
//! and the table of all exact costs gives one. So the bits of a value never depend on the bounds.

use super::integer_mass::Units;
use super::table::{Masses, Table};
use super::{KeepGoing, SLACK, dual, is_proof, most_pivots, price};
use crate::error::Result;
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::solve::problem::posed::OnMetric;
use crate::solve::route::{Engine, by_size};
use crate::solve::sides::Sides;
use crate::solve::workspace::Workspace;

/// Rounds after which all remaining costs are computed. Lower bounds far below the costs would
/// need a round for every few arcs.
const MOST_ROUNDS: usize = 8;

/// Largest reduced cost, as a share of the largest cost, of an arc that may tie with a basic one.
const TIE: f64 = 1.0 / (1u64 << 40) as f64;

/// Computes W₁ between two measures from lower bounds of the distances between their points.
///
/// `fill` writes these bounds from each point of the first list to those of the second, row-major;
/// the third argument tells that the first list has the points of the second measure. Returns
/// `None` if the optimal plan may not be unique, or if there is no certificate.
pub(crate) fn value_by_bounds(
    space: &mut Workspace,
    (metric, a, b): (&GroundMetric, &Measure<'_>, &Measure<'_>),
    fill: impl FnOnce([&[usize]; 2], bool, &mut Vec<f64>) -> Result<()>,
    keep_going: &KeepGoing<'_>,
) -> Result<Option<f64>> {
    let Workspace { sides, units, table, .. } = space;
    sides.read(&OnMetric { metric, a: *a, b: *b }, metric.is_metric());
    if sides.is_empty() {
        return Ok(Some(0.0));
    }
    if by_size(sides.left.len(), sides.right.len()) == Engine::Lopsided {
        return Ok(None);
    }
    table.cost.clear();
    fill([&sides.left, &sides.right], sides.swapped, &mut table.cost)?;
    let exact = |i: usize, j: usize| metric.distance(sides.left[i], sides.right[j]);
    table.value_by_bounds(sides, units, &exact, keep_going)
}

impl Table {
    /// Solves a problem whose table has lower bounds of the costs, which `exact` computes.
    fn value_by_bounds(
        &mut self,
        sides: &Sides,
        units: &mut Units,
        exact: &dyn Fn(usize, usize) -> f64,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Option<f64>> {
        let Sides { supply, demand, .. } = sides;
        let (n, m) = (supply.len(), demand.len());
        units.set(supply, demand);
        let masses = Masses { supply, demand, units };
        let lost = units.rounded(supply, demand);
        let largest = price::largest(&self.cost);
        let Self { cost, float, is_exact, .. } = &mut *self;
        is_exact.clear();
        is_exact.resize(cost.len(), false);
        if !float.solve_fast(&units.supply, &units.demand, cost, largest, keep_going)? {
            return Ok(None);
        }
        for round in 0.. {
            let mut is_new = false;
            for &(i, j, _) in &float.flows {
                let at = i as usize * m + j as usize;
                if !is_exact[at] {
                    cost[at] = exact(i as usize, j as usize);
                    (is_exact[at], is_new) = (true, true);
                }
            }
            if !is_new {
                break;
            }
            if round == MOST_ROUNDS {
                for at in (0..cost.len()).filter(|&at| !is_exact[at]) {
                    cost[at] = exact(at / m, at % m);
                }
                is_exact.fill(true);
            }
            let slack = price::largest(cost) * SLACK;
            if !float.resume_on((n, m), cost, slack, most_pivots(n, m), keep_going)? {
                return Ok(None);
            }
        }
        if !self.has_unique_plan((n, m), exact) {
            return Ok(None);
        }
        self.float.flows.sort_unstable_by_key(|&(i, j, _)| (i, j));
        let value = self.value(masses, false);
        let (left, _) = self.float.potentials();
        let (bound, rounding) = dual::dual_bound(supply, demand, &self.cost, left, &mut self.bound);
        let gap = (value - bound).abs() + rounding;
        let is_proved = is_proof(value, gap) && self.are_settled(masses, value, lost, false);
        Ok(is_proved.then_some(value))
    }

    /// Returns whether all reduced costs outside of the basis are clearly positive, for which some
    /// more exact costs may be computed.
    fn has_unique_plan(
        &mut self,
        (n, m): (usize, usize),
        exact: &dyn Fn(usize, usize) -> f64,
    ) -> bool {
        let Self { cost, float, is_exact, .. } = self;
        let least = price::largest(cost) * TIE;
        let (sources, sinks) = float.potentials();
        let mut ties = 0;
        for (i, (row, u)) in cost.chunks_exact_mut(m).zip(sources).enumerate() {
            let is_near = |(cost, v): (&f64, &f64)| cost - u + v <= least;
            let near = row.iter().zip(sinks).map(|arc| usize::from(is_near(arc))).sum::<usize>();
            if near == 0 {
                continue;
            }
            for (j, v) in sinks.iter().enumerate() {
                if is_near((&row[j], v)) && !is_exact[i * m + j] {
                    (row[j], is_exact[i * m + j]) = (exact(i, j), true);
                }
                ties += usize::from(is_near((&row[j], v)));
            }
        }
        ties < n + m
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::random::random;
    use super::*;
    use crate::measures::Measures;
    use crate::metric::PointMetric;
    use crate::{Problem, silent};

    /// Points, and two measures on them, of `sizes` points each, of which they share one.
    fn drawn(seed: u64, [n, m]: [usize; 2], is_grid: bool) -> (GroundMetric, Measures) {
        let mut random = random(seed);
        // The first numbers of a small seed are small.
        (0..9).for_each(|_| _ = random());
        let mut place = || if is_grid { (4.0 * random()).floor() } else { random() };
        let coordinates = (0..2 * (n + m)).map(|_| place()).collect();
        let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
        let rows = [0..n, n - 1..n + m].map(|row| row.map(|p| (p, 1.0 + (p * 7 % 5) as f64)));
        (metric, Measures::from_rows(n + m, rows).unwrap().normalized())
    }

    /// Solves from lower bounds: distances times the result of `share`.
    fn by_bounds(
        (metric, measures): (&GroundMetric, &Measures),
        [a, b]: [usize; 2],
        mut share: impl FnMut() -> f64,
    ) -> Option<f64> {
        let pair = (metric, &measures.row(a), &measures.row(b));
        let fill = |[left, right]: [&[usize]; 2], _, cost: &mut Vec<f64>| {
            let arcs = left.iter().flat_map(|&i| right.iter().map(move |&j| (i, j)));
            cost.extend(arcs.map(|(i, j)| share() * metric.distance(i, j)));
            Ok(())
        };
        value_by_bounds(&mut Workspace::default(), pair, fill, &|_| true).unwrap()
    }

    /// Checks the value against that of the table, and its bits for any bounds and direction;
    /// returns whether there was one.
    fn agrees(seed: u64, sizes: [usize; 2], is_grid: bool) -> bool {
        let (metric, measures) = drawn(seed, sizes, is_grid);
        let judge = Problem::new(&metric, &measures.row(0), &measures.row(1));
        let judge = judge.value(&silent).unwrap();
        let given = (&metric, &measures);
        let mut random = random(seed + 1);
        let found = [
            by_bounds(given, [0, 1], || 1.0),
            by_bounds(given, [0, 1], || 1.0 - 1e-6 * random()),
            by_bounds(given, [1, 0], || 0.5),
            by_bounds(given, [1, 0], || if random() < 0.9 { 1.0 } else { random() }),
            by_bounds(given, [0, 1], || 0.0),
        ];
        for value in found.iter().flatten() {
            assert!((value - judge).abs() <= 1e-9 * judge, "{value} {judge}");
            assert_eq!(found[0].map(f64::to_bits), Some(value.to_bits()));
        }
        found.iter().all(Option::is_some)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Both sides of every size at which another simplex begins.
        #[test]
        fn values_are_those_of_all_costs(
            seed in any::<u32>(), n in 1..45usize, m in 1..45usize, is_grid in any::<bool>(),
        ) {
            let is_found = agrees(u64::from(seed), [n, m], is_grid);
            prop_assert!(is_grid || is_found);
        }
    }

    #[test]
    fn a_basis_of_many_nodes_agrees() {
        assert!(agrees(3, [140, 150], false));
        assert!(by_size(140, 150) == Engine::Table);
    }

    #[test]
    fn ties_and_lopsided_problems_are_left_to_others() {
        let corners = vec![0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0];
        let metric = GroundMetric::from_points(2, corners, PointMetric::Euclidean).unwrap();
        let rows = [[(0, 0.5), (1, 0.5)], [(2, 0.5), (3, 0.5)]];
        let measures = Measures::from_rows(4, rows).unwrap();
        assert_eq!(by_bounds((&metric, &measures), [0, 1], || 0.9), None);
        let (metric, measures) = drawn(1, [3, 400], false);
        assert_eq!(by_bounds((&metric, &measures), [0, 1], || 0.9), None);
    }
}
