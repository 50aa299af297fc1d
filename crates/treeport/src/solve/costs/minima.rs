//! Least cost + price of sources over all sinks: searched in single precision, and computed again
//! in double precision where that is ambiguous.

use super::{CostSource, Query};
use crate::error::{Error, Result};

/// Least cost + price of some sources, with the arcs below their limits.
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

/// Computes the least cost + price of some sources, and finds the arcs below their limits. Minima
/// above the limits need not be known exactly.
///
/// A sink that is not among the candidates has a sum above the limit of the search, up to the error
/// of single precision; candidates are computed in double precision. Where that does not suffice,
/// more candidates are searched for.
///
/// # Errors
/// `Cancelled`.
pub(in crate::solve) fn minima(
    costs: &dyn CostSource,
    prices: &[f64],
    limits: &[f64],
    mut rows: Vec<u32>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Minima> {
    let [n, m] = costs.sizes();
    let precision = costs.precision();
    let unit = precision.unit;
    let single = costs.prices(prices.iter().map(|price| (price / unit) as f32).collect());
    let largest = prices.iter().fold(0.0, |most: f64, price| most.max(price.abs())) / unit;
    let lost = precision.lost_with(largest);
    let at_least = |value: f32| (f64::from(value) - lost) * unit;
    let mut minima = Minima { least: vec![f64::INFINITY; n], cheap: Vec::new(), is_blurred: false };
    let mut most = FIRST;
    while !rows.is_empty() {
        let mut open = Vec::new();
        let query = Query { prices: &single, most, noise: 0.0 };
        let is_done = costs.scan(&rows, &query, goes_on, |row, found| {
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
            return Err(Error::Cancelled);
        }
        rows = open;
        minima.is_blurred |= most > FIRST && rows.len() > n / 2;
        most = (MORE * most).min(m);
    }
    Ok(minima)
}
