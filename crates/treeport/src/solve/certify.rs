//! Proved bounds from a plan and potentials of any origin.
//!
//! **Upper bound.** Rows and columns of the plan with more mass than their point has are scaled
//! down, and mass that is missing then is moved between points that still have some (Altschuler,
//! Weed and Rigollet, *Near-linear time approximation algorithms for optimal transport via Sinkhorn
//! iteration*, 2017, with a sparse correction in place of their dense one). With a penalty it is
//! left behind. Marginals are then right up to rounding; their error, known to about 100 bits, is
//! charged at the largest cost.
//!
//! **Lower bound.** Potentials of one side allow the largest feasible ones of the other, minᵢ c(i,
//! j) − uᵢ (the c-transform), and these allow new ones of the first side, which are no smaller than
//! the given ones where those were feasible. Each given side is transformed in this way, and the
//! better bound counts. So potentials need not be feasible, and constants added to one side cancel.
//!
//! Bounds hold for costs in double precision. The lower bound is lowered by [`INTERVAL`], because
//! the searches behind c-transforms may round costs otherwise than one distance.

use super::aim::{Aim, Deadline, Wanted};
use super::answer::{Answer, Duals, Potentials};
use super::costs;
use super::exact::{KeepGoing, check_canceled};
use super::given::{Given, Side, checked};
use super::options::SolveOption;
use super::potentials::c_transform;
use super::problem::Problem;
use super::problem::matrix::MatrixView;
use super::relax::Relaxation;
use super::sides::Costs;
use crate::error::{Error, Result, show_number};
use crate::memory;
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::rounding::{INTERVAL, double};
use crate::progress::Progress;
use crate::tree::Coupling;

/// A plan and potentials of any origin, to be [certified](Problem::certify).
///
/// # Example
/// ```
/// use treeport::{Aim, MatrixView, Problem, Proposal, silent};
/// let costs = MatrixView::new(2, 2, &[0.0, 1.0, 1.0, 0.0])?;
/// let problem = Problem::between(&[0.5, 0.5], &[0.25, 0.75], costs);
/// // A plan that puts too little on the second column.
/// let plan = MatrixView::new(2, 2, &[0.25, 0.0, 0.0, 0.5])?;
/// let proposal = Proposal::default().with_table(plan).with_left(&[0.0, -1.0]);
/// let certified = problem.certify(&proposal, &Aim::exact(), &silent)?;
/// assert!((certified.answer.upper - 0.25).abs() < 1e-9);
/// assert!((certified.answer.lower - 0.25).abs() < 1e-9);
/// assert_eq!(certified.rerouted, 0.25);
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Proposal<'a> {
    plan: Option<Plan<'a>>,
    potentials: [Option<&'a [f64]>; 2],
}

/// A plan as a list of moves, or as a table with an entry for every pair.
#[derive(Clone, Copy, Debug)]
enum Plan<'a> {
    Moves(&'a Coupling),
    Table(MatrixView<'a>),
}

impl<'a> Proposal<'a> {
    /// Sets the plan, as moves between points of the problem, or rows and columns of its matrix.
    #[must_use]
    pub fn with_moves(self, moves: &'a Coupling) -> Self {
        Self { plan: Some(Plan::Moves(moves)), ..self }
    }

    /// Sets the plan, as a table of the mass from every point to every point.
    #[must_use]
    pub fn with_table(self, table: MatrixView<'a>) -> Self {
        Self { plan: Some(Plan::Table(table)), ..self }
    }

    /// Sets the potentials of the points of the first measure.
    #[must_use]
    pub fn with_left(mut self, potentials: &'a [f64]) -> Self {
        self.potentials[0] = Some(potentials);
        self
    }

    /// Sets the potentials of the points of the second measure.
    #[must_use]
    pub fn with_right(mut self, potentials: &'a [f64]) -> Self {
        self.potentials[1] = Some(potentials);
        self
    }
}

/// The bounds that a [`Proposal`] proves.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Certified {
    /// Bounds with the rounded plan and the feasible potentials that prove them; of the plan and
    /// the potentials, one that was not proposed is an exact or bounded answer to the aim.
    pub answer: Answer,
    /// Mass that the rounded plan moves and the proposed plan did not: how far its marginals were
    /// off.
    pub rerouted: f64,
}

impl Problem<'_> {
    /// Computes certified bounds from a plan, from potentials, or from both.
    ///
    /// The plan is rounded to the marginals, the potentials are made feasible: any plan proves an
    /// upper bound, and any potentials a lower bound. The problem itself solves for the one that is
    /// missing, to the accuracy and in the time of the aim; if both are proposed, nothing is solved.
    ///
    /// # Errors
    /// - a proposal without plan and potentials;
    /// - another shape than that of the problem, a move between points that do not exist
    ///   ([`Error::MoveOutOfRange`]), a mass that is negative or not finite ([`Error::BadMove`]);
    /// - a potential that is not finite at a point with mass ([`Error::BadPotential`]);
    /// - a graph of several components, or a problem with a [mass](Self::with_mass);
    /// - those of [`answer`](Self::answer).
    ///
    /// # Complexity
    /// One distance for each move, and two or three passes over all costs for each side with
    /// potentials: O(n log n) or so in few dimensions, where k-d trees find minima. Memory is linear in points
    /// and moves.
    pub fn certify(
        &self,
        proposal: &Proposal<'_>,
        aim: &Aim,
        progress: &Progress<'_>,
    ) -> Result<Certified> {
        aim.check()?;
        if let Relaxation::Mass(mass) = self.relax {
            let (value, expected) =
                (show_number(mass), "certificates are for balanced problems and for penalties");
            return Err(Error::BadOption { option: SolveOption::MASS.name, value, expected });
        }
        if self.order != 1.0 {
            let (value, expected) = (show_number(self.order), "certificates are of order 1");
            return Err(Error::BadOption { option: SolveOption::ORDER.name, value, expected });
        }
        let deadline = Deadline::new(None, progress);
        let keep_going = |proved| deadline.report_proved(proved);
        let posed = Given::new(self)?;
        let has_potentials = proposal.potentials.iter().any(Option::is_some);
        let potentials =
            if has_potentials { Some(posed.read_potentials(proposal.potentials)?) } else { None };
        let mut rerouted = 0.0;
        let mut answer = match (&proposal.plan, &potentials) {
            (None, None) => {
                let (value, expected) = ("missing".to_owned(), "give a plan, potentials, or both");
                return Err(Error::BadOption { option: "plan", value, expected });
            }
            (None, Some(potentials)) => {
                let proved = posed.lower(potentials, aim.wanted, &keep_going)?;
                let found = self.answer(&aim.wanting(aim.wanted.min(Wanted::Plan)), progress)?;
                let Answer { lower, left, right, potentials, .. } = proved;
                Answer { lower, left, right, potentials, ..found }
            }
            (Some(plan), potentials) => {
                let rounded = posed.round(plan, aim.wanted >= Wanted::Plan, &keep_going)?;
                let proved = match potentials {
                    Some(potentials) => posed.lower(potentials, aim.wanted, &keep_going)?,
                    None => self.answer(aim, progress)?,
                };
                rerouted = rounded.rerouted;
                Answer { upper: rounded.upper, plan: rounded.plan, ..proved }
            }
        };
        // Where both are exact, roundings must not cross.
        answer.lower = answer.lower.min(answer.upper);
        Ok(Certified { answer, rerouted })
    }
}

/// A plan with the marginals of the problem.
struct Rounded {
    upper: f64,
    plan: Coupling,
    rerouted: f64,
}

/// Moves whose distances are computed together.
const TOGETHER: usize = 1 << 16;

impl Given<'_> {
    /// Calls `take` with the positions in the sides and the mass of every positive entry of a plan.
    fn visit(
        &self,
        plan: &Plan<'_>,
        keep_going: &KeepGoing<'_>,
        mut take: impl FnMut(usize, usize, f64) -> Result<()>,
    ) -> Result<()> {
        let [rows, columns] = &self.sides;
        let mut one = |i: usize, j: usize, mass: f64| {
            if mass == 0.0 {
                return Ok(());
            }
            if !(0.0..f64::INFINITY).contains(&mass) {
                return Err(Error::BadMove { from: i, to: j, value: mass });
            }
            match (rows.place(i), columns.place(j)) {
                (Some(from), Some(to)) => take(from, to, mass),
                _ => Ok(()),
            }
        };
        match plan {
            Plan::Moves(moves) => {
                for (at, (i, j, mass)) in moves.iter().enumerate() {
                    if at % TOGETHER == 0 {
                        check_canceled(keep_going)?;
                    }
                    if i >= rows.all || j >= columns.all {
                        let (left, right) = (rows.all, columns.all);
                        return Err(Error::MoveOutOfRange { from: i, to: j, left, right });
                    }
                    one(i, j, mass)?;
                }
            }
            Plan::Table(table) => {
                let (expected, found) = ([rows.all, columns.all], [table.rows(), table.columns()]);
                if expected != found {
                    let show = |[rows, columns]: [usize; 2]| format!("({rows}, {columns})");
                    let (expected, found) = (show(expected), show(found));
                    return Err(Error::Shape { what: "the plan".into(), expected, found });
                }
                for i in 0..table.rows() {
                    check_canceled(keep_going)?;
                    (0..table.columns()).try_for_each(|j| one(i, j, table.entry(i, j)))?;
                }
            }
        }
        Ok(())
    }

    /// Rounds a plan to the marginals and bounds its cost from above.
    fn round(
        &self,
        plan: &Plan<'_>,
        with_plan: bool,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Rounded> {
        let [rows, columns] = &self.sides;
        let shrink = |masses: &[f64], sums: Vec<f64>| -> Vec<f64> {
            masses
                .iter()
                .zip(sums)
                .map(|(&mass, sum)| if sum > mass { mass / sum } else { 1.0 })
                .collect()
        };
        let mut sums = vec![0.0; rows.masses.len()];
        let mut moves = 0;
        self.visit(plan, keep_going, |i, _, mass| {
            sums[i] += mass;
            moves += 1;
            Ok(())
        })?;
        let of_rows = shrink(&rows.masses, sums);
        let mut sums = vec![0.0; columns.masses.len()];
        self.visit(plan, keep_going, |i, j, mass| {
            sums[j] += mass * of_rows[i];
            Ok(())
        })?;
        let of_columns = shrink(&columns.masses, sums);
        if with_plan {
            let moves = moves + rows.masses.len() + columns.masses.len();
            let step = format_args!("a rounded plan of {moves} moves");
            let bytes = memory::size_of::<(u32, u32, f64)>(&[moves]);
            memory::check(step, bytes, "ask for the bounds alone, without a plan")?;
        }
        let mut sum = PlanSum::new(self, with_plan);
        self.visit(plan, keep_going, |i, j, mass| {
            sum.add(i, j, mass * of_rows[i] * of_columns[j], keep_going)
        })?;
        let mut rerouted = 0.0;
        if self.problem.relax.is_balanced() {
            for (i, j, mass) in self.correction(sum.left()) {
                rerouted += mass;
                sum.add(i, j, mass, keep_going)?;
            }
        }
        let upper = sum.upper(keep_going)?;
        Ok(Rounded { upper, plan: sum.plan, rerouted })
    }

    /// Returns moves of the mass that is left, in the order of the northwest corner rule, between
    /// points in the order of a k-d tree if there are coordinates.
    fn correction(&self, mut left: [Vec<f64>; 2]) -> Vec<(usize, usize, f64)> {
        let mut order = [0, 1].map(|side: usize| -> Vec<usize> {
            (0..left[side].len()).filter(|&place| left[side][place] > 0.0).collect()
        });
        if let Costs::Metric(metric) = self.costs
            && metric.vectors().is_some()
        {
            let both = || {
                [0, 1]
                    .into_iter()
                    .flat_map(|side: usize| order[side].iter().map(move |&place| (side, place)))
            };
            let points: Vec<usize> =
                both().map(|(side, place)| self.sides[side].points[place]).collect();
            let entries: Vec<(usize, usize)> = both().collect();
            let near = costs::near_order(metric, &points);
            let near = near.into_iter().map(|at| entries[at as usize]);
            let [mut rows, mut columns] = [Vec::new(), Vec::new()];
            for (side, place) in near {
                if side == 0 { &mut rows } else { &mut columns }.push(place);
            }
            order = [rows, columns];
        }
        let (mut i, mut j, mut moves) = (0, 0, Vec::new());
        while let (Some(&from), Some(&to)) = (order[0].get(i), order[1].get(j)) {
            let mass = left[0][from].min(left[1][to]);
            moves.push((from, to, mass));
            left[0][from] -= mass;
            left[1][to] -= mass;
            i += usize::from(left[0][from] <= 0.0);
            j += usize::from(left[1][to] <= 0.0);
        }
        moves
    }

    /// Computes the costs of moves between positions in the sides.
    fn costs(&self, moves: &[(usize, usize)]) -> Result<Vec<f64>> {
        let [rows, columns] = [0, 1].map(|side: usize| &self.sides[side].points[..]);
        let ends: Vec<_> = moves.iter().map(|&(i, j)| (rows[i], columns[j])).collect();
        match self.costs {
            Costs::Metric(metric) => Ok(metric.pairs(&ends)),
            Costs::Matrix(matrix) => {
                ends.into_iter().map(|(i, j)| checked(i, j, matrix.entry(i, j))).collect()
            }
        }
    }

    /// Reads the potentials of the points with mass.
    fn read_potentials(&self, sides: [Option<&[f64]>; 2]) -> Result<[Option<Vec<f64>>; 2]> {
        let mut read = [None, None];
        for (side, values) in sides.into_iter().enumerate() {
            let Some(values) = values else { continue };
            let Side { names, all, .. } = &self.sides[side];
            if values.len() != *all {
                return Err(Error::Shape {
                    what: format!("the array of potentials of measure {side}"),
                    expected: format!("({all},), one for each point"),
                    found: format!("({},)", values.len()),
                });
            }
            let bad = |&&name: &&usize| !values[name].is_finite();
            if let Some(&point) = names.iter().find(bad) {
                return Err(Error::BadPotential { measure: side, point, value: values[point] });
            }
            read[side] = Some(names.iter().map(|&name| values[name]).collect());
        }
        Ok(read)
    }

    /// Makes potentials feasible and returns an answer with the lower bound that they prove.
    fn lower(
        &self,
        given: &[Option<Vec<f64>>; 2],
        wanted: Wanted,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Answer> {
        let mut best: Option<(f64, [Vec<f64>; 2])> = None;
        for side in 0..2 {
            let Some(values) = &given[side] else { continue };
            let allowed = &self.sides[side].penalties;
            // A constant would cost digits.
            let shift = if self.problem.relax.is_balanced() { middle(values) } else { 0.0 };
            let own = values.iter().zip(allowed).map(|(value, most)| (value - shift).min(*most));
            let own: Vec<f64> = own.collect();
            let other = self.transform(side, &own, keep_going)?;
            let own = self.transform(1 - side, &other, keep_going)?;
            let duals = if side == 0 { [own, other] } else { [other, own] };
            let proved = self.problem.proved_by(&self.spread(&duals), None);
            if best.as_ref().is_none_or(|best| proved > best.0) {
                best = Some((proved, duals));
            }
        }
        let (mut lower, duals) = best.expect("one side has potentials");
        let named = |side: usize| -> Duals {
            self.sides[side].names.iter().copied().zip(duals[side].iter().copied()).collect()
        };
        let mut answer = Answer { left: named(0), right: named(1), ..Answer::default() };
        if wanted >= Wanted::Potentials {
            let potentials = self.problem.potentials(&answer, keep_going)?;
            lower = lower.max(self.problem.proved_by(&potentials, None));
            answer.potentials = Some(potentials);
        }
        answer.lower = (lower - INTERVAL * lower.abs()).max(0.0);
        Ok(answer)
    }

    /// Returns dual values of points with mass as potentials of all points, 0 elsewhere.
    fn spread(&self, duals: &[Vec<f64>; 2]) -> Potentials {
        let [left, right] = [0, 1].map(|side: usize| {
            let Side { names, all, .. } = &self.sides[side];
            let mut all = vec![0.0; *all];
            names.iter().zip(&duals[side]).for_each(|(&name, &dual)| all[name] = dual);
            all
        });
        Potentials { left, right }
    }

    /// Computes the largest dual values of the other side that those of one side allow.
    fn transform(
        &self,
        side: usize,
        values: &[f64],
        keep_going: &KeepGoing<'_>,
    ) -> Result<Vec<f64>> {
        let (from, to) = (&self.sides[side], &self.sides[1 - side]);
        let mut allowed = to.penalties.clone();
        let (Some(&first), Some(&last)) = (to.points.iter().min(), to.points.iter().max()) else {
            return Ok(allowed);
        };
        match self.costs {
            Costs::Metric(metric) => {
                let values: Duals =
                    from.points.iter().copied().zip(values.iter().copied()).collect();
                let most = f64::INFINITY;
                let all = c_transform(metric, first..last + 1, &values, most, keep_going)?;
                for (allowed, &point) in allowed.iter_mut().zip(&to.points) {
                    *allowed = allowed.min(all[point - first]);
                }
            }
            Costs::Matrix(matrix) => {
                for (i, &row) in self.sides[0].points.iter().enumerate() {
                    check_canceled(keep_going)?;
                    for (j, &column) in self.sides[1].points.iter().enumerate() {
                        let cost = checked(row, column, matrix.entry(row, column))?;
                        let [source, target] = if side == 0 { [i, j] } else { [j, i] };
                        allowed[target] = allowed[target].min(cost - values[source]);
                    }
                }
            }
        }
        Ok(allowed)
    }
}

/// Returns the middle between the least and the largest value.
fn middle(values: &[f64]) -> f64 {
    let extent = values.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &value| {
        [low.min(value), high.max(value)]
    });
    let middle = 0.5 * extent[0] + 0.5 * extent[1];
    if middle.is_finite() { middle } else { 0.0 }
}

/// The cost of a plan, and the mass that it leaves.
struct PlanSum<'g, 'p> {
    given: &'g Given<'p>,
    cost: DoubleDouble,
    left: [Vec<DoubleDouble>; 2],
    /// Moves whose costs are not yet added.
    open: Vec<(usize, usize)>,
    masses: Vec<f64>,
    with_plan: bool,
    plan: Coupling,
}

impl<'g, 'p> PlanSum<'g, 'p> {
    fn new(given: &'g Given<'p>, with_plan: bool) -> Self {
        let left = [0, 1].map(|side: usize| {
            given.sides[side].masses.iter().copied().map(DoubleDouble::from).collect()
        });
        let (open, masses) = (Vec::new(), Vec::new());
        let (cost, plan) = (DoubleDouble::default(), Coupling::default());
        Self { given, cost, left, open, masses, with_plan, plan }
    }

    fn add(&mut self, i: usize, j: usize, mass: f64, keep_going: &KeepGoing<'_>) -> Result<()> {
        if mass <= 0.0 {
            return Ok(());
        }
        for (side, place) in [i, j].into_iter().enumerate() {
            let left = &mut self.left[side][place];
            *left = *left - DoubleDouble::from(mass);
        }
        self.open.push((i, j));
        self.masses.push(mass);
        if self.with_plan {
            let [rows, columns] = &self.given.sides;
            self.plan.push(rows.names[i] as u32, columns.names[j] as u32, mass);
        }
        if self.open.len() == TOGETHER { self.add_costs(keep_going) } else { Ok(()) }
    }

    fn add_costs(&mut self, keep_going: &KeepGoing<'_>) -> Result<()> {
        check_canceled(keep_going)?;
        let costs = self.given.costs(&self.open)?;
        for (cost, mass) in costs.into_iter().zip(&self.masses) {
            self.cost = self.cost + DoubleDouble::from(cost * mass);
        }
        self.open.clear();
        self.masses.clear();
        Ok(())
    }

    /// Returns the mass that is left at the points of either side.
    fn left(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|side: usize| self.left[side].iter().map(|left| left.rounded()).collect())
    }

    /// Returns an upper bound of the cost, with penalties and the correction of rounding errors.
    fn upper(&mut self, keep_going: &KeepGoing<'_>) -> Result<f64> {
        self.add_costs(keep_going)?;
        let (mut wrong, mut paid) = (0.0, self.cost);
        let has_penalty = matches!(self.given.problem.relax, Relaxation::Penalty(_));
        for (side, left) in self.left.iter().enumerate() {
            for (left, penalty) in left.iter().zip(&self.given.sides[side].penalties) {
                let left = left.rounded();
                if has_penalty && left > 0.0 {
                    paid = paid + DoubleDouble::from(left * penalty);
                } else {
                    wrong += left.abs();
                }
            }
        }
        // What a point moves too much is missing at the other end, and moves or stays behind there.
        let price = if wrong == 0.0 {
            0.0
        } else if has_penalty {
            self.given.problem.relax.largest_paid()
        } else {
            self.given.largest_cost(keep_going)?
        };
        let upper = paid.rounded() + wrong * price * (1.0 + double(8));
        let upper = upper + double(8) * upper;
        if upper.is_finite() {
            return Ok(upper);
        }
        let mass = self.given.sides.iter().flat_map(|side| &side.masses).sum();
        Err(Error::Overflow { cost: self.given.largest_cost(keep_going)?, mass })
    }
}
