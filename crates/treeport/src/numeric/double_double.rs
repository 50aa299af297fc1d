//! Double-double arithmetic: a number is the unevaluated sum of two `f64`, the second below the
//! last digit of the first (Dekker, *A floating-point technique for extending the available
//! precision*, 1971).
//!
//! Sums and products keep about 104 bits unless they overflow or underflow; callers therefore use
//! units in which the largest numbers are near 1.

use std::ops::{Add, Mul, Neg, Sub};

/// A double-double number: `low` is at most half a unit in the last place of `high`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DoubleDouble {
    high: f64,
    low: f64,
}

impl DoubleDouble {
    /// Returns x + y exactly (Knuth's two-sum).
    pub(crate) fn sum(x: f64, y: f64) -> Self {
        let high = x + y;
        let part = high - x;
        Self { high, low: (x - (high - part)) + (y - part) }
    }

    /// Returns x·y exactly (Dekker's product).
    pub(crate) fn product(x: f64, y: f64) -> Self {
        let high = x * y;
        let ((a, b), (c, d)) = (halves(x), halves(y));
        Self { high, low: b * d - (((high - a * c) - b * c) - a * d) }
    }

    pub(crate) fn abs(self) -> Self {
        if self.high < 0.0 { -self } else { self }
    }

    /// Returns the difference as `f64`.
    #[inline]
    pub(crate) fn minus(self, other: Self) -> f64 {
        (self.high - other.high) + (self.low - other.low)
    }

    /// Returns the nearest `f64`.
    pub(crate) fn rounded(self) -> f64 {
        self.high
    }

    /// Returns the remainder after [`rounded`](Self::rounded).
    pub(crate) fn rest(self) -> f64 {
        self.low
    }
}

/// Splits a number into two with half of its digits each (Veltkamp's splitting).
fn halves(x: f64) -> (f64, f64) {
    let scaled = x * f64::from((1u32 << 27) + 1);
    let high = scaled - (scaled - x);
    (high, x - high)
}

impl From<f64> for DoubleDouble {
    fn from(x: f64) -> Self {
        Self { high: x, low: 0.0 }
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = (Self::sum(self.high, other.high), Self::sum(self.low, other.low));
        let sum = Self::sum(high.high, high.low + low.high);
        Self::sum(sum.high, sum.low + low.low)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let cross = self.high * other.low + self.low * other.high;
        Self::sum(product.high, product.low + cross)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_keep_twice_the_digits() {
        // In integers, which represent all digits.
        let of = |x: i128| {
            let high = x as f64;
            DoubleDouble { high, low: (x - high as i128) as f64 }
        };
        let whole = |x: DoubleDouble| x.high as i128 + x.low as i128;
        let mut x: i128 = 1;
        for k in 0..200u32 {
            x = (x * 1_442_695_040_889 + i128::from(k)) % (1 << 86);
            let (y, small) = (x / 3 - (1 << 84), i128::from(k) * 48_271 + 1);
            assert_eq!(whole(of(x)), x);
            assert_eq!(whole(of(x) + of(y)), x + y);
            assert_eq!(whole(of(x) - of(y)), x - y);
            assert_eq!(whole((of(y) - of(x)).abs()), (y - x).abs());
            let narrow = x >> 20;
            assert_eq!(whole(of(narrow) * of(small)), narrow * small);
            assert_eq!(
                whole(DoubleDouble::product((x >> 40) as f64, small as f64)),
                (x >> 40) * small
            );
        }
    }
}
