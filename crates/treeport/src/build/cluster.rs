//! Cluster trees: hierarchical clustering into up to k parts per cluster.
//!
//! Le, Yamada, Fukumizu, Cuturi 2019, *Tree-Sliced Variants of Wasserstein Distances*.
//! Farthest-point clustering draws its first center at random; each further center is the point
//! farthest from those before. It needs distances only and works on every [`GroundMetric`]. k-means
//! needs coordinates. The edge above a cluster is the distance from its center to its parent's
//! center; the edge above a point is the distance to its last center.

use std::cmp::Ordering;

use super::kmeans::{self, ComparedVectors};
use crate::error::{Error, Result};
use crate::metric::GroundMetric;
use crate::numeric::seed::{self, Random};
use crate::progress::tasks::BUILDING;
use crate::progress::{Counter, Progress};
use crate::tools::option_range::OptionRange;
use crate::tools::parallel;
use crate::tree::{Tree, TreeDraft};
use rand::RngExt;

/// Methods of splitting a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Splitting {
    /// Farthest-point clustering: each center is the point farthest from those before.
    #[default]
    Farthest,
    /// Lloyd's k-means with k-means++ seeding; needs coordinates.
    KMeans,
}

/// Points with their distances to their center, and the center's distance to the parent's center.
pub(super) struct Cluster {
    pub(super) members: Vec<usize>,
    pub(super) to_center: Vec<f64>,
    pub(super) up: f64,
}

/// Builds a cluster tree: each cluster is split into up to `branching` parts until it has one
/// point, or points at distance 0, or `depth` levels are reached.
///
/// `progress` counts clusters.
///
/// # Errors
/// `branching` below 2; `depth` below 1; k-means without coordinates; [`Error::Canceled`] if
/// `progress` cancels.
///
/// # Complexity
/// O(N·branching·depth) distances, in parallel over clusters. A graph needs one search per center:
/// use a [`GroundMetric::materialized`] one if memory permits. k-means takes up to ten rounds of
/// this.
///
/// # Example
/// ```
/// use treeport::build::{Splitting, cluster_tree};
/// let metric = treeport::GroundMetric::from_edges(4, &[(0, 1, 1.0), (1, 2, 9.0), (2, 3, 1.0)])?;
/// let tree = cluster_tree(&metric, Splitting::Farthest, 2, 3, 0, &treeport::silent)?;
/// assert!(tree.leaf_distance(0, 1) < tree.leaf_distance(1, 2));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn cluster_tree(
    metric: &GroundMetric,
    splitting: Splitting,
    branching: usize,
    depth: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Tree> {
    BRANCHING.check("branching", branching as f64)?;
    DEPTH.check("depth", depth as f64)?;
    let vectors = match splitting {
        Splitting::Farthest => None,
        Splitting::KMeans => {
            let vectors = ComparedVectors::of(metric);
            Some(vectors.ok_or(Error::NoCoordinates { method: "k-means" })?)
        }
    };
    let counter = Counter::new(BUILDING, None, progress);
    let mut draft = TreeDraft::default();
    let root = match vectors {
        Some(vectors) => kmeans::around_mean(vectors, (0..metric.points()).collect()),
        None => around_random_point(metric, &mut generator(seed, 0)),
    };
    if let [point] = root.members[..] {
        draft.leaf(None, 0.0, point);
        return draft.into_tree();
    }
    let mut level = vec![(draft.inner(None, 0.0), root)];
    for _ in 0..depth {
        // Each cluster has its own random stream: the same for any number of threads.
        let split = |(node, cluster): &(usize, Cluster)| {
            counter.add(1)?;
            let rng = &mut generator(seed, *node + 1);
            Ok(match vectors {
                Some(vectors) => kmeans::split(vectors, &cluster.members, branching, rng),
                None => farthest(metric, cluster, branching, rng),
            })
        };
        let parts = parallel::try_map(level.len(), |at| split(&level[at]))?;
        level = attach_parts(metric, level, parts, &mut draft);
    }
    for (node, cluster) in &level {
        attach_points(metric, *node, cluster, &mut draft);
    }
    draft.into_tree()
}

/// Valid numbers of parts of a cluster.
pub(crate) const BRANCHING: OptionRange =
    OptionRange::at_least(2.0, "a cluster is split into at least 2");
/// Valid numbers of levels of a cluster tree.
pub(crate) const DEPTH: OptionRange =
    OptionRange::at_least(1.0, "a cluster tree has at least one level");

fn generator(seed: u64, cluster: usize) -> Random {
    // An odd constant far from small numbers, so that streams do not coincide.
    seed::generator(seed ^ (cluster as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Adds the parts of every cluster below its node; returns those that can be split further.
fn attach_parts(
    metric: &GroundMetric,
    level: Vec<(usize, Cluster)>,
    parts: Vec<Vec<Cluster>>,
    draft: &mut TreeDraft,
) -> Vec<(usize, Cluster)> {
    let mut next = Vec::new();
    for ((node, cluster), parts) in level.into_iter().zip(parts) {
        if parts.len() < 2 {
            attach_points(metric, node, &cluster, draft);
            continue;
        }
        for part in parts {
            if let [point] = part.members[..] {
                draft.leaf(Some(node), part.up, point);
            } else {
                next.push((draft.inner(Some(node), part.up), part));
            }
        }
    }
    next
}

/// Attaches the points of a cluster to its node; points at distance 0 share a node and its edge.
fn attach_points(metric: &GroundMetric, node: usize, cluster: &Cluster, draft: &mut TreeDraft) {
    let mut members: Vec<(f64, usize)> =
        cluster.to_center.iter().copied().zip(cluster.members.iter().copied()).collect();
    members.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // Only points at equal distances from the center can coincide.
    for equal in members.chunk_by(|a, b| a.0 == b.0) {
        let (length, points) = (equal[0].0, equal.iter().map(|m| m.1).collect());
        for place in group_coincident(metric, points) {
            if let [point] = place[..] {
                draft.leaf(Some(node), length, point);
                continue;
            }
            let shared = draft.inner(Some(node), length);
            for point in place {
                draft.leaf(Some(shared), 0.0, point);
            }
        }
    }
}

/// Groups points at distance 0 from each other.
fn group_coincident(metric: &GroundMetric, mut points: Vec<usize>) -> Vec<Vec<usize>> {
    if let Some((dim, vectors)) = metric.vectors() {
        let at = |i: usize| &vectors[i * dim..(i + 1) * dim];
        // Coordinates are finite, so they compare; a stable sort keeps the order of points.
        points.sort_by(|&i, &j| at(i).partial_cmp(at(j)).unwrap_or(Ordering::Equal));
        return points.chunk_by(|&i, &j| at(i) == at(j)).map(<[usize]>::to_vec).collect();
    }
    let mut places = Vec::new();
    while let Some(&first) = points.first() {
        let mut distances = vec![0.0; points.len()];
        metric.block(&[first], &points, &mut distances);
        let numbered = points.iter().copied().zip(distances);
        let (here, away): (Vec<_>, Vec<_>) = numbered.partition(|&(p, d)| d == 0.0 || p == first);
        places.push(here.into_iter().map(|(point, _)| point).collect());
        points = away.into_iter().map(|(point, _)| point).collect();
    }
    places
}

fn around_random_point(metric: &GroundMetric, rng: &mut Random) -> Cluster {
    let members: Vec<usize> = (0..metric.points()).collect();
    let mut to_center = vec![0.0; members.len()];
    metric.block(&[rng.random_range(0..members.len())], &members, &mut to_center);
    Cluster { members, to_center, up: 0.0 }
}

/// Splits by the nearest of up to k centers, each the point farthest from those before.
fn farthest(metric: &GroundMetric, cluster: &Cluster, k: usize, rng: &mut Random) -> Vec<Cluster> {
    let members = &cluster.members;
    let mut nearest = vec![f64::INFINITY; members.len()];
    let mut owner = vec![0; members.len()];
    let mut distances = vec![0.0; members.len()];
    let mut parts: Vec<Cluster> = Vec::new();
    let mut center = rng.random_range(0..members.len());
    while parts.len() < k && nearest[center] > 0.0 {
        metric.block(&[members[center]], members, &mut distances);
        for (at, &d) in distances.iter().enumerate() {
            if d < nearest[at] {
                (nearest[at], owner[at]) = (d, parts.len());
            }
        }
        // A center belongs to itself, even if its distance is not 0 due to rounding.
        (nearest[center], owner[center]) = (0.0, parts.len());
        parts.push(Cluster { members: vec![], to_center: vec![], up: cluster.to_center[center] });
        // Ties go to the first.
        center =
            (0..members.len()).fold(0, |far, at| if nearest[at] > nearest[far] { at } else { far });
    }
    for (at, &part) in owner.iter().enumerate() {
        parts[part].members.push(members[at]);
        parts[part].to_center.push(nearest[at]);
    }
    parts
}
