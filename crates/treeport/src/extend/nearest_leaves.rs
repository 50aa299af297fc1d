//! Leaf beside which each new point is attached, and the order of new points.

use crate::error::Result;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::tasks::PLACING;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;
use crate::tree::check_new_distances;

/// Number of old reference points, evenly spaced over their numbers, to estimate mean distances.
const REFERENCES: usize = 64;

const POINTS_PER_TASK: usize = 16;

/// Weight of the mean distance in favor of a leaf; "What was tried" lists others.
const CENTRALITY: f64 = 0.5;

/// A new point and the leaf beside which it is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NearestLeaf {
    pub(super) point: usize,
    /// Old point, or a new point that is attached earlier.
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
                    check_new_distances(row, |at| references[at])?;
                    *mean = row.iter().sum::<f64>() / count as f64;
                }
                Ok(())
            },
        )?;
        Ok(Self { metric, old, references, mean })
    }

    /// Chooses for each new point the leaf with the least D(x, y) − ½ r(y), where r is the mean
    /// distance to the references. Points nearest to old points come first, and are leaves for later
    /// ones.
    ///
    /// O(M·(N + M)) distances for M new points and N old ones; only the best leaf of each is stored.
    pub(super) fn nearest_leaves(&self, progress: &Progress<'_>) -> Result<Vec<NearestLeaf>> {
        let new: Vec<usize> = (self.old..self.metric.points()).collect();
        let counter = Counter::new(PLACING, 2 * new.len(), progress);
        let old: Vec<usize> = (0..self.old).collect();
        let first = |&point: &usize| {
            counter.add(1)?;
            self.best(point, &old)
        };
        let mut nearest = parallel::try_map(new.len(), |at| first(&new[at]))?;
        nearest.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.point.cmp(&b.point)));
        let order: Vec<usize> = nearest.iter().map(|leaf| leaf.point).collect();
        let second = |(place, old): (usize, &NearestLeaf)| {
            counter.add(1)?;
            if place == 0 || old.distance == 0.0 {
                return Ok(*old);
            }
            let new = self.best(old.point, &order[..place])?;
            let cost = |leaf: &NearestLeaf| leaf.distance - CENTRALITY * self.mean[leaf.beside];
            let is_nearer = new.distance == 0.0 || cost(&new) < cost(old);
            Ok(if is_nearer { new } else { *old })
        };
        parallel::try_map(nearest.len(), |place| second((place, &nearest[place])))
    }

    /// Returns the best of the given leaves; a copy of the point, if there is one.
    fn best(&self, point: usize, leaves: &[usize]) -> Result<NearestLeaf> {
        let mut row = vec![0.0; leaves.len()];
        self.metric.block(&[point], leaves, &mut row);
        check_new_distances(&row, |at| leaves[at])?;
        let cost = |k: usize| {
            if row[k] == 0.0 {
                f64::NEG_INFINITY
            } else {
                row[k] - CENTRALITY * self.mean[leaves[k]]
            }
        };
        let least = (0..row.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)));
        let k = least.expect("a tree has a leaf");
        Ok(NearestLeaf { point, beside: leaves[k], distance: row[k] })
    }
}
