//! Tables of distances from the lists of a collection.

use std::ops::Range;

use super::distance::{Scratch, sparse};
use super::lists::{NodeLists, PART, QueryShares, SharedSums, parts_of};
use super::prepared::{PARTS, RankedMeasures};
use crate::error::Result;
use crate::memory;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps;

/// The measures `asking` against the collection `among`, whose lists are `lists`.
pub(super) struct ListScan<'a> {
    pub(super) asking: &'a RankedMeasures,
    pub(super) among: &'a RankedMeasures,
    pub(super) lists: &'a NodeLists,
}

impl ListScan<'_> {
    /// A row of distances for each query in `asking`, to the measures `among` of the collection, in
    /// parallel; parts of a row that are not `wanted` stay 0. Progress counts rows.
    pub(super) fn rows(
        &self,
        asking: Range<usize>,
        among: &Range<usize>,
        progress: &Progress<'_>,
        wanted: impl Fn(usize, &Range<usize>) -> bool + Sync,
    ) -> Result<Vec<f64>> {
        let mut table = zeros(asking.len(), among.len())?;
        let counter = Counter::new(steps::DISTANCES, asking.len(), progress);
        parallel::try_for_each_with(
            table.chunks_mut(among.len().max(1)).zip(asking),
            || self.below(),
            |below, (out, row)| {
                let query = self.query(row, below);
                let parts = Self::tasks(out, 1, among).into_iter();
                parallel::try_for_each_with(
                    parts.filter(|(_, columns, _)| wanted(row, columns)),
                    Self::memory,
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

    /// A row of distances for each measure `among` of the collection, to all queries. Progress counts rows.
    pub(super) fn columns(
        &self,
        among: &Range<usize>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        let columns = self.asking.len();
        let mut table = zeros(among.len(), columns)?;
        let counter = Counter::new(steps::DISTANCES, among.len(), progress);
        let query = |below: &mut Vec<f64>, column| self.query(column, below);
        let queries: Vec<QueryShares> = parallel::map_with(columns, || self.below(), query);
        let parts = Self::tasks(&mut table, columns, among).into_iter();
        parallel::try_for_each_with(parts, Self::memory, |(sums, scratch), (part, rows, out)| {
            for (column, query) in queries.iter().enumerate() {
                self.lists.share(part, query, sums);
                for (out, row) in out.chunks_exact_mut(columns).zip(rows.clone()) {
                    out[column] = self.distance((column, query), row, sums, scratch);
                }
                counter.add(0)?;
            }
            counter.add(rows.len())
        })?;
        Ok(table)
    }

    /// The parts of the lists that hold the measures `among`: (part, its measures, their place in
    /// `out`, where each measure has `width` numbers).
    fn tasks<'b>(
        mut out: &'b mut [f64],
        width: usize,
        among: &Range<usize>,
    ) -> Vec<(usize, Range<usize>, &'b mut [f64])> {
        let mut tasks = Vec::new();
        for (part, rows) in parts_of(among) {
            let (here, rest) = out.split_at_mut(rows.len() * width);
            tasks.push((part, rows, here));
            out = rest;
        }
        tasks
    }

    fn query(&self, row: usize, below: &mut [f64]) -> QueryShares {
        QueryShares::new(&self.asking.tree, &self.asking.measures.row(row), below)
    }

    fn distance(
        &self,
        (row, query): (usize, &QueryShares),
        other: usize,
        sums: &SharedSums,
        scratch: &mut Scratch,
    ) -> f64 {
        self.lists.distance(query, other, sums).unwrap_or_else(|| {
            let (a, b) = (self.asking.ranked.row(row), self.among.ranked.row(other));
            sparse(self.asking.tree.index(), &a, &b, scratch)
        })
    }

    /// A 0 for every node.
    fn below(&self) -> Vec<f64> {
        vec![0.0; self.asking.tree.nodes()]
    }

    fn memory() -> (SharedSums, Scratch) {
        ([0.0; PART], Scratch::default())
    }
}

/// An empty table, if there is room for it.
pub(super) fn zeros(rows: usize, columns: usize) -> Result<Vec<f64>> {
    let step = format_args!("the table of {rows} by {columns} distances");
    memory::zeros(step, rows.saturating_mul(columns), PARTS)
}
