//! Borrowed matrices: costs of a problem, or coordinates of its points.

use std::fmt;

use super::posed::OnMatrix;
use crate::error::{Error, Result};
use crate::measures::check_totals;
use crate::memory;
use crate::solve::exact::table::reserve_costs;
use crate::solve::exact::{KeepGoing, check_canceled};
use crate::solve::relax::{FEWER, Relaxation};

/// A borrowed matrix of numbers, row-major or in any other layout.
///
/// As a cost matrix, an entry is the cost of moving a unit of mass from its row to its column. As
/// coordinates, a row is a point. Only rows and columns with mass are read and validated.
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
    /// Creates a view of a row-major matrix.
    ///
    /// # Errors
    /// A number of entries other than `rows` times `columns`.
    pub fn new(rows: usize, columns: usize, entries: &'a [f64]) -> Result<Self> {
        check_count(rows, columns, entries.len())?;
        Ok(Self { rows, columns, entries: Entries::Slice(entries) })
    }

    /// Creates a view of a row-major matrix in single precision; computations use double precision.
    pub fn from_f32(rows: usize, columns: usize, entries: &'a [f32]) -> Result<Self> {
        check_count(rows, columns, entries.len())?;
        Ok(Self { rows, columns, entries: Entries::Single(entries) })
    }

    /// Creates a view of a function of row and column, for other layouts and lazy entries.
    pub fn from_fn(
        rows: usize,
        columns: usize,
        entry: &'a (dyn Fn(usize, usize) -> f64 + Sync),
    ) -> Self {
        Self { rows, columns, entries: Entries::Function(entry) }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns all entries if they are stored row-major in double precision.
    pub(in crate::solve) fn as_slice(&self) -> Option<&'a [f64]> {
        if let Entries::Slice(entries) = self.entries { Some(entries) } else { None }
    }

    /// Returns the entry of a row and a column.
    pub(in crate::solve) fn entry(&self, i: usize, j: usize) -> f64 {
        match self.entries {
            Entries::Function(entry) => entry(i, j),
            Entries::Slice(entries) => entries[i * self.columns + j],
            Entries::Single(entries) => f64::from(entries[i * self.columns + j]),
        }
    }

    /// Refuses a cost matrix whose shape differs from the numbers of masses.
    pub(in crate::solve) fn check_shape(&self, rows: usize, columns: usize) -> Result<()> {
        if (self.rows, self.columns) == (rows, columns) {
            return Ok(());
        }
        let (expected, found) =
            (format!("({rows}, {columns})"), format!("({}, {})", self.rows, self.columns));
        Err(Error::Shape { what: "the cost matrix".into(), expected, found })
    }

    /// Reads and validates the costs between the given rows and columns, row-major.
    pub(in crate::solve) fn read_costs(
        &self,
        left: &[usize],
        right: &[usize],
        cost: &mut Vec<f64>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<()> {
        cost.clear();
        reserve_costs(cost, left.len(), right.len())?;
        for &i in left {
            let row = cost.len();
            if row / COSTS_PER_CHECK != (row + right.len()) / COSTS_PER_CHECK {
                check_canceled(keep_going)?;
            }
            self.push_row(i, right, cost);
            if let Some(at) = first_bad(&cost[row..]) {
                return Err(Error::BadDistance { from: i, to: right[at], value: cost[row + at] });
            }
        }
        Ok(())
    }

    /// Appends the entries of row `i` in some increasing columns.
    pub(in crate::solve) fn push_row(&self, i: usize, columns: &[usize], out: &mut Vec<f64>) {
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

    /// Appends some entries of row `i`, in any order.
    pub(in crate::solve) fn push_some(&self, i: usize, columns: &[usize], out: &mut Vec<f64>) {
        match self.entries {
            Entries::Slice(entries) => {
                let row = &entries[i * self.columns..(i + 1) * self.columns];
                out.extend(columns.iter().map(|&j| row[j]));
            }
            _ => self.push_row(i, columns, out),
        }
    }

    /// Appends all entries of row `i`.
    pub(in crate::solve) fn push_whole_row(&self, i: usize, out: &mut Vec<f64>) {
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

/// Refuses a number of entries that does not match the shape.
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

/// Costs to read between two checks for cancellation.
const COSTS_PER_CHECK: usize = 1 << 22;

/// Finds the first cost that is negative or not finite.
fn first_bad(costs: &[f64]) -> Option<usize> {
    // A first pass in lanes: 0 times a number is 0 if and only if the number is finite.
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

/// Buffers for the positions and masses of one side.
pub(in crate::solve) struct SideMasses<'a> {
    pub(in crate::solve) places: &'a mut Vec<usize>,
    pub(in crate::solve) masses: &'a mut Vec<f64>,
}

impl OnMatrix<'_> {
    /// Refuses a matrix of which no exact engine can hold a copy, before it is read.
    pub(in crate::solve) fn check_memory(&self) -> Result<()> {
        if self.a.len().saturating_mul(self.b.len()) <= COSTS_PER_CHECK {
            return Ok(());
        }
        let with_mass = |masses: &[f64]| masses.iter().filter(|&&mass| mass > 0.0).count();
        let [n, m] = [self.a, self.b].map(with_mass);
        if n != m {
            return Ok(());
        }
        let step = format_args!("exact transport between {n} and {m} points");
        memory::check(step, memory::size_of::<f32>(&[n, m]), FEWER)
    }

    /// Reads the masses of rows and columns, validates them against the costs and the relaxation,
    /// and returns their totals. Only with a penalty may a side have no mass.
    pub(in crate::solve) fn read_masses(
        &self,
        relax: Relaxation<'_>,
        [left, right]: [SideMasses<'_>; 2],
    ) -> Result<[f64; 2]> {
        let total_a = read_masses(0, self.a, left.places, left.masses)?;
        let total_b = read_masses(1, self.b, right.places, right.masses)?;
        for (measure, side) in [left.places, right.places].into_iter().enumerate() {
            if side.is_empty() && !matches!(relax, Relaxation::Penalty(_)) {
                return Err(Error::NoMass { measure });
            }
        }
        self.costs.check_shape(self.a.len(), self.b.len())?;
        if relax.is_balanced() {
            check_totals((0, total_a), (1, total_b))?;
        }
        Ok([total_a, total_b])
    }
}

/// Reads the positions and values of one side's positive masses; returns their total.
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
        // The sum of finite masses may overflow.
        Some(&point) if total.is_infinite() => Err(Error::BadMass { measure, point, value: total }),
        _ => Ok(total),
    }
}
