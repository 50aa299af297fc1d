//! Coordinates in single precision: relative to a center, in multiples of a power of two, the unit.
//!
//! A vector x becomes (x − center) / unit. Rounding to single precision is the last step, and the
//! only one that loses more than double precision does: [`moved_by_rounding`] bounds the error of
//! the vector. The bounds hold for any center and unit; well-chosen ones lose less.

use crate::metric::points::Norm;
use crate::numeric::rounding::moved_by_rounding;
use crate::numeric::scale::of_largest;
use crate::numeric::wide_registers::for_wide_registers;

/// Center and unit of vectors in single precision.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) center: Vec<f64>,
    /// A power of two.
    pub(crate) unit: f64,
    /// Half periods in multiples of `unit`, infinite for coordinates without a period; `None` if no
    /// coordinate has a period.
    pub(crate) halves: Option<Vec<f32>>,
}

impl Frame {
    /// Creates a frame centered at the mean of the given vectors, in which none of their
    /// coordinates exceeds 2.
    pub(crate) fn around<'a>(
        dim: usize,
        vectors: impl Iterator<Item = &'a [f64]> + Clone,
        halves: Option<&[f64]>,
    ) -> Self {
        let center = center(dim, vectors.clone(), halves);
        Self::with_center(center, vectors, halves)
    }

    /// Creates a frame with a unit in which no coordinate of these vectors exceeds 2.
    pub(crate) fn with_center<'a>(
        center: Vec<f64>,
        vectors: impl Iterator<Item = &'a [f64]>,
        halves: Option<&[f64]>,
    ) -> Self {
        let offset = |vector: &[f64]| {
            let offsets = vector.iter().zip(&center).map(|(x, c)| (x - c).abs());
            offsets.fold(0.0, f64::max)
        };
        let unit = of_largest(vectors.map(offset));
        let halves = halves.map(|halves| in_units(halves, unit));
        Self { center, unit, halves }
    }

    /// Rounds a vector to single precision.
    pub(crate) fn round(&self, vector: &[f64], out: &mut [f32]) {
        round_one(vector, &self.center, 1.0 / self.unit, out);
    }

    /// Computes twice the error that rounded half periods add to a vector; 0 without periods.
    pub(crate) fn moved_by_periods(&self, norm: Norm) -> f32 {
        self.halves.as_deref().map_or(0.0, |halves| moved_by_periods(norm, halves))
    }
}

/// Converts half periods to multiples of `unit`.
pub(super) fn in_units(halves: &[f64], unit: f64) -> Vec<f32> {
    halves.iter().map(|half| (half / unit) as f32).collect()
}

/// Computes twice the error that rounded half periods h add to one of two vectors: with h off by
/// u·h, the way around, (h − |x|) + (h − |y|), is off by 2u·h, and each vector takes half of it.
pub(super) fn moved_by_periods(norm: Norm, halves: &[f32]) -> f32 {
    let finite: Vec<f32> = halves.iter().copied().filter(|half| half.is_finite()).collect();
    moved_by_rounding(norm_of(norm, &finite))
}

/// Computes the mean of the given vectors; 0 along coordinates with a period.
pub(crate) fn center<'a>(
    dim: usize,
    vectors: impl Iterator<Item = &'a [f64]> + Clone,
    halves: Option<&[f64]>,
) -> Vec<f64> {
    let share = 1.0 / vectors.clone().count().max(1) as f64;
    let mut center = vec![0.0; dim];
    for vector in vectors {
        center.iter_mut().zip(vector).for_each(|(mean, x)| *mean += share * x);
    }
    zero_periodic_axes(&mut center, halves);
    center
}

/// Sets the center to 0 along periodic coordinates, which would else be wrapped again.
pub(super) fn zero_periodic_axes<T: Default>(center: &mut [T], halves: Option<&[f64]>) {
    for (at, half) in center.iter_mut().zip(halves.unwrap_or_default()) {
        if half.is_finite() {
            *at = T::default();
        }
    }
}

/// Computes the norm of a vector in double precision.
pub(super) fn norm_of(norm: Norm, x: &[f32]) -> f64 {
    match norm {
        Norm::L2 => squared_norm(x).sqrt(),
        Norm::L1 => sum_of_absolutes(x),
        Norm::Largest => x.iter().fold(0.0, |most: f64, &x| most.max(f64::from(x.abs()))),
    }
}

for_wide_registers! {
    /// Rounds one vector.
    round_one, round_one_wide, (x: &[f64], center: &[f64], inverse: f64, out: &mut [f32]), {
        for ((out, x), center) in out.iter_mut().zip(x).zip(center) {
            *out = ((x - center) * inverse) as f32;
        }
    }
}

for_wide_registers! {
    /// Computes Σ x².
    squared_norm, squared_norm_wide, (x: &[f32]) -> f64, {
        sum_of(x, |x| f64::from(x) * f64::from(x))
    }
}

for_wide_registers! {
    /// Computes Σ |x|.
    sum_of_absolutes, sum_of_absolutes_wide, (x: &[f32]) -> f64, {
        sum_of(x, |x| f64::from(x.abs()))
    }
}

/// Sums in eight lanes, so that additions do not form one chain.
#[inline(always)]
fn sum_of(values: &[f32], term: impl Fn(f32) -> f64) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        for lane in 0..8 {
            sums[lane] += term(chunk[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&x| term(x)).sum::<f64>()
}
