//! Distances in single precision from a few points to some of many, none above the truth.
//!
//! The many (the targets) are laid out once, relative to a center and in units; the few (the origins)
//! are laid out for every query, sixteen side by side, so that one coordinate of a target meets sixteen
//! origins at once. A distance depends on its two points and on the layout of all targets alone: it
//! has the same bits whatever it is asked together with.
//!
//! Squared Euclidean norms of many coordinates come from inner products, √(‖x‖² + ‖y‖² − 2⟨x, y⟩). In
//! whatever order it is added up, an inner product is off by at most dim roundings of ‖x‖‖y‖, which is
//! at most half of ‖x‖² + ‖y‖²: squared norms that are lowered by that much make up for it, and for the
//! few roundings after it. In few coordinates, and for points that are near each other compared with
//! their distance from the center, differences are added up: a sum of k terms, each of two or three
//! roundings, is off by less than k + 4 roundings; two more are for the product that lowers it.
//! What rounding the coordinates moves a point by is taken off every distance. Coordinates that go round are
//! wrapped and not relative to a center; what rounding their periods may change distances by is taken off
//! as well, half of it on each side.

use super::rounded::{keep_in_place, norm_of, norm_of_periods};
use super::single::{DIRECT, FAR, MOST_DIM};
use crate::memory;
use crate::metric::points::period::apart_single;
use crate::metric::points::{Norm, Points};
use crate::metric::{GroundMetric, Source};
use crate::rounding::{LEAST_DISTANCE, moved_by_rounding, single};
use crate::units::of_largest;
use crate::wide::{for_fused_registers, multiply_add};

/// Origins side by side.
const LANES: usize = 16;

/// Targets of a tile. With sixteen origins their sums fill eight registers of sixteen numbers each, as many
/// as a processor adds to before the first is done; where registers hold eight, half of them are read at
/// the same time, for the same reason.
const ABREAST: usize = 8;

/// The largest share of a typical distance that points may be moved by when they are rounded; above
/// it, distances are better computed in double precision.
const MOST_MOVED: f64 = 1e-4;

/// The largest share of a typical squared distance that products may lose.
const MOST_LOST: f64 = 1e-3;

/// Smaller distances are lowered to 0.
const LEAST: f32 = LEAST_DISTANCE as f32;

/// How two vectors become a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Formula {
    Products,
    Squares,
    Absolutes,
    Largest,
}

/// How the length of a difference, in units, becomes a distance in units of the caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    /// A power of two.
    factor: f32,
    squared: bool,
}

/// Longer vectors, in units, are not laid out: their squares would come near the end of the range.
const MOST_LENGTH: f64 = 1e15;

/// Many points, laid out to measure to them.
#[derive(Clone, Debug)]
pub(crate) struct LoweredTargets {
    formula: Formula,
    dim: usize,
    frame: Frame,
    conversion: Conversion,
    vectors: Vec<f32>,
    ends: Ends,
    /// What every point is moved by besides, because half periods are rounded.
    moved: f32,
}

/// What vectors are relative to.
#[derive(Clone, Debug)]
struct Frame {
    center: Vec<f64>,
    /// Vectors are in units of this power of two.
    unit: f64,
    /// Half periods in units, infinite for coordinates that have none; nothing where none has one.
    halves: Option<Vec<f32>>,
}

impl Frame {
    /// Of the mean of some points, and a unit in which none of their coordinates is above 2. Bounds hold
    /// for any center; a better one loses less.
    fn new(points: &Points, of: &[u32]) -> Self {
        let share = 1.0 / of.len().max(1) as f64;
        let mut center = vec![0.0; points.dim];
        for &i in of {
            let vector = points.vector(i as usize);
            center.iter_mut().zip(vector).for_each(|(mean, x)| *mean += share * x);
        }
        keep_in_place(&mut center, points.given_halves());
        let span = |&i: &u32| {
            let offsets = points.vector(i as usize).iter().zip(&center).map(|(x, c)| (x - c).abs());
            offsets.fold(0.0, f64::max)
        };
        let unit = of_largest(of.iter().map(span));
        let in_units = |half: &f64| (half / unit) as f32;
        let halves = points.given_halves().map(|halves| halves.iter().map(in_units).collect());
        Self { center, unit, halves }
    }

    /// What the half periods have moved every point by; 0 where there are none.
    fn moved_by_periods(&self, norm: Norm) -> f32 {
        let halves = self.halves.as_deref();
        halves.map_or(0.0, |halves| moved_by_rounding(norm_of_periods(norm, halves)))
    }

    /// One point relative to the center, in units. Rounding to single precision is the last step, and
    /// the only one that loses more than double precision does.
    fn round(&self, points: &Points, i: usize, out: &mut [f32]) {
        let inverse = 1.0 / self.unit;
        for ((out, x), center) in out.iter_mut().zip(points.vector(i)).zip(&self.center) {
            *out = ((x - center) * inverse) as f32;
        }
    }
}

/// What is taken off the distances of some points.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// Squared norms, lowered by what products may lose; empty where there are none.
    squares: Vec<f32>,
    /// What rounding may have moved each by.
    moved: Vec<f32>,
}

/// A few points, laid out to measure from them.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoweredOrigins {
    count: usize,
    /// For sixteen points after sixteen, coordinate by coordinate; 0 where there are no more points.
    panels: Vec<[f32; LANES]>,
    ends: Ends,
    /// The vector of one point.
    vector: Vec<f32>,
}

/// Distances from sixteen origins to some targets.
type Tile = [[f32; LANES]; ABREAST];

impl LoweredTargets {
    /// Lays out these points of a metric for distances in units of `unit`, a power of two that is
    /// about a typical distance. Nothing where the metric is not a norm of differences, where rounding
    /// would move points too far, or where there is no memory.
    pub(crate) fn new(metric: &GroundMetric, targets: &[u32], unit: f64) -> Option<Self> {
        let Source::Points(points) = &metric.shared.source else { return None };
        if points.dim > MOST_DIM {
            return None;
        }
        let square_share = points.metric.square_share();
        let norm = points.metric.norm().or(square_share.map(|_| Norm::L2))?;
        let step = format_args!("coordinates in single precision");
        memory::check(step, memory::size_of::<f32>(&[targets.len(), points.dim + 2]), "").ok()?;
        let mut vectors = memory::zeros(step, targets.len() * points.dim, "").ok()?;
        let frame = Frame::new(points, targets);
        for (&i, out) in targets.iter().zip(vectors.chunks_exact_mut(points.dim)) {
            frame.round(points, i as usize, out);
        }
        let norms: Vec<f64> = vectors.chunks_exact(points.dim).map(|x| norm_of(norm, x)).collect();
        let (factor, typical) = match square_share {
            Some(share) => (share * frame.unit * (frame.unit / unit), (unit / share).sqrt()),
            None => (frame.unit / unit, unit),
        };
        let conversion = Conversion { factor: factor as f32, squared: square_share.is_some() };
        let moved = frame.moved_by_periods(norm);
        let typical = typical / frame.unit;
        let formula = formula_for(norm, points.dim, &norms, typical)?;
        if !conversion.factor.is_normal() || f64::from(moved) > MOST_MOVED * typical {
            return None;
        }
        let formula = match formula {
            Formula::Products if frame.halves.is_some() => Formula::Squares,
            formula => formula,
        };
        let mut ends = Ends::default();
        for &norm in &norms {
            ends.push(norm, formula, points.dim, moved);
        }
        Some(Self { formula, dim: points.dim, frame, conversion, vectors, ends, moved })
    }

    /// Coordinates of a point.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// The bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let ends = self.ends.squares.len() + self.ends.moved.len();
        memory::size_of::<f32>(&[self.vectors.len() + ends])
    }

    /// Lays out points of the metric to measure from.
    pub(crate) fn lay_out(
        &self,
        metric: &GroundMetric,
        from: impl Iterator<Item = usize>,
        origins: &mut LoweredOrigins,
    ) {
        let Source::Points(points) = &metric.shared.source else { return };
        let norm = match self.formula {
            Formula::Products | Formula::Squares => Norm::L2,
            Formula::Absolutes => Norm::L1,
            Formula::Largest => Norm::Largest,
        };
        origins.panels.clear();
        origins.ends.squares.clear();
        origins.ends.moved.clear();
        origins.count = 0;
        let mut vector = std::mem::take(&mut origins.vector);
        vector.resize(self.dim, 0.0);
        for (at, i) in from.enumerate() {
            let (panel, lane) = (at / LANES, at % LANES);
            if lane == 0 {
                origins.panels.resize((panel + 1) * self.dim, [0.0; LANES]);
            }
            self.frame.round(points, i, &mut vector);
            let length = norm_of(norm, &vector);
            origins.count += 1;
            if length > MOST_LENGTH || length.is_nan() {
                // At the center, and moved so far that all its distances are lowered to 0.
                origins.ends.push(0.0, self.formula, self.dim, self.moved);
                origins.ends.moved[at] = FAR;
                continue;
            }
            let rows = origins.panels[panel * self.dim..].iter_mut();
            rows.zip(&vector).for_each(|(row, &x)| row[lane] = x);
            origins.ends.push(length, self.formula, self.dim, self.moved);
        }
        origins.vector = vector;
        let padded = origins.count.next_multiple_of(LANES);
        origins.ends.moved.resize(padded, 0.0);
        if self.formula == Formula::Products {
            origins.ends.squares.resize(padded, 0.0);
        }
    }

    /// Appends the distances from all origins to each of some targets, target after target.
    pub(crate) fn distances(&self, origins: &LoweredOrigins, targets: &[u32], out: &mut Vec<f32>) {
        let (first, count) = (out.len(), origins.count);
        out.resize(first + targets.len() * count, 0.0);
        self.write_rows(origins, targets, count, &mut out[first..]);
    }

    /// Writes the distances from all origins to each of some targets into rows of a width, target after target.
    pub(crate) fn write_rows(
        &self,
        origins: &LoweredOrigins,
        targets: &[u32],
        width: usize,
        out: &mut [f32],
    ) {
        let count = origins.count;
        if count == 0 {
            return;
        }
        for (targets, out) in targets.chunks(ABREAST).zip(out.chunks_mut(ABREAST * width)) {
            for (panel, begin) in (0..).zip((0..count).step_by(LANES)) {
                let tile = self.tile(origins, panel, targets);
                let end = count.min(begin + LANES);
                let rows = tile.iter().take(targets.len()).zip(out.chunks_exact_mut(width));
                for (distances, out) in rows {
                    out[begin..end].copy_from_slice(&distances[..end - begin]);
                }
            }
        }
    }

    /// For each of the first targets min d − u over all origins, and their duals u.
    pub(crate) fn reach(&self, origins: &LoweredOrigins, u: &[f32], out: &mut [f32]) {
        let count = origins.count;
        let mut duals = vec![[-FAR; LANES]; count.div_ceil(LANES)];
        duals.as_flattened_mut()[..count].copy_from_slice(&u[..count]);
        let targets: Vec<u32> = (0..out.len() as u32).collect();
        for (targets, out) in targets.chunks(ABREAST).zip(out.chunks_mut(ABREAST)) {
            let mut least = [[f32::INFINITY; LANES]; ABREAST];
            for (panel, u) in duals.iter().enumerate() {
                let tile = self.tile(origins, panel, targets);
                for (least, distances) in least.iter_mut().zip(&tile) {
                    for lane in 0..LANES {
                        least[lane] = least[lane].min(distances[lane] - u[lane]);
                    }
                }
            }
            for (out, least) in out.iter_mut().zip(least) {
                *out = least.into_iter().fold(f32::INFINITY, f32::min);
            }
        }
    }

    /// The distances from sixteen origins to a few targets.
    fn tile(&self, origins: &LoweredOrigins, panel: usize, targets: &[u32]) -> Tile {
        let at = |k: usize| targets[k.min(targets.len() - 1)] as usize;
        let dim = self.dim;
        let ys: [&[f32]; ABREAST] =
            std::array::from_fn(|k| &self.vectors[at(k) * dim..(at(k) + 1) * dim]);
        let columns: [Column; ABREAST] = std::array::from_fn(|k| Column {
            square: self.ends.squares.get(at(k)).copied().unwrap_or(0.0),
            moved: self.ends.moved[at(k)],
        });
        let xs = &origins.panels[panel * dim..(panel + 1) * dim];
        let lanes = panel * LANES..(panel + 1) * LANES;
        let moved = &origins.ends.moved[lanes.clone()];
        let conversion = self.conversion;
        match (self.formula, self.frame.halves.as_deref()) {
            (Formula::Products, _) => {
                let squares = &origins.ends.squares[lanes];
                by_products(xs, ys, squares, moved, columns, conversion)
            }
            (Formula::Squares, None) => by_squares(xs, ys, moved, columns, conversion),
            (Formula::Absolutes, None) => by_absolutes(xs, ys, moved, columns, conversion),
            (Formula::Largest, None) => by_largest(xs, ys, moved, columns, conversion),
            (Formula::Squares, Some(halves)) => {
                by_wrapped_squares(xs, ys, halves, moved, columns, conversion)
            }
            (Formula::Absolutes, Some(halves)) => {
                by_wrapped_absolutes(xs, ys, halves, moved, columns, conversion)
            }
            (Formula::Largest, Some(halves)) => {
                by_wrapped_largest(xs, ys, halves, moved, columns, conversion)
            }
        }
    }
}

/// What is known of a target beside its vector.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    square: f32,
    moved: f32,
}

impl Ends {
    fn push(&mut self, norm: f64, formula: Formula, dim: usize, moved: f32) {
        self.moved.push(moved_by_rounding(norm) + moved);
        if formula == Formula::Products {
            self.squares.push((norm * norm * (1.0 - single(dim + 16))) as f32);
        }
    }
}

/// How distances are computed where a typical one is `typical` units and vectors have these norms.
/// Nothing where rounding would move points too far.
fn formula_for(norm: Norm, dim: usize, norms: &[f64], typical: f64) -> Option<Formula> {
    let share = 1.0 / norms.len().max(1) as f64;
    let moved: f64 = norms.iter().map(|&norm| share * f64::from(moved_by_rounding(norm))).sum();
    if moved > MOST_MOVED * typical {
        return None;
    }
    let squares: f64 = norms.iter().map(|norm| share * norm * norm).sum();
    let lost = single(dim + 16) * squares;
    Some(match norm {
        Norm::L1 => Formula::Absolutes,
        Norm::Largest => Formula::Largest,
        Norm::L2 if dim > DIRECT && lost <= MOST_LOST * typical * typical => Formula::Products,
        Norm::L2 => Formula::Squares,
    })
}

/// What `add` makes of all coordinates of sixteen origins and each of some targets.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn sums<const TARGETS: usize>(
    xs: &[[f32; LANES]],
    ys: &[&[f32]],
    add: impl Fn(usize, f32, f32, f32) -> f32,
) -> [[f32; LANES]; TARGETS] {
    let ys: [&[f32]; TARGETS] = std::array::from_fn(|k| &ys[k][..xs.len()]);
    let mut sums = [[0.0; LANES]; TARGETS];
    // Lanes innermost: the other way round, compilers put targets side by side, and shuffle.
    for (at, x) in xs.iter().enumerate() {
        for (sums, y) in sums.iter_mut().zip(ys) {
            let y = y[at];
            for lane in 0..LANES {
                sums[lane] = add(at, x[lane], y, sums[lane]);
            }
        }
    }
    sums
}

/// Those sums for a tile: all targets side by side, or first one half of them and then the other.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn tile_of<const WIDEST: bool>(
    xs: &[[f32; LANES]],
    ys: &[&[f32]; ABREAST],
    add: impl Fn(usize, f32, f32, f32) -> f32 + Copy,
) -> Tile {
    const HALF: usize = ABREAST / 2;
    if WIDEST {
        return sums(xs, ys, add);
    }
    let halves = [sums::<HALF>(xs, &ys[..HALF], add), sums::<HALF>(xs, &ys[HALF..], add)];
    std::array::from_fn(|k| halves[k / HALF][k % HALF])
}

/// Lowers lengths to a share of them, and by what rounding may have moved both ends by; then to
/// distances. A square is two more roundings.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn lower(
    tile: &mut Tile,
    share: f32,
    moved: &[f32],
    columns: [Column; ABREAST],
    conversion: Conversion,
) {
    let square_share = (1.0 - single(3)) as f32;
    for (lengths, column) in tile.iter_mut().zip(columns) {
        for (length, moved) in lengths.iter_mut().zip(moved) {
            let low = (*length * share - (moved + column.moved)).max(0.0);
            // A square of 10⁻¹⁵ is still far from where roundings are no longer relative.
            let low = if conversion.squared && low < 1e-15 { 0.0 } else { low };
            let low = if conversion.squared { low * low * square_share } else { low };
            let low = low * conversion.factor;
            // Below it, roundings are no longer relative.
            *length = if low > LEAST { low.min(FAR) } else { 0.0 };
        }
    }
}

for_fused_registers! {
    /// Lowered √(‖x‖² + ‖y‖² − 2⟨x, y⟩).
    by_products, by_products_fused, by_products_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], squares: &[f32], moved: &[f32],
     columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
        let mut tile =
            tile_of::<WIDEST>(xs, &ys, |_, x, y, sum| multiply_add::<FUSED>(x, y, sum));
        for (products, column) in tile.iter_mut().zip(columns) {
            for (product, square) in products.iter_mut().zip(squares) {
                *product = (square + column.square - 2.0 * *product).max(0.0).sqrt();
            }
        }
        lower(&mut tile, (1.0 - single(4)) as f32, moved, columns, conversion);
        tile
    }
}

// Periods have kernels of their own: with both in one function, compilers no longer make the best of either.

for_fused_registers! {
    /// Lowered √Σ(x − y)².
    by_squares, by_squares_fused, by_squares_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], moved: &[f32], columns: [Column; ABREAST],
     conversion: Conversion) -> Tile, {
        let mut tile =
            tile_of::<WIDEST>(xs, &ys, |_, x, y, sum| multiply_add::<FUSED>(x - y, x - y, sum));
        tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = sum.sqrt());
        lower(&mut tile, (1.0 - single(xs.len() + 6)) as f32, moved, columns, conversion);
        tile
    }
}

for_fused_registers! {
    /// The same of wrapped differences: each is off by one rounding more, and its square by two, half of which the
    /// root leaves.
    by_wrapped_squares, by_wrapped_squares_fused, by_wrapped_squares_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], halves: &[f32], moved: &[f32],
     columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
        let halves = &halves[..xs.len()];
        let mut tile = tile_of::<WIDEST>(xs, &ys, |k, x, y, sum| {
            let apart = apart_single(x, y, halves[k]);
            multiply_add::<FUSED>(apart, apart, sum)
        });
        tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = sum.sqrt());
        lower(&mut tile, (1.0 - single(xs.len() + 6)) as f32, moved, columns, conversion);
        tile
    }
}

for_fused_registers! {
    /// Lowered Σ|x − y|.
    by_absolutes, by_absolutes_fused, by_absolutes_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], moved: &[f32], columns: [Column; ABREAST],
     conversion: Conversion) -> Tile, {
        let mut tile = tile_of::<WIDEST>(xs, &ys, |_, x, y, sum| sum + (x - y).abs());
        lower(&mut tile, (1.0 - single(xs.len() + 6)) as f32, moved, columns, conversion);
        tile
    }
}

for_fused_registers! {
    /// The same of wrapped differences.
    by_wrapped_absolutes, by_wrapped_absolutes_fused, by_wrapped_absolutes_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], halves: &[f32], moved: &[f32],
     columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
        let halves = &halves[..xs.len()];
        let mut tile =
            tile_of::<WIDEST>(xs, &ys, |k, x, y, sum| sum + apart_single(x, y, halves[k]));
        lower(&mut tile, (1.0 - single(xs.len() + 6)) as f32, moved, columns, conversion);
        tile
    }
}

for_fused_registers! {
    /// Lowered max|x − y|: two roundings, and those of the product that lowers it.
    by_largest, by_largest_fused, by_largest_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], moved: &[f32], columns: [Column; ABREAST],
     conversion: Conversion) -> Tile, {
        let mut tile = tile_of::<WIDEST>(xs, &ys, |_, x, y, most| larger((x - y).abs(), most));
        lower(&mut tile, (1.0 - single(6)) as f32, moved, columns, conversion);
        tile
    }
}

for_fused_registers! {
    /// The same of wrapped differences.
    by_wrapped_largest, by_wrapped_largest_fused, by_wrapped_largest_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], halves: &[f32], moved: &[f32],
     columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
        let halves = &halves[..xs.len()];
        let mut tile =
            tile_of::<WIDEST>(xs, &ys, |k, x, y, most| larger(apart_single(x, y, halves[k]), most));
        lower(&mut tile, (1.0 - single(6)) as f32, moved, columns, conversion);
        tile
    }
}

/// The larger of two numbers that are not NaN, in one instruction.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn larger(apart: f32, most: f32) -> f32 {
    if apart > most { apart } else { most }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::PointMetric;
    use crate::metric::kernels::test_clouds::{clouds, geometry};
    use crate::units::power_of_two;

    const KINDS: [PointMetric; 5] = [
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::Chebyshev,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
    ];

    /// Distances from some points to some targets, target after target.
    fn lowered(
        laid_out: &LoweredTargets,
        metric: &GroundMetric,
        from: &[usize],
        to: &[u32],
    ) -> Vec<f32> {
        let (mut origins, mut out) = (LoweredOrigins::default(), Vec::new());
        laid_out.lay_out(metric, from.iter().copied(), &mut origins);
        laid_out.distances(&origins, to, &mut out);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Distances to the first half of the points, from all of them.
        #[test]
        fn none_is_above_the_distance_and_none_far_below((dim, coordinates) in clouds(), which in 0..3usize) {
            for kind in KINDS {
                let kind = geometry(kind, dim, &coordinates, which);

                let Ok(metric) = GroundMetric::from_points(dim, coordinates.clone(), kind.clone()) else { continue };
                let n = metric.points();
                let targets: Vec<u32> = (0..n.div_ceil(2) as u32).rev().collect();
                let pairs = || targets.iter().flat_map(|&j| (0..n).map(move |i| (i, j as usize)));
                let typical = pairs().map(|(i, j)| metric.distance(i, j)).sum::<f64>()
                    / (n * targets.len()) as f64;
                let unit = power_of_two(typical);
                let Some(laid_out) = LoweredTargets::new(&metric, &targets, unit) else { continue };
                let numbers: Vec<u32> = (0..targets.len() as u32).collect();
                let all: Vec<usize> = (0..n).collect();
                let low = lowered(&laid_out, &metric, &all, &numbers);
                let mut lost = 0.0;
                for ((i, j), &low) in pairs().zip(&low) {
                    let (distance, low) = (metric.distance(i, j), f64::from(low) * unit);
                    prop_assert!(low >= 0.0 && low <= distance, "{kind:?}: {low} {distance}");
                    lost += distance - low;
                }
                let far = all.iter().filter(|&&i| i >= targets.len()).count() > 0;
                prop_assert!(far || lost <= 0.1 * typical * low.len() as f64, "{kind:?}: {lost}");
                // The same bits whatever is asked for together.
                for (at, number) in numbers.iter().enumerate().step_by(3) {
                    for i in (0..n).step_by(5) {
                        let alone = lowered(&laid_out, &metric, &[i], &[*number]);
                        prop_assert_eq!(alone[0].to_bits(), low[at * n + i].to_bits());
                    }
                }
                // The least of all, less duals.
                let mut origins = LoweredOrigins::default();
                laid_out.lay_out(&metric, all.iter().copied(), &mut origins);
                let u: Vec<f32> = (0..n).map(|i| (i % 7) as f32 / 5.0 - 0.4).collect();
                let mut reached = vec![0.0; targets.len()];
                laid_out.reach(&origins, &u, &mut reached);
                for (low, reached) in low.chunks_exact(n).zip(reached) {
                    let least = low.iter().zip(&u).map(|(d, u)| d - u).fold(f32::INFINITY, f32::min);
                    prop_assert_eq!(least, reached);
                }
            }
        }
    }

    #[test]
    fn registers_of_any_width_give_the_same_bits() {
        let number = |at: usize| ((at * 7919) % 1013) as f32 / 517.0 - 1.0;
        let xs: Vec<[f32; LANES]> =
            (0..37).map(|i| std::array::from_fn(|lane| number(i * LANES + lane))).collect();
        let vectors: Vec<Vec<f32>> =
            (0..ABREAST).map(|k| (0..37).map(|i| number(31 * k + 3 * i + 5)).collect()).collect();
        let ys: [&[f32]; ABREAST] = std::array::from_fn(|k| &vectors[k][..]);
        let add = |_, x, y, sum| multiply_add::<true>(x, y, sum);
        let wide = tile_of::<true>(&xs, &ys, add);
        assert_eq!(wide, tile_of::<false>(&xs, &ys, add));
    }

    #[test]
    fn points_that_are_far_from_all_targets_have_bounds_too() {
        let coordinates = vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1e9, 0.0, 1e200, 1e200];
        for kind in KINDS {
            let Ok(metric) = GroundMetric::from_points(2, coordinates.clone(), kind) else {
                continue;
            };
            let Some(laid_out) = LoweredTargets::new(&metric, &[1, 2], 1.0) else { continue };
            let low = lowered(&laid_out, &metric, &[3, 4], &[0, 1]);
            let exact = [(3, 1), (4, 1), (3, 2), (4, 2)].map(|(i, j)| metric.distance(i, j));
            for (&low, exact) in low.iter().zip(exact) {
                assert!(low >= 0.0 && f64::from(low) <= exact, "{kind:?}: {low} {exact}");
            }
        }
    }
}
