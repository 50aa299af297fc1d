//! Radix sort of a few thousand small numbers.

/// Ranks in increasing order, in memory that is reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankOrder {
    /// A rank in the high bits, its place in the input in the low bits.
    keys: Vec<u64>,
    spare: Vec<u64>,
}

/// Fewer keys than this are sorted by comparison: counting costs as much for few as for many.
const FEW: usize = 48;

/// Bits of a rank that one pass sorts by.
const DIGIT: usize = 7;

impl RankOrder {
    /// Sorts ranks of at most `most`; of equal ones the first comes first.
    pub(crate) fn sort(&mut self, ranks: impl Iterator<Item = u32>, most: u32) {
        self.keys.clear();
        let mut next = 0;
        self.keys.extend(ranks.map(|rank| {
            let key = u64::from(rank) << 32 | next;
            next += 1;
            key
        }));
        if self.keys.len() < FEW {
            return self.keys.sort_unstable();
        }
        let bits = u32::BITS - most.leading_zeros();
        for shift in (32..32 + bits).step_by(DIGIT) {
            self.pass(shift);
        }
    }

    /// Sorts by one digit and leaves the order of equal ones as it is.
    fn pass(&mut self, shift: u32) {
        let digit = |key: u64| (key >> shift) as usize % (1 << DIGIT);
        let mut next = [0u32; 1 << DIGIT];
        for &key in &self.keys {
            next[digit(key)] += 1;
        }
        let mut before = 0;
        for next in &mut next {
            before += std::mem::replace(next, before);
        }
        self.spare.resize(self.keys.len(), 0);
        for &key in &self.keys {
            let next = &mut next[digit(key)];
            self.spare[*next as usize] = key;
            *next += 1;
        }
        std::mem::swap(&mut self.keys, &mut self.spare);
    }

    /// (rank, place in the input), in increasing order of ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.keys.iter().map(|&key| ((key >> 32) as u32, key as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_points_is_sorted_as_by_comparison() {
        let mut order = RankOrder::default();
        for leaves in [1, 2, 128, 129, 16_384, 40_000u32] {
            // 7919 divides none of them: all ranks, in another order.
            let rank: Vec<u32> = (0..leaves).map(|p| p * 7919 % leaves).collect();
            for count in [1, 2, FEW - 1, FEW, 500, 3_000] {
                // Some points twice, as the supports of two measures have them.
                let points: Vec<u32> =
                    (0..count as u32).map(|k| (k / 2 * 31 + k % 3) % leaves).collect();
                order.sort(points.iter().map(|&p| rank[p as usize]), leaves - 1);
                let mut judge: Vec<(u32, u32)> =
                    points.iter().zip(0..).map(|(&p, k)| (rank[p as usize], k)).collect();
                judge.sort_unstable();
                assert_eq!(order.iter().collect::<Vec<_>>(), judge, "{count} of {leaves}");
            }
        }
    }
}
