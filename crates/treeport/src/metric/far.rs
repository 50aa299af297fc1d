//! Points so far apart that the squares of their distances are beyond the largest number.
//!
//! Kernels and bounds add up squares, so that such points become a matrix: all distances, each worked out in
//! a unit of its own.

use super::points::period::{apart, that_matter, wrapped};
use super::{Geometry, PointMetric, check_count};
use crate::condensed;
use crate::error::Result;
use crate::memory;

/// Coordinates below this have differences whose squares, and sums of a million of them, are finite.
const NEAR: f64 = 1e150;

/// All distances, as a condensed matrix, where squares would overflow and the distances may not; `None`
/// where coordinates are what distances are computed from as ever, or are no coordinates.
pub(super) fn distances(
    dim: usize,
    coordinates: &[f64],
    geometry: &Geometry,
) -> Result<Option<Vec<f64>>> {
    let is_near = coordinates.iter().all(|x| x.abs() < NEAR);
    let is_table = dim > 0 && coordinates.len().is_multiple_of(dim);
    let is_finite = coordinates.iter().all(|x| x.is_finite());
    let refused = geometry.metric != PointMetric::Euclidean || !is_table || !is_finite;
    if is_near || refused || has_squares(dim, coordinates) {
        return Ok(None);
    }
    let Some(halves) = geometry.half_periods(dim)? else {
        return lengths(dim, coordinates, None).map(Some);
    };
    let halves = that_matter(&halves, coordinates.chunks_exact(dim));
    let Some(halves) = halves else { return lengths(dim, coordinates, None).map(Some) };
    let inside = coordinates.iter().zip(halves.iter().cycle()).map(|(&x, &half)| wrapped(x, half));
    let inside: Vec<f64> = inside.collect();
    if has_squares(dim, &inside) {
        return Ok(None);
    }
    lengths(dim, &inside, Some(&halves)).map(Some)
}

/// All distances, of wrapped coordinates where there are half periods.
fn lengths(dim: usize, coordinates: &[f64], halves: Option<&[f64]>) -> Result<Vec<f64>> {
    let n = coordinates.len() / dim;
    check_count(n)?;
    let step = format_args!("the distances of {n} points that are too far apart for squares");
    let mut all = memory::with_capacity(step, condensed::pairs_of(n), "divide the coordinates")?;
    let point = |i: usize| &coordinates[i * dim..(i + 1) * dim];
    for i in 0..n {
        all.extend((i + 1..n).map(|j| length(point(i), point(j), halves)));
    }
    Ok(all)
}

/// Whether the square of the diagonal of the box around all points is finite, four times over, as kernels
/// need it.
fn has_squares(dim: usize, coordinates: &[f64]) -> bool {
    let width = |axis: usize| {
        let along = || coordinates.iter().skip(axis).step_by(dim).copied();
        along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min)
    };
    (4.0 * (0..dim).map(|axis| width(axis).powi(2)).sum::<f64>()).is_finite()
}

/// The straight line between two points, in a unit as large as the widest difference.
fn length(x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
    // Halves, because the difference of two numbers may be beyond the largest.
    let period = |k: usize| halves.map_or(f64::INFINITY, |halves| halves[k]);
    let half = |(k, (a, b)): (usize, (&f64, &f64))| apart(0.5 * a, 0.5 * b, 0.5 * period(k));
    let all = x.iter().zip(y).enumerate().map(half);
    let widest = all.clone().fold(0.0, f64::max);
    if widest == 0.0 {
        return 0.0;
    }
    2.0 * (widest * all.map(|half| (half / widest).powi(2)).sum::<f64>().sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::metric::GroundMetric;

    #[test]
    fn points_too_far_apart_for_their_squares_are_measured() {
        for unit in [1e139, 1e141, 1e153, 1e155, 1e200, 2e307] {
            let at = vec![0.0, 0.0, 3.0 * unit, 4.0 * unit, -3.0 * unit, 0.0];
            let metric = GroundMetric::from_points(2, at, PointMetric::Euclidean).unwrap();
            for (i, j, expected) in [(0, 1, 5.0), (0, 2, 3.0), (1, 2, 52f64.sqrt())] {
                let relative = metric.distance(i, j) / (expected * unit);
                assert!((relative - 1.0).abs() < 1e-14, "{unit}: {relative}");
            }
        }
        let beyond = GroundMetric::from_points(1, vec![1.7e308, -1.7e308], PointMetric::Euclidean);
        assert!(matches!(beyond, Err(Error::BadDistance { from: 0, to: 1, .. })));
        let beyond = GroundMetric::from_points(1, vec![0.0, 1e300], PointMetric::SqEuclidean);
        assert!(matches!(beyond, Err(Error::BadDistance { .. })));
    }
}
