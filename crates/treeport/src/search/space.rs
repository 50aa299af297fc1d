//! The points that a collection uses, and distances to them.
//!
//! Points of the collection stand in the order in which most measures have them, so that what is
//! asked for most lies together. The distances from a point to all of them are a row; rows are
//! worked out when a query first needs them and kept as long as there is room. Bounds take
//! distances in single precision and in a unit of about the typical one, never above the truth;
//! exact transport takes them as they are.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::small::{FAR, smaller, smallest, widened};
use crate::error::Result;
use crate::measure::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::units::power_of_two;

/// The place of a point that no measure of the collection has.
pub(super) const UNUSED: u32 = u32::MAX;

const LANES: usize = 8;

/// Distances from any point to those of a collection.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) metric: GroundMetric,
    /// The points in use, and the place of each among them.
    pub(super) used: Vec<usize>,
    pub(super) place: Vec<u32>,
    /// A power of two, about the distance between typical points.
    pub(super) unit: f64,
    rows: Vec<OnceLock<Box<[f64]>>>,
    /// Rows that may still be kept.
    room: AtomicUsize,
}

/// The distances from the points of one measure to all points in use.
#[derive(Debug, Default)]
pub(super) struct Rows {
    points: Vec<usize>,
    /// Where in `own` the row of a point begins that the space does not keep.
    at: Vec<Option<usize>>,
    own: Vec<f64>,
}

impl Space {
    /// The space of a collection in which up to `bytes` of rows are kept.
    pub(super) fn new(metric: &GroundMetric, measures: &Measures, bytes: u64) -> Self {
        let mut count = vec![0u32; metric.points()];
        for measure in measures.iter() {
            measure.support().iter().for_each(|&point| count[point as usize] += 1);
        }
        let mut used: Vec<usize> = (0..count.len()).filter(|&point| count[point] > 0).collect();
        used.sort_by_key(|&point| std::cmp::Reverse(count[point]));
        Self::with_order(metric, used, bytes)
    }

    /// The space of these points, in this order.
    pub(super) fn with_order(metric: &GroundMetric, used: Vec<usize>, bytes: u64) -> Self {
        let mut place = vec![UNUSED; metric.points()];
        used.iter().zip(0..).for_each(|(&point, at)| place[point] = at);
        let row = memory::size_of::<f64>(&[used.len()]).max(1);
        let room = usize::try_from(bytes / row).unwrap_or(usize::MAX);
        let rows = if by_search(metric) { 0 } else { metric.points() };
        let rows = (0..rows).map(|_| OnceLock::new()).collect();
        Self { metric: metric.clone(), used, place, unit: 1.0, rows, room: AtomicUsize::new(room) }
    }

    /// Takes a typical distance as the unit.
    pub(super) fn set_unit(&mut self, typical: f64) {
        self.unit = power_of_two(typical);
    }

    /// Whether distances to all points in use are the searches of a graph: then there are no rows.
    pub(super) fn by_search(&self) -> bool {
        by_search(&self.metric)
    }

    /// Whether the rows of all points in use are kept, or fit beside those that are.
    pub(super) fn holds_all(&self) -> bool {
        let missing = self.used.iter().filter(|&&point| self.kept(point).is_none()).count();
        !self.by_search() && missing <= self.room.load(Ordering::Relaxed)
    }

    fn kept(&self, point: usize) -> Option<&[f64]> {
        self.rows.get(point)?.get().map(|row| &**row)
    }

    /// The rows of some points; none where they would be searches.
    pub(super) fn rows(&self, points: impl Iterator<Item = usize>, rows: &mut Rows) -> Result<()> {
        rows.points.clear();
        rows.at.clear();
        if self.by_search() {
            return Ok(());
        }
        rows.points.extend(points);
        let missing: Vec<usize> =
            rows.points.iter().copied().filter(|&point| self.kept(point).is_none()).collect();
        if !missing.is_empty() {
            let step = format_args!("the distances from {} points to a collection", missing.len());
            let count = missing.len().saturating_mul(self.used.len());
            memory::resize_room(&mut rows.own, step, count, "take measures with fewer points")?;
            rows.own.resize(count, 0.0);
            self.metric.block(&missing, &self.used, &mut rows.own);
        }
        let mut next = 0..;
        for &point in &rows.points {
            if self.kept(point).is_some() {
                rows.at.push(None);
                continue;
            }
            let at = next.next().unwrap_or(0) * self.used.len();
            let keeps = self.keep(point, &rows.own[at..at + self.used.len()]);
            rows.at.push((!keeps).then_some(at));
        }
        Ok(())
    }

    /// Keeps a row if there is room; two threads may both work out the same.
    fn keep(&self, point: usize, row: &[f64]) -> bool {
        let take = |room: usize| room.checked_sub(1);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return false;
        }
        let _ = self.rows[point].set(row.into());
        true
    }

    /// Row `i` of some.
    pub(super) fn row<'a>(&'a self, rows: &'a Rows, i: usize) -> &'a [f64] {
        match rows.at[i] {
            Some(at) => &rows.own[at..at + self.used.len()],
            None => self.kept(rows.points[i]).unwrap_or(&[]),
        }
    }

    /// A distance in units, in single precision, not above the truth.
    pub(super) fn lowered(&self, distance: f64) -> f32 {
        lowered(distance, self.shrink())
    }

    /// What [`lowered`] multiplies distances by.
    pub(super) fn shrink(&self) -> f64 {
        SHRINK / self.unit
    }

    /// Bytes of the rows that are kept.
    pub(super) fn bytes(&self) -> u64 {
        let kept = self.rows.iter().filter(|row| row.get().is_some()).count();
        let points = memory::size_of::<(OnceLock<Box<[f64]>>, u32)>(&[self.place.len()]);
        points + memory::size_of::<f64>(&[kept + 1, self.used.len()])
    }
}

/// A graph of which not all distances are at hand.
fn by_search(metric: &GroundMetric) -> bool {
    metric.is_searched() || metric.is_indexed()
}

/// One rounding to single precision, which is at most 2⁻²⁴, and 2⁻²⁴ more for what the same distance
/// may differ by from one way of computing it to the other.
const SHRINK: f64 = 1.0 - 1.0 / (1u32 << 23) as f64;

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn lowered(distance: f64, shrink: f64) -> f32 {
    let single = (distance * shrink) as f32;
    let single = if single < FAR { single } else { FAR };
    // Below this rounding is no longer relative.
    if single > 1e-30 { single } else { 0.0 }
}

widened! {
    /// Lowers `out` to d − u, wherever that is less.
    reach_row, reach_row_wide, (row: &[f64], shrink: f64, u: f32, out: &mut [f32]), {
        for (out, &d) in out.iter_mut().zip(row) {
            *out = smaller(lowered(d, shrink) - u, *out);
        }
    }
}

widened! {
    /// The smallest of d − f.
    least_of_row, least_of_row_wide, (row: &[f64], shrink: f64, f: &[f32]) -> f32, {
        let mut least = [f32::INFINITY; LANES];
        let (rows, rest) = row.as_chunks::<LANES>();
        let (fs, f_rest) = f.as_chunks::<LANES>();
        for (row, f) in rows.iter().zip(fs) {
            for lane in 0..LANES {
                least[lane] = smaller(lowered(row[lane], shrink) - f[lane], least[lane]);
            }
        }
        let rest = rest.iter().zip(f_rest).map(|(&d, f)| lowered(d, shrink) - f);
        rest.fold(smallest(least), smaller)
    }
}
