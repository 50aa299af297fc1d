//! A coarse cut through the tree that makes most of a distance a plain vector difference.
//!
//! A sweep over the tree that two supports span costs O(s), but the processor predicts none of its
//! branches. So the tree is cut once into *clusters*, maximal subtrees of at most B leaves, and the
//! *top* above them. Each measure has a dense row of its masses at the top nodes; two rows give the
//! top's share of W_T in one loop without branches. Below the cut, a cluster where only one measure
//! has mass costs what it takes to move that mass to the cluster's root, which is known in advance.
//! Only clusters where both have mass are swept, and with a few clusters for every point of a
//! support those are few.
//!
//! A tree that is nearly a path has no such cut; its spanned trees are swept.

use super::Tree;
use super::distance::surpluses;
use super::index::{AncestorIndex, Depth};
use crate::measure::Measures;
use crate::memory;

/// Top nodes for each point of a mean support: more of them leave fewer shared clusters but longer
/// rows. The best of 8, 12, 16, 24 and 32 at N = 13,243 and supports of 100; flat at 10.
const TOP_PER_POINT: usize = 24;

/// Rows of top masses take at most this many numbers (256 MiB), but for the fewest worth a row.
const MOST_MASSES: usize = 1 << 25;

/// Fewest top nodes worth a row.
const FEWEST_TOP: usize = 32;

/// Below this share of (mass · height) sums of plain `f64` have lost digits: sweep instead.
const LEAST_SHARE: f64 = 1e-3;

/// Independent sums in the loop over top nodes, so that it is not one chain of additions.
const SUMS: usize = 8;

/// Where the tree is cut.
#[derive(Clone, Debug)]
struct Cut {
    /// Most leaves in a cluster.
    block: usize,
    /// Cluster of every leaf rank; clusters are numbered in the order of ranks.
    cluster: Vec<u32>,
    /// How deep each cluster's root is.
    root: Vec<Depth>,
    /// How far every inner node, by its number in the index, is below its cluster's root.
    below: Vec<f64>,
    /// Edge above every top node: clusters first, then inner nodes, children before parents.
    length: Vec<f64>,
    /// Parent of every top node among the top nodes; past the end below the root.
    parent: Vec<u32>,
}

/// Measures laid out along a cut. A *group* is what one measure has in one cluster.
#[derive(Clone, Debug)]
pub(super) struct Skeleton {
    cut: Cut,
    height: f64,
    /// Mass at every top node times the edge above it, one dense row per measure.
    top: Vec<f64>,
    /// The cluster of each group, increasing within a row.
    cluster: Vec<u32>,
    /// Cost of moving a group's mass to its cluster's root.
    alone: Vec<f64>,
    /// The sum of `alone` over the groups of a row.
    all_alone: Vec<f64>,
    /// Where each group's entries begin; one bound more than groups.
    first: Vec<usize>,
    /// All entries, as in the measures.
    entry: Vec<Entry>,
    /// One bit per cluster and row: whether the measure has mass there.
    touched: Vec<Touched>,
}

/// One measure that is laid out: a row of a skeleton and of the measures that it was made from.
#[derive(Clone, Copy)]
pub(super) struct SkeletonRow<'a> {
    pub(super) skeleton: &'a Skeleton,
    pub(super) ranked: &'a Measures,
    pub(super) row: usize,
}

/// One point of a measure, with what the sweep of a cluster reads together in memory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    rank: u32,
    mass: f64,
    /// How far the leaf is below its cluster's root.
    below: f64,
}

/// Which of 64 clusters a measure has mass in, and how many groups come before them.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    bits: u64,
    before: usize,
}

impl Touched {
    /// The group of the cluster at a bit that is set.
    #[inline]
    fn group(&self, bit: u64) -> usize {
        self.before + (self.bits & (bit - 1)).count_ones() as usize
    }
}

impl Cut {
    /// The finest cut with at most `most` top nodes; `None` if clusters would be too coarse to
    /// help.
    fn new(tree: &Tree, index: &AncestorIndex, most: usize) -> Option<Self> {
        let mut leaves_below = vec![0usize; tree.nodes()];
        for v in 0..tree.nodes() {
            leaves_below[v] += usize::from(v < tree.leaves());
            if v != tree.root() {
                leaves_below[tree.parents()[v] as usize] += leaves_below[v];
            }
        }
        // A node is in the top if its parent is no part of a cluster.
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

    /// Adds masses up from the clusters to the top nodes above, then weighs them with the edges.
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

    /// Words of bits for all clusters.
    fn words(&self) -> usize {
        self.root.len().div_ceil(64)
    }
}

impl Skeleton {
    /// Lays out measures on leaf ranks; the cut suits `rows` measures with `points` points in all.
    /// `None` where the tree has no useful cut.
    pub(super) fn new(
        tree: &Tree,
        index: &AncestorIndex,
        ranked: &Measures,
        (rows, points): (usize, usize),
    ) -> Option<Self> {
        let rows = rows.max(1);
        let wanted = TOP_PER_POINT * points / rows;
        let cut = Cut::new(tree, index, wanted.min(MOST_MASSES / rows).max(FEWEST_TOP))?;
        // The cut only saves time: without the memory for it, distances are swept.
        let sides = [ranked.len(), cut.length.len()];
        memory::check(format_args!("a cut"), memory::size_of::<f64>(&sides), "").ok()?;
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

    /// Appends the groups of a row and writes their masses to its clusters' top nodes.
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
            let begin = *self.first.last().expect("starts with one");
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

    /// The range of a group's entries.
    fn places(&self, group: usize) -> std::ops::Range<usize> {
        self.first[group]..self.first[group + 1]
    }

    /// Whether rows of the two can be compared: both are cut at the same place of the same tree.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.cut.block == other.cut.block
    }
}

impl SkeletonRow<'_> {
    /// Mass times edge length of every top node.
    #[inline]
    fn top(&self) -> &[f64] {
        let nodes = self.skeleton.cut.length.len();
        &self.skeleton.top[self.row * nodes..][..nodes]
    }

    /// The clusters where the measure has mass.
    #[inline]
    fn touched(&self) -> &[Touched] {
        let words = self.skeleton.cut.words();
        &self.skeleton.touched[self.row * words..][..words]
    }

    /// W_T of two rows of the same tree, or `None` where rounding would show in it.
    ///
    /// W_T = Σ over top nodes |a − b| + Σ over clusters of their cost. With alone(a, c) the cost of
    /// taking what a has in c to the root of c, the cost of c is alone(a, c) + alone(b, c) unless
    /// both have mass in c. So all of these are added, and taken off again where both have mass.
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

    /// The cost within a cluster where both measures have a group: `left` here, `right` there.
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
            // One point each, and not the same, is the usual case.
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

/// Σ |a − b|.
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
        // Leaf i and node v hang below the node with half their number, counted from the root.
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
        // Equal measures are below what the cut can tell; the sweep says 0.
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
