//! Bounded k-nearest-node searches and multi-source searches of a graph.

use std::cmp::Reverse;

use super::graph::{Graph, Heap, pop_nearest};
use crate::error::Result;
use crate::progress::Counter;
use crate::tools::parallel;

/// Nodes per batch of a thread.
const BATCH: usize = 64;

/// Workspace of a bounded search; `distance` is infinite except at the nodes in `touched`.
struct BoundedSearch {
    distance: Vec<f64>,
    touched: Vec<u32>,
    heap: Heap,
}

impl Graph {
    /// Finds the `k` nearest other nodes of every node, nearest first, with their distances: rows
    /// of `k.min(n − 1)`. Ties go to the smaller number. One search of O(k² log k) per node, in
    /// parallel.
    pub(super) fn nearest(&self, k: usize, counter: &Counter<'_>) -> Result<Vec<(u32, f64)>> {
        let n = self.len();
        let k = k.min(n - 1);
        let mut out = vec![(0, 0.0); n * k];
        if k == 0 {
            return Ok(out);
        }
        parallel::try_for_each_with(
            out.chunks_mut(k * BATCH).enumerate(),
            || BoundedSearch {
                distance: vec![f64::INFINITY; n],
                touched: vec![],
                heap: Heap::new(),
            },
            |search, (batch, rows)| {
                counter.add(0)?;
                for (row, out) in rows.chunks_exact_mut(k).enumerate() {
                    search.run(self, batch * BATCH + row, out);
                }
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Computes the largest 1-Lipschitz function below finite values f: minᵤ f(u) + d(u, v) at
    /// every node v, up to the rounding of sums, by one multi-source search of O(E log N).
    pub(super) fn lipschitz(&self, values: &mut [f64]) {
        // The heap sorts nonnegative numbers only.
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        for value in &mut *values {
            *value -= least;
        }
        let mut heap: Heap =
            values.iter().zip(0..).map(|(value, v)| Reverse((value.to_bits(), v))).collect();
        self.settle(values, &mut heap);
        for value in &mut *values {
            *value += least;
        }
    }
}

impl BoundedSearch {
    fn run(&mut self, graph: &Graph, source: usize, out: &mut [(u32, f64)]) {
        self.decrease(source as u32, 0.0);
        let mut found = 0;
        while let Some((node, here)) = pop_nearest(&mut self.heap, &self.distance) {
            if node != source {
                out[found] = (node as u32, here);
                found += 1;
                if found == out.len() {
                    break;
                }
            }
            // Later neighbors lie behind k nearer ones and possibly the source.
            for &(to, weight) in graph.neighbors(node).iter().take(out.len() + 1) {
                if here + weight < self.distance[to as usize] {
                    self.decrease(to, here + weight);
                }
            }
        }
        self.heap.clear();
        for node in self.touched.drain(..) {
            self.distance[node as usize] = f64::INFINITY;
        }
    }

    fn decrease(&mut self, node: u32, distance: f64) {
        if self.distance[node as usize].is_infinite() {
            self.touched.push(node);
        }
        self.distance[node as usize] = distance;
        self.heap.push(Reverse((distance.to_bits(), node)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::graph::tests::graphs;
    use super::*;
    use crate::progress::silent;
    use crate::progress::tasks::PATHS;

    proptest! {
        #[test]
        fn the_nearest_are_those_of_a_full_search((n, edges) in graphs(), k in 0usize..12) {
            let graph = Graph::new(n, &edges).unwrap();
            let found = graph.nearest(k, &Counter::new(PATHS, None, &silent)).unwrap();
            let k = k.min(n - 1);
            prop_assert_eq!(found.len(), n * k);
            let mut row = vec![0.0; n];
            for v in 0..n {
                graph.search(v, None, &mut row, &mut Heap::new());
                let mut others: Vec<f64> = (0..n).filter(|&u| u != v).map(|u| row[u]).collect();
                others.sort_by(f64::total_cmp);
                let mine = &found[v * k..(v + 1) * k];
                // Distances agree; the nodes are distinct, and have these distances.
                let distances: Vec<f64> = mine.iter().map(|near| near.1).collect();
                prop_assert_eq!(&distances[..], &others[..k]);
                prop_assert!(mine.iter().all(|&(u, d)| u as usize != v && row[u as usize] == d));
                let mut nodes: Vec<u32> = mine.iter().map(|near| near.0).collect();
                nodes.sort_unstable();
                nodes.dedup();
                prop_assert_eq!(nodes.len(), k);
            }
        }

        #[test]
        fn any_function_becomes_lipschitz((n, edges) in graphs(), seed in 0usize..1000) {
            let graph = Graph::new(n, &edges).unwrap();
            let before: Vec<f64> = (0..n).map(|v| ((v * 31 + seed) % 17) as f64 - 8.0).collect();
            let mut after = before.clone();
            graph.lipschitz(&mut after);
            let mut row = vec![0.0; n];
            for v in 0..n {
                graph.search(v, None, &mut row, &mut Heap::new());
                let least = (0..n).map(|u| before[u] + row[u]).fold(f64::INFINITY, f64::min);
                // Sums of at most 40 weights below 10, added in another order.
                prop_assert!((after[v] - least).abs() < 1e-11, "{} {}", after[v], least);
            }
        }
    }
}
