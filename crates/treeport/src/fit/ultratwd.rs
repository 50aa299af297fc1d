//! Ultrametric trees fitted to the ground metric alone, without labels.
//!
//! *UltraTWD: Optimizing Ultrametric Trees for Tree-Wasserstein Distance* (ICML 2025) looks for the
//! ultrametric closest to the ground metric. In the largest difference that is solved by a minimum
//! spanning tree and one shift, [`Linkage::Closest`]. In the sum of
//! squares it is not, and one descends: heights move down the gradient of (d_u − d)² over sampled
//! pairs of points, and single linkage leads back to ultrametrics. That is this library's learner
//! with unit masses as measures.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Fit;
use super::job::FitJob;
use crate::build::{Linkage, linkage};
use crate::error::{Error, Result};
use crate::labelled::Labelled;
use crate::learn::{Kind, LearnOptions, Loss, learn};
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::progress::{Progress, State};
use crate::tree::Tree;

/// Steps in one pass over the pairs: a pair of points moves few heights, so batches are large.
const BATCHES: usize = 50;

/// Passes over the pairs.
const EPOCHS: usize = 10;

/// The learner reads every node for every pair: beyond this many pairs of points it gains little.
const MOST_PAIRS: usize = 5_000;

pub(super) fn build(job: &FitJob<'_>) -> Result<Fit> {
    let pairs = job.options.point_pairs().min(MOST_PAIRS);
    Ok(Model::Tree(ultratwd(job.metric, pairs, job.options.seed, job.progress)?).into())
}

/// Descends from the ultrametric closest in the largest difference on the squared differences of
/// `pairs` sampled pairs of points.
///
/// # Complexity
/// O(N²) distances for the start, then 500 steps of O(N·pairs/400 + N log N).
fn ultratwd(
    metric: &GroundMetric,
    pairs: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Tree> {
    let start = linkage(metric, Linkage::Closest, progress)?;
    if metric.points() < 2 {
        return Ok(start);
    }
    let data = Labelled::of_points(metric, pairs, seed)?;
    let options = LearnOptions {
        kind: Kind::Ultrametric,
        loss: Loss::Squared,
        epochs: EPOCHS,
        batch_size: data.len().div_ceil(BATCHES).max(LearnOptions::default().batch_size),
        // Nothing to generalize to: the pairs that it learns from choose.
        validation_fraction: 0.0,
        seed,
        ..LearnOptions::default()
    };
    let stopped = AtomicBool::new(false);
    let watch = |state: &State<'_>| {
        let goes_on = progress(state);
        stopped.fetch_or(!goes_on, Ordering::Relaxed);
        goes_on
    };
    let learned = learn(&start, &data, &options, &watch)?;
    if stopped.into_inner() { Err(Error::Cancelled) } else { Ok(learned.tree) }
}
