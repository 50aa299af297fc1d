//! Attachment of new leaves to one tree, each beside its nearest leaf.

use super::nearest_leaves::{NearestLeaf, Neighborhood};
use crate::error::Result;
use crate::tree::{Tree, TreeDraft};

/// Number of nearest leaves of a reference that determine the scale of near distances.
const NEAR: usize = 4;

/// Smallest length of a new edge, as a share of the distance to the nearest leaf.
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
/// Leaf y has an edge of length l. The new leaf x is attached min(l, ½ s·D(x, y)) above y, where s
/// is the scale of near distances: usually at the parent of y. Its edge is as long as the path from
/// y to that place, plus the difference of the mean distances of x and y to the references, at
/// their scale.
pub(super) fn attach_all(
    tree: &Tree,
    neighborhood: &Neighborhood<'_>,
    nearest: &[NearestLeaf],
) -> Result<Tree> {
    let scale = Scale::new(tree, neighborhood);
    let mut growing = GrowingTree::new(tree, neighborhood.metric.points());
    for &NearestLeaf { point, beside, distance } in nearest {
        let near = scale.near * distance;
        let up = growing.leaf_edge(beside).min(0.5 * near);
        let farther = scale.far * (neighborhood.mean[point] - neighborhood.mean[beside]);
        let length = if distance == 0.0 { 0.0 } else { (up + farther).max(LEAST_SHARE * near) };
        growing.attach(point, beside, up, length);
    }
    growing.draft.into_tree()
}

/// A tree to which leaves are attached.
struct GrowingTree {
    draft: TreeDraft,
    /// Node of each point.
    leaf: Vec<usize>,
}

impl GrowingTree {
    fn new(tree: &Tree, points: usize) -> Self {
        let mut leaf: Vec<usize> = (0..tree.leaves()).collect();
        leaf.resize(points, usize::MAX);
        let mut draft = TreeDraft::of(tree);
        if tree.root() < tree.leaves() {
            // A single leaf is its own root; new ones need a parent above it.
            draft.parent[0] = Some(draft.inner(None, 0.0));
        }
        Self { draft, leaf }
    }

    fn leaf_edge(&self, point: usize) -> f64 {
        self.draft.length[self.leaf[point]]
    }

    /// Attaches a point to the edge of leaf `beside`, at height `up` or at the upper end.
    fn attach(&mut self, point: usize, beside: usize, up: f64, length: f64) {
        let (below, draft) = (self.leaf[beside], &mut self.draft);
        let (edge, above) = (draft.length[below], draft.parent[below]);
        let is_at_parent = up >= edge && above.is_some_and(|v| draft.point[v].is_none());
        let place = if is_at_parent {
            above
        } else {
            let place = draft.inner(above, (edge - up).max(0.0));
            (draft.parent[below], draft.length[below]) = (Some(place), up);
            Some(place)
        };
        self.leaf[point] = draft.leaf(place, length, point);
    }
}
