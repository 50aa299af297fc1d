//! Can a hidden tree be learned from transport distances? \[CTW24\], "Learning Topologies of Random Trees".
//!
//! A random tree with unit edges; its leaf distances, blurred by noise, give the start; exact transport
//! distances between random measures on its leaves are the labels. How close is the learned tree?

use rand::RngExt;
use rayon::prelude::*;
use treeport::learn::go_on;
use treeport::{
    GroundMetric, Kind, Labels, LearnOptions, Linkage, Measures, Tree, learn, linkage, silent,
};

use crate::generate::{
    Random, leaf_distances, noisy_distances, random_unit_tree, seeded, uniform_measures,
};
use crate::score::Score;

/// Training pairs, as in the paper.
const TRAINING_PAIRS: usize = 200;

/// Pairs the learner never sees.
const TEST_PAIRS: usize = 50;

/// How close one learned tree came to the hidden one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// dist(T̂, T) = 2/(N(N−1)) · ‖D_T̂ − D_T‖ (Frobenius): 0 if every leaf distance is right.
    pub tree_distance: f64,
    /// Mean relative error of W₁ on pairs the learner never saw.
    pub relative_error: f64,
    /// Mean absolute error of W₁ on the same pairs.
    pub absolute_error: f64,
}

/// Recovers `count` hidden trees at one noise level, in parallel; tree `t` depends on `seed + t` alone.
///
/// # Errors
/// Options the learner refuses.
pub fn recover_many(
    count: u64,
    sigma: f64,
    seed: u64,
    method: Linkage,
    options: &LearnOptions,
) -> treeport::Result<Vec<Recovery>> {
    (0..count)
        .into_par_iter()
        .map(|t| recover(&mut seeded(seed + t), sigma, method, options))
        .collect()
}

/// Hides a tree of 20 to 40 nodes, blurs its distances, and learns it back.
fn recover(
    rng: &mut Random,
    sigma: f64,
    method: Linkage,
    options: &LearnOptions,
) -> treeport::Result<Recovery> {
    let hidden = random_unit_tree(rng.random_range(20..=40), rng)?;
    let blurred = noisy_distances(&leaf_distances(&hidden), sigma, rng)?;
    let start = linkage(&GroundMetric::from_condensed(hidden.leaves(), blurred)?, method)?;
    let (measures, labels) = labelled_pairs(&hidden, TRAINING_PAIRS, rng)?;
    let learned = learn(&start, &measures, &labels, options, go_on)?;
    judge(&hidden, &learned.tree, rng)
}

/// Pairs of random measures with their transport distance on a tree.
fn labelled_pairs(
    tree: &Tree,
    count: usize,
    rng: &mut Random,
) -> treeport::Result<(Measures, Labels)> {
    let measures = uniform_measures(tree.leaves(), 2 * count, rng)?;
    let pairs: Vec<(usize, usize)> = (0..count).map(|k| (2 * k, 2 * k + 1)).collect();
    let distances = tree.pairs(&measures, &pairs, &silent)?;
    Ok((measures, Labels { pairs, distances }))
}

fn judge(hidden: &Tree, learned: &Tree, rng: &mut Random) -> treeport::Result<Recovery> {
    let n = hidden.leaves() as f64;
    let (truth, ours) = (leaf_distances(hidden), leaf_distances(learned));
    let squares: f64 = truth.iter().zip(&ours).map(|(t, o)| (t - o) * (t - o)).sum();
    let (measures, labels) = labelled_pairs(hidden, TEST_PAIRS, rng)?;
    let predicted = learned.pairs(&measures, &labels.pairs, &silent)?;
    let errors = predicted.iter().zip(&labels.distances).map(|(p, d)| (p - d).abs());
    let diameter = truth.iter().copied().fold(0.0, f64::max);
    Ok(Recovery {
        // The norm runs over the whole matrix: every pair counts twice.
        tree_distance: 2.0 / (n * (n - 1.0)) * (2.0 * squares).sqrt(),
        relative_error: Score::new(&predicted, &labels.distances, diameter).mean,
        absolute_error: errors.sum::<f64>() / labels.distances.len() as f64,
    })
}

/// The options that recover hidden trees best among those we tried.
pub fn recovery_options(kind: Kind) -> LearnOptions {
    LearnOptions { kind, epochs: 200, batch: 20, rate: 1.0, ..LearnOptions::default() }
}
