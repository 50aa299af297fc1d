//! What a unit of mass costs that is not moved: the same at every point, or what each point says.

use super::problem::Relax;
use crate::error::{Error, Result};

/// What need not be moved, as solvers take it: [`Relax`], or a penalty for each point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Relaxation<'p> {
    #[default]
    Balanced,
    Mass(f64),
    Penalty(Penalty<'p>),
}

impl From<Relax> for Relaxation<'_> {
    fn from(relax: Relax) -> Self {
        match relax {
            Relax::Balanced => Self::Balanced,
            Relax::Mass(mass) => Self::Mass(mass),
            Relax::Penalty(price) => Self::Penalty(Penalty::Same(price)),
        }
    }
}

impl<'p> Relaxation<'p> {
    /// Whether all mass is moved.
    pub(super) fn is_balanced(self) -> bool {
        matches!(self, Self::Balanced)
    }

    /// The penalty, or one that nobody pays.
    pub(super) fn penalty(self) -> Penalty<'p> {
        match self {
            Self::Penalty(penalty) => penalty,
            Self::Balanced | Self::Mass(_) => Penalty::Same(f64::INFINITY),
        }
    }

    /// The largest penalty that may be paid.
    pub(super) fn largest_paid(self) -> f64 {
        match self {
            Self::Penalty(Penalty::Same(price)) => price,
            Self::Penalty(Penalty::OfPoints(sides)) => {
                sides.into_iter().flatten().copied().fold(0.0, f64::max)
            }
            Self::Balanced | Self::Mass(_) => 0.0,
        }
    }
}

/// What a unit costs that is left behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Penalty<'p> {
    /// So much, wherever it is.
    Same(f64),
    /// So much at each point of the first measure, and of the second.
    OfPoints([&'p [f64]; 2]),
}

impl Penalty<'_> {
    /// What a unit costs at a point of the first measure (side 0) or of the second (side 1).
    pub(super) fn at(self, side: usize, point: usize) -> f64 {
        match self {
            Self::Same(price) => price,
            Self::OfPoints(sides) => sides[side][point],
        }
    }

    /// Refuses penalties that are negative or not finite, and another number of them than of points on
    /// either side.
    pub(super) fn check(self, points: [usize; 2]) -> Result<()> {
        match self {
            Self::Same(price) if !is_price(price) => Err(Error::BadOption {
                option: "penalty",
                value: price.to_string(),
                expected: "it must be finite and at least 0",
            }),
            Self::Same(_) => Ok(()),
            Self::OfPoints(sides) => {
                sides.into_iter().zip(points).try_for_each(|(prices, count)| check(prices, count))
            }
        }
    }
}

fn is_price(price: f64) -> bool {
    (0.0..f64::INFINITY).contains(&price)
}

/// Refuses penalties that are negative or not finite, and another number of them than `points`.
pub(crate) fn check(prices: &[f64], points: usize) -> Result<()> {
    if prices.len() != points {
        return Err(Error::Shape {
            what: "the array of penalties".into(),
            expected: format!("({points},), one for each point"),
            found: format!("({},)", prices.len()),
        });
    }
    match prices.iter().position(|&price| !is_price(price)) {
        Some(point) => Err(Error::BadPenalty { point, value: prices[point] }),
        None => Ok(()),
    }
}
