//! Estimates of W₁ between clouds, without a tree over their points.
//!
//! A tree over the points of all clouds has a leaf for each of them, and a new cloud needs new
//! leaves. Lines and partitions are defined on the whole space instead: a cloud becomes a row at
//! once, and columns are the same for every cloud, seen or new. [`Space::fit`] fits one weight for
//! each family to labels:
//!
//! - **lines**: W₁ of both clouds on a line, along directions or by the distance from landmarks
//!   (with periods); its mean over lines represents mass that moves far.
//! - **levels**: mass that leaves the cells of a partition at one scale: grids in up to three
//!   coordinates, nested k-means in more.
//! - **centers**: currents between centers that carry the mass, shares of the centers near a
//!   point, and moments within their cells.
//! - **plans** ([`SpaceMethod::Lifted`]): the cost of the lines' plans in the full metric, which is
//!   an upper bound of W₁, and lower bounds. They are not ℓ₁ distances of rows, cost several times
//!   as much, and certify an interval.
//!
//! Outside of the region that the fitted clouds cover, lines have the weight that makes their mean
//! the distance: the estimate for a cloud far away tends to its distance.
//!
//! ```
//! use treeport::space::SpaceOptions;
//! use treeport::{Clouds, Labeled, PointMetric, Space, silent};
//! // Forty clouds of three points of the plane.
//! let points: Vec<f64> = (0..240).map(|k| f64::from(k * k % 97) / 10.0).collect();
//! let clouds = Clouds::uniform(2, points, &(0..=40).map(|k| 3 * k).collect::<Vec<_>>())?;
//! let ground = clouds.ground(PointMetric::Euclidean)?;
//! let data = Labeled::sample(&ground, clouds.measures(), 100, 0, &silent)?;
//! let space = Space::fit(&clouds, PointMetric::Euclidean, &data, &SpaceOptions::default(), &silent)?;
//! // New clouds need nothing but their rows.
//! let new = Clouds::uniform(2, vec![0.0, 0.0, 3.0, 4.0], &[0, 1, 2])?;
//! let distance = space.prepare(&new, &silent)?.pairs(&[(0, 1)], &silent)?[0];
//! assert!((distance - 5.0).abs() < 1.5);
//! # Ok::<(), treeport::Error>(())
//! ```

pub(crate) mod centers;
mod embed;
mod lines;
mod partitions;
mod plans;
mod rows;
#[cfg(test)]
mod tests;

use crate::build::kmeans::ComparedVectors;
use crate::clouds::Clouds;
use crate::error::{Error, Result};
use crate::fit::family_weights;
use crate::labeled::Labeled;
use crate::memory;
use crate::metric::{Geometry, GroundMetric, Norm, PointMetric};
use crate::names::named;
use crate::numeric::seed::{generator, mixed};
use crate::progress::tasks::{DISTANCES, INDEXING};
use crate::progress::{Counter, Progress};
pub(crate) use crate::space::centers::Centers;
pub(crate) use crate::space::lines::Lines;
pub(crate) use crate::space::partitions::Partition;
use crate::space::partitions::candidates;
#[cfg(feature = "io")]
pub(crate) use crate::space::partitions::{Cells, GRIDS, Grid};
use crate::space::plans::add_plans;
pub(crate) use crate::space::rows::Features;
use crate::space::rows::{
    CENTERS, FEATURES, INSIDE, LARGEST, LEAST_OF_CELLS, LEAST_OF_LINES, LEVELS, MEAN_OF_CELLS,
    MEAN_OF_LINES, MEANS, OUTSIDE, Row,
};
use crate::tools::parallel;

/// Methods that estimate W₁ between clouds by lines and partitions of the space, without a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpaceMethod {
    /// Lines and levels, which are ℓ₁ distances of rows.
    #[default]
    Space,
    /// Lines, levels, plans of lines and two lower bounds; clamped to the certified interval.
    Lifted,
    /// Lines and their plans (Nguyen, Nguyen, Ho 2026), for comparison.
    Rg,
}

named! { SpaceMethod, "the method of clouds", {
    Space: "space", "transport along lines and between cells of the whole space, with weights that fit the labels";
    Lifted: "lifted", "the same, with the plans of lines in the full metric and lower bounds: half the error, certified intervals, several times the time";
    Rg: "rg", "regression on sliced and lifted-sliced transport (Nguyen, Nguyen, Ho, ICLR 2026)";
} }

/// Options of [`Space::fit`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpaceOptions {
    /// Method of estimation (default: [`SpaceMethod::Space`]).
    pub method: SpaceMethod,
    /// Seed of lines, partitions and the cross-validation (default: 0).
    pub seed: u64,
}

/// A model of W₁ between clouds, with the same columns for every cloud.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    pub(crate) geometry: Geometry,
    /// Number of coordinates of a point.
    pub(crate) dim: usize,
    /// Number of entries of the vectors that distances are computed from.
    pub(crate) vector_dim: usize,
    pub(crate) halves: Option<Vec<f64>>,
    pub(crate) method: SpaceMethod,
    pub(crate) lines: Lines,
    pub(crate) partitions: Vec<Partition>,
    /// `None` for `rg`, on a line, and if all points are one.
    pub(crate) centers: Option<Centers>,
    pub(crate) weights: Features,
    pub(crate) error: f64,
}

/// Name of the allocation in memory errors.
const STEP: &str = "the rows of all clouds";
const INSTEAD: &str = "take some of the clouds at a time";

impl Space {
    /// Fits weights to labels of clouds: pairs of `clouds.measures()`.
    ///
    /// Where there are several ways to divide the space, cross-validation chooses one.
    ///
    /// # Errors
    /// No labels, or all are 0; labels of other measures; squared Euclidean distances; a cloud
    /// without mass; points so far apart that squared distances overflow; errors of
    /// [`Clouds::ground`]; not enough memory; [`Error::Canceled`] if `progress` cancels.
    ///
    /// # Complexity
    /// O(n log n) for each cloud in a label and each line, O(n) for each pair; the labels
    /// themselves take longer.
    pub fn fit(
        clouds: &Clouds,
        geometry: impl Into<Geometry>,
        data: &Labeled,
        options: &SpaceOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        clouds.check_without_essential()?;
        data.check_for(clouds.points())?;
        if data.measures() != clouds.measures() {
            return Err(Error::Shape {
                what: "the measures of the labels".into(),
                expected: "those of the clouds".into(),
                found: "others".into(),
            });
        }
        data.check_above_zero()?;
        let mut used: Vec<usize> = data.pairs().iter().flat_map(|&(i, j)| [i, j]).collect();
        used.sort_unstable();
        used.dedup();
        let (mut space, ground) = Self::unfitted(clouds, geometry.into(), options)?;
        let points = vectors(clouds, &ground)?;
        let mut rng = generator(mixed(options.seed, 1));
        let mut best: Option<Self> = None;
        for (k, partitions) in candidates(&space, points, &mut rng).into_iter().enumerate() {
            space.partitions = partitions;
            let rows = space.rows(clouds, &ground, &used, progress)?;
            if k == 0 {
                for (at, row) in rows.iter().enumerate() {
                    (0..space.lines.len())
                        .for_each(|line| space.lines.cover(line, row.values(line), at == 0));
                }
            }
            space.fit_weights(&rows, &used, data, options.seed, progress)?;
            // Also if one has no error, because there is one label.
            if best.as_ref().is_none_or(|best| space.error < best.error) {
                best = Some(space.clone());
            }
        }
        Ok(best.unwrap_or(space))
    }

    /// Creates a space with its lines, and the metric of the clouds' points.
    fn unfitted(
        clouds: &Clouds,
        geometry: Geometry,
        options: &SpaceOptions,
    ) -> Result<(Self, GroundMetric)> {
        let metric = geometry.metric;
        if metric == PointMetric::SqEuclidean {
            return Err(Error::BadOption {
                option: "metric",
                value: metric.to_string(),
                expected: "lines and cells estimate distances, not their squares; take euclidean",
            });
        }
        let ground = clouds.ground(geometry.clone())?;
        let points = vectors(clouds, &ground)?;
        let halves = geometry.half_periods(clouds.dim())?;
        let vector_dim = ground.vectors().map_or(clouds.dim(), |of| of.0);
        let lines = Lines { landmarks: false, vectors: vec![], regions: vec![], outside: None };
        let mut space = Self {
            geometry,
            dim: clouds.dim(),
            vector_dim,
            halves,
            method: options.method,
            lines,
            partitions: Vec::new(),
            centers: None,
            weights: [0.0; FEATURES],
            error: f64::NAN,
        };
        let rng = &mut generator(mixed(options.seed, 0));
        space.lines = if space.halves.is_some() {
            Lines::landmarks(&space, points, rng)
        } else {
            let (norm, bounded) = (metric.norm().unwrap_or(Norm::L2), metric.norm().is_none());
            Lines::directions(&space, norm, bounded, rng)
        };
        // On a line, its only slice is the distance.
        if options.method != SpaceMethod::Rg && (vector_dim > 1 || space.halves.is_some()) {
            let rng = &mut generator(mixed(options.seed, 2));
            space.centers = Centers::new(&space, points, rng);
        }
        Ok((space, ground))
    }

    /// Fits the weights to the features of the labels; `rows` are of the clouds in `used`.
    fn fit_weights(
        &mut self,
        rows: &[Row],
        used: &[usize],
        data: &Labeled,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let counter = Counter::new(DISTANCES, data.len(), progress);
        let row = |cloud: usize| &rows[used.partition_point(|&other| other < cloud)];
        let features = parallel::try_map(data.len(), |label| {
            counter.add(1)?;
            let (i, j) = data.pairs()[label];
            Ok(self.features(row(i), row(j)).0)
        })?;
        let columns = self.fitted_columns();
        let column = |&k: &usize| features.iter().map(|of| of[k]).collect::<Vec<f64>>();
        let (weights, error) = family_weights(columns.iter().map(column).collect(), data, seed)?;
        self.weights = [0.0; FEATURES];
        columns.iter().zip(weights).for_each(|(&k, weight)| self.weights[k] = weight);
        let inside = self.weights[INSIDE];
        self.weights[OUTSIDE] = match self.lines.outside {
            Some(outside) if self.method == SpaceMethod::Space => outside,
            _ => inside,
        };
        self.error = error;
        Ok(())
    }

    /// Returns the features whose weights are fitted.
    fn fitted_columns(&self) -> Vec<usize> {
        if self.method == SpaceMethod::Rg {
            return vec![INSIDE, MEAN_OF_LINES];
        }
        let levels = self.partitions.first().map_or(0, Partition::levels);
        let mut columns = vec![INSIDE];
        columns.extend(LEVELS.take(levels));
        if self.centers.is_some() {
            columns.extend(CENTERS);
        }
        if self.method == SpaceMethod::Lifted {
            columns.extend([
                MEAN_OF_LINES,
                LEAST_OF_LINES,
                MEAN_OF_CELLS,
                LEAST_OF_CELLS,
                LARGEST,
                MEANS,
            ]);
        }
        columns
    }

    /// Computes the features of two clouds and, with plans, certified bounds.
    fn features(&self, a: &Row, b: &Row) -> (Features, [f64; 2]) {
        let mut features = a.features(b, self);
        let bounds = add_plans(a, b, self, &mut features);
        (features, bounds)
    }

    /// Estimates the distance of two clouds; returns it with its certified bounds, infinitely wide
    /// without plans.
    fn estimate(&self, a: &Row, b: &Row) -> (f64, [f64; 2]) {
        let (features, bounds) = self.features(a, b);
        let sum: f64 = features.iter().zip(&self.weights).map(|(f, w)| f * w).sum();
        let clamped =
            if self.method == SpaceMethod::Lifted { sum.clamp(bounds[0], bounds[1]) } else { sum };
        (clamped, bounds)
    }

    /// Returns whether rows need the points of clouds.
    fn has_plans(&self) -> bool {
        self.method != SpaceMethod::Space
    }

    /// Computes the rows of the given clouds.
    fn rows(
        &self,
        clouds: &Clouds,
        ground: &GroundMetric,
        some: &[usize],
        progress: &Progress<'_>,
    ) -> Result<Vec<Row>> {
        let points: usize = some.iter().map(|&cloud| clouds.range(cloud).len()).sum();
        let (lines, partitions) = (self.lines.len(), self.partitions.len());
        let plan = if self.has_plans() {
            8 * (self.vector_dim + 1) + 4 * lines + 32 * partitions
        } else {
            0
        };
        let bytes = 16 * lines + 32 * partitions + plan;
        let centered = 8 * self.centers.as_ref().map_or(0, Centers::columns);
        let all = points.saturating_mul(bytes).saturating_add(some.len().saturating_mul(centered));
        memory::check(STEP, memory::size_of::<u8>(&[all]), INSTEAD)?;
        let vectors = vectors(clouds, ground)?;
        let counter = Counter::new(INDEXING, some.len(), progress);
        parallel::try_map(some.len(), |k| {
            counter.add(1)?;
            Ok(Row::new(self, &clouds.measures().row(some[k]), vectors))
        })
    }

    /// Computes the rows of clouds, seen or new; `progress` counts clouds.
    ///
    /// # Errors
    /// Points with another number of coordinates than those of the fit, or so far apart that squared
    /// distances overflow; a cloud without mass; errors of [`Clouds::ground`]; not enough memory;
    /// [`Error::Canceled`].
    pub fn prepare(&self, clouds: &Clouds, progress: &Progress<'_>) -> Result<PreparedClouds<'_>> {
        if clouds.dim() != self.dim {
            return Err(Error::Shape {
                what: "each point of the clouds".into(),
                expected: format!("{} coordinates, like those of the fit", self.dim),
                found: format!("{}", clouds.dim()),
            });
        }
        clouds.check_without_essential()?;
        let clouds = clouds.clone().with_mass()?;
        let ground = clouds.ground(self.geometry.clone())?;
        let all: Vec<usize> = (0..clouds.len()).collect();
        let rows = self.rows(&clouds, &ground, &all, progress)?;
        Ok(PreparedClouds { space: self, rows, clouds })
    }

    /// Returns the method.
    pub fn method(&self) -> SpaceMethod {
        self.method
    }

    /// Returns the metric of the points.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Returns the number of coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the mean relative error of the cross-validation on the labels of the fit; NaN for
    /// one label.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// Returns whether a fit with a metric makes vectors of `vector_dim` entries from points of `dim`
    /// coordinates.
    #[cfg(feature = "io")]
    pub(crate) fn are_dims(metric: PointMetric, dim: usize, vector_dim: usize) -> bool {
        match metric {
            PointMetric::SqEuclidean => false,
            PointMetric::Haversine => (dim, vector_dim) == (2, 3),
            _ => dim == vector_dim && dim > 0,
        }
    }

    /// Returns whether all parts fit each other, as after a fit; a file may hold anything.
    #[cfg(feature = "io")]
    pub(crate) fn is_sound(&self) -> bool {
        let are_weights = |all: &[f64]| all.iter().all(|w| w.is_finite() && *w >= 0.0);
        Self::are_dims(self.geometry.metric, self.dim, self.vector_dim)
            && are_weights(&self.weights)
            && self.lines.is_sound(self)
            && self.partitions.iter().all(|partition| partition.is_sound(self.vector_dim))
    }

    /// Computes the distance of two vectors.
    pub(crate) fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        self.geometry.metric.between(x, y, self.halves.as_deref())
    }

    /// Returns vectors with the metric, for cells.
    fn compared<'a>(&'a self, vectors: &'a [f64]) -> ComparedVectors<'a> {
        let halves = self.halves.as_deref();
        ComparedVectors::new(self.geometry.metric, self.vector_dim, vectors, halves)
    }
}

/// Returns the vectors that distances of the clouds' points are computed from.
///
/// # Errors
/// Points so far apart that squared distances overflow: the metric is then a matrix.
fn vectors<'a>(clouds: &Clouds, ground: &'a GroundMetric) -> Result<&'a [f64]> {
    ground.vectors().map(|of| of.1).ok_or_else(|| clouds.too_far())
}

/// Clouds with their rows.
#[derive(Clone, Debug)]
pub struct PreparedClouds<'a> {
    space: &'a Space,
    rows: Vec<Row>,
    clouds: Clouds,
}

impl PreparedClouds<'_> {
    /// Returns the clouds.
    pub fn clouds(&self) -> &Clouds {
        &self.clouds
    }

    /// Estimates the distances of pairs of clouds, in parallel; the same for any number of threads.
    ///
    /// # Errors
    /// A cloud that does not exist; clouds of unequal mass; [`Error::Canceled`].
    pub fn pairs(&self, pairs: &[(usize, usize)], progress: &Progress<'_>) -> Result<Vec<f64>> {
        Ok(self.estimates(pairs, progress)?.into_iter().map(|of| of.0).collect())
    }

    /// Estimates the distances of pairs with a certified interval for each: lower bound, estimate
    /// within it, upper bound.
    ///
    /// # Errors
    /// The method has no plans ([`SpaceMethod::Space`]); see also [`pairs`](Self::pairs).
    pub fn intervals(
        &self,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<[f64; 3]>> {
        if !self.space.has_plans() {
            return Err(Error::BadOption {
                option: "method",
                value: self.space.method.to_string(),
                expected: "it has no plans, so no bounds; fit `lifted`",
            });
        }
        let interval = |(value, [low, high]): (f64, [f64; 2])| [low, value.clamp(low, high), high];
        Ok(self.estimates(pairs, progress)?.into_iter().map(interval).collect())
    }

    fn estimates(
        &self,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<(f64, [f64; 2])>> {
        self.clouds.check_pairs(pairs)?;
        let counter = Counter::new(DISTANCES, pairs.len(), progress);
        parallel::try_map(pairs.len(), |at| {
            counter.add(1)?;
            let (i, j) = pairs[at];
            Ok(self.space.estimate(&self.rows[i], &self.rows[j]))
        })
    }

    /// Estimates the distances from every cloud to every cloud of another set prepared by the same
    /// space, row by row, in parallel; progress counts rows.
    ///
    /// # Errors
    /// Clouds of unequal mass; not enough memory; [`Error::Canceled`].
    ///
    /// # Panics
    /// If the other set was prepared by another space.
    pub fn cross(&self, other: &Self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        assert!(self.space == other.space, "both sets must be prepared by one space");
        self.clouds.check_balanced(Some(&other.clouds))?;
        let columns = other.rows.len();
        let mut table = memory::zeros(TABLE, self.rows.len() * columns, INSTEAD)?;
        let counter = Counter::new(DISTANCES, self.rows.len(), progress);
        let rows = table.chunks_mut(columns.max(1)).zip(&self.rows);
        parallel::try_for_each(rows, |(out, row)| {
            counter.add(1)?;
            for (out, column) in out.iter_mut().zip(&other.rows) {
                *out = self.space.estimate(row, column).0;
            }
            Ok(())
        })?;
        Ok(table)
    }

    /// Estimates the distances of all pairs, in parallel: a symmetric matrix, row by row; progress
    /// counts rows.
    ///
    /// # Errors
    /// See [`cross`](Self::cross).
    pub fn pairwise(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.clouds.check_balanced(None)?;
        let n = self.rows.len();
        let mut table = memory::zeros(TABLE, n * n, INSTEAD)?;
        let counter = Counter::new(DISTANCES, n, progress);
        parallel::try_for_each(table.chunks_mut(n.max(1)).enumerate(), |(i, out)| {
            counter.add(1)?;
            for (j, out) in out.iter_mut().enumerate().take(i) {
                *out = self.space.estimate(&self.rows[i], &self.rows[j]).0;
            }
            Ok(())
        })?;
        for i in 0..n {
            for j in 0..i {
                table[j * n + i] = table[i * n + j];
            }
        }
        Ok(table)
    }
}

/// Name of tables in memory errors.
const TABLE: &str = "the table of distances";
