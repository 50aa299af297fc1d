//! A label for every node: the distance between any two in a fraction of a microsecond.
//!
//! The label of a node lists some nodes above it, its hubs, and how far they are, so that a
//! shortest path between any two nodes passes a hub that both have (Cohen, Halperin, Kaplan, Zwick
//! 2003; from a hierarchy: Abraham, Delling, Goldberg, Werneck 2012). From high to low: the hubs of a
//! node are those of the nodes right above it and itself, without those to which its other hubs
//! know a shorter way.
//!
//! # Invariant
//! Left out is only what is longer than a path by more than [`rounding::PATHS`], so that rounding takes no hub
//! from a shortest path of fewer than some thousand arcs of the hierarchy: distances are those of a
//! search up to rounding.
//!
//! # Complexity
//! Some 50 to 100 hubs a node on roads. It takes the product of a node's candidates and their labels
//! to make one: New York's roads (264,346 nodes) in seconds.

use super::Hierarchy;
use crate::error::Result;
use crate::memory;
use crate::metric::graph::{Graph, Heap};
use crate::progress::{Counter, Progress};
use crate::rounding;
use crate::steps::PATHS;

/// Hubs and their distances, of every position of a hierarchy.
pub(crate) struct Labels {
    position: Vec<u32>,
    /// Where the label of a position is; labels lie from high positions to low ones.
    start: Vec<usize>,
    end: Vec<usize>,
    hub: Vec<u32>,
    distance: Vec<f64>,
}

impl Hierarchy {
    /// The labels of all nodes; nothing where the core is too large for labels to be short.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), and [`Error::Cancelled`](crate::Error::Cancelled) when
    /// `progress`, which counts nodes, asks to stop.
    pub(in crate::metric) fn labels(&self, progress: &Progress<'_>) -> Result<Option<Labels>> {
        let n = self.position.len();
        if n - self.core > MOST_CORE {
            return Ok(None);
        }
        let counter = Counter::new(PATHS, n, progress);
        let mut labels = Labels {
            position: self.position.clone(),
            start: vec![0; n],
            end: vec![0; n],
            hub: Vec::new(),
            distance: Vec::new(),
        };
        let mut candidates = Candidates { distance: vec![f64::INFINITY; n], hubs: Vec::new() };
        for position in (0..n).rev() {
            candidates.collect(self, &labels, position);
            candidates.store(&mut labels, position)?;
            if position.is_multiple_of(COUNTED) {
                counter.add(COUNTED.min(n - position))?;
            }
        }
        Ok(Some(labels))
    }

    /// The distances from a position of the core to all of the core.
    fn in_core(&self, position: usize) -> Vec<f64> {
        let mut distance = vec![f64::INFINITY; self.position.len() - self.core];
        distance[position - self.core] = 0.0;
        self.search_core(&mut distance, &mut Heap::new());
        distance
    }
}

/// Nodes of a core that may have each other as hubs: all of them are in every label.
const MOST_CORE: usize = 100;

/// Landmarks of a graph without a hierarchy.
const LANDMARKS: usize = 64;

/// Nodes between two reports.
const COUNTED: usize = 256;

/// Hubs that a node may have; `distance` is infinite wherever `hubs` does not say otherwise.
struct Candidates {
    distance: Vec<f64>,
    hubs: Vec<u32>,
}

impl Candidates {
    fn offer(&mut self, hub: u32, distance: f64) {
        let known = &mut self.distance[hub as usize];
        if known.is_infinite() {
            self.hubs.push(hub);
        }
        *known = known.min(distance);
    }

    /// The hubs of the positions right above, and the position itself.
    fn collect(&mut self, hierarchy: &Hierarchy, labels: &Labels, position: usize) {
        if position >= hierarchy.core {
            let distances = hierarchy.in_core(position);
            (hierarchy.core as u32..).zip(distances).for_each(|(hub, d)| self.offer(hub, d));
            return;
        }
        self.offer(position as u32, 0.0);
        for (up, length) in hierarchy.arcs(position) {
            for (hub, distance) in labels.of(up) {
                self.offer(hub, length + distance);
            }
        }
        self.hubs.sort_unstable();
    }

    /// Appends those to which no other knows a shorter way, and forgets all.
    fn store(&mut self, labels: &mut Labels, position: usize) -> Result<()> {
        let step = format_args!("the labels of a graph of {} nodes", labels.position.len());
        memory::grow(&mut labels.hub, step, self.hubs.len(), INSTEAD)?;
        memory::grow(&mut labels.distance, step, self.hubs.len(), INSTEAD)?;
        labels.start[position] = labels.hub.len();
        for &hub in &self.hubs {
            let here = self.distance[hub as usize];
            let limit = here - rounding::PATHS * here;
            let around = |(other, rest): (u32, f64)| self.distance[other as usize] + rest < limit;
            if hub as usize == position || !labels.of(hub as usize).any(around) {
                labels.hub.push(hub);
                labels.distance.push(here);
            }
        }
        labels.end[position] = labels.hub.len();
        for hub in self.hubs.drain(..) {
            self.distance[hub as usize] = f64::INFINITY;
        }
        Ok(())
    }
}

/// What to do without labels.
const INSTEAD: &str = "take single linkage, which looks at the edges alone";

impl Labels {
    /// Hubs, lowest first, and their distances.
    fn of(&self, position: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = self.start[position]..self.end[position];
        self.hub[row.clone()].iter().copied().zip(self.distance[row].iter().copied())
    }

    /// The distance between two nodes.
    pub(crate) fn between(&self, a: u32, b: u32) -> f64 {
        let row = |v: u32| {
            let position = self.position[v as usize] as usize;
            let row = self.start[position]..self.end[position];
            (&self.hub[row.clone()], &self.distance[row])
        };
        let ((a, from_a), (b, from_b)) = (row(a), row(b));
        let (mut i, mut j, mut best) = (0, 0, f64::INFINITY);
        while i < a.len() && j < b.len() {
            let (left, right) = (a[i], b[j]);
            if left == right {
                best = best.min(from_a[i] + from_b[j]);
            }
            i += usize::from(left <= right);
            j += usize::from(right <= left);
        }
        best
    }

    /// Distances to a few nodes, the same for all: what a path past one of them takes, which is at
    /// least the distance. The next landmark is the node farthest from those before it.
    pub(in crate::metric) fn of_landmarks(graph: &Graph, counter: &Counter<'_>) -> Result<Self> {
        let n = graph.len();
        let count = LANDMARKS.min(n);
        let step = format_args!("the labels of a graph of {n} nodes");
        memory::check(step, memory::size_of::<(f64, u32)>(&[n, count]), INSTEAD)?;
        let mut distance: Vec<f64> = memory::zeros(step, n * count, INSTEAD)?;
        let (mut row, mut heap) = (vec![0.0; n], Heap::new());
        let (mut nearest, mut landmark) = (vec![f64::INFINITY; n], 0);
        for k in 0..count {
            graph.search(landmark, None, &mut row, &mut heap);
            for (v, &d) in row.iter().enumerate() {
                distance[v * count + k] = d;
                nearest[v] = nearest[v].min(d);
            }
            let farther = |best: usize, v: usize| if nearest[v] > nearest[best] { v } else { best };
            landmark = (0..n).fold(landmark, farther);
            counter.add(0)?;
        }
        Ok(Self {
            position: (0..n as u32).collect(),
            start: (0..n).map(|v| v * count).collect(),
            end: (1..=n).map(|v| v * count).collect(),
            hub: (0..n).flat_map(|_| 0..count as u32).collect(),
            distance,
        })
    }

    /// Hubs of a node in the mean.
    #[cfg(test)]
    pub(super) fn mean_length(&self) -> f64 {
        self.hub.len() as f64 / self.position.len() as f64
    }
}
