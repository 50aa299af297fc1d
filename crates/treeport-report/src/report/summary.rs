//! Summaries of large trees, for pages with more points than a browser can handle.
//!
//! Subtrees with fewer leaves than a fixed share of all are closed. The remaining tree has few
//! leaves and long paths. Neighboring closed subtrees along a path are grouped until they have as
//! many leaves as the share. Each group is a leaf of the summary, so the summary has at most four
//! leaves per share, whatever the shape of the tree.

use treeport::tree::Children;
use treeport::{Model, Tree};

use crate::dendrogram::LeafGroups;

/// Maximum number of leaves of a tree that is not summarized: such a page has about a megabyte.
pub(super) const MOST_LEAVES: usize = 20_000;

/// Maximum number of leaves of all summaries in a page.
pub(super) const MOST_GROUPS: usize = 2_000;

/// Maximum number of summarized trees of a forest.
pub(super) const MOST_SUMMARIES: usize = 4;

/// Points that represent a group.
const NAMED: usize = 2;

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
    pub(super) leaves: Vec<SummaryLeaf>,
    /// Group of every point.
    pub(super) at: Vec<u32>,
}

/// A group of leaves shown as one.
#[derive(Debug)]
pub(super) struct SummaryLeaf {
    /// Number of leaves.
    pub(super) size: usize,
    /// Depth of the deepest leaf below the node.
    pub(super) below: f64,
    /// Number of subtrees, along one path.
    pub(super) branches: usize,
    /// Color of all leaves, if they share one.
    pub(super) color: Option<usize>,
    /// Heaviest points, or the first ones.
    pub(super) points: Vec<usize>,
}

impl TreeSummary {
    /// Summarizes a tree by at most `MOST_GROUPS / parts` groups. `weight` has one entry per point
    /// or is empty. O(n) time and memory.
    pub(super) fn new(tree: &Tree, colors: &LeafGroups, weight: &[f64], parts: usize) -> Self {
        let below = SubtreeSummary::new(tree, weight);
        let most = (MOST_GROUPS / parts.max(1)).max(4);
        let least = tree.leaves().div_ceil(most).max(2);
        // Four times the share always suffices; most shapes need less.
        let walks = [1, 2, 4].map(|times| times * least);
        let walk = |least| Walk::new(tree, &below, colors, weight, least);
        let fits = |walk: &Walk<'_>| walk.groups.len() <= most || walk.least == walks[2];
        let walk = walks.into_iter().map(walk).find(fits).expect("the last one fits");
        let Walk { nodes, groups, .. } = walk;
        // Leaves first, in their order; then the other nodes, children before parents.
        let count = groups.len();
        let inner = nodes.len() - count;
        let mut number = vec![0u32; nodes.len()];
        let (mut leaf, mut other) = (0, inner);
        for (k, node) in nodes.iter().enumerate() {
            if node.is_group {
                number[k] = leaf;
                leaf += 1;
            } else {
                other -= 1;
                number[k] = (count + other) as u32;
            }
        }
        let (mut parent, mut length) = (vec![0; nodes.len()], vec![0.0; nodes.len()]);
        for (k, node) in nodes.iter().enumerate() {
            parent[number[k] as usize] = number[node.parent];
            length[number[k] as usize] = node.length;
        }
        let at = group_of_leaves(tree, &groups);
        Self { parent, length, leaves: groups.into_iter().map(|(group, _)| group).collect(), at }
    }
}

/// Returns the group of every leaf: that of its closed subtree.
fn group_of_leaves(tree: &Tree, groups: &[(SummaryLeaf, Vec<usize>)]) -> Vec<u32> {
    let mut at = vec![u32::MAX; tree.nodes()];
    for (number, (_, roots)) in groups.iter().enumerate() {
        for &v in roots {
            at[v] = number as u32;
        }
    }
    for v in (0..tree.root()).rev() {
        if at[v] == u32::MAX {
            at[v] = at[tree.parents()[v] as usize];
        }
    }
    at.truncate(tree.leaves());
    at
}

/// Statistics of the leaves below every node.
struct SubtreeSummary {
    /// Number of leaves.
    size: Vec<usize>,
    /// Depth of the deepest leaf.
    deepest: Vec<f64>,
    /// Heaviest leaves.
    points: Vec<[u32; NAMED]>,
}

/// Marks a missing point.
const NONE: u32 = u32::MAX;

impl SubtreeSummary {
    fn new(tree: &Tree, weight: &[f64]) -> Self {
        let nodes = tree.nodes();
        let (mut size, mut deepest) = (vec![0; nodes], vec![0.0; nodes]);
        let mut points = vec![[NONE; NAMED]; nodes];
        for v in 0..nodes {
            if v < tree.leaves() {
                (size[v], points[v][0]) = (1, v as u32);
            }
            if v != tree.root() {
                let p = tree.parents()[v] as usize;
                size[p] += size[v];
                deepest[p] = f64::max(deepest[p], deepest[v] + tree.lengths()[v]);
                points[p] = heavier(points[p], points[v], weight);
            }
        }
        Self { size, deepest, points }
    }
}

/// Returns the heaviest points of both; the first in a tie.
fn heavier(a: [u32; NAMED], b: [u32; NAMED], weight: &[f64]) -> [u32; NAMED] {
    let heavy = |point: u32| weight.get(point as usize).copied().unwrap_or(0.0);
    let mut all: Vec<u32> = a.into_iter().chain(b).filter(|&point| point != NONE).collect();
    all.sort_unstable_by(|&p, &q| heavy(q).total_cmp(&heavy(p)).then(p.cmp(&q)));
    all.resize(all.len().max(NAMED), NONE);
    std::array::from_fn(|k| all[k])
}

/// A node of the summary; parents precede children.
struct Node {
    parent: usize,
    length: f64,
    is_group: bool,
}

/// A summary while it is built.
struct Walk<'a> {
    tree: &'a Tree,
    below: &'a SubtreeSummary,
    colors: &'a LeafGroups,
    weight: &'a [f64],
    /// Subtrees with fewer leaves are closed.
    least: usize,
    nodes: Vec<Node>,
    /// Groups, with the roots of their subtrees.
    groups: Vec<(SummaryLeaf, Vec<usize>)>,
}

impl<'a> Walk<'a> {
    fn new(
        tree: &'a Tree,
        below: &'a SubtreeSummary,
        colors: &'a LeafGroups,
        weight: &'a [f64],
        least: usize,
    ) -> Self {
        let (nodes, groups) = (Vec::new(), Vec::new());
        let mut walk = Self { tree, below, colors, weight, least, nodes, groups };
        let children = tree.children();
        // Nodes with enough leaves, with their parents in the summary and the lengths of the edges.
        let mut open = vec![(tree.root(), 0, 0.0)];
        while let Some((v, parent, length)) = open.pop() {
            walk.path(&children, v, parent, length, &mut open);
        }
        walk
    }

    /// Follows a path down as long as there is exactly one large subtree.
    fn path(
        &mut self,
        children: &Children,
        start: usize,
        parent: usize,
        length: f64,
        open: &mut Vec<(usize, usize, f64)>,
    ) {
        if self.is_end(children, start) {
            return self.group(parent, &[(start, length - self.tree.lengths()[start])]);
        }
        let (mut v, mut top, mut far) = (start, self.inner(parent, length), 0.0);
        // Closed subtrees along the path with their depth below `top`, and the number of their
        // leaves.
        let (mut beside, mut leaves) = (Vec::new(), 0);
        loop {
            let below = children.of(v).iter().map(|&c| c as usize);
            let (large, small): (Vec<usize>, Vec<usize>) =
                below.partition(|&c| self.below.size[c] >= self.least);
            leaves += small.iter().map(|&c| self.below.size[c]).sum::<usize>();
            beside.extend(small.into_iter().map(|c| (c, far)));
            if let [next] = large[..] {
                far += self.tree.lengths()[next];
                v = next;
                if self.is_end(children, v) {
                    self.close(top, &beside);
                    return self.group(top, &[(v, far - self.tree.lengths()[v])]);
                }
                if leaves >= self.least {
                    self.close(top, &beside);
                    (beside, leaves) = (Vec::new(), 0);
                    (top, far) = (self.inner(top, far), 0.0);
                }
                continue;
            }
            self.close(top, &beside);
            let fork = if far > 0.0 && !large.is_empty() { self.inner(top, far) } else { top };
            open.extend(large.into_iter().map(|c| (c, fork, self.tree.lengths()[c])));
            return;
        }
    }

    /// Checks whether a large subtree is a group of its own: it has no large child and fewer than
    /// twice the required leaves.
    fn is_end(&self, children: &Children, v: usize) -> bool {
        let size = &self.below.size;
        let open = children.of(v).iter().any(|&c| size[c as usize] >= self.least);
        !open && v != self.tree.root() && size[v] < 2 * self.least
    }

    /// Adds an inner node.
    fn inner(&mut self, parent: usize, length: f64) -> usize {
        self.nodes.push(Node { parent, length, is_group: false });
        self.nodes.len() - 1
    }

    /// Groups closed subtrees; all groups except the last are large enough.
    fn close(&mut self, top: usize, beside: &[(usize, f64)]) {
        let (mut first, mut leaves) = (0, 0);
        for end in 1..=beside.len() {
            leaves += self.below.size[beside[end - 1].0];
            if leaves >= self.least || end == beside.len() {
                self.group(top, &beside[first..end]);
                (first, leaves) = (end, 0);
            }
        }
    }

    /// Adds a group; a group of one subtree is at its root, one of several at the attachment of the
    /// first.
    fn group(&mut self, top: usize, subtrees: &[(usize, f64)]) {
        let (below, edge) = (self.below, |v: usize| self.tree.lengths()[v]);
        let (first, at) = subtrees[0];
        let start = if subtrees.len() == 1 { at + edge(first) } else { at };
        let reach = |&(v, from): &(usize, f64)| from + edge(v) + below.deepest[v] - start;
        let points = subtrees
            .iter()
            .fold([NONE; NAMED], |points, &(v, _)| heavier(points, below.points[v], self.weight));
        let color = self.colors.of[first];
        let same = subtrees.iter().all(|&(v, _)| self.colors.of[v] == color);
        let group = SummaryLeaf {
            size: subtrees.iter().map(|&(v, _)| below.size[v]).sum(),
            below: subtrees.iter().map(reach).fold(0.0, f64::max),
            branches: subtrees.len(),
            color: color.filter(|_| same),
            points: points.into_iter().filter(|&p| p != NONE).map(|p| p as usize).collect(),
        };
        self.nodes.push(Node { parent: top, length: start, is_group: true });
        self.groups.push((group, subtrees.iter().map(|&(v, _)| v).collect()));
    }
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
                assert_eq!(group.points.len(), NAMED.min(group.size));
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
            assert_eq!(summary.leaves[group as usize].color, Some(leaf / 16_384));
        }
    }
}
