//! Partial transport: the cheapest plan that moves exactly a mass m.
//!
//! The spare sink has the demand |μ| − m and the spare source the supply |ρ| − m, at cost 0. If
//! mass moved from the spare source to the spare sink, more than m would move between the points,
//! and rerouting the excess through the spare points would cost less. So any positive cost between
//! them excludes such flow, and no large cost loses digits.
//!
//! With the triangle inequality, mass that both measures have at a point stays there first, as in
//! balanced transport: exchanging the ends of moves that leave and reach the point adds no cost.
//!
//! **Dual values.** The dual problem is max Σau + Σbv + mw with u, v ≤ 0 and u + v + w ≤ c. With
//! λ = w/2, u + λ and v + λ are dual values of the problem with the penalty λ, at which just the
//! mass m moves; their sum Σa(u + λ) + Σb(v + λ) exceeds the bound by λ(Σa + Σb − 2m).

use super::{RelaxMemory, RelaxedTable, SPARE, without_spare};
use crate::error::{Error, Result};
use crate::numeric::rounding::double;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::exact::Certified;
use crate::solve::exact::table::Masses;
use crate::solve::route::by_size;
use crate::solve::sides::Sides;
use crate::tree::Coupling;

impl RelaxedTable<'_> {
    /// Solves the problem in which exactly `mass` moves.
    pub(super) fn with_mass(mut self, mass: f64) -> Result<Answer> {
        let sides = self.sides;
        let (n, m) = (sides.left.len(), sides.right.len());
        let Some(moved) = to_move(sides, mass) else {
            return Ok(Answer::free(shared_plan_of(&sides.shared, mass)));
        };
        // Caps masses at all that moves: beside much larger masses its digits would be lost.
        let RelaxMemory { supply, demand, .. } = &mut *self.memory;
        for (out, masses) in [(&mut *supply, &sides.supply), (&mut *demand, &sides.demand)] {
            out.clear();
            out.extend(masses.iter().map(|mass| mass.min(moved)));
        }
        let [row, column] = self.spare_quanta(moved, digits(sides));
        let largest = self.table.cost.iter().copied().fold(0.0, f64::max);
        let between = if largest > 0.0 { largest } else { 1.0 };
        let places = |count: usize| (0..count).collect::<Vec<usize>>();
        self.set_costs([&places(n), &places(m)], [row > 0, column > 0], |original, i, j| {
            match (i, j) {
                (SPARE, SPARE) => between,
                (SPARE, _) | (_, SPARE) => 0.0,
                _ => original[i * m + j],
            }
        })?;
        self.push_spare(row, column);
        let RelaxMemory { supply, demand, .. } = &*self.memory;
        let masses = Masses { supply, demand, units: self.units };
        let Certified { value, gap, integers } = self.table.certified(masses, self.keep_going)?;
        let moves = self.table.moves(self.units, integers);
        if moves.iter().any(|&(i, j, _)| i == n && j == m) {
            // More than `moved` moves between the points.
            return Err(Error::Unsolved { left: n, right: m });
        }
        let mut answer = Answer::certified(value, gap, by_size(supply.len(), demand.len()));
        (answer.integers, answer.pivots) = (integers, self.table.pivots(integers));
        if self.wanted > Wanted::Value {
            answer.plan = sides.plan_of(without_spare(moves, n, m));
            let duals = self.table.duals(integers);
            let spares = [duals.0.get(n).copied(), duals.1.get(m).copied()];
            let mut duals = MassDuals::new([&duals.0[..n], &duals.1[..m]], spares, sides, moved);
            duals.raise(&self.memory.cost, sides, moved);
            let MassDuals { of_sides: [left, right], penalty } = duals;
            [answer.left, answer.right] = sides.duals_of(left, right);
            answer.penalty = Some(penalty);
        }
        Ok(answer)
    }

    /// Converts masses to quanta; returns those of the spare row and the spare column. If a total
    /// equals the mass that moves up to rounding, all of that side moves.
    fn spare_quanta(&mut self, moved: f64, digits: f64) -> [i128; 2] {
        let RelaxMemory { supply, demand, .. } = &*self.memory;
        self.units.quantize(supply, demand);
        let is_above = |masses: &[f64]| {
            let all: f64 = masses.iter().sum();
            all - moved > digits * all
        };
        let [total_supply, total_demand] = self.units.totals();
        match (is_above(demand), is_above(supply)) {
            (false, false) => [0, 0],
            (false, true) => [0, total_supply - total_demand],
            (true, false) => [total_demand - total_supply, 0],
            (true, true) => {
                let moved = self.units.quanta_of(moved);
                [total_demand - moved, total_supply - moved]
            }
        }
    }
}

/// Dual values of a problem with a mass: those of the problem with a penalty at which it moves.
pub(super) struct MassDuals {
    pub(super) of_sides: [Vec<f64>; 2],
    pub(super) penalty: f64,
}

impl MassDuals {
    /// Maps the dual values of the balanced problem, and those of the spare source and of the spare
    /// sink if there are any, to those of the original problem.
    pub(super) fn new(
        duals: [&[f64]; 2],
        spares: [Option<f64>; 2],
        sides: &Sides,
        moved: f64,
    ) -> Self {
        let mut w = -spares.iter().flatten().sum::<f64>();
        let mut highest = [0.0; 2];
        let mut of_sides = [0, 1].map(|side: usize| -> Vec<f64> {
            let (spare, masses) = (spares[1 - side], [&sides.supply, &sides.demand][side]);
            let by = spare.unwrap_or(0.0);
            let mut shifted: Vec<f64> = duals[side].iter().map(|dual| dual + by).collect();
            // Of a mass above all that moves some stays behind, and its dual value is 0. A lower one
            // is that of a point from which, or to which, all mass moves.
            let capped = shifted.iter().zip(masses).filter(|(_, mass)| **mass > moved);
            let lowest = capped.map(|(dual, _)| *dual).reduce(f64::min);
            if let Some(lowest) = lowest {
                for dual in &mut shifted {
                    *dual -= lowest;
                }
                w += lowest;
            }
            if lowest.is_some() || spare.is_some() {
                for dual in &mut shifted {
                    *dual = dual.min(0.0);
                }
            } else {
                // All mass of this side moves, so nothing bounds its dual values.
                highest[side] = shifted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            }
            shifted
        });
        let penalty = (0.5 * (highest[0] + highest[1] + w)).max(0.0);
        let left = penalty - highest[0];
        for (duals, by) in of_sides.iter_mut().zip([left, w - left]) {
            for dual in duals {
                *dual = (*dual + by).min(penalty);
            }
        }
        Self { of_sides, penalty }
    }

    /// Raises the dual values to the largest ones that the costs of a table allow, first those of
    /// the sinks. Then none is below minus the penalty, and rounding is relative to the penalty.
    fn raise(&mut self, cost: &[f64], sides: &Sides, moved: f64) {
        let width = self.of_sides[1].len();
        // Beside much larger masses any rounding error of the penalty would count.
        let is_capped = |mass: &&f64| **mass > moved;
        for (row, _) in cost.chunks_exact(width).zip(&sides.supply).filter(|x| is_capped(&x.1)) {
            let capped = row.iter().zip(&sides.demand).filter(|x| is_capped(&x.1));
            self.lower_to(capped.map(|(cost, _)| 0.5 * cost).fold(self.penalty, f64::min));
        }
        let Self { of_sides: [left, right], penalty } = self;
        right.fill(*penalty);
        for (row, u) in cost.chunks_exact(width).zip(&*left) {
            right.iter_mut().zip(row).for_each(|(v, cost)| *v = v.min(cost - u));
        }
        for (row, u) in cost.chunks_exact(width).zip(left) {
            let allowed = row.iter().zip(&*right).map(|(cost, v)| cost - v);
            *u = allowed.fold(*penalty, f64::min);
        }
    }

    /// Lowers the penalty, and the dual values to it.
    pub(super) fn lower_to(&mut self, penalty: f64) {
        self.penalty = self.penalty.min(penalty).max(0.0);
        let duals = self.of_sides.iter_mut().flatten();
        duals.for_each(|dual| *dual = dual.min(self.penalty));
    }
}

/// Returns the mass that moves in addition to that which stays in place; `None` if there is none up
/// to rounding.
pub(super) fn to_move(sides: &Sides, mass: f64) -> Option<f64> {
    let totals = [&sides.supply, &sides.demand].map(|masses| masses.iter().sum::<f64>());
    let stays: f64 = sides.shared.iter().map(|entry| entry.1).sum();
    let moved = (mass - stays).min(totals[0]).min(totals[1]);
    (moved > digits(sides) * mass).then_some(moved)
}

/// Returns the relative rounding error of sums of all masses.
fn digits(sides: &Sides) -> f64 {
    double(sides.left.len() + sides.right.len() + sides.shared.len() + 4)
}

/// Returns the plan of the first `mass` of the mass that stays in place, in the order of points.
pub(in crate::solve) fn shared_plan_of(shared: &[(usize, f64)], mut mass: f64) -> Coupling {
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
