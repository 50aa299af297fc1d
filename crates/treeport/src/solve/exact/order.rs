//! Which of two measures is on the left: always the same one, so that W₁ from b to a has the bits of
//! W₁ from a to b.
//!
//! Solvers begin on one side and sum in its order. Costs have to be the same both ways, or to come
//! with the measures, as those of a matrix do. Totals that differ by more than rounding are brought to
//! that of the first measure, and so are values.

use std::cmp::Ordering;

use super::{MOST_KEPT, Solution, Solver};
use crate::measure::Measure;
use crate::solve::penalty::Relaxation;
use crate::solve::within::Bounds;
use crate::tree::Coupling;

/// Whether one of two measures comes before the other, in an order of no meaning.
pub(crate) fn precedes(a: &Measure<'_>, b: &Measure<'_>) -> bool {
    let by_size = a.support().len().cmp(&b.support().len());
    let by_masses = by_size.then_with(|| compare(a.masses().iter().zip(b.masses())));
    by_masses.then_with(|| a.support().cmp(b.support())) == Ordering::Less
}

/// The order of the first two numbers that differ.
pub(in crate::solve) fn compare<'a>(
    mut pairs: impl Iterator<Item = (&'a f64, &'a f64)>,
) -> Ordering {
    pairs
        .find_map(|(x, y)| x.partial_cmp(y).filter(|order| order.is_ne()))
        .unwrap_or(Ordering::Equal)
}

/// Whether a problem of masses and costs comes after what it is the other way round.
pub(in crate::solve) fn comes_second(supply: &[f64], demand: &[f64], cost: &[f64]) -> bool {
    order_of_sides(supply, demand, cost) == Ordering::Greater
}

/// The same where a function says the costs.
pub(super) fn comes_second_by(
    supply: &[f64],
    demand: &[f64],
    cost: impl Fn(usize, usize) -> f64,
) -> bool {
    order_of_sides_by(supply, demand, cost) == Ordering::Greater
}

/// The order of a problem of masses and costs and of what it is the other way round.
fn order_of_sides(supply: &[f64], demand: &[f64], cost: &[f64]) -> Ordering {
    let m = demand.len();
    order_of_sides_by(supply, demand, |i, j| cost[i * m + j])
}

fn order_of_sides_by(
    supply: &[f64],
    demand: &[f64],
    cost: impl Fn(usize, usize) -> f64,
) -> Ordering {
    let (n, m) = (supply.len(), demand.len());
    let by_masses = n.cmp(&m).then_with(|| compare(supply.iter().zip(demand)));
    // They are compared only where both sides have as many points.
    let by_costs = || {
        let pairs = (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
        let mut orders = pairs.filter_map(|(i, j)| cost(i, j).partial_cmp(&cost(j, i)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    by_masses.then_with(by_costs)
}

/// Writes a table with so many rows and columns column after column.
pub(in crate::solve) fn transpose(table: &[f64], rows: usize, columns: usize, out: &mut Vec<f64>) {
    out.clear();
    out.reserve(table.len());
    for j in 0..columns {
        out.extend((0..rows).map(|i| table[i * columns + j]));
    }
}

impl Solver {
    /// Turns a problem of masses and costs, unless it comes before what it would be then.
    pub(super) fn orient_matrix(&mut self, relax: Relaxation<'_>) {
        let order = order_of_sides(&self.supply, &self.demand, &self.cost);
        let by_penalties = || {
            let penalty = relax.penalty();
            let both = self.left.iter().zip(&self.right);
            let mut orders = both.map(|(&i, &j)| penalty.at(0, i).total_cmp(&penalty.at(1, j)));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        self.turned = order.then_with(by_penalties) == Ordering::Greater;
        if self.turned {
            let (rows, columns) = (self.left.len(), self.right.len());
            std::mem::swap(&mut self.left, &mut self.right);
            std::mem::swap(&mut self.supply, &mut self.demand);
            self.transpose_costs(rows, columns);
        }
    }

    /// Turns a table of costs with so many rows and columns.
    pub(super) fn transpose_costs(&mut self, rows: usize, columns: usize) {
        std::mem::swap(&mut self.cost, &mut self.turning);
        transpose(&self.turning, rows, columns, &mut self.cost);
        if self.turning.len() > MOST_KEPT {
            self.turning = Vec::new();
        }
    }

    /// A solution from the first of the measures given to the second.
    pub(super) fn as_given(&self, mut solution: Solution) -> Solution {
        if self.turned {
            std::mem::swap(&mut solution.left, &mut solution.right);
        }
        solution.plan = self.plan_as_given(solution.plan);
        solution
    }

    /// Bounds with plan and dual values from the first of the measures given to the second.
    pub(super) fn bounds_as_given(&self, mut bounds: Bounds) -> Bounds {
        if self.turned {
            std::mem::swap(&mut bounds.left, &mut bounds.right);
        }
        bounds.plan = self.plan_as_given(bounds.plan);
        bounds
    }

    pub(super) fn plan_as_given(&self, mut plan: Coupling) -> Coupling {
        if self.turned {
            std::mem::swap(&mut plan.left, &mut plan.right);
        }
        plan
    }
}
