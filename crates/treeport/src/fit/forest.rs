//! Forests fitted to labels: each tree on its own, then all trees together.

use super::edges::{EdgeOptions, choose_together, fit_labels_as, fit_together_at};
use super::stages::{LAST_DIGITS, distances_of_points, error_after_factor, improves, margin};
use super::weights::{TreeWeightOptions, weighted};
use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::labeled::score::relative_errors;
use crate::learn::{LearnOptions, Learned, learn, learn_judged};
use crate::metric::GroundMetric;
use crate::model::forest::Forest;
use crate::numeric::seed::{generator, mixed};
use crate::progress::tasks::{LEARNING, POINTS};
use crate::progress::{Counter, Progress, State, silent};
use crate::tools::parallel;
use crate::tree::Tree;

/// Learns each tree of a forest from labels independently ([`learn`](learn())).
///
/// Trees learn in parallel, each with its own seed and thus with other labels held out to choose
/// its best state. Weights are unchanged. `progress` counts steps over all trees.
///
/// # Errors
/// See [`learn`](learn()); [`Error::Canceled`] if `progress` cancels.
///
/// # Complexity
/// [`learn`](learn()) for every tree; the result does not depend on the number of threads.
pub fn learned(
    forest: &Forest,
    data: &Labeled,
    options: &LearnOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    data.check_for(forest.leaves())?;
    let training = data.len() - data.held_back(options.validation_fraction);
    learn_each(forest, training, options, progress, |tree, options, counts| {
        learn(tree, data, options, counts)
    })
}

/// Learns each tree of a forest; `training` is the number of labels that a tree is trained on.
fn learn_each(
    forest: &Forest,
    training: usize,
    options: &LearnOptions,
    progress: &Progress<'_>,
    learned: impl Fn(&Tree, &LearnOptions, &Progress<'_>) -> Result<Learned> + Sync,
) -> Result<Forest> {
    let batches = training.div_ceil(options.batch_size.max(1));
    let steps = options.epochs.saturating_mul(batches).saturating_mul(forest.trees().len());
    let counter = Counter::new(LEARNING, steps, progress);
    let fitted = |(k, tree): (usize, &Tree)| {
        let options = LearnOptions { seed: mixed(options.seed, k as u64), ..options.clone() };
        let counts = |_: &State<'_>| counter.add(1).is_ok();
        let learned = learned(tree, &options, &counts)?;
        // A tree whose heights diverged is kept; only cancellation is an error.
        if counter.is_stopped() { Err(Error::Canceled) } else { Ok(learned.tree) }
    };
    let trees = parallel::try_map(forest.trees().len(), |k| fitted((k, &forest.trees()[k])));
    // Weights are not normalized again, which would round them.
    Ok(Forest { trees: trees?, weights: forest.weights.clone() })
}

/// Fits a forest to labels in the stages of `auto`:
///
/// 1. **points**: the edges of every tree are fitted to the distances of points, and kept if their
///    error on the labels after scaling by one factor is smaller. With 8 trees on three maps, one
///    seed each, learned trees then had 15 to 30 % less error.
/// 2. **learned**: every tree is learned on its own; held-out labels choose its best state.
/// 3. **together**: the edges of all trees are fitted together, shrunk towards their previous
///    lengths ([`fit_together`](super::fit_together)), and kept if they win by a [`margin`] on
///    held-out labels against the weighted trees. They are then fitted to all labels.
pub(super) fn stages(
    forest: &Forest,
    metric: &GroundMetric,
    data: &Labeled,
    (learn, edges): (&LearnOptions, &EdgeOptions),
    progress: &Progress<'_>,
) -> Result<Forest> {
    data.check_for(forest.leaves())?;
    let parts = data.split_by(learn.validation_fraction, &mut generator(learn.seed));
    let forest = fitted_to_points(forest, metric, data, edges, progress)?;
    let forest = learn_each(&forest, parts.0.len(), learn, progress, |tree, options, counts| {
        learn_judged(None, tree, &parts, options, counts)
    })?;
    let weights = TreeWeightOptions { seed: learn.seed, ..Default::default() };
    if !parts.0.is_all_zero() && !parts.1.is_all_zero() {
        let apart = weighted_or_not(&forest, &parts.0, &weights, progress)?;
        let (together, shrinkage) = choose_together(&forest, None, &parts, progress)?;
        let (before, after) = (errors(&apart, &parts.1)?, errors(&together, &parts.1)?);
        if improves(&before, &after, margin(data.len())) {
            return fit_together_at(&forest, None, shrinkage, data, progress);
        }
    }
    weighted(&forest, data, &weights, progress)
}

/// Returns the weighted forest, or the unchanged one if its trees cannot be told apart.
fn weighted_or_not(
    forest: &Forest,
    data: &Labeled,
    options: &TreeWeightOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    match weighted(forest, data, options, progress) {
        Err(Error::NothingToLearn { .. }) => Ok(forest.clone()),
        other => other,
    }
}

fn errors(forest: &Forest, data: &Labeled) -> Result<Vec<f64>> {
    let predicted = forest.pairs(data.measures(), data.pairs(), &silent)?;
    Ok(relative_errors(&predicted, data.distances()))
}

/// Fits the edges of every tree to the distances of points, shrunk towards their lengths; keeps
/// them where labels have a smaller error after scaling. `progress` counts trees.
fn fitted_to_points(
    forest: &Forest,
    metric: &GroundMetric,
    data: &Labeled,
    edges: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    let Some(points) = distances_of_points(metric, edges)? else { return Ok(forest.clone()) };
    let counter = Counter::new(POINTS, forest.trees().len(), progress);
    // Within a tree, progress only checks for cancellation.
    let check_canceled = |_: &State<'_>| counter.add(0).is_ok();
    let fitted = |tree: &Tree| {
        let fitted = fit_labels_as(POINTS, tree, &points, edges, &check_canceled)?.tree;
        counter.add(1)?;
        let (before, after) = (error_after_factor(tree, data)?, error_after_factor(&fitted, data)?);
        Ok(if after < before * (1.0 - LAST_DIGITS) { fitted } else { tree.clone() })
    };
    let trees = parallel::try_map(forest.trees().len(), |k| fitted(&forest.trees()[k]));
    Ok(Forest { trees: trees?, weights: forest.weights.clone() })
}
