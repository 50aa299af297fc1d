//! Options of Sinkhorn's algorithm: the weight of the entropy, ε-scaling, and when to stop.

use crate::error::{Error, Result};
use crate::tools::option_range::OptionRange;

/// Weight of the entropy against the cost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Epsilon {
    /// Absolute weight in the unit of the distances, like POT's `reg`.
    Absolute(f64),
    /// Share of the largest distance between the supports: the same plan in any unit.
    Relative(f64),
}

impl Epsilon {
    /// Returns ε in the unit of the distances.
    pub(super) fn absolute(self, largest: f64) -> f64 {
        let epsilon = match self {
            Self::Absolute(epsilon) => epsilon,
            // If all distances are 0, every ε gives the same plan.
            Self::Relative(_) if largest == 0.0 => 1.0,
            Self::Relative(share) => share * largest,
        };
        // Keeps 1/ε finite.
        epsilon.max(LEAST_EPSILON)
    }
}

const LEAST_EPSILON: f64 = 1e-300;

/// Options of [`sinkhorn`](super).
#[derive(Clone, Debug, PartialEq)]
pub struct SinkhornOptions {
    /// Weight of the entropy (default: 0.01 of the largest distance).
    pub epsilon: Epsilon,
    /// Factor of ε-scaling, above 0 and at most 0.9 (default: 0.25): ε starts at the largest
    /// distance and is multiplied by it until `epsilon` is reached. `None` starts at `epsilon`, and
    /// so does an `epsilon` of at least a twentieth of the largest distance.
    pub scaling: Option<f64>,
    /// Largest number of iterations, at all values of ε together (default: 100 000).
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
