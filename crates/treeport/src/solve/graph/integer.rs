//! Integer lengths and potentials of 64 or 128 bits.

use std::fmt::Debug;

/// An integer length or potential. Sums wrap: terms of a potential may overflow, not the potential.
pub(in crate::solve) trait Integer: Copy + Debug + Default + Ord {
    /// Logarithm of a bound on the sum of all lengths, at which nothing overflows.
    const BITS: i32;

    /// Rounds down a number of at least 0.
    fn floor(x: f64) -> Self;

    /// Converts to `f64`.
    fn real(self) -> f64;

    /// Returns the wrapping sum.
    fn plus(self, other: Self) -> Self;

    /// Returns the wrapping difference.
    fn minus(self, other: Self) -> Self;

    /// Returns the absolute difference.
    #[inline]
    fn apart(self, other: Self) -> Self {
        self.minus(other).max(other.minus(self))
    }
}

macro_rules! integer {
    ($($number:ident)*) => {
        $(impl Integer for $number {
            const BITS: i32 = $number::BITS.cast_signed() - 4;

            fn floor(x: f64) -> Self {
                x as $number
            }

            fn real(self) -> f64 {
                self as f64
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        })*
    };
}

integer!(i64 i128);
