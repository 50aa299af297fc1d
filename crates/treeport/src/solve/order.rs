//! Order p of a problem: W_p = (min Σ m·cᵖ)^(1/p), and at ∞ the longest arc of the plan.
//!
//! A finite order is a problem of order 1 between costs to the power p. Costs are divided by a bound
//! of the largest one before, so that powers do not overflow. Order 2 between points with Euclidean
//! distances has the engines of squared distances, and all other orders those of a matrix.

use super::aim::{Aim, Deadline, Wanted};
use super::answer::{Answer, Potentials};
use super::bottleneck::{Bottleneck, BottleneckProblem};
use super::exact::KeepGoing;
use super::given::{Given, checked};
use super::options::SolveOption;
use super::problem::ground::Ground;
use super::problem::matrix::MatrixView;
use super::problem::{Input, Problem};
use super::relax::{Penalty, Relaxation};
use super::route::{Engine, Route, prepare};
use super::sides::Costs;
use super::workspace::Workspace;
use crate::accuracy::Accuracy;
use crate::error::{Error, Result, show_number};
use crate::metric::{Geometry, GroundMetric, PointMetric};
use crate::numeric::rounding::TOTALS;
use crate::progress::Progress;
use crate::tree::Coupling;

/// Refuses orders that are not at least 1.
pub(super) fn check(order: f64) -> Result<()> {
    if order >= 1.0 {
        return Ok(());
    }
    let (value, expected) = (show_number(order), SolveOption::ORDER.range);
    Err(Error::BadOption { option: SolveOption::ORDER.name, value, expected })
}

/// Returns the accuracy of p-th powers for which their roots have an accuracy.
pub(super) fn accuracy_of_powers(accuracy: Accuracy, p: f64) -> Accuracy {
    match accuracy {
        Accuracy::Within(error) => Accuracy::Within((p * error.ln_1p()).exp_m1()),
        accuracy => accuracy,
    }
}

/// Returns the metric of squared distances, if it has faster engines than a matrix of powers.
pub(super) fn squared(metric: &GroundMetric, order: f64) -> Option<Result<GroundMetric>> {
    let (dim, coordinates) = metric.coordinates()?;
    let kind = metric.point_metric()?;
    let is_of_lines = matches!(kind, PointMetric::Manhattan | PointMetric::Chebyshev) && dim == 1;
    if order != 2.0 || !(kind == PointMetric::Euclidean || is_of_lines) {
        return None;
    }
    let period = metric.period().cloned();
    let geometry = Geometry { period, ..PointMetric::SqEuclidean.into() };
    Some(GroundMetric::from_points(dim, coordinates.to_vec(), geometry))
}

impl Problem<'_> {
    /// Computes an answer of another order than 1, without potentials.
    pub(super) fn answer_of_order(
        &self,
        space: &mut Workspace,
        aim: &Aim,
        progress: &Progress<'_>,
    ) -> Result<Answer> {
        check(self.order)?;
        if self.order == f64::INFINITY {
            return self.bottleneck(aim, progress).map(|found| found.0);
        }
        let given = self.given_of_order(progress)?;
        if given.is_one_sided() {
            return self.all_stays(&given);
        }
        match self.answer_of_powers(space, &given, None, aim, progress) {
            Err(Error::Unsolved { .. } | Error::Overflow { .. }) => {}
            found => return found,
        }
        // Powers of costs far below the longest move became 0, or those far above it too large.
        let longest = self.bottleneck(&Aim::value(), progress)?.0.upper;
        let found = self.answer_of_powers(space, &given, Some(longest), aim, progress);
        found.map_err(|error| match error {
            Error::Unsolved { .. } | Error::Overflow { .. } => {
                let (value, expected) = (show_number(self.order), POWERS_ARE_LOST);
                Error::BadOption { option: SolveOption::ORDER.name, value, expected }
            }
            error => error,
        })
    }

    /// Computes an answer between powers of costs; with the longest move of some plan, that is the
    /// unit, and much longer arcs are clipped.
    fn answer_of_powers(
        &self,
        space: &mut Workspace,
        given: &Given<'_>,
        longest: Option<f64>,
        aim: &Aim,
        progress: &Progress<'_>,
    ) -> Result<Answer> {
        let p = self.order;
        let accuracy = accuracy_of_powers(aim.accuracy, p);
        let aim = Aim { accuracy, wanted: aim.wanted.min(Wanted::Plan), ..*aim };
        let (mut answer, scale) = self.powered(given, longest, |problem, scale| {
            let answer = problem.answer_with(space, &aim, progress)?;
            if longest.is_none() && (answer.upper > LEAST_POWER || p == 1.0) {
                return Ok((answer, scale));
            }
            // Powers of positive costs may have become 0, or have been clipped.
            let with_plan = aim.wanting(Wanted::Plan);
            let answer = problem.answer_with(space, &with_plan, progress)?;
            Ok((answer, scale))
        })?;
        let is_lost = |(i, j, _): (usize, usize, f64)| {
            let cost = given.cost_of_points(i, j);
            (answer.upper <= LEAST_POWER && cost > 0.0)
                || longest.is_some_and(|longest| (cost / longest).powf(p) > CLIP)
        };
        let are_lost = answer.upper <= LEAST_POWER && self.pays_penalties(given, &answer.plan);
        if are_lost || answer.plan.iter().any(is_lost) {
            let [left, right] = [0, 1].map(|side: usize| given.sides[side].names.len());
            return Err(Error::Unsolved { left, right });
        }
        let root = |power: f64| scale * power.powf(1.0 / p);
        (answer.lower, answer.upper) = (root(answer.lower), root(answer.upper));
        let unit = scale.powf(p);
        answer.left.iter_mut().chain(&mut answer.right).for_each(|dual| dual.1 *= unit);
        if aim.wanted == Wanted::Value {
            (answer.plan, answer.left, answer.right) = Default::default();
        }
        Ok(answer)
    }

    /// Computes an answer of another order than 1 in the numbering of the call.
    pub(super) fn whole_answer_of_order(
        &self,
        space: &mut Workspace,
        aim: &Aim,
        progress: &Progress<'_>,
    ) -> Result<Answer> {
        if aim.wanted == Wanted::Rates {
            let (value, expected) = (show_number(self.order), "rates are those of order 1");
            return Err(Error::BadOption { option: SolveOption::ORDER.name, value, expected });
        }
        if let (Wanted::Potentials, Relaxation::Mass(mass)) = (aim.wanted, self.relax) {
            let expected = "potentials with a mass are those of order 1; give a penalty";
            return Err(Error::BadOption { option: "mass", value: show_number(mass), expected });
        }
        if self.order == f64::INFINITY {
            check(self.order)?;
            let (mut answer, duals) = self.bottleneck(aim, progress)?;
            self.rename(&mut answer);
            if aim.wanted == Wanted::Potentials {
                answer.potentials = Some(self.cut(duals.as_ref())?);
            }
            return Ok(answer);
        }
        let mut answer = self.answer_of_order(space, aim, progress)?;
        self.rename(&mut answer);
        if aim.wanted == Wanted::Potentials {
            let deadline = Deadline::new(None, progress);
            let keep_going = |proved| deadline.report_proved(proved);
            let potentials = self.potentials_of_powers(&answer, &keep_going)?;
            let all = || potentials.left.iter().chain(&potentials.right);
            let is_lost = answer.lower > 0.0 && all().all(|&dual| dual == 0.0);
            if is_lost || !all().all(|dual| dual.is_finite()) {
                let expected = "potentials are costs to that power, which overflow or become 0 \
                                here; divide the costs by a number of their size";
                let value = show_number(self.order);
                return Err(Error::BadOption { option: SolveOption::ORDER.name, value, expected });
            }
            answer.potentials = Some(potentials);
        }
        Ok(answer)
    }

    /// Returns the engines for another order than 1.
    pub(super) fn route_of_order(&self, aim: &Aim) -> Result<Route> {
        check(self.order)?;
        let given = Given::new(self)?;
        if given.is_one_sided() {
            return Ok(Route::default());
        }
        if self.order == f64::INFINITY {
            let sizes = [0, 1].map(|side: usize| given.sides[side].names.len());
            return Ok(Route::of(Engine::Bottleneck, sizes, "order ∞"));
        }
        self.powered(&given, None, |problem, _| problem.route(aim))
    }

    /// Returns whether a plan leaves mass behind at a positive penalty.
    fn pays_penalties(&self, given: &Given<'_>, plan: &Coupling) -> bool {
        let Relaxation::Penalty(_) = self.relax else { return false };
        given.sides.iter().enumerate().any(|(at, side)| {
            let mut rest = side.masses.clone();
            for (i, j, mass) in plan.iter() {
                if let Ok(place) = side.points.binary_search(&[i, j][at]) {
                    rest[place] -= mass;
                }
            }
            let all = rest.iter().zip(&side.masses).zip(&side.penalties);
            all.into_iter().any(|((rest, mass), &penalty)| *rest > TOTALS * mass && penalty > 0.0)
        })
    }

    /// Returns the answer of a problem whose mass has nowhere to go.
    fn all_stays(&self, given: &Given<'_>) -> Result<Answer> {
        let [a, b] = [0, 1].map(|side: usize| given.sides[side].masses.iter().sum());
        let mut answer = Answer::default();
        if !matches!(self.relax.checked(a, b)?, Relaxation::Penalty(_)) {
            return Ok(answer);
        }
        let (p, unit) = (self.order, self.relax.largest_paid());
        if unit == 0.0 {
            return Ok(answer);
        }
        let mut power = 0.0;
        for (side, duals) in given.sides.iter().zip([&mut answer.left, &mut answer.right]) {
            for ((&point, mass), price) in side.points.iter().zip(&side.masses).zip(&side.penalties)
            {
                power += mass * (price / unit).powf(p);
                duals.push((point, price.powf(p)));
            }
        }
        answer.upper = unit * power.powf(1.0 / p);
        answer.lower = answer.upper;
        Ok(answer)
    }

    fn rename(&self, answer: &mut Answer) {
        if let Input::Points(points) = &self.input {
            answer.rename(|point| points.name(point));
        }
    }

    /// Validates the problem, and prepares a graph for the distances between all sources and sinks.
    fn given_of_order(&self, progress: &Progress<'_>) -> Result<Given<'_>> {
        let given = Given::new(self)?;
        if let Costs::Metric(metric) = given.costs {
            let [left, right] = [0, 1].map(|side: usize| given.sides[side].names.len());
            prepare(metric, std::iter::once((left, right)), progress)?;
        }
        Ok(given)
    }

    /// Calls `ask` with the problem of powers and the unit of its costs before they were raised.
    fn powered<T>(
        &self,
        given: &Given<'_>,
        longest: Option<f64>,
        ask: impl FnOnce(&Problem<'_>, f64) -> Result<T>,
    ) -> Result<T>
    where
        T: Renumbered,
    {
        let p = self.order;
        let most = longest.map_or(f64::INFINITY, |_| CLIP);
        let power = |cost: f64, unit: f64| {
            // Invalid costs stay what they are, for the error that names them.
            match cost / unit {
                _ if !(0.0..f64::INFINITY).contains(&cost) => cost,
                share if p == 2.0 => (share * share).min(most),
                share => share.powf(p).min(most),
            }
        };
        let penalties = given.sides.iter().flat_map(|side| &side.penalties).copied();
        let paid = match self.relax {
            Relaxation::Penalty(_) => penalties.fold(0.0, f64::max),
            _ => 0.0,
        };
        if let (Costs::Metric(metric), None) = (given.costs, longest)
            && paid < LARGEST_SQUARED
            && let Some(squared) = squared(metric, p)
        {
            let squared = squared?;
            let lists;
            let relax = match self.relax() {
                Relaxation::Penalty(Penalty::Same(price)) => {
                    Relaxation::Penalty(Penalty::Same(power(price, 1.0)))
                }
                Relaxation::Penalty(Penalty::OfPoints(sides)) => {
                    lists = sides.map(|prices| -> Vec<f64> {
                        prices.iter().map(|&price| power(price, 1.0)).collect()
                    });
                    Relaxation::Penalty(Penalty::OfPoints([&lists[0], &lists[1]]))
                }
                relax => relax,
            };
            let (a, b) = match &self.input {
                Input::Points(points) => (points.a(), points.b()),
                Input::Ground { a, b, .. } => (*a, *b),
                Input::Matrix { .. } => unreachable!("it has no coordinates"),
            };
            let problem = Problem::new(&squared, &a, &b).with_relaxation(relax);
            return ask(&problem.numbered(self.numbers[0], self.numbers[1]), 1.0);
        }
        let largest = || Ok(given.largest_cost(&|_| true)?.max(paid));
        let unit = longest.map_or_else(largest, Ok)?;
        let unit = if unit > 0.0 { unit } else { 1.0 };
        let entry = |i: usize, j: usize| power(given.cost(i, j), unit);
        let [left, right] = &given.sides;
        let (n, m) = (left.names.len(), right.names.len());
        let table: Vec<f64>;
        let matrix = if n.saturating_mul(m) <= MOST_TABLED {
            let all: Vec<u32> = (0..m as u32).collect();
            let mut powers = vec![0.0; n * m];
            for (i, row) in powers.chunks_exact_mut(m).enumerate() {
                given.costs_from(0, i, &all, row);
                for cost in row {
                    *cost = power(*cost, unit);
                }
            }
            table = powers;
            MatrixView::new(n, m, &table)?
        } else {
            MatrixView::from_fn(n, m, &entry)
        };
        let prices = [left, right].map(|side| -> Vec<f64> {
            side.penalties.iter().map(|&price| power(price, unit)).collect()
        });
        let relax = match self.relax {
            Relaxation::Penalty(_) => {
                Relaxation::Penalty(Penalty::OfPoints([&prices[0], &prices[1]]))
            }
            relax => relax,
        };
        let problem = Problem::between(&left.masses, &right.masses, matrix).with_relaxation(relax);
        let mut found = ask(&problem.numbered(self.numbers[0], self.numbers[1]), unit)?;
        found.renumber([&left.points, &right.points]);
        Ok(found)
    }

    /// Computes an answer of order ∞ in the numbering of the engines, and the dual values of its
    /// sources and sinks.
    fn bottleneck(
        &self,
        aim: &Aim,
        progress: &Progress<'_>,
    ) -> Result<(Answer, Option<[Vec<f64>; 2]>)> {
        let given = self.given_of_order(progress)?;
        let [left, right] = &given.sides;
        if let Costs::Matrix(matrix) = given.costs {
            for &i in &left.points {
                for &j in &right.points {
                    checked(i, j, matrix.entry(i, j))?;
                }
            }
        }
        let mass = match self.relax.checked(left.masses.iter().sum(), right.masses.iter().sum())? {
            Relaxation::Mass(mass) => Some(mass),
            _ => None,
        };
        let has_penalties = matches!(self.relax, Relaxation::Penalty(_));
        let points = match given.costs {
            Costs::Metric(metric) => Some((metric, [&left.points[..], &right.points])),
            Costs::Matrix(_) => None,
        };
        let cost = |i: usize, j: usize| given.cost(i, j);
        let problem = BottleneckProblem {
            masses: [&left.masses, &right.masses],
            cost: &cost,
            costs_from: &|side, from, to: &[u32], out: &mut [f64]| {
                given.costs_from(side, from, to, out);
            },
            penalties: has_penalties.then_some([&left.penalties[..], &right.penalties]),
            mass,
            points,
        };
        let deadline = Deadline::new(aim.time, progress);
        let Bottleneck { lower, upper, plan, duals, flows } = problem.answer(aim, &deadline)?;
        let mut moves = Coupling::default();
        for (i, j, mass) in plan {
            moves.push(left.points[i] as u32, right.points[j] as u32, mass);
        }
        let sizes = [left.names.len(), right.names.len()];
        let route = Route::of(Engine::Bottleneck, sizes, "order ∞");
        let mut answer = Answer { lower, upper, plan: moves, pivots: flows, ..Answer::default() };
        (answer.engine, answer.route) = (Engine::Bottleneck, route);
        if let (Some([u, v]), true) = (&duals, aim.wanted >= Wanted::Plan) {
            answer.left = left.points.iter().copied().zip(u.iter().copied()).collect();
            answer.right = right.points.iter().copied().zip(v.iter().copied()).collect();
        }
        Ok((answer, duals))
    }

    /// Returns the dual values of order ∞ at all points. Those of points without mass are −1, which
    /// every other dual value allows.
    fn cut(&self, duals: Option<&[Vec<f64>; 2]>) -> Result<Potentials> {
        let given = Given::new(self)?;
        let outside = if duals.is_some() { -1.0 } else { 0.0 };
        let [left, right] = [0, 1].map(|side: usize| {
            let of_side = &given.sides[side];
            let mut all = vec![outside; of_side.all];
            if let Some(duals) = duals {
                for (&name, &dual) in of_side.names.iter().zip(&duals[side]) {
                    all[name] = dual;
                }
            }
            all
        });
        Ok(Potentials { left, right })
    }

    /// Extends dual values of powers to all points.
    fn potentials_of_powers(
        &self,
        answer: &Answer,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let p = self.order;
        let sizes = self.sizes();
        let lists;
        let most = match self.relax.penalty() {
            Penalty::Same(price) => Penalty::Same(price.powf(p)),
            Penalty::OfPoints(sides) => {
                lists = sides
                    .map(|prices| prices.iter().map(|price| price.powf(p)).collect::<Vec<f64>>());
                Penalty::OfPoints([&lists[0], &lists[1]])
            }
        };
        let power = |row: &mut [f64]| row.iter_mut().for_each(|cost| *cost = cost.powf(p));
        let size = (sizes[0], sizes[1]);
        match &self.input {
            Input::Ground { ground, .. } => {
                let metric = match ground {
                    Ground::Metric(metric) => metric,
                    Ground::Components(ground) => ground.whole()?,
                };
                let row = |i: usize, out: &mut [f64]| {
                    metric.row(i, out);
                    power(out);
                };
                answer.extended(size, most, row, keep_going)
            }
            Input::Points(points) => {
                let (whole, [n, m]) = points.joint_metric()?;
                let first = if whole.points() == n { 0 } else { n };
                let columns: Vec<usize> = (first..first + m).collect();
                let row = |i: usize, out: &mut [f64]| {
                    whole.block(&[i], &columns, out);
                    power(out);
                };
                answer.extended(size, most, row, keep_going)
            }
            Input::Matrix { costs, .. } => {
                let row = |i: usize, out: &mut [f64]| {
                    out.iter_mut().enumerate().for_each(|(j, cost)| *cost = costs.entry(i, j));
                    power(out);
                };
                answer.extended(size, most, row, keep_going)
            }
        }
    }
}

/// Largest penalty whose square, times some mass, does not overflow.
const LARGEST_SQUARED: f64 = 1e150;

/// Most powers that are computed once, 8 MiB: engines read a cost several times.
const MOST_TABLED: usize = 1 << 20;

/// Powers of costs, in units of the longest move of some plan, above which they are clipped: a plan
/// that uses such an arc is refused.
const CLIP: f64 = 1e15;

const POWERS_ARE_LOST: &str = "powers of these costs differ by too many orders of magnitude for a \
                               certificate; take a smaller order, or infinity";

/// Values of powers up to this one may have lost costs that underflowed.
const LEAST_POWER: f64 = 1e-250;

/// A result between rows and columns that are other points of the problem.
trait Renumbered {
    fn renumber(&mut self, points: [&[usize]; 2]);
}

impl Renumbered for (Answer, f64) {
    fn renumber(&mut self, [left, right]: [&[usize]; 2]) {
        let Answer { plan, left: u, right: v, .. } = &mut self.0;
        plan.left.iter_mut().for_each(|end| *end = left[*end as usize] as u32);
        plan.right.iter_mut().for_each(|end| *end = right[*end as usize] as u32);
        for (duals, points) in [(u, left), (v, right)] {
            for dual in duals {
                dual.0 = points[dual.0];
            }
        }
    }
}

impl Renumbered for Route {
    fn renumber(&mut self, _: [&[usize]; 2]) {}
}
