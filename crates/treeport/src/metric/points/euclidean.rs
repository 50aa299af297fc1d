//! Euclidean distance: √Σ (xₖ − yₖ)².

use super::period::differences;
use super::{Kernel, MapCoordinates, Norm, PointFormula};
use crate::metric::kernels::sums::VANISHING_SQUARE;

pub(super) struct Euclidean;

impl PointFormula for Euclidean {
    const IS_METRIC: bool = true;
    const KERNEL: Kernel = Kernel::Products;
    const NORM: Option<Norm> = Some(Norm::L2);
    const DEGREE: u8 = 1;
    const MAP: MapCoordinates = MapCoordinates::Plane;
    const LEAST_SUM: f64 = VANISHING_SQUARE;

    #[inline]
    fn of_sum(square: f64) -> f64 {
        square.sqrt()
    }

    /// Scales the differences first, for vectors so close together that squares underflow.
    #[cold]
    fn beyond_sums(x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
        let differences = differences(x, y, halves);
        let largest = differences.clone().fold(0.0, f64::max);
        if largest == 0.0 {
            return 0.0;
        }
        largest * differences.map(|d| (d / largest).powi(2)).sum::<f64>().sqrt()
    }

    #[cfg(test)]
    fn judge_differences(differences: &[f64]) -> f64 {
        differences.iter().map(|d| d.powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use crate::metric::PointMetric;
    use crate::metric::points::Points;

    #[test]
    fn points_too_close_for_their_squares_are_measured() {
        for unit in [1e-100, 1e-150, 1e-170, 1e-300] {
            let at = [0.0, 0.0, 3.0 * unit, 4.0 * unit, 1.0, 0.0].to_vec();
            let points = Points::new(2, at, PointMetric::Euclidean.into()).unwrap();
            assert!((points.distance(0, 1) / unit - 5.0).abs() < 1e-12, "{unit}");
            let mut row = [f64::NAN; 3];
            points.distances_from(0, &[0, 1, 2], &mut row);
            assert_eq!(row, [0.0, points.distance(0, 1), 1.0]);
        }
    }
}
