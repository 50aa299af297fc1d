//! Successive shortest augmenting paths between few points on one side and many on the other.
//!
//! In an optimal plan nearly all of the many points exchange mass with one of the few alone. So
//! each is assigned to the few point with the least cost − price, and then mass moves from few
//! points with an excess to few points with a deficit along shortest paths. A residual arc from i
//! to k reassigns mass at one of the many points from i to k, at the difference of the two costs. A
//! heap for each i and k returns the cheapest residual arc.
//!
//! Prices are first computed on samples of the many points, so that few augmentations remain.
//!
//! # Exactness
//! Masses are the integers of [`integer_mass`](super::integer_mass), and costs are only added and
//! compared. In the end the prices are recomputed as shortest paths between the few points. As with
//! the simplex, the caller checks the certificate.
//!
//! # Complexity
//! With f points on one side and N on the other: O(f·N) time for the first assignment, O(f·N)
//! memory for the heaps, and O(f² + f·log N) for each of about N augmentations.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::flow_lists::FlowLists;
use super::price::Cost;
use super::{KeepGoing, PIVOTS_PER_CHECK, check_canceled};
use crate::error::Result;
use crate::memory;

/// Costs between the few and the many points, in either layout of a table.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) cost: &'a [f64],
    /// Strides between neighbors of the few and of the many points.
    pub(super) strides: (usize, usize),
}

impl Table<'_> {
    #[inline]
    fn at(self, few: usize, many: usize) -> f64 {
        self.cost[few * self.strides.0 + many * self.strides.1]
    }
}

/// The solver of a lopsided problem.
#[derive(Debug, Default)]
pub(super) struct Lopsided {
    few: usize,
    /// Prices of the few points: each of the many prefers the least cost − price.
    pub(super) price: Vec<f64>,
    /// Excess of each few point; negative for a deficit.
    excess: Vec<i128>,
    pub(super) flows: FlowLists,
    /// Residual arcs from few point i to few point k, at i·few + k; some are stale.
    residual: Vec<BinaryHeap<ResidualArc>>,
    /// Least cost of the residual arcs from i to k.
    least: Vec<f64>,
    /// Tentative distances of the search for a shortest path.
    distance: Vec<f64>,
    /// Distances of the points that are not scanned; infinite for the others.
    open: Vec<f64>,
    /// Predecessors on shortest paths.
    parent: Vec<u64>,
    zeros: Vec<f64>,
    /// Number of augmenting paths.
    pub(super) paths: usize,
}

const NO_PARENT: u64 = u64::MAX;

/// A residual arc over one of the many points; the cheapest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ResidualArc {
    cost: f64,
    many: u32,
}

impl Eq for ResidualArc {}

impl PartialOrd for ResidualArc {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ResidualArc {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.many.cmp(&self.many))
    }
}

/// Ratio of the sizes of successive samples of the many points.
const SAMPLE_RATIO: usize = 8;

/// Fewest points of a sample, for each few point.
const SAMPLE: usize = 16;

impl Lopsided {
    /// Solves a balanced problem; returns false if it takes too long or too much memory.
    pub(super) fn solve(
        &mut self,
        (few, many): (&[i128], &[i128]),
        table: Table<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        let step = format_args!("transport between few and many points");
        let bytes = memory::size_of::<ResidualArc>(&[few.len(), many.len()]);
        if memory::check(step, bytes, "").is_err() {
            return Ok(false);
        }
        self.few = few.len();
        for numbers in [&mut self.price, &mut self.distance, &mut self.open, &mut self.zeros] {
            numbers.clear();
            numbers.resize(few.len(), 0.0);
        }
        self.parent.resize(few.len(), NO_PARENT);
        let mut stride = 1;
        while many.len() / (stride * SAMPLE_RATIO) >= SAMPLE * few.len() {
            stride *= SAMPLE_RATIO;
        }
        while stride > 1 {
            self.solve_sample((few, many), table, stride, keep_going)?;
            stride /= SAMPLE_RATIO;
        }
        if !self.solve_from_prices(few, many, table, keep_going)? {
            return Ok(false);
        }
        self.recompute_prices();
        Ok(true)
    }

    /// Estimates prices from every `stride`-th of the many points.
    fn solve_sample(
        &mut self,
        (few, many): (&[i128], &[i128]),
        table: Table<'_>,
        stride: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<()> {
        let sample: Vec<i128> = many.iter().step_by(stride).copied().collect();
        let (all, some): (i128, i128) = (few.iter().sum(), sample.iter().sum());
        let share = some as f64 / all as f64;
        let mut few: Vec<i128> = few.iter().map(|&mass| (mass as f64 * share) as i128).collect();
        let missing = some - few.iter().sum::<i128>();
        if let Some(largest) = few.iter_mut().max() {
            *largest += missing;
        }
        let strides = (table.strides.0, table.strides.1 * stride);
        self.solve_from_prices(&few, &sample, Table { strides, ..table }, keep_going).map(drop)
    }

    /// Augments until no few point has an excess or a deficit.
    fn solve_from_prices(
        &mut self,
        few: &[i128],
        many: &[i128],
        table: Table<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        self.assign(few, many, table);
        self.paths = 0;
        let most = 1000 + MOST_PATHS * many.len();
        while let Some(end) = self.shortest_path() {
            if self.paths == most {
                return Ok(false);
            }
            self.augment(end, table);
            self.paths += 1;
            if self.paths.is_multiple_of(PIVOTS_PER_CHECK) {
                check_canceled(keep_going)?;
            }
        }
        Ok(self.excess.iter().all(|&excess| excess == 0))
    }

    /// Assigns each of the many points to the few point with the least cost − price.
    fn assign(&mut self, few: &[i128], many: &[i128], table: Table<'_>) {
        self.excess.clear();
        self.excess.extend(few.iter().map(|mass| -mass));
        self.flows.clear();
        let mut assigned = vec![0; self.few];
        for (j, &mass) in many.iter().enumerate() {
            let mut best = (f64::INFINITY, 0);
            for (i, price) in self.price.iter().enumerate() {
                let cost = table.at(i, j) - price;
                best = if cost < best.0 { (cost, i) } else { best };
            }
            self.flows.push(best.1, mass);
            self.excess[best.1] += mass;
            assigned[best.1] += 1;
        }
        let mut arcs: Vec<Vec<ResidualArc>> = Vec::with_capacity(self.few * self.few);
        for &count in &assigned {
            arcs.extend((0..self.few).map(|_| Vec::with_capacity(count)));
        }
        for (from, j, _) in self.flows.iter() {
            let old = table.at(from, j);
            for to in (0..self.few).filter(|&to| to != from) {
                let cost = table.at(to, j) - old;
                arcs[from * self.few + to].push(ResidualArc { cost, many: j as u32 });
            }
        }
        self.residual.clear();
        self.residual.extend(arcs.into_iter().map(BinaryHeap::from));
        self.least.clear();
        self.least.extend(self.residual.iter().map(least_cost));
    }

    /// Finds the deficit nearest to an excess by Dijkstra's algorithm on reduced costs, and updates
    /// the prices so that these stay at least 0 and become 0 on the path. `None` without deficits.
    fn shortest_path(&mut self) -> Option<usize> {
        self.parent.fill(NO_PARENT);
        for (distance, &excess) in self.distance.iter_mut().zip(&self.excess) {
            *distance = if excess > 0 { 0.0 } else { f64::INFINITY };
        }
        self.open.copy_from_slice(&self.distance);
        let end = loop {
            let distance = f64::least(&self.open, &self.zeros);
            if distance == f64::INFINITY {
                return None;
            }
            let i = f64::find(&self.open, &self.zeros, distance);
            if self.excess[i] < 0 {
                break i;
            }
            self.open[i] = f64::INFINITY;
            self.scan(i, distance);
        };
        let all = self.distance[end];
        for (price, distance) in self.price.iter_mut().zip(&self.distance) {
            *price += if *distance < all { *distance } else { all };
        }
        Some(end)
    }

    /// Relaxes all arcs from the nearest open point; scanned points keep their distances.
    fn scan(&mut self, i: usize, distance: f64) {
        let f = self.few;
        let base = distance + self.price[i];
        let least = &self.least[i * f..][..f];
        let (price, parent) = (&self.price[..f], &mut self.parent[..f]);
        let (shortest, open) = (&mut self.distance[..f], &mut self.open[..f]);
        for k in 0..f {
            let path = base + (least[k] - price[k]);
            // Reduced costs are at least 0 up to rounding.
            let path = if path < distance { distance } else { path };
            let better = path < shortest[k];
            shortest[k] = if better { path } else { shortest[k] };
            open[k] = if better { path } else { open[k] };
            parent[k] = if better { i as u64 } else { parent[k] };
        }
    }

    /// Sends as much mass as possible along the shortest path to `end`.
    fn augment(&mut self, end: usize, table: Table<'_>) {
        let (mut mass, mut to) = (-self.excess[end], end);
        while self.parent[to] != NO_PARENT {
            let from = self.parent[to] as usize;
            let flow = self.flows.get(from, self.cheapest(from, to));
            mass = mass.min(flow.expect("a residual arc has a flow"));
            to = from;
        }
        mass = mass.min(self.excess[to]);
        self.excess[to] -= mass;
        self.excess[end] += mass;
        let mut to = end;
        while self.parent[to] != NO_PARENT {
            let from = self.parent[to] as usize;
            let many = self.cheapest(from, to);
            self.increase(many, to, mass, table);
            self.decrease(many, from, mass);
            to = from;
        }
    }

    /// Returns the point of the cheapest residual arc.
    fn cheapest(&self, from: usize, to: usize) -> usize {
        let arc = self.residual[from * self.few + to].peek();
        arc.expect("paths consist of residual arcs").many as usize
    }

    /// Increases a flow; a new flow gets residual arcs.
    fn increase(&mut self, many: usize, to: usize, mass: i128, table: Table<'_>) {
        if !self.flows.add(to, many, mass) {
            return;
        }
        let old = table.at(to, many);
        for other in (0..self.few).filter(|&other| other != to) {
            let place = to * self.few + other;
            let cost = table.at(other, many) - old;
            self.residual[place].push(ResidualArc { cost, many: many as u32 });
            self.least[place] = self.least[place].min(cost);
        }
    }

    /// Decreases a flow, and removes it with its residual arcs if it becomes 0.
    fn decrease(&mut self, many: usize, from: usize, mass: i128) {
        if self.flows.subtract(from, many, mass) {
            for to in (0..self.few).filter(|&to| to != from) {
                self.drop_stale(from, to);
            }
        }
    }

    /// Drops residual arcs without a flow until the cheapest one has a flow.
    fn drop_stale(&mut self, from: usize, to: usize) {
        let place = from * self.few + to;
        while let Some(arc) = self.residual[place].peek() {
            if self.flows.get(from, arc.many as usize).is_some() {
                break;
            }
            self.residual[place].pop();
        }
        self.least[place] = least_cost(&self.residual[place]);
    }

    /// Recomputes the prices as shortest paths from the first few point, to round less.
    fn recompute_prices(&mut self) {
        let f = self.few;
        self.price.fill(f64::INFINITY);
        self.price[0] = 0.0;
        for _ in 1..f {
            let mut changed = false;
            for i in 0..f {
                for k in 0..f {
                    let path = self.price[i] + self.least[i * f + k];
                    if path < self.price[k] {
                        self.price[k] = path;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
    }
}

/// Most augmenting paths, for each of the many points.
const MOST_PATHS: usize = 8;

fn least_cost(arcs: &BinaryHeap<ResidualArc>) -> f64 {
    arcs.peek().map_or(f64::INFINITY, |arc| arc.cost)
}
