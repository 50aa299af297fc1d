//! Dual potentials of a tree distance.
//!
//! With f(v) the surplus of mass below v, u(v) = u(parent) + sign(f(v))·length(v). Hence
//! |u(i) − u(j)| is at most the length of the path from i to j, with equality where the tree's plan
//! moves mass, and Σ u·(μ − ρ) = W_T.

use super::Tree;
use super::distance::differences;
use crate::measures::Measure;
use crate::numeric::order::RankOrder;

/// Potentials of the points of two measures.
pub(crate) struct TreePotentials {
    /// Points, increasing.
    points: Vec<u32>,
    potentials: Vec<f64>,
}

impl TreePotentials {
    /// Computes the weighted mean of the potentials of several trees, each with u = 0 at the lowest
    /// node above all points, in O(s log s) per tree. Trees have different errors, so the mean is
    /// closer to a dual solution of the ground metric than any of them.
    pub(crate) fn mean(
        trees: &[Tree],
        weights: impl Iterator<Item = f64>,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Self {
        let (points, surplus): (Vec<u32>, Vec<f64>) = differences(a, b).unzip();
        let mut potentials = vec![0.0; points.len()];
        let mut spanned = Spanned::default();
        for (tree, weight) in trees.iter().zip(weights) {
            let of_tree = spanned.potentials(tree, &points, &surplus);
            potentials
                .iter_mut()
                .zip(of_tree)
                .for_each(|(mean, potential)| *mean += weight * potential);
        }
        Self { points, potentials }
    }

    /// Returns the potential of a point; 0 for points of neither measure.
    pub(crate) fn at(&self, point: usize) -> f64 {
        let found = u32::try_from(point).ok().and_then(|p| self.points.binary_search(&p).ok());
        found.map_or(0.0, |place| self.potentials[place])
    }
}

/// Subtree spanned by a set of leaves, with reusable buffers.
#[derive(Default)]
struct Spanned {
    order: RankOrder,
    branches: Vec<u32>,
    stack: Vec<(u32, SpannedNode)>,
    /// Parents: leaves first, then inner nodes as they are created, children first.
    parent: Vec<u32>,
    /// Potential of a node relative to its parent; in the end relative to the root.
    potential: Vec<f64>,
}

/// A node of the spanned subtree, and the surplus below it.
#[derive(Clone, Copy)]
struct SpannedNode {
    node: u32,
    surplus: f64,
}

impl Spanned {
    /// Computes the potentials of the given, distinct points.
    fn potentials(&mut self, tree: &Tree, points: &[u32], surplus: &[f64]) -> &[f64] {
        let Self { order, branches, stack, parent, potential } = self;
        let index = tree.index();
        order.sort(points.iter().map(|&point| index.rank[point as usize]), index.last_rank());
        index.branches(order.iter().map(|leaf| leaf.0), branches);
        potential.clear();
        potential.resize(2 * points.len(), 0.0);
        parent.clear();
        parent.resize(points.len(), 0);
        let leaf = |k: u32| SpannedNode { node: k, surplus: surplus[k as usize] };
        let leaves = branches.iter().zip(order.iter());
        index.sweep(
            stack,
            leaves.map(|(&branch, (rank, k))| (branch, rank, leaf(k))),
            |part, length| potential[part.node as usize] += sign(part.surplus) * length,
            |waiting, arrived| {
                let node = parent.len() as u32;
                parent[waiting.node as usize] = node;
                parent[arrived.node as usize] = node;
                // Its own parent is set when it meets another node; the last one has none.
                parent.push(node);
                *waiting = SpannedNode { node, surplus: waiting.surplus + arrived.surplus };
            },
        );
        for node in (0..parent.len().saturating_sub(1)).rev() {
            potential[node] += potential[parent[node] as usize];
        }
        &potential[..points.len()]
    }
}

/// Returns the sign of x; 0 for 0, unlike [`f64::signum`].
fn sign(x: f64) -> f64 {
    f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Measures;

    /// A comb with three-way side branches, edges of length 0 and a node with one child.
    fn tree() -> Tree {
        let side = |k: usize| format!("({0}a:{1},{0}b:2,{0}c:0.5):{2}", k, k % 3, k % 4);
        let comb =
            (0..9).fold("(z:1):1".to_owned(), |inner, k| format!("({inner},{}):0.75", side(k)));
        Tree::from_newick(&format!("{comb};")).unwrap()
    }

    #[test]
    fn they_prove_the_distance_of_the_tree() {
        let tree = tree();
        let n = tree.leaves();
        for seed in 1..40 {
            // Some masses are 0, some the same in both.
            let mass = |k: usize| (k * k * 31 + 7 * k * seed) % 11 / 3;
            let masses: Vec<f64> = (0..2 * n).map(|k| mass(k) as f64).collect();
            let measures = Measures::from_dense(n, &masses).unwrap().normalized();
            let (a, b) = (measures.row(0), measures.row(1));
            let potentials =
                TreePotentials::mean(std::slice::from_ref(&tree), [1.0].into_iter(), &a, &b);
            let rise: f64 = a.iter().map(|(p, mass)| mass * potentials.at(p)).sum();
            let fall: f64 = b.iter().map(|(p, mass)| mass * potentials.at(p)).sum();
            let distance = tree.distance(&a, &b).unwrap();
            assert!((rise - fall - distance).abs() <= 1e-12, "{rise} {fall} {distance}");
            for &i in &potentials.points {
                for &j in &potentials.points {
                    let (i, j) = (i as usize, j as usize);
                    let gap = potentials.at(i) - potentials.at(j);
                    assert!(gap <= tree.leaf_distance(i, j) + 1e-12, "{i} {j}: {gap}");
                }
            }
        }
    }
}
