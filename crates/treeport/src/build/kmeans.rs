//! k-means within one cluster: Lloyd's rounds after the seeding of k-means++.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cluster::Cluster;
use crate::metric::period::{way, wrapped};
use crate::metric::{GroundMetric, PointMetric};

/// Rounds of Lloyd; clusters of a tree need not be perfect.
const ROUNDS: usize = 10;

/// Vectors, and how they are compared.
#[derive(Clone, Copy)]
pub(super) struct ComparedVectors<'a> {
    point_metric: PointMetric,
    dim: usize,
    vectors: &'a [f64],
    /// Half periods of coordinates that go round.
    halves: Option<&'a [f64]>,
}

impl<'a> ComparedVectors<'a> {
    /// Nothing where a metric has no coordinates.
    pub(super) fn of(metric: &'a GroundMetric) -> Option<Self> {
        let (dim, vectors) = metric.vectors()?;
        let (point_metric, halves) = (metric.point_metric()?, metric.half_periods());
        Some(Self { point_metric, dim, vectors, halves })
    }

    pub(super) fn len(&self) -> usize {
        self.vectors.len() / self.dim
    }

    fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        self.point_metric.between(x, y, self.halves)
    }

    fn vector(&self, point: usize) -> &'a [f64] {
        &self.vectors[point * self.dim..(point + 1) * self.dim]
    }

    /// The mean of some vectors; of coordinates that go round that of the shorter ways from the first.
    fn mean(&self, members: &[usize]) -> Vec<f64> {
        // From the first member on, so that the mean of equal vectors is that vector to the last bit.
        let first = self.vector(members[0]);
        let half = |k: usize| self.halves.map_or(f64::INFINITY, |halves| halves[k]);
        let mut sums = vec![0.0; self.dim];
        for &m in members {
            for (k, &x) in self.vector(m).iter().enumerate() {
                sums[k] += way(x, first[k], half(k));
            }
        }
        let count = members.len() as f64;
        let at = |(k, sum): (usize, f64)| wrapped(first[k] + sum / count, half(k));
        sums.into_iter().enumerate().map(at).collect()
    }
}

/// The members around their mean.
pub(super) fn around_mean(points: ComparedVectors<'_>, members: Vec<usize>) -> Cluster {
    let mean = points.mean(&members);
    let to_center = members.iter().map(|&m| points.between(points.vector(m), &mean)).collect();
    Cluster { members, to_center, up: 0.0 }
}

/// Splits members into up to k parts around means.
///
/// Assignments and seeding go by the metric of the points, so that Manhattan distances or cosines
/// make their own clusters.
pub(super) fn split(
    points: ComparedVectors<'_>,
    members: &[usize],
    k: usize,
    rng: &mut Xoshiro256PlusPlus,
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
        // A part that has lost all its points keeps its center, and may win some back.
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

/// k-means++: the next center is drawn with odds of its squared distance to those before.
fn seeds(
    points: ComparedVectors<'_>,
    members: &[usize],
    k: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<f64> {
    let dim = points.dim;
    let first = members[rng.random_range(0..members.len())];
    let mut centers = points.vector(first).to_vec();
    let mut near = vec![f64::INFINITY; members.len()];
    while centers.len() < k * dim {
        let newest = &centers[centers.len() - dim..];
        for (near, &m) in near.iter_mut().zip(members) {
            *near = near.min(points.between(points.vector(m), newest));
        }
        // As shares of the largest, so that no square overflows or vanishes.
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
        // Rounding may leave a rest after the last: then it is the farthest point.
        let next = odds.iter().position(falls).or_else(|| odds.iter().position(|&odd| odd == 1.0));
        centers.extend_from_slice(points.vector(members[next.unwrap_or(0)]));
    }
    centers
}

fn nearest(points: ComparedVectors<'_>, centers: &[f64], x: &[f64]) -> usize {
    let distances = centers.chunks_exact(points.dim).map(|center| points.between(x, center));
    let closer = |best: (usize, f64), next: (usize, f64)| if next.1 < best.1 { next } else { best };
    distances.enumerate().fold((0, f64::INFINITY), closer).0
}

fn group(members: &[usize], owner: &[usize], parts: usize) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); parts];
    members.iter().zip(owner).for_each(|(&m, &part)| groups[part].push(m));
    groups
}
