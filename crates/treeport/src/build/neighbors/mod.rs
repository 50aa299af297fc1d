//! Neighbors linkage: average linkage along a graph of near neighbors, in near-linear time.
//!
//! Every cluster is linked to some near ones; the two nearest of all linked ones merge, and what
//! they were linked to, the merged one is. With all links this *is* average linkage. With few a
//! merge is missed only where the nearest cluster is not linked, so neighbors are looked for anew
//! whenever a quarter of the clusters is left, and the last 4,000 are all compared
//! ([`dense`]).
//!
//! Tried and lost: merging all pairs of mutual neighbors in rounds, on many threads. Where points
//! are about equally far apart, as cells are, one cluster takes up the others one by one, a round
//! each; merging more in such rounds doubled the error of the fit.
//!
//! On a graph without a hierarchy, such as a random one or one with hubs, distances are those of
//! paths past landmarks (`GroundMetric::labels`), and only the order of merges is like that of
//! average linkage.
//!
//! What a cluster is depends on the metric ([`Clusters`]): coordinates have a centre and a spread
//! ([`points`]), anything else a few of its points ([`representatives`]).

mod dense;
mod knn;
mod merging;
mod points;
mod representatives;

use merging::{INSTEAD, Plan, grow};
use points::Centers;
use representatives::Representatives;

use crate::binary::Binary;
use crate::error::Result;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::Progress;

pub(crate) use merging::Noise;

/// Clusters that know how far they are apart and can be merged. They are numbered; a number that
/// is merged into another is used no more until those left are numbered anew.
trait Clusters: Sync {
    /// Numbers in use and no longer in use.
    fn len(&self) -> usize;

    /// About how far the points of one are from those of the other in the mean.
    fn distance(&self, a: usize, b: usize) -> f64;

    /// Makes cluster `gone` a part of `keeps`.
    fn merge(&mut self, keeps: usize, gone: usize);

    /// Only the clusters of these numbers, in this order.
    fn keep(&mut self, numbers: &[u32]);

    /// An order in which near clusters are near each other, where that is worth the trouble.
    fn order(&self) -> Option<Vec<u32>>;

    /// Every cluster with about `k` near ones, as pairs that may come twice or in any order.
    ///
    /// # Errors
    /// [`Error::Cancelled`](crate::Error::Cancelled) when `progress`, which hears that it works, asks
    /// to stop.
    fn near(&self, k: usize, progress: &Progress<'_>) -> Result<Vec<(u32, u32)>>;
}

/// About what lists, links and the heap take for a point.
const BYTES: usize = 800;

/// The last clusters of a graph that are all compared: 16 distances a pair, which take as long as all
/// before them. On 18,000 nodes of New York's roads the start errs by 0.057 for spread measures and
/// 0.170 for concentrated ones, with 4,000 by 0.056 and 0.160 in ten times the time, and from average
/// linkage by 0.055 and 0.170.
const DENSE_ON_GRAPHS: usize = 1_000;

/// Neighbors linkage of a metric, with half of each merge distance as height.
///
/// `progress` counts merges.
pub(super) fn neighbors(
    metric: &GroundMetric,
    noise: Option<Noise>,
    progress: &Progress<'_>,
) -> Result<Binary> {
    let plan = Plan { noise, ..Plan::default() };
    let n = metric.points();
    let step = format_args!("neighbors linkage of {n} points");
    let width = metric.vectors().map_or(0, |(dim, _)| dim);
    memory::check(step, memory::size_of::<u8>(&[n, 8 * width + BYTES]), INSTEAD)?;
    match (metric.vectors(), metric.point_metric()) {
        (Some((dim, vectors)), Some(point_metric)) => {
            let unit = points::unit(point_metric, vectors);
            let mut tree = grow(Centers::new(point_metric, dim, vectors, unit), &plan, progress)?;
            let height = |h: f64| point_metric.scaled(h, unit).min(f64::MAX / 8.0);
            tree.height.iter_mut().for_each(|h| *h = height(*h));
            Ok(tree)
        }
        _ => match metric.edges() {
            Some(edges) if metric.points() > plan.dense => {
                let plan = Plan { dense: DENSE_ON_GRAPHS, ..plan };
                grow(Representatives::on_graph(metric, edges, progress)?, &plan, progress)
            }
            _ => grow(Representatives::new(metric), &plan, progress),
        },
    }
}

#[cfg(test)]
mod tests;
