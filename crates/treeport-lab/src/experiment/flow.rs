//! The flow of a forest, calibrated on training pairs.

use treeport::estimate::{Estimate, Estimator, Level};
use treeport::{Labels, Measures, Progress};

use crate::Result;

/// Labelled measures to learn from, and pairs to answer.
pub(super) struct Question<'a> {
    pub(super) train: &'a Measures,
    pub(super) labels: &'a Labels,
    pub(super) test: &'a Measures,
    pub(super) pairs: &'a [(usize, usize)],
}

/// What the flow level says: raw values, and after one factor.
pub(super) struct Answers {
    pub(super) raw: Vec<f64>,
    pub(super) scaled: Vec<f64>,
    /// How many of them the exact solver gave.
    pub(super) solved: usize,
}

/// Asks the flow level of an estimator.
pub(super) fn flow(
    estimator: Estimator<'_>,
    asked: &Question<'_>,
    progress: &Progress<'_>,
) -> Result<Answers> {
    let estimator = estimator.calibrated_to(Level::Flow, asked.train, asked.labels, progress)?;
    let found = estimator.pairs(Level::Flow, asked.test, asked.pairs, progress)?;
    let of = |part: fn(&Estimate) -> f64| found.iter().map(part).collect();
    let solved = found.iter().filter(|estimate| estimate.exact).count();
    Ok(Answers { raw: of(|e| e.raw), scaled: of(|e| e.value), solved })
}
