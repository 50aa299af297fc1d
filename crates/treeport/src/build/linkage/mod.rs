//! Trees from a ground metric: where learning starts.
//!
//! A merge at distance d becomes a node of height d/2, so that the tree distance of two points is
//! the distance at which they merge (SciPy's cophenetic distance).

mod points;

use rayon::prelude::*;

use super::neighbors::neighbors;
use crate::binary::Binary;
use crate::error::Result;
use crate::metric::{GroundMetric, Storage};
use crate::names::named;
use crate::progress::{Progress, silent};
use crate::sets::Sets;
use crate::spanning::{self, Edge};
use crate::tree::Tree;
use crate::units;

/// How clusters are compared when a tree is grown from a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// The nearest points of two clusters; the largest ultrametric below the metric, and the start
    /// of \[CTW24\]. O(N²) on a matrix, O(N²·dim) time and O(N) memory on points, O(E log E) on a
    /// graph.
    Single,
    /// The mean distance between two clusters: usually a good start. O(N²) time and memory.
    #[default]
    Average,
    /// The farthest points of two clusters. O(N²) time and memory.
    Complete,
    /// The growth of squared distances to the centre (SciPy's `ward`). O(N²) time and memory.
    Ward,
    /// The ultrametric closest to the metric in the largest difference: single linkage raised by
    /// half of that difference (\[CTW24\], section 3). O(N²) time, O(N) memory a thread.
    Closest,
    /// Nearly the mean distance, between clusters near each other alone: near-linear time and
    /// memory on points (above 20,000; up to there O(N²·dim) time). The root of the mean square for
    /// Euclidean distances; on a graph or matrix the mean over four points of each cluster.
    Neighbors,
}

named! { Linkage, "the linkage", {
    Average: "average", "the mean distance between two clusters";
    Single: "single", "the nearest points of two clusters";
    Complete: "complete", "the farthest points of two clusters";
    Ward: "ward", "the growth of squared distances to the centre";
    Closest: "closest", "the ultrametric closest to the metric in its largest error";
    Neighbors: "neighbors", "nearly the mean distance, without all pairs";
} }

impl Linkage {
    /// Up to so many points average linkage is the usual start; above, its distances would take
    /// 800 MB and more, and neighbors linkage is.
    pub const MOST_FOR_AVERAGE: usize = 20_000;

    /// The linkage that fits start from, and forests grow by, where nobody says.
    pub fn usual(points: usize) -> Self {
        if points <= Self::MOST_FOR_AVERAGE { Self::Average } else { Self::Neighbors }
    }

    /// The name that `kodama` has for it, if it needs all distances at once.
    fn kodama(self) -> Option<kodama::Method> {
        match self {
            Self::Single | Self::Closest | Self::Neighbors => None,
            Self::Average => Some(kodama::Method::Average),
            Self::Complete => Some(kodama::Method::Complete),
            Self::Ward => Some(kodama::Method::Ward),
        }
    }
}

/// Grows a tree over the points of a metric; single linkage is found once and kept with the metric.
///
/// # Errors
/// None for a valid metric.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Linkage, linkage};
/// let metric = GroundMetric::from_condensed(3, vec![1.0, 4.0, 5.0])?;
/// let tree = linkage(&metric, Linkage::Single)?;
/// assert_eq!(tree.leaf_distance(0, 2), 4.0);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn linkage(metric: &GroundMetric, method: Linkage) -> Result<Tree> {
    linkage_with(metric, method, &silent)
}

/// [`linkage`] with a `progress` that hears of merges and may stop them, where there are so many
/// that it matters.
pub(crate) fn linkage_with(
    metric: &GroundMetric,
    method: Linkage,
    progress: &Progress<'_>,
) -> Result<Tree> {
    if metric.is_discrete() {
        return Tree::star(metric.points(), 1.0);
    }
    let tree = match (method, method.kodama()) {
        (_, Some(kodama)) => agglomerate(metric.points(), working_copy(metric), kodama),
        (Linkage::Closest, None) => closest(metric),
        (Linkage::Neighbors, None) => neighbors(metric, None, progress)?,
        (_, None) => single(metric),
    };
    tree.to_tree()
}

/// [`linkage`] of a matrix that it may destroy: no second copy is made.
pub(crate) fn linkage_of_copy(n: usize, distances: Storage, method: Linkage) -> Result<Tree> {
    match method.kodama() {
        Some(kodama) => agglomerate(n, distances, kodama).to_tree(),
        None => linkage(&GroundMetric::matrix_of(n, distances), method),
    }
}

/// All distances, in the precision that linkage works in.
pub(crate) fn working_copy(metric: &GroundMetric) -> Storage {
    if metric.points() < SINGLE_PRECISION {
        Storage::F64(metric.condensed())
    } else {
        Storage::F32(metric.condensed_f32())
    }
}

/// Single linkage with half of each merge distance as height.
fn single(metric: &GroundMetric) -> Binary {
    let n = metric.points();
    let edges = metric.spanning_tree(|| {
        spanning_tree(metric).iter().map(|edge| (edge.weight, edge.ends)).collect()
    });
    let edges = edges.iter().map(|&(weight, (i, j))| Edge::new(weight, i, j)).collect();
    let mut tree = spanning::merge(n, edges);
    tree.height.iter_mut().for_each(|h| *h *= 0.5);
    tree
}

/// A minimum spanning tree of all distances.
fn spanning_tree(metric: &GroundMetric) -> Vec<Edge> {
    let n = metric.points();
    if let Some(edges) = metric.edges() {
        // A shortest path is no lighter than its heaviest edge, so the graph's own edges suffice.
        return kruskal(n, edges);
    }
    if let (Some((dim, vectors)), Some(point_metric)) = (metric.vectors(), metric.point_metric()) {
        return points::spanning_tree(dim, vectors, point_metric);
    }
    spanning::prim(n, |i| {
        let mut row = vec![0.0; n];
        metric.row(i, &mut row);
        row
    })
}

/// A minimum spanning tree of a graph from its edges.
fn kruskal(n: usize, edges: &[(u32, u32, f64)]) -> Vec<Edge> {
    let mut sorted: Vec<Edge> = edges.iter().map(|&(i, j, w)| Edge::new(w, i, j)).collect();
    sorted.sort_unstable_by(Edge::order);
    let mut sets = Sets::new(n);
    sorted.retain(|edge| sets.join(edge.ends.0, edge.ends.1));
    sorted
}

/// Above this many points the working copy of all distances is kept in `f32`.
const SINGLE_PRECISION: usize = 20_000;

/// Bottom-up clustering of all pairwise distances by `kodama`, which works in place.
fn agglomerate(n: usize, distances: Storage, method: kodama::Method) -> Binary {
    let mut tree = Binary::with_leaves(vec![0.0; n]);
    if n == 1 {
        return tree; // `kodama` wants a pair
    }
    // Near 1 no square, as Ward takes them, leaves the range of numbers.
    match distances {
        Storage::F64(mut distances) => {
            let unit = units::of_largest(distances.iter().copied());
            for d in &mut distances {
                *d /= unit;
            }
            for step in kodama::linkage(&mut distances, n, method).steps() {
                let height = 0.5 * step.dissimilarity * unit;
                tree.join(step.cluster1 as u32, step.cluster2 as u32, height);
            }
        }
        Storage::F32(mut distances) => {
            let unit = units::of_largest(distances.iter().map(|&d| f64::from(d)));
            for d in &mut distances {
                *d /= unit as f32;
            }
            for step in kodama::linkage(&mut distances, n, method).steps() {
                let height = 0.5 * f64::from(step.dissimilarity) * unit;
                tree.join(step.cluster1 as u32, step.cluster2 as u32, height);
            }
        }
    }
    tree
}

/// Single linkage, every merge raised by half of the largest gap to the metric.
fn closest(metric: &GroundMetric) -> Binary {
    let n = metric.points();
    let mut tree = single(metric);
    let gap = (0..n)
        .into_par_iter()
        .map_init(
            || vec![0.0; n],
            |row, i| {
                metric.row(i, row);
                let merged = tree.meeting_heights(i);
                row.iter().zip(&merged).map(|(d, h)| d - 2.0 * h).fold(0.0, f64::max)
            },
        )
        .reduce(|| 0.0, f64::max);
    // Heights are half of distances: half of half of the gap.
    tree.height[n..].iter_mut().for_each(|h| *h += 0.25 * gap);
    tree
}
