//! Large problems without a table of costs: a growing set of candidate arcs, and a certificate over
//! all pairs.
//!
//! An optimal plan uses fewer than n + m of the n·m arcs. An auction ([`bidding`]) over all pairs
//! finds prices and a plan that are optimal up to an ε, from coarse to fine ([`levels`],
//! [`phases`]). Its candidate lists and its plan are the initial arcs of the network simplex, and
//! the plan, extended to a spanning tree, is the initial basis ([`basis`], [`finish`]). Then all
//! pairs are priced again ([`costs`](crate::solve::costs)): every arc with a negative reduced cost
//! enters the running problem, until there is none. Both bounds are known after every step
//! ([`bounds`]), so a tolerance or a time limit needs no extra work.
//!
//! Where all masses are equal and costs are lengths, every mass moves as a whole, and a basis would
//! have as many arcs without flow as with it. Shortest augmenting paths ([`augment`]) replace the
//! simplex there. Their prices only rise, so most sources need not scan all sinks again for the
//! certificate.
//!
//! # Complexity
//! O(n + m) memory: [`BYTES`] per point, besides its costs. An ε takes a few scans of all sinks for
//! every source: O(d m) each where there are many coordinates, far less in the plane. The simplex
//! begins within [`phases::SIMPLEX_BEGINS`] of the optimum; a pivot takes O(cycle + smaller side).
//!
//! # What was tried
//! Figures are for 5,000 points per side, unless stated otherwise.
//! - *Beginning the simplex earlier or later*: at an ε of 1 % of the mean cost twice as many pivots
//!   and up to 25 rounds where one side is shifted, at 0.05 % half as many pivots and as much time.
//! - *The auction's plan unchanged, with one flow inserted after the other*, instead of without its
//!   cycles: 2 % above the original cost, where masses differ.
//! - *Fused multiply-add* in the scans: no time saved.
//!
//! Equal masses, processor time of one thread on a busy machine:
//! - *Paths for costs that are not lengths*, too, at 1,600 points per side: two thirds to three
//!   quarters of the time uniform with squares, up to 1.7 times as much where one side is shifted
//!   with Manhattan and Chebyshev costs, and uniform with cosines: many sinks are equally good to
//!   the last digit, and an ε as low as paths need takes many scans.
//! - *The simplex as the last step*, here too: 200 to 630 ms where one side is shifted, 24,000 to
//!   67,000 pivots, at any ε from 0.2 % to 0.001 % of the mean cost, because most pivots determine
//!   dual values of arcs without flow. Paths take 580 ms at 0.2 %, 120 ms at 0.01 % and 70 ms at
//!   0.002 %. For uniform points paths take as much time as the simplex; for clusters, 15 ms
//!   instead of 75.
//! - *Paths for masses that differ*: 0.7 s for uniform points, 1.9 s for clusters, more than 3 s
//!   where one side is shifted: far more than the simplex. Of the two arcs of a source that have
//!   flow one is of least cost + price, and the mass on the other arc splits.
//! - *More mass left unplaced* (1 % instead of 0.1 %) before the last ε: half the scans, and then
//!   hundreds to thousands of bids per source for the rest, because prices then rise as far in
//!   small steps as before in large ones.
//! - *No mass left unplaced at any ε*: paths in a tenth to a half of the time, and hardly any
//!   second scans except where one side is shifted; 15 to 30 % more scans.

mod augment;
mod basis;
mod bidding;
mod bounds;
mod finish;
#[cfg(test)]
mod integer_tests;
mod levels;
mod phases;
mod spares;
#[cfg(test)]
mod tests;

use super::integer_mass::Units;
use super::simplex::Simplex;
use super::table::Table;
use super::{Certified, KeepGoing};
use crate::error::{Error, Result};
use crate::memory;
use crate::metric::GroundMetric;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::costs::{self, CostSource, OrderedCosts, SpareCosts};
use crate::solve::route::Engine;
use crate::solve::run::{Asked, Found};
use crate::solve::sides::{Costs, Sides};

/// Checks whether the auction supports the costs of a metric.
pub(in crate::solve) fn supports(metric: &GroundMetric) -> bool {
    costs::is_supported(metric)
}

/// Checks whether a device supports the costs of a metric.
pub(in crate::solve) fn supports_on_device(metric: &GroundMetric) -> bool {
    costs::is_known_to_devices(metric)
}

/// Checks whether points are in so few dimensions that bounding boxes rule out most of them.
pub(in crate::solve) fn has_boxes(metric: &GroundMetric) -> bool {
    costs::has_boxes(metric)
}

/// Estimates the bytes of a problem between this many points.
pub(in crate::solve) fn bytes(metric: &GroundMetric, left: usize, right: usize) -> u64 {
    bytes_of(Costs::Metric(metric), left, right)
}

fn bytes_of(costs: Costs<'_>, left: usize, right: usize) -> u64 {
    let of_points = memory::size_of::<u8>(&[left.saturating_add(right), BYTES]);
    of_points.saturating_add(costs::bytes(costs, left, right))
}

/// Solves a balanced problem until the aim is reached; `None` where single precision cannot
/// distinguish costs.
///
/// # Errors
/// Those of [`solve`].
pub(in crate::solve) fn answer(
    costs: Costs<'_>,
    sides: &Sides,
    table: &mut Table,
    asked: Asked<'_>,
) -> Result<Option<Found>> {
    let Asked { aim, .. } = asked;
    let masses = [&sides.supply[..], &sides.demand];
    let Some(best) = solve(costs, sides, masses, None, table, asked)? else { return Ok(None) };
    let is_done = best.reaches(aim.width());
    let mut answer = match best.certified {
        Some(proof) => Answer::certified(proof.value, proof.gap, Engine::Auction),
        None if !aim.accepts_bounds() => return Ok(None),
        None => Answer { lower: best.lower, upper: best.upper, ..Answer::default() },
    };
    (answer.engine, answer.pivots) = (Engine::Auction, best.pivots);
    if aim.wanted > Wanted::Value {
        answer.plan = sides.plan_of(best.moves);
        // Empty without a lower bound.
        [answer.left, answer.right] = sides.duals_of(best.left, best.right);
    }
    Ok(Some(Found { answer, is_done }))
}

/// Finds the best bounds for some masses of the sides, with or without spares, until the aim is
/// reached; `None` where single precision cannot distinguish costs.
///
/// # Errors
/// No memory; an entry of a matrix that is negative or not finite; `Canceled`.
pub(in crate::solve) fn solve(
    costs: Costs<'_>,
    sides: &Sides,
    masses: [&[f64]; 2],
    spares: Option<&SpareCosts>,
    table: &mut Table,
    asked: Asked<'_>,
) -> Result<Option<Best>> {
    let Asked { aim, device, deadline } = asked;
    let keep_going = |proved| deadline.report_proved(proved);
    let (n, m) = (sides.left.len(), sides.right.len());
    let step = format_args!("transport between {n} and {m} points");
    memory::check(step, bytes_of(costs, n, m), "give fewer points, or take a sample")?;
    let Some(laid_out) = costs::cost_source(costs, sides, device, &keep_going)? else {
        return Ok(None);
    };
    let laid_out = match spares {
        Some(spares) => laid_out.with_spares(spares),
        None => laid_out,
    };
    let goal = Goal {
        width: aim.width(),
        keep_going: &keep_going,
        keeps_bounds: deadline.is_limited(),
        has_passed: &|| deadline.has_passed(),
    };
    AuctionProblem::new(laid_out, masses).solve(&mut table.float, &goal).map(Some)
}

/// Balanced problem laid out for the auction.
struct AuctionProblem<'a> {
    costs: Box<dyn CostSource + 'a>,
    /// Indices of sources and sinks in the sides.
    places: [Vec<u32>; 2],
    masses: [Vec<f64>; 2],
    /// Integer masses with equal totals.
    whole: [Vec<u64>; 2],
    /// Number of sources or sinks up to which there is no coarser level.
    coarsest: usize,
}

/// Requirements for an answer.
#[derive(Clone, Copy)]
struct Goal<'a> {
    /// Relative width of the bounds; 0 for a certified optimum.
    width: f64,
    keep_going: &'a KeepGoing<'a>,
    /// Whether bounds are computed from the beginning, because work may be canceled at any time.
    keeps_bounds: bool,
    /// Callback that returns whether the deadline has passed, so that the best bounds so far
    /// suffice when work is canceled.
    has_passed: &'a dyn Fn() -> bool,
}

/// Best bounds so far, with the plan and the dual values behind them by index in the sides.
#[derive(Default)]
pub(in crate::solve) struct Best {
    lower: f64,
    upper: f64,
    pub(in crate::solve) moves: Vec<(usize, usize, f64)>,
    /// Dual values of the sources for the lower bound; empty where there is none.
    pub(in crate::solve) left: Vec<f64>,
    /// Dual values of the sinks.
    pub(in crate::solve) right: Vec<f64>,
    /// Last value with its gap, if it is certified.
    pub(in crate::solve) certified: Option<Certified>,
    pub(in crate::solve) pivots: usize,
    /// Upper bound of the cost of restoring the original masses from integer quanta.
    settling: f64,
}

/// Binary logarithm of the upper bound of the integer total of a side.
const MASS_BITS: i32 = 50;

/// Bytes per point: its candidate list, its arcs in the simplex, its place in the basis.
const BYTES: usize = 4096;

impl<'a> AuctionProblem<'a> {
    /// Creates the problem of masses in the order of the sides, the spare ones last.
    fn new(laid_out: OrderedCosts<'a>, of_side: [&[f64]; 2]) -> Self {
        let OrderedCosts { costs, places } = laid_out;
        let masses = [0, 1].map(|side: usize| -> Vec<f64> {
            places[side].iter().map(|&place| of_side[side][place as usize]).collect()
        });
        let whole = integer_masses([&masses[0], &masses[1]]);
        Self { costs, places, masses, whole, coarsest: levels::COARSEST }
    }

    fn cost(&self, i: usize, j: usize) -> f64 {
        self.costs.cost(i, j)
    }

    /// Returns an arc with its cost.
    fn with_cost(&self, (i, j): (u32, u32)) -> (u32, u32, f64) {
        (i, j, self.cost(i as usize, j as usize))
    }

    /// Returns the value of a cost of 1 in single precision.
    fn unit(&self) -> f64 {
        self.costs.precision().unit
    }

    /// Solves until the goal is reached. An uncertified result has no [`Best::certified`].
    ///
    /// # Errors
    /// `Canceled`, if work is canceled and the best bounds so far do not suffice.
    fn solve(&self, simplex: &mut Simplex<f64>, goal: &Goal<'_>) -> Result<Best> {
        let mut best = Best { upper: f64::INFINITY, ..Best::default() };
        match self.improve(simplex, goal, &mut best) {
            Err(Error::Canceled) if (goal.has_passed)() && best.upper.is_finite() => Ok(best),
            done => done.map(|()| best),
        }
    }

    fn improve(&self, simplex: &mut Simplex<f64>, goal: &Goal<'_>, best: &mut Best) -> Result<()> {
        let mut units = Units::default();
        units.quantize_balanced(&self.masses[0], &self.masses[1]);
        best.settling = self.settling(&units);
        if goal.keeps_bounds {
            // A plan in the order of the indices, where neighbors follow each other.
            let masses = [units.supply.clone(), units.demand.clone()];
            let flows = basis::settle(masses, std::iter::empty(), std::iter::empty());
            self.offer_plan(&flows, &units.quantum(), best);
        }
        let is_assignment = self.costs.are_lengths() && is_assignment(&units);
        let Some(start) = self.phases(&units, is_assignment, goal, best)? else { return Ok(()) };
        if is_assignment && self.augment(&units, &start, goal, best)? {
            return Ok(());
        }
        self.pivot((simplex, &mut units), start, goal, best)
    }
}

impl Best {
    /// Checks whether the bounds are close enough or certified.
    fn reaches(&self, width: f64) -> bool {
        self.certified.is_some() || self.is_within(width)
    }

    fn is_within(&self, width: f64) -> bool {
        width > 0.0 && self.upper.is_finite() && self.upper - self.lower <= width * self.lower
    }

    /// Returns the lower bound as a share of the upper one.
    fn share(&self) -> f64 {
        if self.upper > 0.0 { self.lower / self.upper } else { 1.0 }
    }
}

/// Checks whether all masses are equal, so that some optimal plan moves each of them as a whole.
fn is_assignment(units: &Units) -> bool {
    let first = units.supply.first();
    units.supply.iter().chain(&units.demand).all(|mass| Some(mass) == first)
}

/// Converts masses to integers with equal totals; negligible masses become 0.
fn integer_masses(masses: [&[f64]; 2]) -> [Vec<u64>; 2] {
    let unit = 2f64.powi(MASS_BITS);
    let mut whole = masses.map(|side| -> Vec<u64> {
        let total: f64 = side.iter().sum();
        side.iter().map(|mass| (mass / total * unit) as u64).collect()
    });
    let [supply, demand] = [0, 1].map(|side: usize| whole[side].iter().sum::<u64>());
    let short = usize::from(demand < supply);
    if let Some(largest) = whole[short].iter_mut().max() {
        *largest += supply.abs_diff(demand);
    }
    whole
}
