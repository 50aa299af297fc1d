//! Costs of a matrix: a row-major copy in single precision.
//!
//! Costs in double precision are read from the matrix itself. The copy takes half of its bytes, or
//! as many if the matrix is in single precision, and has a row for each source; sources may be the
//! columns of the matrix. Costs far above the usual ones, such as those of forbidden moves, are
//! lowered to [`MOST`] times those: bounds stay valid, and the other costs keep their digits.
//!
//! Sources are in the order of a k-d tree over their costs to [`LANDMARKS`] sinks, and sinks
//! likewise. So neighbors follow each other wherever costs are distances, and a matrix has coarser
//! levels like points. A scan reads the least cost of every block, and only those blocks whose
//! least cost + least price is below its limit.
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
//! 3,000 rows and columns, distances in the plane and in R³⁰; processor time over that of the
//! coordinates of the same points, equal and random masses. Without levels and blocks sources of a
//! shifted side scanned 80 times, and took up to 4.6 times as long.
//!
//! | plane | shifted | R³⁰ |
//! | --- | --- | --- |
//! | 1.6, 1.8 | 1.6, 1.4 | 1.7, 1.0 |
//!
//! The rest is the copy, and a simplex where coordinates take paths, or a lower ε:
//! - *Paths and the lower ε of lengths* where masses are equal: 1.3 instead of 1.6 where one side
//!   is shifted, no difference uniform. With random masses 1.8 instead of 1.4. A matrix does not
//!   say whether its costs are lengths, and both are bad where they are squares.
//! - *The median of all costs* instead of large quartiles of rows and columns as a usual cost: in a
//!   mixture of scales it may be that of near points alone. Then all costs of far points are
//!   lowered, and the table has to answer.
//!
//! *Scans of the matrix itself*, without the copy in single precision, were not tried: they would
//! read twice the bytes, and one cache line for every cost where the sources are columns.

use rayon::prelude::*;

use super::candidates::{CLOSED, Candidates, LANES, Prices, Query, key, value_of};
use super::groups::{self, Groups};
use super::kd_points::order_of;
use super::search::in_parallel;
use super::{AT_ONCE, Coarser, CostSource, SinglePrecision, rounded_once};
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
    /// Upper bound of all costs in single precision, in multiples of `unit`.
    largest: f64,
    /// Upper bound of all costs.
    most: f64,
    /// Costs in multiples of `unit`, none above [`LARGEST`], in rows padded to whole blocks.
    single: Vec<f32>,
    /// Least cost of every block, row by row.
    least: Vec<f32>,
}

/// Entries of a matrix between selected rows and columns.
struct Entries<'a> {
    view: &'a MatrixView<'a>,
    /// Rows and columns, or columns and rows if the matrix is transposed.
    sides: [Vec<usize>; 2],
    transposed: bool,
}

/// Largest cost in single precision.
const LARGEST: f64 = 2.0;

/// Upper limit of a cost, as a multiple of a usual one.
const MOST: f64 = 256.0;

/// Number of sampled sources and of sampled sinks, and of sampled costs of each.
const PROBES: usize = 48;

/// Rows and columns of a tile that is transposed at once and stays in the cache.
const TILE: usize = 64;

/// Number of sinks by whose costs sources are ordered, and of sources for sinks.
const LANDMARKS: usize = 16;

/// Ratio of the radius of groups to the mean cost above which sources of a group differ so much
/// that none represents the others: costs are no distances.
const WIDE: f32 = 0.5;

/// Number of blocks of least bound that a scan reads first.
const FIRST: usize = 2;

impl<'a> MatrixCosts<'a> {
    /// Copies the costs from the given sources to the given sinks, which are columns and rows if
    /// the matrix is `transposed`; returns them with the indices of their sources and sinks in the
    /// sides, or `None` where single precision has no unit for them.
    ///
    /// # Errors
    /// No memory; a cost that is negative or not finite; `Canceled`.
    pub(super) fn new(
        view: &'a MatrixView<'a>,
        sides: [&[usize]; 2],
        transposed: bool,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Option<(Self, [Vec<u32>; 2])>> {
        let [n, m] = sides.map(<[usize]>::len);
        let width = m.next_multiple_of(LANES);
        let mut single: Vec<f32> = Vec::new();
        let step = format_args!("exact transport between {n} and {m} points");
        memory::resize_room(&mut single, step, n.saturating_mul(width), "give fewer points")?;
        single.resize(n * width, CLOSED);
        let mut entries = Entries { view, sides: sides.map(<[usize]>::to_vec), transposed };
        let most = entries.usual().map(|usual| MOST * usual).filter(|most| most.is_finite());
        let most = match most {
            Some(most) => most,
            None => entries.largest(keep_going)?,
        };
        let unit = power_of_two(most);
        let in_order = Entries { sides: entries.sides.clone(), ..entries };
        let places = entries.order(most);
        check_canceled(keep_going)?;
        let largest = entries.copy(&mut single, width, |cost| (cost.min(most) / unit) as f32);
        check_canceled(keep_going)?;
        let Some(largest) = largest else {
            return in_order.largest(keep_going).map(|_| None);
        };
        // No unit brings costs that are too large to 2 or less.
        let in_units = f64::from((largest.min(most) / unit) as f32);
        let has_unit = unit.is_normal() && (1.0 / unit).is_normal() && in_units <= LARGEST;
        let most = largest.max(LARGEST * unit);
        Ok(has_unit.then(|| (Self::of_single(entries, [unit, in_units, most], single), places)))
    }

    /// Creates costs from a copy in single precision.
    fn of_single(entries: Entries<'a>, bounds: [f64; 3], single: Vec<f32>) -> Self {
        let [unit, largest, most] = bounds;
        let least = |block: &[f32]| block.iter().copied().fold(f32::INFINITY, f32::min);
        let least = single.par_chunks_exact(LANES).with_min_len(TILE).map(least).collect();
        let sinks = entries.sides[1].len();
        Self { entries, sinks, unit, largest, most, single, least }
    }

    /// Returns the costs from the given sources to the given sinks, or with `back` from these sinks
    /// to these sources.
    fn part(&self, sources: &[u32], sinks: &[u32], back: bool) -> Self {
        let Entries { view, sides, transposed } = &self.entries;
        let some = |side: usize, places: &[u32]| -> Vec<usize> {
            places.iter().map(|&place| sides[side][place as usize]).collect()
        };
        let sides = [some(0, sources), some(1, sinks)];
        let (rows, columns) = if back { (sinks, sources) } else { (sources, sinks) };
        let width = columns.len().next_multiple_of(LANES);
        let mut single = vec![CLOSED; rows.len() * width];
        single.par_chunks_mut(TILE * width).enumerate().for_each(|(tile, out)| {
            let rows = &rows[tile * TILE..rows.len().min((tile + 1) * TILE)];
            for (first, columns) in columns.chunks(TILE).enumerate() {
                let mut set = |at: usize, column: usize, cost: f32| {
                    out[at * width + first * TILE + column] = cost;
                };
                if back {
                    for (column, &source) in columns.iter().enumerate() {
                        let costs = self.row(source as usize);
                        let rows = rows.iter().enumerate();
                        rows.for_each(|(at, &sink)| set(at, column, costs[sink as usize]));
                    }
                } else {
                    for (at, &source) in rows.iter().enumerate() {
                        let costs = self.row(source as usize);
                        let columns = columns.iter().enumerate();
                        columns.for_each(|(column, &sink)| set(at, column, costs[sink as usize]));
                    }
                }
            }
        });
        let [of_sources, of_sinks] = sides;
        let sides = if back { [of_sinks, of_sources] } else { [of_sources, of_sinks] };
        let entries = Entries { view, sides, transposed: *transposed != back };
        Self::of_single(entries, [self.unit, self.largest, self.most], single)
    }

    /// Groups sources, or sinks. The radius of a range is the mean difference of the costs of its
    /// points and its middle one to some sinks, or from some sources, where it is largest.
    fn groups(&self, side: usize, group: usize) -> (Groups, f32) {
        let [n, m] = self.sizes();
        let others = landmarks([m, n][side]);
        let cost = |place: usize, other: usize| match side {
            0 => self.row(place)[other],
            _ => self.row(other)[place],
        };
        Groups::new([n, m][side], group, |range| {
            let middle = groups::middle(&range);
            let apart = |place: usize| {
                let apart = others.iter().map(|&other| cost(place, other) - cost(middle, other));
                apart.fold(0.0, |most: f32, apart| most.max(apart.abs()))
            };
            range.clone().map(apart).sum::<f32>() / range.len() as f32
        })
    }

    fn width(&self) -> usize {
        self.sinks.next_multiple_of(LANES)
    }

    fn row(&self, source: usize) -> &[f32] {
        &self.single[source * self.width()..(source + 1) * self.width()]
    }

    /// Finds the candidates of all sources by scans of whole rows.
    #[cfg(test)]
    pub(super) fn scan_all(&self, query: &Query<'_>) -> Vec<Candidates> {
        let scan = |source: usize| {
            let mut found = Candidates::default();
            found.begin(source as u32, query);
            scan_row(self.row(source), query, &mut found);
            found
        };
        (0..self.sizes()[0]).map(scan).collect()
    }

    /// Returns the least cost of every block of a row.
    fn least(&self, source: usize) -> &[f32] {
        let blocks = self.width() / LANES;
        &self.least[source * blocks..(source + 1) * blocks]
    }
}

/// Returns the indices of at most [`LANDMARKS`] of `count` sources or sinks, evenly spaced.
fn landmarks(count: usize) -> Vec<usize> {
    (0..LANDMARKS.min(count)).map(|at| at * count / LANDMARKS.min(count)).collect()
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
        let Self { unit, largest, most, .. } = *self;
        SinglePrecision { unit, largest, lost: rounded_once(largest), most }
    }

    fn prices(&self, of: Vec<f32>) -> Prices {
        let mut prices = Prices::padded(of);
        self.refresh(&mut prices);
        prices
    }

    /// Updates the least price of every block.
    fn refresh(&self, prices: &mut Prices) {
        let least = |block: &[f32]| block.iter().copied().fold(f32::INFINITY, f32::min);
        prices.least.clear();
        prices.least.extend(prices.of.chunks_exact(LANES).map(least));
    }

    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        in_parallel(rows, (self.sinks, 1), |rows, found| {
            for (found, &row) in found.iter_mut().zip(rows) {
                found.begin(row, query);
                scan_blocks(self.row(row as usize), self.least(row as usize), query, found);
            }
        })
    }

    fn coarser(&self, group: usize) -> Option<Coarser<'_>> {
        let [(sources, left), (sinks, right)] = [0, 1].map(|side| self.groups(side, group));
        let reach = left.min(right);
        let mean = landmarks(self.sizes()[0]).into_iter().map(|source| {
            let sinks = landmarks(self.sinks);
            sinks.iter().map(|&sink| self.row(source)[sink]).sum::<f32>() / sinks.len() as f32
        });
        let mean = mean.sum::<f32>() / LANDMARKS.min(self.sizes()[0]) as f32;
        if reach > WIDE * mean {
            return None;
        }
        let middles = [&sources, &sinks].map(|groups| groups.middles().collect::<Vec<_>>());
        let all: Vec<u32> = (0..self.sinks as u32).collect();
        let costs = Box::new(self.part(&middles[0], &middles[1], false));
        let back = Box::new(self.part(&middles[0], &all, true));
        Some(Coarser { costs, back, groups: [sources, sinks], reach })
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

for_wide_registers! {
    /// Finds the least cost + price of a row padded to whole blocks, of which these are the least
    /// costs: first in the blocks of least bound, and then in those below the limit.
    scan_blocks, scan_blocks_wide,
    (costs: &[f32], least: &[f32], query: &Query<'_>, found: &mut Candidates), {
        let blocks = costs.as_chunks::<8>().0.as_chunks::<{ LANES / 8 }>().0;
        let prices = &query.prices.least[..least.len()];
        let bounds = least.iter().zip(prices).zip(0..);
        let bounds = bounds.map(|((cost, price), at)| key(cost + price, at));
        let mut bounds: Vec<u64> = bounds.collect();
        if bounds.len() > FIRST {
            bounds.select_nth_unstable(FIRST);
        }
        for bound in bounds {
            if value_of(bound) < found.limit {
                let block = bound as u32 as usize;
                let costs = &blocks[block];
                found.offer(block, query.prices, |at, lane| costs[at][lane]);
            }
        }
        found.cut();
    }
}

impl Entries<'_> {
    /// Puts sources and sinks into the order of a k-d tree over their costs to the landmarks of the
    /// other side, none above `most`; returns their former positions.
    fn order(&mut self, most: f64) -> [Vec<u32>; 2] {
        let sizes = self.sides.each_ref().map(Vec::len);
        let places = [0, 1].map(|side: usize| {
            let others = landmarks(sizes[1 - side]);
            let dim = others.len();
            let cost = |at: usize| {
                let (place, other) = (at / dim, others[at % dim]);
                if side == 0 { self.cost(place, other) } else { self.cost(other, place) }
            };
            let all = (0..sizes[side] * dim).map(|at| cost(at).min(most));
            let vectors: Vec<f64> = all.collect();
            order_of(sizes[side], dim, |place| &vectors[place as usize * dim..][..dim])
        });
        for (side, places) in self.sides.iter_mut().zip(&places) {
            *side = places.iter().map(|&place| side[place as usize]).collect();
        }
        places
    }

    /// Returns the cost from a source to a sink.
    fn cost(&self, source: usize, sink: usize) -> f64 {
        let (source, sink) = (self.sides[0][source], self.sides[1][sink]);
        if self.transposed { self.view.entry(sink, source) } else { self.view.entry(source, sink) }
    }

    /// Writes all costs into rows of this width; returns the largest, or `None` if any is negative
    /// or not finite.
    fn copy(
        &self,
        out: &mut [f32],
        width: usize,
        single: impl Fn(f64) -> f32 + Sync,
    ) -> Option<f64> {
        let [sources, sinks] = &self.sides;
        let largest = |(rows, out): (&[usize], &mut [f32])| {
            let (mut largest, mut row) = (0.0f64, Vec::new());
            let mut is_cost = true;
            let mut take = |cost: f64| {
                is_cost &= (0.0..f64::INFINITY).contains(&cost);
                largest = if cost > largest { cost } else { largest };
                single(cost)
            };
            // Along the rows of the matrix, whether they are sources or sinks.
            if self.transposed {
                for (column, &sink) in sinks.iter().enumerate() {
                    row.clear();
                    self.view.push_some(sink, rows, &mut row);
                    for (at, &cost) in row.iter().enumerate() {
                        out[at * width + column] = take(cost);
                    }
                }
            } else {
                for (&source, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
                    row.clear();
                    self.view.push_some(source, sinks, &mut row);
                    out.iter_mut().zip(&row).for_each(|(out, &cost)| *out = take(cost));
                }
            }
            is_cost.then_some(largest)
        };
        let tiles = sources.par_chunks(TILE).zip(out.par_chunks_mut(TILE * width));
        let all: Option<Vec<f64>> = tiles.map(largest).collect();
        all.map(|all| all.into_iter().fold(0.0, f64::max))
    }

    /// Checks all costs and returns the largest. Sources and sinks have to be in increasing order.
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

    /// Estimates the costs of nearly all sources and sinks: of the lower quartile of the costs of
    /// each of some, one of the largest. Returns `None` where it is not positive or not finite.
    ///
    /// In a mixture of scales the median of all costs may be far below all costs of some source.
    fn usual(&self) -> Option<f64> {
        let sizes = self.sides.each_ref().map(Vec::len);
        let quartile = |side: usize, place: usize, first: usize| {
            let cost = |at: usize| {
                let other = probe(first + at, sizes[1 - side]);
                if side == 0 { self.cost(place, other) } else { self.cost(other, place) }
            };
            let mut some: Vec<f64> = (0..PROBES).map(cost).collect();
            *some.select_nth_unstable_by(PROBES / 4, f64::total_cmp).1
        };
        let of_side = |side: usize| {
            let quartiles =
                (0..PROBES).map(|at| quartile(side, probe(at, sizes[side]), at * PROBES));
            let mut quartiles: Vec<f64> = quartiles.collect();
            *quartiles.select_nth_unstable_by(PROBES * 15 / 16, f64::total_cmp).1
        };
        let usual = of_side(0).max(of_side(1));
        (usual > 0.0 && usual.is_finite()).then_some(usual)
    }
}

/// Returns an index below `count`; the indices of consecutive `at` are spread evenly and share no
/// period with the data.
fn probe(at: usize, count: usize) -> usize {
    let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    (mixed as usize * count) >> 32
}
