//! What dual values prove about a small transport problem, in single precision.
//!
//! Costs are given in single precision, none above the distance it stands for, so that duals that
//! respect the costs respect the distances. For any v, uᵢ = minⱼ(cᵢⱼ − vⱼ) gives uᵢ + vⱼ ≤ cᵢⱼ.
//! Rounding never changes an order, so the computed uᵢ is that minimum, rounded once: it is above
//! the minimum by no more than 2⁻²⁴|uᵢ|. Duals that are lowered by that are feasible, and
//! Σ aᵢuᵢ + Σ bⱼvⱼ, added up in double precision, is below the cost of every plan. The proof holds
//! for every finite v, so the sweeps that find a good one may round as they like.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

use crate::metric::FAR;
use crate::rounding::{TOTALS, double, single};
use crate::wide::for_wide_registers;

/// Rows are padded to this many entries, one register of single precision.
const LANES: usize = 8;

/// The smaller of two numbers that are not NaN, in one instruction.
#[inline(always)]
pub(crate) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The smallest of some lanes.
#[inline(always)]
pub(crate) fn smallest(lanes: [f32; LANES]) -> f32 {
    lanes.into_iter().fold(f32::INFINITY, smaller)
}

for_wide_registers! {
    /// minᵢ(cᵢⱼ − uᵢ) for every column j of padded rows: eight columns at a time, so that the minima
    /// stay in a register.
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
    /// minⱼ(cᵢⱼ − vⱼ) for every padded row i.
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

/// e to the x, to about 10⁻⁵ relatively; 0 below 2⁻⁸⁰, where products would leave the range in which
/// processors are fast.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    // Adding this rounds to a whole number, which is then in the lowest bits.
    const WHOLE: f32 = (3 << 22) as f32;
    let x = x * std::f32::consts::LOG2_E;
    let is_small = x < -80.0;
    let x = if x > -126.0 { x } else { -126.0 };
    let x = if x < 126.0 { x } else { 126.0 };
    let rounded = x + WHOLE;
    let power = rounded.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_add(127) << 23;
    let rest = x - (rounded - WHOLE);
    // The series of 2ˣ, for |x| ≤ ½.
    let series = 0.055_504_1 + rest * 0.009_618_1;
    let series = 1.0 + rest * (std::f32::consts::LN_2 + rest * (0.240_226_5 + rest * series));
    if is_small { 0.0 } else { f32::from_bits(power) * series }
}

/// The natural logarithm of a positive number, to about 10⁻⁵.
#[inline(always)]
fn logarithm(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23).cast_signed() - 127;
    let mantissa = f32::from_bits((bits & 0x7f_ffff) | 0x3f80_0000);
    // The series of 2·artanh(z), for z up to ⅓.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let series = 1.0 + square * (0.333_333_3 + square * (0.2 + square * 0.142_857));
    exponent as f32 * std::f32::consts::LN_2 + 2.0 * z * series
}

/// Keeps divisions finite.
const TINY: f32 = 1e-30;

/// Factors of the sweeps stay between this and its inverse.
const LEAST_FACTOR: f32 = 1e-18;

/// Points with up to this share of all mass take no part once a kernel is squared: their own duals do
/// not matter, and would spoil those of others.
const LEAST_MASS: f32 = 1e-14;

/// What is left of a kernel after it has been squared: below this it is 0, and stays so. Far from
/// where single precision loses digits, and processors their speed.
const LEAST_KERNEL: f32 = 1e-24;

/// A source uses a target to which it sends at least this share of its mass.
const LEAST_SHARE: f32 = 0.03;

/// The next factor, by over-relaxation: `fits` is the factor that would fit now, and the next one is
/// last·(fits/last)^1.75. Two square roots instead of a power give the same bits on every processor.
#[inline(always)]
fn over_relaxed(fits: f32, last: f32) -> f32 {
    let root = (fits / last).sqrt();
    (fits * root * root.sqrt()).clamp(LEAST_FACTOR, 1.0 / LEAST_FACTOR)
}

for_wide_registers! {
    /// Kernel e^((u + v − c)/ε) of duals that respect the costs, so that no exponent is above 0, and
    /// its sums over the rows.
    fill_kernel, fill_kernel_wide,
    (cost: &[f32], duals: (&[f32], &[f32]), epsilon: f32, kernel: &mut [f32], sums: &mut [f32]), {
        let (u, v) = duals;
        let inverse = 1.0 / epsilon;
        let width = v.len();
        sums.fill(TINY);
        let rows = kernel.chunks_exact_mut(width).zip(cost.chunks_exact(width));
        for ((row, cost), &u) in rows.zip(u) {
            for (((out, cost), v), sum) in row.iter_mut().zip(cost).zip(v).zip(sums.iter_mut()) {
                let value = exponential((u + v - cost) * inverse);
                *out = value;
                *sum += value;
            }
        }
    }
}

for_wide_registers! {
    /// Squares a kernel after its factors have been taken in, which halves ε, and sums it over the
    /// rows. Factors are shares of the masses, so that what is squared is near 1 where mass moves.
    square_kernel, square_kernel_wide, (factors: (&[f32], &[f32]), kernel: &mut [f32], sums: &mut [f32]), {
        let (x, y) = factors;
        sums.fill(TINY);
        for (row, &x) in kernel.chunks_exact_mut(y.len()).zip(x) {
            for ((out, y), sum) in row.iter_mut().zip(y).zip(sums.iter_mut()) {
                let share = *out * x * y;
                let square = share * share;
                *out = if square > LEAST_KERNEL { square } else { 0.0 };
                *sum += *out;
            }
        }
    }
}

/// Rows that a pass takes together: while the sums of one wait for each other, those of others go on.
const TOGETHER: usize = 8;

/// A pass over some rows of a kernel: computes the factors of their sources from those of the targets,
/// and adds to the sums over the rows. Rows are read twice while they are in the cache.
#[inline(always)]
fn pass_some<const ROWS: usize>(
    kernel: &[f32],
    (a, x): (&[f32; ROWS], &mut [f32; ROWS]),
    y: &[f32],
    sums: &mut [f32],
    relaxed: bool,
) {
    let rows: [&[[f32; LANES]]; ROWS] = std::array::from_fn(|row| {
        kernel[row * y.len()..(row + 1) * y.len()].as_chunks::<LANES>().0
    });
    let (y, sums) = (y.as_chunks::<LANES>().0, sums.as_chunks_mut::<LANES>().0);
    let mut sent = [[0.0; LANES]; ROWS];
    for (at, y) in y.iter().enumerate() {
        for (sent, row) in sent.iter_mut().zip(rows) {
            for lane in 0..LANES {
                sent[lane] += row[at][lane] * y[lane];
            }
        }
    }
    for ((x, a), sent) in x.iter_mut().zip(a).zip(sent) {
        let fits = a / (sum_of_lanes(sent) + TINY);
        *x = if relaxed {
            over_relaxed(fits, *x)
        } else {
            fits.clamp(LEAST_FACTOR, 1.0 / LEAST_FACTOR)
        };
    }
    for (at, sum) in sums.iter_mut().enumerate() {
        for (row, x) in rows.iter().zip(*x) {
            for lane in 0..LANES {
                sum[lane] += row[at][lane] * x;
            }
        }
    }
}

/// The sum of some lanes, halves first.
#[inline(always)]
fn sum_of_lanes(lanes: [f32; LANES]) -> f32 {
    let four: [f32; 4] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

for_wide_registers! {
    /// Computes the factors of all sources from those of the targets, and the sums over the rows.
    pass, pass_wide,
    (kernel: &[f32], sources: (&[f32], &mut [f32]), y: &[f32], sums: &mut [f32], relaxed: bool), {
        sums.fill(TINY);
        let (a, x) = sources;
        let ((many_a, last_a), (many_x, last_x)) = (a.as_chunks(), x.as_chunks_mut());
        let many = kernel.chunks_exact(TOGETHER * y.len());
        let last = many.remainder().chunks_exact(y.len());
        for ((rows, a), x) in many.zip(many_a).zip(many_x) {
            pass_some::<TOGETHER>(rows, (a, x), y, sums, relaxed);
        }
        for ((row, &a), x) in last.zip(last_a).zip(last_x) {
            pass_some::<1>(row, (&[a], std::array::from_mut(x)), y, sums, relaxed);
        }
    }
}

for_wide_registers! {
    /// Computes the factors of the targets from the sums over the rows; 0 where there is no mass.
    fit_targets, fit_targets_wide, (b: &[f32], sums: &[f32], y: &mut [f32], relaxed: bool), {
        for ((y, &b), &sum) in y.iter_mut().zip(b).zip(sums) {
            let fits = (b / sum).clamp(LEAST_FACTOR, 1.0 / LEAST_FACTOR);
            let next = if relaxed { over_relaxed(fits, *y) } else { fits };
            *y = if b > 0.0 { next } else { 0.0 };
        }
    }
}

for_wide_registers! {
    /// Where eight products begin of which one is at least `least`.
    at_least, at_least_wide, (kernel: &[f32], y: &[f32], least: f32, out: &mut Vec<usize>), {
        let chunks = kernel.as_chunks::<LANES>().0.iter().zip(y.as_chunks::<LANES>().0);
        for (at, (kernel, y)) in chunks.enumerate() {
            let mut any = false;
            for lane in 0..LANES {
                any |= kernel[lane] * y[lane] >= least;
            }
            if any {
                out.push(at * LANES);
            }
        }
    }
}

/// A transport problem in single precision with padded rows of costs, and duals for it. Targets without
/// mass and the padding take no part.
#[derive(Clone, Debug, Default)]
pub(crate) struct SingleProblem {
    width: usize,
    cost: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    /// Duals of the sources, and of the targets.
    pub(crate) u: Vec<f32>,
    pub(crate) v: Vec<f32>,
    kernel: Vec<f32>,
    x: Vec<f32>,
    y: Vec<f32>,
    sums: Vec<f32>,
    /// Memory for the places of targets that a source uses.
    begins: Vec<usize>,
}

impl SingleProblem {
    /// Begins a problem with these demands; duals are 0, and sources are still to be added.
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

    /// Adds sources whose costs are still to be written: rows of a width, of which padding is set.
    pub(crate) fn push_all(&mut self, supply: impl Iterator<Item = f32>) -> (usize, &mut [f32]) {
        self.a.extend(supply);
        self.u.resize(self.a.len(), 0.0);
        self.cost.resize(self.a.len() * self.width, FAR);
        (self.width, &mut self.cost)
    }

    /// The costs of a source.
    pub(crate) fn costs(&self, source: usize) -> &[f32] {
        &self.cost[source * self.width..(source + 1) * self.width]
    }

    /// All costs, in rows of a width.
    pub(crate) fn arcs(&self) -> (&[f32], usize) {
        (&self.cost, self.width)
    }

    /// The mean cost, by at most 32 of the sources, evenly spaced.
    pub(crate) fn mean_cost(&self) -> f64 {
        let with_mass = self.b.iter().filter(|&&b| b > 0.0).count();
        let sources = (0..self.a.len()).step_by(self.a.len().div_ceil(32));
        let counted = sources.len() * with_mass;
        let costs = sources.flat_map(|i| self.costs(i).iter().zip(&self.b));
        let sum: f64 = costs.filter(|(_, b)| **b > 0.0).map(|(&cost, _)| f64::from(cost)).sum();
        sum / counted.max(1) as f64
    }

    /// The number of costs that its memory has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.cost.capacity()
    }

    /// The best v for u.
    pub(crate) fn set_targets(&mut self) {
        column_minima(&self.cost, &self.u, &mut self.v);
        self.leave_out_empty_targets();
    }

    /// Lowers the duals of targets without mass so far that no source is held back by them.
    pub(crate) fn leave_out_empty_targets(&mut self) {
        for (v, &b) in self.v.iter_mut().zip(&self.b) {
            *v = if b > 0.0 { *v } else { -FAR };
        }
    }

    /// The best u for v.
    pub(crate) fn set_sources(&mut self) {
        row_minima(&self.cost, &self.v, &mut self.u);
    }

    /// The best u for v of the sources from one on; the others keep theirs.
    pub(crate) fn set_sources_from(&mut self, first: usize) {
        row_minima(&self.cost[first * self.width..], &self.v, &mut self.u[first..]);
    }

    /// Sinkhorn's sweeps, starting from the current u: `sweeps` of them at ε, as many at ε/2, and so on
    /// for `rounds` rounds.
    ///
    /// Every sweep after the first is over-relaxed: in the plane the bound of 20 such sweeps is as good
    /// as that of 100 plain ones. The plan is then x·kernel·y.
    pub(crate) fn sweep(&mut self, mut epsilon: f32, rounds: usize, sweeps: usize) {
        self.set_targets();
        self.kernel.resize(self.cost.len(), 0.0);
        self.x.resize(self.u.len(), 0.0);
        self.y.resize(self.width, 0.0);
        self.sums.resize(self.width, 0.0);
        for round in 0..rounds {
            if round == 0 {
                let duals = (&self.u[..], &self.v[..]);
                fill_kernel(&self.cost, duals, epsilon, &mut self.kernel, &mut self.sums);
            } else {
                epsilon /= 2.0;
                shares(&self.a, &mut self.x);
                shares(&self.b, &mut self.y);
                square_kernel((&self.x, &self.y), &mut self.kernel, &mut self.sums);
            }
            fit_targets(&self.b, &self.sums, &mut self.y, false);
            for sweep in 0..sweeps {
                let relaxed = sweep > 0;
                let sources = (&self.a[..], &mut self.x[..]);
                pass(&self.kernel, sources, &self.y, &mut self.sums, relaxed);
                fit_targets(&self.b, &self.sums, &mut self.y, relaxed);
            }
            for ((u, &x), &a) in self.u.iter_mut().zip(&self.x).zip(&self.a) {
                // The masses that a square has been divided by.
                let taken = if round == 0 { 0.0 } else { 2.0 * logarithm(a.max(TINY)) };
                *u += epsilon * (logarithm(x) - taken);
            }
        }
    }

    /// Lowers the duals of sources with next to no mass so far that no target is held back by them.
    pub(crate) fn lower_small_sources(&mut self) {
        for (u, _) in self.u.iter_mut().zip(&self.a).filter(|(_, a)| **a <= LEAST_MASS) {
            *u = -FAR;
        }
    }

    /// Calls `take` with every target, and its cost, to which the last sweep sends at least
    /// [`LEAST_SHARE`] of the mass of a source.
    pub(crate) fn for_each_used(&mut self, source: usize, mut take: impl FnMut(usize, f32)) {
        let row = source * self.width..(source + 1) * self.width;
        // Where there is no mass, nothing is sent.
        let least = (LEAST_SHARE * self.a[source] / self.x[source]).max(f32::MIN_POSITIVE);
        let (kernel, cost) = (&self.kernel[row.clone()], &self.cost[row]);
        self.begins.clear();
        at_least(kernel, &self.y, least, &mut self.begins);
        for j in self.begins.iter().flat_map(|&begin| begin..begin + LANES) {
            if kernel[j] * self.y[j] >= least {
                take(j, cost[j]);
            }
        }
    }

    /// The lower bound that the best v for the current u, and then the best u for that v, prove.
    pub(crate) fn bound_by_sources(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.set_targets();
        self.set_sources();
        proved_bound((supply, &self.u), (demand, &self.v))
    }

    /// The lower bound that the best u for the current v, and then the best v for that u, prove.
    pub(crate) fn bound_by_targets(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.leave_out_empty_targets();
        self.set_sources();
        self.set_targets();
        proved_bound((demand, &self.v), (supply, &self.u))
    }
}

/// Factors as shares of masses; 0 where there is so little that factors may not go as far down.
fn shares(masses: &[f32], factors: &mut [f32]) {
    for (factor, &mass) in factors.iter_mut().zip(masses) {
        *factor = if mass > LEAST_MASS { *factor / mass } else { 0.0 };
    }
}

/// Σ mass·dual of both measures, lowered by all that rounding may have added. The duals of the first
/// are computed minima, one rounding each; two are taken off. The sums, and totals that differ in their
/// last digits, are off by a share of the sizes of all terms.
pub(crate) fn proved_bound(computed: (&[f64], &[f32]), given: (&[f64], &[f32])) -> f64 {
    let sum_and_size = |(masses, duals): (&[f64], &[f32])| {
        let terms = masses.iter().zip(duals).map(|(mass, &dual)| mass * f64::from(dual));
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    };
    let (first, first_size) = sum_and_size(computed);
    let (second, second_size) = sum_and_size(given);
    let off = double(computed.0.len() + given.0.len() + 8).max(TOTALS);
    first + second - single(2) * first_size - off * (first_size + second_size)
}
