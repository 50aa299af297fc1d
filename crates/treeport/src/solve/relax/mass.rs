//! Partial transport: the cheapest plan that moves exactly a mass m.
//!
//! The spare sink has the demand |μ| − m and the spare source the supply |ρ| − m, at cost 0. If
//! mass moved from the spare source to the spare sink, more than m would move between the points,
//! and rerouting the excess through the spare points would cost less. So any positive cost between
//! them excludes such flow, and no large cost loses digits.
//!
//! With the triangle inequality, mass that both measures have at a point stays there first, as in
//! balanced transport: exchanging the ends of moves that leave and reach the point adds no cost.

use super::{RelaxMemory, RelaxedTable, SPARE, without_spare};
use crate::error::{Error, Result};
use crate::rounding::double;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::exact::Certified;
use crate::solve::exact::table::Masses;
use crate::solve::route::by_size;
use crate::tree::Coupling;

impl RelaxedTable<'_> {
    /// Solves the problem in which exactly `mass` moves, without dual values.
    pub(super) fn with_mass(mut self, mass: f64) -> Result<Answer> {
        let sides = self.sides;
        let (n, m) = (sides.left.len(), sides.right.len());
        let totals = [&sides.supply, &sides.demand].map(|masses| masses.iter().sum::<f64>());
        let stays: f64 = sides.shared.iter().map(|entry| entry.1).sum();
        let moved = (mass - stays).min(totals[0]).min(totals[1]);
        let digits = double(n + m + sides.shared.len() + 4);
        if moved <= digits * mass {
            return Ok(Answer::free(shared_plan_of(&sides.shared, mass)));
        }
        // Caps masses at all that moves: beside much larger masses its digits would be lost.
        let RelaxMemory { supply, demand, .. } = &mut *self.memory;
        for (out, masses) in [(&mut *supply, &sides.supply), (&mut *demand, &sides.demand)] {
            out.clear();
            out.extend(masses.iter().map(|mass| mass.min(moved)));
        }
        let [row, column] = self.spare_quanta(moved, digits);
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
