//! The basis that a solve begins with.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::arcs::Arcs;
use super::price::Cost;
use super::{ASKED, GoesOn, ask};
use crate::error::Result;

/// A feasible basis as arcs with flows; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstBasis<C: Cost> {
    pub(super) n: usize,
    pub(super) m: usize,
    /// Source, sink and flow of n + m − 1 arcs.
    pub(super) arcs: Vec<(u32, u32, i128)>,
    supply: Vec<i128>,
    demand: Vec<i128>,
    /// What sources with something left wish, the most urgent on top.
    urgent: BinaryHeap<RegretEntry<C>>,
    /// Arcs of every node in compressed rows.
    start: Vec<usize>,
    at_node: Vec<usize>,
    order: Vec<BasisNode>,
}

/// The first choice of a source, and the negative of its regret: the most urgent is the smallest.
#[derive(Clone, Copy, Debug)]
struct RegretEntry<C> {
    negative_regret: C,
    source: usize,
    sink: usize,
}

impl<C: Cost> Ord for RegretEntry<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        // The top of a heap is its largest; of equally urgent ones the first.
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

/// A node (sources `0..n`, then sinks) that hangs from its parent by a basic arc.
#[derive(Clone, Copy, Debug)]
pub(super) struct BasisNode {
    pub(super) node: usize,
    pub(super) parent: usize,
    pub(super) arc: usize,
}

impl<C: Cost> FirstBasis<C> {
    /// Gives each source what it would miss most, as Vogel's method does.
    ///
    /// Costs are seen against a price for every sink ([`Cost::prices`]), which is used up. Of all
    /// sources the one whose second choice would cost it most more than its first gets that first
    /// choice, as far as it goes. Regrets are as of when a source was last looked at: an old one
    /// may be too small, no more.
    ///
    /// Sources whose arcs all end at full sinks go on with the arcs of `rest`, and those that have
    /// none there either give to any sink in the end, on arcs that need not exist.
    ///
    /// Flows are never 0, so each allocation uses up exactly one row or one column and the n + m −
    /// 1 of them form a spanning tree. O((n + m) log n) and the arcs looked at, which is far above n·m
    /// where one side is far larger.
    ///
    /// # Errors
    /// `Cancelled`, where it shall not go on.
    pub(super) fn by_regret(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        (arcs, rest): (&impl Arcs<C>, &impl Arcs<C>),
        price: &mut [C],
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        self.begin(supply, demand);
        let (n, m) = (self.n, self.m);
        if n == 1 || m == 1 {
            // There is one plan, and no need to look for it.
            (0..n).for_each(|i| (0..m).for_each(|j| self.place(i, j)));
            self.hang();
            return Ok(());
        }
        self.place_by(arcs, price, goes_on)?;
        self.place_by(rest, price, goes_on)?;
        self.place_rest();
        self.hang();
        Ok(())
    }

    /// Gives each source what it would miss most, for as long as there are arcs to open sinks.
    fn place_by(
        &mut self,
        arcs: &impl Arcs<C>,
        price: &mut [C],
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        let (n, m) = (self.n, self.m);
        if arcs.count() == 0 {
            return Ok(());
        }
        let wish = |source: usize, price: &[C]| {
            let (regret, sink) = arcs.regret(source, price);
            let (sink, negative_regret) = if sink < m { (sink, -regret) } else { (m, C::FAR) };
            RegretEntry { negative_regret, source, sink }
        };
        self.urgent.clear();
        for i in 0..n {
            if i % ASKED == ASKED - 1 {
                ask(goes_on)?;
            }
            if self.supply[i] > 0 {
                self.urgent.push(wish(i, price));
            }
        }
        while let Some(RegretEntry { source: i, sink: j, .. }) = self.urgent.pop() {
            if self.arcs.len() % ASKED == ASKED - 1 {
                ask(goes_on)?;
            }
            // Who finds all sinks full waits until the end, behind all others.
            if j == m || self.arcs.len() == n + m - 1 {
                break;
            }
            self.place(i, j);
            if self.demand[j] == 0 {
                // A sink that is full is far away.
                price[j] = C::FAR;
            }
            if self.supply[i] > 0 {
                self.urgent.push(wish(i, price));
            }
        }
        Ok(())
    }

    /// From the first source that has something left to the first sink that lacks something.
    fn place_rest(&mut self) {
        let (mut i, mut j) = (0, 0);
        while i < self.n && j < self.m {
            self.place(i, j);
            if self.supply[i] == 0 {
                i += 1;
            } else {
                j += 1;
            }
        }
    }

    /// Takes a spanning tree of arcs with their flows.
    pub(super) fn take_tree(&mut self, (n, m): (usize, usize), flows: &[(u32, u32, i128)]) {
        (self.n, self.m) = (n, m);
        self.arcs.clear();
        self.arcs.extend_from_slice(flows);
        self.hang();
    }

    fn begin(&mut self, supply: &[i128], demand: &[i128]) {
        (self.n, self.m) = (supply.len(), demand.len());
        self.supply.clear();
        self.supply.extend_from_slice(supply);
        self.demand.clear();
        self.demand.extend_from_slice(demand);
        self.arcs.clear();
    }

    /// Moves as much as source i has and sink j takes; an arc that moves nothing is none.
    fn place(&mut self, i: usize, j: usize) {
        let flow = self.supply[i].min(self.demand[j]);
        if flow > 0 {
            self.supply[i] -= flow;
            self.demand[j] -= flow;
            self.arcs.push((i as u32, j as u32, flow));
        }
    }

    /// All nodes but the root, which is the last sink, parents first.
    pub(super) fn order(&self) -> &[BasisNode] {
        &self.order
    }

    fn hang(&mut self) {
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
        // Filling moves each bound one row on, to where the row ends.
        for (arc, &(i, j, _)) in self.arcs.iter().enumerate() {
            for end in [i as usize, n + j as usize] {
                self.at_node[self.start[end + 1]] = arc;
                self.start[end + 1] += 1;
            }
        }
    }
}
