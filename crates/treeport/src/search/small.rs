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
    /// out = minᵢ(cᵢ − uᵢ), entry by entry over padded rows.
    reach, reach_wide, (cost: &[f32], u: &[f32], out: &mut [f32]), {
        out.fill(f32::INFINITY);
        for (row, &u) in cost.chunks_exact(out.len()).zip(u) {
            let (rows, outs) = (row.as_chunks::<LANES>().0, out.as_chunks_mut::<LANES>().0);
            for (out, row) in outs.iter_mut().zip(rows) {
                for lane in 0..LANES {
                    out[lane] = smaller(row[lane] - u, out[lane]);
                }
            }
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
    let series = 1.0 + rest * (0.693_147_2 + rest * (0.240_226_5 + rest * series));
    f32::from_bits(power) * series
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
            let chunks = cost.as_chunks::<LANES>().0.iter().zip(v.as_chunks::<LANES>().0);
            for (row, (cost, v)) in row.as_chunks_mut::<LANES>().0.iter_mut().zip(chunks) {
                for lane in 0..LANES {
                    row[lane] = exponential((u + v[lane] - cost[lane]) * inverse);
                }
            }
        }
        x.fill(1.0);
        for _ in 0..sweeps {
            sums.fill(TINY);
            for (row, &x) in kernel.chunks_exact(width).zip(x.iter()) {
                let rows = row.as_chunks::<LANES>().0;
                for (sum, row) in sums.as_chunks_mut::<LANES>().0.iter_mut().zip(rows) {
                    for lane in 0..LANES {
                        sum[lane] += row[lane] * x;
                    }
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
            *u += epsilon * x.clamp(TINY, 1.0 / TINY).ln();
        }
    }
}

/// A transport problem with padded rows of costs, and duals for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Small {
    targets: usize,
    width: usize,
    cost: Vec<f32>,
    /// Masses; those of the padding are 0.
    a: Vec<f32>,
    b: Vec<f32>,
    /// Duals of the sources and, padded, of the targets.
    pub(super) u: Vec<f32>,
    pub(super) v: Vec<f32>,
    kernel: Vec<f32>,
    x: Vec<f32>,
    y: Vec<f32>,
    sums: Vec<f32>,
}

impl Small {
    /// Begins a problem with these masses; duals are 0, and costs are still to be filled in.
    pub(super) fn begin(
        &mut self,
        supply: impl Iterator<Item = f32>,
        demand: impl Iterator<Item = f32>,
    ) {
        self.a.clear();
        self.a.extend(supply);
        self.b.clear();
        self.b.extend(demand);
        let sources = self.a.len();
        self.targets = self.b.len();
        self.width = self.targets.next_multiple_of(LANES);
        self.b.resize(self.width, 0.0);
        // What is filled in need not be cleared before.
        self.cost.resize(sources * self.width, FAR);
        self.u.clear();
        self.u.resize(sources, 0.0);
        self.v.clear();
        self.v.resize(self.width, 0.0);
    }

    /// Fills in the costs of a source, one for each target.
    pub(super) fn fill(&mut self, source: usize, costs: impl Iterator<Item = f32>) {
        let row = &mut self.cost[source * self.width..][..self.width];
        let (costs_of, padding) = row.split_at_mut(self.targets);
        costs_of.iter_mut().zip(costs).for_each(|(out, cost)| *out = cost);
        padding.fill(FAR);
    }

    /// The best v for u.
    pub(super) fn set_targets(&mut self) {
        reach(&self.cost, &self.u, &mut self.v);
        self.v[self.targets..].fill(0.0);
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

    /// What the duals prove, after the best v for u and the best u for that v.
    pub(super) fn bound(&mut self, supply: &[f64], demand: &[f64]) -> f64 {
        self.set_targets();
        self.set_sources();
        proved(supply, &self.u, demand, &self.v)
    }
}

/// Σ a·u + Σ b·v, where u are computed minima, lowered by all that rounding may have added.
pub(super) fn proved(a: &[f64], u: &[f32], b: &[f64], v: &[f32]) -> f64 {
    let side = |masses: &[f64], duals: &[f32]| {
        let terms = masses.iter().zip(duals).map(|(mass, &dual)| mass * f64::from(dual));
        terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()))
    };
    let ((sources, lowered), (targets, size)) = (side(a, u), side(b, v));
    sources + targets - ROUNDING * lowered - SUMS * (lowered + size)
}
