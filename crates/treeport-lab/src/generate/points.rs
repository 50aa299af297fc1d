//! Random points as row-major coordinates.

use super::{Random, normal};
use rand::RngExt;

/// Draws `n` points with coordinates uniform in `low..high`.
///
/// # Panics
/// If `low` is not below `high`.
pub fn uniform_points(n: usize, dim: usize, low: f64, high: f64, rng: &mut Random) -> Vec<f64> {
    (0..n * dim).map(|_| rng.random_range(low..high)).collect()
}

/// Draws `n` points with coordinates from N(0, 1).
pub fn gaussian_points(n: usize, dim: usize, rng: &mut Random) -> Vec<f64> {
    (0..n * dim).map(|_| normal(rng)).collect()
}

/// Draws `n` points around `clusters` centers in the cube [−1, 1]^dim, in rotation: 0.3·N(0, 1)
/// from the center along every axis.
pub fn clustered_points(n: usize, dim: usize, clusters: usize, rng: &mut Random) -> Vec<f64> {
    let centers = uniform_points(clusters, dim, -1.0, 1.0, rng);
    let mut points = gaussian_points(n, dim, rng);
    for (x, center) in points.iter_mut().zip(centers.iter().cycle()) {
        *x = 0.3 * *x + center;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::seeded;

    #[test]
    fn points_have_the_asked_shape_and_range() {
        let points = uniform_points(50, 3, -10.0, 10.0, &mut seeded(0));
        assert_eq!(points.len(), 150);
        assert!(points.iter().all(|x| (-10.0..10.0).contains(x)));
        assert!(points.iter().any(|x| *x < -5.0) && points.iter().any(|x| *x > 5.0));
        assert_eq!(gaussian_points(4, 2, &mut seeded(0)).len(), 8);
        assert_eq!(clustered_points(7, 2, 3, &mut seeded(0)).len(), 14);
    }

    #[test]
    fn a_seed_names_the_points() {
        let draw = |seed| gaussian_points(5, 5, &mut seeded(seed));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
