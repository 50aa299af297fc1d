//! Summaries of large trees, for pages with more points than a browser can handle.

use treeport::tree::LeafGroup;
use treeport::{Model, Tree};

use crate::dendrogram::LeafGroups;

/// Maximum number of leaves of a tree that is not summarized: such a page has about a megabyte.
pub(super) const MOST_LEAVES: usize = 20_000;

/// Maximum number of leaves of all summaries in a page.
pub(super) const MOST_GROUPS: usize = 2_000;

/// Maximum number of summarized trees of a forest.
pub(super) const MOST_SUMMARIES: usize = 4;

/// Checks whether a model has too many points for a page.
pub(super) fn is_large(model: &Model) -> bool {
    model.points() > MOST_LEAVES
}

/// A tree whose leaves are groups of leaves, numbered as in [`Tree`].
#[derive(Debug)]
pub(super) struct TreeSummary {
    /// Parents; the root is its own parent.
    pub(super) parent: Vec<u32>,
    /// Lengths of the edges to the parents.
    pub(super) length: Vec<f64>,
    /// Groups, the leaves of the summary.
    pub(super) leaves: Vec<LeafGroup>,
    /// Color of all leaves of each group, if they share one.
    pub(super) color: Vec<Option<usize>>,
    /// Group of every point.
    pub(super) at: Vec<u32>,
}

impl TreeSummary {
    /// Summarizes a tree by at most `MOST_GROUPS / parts` groups of weighted points in O(n).
    pub(super) fn new(tree: &Tree, colors: &LeafGroups, weight: &[f64], parts: usize) -> Self {
        let summary = tree.summary(MOST_GROUPS / parts.max(1), weight);
        // Leaves first, in their order; then the other nodes, children before parents.
        let (count, nodes) = (summary.groups.len(), summary.parent.len());
        let mut number = vec![u32::MAX; nodes];
        for (leaf, group) in summary.groups.iter().enumerate() {
            number[group.node] = leaf as u32;
        }
        let inner = number.iter_mut().rev().filter(|number| **number == u32::MAX);
        inner.zip(count as u32..).for_each(|(number, next)| *number = next);
        let (mut parent, mut length) = (vec![0; nodes], vec![0.0; nodes]);
        for (k, &number_of_k) in number.iter().enumerate() {
            parent[number_of_k as usize] = number[summary.parent[k]];
            length[number_of_k as usize] = summary.length[k];
        }
        let color = |group: &LeafGroup| {
            let mut all = group.roots.iter().map(|&v| colors.of[v]);
            let first = all.next().flatten();
            first.filter(|_| all.all(|color| color == first))
        };
        let (color, at) =
            (summary.groups.iter().map(color).collect(), group_of_leaves(tree, &summary.groups));
        Self { parent, length, leaves: summary.groups, color, at }
    }
}

/// Returns the group of every leaf: that of its closed subtree.
fn group_of_leaves(tree: &Tree, groups: &[LeafGroup]) -> Vec<u32> {
    let mut at = vec![u32::MAX; tree.nodes()];
    for (number, group) in groups.iter().enumerate() {
        group.roots.iter().for_each(|&v| at[v] = number as u32);
    }
    for v in (0..tree.root()).rev() {
        if at[v] == u32::MAX {
            at[v] = at[tree.parents()[v] as usize];
        }
    }
    at.truncate(tree.leaves());
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balanced(leaves: usize) -> Tree {
        let nodes = 2 * leaves - 1;
        let parent = (0..nodes).map(|v| ((leaves + v / 2).min(nodes - 1)) as u32);
        let length = (0..nodes).map(|v| if v == nodes - 1 { 0.0 } else { 1.0 + (v % 3) as f64 });
        Tree::new(leaves, parent.collect(), length.collect()).unwrap()
    }

    fn chain(leaves: usize) -> Tree {
        let nodes = 2 * leaves - 1;
        let up = |v: usize| if v < leaves { leaves + v.saturating_sub(1) } else { v + 1 };
        let parent = (0..nodes).map(|v| up(v).min(nodes - 1) as u32).collect();
        let length = (0..nodes).map(|v| if v == nodes - 1 { 0.0 } else { 1.0 / (v + 1) as f64 });
        Tree::new(leaves, parent, length.collect()).unwrap()
    }

    fn summary(tree: &Tree, parts: usize) -> TreeSummary {
        TreeSummary::new(tree, &LeafGroups::new(tree, None), &[], parts)
    }

    /// Converts the summary to a tree.
    fn as_tree(summary: &TreeSummary) -> Tree {
        Tree::new(summary.leaves.len(), summary.parent.clone(), summary.length.clone()).unwrap()
    }

    #[test]
    fn every_shape_has_few_groups_and_every_leaf_is_in_one() {
        let n = 30_000;
        for (tree, fewest) in
            [(balanced(n), 400), (chain(n), 400), (Tree::star(n, 1.0).unwrap(), 400), (chain(3), 1)]
        {
            for parts in [1, 4] {
                let summary = summary(&tree, parts);
                let groups = summary.leaves.len();
                assert!((fewest / parts..=MOST_GROUPS / parts).contains(&groups), "{groups}");
                let mut sizes = vec![0; groups];
                summary.at.iter().for_each(|&group| sizes[group as usize] += 1);
                let said: Vec<usize> = summary.leaves.iter().map(|group| group.size).collect();
                assert_eq!(sizes, said);
            }
        }
    }

    #[test]
    fn groups_are_where_their_leaves_are_and_named_by_them() {
        for tree in [balanced(30_000), chain(30_000)] {
            let weight: Vec<f64> = (0..tree.leaves()).map(|p| (p * 7919 % 30_011) as f64).collect();
            let summary = TreeSummary::new(&tree, &LeafGroups::new(&tree, None), &weight, 1);
            let (far, near) = (tree.root_distances(), as_tree(&summary).root_distances());
            let mut deepest = vec![0f64; summary.leaves.len()];
            let mut heaviest = vec![0f64; summary.leaves.len()];
            for leaf in 0..tree.leaves() {
                let group = summary.at[leaf] as usize;
                deepest[group] = deepest[group].max(far[leaf]);
                heaviest[group] = heaviest[group].max(weight[leaf]);
            }
            for (k, group) in summary.leaves.iter().enumerate() {
                let reach = near[k] + group.below;
                assert!((reach - deepest[k]).abs() < 1e-9 * deepest[k], "{reach} {}", deepest[k]);
                assert_eq!(weight[group.points[0]], heaviest[k]);
                assert!(group.points.iter().all(|&p| summary.at[p] as usize == k));
                assert_eq!(group.points.len(), group.size.min(2));
            }
        }
    }

    #[test]
    fn groups_of_one_color_have_it() {
        let tree = balanced(32_768);
        let names: Vec<String> = (0..32_768).map(|p| (p / 16_384).to_string()).collect();
        let colors = LeafGroups::new(&tree, Some(&names));
        let summary = TreeSummary::new(&tree, &colors, &[], 1);
        for (leaf, &group) in summary.at.iter().enumerate() {
            assert_eq!(summary.color[group as usize], Some(leaf / 16_384));
        }
    }
}
