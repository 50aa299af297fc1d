//! Distances from a few points to the columns of a collection, computed on demand.
//!
//! A query refines few of the measures of a collection, and measures share points, so a small part
//! of all distances is needed. None is kept for the next query, so the first query is as fast as
//! the second.

use super::indexed_points::IndexedPoints;
use crate::error::Result;
use crate::memory;
use crate::metric::{GroundMetric, LoweredOrigins, lowered};

/// Maximum number of distances that are cached at a time: 256 MiB.
const MOST_KNOWN: usize = 1 << 26;

/// Number of points whose distances to all columns are computed at a time in
/// [`QueryDistances::nearest_columns`].
const AT_ONCE: usize = 256;

/// Distances from a set of points to columns, in single precision, rounded down.
#[derive(Debug, Default)]
pub(super) struct QueryDistances {
    /// Metric of the points, if it is not that of the collection.
    others: Option<GroundMetric>,
    points: Vec<u32>,
    origins: LoweredOrigins,
    /// For each column the position of its distances, counted from 1, or 0 if they are unknown.
    place_of: Vec<u32>,
    known_columns: Vec<u32>,
    /// Distances from all points, for every known column.
    known: Vec<f32>,
    missing: Vec<u32>,
    exact: Vec<f64>,
}

impl QueryDistances {
    /// Starts with points of another metric if there is one, otherwise of the collection's metric.
    pub(super) fn begin(
        &mut self,
        indexed: &IndexedPoints,
        others: Option<&GroundMetric>,
        points: &[u32],
    ) {
        self.others = others.cloned();
        self.forget();
        self.place_of.resize(indexed.points.len(), 0);
        self.points.clear();
        self.points.extend_from_slice(points);
        if let Some(targets) = &indexed.targets {
            let from = points.iter().map(|&point| point as usize);
            targets.set_points(others.unwrap_or(&indexed.metric), from, &mut self.origins);
        }
    }

    fn forget(&mut self) {
        self.known_columns.drain(..).for_each(|column| self.place_of[column as usize] = 0);
        self.known.clear();
    }

    /// Computes the unknown distances to these columns. Distances to other columns may be dropped.
    ///
    /// # Errors
    /// Not enough memory; no distances are known then.
    pub(super) fn add(
        &mut self,
        indexed: &IndexedPoints,
        columns: impl Iterator<Item = u32> + Clone,
    ) -> Result<()> {
        if self.known.len() > MOST_KNOWN {
            self.forget();
        }
        self.missing.clear();
        for column in columns {
            let place = &mut self.place_of[column as usize];
            if *place == 0 {
                self.missing.push(column);
                self.known_columns.push(column);
                *place = self.known_columns.len() as u32;
            }
        }
        let count = self.known_columns.len().saturating_mul(self.points.len());
        let step = format_args!("the distances from {} points to a collection", self.points.len());
        let instead = "take measures with fewer points";
        // Twice the needed size, so that not every candidate reallocates.
        let room = if count > self.known.capacity() { count.saturating_mul(2) } else { count };
        if let Err(error) = memory::resize_room(&mut self.known, step, room, instead) {
            self.forget();
            return Err(error);
        }
        if let Some(targets) = &indexed.targets {
            targets.distances(&self.origins, &self.missing, &mut self.known);
            return Ok(());
        }
        if let (None, Some(table)) = (&self.others, indexed.lowered_table()) {
            for &column in &self.missing {
                let from = indexed.points[column as usize] as usize;
                self.known.extend(table.distances_from(from, &self.points, indexed.unit));
            }
            return Ok(());
        }
        self.exact.resize(self.points.len(), 0.0);
        for &column in &self.missing {
            let from = indexed.points[column as usize] as usize;
            match &self.others {
                Some(others) => {
                    indexed.metric.distances_to_others(from, others, &self.points, &mut self.exact);
                }
                None => indexed.metric.distances_from(from, &self.points, &mut self.exact),
            }
            self.known.extend(self.exact.iter().map(|&distance| lowered(distance, indexed.unit)));
        }
        Ok(())
    }

    /// Writes the distances to the given columns into rows of `width` without caching them; returns
    /// false if the metric has no lowered targets.
    pub(super) fn write_rows(
        &self,
        indexed: &IndexedPoints,
        columns: &[u32],
        width: usize,
        out: &mut [f32],
    ) -> bool {
        let Some(targets) = &indexed.targets else { return false };
        targets.write_rows(&self.origins, columns, width, out);
        true
    }

    /// Checks whether the distances to a column are known.
    pub(super) fn is_known(&self, column: u32) -> bool {
        self.place_of[column as usize] > 0
    }

    /// Distances from all points to a column that was added.
    pub(super) fn to(&self, column: u32) -> &[f32] {
        let count = self.points.len();
        let first = (self.place_of[column as usize] as usize - 1) * count;
        &self.known[first..first + count]
    }

    /// Finds the nearest column of every point among those that pass `counts`, by the lowered
    /// distances. The points are those of `others` if given; they replace the current ones, some at
    /// a time.
    pub(super) fn nearest_columns(
        &mut self,
        indexed: &IndexedPoints,
        others: Option<&GroundMetric>,
        points: &[u32],
        counts: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>> {
        let columns = indexed.points.len() as u32;
        let mut nearest = vec![0; points.len()];
        for (points, nearest) in points.chunks(AT_ONCE).zip(nearest.chunks_mut(AT_ONCE)) {
            self.begin(indexed, others, points);
            self.add(indexed, 0..columns)?;
            let mut least = [f32::INFINITY; AT_ONCE];
            for column in (0..columns).filter(|&column| counts(column)) {
                let distances = self.to(column).iter();
                for ((distance, least), nearest) in distances.zip(&mut least).zip(&mut *nearest) {
                    if distance < least {
                        (*least, *nearest) = (*distance, column);
                    }
                }
            }
        }
        Ok(nearest)
    }

    /// Computes min d − u over all points, whose duals are `u`, for each of the first columns.
    pub(super) fn c_transform(
        &mut self,
        indexed: &IndexedPoints,
        u: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        if let Some(targets) = &indexed.targets {
            targets.c_transform(&self.origins, u, out);
            return Ok(());
        }
        for (column, out) in (0..).zip(out) {
            self.add(indexed, std::iter::once(column))?;
            let reached = self.to(column).iter().zip(u).map(|(d, u)| d - u);
            *out = reached.fold(f32::INFINITY, f32::min);
        }
        Ok(())
    }
}
