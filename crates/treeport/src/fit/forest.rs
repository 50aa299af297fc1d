//! Several trees, each fitted to labels on its own, then all of them together.

use super::edges::{EdgeOptions, choose_together, fit_labels_as, fit_together_at};
use super::stages::{LAST_DIGITS, distances_of_points, error_after_factor, gains, margin};
use super::weights::{TreeWeightOptions, weighted};
use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::labelled::Labelled;
use crate::learn::{LearnOptions, Learned, learn, learn_judged};
use crate::metric::GroundMetric;
use crate::parallel;
use crate::progress::{Counter, Progress, State, silent};
use crate::score::relative_errors;
use crate::seed::{generator, mixed};
use crate::steps::{LEARNING, POINTS};
use crate::tree::Tree;

/// The forest with each tree [learned](learn()) from labels on its own.
///
/// Trees learn side by side, each with a seed of its own, so that each keeps other labels back for
/// choosing its best state. The weights stay. `progress` counts steps over all trees.
///
/// # Errors
/// As [`learn`](learn()); [`Error::Cancelled`] when `progress` asks to stop.
///
/// # Complexity
/// That of [`learn`](learn()) for every tree; the result does not depend on the number of threads.
pub fn learned(
    forest: &Forest,
    data: &Labelled,
    options: &LearnOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    data.check_for(forest.leaves())?;
    let lessons = data.len() - data.held_back(options.validation_fraction);
    learn_each(forest, lessons, options, progress, |tree, options, counts| {
        learn(tree, data, options, counts)
    })
}

/// The forest with each tree learned by itself; `lessons` are the labels that one learns from.
fn learn_each(
    forest: &Forest,
    lessons: usize,
    options: &LearnOptions,
    progress: &Progress<'_>,
    learned: impl Fn(&Tree, &LearnOptions, &Progress<'_>) -> Result<Learned> + Sync,
) -> Result<Forest> {
    let batches = lessons.div_ceil(options.batch_size.max(1));
    let steps = options.epochs.saturating_mul(batches).saturating_mul(forest.trees().len());
    let counter = Counter::new(LEARNING, steps, progress);
    let fitted = |(k, tree): (usize, &Tree)| {
        let options = LearnOptions { seed: mixed(options.seed, k as u64), ..options.clone() };
        let counts = |_: &State<'_>| counter.add(1).is_ok();
        let learned = learned(tree, &options, &counts)?;
        // A tree whose heights ran away is kept; only who was asked to stop gives none.
        if counter.is_stopped() { Err(Error::Cancelled) } else { Ok(learned.tree) }
    };
    let trees = parallel::try_map(forest.trees().len(), |k| fitted((k, &forest.trees()[k])));
    // Not divided by their sum again, which rounds.
    Ok(Forest { trees: trees?, weights: forest.weights.clone() })
}

/// Fits a forest to labels as well as we can, in the stages of `auto`:
///
/// 1. **points**: the edges of every tree that fit the distances of points, where they do better on
///    the labels after one factor. With 8 trees on three maps, one seed each, learned trees then
///    had 15 to 30 % less error.
/// 2. **learned**: every tree by itself; labels held back choose its best state.
/// 3. **together**: the edges of all trees, shrunk towards those they had
///    ([`fit_together`](super::fit_together)), where they win by a [`margin`] on the labels held
///    back over trees that are only weighted. What wins is then fitted to all labels.
pub(super) fn stages(
    forest: &Forest,
    metric: &GroundMetric,
    data: &Labelled,
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
        let (together, shrinkage) = choose_together(&forest, &parts, progress)?;
        let (before, after) = (errors(&apart, &parts.1)?, errors(&together, &parts.1)?);
        if gains(&before, &after, margin(data.len())) {
            return fit_together_at(&forest, shrinkage, data, progress);
        }
    }
    weighted(&forest, data, &weights, progress)
}

/// The forest as it is where its trees see no difference in a part of the labels.
fn weighted_or_not(
    forest: &Forest,
    data: &Labelled,
    options: &TreeWeightOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    match weighted(forest, data, options, progress) {
        Err(Error::NothingToLearn { .. }) => Ok(forest.clone()),
        other => other,
    }
}

fn errors(forest: &Forest, data: &Labelled) -> Result<Vec<f64>> {
    let predicted = forest.pairs(data.measures(), data.pairs(), &silent)?;
    Ok(relative_errors(&predicted, data.distances()))
}

/// Every tree with edges shrunk from its own towards the distances of points, unless labels find it
/// worse after one factor; `progress` counts trees.
fn fitted_to_points(
    forest: &Forest,
    metric: &GroundMetric,
    data: &Labelled,
    edges: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    let Some(points) = distances_of_points(metric, edges)? else { return Ok(forest.clone()) };
    let counter = Counter::new(POINTS, forest.trees().len(), progress);
    // Within a tree it only asks whether to go on.
    let goes_on = |_: &State<'_>| counter.add(0).is_ok();
    let fitted = |tree: &Tree| {
        let fitted = fit_labels_as(POINTS, tree, &points, edges, &goes_on)?.tree;
        counter.add(1)?;
        let (before, after) = (error_after_factor(tree, data)?, error_after_factor(&fitted, data)?);
        Ok(if after < before * (1.0 - LAST_DIGITS) { fitted } else { tree.clone() })
    };
    let trees = parallel::try_map(forest.trees().len(), |k| fitted(&forest.trees()[k]));
    Ok(Forest { trees: trees?, weights: forest.weights.clone() })
}
