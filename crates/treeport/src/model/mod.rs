//! Fitted models: one tree, or several with weights. Errors and progress are those of [`Tree`].

#![expect(clippy::missing_errors_doc, reason = "errors are those of `Tree`")]

pub mod contract;
pub mod flow;
pub(crate) mod forest;

use std::ops::Range;

use crate::error::Result;
use crate::measures::{Measure, Measures};
use crate::memory;
use crate::model::forest::{Forest, mean};
use crate::progress::tasks::PLACING;
use crate::progress::{Counter, Progress};
use crate::tools::csr::Csr;
use crate::tools::parallel;
use crate::tree::{Census, Coupling, Scratch, Tree, check_tables, newick_parts};

/// A distance between measures by one tree or a weighted forest of trees.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// One tree and its distance.
    Tree(Tree),
    /// Several trees and the weighted mean of their distances.
    Forest(Forest),
}

/// Calls a method that trees and forests both have.
macro_rules! delegate {
    ($model:expr, $method:ident($($argument:expr),*)) => {
        match $model {
            Model::Tree(tree) => tree.$method($($argument),*),
            Model::Forest(forest) => forest.$method($($argument),*),
        }
    };
}

impl Model {
    /// Returns the trees; a model of one tree has one.
    pub fn trees(&self) -> &[Tree] {
        match self {
            Self::Tree(tree) => std::slice::from_ref(tree),
            Self::Forest(forest) => forest.trees(),
        }
    }

    /// Returns the weight of each tree; weights sum to 1.
    pub fn weights(&self) -> &[f64] {
        match self {
            Self::Tree(_) => &[1.0],
            Self::Forest(forest) => forest.weights(),
        }
    }

    /// Returns the tree of a model of one tree.
    pub fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Tree(tree) => Some(tree),
            Self::Forest(_) => None,
        }
    }

    /// Returns the number of points, which are the leaves of every tree.
    pub fn points(&self) -> usize {
        self.trees()[0].leaves()
    }

    /// Returns the number of nodes of all trees together: the columns of [`embed`](Self::embed).
    pub fn nodes(&self) -> usize {
        self.trees().iter().map(Tree::nodes).sum()
    }

    /// Attaches new points after the old ones, each near its nearest old point ([`Tree::place`]);
    /// distances between old points do not change.
    ///
    /// `distances` writes the distances of a new point to all old ones. The result has no names. If
    /// there is a ground metric over all points, [`extended_on`](Self::extended_on) is more
    /// accurate.
    ///
    /// # Errors
    /// A distance is negative or not finite; [`Error::Canceled`](crate::Error::Canceled).
    ///
    /// # Complexity
    /// O(N) for each new point and tree, and N distances.
    pub fn extended(
        &self,
        new: usize,
        distances: impl Fn(usize, &mut [f64]) + Sync,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let counter = Counter::new(PLACING, new, progress);
        let places = parallel::try_map_with(
            new,
            || vec![0.0; self.points()],
            |row, point| {
                distances(point, row);
                counter.add(1)?;
                self.trees().iter().map(|tree| tree.place(row)).collect::<Result<Vec<_>>>()
            },
        )?;
        let of_tree = |(at, tree): (usize, &Tree)| {
            tree.extended(&places.iter().map(|place| place[at]).collect::<Vec<_>>())
        };
        self.of_trees(self.trees().iter().enumerate().map(of_tree).collect::<Result<_>>()?)
    }

    /// Creates a model of the same kind from other trees.
    pub(crate) fn of_trees(&self, mut trees: Vec<Tree>) -> Result<Self> {
        match self {
            Self::Tree(_) => Ok(Self::Tree(trees.remove(0))),
            Self::Forest(forest) => {
                Ok(Self::Forest(Forest::new(trees, forest.weights().to_vec())?))
            }
        }
    }

    /// Returns the names of the points, if they have any.
    pub fn names(&self) -> Option<&[String]> {
        self.trees()[0].names()
    }

    /// Sets the names of the points.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        Ok(match self {
            Self::Tree(tree) => Self::Tree(tree.with_names(names)?),
            Self::Forest(forest) => Self::Forest(forest.with_names(names)?),
        })
    }

    /// Returns the model with all distances multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        Ok(match self {
            Self::Tree(tree) => Self::Tree(tree.scaled(factor)?),
            Self::Forest(forest) => Self::Forest(forest.scaled(factor)?),
        })
    }

    /// Computes the distance between two measures.
    pub fn distance(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        delegate!(self, distance(a, b))
    }

    /// Computes the cost of transport between measures of any masses, with a penalty per unit of
    /// mass that is not moved.
    pub fn unbalanced(&self, a: &Measure<'_>, b: &Measure<'_>, penalty: f64) -> Result<f64> {
        delegate!(self, unbalanced(a, b, penalty))
    }

    /// Computes the distance between two points. O(depth) for every tree.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn leaf_distance(&self, i: usize, j: usize) -> f64 {
        delegate!(self, leaf_distance(i, j))
    }

    /// Computes distances of many pairs of measures, in parallel; the same for any number of
    /// threads.
    pub fn pairs(
        &self,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        delegate!(self, pairs(measures, pairs, progress))
    }

    /// Computes the distance between measure `i` of `a` and measure `i` of `b` for every `i`, in
    /// parallel.
    pub fn paired(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        delegate!(self, paired(a, b, progress))
    }

    /// Computes the distances of all pairs of measures, in parallel: a symmetric matrix, row by
    /// row.
    pub fn pairwise(&self, measures: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        delegate!(self, pairwise(measures, progress))
    }

    /// Computes distances from every measure of `a` to every measure of `b`, row by row, in
    /// parallel.
    pub fn cross(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        delegate!(self, cross(a, b, progress))
    }

    /// Computes a plan between two measures ([`Tree::coupling`], [`Forest::coupling`]).
    pub fn coupling(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Coupling> {
        delegate!(self, coupling(a, b))
    }

    /// Returns one sparse row per measure; ℓ₁ (cityblock) distances of rows are the model's
    /// distances.
    pub fn embed(&self, measures: &Measures) -> Result<Csr> {
        delegate!(self, embed(measures))
    }

    /// Returns the trees as Newick text, one line each, without weights.
    pub fn to_newick(&self) -> String {
        let lines: Vec<String> = self.trees().iter().map(Tree::to_newick).collect();
        lines.join("\n")
    }

    /// Parses Newick text: one tree, or several, each ended by `;`, which form an equally weighted
    /// forest.
    ///
    /// Points are in the order of `names`, or else of the first tree.
    ///
    /// # Example
    /// ```
    /// let model = treeport::Model::from_newick("(cat:1,dog:1);\n(dog:2,cat:2);", None)?;
    /// assert_eq!((model.trees().len(), model.leaf_distance(0, 1)), (2, 3.0));
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_newick(text: &str, names: Option<&[String]>) -> Result<Self> {
        let one = |text: &str, names: Option<&[String]>| match names {
            Some(names) => Tree::from_newick_with(text, names),
            None => Tree::from_newick(text),
        };
        let parts = newick_parts(text);
        if parts.len() < 2 {
            return Ok(Self::Tree(one(text, names)?));
        }
        let first = one(parts[0], names)?;
        let others = parts[1..].iter().map(|part| one(part, first.names()));
        let trees = std::iter::once(Ok(first.clone())).chain(others).collect::<Result<_>>()?;
        Ok(Self::Forest(Forest::uniform(trees)?))
    }

    /// Prepares measures for all trees, so that each pair of them costs O(s) for every tree.
    pub fn prepare(&self, measures: &Measures) -> Result<PreparedMeasures> {
        let prepared = self.trees().iter().map(|tree| tree.prepare(measures));
        let trees = prepared.collect::<Result<_>>()?;
        Ok(PreparedMeasures { trees, weights: self.weights().to_vec() })
    }

    /// Computes [`Tree::census`] for every tree.
    pub fn census(&self, measures: &Measures) -> Result<Vec<Census>> {
        self.trees().iter().map(|tree| tree.census(measures)).collect()
    }

    /// Prepares a part of a larger collection with the collection's [census](Self::census), so that
    /// distances are bit for bit those of the whole collection.
    ///
    /// # Panics
    /// If the census is of another number of trees.
    pub fn prepare_part(&self, measures: &Measures, whole: &[Census]) -> Result<PreparedMeasures> {
        assert_eq!(self.trees().len(), whole.len(), "a census for every tree");
        let both = self.trees().iter().zip(whole);
        let trees = both.map(|(tree, whole)| tree.prepare_part(measures, *whole));
        Ok(PreparedMeasures {
            trees: trees.collect::<Result<_>>()?,
            weights: self.weights().to_vec(),
        })
    }
}

impl From<Tree> for Model {
    fn from(tree: Tree) -> Self {
        Self::Tree(tree)
    }
}

impl From<Forest> for Model {
    fn from(forest: Forest) -> Self {
        Self::Forest(forest)
    }
}

/// Rows of a symmetric table up to which half of the table is copied: 2 GiB.
const MOST_COPIED: usize = 1 << 14;

/// Bytes of a block of a table.
const AT_ONCE: u64 = 1 << 26;

/// Measures prepared for every tree of a [`Model`].
#[derive(Clone, Debug)]
pub struct PreparedMeasures {
    trees: Vec<crate::tree::RankedMeasures>,
    weights: Vec<f64>,
}

impl PreparedMeasures {
    /// Returns the measures.
    pub fn measures(&self) -> &Measures {
        self.trees[0].measures()
    }

    /// Computes distances of pairs of measures, in parallel.
    pub fn pairs(&self, pairs: &[(usize, usize)], progress: &Progress<'_>) -> Result<Vec<f64>> {
        mean(&self.trees, &self.weights, pairs.len(), progress, |tree, report| {
            tree.pairs(pairs, report)
        })
    }

    /// Computes the distances of all pairs, in parallel: a symmetric matrix, row by row; progress
    /// counts rows.
    pub fn pairwise(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        let all = 0..self.measures().len();
        self.block(all.clone(), all, progress)
    }

    /// Computes a block of [`pairwise`](Self::pairwise), bit for bit, row by row, in parallel, for
    /// tables that do not fit into memory. Progress counts rows.
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Model, silent};
    /// let model = Model::from_newick("((a:1,b:1):2,c:3);", None)?;
    /// let prepared = model.prepare(&Measures::unit_masses(3, 0..3)?)?;
    /// assert_eq!(prepared.block(1..3, 0..3, &silent)?, [2.0, 0.0, 6.0, 6.0, 6.0, 0.0]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn block(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        check_tables(rows.len(), columns.len(), self.tables())?;
        mean(&self.trees, &self.weights, rows.len(), progress, |tree, report| {
            tree.block(rows.clone(), columns.clone(), report)
        })
    }

    /// Computes distances from every measure of this set to every measure of another set prepared
    /// by the same model, row by row, in parallel; progress counts rows.
    ///
    /// # Panics
    /// If the other set was prepared by another model.
    pub fn cross(&self, other: &Self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.cross_rows(other, 0..self.measures().len(), progress)
    }

    /// Computes the given rows of [`cross`](Self::cross), bit for bit.
    ///
    /// # Panics
    /// If the other set was prepared by another model.
    pub fn cross_rows(
        &self,
        other: &Self,
        rows: Range<usize>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        self.check_model(other);
        let both: Vec<_> = self.trees.iter().zip(&other.trees).collect();
        check_tables(rows.len(), other.measures().len(), self.tables())?;
        mean(&both, &self.weights, rows.len(), progress, |(left, right), report| {
            left.cross_rows(right, rows.clone(), report)
        })
    }

    /// Finds the `k` nearest neighbors of the given measures of this set among another set prepared
    /// by the same model, or else among the other measures of this set.
    ///
    /// Neighbors are in increasing order of distance, then of number. Progress counts rows.
    ///
    /// # Panics
    /// If the other set was prepared by another model.
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Model, silent};
    /// let model = Model::from_newick("((a:1,b:1):2,c:3);", None)?;
    /// let prepared = model.prepare(&Measures::unit_masses(3, 0..3)?)?;
    /// let nearest = prepared.nearest(None, 0..2, 1, &silent)?;
    /// assert_eq!(nearest, [[(1, 2.0)], [(0, 2.0)]]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn nearest(
        &self,
        other: Option<&Self>,
        rows: Range<usize>,
        k: usize,
        progress: &Progress<'_>,
    ) -> Result<Vec<Vec<(usize, f64)>>> {
        let among = other.unwrap_or(self);
        let columns = among.measures().len();
        let table = self.cross_rows(among, rows.clone(), progress)?;
        // A measure is not its own neighbor.
        let itself = |row| if other.is_some() { None } else { Some(row) };
        Ok(parallel::map(rows.len(), |at| {
            least(k, &table[at * columns..(at + 1) * columns], itself(rows.start + at))
        }))
    }

    /// Returns the rows per block for a table of `columns` columns: 64 MiB with a copy, or a
    /// quarter of the available memory if that is less; at least one row.
    pub fn rows_at_once(&self, columns: usize) -> usize {
        let room = memory::available().map_or(AT_ONCE, |bytes| AT_ONCE.min(bytes / 4));
        let row = memory::size_of::<f64>(&[columns.max(1), self.tables() + 1]);
        usize::try_from(room / row).map_or(usize::MAX, |rows| rows.max(1))
    }

    /// Returns the first column to compute where [`pairwise`](Self::pairwise) is computed in blocks
    /// of rows; earlier columns are copied from the rows above. A large table copies nothing,
    /// because its columns are spread over the whole disk.
    pub fn first_column(&self, row: usize) -> usize {
        if self.measures().len() > MOST_COPIED { 0 } else { row }
    }

    /// Computes the distance between measure `i` of this set and measure `j` of another set
    /// prepared by the same model, with a reusable workspace. Does not check that masses are equal.
    ///
    /// # Panics
    /// If there is no such measure, or the other set was prepared by another model.
    pub fn distance_to(&self, i: usize, other: &Self, j: usize, scratch: &mut Scratch) -> f64 {
        self.check_model(other);
        let both = self.trees.iter().zip(&other.trees).zip(&self.weights);
        both.map(|((left, right), w)| w * left.distance_to(i, right, j, scratch)).sum()
    }

    /// Returns the number of tables in memory at the same time: the mean and one tree's table.
    fn tables(&self) -> usize {
        self.trees.len().min(2)
    }

    /// Checks that both sets have as many trees with equal weights.
    fn check_model(&self, other: &Self) {
        assert!(self.weights == other.weights, "both sets must be prepared by one model");
    }
}

/// Returns the `k` least distances with their indices, in increasing order, without index `but`.
fn least(k: usize, distances: &[f64], but: Option<usize>) -> Vec<(usize, f64)> {
    let all = distances.iter().copied().enumerate();
    let mut found: Vec<(usize, f64)> = all.filter(|&(place, _)| but != Some(place)).collect();
    let order = |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0));
    if k < found.len() {
        found.select_nth_unstable_by(k, order);
        found.truncate(k);
    }
    found.sort_unstable_by(order);
    found
}
