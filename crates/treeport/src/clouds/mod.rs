//! Measures with points of their own: patients of cells, jets of particles, images, diagrams.
//!
//! The points of all clouds form one ground set, one cloud after the other; a cloud is a measure on
//! its own part of it. Code for a ground metric and measures therefore works on [`Clouds::ground`]
//! and [`Clouds::measures`]; only code that would build a table of measures × points must treat
//! clouds separately.

mod essential;
mod locator;
mod penalties;

use std::ops::Range;
use std::sync::Arc;

use crate::clouds::locator::CloudLocator;
use crate::clouds::penalties::CloudPenalties;
use crate::error::{Error, Result, cloud_name};
use crate::measures::Measures;
use crate::memory;
use crate::metric::{Geometry, GroundMetric};

/// Many measures, each with its own points.
///
/// Cloud `r` has the points `starts()[r]..starts()[r + 1]` of all, in the given order; points may
/// have no mass. Clones share their data and are cheap. Equality ignores names.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Clouds {
    dim: usize,
    coordinates: Arc<Vec<f64>>,
    /// First point of each cloud, then the end of the last.
    start: Arc<[usize]>,
    /// Cloud `r` as a measure on the points `start[r]..start[r + 1]` of all.
    measures: Measures,
    /// Cost per unit of mass left behind at each point, if set.
    pub(crate) penalties: Option<CloudPenalties>,
    /// Births of the points of each diagram that never die, in order, if any diagram has some.
    births: Option<Arc<[Vec<f64>]>>,
}

/// Name of the allocation in memory errors.
const STEP: &str = "the points of all clouds";
const INSTEAD: &str = "take some of the clouds at a time";

impl Clouds {
    /// Creates clouds: cloud `r` has the points `start[r]..start[r + 1]`, each with `dim`
    /// coordinates and a mass.
    ///
    /// # Errors
    /// Bounds that do not fit; a coordinate or mass that is not finite; a negative mass; a cloud
    /// without mass. Errors name the cloud and the position of the point in it.
    pub fn new(dim: usize, coordinates: Vec<f64>, start: &[usize], masses: &[f64]) -> Result<Self> {
        Self::or_empty(dim, coordinates, start, masses)?.with_mass()
    }

    /// Creates clouds that may have no mass or no points, for transport with penalties
    /// ([`new`](Self::new) rejects them).
    ///
    /// # Errors
    /// See [`new`](Self::new), except that such clouds are valid.
    pub fn or_empty(
        dim: usize,
        coordinates: Vec<f64>,
        start: &[usize],
        masses: &[f64],
    ) -> Result<Self> {
        Self::named(dim, coordinates, start, masses, None)
    }

    /// Creates clouds with names, which errors also use; clouds may be empty as in
    /// [`or_empty`](Self::or_empty).
    ///
    /// # Errors
    /// See [`or_empty`](Self::or_empty); also a number of names other than the number of clouds.
    ///
    /// # Example
    /// ```
    /// use treeport::Clouds;
    /// let names = Some(vec!["gut".into(), "skin".into()]);
    /// let error = Clouds::named(1, vec![0.0, 1.0, 2.0], &[0, 1, 3], &[1.0, 1.0, -1.0], names);
    /// let text = error.unwrap_err().to_string();
    /// assert_eq!(text, "cloud skin: point 1 has mass -1; masses must be finite and at least 0");
    /// ```
    pub fn named(
        dim: usize,
        coordinates: Vec<f64>,
        start: &[usize],
        masses: &[f64],
        names: Option<Vec<String>>,
    ) -> Result<Self> {
        check_bounds(dim, coordinates.len(), start, masses.len())?;
        check_names(names.as_deref(), start.len() - 1)?;
        let locator = CloudLocator { start, names: names.as_deref() };
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let (point, axis, value) = (at / dim, at % dim, coordinates[at]);
            return Err(locator.placed(Error::BadCoordinate { point, axis, value }));
        }
        let rows = start.windows(2).map(|w| (w[0]..w[1]).map(|at| (at, masses[at])));
        let measures = Measures::from_rows_or_empty(masses.len(), rows);
        let measures = measures.map_err(|error| locator.placed(error))?;
        let measures = measures.with_optional_names(names)?;
        let (coordinates, start) = (Arc::new(coordinates), start.into());
        Ok(Self { dim, coordinates, start, measures, penalties: None, births: None })
    }

    /// Creates clouds with uniform masses, of total 1 each.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn uniform(dim: usize, coordinates: Vec<f64>, start: &[usize]) -> Result<Self> {
        let masses = uniform_masses(dim, coordinates.len(), start)?;
        Self::new(dim, coordinates, start, &masses)
    }

    /// Returns the clouds unchanged if every one has mass.
    ///
    /// # Errors
    /// A cloud has no mass.
    pub fn with_mass(self) -> Result<Self> {
        match self.measures.clone().with_mass() {
            Ok(_) => Ok(self),
            Err(error) => Err(self.placed(error)),
        }
    }

    /// Returns the number of clouds.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Returns whether there are no clouds.
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// Returns the number of coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of points of all clouds together.
    pub fn points(&self) -> usize {
        self.measures.points()
    }

    /// Returns the coordinates of all points, one cloud after the other.
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates
    }

    /// Returns the coordinates of the points of one cloud.
    ///
    /// # Panics
    /// If there is no such cloud.
    pub fn coordinates_of(&self, cloud: usize) -> &[f64] {
        let range = self.range(cloud);
        &self.coordinates[range.start * self.dim..range.end * self.dim]
    }

    /// Appends the masses of the points of one cloud to `masses`, with explicit zeros.
    ///
    /// # Panics
    /// If there is no such cloud.
    pub fn masses_of(&self, cloud: usize, masses: &mut Vec<f64>) {
        let (range, first) = (self.range(cloud), masses.len());
        masses.resize(first + range.len(), 0.0);
        let entries = self.measures.row(cloud).iter();
        entries.for_each(|(point, mass)| masses[first + point - range.start] = mass);
    }

    /// Returns the range of a cloud among all points.
    ///
    /// # Panics
    /// If there is no such cloud.
    pub fn range(&self, cloud: usize) -> Range<usize> {
        self.start[cloud]..self.start[cloud + 1]
    }

    /// Returns the first point of each cloud, then the end of the last.
    pub fn starts(&self) -> &[usize] {
        &self.start
    }

    /// Returns the clouds as measures on all points, with their names, if they have any.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Returns the names of the clouds, if they have any.
    pub fn names(&self) -> Option<&[String]> {
        self.measures.names()
    }

    /// Returns the memory of the clouds in bytes.
    pub fn bytes(&self) -> u64 {
        bytes(self.dim, self.points(), self.len())
    }

    /// Creates the ground metric of all points.
    ///
    /// # Errors
    /// See [`GroundMetric::from_points`]; errors name the cloud. Also if there is not enough memory
    /// for the copy of the points.
    pub fn ground(&self, geometry: impl Into<Geometry>) -> Result<GroundMetric> {
        memory::check(STEP, 8 * self.coordinates.len() as u64, INSTEAD)?;
        if self.coordinates.is_empty() {
            // A metric needs at least one point; this dummy belongs to no cloud and has a
            // direction.
            return GroundMetric::from_points(self.dim, vec![1.0; self.dim], geometry);
        }
        GroundMetric::from_points(self.dim, self.coordinates.to_vec(), geometry)
            .map_err(|error| self.placed(error))
    }

    /// Checks that every pair names two clouds of equal mass, as transport needs.
    ///
    /// # Errors
    /// A cloud that does not exist; two totals that differ by more than a millionth. Errors use
    /// names.
    pub fn check_pairs(&self, pairs: &[(usize, usize)]) -> Result<()> {
        self.measures.check_pairs(pairs).map_err(|error| self.placed(error))
    }

    /// Checks that all clouds, and those of another set, have the same total mass.
    ///
    /// # Errors
    /// The lightest and the heaviest differ by more than a millionth.
    pub fn check_balanced(&self, other: Option<&Self>) -> Result<()> {
        let sets = [Some(self), other];
        let by_total = |heaviest: bool| {
            let all = sets.iter().flatten().flat_map(|set| {
                set.measures.iter().enumerate().map(move |(at, row)| (*set, at, row.total()))
            });
            let order = |a: &(&Self, usize, f64), b: &(&Self, usize, f64)| a.2.total_cmp(&b.2);
            if heaviest { all.max_by(order) } else { all.min_by(order) }
        };
        let (Some(least), Some(most)) = (by_total(false), by_total(true)) else { return Ok(()) };
        let checked = crate::measures::check_totals((0, least.2), (0, most.2));
        checked.map_err(|error| match error {
            Error::Unbalanced { left_total, right_total, .. } => {
                let [left, right] = [least, most].map(|(set, at, _)| set.display_name(at));
                Error::UnbalancedClouds { left, right, left_total, right_total }
            }
            _ => least.0.placed(Error::NoMass { measure: least.1 }),
        })
    }

    /// Returns the error for squared distances that overflow; it names the largest coordinate's
    /// cloud.
    pub(crate) fn too_far(&self) -> Error {
        let size = |&at: &usize| self.coordinates[at].abs();
        let largest = (0..self.coordinates.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
        let at = largest.unwrap_or(0);
        let cloud = self.start.partition_point(|&first| first * self.dim <= at).max(1) - 1;
        let value = self.coordinates.get(at).copied().unwrap_or(0.0);
        Error::FarCloud { cloud: self.display_name(cloud), value }
    }

    /// Returns the name of a cloud, or its number if it has none.
    pub fn display_name(&self, cloud: usize) -> String {
        cloud_name(self.names().and_then(|names| names.get(cloud)).map(String::as_str), cloud)
    }

    /// Returns [`display_name`](Self::display_name).
    #[deprecated(since = "0.4.0", note = "renamed to `display_name`")]
    pub fn label(&self, cloud: usize) -> String {
        self.display_name(cloud)
    }

    /// Converts an error about measures or about a point among all into one that names the cloud.
    pub fn placed(&self, error: Error) -> Error {
        CloudLocator { start: &self.start, names: self.names() }.placed(error)
    }

    /// Names the clouds; results and errors carry these names.
    ///
    /// # Errors
    /// The number of names is not the number of clouds.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        check_names(Some(&names), self.len())?;
        Ok(Self { measures: self.measures.with_names(names)?, ..self })
    }

    /// Divides the masses of each cloud by their total, if that is above 0.
    #[must_use]
    pub fn normalized(self) -> Self {
        Self { measures: self.measures.normalized(), ..self }
    }

    /// Selects clouds, in this order, with their names.
    ///
    /// # Errors
    /// A cloud that does not exist; not enough memory for the copy.
    pub fn select(&self, clouds: &[usize]) -> Result<Self> {
        let mut points = 0;
        for &cloud in clouds {
            self.measures.get(cloud)?;
            points += self.range(cloud).len();
        }
        // Each mass is held twice: in a list and in rows.
        let needed = bytes(self.dim + 1, points, clouds.len());
        memory::check(STEP, needed, INSTEAD)?;
        let mut coordinates = Vec::with_capacity(points * self.dim);
        let (mut masses, mut start) = (Vec::with_capacity(points), vec![0]);
        for &cloud in clouds {
            coordinates.extend_from_slice(self.coordinates_of(cloud));
            self.masses_of(cloud, &mut masses);
            start.push(masses.len());
        }
        let names = self.names().map(|names| clouds.iter().map(|&at| names[at].clone()).collect());
        let mut some = Self::named(self.dim, coordinates, &start, &masses, names)?;
        let ranges: Vec<_> = clouds.iter().map(|&cloud| self.range(cloud)).collect();
        some.births = self
            .births
            .as_ref()
            .map(|births| clouds.iter().map(|&cloud| births[cloud].clone()).collect());
        some.penalties = self.penalties.as_ref().map(|penalties| penalties.some(ranges.iter()));
        Ok(some)
    }

    /// Concatenates these clouds and others in the same space; keeps names only if both have them.
    ///
    /// # Errors
    /// The numbers of coordinates differ; only one of the two has penalties; not enough memory for
    /// the copy.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        if self.dim != other.dim {
            return Err(Error::Shape {
                what: "the table of the other clouds".into(),
                expected: format!("rows of {}", self.dim),
                found: format!("rows of {}", other.dim),
            });
        }
        memory::check(STEP, self.bytes() + other.bytes(), INSTEAD)?;
        let (own, points) = (self.points(), self.points() + other.points());
        let measures = self.measures.beside(&other.measures, own, points)?;
        let others = other.start[1..].iter().map(|end| own + end);
        let all = Self {
            dim: self.dim,
            coordinates: Arc::new([self.coordinates(), other.coordinates()].concat()),
            start: self.start.iter().copied().chain(others).collect(),
            measures,
            penalties: CloudPenalties::joined(self.penalties.as_ref(), other.penalties.as_ref())?,
            births: essential::joined([self, other]),
        };
        match (self.names(), other.names()) {
            (Some(ours), Some(theirs)) => all.with_names([ours, theirs].concat()),
            _ => Ok(all),
        }
    }
}

/// Returns uniform masses, of total 1 for each cloud that has points.
///
/// # Errors
/// Bounds that do not fit this number of coordinates.
pub fn uniform_masses(dim: usize, coordinates: usize, start: &[usize]) -> Result<Vec<f64>> {
    let points = coordinates.checked_div(dim).unwrap_or(0);
    check_bounds(dim, coordinates, start, points)?;
    let mut masses = memory::with_capacity(STEP, points, INSTEAD)?;
    for bounds in start.windows(2) {
        let count = bounds[1] - bounds[0];
        masses.resize(masses.len() + count, 1.0 / count as f64);
    }
    Ok(masses)
}

/// Returns the memory of clouds: coordinates, and a mass with its point, in bytes.
fn bytes(dim: usize, points: usize, clouds: usize) -> u64 {
    memory::size_of::<f64>(&[points, dim])
        + memory::size_of::<(f64, u32)>(&[points])
        + 24 * clouds as u64
}

/// Checks that the bounds divide the points into clouds.
fn check_bounds(dim: usize, coordinates: usize, start: &[usize], masses: usize) -> Result<()> {
    let ends = start
        .last()
        .is_some_and(|&last| last.checked_mul(dim) == Some(coordinates) && last == masses);
    if dim > 0 && ends && start.first() == Some(&0) && start.is_sorted() {
        return check_empty(dim, coordinates);
    }
    Err(Error::Shape {
        what: "the table of clouds".into(),
        expected: "bounds from 0 up to the number of points, never decreasing, and a mass for each"
            .into(),
        found: format!(
            "{} bounds, {coordinates} coordinates in rows of {dim}, {masses} masses",
            start.len()
        ),
    })
}

/// Largest dimension of clouds without points: a file header can claim any number for free.
const MOST_WITHOUT_POINTS: usize = 1 << 16;

/// Rejects huge dimensions of clouds without points.
fn check_empty(dim: usize, coordinates: usize) -> Result<()> {
    if coordinates > 0 || dim <= MOST_WITHOUT_POINTS {
        return Ok(());
    }
    Err(Error::Shape {
        what: "the table of clouds".into(),
        expected: format!("at most {MOST_WITHOUT_POINTS} coordinates, as there are no points"),
        found: format!("rows of {dim}"),
    })
}

/// Checks that there is one name for each cloud.
fn check_names(names: Option<&[String]>, clouds: usize) -> Result<()> {
    match names {
        Some(names) if names.len() != clouds => Err(Error::Shape {
            what: "the list of names of clouds".into(),
            expected: format!("({clouds},)"),
            found: format!("({},)", names.len()),
        }),
        _ => Ok(()),
    }
}
