//! Filling the table of potentials.
//!
//! The duals of every measure come first, from its distances to the reference. Then the table is
//! filled some columns at a time: the distances from those columns to all points of the measures
//! are computed once for all measures. With n points in use and m measures of s points each, the
//! cost is n² distances and m·s·n minima, and a thread stores at most [`MOST_DISTANCES`] distances
//! at a time.

use super::Index;
use super::potential_table::{self, PotentialTable, STEPS};
use super::query_distances::QueryDistances;
use crate::error::Result;
use crate::measures::Measure;
use crate::numeric::rounding::{lowered_once, single};
use crate::numeric::wide_registers::for_wide_registers;
use crate::progress::Counter;
use crate::solve::single_problem::SingleProblem;
use crate::tools::parallel;

/// Maximum number of distances between columns filled together and all points of the measures: 64
/// MiB.
const MOST_DISTANCES: usize = 1 << 24;

/// Maximum number of columns at a time.
const MOST_COLUMNS: usize = 512;

/// Measures whose potentials are written side by side: one cache line.
const TOGETHER: usize = 32;

/// Bound of the error of a step count in single precision: at most 65,535 times four roundings,
/// which is 0.016.
const STEPS_OFF: f32 = 0.05;

/// Duals of one measure, and the scale of its potential.
struct MeasureDuals {
    own: Vec<f32>,
    base: f32,
    step: f32,
    constant: f32,
}

/// The part of a block that one thread fills.
struct BlockRows<'a> {
    /// Row of the first measure of the block.
    begin: usize,
    /// Number of measures of the block.
    width: usize,
    /// One row for each of the current columns.
    steps: &'a mut [u16],
}

impl Index {
    /// Computes the duals of the measures from row `first` on, and the table of their potentials.
    pub(super) fn fill_potentials(&mut self, first: usize, counter: &Counter<'_>) -> Result<()> {
        let count = self.measures.len();
        let duals = self.duals_from(first, counter)?;
        // An incomplete last block is extended.
        let begin = first / potential_table::BLOCK * potential_table::BLOCK;
        let mut blocks = (begin..count)
            .step_by(potential_table::BLOCK)
            .map(|begin| self.begin_block(begin, first))
            .collect::<Result<Vec<_>>>()?;
        self.fill_blocks(&mut blocks, begin, first, &duals, counter)?;
        self.potentials.blocks.truncate(begin / potential_table::BLOCK);
        for (block, begin) in blocks.into_iter().zip((begin..).step_by(potential_table::BLOCK)) {
            let end = count.min(begin + potential_table::BLOCK);
            let new = &duals[begin.max(first) - first..end - first];
            let scales: Vec<[f32; 3]> =
                new.iter().map(|of| [of.base, of.step, of.constant]).collect();
            self.potentials.push(block, &scales);
        }
        self.set_duals(first, duals);
        Ok(())
    }

    /// Computes the duals of the measures from row `first` on, without a table.
    pub(super) fn fill_duals(&mut self, first: usize, counter: &Counter<'_>) -> Result<()> {
        let duals = self.duals_from(first, counter)?;
        self.set_duals(first, duals);
        Ok(())
    }

    fn duals_from(&self, first: usize, counter: &Counter<'_>) -> Result<Vec<MeasureDuals>> {
        let find = |work: &mut (QueryDistances, SingleProblem), row: usize| {
            counter.add(0)?;
            self.duals_of_measure(&self.measures.row(row), work)
        };
        let find = |work: &mut (QueryDistances, SingleProblem), at: usize| find(work, first + at);
        parallel::try_map_with(self.measures.len() - first, Default::default, find)
    }

    fn set_duals(&mut self, first: usize, duals: Vec<MeasureDuals>) {
        self.own_duals.truncate(self.start[first]);
        self.own_duals.extend(duals.into_iter().flat_map(|of| of.own));
    }

    /// Computes the duals of a measure against the reference, and the scale of its potential.
    ///
    /// Potentials are at least −max u because distances are nonnegative. The range above that is
    /// twice the maximum at a point of the reference; larger values are clamped.
    fn duals_of_measure(
        &self,
        measure: &Measure<'_>,
        (distances, problem): &mut (QueryDistances, SingleProblem),
    ) -> Result<MeasureDuals> {
        distances.begin(self.tabled(), None, measure.support());
        if let Some(prices) = &self.prices {
            let own: Vec<f32> =
                measure.support().iter().map(|&point| prices.lowered[point as usize]).collect();
            self.reference.find_relaxed_duals(self, measure, &own, distances, problem)?;
        } else {
            self.reference.find_duals(self.tabled(), measure, distances, problem)?;
        }
        let own = problem.v[..measure.masses().len()].to_vec();
        let largest = own.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let base = lowered_once(lowered_once(-largest));
        let above = problem.u.iter().copied().fold(base, f32::max) - base;
        let step = (2.0 * above / STEPS).max(f32::MIN_POSITIVE);
        let terms = measure.masses().iter().zip(&own);
        let constant: f64 = terms.map(|(mass, &u)| mass / measure.total() * f64::from(u)).sum();
        Ok(MeasureDuals { own, base, step, constant: lowered_once(constant as f32) })
    }

    /// Allocates the block of the measures from `begin` on, and copies the table of those before
    /// `first`.
    fn begin_block(&self, begin: usize, first: usize) -> Result<Vec<u16>> {
        let columns = self.tabled().points.len();
        let width = potential_table::BLOCK.min(self.measures.len() - begin);
        let mut block = PotentialTable::begin_block(columns, width)?;
        let known = first.saturating_sub(begin);
        if known > 0 {
            let old = &self.potentials.blocks[begin / potential_table::BLOCK];
            let rows = block.chunks_exact_mut(width).zip(old.chunks_exact(known));
            rows.for_each(|(row, old)| row[..known].copy_from_slice(old));
        }
        Ok(block)
    }

    /// Fills the blocks from row `begin` on with the potentials of the measures from row `first`
    /// on, given their duals.
    fn fill_blocks(
        &self,
        blocks: &mut [Vec<u16>],
        begin: usize,
        first: usize,
        duals: &[MeasureDuals],
        counter: &Counter<'_>,
    ) -> Result<()> {
        let columns = self.tabled().points.len();
        let mut used: Vec<u32> = self.columns[self.start[first]..].to_vec();
        used.sort_unstable();
        used.dedup();
        let at_once = (MOST_DISTANCES / used.len().max(1)).clamp(1, MOST_COLUMNS);
        let mut parts: Vec<Vec<BlockRows<'_>>> = Vec::new();
        parts.resize_with(columns.div_ceil(at_once), Vec::new);
        for (block, begin) in blocks.iter_mut().zip((begin..).step_by(potential_table::BLOCK)) {
            let width = potential_table::BLOCK.min(self.measures.len() - begin);
            for (part, steps) in parts.iter_mut().zip(block.chunks_mut(at_once * width)) {
                part.push(BlockRows { begin, width, steps });
            }
        }
        let (count, all) = (parts.len(), self.measures.len() - first);
        let fill = |distances: &mut QueryDistances, (at, part): (usize, Vec<BlockRows<'_>>)| {
            let end = columns.min((at + 1) * at_once);
            distances.begin(&self.indexed, None, &self.tabled().points[at * at_once..end]);
            distances.add(&self.indexed, used.iter().copied())?;
            for mut rows in part {
                counter.add(0)?;
                self.fill_rows(distances, first, duals, &mut rows);
            }
            counter.add(all * (at + 1) / count - all * at / count)
        };
        parallel::try_for_each_with(parts.into_iter().enumerate(), QueryDistances::default, fill)
    }

    /// Fills the given columns of a block from the distances between them and all points of the
    /// measures.
    fn fill_rows(
        &self,
        distances: &QueryDistances,
        first: usize,
        duals: &[MeasureDuals],
        BlockRows { begin, width, steps }: &mut BlockRows<'_>,
    ) {
        let (begin, width) = (*begin, *width);
        let columns = steps.len() / width;
        let mut reached = vec![0.0; columns];
        let mut tile = vec![0u16; columns * TOGETHER];
        let known = first.saturating_sub(begin);
        for from in (known..width).step_by(TOGETHER) {
            let until = width.min(from + TOGETHER);
            for (at, tile) in (from..until).zip(tile.chunks_exact_mut(columns)) {
                let row = begin + at;
                let of_measure = &duals[row - first];
                reached.fill(f32::INFINITY);
                let entries = self.start[row]..self.start[row + 1];
                for (&column, &u) in self.columns[entries].iter().zip(&of_measure.own) {
                    reach_row(distances.to(column), u, &mut reached);
                }
                steps_of(&reached, of_measure.base, 1.0 / of_measure.step, tile);
            }
            for (column, steps) in steps.chunks_exact_mut(width).enumerate() {
                for (out, tile) in steps[from..until].iter_mut().zip(tile.chunks_exact(columns)) {
                    *out = tile[column];
                }
            }
        }
    }

    /// Computes the contributions of points without a column to the bounds of all measures, from
    /// the distances of those points to all columns in use.
    pub(super) fn bound_beyond(
        &self,
        distances: &QueryDistances,
        masses: &[f32],
        out: &mut Vec<f32>,
    ) {
        let slack = single(4 + masses.len()) as f32;
        for entries in self.start.windows(2) {
            let entries = entries[0]..entries[1];
            let (mut sum, mut size) = (0.0, 0.0);
            for (at, &mass) in masses.iter().enumerate() {
                let duals =
                    self.columns[entries.clone()].iter().zip(&self.own_duals[entries.clone()]);
                let reached = duals.map(|(&column, own)| distances.to(column)[at] - own);
                let value = lowered_once(reached.fold(f32::INFINITY, f32::min)) * mass;
                sum += value;
                size += value.abs();
            }
            out.push(sum - slack * size);
        }
    }
}

for_wide_registers! {
    /// Lowers `out` to d − u where that is smaller.
    reach_row, reach_row_wide, (row: &[f32], u: f32, out: &mut [f32]), {
        for (out, &d) in out.iter_mut().zip(row) {
            // Not `smaller`, which compiles to a slow masked store.
            *out = out.min(d - u);
        }
    }
}

for_wide_registers! {
    /// Quantizes potentials to steps above a base, rounded down and clamped to the maximum. A
    /// potential exceeds the exact value by at most one rounding; two are subtracted.
    steps_of, steps_of_wide, (values: &[f32], base: f32, inverse_step: f32, out: &mut [u16]), {
        for (out, &value) in out.iter_mut().zip(values) {
            let steps = (lowered_once(value) - base) * inverse_step - STEPS_OFF;
            *out = steps.clamp(0.0, STEPS) as u16;
        }
    }
}
