//! Minimum spanning tree of points by Prim's algorithm, without a distance matrix.

use rayon::prelude::*;

use crate::build::spanning::SpanningEdge;
use crate::error::Result;
use crate::metric::{Kernel, PointMetric};
use crate::numeric::scale;
use crate::progress::Counter;

/// Coordinates per block; after each block the sum is compared with its bound.
const BLOCK: usize = 64;

/// Parallel sums within a block.
const LANES: usize = 8;

/// Number of coordinates from which a sweep runs in parallel.
const PARALLEL_WORK: usize = 1 << 15;

/// Limit of all coordinates below which their squares may lose digits.
const VANISHING: f64 = 1e-100;

/// A point outside the spanning tree.
#[derive(Clone, Copy)]
struct Outside {
    point: u32,
    /// Nearest point of the tree.
    nearest: u32,
    /// Sum of the kernel to that point, which increases with the distance.
    near: f64,
}

impl Outside {
    fn before(&self, other: &Self) -> bool {
        (self.near, self.point) < (other.near, other.point)
    }
}

/// Computes a minimum spanning tree of points.
///
/// The points outside the tree stay contiguous, so a sweep reads only them; a sum of coordinate
/// differences stops as soon as it exceeds the distance to beat. O(N²·dim) time in the worst case,
/// O(N·dim) memory: a copy of the points. Counts points.
pub(super) fn spanning_tree(
    dim: usize,
    vectors: &[f64],
    point_metric: PointMetric,
    halves: Option<&[f64]>,
    joined: &Counter<'_>,
) -> Result<Vec<SpanningEdge>> {
    let mut rest = OutsidePoints::new(dim, vectors, point_metric, halves);
    let n = rest.outside.len();
    let mut edges = Vec::with_capacity(n.saturating_sub(1));
    let (mut newest, mut vector) = rest.remove(0);
    while !rest.outside.is_empty() {
        joined.add(1)?;
        let next = rest.sweep(newest.point, &vector);
        (newest, vector) = rest.remove(next);
        edges.push(SpanningEdge::new(rest.distance(newest.near), newest.point, newest.nearest));
    }
    Ok(edges)
}

struct OutsidePoints {
    /// Unit of the coordinates, so that squares of close points do not underflow.
    unit: f64,
    dim: usize,
    point_metric: PointMetric,
    /// Half periods of the coordinates, in this unit.
    halves: Option<Vec<f64>>,
    outside: Vec<Outside>,
    /// Coordinates of `outside`, row by row in the same order.
    coordinates: Vec<f64>,
}

impl OutsidePoints {
    fn new(dim: usize, vectors: &[f64], point_metric: PointMetric, halves: Option<&[f64]>) -> Self {
        let n = vectors.len() / dim;
        let outside = (0..n as u32)
            .map(|point| Outside { point, nearest: point, near: f64::INFINITY })
            .collect();
        let largest = vectors.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        // A power of two changes no digit; points of the usual size are not scaled.
        let unit = if largest < VANISHING { scale::power_of_two(largest) } else { 1.0 };
        let coordinates = vectors.iter().map(|x| x / unit).collect();
        let halves = halves.map(|halves| halves.iter().map(|half| half / unit).collect());
        Self { unit, dim, point_metric, halves, outside, coordinates }
    }

    /// Converts a kernel's sum to a distance.
    fn distance(&self, near: f64) -> f64 {
        self.point_metric.scaled(self.point_metric.of_sum_for_bounds(near), self.unit)
    }

    /// Removes a row and returns it with its vector; the last row fills the gap.
    fn remove(&mut self, row: usize) -> (Outside, Vec<f64>) {
        let removed = self.outside.swap_remove(row);
        let last = self.outside.len();
        let vector = self.coordinates[row * self.dim..(row + 1) * self.dim].to_vec();
        self.coordinates.copy_within(last * self.dim.., row * self.dim);
        self.coordinates.truncate(last * self.dim);
        (removed, vector)
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

/// Computes the sum for two points if it is below `bound`.
#[inline]
fn nearer(kernel: Kernel, a: &[f64], b: &[f64], halves: Option<&[f64]>, bound: f64) -> Option<f64> {
    if halves.is_some() || kernel == Kernel::Largest {
        return Some(kernel.sums(a, [b], halves)[0]).filter(|&sum| sum < bound);
    }
    match kernel {
        Kernel::Products | Kernel::Squares => bounded_sum(a, b, bound, |d| d * d),
        Kernel::Absolutes => bounded_sum(a, b, bound, f64::abs),
        Kernel::Largest => unreachable!("the maximum is handled above"),
    }
}

/// Computes Σ term(a − b) if it is below `bound`, in several parallel sums, which are vectorized.
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
        let rest = a_rest.iter().zip(b_rest).map(|(a, b)| term(a - b));
        total += sums.iter().sum::<f64>() + rest.sum::<f64>();
        if total >= bound {
            return None;
        }
    }
    Some(total)
}
