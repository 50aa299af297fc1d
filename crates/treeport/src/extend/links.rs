//! Leaf beside which each new point is attached, and the order of new points.

use crate::error::{Error, Result};
use crate::memory;
use crate::metric::GroundMetric;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::PLACING;

/// Number of old reference points, evenly spaced over their numbers, to estimate mean distances.
const REFERENCES: usize = 64;

/// Points per task.
const POINTS_PER_TASK: usize = 16;

/// Weight of the mean distance in favor of a leaf. Neighbor joining has 1; "What was tried" lists
/// others.
const CENTRALITY: f64 = 0.5;

/// A new point and the leaf beside which it is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) point: usize,
    /// Old point, or a new point of an earlier link.
    pub(super) beside: usize,
    pub(super) distance: f64,
}

/// Old points, with the mean distances of all points.
pub(super) struct Neighborhood<'a> {
    pub(super) metric: &'a GroundMetric,
    /// Number of old points, which come first.
    pub(super) old: usize,
    pub(super) references: Vec<usize>,
    /// Mean distance of every point to the references.
    pub(super) mean: Vec<f64>,
}

impl<'a> Neighborhood<'a> {
    /// Computes the mean distances to the references: O(points · references) distances.
    pub(super) fn new(metric: &'a GroundMetric, old: usize) -> Result<Self> {
        let references: Vec<usize> = (0..old).step_by(old.div_ceil(REFERENCES).max(1)).collect();
        let (points, count) = (metric.points(), references.len());
        let step = format_args!("mean distances of {points} points");
        let mut mean = memory::zeros(step, points, "extend by fewer points at once")?;
        parallel::try_for_each_with(
            mean.chunks_mut(POINTS_PER_TASK).enumerate(),
            || vec![0.0; count],
            |row, (task, mean)| {
                for (point, mean) in (task * POINTS_PER_TASK..).zip(mean) {
                    metric.block(&[point], &references, row);
                    check(row, &references)?;
                    *mean = row.iter().sum::<f64>() / count as f64;
                }
                Ok(())
            },
        )?;
        Ok(Self { metric, old, references, mean })
    }

    /// Chooses a link for each new point: to the leaf with the least D(x, y) − ½ r(y), where r is
    /// the mean distance to the references. Points nearest to old points come first; later ones may
    /// link to earlier ones.
    ///
    /// O(M·(N + M)) distances for M new points and N old ones; only the best link of each is
    /// stored.
    pub(super) fn links(&self, progress: &Progress<'_>) -> Result<Vec<Link>> {
        let new: Vec<usize> = (self.old..self.metric.points()).collect();
        let counter = Counter::new(PLACING, 2 * new.len(), progress);
        let old: Vec<usize> = (0..self.old).collect();
        let first = |&point: &usize| {
            counter.add(1)?;
            self.best(point, &old)
        };
        let mut links = parallel::try_map(new.len(), |at| first(&new[at]))?;
        links.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.point.cmp(&b.point)));
        let order: Vec<usize> = links.iter().map(|link| link.point).collect();
        let second = |(place, link): (usize, &Link)| {
            counter.add(1)?;
            if place == 0 || link.distance == 0.0 {
                return Ok(*link);
            }
            let among_new = self.best(link.point, &order[..place])?;
            let cost = |link: &Link| link.distance - CENTRALITY * self.mean[link.beside];
            let nearer = among_new.distance == 0.0 || cost(&among_new) < cost(link);
            Ok(if nearer { among_new } else { *link })
        };
        parallel::try_map(links.len(), |place| second((place, &links[place])))
    }

    /// Returns the best link to some leaves; a copy of the point, if there is one.
    fn best(&self, point: usize, leaves: &[usize]) -> Result<Link> {
        let mut row = vec![0.0; leaves.len()];
        self.metric.block(&[point], leaves, &mut row);
        check(&row, leaves)?;
        let cost = |k: usize| {
            if row[k] == 0.0 {
                f64::NEG_INFINITY
            } else {
                row[k] - CENTRALITY * self.mean[leaves[k]]
            }
        };
        let least = (0..row.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)));
        let k = least.expect("a tree has a leaf");
        Ok(Link { point, beside: leaves[k], distance: row[k] })
    }
}

/// Checks that distances are finite and at least 0.
fn check(row: &[f64], to: &[usize]) -> Result<()> {
    match row.iter().position(|d| !(d.is_finite() && *d >= 0.0)) {
        Some(bad) => Err(Error::BadNewDistance { to: to[bad], value: row[bad] }),
        None => Ok(()),
    }
}
