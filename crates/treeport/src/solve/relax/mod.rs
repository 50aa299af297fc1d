//! Relaxations of a problem: partial transport of a mass, and penalties for mass that stays behind.
//!
//! A relaxation adds a spare source and a spare sink for the mass that stays behind. The result is
//! a balanced problem with the usual certificate, whose plan and dual values are mapped back and
//! checked against the original problem. `mass` and `penalized` construct the spare row and column
//! of a table, `spares` the spare source and sink of the auction, `edges` a spare node of a graph.

pub(super) mod edges;
mod kinks;
pub(super) mod line;
mod mass;
mod penalized;
pub(super) mod spares;

use super::aim::Wanted;
use super::answer::Answer;
use super::exact::integer_mass::Units;
use super::exact::table::{COSTS_PER_CHECK, Move, Table, reserve_costs};
use super::exact::{KeepGoing, check_canceled};
use super::options::SolveOption;
use super::problem::posed::Posed;
use super::route;
use super::sides::{Costs, Sides};
use super::workspace::Workspace;
use crate::error::{Error, Result, show_number};
use crate::numeric::rounding::TOTALS;
pub(super) use mass::shared_plan_of;
use penalized::Penalized;

/// How much mass may stay behind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Relax {
    /// Balanced: all mass moves, and both sides have the same total.
    #[default]
    Balanced,
    /// Partial transport: exactly this much mass moves; other mass costs nothing.
    Mass(f64),
    /// Penalized marginals: mass that does not move costs this much per unit, on either side.
    Penalty(f64),
}

/// A relaxation: [`Relax`], or a penalty for each point.
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
    /// Returns whether all mass moves.
    pub(super) fn is_balanced(self) -> bool {
        matches!(self, Self::Balanced)
    }

    /// Returns the penalty, or an infinite one if there is none.
    pub(super) fn penalty(self) -> Penalty<'p> {
        match self {
            Self::Penalty(penalty) => penalty,
            Self::Balanced | Self::Mass(_) => Penalty::Same(f64::INFINITY),
        }
    }

    /// Returns the largest penalty, or 0 if there is none.
    pub(super) fn largest_paid(self) -> f64 {
        match self {
            Self::Penalty(Penalty::Same(price)) => price,
            Self::Penalty(Penalty::OfPoints(sides)) => {
                sides.into_iter().flatten().copied().fold(0.0, f64::max)
            }
            Self::Balanced | Self::Mass(_) => 0.0,
        }
    }

    /// Refuses a mass above the smaller of two totals; corrects one that differs by rounding.
    pub(super) fn checked(self, total_a: f64, total_b: f64) -> Result<Self> {
        let Self::Mass(mass) = self else { return Ok(self) };
        let most = total_a.min(total_b);
        if (0.0..=most * (1.0 + TOTALS)).contains(&mass) {
            return Ok(Self::Mass(mass.min(most)));
        }
        Err(Error::BadOption {
            option: "mass",
            value: show_number(mass),
            expected: SolveOption::MASS.range,
        })
    }
}

/// The cost of a unit of mass that stays behind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Penalty<'p> {
    /// One penalty for all points.
    Same(f64),
    /// Penalties of the points of the first measure, and of the second.
    OfPoints([&'p [f64]; 2]),
}

impl Penalty<'_> {
    /// Returns the penalty at a point of the first measure (side 0) or of the second (side 1).
    pub(super) fn at(self, side: usize, point: usize) -> f64 {
        match self {
            Self::Same(price) => price,
            Self::OfPoints(sides) => sides[side][point],
        }
    }

    /// Refuses invalid penalties, and a number of them other than that of points.
    pub(super) fn check(self, points: [usize; 2]) -> Result<()> {
        match self {
            Self::Same(price) if !is_price(price) => Err(Error::BadOption {
                option: "penalty",
                value: show_number(price),
                expected: SolveOption::PENALTY.range,
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

/// Refuses invalid penalties, and a number of them other than `points`.
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

/// The workspace of relaxed problems.
#[derive(Clone, Debug, Default)]
pub(super) struct RelaxMemory {
    penalized: Penalized,
    /// Supplies of the balanced problem; that of the spare source is last.
    supply: Vec<f64>,
    /// Demands of the balanced problem; that of the spare sink is last.
    demand: Vec<f64>,
    /// Original costs, while the table has those of the balanced problem.
    cost: Vec<f64>,
}

impl RelaxMemory {
    /// Returns whether it is small enough for a thread to keep.
    pub(super) fn is_small(&self) -> bool {
        self.cost.capacity() <= super::exact::MOST_KEPT
    }
}

/// Solves a relaxed problem on a table with a spare row and a spare column.
pub(super) fn on_table(
    space: &mut Workspace,
    costs: Costs<'_>,
    relax: Relaxation<'_>,
    wanted: Wanted,
    keep_going: &KeepGoing<'_>,
) -> Result<Answer> {
    let Workspace { sides, table, units, relax: memory, .. } = space;
    let filled = table.fill(costs, sides, keep_going);
    let problem = RelaxedTable { sides, table, units, memory, wanted, keep_going };
    let answer = filled.and_then(|()| match relax {
        Relaxation::Mass(mass) => problem.with_mass(mass),
        relax => problem.with_penalty(relax.penalty()),
    });
    answer.map_err(advised)
}

/// Advice if a relaxed problem does not fit into memory: no estimate supports it.
pub(super) const FEWER: &str = "take fewer points, such as a random sample of each side";

/// Replaces the advice for balanced problems.
fn advised(error: Error) -> Error {
    match error {
        Error::Memory { step, bytes, available, .. } => {
            Error::Memory { step, bytes, available, instead: FEWER }
        }
        other => other,
    }
}

/// Reads both sides of a relaxed problem; returns its costs and the validated relaxation.
pub(super) fn read<'p>(
    sides: &mut Sides,
    posed: &Posed<'p>,
    relax: Relaxation<'p>,
) -> Result<(Costs<'p>, Relaxation<'p>)> {
    match posed {
        Posed::Matrix(matrix) => {
            matrix.check_memory()?;
            let [total_a, total_b] = sides.read_matrix(matrix, relax)?;
            Ok((Costs::Matrix(matrix.costs), relax.checked(total_a, total_b)?))
        }
        Posed::Metric(pair) => {
            let relax = relax.checked(pair.a.total(), pair.b.total())?;
            // A line needs no shorter sides, and the search for them takes all pairs of points.
            let is_on_line = route::is_on_line(Costs::Metric(pair.metric));
            let is_searched = matches!(relax.penalty(), Penalty::OfPoints(_));
            let may_stay =
                !(is_on_line && is_searched) && penalized::shared_may_stay(pair, relax.penalty());
            sides.split(pair, 1.0, pair.metric.is_metric() && may_stay);
            Ok((Costs::Metric(pair.metric), relax))
        }
        Posed::Components(_) => unreachable!("components are solved one by one"),
    }
}

/// A relaxed problem on a table of its costs.
struct RelaxedTable<'a> {
    sides: &'a Sides,
    table: &'a mut Table,
    units: &'a mut Units,
    memory: &'a mut RelaxMemory,
    wanted: Wanted,
    keep_going: &'a KeepGoing<'a>,
}

/// The number of the spare row or column.
const SPARE: usize = usize::MAX;

impl RelaxedTable<'_> {
    /// Replaces the costs of the table by those between the given rows and columns, with spare ones
    /// last; the workspace keeps the original costs.
    fn set_costs(
        &mut self,
        [rows, columns]: [&[usize]; 2],
        spare: [bool; 2],
        cost: impl Fn(&[f64], usize, usize) -> f64,
    ) -> Result<()> {
        std::mem::swap(&mut self.table.cost, &mut self.memory.cost);
        let (out, original) = (&mut self.table.cost, &self.memory.cost[..]);
        let [row, column] = spare.map(|is_there| is_there.then_some(SPARE));
        out.clear();
        let count =
            |some: &[usize], spare: Option<usize>| some.len() + usize::from(spare.is_some());
        reserve_costs(out, count(rows, row), count(columns, column))?;
        let mut since = 0;
        for i in rows.iter().copied().chain(row) {
            since += count(columns, column);
            if since >= COSTS_PER_CHECK {
                check_canceled(self.keep_going)?;
                since = 0;
            }
            let columns = columns.iter().copied().chain(column);
            out.extend(columns.map(|j| cost(original, i, j)));
        }
        Ok(())
    }

    /// Appends a spare source and a spare sink with these quanta, if positive. Both are exact: a
    /// remainder of rounded sums would have to move, at any cost.
    fn push_spare(&mut self, row: i128, column: i128) {
        let mass = self.units.quantum();
        let RelaxMemory { supply, demand, .. } = &mut *self.memory;
        if row > 0 {
            supply.push(mass(row));
            self.units.supply.push(row);
        }
        if column > 0 {
            demand.push(mass(column));
            self.units.demand.push(column);
        }
        self.units.balance_and_perturb();
    }
}

/// Returns the moves without those from a spare row (`n`) or to a spare column (`m`).
fn without_spare(moves: Vec<Move>, n: usize, m: usize) -> impl Iterator<Item = Move> {
    moves.into_iter().filter(move |&(i, j, _)| i < n && j < m)
}
