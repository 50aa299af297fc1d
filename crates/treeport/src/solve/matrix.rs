//! Tables that are read where they lie: costs of a problem, or coordinates of its points.

use std::fmt;

use super::exact::{GoesOn, ask, room_for_costs};
use super::penalty::Relaxation;
use super::problem::OnMatrix;
use crate::error::{Error, Result};
use crate::measure::check_totals;

/// A table of numbers that somebody else holds, row after row or in any other layout.
///
/// As costs it says what a unit of mass costs from every row to every column, as coordinates it has
/// a point in every row. Only rows and columns with mass are ever read, and only those have to be
/// valid.
#[derive(Clone, Copy)]
pub struct MatrixView<'a> {
    rows: usize,
    columns: usize,
    entries: Entries<'a>,
}

#[derive(Clone, Copy)]
enum Entries<'a> {
    Slice(&'a [f64]),
    Single(&'a [f32]),
    Function(&'a (dyn Fn(usize, usize) -> f64 + Sync)),
}

impl<'a> MatrixView<'a> {
    /// A matrix, row after row.
    ///
    /// # Errors
    /// A number of entries that is not `rows` times `columns`.
    pub fn new(rows: usize, columns: usize, entries: &'a [f64]) -> Result<Self> {
        check_count(rows, columns, entries.len())?;
        Ok(Self { rows, columns, entries: Entries::Slice(entries) })
    }

    /// A matrix in single precision, row after row. Its numbers are taken as they are, and computed with in
    /// double precision.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_f32(rows: usize, columns: usize, entries: &'a [f32]) -> Result<Self> {
        check_count(rows, columns, entries.len())?;
        Ok(Self { rows, columns, entries: Entries::Single(entries) })
    }

    /// Entries by row and column, such as those of a matrix in another layout.
    pub fn from_fn(
        rows: usize,
        columns: usize,
        entry: &'a (dyn Fn(usize, usize) -> f64 + Sync),
    ) -> Self {
        Self { rows, columns, entries: Entries::Function(entry) }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// All entries, row after row, where they lie so.
    pub(super) fn as_slice(&self) -> Option<&'a [f64]> {
        if let Entries::Slice(entries) = self.entries { Some(entries) } else { None }
    }

    /// The entry of a row and a column.
    pub(super) fn entry(&self, i: usize, j: usize) -> f64 {
        match self.entries {
            Entries::Function(entry) => entry(i, j),
            Entries::Slice(entries) => entries[i * self.columns + j],
            Entries::Single(entries) => f64::from(entries[i * self.columns + j]),
        }
    }

    /// Refuses costs that do not fit so many masses on the left and on the right.
    pub(super) fn check_shape(&self, rows: usize, columns: usize) -> Result<()> {
        if (self.rows, self.columns) == (rows, columns) {
            return Ok(());
        }
        let (expected, found) =
            (format!("({rows}, {columns})"), format!("({}, {})", self.rows, self.columns));
        Err(Error::Shape { what: "the cost matrix".into(), expected, found })
    }

    /// The costs between some rows and some columns, checked, row after row.
    pub(super) fn read_costs(
        &self,
        left: &[usize],
        right: &[usize],
        cost: &mut Vec<f64>,
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        cost.clear();
        room_for_costs(cost, left.len(), right.len())?;
        for &i in left {
            let row = cost.len();
            if row / ASKED != (row + right.len()) / ASKED {
                ask(goes_on)?;
            }
            self.push_row(i, right, cost);
            if let Some(at) = first_bad(&cost[row..]) {
                return Err(Error::BadDistance { from: i, to: right[at], value: cost[row + at] });
            }
        }
        Ok(())
    }

    /// Appends what row `i` has in some columns, which increase.
    pub(super) fn push_row(&self, i: usize, columns: &[usize], out: &mut Vec<f64>) {
        match self.entries {
            Entries::Function(entry) => out.extend(columns.iter().map(|&j| entry(i, j))),
            Entries::Slice(entries) => {
                let row = &entries[i * self.columns..(i + 1) * self.columns];
                if columns.len() == row.len() {
                    out.extend_from_slice(row);
                } else {
                    out.extend(columns.iter().map(|&j| row[j]));
                }
            }
            Entries::Single(entries) => {
                let row = &entries[i * self.columns..(i + 1) * self.columns];
                out.extend(columns.iter().map(|&j| f64::from(row[j])));
            }
        }
    }

    /// Appends all of row `i`.
    pub(super) fn push_whole_row(&self, i: usize, out: &mut Vec<f64>) {
        match self.entries {
            Entries::Function(entry) => out.extend((0..self.columns).map(|j| entry(i, j))),
            Entries::Slice(entries) => {
                out.extend_from_slice(&entries[i * self.columns..(i + 1) * self.columns]);
            }
            Entries::Single(entries) => {
                let row = &entries[i * self.columns..(i + 1) * self.columns];
                out.extend(row.iter().map(|&entry| f64::from(entry)));
            }
        }
    }
}

/// Refuses another number of entries than a table has.
fn check_count(rows: usize, columns: usize, count: usize) -> Result<()> {
    if rows.checked_mul(columns) == Some(count) {
        return Ok(());
    }
    let (expected, found) = (format!("({rows}, {columns})"), format!("({count},)"));
    Err(Error::Shape { what: "the table".into(), expected, found })
}

impl fmt::Debug for MatrixView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatrixView({}, {})", self.rows, self.columns)
    }
}

/// Costs read between two questions whether to go on.
const ASKED: usize = 1 << 22;

/// The first cost that is negative or not finite.
fn first_bad(costs: &[f64]) -> Option<usize> {
    // All of them side by side at first: 0 times a number is 0, unless that is not finite.
    let (chunks, rest) = costs.as_chunks::<8>();
    let (mut zero, mut least) = ([0.0; 8], [0.0; 8]);
    for chunk in chunks {
        for k in 0..8 {
            zero[k] += 0.0 * chunk[k];
            least[k] = if chunk[k] < least[k] { chunk[k] } else { least[k] };
        }
    }
    let bad = |cost: &f64| !(0.0..f64::INFINITY).contains(cost);
    if zero.iter().chain(&least).all(|&sum| sum == 0.0) && !rest.iter().any(bad) {
        return None;
    }
    costs.iter().position(bad)
}

/// Where one side of a problem has mass, and how much.
pub(super) struct SideMasses<'a> {
    pub(super) places: &'a mut Vec<usize>,
    pub(super) masses: &'a mut Vec<f64>,
}

impl OnMatrix<'_> {
    /// Reads the masses of rows and columns, if they fit the costs and what need not be moved; returns
    /// their totals. Only where a penalty is paid may there be none.
    pub(super) fn read_masses(
        &self,
        relax: Relaxation<'_>,
        [left, right]: [SideMasses<'_>; 2],
    ) -> Result<[f64; 2]> {
        let given = read_masses(0, self.a, left.places, left.masses)?;
        let taken = read_masses(1, self.b, right.places, right.masses)?;
        for (measure, side) in [left.places, right.places].into_iter().enumerate() {
            if side.is_empty() && !matches!(relax, Relaxation::Penalty(_)) {
                return Err(Error::NoMass { measure });
            }
        }
        self.costs.check_shape(self.a.len(), self.b.len())?;
        if relax.is_balanced() {
            check_totals((0, given), (1, taken))?;
        }
        Ok([given, taken])
    }
}

/// The places of one side's entries with mass, and those masses; returns their total.
fn read_masses(
    measure: usize,
    masses: &[f64],
    places: &mut Vec<usize>,
    positive: &mut Vec<f64>,
) -> Result<f64> {
    if masses.is_empty() {
        return Err(Error::NoPoints);
    }
    if masses.len() > u32::MAX as usize {
        return Err(Error::TooManyPoints { count: masses.len(), max: u32::MAX as usize });
    }
    places.clear();
    positive.clear();
    let mut total = 0.0;
    for (point, &mass) in masses.iter().enumerate() {
        if !(0.0..f64::INFINITY).contains(&mass) {
            return Err(Error::BadMass { measure, point, value: mass });
        }
        if mass > 0.0 {
            places.push(point);
            positive.push(mass);
            total += mass;
        }
    }
    match places.first() {
        // Masses that are finite one by one may not be together.
        Some(&point) if total.is_infinite() => Err(Error::BadMass { measure, point, value: total }),
        _ => Ok(total),
    }
}
