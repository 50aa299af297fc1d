//! The points that a collection uses, and distances to them.
//!
//! The points of the reference come first, then those that most measures have before others, so that
//! what is asked for most lies together; then points that none has, if they are not many more. The distances from a
//! point to all of them are a row; rows are worked out when a query first needs them and kept as long
//! as there is room. Bounds take distances in single precision and in a unit of about the typical
//! one, never above the truth; exact transport takes them as they are.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Result;
use crate::measure::Measures;
use crate::memory;
use crate::metric::{GroundMetric, lowered};
use crate::solve::single_problem::{smaller, smallest};
use crate::units::power_of_two;
use crate::wide::for_wide_registers;

/// Stands for the column of a point that has none.
pub(super) const NO_COLUMN: u32 = u32::MAX;

const LANES: usize = 8;

/// Distances from any point to those of a collection.
#[derive(Debug)]
pub(super) struct IndexedPoints {
    pub(super) metric: GroundMetric,
    /// The point of every column, and the column of every point.
    pub(super) points: Vec<u32>,
    pub(super) column_of: Vec<u32>,
    /// How many of them the collection uses; these come first.
    pub(super) used: usize,
    /// A power of two, about the distance between typical points.
    pub(super) unit: f64,
    /// Whether distances to all columns are searches of a graph: then there are no rows. Decided once,
    /// because a metric may learn all distances later.
    searched: bool,
    kept: Vec<OnceLock<Row>>,
    /// Rows that may still be kept.
    room: AtomicUsize,
}

/// The distances from one point to all columns: lowered and in units, and as they are.
#[derive(Debug)]
struct Row {
    single: Box<[f32]>,
    exact: Box<[f64]>,
}

/// The distances from every point of one measure to all columns.
#[derive(Debug, Default)]
pub(super) struct QueryCosts {
    points: Vec<usize>,
    /// Where the row of each point begins, if it is not among the rows that are kept for all measures.
    at: Vec<Option<usize>>,
    single: Vec<f32>,
    exact: Vec<f64>,
}

impl IndexedPoints {
    /// The points of a collection, of which up to `bytes` of rows are kept; `first` are points of the
    /// collection that come first.
    pub(super) fn new(
        metric: &GroundMetric,
        measures: &Measures,
        first: &[usize],
        bytes: u64,
    ) -> Self {
        let mut count = vec![0u32; metric.points()];
        for measure in measures.iter() {
            measure.support().iter().for_each(|&point| count[point as usize] += 1);
        }
        let used = count.iter().filter(|&&count| count > 0).count();
        for &point in first {
            count[point] = u32::MAX;
        }
        let mut points: Vec<u32> = (0..count.len() as u32).collect();
        points.sort_by_key(|&point| std::cmp::Reverse(count[point as usize]));
        if points.len() > 2 * used {
            points.truncate(used);
        }
        Self::with_order(metric, points, used, bytes)
    }

    /// These points, in this order.
    pub(super) fn with_order(
        metric: &GroundMetric,
        points: Vec<u32>,
        used: usize,
        bytes: u64,
    ) -> Self {
        let column_of = columns_of(metric, &points);
        // What is kept does not change an answer, so it may depend on the machine.
        let bytes = memory::available().map_or(bytes, |spare| bytes.min(spare / 2));
        let room = usize::try_from(bytes / Self::row_size(points.len())).unwrap_or(usize::MAX);
        let searched = metric.is_searched() || metric.is_indexed();
        let rows = if searched { 0 } else { metric.points() };
        let kept = (0..rows).map(|_| OnceLock::new()).collect();
        let room = AtomicUsize::new(room);
        Self { metric: metric.clone(), points, column_of, used, unit: 1.0, searched, kept, room }
    }

    /// Leaves out all columns but these, ascending.
    pub(super) fn keep_columns(&mut self, columns: &[u32]) {
        self.used = columns.iter().filter(|&&column| (column as usize) < self.used).count();
        self.points = columns.iter().map(|&column| self.points[column as usize]).collect();
        self.column_of = columns_of(&self.metric, &self.points);
        for row in self.kept.iter_mut().filter_map(OnceLock::get_mut) {
            row.single = columns.iter().map(|&column| row.single[column as usize]).collect();
            row.exact = columns.iter().map(|&column| row.exact[column as usize]).collect();
        }
    }

    /// Bytes of a row of so many columns.
    pub(super) fn row_size(columns: usize) -> u64 {
        12 * columns.max(1) as u64
    }

    /// Leaves room for so many bytes beside the rows.
    pub(super) fn leave_room(&self, bytes: u64) {
        let rows = usize::try_from(bytes / Self::row_size(self.points.len())).unwrap_or(usize::MAX);
        let less = |room: usize| Some(room.saturating_sub(rows));
        let _ = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Takes a typical distance as the unit.
    pub(super) fn set_unit(&mut self, typical: f64) {
        self.unit = power_of_two(typical);
    }

    /// Whether distances to all columns are the searches of a graph: then there are no rows.
    pub(super) fn by_search(&self) -> bool {
        self.searched
    }

    fn kept(&self, point: usize) -> Option<&Row> {
        self.kept.get(point)?.get()
    }

    /// Computes the rows of some points, unless they are kept; none where they would be searches.
    pub(super) fn fill_costs(
        &self,
        points: impl Iterator<Item = usize>,
        costs: &mut QueryCosts,
    ) -> Result<()> {
        costs.points.clear();
        costs.at.clear();
        if self.by_search() {
            return Ok(());
        }
        costs.points.extend(points);
        let missing: Vec<usize> =
            costs.points.iter().copied().filter(|&point| self.kept(point).is_none()).collect();
        if !missing.is_empty() {
            self.compute_rows(&missing, costs)?;
        }
        // Not what is kept by now: another thread may have kept a row that was worked out here too.
        let (mut next, mut missing) = (0, missing.into_iter().peekable());
        for &point in &costs.points {
            if missing.next_if_eq(&point).is_none() {
                costs.at.push(None);
                continue;
            }
            let at = next..next + self.points.len();
            next = at.end;
            let keeps = self.keep(point, &costs.single[at.clone()], &costs.exact[at.clone()]);
            costs.at.push((!keeps).then_some(at.start));
        }
        Ok(())
    }

    fn compute_rows(&self, points: &[usize], costs: &mut QueryCosts) -> Result<()> {
        let count = points.len().saturating_mul(self.points.len());
        let step = format_args!("the distances from {} points to a collection", points.len());
        let instead = "take measures with fewer points";
        memory::resize_room(&mut costs.exact, step, count, instead)?;
        memory::resize_room(&mut costs.single, step, count, instead)?;
        costs.exact.resize(count, 0.0);
        // One point after the other, not as a matrix product, whose last bits depend on what is worked
        // out together, and with it on the threads.
        for (&point, row) in points.iter().zip(costs.exact.chunks_exact_mut(self.points.len())) {
            self.metric.distances_from(point, &self.points, row);
        }
        costs.single.clear();
        costs.single.extend(costs.exact.iter().map(|&d| self.lowered(d)));
        Ok(())
    }

    /// Keeps a row if there is room; two threads may both work out the same.
    fn keep(&self, point: usize, single: &[f32], exact: &[f64]) -> bool {
        if self.kept(point).is_some() {
            return true;
        }
        let take = |room: usize| room.checked_sub(1);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return false;
        }
        let _ = self.kept[point].set(Row { single: single.into(), exact: exact.into() });
        true
    }

    /// The distances from point `i` of a measure, lowered and in single precision.
    pub(super) fn row<'a>(&'a self, costs: &'a QueryCosts, i: usize) -> &'a [f32] {
        match costs.at[i] {
            Some(at) => &costs.single[at..at + self.points.len()],
            None => self.kept(costs.points[i]).map_or(&[], |row| &row.single),
        }
    }

    /// The distances from point `i` of a measure, in double precision.
    pub(super) fn exact_row<'a>(&'a self, costs: &'a QueryCosts, i: usize) -> &'a [f64] {
        match costs.at[i] {
            Some(at) => &costs.exact[at..at + self.points.len()],
            None => self.kept(costs.points[i]).map_or(&[], |row| &row.exact),
        }
    }

    /// A distance in units, in single precision, not above the truth.
    pub(super) fn lowered(&self, distance: f64) -> f32 {
        lowered(distance, self.unit)
    }

    /// Bytes of the rows that are kept.
    pub(super) fn bytes(&self) -> u64 {
        let kept = self.kept.iter().filter(|row| row.get().is_some()).count() as u64;
        memory::size_of::<(OnceLock<Row>, u32)>(&[self.column_of.len()])
            + kept * Self::row_size(self.points.len())
    }
}

/// The column of every point of a metric, from the point of every column.
fn columns_of(metric: &GroundMetric, points: &[u32]) -> Vec<u32> {
    let mut column_of = vec![NO_COLUMN; metric.points()];
    points.iter().zip(0..).for_each(|(&point, at)| column_of[point as usize] = at);
    column_of
}

for_wide_registers! {
    /// Lowers `out` to d − u, wherever that is less.
    reach_row, reach_row_wide, (row: &[f32], u: f32, out: &mut [f32]), {
        for (out, &d) in out.iter_mut().zip(row) {
            // Not `smaller`, which would become a slow store under a mask.
            *out = out.min(d - u);
        }
    }
}

for_wide_registers! {
    /// The smallest of d − f.
    least_of_row, least_of_row_wide, (row: &[f32], f: &[f32]) -> f32, {
        let mut least = [f32::INFINITY; LANES];
        let (rows, rest) = row[..f.len()].as_chunks::<LANES>();
        let (fs, f_rest) = f.as_chunks::<LANES>();
        for (row, f) in rows.iter().zip(fs) {
            for lane in 0..LANES {
                least[lane] = smaller(row[lane] - f[lane], least[lane]);
            }
        }
        let rest = rest.iter().zip(f_rest).map(|(d, f)| d - f);
        rest.fold(smallest(least), smaller)
    }
}
