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
    /// Nodes in its subtree, itself included; an ancestor always has more.
    size: u32,
}

const LONE: Node = Node { parent: NONE, first_child: NONE, next: NONE, previous: NONE, size: 1 };

/// The basis of a transportation problem; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C> {
    n: usize,
    m: usize,
    node: Vec<Node>,
    /// Flow on the arc between a node and its parent; always from the source to the sink.
    flow: Vec<i128>,
    /// Potential of every node; a basic arc (i, j) costs potential(i) − potential(j). A pivot then moves
    /// all potentials of a subtree by the same amount. The dual value of a sink is its negative.
    potential: Vec<C>,
    /// The first basis: arcs and their flows.
    basis: Vec<(u32, u32, i128)>,
    rest: (Vec<i128>, Vec<i128>),
    /// Arcs of every node in the first basis, in compressed rows, and the nodes parents first.
    start: Vec<usize>,
    arcs: Vec<usize>,
    order: Vec<usize>,
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

/// What a pivot finds out about the cycle it closes.
struct Cycle {
    leaving: usize,
    step: i128,
    join: usize,
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

    /// Potentials of sources and sinks.
    pub(super) fn potentials(&self) -> (&[C], &[C]) {
        self.potential.split_at(self.n)
    }

    /// A feasible basis: row by row to the sinks that are cheapest against their best offer.
    ///
    /// Flows are never 0, so each allocation uses up exactly one row or one column and the
    /// n + m − 1 of them form a spanning tree. O(n·m).
    fn first_basis(&mut self, supply: &[i128], demand: &[i128], cost: &[C]) {
        let (n, m) = (self.n, self.m);
        self.rest.0.clear();
        self.rest.0.extend_from_slice(supply);
        self.rest.1.clear();
        self.rest.1.extend_from_slice(demand);
        // A sink's best offer stands in for its dual; a sink that is full is far away.
        self.potential.clear();
        self.potential.resize(n + m, -C::FAR);
        let potential = &mut self.potential[n..];
        for row in cost.chunks_exact(m) {
            for (potential, &cost) in potential.iter_mut().zip(row) {
                if -cost > *potential {
                    *potential = -cost;
                }
            }
        }
        self.basis.clear();
        let (supply, demand) = (&mut self.rest.0, &mut self.rest.1);
        for i in 0..n {
            let row = &cost[i * m..(i + 1) * m];
            while supply[i] > 0 && self.basis.len() < n + m - 1 {
                let least = C::least(row, potential);
                let j = (0..m).find(|&j| row[j] + potential[j] == least).expect("a sink is open");
                let flow = supply[i].min(demand[j]);
                supply[i] -= flow;
                demand[j] -= flow;
                self.basis.push((i as u32, j as u32, flow));
                if demand[j] == 0 {
                    potential[j] = C::FAR;
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
        self.group_arcs();
        self.order.clear();
        self.order.push(n + m - 1);
        for k in 0..n + m {
            let v = self.order[k];
            for a in self.start[v]..self.start[v + 1] {
                let (i, j, flow) = self.basis[self.arcs[a]];
                let (i, j) = (i as usize, n + j as usize);
                let other = if i == v { j } else { i };
                if other as u32 != self.node[v].parent {
                    self.flow[other] = flow;
                    self.attach(other, v);
                    self.order.push(other);
                }
            }
        }
        for k in (1..n + m).rev() {
            let Node { parent, size, .. } = self.node[self.order[k]];
            self.node[parent as usize].size += size;
        }
    }

    /// Lists the arcs at every node of the first basis.
    fn group_arcs(&mut self) {
        let (n, m) = (self.n, self.m);
        self.start.clear();
        self.start.resize(n + m + 2, 0);
        for &(i, j, _) in &self.basis {
            self.start[i as usize + 2] += 1;
            self.start[n + j as usize + 2] += 1;
        }
        for v in 2..n + m + 2 {
            self.start[v] += self.start[v - 1];
        }
        self.arcs.clear();
        self.arcs.resize(2 * self.basis.len(), 0);
        // Filling moves each bound one row on, to where the row ends.
        for (arc, &(i, j, _)) in self.basis.iter().enumerate() {
            for end in [i as usize, n + j as usize] {
                self.arcs[self.start[end + 1]] = arc;
                self.start[end + 1] += 1;
            }
        }
    }

    /// Potentials from the basis: 0 at the root, then downwards.
    fn reset_potentials(&mut self, cost: &[C]) {
        let root = self.n + self.m - 1;
        self.potential[root] = C::default();
        let mut v = root;
        while let Some(next) = self.after(v, root) {
            v = next;
            let parent = self.node[v].parent as usize;
            self.potential[v] = if v < self.n {
                self.potential[parent] + cost[v * self.m + parent - self.n]
            } else {
                self.potential[parent] - cost[parent * self.m + v - self.n]
            };
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
        let potential = left[best.source];
        best.sink = (0..m).find(|&j| row[j] + right[j] - potential == least)?;
        Some(best)
    }

    /// Lets an arc in and another one out.
    fn pivot(&mut self, arc: Entering<C>) {
        let (i, j) = (arc.source, self.n + arc.sink);
        let Cycle { leaving, step, join } = self.cycle(i, j);
        self.push_flow(i, j, step);
        // The leaving arc cuts off a part of the tree that holds i (a source leaves on i's side) or j;
        // hang it from the other end.
        let (inner, outer) = if leaving < self.n { (i, j) } else { (j, i) };
        let cut_off = self.node[leaving].size;
        self.grow(self.node[leaving].parent as usize, join, cut_off.wrapping_neg());
        self.grow(outer, join, cut_off);
        self.turn_around(inner, leaving, step);
        // Potentials move on one side of the new arc, whichever is smaller: i's side up or j's down.
        let small = 2 * cut_off as usize <= self.n + self.m;
        let top = if small { inner } else { self.n + self.m - 1 };
        let up = (inner == i) == small;
        self.shift(top, if up { arc.reduced } else { -arc.reduced });
        self.attach(inner, outer);
    }

    /// The cycle that (i, j) closes: the arc that runs dry first, by the node below it, its flow, and
    /// where the two sides meet.
    fn cycle(&self, i: usize, j: usize) -> Cycle {
        let (mut a, mut b) = (i, j);
        let (mut leaving, mut step) = (usize::MAX, i128::MAX);
        while a != b {
            // Flow falls on arcs up from sources on i's side and from sinks on j's side.
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

    /// Sends flow around the cycle.
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

    /// Changes the sizes from `v` up to below `join`; what leaves on one side arrives on the other.
    fn grow(&mut self, mut v: usize, join: usize, by: u32) {
        while v != join {
            self.node[v].size = self.node[v].size.wrapping_add(by);
            v = self.node[v].parent as usize;
        }
    }

    /// Cuts the tree above `leaving` and turns the path from there down to `inner` around, so that
    /// `inner` is the root of the part cut off; `step` is the flow of the arc it will hang from.
    fn turn_around(&mut self, inner: usize, leaving: usize, step: i128) {
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

    /// Adds to all potentials in the subtree of `top`.
    fn shift(&mut self, top: usize, by: C) {
        let mut v = top;
        loop {
            self.potential[v] = self.potential[v] + by;
            match self.after(v, top) {
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

/// In units of √arcs; flat between 2 and 4 (instructions counted at supports of 30 to 1,000).
const BLOCK: f64 = 3.0;
