//! Lower bounds of distances, in single precision, from a few points (the origins) to some of many
//! (the targets).
//!
//! The targets are laid out once, relative to a center, in multiples of a unit. The origins are
//! laid out for every query, sixteen side by side, so that one coordinate of a target meets sixteen
//! origins at once. A distance depends on its two points and on the layout of all targets alone: it
//! has the same bits in every query.
//!
//! Squared Euclidean norms of many coordinates come from inner products, √(‖x‖² + ‖y‖² − 2⟨x, y⟩),
//! with squared norms lowered by [`product_roundings`] to cover their error. In few coordinates,
//! and for points that are close together compared with their distance from the center, differences
//! are added up ([`sum_roundings`](crate::numeric::rounding::sum_roundings)); two more roundings cover the
//! product that lowers the sum. The rounding error of both points ([`Frame`]) is subtracted from
//! every distance.

use super::frame::{Frame, norm_of};
use super::single::{DIRECT, FAR, MOST_DIM};
use super::tiles::{
    ABREAST, Column, Conversion, LANES, Tile, by_absolutes, by_largest, by_products, by_squares,
    by_wrapped_absolutes, by_wrapped_largest, by_wrapped_squares,
};
use crate::memory;
use crate::metric::points::Norm;
use crate::metric::{GroundMetric, Source};
use crate::numeric::rounding::{moved_by_rounding, product_roundings, single};

/// Largest rounding error as a share of a typical distance, for single precision.
const MOST_MOVED: f64 = 1e-4;

/// Largest share of a typical squared distance that products may lose.
const MOST_LOST: f64 = 1e-3;

/// Largest length of a vector, in multiples of the frame's unit: squares of longer vectors may
/// overflow.
const MOST_LENGTH: f64 = 1e15;

/// Layout of the targets.
#[derive(Clone, Debug)]
pub(crate) struct LoweredTargets {
    norm: Norm,
    /// Whether squares come from inner products.
    by_products: bool,
    dim: usize,
    frame: Frame,
    conversion: Conversion,
    vectors: Vec<f32>,
    ends: Ends,
    /// Additional error of every point from rounded half periods.
    moved: f32,
}

/// Corrections of the distances of each point of a layout.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// Squared norms, lowered by the error of products; empty where products are not used.
    squares: Vec<f32>,
    /// Upper bound of the rounding error of each point.
    moved: Vec<f32>,
}

/// Layout of the origins.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoweredOrigins {
    count: usize,
    /// Panels of sixteen points, coordinate by coordinate; 0 in padding lanes.
    panels: Vec<[f32; LANES]>,
    ends: Ends,
    /// Buffer for the vector of one point.
    vector: Vec<f32>,
}

impl LoweredTargets {
    /// Lays out these points of a metric for distances in multiples of `unit`, a power of two that
    /// is about a typical distance. Returns `None` where the metric is not a norm of differences,
    /// where rounding would move points too far, or where there is too little memory.
    pub(crate) fn new(metric: &GroundMetric, targets: &[u32], unit: f64) -> Option<Self> {
        let Source::Points(points) = &metric.shared.source else { return None };
        if points.dim > MOST_DIM {
            return None;
        }
        let square_share = points.metric.square_share();
        let norm = points.metric.norm().or(square_share.map(|_| Norm::L2))?;
        let step = "coordinates in single precision";
        memory::check(step, memory::size_of::<f32>(&[targets.len(), points.dim + 2]), "").ok()?;
        let mut vectors = memory::zeros(step, targets.len() * points.dim, "").ok()?;
        let rows = targets.iter().map(|&i| points.vector(i as usize));
        let frame = Frame::around(points.dim, rows.clone(), points.coordinate_halves());
        for (vector, out) in rows.zip(vectors.chunks_exact_mut(points.dim)) {
            frame.round(vector, out);
        }
        let norms: Vec<f64> = vectors.chunks_exact(points.dim).map(|x| norm_of(norm, x)).collect();
        let (factor, typical) = match square_share {
            Some(share) => (share * frame.unit * (frame.unit / unit), (unit / share).sqrt()),
            None => (frame.unit / unit, unit),
        };
        let conversion = Conversion { factor: factor as f32, squared: square_share.is_some() };
        let moved = frame.moved_by_periods(norm);
        let typical = typical / frame.unit;
        let products_pay = products_pay(norm, points.dim, &norms, typical)?;
        if !conversion.factor.is_normal() || f64::from(moved) > MOST_MOVED * typical {
            return None;
        }
        let by_products = products_pay && frame.halves.is_none();
        let mut ends = Ends::default();
        for &norm in &norms {
            ends.push(norm, by_products, points.dim, moved);
        }
        let dim = points.dim;
        Some(Self { norm, by_products, dim, frame, conversion, vectors, ends, moved })
    }

    /// Returns the number of coordinates of a point.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the size of the layout in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let ends = self.ends.squares.len() + self.ends.moved.len();
        memory::size_of::<f32>(&[self.vectors.len() + ends])
    }

    /// Lays out points of the metric as origins.
    pub(crate) fn set_points(
        &self,
        metric: &GroundMetric,
        from: impl Iterator<Item = usize>,
        origins: &mut LoweredOrigins,
    ) {
        let Source::Points(points) = &metric.shared.source else { return };
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
            self.frame.round(points.vector(i), &mut vector);
            let length = norm_of(self.norm, &vector);
            origins.count += 1;
            if length > MOST_LENGTH || length.is_nan() {
                // Placed at the center, with an error so large that all its distances become 0.
                origins.ends.push(0.0, self.by_products, self.dim, self.moved);
                origins.ends.moved[at] = FAR;
                continue;
            }
            let rows = origins.panels[panel * self.dim..].iter_mut();
            rows.zip(&vector).for_each(|(row, &x)| row[lane] = x);
            origins.ends.push(length, self.by_products, self.dim, self.moved);
        }
        origins.vector = vector;
        let padded = origins.count.next_multiple_of(LANES);
        origins.ends.moved.resize(padded, 0.0);
        if self.by_products {
            origins.ends.squares.resize(padded, 0.0);
        }
    }

    /// Appends the distances from all origins to each of the given targets, target by target.
    pub(crate) fn distances(&self, origins: &LoweredOrigins, targets: &[u32], out: &mut Vec<f32>) {
        let (first, count) = (out.len(), origins.count);
        out.resize(first + targets.len() * count, 0.0);
        self.write_rows(origins, targets, count, &mut out[first..]);
    }

    /// Writes the distances from all origins to the given targets, target by target.
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
                    match out[begin..end].first_chunk_mut() {
                        Some(lanes) => *lanes = *distances,
                        None => out[begin..end].copy_from_slice(&distances[..end - begin]),
                    }
                }
            }
        }
    }

    /// Computes min d − u over all origins with dual values u, for the first targets.
    pub(crate) fn c_transform(&self, origins: &LoweredOrigins, u: &[f32], out: &mut [f32]) {
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

    /// Computes the distances from sixteen origins to a few targets.
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
        if self.by_products {
            let squares = &origins.ends.squares[lanes];
            return by_products(xs, ys, squares, moved, columns, conversion);
        }
        match (self.norm, self.frame.halves.as_deref()) {
            (Norm::L2, None) => by_squares(xs, ys, moved, columns, conversion),
            (Norm::L1, None) => by_absolutes(xs, ys, moved, columns, conversion),
            (Norm::Largest, None) => by_largest(xs, ys, moved, columns, conversion),
            (Norm::L2, Some(halves)) => {
                by_wrapped_squares(xs, ys, halves, moved, columns, conversion)
            }
            (Norm::L1, Some(halves)) => {
                by_wrapped_absolutes(xs, ys, halves, moved, columns, conversion)
            }
            (Norm::Largest, Some(halves)) => {
                by_wrapped_largest(xs, ys, halves, moved, columns, conversion)
            }
        }
    }
}

impl Ends {
    fn push(&mut self, norm: f64, by_products: bool, dim: usize, moved: f32) {
        self.moved.push(moved_by_rounding(norm) + moved);
        if by_products {
            self.squares.push((norm * norm * (1.0 - single(product_roundings(dim)))) as f32);
        }
    }
}

/// Checks whether products lose little enough where a typical distance is `typical` units and
/// vectors have these norms. Returns `None` where rounding would move points too far.
fn products_pay(norm: Norm, dim: usize, norms: &[f64], typical: f64) -> Option<bool> {
    let share = 1.0 / norms.len().max(1) as f64;
    let moved: f64 = norms.iter().map(|&norm| share * f64::from(moved_by_rounding(norm))).sum();
    if moved > MOST_MOVED * typical {
        return None;
    }
    let squares: f64 = norms.iter().map(|norm| share * norm * norm).sum();
    let lost = single(product_roundings(dim)) * squares;
    Some(norm == Norm::L2 && dim > DIRECT && lost <= MOST_LOST * typical * typical)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::PointMetric;
    use crate::metric::kernels::test_clouds::{clouds, geometry};
    use crate::numeric::scale::power_of_two;

    const KINDS: [PointMetric; 5] = [
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::Chebyshev,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
    ];

    /// Computes the distances from the given points to the given targets, target by target.
    fn lowered(
        laid_out: &LoweredTargets,
        metric: &GroundMetric,
        from: &[usize],
        to: &[u32],
    ) -> Vec<f32> {
        let (mut origins, mut out) = (LoweredOrigins::default(), Vec::new());
        laid_out.set_points(metric, from.iter().copied(), &mut origins);
        laid_out.distances(&origins, to, &mut out);
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Checks distances from all points to the first half of them.
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
                // A query for one target gives the same bits.
                for (at, number) in numbers.iter().enumerate().step_by(3) {
                    for i in (0..n).step_by(5) {
                        let alone = lowered(&laid_out, &metric, &[i], &[*number]);
                        prop_assert_eq!(alone[0].to_bits(), low[at * n + i].to_bits());
                    }
                }
                // Checks `c_transform`: the minimum of distance minus dual value.
                let mut origins = LoweredOrigins::default();
                laid_out.set_points(&metric, all.iter().copied(), &mut origins);
                let u: Vec<f32> = (0..n).map(|i| (i % 7) as f32 / 5.0 - 0.4).collect();
                let mut reached = vec![0.0; targets.len()];
                laid_out.c_transform(&origins, &u, &mut reached);
                for (low, reached) in low.chunks_exact(n).zip(reached) {
                    let least = low.iter().zip(&u).map(|(d, u)| d - u).fold(f32::INFINITY, f32::min);
                    prop_assert_eq!(least, reached);
                }
            }
        }
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
