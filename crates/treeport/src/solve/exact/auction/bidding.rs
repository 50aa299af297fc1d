//! An auction: sinks have prices, each source bids for the sink of least cost + price, and a sink
//! with more mass than it demands raises its price and evicts sources.
//!
//! # The invariant
//! ε-complementary slackness: wherever a source i has mass, cost + price is within 2ε of the
//! minimum over *all* sinks, for its own ε = εᵢ. So once all mass aᵢ is placed the plan costs at
//! most 2 Σ aᵢεᵢ more than the optimum, and the prices certify it. All εᵢ are equal except for
//! those that were low enough in an earlier phase, and those of sources with large costs or prices, whose
//! sums are rounded more.
//!
//! - A source keeps a list of candidates from its last scan of all sinks, and a lower bound of
//!   cost + price of all other sinks. Prices only rise, so the bound stays valid. A source bids
//!   only while the best of its list is at most ε above the bound; then no sink is better by more
//!   than ε.
//! - Its limit at a sink is the price at which the next candidate, or the bound + ε, would be
//!   better by ε. An overfull sink evicts the source of least limit and raises its price to that
//!   limit. The remaining sources have limits at least as high, so that cost + price is at most ε
//!   above their next candidate, and 2ε above the bound.
//!
//! Tests check it after every phase (`assert_slackness`).
//!
//! Lists are selected with a little noise (ε/2): where many sinks are equally good, sources that
//! are close to each other would otherwise all have the same lists, and outbid each other until no
//! list is of use.
//!
//! # Complexity
//! A bid reads one list, some tens of nanoseconds. Scans of all sinks take most of the time:
//! 5 to 15 for every source, over all ε.
//!
//! # What was tried
//! Figures are scans per source, for 5,000 points per side: uniform in the plane, the same with one
//! side shifted, and clusters in R⁵⁰.
//! - *Bids that raise prices at once* (as in assignment problems, with a price for every piece of
//!   mass): hundreds of bids per source where masses differ, because tiny pieces raise prices only
//!   for themselves.
//! - *Lists without noise*: 14 scans instead of 8 where one side is shifted.
//! - *Lists of 16 or 24 instead of 32*: 7.3 and 5.5 scans instead of 4.4 for uniform points; 3.8
//!   with lists of 48, and more arcs for the simplex to price.
//! - *ε to a tenth or to 0.4 each time instead of a fifth*: more bids or more scans, and no time
//!   saved.
//! - *First-in, first-out* instead of the last evicted source bidding first: no difference.

use std::cmp::Reverse;

use super::levels::{self, Level, Opening};
use super::spares::Spares;
use crate::solve::costs::{CostSource, Prices, Query, RISES, key};

/// Largest number of sinks on a list.
pub(super) const LISTED: usize = 32;

/// Largest noise of lists, as a share of ε.
const NOISE: f32 = 0.5;

/// Average number of bids per source after which the last step begins: prices far above all costs
/// no longer rise by ε.
const MOST_BIDS: usize = 5000;

/// Average number of scans per source at one ε after which the last step begins: 30 were seen for
/// 100,000 points in the plane, thousands where all lie on one line in it.
const MOST_SCANS: usize = 60;

/// Ratio of ε to the one at which the last step begins up to which a source keeps its mass. Without
/// a mixture of scales few sources reach it before the last phase.
const SETTLED: f32 = 0.25;

/// Bids between two checks for cancellation.
const ASKED: usize = 1 << 14;

/// Part of a plan: source, sink and mass.
pub(super) type Share = (u32, u32, u64);

/// Mass of a source at a sink.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stay {
    pub(super) source: u32,
    pub(super) mass: u64,
    pub(super) cost: f32,
    /// Lower bound of the price of this sink at which the source is better off by its ε elsewhere.
    pub(super) limit: f32,
}

/// State of an auction; masses are integers with equal totals.
pub(super) struct Auction<'a> {
    pub(super) costs: &'a dyn CostSource,
    pub(super) supply: &'a [u64],
    pub(super) demand: &'a [u64],
    pub(super) prices: Prices,
    /// ε of every source in this phase.
    pub(super) epsilons: Vec<f32>,
    /// Least ε of every source.
    pub(super) floors: Vec<f32>,
    /// Candidate list of every source: sinks and costs, in [`LISTED`] slots each.
    list: Vec<(u32, f32)>,
    /// Number of candidates on the list of every source.
    listed: Vec<u8>,
    /// Lower bound of cost + price of all other sinks, for every source.
    pub(super) others: Vec<f32>,
    /// Sources with mass at every sink; at the spare sink all sources, by index.
    pub(super) stays: Vec<Vec<Stay>>,
    /// Mass placed at every sink.
    taken: Vec<u64>,
    /// Mass of every source that is not placed.
    left: Vec<u64>,
    /// Number of bids so far.
    bids: usize,
    pub(super) spares: Option<Spares>,
}

/// Best candidate of a source.
pub(super) struct Choice {
    pub(super) sink: u32,
    pub(super) cost: f32,
    /// Cost + price of this sink.
    pub(super) best: f32,
    /// Cost + price of the next best candidate.
    pub(super) second: f32,
}

impl<'a> Auction<'a> {
    pub(super) fn new(level: Level<'a>, opening: Opening) -> Self {
        let Opening { prices, floors, .. } = opening;
        let Level { costs, masses: [supply, demand] } = level;
        let (n, m) = (supply.len(), demand.len());
        Self {
            costs,
            supply,
            demand,
            prices,
            epsilons: vec![f32::INFINITY; n],
            floors,
            list: vec![(0, 0.0); n * LISTED],
            listed: vec![0; n],
            others: vec![f32::NEG_INFINITY; n],
            stays: vec![Vec::new(); m],
            taken: vec![0; m],
            left: supply.to_vec(),
            bids: 0,
            spares: costs.has_spares().then(|| Spares::new(n, m)),
        }
    }

    /// Places the mass of all sources whose ε changes again, except for this share of all mass.
    /// Returns false if it stops earlier: because `keep_going` returns false, or after too many
    /// bids or scans.
    pub(super) fn run(
        &mut self,
        epsilon: f32,
        unplaced: f64,
        keep_going: &dyn Fn() -> bool,
    ) -> bool {
        let is_done = self.place(epsilon, unplaced, keep_going);
        #[cfg(test)]
        self.assert_slackness();
        is_done
    }

    fn place(&mut self, epsilon: f32, unplaced: f64, keep_going: &dyn Fn() -> bool) -> bool {
        self.withdraw(epsilon);
        let total: u64 = self.supply.iter().sum();
        let enough = total - (unplaced * self.moving() as f64) as u64;
        let (most_bids, mut scans) = (self.bids + MOST_BIDS * self.supply.len(), 0);
        let mut placed: u64 = self.taken.iter().sum();
        let with_mass = |i: &u32| self.left[*i as usize] > 0;
        let mut ready: Vec<u32> = (0..self.supply.len() as u32).rev().filter(with_mass).collect();
        let mut waiting = Vec::new();
        loop {
            while let Some(source) = ready.pop() {
                if placed >= enough {
                    return true;
                }
                if self.bids >= most_bids || self.bids.is_multiple_of(ASKED) && !keep_going() {
                    return false;
                }
                let choice = self.choose(source as usize);
                if choice.best > self.others[source as usize] + self.epsilons[source as usize] {
                    waiting.push(source);
                    continue;
                }
                self.bids += 1;
                placed += self.bid(source, &choice, &mut ready);
            }
            if waiting.is_empty() {
                return true;
            }
            scans += waiting.len();
            if scans > MOST_SCANS * self.supply.len()
                || !self.scan(&waiting, NOISE * epsilon, keep_going)
            {
                return false;
            }
            ready.append(&mut waiting);
        }
    }

    /// Sets the ε of this phase, and withdraws the mass of all sources whose ε changes.
    fn withdraw(&mut self, epsilon: f32) {
        let before = std::mem::take(&mut self.epsilons);
        let least = |(source, floor): (usize, &f32)| {
            floor.max(epsilon).max(self.rises(self.entries(source)))
        };
        self.epsilons = self.floors.iter().enumerate().map(least).collect();
        let keeps = self.spares.is_none();
        let stays = |i: u32| keeps && self.epsilons[i as usize] == before[i as usize];
        for (sink, all) in self.stays.iter_mut().enumerate() {
            all.retain(|stay| {
                let is_kept = stays(stay.source);
                if !is_kept {
                    self.left[stay.source as usize] += stay.mass;
                    self.taken[sink] -= stay.mass;
                }
                is_kept
            });
        }
        self.reset_spares();
    }

    /// Lets sources keep their mass in later phases where ε is small enough: this share of the cost
    /// of their neighbors' mass.
    pub(super) fn raise_floors(&mut self, begins: f32) {
        let ways = levels::near_ways(self.costs, self.plan());
        for (source, floor) in self.floors.iter_mut().enumerate() {
            let epsilon = self.epsilons[source];
            if epsilon <= SETTLED * begins * ways[source / levels::RUN] {
                *floor = epsilon;
            }
        }
    }

    /// Returns whether many sources have no larger ε than this one.
    pub(super) fn is_open(&self, epsilon: f32) -> bool {
        self.epsilons.iter().filter(|e| **e <= epsilon).count() * 20 > self.epsilons.len()
    }

    /// Returns whether ε is at most this share of the cost of neighboring mass for most sources.
    pub(super) fn is_fine(&self, begins: f32) -> bool {
        let ways = levels::near_ways(self.costs, self.plan());
        let epsilons = self.epsilons.chunks(levels::RUN).map(|run| run[0]);
        let coarse = ways.iter().zip(epsilons).filter(|&(&way, e)| way > 0.0 && e > begins * way);
        coarse.count() * 10 <= ways.len()
    }

    /// Scans all sinks for the given sources and replaces their lists; false if work was canceled.
    fn scan(&mut self, rows: &[u32], noise: f32, keep_going: &dyn Fn() -> bool) -> bool {
        // Stale minima of prices are valid bounds, too, and updating them takes time.
        if rows.len() * 8 * LISTED > self.demand.len() {
            self.costs.refresh(&mut self.prices);
        }
        let query = Query { prices: &self.prices, most: LISTED, noise };
        let (list, listed, others) = (&mut self.list, &mut self.listed, &mut self.others);
        let costs = self.costs;
        let is_done = costs.scan(rows, &query, keep_going, |row, found| {
            let row = row as usize;
            let entries = list[row * LISTED..(row + 1) * LISTED].iter_mut();
            listed[row] = found.entries().len() as u8;
            for (k, (entry, candidate)) in entries.zip(found.entries()).enumerate() {
                let cost = || costs.single(row, candidate.sink as usize);
                *entry = (candidate.sink, found.costs.get(k).copied().unwrap_or_else(cost));
            }
            others[row] = found.limit - noise;
        });
        for &row in rows {
            let row = row as usize;
            self.epsilons[row] = self.epsilons[row].max(self.rises(self.entries(row)));
        }
        is_done
    }

    /// Returns the least ε by which the limits of a source with this list rise in single precision:
    /// sums of larger costs and prices are rounded more.
    fn rises(&self, list: &[(u32, f32)]) -> f32 {
        let size = |&(sink, cost): &(u32, f32)| cost.max(self.prices.of[sink as usize].abs());
        RISES * list.iter().map(size).fold(0.0, f32::max)
    }

    pub(super) fn entries(&self, source: usize) -> &[(u32, f32)] {
        &self.list[source * LISTED..source * LISTED + usize::from(self.listed[source])]
    }

    /// Returns the best candidate of a source; its value is infinite before the first scan.
    #[inline]
    fn choose(&mut self, source: usize) -> Choice {
        if self.is_spare_source(source) {
            return self.choose_for_spare();
        }
        let beyond = self.others[source] + self.epsilons[source];
        let (mut best, mut second) = (f32::INFINITY, beyond);
        let (mut sink, mut paid) = (0, 0.0);
        for &(j, cost) in self.entries(source) {
            let value = cost + self.prices.of[j as usize];
            second = if value < best { second.min(best) } else { second.min(value) };
            (sink, paid) = if value < best { (j, cost) } else { (sink, paid) };
            best = if value < best { value } else { best };
        }
        Choice { sink, cost: paid, best, second: second.max(best) }
    }

    /// Computes a lower bound of cost + price of a source at all other sinks, plus ε for those that
    /// are not on its list.
    #[inline]
    pub(super) fn elsewhere(&mut self, source: usize, sink: u32) -> f32 {
        if self.is_spare_source(source) {
            let Choice { sink: best_sink, best, second, .. } = self.choose_for_spare();
            return if best_sink == sink { second } else { best };
        }
        let entries = self.entries(source).iter().filter(|entry| entry.0 != sink);
        let values = entries.map(|&(j, cost)| cost + self.prices.of[j as usize]);
        values.fold(self.others[source] + self.epsilons[source], f32::min)
    }

    /// Places all unplaced mass of a source at its choice, which evicts other sources if it is then
    /// overfull. Returns the increase of the placed mass.
    fn bid(&mut self, source: u32, choice: &Choice, ready: &mut Vec<u32>) -> u64 {
        let sink = choice.sink as usize;
        let mass = std::mem::take(&mut self.left[source as usize]);
        let before = self.taken[sink];
        let limit = choice.second - choice.cost + self.epsilons[source as usize];
        self.taken[sink] += mass;
        let stays = &mut self.stays[sink];
        if let Some(spares) = self.spares.as_mut().filter(|s| s.sink == choice.sink) {
            let stay = &mut stays[source as usize];
            if stay.mass == 0 {
                spares.by_limit.push(Reverse(key(limit, source)));
            }
            *stay = Stay { source, mass: stay.mass + mass, cost: choice.cost, limit };
        } else if let Some(stay) = stays.iter_mut().find(|stay| stay.source == source) {
            stay.mass += mass;
            stay.limit = limit;
        } else {
            stays.push(Stay { source, mass, cost: choice.cost, limit });
        }
        while self.taken[sink] > self.demand[sink] {
            let at = self.least_willing(sink, source);
            let over = self.taken[sink] - self.demand[sink];
            let stay = &mut self.stays[sink][at];
            let gone = over.min(stay.mass);
            stay.mass -= gone;
            let Stay { source: evicted, limit, mass, .. } = *stay;
            if mass == 0 {
                match self.spares.as_mut().filter(|spares| spares.sink == choice.sink) {
                    // Its entry is on top.
                    Some(spares) => _ = spares.by_limit.pop(),
                    None => _ = self.stays[sink].swap_remove(at),
                }
            }
            self.taken[sink] -= gone;
            let price = &mut self.prices.of[sink];
            *price = price.max(limit);
            if self.left[evicted as usize] == 0 {
                ready.push(evicted);
            }
            self.left[evicted as usize] += gone;
        }
        self.taken[sink] - before
    }

    /// Finds the source of least limit at a sink. Limits only rise, so only the least one is
    /// computed again, except that of the newest source.
    fn least_willing(&mut self, sink: usize, newest: u32) -> usize {
        if self.is_spare_sink(sink) {
            return self.least_willing_at_spare(newest);
        }
        loop {
            let limits = self.stays[sink].iter().map(|stay| stay.limit).enumerate();
            let least = limits.reduce(|least, other| if other.1 < least.1 { other } else { least });
            let (at, limit) = least.expect("a sink that is too full is not empty");
            let Stay { source, cost, .. } = self.stays[sink][at];
            if source == newest {
                return at;
            }
            let now = self.elsewhere(source as usize, sink as u32) - cost
                + self.epsilons[source as usize];
            if now <= limit {
                return at;
            }
            self.stays[sink][at].limit = now;
        }
    }

    /// Returns all parts of the plan.
    pub(super) fn plan(&self) -> impl Iterator<Item = Share> + '_ {
        let stays = self.stays.iter().zip(0..);
        let shares =
            stays.flat_map(|(stays, sink)| stays.iter().map(move |s| (s.source, sink, s.mass)));
        shares.filter(|share| share.2 > 0)
    }

    /// Returns sources and sinks of all lists, source by source.
    pub(super) fn lists(&self) -> Vec<(u32, u32)> {
        let of = |i: u32| self.entries(i as usize).iter().map(move |&(sink, _)| (i, sink));
        (0..self.supply.len() as u32).flat_map(of).collect()
    }

    /// Returns sources and sinks of all lists, sorted by the difference of cost + price from the
    /// minimum of the source.
    pub(super) fn arcs(&self) -> Vec<(u32, u32)> {
        let mut arcs = Vec::with_capacity(self.supply.len() * LISTED);
        for source in 0..self.supply.len() {
            let candidates = self.candidates(source);
            let value = |&(sink, cost): &(u32, f32)| cost + self.prices.of[sink as usize];
            let least = candidates.iter().map(value).fold(f32::INFINITY, f32::min);
            let entries = candidates.iter();
            arcs.extend(entries.map(|entry| (value(entry) - least, source as u32, entry.0)));
        }
        arcs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        arcs.into_iter().map(|(_, source, sink)| (source, sink)).collect()
    }
}

#[cfg(test)]
impl Auction<'_> {
    /// Asserts ε-complementary slackness by a scan of all sinks, for every source or for a sample.
    fn assert_slackness(&self) {
        let [n, m] = self.costs.sizes();
        let open: Vec<usize> =
            (0..m).filter(|&j| self.prices.of[j] < crate::solve::costs::CLOSED).collect();
        let price = |j: usize| f64::from(self.prices.of[j]);
        let highest = open.iter().fold(0.0, |most: f64, &j| most.max(price(j).abs()));
        // Costs, sums with prices, limits and prices are rounded a few times each.
        let rounding =
            crate::numeric::rounding::single(16) * (self.costs.precision().largest + highest);
        let value = |i: usize, j: usize| f64::from(self.costs.single(i, j)) + price(j);
        let mut worst = vec![f64::NEG_INFINITY; n];
        for (i, j, mass) in self.plan() {
            assert!(mass > 0 && self.prices.of[j as usize] < crate::solve::costs::CLOSED);
            worst[i as usize] = worst[i as usize].max(value(i as usize, j as usize));
        }
        let placed = (0..n).filter(|&i| worst[i] > f64::NEG_INFINITY);
        for i in placed.step_by((n * m).div_ceil(1 << 20)) {
            let least = open.iter().map(|&j| value(i, j)).fold(f64::INFINITY, f64::min);
            let epsilon = f64::from(self.epsilons[i]);
            let allowed = least + 2.0 * epsilon + rounding;
            assert!(worst[i] <= allowed, "{} above {least}, ε = {epsilon}", worst[i]);
        }
    }
}
