//! The initial basis of the network simplex, by Vogel's method.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::arcs::Arcs;
use super::price::Cost;
use super::{GoesOn, PIVOTS_PER_CHECK, ask};
use crate::error::Result;

/// A feasible basis as arcs with flows; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct InitialBasis<C: Cost> {
    pub(super) n: usize,
    pub(super) m: usize,
    /// Source, sink and flow of n + m − 1 arcs.
    pub(super) arcs: Vec<(u32, u32, i128)>,
    supply: Vec<i128>,
    demand: Vec<i128>,
    /// Preferred arcs of the sources with supply left, the largest regret on top.
    by_regret: BinaryHeap<RegretEntry<C>>,
    /// Arcs of every node in compressed rows.
    start: Vec<usize>,
    at_node: Vec<usize>,
    order: Vec<BasisNode>,
}

/// The cheapest arc of a source, and the negative of its regret.
#[derive(Clone, Copy, Debug)]
struct RegretEntry<C> {
    negative_regret: C,
    source: usize,
    sink: usize,
}

impl<C: Cost> Ord for RegretEntry<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        // The top of the heap is its largest entry; ties go to the first source.
        let by_regret = other.negative_regret.partial_cmp(&self.negative_regret);
        by_regret.unwrap_or(Ordering::Equal).then(other.source.cmp(&self.source))
    }
}

impl<C: Cost> PartialOrd for RegretEntry<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<C: Cost> PartialEq for RegretEntry<C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<C: Cost> Eq for RegretEntry<C> {}

/// A node (sources `0..n`, then sinks) with its parent and the basic arc between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct BasisNode {
    pub(super) node: usize,
    pub(super) parent: usize,
    pub(super) arc: usize,
}

impl<C: Cost> InitialBasis<C> {
    /// Allocates by largest regret, as Vogel's method does.
    ///
    /// Each sink has a price ([`Cost::prices`]), which `price` provides and this function
    /// overwrites. The regret of a source is the reduced cost of its second cheapest arc minus that
    /// of its cheapest. The source with the largest regret sends as much as it can along its
    /// cheapest arc. A stale regret is too small if the second sink has been saturated since; if
    /// the first one has, the source sends nothing and gets a new regret.
    ///
    /// Sources whose arcs all end at saturated sinks continue with the arcs of `rest`. If these are
    /// saturated, too, the northwest corner rule allocates what remains, also on missing arcs.
    ///
    /// Flows are never 0, so each allocation exhausts exactly one row or one column, and the n + m
    /// − 1 allocations form a spanning tree. O((n + m) log n) plus the arcs scanned, which is far
    /// above n·m if one side is far larger.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled) if `keep_going` returns false.
    pub(super) fn by_regret(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        (arcs, rest): (&impl Arcs<C>, &impl Arcs<C>),
        price: &mut [C],
        keep_going: &GoesOn<'_>,
    ) -> Result<()> {
        self.reset(supply, demand);
        let (n, m) = (self.n, self.m);
        if n == 1 || m == 1 {
            // There is only one plan.
            (0..n).for_each(|i| (0..m).for_each(|j| self.allocate(i, j)));
            self.order_nodes();
            return Ok(());
        }
        self.allocate_by_regret(arcs, price, keep_going)?;
        self.allocate_by_regret(rest, price, keep_going)?;
        self.allocate_rest();
        self.order_nodes();
        Ok(())
    }

    /// Allocates by largest regret while these arcs lead to sinks with demand left.
    fn allocate_by_regret(
        &mut self,
        arcs: &impl Arcs<C>,
        price: &mut [C],
        keep_going: &GoesOn<'_>,
    ) -> Result<()> {
        let (n, m) = (self.n, self.m);
        if arcs.count() == 0 {
            return Ok(());
        }
        let entry = |source: usize, price: &[C]| {
            let (regret, sink) = arcs.regret(source, price);
            let (sink, negative_regret) = if sink < m { (sink, -regret) } else { (m, C::FAR) };
            RegretEntry { negative_regret, source, sink }
        };
        self.by_regret.clear();
        for i in 0..n {
            if i % PIVOTS_PER_CHECK == PIVOTS_PER_CHECK - 1 {
                ask(keep_going)?;
            }
            if self.supply[i] > 0 {
                self.by_regret.push(entry(i, price));
            }
        }
        while let Some(RegretEntry { source: i, sink: j, .. }) = self.by_regret.pop() {
            if self.arcs.len() % PIVOTS_PER_CHECK == PIVOTS_PER_CHECK - 1 {
                ask(keep_going)?;
            }
            // A source without an open sink is last in the heap.
            if j == m || self.arcs.len() == n + m - 1 {
                break;
            }
            self.allocate(i, j);
            if self.demand[j] == 0 {
                // Closes the saturated sink.
                price[j] = C::FAR;
            }
            if self.supply[i] > 0 {
                self.by_regret.push(entry(i, price));
            }
        }
        Ok(())
    }

    /// Allocates the rest by the northwest corner rule.
    fn allocate_rest(&mut self) {
        let (mut i, mut j) = (0, 0);
        while i < self.n && j < self.m {
            self.allocate(i, j);
            if self.supply[i] == 0 {
                i += 1;
            } else {
                j += 1;
            }
        }
    }

    /// Sets the basis to a spanning tree of arcs with flows.
    pub(super) fn set_tree(&mut self, (n, m): (usize, usize), flows: &[(u32, u32, i128)]) {
        (self.n, self.m) = (n, m);
        self.arcs.clear();
        self.arcs.extend_from_slice(flows);
        self.order_nodes();
    }

    fn reset(&mut self, supply: &[i128], demand: &[i128]) {
        (self.n, self.m) = (supply.len(), demand.len());
        self.supply.clear();
        self.supply.extend_from_slice(supply);
        self.demand.clear();
        self.demand.extend_from_slice(demand);
        self.arcs.clear();
    }

    /// Sends the largest possible flow from source i to sink j; adds an arc if it is positive.
    fn allocate(&mut self, i: usize, j: usize) {
        let flow = self.supply[i].min(self.demand[j]);
        if flow > 0 {
            self.supply[i] -= flow;
            self.demand[j] -= flow;
            self.arcs.push((i as u32, j as u32, flow));
        }
    }

    /// Returns all nodes except the root, which is the last sink, parents first.
    pub(super) fn order(&self) -> &[BasisNode] {
        &self.order
    }

    /// Orders the nodes of the tree by breadth-first search from the root.
    fn order_nodes(&mut self) {
        let (n, m) = (self.n, self.m);
        self.group_arcs();
        self.order.clear();
        let mut at = BasisNode { node: n + m - 1, parent: usize::MAX, arc: usize::MAX };
        for k in 0..n + m {
            for &arc in &self.at_node[self.start[at.node]..self.start[at.node + 1]] {
                let (i, j) = (self.arcs[arc].0 as usize, n + self.arcs[arc].1 as usize);
                if arc != at.arc {
                    let node = if i == at.node { j } else { i };
                    self.order.push(BasisNode { node, parent: at.node, arc });
                }
            }
            at = self.order.get(k).copied().unwrap_or(at);
        }
    }

    /// Lists the arcs at every node.
    fn group_arcs(&mut self) {
        let (n, m) = (self.n, self.m);
        self.start.clear();
        self.start.resize(n + m + 2, 0);
        for &(i, j, _) in &self.arcs {
            self.start[i as usize + 2] += 1;
            self.start[n + j as usize + 2] += 1;
        }
        for v in 2..n + m + 2 {
            self.start[v] += self.start[v - 1];
        }
        self.at_node.clear();
        self.at_node.resize(2 * self.arcs.len(), 0);
        // Filling advances each start to the end of its row.
        for (arc, &(i, j, _)) in self.arcs.iter().enumerate() {
            for end in [i as usize, n + j as usize] {
                self.at_node[self.start[end + 1]] = arc;
                self.start[end + 1] += 1;
            }
        }
    }
}
