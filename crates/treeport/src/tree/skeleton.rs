//! Coarse cut of a tree, which turns most of a distance into a plain vector difference.
//!
//! A sweep over the subtree that two supports span costs O(s), but all its branches are
//! mispredicted. The tree is therefore cut once into *clusters*, maximal subtrees of at most B
//! leaves, and the *top* above them. Each measure has a dense row of its masses at the top nodes;
//! the difference of two rows gives the top's share of W_T in one loop without branches. Below the
//! cut, a cluster where only one measure has mass adds the cost of moving that mass to the
//! cluster's root, which is precomputed. Only clusters where both have mass are swept; with a few
//! clusters per point of a support those are few.
//!
//! A tree that is nearly a path has no such cut; its spanned subtrees are swept.

use super::Tree;
use super::distance::surpluses;
use super::index::{AncestorIndex, Depth};
use crate::measures::Measures;
use crate::memory;

/// Top nodes per point of a mean support: more of them leave fewer shared clusters but longer rows.
/// The best of 8, 12, 16, 24 and 32 at N = 13,243 and supports of 100; flat at 10.
const TOP_PER_POINT: usize = 24;

/// Largest number of entries in all rows, 256 MiB, or [`FEWEST_TOP`] per row.
const MOST_MASSES: usize = 1 << 25;

/// Smallest useful number of top nodes.
const FEWEST_TOP: usize = 32;

/// Share of mass times height below which sums in plain `f64` have lost digits, so that a sweep is
/// used.
const LEAST_SHARE: f64 = 1e-3;

/// Independent sums in the loop over top nodes, which break the chain of additions.
const SUMS: usize = 8;

/// Cut of a tree.
#[derive(Clone, Debug)]
struct Cut {
    /// Largest number of leaves in a cluster.
    block: usize,
    /// Cluster of every leaf rank; clusters are numbered in the order of ranks.
    cluster: Vec<u32>,
    /// Depth of each cluster's root.
    root: Vec<Depth>,
    /// Depth of every inner node, by its number in the index, below its cluster's root.
    below: Vec<f64>,
    /// Length of the edge above every top node: clusters, then inner nodes, children first.
    length: Vec<f64>,
    /// Parent of every top node among the top nodes; past the end for children of the root.
    parent: Vec<u32>,
}

/// Measures along a cut. A *group* is the part of a measure in one cluster.
#[derive(Clone, Debug)]
pub(super) struct Skeleton {
    cut: Cut,
    height: f64,
    /// Mass at every top node times the edge above it, one dense row per measure.
    top: Vec<f64>,
    /// Cluster of each group, increasing within a row.
    cluster: Vec<u32>,
    /// Cost of moving a group's mass to its cluster's root.
    alone: Vec<f64>,
    /// The sum of `alone` over the groups of a row.
    all_alone: Vec<f64>,
    /// Start of each group's entries, then the end of the last.
    first: Vec<usize>,
    /// Entries of all measures, in order.
    entry: Vec<Entry>,
    /// One bit per cluster and row: whether the measure has mass in the cluster.
    touched: Vec<Touched>,
}

/// One measure: a row of a skeleton and of the measures that it was built from.
#[derive(Clone, Copy)]
pub(super) struct SkeletonRow<'a> {
    pub(super) skeleton: &'a Skeleton,
    pub(super) ranked: &'a Measures,
    pub(super) row: usize,
}

/// A point of a measure, with the data that the sweep of a cluster reads together.
#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: u32,
    mass: f64,
    /// Depth of the leaf below its cluster's root.
    below: f64,
}

/// Bits of 64 clusters in which a measure has mass, and the number of groups before them.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    bits: u64,
    before: usize,
}

impl Touched {
    /// Returns the group of the cluster at a bit that is set.
    #[inline]
    fn group(&self, bit: u64) -> usize {
        self.before + (self.bits & (bit - 1)).count_ones() as usize
    }
}

impl Cut {
    /// Finds the finest cut with at most `most` top nodes, unless that is too coarse.
    fn new(tree: &Tree, index: &AncestorIndex, most: usize) -> Option<Self> {
        let mut leaves_below = vec![0usize; tree.nodes()];
        for v in 0..tree.nodes() {
            leaves_below[v] += usize::from(v < tree.leaves());
            if v != tree.root() {
                leaves_below[tree.parents()[v] as usize] += leaves_below[v];
            }
        }
        // A node is in the top if its parent is in no cluster.
        let in_top = |v: usize, block: usize| leaves_below[tree.parents()[v] as usize] > block;
        let mut block = 1;
        while (0..tree.root()).filter(|&v| in_top(v, block)).count() > most {
            block *= 2;
            if block > tree.leaves() / 8 {
                return None;
            }
        }
        let top: Vec<usize> = (0..tree.root()).filter(|&v| in_top(v, block)).collect();
        (!top.is_empty()).then(|| Self::at(tree, index, block, &leaves_below, &top))
    }

    fn at(
        tree: &Tree,
        index: &AncestorIndex,
        block: usize,
        leaves_below: &[usize],
        top: &[usize],
    ) -> Self {
        let first_rank = index.first_ranks(tree);
        let (mut order, inner): (Vec<usize>, Vec<usize>) =
            top.iter().partition(|&&v| leaves_below[v] <= block);
        order.sort_unstable_by_key(|&v| first_rank[v]);
        let mut cluster = Vec::with_capacity(tree.leaves());
        for (number, &v) in order.iter().enumerate() {
            cluster.resize(cluster.len() + leaves_below[v], number as u32);
        }
        let root: Vec<Depth> = order.iter().map(|&v| index.depth(tree, v)).collect();
        let mut below = vec![0.0; tree.nodes() - tree.leaves()];
        for v in (tree.leaves()..tree.nodes()).filter(|&v| leaves_below[v] <= block) {
            let cluster = cluster[first_rank[v] as usize] as usize;
            below[index.number(tree, v)] = index.depth(tree, v).minus(root[cluster]);
        }
        order.extend(inner);
        let mut number = vec![order.len() as u32; tree.nodes()];
        order.iter().enumerate().for_each(|(k, &v)| number[v] = k as u32);
        Self {
            block,
            cluster,
            root,
            below,
            length: order.iter().map(|&v| tree.lengths()[v]).collect(),
            parent: order.iter().map(|&v| number[tree.parents()[v] as usize]).collect(),
        }
    }

    /// Adds masses up from clusters to the top nodes, then multiplies by lengths.
    fn fill_top(&self, top: &mut [f64]) {
        let nodes = self.length.len();
        for v in 0..nodes {
            let (mass, parent) = (top[v], self.parent[v] as usize);
            if parent < nodes {
                top[parent] += mass;
            }
            top[v] *= self.length[v];
        }
    }

    /// Returns the number of 64-bit words for all clusters.
    fn words(&self) -> usize {
        self.root.len().div_ceil(64)
    }
}

impl Skeleton {
    /// Prepares measures on leaf ranks; the cut is made for `rows` measures with `points` points in
    /// total. Returns `None` if the tree has no useful cut.
    pub(super) fn new(
        tree: &Tree,
        index: &AncestorIndex,
        ranked: &Measures,
        (rows, points): (usize, usize),
    ) -> Option<Self> {
        let rows = rows.max(1);
        let wanted = TOP_PER_POINT * points / rows;
        let cut = Cut::new(tree, index, wanted.min(MOST_MASSES / rows).max(FEWEST_TOP))?;
        // The cut only saves time: without memory for it, distances are swept.
        let sides = [ranked.len(), cut.length.len()];
        memory::check("a cut", memory::size_of::<f64>(&sides), "").ok()?;
        let mut skeleton = Self {
            height: tree.statistics().height,
            top: vec![0.0; ranked.len() * cut.length.len()],
            cluster: Vec::new(),
            alone: Vec::new(),
            all_alone: Vec::new(),
            first: vec![0],
            entry: Vec::with_capacity(ranked.entries()),
            touched: vec![Touched::default(); ranked.len() * cut.words()],
            cut,
        };
        for row in 0..ranked.len() {
            skeleton.push_groups(index, ranked, row);
        }
        let Self { top, cut, .. } = &mut skeleton;
        top.chunks_mut(cut.length.len()).for_each(|row| cut.fill_top(row));
        Some(skeleton)
    }

    /// Appends the groups of a row and writes their masses to the top nodes of their clusters.
    fn push_groups(&mut self, index: &AncestorIndex, ranked: &Measures, row: usize) {
        let cut = &self.cut;
        let top = &mut self.top[row * cut.length.len()..];
        let touched = &mut self.touched[row * cut.words()..];
        let measure = ranked.row(row);
        let same = |a: &u32, b: &u32| cut.cluster[*a as usize] == cut.cluster[*b as usize];
        let mut stack = Vec::new();
        let before = self.alone.len();
        for points in measure.support().chunk_by(same) {
            let cluster = cut.cluster[points[0] as usize];
            let root = cut.root[cluster as usize];
            let begin = *self.first.last().expect("the list starts with one entry");
            let part = ranked.entries_at(begin..begin + points.len());
            let entries = points.iter().copied().zip(part.masses().iter().copied());
            self.entry.extend(entries.clone().map(|(rank, mass)| {
                let below = index.leaf_depth(rank).minus(root);
                Entry { rank, mass, below }
            }));
            let (alone, mass) = index.cost_to(&mut stack, entries, root);
            self.cluster.push(cluster);
            self.alone.push(alone);
            self.first.push(begin + points.len());
            top[cluster as usize] = mass;
            let touched = &mut touched[cluster as usize / 64];
            if touched.bits == 0 {
                touched.before = self.cluster.len() - 1;
            }
            touched.bits |= 1 << (cluster % 64);
        }
        self.all_alone.push(self.alone[before..].iter().sum());
    }

    /// Returns the range of a group's entries.
    fn places(&self, group: usize) -> std::ops::Range<usize> {
        self.first[group]..self.first[group + 1]
    }

    /// Returns whether rows of the two are comparable: both have the same cut of the same tree.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.cut.block == other.cut.block
    }
}

impl SkeletonRow<'_> {
    /// Returns the mass times edge length of every top node.
    #[inline]
    fn top(&self) -> &[f64] {
        let nodes = self.skeleton.cut.length.len();
        &self.skeleton.top[self.row * nodes..][..nodes]
    }

    /// Returns the clusters where the measure has mass.
    #[inline]
    fn touched(&self) -> &[Touched] {
        let words = self.skeleton.cut.words();
        &self.skeleton.touched[self.row * words..][..words]
    }

    /// Computes W_T of two rows of the same tree, or returns `None` if rounding errors would be
    /// visible.
    ///
    /// W_T = Σ over top nodes |a − b| + Σ over clusters of their cost. With alone(a, c) the cost of
    /// moving the part of a in c to the root of c, the cost of c is alone(a, c) + alone(b, c)
    /// unless both have mass in c. All of these are added first, and those of shared clusters are
    /// subtracted again.
    pub(super) fn distance(
        &self,
        other: &Self,
        index: &AncestorIndex,
        stack: &mut Vec<(u32, f64)>,
    ) -> Option<f64> {
        let (mine, theirs) = (self.skeleton, other.skeleton);
        let mut total = cityblock(self.top(), other.top());
        total += mine.all_alone[self.row] + theirs.all_alone[other.row];
        for (a, b) in self.touched().iter().zip(other.touched()) {
            let mut shared = a.bits & b.bits;
            while shared != 0 {
                let lowest = shared & shared.wrapping_neg();
                let (left, right) = (a.group(lowest), b.group(lowest));
                total += self.shared(left, other, right, index, stack)
                    - (mine.alone[left] + theirs.alone[right]);
                shared ^= lowest;
            }
        }
        (total >= LEAST_SHARE * mine.height * self.ranked.row(self.row).total()).then_some(total)
    }

    /// Computes the cost in a cluster where both measures have a group.
    #[inline]
    fn shared(
        &self,
        left: usize,
        other: &Self,
        right: usize,
        index: &AncestorIndex,
        stack: &mut Vec<(u32, f64)>,
    ) -> f64 {
        let cut = &self.skeleton.cut;
        let (mine, theirs) = (self.skeleton.places(left), other.skeleton.places(right));
        match (&self.skeleton.entry[mine.clone()], &other.skeleton.entry[theirs.clone()]) {
            // The usual case: one point each, and not the same.
            (&[x], &[y]) if x.rank != y.rank => {
                let (low, high) = (x.rank.min(y.rank), x.rank.max(y.rank));
                let meet = cut.below[index.ancestor(low as usize, high as usize) as usize];
                x.mass * (x.below - meet)
                    + y.mass * (y.below - meet)
                    + (x.mass - y.mass).abs() * meet
            }
            _ => {
                let root = cut.root[self.skeleton.cluster[left] as usize];
                let (a, b) = (self.ranked.entries_at(mine), other.ranked.entries_at(theirs));
                index.cost_to(stack, surpluses(&a, &b), root).0
            }
        }
    }
}

fn cityblock(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..SUMS {
            sums[k] += (a[k] - b[k]).abs();
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| (a - b).abs());
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Scratch;

    fn heap_shaped(leaves: usize) -> Tree {
        // The parent has half the number, counted from the root.
        let nodes = 2 * leaves - 1;
        let parent = (0..nodes).map(|v| (nodes - 1 - (nodes - 1 - v).saturating_sub(1) / 2) as u32);
        let length = (0..nodes).map(|v| if v == nodes - 1 { 0.0 } else { 1.0 + (v % 3) as f64 });
        Tree::new(leaves, parent.collect(), length.collect()).expect("children come first")
    }

    #[test]
    fn bushy_trees_are_cut_and_the_cut_gives_the_distance() {
        let tree = heap_shaped(1024);
        let rows = (0..2).map(|r| (0..8).map(move |k| (127 * k + r * r * k + 3 * r, 0.125)));
        let measures = Measures::from_rows(1024, rows).expect("points in range");
        let ranked = tree.by_rank(measures.iter());
        let skeleton =
            Skeleton::new(&tree, tree.index(), &ranked, (2, 16)).expect("a bushy tree has a cut");
        let row = |row| SkeletonRow { skeleton: &skeleton, ranked: &ranked, row };
        let cut = row(0).distance(&row(1), tree.index(), &mut Vec::new());
        let judge =
            tree.distance_dense(&measures.row(0), &measures.row(1), &mut Scratch::default());
        assert!((cut.expect("far from 0") - judge).abs() < 1e-12 * judge);
        // The cut is not accurate enough for equal measures.
        assert_eq!(row(0).distance(&row(0), tree.index(), &mut Vec::new()), None);
    }

    #[test]
    fn paths_are_not_cut() {
        let n = 2_000_usize;
        let parent = (0..2 * n - 1)
            .map(|v| (if v < n { n + v.saturating_sub(1) } else { v + 1 }).min(2 * n - 2));
        let path =
            Tree::new(n, parent.map(|p| p as u32).collect(), vec![0.0; 2 * n - 1]).expect("a path");
        let measures = path.by_rank(Measures::unit_masses(n, [0, 5]).expect("in range").iter());
        assert!(Skeleton::new(&path, path.index(), &measures, (1, 2)).is_none());
    }
}
