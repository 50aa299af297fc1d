//! A fitted model: one tree or several with weights.

use std::ops::Range;

use crate::error::Result;
use crate::forest::{Forest, mean};
use crate::measure::{Measure, Measures};
use crate::memory;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::sparse::Csr;
use crate::steps::PLACING;
use crate::tree::{Census, Coupling, Scratch, Tree, check_tables, newick_parts};

/// One tree, or several with weights: a distance between measures, with tables, plans and embeddings.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// The distance of one tree.
    Tree(Tree),
    /// The weighted mean of the distances of several.
    Forest(Forest),
}

/// Calls the method of that name, which trees and forests both have.
macro_rules! ask {
    ($model:expr, $method:ident($($argument:expr),*)) => {
        match $model {
            Model::Tree(tree) => tree.$method($($argument),*),
            Model::Forest(forest) => forest.$method($($argument),*),
        }
    };
}

impl Model {
    /// The trees; of one tree that one.
    pub fn trees(&self) -> &[Tree] {
        match self {
            Self::Tree(tree) => std::slice::from_ref(tree),
            Self::Forest(forest) => forest.trees(),
        }
    }

    /// How much each tree counts; they add up to 1.
    pub fn weights(&self) -> &[f64] {
        match self {
            Self::Tree(_) => &[1.0],
            Self::Forest(forest) => forest.weights(),
        }
    }

    /// The tree of a model with one tree.
    pub fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Tree(tree) => Some(tree),
            Self::Forest(_) => None,
        }
    }

    /// The number of points, which are the leaves of every tree.
    pub fn points(&self) -> usize {
        self.trees()[0].leaves()
    }

    /// The number of nodes of all trees together: the columns of [`embed`](Self::embed).
    pub fn nodes(&self) -> usize {
        self.trees().iter().map(Tree::nodes).sum()
    }

    /// The model with new points after the old ones, each attached near its nearest old point
    /// ([`Tree::place`]); distances between old points do not change.
    ///
    /// `distances` writes those of a new point to all old ones. Names are left out. Where there is a ground metric over
    /// all points, [`extended_on`](Self::extended_on) is the better way.
    ///
    /// # Errors
    /// A distance that is negative or not finite; [`Error::Cancelled`](crate::Error::Cancelled).
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
        let mut trees: Vec<Tree> =
            self.trees().iter().enumerate().map(of_tree).collect::<Result<_>>()?;
        match self {
            Self::Tree(_) => Ok(Self::Tree(trees.remove(0))),
            Self::Forest(forest) => {
                Ok(Self::Forest(Forest::new(trees, forest.weights().to_vec())?))
            }
        }
    }

    /// The names of the points, if they have any.
    pub fn names(&self) -> Option<&[String]> {
        self.trees()[0].names()
    }

    /// Names the points.
    ///
    /// # Errors
    /// The number of names is not the number of points.
    pub fn with_names(self, names: Vec<String>) -> Result<Self> {
        Ok(match self {
            Self::Tree(tree) => Self::Tree(tree.with_names(names)?),
            Self::Forest(forest) => Self::Forest(forest.with_names(names)?),
        })
    }

    /// The model with all distances multiplied by `factor`.
    ///
    /// # Errors
    /// A factor that is negative or not finite.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        Ok(match self {
            Self::Tree(tree) => Self::Tree(tree.scaled(factor)?),
            Self::Forest(forest) => Self::Forest(forest.scaled(factor)?),
        })
    }

    /// The distance between two measures.
    ///
    /// # Errors
    /// As [`Tree::distance`].
    pub fn distance(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        ask!(self, distance(a, b))
    }

    /// The cost of transport between measures of any masses, with a price for what is not moved.
    ///
    /// # Errors
    /// As [`Tree::unbalanced`].
    pub fn unbalanced(&self, a: &Measure<'_>, b: &Measure<'_>, penalty: f64) -> Result<f64> {
        ask!(self, unbalanced(a, b, penalty))
    }

    /// The distance between two points. O(depth) for every tree.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn leaf_distance(&self, i: usize, j: usize) -> f64 {
        ask!(self, leaf_distance(i, j))
    }

    /// Distances of many pairs of measures, in parallel; the same for any number of threads.
    ///
    /// # Errors
    /// As [`Tree::pairs`].
    pub fn pairs(
        &self,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        ask!(self, pairs(measures, pairs, progress))
    }

    /// Distances of measure `i` of `a` to measure `i` of `b`, for every `i`, in parallel.
    ///
    /// # Errors
    /// As [`Tree::paired`].
    pub fn paired(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        ask!(self, paired(a, b, progress))
    }

    /// Distances of all pairs of measures: a symmetric matrix, row after row, in parallel.
    ///
    /// # Errors
    /// As [`Tree::pairwise`]; progress counts rows.
    pub fn pairwise(&self, measures: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        ask!(self, pairwise(measures, progress))
    }

    /// Distances from every measure of `a` to every measure of `b`, row after row, in parallel.
    ///
    /// # Errors
    /// As [`Tree::cross`]; progress counts rows of `a`.
    pub fn cross(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        ask!(self, cross(a, b, progress))
    }

    /// The plan between two measures: [`Tree::coupling`], [`Forest::coupling`].
    ///
    /// # Errors
    /// As [`Tree::coupling`].
    pub fn coupling(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Coupling> {
        ask!(self, coupling(a, b))
    }

    /// One sparse row per measure whose ℓ₁ (cityblock) distances are those of the model.
    ///
    /// # Errors
    /// The measures live on another number of points.
    pub fn embed(&self, measures: &Measures) -> Result<Csr> {
        ask!(self, embed(measures))
    }

    /// The trees as Newick text, one line each; weights are not in it.
    pub fn to_newick(&self) -> String {
        let lines: Vec<String> = self.trees().iter().map(Tree::to_newick).collect();
        lines.join("\n")
    }

    /// The tree in a Newick text, or where there are several, each ended by `;`, the forest of
    /// them, equally weighted.
    ///
    /// The points are in the order of `names`; without, in the order of the first tree.
    ///
    /// # Errors
    /// As [`Tree::from_newick`] and [`Tree::from_newick_with`].
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

    /// Lays measures out for all trees, so that each pair of them costs O(s) for every tree.
    ///
    /// # Errors
    /// The measures live on another number of points.
    pub fn prepare(&self, measures: &Measures) -> Result<PreparedMeasures> {
        let laid_out = self.trees().iter().map(|tree| tree.prepare(measures));
        let trees = laid_out.collect::<Result<_>>()?;
        Ok(PreparedMeasures { trees, weights: self.weights().to_vec() })
    }

    /// [`Tree::census`] for every tree.
    ///
    /// # Errors
    /// The measures live on another number of points.
    pub fn census(&self, measures: &Measures) -> Result<Vec<Census>> {
        self.trees().iter().map(|tree| tree.census(measures)).collect()
    }

    /// Lays out a part of a larger collection with that [census](Self::census), so that its distances
    /// are to the bit those of the whole collection.
    ///
    /// # Errors
    /// The measures live on another number of points.
    ///
    /// # Panics
    /// If it is the census of another number of trees.
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

/// Rows of a symmetric table up to which half of it is copied: 2 GiB.
const MOST_COPIED: usize = 1 << 14;

/// Bytes of a block of a table.
const AT_ONCE: u64 = 1 << 26;

/// Measures laid out for every tree of a [`Model`].
#[derive(Clone, Debug)]
pub struct PreparedMeasures {
    trees: Vec<crate::tree::RankedMeasures>,
    weights: Vec<f64>,
}

impl PreparedMeasures {
    /// The measures.
    pub fn measures(&self) -> &Measures {
        self.trees[0].measures()
    }

    /// Distances of pairs of measures, in parallel.
    ///
    /// # Errors
    /// As [`Tree::pairs`].
    pub fn pairs(&self, pairs: &[(usize, usize)], progress: &Progress<'_>) -> Result<Vec<f64>> {
        mean(&self.trees, &self.weights, pairs.len(), progress, |tree, report| {
            tree.pairs(pairs, report)
        })
    }

    /// Distances of all pairs: a symmetric matrix, row after row, in parallel; progress counts
    /// rows.
    ///
    /// # Errors
    /// As [`Tree::pairwise`].
    pub fn pairwise(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        let all = 0..self.measures().len();
        self.block(all.clone(), all, progress)
    }

    /// The part of [`pairwise`](Self::pairwise) in some rows and columns, to the bit, row after row,
    /// in parallel: for tables that do not fit into memory. Progress counts rows.
    ///
    /// # Errors
    /// As [`Tree::pairwise`].
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

    /// Distances from every measure here to every one of another set prepared by the same model,
    /// row after row, in parallel; progress counts rows.
    ///
    /// # Errors
    /// As [`Tree::cross`].
    ///
    /// # Panics
    /// If the other set is prepared by another model.
    pub fn cross(&self, other: &Self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.cross_rows(other, 0..self.measures().len(), progress)
    }

    /// Some rows of [`cross`](Self::cross), to the bit.
    ///
    /// # Errors
    /// As [`Tree::cross`].
    ///
    /// # Panics
    /// If the other set is prepared by another model.
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

    /// The `k` measures of another set prepared by the same model that are closest to each of some
    /// measures here, closest first, equal ones by number; without another set the closest others
    /// here. Progress counts rows.
    ///
    /// # Errors
    /// As [`Tree::cross`].
    ///
    /// # Panics
    /// If the other set is prepared by another model.
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
        // A measure is no neighbor of itself.
        let itself = |row| if other.is_some() { None } else { Some(row) };
        Ok(parallel::map(rows.len(), |at| {
            least(k, &table[at * columns..(at + 1) * columns], itself(rows.start + at))
        }))
    }

    /// Rows of a block, for tables of `columns` columns that are computed in blocks: 64 MiB with a
    /// copy, or a quarter of the memory where that is less; at least one.
    pub fn rows_at_once(&self, columns: usize) -> usize {
        let room = memory::available().map_or(AT_ONCE, |bytes| AT_ONCE.min(bytes / 4));
        let row = memory::size_of::<f64>(&[columns.max(1), self.tables() + 1]);
        usize::try_from(room / row).map_or(usize::MAX, |rows| rows.max(1))
    }

    /// The first column to compute where [`pairwise`](Self::pairwise) is computed in blocks of rows:
    /// the columns before it are copied from the rows above. In a large table nothing is copied,
    /// because a column of it is read from all over the disk.
    pub fn first_column(&self, row: usize) -> usize {
        if self.measures().len() > MOST_COPIED { 0 } else { row }
    }

    /// Distance between measure `i` here and measure `j` of another set prepared by the same model,
    /// reusing memory. Masses are taken to be equal.
    ///
    /// # Panics
    /// If there is no such measure, or the other set is prepared by another model.
    pub fn distance_to(&self, i: usize, other: &Self, j: usize, scratch: &mut Scratch) -> f64 {
        self.check_model(other);
        let both = self.trees.iter().zip(&other.trees).zip(&self.weights);
        both.map(|((left, right), w)| w * left.distance_to(i, right, j, scratch)).sum()
    }

    /// Tables in memory at once: the mean, and that of a tree.
    fn tables(&self) -> usize {
        self.trees.len().min(2)
    }

    /// Checks that both have as many trees, of the same weights; the trees check that they are the
    /// same.
    fn check_model(&self, other: &Self) {
        assert!(self.weights == other.weights, "both sets must be prepared by one model");
    }
}

/// The `k` least distances with their places, least first; one place may be left out.
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
