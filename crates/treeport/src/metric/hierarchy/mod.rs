//! Distances between some nodes of a large graph, without a search of all of it.
//!
//! A contraction hierarchy (Geisberger, Sanders, Schultes, Delling 2008): nodes are contracted one
//! after the other and replaced by shortcuts (`contract`); every node keeps its arcs to the nodes
//! contracted later. A shortest path then goes up from its source and down to its target, so that a
//! query visits a few hundred nodes of a road network.
//!
//! There are two kinds of queries. Single pairs search upward from both ends and meet
//! ([`pairs`](Hierarchy::pairs)). Many sources against many targets share the part of the hierarchy
//! above them, which is swept up and down for eight sources at a time (`sweep`, after PHAST:
//! Delling, Goldberg, Nowatzyk, Werneck 2011).
//!
//! Graphs without a hierarchy, such as random ones, soon have more shortcuts than edges.
//! Contraction then stops, and Dijkstra searches the rest, the core. Graphs with hubs are all core.
//!
//! # Rounding
//! Lengths are added up along the same paths as in Dijkstra's search, but shortcuts first, and of
//! two paths whose lengths differ by rounding either may be found. Distances therefore agree with a
//! search up to rounding: usually 10⁻¹⁵ relatively, at most 10⁻¹² in tests. They are the same for
//! any number of threads, and every sum has fewer terms than Dijkstra's.
//!
//! # Complexity
//! New York's roads (264,346 nodes): 5 s to build on one core, 700,000 arcs; Florida's (1,070,376):
//! 10 s and 2.3 million. Street grids are harder: 200 × 200 takes 2 s.

mod climb;
mod contract;
mod hub_labels;
mod sweep;

use std::sync::Mutex;

use climb::Workspace;
use contract::Contraction;
pub(crate) use hub_labels::HubLabels;

use crate::error::Result;
use crate::memory;
use crate::progress::tasks::PATHS;
use crate::progress::{Counter, Progress};

/// Approximate memory of a contraction per node and per edge of a road network, in bytes.
const BYTES: (u64, u64) = (250, 100);

/// Upward arcs of every position; positions are in the order of contraction, the core last.
pub(crate) struct Hierarchy {
    /// Position of every node.
    position: Vec<u32>,
    /// Bounds of the arcs of a position.
    start: Vec<usize>,
    /// Arcs to higher positions; in the core, to all neighbors in the core.
    to: Vec<u32>,
    length: Vec<f64>,
    /// First position of the core.
    core: usize,
    /// Pool of workspaces of finished queries.
    workspaces: Mutex<Vec<Workspace>>,
}

impl Hierarchy {
    /// Contracts a graph whose edges are given once, without loops or parallel edges; counts nodes.
    pub(super) fn new(
        nodes: usize,
        edges: &[(u32, u32, f64)],
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let step = format_args!("the hierarchy of a graph of {nodes} nodes");
        let bytes = BYTES.0 * nodes as u64 + BYTES.1 * edges.len() as u64;
        memory::check(step, bytes, "take a part of the graph")?;
        let counter = Counter::new(PATHS, nodes, progress);
        let contraction = Contraction::new(nodes, edges, &counter)?;
        let core = contraction.order.len();
        let rest = (0..nodes).filter(|&v| !contraction.is_contracted(v)).map(|v| v as u32);
        let order: Vec<u32> = contraction.order.iter().copied().chain(rest).collect();
        let mut position = vec![0; nodes];
        for (at, &v) in order.iter().enumerate() {
            position[v as usize] = at as u32;
        }
        let arcs = order.iter().map(|&v| contraction.links(v).len()).sum();
        let mut this = Self {
            position,
            start: Vec::with_capacity(nodes + 1),
            to: Vec::with_capacity(arcs),
            length: Vec::with_capacity(arcs),
            core,
            workspaces: Mutex::default(),
        };
        this.start.push(0);
        let mut row = Vec::new();
        for &v in &order {
            row.clear();
            row.extend(contraction.links(v).map(|(to, length)| (this.position(to), length)));
            // Arcs in memory order.
            row.sort_unstable_by_key(|arc| arc.0);
            this.to.extend(row.iter().map(|arc| arc.0));
            this.length.extend(row.iter().map(|arc| arc.1));
            this.start.push(this.to.len());
        }
        Ok(this)
    }

    fn position(&self, node: u32) -> u32 {
        self.position[node as usize]
    }

    /// Iterates over the arcs of a position with their lengths.
    #[inline]
    fn arcs(&self, position: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let row = self.start[position]..self.start[position + 1];
        self.to[row.clone()].iter().zip(&self.length[row]).map(|(&to, &d)| (to as usize, d))
    }

    #[cfg(test)]
    fn core_nodes(&self) -> usize {
        self.position.len() - self.core
    }
}

#[cfg(test)]
mod tests;
