//! What the potential of every measure of a collection says about a query: one row for each point in
//! use, so that a query adds up a row for each of its points.
//!
//! Values are whole steps between the least and the largest of a measure, in 16 bits, rounded down.
//! That costs a bound 1/65,535 of its range and half the memory of single precision.

use super::potentials::{Potential, below};
use super::small::widened;
use super::space::Space;
use crate::error::Result;
use crate::measure::Measures;
use crate::memory;

/// Measures in a block: 1 KiB of a row.
pub(super) const BLOCK: usize = 512;

/// The largest number of steps.
const STEPS: f32 = 65_535.0;

/// Potentials of the first measures of a collection, in blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    blocks: Vec<Vec<u16>>,
    /// The value of step 0, a step, and Σ ρφ, of every measure.
    base: Vec<f32>,
    step: Vec<f32>,
    constant: Vec<f64>,
}

impl Side {
    /// Bytes of a table for so many measures on so many points.
    pub(super) fn size(points: usize, measures: usize) -> u64 {
        memory::size_of::<u16>(&[points, measures.next_multiple_of(BLOCK)])
    }

    /// The number of measures whose potentials it holds.
    pub(super) fn len(&self) -> usize {
        self.base.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        let blocks: u64 = self.blocks.iter().map(|b| memory::size_of::<u16>(&[b.len()])).sum();
        blocks + memory::size_of::<(f32, f32, f64)>(&[self.len()])
    }

    /// Begins the next block for so many points.
    pub(super) fn begin_block(points: usize) -> Result<Vec<u16>> {
        let step = format_args!("potentials of {BLOCK} measures");
        memory::zeros(step, points.saturating_mul(BLOCK), "give the index less memory to use")
    }

    /// Enters a potential into a block; its base, step and constant.
    pub(super) fn enter(block: &mut [u16], column: usize, of: &Potential) -> (f32, f32, f64) {
        let (least, most) = of.f.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(least, most), &f| {
            (least.min(f), most.max(f))
        });
        // A little more than the range, so that no step is beyond the last.
        let step = ((most - least) / STEPS * (1.0 + 1e-5)).max(f32::MIN_POSITIVE);
        for (row, &f) in block.chunks_exact_mut(BLOCK).zip(&of.f) {
            let steps = (f64::from(f) - f64::from(least)) / f64::from(step);
            row[column] = steps as u16;
        }
        (least, step, of.constant)
    }

    /// Appends a finished block of measures.
    pub(super) fn push(&mut self, block: Vec<u16>, columns: &[(f32, f32, f64)]) {
        self.blocks.push(block);
        for &(base, step, constant) in columns {
            self.base.push(base);
            self.step.push(step);
            self.constant.push(constant);
        }
    }

    /// Raises bounds of measures to what their own potentials prove about a query, whose points in
    /// use and masses (of a total of 1) are given, with those not in use already in `beyond`, if
    /// there are any; says which were raised.
    pub(super) fn raise(
        &self,
        query: &[(u32, f32)],
        beyond: Option<&[f32]>,
        bounds: &mut [f32],
        raised: &mut [bool],
    ) {
        let seen: f32 = query.iter().map(|&(_, mass)| mass).sum();
        // A rounding for every mass, product and sum, and those below.
        let roundings = (query.len() + 12) as f32 * super::query::ROUNDING;
        let mut sums = [0.0; BLOCK];
        for (at, block) in self.blocks.iter().enumerate() {
            sums.fill(0.0);
            for &(place, mass) in query {
                add(&block[place as usize * BLOCK..][..BLOCK], mass, &mut sums);
            }
            let first = at * BLOCK;
            for (j, sum) in (first..self.len()).zip(&sums) {
                let (base, step) = (self.base[j], self.step[j]);
                let constant = self.constant[j] as f32;
                let beyond = beyond.map_or(0.0, |beyond| beyond[j]);
                let size = base.abs() + constant.abs() + step * STEPS + beyond.abs();
                let value = base * seen + constant + step * sum + beyond - roundings * size;
                if value > bounds[j] {
                    (bounds[j], raised[j]) = (value, true);
                }
            }
        }
    }

    /// Adds to `beyond` what potentials say about mass at a point that is not in use, from its
    /// distances to those that are.
    pub(super) fn add_beyond(
        space: &Space,
        measures: &Measures,
        own: &[f32],
        (row, mass): (&[f64], f32),
        beyond: &mut [f32],
    ) {
        let mut first = 0;
        for (measure, out) in measures.iter().zip(beyond) {
            let own = &own[first..first + measure.support().len()];
            first += own.len();
            let reach = measure.support().iter().zip(own).map(|(&point, own)| {
                space.lowered(row[space.place[point as usize] as usize]) - own
            });
            let value = below(reach.fold(f32::INFINITY, f32::min)) * mass;
            *out += value - 4.0 * super::query::ROUNDING * (value.abs() + out.abs());
        }
    }
}

widened! {
    /// sums += mass · row.
    add, add_wide, (row: &[u16], mass: f32, sums: &mut [f32; BLOCK]), {
        for (sum, &steps) in sums.iter_mut().zip(row) {
            *sum += mass * f32::from(steps);
        }
    }
}
