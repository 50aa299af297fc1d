//! Random number generators and independent streams of one seed.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Generator of all random numbers: small, fast, and the same on every machine.
pub(crate) type Random = Xoshiro256PlusPlus;

pub(crate) fn generator(seed: u64) -> Random {
    Random::seed_from_u64(seed)
}

/// Returns the seed of stream `k` of `seed`; neighboring seeds share no stream.
pub(crate) fn mixed(seed: u64, k: u64) -> u64 {
    // SplitMix64: an odd multiple, then bits mixed in both directions.
    let mut x = seed.rotate_left(32) ^ k.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
