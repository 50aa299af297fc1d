//! Bounds of a problem within an accuracy or a time, with the plan behind the upper one.
//!
//! Where measures live on a ground metric, a few sweeps come first: a fraction of the exact solver's
//! time. If their bounds are not close enough, the exact solver runs until it is done or the time is
//! up. On a graph its simplex knows both bounds all the time; between many points with coordinates an
//! auction does, and then the simplex. Where nothing better is known when the
//! time is up, the bounds are 0 and what the first plan that comes to hand costs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::exact::line::Line;
use super::exact::{self, Solution, choice, components, relaxed};
use super::matrix::SideMasses;
use super::penalty::Relaxation;
use super::problem::{
    Duals, OnMetric, Posed, Potentials, Problem, QUICK_ARCS, arcs, how_far, solve_posed,
};
use crate::accuracy::{Accuracy, Question};
use crate::error::{Error, Result};
use crate::progress::{Progress, State};
use crate::steps::SOLVING;
use crate::tree::Coupling;

/// How good bounds have to be: work ends with the first of the two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The bounds are at most this share of the upper one apart, or those of the exact solution.
    pub accuracy: Accuracy,
    /// How long it may take, where that is limited. The first sweeps are not interrupted: about forty
    /// passes over all costs.
    pub time: Option<Duration>,
}

impl Default for Target {
    /// The exact solution, however long it takes.
    fn default() -> Self {
        Self { accuracy: Accuracy::EXACT, time: None }
    }
}

impl Target {
    /// The relative width that is asked for; 0 for the exact solution.
    pub(super) fn share(&self) -> f64 {
        if let Accuracy::Within(error) = self.accuracy { error.max(0.0) } else { 0.0 }
    }

    /// The largest relative width of the bounds.
    pub(super) fn width(&self) -> Result<f64> {
        self.accuracy.check_for(Question::Problem)?;
        Ok(self.share())
    }
}

/// What is known of the value of a problem, both bounds to [`Solution::TOLERANCE`] and for masses as
/// [they are settled](crate::solve).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bounds {
    /// No plan costs less.
    pub lower: f64,
    /// What the plan costs at most, penalties included.
    pub upper: f64,
    /// The plan behind the upper bound.
    pub plan: Coupling,
    /// Dual values behind the lower bound, of points that lose mass, as in [`Solution`]; none where nothing
    /// is known but that costs are not negative.
    pub left: Vec<(usize, f64)>,
    /// Those of points that gain mass.
    pub right: Vec<(usize, f64)>,
}

impl Bounds {
    /// Bounds and a plan, without dual values yet.
    pub(super) fn of_plan(lower: f64, upper: f64, plan: Coupling) -> Self {
        Self { lower, upper, plan, left: Vec::new(), right: Vec::new() }
    }

    /// The same with dual values.
    pub(super) fn proved_by(self, [left, right]: [Duals; 2]) -> Self {
        Self { left, right, ..self }
    }

    fn is_within(&self, width: f64) -> bool {
        self.upper.is_finite() && self.upper - self.lower <= width * self.upper
    }
}

impl Problem<'_> {
    /// Certified bounds that are close enough, or as close as time allows. It does not use trees.
    ///
    /// # Errors
    /// As [`value`](Self::value); an accuracy that is neither `exact` nor a number of at least 0. That
    /// the time is up is none.
    ///
    /// # Example
    /// ```
    /// use treeport::{Accuracy, GroundMetric, Measures, Problem, Target, silent};
    /// let metric = GroundMetric::from_edges(3, &[(0, 1, 2.0), (1, 2, 0.5)])?;
    /// let measures = Measures::unit_masses(3, [0, 2])?;
    /// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    /// let bounds = problem.within(Target { accuracy: Accuracy::Within(0.1), time: None }, &silent)?;
    /// assert!(bounds.lower <= 2.5 && bounds.upper >= 2.5);
    /// assert!(bounds.upper - bounds.lower <= 0.1 * bounds.upper);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn within(&self, target: Target, progress: &Progress<'_>) -> Result<Bounds> {
        let width = target.width()?;
        let clock = Clock::new(target.time, progress);
        let found = bounds(&self.posed()?, self.relax(), width, &clock);
        let mut bounds = found.map_err(|error| self.explained(error))?;
        let Bounds { plan, left, right, .. } = &mut bounds;
        self.rename_moves(plan, [left, right]);
        Ok(bounds)
    }

    /// As [`within`](Self::within), with dual values of all points that prove the lower bound to anybody.
    ///
    /// `left[i] + right[j]` is at most the cost from i to j for all points, with or without mass, and none is
    /// above a penalty. Σ a·left + Σ b·right is the lower bound, up to rounding: 10⁻¹² of all mass times the
    /// largest of the dual values. (Totals that differ by more than rounding are brought to that of the first
    /// measure before, as for every value.) Dual values of all points may prove more than those of some did;
    /// the bound is raised to that.
    ///
    /// # Errors
    /// As [`within`](Self::within) and [`potentials`](Self::potentials).
    ///
    /// # Complexity
    /// That of [`potentials`](Self::potentials) comes on top, and is not part of a limited time.
    ///
    /// # Example
    /// ```
    /// use treeport::{Accuracy, GroundMetric, Measures, PointMetric, Problem, Target, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5])?;
    /// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    /// let target = Target { accuracy: Accuracy::Within(0.1), time: None };
    /// let (bounds, proof) = problem.within_with_potentials(target, &silent)?;
    /// let (u, v) = (proof.left, proof.right);
    /// assert!((0.5 * (u[0] + u[1]) + 0.5 * (v[1] + v[2]) - bounds.lower).abs() <= 1e-12);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn within_with_potentials(
        &self,
        target: Target,
        progress: &Progress<'_>,
    ) -> Result<(Bounds, Potentials)> {
        self.check_potentials()?;
        self.with_potentials(self.within(target, progress)?)
    }

    /// Dual values of all points that prove a lower bound, which may be raised.
    #[doc(hidden)]
    pub fn with_potentials(&self, mut bounds: Bounds) -> Result<(Bounds, Potentials)> {
        self.check_potentials()?;
        let proof = Solution {
            value: bounds.upper,
            plan: bounds.plan.clone(),
            left: bounds.left.clone(),
            right: bounds.right.clone(),
            gap: bounds.upper - bounds.lower,
            pivots: 0,
            integers: false,
        };
        let potentials = self.potentials(&proof)?;
        let proved = self.proved_by(&potentials).min(bounds.upper);
        bounds.lower = bounds.lower.max(proved);
        Ok((bounds, potentials))
    }
}

/// Tells work to stop when its time is up, or when its user says so.
pub(super) struct Clock<'a> {
    end: Option<Instant>,
    progress: &'a Progress<'a>,
    is_cancelled: AtomicBool,
}

impl<'a> Clock<'a> {
    pub(super) fn new(time: Option<Duration>, progress: &'a Progress<'a>) -> Self {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        Self { end, progress, is_cancelled: AtomicBool::new(false) }
    }

    /// Whether the work goes on, as [`Progress`] is asked.
    pub(super) fn hears(&self, state: &State<'_>) -> bool {
        if !(self.progress)(state) {
            self.is_cancelled.store(true, Ordering::Relaxed);
            return false;
        }
        self.end.is_none_or(|end| Instant::now() < end)
    }

    /// Whether there is an end to the time.
    pub(super) fn is_limited(&self) -> bool {
        self.end.is_some()
    }

    /// Whether work was stopped because its time is up.
    pub(super) fn is_up(&self) -> bool {
        !self.is_cancelled.load(Ordering::Relaxed)
            && self.end.is_some_and(|end| Instant::now() >= end)
    }
}

fn bounds(
    posed: &Posed<'_>,
    relax: Relaxation<'_>,
    width: f64,
    clock: &Clock<'_>,
) -> Result<Bounds> {
    check(posed, relax)?;
    let mut first = None;
    match (posed, relax) {
        (Posed::Components(pair), _) => {
            let mut whole = Bounds::of_plan(0.0, 0.0, Coupling::default());
            components::each(pair, relax, |component, part| {
                let part = match part {
                    components::Part::LeftBehind(solution) => solution.into(),
                    components::Part::Pair(measures, local) => {
                        let (a, b) = (measures.row(0), measures.row(1));
                        let pair = OnMetric { metric: pair.ground.metric(component), a, b };
                        bounds(&Posed::Metric(pair), local.relaxation(relax), width, clock)?
                    }
                };
                whole.lower += part.lower;
                whole.upper += part.upper;
                let name = |point| pair.ground.node(component, point);
                for (from, to, mass) in part.plan.iter() {
                    whole.plan.push(name(from) as u32, name(to) as u32, mass);
                }
                let named = |(point, value): (usize, f64)| (name(point), value);
                whole.left.extend(part.left.into_iter().map(named));
                whole.right.extend(part.right.into_iter().map(named));
                Ok(())
            })?;
            return Ok(whole);
        }
        (Posed::Metric(pair), Relaxation::Balanced) => {
            let (left, right) = (pair.a.support().len(), pair.b.support().len());
            let network = if clock.is_limited() {
                // The simplex on the edges has bounds at any time.
                pair.metric.network()
            } else {
                choice::network_if_faster(pair.metric, left, right)
            };
            if let Some(network) = network {
                return exact::edges::bounds(pair, network, width, clock);
            }
            let is_line = Line::of(pair.metric).is_some();
            let sweeps_help = !is_line && (width > 0.0 || clock.is_limited());
            let is_large = arcs(&pair.a, &pair.b) > QUICK_ARCS;
            if sweeps_help && is_large && exact::sweeps_come_first(pair) {
                let swept = exact::interval_and_plan(pair, width)?;
                if swept.is_within(width) {
                    return Ok(swept);
                }
                first = Some(swept);
            }
            if !is_line {
                match exact::bounds_by_auction(pair, width, clock, None) {
                    Err(Error::Cancelled) if clock.is_up() => {
                        return first.map_or_else(|| first_plan(posed, relax), Ok);
                    }
                    Err(error) => return Err(error),
                    Ok(Some((found, is_close))) if is_close || clock.is_up() => return Ok(found),
                    Ok(Some((found, _))) => {
                        let goes_on = |proved| clock.hears(&how_far(proved));
                        let solved = exact::solve_by_table(pair, &goes_on);
                        return match solved {
                            Err(Error::Cancelled) if clock.is_up() => Ok(found),
                            // What is known is worth more than a refusal where time is all that was asked for.
                            Err(Error::Memory { .. }) if clock.is_limited() => Ok(found),
                            solution => solution.map(Bounds::from),
                        };
                    }
                    Ok(None) => {}
                }
            }
        }
        (Posed::Matrix(matrix), Relaxation::Balanced) => {
            match exact::matrix_bounds_by_auction(matrix, width, clock) {
                Err(Error::Cancelled) if clock.is_up() => return first_plan(posed, relax),
                Err(error) => return Err(error),
                Ok(Some((found, is_close))) if is_close || clock.is_up() => return Ok(found),
                Ok(found) => first = found.map(|(found, _)| found),
            }
        }
        (Posed::Metric(_) | Posed::Matrix(_), _) => {}
    }
    // A small problem would be solved before it asks for the first time.
    let begins = clock.hears(&State::new(SOLVING, 0, None));
    let solved = if begins {
        solve_posed(posed, relax, &|state| clock.hears(state))
    } else {
        Err(Error::Cancelled)
    };
    match solved {
        Err(Error::Cancelled) if clock.is_up() => {
            first.map_or_else(|| first_plan(posed, relax), Ok)
        }
        solution => solution.map(Bounds::from),
    }
}

impl From<Solution> for Bounds {
    fn from(solution: Solution) -> Self {
        let lower = (solution.value - solution.gap).max(0.0);
        let Solution { value: upper, plan, left, right, .. } = solution;
        Self { lower, upper, plan, left, right }
    }
}

/// Refuses what the solver would refuse, whether or not there is time to ask it: masses, shapes and
/// what may be left behind. Costs are looked at where they are read.
fn check(posed: &Posed<'_>, relax: Relaxation<'_>) -> Result<()> {
    let (given, taken) = match posed {
        // Checked component by component.
        Posed::Components(_) => return Ok(()),
        Posed::Metric(pair) => (pair.a.total(), pair.b.total()),
        Posed::Matrix(matrix) => {
            let [mut left, mut right] = [vec![], vec![]];
            let [mut supply, mut demand] = [vec![], vec![]];
            let rows = SideMasses { places: &mut left, masses: &mut supply };
            let columns = SideMasses { places: &mut right, masses: &mut demand };
            matrix.read_masses(relax, [rows, columns])?.into()
        }
    };
    relaxed::checked(relax, given, taken).map(drop)
}

/// The bounds of whoever has no time: mass goes to the first that take it. With a penalty none is
/// moved.
pub(super) fn first_plan(posed: &Posed<'_>, relax: Relaxation<'_>) -> Result<Bounds> {
    let (mut left, mut supply, mut right, mut demand) = (vec![], vec![], vec![], vec![]);
    match posed {
        Posed::Metric(OnMetric { a, b, .. }) => {
            (left, supply) = a.iter().unzip();
            (right, demand) = b.iter().unzip();
        }
        Posed::Matrix(matrix) => {
            let rows = SideMasses { places: &mut left, masses: &mut supply };
            let columns = SideMasses { places: &mut right, masses: &mut demand };
            matrix.read_masses(relax, [rows, columns])?;
        }
        Posed::Components(_) => {}
    }
    let cost = |i: usize, j: usize| match posed {
        Posed::Metric(pair) => pair.metric.distance(i, j),
        Posed::Matrix(matrix) => matrix.costs.entry(i, j),
        Posed::Components(_) => 0.0,
    };
    let totals = (supply.iter().sum(), demand.iter().sum());
    let (mut upper, mut to_move) = match relax {
        Relaxation::Balanced => {
            let factor = exact::rescaling(totals.0, totals.1);
            for mass in &mut demand {
                *mass *= factor;
            }
            (0.0, f64::INFINITY)
        }
        Relaxation::Mass(mass) => (0.0, mass),
        Relaxation::Penalty(penalty) => {
            let paid = |side: usize, places: &[usize], masses: &[f64]| -> f64 {
                places.iter().zip(masses).map(|(&at, mass)| penalty.at(side, at) * mass).sum()
            };
            (paid(0, &left, &supply) + paid(1, &right, &demand), 0.0)
        }
    };
    let (mut i, mut j, mut plan) = (0, 0, Coupling::default());
    while i < left.len() && j < right.len() && to_move > 0.0 {
        let mass = supply[i].min(demand[j]).min(to_move);
        if mass > 0.0 {
            plan.push(left[i] as u32, right[j] as u32, mass);
            let cost = cost(left[i], right[j]);
            if !(0.0..f64::INFINITY).contains(&cost) {
                return Err(Error::BadDistance { from: left[i], to: right[j], value: cost });
            }
            upper += mass * cost;
        }
        supply[i] -= mass;
        demand[j] -= mass;
        to_move -= mass;
        (i, j) = (i + usize::from(supply[i] <= 0.0), j + usize::from(demand[j] <= 0.0));
    }
    Ok(Bounds::of_plan(0.0, upper, plan))
}
