//! Ultrametric trees fitted to the ground metric alone, without labels.
//!
//! *UltraTWD: Optimizing Ultrametric Trees for Tree-Wasserstein Distance* (ICML 2025) searches the
//! ultrametric closest to the ground metric. In the maximum norm, a minimum spanning tree and one
//! shift solve the problem ([`Linkage::Closest`]). For the sum of squares a descent is needed:
//! heights move along the negative gradient of (d_u − d)² over sampled pairs of points, and single
//! linkage projects back to ultrametrics. That is this library's learner with unit masses as
//! measures.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Fit;
use super::job::FitJob;
use crate::build::{Linkage, linkage};
use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::learn::{Kind, LearnOptions, Loss, learn};
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::progress::{Progress, State};
use crate::tree::Tree;

/// Steps per pass over the pairs: a pair of points moves few heights, so batches are large.
const BATCHES: usize = 50;

/// Passes over the pairs.
const EPOCHS: usize = 10;

/// Largest useful number of pairs: the learner reads every node for every pair.
const MOST_PAIRS: usize = 5_000;

pub(super) fn build(job: &FitJob<'_>) -> Result<Fit> {
    let pairs = job.options.point_pairs().min(MOST_PAIRS);
    Ok(Model::Tree(ultratwd(job.metric, pairs, job.options.seed, job.progress)?).into())
}

/// Minimizes the squared differences of `pairs` sampled pairs of points, from the ultrametric
/// closest in the maximum norm: O(N²) distances, then 500 steps of O(N·pairs/400 + N log N).
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
    let data = Labeled::of_points(metric, pairs, seed)?;
    let options = LearnOptions {
        kind: Kind::Ultrametric,
        loss: Loss::Squared,
        epochs: EPOCHS,
        batch_size: data.len().div_ceil(BATCHES).max(LearnOptions::default().batch_size),
        // There is nothing to generalize to: the training pairs choose the best tree.
        validation_fraction: 0.0,
        seed,
        ..LearnOptions::default()
    };
    let stopped = AtomicBool::new(false);
    let watch = |state: &State<'_>| {
        let proceed = progress(state);
        stopped.fetch_or(!proceed, Ordering::Relaxed);
        proceed
    };
    let learned = learn(&start, &data, &options, &watch)?;
    if stopped.into_inner() { Err(Error::Canceled) } else { Ok(learned.tree) }
}
