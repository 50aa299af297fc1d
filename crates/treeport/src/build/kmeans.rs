//! k-means within one cluster: Lloyd's rounds after the seeding of k-means++.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::cluster::Cluster;
use crate::metric::PointMetric;

/// Rounds of Lloyd; clusters of a tree need not be perfect.
const ROUNDS: usize = 10;

/// The members around their mean.
pub(super) fn around_mean(
    point_metric: PointMetric,
    dim: usize,
    vectors: &[f64],
    members: Vec<usize>,
) -> Cluster {
    let mean = mean(dim, vectors, &members);
    let to_center =
        members.iter().map(|&m| point_metric.between(vector(dim, vectors, m), &mean)).collect();
    Cluster { members, to_center, up: 0.0 }
}

/// Splits members into up to k parts around means.
///
/// Assignments and seeding go by the metric of the points, so that Manhattan distances or cosines
/// make their own clusters.
pub(super) fn split(
    point_metric: PointMetric,
    dim: usize,
    vectors: &[f64],
    members: &[usize],
    k: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<Cluster> {
    let mut centers = seeds(point_metric, dim, vectors, members, k, rng);
    let mut owner = vec![usize::MAX; members.len()];
    for _ in 0..ROUNDS {
        let near = |&m: &usize| nearest(point_metric, dim, &centers, vector(dim, vectors, m));
        let assigned: Vec<usize> = members.iter().map(near).collect();
        if assigned == owner {
            break;
        }
        owner = assigned;
        let parts = group(members, &owner, centers.len() / dim);
        // A part that has lost all its points keeps its center, and may win some back.
        for (part, center) in parts.iter().zip(centers.chunks_exact_mut(dim)) {
            if !part.is_empty() {
                center.copy_from_slice(&mean(dim, vectors, part));
            }
        }
    }
    let above = mean(dim, vectors, members);
    let parts = group(members, &owner, centers.len() / dim);
    let around = |part: Vec<usize>| {
        let up = point_metric.between(&mean(dim, vectors, &part), &above);
        Cluster { up, ..around_mean(point_metric, dim, vectors, part) }
    };
    parts.into_iter().filter(|part| !part.is_empty()).map(around).collect()
}

/// k-means++: the next center is drawn with odds of its squared distance to those before.
fn seeds(
    point_metric: PointMetric,
    dim: usize,
    vectors: &[f64],
    members: &[usize],
    k: usize,
    rng: &mut Xoshiro256PlusPlus,
) -> Vec<f64> {
    let first = members[rng.random_range(0..members.len())];
    let mut centers = vector(dim, vectors, first).to_vec();
    let mut near = vec![f64::INFINITY; members.len()];
    while centers.len() < k * dim {
        let newest = &centers[centers.len() - dim..];
        for (near, &m) in near.iter_mut().zip(members) {
            *near = near.min(point_metric.between(vector(dim, vectors, m), newest));
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
        centers.extend_from_slice(vector(dim, vectors, members[next.unwrap_or(0)]));
    }
    centers
}

fn vector(dim: usize, vectors: &[f64], point: usize) -> &[f64] {
    &vectors[point * dim..(point + 1) * dim]
}

fn mean(dim: usize, vectors: &[f64], members: &[usize]) -> Vec<f64> {
    // From the first member on, so that the mean of equal vectors is that vector to the last bit.
    let first = vector(dim, vectors, members[0]);
    let mut sums = vec![0.0; dim];
    for &m in members {
        for (k, x) in vector(dim, vectors, m).iter().enumerate() {
            sums[k] += x - first[k];
        }
    }
    sums.iter().zip(first).map(|(sum, x)| x + sum / members.len() as f64).collect()
}

fn nearest(point_metric: PointMetric, dim: usize, centers: &[f64], x: &[f64]) -> usize {
    let distances = centers.chunks_exact(dim).map(|center| point_metric.between(x, center));
    let closer = |best: (usize, f64), next: (usize, f64)| if next.1 < best.1 { next } else { best };
    distances.enumerate().fold((0, f64::INFINITY), closer).0
}

fn group(members: &[usize], owner: &[usize], parts: usize) -> Vec<Vec<usize>> {
    let mut groups = vec![Vec::new(); parts];
    members.iter().zip(owner).for_each(|(&m, &part)| groups[part].push(m));
    groups
}
