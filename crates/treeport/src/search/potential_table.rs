//! Table of the potentials of all measures, which bound their distances to any query: one row per
//! column of the indexed points, so that a query adds a row for each of its points.
//!
//! Values are integer multiples of a step between the minimum and the maximum of a measure, in 16
//! bits, rounded down. A bound loses 1/65,535 of its range, and the table needs half the memory of
//! single precision.

use crate::error::Result;
use crate::memory;
use crate::numeric::rounding::single;
use crate::numeric::wide_registers::for_wide_registers;
use crate::tools::parallel;

/// Measures per block: 4 KiB of a row. The last block may have fewer.
pub(super) const BLOCK: usize = 2048;

/// Largest multiple of a step.
pub(super) const STEPS: f32 = 65_535.0;

/// Potentials of the measures of a collection, in blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct PotentialTable {
    /// Blocks of rows, one per column of the indexed points, with one value per measure of the
    /// block.
    pub(super) blocks: Vec<Vec<u16>>,
    /// Value of step 0 of every measure.
    pub(super) base: Vec<f32>,
    /// Size of a step of every measure.
    pub(super) step: Vec<f32>,
    /// Σ ρφ of every measure, rounded down.
    pub(super) constant: Vec<f32>,
}

impl PotentialTable {
    /// Bytes of a table with this many measures and points.
    pub(super) fn size(points: usize, measures: usize) -> u64 {
        memory::size_of::<u16>(&[points, measures])
    }

    /// Number of measures in the table.
    pub(super) fn len(&self) -> usize {
        self.base.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        let blocks: u64 = self.blocks.iter().map(|b| memory::size_of::<u16>(&[b.len()])).sum();
        blocks + memory::size_of::<(f32, f32, f32)>(&[self.len()])
    }

    /// Allocates a block.
    pub(super) fn begin_block(points: usize, measures: usize) -> Result<Vec<u16>> {
        let step = format_args!("potentials of {measures} measures");
        memory::zeros(step, points.saturating_mul(measures), "give the index less memory to use")
    }

    /// Appends a finished block, and the scales of its new measures.
    pub(super) fn push(&mut self, block: Vec<u16>, columns: &[[f32; 3]]) {
        self.blocks.push(block);
        for &[base, step, constant] in columns {
            self.base.push(base);
            self.step.push(step);
            self.constant.push(constant);
        }
    }

    /// Selects the potentials of the given rows on the given columns.
    pub(super) fn select(&self, rows: &[usize], columns: &[u32]) -> Result<Self> {
        if self.len() == 0 {
            return Ok(Self::default());
        }
        let block_of = |rows: &[usize]| {
            let mut block = Self::begin_block(columns.len(), rows.len())?;
            for (steps, &column) in block.chunks_exact_mut(rows.len()).zip(columns) {
                for (step, &row) in steps.iter_mut().zip(rows) {
                    *step = self.steps_at(row, column as usize);
                }
            }
            Ok(block)
        };
        let parts: Vec<&[usize]> = rows.chunks(BLOCK).collect();
        let blocks = parallel::try_map(parts.len(), |at| block_of(parts[at]))?;
        let of_rows = |values: &[f32]| rows.iter().map(|&row| values[row]).collect();
        let (base, step) = (of_rows(&self.base), of_rows(&self.step));
        Ok(Self { blocks, base, step, constant: of_rows(&self.constant) })
    }

    fn steps_at(&self, row: usize, column: usize) -> u16 {
        let (block, at) = (row / BLOCK, row % BLOCK);
        let width = BLOCK.min(self.len() - block * BLOCK);
        self.blocks[block][column * width + at]
    }

    /// Returns a potential at a column, lowered by the roundings of a product and a sum.
    pub(super) fn value(&self, row: usize, column: u32) -> f32 {
        let steps = self.step[row] * f32::from(self.steps_at(row, column as usize));
        let slack = single(4) as f32 * (self.base[row].abs() + steps);
        self.base[row] + steps - slack
    }

    /// Computes the bounds of all measures by their own potentials. `query` has columns and masses
    /// (of a total of 1); `beyond` has the contributions of points without a column, or is empty.
    pub(super) fn bounds(&self, query: &[(u32, f32)], beyond: &[f32], out: &mut Vec<f32>) {
        let total: f32 = query.iter().map(|&(_, mass)| mass).sum();
        // One rounding for each mass, product and sum, and those at the end.
        let roundings = single(query.len() + 12) as f32;
        out.clear();
        out.resize(self.len(), 0.0);
        for (block, first) in self.blocks.iter().zip((0..).step_by(BLOCK)) {
            let end = self.len().min(first + BLOCK);
            let (sums, columns) = (&mut out[first..end], end - first);
            for &(column, mass) in query {
                add(&block[column as usize * columns..][..columns], mass, sums);
            }
            let (base, step) = (&self.base[first..end], &self.step[first..end]);
            finish(base, step, &self.constant[first..end], total, roundings, sums);
        }
        for (out, beyond) in out.iter_mut().zip(beyond) {
            *out += beyond - roundings * (out.abs() + beyond.abs());
        }
    }
}

for_wide_registers! {
    /// Converts sums of steps to bounds, lowered by the possible rounding.
    finish, finish_wide,
    (base: &[f32], step: &[f32], constant: &[f32], total: f32, roundings: f32, sums: &mut [f32]), {
        let scales = base.iter().zip(step).zip(constant);
        for (sum, ((base, step), constant)) in sums.iter_mut().zip(scales) {
            let size = base.abs() + constant.abs() + step * STEPS;
            *sum = base * total + constant + step * *sum - roundings * size;
        }
    }
}

for_wide_registers! {
    /// sums += mass · row.
    add, add_wide, (row: &[u16], mass: f32, sums: &mut [f32]), {
        for (sum, &steps) in sums.iter_mut().zip(row) {
            *sum += mass * f32::from(steps);
        }
    }
}
