//! Distances from some points, laid out once, to others, group after group.
//!
//! A problem of exact transport asks for few distances, and many problems in a row ask for them from
//! the same points. Those are kept coordinate by coordinate, eight points side by side, so that one
//! number of another point meets eight at once; the others are read as they lie. A distance depends
//! on its two points and on all points laid out, but not on the others in its group, so that it is
//! the same to the bit whatever was asked before.
//!
//! From some coordinates on it is inner products, as in [`pairs`](super::pairs), about the mean of
//! the points laid out. From as many on, and from the second group in a row on, distances are kept:
//! what groups share, as documents share words, is not measured again.

use super::pairs::{from_product, threshold};
use super::sums::Kernel;
use crate::metric::points::{PointMetric, Points};
use crate::wide::for_wide_registers;

/// Points side by side.
const LANES: usize = 8;

/// Points of a group that are read at the same time.
const ABREAST: usize = 4;

/// Most terms of a sum before it goes to the sum of such sums.
const TERMS: usize = 256;

/// Coordinates from which inner products are faster than differences, and a distance that is kept is
/// faster than one that is measured.
const PRODUCTS: usize = 12;

/// Coordinates of all points laid out up to which they stay in a cache.
const MOST: usize = 1 << 16;

/// Points laid out fewer than this leave too many lanes empty.
const FEWEST: usize = 4;

/// Some points, laid out; its memory serves one set of points after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaidOutPoints {
    points: Vec<u32>,
    /// For eight points after eight, coordinate by coordinate; 0 where there are no more points.
    panels: Vec<[f64; LANES]>,
    /// Only for inner products: the mean, which all are moved by, and the squared lengths.
    mean: Vec<f64>,
    norms: Vec<[f64; LANES]>,
    /// Some points of a group, moved by the mean.
    others: Vec<f64>,
    /// The row of every point laid out that has one.
    rows: Vec<u32>,
    seen: KnownDistances,
}

/// Distances from all points laid out to others that were asked for before.
#[derive(Clone, Debug, Default)]
struct KnownDistances {
    /// The column of every point of the metric that has one.
    places: Vec<u32>,
    /// The points that have one.
    points: Vec<u32>,
    /// Column after column, panels as those of the points laid out.
    columns: Vec<[f64; LANES]>,
}

/// Distances that are kept at the most, 4 MiB for a thread, and points of a metric of which some are.
const MOST_SEEN: usize = 1 << 19;

impl KnownDistances {
    fn clear(&mut self) {
        for &point in &self.points {
            self.places[point as usize] = NONE;
        }
        self.points.clear();
        self.columns.clear();
    }

    /// Which of some points have no column yet, each once, as they get one; all columns begin anew
    /// where they would become too many.
    fn add(&mut self, all: usize, points: &[usize], panels: usize) -> Vec<usize> {
        if self.places.len() < all {
            self.places.resize(all, NONE);
        }
        let new = points.iter().filter(|&&point| self.places[point] == NONE).count();
        if (self.points.len() + new) * panels * LANES > MOST_SEEN {
            self.clear();
        }
        let mut new = Vec::new();
        for &point in points {
            if self.places[point] == NONE {
                self.places[point] = self.points.len() as u32;
                self.points.push(point as u32);
                new.push(point);
            }
        }
        self.columns.resize(self.points.len() * panels, [0.0; LANES]);
        new
    }
}

const NONE: u32 = u32::MAX;

impl LaidOutPoints {
    /// Forgets the points, which may be those of another metric.
    pub(crate) fn forget(&mut self) {
        self.points.clear();
        self.seen.clear();
    }

    /// The distances from some of the points `from` to others, row after row; false, and nothing is
    /// done, where other ways are faster. Both `from` and the rows increase.
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
        let again = self.points == from;
        if !again {
            self.lay_out(points, from);
        }
        self.find_rows(rows);
        let distances = self.panels.len() / points.dim * LANES * cols.len();
        let are_kept = points.dim >= PRODUCTS && distances.max(points.len()) <= MOST_SEEN;
        if again && are_kept {
            self.look_up(points, cols, out);
            return true;
        }
        self.tiles(points, cols, |laid, tile, panel, (at, group)| {
            laid.write(points, tile, panel, (at, group), (cols.len(), out));
        });
        true
    }

    /// As [`block`](Self::block), from columns that are kept.
    fn look_up(&mut self, points: &Points, cols: &[usize], out: &mut [f64]) {
        let mut seen = std::mem::take(&mut self.seen);
        let panels = self.panels.len() / points.dim;
        let new = seen.add(points.len(), cols, panels);
        let first = seen.points.len() - new.len();
        self.tiles(points, &new, |_, tile, panel, (at, group)| {
            for (column, distances) in (first + at..).zip(&tile[..group.len()]) {
                seen.columns[column * panels + panel] = *distances;
            }
        });
        for (at, &j) in cols.iter().enumerate() {
            let column = seen.places[j] as usize * panels;
            let distances = seen.columns[column..column + panels].as_flattened();
            for ((&point, &row), &distance) in self.points.iter().zip(&self.rows).zip(distances) {
                if row != NONE {
                    out[row as usize * cols.len() + at] =
                        if distance < 0.0 { points.distance(point as usize, j) } else { distance };
                }
            }
        }
        self.seen = seen;
    }

    /// The distances from every panel to some points, a few at a time.
    fn tiles(
        &mut self,
        points: &Points,
        cols: &[usize],
        take: impl FnMut(&Self, &Tile, usize, (usize, &[usize])),
    ) {
        if takes_products(points) {
            self.by_products(points, cols, take);
        } else {
            self.by_differences(points, cols, take);
        }
    }

    fn lay_out(&mut self, points: &Points, from: &[u32]) {
        let dim = points.dim;
        self.forget();
        self.points.extend_from_slice(from);
        self.mean.clear();
        self.mean.resize(dim, 0.0);
        if takes_products(points) {
            let share = 1.0 / from.len() as f64;
            for &i in from {
                let vector = points.vector(i as usize);
                self.mean.iter_mut().zip(vector).for_each(|(mean, x)| *mean += share * x);
            }
        }
        self.panels.clear();
        self.panels.resize(from.len().div_ceil(LANES) * dim, [0.0; LANES]);
        self.norms.clear();
        for (of_panel, panel) in from.chunks(LANES).zip(self.panels.chunks_exact_mut(dim)) {
            for (lane, &i) in of_panel.iter().enumerate() {
                let vector = points.vector(i as usize);
                for ((entry, x), mean) in panel.iter_mut().zip(vector).zip(&self.mean) {
                    entry[lane] = x - mean;
                }
            }
            self.norms.push(squared_lengths(panel));
        }
    }

    /// Finds the points laid out that are rows; both increase.
    fn find_rows(&mut self, rows: &[usize]) {
        self.rows.clear();
        let mut row = 0;
        for &point in &self.points {
            let is_row = rows.get(row) == Some(&(point as usize));
            self.rows.push(if is_row { row as u32 } else { NONE });
            row += usize::from(is_row);
        }
        debug_assert_eq!(row, rows.len(), "rows are among the points laid out");
    }

    fn by_differences(
        &self,
        points: &Points,
        cols: &[usize],
        mut take: impl FnMut(&Self, &Tile, usize, (usize, &[usize])),
    ) {
        for (at, group) in cols.chunks(ABREAST).enumerate() {
            let vectors = abreast(group.len(), |k| points.vector(group[k]));
            for (panel, number) in self.panels.chunks_exact(points.dim).zip(0..) {
                let tile = differences(panel, vectors, points.metric);
                take(self, &tile, number, (at * ABREAST, group));
            }
        }
    }

    fn by_products(
        &mut self,
        points: &Points,
        cols: &[usize],
        mut take: impl FnMut(&Self, &Tile, usize, (usize, &[usize])),
    ) {
        let dim = points.dim;
        let mut others = std::mem::take(&mut self.others);
        others.resize(ABREAST * dim, 0.0);
        for (at, group) in cols.chunks(ABREAST).enumerate() {
            let mut norms = [0.0; ABREAST];
            for ((&j, moved), norm) in
                group.iter().zip(others.chunks_exact_mut(dim)).zip(&mut norms)
            {
                *norm = moved_by(points.vector(j), &self.mean, moved);
            }
            let vectors = abreast(group.len(), |k| &others[k * dim..(k + 1) * dim]);
            for ((panel, own), number) in self.panels.chunks_exact(dim).zip(&self.norms).zip(0..) {
                let tile = products(panel, vectors, own, norms, points.metric);
                take(self, &tile, number, (at * ABREAST, group));
            }
        }
        self.others = others;
    }

    /// Writes the distances between a panel and some columns; what has too few digits is computed
    /// again from the two points.
    fn write(
        &self,
        points: &Points,
        tile: &Tile,
        panel: usize,
        (column, group): (usize, &[usize]),
        (width, out): (usize, &mut [f64]),
    ) {
        let least = |least: f64, &distance: &f64| if distance < least { distance } else { least };
        let coarse = tile.as_flattened().iter().fold(0.0, least) < 0.0;
        let lanes = panel * LANES..self.points.len().min((panel + 1) * LANES);
        for ((&point, &row), lane) in
            self.points[lanes.clone()].iter().zip(&self.rows[lanes]).zip(0..)
        {
            if row == NONE {
                continue;
            }
            let out = &mut out[row as usize * width + column..][..group.len()];
            for (out, distances) in out.iter_mut().zip(tile) {
                *out = distances[lane];
            }
            if coarse {
                for (out, &j) in out.iter_mut().zip(group).filter(|(out, _)| **out < 0.0) {
                    *out = points.distance(point as usize, j);
                }
            }
        }
    }
}

/// The distances of eight points to some others; below 0 where too few digits are left.
type Tile = [[f64; LANES]; ABREAST];

fn takes_products(points: &Points) -> bool {
    points.metric.kernel().takes_products() && points.dim >= PRODUCTS
}

/// Some vectors; the last one again for those that are missing.
fn abreast<'a>(count: usize, vector: impl Fn(usize) -> &'a [f64]) -> [&'a [f64]; ABREAST] {
    let some = |k: usize| vector(k.min(count - 1));
    [some(0), some(1), some(2), some(3)]
}

for_wide_registers! {
    /// Distances by the differences of coordinates.
    differences, differences_wide, (panel: &[[f64; LANES]], ys: [&[f64]; ABREAST], metric: PointMetric) -> Tile, {
        let mut tile = match metric.kernel() {
            Kernel::Products | Kernel::Squares => sums(panel, ys, |x, y| (x - y) * (x - y)),
            Kernel::Absolutes => sums(panel, ys, |x, y| (x - y).abs()),
        };
        metric.of_sums(tile.as_flattened_mut());
        tile
    }
}

for_wide_registers! {
    /// Distances by inner products and squared lengths.
    products, products_wide,
    (
        panel: &[[f64; LANES]],
        ys: [&[f64]; ABREAST],
        own: &[f64; LANES],
        norms: [f64; ABREAST],
        metric: PointMetric
    ) -> Tile,
    {
        let threshold = threshold(panel.len());
        let mut tile = sums(panel, ys, |x, y| x * y);
        for (row, norm) in tile.iter_mut().zip(norms) {
            for lane in 0..LANES {
                let square = from_product(own[lane] + norm, row[lane], threshold);
                row[lane] = square.map_or(-1.0, |square| metric.of_sum(square));
            }
        }
        tile
    }
}

for_wide_registers! {
    /// Squared lengths of eight points.
    squared_lengths, squared_lengths_wide, (panel: &[[f64; LANES]]) -> [f64; LANES], {
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

/// Σ term(xₖ, yₖ) of eight x and some y, some terms at a time.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
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

for_wide_registers! {
    /// Writes x − mean, and returns its squared length.
    moved_by, moved_by_wide, (x: &[f64], mean: &[f64], moved: &mut [f64]) -> f64, {
        let mut sums = [0.0; LANES];
        let entries = moved.iter_mut().zip(x).zip(mean);
        for ((moved, x), mean) in entries {
            *moved = x - mean;
        }
        let (chunks, rest) = moved.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                sums[lane] += chunk[lane] * chunk[lane];
            }
        }
        sums.iter().sum::<f64>() + rest.iter().map(|x| x * x).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Points in few places, so that some are nearly or exactly equal, far from the origin.
    fn clouds() -> impl Strategy<Value = (usize, Vec<f64>, PointMetric)> {
        let metrics = vec![
            PointMetric::Euclidean,
            PointMetric::SqEuclidean,
            PointMetric::Manhattan,
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
        // Room for ten.
        let (mut seen, panels) = (KnownDistances::default(), MOST_SEEN / LANES / 10);
        assert_eq!(seen.add(30, &[3, 1, 4, 1, 5], panels), [3, 1, 4, 5]);
        assert_eq!(seen.add(30, &[9, 2, 6, 5, 3, 5, 8, 7], panels), [9, 2, 6, 8, 7]);
        assert!(seen.add(30, &[9, 2, 6, 5, 3, 1, 8, 7, 4], panels).is_empty());
        assert_eq!((seen.places[3], seen.places[9], seen.points.len()), (0, 4, 9));
        assert_eq!(seen.add(30, &[11, 3, 12], panels), [11, 3, 12]);
        assert_eq!((seen.places[3], seen.places[9], seen.points.len()), (1, NONE, 3));
        assert_eq!(seen.columns.len(), 3 * panels);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn it_agrees_with_the_direct_formula(
            (dim, coordinates, metric) in clouds(),
            step in 1..4usize,
            cut in 0..9usize,
        ) {
            let points = Points::new(dim, coordinates, metric).unwrap();
            let n = points.len();
            let from: Vec<u32> = (0..n as u32).step_by(step).collect();
            let rows: Vec<usize> = from.iter().map(|&i| i as usize).skip(cut % 3).step_by(2).collect();
            let cols: Vec<usize> = (0..n).rev().skip(cut).collect();
            let mut laid = LaidOutPoints::default();
            let mut out = vec![f64::NAN; rows.len() * cols.len()];
            prop_assert_eq!(laid.block(&points, &from, &rows, &cols, &mut out), from.len() >= FEWEST);
            if from.len() < FEWEST {
                return Ok(());
            }
            for (place, &fast) in out.iter().enumerate() {
                let (i, j) = (rows[place / cols.len()], cols[place % cols.len()]);
                let direct = points.distance(i, j);
                prop_assert!((fast - direct).abs() <= 1e-12 * direct, "{i} {j}: {fast} {direct}");
            }
            // From columns that are kept, some of them from before, some asked for twice: the same bits.
            let some = &cols[cols.len() / 3..cols.len() - cols.len() / 3];
            laid.block(&points, &from, &rows, some, &mut vec![0.0; rows.len() * some.len()]);
            let twice: Vec<usize> = cols.iter().chain(some).copied().collect();
            let mut kept = vec![f64::NAN; rows.len() * twice.len()];
            laid.block(&points, &from, &rows, &twice, &mut kept);
            for (place, kept) in kept.iter().enumerate() {
                let (row, at) = (place / twice.len(), place % twice.len());
                let at = if at < cols.len() { at } else { at - cols.len() + cols.len() / 3 };
                prop_assert_eq!(kept.to_bits(), out[row * cols.len() + at].to_bits());
            }
            // One by one, from what is laid out now, all rows at once: the same bits.
            let all: Vec<usize> = from.iter().map(|&i| i as usize).collect();
            let mut column = vec![f64::NAN; all.len()];
            for (at, &j) in cols.iter().enumerate() {
                laid.block(&points, &from, &all, &[j], &mut column);
                for (row, fast) in out.chunks_exact(cols.len().max(1)).enumerate() {
                    let place = all.binary_search(&rows[row]).unwrap();
                    prop_assert_eq!(fast[at].to_bits(), column[place].to_bits());
                }
            }
        }
    }
}
