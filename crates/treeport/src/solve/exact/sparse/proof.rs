//! What prices of all sinks prove, over all pairs: looked through in single precision, and again in double
//! where that cannot tell.

use super::Sparse;
use super::cloud::Query;
use crate::error::{Error, Result};
use crate::rounding::double;
use crate::twofold::Twofold;

/// What sources may count on, whatever sink they go to.
pub(super) struct Minima {
    /// The least cost + price of every source, or a little less where nobody asks for more.
    pub(super) least: Vec<f64>,
    /// Arcs whose cost + price is below the limit of their source, with their costs.
    pub(super) cheap: Vec<(u32, u32, f64)>,
    /// Whether single precision could hardly tell sinks apart.
    pub(super) is_blurred: bool,
}

/// Sinks of a source that are looked at in double precision at first, and that are found cheap at once.
const LOOKED_AT: usize = 16;

/// As many times more are looked at where that does not suffice.
const MORE: usize = 8;

impl Sparse<'_> {
    /// The least cost + price of some sources, infinite for all others, and arcs below their limits. Minima above
    /// those need not be known exactly.
    ///
    /// A sink that is not among those looked at has more than the limit of the search, less what single
    /// precision may have lost; the others are computed. Where that is not enough, more are looked at.
    pub(super) fn minima(
        &self,
        prices: &[f64],
        limits: &[f64],
        mut rows: Vec<u32>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Minima> {
        let (n, m) = (self.points[0].len(), self.points[1].len());
        let worth = self.frame.worth;
        let rounded = prices.iter().map(|price| (price / worth) as f32);
        let here = self.sinks.cloud.prices(rounded);
        let largest = prices.iter().fold(0.0, |most: f64, price| most.max(price.abs())) / worth;
        let lost = self.frame.lost(largest);
        let at_least = |value: f32| (f64::from(value) - lost) * worth;
        let mut minima =
            Minima { least: vec![f64::INFINITY; n], cheap: Vec::new(), is_blurred: false };
        let mut most = LOOKED_AT;
        while !rows.is_empty() {
            let mut open = Vec::new();
            let query = Query { prices: &here, most, noise: 0.0 };
            let (sinks, sources) = (&self.sinks.cloud, &self.sources.cloud);
            let is_done = sinks.nearest_while(sources, &rows, &query, goes_on, |row, found| {
                let i = row as usize;
                let (mut least, before) = (f64::INFINITY, minima.cheap.len());
                for entry in found.entries() {
                    // Not cheap, and the least only if none is.
                    if at_least(entry.value) > limits[i] {
                        least = least.min(at_least(entry.value));
                        continue;
                    }
                    let cost = self.cost(i, entry.point as usize);
                    let exact = cost + prices[entry.point as usize];
                    least = least.min(exact);
                    if exact < limits[i] {
                        minima.cheap.push((row, entry.point, cost));
                    }
                }
                let others = at_least(found.limit);
                let is_known = others >= least.min(limits[i]) || most >= m;
                if !is_known && minima.cheap.len() == before {
                    open.push(row);
                }
                minima.least[i] = least.min(others);
            });
            if !is_done {
                return Err(Error::Cancelled);
            }
            rows = open;
            minima.is_blurred |= most > LOOKED_AT && rows.len() > n / 2;
            most = (MORE * most).min(m);
        }
        Ok(minima)
    }

    /// What duals of the sources prove with prices of the sinks, and how far rounding may have put it off.
    ///
    /// Sums are in twice the digits, so that only products round: once each; and every minimum of cost +
    /// price. Totals that are not quite equal let the bound depend on where duals are 0.
    pub(super) fn bound(&self, duals: &[f64], prices: &[f64]) -> (f64, f64) {
        let (mut bound, mut surplus) = (Twofold::from(0.0), Twofold::from(0.0));
        let (mut size, mut largest, mut total) = (0.0, 0.0f64, 0.0);
        let sources = self.masses[0].iter().zip(duals).map(|(&mass, &dual)| (mass, dual, mass));
        let sinks = self.masses[1].iter().zip(prices).map(|(&mass, &price)| (mass, -price, -mass));
        for (mass, dual, given) in sources.chain(sinks) {
            bound = bound + Twofold::from(mass * dual);
            surplus = surplus + Twofold::from(given);
            size += mass * dual.abs();
            largest = largest.max(dual.abs());
            total += mass;
        }
        let rounding = double(4) * size + double(2) * total * largest;
        (bound.rounded(), rounding + surplus.rounded().abs() * largest)
    }
}
