//! The plans of all trees of a forest and what they cost.

use super::{Estimator, Statistic};
use crate::error::Result;
use crate::measure::Measure;
use crate::tree::Coupling;

/// One plan for each tree, with its true cost.
pub(super) struct Flow {
    pub(super) plans: Vec<Coupling>,
    pub(super) costs: Vec<f64>,
}

impl Flow {
    /// The cheapest plan; the first of them.
    pub(super) fn best(&self) -> usize {
        (0..self.costs.len())
            .fold(0, |best, k| if self.costs[k] < self.costs[best] { k } else { best })
    }

    pub(super) fn statistic(&self, statistic: Statistic, weights: &[f64]) -> f64 {
        match statistic {
            Statistic::Least => self.costs[self.best()],
            Statistic::Mean => self.costs.iter().zip(weights).map(|(cost, w)| cost * w).sum(),
        }
    }
}

impl Estimator<'_> {
    /// The plans of all trees between two measures of equal mass.
    pub(super) fn flow(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Flow> {
        let plans: Vec<Coupling> =
            self.forest.trees().iter().map(|tree| tree.coupling(a, b)).collect::<Result<_>>()?;
        let cost = |plan: &Coupling| plan.cost(|i, j| self.metric.distance(i, j));
        let costs = plans.iter().map(cost).collect();
        Ok(Flow { plans, costs })
    }
}
