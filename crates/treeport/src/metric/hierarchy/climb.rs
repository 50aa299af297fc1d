//! Single pairs: everything above the one end and above the other, and the best place to meet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::Hierarchy;
use crate::metric::graph::Heap;

/// The positions above a node and how far they are, lowest first.
type Label = Vec<(u32, f64)>;

/// The memory of climbs: `distance` is infinite between them.
struct Climber<'a> {
    hierarchy: &'a Hierarchy,
    distance: Vec<f64>,
    queue: BinaryHeap<Reverse<u32>>,
    heap: Heap,
}

impl Hierarchy {
    /// The distance between two nodes.
    pub(in crate::metric) fn distance(&self, i: usize, j: usize) -> f64 {
        let mut out = [0.0];
        Climber::new(self).run(i, &[(i, j)], &mut out);
        out[0]
    }

    /// The distances of the given pairs, in parallel; a run of pairs with the same first node
    /// climbs from it once.
    ///
    /// # Complexity
    /// What lies above each second node: a few hundred nodes of a road network.
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

/// Pairs that a thread takes at a time.
const CHUNK: usize = 256;

impl<'a> Climber<'a> {
    fn new(hierarchy: &'a Hierarchy) -> Self {
        let distance = vec![f64::INFINITY; hierarchy.position.len()];
        Self { hierarchy, distance, queue: BinaryHeap::new(), heap: Heap::new() }
    }

    /// The distances from a node to the second nodes of some pairs.
    fn run(&mut self, from: usize, pairs: &[(usize, usize)], out: &mut [f64]) {
        let mut source = self.climb(from);
        self.cross_core(&mut source);
        for (&(_, to), out) in pairs.iter().zip(out) {
            *out = if to == from { 0.0 } else { meeting(&source, &self.climb(to)) };
        }
    }

    /// Visits positions from low to high, so that each is final when it is left.
    fn climb(&mut self, node: usize) -> Label {
        let mut label = Label::new();
        let first = self.hierarchy.position(node as u32);
        self.distance[first as usize] = 0.0;
        self.queue.push(Reverse(first));
        while let Some(Reverse(position)) = self.queue.pop() {
            let at = position as usize;
            let here = self.distance[at];
            label.push((position, here));
            if at >= self.hierarchy.core {
                continue;
            }
            for (to, length) in self.hierarchy.arcs(at) {
                if self.distance[to].is_infinite() {
                    self.queue.push(Reverse(to as u32));
                }
                self.distance[to] = self.distance[to].min(here + length);
            }
        }
        for &(position, _) in &label {
            self.distance[position as usize] = f64::INFINITY;
        }
        label
    }

    /// Carries a label from where it enters the core to all of the core.
    fn cross_core(&mut self, label: &mut Label) {
        let outside = label.partition_point(|entry| (entry.0 as usize) < self.hierarchy.core);
        if outside == label.len() {
            return;
        }
        for (position, distance) in label.drain(outside..) {
            self.distance[position as usize] = distance;
        }
        let core = self.hierarchy.core;
        self.hierarchy.search_core(&mut self.distance[core..], &mut self.heap);
        label.extend((core as u32..).zip(self.distance[core..].iter().copied()));
        self.distance[core..].fill(f64::INFINITY);
    }
}

/// The shortest way over a position that both labels have.
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
