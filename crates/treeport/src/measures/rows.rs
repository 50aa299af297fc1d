//! Compressed rows of masses, and their construction.

use crate::error::{Error, Result};
use crate::memory;

/// Rows of (point, mass), one after the other, and the total of each row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CompressedRows {
    pub(super) start: Vec<usize>,
    pub(super) point: Vec<u32>,
    pub(super) mass: Vec<f64>,
    pub(super) total: Vec<f64>,
}

/// Name of the allocation in memory errors.
const STEP: &str = "the masses of all measures";
const INSTEAD: &str = "read some of the measures at a time";

impl Default for CompressedRows {
    fn default() -> Self {
        Self { start: vec![0], point: vec![], mass: vec![], total: vec![] }
    }
}

impl CompressedRows {
    /// Reserves memory for more rows with `entries` entries in all.
    pub(super) fn reserve(&mut self, rows: usize, entries: usize) -> Result<()> {
        memory::grow(&mut self.point, STEP, entries, INSTEAD)?;
        memory::grow(&mut self.mass, STEP, entries, INSTEAD)?;
        memory::grow(&mut self.start, STEP, rows, INSTEAD)?;
        memory::grow(&mut self.total, STEP, rows, INSTEAD)
    }

    /// Appends an entry to the last row.
    pub(super) fn push(&mut self, point: u32, mass: f64) -> Result<()> {
        memory::grow(&mut self.point, STEP, 1, INSTEAD)?;
        memory::grow(&mut self.mass, STEP, 1, INSTEAD)?;
        self.point.push(point);
        self.mass.push(mass);
        Ok(())
    }

    /// Sorts the entries of the last row, from `first` on, and adds up entries of the same point.
    pub(super) fn sort_from(&mut self, first: usize) -> Result<()> {
        let mut row = Vec::new();
        memory::grow(&mut row, STEP, self.point.len() - first, INSTEAD)?;
        row.extend(self.point.drain(first..).zip(self.mass.drain(first..)));
        // Stable, so that masses at one point add up in the order given.
        row.sort_by_key(|&(point, _)| point);
        for (point, mass) in row {
            if self.point[first..].last() == Some(&point) {
                *self.mass.last_mut().expect("every point has a mass") += mass;
            } else {
                self.point.push(point);
                self.mass.push(mass);
            }
        }
        Ok(())
    }

    /// Ends the last row, which begins at `first`; its memory is already reserved.
    pub(super) fn end_row(&mut self, measure: usize, first: usize) -> Result<()> {
        let total = self.mass[first..].iter().fold(0.0, |total, mass| total + mass);
        if !total.is_finite() {
            return Err(Error::BadMass {
                measure,
                point: self.point[first] as usize,
                value: total,
            });
        }
        self.start.push(self.point.len());
        self.total.push(total);
        Ok(())
    }
}
