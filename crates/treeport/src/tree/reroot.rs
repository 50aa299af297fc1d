//! Midpoint rooting: moves the root to the middle of the longest path.

use super::{Tree, TreeDraft};
use crate::error::Result;

impl Tree {
    /// Returns the tree with its root at the midpoint of the longest path between two leaves.
    ///
    /// Rooting changes no distance, but the depth of the tree and its drawing. An ultrametric tree
    /// keeps its root, up to an edge of length 0. Nodes with one child are removed. O(n).
    pub fn rerooted_at_middle(&self) -> Result<Self> {
        // The farthest leaf from any leaf is an end of a longest path.
        let one_end = self.farthest_leaf(&self.distances_from(0).0);
        let (from_end, toward_end) = self.distances_from(one_end);
        let other_end = self.farthest_leaf(&from_end);
        let half = 0.5 * from_end[other_end];
        // Climb from the far end until the next edge crosses the midpoint: the edge to split.
        let mut here = other_end;
        while here != one_end && from_end[toward_end[here]] > half {
            here = toward_end[here];
        }
        if here == one_end {
            return Ok(self.clone()); // all leaves coincide
        }
        let next = toward_end[here];
        let ends = [(here, from_end[here] - half), (next, half - from_end[next])];
        let is_child = self.parents()[here] as usize == next;
        let [child, parent] = if is_child { ends } else { [ends[1], ends[0]] };
        self.split_edge(child, parent)
    }

    /// Computes the distance of every node from a leaf, and the neighbor on the path to the leaf.
    fn distances_from(&self, leaf: usize) -> (Vec<f64>, Vec<usize>) {
        let mut distance = vec![f64::NAN; self.nodes()];
        let mut toward: Vec<usize> = self.parents().iter().map(|&p| p as usize).collect();
        distance[leaf] = 0.0;
        let mut node = leaf;
        while node != self.root() {
            let parent = self.parents()[node] as usize;
            (distance[parent], toward[parent]) = (distance[node] + self.lengths()[node], node);
            node = parent;
        }
        for v in (0..self.root()).rev() {
            if distance[v].is_nan() {
                distance[v] = distance[toward[v]] + self.lengths()[v];
            }
        }
        (distance, toward)
    }

    /// Returns the farthest leaf; ties go to the smallest number.
    fn farthest_leaf(&self, distance: &[f64]) -> usize {
        (1..self.leaves()).fold(0, |far, i| if distance[i] > distance[far] { i } else { far })
    }

    /// Inserts the root into the edge between two nodes at their distances from it.
    fn split_edge(&self, child: (usize, f64), parent: (usize, f64)) -> Result<Self> {
        let mut draft = TreeDraft::of(self);
        let root = draft.inner(None, 0.0);
        (draft.parent[child.0], draft.length[child.0]) = (Some(root), child.1);
        // The path from the edge to the old root is reversed.
        let (mut above, mut length, mut next) = (root, parent.1, Some(parent.0));
        while let Some(v) = next {
            next = draft.parent[v].replace(above);
            length = std::mem::replace(&mut draft.length[v], length);
            above = v;
        }
        let TreeDraft { mut parent, mut length, point } = draft;
        let mut children = vec![0usize; root + 1];
        parent.iter().flatten().for_each(|&above| children[above] += 1);
        // An old root with a single child is now a leaf without a point: remove it and its path.
        let mut end = self.root();
        let mut gone = vec![false; self.nodes() + 1];
        while end >= self.leaves() && children[end] == 0 {
            gone[end] = true;
            end = parent[end].expect("the new root has two children");
            children[end] -= 1;
        }
        without_unary(&mut parent, &mut length, &children);
        let kept: Vec<usize> = (0..=root).filter(|&v| children[v] != 1 && !gone[v]).collect();
        let mut number = vec![0; root + 1];
        kept.iter().enumerate().for_each(|(k, &v)| number[v] = k);
        let parent: Vec<_> = kept.iter().map(|&v| parent[v].map(|p| number[p])).collect();
        let length: Vec<_> = kept.iter().map(|&v| length[v]).collect();
        let point: Vec<_> = kept.iter().map(|&v| point[v]).collect();
        Self::from_unordered(&parent, &length, &point)?.named_as(self)
    }
}

/// Removes ancestors with a single child from the paths of all nodes, and adds up their edges.
fn without_unary(parent: &mut [Option<usize>], length: &mut [f64], children: &[usize]) {
    for v in (0..parent.len()).filter(|&v| children[v] != 1) {
        while let Some(p) = parent[v].filter(|&p| children[p] == 1) {
            length[v] += length[p];
            parent[v] = parent[p];
        }
    }
}
