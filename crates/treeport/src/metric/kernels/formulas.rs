//! Formulas of costs in single precision, with one bound of their rounding error.
//!
//! Loops over coordinates are compiled for each formula; every one of them, in searches and in the
//! auction, sums with [`add_difference`].
//!
//! # What single precision loses
//! Coordinates are at most 2 in the units of a [`Frame`](super::frame::Frame), so a vector is at
//! most as long as the vector of 2s, and a distance at most twice that. Rounding the coordinates
//! moves both ends of a distance by [`moved_by_rounding`] of that vector; rounding periods does so
//! for half periods up to 4. Sum, root and two more steps take [`sum_roundings`] + 4 roundings. The
//! error of a square is twice the distance times its error. The error of an arc is at most √2 times
//! that of its chord, since [`arc`] takes at most a quarter of a circle. [`Formula::lost`] is twice
//! the sum of these errors.

use crate::metric::PointMetric;
use crate::metric::points::Norm;
use crate::metric::points::period::apart_single;
use crate::numeric::rounding::{moved_by_rounding, single, sum_roundings};
use crate::numeric::wide_registers::multiply_add;

/// Formula from differences of coordinates to costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Formula {
    /// √Σ (xₖ − yₖ)².
    Length,
    /// Σ |xₖ − yₖ|.
    Absolutes,
    /// Σ (xₖ − yₖ)².
    Square,
    /// max |xₖ − yₖ|.
    Largest,
    /// Arc above √Σ (xₖ − yₖ)² on a sphere, a quarter of the circle at most.
    Arc,
    /// Arc of any length between vectors of length 1.
    Globe,
}

/// Formulas as const generic arguments, for loops that are compiled for each.
pub(crate) const LENGTH: u8 = 0;
pub(crate) const ABSOLUTES: u8 = 1;
pub(crate) const SQUARE: u8 = 2;
pub(crate) const LARGEST: u8 = 3;
pub(crate) const ARC: u8 = 4;
pub(crate) const GLOBE: u8 = 5;

impl Formula {
    /// Returns the formula of a metric and the cost of one unit of it, if it has one.
    pub(crate) fn of(metric: PointMetric) -> Option<(Self, f64)> {
        match (metric.norm(), metric.square_share()) {
            (Some(Norm::L2), _) => Some((Self::Length, 1.0)),
            (Some(Norm::L1), _) => Some((Self::Absolutes, 1.0)),
            (Some(Norm::Largest), _) => Some((Self::Largest, 1.0)),
            (None, Some(share)) => Some((Self::Square, share)),
            (None, None) => metric.radius().map(|radius| (Self::Arc, radius)),
        }
    }

    /// Returns the name of the formula on devices; `None` where they do not support it.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Length => Some("length"),
            Self::Absolutes => Some("absolutes"),
            Self::Square => Some("square"),
            Self::Largest => Some("largest"),
            Self::Arc | Self::Globe => None,
        }
    }

    fn norm(self) -> Norm {
        match self {
            Self::Absolutes => Norm::L1,
            Self::Largest => Norm::Largest,
            Self::Length | Self::Square | Self::Arc | Self::Globe => Norm::L2,
        }
    }

    /// Computes the norm of a vector of `dim` equal coordinates.
    fn norm_of_equal(self, dim: usize, coordinate: f64) -> f64 {
        match self.norm() {
            Norm::L2 => coordinate * (dim as f64).sqrt(),
            Norm::L1 => coordinate * dim as f64,
            Norm::Largest => coordinate,
        }
    }

    /// Returns an upper bound of all costs between points with `dim` coordinates in a frame.
    pub(crate) fn largest(self, dim: usize) -> f64 {
        let length = 2.0 * self.norm_of_equal(dim, 2.0);
        match self {
            Self::Length | Self::Absolutes | Self::Largest => length,
            Self::Square => length * length,
            // An arc of a quarter is 1.1107 times its chord.
            Self::Arc => 1.12 * length,
            // Half a circle.
            Self::Globe => 4.0,
        }
    }

    /// Returns an upper bound of the rounding error of a cost between points in a frame, as part of
    /// a sum with a price of 0: see [the derivation](self).
    pub(crate) fn lost(self, dim: usize, has_periods: bool) -> f64 {
        let moved_to =
            |coordinate: f64| f64::from(moved_by_rounding(self.norm_of_equal(dim, coordinate)));
        let moved = 2.0 * (moved_to(2.0) + if has_periods { moved_to(4.0) } else { 0.0 });
        let length = 2.0 * self.norm_of_equal(dim, 2.0);
        let (moved, more) = match self {
            Self::Length | Self::Absolutes | Self::Largest => (moved, 0),
            Self::Square => (2.1 * length * moved, 0),
            Self::Arc | Self::Globe => (std::f64::consts::SQRT_2 * moved, ARC_ROUNDINGS),
        };
        moved + 2.0 * single(sum_roundings(dim) + 4 + more) * self.largest(dim)
    }
}

/// Formula and constants that turn coordinates in a frame into costs.
#[derive(Clone, Debug)]
pub(crate) struct CostFormula {
    pub(crate) formula: Formula,
    /// Half periods in multiples of the frame's unit, infinite for coordinates without a period;
    /// empty if no period matters.
    pub(crate) halves: Vec<f32>,
    /// Scale from a squared length to a squared half-chord; 0 where costs are no arcs.
    pub(crate) curvature: f32,
}

impl CostFormula {
    /// Computes the cost between two points, bit for bit as a scan does.
    pub(crate) fn cost(&self, x: &[f32], y: &[f32]) -> f32 {
        match self.formula {
            Formula::Length => self.sum::<LENGTH>(x, y).sqrt(),
            Formula::Absolutes => self.sum::<ABSOLUTES>(x, y),
            Formula::Square => self.sum::<SQUARE>(x, y),
            Formula::Largest => self.sum::<LARGEST>(x, y),
            Formula::Arc => arc(self.sum::<ARC>(x, y), self.curvature),
            Formula::Globe => {
                let opposite = x.iter().zip(y).map(|(x, y)| (x + y) * (x + y)).sum();
                arc_on_globe(self.sum::<GLOBE>(x, y), opposite)
            }
        }
    }

    fn sum<const FORMULA: u8>(&self, x: &[f32], y: &[f32]) -> f32 {
        let half = |k: usize| self.halves.get(k).copied().unwrap_or(f32::INFINITY);
        let pairs = x.iter().zip(y).enumerate();
        let apart = pairs.map(|(k, (&x, &y))| apart_single(x, y, half(k)));
        apart.fold(0.0, |sum, apart| add_difference::<FORMULA, false>(apart, sum))
    }
}

/// Adds the difference of two coordinates to Σ|d|, max|d| or Σd²; a square is rounded with the sum
/// where the processor does both in one step (`FUSED`).
#[inline(always)]
pub(crate) fn add_difference<const FORMULA: u8, const FUSED: bool>(apart: f32, sum: f32) -> f32 {
    match FORMULA {
        ABSOLUTES => sum + apart.abs(),
        LARGEST => {
            let length = apart.abs();
            if length > sum { length } else { sum }
        }
        _ => multiply_add::<FUSED>(apart, apart, sum),
    }
}

/// Roundings that an arc adds to those of its chord. There is one for each step of the series but
/// the last, because its factor is at most ½. There is one each for the product, the difference
/// from half a circle, the constant for half a circle, and the truncation error of the series,
/// 2.6·10⁻⁸.
const ARC_ROUNDINGS: usize = 12;

/// Coefficients of arcsin(x)/x in x², with an error of at most 2.6·10⁻⁸ for x² up to ½.
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

/// Computes the arc above a chord from the squared chord, a quarter of a circle at most: 2·arcsin(½
/// chord). `curvature` scales a squared chord to the squared half-chord of the unit sphere.
#[inline(always)]
pub(crate) fn arc(square: f32, curvature: f32) -> f32 {
    let z = square * curvature;
    let mut series = ARCSINE[0];
    for term in &ARCSINE[1..] {
        series = series * z + term;
    }
    square.sqrt() * series
}

/// Computes the arc between two vectors of length 1 from the squares of their difference and of
/// their sum, the chord to the antipode: the shorter of both has lost no digits.
#[inline(always)]
pub(crate) fn arc_on_globe(square: f32, opposite: f32) -> f32 {
    let is_near = square <= opposite;
    let short = arc(if is_near { square } else { opposite }, 0.25);
    if is_near { short } else { std::f32::consts::PI - short }
}

/// Returns a lower bound of the arcs of all chords with at least this square. It is slightly below
/// the series, whose last digits may fall where arcs rise, and slightly lower still near half a
/// circle.
#[inline(always)]
pub(crate) fn least_arc<const FORMULA: u8>(square: f32, curvature: f32) -> f32 {
    const BELOW: f32 = 1.0 - 1.0 / (1 << 18) as f32;
    let arc = if FORMULA == GLOBE {
        let square = if square < 3.0 { square } else { 3.0 };
        arc_on_globe(square, 4.0 - square)
    } else {
        arc(square, curvature)
    };
    arc * BELOW
}
