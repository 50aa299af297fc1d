//! Searches for relaxed problems, in which mass may remain unmatched at a penalty and totals may
//! differ.
//!
//! A store on either side has the total of the other side: excess mass goes to a store and missing
//! mass comes from one. The cost to or from a store is the penalty at the point, and 0 between
//! stores. The problem is then balanced and has the value of the relaxed problem, so every feasible
//! dual bounds it. Levels are those of balanced clouds, with one more row and column, except that
//! no table of potentials is used, which would need the penalties of the query.

use super::Index;
use super::clouds::side_by_side;
use super::potentials::Reference;
use super::query::{Query, Searcher};
use super::query_distances::QueryDistances;
use crate::clouds::Clouds;
use crate::error::{Error, Result, show_number};
use crate::measures::{Measure, Measures};
use crate::metric::{GroundMetric, lowered};
use crate::numeric::rounding::single;
use crate::solve::sides::precedes;
use crate::solve::single_problem::SingleProblem;
use crate::solve::{Problem, relax};

/// Penalty per unit of unmatched mass at every column of an index.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    /// The penalty at all points if it was given as one number; queries use it, too.
    pub(super) same: Option<f64>,
    pub(super) of_columns: Vec<f64>,
    /// Penalties in multiples of the unit of the indexed points, in single precision, rounded down.
    pub(super) lowered: Vec<f32>,
    /// Mean total mass of the clouds.
    pub(super) mean_total: f64,
}

impl Prices {
    pub(super) fn new(
        same: Option<f64>,
        of_columns: Vec<f64>,
        measures: &Measures,
        unit: f64,
    ) -> Self {
        let lowered = of_columns.iter().map(|&price| lowered(price, unit)).collect();
        let count = measures.len().max(1) as f64;
        let mean_total = measures.iter().map(|row| row.total() / count).sum();
        Self { same, of_columns, lowered, mean_total }
    }
}

/// Returns the divisor of masses: the total of a query, or the mean total of the clouds if the
/// query is empty.
pub(super) fn scale_of(index: &Index, query: &Measure<'_>) -> f64 {
    let typical = index.prices.as_ref().map_or(0.0, |prices| prices.mean_total);
    let some = [query.total(), typical].into_iter().find(|&total| total > 0.0);
    some.unwrap_or(1.0)
}

/// Range of shares whose products are exact in single precision up to rounding.
const SHARES: std::ops::Range<f32> = 1e-15..1e15;

/// Returns the penalties at all points of clouds under a metric: their own, or the same penalty
/// everywhere.
///
/// # Errors
/// A penalty is negative or not finite; the clouds' own penalties are for another metric or
/// conflict with `same`.
pub(super) fn prices_of(
    clouds: &Clouds,
    metric: &GroundMetric,
    same: Option<f64>,
) -> Result<Option<Vec<f64>>> {
    clouds.check_without_essential()?;
    let own = match metric.point_metric() {
        Some(kind) => clouds.penalties(kind.with_optional_period(metric.period().cloned()))?,
        None => None,
    };
    match (own, same) {
        (Some(_), Some(_)) => Err(Error::MixedPenalties),
        (Some(own), None) => Ok(Some(own.to_vec())),
        (None, Some(same)) => {
            relax::check(&[same], 1).map_err(|_| Error::BadOption {
                option: "penalty",
                value: show_number(same),
                expected: "it must be finite and at least 0",
            })?;
            Ok(Some(vec![same; clouds.points()]))
        }
        (None, None) => Ok(None),
    }
}

/// Computes the exact relaxed cost between a query and a cloud of the collection.
///
/// The smaller of two clouds of a collection always comes first, so that swapping them gives equal
/// bits.
pub(super) fn relaxed_value(
    query: &Query<'_>,
    prices: &Prices,
    other: &Measure<'_>,
) -> Result<f64> {
    let Query { index, measure, request, counter } = *query;
    let (own, of_query) = (&index.indexed.metric, request.prices.unwrap_or(&prices.of_columns));
    let others = request.query_metric.unwrap_or(own);
    let at = |prices: &[f64], of: &Measure<'_>| -> Vec<f64> {
        of.support().iter().map(|&point| prices[point as usize]).collect()
    };
    let (a, b) = (at(of_query, measure), at(&prices.of_columns, other));
    if a.is_empty() || b.is_empty() {
        let left = |prices: &[f64], of: &Measure<'_>| -> f64 {
            prices.iter().zip(of.masses()).map(|(price, mass)| price * mass).sum()
        };
        return Ok(left(&a, measure) + left(&b, other));
    }
    let swapped = precedes(other, measure);
    let (metric, pair) = if swapped {
        side_by_side((own, other), (others, measure))?
    } else {
        side_by_side((others, measure), (own, other))?
    };
    let both = if swapped { [b, a].concat() } else { [a, b].concat() };
    let problem = Problem::new(&metric, &pair.row(0), &pair.row(1)).with_penalties(&both, &both);
    problem.value(&|_| counter.add(0).is_ok())
}

impl Reference {
    /// [`find_duals`](Self::find_duals) with a store on either side; the dual of the store that is
    /// a source becomes 0. Penalties of the reference are those of the first columns of the net.
    pub(super) fn find_relaxed_duals(
        &self,
        index: &Index,
        measure: &Measure<'_>,
        prices: &[f32],
        distances: &mut QueryDistances,
        problem: &mut SingleProblem,
    ) -> Result<()> {
        let Some(Prices { lowered, mean_total, .. }) = &index.prices else { return Ok(()) };
        let net = index.tabled();
        let columns = 0..self.points.len() as u32;
        distances.add(net, columns.clone())?;
        let scale = scale_of(index, measure);
        let reference_total = (mean_total / scale) as f32;
        let masses = measure.masses().iter().map(|mass| (mass / scale) as f32);
        problem.begin(masses.chain([reference_total]));
        let mut row = Vec::with_capacity(prices.len() + 1);
        for (column, &mass) in columns.zip(&self.mass) {
            row.clear();
            row.extend_from_slice(distances.to(column));
            row.push(lowered[net.points[column as usize] as usize]);
            problem.push(mass * reference_total, &row);
        }
        row.clear();
        row.extend_from_slice(prices);
        row.push(0.0);
        problem.push((measure.total() / scale) as f32, &row);
        self.sweep(problem);
        let store = problem.u.last().copied().unwrap_or(0.0);
        for (v, price) in problem.v.iter_mut().zip(prices) {
            *v = (*v + store).min(*price);
        }
        Ok(())
    }
}

impl Searcher {
    /// Sets the penalties at the query's points in single precision, from those at all points of
    /// its metric.
    pub(super) fn set_query_prices(&mut self, index: &Index, query: &Measure<'_>, all: &[f64]) {
        let unit = index.indexed.unit;
        self.query_prices.clear();
        self.query_prices
            .extend(query.support().iter().map(|&point| lowered(all[point as usize], unit)));
    }

    /// Bounds all clouds by the potential of the query, which is at most the penalty at each point.
    pub(super) fn bound_relaxed_by_query(&mut self, index: &Index, query: &Measure<'_>) {
        let Some(prices) = &index.prices else { return };
        let f = &mut self.potential.f;
        if query.support().is_empty() {
            f.fill(f32::MAX);
        }
        f.iter_mut().zip(&prices.lowered).for_each(|(f, &price)| *f = f.min(price));
        let largest = f.iter().fold(0.0, |most: f32, f| most.max(f.abs()));
        let constant = if query.total() > 0.0 { self.potential.constant as f32 } else { 0.0 };
        let scale = scale_of(index, query);
        for (row, entries) in index.start.windows(2).enumerate() {
            let entries = entries[0]..entries[1];
            let share = (index.measures.row(row).total() / scale) as f32;
            if !SHARES.contains(&share) || largest * share < SHARES.start {
                self.bounds.push(0.0);
                continue;
            }
            // One rounding for each mass, product and sum, and those of the share and of the
            // constant.
            let slack = single(entries.len() + 10) as f32 * (largest * share + constant.abs());
            let columns = index.columns[entries.clone()].iter();
            let terms =
                columns.zip(&index.masses[entries]).map(|(&at, mass)| mass * f[at as usize]);
            self.bounds.push(terms.sum::<f32>() * share + constant - slack);
        }
    }

    /// Pushes a cloud and its store as sources of the current problem.
    pub(super) fn push_relaxed(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        row: usize,
    ) -> Result<()> {
        let Some(prices) = &index.prices else { return Ok(()) };
        let (scale, count) = (scale_of(index, query), self.query_prices.len());
        let columns = &index.columns[index.entries_of(row)];
        let Self { problem, pair, distances, query_prices, .. } = self;
        let supplies = pair.supply.iter().map(|mass| (mass / scale) as f32);
        let (width, costs) = problem.push_all(supplies);
        if !distances.write_rows(&index.indexed, columns, width, costs) {
            distances.add(&index.indexed, columns.iter().copied())?;
            for (&column, out) in columns.iter().zip(costs.chunks_exact_mut(width)) {
                out[..count].copy_from_slice(distances.to(column));
            }
        }
        let (rows, store) = costs.split_at_mut(columns.len() * width);
        for (&column, out) in columns.iter().zip(rows.chunks_exact_mut(width)) {
            out[count] = prices.lowered[column as usize];
        }
        store[..count].copy_from_slice(query_prices);
        store[count] = 0.0;
        Ok(())
    }
}
