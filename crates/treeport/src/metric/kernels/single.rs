//! Lower bounds of distances in single precision: half the memory and time.

use super::formulas::{ABSOLUTES, LARGEST, LENGTH, add_difference};
use super::product;
use super::rounded::SinglePrecisionPair;
use crate::memory;
use crate::metric::condensed::pairs_of;
use crate::metric::points::Norm;
use crate::metric::points::period::apart_single;
use crate::metric::{GroundMetric, Source, Storage};
use crate::numeric::rounding::{
    LEAST_DISTANCE, LEAST_LENGTH, product_roundings, regained, single, sum_roundings,
};
use crate::numeric::scale::of_largest;
use crate::numeric::wide_registers::for_wide_registers;

/// Largest lowered distance, in multiples of its unit.
pub(crate) const FAR: f32 = 1e30;

/// Converts a distance to a multiple of `unit` and lowers it by two roundings: that of the
/// conversion, and one for other ways of computing the distance.
pub(crate) fn lowered(distance: f64, unit: f64) -> f32 {
    let low = (distance * ((1.0 - single(2)) / unit)) as f32;
    if f64::from(low) > LEAST_DISTANCE { low.min(FAR) } else { 0.0 }
}

/// Error bounds of lowered distances.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoweredDistances {
    /// Unit of the distances, a power of two.
    pub(crate) unit: f64,
    /// Largest relative loss of a distance, and an upper bound of distances that were lowered to 0.
    lost: f64,
    least: f64,
    /// Losses of the rows and of the columns; empty where only the distances have any.
    rows: Vec<LossOfPoint>,
    cols: Vec<LossOfPoint>,
}

/// Loss of the distances of a point, in multiples of the unit of the distances.
#[derive(Clone, Copy, Debug, Default)]
struct LossOfPoint {
    /// Upper bound of the rounding error of the point.
    moved: f32,
    /// Additional loss of its squared distances.
    square: f32,
}

impl LoweredDistances {
    /// Creates the error bounds of distances between rounded vectors; `rows` and `cols` are the
    /// losses of squared distances.
    fn of_rounded(pair: SinglePrecisionPair, lost: f64, [rows, cols]: [Vec<f32>; 2]) -> Self {
        let losses = |moved: Vec<f32>, squares: Vec<f32>| {
            let ends = moved.into_iter().zip(squares);
            ends.map(|(moved, square)| LossOfPoint { moved, square }).collect()
        };
        let (rows, cols) = (losses(pair.rows.moved, rows), losses(pair.cols.moved, cols));
        Self { unit: pair.unit, lost, least: f64::from(LEAST_LENGTH), rows, cols }
    }

    /// Creates the error bounds of distances that were [`lowered`] one by one: by two roundings,
    /// then rounded.
    fn of_lowered(unit: f64) -> Self {
        Self { unit, lost: single(4), least: 2.0 * LEAST_DISTANCE, ..Self::default() }
    }

    /// Computes an upper bound of a distance that was lowered to `low` units.
    pub(crate) fn above(&self, (row, column): (usize, usize), low: f64) -> f64 {
        let loss = |of: &[LossOfPoint], at: usize| of.get(at).copied().unwrap_or_default();
        let (x, y) = (loss(&self.rows, row), loss(&self.cols, column));
        let moved = f64::from(x.moved) + f64::from(y.moved);
        let length = (low + moved) * (1.0 + self.lost);
        let square = length * length + f64::from(x.square) + f64::from(y.square);
        (square.sqrt() + moved + self.least) * self.unit
    }
}

impl GroundMetric {
    /// Computes lower bounds of a [`block`](Self::block) of distances in single precision, in a
    /// unit that the result has. Rows of `out` are `width` long; the first entries, one for each of
    /// `cols`, are written.
    pub(crate) fn block_below(
        &self,
        rows: &[usize],
        cols: &[usize],
        width: usize,
        out: &mut [f32],
    ) -> LoweredDistances {
        assert_eq!(out.len(), rows.len() * width, "rows of one width");
        if let Source::Points(points) = &self.shared.source
            && let Some(norm) = points.metric.norm()
            && points.dim <= MOST_DIM
        {
            let pair = SinglePrecisionPair::new(points, norm, rows, cols);
            return match norm {
                Norm::L2 if points.dim > DIRECT && pair.halves.is_none() => {
                    by_product(pair, points.dim, width, out)
                }
                Norm::L2 | Norm::L1 | Norm::Largest => directly(pair, norm, points.dim, width, out),
            };
        }
        if let Some(square) = self.lowered_square(rows.len() * cols.len()) {
            return square.block(rows, cols, width, out);
        }
        let at_once = (AT_ONCE / cols.len().max(1)).max(1);
        let mut exact = vec![0.0; at_once.min(rows.len()) * cols.len()];
        let mut unit = None;
        for (rows, out) in rows.chunks(at_once).zip(out.chunks_mut(at_once * width)) {
            let exact = &mut exact[..rows.len() * cols.len()];
            self.block(rows, cols, exact);
            let unit = *unit.get_or_insert_with(|| of_largest(exact.iter().copied()));
            let exact = exact.chunks_exact(cols.len().max(1));
            for (exact, out) in exact.zip(out.chunks_exact_mut(width)) {
                exact.iter().zip(out).for_each(|(&d, out)| *out = lowered(d, unit));
            }
        }
        LoweredDistances::of_lowered(unit.unwrap_or(1.0))
    }

    /// Returns all distances of a table, lowered once for all calls; `None` where few of them are
    /// requested (`asked`), or the table is large or does not fit into memory.
    pub(crate) fn lowered_square(&self, asked: usize) -> Option<&LoweredTable> {
        let (n, storage) = (self.points(), self.storage()?);
        let entries = n.checked_mul(n).filter(|&entries| entries <= MOST_KEPT)?;
        if asked < entries / SOON {
            return None;
        }
        self.shared.cache.lowered.get_or_init(|| LoweredTable::new(n, storage)).as_ref()
    }
}

/// Lower bounds of all distances of a table in single precision: full rows, which are read
/// sequentially, unlike those of the condensed triangle.
pub(crate) struct LoweredTable {
    unit: f64,
    points: usize,
    entries: Vec<f32>,
}

impl LoweredTable {
    fn new(n: usize, storage: &Storage) -> Option<Self> {
        let mut entries = memory::zeros("lowered distances", n * n, "").ok()?;
        let unit = of_largest((0..pairs_of(n)).map(|at| storage.get(at)));
        let mut pairs = 0..;
        for i in 0..n {
            for (j, at) in (i + 1..n).zip(&mut pairs) {
                let low = lowered(storage.get(at), unit);
                (entries[i * n + j], entries[j * n + i]) = (low, low);
            }
        }
        Some(Self { unit, points: n, entries })
    }

    /// Returns the unit of the distances, a power of two.
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// Returns the distances from a point to the given others, in multiples of `unit`, a power of
    /// two.
    pub(crate) fn distances_from(
        &self,
        i: usize,
        to: &[u32],
        unit: f64,
    ) -> impl Iterator<Item = f32> {
        let row = &self.entries[i * self.points..(i + 1) * self.points];
        // Double precision, in which a product with a power of two is exact.
        let factor = self.unit / unit;
        to.iter().map(move |&j| {
            let low = f64::from(row[j as usize]) * factor;
            // Below this limit, rounding errors in single precision are no longer relative.
            if low > LEAST_DISTANCE { (low as f32).min(FAR) } else { 0.0 }
        })
    }

    fn block(
        &self,
        rows: &[usize],
        cols: &[usize],
        width: usize,
        out: &mut [f32],
    ) -> LoweredDistances {
        for (&i, out) in rows.iter().zip(out.chunks_exact_mut(width.max(1))) {
            let row = &self.entries[i * self.points..(i + 1) * self.points];
            cols.iter().zip(out).for_each(|(&j, out)| *out = row[j]);
        }
        LoweredDistances::of_lowered(self.unit)
    }
}

/// Largest number of entries, 64 MiB, of a table that is lowered as a whole.
const MOST_KEPT: usize = 1 << 24;

/// The whole table is lowered once a call requests one in this many of its entries.
const SOON: usize = 8;

/// Number of coordinates up to which differences are added up: a product loses the digits of points
/// that are close together, of which there are many in few dimensions.
pub(super) const DIRECT: usize = 16;

/// Number of coordinates up to which the rounding error of a sum is a small share of it.
pub(super) const MOST_DIM: usize = 1 << 16;

/// Number of distances that are computed in double precision before they are lowered.
const AT_ONCE: usize = 1 << 16;

/// Writes lowered √Σ(x − y)², Σ|x − y| or max|x − y|, vectorized over the columns. A sum takes
/// [`sum_roundings`]; two more are for the product that lowers it.
fn directly(
    pair: SinglePrecisionPair,
    norm: Norm,
    dim: usize,
    width: usize,
    out: &mut [f32],
) -> LoweredDistances {
    let (rows, count) = (pair.rows.moved.len(), pair.cols.moved.len());
    let mut axes = vec![0.0f32; dim * count];
    for (j, y) in pair.cols.coordinates.chunks_exact(dim).enumerate() {
        y.iter().enumerate().for_each(|(k, &y)| axes[k * count + j] = y);
    }
    let share = (1.0 - single(sum_roundings(dim) + 2)) as f32;
    let out = out.chunks_exact_mut(width.max(1));
    let vectors = pair.rows.coordinates.chunks_exact(dim).zip(&pair.rows.moved);
    for ((x, &moved), out) in vectors.zip(out) {
        lengths(norm, x, &axes, pair.halves.as_deref(), &mut out[..count]);
        lower(share, moved, &pair.cols.moved, out);
    }
    let none = [rows, count].map(|ends| vec![0.0; ends]);
    // Once for the sum, and once for the share subtracted: (1 − off)² is not below 1 − 2 off.
    let off = single(2 * (sum_roundings(dim) + 4));
    LoweredDistances::of_rounded(pair, regained(off), none)
}

for_wide_registers! {
    /// Multiplies a row of distances by `share`, and subtracts the errors of both points.
    lower, lower_wide, (share: f32, row_moved: f32, cols_moved: &[f32], out: &mut [f32]), {
        for (out, &col_moved) in out.iter_mut().zip(cols_moved) {
            *out = (*out * share - (row_moved + col_moved)).clamp(0.0, FAR);
        }
    }
}

for_wide_registers! {
    /// Computes √Σ(x − y)², Σ|x − y| or max|x − y| to vectors y that are stored axis by axis;
    /// differences are wrapped where there are half periods.
    lengths, lengths_wide,
    (norm: Norm, x: &[f32], axes: &[f32], halves: Option<&[f32]>, out: &mut [f32]), {
        out.fill(0.0);
        for (k, (&x, axis)) in x.iter().zip(axes.chunks_exact(out.len().max(1))).enumerate() {
            let half = halves.map_or(f32::INFINITY, |halves| halves[k]);
            match (norm, half == f32::INFINITY) {
                (Norm::L2, true) => add_axis::<LENGTH>(axis, out, |y| x - y),
                (Norm::L1, true) => add_axis::<ABSOLUTES>(axis, out, |y| x - y),
                (Norm::Largest, true) => add_axis::<LARGEST>(axis, out, |y| x - y),
                (Norm::L2, false) => add_axis::<LENGTH>(axis, out, |y| apart_single(x, y, half)),
                (Norm::L1, false) => add_axis::<ABSOLUTES>(axis, out, |y| apart_single(x, y, half)),
                (Norm::Largest, false) => {
                    add_axis::<LARGEST>(axis, out, |y| apart_single(x, y, half));
                }
            }
        }
        if norm == Norm::L2 {
            for sum in out {
                *sum = sum.sqrt();
            }
        }
    }
}

/// Adds the differences along an axis to sums, or takes their maxima.
#[inline(always)]
fn add_axis<const FORMULA: u8>(axis: &[f32], out: &mut [f32], apart: impl Fn(f32) -> f32) {
    for (sum, &y) in out.iter_mut().zip(axis) {
        *sum = add_difference::<FORMULA, false>(apart(y), *sum);
    }
}

/// Writes lowered √(‖x‖² + ‖y‖² − 2⟨x, y⟩): lowering the squared norms by [`product_roundings`]
/// covers all rounding errors.
fn by_product(
    pair: SinglePrecisionPair,
    dim: usize,
    width: usize,
    out: &mut [f32],
) -> LoweredDistances {
    let off = single(product_roundings(dim));
    let squared_norms = [&pair.rows, &pair.cols]
        .map(|vectors| vectors.norms.iter().map(|norm| norm * norm).collect::<Vec<f64>>());
    let lowered = |squares: &Vec<f64>| squares.iter().map(|x| (x * (1.0 - off)) as f32).collect();
    let [row_squares, col_squares]: [Vec<f32>; 2] = squared_norms.each_ref().map(lowered);
    product::single(dim, &pair.rows.coordinates, &pair.cols.coordinates, (width, out));
    let rows = out.chunks_exact_mut(width.max(1)).zip(&row_squares).zip(&pair.rows.moved);
    for ((out, &square), &moved) in rows {
        let out = &mut out[..col_squares.len()];
        lengths_of_products(square, &col_squares, out);
        lower((1.0 - single(4)) as f32, moved, &pair.cols.moved, out);
    }
    // Twice: the share subtracted, and an equal error in the same direction.
    let lost =
        squared_norms.map(|squares| squares.iter().map(|x| (2.01 * off * x) as f32).collect());
    LoweredDistances::of_rounded(pair, single(8), lost)
}

for_wide_registers! {
    /// Computes √(‖x‖² + ‖y‖² − 2⟨x, y⟩), or 0, from inner products and squared norms.
    lengths_of_products, lengths_of_products_wide,
    (row_square: f32, col_squares: &[f32], out: &mut [f32]), {
        for (out, &col_square) in out.iter_mut().zip(col_squares) {
            let square = row_square + col_square - 2.0 * *out;
            *out = square.max(0.0).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::PointMetric;
    use crate::metric::kernels::test_clouds::{clouds, geometry};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn none_is_above_the_distance_and_none_far_below(
            (dim, coordinates) in clouds(),
            // Every point, or every fourth: one cluster, rounded relative to its center.
            every in prop::sample::select(vec![1usize, 4]),
            which in 0..3usize,
        ) {
            let n = coordinates.len() / dim;
            // Error of double precision for points that lie close together.
            let farthest = coordinates.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let digits = if every == 1 { 0.0 } else { 1e-14 * dim as f64 * farthest };
            for kind in [PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::Chebyshev, PointMetric::SqEuclidean] {
                let kind = geometry(kind, dim, &coordinates, which);

                let Ok(metric) = GroundMetric::from_points(dim, coordinates.clone(), kind) else { continue };
                let (rows, cols): (Vec<usize>, Vec<usize>) = ((0..n).step_by(2.max(every)).collect(), (0..n).step_by(every).collect());
                let width = n + 3;
                let mut out = vec![-1.0; rows.len() * width];
                let known = metric.block_below(&rows, &cols, width, &mut out);
                let largest = cols.iter().map(|&j| metric.distance(0, j)).fold(0.0, f64::max);
                for (at, (&i, row)) in rows.iter().zip(out.chunks_exact(width)).enumerate() {
                    for (j, &below) in row[..cols.len()].iter().enumerate() {
                        let distance = metric.distance(i, cols[j]);
                        let below = f64::from(below);
                        prop_assert!(0.0 <= below && below * known.unit <= distance, "{below} {distance}");
                        let above = known.above((at, j), below);
                        prop_assert!(above >= distance, "{above} {distance}");
                        let lost = if dim > DIRECT { 1e-1 } else { 1e-4 };
                        prop_assert!(above - below * known.unit <= lost * largest + 1e-15 * known.unit + digits);
                    }
                    prop_assert!(row[cols.len()..].iter().all(|&other| other == -1.0), "only columns are written");
                }
            }
        }
    }

    #[test]
    fn a_table_lowered_as_a_whole_has_the_entries_of_its_blocks() {
        let n = 40;
        let entry = |at: usize| ((at * 7919) % 101) as f64 * 1.37e-3;
        let single = (0..pairs_of(n)).map(|at| entry(at) as f32).collect();
        let double = (0..pairs_of(n)).map(entry).collect();
        for metric in
            [GroundMetric::from_condensed(n, double), GroundMetric::from_condensed_f32(n, single)]
        {
            let (metric, all) = (metric.unwrap(), (0..n).collect::<Vec<_>>());
            let mut whole = vec![0.0; n * n];
            let known = metric.block_below(&all, &all, n, &mut whole);
            assert!(metric.shared.cache.lowered.get().is_some_and(Option::is_some));
            for i in 0..n {
                for j in 0..n {
                    // A single distance is read from the triangle.
                    let mut alone = [0.0];
                    let unit = metric.block_below(&[i], &[j], 1, &mut alone).unit;
                    let [low, whole] = [(alone[0], unit), (whole[i * n + j], known.unit)]
                        .map(|(low, unit)| f64::from(low) * unit);
                    assert_eq!(low, whole, "{i} {j}");
                }
            }
        }
    }

    #[test]
    fn a_distance_far_above_the_others_spoils_none_of_them() {
        let n = 20;
        let mut distances = vec![1.0; pairs_of(n)];
        distances[0] = 1e20;
        let metric = GroundMetric::from_condensed(n, distances).unwrap();
        let (all, mut out) = ((0..n).collect::<Vec<_>>(), vec![0.0; n * n]);
        let known = metric.block_below(&all, &all, n, &mut out);
        let above = known.above((2, 3), f64::from(out[2 * n + 3]));
        assert!((1.0..1.0 + 1e-5).contains(&above), "{above}");
    }

    #[test]
    fn a_sum_of_many_terms_that_are_rounded_away_is_known_to_have_lost_them() {
        for dim in [1_000, 20_000, MOST_DIM] {
            // Each term is slightly less than half a unit in the last place of the sum.
            let term = 0.9999 / f64::from(1 << 24);
            let half = |side: f64| (0..dim).map(move |k| side * if k == 0 { 1.0 } else { term });
            let points: Vec<f64> = half(1.0).chain(half(-1.0)).collect();
            let metric = GroundMetric::from_points(dim, points, PointMetric::Manhattan).unwrap();
            let mut out = [0.0];
            let known = metric.block_below(&[0], &[1], 1, &mut out);
            let (below, distance) = (f64::from(out[0]), metric.distance(0, 1));
            let above = known.above((0, 0), below);
            assert!(
                below * known.unit <= distance && distance <= above,
                "{dim} {above} {distance}"
            );
        }
    }

    #[test]
    fn a_matrix_is_lowered_entry_by_entry() {
        let metric = GroundMetric::from_condensed(3, vec![1.0, 1e-3, 7.5]).unwrap();
        let mut out = [0.0; 6];
        assert_eq!(metric.block_below(&[2, 0], &[0, 1, 2], 3, &mut out).unit, 4.0);
        let exact = [1e-3, 7.5, 0.0, 0.0, 1.0, 1e-3].map(|d| d / 4.0);
        for (below, exact) in out.into_iter().map(f64::from).zip(exact) {
            assert!(below <= exact && below >= exact * (1.0 - 1e-6), "{below} {exact}");
        }
    }
}
