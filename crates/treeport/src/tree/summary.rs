//! Summaries of large trees, for pictures with few leaves.
//!
//! Subtrees with fewer leaves than a fixed share of all are closed. Neighboring closed subtrees
//! along a path are grouped until they have as many leaves as the share. Each group is a leaf of
//! the summary, which has at most four leaves per share, whatever the shape of the tree.

use super::{Children, Tree};

/// A tree whose leaves are groups of the leaves of another.
#[derive(Clone, Debug)]
pub struct TreeSummary {
    /// Parents, which precede their children; the root, node 0, is its own parent.
    pub parent: Vec<usize>,
    /// Lengths of the edges to the parents.
    pub length: Vec<f64>,
    /// Groups, by increasing node.
    pub groups: Vec<LeafGroup>,
}

/// Leaves of a subtree, or of several subtrees along one path.
#[derive(Clone, Debug)]
pub struct LeafGroup {
    /// Node of the summary.
    pub node: usize,
    /// Number of leaves.
    pub size: usize,
    /// Distance from the node to the deepest leaf.
    pub below: f64,
    /// Roots of the subtrees.
    pub roots: Vec<usize>,
    /// The two heaviest leaves, or the first ones.
    pub points: Vec<usize>,
}

/// Number of points that represent a group.
const NAMED: usize = 2;

impl Tree {
    /// Summarizes the tree by about `most` groups, at least 4, in O(n); a small tree has a group
    /// for each leaf. `weight` has an entry for each leaf, or is empty.
    #[doc(hidden)]
    pub fn summary(&self, most: usize, weight: &[f64]) -> TreeSummary {
        let share = match self.leaves() {
            leaves if leaves <= most => 1,
            leaves => leaves.div_ceil(most.max(4)).max(2),
        };
        let below = SubtreeSummary::new(self, weight);
        // Four times the share always suffices; most shapes need less.
        let last = if share == 1 { 1 } else { 4 * share };
        let walks = [1, 2, 4].map(|times| times * share);
        let walk = |least| Walk::new(self, &below, weight, least);
        let fits = |walk: &Walk<'_>| walk.summary.groups.len() <= most || walk.least == last;
        walks.into_iter().map(walk).find(fits).expect("the last one fits").summary
    }
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

/// A summary while it is built.
struct Walk<'a> {
    tree: &'a Tree,
    below: &'a SubtreeSummary,
    weight: &'a [f64],
    /// Subtrees with fewer leaves are closed.
    least: usize,
    summary: TreeSummary,
}

impl<'a> Walk<'a> {
    fn new(tree: &'a Tree, below: &'a SubtreeSummary, weight: &'a [f64], least: usize) -> Self {
        let summary = TreeSummary { parent: vec![], length: vec![], groups: vec![] };
        let mut walk = Self { tree, below, weight, least, summary };
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
        // Closed subtrees along the path with their depth below `top`, and their leaves.
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

    /// Checks whether a large subtree is a group: no large child, and few enough leaves.
    fn is_end(&self, children: &Children, v: usize) -> bool {
        let size = &self.below.size;
        let open = children.of(v).iter().any(|&c| size[c as usize] >= self.least);
        !open && (v != self.tree.root() || children.of(v).is_empty()) && size[v] < 2 * self.least
    }

    /// Adds a node.
    fn inner(&mut self, parent: usize, length: f64) -> usize {
        self.summary.parent.push(parent);
        self.summary.length.push(length);
        self.summary.parent.len() - 1
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

    /// Adds a group; one of several subtrees is at the attachment of the first.
    fn group(&mut self, top: usize, subtrees: &[(usize, f64)]) {
        let (below, edge) = (self.below, |v: usize| self.tree.lengths()[v]);
        let (first, at) = subtrees[0];
        let start = if subtrees.len() == 1 { at + edge(first) } else { at };
        let reach = |&(v, from): &(usize, f64)| from + edge(v) + below.deepest[v] - start;
        let points = subtrees
            .iter()
            .fold([NONE; NAMED], |points, &(v, _)| heavier(points, below.points[v], self.weight));
        let group = LeafGroup {
            node: self.inner(top, start),
            size: subtrees.iter().map(|&(v, _)| below.size[v]).sum(),
            below: subtrees.iter().map(reach).fold(0.0, f64::max),
            roots: subtrees.iter().map(|&(v, _)| v).collect(),
            points: points.into_iter().filter(|&p| p != NONE).map(|p| p as usize).collect(),
        };
        self.summary.groups.push(group);
    }
}
