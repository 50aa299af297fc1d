//! Shortest paths in an undirected graph with edge lengths.
//!
//! Dijkstra's algorithm with a binary heap. No simpler algorithm is faster on networks of few edges
//! per node, such as roads, transit and flights. Many sources run in parallel, each with its own
//! search.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::pairs::row_blocks;
use crate::error::{Error, Result};
use crate::progress::Counter;
use crate::tools::csr::grouped;
use crate::tools::disjoint_sets::DisjointSets;
use crate::tools::parallel;

/// Sources per batch of a thread.
const BATCH: usize = 16;

/// A connected undirected graph with finite edge lengths of at least 0.
pub(super) struct Graph {
    /// Edges, each once, smaller node first, sorted; no loops.
    pub(super) edges: Vec<(u32, u32, f64)>,
    /// Bounds of the rows of `neighbor`.
    start: Vec<usize>,
    /// Neighbors of every node with edge lengths, in increasing order of length, then of number.
    neighbor: Vec<(u32, f64)>,
}

/// Priority queue of nodes, nearest first. Bits of nonnegative floats sort like the floats.
pub(super) type Heap = BinaryHeap<Reverse<(u64, u32)>>;

/// Removes the nearest node from a queue, and outdated entries before it; returns its distance, too.
#[inline]
pub(super) fn pop_nearest(heap: &mut Heap, distance: &[f64]) -> Option<(usize, f64)> {
    while let Some(Reverse((bits, node))) = heap.pop() {
        let (here, node) = (f64::from_bits(bits), node as usize);
        if here <= distance[node] {
            return Some((node, here));
        }
    }
    None
}

impl Graph {
    pub(super) fn new(nodes: usize, edges: &[(usize, usize, f64)]) -> Result<Self> {
        super::check_count(nodes)?;
        let edges = lightest(nodes, edges)?;
        // Before any allocation of size `nodes`: few edges cannot connect many nodes.
        check_connected(nodes, &edges)?;
        Self::of_checked(nodes, edges)
    }

    /// Creates a graph from edges that [`lightest`] has checked and that connect all nodes.
    pub(super) fn of_checked(nodes: usize, edges: Vec<(u32, u32, f64)>) -> Result<Self> {
        check_sum(&edges)?;
        let both_ways =
            |&(a, b, weight): &Edge| [(a as usize, (b, weight)), (b as usize, (a, weight))];
        let (start, mut neighbor) = grouped(nodes, edges.iter().flat_map(both_ways));
        for v in 0..nodes {
            let row = &mut neighbor[start[v]..start[v + 1]];
            row.sort_unstable_by(|a: &(u32, f64), b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        }
        Ok(Self { edges, start, neighbor })
    }

    pub(super) fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// Searches shortest paths from `source`; with `stop`, only until that node is settled.
    ///
    /// `distance` has one entry per node; after an early stop, distances of unsettled nodes are
    /// upper bounds.
    pub(super) fn search(
        &self,
        source: usize,
        stop: Option<usize>,
        distance: &mut [f64],
        heap: &mut Heap,
    ) {
        distance.fill(f64::INFINITY);
        distance[source] = 0.0;
        heap.clear();
        heap.push(Reverse((0, source as u32)));
        self.settle_until(stop, distance, heap);
    }

    /// Continues a search from the nodes in the heap, whose distances are set.
    pub(super) fn settle(&self, distance: &mut [f64], heap: &mut Heap) {
        self.settle_until(None, distance, heap);
    }

    fn settle_until(&self, stop: Option<usize>, distance: &mut [f64], heap: &mut Heap) {
        while let Some((node, here)) = pop_nearest(heap, distance) {
            if stop == Some(node) {
                return;
            }
            for &(to, weight) in self.neighbors(node) {
                let through = here + weight;
                if through < distance[to as usize] {
                    distance[to as usize] = through;
                    heap.push(Reverse((through.to_bits(), to)));
                }
            }
        }
    }

    /// Returns the neighbors of a node with edge lengths.
    pub(super) fn neighbors(&self, node: usize) -> &[(u32, f64)] {
        &self.neighbor[self.start[node]..self.start[node + 1]]
    }

    /// Computes all shortest paths in condensed order, in parallel over nodes; counts nodes.
    pub(super) fn condensed<T: Copy + Send>(
        &self,
        out: &mut [T],
        cast: impl Fn(f64) -> T + Sync,
        counter: &Counter<'_>,
    ) -> Result<()> {
        let n = self.len();
        parallel::try_for_each_with(
            row_blocks(n, BATCH, out).into_iter(),
            || (vec![0.0; n], Heap::new()),
            |(distance, heap), mut block| {
                for i in block.first..block.end {
                    counter.add(1)?;
                    self.search(i, None, distance, heap);
                    let targets = &distance[i + 1..];
                    block.row(i).iter_mut().zip(targets).for_each(|(out, &d)| *out = cast(d));
                }
                Ok(())
            },
        )
    }
}

/// Checks and sorts edges, smaller node first; drops loops and heavier parallel edges.
pub(super) fn lightest(
    nodes: usize,
    edges: &[(usize, usize, f64)],
) -> Result<Vec<(u32, u32, f64)>> {
    let mut kept = Vec::with_capacity(edges.len());
    for (edge, &(source_node, target_node, weight)) in edges.iter().enumerate() {
        if let Some(node) = [source_node, target_node].into_iter().find(|&v| v >= nodes) {
            return Err(Error::BadNode { edge, node, nodes });
        }
        if !(weight >= 0.0 && weight.is_finite()) {
            return Err(Error::BadWeight { edge, source_node, target_node, weight });
        }
        if source_node != target_node {
            let (a, b) = (source_node.min(target_node), source_node.max(target_node));
            // Adding 0 turns −0 into 0, whose bits sort first.
            kept.push((a as u32, b as u32, weight + 0.0));
        }
    }
    kept.sort_unstable_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)).then(x.2.total_cmp(&y.2)));
    kept.dedup_by_key(|edge| (edge.0, edge.1));
    Ok(kept)
}

/// A node with edges, its component, and its number in it.
pub(super) type Place = (u32, (u32, u32));

/// A checked edge, smaller node first.
pub(super) type Edge = (u32, u32, f64);

/// Returns the nodes with edges, increasing, each with its component and its number in it, and the
/// number of components with edges. Components are in the order of their first nodes. Needs memory
/// for the edges alone.
pub(super) fn parts_of(edges: &[Edge]) -> (Vec<Place>, usize) {
    let mut touched: Vec<u32> = edges.iter().flat_map(|&(a, b, _)| [a, b]).collect();
    touched.sort_unstable();
    touched.dedup();
    let number =
        |node: u32| touched.binary_search(&node).expect("ends of edges are in the list") as u32;
    let mut sets = DisjointSets::new(touched.len());
    for &(a, b, _) in edges {
        let (a, b) = (sets.find(number(a)), sets.find(number(b)));
        // The smaller number stays the representative, so it is the component's first node.
        sets.join(a.min(b), a.max(b));
    }
    let (mut part_of, mut sizes) = (vec![0; touched.len()], Vec::new());
    let mut places = Vec::with_capacity(touched.len());
    for (at, &node) in touched.iter().enumerate() {
        let first = sets.find(at as u32) as usize;
        if first == at {
            part_of[at] = sizes.len();
            sizes.push(0);
        }
        let part = part_of[first];
        places.push((node, (part as u32, sizes[part])));
        sizes[part] += 1;
    }
    (places, sizes.len())
}

/// Checks that a graph is connected.
fn check_connected(nodes: usize, edges: &[(u32, u32, f64)]) -> Result<()> {
    let (places, count) = parts_of(edges);
    let components = count + nodes - places.len();
    if components == 1 {
        return Ok(());
    }
    // The first node without edges, or the first outside the component of node 0.
    let reached = |at: usize| {
        places.get(at).is_some_and(|&(node, (part, _))| node as usize == at && part == 0)
    };
    let node = (1..nodes).find(|&at| !reached(at)).unwrap_or(0);
    Err(Error::Disconnected { components, node })
}

/// Checks that sums of weights along a path cannot overflow.
fn check_sum(edges: &[(u32, u32, f64)]) -> Result<()> {
    if edges.iter().map(|e| e.2).sum::<f64>().is_finite() {
        return Ok(());
    }
    let heaviest = edges.iter().max_by(|x, y| x.2.total_cmp(&y.2));
    let (from, to) = heaviest.map_or((0, 0), |e| (e.0 as usize, e.1 as usize));
    Err(Error::BadDistance { from, to, value: f64::INFINITY })
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A random tree plus random edges, some of them loops, parallel or of weight 0.
    pub(in crate::metric) fn graphs() -> impl Strategy<Value = (usize, Vec<(usize, usize, f64)>)> {
        (1usize..40).prop_flat_map(|n| {
            let weight = prop_oneof![Just(0.0), Just(-0.0), Just(1.0), 0.0..10.0f64];
            let tree = prop::collection::vec((any::<prop::sample::Index>(), weight.clone()), n - 1);
            let more = prop::collection::vec((0..n, 0..n, weight), 0..60);
            (tree, more).prop_map(move |(tree, more)| {
                let join =
                    |(v, (up, w)): (usize, (prop::sample::Index, f64))| (v + 1, up.index(v + 1), w);
                (n, tree.into_iter().enumerate().map(join).chain(more).collect())
            })
        })
    }

    fn floyd_warshall(n: usize, edges: &[(usize, usize, f64)]) -> Vec<f64> {
        let mut d = vec![f64::INFINITY; n * n];
        (0..n).for_each(|i| d[i * n + i] = 0.0);
        for &(a, b, w) in edges {
            d[a * n + b] = d[a * n + b].min(w);
            d[b * n + a] = d[b * n + a].min(w);
        }
        for k in 0..n {
            for e in 0..n * n {
                d[e] = d[e].min(d[e / n * n + k] + d[k * n + e % n]);
            }
        }
        (0..n).for_each(|i| d[i * n + i] = 0.0);
        d
    }

    proptest! {
        #[test]
        fn dijkstra_agrees_with_floyd_warshall((n, edges) in graphs()) {
            let graph = Graph::new(n, &edges).unwrap();
            let judge = floyd_warshall(n, &edges);
            let mut condensed = vec![f64::NAN; crate::metric::condensed::pairs_of(n)];
            let counter = Counter::new("", n, &crate::silent);
            graph.condensed(&mut condensed, |d| d, &counter).unwrap();
            let (mut row, mut heap) = (vec![0.0; n], Heap::new());
            for i in 0..n {
                for j in i + 1..n {
                    let found = condensed[crate::metric::condensed::place(n, i, j)];
                    // Sums of at most 40 weights below 10, added in another order.
                    prop_assert!((found - judge[i * n + j]).abs() < 1e-11);
                    graph.search(i, Some(j), &mut row, &mut heap);
                    prop_assert_eq!(row[j], found);
                }
            }
            prop_assert!(graph.edges.iter().all(|e| e.0 < e.1 && e.2.is_sign_positive()));
            prop_assert!(graph.edges.is_sorted_by(|x, y| (x.0, x.1) < (y.0, y.1)));
        }

        #[test]
        fn components_are_counted((n, edges) in graphs(), cut in 0usize..60) {
            let edges: Vec<_> = edges.into_iter().skip(cut).collect();
            let judge = floyd_warshall(n, &edges);
            let apart = |i: usize, j: usize| judge[i * n + j].is_infinite();
            let expected = (0..n).filter(|&i| (0..i).all(|j| apart(i, j))).count();
            match Graph::new(n, &edges) {
                Ok(_) => prop_assert_eq!(expected, 1),
                Err(Error::Disconnected { components, node }) => {
                    prop_assert_eq!(components, expected);
                    prop_assert_eq!(Some(node), (0..n).find(|&v| apart(0, v)));
                }
                Err(other) => prop_assert!(false, "{other}"),
            }
        }
    }

    #[test]
    fn bad_graphs_are_named() {
        let message = |n, edges: &[_]| Graph::new(n, edges).err().expect("refused").to_string();
        assert_eq!(
            message(2, &[(0, 1, 1.0), (1, 0, f64::NAN)]),
            "edge 1 joins 1 and 0 with weight NaN; weights must be finite and at least 0"
        );
        assert!(message(2, &[(0, 1, -1.0)]).contains("weight -1"));
        assert!(message(2, &[(0, 0, f64::INFINITY)]).contains("weight inf"));
        assert_eq!(
            message(2, &[(0, 2, 1.0)]),
            "edge 0 names node 2, but there are 2 nodes, numbered from 0"
        );
        // The check needs no memory for two billion nodes.
        assert_eq!(
            message(2_000_000_000, &[(0, 1, 1.0), (3, 4, 1.0)]),
            "the graph falls into 1999999998 components (node 2 cannot be reached from node 0); keep the largest component, or join them by edges; only exact distances and plans support disconnected graphs"
        );
        let long = message(3, &[(0, 1, 1e308), (1, 2, 1.2e308)]);
        assert!(long.starts_with("distance from point 1 to point 2 is inf"), "{long}");
        assert!(matches!(Graph::new(0, &[]).err(), Some(Error::NoPoints)));
        assert_eq!(Graph::new(1, &[]).unwrap().len(), 1);
    }
}
