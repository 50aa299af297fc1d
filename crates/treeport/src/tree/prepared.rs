//! Measures prepared for one tree, so that each pair of them costs O(s). Errors of tables are those
//! of [`Tree::pairs`] and [`Tree::cross`]; progress counts rows.

use std::ops::Range;
use std::sync::OnceLock;

use super::Tree;
use super::distance::{PAIRS_PER_TASK, Scratch, sparse};
use super::lists::{self, NodeLists};
use super::scan::{ListScan, zeros};
use super::skeleton::{Skeleton, SkeletonRow};
use crate::error::Result;
use crate::measures::Measures;
use crate::memory;
use crate::progress::tasks;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// Measures prepared for one tree: rows sorted by the depth-first order of its leaves.
///
/// The first distances build an index that later ones reuse: about 200 bytes per point of a measure
/// for pairs, about 150 for tables.
#[derive(Clone, Debug)]
pub struct RankedMeasures {
    pub(super) tree: Tree,
    pub(super) measures: Measures,
    /// Measures with leaf ranks in place of points.
    pub(super) ranked: Measures,
    /// Counts of the collection that these measures are a part of, if any.
    collection: Option<Census>,
    skeleton: OnceLock<Option<Skeleton>>,
    lists: OnceLock<Option<NodeLists>>,
}

/// Counts of a collection of measures and of the tree nodes above their points.
///
/// The counts select the algorithm for distances, and different algorithms round differently.
/// Counts of parts add up to those of the collection; a part that is [prepared](Tree::prepare_part)
/// with the counts of the collection gives the same bits as the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Number of measures.
    pub measures: usize,
    /// Number of points of all measures.
    pub entries: usize,
    /// Number of nodes above the points of each measure, without the root, summed over measures.
    pub above: usize,
}

/// Rows per sorting task.
const ROWS_PER_TASK: usize = 512;

impl Tree {
    /// Prepares measures for this tree, in parallel, so that each pair of them costs O(s).
    ///
    /// # Errors
    /// The measures are on another number of points.
    pub fn prepare(&self, measures: &Measures) -> Result<RankedMeasures> {
        measures.check_points(self.leaves())?;
        // Twice: the rows of each task, and all of them concatenated.
        let step = format_args!("the layout of {} measures for a tree", measures.len());
        memory::check(step, 2 * measures.bytes(), "take some of the measures at a time")?;
        let tasks = measures.len().div_ceil(ROWS_PER_TASK);
        let sorted = |task: usize| {
            let first = task * ROWS_PER_TASK;
            let rows = first..(first + ROWS_PER_TASK).min(measures.len());
            self.by_rank(rows.map(|r| measures.row(r)))
        };
        let ranked = match tasks {
            0 | 1 => self.by_rank(measures.iter()),
            _ => {
                let parts: Vec<Measures> = parallel::map(tasks, sorted);
                Measures::concat(&parts)?
            }
        };
        let (tree, measures) = (self.clone(), measures.clone());
        let (collection, skeleton, lists) = (None, OnceLock::new(), OnceLock::new());
        Ok(RankedMeasures { tree, measures, ranked, collection, skeleton, lists })
    }

    /// Prepares a part of a larger collection, so that distances are bit for bit those of the
    /// collection. The counts of the collection are the sums of the [`census`](Self::census) of its
    /// parts.
    pub fn prepare_part(&self, measures: &Measures, collection: Census) -> Result<RankedMeasures> {
        Ok(RankedMeasures { collection: Some(collection), ..self.prepare(measures)? })
    }

    /// Counts the measures and the nodes above their points. O(s) per measure.
    pub fn census(&self, measures: &Measures) -> Result<Census> {
        let ranked = self.prepare(measures)?.ranked;
        let above = lists::entries(self, &ranked, usize::MAX).unwrap_or(usize::MAX);
        Ok(Census { measures: measures.len(), entries: measures.entries(), above })
    }
}

/// Columns per task, so that a table of few long rows has work for all threads.
const COLUMNS_PER_TASK: usize = 4096;

/// Computes the table of `distance(row, column)`, in parallel; progress counts rows.
fn table(
    rows: usize,
    columns: usize,
    progress: &Progress<'_>,
    distance: impl Fn(usize, usize, &mut Scratch) -> f64 + Sync,
) -> Result<Vec<f64>> {
    let mut table = zeros(rows, columns)?;
    let counter = Counter::new(tasks::DISTANCES, rows, progress);
    parallel::try_for_each(table.chunks_mut(columns.max(1)).enumerate(), |(i, row)| {
        parallel::try_for_each_with(
            row.chunks_mut(COLUMNS_PER_TASK).enumerate(),
            Scratch::default,
            |scratch, (part, out)| {
                counter.add(0)?;
                for (j, out) in (part * COLUMNS_PER_TASK..).zip(out) {
                    *out = distance(i, j, scratch);
                }
                Ok(())
            },
        )?;
        counter.add(1)
    })?;
    Ok(table)
}

/// Checks that `tables` tables of this size fit into memory at the same time.
pub(crate) fn check_tables(rows: usize, columns: usize, tables: usize) -> Result<()> {
    if tables < 2 {
        return Ok(()); // the allocation checks a single table
    }
    let step = format_args!("the table of {rows} by {columns} distances of several trees");
    memory::check(step, memory::size_of::<f64>(&[rows, columns, tables]), PARTS)
}

/// Advice if a table does not fit into memory.
pub(super) const PARTS: &str = "take it in blocks of rows (`treeport distance -o table.npy`, `out=` a memory map in Python, one block after the other in Rust), or ask for listed pairs or for the nearest alone";

impl RankedMeasures {
    /// Returns the number of measures.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Returns whether there are no measures.
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// Returns the measures.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Computes distances of pairs of measures, in parallel.
    ///
    /// # Errors
    /// A measure that does not exist; two measures of unequal mass;
    /// [`Error::Canceled`](crate::Error::Canceled) if `progress`, which counts pairs, cancels.
    pub fn pairs(&self, pairs: &[(usize, usize)], progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.measures.check_pairs(pairs)?;
        let counter = Counter::new(tasks::DISTANCES, pairs.len(), progress);
        let mut distances = vec![0.0; pairs.len()];
        let tasks = distances.chunks_mut(PAIRS_PER_TASK).zip(pairs.chunks(PAIRS_PER_TASK));
        parallel::try_for_each_with(tasks, Scratch::default, |scratch, (out, pairs)| {
            for (out, &(i, j)) in out.iter_mut().zip(pairs) {
                *out = self.distance_with(i, j, scratch);
            }
            counter.add(pairs.len())
        })?;
        Ok(distances)
    }

    /// Computes the distances of all pairs, in parallel: a symmetric matrix, row by row.
    pub fn pairwise(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.block(0..self.len(), 0..self.len(), progress)
    }

    /// Computes a block of [`pairwise`](Self::pairwise), bit for bit, row by row, in parallel, for
    /// tables that do not fit into memory.
    pub fn block(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        self.check_rows(&rows)?;
        self.check_rows(&columns)?;
        Measures::check_all_balanced(&[&self.measures])?;
        // A pair that occurs twice in the block is computed once and copied.
        let both = rows.start.max(columns.start)..rows.end.min(columns.end);
        let later = |i: usize, j: usize| j < i && both.contains(&i) && both.contains(&j);
        let mut block = if let Some(lists) = self.lists() {
            let scan = ListScan { queries: self, collection: self, lists };
            let wanted =
                |i: usize, part: &Range<usize>| !(later(i, part.start) && later(i, part.end - 1));
            scan.rows(rows.clone(), &columns, progress, wanted)?
        } else {
            table(rows.len(), columns.len(), progress, |i, j, scratch| {
                let (i, j) = (rows.start + i, columns.start + j);
                if i == j || later(i, j) {
                    return 0.0;
                }
                self.distance_with(i.min(j), i.max(j), scratch)
            })?
        };
        let place = |i, j| (i - rows.start) * columns.len() + (j - columns.start);
        for i in both.clone() {
            for j in both.start..i {
                block[place(i, j)] = block[place(j, i)];
            }
        }
        Ok(block)
    }

    /// Computes distances from every measure of this set to every measure of another set prepared
    /// for the same tree, row by row, in parallel.
    ///
    /// # Panics
    /// If the other set was prepared for another tree.
    pub fn cross(&self, other: &Self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.cross_rows(other, 0..self.len(), progress)
    }

    /// Computes the given rows of [`cross`](Self::cross), bit for bit.
    ///
    /// # Panics
    /// If the other set was prepared for another tree.
    pub fn cross_rows(
        &self,
        other: &Self,
        rows: Range<usize>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        self.check_rows(&rows)?;
        Measures::check_all_balanced(&[&self.measures, &other.measures])?;
        self.check_tree(other);
        // Lists pay off for the larger set, which every query of the smaller one reads.
        if self.size().0 > other.size().0 {
            if let Some(lists) = self.lists() {
                return ListScan { queries: other, collection: self, lists }
                    .columns(&rows, progress);
            }
        } else if let Some(lists) = other.lists() {
            let (scan, all) =
                (ListScan { queries: self, collection: other, lists }, 0..other.len());
            return scan.rows(rows, &all, progress, |_, _| true);
        }
        table(rows.len(), other.len(), progress, |i, j, scratch| {
            self.distance_to(rows.start + i, other, j, scratch)
        })
    }

    /// Checks that all rows exist.
    fn check_rows(&self, rows: &Range<usize>) -> Result<()> {
        let last = rows.clone().last();
        last.map_or(Ok(()), |last| self.measures.get(last).map(drop))
    }

    /// Computes the distance between measures `i` and `j` with a reusable workspace: O(s), or O(n)
    /// if s is most of n.
    ///
    /// Unlike [`Tree::pairs`], it does not check that masses are equal.
    ///
    /// # Panics
    /// If there is no such measure.
    pub fn distance_with(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        self.distance_to(i, self, j, scratch)
    }

    /// Computes the distance between measures `i` and `j` by a sweep over the subtree that their
    /// supports span: O(s).
    ///
    /// # Panics
    /// If there is no such measure.
    pub fn distance_sparse(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        sparse(self.tree.index(), &self.ranked.row(i), &self.ranked.row(j), scratch)
    }

    /// Computes the distance between measure `i` of this set and measure `j` of another set
    /// prepared for the same tree.
    ///
    /// # Panics
    /// If there is no such measure, or the other set was prepared for another tree.
    pub fn distance_to(&self, i: usize, other: &Self, j: usize, scratch: &mut Scratch) -> f64 {
        self.check_tree(other);
        let (a, b) = (self.ranked.row(i), other.ranked.row(j));
        if self.tree.prefers_dense(a.support().len() + b.support().len()) {
            return self.tree.distance_dense(
                &self.measures.row(i),
                &other.measures.row(j),
                scratch,
            );
        }
        let by_skeleton = match (self.skeleton(), other.skeleton()) {
            (Some(left), Some(right)) if left.fits(right) => {
                let left = SkeletonRow { skeleton: left, ranked: &self.ranked, row: i };
                let right = SkeletonRow { skeleton: right, ranked: &other.ranked, row: j };
                left.distance(&right, self.tree.index(), &mut scratch.stack)
            }
            _ => None,
        };
        by_skeleton.unwrap_or_else(|| sparse(self.tree.index(), &a, &b, scratch))
    }

    /// Returns the number of measures and of their points; for a part, of the whole collection.
    fn size(&self) -> (usize, usize) {
        let own = (self.measures.len(), self.measures.entries());
        self.collection.map_or(own, |collection| (collection.measures, collection.entries))
    }

    fn check_tree(&self, other: &Self) {
        assert!(self.tree.is_copy_of(&other.tree), "both sets must be prepared for one tree");
    }

    /// Returns the skeleton, built by one thread: parallel tasks could wait for it.
    fn skeleton(&self) -> Option<&Skeleton> {
        let make = || Skeleton::new(&self.tree, self.tree.index(), &self.ranked, self.size());
        self.skeleton.get_or_init(make).as_ref()
    }

    /// Returns the lists, built on all threads, perhaps by two callers at once.
    fn lists(&self) -> Option<&NodeLists> {
        if self.lists.get().is_none() {
            let (measures, entries) = self.size();
            let mean = entries / measures.max(1);
            let sparse = !self.tree.prefers_dense(2 * mean);
            let make = || NodeLists::new(&self.tree, &self.measures, &self.ranked, self.collection);
            let _kept = self.lists.set(sparse.then(make).flatten());
        }
        self.lists.get()?.as_ref()
    }
}
