//! Prim's spanning tree of points without their distance matrix.

use rayon::prelude::*;

use crate::error::Result;
use crate::metric::{Kernel, PointMetric};
use crate::progress::Counter;
use crate::spanning::SpanningEdge;
use crate::units;

/// Coordinates summed between two checks whether the sum is already too large.
const BLOCK: usize = 64;

/// Sums side by side within a block.
const LANES: usize = 8;

/// Below this many coordinates a sweep is done on the calling thread.
const PARALLEL_WORK: usize = 1 << 15;

/// Where all coordinates are below this, their squares may lose digits.
const VANISHING: f64 = 1e-100;

/// A point that is not in the spanning tree yet.
#[derive(Clone, Copy)]
struct Outside {
    point: u32,
    /// The nearest point of the spanning tree, and the kernel's sum, which the distance increases with.
    nearest: u32,
    near: f64,
}

impl Outside {
    fn before(&self, other: &Self) -> bool {
        (self.near, self.point) < (other.near, other.point)
    }
}

/// A minimum spanning tree of points.
///
/// The points outside the tree stay contiguous, so a sweep reads only what is left, and a sum of
/// coordinate differences stops as soon as it exceeds the distance it would have to beat.
/// O(N²·dim) time at worst, O(N·dim) memory: a copy of the points. Counts points.
pub(super) fn spanning_tree(
    dim: usize,
    vectors: &[f64],
    point_metric: PointMetric,
    halves: Option<&[f64]>,
    joined: &Counter<'_>,
) -> Result<Vec<SpanningEdge>> {
    let mut remaining = Remaining::new(dim, vectors, point_metric, halves);
    let n = remaining.outside.len();
    let mut edges = Vec::with_capacity(n.saturating_sub(1));
    let mut newest = remaining.remove(0);
    while !remaining.outside.is_empty() {
        joined.add(1)?;
        let next = remaining.sweep(newest.point, &newest.at);
        newest = remaining.remove(next);
        edges.push(SpanningEdge::new(
            remaining.distance(newest.near),
            newest.point,
            newest.nearest,
        ));
    }
    Ok(edges)
}

/// A point that just left the outside.
struct Newest {
    point: u32,
    nearest: u32,
    near: f64,
    at: Vec<f64>,
}

struct Remaining {
    /// Coordinates are in this unit, so that the squares of close points do not vanish.
    unit: f64,
    dim: usize,
    point_metric: PointMetric,
    /// Half periods in this unit.
    halves: Option<Vec<f64>>,
    outside: Vec<Outside>,
    /// Their coordinates, row by row in the same order.
    coordinates: Vec<f64>,
}

impl Remaining {
    fn new(dim: usize, vectors: &[f64], point_metric: PointMetric, halves: Option<&[f64]>) -> Self {
        let n = vectors.len() / dim;
        let outside = (0..n as u32)
            .map(|point| Outside { point, nearest: point, near: f64::INFINITY })
            .collect();
        let largest = vectors.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        // A power of two changes no digit; points of the usual size stay as they are.
        let unit = if largest < VANISHING { units::power_of_two(largest) } else { 1.0 };
        let coordinates = vectors.iter().map(|x| x / unit).collect();
        let halves = halves.map(|halves| halves.iter().map(|half| half / unit).collect());
        Self { unit, dim, point_metric, halves, outside, coordinates }
    }

    /// The distance of a kernel's sum.
    fn distance(&self, near: f64) -> f64 {
        self.point_metric.scaled(self.point_metric.of_sum_for_bounds(near), self.unit)
    }

    /// Takes a row out; the last row fills the gap.
    fn remove(&mut self, row: usize) -> Newest {
        let Outside { point, nearest, near } = self.outside.swap_remove(row);
        let last = self.outside.len();
        let at = self.coordinates[row * self.dim..(row + 1) * self.dim].to_vec();
        self.coordinates.copy_within(last * self.dim.., row * self.dim);
        self.coordinates.truncate(last * self.dim);
        Newest { point, nearest, near, at }
    }

    /// Compares every outside point with the newest tree point; returns the row of the nearest one.
    fn sweep(&mut self, newest: u32, at: &[f64]) -> usize {
        let (dim, kernel) = (self.dim, self.point_metric.kernel());
        let halves = self.halves.as_deref();
        let rows_per_task = (PARALLEL_WORK / dim).max(1);
        let nearest_in = |task: usize, outside: &mut [Outside], coordinates: &[f64]| {
            let mut best = 0;
            for (row, x) in coordinates.chunks_exact(dim).enumerate() {
                if let Some(near) = nearer(kernel, at, x, halves, outside[row].near) {
                    outside[row].near = near;
                    outside[row].nearest = newest;
                }
                if outside[row].before(&outside[best]) {
                    best = row;
                }
            }
            (outside[best], task * rows_per_task + best)
        };
        let first = |a: (Outside, usize), b: (Outside, usize)| if b.0.before(&a.0) { b } else { a };
        if self.outside.len() <= rows_per_task {
            return nearest_in(0, &mut self.outside, &self.coordinates).1;
        }
        self.outside
            .par_chunks_mut(rows_per_task)
            .zip(self.coordinates.par_chunks(rows_per_task * dim))
            .enumerate()
            .map(|(task, (outside, coordinates))| nearest_in(task, outside, coordinates))
            .reduce_with(first)
            .expect("there is a point outside")
            .1
    }
}

/// The sum for two points if it is below `bound`.
#[inline]
fn nearer(kernel: Kernel, a: &[f64], b: &[f64], halves: Option<&[f64]>, bound: f64) -> Option<f64> {
    if halves.is_some() || kernel == Kernel::Largest {
        return Some(kernel.sums(a, [b], halves)[0]).filter(|&sum| sum < bound);
    }
    match kernel {
        Kernel::Products | Kernel::Squares => bounded_sum(a, b, bound, |d| d * d),
        Kernel::Absolutes => bounded_sum(a, b, bound, f64::abs),
        Kernel::Largest => unreachable!("a maximum is no sum"),
    }
}

/// Σ term(a − b) if it is below `bound`; several sums side by side, so that it becomes vector code.
#[inline]
fn bounded_sum(a: &[f64], b: &[f64], bound: f64, term: impl Fn(f64) -> f64) -> Option<f64> {
    let mut total = 0.0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let mut sums = [0.0; LANES];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in a.iter().zip(b) {
            for k in 0..LANES {
                sums[k] += term(a[k] - b[k]);
            }
        }
        let remaining = a_rest.iter().zip(b_rest).map(|(a, b)| term(a - b));
        total += sums.iter().sum::<f64>() + remaining.sum::<f64>();
        if total >= bound {
            return None;
        }
    }
    Some(total)
}
