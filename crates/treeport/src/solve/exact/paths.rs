//! The basis of a small problem as bit sets.
//!
//! Every node holds the set of basic arcs on its way to the root. The arcs between any two nodes
//! are then the symmetric difference of their sets, and hanging a part of the tree elsewhere is the
//! same exclusive or for all its nodes: a pivot is a few words of logic and one sweep over all
//! nodes that takes no branch, where a tree of pointers stalls on every turn.
//!
//! # Invariant
//! Bit a of `path[v]` is set iff arc a lies between v and the root. An arc's *lower* end is the one
//! whose path holds it; bit a of `source_below` is set iff that is its source.
//!
//! # Complexity
//! With s = n + m nodes a pivot is O(s²/64) in the worst case, so it is for small problems only.

use super::arcs::Entering;
use super::first::{BasisNode, FirstBasis};
use super::price::Cost;
use super::simplex::Basis;

/// A basis by the paths of its nodes; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Paths {
    n: usize,
    nodes: usize,
    /// Source and sink (as nodes) of every basic arc, and its flow.
    ends: Vec<(u32, u32)>,
    flow: Vec<i128>,
    /// Words of 64 arcs, the first word of all nodes first.
    path: Vec<u64>,
    /// Word by word, like the next three.
    source_below: Vec<u64>,
    /// Arcs on the cycle of a pivot, and those whose flow falls.
    cycle: Vec<u64>,
    falling: Vec<u64>,
    /// All ones for the nodes that a pivot cuts off.
    moved: Vec<u64>,
}

impl<C: Cost> Basis<C> for Paths {
    fn hang(&mut self, first: &FirstBasis<C>) {
        self.n = first.n;
        self.nodes = first.n + first.m;
        let words = self.nodes.div_ceil(64);
        self.ends.clear();
        self.flow.clear();
        for &(i, j, flow) in &first.arcs {
            self.ends.push((i, first.n as u32 + j));
            self.flow.push(flow);
        }
        self.path.clear();
        self.path.resize(words * self.nodes, 0);
        for set in [&mut self.source_below, &mut self.cycle, &mut self.falling] {
            set.clear();
            set.resize(words, 0);
        }
        self.moved.clear();
        self.moved.resize(self.nodes, 0);
        for &BasisNode { node: v, parent, arc } in first.order() {
            for word in 0..words {
                self.path[word * self.nodes + v] = self.path[word * self.nodes + parent];
            }
            self.path[(arc / 64) * self.nodes + v] |= 1 << (arc % 64);
            self.source_below[arc / 64] |= u64::from(v < self.n) << (arc % 64);
        }
    }

    fn pivot(&mut self, arc: &Entering<C>, potential: &mut [C]) {
        let (i, j) = (arc.source, self.n + arc.sink);
        self.close_cycle(i, j);
        let (leaving, step) = self.first_to_run_dry();
        self.push_flow(step);
        self.flow[leaving] = step;

        let (word, bit) = (leaving / 64, leaving % 64);
        let source_below = self.source_below[word] >> bit & 1 == 1;
        let (source, sink) = self.ends[leaving];
        let lower = if source_below { source } else { sink } as usize;
        // The part below the leaving arc holds i if i's path to the root runs over it.
        let holds_i = self.path[word * self.nodes + i] >> bit & 1 == 1;
        let inner = if holds_i { i } else { j };
        // Arcs between there and the leaving one are turned around.
        for word in 0..self.cycle.len() {
            let at = word * self.nodes;
            self.source_below[word] ^= self.path[at + inner] & !self.path[at + lower];
        }
        self.source_below[word] &= !(1 << bit);
        self.source_below[word] |= u64::from(holds_i) << bit;
        self.ends[leaving] = (i as u32, j as u32);
        // The new arc takes the leaving one's number, so that its bit stays as it is.
        self.cycle[word] &= !(1 << bit);
        let by = if holds_i { arc.reduced } else { -arc.reduced };
        self.hang_elsewhere(word, bit, by, potential);
    }

    fn flows(&self, out: &mut Vec<(u32, u32, i128)>) {
        out.clear();
        let sink = self.n as u32;
        out.extend(self.ends.iter().zip(&self.flow).map(|(&(i, j), &flow)| (i, j - sink, flow)));
    }
}

impl Paths {
    /// The arcs between i and j, and among them those that lose what the new arc (i, j) gains: up
    /// from sources on i's side, up from sinks on j's.
    fn close_cycle(&mut self, i: usize, j: usize) {
        for word in 0..self.cycle.len() {
            let at = word * self.nodes;
            let (up_i, up_j) = (self.path[at + i], self.path[at + j]);
            let source = self.source_below[word];
            self.cycle[word] = up_i ^ up_j;
            self.falling[word] = (up_i & !up_j & source) | (up_j & !up_i & !source);
        }
    }

    /// The falling arc with the least flow; all differ, see [`simplex`](super::simplex).
    fn first_to_run_dry(&self) -> (usize, i128) {
        let mut first = (0, i128::MAX);
        for_each(&self.falling, |a| {
            if self.flow[a] < first.1 {
                first = (a, self.flow[a]);
            }
        });
        first
    }

    /// Sends flow around the cycle.
    fn push_flow(&mut self, step: i128) {
        for (word, (&cycle, &falling)) in self.cycle.iter().zip(&self.falling).enumerate() {
            let flow = &mut self.flow[word * 64..];
            for_each(&[cycle], |a| {
                // ±step without a branch, which could not be foreseen: −x is !x + 1.
                let falls = i128::from(falling >> a & 1);
                flow[a] += (step ^ -falls) + falls;
            });
        }
    }

    /// Moves the potentials of the nodes below an arc, and leads their paths around the cycle the
    /// other way.
    fn hang_elsewhere<C: Cost>(&mut self, word: usize, bit: usize, by: C, potential: &mut [C]) {
        let paths = &mut self.path[word * self.nodes..(word + 1) * self.nodes];
        let cycle = self.cycle[word];
        for ((path, moved), potential) in paths.iter_mut().zip(&mut self.moved).zip(potential) {
            *moved = (*path >> bit & 1).wrapping_neg();
            *potential = *potential + by.masked(*moved);
            *path ^= *moved & cycle;
        }
        let others = self.path.chunks_exact_mut(self.nodes).zip(&self.cycle).enumerate();
        for (_, (paths, &cycle)) in others.filter(|&(at, (_, &cycle))| at != word && cycle != 0) {
            for (path, moved) in paths.iter_mut().zip(&self.moved) {
                *path ^= moved & cycle;
            }
        }
    }
}

/// Visits the members of a set.
#[inline]
fn for_each(set: &[u64], mut visit: impl FnMut(usize)) {
    for (word, &bits) in set.iter().enumerate() {
        let mut rest = bits;
        while rest != 0 {
            visit(word * 64 + rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}
