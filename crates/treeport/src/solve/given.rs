//! The points with mass of a problem, for code that needs neither engines nor their numbering.

use super::exact::{KeepGoing, check_canceled};
use super::overflow;
use super::problem::ground::Ground;
use super::problem::{Input, Problem};
use super::sides::{Costs, rescaling};
use crate::error::{Error, Result};
use crate::measures::{Measure, check_totals};
use crate::numeric::rounding::INTERVAL;

/// The points with mass of either side, numbered from 0 in the order of the problem.
pub(super) struct Given<'p> {
    pub(super) problem: &'p Problem<'p>,
    pub(super) costs: Costs<'p>,
    pub(super) sides: [Side; 2],
}

pub(super) struct Side {
    /// Numbers of the points in the call.
    pub(super) names: Vec<usize>,
    /// Numbers of the points in the costs.
    pub(super) points: Vec<usize>,
    pub(super) masses: Vec<f64>,
    /// Penalties, infinite in a balanced problem.
    pub(super) penalties: Vec<f64>,
    /// Number of points in the call.
    pub(super) all: usize,
}

impl Side {
    /// Returns the position of a point of the call among the points with mass, or `None` if it has
    /// none.
    pub(super) fn place(&self, name: usize) -> Option<usize> {
        if self.names.len() == self.all { Some(name) } else { self.names.binary_search(&name).ok() }
    }
}

impl<'p> Given<'p> {
    /// Validates the problem.
    pub(super) fn new(problem: &'p Problem<'p>) -> Result<Self> {
        problem.posed()?;
        let costs = match &problem.input {
            Input::Ground { ground: Ground::Metric(metric), .. } => Costs::Metric(metric),
            Input::Ground { ground: Ground::Components(ground), .. } => {
                Costs::Metric(ground.whole()?)
            }
            Input::Points(points) => Costs::Metric(&points.metric),
            Input::Matrix { costs, .. } => Costs::Matrix(costs),
        };
        let named = problem.masses();
        for (measure, masses) in named.iter().enumerate() {
            let bad = |entry: &&(usize, f64)| !(0.0..f64::INFINITY).contains(&entry.1);
            if let Some(&(point, value)) = masses.iter().find(bad) {
                return Err(Error::BadMass { measure, point, value });
            }
        }
        if let Input::Matrix { costs, a, b } = &problem.input {
            costs.check_shape(a.len(), b.len())?;
        }
        let totals = [0, 1].map(|side: usize| named[side].iter().map(|entry| entry.1).sum());
        let is_balanced = problem.relax.is_balanced();
        if is_balanced {
            check_totals((problem.numbers[0], totals[0]), (problem.numbers[1], totals[1]))?;
        }
        let scale = if is_balanced { rescaling(totals[0], totals[1]) } else { 1.0 };
        let sizes = problem.sizes();
        let penalty = problem.relax.penalty();
        let side = |side: usize| -> Result<Side> {
            let scale = if side == 1 { scale } else { 1.0 };
            let with_mass = || named[side].iter().filter(|entry| entry.1 > 0.0);
            let names: Vec<usize> = with_mass().map(|entry| entry.0).collect();
            if is_balanced && names.is_empty() {
                return Err(Error::NoMass { measure: problem.numbers[side] });
            }
            let supported = |measure: Measure<'_>| {
                measure.support().iter().map(|&point| point as usize).collect()
            };
            let points = match &problem.input {
                Input::Points(points) => supported([points.a(), points.b()][side]),
                _ => names.clone(),
            };
            let penalties = names.iter().map(|&name| penalty.at(side, name)).collect();
            let masses = with_mass().map(|entry| scale * entry.1).collect();
            Ok(Side { names, points, masses, penalties, all: sizes[side] })
        };
        Ok(Self { problem, costs, sides: [side(0)?, side(1)?] })
    }

    /// Returns whether no mass can move, because one side has none.
    pub(super) fn is_one_sided(&self) -> bool {
        self.sides.iter().any(|side| side.names.is_empty())
    }

    /// Returns the cost between positions in the two sides.
    pub(super) fn cost(&self, i: usize, j: usize) -> f64 {
        self.cost_of_points(self.sides[0].points[i], self.sides[1].points[j])
    }

    /// Returns the cost between two points, or a row and a column.
    pub(super) fn cost_of_points(&self, i: usize, j: usize) -> f64 {
        match self.costs {
            Costs::Metric(metric) => metric.distance(i, j),
            Costs::Matrix(matrix) => matrix.entry(i, j),
        }
    }

    /// Computes the costs between a place of a side and places of the other side, bit for bit those
    /// of [`cost`](Self::cost).
    pub(super) fn costs_from(&self, side: usize, from: usize, to: &[u32], out: &mut [f64]) {
        let [own, others] = [side, 1 - side].map(|side| &self.sides[side].points);
        match self.costs {
            Costs::Metric(metric) if metric.vectors().is_some() => {
                for (to, out) in to.chunks(NAMED).zip(out.chunks_mut(NAMED)) {
                    let mut named = [0; NAMED];
                    named
                        .iter_mut()
                        .zip(to)
                        .for_each(|(name, &at)| *name = others[at as usize] as u32);
                    metric.distances_from(own[from], &named[..to.len()], out);
                }
            }
            _ => to.iter().zip(out).for_each(|(&at, out)| {
                let ends = [from, at as usize];
                *out = self.cost(ends[side], ends[1 - side]);
            }),
        }
    }

    /// Returns an upper bound of all costs between points with mass.
    pub(super) fn largest_cost(&self, keep_going: &KeepGoing<'_>) -> Result<f64> {
        let [rows, columns] = [0, 1].map(|side: usize| &self.sides[side].points[..]);
        let metric = match self.costs {
            Costs::Metric(metric) => metric,
            Costs::Matrix(matrix) => {
                let mut largest: f64 = 0.0;
                for &i in rows {
                    check_canceled(keep_going)?;
                    for &j in columns {
                        largest = largest.max(checked(i, j, matrix.entry(i, j))?);
                    }
                }
                return Ok(largest);
            }
        };
        let (Some(&center), Some(_)) = (rows.first(), columns.first()) else { return Ok(0.0) };
        if let (Input::Ground { a, b, .. }, false) = (&self.problem.input, metric.is_metric())
            && metric.vectors().is_none()
        {
            return Ok(overflow::largest_distance(metric, a, b));
        }
        let radius = |points: &[usize]| {
            let mut row = vec![0.0; points.len()];
            metric.block(&[center], points, &mut row);
            row.into_iter().fold(0.0, f64::max)
        };
        // c(i, j) ≤ 2 (c(i, o) + c(o, j)) for squares, and without the factor for metrics.
        Ok(2.0 * (radius(rows) + radius(columns)) * (1.0 + INTERVAL))
    }
}

/// Places that [`Given::costs_from`] converts to points at once.
const NAMED: usize = 64;

/// Refuses a cost that is negative or not finite.
pub(super) fn checked(from: usize, to: usize, value: f64) -> Result<f64> {
    if (0.0..f64::INFINITY).contains(&value) {
        Ok(value)
    } else {
        Err(Error::BadDistance { from, to, value })
    }
}
