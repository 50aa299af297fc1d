//! Points with coordinates, and the vectors that their distances are computed from.

use std::sync::OnceLock;

use super::period::{self, wrapped};
use super::{Geometry, Norm, Period, PointMetric, Vectors};
use crate::error::{Error, Result, show_shape};
use crate::memory;
use crate::metric::check_count;
use crate::metric::kernels::rounded::SinglePrecisionCopy;

/// Distances computed in parallel lanes, which hides the latency of sums.
const LANES: usize = 4;

/// Limit below which differences of entries have finite squares and sums of squares.
const NEAR: f64 = 1e140;

/// Finite vectors of equal length, and their metric.
#[derive(Clone)]
pub(crate) struct Points {
    pub(crate) metric: PointMetric,
    /// Original coordinates, and their number per point.
    pub(crate) coordinates: Vec<f64>,
    pub(crate) coordinate_dim: usize,
    /// Vectors that distances are computed from, if they are not the coordinates, and their length.
    vectors: Option<Vec<f64>>,
    pub(crate) dim: usize,
    /// Original periods, if a coordinate has one.
    pub(crate) period: Option<Period>,
    /// Half the period of every coordinate, infinite for those without; `None` if all are infinite.
    /// Vectors are wrapped by it, so that several sets of points are comparable.
    coordinate_halves: Option<Vec<f64>>,
    /// Half periods that affect distances between these points; infinite for other coordinates.
    halves: Option<Vec<f64>>,
    /// Vectors in single precision, once computed for bounds.
    single_precision: OnceLock<Option<SinglePrecisionCopy>>,
}

impl Points {
    pub(crate) fn new(dim: usize, coordinates: Vec<f64>, geometry: Geometry) -> Result<Self> {
        let metric = geometry.metric;
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
        check_count(coordinates.len() / dim)?;
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let value = coordinates[at];
            return Err(Error::BadCoordinate { point: at / dim, axis: at % dim, value });
        }
        let coordinate_halves = geometry.half_periods(dim)?;
        let period = geometry.period.filter(|_| coordinate_halves.is_some());
        let coordinate_dim = dim;
        let vectors = match &coordinate_halves {
            Some(halves) => Some(Vectors { dim, entries: wrap(&coordinates, halves)? }),
            None => metric.vectors(dim, &coordinates)?,
        };
        let halves =
            coordinate_halves.as_ref().zip(vectors.as_ref()).and_then(|(halves, vectors)| {
                period::relevant_halves(halves, vectors.entries.chunks_exact(dim))
            });
        let dim = vectors.as_ref().map_or(coordinate_dim, |vectors| vectors.dim);
        let vectors = vectors.map(|vectors| vectors.entries);
        let single_precision = OnceLock::new();
        let points = Self {
            metric,
            coordinates,
            coordinate_dim,
            vectors,
            dim,
            period,
            coordinate_halves,
            halves,
            single_precision,
        };
        points.check_extent()?;
        Ok(points)
    }

    pub(crate) fn len(&self) -> usize {
        self.coordinates.len() / self.coordinate_dim
    }

    /// Returns the vectors that distances are computed from.
    pub(crate) fn vectors(&self) -> &[f64] {
        self.vectors.as_ref().unwrap_or(&self.coordinates)
    }

    /// Returns the half periods of coordinates, infinite for those without, or `None` if there are
    /// none. They also apply to distances to other points.
    pub(crate) fn coordinate_halves(&self) -> Option<&[f64]> {
        self.coordinate_halves.as_deref()
    }

    /// Returns half periods that affect distances of these points, infinite for others.
    pub(crate) fn halves(&self) -> Option<&[f64]> {
        self.halves.as_deref()
    }

    /// Returns the half periods that affect distances among the given points, or `None`.
    pub(crate) fn halves_among(&self, some: impl Iterator<Item = usize>) -> Option<Vec<f64>> {
        period::relevant_halves(self.halves()?, some.map(|i| self.vector(i)))
    }

    /// Returns whether inner products can replace differences.
    pub(crate) fn supports_products(&self) -> bool {
        self.metric.kernel().supports_products() && self.halves.is_none()
    }

    pub(crate) fn vector(&self, i: usize) -> &[f64] {
        &self.vectors()[i * self.dim..(i + 1) * self.dim]
    }

    /// Returns all points in single precision, computed at the first call.
    pub(crate) fn single_precision(&self, norm: Norm) -> Option<&SinglePrecisionCopy> {
        self.single_precision.get_or_init(|| SinglePrecisionCopy::new(self, norm)).as_ref()
    }

    pub(crate) fn distance(&self, i: usize, j: usize) -> f64 {
        self.metric.between(self.vector(i), self.vector(j), self.coordinate_halves())
    }

    /// Computes the distances from one point, bit for bit those of [`Points::distance`].
    pub(crate) fn distances_from(&self, i: usize, to: &[u32], out: &mut [f64]) {
        let x = self.vector(i);
        let vector = |j: u32| self.vector(j as usize);
        let ((fours, rest), (out, out_rest)) =
            (to.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
        for (to, out) in fours.iter().zip(out) {
            *out = self.metric.between_several(x, to.map(vector), self.coordinate_halves());
        }
        for (&j, out) in rest.iter().zip(out_rest) {
            *out = self.metric.between(x, vector(j), self.coordinate_halves());
        }
    }

    /// Checks that no distance, nor an intermediate result, overflows.
    fn check_extent(&self) -> Result<()> {
        let largest = self.vectors().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        if largest < NEAR {
            return Ok(());
        }
        let (low, high) = period::bounding_box(self.dim, self.vectors().chunks_exact(self.dim));
        let extent = self.metric.kernel().sum(&low, &high);
        // Norms and inner products of centered points are below four times the square.
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

/// Wraps coordinates into half their periods.
fn wrap(coordinates: &[f64], halves: &[f64]) -> Result<Vec<f64>> {
    let step = "coordinates within their periods";
    memory::check(step, memory::size_of::<f64>(&[coordinates.len()]), "give fewer points")?;
    let mut all = memory::with_capacity(step, coordinates.len(), "give fewer points")?;
    all.extend(coordinates.iter().zip(halves.iter().cycle()).map(|(&x, &half)| wrapped(x, half)));
    Ok(all)
}
