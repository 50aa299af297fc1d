//! What is worked out once for a graph and kept with it, so that later questions are fast: all its
//! distances, its hierarchy, its labels, its spanning tree.

use super::hierarchy::Hierarchy;
use super::matrix::Storage;
use super::{GroundMetric, Labels, Network, SpanningTree};
use crate::error::{Error, Result};
use crate::progress::{Counter, Progress};
use crate::steps::PATHS;

/// Most nodes of a graph of which all distances are kept, 64 MB.
const MOST_TABLED: usize = 4_000;

impl GroundMetric {
    /// Works out all distances of a graph and keeps them, so that no later question searches it
    /// again; copies share them. Does nothing for points and matrices, nor for a graph whose
    /// distances do not fit into memory: it is searched for every question, as without this.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when `progress`, which counts nodes, asks to stop.
    ///
    /// # Complexity
    /// O(N·E log N) time the first time, in parallel, and N²/2 numbers.
    pub fn materialize(&self, progress: &Progress<'_>) -> Result<()> {
        let table = &self.shared.table;
        if self.as_graph().is_none() || table.get().is_some() {
            return Ok(());
        }
        // Not inside the cell: a thread that waits there for others could be given work that comes
        // back to the same cell. Two that compute it at once find the same.
        match self.room::<f64>().and_then(|()| self.condensed_as(|d| d, progress)) {
            Ok(distances) => {
                let _ = table.set(Storage::F64(distances));
                Ok(())
            }
            Err(Error::Memory { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Builds the contraction hierarchy of a graph and keeps it, so that distances between some of
    /// its nodes need no search of all of it; copies share it. Does nothing for points and matrices.
    ///
    /// [`distance`](Self::distance), [`block`](Self::block) and [`pairs`](Self::pairs) use it from
    /// then on, and their answers may change by rounding. It pays from a few hundred searches on.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Cancelled`] when `progress`, which counts nodes, asks to stop.
    ///
    /// # Complexity
    /// 5 s for the 264,346 nodes of a road network, on one thread, and a few numbers for each edge.
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
        let hierarchy = &self.shared.hierarchy;
        if hierarchy.get().is_none() {
            // Outside of the cell, as in `materialize`.
            let _ = hierarchy.set(Hierarchy::new(graph.len(), &graph.edges, progress)?);
        }
        Ok(())
    }

    /// Works out what makes later questions for distances of a graph fast: all of them for up to
    /// 4,000 nodes ([`materialize`](Self::materialize)), otherwise the hierarchy
    /// ([`index_paths`](Self::index_paths)). Does nothing for points and matrices.
    ///
    /// # Errors
    /// As the two of them.
    pub fn prepare(&self, progress: &Progress<'_>) -> Result<()> {
        if self.points() <= MOST_TABLED {
            self.materialize(progress)
        } else {
            self.index_paths(progress)
        }
    }

    /// What distances between single nodes of a graph are looked up in, where many are asked for: the
    /// [hierarchy](Self::index_paths) with a label for every node. In a graph without a hierarchy, such
    /// as a random one, it gives the lengths of paths past landmarks, which are not the shortest.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Cancelled`] when `progress`, which counts nodes, asks to stop.
    pub(crate) fn labels(&self, progress: &Progress<'_>) -> Result<Option<Labels>> {
        let Some(graph) = self.as_graph() else { return Ok(None) };
        self.index_paths(progress)?;
        match self.shared.hierarchy.get().map(|hierarchy| hierarchy.labels(progress)) {
            // Landmarks take less.
            None | Some(Ok(None) | Err(Error::Memory { .. })) => {}
            Some(labels) => return labels,
        }
        Labels::of_landmarks(graph, &Counter::new(PATHS, None, progress)).map(Some)
    }

    /// Whether every row of distances takes a search of a graph.
    pub(crate) fn is_searched(&self) -> bool {
        self.as_graph().is_some() && self.storage().is_none() && !self.is_indexed()
    }

    /// Whether distances come from the hierarchy of a graph.
    pub(crate) fn is_indexed(&self) -> bool {
        self.storage().is_none() && self.shared.hierarchy.get().is_some()
    }

    /// The graph as a network, if there is one.
    pub(crate) fn network(&self) -> Option<Network<'_>> {
        let graph = self.as_graph()?;
        let tree = self.shared.start.get_or_init(|| SpanningTree::new(graph));
        Some(Network { edges: &graph.edges, tree })
    }

    /// The `k` nearest other nodes of every node of a graph with their distances, nearest first: a
    /// row of `k.min(points − 1)` for every node. `None` if it is no
    /// graph.
    ///
    /// # Complexity
    /// A search that ends at the k-th node for every node, in parallel.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when `progress` asks to stop.
    pub fn nearest_nodes(
        &self,
        k: usize,
        progress: &Progress<'_>,
    ) -> Result<Option<Vec<(u32, f64)>>> {
        let Some(graph) = self.as_graph() else { return Ok(None) };
        graph.nearest(k, &Counter::new(PATHS, None, progress)).map(Some)
    }

    /// Lowers a function on the nodes of a graph to minᵤ f(u) + d(u, v), the largest 1-Lipschitz
    /// function below it, up to the rounding of sums. Nothing is done if it is no graph.
    ///
    /// # Complexity
    /// One search from all nodes at once: O(E log N).
    ///
    /// # Panics
    /// If there is not one value for every node.
    pub fn make_lipschitz(&self, values: &mut [f64]) {
        assert_eq!(values.len(), self.points(), "one value per point");
        if let Some(graph) = self.as_graph() {
            graph.lipschitz(values);
        }
    }
}
