//! Transport that may leave mass behind: only so much of it, or as much as pays.
//!
//! Both are balanced problems with one row and one column more, for what is left over, and so they
//! are proved as every other.
//!
//! **A penalty λ.** Every unit that is not moved costs λ where it is taken away and λ where it is
//! put back: min ⟨P, C⟩ + λ(|μ| − |P|) + λ(|ρ| − |P|) over plans whose marginals are at most μ and
//! ρ. The spare column takes |μ| at λ each, the spare row gives |ρ| at λ each, and from one to the
//! other goes what both do not use, for nothing. Costs above 2λ count as 2λ, and moves over such
//! arcs are left out of the plan: they cost as much as leaving both ends behind, and however far costs
//! are above the penalty, no digit is lost to them. The dual values, moved so that those of row and
//! column are 0, are u ≤ λ and v ≤ λ with u + v ≤ C. This is the flat metric
//! (Kantorovich–Rubinstein), or marginals penalized by total variation.
//!
//! **A mass m.** The spare column takes |μ| − m and the spare row gives |ρ| − m, for nothing. Mass
//! that went from one to the other would leave more than m to be moved, and as much of that is
//! moved for less by going through both: so any price above 0 keeps it away, and no large number
//! spoils the digits.
//!
//! Where the triangle inequality is promised, mass that both have at a point stays there first, as
//! in balanced transport: swapping ends of moves that leave and reach the point costs nothing.

use super::{Certified, GoesOn, ROUNDING, Solution, Solver, balance_totals, price, room_for_costs};
use crate::error::{Error, Result};
use crate::rounding::double;
use crate::solve::matrix::SideMasses;
use crate::solve::problem::{OnMatrix, OnMetric, Relax};
use crate::tree::Coupling;

/// What may be left behind of measures of these totals, in range: a mass is, up to rounding, at most
/// the smaller total.
pub(in crate::solve) fn checked(relax: Relax, given: f64, taken: f64) -> Result<Relax> {
    let bad = |option, value: f64, expected| {
        Err(Error::BadOption { option, value: value.to_string(), expected })
    };
    match relax {
        Relax::Penalty(price) if !(0.0..f64::INFINITY).contains(&price) => {
            bad("penalty", price, "it must be finite and at least 0")
        }
        Relax::Mass(mass) => {
            let most = given.min(taken);
            if !(0.0..=most * (1.0 + ROUNDING)).contains(&mass) {
                let expected = "it must be at least 0 and at most the smaller of the totals";
                return bad("mass", mass, expected);
            }
            Ok(Relax::Mass(mass.min(most)))
        }
        Relax::Penalty(_) | Relax::Balanced => Ok(relax),
    }
}

/// The cheapest plan between measures that live on the metric's points.
pub(in crate::solve) fn solve_on_metric(
    solver: &mut Solver,
    pair: &OnMetric<'_>,
    relax: Relax,
    goes_on: &GoesOn<'_>,
) -> Result<Solution> {
    let relax = checked(relax, pair.a.total(), pair.b.total())?;
    if relax == Relax::Balanced {
        return solver.balanced_on_metric(pair, goes_on);
    }
    solver.split(&pair.a, &pair.b, 1.0, pair.metric.is_metric());
    solver.cost.clear();
    if !solver.left.is_empty() && !solver.right.is_empty() {
        solver.fill_costs(pair.metric, goes_on)?;
    }
    solver.relaxed(relax, goes_on)
}

/// The cheapest plan from the masses of rows to those of columns.
pub(in crate::solve) fn solve_on_matrix(
    solver: &mut Solver,
    matrix: &OnMatrix<'_>,
    relax: Relax,
    goes_on: &GoesOn<'_>,
) -> Result<Solution> {
    if relax == Relax::Balanced {
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
    solver.orient_matrix();
    solver.relaxed(relax, goes_on)
}

/// The quanta of the spare row and the spare column, what it costs to and from them, and what it
/// costs from one to the other.
#[derive(Clone, Copy)]
struct Spare {
    row: i128,
    column: i128,
    price: f64,
    between: f64,
}

impl Solver {
    /// Solves what is split and has its costs.
    fn relaxed(&mut self, relax: Relax, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let solution = match relax {
            Relax::Balanced => unreachable!("balanced problems are not split this way"),
            Relax::Penalty(price) => self.with_penalty(price, goes_on),
            Relax::Mass(mass) => self.with_mass(mass, goes_on),
        };
        solution.map(|solution| self.as_given(solution))
    }

    /// Solves what is split and has its costs, where what is left costs `price`.
    fn with_penalty(&mut self, price: f64, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let (n, m) = (self.left.len(), self.right.len());
        let even = self.is_even();
        if even && 2.0 * price >= price::largest(&self.cost) {
            return self.all_moved(price, goes_on);
        }
        // Whoever pays as much for a move as for leaving both ends behind leaves them behind.
        for cost in &mut self.cost {
            *cost = cost.min(2.0 * price);
        }
        self.units.count(&self.supply, &self.demand);
        if even && n > 0 && m > 0 {
            self.units.balance();
        }
        let [given, taken] = self.units.totals();
        self.add_spare(Spare { row: taken, column: given, price, between: 0.0 })?;
        let proved = self.certified(goes_on)?;
        let width = self.right.len();
        let pays = |&(i, j, _): &Move| i < n && j < m && self.cost[i * width + j] < 2.0 * price;
        let moves: Vec<Move> = self.moves(proved.integers).into_iter().filter(pays).collect();
        let mut solution = self.left_over(&moves, &proved);
        (solution.left, solution.right) = self.priced_duals(n, m, proved.integers);
        self.judge(price, &moves, &mut solution)?;
        Ok(solution)
    }

    /// Whether both sides have the same: however high the price, it is not paid for the last digits
    /// that masses are rounded to and sums lose.
    fn is_even(&self) -> bool {
        let (given, taken) = (self.supply.iter().sum::<f64>(), self.demand.iter().sum::<f64>());
        let stays: f64 = self.shared.iter().map(|entry| entry.1).sum();
        let terms = self.supply.len() + self.demand.len() + self.shared.len();
        (given - taken).abs() <= double(terms + 4) * (stays + given.max(taken))
    }

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
        Spare { row, column, price: 0.0, between: if largest > 0.0 { largest } else { 1.0 } }
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

    /// Even masses where no move costs more than to take a unit away and put it back: plain
    /// transport. Its dual values u and v add up to at most 2λ, so both can be at most λ.
    fn all_moved(&mut self, price: f64, goes_on: &GoesOn<'_>) -> Result<Solution> {
        if self.left.is_empty() || self.right.is_empty() {
            return Ok(Solution::free(keep(&self.shared, f64::INFINITY)));
        }
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
        let mut solution = self.solution(goes_on)?;
        let above = |duals: &Duals| duals.iter().map(|dual| dual.1 - price).fold(0.0, f64::max);
        let shift = above(&solution.left) - above(&solution.right);
        solution.left.iter_mut().for_each(|dual| dual.1 -= shift);
        solution.right.iter_mut().for_each(|dual| dual.1 += shift);
        let moves = self.moves(solution.integers);
        self.judge(price, &moves, &mut solution)?;
        Ok(solution)
    }

    /// Looks at what leaves here, whatever solver it comes from: dual values of the rows are lowered to
    /// the penalty, those of the columns set to what rows, costs and penalty allow, so that they prove a
    /// bound by themselves; the moves and what they leave behind have to cost the value, and the bound
    /// has to reach it. All sums are to [`Solution::TOLERANCE`] of the value, and to the last digits of
    /// what all masses would cost, which no sum of such numbers keeps.
    fn judge(&self, price: f64, moves: &[Move], solution: &mut Solution) -> Result<()> {
        let Solution { value, left, right, .. } = solution;
        let (n, m, width) = (left.len(), right.len(), self.right.len());
        let (supply, demand) = (&self.supply[..n], &self.demand[..m]);
        for dual in right.iter_mut() {
            dual.1 = price;
        }
        for (i, (_, u)) in left.iter_mut().enumerate() {
            *u = u.min(price);
            for ((_, v), cost) in right.iter_mut().zip(&self.cost[i * width..]) {
                *v = v.min(cost - *u);
            }
        }
        let worth = |masses: &[f64], duals: &Duals| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual.1).sum()
        };
        let bound = worth(supply, left) + worth(demand, right);
        let (mut given, mut taken, mut cost) = (supply.to_vec(), demand.to_vec(), 0.0);
        for &(i, j, mass) in moves {
            given[i] -= mass;
            taken[j] -= mass;
            cost += mass * self.cost[i * width + j];
        }
        let all: f64 = supply.iter().chain(demand).sum();
        let digits = 4.0 * double(n + m + 4) * all;
        let rest = || given.iter().chain(&taken);
        cost += price * rest().sum::<f64>();
        let tolerance = Solution::TOLERANCE * *value + digits * price;
        let is_plan = rest().all(|&rest| rest >= -digits);
        if is_plan && (cost - *value).abs() <= tolerance && (bound - *value).abs() <= tolerance {
            return Ok(());
        }
        Err(Error::Unsolved { left: n, right: m })
    }

    /// Puts the spare row and column, where they have mass, after the others. They have exactly what
    /// they have to: a remainder of rounded sums would have to travel somewhere, at any cost.
    fn add_spare(&mut self, spare: Spare) -> Result<()> {
        let (n, m) = (self.left.len(), self.right.len());
        let (row, column) = (usize::from(spare.row > 0), usize::from(spare.column > 0));
        let mut cost = Vec::new();
        room_for_costs(&mut cost, n + row, m + column)?;
        for i in 0..n {
            cost.extend_from_slice(&self.cost[i * m..(i + 1) * m]);
            cost.resize(cost.len() + column, spare.price);
        }
        let mass = self.units.quantum();
        if row == 1 {
            cost.resize(cost.len() + m, spare.price);
            cost.resize(cost.len() + column, spare.between);
            self.left.push(usize::MAX);
            self.supply.push(mass(spare.row));
            self.units.supply.push(spare.row);
        }
        if column == 1 {
            self.right.push(usize::MAX);
            self.demand.push(mass(spare.column));
            self.units.demand.push(spare.column);
        }
        self.cost = cost;
        self.units.settle();
        Ok(())
    }

    /// Dual values of the first `n` rows and `m` columns, so that those of the spare ones are 0.
    fn priced_duals(&self, n: usize, m: usize, integers: bool) -> (Duals, Duals) {
        let (left, right) = self.duals(integers);
        let last = |duals: &[f64], at: usize| duals.get(at).copied().unwrap_or(0.0);
        let (from_row, from_column) = (last(&left, n), last(&right, m));
        let pair = |points: &[usize], duals: &[f64], moved: f64, count: usize| {
            points.iter().zip(duals).take(count).map(|(&p, dual)| (p, dual + moved)).collect()
        };
        (pair(&self.left, &left, from_column, n), pair(&self.right, &right, from_row, m))
    }
}

/// Mass from a row to a column.
type Move = (usize, usize, f64);

/// Points and their dual values.
type Duals = Vec<(usize, f64)>;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources, two sinks, a cheap way each, and something left over.
    fn solved() -> (Solver, Vec<Move>, Solution) {
        let mut solver = Solver {
            left: vec![0, 1],
            right: vec![0, 1],
            supply: vec![1.0, 2.0],
            demand: vec![1.0, 1.0],
            cost: vec![0.5, 9.0, 9.0, 0.25],
            ..Solver::default()
        };
        let solution = solver.with_penalty(1.0, &|_| true).unwrap();
        (solver, vec![(0, 0, 1.0), (1, 1, 1.0)], solution)
    }

    #[test]
    fn what_does_not_prove_its_value_does_not_leave() {
        let (solver, moves, solution) = solved();
        assert_eq!(solution.value, 1.75);
        solver.judge(1.0, &moves, &mut solution.clone()).unwrap();
        let refused = |moves: &[Move], solution: &Solution| {
            solver.judge(1.0, moves, &mut solution.clone()).unwrap_err();
        };
        // Another value, another plan, more than there is, worse dual values.
        refused(&moves, &Solution { value: 1.750_000_1, ..solution.clone() });
        refused(&moves[..1], &solution);
        refused(&[(0, 0, 1.5), (1, 1, 0.5)], &solution);
        let lower = vec![(0, 0.0), (1, 0.0)];
        refused(&moves, &Solution { left: lower, ..solution.clone() });
    }
}
