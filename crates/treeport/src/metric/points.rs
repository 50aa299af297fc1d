//! Points with coordinates and a named way to measure between them.

use std::sync::OnceLock;

use super::rounded::Copy;
use crate::error::{Error, Result, show_shape};
use crate::names::named;

/// How far two vectors are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PointMetric {
    /// Straight line: √Σ (xₖ − yₖ)².
    Euclidean,
    /// Its square, which does **not** obey the triangle inequality.
    SqEuclidean,
    /// Along the axes: Σ |xₖ − yₖ|.
    Manhattan,
    /// One minus the cosine of the angle, which does **not** obey the triangle inequality.
    ///
    /// Computed as half the squared Euclidean distance of the unit vectors, which is the same
    /// number without the cancellation, so that nearly parallel vectors keep their digits.
    Cosine,
    /// Along the surface of the Earth, in kilometres, between latitudes and longitudes in degrees.
    ///
    /// The Earth is a ball of its mean radius, 6,371.0088 km, which is off by at most 0.6 %. Computed
    /// from the straight line between points of the unit sphere.
    Haversine,
}

/// Squared straight lines between points of the unit sphere that are longer than this tell too little of
/// the arc: near 4, where all places are on the other side, they hardly change.
pub(super) const OPPOSITE: f64 = 3.5;

/// The arc between two such points, from how far one is from the place opposite to the other.
#[cold]
fn opposite(x: &[f64], y: &[f64]) -> f64 {
    let square = in_lanes(x, y, |a, b| (a + b) * (a + b));
    2.0 * EARTH * (std::f64::consts::FRAC_PI_2 - (0.5 * square.sqrt()).asin())
}

/// The mean radius of the Earth in kilometres.
const EARTH: f64 = 6_371.008_8;

impl PointMetric {
    /// Whether the triangle inequality holds for all points.
    pub fn is_metric(self) -> bool {
        matches!(self, Self::Euclidean | Self::Manhattan | Self::Haversine)
    }

    /// Whether distances are taken one by one: along the axes there is no product to take them from,
    /// and between opposite sides of the Earth its rounding would count.
    pub(super) fn is_direct(self) -> bool {
        matches!(self, Self::Manhattan | Self::Haversine)
    }

    /// The distance between two vectors (for the cosine and the haversine, of length 1) that need not be
    /// points.
    pub(crate) fn between(self, x: &[f64], y: &[f64]) -> f64 {
        self.between_several(x, [y])[0]
    }

    /// The distances from one vector to several others.
    fn between_several<const K: usize>(self, x: &[f64], ys: [&[f64]; K]) -> [f64; K] {
        match self {
            Self::Manhattan => sums(x, ys, |a, b| (a - b).abs()),
            Self::Euclidean => {
                let squares = squares(x, ys);
                let mut lengths = squares.map(f64::sqrt);
                for k in 0..K {
                    if squares[k] < TINY {
                        lengths[k] = tiny_length(x, ys[k]);
                    }
                }
                lengths
            }
            Self::Haversine => {
                let squares = squares(x, ys);
                std::array::from_fn(|k| match squares[k] {
                    square if square > OPPOSITE => opposite(x, ys[k]),
                    square => self.of_square(square),
                })
            }
            metric => squares(x, ys).map(|square| metric.of_square(square)),
        }
    }

    /// The distance behind a squared Euclidean distance (of unit vectors for the cosine and the
    /// haversine).
    pub(crate) fn of_square(self, square: f64) -> f64 {
        match self {
            Self::Euclidean => square.sqrt(),
            Self::Cosine => square / 2.0,
            Self::Haversine => 2.0 * EARTH * (0.5 * square.sqrt()).min(1.0).asin(),
            Self::SqEuclidean | Self::Manhattan => square,
        }
    }
}

named! { PointMetric, "the metric", {
    Euclidean: "euclidean", "straight line";
    Manhattan: "manhattan", "along the axes";
    Cosine: "cosine", "one minus the cosine of the angle";
    SqEuclidean: "sqeuclidean", "straight line, squared";
    Haversine: "haversine", "along the Earth's surface in km, of latitude and longitude in degrees";
}, aliases: &[("l2", "euclidean"), ("l1", "manhattan"), ("cityblock", "manhattan")] }

/// Vectors of equal length, all finite, and how to measure between them.
#[derive(Clone)]
pub(super) struct Points {
    /// Of the vectors that distances are computed from.
    pub(super) dim: usize,
    pub(super) metric: PointMetric,
    /// As they were given, and how many each point has.
    pub(super) coordinates: Vec<f64>,
    pub(super) given: usize,
    /// Vectors of length 1, which the cosine and the haversine need.
    unit: Option<Vec<f64>>,
    /// The same in single precision, once bounds are asked for.
    copy: OnceLock<Option<Copy>>,
}

impl Points {
    pub(super) fn new(dim: usize, coordinates: Vec<f64>, metric: PointMetric) -> Result<Self> {
        if coordinates.is_empty() {
            return Err(Error::NoPoints);
        }
        if dim == 0 || !coordinates.len().is_multiple_of(dim) {
            return Err(Error::Shape {
                what: "the table of coordinates".into(),
                expected: format!("rows of {dim}"),
                found: show_shape(&[coordinates.len()]),
            });
        }
        super::check_count(coordinates.len() / dim)?;
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let value = coordinates[at];
            return Err(Error::BadCoordinate { point: at / dim, axis: at % dim, value });
        }
        let (unit, given) = match metric {
            PointMetric::Cosine => (Some(to_unit(dim, &coordinates)?), dim),
            PointMetric::Haversine => (Some(on_sphere(dim, &coordinates)?), dim),
            _ => (None, dim),
        };
        let dim = if metric == PointMetric::Haversine { 3 } else { dim };
        let points = Self { dim, metric, coordinates, given, unit, copy: OnceLock::new() };
        points.check_extent()?;
        Ok(points)
    }

    pub(super) fn len(&self) -> usize {
        self.coordinates.len() / self.given
    }

    /// The vectors that distances are computed from.
    pub(super) fn vectors(&self) -> &[f64] {
        self.unit.as_ref().unwrap_or(&self.coordinates)
    }

    pub(super) fn vector(&self, i: usize) -> &[f64] {
        &self.vectors()[i * self.dim..(i + 1) * self.dim]
    }

    /// All points in single precision, worked out the first time.
    pub(super) fn copy(&self) -> Option<&Copy> {
        self.copy.get_or_init(|| Copy::new(self)).as_ref()
    }

    pub(super) fn distance(&self, i: usize, j: usize) -> f64 {
        self.metric.between(self.vector(i), self.vector(j))
    }

    /// The distances from one point to some others, to the bit those of [`Points::distance`].
    pub(super) fn distances_from(&self, i: usize, to: &[u32], out: &mut [f64]) {
        let x = self.vector(i);
        let vector = |j: u32| self.vector(j as usize);
        let ((fours, rest), (out, out_rest)) =
            (to.as_chunks::<ABREAST>(), out.as_chunks_mut::<ABREAST>());
        for (to, out) in fours.iter().zip(out) {
            *out = self.metric.between_several(x, to.map(vector));
        }
        for (&j, out) in rest.iter().zip(out_rest) {
            *out = self.metric.between(x, vector(j));
        }
    }

    /// Refuses points so far apart that a distance, or a step towards it, would overflow.
    fn check_extent(&self) -> Result<()> {
        let mut low = self.vector(0).to_vec();
        let mut high = low.clone();
        for x in self.vectors().chunks_exact(self.dim) {
            for k in 0..self.dim {
                low[k] = low[k].min(x[k]);
                high[k] = high[k].max(x[k]);
            }
        }
        let extent = match self.metric {
            PointMetric::Manhattan => absolute(&low, &high),
            _ => square(&low, &high),
        };
        // Norms and inner products of centred points stay below four times the square.
        if (4.0 * extent).is_finite() {
            return Ok(());
        }
        let widest =
            (0..self.dim).max_by(|&k, &l| (high[k] - low[k]).total_cmp(&(high[l] - low[l])));
        let axis = widest.unwrap_or(0);
        let find = |value: f64| (0..self.len()).position(|i| self.vector(i)[axis] == value);
        let (from, to) = (find(low[axis]).unwrap_or(0), find(high[axis]).unwrap_or(0));
        Err(Error::BadDistance { from: from.min(to), to: from.max(to), value: f64::INFINITY })
    }
}

/// Every vector divided by its length, or an error for a vector without one.
fn to_unit(dim: usize, coordinates: &[f64]) -> Result<Vec<f64>> {
    let mut unit = coordinates.to_vec();
    for (point, x) in unit.chunks_exact_mut(dim).enumerate() {
        // By the largest coordinate first, so that the squares neither overflow nor vanish.
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
    Ok(unit)
}

/// Points of the unit sphere for latitudes and longitudes in degrees.
fn on_sphere(dim: usize, coordinates: &[f64]) -> Result<Vec<f64>> {
    if dim != 2 {
        return Err(Error::Shape {
            what: "the table of coordinates".into(),
            expected: "rows of 2: latitude and longitude in degrees".into(),
            found: show_shape(&[coordinates.len() / dim, dim]),
        });
    }
    let mut sphere = Vec::with_capacity(coordinates.len() / 2 * 3);
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
        sphere.extend([radius * x, radius * y, z]);
    }
    Ok(sphere)
}

/// Sums run in this many lanes: the order is fixed, and the compiler can use vector registers.
const LANES: usize = 8;

/// Distances computed side by side, so that one goes on while another waits for its sums.
const ABREAST: usize = 4;

/// Groups of lanes that one of them adds up before it is the next one's turn: few enough that a
/// processor looks ahead to the next.
const TURN: usize = 8;

/// Σ (xₖ − yₖ)².
pub(super) fn square(x: &[f64], y: &[f64]) -> f64 {
    squares(x, [y])[0]
}

/// [`square`] of several y.
fn squares<const K: usize>(x: &[f64], ys: [&[f64]; K]) -> [f64; K] {
    #[cfg(target_arch = "x86_64")]
    if x.len() >= WIDE && std::arch::is_x86_feature_detected!("avx2") {
        #[expect(
            unsafe_code,
            reason = "a function for a newer processor may not run on an older one"
        )]
        // SAFETY: this processor was just asked whether it is new enough.
        return unsafe { squares_avx2(x, ys) };
    }
    sums(x, ys, |a, b| (a - b) * (a - b))
}

/// [`squares`] with twice the lanes in a register: the same sums in the same order, in half the
/// time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn squares_avx2<const K: usize>(x: &[f64], ys: [&[f64]; K]) -> [f64; K] {
    sums(x, ys, |a, b| (a - b) * (a - b))
}

/// Coordinates from which it pays to ask the processor what it can do.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 32;

/// Sums of squares below this may have lost digits, or all of them, to underflow.
pub(super) const TINY: f64 = 1e-280;

/// √Σ (xₖ − yₖ)² of vectors so close together that the squares vanish.
#[cold]
fn tiny_length(x: &[f64], y: &[f64]) -> f64 {
    let largest = x.iter().zip(y).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let share = |(a, b): (&f64, &f64)| ((a - b) / largest).powi(2);
    largest * x.iter().zip(y).map(share).sum::<f64>().sqrt()
}

/// Σ |xₖ − yₖ|.
pub(super) fn absolute(x: &[f64], y: &[f64]) -> f64 {
    in_lanes(x, y, |a, b| (a - b).abs())
}

/// Σ term(xₖ, yₖ), in a fixed order.
pub(super) fn in_lanes(x: &[f64], y: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    sums(x, [y], term)[0]
}

/// [`in_lanes`] of several y. Always inlined, so that it is compiled for its caller's processor.
#[inline(always)]
#[expect(clippy::inline_always, reason = "elsewhere it would not get the wider registers")]
fn sums<const K: usize>(x: &[f64], ys: [&[f64]; K], term: impl Fn(f64, f64) -> f64) -> [f64; K] {
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let chunks = ys.map(|y| y.as_chunks::<LANES>().0);
    let mut sums = [[0.0; LANES]; K];
    for (turn, xs) in xs.chunks(TURN).enumerate() {
        for k in 0..K {
            for (x, y) in xs.iter().zip(&chunks[k][turn * TURN..]) {
                for lane in 0..LANES {
                    sums[k][lane] += term(x[lane], y[lane]);
                }
            }
        }
    }
    std::array::from_fn(|k| {
        let rest = x_rest.iter().zip(&ys[k][x.len() - x_rest.len()..]);
        sums[k].iter().sum::<f64>() + rest.map(|(&a, &b)| term(a, b)).sum::<f64>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(dim: usize, coordinates: &[f64], metric: PointMetric) -> Error {
        Points::new(dim, coordinates.to_vec(), metric).err().expect("refused")
    }

    #[test]
    fn names_come_back() {
        for metric in [
            PointMetric::Euclidean,
            PointMetric::SqEuclidean,
            PointMetric::Manhattan,
            PointMetric::Cosine,
            PointMetric::Haversine,
        ] {
            assert_eq!(metric.to_string().parse::<PointMetric>().unwrap(), metric);
        }
        assert_eq!("cityblock".parse::<PointMetric>().unwrap(), PointMetric::Manhattan);
        assert_eq!(
            "L7".parse::<PointMetric>().unwrap_err().to_string(),
            "the metric is `L7`; it must be euclidean, manhattan, cosine, sqeuclidean or haversine"
        );
    }

    #[test]
    fn distances_by_hand() {
        let at = |metric| Points::new(2, vec![0.0, 3.0, 4.0, 0.0], metric).unwrap().distance(0, 1);
        assert_eq!(at(PointMetric::Euclidean), 5.0);
        assert_eq!(at(PointMetric::SqEuclidean), 25.0);
        assert_eq!(at(PointMetric::Manhattan), 7.0);
        assert!((at(PointMetric::Cosine) - 1.0).abs() < 1e-15);
        let huge = Points::new(2, vec![1e300, 0.0, -1e-300, 0.0], PointMetric::Cosine).unwrap();
        assert_eq!(huge.distance(0, 1), 2.0);
    }

    #[test]
    fn the_earth_is_round() {
        // A quarter of a meridian, half of the equator both ways, and across the date line.
        let places = vec![0.0, 0.0, 90.0, 77.0, 0.0, 180.0, 0.0, -180.0, 0.5, 179.5, 0.5, 180.5];
        let points = Points::new(2, places, PointMetric::Haversine).unwrap();
        assert_eq!((points.len(), points.dim), (6, 3));
        let near = |i, j, km: f64| (points.distance(i, j) - km).abs() < 1e-6;
        let degree = EARTH.to_radians();
        assert!(near(0, 1, 90.0 * degree) && near(0, 2, 180.0 * degree) && near(2, 3, 0.0));
        assert!((points.distance(4, 5) / degree - 1.0).abs() < 1e-4);
        // A little short of the other side, where the straight line hardly changes.
        let points = Points::new(2, vec![0.0, 0.0, 1e-6, 180.0], PointMetric::Haversine).unwrap();
        let short = (180.0 - 1e-6) * degree;
        assert!((points.distance(0, 1) / short - 1.0).abs() < 1e-15);
        // Berlin and New York, by the formula of haversines.
        let (berlin, york) = ([52.52f64, 13.405], [40.7128f64, -74.006]);
        let points = Points::new(2, [berlin, york].concat(), PointMetric::Haversine).unwrap();
        let half = |k: usize| ((york[k] - berlin[k]).to_radians() / 2.0).sin().powi(2);
        let haversine =
            half(0) + berlin[0].to_radians().cos() * york[0].to_radians().cos() * half(1);
        let expected = 2.0 * EARTH * haversine.sqrt().asin();
        assert!((points.distance(0, 1) / expected - 1.0).abs() < 1e-14);
    }

    #[test]
    fn places_beyond_the_poles_are_refused() {
        let text = |at: &[f64]| error(2, at, PointMetric::Haversine).to_string();
        let expected = "point 1 has latitude -120; haversine takes latitude (-90 to 90) and \
                        longitude (-180 to 360) in degrees, in this order";
        assert_eq!(text(&[0.0, 0.0, -120.0, 30.0]), expected);
        assert!(text(&[0.0, 400.0]).starts_with("point 0 has longitude 400"));
        let three = error(3, &[0.0; 6], PointMetric::Haversine).to_string();
        assert_eq!(
            three,
            "the table of coordinates has shape (2, 3), expected rows of 2: latitude and longitude in degrees"
        );
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    #[expect(unsafe_code, reason = "asks for the newer processor's function by itself")]
    fn newer_processors_give_the_same_bits() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        let wave = |k: usize| (k as f64 * 0.7).sin() * f64::from(1 << (k % 7));
        for dim in [1, 7, 8, 33, 300] {
            let (x, y): (Vec<_>, Vec<_>) = (0..dim).map(|k| (wave(k), wave(k + 1000))).unzip();
            // SAFETY: the processor was asked above.
            let fast = unsafe { squares_avx2(&x, [&y]) };
            assert_eq!(fast, [in_lanes(&x, &y, |a, b| (a - b) * (a - b))]);
        }
    }

    #[test]
    fn distances_side_by_side_are_the_same_bits() {
        for (dim, metric) in
            [(1, PointMetric::Manhattan), (33, PointMetric::Manhattan), (5, PointMetric::Cosine)]
                .into_iter()
                .chain([7, 64, 300].map(|dim| (dim, PointMetric::Euclidean)))
        {
            let coordinates = (0..11 * dim).map(|k| 1.5 + (k as f64 * 0.7).sin()).collect();
            let points = Points::new(dim, coordinates, metric).unwrap();
            let to: Vec<u32> = (0..11).rev().collect();
            let mut out = vec![f64::NAN; 11];
            points.distances_from(3, &to, &mut out);
            let one_by_one: Vec<f64> = to.iter().map(|&j| points.distance(3, j as usize)).collect();
            assert_eq!(out, one_by_one, "{metric} in {dim} dimensions");
        }
    }

    #[test]
    fn bad_points_are_named() {
        use PointMetric::{Cosine, Euclidean, Manhattan};
        assert!(matches!(error(2, &[], Euclidean), Error::NoPoints));
        assert!(matches!(error(0, &[1.0], Euclidean), Error::Shape { .. }));
        assert_eq!(
            error(2, &[0.0; 5], Euclidean).to_string(),
            "the table of coordinates has shape (5,), expected rows of 2"
        );
        assert_eq!(
            error(2, &[0.0, 0.0, 0.0, f64::NAN], Manhattan).to_string(),
            "coordinate 1 of point 1 is NaN; coordinates must be finite"
        );
        assert!(error(1, &[0.0, f64::INFINITY], Cosine).to_string().contains("is inf"));
        let zero = error(2, &[1.0, 0.0, 0.0, -0.0], Cosine);
        assert!(matches!(zero, Error::ZeroVector { point: 1 }));
        assert_eq!(
            zero.to_string(),
            "point 1 has length 0, so its cosine distance is undefined; drop it or use another metric"
        );
    }

    #[test]
    fn points_too_close_for_their_squares_are_measured() {
        for unit in [1e-100, 1e-150, 1e-170, 1e-300] {
            let at = [0.0, 0.0, 3.0 * unit, 4.0 * unit, 1.0, 0.0].to_vec();
            let points = Points::new(2, at, PointMetric::Euclidean).unwrap();
            assert!((points.distance(0, 1) / unit - 5.0).abs() < 1e-12, "{unit}");
            let mut row = [f64::NAN; 3];
            points.distances_from(0, &[0, 1, 2], &mut row);
            assert_eq!(row, [0.0, points.distance(0, 1), 1.0]);
        }
    }

    #[test]
    fn points_too_far_apart_to_measure_are_named() {
        let far = error(1, &[-1e200, 0.0, 1e200], PointMetric::Euclidean);
        assert!(matches!(far, Error::BadDistance { from: 0, to: 2, value } if value.is_infinite()));
        let far = error(1, &[1.7e308, -1.7e308], PointMetric::Manhattan);
        assert!(matches!(far, Error::BadDistance { from: 0, to: 1, .. }));
        // Far from the origin is fine as long as the points are near each other.
        let near = Points::new(1, vec![1e200, 1e200], PointMetric::Euclidean).unwrap();
        assert_eq!(near.distance(0, 1), 0.0);
    }
}
