//! Ultrametric trees fitted to the ground metric alone, without labels.
//!
//! *UltraTWD: Optimizing Ultrametric Trees for Tree-Wasserstein Distance* (ICML 2025) looks for the
//! ultrametric closest to the ground metric. In the largest difference that is solved by a minimum spanning
//! tree and one shift, [`Linkage::Closest`]. In the sum of squares it is not, and one descends: heights move
//! down the gradient of (d_u − d)² over sampled pairs of points, and single linkage leads back to
//! ultrametrics. That is this library's learner with unit masses as measures.

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::learn::{Kind, LearnOptions, Loss, Status, learn, point_labels};
use crate::linkage::{Linkage, linkage};
use crate::metric::GroundMetric;
use crate::progress::Progress;
use crate::tree::Tree;

/// Steps in one pass over the pairs: a pair of points moves few heights, so batches are large.
const BATCHES: usize = 50;

/// Passes over the pairs.
const EPOCHS: usize = 10;

/// Minimum spanning tree and shift: the ultrametric closest to the metric in the largest difference.
///
/// # Errors
/// None for a valid metric.
///
/// # Complexity
/// O(N²) distances.
pub fn ultratwd_mst(metric: &GroundMetric) -> Result<Tree> {
    linkage(metric, Linkage::Closest)
}

/// Descends from [`ultratwd_mst`] on the squared differences of `pairs` sampled pairs of points.
///
/// `progress` counts steps.
///
/// # Errors
/// [`Error::Cancelled`] when `progress` asks to stop.
///
/// # Complexity
/// O(N²) distances for the start, then 500 steps of O(N·pairs/400 + N log N).
pub fn ultratwd(
    metric: &GroundMetric,
    pairs: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Tree> {
    let start = ultratwd_mst(metric)?;
    if metric.points() < 2 {
        return Ok(start);
    }
    let (measures, labels) = point_labels(metric, pairs, seed)?;
    let options = LearnOptions {
        kind: Kind::Ultrametric,
        loss: Loss::Squared,
        epochs: EPOCHS,
        batch: labels.pairs.len().div_ceil(BATCHES).max(LearnOptions::default().batch),
        // Nothing to generalise to: the pairs that it learns from choose.
        validation: 0.0,
        seed,
        ..LearnOptions::default()
    };
    let mut stopped = false;
    let learned = learn(&start, &measures, &labels, &options, |status: &Status<'_>| {
        stopped = !progress(status.step);
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if stopped { Err(Error::Cancelled) } else { Ok(learned.tree) }
}
