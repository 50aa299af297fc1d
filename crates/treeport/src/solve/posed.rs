//! A validated problem in the numbering of the engines.

use super::ground::Ground;
use super::matrix::MatrixView;
use super::problem::{Input, Problem};
use super::relax::{Penalty, Relaxation};
use crate::error::{Error, Result};
use crate::measure::{Measure, check_balance};
use crate::metric::{Components, GroundMetric};

/// A validated problem, by the kind of its costs.
pub(super) enum Posed<'p> {
    Metric(OnMetric<'p>),
    Components(OnComponents<'p>),
    Matrix(OnMatrix<'p>),
}

/// Two measures on one ground metric.
#[derive(Clone, Copy)]
pub(super) struct OnMetric<'p> {
    pub(super) metric: &'p GroundMetric,
    pub(super) a: Measure<'p>,
    pub(super) b: Measure<'p>,
}

/// Two measures on a graph of several components.
#[derive(Clone, Copy)]
pub(super) struct OnComponents<'p> {
    pub(super) ground: &'p Components,
    pub(super) a: Measure<'p>,
    pub(super) b: Measure<'p>,
    /// Numbers of the measures in error messages.
    pub(super) numbers: [usize; 2],
}

/// Masses of rows and columns, and the costs between them.
#[derive(Clone, Copy)]
pub(super) struct OnMatrix<'p> {
    pub(super) costs: &'p MatrixView<'p>,
    pub(super) a: &'p [f64],
    pub(super) b: &'p [f64],
}

impl Problem<'_> {
    /// Returns the problem for entropic transport: balanced, on a metric or a matrix.
    pub(super) fn in_one_piece(&self) -> Result<Posed<'_>> {
        let relaxed = match self.relax {
            Relaxation::Balanced => None,
            Relaxation::Mass(mass) => Some(("mass", mass.to_string())),
            Relaxation::Penalty(Penalty::Same(price)) => Some(("penalty", price.to_string())),
            Relaxation::Penalty(Penalty::OfPoints(_)) => Some(("penalty", "an array".to_owned())),
        };
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
    pub(super) fn posed(&self) -> Result<Posed<'_>> {
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
        let Relaxation::Penalty(penalty) = self.relax else { return Ok(()) };
        penalty.check(self.sizes())
    }

    /// Returns the numbers of points of both sides, with and without mass.
    pub(super) fn sizes(&self) -> [usize; 2] {
        match &self.input {
            Input::Ground { ground, .. } => [ground.points(); 2],
            Input::Points(points) => points.sizes(),
            Input::Matrix { a, b, .. } => [a.len(), b.len()],
        }
    }

    /// Returns the relaxation in the numbering of the engines.
    pub(super) fn relax(&self) -> Relaxation<'_> {
        match (&self.input, self.relax) {
            (Input::Points(points), Relaxation::Penalty(Penalty::OfPoints(_))) => {
                Relaxation::Penalty(points.penalty())
            }
            (_, relax) => relax,
        }
    }
}
