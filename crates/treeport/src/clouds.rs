//! Measures that bring their own points: patients of cells, jets of particles, images, diagrams.
//!
//! All points of all clouds are one ground set, one cloud after the other, and a cloud is a measure on its own
//! part of it. So whatever takes a ground metric and measures takes [`Clouds::ground`] and
//! [`Clouds::measures`]; only what would make a table of measures and points has to know the difference.

use std::ops::Range;
use std::sync::Arc;

use crate::cloud_penalties::CloudPenalties;
use crate::error::{Error, Result, cloud_label};
use crate::measure::Measures;
use crate::memory;
use crate::metric::{Geometry, GroundMetric};

/// Many measures, each with points of its own.
///
/// Cloud `r` has the points `starts()[r]..starts()[r + 1]` of all, in the order given; points may have no mass. Copies
/// share everything, so they cost nothing. What clouds are called does not make them differ.
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
    /// Where the points of each cloud begin, and where the last end.
    start: Arc<[usize]>,
    /// Cloud `r` as a measure on the points `start[r]..start[r + 1]` of all.
    measures: Measures,
    /// What it costs to leave mass behind, where each point says so.
    pub(crate) penalties: Option<CloudPenalties>,
}

/// The step that takes memory as clouds are put together.
const STEP: &str = "the points of all clouds";
const INSTEAD: &str = "take some of the clouds at a time";

impl Clouds {
    /// Cloud `r` has the points `start[r]..start[r + 1]` of those with `dim` coordinates each, and their masses.
    ///
    /// # Errors
    /// Bounds that do not fit, a coordinate or mass that is not finite, a negative mass, a cloud without
    /// mass; the cloud is named by its number, the point by its place in that.
    pub fn new(dim: usize, coordinates: Vec<f64>, start: &[usize], masses: &[f64]) -> Result<Self> {
        Self::or_empty(dim, coordinates, start, masses)?.with_mass()
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
        Self::named(dim, coordinates, start, masses, None)
    }

    /// As [`or_empty`](Self::or_empty), with names, which errors use as well.
    ///
    /// # Errors
    /// As [`or_empty`](Self::or_empty), the cloud by its name; another number of names than of clouds.
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
        let places = Places { start, names: names.as_deref() };
        if let Some(at) = coordinates.iter().position(|x| !x.is_finite()) {
            let (point, axis, value) = (at / dim, at % dim, coordinates[at]);
            return Err(places.placed(Error::BadCoordinate { point, axis, value }));
        }
        let rows = start.windows(2).map(|w| (w[0]..w[1]).map(|at| (at, masses[at])));
        let measures = Measures::from_rows_or_empty(masses.len(), rows);
        let measures = measures.map_err(|error| places.placed(error))?;
        let measures = match names {
            Some(names) => measures.with_names(names)?,
            None => measures,
        };
        let (coordinates, start) = (Arc::new(coordinates), start.into());
        Ok(Self { dim, coordinates, start, measures, penalties: None })
    }

    /// Clouds whose points all have the same mass, 1 in all.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn uniform(dim: usize, coordinates: Vec<f64>, start: &[usize]) -> Result<Self> {
        let masses = uniform_masses(dim, coordinates.len(), start)?;
        Self::new(dim, coordinates, start, &masses)
    }

    /// The same clouds.
    ///
    /// # Errors
    /// One of them has no mass.
    pub fn with_mass(self) -> Result<Self> {
        match self.measures.clone().with_mass() {
            Ok(_) => Ok(self),
            Err(error) => Err(self.placed(error)),
        }
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

    /// The coordinates of the points of one cloud.
    ///
    /// # Panics
    /// If there is no such cloud.
    pub fn coordinates_of(&self, cloud: usize) -> &[f64] {
        let range = self.range(cloud);
        &self.coordinates[range.start * self.dim..range.end * self.dim]
    }

    /// The masses of the points of one cloud, zeros written out, after those in `masses`.
    ///
    /// # Panics
    /// If there is no such cloud.
    pub fn masses_of(&self, cloud: usize, masses: &mut Vec<f64>) {
        let (range, first) = (self.range(cloud), masses.len());
        masses.resize(first + range.len(), 0.0);
        let entries = self.measures.row(cloud).iter();
        entries.for_each(|(point, mass)| masses[first + point - range.start] = mass);
    }

    /// The points of a cloud among all.
    ///
    /// # Panics
    /// If there is no such cloud.
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

    /// What the clouds are called, if they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.measures.names()
    }

    /// The bytes that they take.
    pub fn bytes(&self) -> u64 {
        bytes(self.dim, self.points(), self.len())
    }

    /// The ground metric of all points.
    ///
    /// # Errors
    /// As [`GroundMetric::from_points`], the point named by its cloud; the copy of the points does not fit.
    pub fn ground(&self, geometry: impl Into<Geometry>) -> Result<GroundMetric> {
        memory::check(format_args!("{STEP}"), 8 * self.coordinates.len() as u64, INSTEAD)?;
        if self.coordinates.is_empty() {
            // A metric has at least one point; this one is nobody's, and has a direction.
            return GroundMetric::from_points(self.dim, vec![1.0; self.dim], geometry);
        }
        GroundMetric::from_points(self.dim, self.coordinates.to_vec(), geometry)
            .map_err(|error| self.placed(error))
    }

    /// Checks that every pair names two clouds of equal mass, as transport needs.
    ///
    /// # Errors
    /// A cloud that there is not, or two totals that differ by more than a millionth, by the names of the clouds.
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
        let checked = crate::measure::check_totals((0, least.2), (0, most.2));
        checked.map_err(|error| match error {
            Error::Unbalanced { left_total, right_total, .. } => {
                let [left, right] = [least, most].map(|(set, at, _)| set.label(at));
                Error::UnbalancedClouds { left, right, left_total, right_total }
            }
            _ => least.0.placed(Error::NoMass { measure: least.1 }),
        })
    }

    /// That a coordinate is too far from others for a search: the largest, by its cloud.
    pub(crate) fn too_far(&self) -> Error {
        let size = |&at: &usize| self.coordinates[at].abs();
        let largest = (0..self.coordinates.len()).max_by(|a, b| size(a).total_cmp(&size(b)));
        let at = largest.unwrap_or(0);
        let cloud = self.start.partition_point(|&first| first * self.dim <= at).max(1) - 1;
        let value = self.coordinates.get(at).copied().unwrap_or(0.0);
        Error::FarCloud { cloud: self.label(cloud), value }
    }

    /// What a cloud is called: its name, or else its number.
    pub fn label(&self, cloud: usize) -> String {
        cloud_label(self.names().and_then(|names| names.get(cloud)).map(String::as_str), cloud)
    }

    /// An error about measures or about one of all points, as one about clouds by their names.
    pub fn placed(&self, error: Error) -> Error {
        Places { start: &self.start, names: self.names() }.placed(error)
    }

    /// Names the clouds; results and errors carry these names.
    ///
    /// # Errors
    /// Another number of names than of clouds.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        check_names(Some(&names), self.len())?;
        Ok(Self { measures: self.measures.with_names(names)?, ..self })
    }

    /// Each cloud divided by its total, if that is above 0.
    #[must_use]
    pub fn normalized(self) -> Self {
        Self { measures: self.measures.normalized(), ..self }
    }

    /// Some of the clouds, in this order, with their names.
    ///
    /// # Errors
    /// A cloud that there is not; a copy that does not fit.
    pub fn select(&self, clouds: &[usize]) -> Result<Self> {
        let mut points = 0;
        for &cloud in clouds {
            self.measures.get(cloud)?;
            points += self.range(cloud).len();
        }
        // Masses once as a list and once in rows.
        let needed = bytes(self.dim + 1, points, clouds.len());
        memory::check(format_args!("{STEP}"), needed, INSTEAD)?;
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
        some.penalties = self.penalties.as_ref().map(|penalties| penalties.some(ranges.iter()));
        Ok(some)
    }

    /// These clouds, then others in the same space; their names are left out unless both have them.
    ///
    /// # Errors
    /// Clouds with another number of coordinates; penalties of some and not of others; a copy that does not fit.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        if self.dim != other.dim {
            return Err(Error::Shape {
                what: "the table of the other clouds".into(),
                expected: format!("rows of {}", self.dim),
                found: format!("rows of {}", other.dim),
            });
        }
        memory::check(format_args!("{STEP}"), self.bytes() + other.bytes(), INSTEAD)?;
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
            penalties: CloudPenalties::joined(self.penalties.as_ref(), other.penalties.as_ref())?,
        };
        match (self.names(), other.names()) {
            (Some(ours), Some(theirs)) => all.with_names([ours, theirs].concat()),
            _ => Ok(all),
        }
    }
}

/// The masses of clouds that are all uniform, 1 in all for each that has points.
///
/// # Errors
/// Bounds that do not fit to so many coordinates.
pub fn uniform_masses(dim: usize, coordinates: usize, start: &[usize]) -> Result<Vec<f64>> {
    let points = coordinates.checked_div(dim).unwrap_or(0);
    check_bounds(dim, coordinates, start, points)?;
    let mut masses = memory::with_capacity(format_args!("{STEP}"), points, INSTEAD)?;
    for bounds in start.windows(2) {
        let count = bounds[1] - bounds[0];
        masses.resize(masses.len() + count, 1.0 / count as f64);
    }
    Ok(masses)
}

/// The bytes of clouds: coordinates, and a mass with its point.
fn bytes(dim: usize, points: usize, clouds: usize) -> u64 {
    memory::size_of::<f64>(&[points, dim])
        + memory::size_of::<(f64, u32)>(&[points])
        + 24 * clouds as u64
}

/// Refuses bounds that do not divide the points into clouds.
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

/// The most coordinates of points where there are none: what a header claims costs a file nothing.
const MOST_WITHOUT_POINTS: usize = 1 << 16;

/// Refuses more coordinates than anybody has, where no point has any.
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

/// Refuses another number of names than of clouds.
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

/// Where clouds begin among all points, and what they are called.
struct Places<'a> {
    start: &'a [usize],
    names: Option<&'a [String]>,
}

impl Places<'_> {
    /// An error about measures or about one of all points, as one about clouds.
    fn placed(&self, error: Error) -> Error {
        let (cloud, cause) = match error {
            Error::BadCoordinate { point, axis, value } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::BadCoordinate { point, axis, value })
            }
            Error::BadDegrees { point, what, value } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::BadDegrees { point, what, value })
            }
            Error::ZeroVector { point } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::ZeroVector { point })
            }
            Error::BadMass { point, value, .. } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::BadPointMass { point, value })
            }
            Error::BadPenalty { point, value } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::BadPenalty { point, value })
            }
            Error::EssentialClass { point, birth } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::EssentialClass { point, birth })
            }
            Error::DiesUnborn { point, birth, death } => {
                let (cloud, point) = self.place(point);
                (cloud, Error::DiesUnborn { point, birth, death })
            }
            Error::NoMass { measure } => (measure, Error::EmptyCloud),
            Error::Unbalanced { left, right, left_total, right_total } => {
                let [left, right] = [left, right].map(|at| cloud_label(self.name(at), at));
                return Error::UnbalancedClouds { left, right, left_total, right_total };
            }
            other => return other,
        };
        let name = self.name(cloud).map(str::to_owned);
        Error::Cloud { cloud, name, cause: Box::new(cause) }
    }

    /// The cloud of one of all points, and its place in that.
    fn place(&self, point: usize) -> (usize, usize) {
        // Empty clouds begin where the next one does: the last that begins there has the point.
        let cloud = self.start.partition_point(|&first| first <= point).saturating_sub(1);
        (cloud, point - self.start[cloud])
    }

    fn name(&self, cloud: usize) -> Option<&str> {
        self.names?.get(cloud).map(String::as_str)
    }
}
