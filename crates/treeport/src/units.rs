//! Powers of two as units: dividing by them loses nothing, and what is near 1 neither overflows nor
//! vanishes when it is squared.

/// The largest power of two up to x; 1 for 0.
pub(crate) fn power_of_two(x: f64) -> f64 {
    // Within the range whose inverse is a normal number too.
    if x > 0.0 { 2f64.powi((x.log2().floor() as i32).clamp(-1000, 1000)) } else { 1.0 }
}

/// [`power_of_two`] of the largest of many numbers.
pub(crate) fn of_largest(values: impl IntoIterator<Item = f64>) -> f64 {
    power_of_two(values.into_iter().fold(0.0, f64::max))
}
