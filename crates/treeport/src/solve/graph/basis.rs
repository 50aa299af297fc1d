//! The basis on a graph: a spanning tree with flows and potentials, and its pivots.

use super::euler_tour::{EdgeEntries, EulerTour};
use super::integer::Integer;
use crate::metric::{Network, SpanningTree};

/// A node and the edge to its parent.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Flow up the edge, negative if it is directed down; never 0.
    flow: i128,
    parent: u32,
    edge: u32,
    /// Number of nodes in its subtree, including itself; an ancestor always has more.
    size: u32,
}

/// An edge on the cycle whose flow decreases, by the node below it.
#[derive(Clone, Copy, Debug)]
struct Blocking {
    flow: i128,
    below: u32,
    /// Whether it is on the side of the low end of the entering edge.
    low_side: bool,
}

/// A spanning tree with flows on its edges and potentials of its nodes; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct Basis<C> {
    node: Vec<Node>,
    root: u32,
    /// Lengths of all edges of the graph.
    pub(super) length: Vec<C>,
    tour: EulerTour<C>,
    blocking: Vec<Blocking>,
}

impl<C: Integer> Basis<C> {
    /// Resets the basis to the network's spanning tree; no subtree balances.
    pub(super) fn reset(&mut self, network: Network<'_>, supply: &[i128]) {
        let SpanningTree { order, parent, edge } = network.tree;
        self.root = order[0];
        self.node.clear();
        let links = parent.iter().zip(edge).zip(supply);
        let node = |((&parent, &edge), &flow)| Node { flow, parent, edge, size: 1 };
        self.node.extend(links.map(node));
        for &v in order[1..].iter().rev() {
            let Node { flow, parent, size, .. } = self.node[v as usize];
            self.node[parent as usize].flow += flow;
            self.node[parent as usize].size += size;
        }
        let mut entries = Vec::with_capacity(3 * order.len());
        self.walk(network, &mut entries);
        self.tour.set(order.len(), network.edges.len(), entries.into_iter());
        for &v in &order[1..] {
            let above = self.tour.potential(self.node[v as usize].parent);
            self.tour.set_potential(v, above.plus(self.rise(v)));
        }
    }

    /// Computes the Euler tour of the initial tree.
    fn walk(&self, network: Network<'_>, entries: &mut Vec<u32>) {
        let mut open = vec![self.root];
        entries.push(self.root);
        for &v in &network.tree.order[1..] {
            let parent = self.node[v as usize].parent;
            while let Some(done) = open.pop_if(|last| *last != parent) {
                entries.push(self.entries(network, done).up);
            }
            entries.extend([self.entries(network, v).down, v]);
            open.push(v);
        }
        let rest = open[1..].iter().rev().map(|&v| self.entries(network, v).up);
        entries.extend(rest);
    }

    /// Returns a node's potential minus its parent's: ± the length, decreasing along the flow.
    fn rise(&self, v: u32) -> C {
        let Node { flow, edge, .. } = self.node[v as usize];
        let length = self.length[edge as usize];
        if flow > 0 { length } else { C::default().minus(length) }
    }

    pub(super) fn potential(&self, v: u32) -> C {
        self.tour.potential(v)
    }

    /// Returns parent, edge number and upward flow of a node; `None` at the root.
    pub(super) fn link(&self, v: u32) -> Option<(u32, u32, i128)> {
        let Node { flow, parent, edge, .. } = self.node[v as usize];
        (v != self.root).then_some((parent, edge, flow))
    }

    /// Returns the difference of an edge's potentials minus its length; at most 0 at the optimum.
    #[inline]
    pub(super) fn violation(&self, (a, b, _): (u32, u32, f64), edge: usize) -> C {
        self.potential(a).apart(self.potential(b)).minus(self.length[edge])
    }

    /// Replaces the leaving edge by an entering edge with a positive violation.
    ///
    /// The pivot augments the flow along the entering edge from its high end to its low end and
    /// back through the tree. When the flow of an edge becomes 0, the rate at which the cost
    /// decreases drops by twice the length of that edge. The long step continues past such edges,
    /// whose flows change sign, and ends at the edge beyond which the cost would increase.
    pub(super) fn pivot(&mut self, network: Network<'_>, entering: usize) {
        let (a, b, _) = network.edges[entering];
        let (low, high) = if self.potential(a) < self.potential(b) { (a, b) } else { (b, a) };
        let violation = self.violation(network.edges[entering], entering);
        let join = self.close_cycle(low, high);
        let passed = self.long_step(violation);
        let Blocking { flow: step, below: leaving, low_side } = self.blocking[passed];
        for k in 0..passed {
            let v = self.blocking[k].below;
            let rise = self.rise(v);
            let fall = C::default().minus(rise.plus(rise));
            self.tour.add(self.entries(network, v), fall);
        }
        self.push_flow(low, join, step);
        self.push_flow(high, join, -step);
        let (inner, outer) = if low_side { (low, high) } else { (high, low) };
        let (flow, length) = (if low_side { -step } else { step }, self.length[entering]);
        let above = self.potential(outer);
        let target = if low_side { above.minus(length) } else { above.plus(length) };
        let by = target.minus(self.potential(inner));
        let new = entries(network, entering as u32, outer);
        self.tour.reconnect(self.entries(network, leaving), new, inner, outer, by);
        self.resize(leaving, outer, join);
        self.reroot(inner, leaving, Node { flow, parent: outer, edge: entering as u32, size: 0 });
    }

    /// Finds the lowest common ancestor of both ends, and the blocking edges of the cycle.
    fn close_cycle(&mut self, low: u32, high: u32) -> u32 {
        self.blocking.clear();
        let (mut a, mut b) = (low, high);
        while a != b {
            let (x, y) = (&self.node[a as usize], &self.node[b as usize]);
            if x.size <= y.size {
                if x.flow < 0 {
                    self.blocking.push(Blocking { flow: -x.flow, below: a, low_side: true });
                }
                a = x.parent;
            } else {
                if y.flow > 0 {
                    self.blocking.push(Blocking { flow: y.flow, below: b, low_side: false });
                }
                b = y.parent;
            }
        }
        a
    }

    /// Sorts blocking edges by flow as far as the step passes; the next one leaves.
    fn long_step(&mut self, violation: C) -> usize {
        let mut rest = violation;
        for passed in 0.. {
            let mut least = passed;
            for k in passed + 1..self.blocking.len() {
                least = if self.blocking[k].flow < self.blocking[least].flow { k } else { least };
            }
            self.blocking.swap(passed, least);
            let below = self.blocking[passed].below;
            let length = self.length[self.node[below as usize].edge as usize];
            rest = rest.minus(length.plus(length));
            if rest <= C::default() {
                return passed;
            }
        }
        unreachable!("the loop returns")
    }

    /// Augments the flows from `v` up to below `join`.
    fn push_flow(&mut self, mut v: u32, join: u32, step: i128) {
        while v != join {
            let node = &mut self.node[v as usize];
            node.flow += step;
            v = node.parent;
        }
    }

    /// Moves the size of the subtree of `leaving` from its ancestors to `outer` and its ancestors.
    fn resize(&mut self, leaving: u32, outer: u32, join: u32) {
        let Node { size, parent, .. } = self.node[leaving as usize];
        for (mut v, by) in [(parent, size.wrapping_neg()), (outer, size)] {
            while v != join {
                let node = &mut self.node[v as usize];
                node.size = node.size.wrapping_add(by);
                v = node.parent;
            }
        }
    }

    /// Makes `inner` the root of the subtree of `leaving` by reversing the path between them.
    fn reroot(&mut self, inner: u32, leaving: u32, link: Node) {
        let whole = self.node[leaving as usize].size;
        let (mut v, mut new) = (inner, link);
        loop {
            // `new.size` counts the former descendants that are now above v.
            let size = whole - new.size;
            let old = std::mem::replace(&mut self.node[v as usize], Node { size, ..new });
            if v == leaving {
                return;
            }
            new = Node { flow: -old.flow, parent: v, edge: old.edge, size: old.size };
            v = old.parent;
        }
    }

    /// Returns the entries of the edge above a node.
    fn entries(&self, network: Network<'_>, v: u32) -> EdgeEntries {
        let Node { parent, edge, .. } = self.node[v as usize];
        entries(network, edge, parent)
    }
}

/// Returns the entries of an edge for both directions.
fn entries(network: Network<'_>, edge: u32, parent: u32) -> EdgeEntries {
    let first = network.tree.order.len() as u32 + 2 * edge;
    let back = u32::from(network.edges[edge as usize].0 != parent);
    EdgeEntries { down: first + back, up: first + 1 - back }
}
