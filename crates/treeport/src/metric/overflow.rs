//! Points so far apart that squared distances overflow.
//!
//! Kernels and bounds add up squares, so such points become a matrix of distances, each computed in
//! a unit of its own.

use super::points::period::{apart, bounding_box, relevant_halves, wrapped};
use super::{Geometry, PointMetric, check_count};
use crate::error::Result;
use crate::memory;
use crate::metric::condensed;

/// Limit below which differences of coordinates have finite squares and sums of squares.
const NEAR: f64 = 1e150;

/// Computes all distances, condensed, if squares overflow and distances may not.
pub(super) fn distances(
    dim: usize,
    coordinates: &[f64],
    geometry: &Geometry,
) -> Result<Option<Vec<f64>>> {
    let is_near = coordinates.iter().all(|x| x.abs() < NEAR);
    let is_table = dim > 0 && coordinates.len().is_multiple_of(dim);
    let is_finite = coordinates.iter().all(|x| x.is_finite());
    let refused = geometry.metric != PointMetric::Euclidean || !is_table || !is_finite;
    if is_near || refused || squares_are_finite(dim, coordinates) {
        return Ok(None);
    }
    let Some(halves) = geometry.half_periods(dim)? else {
        return lengths(dim, coordinates, None).map(Some);
    };
    let halves = relevant_halves(&halves, coordinates.chunks_exact(dim));
    let Some(halves) = halves else { return lengths(dim, coordinates, None).map(Some) };
    let inside = coordinates.iter().zip(halves.iter().cycle()).map(|(&x, &half)| wrapped(x, half));
    let inside: Vec<f64> = inside.collect();
    if squares_are_finite(dim, &inside) {
        return Ok(None);
    }
    lengths(dim, &inside, Some(&halves)).map(Some)
}

/// Computes all distances; coordinates are wrapped if there are half periods.
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

/// Returns whether four times the squared diagonal of the bounding box is finite, as kernels need.
fn squares_are_finite(dim: usize, coordinates: &[f64]) -> bool {
    let (low, high) = bounding_box(dim, coordinates.chunks_exact(dim));
    let widths = low.iter().zip(high).map(|(low, high)| high - low);
    (4.0 * widths.map(|width| width.powi(2)).sum::<f64>()).is_finite()
}

/// Computes the Euclidean distance of two points, in the unit of the largest difference.
fn length(x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
    // Halved, because a difference of two numbers may overflow.
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
