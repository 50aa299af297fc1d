//! Measures laid out for one tree, so that each pair of them costs O(s).

use rayon::prelude::*;

use super::Tree;
use super::distance::{PAIRS_PER_TASK, Scratch, sparse};
use super::skeleton::Skeleton;
use crate::error::Result;
use crate::measure::Measures;
use crate::memory;
use crate::progress::{self, Counter, Progress};

/// Measures laid out for one tree: rows sorted by the depth-first order of its leaves.
#[derive(Clone, Debug)]
pub struct Prepared {
    tree: Tree,
    measures: Measures,
    /// The same rows with leaf ranks in place of points.
    ranked: Measures,
    skeleton: Option<Skeleton>,
}

/// Rows that one task sorts.
const ROWS_PER_TASK: usize = 512;

impl Tree {
    /// Lays measures out for this tree, in parallel, so that each pair of them costs O(s).
    ///
    /// # Errors
    /// The measures live on another number of points.
    pub fn prepare(&self, measures: &Measures) -> Result<Prepared> {
        measures.check_points(self.leaves())?;
        // The rows of every task, and those of all in one.
        let step = format_args!("the layout of {} measures for a tree", measures.len());
        memory::check(step, 2 * measures.bytes(), "take some of the measures at a time")?;
        let index = self.index();
        let tasks = measures.len().div_ceil(ROWS_PER_TASK);
        let sorted = |task: usize| {
            let first = task * ROWS_PER_TASK;
            let rows = first..(first + ROWS_PER_TASK).min(measures.len());
            self.by_rank(rows.map(|r| measures.row(r)))
        };
        let ranked = match tasks {
            0 | 1 => self.by_rank(measures.iter()),
            _ => {
                let parts: Vec<Measures> = (0..tasks).into_par_iter().map(sorted).collect();
                Measures::concat(&parts)?
            }
        };
        let skeleton = Skeleton::new(self, index, &ranked);
        Ok(Prepared { tree: self.clone(), measures: measures.clone(), ranked, skeleton })
    }
}

/// The distances from every one of some measures to every one of others, 0 so far.
fn table(rows: usize, columns: usize) -> Result<Vec<f64>> {
    let step = format_args!("the table of {rows} by {columns} distances");
    memory::zeros(step, rows.saturating_mul(columns), PARTS)
}

/// Refuses so many tables at once, where they do not fit.
pub(crate) fn check_tables(rows: usize, columns: usize, tables: usize) -> Result<()> {
    if tables < 2 {
        return Ok(()); // it is weighed where it is made
    }
    let step = format_args!("the table of {rows} by {columns} distances of several trees");
    memory::check(step, memory::size_of::<f64>(&[rows, columns, tables]), PARTS)
}

/// What to do without the whole table.
const PARTS: &str = "ask for some rows at a time, for listed pairs, or for the nearest alone";

impl Prepared {
    /// The number of measures.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Whether there is no measure.
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// The measures.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Distances of pairs of measures, in parallel.
    ///
    /// # Errors
    /// A measure that does not exist, two of unequal mass;
    /// [`Error::Cancelled`](crate::Error::Cancelled) when `progress`, which counts pairs, asks to
    /// stop.
    pub fn pairs(&self, pairs: &[(usize, usize)], progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.measures.check_pairs(pairs)?;
        let counter = Counter::new(progress::DISTANCES, pairs.len(), progress);
        let mut distances = vec![0.0; pairs.len()];
        distances
            .par_chunks_mut(PAIRS_PER_TASK)
            .zip(pairs.par_chunks(PAIRS_PER_TASK))
            .try_for_each_init(Scratch::default, |scratch, (out, pairs)| {
                for (out, &(i, j)) in out.iter_mut().zip(pairs) {
                    *out = self.distance_with(i, j, scratch);
                }
                counter.add(pairs.len())
            })?;
        Ok(distances)
    }

    /// Distances of all pairs: a symmetric matrix, row after row, in parallel.
    ///
    /// # Errors
    /// As [`Prepared::pairs`]; progress counts rows.
    pub fn pairwise(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        let n = self.len();
        Measures::check_all_balanced(&[&self.measures])?;
        let mut matrix = table(n, n)?;
        let counter = Counter::new(progress::DISTANCES, n, progress);
        matrix.par_chunks_mut(n.max(1)).enumerate().try_for_each_init(
            Scratch::default,
            |scratch, (i, row)| {
                for j in i + 1..n {
                    row[j] = self.distance_with(i, j, scratch);
                }
                counter.add(1)
            },
        )?;
        for i in 0..n {
            for j in 0..i {
                matrix[i * n + j] = matrix[j * n + i];
            }
        }
        Ok(matrix)
    }

    /// Distances from every measure here to every one of another set for the same tree, row after
    /// row, in parallel.
    ///
    /// # Errors
    /// As [`Prepared::pairs`]; progress counts rows. Measures are numbered within their own set.
    ///
    /// # Panics
    /// If the other set is prepared for another tree.
    pub fn cross(&self, other: &Self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        Measures::check_all_balanced(&[&self.measures, &other.measures])?;
        let mut matrix = table(self.len(), other.len())?;
        let counter = Counter::new(progress::DISTANCES, self.len(), progress);
        matrix.par_chunks_mut(other.len().max(1)).enumerate().try_for_each_init(
            Scratch::default,
            |scratch, (i, row)| {
                for (j, out) in row.iter_mut().enumerate() {
                    *out = self.distance_to(i, other, j, scratch);
                }
                counter.add(1)
            },
        )?;
        Ok(matrix)
    }

    /// Distance between measures `i` and `j`, reusing memory: O(s), or O(n) where s is most of n.
    ///
    /// Masses are taken to be equal; [`Tree::pairs`] checks that, this does not.
    ///
    /// # Panics
    /// If there is no such measure.
    pub fn distance_with(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        self.distance_to(i, self, j, scratch)
    }

    /// As [`Prepared::distance_with`], always over the tree that the supports span: O(s).
    ///
    /// # Panics
    /// If there is no such measure.
    pub fn distance_sparse(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        sparse(self.tree.index(), &self.ranked.row(i), &self.ranked.row(j), scratch)
    }

    /// Distance between measure `i` here and measure `j` of another set prepared for the same tree.
    ///
    /// # Panics
    /// If there is no such measure, or the other set is prepared for another tree.
    pub fn distance_to(&self, i: usize, other: &Self, j: usize, scratch: &mut Scratch) -> f64 {
        assert!(self.tree.is_copy_of(&other.tree), "both sets must be prepared for one tree");
        let (a, b) = (self.ranked.row(i), other.ranked.row(j));
        if self.tree.prefers_dense(a.support().len() + b.support().len()) {
            return self.tree.distance_dense(
                &self.measures.row(i),
                &other.measures.row(j),
                scratch,
            );
        }
        let by_skeleton = match (&self.skeleton, &other.skeleton) {
            (Some(left), Some(right)) if left.fits(right) => {
                let theirs = (right, &other.ranked, j);
                left.distance(self.tree.index(), (&self.ranked, i), theirs, &mut scratch.stack)
            }
            _ => None,
        };
        by_skeleton.unwrap_or_else(|| sparse(self.tree.index(), &a, &b, scratch))
    }
}
