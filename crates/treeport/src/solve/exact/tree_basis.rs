//! The basis of a large problem: a spanning tree by parents, with potentials computed on demand.
//!
//! A pivot reads and writes only the nodes of its cycle. It leaves the potentials of the other nodes
//! stale: on average a quarter of all nodes change theirs, far more than lie on the cycle (600 and
//! 70 at 1,200 points a side). So a batch of arcs is priced at once, each pivot computes the reduced
//! cost of its arc along the cycle, and all potentials follow once a batch
//! ([`refresh`](Basis::refresh)).

use super::arcs::Candidate;
use super::initial_basis::{BasisNode, InitialBasis};
use super::price::Cost;
use super::simplex::Basis;

const NONE: u32 = u32::MAX;

/// One node of the tree and the arc to its parent. Sources are `0..n`, sinks `n..n + m`; the root is
/// the last sink.
#[derive(Clone, Copy, Debug)]
struct Node<C> {
    /// Flow, always from the source to the sink.
    flow: i128,
    cost: C,
    parent: u32,
    /// Number of nodes in its subtree, including itself; an ancestor always has more.
    size: u32,
}

/// A basis by parents; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeBasis<C> {
    n: usize,
    node: Vec<Node<C>>,
    /// All nodes except the root, parents first when the potentials were computed last.
    order: Vec<u32>,
    next_order: Vec<u32>,
    /// Number of the last refresh that computed the potential of every node.
    fresh: Vec<u32>,
    refreshes: u32,
    path: Vec<u32>,
}

/// The cycle that an entering arc closes.
struct Cycle<C> {
    /// Lower node of the leaving arc.
    leaving: usize,
    /// Flow of the leaving arc.
    step: i128,
    /// Whether the leaving arc lies between the source of the entering arc and `join`.
    is_at_source: bool,
    /// Lowest common ancestor of the ends of the entering arc.
    join: usize,
    /// Difference of the potentials of the ends.
    dual: C,
}

impl<C: Cost> Basis<C> for TreeBasis<C> {
    fn reset(&mut self, first: &InitialBasis<C>) {
        let nodes = first.n + first.m;
        self.n = first.n;
        let single = Node { flow: 0, cost: C::default(), parent: NONE, size: 1 };
        self.node.clear();
        self.node.resize(nodes, single);
        self.order.clear();
        for &BasisNode { node, parent, arc } in first.order() {
            let (flow, cost, parent) = (first.arcs[arc].2, first.cost[arc], parent as u32);
            self.node[node] = Node { flow, cost, parent, size: 1 };
            self.order.push(node as u32);
        }
        for &BasisNode { node, parent, .. } in first.order().iter().rev() {
            self.node[parent].size += self.node[node].size;
        }
        self.fresh.clear();
        self.fresh.resize(nodes, 0);
        self.refreshes = 0;
    }

    fn pivot(&mut self, arc: &Candidate<C>, slack: C, _potential: &mut [C]) -> bool {
        let n = self.n;
        let (i, j) = (arc.source, n + arc.sink);
        let Cycle { leaving, step, is_at_source, join, dual } = self.cycle(i, j);
        let pays = arc.cost - dual < -slack;
        if !pays {
            return false;
        }
        // Without the leaving arc a subtree is cut off; the entering arc connects its end in there,
        // `inner`, to the rest.
        let (inner, outer) = if is_at_source { (i, j) } else { (j, i) };
        let cut_off = self.node[leaving].size;
        // Flow decreases on arcs above sources on i's side and above sinks on j's side.
        let falls = |v: usize, is_at_source: bool| (v < n) == is_at_source;
        let change = |falls: bool| if falls { -step } else { step };
        let mut v = outer;
        while v != join {
            let node = &mut self.node[v];
            node.flow += change(falls(v, !is_at_source));
            node.size += cut_off;
            v = node.parent as usize;
        }
        // Reverses the arcs from `inner` up to the leaving arc.
        let (mut v, mut above, mut size) = (inner, outer as u32, 0);
        let (mut flow, mut cost) = (step, arc.cost);
        loop {
            let reversed = Node { flow, cost, parent: above, size: cut_off - size };
            let old = std::mem::replace(&mut self.node[v], reversed);
            (above, size) = (v as u32, old.size);
            (flow, cost) = (old.flow + change(falls(v, is_at_source)), old.cost);
            let is_last = v == leaving;
            v = old.parent as usize;
            if is_last {
                break;
            }
        }
        while v != join {
            let node = &mut self.node[v];
            node.flow += change(falls(v, is_at_source));
            node.size -= cut_off;
            v = node.parent as usize;
        }
        true
    }

    fn refresh(&mut self, potential: &mut [C]) {
        let Self { n, node, order, next_order, fresh, path, .. } = self;
        self.refreshes += 1;
        let now = self.refreshes;
        let root = node.len() - 1;
        fresh[root] = now;
        potential[root] = C::default();
        next_order.clear();
        // In the order of the last refresh the parents of most nodes come before them.
        for &first in &*order {
            let mut v = first as usize;
            while fresh[v] != now {
                path.push(v as u32);
                v = node[v].parent as usize;
            }
            while let Some(v) = path.pop() {
                let Node { cost, parent, .. } = node[v as usize];
                let above = potential[parent as usize];
                let is_source = (v as usize) < *n;
                potential[v as usize] = if is_source { above + cost } else { above - cost };
                fresh[v as usize] = now;
                next_order.push(v);
            }
        }
        std::mem::swap(order, next_order);
    }

    fn flows(&self, out: &mut Vec<(u32, u32, i128)>) {
        out.clear();
        let sink = self.n as u32;
        out.extend(self.node.iter().zip(0u32..).filter_map(|(node, v)| {
            let (i, j) = if v < sink { (v, node.parent) } else { (node.parent, v) };
            (node.parent != NONE).then(|| (i, j - sink, node.flow))
        }));
    }
}

impl<C: Cost> TreeBasis<C> {
    /// Finds the cycle that (i, j) closes, and the falling arc on it with the least flow.
    fn cycle(&self, i: usize, j: usize) -> Cycle<C> {
        let (mut a, mut b) = (i, j);
        let (mut leaving, mut step, mut is_at_source) = (usize::MAX, i128::MAX, false);
        let mut dual = C::default();
        while a != b {
            let (at_source, at_sink) = (&self.node[a], &self.node[b]);
            if at_source.size <= at_sink.size {
                if a < self.n {
                    dual = dual + at_source.cost;
                    if at_source.flow < step {
                        (leaving, step, is_at_source) = (a, at_source.flow, true);
                    }
                } else {
                    dual = dual - at_source.cost;
                }
                a = at_source.parent as usize;
            } else {
                if b >= self.n {
                    dual = dual + at_sink.cost;
                    if at_sink.flow < step {
                        (leaving, step, is_at_source) = (b, at_sink.flow, false);
                    }
                } else {
                    dual = dual - at_sink.cost;
                }
                b = at_sink.parent as usize;
            }
        }
        Cycle { leaving, step, is_at_source, join: a, dual }
    }
}
