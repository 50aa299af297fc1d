//! Multiscale initialization: the prices of a coarse problem are the initial prices of a finer one.
//!
//! Cost sources with coarser levels order their points so that neighbors follow each other, so one
//! point of eight consecutive ones represents them all, with the mass of all. The prices of the
//! coarse problem extend to all points: the least cost + dual value over the representatives is
//! 1-Lipschitz, as optimal prices are.
//!
//! # What was tried
//! 5,000 points a side; scans a source over all ε.
//! - *Initial ε at a fixed share of the mean cost to a representative, however far mass moves*: 15
//!   scans instead of 12 where one side is shifted.
//! - *The mean of eight points instead of one of them*: 7 scans instead of 6, uniform, where mass
//!   moves less far than that; no difference where one side is shifted; 5 to 6 instead of 9 in
//!   clusters, but 6 instead of 4 at 1,000 points.
//! - *One point for every four or sixteen*: 9 scans instead of 6, uniform.

use super::bidding::{Auction, Share};
use crate::solve::costs::{CLOSED, CostSource, Prices, Query};

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

/// Ratio of the mean cost of moved mass to that mean cost above which prices of a coarse problem
/// are better than [`BEGINS`] implies: the cost of a long move hardly depends on transversal
/// offsets. The initial ε is lower in proportion, where costs are lengths; squares of a shifted
/// side took four times as long with it and with paths ([`augment`](super::augment)) together.
const FAR_WAY: f32 = 1.5;

/// Number of sampled pairs of the mean cost.
const PROBES: usize = 1000;

/// Problem with integer masses: all points, or their representatives.
#[derive(Clone, Copy)]
pub(super) struct Level<'a> {
    pub(super) costs: &'a dyn CostSource,
    /// Masses of sources and sinks, with equal totals.
    pub(super) masses: [&'a [u64]; 2],
}

impl Level<'_> {
    /// Returns initial prices and the first useful ε. Where mass moves far ε is lower, unless only
    /// bounds are requested: these are close enough at a larger ε.
    pub(super) fn first_prices(
        self,
        coarsest: usize,
        is_for_bounds: bool,
        keep_going: &dyn Fn() -> bool,
    ) -> (Prices, f32) {
        let Self { costs, masses } = self;
        let finest = costs.precision().finest();
        let is_coarse = masses[0].len().min(masses[1].len()) <= coarsest;
        let Some(coarser) = (!is_coarse).then(|| costs.coarser(GROUP)).flatten() else {
            let epsilon = 0.25 * self.mean_cost();
            return (self.open(vec![0.0; masses[1].len()]), epsilon.max(finest));
        };
        let of_groups = masses.map(|side| -> Vec<u64> {
            let (grouped, alone) = side.split_at(side.len() - coarser.alone);
            let groups = grouped.chunks(GROUP).map(|group| group.iter().sum());
            groups.chain(alone.iter().copied()).collect()
        });
        let few = &*coarser.costs;
        let level = Level { costs: few, masses: of_groups.each_ref().map(|side| &side[..]) };
        let (prices, mut epsilon) = level.first_prices(coarsest, is_for_bounds, keep_going);
        let mut auction = Auction::new(level, prices);
        let ends = (ENDS * coarser.reach).max(finest);
        while auction.run(epsilon, UNPLACED, keep_going) && epsilon > ends {
            epsilon *= FALL;
        }
        let way = mean_way(few, auction.plan());
        let mut prices = auction.prices;
        few.refresh(&mut prices);
        // Dual values of the representatives are prices of the transposed problem.
        let duals = coarser.back.prices(least(few, &prices, keep_going));
        let prices = self.open(least(&*coarser.back, &duals, keep_going));
        let is_far = costs.are_lengths() && way > FAR_WAY * coarser.reach;
        let share = if is_far && !is_for_bounds { FAR_WAY * coarser.reach / way } else { 1.0 };
        (prices, (BEGINS * share * coarser.reach).max(finest))
    }

    /// Computes the mean cost of some pairs.
    fn mean_cost(self) -> f32 {
        let [n, m] = self.costs.sizes();
        let cost = |k: usize| self.costs.single(k * 7919 % n, k * 104_729 % m);
        (0..PROBES).map(cost).sum::<f32>() / PROBES as f32
    }

    /// Returns prices of the sinks, closed where they have no mass.
    fn open(self, mut prices: Vec<f32>) -> Prices {
        for (price, &mass) in prices.iter_mut().zip(self.masses[1]) {
            *price = if mass > 0 { *price } else { CLOSED };
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

/// Computes the mean cost per unit of mass of the cheapest four fifths of a plan; what moves at no
/// cost does not count. Returns 0 if nothing else moves.
pub(super) fn near_way(costs: &dyn CostSource, plan: impl Iterator<Item = Share>) -> f32 {
    let with_cost = |(i, j, mass): Share| (costs.single(i as usize, j as usize), mass as f64);
    let mut ways: Vec<_> = plan.map(with_cost).filter(|way| way.0 > 0.0).collect();
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
