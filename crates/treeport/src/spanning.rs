//! Minimum spanning trees: of distances that a tree implies, and from edges to merges.
//!
//! After a gradient step the distances to project are w(i, j) = θ(lca(i, j)) − b_i − b_j on a known
//! binary tree. Their minimum spanning tree is found without ever forming the N×N matrix.
//!
//! # How
//! Borůvka: in every round each component takes its lightest leaving edge. Upwards, every node keeps
//! the leaf with the largest b below it, and the largest from a *different* component. Downwards,
//! every node keeps the two cheapest θ(ancestor) − b_j over leaves j outside its subtree, again from
//! two different components. At leaf i one of the two is not in i's component: its lightest leaving
//! edge. Ties go by (weight, i, j), a total order on edges, so the choice is deterministic.
//!
//! After a round a subtree whose leaves lie in one component can only matter through its leaf with
//! the largest b: it is replaced by that leaf. Components rarely straddle subtrees after a small
//! step, so the tree shrinks geometrically and later rounds are nearly free.
//!
//! # Complexity
//! A round is O(n) and at least halves the number of components: O(n log n) in the worst case, close
//! to O(n) as a rule, plus the sort of n − 1 edges. O(n) memory.

use rayon::prelude::*;

use crate::binary::Binary;

/// An edge of a spanning tree: its weight and ends, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    pub(crate) weight: f64,
    pub(crate) ends: (u32, u32),
}

impl Edge {
    pub(crate) fn new(weight: f64, i: u32, j: u32) -> Self {
        // −0 and 0 are one weight; `total_cmp` would tell them apart.
        Self { weight: weight + 0.0, ends: (i.min(j), i.max(j)) }
    }

    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then(self.ends.cmp(&other.ends))
    }
}

/// Disjoint sets with path halving.
pub(crate) struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    pub(crate) fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect() }
    }

    pub(crate) fn find(&mut self, mut x: u32) -> u32 {
        while self.parent[x as usize] != x {
            let grandparent = self.parent[self.parent[x as usize] as usize];
            self.parent[x as usize] = grandparent;
            x = grandparent;
        }
        x
    }

    /// Joins two sets; the first one's representative stays. False if they were one already.
    pub(crate) fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[b as usize] = a;
        a != b
    }
}

/// Edges of this size and more are sorted on several threads; keys are unique, so the order is one.
const PARALLEL_SORT: usize = 1 << 15;

/// The binary tree of single linkage: spanning-tree edges merge in order, each at its weight.
///
/// Leaves get height 0; inner heights are the weights as they are.
pub(crate) fn merge(leaves: usize, mut edges: Vec<Edge>) -> Binary {
    if edges.len() < PARALLEL_SORT {
        edges.sort_unstable_by(Edge::order);
    } else {
        edges.par_sort_unstable_by(Edge::order);
    }
    let mut sets = Sets::new(leaves);
    let mut top: Vec<u32> = (0..leaves as u32).collect();
    let mut height = vec![0.0; leaves];
    height.extend(edges.iter().map(|e| e.weight));
    let (mut left, mut right) = (Vec::with_capacity(edges.len()), Vec::with_capacity(edges.len()));
    for (k, edge) in edges.iter().enumerate() {
        let (a, b) = (sets.find(edge.ends.0), sets.find(edge.ends.1));
        left.push(top[a as usize]);
        right.push(top[b as usize]);
        sets.join(a, b);
        top[a as usize] = (leaves + k) as u32;
    }
    Binary { leaves, left, right, height }
}

/// Prim's minimum spanning tree of a complete graph given by its rows, O(n²).
pub(crate) fn prim<R: AsRef<[f64]>>(n: usize, mut row: impl FnMut(usize) -> R) -> Vec<Edge> {
    let mut edges = Vec::with_capacity(n.saturating_sub(1));
    let mut outside: Vec<u32> = (1..n as u32).collect();
    let mut near = vec![f64::INFINITY; outside.len()];
    let mut nearest = vec![0u32; outside.len()];
    let mut newest = 0;
    while !outside.is_empty() {
        let distances = row(newest as usize);
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
        edges.push(Edge::new(near.swap_remove(best), nearest.swap_remove(best), newest));
    }
    edges
}

const NONE: u32 = u32::MAX;

/// A leaf on offer to other components, and what reaching it costs so far.
#[derive(Clone, Copy)]
struct Offer {
    cost: f64,
    leaf: u32,
    component: u32,
}

const NOTHING: Offer = Offer { cost: f64::INFINITY, leaf: NONE, component: NONE };

/// The best offer, and the best one from another component.
type TopTwo = [Offer; 2];

/// Keeps the better of what is there and one more offer; ties go to the smaller leaf.
#[inline]
fn consider(top: &mut TopTwo, offer: Offer) {
    let beats = |other: &Offer| {
        offer.cost < other.cost || (offer.cost == other.cost && offer.leaf < other.leaf)
    };
    if beats(&top[0]) {
        if top[0].component != offer.component {
            top[1] = top[0];
        }
        top[0] = offer;
    } else if top[0].component != offer.component && beats(&top[1]) {
        top[1] = offer;
    }
}

/// An edge that leaves a component, and the component it leads to.
#[derive(Clone, Copy)]
struct Leaving {
    edge: Edge,
    to: u32,
}

/// What is left of the tree in one round, in post-order: the right child of `v` is `v − 1`.
#[derive(Default)]
struct Rest {
    /// Left child of every node; `NONE` at a leaf.
    left: Vec<u32>,
    /// θ at an inner node, b at a leaf.
    value: Vec<f64>,
    /// The point a leaf stands for.
    point: Vec<u32>,
    /// The component of a leaf.
    component: Vec<u32>,
}

impl Rest {
    fn with_capacity(n: usize) -> Self {
        Self {
            left: Vec::with_capacity(n),
            value: Vec::with_capacity(n),
            point: Vec::with_capacity(n),
            component: Vec::with_capacity(n),
        }
    }

    fn push(&mut self, left: u32, value: f64, point: u32, component: u32) {
        self.left.push(left);
        self.value.push(value);
        self.point.push(point);
        self.component.push(component);
    }

    fn clear(&mut self) {
        self.left.clear();
        self.value.clear();
        self.point.clear();
        self.component.clear();
    }

    fn is_leaf(&self, v: usize) -> bool {
        self.left[v] == NONE
    }

    /// The whole tree in post-order, every leaf its own component.
    fn new(tree: &Binary, b: &[f64]) -> Self {
        let mut order = Vec::with_capacity(tree.height.len());
        let mut stack = vec![tree.root()];
        while let Some(v) = stack.pop() {
            order.push(v);
            if v >= tree.leaves {
                stack.push(tree.left[v - tree.leaves] as usize);
                stack.push(tree.right[v - tree.leaves] as usize);
            }
        }
        let mut rest = Self::with_capacity(order.len());
        let mut roots = Vec::new();
        for v in order.into_iter().rev() {
            if v < tree.leaves {
                rest.push(NONE, b[v], v as u32, v as u32);
            } else {
                roots.pop();
                let left = roots.pop().expect("in post-order both children come first");
                rest.push(left, tree.height[v], NONE, NONE);
            }
            roots.push(rest.left.len() as u32 - 1);
        }
        rest
    }

    /// Upwards: the best leaves below every node, by largest b.
    fn below(&self, below: &mut Vec<TopTwo>) {
        below.clear();
        for v in 0..self.left.len() {
            let top = if self.is_leaf(v) {
                let (leaf, component) = (self.point[v], self.component[v]);
                [Offer { cost: -self.value[v], leaf, component }, NOTHING]
            } else {
                let mut top = below[self.left[v] as usize];
                below[v - 1].iter().for_each(|&offer| consider(&mut top, offer));
                top
            };
            below.push(top);
        }
    }

    /// Downwards: the best leaves outside every node; at each leaf the lightest leaving edge is
    /// offered to its component.
    fn lightest(&self, below: &[TopTwo], outside: &mut Vec<TopTwo>, lightest: &mut [Leaving]) {
        let nodes = self.left.len();
        outside.clear();
        outside.resize(nodes, [NOTHING; 2]);
        for v in (0..nodes).rev() {
            let seen = outside[v];
            if self.is_leaf(v) {
                let component = self.component[v];
                let best = seen[usize::from(seen[0].component == component)];
                let edge = Edge::new(best.cost - self.value[v], self.point[v], best.leaf);
                let slot = &mut lightest[component as usize];
                if edge.order(&slot.edge).is_lt() {
                    *slot = Leaving { edge, to: best.component };
                }
                continue;
            }
            let (l, r) = (self.left[v] as usize, v - 1);
            for (child, sibling) in [(l, r), (r, l)] {
                let mut top = seen;
                for offer in below[sibling] {
                    consider(&mut top, Offer { cost: self.value[v] + offer.cost, ..offer });
                }
                outside[child] = top;
            }
        }
    }

    /// The same tree with every one-component subtree replaced by its leaf of largest b.
    fn contract_into(&self, renumbered: &[u32], next: &mut Rest) {
        next.clear();
        let mut roots: Vec<u32> = Vec::new();
        for v in 0..self.left.len() {
            if self.is_leaf(v) {
                let point = self.point[v];
                let component = renumbered[self.component[v] as usize];
                next.push(NONE, self.value[v], point, component);
                roots.push(next.left.len() as u32 - 1);
                continue;
            }
            let (r, l) = (roots.pop(), roots.pop());
            let (Some(r), Some(l)) = (r, l) else { unreachable!("both children come first") };
            let (a, b) = (l as usize, r as usize);
            let same = next.is_leaf(a) && next.is_leaf(b) && next.component[a] == next.component[b];
            if same {
                let right_wins = next.value[b] > next.value[a]
                    || (next.value[b] == next.value[a] && next.point[b] < next.point[a]);
                if right_wins {
                    next.value[a] = next.value[b];
                    next.point[a] = next.point[b];
                }
                next.left.truncate(b);
                next.value.truncate(b);
                next.point.truncate(b);
                next.component.truncate(b);
                roots.push(l);
            } else {
                next.push(l, self.value[v], NONE, NONE);
                roots.push(next.left.len() as u32 - 1);
            }
        }
    }
}

/// A minimum spanning tree of w(i, j) = height(lca(i, j)) − b_i − b_j over all pairs of leaves.
///
/// All heights and b must be finite.
pub(crate) fn lightest(tree: &Binary, b: &[f64]) -> Vec<Edge> {
    let n = tree.leaves;
    let none = Leaving { edge: Edge { weight: f64::INFINITY, ends: (NONE, NONE) }, to: NONE };
    let mut edges = Vec::with_capacity(n - 1);
    let (mut rest, mut next) = (Rest::new(tree, b), Rest::default());
    let (mut below, mut outside, mut leaving) = (Vec::new(), Vec::new(), Vec::new());
    while edges.len() < n - 1 {
        leaving.clear();
        leaving.resize(n - edges.len(), none);
        rest.below(&mut below);
        rest.lightest(&below, &mut outside, &mut leaving);
        let renumbered = join(&leaving, &mut edges);
        rest.contract_into(&renumbered, &mut next);
        std::mem::swap(&mut rest, &mut next);
    }
    edges
}

/// Joins components along their lightest leaving edges and returns each one's new number.
///
/// Seen from its two ends an edge's weight may differ in the last bit, so several components could
/// choose edges that close a cycle; `Sets` drops the one that would.
fn join(leaving: &[Leaving], edges: &mut Vec<Edge>) -> Vec<u32> {
    let mut sets = Sets::new(leaving.len());
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
