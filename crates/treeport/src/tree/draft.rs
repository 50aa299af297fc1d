//! Trees under construction, with nodes in any order.

use super::Tree;
use crate::error::Result;

/// Nodes with their parents, the lengths of the edges above them, and the points of leaves.
#[derive(Default)]
pub(crate) struct TreeDraft {
    pub(crate) parent: Vec<Option<usize>>,
    pub(crate) length: Vec<f64>,
    pub(crate) point: Vec<Option<usize>>,
}

impl TreeDraft {
    /// Starts with the nodes of a tree.
    pub(crate) fn of(tree: &Tree) -> Self {
        let nodes = 0..tree.nodes();
        let above = |v: usize| (v != tree.root()).then(|| tree.parents()[v] as usize);
        Self {
            parent: nodes.clone().map(above).collect(),
            length: tree.lengths().to_vec(),
            point: nodes.map(|v| (v < tree.leaves()).then_some(v)).collect(),
        }
    }

    /// Adds an inner node and returns its number.
    pub(crate) fn inner(&mut self, parent: Option<usize>, length: f64) -> usize {
        self.push(parent, length, None)
    }

    pub(crate) fn leaf(&mut self, parent: Option<usize>, length: f64, point: usize) -> usize {
        self.push(parent, length, Some(point))
    }

    fn push(&mut self, parent: Option<usize>, length: f64, point: Option<usize>) -> usize {
        self.parent.push(parent);
        self.length.push(length);
        self.point.push(point);
        self.parent.len() - 1
    }

    pub(crate) fn into_tree(self) -> Result<Tree> {
        Tree::from_unordered(&self.parent, &self.length, &self.point)
    }
}
