//! Costs of a matrix: a row-major copy in single precision.
//!
//! Costs in double precision are read from the matrix itself. The copy takes half of its bytes, or
//! as many if the matrix is in single precision, and has a row for each source; sources may be the
//! columns of the matrix. Costs far above the usual ones, such as those of forbidden moves, are
//! lowered to [`MOST`] times the median: bounds stay valid, and the other costs keep their digits.
//! A matrix has no coarser levels.
//!
//! # What was tried
//! Seconds of processor time of the network simplex on a copy of the matrix and of the auction, for
//! n rows and columns, with random costs and with distances in the plane; one run each on a busy
//! machine.
//!
//! | n | costs | masses | simplex | auction |
//! | ---: | --- | --- | ---: | ---: |
//! | 3,000 | random | equal, random | 0.62, 1.25 | 0.34, 0.43 |
//! | 3,000 | plane | equal, random | 0.38, 0.87 | 0.37, 0.81 |
//! | 5,000 | random | equal | 2.94 | 0.90 |
//! | 5,000 | plane | equal, random | 1.88, 2.18 | 0.85, 1.50 |
//!
//! *Scans of the matrix itself*, without the copy in single precision, were not tried: they would
//! read twice the bytes, and one cache line for every cost where the sources are columns.

use rayon::prelude::*;

use super::candidates::{CLOSED, Candidates, LANES, Query};
use super::search::in_parallel;
use super::{AT_ONCE, CostSource, SinglePrecision, rounded_once};
use crate::error::{Error, Result};
use crate::memory;
use crate::numeric::scale::power_of_two;
use crate::numeric::wide_registers::for_wide_registers;
use crate::solve::exact::{KeepGoing, check_canceled};
use crate::solve::problem::matrix::MatrixView;
use crate::tools::parallel;

/// Costs of a matrix from its rows to its columns, or transposed.
pub(super) struct MatrixCosts<'a> {
    entries: Entries<'a>,
    sinks: usize,
    unit: f64,
    /// Upper bound of all costs.
    most: f64,
    /// Costs in units, none above [`LARGEST`], in rows padded to whole blocks.
    single: Vec<f32>,
}

/// Entries of a matrix between some rows and columns, both in increasing order.
struct Entries<'a> {
    view: &'a MatrixView<'a>,
    /// Rows and columns, or columns and rows if the matrix is transposed.
    sides: [Vec<usize>; 2],
    transposed: bool,
}

/// Largest cost in units.
const LARGEST: f64 = 2.0;

/// Upper limit of a cost, as a multiple of the median of some costs.
const MOST: f64 = 256.0;

/// Number of sampled costs of which the median is taken.
const PROBES: usize = 1001;

/// Rows and columns of a tile that is transposed at once and stays in the cache.
const TILE: usize = 64;

impl<'a> MatrixCosts<'a> {
    /// Copies the costs from some sources to some sinks, which are columns and rows if the matrix
    /// is `transposed`. Returns `None` where single precision has no unit for them.
    ///
    /// # Errors
    /// No memory; a cost that is negative or not finite; `Canceled`.
    pub(super) fn new(
        view: &'a MatrixView<'a>,
        sides: [&[usize]; 2],
        transposed: bool,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Option<Self>> {
        let [n, m] = sides.map(<[usize]>::len);
        let width = m.next_multiple_of(LANES);
        let mut single: Vec<f32> = Vec::new();
        let step = format_args!("exact transport between {n} and {m} points");
        memory::resize_room(&mut single, step, n.saturating_mul(width), "give fewer points")?;
        single.resize(n * width, CLOSED);
        let entries = Entries { view, sides: sides.map(<[usize]>::to_vec), transposed };
        let largest = entries.largest(keep_going)?;
        let most = largest.min(MOST * entries.median().unwrap_or(largest));
        let unit = power_of_two(most);
        entries.copy(&mut single, width, |cost| (cost.min(most) / unit) as f32);
        check_canceled(keep_going)?;
        // Checks for costs so large that no unit brings them to 2 or less.
        let is_above = |row: &[f32]| row[..m].iter().any(|&cost| f64::from(cost) > LARGEST);
        let is_beyond = || single.par_chunks_exact(width).any(is_above);
        let has_unit = unit.is_normal() && (1.0 / unit).is_normal() && !is_beyond();
        let most = largest.max(LARGEST * unit);
        Ok(has_unit.then_some(Self { entries, sinks: m, unit, most, single }))
    }

    fn width(&self) -> usize {
        self.sinks.next_multiple_of(LANES)
    }

    fn row(&self, source: usize) -> &[f32] {
        &self.single[source * self.width()..(source + 1) * self.width()]
    }
}

impl CostSource for MatrixCosts<'_> {
    fn sizes(&self) -> [usize; 2] {
        [self.entries.sides[0].len(), self.sinks]
    }

    fn cost(&self, source: usize, sink: usize) -> f64 {
        self.entries.cost(source, sink)
    }

    fn single(&self, source: usize, sink: usize) -> f32 {
        self.row(source)[sink]
    }

    fn precision(&self) -> SinglePrecision {
        let Self { unit, most, .. } = *self;
        SinglePrecision { unit, largest: LARGEST, lost: rounded_once(LARGEST), most }
    }

    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        in_parallel(rows, (self.sinks, 1), |rows, found| {
            for (found, &row) in found.iter_mut().zip(rows) {
                found.begin(row, query);
                scan_row(self.row(row as usize), query, found);
            }
        })
    }

    fn rows_at_once(&self, _rows: usize, _query: &Query<'_>) -> usize {
        AT_ONCE / self.sinks
    }
}

for_wide_registers! {
    /// Finds the least cost + price of a row padded to whole blocks.
    scan_row, scan_row_wide, (costs: &[f32], query: &Query<'_>, found: &mut Candidates), {
        let blocks = costs.as_chunks::<8>().0.as_chunks::<{ LANES / 8 }>().0;
        for (block, costs) in blocks.iter().enumerate() {
            found.offer(block, query.prices, |at, lane| costs[at][lane]);
        }
        found.cut();
    }
}

impl Entries<'_> {
    /// Returns the cost from a source to a sink.
    fn cost(&self, source: usize, sink: usize) -> f64 {
        let (source, sink) = (self.sides[0][source], self.sides[1][sink]);
        if self.transposed { self.view.entry(sink, source) } else { self.view.entry(source, sink) }
    }

    /// Writes all costs into rows of this width.
    fn copy(&self, out: &mut [f32], width: usize, single: impl Fn(f64) -> f32 + Sync) {
        let (n, m) = (self.sides[0].len(), self.sides[1].len());
        out.par_chunks_mut(TILE * width).enumerate().for_each(|(tile, out)| {
            let rows = tile * TILE..n.min((tile + 1) * TILE);
            for first in (0..m).step_by(TILE) {
                let columns = first..m.min(first + TILE);
                // Along the rows of the matrix, whether they are sources or sinks.
                if self.transposed {
                    for column in columns {
                        for (at, row) in rows.clone().enumerate() {
                            out[at * width + column] = single(self.cost(row, column));
                        }
                    }
                } else {
                    for (at, row) in rows.clone().enumerate() {
                        let out = &mut out[at * width..][columns.clone()];
                        for (out, column) in out.iter_mut().zip(columns.clone()) {
                            *out = single(self.cost(row, column));
                        }
                    }
                }
            }
        });
    }

    /// Checks all costs and returns the largest.
    fn largest(&self, keep_going: &KeepGoing<'_>) -> Result<f64> {
        let [sources, sinks] = &self.sides;
        let (rows, columns) = if self.transposed { (sinks, sources) } else { (sources, sinks) };
        check_canceled(keep_going)?;
        let largest = |&i: &usize| {
            let mut row = Vec::with_capacity(columns.len());
            self.view.push_row(i, columns, &mut row);
            let mut largest = 0.0;
            for (&cost, &j) in row.iter().zip(columns) {
                if !(0.0..f64::INFINITY).contains(&cost) {
                    return Err(Error::BadDistance { from: i, to: j, value: cost });
                }
                largest = if cost > largest { cost } else { largest };
            }
            Ok(largest)
        };
        // Reports the first bad entry, whatever the order of the threads.
        let all: Vec<Result<f64>> = parallel::map(rows.len(), |at| largest(&rows[at]));
        let all: Result<Vec<f64>> = all.into_iter().collect();
        Ok(all?.into_iter().fold(0.0, f64::max))
    }

    /// Computes the median of some costs; `None` where it is 0.
    fn median(&self) -> Option<f64> {
        let (n, m) = (self.sides[0].len(), self.sides[1].len());
        let some = |k: usize| self.cost(k * 7919 % n, k * 104_729 % m);
        let mut some: Vec<f64> = (0..PROBES).map(some).collect();
        let (_, median, _) = some.select_nth_unstable_by(PROBES / 2, f64::total_cmp);
        Some(*median).filter(|&median| median > 0.0)
    }
}
