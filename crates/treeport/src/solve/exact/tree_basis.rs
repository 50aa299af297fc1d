//! The basis of a large problem: a spanning tree of linked nodes.

use super::arcs::Entering;
use super::initial_basis::{BasisNode, InitialBasis};
use super::price::Cost;
use super::simplex::Basis;

const NONE: u32 = u32::MAX;

/// One node of the tree. Sources are `0..n`, sinks `n..n + m`; the root is the last sink.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    first_child: u32,
    next: u32,
    previous: u32,
    /// Number of nodes in its subtree, including itself; an ancestor always has more.
    size: u32,
}

const SINGLE: Node = Node { parent: NONE, first_child: NONE, next: NONE, previous: NONE, size: 1 };

/// A basis by parents and lists of children; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeBasis {
    n: usize,
    node: Vec<Node>,
    /// Flow on the arc between a node and its parent, always from the source to the sink.
    flow: Vec<i128>,
}

/// The cycle that an entering arc closes.
struct Cycle {
    /// Lower node of the leaving arc.
    leaving: usize,
    /// Flow of the leaving arc.
    step: i128,
    /// Lowest common ancestor of the ends of the entering arc.
    join: usize,
}

impl<C: Cost> Basis<C> for TreeBasis {
    fn reset(&mut self, first: &InitialBasis<C>) {
        self.n = first.n;
        self.node.clear();
        self.node.resize(first.n + first.m, SINGLE);
        self.flow.clear();
        self.flow.resize(first.n + first.m, 0);
        for &BasisNode { node, parent, arc } in first.order() {
            self.flow[node] = first.arcs[arc].2;
            self.attach(node, parent);
        }
        for &BasisNode { node, parent, .. } in first.order().iter().rev() {
            self.node[parent].size += self.node[node].size;
        }
    }

    fn pivot(&mut self, arc: &Entering<C>, potential: &mut [C]) {
        let nodes = self.node.len();
        let (i, j) = (arc.source, self.n + arc.sink);
        let Cycle { leaving, step, join } = self.cycle(i, j);
        self.push_flow(i, j, step);
        // Without the leaving arc a subtree is cut off. It contains i if the arc's lower node is a
        // source, else j; the entering arc connects it to the rest by the other end.
        let (inner, outer) = if leaving < self.n { (i, j) } else { (j, i) };
        let cut_off = self.node[leaving].size;
        self.resize_path(self.node[leaving].parent as usize, join, cut_off.wrapping_neg());
        self.resize_path(outer, join, cut_off);
        self.reroot(inner, leaving, step);
        // Potentials change on the smaller side of the entering arc: i's side up or j's down.
        let small = 2 * cut_off as usize <= nodes;
        let top = if small { inner } else { nodes - 1 };
        let up = (inner == i) == small;
        self.shift(top, if up { arc.reduced } else { -arc.reduced }, potential);
        self.attach(inner, outer);
    }

    fn flows(&self, out: &mut Vec<(u32, u32, i128)>) {
        out.clear();
        let sink = self.n as u32;
        out.extend(self.node.iter().zip(&self.flow).zip(0u32..).filter_map(
            |((node, &flow), v)| {
                let (i, j) = if v < sink { (v, node.parent) } else { (node.parent, v) };
                (node.parent != NONE).then(|| (i, j - sink, flow))
            },
        ));
    }
}

impl TreeBasis {
    /// Finds the cycle that (i, j) closes, and the falling arc on it with the least flow.
    fn cycle(&self, i: usize, j: usize) -> Cycle {
        let (mut a, mut b) = (i, j);
        let (mut leaving, mut step) = (usize::MAX, i128::MAX);
        while a != b {
            // Flow decreases on arcs above sources on i's side and above sinks on j's side.
            if self.node[a].size <= self.node[b].size {
                if a < self.n && self.flow[a] < step {
                    (leaving, step) = (a, self.flow[a]);
                }
                a = self.node[a].parent as usize;
            } else {
                if b >= self.n && self.flow[b] < step {
                    (leaving, step) = (b, self.flow[b]);
                }
                b = self.node[b].parent as usize;
            }
        }
        Cycle { leaving, step, join: a }
    }

    /// Augments the flow around the cycle.
    fn push_flow(&mut self, i: usize, j: usize, step: i128) {
        let (mut a, mut b) = (i, j);
        while a != b {
            if self.node[a].size <= self.node[b].size {
                self.flow[a] += if a < self.n { -step } else { step };
                a = self.node[a].parent as usize;
            } else {
                self.flow[b] += if b >= self.n { -step } else { step };
                b = self.node[b].parent as usize;
            }
        }
    }

    /// Changes the subtree sizes on the path from `v` up to below `join`.
    fn resize_path(&mut self, mut v: usize, join: usize, by: u32) {
        while v != join {
            self.node[v].size = self.node[v].size.wrapping_add(by);
            v = self.node[v].parent as usize;
        }
    }

    /// Reroots the subtree of `leaving` at `inner`; `step` is the flow above the new root.
    fn reroot(&mut self, inner: usize, leaving: usize, step: i128) {
        let whole = self.node[leaving].size;
        let (mut v, mut below, mut flow, mut size) = (inner, NONE, step, 0);
        loop {
            let above = self.node[v].parent as usize;
            self.detach(v);
            if below != NONE {
                self.attach(v, below as usize);
            }
            std::mem::swap(&mut self.flow[v], &mut flow);
            let old_size = std::mem::replace(&mut self.node[v].size, whole - size);
            if v == leaving {
                break;
            }
            (below, v, size) = (v as u32, above, old_size);
        }
    }

    /// Adds a number to all potentials in the subtree of `top`.
    fn shift<C: Cost>(&self, top: usize, by: C, potential: &mut [C]) {
        let mut v = top;
        loop {
            potential[v] = potential[v] + by;
            match self.after(v, top) {
                Some(next) => v = next,
                None => break,
            }
        }
    }

    /// Returns the next node in the subtree of `top`, in preorder.
    #[inline]
    fn after(&self, v: usize, top: usize) -> Option<usize> {
        let mut node = &self.node[v];
        if node.first_child != NONE {
            return Some(node.first_child as usize);
        }
        let mut v = v;
        while v != top {
            if node.next != NONE {
                return Some(node.next as usize);
            }
            v = node.parent as usize;
            node = &self.node[v];
        }
        None
    }

    fn attach(&mut self, child: usize, parent: usize) {
        let first = self.node[parent].first_child;
        self.node[child].parent = parent as u32;
        self.node[child].next = first;
        self.node[child].previous = NONE;
        if first != NONE {
            self.node[first as usize].previous = child as u32;
        }
        self.node[parent].first_child = child as u32;
    }

    fn detach(&mut self, child: usize) {
        let Node { parent, next, previous, .. } = self.node[child];
        if previous == NONE {
            self.node[parent as usize].first_child = next;
        } else {
            self.node[previous as usize].next = next;
        }
        if next != NONE {
            self.node[next as usize].previous = previous;
        }
    }
}
