//! Measures are removed, with everything that only they have left in an index.
//!
//! What is left is what was there before: potentials, duals and kept distances move together and are
//! not worked out again. Points that only removed measures had lose their columns and their place in the
//! reference.

use std::ops::Range;

use super::Index;
use crate::error::{Error, Result};
use crate::progress::silent;

impl Index {
    /// Removes measures: nothing of them stays in memory, nor in a file that is written from now on.
    /// The others keep their numbers, and no number is given again.
    ///
    /// The sample of the mean that bounds are made against stays that of the collection as it was
    /// built, less the points that nobody has any more.
    ///
    /// # Errors
    /// A number that no measure has, or that was removed before; no memory. Nothing is removed then.
    ///
    /// # Complexity
    /// A copy of what is left: remove many at once.
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
            // Few are left, or none: the reference held none of their points.
            self.build_anew(&measures, &silent)?;
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
        (self.start, self.columns, self.masses) = (vec![0], Vec::new(), Vec::new());
        self.enter(&measures);
        self.measures = measures;
        Ok(())
    }

    /// The rows of all measures but those of some numbers.
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

    /// All columns but those of points that measures had and none of these rows has.
    fn columns_without_lost_points(&self, rows: &[usize]) -> Vec<u32> {
        let mut lost = vec![false; self.indexed.points.len()];
        self.columns.iter().for_each(|&column| lost[column as usize] = true);
        for entries in rows.iter().map(|&row| self.entries_of(row)) {
            self.columns[entries].iter().for_each(|&column| lost[column as usize] = false);
        }
        (0..).zip(lost).filter(|(_, lost)| !lost).map(|(column, _)| column).collect()
    }

    /// The duals of some rows' entries, if there are any.
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
