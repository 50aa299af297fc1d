//! Potentials of the nodes of a tree that is cut and joined again.
//!
//! A pivot moves the potentials of a whole subtree by one amount, a fifth of all nodes on average:
//! done one by one this is nearly all of the time. So the nodes stand in the order of a walk around
//! the tree (an Euler tour), in which a subtree is one stretch, and the tour is cut into chunks, each
//! with an amount that its nodes' potentials have in addition. A stretch is made to begin and end
//! with chunks; then it is moved, and its potentials changed, chunk by chunk: O(√n) for a pivot.
//!
//! The tour holds every node once and every edge of the tree in both directions: between the way
//! down and the way back up lies the subtree. A part that is cut off becomes a tour from another of
//! its nodes by turning it like a wheel, which changes no entry.

use super::whole::Whole;

/// A tour of a tree and the potentials of its nodes; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Tour<C> {
    /// Potential of every node, less what its chunk adds.
    local: Vec<C>,
    /// The chunk of every node, then of every edge forward and backward; only those in the tour
    /// count.
    chunk: Vec<u32>,
    /// A ring in the order of the tour; the first one is empty and stands between its end and its
    /// beginning.
    chunks: Vec<Chunk<C>>,
    /// Chunks in use, and how many there were when the tour was last laid out.
    used: usize,
    laid_out: usize,
    scratch: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Chunk<C> {
    entries: Vec<u32>,
    /// What the potentials of its nodes have in addition.
    offset: C,
    previous: u32,
    next: u32,
}

/// The chunk between the end of the tour and its beginning.
const RING: u32 = 0;

/// The two directions of an edge of the tree, as entries: down from the parent, and back.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    pub(super) down: u32,
    pub(super) up: u32,
}

impl<C: Whole> Tour<C> {
    /// Lays out a tour of so many nodes and edges, of which the tree has some; potentials are 0.
    pub(super) fn set(&mut self, nodes: usize, edges: usize, tour: impl Iterator<Item = u32>) {
        self.local.clear();
        self.local.resize(nodes, C::default());
        self.chunk.clear();
        self.chunk.resize(nodes + 2 * edges, 0);
        self.scratch.clear();
        self.scratch.extend(tour);
        self.lay_out();
    }

    pub(super) fn set_potential(&mut self, node: u32, potential: C) {
        self.local[node as usize] = potential;
    }

    #[inline]
    pub(super) fn potential(&self, node: u32) -> C {
        let node = node as usize;
        self.local[node].plus(self.chunks[self.chunk[node] as usize].offset)
    }

    /// Adds to the potentials of all nodes below an edge.
    pub(super) fn add(&mut self, edge: Ways, by: C) {
        let first = self.cut(edge.down, true);
        let end = self.cut(edge.up, false);
        self.add_to(first, end, by);
    }

    /// Cuts off what lies below the edge `old`, adds to its potentials, and hangs it by its node
    /// `inner` from `outer` with the edge `new`.
    pub(super) fn rehang(&mut self, old: Ways, new: Ways, inner: u32, outer: u32, by: C) {
        let first = self.cut(old.down, true);
        let end = self.cut(old.up, false);
        self.add_to(first, end, by);
        // The part becomes a ring of its own, and is opened before `inner`.
        let (before, last) = (self.previous(first), self.previous(end));
        self.link(before, end);
        self.link(last, first);
        self.chunks[before as usize].entries.pop();
        self.chunks[end as usize].entries.remove(0);
        let head = self.cut(inner, false);
        let tail = self.previous(head);
        let to = self.cut(outer, true);
        let at = self.chunk[outer as usize];
        self.push(at, new.down);
        self.push(tail, new.up);
        self.link(at, head);
        self.link(tail, to);
        if self.used > MOST_GROWTH * self.laid_out {
            self.gather();
        }
    }

    /// Makes an entry the first of its chunk, or the last, and returns the chunk after that cut.
    fn cut(&mut self, entry: u32, after: bool) -> u32 {
        let number = self.chunk[entry as usize];
        let Chunk { entries, offset, next, .. } = &mut self.chunks[number as usize];
        let found = entries.iter().position(|&other| other == entry);
        let at = found.expect("an entry is in its chunk") + usize::from(after);
        if at == 0 {
            return number;
        }
        if at == entries.len() {
            return *next;
        }
        let offset = *offset;
        let mut rest = std::mem::take(&mut self.scratch);
        rest.clear();
        rest.extend_from_slice(&entries[at..]);
        entries.truncate(at);
        let new = self.insert(number, offset, &rest);
        self.scratch = rest;
        new
    }

    /// A new chunk behind another one.
    fn insert(&mut self, behind: u32, offset: C, entries: &[u32]) -> u32 {
        let number = self.used as u32;
        self.used += 1;
        if self.chunks.len() < self.used {
            self.chunks.push(Chunk::default());
        }
        let chunk = &mut self.chunks[number as usize];
        chunk.entries.clear();
        chunk.entries.extend_from_slice(entries);
        chunk.offset = offset;
        for &entry in entries {
            self.chunk[entry as usize] = number;
        }
        let next = self.chunks[behind as usize].next;
        self.link(behind, number);
        self.link(number, next);
        number
    }

    fn link(&mut self, chunk: u32, next: u32) {
        self.chunks[chunk as usize].next = next;
        self.chunks[next as usize].previous = chunk;
    }

    fn previous(&self, chunk: u32) -> u32 {
        self.chunks[chunk as usize].previous
    }

    fn push(&mut self, chunk: u32, entry: u32) {
        self.chunks[chunk as usize].entries.push(entry);
        self.chunk[entry as usize] = chunk;
    }

    fn add_to(&mut self, first: u32, end: u32, by: C) {
        let mut number = first;
        while number != end {
            let chunk = &mut self.chunks[number as usize];
            chunk.offset = chunk.offset.plus(by);
            number = chunk.next;
        }
    }

    /// Lays the tour out anew, after many cuts.
    fn gather(&mut self) {
        self.scratch.clear();
        let mut number = self.chunks[RING as usize].next;
        while number != RING {
            let Chunk { entries, offset, next, .. } = &self.chunks[number as usize];
            for &entry in entries {
                if let Some(local) = self.local.get_mut(entry as usize) {
                    *local = local.plus(*offset);
                }
            }
            self.scratch.extend_from_slice(entries);
            number = *next;
        }
        self.lay_out();
    }

    /// Cuts the entries in `scratch` into chunks that add nothing.
    fn lay_out(&mut self) {
        let tour = std::mem::take(&mut self.scratch);
        let size = (CHUNK * (tour.len() as f64).sqrt()).ceil() as usize;
        self.used = 1;
        self.chunks.resize_with(self.chunks.len().max(1), Chunk::default);
        self.link(RING, RING);
        for entries in tour.chunks(size) {
            self.insert(self.previous(RING), C::default(), entries);
        }
        self.laid_out = self.used;
        self.scratch = tour;
    }
}

/// Entries of a chunk after laying out, in units of √(all entries); flat between 1 and 2.
const CHUNK: f64 = 1.5;

/// The tour is laid out anew when it has this many times as many chunks as then; flat between 4
/// and 16.
const MOST_GROWTH: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A tree by parents, its tour and its potentials, changed side by side.
    struct Judge {
        parent: Vec<Option<usize>>,
        potential: Vec<i64>,
    }

    impl Judge {
        fn is_below(&self, mut v: usize, top: usize) -> bool {
            while v != top {
                let Some(parent) = self.parent[v] else { return false };
                v = parent;
            }
            true
        }

        fn add(&mut self, top: usize, by: i64) {
            for v in 0..self.parent.len() {
                if self.is_below(v, top) {
                    self.potential[v] += by;
                }
            }
        }

        /// Turns the parents around from `inner` up to `top`.
        fn rehang(&mut self, top: usize, inner: usize, outer: usize) {
            let (mut v, mut above) = (inner, outer);
            loop {
                let next = self.parent[v].replace(above);
                if v == top {
                    break;
                }
                (above, v) = (v, next.expect("the top is above"));
            }
        }
    }

    /// An edge of the tree goes by a number that both of its ends tell.
    fn ways(n: usize, parent: usize, child: usize) -> Ways {
        let edge = parent.min(child) * n + parent.max(child);
        let back = usize::from(parent > child);
        let entry = |back: usize| (n + 2 * edge + back) as u32;
        Ways { down: entry(back), up: entry(1 - back) }
    }

    proptest! {
        #[test]
        fn it_follows_a_tree_by_parents(
            n in 2usize..40,
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), -9i64..9), 1..120),
        ) {
            // At first a path; every child right behind its parent.
            let mut judge = Judge { parent: (0..n).map(|v| v.checked_sub(1)).collect(), potential: vec![0; n] };
            let down = (0..n).flat_map(|v| {
                let way = v.checked_sub(1).map(|p| ways(n, p, v).down);
                way.into_iter().chain([v as u32])
            });
            let up = (1..n).rev().map(|v| ways(n, v - 1, v).up);
            let mut tour = Tour::<i64>::default();
            tour.set(n, n * n, down.chain(up));
            for (top, inner, outer, by) in steps {
                let top = 1 + top.index(n - 1);
                let edge = ways(n, judge.parent[top].unwrap(), top);
                tour.add(edge, by);
                judge.add(top, by);
                let below: Vec<usize> = (0..n).filter(|&v| judge.is_below(v, top)).collect();
                let others: Vec<usize> = (0..n).filter(|&v| !judge.is_below(v, top)).collect();
                let (inner, outer) = (below[inner.index(below.len())], others[outer.index(others.len())]);
                tour.rehang(edge, ways(n, outer, inner), inner as u32, outer as u32, 2 * by);
                judge.add(top, 2 * by);
                judge.rehang(top, inner, outer);
                for v in 0..n {
                    prop_assert_eq!(tour.potential(v as u32), judge.potential[v]);
                }
            }
        }
    }
}
