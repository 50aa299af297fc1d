//! One transport problem, with costs from a ground metric, coordinates or a matrix.
//!
//! A [`Problem`] consists of costs, the masses of both sides and a relaxation ([`Relax`]).
//! [`answer`](Problem::answer) takes an [`Aim`]; [`value`](Problem::value) and
//! [`solve`](Problem::solve) have the usual aims. [`Problems`](super::Problems) are many problems
//! on one ground.
//!
//! This module validates the input and maps the answer back to its numbering;
//! [`route`](super::route) chooses the engine.

#![expect(clippy::missing_errors_doc, reason = "errors are those of `Problem::answer`")]

pub(super) mod components;
pub(super) mod ground;
pub(super) mod matrix;
pub(super) mod points;
pub(super) mod posed;
pub(super) mod problems;

use std::sync::Arc;

use super::aim::{Aim, Deadline, Wanted};
use super::answer::Answer;
use super::costs::device::Device;
use super::overflow;
use super::relax::{Penalty, Relax, Relaxation};
use super::route::{DeviceUse, QUICK_ARCS, Route, Size};
use super::run::{self, Asked};
use super::sides::Costs;
use super::workspace::{Workspace, lend};
use crate::error::{Error, Result};
use crate::measures::Measure;
use crate::metric::Geometry;
use crate::progress::{Progress, State};
use ground::Ground;
use matrix::MatrixView;
use points::PointProblem;

/// A transport problem: costs, masses of both sides, and how much mass may stay behind.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 9.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(3, &[2.0, 0.0, 1.0, 0.0, 2.0, 1.0])?;
/// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
/// assert_eq!(problem.value(&silent)?, 2.0);
/// // The cheapest plan for half of the mass.
/// assert_eq!(problem.with_mass(1.5).value(&silent)?, 0.5);
/// # Ok::<(), treeport::Error>(())
/// ```
pub struct Problem<'a> {
    pub(super) input: Input<'a>,
    pub(super) relax: Relaxation<'a>,
    /// Order of the distance: 1, or see [`order`](super::order).
    pub(super) order: f64,
    /// Numbers of the two measures in error messages.
    pub(super) numbers: [usize; 2],
    /// Device that scans all pairs of points.
    device: Option<&'a Arc<dyn Device>>,
    /// Whether penalties have been checked, in a batch or before they were raised to a power.
    pub(super) has_checked_penalties: bool,
}

/// Costs and masses of the call.
pub(super) enum Input<'a> {
    Ground { ground: Ground<'a>, a: Measure<'a>, b: Measure<'a> },
    Points(PointProblem<'a>),
    Matrix { costs: MatrixView<'a>, a: &'a [f64], b: &'a [f64] },
}

/// Constructors and options.
impl<'a> Problem<'a> {
    /// Creates the balanced problem from one measure to another on a ground metric or a graph.
    pub fn new(ground: impl Into<Ground<'a>>, a: &Measure<'a>, b: &Measure<'a>) -> Self {
        let input = Input::Ground { ground: ground.into(), a: *a, b: *b };
        Self::balanced(input)
    }

    /// Creates the problem from masses `a` of rows to masses `b` of columns of a cost matrix.
    ///
    /// The costs need not be a metric, symmetric or square. Plans and dual values refer to row and
    /// column numbers; rows and columns without mass are skipped.
    ///
    /// # Example
    /// ```
    /// use treeport::{MatrixView, Problem, silent};
    /// // Two rows and three columns; the last row reaches the last column at no cost.
    /// let costs = MatrixView::new(2, 3, &[1.0, 2.0, 9.0, 8.0, 9.0, 0.0])?;
    /// assert_eq!(Problem::between(&[0.5, 0.5], &[0.25, 0.25, 0.5], costs).value(&silent)?, 0.75);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn between(a: &'a [f64], b: &'a [f64], costs: MatrixView<'a>) -> Self {
        let input = Input::Matrix { costs, a, b };
        Self::balanced(input)
    }

    /// Creates the problem between measures on points with coordinates.
    ///
    /// The points of `a` are rows of `x`; those of `b` are rows of `y`, or of `x` if `y` is `None`.
    /// Only points with mass are read.
    ///
    /// # Errors
    /// A measure on another number of points, a point with mass that the metric does not support
    /// (for `y` as [`Error::RightPoints`]), or too little memory for the coordinates.
    ///
    /// # Example
    /// ```
    /// use treeport::{MatrixView, Measures, PointMetric, Problem, silent};
    /// let (x, y) = (MatrixView::new(2, 1, &[0.0, 2.0])?, MatrixView::new(1, 1, &[3.0])?);
    /// let (a, b) = (Measures::from_dense(2, &[0.5, 0.5])?, Measures::from_dense(1, &[1.0])?);
    /// let (a, b) = (a.row(0), b.row(0));
    /// let problem = Problem::of_points(&a, &b, x, Some(y), PointMetric::Euclidean)?;
    /// assert_eq!(problem.value(&silent)?, 2.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn of_points(
        a: &Measure<'_>,
        b: &Measure<'_>,
        x: MatrixView<'a>,
        y: Option<MatrixView<'a>>,
        geometry: impl Into<Geometry>,
    ) -> Result<Self> {
        let input = Input::Points(PointProblem::new(a, b, x, y, geometry.into())?);
        Ok(Self::balanced(input))
    }

    fn balanced(input: Input<'a>) -> Self {
        Self {
            input,
            relax: Relaxation::Balanced,
            order: 1.0,
            numbers: [0, 1],
            device: None,
            has_checked_penalties: false,
        }
    }

    /// Sets the relaxation: how much mass may stay behind, or the penalty for it.
    #[must_use]
    pub fn relaxed(self, relax: Relax) -> Self {
        Self { relax: relax.into(), ..self }
    }

    /// Sets the order p of the distance: the value is (Σ m·cᵖ)^(1/p), and for `f64::INFINITY` the
    /// longest move of the plan (the bottleneck distance). Penalties are raised to the power p, too.
    ///
    /// Potentials are those of the p-th power of the value. For order ∞ they belong to the problem
    /// with cost 1 for all moves of at least the value, and 0 for all others: a positive
    /// Σ a·left + Σ b·right proves that some mass has to move that far. Up to 10⁻¹² of all mass,
    /// which rounding may cause, is not counted there.
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 3.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(3, &[1.0, 1.0, 0.0, 0.0, 1.0, 1.0])?;
    /// let of_order = |order: f64| {
    ///     let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    ///     problem.with_order(order).value(&silent)
    /// };
    /// assert!((of_order(2.0)? - 13f64.sqrt()).abs() < 1e-9);
    /// assert_eq!(of_order(f64::INFINITY)?, 3.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    #[must_use]
    pub fn with_order(self, order: f64) -> Self {
        Self { order, ..self }
    }

    /// Moves exactly this much mass, by the cheapest such plan; other mass costs nothing.
    #[must_use]
    pub fn with_mass(self, mass: f64) -> Self {
        self.relaxed(Relax::Mass(mass))
    }

    /// Sets the penalty per unit of mass that does not move, at its source and at its sink.
    ///
    /// The value is the flat metric (Kantorovich–Rubinstein): marginals penalized by total variation.
    #[must_use]
    pub fn with_penalty(self, price: f64) -> Self {
        self.relaxed(Relax::Penalty(price))
    }

    /// Sets a penalty for each point of the first measure and for each point of the second.
    ///
    /// On a ground metric or a graph both lists have an entry for every point of the ground and are
    /// usually the same; otherwise there is one for each row and one for each column. See
    /// [`with_penalty`](Self::with_penalty) for a single penalty.
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 9.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(3, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0])?;
    /// let penalties = [5.0, 5.0, 0.5];
    /// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    /// // Mass moves from the first point by 1; mass at the last point stays behind.
    /// assert_eq!(problem.with_penalties(&penalties, &penalties).value(&silent)?, 1.5);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    #[must_use]
    pub fn with_penalties(mut self, left: &'a [f64], right: &'a [f64]) -> Self {
        if let Input::Points(points) = &mut self.input {
            points.read_penalties([left, right]);
        }
        Self { relax: Relaxation::Penalty(Penalty::OfPoints([left, right])), ..self }
    }

    /// Sets a relaxation whose penalties have been checked.
    pub(super) fn with_relaxation(self, relax: Relaxation<'a>) -> Self {
        Self { relax, has_checked_penalties: true, ..self }
    }

    /// Lets a device scan all pairs of points where the [route](Self::route) benefits from it.
    #[doc(hidden)]
    #[must_use]
    pub fn on_device(self, device: &'a Arc<dyn Device>) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Sets the numbers of the two measures in error messages.
    #[must_use]
    pub fn numbered(self, a: usize, b: usize) -> Self {
        Self { numbers: [a, b], ..self }
    }
}

/// Answers.
impl Problem<'_> {
    /// Computes certified bounds of the value, with the plan and the dual values if requested.
    ///
    /// The bounds are as close as the aim requires or as its time limit allows; no tree is
    /// involved. About once a second, `progress` receives the lower bound as a share of the upper.
    ///
    /// # Errors
    /// - a mass or a cost that is negative or not finite, or a side without mass;
    /// - totals that differ in a balanced problem (in a component of a graph:
    ///   [`Error::UnbalancedComponent`]);
    /// - measures on other points;
    /// - a penalty, a mass or an accuracy out of range;
    /// - [`Error::Memory`] where costs do not fit into memory;
    /// - [`Error::Unsolved`] or [`Error::Overflow`] where no certificate is found, as may happen
    ///   for costs more than 25 orders of magnitude apart or values beyond the range of `f64`;
    /// - [`Error::Canceled`] when `progress` asks to stop. Reaching the time limit is no error.
    ///
    /// # Complexity
    /// The cost of the [engine](Self::route) for the points with mass, and a scan of all masses of
    /// a matrix. Potentials of n points, r of which gain mass, take O(r n) distances with the
    /// triangle inequality, O(n log n) in few dimensions, O(n²) without it or with a penalty for
    /// each point, one search of a graph in O(E log n), or one pass over a matrix. The time limit does not include them.
    ///
    /// # Example
    /// ```
    /// use treeport::{Aim, GroundMetric, Measures, Problem, Wanted, silent};
    /// let metric = GroundMetric::from_edges(3, &[(0, 1, 2.0), (1, 2, 0.5)])?;
    /// let measures = Measures::unit_masses(3, [0, 2])?;
    /// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    /// let answer = problem.answer(&Aim::within(0.1).wanting(Wanted::Potentials), &silent)?;
    /// assert!(answer.lower <= 2.5 && 2.5 <= answer.upper && answer.upper <= 1.1 * answer.lower);
    /// let proof = answer.potentials.unwrap();
    /// assert!((proof.left[0] + proof.right[2] - answer.lower).abs() < 1e-12);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn answer(&self, aim: &Aim, progress: &Progress<'_>) -> Result<Answer> {
        aim.check()?;
        if self.order != 1.0 {
            return lend(|space| self.whole_answer_of_order(space, aim, progress));
        }
        let mut answer = lend(|space| self.answer_with(space, aim, progress))?;
        if let (Input::Points(points), true) = (&self.input, aim.wanted > Wanted::Value) {
            answer.rename(|point| points.name(point));
        }
        if aim.wanted >= Wanted::Potentials {
            let deadline = Deadline::new(None, progress);
            let keep_going = |proved| deadline.report_proved(proved);
            let potentials = self.potentials(&answer, &keep_going)?;
            // Dual values of all points may prove a higher bound than those of some.
            let proved = self.proved_by(&potentials, answer.penalty).min(answer.upper);
            answer.lower = answer.lower.max(proved);
            if aim.wanted == Wanted::Rates {
                answer.rates = Some(self.rates(&answer, &potentials, &keep_going)?);
            }
            answer.potentials = Some(potentials);
        }
        Ok(answer)
    }

    /// Computes an [`answer`](Self::answer) in the numbering of the engines, without potentials.
    pub(crate) fn answer_with(
        &self,
        space: &mut Workspace,
        aim: &Aim,
        progress: &Progress<'_>,
    ) -> Result<Answer> {
        if self.order != 1.0 {
            return self.answer_of_order(space, aim, progress);
        }
        let posed = self.posed()?;
        let has_failed = || self.device.is_some_and(|device| device.has_failed());
        let keep_going = |state: &State<'_>| progress(state) && !has_failed();
        let deadline = Deadline::new(aim.time, &keep_going);
        let asked = Asked { aim, device: self.device, deadline: &deadline };
        run::answer(space, &posed, self.relax(), asked).map_err(|error| self.or_overflow(error))
    }

    /// Computes the optimal cost with penalties, certified to [`Answer::TOLERANCE`].
    pub fn value(&self, progress: &Progress<'_>) -> Result<f64> {
        lend(|space| self.answer_with(space, &Aim::value(), progress)).map(|answer| answer.upper)
    }

    /// Computes an optimal plan with its dual values: the answer to [`Aim::exact`].
    pub fn solve(&self, progress: &Progress<'_>) -> Result<Answer> {
        self.answer(&Aim::exact(), progress)
    }

    /// Returns the engines that would answer an aim and the reason, without solving.
    ///
    /// A graph of several components has a problem in each; this is the route of the largest.
    ///
    /// # Example
    /// ```
    /// use treeport::{Aim, GroundMetric, Measures, PointMetric, Problem, solve::Engine};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 9.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(3, &[2.0, 0.0, 1.0, 0.0, 2.0, 1.0])?;
    /// let route = Problem::new(&metric, &measures.row(0), &measures.row(1)).route(&Aim::exact())?;
    /// assert_eq!(route.engine(), Engine::Line);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn route(&self, aim: &Aim) -> Result<Route> {
        aim.check()?;
        if self.order != 1.0 {
            return self.route_of_order(aim);
        }
        let posed = self.posed()?;
        lend(|space| run::route_of(space, &posed, self.relax(), self.device, aim))
    }

    /// Replaces an error that costs and masses beyond the range of `f64` explain.
    pub(super) fn or_overflow(&self, error: Error) -> Error {
        let penalty = self.relax.largest_paid();
        match &self.input {
            Input::Ground { ground: Ground::Metric(metric), a, b } => {
                let largest = || overflow::largest_distance(metric, a, b).max(penalty);
                overflow::or_overflow(error, a.total() + b.total(), largest)
            }
            Input::Points(points) => {
                let (a, b) = (points.a(), points.b());
                let largest = || overflow::largest_distance(&points.metric, &a, &b).max(penalty);
                overflow::or_overflow(error, a.total() + b.total(), largest)
            }
            Input::Matrix { costs, a, b } => {
                let mass = a.iter().chain(*b).sum();
                overflow::or_overflow(error, mass, || overflow::largest_cost(costs).max(penalty))
            }
            Input::Ground { .. } => error,
        }
    }

    /// Returns the size of the problem, shared mass included; `None` on a graph without nodes.
    pub(super) fn size(&self) -> Option<Size<'_>> {
        let with_mass = |masses: &[f64]| masses.iter().filter(|&&mass| mass > 0.0).count();
        let (costs, left, right) = match &self.input {
            Input::Ground { ground, a, b } => {
                (ground.costs()?, a.support().len(), b.support().len())
            }
            Input::Points(points) => {
                let (a, b) = (points.a().support().len(), points.b().support().len());
                (Costs::Metric(&points.metric), a, b)
            }
            Input::Matrix { costs, a, b } => (Costs::Matrix(costs), with_mass(a), with_mass(b)),
        };
        Some(Size {
            costs,
            left,
            right,
            relax: self.relax,
            device: DeviceUse::None,
            has_wide_masses: false,
        })
    }

    /// Returns whether solving takes at most about a tenth of a millisecond.
    pub fn is_quick(&self) -> bool {
        match &self.input {
            Input::Ground { ground, a, b } => {
                !ground.is_graph() && ground.work(self.relax, a, b) <= QUICK_ARCS
            }
            Input::Points(points) => {
                let ground = Ground::Metric(&points.metric);
                ground.work(self.relax, &points.a(), &points.b()) <= QUICK_ARCS
            }
            Input::Matrix { a, b, .. } => a.len().saturating_mul(b.len()) <= QUICK_ARCS,
        }
    }

    /// Returns the number of an engine's point in the call.
    pub(super) fn name(&self, point: usize) -> usize {
        if let Input::Points(points) = &self.input { points.name(point) } else { point }
    }
}
