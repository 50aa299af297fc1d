//! Recovery of hidden trees, as cells: [`crate::noisy_trees`].

use serde_json::json;
use treeport::Linkage;

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, spread};
use crate::Result;
use crate::noisy_trees::{PAPER, Recovery, RecoveryMethod, recover_many};

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
    // Single linkage of the noisy distances, as in the paper.
    let found = recover_many(trees as u64, sigma, seed, Linkage::Single, recovery)?;
    let of = |pick: fn(&Recovery) -> f64| spread(&found.iter().map(pick).collect::<Vec<_>>());
    let paper = PAPER.iter().find(|p| p.0 == recovery && p.1 == sigma);
    Ok(json!({
        "experiment": "noisy-trees", "kind": recovery.name(), "sigma": sigma, "trees": trees, "seed": seed,
        "tree_distance": of(|r| r.tree_distance), "relative_error": of(|r| r.relative_error),
        "absolute_error": of(|r| r.absolute_error),
        "paper_tree_distance": paper.map(|p| p.2), "paper_error": paper.map(|p| p.3),
    }))
}
