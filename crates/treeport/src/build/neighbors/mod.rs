//! Neighbors linkage: average linkage along a nearest-neighbor graph, in near-linear time.
//!
//! Every cluster is linked to some near ones. The two nearest linked clusters merge, and the merged
//! cluster inherits the links of both. With all links this *is* average linkage; with few, a merge
//! is missed only where the nearest cluster is not linked. Neighbors are therefore searched again
//! whenever a quarter of the clusters is left, and the last 4,000 are all compared ([`dense`]).
//!
//! Tried without success: merging all pairs of mutual neighbors in parallel rounds. Where points
//! have similar distances, as cells have, one cluster absorbs the others one by one, a round each;
//! merging more per round doubled the error of the fit.
//!
//! On a graph without a hierarchy, such as a random one or one with hubs, distances are lengths of
//! paths over landmarks (`GroundMetric::hub_labels`), and only the order of merges is like that of
//! average linkage.
//!
//! The metric determines the representation of a cluster ([`Clusters`]): with coordinates a center
//! and a spread ([`points`]), otherwise a few of its points ([`representatives`]).

mod dense;
mod knn;
mod merging;
mod points;
mod representatives;

use merging::{INSTEAD, MergePlan, grow};
use points::ClusterCenters;
use representatives::Representatives;

use crate::build::binary::BinaryTree;
use crate::error::Result;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::Progress;

pub(crate) use merging::{DistanceNoise, FirstNeighbors};

/// Numbered clusters with distances that can be merged. A merged cluster keeps one of the two
/// numbers; the other is unused until [`keep`](Self::keep) renumbers the clusters.
trait Clusters: Sync {
    /// Returns the count of numbers, used or not.
    fn len(&self) -> usize;

    /// Computes the approximate mean distance between the points of two clusters.
    fn distance(&self, a: usize, b: usize) -> f64;

    /// Merges cluster `gone` into `keeps`.
    fn merge(&mut self, keeps: usize, gone: usize);

    /// Keeps only the given clusters, renumbered in this order.
    fn keep(&mut self, numbers: &[u32]);

    /// Returns an order in which near clusters are close to each other, if that saves time.
    fn order(&self) -> Option<Vec<u32>>;

    /// Returns about `k` near clusters of every cluster, as pairs in any order, possibly repeated.
    fn near(&self, k: usize, progress: &Progress<'_>) -> Result<Vec<(u32, u32)>>;
}

/// Approximate bytes of near pairs, lists, links and heap per point.
const BYTES: usize = 930;

/// All pairs of clusters of a graph are compared once this many are left: 16 distances per pair
/// take as long as all steps before. On 18,000 nodes of New York's roads the start has an error of
/// 0.057 for spread measures and 0.170 for concentrated ones; with 4,000 instead, 0.056 and 0.160
/// in ten times the time; average linkage has 0.055 and 0.170.
const DENSE_ON_GRAPHS: usize = 1_000;

/// Builds neighbors linkage of a metric; heights are half of the merge distances.
///
/// `first` keeps the near pairs of the points for further trees of the same metric. `progress` counts
/// merges.
pub(super) fn neighbors(
    metric: &GroundMetric,
    noise: Option<DistanceNoise>,
    first: &FirstNeighbors,
    progress: &Progress<'_>,
) -> Result<BinaryTree> {
    let plan = MergePlan { noise, ..MergePlan::default() };
    let n = metric.points();
    let step = format_args!("neighbors linkage of {n} points");
    let width = metric.vectors().map_or(0, |(dim, _)| dim);
    memory::check(step, memory::size_of::<u8>(&[n, 8 * width + BYTES]), INSTEAD)?;
    match (metric.vectors(), metric.point_metric()) {
        (Some((dim, vectors)), Some(point_metric)) => {
            let unit = points::unit(point_metric, vectors);
            let clusters = ClusterCenters::new(point_metric, dim, vectors, unit);
            let clusters = clusters.with_half_periods(metric.half_periods(), unit);
            let mut tree = grow(clusters, &plan, first, progress)?;
            let height = |h: f64| point_metric.scaled(h, unit).min(f64::MAX / 8.0);
            tree.height.iter_mut().for_each(|h| *h = height(*h));
            Ok(tree)
        }
        _ => match metric.edges() {
            Some(edges) if metric.points() > plan.dense => {
                let plan = MergePlan { dense: DENSE_ON_GRAPHS, ..plan };
                grow(Representatives::on_graph(metric, edges, progress)?, &plan, first, progress)
            }
            _ => grow(Representatives::new(metric), &plan, first, progress),
        },
    }
}

#[cfg(test)]
mod tests;
