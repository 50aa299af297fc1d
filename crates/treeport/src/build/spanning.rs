//! Minimum spanning trees of distances that a tree implies, and single linkage from their edges.
//!
//! After a gradient step the distances to project are w(i, j) = θ(lca(i, j)) − b_i − b_j on a known
//! binary tree. Their minimum spanning tree is found without the N×N matrix.
//!
//! # Algorithm
//! Borůvka: in every round each component takes its lightest leaving edge. The upward pass keeps,
//! at every node, the leaf with the largest b below it, and the largest from a *different*
//! component. The downward pass keeps, at every node, the two cheapest θ(ancestor) − b_j over
//! leaves j outside its subtree, again from two different components. At leaf i one of the two is
//! not in i's component: its lightest leaving edge. Ties are broken by (weight, i, j), a total
//! order on edges, so the choice is deterministic.
//!
//! After a round, only the leaf with the largest b of a subtree within one component matters, and
//! replaces the subtree. Components rarely straddle subtrees after a small step, so the tree
//! shrinks geometrically and later rounds are nearly free.
//!
//! # Complexity
//! A round is O(n) and at least halves the number of components: O(n log n) in the worst case,
//! usually close to O(n), plus the sort of n − 1 edges. O(n) memory.

use rayon::prelude::*;

use crate::build::binary::BinaryTree;
use crate::error::Result;
use crate::tools::disjoint_sets::DisjointSets;

/// An edge of a spanning tree: its weight and its ends, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SpanningEdge {
    pub(crate) weight: f64,
    pub(crate) ends: (u32, u32),
}

impl SpanningEdge {
    pub(crate) fn new(weight: f64, i: u32, j: u32) -> Self {
        // −0 and 0 are equal weights, but `total_cmp` would tell them apart.
        Self { weight: weight + 0.0, ends: (i.min(j), i.max(j)) }
    }

    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then(self.ends.cmp(&other.ends))
    }
}

/// Number of edges from which a list is sorted in parallel; keys are unique.
const PARALLEL_SORT: usize = 1 << 15;

/// Builds the binary tree of single linkage: merges along spanning-tree edges in increasing order
/// of weight.
///
/// Leaves have height 0; the heights of inner nodes are the weights.
pub(crate) fn merge(leaves: usize, mut edges: Vec<SpanningEdge>) -> BinaryTree {
    if edges.len() < PARALLEL_SORT {
        edges.sort_unstable_by(SpanningEdge::order);
    } else {
        edges.par_sort_unstable_by(SpanningEdge::order);
    }
    let mut sets = DisjointSets::new(leaves);
    let mut top: Vec<u32> = (0..leaves as u32).collect();
    let mut tree = BinaryTree::with_leaves(vec![0.0; leaves]);
    for edge in &edges {
        let (a, b) = (sets.find(edge.ends.0), sets.find(edge.ends.1));
        let merged = tree.join(top[a as usize], top[b as usize], edge.weight);
        sets.join(a, b);
        top[a as usize] = merged;
    }
    tree
}

/// Computes the minimum spanning tree of a complete graph by Prim's algorithm, O(n²).
pub(crate) fn prim<R: AsRef<[f64]>>(
    n: usize,
    mut row: impl FnMut(usize) -> Result<R>,
) -> Result<Vec<SpanningEdge>> {
    let mut edges = Vec::with_capacity(n.saturating_sub(1));
    let mut outside: Vec<u32> = (1..n as u32).collect();
    let mut near = vec![f64::INFINITY; outside.len()];
    let mut nearest = vec![0u32; outside.len()];
    let mut newest = 0;
    while !outside.is_empty() {
        let distances = row(newest as usize)?;
        let distances = distances.as_ref();
        let mut best = 0;
        for k in 0..outside.len() {
            let distance = distances[outside[k] as usize];
            if distance < near[k] {
                near[k] = distance;
                nearest[k] = newest;
            }
            if (near[k], outside[k]) < (near[best], outside[best]) {
                best = k;
            }
        }
        newest = outside.swap_remove(best);
        edges.push(SpanningEdge::new(near.swap_remove(best), nearest.swap_remove(best), newest));
    }
    Ok(edges)
}

const NONE: u32 = u32::MAX;

/// Candidate end of a leaving edge: a leaf, and the cost of reaching it so far.
#[derive(Clone, Copy)]
struct Candidate {
    cost: f64,
    leaf: u32,
    component: u32,
}

const NO_CANDIDATE: Candidate = Candidate { cost: f64::INFINITY, leaf: NONE, component: NONE };

/// Best candidate, and the best one from another component.
type TopTwo = [Candidate; 2];

/// Updates the two best candidates with another one; ties go to the smaller leaf.
#[inline]
fn consider(top: &mut TopTwo, candidate: Candidate) {
    let beats = |other: &Candidate| {
        candidate.cost < other.cost || (candidate.cost == other.cost && candidate.leaf < other.leaf)
    };
    if beats(&top[0]) {
        if top[0].component != candidate.component {
            top[1] = top[0];
        }
        top[0] = candidate;
    } else if top[0].component != candidate.component && beats(&top[1]) {
        top[1] = candidate;
    }
}

/// An edge that leaves a component, and the component at its other end.
#[derive(Clone, Copy)]
struct LeavingEdge {
    edge: SpanningEdge,
    to: u32,
}

/// Contracted tree of one round, in post-order: the right child of `v` is `v − 1`.
struct ContractedTree {
    /// Left child of every node; `NONE` at a leaf.
    left: Vec<u32>,
    /// θ at an inner node, b at a leaf.
    value: Vec<f64>,
    /// Point of a leaf.
    point: Vec<u32>,
    /// Component of a leaf.
    component: Vec<u32>,
}

impl ContractedTree {
    fn is_leaf(&self, v: usize) -> bool {
        self.left[v] == NONE
    }

    /// Creates the whole tree in post-order; every leaf is its own component, numbered in that
    /// order.
    ///
    /// Positions are computed from subtree sizes, not by a walk: a node then never depends on the
    /// one before, so that scattered reads of a large tree overlap.
    fn new(tree: &BinaryTree, b: &[f64]) -> Self {
        let nodes = tree.height.len();
        let mut size = vec![1u32; nodes];
        for (v, l, r) in tree.inner() {
            size[v] += size[l] + size[r];
        }
        let mut contracted = Self {
            left: vec![NONE; nodes],
            value: vec![0.0; nodes],
            point: vec![NONE; nodes],
            component: vec![NONE; nodes],
        };
        let mut place = vec![nodes as u32 - 1; nodes];
        for (v, l, r) in tree.inner().rev() {
            let here = place[v];
            place[r] = here - 1;
            place[l] = here - 1 - size[r];
            contracted.left[here as usize] = place[l];
            contracted.value[here as usize] = tree.height[v];
        }
        for i in 0..tree.leaves {
            contracted.value[place[i] as usize] = b[i];
            contracted.point[place[i] as usize] = i as u32;
        }
        let leaves = (0..nodes).filter(|&v| contracted.left[v] == NONE);
        leaves.zip(0..).for_each(|(v, number)| contracted.component[v] = number);
        contracted
    }

    /// Upward pass: computes the best leaves below every node, by largest b.
    fn below(&self, below: &mut Vec<TopTwo>) {
        below.clear();
        for v in 0..self.left.len() {
            let top = if self.is_leaf(v) {
                let (leaf, component) = (self.point[v], self.component[v]);
                [Candidate { cost: -self.value[v], leaf, component }, NO_CANDIDATE]
            } else {
                let mut top = below[self.left[v] as usize];
                below[v - 1].iter().for_each(|&candidate| consider(&mut top, candidate));
                top
            };
            below.push(top);
        }
    }

    /// Downward pass: computes the best leaves outside every node, and the lightest leaving edge of
    /// each component from its leaves.
    ///
    /// Reverse post-order visits the right child next and the left one after the right subtree.
    /// Pending values wait on a stack, which stays in the cache; an array over all nodes would not.
    fn lightest(&self, below: &[TopTwo], outside: &mut Vec<TopTwo>, lightest: &mut [LeavingEdge]) {
        outside.clear();
        outside.push([NO_CANDIDATE; 2]);
        for v in (0..self.left.len()).rev() {
            let seen = outside.pop().expect("a parent pushes one entry for each child");
            if self.is_leaf(v) {
                let component = self.component[v];
                let best = seen[usize::from(seen[0].component == component)];
                let edge = SpanningEdge::new(best.cost - self.value[v], self.point[v], best.leaf);
                let slot = &mut lightest[component as usize];
                if edge.order(&slot.edge).is_lt() {
                    *slot = LeavingEdge { edge, to: best.component };
                }
                continue;
            }
            let (l, r) = (self.left[v] as usize, v - 1);
            for sibling in [r, l] {
                let mut top = seen;
                for candidate in below[sibling] {
                    consider(
                        &mut top,
                        Candidate { cost: self.value[v] + candidate.cost, ..candidate },
                    );
                }
                outside.push(top);
            }
        }
    }

    /// Replaces every subtree within one component by its leaf of largest b, in place.
    fn contract(&mut self, renumbered: &[u32]) {
        let mut kept = 0;
        let mut roots: Vec<usize> = Vec::new();
        for v in 0..self.left.len() {
            if self.is_leaf(v) {
                let component = renumbered[self.component[v] as usize];
                self.set(kept, NONE, self.value[v], self.point[v], component);
                roots.push(kept);
                kept += 1;
                continue;
            }
            let (Some(r), Some(l)) = (roots.pop(), roots.pop()) else {
                unreachable!("in post-order both children come first")
            };
            if self.is_leaf(l) && self.is_leaf(r) && self.component[l] == self.component[r] {
                let best = if self.is_better(r, l) { r } else { l };
                self.set(l, NONE, self.value[best], self.point[best], self.component[l]);
                kept = l + 1;
                roots.push(l);
            } else {
                self.set(kept, l as u32, self.value[v], NONE, NONE);
                roots.push(kept);
                kept += 1;
            }
        }
        self.left.truncate(kept);
        self.value.truncate(kept);
        self.point.truncate(kept);
        self.component.truncate(kept);
    }

    /// Returns whether leaf `a` has the larger b; ties go to the smaller point.
    fn is_better(&self, a: usize, b: usize) -> bool {
        self.value[a] > self.value[b]
            || (self.value[a] == self.value[b] && self.point[a] < self.point[b])
    }

    fn set(&mut self, v: usize, left: u32, value: f64, point: u32, component: u32) {
        self.left[v] = left;
        self.value[v] = value;
        self.point[v] = point;
        self.component[v] = component;
    }
}

/// Computes a minimum spanning tree of w(i, j) = height(lca(i, j)) − b_i − b_j over all pairs of
/// leaves.
///
/// All heights and b must be finite.
pub(crate) fn lightest(tree: &BinaryTree, b: &[f64]) -> Vec<SpanningEdge> {
    let n = tree.leaves;
    let none =
        LeavingEdge { edge: SpanningEdge { weight: f64::INFINITY, ends: (NONE, NONE) }, to: NONE };
    let mut edges = Vec::with_capacity(n - 1);
    let mut contracted = ContractedTree::new(tree, b);
    let (mut below, mut outside, mut leaving) = (Vec::new(), Vec::new(), Vec::new());
    while edges.len() < n - 1 {
        leaving.clear();
        leaving.resize(n - edges.len(), none);
        contracted.below(&mut below);
        contracted.lightest(&below, &mut outside, &mut leaving);
        let renumbered = join(&leaving, &mut edges);
        contracted.contract(&renumbered);
    }
    edges
}

/// Joins components along their lightest leaving edges and returns each component's new number.
///
/// Computed from its two ends, an edge's weight may differ in the last bit, so several components
/// could choose edges that close a cycle; `DisjointSets` drops the last of these.
fn join(leaving: &[LeavingEdge], edges: &mut Vec<SpanningEdge>) -> Vec<u32> {
    let mut sets = DisjointSets::new(leaving.len());
    for (component, leaving) in leaving.iter().enumerate() {
        if sets.join(component as u32, leaving.to) {
            edges.push(leaving.edge);
        }
    }
    let mut number = vec![NONE; leaving.len()];
    let mut used = 0;
    for component in 0..leaving.len() {
        let set = sets.find(component as u32) as usize;
        if number[set] == NONE {
            number[set] = used;
            used += 1;
        }
        number[component] = number[set];
    }
    number
}
