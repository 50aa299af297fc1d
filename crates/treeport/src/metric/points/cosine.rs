//! Cosine distance: half the squared Euclidean distance of unit vectors.

use super::{Kernel, MapCoordinates, Norm, PointFormula, Vectors};
use crate::error::{Error, Result};

pub(super) struct Cosine;

impl PointFormula for Cosine {
    const IS_METRIC: bool = false;
    const KERNEL: Kernel = Kernel::Products;
    const NORM: Option<Norm> = None;
    const SQUARE_SHARE: Option<f64> = Some(0.5);
    const DEGREE: u8 = 0;
    const MAP: MapCoordinates = MapCoordinates::Nowhere;

    const WITHOUT_PERIOD: Option<&'static str> = Some(
        "cosine compares directions, which have no period; leave it out or take another metric",
    );

    /// Divides every vector by its length; an error for a vector of length 0.
    fn vectors(dim: usize, coordinates: &[f64]) -> Result<Option<Vectors>> {
        let mut entries = coordinates.to_vec();
        for (point, x) in entries.chunks_exact_mut(dim).enumerate() {
            // By the largest coordinate first, so that squares neither overflow nor underflow.
            let largest = x.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            if largest == 0.0 {
                return Err(Error::ZeroVector { point });
            }
            for v in x.iter_mut() {
                *v /= largest;
            }
            let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
            for v in x.iter_mut() {
                *v /= length;
            }
        }
        Ok(Some(Vectors { dim, entries }))
    }

    #[inline]
    fn of_sum(square: f64) -> f64 {
        square / 2.0
    }

    #[cfg(test)]
    fn judge(x: &[f64], y: &[f64]) -> f64 {
        let product = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        1.0 - product(x, y) / (product(x, x) * product(y, y)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::metric::PointMetric;
    use crate::metric::points::Points;

    #[test]
    fn vectors_of_any_length_have_an_angle_and_those_of_none_are_refused() {
        let huge =
            Points::new(2, vec![1e300, 0.0, -1e-300, 0.0], PointMetric::Cosine.into()).unwrap();
        assert_eq!(huge.distance(0, 1), 2.0);
        let zero = Points::new(2, vec![1.0, 0.0, 0.0, -0.0], PointMetric::Cosine.into());
        let zero = zero.err().expect("refused");
        assert!(matches!(zero, Error::ZeroVector { point: 1 }));
        assert_eq!(
            zero.to_string(),
            "point 1 has length 0, so its cosine distance is undefined; drop it or use another metric"
        );
    }
}
