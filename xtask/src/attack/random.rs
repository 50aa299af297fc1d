//! A small random number generator: a round is the same on every machine.

use std::ops::Range;

/// Random numbers determined by a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
}

impl Random {
    /// Creates the stream of one round.
    pub(super) fn new(seed: u64, round: u64) -> Self {
        let mut random = Self { state: seed };
        // Streams of neighboring rounds must not be shifts of each other.
        random.state = random.next() ^ round.wrapping_mul(0xD1B5_4A32_D192_ED03);
        random.next();
        random
    }

    /// Draws 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Draws a number below `end`; 0 if there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(super) fn within(&mut self, range: Range<usize>) -> usize {
        range.start + self.below(range.len())
    }

    /// Draws a number in [0, 1).
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with probability 1/`times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Draws an element.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_a_stream_of_its_own() {
        let stream = |seed, round| {
            let mut random = Random::new(seed, round);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(stream(1, 2), stream(1, 2));
        for other in [(1, 3), (2, 2), (2, 1), (0, 0)] {
            assert_ne!(stream(1, 2), stream(other.0, other.1));
        }
    }
}
