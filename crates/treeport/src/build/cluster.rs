//! Cluster trees: split the points into k clusters, and every cluster again.
//!
//! Le, Yamada, Fukumizu, Cuturi 2019, *Tree-Sliced Variants of Wasserstein Distances*.
//! Farthest-point clustering draws its first center at random and takes as every further one the
//! point farthest from all before. It needs distances only, so it works on every [`GroundMetric`].
//! k-means needs coordinates. The edge above a cluster is as long as its center is from that of the
//! cluster above; the edge above a point is as long as the point is from its last center.

use std::cmp::Ordering;

use super::draft::TreeDraft;
use super::kmeans::{self, ComparedVectors};
use crate::error::{Error, Result};
use crate::metric::GroundMetric;
use crate::option_range::OptionRange;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::BUILDING;
use crate::tree::Tree;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How a cluster is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Splitting {
    /// Each center is the point farthest from those before; on every metric.
    #[default]
    Farthest,
    /// Lloyd's k-means after k-means++; needs coordinates.
    KMeans,
}

/// Some points, their distances to their center, and its distance to the center of the cluster above.
pub(super) struct Cluster {
    pub(super) members: Vec<usize>,
    pub(super) to_center: Vec<f64>,
    pub(super) up: f64,
}

/// A tree of clusters, each split into up to `branching` until it holds one point, or points at
/// distance 0, or is `depth` levels deep.
///
/// `progress` counts clusters.
///
/// # Errors
/// Fewer than two branches, no levels, k-means without coordinates, or
/// [`Error::Cancelled`] when `progress` asks to stop.
///
/// # Complexity
/// O(N·branching·depth) distances in parallel over clusters; on a graph one search for every
/// cluster, so give a [`GroundMetric::materialized`] one if there is the memory. k-means takes up
/// to ten rounds of that.
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
    let splitter = Splitter::new(metric, splitting, branching)?;
    let counter = Counter::new(BUILDING, None, progress);
    let mut draft = TreeDraft::default();
    let root = splitter.root(&mut generator(seed, 0));
    if let [point] = root.members[..] {
        draft.leaf(None, 0.0, point);
        return draft.into_tree();
    }
    let mut level = vec![(draft.inner(None, 0.0), root)];
    for _ in 0..depth {
        // A cluster's randomness comes from the number of its node: the same on any number of
        // threads.
        let split = |(node, cluster): &(usize, Cluster)| {
            counter.add(1)?;
            Ok(splitter.split(cluster, &mut generator(seed, *node + 1)))
        };
        let parts = parallel::try_map(level.len(), |at| split(&level[at]))?;
        level = place(metric, level, parts, &mut draft);
    }
    for (node, cluster) in &level {
        hang(metric, *node, cluster, &mut draft);
    }
    draft.into_tree()
}

/// Clusters that a cluster can be split into.
pub(crate) const BRANCHING: OptionRange =
    OptionRange::at_least(2.0, "a cluster is split into at least 2");
/// Levels that a cluster tree can have.
pub(crate) const DEPTH: OptionRange =
    OptionRange::at_least(1.0, "a cluster tree has at least one level");

/// The generator of one cluster.
fn generator(seed: u64, cluster: usize) -> Xoshiro256PlusPlus {
    // An odd constant far from small numbers, so that seeds and clusters do not meet.
    Xoshiro256PlusPlus::seed_from_u64(seed ^ (cluster as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Adds the parts of every cluster below its node, and returns those that may be split further.
fn place(
    metric: &GroundMetric,
    level: Vec<(usize, Cluster)>,
    parts: Vec<Vec<Cluster>>,
    draft: &mut TreeDraft,
) -> Vec<(usize, Cluster)> {
    let mut next = Vec::new();
    for ((node, cluster), parts) in level.into_iter().zip(parts) {
        if parts.len() < 2 {
            hang(metric, node, &cluster, draft);
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

/// Hangs the points of a cluster below its node; points at distance 0 share a node and its edge.
fn hang(metric: &GroundMetric, node: usize, cluster: &Cluster, draft: &mut TreeDraft) {
    let mut members: Vec<(f64, usize)> =
        cluster.to_center.iter().copied().zip(cluster.members.iter().copied()).collect();
    members.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // Only points equally far from the center can be at the same place.
    for equal in members.chunk_by(|a, b| a.0 == b.0) {
        let (length, points) = (equal[0].0, equal.iter().map(|m| m.1).collect());
        for place in places(metric, points) {
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
fn places(metric: &GroundMetric, mut points: Vec<usize>) -> Vec<Vec<usize>> {
    if let Some((dim, vectors)) = metric.vectors() {
        let at = |i: usize| &vectors[i * dim..(i + 1) * dim];
        // Finite, so they compare; stable, so that a place keeps the order of its points.
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

/// How clusters of one metric are split.
enum Splitter<'a> {
    Farthest { metric: &'a GroundMetric, branching: usize },
    KMeans { points: ComparedVectors<'a>, branching: usize },
}

impl<'a> Splitter<'a> {
    fn new(metric: &'a GroundMetric, splitting: Splitting, branching: usize) -> Result<Self> {
        match splitting {
            Splitting::Farthest => Ok(Self::Farthest { metric, branching }),
            Splitting::KMeans => {
                let points = ComparedVectors::of(metric);
                let points = points.ok_or(Error::NoCoordinates { method: "k-means" })?;
                Ok(Self::KMeans { points, branching })
            }
        }
    }

    /// All points in one cluster.
    fn root(&self, rng: &mut Xoshiro256PlusPlus) -> Cluster {
        match *self {
            Self::Farthest { metric, .. } => {
                let members: Vec<usize> = (0..metric.points()).collect();
                let mut to_center = vec![0.0; members.len()];
                metric.block(&[rng.random_range(0..members.len())], &members, &mut to_center);
                Cluster { members, to_center, up: 0.0 }
            }
            Self::KMeans { points, .. } => kmeans::around_mean(points, (0..points.len()).collect()),
        }
    }

    /// The parts of a cluster, none of them empty; one part if all its points are at distance 0.
    fn split(&self, cluster: &Cluster, rng: &mut Xoshiro256PlusPlus) -> Vec<Cluster> {
        match *self {
            Self::Farthest { metric, branching } => farthest(metric, cluster, branching, rng),
            Self::KMeans { points, branching } => {
                kmeans::split(points, &cluster.members, branching, rng)
            }
        }
    }
}

/// Splits by the nearest of up to k centers, each the point farthest from those before it.
fn farthest(
    metric: &GroundMetric,
    cluster: &Cluster,
    k: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Cluster> {
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
        // A center belongs to itself, even where rounding has put it at a distance.
        (nearest[center], owner[center]) = (0.0, parts.len());
        parts.push(Cluster { members: vec![], to_center: vec![], up: cluster.to_center[center] });
        // The first of those that are equally far.
        center =
            (0..members.len()).fold(0, |far, at| if nearest[at] > nearest[far] { at } else { far });
    }
    for (at, &part) in owner.iter().enumerate() {
        parts[part].members.push(members[at]);
        parts[part].to_center.push(nearest[at]);
    }
    parts
}
