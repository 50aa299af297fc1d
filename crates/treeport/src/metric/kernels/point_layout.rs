//! Distances from a fixed set of points, laid out once, to groups of others.
//!
//! An exact solver needs few distances, and consecutive problems often need distances from the same
//! points. The layout stores these points coordinate by coordinate in panels of eight, so that one
//! coordinate of another point is compared with eight at once. A distance depends on its two points
//! and on all points laid out, but not on the other points of its group: it has the same bits
//! whatever was computed before.
//!
//! From [`PRODUCTS`] coordinates on, distances come from inner products, as in
//! [`pairs`](super::pairs), relative to the mean of the points laid out. From the second
//! consecutive group on they are also cached ([`KnownDistances`]): documents share words, and a
//! word that two groups share is computed only once.

use super::panels::{
    ABREAST, LANES, Tile, abreast, differences, less_mean, products, squared_norms,
};
use crate::metric::points::Points;

/// From this number of coordinates on, inner products and cached distances are faster.
const PRODUCTS: usize = 12;

/// Number of coordinates of all points laid out up to which they stay in a cache.
const MOST: usize = 1 << 16;

/// Smallest number of points to lay out; fewer leave too many lanes empty.
const FEWEST: usize = 4;

/// Layout of a list of points; its memory is reused for the next ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointLayout {
    points: Vec<u32>,
    /// Panels of eight points, coordinate by coordinate; 0 in padding lanes.
    panels: Vec<[f64; LANES]>,
    /// Mean that is subtracted from all vectors before inner products.
    mean: Vec<f64>,
    /// Squared norms of the centered vectors.
    squared_norms: Vec<[f64; LANES]>,
    /// Vectors of one group of columns, minus the mean.
    group_vectors: Vec<f64>,
    /// Row of every point laid out in the requested block, or [`NONE`].
    row_of_point: Vec<u32>,
    known: KnownDistances,
}

/// Position of a [`Tile`]: a panel and a range of columns.
struct TilePlace<'a> {
    panel: usize,
    /// Index in the block of the first column, and the points of all columns.
    first_column: usize,
    columns: &'a [usize],
}

/// Cache of distances from all points laid out to other points.
#[derive(Clone, Debug, Default)]
struct KnownDistances {
    /// Column of every point of the metric, or [`NONE`].
    column_of_point: Vec<u32>,
    /// Points that have a column, in the order of the columns.
    points: Vec<u32>,
    /// Distances, column after column, each in panels like the points laid out.
    columns: Vec<[f64; LANES]>,
}

/// Largest number of distances that a thread caches, 4 MiB, and of points of such a metric.
const MOST_KNOWN: usize = 1 << 19;

impl KnownDistances {
    fn clear(&mut self) {
        for &point in &self.points {
            self.column_of_point[point as usize] = NONE;
        }
        self.points.clear();
        self.columns.clear();
    }

    /// Assigns a column to each of these points, and returns those that had none, each once. If
    /// there would be too many columns, all old ones are dropped first.
    fn add(&mut self, all: usize, points: &[usize], panels: usize) -> Vec<usize> {
        if self.column_of_point.len() < all {
            self.column_of_point.resize(all, NONE);
        }
        let new = points.iter().filter(|&&point| self.column_of_point[point] == NONE).count();
        if (self.points.len() + new) * panels * LANES > MOST_KNOWN {
            self.clear();
        }
        let mut new = Vec::new();
        for &point in points {
            if self.column_of_point[point] == NONE {
                self.column_of_point[point] = self.points.len() as u32;
                self.points.push(point as u32);
                new.push(point);
            }
        }
        self.columns.resize(self.points.len() * panels, [0.0; LANES]);
        new
    }
}

/// Marker of a missing row or column.
const NONE: u32 = u32::MAX;

impl PointLayout {
    /// Drops the points, since the next ones may belong to another metric.
    pub(crate) fn forget(&mut self) {
        self.points.clear();
        self.known.clear();
    }

    /// Writes the distances from `rows`, which are among the points `from`, to `cols`, in row-major
    /// order. Both `from` and `rows` increase. Writes nothing and returns false where another way
    /// is faster.
    pub(crate) fn block(
        &mut self,
        points: &Points,
        from: &[u32],
        rows: &[usize],
        cols: &[usize],
        out: &mut [f64],
    ) -> bool {
        if from.len() < FEWEST || from.len().saturating_mul(points.dim) > MOST {
            return false;
        }
        let are_laid_out = self.points == from;
        if !are_laid_out {
            self.set_points(points, from);
        }
        self.find_rows(rows);
        let distances = self.panels.len() / points.dim * LANES * cols.len();
        let are_kept = points.dim >= PRODUCTS && distances.max(points.len()) <= MOST_KNOWN;
        if are_laid_out && are_kept {
            self.look_up(points, cols, out);
            return true;
        }
        self.tiles(points, cols, |laid_out, tile, place| {
            laid_out.write(points, tile, &place, cols.len(), out);
        });
        true
    }

    /// Writes the distances of [`block`](Self::block) from columns, which it completes.
    fn look_up(&mut self, points: &Points, cols: &[usize], out: &mut [f64]) {
        let mut known = std::mem::take(&mut self.known);
        let panels = self.panels.len() / points.dim;
        let new = known.add(points.len(), cols, panels);
        let first = known.points.len() - new.len();
        self.tiles(points, &new, |_, tile, place| {
            let tile = &tile[..place.columns.len()];
            for (column, distances) in (first + place.first_column..).zip(tile) {
                known.columns[column * panels + place.panel] = *distances;
            }
        });
        for (at, &j) in cols.iter().enumerate() {
            let column = known.column_of_point[j] as usize * panels;
            let distances = known.columns[column..column + panels].as_flattened();
            let rows = self.points.iter().zip(&self.row_of_point);
            for ((&point, &row), &distance) in rows.zip(distances) {
                if row != NONE {
                    out[row as usize * cols.len() + at] =
                        if distance < 0.0 { points.distance(point as usize, j) } else { distance };
                }
            }
        }
        self.known = known;
    }

    /// Calls `take` with the distances from every panel to the given points, a few points at a
    /// time.
    fn tiles(
        &mut self,
        points: &Points,
        cols: &[usize],
        take: impl FnMut(&Self, &Tile, TilePlace<'_>),
    ) {
        if supports_products(points) {
            self.by_products(points, cols, take);
        } else {
            self.by_differences(points, cols, take);
        }
    }

    fn set_points(&mut self, points: &Points, from: &[u32]) {
        let dim = points.dim;
        self.forget();
        self.points.extend_from_slice(from);
        self.mean.clear();
        self.mean.resize(dim, 0.0);
        if supports_products(points) {
            let share = 1.0 / from.len() as f64;
            for &i in from {
                let vector = points.vector(i as usize);
                self.mean.iter_mut().zip(vector).for_each(|(mean, x)| *mean += share * x);
            }
        }
        self.panels.clear();
        self.panels.resize(from.len().div_ceil(LANES) * dim, [0.0; LANES]);
        self.squared_norms.clear();
        for (of_panel, panel) in from.chunks(LANES).zip(self.panels.chunks_exact_mut(dim)) {
            for (lane, &i) in of_panel.iter().enumerate() {
                let vector = points.vector(i as usize);
                for ((entry, x), mean) in panel.iter_mut().zip(vector).zip(&self.mean) {
                    entry[lane] = x - mean;
                }
            }
            self.squared_norms.push(squared_norms(panel));
        }
    }

    /// Sets the rows of the points laid out; both lists increase.
    fn find_rows(&mut self, rows: &[usize]) {
        self.row_of_point.clear();
        let mut row = 0;
        for &point in &self.points {
            let is_row = rows.get(row) == Some(&(point as usize));
            self.row_of_point.push(if is_row { row as u32 } else { NONE });
            row += usize::from(is_row);
        }
        debug_assert_eq!(row, rows.len(), "rows are among the points laid out");
    }

    fn by_differences(
        &self,
        points: &Points,
        cols: &[usize],
        mut take: impl FnMut(&Self, &Tile, TilePlace<'_>),
    ) {
        for (columns, at) in cols.chunks(ABREAST).zip(0..) {
            let vectors = abreast(columns.len(), |k| points.vector(columns[k]));
            for (vectors_of_panel, panel) in self.panels.chunks_exact(points.dim).zip(0..) {
                let tile = differences(vectors_of_panel, vectors, points.metric, points.halves());
                take(self, &tile, TilePlace { panel, first_column: at * ABREAST, columns });
            }
        }
    }

    fn by_products(
        &mut self,
        points: &Points,
        cols: &[usize],
        mut take: impl FnMut(&Self, &Tile, TilePlace<'_>),
    ) {
        let dim = points.dim;
        let mut group = std::mem::take(&mut self.group_vectors);
        group.resize(ABREAST * dim, 0.0);
        for (columns, at) in cols.chunks(ABREAST).zip(0..) {
            let mut squares = [0.0; ABREAST];
            let vectors = columns.iter().zip(group.chunks_exact_mut(dim));
            for ((&j, out), square) in vectors.zip(&mut squares) {
                *square = less_mean(points.vector(j), &self.mean, out);
            }
            let vectors = abreast(columns.len(), |k| &group[k * dim..(k + 1) * dim]);
            let panels = self.panels.chunks_exact(dim).zip(&self.squared_norms);
            for ((vectors_of_panel, panel_squares), panel) in panels.zip(0..) {
                let tile =
                    products(vectors_of_panel, vectors, panel_squares, squares, points.metric);
                take(self, &tile, TilePlace { panel, first_column: at * ABREAST, columns });
            }
        }
        self.group_vectors = group;
    }

    /// Writes distances between a panel and columns; coarse ones are computed again.
    fn write(
        &self,
        points: &Points,
        tile: &Tile,
        place: &TilePlace<'_>,
        width: usize,
        out: &mut [f64],
    ) {
        let &TilePlace { panel, first_column, columns } = place;
        let least = |least: f64, &distance: &f64| if distance < least { distance } else { least };
        let coarse = tile.as_flattened().iter().fold(0.0, least) < 0.0;
        let lanes = panel * LANES..self.points.len().min((panel + 1) * LANES);
        let rows = self.points[lanes.clone()].iter().zip(&self.row_of_point[lanes]);
        for ((&point, &row), lane) in rows.zip(0..) {
            if row == NONE {
                continue;
            }
            let out = &mut out[row as usize * width + first_column..][..columns.len()];
            for (out, distances) in out.iter_mut().zip(tile) {
                *out = distances[lane];
            }
            if coarse {
                for (out, &j) in out.iter_mut().zip(columns).filter(|(out, _)| **out < 0.0) {
                    *out = points.distance(point as usize, j);
                }
            }
        }
    }
}

fn supports_products(points: &Points) -> bool {
    points.supports_products() && points.dim >= PRODUCTS
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::metric::PointMetric;
    use crate::metric::kernels::panels::TERMS;
    use crate::metric::kernels::test_clouds::geometry;

    /// Points in few locations, so that some are nearly or exactly equal, far from the origin.
    fn clouds() -> impl Strategy<Value = (usize, Vec<f64>, PointMetric)> {
        let metrics = vec![
            PointMetric::Euclidean,
            PointMetric::SqEuclidean,
            PointMetric::Manhattan,
            PointMetric::Chebyshev,
            PointMetric::Cosine,
        ];
        let offset = prop::sample::select(vec![0.5, 1e3, 1e8]);
        let unit = prop::sample::select(vec![1.0, 1e-150, 1e-7]);
        let dim = prop_oneof![1..PRODUCTS, PRODUCTS..40, Just(2 * TERMS + 3)];
        (dim, 2..60usize, prop::sample::select(metrics), offset, unit).prop_flat_map(
            |(dim, n, metric, offset, unit)| {
                vec(prop_oneof![0..3i32, -1000..1000i32], n * dim).prop_map(move |steps| {
                    let at = |step: i32| unit * (offset + f64::from(step) / 7.0);
                    (dim, steps.into_iter().map(at).collect(), metric)
                })
            },
        )
    }

    #[test]
    fn columns_begin_anew_where_they_would_become_too_many() {
        // The cache has space for ten columns.
        let (mut known, panels) = (KnownDistances::default(), MOST_KNOWN / LANES / 10);
        assert_eq!(known.add(30, &[3, 1, 4, 1, 5], panels), [3, 1, 4, 5]);
        assert_eq!(known.add(30, &[9, 2, 6, 5, 3, 5, 8, 7], panels), [9, 2, 6, 8, 7]);
        assert!(known.add(30, &[9, 2, 6, 5, 3, 1, 8, 7, 4], panels).is_empty());
        assert_eq!(
            (known.column_of_point[3], known.column_of_point[9], known.points.len()),
            (0, 4, 9)
        );
        assert_eq!(known.add(30, &[11, 3, 12], panels), [11, 3, 12]);
        assert_eq!(
            (known.column_of_point[3], known.column_of_point[9], known.points.len()),
            (1, NONE, 3)
        );
        assert_eq!(known.columns.len(), 3 * panels);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn it_agrees_with_the_direct_formula(
            (dim, coordinates, metric) in clouds(),
            step in 1..4usize,
            cut in 0..9usize,
        ) {
            let geometry = geometry(metric, dim, &coordinates, cut);
            let points = Points::new(dim, coordinates, geometry).unwrap();
            let n = points.len();
            let from: Vec<u32> = (0..n as u32).step_by(step).collect();
            let rows: Vec<usize> = from.iter().map(|&i| i as usize).skip(cut % 3).step_by(2).collect();
            let cols: Vec<usize> = (0..n).rev().skip(cut).collect();
            let mut laid_out = PointLayout::default();
            let mut out = vec![f64::NAN; rows.len() * cols.len()];
            prop_assert_eq!(laid_out.block(&points, &from, &rows, &cols, &mut out), from.len() >= FEWEST);
            if from.len() < FEWEST {
                return Ok(());
            }
            for (place, &fast) in out.iter().enumerate() {
                let (i, j) = (rows[place / cols.len()], cols[place % cols.len()]);
                let direct = points.distance(i, j);
                prop_assert!((fast - direct).abs() <= 1e-12 * direct, "{i} {j}: {fast} {direct}");
            }
            // Cached columns, some from an earlier call, some requested twice: the same bits.
            let some = &cols[cols.len() / 3..cols.len() - cols.len() / 3];
            laid_out.block(&points, &from, &rows, some, &mut vec![0.0; rows.len() * some.len()]);
            let twice: Vec<usize> = cols.iter().chain(some).copied().collect();
            let mut kept = vec![f64::NAN; rows.len() * twice.len()];
            laid_out.block(&points, &from, &rows, &twice, &mut kept);
            for (place, kept) in kept.iter().enumerate() {
                let (row, at) = (place / twice.len(), place % twice.len());
                let at = if at < cols.len() { at } else { at - cols.len() + cols.len() / 3 };
                prop_assert_eq!(kept.to_bits(), out[row * cols.len() + at].to_bits());
            }
            // One column at a time, all rows at once: the same bits.
            let all: Vec<usize> = from.iter().map(|&i| i as usize).collect();
            let mut column = vec![f64::NAN; all.len()];
            for (at, &j) in cols.iter().enumerate() {
                laid_out.block(&points, &from, &all, &[j], &mut column);
                for (row, fast) in out.chunks_exact(cols.len().max(1)).enumerate() {
                    let place = all.binary_search(&rows[row]).unwrap();
                    prop_assert_eq!(fast[at].to_bits(), column[place].to_bits());
                }
            }
        }
    }
}
