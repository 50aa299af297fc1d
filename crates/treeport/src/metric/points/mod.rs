//! Metrics of points with coordinates: one file per metric, and the table that lists them.
//!
//! A metric implements [`PointFormula`] in its own file and has a row in `point_metrics!` below;
//! all other code uses that table. A metric with a new sum, norm or kind of map adds a variant to
//! [`Kernel`], [`Norm`] or [`MapCoordinates`], which every kernel then has to handle in order to
//! compile.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

mod chebyshev;
mod cosine;
mod euclidean;
mod haversine;
mod manhattan;
pub(crate) mod period;
mod sqeuclidean;
mod stored;
#[cfg(test)]
mod tests;

use super::kernels::sums::Kernel;
use crate::error::Result;
use crate::names::named;
pub use period::{Geometry, Period};
pub(super) use stored::Points;

/// Definition of a metric of points.
trait PointFormula {
    /// Whether the triangle inequality holds for all points.
    const IS_METRIC: bool;

    /// Sum over the coordinates of two vectors.
    const KERNEL: Kernel;

    /// Norm of x − y that equals the distance, if the distance is a norm of unchanged coordinates.
    const NORM: Option<Norm>;

    /// Ratio of the distance to ‖x − y‖² of its vectors, if constant: a power of two.
    const SQUARE_SHARE: Option<f64> = None;

    /// Radius of the sphere on which distances are measured between unit vectors, if any.
    const RADIUS: Option<f64> = None;

    /// Degree of homogeneity: vectors times c have distances times c to this power.
    const DEGREE: u8;

    /// Meaning of coordinates on a map.
    const MAP: MapCoordinates;

    /// Reason why coordinates cannot have a period, if so.
    const WITHOUT_PERIOD: Option<&'static str> = None;

    /// Range of accurate sums; `beyond_sums` computes the distance of any other sum.
    const LEAST_SUM: f64 = f64::NEG_INFINITY;
    const MOST_SUM: f64 = f64::INFINITY;

    /// Returns the vectors that distances are computed from, if they are not the coordinates.
    ///
    /// # Errors
    /// Coordinates that are invalid for the metric; they are finite.
    fn vectors(_dim: usize, _coordinates: &[f64]) -> Result<Option<Vectors>> {
        Ok(None)
    }

    /// Converts a sum to a distance.
    fn of_sum(sum: f64) -> f64;

    /// Converts a sum to a distance that exceeds the true one by at most a few roundings.
    fn of_sum_for_bounds(sum: f64) -> f64 {
        Self::of_sum(sum)
    }

    /// Computes the distance of two vectors whose sum has lost too many digits.
    fn beyond_sums(x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
        Self::of_sum(Self::KERNEL.sums(x, [y], halves)[0])
    }

    /// Computes the distance of two points by the textbook formula, from the original coordinates.
    #[cfg(test)]
    fn judge(x: &[f64], y: &[f64]) -> f64 {
        Self::judge_differences(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<_>>())
    }

    /// Computes the distance from the differences of coordinates, by the textbook formula.
    #[cfg(test)]
    fn judge_differences(_differences: &[f64]) -> f64 {
        unreachable!("no distance of differences")
    }

    /// Numbers of coordinates to test.
    #[cfg(test)]
    const DIMS: &'static [usize] = &[1, 2, 11, 12, 16, 17, 40];
}

/// Vectors of equal length, one after the other.
struct Vectors {
    dim: usize,
    entries: Vec<f64>,
}

/// A norm of vectors.
///
/// Where a distance is ‖x − y‖, moving points changes it by at most the norms of the moves, and
/// transport costs at least the distance of the centroids: bounds rest on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Norm {
    /// √Σ xₖ².
    L2,
    /// Σ |xₖ|.
    L1,
    /// max |xₖ|.
    Largest,
}

/// Meaning of coordinates on a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapCoordinates {
    /// Two coordinates are a place in the plane: x to the right, y upwards.
    Plane,
    /// Latitude and longitude in degrees.
    Degrees,
    /// Coordinates are directions, which have no place on a map.
    Nowhere,
}

/// Defines the enum of all metrics, with their names and the constants of their files.
macro_rules! point_metrics {
    ($($(#[$about:meta])* $metric:ident in $file:ident:
        $name:literal $(or $alias:literal)*, $help:literal;)+) => {
        /// Distance between two vectors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum PointMetric {
            $($(#[$about])* $metric),+
        }

        named! { PointMetric, "the metric", { $($metric: $name, $help;)+ },
            aliases: &[$($(($alias, $name),)*)+] }

        impl PointMetric {
            /// Returns whether the triangle inequality holds for all points.
            pub fn is_metric(self) -> bool {
                match self { $(Self::$metric => $file::$metric::IS_METRIC),+ }
            }

            /// Returns the meaning of coordinates on a map.
            pub fn map_coordinates(self) -> MapCoordinates {
                match self { $(Self::$metric => $file::$metric::MAP),+ }
            }

            pub(crate) fn kernel(self) -> Kernel {
                match self { $(Self::$metric => $file::$metric::KERNEL),+ }
            }

            pub(crate) fn norm(self) -> Option<Norm> {
                match self { $(Self::$metric => $file::$metric::NORM),+ }
            }

            /// Returns c if the distance is c times the squared Euclidean one of the vectors.
            pub(crate) fn square_share(self) -> Option<f64> {
                match self { $(Self::$metric => $file::$metric::SQUARE_SHARE),+ }
            }

            /// Returns the radius of the sphere on which distances are measured, if any.
            pub(crate) fn radius(self) -> Option<f64> {
                match self { $(Self::$metric => $file::$metric::RADIUS),+ }
            }

            /// Returns the reason why coordinates cannot have a period, if so.
            fn without_period(self) -> Option<&'static str> {
                match self { $(Self::$metric => $file::$metric::WITHOUT_PERIOD),+ }
            }

            /// Returns the degree of homogeneity; 0 for unit vectors.
            pub(crate) fn degree(self) -> u8 {
                match self { $(Self::$metric => $file::$metric::DEGREE),+ }
            }

            /// Converts a sum of the [`Kernel`] to a distance.
            #[inline]
            pub(crate) fn of_sum(self, sum: f64) -> f64 {
                match self { $(Self::$metric => $file::$metric::of_sum(sum)),+ }
            }

            /// Converts a sum to a distance that exceeds the true one by at most a few roundings.
            pub(crate) fn of_sum_for_bounds(self, sum: f64) -> f64 {
                match self { $(Self::$metric => $file::$metric::of_sum_for_bounds(sum)),+ }
            }

            /// Converts sums to distances, or to −1 for sums that have lost too many digits.
            // Always inlined, so that it is compiled for its caller's processor.
            #[inline(always)]
            pub(crate) fn of_sums(self, sums: &mut [f64]) {
                match self { $(Self::$metric => of_sums::<$file::$metric>(sums)),+ }
            }

            /// Computes the distances from one vector to several; wrapped with half periods.
            fn between_several<const K: usize>(
                self,
                x: &[f64],
                ys: [&[f64]; K],
                halves: Option<&[f64]>,
            ) -> [f64; K] {
                match self {
                    $(Self::$metric => between_several::<$file::$metric, K>(x, ys, halves)),+
                }
            }

            fn vectors(self, dim: usize, coordinates: &[f64]) -> Result<Option<Vectors>> {
                match self { $(Self::$metric => $file::$metric::vectors(dim, coordinates)),+ }
            }

            #[cfg(test)]
            fn judge(self, x: &[f64], y: &[f64]) -> f64 {
                match self { $(Self::$metric => $file::$metric::judge(x, y)),+ }
            }

            /// Computes the textbook distance from the differences of coordinates.
            #[cfg(test)]
            fn judge_differences(self, differences: &[f64]) -> f64 {
                match self { $(Self::$metric => $file::$metric::judge_differences(differences)),+ }
            }

            #[cfg(test)]
            fn dims(self) -> &'static [usize] {
                match self { $(Self::$metric => $file::$metric::DIMS),+ }
            }
        }
    };
}

point_metrics! {
    /// Euclidean distance: √Σ (xₖ − yₖ)².
    Euclidean in euclidean: "euclidean" or "l2", "straight line";
    /// Manhattan distance: Σ |xₖ − yₖ|.
    Manhattan in manhattan: "manhattan" or "l1" or "cityblock", "along the axes";
    /// Chebyshev distance, the largest difference of a coordinate: max |xₖ − yₖ|.
    Chebyshev in chebyshev:
        "chebyshev" or "linf" or "chessboard", "largest difference along an axis";
    /// Cosine distance, one minus the cosine of the angle, which does **not** obey the triangle
    /// inequality.
    ///
    /// Computed as half the squared Euclidean distance of the unit vectors, which is the same
    /// number without cancellation, so that nearly parallel vectors keep their digits.
    Cosine in cosine: "cosine", "one minus the cosine of the angle";
    /// Squared Euclidean distance, which does **not** obey the triangle inequality.
    SqEuclidean in sqeuclidean: "sqeuclidean", "straight line, squared";
    /// Great-circle distance on the Earth in kilometers, between latitudes and longitudes in
    /// degrees.
    ///
    /// The Earth is a ball of its mean radius, 6,371.0088 km, an error of at most 0.6 %. Computed
    /// from the chord between points of the unit sphere.
    Haversine in haversine:
        "haversine", "along the Earth's surface in km, of latitude and longitude in degrees";
}

impl PointMetric {
    /// Computes the distance of two vectors, not only points; wrapped with half periods.
    pub(crate) fn between(self, x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
        self.between_several(x, [y], halves)[0]
    }

    /// Returns the distance of vectors scaled by `unit`.
    pub(crate) fn scaled(self, distance: f64, unit: f64) -> f64 {
        (0..self.degree()).fold(distance, |distance, _| distance * unit)
    }
}

/// Returns whether a sum has lost too many digits.
#[inline(always)]
fn is_beyond<F: PointFormula>(sum: f64) -> bool {
    sum < F::LEAST_SUM || sum > F::MOST_SUM
}

#[inline(always)]
fn of_sums<F: PointFormula>(sums: &mut [f64]) {
    for sum in sums {
        *sum = if is_beyond::<F>(*sum) { -1.0 } else { F::of_sum(*sum) };
    }
}

fn between_several<F: PointFormula, const K: usize>(
    x: &[f64],
    ys: [&[f64]; K],
    halves: Option<&[f64]>,
) -> [f64; K] {
    let sums = F::KERNEL.sums(x, ys, halves);
    let mut distances = sums.map(F::of_sum);
    for k in 0..K {
        if is_beyond::<F>(sums[k]) {
            distances[k] = F::beyond_sums(x, ys[k], halves);
        }
    }
    distances
}
