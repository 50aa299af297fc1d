//! Bids of the spare source, and evictions from the spare sink.
//!
//! Nearly every source may have mass at the spare sink, and the spare source at nearly every sink,
//! so both have heaps: of the limits at the spare sink, and of cost + price for the spare source.
//! Limits and prices only rise, so an entry is a lower bound, and only the top is computed again. A
//! bid takes O(log n), and the spare source never scans.
//!
//! # What was tried
//! Lists and stays as for other points: each bid at the spare sink scans all sources there.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bidding::{Auction, Choice, Stay};
use crate::solve::costs::{CLOSED, key, value_of};

/// Lower bounds with the numbers of their nodes, the least on top.
type Bounds = BinaryHeap<Reverse<u64>>;

/// Heaps of the spare source and the spare sink.
pub(super) struct Spares {
    source: u32,
    pub(super) sink: u32,
    /// Lower bounds of cost + price of all sinks for the spare source.
    by_price: Bounds,
    /// Lower bounds of the limits of the sources with mass at the spare sink.
    pub(super) by_limit: Bounds,
}

impl Spares {
    /// Creates empty heaps for this many sources and sinks, of which the last ones are spares.
    pub(super) fn new(sources: usize, sinks: usize) -> Self {
        let (source, sink) = (sources as u32 - 1, sinks as u32 - 1);
        Self { source, sink, by_price: Bounds::new(), by_limit: Bounds::new() }
    }
}

/// Computes the least value of a heap of lower bounds, and returns it with its node.
fn least(bounds: &mut Bounds, value: impl Fn(u32) -> f32) -> Option<(f32, u32)> {
    loop {
        let mut top = bounds.peek_mut()?;
        let node = top.0 as u32;
        let now = value(node);
        if now <= value_of(top.0) {
            return Some((now, node));
        }
        // The heap is restored where `top` goes out of scope.
        top.0 = key(now, node);
    }
}

impl Auction<'_> {
    pub(super) fn is_spare_source(&self, source: usize) -> bool {
        self.spares.as_ref().is_some_and(|spares| spares.source as usize == source)
    }

    pub(super) fn is_spare_sink(&self, sink: usize) -> bool {
        self.spares.as_ref().is_some_and(|spares| spares.sink as usize == sink)
    }

    /// Empties the spare sink, and lists all sinks for the spare source.
    pub(super) fn reset_spares(&mut self) {
        let Self { spares: Some(spares), costs, prices, stays, others, supply, .. } = self else {
            return;
        };
        let Spares { source, sink, by_price, by_limit } = spares;
        by_limit.clear();
        let none = Stay { source: 0, mass: 0, cost: 0.0, limit: 0.0 };
        stays[*sink as usize] = vec![none; supply.len()];
        let is_open = |j: &u32| prices.of[*j as usize] < CLOSED;
        let value = |j: u32| costs.single(*source as usize, j as usize) + prices.of[j as usize];
        let entries = (0..=*sink).filter(is_open).map(|j| Reverse(key(value(j), j)));
        *by_price = entries.collect();
        // No sink is missing on its list.
        others[*source as usize] = f32::INFINITY;
    }

    /// Returns the mass that moves between other points than the spares; that of the smaller side
    /// if any of it may stay behind.
    pub(super) fn moving(&self) -> u64 {
        let total: u64 = self.supply.iter().sum();
        let Some(Spares { source, sink, .. }) = self.spares else { return total };
        let [supply, demand] = [self.supply[source as usize], self.demand[sink as usize]];
        let moving = (total - supply).saturating_sub(demand);
        if moving > 0 { moving } else { (total - supply).min(total - demand) }
    }

    /// Returns the best sink of the spare source.
    pub(super) fn choose_for_spare(&mut self) -> Choice {
        let Self { spares: Some(spares), costs, prices, .. } = self else {
            unreachable!("only a problem with spares has a spare source");
        };
        let Spares { source, by_price, .. } = spares;
        let cost = |j: u32| costs.single(*source as usize, j as usize);
        let value = |j: u32| cost(j) + prices.of[j as usize];
        let (best, sink) = least(by_price, value).expect("there is an open sink");
        let first = by_price.pop();
        let second = least(by_price, value).map_or(f32::INFINITY, |second| second.0);
        by_price.extend(first);
        Choice { sink, cost: cost(sink), best, second }
    }

    /// Finds the source of least limit at the spare sink.
    pub(super) fn least_willing_at_spare(&mut self, newest: u32) -> usize {
        let sink = self.spares.as_ref().map_or(0, |spares| spares.sink);
        loop {
            let spares = self.spares.as_ref().and_then(|spares| spares.by_limit.peek());
            let &Reverse(top) = spares.expect("a sink that is too full is not empty");
            let source = top as u32;
            let Stay { cost, limit, .. } = self.stays[sink as usize][source as usize];
            let now = if source == newest {
                limit
            } else {
                self.elsewhere(source as usize, sink) - cost + self.epsilons[source as usize]
            };
            self.stays[sink as usize][source as usize].limit = now;
            if now <= value_of(top) {
                return source as usize;
            }
            let by_limit = self.spares.as_mut().map(|spares| &mut spares.by_limit);
            if let Some(mut top) = by_limit.and_then(BinaryHeap::peek_mut) {
                top.0 = key(now, source);
            }
        }
    }

    /// Returns the candidates of a source with their costs, the spare sink among them; all sinks
    /// for the spare source.
    pub(super) fn candidates(&self, source: usize) -> Cow<'_, [(u32, f32)]> {
        let listed = self.entries(source);
        let Some(spares) = &self.spares else { return Cow::Borrowed(listed) };
        let is_open = |j: &u32| self.prices.of[*j as usize] < CLOSED;
        let with_cost = |j: u32| (j, self.costs.single(source, j as usize));
        if source == spares.source as usize {
            return (0..=spares.sink).filter(is_open).map(with_cost).collect();
        }
        let is_missing = |j: &u32| is_open(j) && listed.iter().all(|entry| entry.0 != *j);
        let spare = Some(spares.sink).filter(is_missing).map(with_cost);
        listed.iter().copied().chain(spare).collect()
    }
}
