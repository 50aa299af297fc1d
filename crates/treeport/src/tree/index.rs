//! Lowest common ancestors in constant time, and one sweep over the subtree that a set of leaves
//! spans.
//!
//! Leaves are numbered in depth-first order (`rank`), inner nodes in preorder (`number`). The
//! lowest common ancestor of two leaves is then the smallest number among the ancestors of
//! neighboring leaves between them: a range minimum query, answered from a sparse table.

use super::Tree;
use crate::numeric::double_double::DoubleDouble;

/// Depth-first order of a tree with a sparse table for lowest common ancestor queries.
///
/// O(n log n) memory (2 bytes per leaf and level, 4 in large trees) and time to build.
#[derive(Clone, Debug)]
pub(crate) struct AncestorIndex {
    /// Depth-first position of every leaf.
    pub(crate) rank: Vec<u32>,
    table: Table,
    /// Preorder number of every inner node.
    number: Vec<u32>,
    /// Distance from the root, by inner number.
    inner: Vec<Depth>,
    /// Distance from the root, by leaf rank.
    leaf: Vec<Depth>,
}

/// A distance from the root.
///
/// Path lengths are differences of depths; in plain `f64` a short edge deep in a tall tree would
/// lose its digits, and the sparse algorithm would not agree with the loop over edges.
pub(crate) type Depth = DoubleDouble;

/// Sparse table: the smallest ancestor number of every 2^l neighboring pairs of leaves.
///
/// Entry `k` of level `l` is the smallest number between the leaves at ranks k and k + 2^l; each
/// level has `leaves − 1` entries. Lookups wait for memory, so numbers have 16 bits if that
/// suffices.
#[derive(Clone, Debug)]
enum Table {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Table {
    /// Builds each level from the one before: a range of 2^(l+1) is two ranges of 2^l.
    fn new(mut numbers: Vec<u32>) -> Self {
        let n = numbers.len();
        let mut width = 1;
        while 2 * width <= n {
            let last = numbers.len() - n;
            // The last entries of a level stand for ranges beyond the last leaf and are never read.
            for k in 0..n {
                let next = numbers[last + (k + width).min(n - 1)];
                numbers.push(numbers[last + k].min(next));
            }
            width *= 2;
        }
        let short: Result<Vec<u16>, _> = numbers.iter().map(|&number| number.try_into()).collect();
        short.map_or(Self::Long(numbers), Self::Short)
    }

    /// Returns the smaller of two entries.
    #[inline]
    fn smaller(&self, i: usize, j: usize) -> u32 {
        match self {
            Self::Short(numbers) => numbers[i].min(numbers[j]).into(),
            Self::Long(numbers) => numbers[i].min(numbers[j]),
        }
    }
}

impl AncestorIndex {
    /// Returns the largest rank.
    pub(crate) fn last_rank(&self) -> u32 {
        self.rank.len() as u32 - 1
    }

    pub(crate) fn new(tree: &Tree) -> Self {
        let (leaves, nodes) = (tree.leaves(), tree.nodes());
        let parent = |v: usize| tree.parents()[v] as usize;
        let mut leaf_count = vec![0u32; nodes];
        let mut inner_count = vec![0u32; nodes];
        for v in 0..nodes {
            if v < leaves {
                leaf_count[v] = 1;
            } else {
                inner_count[v] += 1;
            }
            if v != tree.root() {
                leaf_count[parent(v)] += leaf_count[v];
                inner_count[parent(v)] += inner_count[v];
            }
        }
        // Top down, every child takes the next block of ranks and numbers of its parent's block.
        let (mut number, mut next_rank, mut next_number) =
            (vec![0u32; nodes], vec![0u32; nodes], vec![0u32; nodes]);
        let mut depth = vec![Depth::default(); nodes];
        let mut index = Self {
            rank: vec![0; leaves],
            table: Table::Short(Vec::new()),
            number: Vec::new(),
            inner: vec![Depth::default(); nodes - leaves],
            leaf: vec![Depth::default(); leaves],
        };
        next_number[tree.root()] = 1;
        let mut started = vec![false; nodes];
        let mut parting = vec![0; leaves - 1];
        for v in (0..nodes).rev() {
            if v != tree.root() {
                let p = parent(v);
                let rank = next_rank[p];
                if started[p] {
                    // p is the ancestor of the previous sibling's last leaf and this first leaf.
                    parting[rank as usize - 1] = number[p];
                }
                started[p] = true;
                next_rank[p] += leaf_count[v];
                next_rank[v] = rank;
                number[v] = next_number[p];
                next_number[p] += inner_count[v];
                next_number[v] = number[v] + 1;
                depth[v] = depth[p] + Depth::from(tree.lengths()[v]);
            }
            if v < leaves {
                index.rank[v] = next_rank[v];
                index.leaf[next_rank[v] as usize] = depth[v];
            } else {
                index.inner[number[v] as usize] = depth[v];
            }
        }
        index.number = number.split_off(leaves);
        index.table = Table::new(parting);
        index
    }

    /// Returns the number of the lowest common ancestor of the leaves at ranks `a < b`.
    #[inline]
    pub(crate) fn ancestor(&self, a: usize, b: usize) -> u32 {
        let level = (b - a).ilog2() as usize;
        let start = level * (self.rank.len() - 1);
        self.table.smaller(start + a, start + b - (1 << level))
    }

    /// Returns the lowest common ancestor of a leaf and the one before it.
    #[inline]
    fn branch(&self, before: Option<u32>, rank: u32) -> u32 {
        before.map_or(0, |before| self.ancestor(before as usize, rank as usize))
    }

    /// Writes the branch of every leaf, for [`AncestorIndex::sweep`], so that reads overlap.
    pub(crate) fn branches(&self, ranks: impl Iterator<Item = u32>, out: &mut Vec<u32>) {
        let mut last = None;
        out.clear();
        out.extend(ranks.map(|rank| self.branch(last.replace(rank), rank)));
    }

    /// Sweeps, from the leaves up, over the subtree that the given leaves span.
    ///
    /// `leaves` iterates over the branch of a leaf ([`branches`](Self::branches)), its rank,
    /// strictly increasing, and its initial state. `climb` is called with the state that moves up a
    /// path and the path's length, once for every path between branchings. `join` adds the state
    /// that arrives at a node to the one that waits there. The sweep takes O(s) for s leaves of any
    /// tree.
    ///
    /// Returns the final state at the last branching and the depth of that node; `None` without
    /// leaves.
    #[inline]
    pub(crate) fn sweep<S>(
        &self,
        stack: &mut Vec<(u32, S)>,
        leaves: impl IntoIterator<Item = (u32, u32, S)>,
        mut climb: impl FnMut(&S, f64),
        mut join: impl FnMut(&mut S, S),
    ) -> Option<(S, Depth)> {
        stack.clear();
        let mut leaves = leaves.into_iter();
        let (_, rank, mut state) = leaves.next()?;
        let mut depth = self.leaf[rank as usize];
        for (branch, next_rank, next_state) in leaves {
            // Ancestors below the branching are complete: climb through them.
            while let Some((top, _)) = stack.last() {
                if *top <= branch {
                    break;
                }
                let Some((top, waiting)) = stack.pop() else { break };
                let top_depth = self.inner[top as usize];
                climb(&state, depth.minus(top_depth));
                let arrived = std::mem::replace(&mut state, waiting);
                join(&mut state, arrived);
                depth = top_depth;
            }
            climb(&state, depth.minus(self.inner[branch as usize]));
            match stack.last_mut() {
                Some((top, waiting)) if *top == branch => join(waiting, state),
                _ => stack.push((branch, state)),
            }
            state = next_state;
            depth = self.leaf[next_rank as usize];
        }
        while let Some((top, waiting)) = stack.pop() {
            let top_depth = self.inner[top as usize];
            climb(&state, depth.minus(top_depth));
            let arrived = std::mem::replace(&mut state, waiting);
            join(&mut state, arrived);
            depth = top_depth;
        }
        Some((state, depth))
    }

    /// Computes the cost Σ length·|surplus| of moving surpluses from leaf ranks to a common
    /// ancestor at depth `root`, and the surplus that arrives there.
    pub(crate) fn cost_to(
        &self,
        stack: &mut Vec<(u32, f64)>,
        surpluses: impl IntoIterator<Item = (u32, f64)>,
        root: Depth,
    ) -> (f64, f64) {
        let mut last = None;
        let leaves = surpluses
            .into_iter()
            .map(|(rank, surplus)| (self.branch(last.replace(rank), rank), rank, surplus));
        self.cost_along(stack, leaves, root)
    }

    /// Computes [`AncestorIndex::cost_to`] for leaves with known branches.
    pub(crate) fn cost_along(
        &self,
        stack: &mut Vec<(u32, f64)>,
        leaves: impl IntoIterator<Item = (u32, u32, f64)>,
        root: Depth,
    ) -> (f64, f64) {
        let mut total = 0.0;
        let last = self.sweep(
            stack,
            leaves,
            |surplus, length| total += surplus.abs() * length,
            |waiting, arrived| *waiting += arrived,
        );
        match last {
            Some((surplus, depth)) => (total + surplus.abs() * depth.minus(root), surplus),
            None => (0.0, 0.0),
        }
    }

    pub(crate) fn depth(&self, tree: &Tree, node: usize) -> Depth {
        if node < tree.leaves() {
            self.leaf[self.rank[node] as usize]
        } else {
            self.inner[self.number(tree, node)]
        }
    }

    pub(crate) fn leaf_depth(&self, rank: u32) -> Depth {
        self.leaf[rank as usize]
    }

    /// Returns the preorder number of an inner node.
    pub(crate) fn number(&self, tree: &Tree, node: usize) -> usize {
        self.number[node - tree.leaves()] as usize
    }

    /// Returns the smallest rank of the leaves below each node.
    pub(crate) fn first_ranks(&self, tree: &Tree) -> Vec<u32> {
        let mut first = vec![u32::MAX; tree.nodes()];
        first[..tree.leaves()].copy_from_slice(&self.rank);
        for v in 0..tree.root() {
            let parent = tree.parents()[v] as usize;
            first[parent] = first[parent].min(first[v]);
        }
        first
    }
}
