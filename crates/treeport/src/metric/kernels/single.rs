//! Distances in single precision, none above the truth: what bounds are computed from, in half the
//! memory and time.

use super::product;
use super::rounded::SinglePrecisionPair;
use crate::condensed::pairs_of;
use crate::memory;
use crate::metric::points::Norm;
use crate::metric::points::period::apart_single;
use crate::metric::{GroundMetric, Source, Storage};
use crate::rounding::{LEAST_DISTANCE, LEAST_LENGTH, regained, single};
use crate::units::of_largest;
use crate::wide::for_wide_registers;

/// The largest distance there is, in units.
pub(crate) const FAR: f32 = 1e30;

/// A distance in single precision, not above the truth: lowered by one rounding, and by one more for
/// what two ways of computing a distance may differ by.
pub(crate) fn lowered(distance: f64, unit: f64) -> f32 {
    let low = (distance * ((1.0 - single(2)) / unit)) as f32;
    if f64::from(low) > LEAST_DISTANCE { low.min(FAR) } else { 0.0 }
}

/// What is known of distances that were computed in single precision, none above the truth.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoweredDistances {
    /// Distances are in units of this power of two.
    pub(crate) unit: f64,
    /// The largest relative loss of a distance, and what distances that came out as 0 may be.
    lost: f64,
    least: f64,
    /// What the rows and the columns have lost; empty where only the distances have.
    rows: Vec<LossOfPoint>,
    cols: Vec<LossOfPoint>,
}

/// What the distances of a point have lost, in units.
#[derive(Clone, Copy, Debug, Default)]
struct LossOfPoint {
    /// What rounding may have moved the point by.
    moved: f32,
    /// What its squared distances have lost besides.
    square: f32,
}

impl LoweredDistances {
    /// What is known where the squared distances of rows and columns have lost this much.
    fn of_rounded(pair: SinglePrecisionPair, lost: f64, [rows, cols]: [Vec<f32>; 2]) -> Self {
        let losses = |moved: Vec<f32>, squares: Vec<f32>| {
            let ends = moved.into_iter().zip(squares);
            ends.map(|(moved, square)| LossOfPoint { moved, square }).collect()
        };
        let (rows, cols) = (losses(pair.rows.moved, rows), losses(pair.cols.moved, cols));
        Self { unit: pair.unit, lost, least: f64::from(LEAST_LENGTH), rows, cols }
    }

    /// What is known where every distance was [`lowered`]: by two roundings, and then rounded.
    fn of_lowered(unit: f64) -> Self {
        Self { unit, lost: single(4), least: 2.0 * LEAST_DISTANCE, ..Self::default() }
    }

    /// What the distance of a row and a column is not above, where it was lowered to `low` units.
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
    /// Distances from some points to others in a unit that it chooses, none above the truth. Rows of
    /// `out` are `width` long; the first entries, one for each of `cols`, are written.
    ///
    /// # Panics
    /// As [`block`](Self::block).
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

    /// All distances of a table, lowered once for all calls. Nothing where few of them are asked for, the
    /// table is large, or there is no room.
    pub(crate) fn lowered_square(&self, asked: usize) -> Option<&LoweredTable> {
        let (n, storage) = (self.points(), self.storage()?);
        let entries = n.checked_mul(n).filter(|&entries| entries <= MOST_KEPT)?;
        if asked < entries / SOON {
            return None;
        }
        self.shared.lowered.get_or_init(|| LoweredTable::new(n, storage)).as_ref()
    }
}

/// All distances of a table in single precision, none above the truth: rows that can be read from left
/// to right, unlike those of the triangle they come from.
pub(crate) struct LoweredTable {
    unit: f64,
    points: usize,
    entries: Vec<f32>,
}

impl LoweredTable {
    fn new(n: usize, storage: &Storage) -> Option<Self> {
        let mut entries = memory::zeros(format_args!("lowered distances"), n * n, "").ok()?;
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

    /// The unit of its distances, a power of two.
    pub(crate) fn unit(&self) -> f64 {
        self.unit
    }

    /// The distances from a point to some others, in units of `unit`, a power of two.
    pub(crate) fn distances_from(
        &self,
        i: usize,
        to: &[u32],
        unit: f64,
    ) -> impl Iterator<Item = f32> {
        let row = &self.entries[i * self.points..(i + 1) * self.points];
        // In double precision, where a product with a power of two is exact.
        let factor = self.unit / unit;
        to.iter().map(move |&j| {
            let low = f64::from(row[j as usize]) * factor;
            // Below it, roundings to single precision are no longer relative.
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

/// Entries of a table that is lowered as a whole, 64 MiB.
const MOST_KEPT: usize = 1 << 24;

/// A table is lowered as a whole where one call asks for at least one in so many of its entries.
const SOON: usize = 8;

/// Coordinates up to which distances are added up one by one: a product loses the digits of points
/// that are near each other, of which there are many in few dimensions.
pub(super) const DIRECT: usize = 16;

/// Coordinates up to which the roundings of a sum are a small share of it.
pub(super) const MOST_DIM: usize = 1 << 16;

/// Distances that are computed in double precision before they are lowered.
const AT_ONCE: usize = 1 << 16;

/// Lowered √Σ(x − y)², Σ|x − y| or max|x − y|, for all columns side by side. A sum of k terms, each of two
/// or three roundings, is off by less than k + 4 roundings; two more are for the product that lowers it.
/// A wrapped difference is off by one rounding more, and its square by two, half of which the root leaves.
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
    let share = (1.0 - single(dim + 6)) as f32;
    let out = out.chunks_exact_mut(width.max(1));
    let vectors = pair.rows.coordinates.chunks_exact(dim).zip(&pair.rows.moved);
    for ((x, &moved), out) in vectors.zip(out) {
        lengths(norm, x, &axes, pair.halves.as_deref(), &mut out[..count]);
        lower(share, moved, &pair.cols.moved, out);
    }
    let none = [rows, count].map(|ends| vec![0.0; ends]);
    // Once in the sum, and once by the share taken off: (1 − off)² is not below 1 − 2 off.
    let off = single(2 * (dim + 8));
    LoweredDistances::of_rounded(pair, regained(off), none)
}

for_wide_registers! {
    /// Lowers distances of a row to a share of them, and by what rounding may have moved both ends by.
    lower, lower_wide, (share: f32, row_moved: f32, cols_moved: &[f32], out: &mut [f32]), {
        for (out, &col_moved) in out.iter_mut().zip(cols_moved) {
            *out = (*out * share - (row_moved + col_moved)).clamp(0.0, FAR);
        }
    }
}

for_wide_registers! {
    /// √Σ(x − y)², Σ|x − y| or max|x − y| to vectors y that are given axis by axis, of wrapped differences
    /// where there are half periods.
    lengths, lengths_wide,
    (norm: Norm, x: &[f32], axes: &[f32], halves: Option<&[f32]>, out: &mut [f32]), {
        out.fill(0.0);
        for (k, (&x, axis)) in x.iter().zip(axes.chunks_exact(out.len().max(1))).enumerate() {
            let half = halves.map_or(f32::INFINITY, |halves| halves[k]);
            if half == f32::INFINITY {
                add_axis(norm, axis, out, |y| (x - y).abs());
            } else {
                add_axis(norm, axis, out, |y| apart_single(x, y, half));
            }
        }
        if norm == Norm::L2 {
            for sum in out {
                *sum = sum.sqrt();
            }
        }
    }
}

/// What the differences along an axis add to sums, or raise maxima to.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn add_axis(norm: Norm, axis: &[f32], out: &mut [f32], apart: impl Fn(f32) -> f32) {
    let all = out.iter_mut().zip(axis);
    match norm {
        Norm::L2 => all.for_each(|(sum, &y)| {
            let apart = apart(y);
            *sum += apart * apart;
        }),
        Norm::L1 => all.for_each(|(sum, &y)| *sum += apart(y)),
        Norm::Largest => all.for_each(|(most, &y)| {
            let apart = apart(y);
            *most = if apart > *most { apart } else { *most };
        }),
    }
}

/// Lowered √(‖x‖² + ‖y‖² − 2⟨x, y⟩). In whatever order it is added up, an inner product is off by at
/// most dim roundings of ‖x‖‖y‖, which is at most half of ‖x‖² + ‖y‖²: squared norms that are lowered
/// by that much make up for it, and for the few roundings after it.
fn by_product(
    pair: SinglePrecisionPair,
    dim: usize,
    width: usize,
    out: &mut [f32],
) -> LoweredDistances {
    let off = single(dim + 16);
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
    // Twice: what was taken off, and what may have been off in the same direction.
    let lost =
        squared_norms.map(|squares| squares.iter().map(|x| (2.01 * off * x) as f32).collect());
    LoweredDistances::of_rounded(pair, single(8), lost)
}

for_wide_registers! {
    /// √(‖x‖² + ‖y‖² − 2⟨x, y⟩) of inner products and squared norms, or 0.
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
            // All of them, or those of one cluster, which are seen from its center.
            every in prop::sample::select(vec![1usize, 4]),
            which in 0..3usize,
        ) {
            let n = coordinates.len() / dim;
            // What double precision knows of points that lie close together.
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
            assert!(metric.shared.lowered.get().is_some_and(Option::is_some));
            for i in 0..n {
                for j in 0..n {
                    // One alone is read from the triangle.
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
            // Each term is a little less than half of what two ends in a digit.
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
