//! Great-circle distance on the Earth, from the chord of two points of the unit sphere.

use super::{Kernel, MapCoordinates, Norm, PointFormula, Vectors};
use crate::error::{Error, Result, show_shape};
use crate::metric::kernels::sums::in_lanes;
use crate::numeric::rounding::double;

/// Mean radius of the Earth in kilometers.
const EARTH: f64 = 6_371.008_8;

pub(super) struct Haversine;

impl PointFormula for Haversine {
    const IS_METRIC: bool = true;
    /// Differences, because near antipodal points the rounding error of inner products would
    /// matter.
    const KERNEL: Kernel = Kernel::Squares;
    const NORM: Option<Norm> = None;
    const RADIUS: Option<f64> = Some(EARTH);
    const DEGREE: u8 = 0;
    const MAP: MapCoordinates = MapCoordinates::Degrees;
    const WITHOUT_PERIOD: Option<&'static str> =
        Some("haversine already treats longitudes as periodic; leave it out");
    /// Largest squared chord from which the arc is accurate: near 4 (antipodal points) chords
    /// hardly change with the arc.
    const MOST_SUM: f64 = 3.5;

    /// Returns the points of the unit sphere.
    fn vectors(dim: usize, coordinates: &[f64]) -> Result<Option<Vectors>> {
        if dim != 2 {
            return Err(Error::Shape {
                what: "the table of coordinates".into(),
                expected: "rows of 2: latitude and longitude in degrees".into(),
                found: show_shape(&[coordinates.len() / dim, dim]),
            });
        }
        let mut entries = Vec::with_capacity(coordinates.len() / 2 * 3);
        for (point, &[latitude, longitude]) in coordinates.as_chunks().0.iter().enumerate() {
            let bad = |what, value| Err(Error::BadDegrees { point, what, value });
            if latitude.abs() > 90.0 {
                return bad("latitude", latitude);
            }
            if !(-180.0..=360.0).contains(&longitude) {
                return bad("longitude", longitude);
            }
            let ((z, radius), (y, x)) =
                (latitude.to_radians().sin_cos(), longitude.to_radians().sin_cos());
            entries.extend([radius * x, radius * y, z]);
        }
        Ok(Some(Vectors { dim: 3, entries }))
    }

    #[inline]
    fn of_sum(square: f64) -> f64 {
        2.0 * EARTH * (0.5 * square.sqrt()).min(1.0).asin()
    }

    /// Lowers the square by its roundings, which matter near antipodal points.
    fn of_sum_for_bounds(square: f64) -> f64 {
        Self::of_sum(square * (1.0 - double(4)))
    }

    /// Computes the arc from the distance of one point to the antipode of the other.
    #[cold]
    fn beyond_sums(x: &[f64], y: &[f64], _: Option<&[f64]>) -> f64 {
        let square = in_lanes(x, y, |a, b| (a + b) * (a + b));
        2.0 * EARTH * (std::f64::consts::FRAC_PI_2 - (0.5 * square.sqrt()).asin())
    }

    /// Computes the haversine formula.
    #[cfg(test)]
    fn judge(x: &[f64], y: &[f64]) -> f64 {
        let half = |k: usize| ((y[k] - x[k]).to_radians() / 2.0).sin().powi(2);
        let haversine = half(0) + x[0].to_radians().cos() * y[0].to_radians().cos() * half(1);
        2.0 * EARTH * haversine.sqrt().asin()
    }

    #[cfg(test)]
    const DIMS: &'static [usize] = &[2];
}

#[cfg(test)]
mod tests {
    use super::EARTH;
    use crate::metric::PointMetric;
    use crate::metric::points::Points;

    #[test]
    fn the_earth_is_round() {
        // A quarter of a meridian, half of the equator both ways, across the date line.
        let places = vec![0.0, 0.0, 90.0, 77.0, 0.0, 180.0, 0.0, -180.0, 0.5, 179.5, 0.5, 180.5];
        let points = Points::new(2, places, PointMetric::Haversine.into()).unwrap();
        assert_eq!((points.len(), points.dim), (6, 3));
        let near = |i, j, km: f64| (points.distance(i, j) - km).abs() < 1e-6;
        let degree = EARTH.to_radians();
        assert!(near(0, 1, 90.0 * degree) && near(0, 2, 180.0 * degree) && near(2, 3, 0.0));
        assert!((points.distance(4, 5) / degree - 1.0).abs() < 1e-4);
        // Nearly antipodal points, where the chord hardly changes.
        let points =
            Points::new(2, vec![0.0, 0.0, 1e-6, 180.0], PointMetric::Haversine.into()).unwrap();
        let short = (180.0 - 1e-6) * degree;
        assert!((points.distance(0, 1) / short - 1.0).abs() < 1e-15);
    }

    #[test]
    fn places_beyond_the_poles_are_refused() {
        let text = |dim: usize, at: &[f64]| {
            let points = Points::new(dim, at.to_vec(), PointMetric::Haversine.into());
            points.err().expect("refused").to_string()
        };
        let expected = "point 1 has latitude -120; haversine takes latitude (-90 to 90) and \
                        longitude (-180 to 360) in degrees, in this order";
        assert_eq!(text(2, &[0.0, 0.0, -120.0, 30.0]), expected);
        assert!(text(2, &[0.0, 400.0]).starts_with("point 0 has longitude 400"));
        assert_eq!(
            text(3, &[0.0; 6]),
            "the table of coordinates has shape (2, 3), expected rows of 2: latitude and longitude in degrees"
        );
    }
}
