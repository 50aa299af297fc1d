//! The basis of a small problem: the path of every node to the root as a bit set of arcs.
//!
//! The path between two nodes is the symmetric difference of their bit sets, and reconnecting a
//! subtree is the same exclusive or for all of its nodes. So a pivot is a few bit operations and
//! one pass over all nodes without branches; in a linked tree every step is a mispredicted branch.
//!
//! # Invariant
//! Bit a of `path[v]` is set iff arc a lies between v and the root. An arc's *lower* end is the one
//! whose path contains it; bit a of `source_below` is set iff that is its source.
//!
//! # Complexity
//! A pivot takes O(s²/64) for s = n + m nodes, so this basis is for small problems only.

use super::arcs::Candidate;
use super::initial_basis::{BasisNode, InitialBasis};
use super::price::Cost;
use super::simplex::Basis;

/// A basis by the paths of its nodes; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct BitsetBasis {
    n: usize,
    nodes: usize,
    /// Source and sink (as nodes) of every basic arc.
    ends: Vec<(u32, u32)>,
    /// Flow of every basic arc.
    flow: Vec<i128>,
    /// Paths in words of 64 arcs: the first word of all nodes, then the second.
    path: Vec<u64>,
    /// Arcs whose lower end is their source.
    source_below: Vec<u64>,
    /// Arcs on the cycle of a pivot.
    cycle: Vec<u64>,
    /// Arcs on the cycle whose flow decreases.
    falling: Vec<u64>,
    /// All ones for the nodes of the subtree that a pivot cuts off.
    moved: Vec<u64>,
}

impl<C: Cost> Basis<C> for BitsetBasis {
    fn reset(&mut self, first: &InitialBasis<C>) {
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

    fn pivot(&mut self, arc: &Candidate<C>, slack: C, potential: &mut [C]) -> bool {
        let (i, j) = (arc.source, self.n + arc.sink);
        let reduced = arc.cost + potential[j] - potential[i];
        let pays = reduced < -slack;
        if !pays {
            return false;
        }
        self.close_cycle(i, j);
        let (leaving, step) = self.leaving();
        self.push_flow(step);
        self.flow[leaving] = step;

        let (word, bit) = (leaving / 64, leaving % 64);
        let source_below = self.source_below[word] >> bit & 1 == 1;
        let (source, sink) = self.ends[leaving];
        let lower = if source_below { source } else { sink } as usize;
        // The subtree below the leaving arc contains i if i's path contains that arc.
        let holds_i = self.path[word * self.nodes + i] >> bit & 1 == 1;
        let inner = if holds_i { i } else { j };
        // Arcs between the leaving and the entering arc are reversed.
        for word in 0..self.cycle.len() {
            let at = word * self.nodes;
            self.source_below[word] ^= self.path[at + inner] & !self.path[at + lower];
        }
        self.source_below[word] &= !(1 << bit);
        self.source_below[word] |= u64::from(holds_i) << bit;
        self.ends[leaving] = (i as u32, j as u32);
        // The entering arc gets the number of the leaving one, whose bit stays as it is.
        self.cycle[word] &= !(1 << bit);
        let by = if holds_i { reduced } else { -reduced };
        self.reconnect(word, bit, by, potential);
        true
    }

    fn refresh(&mut self, potential: &mut [C]) {
        let root = potential[self.nodes - 1];
        for potential in potential.iter_mut() {
            *potential = *potential - root;
        }
    }

    fn flows(&self, out: &mut Vec<(u32, u32, i128)>) {
        out.clear();
        let sink = self.n as u32;
        out.extend(self.ends.iter().zip(&self.flow).map(|(&(i, j), &flow)| (i, j - sink, flow)));
    }
}

impl BitsetBasis {
    /// Finds the arcs between i and j, and those among them whose flow decreases.
    fn close_cycle(&mut self, i: usize, j: usize) {
        for word in 0..self.cycle.len() {
            let at = word * self.nodes;
            let (up_i, up_j) = (self.path[at + i], self.path[at + j]);
            let source = self.source_below[word];
            self.cycle[word] = up_i ^ up_j;
            self.falling[word] = (up_i & !up_j & source) | (up_j & !up_i & !source);
        }
    }

    /// Returns the falling arc with the least flow, and that flow; flows are distinct.
    fn leaving(&self) -> (usize, i128) {
        let mut least = (0, i128::MAX);
        for (word, &falling) in self.falling.iter().enumerate() {
            for_each_bit(falling, |a| {
                let a = word * 64 + a;
                if self.flow[a] < least.1 {
                    least = (a, self.flow[a]);
                }
            });
        }
        least
    }

    /// Augments the flow around the cycle.
    fn push_flow(&mut self, step: i128) {
        for (word, (&cycle, &falling)) in self.cycle.iter().zip(&self.falling).enumerate() {
            let flow = &mut self.flow[word * 64..];
            for_each_bit(cycle, |a| {
                // ±step without an unpredictable branch: −x is !x + 1.
                let falls = i128::from(falling >> a & 1);
                flow[a] += (step ^ -falls) + falls;
            });
        }
    }

    /// Shifts the potentials below the leaving arc, and leads these paths over the entering arc.
    fn reconnect<C: Cost>(&mut self, word: usize, bit: usize, by: C, potential: &mut [C]) {
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

/// Calls `visit` with the positions of the set bits.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(super) fn for_each_bit(mut set: u64, mut visit: impl FnMut(usize)) {
    while set != 0 {
        visit(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}
