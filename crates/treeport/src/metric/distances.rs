//! Distances of a ground metric: of one pair, a row, a block, a list of pairs, or all of them.

use std::cmp::Ordering;
use std::sync::Arc;

use rayon::prelude::*;

use super::condensed::{place, row_start};
use super::graph::Heap;
use super::kernels::pairs;
use super::{BlockCache, FEWER, GroundMetric, Source, Storage};
use crate::error::Result;
use crate::memory;
use crate::progress::tasks::DISTANCES;
use crate::progress::{Counter, Progress, silent};
use crate::tools::parallel;

impl GroundMetric {
    /// Computes the distance between two points.
    ///
    /// # Complexity
    /// O(dim) for points, O(1) for a matrix. A graph is searched until the farther node is settled,
    /// up to O(E log N) with O(N) memory; for more than a few pairs use [`row`](Self::row),
    /// [`block`](Self::block) or [`materialized`](Self::materialized).
    ///
    /// # Panics
    /// If there is no such point.
    pub fn distance(&self, i: usize, j: usize) -> f64 {
        let n = self.points();
        assert!(i < n && j < n, "points are 0..{n}");
        // From the smaller number, so that sums along a path are the same in both directions.
        let (i, j) = (i.min(j), i.max(j));
        match &self.shared.source {
            _ if i == j => 0.0,
            Source::Points(points) => points.distance(i, j),
            Source::Discrete(_) => 1.0,
            Source::Matrix(n, storage) => storage.get(place(*n, i, j)),
            Source::Graph(graph) => {
                if let Some(table) = self.shared.cache.table.get() {
                    return table.get(place(n, i, j));
                }
                if let Some(hierarchy) = self.shared.cache.hierarchy.get() {
                    return hierarchy.distance(i, j);
                }
                let mut distance = vec![0.0; n];
                graph.search(i, Some(j), &mut distance, &mut Heap::new());
                distance[j]
            }
        }
    }

    /// Computes the distances from point `i` to all points.
    ///
    /// A graph is searched once, O(E log N). Sums run along the path from `i`, so rows `i` and `j`
    /// agree on their common distance up to rounding.
    ///
    /// # Panics
    /// If there is no such point, or `out` does not have one entry per point.
    pub fn row(&self, i: usize, out: &mut [f64]) {
        assert_eq!(out.len(), self.points(), "one entry per point");
        match &self.shared.source {
            Source::Graph(graph) if self.storage().is_none() => {
                graph.search(i, None, out, &mut Heap::new());
            }
            _ => out.iter_mut().enumerate().for_each(|(j, out)| *out = self.distance(i, j)),
        }
    }

    /// Computes the distances from `rows` to `cols`, row by row.
    ///
    /// A graph is searched once per row, or its [hierarchy](Self::index_paths) once; points use a
    /// matrix product where that is faster, with a relative error of at most 10⁻¹² against
    /// [`distance`](Self::distance).
    ///
    /// # Panics
    /// If there is no such point, or `out` does not have one entry per pair.
    pub fn block(&self, rows: &[usize], cols: &[usize], out: &mut [f64]) {
        assert_eq!(out.len(), rows.len() * cols.len(), "one entry per pair");
        if cols.is_empty() {
            return;
        }
        if let Source::Points(points) = &self.shared.source {
            return pairs::block(points, rows, cols, out);
        }
        if let (None, Some(hierarchy)) = (self.storage(), self.shared.cache.hierarchy.get()) {
            return hierarchy.block(rows, cols, out);
        }
        let n = self.points();
        let mut scratch = Vec::new();
        let mut heap = Heap::new();
        for (&i, out) in rows.iter().zip(out.chunks_exact_mut(cols.len())) {
            match (self.storage(), &self.shared.source) {
                (None, Source::Graph(graph)) => {
                    scratch.resize(graph.len(), 0.0);
                    graph.search(i, None, &mut scratch, &mut heap);
                    cols.iter().zip(out).for_each(|(&j, out)| *out = scratch[j]);
                }
                (Some(Storage::F64(distances)), _) => some_of_row(distances, (n, i), cols, out),
                (Some(Storage::F32(distances)), _) => some_of_row(distances, (n, i), cols, out),
                _ => cols.iter().zip(out).for_each(|(&j, out)| *out = self.distance(i, j)),
            }
        }
    }

    /// Computes a [`block`](Self::block) whose rows are among the points `from`; rows and `from`
    /// increase. `cache` keeps the memory layout of `from`. Distances have the same accuracy as
    /// those of `block`.
    pub(crate) fn block_from(
        &self,
        cache: &mut BlockCache,
        from: &[u32],
        rows: &[usize],
        cols: &[usize],
        out: &mut [f64],
    ) {
        if let Source::Points(points) = &self.shared.source {
            if !std::ptr::eq(cache.metric.as_ptr(), Arc::as_ptr(&self.shared)) {
                cache.laid_out.forget();
                cache.metric = Arc::downgrade(&self.shared);
            }
            if cache.laid_out.block(points, from, rows, cols, out) {
                return;
            }
        }
        self.block(rows, cols, out);
    }

    /// Computes the distances from point `i` to the points `to`. They equal
    /// [`distance`](Self::distance) bit for bit, except for a graph, which is searched once, from
    /// `i`, or whose hierarchy is used.
    pub(crate) fn distances_from(&self, i: usize, to: &[u32], out: &mut [f64]) {
        match &self.shared.source {
            Source::Points(points) => points.distances_from(i, to, out),
            Source::Graph(graph) if to.len() > 1 && self.storage().is_none() => {
                if let Some(hierarchy) = self.shared.cache.hierarchy.get() {
                    return hierarchy.distances_from(i, to, out);
                }
                let mut row = vec![0.0; graph.len()];
                graph.search(i, None, &mut row, &mut Heap::new());
                to.iter().zip(out).for_each(|(&j, out)| *out = row[j as usize]);
            }
            _ => to.iter().zip(out).for_each(|(&j, out)| *out = self.distance(i, j as usize)),
        }
    }

    /// Computes the distances from point `i` to points of another set with coordinates in the same
    /// space, bit for bit as [`distance`](Self::distance) would in the union of the sets.
    pub(crate) fn distances_to_others(&self, i: usize, other: &Self, to: &[u32], out: &mut [f64]) {
        let (Some(points), Some(others)) = (self.as_points(), other.as_points()) else { return };
        let from = points.vector(i);
        for (&j, out) in to.iter().zip(out) {
            let vector = others.vector(j as usize);
            *out = points.metric.between(from, vector, points.coordinate_halves());
        }
    }

    /// Computes the distances of the given pairs, in parallel.
    ///
    /// A graph is searched once per run of pairs with the same first point: sort pairs by it.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn pairs(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        if let (None, Some(hierarchy)) = (self.storage(), self.shared.cache.hierarchy.get()) {
            return hierarchy.pairs(pairs);
        }
        let runs: Vec<_> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
        let of_run = |run: &&[(usize, usize)]| {
            let to: Vec<usize> = run.iter().map(|pair| pair.1).collect();
            let mut distances = vec![0.0; run.len()];
            self.block(&[run[0].0], &to, &mut distances);
            distances
        };
        runs.par_iter().flat_map_iter(of_run).collect()
    }

    /// Computes all distances, in the order of [`from_condensed`](Self::from_condensed).
    ///
    /// Runs in parallel, with the same result for any number of threads. Distances from a matrix
    /// product have a relative error of at most 10⁻¹² against [`distance`](Self::distance).
    ///
    /// # Complexity
    /// O(N²·dim) for points, O(N·E log N) for a graph.
    pub fn condensed(&self) -> Result<Vec<f64>> {
        self.check_table::<f64>()?;
        self.condensed_as(|d| d, &silent)
    }

    /// Checks that a table of all distances fits into memory.
    pub(super) fn check_table<T>(&self) -> Result<()> {
        let (n, bytes) = (self.points(), memory::size_of_pairs::<T>(self.points()));
        memory::check(format_args!("the table of all distances of {n} points"), bytes, FEWER)
    }

    /// Computes all distances and applies `cast`; counts rows. The caller checks the memory.
    pub(crate) fn condensed_as<T>(
        &self,
        cast: impl Fn(f64) -> T + Sync,
        progress: &Progress<'_>,
    ) -> Result<Vec<T>>
    where
        T: Copy + Default + Send,
    {
        let n = self.points();
        let count = usize::try_from(memory::size_of_pairs::<u8>(n)).unwrap_or(usize::MAX);
        let step = format_args!("the table of all distances of {n} points");
        let mut out: Vec<T> = memory::zeros(step, count, FEWER)?;
        let rows = Counter::new(DISTANCES, n, progress);
        match (self.storage(), &self.shared.source) {
            (Some(storage), _) => {
                for_each_row(n, &mut out, &rows, |i, row| {
                    let first = row_start(n, i);
                    row.iter_mut().enumerate().for_each(|(k, d)| *d = cast(storage.get(first + k)));
                })?;
            }
            (_, Source::Points(points)) => pairs::condensed(points, &mut out, cast, &rows)?,
            (_, Source::Graph(graph)) => graph.condensed(&mut out, cast, &rows)?,
            (_, Source::Discrete(_)) => out.fill(cast(1.0)),
            (None, Source::Matrix(..)) => unreachable!("a matrix is stored"),
        }
        Ok(out)
    }
}

/// Calls `change` with every row of a condensed matrix and its number, in parallel.
pub(crate) fn for_each_row<T: Send>(
    n: usize,
    distances: &mut [T],
    rows: &Counter<'_>,
    change: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    parallel::try_for_each(pairs::row_blocks(n, 16, distances).into_iter(), |mut block| {
        for i in block.first..block.end {
            change(i, block.row(i));
        }
        rows.add(block.end - block.first)
    })
}

/// Copies some distances of row i from a condensed matrix of n points.
fn some_of_row<T: Copy + Into<f64>>(
    distances: &[T],
    (n, i): (usize, usize),
    cols: &[usize],
    out: &mut [f64],
) {
    assert!(i < n && cols.iter().all(|j| *j < n), "points are 0..{n}");
    // Entries of row i after the diagonal are contiguous.
    let after = &distances[row_start(n, i)..];
    let distance = |j: usize| match j.cmp(&i) {
        Ordering::Greater => after[j - i - 1].into(),
        Ordering::Equal => 0.0,
        Ordering::Less => distances[place(n, j, i)].into(),
    };
    cols.iter().zip(out).for_each(|(&j, out)| *out = distance(j));
}
