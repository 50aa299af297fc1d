//! A coarse cut through the tree that makes most of a distance a plain vector difference.
//!
//! Sweeping the tree that two supports span costs O(s), but every step of it is a branch no
//! processor can guess. So the tree is cut once into *clusters*, maximal subtrees of at most B
//! leaves, and the *top* above them. For each measure the masses at all top nodes are kept as a
//! dense row; two rows give the top's share of W_T in one loop without branches. Below the cut, a
//! cluster where only one of the measures has mass costs what that measure needs to leave it, known
//! in advance; only clusters where both have mass are looked into. With a few clusters for every
//! point of a support those are few.
//!
//! Trees that are nearly a path have no such cut; they are swept, which is what paths are good at.

use super::Tree;
use super::distance::surpluses;
use super::index::{Depth, Index};
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
    /// What taking a group's mass up to its cluster's root costs if it meets no other.
    alone: Vec<f64>,
    /// The same for all groups of a row together.
    all_alone: Vec<f64>,
    /// Where each group's entries begin; one bound more than groups.
    first: Vec<usize>,
    /// All entries, as in the measures.
    entry: Vec<Entry>,
    /// One bit per cluster and row: whether the measure has mass there.
    touched: Vec<Touched>,
}

/// One point of a measure with all that a shared cluster asks of it, together in memory.
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
    fn new(tree: &Tree, index: &Index, most: usize) -> Option<Self> {
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

    fn at(tree: &Tree, index: &Index, block: usize, leaves_below: &[usize], top: &[usize]) -> Self {
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
    /// Lays out measures on leaf ranks, cut for so many measures with so many points; `None` where
    /// the tree has no useful cut.
    pub(super) fn new(
        tree: &Tree,
        index: &Index,
        ranked: &Measures,
        (rows, points): (usize, usize),
    ) -> Option<Self> {
        let rows = rows.max(1);
        let wanted = TOP_PER_POINT * points / rows;
        let cut = Cut::new(tree, index, wanted.min(MOST_MASSES / rows).max(FEWEST_TOP))?;
        // It only saves time: where there is no room for it, there is none.
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

    /// Finds the groups of a row; their masses begin its row of tops.
    fn push_groups(&mut self, index: &Index, ranked: &Measures, row: usize) {
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

    /// Where a group's entries are.
    fn places(&self, group: usize) -> std::ops::Range<usize> {
        self.first[group]..self.first[group + 1]
    }

    /// Whether rows of the two can be compared: both are cut at the same place of the same tree.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.cut.block == other.cut.block
    }

    /// W_T of row `i` here and row `j` there, or `None` where it is too small for this to be exact.
    pub(super) fn distance(
        &self,
        index: &Index,
        (ranked, i): (&Measures, usize),
        (other, others, j): (&Self, &Measures, usize),
        stack: &mut Vec<(u32, f64)>,
    ) -> Option<f64> {
        let nodes = self.cut.length.len();
        let (a, b) = (&self.top[i * nodes..][..nodes], &other.top[j * nodes..][..nodes]);
        let mut total = cityblock(a, b);
        // Everybody pays for leaving every cluster alone; shared clusters are then put right.
        total += self.all_alone[i] + other.all_alone[j];
        let words = self.cut.words();
        let (a, b) = (&self.touched[i * words..][..words], &other.touched[j * words..][..words]);
        for (a, b) in a.iter().zip(b) {
            let mut shared = a.bits & b.bits;
            while shared != 0 {
                let lowest = shared & shared.wrapping_neg();
                let (left, right) = (a.group(lowest), b.group(lowest));
                total += self.shared(index, ranked, left, (other, others, right), stack)
                    - (self.alone[left] + other.alone[right]);
                shared ^= lowest;
            }
        }
        (total >= LEAST_SHARE * self.height * ranked.row(i).total()).then_some(total)
    }

    /// What two groups in the same cluster pay there.
    #[inline]
    fn shared(
        &self,
        index: &Index,
        ranked: &Measures,
        left: usize,
        (other, others, right): (&Self, &Measures, usize),
        stack: &mut Vec<(u32, f64)>,
    ) -> f64 {
        let (mine, theirs) = (self.places(left), other.places(right));
        match (&self.entry[mine.clone()], &other.entry[theirs.clone()]) {
            // One point each, and not the same, is the usual case.
            (&[x], &[y]) if x.rank != y.rank => {
                let (low, high) = (x.rank.min(y.rank), x.rank.max(y.rank));
                let meet = self.cut.below[index.ancestor(low as usize, high as usize) as usize];
                x.mass * (x.below - meet)
                    + y.mass * (y.below - meet)
                    + (x.mass - y.mass).abs() * meet
            }
            _ => {
                let root = self.cut.root[self.cluster[left] as usize];
                let (a, b) = (ranked.entries_at(mine), others.entries_at(theirs));
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
        let (mine, theirs) = ((&ranked, 0), (&skeleton, &ranked, 1));
        let cut = skeleton.distance(tree.index(), mine, theirs, &mut Vec::new());
        let judge =
            tree.distance_dense(&measures.row(0), &measures.row(1), &mut Scratch::default());
        assert!((cut.expect("far from 0") - judge).abs() < 1e-12 * judge);
        // Equal measures are below what the cut can tell; the sweep says 0.
        let same = skeleton.distance(tree.index(), mine, (&skeleton, &ranked, 0), &mut Vec::new());
        assert_eq!(same, None);
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
