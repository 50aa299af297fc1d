//! Condensed distance matrices, computed with a blocked matrix product.
//!
//! ‖x − y‖² = ‖x‖² + ‖y‖² − 2⟨x, y⟩ turns nearly all of the work into a matrix product, which runs
//! at the speed of the machine. It loses digits when x and y are close together and far from the
//! origin. So the points are centered on their mean first, and every entry that is still small
//! compared with the norms is computed again from its two vectors. The number of points alone
//! determines the blocks, so any number of threads gives the same bits.

use super::product;
use super::sums::{VANISHING_SQUARE, in_lanes};
use crate::error::Result;
use crate::metric::condensed::row_start;
use crate::metric::points::Points;
use crate::numeric::rounding::double;
use crate::progress::Counter;
use crate::tools::parallel;

/// Rows of a block, the unit of parallel work.
const ROWS: usize = 128;

/// Columns of a block: 128 × 256 products are 256 KiB, which stays in the second-level cache.
const COLUMNS: usize = 256;

/// Largest relative error of a distance, against the direct formula.
const ACCURACY: f64 = 1e-12;

/// Computes all distances in condensed order, each passed through `cast`; counts rows.
pub(crate) fn condensed<T: Copy + Send>(
    points: &Points,
    out: &mut [T],
    cast: impl Fn(f64) -> T + Sync,
    counter: &Counter<'_>,
) -> Result<()> {
    let blocks = row_blocks(points.len(), ROWS, out);
    let rows = |block: &Block<'_, T>| block.end - block.first;
    if !points.supports_products() {
        return parallel::try_for_each(blocks.into_iter(), |block| {
            counter.add(rows(&block))?;
            fill_directly(points, block, &cast);
            Ok(())
        });
    }
    let centered = Centered::new(points);
    parallel::try_for_each_with(
        blocks.into_iter(),
        || vec![0.0; ROWS * COLUMNS],
        |scratch, block| {
            counter.add(rows(&block))?;
            centered.fill(block, scratch, &cast);
            Ok(())
        },
    )
}

/// Consecutive rows of a condensed matrix.
pub(crate) struct Block<'a, T> {
    /// Number of points.
    n: usize,
    pub(crate) first: usize,
    pub(crate) end: usize,
    out: &'a mut [T],
}

impl<T> Block<'_, T> {
    /// Returns the distances from `i` to the points after it.
    pub(crate) fn row(&mut self, i: usize) -> &mut [T] {
        let offset = row_start(self.n, i) - row_start(self.n, self.first);
        &mut self.out[offset..offset + self.n - 1 - i]
    }
}

/// Cuts a condensed matrix into blocks of `rows` rows.
pub(crate) fn row_blocks<T>(n: usize, rows: usize, mut out: &mut [T]) -> Vec<Block<'_, T>> {
    let mut blocks = Vec::new();
    for first in (0..n).step_by(rows) {
        let end = n.min(first + rows);
        let length = row_start(n, end) - row_start(n, first);
        let (head, tail) = out.split_at_mut(length);
        blocks.push(Block { n, first, end, out: head });
        out = tail;
    }
    blocks
}

/// Computes a block by the direct formula; columns in tiles, which stay in the cache.
fn fill_directly<T>(points: &Points, mut block: Block<'_, T>, cast: &impl Fn(f64) -> T) {
    let n = points.len();
    for left in (block.first..n).step_by(ROWS) {
        for i in block.first..block.end {
            for j in left.max(i + 1)..n.min(left + ROWS) {
                let distance = points.distance(i, j);
                block.row(i)[j - i - 1] = cast(distance);
            }
        }
    }
}

/// Points shifted so that their mean is at the origin.
struct Centered<'a> {
    points: &'a Points,
    vectors: Vec<f64>,
    /// Squared norm of every vector.
    norms: Vec<f64>,
    /// Share of the norms below which a square is computed directly.
    threshold: f64,
}

impl<'a> Centered<'a> {
    fn new(points: &'a Points) -> Self {
        let (n, dim) = (points.len() as f64, points.dim);
        let mut mean = vec![0.0; dim];
        for x in points.vectors().chunks_exact(dim) {
            mean.iter_mut().zip(x).for_each(|(m, x)| *m += x / n);
        }
        let mut vectors = points.vectors().to_vec();
        for x in vectors.chunks_exact_mut(dim) {
            x.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
        }
        let norms = squared_norms(dim, &vectors);
        Self { points, vectors, norms, threshold: threshold(dim) }
    }

    fn fill<T>(&self, mut block: Block<'_, T>, scratch: &mut [f64], cast: &impl Fn(f64) -> T) {
        let (n, dim) = (self.norms.len(), self.points.dim);
        let rows = &self.vectors[block.first * dim..block.end * dim];
        for left in (block.first..n).step_by(COLUMNS) {
            let right = n.min(left + COLUMNS);
            let width = right - left;
            let products = &mut scratch[..(block.end - block.first) * width];
            product::double(dim, rows, &self.vectors[left * dim..right * dim], (width, products));
            for i in block.first..block.end {
                let from = left.max(i + 1);
                if from >= right {
                    continue;
                }
                let products = &products[(i - block.first) * width..][from - left..width];
                let out = &mut block.row(i)[from - i - 1..right - i - 1];
                for (j, (out, dot)) in (from..right).zip(out.iter_mut().zip(products)) {
                    *out = cast(self.distance(i, j, *dot));
                }
            }
        }
    }

    /// Computes the distance from an inner product, or from the vectors if that is too coarse.
    #[inline]
    fn distance(&self, i: usize, j: usize, dot: f64) -> f64 {
        from_product(self.norms[i] + self.norms[j], dot, self.threshold)
            .map_or_else(|| self.points.distance(i, j), |s| self.points.metric.of_sum(s))
    }
}

fn squared_norms(dim: usize, vectors: &[f64]) -> Vec<f64> {
    vectors.chunks_exact(dim).map(|x| in_lanes(x, x, |a, b| a * b)).collect()
}

/// Returns the share of the norms below which a square is too coarse.
///
/// The product adds up at most 256 terms at a time, then the partial sums, and each addition has a
/// rounding error relative to ‖x‖² + ‖y‖² at most; it counts twice, as the product does.
pub(crate) fn threshold(dim: usize) -> f64 {
    let terms = dim.min(256) + dim / 256 + 8;
    double(terms) / ACCURACY
}

/// Computes ‖x‖² + ‖y‖² − 2⟨x, y⟩; `None` if too many digits are lost.
#[inline]
pub(crate) fn from_product(norms: f64, dot: f64, threshold: f64) -> Option<f64> {
    let fast = norms - 2.0 * dot;
    (fast > threshold * norms + VANISHING_SQUARE).then_some(fast)
}

/// Computes distances in row-major order, by a matrix product where that is faster.
pub(crate) fn block(points: &Points, rows: &[usize], cols: &[usize], out: &mut [f64]) {
    let dim = points.dim;
    if !points.supports_products() || out.len() * dim < PRODUCT_WORK {
        for (&i, out) in rows.iter().zip(out.chunks_exact_mut(cols.len())) {
            cols.iter().zip(out).for_each(|(&j, out)| *out = points.distance(i, j));
        }
        return;
    }
    let mut mean = vec![0.0; dim];
    for &i in rows.iter().chain(cols) {
        mean.iter_mut().zip(points.vector(i)).for_each(|(m, x)| *m += x);
    }
    let share = 1.0 / (rows.len() + cols.len()) as f64;
    for m in &mut mean {
        *m *= share;
    }
    let (left, right) = (gather(points, rows, &mean), gather(points, cols, &mean));
    let (left_norms, right_norms) = (squared_norms(dim, &left), squared_norms(dim, &right));
    product::double(dim, &left, &right, (cols.len(), out));
    let threshold = threshold(dim);
    for ((&i, a), row) in rows.iter().zip(&left_norms).zip(out.chunks_exact_mut(cols.len())) {
        // All entries are computed first, vectorized; the few coarse ones are computed again.
        let mut coarse = false;
        for (b, out) in right_norms.iter().zip(&mut *row) {
            let square = from_product(a + b, *out, threshold);
            coarse |= square.is_none();
            *out = square.unwrap_or(-1.0);
        }
        for out in &mut *row {
            *out = if *out < 0.0 { -1.0 } else { points.metric.of_sum(*out) };
        }
        if coarse {
            for (&j, out) in cols.iter().zip(row).filter(|(_, out)| **out < 0.0) {
                *out = points.distance(i, j);
            }
        }
    }
}

/// Copies the chosen vectors, minus the mean.
fn gather(points: &Points, chosen: &[usize], mean: &[f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(chosen.len() * mean.len());
    for &i in chosen {
        out.extend(points.vector(i).iter().zip(mean).map(|(x, m)| x - m));
    }
    out
}

/// Number of multiplications below which the direct formula is as fast.
const PRODUCT_WORK: usize = 1 << 13;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::PointMetric;

    /// Points in clusters, some of them nearly or exactly equal, far from the origin.
    fn clouds() -> impl Strategy<Value = (usize, Vec<f64>)> {
        let offset = prop::sample::select(vec![0.0, 1.0, 1e3, 1e8, -1e12]);
        let spread = prop::sample::select(vec![0.0, 1e-12, 1e-6, 1e-2, 1.0]);
        (1usize..20, 2usize..300, offset, spread, any::<u64>()).prop_map(
            |(dim, n, offset, spread, seed)| {
                let mut state = seed | 1;
                let mut random = move || {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
                };
                let centers: Vec<f64> = (0..4 * dim).map(|_| random()).collect();
                let point = |i: usize| (i % 4) * dim;
                let coordinates = (0..n * dim)
                    .map(|e| centers[point(e / dim) + e % dim] + spread * random() + offset)
                    .collect();
                (dim, coordinates)
            },
        )
    }

    fn all<T: Copy + Default + Send>(points: &Points, cast: impl Fn(f64) -> T + Sync) -> Vec<T> {
        let mut out = vec![T::default(); crate::metric::condensed::pairs_of(points.len())];
        let counter = Counter::new("", points.len(), &crate::silent);
        condensed(points, &mut out, cast, &counter).unwrap();
        out
    }

    fn check(
        dim: usize,
        coordinates: &[f64],
        point_metric: PointMetric,
    ) -> Result<(), TestCaseError> {
        let points = Points::new(dim, coordinates.to_vec(), point_metric.into()).unwrap();
        let fast = all(&points, |d| d);
        let pairs = (0..points.len()).flat_map(|i| (i + 1..points.len()).map(move |j| (i, j)));
        for ((i, j), fast) in pairs.zip(fast) {
            let direct = points.distance(i, j);
            let error = (fast - direct).abs();
            prop_assert!(error <= ACCURACY * direct, "{point_metric} {i} {j}: {fast} {direct}");
        }
        // Some rows against all columns, in an order of their own.
        let rows: Vec<usize> = (0..points.len()).rev().step_by(3).collect();
        let cols: Vec<usize> = (0..points.len()).collect();
        let mut some = vec![f64::NAN; rows.len() * cols.len()];
        block(&points, &rows, &cols, &mut some);
        for (place, fast) in some.iter().enumerate() {
            let direct = points.distance(rows[place / cols.len()], cols[place % cols.len()]);
            prop_assert!(
                (fast - direct).abs() <= ACCURACY * direct,
                "{point_metric} {fast} {direct}"
            );
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn blocks_agree_with_the_direct_formula((dim, coordinates) in clouds()) {
            for point_metric in [PointMetric::Euclidean, PointMetric::SqEuclidean, PointMetric::Manhattan, PointMetric::Chebyshev, PointMetric::Cosine] {
                if point_metric != PointMetric::Cosine || coordinates.chunks(dim).all(|x| x.iter().any(|v| *v != 0.0)) {
                    check(dim, &coordinates, point_metric)?;
                }
            }
        }
    }

    #[test]
    fn many_dimensions_and_tiny_coordinates_keep_their_digits() {
        let wave = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 1_000_003.0;
        let wide: Vec<f64> = (0..150 * 700).map(wave).collect();
        check(700, &wide, PointMetric::Euclidean).unwrap();
        for scale in [1e-150, 1e-160, 1e-300, 1e150] {
            let scaled: Vec<f64> = wide.iter().map(|x| x * scale).collect();
            check(7, &scaled[..700], PointMetric::Euclidean).unwrap();
        }
    }

    #[test]
    fn one_thread_and_many_agree_to_the_bit() {
        let coordinates: Vec<f64> = (0..700 * 5).map(|i| f64::from(i).sin()).collect();
        let points = Points::new(5, coordinates, PointMetric::Euclidean.into()).unwrap();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| all(&points, f64::to_bits))
        };
        assert_eq!(with(1), with(4));
    }
}
