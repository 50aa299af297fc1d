//! Gradient of W_T with respect to the heights, for many pairs at once.
//!
//! For a fixed shape W_T is linear in the heights: W_T = Σ_v φ(v)·θ(v), with f the surplus below v
//! and
//!
//! ```text
//! φ(v) = Σ_{children c} |f(c)| − |f(v)|   inner node (the root has f = 0)
//! φ(i) = −|f(i)|                           leaf
//! ```
//!
//! This follows from d(i, j) = 2θ(lca) − θ(i) − θ(j). Read literally, the gradient of \[CTW24\] has
//! Π_ii = min(μ_i, ρ_i) at leaf i instead of −|f(i)|; with that sign the paper's own four-point
//! example is never recovered, with this one always (`treeport-lab reproduce random-starts`).
//!
//! Pairs are processed in groups of eight lanes, so that every node costs a few vector
//! instructions. Groups are fixed by the order of the pairs and added in that order: the result is
//! the same on one thread and on many.

use crate::build::binary::BinaryTree;
use crate::measures::Measures;
use crate::tools::parallel;

/// Pairs per group: one cache line of `f64`.
const LANES: usize = 8;

/// One value per pair of a group.
type Lane = [f64; LANES];

/// Number of node visits from which a batch runs in parallel: for fewer, waking other threads costs
/// more than it saves.
const PARALLEL_WORK: usize = 1 << 16;

/// Gradient of one batch with respect to the heights.
pub(crate) struct BatchGradient {
    /// Σ over pairs of weight·(W_T − W₁)·φ, by node.
    pub(crate) gradient: Vec<f64>,
    /// Σ over pairs of weight·|φ|².
    pub(crate) squared_norm: f64,
}

/// Computes the tree distance of each pair, by the linear form.
pub(crate) fn predictions(
    tree: &BinaryTree,
    measures: &Measures,
    pairs: &[(usize, usize)],
) -> Vec<f64> {
    let groups = in_groups(tree, pairs, |group| {
        let surplus = GroupSurplus::new(tree, measures, group);
        surplus.predict(tree).0[..group.len()].to_vec()
    });
    groups.concat()
}

/// A pair in a batch, its label, and the weight of its squared error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightedPair {
    pub(crate) pair: (usize, usize),
    pub(crate) distance: f64,
    pub(crate) weight: f64,
}

/// Computes the gradient of ½Σ weight·(W_T − W₁)² over a batch.
pub(crate) fn step(
    tree: &BinaryTree,
    measures: &Measures,
    batch: &[WeightedPair],
) -> BatchGradient {
    let groups = in_groups(tree, batch, |group| {
        let pairs: Vec<_> = group.iter().map(|g| g.pair).collect();
        let surplus = GroupSurplus::new(tree, measures, &pairs);
        let (predicted, squares) = surplus.predict(tree);
        let (mut residual, mut squared_norm) = ([0.0; LANES], 0.0);
        for (lane, label) in group.iter().enumerate() {
            residual[lane] = label.weight * (predicted[lane] - label.distance);
            squared_norm += label.weight * squares[lane];
        }
        (surplus.weighted_features(&residual), squared_norm)
    });
    let (mut gradient, mut squared_norm) = (vec![0.0; tree.height.len()], 0.0);
    for (features, norm) in groups {
        for (v, g) in features {
            gradient[v] += g;
        }
        squared_norm += norm;
    }
    BatchGradient { gradient, squared_norm }
}

/// Maps groups of [`LANES`] items, in order; in parallel if there is enough work.
fn in_groups<T: Sync, R: Send>(
    tree: &BinaryTree,
    items: &[T],
    map: impl Fn(&[T]) -> R + Sync + Send,
) -> Vec<R> {
    if items.len() * tree.height.len() < PARALLEL_WORK {
        items.chunks(LANES).map(map).collect()
    } else {
        parallel::map(items.len().div_ceil(LANES), |group| {
            map(&items[group * LANES..items.len().min((group + 1) * LANES)])
        })
    }
}

/// Surpluses of mass for up to eight pairs, at the nodes that have one of their points below them:
/// all others have none.
///
/// A cloud has few of the points of all clouds. With 100 clouds of 200 points each, loops over all
/// nodes were a sixth of the time of a learned forest.
struct GroupSurplus {
    /// Leaves, then inner nodes, both in increasing order. The first place is that of no node.
    nodes: Vec<u32>,
    /// Surplus at each place, 0 at the first.
    surplus: Vec<Lane>,
    /// Places of both children of every inner node; 0 for children without points.
    children: Vec<[u32; 2]>,
}

impl GroupSurplus {
    fn new(tree: &BinaryTree, measures: &Measures, pairs: &[(usize, usize)]) -> Self {
        let mut place = vec![0_u32; tree.height.len()];
        for row in pairs.iter().flat_map(|&(i, j)| [i, j]) {
            measures.row(row).iter().for_each(|(point, _)| place[point] = 1);
        }
        let mut nodes = vec![0];
        for (leaf, place) in place[..tree.leaves].iter_mut().enumerate().filter(|of| *of.1 > 0) {
            *place = nodes.len() as u32;
            nodes.push(leaf as u32);
        }
        let mut surplus = vec![[0.0; LANES]; nodes.len()];
        for (lane, &(i, j)) in pairs.iter().enumerate() {
            let mut add = |point: usize, mass: f64| surplus[place[point] as usize][lane] += mass;
            measures.row(i).iter().for_each(|(point, mass)| add(point, mass));
            measures.row(j).iter().for_each(|(point, mass)| add(point, -mass));
        }
        let mut children = Vec::new();
        for (v, l, r) in tree.inner() {
            let both = [place[l], place[r]];
            if both != [0, 0] {
                place[v] = nodes.len() as u32;
                nodes.push(v as u32);
                let [a, b] = both.map(|place| surplus[place as usize]);
                surplus.push(std::array::from_fn(|q| a[q] + b[q]));
                children.push(both);
            }
        }
        // Equal masses cancel at the root; rounding errors there are not part of W_T.
        surplus[place[tree.root()] as usize] = [0.0; LANES];
        Self { nodes, surplus, children }
    }

    /// Calls `visit` for every node, leaves first, with its eight values of φ.
    #[inline]
    fn for_each_feature(&self, mut visit: impl FnMut(usize, Lane)) {
        let leaves = self.nodes.len() - self.children.len();
        for (&i, f) in self.nodes[1..leaves].iter().zip(&self.surplus[1..]) {
            visit(i as usize, std::array::from_fn(|q| -f[q].abs()));
        }
        let inner = self.nodes[leaves..].iter().zip(&self.surplus[leaves..]);
        for ((&v, f), both) in inner.zip(&self.children) {
            let [a, b] = both.map(|place| &self.surplus[place as usize]);
            visit(v as usize, std::array::from_fn(|q| a[q].abs() + b[q].abs() - f[q].abs()));
        }
    }

    /// Computes Σ φ·θ and Σ φ² for each pair.
    fn predict(&self, tree: &BinaryTree) -> (Lane, Lane) {
        let (mut predicted, mut squares) = ([0.0; LANES], [0.0; LANES]);
        self.for_each_feature(|v, feature| {
            let height = tree.height[v];
            for q in 0..LANES {
                predicted[q] += feature[q] * height;
                squares[q] += feature[q] * feature[q];
            }
        });
        (predicted, squares)
    }

    /// Computes Σ over pairs of weight·φ for each node.
    fn weighted_features(&self, weight: &Lane) -> Vec<(usize, f64)> {
        let mut sums = Vec::with_capacity(self.nodes.len());
        self.for_each_feature(|v, feature| {
            sums.push((v, feature.iter().zip(weight).map(|(f, w)| f * w).sum()));
        });
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Any binary shape with any heights, and a few pairs of measures on its leaves.
    fn problems() -> impl Strategy<Value = (BinaryTree, Measures)> {
        (2..12usize).prop_flat_map(|n| {
            let merges = vec((any::<u32>(), any::<u32>()), n - 1);
            let heights = vec(-2.0..5.0, 2 * n - 1);
            let masses = vec(0.01..1.0, 20 * n);
            (merges, heights, masses).prop_map(move |(merges, height, masses)| {
                let mut clusters: Vec<u32> = (0..n as u32).collect();
                let mut children = vec![];
                for (a, b) in merges {
                    let left = clusters.swap_remove(a as usize % clusters.len());
                    let right = clusters.swap_remove(b as usize % clusters.len());
                    children.push([left, right]);
                    clusters.push((n + children.len() - 1) as u32);
                }
                let measures = Measures::from_dense(n, &masses).expect("masses above 0");
                (BinaryTree { leaves: n, children, height }, measures.normalized())
            })
        })
    }

    fn pairs() -> Vec<(usize, usize)> {
        (0..10).map(|k| (k, 19 - k)).collect()
    }

    fn loss(tree: &BinaryTree, measures: &Measures, distances: &[f64]) -> f64 {
        let predicted = predictions(tree, measures, &pairs());
        let squares = predicted.iter().zip(distances).map(|(p, d)| (p - d) * (p - d));
        0.5 * squares.sum::<f64>()
    }

    proptest! {
        #[test]
        fn it_is_the_slope_of_the_loss((tree, measures) in problems()) {
            let distances = vec![1.0; 10];
            let weighted = |&pair: &(usize, usize)| WeightedPair { pair, distance: 1.0, weight: 1.0 };
            let batch: Vec<WeightedPair> = pairs().iter().map(weighted).collect();
            let step = step(&tree, &measures, &batch);
            for v in 0..tree.height.len() {
                let at = |shift: f64| {
                    let mut moved = tree.clone();
                    moved.height[v] += shift;
                    loss(&moved, &measures, &distances)
                };
                // For a fixed shape the loss is quadratic, so central differences are exact.
                let slope = (at(1e-3) - at(-1e-3)) / 2e-3;
                prop_assert!((slope - step.gradient[v]).abs() < 1e-8, "node {}", v);
            }
        }

        #[test]
        fn the_linear_form_is_the_distance_where_heights_are_in_order(
            (mut tree, measures) in problems(),
        ) {
            // Put every parent above its children.
            for (v, l, r) in tree.clone().inner() {
                tree.height[v] = tree.height[v].max(tree.height[l]).max(tree.height[r]);
            }
            let judge = tree.to_tree().expect("a tree").pairs(&measures, &pairs(), &crate::silent);
            let predicted = predictions(&tree, &measures, &pairs());
            for (ours, judge) in predicted.iter().zip(judge.expect("valid pairs")) {
                prop_assert!((ours - judge).abs() < 1e-12 * 10.0);
            }
        }
    }
}
