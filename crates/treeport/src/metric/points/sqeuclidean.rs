//! Squared Euclidean distance: Σ (xₖ − yₖ)².

use super::{Kernel, MapCoordinates, Norm, PointFormula};

pub(super) struct SqEuclidean;

impl PointFormula for SqEuclidean {
    const IS_METRIC: bool = false;
    const KERNEL: Kernel = Kernel::Products;
    const NORM: Option<Norm> = None;
    const SQUARE_SHARE: Option<f64> = Some(1.0);
    const DEGREE: u8 = 2;
    const MAP: MapCoordinates = MapCoordinates::Plane;

    #[inline]
    fn of_sum(square: f64) -> f64 {
        square
    }

    #[cfg(test)]
    fn judge_differences(differences: &[f64]) -> f64 {
        differences.iter().map(|d| d.powi(2)).sum()
    }
}
