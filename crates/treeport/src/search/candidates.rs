//! Candidates of a search in ascending order of their lower bounds.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Last level that has raised a candidate's bound: only the shared bound, transformed, or one more
/// per round of sweeps.
pub(super) const SHARED: u8 = 0;
pub(super) const TRANSFORMED: u8 = 1;
/// The distance of the candidate is known.
pub(super) const KNOWN: u8 = u8::MAX;

/// A measure of the collection with a lower bound of its distance; a heap has the smallest bound on
/// top.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) bound: f64,
    pub(super) row: u32,
    /// Index of its stored duals, or of its distance once that is known.
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

/// Priority queue of all candidates of a query. Most are never refined; until then each is a single
/// `u64`, and only those with the smallest bounds are sorted.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Keys of unrefined candidates: the bits of a nonnegative bound, which sort like the bound,
    /// above the row. Every key in `waiting` is larger than those that were moved to `fresh`.
    fresh: BinaryHeap<Reverse<u64>>,
    waiting: Vec<u64>,
    others: BinaryHeap<Candidate>,
    /// Factors of a bound in `fresh`, multiplied one after the other because their product may
    /// overflow although no distance does.
    unit: f64,
    total: f64,
}

/// Returns the bound, or 0 if it is tiny: the slack for rounding is lost among subnormal numbers.
pub(super) fn safe(bound: f64) -> f64 {
    const LEAST: f64 = 1e-290;
    if bound > LEAST { bound } else { 0.0 }
}

/// Number of measures up to which all candidates are sorted at once.
const FEW: usize = 1 << 12;

/// Size of the sample that determines a threshold, and the number of sampled keys below it.
const SAMPLED: usize = 1 << 10;
const SAMPLED_BELOW: usize = 16;

impl Candidates {
    /// Starts a search with the bounds of all measures, in units of `unit` and for a total mass of
    /// 1.
    pub(super) fn begin(
        &mut self,
        bounds: impl Iterator<Item = (usize, f32)>,
        unit: f64,
        total: f64,
    ) {
        let key = |(row, bound): (usize, f32)| {
            // Clears the sign of -0, whose bits would be the largest.
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

    /// Moves the waiting candidates with the smallest bounds to the empty heap.
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

    /// Returns the smallest bound.
    pub(super) fn least(&mut self) -> f64 {
        let fresh = self.least_fresh().map_or(f64::INFINITY, |fresh| fresh.bound);
        self.others.peek().map_or(fresh, |other| fresh.min(other.bound))
    }

    /// Removes the candidate with the smallest bound; unrefined ones win ties.
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
            // Reuse after a search with other bounds.
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
