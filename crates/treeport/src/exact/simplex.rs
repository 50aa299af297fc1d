//! The network simplex for one transportation problem.
//!
//! The basis is a spanning tree of the complete bipartite graph of sources and sinks. A round prices
//! arcs row by row, lets the most negative one in, sends as much flow as it can around the cycle this
//! closes, and drops the arc that runs dry.
//!
//! # No epsilons in the flow
//! Masses are fixed-point integers of 128 bits, so flows are exact: nothing is ever "nearly 0". Every
//! supply carries one unit more than it should, and one demand takes them all (Charnes' perturbation;
//! masses are multiples of more units than there are sources). No proper subset of sources then
//! balances a subset of sinks, so no basic flow is 0, every pivot lowers the cost, and the method
//! cannot cycle.
//!
//! # Costs
//! `f64` in the usual case, where an arc is let in only if its reduced cost is below what rounding could
//! explain. Where that leaves a gap that cannot be certified, the same code runs on integer costs, which
//! do not round.

use super::price::Cost;

const NONE: u32 = u32::MAX;

/// One node of the basis tree. Sources are `0..n`, sinks `n..n + m`; the root is the last sink.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    first_child: u32,
    next: u32,
    previous: u32,
    depth: u32,
}

const LONE: Node = Node { parent: NONE, first_child: NONE, next: NONE, previous: NONE, depth: 0 };

/// The basis of a transportation problem; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C> {
    n: usize,
    m: usize,
    node: Vec<Node>,
    /// Flow on the arc between a node and its parent; always from the source to the sink.
    flow: Vec<i128>,
    /// Dual value of every node; a basic arc (i, j) has cost = potential(i) + potential(j).
    potential: Vec<C>,
    /// The first basis: arcs and their flows.
    basis: Vec<(u32, u32, i128)>,
    rest: (Vec<i128>, Vec<i128>),
    /// Row to price next.
    next_row: usize,
    pub(super) pivots: usize,
}

/// An arc that would lower the cost, by its reduced cost for each unit.
#[derive(Clone, Copy)]
struct Entering<C> {
    source: usize,
    sink: usize,
    reduced: C,
}

impl<C: Cost> Simplex<C> {
    /// Solves for balanced supplies and demands and row-major costs. Reduced costs above `-slack`
    /// count as 0. False if `most_pivots` do not suffice.
    pub(super) fn solve(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[C],
        slack: C,
        most_pivots: usize,
    ) -> bool {
        (self.n, self.m) = (supply.len(), demand.len());
        (self.pivots, self.next_row) = (0, 0);
        self.first_basis(supply, demand, cost);
        self.hang_basis();
        self.reset_potentials(cost);
        while let Some(arc) = self.price(cost, slack) {
            if self.pivots == most_pivots {
                return false;
            }
            self.pivot(arc);
            self.pivots += 1;
        }
        true
    }

    /// The basic arcs (source, sink) with their flows.
    pub(super) fn flows(&self) -> impl Iterator<Item = (usize, usize, i128)> + '_ {
        (0..self.n + self.m - 1).map(|v| {
            let parent = self.node[v].parent as usize;
            let (source, sink) = if v < self.n { (v, parent) } else { (parent, v) };
            (source, sink - self.n, self.flow[v])
        })
    }

    /// Dual values of sources and sinks.
    pub(super) fn potentials(&self) -> (&[C], &[C]) {
        self.potential.split_at(self.n)
    }

    /// A feasible basis: row by row to the sinks that are cheapest against their best offer.
    ///
    /// Flows are never 0, so each allocation uses up exactly one row or one column and the
    /// n + m − 1 of them form a spanning tree. O(n·m).
    fn first_basis(&mut self, supply: &[i128], demand: &[i128], cost: &[C]) {
        let (n, m) = (self.n, self.m);
        self.rest.0.clone_from_slice_or(supply);
        self.rest.1.clone_from_slice_or(demand);
        // A sink's best offer stands in for its dual; a sink that is full offers nothing.
        self.potential.clear();
        self.potential.resize(n + m, C::FAR);
        let dual = &mut self.potential[n..];
        for row in cost.chunks_exact(m) {
            for (dual, &cost) in dual.iter_mut().zip(row) {
                if cost < *dual {
                    *dual = cost;
                }
            }
        }
        self.basis.clear();
        let (supply, demand) = (&mut self.rest.0, &mut self.rest.1);
        for i in 0..n {
            let row = &cost[i * m..(i + 1) * m];
            while supply[i] > 0 && self.basis.len() < n + m - 1 {
                let least = C::least(row, dual);
                let j = (0..m).find(|&j| row[j] - dual[j] == least).expect("a sink is open");
                let flow = supply[i].min(demand[j]);
                supply[i] -= flow;
                demand[j] -= flow;
                self.basis.push((i as u32, j as u32, flow));
                if demand[j] == 0 {
                    dual[j] = -C::FAR;
                }
            }
        }
    }

    /// Hangs the basis from the last sink.
    fn hang_basis(&mut self) {
        let (n, m) = (self.n, self.m);
        self.node.clear();
        self.node.resize(n + m, LONE);
        self.flow.clear();
        self.flow.resize(n + m, 0);
        // Neighbors of every node, in compressed rows.
        let mut start = vec![0usize; n + m + 1];
        for &(i, j, _) in &self.basis {
            start[i as usize + 1] += 1;
            start[n + j as usize + 1] += 1;
        }
        for v in 0..n + m {
            start[v + 1] += start[v];
        }
        let mut next = start.clone();
        let mut arcs = vec![0usize; 2 * self.basis.len()];
        for (arc, &(i, j, _)) in self.basis.iter().enumerate() {
            for end in [i as usize, n + j as usize] {
                arcs[next[end]] = arc;
                next[end] += 1;
            }
        }
        let mut stack = vec![n + m - 1];
        while let Some(v) = stack.pop() {
            for &arc in &arcs[start[v]..start[v + 1]] {
                let (i, j, flow) = self.basis[arc];
                let (i, j) = (i as usize, n + j as usize);
                let other = if i == v { j } else { i };
                if other as u32 == self.node[v].parent {
                    continue;
                }
                self.flow[other] = flow;
                self.attach(other, v);
                self.node[other].depth = self.node[v].depth + 1;
                stack.push(other);
            }
        }
    }

    /// Duals from the basis: 0 at the root, then downwards.
    fn reset_potentials(&mut self, cost: &[C]) {
        let root = self.n + self.m - 1;
        self.potential[root] = C::default();
        let mut v = root;
        while let Some(next) = self.after(v, root) {
            v = next;
            let parent = self.node[v].parent as usize;
            let (source, sink) = if v < self.n { (v, parent) } else { (parent, v) };
            let arc = cost[source * self.m + sink - self.n];
            self.potential[v] = arc - self.potential[parent];
        }
    }

    /// The most negative arc of a few rows, from where pricing stopped last; `None` if there is none
    /// in all rows.
    fn price(&mut self, cost: &[C], slack: C) -> Option<Entering<C>> {
        let (n, m) = (self.n, self.m);
        let (left, right) = self.potential.split_at(n);
        let block = rows_in_block(n, m);
        let mut best: Option<Entering<C>> = None;
        let mut row = self.next_row;
        for scanned in 1..=n {
            let reduced = C::least(&cost[row * m..(row + 1) * m], right) - left[row];
            if best.as_ref().map_or(-slack, |b| b.reduced) > reduced {
                best = Some(Entering { source: row, sink: m, reduced });
            }
            row = if row + 1 == n { 0 } else { row + 1 };
            if scanned % block == 0 && best.is_some() {
                break;
            }
        }
        self.next_row = row;
        let mut best = best?;
        let row = &cost[best.source * m..(best.source + 1) * m];
        let least = best.reduced;
        let dual = left[best.source];
        best.sink = (0..m).find(|&j| row[j] - right[j] - dual == least)?;
        Some(best)
    }

    /// Lets an arc in and another one out.
    fn pivot(&mut self, arc: Entering<C>) {
        let (i, j) = (arc.source, self.n + arc.sink);
        let (leaving, step) = self.leaving(i, j);
        self.push_flow(i, j, step);
        // The leaving arc cuts off a part of the tree that holds i (a source leaves on i's side) or j;
        // hang it from the other end.
        let (inner, outer) = if leaving < self.n { (i, j) } else { (j, i) };
        self.rehang(inner, outer, leaving, step);
        self.shift(inner, arc.reduced);
    }

    /// The arc that runs dry first on the cycle through (i, j): the node below it, and its flow.
    fn leaving(&self, i: usize, j: usize) -> (usize, i128) {
        let (mut a, mut b) = (i, j);
        let (mut leaving, mut step) = (usize::MAX, i128::MAX);
        while a != b {
            // Flow falls on arcs up from sources on i's side and from sinks on j's side.
            if self.node[a].depth >= self.node[b].depth {
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
        (leaving, step)
    }

    /// Sends flow around the cycle.
    fn push_flow(&mut self, i: usize, j: usize, step: i128) {
        let (mut a, mut b) = (i, j);
        while a != b {
            if self.node[a].depth >= self.node[b].depth {
                self.flow[a] += if a < self.n { -step } else { step };
                a = self.node[a].parent as usize;
            } else {
                self.flow[b] += if b >= self.n { -step } else { step };
                b = self.node[b].parent as usize;
            }
        }
    }

    /// Turns the path from `inner` up to `leaving` around and hangs it from `outer`.
    fn rehang(&mut self, inner: usize, outer: usize, leaving: usize, step: i128) {
        let (mut v, mut parent, mut flow) = (inner, outer, step);
        loop {
            let old_parent = self.node[v].parent as usize;
            let old_flow = self.flow[v];
            self.detach(v);
            self.attach(v, parent);
            self.flow[v] = flow;
            if v == leaving {
                break;
            }
            (parent, v, flow) = (v, old_parent, old_flow);
        }
    }

    /// Moves the duals of the subtree at `inner` so that the new arc costs what it should, and sets depths.
    fn shift(&mut self, inner: usize, reduced: C) {
        let sources_gain = inner < self.n;
        let mut v = inner;
        loop {
            let parent = self.node[v].parent as usize;
            self.node[v].depth = self.node[parent].depth + 1;
            let old = self.potential[v];
            let gains = (v < self.n) == sources_gain;
            self.potential[v] = if gains { old + reduced } else { old - reduced };
            match self.after(v, inner) {
                Some(next) => v = next,
                None => break,
            }
        }
    }

    /// The next node in the subtree of `top`, parents first.
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

/// Rows priced before the best arc so far is taken.
fn rows_in_block(n: usize, m: usize) -> usize {
    let arcs = (n * m) as f64;
    ((arcs.sqrt() * BLOCK / m as f64).ceil() as usize).clamp(1, n)
}

const BLOCK: f64 = 2.0;

/// Copies into a vector, reusing its memory.
trait CloneFromSlice {
    fn clone_from_slice_or(&mut self, slice: &[i128]);
}

impl CloneFromSlice for Vec<i128> {
    fn clone_from_slice_or(&mut self, slice: &[i128]) {
        self.clear();
        self.extend_from_slice(slice);
    }
}
