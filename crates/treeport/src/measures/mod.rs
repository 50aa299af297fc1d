//! Measures: many weighted sets of points, in compressed rows.
//!
//! Masses are stored unscaled: transport is homogeneous in mass, so two measures need the *same*
//! total, not the total 1. [`Measures::normalized`] makes every total 1.

#![expect(clippy::missing_errors_doc, reason = "errors name the wrong number and its place")]

mod match_columns;
mod rows;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::memory;
use crate::numeric::rounding::PLAN_TOTALS;
pub(crate) use match_columns::match_names;
pub use match_columns::{Missing, MissingColumns};
use rows::CompressedRows;

/// Largest number of points: the nodes of a binary tree over them need 32-bit numbers.
pub(crate) const MAX_POINTS: usize = u32::MAX as usize / 2;

/// Relative difference up to which the totals of two measures count as equal.
///
/// Rows normalized in `f32` sum to 1 with an error of a few times 1e-7.
pub(crate) const BALANCE_TOLERANCE: f64 = 1e-6;

/// Many measures on the same points.
///
/// Row `r` has the points `point[start[r]..start[r + 1]]`, strictly increasing, with their masses,
/// all finite and above 0. Rows may be empty only in sets from constructors that allow it
/// ([`from_rows_or_empty`](Self::from_rows_or_empty)).
///
/// Clones share their rows and are cheap. Equality ignores names.
#[derive(Clone, Debug)]
pub struct Measures {
    points: usize,
    rows: Arc<CompressedRows>,
    names: Option<Arc<[String]>>,
}

impl PartialEq for Measures {
    fn eq(&self, other: &Self) -> bool {
        self.points == other.points && self.rows == other.rows
    }
}

/// One row of [`Measures`]: points, strictly increasing, and their masses, all above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure<'a> {
    support: &'a [u32],
    masses: &'a [f64],
    total: f64,
    /// Number of points of the ground set.
    space: usize,
}

impl<'a> Measure<'a> {
    /// Returns the points with mass, strictly increasing.
    pub fn support(&self) -> &'a [u32] {
        self.support
    }

    /// Returns the masses of [`support`](Self::support), in the same order.
    pub fn masses(&self) -> &'a [f64] {
        self.masses
    }

    /// Returns the sum of the masses.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Returns the number of points of the ground set, with or without mass.
    pub(crate) fn space(&self) -> usize {
        self.space
    }

    /// Checks that the tree or metric has as many points as the ground set.
    pub(crate) fn check_points(&self, points: usize) -> Result<()> {
        if self.space == points {
            Ok(())
        } else {
            Err(Error::PointCount { measures: self.space, points })
        }
    }

    /// Iterates over (point, mass) in increasing order of points.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + Clone + use<'a> {
        self.support.iter().zip(self.masses).map(|(&p, &m)| (p as usize, m))
    }
}

impl Measures {
    /// Creates measures from dense rows, one after the other; entry `p` of a row is its mass at
    /// point `p`.
    ///
    /// # Errors
    /// A length that is not a multiple of `points`, a negative or non-finite mass, a row without
    /// mass.
    ///
    /// # Example
    /// ```
    /// let measures = treeport::Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.0, 2.0])?;
    /// assert_eq!(measures.len(), 2);
    /// assert_eq!(measures.row(1).support(), [2]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_dense(points: usize, masses: &[f64]) -> Result<Self> {
        Self::from_dense_or_empty(points, masses)?.with_mass()
    }

    /// Creates measures from dense rows, which may have no mass ([`from_dense`](Self::from_dense)
    /// rejects them).
    pub fn from_dense_or_empty(points: usize, masses: &[f64]) -> Result<Self> {
        if points == 0 {
            return Err(Error::NoPoints);
        }
        if !masses.len().is_multiple_of(points) {
            return Err(Error::Shape {
                what: "the table of masses".into(),
                expected: format!("rows of {points}"),
                found: format!("({},)", masses.len()),
            });
        }
        let entries = masses.chunks_exact(points).map(|row| row.iter().copied().enumerate());
        Self::from_rows_or_empty(points, entries)
    }

    /// Creates measures from compressed rows as in SciPy's CSR: row `r` is
    /// `indices[start[r]..start[r + 1]]`.
    ///
    /// Indices may come in any order; masses of a repeated point add up.
    ///
    /// # Errors
    /// Row bounds that do not fit, an index out of range, a bad mass, a row without mass.
    pub fn from_csr(
        points: usize,
        start: &[usize],
        indices: &[usize],
        masses: &[f64],
    ) -> Result<Self> {
        Self::from_csr_or_empty(points, start, indices, masses)?.with_mass()
    }

    /// Creates measures from compressed rows, which may have no mass ([`from_csr`](Self::from_csr)
    /// rejects them).
    pub fn from_csr_or_empty(
        points: usize,
        start: &[usize],
        indices: &[usize],
        masses: &[f64],
    ) -> Result<Self> {
        let fits = start.first() == Some(&0)
            && start.last() == Some(&indices.len())
            && indices.len() == masses.len()
            && start.is_sorted();
        if !fits {
            return Err(Error::Shape {
                what: "the compressed table of masses".into(),
                expected: "row bounds from 0 up to the number of entries, never decreasing".into(),
                found: format!(
                    "{} bounds, {} indices, {} masses",
                    start.len(),
                    indices.len(),
                    masses.len()
                ),
            });
        }
        let entries = start.windows(2).map(|w| (w[0]..w[1]).map(|e| (indices[e], masses[e])));
        Self::from_rows_or_empty(points, entries)
    }

    /// Creates measures from rows of (point, mass), in any order; masses of a repeated point add
    /// up.
    ///
    /// # Errors
    /// A point out of range, a negative or non-finite mass, a row without mass.
    pub fn from_rows<R>(points: usize, rows: impl IntoIterator<Item = R>) -> Result<Self>
    where
        R: IntoIterator<Item = (usize, f64)>,
    {
        Self::from_rows_or_empty(points, rows)?.with_mass()
    }

    /// Creates measures that may have no mass, for UniFrac and for transport with penalties; all
    /// other functions reject them.
    pub fn from_rows_or_empty<R>(points: usize, rows: impl IntoIterator<Item = R>) -> Result<Self>
    where
        R: IntoIterator<Item = (usize, f64)>,
    {
        if points > MAX_POINTS {
            return Err(Error::TooManyPoints { count: points, max: MAX_POINTS });
        }
        let mut all = CompressedRows::default();
        for (measure, row) in rows.into_iter().enumerate() {
            let row = row.into_iter();
            all.reserve(1, row.size_hint().0.min(INITIAL_ENTRIES))?;
            let first = all.point.len();
            let mut increases = true;
            for (point, value) in row {
                if point >= points {
                    return Err(Error::PointOutOfRange { measure, point, points });
                }
                if !(value >= 0.0 && value.is_finite()) {
                    return Err(Error::BadMass { measure, point, value });
                }
                if value > 0.0 {
                    let point = point as u32;
                    increases &= all.point[first..].last().is_none_or(|&last| last < point);
                    all.push(point, value)?;
                }
            }
            if !increases {
                all.sort_from(first)?;
            }
            all.end_row(measure, first)?;
        }
        Ok(Self { points, rows: Arc::new(all), names: None })
    }

    /// Returns the measures unchanged if every one has mass.
    pub fn with_mass(self) -> Result<Self> {
        match self.rows.total.iter().position(|&total| total == 0.0) {
            Some(measure) => Err(Error::NoMass { measure }),
            None => Ok(self),
        }
    }

    /// Creates a unit mass at each of the given points, one measure per point.
    pub fn unit_masses(points: usize, at: impl IntoIterator<Item = usize>) -> Result<Self> {
        Self::from_rows(points, at.into_iter().map(|p| [(p, 1.0)]))
    }

    /// Divides each measure by its total, if that is above 0; a mass that becomes 0 is removed.
    #[must_use]
    pub fn normalized(mut self) -> Self {
        let CompressedRows { start, mass, total, .. } = Arc::make_mut(&mut self.rows);
        for row in 0..total.len() {
            let masses = &mut mass[start[row]..start[row + 1]];
            for mass in masses.iter_mut() {
                *mass /= total[row];
            }
            total[row] = masses.iter().fold(0.0, |total, mass| total + mass);
        }
        if mass.contains(&0.0) {
            let rows = self.iter().map(|measure| measure.iter());
            // The largest mass of a row is not removed, so the rows remain valid.
            let without_zeros = Self::from_rows_or_empty(self.points, rows);
            return without_zeros
                .map_or_else(|_| self.clone(), |rest| Self { names: self.names.clone(), ..rest });
        }
        self
    }

    /// Divides all masses by a power of two; masses that become 0 are kept.
    pub(crate) fn divided_by(&self, unit: f64) -> Self {
        let mut divided = self.clone();
        if unit != 1.0 {
            let CompressedRows { mass, total, .. } = Arc::make_mut(&mut divided.rows);
            for mass in mass.iter_mut().chain(total) {
                *mass /= unit;
            }
        }
        divided
    }

    /// Concatenates these measures and others on the same points.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        other.check_points(self.points)?;
        Self::concat(&[self.clone(), other.clone()])
    }

    /// Concatenates measures; points of the others are numbered from `first` on.
    pub(crate) fn beside(&self, other: &Self, first: usize, points: usize) -> Result<Self> {
        let rows = self.iter().map(|row| (0, row)).chain(other.iter().map(|row| (first, row)));
        let rows = rows.map(|(first, row)| row.iter().map(move |(at, mass)| (first + at, mass)));
        Self::from_rows_or_empty(points, rows)
    }

    /// Selects measures, with their names.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Self> {
        let selected = rows.iter().map(|&row| self.row(row).iter());
        let measures = Self::from_rows_or_empty(self.points, selected)?;
        let names = self.names().map(|names| rows.iter().map(|&row| names[row].clone()).collect());
        Ok(Self { names, ..measures })
    }

    /// Concatenates the measures of at least one set on the same points.
    pub(crate) fn concat(sets: &[Self]) -> Result<Self> {
        let mut rows = CompressedRows::default();
        let count = |of: fn(&Self) -> usize| sets.iter().map(of).sum();
        rows.reserve(count(Self::len), count(Self::entries))?;
        for set in sets {
            let first = rows.point.len();
            rows.start.extend(set.rows.start[1..].iter().map(|end| first + end));
            rows.point.extend(&set.rows.point);
            rows.mass.extend(&set.rows.mass);
            rows.total.extend(&set.rows.total);
        }
        Ok(Self { points: sets[0].points, rows: Arc::new(rows), names: None })
    }

    /// Reorders columns to match the points by name; points without a column have no mass
    /// ([`MissingColumns`](crate::MissingColumns) reports them).
    ///
    /// # Errors
    /// A column whose name no point has, or that occurs twice; two points of the same name.
    ///
    /// # Example
    /// ```
    /// use treeport::Measures;
    /// let [cat, dog] = ["cat", "dog"].map(String::from);
    /// let measures = Measures::from_dense(2, &[1.0, 0.0])?;
    /// let matched = measures.matched(&[dog.clone(), cat.clone()], &[cat, dog])?;
    /// assert_eq!(matched.row(0).support(), [1]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn matched(&self, columns: &[String], points: &[String]) -> Result<Self> {
        if columns.len() != self.points {
            return Err(Error::NameCount { names: columns.len(), points: self.points });
        }
        let place = match_names(columns, points)?;
        if columns == points {
            return Ok(self.clone());
        }
        let rows = self.iter().map(|row| row.iter().map(|(column, mass)| (place[column], mass)));
        Ok(Self { names: self.names.clone(), ..Self::from_rows_or_empty(points.len(), rows)? })
    }

    /// Sets the names of the measures, which results carry; [`normalized`](Self::normalized) and
    /// [`matched`](Self::matched) keep them.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.len() {
            let (what, expected) = ("the list of names of measures".into(), show(self.len()));
            return Err(Error::Shape { what, expected, found: show(names.len()) });
        }
        Ok(Self { names: Some(names.into()), ..self })
    }

    /// Sets the names of the measures, if there are any.
    pub(crate) fn with_optional_names(self, names: Option<Vec<String>>) -> Result<Self> {
        match names {
            Some(names) => self.with_names(names),
            None => Ok(self),
        }
    }

    /// Returns the names of the measures, if they have any.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// Returns the memory of the rows in bytes.
    pub fn bytes(&self) -> u64 {
        memory::size_of::<(u64, f64)>(&[self.len()]) + 12 * self.entries() as u64
    }

    /// Returns whether two sets share their memory, as clones do.
    pub fn same(&self, other: &Self) -> bool {
        self.points == other.points && Arc::ptr_eq(&self.rows, &other.rows)
    }

    /// Checks that all measures of one or more sets have the same total mass.
    ///
    /// # Errors
    /// The lightest and the heaviest differ by more than a millionth.
    pub fn check_all_balanced(sets: &[&Self]) -> Result<()> {
        let numbered = || sets.iter().flat_map(|set| set.iter().enumerate());
        let by_total =
            |a: &(usize, Measure<'_>), b: &(usize, Measure<'_>)| a.1.total.total_cmp(&b.1.total);
        match (numbered().min_by(by_total), numbered().max_by(by_total)) {
            (Some(least), Some(most)) => check_balance(least, most),
            _ => Ok(()),
        }
    }

    /// Returns the number of measures.
    pub fn len(&self) -> usize {
        self.rows.total.len()
    }

    /// Returns whether there are no measures.
    pub fn is_empty(&self) -> bool {
        self.rows.total.is_empty()
    }

    /// Returns the number of points of the ground set.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of entries of all rows.
    pub fn entries(&self) -> usize {
        self.rows.point.len()
    }

    /// Returns measure `row`.
    ///
    /// # Panics
    /// If there is no such row; [`Measures::get`] returns an error instead.
    pub fn row(&self, row: usize) -> Measure<'_> {
        let rows = &*self.rows;
        let range = rows.start[row]..rows.start[row + 1];
        Measure {
            support: &rows.point[range.clone()],
            masses: &rows.mass[range],
            total: rows.total[row],
            space: self.points,
        }
    }

    /// Returns measure `row`, or an error with the number of measures.
    pub fn get(&self, row: usize) -> Result<Measure<'_>> {
        if row < self.len() {
            Ok(self.row(row))
        } else {
            Err(Error::NoSuchMeasure { measure: row, measures: self.len() })
        }
    }

    /// Returns entries by their indices among all entries; the total is not computed.
    pub(crate) fn entries_at(&self, places: std::ops::Range<usize>) -> Measure<'_> {
        let (support, masses) = (&self.rows.point[places.clone()], &self.rows.mass[places]);
        Measure { support, masses, total: f64::NAN, space: self.points }
    }

    /// Iterates over the measures in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Measure<'_>> {
        (0..self.len()).map(|row| self.row(row))
    }

    /// Checks that every pair names two measures of equal mass, as transport needs.
    ///
    /// # Errors
    /// A row that does not exist, or two totals that differ by more than a millionth.
    pub fn check_pairs(&self, pairs: &[(usize, usize)]) -> Result<()> {
        pairs.iter().try_for_each(|&(left, right)| {
            check_balance((left, self.get(left)?), (right, self.get(right)?))
        })
    }

    /// Checks that the measures `i` of both sets have equal masses, for every `i`.
    pub(crate) fn check_paired(&self, other: &Self) -> Result<()> {
        if self.len() != other.len() {
            return Err(Error::Shape {
                what: "the second set of measures".into(),
                expected: format!("{} rows", self.len()),
                found: format!("{} rows", other.len()),
            });
        }
        (0..self.len()).try_for_each(|i| check_balance((i, self.row(i)), (i, other.row(i))))
    }

    /// Checks that the tree or metric has as many points as the measures' ground set.
    pub fn check_points(&self, points: usize) -> Result<()> {
        if self.points == points {
            Ok(())
        } else {
            Err(Error::PointCount { measures: self.points, points })
        }
    }
}

/// Reserved entries before a row is read; many rows need no more.
const INITIAL_ENTRIES: usize = 64;

fn show(count: usize) -> String {
    crate::error::show_shape(&[count])
}

/// Rescales the second measure to the total of the first if they differ by more than
/// [`PLAN_TOTALS`].
pub(crate) fn rescaled(a: &Measure<'_>, b: &Measure<'_>) -> Result<Option<Measures>> {
    let factor = a.total() / b.total();
    if (factor - 1.0).abs() <= PLAN_TOTALS {
        return Ok(None);
    }
    let row: Vec<_> = b.iter().map(|(point, mass)| (point, mass * factor)).collect();
    Ok(Some(Measures::from_rows(b.space(), [row])?))
}

/// Checks that two numbered measures have the same total mass.
pub(crate) fn check_balance(left: (usize, Measure<'_>), right: (usize, Measure<'_>)) -> Result<()> {
    check_totals((left.0, left.1.total), (right.0, right.1.total))
}

/// Checks that the totals of two numbered measures are equal up to [`BALANCE_TOLERANCE`].
pub(crate) fn check_totals(left: (usize, f64), right: (usize, f64)) -> Result<()> {
    let (a, b) = (left.1, right.1);
    if a == 0.0 && b == 0.0 {
        return Err(Error::NoMass { measure: left.0 });
    }
    if (a - b).abs() <= BALANCE_TOLERANCE * a.max(b) {
        Ok(())
    } else {
        Err(Error::Unbalanced { left: left.0, right: right.0, left_total: a, right_total: b })
    }
}
