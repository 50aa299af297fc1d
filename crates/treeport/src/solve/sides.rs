//! Sources and sinks of a problem with their positive masses.
//!
//! **Only the difference moves.** With the triangle inequality, mass that both measures have at a
//! point stays there, and the sides are the positive and the negative part of μ − ρ.
//!
//! **Equal bits in both directions.** Engines start from one side and sum in its order. So an order
//! of measures decides which one is on the left, not the order of the call; [`Sides::swapped`]
//! tells whether it is the second. Costs are symmetric, or transposed with the measures, as in a
//! matrix. Totals that differ by more than rounding are scaled to that of the first measure.

use std::cmp::Ordering;

use super::answer::{Answer, Duals};
use super::exact::MOST_KEPT;
use super::problem::matrix::{MatrixView, SideMasses};
use super::problem::posed::{OnMatrix, OnMetric};
use super::relax::Relaxation;
use crate::error::Result;
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::numeric::rounding::TOTALS;
use crate::tree::Coupling;

/// The source of costs.
#[derive(Clone, Copy)]
pub(super) enum Costs<'p> {
    /// Distances between points of a metric.
    Metric(&'p GroundMetric),
    /// Entries of a matrix of rows and columns.
    Matrix(&'p MatrixView<'p>),
}

/// Sources and sinks of a problem; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    /// Sources: points of the metric, or rows of the matrix, in increasing order.
    pub(super) left: Vec<usize>,
    /// Sinks: points, or columns, in increasing order.
    pub(super) right: Vec<usize>,
    /// Supplies of the sources.
    pub(super) supply: Vec<f64>,
    /// Demands of the sinks.
    pub(super) demand: Vec<f64>,
    /// Points where mass stays in place, and that mass.
    pub(super) shared: Vec<(usize, f64)>,
    /// Whether the second measure is on the left.
    pub(super) swapped: bool,
    /// Support of the measure on the left.
    pub(super) support: Vec<u32>,
}

impl Sides {
    /// Returns whether it is small enough for a thread to keep.
    pub(super) fn is_small(&self) -> bool {
        let Self { left, right, support, .. } = self;
        left.capacity() + right.capacity() + support.capacity() <= MOST_KEPT
    }

    /// Returns whether no mass moves.
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty() || self.right.is_empty()
    }

    /// Reads two measures of equal totals; the largest demand absorbs their rounding.
    pub(super) fn read(&mut self, pair: &OnMetric<'_>, shared_stays: bool) {
        self.read_unbalanced(pair, shared_stays);
        balance_totals(&self.supply, &mut self.demand);
    }

    /// Reads two measures of equal totals up to rounding, without balancing them.
    pub(super) fn read_unbalanced(&mut self, pair: &OnMetric<'_>, shared_stays: bool) {
        self.split(pair, rescaling(pair.a.total(), pair.b.total()), shared_stays);
        if self.is_empty() {
            // Mass on one side alone is the rounding of totals.
            self.left.clear();
            self.right.clear();
        }
    }

    /// Splits two measures into supplies, demands and, if `shared_stays`, the mass that both have
    /// at a point. Masses of the second measure count `factor` times.
    pub(super) fn split(&mut self, pair: &OnMetric<'_>, factor: f64, shared_stays: bool) {
        let OnMetric { a, b, .. } = pair;
        self.swapped = precedes(b, a);
        let (a, b, factors) =
            if self.swapped { (b, a, [factor, 1.0]) } else { (a, b, [1.0, factor]) };
        self.left.clear();
        self.right.clear();
        self.supply.clear();
        self.demand.clear();
        self.shared.clear();
        self.support.clear();
        self.support.extend_from_slice(a.support());
        let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
        loop {
            let point = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(x), None) => x.0,
                (None, Some(y)) => y.0,
                (Some(x), Some(y)) => x.0.min(y.0),
            };
            let supply = left.next_if(|x| x.0 == point).map_or(0.0, |x| x.1 * factors[0]);
            let demand = right.next_if(|y| y.0 == point).map_or(0.0, |y| y.1 * factors[1]);
            let stays = if shared_stays { supply.min(demand) } else { 0.0 };
            if stays > 0.0 {
                self.shared.push((point, stays));
            }
            if supply > stays {
                self.left.push(point);
                self.supply.push(supply - stays);
            }
            if demand > stays {
                self.right.push(point);
                self.demand.push(demand - stays);
            }
        }
    }

    /// Reads the masses of rows and columns; returns their totals before scaling.
    pub(super) fn read_matrix(
        &mut self,
        matrix: &OnMatrix<'_>,
        relax: Relaxation<'_>,
    ) -> Result<[f64; 2]> {
        self.shared.clear();
        let rows = SideMasses { places: &mut self.left, masses: &mut self.supply };
        let columns = SideMasses { places: &mut self.right, masses: &mut self.demand };
        let totals = matrix.read_masses(relax, [rows, columns])?;
        let Self { left, right, supply, demand, .. } = &*self;
        let cost = |i: usize, j: usize| matrix.costs.entry(left[i], right[j]);
        let by_penalties = || {
            let mut orders = left
                .iter()
                .zip(right)
                .map(|(&i, &j)| relax.penalty().at(0, i).total_cmp(&relax.penalty().at(1, j)));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let order = order_of_sides(supply, demand, cost).then_with(by_penalties);
        self.swapped = order == Ordering::Greater;
        if relax.is_balanced() {
            let factor = rescaling(totals[0], totals[1]);
            self.demand.iter_mut().for_each(|mass| *mass *= factor);
        }
        if self.swapped {
            std::mem::swap(&mut self.left, &mut self.right);
            std::mem::swap(&mut self.supply, &mut self.demand);
        }
        if relax.is_balanced() {
            balance_totals(&self.supply, &mut self.demand);
        }
        Ok(totals)
    }

    /// Returns the plan of the mass that stays in place.
    pub(super) fn shared_plan(&self) -> Coupling {
        let mut plan = Coupling::default();
        for &(point, mass) in &self.shared {
            plan.push(point as u32, point as u32, mass);
        }
        plan
    }

    /// Returns the plan of moves between positions of sources and sinks, and of mass that stays.
    pub(super) fn plan_of(&self, moves: impl IntoIterator<Item = (usize, usize, f64)>) -> Coupling {
        let mut plan = self.shared_plan();
        for (i, j, mass) in moves {
            plan.push(self.left[i] as u32, self.right[j] as u32, mass);
        }
        plan
    }

    /// Returns the dual values of sources and sinks with their points.
    pub(super) fn duals_of(
        &self,
        left: impl IntoIterator<Item = f64>,
        right: impl IntoIterator<Item = f64>,
    ) -> [Duals; 2] {
        [
            self.left.iter().copied().zip(left).collect(),
            self.right.iter().copied().zip(right).collect(),
        ]
    }

    /// Transposes an answer if the sides are swapped.
    pub(super) fn unswapped(&self, answer: Answer) -> Answer {
        if self.swapped { answer.transposed() } else { answer }
    }
}

/// Returns whether one of two measures precedes the other in an arbitrary total order.
pub(crate) fn precedes(a: &Measure<'_>, b: &Measure<'_>) -> bool {
    let by_size = a.support().len().cmp(&b.support().len());
    let by_masses = by_size.then_with(|| compare(a.masses().iter().zip(b.masses())));
    by_masses.then_with(|| a.support().cmp(b.support())) == Ordering::Less
}

/// Compares by the first pair of numbers that differ.
pub(super) fn compare<'a>(mut pairs: impl Iterator<Item = (&'a f64, &'a f64)>) -> Ordering {
    pairs
        .find_map(|(x, y)| x.partial_cmp(y).filter(|order| order.is_ne()))
        .unwrap_or(Ordering::Equal)
}

/// Compares a problem of masses and costs with its transpose.
pub(super) fn order_of_sides(
    supply: &[f64],
    demand: &[f64],
    cost: impl Fn(usize, usize) -> f64,
) -> Ordering {
    let (n, m) = (supply.len(), demand.len());
    let by_masses = n.cmp(&m).then_with(|| compare(supply.iter().zip(demand)));
    // Costs decide only if both sides have equally many points.
    let by_costs = || {
        let pairs = (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
        let mut orders = pairs.filter_map(|(i, j)| cost(i, j).partial_cmp(&cost(j, i)));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    by_masses.then_with(by_costs)
}

/// Writes the transpose of a row-major table.
pub(super) fn transpose(table: &[f64], rows: usize, columns: usize, out: &mut Vec<f64>) {
    out.clear();
    out.reserve(table.len());
    for j in 0..columns {
        out.extend((0..rows).map(|i| table[i * columns + j]));
    }
}

/// Adds the difference of the totals, which is rounding, to the largest demand.
pub(crate) fn balance_totals(supply: &[f64], demand: &mut [f64]) {
    let missing = supply.iter().sum::<f64>() - demand.iter().sum::<f64>();
    let largest = demand.iter_mut().max_by(|a, b| a.total_cmp(b));
    if let Some(largest) = largest.filter(|largest| **largest + missing > 0.0) {
        *largest += missing;
    }
}

/// Returns the factor from the right total to the left one; 1 if only last bits differ.
pub(crate) fn rescaling(left: f64, right: f64) -> f64 {
    if (left - right).abs() <= TOTALS * left.max(right) { 1.0 } else { left / right }
}
