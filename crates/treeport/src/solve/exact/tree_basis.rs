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
    /// Its potential minus that of the parent: the cost of the arc, negative for sinks.
    rise: C,
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

/// An arc whose flow falls when an entering arc closes a cycle.
struct Falling {
    /// Its lower node.
    node: usize,
    flow: i128,
}

impl<C: Cost> Basis<C> for TreeBasis<C> {
    fn reset(&mut self, first: &InitialBasis<C>) {
        let nodes = first.n + first.m;
        self.n = first.n;
        let single = Node { flow: 0, rise: C::default(), parent: NONE, size: 1 };
        self.node.clear();
        self.node.resize(nodes, single);
        self.order.clear();
        for &BasisNode { node, parent, arc } in first.order() {
            let (flow, cost, parent) = (first.arcs[arc].2, first.cost[arc], parent as u32);
            let rise = if node < first.n { cost } else { -cost };
            self.node[node] = Node { flow, rise, parent, size: 1 };
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
        let (join, dual) = self.join(i, j);
        let pays = arc.cost - dual < -slack;
        if !pays {
            return false;
        }
        let (at_source, at_sink) = (self.least_falling(i, join), self.least_falling(j, join));
        let is_at_source = at_source.flow < at_sink.flow;
        let Falling { node: leaving, flow: step } = if is_at_source { at_source } else { at_sink };
        // Without the leaving arc a subtree is cut off; the entering arc connects its end in there,
        // `inner`, to the rest. Along both paths to the join, arcs fall and rise in turn.
        let (inner, outer) = if is_at_source { (i, j) } else { (j, i) };
        let cut_off = self.node[leaving].size;
        let mut by = -step;
        let mut v = outer;
        while v != join {
            let node = &mut self.node[v];
            node.flow += by;
            node.size += cut_off;
            v = node.parent as usize;
            by = -by;
        }
        // Reverses the arcs from `inner` up to the leaving arc.
        let (mut v, mut above, mut size) = (inner, outer as u32, 0);
        let (mut flow, mut rise) = (step, if is_at_source { arc.cost } else { -arc.cost });
        by = -step;
        loop {
            let reversed = Node { flow, rise, parent: above, size: cut_off - size };
            let old = std::mem::replace(&mut self.node[v], reversed);
            (above, size) = (v as u32, old.size);
            (flow, rise) = (old.flow + by, -old.rise);
            by = -by;
            let is_last = v == leaving;
            v = old.parent as usize;
            if is_last {
                break;
            }
        }
        while v != join {
            let node = &mut self.node[v];
            node.flow += by;
            node.size -= cut_off;
            v = node.parent as usize;
            by = -by;
        }
        true
    }

    fn refresh(&mut self, potential: &mut [C]) {
        let Self { node, order, next_order, fresh, path, .. } = self;
        self.refreshes += 1;
        let now = self.refreshes;
        let root = node.len() - 1;
        fresh[root] = now;
        potential[root] = C::default();
        next_order.clear();
        // In the order of the last refresh the parents of most nodes come before them.
        for &v in &*order {
            if fresh[v as usize] == now {
                continue;
            }
            let Node { mut rise, mut parent, .. } = node[v as usize];
            let mut at = v;
            while fresh[parent as usize] != now {
                path.push(at);
                at = parent;
                Node { rise, parent, .. } = node[at as usize];
            }
            loop {
                potential[at as usize] = potential[parent as usize] + rise;
                fresh[at as usize] = now;
                next_order.push(at);
                let Some(below) = path.pop() else { break };
                at = below;
                Node { rise, parent, .. } = node[at as usize];
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
    /// Returns the lowest common ancestor of two nodes, and the difference of their potentials.
    fn join(&self, mut a: usize, mut b: usize) -> (usize, C) {
        let mut dual = C::default();
        while a != b {
            let (at_source, at_sink) = (&self.node[a], &self.node[b]);
            if at_source.size <= at_sink.size {
                dual = dual + at_source.rise;
                a = at_source.parent as usize;
            } else {
                dual = dual - at_sink.rise;
                b = at_sink.parent as usize;
            }
        }
        (a, dual)
    }

    /// Returns the arc with the least flow among those that fall: every second one, from the first.
    fn least_falling(&self, mut v: usize, join: usize) -> Falling {
        let mut least = Falling { node: usize::MAX, flow: i128::MAX };
        while v != join {
            let Node { flow, parent, .. } = self.node[v];
            if flow < least.flow {
                least = Falling { node: v, flow };
            }
            v = parent as usize;
            if v != join {
                v = self.node[v].parent as usize;
            }
        }
        least
    }
}
