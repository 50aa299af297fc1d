//! Which problems go to the auction (`sparse`), and how its answers become ours.

use std::sync::Arc;

use super::sparse::table::MatrixCosts;
use super::{
    Certified, GoesOn, Solution, Solver, balance_totals, lopsided, order, rescaling, reused, sparse,
};
use crate::error::Result;
use crate::memory;
use crate::metric::GroundMetric;
use crate::solve::card::Card;
use crate::solve::matrix::SideMasses;
use crate::solve::penalty::Relaxation;
use crate::solve::problem::{OnMatrix, OnMetric, how_far};
use crate::solve::within::{Bounds, Clock};

/// Arcs from which on problems between points are solved without a table of costs: up to twice as
/// fast at 3,000 points a side, as fast at 1,000, a third as fast at 500. With equal masses half to four fifths of the time at
/// 1,000 in the plane (uniform, Euclidean and squared), but two to nine times as long where many sinks are as good as each
/// other: points on a line, on a grid, far away, or shifted with Manhattan and cosine costs.
const SPARSE_ARCS: usize = 1 << 21;

/// Arcs from which on a matrix of costs goes to the auction: see `sparse::table` for what that wins.
const MATRIX_ARCS: usize = 1 << 22;

/// Whether a problem between so many rows and columns of a matrix goes to the auction.
pub(in crate::solve) fn is_sparse_matrix(n: usize, m: usize) -> bool {
    let is_even = n.min(m) > 1 && !lopsided::is_lopsided(n, m);
    is_even && n.saturating_mul(m) >= MATRIX_ARCS
}

/// Arcs up to which sweeps find bounds sooner than an auction in many dimensions: two thirds of its time at
/// 2,000 points a side in R³⁰, half as much again at 20,000 in R⁵⁰.
const MOST_SWEPT: usize = 1 << 25;

/// Whether a problem between so many points is solved without a table of costs.
pub(in crate::solve) fn is_sparse(metric: &GroundMetric, n: usize, m: usize) -> bool {
    let is_even = n.min(m) > 1 && !lopsided::is_lopsided(n, m);
    is_even && n.saturating_mul(m) >= SPARSE_ARCS && sparse::takes(metric)
}

/// The bytes that an exact solve between so many points of a metric takes, about.
pub(in crate::solve) fn bytes(metric: &GroundMetric, n: usize, m: usize) -> u64 {
    if is_sparse(metric, n, m) {
        sparse::bytes(metric, n, m)
    } else {
        memory::size_of::<f64>(&[n, m])
    }
}

/// Whether a few sweeps find bounds sooner than an auction: where that has no boxes to rule points out by,
/// up to some thousands of points.
pub(in crate::solve) fn sweeps_come_first(pair: &OnMetric<'_>) -> bool {
    let arcs = pair.a.support().len().saturating_mul(pair.b.support().len());
    let most = if sparse::has_boxes(pair.metric) { SPARSE_ARCS } else { MOST_SWEPT };
    !pair.metric.is_searched() && (arcs < most || !sparse::takes(pair.metric))
}

/// Bounds of a large problem between points that are close enough, or as close as they become, and whether
/// they are close enough; nothing for other problems.
pub(in crate::solve) fn bounds_by_auction(
    pair: &OnMetric<'_>,
    width: f64,
    clock: &Clock<'_>,
    card: Option<&Arc<dyn Card>>,
) -> Result<Option<(Bounds, bool)>> {
    let goes_on = |proved| clock.hears(&how_far(proved));
    let is_up = || clock.is_up();
    let keeps_bounds = clock.is_limited();
    let aim = sparse::Aim { width, goes_on: &goes_on, keeps_bounds, is_up: &is_up };
    reused(|solver| {
        solver.lay_out(pair.metric, &pair.a, &pair.b);
        let found = solver.sparsely_within(pair.metric, &aim, card)?;
        let Some(found) = found else { return Ok(None) };
        let is_close = found.reaches(width);
        let bounds = Bounds::of_plan(found.lower, found.upper, solver.plan_of(&found.moves));
        // Empty where nothing is proved.
        let left = solver.left.iter().copied().zip(found.left).collect();
        let right = solver.right.iter().copied().zip(found.right).collect();
        Ok(Some((solver.bounds_as_given(bounds.proved_by([left, right])), is_close)))
    })
}

/// As [`bounds_by_auction`], of a problem whose costs a matrix says.
pub(in crate::solve) fn matrix_bounds_by_auction(
    matrix: &OnMatrix<'_>,
    width: f64,
    clock: &Clock<'_>,
) -> Result<Option<(Bounds, bool)>> {
    let goes_on = |proved| clock.hears(&how_far(proved));
    let is_up = || clock.is_up();
    let keeps_bounds = clock.is_limited();
    let aim = sparse::Aim { width, goes_on: &goes_on, keeps_bounds, is_up: &is_up };
    reused(|solver| {
        let Some(found) = solver.sparsely_between(matrix, &aim)? else { return Ok(None) };
        let is_close = found.reaches(width);
        let bounds = Bounds::of_plan(found.lower, found.upper, solver.plan_of(&found.moves));
        let left = solver.left.iter().copied().zip(found.left).collect();
        let right = solver.right.iter().copied().zip(found.right).collect();
        Ok(Some((solver.bounds_as_given(bounds.proved_by([left, right])), is_close)))
    })
}

/// Whether a card knows how to measure.
pub(in crate::solve) fn has_card(metric: &GroundMetric) -> bool {
    sparse::has_card(metric)
}

/// An exact solution with a card that looks through all pairs; nothing where that proves none.
pub(in crate::solve) fn solution_on_card(
    pair: &OnMetric<'_>,
    card: &Arc<dyn Card>,
    goes_on: &GoesOn<'_>,
) -> Result<Option<Solution>> {
    reused(|solver| {
        solver.lay_out(pair.metric, &pair.a, &pair.b);
        let found = solver.sparsely(pair.metric, goes_on, Some(card))?;
        let solution = found.map(|(found, answer)| solver.sparse_solution(found, answer));
        Ok(solution.map(|solution| solver.as_given(solution)))
    })
}

/// Bounds of a large problem between points, to this accuracy or to a tenth where less is asked for.
pub(super) fn interval_by_auction(
    pair: &OnMetric<'_>,
    accuracy: f64,
) -> Result<Option<(f64, f64)>> {
    let width = accuracy.min(0.1);
    let aim = sparse::Aim { width, goes_on: &|_| true, keeps_bounds: false, is_up: &|| false };
    reused(|solver| {
        solver.lay_out(pair.metric, &pair.a, &pair.b);
        let found = solver.sparsely_within(pair.metric, &aim, None)?;
        Ok(found.filter(|found| found.reaches(width)).map(|found| (found.lower, found.upper)))
    })
}

impl Solver {
    /// Solves what is laid out without a table of costs, where that is faster and can be proved.
    pub(super) fn sparsely(
        &mut self,
        metric: &GroundMetric,
        goes_on: &GoesOn<'_>,
        card: Option<&Arc<dyn Card>>,
    ) -> Result<Option<(Certified, sparse::Answer)>> {
        let aim = sparse::Aim { width: 0.0, goes_on, keeps_bounds: false, is_up: &|| false };
        let found = self.sparsely_within(metric, &aim, card)?;
        Ok(found.and_then(|answer| Some((answer.certified?, answer))))
    }

    /// The same until an aim is reached, where it is.
    fn sparsely_within(
        &mut self,
        metric: &GroundMetric,
        aim: &sparse::Aim<'_>,
        card: Option<&Arc<dyn Card>>,
    ) -> Result<Option<sparse::Answer>> {
        let (n, m) = (self.left.len(), self.right.len());
        let is_taken = if card.is_some() { n.min(m) > 1 } else { is_sparse(metric, n, m) };
        if !is_taken {
            return Ok(None);
        }
        let masses = [&self.supply[..], &self.demand];
        let sides = [&self.left[..], &self.right];
        let sparse = sparse::Sparse::new(metric, sides, masses, card, aim.goes_on)?;
        sparse.map(|sparse| sparse.solve(&mut self.float, aim)).transpose()
    }

    /// Solves a problem whose costs a matrix says, where it is large and can be proved; lays it out.
    pub(super) fn sparsely_on_matrix(
        &mut self,
        matrix: &OnMatrix<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Option<(Certified, sparse::Answer)>> {
        let aim = sparse::Aim { width: 0.0, goes_on, keeps_bounds: false, is_up: &|| false };
        let found = self.sparsely_between(matrix, &aim)?;
        Ok(found.and_then(|answer| Some((answer.certified?, answer))))
    }

    fn sparsely_between(
        &mut self,
        matrix: &OnMatrix<'_>,
        aim: &sparse::Aim<'_>,
    ) -> Result<Option<sparse::Answer>> {
        if !is_sparse_matrix(matrix.a.len(), matrix.b.len()) {
            return Ok(None);
        }
        self.shared.clear();
        let Self { left, right, supply, demand, .. } = self;
        let rows = SideMasses { places: left, masses: supply };
        let columns = SideMasses { places: right, masses: demand };
        let [given, taken] = matrix.read_masses(Relaxation::Balanced, [rows, columns])?;
        if !is_sparse_matrix(left.len(), right.len()) {
            return Ok(None);
        }
        let cost = |i: usize, j: usize| matrix.costs.entry(left[i], right[j]);
        self.turned = order::comes_second_by(&self.supply, &self.demand, cost);
        let factor = rescaling(given, taken);
        for mass in &mut self.demand {
            *mass *= factor;
        }
        if self.turned {
            std::mem::swap(&mut self.left, &mut self.right);
            std::mem::swap(&mut self.supply, &mut self.demand);
        }
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
        let costs = MatrixCosts { view: matrix.costs, is_turned: self.turned };
        let sides = [&self.left[..], &self.right];
        let masses = [&self.supply[..], &self.demand];
        let sparse = sparse::Sparse::of_matrix(costs, sides, masses, aim.goes_on)?;
        sparse.map(|sparse| sparse.solve(&mut self.float, aim)).transpose()
    }

    /// A solution without a table of costs.
    pub(super) fn sparse_solution(&self, found: Certified, answer: sparse::Answer) -> Solution {
        let plan = self.plan_of(&answer.moves);
        let left = self.left.iter().copied().zip(answer.left).collect();
        let right = self.right.iter().copied().zip(answer.right).collect();
        let Certified { value, gap, integers } = found;
        Solution { value, plan, left, right, gap, pivots: answer.pivots, integers }
    }
}
