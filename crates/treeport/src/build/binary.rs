//! Binary trees with a height at every node: the form in which trees are learned.

use crate::error::Result;
use crate::tree::Tree;

/// A binary tree over `leaves` points with heights that need not be in order.
///
/// Inner node `leaves + k` has the children `children[k]`, which have smaller numbers; the root is
/// last. The distance of two leaves is 2·height(lca) − height(i) − height(j).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BinaryTree {
    pub(crate) leaves: usize,
    pub(crate) children: Vec<[u32; 2]>,
    pub(crate) height: Vec<f64>,
}

impl BinaryTree {
    /// Converts a tree with node heights: k children become k − 1 nodes, one child becomes none.
    pub(crate) fn from_tree(tree: &Tree, heights: &[f64]) -> Self {
        let leaves = tree.leaves();
        let mut binary = Self::with_leaves(heights[..leaves].to_vec());
        // Binary node that represents each node so far; it gains one child at a time.
        let mut stands_for: Vec<Option<u32>> = vec![None; tree.nodes()];
        for v in 0..tree.root() {
            let child = if v < leaves {
                v as u32
            } else {
                stands_for[v].expect("inner nodes have children")
            };
            let parent = tree.parents()[v] as usize;
            stands_for[parent] = Some(match stands_for[parent] {
                None => child,
                Some(sibling) => binary.join(sibling, child, heights[parent]),
            });
        }
        binary
    }

    /// Creates leaves at the given heights, without inner nodes.
    pub(crate) fn with_leaves(height: Vec<f64>) -> Self {
        Self { leaves: height.len(), children: Vec::with_capacity(height.len() - 1), height }
    }

    /// Adds an inner node and returns its number.
    pub(crate) fn join(&mut self, left: u32, right: u32, height: f64) -> u32 {
        self.children.push([left, right]);
        self.height.push(height);
        (self.height.len() - 1) as u32
    }

    pub(crate) fn divide_heights(&mut self, by: f64) {
        self.height.iter_mut().for_each(|h| *h /= by);
    }

    /// Returns the largest absolute height, or NaN if any height is NaN.
    pub(crate) fn largest_height(&self) -> f64 {
        self.height.iter().fold(0.0, |most: f64, h| if h.abs() <= most { most } else { h.abs() })
    }

    pub(crate) fn root(&self) -> usize {
        self.height.len() - 1
    }

    /// Iterates over (node, left child, right child) of the inner nodes, children before parents.
    pub(crate) fn inner(&self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> + '_ {
        let children = self.children.iter().enumerate();
        children.map(|(k, &[l, r])| (self.leaves + k, l as usize, r as usize))
    }

    /// Returns the parent of every node; the root is its own parent.
    pub(crate) fn parents(&self) -> Vec<u32> {
        let mut parent = vec![self.root() as u32; self.height.len()];
        for (v, l, r) in self.inner() {
            parent[l] = v as u32;
            parent[r] = v as u32;
        }
        parent
    }

    /// Converts to a [`Tree`]; a parent below its child gives an edge of length 0.
    pub(crate) fn to_tree(&self) -> Result<Tree> {
        Tree::from_heights(self.leaves, self.parents(), &self.height)
    }

    /// Returns the height of the lowest common ancestor of leaf `r` and each leaf. O(n).
    pub(crate) fn meeting_heights(&self, r: usize) -> Vec<f64> {
        let parent = self.parents();
        let mut meet = vec![f64::NAN; self.height.len()];
        let mut on_path = r;
        meet[r] = self.height[r];
        while on_path != self.root() {
            on_path = parent[on_path] as usize;
            meet[on_path] = self.height[on_path];
        }
        for v in (0..self.root()).rev() {
            if meet[v].is_nan() {
                meet[v] = meet[parent[v] as usize];
            }
        }
        meet.truncate(self.leaves);
        meet
    }
}
