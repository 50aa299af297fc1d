//! Vectors in single precision, and how far rounding may have moved each of them.

use crate::memory;
use crate::metric::points::{Norm, Points};
use crate::rounding::moved_by_rounding;
use crate::units::of_largest;
use crate::wide::for_wide_registers;

/// Points whose mean is the center, and whose largest offset gives the unit.
const SAMPLED: usize = 32;

/// A vector that rounding moves by more than this is longer than 800,000 units. The unit, which was
/// taken from a few points, is then too small: squares of much longer vectors would overflow.
const MOST_MOVED: f32 = 0.1;

/// Numbers in single precision that a metric keeps of its points, 256 MiB.
const MOST_COPIED: usize = 1 << 26;

/// The copy of all points serves some of them if rounding has moved those by no more than this share of
/// their norms. It has moved them by more where they lie close together and far from the center of all
/// points; then they are rounded again, relative to a center of their own.
const MOST_MOVED_SHARE: f64 = 3e-5;

/// A product loses a share of the squared norms. Vectors are taken relative to a center of their own
/// where that leaves at most this share of their squared norms.
const CLOSE: f64 = 0.25;

/// Vectors relative to a center, in units and single precision.
#[derive(Clone)]
pub(crate) struct SinglePrecisionVectors {
    pub(crate) coordinates: Vec<f32>,
    /// How far each is from the center.
    pub(crate) norms: Vec<f64>,
    /// What rounding may have moved each by, twice.
    pub(crate) moved: Vec<f32>,
}

/// Some vectors to measure from and some to measure to, relative to one center and in one unit.
pub(crate) struct SinglePrecisionPair {
    pub(crate) unit: f64,
    /// Half periods in units, infinite for coordinates that have none; nothing where none matters to
    /// these vectors. What rounding those may change distances by is part of what vectors are moved by.
    pub(crate) halves: Option<Vec<f32>>,
    pub(crate) rows: SinglePrecisionVectors,
    pub(crate) cols: SinglePrecisionVectors,
}

impl SinglePrecisionPair {
    pub(crate) fn new(points: &Points, norm: Norm, rows: &[usize], cols: &[usize]) -> Self {
        let halves = points.halves_among(rows.iter().chain(cols).copied());
        let halves = halves.as_deref();
        let copy = points.single_precision(norm);
        let copied = copy.and_then(|copy| copy.pair(points.dim, norm, rows, cols, halves));
        let mut pair =
            copied.unwrap_or_else(|| Self::rounded_anew(points, norm, rows, cols, halves));
        pair.pay_for_periods(norm, halves);
        pair
    }

    /// Half of what rounding half periods may change a distance by, on each side: with h off by u h,
    /// (h − |x|) + (h − |y|) is off by 2u h.
    fn pay_for_periods(&mut self, norm: Norm, halves: Option<&[f64]>) {
        let Some(halves) = halves else { return };
        let in_units: Vec<f32> = halves.iter().map(|half| (half / self.unit) as f32).collect();
        let moved = moved_by_rounding(norm_of_periods(norm, &in_units));
        for of_vector in self.rows.moved.iter_mut().chain(&mut self.cols.moved) {
            *of_vector += moved;
        }
        self.halves = Some(in_units);
    }

    /// From the points themselves.
    fn rounded_anew(
        points: &Points,
        norm: Norm,
        rows: &[usize],
        cols: &[usize],
        halves: Option<&[f64]>,
    ) -> Self {
        let sample = sample_of(rows, cols);
        let mut center = center(points, &sample);
        keep_in_place(&mut center, halves);
        let all = rows.iter().chain(cols).copied();
        let unit = unit(points, &center, sample.iter().copied());
        let rounded = Self::in_units(points, norm, rows, cols, &center, unit);
        let moved = rounded.rows.moved.iter().chain(&rounded.cols.moved);
        if moved.fold(0.0, |most: f32, &moved| most.max(moved)) <= MOST_MOVED {
            return rounded;
        }
        // The sample did not tell how large the others are.
        Self::in_units(points, norm, rows, cols, &center, self::unit(points, &center, all))
    }

    fn in_units(
        points: &Points,
        norm: Norm,
        rows: &[usize],
        cols: &[usize],
        center: &[f64],
        unit: f64,
    ) -> Self {
        let rounded = |chosen: &[usize]| {
            let mut out = vec![0.0; chosen.len() * points.dim];
            round(points, chosen.iter().copied(), center, unit, &mut out);
            SinglePrecisionVectors::new(points.dim, norm, out)
        };
        Self { unit, halves: None, rows: rounded(rows), cols: rounded(cols) }
    }
}

impl SinglePrecisionVectors {
    /// Vectors that were just rounded, and nothing else.
    fn new(dim: usize, norm: Norm, coordinates: Vec<f32>) -> Self {
        let norms: Vec<f64> = coordinates.chunks_exact(dim).map(|x| norm_of(norm, x)).collect();
        let moved = norms.iter().map(|&norm| moved_by_rounding(norm)).collect();
        Self { coordinates, norms, moved }
    }

    /// Some of them.
    fn some(&self, dim: usize, chosen: &[usize]) -> Self {
        let mut coordinates = Vec::with_capacity(chosen.len() * dim);
        for &i in chosen {
            coordinates.extend_from_slice(self.vector(dim, i));
        }
        let norms = chosen.iter().map(|&i| self.norms[i]).collect();
        Self { coordinates, norms, moved: chosen.iter().map(|&i| self.moved[i]).collect() }
    }

    /// Some of them, relative to a center of their own: what rounding moved them by before is added to
    /// what it moves them by now.
    fn some_from(&self, dim: usize, norm: Norm, chosen: &[usize], center: &[f32]) -> Self {
        let mut out = vec![0.0; chosen.len() * dim];
        for (&i, out) in chosen.iter().zip(out.chunks_exact_mut(dim)) {
            relative_to(self.vector(dim, i), center, out);
        }
        let mut vectors = Self::new(dim, norm, out);
        vectors.moved.iter_mut().zip(chosen).for_each(|(moved, &i)| *moved += self.moved[i]);
        vectors
    }

    fn vector(&self, dim: usize, i: usize) -> &[f32] {
        &self.coordinates[i * dim..(i + 1) * dim]
    }
}

/// All points relative to a center, in units and single precision.
#[derive(Clone)]
pub(crate) struct SinglePrecisionCopy {
    unit: f64,
    all: SinglePrecisionVectors,
}

impl SinglePrecisionCopy {
    /// Nothing, where it would be large or there is no room for it.
    pub(crate) fn new(points: &Points, norm: Norm) -> Option<Self> {
        let (n, dim) = (points.len(), points.dim);
        // Of every point its coordinates, its norm in double precision, and what it was moved by.
        if n.saturating_mul(dim + 3) > MOST_COPIED {
            return None;
        }
        let step = format_args!("coordinates in single precision");
        memory::check(step, memory::size_of::<f32>(&[n, dim + 3]), "").ok()?;
        let mut vectors = memory::zeros(step, n * dim, "").ok()?;
        let sample: Vec<usize> = (0..n).step_by(n.div_ceil(SAMPLED).max(1)).collect();
        let mut center = center(points, &sample);
        keep_in_place(&mut center, points.halves());
        let unit = unit(points, &center, 0..n);
        round(points, 0..n, &center, unit, &mut vectors);
        Some(Self { unit, all: SinglePrecisionVectors::new(dim, norm, vectors) })
    }

    /// Some of all points, relative to a center of their own where they lie close together. Nothing
    /// where rounding has moved them by more than [`MOST_MOVED_SHARE`].
    fn pair(
        &self,
        dim: usize,
        norm: Norm,
        rows: &[usize],
        cols: &[usize],
        halves: Option<&[f64]>,
    ) -> Option<SinglePrecisionPair> {
        let (unit, all) = (self.unit, &self.all);
        let sample = sample_of(rows, cols);
        let mut center = vec![0.0f32; dim];
        let share = 1.0 / sample.len() as f32;
        for &i in &sample {
            center.iter_mut().zip(all.vector(dim, i)).for_each(|(c, x)| *c += share * x);
        }
        keep_in_place(&mut center, halves);
        let squares = |norms: &[f64]| norms.iter().map(|norm| norm * norm).sum::<f64>();
        let near = all.some_from(dim, norm, &sample, &center).norms;
        let far: Vec<f64> = sample.iter().map(|&i| all.norms[i]).collect();
        let are_close = squares(&near) < CLOSE * squares(&far);
        let [left, right] = [rows, cols].map(|chosen| {
            if are_close {
                all.some_from(dim, norm, chosen, &center)
            } else {
                all.some(dim, chosen)
            }
        });
        let moved = |chosen: &[usize]| chosen.iter().map(|&i| f64::from(all.moved[i])).sum::<f64>();
        let norms = left.norms.iter().chain(&right.norms).sum::<f64>();
        let is_near = moved(rows) + moved(cols) <= MOST_MOVED_SHARE * norms;
        is_near.then_some(SinglePrecisionPair { unit, halves: None, rows: left, cols: right })
    }
}

/// A few of all rows and columns, evenly spaced.
fn sample_of(rows: &[usize], cols: &[usize]) -> Vec<usize> {
    let step = (rows.len() + cols.len()).div_ceil(SAMPLED);
    rows.iter().chain(cols).copied().step_by(step.max(1)).collect()
}

/// The mean of a sample. Bounds hold for any center; a better one makes them narrower.
fn center(points: &Points, sample: &[usize]) -> Vec<f64> {
    let share = 1.0 / sample.len() as f64;
    let mut center = vec![0.0; points.dim];
    for &i in sample {
        center.iter_mut().zip(points.vector(i)).for_each(|(c, x)| *c += share * x);
    }
    center
}

/// Coordinates that go round stay where they are: relative to another place they would have to be wrapped
/// again.
pub(super) fn keep_in_place<T: Default>(center: &mut [T], halves: Option<&[f64]>) {
    for (at, half) in center.iter_mut().zip(halves.unwrap_or_default()) {
        if half.is_finite() {
            *at = T::default();
        }
    }
}

/// A unit in which no coordinate of these points, relative to the center, is above 2.
fn unit(points: &Points, center: &[f64], of: impl Iterator<Item = usize>) -> f64 {
    let span = |i: usize| {
        let offsets = points.vector(i).iter().zip(center).map(|(x, c)| (x - c).abs());
        offsets.fold(0.0, f64::max)
    };
    of_largest(of.map(span))
}

/// Some vectors relative to a center, in units. Rounding to single precision is the last step, and the
/// only one that loses more than double precision does.
fn round(
    points: &Points,
    chosen: impl Iterator<Item = usize>,
    center: &[f64],
    unit: f64,
    out: &mut [f32],
) {
    let inverse = 1.0 / unit;
    for (i, out) in chosen.zip(out.chunks_exact_mut(points.dim)) {
        round_one(points.vector(i), center, inverse, out);
    }
}

/// The norm of a vector, in double precision.
pub(super) fn norm_of(norm: Norm, x: &[f32]) -> f64 {
    match norm {
        Norm::L2 => squared_norm(x).sqrt(),
        Norm::L1 => sum_of_absolutes(x),
        Norm::Largest => x.iter().fold(0.0, |most: f64, &x| most.max(f64::from(x.abs()))),
    }
}

/// The norm of all half periods, where coordinates have one.
pub(super) fn norm_of_periods(norm: Norm, halves: &[f32]) -> f64 {
    let finite: Vec<f32> = halves.iter().copied().filter(|half| half.is_finite()).collect();
    norm_of(norm, &finite)
}

for_wide_registers! {
    /// One vector, rounded.
    round_one, round_one_wide, (x: &[f64], center: &[f64], inverse: f64, out: &mut [f32]), {
        for ((out, x), center) in out.iter_mut().zip(x).zip(center) {
            *out = ((x - center) * inverse) as f32;
        }
    }
}

for_wide_registers! {
    /// One vector relative to another.
    relative_to, relative_to_wide, (x: &[f32], center: &[f32], out: &mut [f32]), {
        for ((out, x), center) in out.iter_mut().zip(x).zip(center) {
            *out = x - center;
        }
    }
}

for_wide_registers! {
    /// Σ x².
    squared_norm, squared_norm_wide, (x: &[f32]) -> f64, {
        sum_of(x, |x| f64::from(x) * f64::from(x))
    }
}

for_wide_registers! {
    /// Σ |x|.
    sum_of_absolutes, sum_of_absolutes_wide, (x: &[f32]) -> f64, {
        sum_of(x, |x| f64::from(x.abs()))
    }
}

/// A sum in eight lanes, so that the loop is not one chain.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
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
