//! Transport problems in single precision: Sinkhorn sweeps, and the lower bound of their dual
//! values.
//!
//! Bounds of one problem ([`exact::sweeps`](super::exact::sweeps)), searches and device kernels
//! rest on one proof:
//!
//! - No cost is above the distance it stands for, so dual values that are feasible for the costs
//!   are feasible for the distances.
//! - For any v, uᵢ = minⱼ(cᵢⱼ − vⱼ) gives uᵢ + vⱼ ≤ cᵢⱼ. Rounding never changes an order, so the
//!   computed uᵢ is that minimum, rounded once: it is above the minimum by at most 2⁻²⁴|uᵢ|.
//! - Minima that are lowered by [`ROUNDED_MINIMUM`] are feasible, and Σ aᵢuᵢ + Σ bⱼvⱼ, added up in
//!   double precision, is below the cost of every plan ([`proved_bound`]).
//!
//! The proof holds for every finite v, so the sweeps that find a good one ([`scaling`]) may round
//! as they like.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

mod scaling;

use crate::metric::FAR;
use crate::numeric::rounding::{TOTALS, double, single};
use crate::numeric::wide_registers::for_wide_registers;
use crate::solve::answer::Duals;

/// Share that is subtracted from a computed minimum: twice its rounding error.
const ROUNDED_MINIMUM: f64 = single(2);

/// Number of entries to a multiple of which rows are padded: one register of single precision.
const LANES: usize = 8;

/// Returns the smaller of two numbers that are not NaN, in one instruction.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the smallest of some lanes.
#[inline(always)]
fn smallest(lanes: [f32; LANES]) -> f32 {
    lanes.into_iter().fold(f32::INFINITY, smaller)
}

for_wide_registers! {
    /// Computes minᵢ(cᵢⱼ − uᵢ) for every column, eight at a time, in a register.
    column_minima, column_minima_wide, (cost: &[f32], u: &[f32], out: &mut [f32]), {
        let width = out.len();
        for (at, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut least = [f32::INFINITY; LANES];
            for (row, &u) in cost.chunks_exact(width).zip(u) {
                let cost = &row.as_chunks::<LANES>().0[at];
                for lane in 0..LANES {
                    least[lane] = smaller(cost[lane] - u, least[lane]);
                }
            }
            *out = least;
        }
    }
}

for_wide_registers! {
    /// Computes minⱼ(cᵢⱼ − vⱼ) for every padded row i.
    row_minima, row_minima_wide, (cost: &[f32], v: &[f32], out: &mut [f32]), {
        let targets = v.as_chunks::<LANES>().0;
        for (row, out) in cost.chunks_exact(v.len()).zip(out) {
            let mut least = [f32::INFINITY; LANES];
            for (row, v) in row.as_chunks::<LANES>().0.iter().zip(targets) {
                for lane in 0..LANES {
                    least[lane] = smaller(row[lane] - v[lane], least[lane]);
                }
            }
            *out = smallest(least);
        }
    }
}

/// Share of the largest dual value of each side that is subtracted from the bound of a device, for
/// a total mass of 1: `ROUNDED_MINIMUM` of either side, twice, and the sums in double precision.
pub const LOST_ON_DEVICE: f64 = 2.0 * ROUNDED_MINIMUM + TOTALS;

/// Transport problem in single precision with padded rows of costs, and its dual values. Targets
/// without mass and padding lanes have no effect.
#[derive(Clone, Debug, Default)]
pub(crate) struct SingleProblem {
    width: usize,
    cost: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    /// Dual values of the sources.
    pub(crate) u: Vec<f32>,
    /// Dual values of the targets.
    pub(crate) v: Vec<f32>,
    kernel: Vec<f32>,
    /// Scalings of the sources.
    x: Vec<f32>,
    /// Scalings of the targets.
    y: Vec<f32>,
    /// Column sums of a pass over the kernel.
    sums: Vec<f32>,
    /// Buffer of [`for_each_used`](Self::for_each_used).
    begins: Vec<usize>,
}

impl SingleProblem {
    /// Begins a problem with these demands and no sources; dual values are 0.
    pub(crate) fn begin(&mut self, demand: impl Iterator<Item = f32>) {
        self.b.clear();
        self.b.extend(demand);
        self.width = self.b.len().next_multiple_of(LANES);
        self.b.resize(self.width, 0.0);
        self.v.clear();
        self.v.resize(self.width, 0.0);
        self.a.clear();
        self.u.clear();
        self.cost.clear();
    }

    /// Adds a source with its costs to all targets.
    pub(crate) fn push(&mut self, supply: f32, costs: &[f32]) {
        self.a.push(supply);
        self.u.push(0.0);
        self.cost.extend_from_slice(costs);
        self.cost.resize(self.a.len() * self.width, FAR);
    }

    /// Adds sources; returns the width of rows and the costs to write, padding already set.
    pub(crate) fn push_all(&mut self, supply: impl Iterator<Item = f32>) -> (usize, &mut [f32]) {
        self.a.extend(supply);
        self.u.resize(self.a.len(), 0.0);
        self.cost.resize(self.a.len() * self.width, FAR);
        (self.width, &mut self.cost)
    }

    pub(crate) fn costs(&self, source: usize) -> &[f32] {
        &self.cost[source * self.width..(source + 1) * self.width]
    }

    /// Returns all costs and the width of their rows.
    pub(crate) fn arcs(&self) -> (&[f32], usize) {
        (&self.cost, self.width)
    }

    /// Returns the mean cost of at most 32 sources, evenly spaced.
    pub(crate) fn mean_cost(&self) -> f64 {
        let with_mass = self.b.iter().filter(|&&b| b > 0.0).count();
        let sources = (0..self.a.len()).step_by(self.a.len().div_ceil(32));
        let counted = sources.len() * with_mass;
        let costs = sources.flat_map(|i| self.costs(i).iter().zip(&self.b));
        let sum: f64 = costs.filter(|(_, b)| **b > 0.0).map(|(&cost, _)| f64::from(cost)).sum();
        sum / counted.max(1) as f64
    }

    /// Returns the number of costs that the buffer can hold.
    pub(crate) fn capacity(&self) -> usize {
        self.cost.capacity()
    }

    /// Sets v to the largest dual values that are feasible for u.
    pub(crate) fn set_targets(&mut self) {
        column_minima(&self.cost, &self.u, &mut self.v);
        self.leave_out_empty_targets();
    }

    /// Lowers the dual values of targets without mass so far that they constrain no source.
    pub(crate) fn leave_out_empty_targets(&mut self) {
        for (v, &b) in self.v.iter_mut().zip(&self.b) {
            *v = if b > 0.0 { *v } else { -FAR };
        }
    }

    /// Sets u to the largest dual values that are feasible for v.
    pub(crate) fn set_sources(&mut self) {
        row_minima(&self.cost, &self.v, &mut self.u);
    }

    /// Sets u likewise for the sources from `first` on; the others keep their values.
    pub(crate) fn set_sources_from(&mut self, first: usize) {
        row_minima(&self.cost[first * self.width..], &self.v, &mut self.u[first..]);
    }

    /// Improves v for the current u, then u for that v; returns the bound they prove.
    pub(crate) fn bound_by_sources(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.set_targets();
        self.set_sources();
        proved_bound((supply, &self.u), (demand, &self.v))
    }

    /// Improves u for the current v, then v for that u; returns the bound they prove.
    pub(crate) fn bound_by_targets(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.leave_out_empty_targets();
        self.set_sources();
        self.set_targets();
        proved_bound((demand, &self.v), (supply, &self.u))
    }

    /// Returns the feasible dual values behind [`bound_by_sources`](Self::bound_by_sources),
    /// multiplied by `unit`, with the points of either side: computed minima are lowered, and
    /// targets without mass are left out.
    pub(crate) fn duals(&self, [left, right]: [&[usize]; 2], unit: f64) -> [Duals; 2] {
        let lowered = |u: f32| f64::from(u) - ROUNDED_MINIMUM * f64::from(u.abs());
        let sources = left.iter().zip(&self.u).map(|(&point, &u)| (point, lowered(u) * unit));
        let targets = right.iter().zip(&self.v).filter(|(_, v)| **v > -0.5 * FAR);
        let targets = targets.map(|(&point, &v)| (point, f64::from(v) * unit));
        [sources.collect(), targets.collect()]
    }
}

/// Returns Σ mass·dual of both measures, lowered by a bound of the rounding error:
/// [`ROUNDED_MINIMUM`] of the first dual values, which are computed minima, and a share of the
/// absolute values of all terms for the sums and for totals that differ in their last digits.
pub(crate) fn proved_bound(computed: (&[f64], &[f32]), given: (&[f64], &[f32])) -> f64 {
    let sum_and_size = |(masses, duals): (&[f64], &[f32])| {
        let terms = masses.iter().zip(duals).map(|(mass, &dual)| mass * f64::from(dual));
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    };
    let (first, first_size) = sum_and_size(computed);
    let (second, second_size) = sum_and_size(given);
    let off = double(computed.0.len() + given.0.len() + 8).max(TOTALS);
    first + second - ROUNDED_MINIMUM * first_size - off * (first_size + second_size)
}
