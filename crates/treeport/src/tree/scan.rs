//! Tables of distances by the inverted lists of a collection.

use std::ops::Range;

use super::distance::{Scratch, sparse};
use super::lists::{NodeLists, PART, QueryShares, SharedSums, parts_of};
use super::prepared::{PARTS, RankedMeasures};
use crate::error::Result;
use crate::memory;
use crate::progress::tasks;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// Query measures, a collection, and the collection's inverted lists.
pub(super) struct ListScan<'a> {
    pub(super) queries: &'a RankedMeasures,
    pub(super) collection: &'a RankedMeasures,
    pub(super) lists: &'a NodeLists,
}

impl ListScan<'_> {
    /// Computes a row of distances to `members` for each query; unwanted parts stay 0.
    pub(super) fn rows(
        &self,
        query_rows: Range<usize>,
        members: &Range<usize>,
        progress: &Progress<'_>,
        wanted: impl Fn(usize, &Range<usize>) -> bool + Sync,
    ) -> Result<Vec<f64>> {
        let mut table = zeros(query_rows.len(), members.len())?;
        let counter = Counter::new(tasks::DISTANCES, query_rows.len(), progress);
        parallel::try_for_each_with(
            table.chunks_mut(members.len().max(1)).zip(query_rows),
            || self.below(),
            |below, (out, row)| {
                let query = self.query(row, below);
                let parts = Self::tasks(out, 1, members).into_iter();
                parallel::try_for_each_with(
                    parts.filter(|(_, columns, _)| wanted(row, columns)),
                    Self::workspace,
                    |(sums, scratch), (part, columns, out)| {
                        self.lists.share(part, &query, sums);
                        for (out, column) in out.iter_mut().zip(columns) {
                            *out = self.distance((row, &query), column, sums, scratch);
                        }
                        counter.add(0)
                    },
                )?;
                counter.add(1)
            },
        )?;
        Ok(table)
    }

    /// Computes a row of distances to all queries for each of the `members`.
    pub(super) fn columns(
        &self,
        members: &Range<usize>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        let columns = self.queries.len();
        let mut table = zeros(members.len(), columns)?;
        let counter = Counter::new(tasks::DISTANCES, members.len(), progress);
        let query = |below: &mut Vec<f64>, column| self.query(column, below);
        let queries: Vec<QueryShares> = parallel::map_with(columns, || self.below(), query);
        let parts = Self::tasks(&mut table, columns, members).into_iter();
        parallel::try_for_each_with(
            parts,
            Self::workspace,
            |(sums, scratch), (part, rows, out)| {
                for (column, query) in queries.iter().enumerate() {
                    self.lists.share(part, query, sums);
                    for (out, row) in out.chunks_exact_mut(columns).zip(rows.clone()) {
                        out[column] = self.distance((column, query), row, sums, scratch);
                    }
                    counter.add(0)?;
                }
                counter.add(rows.len())
            },
        )?;
        Ok(table)
    }

    /// Returns the parts of the lists that hold the `members`: (part, its members, their section of
    /// `out`, with `width` numbers per member).
    fn tasks<'b>(
        mut out: &'b mut [f64],
        width: usize,
        members: &Range<usize>,
    ) -> Vec<(usize, Range<usize>, &'b mut [f64])> {
        let mut tasks = Vec::new();
        for (part, rows) in parts_of(members) {
            let (here, rest) = out.split_at_mut(rows.len() * width);
            tasks.push((part, rows, here));
            out = rest;
        }
        tasks
    }

    fn query(&self, row: usize, below: &mut [f64]) -> QueryShares {
        QueryShares::new(&self.queries.tree, &self.queries.measures.row(row), below)
    }

    fn distance(
        &self,
        (row, query): (usize, &QueryShares),
        other: usize,
        sums: &SharedSums,
        scratch: &mut Scratch,
    ) -> f64 {
        self.lists.distance(query, other, sums).unwrap_or_else(|| {
            let (a, b) = (self.queries.ranked.row(row), self.collection.ranked.row(other));
            sparse(self.queries.tree.index(), &a, &b, scratch)
        })
    }

    /// Returns zeros for all nodes.
    fn below(&self) -> Vec<f64> {
        vec![0.0; self.queries.tree.nodes()]
    }

    fn workspace() -> (SharedSums, Scratch) {
        ([0.0; PART], Scratch::default())
    }
}

/// Returns a table of zeros, if it fits into memory.
pub(super) fn zeros(rows: usize, columns: usize) -> Result<Vec<f64>> {
    let step = format_args!("the table of {rows} by {columns} distances");
    memory::zeros(step, rows.saturating_mul(columns), PARTS)
}
