//! An auction: sinks have prices, sources go where cost + price is least, and a sink with more than it
//! can take raises its price until somebody leaves.
//!
//! # The invariant
//! Wherever a source has mass, cost + price is within 2ε of the least that it finds among *all* sinks. So
//! once all mass is placed the plan costs at most 2ε a unit more than the best, and the prices
//! prove it.
//!
//! - A source keeps a list of sinks that were good when it last looked through all of them, and what
//!   all others were at least. Prices only rise, so that stays true: as long as the best of the list is
//!   at most ε above it, no sink is better by more.
//! - A sink that is too full evicts who would mind least, and raises its price to what that one
//!   would have paid and ε more. Whoever stays would have paid as much.
//!
//! Lists are chosen with a little noise (ε/2): where many sinks are as good as each other, sources that
//! are near each other would all have the same ones, and outbid each other until every list is old.
//!
//! # Complexity
//! A bid looks at one list, some tens of nanoseconds. Looking through all sinks takes most of the time:
//! 5 to 15 times for every source, over all ε.
//!
//! # What was tried
//! 5,000 points a side, uniform in the plane, shifted there, and clusters in R⁵⁰; looks a source.
//! - *Bids that raise prices at once* (as for assignments, every piece of mass with its own price): hundreds
//!   of bids a source where masses differ, because tiny pieces raise prices only for themselves.
//! - *Lists without noise*: 14 looks instead of 8 where the cloud is shifted.
//! - *Lists of 16 or 24 instead of 32*: 7.3 and 5.5 looks instead of 4.4, uniform; 48: 3.8, and more for
//!   the simplex to price.
//! - *ε to a tenth or to 0.4 each time instead of a fifth*: more bids or more looks, and no time won.
//! - *First come, first served* instead of the last one evicted bidding first: no difference.

use super::cloud::{Cloud, Prices, Query};

/// Sinks on a list.
pub(super) const LISTED: usize = 32;

/// What lists are chosen by, besides cost + price: a random number up to this share of ε.
const NOISE: f32 = 0.5;

/// Bids of a source, on average, after which it is left to the simplex: prices that are far above all costs
/// no longer rise by ε.
const MOST_BIDS: usize = 5000;

/// Looks of a source at one ε, on average, after which it is left to the simplex: 30 were seen for 100,000
/// points in the plane, thousands where all lie on one line in it.
const MOST_LOOKS: usize = 60;

/// Bids between two questions whether to go on.
const ASKED: usize = 1 << 14;

/// Mass of a source at a sink.
#[derive(Clone, Copy, Debug)]
struct Stay {
    source: u32,
    mass: u64,
    cost: f32,
    /// What the source would have paid at least when it was last asked.
    limit: f32,
}

/// One auction; masses are whole numbers, of equal totals.
pub(super) struct Auction<'a> {
    sources: &'a Cloud,
    sinks: &'a Cloud,
    supply: &'a [u64],
    demand: &'a [u64],
    pub(super) prices: Prices,
    /// Sinks and costs of [`LISTED`] entries for every source, how many there are, and what others are
    /// at least.
    list: Vec<(u32, f32)>,
    listed: Vec<u8>,
    pub(super) others: Vec<f32>,
    stays: Vec<Vec<Stay>>,
    taken: Vec<u64>,
    left: Vec<u64>,
    bids: usize,
}

/// What a source thinks of its list.
struct Choice {
    sink: u32,
    cost: f32,
    /// Cost + price, and that of the next one.
    best: f32,
    second: f32,
}

impl<'a> Auction<'a> {
    pub(super) fn new(
        (sources, supply): (&'a Cloud, &'a [u64]),
        (sinks, demand): (&'a Cloud, &'a [u64]),
        prices: Prices,
    ) -> Self {
        let (n, m) = (supply.len(), demand.len());
        Self {
            sources,
            sinks,
            supply,
            demand,
            prices,
            list: vec![(0, 0.0); n * LISTED],
            listed: vec![0; n],
            others: vec![f32::NEG_INFINITY; n],
            stays: vec![Vec::new(); m],
            taken: vec![0; m],
            left: supply.to_vec(),
            bids: 0,
        }
    }

    /// Places all mass anew, but for this share of it. False if it stops before: because `goes_on` says
    /// so, or because it takes too many bids or looks.
    pub(super) fn run(&mut self, epsilon: f32, unplaced: f64, goes_on: &dyn Fn() -> bool) -> bool {
        self.stays.iter_mut().for_each(Vec::clear);
        self.taken.fill(0);
        self.left.copy_from_slice(self.supply);
        let total: u64 = self.supply.iter().sum();
        let enough = total - (unplaced * total as f64) as u64;
        let (most_bids, mut looks) = (self.bids + MOST_BIDS * self.supply.len(), 0);
        let mut placed = 0;
        let with_mass = |i: &u32| self.supply[*i as usize] > 0;
        let mut ready: Vec<u32> = (0..self.supply.len() as u32).rev().filter(with_mass).collect();
        let mut waiting = Vec::new();
        loop {
            while let Some(source) = ready.pop() {
                if placed >= enough {
                    return true;
                }
                if self.bids >= most_bids || self.bids.is_multiple_of(ASKED) && !goes_on() {
                    return false;
                }
                let choice = self.choose(source as usize, epsilon);
                if choice.best > self.others[source as usize] + epsilon {
                    waiting.push(source);
                    continue;
                }
                self.bids += 1;
                placed += self.bid(source, &choice, epsilon, &mut ready);
            }
            if waiting.is_empty() {
                return true;
            }
            looks += waiting.len();
            if looks > MOST_LOOKS * self.supply.len()
                || !self.look(&waiting, NOISE * epsilon, goes_on)
            {
                return false;
            }
            ready.append(&mut waiting);
        }
    }

    /// Some sources look through all sinks; false if there is no time.
    fn look(&mut self, rows: &[u32], noise: f32, goes_on: &dyn Fn() -> bool) -> bool {
        // Old least prices are bounds as well, and it takes a while to find new ones.
        if rows.len() * 8 * LISTED > self.demand.len() {
            self.sinks.update(&mut self.prices);
        }
        let query = Query { prices: &self.prices, most: LISTED, noise };
        let (list, listed, others) = (&mut self.list, &mut self.listed, &mut self.others);
        let (sources, sinks) = (self.sources, self.sinks);
        sinks.nearest_while(sources, rows, &query, goes_on, |row, found| {
            let row = row as usize;
            let entries = list[row * LISTED..(row + 1) * LISTED].iter_mut();
            listed[row] = found.entries().len() as u8;
            for (k, (entry, sink)) in entries.zip(found.entries()).enumerate() {
                let cost = || sources.cost(row, sinks, sink.point as usize);
                *entry = (sink.point, found.costs.get(k).copied().unwrap_or_else(cost));
            }
            others[row] = found.limit - noise;
        })
    }

    fn entries(&self, source: usize) -> &[(u32, f32)] {
        &self.list[source * LISTED..source * LISTED + usize::from(self.listed[source])]
    }

    /// The best choice of a source; infinitely bad where it has not looked yet.
    #[inline]
    fn choose(&self, source: usize, epsilon: f32) -> Choice {
        let (mut best, mut second) = (f32::INFINITY, self.others[source] + epsilon);
        let (mut sink, mut paid) = (0, 0.0);
        for &(j, cost) in self.entries(source) {
            let value = cost + self.prices.of[j as usize];
            second = if value < best { second.min(best) } else { second.min(value) };
            (sink, paid) = if value < best { (j, cost) } else { (sink, paid) };
            best = if value < best { value } else { best };
        }
        Choice { sink, cost: paid, best, second: second.max(best) }
    }

    /// What a source would have elsewhere, at least.
    #[inline]
    fn elsewhere(&self, source: usize, sink: u32, epsilon: f32) -> f32 {
        let entries = self.entries(source).iter().filter(|entry| entry.0 != sink);
        let values = entries.map(|&(j, cost)| cost + self.prices.of[j as usize]);
        values.fold(self.others[source] + epsilon, f32::min)
    }

    /// Puts all mass that a source has left to its choice, which evicts others where it has too much.
    /// Returns what is placed more than before.
    fn bid(&mut self, source: u32, choice: &Choice, epsilon: f32, ready: &mut Vec<u32>) -> u64 {
        let sink = choice.sink as usize;
        let mass = std::mem::take(&mut self.left[source as usize]);
        let before = self.taken[sink];
        let limit = choice.second - choice.cost;
        self.taken[sink] += mass;
        let stays = &mut self.stays[sink];
        if let Some(stay) = stays.iter_mut().find(|stay| stay.source == source) {
            stay.mass += mass;
            stay.limit = limit;
        } else {
            stays.push(Stay { source, mass, cost: choice.cost, limit });
        }
        while self.taken[sink] > self.demand[sink] {
            let at = self.least_willing(sink, source, epsilon);
            let over = self.taken[sink] - self.demand[sink];
            let stay = &mut self.stays[sink][at];
            let gone = over.min(stay.mass);
            stay.mass -= gone;
            let Stay { source: evicted, limit, mass, .. } = *stay;
            if mass == 0 {
                self.stays[sink].swap_remove(at);
            }
            self.taken[sink] -= gone;
            let price = &mut self.prices.of[sink];
            *price = price.max(limit + epsilon);
            if self.left[evicted as usize] == 0 {
                ready.push(evicted);
            }
            self.left[evicted as usize] += gone;
        }
        self.taken[sink] - before
    }

    /// Who at a sink would pay least. Limits only rise, so only the least one is asked again, unless it
    /// has just come.
    fn least_willing(&mut self, sink: usize, newest: u32, epsilon: f32) -> usize {
        loop {
            let limits = self.stays[sink].iter().map(|stay| stay.limit).enumerate();
            let least = limits.reduce(|least, other| if other.1 < least.1 { other } else { least });
            let (at, limit) = least.expect("a sink that is too full is not empty");
            let Stay { source, cost, .. } = self.stays[sink][at];
            if source == newest {
                return at;
            }
            let now = self.elsewhere(source as usize, sink as u32, epsilon) - cost;
            if now <= limit {
                return at;
            }
            self.stays[sink][at].limit = now;
        }
    }

    /// Source, sink and mass of everything that is placed.
    pub(super) fn plan(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let stays = self.stays.iter().zip(0..);
        stays.flat_map(|(stays, sink)| stays.iter().map(move |s| (s.source, sink, s.mass)))
    }

    /// Sources and sinks of all lists, source by source.
    pub(super) fn lists(&self) -> Vec<(u32, u32)> {
        let of = |i: u32| self.entries(i as usize).iter().map(move |&(sink, _)| (i, sink));
        (0..self.supply.len() as u32).flat_map(of).collect()
    }

    /// Sources and sinks of all lists, those first whose cost + price is nearest to the least of the source.
    pub(super) fn arcs(&self) -> Vec<(u32, u32)> {
        let mut arcs = Vec::with_capacity(self.supply.len() * LISTED);
        for source in 0..self.supply.len() {
            let value = |&(sink, cost): &(u32, f32)| cost + self.prices.of[sink as usize];
            let least = self.entries(source).iter().map(value).fold(f32::INFINITY, f32::min);
            let entries = self.entries(source).iter();
            arcs.extend(entries.map(|entry| (value(entry) - least, source as u32, entry.0)));
        }
        arcs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        arcs.into_iter().map(|(_, source, sink)| (source, sink)).collect()
    }
}
