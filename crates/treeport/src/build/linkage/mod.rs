//! Linkage: hierarchical clustering of a ground metric, the start of learning.
//!
//! A merge at distance d becomes a node of height d/2, so that the tree distance of two points is
//! their merge distance (SciPy's cophenetic distance).

mod chain;
mod points;

use std::fmt;

use super::neighbors::{FirstNeighbors, neighbors};
use crate::build::binary::BinaryTree;
use crate::build::spanning::{self, SpanningEdge};
use crate::error::Result;
use crate::memory;
use crate::metric::{GroundMetric, Storage, lightest, single_precision};
use crate::names::named;
use crate::numeric::scale;
use crate::progress::tasks::{BUILDING, DISTANCES};
use crate::progress::{Counter, Progress};
use crate::tools::parallel;
use crate::tree::Tree;
use chain::{MergeRule, Real};

/// Distances between clusters in hierarchical clustering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Linkage {
    /// Distance of the nearest points: the largest ultrametric below the metric, and the start of
    /// \[CTW24\]. O(N²) on a matrix, O(N²·dim) time and O(N) memory on points, O(E log E) on a
    /// graph.
    Single,
    /// Mean distance: usually a good start. O(N²) time and memory.
    #[default]
    Average,
    /// Distance of the farthest points. O(N²) time and memory.
    Complete,
    /// Increase of squared distances to the center (SciPy's `ward`). O(N²) time and memory.
    Ward,
    /// Ultrametric closest to the metric in the maximum norm: single linkage raised by half of the
    /// largest difference (\[CTW24\], section 3). O(N²) time, O(N) memory per thread.
    Closest,
    /// Approximate mean distance between neighboring clusters only: near-linear time and memory on
    /// points (O(N²·dim) time up to 20,000 points). For Euclidean distances it is the root mean
    /// square; on a graph or matrix the mean over four points of each cluster.
    Neighbors,
}

named! { Linkage, "the linkage", {
    Average: "average", "the mean distance between two clusters";
    Single: "single", "the nearest points of two clusters";
    Complete: "complete", "the farthest points of two clusters";
    Ward: "ward", "the growth of squared distances to the center";
    Closest: "closest", "the ultrametric closest to the metric in its largest error";
    Neighbors: "neighbors", "nearly the mean distance, without all pairs";
} }

impl Linkage {
    /// Largest number of points for which average linkage is the default: 800 MB of distances.
    pub const MOST_FOR_AVERAGE: usize = 20_000;

    /// Returns the default linkage of the start of a tree.
    pub fn usual(points: usize) -> Self {
        if points <= Self::MOST_FOR_AVERAGE { Self::Average } else { Self::Neighbors }
    }

    /// Largest number of points for which the trees of a forest are average linkages by default:
    /// one takes a time quadratic in the points, and a forest has many. On 20,000 points in R³, 16
    /// of them are most of the time of a fit; on words, neighbors linkage has the smaller error
    /// (0.0067 instead of 0.0074 on 13,374 words, as hierarchies of `slices`).
    pub const MOST_FOR_AVERAGE_FOREST: usize = 5_000;

    /// Returns the default linkage of the trees of forests.
    pub fn usual_of_forest(points: usize) -> Self {
        if points <= Self::MOST_FOR_AVERAGE_FOREST { Self::Average } else { Self::Neighbors }
    }

    /// Returns the update rule of a linkage that needs all distances at once; `None` for others.
    fn rule(self) -> Option<MergeRule> {
        match self {
            Self::Single | Self::Closest | Self::Neighbors => None,
            Self::Average => Some(MergeRule::Average),
            Self::Complete => Some(MergeRule::Complete),
            Self::Ward => Some(MergeRule::Ward),
        }
    }
}

/// Builds the linkage tree of a metric; single linkage is cached in the metric.
///
/// `progress` counts rows of distances, then merges.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) if the linkage needs all distances at once and they do
/// not fit; [`Error::Canceled`](crate::Error::Canceled) if `progress` cancels.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Linkage, linkage, silent};
/// let metric = GroundMetric::from_condensed(3, vec![1.0, 4.0, 5.0])?;
/// let tree = linkage(&metric, Linkage::Single, &silent)?;
/// assert_eq!(tree.leaf_distance(0, 2), 4.0);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn linkage(metric: &GroundMetric, method: Linkage, progress: &Progress<'_>) -> Result<Tree> {
    if metric.is_discrete() {
        return Tree::star(metric.points(), 1.0);
    }
    let n = metric.points();
    let tree = match (method, method.rule()) {
        (_, Some(rule)) => {
            let step = format_args!("{method} linkage of {n} points");
            agglomerate(n, working_copy(metric, step, ONE_TREE, progress)?, rule, progress)?
        }
        (Linkage::Closest, None) => closest(metric, progress)?,
        (Linkage::Neighbors, None) => neighbors(metric, None, &FirstNeighbors::new(), progress)?,
        (_, None) => single(metric, progress)?,
    };
    tree.to_tree()
}

/// Advice if all distances do not fit into memory, for one tree.
const ONE_TREE: &str = "use neighbors or single linkage or the method `cluster`, which do not need all distances at once";

/// Builds the [`linkage`](linkage()) of a matrix in place, without another copy.
pub(crate) fn linkage_of_copy(
    n: usize,
    distances: Storage,
    method: Linkage,
    progress: &Progress<'_>,
) -> Result<Tree> {
    match method.rule() {
        Some(rule) => agglomerate(n, distances, rule, progress)?.to_tree(),
        None => linkage(&GroundMetric::matrix_of(n, distances), method, progress),
    }
}

/// Computes all distances in the working precision of linkage, if they fit into memory.
pub(crate) fn working_copy(
    metric: &GroundMetric,
    step: fmt::Arguments<'_>,
    instead: &'static str,
    progress: &Progress<'_>,
) -> Result<Storage> {
    let n = metric.points();
    if n < SINGLE_PRECISION {
        memory::check(step, memory::size_of_pairs::<f64>(n), instead)?;
        Ok(Storage::F64(metric.condensed_as(|d| d, progress)?))
    } else {
        memory::check(step, memory::size_of_pairs::<f32>(n), instead)?;
        Ok(Storage::F32(metric.condensed_as(single_precision, progress)?))
    }
}

/// Builds single linkage; heights are half of the merge distances.
fn single(metric: &GroundMetric, progress: &Progress<'_>) -> Result<BinaryTree> {
    let n = metric.points();
    let edges = metric.spanning_tree(|| {
        let edges = spanning_tree(metric, progress)?;
        Ok(edges.iter().map(|edge| (edge.weight, edge.ends)).collect())
    })?;
    let edges = edges.iter().map(|&(weight, (i, j))| SpanningEdge::new(weight, i, j)).collect();
    let mut tree = spanning::merge(n, edges);
    tree.height.iter_mut().for_each(|h| *h *= 0.5);
    Ok(tree)
}

/// Computes a minimum spanning tree of all distances; counts points.
fn spanning_tree(metric: &GroundMetric, progress: &Progress<'_>) -> Result<Vec<SpanningEdge>> {
    let n = metric.points();
    let joined = Counter::new(BUILDING, n, progress);
    if let Some(edges) = metric.edges() {
        // A shortest path is no lighter than its heaviest edge, so the graph's own edges suffice.
        let edge = |&e: &u32| {
            let (i, j, weight) = edges[e as usize];
            SpanningEdge::new(weight, i, j)
        };
        return Ok(lightest(n, edges).iter().map(edge).collect());
    }
    if let (Some((dim, vectors)), Some(point_metric)) = (metric.vectors(), metric.point_metric()) {
        return points::spanning_tree(dim, vectors, point_metric, metric.half_periods(), &joined);
    }
    spanning::prim(n, |i| {
        joined.add(1)?;
        let mut row = vec![0.0; n];
        metric.row(i, &mut row);
        Ok(row)
    })
}

/// From this number of points on, the working copy of all distances is in `f32`.
const SINGLE_PRECISION: usize = 20_000;

/// Clusters all pairwise distances bottom up, in place; counts merges.
fn agglomerate(
    n: usize,
    distances: Storage,
    rule: MergeRule,
    progress: &Progress<'_>,
) -> Result<BinaryTree> {
    match distances {
        Storage::F64(mut distances) => {
            let unit = scale::of_largest(distances.iter().copied());
            merged(n, &mut distances, (unit, unit), rule, progress)
        }
        Storage::F32(mut distances) => {
            let unit = scale::of_largest(distances.iter().map(|&d| f64::from(d)));
            merged(n, &mut distances, (unit as f32, unit), rule, progress)
        }
    }
}

/// Clusters the distances divided by a unit, so that squares, as of Ward's rule, are finite.
fn merged<T: Real>(
    n: usize,
    distances: &mut [T],
    (own_unit, unit): (T, f64),
    rule: MergeRule,
    progress: &Progress<'_>,
) -> Result<BinaryTree> {
    for d in &mut *distances {
        let near_one = *d / own_unit;
        *d = if rule == MergeRule::Ward { near_one * near_one } else { near_one };
    }
    let merges = Counter::new(BUILDING, n - 1, progress);
    let mut tree = chain::tree(n, distances, rule, &merges)?;
    for height in &mut tree.height {
        // Rounding can make a square negative.
        let near_one = if rule == MergeRule::Ward { height.max(0.0).sqrt() } else { *height };
        *height = 0.5 * near_one * unit;
    }
    Ok(tree)
}

/// Builds single linkage and raises every merge by half of the largest gap to the metric.
fn closest(metric: &GroundMetric, progress: &Progress<'_>) -> Result<BinaryTree> {
    let n = metric.points();
    let mut tree = single(metric, progress)?;
    let rows = Counter::new(DISTANCES, n, progress);
    let gaps = parallel::try_map_with(
        n,
        || vec![0.0; n],
        |row, i| {
            rows.add(1)?;
            metric.row(i, row);
            let merged = tree.meeting_heights(i);
            Ok(row.iter().zip(&merged).map(|(d, h)| d - 2.0 * h).fold(0.0, f64::max))
        },
    )?;
    let gap = gaps.into_iter().fold(0.0, f64::max);
    // Heights are half of distances: half of half of the gap.
    tree.height[n..].iter_mut().for_each(|h| *h += 0.25 * gap);
    Ok(tree)
}
