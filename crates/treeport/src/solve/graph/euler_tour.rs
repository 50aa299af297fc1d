//! Potentials of the nodes of a dynamic tree, by an Euler tour in chunks.
//!
//! A pivot shifts the potentials of a subtree, a fifth of all nodes on average, by one amount: node
//! by node that would be nearly all of the time. An Euler tour orders the nodes so that a subtree
//! is one interval. The tour is split into chunks, each with an offset for the potentials of its
//! nodes. A pivot splits chunks at the ends of the interval, then moves and shifts it chunk by
//! chunk, in O(√n).
//!
//! The tour has every node once and every tree edge in both directions: a subtree lies between the
//! entries of the edge above it, down and up. Rotating the tour of a subtree cyclically makes it a
//! tour from another root, with the same entries.

use super::integer::Integer;

/// The Euler tour of a tree and the potentials of its nodes; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct EulerTour<C> {
    /// Potential of every node minus the offset of its chunk.
    local: Vec<C>,
    /// Chunk of every node, then of every edge in both directions; valid for entries of the tour.
    chunk: Vec<u32>,
    /// Chunks as a cyclic list in the order of the tour; the first one is an empty sentinel.
    chunks: Vec<Chunk<C>>,
    /// Number of chunks in use.
    used: usize,
    /// Number of chunks after the last rebuild.
    rebuilt: usize,
    scratch: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Chunk<C> {
    entries: Vec<u32>,
    /// Offset of the potentials of its nodes.
    offset: C,
    previous: u32,
    next: u32,
}

/// The sentinel chunk between the end of the tour and its start.
const SENTINEL: u32 = 0;

/// The entries of a tree edge: down from the parent, and up.
#[derive(Clone, Copy)]
pub(super) struct EdgeEntries {
    pub(super) down: u32,
    pub(super) up: u32,
}

impl<C: Integer> EulerTour<C> {
    /// Sets the tour of a spanning tree of a graph, with potentials of 0.
    pub(super) fn set(&mut self, nodes: usize, edges: usize, tour: impl Iterator<Item = u32>) {
        self.local.clear();
        self.local.resize(nodes, C::default());
        self.chunk.clear();
        self.chunk.resize(nodes + 2 * edges, 0);
        self.scratch.clear();
        self.scratch.extend(tour);
        self.split_into_chunks();
    }

    pub(super) fn set_potential(&mut self, node: u32, potential: C) {
        self.local[node as usize] = potential;
    }

    #[inline]
    pub(super) fn potential(&self, node: u32) -> C {
        let node = node as usize;
        self.local[node].plus(self.chunks[self.chunk[node] as usize].offset)
    }

    /// Shifts the potentials of all nodes below an edge.
    pub(super) fn add(&mut self, edge: EdgeEntries, by: C) {
        let first = self.cut(edge.down, true);
        let end = self.cut(edge.up, false);
        self.add_to(first, end, by);
    }

    /// Cuts off the subtree below `old`, shifts its potentials, and connects it by `new`.
    pub(super) fn reconnect(
        &mut self,
        old: EdgeEntries,
        new: EdgeEntries,
        inner: u32,
        outer: u32,
        by: C,
    ) {
        let first = self.cut(old.down, true);
        let end = self.cut(old.up, false);
        self.add_to(first, end, by);
        // The subtree becomes a separate cyclic list, which starts at `inner`.
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
        if self.used > MOST_GROWTH * self.rebuilt {
            self.rebuild();
        }
    }

    /// Splits a chunk before or after an entry, and returns the chunk after the split.
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

    /// Inserts a chunk after another one.
    fn insert(&mut self, previous: u32, offset: C, entries: &[u32]) -> u32 {
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
        let next = self.chunks[previous as usize].next;
        self.link(previous, number);
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

    /// Rebuilds the chunks after many splits.
    fn rebuild(&mut self) {
        self.scratch.clear();
        let mut number = self.chunks[SENTINEL as usize].next;
        while number != SENTINEL {
            let Chunk { entries, offset, next, .. } = &self.chunks[number as usize];
            for &entry in entries {
                if let Some(local) = self.local.get_mut(entry as usize) {
                    *local = local.plus(*offset);
                }
            }
            self.scratch.extend_from_slice(entries);
            number = *next;
        }
        self.split_into_chunks();
    }

    /// Splits the entries in `scratch` into chunks with offset 0.
    fn split_into_chunks(&mut self) {
        let tour = std::mem::take(&mut self.scratch);
        let size = (CHUNK * (tour.len() as f64).sqrt()).ceil() as usize;
        self.used = 1;
        self.chunks.resize_with(self.chunks.len().max(1), Chunk::default);
        self.link(SENTINEL, SENTINEL);
        for entries in tour.chunks(size) {
            self.insert(self.previous(SENTINEL), C::default(), entries);
        }
        self.rebuilt = self.used;
        self.scratch = tour;
    }
}

/// Entries of a chunk after a rebuild, in units of √(all entries); flat between 1 and 2.
const CHUNK: f64 = 1.5;

/// Growth of the number of chunks that triggers a rebuild; flat between 4 and 16.
const MOST_GROWTH: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reference implementation for tests: a tree as parent pointers, with a potential per node.
    struct Reference {
        parent: Vec<Option<usize>>,
        potential: Vec<i64>,
    }

    impl Reference {
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

        /// Reverses the parents from `inner` up to `top`.
        fn reconnect(&mut self, top: usize, inner: usize, outer: usize) {
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

    /// Returns the entries of a tree edge, numbered by its ends.
    fn entries(n: usize, parent: usize, child: usize) -> EdgeEntries {
        let edge = parent.min(child) * n + parent.max(child);
        let back = usize::from(parent > child);
        let entry = |back: usize| (n + 2 * edge + back) as u32;
        EdgeEntries { down: entry(back), up: entry(1 - back) }
    }

    proptest! {
        #[test]
        fn the_tour_agrees_with_a_tree_by_parents(
            n in 2usize..40,
            steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), -9i64..9), 1..120),
        ) {
            // The initial tree is a path.
            let parent = (0..n).map(|v| v.checked_sub(1)).collect();
            let mut judge = Reference { parent, potential: vec![0; n] };
            let down = (0..n).flat_map(|v| {
                let edge = v.checked_sub(1).map(|p| entries(n, p, v).down);
                edge.into_iter().chain([v as u32])
            });
            let up = (1..n).rev().map(|v| entries(n, v - 1, v).up);
            let mut tour = EulerTour::<i64>::default();
            tour.set(n, n * n, down.chain(up));
            for (top, inner, outer, by) in steps {
                let top = 1 + top.index(n - 1);
                let edge = entries(n, judge.parent[top].unwrap(), top);
                tour.add(edge, by);
                judge.add(top, by);
                let below: Vec<usize> = (0..n).filter(|&v| judge.is_below(v, top)).collect();
                let others: Vec<usize> = (0..n).filter(|&v| !judge.is_below(v, top)).collect();
                let (inner, outer) = (below[inner.index(below.len())], others[outer.index(others.len())]);
                let new = entries(n, outer, inner);
                tour.reconnect(edge, new, inner as u32, outer as u32, 2 * by);
                judge.add(top, 2 * by);
                judge.reconnect(top, inner, outer);
                for v in 0..n {
                    prop_assert_eq!(tour.potential(v as u32), judge.potential[v]);
                }
            }
        }
    }
}
