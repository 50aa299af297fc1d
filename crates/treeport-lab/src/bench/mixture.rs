//! Points that resemble word vectors: a Gaussian mixture in many dimensions.

use crate::generate::{Random, gaussian_points, uniform_points};

/// Dimension, that of common word vectors.
pub(super) const DIM: usize = 300;

/// Components of the mixture.
const COMPONENTS: usize = 50;

/// Draws `n` points around centers whose distances are about those of points in a cluster.
pub(super) fn mixture(n: usize, rng: &mut Random) -> Vec<f64> {
    let centers = uniform_points(COMPONENTS, DIM, -1.0, 1.0, rng);
    near(&centers, n, 0.5, rng)
}

/// Draws `n` points around centers in rotation.
pub(super) fn near(centers: &[f64], n: usize, spread: f64, rng: &mut Random) -> Vec<f64> {
    let mut points = gaussian_points(n, DIM, rng);
    for (x, center) in points.iter_mut().zip(centers.iter().cycle()) {
        *x = spread * *x + center;
    }
    points
}
