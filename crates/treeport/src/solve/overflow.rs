//! Overflow of costs times masses: the reason behind some failed certificates.

use super::exact::line::Line;
use super::problem::matrix::MatrixView;
use crate::error::Error;
use crate::measures::Measure;
use crate::metric::GroundMetric;

/// Number of products of a cost and a mass whose sum must be finite.
const SUMS: f64 = 16.0;

/// Replaces [`Error::Unsolved`] by [`Error::Overflow`] if cost times mass overflows.
pub(super) fn or_overflow(error: Error, mass: f64, largest: impl FnOnce() -> f64) -> Error {
    if !matches!(error, Error::Unsolved { .. }) {
        return error;
    }
    let cost = largest();
    let beyond = !(SUMS * cost * mass.max(1.0)).is_finite();
    if beyond { Error::Overflow { cost, mass } } else { error }
}

/// Computes the largest distance between the supports of two measures.
pub(super) fn largest_distance(metric: &GroundMetric, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
    if let Some(line) = Line::of(metric) {
        return line.largest_cost(a, b);
    }
    let from = |i: u32| b.support().iter().map(move |&j| metric.distance(i as usize, j as usize));
    a.support().iter().flat_map(|&i| from(i)).fold(0.0, f64::max)
}

pub(super) fn largest_cost(costs: &MatrixView<'_>) -> f64 {
    let row = |i: usize| (0..costs.columns()).map(move |j| costs.entry(i, j));
    (0..costs.rows()).flat_map(row).fold(0.0, f64::max)
}
