//! Midpoint rooting: moves the root to the middle of the longest path.

use super::Tree;
use crate::error::Result;

impl Tree {
    /// Returns the tree with its root at the midpoint of the longest path between two leaves.
    ///
    /// Rooting changes no distance, but the depth of the tree and its drawing. An ultrametric tree
    /// keeps its root, up to an edge of length 0. Nodes with one child are removed. O(n).
    ///
    /// # Errors
    /// None for a valid tree.
    pub fn rerooted_at_middle(&self) -> Result<Self> {
        let neighbors = self.neighbors();
        // The farthest leaf from any leaf is an end of a longest path.
        let (from_first, _) = self.walk(&neighbors, 0);
        let one_end = self.farthest_leaf(&from_first);
        let (from_end, toward_end) = self.walk(&neighbors, one_end);
        let other_end = self.farthest_leaf(&from_end);
        let half = 0.5 * from_end[other_end];
        // Climb from the far end until the next edge crosses the midpoint: the edge to split.
        let mut below = other_end;
        while below != one_end && from_end[toward_end[below]] > half {
            below = toward_end[below];
        }
        if below == one_end {
            return Ok(self.clone()); // all leaves coincide
        }
        let above = toward_end[below];
        let (lower, upper) = (from_end[below] - half, half - from_end[above]);
        self.split_edge((below, lower), (above, upper), &neighbors)
    }

    /// Returns the neighbors of every node with edge lengths: children, then the parent.
    fn neighbors(&self) -> Vec<Vec<(usize, f64)>> {
        let mut neighbors = vec![Vec::new(); self.nodes()];
        for v in 0..self.root() {
            let p = self.parents()[v] as usize;
            neighbors[p].push((v, self.lengths()[v]));
        }
        for v in 0..self.root() {
            neighbors[v].push((self.parents()[v] as usize, self.lengths()[v]));
        }
        neighbors
    }

    /// Computes the distance of every node from `start`, and the neighbor on the path to it.
    fn walk(&self, neighbors: &[Vec<(usize, f64)>], start: usize) -> (Vec<f64>, Vec<usize>) {
        let mut distance = vec![0.0; self.nodes()];
        let mut toward = vec![start; self.nodes()];
        let mut stack = vec![start];
        while let Some(v) = stack.pop() {
            let came_from = toward[v];
            for &(u, length) in neighbors[v].iter().filter(|&&(u, _)| u != came_from) {
                distance[u] = distance[v] + length;
                toward[u] = v;
                stack.push(u);
            }
        }
        (distance, toward)
    }

    /// Returns the farthest leaf; ties go to the smallest number.
    fn farthest_leaf(&self, distance: &[f64]) -> usize {
        (1..self.leaves()).fold(0, |far, i| if distance[i] > distance[far] { i } else { far })
    }

    /// Inserts the root into the edge between two neighbors, each given with its distance from the
    /// root.
    fn split_edge(
        &self,
        one: (usize, f64),
        other: (usize, f64),
        neighbors: &[Vec<(usize, f64)>],
    ) -> Result<Self> {
        let mut parent = vec![None; self.nodes() + 1];
        let mut length = vec![0.0; self.nodes() + 1];
        let root = self.nodes();
        let mut stack = Vec::new();
        for ((v, above), (across, _)) in [(one, other), (other, one)] {
            (parent[v], length[v]) = (Some(root), above);
            stack.push((v, across));
        }
        let mut children = vec![0usize; self.nodes() + 1];
        children[root] = 2;
        while let Some((v, came_from)) = stack.pop() {
            for &(u, above) in neighbors[v].iter().filter(|&&(u, _)| u != came_from) {
                (parent[u], length[u]) = (Some(v), above);
                children[v] += 1;
                stack.push((u, v));
            }
        }
        // An old root with a single child is now a leaf without a point: remove it and its path.
        let mut end = self.root();
        let mut gone = vec![false; self.nodes() + 1];
        while end >= self.leaves() && children[end] == 0 {
            gone[end] = true;
            end = parent[end].expect("the new root has two children");
            children[end] -= 1;
        }
        let point: Vec<_> = (0..=root).map(|v| (v < self.leaves()).then_some(v)).collect();
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
