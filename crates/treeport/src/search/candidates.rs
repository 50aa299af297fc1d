//! Candidates of a search in ascending order of their keys: lower bounds, or in approximate
//! searches estimated distances.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::stretch::Stretch;
use crate::numeric::order::Total;

/// Level of a candidate with the shared bound.
pub(super) const SHARED: u8 = 0;

/// Level of a candidate with the transformed bound; each round of sweeps on its pair adds a level.
pub(super) const TRANSFORMED: u8 = 1;

/// Level of a candidate whose distance is known.
pub(super) const KNOWN: u8 = u8::MAX;

/// A measure of the collection with a lower bound of its distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) bound: f64,
    /// Bound times the factor of its level, by which candidates are ordered.
    pub(super) key: f64,
    pub(super) row: u32,
    /// Index of its stored duals, or of its distance once that is known.
    pub(super) at: u32,
    pub(super) step: u8,
}

/// Key, step, row, `at` and bound of a refined candidate.
type Refined = (Total, u8, u32, u32, Total);

/// Priority queue of all candidates of a query. Most are never refined; until then each is a single
/// `u64`, and only those with the smallest bounds are sorted.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// Least unrefined candidates: the bits of a nonnegative bound, which sort like the bound,
    /// above those of the row.
    fresh: BinaryHeap<Reverse<u64>>,
    /// All other unrefined candidates, unsorted, with larger keys than any moved to `fresh`.
    waiting: Vec<u64>,
    /// Refined candidates by key, step and row, each with its `at` and its bound.
    others: BinaryHeap<Reverse<Refined>>,
    /// Factor from bounds in `fresh` to keys.
    stretch: f64,
    /// Unit of the bounds in `fresh`. They are multiplied by it and by `total` one after the other:
    /// the product of both may overflow although no distance does.
    unit: f64,
    /// Divisor of the masses: the total of the query, or the mean total of the clouds if the query
    /// is empty.
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
    /// Starts a search with the bounds of all measures, in multiples of `unit` and for a total mass
    /// of 1.
    pub(super) fn begin(
        &mut self,
        bounds: impl Iterator<Item = (usize, f32)>,
        (unit, total): (f64, f64),
        stretch: &Stretch,
    ) {
        let key = |(row, bound): (usize, f32)| {
            // Clears the sign of -0, whose bits would be the largest.
            let bound = if bound > 0.0 { bound } else { 0.0 };
            u64::from(bound.to_bits()) << 32 | row as u64
        };
        (self.unit, self.total) = (unit, total);
        self.stretch = stretch.of(SHARED);
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
        let Candidate { bound, key, row, at, step } = candidate;
        self.others.push(Reverse((Total(key), step, row, at, Total(bound))));
    }

    /// Sets the factor from bounds to keys of all candidates that were not refined.
    pub(super) fn set_stretch(&mut self, stretch: &Stretch) {
        self.stretch = stretch.of(SHARED);
    }

    /// Returns the smallest key.
    pub(super) fn least(&mut self) -> f64 {
        let fresh = self.least_fresh().map_or(f64::INFINITY, |fresh| fresh.key);
        fresh.min(self.least_other())
    }

    fn least_other(&self) -> f64 {
        self.others.peek().map_or(f64::INFINITY, |Reverse((key, ..))| key.0)
    }

    /// Returns the smallest bound, which with factors need not be that of the smallest key.
    pub(super) fn least_bound(&mut self) -> f64 {
        let fresh = self.least_fresh().map_or(f64::INFINITY, |fresh| fresh.bound);
        self.others.iter().fold(fresh, |least, Reverse((.., bound))| least.min(bound.0))
    }

    /// Removes all refined candidates.
    pub(super) fn drain_refined(&mut self) -> impl Iterator<Item = Candidate> {
        self.others.drain().map(|Reverse((key, step, row, at, bound))| Candidate {
            bound: bound.0,
            key: key.0,
            row,
            at,
            step,
        })
    }

    /// Removes the candidate with the smallest key; unrefined ones win ties.
    pub(super) fn next(&mut self) -> Option<Candidate> {
        let fresh = self.least_fresh();
        if let Some(fresh) = fresh.filter(|fresh| fresh.key <= self.least_other()) {
            self.fresh.pop();
            return Some(fresh);
        }
        let Reverse((Total(key), step, row, at, Total(bound))) = self.others.pop()?;
        Some(Candidate { bound, key, row, at, step })
    }

    fn least_fresh(&mut self) -> Option<Candidate> {
        if self.fresh.is_empty() && !self.waiting.is_empty() {
            self.order_some();
        }
        let &Reverse(key) = self.fresh.peek()?;
        let bound = safe(f64::from(f32::from_bits((key >> 32) as u32)) * self.unit * self.total);
        let row = key as u32;
        Some(Candidate { bound, key: bound * self.stretch, row, at: 0, step: SHARED })
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
            candidates.begin((0..100).map(|row| (row, 1.0)), (1.0, 1.0), &Stretch::NONE);
            candidates.begin((0..count).map(|row| (row, bound(row))), (2.0, 0.5), &Stretch::NONE);
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
