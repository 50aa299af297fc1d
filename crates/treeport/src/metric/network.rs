//! A graph as a network for transport: its edges, and the spanning tree of the initial basis.

use super::graph::{Edge, Graph};
use crate::tools::csr::grouped;
use crate::tools::disjoint_sets::DisjointSets;

/// Edges of a graph, smaller node first, and a spanning tree.
#[derive(Clone, Copy)]
pub(crate) struct Network<'a> {
    pub(crate) edges: &'a [Edge],
    pub(crate) tree: &'a SpanningTree,
}

/// A minimum spanning tree, rooted at the center of its longest path in edges.
pub(crate) struct SpanningTree {
    /// Nodes in preorder; the root first.
    pub(crate) order: Vec<u32>,
    /// Parent of every node; the root is its own parent.
    pub(crate) parent: Vec<u32>,
    /// Edge between a node and its parent; arbitrary at the root.
    pub(crate) edge: Vec<u32>,
}

impl SpanningTree {
    /// Computes the tree by Kruskal's algorithm, then its center by two walks.
    pub(super) fn new(graph: &Graph) -> Self {
        let adjacent =
            Adjacent::new(graph.len(), &graph.edges, &lightest(graph.len(), &graph.edges));
        let end = adjacent.rooted_at(0).deepest();
        let from_end = adjacent.rooted_at(end);
        let path = from_end.path_up(from_end.deepest());
        adjacent.rooted_at(path[path.len() / 2])
    }

    /// Returns the deepest node, the first in preorder among ties.
    fn deepest(&self) -> u32 {
        let mut depth = vec![0u32; self.order.len()];
        let mut deepest = self.order[0];
        for &v in &self.order[1..] {
            depth[v as usize] = depth[self.parent[v as usize] as usize] + 1;
            if depth[v as usize] > depth[deepest as usize] {
                deepest = v;
            }
        }
        deepest
    }

    fn path_up(&self, mut v: u32) -> Vec<u32> {
        let mut path = vec![v];
        while self.parent[v as usize] != v {
            v = self.parent[v as usize];
            path.push(v);
        }
        path
    }
}

/// Returns the edges of a minimum spanning tree, the lightest first, by Kruskal's algorithm.
pub(crate) fn lightest(nodes: usize, edges: &[Edge]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..edges.len() as u32).collect();
    // Bits of nonnegative floats sort like the floats.
    order.sort_by_key(|&e| edges[e as usize].2.to_bits());
    let mut sets = DisjointSets::new(nodes);
    order.retain(|&e| sets.join(edges[e as usize].0, edges[e as usize].1));
    order
}

/// Adjacency lists of a tree.
struct Adjacent {
    start: Vec<usize>,
    /// Neighbor, and number of the edge.
    link: Vec<(u32, u32)>,
}

impl Adjacent {
    fn new(nodes: usize, edges: &[Edge], tree: &[u32]) -> Self {
        let both_ways = |&e: &u32| {
            let (a, b, _) = edges[e as usize];
            [(a as usize, (b, e)), (b as usize, (a, e))]
        };
        let (start, link) = grouped(nodes, tree.iter().flat_map(both_ways));
        Self { start, link }
    }

    fn rooted_at(&self, root: u32) -> SpanningTree {
        let nodes = self.start.len() - 1;
        let (mut parent, mut edge) = (vec![root; nodes], vec![0; nodes]);
        let mut order = Vec::with_capacity(nodes);
        let mut open = vec![root];
        while let Some(v) = open.pop() {
            order.push(v);
            for &(to, e) in &self.link[self.start[v as usize]..self.start[v as usize + 1]] {
                if to != parent[v as usize] && to != root {
                    parent[to as usize] = v;
                    edge[to as usize] = e;
                    open.push(to);
                }
            }
        }
        SpanningTree { order, parent, edge }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::graph::tests::graphs;
    use super::*;

    proptest! {
        #[test]
        fn it_spans_the_graph_with_the_least_length((n, edges) in graphs()) {
            let graph = Graph::new(n, &edges).unwrap();
            let tree = SpanningTree::new(&graph);
            let mut place = vec![usize::MAX; n];
            for (at, &v) in tree.order.iter().enumerate() {
                place[v as usize] = at;
                let parent = tree.parent[v as usize];
                prop_assert!(at == 0 || place[parent as usize] < at, "parents come first");
                let (a, b, _) = *graph.edges.get(tree.edge[v as usize] as usize).unwrap_or(&(v, v, 0.0));
                prop_assert!(at == 0 || (a.min(b), a.max(b)) == (v.min(parent), v.max(parent)));
            }
            prop_assert_eq!(tree.order.len(), n);
            // Prim on the edges, one node after the other.
            let (mut inside, mut judge) = (vec![false; n], 0.0);
            inside[0] = true;
            for _ in 1..n {
                let leaving = graph.edges.iter().filter(|e| inside[e.0 as usize] != inside[e.1 as usize]);
                let e = leaving.min_by(|x, y| x.2.total_cmp(&y.2)).unwrap();
                inside[e.0 as usize] = true;
                inside[e.1 as usize] = true;
                judge += e.2;
            }
            let lengths = tree.order[1..].iter().map(|&v| graph.edges[tree.edge[v as usize] as usize].2);
            prop_assert!((lengths.sum::<f64>() - judge).abs() <= 1e-9);
        }
    }
}
