//! From a few points to all: prices of a coarse problem are where the auction of a finer one begins.
//!
//! Points are in the order of a k-d tree, so eight in a row are neighbors: one of them stands for all,
//! with the mass of all. What its problem finds out about prices holds for all points: the best price
//! of a sink against the duals of the few sources is 1-Lipschitz, as the best prices are.
//!
//! # What was tried
//! 5,000 points a side; looks a source over all ε.
//! - *ε that begins at the same share of the reach, wherever mass goes*: 15 looks in place of 12 where the cloud is shifted.
//! - *The mean of eight points instead of one of them*: 7 looks instead of 6, uniform, where mass moves less far than that; no
//!   difference where the cloud is shifted; 5 to 6 instead of 9 in clusters, but 6 instead of 4 at 1,000 points.
//! - *One point for every four or sixteen*: 9 looks instead of 6, uniform.

use super::auction::Auction;
use super::cloud::{Cloud, FAR, Prices, Query};
use super::frame::Formula;

/// Points that one stands for.
const GROUP: usize = 8;

/// Sinks or sources up to which there is nothing coarser.
const LEAST: usize = 512;

/// Masses as whole numbers, on points laid out.
pub(super) struct Side {
    pub(super) cloud: Cloud,
    pub(super) mass: Vec<u64>,
}

/// ε falls to this share from round to round.
pub(super) const FALL: f32 = 0.2;

/// The share of all mass that need not be placed before the last round: what is placed last takes
/// longest.
const UNPLACED: f64 = 0.02;

/// ε in the end of a coarse problem and in the beginning of a finer one, as shares of how far a point is
/// from the one that stands for it.
const ENDS: f32 = 0.05;
const BEGINS: f32 = 0.3;

/// Where mass moves farther than this many times as far, prices of a coarse problem are better than that: the cost
/// of a long way hardly depends on where a point is across it. ε begins lower in proportion, where costs are lengths;
/// squares of a shifted cloud took four times as long with it and with paths (`augment`) together.
const FAR_WAY: f32 = 1.5;

impl Side {
    /// One point for every few.
    fn coarse(&self) -> Self {
        let places: Vec<u32> = (0..self.mass.len() as u32)
            .step_by(GROUP)
            .map(|first| (first + GROUP as u32 / 2).min(self.mass.len() as u32 - 1))
            .collect();
        let mass = self.mass.chunks(GROUP).map(|group| group.iter().sum()).collect();
        Self { cloud: self.cloud.some(&places), mass }
    }

    /// The mean cost between a point and the one that stands for it.
    fn reach(&self, coarse: &Self) -> f32 {
        let cost = |place: usize| f64::from(self.cloud.cost(place, &coarse.cloud, place / GROUP));
        let sum: f64 = (0..self.mass.len()).map(cost).sum();
        (sum / self.mass.len() as f64) as f32
    }

    /// Prices without those that take nothing.
    fn open(&self, prices: impl Iterator<Item = f32>) -> Prices {
        let prices = prices.zip(&self.mass).map(|(p, &mass)| if mass > 0 { p } else { FAR });
        self.cloud.prices(prices)
    }
}

/// What the mean cost of some pairs is.
fn mean_cost(sources: &Side, sinks: &Side) -> f32 {
    let (n, m) = (sources.mass.len(), sinks.mass.len());
    let cost = |k: usize| sources.cloud.cost(k * 7919 % n, &sinks.cloud, k * 104_729 % m);
    (0..PROBES).map(cost).sum::<f32>() / PROBES as f32
}

const PROBES: usize = 1000;

/// Prices to begin with, and the first ε that is worth its time. Where mass moves far that is a lower one, unless
/// bounds are all that is wanted: they are close before.
pub(super) fn first_prices(
    (sources, sinks): (&Side, &Side),
    is_for_bounds: bool,
    finest: f32,
    goes_on: &dyn Fn() -> bool,
) -> (Prices, f32) {
    if sources.mass.len().min(sinks.mass.len()) <= LEAST || sources.cloud.is_table() {
        let zero = vec![0.0; sinks.mass.len()];
        let epsilon = 0.25 * mean_cost(sources, sinks);
        return (sinks.open(zero.into_iter()), epsilon.max(finest));
    }
    let (coarse, few) = (sources.coarse(), sinks.coarse());
    let reach = sources.reach(&coarse).min(sinks.reach(&few));
    let (prices, mut epsilon) = first_prices((&coarse, &few), is_for_bounds, finest, goes_on);
    let mut auction =
        Auction::new((&coarse.cloud, &coarse.mass[..]), (&few.cloud, &few.mass[..]), prices);
    while auction.run(epsilon, UNPLACED, goes_on) && epsilon > (ENDS * reach).max(finest) {
        epsilon *= FALL;
    }
    let way = mean_way((&coarse.cloud, &few.cloud), auction.plan());
    let prices = extended((&coarse, &few), auction.prices, sinks, goes_on);
    let is_far = sinks.cloud.formula == Formula::Length && way > FAR_WAY * reach;
    let share = if is_far && !is_for_bounds { FAR_WAY * reach / way } else { 1.0 };
    (prices, (BEGINS * share * reach).max(finest))
}

/// What a unit of mass costs on the way that a plan lets it take.
pub(super) fn mean_way(
    (sources, sinks): (&Cloud, &Cloud),
    plan: impl Iterator<Item = (u32, u32, u64)>,
) -> f32 {
    let (mut spent, mut placed) = (0.0, 0.0);
    for (i, j, mass) in plan {
        spent += mass as f64 * f64::from(sources.cost(i as usize, sinks, j as usize));
        placed += mass as f64;
    }
    if placed > 0.0 { (spent / placed) as f32 } else { 0.0 }
}

/// The prices of a few sinks as prices of many: what the best price of each is against the duals of the
/// few sources. 0 where there was no time.
fn extended(
    (sources, sinks): (&Side, &Side),
    mut prices: Prices,
    to: &Side,
    goes_on: &dyn Fn() -> bool,
) -> Prices {
    sinks.cloud.update(&mut prices);
    let least = |cloud: &Cloud, from: &Cloud, prices: &Prices| {
        let all: Vec<u32> = (0..from.len as u32).collect();
        let query = Query { prices, most: 1, noise: 0.0 };
        let mut least = vec![0.0; from.len];
        cloud.nearest_while(from, &all, &query, goes_on, |row, found| {
            least[row as usize] = -found.entries().next().map_or(0.0, |entry| entry.value);
        });
        least
    };
    let duals = sources.cloud.prices(least(&sinks.cloud, &sources.cloud, &prices));
    to.open(least(&sources.cloud, &to.cloud, &duals).into_iter())
}
