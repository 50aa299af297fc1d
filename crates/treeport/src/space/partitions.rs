//! Nested partitions of the space: shifted grids, and hierarchies of cells around centers.
//!
//! The key of a point has the number of its cell at every level: the key of a coarser cell is a
//! prefix. Keys of a cloud are sorted once, and all levels are compared in one pass.

use rand::RngExt;
use rand::seq::index;

use crate::build::kmeans::{ComparedVectors, nearest, parts};
use crate::numeric::seed::Random;
use crate::space::Space;
use crate::space::lines::frame;

/// Number of grids: with 8 instead of 4 the error is a tenth smaller; 32 are no better than 8.
pub(crate) const GRIDS: usize = 8;

/// Number of trees of cells.
const TREES: usize = 3;

/// Largest number of coordinates for grids: in more, most points are alone in their cells.
const MOST_FOR_GRIDS: usize = 3;

/// Number of levels of a grid, each with half the side of the one before.
pub(super) const GRID_LEVELS: usize = 8;

/// Side of the cells of the first level, in standard deviations.
const FIRST_SIDE: f64 = 4.0;

/// Largest number of cells of the first level along an axis with a period.
const MOST_AROUND: f64 = 1e6;

/// Number of levels of a tree of cells, with 3, 9, … 243 cells.
const TREE_LEVELS: usize = 5;

/// Number of cells that a cell is divided into.
const BRANCHING: usize = 3;

/// Largest number of points that centers are computed from.
const SAMPLE: usize = 4_000;

/// Bits of a key for each level of cells.
const TREE_BITS: usize = 2;

/// Bits of each coordinate in keys of grids. Cells farther away than that, about 2³³ times the size
/// of the fitted clouds, are one.
const AXIS_BITS: u32 = 42;

/// A nested partition of the space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Partition {
    /// Boxes of a grid.
    Grid(Grid),
    /// Cells around centers, each of which is divided around its own.
    Cells(Cells),
}

/// A grid, rotated or along the axes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Rows of the rotation; empty if there is none.
    pub(crate) rotation: Vec<f64>,
    /// Point that is subtracted first.
    pub(crate) origin: Vec<f64>,
    /// Side of the cells of the first level along each axis.
    pub(crate) sides: Vec<f64>,
    /// Shift of each axis in shares of its side.
    pub(crate) shifts: Vec<f64>,
    /// Number of cells of the first level along axes with a period; 0 for other axes.
    pub(crate) around: Vec<u32>,
}

/// Centers of nested cells: node `k` has the children `children[k]..children[k + 1]`, which are
/// nodes, too; node 0 is the space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cells {
    pub(crate) children: Vec<u32>,
    /// Center of each node except the first.
    pub(crate) centers: Vec<f64>,
}

/// Draws the partitions of a space by the points of the fit: several families to choose from.
pub(super) fn candidates(space: &Space, points: &[f64], rng: &mut Random) -> Vec<Vec<Partition>> {
    let dim = space.vector_dim;
    if dim == 1 && space.halves.is_none() {
        // Transport along a line is its only slice.
        return vec![Vec::new()];
    }
    if dim > MOST_FOR_GRIDS {
        return vec![
            (0..TREES).map(|_| Partition::Cells(Cells::new(space, points, rng))).collect(),
        ];
    }
    let mut grids = |rotated: bool| -> Vec<Partition> {
        (0..GRIDS).map(|_| Partition::Grid(Grid::new(space, points, rotated, rng))).collect()
    };
    let mut all = vec![grids(false)];
    if space.halves.is_none() && dim > 1 {
        all.push(grids(true));
    }
    all
}

impl Grid {
    fn new(space: &Space, points: &[f64], rotated: bool, rng: &mut Random) -> Self {
        let dim = space.vector_dim;
        let (origin, spread) = spread(dim, points);
        let side = FIRST_SIDE * if spread > 0.0 { spread } else { 1.0 };
        let mut grid = Self {
            rotation: if rotated { frame(dim, rng) } else { Vec::new() },
            origin,
            sides: vec![side; dim],
            shifts: (0..dim).map(|_| rng.random()).collect(),
            around: vec![0; dim],
        };
        for (axis, half) in space.halves.iter().flatten().enumerate().filter(|of| of.1.is_finite())
        {
            let cells = (2.0 * half / side).round().clamp(1.0, MOST_AROUND);
            (grid.around[axis], grid.sides[axis]) = (cells as u32, 2.0 * half / cells);
            // Wrapped coordinates lie between −half and half.
            grid.origin[axis] = -half;
        }
        grid
    }

    /// Returns the key of a point: its cell at the finest level, with the bits of all axes in turn.
    fn key(&self, x: &[f64]) -> u128 {
        let dim = x.len();
        let mut key = 0;
        for axis in 0..dim {
            let centered = |k: usize| x[k] - self.origin[k];
            let y = match self.rotation.get(axis * dim..(axis + 1) * dim) {
                Some(row) => (0..dim).map(|k| row[k] * centered(k)).sum(),
                None => centered(axis),
            };
            let fine = (1_u64 << (GRID_LEVELS - 1)) as f64;
            let cell = ((y / self.sides[axis] + self.shifts[axis]) * fine).floor();
            let cell = match self.around[axis] {
                0 => {
                    let most = (1_i64 << (AXIS_BITS - 1)) as f64;
                    (cell.clamp(-most, most - 1.0) as i64 + (1 << (AXIS_BITS - 1))) as u64
                }
                cells => cell.rem_euclid(f64::from(cells) * fine) as u64,
            };
            key |= spaced(cell, dim) << axis;
        }
        key
    }
}

/// Draws the points that centers are computed from.
pub(super) fn sampled(count: usize, rng: &mut Random) -> Vec<usize> {
    if count > SAMPLE { index::sample(rng, count, SAMPLE).into_vec() } else { (0..count).collect() }
}

/// Returns the mean of points and the root of their mean squared distance from it.
fn spread(dim: usize, points: &[f64]) -> (Vec<f64>, f64) {
    let count = (points.len() / dim) as f64;
    let unit = crate::numeric::scale::of_largest(points.iter().map(|x| x.abs()));
    let mut mean = vec![0.0; dim];
    for x in points.chunks_exact(dim) {
        mean.iter_mut().zip(x).for_each(|(sum, x)| *sum += x / unit);
    }
    for sum in &mut mean {
        *sum /= count;
    }
    let square = |x: &[f64]| x.iter().zip(&mean).map(|(x, m)| (x / unit - m).powi(2)).sum::<f64>();
    let squares: f64 = points.chunks_exact(dim).map(square).sum();
    let spread = (squares / count).sqrt() * unit;
    (mean.into_iter().map(|m| m * unit).collect(), spread)
}

/// Bits of every byte one to three places apart: bit by bit, keys took most of the time of a row.
static SPACED: [[u32; 256]; MOST_FOR_GRIDS] = [spaced_bytes(1), spaced_bytes(2), spaced_bytes(3)];

const fn spaced_bytes(dim: usize) -> [u32; 256] {
    let (mut all, mut byte) = ([0; 256], 0);
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            all[byte] |= (byte as u32 >> bit & 1) << (bit * dim);
            bit += 1;
        }
        byte += 1;
    }
    all
}

/// Returns the lower [`AXIS_BITS`] bits of a number `dim` places apart.
fn spaced(bits: u64, dim: usize) -> u128 {
    let bytes = bits.to_le_bytes();
    let parts = bytes[..AXIS_BITS.div_ceil(8) as usize].iter().enumerate();
    parts.fold(0, |all, (k, &byte)| {
        all | u128::from(SPACED[dim - 1][usize::from(byte)]) << (8 * k * dim)
    })
}

impl Cells {
    fn new(space: &Space, points: &[f64], rng: &mut Random) -> Self {
        let dim = space.vector_dim;
        let members = sampled(points.len() / dim, rng);
        let vectors = space.compared(points);
        let (mut children, mut centers) = (vec![1], Vec::new());
        let mut level = vec![members];
        for _ in 0..TREE_LEVELS {
            let mut next = Vec::new();
            for members in level {
                for (center, members) in parts(vectors, &members, BRANCHING, rng) {
                    centers.extend(center);
                    next.push(members);
                }
                children.push(1 + (centers.len() / dim) as u32);
            }
            level = next;
        }
        // The last nodes have no children.
        let end = 1 + (centers.len() / dim) as u32;
        children.resize(end as usize + 1, end);
        Self { children, centers }
    }

    /// Returns whether every cell above the last level has cells of the next one.
    #[cfg(feature = "io")]
    fn is_complete(&self) -> bool {
        let Some(nodes) = self.children.len().checked_sub(1) else { return false };
        let (mut first, mut end) = (0, 1);
        for _ in 0..TREE_LEVELS {
            if end > nodes || self.children[first] as usize != end {
                return false;
            }
            for node in first..end {
                let range = self.children[node]..self.children[node + 1];
                if range.is_empty() || range.len() > 1 << TREE_BITS {
                    return false;
                }
            }
            (first, end) = (end, self.children[end] as usize);
        }
        end == nodes
    }

    fn key(&self, vectors: ComparedVectors<'_>, x: &[f64]) -> u128 {
        let dim = x.len();
        let (mut node, mut key) = (0, 0);
        for _ in 0..TREE_LEVELS {
            let (first, end) = (self.children[node] as usize, self.children[node + 1] as usize);
            let child = nearest(vectors, &self.centers[(first - 1) * dim..(end - 1) * dim], x);
            key = key << TREE_BITS | child as u128;
            node = first + child;
        }
        key
    }
}

impl Partition {
    /// Returns the number of levels.
    pub(crate) fn levels(&self) -> usize {
        if let Self::Grid(_) = self { GRID_LEVELS } else { TREE_LEVELS }
    }

    /// Returns whether a partition from a file could be that of a fit.
    #[cfg(feature = "io")]
    pub(super) fn is_sound(&self, dim: usize) -> bool {
        let are_finite = |all: &[f64]| all.iter().all(|x| x.is_finite());
        match self {
            Self::Grid(grid) => {
                dim <= MOST_FOR_GRIDS
                    && [&grid.rotation, &grid.origin, &grid.shifts]
                        .iter()
                        .all(|all| are_finite(all))
                    && grid.sides.iter().all(|side| side.is_finite() && *side > 0.0)
                    && grid.around.iter().all(|cells| f64::from(*cells) <= MOST_AROUND)
            }
            Self::Cells(cells) => are_finite(&cells.centers) && cells.is_complete(),
        }
    }

    /// Returns the number of lower bits of a key that a level does not read.
    pub(crate) fn shift(&self, level: usize) -> usize {
        let bits = match self {
            Self::Grid(grid) => grid.sides.len(),
            Self::Cells(_) => TREE_BITS,
        };
        bits * (self.levels() - 1 - level)
    }

    /// Returns the key of a point.
    pub(super) fn key(&self, space: &Space, x: &[f64]) -> u128 {
        match self {
            Self::Grid(grid) => grid.key(x),
            Self::Cells(cells) => cells.key(space.compared(&[]), x),
        }
    }

    /// Adds Σ |mass of a − mass of b| over the cells of each level to `sums`.
    pub(super) fn compare(&self, a: Masses<'_, u128>, b: Masses<'_, u128>, sums: &mut [f64]) {
        let (finest, mut before) = (self.levels() - 1, None::<u128>);
        let mut open = [0.0; GRID_LEVELS];
        merged(a, b, |key: u128, surplus| {
            if let Some(before) = before {
                // The highest bit in which two keys differ: all cells below it end here.
                let last = 127 - (before ^ key).leading_zeros() as usize;
                self.close(last, &mut open, sums);
            }
            before = Some(key);
            open[finest] += surplus;
        });
        self.close(usize::MAX, &mut open, sums);
    }

    /// Ends the cells of all levels whose keys change with a bit; adds their differences of mass to
    /// `sums` and to the cells that contain them.
    fn close(&self, bit: usize, open: &mut [f64; GRID_LEVELS], sums: &mut [f64]) {
        for level in (0..self.levels()).rev().take_while(|&level| self.shift(level) <= bit) {
            let surplus = std::mem::take(&mut open[level]);
            sums[level] += surplus.abs();
            if level > 0 {
                open[level - 1] += surplus;
            }
        }
    }
}

/// Masses at increasing, different places.
#[derive(Clone, Copy)]
pub(super) struct Masses<'a, P> {
    pub(super) places: &'a [P],
    pub(super) masses: &'a [f64],
}

/// Calls `visit` at each place of either of two clouds, in increasing order, with the mass of the
/// first there minus that of the second. Swapped clouds give exactly the opposite.
pub(super) fn merged<P: Copy + PartialOrd>(
    a: Masses<'_, P>,
    b: Masses<'_, P>,
    mut visit: impl FnMut(P, f64),
) {
    let (mut i, mut j) = (0, 0);
    while i < a.places.len() && j < b.places.len() {
        let (p, q) = (a.places[i], b.places[j]);
        if p < q {
            visit(p, a.masses[i]);
            i += 1;
        } else if q < p {
            visit(q, -b.masses[j]);
            j += 1;
        } else {
            visit(p, a.masses[i] - b.masses[j]);
            (i, j) = (i + 1, j + 1);
        }
    }
    (i..a.places.len()).for_each(|i| visit(a.places[i], a.masses[i]));
    (j..b.places.len()).for_each(|j| visit(b.places[j], -b.masses[j]));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bits_are_as_far_apart_as_there_are_axes(bits in 0..1_u64 << AXIS_BITS, dim in 1..=MOST_FOR_GRIDS) {
            let slow = (0..AXIS_BITS as usize).map(|k| u128::from(bits >> k & 1) << (k * dim)).sum::<u128>();
            prop_assert_eq!(spaced(bits, dim), slow);
        }
    }
}
