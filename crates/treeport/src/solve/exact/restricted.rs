//! Transport on some arcs only.
//!
//! The best plan that uses no other arcs is a plan, so its cost bounds W₁ from above; and its dual
//! values, lowered until they respect every arc, bound it from below.

use super::fixed::Units;
use super::price::Cost;
use super::{SLACK, Solver, most_pivots, reused};
use crate::error::Result;
use crate::measure::Measure;
use crate::metric::GroundMetric;

/// The best plan on some arcs.
#[derive(Clone, Debug)]
pub(crate) struct Restricted {
    /// Its cost; W₁ is not above it.
    pub(crate) value: f64,
    /// A certified lower bound of W₁; 0 without heights.
    pub(crate) lower: f64,
}

/// Solves between two measures that fit the metric and each other on some arcs, which should hold a
/// plan between them. With heights, as for [`lower_bound`](super::lower_bound), all distances are
/// computed, and the cheapest arcs of every source take part; without only those on the arcs.
///
/// # Errors
/// With heights: [`Error::Memory`](crate::Error::Memory), where s² distances do not fit.
///
/// # Complexity
/// For s points and k arcs: pivots over k arcs, and k distances; with heights s² distances.
pub(crate) fn restricted(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
    arcs: impl IntoIterator<Item = (u32, u32)>,
    heights: Option<&dyn Fn(usize) -> f64>,
) -> Result<Restricted> {
    reused(|solver| {
        solver.lay_out(metric, a, b);
        if solver.left.is_empty() {
            return Ok(Restricted { value: 0.0, lower: 0.0 });
        }
        if heights.is_some() {
            solver.fill_costs(metric, &|| true)?;
        }
        let arcs = solver.local(arcs);
        solver.restricted(metric, arcs, heights)
    })
}

impl Solver {
    fn restricted(
        &mut self,
        metric: &GroundMetric,
        mut arcs: Vec<(u32, u32)>,
        heights: Option<&dyn Fn(usize) -> f64>,
    ) -> Result<Restricted> {
        let bound = heights.is_some();
        let (n, m) = (self.left.len(), self.right.len());
        let (left, right, cost) = (&self.left, &self.right, &self.cost);
        let distance = |i: usize, j: usize| {
            if bound { cost[i * m + j] } else { metric.distance(left[i], right[j]) }
        };
        arcs.sort_unstable();
        arcs.dedup();
        let mut arcs = arcs.into_iter().peekable();
        let mut largest = 0.0f64;
        let mut price = Vec::new();
        if bound {
            f64::prices(cost, m, &mut price);
        }
        let few = &mut self.float.few;
        few.clear();
        for i in 0..n {
            if bound {
                few.push_cheapest(&cost[i * m..(i + 1) * m], &price);
            }
            while let Some((_, j)) = arcs.next_if(|arc| arc.0 as usize == i) {
                let cost = distance(i, j as usize);
                largest = largest.max(cost);
                few.push(j as usize, cost);
            }
            few.end_row();
        }
        let Units { supply, demand, .. } = &self.units;
        // Without an optimum in so many pivots there is still a plan.
        let slack = largest * SLACK;
        self.float.solve_on_few(supply, demand, distance, slack, most_pivots(n, m))?;
        let mass = self.units.masses();
        let price =
            |&(i, j, flow): &(u32, u32, i128)| mass(flow) * distance(i as usize, j as usize);
        let value = self.float.flows.iter().map(price).sum();
        let lower = heights.map_or(0.0, |height| {
            let (bound, rounding) = self.dual_bound();
            (bound - rounding).max(self.lower_bound(height))
        });
        Ok(Restricted { value, lower })
    }

    /// Arcs between points as numbers of sources and sinks; what stays where it is is left out.
    fn local(&self, arcs: impl IntoIterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
        let place = |points: &[usize], point: u32| points.binary_search(&(point as usize)).ok();
        let local = |(i, j)| Some((place(&self.left, i)? as u32, place(&self.right, j)? as u32));
        arcs.into_iter().filter_map(local).collect()
    }
}
