//! A summary of a large tree, for pages with more points than a browser should hold.
//!
//! Subtrees with fewer leaves than a share of all are closed. The rest is a tree of few leaves and long
//! paths. Neighboring closed subtrees beside one path are grouped until they have as many leaves as
//! the share. Each group is one leaf of the summary, so that the summary has at most four leaves for
//! every share, whatever the shape of the tree.

use treeport::tree::Children;
use treeport::{Model, Tree};

use crate::dendrogram::LeafGroups;

/// Trees of more leaves are summarized: a page with all of those has about a megabyte.
pub(super) const MOST_LEAVES: usize = 20_000;

/// Leaves of all summaries in a page, at most.
pub(super) const MOST_GROUPS: usize = 2_000;

/// Trees of a forest that are summarized, at most.
pub(super) const MOST_SUMMARIES: usize = 4;

/// Points that stand for a group.
const NAMED: usize = 2;

/// Whether a model has more points than a page holds.
pub(super) fn is_large(model: &Model) -> bool {
    model.points() > MOST_LEAVES
}

/// A tree whose leaves are groups of leaves; numbered as in [`Tree`].
#[derive(Debug)]
pub(super) struct TreeSummary {
    /// Parents, the root its own.
    pub(super) parent: Vec<u32>,
    /// Edges to them.
    pub(super) length: Vec<f64>,
    /// The groups.
    pub(super) leaves: Vec<SummaryLeaf>,
    /// The group of every point.
    pub(super) at: Vec<u32>,
}

/// Leaves that are shown as one.
#[derive(Debug)]
pub(super) struct SummaryLeaf {
    /// How many they are.
    pub(super) size: usize,
    /// The distance of the deepest of them below its root.
    pub(super) below: f64,
    /// The number of subtrees they are in, beside one path.
    pub(super) branches: usize,
    /// The number of the one group of points they belong to.
    pub(super) color: Option<usize>,
    /// The heaviest of them, or the first.
    pub(super) points: Vec<usize>,
}

impl TreeSummary {
    /// At most `MOST_GROUPS / parts` groups. `weight` is that of every point, where there are
    /// weights. O(n) time and memory.
    pub(super) fn new(tree: &Tree, colors: &LeafGroups, weight: &[f64], parts: usize) -> Self {
        let below = SubtreeSummary::new(tree, weight);
        let most = (MOST_GROUPS / parts.max(1)).max(4);
        let least = tree.leaves().div_ceil(most).max(2);
        // Four times the share is always enough; most shapes need less.
        let walks = [1, 2, 4].map(|times| times * least);
        let walk = |least| Walk::new(tree, &below, colors, weight, least);
        let fits = |walk: &Walk<'_>| walk.groups.len() <= most || walk.least == walks[2];
        let walk = walks.into_iter().map(walk).find(fits).expect("the last one fits");
        let Walk { nodes, groups, .. } = walk;
        // Leaves first, in their order; then the others, children before parents.
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
        let at = spots(tree, &groups);
        Self { parent, length, leaves: groups.into_iter().map(|(group, _)| group).collect(), at }
    }
}

/// The group of every leaf: that of the closed subtree it is in.
fn spots(tree: &Tree, groups: &[(SummaryLeaf, Vec<usize>)]) -> Vec<u32> {
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

/// The leaves below every node.
struct SubtreeSummary {
    /// Their number.
    size: Vec<usize>,
    /// The distance of the farthest.
    deepest: Vec<f64>,
    /// The heaviest of them.
    points: Vec<[u32; NAMED]>,
}

/// No point.
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

/// The heaviest of both; of equal ones the first.
fn heavier(a: [u32; NAMED], b: [u32; NAMED], weight: &[f64]) -> [u32; NAMED] {
    let heavy = |point: u32| weight.get(point as usize).copied().unwrap_or(0.0);
    let mut all: Vec<u32> = a.into_iter().chain(b).filter(|&point| point != NONE).collect();
    all.sort_unstable_by(|&p, &q| heavy(q).total_cmp(&heavy(p)).then(p.cmp(&q)));
    all.resize(all.len().max(NAMED), NONE);
    std::array::from_fn(|k| all[k])
}

/// A node of the summary; parents come before children.
struct Node {
    parent: usize,
    length: f64,
    is_group: bool,
}

/// The summary while it is made.
struct Walk<'a> {
    tree: &'a Tree,
    below: &'a SubtreeSummary,
    colors: &'a LeafGroups,
    weight: &'a [f64],
    /// Subtrees with fewer leaves are closed.
    least: usize,
    nodes: Vec<Node>,
    /// The groups, and the roots of the subtrees in each.
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
        // Nodes with enough leaves, with what they hang below in the summary.
        let mut open = vec![(tree.root(), 0, 0.0)];
        while let Some((v, parent, length)) = open.pop() {
            walk.path(&children, v, parent, length, &mut open);
        }
        walk
    }

    /// Follows one path down, as long as there is one large subtree to go on with.
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
        // Closed subtrees beside the path, with how far below `top` they hang, and their leaves.
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

    /// Whether a large subtree is a group of its own: it has no large part, and is not twice as
    /// large as need be.
    fn is_end(&self, children: &Children, v: usize) -> bool {
        let size = &self.below.size;
        let open = children.of(v).iter().any(|&c| size[c as usize] >= self.least);
        !open && v != self.tree.root() && size[v] < 2 * self.least
    }

    /// A node that is no group.
    fn inner(&mut self, parent: usize, length: f64) -> usize {
        self.nodes.push(Node { parent, length, is_group: false });
        self.nodes.len() - 1
    }

    /// Makes groups of closed subtrees, each of them (but for the last) large enough for one.
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

    /// One group; that of one subtree is where its root is, one of several where the first hangs.
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

    /// The summary as a tree of its own.
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
