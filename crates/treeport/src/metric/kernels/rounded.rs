//! Vectors in single precision, and how far rounding may have moved each of them.

use crate::memory;
use crate::metric::points::{Norm, Points};
use crate::units::of_largest;
use crate::wide::for_wide_registers;

/// Half the distance from 1 to the next number: the largest relative error of one rounding.
pub(crate) const ROUNDING: f64 = 1.0 / (1u32 << 24) as f64;

/// Less than this is nothing: rounding would no longer be relative.
pub(crate) const NOTHING: f32 = 1e-18;

/// Points that are looked at for what holds for all.
const SOME: usize = 32;

/// What vectors of a million units are moved by; of such no square overflows, but much larger ones
/// would.
const MOST_MOVED: f32 = 0.1;

/// Numbers in single precision that a metric keeps of its points, 256 MiB.
const MOST_COPIED: usize = 1 << 26;

/// The share of their size by which the copy of all points may have moved some of them. Where they lie
/// closer together, and far from the others, they are rounded anew from where they are.
const MOST_SHARE: f64 = 3e-5;

/// The share of the squares of sizes that is left from a centre of their own where it is worth to see
/// vectors from there: what roundings of a product lose is a share of those squares.
const CLOSE: f64 = 0.25;

/// Vectors seen from a centre, in units and single precision.
#[derive(Clone)]
pub(crate) struct SinglePrecisionVectors {
    pub(crate) coordinates: Vec<f32>,
    /// How far each is from the centre.
    pub(crate) sizes: Vec<f64>,
    /// What rounding may have moved each by, twice.
    pub(crate) moved: Vec<f32>,
}

/// Some vectors to measure from and some to measure to, seen from one centre and in one unit.
pub(crate) struct SinglePrecisionPair {
    pub(crate) unit: f64,
    pub(crate) left: SinglePrecisionVectors,
    pub(crate) right: SinglePrecisionVectors,
}

impl SinglePrecisionPair {
    pub(crate) fn new(points: &Points, norm: Norm, rows: &[usize], cols: &[usize]) -> Self {
        let copy = points.single_precision(norm);
        let copied = copy.and_then(|copy| copy.pair(points.dim, norm, rows, cols));
        copied.unwrap_or_else(|| Self::rounded_anew(points, norm, rows, cols))
    }

    /// From the points themselves.
    fn rounded_anew(points: &Points, norm: Norm, rows: &[usize], cols: &[usize]) -> Self {
        let some = some_of(rows, cols);
        let centre = centre(points, &some);
        let all = rows.iter().chain(cols).copied();
        let unit = unit(points, &centre, some.iter().copied());
        let rounded = Self::in_units(points, norm, (rows, cols), &centre, unit);
        let moved = rounded.left.moved.iter().chain(&rounded.right.moved);
        if moved.fold(0.0, |most: f32, &moved| most.max(moved)) <= MOST_MOVED {
            return rounded;
        }
        // A few points did not tell how large the others are.
        Self::in_units(points, norm, (rows, cols), &centre, self::unit(points, &centre, all))
    }

    fn in_units(
        points: &Points,
        norm: Norm,
        (rows, cols): (&[usize], &[usize]),
        centre: &[f64],
        unit: f64,
    ) -> Self {
        let rounded = |chosen: &[usize]| {
            let mut out = vec![0.0; chosen.len() * points.dim];
            round(points, chosen.iter().copied(), (centre, 1.0 / unit), &mut out);
            SinglePrecisionVectors::new(points.dim, norm, out)
        };
        Self { unit, left: rounded(rows), right: rounded(cols) }
    }
}

impl SinglePrecisionVectors {
    /// Vectors that were rounded just now.
    fn new(dim: usize, norm: Norm, coordinates: Vec<f32>) -> Self {
        let sizes: Vec<f64> = coordinates.chunks_exact(dim).map(|x| size(norm, x)).collect();
        let moved = sizes.iter().map(|&size| moved_by(size)).collect();
        Self { coordinates, sizes, moved }
    }

    /// Some of them.
    fn some(&self, dim: usize, chosen: &[usize]) -> Self {
        let mut coordinates = Vec::with_capacity(chosen.len() * dim);
        for &i in chosen {
            coordinates.extend_from_slice(self.vector(dim, i));
        }
        let sizes = chosen.iter().map(|&i| self.sizes[i]).collect();
        Self { coordinates, sizes, moved: chosen.iter().map(|&i| self.moved[i]).collect() }
    }

    /// Some of them, seen from a centre of their own: what they were moved by stays, and a little is
    /// added.
    fn some_from(&self, dim: usize, norm: Norm, chosen: &[usize], centre: &[f32]) -> Self {
        let mut out = vec![0.0; chosen.len() * dim];
        for (&i, out) in chosen.iter().zip(out.chunks_exact_mut(dim)) {
            from(self.vector(dim, i), centre, out);
        }
        let mut vectors = Self::new(dim, norm, out);
        vectors.moved.iter_mut().zip(chosen).for_each(|(moved, &i)| *moved += self.moved[i]);
        vectors
    }

    fn vector(&self, dim: usize, i: usize) -> &[f32] {
        &self.coordinates[i * dim..(i + 1) * dim]
    }
}

/// All points seen from a centre, in units and single precision.
#[derive(Clone)]
pub(crate) struct SinglePrecisionCopy {
    unit: f64,
    all: SinglePrecisionVectors,
}

impl SinglePrecisionCopy {
    /// Nothing, where it would be large or there is no room for it.
    pub(crate) fn new(points: &Points, norm: Norm) -> Option<Self> {
        let (n, dim) = (points.len(), points.dim);
        // Of every point its coordinates, its size in double precision, and what it was moved by.
        if n.saturating_mul(dim + 3) > MOST_COPIED {
            return None;
        }
        let step = format_args!("coordinates in single precision");
        memory::check(step, memory::size_of::<f32>(&[n, dim + 3]), "").ok()?;
        let mut vectors = memory::zeros(step, n * dim, "").ok()?;
        let some: Vec<usize> = (0..n).step_by(n.div_ceil(SOME).max(1)).collect();
        let centre = centre(points, &some);
        let unit = unit(points, &centre, 0..n);
        round(points, 0..n, (&centre, 1.0 / unit), &mut vectors);
        Some(Self { unit, all: SinglePrecisionVectors::new(dim, norm, vectors) })
    }

    /// Some of all points, from a centre of their own where they lie close together. Nothing where
    /// what the copy has moved them by would be much.
    fn pair(
        &self,
        dim: usize,
        norm: Norm,
        rows: &[usize],
        cols: &[usize],
    ) -> Option<SinglePrecisionPair> {
        let (unit, all) = (self.unit, &self.all);
        let some = some_of(rows, cols);
        let mut centre = vec![0.0f32; dim];
        let share = 1.0 / some.len() as f32;
        for &i in &some {
            centre.iter_mut().zip(all.vector(dim, i)).for_each(|(c, x)| *c += share * x);
        }
        let squares = |sizes: &[f64]| sizes.iter().map(|size| size * size).sum::<f64>();
        let near = all.some_from(dim, norm, &some, &centre).sizes;
        let far: Vec<f64> = some.iter().map(|&i| all.sizes[i]).collect();
        let are_close = squares(&near) < CLOSE * squares(&far);
        let [left, right] = [rows, cols].map(|chosen| {
            if are_close {
                all.some_from(dim, norm, chosen, &centre)
            } else {
                all.some(dim, chosen)
            }
        });
        let sum = |chosen: &[usize]| chosen.iter().map(|&i| f64::from(all.moved[i])).sum::<f64>();
        let sizes = left.sizes.iter().chain(&right.sizes).sum::<f64>();
        (sum(rows) + sum(cols) <= MOST_SHARE * sizes).then_some(SinglePrecisionPair {
            unit,
            left,
            right,
        })
    }
}

/// Some of all rows and columns, evenly spaced.
fn some_of(rows: &[usize], cols: &[usize]) -> Vec<usize> {
    let step = (rows.len() + cols.len()).div_ceil(SOME);
    rows.iter().chain(cols).copied().step_by(step.max(1)).collect()
}

/// A point in the middle of some, roughly: no distance depends on it.
fn centre(points: &Points, some: &[usize]) -> Vec<f64> {
    let share = 1.0 / some.len() as f64;
    let mut centre = vec![0.0; points.dim];
    for &i in some {
        centre.iter_mut().zip(points.vector(i)).for_each(|(c, x)| *c += share * x);
    }
    centre
}

/// A unit in which no coordinate of these is above 2.
fn unit(points: &Points, centre: &[f64], of: impl Iterator<Item = usize>) -> f64 {
    let span = |i: usize| {
        let offsets = points.vector(i).iter().zip(centre).map(|(x, c)| (x - c).abs());
        offsets.fold(0.0, f64::max)
    };
    of_largest(of.map(span))
}

/// Some vectors, seen from a centre. Rounding to single precision is the last step, and the only one
/// that loses more than double precision does.
fn round(
    points: &Points,
    chosen: impl Iterator<Item = usize>,
    (centre, inverse): (&[f64], f64),
    out: &mut [f32],
) {
    for (i, out) in chosen.zip(out.chunks_exact_mut(points.dim)) {
        round_one(points.vector(i), centre, inverse, out);
    }
}

/// What rounding every coordinate may move a vector by, twice; a rounded vector may be shorter, by
/// less than a thousandth.
fn moved_by(size: f64) -> f32 {
    (2.001 * ROUNDING * size) as f32 + NOTHING
}

/// How far a vector is from the centre.
fn size(norm: Norm, x: &[f32]) -> f64 {
    match norm {
        Norm::L2 => squared_norm(x).sqrt(),
        Norm::L1 => along(x),
    }
}

for_wide_registers! {
    /// One vector, rounded.
    round_one, round_one_wide, (x: &[f64], centre: &[f64], inverse: f64, out: &mut [f32]), {
        for ((out, x), centre) in out.iter_mut().zip(x).zip(centre) {
            *out = ((x - centre) * inverse) as f32;
        }
    }
}

for_wide_registers! {
    /// One vector, seen from another.
    from, from_wide, (x: &[f32], centre: &[f32], out: &mut [f32]), {
        for ((out, x), centre) in out.iter_mut().zip(x).zip(centre) {
            *out = x - centre;
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
    along, along_wide, (x: &[f32]) -> f64, {
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
