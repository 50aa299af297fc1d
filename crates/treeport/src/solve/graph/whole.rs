//! Lengths and potentials as whole numbers, in 64 bits or in 128.

use std::fmt::Debug;

/// A whole number. Sums wrap: what a potential is put together from may leave the range, the
/// potential itself does not.
pub(in crate::solve) trait Whole: Copy + Debug + Default + Ord {
    /// The sum of all lengths stays below two to this power, so that the difference of two
    /// potentials and twice a length do not overflow together.
    const BITS: i32;

    /// The largest whole number that is not above `x`, which is at least 0.
    fn floor(x: f64) -> Self;

    fn real(self) -> f64;

    fn plus(self, other: Self) -> Self;

    fn minus(self, other: Self) -> Self;

    /// How far two numbers are apart.
    #[inline]
    fn apart(self, other: Self) -> Self {
        self.minus(other).max(other.minus(self))
    }
}

macro_rules! whole {
    ($($number:ident)*) => {
        $(impl Whole for $number {
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

whole!(i64 i128);
