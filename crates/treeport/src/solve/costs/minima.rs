//! Least cost + price of sources over all sinks: searched in single precision, and computed again
//! in double precision where that is ambiguous.

use super::{CostSource, Prices, Query, SinglePrecision};
use crate::error::{Error, Result};
use crate::numeric::rounding::double;

/// Least cost + price of the requested sources, with the arcs below their limits.
pub(in crate::solve) struct Minima {
    /// Least cost + price of every source, or slightly less above its limit; infinite where it was
    /// not requested.
    pub(in crate::solve) least: Vec<f64>,
    /// Arcs whose cost + price is below the limit of their source, with their costs.
    pub(in crate::solve) cheap: Vec<(u32, u32, f64)>,
    /// Whether single precision could hardly distinguish sinks.
    pub(in crate::solve) is_blurred: bool,
}

/// Number of candidates per source in the first search.
const FIRST: usize = 16;

/// Factor by which the number of candidates grows from search to search.
const MORE: usize = 8;

/// Computes the least cost + price of every source, with the bits of a loop over all sinks.
///
/// # Errors
/// `Canceled`.
pub(super) fn exact_minima(
    costs: &dyn CostSource,
    prices: &[f64],
    keep_going: &dyn Fn() -> bool,
) -> Result<Vec<f64>> {
    let [n, m] = costs.sizes();
    let sums = SingleSums::new(costs, prices);
    let (mut minima, mut rows) = (vec![f64::INFINITY; n], (0..n as u32).collect::<Vec<_>>());
    let mut most = FIRST;
    while !rows.is_empty() {
        let mut open = Vec::new();
        let query = Query { prices: &sums.prices, most, noise: 0.0 };
        let is_done = costs.scan(&rows, &query, keep_going, |row, found| {
            let sum = |j: u32| costs.cost(row as usize, j as usize) + prices[j as usize];
            let least = found.entries().map(|entry| sum(entry.sink)).fold(f64::INFINITY, f64::min);
            minima[row as usize] = least;
            if sums.at_least(found.limit) < least && most < m {
                open.push(row);
            }
        });
        if !is_done {
            return Err(Error::Canceled);
        }
        rows = open;
        most = (MORE * most).min(m);
    }
    Ok(minima)
}

/// Prices in single precision, and the lower bounds of sums with them.
struct SingleSums {
    prices: Prices,
    precision: SinglePrecision,
    /// Difference of the prices from those in single precision, in the unit of the problem.
    offset: f64,
    /// Largest absolute price, in multiples of the unit of `precision`.
    largest: f64,
}

impl SingleSums {
    fn new(costs: &dyn CostSource, prices: &[f64]) -> Self {
        let precision = costs.precision();
        let largest = |offset: f64| {
            let prices = prices.iter().map(|price| (price - offset).abs());
            prices.fold(0.0, f64::max) / precision.unit
        };
        let mut offset = 0.0;
        if largest(offset) > FAR * precision.largest {
            // In single precision prices so far from 0 would all be the same.
            let middle = prices.len() / 2;
            offset = *prices.to_vec().select_nth_unstable_by(middle, f64::total_cmp).1;
        }
        let single = prices.iter().map(|price| ((price - offset) / precision.unit) as f32);
        let single = costs.prices(single.collect());
        Self { prices: single, precision, offset, largest: largest(offset) }
    }

    /// Returns a lower bound of a sum from its value in single precision.
    fn at_least(&self, value: f32) -> f64 {
        let value = f64::from(value);
        let Self { precision, offset, largest, .. } = self;
        let lower = (value - precision.lost_in_sum(value, *largest)) * precision.unit;
        if *offset == 0.0 { lower } else { lower + offset - double(4) * offset.abs() }
    }
}

/// Ratio of the largest absolute price to the largest cost from which prices are rounded relative
/// to their median.
const FAR: f64 = 64.0;

/// Computes the least cost + price of the given sources, and finds the arcs below their limits.
/// Minima above the limits need not be known exactly.
///
/// A sink that is not among the candidates has a sum above the limit of the search, up to the error
/// of single precision; candidates are computed in double precision. Where that does not suffice,
/// more candidates are searched for.
///
/// # Errors
/// `Canceled`.
pub(in crate::solve) fn minima(
    costs: &dyn CostSource,
    prices: &[f64],
    limits: &[f64],
    mut rows: Vec<u32>,
    keep_going: &dyn Fn() -> bool,
) -> Result<Minima> {
    let [n, m] = costs.sizes();
    let sums = SingleSums::new(costs, prices);
    let at_least = |value: f32| sums.at_least(value);
    let mut minima = Minima { least: vec![f64::INFINITY; n], cheap: Vec::new(), is_blurred: false };
    let mut most = FIRST;
    while !rows.is_empty() {
        let mut open = Vec::new();
        let query = Query { prices: &sums.prices, most, noise: 0.0 };
        let is_done = costs.scan(&rows, &query, keep_going, |row, found| {
            let i = row as usize;
            let (mut least, before) = (f64::INFINITY, minima.cheap.len());
            for entry in found.entries() {
                // Not below the limit, and the least only if no sum is below it.
                if at_least(entry.value) > limits[i] {
                    least = least.min(at_least(entry.value));
                    continue;
                }
                let cost = costs.cost(i, entry.sink as usize);
                let exact = cost + prices[entry.sink as usize];
                least = least.min(exact);
                if exact < limits[i] {
                    minima.cheap.push((row, entry.sink, cost));
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
            return Err(Error::Canceled);
        }
        rows = open;
        minima.is_blurred |= most > FIRST && rows.len() > n / 2;
        most = (MORE * most).min(m);
    }
    Ok(minima)
}
