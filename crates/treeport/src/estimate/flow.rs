//! The plans of all trees of a forest and what they cost.

use super::{Estimator, Level, Statistic};
use crate::error::Result;
use crate::measure::Measure;
use crate::tree::Plans;
use crate::{exact, flow};

/// One plan for each tree, with its true cost.
pub(super) struct Flow {
    pub(super) plans: Plans,
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
    /// What a level computes, without its factor and without the short cut to the exact solver where that is
    /// faster: how accurate and how fast the levels are by themselves.
    ///
    /// # Errors
    /// As [`Estimator::distance`].
    pub fn raw(&self, level: Level, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        self.check(a, b)?;
        match level {
            Level::Tree => self.forest.distance(a, b),
            Level::Flow => {
                let flow = self.flow(a, b)?;
                Ok(flow.statistic(self.calibration.statistic, self.forest.weights()))
            }
            Level::Arcs => Ok(self.restricted(a, b, false)?.value),
            Level::Exact => exact::distance(&self.metric, a, b),
        }
    }

    /// The plans of all trees between two measures of equal mass.
    pub(super) fn flow(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Flow> {
        let plans = Plans::new(self.forest.trees(), a, b)?;
        let costs = flow::costs(&plans, &self.metric);
        Ok(Flow { plans, costs })
    }
}
