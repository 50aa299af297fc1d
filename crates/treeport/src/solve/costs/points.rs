//! Costs between points with coordinates: norms of differences, their squares, and arcs.

use std::sync::Arc;

use super::candidates::{Candidates, Prices, Query};
use super::groups::{self, Groups};
use super::kd_points::{KdPoints, MOST_BOXED};
use super::{AT_ONCE, Coarser, CostSource, SinglePrecision};
use crate::metric::GroundMetric;
use crate::metric::kernels::formulas::{CostFormula, Formula};
use crate::metric::kernels::frame::{Frame, center};
use crate::numeric::scale::of_largest;

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
///
/// Coordinates in single precision are relative to a center, in multiples of a unit. They are
/// clamped to the range from −2 to 2: projection onto a box lengthens no distance, so costs of far
/// points are still lower bounds.
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
    /// Returns groups of at most `most` points, the middle point of each, and their mean radius.
    fn coarser(&self, most: usize) -> (Groups, Self, f32) {
        let points = &self.points;
        let (groups, reach) = Groups::new(points.len, most, |range| {
            let middle = groups::middle(&range);
            let sum: f32 = range.clone().map(|place| points.cost(place, points, middle)).sum();
            sum / range.len() as f32
        });
        let places: Vec<u32> = groups.middles().collect();
        let numbers = places.iter().map(|&place| self.numbers[place as usize]).collect();
        let coarse = Self { numbers: Arc::new(numbers), points: Arc::new(points.some(&places)) };
        (groups, coarse, reach)
    }
}

impl<'a> PointCosts<'a> {
    /// Lays out two sides, each in the [order](super::kd_points::order) of a k-d tree; `None` where
    /// single precision has no formula or no unit.
    pub(super) fn new(metric: &'a GroundMetric, sides: [Vec<usize>; 2]) -> Option<Self> {
        let (frame, formula, precision) = frame(metric, sides.each_ref().map(|side| &side[..]))?;
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
    /// middle points of the sources, the groups, and their mean radius on the side where it is
    /// less.
    pub(super) fn coarser_points(&self, group: usize) -> ([Self; 2], [Groups; 2], f32) {
        let [(of_sources, sources, left), (of_sinks, sinks, right)] =
            [&self.sources, &self.sinks].map(|side| side.coarser(group));
        let (metric, precision) = (self.metric, self.precision);
        let back = Self { metric, precision, sources: self.sinks.clone(), sinks: sources.clone() };
        let costs = Self { metric, precision, sources, sinks };
        ([costs, back], [of_sources, of_sinks], left.min(right))
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
        let ([costs, back], groups, reach) = self.coarser_points(group);
        Some(Coarser { costs: Box::new(costs), back: Box::new(back), groups, reach })
    }
}

/// Largest distance of points from their center for which all arcs between them are at most a
/// quarter of a circle: half of √2, the chord of a quarter, less the rounding error.
const NEAR_CENTER: f64 = 0.707;

/// Returns the frame of two sides, their formula, and their precision; `None` where single precision
/// cannot represent costs.
fn frame(
    metric: &GroundMetric,
    sides: [&[usize]; 2],
) -> Option<(Frame, CostFormula, SinglePrecision)> {
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
    let is_arc = matches!(formula, Formula::Arc | Formula::Globe);
    let unit_of = |frame: &Frame| {
        frame.unit * if formula == Formula::Square { frame.unit } else { 1.0 } * share
    };
    let mut frame = if formula == Formula::Globe {
        Frame { center, unit: 1.0, halves: None }
    } else {
        Frame::with_center(center, points.clone(), halves.as_deref())
    };
    let most = formula.largest(dim) * unit_of(&frame);
    if halves.is_none() && !is_arc {
        frame = without_far_points(frame, points);
    }
    let unit = unit_of(&frame);
    let curvature = if is_arc { (0.25 * frame.unit * frame.unit) as f32 } else { 0.0 };
    let halves = frame.halves.clone().unwrap_or_default();
    let precision = SinglePrecision {
        unit,
        largest: formula.largest(dim),
        lost: formula.lost(dim, !halves.is_empty()),
        most,
    };
    let formula = CostFormula { formula, halves, curvature };
    (unit.is_normal() && (1.0 / unit).is_normal()).then_some((frame, formula, precision))
}

/// Number of sampled points that decide which others are far.
const PROBES: usize = 1001;

/// Share of the points that may be far.
const FAR: f64 = 0.05;

/// Ratio of the offset of a far point from the center to that of the others. Where points are at
/// most 32 times as far, costs keep 18 bits.
///
/// 4,000 points per side, uniform in the plane, one of them at 10⁹: 0.26 s of processor time with
/// equal masses and 0.41 s with random ones, instead of 3.4 s on a table; without that point 0.14
/// and 0.32 s.
const FAR_RATIO: f64 = 32.0;

/// Returns a frame for all points but few that are far away, if there are such points: in the frame
/// of all points single precision would not distinguish the costs between the others.
fn without_far_points<'a>(frame: Frame, points: impl Iterator<Item = &'a [f64]> + Clone) -> Frame {
    let count = points.clone().count();
    let probes: Vec<&[f64]> = points.clone().step_by(count.div_ceil(PROBES)).collect();
    let middle = |axis: usize| {
        let mut along: Vec<f64> = probes.iter().map(|point| point[axis]).collect();
        let half = along.len() / 2;
        *along.select_nth_unstable_by(half, f64::total_cmp).1
    };
    let center: Vec<f64> = (0..frame.center.len()).map(middle).collect();
    let offset =
        |point: &[f64]| point.iter().zip(&center).map(|(x, c)| (x - c).abs()).fold(0.0, f64::max);
    let mut offsets: Vec<f64> = probes.iter().map(|point| offset(point)).collect();
    let most_near = ((1.0 - FAR) * offsets.len() as f64) as usize;
    let near = *offsets.select_nth_unstable_by(most_near.min(probes.len() - 1), f64::total_cmp).1;
    let limit = FAR_RATIO * near;
    if limit == 0.0 || frame.unit <= limit {
        return frame;
    }
    let unit = of_largest(points.map(offset).filter(|offset| *offset <= limit));
    Frame { center, unit, halves: None }
}
