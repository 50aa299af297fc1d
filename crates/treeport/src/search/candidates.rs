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
/// a number each, and only those with the least bounds are in order.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// The bits of a bound, whose order is that of bounds that are not negative, above the measure's
    /// row. None of those that wait is below one that is in order.
    fresh: BinaryHeap<Reverse<u64>>,
    waiting: Vec<u64>,
    others: BinaryHeap<Candidate>,
    /// What a bound of a fresh one is multiplied by, one after the other: their product may be beyond
    /// all numbers where no distance is.
    unit: f64,
    total: f64,
}

/// A bound as it is, or 0 where it is next to nothing: what was taken off it for roundings would be lost among the last
/// digits of numbers next to 0.
pub(super) fn safe(bound: f64) -> f64 {
    const LEAST: f64 = 1e-290;
    if bound > LEAST { bound } else { 0.0 }
}

/// Measures up to which all candidates are in order from the beginning.
const FEW: usize = 1 << 12;

/// Candidates that a threshold is found by, and how many of them are below it.
const SAMPLED: usize = 1 << 10;
const SAMPLED_BELOW: usize = 16;

impl Candidates {
    /// Begins with other measures, by row with their bounds, in this unit and for a total mass of 1.
    pub(super) fn begin(
        &mut self,
        bounds: impl Iterator<Item = (usize, f32)>,
        unit: f64,
        total: f64,
    ) {
        let key = |(row, bound): (usize, f32)| {
            // Zero without a sign, whose bits would be the largest.
            let bound = if bound > 0.0 { bound } else { 0.0 };
            u64::from(bound.to_bits()) << 32 | row as u64
        };
        (self.unit, self.total) = (unit, total);
        self.fresh.clear();
        self.others.clear();
        self.waiting.clear();
        self.waiting.extend(bounds.map(key));
        self.order_some();
    }

    /// Puts those that wait and have the least bounds in order, where none is.
    fn order_some(&mut self) {
        if self.waiting.len() <= FEW {
            self.fresh.extend(self.waiting.drain(..).map(Reverse));
            return;
        }
        let step = self.waiting.len() / SAMPLED;
        let mut sample: Vec<u64> = self.waiting.iter().copied().step_by(step).collect();
        let threshold = *sample.select_nth_unstable(SAMPLED_BELOW).1;
        let below = self.waiting.iter().copied().filter(|&key| key <= threshold);
        self.fresh.extend(below.map(Reverse));
        self.waiting.retain(|&key| key > threshold);
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        self.others.push(candidate);
    }

    /// The least bound of all.
    pub(super) fn least(&mut self) -> f64 {
        let fresh = self.least_fresh().map_or(f64::INFINITY, |fresh| fresh.bound);
        self.others.peek().map_or(fresh, |other| fresh.min(other.bound))
    }

    /// Takes out the one with the least bound; a fresh one before others.
    pub(super) fn next(&mut self) -> Option<Candidate> {
        let fresh = self.least_fresh();
        let fresh =
            fresh.filter(|fresh| self.others.peek().is_none_or(|other| fresh.bound <= other.bound));
        if fresh.is_some() {
            self.fresh.pop();
            return fresh;
        }
        self.others.pop()
    }

    fn least_fresh(&mut self) -> Option<Candidate> {
        if self.fresh.is_empty() && !self.waiting.is_empty() {
            self.order_some();
        }
        let &Reverse(key) = self.fresh.peek()?;
        let bound = safe(f64::from(f32::from_bits((key >> 32) as u32)) * self.unit * self.total);
        Some(Candidate { bound, row: key as u32, at: 0, step: SHARED })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_come_in_the_order_of_their_bounds() {
        for count in [0, 1, 5, FEW, FEW + 1, 3 * FEW + 17, 40_000] {
            let bound = |row: usize| ((row * 7919) % 1009) as f32 / 100.0 - 1.0;
            let mut candidates = Candidates::default();
            // Once with other bounds before.
            candidates.begin((0..100).map(|row| (row, 1.0)), 1.0, 1.0);
            candidates.begin((0..count).map(|row| (row, bound(row))), 2.0, 0.5);
            let mut expected: Vec<(f32, usize)> =
                (0..count).map(|row| (bound(row).max(0.0), row)).collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            for (bound, row) in expected {
                assert_eq!(candidates.least(), f64::from(bound));
                let next = candidates.next().expect("there are more");
                assert_eq!((next.bound, next.row as usize), (f64::from(bound), row));
            }
            assert!(candidates.next().is_none());
        }
    }
}
