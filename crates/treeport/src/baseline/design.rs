//! Which sample uses which edge: the matrix of the least-squares problem, never stored for pairs of points.
//!
//! The distance of two points is linear in the edges, d(i, j) = h(i) + h(j) − 2h(lca) with h the distance
//! from the root: one descent gives all h, and then a pair costs three numbers. Backwards, what belongs to
//! all edges on all paths is put at i and j and taken off twice at lca, and one climb adds it up. Both are
//! O(pairs + nodes), however deep the tree. Pairs of measures use an edge as much as mass is out of balance
//! below it; those rows are stored.

use crate::error::Result;
use crate::measure::Measures;
use crate::tree::Tree;

/// Rows: samples. Columns: the nodes of one or several trees, one tree after the other; the edge of a root
/// is a column of zeros.
pub(super) struct Design {
    rows: usize,
    columns: usize,
    blocks: Vec<Block>,
}

/// The columns of one tree.
struct Block {
    first: usize,
    parent: Vec<u32>,
    samples: Samples,
}

enum Samples {
    /// Two points and where they meet.
    Paths(Vec<[u32; 3]>),
    /// Compressed rows of (node, share).
    Rows { start: Vec<usize>, entries: Vec<(u32, f64)> },
}

impl Design {
    /// One row for each pair of points: 1 at the edges between them, in every tree.
    pub(super) fn paths(trees: &[Tree], pairs: &[(usize, usize)]) -> Self {
        Self::new(trees, pairs.len(), |tree| Ok(Samples::Paths(meetings(tree, pairs))))
            .expect("pairs of points have paths")
    }

    /// One row for each pair of measures: |μ(T_v) − ρ(T_v)| at the edge above v, times the row's factor.
    pub(super) fn surpluses(
        tree: &Tree,
        measures: &Measures,
        pairs: &[(usize, usize)],
        factors: &[f64],
    ) -> Result<Self> {
        Self::new(std::slice::from_ref(tree), pairs.len(), |tree| {
            imbalances(tree, measures, pairs, factors)
        })
    }

    fn new(
        trees: &[Tree],
        rows: usize,
        samples: impl Fn(&Tree) -> Result<Samples>,
    ) -> Result<Self> {
        let mut design = Self { rows, columns: 0, blocks: Vec::new() };
        for tree in trees {
            let parent = tree.parents().to_vec();
            let block = Block { first: design.columns, parent, samples: samples(tree)? };
            design.blocks.push(block);
            design.columns += tree.nodes();
        }
        Ok(design)
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// A·x.
    pub(super) fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        for block in &self.blocks {
            block.apply(&x[block.first..block.first + block.parent.len()], &mut out);
        }
        out
    }

    /// Aᵀ·r.
    pub(super) fn transpose(&self, r: &[f64]) -> Vec<f64> {
        let columns = self.blocks.iter().flat_map(|block| block.transpose(r, |share| share));
        columns.collect()
    }

    /// Shortens the tree where no sample can tell.
    ///
    /// Where no pair meets at a node, its edge is on exactly the paths of the edges below it: what those
    /// have in common can as well be on the one edge above.
    pub(super) fn lift(&self, x: &mut [f64]) {
        for block in &self.blocks {
            block.lift(&mut x[block.first..block.first + block.parent.len()]);
        }
    }

    /// The squared length of every column.
    pub(super) fn squares(&self) -> Vec<f64> {
        let ones = vec![1.0; self.rows];
        let columns = self.blocks.iter().flat_map(|block| block.transpose(&ones, |s| s * s));
        columns.collect()
    }
}

impl Block {
    fn root(&self) -> usize {
        self.parent.len() - 1
    }

    fn apply(&self, x: &[f64], out: &mut [f64]) {
        match &self.samples {
            Samples::Paths(meetings) => {
                let mut height = vec![0.0; x.len()];
                for v in (0..self.root()).rev() {
                    height[v] = height[self.parent[v] as usize] + x[v];
                }
                let at = |v: u32| height[v as usize];
                for (out, &[i, j, meet]) in out.iter_mut().zip(meetings) {
                    *out += (at(i) - at(meet)) + (at(j) - at(meet));
                }
            }
            Samples::Rows { start, entries } => {
                for (out, bounds) in out.iter_mut().zip(start.windows(2)) {
                    let row = &entries[bounds[0]..bounds[1]];
                    *out += row.iter().map(|&(v, share)| share * x[v as usize]).sum::<f64>();
                }
            }
        }
    }

    fn lift(&self, x: &mut [f64]) {
        let Samples::Paths(meetings) = &self.samples else { return };
        let mut met = vec![false; x.len()];
        for &[_, _, meet] in meetings {
            met[meet as usize] = true;
        }
        let used: Vec<bool> = self
            .transpose(&vec![1.0; meetings.len()], |share| share)
            .iter()
            .map(|&c| c > 0.0)
            .collect();
        let mut shared = vec![f64::INFINITY; x.len()];
        // Children come before parents: once v is reached, all below it is settled but for what v takes.
        for v in 0..self.root() {
            if !met[v] && shared[v].is_finite() {
                x[v] += shared[v];
            }
            let p = self.parent[v] as usize;
            if used[v] {
                shared[p] = shared[p].min(x[v]);
            }
        }
        for v in 0..self.root() {
            let p = self.parent[v] as usize;
            if used[v] && !met[p] && p != self.root() {
                x[v] -= shared[p];
            }
        }
    }

    /// Σ over samples of r·share, at every node; `of` changes the shares, and keeps 0 and 1.
    fn transpose(&self, r: &[f64], of: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.parent.len()];
        match &self.samples {
            Samples::Paths(meetings) => {
                for (&r, &[i, j, meet]) in r.iter().zip(meetings) {
                    sums[i as usize] += r;
                    sums[j as usize] += r;
                    sums[meet as usize] -= 2.0 * r;
                }
                for v in 0..self.root() {
                    sums[self.parent[v] as usize] += sums[v];
                }
            }
            Samples::Rows { start, entries } => {
                for (r, bounds) in r.iter().zip(start.windows(2)) {
                    for &(v, share) in &entries[bounds[0]..bounds[1]] {
                        sums[v as usize] += r * of(share);
                    }
                }
            }
        }
        // What has met all its partners is 0 up to rounding.
        sums[self.root()] = 0.0;
        sums
    }
}

/// Where the paths of pairs of points turn.
fn meetings(tree: &Tree, pairs: &[(usize, usize)]) -> Vec<[u32; 3]> {
    let index = tree.index();
    let mut node = vec![0u32; tree.nodes() - tree.leaves()];
    for v in tree.leaves()..tree.nodes() {
        node[index.number(tree, v)] = v as u32;
    }
    let meeting = |&(i, j): &(usize, usize)| {
        let (a, b) = (index.rank[i] as usize, index.rank[j] as usize);
        let meet =
            if i == j { i as u32 } else { node[index.ancestor(a.min(b), a.max(b)) as usize] };
        [i as u32, j as u32, meet]
    };
    pairs.iter().map(meeting).collect()
}

/// Surpluses below this share of the mass are what rounding leaves of equal masses.
const ROUNDING: f64 = 1e-13;

/// The surplus of mass below every node where there is one, for pairs of measures.
fn imbalances(
    tree: &Tree,
    measures: &Measures,
    pairs: &[(usize, usize)],
    factors: &[f64],
) -> Result<Samples> {
    measures.check_points(tree.leaves())?;
    measures.check_pairs(pairs)?;
    let (mut start, mut entries) = (vec![0], Vec::new());
    let mut surplus = vec![0.0; tree.nodes()];
    let mut touched: Vec<usize> = Vec::new();
    for (&(i, j), factor) in pairs.iter().zip(factors) {
        for (row, sign) in [(i, 1.0), (j, -1.0)] {
            for (point, mass) in measures.row(row).iter() {
                let mut v = point;
                while v != tree.root() {
                    touched.push(v);
                    surplus[v] += sign * mass;
                    v = tree.parents()[v] as usize;
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        let least = ROUNDING * measures.row(i).total();
        for &v in &touched {
            let share = std::mem::take(&mut surplus[v]).abs();
            if share > least {
                entries.push((v as u32, factor * share));
            }
        }
        touched.clear();
        start.push(entries.len());
    }
    Ok(Samples::Rows { start, entries })
}
