//! Powers of two as units: dividing is exact, and squares near 1 stay in range.

/// Returns the largest power of two up to x, or 1 for 0.
pub(crate) fn power_of_two(x: f64) -> f64 {
    // Within the range whose inverse is a normal number as well.
    if x > 0.0 { 2f64.powi((x.log2().floor() as i32).clamp(-1000, 1000)) } else { 1.0 }
}

/// Returns [`power_of_two`] of the largest of many numbers.
pub(crate) fn of_largest(values: impl IntoIterator<Item = f64>) -> f64 {
    power_of_two(values.into_iter().fold(0.0, f64::max))
}
