//! Rooted trees over the points.
//!
//! A learned ultrametric, an additive tree, a quadtree, a cluster tree and a phylogeny are all a
//! [`Tree`]: flat arrays, ordered so that a forward loop climbs to the root and a backward loop
//! descends. An ultrametric tree has no type of its own, only a property
//! ([`Tree::is_ultrametric`]).

#![expect(clippy::missing_errors_doc, reason = "errors name the wrong number and its place")]

mod barycenter;
mod convex;
mod coupling;
mod distance;
mod draft;
mod embed;
mod extend;
mod index;
mod linkage_matrix;
mod lists;
mod matching;
mod newick;
mod potentials;
mod prepared;
mod reroot;
mod scan;
mod skeleton;
mod summary;
mod unbalanced;
mod unifrac;

pub use coupling::Coupling;
pub(crate) use coupling::TreePlans;
pub use distance::Scratch;
pub(crate) use distance::surpluses;
pub(crate) use draft::TreeDraft;
pub use extend::Attachment;
pub(crate) use extend::check_new_distances;
pub(crate) use matching::MassMove;
pub(crate) use newick::parts as newick_parts;
pub(crate) use potentials::TreePotentials;
pub(crate) use prepared::check_tables;
pub use prepared::{Census, RankedMeasures};
#[doc(hidden)]
pub use summary::{LeafGroup, TreeSummary};
pub use unifrac::{UniFrac, UniFracOptions};

use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result, show_number};
use crate::numeric::rounding;
use crate::tools::csr::grouped;

/// A rooted tree whose leaves are the points of a [`GroundMetric`](crate::GroundMetric).
///
/// Nodes `0..leaves` are the points in input order, a parent has a larger number than its children,
/// and the root is last. Inner nodes have at least one child. Clones share their data and are
/// cheap.
#[derive(Clone, Debug)]
pub struct Tree {
    shape: Arc<Shape>,
    /// Names of the points, if any; trees of a forest share them.
    names: Option<Arc<[String]>>,
    /// Description of the first edge that has no length in the tree's text, if any.
    without_length: Option<Arc<str>>,
}

#[derive(Debug)]
struct Shape {
    leaves: usize,
    /// Parent of every node; the root is its own parent.
    parent: Vec<u32>,
    /// Length of the edge from a node up to its parent, at least 0; 0 at the root.
    length: Vec<f64>,
    /// Built at the first sparse query; the tree never changes after that.
    index: OnceLock<index::AncestorIndex>,
}

/// Size and shape of a tree ([`Tree::statistics`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Number of leaves.
    pub leaves: usize,
    /// Number of nodes, including leaves and root.
    pub nodes: usize,
    /// Largest number of edges between the root and a leaf.
    pub max_depth: usize,
    /// Mean number of edges between the root and a leaf.
    pub mean_depth: f64,
    /// Largest number of children of a node.
    pub max_degree: usize,
    /// Sum of all edge lengths.
    pub total_length: f64,
    /// Largest distance from the root to a leaf.
    pub height: f64,
}

/// Children of every node, in compressed rows and increasing order.
#[derive(Clone, Debug)]
pub struct Children {
    start: Vec<usize>,
    child: Vec<u32>,
}

impl Children {
    /// Returns the children of `node`, none for a leaf.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.child[self.start[node]..self.start[node + 1]]
    }
}

impl Tree {
    /// Creates a tree from its parents and edge lengths, in the order that the type describes.
    ///
    /// # Errors
    /// A node, which the error names, violates the order, has an invalid length, or is an inner
    /// node without children.
    ///
    /// # Example
    /// ```
    /// // Two leaves close together, the third farther away: ((0:1,1:1):2,2:3)
    /// let tree = treeport::Tree::new(3, vec![3, 3, 4, 4, 4], vec![1.0, 1.0, 3.0, 2.0, 0.0])?;
    /// assert_eq!(tree.leaf_distance(0, 2), 6.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn new(leaves: usize, parent: Vec<u32>, length: Vec<f64>) -> Result<Self> {
        let nodes = parent.len();
        let bad = |reason: String| Err(Error::BadTree { reason });
        if leaves == 0 {
            return Err(Error::NoPoints);
        }
        if nodes < leaves || length.len() != nodes {
            return bad(format!("{leaves} leaves, {nodes} parents, {} lengths", length.len()));
        }
        if nodes > u32::MAX as usize {
            return Err(Error::TooManyPoints { count: nodes, max: u32::MAX as usize });
        }
        let root = nodes - 1;
        if parent[root] as usize != root {
            return bad(format!("the last node, {root}, must be the root and its own parent"));
        }
        let mut has_child = vec![false; nodes];
        for v in 0..root {
            let p = parent[v] as usize;
            if p <= v || p > root {
                return bad(format!("node {v} has parent {p}; a parent must have a larger number"));
            }
            if p < leaves {
                return bad(format!("node {v} hangs below {p}, which is a leaf"));
            }
            has_child[p] = true;
        }
        if let Some(v) = (leaves..nodes).find(|&v| !has_child[v]) {
            return bad(format!("inner node {v} has no children"));
        }
        if let Some(v) = length.iter().position(|l| !(l.is_finite() && *l >= 0.0)) {
            let value = show_number(length[v]);
            return bad(format!("edge above node {v} has length {value}; lengths are at least 0"));
        }
        if length[root] != 0.0 {
            let value = show_number(length[root]);
            return bad(format!("the root has an edge of length {value} above it"));
        }
        let shape = Shape { leaves, parent, length, index: OnceLock::new() };
        let tree = Self { shape: Arc::new(shape), names: None, without_length: None };
        // A path goes up and down. Usually even the sum of all edges is not too long.
        let too_long = |length: f64| !(2.0 * length).is_finite();
        if too_long(tree.shape.length.iter().sum()) && too_long(tree.heights_from_below()[root]) {
            return bad("the lengths of its paths overflow".into());
        }
        Ok(tree)
    }

    /// Creates a tree from parents and heights, whose differences are lengths, at least 0.
    pub(crate) fn from_heights(leaves: usize, parent: Vec<u32>, height: &[f64]) -> Result<Self> {
        let length =
            (0..parent.len()).map(|v| (height[parent[v] as usize] - height[v]).max(0.0)).collect();
        Self::new(leaves, parent, length)
    }

    /// Creates a tree from nodes in any order: `parent[v]` (`None` at the one root), the length of
    /// the edge above `v`, and the point of each leaf. Nodes are renumbered: leaves by point, inner
    /// nodes in post-order, so that subtrees are contiguous.
    ///
    /// The caller guarantees that every childless node has a point, and that the points are
    /// `0..leaves`, each once. Several roots or a cycle are errors.
    pub(crate) fn from_unordered(
        parent: &[Option<usize>],
        length: &[f64],
        point: &[Option<usize>],
    ) -> Result<Self> {
        let nodes = parent.len();
        let leaves = point.iter().flatten().count();
        let mut roots = (0..nodes).filter(|&v| parent[v].is_none());
        let (Some(root), None) = (roots.next(), roots.next()) else {
            return Err(Error::BadTree { reason: "a tree has exactly one root".into() });
        };
        let children = group_by_parent(nodes, parent.iter().copied());
        // A preorder, read backwards: children before parents, subtrees contiguous.
        let mut order = Vec::with_capacity(nodes);
        let mut stack = vec![root];
        while let Some(v) = stack.pop() {
            order.push(v);
            stack.extend(children.of(v).iter().map(|&c| c as usize));
        }
        if order.len() != nodes {
            return Err(Error::BadTree { reason: "some nodes form a cycle".into() });
        }
        let mut number = vec![0; nodes];
        let mut next = leaves;
        for &v in order.iter().rev() {
            number[v] = point[v].unwrap_or(next);
            next += usize::from(point[v].is_none());
        }
        let mut new_parent = vec![0; nodes];
        let mut new_length = vec![0.0; nodes];
        for v in 0..nodes {
            new_parent[number[v]] = number[parent[v].unwrap_or(v)] as u32;
            new_length[number[v]] = if v == root { 0.0 } else { length[v] };
        }
        Self::new(leaves, new_parent, new_length)
    }

    /// Creates a star: all points have the given distance from each other.
    ///
    /// # Errors
    /// No points, or a distance that is negative or not finite.
    ///
    /// # Example
    /// ```
    /// assert_eq!(treeport::Tree::star(3, 2.0)?.leaf_distance(0, 2), 2.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn star(points: usize, distance: f64) -> Result<Self> {
        if points == 1 {
            return Self::new(1, vec![0], vec![0.0]);
        }
        let mut length = vec![0.5 * distance; points + 1];
        length[points] = 0.0;
        Self::new(points, vec![points as u32; points + 1], length)
    }

    /// Sets the names of the points.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.shape.leaves {
            return Err(Error::NameCount { names: names.len(), points: self.shape.leaves });
        }
        self.names = Some(names.into());
        Ok(self)
    }

    /// Sets the names of the points, if there are any.
    #[cfg(feature = "io")]
    pub(crate) fn with_optional_names(self, names: Option<Vec<String>>) -> Result<Self> {
        match names {
            Some(names) => self.with_names(names),
            None => Ok(self),
        }
    }

    /// Sets the description of the first edge that has no length in the tree's text.
    fn read_without_length(mut self, above: Option<String>) -> Self {
        self.without_length = above.map(Into::into);
        self
    }

    /// Returns the description of the first edge that has no length in the tree's text.
    fn without_length(&self) -> Option<&str> {
        self.without_length.as_deref()
    }

    /// Copies the names of another tree on the same points.
    pub(crate) fn named_as(mut self, other: &Self) -> Result<Self> {
        let Some(names) = &other.names else { return Ok(self) };
        if names.len() != self.shape.leaves {
            return Err(Error::NameCount { names: names.len(), points: self.shape.leaves });
        }
        self.names = Some(Arc::clone(names));
        Ok(self)
    }

    /// Returns whether the two trees are clones of one, regardless of names.
    pub(crate) fn is_copy_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shape, &other.shape)
    }

    /// Returns the names of the points, if they have any.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// Returns the name of a point, or its number if there are no names.
    pub fn name(&self, point: usize) -> String {
        self.names.as_ref().map_or_else(|| point.to_string(), |names| names[point].clone())
    }

    /// Returns the number of leaves, which are the points.
    pub fn leaves(&self) -> usize {
        self.shape.leaves
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        self.shape.parent.len()
    }

    /// Returns the number of the root, the last node.
    pub fn root(&self) -> usize {
        self.nodes() - 1
    }

    /// Returns the parent of every node; the root is its own parent.
    pub fn parents(&self) -> &[u32] {
        &self.shape.parent
    }

    /// Returns the length of the edge above every node; 0 at the root.
    pub fn lengths(&self) -> &[f64] {
        &self.shape.length
    }

    /// Returns the children of every node. O(n).
    pub fn children(&self) -> Children {
        let root = self.root();
        group_by_parent(
            self.nodes(),
            (0..self.nodes()).map(|v| (v != root).then(|| self.shape.parent[v] as usize)),
        )
    }

    /// Returns the tree with every edge length multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        if !(factor.is_finite() && factor >= 0.0) {
            return Err(Error::BadOption {
                option: "factor",
                value: show_number(factor),
                expected: "it must be finite and at least 0",
            });
        }
        let length = self.shape.length.iter().map(|l| l * factor).collect();
        Self::new(self.shape.leaves, self.shape.parent.clone(), length)?.named_as(self)
    }

    /// Returns the tree with other edge lengths; the root keeps length 0.
    pub(crate) fn with_lengths(&self, mut length: Vec<f64>) -> Result<Self> {
        length[self.root()] = 0.0;
        Self::new(self.leaves(), self.parents().to_vec(), length)?.named_as(self)
    }

    /// Computes the distance of every node from the root. O(n).
    pub fn root_distances(&self) -> Vec<f64> {
        let mut from_root = vec![0.0; self.nodes()];
        for v in (0..self.root()).rev() {
            from_root[v] = from_root[self.shape.parent[v] as usize] + self.shape.length[v];
        }
        from_root
    }

    /// Computes the height of every node: an edge is as long as the difference in height, and the
    /// lowest leaf is at 0. In an ultrametric tree all leaves are at 0 exactly. O(n).
    pub fn heights(&self) -> Vec<f64> {
        let from_root = self.root_distances();
        let top = from_root[..self.shape.leaves].iter().copied().fold(0.0, f64::max);
        if from_root[..self.shape.leaves].iter().all(|r| top - r <= top * rounding::PATHS) {
            return self.heights_from_below();
        }
        from_root.iter().map(|r| top - r).collect()
    }

    /// Computes the longest path down from every node, with no child above its parent.
    fn heights_from_below(&self) -> Vec<f64> {
        let mut height = vec![0.0_f64; self.nodes()];
        for v in 0..self.root() {
            let p = self.shape.parent[v] as usize;
            height[p] = height[p].max(height[v] + self.shape.length[v]);
        }
        height
    }

    /// Returns whether all leaves have the same distance from the root, up to rounding. O(n).
    pub fn is_ultrametric(&self) -> bool {
        self.heights()[..self.shape.leaves].iter().all(|&h| h == 0.0)
    }

    /// Computes the length of the path between two leaves. O(depth).
    ///
    /// # Panics
    /// If either is not a leaf.
    pub fn leaf_distance(&self, i: usize, j: usize) -> f64 {
        assert!(
            i < self.shape.leaves && j < self.shape.leaves,
            "points are 0..{}",
            self.shape.leaves
        );
        let (mut i, mut j) = (i, j);
        let mut total = 0.0;
        // The smaller number cannot be an ancestor of the larger one, so it climbs.
        while i != j {
            let lower = if i < j { &mut i } else { &mut j };
            total += self.shape.length[*lower];
            *lower = self.shape.parent[*lower] as usize;
        }
        total
    }

    /// Computes counts, depths and lengths. O(n).
    pub fn statistics(&self) -> Statistics {
        let mut depth = vec![0usize; self.nodes()];
        let mut degree = vec![0usize; self.nodes()];
        for v in (0..self.root()).rev() {
            let p = self.shape.parent[v] as usize;
            depth[v] = depth[p] + 1;
            degree[p] += 1;
        }
        let leaf_depths = &depth[..self.shape.leaves];
        Statistics {
            leaves: self.shape.leaves,
            nodes: self.nodes(),
            max_depth: leaf_depths.iter().copied().max().unwrap_or(0),
            mean_depth: leaf_depths.iter().sum::<usize>() as f64 / self.shape.leaves as f64,
            max_degree: degree.iter().copied().max().unwrap_or(0),
            total_length: self.shape.length.iter().sum(),
            height: self.root_distances()[..self.shape.leaves].iter().copied().fold(0.0, f64::max),
        }
    }
}

impl PartialEq for Tree {
    fn eq(&self, other: &Self) -> bool {
        let (mine, theirs) = (&*self.shape, &*other.shape);
        let same = std::ptr::eq(mine, theirs)
            || mine.leaves == theirs.leaves
                && mine.parent == theirs.parent
                && mine.length == theirs.length;
        same && self.names == other.names
    }
}

/// Groups nodes by their parents, in compressed rows.
fn group_by_parent(nodes: usize, parents: impl Iterator<Item = Option<usize>> + Clone) -> Children {
    let (start, child) = grouped(nodes, parents.zip(0..).filter_map(|(p, v)| Some((p?, v))));
    Children { start, child }
}
