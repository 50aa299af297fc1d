//! k-means within one cluster: Lloyd's algorithm with k-means++ seeding.

use rand::RngExt;

use super::cluster::Cluster;
use crate::metric::period::{signed_difference, wrapped};
use crate::metric::{GroundMetric, PointMetric};
use crate::numeric::seed::Random;

/// Rounds of Lloyd's algorithm; clusters of a tree need not be optimal.
const ROUNDS: usize = 10;

/// Vectors with their metric.
#[derive(Clone, Copy)]
pub(crate) struct ComparedVectors<'a> {
    point_metric: PointMetric,
    dim: usize,
    vectors: &'a [f64],
    /// Half periods of periodic coordinates.
    halves: Option<&'a [f64]>,
}

impl<'a> ComparedVectors<'a> {
    /// Creates vectors that need not be points of a metric.
    pub(crate) fn new(
        point_metric: PointMetric,
        dim: usize,
        vectors: &'a [f64],
        halves: Option<&'a [f64]>,
    ) -> Self {
        Self { point_metric, dim, vectors, halves }
    }

    /// Returns the vectors of a metric, if it has coordinates.
    pub(super) fn of(metric: &'a GroundMetric) -> Option<Self> {
        let (dim, vectors) = metric.vectors()?;
        let (point_metric, halves) = (metric.point_metric()?, metric.half_periods());
        Some(Self { point_metric, dim, vectors, halves })
    }

    fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        self.point_metric.between(x, y, self.halves)
    }

    fn vector(&self, point: usize) -> &'a [f64] {
        &self.vectors[point * self.dim..(point + 1) * self.dim]
    }

    /// Computes the mean of the vectors of `members`; with periods, of the shortest differences to
    /// the first.
    fn mean(&self, members: &[usize]) -> Vec<f64> {
        // Relative to the first member, so that the mean of equal vectors is exact.
        let first = self.vector(members[0]);
        let half = |k: usize| self.halves.map_or(f64::INFINITY, |halves| halves[k]);
        let mut sums = vec![0.0; self.dim];
        for &m in members {
            for (k, &x) in self.vector(m).iter().enumerate() {
                sums[k] += signed_difference(x, first[k], half(k));
            }
        }
        let count = members.len() as f64;
        let at = |(k, sum): (usize, f64)| wrapped(first[k] + sum / count, half(k));
        sums.into_iter().enumerate().map(at).collect()
    }
}

/// Returns a cluster of members with their mean as center.
pub(super) fn around_mean(points: ComparedVectors<'_>, members: Vec<usize>) -> Cluster {
    let mean = points.mean(&members);
    let to_center = members.iter().map(|&m| points.between(points.vector(m), &mean)).collect();
    Cluster { members, to_center, up: 0.0 }
}

/// Splits members into up to k parts by k-means.
///
/// Assignment and seeding use the metric of the points, so Manhattan distances or cosines have
/// their own clusters.
pub(super) fn split(
    points: ComparedVectors<'_>,
    members: &[usize],
    k: usize,
    rng: &mut Random,
) -> Vec<Cluster> {
    let mut centers = seeds(points, members, k, rng);
    let dim = points.dim;
    let mut owner = vec![usize::MAX; members.len()];
    for _ in 0..ROUNDS {
        let near = |&m: &usize| nearest(points, &centers, points.vector(m));
        let assigned: Vec<usize> = members.iter().map(near).collect();
        if assigned == owner {
            break;
        }
        owner = assigned;
        let parts = group(members, &owner, centers.len() / dim);
        // An empty part keeps its center and may gain points again.
        for (part, center) in parts.iter().zip(centers.chunks_exact_mut(dim)) {
            if !part.is_empty() {
                center.copy_from_slice(&points.mean(part));
            }
        }
    }
    let above = points.mean(members);
    let parts = group(members, &owner, centers.len() / dim);
    let around = |part: Vec<usize>| {
        let up = points.between(&points.mean(&part), &above);
        Cluster { up, ..around_mean(points, part) }
    };
    parts.into_iter().filter(|part| !part.is_empty()).map(around).collect()
}

/// Splits members into up to k parts by k-means; returns the mean and the members of each.
pub(crate) fn parts(
    points: ComparedVectors<'_>,
    members: &[usize],
    k: usize,
    rng: &mut Random,
) -> Vec<(Vec<f64>, Vec<usize>)> {
    let parts = split(points, members, k, rng).into_iter();
    parts.map(|part| (points.mean(&part.members), part.members)).collect()
}

/// Draws centers by k-means++, with probability proportional to the squared distance.
fn seeds(points: ComparedVectors<'_>, members: &[usize], k: usize, rng: &mut Random) -> Vec<f64> {
    let dim = points.dim;
    let first = members[rng.random_range(0..members.len())];
    let mut centers = points.vector(first).to_vec();
    let mut near = vec![f64::INFINITY; members.len()];
    while centers.len() < k * dim {
        let newest = &centers[centers.len() - dim..];
        for (near, &m) in near.iter_mut().zip(members) {
            *near = near.min(points.between(points.vector(m), newest));
        }
        // Relative to the largest, so that no square overflows or underflows.
        let largest = near.iter().copied().fold(0.0, f64::max);
        if largest == 0.0 {
            break;
        }
        let odds: Vec<f64> = near.iter().map(|d| (d / largest).powi(2)).collect();
        let mut draw = rng.random::<f64>() * odds.iter().sum::<f64>();
        let falls = |odd: &f64| {
            draw -= odd;
            draw < 0.0
        };
        // Rounding may leave a remainder after the last one; then the farthest point is chosen.
        let next = odds.iter().position(falls).or_else(|| odds.iter().position(|&odd| odd == 1.0));
        centers.extend_from_slice(points.vector(members[next.unwrap_or(0)]));
    }
    centers
}

/// Returns the first of the centers nearest to a vector.
pub(crate) fn nearest(points: ComparedVectors<'_>, centers: &[f64], x: &[f64]) -> usize {
    let distances = centers.chunks_exact(points.dim).map(|center| points.between(x, center));
    let closer = |best: (usize, f64), next: (usize, f64)| if next.1 < best.1 { next } else { best };
    distances.enumerate().fold((0, f64::INFINITY), closer).0
}

fn group(members: &[usize], owner: &[usize], parts: usize) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); parts];
    members.iter().zip(owner).for_each(|(&m, &part)| groups[part].push(m));
    groups
}
