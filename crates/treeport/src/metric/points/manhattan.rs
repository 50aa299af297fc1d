//! Manhattan distance: Σ |xₖ − yₖ|.

use super::{Kernel, MapCoordinates, Norm, PointFormula};

pub(super) struct Manhattan;

impl PointFormula for Manhattan {
    const IS_METRIC: bool = true;
    const KERNEL: Kernel = Kernel::Absolutes;
    const NORM: Option<Norm> = Some(Norm::L1);
    const DEGREE: u8 = 1;
    const MAP: MapCoordinates = MapCoordinates::Plane;

    #[inline]
    fn of_sum(sum: f64) -> f64 {
        sum
    }

    #[cfg(test)]
    fn judge_differences(differences: &[f64]) -> f64 {
        differences.iter().map(|d| d.abs()).sum()
    }
}
