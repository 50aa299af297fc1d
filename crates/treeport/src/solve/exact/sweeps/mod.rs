//! Certified bounds of W₁ from a few Sinkhorn sweeps: a fraction of the time of an exact solver.
//!
//! **Lower bound**: the dual values of the sweeps, made feasible ([`SingleProblem`]). **Upper
//! bound**: the cost of a plan. The plan of the sweeps itself is blurred, but the arcs it uses are
//! those of good plans; a plan on these arcs, begun greedily by reduced costs and improved by a few
//! pivots, is nearly optimal.
//!
//! Without the triangle inequality shared mass may have to move, but it seldom does. So the sweeps
//! and the plan leave it in place, and the cost is still an upper bound. The lower bound has to
//! hold for all mass, so the dual values of the mass that moves are extended to all points of both
//! supports.

use super::arcs::SingleArcs;
use super::auction;
use super::integer_mass::Units;
use super::simplex::Simplex;
use crate::error::{Error, Result};
use crate::measures::Measure;
use crate::memory;
use crate::metric::{FAR, GroundMetric, LoweredDistances};
use crate::progress::silent;
use crate::solve::aim::{Aim, Deadline, Wanted};
use crate::solve::answer::Answer;
use crate::solve::problem::posed::OnMetric;
use crate::solve::route::{Engine, is_large, sweeps_first};
use crate::solve::run::Asked;
use crate::solve::sides::{Costs, Sides};
use crate::solve::single_problem::{SingleProblem, proved_bound};
use crate::solve::workspace::{Workspace, lend};

/// Computes certified lower and upper bounds of W₁ between two measures of equal mass on the points
/// of the metric: s² distances for s points on either side, some thirty passes over them, and up to
/// s/4 pivots, more for a small `tolerance`. For many points with coordinates, the first phases of
/// an auction, without a table.
pub(crate) fn interval(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
    tolerance: f64,
) -> Result<(f64, f64)> {
    let pair = OnMetric { metric, a: *a, b: *b };
    lend(|space| {
        space.sides.read(&pair, metric.is_metric());
        let (left, right) = (space.sides.left.len(), space.sides.right.len());
        let by_auction = is_large(metric, left, right) && !sweeps_first(metric, left, right);
        if by_auction {
            let aim = Aim::within(tolerance.min(0.1)).wanting(Wanted::Value);
            let deadline = Deadline::new(None, &silent);
            let asked = Asked { aim: &aim, device: None, deadline: &deadline };
            let Workspace { sides, table, .. } = &mut *space;
            let found = auction::answer(Costs::Metric(metric), sides, table, asked)?;
            if let Some(found) = found.filter(|found| found.is_done) {
                return Ok((found.answer.lower, found.answer.upper));
            }
        }
        let found = answer(&pair, space, (tolerance, false), &Deadline::new(None, &silent))?;
        Ok((found.lower, found.upper))
    })
}

/// Computes bounds by a few sweeps; with `with_plan` also the plan behind the upper bound and the
/// dual values behind the lower one. If the deadline passes, the sweeps so far give the bounds.
pub(in crate::solve) fn answer(
    pair: &OnMetric<'_>,
    space: &mut Workspace,
    (tolerance, with_plan): (f64, bool),
    deadline: &Deadline<'_>,
) -> Result<Answer> {
    let Workspace { sides, units, table, sweeps, .. } = space;
    if sides.is_empty() {
        return Ok(Answer::free(sides.shared_plan()));
    }
    let sweep = Sweep { pair, tolerance, with_plan, deadline };
    if pair.metric.is_metric() {
        return sweep.moving(sides, units, &mut table.float, &mut sweeps.moving);
    }
    sweep.all(sides, units, &mut table.float, sweeps)
}

/// Amount of work spent on bounds.
#[derive(Clone, Copy)]
struct Schedule {
    /// Initial ε as a share of the mean cost.
    epsilon: f64,
    /// Number of rounds, each at half the ε of the one before.
    rounds: usize,
    /// Number of sweeps in a round.
    sweeps: usize,
    /// Number of pivots per point.
    pivots: f64,
}

impl Schedule {
    /// Chooses the schedule by how far mass moves. If it moves as far as the points are apart, as
    /// in many dimensions, a few sweeps at one small ε are enough. If it moves to neighbors, ε has
    /// to fall to their distances, which are smaller among more points.
    ///
    /// Random points, upper/lower − 1 and the speedup over the exact solver: in the plane, 300 on
    /// each side, 4 rounds of 5 sweeps without pivots 0.10 and 3.6, of 8 sweeps 0.076 and 3.2, with
    /// pivots for a sixteenth of the points 0.055 and 3.0, for a quarter 0.035 and 2.5; 1,000 on
    /// each side, 5 rounds of 8 sweeps 0.119 and 4.0, 0.096 and 3.8, with pivots for an eighth
    /// 0.079 and 3.7. In R³⁰⁰, 300 on each side, 0.005 with and without pivots.
    ///
    /// For a tolerance below [`WIDE`], pivots cost less than the exact solves that they save.
    fn new(moves_far: bool, points: f64, tolerance: f64) -> Self {
        let pivots = |few: f64| if tolerance < WIDE { few.max(0.25) } else { few };
        match (moves_far, points < 500.0) {
            (true, _) => Self { epsilon: 0.025, rounds: 2, sweeps: 3, pivots: 0.0 },
            (false, true) => {
                Self { epsilon: 0.1, rounds: 4, sweeps: 7, pivots: pivots(1.0 / 16.0) }
            }
            (false, false) => {
                Self { epsilon: 0.1, rounds: 5, sweeps: 8, pivots: pivots(1.0 / 8.0) }
            }
        }
    }
}

/// Relative width that bounds seldom exceed where mass moves to neighbors.
const WIDE: f64 = 0.15;

/// Least ε in single precision, far below any relevant cost.
const LEAST_EPSILON: f32 = 1e-30;

/// Workspace of sweeps: problems in single precision.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct SweepMemory {
    /// Problem of the mass that moves.
    moving: SingleProblem,
    /// Problem of all mass, for costs with which shared mass may have to move.
    all: SingleProblem,
    /// Sides of the part of that problem whose mass moves.
    moving_sides: Sides,
}

impl SweepMemory {
    /// Checks whether the workspace is small enough for a thread to keep.
    pub(in crate::solve) fn is_small(&self) -> bool {
        self.moving.capacity() + self.all.capacity() <= MOST_KEPT
    }
}

/// Largest number of costs in the workspace that a thread keeps: 8 MiB with their kernel.
const MOST_KEPT: usize = 1 << 20;

/// Computation of the bounds of one problem by sweeps.
struct Sweep<'a> {
    pair: &'a OnMetric<'a>,
    tolerance: f64,
    with_plan: bool,
    deadline: &'a Deadline<'a>,
}

impl Sweep<'_> {
    /// Writes the costs between both sides; stops if it is cancelled or the deadline passes.
    fn fill(&self, sides: &Sides, out: &mut SingleProblem) -> Result<LoweredDistances> {
        let below = fill(self.pair.metric, sides, out)?;
        if self.deadline.report_proved(None) { Ok(below) } else { Err(Error::Canceled) }
    }

    /// Sweeps until the deadline, and returns the lower bound and the schedule.
    fn sweep(&self, sides: &Sides, problem: &mut SingleProblem) -> Result<(f64, Schedule)> {
        let found = sweep(sides, self.tolerance, problem, &|| self.deadline.report_proved(None));
        let goes_on = self.deadline.report_proved(None) || self.deadline.has_passed();
        if goes_on { Ok(found) } else { Err(Error::Canceled) }
    }

    /// Computes bounds where shared mass stays in place.
    fn moving(
        &self,
        sides: &Sides,
        units: &mut Units,
        simplex: &mut Simplex<f64>,
        moving: &mut SingleProblem,
    ) -> Result<Answer> {
        let below = self.fill(sides, moving)?;
        let (lower, schedule) = self.sweep(sides, moving)?;
        let mut answer = self.upper_bound(sides, units, simplex, &below, moving, schedule)?;
        answer.lower = lower * below.unit;
        if self.with_plan {
            let Sides { supply, demand, .. } = sides;
            if proved_bound((supply, &moving.u), (demand, &moving.v)) < lower {
                // The initial dual values give a higher bound than those of the sweeps.
                moving.u.fill(0.0);
                moving.bound_by_sources(supply, demand);
            }
            [answer.left, answer.right] = moving.duals([&sides.left, &sides.right], below.unit);
        }
        Ok(answer)
    }

    /// Computes bounds where shared mass may have to move: it stays in the plan alone.
    fn all(
        &self,
        whole: &Sides,
        units: &mut Units,
        simplex: &mut Simplex<f64>,
        memory: &mut SweepMemory,
    ) -> Result<Answer> {
        let SweepMemory { moving, all, moving_sides: sides } = memory;
        let below = self.fill(whole, all)?;
        sides.read(self.pair, true);
        if sides.is_empty() {
            // All mass can stay in place.
            return Ok(Answer::free(sides.shared_plan()));
        }
        let (rows, columns) =
            (places(&whole.left, &sides.left), places(&whole.right, &sides.right));
        gather(sides, [&rows, &columns], all, moving);
        let (_, schedule) = self.sweep(sides, moving)?;
        let lower = extend(whole, &columns, moving, all);
        let mut answer = self.upper_bound(sides, units, simplex, &below, moving, schedule)?;
        answer.lower = lower * below.unit;
        if self.with_plan {
            [answer.left, answer.right] = all.duals([&whole.left, &whole.right], below.unit);
        }
        Ok(answer)
    }

    /// Computes the upper bound: the cost of a plan on the arcs that the sweeps use.
    fn upper_bound(
        &self,
        sides: &Sides,
        units: &mut Units,
        simplex: &mut Simplex<f64>,
        below: &LoweredDistances,
        problem: &mut SingleProblem,
        schedule: Schedule,
    ) -> Result<Answer> {
        let (n, m) = (sides.left.len(), sides.right.len());
        units.set(&sides.supply, &sides.demand);
        let few = &mut simplex.few;
        few.clear();
        for i in 0..n {
            problem.for_each_used(i, |j, cost| few.push(j, f64::from(cost)));
            few.end_row();
        }
        let Units { supply, demand, .. } = &*units;
        let (cost, width) = problem.arcs();
        let all = SingleArcs { cost, width };
        let price = problem.v[..m].iter().map(|&v| -f64::from(v));
        let pivots = (schedule.pivots * (n + m) as f64) as usize;
        if !simplex.improve_on_few((supply, demand), price, &all, pivots)? {
            return Err(Error::Unsolved { left: n, right: m });
        }
        let mass = units.masses();
        let flows = simplex.flows.iter().map(|&(i, j, flow)| (i as usize, j as usize, mass(flow)));
        // Flows of the perturbation alone have no mass and no cost, whatever their arc.
        let moves = flows.filter(|flow| flow.2 > 0.0);
        let price = |(i, j, mass): (usize, usize, f64)| {
            let cost = all.cost(i, j);
            let high =
                if cost < f64::from(FAR) { below.above((i, j), cost) } else { f64::INFINITY };
            let is_known = high.is_finite();
            let distance = || self.pair.metric.distance(sides.left[i], sides.right[j]);
            mass * if is_known { high } else { distance() }
        };
        let upper = moves.clone().map(price).sum();
        let mut answer = Answer { upper, engine: Engine::Sweeps, ..Answer::default() };
        if self.with_plan {
            answer.plan = sides.plan_of(moves);
        }
        Ok(answer)
    }
}

/// Writes the costs between both sides, and masses as shares of their total.
fn fill(metric: &GroundMetric, sides: &Sides, out: &mut SingleProblem) -> Result<LoweredDistances> {
    let (n, m) = (sides.left.len(), sides.right.len());
    // Costs and a kernel, and a copy of the costs of the mass that moves.
    let bytes = memory::size_of::<[f32; 3]>(&[n, m]);
    let step = format_args!("bounds of transport between {n} and {m} points");
    memory::check(step, bytes, "take an estimate at the level `flow`")?;
    let total: f64 = sides.supply.iter().sum();
    out.begin(sides.demand.iter().map(|&mass| (mass / total) as f32));
    let supply = sides.supply.iter().map(|&mass| (mass / total) as f32);
    let (width, costs) = out.push_all(supply);
    Ok(metric.block_below(&sides.left, &sides.right, width, costs))
}

/// Writes the problem of the mass that moves. Its costs are the given rows and columns of the
/// problem of all mass.
fn gather(
    sides: &Sides,
    [rows, columns]: [&[usize]; 2],
    all: &SingleProblem,
    out: &mut SingleProblem,
) {
    let total: f64 = sides.supply.iter().sum();
    out.begin(sides.demand.iter().map(|&mass| (mass / total) as f32));
    let mut row = vec![0.0; columns.len()];
    for (&mass, &i) in sides.supply.iter().zip(rows) {
        let costs = all.costs(i);
        row.iter_mut().zip(columns).for_each(|(out, &j)| *out = costs[j]);
        out.push((mass / total) as f32, &row);
    }
}

/// Runs sweeps while `keep_going`; returns the lower bound and the schedule.
fn sweep(
    sides: &Sides,
    tolerance: f64,
    problem: &mut SingleProblem,
    keep_going: &dyn Fn() -> bool,
) -> (f64, Schedule) {
    let Sides { supply, demand, .. } = sides;
    let at_first = problem.bound_by_sources(supply, demand);
    let mean = problem.mean_cost();
    let total: f64 = supply.iter().sum();
    let points = (supply.len() as f64 * demand.len() as f64).sqrt();
    let schedule = Schedule::new(at_first >= 0.5 * mean * total, points, tolerance);
    // If all costs are 0, any ε works.
    let epsilon = if mean > 0.0 { schedule.epsilon * mean } else { 1.0 };
    let epsilon = (epsilon as f32).max(LEAST_EPSILON);
    problem.sweep(epsilon, (schedule.rounds, schedule.sweeps), keep_going);
    problem.lower_small_sources();
    (problem.bound_by_sources(supply, demand).max(at_first).max(0.0), schedule)
}

/// Returns the positions of the given points among the others; both lists increase.
fn places(among: &[usize], some: &[usize]) -> Vec<usize> {
    some.iter().filter_map(|point| among.binary_search(point).ok()).collect()
}

/// Extends the dual values of the mass that moves to all mass, and returns their lower bound. The
/// targets of the mass that moves are `columns` of all targets.
fn extend(
    whole: &Sides,
    columns: &[usize],
    moving: &SingleProblem,
    all: &mut SingleProblem,
) -> f64 {
    all.v.fill(f32::NEG_INFINITY);
    for (&j, &v) in columns.iter().zip(&moving.v) {
        all.v[j] = v;
    }
    all.set_sources();
    all.bound_by_sources(&whole.supply, &whole.demand).max(0.0)
}

#[cfg(test)]
mod tests;
