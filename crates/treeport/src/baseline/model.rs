//! What a method builds, and the one factor that labels can give it.

use crate::error::{Error, Result};
use crate::flow;
use crate::forest::Forest;
use crate::learn::Labels;
use crate::measure::Measures;
use crate::metric::GroundMetric;
use crate::progress::{Progress, silent};
use crate::tree::Tree;

/// Measures with exact distances between some of them.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// The measures.
    pub measures: &'a Measures,
    /// Pairs of them with W₁.
    pub labels: &'a Labels,
}

impl Training<'_> {
    /// Checks that the labels fit the measures, and the measures the metric; there is at least one label.
    pub(super) fn check(&self, metric: &GroundMetric) -> Result<()> {
        self.measures.check_points(metric.points())?;
        self.labels.check(self.measures)?;
        if self.labels.pairs.is_empty() {
            return Err(Error::NothingToLearn { what: "there are no labels".into() });
        }
        Ok(())
    }
}

/// Whether a method gets one factor from labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// The method as it is.
    #[default]
    None,
    /// Everything times the median of W₁/W over the labels. Much of what separates methods is only this
    /// factor, so a comparison reports both.
    Labels,
}

/// A method's answer: something with a distance between measures.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// The distance of one tree.
    Tree(Tree),
    /// The mean distance of several.
    Forest(Forest),
    /// The cost in the ground metric of a tree's plan, times a factor.
    Flow {
        /// The tree whose plan it is.
        tree: Tree,
        /// What its cost is multiplied by.
        factor: f64,
    },
    /// The same number for every pair; null and no distance at all, which is its point.
    Constant(f64),
}

impl Model {
    /// Distances of many pairs of measures, in parallel; the same for any number of threads.
    ///
    /// Only [`Model::Flow`] asks the metric; give a graph as [`GroundMetric::materialized`] then.
    ///
    /// # Errors
    /// Measures on other points or of unequal mass; [`Error::Cancelled`] when `progress` asks to stop.
    pub fn pairs(
        &self,
        metric: &GroundMetric,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        match self {
            Self::Tree(tree) => tree.pairs(measures, pairs, progress),
            Self::Forest(forest) => forest.pairs(measures, pairs, progress),
            Self::Flow { tree, factor } => {
                let costs = flow::pairs(tree, metric, measures, pairs, progress)?;
                Ok(costs.iter().map(|cost| factor * cost).collect())
            }
            Self::Constant(value) => {
                measures.check_points(metric.points())?;
                measures.check_pairs(pairs)?;
                Ok(vec![*value; pairs.len()])
            }
        }
    }

    /// The same model with all distances multiplied by `factor`.
    ///
    /// # Errors
    /// A factor that is negative or not finite.
    pub fn scaled(&self, by: f64) -> Result<Self> {
        if !(by.is_finite() && by >= 0.0) {
            return Err(Error::BadOption {
                option: "factor",
                value: by.to_string(),
                expected: "it must be finite and at least 0",
            });
        }
        Ok(match self {
            Self::Tree(tree) => Self::Tree(tree.scaled(by)?),
            Self::Forest(forest) => Self::Forest(forest.scaled(by)?),
            Self::Flow { tree, factor } => Self::Flow { tree: tree.clone(), factor: by * factor },
            Self::Constant(value) => Self::Constant(by * value),
        })
    }

    /// The median of W₁/W over the labels: what [`Scale::Labels`] multiplies by. 1 where the labels cannot
    /// say.
    ///
    /// # Errors
    /// No labels, or labels that do not fit.
    pub fn factor(&self, metric: &GroundMetric, training: Training<'_>) -> Result<f64> {
        training.check(metric)?;
        let Training { measures, labels } = training;
        let predicted = self.pairs(metric, measures, &labels.pairs, &silent)?;
        Ok(median_ratio(&labels.distances, &predicted))
    }

    /// The forest it is, if it is one.
    pub fn forest(&self) -> Option<&Forest> {
        match self {
            Self::Forest(forest) => Some(forest),
            _ => None,
        }
    }

    /// The one tree it is, if it is one.
    pub fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Tree(tree) => Some(tree),
            _ => None,
        }
    }
}

/// The median of label/prediction over pairs where both are above 0; 1 if there are none.
pub(super) fn median_ratio(labels: &[f64], predicted: &[f64]) -> f64 {
    let told = labels.iter().zip(predicted).filter(|(d, p)| **d > 0.0 && **p > 0.0);
    let mut ratios: Vec<f64> = told.map(|(d, p)| d / p).filter(|r| r.is_finite()).collect();
    if ratios.is_empty() {
        return 1.0;
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let half = ratios.len() / 2;
    if ratios.len() % 2 == 1 { ratios[half] } else { f64::midpoint(ratios[half - 1], ratios[half]) }
}
