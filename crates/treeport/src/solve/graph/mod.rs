//! The network simplex on the edges of a graph.
//!
//! W₁ of shortest-path distances is a minimum-cost flow on the graph: every node has a supply or a
//! demand, edges have no capacities and carry flow in either direction, and a unit costs the length
//! of the edge. So *every spanning tree is a feasible basis*: the flow on an edge is the excess of
//! the subtree below it. Neither distances between nodes nor a first phase are needed. The tree
//! determines the potentials; if they differ along no edge by more than its length, they are
//! 1-Lipschitz, and the flow is optimal.
//!
//! # Integers
//! Flows are integers of 128 bits, perturbed so that no subtree balances: no basic flow is 0, every
//! pivot lowers the cost, and the method cannot cycle. Lengths are rounded down to units as fine as
//! 64 bits allow for the sum of all, so potentials do not round. The optimum for rounded lengths is
//! at most the true one, and the difference to the true cost of the plan is the gap. If lengths
//! differ by too many orders of magnitude for a certificate, they get 128 bits, and lengths far
//! above those of edges with flow are clipped.
//!
//! # Complexity
//! O(√n + path + √m) for a pivot: potentials ([`euler_tour`]), the cycle, and pricing. About 0.9 n
//! pivots if all nodes have mass.
//!
//! # What was tried
//! Grid of 100 × 100 nodes, random lengths and masses, one run each.
//! - *Long steps* (`basis`), kept: the flow of 1.5 edges changes sign in a pivot.
//! - *Potentials in chunks of an Euler tour*, kept: visiting subtrees node by node, a pivot touches
//!   1,900 nodes and takes 2.5 times as long; at 40,000 nodes 4 times.
//! - *The initial tree*: minimum spanning tree 8,300 to 9,100 pivots, shortest paths from the
//!   center 9,600 to 10,000, joining components of opposite excess first 11,000, shortest paths to
//!   the nearest sink 8,900 to 9,900.
//! - *The entering edge*: the largest violation in a block of √m edges. Blocks of 4√m, 16√m or all
//!   edges take as many pivots, on longer cycles; the first violation found takes four times as
//!   many.
//! - *Small subtrees first*, growing by levels: twice as many pivots, no less time.

mod basis;
mod euler_tour;
mod integer;
mod plan;

use crate::error::Result;
use crate::metric::Network;
use crate::solve::exact::integer_mass::{exponent_of, factors};
use crate::solve::exact::{KeepGoing, check_canceled};
use basis::Basis;
pub(super) use integer::Integer;
pub(super) use plan::{detach, plan};

/// The network simplex on a graph; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C> {
    basis: Basis<C>,
    /// Two powers of two whose product, which may be out of range, is the unit of lengths.
    unit: (f64, f64),
    /// Edge at which pricing resumes.
    next: usize,
    /// Number of consecutive edges without a violation.
    in_order: usize,
    pub(super) pivots: usize,
    /// Supplies minus flows.
    rest: Vec<i128>,
}

impl<C: Integer> Simplex<C> {
    /// Sets the problem and the initial basis. Supplies (negative for demands) have the sum 0, and
    /// no subtree of any spanning tree balances. Lengths above `clip` are lowered to it.
    pub(super) fn set(&mut self, network: Network<'_>, supply: &[i128], clip: f64) {
        let total: f64 = network.edges.iter().map(|edge| edge.2.min(clip)).sum();
        let exponent = C::BITS - 1 - exponent_of(total);
        let units = factors(exponent);
        self.unit = factors(-exponent);
        let length = |edge: &(u32, u32, f64)| C::floor(edge.2.min(clip) * units.0 * units.1);
        self.basis.length.clear();
        self.basis.length.extend(network.edges.iter().map(length));
        self.basis.reset(network, supply);
        (self.next, self.in_order, self.pivots) = (0, 0, 0);
    }

    /// Runs at most `most` pivots; returns whether the basis is optimal.
    pub(super) fn run(
        &mut self,
        network: Network<'_>,
        most: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        for _ in 0..most {
            let Some(edge) = self.entering(network) else { return Ok(true) };
            self.basis.pivot(network, edge);
            self.pivots += 1;
            if self.pivots.is_multiple_of(PIVOTS_PER_CHECK) {
                check_canceled(keep_going)?;
            }
        }
        Ok(self.in_order >= network.edges.len())
    }

    /// Returns the edge with the largest violation in the next block that has one.
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

    /// Checks from scratch that all supplies are served and potentials prove optimality.
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

    /// Returns number and flow of every edge of the tree.
    pub(super) fn flows(&self, network: Network<'_>) -> impl Iterator<Item = (usize, i128)> + '_ {
        let nodes = network.tree.order.len();
        links(&self.basis, nodes).map(|(_, (_, edge, flow))| (edge as usize, flow))
    }

    /// Returns the parent of every node; the root is its own parent.
    pub(super) fn tree(&self, nodes: usize) -> Vec<u32> {
        (0..nodes as u32).map(|v| self.basis.link(v).map_or(v, |link| link.0)).collect()
    }

    /// Returns the amount by which clipping and rounding lowered the length of an edge.
    pub(super) fn lowered(&self, network: Network<'_>, edge: usize) -> f64 {
        network.edges[edge].2 - self.basis.length[edge].real() * self.unit.0 * self.unit.1
    }

    /// Returns the potential of a node; mass flows from high to low potentials.
    pub(super) fn potential(&self, node: usize) -> f64 {
        self.basis.potential(node as u32).real() * self.unit.0 * self.unit.1
    }
}

fn links<C: Integer>(
    basis: &Basis<C>,
    nodes: usize,
) -> impl Iterator<Item = (u32, (u32, u32, i128))> + '_ {
    (0..nodes as u32).filter_map(|v| basis.link(v).map(|link| (v, link)))
}

/// Edges in a block of pricing, in units of √edges.
const BLOCK: f64 = 1.0;

/// Pivots between two checks for cancellation, about a millisecond.
const PIVOTS_PER_CHECK: usize = 256;

#[cfg(test)]
mod tests;
