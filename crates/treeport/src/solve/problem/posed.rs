//! A validated problem in the numbering of the engines.

use super::ground::Ground;
use super::matrix::MatrixView;
use super::{Input, Problem};
use crate::error::{Error, Result, show_number};
use crate::measures::{Measure, check_balance};
use crate::metric::{Components, GroundMetric};
use crate::solve::relax::{Penalty, Relaxation};

/// A validated problem, by the kind of its costs.
pub(in crate::solve) enum Posed<'p> {
    Metric(OnMetric<'p>),
    Components(OnComponents<'p>),
    Matrix(OnMatrix<'p>),
}

/// Two measures on one ground metric.
#[derive(Clone, Copy)]
pub(in crate::solve) struct OnMetric<'p> {
    pub(in crate::solve) metric: &'p GroundMetric,
    pub(in crate::solve) a: Measure<'p>,
    pub(in crate::solve) b: Measure<'p>,
}

/// Two measures on a graph of several components.
#[derive(Clone, Copy)]
pub(in crate::solve) struct OnComponents<'p> {
    pub(in crate::solve) ground: &'p Components,
    pub(in crate::solve) a: Measure<'p>,
    pub(in crate::solve) b: Measure<'p>,
    /// Numbers of the measures in error messages.
    pub(in crate::solve) numbers: [usize; 2],
}

/// Masses of rows and columns, and the costs between them.
#[derive(Clone, Copy)]
pub(in crate::solve) struct OnMatrix<'p> {
    pub(in crate::solve) costs: &'p MatrixView<'p>,
    pub(in crate::solve) a: &'p [f64],
    pub(in crate::solve) b: &'p [f64],
}

impl Problem<'_> {
    /// Returns the problem for entropic transport: balanced, on a metric or a matrix.
    pub(in crate::solve) fn in_one_piece(&self) -> Result<Posed<'_>> {
        let relaxed = match self.relax {
            Relaxation::Balanced => None,
            Relaxation::Mass(mass) => Some(("mass", show_number(mass))),
            Relaxation::Penalty(Penalty::Same(price)) => Some(("penalty", show_number(price))),
            Relaxation::Penalty(Penalty::OfPoints(_)) => Some(("penalty", "an array".to_owned())),
        };
        if self.order != 1.0 {
            let (option, value) = ("order", show_number(self.order));
            let expected = "entropic transport is of order 1; leave it out";
            return Err(Error::BadOption { option, value, expected });
        }
        if let Some((option, value)) = relaxed {
            let expected = "entropic transport moves all mass; leave it out";
            return Err(Error::BadOption { option, value, expected });
        }
        let posed = self.posed()?;
        if let Posed::Components(pair) = &posed {
            pair.ground.whole()?;
        }
        Ok(posed)
    }

    /// Validates the measures and penalties, and returns the problem for the engines.
    pub(in crate::solve) fn posed(&self) -> Result<Posed<'_>> {
        self.check_penalties()?;
        let (ground, a, b) = match &self.input {
            Input::Matrix { costs, a, b } => return Ok(Posed::Matrix(OnMatrix { costs, a, b })),
            Input::Points(points) => (Ground::Metric(&points.metric), points.a(), points.b()),
            Input::Ground { ground, a, b } => (*ground, *a, *b),
        };
        for measure in [&a, &b] {
            measure.check_points(ground.points())?;
        }
        if self.relax.is_balanced() {
            check_balance((self.numbers[0], a), (self.numbers[1], b))?;
        }
        Ok(match ground {
            Ground::Metric(metric) => Posed::Metric(OnMetric { metric, a, b }),
            Ground::Components(ground) => {
                Posed::Components(OnComponents { ground, a, b, numbers: self.numbers })
            }
        })
    }

    /// Refuses penalties that are invalid, and a number of them other than that of points.
    fn check_penalties(&self) -> Result<()> {
        match self.relax {
            Relaxation::Penalty(penalty) if !self.has_checked_penalties => {
                penalty.check(self.sizes())
            }
            _ => Ok(()),
        }
    }

    /// Returns the numbers of points of both sides, with and without mass.
    pub(in crate::solve) fn sizes(&self) -> [usize; 2] {
        match &self.input {
            Input::Ground { ground, .. } => [ground.points(); 2],
            Input::Points(points) => points.sizes(),
            Input::Matrix { a, b, .. } => [a.len(), b.len()],
        }
    }

    /// Returns the relaxation in the numbering of the engines.
    pub(in crate::solve) fn relax(&self) -> Relaxation<'_> {
        match (&self.input, self.relax) {
            (Input::Points(points), Relaxation::Penalty(Penalty::OfPoints(_))) => {
                Relaxation::Penalty(points.penalty())
            }
            (_, relax) => relax,
        }
    }
}
