//! Removing measures, with all data that belong only to them.
//!
//! The remaining data are unchanged: potentials, duals and cached distances are moved, not
//! recomputed. Points that only removed measures had lose their columns and their place in the
//! reference.

use std::ops::Range;

use super::Index;
use crate::error::{Error, Result};
use crate::progress::silent;

impl Index {
    /// Removes the measures with these numeric IDs from memory and from files written later. The
    /// other measures keep their IDs, and IDs are not reused.
    ///
    /// The reference sample, against which bounds are made, remains that of the original
    /// collection, without the points that no measure has any more.
    ///
    /// # Errors
    /// A number that no measure has, or that was removed before; not enough memory. No measure is
    /// removed then.
    ///
    /// # Complexity
    /// A copy of the remaining data: remove many at once.
    pub fn remove(&mut self, numbers: &[usize]) -> Result<()> {
        let rows = self.rows_without(numbers)?;
        if rows.len() == self.len() {
            return Ok(());
        }
        if self.is_of_clouds() {
            return self.keep_clouds(&rows);
        }
        let measures = self.measures.select(&rows)?;
        let columns = self.columns_without_lost_points(&rows);
        let mut reference = self.reference.clone();
        reference.keep_points(&columns, &self.indexed);
        let kept = rows.iter().map(|&row| self.numbers[row]).collect();
        if reference.points.is_empty() || rows.is_empty() {
            // The reference held no points of the few remaining measures, or none remain.
            self.rebuild(&measures, &silent)?;
            self.numbers = kept;
            return Ok(());
        }
        self.potentials = self.potentials.select(&rows, &columns)?;
        self.numbers = kept;
        self.own_duals = self.duals_of(&rows);
        self.reference = reference;
        if columns.len() < self.indexed.points.len() {
            self.indexed.keep_columns(&columns);
        }
        self.truncate_from(0);
        self.append(measures.iter());
        self.measures = measures;
        Ok(())
    }

    /// Returns the rows of all measures except those of some numbers.
    fn rows_without(&self, numbers: &[usize]) -> Result<Vec<usize>> {
        let mut stays = vec![true; self.len()];
        for &measure in numbers {
            match self.row_of(measure) {
                Some(row) if stays[row] => stays[row] = false,
                _ if measure < self.next_number => return Err(Error::RemovedMeasure { measure }),
                _ => return Err(Error::NoSuchMeasure { measure, measures: self.next_number }),
            }
        }
        Ok((0..self.len()).filter(|&row| stays[row]).collect())
    }

    /// Returns all columns except those of points that only measures outside `rows` have.
    fn columns_without_lost_points(&self, rows: &[usize]) -> Vec<u32> {
        let mut lost = vec![false; self.indexed.points.len()];
        self.columns.iter().for_each(|&column| lost[column as usize] = true);
        for entries in rows.iter().map(|&row| self.entries_of(row)) {
            self.columns[entries].iter().for_each(|&column| lost[column as usize] = false);
        }
        (0..).zip(lost).filter(|(_, lost)| !lost).map(|(column, _)| column).collect()
    }

    /// Returns the duals of the entries of the given rows, if there are any.
    pub(super) fn duals_of(&self, rows: &[usize]) -> Vec<f32> {
        if self.own_duals.is_empty() {
            return Vec::new();
        }
        rows.iter().flat_map(|&row| &self.own_duals[self.entries_of(row)]).copied().collect()
    }

    pub(super) fn entries_of(&self, row: usize) -> Range<usize> {
        self.start[row]..self.start[row + 1]
    }
}
