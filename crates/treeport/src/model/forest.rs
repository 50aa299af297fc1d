//! Forests: several trees over the same points, and the weighted mean of their distances.
//!
//! A single tree has to cut the space somewhere, and neighbors on both sides of the cut are far
//! apart in the tree. Trees with other cuts have other errors, so the mean of their distances has a
//! smaller error (Le et al. 2019, *Tree-Sliced Variants of Wasserstein Distances*). The mean is
//! still an ℓ₁ distance, of the trees' concatenated embeddings.
//!
//! [`Forest::new`] accepts any trees; the most accurate forests here are linkages of a metric whose
//! distances are perturbed at random ([`build::perturbed`](crate::build::perturbed())). Labels can
//! then fit each tree ([`fit::learned`](crate::fit::learned)) and the weights
//! ([`fit::weighted`](crate::fit::weighted)); the method `learned-forest` does both.
//!
//! Errors and progress are those of the methods of [`Tree`].

#![expect(clippy::missing_errors_doc, reason = "errors are those of `Tree`")]

use crate::error::{Error, Result};
use crate::measures::{Measure, Measures, check_balance};
use crate::memory;
use crate::model::flow::FlowPlans;
use crate::progress::{Progress, State};
use crate::tools::csr::Csr;
use crate::tree::{Coupling, Tree, check_tables};

/// At least one tree, all over the same number of points, with weights that add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub(crate) trees: Vec<Tree>,
    pub(crate) weights: Vec<f64>,
}

impl Forest {
    /// Creates a forest from trees and weights; the weights are divided by their sum.
    ///
    /// # Errors
    /// No trees; trees over different numbers of points or with different names for them; a number
    /// of weights other than the number of trees; weights that are negative, not finite or all 0.
    ///
    /// # Example
    /// ```
    /// use treeport::{Forest, Measures, Tree};
    /// let near = Tree::from_newick("(a:1,b:1);")?;
    /// let far = Tree::from_newick("(a:2,b:2);")?;
    /// let forest = Forest::new(vec![near, far], vec![1.0, 3.0])?;
    /// let measures = Measures::unit_masses(2, [0, 1])?;
    /// assert_eq!(forest.distance(&measures.row(0), &measures.row(1))?, 3.5);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn new(trees: Vec<Tree>, mut weights: Vec<f64>) -> Result<Self> {
        let (trees, total) = check(trees, &weights)?;
        for weight in &mut weights {
            *weight /= total;
        }
        Ok(Self { trees, weights })
    }

    /// Creates a forest of equally weighted trees.
    pub fn uniform(trees: Vec<Tree>) -> Result<Self> {
        let weights = vec![1.0; trees.len()];
        Self::new(trees, weights)
    }

    /// Sets the names of the points.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        let first = self.trees[0].clone().with_names(names)?;
        let trees = self.trees.into_iter().map(|tree| tree.named_as(&first));
        Ok(Self { trees: trees.collect::<Result<_>>()?, weights: self.weights })
    }

    /// Returns the names of the points, if they have any.
    pub fn names(&self) -> Option<&[String]> {
        self.trees[0].names()
    }

    /// Returns the trees.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// Returns the weight of each tree; weights sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the number of leaves of every tree, which are the points.
    pub fn leaves(&self) -> usize {
        self.trees[0].leaves()
    }

    /// Computes the weighted mean of the trees' distances between two measures.
    pub fn distance(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        let weighted = self.weighted().map(|(tree, weight)| Ok(weight * tree.distance(a, b)?));
        weighted.sum()
    }

    /// Computes the weighted mean of the trees' [`Tree::unbalanced`] costs.
    pub fn unbalanced(&self, a: &Measure<'_>, b: &Measure<'_>, penalty: f64) -> Result<f64> {
        let one = |(tree, weight): (&Tree, f64)| Ok(weight * tree.unbalanced(a, b, penalty)?);
        self.weighted().map(one).sum()
    }

    /// Computes distances of many pairs of measures, in parallel; the same for any number of
    /// threads.
    pub fn pairs(
        &self,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        self.mean_of(pairs.len(), progress, |tree, report| tree.pairs(measures, pairs, report))
    }

    /// Computes the distance between measure `i` of `a` and measure `i` of `b` for every `i`, in
    /// parallel.
    pub fn paired(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.mean_of(a.len(), progress, |tree, report| tree.paired(a, b, report))
    }

    /// Computes the distances of all pairs of measures, in parallel: a symmetric matrix, row by
    /// row.
    pub fn pairwise(&self, measures: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        check_tables(measures.len(), measures.len(), 2)?;
        self.mean_of(measures.len(), progress, |tree, report| tree.pairwise(measures, report))
    }

    /// Computes distances from every measure of `a` to every measure of `b`, row by row, in
    /// parallel.
    pub fn cross(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        check_tables(a.len(), b.len(), 2)?;
        self.mean_of(a.len(), progress, |tree, report| tree.cross(a, b, report))
    }

    /// Returns one sparse row per measure; ℓ₁ (cityblock) distances of rows are the forest's
    /// distances. A row concatenates the embeddings of the trees ([`Tree::embed`]), each multiplied
    /// by its weight.
    pub fn embed(&self, measures: &Measures) -> Result<Csr> {
        let parts: Vec<Csr> =
            self.trees.iter().map(|tree| tree.embed(measures)).collect::<Result<_>>()?;
        let cols = parts.iter().map(|part| part.cols).sum();
        let entries: usize = parts.iter().map(|part| part.values.len()).sum();
        let step = format_args!("the embedding of {} measures by a forest", measures.len());
        let fewer = "embed fewer measures at a time";
        memory::check(step, memory::size_of::<(usize, f64)>(&[entries]), fewer)?;
        let mut rows = Csr {
            rows: measures.len(),
            cols,
            start: vec![0],
            indices: memory::with_capacity(step, entries, fewer)?,
            values: memory::with_capacity(step, entries, fewer)?,
        };
        for row in 0..measures.len() {
            let mut offset = 0;
            for (part, weight) in parts.iter().zip(&self.weights) {
                let places = part.start[row]..part.start[row + 1];
                rows.indices.extend(part.indices[places.clone()].iter().map(|v| offset + v));
                rows.values.extend(part.values[places].iter().map(|x| weight * x));
                offset += part.cols;
            }
            rows.start.push(rows.indices.len());
        }
        Ok(rows)
    }

    /// Returns the forest with all edge lengths multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        let trees = self.trees.iter().map(|tree| tree.scaled(factor)).collect::<Result<_>>()?;
        Ok(Self { trees, weights: self.weights.clone() })
    }

    fn weighted(&self) -> impl Iterator<Item = (&Tree, f64)> {
        self.trees.iter().zip(self.weights.iter().copied())
    }

    fn mean_of(
        &self,
        items: usize,
        progress: &Progress<'_>,
        answer: impl Fn(&Tree, &Progress<'_>) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        mean(&self.trees, &self.weights, items, progress, answer)
    }

    /// Computes the weighted mean of the trees' distances between two points. O(depth) for every
    /// tree.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn leaf_distance(&self, i: usize, j: usize) -> f64 {
        self.weighted().map(|(tree, weight)| weight * tree.leaf_distance(i, j)).sum()
    }

    /// Computes a plan between two measures: the cheapest, in the forest's own distances, among the
    /// plans of the trees and one merged from the shortest moves of all of them. It need not be
    /// optimal.
    pub fn coupling(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Coupling> {
        if let [tree] = &self.trees[..] {
            return tree.coupling(a, b);
        }
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        check_balance((0, *a), (1, *b))?;
        let distances = |from: usize, to: &[u32], out: &mut [f64]| {
            to.iter().zip(out).for_each(|(&j, out)| *out = self.leaf_distance(from, j as usize));
        };
        Ok(FlowPlans::new(&self.trees, a, b, &distances)?.cheapest())
    }
}

/// Computes the weighted sum of a list per tree; progress counts `items` once.
pub(crate) fn mean<T>(
    trees: &[T],
    weights: &[f64],
    items: usize,
    progress: &Progress<'_>,
    answer: impl Fn(&T, &Progress<'_>) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    let (count, mut sums) = (trees.len(), Vec::new());
    for (k, (tree, weight)) in trees.iter().zip(weights).enumerate() {
        let share = |state: &State<'_>| {
            let done = (k * items + state.done) / count;
            progress(&State { done, total: Some(items), ..*state })
        };
        let mut distances = answer(tree, &share)?;
        if k == 0 {
            // A single tree needs no second table.
            for d in &mut distances {
                *d *= weight;
            }
            sums = distances;
            continue;
        }
        sums.iter_mut().zip(&distances).for_each(|(sum, d)| *sum += weight * d);
    }
    Ok(sums)
}

/// Checks trees and weights, names all trees, and returns the sum of the weights.
pub(crate) fn check(mut trees: Vec<Tree>, weights: &[f64]) -> Result<(Vec<Tree>, f64)> {
    let bad = |reason: String| Err(Error::BadForest { reason });
    let (Some(first), count) = (trees.first(), trees.len()) else {
        return bad("it has no trees".into());
    };
    let leaves = first.leaves();
    if weights.len() != count {
        return bad(format!("{count} trees and {} weights", weights.len()));
    }
    if let Some(k) = trees.iter().position(|tree| tree.leaves() != leaves) {
        let found = trees[k].leaves();
        return bad(format!("tree 0 has {leaves} points, tree {k} has {found}"));
    }
    if let Some(k) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        return bad(format!("tree {k} has weight {}; weights are at least 0", weights[k]));
    }
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return bad(format!("the weights add up to {total}"));
    }
    if let Some(named) = trees.iter().position(|tree| tree.names().is_some()) {
        let name_giver = trees[named].clone();
        for (k, tree) in trees.iter().enumerate() {
            if let Some(point) = unlike(tree, &name_giver) {
                let (one, other) = (name_giver.name(point), tree.name(point));
                let reason =
                    format!("tree {named} calls point {point} `{one}`, tree {k} `{other}`");
                return bad(reason);
            }
        }
        let shared = |tree: Tree| tree.named_as(&name_giver);
        trees = trees.into_iter().map(shared).collect::<Result<_>>()?;
    }
    Ok((trees, total))
}

/// Returns the first point for which two trees have different names.
fn unlike(tree: &Tree, other: &Tree) -> Option<usize> {
    let (ours, theirs) = (tree.names()?, other.names()?);
    ours.iter().zip(theirs).position(|(a, b)| a != b)
}
