//! Metrics of points with coordinates: one file a metric, and the table that lists them.
//!
//! A metric tells in its own file what a [`PointFormula`] asks for, and takes a row of
//! `point_metrics!` below; everything else reads that. A metric that needs a new way of adding up, a new
//! norm or a new kind of map adds a variant to [`Kernel`], [`Norm`] or [`MapCoordinates`], and no
//! kernel compiles until it knows that variant.

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

/// What a metric of points tells about itself.
trait PointFormula {
    /// Whether the triangle inequality holds for all points.
    const IS_METRIC: bool;

    /// What is added up over the coordinates of two vectors.
    const KERNEL: Kernel;

    /// The norm whose ‖x − y‖ the distance of coordinates as they were given is, where it is one.
    const NORM: Option<Norm>;

    /// A distance over ‖x − y‖² of its vectors, where that is one number: a power of two.
    const SQUARE_SHARE: Option<f64> = None;

    /// The radius of the sphere along which distances are measured between unit vectors, where they are.
    const RADIUS: Option<f64> = None;

    /// Vectors c times as long are c to this power times as far apart; 0 for vectors of length 1.
    const DEGREE: u8;

    /// Where points are on a map.
    const MAP: MapCoordinates;

    /// Why its coordinates have no period, where they have none.
    const WITHOUT_PERIOD: Option<&'static str> = None;

    /// Sums below and above these have lost too many digits; then it is up to `beyond_sums`.
    const LEAST_SUM: f64 = f64::NEG_INFINITY;
    const MOST_SUM: f64 = f64::INFINITY;

    /// The vectors that distances are computed from, where those are not the coordinates.
    ///
    /// # Errors
    /// Coordinates that the metric has no distance for; that they are finite has been checked.
    fn vectors(_dim: usize, _coordinates: &[f64]) -> Result<Option<Vectors>> {
        Ok(None)
    }

    /// The distance behind a sum.
    fn of_sum(sum: f64) -> f64;

    /// As [`of_sum`](Self::of_sum), above the truth by no more than a few roundings of the distance.
    fn of_sum_for_bounds(sum: f64) -> f64 {
        Self::of_sum(sum)
    }

    /// The distance of two vectors whose sum has lost too many digits.
    fn beyond_sums(x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
        Self::of_sum(Self::KERNEL.sums(x, [y], halves)[0])
    }

    /// The distance of two points by the textbook, from coordinates as they were given.
    #[cfg(test)]
    fn judge(x: &[f64], y: &[f64]) -> f64 {
        Self::judge_differences(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<_>>())
    }

    /// The distance behind the differences of all coordinates, by the textbook, where it has one.
    #[cfg(test)]
    fn judge_differences(_differences: &[f64]) -> f64 {
        unreachable!("no distance of differences")
    }

    /// Numbers of coordinates that points may have, to be tested.
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
/// Where a distance is ‖x − y‖, points that are moved a little change it by no more than the norms of
/// those moves, and no transport costs less than moving the centroid: bounds rest on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Norm {
    /// √Σ xₖ².
    L2,
    /// Σ |xₖ|.
    L1,
    /// max |xₖ|.
    Largest,
}

/// Where points are on a map, by their coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapCoordinates {
    /// Two coordinates are a place in the plane: x to the right, y upwards.
    Plane,
    /// Latitude and longitude in degrees.
    Degrees,
    /// Coordinates are directions, which are no places.
    Nowhere,
}

/// The enum of all metrics, its names, and what the file of each says.
macro_rules! point_metrics {
    ($($(#[$about:meta])* $metric:ident in $file:ident:
        $name:literal $(or $alias:literal)*, $help:literal;)+) => {
        /// How far two vectors are apart.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum PointMetric {
            $($(#[$about])* $metric),+
        }

        named! { PointMetric, "the metric", { $($metric: $name, $help;)+ },
            aliases: &[$($(($alias, $name),)*)+] }

        impl PointMetric {
            /// Whether the triangle inequality holds for all points.
            pub fn is_metric(self) -> bool {
                match self { $(Self::$metric => $file::$metric::IS_METRIC),+ }
            }

            /// Where points are on a map.
            pub fn map_coordinates(self) -> MapCoordinates {
                match self { $(Self::$metric => $file::$metric::MAP),+ }
            }

            pub(crate) fn kernel(self) -> Kernel {
                match self { $(Self::$metric => $file::$metric::KERNEL),+ }
            }

            pub(crate) fn norm(self) -> Option<Norm> {
                match self { $(Self::$metric => $file::$metric::NORM),+ }
            }

            /// A distance over the squared Euclidean one of its vectors, where that is one number.
            pub(crate) fn square_share(self) -> Option<f64> {
                match self { $(Self::$metric => $file::$metric::SQUARE_SHARE),+ }
            }

            /// The radius of the sphere along which distances are measured, where they are.
            pub(crate) fn radius(self) -> Option<f64> {
                match self { $(Self::$metric => $file::$metric::RADIUS),+ }
            }

            /// Why its coordinates have no period, where they have none.
            fn without_period(self) -> Option<&'static str> {
                match self { $(Self::$metric => $file::$metric::WITHOUT_PERIOD),+ }
            }

            /// Vectors c times as long are c to this power times as far apart; 0 where all have
            /// length 1.
            pub(crate) fn degree(self) -> u8 {
                match self { $(Self::$metric => $file::$metric::DEGREE),+ }
            }

            /// The distance behind a sum of the [`Kernel`].
            #[inline]
            pub(crate) fn of_sum(self, sum: f64) -> f64 {
                match self { $(Self::$metric => $file::$metric::of_sum(sum)),+ }
            }

            /// As [`of_sum`](Self::of_sum), above the truth by no more than a few roundings.
            pub(crate) fn of_sum_for_bounds(self, sum: f64) -> f64 {
                match self { $(Self::$metric => $file::$metric::of_sum_for_bounds(sum)),+ }
            }

            /// Sums to distances; −1 for sums that have lost too many digits.
            // Always inlined, so that it is compiled for its caller's processor.
            #[inline(always)]
            pub(crate) fn of_sums(self, sums: &mut [f64]) {
                match self { $(Self::$metric => of_sums::<$file::$metric>(sums)),+ }
            }

            /// The distances from one vector to several others, which need not be points; wrapped
            /// where there are half periods.
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

            /// As [`judge`](Self::judge), from the differences of coordinates.
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
    /// Straight line: √Σ (xₖ − yₖ)².
    Euclidean in euclidean: "euclidean" or "l2", "straight line";
    /// Along the axes: Σ |xₖ − yₖ|.
    Manhattan in manhattan: "manhattan" or "l1" or "cityblock", "along the axes";
    /// The largest difference along an axis: max |xₖ − yₖ|.
    Chebyshev in chebyshev:
        "chebyshev" or "linf" or "chessboard", "largest difference along an axis";
    /// One minus the cosine of the angle, which does **not** obey the triangle inequality.
    ///
    /// Computed as half the squared Euclidean distance of the unit vectors, which is the same
    /// number without the cancellation, so that nearly parallel vectors keep their digits.
    Cosine in cosine: "cosine", "one minus the cosine of the angle";
    /// The square of the straight line, which does **not** obey the triangle inequality.
    SqEuclidean in sqeuclidean: "sqeuclidean", "straight line, squared";
    /// Along the surface of the Earth, in kilometers, between latitudes and longitudes in degrees.
    ///
    /// The Earth is a ball of its mean radius, 6,371.0088 km, which is off by at most 0.6 %. Computed
    /// from the straight line between points of the unit sphere.
    Haversine in haversine:
        "haversine", "along the Earth's surface in km, of latitude and longitude in degrees";
}

impl PointMetric {
    /// The distance between two vectors, which need not be points; wrapped where there are half periods.
    pub(crate) fn between(self, x: &[f64], y: &[f64], halves: Option<&[f64]>) -> f64 {
        self.between_several(x, [y], halves)[0]
    }

    /// The distance of vectors `unit` times as long.
    pub(crate) fn scaled(self, distance: f64, unit: f64) -> f64 {
        (0..self.degree()).fold(distance, |distance, _| distance * unit)
    }
}

/// Whether a sum has lost too many digits.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn is_beyond<F: PointFormula>(sum: f64) -> bool {
    sum < F::LEAST_SUM || sum > F::MOST_SUM
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled for its caller's processor")]
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
