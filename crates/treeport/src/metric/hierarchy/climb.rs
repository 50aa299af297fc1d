//! Distances of single pairs: two upward searches, and their best meeting node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{MutexGuard, PoisonError};

use rayon::prelude::*;

use super::Hierarchy;
use crate::metric::graph::Heap;

/// Positions reached by an upward search with their distances, lowest first.
type UpwardDistances = Vec<(u32, f64)>;

/// Workspace of upward searches; `distance` is infinite between them.
#[derive(Default)]
pub(super) struct Workspace {
    distance: Vec<f64>,
    queue: BinaryHeap<Reverse<u32>>,
    heap: Heap,
}

/// A hierarchy with a workspace of as many numbers as it has nodes; the workspace is reused.
struct Climber<'a> {
    hierarchy: &'a Hierarchy,
    workspace: Workspace,
}

impl Drop for Climber<'_> {
    fn drop(&mut self) {
        // After a panic the workspace may hold an unfinished search.
        if !std::thread::panicking() {
            self.hierarchy.workspaces().push(std::mem::take(&mut self.workspace));
        }
    }
}

impl Hierarchy {
    /// Computes the distance between two nodes.
    pub(in crate::metric) fn distance(&self, i: usize, j: usize) -> f64 {
        let mut out = [0.0];
        Climber::new(self).run(i, &[(i, j)], &mut out);
        out[0]
    }

    /// Computes the distances from node `i` to the nodes `to`.
    pub(in crate::metric) fn distances_from(&self, i: usize, to: &[u32], out: &mut [f64]) {
        let pairs: Vec<(usize, usize)> = to.iter().map(|&j| (i, j as usize)).collect();
        Climber::new(self).run(i, &pairs, out);
    }

    fn workspaces(&self) -> MutexGuard<'_, Vec<Workspace>> {
        self.workspaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes the distances of the given pairs, in parallel: one upward search from each second
    /// node, and from the first node of each run.
    pub(in crate::metric) fn pairs(&self, pairs: &[(usize, usize)]) -> Vec<f64> {
        let mut out = vec![0.0; pairs.len()];
        let chunks = pairs.par_chunks(CHUNK).zip(out.par_chunks_mut(CHUNK));
        chunks.for_each_init(
            || Climber::new(self),
            |climber, (pairs, mut out)| {
                for run in pairs.chunk_by(|a, b| a.0 == b.0) {
                    let (here, rest) = out.split_at_mut(run.len());
                    climber.run(run[0].0, run, here);
                    out = rest;
                }
            },
        );
        out
    }
}

/// Pairs per chunk of a thread.
const CHUNK: usize = 256;

impl<'a> Climber<'a> {
    fn new(hierarchy: &'a Hierarchy) -> Self {
        let mut workspace = hierarchy.workspaces().pop().unwrap_or_default();
        workspace.distance.resize(hierarchy.position.len(), f64::INFINITY);
        Self { hierarchy, workspace }
    }

    /// Computes the distances from `from` to the second node of each pair.
    fn run(&mut self, from: usize, pairs: &[(usize, usize)], out: &mut [f64]) {
        let mut source = self.climb(from);
        self.cross_core(&mut source);
        for (&(_, to), out) in pairs.iter().zip(out) {
            *out = if to == from { 0.0 } else { meeting(&source, &self.climb(to)) };
        }
    }

    /// Runs an upward search in increasing order of positions: each distance read is final.
    fn climb(&mut self, node: usize) -> UpwardDistances {
        let mut label = UpwardDistances::new();
        let first = self.hierarchy.position(node as u32);
        let Workspace { distance, queue, .. } = &mut self.workspace;
        distance[first as usize] = 0.0;
        queue.push(Reverse(first));
        while let Some(Reverse(position)) = queue.pop() {
            let at = position as usize;
            let here = distance[at];
            label.push((position, here));
            if at >= self.hierarchy.core {
                continue;
            }
            for (to, length) in self.hierarchy.arcs(at) {
                if distance[to].is_infinite() {
                    queue.push(Reverse(to as u32));
                }
                distance[to] = distance[to].min(here + length);
            }
        }
        for &(position, _) in &label {
            distance[position as usize] = f64::INFINITY;
        }
        label
    }

    /// Extends a label from where it enters the core to all of the core.
    fn cross_core(&mut self, label: &mut UpwardDistances) {
        let outside = label.partition_point(|entry| (entry.0 as usize) < self.hierarchy.core);
        if outside == label.len() {
            return;
        }
        let core = self.hierarchy.core;
        let Workspace { distance, heap, .. } = &mut self.workspace;
        for (position, here) in label.drain(outside..) {
            distance[position as usize] = here;
        }
        self.hierarchy.search_core(&mut distance[core..], heap);
        label.extend((core as u32..).zip(distance[core..].iter().copied()));
        distance[core..].fill(f64::INFINITY);
    }
}

/// Returns the length of the shortest path over a position in both labels.
fn meeting(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut i, mut j, mut best) = (0, 0, f64::INFINITY);
    while i < a.len() && j < b.len() {
        let (left, right) = (a[i], b[j]);
        if left.0 == right.0 {
            best = best.min(left.1 + right.1);
        }
        i += usize::from(left.0 <= right.0);
        j += usize::from(right.0 <= left.0);
    }
    best
}
