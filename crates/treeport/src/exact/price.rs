//! The two kinds of cost a simplex runs on: `f64`, and integers that do not round.

use std::fmt::Debug;
use std::ops::{Add, Neg, Sub};

/// A cost or a dual value.
pub(super) trait Cost:
    Copy + Debug + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self>
{
    /// Larger than any cost that occurs.
    const FAR: Self;

    /// The smallest of `cost[j] − dual[j]`.
    fn least(cost: &[Self], dual: &[Self]) -> Self;
}

/// Minima side by side, so that the loop is not one chain of comparisons.
const LANES: usize = 8;

impl Cost for f64 {
    const FAR: Self = f64::INFINITY;

    #[inline]
    fn least(cost: &[Self], dual: &[Self]) -> Self {
        let smaller = |a: f64, b: f64| if b < a { b } else { a };
        let mut least = [Self::FAR; LANES];
        let ((c, c_rest), (d, d_rest)) = (cost.as_chunks::<LANES>(), dual.as_chunks::<LANES>());
        for (c, d) in c.iter().zip(d) {
            for k in 0..LANES {
                least[k] = smaller(least[k], c[k] - d[k]);
            }
        }
        let rest = c_rest.iter().zip(d_rest).map(|(c, d)| c - d).fold(Self::FAR, smaller);
        least.into_iter().fold(rest, smaller)
    }
}

impl Cost for i128 {
    const FAR: Self = i128::MAX / 4;

    fn least(cost: &[Self], dual: &[Self]) -> Self {
        cost.iter().zip(dual).map(|(c, d)| c - d).min().unwrap_or(Self::FAR)
    }
}
