//! Rounding error bounds: the constants that certified bounds rest on, each with its derivation.
//!
//! One rounding changes a number by at most its relative share u: 2⁻²⁴ in single precision, 2⁻⁵³ in
//! double. After k roundings a number is at least (1 − u)ᵏ ≥ 1 − ku and at most (1 + u)ᵏ ≤
//! 1/(1 − ku) times its exact value. A sum of k terms has k − 1 roundings, each of at most u times
//! the sum of absolute values of the terms, in any order; a product has one more per term. Bounds
//! therefore count roundings, generously, and are lowered (raised) by [`single`] or [`double`] of
//! that count.

/// Unit roundoff u of single precision: half the distance from 1 to the next number.
const SINGLE: f64 = 1.0 / (1u32 << 24) as f64;

/// Returns the largest relative loss of so many roundings to single precision.
pub const fn single(roundings: usize) -> f64 {
    roundings as f64 * SINGLE
}

/// Returns twice the largest relative loss of so many roundings to double precision: the other half
/// covers roundings that are not counted one by one, such as those of masses and totals.
pub(crate) const fn double(roundings: usize) -> f64 {
    roundings as f64 * f64::EPSILON
}

/// Inverts a relative loss: x(1 − lost) ≥ y implies x ≤ y(1 + regained(lost)).
pub(crate) const fn regained(lost: f64) -> f64 {
    lost / (1.0 - lost)
}

/// Returns the number of roundings of a sum of this many squares or absolute differences. A term
/// has at most three roundings of its own: a wrapped difference has two, and its square one more,
/// which the root halves. Each sum that the term is part of adds one.
pub(crate) const fn sum_roundings(terms: usize) -> usize {
    terms + 4
}

/// Returns the number of roundings of ‖x‖² + ‖y‖² − 2⟨x, y⟩, each of at most the share u of ‖x‖² +
/// ‖y‖². In whatever order it is added up, an inner product takes one of ‖x‖‖y‖ ≤ ½(‖x‖² + ‖y‖²)
/// for each term; the others are for norms and the last two sums.
pub(crate) const fn product_roundings(terms: usize) -> usize {
    terms + 16
}

/// Returns a number in single precision that is not above the real number that `x` was rounded
/// from: x is at most that number plus u|x|, and 2u|x| also covers the rounding of this difference.
pub(crate) fn lowered_once(x: f32) -> f32 {
    x - x.abs() * single(2) as f32
}

/// Returns twice the distance that a vector may move as its coordinates are rounded to single
/// precision, which is u times its norm. The factor 2 covers that `norm` is of the rounded vector,
/// and earlier roundings to double precision. At least [`LEAST_LENGTH`].
pub(crate) fn moved_by_rounding(norm: f64) -> f32 {
    (2.001 * SINGLE * norm) as f32 + LEAST_LENGTH
}

/// Length in single precision below which lengths count as 0: their squares, below 10⁻³⁶, come near
/// the smallest normal number in single precision, 2⁻¹²⁶ ≈ 10⁻³⁸, below which rounding errors are
/// not relative.
pub(crate) const LEAST_LENGTH: f32 = 1e-18;

/// Distance in single precision below which distances are lowered to 0; far above the smallest
/// normal number.
pub(crate) const LEAST_DISTANCE: f64 = 1e-30;

/// Relative difference of totals that the exact solver and unbalanced transport accept for sums of
/// the same masses: `double` of 4,500 masses, which no other count of roundings includes. Rescaling
/// within this tolerance would keep equal masses from canceling.
pub(crate) const TOTALS: f64 = 1e-12;

/// Relative tolerance within which plans of trees do not rescale totals. It is smaller than
/// [`TOTALS`] because their bounds hold term by term: it is below `double(64)`, which those bounds
/// add to their own roundings.
pub(crate) const PLAN_TOTALS: f64 = 1e-14;

/// Share of all mass up to which surpluses below a tree node are rounding errors of equal masses:
/// `double` of 450, the number of points of a measure whose masses add up to nearly 1.
pub(crate) const SURPLUS: f64 = 1e-13;

/// Relative difference of two sums of the same lengths along paths: `double` of 4,500 edges. Leaves
/// this close in height are level, and paths this close in length are both shortest.
pub(crate) const PATHS: f64 = 1e-12;

/// Relative amount by which final bounds are widened. It covers 45,000 roundings, more than in a
/// sum over two supports whose terms have their own bounds, and is far below any requested
/// accuracy.
pub(crate) const INTERVAL: f64 = 1e-11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rounding_is_half_the_distance_to_the_next_number() {
        assert_eq!(single(2), f64::from(f32::EPSILON));
        assert_eq!((1.0 + single(1)) as f32, 1.0);
        assert!((1.0 + single(1) + double(1)) as f32 > 1.0);
    }

    #[test]
    fn what_is_lowered_once_is_not_above_what_it_was_rounded_from() {
        for k in 0..20_000u32 {
            let x = (f64::from(k) * 0.7).sin() * f64::from(k % 40).exp2() / 1e6;
            let low = f64::from(lowered_once(x as f32));
            assert!(low <= x && low >= x - single(4) * x.abs(), "{low} {x}");
        }
    }

    #[test]
    fn sums_in_single_precision_lose_less_than_they_are_counted_to() {
        for terms in [1usize, 10, 1000, 100_000] {
            let values: Vec<f32> = (0..terms).map(|k| 1.0 + (k as f32).sin()).collect();
            let exact: f64 = values.iter().map(|&x| f64::from(x)).sum();
            let rounded = f64::from(values.iter().sum::<f32>());
            let lost = single(terms);
            assert!(rounded >= exact * (1.0 - lost), "{terms}");
            assert!(rounded <= exact * (1.0 + regained(lost)), "{terms}");
        }
    }

    #[test]
    fn rounding_moves_vectors_by_less_than_they_are_counted_to() {
        for scale in [1e-30, 1e-18, 1.0, 1e6] {
            let vector: Vec<f64> = (0..50).map(|k| scale * (f64::from(k) * 1.3).cos()).collect();
            let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
            let length = norm(&mut vector.iter().map(|&x| f64::from(x as f32)));
            let moved = norm(&mut vector.iter().map(|&x| x - f64::from(x as f32)));
            assert!(2.0 * moved <= f64::from(moved_by_rounding(length)), "{scale}");
        }
    }
}
