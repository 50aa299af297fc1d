//! Transport on the edges of a graph, by a network simplex.
//!
//! W₁ of shortest paths is a flow on the graph itself: every node has to give away what it has too
//! much of, any edge may carry any amount either way, and a unit costs the length of the edge. So
//! *every spanning tree is a feasible basis* (its flows are what its subtrees have too much of), no
//! distance between nodes is ever needed, and no first phase. Potentials follow from the tree, and
//! when the ends of no edge are farther apart than its length they are 1-Lipschitz: no flow is
//! cheaper.
//!
//! # Whole numbers
//! Flows are integers of 128 bits, perturbed so that no subtree balances: no flow on a tree is 0,
//! every pivot lowers the cost, and the method cannot cycle. Lengths are rounded down to whole
//! units, as fine as 64 bits allow for the sum of all, so that potentials do not round either; the
//! optimum for them is below that for the true lengths, and what the plan costs above it is the
//! gap. Only where lengths lie so far apart that this proves nothing are there 128 bits, and lengths
//! far above those that carry mass are lowered.
//!
//! # Complexity
//! O(√n + path + √m) for a pivot: [`tour`] for the potentials, the cycle, and pricing. About 0.9 n
//! pivots where all nodes have mass.
//!
//! # What was tried
//! Grid of 100 × 100 nodes, random lengths and masses, one run each.
//! - *Long steps* (`basis`), kept: 1.5 edges turn round in a pivot.
//! - *Potentials in chunks of a tour*, kept: with subtrees visited node by node a pivot touches 1,900
//!   nodes, and it takes 2.5 times as long; at 40,000 nodes 4 times.
//! - *The first tree*: lightest 8,300 to 9,100 pivots, shortest paths from the center 9,600 to
//!   10,000, joining pieces of opposite surplus first 11,000, shortest paths to the nearest sink 8,900
//!   to 9,900.
//! - *The edge to let in*: the worst of a block of √m edges. The worst of 4√m, 16√m or all takes as
//!   many pivots, on longer and longer cycles; the first that is found takes four times as many.
//! - *Small pieces of the tree first*, growing by levels: twice as many pivots, no time won.

mod basis;
mod plan;
mod tour;
mod whole;

use crate::error::Result;
use crate::metric::Network;
use crate::solve::exact::fixed::{exponent_of, factors};
use crate::solve::exact::{GoesOn, ask};
use basis::Basis;
pub(super) use plan::plan;
pub(super) use whole::Whole;

/// The solver of one flow; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C> {
    basis: Basis<C>,
    /// The unit of lengths is the product of these two powers of two, which may be out of range.
    unit: (f64, f64),
    /// Where pricing goes on, and how many edges in a row were found in order.
    next: usize,
    in_order: usize,
    pub(super) pivots: usize,
    rest: Vec<i128>,
}

impl<C: Whole> Simplex<C> {
    /// Lays out a problem: `supply` has what every node has to give away, with a sum of 0, and no
    /// subtree of any tree without something to give or take. Lengths above `clip` are lowered to
    /// it.
    pub(super) fn set(&mut self, network: Network<'_>, supply: &[i128], clip: f64) {
        let total: f64 = network.edges.iter().map(|edge| edge.2.min(clip)).sum();
        let exponent = C::BITS - 1 - exponent_of(total);
        let units = factors(exponent);
        self.unit = factors(-exponent);
        let whole = |edge: &(u32, u32, f64)| C::floor(edge.2.min(clip) * units.0 * units.1);
        self.basis.length.clear();
        self.basis.length.extend(network.edges.iter().map(whole));
        self.basis.hang(network, supply);
        (self.next, self.in_order, self.pivots) = (0, 0, 0);
    }

    /// Goes on for at most so many pivots; whether the end is reached. Asks now and then
    /// whether to go on.
    pub(super) fn run(
        &mut self,
        network: Network<'_>,
        most: usize,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        for _ in 0..most {
            let Some(edge) = self.entering(network) else { return Ok(true) };
            self.basis.pivot(network, edge);
            self.pivots += 1;
            if self.pivots.is_multiple_of(WATCH) {
                ask(goes_on)?;
            }
        }
        Ok(self.in_order >= network.edges.len())
    }

    /// The edge of the next block whose ends are farthest beyond its length.
    fn entering(&mut self, network: Network<'_>) -> Option<usize> {
        let edges = network.edges;
        let block = (BLOCK * (edges.len() as f64).sqrt()).ceil() as usize;
        let (mut worst, mut found) = (C::default(), None);
        while self.in_order < edges.len() {
            for _ in 0..block {
                let violation = self.basis.violation(edges[self.next], self.next);
                if violation > worst {
                    (worst, found) = (violation, Some(self.next));
                }
                self.next = if self.next + 1 == edges.len() { 0 } else { self.next + 1 };
            }
            self.in_order += block;
            if found.is_some() {
                self.in_order = 0;
                break;
            }
        }
        found
    }

    /// Whether flows and potentials prove each other, looked at from the outside, whatever the
    /// solver did: the flows give away all supplies, no edge is shorter than its ends are apart,
    /// and every flow runs down by the length of its edge.
    pub(super) fn is_proof(&mut self, network: Network<'_>, supply: &[i128]) -> bool {
        let basis = &self.basis;
        self.rest.clear();
        self.rest.extend_from_slice(supply);
        let mut tight = true;
        for (v, (parent, edge, flow)) in links(basis, supply.len()) {
            self.rest[v as usize] -= flow;
            self.rest[parent as usize] += flow;
            let fall = basis.potential(v).minus(basis.potential(parent));
            let fall = if flow > 0 { fall } else { C::default().minus(fall) };
            tight &= fall == basis.length[edge as usize];
            let (a, b, _) = network.edges[edge as usize];
            tight &= (a, b) == (v.min(parent), v.max(parent));
        }
        let mut edges = network.edges.iter().enumerate();
        tight
            && self.rest.iter().all(|&rest| rest == 0)
            && edges.all(|(e, &edge)| basis.violation(edge, e) <= C::default())
    }

    /// Number and flow of every edge of the tree.
    pub(super) fn flows(&self, network: Network<'_>) -> impl Iterator<Item = (usize, i128)> + '_ {
        let nodes = network.tree.order.len();
        links(&self.basis, nodes).map(|(_, (_, edge, flow))| (edge as usize, flow))
    }

    /// Parent of every node and what flows up to it; the root is its own.
    pub(super) fn tree(&self, nodes: usize) -> Vec<u32> {
        (0..nodes as u32).map(|v| self.basis.link(v).map_or(v, |link| link.0)).collect()
    }

    /// What clipping and rounding to whole units have taken from the length of an edge.
    pub(super) fn lowered(&self, network: Network<'_>, edge: usize) -> f64 {
        network.edges[edge].2 - self.basis.length[edge].real() * self.unit.0 * self.unit.1
    }

    /// The potential of a node; mass runs from high to low ones.
    pub(super) fn potential(&self, node: usize) -> f64 {
        self.basis.potential(node as u32).real() * self.unit.0 * self.unit.1
    }
}

fn links<C: Whole>(
    basis: &Basis<C>,
    nodes: usize,
) -> impl Iterator<Item = (u32, (u32, u32, i128))> + '_ {
    (0..nodes as u32).filter_map(|v| basis.link(v).map(|link| (v, link)))
}

/// Edges of a block, in units of √edges.
const BLOCK: f64 = 1.0;

/// Pivots between two questions whether to go on, about a millisecond.
const WATCH: usize = 256;

#[cfg(test)]
mod tests;
