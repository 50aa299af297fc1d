//! Attachment of new leaves to one tree, each as a twin of its linked leaf.

use super::links::{Link, Neighborhood};
use crate::error::Result;
use crate::tree::Tree;

/// Number of nearest leaves of a reference that determine the scale of near distances.
const NEAR: usize = 4;

/// Smallest length of a new edge, as a share of the distance to the linked leaf at the tree's
/// scale.
const LEAST_SHARE: f64 = 0.25;

/// Scale of a tree relative to the ground metric.
pub(super) struct Scale {
    /// Ratio of tree distance to distance, between references.
    far: f64,
    /// Ratio of tree distance to distance, between references and their nearest points.
    near: f64,
}

impl Scale {
    /// Computes the scale of a tree: O(references · N) distances.
    pub(super) fn new(tree: &Tree, neighborhood: &Neighborhood<'_>) -> Self {
        let old: Vec<usize> = (0..neighborhood.old).collect();
        let mut row = vec![0.0; neighborhood.old];
        let (mut far, mut near) = ((0.0, 0.0), (0.0, 0.0));
        for &from in &neighborhood.references {
            neighborhood.metric.block(&[from], &old, &mut row);
            let add = |sums: &mut (f64, f64), to: usize| {
                sums.0 += tree.leaf_distance(from, to);
                sums.1 += row[to];
            };
            neighborhood.references.iter().for_each(|&to| add(&mut far, to));
            let mut others: Vec<usize> =
                old.iter().copied().filter(|&to| to != from && row[to] > 0.0).collect();
            let order = |&a: &usize, &b: &usize| row[a].total_cmp(&row[b]).then(a.cmp(&b));
            if others.len() > NEAR {
                others.select_nth_unstable_by(NEAR - 1, order);
                others.truncate(NEAR);
                // A sum of floats depends on its order.
                others.sort_unstable_by(order);
            }
            for &to in &others {
                add(&mut near, to);
            }
        }
        let ratio = |(tree, points): (f64, f64)| {
            let ratio = tree / points;
            if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
        };
        Self { far: ratio(far), near: ratio(near) }
    }
}

/// Attaches new leaves to a tree; distances between old ones do not change.
///
/// Leaf y has an edge of length l. Its twin x is attached to a place on that edge,
/// min(l, ½ s·D(x, y)) above y, where s is the scale of near distances: usually the parent of y. If
/// x were exactly like y, its edge would be as long as the path from y to that place; it is longer
/// by the difference of their mean distances to the references, at their scale.
pub(super) fn attach_all(
    tree: &Tree,
    neighborhood: &Neighborhood<'_>,
    links: &[Link],
) -> Result<Tree> {
    let scale = Scale::new(tree, neighborhood);
    let mut growing = GrowingTree::new(tree, neighborhood.metric.points());
    for &Link { point, beside, distance } in links {
        let near = scale.near * distance;
        let up = growing.leaf_edge(beside).min(0.5 * near);
        let farther = scale.far * (neighborhood.mean[point] - neighborhood.mean[beside]);
        let length = if distance == 0.0 { 0.0 } else { (up + farther).max(LEAST_SHARE * near) };
        growing.attach(point, beside, up, length);
    }
    growing.finish()
}

/// A tree under construction, with nodes in any order.
struct GrowingTree {
    parent: Vec<Option<usize>>,
    length: Vec<f64>,
    point: Vec<Option<usize>>,
    /// Node of each point.
    leaf: Vec<usize>,
}

impl GrowingTree {
    fn new(tree: &Tree, points: usize) -> Self {
        let nodes = tree.nodes();
        let above = |v: usize| (v != tree.root()).then(|| tree.parents()[v] as usize);
        let mut leaf: Vec<usize> = (0..tree.leaves()).collect();
        leaf.resize(points, usize::MAX);
        let mut growing = Self {
            parent: (0..nodes).map(above).collect(),
            length: tree.lengths().to_vec(),
            point: (0..nodes).map(|v| (v < tree.leaves()).then_some(v)).collect(),
            leaf,
        };
        if tree.root() < tree.leaves() {
            // A single leaf is its own root; new ones need a parent above it.
            growing.parent[0] = Some(growing.add(None, 0.0, None));
        }
        growing
    }

    fn add(&mut self, parent: Option<usize>, length: f64, point: Option<usize>) -> usize {
        self.parent.push(parent);
        self.length.push(length);
        self.point.push(point);
        self.parent.len() - 1
    }

    fn leaf_edge(&self, point: usize) -> f64 {
        self.length[self.leaf[point]]
    }

    /// Attaches a point to the edge of leaf `beside`, at height `up` or at the upper end.
    fn attach(&mut self, point: usize, beside: usize, up: f64, length: f64) {
        let below = self.leaf[beside];
        let (whole, above) = (self.length[below], self.parent[below]);
        let is_at_parent = up >= whole && above.is_some_and(|v| self.point[v].is_none());
        let place = if is_at_parent {
            above
        } else {
            let place = self.add(above, (whole - up).max(0.0), None);
            (self.parent[below], self.length[below]) = (Some(place), up);
            Some(place)
        };
        self.leaf[point] = self.add(place, length, Some(point));
    }

    fn finish(self) -> Result<Tree> {
        Tree::from_unordered(&self.parent, &self.length, &self.point)
    }
}
