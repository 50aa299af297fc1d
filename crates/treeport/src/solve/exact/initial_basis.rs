//! The initial basis of the network simplex, by Vogel's method.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::arcs::Arcs;
use super::price::Cost;
use super::{KeepGoing, PIVOTS_PER_CHECK, check_canceled};
use crate::error::Result;

/// A feasible basis as arcs with flows; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct InitialBasis<C: Cost> {
    pub(super) n: usize,
    pub(super) m: usize,
    /// Source, sink and flow of n + m − 1 arcs.
    pub(super) arcs: Vec<(u32, u32, i128)>,
    /// Costs of these arcs, once [`set_costs`](Self::set_costs) was called.
    pub(super) cost: Vec<C>,
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

/// Ratio of sinks and sources from which sources keep their cheapest arcs: a source then serves that
/// many sinks, and would scan its row for each. With 70 sources and 20,000 sinks the rows take 25
/// times as long as the lists.
const MANY_SINKS: usize = 8;

/// The cheapest arcs of a source to sinks that are not saturated, the cheapest last.
///
/// Prices of these sinks do not change while the basis is made, so the list stays sorted.
#[derive(Clone, Debug, Default)]
struct CheapestArcs<C> {
    arcs: Vec<(C, u32)>,
    /// Whether the list had all open arcs of the source when it was filled.
    is_complete: bool,
}

impl<C: Cost> CheapestArcs<C> {
    /// Returns what [`Arcs::regret`] does; ties go to the sink with the smallest number.
    fn regret(
        &mut self,
        arcs: &impl Arcs<C>,
        source: usize,
        price: &[C],
        sources: usize,
    ) -> (C, usize) {
        let is_open = |&(_, sink): &(C, u32)| price[sink as usize] != C::FAR;
        loop {
            while self.arcs.last().is_some_and(|arc| !is_open(arc)) {
                self.arcs.pop();
            }
            let mut open = self.arcs.iter().rev().filter(|arc| is_open(arc));
            match (open.next(), open.next()) {
                (Some(&(first, sink)), Some(&(second, _))) => {
                    return (second - first, sink as usize);
                }
                (first, _) if self.is_complete => {
                    return first.map_or((C::default(), usize::MAX), |arc| {
                        (C::FAR - arc.0, arc.1 as usize)
                    });
                }
                _ => self.fill(arcs, source, price, sources),
            }
        }
    }

    /// Fills the list with twice as many arcs as sinks that a source serves on average.
    fn fill(&mut self, arcs: &impl Arcs<C>, source: usize, price: &[C], sources: usize) {
        let kept = 2 * price.len().div_ceil(sources) + 2;
        let order = |a: &(C, u32), b: &(C, u32)| {
            a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
        };
        self.arcs.clear();
        arcs.open(source, price, &mut self.arcs);
        self.is_complete = self.arcs.len() <= kept;
        if !self.is_complete {
            self.arcs.select_nth_unstable_by(kept, order);
            self.arcs.truncate(kept);
        }
        self.arcs.sort_unstable_by(|a, b| order(b, a));
    }
}

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
    /// Sources whose arcs all end at saturated sinks continue with the arcs of `rest`, then with
    /// the northwest corner rule, also on missing arcs. Flows are never 0, so each allocation
    /// exhausts one row or one column, and the n + m − 1 allocations form a spanning tree. O((n +
    /// m) log n) plus the arcs scanned: a row per allocation, or, where sinks are many, a row per
    /// [`CheapestArcs`].
    pub(super) fn by_regret(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        (arcs, rest): (&impl Arcs<C>, &impl Arcs<C>),
        price: &mut [C],
        keep_going: &KeepGoing<'_>,
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
        keep_going: &KeepGoing<'_>,
    ) -> Result<()> {
        let (n, m) = (self.n, self.m);
        if arcs.count() == 0 {
            return Ok(());
        }
        let mut cheapest = Vec::new();
        if m > MANY_SINKS * n {
            cheapest.resize(n, CheapestArcs::default());
        }
        let mut entry = |source: usize, price: &[C]| {
            let (regret, sink) = match cheapest.get_mut(source) {
                Some(list) => list.regret(arcs, source, price, n),
                None => arcs.regret(source, price),
            };
            let (sink, negative_regret) = if sink < m { (sink, -regret) } else { (m, C::FAR) };
            RegretEntry { negative_regret, source, sink }
        };
        self.by_regret.clear();
        for i in 0..n {
            if i % PIVOTS_PER_CHECK == PIVOTS_PER_CHECK - 1 {
                check_canceled(keep_going)?;
            }
            if self.supply[i] > 0 {
                self.by_regret.push(entry(i, price));
            }
        }
        while let Some(RegretEntry { source: i, sink: j, .. }) = self.by_regret.pop() {
            if self.arcs.len() % PIVOTS_PER_CHECK == PIVOTS_PER_CHECK - 1 {
                check_canceled(keep_going)?;
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

    /// Sets the costs of the basic arcs.
    pub(super) fn set_costs(&mut self, cost: impl Fn(usize, usize) -> C) {
        self.cost.clear();
        self.cost.extend(self.arcs.iter().map(|&(i, j, _)| cost(i as usize, j as usize)));
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::arcs::AllArcs;
    use super::*;

    proptest! {
        #[test]
        fn lists_of_cheapest_arcs_have_the_regrets_of_whole_rows(
            (cost, closed) in (2..60usize).prop_flat_map(|m| {
                (vec(0..9i128, m), Just((0..m).collect::<Vec<_>>()).prop_shuffle())
            }),
            sources in 1..30usize,
        ) {
            let m = cost.len();
            let arcs = AllArcs { cost: &cost, m };
            let mut price = vec![0_i128; m];
            let mut list = CheapestArcs::default();
            for sink in closed {
                let open = price.iter().filter(|price| **price == 0).count();
                let (regret, at) = list.regret(&arcs, 0, &price, sources);
                let (judge, _) = arcs.regret(0, &price);
                let least = (0..m).filter(|&j| price[j] == 0).min_by_key(|&j| (cost[j], j));
                prop_assert_eq!(Some(at), least);
                prop_assert!(regret == judge || open == 1, "{} is not {}", regret, judge);
                price[sink] = i128::FAR;
            }
            prop_assert_eq!(list.regret(&arcs, 0, &price, sources).1, usize::MAX);
        }
    }
}
