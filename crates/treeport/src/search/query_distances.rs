//! Distances from a few points to the columns of a collection, computed when they are first needed.
//!
//! A query looks into few of the measures of a collection, and measures share points: what is needed
//! is far less than all distances, and none of it is kept for the next query. So the first query takes
//! no longer than the second.

use super::indexed_points::IndexedPoints;
use crate::error::Result;
use crate::memory;
use crate::metric::{GroundMetric, LoweredOrigins};

/// Distances that are kept at the same time: 256 MiB.
const MOST_KNOWN: usize = 1 << 26;

/// Points whose distances to all columns are there at the same time, where the nearest is looked for.
const AT_ONCE: usize = 256;

/// The distances from some points to columns, in single precision and none above the truth.
#[derive(Debug, Default)]
pub(super) struct QueryDistances {
    /// Where the points are, if that is another set than the collection's.
    others: Option<GroundMetric>,
    points: Vec<u32>,
    origins: LoweredOrigins,
    /// For each column where its distances are, counted from 1; 0 if they are not known.
    place_of: Vec<u32>,
    known_columns: Vec<u32>,
    /// For every known column the distances from all points.
    known: Vec<f32>,
    missing: Vec<u32>,
    exact: Vec<f64>,
}

impl QueryDistances {
    /// Begins with other points of the collection's metric.
    pub(super) fn begin(&mut self, indexed: &IndexedPoints, points: &[u32]) {
        self.begin_at(indexed, None, points);
    }

    /// Begins with points of another set where there is one, and of the collection's metric otherwise.
    pub(super) fn begin_at(
        &mut self,
        indexed: &IndexedPoints,
        others: Option<&GroundMetric>,
        points: &[u32],
    ) {
        self.others = others.cloned();
        self.lay_out(indexed, others.unwrap_or(&indexed.metric), points);
    }

    fn lay_out(&mut self, indexed: &IndexedPoints, metric: &GroundMetric, points: &[u32]) {
        self.forget();
        self.place_of.resize(indexed.points.len(), 0);
        self.points.clear();
        self.points.extend_from_slice(points);
        if let Some(targets) = &indexed.targets {
            let from = points.iter().map(|&point| point as usize);
            targets.lay_out(metric, from, &mut self.origins);
        }
    }

    fn forget(&mut self) {
        self.known_columns.drain(..).for_each(|column| self.place_of[column as usize] = 0);
        self.known.clear();
    }

    /// Computes the distances to these columns that are not known yet. Distances to other columns may
    /// be forgotten.
    ///
    /// # Errors
    /// No memory for them; nothing is known then.
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
        // Twice as many as are needed, so that room is not made for every candidate.
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
            self.known.extend(self.exact.iter().map(|&distance| indexed.lowered(distance)));
        }
        Ok(())
    }

    /// Writes the distances to some columns into rows of a width, and keeps none; false where that cannot be.
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

    /// Whether the distances to a column are known.
    pub(super) fn knows(&self, column: u32) -> bool {
        self.place_of[column as usize] > 0
    }

    /// The distances from all points to a column that was added.
    pub(super) fn to(&self, column: u32) -> &[f32] {
        let count = self.points.len();
        let first = (self.place_of[column as usize] as usize - 1) * count;
        &self.known[first..first + count]
    }

    /// Begins with points, of another set where there is one, some at a time: the column nearest to each, by distances
    /// as they are computed here, among those that `counts`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
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
            self.begin_at(indexed, others, points);
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

    /// For each of the first columns min d − u over all points, and their duals u.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(super) fn reach(
        &mut self,
        indexed: &IndexedPoints,
        u: &[f32],
        out: &mut [f32],
    ) -> Result<()> {
        if let Some(targets) = &indexed.targets {
            targets.reach(&self.origins, u, out);
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
