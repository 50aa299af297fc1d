//! The plans of all trees of a forest, the plan merged from them, and what they cost.

use super::merge::merged;
use super::{Estimator, Statistic};
use crate::error::Result;
use crate::flow::{Arc, Lengths};
use crate::measure::{Measure, rescaled};
use crate::tree::{Coupling, Move, Plans};

/// One plan for each tree and one from all of them, with their true costs.
pub(super) struct Flow {
    plans: Plans,
    /// Every arc that a tree's plan uses, once.
    arcs: Vec<Arc>,
    costs: Vec<f64>,
    merged: Vec<Move>,
    merged_cost: f64,
}

impl Flow {
    /// The cheapest of the trees' plans; the first of them.
    fn best(&self) -> usize {
        (0..self.costs.len())
            .fold(0, |best, k| if self.costs[k] < self.costs[best] { k } else { best })
    }

    /// The cheapest plan of all.
    pub(super) fn cheapest(&self) -> Coupling {
        let best = self.best();
        if self.costs[best] < self.merged_cost {
            return self.plans.of(best);
        }
        self.plans.plan(&self.merged)
    }

    /// The arcs of all plans.
    pub(super) fn arcs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let trees = self.arcs.iter().map(|arc| (arc.from, arc.to));
        self.plans.arcs(trees.chain(self.merged.iter().map(|step| (step.from, step.to))))
    }

    pub(super) fn statistic(&self, statistic: Statistic, weights: &[f64]) -> f64 {
        match statistic {
            Statistic::Least => self.costs[self.best()].min(self.merged_cost),
            Statistic::Mean => self.costs.iter().zip(weights).map(|(cost, w)| cost * w).sum(),
        }
    }
}

impl Estimator<'_> {
    /// The plans of all trees between two measures; the second is brought to the total of the first.
    pub(super) fn flow(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Flow> {
        let rescaled = rescaled(a, b)?;
        let b = &rescaled.as_ref().map_or(*b, |one| one.row(0));
        let trees = self.forest.trees();
        let plans = Plans::new(trees, a, b)?;
        let lengths = Lengths::new(&plans, &self.metric);
        let costs = lengths.costs(&plans);
        let arcs = lengths.arcs;
        let (merged, merged_cost) = merged(&plans, &arcs, &trees[0], &self.metric);
        Ok(Flow { plans, arcs, costs, merged, merged_cost })
    }
}
