//! The two kinds of cost a simplex runs on: `f64`, and integers that do not round.

use std::fmt::Debug;
use std::ops::{Add, Neg, Sub};

/// A cost or a dual value.
pub(super) trait Cost:
    Copy + Debug + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self>
{
    /// Larger than any cost that occurs.
    const FAR: Self;

    /// The smallest of `cost[j] + potential[j]`.
    fn least(cost: &[Self], potential: &[Self]) -> Self;
}

/// Minima side by side, so that the loop is not one chain of comparisons.
const LANES: usize = 8;

impl Cost for f64 {
    const FAR: Self = f64::INFINITY;

    #[inline]
    fn least(cost: &[Self], potential: &[Self]) -> Self {
        let smaller = |a: f64, b: f64| if b < a { b } else { a };
        let mut least = [Self::FAR; LANES];
        let (c, c_rest) = cost.as_chunks::<LANES>();
        let (p, p_rest) = potential.as_chunks::<LANES>();
        for (c, p) in c.iter().zip(p) {
            for k in 0..LANES {
                least[k] = smaller(least[k], c[k] + p[k]);
            }
        }
        let rest = c_rest.iter().zip(p_rest).map(|(c, p)| c + p).fold(Self::FAR, smaller);
        least.into_iter().fold(rest, smaller)
    }
}

impl Cost for i128 {
    const FAR: Self = i128::MAX / 4;

    fn least(cost: &[Self], potential: &[Self]) -> Self {
        cost.iter().zip(potential).map(|(c, p)| c + p).min().unwrap_or(Self::FAR)
    }
}
