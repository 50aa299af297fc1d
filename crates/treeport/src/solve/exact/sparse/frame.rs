//! What costs are computed from: coordinates relative to a center, in units, in single precision.
//!
//! # What single precision loses
//! Sums of squares (of absolute differences) of k coordinates are off by at most k + 4 roundings, the
//! coordinates have moved by one each, and half periods as well. An arc is up to √2 times as far off as the
//! straight line below it, which is that of a quarter of the circle at most (`arc`). [`Frame::lost`] is the most that a cost plus a price
//! may be off by, over all pairs; who wants more digits looks again at whatever is that close.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

use crate::metric::{GroundMetric, Norm, PointMetric};
use crate::rounding::single;
use crate::units::of_largest;

/// How differences become costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formula {
    /// √Σ (xₖ − yₖ)².
    Length,
    /// Σ |xₖ − yₖ|.
    Absolutes,
    /// Σ (xₖ − yₖ)².
    Square,
    /// max |xₖ − yₖ|.
    Largest,
    /// The arc above √Σ (xₖ − yₖ)² on a sphere, a quarter of the circle at most.
    Arc,
    /// The same of any length, between vectors of length 1.
    Globe,
    /// What a table says (`table`): the "coordinates" of a source are its costs to all sinks.
    Table,
}

impl Formula {
    /// What a card calls it, where it knows it.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Length => Some("length"),
            Self::Absolutes => Some("absolutes"),
            Self::Square => Some("square"),
            Self::Largest => Some("largest"),
            Self::Arc | Self::Globe | Self::Table => None,
        }
    }
}

/// Those formulas as numbers, for loops that are compiled for each.
pub(super) const LENGTH: u8 = 0;
pub(super) const ABSOLUTES: u8 = 1;
pub(super) const SQUARE: u8 = 2;
pub(super) const LARGEST: u8 = 3;
pub(super) const ARC: u8 = 4;
pub(super) const GLOBE: u8 = 5;
pub(super) const TABLE: u8 = 6;

/// What coordinates are relative to, and what costs of theirs stand for.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) formula: Formula,
    pub(super) center: Vec<f64>,
    pub(super) unit: f64,
    /// Half periods in units, infinite for coordinates that have none; empty where none matters.
    pub(super) halves: Vec<f32>,
    /// What squares of lengths are multiplied by to be those of half the chord of an arc; 0 where costs
    /// are no arcs.
    pub(super) curvature: f32,
    /// A cost of 1 here is this much outside.
    pub(super) worth: f64,
}

/// The farthest that points may be from their center for all arcs between them to be a quarter of a circle
/// at most: half of √2, the chord of a quarter, less what rounding may move.
const NEAR_CENTER: f64 = 0.707;

impl Frame {
    /// Nothing where costs are no norm of differences, nor its square.
    pub(super) fn new(metric: &GroundMetric, sides: [&[usize]; 2]) -> Option<Self> {
        let kind = metric.point_metric()?;
        let (dim, vectors) = metric.vectors()?;
        let (mut formula, share) = formula(kind)?;
        let points = || sides.into_iter().flatten().map(|&i| &vectors[i * dim..(i + 1) * dim]);
        let mut center = vec![0.0; dim];
        let count = (sides[0].len() + sides[1].len()) as f64;
        for point in points() {
            center.iter_mut().zip(point).for_each(|(mean, x)| *mean += x / count);
        }
        let halves = metric.half_periods_among(sides.into_iter().flatten().copied());
        let halves = halves.unwrap_or_default();
        for (at, half) in center.iter_mut().zip(&halves) {
            *at = if half.is_finite() { 0.0 } else { *at };
        }
        let distance = |point: &[f64]| {
            point.iter().zip(&center).map(|(x, c)| (x - c) * (x - c)).sum::<f64>().sqrt()
        };
        if formula == Formula::Arc && points().any(|point| distance(point) > NEAR_CENTER) {
            formula = Formula::Globe;
            center.fill(0.0);
        }
        let offset = |point: &[f64]| {
            point.iter().zip(&center).map(|(x, c)| (x - c).abs()).fold(0.0, f64::max)
        };
        let unit = if formula == Formula::Globe { 1.0 } else { of_largest(points().map(offset)) };
        let worth = if formula == Formula::Square { unit * unit * share } else { unit * share };
        let is_arc = matches!(formula, Formula::Arc | Formula::Globe);
        let curvature = if is_arc { (0.25 * unit * unit) as f32 } else { 0.0 };
        (worth.is_normal() && (1.0 / worth).is_normal()).then_some(Self {
            formula,
            center,
            unit,
            halves: halves.iter().map(|half| (half / unit) as f32).collect(),
            curvature,
            worth,
        })
    }

    /// That of costs of a table, none of which is above 2.
    pub(super) fn of_table(worth: f64) -> Self {
        let (center, halves) = (Vec::new(), Vec::new());
        Self { formula: Formula::Table, center, unit: 1.0, halves, curvature: 0.0, worth }
    }

    /// More than any cost: no coordinate is above 2, so no difference above 4.
    pub(super) fn largest(&self) -> f64 {
        let dim = self.center.len() as f64;
        match self.formula {
            Formula::Length => 4.0 * dim.sqrt(),
            Formula::Absolutes => 4.0 * dim,
            Formula::Square => 16.0 * dim,
            Formula::Largest | Formula::Globe => 4.0,
            // An arc of a quarter is 1.1107 times its chord.
            Formula::Arc => 1.12 * 4.0 * dim.sqrt(),
            Formula::Table => 2.0,
        }
    }

    /// The least ε: prices in single precision still rise by it.
    pub(super) fn finest(&self) -> f32 {
        (single(8) * self.largest()) as f32
    }

    /// The most that rounding may put a cost off by, and a price of at most `price` with it.
    pub(super) fn lost(&self, price: f64) -> f64 {
        let dim = self.center.len() as f64;
        // Twice for the two ends, each moved by a rounding of coordinates up to 2; a square moves by twice
        // the length times that.
        // A half period that matters is below the distance of two points, 4, and is counted twice.
        let along_axis = single(if self.halves.is_empty() { 4 } else { 12 });
        let moved = match self.formula {
            Formula::Length => along_axis * dim.sqrt(),
            Formula::Absolutes => along_axis * dim,
            Formula::Square => along_axis * dim.sqrt() * 2.1 * 4.0 * dim.sqrt(),
            Formula::Largest => along_axis,
            // The derivative of an arc in its chord, at a quarter of the circle.
            Formula::Arc | Formula::Globe => std::f64::consts::SQRT_2 * along_axis * dim.sqrt(),
            Formula::Table => 0.0,
        };
        let roundings = match self.formula {
            Formula::Arc | Formula::Globe => self.center.len() + 8 + ARC_ROUNDINGS,
            _ => self.center.len() + 8,
        };
        2.0 * (moved + single(roundings) * self.largest() + single(2) * price)
    }
}

/// Roundings that an arc adds to those of its chord: one for each step of the series but the last, whose
/// factor is at most ½, the product, the difference to half a circle and that number, and one for what the
/// series itself leaves out, 2.6·10⁻⁸.
const ARC_ROUNDINGS: usize = 12;

/// arcsin(x)/x as a series of x², for x² up to ½: within 2.6·10⁻⁸ of it.
const ARCSINE: [f32; 8] = [
    0.109_731_965,
    -0.090_179_39,
    0.075_598_136,
    0.016_713_416,
    0.046_483_66,
    0.074_880_935,
    0.166_669_55,
    1.0,
];

/// The arc above a chord, from the square of that, a quarter of a circle at most: 2·arcsin(½ chord). Squares
/// times `curvature` are those of half the chord on the unit sphere.
#[inline(always)]
pub(super) fn arc(square: f32, curvature: f32) -> f32 {
    let z = square * curvature;
    let mut series = ARCSINE[0];
    for term in &ARCSINE[1..] {
        series = series * z + term;
    }
    square.sqrt() * series
}

/// The arc between two vectors of length 1, from the squares of their difference and of their sum, which is
/// the chord to the point opposite: the shorter of both has lost no digits.
#[inline(always)]
pub(super) fn arc_on_globe(square: f32, opposite: f32) -> f32 {
    let is_near = square <= opposite;
    let short = arc(if is_near { square } else { opposite }, 0.25);
    if is_near { short } else { std::f32::consts::PI - short }
}

/// An arc that is not above any whose chord has at least this square: where a chord is nearly that of half a
/// circle a little less is said, and a little less than the series says, which may fall by its last digits where
/// arcs rise.
#[inline(always)]
pub(super) fn least_arc<const FORMULA: u8>(square: f32, curvature: f32) -> f32 {
    const BELOW: f32 = 1.0 - 1.0 / (1 << 18) as f32;
    let arc = if FORMULA == GLOBE {
        let square = if square < 3.0 { square } else { 3.0 };
        arc_on_globe(square, 4.0 - square)
    } else {
        arc(square, curvature)
    };
    arc * BELOW
}

/// Whether costs are a norm of differences, its square, or an arc.
pub(super) fn is_known(metric: &GroundMetric) -> bool {
    metric.point_metric().is_some_and(|kind| formula(kind).is_some())
}

/// Whether a card knows how costs are computed.
pub(super) fn has_card(metric: &GroundMetric) -> bool {
    let formula = metric.point_metric().and_then(formula);
    formula.is_some_and(|(formula, _)| formula.name().is_some()) && metric.half_periods().is_none()
}

fn formula(kind: PointMetric) -> Option<(Formula, f64)> {
    match (kind.norm(), kind.square_share()) {
        (Some(Norm::L2), _) => Some((Formula::Length, 1.0)),
        (Some(Norm::L1), _) => Some((Formula::Absolutes, 1.0)),
        (Some(Norm::Largest), _) => Some((Formula::Largest, 1.0)),
        (None, Some(share)) => Some((Formula::Square, share)),
        (None, None) => kind.radius().map(|radius| (Formula::Arc, radius)),
    }
}
