//! Vectors in single precision, with a bound of the rounding error of each.

use super::frame::{Frame, center, in_units, moved_by_periods, norm_of, zero_periodic_axes};
use crate::memory;
use crate::metric::points::{Norm, Points};
use crate::numeric::rounding::moved_by_rounding;
use crate::numeric::wide_registers::for_wide_registers;

/// Points in the sample whose mean becomes the center and whose largest offset gives the unit.
const SAMPLED: usize = 32;

/// Largest rounding error of a vector, which implies a length of 800,000 units. Above it, the unit,
/// which comes from a sample, is too small: squares of much longer vectors would overflow.
const MOST_MOVED: f32 = 0.1;

/// Largest size of the copy that a metric keeps of its points: 256 MiB in single precision.
const MOST_COPIED: usize = 1 << 26;

/// Largest rounding error, as a share of the norms, of vectors that are taken from the copy of all
/// points. Vectors that lie close together and far from the center of all points have larger
/// errors; they are rounded again, relative to their own center.
const MOST_MOVED_SHARE: f64 = 3e-5;

/// Ratio of the squared norms around the vectors' own center to those around the common center,
/// below which the own center is used: a product loses a share of the squared norms.
const CLOSE: f64 = 0.25;

/// Vectors relative to a center, in multiples of a unit, in single precision.
#[derive(Clone)]
pub(crate) struct SinglePrecisionVectors {
    pub(crate) coordinates: Vec<f32>,
    /// Norm of each vector: its distance from the center.
    pub(crate) norms: Vec<f64>,
    /// Twice an upper bound of the rounding error of each vector.
    pub(crate) moved: Vec<f32>,
}

/// Row and column vectors relative to one center and in one unit.
pub(crate) struct SinglePrecisionPair {
    pub(crate) unit: f64,
    /// Half periods in multiples of `unit`: infinite for coordinates without a period, `None` if no
    /// period affects these vectors. The error of rounded half periods is part of the vectors' own.
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
        pair.add_period_error(norm, halves);
        pair
    }

    /// Adds the error of rounded half periods to that of each vector.
    fn add_period_error(&mut self, norm: Norm, halves: Option<&[f64]>) {
        let Some(halves) = halves else { return };
        let in_units = in_units(halves, self.unit);
        let moved = moved_by_periods(norm, &in_units);
        for of_vector in self.rows.moved.iter_mut().chain(&mut self.cols.moved) {
            *of_vector += moved;
        }
        self.halves = Some(in_units);
    }

    /// Rounds the points themselves instead of using the copy.
    fn rounded_anew(
        points: &Points,
        norm: Norm,
        rows: &[usize],
        cols: &[usize],
        halves: Option<&[f64]>,
    ) -> Self {
        let sample = sample_of(rows, cols);
        let sample = sample.iter().map(|&i| points.vector(i));
        let frame = Frame::around(points.dim, sample, halves);
        let rounded = Self::in_frame(points, norm, rows, cols, &frame);
        let moved = rounded.rows.moved.iter().chain(&rounded.cols.moved);
        if moved.fold(0.0, |most: f32, &moved| most.max(moved)) <= MOST_MOVED {
            return rounded;
        }
        // Some vectors are much longer than the sample.
        let all = rows.iter().chain(cols).map(|&i| points.vector(i));
        let frame = Frame::with_center(frame.center, all, halves);
        Self::in_frame(points, norm, rows, cols, &frame)
    }

    fn in_frame(
        points: &Points,
        norm: Norm,
        rows: &[usize],
        cols: &[usize],
        frame: &Frame,
    ) -> Self {
        let rounded = |chosen: &[usize]| {
            let mut vectors = vec![0.0; chosen.len() * points.dim];
            round_all(points, chosen.iter().copied(), frame, &mut vectors);
            SinglePrecisionVectors::new(points.dim, norm, vectors)
        };
        Self { unit: frame.unit, halves: None, rows: rounded(rows), cols: rounded(cols) }
    }
}

/// Rounds the chosen vectors.
fn round_all(points: &Points, chosen: impl Iterator<Item = usize>, frame: &Frame, out: &mut [f32]) {
    for (i, out) in chosen.zip(out.chunks_exact_mut(points.dim)) {
        frame.round(points.vector(i), out);
    }
}

impl SinglePrecisionVectors {
    /// Wraps rounded coordinates with their norms and rounding errors.
    fn new(dim: usize, norm: Norm, coordinates: Vec<f32>) -> Self {
        let norms: Vec<f64> = coordinates.chunks_exact(dim).map(|x| norm_of(norm, x)).collect();
        let moved = norms.iter().map(|&norm| moved_by_rounding(norm)).collect();
        Self { coordinates, norms, moved }
    }

    /// Copies the chosen vectors.
    fn some(&self, dim: usize, chosen: &[usize]) -> Self {
        let mut coordinates = Vec::with_capacity(chosen.len() * dim);
        for &i in chosen {
            coordinates.extend_from_slice(self.vector(dim, i));
        }
        let norms = chosen.iter().map(|&i| self.norms[i]).collect();
        Self { coordinates, norms, moved: chosen.iter().map(|&i| self.moved[i]).collect() }
    }

    /// Copies the chosen vectors relative to their own center; errors of both steps add up.
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

/// Copy of all points relative to a center, in multiples of `unit`, in single precision.
#[derive(Clone)]
pub(crate) struct SinglePrecisionCopy {
    unit: f64,
    all: SinglePrecisionVectors,
}

impl SinglePrecisionCopy {
    /// Copies the points; returns `None` where the copy would be large or does not fit into memory.
    pub(crate) fn new(points: &Points, norm: Norm) -> Option<Self> {
        let (n, dim) = (points.len(), points.dim);
        // Each point has its coordinates, its norm in double precision, and its rounding error.
        if n.saturating_mul(dim + 3) > MOST_COPIED {
            return None;
        }
        let step = "coordinates in single precision";
        memory::check(step, memory::size_of::<f32>(&[n, dim + 3]), "").ok()?;
        let mut vectors = memory::zeros(step, n * dim, "").ok()?;
        let sample = (0..n).step_by(n.div_ceil(SAMPLED).max(1)).map(|i| points.vector(i));
        let center = center(dim, sample, points.halves());
        let frame = Frame::with_center(center, (0..n).map(|i| points.vector(i)), None);
        round_all(points, 0..n, &frame, &mut vectors);
        Some(Self { unit: frame.unit, all: SinglePrecisionVectors::new(dim, norm, vectors) })
    }

    /// Copies the vectors of `rows` and `cols`, relative to their own center if they are close
    /// together. Returns `None` if their rounding error exceeds [`MOST_MOVED_SHARE`].
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
        zero_periodic_axes(&mut center, halves);
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

/// Returns an evenly spaced sample of all rows and columns.
fn sample_of(rows: &[usize], cols: &[usize]) -> Vec<usize> {
    let step = (rows.len() + cols.len()).div_ceil(SAMPLED);
    rows.iter().chain(cols).copied().step_by(step.max(1)).collect()
}

for_wide_registers! {
    /// Computes one vector relative to another.
    relative_to, relative_to_wide, (x: &[f32], center: &[f32], out: &mut [f32]), {
        for ((out, x), center) in out.iter_mut().zip(x).zip(center) {
            *out = x - center;
        }
    }
}
