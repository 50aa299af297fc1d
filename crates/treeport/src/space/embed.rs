//! Sparse rows whose ℓ₁ distances are estimates, for vector indexes.
//!
//! A line is divided into intervals of equal length; the column of an interval is the integral of
//! the cumulative mass over it, so ℓ₁ distances of rows are at most those on the line. Outside of
//! the region there is one column on each side. Cells have the columns of their hashed keys, centers
//! those of their currents, shares and moments.

use crate::clouds::Clouds;
use crate::error::{Error, Result};
use crate::memory;
use crate::numeric::seed::mixed;
use crate::progress::tasks::INDEXING;
use crate::progress::{Counter, Progress};
use crate::space::rows::{CENTERS, INSIDE, LEVELS, OUTSIDE, Row};
use crate::space::{Centers, INSTEAD, Partition, Space, SpaceMethod};
use crate::tools::csr::Csr;

/// Intervals of each line; with 64, distances on lines are 1 to 2 % smaller.
const INTERVALS: usize = 64;

/// Columns of a line: those of its intervals, and one on each side.
const OF_LINE: usize = INTERVALS + 2;

/// Name of the allocation in memory errors.
const SPARSE: &str = "the table of sparse rows";

/// Columns of each level of a partition: two cells of a pair of clouds with 200 points share a
/// column in one of 2,500 cases.
const OF_LEVEL: usize = 1 << 20;

impl Space {
    /// Returns one sparse row for each cloud. Their ℓ₁ (cityblock) distances are those of
    /// [`pairs`](super::PreparedClouds::pairs), or a little smaller; columns are the same in every
    /// call, and after saving.
    ///
    /// # Errors
    /// A method whose estimates are not ℓ₁ distances; not enough memory for the rows; errors of
    /// [`prepare`](Self::prepare).
    pub fn embed(&self, clouds: &Clouds, progress: &Progress<'_>) -> Result<Csr> {
        if self.method != SpaceMethod::Space {
            return Err(Error::BadOption {
                option: "method",
                value: self.method.to_string(),
                expected: "its estimates are not distances of rows; fit `space`",
            });
        }
        let prepared = self.prepare(clouds, progress)?;
        let mut all =
            Csr { rows: clouds.len(), cols: self.columns(), start: vec![0], ..Csr::default() };
        let at_most = || prepared.rows.iter().map(|row| self.entries_at_most(row));
        let (total, largest) = (at_most().sum::<usize>(), at_most().max().unwrap_or(0));
        // A row also exists unsorted, in a vector that grows and in the buffer of the sort.
        let entries = [total.saturating_add(largest.saturating_mul(3))];
        memory::check(SPARSE, memory::size_of::<(usize, f64)>(&entries), INSTEAD)?;
        all.indices.reserve_exact(total);
        all.values.reserve_exact(total);
        let counter = Counter::new(INDEXING, prepared.rows.len(), progress);
        for row in &prepared.rows {
            counter.add(1)?;
            let mut entries = self.entries(row);
            entries.sort_by_key(|of| of.0);
            let first = all.indices.len();
            for (column, value) in entries {
                match all.values.last_mut() {
                    Some(last) if all.indices[first..].last() == Some(&column) => *last += value,
                    _ => {
                        all.indices.push(column);
                        all.values.push(value);
                    }
                }
            }
            all.start.push(all.indices.len());
        }
        all.indices.shrink_to_fit();
        all.values.shrink_to_fit();
        Ok(all)
    }

    /// Returns the number of columns of [`embed`](Self::embed).
    pub fn columns(&self) -> usize {
        let levels = self.partitions.first().map_or(0, Partition::levels);
        let centered = self.centers.as_ref().map_or(0, Centers::columns);
        self.lines.len() * OF_LINE + self.partitions.len() * levels * OF_LEVEL + centered
    }

    /// Returns an upper bound of the number of [`entries`](Self::entries).
    pub(super) fn entries_at_most(&self, row: &Row) -> usize {
        // A point has entries in the intervals between it and the middle, and in one on a side.
        let of_line = |line| (row.lines.list(line).places.len() * (INTERVALS / 2 + 1)).min(OF_LINE);
        let of_partition = |(k, partition): (usize, &Partition)| {
            row.cells.list(k).places.len() * partition.levels()
        };
        (0..self.lines.len()).map(of_line).sum::<usize>()
            + self.partitions.iter().enumerate().map(of_partition).sum::<usize>()
            + row.centered.len()
    }

    /// Returns columns with their values, unsorted; a column may occur more than once.
    pub(super) fn entries(&self, row: &Row) -> Vec<(usize, f64)> {
        let mut entries = Vec::new();
        let share = 1.0 / self.lines.len() as f64;
        for (line, region) in self.lines.regions.iter().enumerate() {
            let list = row.lines.list(line);
            let weights = [INSIDE, OUTSIDE].map(|k| share * self.weights[k]);
            let first = line * OF_LINE;
            let columns = integrals(list.places, list.masses, *region, weights);
            let columns = columns.into_iter().enumerate().filter(|of| of.1 != 0.0);
            entries.extend(columns.map(|(k, value)| (first + k, value)));
        }
        let mut first = self.lines.len() * OF_LINE;
        let share = 1.0 / self.partitions.len().max(1) as f64;
        for (k, partition) in self.partitions.iter().enumerate() {
            let list = row.cells.list(k);
            for level in 0..partition.levels() {
                let weight = share * self.weights[LEVELS.start + level];
                let shift = partition.shift(level);
                if weight > 0.0 {
                    entries.extend(list.places.iter().zip(list.masses).map(|(key, mass)| {
                        let key = key >> shift;
                        let hash = mixed(key as u64, (key >> 64) as u64) as usize;
                        (first + hash % OF_LEVEL, weight * mass)
                    }));
                }
                first += OF_LEVEL;
            }
        }
        if let Some(centers) = &self.centers {
            for (part, weight) in
                centers.parts(&row.centered).into_iter().zip(&self.weights[CENTERS])
            {
                let columns = part.iter().enumerate().filter(|of| weight * of.1 != 0.0);
                entries.extend(columns.map(|(k, value)| (first + k, weight * value)));
                first += part.len();
            }
        }
        entries
    }
}

/// Returns the columns of a line. In the left half they integrate the mass to the left, in the
/// right half minus the mass to the right, so that most columns of small clouds are 0.
fn integrals(
    values: &[f64],
    masses: &[f64],
    region: [f64; 2],
    weights: [f64; 2],
) -> [f64; OF_LINE] {
    let mut columns = [0.0; OF_LINE];
    let [low, high] = region;
    let width = (high - low) / INTERVALS as f64;
    for (&value, &mass) in values.iter().zip(masses) {
        columns[0] += weights[1] * mass * (low - value).max(0.0);
        columns[OF_LINE - 1] -= weights[1] * mass * (value - high).max(0.0);
        for (k, column) in columns[1..=INTERVALS].iter_mut().enumerate() {
            let (from, to) = (low + k as f64 * width, low + (k + 1) as f64 * width);
            let of_interval = if k < INTERVALS / 2 {
                (to - value).clamp(0.0, width)
            } else {
                -(value - from).clamp(0.0, width)
            };
            *column += weights[0] * mass * of_interval;
        }
    }
    columns
}
