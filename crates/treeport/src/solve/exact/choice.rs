//! Which way a problem on a graph is solved: on its edges, or between the two supports.
//!
//! On the edges the time hardly depends on the supports: it goes with the cycles of the graph.
//! Between the supports it grows with their product, and their distances are needed. The figures
//! are nanoseconds of one machine, good to a factor of two on road, bus and grid graphs; where they
//! are that close it does not matter much which way is taken.

use super::Solver;
use crate::error::Result;
use crate::measure::Measures;
use crate::metric::{GroundMetric, Network};
use crate::progress::Progress;

impl Solver {
    /// The network, if what is laid out is on a graph and faster to solve on its edges.
    pub(super) fn by_edges<'a>(&self, metric: &'a GroundMetric) -> Option<Network<'a>> {
        network_if_faster(metric, self.left.len(), self.right.len())
    }

    /// Whether what is laid out is on a graph of which a few searches take less than the distances.
    pub(super) fn asks_by_searches(&self, metric: &GroundMetric) -> bool {
        let (left, right) = (self.left.len(), self.right.len());
        metric.edges().is_some()
            && 5.0 * SEARCH * (metric.points() as f64) < distances(metric, left, right)
    }
}

/// The network of a graph, where problems between so many points are faster to solve on its edges.
pub(in crate::solve) fn network_if_faster(
    metric: &GroundMetric,
    left: usize,
    right: usize,
) -> Option<Network<'_>> {
    let edges = metric.edges()?.len();
    let is_faster = on_edges(metric.points(), edges) < between(metric, left, right);
    is_faster.then(|| metric.network()).flatten()
}

/// The time that a problem between so many points of a graph takes, whichever way is faster.
pub(in crate::solve) fn time_on_graph(metric: &GroundMetric, left: usize, right: usize) -> f64 {
    let edges = metric.edges().map_or(0, <[_]>::len);
    on_edges(metric.points(), edges).min(between(metric, left, right))
}

/// Whether a graph is solved exactly on its edges in about the time that bounds between so many points
/// take. Stopping that solver early is no way to bounds: on bus networks of 500 and 1,900 nodes bounds
/// a tenth apart take 0.85 to 1.2 times as long as the end, because each look at them is a search.
pub(crate) fn is_quick_on_edges(metric: &GroundMetric, left: usize, right: usize) -> bool {
    let Some(edges) = metric.edges().map(<[_]>::len) else { return false };
    let by_edges = on_edges(metric.points(), edges);
    0.6 * by_edges < distances(metric, left, right) + sweeps(left, right)
        && by_edges < between(metric, left, right)
}

/// Works out what is needed to look up distances of a graph quickly, if some pairs are going to ask
/// for many of them. It depends on the pairs alone, so that any number of threads finds the same.
pub(in crate::solve) fn prepare(
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    progress: &Progress<'_>,
) -> Result<()> {
    let sizes = pairs
        .iter()
        .map(|&(i, j)| (measures.row(i).support().len(), measures.row(j).support().len()));
    prepare_for(metric, sizes, progress)
}

/// As [`prepare`], for problems with so many points on the left and on the right.
pub(super) fn prepare_for(
    metric: &GroundMetric,
    sizes: impl Iterator<Item = (usize, usize)>,
    progress: &Progress<'_>,
) -> Result<()> {
    let Some(edges) = metric.edges().filter(|_| metric.is_searched()) else { return Ok(()) };
    let n = metric.points();
    let by_edges = on_edges(n, edges.len());
    // Where the supports are that large it is the edges, whatever distances cost.
    let asks = |&(left, right): &(usize, usize)| solve(left, right) < by_edges;
    // The smaller support comes to lie on the left.
    let searches: usize = sizes.filter(asks).map(|(left, right)| left.min(right)).sum();
    if searches < n.min(MOST_SEARCHES) {
        return Ok(());
    }
    metric.prepare(progress)
}

/// A hierarchy of a road network takes as long as this many searches.
const MOST_SEARCHES: usize = 200;

/// The time on the edges: two pivots for every cycle, or one for every node of a grid.
fn on_edges(nodes: usize, edges: usize) -> f64 {
    let cycles = (edges + 1).saturating_sub(nodes) as f64;
    let pivots = cycles.min(nodes as f64);
    pivots * (300.0 + 80.0 * (nodes as f64).sqrt()) + 100.0 * (nodes + edges) as f64
}

/// The time for a search of all of a graph, by its nodes.
const SEARCH: f64 = 200.0;

/// The time between two supports, distances included.
fn between(metric: &GroundMetric, left: usize, right: usize) -> f64 {
    distances(metric, left, right) + solve(left, right)
}

/// The time for the distances between two supports.
fn distances(metric: &GroundMetric, left: usize, right: usize) -> f64 {
    let (rows, columns) = (left.min(right) as f64, left.max(right) as f64);
    if metric.is_searched() {
        SEARCH * rows * metric.points() as f64
    } else if metric.is_indexed() {
        rows * (10_000.0 + 40.0 * columns)
    } else {
        0.0
    }
}

/// The time to solve between two supports, their distances given.
fn solve(left: usize, right: usize) -> f64 {
    solving_time(left as f64 * right as f64)
}

/// The time to solve a problem with so many costs; what every problem takes, about 1,000, is not in it.
pub(crate) fn solving_time(costs: f64) -> f64 {
    25.0 * costs * (costs.sqrt() / 100.0).max(1.0).powf(0.4)
}

/// The time for the bounds of sweeps between two supports.
fn sweeps(left: usize, right: usize) -> f64 {
    12.0 * left as f64 * right as f64 + 300.0 * (left + right) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_supports_ask_for_distances_and_large_ones_for_edges() {
        // New York's roads, a grid of 10,000 nodes, Belfast.
        let cheaper = |nodes: usize, edges: usize, support: usize| {
            on_edges(nodes, edges) < solve(support, support)
        };
        assert!(!cheaper(264_346, 365_050, 1_000) && cheaper(264_346, 365_050, 100_000));
        assert!(!cheaper(10_000, 19_800, 300) && cheaper(10_000, 19_800, 3_000));
        assert!(!cheaper(1_917, 2_180, 100) && cheaper(1_917, 2_180, 900));
    }
}
