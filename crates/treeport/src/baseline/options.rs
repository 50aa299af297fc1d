//! What can be chosen beside the method.

use super::model::Scale;
use super::weights::WeightOptions;
use crate::error::{Error, Result};
use crate::forest::ForestOptions;
use crate::learn::LearnOptions;

/// Options of [`Method::build`](super::Method::build); a method reads those that concern it.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineOptions {
    /// Whether labels give one factor (default: no).
    pub scale: Scale,
    /// Clusters that a cluster is split into (default: 5, as Yamada et al. have it).
    pub branching: usize,
    /// Levels of a cluster tree (default: 6, as there).
    pub depth: usize,
    /// Trees of a sliced method (default: 3, as there).
    pub slices: usize,
    /// Fit the edges of all slices at once, so that their mean fits, and not each tree (default: no).
    pub joint: bool,
    /// How a perturbed forest is grown; its seed is left aside for [`seed`](Self::seed).
    pub forest: ForestOptions,
    /// How edges are fitted; its seed is left aside for [`seed`](Self::seed).
    pub weights: WeightOptions,
    /// How trees are learned; kind and seed are left aside for the method and for [`seed`](Self::seed).
    pub learn: LearnOptions,
    /// Seed of all randomness (default: 0).
    pub seed: u64,
}

impl Default for BaselineOptions {
    fn default() -> Self {
        Self {
            scale: Scale::None,
            branching: 5,
            depth: 6,
            slices: 3,
            joint: false,
            forest: ForestOptions::default(),
            weights: WeightOptions::default(),
            learn: LearnOptions::default(),
            seed: 0,
        }
    }
}

impl BaselineOptions {
    pub(super) fn check(&self) -> Result<()> {
        if self.slices == 0 {
            return Err(Error::BadOption {
                option: "slices",
                value: "0".into(),
                expected: "a sliced method averages at least one tree",
            });
        }
        self.forest.check()
    }

    /// The same options for one of several random trees.
    pub(super) fn slice(&self, k: usize) -> Self {
        // Far apart, so that neighboring seeds share no slice.
        let seed = self.seed.wrapping_add((k as u64).wrapping_mul(0xD134_2543_DE82_EF95));
        Self { seed, ..self.clone() }
    }
}
