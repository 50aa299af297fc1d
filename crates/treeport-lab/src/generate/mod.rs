//! Seeded random inputs: measures, points, trees and pairs.
//!
//! All draws come from one generator passed by the caller, in a fixed order and on one thread, so
//! that a seed determines the data set.
//!
//! # Example
//! ```
//! use treeport_lab::generate::{seeded, uniform_measures};
//! let measures = uniform_measures(10, 3, &mut seeded(7))?;
//! assert_eq!(measures, uniform_measures(10, 3, &mut seeded(7))?);
//! # Ok::<(), treeport::Error>(())
//! ```

mod clouds;
mod families;
mod measures;
mod points;
mod texts;
mod trees;

pub use clouds::{cells, images, jets};
pub use families::{CloudFamily, FAMILIES};
pub use measures::{
    clustered_measures, near_measures, sparse_measures, subset_measures, uniform_measures,
};
pub use points::{clustered_points, gaussian_points, uniform_points};
pub use texts::Texts;
pub use treeport_report::sample::{Random, random_pairs, seeded};
pub use trees::{leaf_distances, noisy_distances, random_merge_tree, random_unit_tree};

use rand::RngExt;
use treeport::{Labeled, Measures, Result, Tree, silent};

/// Returns the pairs (0, 1), (2, 3), …, so that every measure is in one pair.
pub fn couples(count: usize) -> Vec<(usize, usize)> {
    (0..count).map(|k| (2 * k, 2 * k + 1)).collect()
}

/// Labels all [`couples`] of measures by their distances on a tree, at no cost.
pub fn labeled_by(tree: &Tree, measures: &Measures) -> Result<Labeled> {
    let pairs = couples(measures.len() / 2);
    let distances = tree.pairs(measures, &pairs, &silent)?;
    Labeled::new(measures, pairs, distances)
}

/// Draws from N(0, 1) by the Box–Muller transform, which is exact and needs no table.
fn normal(rng: &mut Random) -> f64 {
    // 1 − u is in (0, 1], so the logarithm is finite.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_draws_have_the_right_moments() {
        let mut rng = seeded(1);
        let draws: Vec<f64> = (0..40_000).map(|_| normal(&mut rng)).collect();
        let mean = |power| draws.iter().map(|z| z.powi(power)).sum::<f64>() / draws.len() as f64;
        // Four standard errors of each moment: 1, √2 and √96 over √40000.
        assert!(mean(1).abs() < 0.02);
        assert!((mean(2) - 1.0).abs() < 0.03);
        assert!((mean(4) - 3.0).abs() < 0.2);
    }
}
