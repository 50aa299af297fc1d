//! `treeport reproduce uniform` and `gaussian`: every method on random points.

use anyhow::Result;
use serde_json::json;
use treeport_lab::score::Score;
use treeport_lab::synthetic::{Cloud, Masses, Outcome, compare};

use super::reproduce::ReproduceArgs;
use crate::interrupt;
use crate::output::{self, Output};

/// Dimensions in a glance.
const QUICK_DIMS: usize = 2;

const MASSES: [(Masses, &str); 2] = [(Masses::Full, "full"), (Masses::Subset, "subset")];

/// Prints one table for each dimension.
pub(super) fn run(args: &ReproduceArgs, cloud: Cloud, output: &Output) -> Result<()> {
    let (most, runs) = if args.quick { (QUICK_DIMS, 1) } else { (usize::MAX, args.runs) };
    if !output.json {
        output.note(&format!(
            "100 points, 200 training and 50 test pairs, {runs} data sets from seed {}; mean ± standard deviation of |W - exact| / exact",
            args.seed
        ));
        output.note(
            "full: random masses on all points; subset: equal masses on a random subset; scaled: after one factor from the training pairs",
        );
    }
    for (k, &dim) in args.dims.iter().take(most).enumerate() {
        let mut columns = Vec::new();
        for (masses, name) in MASSES {
            let spinner = output.spinner(&format!("dimension {dim}, {name}"));
            let found = compare(cloud, masses, dim, runs as u64, args.seed)?;
            spinner.finish_and_clear();
            interrupt::check()?;
            if output.json {
                found.iter().try_for_each(|o| print_json(o, cloud, dim, name, runs, args.seed))?;
            }
            columns.push(found);
        }
        if !output.json {
            let gap = if k == 0 { "" } else { "\n" };
            let shown = output::table(&table(&columns, cloud, dim));
            output::line(format!("{gap}dimension {dim}\n{}", shown.trim_end()))?;
        }
    }
    Ok(())
}

fn table(columns: &[Vec<Outcome>], cloud: Cloud, dim: usize) -> Vec<Vec<String>> {
    let mut heading = vec!["method".to_owned(), "paper".to_owned()];
    for (_, name) in MASSES {
        heading.extend([format!("{name} masses"), "scaled".to_owned()]);
    }
    let mut rows = vec![heading];
    for at in 0..columns[0].len() {
        let entry = columns[0][at].entry;
        let paper = entry.paper(cloud, dim).map(|(mean, std)| format!("{mean:.3} ± {std:.3}"));
        let mut row = vec![entry.name().to_owned(), paper.unwrap_or_else(|| "-".into())];
        for found in columns {
            row.extend([found[at].plain, found[at].scaled].map(|score| score.to_string()));
        }
        rows.push(row);
    }
    rows
}

fn print_json(
    outcome: &Outcome,
    cloud: Cloud,
    dim: usize,
    masses: &str,
    runs: usize,
    seed: u64,
) -> Result<()> {
    let paper = outcome.entry.paper(cloud, dim);
    let of = |score: Score| json!({ "mean": score.mean, "std": score.std, "median": score.median });
    output::line(json!({
        "experiment": if cloud == Cloud::Uniform { "uniform" } else { "gaussian" },
        "dim": dim,
        "masses": masses,
        "method": outcome.entry.name(),
        "error": of(outcome.plain),
        "scaled_error": of(outcome.scaled),
        "paper": paper.map(|p| p.0),
        "paper_std": paper.map(|p| p.1),
        "pairs": outcome.plain.pairs,
        "left_out": outcome.plain.left_out,
        "runs": runs,
        "seed": seed,
    }))
}
