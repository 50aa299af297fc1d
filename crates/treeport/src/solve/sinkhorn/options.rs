//! What can be chosen: how much entropy, how to get there, and when to stop.

use crate::error::{Error, Result};
use crate::option_range::OptionRange;

/// How much the entropy weighs against the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Epsilon {
    /// In the unit of the distances, as POT's `reg`.
    Absolute(f64),
    /// As a share of the largest distance between the two supports: the same plan in meters and in
    /// miles.
    Relative(f64),
}

impl Epsilon {
    /// In the unit of the distances.
    pub(super) fn absolute(self, largest: f64) -> f64 {
        let epsilon = match self {
            Self::Absolute(epsilon) => epsilon,
            // Without any distance every ε gives the same plan.
            Self::Relative(_) if largest == 0.0 => 1.0,
            Self::Relative(share) => share * largest,
        };
        // So that 1/ε is finite.
        epsilon.max(LEAST_EPSILON)
    }
}

const LEAST_EPSILON: f64 = 1e-300;

/// Options of [`sinkhorn`](super).
#[derive(Clone, Debug, PartialEq)]
pub struct SinkhornOptions {
    /// Weight of the entropy (default: 0.01 of the largest distance).
    pub epsilon: Epsilon,
    /// ε-scaling: start at the largest distance and multiply by this factor, from above 0 to 0.9,
    /// until `epsilon` is reached (default: 0.25). `None` starts at `epsilon`, and so does an `epsilon`
    /// of at least a twentieth of the largest distance.
    pub scaling: Option<f64>,
    /// Most iterations, all values of ε together (default: 100 000).
    pub max_iterations: usize,
    /// Largest [`violation`](super::Entropic::violation) that counts as converged (default: 10⁻⁹).
    pub tolerance: f64,
}

impl Default for SinkhornOptions {
    fn default() -> Self {
        Self {
            epsilon: Epsilon::Relative(0.01),
            scaling: Some(0.25),
            max_iterations: 100_000,
            tolerance: 1e-9,
        }
    }
}

impl SinkhornOptions {
    pub(super) fn check(&self) -> Result<()> {
        let (Epsilon::Absolute(epsilon) | Epsilon::Relative(epsilon)) = self.epsilon;
        OptionRange::above(0.0, "it must be above 0; exact transport is without entropy")
            .check("epsilon", epsilon)?;
        if let Some(value) = self.scaling.filter(|&factor| !(factor > 0.0 && factor <= 0.9)) {
            let (option, value) = ("scaling", value.to_string());
            let expected = "a factor above 0 and at most 0.9; try 0.25";
            return Err(Error::BadOption { option, value, expected });
        }
        OptionRange::at_least(1.0, "there must be at least one")
            .check("max_iterations", self.max_iterations as f64)?;
        OptionRange::above(0.0, "it must be above 0; try 1e-9").check("tolerance", self.tolerance)
    }
}
