//! The two types of costs of the network simplex: `f64`, and integers that do not round.

use std::fmt::Debug;
use std::ops::{Add, Neg, Sub};

use crate::numeric::wide_registers::for_wide_registers;

/// A cost or a dual value.
pub(super) trait Cost:
    Copy + Debug + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self>
{
    /// A number above all costs.
    const FAR: Self;

    /// Converts to `f64`, possibly with rounding.
    fn as_f64(self) -> f64;

    /// Returns the number if the mask is all ones, or 0 if it is 0.
    fn masked(self, mask: u64) -> Self;

    /// Returns the smallest `cost[j] + potential[j]`.
    fn least(cost: &[Self], potential: &[Self]) -> Self;

    /// Returns the first j with `cost[j] + potential[j] == sum`, which must exist.
    fn find(cost: &[Self], potential: &[Self], sum: Self) -> usize;

    /// Returns the second smallest `cost[j] + price[j]` minus the smallest, and its j.
    fn regret(cost: &[Self], price: &[Self]) -> (Self, usize);

    /// Estimates the potential of every sink from rows of `m` costs, for the initial basis.
    fn prices(cost: &[Self], m: usize, out: &mut Vec<Self>);
}

/// Number of minima that a loop keeps in parallel, so that it is not one chain of comparisons.
const LANES: usize = 16;

impl Cost for f64 {
    const FAR: Self = f64::INFINITY;

    fn as_f64(self) -> f64 {
        self
    }

    #[inline]
    fn masked(self, mask: u64) -> Self {
        Self::from_bits(self.to_bits() & mask)
    }

    #[inline]
    fn least(cost: &[Self], potential: &[Self]) -> Self {
        least_sum(cost, potential)
    }

    #[inline]
    fn find(cost: &[Self], potential: &[Self], sum: Self) -> usize {
        find_sum(cost, potential, sum)
    }

    fn regret(cost: &[Self], price: &[Self]) -> (Self, usize) {
        let (first, second) = two_least(cost, price);
        (second - first, Self::find(cost, price, first))
    }

    /// Weights the mean cost to a sink by −¾ and the least cost by −¼. With the mean alone initial
    /// bases are as good in R^50 and worse in the plane, with the least alone a third worse
    /// everywhere (by the number of pivots at supports of 30 to 1,000).
    fn prices(cost: &[Self], m: usize, out: &mut Vec<Self>) {
        let share = 0.75 * m as f64 / cost.len() as f64;
        let mut least = vec![Self::FAR; m];
        out.clear();
        out.resize(m, 0.0);
        for row in cost.chunks_exact(m) {
            for ((price, least), &cost) in out.iter_mut().zip(&mut least).zip(row) {
                *price -= share * cost;
                *least = smaller(*least, cost);
            }
        }
        // The largest finite costs may overflow by rounding.
        let finite =
            |(price, least): (&mut f64, &f64)| *price = (*price - 0.25 * least).max(f64::MIN);
        out.iter_mut().zip(&least).for_each(finite);
    }
}

for_wide_registers! {
    /// Returns the smallest sum of a cost and a potential.
    least_sum, least_sum_wide, (cost: &[f64], potential: &[f64]) -> f64, {
        let (Some(c_last), Some(p_last)) =
            (cost.last_chunk::<LANES>(), potential.last_chunk::<LANES>())
        else {
            return cost.iter().zip(potential).map(|(c, p)| c + p).fold(f64::FAR, smaller);
        };
        // The last chunk overlaps the one before, which does not change a minimum.
        let mut least: [f64; LANES] = std::array::from_fn(|k| c_last[k] + p_last[k]);
        for (c, p) in cost.as_chunks::<LANES>().0.iter().zip(potential.as_chunks::<LANES>().0) {
            for k in 0..LANES {
                least[k] = smaller(least[k], c[k] + p[k]);
            }
        }
        for width in [8, 4, 2, 1] {
            for k in 0..width {
                least[k] = smaller(least[k], least[k + width]);
            }
        }
        least[0]
    }
}

for_wide_registers! {
    /// Returns the two smallest sums of a cost and a potential.
    two_least, two_least_wide, (cost: &[f64], price: &[f64]) -> (f64, f64), {
        let (c, c_rest) = cost.as_chunks::<LANES>();
        let (p, p_rest) = price.as_chunks::<LANES>();
        let (mut first, mut second) = ([f64::FAR; LANES], [f64::FAR; LANES]);
        for (c, p) in c.iter().zip(p) {
            for k in 0..LANES {
                add((&mut first[k], &mut second[k]), c[k] + p[k]);
            }
        }
        for (k, (c, p)) in c_rest.iter().zip(p_rest).enumerate() {
            add((&mut first[k], &mut second[k]), c + p);
        }
        for width in [8, 4, 2, 1] {
            for k in 0..width {
                let other = (first[k + width], second[k + width]);
                second[k] = smaller(second[k], other.1);
                add((&mut first[k], &mut second[k]), other.0);
            }
        }
        (first[0], second[0])
    }
}

for_wide_registers! {
    /// Returns the first position with this sum of a cost and a potential, which must exist.
    find_sum, find_sum_wide, (cost: &[f64], potential: &[f64], sum: f64) -> usize, {
        let (c, c_rest) = cost.as_chunks::<LANES>();
        let (p, p_rest) = potential.as_chunks::<LANES>();
        for (block, (c, p)) in c.iter().zip(p).enumerate() {
            let mut hits = 0u32;
            for k in 0..LANES {
                hits |= u32::from(c[k] + p[k] == sum) << k;
            }
            if hits != 0 {
                return LANES * block + hits.trailing_zeros() as usize;
            }
        }
        let at = c_rest.iter().zip(p_rest).position(|(c, p)| c + p == sum);
        cost.len() - c_rest.len() + at.unwrap_or(0)
    }
}

/// Returns the largest of some costs of at least 0, or 0 if there are none.
pub(super) fn largest(costs: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let (chunks, rest) = costs.as_chunks::<LANES>();
    let mut largest = [0.0; LANES];
    for chunk in chunks {
        for k in 0..LANES {
            largest[k] = larger(largest[k], chunk[k]);
        }
    }
    largest.iter().chain(rest).copied().fold(0.0, larger)
}

/// Returns the smallest of some costs.
pub(super) fn smallest(costs: &[f64]) -> f64 {
    let (chunks, rest) = costs.as_chunks::<LANES>();
    let mut smallest = [f64::FAR; LANES];
    for chunk in chunks {
        for k in 0..LANES {
            smallest[k] = smaller(smallest[k], chunk[k]);
        }
    }
    smallest.iter().chain(rest).copied().fold(f64::FAR, smaller)
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// Inserts a number into the two smallest.
#[inline]
fn add((first, second): (&mut f64, &mut f64), x: f64) {
    let larger = if x < *first { *first } else { x };
    *second = smaller(*second, larger);
    *first = smaller(*first, x);
}

impl Cost for i128 {
    const FAR: Self = i128::MAX / 4;

    fn as_f64(self) -> f64 {
        self as f64
    }

    #[inline]
    fn masked(self, mask: u64) -> Self {
        if mask == 0 { 0 } else { self }
    }

    fn least(cost: &[Self], potential: &[Self]) -> Self {
        cost.iter().zip(potential).map(|(c, p)| c + p).min().unwrap_or(Self::FAR)
    }

    fn find(cost: &[Self], potential: &[Self], sum: Self) -> usize {
        let hit = cost.iter().zip(potential).position(|(c, p)| c + p == sum);
        hit.expect("the sum is that of an arc in the row")
    }

    fn regret(cost: &[Self], price: &[Self]) -> (Self, usize) {
        let (mut first, mut second, mut at) = (Self::FAR, Self::FAR, 0);
        for (j, (c, p)) in cost.iter().zip(price).enumerate() {
            let x = c + p;
            if x < first {
                (first, second, at) = (x, first, j);
            } else if x < second {
                second = x;
            }
        }
        (second - first, at)
    }

    /// Uses the least cost to a sink, negative.
    fn prices(cost: &[Self], m: usize, out: &mut Vec<Self>) {
        out.clear();
        out.resize(m, -Self::FAR);
        for row in cost.chunks_exact(m) {
            out.iter_mut().zip(row).for_each(|(price, cost)| *price = (*price).max(-cost));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lanes_agree_with_one_loop(sums in vec((0..9i32, 0..9i32), 1..40)) {
            let cost: Vec<f64> = sums.iter().map(|s| f64::from(s.0)).collect();
            let price: Vec<f64> = sums.iter().map(|s| f64::from(s.1)).collect();
            let mut sorted: Vec<i32> = sums.iter().map(|s| s.0 + s.1).collect();
            let at = sorted.iter().position(|s| s == sorted.iter().min().unwrap()).unwrap();
            sorted.sort_unstable();
            let least = f64::from(sorted[0]);
            prop_assert_eq!(smallest(&cost), cost.iter().copied().fold(f64::INFINITY, f64::min));
            prop_assert_eq!(f64::least(&cost, &price), least);
            prop_assert_eq!(f64::find(&cost, &price, least), at);
            let second = sorted.get(1).map_or(f64::INFINITY, |&s| f64::from(s));
            prop_assert_eq!(f64::regret(&cost, &price), (second - least, at));
        }
    }
}
