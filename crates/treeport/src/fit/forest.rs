//! Several trees, each fitted to labels on its own.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::labelled::Labelled;
use crate::learn::{LearnOptions, learn};
use crate::progress::{Counter, LEARNING, Progress, State};
use crate::seed::mixed;
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
    let held_back = (data.len() as f64 * options.validation_fraction).round() as usize;
    let batches = (data.len() - held_back.min(data.len() - 1)).div_ceil(options.batch_size.max(1));
    let steps = options.epochs.saturating_mul(batches).saturating_mul(forest.trees().len());
    let counter = Counter::new(LEARNING, steps, progress);
    let fitted = |(k, tree): (usize, &Tree)| {
        let options = LearnOptions { seed: mixed(options.seed, k as u64), ..options.clone() };
        let counts = |_: &State<'_>| counter.add(1).is_ok();
        let learned = learn(tree, data, &options, &counts)?;
        // A tree whose heights ran away is kept; only who was asked to stop gives none.
        if counter.is_stopped() { Err(Error::Cancelled) } else { Ok(learned.tree) }
    };
    let trees: Result<Vec<Tree>> = forest.trees().par_iter().enumerate().map(fitted).collect();
    // Not divided by their sum again, which rounds.
    Ok(Forest { trees: trees?, weights: forest.weights.clone() })
}
