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
use super::problem::{OnMetric, Posed, Problem, QUICK_ARCS, arcs, how_far, solve_posed};
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
    /// The largest relative width of the bounds.
    pub(super) fn width(&self) -> Result<f64> {
        self.accuracy.check_for(Question::Problem)?;
        Ok(if let Accuracy::Within(error) = self.accuracy { error } else { 0.0 })
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
}

impl Bounds {
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
        self.rename_moves(&mut bounds.plan, [&mut Vec::new(), &mut Vec::new()]);
        Ok(bounds)
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
            let mut whole = Bounds { lower: 0.0, upper: 0.0, plan: Coupling::default() };
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
                for (from, to, mass) in part.plan.iter() {
                    let name = |point| pair.ground.node(component, point) as u32;
                    whole.plan.push(name(from), name(to), mass);
                }
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
        Self { lower, upper: solution.value, plan: solution.plan }
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
    Ok(Bounds { lower: 0.0, upper, plan })
}
