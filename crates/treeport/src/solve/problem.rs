//! One transport problem, whatever says what it costs: the noun that every door asks.
//!
//! A [`Problem`] has costs (a ground metric in one piece or in several, the coordinates of points,
//! or a matrix), the masses on either side, and what need not be moved ([`Relax`]). Its answers are
//! the [`value`](Problem::value), the [solution](Problem::solve) with plan, dual values and proof,
//! the [`potentials`](Problem::potentials) of all points, and bounds [`within`](Problem::within) an
//! accuracy or a time. Many problems on one ground are [`Problems`](super::Problems).
//!
//! Which solver runs is decided below, in `exact`; nothing here computes.

use std::collections::BTreeMap;

use super::exact::line::Line;
use super::exact::{self, GoesOn, Solution, relaxed};
use super::matrix::MatrixView;
use super::overflow;
use super::penalty::{Penalty, Relaxation};
use super::points::PointProblem;
use crate::error::{Error, Result};
use crate::measure::{Measure, check_balance};
use crate::metric::{Components, Geometry, GroundMetric};
use crate::progress::{Progress, State};
use crate::rounding::double;
use crate::steps::{PROVING, SOLVING};
use crate::tree::Coupling;
use crate::twofold::Twofold;

/// What a problem lives on: a ground metric, or a graph that may fall into several components.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Ground<'a> {
    /// Distances between all points.
    Metric(&'a GroundMetric),
    /// Distances within each component, and none between two.
    Components(&'a Components),
}

impl<'a> From<&'a GroundMetric> for Ground<'a> {
    fn from(metric: &'a GroundMetric) -> Self {
        Self::Metric(metric)
    }
}

impl<'a> From<&'a Components> for Ground<'a> {
    /// A graph in one piece is its metric.
    fn from(components: &'a Components) -> Self {
        components.whole().map_or(Self::Components(components), Self::Metric)
    }
}

impl Ground<'_> {
    pub(super) fn points(self) -> usize {
        match self {
            Self::Metric(metric) => metric.points(),
            Self::Components(components) => components.points(),
        }
    }

    /// Whether its distances are shortest paths, which may have to be worked out first.
    pub(super) fn is_graph(self) -> bool {
        match self {
            Self::Metric(metric) => metric.edges().is_some(),
            Self::Components(_) => true,
        }
    }

    /// Whether balanced problems are solved by sorting points with one coordinate.
    pub(super) fn is_line(self) -> bool {
        matches!(self, Self::Metric(metric) if Line::of(metric).is_some())
    }

    /// The work of a problem between two measures, counted in costs of a table that take as long.
    pub(super) fn work(self, relax: Relaxation<'_>, a: &Measure<'_>, b: &Measure<'_>) -> usize {
        if relax.is_balanced() && self.is_line() {
            return COSTS_OF_A_POINT * (a.support().len() + b.support().len());
        }
        arcs(a, b)
    }
}

/// What need not be moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Relax {
    /// All mass is moved; both sides have the same.
    #[default]
    Balanced,
    /// Exactly this much mass is moved, where it is cheapest; the rest costs nothing.
    Mass(f64),
    /// Mass that is not moved costs this much a unit, on either side.
    Penalty(f64),
}

/// A transport problem: costs, masses on either side, and what need not be moved.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 9.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(3, &[2.0, 0.0, 1.0, 0.0, 2.0, 1.0])?;
/// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
/// assert_eq!(problem.value(&silent)?, 2.0);
/// // Half of it, where it is cheapest.
/// assert_eq!(problem.with_mass(1.5).value(&silent)?, 0.5);
/// # Ok::<(), treeport::Error>(())
/// ```
pub struct Problem<'a> {
    given: Given<'a>,
    relax: Relaxation<'a>,
    /// What the two measures are called in errors.
    numbers: [usize; 2],
}

/// What says the costs, with the masses.
enum Given<'a> {
    Ground { ground: Ground<'a>, a: Measure<'a>, b: Measure<'a> },
    Points(PointProblem<'a>),
    Matrix { costs: MatrixView<'a>, a: &'a [f64], b: &'a [f64] },
}

/// A problem as solvers take it.
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
    /// What errors call them.
    pub(super) numbers: [usize; 2],
}

/// Masses of rows and columns, and the costs between them.
#[derive(Clone, Copy)]
pub(super) struct OnMatrix<'p> {
    pub(super) costs: &'p MatrixView<'p>,
    pub(super) a: &'p [f64],
    pub(super) b: &'p [f64],
}

/// Dual values of all points, with or without mass: what proves an answer to anybody.
///
/// `left[i] + right[j]` is at most the cost from i to j, no value is above the penalty of its point, and
/// Σ a·left + Σ b·right is the value of the problem, all up to rounding. On ground metrics
/// `right` is −`left`, unless each point has a penalty of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Potentials {
    /// Of the points of the first measure, or of the rows.
    pub left: Vec<f64>,
    /// Of the points of the second one, or of the columns.
    pub right: Vec<f64>,
}

/// The constructors.
impl<'a> Problem<'a> {
    /// From one measure to another on a ground metric or a graph, all mass moved.
    pub fn new(ground: impl Into<Ground<'a>>, a: &Measure<'a>, b: &Measure<'a>) -> Self {
        let given = Given::Ground { ground: ground.into(), a: *a, b: *b };
        Self { given, relax: Relaxation::Balanced, numbers: [0, 1] }
    }

    /// From masses `a` of the rows to masses `b` of the columns.
    ///
    /// Nothing is promised about the costs: the two sides need not be the same points, nor of the
    /// same number, and the way back may cost something else. Plans and dual values go by the
    /// numbers of rows and columns; entries without mass are skipped.
    ///
    /// # Example
    /// ```
    /// use treeport::{MatrixView, Problem, silent};
    /// // Two rows, three columns; the last row and column cross over at no cost.
    /// let costs = MatrixView::new(2, 3, &[1.0, 2.0, 9.0, 8.0, 9.0, 0.0])?;
    /// assert_eq!(Problem::between(&[0.5, 0.5], &[0.25, 0.25, 0.5], costs).value(&silent)?, 0.75);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn between(a: &'a [f64], b: &'a [f64], costs: MatrixView<'a>) -> Self {
        let given = Given::Matrix { costs, a, b };
        Self { given, relax: Relaxation::Balanced, numbers: [0, 1] }
    }

    /// Between measures on points with coordinates: those of `b` are rows of `y`, or of `x` where
    /// there is no `y`. Only the points with mass are read.
    ///
    /// # Errors
    /// Measures on another number of points; points with mass that the metric does not take, those of
    /// `y` as [`Error::RightPoints`]; no room for their coordinates.
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
        let given = Given::Points(PointProblem::new(a, b, x, y, geometry.into())?);
        Ok(Self { given, relax: Relaxation::Balanced, numbers: [0, 1] })
    }

    /// The problem in which so much is left behind.
    #[must_use]
    pub fn relaxed(self, relax: Relax) -> Self {
        Self { relax: relax.into(), ..self }
    }

    /// Exactly this much mass is moved, where it is cheapest; the rest costs nothing.
    #[must_use]
    pub fn with_mass(self, mass: f64) -> Self {
        self.relaxed(Relax::Mass(mass))
    }

    /// Mass that is not moved costs this much a unit, where it is taken away and where it is put
    /// back: the flat metric (Kantorovich–Rubinstein), or marginals penalized by total variation.
    #[must_use]
    pub fn with_penalty(self, price: f64) -> Self {
        self.relaxed(Relax::Penalty(price))
    }

    /// As [`with_penalty`](Self::with_penalty), where each point has a price of its own: those of the
    /// first measure, and those of the second. On a ground metric or a graph there is one for each of its
    /// points on either side, usually the same list twice; otherwise one for each row and one for each
    /// column.
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 9.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(3, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0])?;
    /// let penalties = [5.0, 5.0, 0.5];
    /// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    /// // The first point moves by 1, and the last is left behind.
    /// assert_eq!(problem.with_penalties(&penalties, &penalties).value(&silent)?, 1.5);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    #[must_use]
    pub fn with_penalties(mut self, left: &'a [f64], right: &'a [f64]) -> Self {
        if let Given::Points(points) = &mut self.given {
            points.read_penalties([left, right]);
        }
        Self { relax: Relaxation::Penalty(Penalty::OfPoints([left, right])), ..self }
    }

    pub(super) fn with_relaxation(self, relax: Relaxation<'a>) -> Self {
        Self { relax, ..self }
    }

    /// The numbers that errors call the two measures by.
    #[must_use]
    pub fn numbered(self, a: usize, b: usize) -> Self {
        Self { numbers: [a, b], ..self }
    }
}

/// The answers.
impl Problem<'_> {
    /// The cost of an optimal plan, penalties included; proved to [`Solution::TOLERANCE`].
    ///
    /// # Errors
    /// A mass or a cost that is negative or not finite, totals that differ where all is to be moved
    /// (in a component of a graph: [`Error::UnbalancedComponent`]), a side without mass, measures on
    /// other points, a penalty or a mass out of range, costs that do not fit into memory
    /// ([`Error::Memory`]), or an answer that cannot be proved, as may happen where costs lie more
    /// than 25 orders of magnitude apart or the value is beyond the range of `f64`.
    /// [`Error::Cancelled`] when `progress` asks to stop. It hears how much of the value is proved, once
    /// a second or so.
    ///
    /// # Complexity
    /// That of the points with mass, and a look at every mass of a matrix.
    pub fn value(&self, progress: &Progress<'_>) -> Result<f64> {
        self.value_or_unsolved(progress).map_err(|error| self.explained(error))
    }

    fn value_or_unsolved(&self, progress: &Progress<'_>) -> Result<f64> {
        let posed = self.posed()?;
        let goes_on = |proved| progress(&how_far(proved));
        match (posed, self.relax()) {
            (Posed::Metric(pair), Relaxation::Balanced) => {
                exact::prepare_one(&pair, progress)?;
                exact::reused(|solver| {
                    solver.value_and_gap(pair.metric, &pair.a, &pair.b, &goes_on)
                })
                .map(|(value, _)| value)
            }
            (Posed::Matrix(matrix), Relaxation::Balanced) => {
                exact::reused(|solver| solver.value_between(&matrix, &goes_on))
            }
            (Posed::Metric(pair), Relaxation::Penalty(penalty)) => {
                exact::prepare_one(&pair, progress)?;
                exact::reused(|solver| solver.penalized_value(&pair, penalty, &goes_on))
            }
            (posed, relax) => solve_posed(&posed, relax, progress).map(|solution| solution.value),
        }
    }

    /// An optimal plan with its dual values and its proof.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn solve(&self, progress: &Progress<'_>) -> Result<Solution> {
        let solution = solve_posed(&self.posed()?, self.relax(), progress);
        let mut solution = solution.map_err(|error| self.explained(error))?;
        self.rename_moves(&mut solution.plan, [&mut solution.left, &mut solution.right]);
        Ok(solution)
    }

    /// The same error, or that costs and masses are too large, where they are.
    pub(super) fn explained(&self, error: Error) -> Error {
        let penalty = self.relax.largest_paid();
        match &self.given {
            Given::Ground { ground: Ground::Metric(metric), a, b } => {
                let largest = || overflow::largest_distance(metric, a, b).max(penalty);
                overflow::explained(error, a.total() + b.total(), largest)
            }
            Given::Points(points) => {
                let (a, b) = (points.a(), points.b());
                let largest = || overflow::largest_distance(&points.metric, &a, &b).max(penalty);
                overflow::explained(error, a.total() + b.total(), largest)
            }
            Given::Matrix { costs, a, b } => {
                let mass = a.iter().chain(*b).sum();
                overflow::explained(error, mass, || overflow::largest_cost(costs).max(penalty))
            }
            Given::Ground { .. } => error,
        }
    }

    /// Dual values of all points that prove a solution of this very problem.
    ///
    /// # Errors
    /// With [`Relax::Mass`] there are none. Coordinates of points without mass that the metric does
    /// not take; no room for those of all points.
    ///
    /// # Complexity
    /// For n points, r of which gain mass: O(r n) distances with the triangle inequality, O(n²)
    /// without it and with penalties of points; one search of a graph, O(E log n); every cost of a matrix is read once.
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5])?;
    /// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    /// let proof = problem.potentials(&problem.solve(&silent)?)?;
    /// let (u, v) = (proof.left, proof.right);
    /// assert_eq!(0.5 * (u[0] + u[1]) + 0.5 * (v[1] + v[2]), 2.5);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn potentials(&self, solution: &Solution) -> Result<Potentials> {
        self.check_potentials()?;
        let most = self.relax.penalty();
        Ok(match &self.given {
            Given::Ground { ground: Ground::Metric(metric), .. } => {
                solution.on_metric(metric, most)
            }
            Given::Ground { ground: Ground::Components(ground), .. } => {
                solution.on_components(ground, most)
            }
            Given::Points(points) => points.potentials(solution, most)?,
            Given::Matrix { costs, .. } => solution.on_matrix(costs, most),
        })
    }

    /// Refuses problems without dual values of all points.
    pub(super) fn check_potentials(&self) -> Result<()> {
        let Relaxation::Mass(mass) = self.relax else { return Ok(()) };
        Err(Error::BadOption {
            option: "mass",
            value: mass.to_string(),
            expected: "there are no potentials with a mass; give a penalty, or do without them",
        })
    }

    /// What dual values of all points prove, less than all that rounding may have added.
    ///
    /// A product is one rounding, and a dual value the least of differences that are rounded once, or on a
    /// graph of sums along a path; totals that are not quite equal let the bound depend on where
    /// dual values are 0.
    pub(super) fn proved_by(&self, potentials: &Potentials) -> f64 {
        let sides = [&potentials.left, &potentials.right];
        let masses = self.masses();
        // Totals are brought to that of the first measure, in every component.
        let component = |point: usize| match &self.given {
            Given::Ground { ground: Ground::Components(ground), .. } => ground.place(point).0,
            _ => 0,
        };
        let mut totals: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        for (side, masses) in masses.iter().enumerate() {
            for &(point, mass) in masses {
                totals.entry(component(point)).or_default()[side] += mass;
            }
        }
        let factor = |side: usize, point: usize| match totals.get(&component(point)) {
            Some(&[given, taken]) if side == 1 && self.relax.is_balanced() => {
                exact::rescaling(given, taken)
            }
            _ => 1.0,
        };
        let (mut sum, mut surplus) = (Twofold::from(0.0), Twofold::from(0.0));
        let (mut size, mut total) = (0.0, 0.0);
        for (side, masses) in masses.iter().enumerate() {
            for &(point, mass) in masses {
                let (mass, dual) = (factor(side, point) * mass, sides[side][point]);
                sum = sum + Twofold::from(mass * dual);
                surplus = surplus + Twofold::from(if side == 0 { mass } else { -mass });
                size += mass * dual.abs();
                total += mass;
            }
        }
        let largest = sides.into_iter().flatten().fold(0.0f64, |most, dual| most.max(dual.abs()));
        let on_path = match &self.given {
            Given::Ground { ground, .. } if ground.is_graph() => 4 * ground.points(),
            _ => 0,
        };
        let unequal = if self.relax.is_balanced() { surplus.rounded().abs() } else { 0.0 };
        let rounding = double(8) * size + double(8 + on_path) * total * largest;
        sum.rounded() - rounding - unequal * largest
    }

    /// The points with mass on either side, by the numbers that they have outside.
    fn masses(&self) -> [Vec<(usize, f64)>; 2] {
        let given = |masses: &[f64]| masses.iter().copied().enumerate().collect();
        match &self.given {
            Given::Ground { a, b, .. } => [a.iter().collect(), b.iter().collect()],
            Given::Points(points) => points.masses(),
            Given::Matrix { a, b, .. } => [given(a), given(b)],
        }
    }

    /// How many points it is between, and on what ground; nothing for a matrix.
    pub(super) fn size(&self) -> ProblemSize<'_> {
        let with_mass = |masses: &[f64]| masses.iter().filter(|&&mass| mass > 0.0).count();
        match &self.given {
            Given::Ground { ground, a, b } => {
                let (left, right) = (a.support().len(), b.support().len());
                ProblemSize { ground: Some(*ground), left, right }
            }
            Given::Points(points) => {
                let (left, right) = (points.a().support().len(), points.b().support().len());
                ProblemSize { ground: Some(Ground::Metric(&points.metric)), left, right }
            }
            Given::Matrix { a, b, .. } => {
                ProblemSize { ground: None, left: with_mass(a), right: with_mass(b) }
            }
        }
    }

    pub(super) fn is_balanced(&self) -> bool {
        self.relax.is_balanced()
    }

    /// Whether it is solved in about a tenth of a millisecond: no other thread, no progress bar and
    /// nobody at the keyboard would notice.
    pub fn is_quick(&self) -> bool {
        match &self.given {
            Given::Ground { ground, a, b } => {
                !ground.is_graph() && ground.work(self.relax, a, b) <= QUICK_ARCS
            }
            Given::Points(points) => {
                let ground = Ground::Metric(&points.metric);
                ground.work(self.relax, &points.a(), &points.b()) <= QUICK_ARCS
            }
            Given::Matrix { a, b, .. } => a.len().saturating_mul(b.len()) <= QUICK_ARCS,
        }
    }

    /// What entropic transport takes: a metric or a matrix, and all mass moved.
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

    /// The problem for solvers, its measures checked.
    pub(super) fn posed(&self) -> Result<Posed<'_>> {
        self.check_penalties()?;
        let (ground, a, b) = match &self.given {
            Given::Matrix { costs, a, b } => return Ok(Posed::Matrix(OnMatrix { costs, a, b })),
            Given::Points(points) => (Ground::Metric(&points.metric), points.a(), points.b()),
            Given::Ground { ground, a, b } => (*ground, *a, *b),
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

    /// Refuses penalties that are none, and another number of them than of points.
    fn check_penalties(&self) -> Result<()> {
        let Relaxation::Penalty(penalty) = self.relax else { return Ok(()) };
        penalty.check(match &self.given {
            Given::Ground { ground, .. } => [ground.points(); 2],
            Given::Points(points) => points.sizes(),
            Given::Matrix { a, b, .. } => [a.len(), b.len()],
        })
    }

    /// What need not be moved, by the numbers that points have for solvers.
    pub(super) fn relax(&self) -> Relaxation<'_> {
        match (&self.given, self.relax) {
            (Given::Points(points), Relaxation::Penalty(Penalty::OfPoints(_))) => {
                Relaxation::Penalty(points.penalty())
            }
            (_, relax) => relax,
        }
    }

    /// Gives the moves of a plan and the points of dual values the numbers that they have outside.
    pub(super) fn rename_moves(&self, plan: &mut Coupling, duals: [&mut Duals; 2]) {
        if let Given::Points(points) = &self.given {
            points.rename(plan, duals);
        }
    }
}

/// How far a solver is, by what its proof is worth where that is known.
pub(super) fn how_far(proved: Option<f64>) -> State<'static> {
    proved.map_or(State::new(SOLVING, 0, None), |share| {
        State::new(PROVING, (100.0 * share) as usize, Some(100))
    })
}

/// The size of a problem: the points with mass on either side, and what they live on, unless it is a matrix.
pub(super) struct ProblemSize<'p> {
    pub(super) ground: Option<Ground<'p>>,
    pub(super) left: usize,
    pub(super) right: usize,
}

/// Points and their dual values.
pub(super) type Duals = Vec<(usize, f64)>;

/// Solves a problem by the numbers that points have for solvers.
pub(super) fn solve_posed(
    posed: &Posed<'_>,
    relax: Relaxation<'_>,
    progress: &Progress<'_>,
) -> Result<Solution> {
    let goes_on: &GoesOn<'_> = &|proved| progress(&how_far(proved));
    match posed {
        Posed::Components(pair) => exact::components::solve(pair, relax, progress),
        Posed::Metric(pair) => {
            exact::prepare_one(pair, progress)?;
            exact::reused(|solver| relaxed::solve_on_metric(solver, pair, relax, goes_on))
        }
        Posed::Matrix(matrix) => {
            exact::reused(|solver| relaxed::solve_on_matrix(solver, matrix, relax, goes_on))
        }
    }
}

/// Costs between two supports.
pub(super) fn arcs(a: &Measure<'_>, b: &Measure<'_>) -> usize {
    a.support().len().saturating_mul(b.support().len())
}

/// Costs that take as long as a point on a line.
const COSTS_OF_A_POINT: usize = 2;

/// Costs up to which problems are quick: those of one, or of many together.
pub(super) const QUICK_ARCS: usize = 1 << 12;
