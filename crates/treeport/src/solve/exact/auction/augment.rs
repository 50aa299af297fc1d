//! Shortest augmenting paths: from a nearly optimal plan to an optimal one on few arcs.
//!
//! Sinks have prices, and the dual value of a source is the least cost + price of its arcs. Flow
//! stays where cost + price is that minimum; flow that an auction has placed elsewhere, within its
//! ε, is withdrawn. Then every source with excess searches for the nearest sink with unmet demand,
//! by Dijkstra's algorithm on reduced costs, and sends as much as possible along the shortest path.
//! The potential of every node nearer than that sink rises by the difference of their distances, so
//! that the arcs of the path have a reduced cost of 0, too.
//!
//! # The invariant
//! No reduced cost is negative, and those of arcs with flow are 0, up to rounding. **Prices only
//! rise**, so a lower bound of cost + price of sinks without an arc stays valid.
//!
//! # Complexity
//! O(arcs scanned · log) for a path. After an auction that is 10 to 100 times all arcs for all
//! paths together, at 5,000 points per side of equal masses. Masses that differ are split, and take
//! many more: the simplex solves those.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::basis::Flow;
use crate::error::Result;
use crate::solve::exact::{KeepGoing, check_canceled};

/// Scanned arcs per arc after which the paths are abandoned.
const MOST_SCANNED: usize = 500;

/// Scanned arcs between two checks for cancellation: some milliseconds.
const ASKED: usize = 1 << 21;

/// Heap key: the bits of a distance of at least 0, which sort like the distance; then the sink.
type HeapKey = Reverse<(u64, u32)>;

/// State of the augmentation: arcs in compressed rows, with flows, dual values and prices.
pub(super) struct Augment {
    start: Vec<usize>,
    arcs: Vec<(u32, f64)>,
    pub(super) duals: Vec<f64>,
    pub(super) prices: Vec<f64>,
    /// Sources and flows into every sink.
    stays: Vec<Vec<(u32, i128)>>,
    /// Supply of every source that does not flow.
    excess: Vec<i128>,
    /// Unmet demand of every sink.
    lack: Vec<i128>,
    search: PathSearch,
    /// Number of paths found.
    pub(super) found: usize,
    /// Number of arcs scanned for them.
    scanned: usize,
}

/// Search for the nearest sink with unmet demand; entries of other rounds are stale.
#[derive(Default)]
struct PathSearch {
    round: u32,
    /// Tentative distance of every sink.
    distance: Vec<f64>,
    /// Predecessor of every sink.
    before: Vec<u32>,
    /// Round in which every sink was last reached.
    seen: Vec<u32>,
    /// Round in which every sink was last settled.
    done: Vec<u32>,
    /// Predecessor of every source.
    via: Vec<u32>,
    /// Round in which every source was last reached.
    reached: Vec<u32>,
    /// Sinks settled in this round.
    settled: Vec<u32>,
    /// Sources reached in this round, with their distances.
    sources: Vec<(u32, f64)>,
    heap: BinaryHeap<HeapKey>,
}

impl Augment {
    /// Creates the state from masses in quanta with equal totals, flows on arcs that are set later,
    /// and prices of sinks.
    pub(super) fn new([supply, demand]: [&[i128]; 2], flows: &[Flow], prices: Vec<f64>) -> Self {
        let (n, m) = (supply.len(), demand.len());
        let search = PathSearch {
            distance: vec![0.0; m],
            before: vec![0; m],
            seen: vec![0; m],
            done: vec![0; m],
            via: vec![0; n],
            reached: vec![0; n],
            ..PathSearch::default()
        };
        let mut paths = Self {
            start: vec![0; n + 1],
            arcs: Vec::new(),
            duals: vec![0.0; n],
            prices,
            stays: vec![Vec::new(); m],
            excess: supply.to_vec(),
            lack: demand.to_vec(),
            search,
            found: 0,
            scanned: 0,
        };
        for &(i, j, flow) in flows {
            paths.stays[j as usize].push((i, flow));
            paths.excess[i as usize] -= flow;
            paths.lack[j as usize] -= flow;
        }
        paths
    }

    /// Replaces the arcs by these, sorted by source. Withdraws flows whose reduced costs exceed
    /// `slack`.
    pub(super) fn set_arcs(&mut self, arcs: &[(u32, u32, f64)], slack: f64) {
        self.start.fill(0);
        for &(i, ..) in arcs {
            self.start[i as usize + 1] += 1;
        }
        for i in 1..self.start.len() {
            self.start[i] += self.start[i - 1];
        }
        self.arcs.clear();
        self.arcs.extend(arcs.iter().map(|&(_, j, cost)| (j, cost)));
        self.refresh_duals();
        for (j, stays) in self.stays.iter_mut().enumerate() {
            stays.retain(|&(i, flow)| {
                let i = i as usize;
                let row = &self.arcs[self.start[i]..self.start[i + 1]];
                let cost =
                    row.iter().find(|arc| arc.0 as usize == j).map_or(f64::INFINITY, |a| a.1);
                let is_best = cost + self.prices[j] <= self.duals[i] + slack;
                if !is_best {
                    self.excess[i] += flow;
                    self.lack[j] += flow;
                }
                is_best
            });
        }
    }

    /// Computes the dual value of every source: the least cost + price of its arcs.
    pub(super) fn refresh_duals(&mut self) {
        let rows = self.start.windows(2).map(|ends| &self.arcs[ends[0]..ends[1]]);
        for (dual, row) in self.duals.iter_mut().zip(rows) {
            let sums = row.iter().map(|&(j, cost)| cost + self.prices[j as usize]);
            *dual = sums.fold(f64::INFINITY, f64::min);
        }
    }

    /// Augments until all mass is placed. Returns false if there is no path, or if it takes too
    /// long.
    ///
    /// # Errors
    /// `Canceled`.
    pub(super) fn run(&mut self, keep_going: &KeepGoing<'_>) -> Result<bool> {
        let mut asked = self.scanned;
        for i in 0..self.excess.len() {
            while self.excess[i] > 0 {
                let Some(sink) = self.find(i as u32) else { return Ok(false) };
                self.send(i as u32, sink);
                self.found += 1;
                if self.scanned - asked >= ASKED {
                    check_canceled(keep_going)?;
                    asked = self.scanned;
                }
                if self.scanned > MOST_SCANNED * self.arcs.len() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Finds the nearest sink with unmet demand, and raises dual values and prices on the way
    /// there.
    fn find(&mut self, from: u32) -> Option<u32> {
        let Self { start, arcs, duals, prices, stays, lack, search, .. } = self;
        search.round += 1;
        let round = search.round;
        search.heap.clear();
        search.settled.clear();
        search.sources.clear();
        search.sources.push((from, 0.0));
        search.reached[from as usize] = round;
        let (mut best, mut nearest, mut next, mut scanned) = (f64::INFINITY, None, 0, 0);
        loop {
            while let Some(&(i, at)) = search.sources.get(next) {
                next += 1;
                let row = &arcs[start[i as usize]..start[i as usize + 1]];
                scanned += row.len();
                let base = at - duals[i as usize];
                for &(j, cost) in row {
                    let sink = j as usize;
                    let distance = (base + (cost + prices[sink])).max(at);
                    let is_new = search.seen[sink] != round;
                    if distance < best && (is_new || distance < search.distance[sink]) {
                        search.seen[sink] = round;
                        search.distance[sink] = distance;
                        search.before[sink] = i;
                        if lack[sink] > 0 {
                            (best, nearest) = (distance, Some(j));
                        } else {
                            search.heap.push(Reverse((distance.to_bits(), j)));
                        }
                    }
                }
            }
            let Some(Reverse((bits, j))) = search.heap.pop() else { break };
            let (distance, sink) = (f64::from_bits(bits), j as usize);
            if distance >= best {
                break;
            }
            if search.done[sink] == round {
                continue;
            }
            search.done[sink] = round;
            search.settled.push(j);
            for &(i, _) in &stays[sink] {
                if search.reached[i as usize] != round {
                    search.reached[i as usize] = round;
                    search.via[i as usize] = j;
                    search.sources.push((i, distance));
                }
            }
        }
        self.scanned += scanned;
        nearest?;
        for &j in &search.settled {
            prices[j as usize] += best - search.distance[j as usize];
        }
        for &(i, at) in &search.sources {
            duals[i as usize] += best - at;
        }
        nearest
    }

    /// Sends as much as possible along the last path found.
    fn send(&mut self, from: u32, to: u32) {
        let mut most = self.excess[from as usize].min(self.lack[to as usize]);
        let mut sink = to;
        loop {
            let source = self.search.before[sink as usize];
            if source == from {
                break;
            }
            sink = self.search.via[source as usize];
            let stay = self.stays[sink as usize].iter().find(|stay| stay.0 == source);
            most = most.min(stay.map_or(0, |stay| stay.1));
        }
        self.excess[from as usize] -= most;
        self.lack[to as usize] -= most;
        let mut sink = to;
        loop {
            let source = self.search.before[sink as usize];
            let stays = &mut self.stays[sink as usize];
            match stays.iter_mut().find(|stay| stay.0 == source) {
                Some(stay) => stay.1 += most,
                None => stays.push((source, most)),
            }
            if source == from {
                break;
            }
            sink = self.search.via[source as usize];
            let stays = &mut self.stays[sink as usize];
            let at = stays.iter().position(|stay| stay.0 == source).expect("it was sent through");
            stays[at].1 -= most;
            if stays[at].1 == 0 {
                stays.swap_remove(at);
            }
        }
    }

    /// Returns all flows.
    pub(super) fn flows(&self) -> impl Iterator<Item = Flow> + '_ {
        let stays = self.stays.iter().zip(0..);
        stays.flat_map(|(stays, j)| stays.iter().map(move |&(i, flow)| (i, j, flow)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Returns the least sum of one cost in each row and column, from row `row` on.
    fn least(cost: &[Vec<i64>], row: usize, taken: &mut Vec<bool>) -> i64 {
        if row == cost.len() {
            return 0;
        }
        let mut best = i64::MAX;
        for j in 0..cost.len() {
            if !std::mem::replace(&mut taken[j], true) {
                best = best.min(cost[row][j] + least(cost, row + 1, taken));
                taken[j] = false;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn paths_find_the_best_of_all_permutations(
            n in 1..6usize,
            costs in vec(prop_oneof![0..3i64, 0..1000i64], 36),
            prices in vec(0..500i32, 6),
            is_begun in any::<bool>(),
        ) {
            let cost: Vec<Vec<i64>> = costs.chunks(6).take(n).map(|row| row[..n].to_vec()).collect();
            let arcs: Vec<_> = (0..n * n)
                .map(|k| ((k / n) as u32, (k % n) as u32, cost[k / n][k % n] as f64))
                .collect();
            let flows: Vec<Flow> = (0..n as u32).filter(|_| is_begun).map(|i| (i, i, 7)).collect();
            let prices: Vec<f64> = prices[..n].iter().map(|&price| f64::from(price)).collect();
            let masses = vec![7i128; n];
            let mut paths = Augment::new([&masses, &masses], &flows, prices.clone());
            // A subset of the arcs at first, then all of them.
            let few: Vec<_> = arcs.iter().copied().filter(|arc| arc.1 <= arc.0).collect();
            paths.set_arcs(&few, 0.0);
            prop_assert!(paths.run(&|_| true).unwrap());
            paths.set_arcs(&arcs, 0.0);
            prop_assert!(paths.run(&|_| true).unwrap());
            let (mut given, mut taken, mut value) = (vec![0; n], vec![0; n], 0);
            for (i, j, flow) in paths.flows() {
                let (i, j) = (i as usize, j as usize);
                prop_assert_eq!(flow, 7);
                given[i] += flow;
                taken[j] += flow;
                value += cost[i][j];
                prop_assert_eq!(paths.duals[i], cost[i][j] as f64 + paths.prices[j]);
            }
            prop_assert!(given.iter().chain(&taken).all(|&mass| mass == 7));
            prop_assert_eq!(value, least(&cost, 0, &mut vec![false; n]));
            for (i, j, cost) in arcs {
                prop_assert!(paths.duals[i as usize] <= cost + paths.prices[j as usize]);
            }
            prop_assert!(paths.prices.iter().zip(&prices).all(|(now, first)| now >= first));
        }
    }

    #[test]
    fn no_way_is_no_plan() {
        let masses = [1i128, 1];
        let mut paths = Augment::new([&masses, &masses], &[], vec![0.0; 2]);
        paths.set_arcs(&[(0, 0, 1.0), (1, 0, 1.0)], 0.0);
        assert!(!paths.run(&|_| true).unwrap());
    }
}
