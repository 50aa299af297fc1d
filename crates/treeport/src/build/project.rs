//! Projection of node heights back to trees after a gradient step.
//!
//! A step on node heights gives numbers that no longer belong to a tree of that shape: a parent may
//! be below its child, and leaves off the ground. \[CTW24\] projects by single linkage of the N×N
//! matrix of distances that the heights imply (`proj`, Prim, O(N²)). Here the same single linkage
//! is computed from the heights themselves in O(N log N) ([`crate::build::spanning`]), for ultrametric
//! trees and, through the Gromov product, for additive ones.

use crate::build::binary::BinaryTree;
use crate::build::spanning;
use crate::error::{Error, Result};
use crate::tree::Tree;

/// Computes the ultrametric projection of \[CTW24\]: single linkage of the leaf distances that
/// `heights` imply on `tree`.
///
/// $$ \hat d_{ij} = 2\theta_{\mathrm{lca}(i,j)} - \theta_i - \theta_j $$
///
/// Heights below 0 become 0. The projection of an ultrametric tree's own heights has the same
/// distances.
///
/// # Errors
/// The number of heights is not the number of nodes; a height is not finite or near the largest
/// number.
///
/// # Complexity
/// O(n log n) time and O(n) memory for n points.
///
/// # Example
/// ```
/// // ((0,1),2) with heights 1 and 2; lifting the lower node above the upper one makes 2 join first.
/// let tree = treeport::Tree::new(3, vec![3, 3, 4, 4, 4], vec![1.0, 1.0, 2.0, 1.0, 0.0])?;
/// let projected = treeport::project(&tree, &[0.0, 0.0, 0.0, 5.0, 2.0])?;
/// assert_eq!(projected.leaf_distance(0, 1), 4.0);
/// assert_eq!(projected.leaf_distance(0, 2), 4.0);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn project(tree: &Tree, heights: &[f64]) -> Result<Tree> {
    check(tree, heights)?;
    ultrametric(&BinaryTree::from_tree(tree, heights)).to_tree()?.named_as(tree)
}

/// Computes the additive projection from leaf `r`: single linkage of the Gromov product of the
/// distances that `heights` imply.
///
/// With ρ_i = d̂(i, r), the Farris transform ½(d̂(i, j) − ρ_i − ρ_j) is an ultrametric (up to a
/// shift) exactly if d̂ is a tree metric. Its single linkage g therefore gives the tree metric
/// d(i, j) = 2g(lca) + ρ_i + ρ_j. Distances from `r` are kept wherever they are consistent with a
/// tree.
///
/// # Errors
/// `r` is not a leaf; see also [`project`].
///
/// # Complexity
/// O(n log n) time and O(n) memory.
pub fn project_additive(tree: &Tree, heights: &[f64], r: usize) -> Result<Tree> {
    check(tree, heights)?;
    if r >= tree.leaves() {
        return Err(Error::BadOption {
            option: "the leaf to project from",
            value: r.to_string(),
            expected: "it must be one of the points",
        });
    }
    additive(&BinaryTree::from_tree(tree, heights), r).to_tree()?.named_as(tree)
}

fn check(tree: &Tree, heights: &[f64]) -> Result<()> {
    if heights.len() != tree.nodes() {
        return Err(Error::Shape {
            what: "the list of heights".into(),
            expected: format!("({},)", tree.nodes()),
            found: format!("({},)", heights.len()),
        });
    }
    // Sums and differences of a few heights must not overflow.
    match heights.iter().position(|h| h.is_nan() || h.abs() > f64::MAX / 8.0) {
        Some(v) => {
            Err(Error::BadTree { reason: format!("the height of node {v} is {}", heights[v]) })
        }
        None => Ok(()),
    }
}

/// Computes [`project`] on a binary tree with finite heights.
pub(crate) fn ultrametric(tree: &BinaryTree) -> BinaryTree {
    let b: Vec<f64> = tree.height[..tree.leaves].iter().map(|h| 0.5 * h).collect();
    let mut projected = spanning::merge(tree.leaves, spanning::lightest(tree, &b));
    projected.height.iter_mut().for_each(|h| *h = h.max(0.0));
    projected
}

/// Computes [`project_additive`] on a binary tree with finite heights.
///
/// With r at height 0, ρ_i = 2θ(meet_i) − θ_i and b_i = ½(θ_i + ρ_i) = θ(meet_i), where meet_i is
/// the lowest common ancestor of i and r. In this form equal weights are equal to the last bit, and
/// ties are broken by point, not by rounding; ties are frequent where a step moved a child above
/// its parent.
pub(crate) fn additive(tree: &BinaryTree, r: usize) -> BinaryTree {
    let ground = tree.height[r];
    let heights = tree.height.iter().map(|h| h - ground).collect();
    let grounded = BinaryTree { height: heights, ..tree.clone() };
    let mut b = grounded.meeting_heights(r);
    let mut leaf = vec![0.0; tree.leaves];
    for i in (0..tree.leaves).filter(|&i| i != r) {
        let to_r = 2.0 * b[i] - grounded.height[i];
        leaf[i] = -to_r.max(0.0);
        if to_r < 0.0 {
            b[i] = 0.5 * grounded.height[i];
        }
    }
    let mut projected = spanning::merge(tree.leaves, spanning::lightest(&grounded, &b));
    let parent = projected.parents();
    for i in 0..tree.leaves {
        projected.height[i] = leaf[i].min(projected.height[parent[i] as usize]);
    }
    projected
}
