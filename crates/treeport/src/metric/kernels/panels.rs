//! Distances and norms of panels of eight points, in double precision.

use super::pairs::{from_product, threshold};
use super::sums::Kernel;
use crate::metric::points::PointMetric;
use crate::metric::points::period::apart;
use crate::numeric::wide_registers::for_wide_registers;

/// Points of a panel.
pub(super) const LANES: usize = 8;

/// Columns that a kernel processes together.
pub(super) const ABREAST: usize = 4;

/// Largest number of terms of a partial sum.
pub(super) const TERMS: usize = 256;

/// Distances from [`LANES`] points to each of [`ABREAST`] others; negative where too few digits are
/// left.
pub(super) type Tile = [[f64; LANES]; ABREAST];

/// Returns [`ABREAST`] vectors: the first `count`, padded with the last.
pub(super) fn abreast<'a>(
    count: usize,
    vector: impl Fn(usize) -> &'a [f64],
) -> [&'a [f64]; ABREAST] {
    let some = |k: usize| vector(k.min(count - 1));
    [some(0), some(1), some(2), some(3)]
}

for_wide_registers! {
    /// Computes distances from differences, wrapped where there are half periods.
    differences, differences_wide,
    (panel: &[[f64; LANES]], ys: [&[f64]; ABREAST], metric: PointMetric, halves: Option<&[f64]>) -> Tile, {
        let largest = |most: f64, apart: f64| if apart > most { apart } else { most };
        let mut tile = match (metric.kernel(), halves) {
            (Kernel::Products | Kernel::Squares, None) => sums(panel, ys, |x, y| (x - y) * (x - y)),
            (Kernel::Absolutes, None) => sums(panel, ys, |x, y| (x - y).abs()),
            (Kernel::Largest, None) => {
                folded(panel, &ys, |_, x, y, most| largest(most, (x - y).abs()))
            }
            (Kernel::Products | Kernel::Squares, Some(halves)) => folded(panel, &ys, |k, x, y, sum| {
                let apart = apart(x, y, halves[k]);
                sum + apart * apart
            }),
            (Kernel::Absolutes, Some(halves)) => {
                folded(panel, &ys, |k, x, y, sum| sum + apart(x, y, halves[k]))
            }
            (Kernel::Largest, Some(halves)) => {
                folded(panel, &ys, |k, x, y, most| largest(most, apart(x, y, halves[k])))
            }
        };
        metric.of_sums(tile.as_flattened_mut());
        tile
    }
}

for_wide_registers! {
    /// Computes distances from inner products and squared norms.
    products, products_wide,
    (
        panel: &[[f64; LANES]],
        ys: [&[f64]; ABREAST],
        panel_squares: &[f64; LANES],
        squares: [f64; ABREAST],
        metric: PointMetric
    ) -> Tile,
    {
        let threshold = threshold(panel.len());
        let mut tile = sums(panel, ys, |x, y| x * y);
        for (row, square) in tile.iter_mut().zip(squares) {
            for lane in 0..LANES {
                let square = from_product(panel_squares[lane] + square, row[lane], threshold);
                row[lane] = square.map_or(-1.0, |square| metric.of_sum(square));
            }
        }
        tile
    }
}

for_wide_registers! {
    /// Computes the squared norms of eight points.
    squared_norms, squared_norms_wide, (panel: &[[f64; LANES]]) -> [f64; LANES], {
        let mut all = [0.0; LANES];
        for panel in panel.chunks(TERMS) {
            let mut some = [0.0; LANES];
            for entry in panel {
                for lane in 0..LANES {
                    some[lane] += entry[lane] * entry[lane];
                }
            }
            for lane in 0..LANES {
                all[lane] += some[lane];
            }
        }
        all
    }
}

/// Computes Σ term(xₖ, yₖ) of eight x and some y in partial sums of [`TERMS`] terms.
#[inline(always)]
fn sums(
    panel: &[[f64; LANES]],
    ys: [&[f64]; ABREAST],
    term: impl Fn(f64, f64) -> f64,
) -> [[f64; LANES]; ABREAST] {
    let mut all = [[0.0; LANES]; ABREAST];
    for (at, panel) in panel.chunks(TERMS).enumerate() {
        let [a, b, c, d] = ys;
        let [a, b, c, d] = [&a[at * TERMS..], &b[at * TERMS..], &c[at * TERMS..], &d[at * TERMS..]];
        let mut some = [[0.0; LANES]; ABREAST];
        for ((((x, &a), &b), &c), &d) in panel.iter().zip(a).zip(b).zip(c).zip(d) {
            for (sums, y) in some.iter_mut().zip([a, b, c, d]) {
                for lane in 0..LANES {
                    sums[lane] += term(x[lane], y);
                }
            }
        }
        for (all, some) in all.iter_mut().zip(some) {
            for lane in 0..LANES {
                all[lane] += some[lane];
            }
        }
    }
    all
}

/// Folds `add` over all coordinates of the x of a panel and some y, in order.
#[inline(always)]
pub(super) fn folded<T: Copy + Default, const LANES: usize, const COUNT: usize>(
    panel: &[[T; LANES]],
    ys: &[&[T]],
    add: impl Fn(usize, T, T, T) -> T,
) -> [[T; LANES]; COUNT] {
    let ys: [&[T]; COUNT] = std::array::from_fn(|k| &ys[k][..panel.len()]);
    let mut all = [[T::default(); LANES]; COUNT];
    // Lanes are innermost: with y innermost, compilers vectorize over y and shuffle.
    for (k, x) in panel.iter().enumerate() {
        for (all, y) in all.iter_mut().zip(ys) {
            let y = y[k];
            for lane in 0..LANES {
                all[lane] = add(k, x[lane], y, all[lane]);
            }
        }
    }
    all
}

for_wide_registers! {
    /// Writes x − mean and returns its squared norm.
    less_mean, less_mean_wide, (x: &[f64], mean: &[f64], out: &mut [f64]) -> f64, {
        let mut sums = [0.0; LANES];
        for ((out, x), mean) in out.iter_mut().zip(x).zip(mean) {
            *out = x - mean;
        }
        let (chunks, rest) = out.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                sums[lane] += chunk[lane] * chunk[lane];
            }
        }
        sums.iter().sum::<f64>() + rest.iter().map(|x| x * x).sum::<f64>()
    }
}
