//! The points that a collection uses, each a column.
//!
//! The points of the reference come first, then those that most measures have before others, so that
//! what is asked for most lies together; then points that none has, if they are not many more. Bounds
//! take distances in single precision and in a unit of about the typical one, never above the truth.

use crate::measure::Measures;
use crate::metric::{GroundMetric, LoweredTable, LoweredTargets, lowered};
use crate::units::power_of_two;

/// Stands for the column of a point that has none.
pub(super) const NO_COLUMN: u32 = u32::MAX;

/// The most units that the unit of a table may have: far below what distances vanish in.
const MOST_TABLE_UNIT: f64 = (1u64 << 60) as f64;

/// The points of a collection, laid out to measure to them.
#[derive(Debug)]
pub(super) struct IndexedPoints {
    pub(super) metric: GroundMetric,
    /// The point of every column, and the column of every point.
    pub(super) points: Vec<u32>,
    pub(super) column_of: Vec<u32>,
    /// How many of them the collection uses; these come first.
    pub(super) used: usize,
    /// A power of two, about the distance between typical points.
    pub(super) unit: f64,
    /// Whether potentials are searches of a graph. Decided once, because a metric may learn all
    /// distances later.
    searched: bool,
    /// The columns in single precision, where the metric has coordinates that this serves.
    pub(super) targets: Option<LoweredTargets>,
}

impl IndexedPoints {
    /// The points of a collection, with those of `first`, points of the collection, before others.
    pub(super) fn new(
        metric: &GroundMetric,
        measures: &Measures,
        first: &[usize],
        typical_distance: f64,
    ) -> Self {
        let mut count = vec![0u32; metric.points()];
        for measure in measures.iter() {
            measure.support().iter().for_each(|&point| count[point as usize] += 1);
        }
        let used = count.iter().filter(|&&count| count > 0).count();
        for &point in first {
            count[point] = u32::MAX;
        }
        let mut points: Vec<u32> = (0..count.len() as u32).collect();
        points.sort_by_key(|&point| std::cmp::Reverse(count[point as usize]));
        if points.len() > 2 * used {
            points.truncate(used);
        }
        Self::with_order(metric, points, used, power_of_two(typical_distance))
    }

    /// These points, in this order.
    pub(super) fn with_order(
        metric: &GroundMetric,
        points: Vec<u32>,
        used: usize,
        unit: f64,
    ) -> Self {
        let mut column_of = vec![NO_COLUMN; metric.points()];
        points.iter().zip(0..).for_each(|(&point, at)| column_of[point as usize] = at);
        let searched = metric.is_searched() || metric.is_indexed();
        let targets = LoweredTargets::new(metric, &points, unit);
        Self { metric: metric.clone(), points, column_of, used, unit, searched, targets }
    }

    /// The same points of a metric that has more after them.
    pub(super) fn on(&self, metric: &GroundMetric) -> Self {
        Self::with_order(metric, self.points.clone(), self.used, self.unit)
    }

    /// Leaves out all columns but these, ascending.
    pub(super) fn keep_columns(&mut self, columns: &[u32]) {
        let used = columns.iter().filter(|&&column| (column as usize) < self.used).count();
        let points = columns.iter().map(|&column| self.points[column as usize]).collect();
        *self = Self::with_order(&self.metric, points, used, self.unit);
    }

    /// Whether potentials are searches of a graph.
    pub(super) fn by_search(&self) -> bool {
        self.searched
    }

    /// All distances in single precision, where the metric is a table that is not large. Nothing where a
    /// point that is far from all others has made its unit so large that typical distances vanish.
    pub(super) fn lowered_table(&self) -> Option<&LoweredTable> {
        let table = self.metric.lowered_square(usize::MAX)?;
        (table.unit() / self.unit < MOST_TABLE_UNIT).then_some(table)
    }

    /// A distance in units, in single precision, not above the truth.
    pub(super) fn lowered(&self, distance: f64) -> f32 {
        lowered(distance, self.unit)
    }

    /// About what a distance takes, in nanoseconds on one machine.
    pub(super) fn distance_time(&self) -> f64 {
        match &self.targets {
            Some(targets) => 0.3 + targets.dim() as f64 / 30.0,
            None if self.lowered_table().is_some() => 1.0,
            None => 20.0,
        }
    }

    /// Bytes of the columns.
    pub(super) fn bytes(&self) -> u64 {
        let columns = 4 * (self.points.len() + self.column_of.len()) as u64;
        columns + self.targets.as_ref().map_or(0, LoweredTargets::bytes)
    }
}
