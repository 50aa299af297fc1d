//! Nodes taken out of a graph one after the other, least important first.
//!
//! Contracting a node v puts a shortcut of length ℓ(a, v) + ℓ(v, b) between two of its neighbors
//! wherever no path around v is as short; distances between the nodes that remain do not change.
//! Which node is next is a matter of speed alone: one that adds few arcs for those it removes, whose
//! arcs stand for few edges, and whose neighbors were not contracted before it, so that nodes go
//! evenly all over the graph.
//!
//! The search for a path around v gives up after [`MOST_SETTLED`] nodes. A shortcut too many costs
//! time, none is ever missing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::error::Result;
use crate::metric::graph::Heap;
use crate::progress::Counter;

/// A way to a neighbor that stands for so many edges of the graph.
#[derive(Clone, Copy)]
struct Link {
    to: u32,
    edges: u32,
    length: f64,
}

/// A shortcut between two neighbors of the node that is contracted.
type Shortcut = (u32, Link);

/// What is left of a graph, and where everything that was taken out of it went.
pub(super) struct Contraction {
    /// Neighbors that remain; of a contracted node those it had at that moment.
    links: Vec<Vec<Link>>,
    /// Contracted nodes in their order.
    pub(super) order: Vec<u32>,
    /// How many contractions lie below a node, one on another.
    level: Vec<u32>,
    contracted: Vec<bool>,
    /// Links of the nodes that remain, each counted at both ends.
    remaining: usize,
    search: Search,
}

/// The memory of a search: `distance` is infinite wherever `touched` does not say otherwise.
struct Search {
    distance: Vec<f64>,
    /// How long a path to a node may be to make a shortcut needless; −1 where none is looked for.
    enough: Vec<f64>,
    /// Nodes to which a path is still looked for.
    open: usize,
    touched: Vec<u32>,
    heap: Heap,
}

impl Contraction {
    /// Contracts nodes until the rest is so dense that it does not pay; the rest is the core.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled) when `counter`, which counts nodes, asks to stop.
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
        let search = Search {
            distance: vec![f64::INFINITY; nodes],
            enough: vec![-1.0; nodes],
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

    /// Neighbors of a node and the lengths of the ways to them.
    pub(super) fn links(&self, node: u32) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
        self.links[node as usize].iter().map(|link| (link.to, link.length))
    }

    pub(super) fn is_contracted(&self, node: usize) -> bool {
        self.contracted[node]
    }

    /// Priorities are worked out again when a node comes up, and count only then.
    fn run(&mut self, counter: &Counter<'_>) -> Result<()> {
        let mut shortcuts = Vec::new();
        if self.has_hubs() {
            return Ok(());
        }
        let most_links = self.remaining + self.remaining / 4;
        let mut queue = BinaryHeap::with_capacity(self.links.len());
        for v in 0..self.links.len() as u32 {
            // At first as if there were never a path around.
            let links = self.links[v as usize].len() as u64;
            queue.push(Reverse((1000 * links.saturating_sub(1), v)));
        }
        let mut looked_at = 0usize;
        while let Some(Reverse((_, v))) = queue.pop() {
            looked_at += 1;
            if looked_at.is_multiple_of(COUNTED) {
                counter.add(0)?;
            }
            if self.remaining > most_links {
                return Ok(());
            }
            if self.links[v as usize].len() > MOST_LINKS {
                continue; // it stays in the core
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

    /// Whether some nodes have so many neighbors that looking through them again and again takes
    /// longer than the searches that a hierarchy saves: stars, social networks.
    fn has_hubs(&self) -> bool {
        let squares = |list: &Vec<Link>| (list.len() as u64).saturating_mul(list.len() as u64);
        let all: u64 = self.links.iter().map(squares).fold(0, u64::saturating_add);
        all > MOST_SQUARES * (self.links.len() + self.remaining) as u64
    }

    /// How late a node should go, and the shortcuts that it would leave now.
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

    /// Shortcuts from one neighbor of `v` to others of which no path around `v` is as short.
    fn shortcuts_from(&mut self, v: u32, from: &Link, to: &[Link], out: &mut Vec<Shortcut>) {
        if to.is_empty() {
            return;
        }
        for link in to {
            self.search.enough[link.to as usize] = from.length + link.length;
        }
        self.search.open = to.len();
        let farthest = to.iter().map(|link| link.length).fold(0.0, f64::max) + from.length;
        self.search.around(v, from.to, farthest, &self.links);
        for link in to {
            let length = self.search.enough[link.to as usize];
            if length >= 0.0 {
                let edges = from.edges.saturating_add(link.edges);
                out.push((from.to, Link { to: link.to, edges, length }));
                self.search.enough[link.to as usize] = -1.0;
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

    /// Adds a link, or shortens the one that is there: it was longer, or it had been a path around.
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

impl Search {
    /// Looks for short enough paths that do not pass `v`, up to `farthest` and [`MOST_SETTLED`].
    fn around(&mut self, v: u32, from: u32, farthest: f64, links: &[Vec<Link>]) {
        self.reach(from, 0.0);
        let mut settled = 0;
        while let Some(Reverse((bits, node))) = self.heap.pop() {
            let here = f64::from_bits(bits);
            if here > self.distance[node as usize] {
                continue;
            }
            settled += 1;
            for link in &links[node as usize] {
                let through = here + link.length;
                if link.to != v && through <= farthest && through < self.distance[link.to as usize]
                {
                    self.reach(link.to, through);
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

    fn reach(&mut self, node: u32, distance: f64) {
        let at = node as usize;
        if self.distance[at].is_infinite() {
            self.touched.push(node);
        }
        self.distance[at] = distance;
        if distance <= self.enough[at] {
            self.enough[at] = -1.0;
            self.open -= 1;
        }
        self.heap.push(Reverse((distance.to_bits(), node)));
    }
}

/// Nodes between two reports.
const COUNTED: usize = 256;

/// Nodes that a search for a path around a node settles.
const MOST_SETTLED: usize = 60;

/// Mean square of the number of neighbors up to which a graph is contracted.
const MOST_SQUARES: u64 = 500;

/// A node with more neighbors stays in the core.
const MOST_LINKS: usize = 48;
