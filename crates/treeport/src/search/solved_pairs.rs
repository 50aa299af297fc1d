//! Cache of distances in a self-join, solved for one measure and reused for the other.
//!
//! Most solved pairs of a self-join come up twice, and W₁ from b to a has the bits of W₁ from a to
//! b. The first search stores the distance, and the second removes it. A search uses a cached
//! distance only if it would have solved the pair, so its result, bound and counts do not depend on
//! the cache.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Maximum number of cached pairs: at about 40 bytes each, 160 MiB.
const MOST_PAIRS: usize = 1 << 22;

/// Number of maps with separate locks.
const SHARDS: usize = 64;

/// Distances between rows of a collection, each kept until it is used.
#[derive(Debug)]
pub(super) struct SolvedPairs {
    shards: [Mutex<HashMap<(u32, u32), f64>>; SHARDS],
    most_in_shard: usize,
}

impl Default for SolvedPairs {
    fn default() -> Self {
        Self::with_capacity_for(MOST_PAIRS)
    }
}

impl SolvedPairs {
    fn with_capacity_for(pairs: usize) -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { shards, most_in_shard: pairs / SHARDS }
    }

    /// Removes and returns the distance between two rows, if cached.
    pub(super) fn take(&self, a: usize, b: usize) -> Option<f64> {
        self.locked(a, b, |pairs, key| pairs.remove(&key))
    }

    /// Caches the distance between two rows, unless the map is full.
    pub(super) fn put(&self, a: usize, b: usize, distance: f64) {
        self.locked(a, b, |pairs, key| {
            if pairs.len() < self.most_in_shard && pairs.try_reserve(1).is_ok() {
                pairs.insert(key, distance);
            }
        });
    }

    fn locked<T>(
        &self,
        a: usize,
        b: usize,
        work: impl FnOnce(&mut HashMap<(u32, u32), f64>, (u32, u32)) -> T,
    ) -> T {
        let shard = &self.shards[(a + b) % SHARDS];
        // No panic leaves a map in an invalid state.
        let mut pairs = shard.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut pairs, (a.min(b) as u32, a.max(b) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_waits_for_the_other_measure() {
        let solved = SolvedPairs::default();
        assert_eq!(solved.take(3, 5), None);
        solved.put(3, 5, 0.25);
        assert_eq!(solved.take(4, 4), None);
        assert_eq!(solved.take(5, 3), Some(0.25));
        assert_eq!(solved.take(5, 3), None);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let solved = SolvedPairs::with_capacity_for(2 * SHARDS);
        (1..=1000).for_each(|row| solved.put(0, row, row as f64));
        let waiting: Vec<_> = (1..=1000).filter_map(|row| solved.take(row, 0)).collect();
        assert_eq!(waiting.len(), 2 * SHARDS);
        assert_eq!(waiting, (1..=2 * SHARDS).map(|row| row as f64).collect::<Vec<_>>());
    }
}
