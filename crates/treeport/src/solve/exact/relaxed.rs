//! Transport that may leave mass behind: only so much of it, or as much as pays.
//!
//! Both are balanced problems with one row and one column more, for what is left over, and so they
//! are proved as every other.
//!
//! **A penalty λ.** Every unit that is not moved costs λ where it is taken away and λ where it is
//! put back: min ⟨P, C⟩ + λ(|μ| − |P|) + λ(|ρ| − |P|) over plans whose marginals are at most μ and
//! ρ. The spare column takes |μ| at λ each, the spare row gives |ρ| at λ each, and from one to the
//! other goes what both do not use, for nothing. Its dual values, moved so that those of row and
//! column are 0, are u ≤ λ and v ≤ λ with u + v ≤ C. This is the flat metric
//! (Kantorovich–Rubinstein), or marginals penalised by total variation.
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
use crate::solve::matrix::read_masses;
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
        return solver.solution(goes_on);
    }
    solver.shared.clear();
    let Solver { left, right, supply, demand, cost, .. } = &mut *solver;
    let given = read_masses(0, matrix.a, left, supply)?;
    let taken = read_masses(1, matrix.b, right, demand)?;
    matrix.costs.check_shape(matrix.a.len(), matrix.b.len())?;
    let relax = checked(relax, given, taken)?;
    matrix.costs.read_costs(left, right, cost, goes_on)?;
    solver.relaxed(relax, goes_on)
}

/// The masses of the spare row and the spare column, what it costs to and from them, and what it
/// costs from one to the other.
struct Spare {
    row: f64,
    column: f64,
    price: f64,
    between: f64,
}

impl Spare {
    /// What is left of both totals beside the mass that moves, unless it is rounding.
    fn beside(moved: f64, given: f64, taken: f64, largest: f64) -> Self {
        let rest = |all: f64| if all - moved > ROUNDING * all { all - moved } else { 0.0 };
        let between = if largest > 0.0 { largest } else { 1.0 };
        Self { row: rest(taken), column: rest(given), price: 0.0, between }
    }
}

impl Solver {
    /// Solves what is split and has its costs.
    fn relaxed(&mut self, relax: Relax, goes_on: &GoesOn<'_>) -> Result<Solution> {
        match relax {
            Relax::Balanced => unreachable!("balanced problems are not split this way"),
            Relax::Penalty(price) => self.with_penalty(price, goes_on),
            Relax::Mass(mass) => self.with_mass(mass, goes_on),
        }
    }

    /// Solves what is split and has its costs, where what is left costs `price`.
    fn with_penalty(&mut self, price: f64, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let (given, taken) = (self.supply.iter().sum::<f64>(), self.demand.iter().sum::<f64>());
        let stays: f64 = self.shared.iter().map(|entry| entry.1).sum();
        // However high the price, it is not paid for the rounding of totals.
        let even = (given - taken).abs() <= ROUNDING * (stays + given.max(taken));
        if even && 2.0 * price >= price::largest(&self.cost) {
            return self.all_moved(price, goes_on);
        }
        let (n, m) = (self.left.len(), self.right.len());
        let spare = Spare { row: taken, column: given, price, between: 0.0 };
        let mut solution = self.with_spare(&spare, goes_on)?;
        (solution.left, solution.right) = self.priced_duals(n, m, solution.integers);
        Ok(solution)
    }

    /// Solves what is split and has its costs, where exactly `mass` is moved.
    fn with_mass(&mut self, mass: f64, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let (given, taken) = (self.supply.iter().sum::<f64>(), self.demand.iter().sum::<f64>());
        let stays: f64 = self.shared.iter().map(|entry| entry.1).sum();
        let moved = (mass - stays).min(given).min(taken);
        if moved <= ROUNDING * mass {
            return Ok(Solution::free(keep(&self.shared, mass)));
        }
        // Nobody sends or takes more than what moves in all; beside much larger masses its digits
        // would be lost.
        let capped = |masses: &mut [f64]| -> f64 {
            for mass in &mut *masses {
                *mass = mass.min(moved);
            }
            masses.iter().sum()
        };
        let (given, taken) = (capped(&mut self.supply), capped(&mut self.demand));
        let spare = Spare::beside(moved, given, taken, price::largest(&self.cost));
        self.with_spare(&spare, goes_on)
    }

    /// Solves with the spare row and column; no dual values.
    fn with_spare(&mut self, spare: &Spare, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let (n, m) = (self.left.len(), self.right.len());
        self.add_spare(spare)?;
        let Certified { value, gap, integers } = self.certified(goes_on)?;
        let mut plan = keep(&self.shared, f64::INFINITY);
        for (i, j, mass) in self.moves(integers).into_iter().filter(|&(i, j, _)| i < n && j < m) {
            plan.push(self.left[i] as u32, self.right[j] as u32, mass);
        }
        Ok(Solution { value, gap, pivots: self.pivots(integers), integers, ..Solution::free(plan) })
    }

    /// Equal masses where no move costs more than to take a unit away and put it back: plain
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
        Ok(solution)
    }

    /// Puts the spare row and column, where they have mass, after the others.
    fn add_spare(&mut self, spare: &Spare) -> Result<()> {
        let (n, m) = (self.left.len(), self.right.len());
        let (row, column) = (usize::from(spare.row > 0.0), usize::from(spare.column > 0.0));
        let mut cost = Vec::new();
        room_for_costs(&mut cost, n + row, m + column)?;
        for i in 0..n {
            cost.extend_from_slice(&self.cost[i * m..(i + 1) * m]);
            cost.resize(cost.len() + column, spare.price);
        }
        if row == 1 {
            cost.resize(cost.len() + m, spare.price);
            cost.resize(cost.len() + column, spare.between);
            self.left.push(usize::MAX);
            self.supply.push(spare.row);
        }
        if column == 1 {
            self.right.push(usize::MAX);
            self.demand.push(spare.column);
        }
        self.cost = cost;
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
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
