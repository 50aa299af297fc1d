//! Chebyshev distance, the largest difference of a coordinate: max |xₖ − yₖ|.

use super::{Kernel, MapCoordinates, Norm, PointFormula};

pub(super) struct Chebyshev;

impl PointFormula for Chebyshev {
    const IS_METRIC: bool = true;
    const KERNEL: Kernel = Kernel::Largest;
    const NORM: Option<Norm> = Some(Norm::Largest);
    const DEGREE: u8 = 1;
    const MAP: MapCoordinates = MapCoordinates::Plane;

    #[inline]
    fn of_sum(largest: f64) -> f64 {
        largest
    }

    #[cfg(test)]
    fn judge_differences(differences: &[f64]) -> f64 {
        differences.iter().fold(0.0, |most: f64, d| most.max(d.abs()))
    }
}

#[cfg(test)]
mod tests {
    use crate::metric::PointMetric;
    use crate::metric::points::Points;

    #[test]
    fn the_largest_difference_counts_alone() {
        let at = vec![0.0, 3.0, -1.0, 4.0, 1.0, -1.5, 4.0, 1.0, -1.0];
        let points = Points::new(3, at, PointMetric::Chebyshev.into()).unwrap();
        assert_eq!([points.distance(0, 1), points.distance(1, 2)], [4.0, 0.5]);
    }
}
