//! The measures that may still be neighbors, the one with the least bound first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// How far a candidate has been looked into: not at all beyond the bound that all have; transformed;
/// swept once, and so on.
pub(super) const SHARED: u8 = 0;
pub(super) const TRANSFORMED: u8 = 1;
/// Its distance is known.
pub(super) const KNOWN: u8 = u8::MAX;

/// A measure of the collection with a lower bound of its distance; the heap has the least on top.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) bound: f64,
    pub(super) row: u32,
    /// Where its duals are, or its distance once that is known.
    pub(super) at: u32,
    pub(super) step: u8,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = other.bound.total_cmp(&self.bound);
        by_bound.then(other.step.cmp(&self.step)).then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// All candidates of a query. Most are never looked into, so those that have not been are no more than
/// a number each.
#[derive(Debug)]
pub(super) struct Candidates {
    /// The bits of a bound, whose order is that of bounds that are not negative, above the measure's
    /// row.
    fresh: BinaryHeap<Reverse<u64>>,
    others: BinaryHeap<Candidate>,
    /// What a bound of a fresh one is multiplied by, one after the other: their product may be beyond
    /// all numbers where no distance is.
    unit: f64,
    total: f64,
}

impl Candidates {
    /// Measures by row with their bounds, in this unit and for a total mass of 1.
    pub(super) fn new(bounds: impl Iterator<Item = (usize, f32)>, unit: f64, total: f64) -> Self {
        let key = |(row, bound): (usize, f32)| {
            // Zero without a sign, whose bits would be the largest.
            let bound = if bound > 0.0 { bound } else { 0.0 };
            Reverse(u64::from(bound.to_bits()) << 32 | row as u64)
        };
        Self { fresh: bounds.map(key).collect(), others: BinaryHeap::new(), unit, total }
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        self.others.push(candidate);
    }

    /// The least bound of all.
    pub(super) fn least(&self) -> f64 {
        let fresh = self.least_fresh().map_or(f64::INFINITY, |fresh| fresh.bound);
        self.others.peek().map_or(fresh, |other| fresh.min(other.bound))
    }

    /// Takes out the one with the least bound; a fresh one before others.
    pub(super) fn next(&mut self) -> Option<Candidate> {
        let fresh = self
            .least_fresh()
            .filter(|fresh| self.others.peek().is_none_or(|other| fresh.bound <= other.bound));
        if fresh.is_some() {
            self.fresh.pop();
            return fresh;
        }
        self.others.pop()
    }

    fn least_fresh(&self) -> Option<Candidate> {
        let &Reverse(key) = self.fresh.peek()?;
        let bound = f64::from(f32::from_bits((key >> 32) as u32)) * self.unit * self.total;
        Some(Candidate { bound, row: key as u32, at: 0, step: SHARED })
    }
}
