//! Bounds of the optimum: the cost of plans and the value of dual feasible potentials.

use super::basis::Flow;
use super::{AuctionProblem, Best};
use crate::error::Result;
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::rounding::double;
use crate::solve::costs::minima;
use crate::solve::exact::integer_mass::Units;

impl AuctionProblem<'_> {
    /// Returns an upper bound of the cost of moving mass that integer quanta leave out or add, and
    /// of the difference of the totals, on any arc.
    pub(super) fn settling(&self, units: &Units) -> f64 {
        let (supply, demand) =
            (self.masses[0].iter().copied(), self.masses[1].iter().map(|mass| -mass));
        let sums = supply.chain(demand).map(DoubleDouble::from);
        let apart = sums.fold(DoubleDouble::from(0.0), |sum, mass| sum + mass).rounded().abs();
        (units.rounded(&self.masses[0], &self.masses[1]) + apart) * self.costs.precision().most
    }

    /// Computes the cost of a plan, and keeps the plan if it is the best so far.
    pub(super) fn offer_plan(
        &self,
        flows: &[Flow],
        mass: &dyn Fn(i128) -> f64,
        best: &mut Best,
    ) -> f64 {
        let cost = |&(i, j, flow): &Flow| mass(flow) * self.cost(i as usize, j as usize);
        let value: f64 = flows.iter().map(cost).sum();
        let upper = value + best.settling;
        if upper < best.upper {
            self.keep_plan(upper, flows, mass, best);
        }
        value
    }

    /// Stores a plan by index in the sides.
    pub(super) fn keep_plan(
        &self,
        upper: f64,
        flows: &[Flow],
        mass: &dyn Fn(i128) -> f64,
        best: &mut Best,
    ) {
        let moves = flows.iter().map(|&(i, j, flow)| {
            let [i, j] = [self.places[0][i as usize], self.places[1][j as usize]];
            (i as usize, j as usize, mass(flow))
        });
        best.moves = moves.filter(|(_, _, mass)| *mass > 0.0).collect();
        best.upper = upper;
    }

    /// Computes the lower bound of prices over all pairs, and stores it if it is the best so far.
    pub(super) fn offer_prices(
        &self,
        prices: &[f64],
        keep_going: &dyn Fn() -> bool,
        best: &mut Best,
    ) -> Result<()> {
        let n = self.places[0].len();
        let limits = vec![f64::NEG_INFINITY; n];
        let rows = (0..n as u32).collect();
        let duals = minima(&*self.costs, prices, &limits, rows, keep_going)?.least;
        let (bound, rounding) = self.bound(&duals, prices);
        self.offer_bound(bound - rounding, &duals, prices, best);
        Ok(())
    }

    pub(super) fn offer_bound(&self, lower: f64, duals: &[f64], prices: &[f64], best: &mut Best) {
        if lower > best.lower {
            self.keep_duals(lower, duals, prices, best);
        }
    }

    /// Stores dual values by index in the sides.
    pub(super) fn keep_duals(&self, lower: f64, duals: &[f64], prices: &[f64], best: &mut Best) {
        best.lower = lower.max(0.0);
        best.left.resize(duals.len(), 0.0);
        best.right.resize(prices.len(), 0.0);
        for (&place, dual) in self.places[0].iter().zip(duals) {
            best.left[place as usize] = *dual;
        }
        for (&place, price) in self.places[1].iter().zip(prices) {
            best.right[place as usize] = -price;
        }
    }

    /// Computes the lower bound of dual values of the sources with prices of the sinks, and an
    /// upper bound of its rounding error.
    ///
    /// Sums have twice the digits, so that only products are rounded, once each, and every minimum
    /// of cost + price. If totals are not exactly equal, the bound depends on the offset of the
    /// dual values.
    pub(super) fn bound(&self, duals: &[f64], prices: &[f64]) -> (f64, f64) {
        let (mut bound, mut surplus) = (DoubleDouble::from(0.0), DoubleDouble::from(0.0));
        let (mut size, mut largest, mut total) = (0.0, 0.0f64, 0.0);
        let sources = self.masses[0].iter().zip(duals).map(|(&mass, &dual)| (mass, dual, mass));
        let sinks = self.masses[1].iter().zip(prices).map(|(&mass, &price)| (mass, -price, -mass));
        for (mass, dual, supply) in sources.chain(sinks) {
            bound = bound + DoubleDouble::from(mass * dual);
            surplus = surplus + DoubleDouble::from(supply);
            size += mass * dual.abs();
            largest = largest.max(dual.abs());
            total += mass;
        }
        let rounding = double(4) * size + double(2) * total * largest;
        (bound.rounded(), rounding + surplus.rounded().abs() * largest)
    }
}
