//! What rounding loses: the numbers that certified bounds rest on, each with its derivation.
//!
//! One rounding changes a number by at most the share u of it: 2⁻²⁴ in single precision, 2⁻⁵³ in
//! double. After k roundings a number is at least (1 − u)ᵏ ≥ 1 − ku and at most (1 + u)ᵏ ≤ 1/(1 − ku)
//! times what it would have been. A sum of k terms is k − 1 roundings, each of at most u times the sum
//! of the sizes of the terms, whatever the order; a product is one more for every term. So bounds
//! count roundings, generously, and are lowered (raised) by [`single`] or [`double`] of that count.

/// u of single precision: half the distance from 1 to the next number.
const SINGLE: f64 = 1.0 / (1u32 << 24) as f64;

/// The share that so many roundings to single precision take away at most.
pub(crate) const fn single(roundings: usize) -> f64 {
    roundings as f64 * SINGLE
}

/// The share that so many roundings to double precision take away at most, twice: what is not counted
/// one by one, such as rounded masses and totals, takes the other half.
pub(crate) const fn double(roundings: usize) -> f64 {
    roundings as f64 * f64::EPSILON
}

/// The share of what is left that was taken away: x(1 − lost) ≥ y means x ≤ y(1 + regained(lost)).
pub(crate) const fn regained(lost: f64) -> f64 {
    lost / (1.0 - lost)
}

/// A number in single precision that is not above the real number it was rounded from: x rounded is at
/// most x + u|x|, and 2u|x| more than makes up for that and for the rounding of this difference.
pub(crate) fn lowered_once(x: f32) -> f32 {
    x - x.abs() * single(2) as f32
}

/// Twice what rounding its coordinates to single precision may move a vector by, which is u times its
/// norm: the other half covers that this is the norm of the rounded vector, and the roundings to double
/// precision before. No less than [`LEAST_LENGTH`].
pub(crate) fn moved_by_rounding(norm: f64) -> f32 {
    (2.001 * SINGLE * norm) as f32 + LEAST_LENGTH
}

/// Shorter lengths, in units, count as nothing: their squares, below 10⁻³⁶, come near the smallest
/// normal number in single precision, 2⁻¹²⁶ ≈ 10⁻³⁸, where roundings are no longer relative.
pub(crate) const LEAST_LENGTH: f32 = 1e-18;

/// Smaller distances, in units, are lowered to 0: far above the smallest normal number.
pub(crate) const LEAST_DISTANCE: f64 = 1e-30;

/// The share of all mass by which totals may differ that the exact solver and unbalanced transport take
/// for sums of the same masses: `double` of 4,500 masses, which no count of roundings knows of. Rescaling
/// within it would keep equal masses from cancelling.
pub(crate) const TOTALS: f64 = 1e-12;

/// The share within which plans of trees leave totals as they are, less than [`TOTALS`] because their
/// bounds hold term by term: it is below `double(64)`, which those allow for beside their own roundings.
pub(crate) const PLAN_TOTALS: f64 = 1e-14;

/// Surpluses of mass below a node of a tree up to this share of all mass are what rounding leaves of
/// equal masses: `double` of 450, the points of a measure whose masses add up to a share near 1.
pub(crate) const SURPLUS: f64 = 1e-13;

/// The share by which two sums of the same lengths along paths may differ: `double` of 4,500 edges.
/// Leaves this close in height are level, and ways this close in length are both shortest.
pub(crate) const PATHS: f64 = 1e-12;

/// The share by which intervals are widened in the end: `double` of 45,000, which is above what sums
/// over the supports of any pair lose that is bounded term by term, and far below what anyone asks for.
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
