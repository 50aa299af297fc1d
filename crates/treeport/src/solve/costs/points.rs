//! Costs between points with coordinates: norms of differences, their squares, and arcs.

use std::sync::Arc;

use super::candidates::{Candidates, Prices, Query};
use super::kd_points::{KdPoints, MOST_BOXED};
use super::{AT_ONCE, Coarser, CostSource, SinglePrecision};
use crate::metric::GroundMetric;
use crate::metric::kernels::formulas::{CostFormula, Formula};
use crate::metric::kernels::frame::{Frame, center};

/// Largest number of coordinates for which single precision distinguishes costs.
const MOST_DIM: usize = 1 << 12;

/// Checks whether costs of a metric have a formula in single precision.
pub(in crate::solve) fn is_supported(metric: &GroundMetric) -> bool {
    let formula = metric.point_metric().and_then(Formula::of);
    formula.is_some() && metric.vectors().is_some_and(|(dim, _)| dim <= MOST_DIM)
}

/// Checks whether devices support the formula of a metric.
pub(in crate::solve) fn is_known_to_devices(metric: &GroundMetric) -> bool {
    let formula = metric.point_metric().and_then(Formula::of);
    let is_named = formula.is_some_and(|(formula, _)| formula.name().is_some());
    is_supported(metric) && is_named && metric.half_periods().is_none()
}

/// Checks whether points are in so few dimensions that bounding boxes rule out most of them.
pub(in crate::solve) fn has_boxes(metric: &GroundMetric) -> bool {
    metric.vectors().is_some_and(|(dim, _)| dim <= MOST_BOXED)
}

/// Costs between points of a metric.
pub(super) struct PointCosts<'a> {
    metric: &'a GroundMetric,
    precision: SinglePrecision,
    sources: PointSide,
    sinks: PointSide,
}

/// Points of one side: their indices in the metric, and their coordinates in single precision.
#[derive(Clone)]
pub(super) struct PointSide {
    numbers: Arc<Vec<usize>>,
    pub(super) points: Arc<KdPoints>,
}

impl PointSide {
    /// Returns the middle point of every `group` consecutive points.
    fn coarser(&self, group: usize) -> Self {
        let last = self.points.len as u32 - 1;
        let places = (0..=last).step_by(group).map(|first| (first + group as u32 / 2).min(last));
        let places: Vec<u32> = places.collect();
        let numbers = places.iter().map(|&place| self.numbers[place as usize]).collect();
        Self { numbers: Arc::new(numbers), points: Arc::new(self.points.some(&places)) }
    }

    /// Computes the mean cost between a point and the middle point of its group.
    fn reach(&self, coarse: &Self, group: usize) -> f32 {
        let cost = |place: usize| f64::from(self.points.cost(place, &coarse.points, place / group));
        let sum: f64 = (0..self.points.len).map(cost).sum();
        (sum / self.points.len as f64) as f32
    }
}

impl<'a> PointCosts<'a> {
    /// Lays out two sides, each in the [order](super::kd_points::order) of a k-d tree; `None` where
    /// single precision has no formula or no unit.
    pub(super) fn new(metric: &'a GroundMetric, sides: [Vec<usize>; 2]) -> Option<Self> {
        let (frame, formula, unit) = frame(metric, sides.each_ref().map(|side| &side[..]))?;
        let dim = frame.center.len();
        let precision = SinglePrecision {
            unit,
            largest: formula.formula.largest(dim),
            lost: formula.formula.lost(dim, !formula.halves.is_empty()),
        };
        let [sources, sinks] = sides.map(|numbers| {
            let points = KdPoints::new(&frame, &formula, metric, &numbers);
            PointSide { numbers: Arc::new(numbers), points: Arc::new(points) }
        });
        Some(Self { metric, precision, sources, sinks })
    }

    /// Returns the formula's name on devices; `None` where they do not support it.
    pub(super) fn device_formula(&self) -> Option<&'static str> {
        let formula = &self.sources.points.formula;
        formula.formula.name().filter(|_| formula.halves.is_empty())
    }

    /// Returns sources and sinks in single precision.
    pub(super) fn points(&self) -> [&KdPoints; 2] {
        [&self.sources.points, &self.sinks.points]
    }

    /// Returns the costs between the middle points of groups, the costs from all sinks to the
    /// middle points of the sources, and the mean cost between a point and the middle of its group,
    /// on the side where it is less.
    pub(super) fn coarser_points(&self, group: usize) -> ([Self; 2], f32) {
        let [sources, sinks] = [&self.sources, &self.sinks].map(|side| side.coarser(group));
        let reach = self.sources.reach(&sources, group).min(self.sinks.reach(&sinks, group));
        let (metric, precision) = (self.metric, self.precision);
        let back = Self { metric, precision, sources: self.sinks.clone(), sinks: sources.clone() };
        ([Self { metric, precision, sources, sinks }, back], reach)
    }

    #[cfg(test)]
    pub(super) fn without_boxes(self) -> Self {
        let points = Arc::new(self.sinks.points.without_boxes());
        Self { sinks: PointSide { points, ..self.sinks }, ..self }
    }
}

impl CostSource for PointCosts<'_> {
    fn sizes(&self) -> [usize; 2] {
        [self.sources.points.len, self.sinks.points.len]
    }

    fn cost(&self, source: usize, sink: usize) -> f64 {
        self.metric.distance(self.sources.numbers[source], self.sinks.numbers[sink])
    }

    fn single(&self, source: usize, sink: usize) -> f32 {
        self.sources.points.cost(source, &self.sinks.points, sink)
    }

    fn precision(&self) -> SinglePrecision {
        self.precision
    }

    fn are_lengths(&self) -> bool {
        self.sources.points.formula.formula == Formula::Length
    }

    fn prices(&self, of: Vec<f32>) -> Prices {
        self.sinks.points.prices(of)
    }

    fn refresh(&self, prices: &mut Prices) {
        self.sinks.points.refresh(prices);
    }

    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        self.sinks.points.nearest(&self.sources.points, rows, query)
    }

    fn rows_at_once(&self, _rows: usize, _query: &Query<'_>) -> usize {
        AT_ONCE / (self.sinks.points.len * self.sinks.points.dim)
    }

    fn coarser(&self, group: usize) -> Option<Coarser<'_>> {
        let ([costs, back], reach) = self.coarser_points(group);
        Some(Coarser { costs: Box::new(costs), back: Box::new(back), reach, alone: 0 })
    }
}

/// Largest distance of points from their center for which all arcs between them are at most a
/// quarter of a circle: half of √2, the chord of a quarter, less the rounding error.
const NEAR_CENTER: f64 = 0.707;

/// Returns the frame of two sides, their formula, and the value of a cost of 1; `None` where single
/// precision cannot represent that.
fn frame(metric: &GroundMetric, sides: [&[usize]; 2]) -> Option<(Frame, CostFormula, f64)> {
    let (dim, vectors) = metric.vectors()?;
    let (mut formula, share) = Formula::of(metric.point_metric()?)?;
    let numbers = || sides.into_iter().flatten().copied();
    let points = numbers().map(|i| &vectors[i * dim..(i + 1) * dim]);
    let halves = metric.half_periods_among(numbers());
    let mut center = center(dim, points.clone(), halves.as_deref());
    let distance = |point: &[f64]| {
        point.iter().zip(&center).map(|(x, c)| (x - c) * (x - c)).sum::<f64>().sqrt()
    };
    if formula == Formula::Arc && points.clone().any(|point| distance(point) > NEAR_CENTER) {
        formula = Formula::Globe;
        center.fill(0.0);
    }
    let frame = if formula == Formula::Globe {
        Frame { center, unit: 1.0, halves: None }
    } else {
        Frame::with_center(center, points, halves.as_deref())
    };
    let square = if formula == Formula::Square { frame.unit } else { 1.0 };
    let unit = frame.unit * square * share;
    let is_arc = matches!(formula, Formula::Arc | Formula::Globe);
    let curvature = if is_arc { (0.25 * frame.unit * frame.unit) as f32 } else { 0.0 };
    let halves = frame.halves.clone().unwrap_or_default();
    let formula = CostFormula { formula, halves, curvature };
    (unit.is_normal() && (1.0 / unit).is_normal()).then_some((frame, formula, unit))
}
