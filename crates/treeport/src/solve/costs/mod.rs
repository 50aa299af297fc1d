//! Cost sources: [`CostSource`], the interface of every engine that works without a table of costs.
//!
//! | source | cost in double precision | search for the least cost + price |
//! | --- | --- | --- |
//! | [`PointCosts`] | the metric | all points, or a k-d tree in few dimensions |
//! | [`MatrixCosts`] | the entry | rows copied in single precision, in blocks of near sinks |
//! | [`DeviceCosts`] | the metric | a device, where that is faster |
//! | [`WithSpares`] | another source, and costs of unmoved mass | that source, a spare row and column |
//!
//! An engine queries costs one by one in double precision. In single precision it queries the sinks
//! of least cost + price of each source, with a lower bound for all other sinks and a bound of the
//! rounding error ([`SinglePrecision`]). From these an engine proves its result ([`minima`]) for
//! any kind of costs. A new source takes one file and one arm of [`cost_source`].

mod candidates;
pub(super) mod device;
mod groups;
mod kd_points;
mod matrix;
mod minima;
mod points;
mod search;
mod spare;
#[cfg(test)]
pub(super) mod tests;

use std::sync::Arc;

use super::exact::{KeepGoing, check_canceled};
use super::sides::{Costs, Sides};
use crate::error::Result;
use crate::memory;
use crate::metric::GroundMetric;
use crate::numeric::rounding::{single, sum_roundings};
pub(super) use candidates::{CLOSED, Candidates, Prices, Query, key, value_of};
use device::{Device, DeviceCosts};
pub(super) use groups::Groups;
pub(super) use kd_points::order as near_order;
use matrix::MatrixCosts;
pub(super) use minima::{Minima, minima};
use points::PointCosts;
pub(super) use points::{has_boxes, is_known_to_devices, is_supported};
pub(super) use spare::SpareCosts;
use spare::WithSpares;

/// Costs between sources and sinks without a table of all of them.
///
/// Costs in single precision are multiples of [`SinglePrecision::unit`].
pub(super) trait CostSource: Sync {
    /// Returns the numbers of sources and sinks.
    fn sizes(&self) -> [usize; 2];

    /// Computes a cost in double precision.
    fn cost(&self, source: usize, sink: usize) -> f64;

    /// Computes a cost in single precision, bit for bit as a scan does.
    fn single(&self, source: usize, sink: usize) -> f32;

    /// Returns the unit and the error bounds of costs in single precision.
    fn precision(&self) -> SinglePrecision;

    /// Returns whether costs are lengths, so that the difference between two sinks is nearly the
    /// same for all sources that are far away.
    fn are_lengths(&self) -> bool {
        false
    }

    /// Returns whether the last source and the last sink are [spares](spare).
    fn has_spares(&self) -> bool {
        false
    }

    /// Creates prices of all sinks.
    fn prices(&self, of: Vec<f32>) -> Prices {
        Prices::padded(of)
    }

    /// Updates the lower bounds that are kept with prices.
    fn refresh(&self, _prices: &mut Prices) {}

    /// Finds the sinks of least cost + price of the given sources.
    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates>;

    /// Returns the largest number of sources to search for between two checks for cancellation.
    fn rows_at_once(&self, rows: usize, query: &Query<'_>) -> usize;

    /// Returns the costs between representatives of up to `group` points that follow each other
    /// where neighbors do; `None` elsewhere.
    fn coarser(&self, _group: usize) -> Option<Coarser<'_>> {
        None
    }
}

/// Coarser problem: one source or sink in the middle of every [group](groups) represents it.
pub(super) struct Coarser<'a> {
    /// Costs between representatives.
    pub(super) costs: Box<dyn CostSource + 'a>,
    /// Costs from all sinks to the representatives of the sources.
    pub(super) back: Box<dyn CostSource + 'a>,
    /// Groups of sources and of sinks.
    pub(super) groups: [Groups; 2],
    /// Mean cost between a point and its representative in groups of several points, on the side
    /// where it is less.
    pub(super) reach: f32,
}

/// Unit and error bounds of costs in single precision.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinglePrecision {
    /// Value of a cost of 1 in single precision.
    pub(super) unit: f64,
    /// Upper bound of all costs in single precision, in multiples of `unit`.
    pub(super) largest: f64,
    /// Upper bound of the rounding error of a cost, in multiples of `unit`. Costs of far points may
    /// be too low by more than that: see [`PointCosts`] and [`MatrixCosts`].
    pub(super) lost: f64,
    /// Upper bound of all costs in double precision.
    pub(super) most: f64,
}

impl SinglePrecision {
    /// Returns an upper bound of the rounding error of a cost plus a price of at most `price`, in
    /// multiples of `unit`.
    pub(super) fn lost_with(&self, price: f64) -> f64 {
        self.lost + single(4) * price
    }

    /// Returns an upper bound of the rounding error of the sum `sum` of a cost and a price, where
    /// the largest absolute price is `price`; all are multiples of `unit`. Far points may have
    /// prices far below all others.
    fn lost_in_sum(&self, sum: f64, price: f64) -> f64 {
        self.lost_with(price.min(sum.abs() + self.largest))
    }

    /// Returns the least useful ε; prices far from 0 rise only by a [larger](RISES) one.
    pub(super) fn finest(&self) -> f32 {
        RISES * self.largest as f32 / 4096.0
    }
}

/// Least ratio of ε to costs and prices at which prices in single precision still rise.
pub(super) const RISES: f32 = single(8) as f32;

/// Returns the error bound [`SinglePrecision::lost`] of costs that were rounded once.
fn rounded_once(largest: f64) -> f64 {
    2.0 * single(sum_roundings(0) + 4) * largest
}

impl dyn CostSource + '_ {
    /// Finds the candidates of the given sources while `keep_going` returns true; returns whether
    /// the scan was completed.
    pub(super) fn scan(
        &self,
        rows: &[u32],
        query: &Query<'_>,
        keep_going: &dyn Fn() -> bool,
        mut take: impl FnMut(u32, &Candidates),
    ) -> bool {
        let at_once = self.rows_at_once(rows.len(), query).min(MOST_FOUND / query.most);
        rows.chunks(at_once.max(TOGETHER)).all(|rows| {
            if !keep_going() {
                return false;
            }
            let found = self.candidates(rows, query);
            rows.iter().zip(&found).for_each(|(&row, found)| take(row, found));
            true
        })
    }
}

/// Coordinates that are scanned between two checks for cancellation.
const AT_ONCE: usize = 1 << 28;

/// Largest number of candidates that are found before they are consumed.
const MOST_FOUND: usize = 1 << 20;

/// Sources for which a block is scanned while it is in the cache.
const TOGETHER: usize = 16;

/// Cost source with the indices of its sources and sinks in the sides, which may have another
/// order.
pub(super) struct OrderedCosts<'a> {
    pub(super) costs: Box<dyn CostSource + 'a>,
    pub(super) places: [Vec<u32>; 2],
}

impl OrderedCosts<'_> {
    /// Adds a spare source and a spare sink. `SpareCosts` are in the order of the sides, and the
    /// spares come last there, too.
    pub(super) fn with_spares(self, spares: &SpareCosts) -> Self {
        let Self { costs, mut places } = self;
        let of_sides = [0, 1].map(|side: usize| -> Vec<f64> {
            places[side].iter().map(|&place| spares.of_sides[side][place as usize]).collect()
        });
        for places in &mut places {
            places.push(places.len() as u32);
        }
        let spares = SpareCosts { of_sides, between: spares.between.min(costs.precision().most) };
        let costs = Box::new(WithSpares::new(costs, spares));
        Self { costs, places }
    }
}

/// Lays out the costs of a problem in single precision; `None` where that cannot distinguish them.
///
/// # Errors
/// No memory; an entry of a matrix that is negative or not finite; `Canceled`.
pub(super) fn cost_source<'a>(
    costs: Costs<'a>,
    sides: &Sides,
    device: Option<&Arc<dyn Device>>,
    keep_going: &KeepGoing<'_>,
) -> Result<Option<OrderedCosts<'a>>> {
    let of_sides = [&sides.left[..], &sides.right];
    let metric = match costs {
        Costs::Metric(metric) => metric,
        Costs::Matrix(view) => {
            let costs = MatrixCosts::new(view, of_sides, sides.swapped, keep_going)?;
            let boxed = |(costs, places)| OrderedCosts { costs: Box::new(costs) as _, places };
            return Ok(costs.map(boxed));
        }
    };
    if !is_supported(metric) {
        return Ok(None);
    }
    let places = of_sides.map(|side| kd_points::order(metric, side));
    check_canceled(keep_going)?;
    let numbers =
        |side: usize| places[side].iter().map(|&at| of_sides[side][at as usize]).collect();
    let points = PointCosts::new(metric, [numbers(0), numbers(1)]);
    check_canceled(keep_going)?;
    let Some(points) = points else { return Ok(None) };
    let costs: Box<dyn CostSource + 'a> = match device {
        Some(device) => Box::new(DeviceCosts::new(points, device)),
        None => Box::new(points),
    };
    Ok(Some(OrderedCosts { costs, places }))
}

/// Computes the least cost + price over all sinks for every source, with the bits of a loop over
/// all pairs; `None` where single precision does not support the metric.
///
/// # Errors
/// `Canceled`.
pub(super) fn least_sums(
    metric: &GroundMetric,
    sides: [&[usize]; 2],
    prices: &[f64],
    keep_going: &KeepGoing<'_>,
) -> Result<Option<Vec<f64>>> {
    if !is_supported(metric) {
        return Ok(None);
    }
    let places = sides.map(|side| kd_points::order(metric, side));
    check_canceled(keep_going)?;
    let [sources, sinks] =
        [0, 1].map(|side: usize| places[side].iter().map(|&at| sides[side][at as usize]).collect());
    let Some(costs) = PointCosts::new(metric, [sources, sinks]) else { return Ok(None) };
    let prices: Vec<f64> = places[1].iter().map(|&at| prices[at as usize]).collect();
    let sums = minima::exact_minima(&costs, &prices, &|| keep_going(None))?;
    if sums.contains(&f64::INFINITY) {
        // Prices beyond those of single precision.
        return Ok(None);
    }
    let mut least = vec![0.0; places[0].len()];
    for (&place, sum) in places[0].iter().zip(sums) {
        least[place as usize] = sum;
    }
    Ok(Some(least))
}

/// Estimates the bytes of costs in single precision between this many points.
pub(super) fn bytes(costs: Costs<'_>, sources: usize, sinks: usize) -> u64 {
    match costs {
        Costs::Metric(metric) => {
            let dim = metric.vectors().map_or(1, |(dim, _)| dim);
            memory::size_of::<u8>(&[sources.saturating_add(sinks), 12 * dim])
        }
        // The copy, least costs of blocks, and coarser levels.
        Costs::Matrix(_) => memory::size_of::<f32>(&[sources, sinks]).saturating_mul(5) / 4,
    }
}
