//! Plans of several trees, the plan merged from them, and their costs.

use super::merge::merged;
use super::{DistancesFrom, MoveLengths};
use crate::error::Result;
use crate::measures::{Measure, rescaled};
use crate::tree::{Coupling, MassMove, Tree, TreePlans};

/// Plans of several trees and one merged from all of them, with their true costs.
pub(crate) struct FlowPlans {
    plans: TreePlans,
    costs: Vec<f64>,
    merged: Vec<MassMove>,
    merged_cost: f64,
}

impl FlowPlans {
    /// Computes the plans of some trees between two measures, with costs in the given distances;
    /// the second measure is rescaled to the total of the first.
    pub(crate) fn new(
        trees: &[Tree],
        a: &Measure<'_>,
        b: &Measure<'_>,
        distances: &impl DistancesFrom,
    ) -> Result<Self> {
        let rescaled = rescaled(a, b)?;
        let b = &rescaled.as_ref().map_or(*b, |one| one.row(0));
        let plans = TreePlans::new(trees, a, b)?;
        let lengths = MoveLengths::new(&plans, distances);
        let costs = lengths.costs(&plans);
        let (merged, merged_cost) = merged(&plans, &lengths.arcs, &trees[0], distances);
        Ok(Self { plans, costs, merged, merged_cost })
    }

    /// Returns the tree with the cheapest plan, the first among ties.
    fn best(&self) -> usize {
        (0..self.costs.len())
            .fold(0, |best, k| if self.costs[k] < self.costs[best] { k } else { best })
    }

    /// Returns the cheapest of all plans.
    pub(crate) fn cheapest(&self) -> Coupling {
        let best = self.best();
        if self.costs[best] < self.merged_cost {
            return self.plans.of(best);
        }
        self.plans.plan(&self.merged)
    }

    /// Returns the cost of the cheapest of all plans.
    pub(crate) fn least(&self) -> f64 {
        self.costs[self.best()].min(self.merged_cost)
    }

    /// Returns the weighted mean of the costs of the trees' plans.
    pub(crate) fn mean(&self, weights: &[f64]) -> f64 {
        self.costs.iter().zip(weights).map(|(cost, w)| cost * w).sum()
    }
}
