//! Randomly shifted quadtrees, in any dimension.
//!
//! A cube around the points, twice as wide as their spread and shifted at random, is halved along
//! every axis until no cell has two different points (\[CTW24\], appendix on tree approximations;
//! Indyk and Thaper 2003). The edge above a cell is as long as the cell's side. Two points that are
//! separated in a cell of side s have tree distance s to 2s, and at most s·√d in space, so
//!
//! ```text
//! W₁/√d ≤ W_T      always (Euclidean; W₁ of the largest coordinate difference is never above W_T)
//! E[W_T] ≤ 4·depth·W₁ of the Manhattan distance
//! ```
//!
//! The second bound holds because a grid of side s separates two points with probability at most
//! ‖x − y‖₁/s: the constant and the logarithm of \[CTW24\]'s theorem on quadtrees. The tree depends
//! on coordinates alone, not on the metric's distance.
//!
//! A periodic coordinate is first cut at a random place. Cutting never decreases a distance, so the
//! first bound holds. A cut of a circle of length P separates two points at distance r along it
//! with probability r/P, and their distance is then at most 4P: the second bound holds with 4 more.

use rand::RngExt;

use crate::error::{Error, Result};
use crate::metric::GroundMetric;
use crate::metric::period::{bounding_box, wrapped};
use crate::numeric::seed::generator;
use crate::tree::{Tree, TreeDraft};

/// Levels of cells: points closer than 2⁻⁵⁰ of the cube's side along every axis coincide.
const LEVELS: u32 = 50;

/// Builds a quadtree with a random shift.
///
/// Points that coincide, or are closer than 2⁻⁵⁰ of the spread, share a node with edges of length
/// 0. Cells with a single occupied part are not nodes: their edges are joined into one.
///
/// # Errors
/// [`Error::NoCoordinates`] if the metric has none.
///
/// # Complexity
/// O(N·dim·depth) time for trees of depth `depth`, and O(N·dim) memory: only occupied cells exist.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, PointMetric, build::quadtree};
/// let metric = GroundMetric::from_points(2, vec![0.0, 0.0, 1.0, 1.0, 9.0, 9.0], PointMetric::Euclidean)?;
/// let tree = quadtree(&metric, 0)?;
/// assert!(tree.leaf_distance(0, 1) <= tree.leaf_distance(0, 2));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn quadtree(metric: &GroundMetric, seed: u64) -> Result<Tree> {
    let (dim, vectors) = metric.vectors().ok_or(Error::NoCoordinates { method: "a quadtree" })?;
    let mut rng = generator(seed);
    let shift: Vec<f64> = (0..dim).map(|_| rng.random()).collect();
    let Some(halves) = metric.half_periods() else {
        return Grid::new(dim, vectors, &shift).tree();
    };
    let cut: Vec<f64> = (0..dim).map(|_| rng.random()).collect();
    let open = |(at, &x): (usize, &f64)| {
        let half = halves[at % dim];
        if half.is_finite() { wrapped(x - 2.0 * half * cut[at % dim], half) } else { x }
    };
    let opened: Vec<f64> = vectors.iter().enumerate().map(open).collect();
    Grid::new(dim, &opened, &shift).tree()
}

/// The cell of every point at the finest level, as integer coordinates of `LEVELS` bits. Bit
/// `LEVELS − l` says in which half of its cell of level l − 1 the point lies.
struct Grid {
    dim: usize,
    cell: Vec<u64>,
    /// Side of the cube.
    side: f64,
}

/// Points in one cell, and their parent node with its level.
struct Group {
    begin: usize,
    end: usize,
    above: Option<(usize, u32)>,
}

impl Grid {
    fn new(dim: usize, vectors: &[f64], shift: &[f64]) -> Self {
        let (low, high) = bounding_box(dim, vectors.chunks_exact(dim));
        let spread = low.iter().zip(&high).map(|(l, h)| h - l).fold(0.0, f64::max);
        let cells = (1u64 << LEVELS) as f64;
        // Without spread all points share a cell.
        let share = |x: f64, k: usize| if spread > 0.0 { (x - low[k]) / spread } else { 0.0 };
        let place = |(at, &x): (usize, &f64)| {
            let u = 0.5 * (share(x, at % dim) + shift[at % dim]);
            ((u * cells) as u64).min((1 << LEVELS) - 1)
        };
        Self { dim, cell: vectors.iter().enumerate().map(place).collect(), side: 2.0 * spread }
    }

    fn tree(&self) -> Result<Tree> {
        let n = self.cell.len() / self.dim;
        let mut order: Vec<usize> = (0..n).collect();
        let mut draft = TreeDraft::default();
        let mut waiting = vec![Group { begin: 0, end: n, above: None }];
        while let Some(group) = waiting.pop() {
            self.place(&group, &mut order, &mut draft, &mut waiting);
        }
        draft.into_tree()
    }

    /// Adds the node of a group and splits the group.
    fn place(
        &self,
        group: &Group,
        order: &mut [usize],
        draft: &mut TreeDraft,
        waiting: &mut Vec<Group>,
    ) {
        let members = &mut order[group.begin..group.end];
        let parent = group.above.map(|(node, _)| node);
        if let [point] = members {
            draft.leaf(parent, self.length(group.above, None), *point);
            return;
        }
        let differing = self.differing(members);
        if differing == 0 {
            let node = draft.inner(parent, self.length(group.above, None));
            for &point in &*members {
                draft.leaf(Some(node), 0.0, point);
            }
            return;
        }
        let bit = differing.ilog2();
        let level = LEVELS - bit - 1;
        let node = draft.inner(parent, self.length(group.above, Some(level)));
        let mut begin = group.begin;
        for size in self.split(bit, members) {
            let end = begin + size;
            waiting.push(Group { begin, end, above: Some((node, level)) });
            begin = end;
        }
    }

    /// Returns the sum of the sides of the cells below the node `above` down to level `last`, or
    /// the side of the first cell below if there is no last level.
    fn length(&self, above: Option<(usize, u32)>, last: Option<u32>) -> f64 {
        let Some((_, top)) = above else { return 0.0 };
        let size = |level: u32| self.side * 0.5f64.powi(level.cast_signed());
        size(top) - size(last.unwrap_or(top + 1))
    }

    fn cells(&self, point: usize) -> &[u64] {
        &self.cell[point * self.dim..(point + 1) * self.dim]
    }

    /// Returns the bits in which some coordinate of some member differs from the first member's.
    fn differing(&self, members: &[usize]) -> u64 {
        let first = self.cells(members[0]);
        let against =
            |&m: &usize| self.cells(m).iter().zip(first).fold(0, |or, (a, b)| or | (a ^ b));
        members[1..].iter().map(against).fold(0, |or, bits| or | bits)
    }

    /// Sorts members by their halves along all axes, and returns the sizes of the parts. Sorting
    /// finds the occupied ones among 2^dim parts without a table.
    fn split(&self, bit: u32, members: &mut [usize]) -> Vec<usize> {
        let words = self.dim.div_ceil(64);
        let mut halves = vec![0u64; members.len() * words];
        for (key, &point) in halves.chunks_exact_mut(words).zip(members.iter()) {
            for (k, cell) in self.cells(point).iter().enumerate() {
                key[k / 64] |= ((cell >> bit) & 1) << (k % 64);
            }
        }
        let key = |k: usize| &halves[k * words..(k + 1) * words];
        let mut places: Vec<usize> = (0..members.len()).collect();
        // Stable: within a part points keep their order.
        places.sort_by(|&a, &b| key(a).cmp(key(b)));
        let sizes = places.chunk_by(|&a, &b| key(a) == key(b)).map(<[usize]>::len).collect();
        let sorted: Vec<usize> = places.iter().map(|&k| members[k]).collect();
        members.copy_from_slice(&sorted);
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadtrees_by_hand() {
        // The points spread over 3, so the cube has side 6. Unshifted it is [0, 6)²: the last point
        // separates at level 1 (side 3), the others share cells through level 2 (side 1.5) and
        // separate at level 3 (side 0.75).
        let points = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 3.0, 3.0];
        let tree = |shift: [f64; 2]| Grid::new(2, &points, &shift).tree().unwrap();
        assert_eq!(tree([0.0, 0.0]).to_newick(), "(3:3,(0:0.75,1:0.75,2:0.75):4.5);");
        // If the cube starts at −1 along both axes, the border between cells of side 1.5 is at 0.5:
        // all separate at level 2.
        let third = 1.0 / 3.0;
        assert_eq!(tree([third, third]).to_newick(), "(3:3,(0:1.5,1:1.5,2:1.5):3);");
        // Shifted along the first axis only, points 0 and 2 share cells for one more level.
        let first = tree([third, 0.0]);
        assert_eq!(first.leaf_distance(0, 1), 0.75 + 1.5 + 1.5);
        assert_eq!(first.leaf_distance(0, 2), 1.5);
        assert_eq!(first.leaf_distance(1, 3), 1.5 + 3.0 + 3.0);
        // On a line: [0, 16), and points separate at sides 8, 4 and 1.
        let line = Grid::new(1, &[0.0, 1.0, 4.0, 8.0], &[0.0]).tree().unwrap();
        assert_eq!(line.to_newick(), "(3:8,(2:4,(0:1,1:1):6):8);");
    }
}
