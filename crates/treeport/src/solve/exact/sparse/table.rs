//! Costs of a matrix for the auction: rows in single precision, so that a source looks through them as it
//! looks through points.
//!
//! The matrix itself is read where it lies, whenever a cost is wanted in double precision. Rows here take half
//! of its bytes, or as many as it has in single precision, and come in the order of the sources: those may
//! be its columns. Costs far above the usual ones, such as those of moves that are forbidden, are lowered to
//! [`MOST`] times that: bounds stay bounds, and the others keep their digits.
//!
//! There is nothing coarser than a matrix, so that the auction begins with all sources and no prices.
//!
//! # What was tried
//! Seconds of processor time, by the network simplex on a copy of the matrix and here, n rows and columns, costs that
//! are random and distances in the plane; one run each on a busy machine.
//!
//! | n | costs | masses | simplex | here |
//! | ---: | --- | --- | ---: | ---: |
//! | 3,000 | random | equal, random | 0.62, 1.25 | 0.34, 0.43 |
//! | 3,000 | plane | equal, random | 0.38, 0.87 | 0.37, 0.81 |
//! | 5,000 | random | equal | 2.94 | 0.90 |
//! | 5,000 | plane | equal, random | 1.88, 2.18 | 0.85, 1.50 |
//!
//! *Rows of the matrix as they are*, without the copy in single precision, were not tried: looks would read twice the
//! bytes, and columns of the matrix, where those are the sources, one line of the cache for every cost.

use rayon::prelude::*;

use super::super::{GoesOn, ask};
use crate::error::{Error, Result};
use crate::memory;
use crate::parallel;
use crate::solve::matrix::MatrixView;
use crate::units::power_of_two;

/// Costs of a matrix between rows and columns, which are sources and sinks or the other way round.
#[derive(Clone, Copy)]
pub(in crate::solve::exact) struct MatrixCosts<'a> {
    pub(in crate::solve::exact) view: &'a MatrixView<'a>,
    /// Whether sources are columns.
    pub(in crate::solve::exact) is_turned: bool,
}

/// Costs in single precision, in rows of whole blocks.
pub(super) struct SingleRows {
    pub(super) width: usize,
    pub(super) costs: Vec<f32>,
    /// A cost of 1 here is this much outside; none is above 2.
    pub(super) worth: f64,
}

impl SingleRows {
    /// Whether costs are so large that no unit brings them to 2 and less.
    pub(super) fn is_beyond(&self) -> bool {
        self.costs.par_chunks(1 << 16).any(|costs| costs.iter().any(|&cost| cost > 2.0))
    }
}

/// The most that a cost may be, in medians of some of them.
const MOST: f64 = 256.0;

/// Costs of which the median is taken.
const PROBES: usize = 1001;

/// Rows and columns that are turned at once: they stay in the cache.
const TILE: usize = 64;

impl MatrixCosts<'_> {
    /// The cost from a source to a sink.
    pub(super) fn cost(&self, source: usize, sink: usize) -> f64 {
        if self.is_turned { self.view.entry(sink, source) } else { self.view.entry(source, sink) }
    }

    /// The costs from some sources to some sinks, both in increasing order, in rows of a multiple of `lanes`.
    ///
    /// # Errors
    /// No room; a cost that is negative or not finite; `Cancelled`, where it shall not go on.
    pub(super) fn in_single_rows(
        &self,
        [sources, sinks]: [&[usize]; 2],
        lanes: usize,
        goes_on: &GoesOn<'_>,
    ) -> Result<SingleRows> {
        let width = sinks.len().next_multiple_of(lanes);
        let (n, m) = (sources.len(), sinks.len());
        let mut costs: Vec<f32> = Vec::new();
        let step = format_args!("exact transport between {n} and {m} points");
        memory::resize_room(&mut costs, step, n.saturating_mul(width), "give fewer points")?;
        costs.resize(n * width, 0.0);
        let largest = self.largest([sources, sinks], goes_on)?;
        let most = largest.min(MOST * self.median([sources, sinks]).unwrap_or(largest));
        let worth = power_of_two(most);
        let single = |cost: f64| (cost.min(most) / worth) as f32;
        costs.par_chunks_mut(TILE * width).zip(sources.par_chunks(TILE)).for_each(|(out, rows)| {
            for (at, columns) in sinks.chunks(TILE).enumerate() {
                // Along the rows of the matrix, whichever side they are.
                if self.is_turned {
                    for (k, &column) in columns.iter().enumerate() {
                        for (row, &source) in rows.iter().enumerate() {
                            out[row * width + at * TILE + k] = single(self.cost(source, column));
                        }
                    }
                } else {
                    for (row, &source) in rows.iter().enumerate() {
                        let out = &mut out[row * width + at * TILE..][..columns.len()];
                        for (out, &column) in out.iter_mut().zip(columns) {
                            *out = single(self.cost(source, column));
                        }
                    }
                }
            }
        });
        ask(goes_on)?;
        Ok(SingleRows { width, costs, worth })
    }

    /// The largest cost, all of them checked.
    fn largest(&self, [sources, sinks]: [&[usize]; 2], goes_on: &GoesOn<'_>) -> Result<f64> {
        let (rows, columns) = if self.is_turned { (sinks, sources) } else { (sources, sinks) };
        ask(goes_on)?;
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
        // The first that is wrong, whoever finds one first.
        let all: Vec<Result<f64>> = parallel::map(rows.len(), |at| largest(&rows[at]));
        let all: Result<Vec<f64>> = all.into_iter().collect();
        Ok(all?.into_iter().fold(0.0, f64::max))
    }

    /// The median of some costs; nothing where that is 0.
    fn median(&self, [sources, sinks]: [&[usize]; 2]) -> Option<f64> {
        let some = |k: usize| {
            self.cost(sources[k * 7919 % sources.len()], sinks[k * 104_729 % sinks.len()])
        };
        let mut some: Vec<f64> = (0..PROBES).map(some).collect();
        let (_, median, _) = some.select_nth_unstable_by(PROBES / 2, f64::total_cmp);
        Some(*median).filter(|&median| median > 0.0)
    }
}
