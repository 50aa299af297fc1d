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

use super::first::{FirstBasis, Hung};
use super::linked::Linked;
use super::paths::Paths;
use super::price::Cost;

/// A spanning tree of basic arcs with their flows, rooted at the last sink.
pub(super) trait Basis<C: Cost> {
    fn hang(&mut self, first: &FirstBasis<C>);

    /// Lets an arc in and another one out, and moves the potentials of the nodes on one side.
    fn pivot(&mut self, arc: &Entering<C>, potential: &mut [C]);

    /// Source, sink and flow of every basic arc.
    fn flows(&self, out: &mut Vec<(u32, u32, i128)>);
}

/// An arc that would lower the cost, by its reduced cost for each unit.
#[derive(Clone, Copy)]
pub(super) struct Entering<C> {
    pub(super) source: usize,
    pub(super) sink: usize,
    pub(super) reduced: C,
}

/// The solver of one transportation problem; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C: Cost> {
    n: usize,
    m: usize,
    /// Potential of every node, sources first; a basic arc (i, j) costs potential(i) − potential(j). A
    /// pivot then moves all potentials of a subtree by the same amount. The dual value of a sink is its
    /// negative.
    potential: Vec<C>,
    first: FirstBasis<C>,
    small: Paths,
    large: Linked,
    /// Basic arcs with their flows.
    pub(super) flows: Vec<(u32, u32, i128)>,
    /// Row to price next, and how many before the best arc so far is taken.
    next_row: usize,
    block: usize,
    pub(super) pivots: usize,
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
        self.block = rows_in_block(self.n, self.m);
        self.first.find(supply, demand, cost, &mut self.potential);
        self.reset_potentials(cost);
        if self.n + self.m <= SMALL {
            let mut basis = std::mem::take(&mut self.small);
            let solved = self.run(&mut basis, cost, slack, most_pivots);
            self.small = basis;
            solved
        } else {
            let mut basis = std::mem::take(&mut self.large);
            let solved = self.run(&mut basis, cost, slack, most_pivots);
            self.large = basis;
            solved
        }
    }

    fn run(
        &mut self,
        basis: &mut impl Basis<C>,
        cost: &[C],
        slack: C,
        most_pivots: usize,
    ) -> bool {
        basis.hang(&self.first);
        let mut solved = true;
        while let Some(arc) = self.price(cost, slack) {
            if self.pivots == most_pivots {
                solved = false;
                break;
            }
            basis.pivot(&arc, &mut self.potential);
            self.pivots += 1;
        }
        basis.flows(&mut self.flows);
        solved
    }

    /// Potentials of sources and sinks.
    pub(super) fn potentials(&self) -> (&[C], &[C]) {
        self.potential.split_at(self.n)
    }

    /// Potentials from the first basis: 0 at the root, then downwards.
    fn reset_potentials(&mut self, cost: &[C]) {
        self.potential.clear();
        self.potential.resize(self.n + self.m, C::default());
        for &Hung { node, parent, .. } in self.first.order() {
            self.potential[node] = if node < self.n {
                self.potential[parent] + cost[node * self.m + parent - self.n]
            } else {
                self.potential[parent] - cost[parent * self.m + node - self.n]
            };
        }
    }

    /// The most negative arc of a few rows, from where pricing stopped last; `None` if there is none
    /// in all rows.
    fn price(&mut self, cost: &[C], slack: C) -> Option<Entering<C>> {
        let (n, m) = (self.n, self.m);
        let (left, right) = self.potential.split_at(n);
        let (mut best, mut source, mut sum) = (-slack, n, C::FAR);
        let (mut row, mut pause) = (self.next_row, self.block);
        for _ in 0..n {
            let least = C::least(&cost[row * m..(row + 1) * m], right);
            let reduced = least - left[row];
            if reduced < best {
                (best, source, sum) = (reduced, row, least);
            }
            row = if row + 1 == n { 0 } else { row + 1 };
            pause -= 1;
            if pause == 0 {
                if source < n {
                    break;
                }
                pause = self.block;
            }
        }
        self.next_row = row;
        (source < n).then(|| {
            let sink = C::find(&cost[source * m..(source + 1) * m], right, sum);
            Entering { source, sink, reduced: best }
        })
    }
}

/// Rows priced before the best arc so far is taken.
fn rows_in_block(n: usize, m: usize) -> usize {
    let arcs = (n * m) as f64;
    ((arcs.sqrt() * BLOCK / m as f64).ceil() as usize).clamp(1, n)
}

/// In units of √arcs; flat between 2 and 4 (instructions counted at supports of 30 to 1,000).
const BLOCK: f64 = 4.0;

/// Up to this many nodes the basis is kept as bit sets.
const SMALL: usize = 256;
