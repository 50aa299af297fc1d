//! Every method on random points, as cells: [`crate::synthetic`].

use serde_json::json;

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, paper, score};
use crate::Result;
use crate::synthetic::{Cloud, Masses, compare};

pub(super) const UNIFORM: Experiment = Experiment {
    name: "uniform",
    about: "every method on 100 uniform points of [-10, 10]^d",
    cells: |setup| cells(setup, Cloud::Uniform),
    tables: &[Table {
        split: &["dim", "runs", "seed"],
        line: &["method"],
        across: Some("masses"),
        show: &[
            ("paper", Column::Spread("paper")),
            ("error", Column::Spread("error")),
            ("times one factor", Column::Spread("scaled")),
        ],
    }],
    figures: no_figures,
    words: "100 points, 200 training and 50 test pairs, several data sets judged together. `full` has random masses on \
all points, as the paper says; `subset` has equal masses on a random subset, as its published code does. Compare \
the errors after one factor, also with the null baseline `total-variation`. Sinkhorn is no tree: `runtime` has its cost.",
};

pub(super) const GAUSSIAN: Experiment = Experiment {
    name: "gaussian",
    about: "every method on 100 Gaussian points",
    cells: |setup| cells(setup, Cloud::Gaussian),
    words: "As `uniform`, with points from N(0, 1) along every axis. λ = 1 is then large beside the distances, and \
Sinkhorn's plain error with it.",
    ..UNIFORM
};

/// Number of dimensions in a quick run.
const QUICK_DIMS: usize = 2;

fn cells(setup: &Setup, cloud: Cloud) -> Vec<Cell<'_>> {
    let (most, runs) = if setup.quick { (QUICK_DIMS, 1) } else { (usize::MAX, setup.runs) };
    let mut cells = Vec::new();
    for &dim in setup.dims.iter().take(most) {
        for (masses, name) in [(Masses::Full, "full"), (Masses::Subset, "subset")] {
            let work =
                move |_: &treeport::Progress<'_>| rows(cloud, dim, masses, name, runs, setup.seed);
            cells.push(Cell::new(format!("dim {dim} {name} {runs}"), work));
        }
    }
    cells
}

fn rows(
    cloud: Cloud,
    dim: usize,
    masses: Masses,
    name: &str,
    runs: usize,
    seed: u64,
) -> Result<Vec<Row>> {
    let row = |outcome: &crate::synthetic::MethodScores| {
        json!({
            "experiment": cloud.name(),
            "dim": dim, "masses": name, "method": outcome.entry.name(),
            "paper": outcome.entry.paper(cloud, dim).map(paper),
            "error": score(&outcome.plain), "scaled": score(&outcome.scaled),
            "runs": runs, "seed": seed,
        })
    };
    Ok(compare(cloud, masses, dim, runs as u64, seed)?.iter().map(row).collect())
}
