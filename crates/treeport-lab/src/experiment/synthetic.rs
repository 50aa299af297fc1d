//! Random points and every method, as cells: [`crate::synthetic`].

use serde_json::json;

use super::{Cell, Experiment, Row, Setup, Show, Table, no_figures, paper, score};
use crate::Result;
use crate::synthetic::{Cloud, Masses, compare};

const TABLE: Table = Table {
    split: &["dim", "runs", "seed"],
    line: &["method"],
    across: Some("masses"),
    show: &[
        ("paper", Show::Spread("paper")),
        ("error", Show::Spread("error")),
        ("times one factor", Show::Spread("scaled")),
    ],
};

pub(super) const UNIFORM: Experiment = Experiment {
    name: "uniform",
    about: "every method on 100 uniform points of [-10, 10]^d",
    cells: |setup| cells(setup, Cloud::Uniform),
    tables: &[TABLE],
    figures: no_figures,
    words: "100 points, 200 training and 50 test pairs, several data sets judged together. `full` has random masses on \
all points, as the paper says; `subset` has equal masses on a random subset, as its published code does. The plain \
error of a quadtree, a cluster tree or a linkage is mostly one factor: after it, they stand near the null baseline \
`total-variation`, from dimension 8 on closer than any method's standard deviation. Learned trees win clearly in the \
plane, by little in high dimension, where distances are nearly equal and there is little to learn. Sinkhorn with λ = 1 \
loses in the plane, where 1 is large beside the distances.",
};

pub(super) const GAUSSIAN: Experiment = Experiment {
    name: "gaussian",
    about: "every method on 100 Gaussian points",
    cells: |setup| cells(setup, Cloud::Gaussian),
    tables: &[TABLE],
    figures: no_figures,
    words: "As `uniform`, with points from N(0, 1) along every axis. λ = 1 is then larger than most distances, and Sinkhorn \
says little.",
};

/// Dimensions in a glance.
const QUICK_DIMS: usize = 2;

fn cells(setup: &Setup, cloud: Cloud) -> Vec<Cell<'_>> {
    let (most, runs) = if setup.quick { (QUICK_DIMS, 1) } else { (usize::MAX, setup.runs) };
    let mut cells = Vec::new();
    for &dim in setup.dims.iter().take(most) {
        for (masses, name) in [(Masses::Full, "full"), (Masses::Subset, "subset")] {
            let at = (dim, masses, name);
            let work = move |_: &treeport::Progress<'_>| rows(cloud, at, runs, setup.seed);
            cells.push(Cell::new(format!("dim {dim} {name} {runs}"), work));
        }
    }
    cells
}

fn rows(
    cloud: Cloud,
    (dim, masses, name): (usize, Masses, &str),
    runs: usize,
    seed: u64,
) -> Result<Vec<Row>> {
    let row = |outcome: &crate::synthetic::Outcome| {
        json!({
            "experiment": if cloud == Cloud::Uniform { "uniform" } else { "gaussian" },
            "dim": dim, "masses": name, "method": outcome.entry.name(),
            "paper": outcome.entry.paper(cloud, dim).map(paper),
            "error": score(&outcome.plain), "scaled": score(&outcome.scaled),
            "runs": runs, "seed": seed,
        })
    };
    Ok(compare(cloud, masses, dim, runs as u64, seed)?.iter().map(row).collect())
}
