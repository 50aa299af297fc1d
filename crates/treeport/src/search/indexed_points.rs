//! Points used by a collection, each one a column.
//!
//! The points of the reference come first, then the others by the number of measures that have
//! them, so that frequently used columns are contiguous; then unused points, unless they are more
//! than the used ones. Bounds use distances in single precision, rounded down, in a unit of about
//! the typical distance.

use crate::measures::Measures;
use crate::metric::{GroundMetric, LoweredTable, LoweredTargets};
use crate::numeric::scale::power_of_two;

/// Marks a point without a column.
pub(super) const NO_COLUMN: u32 = u32::MAX;

/// Largest unit of a table relative to the unit of the points; beyond it, typical distances could
/// underflow.
const MOST_TABLE_UNIT: f64 = (1u64 << 60) as f64;

/// The points of a collection, with their coordinates prepared for computing distances.
#[derive(Debug)]
pub(super) struct IndexedPoints {
    pub(super) metric: GroundMetric,
    /// Point of every column.
    pub(super) points: Vec<u32>,
    /// Column of every point, or [`NO_COLUMN`].
    pub(super) column_of: Vec<u32>,
    /// Number of columns that the collection uses; these come first.
    pub(super) used: usize,
    /// A power of two near the typical distance.
    pub(super) unit: f64,
    /// Potentials are extended by a search of the graph. Decided once, because a metric may cache
    /// all distances later.
    pub(super) by_search: bool,
    /// Coordinates of the columns in single precision, if the metric supports it.
    pub(super) targets: Option<LoweredTargets>,
}

impl IndexedPoints {
    /// Collects the points of a collection; those in `first`, which it must contain, come first.
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

    /// Uses these points in this order.
    pub(super) fn with_order(
        metric: &GroundMetric,
        points: Vec<u32>,
        used: usize,
        unit: f64,
    ) -> Self {
        let mut column_of = vec![NO_COLUMN; metric.points()];
        points.iter().zip(0..).for_each(|(&point, at)| column_of[point as usize] = at);
        let by_search = metric.is_searched() || metric.is_indexed();
        let targets = LoweredTargets::new(metric, &points, unit);
        Self { metric: metric.clone(), points, column_of, used, unit, by_search, targets }
    }

    /// Moves the points to a metric with additional points at the end.
    pub(super) fn on(&self, metric: &GroundMetric) -> Self {
        Self::with_order(metric, self.points.clone(), self.used, self.unit)
    }

    /// Keeps only these columns, which ascend.
    pub(super) fn keep_columns(&mut self, columns: &[u32]) {
        let used = columns.iter().filter(|&&column| (column as usize) < self.used).count();
        let points = columns.iter().map(|&column| self.points[column as usize]).collect();
        *self = Self::with_order(&self.metric, points, used, self.unit);
    }

    /// All distances in single precision, if the metric is a table of moderate size. `None` if an
    /// outlier has made the table's unit so large that typical distances underflow.
    pub(super) fn lowered_table(&self) -> Option<&LoweredTable> {
        let table = self.metric.lowered_square(usize::MAX)?;
        (table.unit() / self.unit < MOST_TABLE_UNIT).then_some(table)
    }

    /// Estimated time of a distance, in nanoseconds of a reference machine.
    pub(super) fn distance_time(&self) -> f64 {
        match &self.targets {
            Some(targets) => 0.3 + targets.dim() as f64 / 30.0,
            None if self.lowered_table().is_some() => 1.0,
            None => 20.0,
        }
    }

    /// Bytes of memory of the columns.
    pub(super) fn bytes(&self) -> u64 {
        let columns = 4 * (self.points.len() + self.column_of.len()) as u64;
        columns + self.targets.as_ref().map_or(0, LoweredTargets::bytes)
    }
}
