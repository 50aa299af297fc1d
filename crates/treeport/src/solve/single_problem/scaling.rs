//! Sinkhorn sweeps of a [`SingleProblem`]: scalings of a kernel, over-relaxed, at a falling ε.
//!
//! The kernel is computed once, from the first dual values. Halving ε squares it, after the current
//! scalings have been multiplied into it. Sweeps may round freely: the bound is proved afterwards
//! from the dual values alone.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

use super::{LANES, SingleProblem};
use crate::metric::FAR;
use crate::numeric::wide_registers::for_wide_registers;

/// Computes eˣ with a relative error of about 10⁻⁵; 0 below 2⁻⁸⁰, the slow range.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    // Adding this rounds to an integer, which is then in the lowest bits.
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

/// Computes the natural logarithm of a positive number to about 10⁻⁵.
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

/// Term that keeps divisions finite.
const TINY: f32 = 1e-30;

/// Least scaling; the largest is its inverse.
const LEAST_FACTOR: f32 = 1e-18;

/// Share of all mass up to which points are left out once a kernel is squared.
const LEAST_MASS: f32 = 1e-14;

/// Entry of a squared kernel below which it becomes 0, far above slow numbers.
const LEAST_KERNEL: f32 = 1e-24;

/// Least share of a source's mass that it sends to a target it uses.
const LEAST_SHARE: f32 = 0.03;

/// Over-relaxes a scaling: `fits` is the one that meets the marginal now, and the next one is
/// last·(fits/last)^1.75. Two square roots instead of a power give the same bits on every
/// processor.
#[inline(always)]
fn over_relaxed(fits: f32, last: f32) -> f32 {
    let root = (fits / last).sqrt();
    (fits * root * root.sqrt()).clamp(LEAST_FACTOR, 1.0 / LEAST_FACTOR)
}

for_wide_registers! {
    /// Computes e^((u + v − c)/ε) of feasible dual values, and its column sums.
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
    /// Multiplies the scalings into a kernel and squares it, which halves ε, and computes its
    /// column sums. The scalings are shares of the masses, so that the squared entries are near 1
    /// where mass moves.
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

/// Rows that a pass reads together: additions to one sum wait for each other, several sums overlap.
const TOGETHER: usize = 8;

/// Computes the scalings of the given sources from those of the targets; adds column sums.
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

/// Adds up lanes, halves first.
#[inline(always)]
fn sum_of_lanes(lanes: [f32; LANES]) -> f32 {
    let four: [f32; 4] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

for_wide_registers! {
    /// Computes the scalings of all sources from those of the targets, and the column sums.
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
    /// Computes the scalings of the targets from the column sums; 0 where there is no mass.
    fit_targets, fit_targets_wide, (b: &[f32], sums: &[f32], y: &mut [f32], relaxed: bool), {
        for ((y, &b), &sum) in y.iter_mut().zip(b).zip(sums) {
            let fits = (b / sum).clamp(LEAST_FACTOR, 1.0 / LEAST_FACTOR);
            let next = if relaxed { over_relaxed(fits, *y) } else { fits };
            *y = if b > 0.0 { next } else { 0.0 };
        }
    }
}

for_wide_registers! {
    /// Lists the chunks of eight products of which one is at least `least`, by where they begin.
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

impl SingleProblem {
    /// Sweeps from the current u: `sweeps` times at ε, as often at ε/2, and so on for `rounds`
    /// rounds.
    ///
    /// Every sweep after the first is over-relaxed: in the plane the bound of 20 such sweeps is as
    /// good as that of 100 plain ones. The plan is then x·kernel·y. Stops earlier if `keep_going`
    /// returns false.
    pub(crate) fn sweep(
        &mut self,
        mut epsilon: f32,
        (rounds, sweeps): (usize, usize),
        keep_going: &dyn Fn() -> bool,
    ) {
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
            let mut goes_on = true;
            for sweep in 0..sweeps {
                let relaxed = sweep > 0;
                let sources = (&self.a[..], &mut self.x[..]);
                pass(&self.kernel, sources, &self.y, &mut self.sums, relaxed);
                fit_targets(&self.b, &self.sums, &mut self.y, relaxed);
                goes_on = keep_going();
                if !goes_on {
                    break;
                }
            }
            for ((u, &x), &a) in self.u.iter_mut().zip(&self.x).zip(&self.a) {
                // A squared kernel has been divided by the masses.
                let taken = if round == 0 { 0.0 } else { 2.0 * logarithm(a.max(TINY)) };
                *u += epsilon * (logarithm(x) - taken);
            }
            if !goes_on {
                break;
            }
        }
    }

    /// Lowers the dual values of sources with next to no mass so far that they constrain no target.
    pub(crate) fn lower_small_sources(&mut self) {
        for (u, _) in self.u.iter_mut().zip(&self.a).filter(|(_, a)| **a <= LEAST_MASS) {
            *u = -FAR;
        }
    }

    /// Calls `take` with every target that gets [`LEAST_SHARE`] of a source's mass, and its cost.
    pub(crate) fn for_each_used(&mut self, source: usize, mut take: impl FnMut(usize, f32)) {
        let row = source * self.width..(source + 1) * self.width;
        // A target without mass receives nothing.
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
}

/// Divides scalings by masses; the result is 0 for masses up to [`LEAST_MASS`].
fn shares(masses: &[f32], factors: &mut [f32]) {
    for (factor, &mass) in factors.iter_mut().zip(masses) {
        *factor = if mass > LEAST_MASS { *factor / mass } else { 0.0 };
    }
}
