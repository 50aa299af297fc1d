//! Orders of numbers: a total order of `f64`, and radix sorts of ranks and of `f64`.

use std::cmp::Ordering;

/// A number in the order of [`f64::total_cmp`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total(pub(crate) f64);

impl Ord for Total {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Total {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Total {}

/// Sorts keys stably by a digit, given the number of keys with each value of it.
fn scatter<K: Copy + Default>(
    keys: &mut Vec<K>,
    spare: &mut Vec<K>,
    counts: &mut [u32],
    digit: impl Fn(K) -> usize,
) {
    let mut before = 0;
    for next in &mut *counts {
        before += std::mem::replace(next, before);
    }
    spare.resize(keys.len(), K::default());
    for &key in &*keys {
        let next = &mut counts[digit(key)];
        spare[*next as usize] = key;
        *next += 1;
    }
    std::mem::swap(keys, spare);
}

/// Radix sort of ranks, with reusable buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankOrder {
    /// Rank in the high bits, index in the input in the low bits.
    keys: Vec<u64>,
    spare: Vec<u64>,
}

/// Number of keys from which radix sort is faster: counting digits costs as much for few keys as
/// for many.
const FEW: usize = 48;

/// Bits per radix pass.
const DIGIT: usize = 7;

impl RankOrder {
    /// Sorts ranks of at most `most`; equal ranks keep their order.
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
            let digit = |key: u64| (key >> shift) as usize % (1 << DIGIT);
            let mut counts = [0u32; 1 << DIGIT];
            self.keys.iter().for_each(|&key| counts[digit(key)] += 1);
            scatter(&mut self.keys, &mut self.spare, &mut counts, digit);
        }
    }

    /// Iterates over (rank, index in the input) in increasing order of ranks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.keys.iter().map(|&key| ((key >> 32) as u32, key as u32))
    }
}

/// Radix sort of `f64`, with reusable buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberOrder {
    /// Integers in the order of the numbers, each with its index in the input.
    keys: Vec<(u64, u32)>,
    spare: Vec<(u64, u32)>,
}

/// Number of numbers from which radix sort is faster.
const FEW_NUMBERS: usize = 1 << 10;

/// Bits per radix pass; six passes of 11 bits take less time than eight of 8.
const NUMBER_DIGIT: usize = 11;
const NUMBER_PASSES: usize = (u64::BITS as usize).div_ceil(NUMBER_DIGIT);

impl NumberOrder {
    /// Bytes of memory per number.
    pub(crate) const BYTES: usize = 2 * size_of::<(u64, u32)>();

    /// Sorts numbers; equal ones, 0 and −0 among them, keep their order.
    pub(crate) fn sort(&mut self, numbers: impl Iterator<Item = f64>) {
        self.keys.clear();
        self.keys.extend(numbers.zip(0..).map(|(number, place)| (key_of(number), place)));
        if self.keys.is_sorted() {
            return;
        }
        if self.keys.len() < FEW_NUMBERS {
            return self.keys.sort_unstable();
        }
        let mut counts = vec![[0u32; 1 << NUMBER_DIGIT]; NUMBER_PASSES];
        for &(key, _) in &self.keys {
            for (pass, counts) in counts.iter_mut().enumerate() {
                counts[digit(key, pass)] += 1;
            }
        }
        for (pass, counts) in counts.iter_mut().enumerate() {
            if counts[digit(self.keys[0].0, pass)] != self.keys.len() as u32 {
                scatter(&mut self.keys, &mut self.spare, counts, |entry| digit(entry.0, pass));
            }
        }
    }

    /// Iterates over the indices in the input, in increasing order of the numbers.
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = usize> + Clone + '_ {
        self.keys.iter().map(|&(_, place)| place as usize)
    }

    /// Returns whether the capacity is at most `numbers`.
    pub(crate) fn is_within(&self, numbers: usize) -> bool {
        self.keys.capacity() <= numbers
    }
}

fn digit(key: u64, pass: usize) -> usize {
    (key >> (pass * NUMBER_DIGIT)) as usize % (1 << NUMBER_DIGIT)
}

/// Returns an integer that sorts as the number: negative ones have all bits flipped.
fn key_of(number: f64) -> u64 {
    // −0 becomes 0.
    let bits = (number + 0.0).to_bits();
    bits ^ if bits >> 63 == 1 { u64::MAX } else { 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_are_sorted_as_by_comparison() {
        let mut order = NumberOrder::default();
        for count in [0, 1, 2, FEW_NUMBERS - 1, FEW_NUMBERS, 5_000] {
            for scale in [0.0, 1.0, -1e-310, 1e300] {
                let number = |k: usize| (k * 7919 % (count / 2 + 1)) as f64 - 300.0;
                let numbers: Vec<f64> = (0..count).map(|k| number(k) * scale).collect();
                order.sort(numbers.iter().copied());
                let mut judge: Vec<usize> = (0..count).collect();
                judge.sort_by(|&i, &j| numbers[i].partial_cmp(&numbers[j]).unwrap());
                assert_eq!(order.places().collect::<Vec<_>>(), judge, "{count} times {scale}");
            }
        }
        order.sort([0.0, -0.0, f64::MIN, -1e-320, f64::MAX, 1e-320].into_iter());
        assert_eq!(order.places().collect::<Vec<_>>(), [2, 3, 0, 1, 5, 4]);
    }

    #[test]
    fn any_number_of_points_is_sorted_as_by_comparison() {
        let mut order = RankOrder::default();
        for leaves in [1, 2, 128, 129, 16_384, 40_000u32] {
            // 7919 is coprime to all of them: a permutation of the ranks.
            let rank: Vec<u32> = (0..leaves).map(|p| p * 7919 % leaves).collect();
            for count in [1, 2, FEW - 1, FEW, 500, 3_000] {
                // Some points occur twice, as in the supports of two measures.
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
