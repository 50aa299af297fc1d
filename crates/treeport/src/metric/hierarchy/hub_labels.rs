//! Hub labels: the distance between any two nodes in a fraction of a microsecond.
//!
//! The label of a node lists some nodes above it, its hubs, with their distances. A shortest path
//! between any two nodes passes a common hub (Cohen, Halperin, Kaplan, Zwick 2003; from a
//! hierarchy: Abraham, Delling, Goldberg, Werneck 2012). Labels are computed from high to low: the
//! candidates of a node are the node itself and the hubs of the nodes directly above it; a
//! candidate is pruned if the path over another hub is shorter.
//!
//! # Invariant
//! Pruning requires that the other path is shorter by more than [`rounding::PATHS`]. Rounding
//! therefore prunes no hub of a shortest path of fewer than some thousand arcs of the hierarchy,
//! and distances are those of a search up to rounding.
//!
//! # Complexity
//! About 50 to 100 hubs per node on roads. Computing a label takes the product of the number of
//! candidates and the length of their labels: seconds for New York's roads (264,346 nodes).

use super::Hierarchy;
use crate::error::Result;
use crate::memory;
use crate::metric::graph::{Graph, Heap};
use crate::numeric::rounding;
use crate::progress::tasks::PATHS;
use crate::progress::{Counter, Progress};

/// Hubs and their distances, for every position of a hierarchy.
pub(crate) struct HubLabels {
    position: Vec<u32>,
    /// Bounds of the label of a position; labels are stored from high positions to low ones.
    start: Vec<usize>,
    end: Vec<usize>,
    hub: Vec<u32>,
    distance: Vec<f64>,
}

impl Hierarchy {
    /// Computes the labels of all nodes, or `None` if the core is too large for short labels.
    pub(in crate::metric) fn hub_labels(
        &self,
        progress: &Progress<'_>,
    ) -> Result<Option<HubLabels>> {
        let n = self.position.len();
        if n - self.core > MOST_CORE {
            return Ok(None);
        }
        let counter = Counter::new(PATHS, n, progress);
        let mut labels = HubLabels {
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

    /// Computes the distances from a position of the core to all of the core.
    fn in_core(&self, position: usize) -> Vec<f64> {
        let mut distance = vec![f64::INFINITY; self.position.len() - self.core];
        distance[position - self.core] = 0.0;
        self.search_core(&mut distance, &mut Heap::new());
        distance
    }
}

/// Largest core for labels: its nodes are mutual hubs and occur in every label.
const MOST_CORE: usize = 100;

/// Number of landmarks of a graph without a hierarchy.
const LANDMARKS: usize = 64;

/// Nodes between two progress reports.
const COUNTED: usize = 256;

/// Candidate hubs of a node; `distance` is infinite except at the nodes in `hubs`.
struct Candidates {
    distance: Vec<f64>,
    hubs: Vec<u32>,
}

impl Candidates {
    fn add(&mut self, hub: u32, distance: f64) {
        let known = &mut self.distance[hub as usize];
        if known.is_infinite() {
            self.hubs.push(hub);
        }
        *known = known.min(distance);
    }

    /// Collects the hubs of the positions directly above, and the position itself.
    fn collect(&mut self, hierarchy: &Hierarchy, labels: &HubLabels, position: usize) {
        if position >= hierarchy.core {
            let distances = hierarchy.in_core(position);
            (hierarchy.core as u32..).zip(distances).for_each(|(hub, d)| self.add(hub, d));
            return;
        }
        self.add(position as u32, 0.0);
        for (up, length) in hierarchy.arcs(position) {
            for (hub, distance) in labels.of(up) {
                self.add(hub, length + distance);
            }
        }
        self.hubs.sort_unstable();
    }

    /// Appends the candidates that are not pruned as a label, and clears the candidates.
    fn store(&mut self, labels: &mut HubLabels, position: usize) -> Result<()> {
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

/// Advice if labels do not fit into memory.
const INSTEAD: &str = "use single linkage, which needs the edges alone";

impl HubLabels {
    /// Iterates over the hubs of a position, lowest first, with their distances.
    fn of(&self, position: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let row = self.start[position]..self.end[position];
        self.hub[row.clone()].iter().copied().zip(self.distance[row].iter().copied())
    }

    /// Computes the distance between two nodes.
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

    /// Computes the distances of all nodes to a few landmarks, as labels: the shortest path over a
    /// landmark is an upper bound of a distance. Each landmark is the node farthest from those
    /// before it.
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

    /// Returns the mean number of hubs per node.
    #[cfg(test)]
    pub(super) fn mean_length(&self) -> f64 {
        self.hub.len() as f64 / self.position.len() as f64
    }
}
