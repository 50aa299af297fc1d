//! Random measures, all with total mass 1.

use super::Random;
use rand::RngExt;
use rand::seq::index;
use treeport::{Error, GroundMetric, Measures, Result};
use treeport_report::sample::positive;

/// Draws measures with independent uniform masses on all points, normalized.
pub fn uniform_measures(points: usize, count: usize, rng: &mut Random) -> Result<Measures> {
    sparse_measures(points, points, count, rng)
}

/// Draws measures as the generator published by the authors of \[CTW24\] does: equal masses 1/k on
/// a random subset whose size k is uniform in `1..=points`.
pub fn subset_measures(points: usize, count: usize, rng: &mut Random) -> Result<Measures> {
    check_points(points)?;
    let rows = (0..count).map(|_| {
        let size = rng.random_range(1..=points);
        index::sample(rng, points, size).into_iter().map(|p| (p, 1.0)).collect::<Vec<_>>()
    });
    Ok(Measures::from_rows(points, rows)?.normalized())
}

/// Draws measures with independent uniform masses on `support` random points, normalized.
pub fn sparse_measures(
    points: usize,
    support: usize,
    count: usize,
    rng: &mut Random,
) -> Result<Measures> {
    check_support(support, points)?;
    let rows = (0..count).map(|_| {
        let chosen = index::sample(rng, points, support);
        chosen.into_iter().map(|p| (p, positive(rng))).collect::<Vec<_>>()
    });
    Ok(Measures::from_rows(points, rows)?.normalized())
}

/// Draws measures on `support` points of three clusters each, with independent uniform masses,
/// normalized. Point k is in cluster k mod `clusters`.
pub fn clustered_measures(
    points: usize,
    clusters: usize,
    support: usize,
    count: usize,
    rng: &mut Random,
) -> Result<Measures> {
    let each = points / clusters.max(1);
    check_points(each)?;
    let rows = (0..count).map(|_| {
        let three: [usize; 3] = std::array::from_fn(|_| rng.random_range(0..clusters));
        let mut entry =
            |k: usize| (clusters * rng.random_range(0..each) + three[k % 3], positive(rng));
        (0..support).map(&mut entry).collect::<Vec<_>>()
    });
    Ok(Measures::from_rows(points, rows)?.normalized())
}

/// Draws uniform masses on `support` of the `around` points nearest to a random one, normalized.
pub fn near_measures(
    metric: &GroundMetric,
    (support, around): (usize, usize),
    count: usize,
    rng: &mut Random,
) -> Result<Measures> {
    let n = metric.points();
    let around = around.min(n);
    check_support(support, around)?;
    let mut distances = vec![0.0; n];
    let rows = (0..count).map(|_| {
        metric.row(rng.random_range(0..n), &mut distances);
        let mut order: Vec<usize> = (0..n).collect();
        let nearer = |&i: &usize, &j: &usize| distances[i].total_cmp(&distances[j]).then(i.cmp(&j));
        order.select_nth_unstable_by(around - 1, nearer);
        let chosen = index::sample(rng, around, support);
        chosen.into_iter().map(|k| (order[k], positive(rng))).collect::<Vec<_>>()
    });
    Ok(Measures::from_rows(n, rows)?.normalized())
}

fn check_support(support: usize, points: usize) -> Result<()> {
    check_points(points)?;
    if support == 0 || support > points {
        return Err(Error::BadOption {
            option: "support",
            value: support.to_string(),
            expected: "it must be at least 1 and at most the number of points",
        });
    }
    Ok(())
}

fn check_points(points: usize) -> Result<()> {
    if points == 0 { Err(Error::NoPoints) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::seeded;
    use std::collections::HashSet;
    use treeport::PointMetric;

    fn assert_normalized(measures: &Measures) {
        assert!(measures.iter().all(|m| (m.total() - 1.0).abs() < 1e-12));
    }

    #[test]
    fn uniform_measures_cover_all_points() {
        let measures = uniform_measures(30, 8, &mut seeded(0)).expect("30 points");
        assert_normalized(&measures);
        assert!(measures.iter().all(|m| m.support().len() == 30));
        assert!(uniform_measures(0, 1, &mut seeded(0)).is_err());
    }

    #[test]
    fn subsets_have_equal_masses_and_all_sizes() {
        let measures = subset_measures(10, 400, &mut seeded(0)).expect("10 points");
        assert_normalized(&measures);
        let sizes: HashSet<_> = measures.iter().map(|m| m.support().len()).collect();
        assert_eq!(sizes.len(), 10);
        for m in measures.iter() {
            assert!(m.masses().iter().all(|&x| (x * m.support().len() as f64 - 1.0).abs() < 1e-12));
        }
    }

    #[test]
    fn clustered_measures_are_on_three_clusters() {
        let measures = clustered_measures(100, 10, 12, 20, &mut seeded(0)).expect("10 each");
        assert_normalized(&measures);
        for m in measures.iter() {
            let clusters: HashSet<_> = m.support().iter().map(|p| p % 10).collect();
            assert!(clusters.len() <= 3);
        }
        assert!(clustered_measures(5, 10, 1, 1, &mut seeded(0)).is_err());
    }

    #[test]
    fn near_measures_are_on_the_nearest_points() {
        let line: Vec<f64> = (0..50).map(f64::from).collect();
        let metric = GroundMetric::from_points(1, line, PointMetric::Euclidean).expect("a line");
        let rng = &mut seeded(0);
        let measures = near_measures(&metric, (4, 9), 40, rng).expect("4 of 9");
        assert_normalized(&measures);
        for m in measures.iter() {
            assert_eq!(m.support().len(), 4);
            assert!(m.support()[3] - m.support()[0] <= 8, "nine in a row hold them");
        }
        assert!(near_measures(&metric, (4, 3), 1, rng).is_err());
    }

    #[test]
    fn sparse_measures_have_the_asked_support() {
        let measures = sparse_measures(100, 5, 20, &mut seeded(0)).expect("5 of 100");
        assert_normalized(&measures);
        assert!(measures.iter().all(|m| m.support().len() == 5));
        assert!(sparse_measures(3, 4, 1, &mut seeded(0)).is_err());
        assert!(sparse_measures(3, 0, 1, &mut seeded(0)).is_err());
    }
}
