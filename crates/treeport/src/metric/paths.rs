//! Cached results of a graph: all distances, hierarchy, hub labels, spanning tree.

use super::hierarchy::Hierarchy;
use super::matrix::Storage;
use super::{GroundMetric, HubLabels, Network, SpanningTree};
use crate::error::{Error, Result};
use crate::progress::tasks::PATHS;
use crate::progress::{Counter, Progress};

/// Largest number of nodes of a graph whose distances are all stored, 64 MB.
const MOST_TABLED: usize = 4_000;

impl GroundMetric {
    /// Computes all distances of a graph and caches them, so that later calls need no search;
    /// clones share them.
    ///
    /// Does nothing for points and matrices, and for a graph whose distances do not fit into
    /// memory: each call then searches the graph.
    ///
    /// # Errors
    /// [`Error::Canceled`] if `progress`, which counts nodes, cancels.
    ///
    /// # Complexity
    /// O(N·E log N) time at the first call, in parallel, and N²/2 numbers.
    pub fn materialize(&self, progress: &Progress<'_>) -> Result<()> {
        let table = &self.shared.cache.table;
        if self.as_graph().is_none() || table.get().is_some() {
            return Ok(());
        }
        // Outside of the cell: a thread that waits inside it could be given work that needs the
        // same cell. Two threads that compute it at the same time find the same values.
        match self.check_table::<f64>().and_then(|()| self.condensed_as(|d| d, progress)) {
            Ok(distances) => {
                let _ = table.set(Storage::F64(distances));
                Ok(())
            }
            Err(Error::Memory { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Builds the contraction hierarchy of a graph and caches it, so that distances between some of
    /// its nodes need no full search; clones share it. Does nothing for points and matrices.
    ///
    /// [`distance`](Self::distance), [`block`](Self::block) and [`pairs`](Self::pairs) use it from
    /// then on; their results may change by rounding. It pays off after a few hundred searches.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Canceled`] if `progress`, which counts nodes, cancels.
    ///
    /// # Complexity
    /// 5 s for the 264,346 nodes of a road network, on one thread, and a few numbers per edge.
    ///
    /// # Example
    /// ```
    /// let metric = treeport::GroundMetric::from_edges(3, &[(0, 1, 2.0), (1, 2, 0.5)])?;
    /// metric.index_paths(&treeport::silent)?;
    /// assert_eq!(metric.distance(0, 2), 2.5);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn index_paths(&self, progress: &Progress<'_>) -> Result<()> {
        let Some(graph) = self.as_graph() else { return Ok(()) };
        let hierarchy = &self.shared.cache.hierarchy;
        if hierarchy.get().is_none() {
            // Outside of the cell; `materialize` has the reason.
            let _ = hierarchy.set(Hierarchy::new(graph.len(), &graph.edges, progress)?);
        }
        Ok(())
    }

    /// Prepares a graph for many distance queries: caches all distances of up to 4,000 nodes
    /// ([`materialize`](Self::materialize)), or else the hierarchy
    /// ([`index_paths`](Self::index_paths)). Does nothing for points and matrices.
    pub fn prepare(&self, progress: &Progress<'_>) -> Result<()> {
        if self.points() <= MOST_TABLED {
            self.materialize(progress)
        } else {
            self.index_paths(progress)
        }
    }

    /// Returns hub labels for many distance queries between single nodes of a graph, from its
    /// [hierarchy](Self::index_paths). A graph without a useful hierarchy, such as a random one,
    /// has labels of landmarks instead, whose distances are lengths of paths but not the shortest.
    pub(crate) fn hub_labels(&self, progress: &Progress<'_>) -> Result<Option<HubLabels>> {
        let Some(graph) = self.as_graph() else { return Ok(None) };
        self.index_paths(progress)?;
        match self.shared.cache.hierarchy.get().map(|hierarchy| hierarchy.hub_labels(progress)) {
            // Labels of landmarks need less memory.
            None | Some(Ok(None) | Err(Error::Memory { .. })) => {}
            Some(labels) => return labels,
        }
        HubLabels::of_landmarks(graph, &Counter::new(PATHS, None, progress)).map(Some)
    }

    /// Returns whether every row of distances needs a search of a graph.
    pub(crate) fn is_searched(&self) -> bool {
        self.as_graph().is_some() && self.storage().is_none() && !self.is_indexed()
    }

    /// Returns whether distances come from the hierarchy of a graph.
    pub(crate) fn is_indexed(&self) -> bool {
        self.storage().is_none() && self.shared.cache.hierarchy.get().is_some()
    }

    /// Returns the graph as a network, if this is one.
    pub(crate) fn network(&self) -> Option<Network<'_>> {
        let graph = self.as_graph()?;
        let tree = self.shared.cache.start.get_or_init(|| SpanningTree::new(graph));
        Some(Network { edges: &graph.edges, tree })
    }

    /// Finds the `k` nearest other nodes of every node of a graph with their distances, nearest
    /// first.
    ///
    /// Every node has a row of `k.min(points − 1)` entries. Returns `None` if this is not a graph.
    ///
    /// # Complexity
    /// One search per node, which ends at the k-th nearest, in parallel.
    pub fn nearest_nodes(
        &self,
        k: usize,
        progress: &Progress<'_>,
    ) -> Result<Option<Vec<(u32, f64)>>> {
        let Some(graph) = self.as_graph() else { return Ok(None) };
        graph.nearest(k, &Counter::new(PATHS, None, progress)).map(Some)
    }

    /// Lowers a function on the nodes of a graph to minᵤ f(u) + d(u, v), the largest 1-Lipschitz
    /// function below it, up to the rounding of sums. Does nothing if this is not a graph.
    ///
    /// # Complexity
    /// One multi-source search: O(E log N).
    ///
    /// # Panics
    /// If the number of values is not the number of nodes.
    pub fn make_lipschitz(&self, values: &mut [f64]) {
        assert_eq!(values.len(), self.points(), "one value per point");
        if let Some(graph) = self.as_graph() {
            graph.lipschitz(values);
        }
    }
}
