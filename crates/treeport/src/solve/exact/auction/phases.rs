//! Auctions with decreasing ε, until bounds are close enough or the last step begins.

use rayon::prelude::*;

use super::basis::{self, BasisForest, Flow};
use super::bidding::{Auction, Share};
use super::levels::{self, Descent, FALL, Level};
use super::{AuctionProblem, Best, Goal};
use crate::error::{Error, Result};
use crate::solve::costs::CLOSED;
use crate::solve::exact::KeepGoing;
use crate::solve::exact::integer_mass::Units;
use crate::tools::parallel;

use super::augment::Augment;

/// Initial state of the last step.
pub(super) struct Start {
    /// Plan without cycles.
    pub(super) flows: Vec<Flow>,
    /// Arcs that are likely to be in the optimal plan.
    pub(super) arcs: Vec<(u32, u32)>,
    /// Prices of the sinks.
    pub(super) prices: Vec<f64>,
    /// Lower bounds of cost + price, in multiples of the unit of the costs, of the sinks that are
    /// not on the list of a source.
    pub(super) others: Vec<f32>,
    /// Largest absolute price so far: prices rise, and the first ones may be negative.
    pub(super) largest: f64,
    /// Last ε of every source.
    pub(super) epsilons: Vec<f64>,
}

/// Plan with integer masses, and prices in double precision.
struct Placed {
    plan: Vec<Share>,
    prices: Vec<f64>,
}

/// Ratio to the ε that the bounds need up to which an ε is small enough.
const NEARLY: f64 = 1.01;

/// Ratio of ε to the allowed gap per unit of mass at which bounds are likely to be close enough,
/// used until the first bounds are known.
const LIKELY: f64 = 2.2;

/// Share of the allowed gap for the lower bound; the rest is for the excess cost of the plan. The
/// deficit of the lower bound is about proportional to ε.
const BY_PRICES: f64 = 0.75;

/// Ratio of ε to the likely one from which on bounds are computed: they determine the ε they need.
/// From eight times it on a million points in R⁵⁰ took one more computation, and were as far apart
/// in the end.
const EARLY: f64 = 2.0;

/// Ratio of ε to the cost of the plan per unit of mass at which the simplex begins.
pub(super) const SIMPLEX_BEGINS: f64 = 2e-3;

/// Ratio at which shortest paths begin, where all masses are equal: at 2e-3 they take three to five
/// times as long where one side is shifted, and as long where it is not.
const PATHS_BEGIN: f64 = 2e-4;

/// Ratio of ε to [`SIMPLEX_BEGINS`] or [`PATHS_BEGIN`] of the cost of neighboring mass up to which
/// prices there are close enough. Without a mixture of scales all are.
const MIXED: f64 = 8.0;

/// Share of all mass that an auction may leave unplaced.
pub(super) const UNPLACED: f64 = 1e-3;

/// Returns the next ε: the product with [`FALL`], or the ε that bounds need if it lies between. The
/// result is always less than `epsilon`: the ε that bounds need may be rounded up, and would
/// otherwise be returned again and again.
pub(super) fn next_epsilon(epsilon: f32, wanted: f64) -> f32 {
    let next = epsilon * FALL;
    let is_passed = f64::from(next) < wanted && NEARLY * wanted < f64::from(epsilon);
    if is_passed { wanted as f32 } else { next }
}

impl AuctionProblem<'_> {
    /// Runs auctions until the goal is reached, which returns `None`, or the last step begins.
    pub(super) fn phases(
        &self,
        units: &Units,
        is_assignment: bool,
        goal: &Goal<'_>,
        best: &mut Best,
    ) -> Result<Option<Start>> {
        let keep_going = || (goal.keep_going)(None);
        let (costs, unit) = (&*self.costs, self.unit());
        let finest = costs.precision().finest();
        let level = Level { costs, masses: self.whole.each_ref().map(|side| &side[..]) };
        // If work may be canceled at any time, the first bounds have to come soon.
        let is_for_bounds = goal.width > 0.0 || goal.keeps_bounds;
        let begins = if is_assignment { PATHS_BEGIN } else { SIMPLEX_BEGINS };
        let descent = Descent {
            coarsest: self.coarsest,
            begins: begins as f32,
            is_for_bounds,
            needed: (LIKELY * goal.width) as f32,
            keep_going: &keep_going,
        };
        let opening = level.opening(&descent);
        let first_largest = largest(&self.in_full(&opening.prices.of));
        let mut epsilon = opening.epsilon;
        let mut auction = Auction::new(level, opening);
        if goal.keeps_bounds {
            self.offer_prices(&self.in_full(&auction.prices.of), &keep_going, best)?;
        }
        let mut seen = None;
        loop {
            let is_done = auction.run(epsilon, UNPLACED, &keep_going);
            if !is_done && !keep_going() {
                return Err(Error::Canceled);
            }
            let plan: Vec<_> = auction.plan().collect();
            let mean = f64::from(levels::mean_way(costs, plan.iter().copied()));
            let likely = LIKELY * goal.width * mean;
            // Current estimate of the largest ε for which bounds are close enough.
            let mut close = seen.unwrap_or(likely);
            let may_do = goal.keeps_bounds || f64::from(epsilon) <= EARLY * close;
            let is_fine =
                f64::from(epsilon) <= begins * mean && auction.is_fine((MIXED * begins) as f32);
            let is_last = !is_done || is_fine || epsilon <= finest || !auction.is_open(epsilon);
            if is_last || may_do {
                let arcs = if is_assignment { auction.lists() } else { auction.arcs() };
                let prices = self.in_full(&auction.prices.of);
                let mut flows = self.settled(units, plan.clone(), &arcs);
                let placed = mean * unit * self.masses[0].iter().sum::<f64>();
                let dear = self.offer_plan(&flows, &units.quantum(), best) - placed;
                // The unplaced mass takes up most of the allowed gap. Then the cost of the placed
                // mass does not estimate that of a plan, and prices give no useful bound before the
                // plan is complete.
                let is_torn = dear > 0.5 * goal.width * placed;
                // Masses that differ split on paths: lower ε and the simplex take less time, at
                // 20,000 against 16,000 points in R³ a fifth of it.
                let completes = |close: f64| is_assignment && f64::from(epsilon) <= NEARLY * close;
                if may_do && !(is_torn && completes(close)) {
                    self.offer_prices(&prices, &keep_going, best)?;
                    if !is_torn {
                        let missing = (1.0 - best.lower / placed).max(f64::MIN_POSITIVE);
                        close = BY_PRICES * goal.width / missing * f64::from(epsilon);
                        seen = Some(close);
                    }
                }
                if completes(close) && !best.is_within(goal.width) {
                    let placed = self.completed(Placed { plan, prices }, &arcs, goal.keep_going)?;
                    flows = self.settled(units, placed.plan, &arcs);
                    self.offer_plan(&flows, &units.quantum(), best);
                    self.offer_prices(&placed.prices, &keep_going, best)?;
                }
                if best.is_within(goal.width) {
                    return Ok(None);
                }
                if is_last {
                    let prices = self.in_full(&auction.prices.of);
                    let largest = first_largest.max(largest(&prices));
                    let epsilons = auction.epsilons.iter().map(|&e| f64::from(e) * unit).collect();
                    let others = auction.others;
                    return Ok(Some(Start { flows, arcs, prices, others, largest, epsilons }));
                }
            }
            auction.raise_floors(begins as f32);
            epsilon = next_epsilon(epsilon, close).max(finest);
        }
    }

    /// Places the unplaced mass of an auction along shortest paths on these arcs, and raises prices
    /// accordingly; returns both unchanged where that takes too long. In the plane the last
    /// thousandth of all mass takes an auction thirty times as long as the rest.
    fn completed(
        &self,
        placed: Placed,
        arcs: &[(u32, u32)],
        keep_going: &KeepGoing<'_>,
    ) -> Result<Placed> {
        let whole =
            |masses: &[u64]| masses.iter().map(|&mass| i128::from(mass)).collect::<Vec<_>>();
        let [supply, demand] = self.whole.each_ref().map(|side| whole(side));
        let flows = placed.plan.iter().map(|&(i, j, mass)| (i, j, i128::from(mass)));
        let flows: Vec<Flow> = flows.collect();
        if flows.iter().map(|flow| flow.2).sum::<i128>() == supply.iter().sum() {
            return Ok(placed);
        }
        let both = arcs.iter().copied().chain(placed.plan.iter().map(|&(i, j, _)| (i, j)));
        let mut both: Vec<_> = both.collect();
        both.par_sort_unstable();
        both.dedup();
        let arcs: Vec<_> = parallel::map(both.len(), |at| self.with_cost(both[at]));
        let mut paths = Augment::new([&supply, &demand], &flows, placed.prices.clone());
        paths.set_arcs(&arcs, f64::INFINITY);
        if !paths.run(keep_going)? {
            return Ok(placed);
        }
        let plan = paths.flows().map(|(i, j, mass)| (i, j, mass as u64)).collect();
        Ok(Placed { plan, prices: paths.prices })
    }

    /// Converts the plan of an auction to exactly the given masses, without cycles.
    fn settled(&self, units: &Units, mut plan: Vec<Share>, arcs: &[(u32, u32)]) -> Vec<Flow> {
        plan.sort_unstable_by_key(|flow| (std::cmp::Reverse(flow.2), flow.0, flow.1));
        let share = |&(i, j, mass): &Share| {
            let all = self.whole[0][i as usize];
            let supply = units.supply[i as usize];
            let part = mass as f64 / all as f64 * supply as f64;
            (i, j, if mass == all { supply } else { part as i128 })
        };
        let masses = [units.supply.clone(), units.demand.clone()];
        let flows = basis::settle(masses, plan.iter().map(share), arcs.iter().copied());
        self.without_cycles(flows.into_iter())
    }

    /// Returns a plan without the cycles of these flows, which costs no more.
    pub(super) fn without_cycles(&self, flows: impl Iterator<Item = Flow>) -> Vec<Flow> {
        let mut forest = BasisForest::new(self.places[0].len(), self.places[1].len());
        for flow in flows {
            forest.push(flow, self.cost(flow.0 as usize, flow.1 as usize));
        }
        forest.flows()
    }

    /// Converts prices to double precision and the unit of the problem. A closed sink, which has
    /// negligible mass, gets the largest of the other prices, so that no source moves to it.
    fn in_full(&self, prices: &[f32]) -> Vec<f64> {
        let prices = &prices[..self.places[1].len()];
        let open = prices.iter().copied().filter(|&price| price < CLOSED);
        let most = open.fold(0.0, f32::max);
        let unit = self.unit();
        let full = |&price: &f32| f64::from(if price < CLOSED { price } else { most }) * unit;
        prices.iter().map(full).collect()
    }
}

/// Returns the largest absolute value of some prices.
pub(super) fn largest(prices: &[f64]) -> f64 {
    prices.iter().fold(0.0, |most: f64, price| most.max(price.abs()))
}
