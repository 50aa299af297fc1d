//! Multiscale initialization: the prices of a coarse problem are the initial prices of a finer one.
//!
//! Cost sources with coarser levels order their points so that neighbors follow each other, so one
//! point of eight consecutive ones represents them all, with the mass of all. The prices of the
//! coarse problem extend to all points: the least cost + dual value over the representatives is
//! 1-Lipschitz, as optimal prices are.
//!
//! In a mixture of scales only neighbors of the smaller scales are grouped
//! ([`Groups`](crate::solve::costs::Groups)), so ε is first lowered between the far points, while
//! few points represent all near ones. There all mass is placed, because prices of near points
//! compared with those of far ones are hard to raise later. Far points whose ε is low enough keep
//! their mass ([`raise_floors`](Auction::raise_floors)).
//!
//! 3,000 points per side, a third of them spread a thousand times as far as the others; ratio of
//! processor time to that without a mixture, before and now: 8.3 and 1.6 in the plane with equal
//! masses, 9.8 and 1.6 with random ones, 2.9 and 1.4 in R³⁰. A source of small scale scanned 17
//! times at ε of the large scale, and scans 3 times now.
//!
//! # What was tried
//! Figures are scans per source over all ε, for 5,000 points per side.
//! - *Initial ε at a fixed share of the mean cost to a representative, regardless of how far mass
//!   moves*: 15 scans instead of 12 where one side is shifted.
//! - *The mean of eight points instead of one of them*: 7 scans instead of 6 for uniform points,
//!   where mass moves less far than a group is wide; no difference where one side is shifted; 5 to
//!   6 instead of 9 for clusters, but 6 instead of 4 at 1,000 points.
//! - *One point for every four or sixteen*: 9 scans instead of 6 for uniform points.
//!
//! The mixture above:
//! - *2 % of the mass unplaced on coarser levels*, as without a mixture: 60 scans and 700 bids per
//!   source on the last level, where the prices of all near points rise in small steps until they
//!   are right compared with those of far points.
//! - *An ε for each source in proportion to its neighbors' distances on every level* was not tried:
//!   it would raise prices in such small steps at once.

use std::ops::Range;

use super::bidding::{Auction, Share};
use super::phases;
use crate::solve::costs::{CLOSED, CostSource, Groups, Prices, Query};

/// Points per representative.
const GROUP: usize = 8;

/// Number of sources or sinks up to which there is no coarser level.
pub(super) const COARSEST: usize = 512;

/// Factor of ε from phase to phase.
pub(super) const FALL: f32 = 0.2;

/// Share of all mass that may remain unplaced before the last phase: the last mass takes longest to
/// place.
const UNPLACED: f64 = 0.02;

/// Final ε of a coarse problem, as a share of the mean cost between a point and its representative.
const ENDS: f32 = 0.05;

/// Initial ε of a finer problem, as a share of the same mean cost.
const BEGINS: f32 = 0.3;

/// Ratio of the cost of moved mass to that mean cost above which prices of a coarse problem
/// are better than [`BEGINS`] implies: the cost of a long move hardly depends on transversal
/// offsets. The initial ε is lower in proportion, where costs are lengths; squares of a shifted
/// side took four times as long with it and with paths ([`augment`](super::augment)) together.
const FAR_WAY: f32 = 1.5;

/// Number of sources whose ways are averaged: neighbors, where neighbors follow each other.
pub(super) const RUN: usize = 32;

/// Number of sampled pairs of the mean cost.
const PROBES: usize = 1000;

/// Problem with integer masses: all points, or their representatives.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) costs: &'a dyn CostSource,
    /// Masses of sources and sinks, with equal totals.
    pub(super) masses: [&'a [u64]; 2],
}

/// Settings of all levels.
pub(super) struct Descent<'a> {
    /// Number of sources or sinks up to which there is no coarser level.
    pub(super) coarsest: usize,
    /// Ratio of ε to the cost of a plan per unit of mass at which the last step begins.
    pub(super) begins: f32,
    /// Whether only bounds are requested.
    pub(super) is_for_bounds: bool,
    /// Ratio of ε to the cost of a plan per unit of mass that bounds are likely to need; 0 for a
    /// certified optimum.
    pub(super) needed: f32,
    pub(super) keep_going: &'a dyn Fn() -> bool,
}

/// Initial state of an auction.
pub(super) struct Opening {
    pub(super) prices: Prices,
    /// First useful ε.
    pub(super) epsilon: f32,
    /// Least ε of every source.
    pub(super) floors: Vec<f32>,
}

impl Level<'_> {
    /// Returns the initial state. Where mass moves far ε is lower, unless only bounds are
    /// requested: these are close enough at a larger ε.
    pub(super) fn opening(self, descent: &Descent<'_>) -> Opening {
        let Self { costs, masses } = self;
        let finest = costs.precision().finest();
        let is_coarse = masses[0].len().min(masses[1].len()) <= descent.coarsest;
        let Some(coarser) = (!is_coarse).then(|| costs.coarser(GROUP)).flatten() else {
            let epsilon = (0.25 * self.mean_cost()).max(finest);
            let prices = self.open(vec![0.0; masses[1].len()]);
            return Opening { prices, epsilon, floors: vec![0.0; masses[0].len()] };
        };
        let of_groups = [0, 1].map(|side: usize| -> Vec<u64> {
            let ranges = coarser.groups[side].ranges();
            ranges.map(|range| masses[side][range].iter().sum()).collect()
        });
        let few = &*coarser.costs;
        let level = Level { costs: few, masses: of_groups.each_ref().map(|side| &side[..]) };
        let opening = level.opening(descent);
        let (mut epsilon, keep_going) = (opening.epsilon, descent.keep_going);
        let mut auction = Auction::new(level, opening);
        let ends = (ENDS * coarser.reach).max(finest);
        let is_mixed = coarser.groups.iter().any(Groups::are_mixed);
        let unplaced = if is_mixed { phases::UNPLACED } else { UNPLACED };
        // In a mixture of scales the next level may begin far below what bounds need, where the
        // prices of far points would be right and those of near points hard to raise.
        let mut needed = 0.0;
        while auction.run(epsilon, unplaced, keep_going)
            && epsilon > ends
            && auction.is_open(epsilon)
        {
            if is_mixed {
                needed = descent.needed * FALL * FALL * mean_way(few, auction.plan());
                if epsilon <= needed {
                    break;
                }
            }
            auction.raise_floors(descent.begins);
            epsilon *= FALL;
        }
        // Far points of a mixture of scales are not grouped.
        let sources: Vec<_> = coarser.groups[0].ranges().collect();
        let is_grouped = |share: &Share| sources[share.0 as usize].len() > 1;
        let way = near_way(few, auction.plan().filter(is_grouped));
        let floor = |(group, range): (usize, &Range<usize>)| {
            let floor = if range.len() > 1 { 0.0 } else { auction.floors[group] };
            std::iter::repeat_n(floor, range.len())
        };
        let floors = sources.iter().enumerate().flat_map(floor).collect();
        let mut prices = auction.prices;
        few.refresh(&mut prices);
        // Dual values of the representatives are prices of the transposed problem.
        let duals = coarser.back.prices(least(few, &prices, keep_going));
        let prices = self.open(least(&*coarser.back, &duals, keep_going));
        let is_far = costs.are_lengths() && way > FAR_WAY * coarser.reach;
        let is_short = is_far && !descent.is_for_bounds;
        let share = if is_short { FAR_WAY * coarser.reach / way } else { 1.0 };
        let epsilon = (BEGINS * share * coarser.reach).max(finest).max(needed);
        Opening { prices, epsilon, floors }
    }

    /// Computes the mean cost of [`PROBES`] sampled pairs.
    fn mean_cost(self) -> f32 {
        let [n, m] = self.costs.sizes();
        let cost = |k: usize| self.costs.single(k * 7919 % n, k * 104_729 % m);
        (0..PROBES).map(cost).sum::<f32>() / PROBES as f32
    }

    /// Returns prices of the sinks, closed where they have no mass. Their median is 0, which leaves
    /// most digits to the differences between most of them.
    fn open(self, mut prices: Vec<f32>) -> Prices {
        let mut sorted = prices.clone();
        let half = sorted.len() / 2;
        let median = *sorted.select_nth_unstable_by(half, f32::total_cmp).1;
        for (price, &mass) in prices.iter_mut().zip(self.masses[1]) {
            *price = if mass > 0 { *price - median } else { CLOSED };
        }
        self.costs.prices(prices)
    }
}

/// Computes the mean cost per unit of mass of a plan.
pub(super) fn mean_way(costs: &dyn CostSource, plan: impl Iterator<Item = Share>) -> f32 {
    let (mut spent, mut placed) = (0.0, 0.0);
    for (i, j, mass) in plan {
        spent += mass as f64 * f64::from(costs.single(i as usize, j as usize));
        placed += mass as f64;
    }
    if placed > 0.0 { (spent / placed) as f32 } else { 0.0 }
}

/// Computes the mean cost per unit of mass over the cheapest four fifths of the mass that moves at
/// a positive cost. Returns 0 if no mass does.
fn near_way(costs: &dyn CostSource, plan: impl Iterator<Item = Share>) -> f32 {
    let with_cost = |(i, j, mass): Share| (costs.single(i as usize, j as usize), mass as f64);
    near_mean(plan.map(with_cost).filter(|way| way.0 > 0.0).collect())
}

/// Computes [`near_way`] for every [`RUN`] consecutive sources.
pub(super) fn near_ways(costs: &dyn CostSource, plan: impl Iterator<Item = Share>) -> Vec<f32> {
    let mut runs = vec![Vec::new(); costs.sizes()[0].div_ceil(RUN)];
    for (i, j, mass) in plan {
        let cost = costs.single(i as usize, j as usize);
        if cost > 0.0 {
            runs[i as usize / RUN].push((cost, mass as f64));
        }
    }
    runs.into_iter().map(near_mean).collect()
}

fn near_mean(mut ways: Vec<(f32, f64)>) -> f32 {
    ways.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut left = 0.8 * ways.iter().map(|way| way.1).sum::<f64>();
    let (mut spent, near) = (0.0, left);
    for (cost, mass) in ways {
        let mass = mass.min(left);
        spent += mass * f64::from(cost);
        left -= mass;
    }
    if near > 0.0 { (spent / near) as f32 } else { 0.0 }
}

/// Computes the negative of the least cost + price of every source; 0 where work was canceled.
fn least(costs: &dyn CostSource, prices: &Prices, keep_going: &dyn Fn() -> bool) -> Vec<f32> {
    let all: Vec<u32> = (0..costs.sizes()[0] as u32).collect();
    let query = Query { prices, most: 1, noise: 0.0 };
    let mut least = vec![0.0; all.len()];
    costs.scan(&all, &query, keep_going, |row, found| {
        least[row as usize] = -found.entries().next().map_or(0.0, |entry| entry.value);
    });
    least
}
