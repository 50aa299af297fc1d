//! Recovery of hidden trees from transport distances: \[CTW24\], "Learning Topologies of Random
//! Trees".
//!
//! The hidden tree is random with unit edges. Its noisy leaf distances give the start, and exact
//! distances between random measures on its leaves are the labels.

use rand::RngExt;
use rayon::prelude::*;
use serde_json::json;
use treeport::build::{Splitting, cluster_tree};
use treeport::fit::{EdgeOptions, fit_points};
use treeport::{GroundMetric, Kind, Labeled, LearnOptions, Linkage, Tree, learn, linkage, silent};

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, paper, spread};
use crate::Result;
use crate::generate::{
    Random, labeled_by, leaf_distances, noisy_distances, random_unit_tree, seeded, uniform_measures,
};

pub(super) const NOISY_TREES: Experiment = Experiment {
    name: "noisy-trees",
    about: "hidden trees of 20 to 40 nodes, learned back from a noisy start",
    cells,
    tables: &[Table {
        split: &["trees", "seed"],
        line: &["sigma", "kind"],
        across: None,
        show: &[
            ("dist(T̂,T)", Column::Spread("tree_distance")),
            ("paper", Column::Number("paper_tree_distance", 3)),
            ("W₁ relative error", Column::Spread("relative_error")),
            ("W₁ absolute error", Column::Spread("absolute_error")),
            ("paper", Column::Number("paper_error", 3)),
        ],
    }],
    figures: no_figures,
    words: "Mean ± standard deviation over hidden trees. The hidden trees are not ultrametric: an additive tree can equal \
them, an ultrametric one cannot. The authors' code computes the mean absolute error where the paper's \
table says W₁ error; both are printed, and the paper's figure stands beside the absolute one. cTWD has the cluster \
tree of the noisy distances with edges fitted to the true ones, as in the paper's four-point example.",
};

/// Trees per noise level in a quick run.
const QUICK_TREES: usize = 3;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let trees = if setup.quick { setup.trees.min(QUICK_TREES) } else { setup.trees };
    let mut cells = Vec::new();
    for sigma in [2.0, 3.0, 4.0, 5.0] {
        for recovery in RecoveryMethod::ALL {
            let work = move |_: &treeport::Progress<'_>| {
                Ok(vec![row(sigma, recovery, trees, setup.seed)?])
            };
            cells.push(Cell::new(format!("{sigma} {} {trees}", recovery.name()), work));
        }
    }
    cells
}

fn row(sigma: f64, recovery: RecoveryMethod, trees: usize, seed: u64) -> Result<Row> {
    let found = recover_many(trees as u64, sigma, seed, recovery)?;
    let of = |pick: fn(&Recovery) -> f64| spread(&found.iter().map(pick).collect::<Vec<_>>());
    let paper = |table| paper::number(table, recovery.name(), &sigma.to_string());
    Ok(json!({
        "experiment": "noisy-trees", "kind": recovery.name(), "sigma": sigma, "trees": trees, "seed": seed,
        "tree_distance": of(|r| r.tree_distance), "relative_error": of(|r| r.relative_error),
        "absolute_error": of(|r| r.absolute_error),
        "paper_tree_distance": paper("tree distance"), "paper_error": paper("tree error"),
    }))
}

/// Training pairs, as in the paper.
const TRAINING_PAIRS: usize = 200;

const TEST_PAIRS: usize = 50;

/// Method that recovers a tree from the noisy start.
#[derive(Clone, Copy)]
enum RecoveryMethod {
    /// Learned from transport distances.
    Learned(Kind),
    /// The cluster tree of the noisy distances, with edges fitted to the true ones.
    CTwd,
}

impl RecoveryMethod {
    /// All methods, ours first.
    const ALL: [Self; 4] = [
        Self::Learned(Kind::Additive),
        Self::Learned(Kind::Ultrametric),
        Self::Learned(Kind::SkipMst),
        Self::CTwd,
    ];

    /// Returns the name in the table.
    fn name(self) -> &'static str {
        match self {
            Self::Learned(Kind::Additive) => "additive",
            Self::Learned(Kind::Ultrametric) => "ultrametric",
            Self::Learned(Kind::SkipMst) => "skip-mst",
            Self::CTwd => "ctwd",
        }
    }
}

/// Errors of one recovered tree.
struct Recovery {
    /// dist(T̂, T) = 2/(N(N−1)) · ‖D_T̂ − D_T‖ (Frobenius): 0 if every leaf distance is correct.
    tree_distance: f64,
    /// Mean relative error of W₁ on test pairs.
    relative_error: f64,
    /// Mean absolute error of W₁ on test pairs.
    absolute_error: f64,
}

/// Recovers `count` hidden trees at one noise level; tree `t` depends only on `seed + t`.
fn recover_many(
    count: u64,
    sigma: f64,
    seed: u64,
    recovery: RecoveryMethod,
) -> treeport::Result<Vec<Recovery>> {
    (0..count).into_par_iter().map(|t| recover(&mut seeded(seed + t), sigma, recovery)).collect()
}

/// Draws a hidden tree of 20 to 40 nodes, adds noise to its distances, and recovers it.
fn recover(rng: &mut Random, sigma: f64, recovery: RecoveryMethod) -> treeport::Result<Recovery> {
    let hidden = random_unit_tree(rng.random_range(20..=40), rng)?;
    let (_, found) = attempt(&hidden, rng, sigma, recovery)?;
    judge(&hidden, &found, rng)
}

/// Returns the start and the recovered tree.
fn attempt(
    hidden: &Tree,
    rng: &mut Random,
    sigma: f64,
    recovery: RecoveryMethod,
) -> treeport::Result<(Tree, Tree)> {
    let truth = leaf_distances(hidden);
    let blurred = noisy_distances(&truth, sigma, rng)?;
    let blurred = GroundMetric::from_condensed(hidden.leaves(), blurred)?;
    // Single linkage of the noisy distances, as in the paper.
    let start = linkage(&blurred, Linkage::Single, &silent)?;
    let data = labeled(hidden, TRAINING_PAIRS, rng)?;
    let found = match recovery {
        RecoveryMethod::Learned(kind) => {
            learn(&start, &data, &recovery_options(kind), &silent)?.tree
        }
        RecoveryMethod::CTwd => {
            // Branching and depth used by its authors.
            let shape = cluster_tree(&blurred, Splitting::Farthest, 5, 6, 0, &silent)?;
            let metric = GroundMetric::from_condensed(hidden.leaves(), truth)?;
            fit_points(&shape, &metric, &EdgeOptions::default(), &silent)?.tree
        }
    };
    Ok((start, found))
}

/// Recovers one hidden tree of `nodes` nodes; returns it with its noisy start and the learned tree,
/// and their dist(T̂, T).
pub(super) fn one_recovery(
    nodes: usize,
    sigma: f64,
    seed: u64,
    kind: Kind,
) -> treeport::Result<[(&'static str, Tree, f64); 3]> {
    let mut rng = seeded(seed);
    let hidden = random_unit_tree(nodes, &mut rng)?;
    let (start, found) = attempt(&hidden, &mut rng, sigma, RecoveryMethod::Learned(kind))?;
    let [near, far] = [&found, &start].map(|tree| tree_distance(&hidden, tree));
    Ok([("hidden", hidden, 0.0), ("noisy start", start, far), ("recovered", found, near)])
}

/// Labels pairs of random measures by their transport distance on a tree.
fn labeled(tree: &Tree, count: usize, rng: &mut Random) -> treeport::Result<Labeled> {
    labeled_by(tree, &uniform_measures(tree.leaves(), 2 * count, rng)?)
}

/// Computes 2/(N(N−1)) · ‖D_T̂ − D_T‖ over the whole matrix: every pair counts twice.
fn tree_distance(hidden: &Tree, found: &Tree) -> f64 {
    let n = hidden.leaves() as f64;
    let (truth, ours) = (leaf_distances(hidden), leaf_distances(found));
    let squares: f64 = truth.iter().zip(&ours).map(|(t, o)| (t - o) * (t - o)).sum();
    2.0 / (n * (n - 1.0)) * (2.0 * squares).sqrt()
}

fn judge(hidden: &Tree, learned: &Tree, rng: &mut Random) -> treeport::Result<Recovery> {
    let test = labeled(hidden, TEST_PAIRS, rng)?;
    let predicted = learned.pairs(test.measures(), test.pairs(), &silent)?;
    let errors = predicted.iter().zip(test.distances()).map(|(p, d)| (p - d).abs());
    Ok(Recovery {
        tree_distance: tree_distance(hidden, learned),
        relative_error: test.score(&predicted).mean,
        absolute_error: errors.sum::<f64>() / test.len() as f64,
    })
}

/// Returns the options that recover hidden trees best among those we tried.
fn recovery_options(kind: Kind) -> LearnOptions {
    LearnOptions { kind, epochs: 400, learning_rate: 1.0, ..LearnOptions::default() }
}
