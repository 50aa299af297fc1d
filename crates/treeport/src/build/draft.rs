//! Trees under construction: nodes from the root down, in order of creation.

use crate::error::Result;
use crate::tree::Tree;

/// Nodes with their parents, the lengths of the edges above them, and the points of leaves.
#[derive(Default)]
pub(super) struct TreeDraft {
    parent: Vec<Option<usize>>,
    length: Vec<f64>,
    point: Vec<Option<usize>>,
}

impl TreeDraft {
    /// Adds an inner node and returns its number.
    pub(super) fn inner(&mut self, parent: Option<usize>, length: f64) -> usize {
        self.push(parent, length, None)
    }

    /// Adds the leaf of a point.
    pub(super) fn leaf(&mut self, parent: Option<usize>, length: f64, point: usize) {
        self.push(parent, length, Some(point));
    }

    fn push(&mut self, parent: Option<usize>, length: f64, point: Option<usize>) -> usize {
        self.parent.push(parent);
        self.length.push(length);
        self.point.push(point);
        self.parent.len() - 1
    }

    pub(super) fn into_tree(self) -> Result<Tree> {
        Tree::from_unordered(&self.parent, &self.length, &self.point)
    }
}
