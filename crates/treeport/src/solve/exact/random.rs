//! Random numbers for tests.

/// Returns a generator of numbers from 0 to 1 that its seed determines.
pub(crate) fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    }
}
