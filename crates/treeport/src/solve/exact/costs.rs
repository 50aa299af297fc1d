//! Problems given by costs alone, with no metric around them.
//!
//! Rows give and columns take. Nothing is promised about the costs: the two sides need not be the
//! same points, nor of the same number, and the way back may cost something else. So no mass stays
//! put for nothing, as it may under the triangle inequality.

use std::fmt;

use super::{GoesOn, Solution, Solver, ask, reused, room_for_costs};
use crate::error::{Error, Result};
use crate::measure::check_totals;
use crate::progress::{Progress, SOLVING, State, silent};

/// What it costs to bring a unit of mass from every row to every column.
///
/// Only the costs of rows and columns with mass are ever read, and only those have to be finite and
/// at least 0.
#[derive(Clone, Copy)]
pub struct CostMatrix<'a> {
    rows: usize,
    columns: usize,
    costs: Costs<'a>,
}

#[derive(Clone, Copy)]
enum Costs<'a> {
    Rows(&'a [f64]),
    Function(&'a (dyn Fn(usize, usize) -> f64 + Sync)),
}

impl<'a> CostMatrix<'a> {
    /// A matrix, row after row.
    ///
    /// # Errors
    /// A number of costs that is not `rows` times `columns`.
    pub fn new(rows: usize, columns: usize, costs: &'a [f64]) -> Result<Self> {
        if rows.checked_mul(columns) != Some(costs.len()) {
            return Err(wrong_shape((rows, columns), format!("({},)", costs.len())));
        }
        Ok(Self { rows, columns, costs: Costs::Rows(costs) })
    }

    /// Costs by row and column, such as those of a matrix in another layout.
    pub fn from_fn(
        rows: usize,
        columns: usize,
        cost: &'a (dyn Fn(usize, usize) -> f64 + Sync),
    ) -> Self {
        Self { rows, columns, costs: Costs::Function(cost) }
    }

    /// Reads what has mass: of either side the numbers and the masses, and the costs between the
    /// two, row after row. Returns the totals, which are equal as far as transport asks.
    pub(crate) fn read(
        &self,
        (a, left, supply): (&[f64], &mut Vec<usize>, &mut Vec<f64>),
        (b, right, demand): (&[f64], &mut Vec<usize>, &mut Vec<f64>),
        cost: &mut Vec<f64>,
        goes_on: &GoesOn<'_>,
    ) -> Result<(f64, f64)> {
        let totals = self.read_sides((a, left, supply), (b, right, demand))?;
        check_totals((0, totals.0), (1, totals.1))?;
        self.read_costs(left, right, cost, goes_on)?;
        Ok(totals)
    }

    /// The numbers and masses of what has mass; returns the totals, whatever they are.
    pub(super) fn read_sides(
        &self,
        (a, left, supply): (&[f64], &mut Vec<usize>, &mut Vec<f64>),
        (b, right, demand): (&[f64], &mut Vec<usize>, &mut Vec<f64>),
    ) -> Result<(f64, f64)> {
        let left_total = read_masses(0, a, left, supply)?;
        let right_total = read_masses(1, b, right, demand)?;
        if (self.rows, self.columns) != (a.len(), b.len()) {
            let found = format!("({}, {})", self.rows, self.columns);
            return Err(wrong_shape((a.len(), b.len()), found));
        }
        Ok((left_total, right_total))
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

    /// The numbers of rows and columns.
    pub(super) fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Appends what row `i` costs to some columns.
    pub(super) fn push_row(&self, i: usize, columns: &[usize], out: &mut Vec<f64>) {
        match self.costs {
            Costs::Function(cost) => out.extend(columns.iter().map(|&j| cost(i, j))),
            Costs::Rows(costs) => {
                let row = &costs[i * self.columns..(i + 1) * self.columns];
                if columns.len() == row.len() {
                    out.extend_from_slice(row);
                } else {
                    out.extend(columns.iter().map(|&j| row[j]));
                }
            }
        }
    }
}

impl fmt::Debug for CostMatrix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CostMatrix({}, {})", self.rows, self.columns)
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

/// The entries with mass, and the total.
fn read_masses(
    measure: usize,
    masses: &[f64],
    at: &mut Vec<usize>,
    positive: &mut Vec<f64>,
) -> Result<f64> {
    if masses.is_empty() {
        return Err(Error::NoPoints);
    }
    if masses.len() > u32::MAX as usize {
        return Err(Error::TooManyPoints { count: masses.len(), max: u32::MAX as usize });
    }
    at.clear();
    positive.clear();
    let mut total = 0.0;
    for (point, &mass) in masses.iter().enumerate() {
        if !(0.0..f64::INFINITY).contains(&mass) {
            return Err(Error::BadMass { measure, point, value: mass });
        }
        if mass > 0.0 {
            at.push(point);
            positive.push(mass);
            total += mass;
        }
    }
    match at.first() {
        None => Err(Error::NoMass { measure }),
        // Masses that are finite one by one may not be together.
        Some(&point) if total.is_infinite() => Err(Error::BadMass { measure, point, value: total }),
        Some(_) => Ok(total),
    }
}

fn wrong_shape((rows, columns): (usize, usize), found: String) -> Error {
    Error::Shape { what: "the cost matrix".into(), expected: format!("({rows}, {columns})"), found }
}

/// The cost of an optimal plan from masses `a` of the rows to masses `b` of the columns.
///
/// Entries without mass are skipped. The answer is proved as that of
/// [`distance`](super::distance()) is.
///
/// # Errors
/// A mass or a cost that is negative or not finite, totals that differ, a side without mass, costs
/// of another shape or of more than memory holds, or an answer that cannot be proved.
///
/// # Complexity
/// That of the rows and columns with mass, and a look at every mass.
///
/// # Example
/// ```
/// use treeport::exact::{self, CostMatrix};
/// // Two rows, three columns; the last row and column cross over at no cost.
/// let costs = CostMatrix::new(2, 3, &[1.0, 2.0, 9.0, 8.0, 9.0, 0.0])?;
/// assert_eq!(exact::between(&[0.5, 0.5], &[0.25, 0.25, 0.5], &costs)?, 0.75);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn between(a: &[f64], b: &[f64], costs: &CostMatrix<'_>) -> Result<f64> {
    reused(|solver| {
        solver.prepare_between(a, b, costs, &|| true)?;
        Ok(solver.certified(&|| true)?.0)
    })
}

/// An optimal plan from masses `a` of the rows to masses `b` of the columns, with its dual values
/// and its proof. Plan and dual values go by the numbers of rows and columns.
///
/// # Errors
/// As [`between`].
///
/// # Example
/// ```
/// use treeport::exact::{self, CostMatrix};
/// let costs = CostMatrix::from_fn(2, 2, &|i, j| if i < j { 3.0 } else { 1.0 });
/// let solution = exact::solve_between(&[0.5, 0.5], &[0.0, 1.0], &costs)?;
/// assert_eq!(solution.value, 2.0);
/// assert!(solution.plan.iter().any(|step| step == (0, 1, 0.5)));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn solve_between(a: &[f64], b: &[f64], costs: &CostMatrix<'_>) -> Result<Solution> {
    solve_between_watched(a, b, costs, &silent)
}

/// [`solve_between`] that can be stopped; `progress` hears that it works, not how far it is.
///
/// # Errors
/// As [`between`], and [`Error::Cancelled`] when `progress` asks to stop.
pub fn solve_between_watched(
    a: &[f64],
    b: &[f64],
    costs: &CostMatrix<'_>,
    progress: &Progress<'_>,
) -> Result<Solution> {
    let goes_on = || progress(&State::new(SOLVING, 0, None));
    reused(|solver| {
        solver.prepare_between(a, b, costs, &goes_on)?;
        solver.solution(&goes_on)
    })
}

impl Solver {
    /// Lays out a problem that costs alone say.
    fn prepare_between(
        &mut self,
        a: &[f64],
        b: &[f64],
        costs: &CostMatrix<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        self.shared.clear();
        let Self { left, right, supply, demand, cost, .. } = self;
        let (given, taken) = costs.read((a, left, supply), (b, right, demand), cost, goes_on)?;
        let factor = super::rescaling(given, taken);
        for mass in demand.iter_mut() {
            *mass *= factor;
        }
        super::balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
        Ok(())
    }
}
