//! What dual values prove about a small transport problem, in single precision.
//!
//! Costs are given in single precision, none above the distance it stands for, so that duals that
//! respect them respect the distances. For any v, uᵢ = minⱼ(cᵢⱼ − vⱼ) leaves uᵢ + vⱼ ≤ cᵢⱼ.
//! Rounding never changes an order, so the computed uᵢ *is* that minimum, rounded once: it is above
//! it by no more than 2⁻²⁴|uᵢ|. Lowered by that the duals are feasible, and Σ aᵢuᵢ + Σ bⱼvⱼ, added
//! up in double precision, is below the cost of every plan. Nothing else in here has to be exact:
//! the sweeps may leave any v that is finite.

/// Rows are padded to this many entries, one register of single precision.
const LANES: usize = 8;

/// Costs of the padding, and the largest there are.
pub(super) const FAR: f32 = 1e30;

/// Twice the largest relative error of one rounding.
const ROUNDING: f64 = 1.0 / (1u32 << 23) as f64;

/// More than what sums of products in double precision can be off by, for each unit of their size.
const SUMS: f64 = 1e-12;

/// A function, and a copy of it for processors with wide registers: the same numbers in less time.
macro_rules! widened {
    ($(#[$about:meta])* $name:ident, $wide:ident, ($($argument:ident: $type:ty),*) $(-> $out:ty)?,
     $body:block) => {
        $(#[$about])*
        pub(super) fn $name($($argument: $type),*) $(-> $out)? {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
            fn plain($($argument: $type),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn $wide($($argument: $type),*) $(-> $out)? {
                plain($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[expect(
                    unsafe_code,
                    reason = "a function for a newer processor may not run on an older one"
                )]
                // SAFETY: this processor was just asked whether it is new enough.
                return unsafe { $wide($($argument),*) };
            }
            plain($($argument),*)
        }
    };
}
pub(super) use widened;

/// The smaller of two numbers that are not NaN, in one instruction.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The smallest of some lanes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(super) fn smallest(lanes: [f32; LANES]) -> f32 {
    lanes.into_iter().fold(f32::INFINITY, smaller)
}

widened! {
    /// out = minᵢ(cᵢ − uᵢ), entry by entry over padded rows: for eight columns at a time, so that the
    /// minima stay in a register.
    reach, reach_wide, (cost: &[f32], u: &[f32], out: &mut [f32]), {
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

widened! {
    /// The smallest of c − v in every padded row.
    allowed, allowed_wide, (cost: &[f32], v: &[f32], out: &mut [f32]), {
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

/// e to the x, to about 10⁻⁵ relatively; what is below the range becomes 2⁻¹²⁶.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn exponential(x: f32) -> f32 {
    // Adding this rounds to a whole number, which is then in the lowest bits.
    const WHOLE: f32 = (3 << 22) as f32;
    let x = x * std::f32::consts::LOG2_E;
    let x = if x > -126.0 { x } else { -126.0 };
    let x = if x < 126.0 { x } else { 126.0 };
    let rounded = x + WHOLE;
    let power = rounded.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_add(127) << 23;
    let rest = x - (rounded - WHOLE);
    // The series of 2ˣ, for |x| ≤ ½.
    let series = 0.055_504_1 + rest * 0.009_618_1;
    let series = 1.0 + rest * (std::f32::consts::LN_2 + rest * (0.240_226_5 + rest * series));
    f32::from_bits(power) * series
}

/// The natural logarithm of a positive number, to about 10⁻⁵.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
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

/// What the sweeps of a problem work with.
pub(super) struct Sweep<'a> {
    cost: &'a [f32],
    a: &'a [f32],
    b: &'a [f32],
    u: &'a mut [f32],
    v: &'a [f32],
    kernel: &'a mut [f32],
    x: &'a mut [f32],
    y: &'a mut [f32],
    sums: &'a mut [f32],
}

/// Keeps divisions finite; what is this small does not count.
const TINY: f32 = 1e-30;

widened! {
    /// Sinkhorn's sweeps at one ε, from duals that respect the costs, so that every exponent is at
    /// most 0; the result goes into u.
    sweep, sweep_wide, (on: Sweep<'_>, epsilon: f32, sweeps: usize), {
        let Sweep { cost, a, b, u, v, kernel, x, y, sums } = on;
        let width = v.len();
        let inverse = 1.0 / epsilon;
        for ((row, cost), &u) in
            kernel.chunks_exact_mut(width).zip(cost.chunks_exact(width)).zip(u.iter())
        {
            for ((out, cost), v) in row.iter_mut().zip(cost).zip(v) {
                *out = exponential((u + v - cost) * inverse);
            }
        }
        x.fill(1.0);
        for _ in 0..sweeps {
            sums.fill(TINY);
            for (row, &x) in kernel.chunks_exact(width).zip(x.iter()) {
                for (sum, kernel) in sums.iter_mut().zip(row) {
                    *sum += kernel * x;
                }
            }
            for ((y, &b), &sum) in y.iter_mut().zip(b).zip(sums.iter()) {
                *y = b / sum;
            }
            for ((x, &a), row) in x.iter_mut().zip(a).zip(kernel.chunks_exact(width)) {
                let mut sum = [0.0; LANES];
                let ys = y.as_chunks::<LANES>().0;
                for (row, y) in row.as_chunks::<LANES>().0.iter().zip(ys) {
                    for lane in 0..LANES {
                        sum[lane] += row[lane] * y[lane];
                    }
                }
                *x = a / (sum.iter().sum::<f32>() + TINY);
            }
        }
        for (u, &x) in u.iter_mut().zip(x.iter()) {
            *u += epsilon * logarithm(x.clamp(TINY, 1.0 / TINY));
        }
    }
}

/// A transport problem with padded rows of costs, and duals for it. A target without mass takes no
/// part, and neither does the padding.
#[derive(Clone, Debug, Default)]
pub(super) struct Small {
    width: usize,
    cost: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    /// Duals of the sources, and of the targets.
    pub(super) u: Vec<f32>,
    pub(super) v: Vec<f32>,
    kernel: Vec<f32>,
    x: Vec<f32>,
    y: Vec<f32>,
    sums: Vec<f32>,
}

impl Small {
    /// Begins a problem with these demands; duals are 0, and sources are still to be added.
    pub(super) fn begin(&mut self, demand: impl Iterator<Item = f32>) {
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
    pub(super) fn push(&mut self, supply: f32, costs: &[f32]) {
        self.a.push(supply);
        self.u.push(0.0);
        self.cost.extend_from_slice(costs);
        self.cost.resize(self.a.len() * self.width, FAR);
    }

    /// The best v for u.
    fn set_targets(&mut self) {
        reach(&self.cost, &self.u, &mut self.v);
        self.leave_out();
    }

    /// Targets without mass allow everything.
    pub(super) fn leave_out(&mut self) {
        for (v, &b) in self.v.iter_mut().zip(&self.b) {
            *v = if b > 0.0 { *v } else { -FAR };
        }
    }

    /// The best u for v.
    pub(super) fn set_sources(&mut self) {
        allowed(&self.cost, &self.v, &mut self.u);
    }

    /// Sinkhorn's sweeps from the u at hand.
    pub(super) fn sweep(&mut self, epsilon: f32, sweeps: usize) {
        self.set_targets();
        self.kernel.resize(self.cost.len(), 0.0);
        self.x.resize(self.u.len(), 0.0);
        self.y.resize(self.width, 0.0);
        self.sums.resize(self.width, 0.0);
        let on = Sweep {
            cost: &self.cost,
            a: &self.a,
            b: &self.b,
            u: &mut self.u,
            v: &self.v,
            kernel: &mut self.kernel,
            x: &mut self.x,
            y: &mut self.y,
            sums: &mut self.sums,
        };
        sweep(on, epsilon, sweeps);
    }

    /// What u proves, with the best v for it and then the best u for that.
    pub(super) fn bound_by_sources(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.set_targets();
        self.set_sources();
        proved((supply, &self.u), (demand, &self.v))
    }

    /// What v proves, with the best u for it and then the best v for that.
    pub(super) fn bound_by_targets(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.leave_out();
        self.set_sources();
        self.set_targets();
        proved((demand, &self.v), (supply, &self.u))
    }
}

/// Σ mass·dual of both sides, where those of the first are computed minima, lowered by all that
/// rounding may have added.
fn proved(computed: (&[f64], &[f32]), given: (&[f64], &[f32])) -> f64 {
    let side = |(masses, duals): (&[f64], &[f32])| {
        let terms = masses.iter().zip(duals).map(|(mass, &dual)| mass * f64::from(dual));
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    };
    let ((first, lowered), (second, size)) = (side(computed), side(given));
    first + second - ROUNDING * lowered - SUMS * (lowered + size)
}
