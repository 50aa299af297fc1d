//! Seeded sampling: the generator, and random pairs of measures.
//!
//! All draws come from one generator passed by the caller, in a fixed order and on one thread, so
//! that a seed determines the sample.

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treeport::metric::condensed::{pair_number, pairs_of};
use treeport::{Error, Result};

/// Random number generator: small, fast, and identical on every machine.
pub type Random = Xoshiro256PlusPlus;

/// Creates the generator of a seed.
///
/// # Example
/// ```
/// use treeport_report::sample::{positive, seeded};
/// assert_eq!(positive(&mut seeded(7)), positive(&mut seeded(7)));
/// ```
pub fn seeded(seed: u64) -> Random {
    Random::seed_from_u64(seed)
}

/// Draws a uniform number in (0, 1]; 0 is excluded because a zero mass would shrink a support.
pub fn positive(rng: &mut Random) -> f64 {
    1.0 - rng.random::<f64>()
}

/// Draws `count` different pairs i < j of measures in random order; all of them if there are fewer.
///
/// [`treeport::labeled::sample_pairs`] with a given generator.
pub fn random_pairs(
    count: usize,
    measures: usize,
    rng: &mut Random,
) -> Result<Vec<(usize, usize)>> {
    let all = pairs_of(measures);
    if all == 0 {
        return Err(Error::BadOption {
            option: "the number of measures",
            value: measures.to_string(),
            expected: "a pair needs two of them",
        });
    }
    Ok(index::sample(rng, all, count.min(all)).into_iter().map(pair_number).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn pairs_are_ordered_and_different() {
        let pairs = random_pairs(1000, 10, &mut seeded(0)).expect("10 measures");
        assert!(pairs.iter().all(|&(i, j)| i < j && j < 10));
        assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), 45);
        assert_eq!(pairs[..7], random_pairs(45, 10, &mut seeded(0)).expect("10 measures")[..7]);
        assert!(random_pairs(1, 1, &mut seeded(0)).is_err());
    }
}
