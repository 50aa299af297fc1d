//! Seeded draws: the generator, and random pairs of measures.
//!
//! Everything draws from one generator handed in by the caller, in a fixed order and on one thread,
//! so a seed names a sample.

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use treeport::{Error, Result};

/// The source of all randomness here: small, fast, and the same on every machine.
pub type Random = Xoshiro256PlusPlus;

/// The generator that a seed names.
///
/// # Example
/// ```
/// use treeport_report::sample::{random_pairs, seeded};
/// let pairs = random_pairs(3, 10, &mut seeded(7))?;
/// assert_eq!(pairs, random_pairs(3, 10, &mut seeded(7))?);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn seeded(seed: u64) -> Random {
    Random::seed_from_u64(seed)
}

/// Uniform in (0, 1]: a mass of exactly 0 would shrink a support by accident.
pub fn positive(rng: &mut Random) -> f64 {
    1.0 - rng.random::<f64>()
}

/// `count` pairs `i < j` of `0..measures` in random order.
///
/// No pair comes twice before every pair has come once.
///
/// # Errors
/// There are fewer than two measures.
pub fn random_pairs(
    count: usize,
    measures: usize,
    rng: &mut Random,
) -> Result<Vec<(usize, usize)>> {
    if measures < 2 {
        return Err(Error::BadOption {
            option: "measures",
            value: measures.to_string(),
            expected: "a pair needs two of them",
        });
    }
    let all = measures * (measures - 1) / 2;
    let mut pairs = Vec::with_capacity(count);
    while pairs.len() < count {
        let take = all.min(count - pairs.len());
        pairs.extend(index::sample(rng, all, take).into_iter().map(pair_number));
    }
    Ok(pairs)
}

/// Pair number k of (0,1), (0,2), (1,2), (0,3), …: j is the largest with j(j−1)/2 ≤ k.
fn pair_number(k: usize) -> (usize, usize) {
    #[expect(clippy::cast_sign_loss, reason = "the root of a positive number")]
    let mut j = f64::midpoint((8.0 * k as f64 + 1.0).sqrt(), 1.0) as usize;
    // The square root rounds once k is beyond 2^50 or so.
    while j * (j - 1) / 2 > k {
        j -= 1;
    }
    while j * (j + 1) / 2 <= k {
        j += 1;
    }
    (k - j * (j - 1) / 2, j)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn pairs_are_ordered_and_distinct_until_exhausted() {
        let pairs = random_pairs(45, 10, &mut seeded(0)).expect("10 measures");
        assert!(pairs.iter().all(|&(i, j)| i < j && j < 10));
        assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), 45);
        let more = random_pairs(100, 10, &mut seeded(0)).expect("10 measures");
        assert_eq!(more.len(), 100);
        assert_eq!(more[..45].iter().collect::<HashSet<_>>().len(), 45);
        assert!(random_pairs(1, 1, &mut seeded(0)).is_err());
    }

    #[test]
    fn pair_numbers_count_up() {
        let mut k = 0;
        for j in 1..60 {
            for i in 0..j {
                assert_eq!(pair_number(k), (i, j));
                k += 1;
            }
        }
        let last = 3_000_000_000_usize;
        assert_eq!(pair_number(last * (last - 1) / 2), (0, last));
    }
}
