//! The flow of a forest without the estimator's shortcut: small supports are not solved exactly here, so that
//! a row says what the plans of the trees are worth.

use treeport::{Forest, GroundMetric, Labels, Measures, Progress, flow};

use crate::Result;
use crate::score::median_ratio;

/// What the trees' plans cost, pair by pair: the least and the mean.
fn costs(
    metric: &GroundMetric,
    forest: &Forest,
    measures: &Measures,
    pairs: &[(usize, usize)],
    progress: &Progress<'_>,
) -> Result<[Vec<f64>; 2]> {
    let mut least = vec![f64::INFINITY; pairs.len()];
    let mut mean = vec![0.0; pairs.len()];
    for tree in forest.trees() {
        let found = flow::pairs(tree, metric, measures, pairs, progress)?;
        for (at, cost) in found.into_iter().enumerate() {
            least[at] = cost.min(least[at]);
            mean[at] += cost / forest.trees().len() as f64;
        }
    }
    Ok([least, mean])
}

/// Measures with labelled pairs to learn from, and those to answer.
pub(super) struct Question<'a> {
    pub(super) train: &'a Measures,
    pub(super) labels: &'a Labels,
    pub(super) test: &'a Measures,
    pub(super) pairs: &'a [(usize, usize)],
}

/// The flow of a forest for test pairs, as it is and after one factor, by the statistic that errs less on the
/// training labels; its name stands last.
pub(super) fn flow_of(
    metric: &GroundMetric,
    forest: &Forest,
    asked: &Question<'_>,
    progress: &Progress<'_>,
) -> Result<(Vec<f64>, Vec<f64>, &'static str)> {
    let labels = &asked.labels.distances;
    let seen = costs(metric, forest, asked.train, &asked.labels.pairs, progress)?;
    let [least, mean] = costs(metric, forest, asked.test, asked.pairs, progress)?;
    let rate = |seen: &[f64]| {
        let factor = median_ratio(labels, seen);
        let told = labels.iter().zip(seen).filter(|(label, _)| **label > 0.0);
        (factor, told.map(|(label, cost)| (factor * cost - label).abs() / label).sum::<f64>())
    };
    let (of_least, of_mean) = (rate(&seen[0]), rate(&seen[1]));
    let (found, factor, name) = if of_least.1 <= of_mean.1 {
        (least, of_least.0, "least of their plans")
    } else {
        (mean, of_mean.0, "mean of their plans")
    };
    let scaled = found.iter().map(|cost| factor * cost).collect();
    Ok((found, scaled, name))
}
