//! Options of learning: kind of tree, steps, loss.

use crate::error::Result;
use crate::names::named;
use crate::tools::option_range::OptionRange;

/// Kind of tree that is learned, which determines the projection after each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Ultrametric trees, as in the paper: all leaves have the same distance from the root.
    Ultrametric,
    /// Additive trees, which represent every tree metric: leaves have any depth. The projection is
    /// the Gromov product.
    #[default]
    Additive,
    /// The shape of the start, with one final projection (\[CTW24\], "skip-MST").
    SkipMst,
}

named! { Kind, "the kind", {
    Additive: "additive", "leaves at any depth: every tree metric";
    Ultrametric: "ultrametric", "all leaves equally far from the root";
    SkipMst: "skip-mst", "ultrametric, with the shape of the start";
} }

/// Decay of the learning rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// Linear decay to 0.
    #[default]
    Linear,
    /// Cosine decay to 0.
    Cosine,
    /// No decay.
    Constant,
}

named! { Schedule, "the schedule", {
    Linear: "linear", "straight down to 0";
    Cosine: "cosine", "half a cosine down to 0";
    Constant: "constant", "not at all";
} }

impl Schedule {
    /// Returns the share of the rate after the share `done` (0 to 1) of the steps.
    pub(super) fn share(self, done: f64) -> f64 {
        match self {
            Self::Linear => 1.0 - done,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * done).cos()),
            Self::Constant => 1.0,
        }
    }
}

/// The loss that learning minimizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// (W_T − W₁)², the cost of \[CTW24\]: large distances dominate.
    Squared,
    /// ((W_T − W₁)/W₁)²: every pair has the same weight, as in the mean relative error.
    #[default]
    Relative,
}

named! { Loss, "the loss", {
    Relative: "relative", "every pair counts the same";
    Squared: "squared", "large distances count more, as in the paper";
} }

impl Loss {
    /// Returns the weight of the squared error of each label.
    pub(crate) fn importance(self, distances: &[f64]) -> Vec<f64> {
        match self {
            Self::Squared => vec![1.0; distances.len()],
            Self::Relative => {
                let mean = distances.iter().sum::<f64>() / distances.len() as f64;
                // A label near 0 must not outweigh others; all-zero labels have equal weights.
                let least = if mean > 0.0 { LEAST_LABEL * mean } else { 1.0 };
                distances.iter().map(|d| (mean.max(least) / d.max(least)).powi(2)).collect()
            }
        }
    }
}

/// Share of the mean label below which labels have the weight of a label of that size.
const LEAST_LABEL: f64 = 0.05;

/// Options of [`learn`](super::learn); the defaults suit all data sets we tried.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnOptions {
    /// Kind of tree.
    pub kind: Kind,
    /// Passes over the training pairs.
    pub epochs: usize,
    /// Pairs per step; a single batch of all pairs recovers hidden trees less well.
    pub batch_size: usize,
    /// Initial step size, without unit; 0.3 to 1 is the useful range.
    pub learning_rate: f64,
    /// Decay of the step size.
    pub schedule: Schedule,
    /// Loss; the paper uses squared errors.
    pub loss: Loss,
    /// Share of the labels held out to choose the best tree (by its loss), from 0 to below 1. If it
    /// is 0 or rounds to no pair, the training pairs choose.
    pub validation_fraction: f64,
    /// Number of epochs without a better tree after which learning stops; 0 never stops early.
    pub patience: usize,
    /// Whether to first multiply the start by the median of W₁/W_T; not when resuming.
    pub scale: bool,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl LearnOptions {
    pub(crate) const DEFAULT: Self = Self {
        kind: Kind::Additive,
        epochs: 50,
        batch_size: 20,
        learning_rate: 0.5,
        schedule: Schedule::Linear,
        loss: Loss::Relative,
        validation_fraction: 0.1,
        patience: 0,
        scale: true,
        seed: 0,
    };

    pub(crate) fn check(&self) -> Result<()> {
        BATCH_SIZE.check("batch_size", self.batch_size as f64)?;
        LEARNING_RATE.check("learning_rate", self.learning_rate)?;
        VALIDATION_FRACTION.check("validation_fraction", self.validation_fraction)
    }
}

/// Valid numbers of pairs per step.
pub(crate) const BATCH_SIZE: OptionRange =
    OptionRange::at_least(1.0, "a batch holds at least one pair");
/// Valid initial step sizes.
pub(crate) const LEARNING_RATE: OptionRange =
    OptionRange::above(0.0, "it must be above 0; try 0.5");
/// Valid shares of held-out labels.
pub(crate) const VALIDATION_FRACTION: OptionRange =
    OptionRange::half_open(0.0, 1.0, "a share from 0 to below 1");
