//! Node contraction, least important node first.
//!
//! Contracting a node v adds shortcuts between its neighbors a and b, of length ℓ(a, v) + ℓ(v, b),
//! unless a path that avoids v (a witness) is as short. Distances between the remaining nodes do
//! not change. The order affects speed alone. Nodes are preferred that add few arcs relative to
//! those they remove, whose arcs represent few edges, and whose neighbors were not contracted
//! before, so that contraction spreads evenly over the graph.
//!
//! The witness search gives up after [`MOST_SETTLED`] nodes. An unnecessary shortcut costs time; no
//! necessary one is ever missing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Result;
use crate::metric::graph::{Heap, pop_nearest};
use crate::progress::Counter;

/// An arc to a neighbor that represents some number of edges of the graph.
#[derive(Clone, Copy)]
struct Link {
    to: u32,
    edges: u32,
    length: f64,
}

/// A shortcut between two neighbors of the contracted node.
type Shortcut = (u32, Link);

/// State of a contraction: the remaining graph, and the contracted nodes.
pub(super) struct Contraction {
    /// Remaining neighbors; for a contracted node, its neighbors at that moment.
    links: Vec<Vec<Link>>,
    /// Contracted nodes in order.
    pub(super) order: Vec<u32>,
    /// Length of the longest chain of contractions below a node.
    level: Vec<u32>,
    contracted: Vec<bool>,
    /// Number of links of the remaining nodes; each link counts at both ends.
    remaining: usize,
    search: WitnessSearch,
}

/// Workspace of a witness search; `distance` is infinite except at the nodes in `touched`.
struct WitnessSearch {
    distance: Vec<f64>,
    /// Longest path to a node that makes a shortcut unnecessary; −1 for nodes that are not targets.
    limit: Vec<f64>,
    /// Number of targets without a witness so far.
    open: usize,
    touched: Vec<u32>,
    heap: Heap,
}

impl Contraction {
    /// Contracts nodes until the rest, the core, is so dense that contraction does not pay off.
    pub(super) fn new(
        nodes: usize,
        edges: &[(u32, u32, f64)],
        counter: &Counter<'_>,
    ) -> Result<Self> {
        let mut links = vec![Vec::new(); nodes];
        for &(a, b, length) in edges {
            links[a as usize].push(Link { to: b, edges: 1, length });
            links[b as usize].push(Link { to: a, edges: 1, length });
        }
        let search = WitnessSearch {
            distance: vec![f64::INFINITY; nodes],
            limit: vec![-1.0; nodes],
            open: 0,
            touched: vec![],
            heap: Heap::new(),
        };
        let mut this = Self {
            links,
            order: Vec::with_capacity(nodes),
            level: vec![0; nodes],
            contracted: vec![false; nodes],
            remaining: 2 * edges.len(),
            search,
        };
        this.run(counter)?;
        Ok(this)
    }

    /// Returns the neighbors of a node with the lengths of the links.
    pub(super) fn links(&self, node: u32) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
        self.links[node as usize].iter().map(|link| (link.to, link.length))
    }

    pub(super) fn is_contracted(&self, node: usize) -> bool {
        self.contracted[node]
    }

    /// Contracts nodes by priority; priorities are updated lazily, when a node reaches the top.
    fn run(&mut self, counter: &Counter<'_>) -> Result<()> {
        let mut shortcuts = Vec::new();
        if self.has_hubs() {
            return Ok(());
        }
        let most_links = self.remaining + self.remaining / 4;
        let mut queue = BinaryHeap::with_capacity(self.links.len());
        for v in 0..self.links.len() as u32 {
            // Initial estimate: every pair of neighbors needs a shortcut.
            let links = self.links[v as usize].len() as u64;
            queue.push(Reverse((1000 * links.saturating_sub(1), v)));
        }
        let mut visited = 0usize;
        while let Some(Reverse((_, v))) = queue.pop() {
            visited += 1;
            if visited.is_multiple_of(COUNTED) {
                counter.add(0)?;
            }
            if self.remaining > most_links {
                return Ok(());
            }
            if self.links[v as usize].len() > MOST_LINKS {
                continue; // such a node stays in the core
            }
            let priority = self.priority(v, &mut shortcuts);
            if queue.peek().is_some_and(|next| (priority, v) > next.0) {
                queue.push(Reverse((priority, v)));
                continue;
            }
            self.contract(v, &shortcuts);
            if self.order.len().is_multiple_of(COUNTED) {
                counter.add(COUNTED)?;
            }
        }
        Ok(())
    }

    /// Returns whether scans of hubs would take longer than the searches that they save.
    fn has_hubs(&self) -> bool {
        let squares = |list: &Vec<Link>| (list.len() as u64).saturating_mul(list.len() as u64);
        let all: u64 = self.links.iter().map(squares).fold(0, u64::saturating_add);
        all > MOST_SQUARES * (self.links.len() + self.remaining) as u64
    }

    /// Computes the priority of a node (small ones go first) and the shortcuts it needs now.
    fn priority(&mut self, v: u32, shortcuts: &mut Vec<Shortcut>) -> u64 {
        shortcuts.clear();
        let links = std::mem::take(&mut self.links[v as usize]);
        for (k, from) in links.iter().enumerate() {
            self.shortcuts_from(v, from, &links[k + 1..], shortcuts);
        }
        let removed = links.len() as u64;
        let removed_edges: u64 = links.iter().map(|link| u64::from(link.edges)).sum();
        let added = shortcuts.len() as u64;
        let added_edges: u64 = shortcuts.iter().map(|s| u64::from(s.1.edges)).sum();
        self.links[v as usize] = links;
        let share = |added: u64, removed: u64| 1000 * added / removed.max(1);
        1000 * u64::from(self.level[v as usize])
            + share(added, removed)
            + share(added_edges, removed_edges)
    }

    /// Finds the shortcuts from one neighbor of `v` to others without a witness path around `v`.
    fn shortcuts_from(&mut self, v: u32, from: &Link, to: &[Link], out: &mut Vec<Shortcut>) {
        if to.is_empty() {
            return;
        }
        for link in to {
            self.search.limit[link.to as usize] = from.length + link.length;
        }
        self.search.open = to.len();
        let farthest = to.iter().map(|link| link.length).fold(0.0, f64::max) + from.length;
        self.search.find_witnesses(v, from.to, farthest, &self.links);
        for link in to {
            let length = self.search.limit[link.to as usize];
            if length >= 0.0 {
                let edges = from.edges.saturating_add(link.edges);
                out.push((from.to, Link { to: link.to, edges, length }));
                self.search.limit[link.to as usize] = -1.0;
            }
        }
    }

    fn contract(&mut self, v: u32, shortcuts: &[Shortcut]) {
        let links = std::mem::take(&mut self.links[v as usize]);
        let level = self.level[v as usize] + 1;
        self.remaining -= 2 * links.len();
        for link in &links {
            let to = link.to as usize;
            self.level[to] = self.level[to].max(level);
            let place = self.links[to].iter().position(|back| back.to == v);
            self.links[to].swap_remove(place.expect("links go both ways"));
        }
        for &(from, link) in shortcuts {
            self.join(from, link);
            self.join(link.to, Link { to: from, ..link });
        }
        self.links[v as usize] = links;
        self.contracted[v as usize] = true;
        self.order.push(v);
    }

    /// Adds a link, or replaces an existing one, which was longer or was itself a witness.
    fn join(&mut self, from: u32, link: Link) {
        let links = &mut self.links[from as usize];
        if let Some(known) = links.iter_mut().find(|known| known.to == link.to) {
            *known = link;
        } else {
            links.push(link);
            self.remaining += 1;
        }
    }
}

impl WitnessSearch {
    /// Searches witness paths that avoid `v`, up to length `farthest` and [`MOST_SETTLED`] nodes.
    fn find_witnesses(&mut self, v: u32, from: u32, farthest: f64, links: &[Vec<Link>]) {
        self.decrease(from, 0.0);
        let mut settled = 0;
        while let Some((node, here)) = pop_nearest(&mut self.heap, &self.distance) {
            settled += 1;
            for link in &links[node] {
                let through = here + link.length;
                if link.to != v && through <= farthest && through < self.distance[link.to as usize]
                {
                    self.decrease(link.to, through);
                }
            }
            if self.open == 0 || settled == MOST_SETTLED {
                break;
            }
        }
        self.heap.clear();
        for node in self.touched.drain(..) {
            self.distance[node as usize] = f64::INFINITY;
        }
    }

    fn decrease(&mut self, node: u32, distance: f64) {
        let at = node as usize;
        if self.distance[at].is_infinite() {
            self.touched.push(node);
        }
        self.distance[at] = distance;
        if distance <= self.limit[at] {
            self.limit[at] = -1.0;
            self.open -= 1;
        }
        self.heap.push(Reverse((distance.to_bits(), node)));
    }
}

/// Nodes between two progress reports.
const COUNTED: usize = 256;

/// Largest number of nodes that a witness search settles.
const MOST_SETTLED: usize = 60;

/// Mean squared number of neighbors up to which a graph is contracted.
const MOST_SQUARES: u64 = 500;

/// Nodes with more neighbors stay in the core.
const MOST_LINKS: usize = 48;
