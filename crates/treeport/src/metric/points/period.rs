//! Periodic coordinates: angles, and simulation boxes with periodic boundaries.
//!
//! Coordinates of period P are wrapped into [−P/2, P/2) once. This is exact: the remainder of a
//! division has the precision of its operands, and so has its difference to P if it is at least P/2
//! (Sterbenz).
//!
//! Two paths lead from x to y. One has length |x − y|; the other crosses the boundary and has length
//! (P/2 − |x|) + (P/2 − |y|). The difference of the coordinates is the shorter length. If x and y are
//! on one side of 0, the second path is never shorter; otherwise its length is P − |x − y|. Each
//! length has at most two roundings, relative to itself, even for close points on both sides of the
//! boundary: bounds that count roundings are the same as without a period.
//!
//! A coordinate without a period has an infinite one: the second path is then never shorter.

use std::fmt;
use std::str::FromStr;

use super::PointMetric;
use crate::error::{Error, Result, show_number};
use crate::tools::option_range::OptionRange;

/// Periods of coordinates.
///
/// As text, a number for all coordinates, or a number or `none` for each of them:
/// `none,6.283185307179586`.
#[derive(Clone, Debug, PartialEq)]
pub enum Period {
    /// The same period for all coordinates.
    All(f64),
    /// A period, or none, for each coordinate.
    Each(Vec<Option<f64>>),
}

/// A metric of coordinates, with the periods of periodic ones.
///
/// Every [`PointMetric`] converts to a geometry without periods.
///
/// # Example
/// ```
/// use std::f64::consts::{PI, TAU};
/// use treeport::{GroundMetric, PointMetric};
/// // A height and an angle: −3 and 3 are close.
/// let geometry = PointMetric::Manhattan.with_period(&[None, Some(TAU)]);
/// let metric = GroundMetric::from_points(2, vec![0.0, -3.0, 1.0, 3.0], geometry)?;
/// assert!((metric.distance(0, 1) - (1.0 + 2.0 * (PI - 3.0))).abs() < 1e-15);
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Metric of the coordinate differences.
    pub metric: PointMetric,
    /// Periods of coordinates, if there are any.
    pub period: Option<Period>,
}

/// Valid periods: from here on, halves of squares and remainders keep their digits.
const PERIODS: OptionRange =
    OptionRange::at_least(1e-300, "it must be a finite number of at least 1e-300");

impl From<PointMetric> for Geometry {
    fn from(metric: PointMetric) -> Self {
        Self { metric, period: None }
    }
}

impl PointMetric {
    /// Combines this metric with one period, or none, for each coordinate.
    #[must_use]
    pub fn with_period(self, period: &[Option<f64>]) -> Geometry {
        Geometry { metric: self, period: Some(Period::Each(period.to_vec())) }
    }

    /// Combines this metric with a period, if there is one.
    #[must_use]
    pub fn with_optional_period(self, period: Option<Period>) -> Geometry {
        Geometry { metric: self, period }
    }
}

impl Geometry {
    /// Returns half the period of each of `dim` coordinates, infinite for those without, or `None`
    /// if no coordinate has one; [`Error::BadOption`] for periods that do not fit.
    pub(crate) fn half_periods(&self, dim: usize) -> Result<Option<Vec<f64>>> {
        let Some(period) = &self.period else { return Ok(None) };
        let each = match period {
            Period::All(period) => vec![Some(*period); dim],
            Period::Each(periods) if periods.len() == dim => periods.clone(),
            Period::Each(_) => {
                return Err(Error::BadOption {
                    option: PERIOD,
                    value: format!("{period} for points with {dim} coordinates"),
                    expected: "it must be one number, or a number or none for each coordinate",
                });
            }
        };
        for &period in each.iter().flatten() {
            PERIODS.check(PERIOD, period)?;
        }
        if each.iter().all(Option::is_none) {
            return Ok(None);
        }
        if let Some(expected) = self.metric.without_period() {
            return Err(Error::BadOption { option: PERIOD, value: period.to_string(), expected });
        }
        let half = |period: Option<f64>| period.map_or(f64::INFINITY, |period| 0.5 * period);
        Ok(Some(each.into_iter().map(half).collect()))
    }
}

/// Name of the option in errors.
const PERIOD: &str = "period";

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Each(periods) = self else {
            let Self::All(period) = self else { return Ok(()) };
            return f.write_str(&show_number(*period));
        };
        let said = |period: &Option<f64>| period.map_or("none".to_owned(), show_number);
        f.write_str(&periods.iter().map(said).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for Period {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let one = |word: &str| match word.trim() {
            word if word.eq_ignore_ascii_case("none") => Ok(None),
            word => word.parse().map(Some).map_err(|_| Error::BadOption {
                option: PERIOD,
                value: format!("`{text}`"),
                expected: "it must be one number, or a number or none for each coordinate, \
                           separated by commas",
            }),
        };
        let each: Vec<Option<f64>> = text.split(',').map(one).collect::<Result<_>>()?;
        Ok(match each[..] {
            [Some(period)] => Self::All(period),
            _ => Self::Each(each),
        })
    }
}

/// Wraps a coordinate into [−half, half), exactly.
pub(crate) fn wrapped(x: f64, half: f64) -> f64 {
    if half == f64::INFINITY {
        return x;
    }
    let rest = x % (2.0 * half);
    if rest >= half {
        rest - 2.0 * half
    } else if rest < -half {
        rest + 2.0 * half
    } else {
        rest
    }
}

/// Computes the distance of two wrapped coordinates: the shorter of the two paths.
#[inline(always)]
pub(crate) fn apart(x: f64, y: f64, half: f64) -> f64 {
    let (direct, around) = ((x - y).abs(), (half - x.abs()) + (half - y.abs()));
    if around < direct { around } else { direct }
}

/// Computes [`apart`] in single precision.
#[inline(always)]
pub(crate) fn apart_single(x: f32, y: f32, half: f32) -> f32 {
    let (direct, around) = ((x - y).abs(), (half - x.abs()) + (half - y.abs()));
    if around < direct { around } else { direct }
}

/// Computes the signed difference x − y along the shorter path.
pub(crate) fn signed_difference(x: f64, y: f64, half: f64) -> f64 {
    let (direct, apart) = (x - y, apart(x, y, half));
    if apart < direct.abs() { -apart.copysign(direct) } else { direct }
}

/// Returns the least and the largest coordinate of the given points along every axis.
pub(crate) fn bounding_box<'a>(
    dim: usize,
    points: impl Iterator<Item = &'a [f64]>,
) -> (Vec<f64>, Vec<f64>) {
    let (mut low, mut high) = (vec![f64::INFINITY; dim], vec![f64::NEG_INFINITY; dim]);
    for point in points {
        for ((low, high), &x) in low.iter_mut().zip(&mut high).zip(point) {
            *low = low.min(x);
            *high = high.max(x);
        }
    }
    (low, high)
}

/// Returns the half periods that affect distances of some wrapped points. Along an axis on which no
/// two points are more than half a period apart, the period changes no difference.
pub(crate) fn relevant_halves<'a>(
    halves: &[f64],
    points: impl Iterator<Item = &'a [f64]>,
) -> Option<Vec<f64>> {
    let (low, high) = bounding_box(halves.len(), points);
    let matters = |((&half, low), high): ((&f64, f64), f64)| {
        if high - low > half { half } else { f64::INFINITY }
    };
    let halves: Vec<f64> = halves.iter().zip(low).zip(high).map(matters).collect();
    halves.iter().any(|half| half.is_finite()).then_some(halves)
}

/// Iterates over the absolute differences of two vectors, wrapped if there are half periods.
pub(super) fn differences<'a>(
    x: &'a [f64],
    y: &'a [f64],
    halves: Option<&'a [f64]>,
) -> impl Iterator<Item = f64> + Clone + 'a {
    let half = move |k: usize| halves.map_or(f64::INFINITY, |halves| halves[k]);
    x.iter().zip(y).enumerate().map(move |(k, (&x, &y))| apart(x, y, half(k)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::points::Points;

    /// A coordinate many periods away, near a boundary, or anywhere.
    fn coordinate(period: f64) -> impl Strategy<Value = f64> {
        let turns = prop_oneof![Just(0i64), -3..3i64, -1_000_000..1_000_000i64];
        let within = prop_oneof![
            -0.5..0.5f64,
            Just(0.5),
            Just(-0.5),
            Just(0.0),
            (-1e-9..1e-9f64).prop_map(|x| 0.5 + x),
            (-1e-16..1e-16f64).prop_map(|x| x - 0.5),
        ];
        (turns, within).prop_map(move |(turns, within)| period * (turns as f64 + within))
    }

    fn pairs() -> impl Strategy<Value = (f64, f64, f64)> {
        let period = prop::sample::select(vec![1.0, std::f64::consts::TAU, 360.0, 1e-200, 0.3e150]);
        period.prop_flat_map(|p| (Just(p), coordinate(p), coordinate(p)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_shorter_way_is_that_of_the_textbook((period, x, y) in pairs()) {
            let half = period / 2.0;
            let [a, b] = [x, y].map(|x| wrapped(x, half));
            for (x, a) in [(x, a), (y, b)] {
                prop_assert!(-half <= a && a < half, "{a} {half}");
                prop_assert_eq!(wrapped(a, half), a);
                // Wrapping is exact: x differs by a whole number of periods, as the remainder does.
                prop_assert_eq!((x % period) - a, [0.0, period, -period].into_iter()
                    .find(|&turn| (x % period) - a == turn).unwrap_or(f64::NAN));
            }
            let found = apart(a, b, half);
            prop_assert_eq!(found.to_bits(), apart(b, a, half).to_bits());
            prop_assert_eq!(found == 0.0, a == b);
            let d = (a - b).abs();
            let expected = d.min(period - d);
            prop_assert!((found - expected).abs() <= 4e-16 * period, "{found} {expected}");
            // From unwrapped coordinates, which are far away and have lost digits.
            let (far, d) = (x.abs().max(y.abs()), (x - y).rem_euclid(period));
            prop_assert!((found - d.min(period - d)).abs() <= 4e-16 * (far + period));
            prop_assert_eq!(signed_difference(a, b, half).abs().to_bits(), found.to_bits());
            let reached = wrapped(b + signed_difference(a, b, half), half);
            prop_assert!(apart(reached, a, half) <= 1e-15 * period);
            // In single precision: one rounding of each coordinate, and two of the half period.
            let low = f64::from(apart_single((a / period) as f32, (b / period) as f32, 0.5)) * period;
            prop_assert!((low - found).abs() <= 3e-7 * period);
        }

        /// Points close to each other across the boundary keep all digits of their difference.
        #[test]
        fn differences_across_the_ends_keep_their_digits(bits in 1..50i32, k in 1..1000i64, l in 1..1000i64) {
            let (half, unit) = (0.5, (-f64::from(bits)).exp2() / 1000.0);
            // Both are exact numbers, and so are their distances to the boundary.
            let (x, y) = (half - k as f64 * unit, l as f64 * unit - half);
            let expected = (half - x) + (half + y);
            prop_assert_eq!(apart(x, y, half), expected.min(x - y));
        }

        #[test]
        fn a_turn_more_or_less_changes_nothing_but_rounding(
            at in proptest::collection::vec(-4.0..4.0f64, 12), turns in proptest::collection::vec(-40..40i32, 12),
            metric in prop::sample::select(vec![PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::Chebyshev, PointMetric::SqEuclidean]),
        ) {
            let geometry = || metric.with_period(&[None, Some(2.5), Some(std::f64::consts::TAU)]);
            let period = [0.0, 2.5, std::f64::consts::TAU];
            let moved = (0..).zip(&at).zip(&turns).map(|((e, x), turns)| x + f64::from(*turns) * period[e % 3]);
            let moved = Points::new(3, moved.collect(), geometry()).unwrap();
            let points = Points::new(3, at, geometry()).unwrap();
            for i in 0..4 {
                for j in 0..4 {
                    let (d, e) = (points.distance(i, j), moved.distance(i, j));
                    prop_assert!((d - e).abs() <= 1e-12, "{d} {e}");
                    prop_assert_eq!(d.to_bits(), points.distance(j, i).to_bits());
                }
            }
        }
    }

    #[test]
    fn text_is_read_and_written() {
        for (text, period) in [
            ("6.25", Period::All(6.25)),
            ("none", Period::Each(vec![None])),
            ("none,6.25,1e-7", Period::Each(vec![None, Some(6.25), Some(1e-7)])),
        ] {
            assert_eq!(text.parse::<Period>().unwrap(), period);
            assert_eq!(period.to_string().parse::<Period>().unwrap(), period);
        }
        assert_eq!(" None, 1".parse::<Period>().unwrap(), Period::Each(vec![None, Some(1.0)]));
        assert!("".parse::<Period>().is_err() && "1,,2".parse::<Period>().is_err());
    }

    #[test]
    fn periods_that_change_nothing_are_left_out() {
        let period = [Some(1.0), Some(1e9), None];
        let at = vec![5.25, 5.0, 0.0, 4.75, -5.0, 9.0];
        let points =
            Points::new(3, at.clone(), PointMetric::Manhattan.with_period(&period)).unwrap();
        assert!(points.halves().is_none() && points.period.is_some());
        assert_eq!(points.distance(0, 1), 0.5 + 10.0 + 9.0);
        let points =
            Points::new(3, at, PointMetric::Manhattan.with_period(&[Some(0.75); 3])).unwrap();
        // 9 and 0 are the same point, and so are 5.25 and 0.
        assert_eq!(points.distance(0, 1), 0.25 + 0.25 + 0.0);
    }
}
