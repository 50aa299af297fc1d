//! Distances from many sources to many targets.
//!
//! The positions above any source or target are stored consecutively with their arcs. An upward
//! sweep, from low to high positions, propagates the distances of eight sources at a time, in
//! lanes. Dijkstra's search propagates them through the core, if there is one, and a downward sweep
//! to the targets.

use rayon::prelude::*;

use std::cmp::Reverse;

use super::Hierarchy;
use crate::metric::graph::{Heap, pop_nearest};

/// Sources per sweep.
const LANES: usize = 8;

/// Distances of eight sources.
type Lanes = [f64; LANES];

/// Part of the hierarchy above a set of nodes, numbered from low to high.
struct UpwardGraph<'a> {
    hierarchy: &'a Hierarchy,
    start: Vec<usize>,
    to: Vec<u32>,
    length: Vec<f64>,
    /// Whether a place lies above a target, so that the downward sweep visits it.
    above_target: Vec<bool>,
    /// First place in the core.
    core: usize,
    sources: Vec<u32>,
    targets: Vec<u32>,
}

impl Hierarchy {
    /// Computes the distances from each source to each target, row by row, in parallel over rows.
    ///
    /// Every eight sources sweep the nodes above all sources and targets, and every source searches
    /// the core. Memory is 5 bytes per node, and 64 per swept node and thread.
    pub(in crate::metric) fn block(&self, sources: &[usize], targets: &[usize], out: &mut [f64]) {
        if targets.is_empty() {
            return;
        }
        let part = UpwardGraph::new(self, sources, targets);
        let rows = out.par_chunks_mut(LANES * targets.len());
        rows.zip(part.sources.par_chunks(LANES)).for_each_init(
            || (Vec::new(), Vec::new(), Heap::new()),
            |(distance, lane, heap), (out, sources)| {
                part.sweep_up(sources, distance);
                part.cross_core(sources.len(), distance, lane, heap);
                part.sweep_down(distance);
                for (lane, row) in out.chunks_exact_mut(targets.len()).enumerate() {
                    for (&target, out) in part.targets.iter().zip(row) {
                        *out = distance[target as usize][lane];
                    }
                }
            },
        );
    }

    /// Runs Dijkstra's search in the core, from all nodes with a finite distance.
    pub(super) fn search_core(&self, distance: &mut [f64], heap: &mut Heap) {
        let reached = distance.iter().enumerate().filter(|(_, d)| d.is_finite());
        heap.extend(reached.map(|(at, d)| Reverse((d.to_bits(), at as u32))));
        while let Some((at, here)) = pop_nearest(heap, distance) {
            for (to, length) in self.arcs(self.core + at) {
                let (to, through) = (to - self.core, here + length);
                if through < distance[to] {
                    distance[to] = through;
                    heap.push(Reverse((through.to_bits(), to as u32)));
                }
            }
        }
    }
}

/// Marks of positions in [`above`].
const UNSEEN: u8 = 0;
const SEEN: u8 = 1;
const ABOVE_TARGET: u8 = 2;

impl<'a> UpwardGraph<'a> {
    fn new(hierarchy: &'a Hierarchy, sources: &[usize], targets: &[usize]) -> Self {
        let mut mark = vec![UNSEEN; hierarchy.position.len()];
        let mut positions = Vec::new();
        above(hierarchy, targets, ABOVE_TARGET, &mut mark, &mut positions);
        above(hierarchy, sources, SEEN, &mut mark, &mut positions);
        positions.sort_unstable();
        let core = positions.partition_point(|&p| (p as usize) < hierarchy.core);
        if positions.len() > core {
            // The core is connected: it is needed entirely or not at all.
            positions.truncate(core);
            positions.extend(hierarchy.core as u32..hierarchy.position.len() as u32);
        }
        let mut place = vec![0; hierarchy.position.len()];
        for (at, &position) in positions.iter().enumerate() {
            place[position as usize] = at as u32;
        }
        let (mut start, mut to, mut length) = (vec![0], Vec::new(), Vec::new());
        for &position in &positions[..core] {
            for (up, distance) in hierarchy.arcs(position as usize) {
                to.push(place[up]);
                length.push(distance);
            }
            start.push(to.len());
        }
        let place_of = |&v: &usize| place[hierarchy.position[v] as usize];
        Self {
            hierarchy,
            start,
            to,
            length,
            above_target: positions.iter().map(|&p| mark[p as usize] == ABOVE_TARGET).collect(),
            core,
            sources: sources.iter().map(place_of).collect(),
            targets: targets.iter().map(place_of).collect(),
        }
    }

    fn arcs(&self, place: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let row = self.start[place]..self.start[place + 1];
        self.to[row.clone()].iter().zip(&self.length[row]).map(|(&to, &d)| (to as usize, d))
    }

    fn sweep_up(&self, sources: &[u32], distance: &mut Vec<Lanes>) {
        distance.clear();
        distance.resize(self.above_target.len(), [f64::INFINITY; LANES]);
        for (lane, &source) in sources.iter().enumerate() {
            distance[source as usize][lane] = 0.0;
        }
        for place in 0..self.core {
            let here = distance[place];
            if here.iter().all(|d| d.is_infinite()) {
                continue;
            }
            for (to, length) in self.arcs(place) {
                shorten(&mut distance[to], &here, length);
            }
        }
    }

    fn sweep_down(&self, distance: &mut [Lanes]) {
        for place in (0..self.core).rev() {
            if self.above_target[place] {
                let mut here = distance[place];
                for (to, length) in self.arcs(place) {
                    shorten(&mut here, &distance[to], length);
                }
                distance[place] = here;
            }
        }
    }

    fn cross_core(
        &self,
        lanes: usize,
        distance: &mut [Lanes],
        row: &mut Vec<f64>,
        heap: &mut Heap,
    ) {
        let core = &mut distance[self.core..];
        if core.is_empty() {
            return;
        }
        for lane in 0..lanes {
            row.clear();
            row.extend(core.iter().map(|d| d[lane]));
            self.hierarchy.search_core(row, heap);
            core.iter_mut().zip(&*row).for_each(|(d, &found)| d[lane] = found);
        }
    }
}

#[inline]
fn shorten(to: &mut Lanes, from: &Lanes, length: f64) {
    for (to, from) in to.iter_mut().zip(from) {
        let through = from + length;
        *to = if through < *to { through } else { *to };
    }
}

/// Appends all unmarked positions above the given nodes, and marks them.
fn above(
    hierarchy: &Hierarchy,
    nodes: &[usize],
    with: u8,
    mark: &mut [u8],
    positions: &mut Vec<u32>,
) {
    let mut open: Vec<u32> = nodes.iter().map(|&v| hierarchy.position[v]).collect();
    while let Some(position) = open.pop() {
        let at = position as usize;
        if mark[at] != UNSEEN {
            continue;
        }
        mark[at] = with;
        positions.push(position);
        if at < hierarchy.core {
            let ups = hierarchy.arcs(at).map(|(to, _)| to);
            open.extend(ups.filter(|&to| mark[to] == UNSEEN).map(|to| to as u32));
        }
    }
}
