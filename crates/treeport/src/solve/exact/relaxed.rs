//! Transport that may leave mass behind: only so much of it, or as much as pays.
//!
//! Both are balanced problems with one row and one column more, for what is left over, and so they
//! are proved as every other. What a penalty makes is in `penalized`.
//!
//! **A mass m.** The spare column takes |μ| − m and the spare row gives |ρ| − m, for nothing. Mass
//! that went from one to the other would leave more than m to be moved, and as much of that is
//! moved for less by going through both: so any price above 0 keeps it away, and no large number
//! spoils the digits.
//!
//! Where the triangle inequality is promised, mass that both have at a point stays there first, as
//! in balanced transport: swapping ends of moves that leave and reach the point costs nothing.

use super::{Certified, GoesOn, ROUNDING, Solution, Solver, price, room_for_costs};
use crate::error::{Error, Result};
use crate::rounding::double;
use crate::solve::matrix::SideMasses;
use crate::solve::penalty::Relaxation;
use crate::solve::problem::{OnMatrix, OnMetric};
use crate::tree::Coupling;

/// What may be left behind of measures of these totals, in range: a mass is, up to rounding, at most
/// the smaller total.
pub(in crate::solve) fn checked(
    relax: Relaxation<'_>,
    given: f64,
    taken: f64,
) -> Result<Relaxation<'_>> {
    if let Relaxation::Mass(mass) = relax {
        let most = given.min(taken);
        if !(0.0..=most * (1.0 + ROUNDING)).contains(&mass) {
            return Err(Error::BadOption {
                option: "mass",
                value: mass.to_string(),
                expected: "it must be at least 0 and at most the smaller of the totals",
            });
        }
        return Ok(Relaxation::Mass(mass.min(most)));
    }
    Ok(relax)
}

/// The cheapest plan between measures that live on the metric's points.
pub(in crate::solve) fn solve_on_metric(
    solver: &mut Solver,
    pair: &OnMetric<'_>,
    relax: Relaxation<'_>,
    goes_on: &GoesOn<'_>,
) -> Result<Solution> {
    let mass = match checked(relax, pair.a.total(), pair.b.total())? {
        Relaxation::Balanced => return solver.balanced_on_metric(pair, goes_on),
        Relaxation::Penalty(penalty) => return solver.penalized_on_metric(pair, penalty, goes_on),
        Relaxation::Mass(mass) => mass,
    };
    solver.split(&pair.a, &pair.b, 1.0, pair.metric.is_metric());
    solver.cost.clear();
    if !solver.left.is_empty() && !solver.right.is_empty() {
        solver.fill_costs(pair.metric, goes_on)?;
    }
    solver.with_mass(mass, goes_on).map(|solution| solver.as_given(solution))
}

/// The cheapest plan from the masses of rows to those of columns.
pub(in crate::solve) fn solve_on_matrix(
    solver: &mut Solver,
    matrix: &OnMatrix<'_>,
    relax: Relaxation<'_>,
    goes_on: &GoesOn<'_>,
) -> Result<Solution> {
    if relax.is_balanced() {
        if let Some((found, answer)) = solver.sparsely_on_matrix(matrix, goes_on)? {
            let solution = solver.sparse_solution(found, answer);
            return Ok(solver.as_given(solution));
        }
        solver.prepare_between(matrix, goes_on)?;
        return solver.solution(goes_on).map(|found| solver.as_given(found));
    }
    solver.shared.clear();
    let Solver { left, right, supply, demand, cost, .. } = &mut *solver;
    let rows = SideMasses { places: left, masses: supply };
    let columns = SideMasses { places: right, masses: demand };
    let [given, taken] = matrix.read_masses(relax, [rows, columns])?;
    let relax = checked(relax, given, taken)?;
    matrix.costs.read_costs(left, right, cost, goes_on)?;
    solver.orient_matrix(relax);
    match relax {
        Relaxation::Balanced => unreachable!("returned above"),
        Relaxation::Penalty(penalty) => {
            solver.read_penalty(penalty);
            solver.penalized_solution(goes_on)
        }
        Relaxation::Mass(mass) => {
            solver.with_mass(mass, goes_on).map(|solution| solver.as_given(solution))
        }
    }
}

/// The quanta of the spare row and the spare column, and what it costs from one to the other.
#[derive(Clone, Copy)]
struct Spare {
    row: i128,
    column: i128,
    between: f64,
}

impl Solver {
    /// Solves what is split and has its costs, where exactly `mass` is moved.
    fn with_mass(&mut self, mass: f64, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let (n, m) = (self.left.len(), self.right.len());
        let (given, taken) = (self.supply.iter().sum::<f64>(), self.demand.iter().sum::<f64>());
        let stays: f64 = self.shared.iter().map(|entry| entry.1).sum();
        let moved = (mass - stays).min(given).min(taken);
        let digits = double(n + m + self.shared.len() + 4);
        if moved <= digits * mass {
            return Ok(Solution::free(keep(&self.shared, mass)));
        }
        // Nobody sends or takes more than what moves in all; beside much larger masses its digits
        // would be lost.
        for mass in self.supply.iter_mut().chain(&mut self.demand) {
            *mass = mass.min(moved);
        }
        let spare = self.beside(moved, digits);
        self.add_spare(spare)?;
        let proved = self.certified(goes_on)?;
        let moves = self.moves(proved.integers);
        if moves.iter().any(|&(i, j, _)| i == n && j == m) {
            // More than `moved` went between the others.
            return Err(Error::Unsolved { left: n, right: m });
        }
        let moves: Vec<Move> = moves.into_iter().filter(|&(i, j, _)| i < n && j < m).collect();
        Ok(self.left_over(&moves, &proved))
    }

    /// What is left of both totals beside the mass that moves, unless it is within the last digits:
    /// exactly what one side has moves then.
    fn beside(&mut self, moved: f64, digits: f64) -> Spare {
        self.units.count(&self.supply, &self.demand);
        let rest = |masses: &[f64]| {
            let all: f64 = masses.iter().sum();
            all - moved > digits * all
        };
        let [given, taken] = self.units.totals();
        let (row, column) = match (rest(&self.demand), rest(&self.supply)) {
            (false, false) => (0, 0),
            (false, true) => (0, given - taken),
            (true, false) => (taken - given, 0),
            (true, true) => {
                let moved = self.units.quanta_of(moved);
                (taken - moved, given - moved)
            }
        };
        let largest = price::largest(&self.cost);
        Spare { row, column, between: if largest > 0.0 { largest } else { 1.0 } }
    }

    /// The solution of these moves and what stays; no dual values.
    fn left_over(&self, moves: &[Move], proved: &Certified) -> Solution {
        let Certified { value, gap, integers } = *proved;
        let mut plan = keep(&self.shared, f64::INFINITY);
        for &(i, j, mass) in moves {
            plan.push(self.left[i] as u32, self.right[j] as u32, mass);
        }
        Solution { value, gap, pivots: self.pivots(integers), integers, ..Solution::free(plan) }
    }

    /// Puts the spare row and column, where they have mass, after the others, to and from which it costs
    /// nothing.
    fn add_spare(&mut self, spare: Spare) -> Result<()> {
        let (n, m) = (self.left.len(), self.right.len());
        let (row, column) = (usize::from(spare.row > 0), usize::from(spare.column > 0));
        let mut cost = Vec::new();
        room_for_costs(&mut cost, n + row, m + column)?;
        for i in 0..n {
            cost.extend_from_slice(&self.cost[i * m..(i + 1) * m]);
            cost.resize(cost.len() + column, 0.0);
        }
        if row == 1 {
            cost.resize(cost.len() + m, 0.0);
            cost.resize(cost.len() + column, spare.between);
        }
        self.cost = cost;
        self.push_spare(spare.row, spare.column);
        Ok(())
    }

    /// Puts a spare row and a spare column of so many quanta, where that is some, after the others. They
    /// have exactly what they have to: a remainder of rounded sums would have to travel somewhere, at any
    /// cost.
    pub(super) fn push_spare(&mut self, row: i128, column: i128) {
        let mass = self.units.quantum();
        if row > 0 {
            self.left.push(usize::MAX);
            self.supply.push(mass(row));
            self.units.supply.push(row);
        }
        if column > 0 {
            self.right.push(usize::MAX);
            self.demand.push(mass(column));
            self.units.demand.push(column);
        }
        self.units.settle();
    }
}

/// Mass from a row to a column.
type Move = (usize, usize, f64);

/// So much of the mass that stays, in the order of points.
fn keep(shared: &[(usize, f64)], mut mass: f64) -> Coupling {
    let mut plan = Coupling::default();
    for &(point, stays) in shared {
        let stays = stays.min(mass);
        if stays > 0.0 {
            plan.push(point as u32, point as u32, stays);
        }
        mass -= stays;
    }
    plan
}
