//! Options of learning: the kind of tree, the steps, the loss.

use crate::error::Result;
use crate::names::named;
use crate::option_range::OptionRange;

/// The kind of tree that is learned, and the projection after each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// All leaves equally far from the root; the paper's method.
    Ultrametric,
    /// Leaves at any depth: every tree metric. Projects through the Gromov product at a random
    /// leaf.
    #[default]
    Additive,
    /// The shape stays as it starts, and one projection at the end makes an ultrametric tree of it
    /// (\[CTW24\], "skip-MST").
    SkipMst,
}

named! { Kind, "the kind", {
    Additive: "additive", "leaves at any depth: every tree metric";
    Ultrametric: "ultrametric", "all leaves equally far from the root";
    SkipMst: "skip-mst", "ultrametric, with the shape of the start";
} }

/// How the learning rate falls from its start to the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// Straight down to 0.
    #[default]
    Linear,
    /// Half a cosine down to 0.
    Cosine,
    /// Not at all.
    Constant,
}

named! { Schedule, "the schedule", {
    Linear: "linear", "straight down to 0";
    Cosine: "cosine", "half a cosine down to 0";
    Constant: "constant", "not at all";
} }

impl Schedule {
    /// The share of the rate left when `done` (0 to 1) of the steps are done.
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
    /// (W_T − W₁)², the cost of \[CTW24\]: large distances decide.
    Squared,
    /// ((W_T − W₁)/W₁)²: every pair counts the same, as it does in the mean relative error.
    #[default]
    Relative,
}

named! { Loss, "the loss", {
    Relative: "relative", "every pair counts the same";
    Squared: "squared", "large distances count more, as in the paper";
} }

impl Loss {
    /// What the squared error of each label is multiplied by.
    pub(crate) fn importance(self, distances: &[f64]) -> Vec<f64> {
        match self {
            Self::Squared => vec![1.0; distances.len()],
            Self::Relative => {
                let mean = distances.iter().sum::<f64>() / distances.len() as f64;
                // A label near 0 must not outweigh all others; labels that are all 0 weigh the
                // same.
                let least = if mean > 0.0 { LEAST_LABEL * mean } else { 1.0 };
                distances.iter().map(|d| (mean.max(least) / d.max(least)).powi(2)).collect()
            }
        }
    }
}

/// Labels below this share of their mean weigh no more than one of that size.
const LEAST_LABEL: f64 = 0.05;

/// Options of [`learn`](super::learn); the defaults worked on every data set we tried.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnOptions {
    /// What kind of tree.
    pub kind: Kind,
    /// Passes over the training pairs.
    pub epochs: usize,
    /// Pairs in one step; all pairs at once recover hidden trees worse.
    pub batch_size: usize,
    /// Step size at the start, without unit; 0.3 to 1 is the useful range.
    pub learning_rate: f64,
    /// How the rate falls.
    pub schedule: Schedule,
    /// The loss; the paper takes squared errors.
    pub loss: Loss,
    /// Share of the labels kept for choosing the best tree (by its loss), 0 up to below 1. With 0, or where it rounds to no pair, the training pairs choose.
    pub validation_fraction: f64,
    /// Stop after this many epochs without a better tree; 0 never stops early.
    pub patience: usize,
    /// Multiply the start by the median of W₁/W_T first; not when resuming.
    pub scale: bool,
    /// Seed of all randomness.
    pub seed: u64,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl LearnOptions {
    /// What [`Default`] gives.
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

/// Pairs that a step can have.
pub(crate) const BATCH_SIZE: OptionRange =
    OptionRange::at_least(1.0, "a batch holds at least one pair");
/// Step sizes at the start.
pub(crate) const LEARNING_RATE: OptionRange =
    OptionRange::above(0.0, "it must be above 0; try 0.5");
/// Shares of the labels that can be held out.
pub(crate) const VALIDATION_FRACTION: OptionRange =
    OptionRange::half_open(0.0, 1.0, "a share from 0 to below 1");
