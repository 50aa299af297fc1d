//! Ground metrics: distances between points from coordinates, a matrix, or a graph.
//!
//! All kinds of [`GroundMetric`] have the same methods and know whether the triangle inequality is
//! guaranteed. Constructors check every entry once; later code does not check again.

#![expect(clippy::missing_errors_doc, reason = "errors name the wrong number and its place")]

mod bounded_search;
mod components;
#[doc(hidden)]
pub mod condensed;
mod distances;
mod graph;
mod grid;
mod hierarchy;
pub(crate) mod kernels;
mod matrix;
mod network;
mod overflow;
mod paths;
mod points;
mod triangles;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

pub use components::Components;
pub(crate) use components::Share;
pub use grid::Grid;
pub use matrix::Storage;
pub use points::{Geometry, MapCoordinates, Period, PointMetric};

use crate::error::{Error, Result};
use crate::measures::MAX_POINTS;
use crate::memory;
pub(crate) use distances::for_each_row;
use graph::Graph;
use hierarchy::Hierarchy;
pub(crate) use hierarchy::HubLabels;
pub(crate) use kernels::lowered_targets::{LoweredOrigins, LoweredTargets};
use kernels::pairs;
use kernels::point_layout::PointLayout;
pub(crate) use kernels::single::{FAR, LoweredDistances, LoweredTable, lowered};
pub(crate) use kernels::sums::Kernel;
pub(crate) use network::{Network, SpanningTree, lightest};
use points::Points;
pub(crate) use points::{Norm, period};

/// Distances between the points `0..points()`: symmetric, at least 0, and 0 from a point to itself.
///
/// Different points may have distance 0. Clones share their data and are cheap; results that are
/// cached in one of them ([`materialize`](Self::materialize), single linkage) are available in all.
#[derive(Clone)]
pub struct GroundMetric {
    shared: Arc<Shared>,
    /// Whether the triangle inequality is guaranteed.
    metric: bool,
}

/// Workspace for blocks of distances from a set of points of one metric; the first block of another
/// metric replaces it. The weak reference keeps the metric's address from being reused, but not the
/// points.
#[derive(Clone, Default)]
pub(crate) struct BlockCache {
    metric: Weak<Shared>,
    laid_out: PointLayout,
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockCache").finish_non_exhaustive()
    }
}

struct Shared {
    source: Source,
    cache: Cache,
}

/// Results that are computed at the first call that needs them.
#[derive(Default)]
struct Cache {
    /// All distances of a graph.
    table: OnceLock<Storage>,
    /// Lower bounds, in single precision, of the distances of a matrix or of the table of a graph.
    lowered: OnceLock<Option<LoweredTable>>,
    /// A minimum spanning tree as (weight, ends).
    spanning: OnceLock<Vec<(f64, (u32, u32))>>,
    /// Contraction hierarchy of a graph.
    hierarchy: OnceLock<Hierarchy>,
    /// Spanning tree that is the initial basis of exact transport on the edges of a graph.
    start: OnceLock<SpanningTree>,
}

enum Source {
    Points(Points),
    Matrix(usize, Storage),
    Graph(Graph),
    /// This number of points with pairwise distance 1.
    Discrete(usize),
}

impl GroundMetric {
    /// Creates a metric from points with `dim` coordinates each, one point after the other.
    ///
    /// # Errors
    /// No points; a length that is not a multiple of `dim`; a coordinate that is not finite; points
    /// so far apart that their distance overflows; coordinates that are invalid for the metric; an
    /// invalid period ([`Error::BadOption`]).
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, PointMetric};
    /// let metric = GroundMetric::from_points(2, vec![0.0, 0.0, 3.0, 4.0], PointMetric::Euclidean)?;
    /// assert_eq!(metric.distance(0, 1), 5.0);
    /// assert!(metric.is_metric());
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_points(
        dim: usize,
        coordinates: Vec<f64>,
        geometry: impl Into<Geometry>,
    ) -> Result<Self> {
        let geometry = geometry.into();
        if let Some(distances) = overflow::distances(dim, &coordinates, &geometry)? {
            return Self::from_condensed(coordinates.len() / dim, distances);
        }
        let is_metric = geometry.metric.is_metric();
        let points = Points::new(dim, coordinates, geometry)?;
        Ok(Self::of(Source::Points(points), is_metric))
    }

    /// Creates a metric from the upper triangle of a matrix, row by row, as SciPy's `pdist` returns
    /// it.
    ///
    /// # Errors
    /// A length other than n(n − 1)/2, or a distance that is negative or not finite.
    ///
    /// # Example
    /// ```
    /// let metric = treeport::GroundMetric::from_condensed(3, vec![1.0, 4.0, 5.0])?;
    /// assert_eq!(metric.distance(2, 0), 4.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_condensed(n: usize, distances: Vec<f64>) -> Result<Self> {
        matrix::check_condensed(n, &distances)?;
        Ok(Self::matrix_of(n, Storage::F64(distances)))
    }

    /// Creates a metric from an upper triangle in single precision, which needs half the memory of
    /// [`from_condensed`](Self::from_condensed).
    pub fn from_condensed_f32(n: usize, distances: Vec<f32>) -> Result<Self> {
        matrix::check_condensed(n, &distances)?;
        Ok(Self::matrix_of(n, Storage::F32(distances)))
    }

    /// Creates a metric from a square matrix, row by row, and stores the mean of its two triangles.
    ///
    /// # Errors
    /// A length other than n²; an entry that is negative or not finite; a diagonal that is not 0;
    /// mirrored entries that differ by more than 10⁻⁶ of the largest distance.
    pub fn from_square(n: usize, square: &[f64]) -> Result<Self> {
        Ok(Self::matrix_of(n, Storage::F64(matrix::from_square(n, square, |d| d)?)))
    }

    /// Creates a metric from a square matrix in single precision; see
    /// [`from_square`](Self::from_square).
    pub fn from_square_f32(n: usize, square: &[f32]) -> Result<Self> {
        Ok(Self::matrix_of(n, Storage::F32(matrix::from_square(n, square, |d| d as f32)?)))
    }

    pub(crate) fn matrix_of(n: usize, storage: Storage) -> Self {
        Self::of(Source::Matrix(n, storage), false)
    }

    fn of(source: Source, metric: bool) -> Self {
        Self { shared: Arc::new(Shared { source, cache: Cache::default() }), metric }
    }

    /// Creates the metric of shortest paths in an undirected graph of `n` nodes.
    ///
    /// The lightest of parallel edges counts; loops are ignored.
    ///
    /// # Errors
    /// A node out of range; a weight that is negative or not finite; a graph that is not connected.
    ///
    /// # Example
    /// ```
    /// let metric = treeport::GroundMetric::from_edges(3, &[(0, 1, 2.0), (1, 2, 0.5)])?;
    /// assert_eq!(metric.distance(0, 2), 2.5);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_edges(n: usize, edges: &[(usize, usize, f64)]) -> Result<Self> {
        Ok(Self::of(Source::Graph(Graph::new(n, edges)?), true))
    }

    /// Creates the discrete metric: `n` points with pairwise distance 1. Transport is then the
    /// total variation.
    ///
    /// # Example
    /// ```
    /// assert_eq!(treeport::GroundMetric::discrete(3)?.distance(0, 2), 1.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn discrete(n: usize) -> Result<Self> {
        check_count(n)?;
        Ok(Self::of(Source::Discrete(n), true))
    }

    /// Returns whether this is the discrete metric.
    pub fn is_discrete(&self) -> bool {
        matches!(self.shared.source, Source::Discrete(_))
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        match &self.shared.source {
            Source::Points(points) => points.len(),
            Source::Matrix(n, _) | Source::Discrete(n) => *n,
            Source::Graph(graph) => graph.len(),
        }
    }

    /// Returns whether distances between points of the two metrics are defined: coordinates of one
    /// space, the same metric and the same periods.
    pub(crate) fn shares_space(&self, other: &Self) -> bool {
        let (Some(one), Some(other)) = (self.as_points(), other.as_points()) else { return false };
        (one.coordinate_dim, one.metric) == (other.coordinate_dim, other.metric)
            && one.coordinate_halves() == other.coordinate_halves()
    }

    /// Creates a metric of other points with the same geometry.
    pub(crate) fn with_points(&self, coordinates: Vec<f64>) -> Result<Self> {
        let points =
            self.as_points().ok_or(Error::NoCoordinates { method: "a search of clouds" })?;
        let geometry = points.metric.with_optional_period(points.period.clone());
        Self::from_points(points.coordinate_dim, coordinates, geometry)
    }

    /// Creates a metric of one dummy point: a metric needs at least one point.
    pub(crate) fn one_point(&self) -> Result<Self> {
        // All coordinates are 1, because the cosine distance of 0 is undefined.
        self.with_points(vec![1.0; self.coordinates().map_or(1, |of| of.0)])
    }

    /// Creates the metric of the given points of this metric, then of those of another one.
    pub(crate) fn joined(&self, some: &[u32], other: &Self, others: &[u32]) -> Result<Self> {
        let count = some.len() + others.len();
        let step = format_args!("the coordinates of {count} points");
        let dim = self.coordinates().map_or(0, |of| of.0);
        let mut coordinates = memory::with_capacity(step, count.saturating_mul(dim), FEWER)?;
        for (metric, some) in [(self, some), (other, others)] {
            let Some(points) = metric.as_points() else { continue };
            for &i in some {
                let first = i as usize * points.coordinate_dim;
                coordinates
                    .extend_from_slice(&points.coordinates[first..][..points.coordinate_dim]);
            }
        }
        self.with_points(coordinates)
    }

    /// Returns all distances as a matrix that keeps the guarantee of the triangle inequality, if
    /// there is one.
    pub fn materialized(&self) -> Result<Self> {
        if matches!(self.shared.source, Source::Matrix(..)) {
            return Ok(self.clone());
        }
        let table = Storage::F64(self.condensed()?);
        Ok(Self::of(Source::Matrix(self.points(), table), self.metric))
    }

    /// Returns all distances in condensed order, if they are stored.
    fn storage(&self) -> Option<&Storage> {
        match &self.shared.source {
            Source::Matrix(_, storage) => Some(storage),
            Source::Graph(_) => self.shared.cache.table.get(),
            Source::Points(_) | Source::Discrete(_) => None,
        }
    }

    /// Returns a minimum spanning tree as (weight, ends), which `find` computes at the first call.
    pub(crate) fn spanning_tree(
        &self,
        find: impl FnOnce() -> Result<Vec<(f64, (u32, u32))>>,
    ) -> Result<&[(f64, (u32, u32))]> {
        let spanning = &self.shared.cache.spanning;
        if let Some(found) = spanning.get() {
            return Ok(found);
        }
        // Outside of the cell; `materialize` has the reason.
        let found = find()?;
        Ok(spanning.get_or_init(|| found))
    }

    /// Returns whether the triangle inequality is guaranteed.
    ///
    /// It is for graphs, for points if their [metric](PointMetric::is_metric) guarantees it, and
    /// for a matrix only after [`assume_metric`](Self::assume_metric).
    pub fn is_metric(&self) -> bool {
        self.metric
    }

    /// Returns this metric with the caller's guarantee that the triangle inequality holds.
    ///
    /// The guarantee is tested, not proved: all triangles of up to a hundred points; for more
    /// points a fixed random sample of triangles, and some around the longest distances.
    ///
    /// # Errors
    /// [`Error::NotMetric`], with a triangle that violates it by more than 10⁻⁶ of its longest
    /// side.
    ///
    /// # Complexity
    /// O(N), at most about 10⁶ distances.
    pub fn assume_metric(self) -> Result<Self> {
        if matches!(self.shared.source, Source::Matrix(..) | Source::Points(_)) && !self.metric {
            triangles::check(self.points(), |i, j| self.distance(i, j))?;
        }
        Ok(Self { metric: true, ..self })
    }

    fn as_points(&self) -> Option<&Points> {
        if let Source::Points(points) = &self.shared.source { Some(points) } else { None }
    }

    fn as_graph(&self) -> Option<&Graph> {
        if let Source::Graph(graph) = &self.shared.source { Some(graph) } else { None }
    }

    /// Returns the number of coordinates per point and all coordinates, if there are any.
    pub fn coordinates(&self) -> Option<(usize, &[f64])> {
        self.as_points().map(|points| (points.coordinate_dim, &points.coordinates[..]))
    }

    /// Returns the vectors that distances are computed from: the coordinates, transformed by the
    /// [metric](PointMetric) or wrapped by the [periods](Self::half_periods).
    pub(crate) fn vectors(&self) -> Option<(usize, &[f64])> {
        self.as_points().map(|points| (points.dim, points.vectors()))
    }

    /// Returns the metric of the coordinates, if there are any.
    pub fn point_metric(&self) -> Option<PointMetric> {
        self.as_points().map(|points| points.metric)
    }

    /// Returns the periods of the coordinates, if any of them has one.
    pub fn period(&self) -> Option<&Period> {
        self.as_points()?.period.as_ref()
    }

    /// Returns half the period of every coordinate of the [vectors](Self::vectors), which lie
    /// between −half and half. It is infinite for a coordinate without a period or along which no
    /// two points are farther apart than half of it; `None` if all are infinite. Code that computes
    /// with vectors must take it into account.
    pub(crate) fn half_periods(&self) -> Option<&[f64]> {
        self.as_points()?.halves()
    }

    /// Returns the half periods that affect distances among the given points, or `None`.
    pub(crate) fn half_periods_among(
        &self,
        points: impl Iterator<Item = usize>,
    ) -> Option<Vec<f64>> {
        self.as_points()?.halves_among(points)
    }

    /// Returns the edges of the graph, if this is one: smaller node first, sorted, each pair once.
    pub fn edges(&self) -> Option<&[(u32, u32, f64)]> {
        self.as_graph().map(|graph| &graph.edges[..])
    }

    /// Returns the condensed matrix, if this is one.
    pub fn matrix(&self) -> Option<&Storage> {
        match &self.shared.source {
            Source::Matrix(_, storage) => Some(storage),
            _ => None,
        }
    }
}

impl fmt::Debug for GroundMetric {
    /// Describes the metric in a few words, without its numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.shared.source {
            Source::Points(points) => {
                let period = points.period.as_ref().map(|period| format!(", period {period}"));
                let period = period.unwrap_or_default();
                format!("{} in {} dimensions{period}", points.metric, points.coordinate_dim)
            }
            Source::Matrix(_, Storage::F32(_)) => "matrix of f32".to_owned(),
            Source::Matrix(_, Storage::F64(_)) => "matrix of f64".to_owned(),
            Source::Graph(graph) => format!("graph of {} edges", graph.edges.len()),
            Source::Discrete(_) => "all one apart".to_owned(),
        };
        write!(f, "GroundMetric({} points, {what})", self.points())
    }
}

/// Checks that there are points, and not too many for a tree.
pub(crate) fn check_count(points: usize) -> Result<()> {
    match points {
        0 => Err(Error::NoPoints),
        1..=MAX_POINTS => Ok(()),
        count => Err(Error::TooManyPoints { count, max: MAX_POINTS }),
    }
}

/// Advice if all distances do not fit into memory.
const FEWER: &str = "take fewer points, or the rows that are needed, one at a time";

/// Rounds a distance to single precision, at most the largest number.
pub(crate) fn single_precision(distance: f64) -> f32 {
    (distance as f32).min(f32::MAX)
}

#[cfg(test)]
mod tests;
