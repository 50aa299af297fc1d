//! Exact transport, certified.
//!
//! A network simplex (`simplex`) for one problem, and many problems on one ground metric in
//! parallel. Every answer is proved before it is given: the plan has the right marginals by
//! construction, and the dual values bound every plan from below; if the two ends do not meet, the
//! problem is solved again in integers, and what then cannot be proved is an error, never a number.
//!
//! # What was tried
//! Kept, because it wins (random points in R^50 and the plane, supports of 10 to 2,000, one run):
//! - regrets with mean prices as the first basis (`first`): 35 to 45 % fewer pivots than cheapest
//!   rows first;
//! - bit sets for small bases (`paths`): up to 256 nodes, half the time at supports of 30;
//! - a few near arcs first, then all (`arcs`): from a million arcs on;
//! - blocks of rows with the best arc of each;
//! - the place of a known sum as bits of a word (`price`): 5 % of the time at supports of 10 and
//!   30;
//! - padded rows in arrays of a fixed size, compiled for wide registers (`word`): half the time at
//!   supports of 30;
//! - shortest paths among the few where one side is far larger (`lopsided`): 10 × 20,000 points in a
//!   hundredth of the time; from 64 times as many points on, with the simplex as fast below that.
//!
//! Not kept:
//! - *a tree's greedy plan as the first basis*: 5 to 35 % more pivots than regrets in the plane,
//!   2.6 times as many in R^50, where the tree says less;
//! - *candidate lists* (rows that looked good, looked at again before new ones): within 10 % either
//!   way;
//! - *the place of a known sum as a minimum of places, side by side*: 2 to 4 % slower than leaving
//!   at the first eight that hold it;
//! - *pricing in `f32`*: half the memory, but no time won;
//! - *wide registers for rows that are not padded*: within 5 % at supports of 10 to 400;
//! - *all arcs priced in every round of a small problem*: a fifth fewer pivots, a fifth more time;
//! - *shortest augmenting paths* with reductions, as for assignments: 2 to 30 times slower from
//!   supports of 30 to 2,000, because masses that split need many more paths.

mod arcs;
pub(super) mod choice;
pub(super) mod components;
mod dual;
pub(super) mod edges;
mod first;
pub(super) mod fixed;
mod large;
pub(super) mod line;
mod line_potentials;
mod linked;
mod lopsided;
pub(super) mod order;
mod paths;
mod penalized;
mod potentials;
mod price;
#[cfg(test)]
mod random;
pub(super) mod relaxed;
mod simplex;
mod sparse;
mod sweeps;
mod word;

use std::cell::Cell;

use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::memory;
use crate::metric::{GroundMetric, LaidOutPoints};
use crate::progress::Progress;
use crate::rounding::TOTALS as ROUNDING;
use crate::solve::matrix::SideMasses;
use crate::solve::penalty::Relaxation;
use crate::solve::problem::{OnMatrix, OnMetric};
use crate::tree::Coupling;
pub(crate) use choice::{is_quick_on_edges, solving_time};
pub(crate) use dual::lower_bound;
use fixed::Units;
pub(super) use large::{
    bounds_by_auction, bytes, has_card, is_sparse, is_sparse_matrix, matrix_bounds_by_auction,
    solution_on_card, sweeps_come_first,
};
use line::Line;
pub(crate) use order::precedes;
use simplex::Simplex;
pub(crate) use sweeps::interval;
pub(super) use sweeps::interval_and_plan;

/// An optimal plan with its proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The cost of the plan: W₁.
    pub value: f64,
    /// The plan, shared mass that stays put included.
    pub plan: Coupling,
    /// Dual values of the points that lose mass; `left + right ≤ distance` for every pair.
    pub left: Vec<(usize, f64)>,
    /// Dual values of the points that gain mass.
    pub right: Vec<(usize, f64)>,
    /// Value minus the bound that the dual values give: how much cheaper another plan could be.
    /// Where it took integers, for the masses as settled: see [what is proved](crate::solve).
    pub gap: f64,
    /// Rounds of the simplex.
    pub pivots: usize,
    /// Whether it took integer costs to prove it.
    pub integers: bool,
}

impl Solution {
    /// The largest gap between plan and dual bound, relative to the value, that counts as proof.
    pub const TOLERANCE: f64 = 1e-9;

    /// A plan that costs nothing.
    fn free(plan: Coupling) -> Self {
        let (left, right) = (Vec::new(), Vec::new());
        Self { value: 0.0, plan, left, right, gap: 0.0, pivots: 0, integers: false }
    }
}

/// A value and how far it may be above the truth.
#[derive(Clone, Copy)]
pub(super) struct Certified {
    pub(super) value: f64,
    pub(super) gap: f64,
    /// Whether it took integer costs to prove it.
    pub(super) integers: bool,
}

/// Solves many problems on one ground metric in one piece of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Solver {
    left: Vec<usize>,
    right: Vec<usize>,
    supply: Vec<f64>,
    demand: Vec<f64>,
    shared: Vec<(usize, f64)>,
    /// Whether the measure that came second is on the left: see [`precedes`](order::precedes).
    turned: bool,
    /// The points of the measure on the left, and how they are laid out to measure from.
    from: Vec<u32>,
    laid: LaidOutPoints,
    cost: Vec<f64>,
    /// What a penalty is paid for, before points that are left behind were taken out.
    whole: penalized::WholeProblem,
    /// Memory of costs that are being turned.
    turning: Vec<f64>,
    units: Units,
    cost_units: fixed::CostUnits,
    float: Simplex<f64>,
    integer: Simplex<i128>,
    edges: edges::OnEdges,
    line: line::LineOrder,
    bound: Vec<f64>,
    rough: sweeps::SweepMemory,
}

/// Sees to it that the distances of two measures are at hand, if there are many to ask for.
pub(super) fn prepare_one(pair: &OnMetric<'_>, progress: &Progress<'_>) -> Result<()> {
    let sizes = (pair.a.support().len(), pair.b.support().len());
    choice::prepare_for(pair.metric, std::iter::once(sizes), progress)
}

/// W₁ between two measures that fit the metric and each other, and how far it may be above the
/// truth.
pub(crate) fn value_and_gap(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
) -> Result<(f64, f64)> {
    reused(|solver| solver.value_and_gap(metric, a, b, &|_| true))
}

/// Asks now and then whether to go on; where that is known, it is told what the proof is worth: the
/// lower bound as a share of what the plan costs.
pub(crate) type GoesOn<'a> = dyn Fn(Option<f64>) -> bool + 'a;

/// Pivots, and steps towards the first basis, between two questions: some milliseconds where it
/// takes long, and none where it does not.
const ASKED: usize = 1 << 10;

/// [`Error::Cancelled`] where it shall not.
pub(in crate::solve) fn ask(goes_on: &GoesOn<'_>) -> Result<()> {
    if goes_on(None) { Ok(()) } else { Err(Error::Cancelled) }
}

/// Lends the thread's own solver, so that small problems do not spend their time on memory.
pub(super) fn reused<T>(work: impl FnOnce(&mut Solver) -> T) -> T {
    thread_local! {
        static SOLVER: Cell<Option<Box<Solver>>> = Cell::default();
    }
    let mut solver = SOLVER.take().unwrap_or_default();
    // What it measured last may have been other points.
    solver.forget_metric();
    let result = work(&mut solver);
    let is_small = solver.edges.is_small() && solver.rough.is_small() && solver.line.is_small();
    let costs = solver.cost.capacity().max(solver.whole.cost.capacity());
    if is_small && costs <= MOST_KEPT {
        SOLVER.set(Some(solver));
    }
    result
}

/// Costs up to which a thread keeps its solver's memory, about 1 MiB.
const MOST_KEPT: usize = 1 << 17;

/// A solution from a table of all costs, whatever the size.
pub(super) fn solve_by_table(pair: &OnMetric<'_>, goes_on: &GoesOn<'_>) -> Result<Solution> {
    reused(|solver| {
        solver.lay_out(pair.metric, &pair.a, &pair.b);
        solver.solution_by_table(pair.metric, goes_on)
    })
}

impl Solver {
    /// To be said before a problem on another metric: distances from the same points are kept from problem to
    /// problem.
    pub(crate) fn forget_metric(&mut self) {
        self.laid.forget();
    }

    /// W₁ of two measures that fit the metric and each other, and its gap.
    pub(crate) fn value_and_gap(
        &mut self,
        metric: &GroundMetric,
        a: &Measure<'_>,
        b: &Measure<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<(f64, f64)> {
        if let Some(line) = Line::of(metric) {
            let pair = OnMetric { metric, a: *a, b: *b };
            return self.on_line(&line, &pair, goes_on).map(|found| (found.value, found.gap));
        }
        self.lay_out(metric, a, b);
        if self.left.is_empty() {
            return Ok((0.0, 0.0));
        }
        if let Some(network) = self.by_edges(metric) {
            return self.on_edges(network, goes_on).map(|proved| (proved.value, proved.gap));
        }
        if let Some((found, _)) = self.sparsely(metric, goes_on, None)? {
            return Ok((found.value, found.gap));
        }
        self.fill_costs(metric, goes_on)?;
        self.certified(goes_on).map(|found| (found.value, found.gap))
    }

    /// An optimal plan between two measures that fit the metric and each other.
    fn balanced_on_metric(
        &mut self,
        pair: &OnMetric<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Solution> {
        if let Some(line) = Line::of(pair.metric) {
            return self.solution_on_line(&line, pair, goes_on).map(|found| self.as_given(found));
        }
        self.lay_out(pair.metric, &pair.a, &pair.b);
        if let Some(network) = self.by_edges(pair.metric) {
            return self.solution_on_edges(network, goes_on).map(|found| self.as_given(found));
        }
        if let Some((found, answer)) = self.sparsely(pair.metric, goes_on, None)? {
            let solution = self.sparse_solution(found, answer);
            return Ok(self.as_given(solution));
        }
        self.solution_by_table(pair.metric, goes_on)
    }

    /// An optimal plan of what is laid out, from all costs.
    fn solution_by_table(
        &mut self,
        metric: &GroundMetric,
        goes_on: &GoesOn<'_>,
    ) -> Result<Solution> {
        self.fill_costs(metric, goes_on)?;
        self.solution(goes_on).map(|found| self.as_given(found))
    }

    /// What an optimal plan costs where costs alone say the problem.
    pub(super) fn value_between(
        &mut self,
        matrix: &OnMatrix<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<f64> {
        if let Some((found, _)) = self.sparsely_on_matrix(matrix, goes_on)? {
            return Ok(found.value);
        }
        self.prepare_between(matrix, goes_on)?;
        Ok(self.certified(goes_on)?.value)
    }

    /// Lays out a problem that costs alone say.
    fn prepare_between(&mut self, matrix: &OnMatrix<'_>, goes_on: &GoesOn<'_>) -> Result<()> {
        self.shared.clear();
        let Self { left, right, supply, demand, cost, .. } = self;
        let rows = SideMasses { places: left, masses: supply };
        let columns = SideMasses { places: right, masses: demand };
        let [given, taken] = matrix.read_masses(Relaxation::Balanced, [rows, columns])?;
        matrix.costs.read_costs(left, right, cost, goes_on)?;
        self.orient_matrix(Relaxation::Balanced);
        let second = if self.turned { &mut self.supply } else { &mut self.demand };
        let factor = rescaling(given, taken);
        for mass in second {
            *mass *= factor;
        }
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
        Ok(())
    }

    /// Solves what is prepared.
    fn solution(&mut self, goes_on: &GoesOn<'_>) -> Result<Solution> {
        if self.left.is_empty() {
            return Ok(Solution::free(self.shared_plan()));
        }
        let Certified { value, gap, integers } = self.certified(goes_on)?;
        let plan = self.plan_of(&self.moves(integers));
        let (left, right) = self.duals(integers);
        let left = self.left.iter().copied().zip(left).collect();
        let right = self.right.iter().copied().zip(right).collect();
        let pivots = self.pivots(integers);
        Ok(Solution { value, plan, left, right, gap, pivots, integers })
    }

    /// What stays where it is, and what moves.
    fn plan_of(&self, moves: &[(usize, usize, f64)]) -> Coupling {
        let mut plan = self.shared_plan();
        for &(i, j, mass) in moves {
            plan.push(self.left[i] as u32, self.right[j] as u32, mass);
        }
        plan
    }

    /// What stays where it is.
    fn shared_plan(&self) -> Coupling {
        let mut plan = Coupling::default();
        for &(point, mass) in &self.shared {
            plan.push(point as u32, point as u32, mass);
        }
        plan
    }

    /// Rounds of the last solve.
    fn pivots(&self, integers: bool) -> usize {
        self.float.pivots + if integers { self.integer.pivots } else { 0 }
    }

    /// The distances of all who give to all who take.
    fn fill_costs(&mut self, metric: &GroundMetric, goes_on: &GoesOn<'_>) -> Result<()> {
        let (n, m) = (self.left.len(), self.right.len());
        let count = room_for_costs(&mut self.cost, n, m)?;
        // Every entry is written next; only what is new needs a value before.
        self.cost.resize(count, 0.0);
        if count <= AT_ONCE {
            let Self { left, right, from, laid, cost, .. } = self;
            metric.block_from(laid, from, left, right, cost);
            return Ok(());
        }
        let rows = (AT_ONCE / m).max(1);
        for (left, cost) in self.left.chunks(rows).zip(self.cost.chunks_mut(rows * m)) {
            ask(goes_on)?;
            metric.block(left, &self.right, cost);
        }
        Ok(())
    }

    /// Who gives and who takes; nobody if the measures are equal.
    fn lay_out(&mut self, metric: &GroundMetric, a: &Measure<'_>, b: &Measure<'_>) {
        self.lay_out_all(a, b, metric.is_metric());
    }

    /// As [`lay_out`](Self::lay_out), where mass that both have stays or may have to move.
    fn lay_out_all(&mut self, a: &Measure<'_>, b: &Measure<'_>, shared_stays: bool) {
        self.split(a, b, rescaling(a.total(), b.total()), shared_stays);
        if self.left.is_empty() || self.right.is_empty() {
            // What is left on one side alone is the rounding of totals.
            self.left.clear();
            self.right.clear();
            return;
        }
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
    }

    /// Who has more than the other at a point, and how much; what both have, where that stays.
    /// Masses of the second measure count `factor` times.
    fn split(&mut self, a: &Measure<'_>, b: &Measure<'_>, factor: f64, shared_stays: bool) {
        self.turned = order::precedes(b, a);
        let (a, b, factors) =
            if self.turned { (b, a, [factor, 1.0]) } else { (a, b, [1.0, factor]) };
        self.left.clear();
        self.right.clear();
        self.supply.clear();
        self.demand.clear();
        self.shared.clear();
        self.from.clear();
        self.from.extend_from_slice(a.support());
        let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
        loop {
            let point = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(x), None) => x.0,
                (None, Some(y)) => y.0,
                (Some(x), Some(y)) => x.0.min(y.0),
            };
            let mine = left.next_if(|x| x.0 == point).map_or(0.0, |x| x.1 * factors[0]);
            let theirs = right.next_if(|y| y.0 == point).map_or(0.0, |y| y.1 * factors[1]);
            let stays = if shared_stays { mine.min(theirs) } else { 0.0 };
            if stays > 0.0 {
                self.shared.push((point, stays));
            }
            if mine > stays {
                self.left.push(point);
                self.supply.push(mine - stays);
            }
            if theirs > stays {
                self.right.push(point);
                self.demand.push(theirs - stays);
            }
        }
    }

    /// Solves what is prepared.
    fn certified(&mut self, goes_on: &GoesOn<'_>) -> Result<Certified> {
        let largest = price::largest(&self.cost);
        let (n, m) = (self.left.len(), self.right.len());
        let units = &self.units;
        let mut clip = largest;
        let lost = units.rounded(&self.supply, &self.demand);
        let Units { supply, demand, .. } = units;
        if self.float.solve_fast(supply, demand, &self.cost, largest, goes_on)? {
            let value = self.value(false);
            let (bound, rounding) = self.dual_bound();
            // No plan is cheaper than the bound: a value below it is as wrong as one above.
            let gap = (value - bound).abs() + rounding;
            if is_proof(value, gap) && self.are_settled(value, lost, false) {
                return Ok(Certified { value, gap, integers: false });
            }
            clip = largest.min(self.clip_beside(false));
        }
        let mut before = f64::INFINITY;
        // Each plan uses only what is cheap as far as the digits before could tell.
        while clip < before / 2.0 {
            if let Some(proved) = self.in_integers(clip, lost, goes_on)? {
                return Ok(proved);
            }
            (before, clip) = (clip, clip.min(self.clip_beside(true)));
        }
        self.in_integers(largest, lost, goes_on)?.ok_or(Error::Unsolved { left: n, right: m })
    }

    /// Solves with integer costs: whole units, and those above `clip` lowered to it; `None` if that
    /// proves nothing. `lost` is what the masses may have lost as integers.
    ///
    /// Costs are only ever lowered, so the optimum in integers is below every plan's true cost, and
    /// a plan that reaches it is off by no more than what was taken from the arcs it uses.
    fn in_integers(
        &mut self,
        clip: f64,
        lost: f64,
        goes_on: &GoesOn<'_>,
    ) -> Result<Option<Certified>> {
        let (n, m) = (self.left.len(), self.right.len());
        self.cost_units = fixed::CostUnits::new(clip, n + m);
        let mut cost: Vec<i128> = Vec::new();
        room_for_costs(&mut cost, n, m)?;
        cost.extend(self.cost.iter().map(|&c| self.cost_units.integer(c.min(clip))));
        let Units { supply, demand, .. } = &self.units;
        let solved = self.integer.solve(supply, demand, &cost, 0, usize::MAX, goes_on)?;
        let proved = solved && self.integer.is_dual(&cost);
        let value = self.value(true);
        let lowered = |(i, j, mass): (usize, usize, f64)| {
            mass * (self.cost[i * m + j] - self.cost_units.real(cost[i * m + j]))
        };
        // A plan that costs nothing cannot be beaten.
        let gap = self.moves(true).into_iter().map(lowered).sum::<f64>().min(value);
        let proved = proved && self.are_settled(value, lost, true);
        Ok((proved && is_proof(value, gap)).then_some(Certified { value, gap, integers: true }))
    }

    /// Whether masses, which may have lost so much as integers, are near enough to the ones given, at
    /// the largest cost that is paid.
    fn are_settled(&self, value: f64, lost: f64, integers: bool) -> bool {
        lost == 0.0 || is_settled(value, lost * self.largest_used(integers))
    }

    /// What costs can be lowered to without changing the optimum, as the last basis shows.
    ///
    /// Let its plan P use costs up to T, and an optimal plan Q a cost c. Their difference is a sum of
    /// cycles, which leave arcs of Q for at most k = min(n, m) arcs of P. On the one that leaves the arc of
    /// c, Q would save c at least and pay k·T at most: so c ≤ k·T. This holds for costs lowered to any
    /// K > k·T as well, P being the same: their optimal plans use nothing that was lowered, cost as much
    /// by the costs as given, and no plan costs less there than by the lowered ones.
    fn clip_beside(&self, integers: bool) -> f64 {
        let used = self.largest_used(integers);
        if used > 0.0 {
            return 2.0 * self.left.len().min(self.right.len()) as f64 * used;
        }
        let above = self.cost.iter().copied().filter(|&cost| cost > 0.0);
        above.fold(f64::INFINITY, f64::min)
    }

    /// The largest cost on an arc that carries mass in the last basis.
    fn largest_used(&self, integers: bool) -> f64 {
        let m = self.right.len();
        let used = |(i, j, _): &(usize, usize, f64)| self.cost[i * m + j];
        self.moves(integers).iter().map(used).fold(0.0, f64::max)
    }

    /// The flows of the last basis as masses.
    fn moves(&self, integers: bool) -> Vec<(usize, usize, f64)> {
        let mass = self.units.masses();
        let masses = |(i, j, flow)| (i, j, mass(flow));
        self.flows(integers).map(masses).filter(|m| m.2 > 0.0).collect()
    }

    fn value(&self, integers: bool) -> f64 {
        let m = self.right.len();
        let mass = self.units.masses();
        let price = |(i, j, flow): (usize, usize, i128)| mass(flow) * self.cost[i * m + j];
        self.flows(integers).map(price).sum()
    }

    fn flows(&self, integers: bool) -> impl Iterator<Item = (usize, usize, i128)> + '_ {
        let flows = if integers { &self.integer.flows } else { &self.float.flows };
        flows.iter().map(|&(i, j, flow)| (i as usize, j as usize, flow))
    }

    /// What the last duals prove: [`dual::dual_bound`].
    fn dual_bound(&mut self) -> (f64, f64) {
        let (left, _) = self.float.potentials();
        dual::dual_bound(&self.supply, &self.demand, &self.cost, left, &mut self.bound)
    }

    fn duals(&self, integers: bool) -> (Vec<f64>, Vec<f64>) {
        if !integers {
            return (self.float.potentials().0.to_vec(), self.bound.clone());
        }
        let (left, right) = self.integer.potentials();
        let back = |sign: i128| move |v: &i128| self.cost_units.real(sign * v);
        (left.iter().map(back(1)).collect(), right.iter().map(back(-1)).collect())
    }
}

/// Gives what the totals differ by, which is rounding, to the largest demand: where only little mass
/// moves, it would be a large share of that.
pub(crate) fn balance_totals(supply: &[f64], demand: &mut [f64]) {
    let missing = supply.iter().sum::<f64>() - demand.iter().sum::<f64>();
    let largest = demand.iter_mut().max_by(|a, b| a.total_cmp(b));
    if let Some(largest) = largest.filter(|largest| **largest + missing > 0.0) {
        *largest += missing;
    }
}

/// Makes room for the costs between two supports, if there is any; how many they are.
pub(super) fn room_for_costs<C>(cost: &mut Vec<C>, n: usize, m: usize) -> Result<usize> {
    let count = n.saturating_mul(m);
    let step = format_args!("exact transport between {n} and {m} points");
    memory::resize_room(cost, step, count, "take an estimate at the level `flow`")?;
    Ok(count)
}

/// Costs computed, or looked at, between two questions whether to go on; fewer are computed at once.
const AT_ONCE: usize = 1 << 24;

/// Unequal totals: the right-hand side is brought to the left's by this factor. Not for the last
/// few bits, which would keep equal masses from cancelling; the conversion to units settles those.
pub(crate) fn rescaling(left: f64, right: f64) -> f64 {
    if (left - right).abs() <= ROUNDING * left.max(right) { 1.0 } else { left / right }
}

/// Far more pivots than any problem was seen to need.
fn most_pivots(n: usize, m: usize) -> usize {
    1000 + 50 * (n + m) * (1 + (n + m).ilog2() as usize)
}

/// Whether a gap proves a value; a value beyond the range of `f64` is none.
fn is_proof(value: f64, gap: f64) -> bool {
    value.is_finite() && gap <= Solution::TOLERANCE * value
}

/// Whether a value stands that masses, as integers, may have changed by so much. Nothing stands for
/// less than 10⁻³⁰ of what all mass might cost. See [what is proved](crate::solve).
fn is_settled(value: f64, change: f64) -> bool {
    value == 0.0 || change <= 1e-6 * value
}

/// Reduced costs within this share of the largest cost may be rounding.
const SLACK: f64 = 1.0 / (1u64 << 48) as f64;
