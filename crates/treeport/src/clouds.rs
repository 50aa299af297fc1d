//! Measures that bring their own points: patients of cells, jets of particles, images, diagrams.
//!
//! All points of all clouds are one ground set, one cloud after the other, and a cloud is a measure on its own
//! part of it. So whatever takes a ground metric and measures takes [`Clouds::ground`] and
//! [`Clouds::measures`]; only what would make a table of measures and points has to know the difference.

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::metric::{GroundMetric, PointMetric};

/// Many measures, each with points of its own.
///
/// Copies share everything, so they cost nothing.
///
/// # Example
/// ```
/// use treeport::{Clouds, PointMetric, Problems, silent};
/// // Two points, then three, in the plane.
/// let points = vec![0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 3.0, 1.0, 3.0, 2.0];
/// let clouds = Clouds::uniform(2, points, &[0, 2, 5])?;
/// let ground = clouds.ground(PointMetric::Euclidean)?;
/// let values = Problems::new(&ground, clouds.measures(), &[(0, 1)]).values(&silent)?;
/// assert!((values[0] - (2.0 * 3.0 + 10f64.sqrt()) / 3.0).abs() < 1e-12);
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Clouds {
    dim: usize,
    coordinates: Arc<Vec<f64>>,
    /// Where the points of each cloud begin, and where the last end.
    start: Arc<[usize]>,
    /// Cloud `r` as a measure on the points `start[r]..start[r + 1]` of all.
    measures: Measures,
}

impl Clouds {
    /// Cloud `r` has the points `start[r]..start[r + 1]` of those with `dim` coordinates each, and their masses.
    ///
    /// # Errors
    /// Bounds that do not fit, a coordinate or mass that is not finite, a negative mass, a cloud without
    /// mass, no points at all; the cloud is named by its number, the point by its place in that.
    pub fn new(dim: usize, coordinates: Vec<f64>, start: &[usize], masses: &[f64]) -> Result<Self> {
        let clouds = Self::or_empty(dim, coordinates, start, masses)?;
        clouds.measures.clone().with_mass()?;
        Ok(clouds)
    }

    /// As [`new`](Self::new), where clouds may have no mass or no points: for transport that may leave mass
    /// behind at a price.
    ///
    /// # Errors
    /// As [`new`](Self::new), but for such clouds.
    pub fn or_empty(
        dim: usize,
        coordinates: Vec<f64>,
        start: &[usize],
        masses: &[f64],
    ) -> Result<Self> {
        let fits = start.first() == Some(&0)
            && start.last().is_some_and(|&last| last.checked_mul(dim) == Some(coordinates.len()))
            && start.last() == Some(&masses.len())
            && start.is_sorted();
        if !fits || dim == 0 {
            return Err(Error::Shape {
                what: "the table of clouds".into(),
                expected: "bounds from 0 up to the number of points, never decreasing, and a mass for each".into(),
                found: format!(
                    "{} bounds, {} coordinates in rows of {dim}, {} masses",
                    start.len(),
                    coordinates.len(),
                    masses.len()
                ),
            });
        }
        let in_cloud = |at: usize| {
            let cloud = start.partition_point(|&first| first <= at) - 1;
            (cloud, at - start[cloud])
        };
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let (cloud, point) = in_cloud(at / dim);
            let source = Error::BadCoordinate { point, axis: at % dim, value: coordinates[at] };
            return Err(Error::Cloud { cloud, source: Box::new(source) });
        }
        let rows = start.windows(2).map(|w| (w[0]..w[1]).map(|at| (at, masses[at])));
        let measures =
            Measures::from_rows_or_empty(masses.len(), rows).map_err(|error| match error {
                Error::BadMass { measure, point, value } => {
                    Error::BadMass { measure, point: in_cloud(point).1, value }
                }
                other => other,
            })?;
        Ok(Self { dim, coordinates: Arc::new(coordinates), start: start.into(), measures })
    }

    /// Clouds whose points all have the same mass, 1 in all.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn uniform(dim: usize, coordinates: Vec<f64>, start: &[usize]) -> Result<Self> {
        let mut masses = Vec::new();
        for bounds in start.windows(2) {
            let count = bounds[1].saturating_sub(bounds[0]);
            masses.resize(masses.len() + count, 1.0 / count as f64);
        }
        Self::new(dim, coordinates, start, &masses)
    }

    /// The number of clouds.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// The number of coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of points of all clouds together.
    pub fn points(&self) -> usize {
        self.measures.points()
    }

    /// The coordinates of all points, one cloud after the other.
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates
    }

    /// The points of a cloud among all.
    pub fn range(&self, cloud: usize) -> Range<usize> {
        self.start[cloud]..self.start[cloud + 1]
    }

    /// Where the points of each cloud begin among all, and where the last end.
    pub fn starts(&self) -> &[usize] {
        &self.start
    }

    /// The clouds as measures on all points, with their names, if they have any.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// The ground metric of all points.
    ///
    /// # Errors
    /// As [`GroundMetric::from_points`], the point named by its cloud.
    pub fn ground(&self, metric: PointMetric) -> Result<GroundMetric> {
        GroundMetric::from_points(self.dim, self.coordinates.to_vec(), metric)
            .map_err(|error| self.placed(error))
    }

    /// An error about one of all points, by its place in its cloud.
    pub(crate) fn placed(&self, error: Error) -> Error {
        let place = |at: usize| {
            let cloud = self.start.partition_point(|&first| first <= at) - 1;
            (cloud, at - self.start[cloud])
        };
        let (cloud, source) = match error {
            Error::BadCoordinate { point, axis, value } => {
                let (cloud, point) = place(point);
                (cloud, Error::BadCoordinate { point, axis, value })
            }
            Error::BadDegrees { point, what, value } => {
                let (cloud, point) = place(point);
                (cloud, Error::BadDegrees { point, what, value })
            }
            Error::ZeroVector { point } => {
                let (cloud, point) = place(point);
                (cloud, Error::ZeroVector { point })
            }
            other => return other,
        };
        Error::Cloud { cloud, source: Box::new(source) }
    }

    /// Names the clouds; results carry these names.
    ///
    /// # Errors
    /// Another number of names than of clouds.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        Ok(Self { measures: self.measures.with_names(names)?, ..self })
    }

    /// Each cloud divided by its total, if that is above 0.
    #[must_use]
    pub fn normalized(self) -> Self {
        Self { measures: self.measures.normalized(), ..self }
    }

    /// Some of the clouds, with their names.
    ///
    /// # Errors
    /// A cloud that there is not.
    pub fn select(&self, clouds: &[usize]) -> Result<Self> {
        let (mut coordinates, mut masses, mut start) = (Vec::new(), Vec::new(), vec![0]);
        for &cloud in clouds {
            let measure = self.measures.get(cloud)?;
            let range = self.range(cloud);
            coordinates
                .extend_from_slice(&self.coordinates[range.start * self.dim..range.end * self.dim]);
            let first = masses.len();
            masses.resize(first + range.len(), 0.0);
            measure.iter().for_each(|(point, mass)| masses[first + point - range.start] = mass);
            start.push(masses.len());
        }
        let some = Self::or_empty(self.dim, coordinates, &start, &masses)?;
        match self.measures.names() {
            Some(names) => some.with_names(clouds.iter().map(|&at| names[at].clone()).collect()),
            None => Ok(some),
        }
    }

    /// These clouds, then others in the same space; their names are left out unless both have them.
    ///
    /// # Errors
    /// Clouds with another number of coordinates.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        if self.dim != other.dim {
            return Err(Error::Shape {
                what: "the points of the other clouds".into(),
                expected: format!("rows of {}", self.dim),
                found: format!("rows of {}", other.dim),
            });
        }
        let (own, points) = (self.points(), self.points() + other.points());
        let rows = self.measures.iter().map(|row| (0, row));
        let rows = rows.chain(other.measures.iter().map(|row| (own, row)));
        let rows = rows.map(|(first, row)| row.iter().map(move |(at, mass)| (first + at, mass)));
        let measures = Measures::from_rows_or_empty(points, rows)?;
        let others = other.start[1..].iter().map(|end| own + end);
        let all = Self {
            dim: self.dim,
            coordinates: Arc::new([self.coordinates(), other.coordinates()].concat()),
            start: self.start.iter().copied().chain(others).collect(),
            measures,
        };
        match (self.measures.names(), other.measures.names()) {
            (Some(ours), Some(theirs)) => all.with_names([ours, theirs].concat()),
            _ => Ok(all),
        }
    }
}
