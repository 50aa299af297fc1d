//! `treeport reproduce`: experiments of the paper, with its figures beside ours.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use treeport::{Kind, Linkage};
use treeport_lab::noisy_trees::{PAPER, Recovery, recover_many, recovery_options};
use treeport_lab::synthetic::Cloud;

use super::{dial, synthetic};
use crate::args::at_least_one;
use crate::interrupt;
use crate::output::{self, Output};

const EXAMPLE: &str = "\
Example:
  treeport reproduce noisy-trees            20 hidden trees at each noise level
  treeport reproduce noisy-trees --trees 100 --json
  treeport reproduce uniform                every method on 100 points of [-10, 10]^d, d = 2, 5, 8, 17
  treeport reproduce gaussian --dims 2,5,8,11,14,17 --runs 10
  treeport reproduce dial --data DIR        error, certified width and time at every level of accuracy";

/// What `treeport reproduce` accepts.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ReproduceArgs {
    /// Which experiment.
    #[arg(value_enum)]
    what: What,
    /// Hidden trees at each noise level.
    #[arg(long, default_value_t = 20, value_parser = at_least_one)]
    trees: usize,
    /// Dimensions of `uniform` and `gaussian`.
    #[arg(long, value_name = "D,…", value_delimiter = ',', value_parser = at_least_one)]
    #[arg(default_value = "2,5,8,17")]
    pub(super) dims: Vec<usize>,
    /// Data sets of `uniform` and `gaussian`, judged together.
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    pub(super) runs: usize,
    /// A glance in seconds: the first two dimensions, one run, three trees.
    #[arg(long)]
    pub(super) quick: bool,
    /// Folder of the real data sets, for `dial` [default: TREEPORT_DATA].
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Scenes of `dial` (all that are there).
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(super) scenes: Vec<String>,
    /// Labelled pairs that `dial` learns and calibrates from.
    #[arg(long, default_value_t = 300, value_parser = at_least_one)]
    pub(super) labels: usize,
    /// Seed of the first tree or data set; the next ones count up.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Hidden trees of 20 to 40 nodes, learned back from a noisy start.
    NoisyTrees,
    /// Every method on uniform points.
    Uniform,
    /// Every method on Gaussian points.
    Gaussian,
    /// A forest of 16 trees at every level of accuracy, with certified bounds.
    Dial,
}

/// Trees at each noise level in a glance.
const QUICK_TREES: usize = 3;

/// One line: a kind of tree at a noise level.
struct Line {
    kind: Kind,
    sigma: f64,
    found: Vec<Recovery>,
}

impl Line {
    fn mean(&self, of: fn(&Recovery) -> f64) -> f64 {
        self.found.iter().map(of).sum::<f64>() / self.found.len() as f64
    }

    fn spread(&self, of: fn(&Recovery) -> f64) -> f64 {
        let mean = self.mean(of);
        let squares = self.found.iter().map(|r| (of(r) - mean).powi(2)).sum::<f64>();
        (squares / self.found.len() as f64).sqrt()
    }

    /// The paper's dist(T̂, T) and W₁ error for the same line.
    fn paper(&self) -> Option<(f64, f64)> {
        let same = |p: &&(Kind, f64, f64, f64)| p.0 == self.kind && p.1 == self.sigma;
        PAPER.iter().find(same).map(|p| (p.2, p.3))
    }
}

/// Runs an experiment and prints its table.
pub(crate) fn run(args: &ReproduceArgs, output: &Output) -> Result<ExitCode> {
    match args.what {
        What::NoisyTrees => noisy_trees(args, output)?,
        What::Uniform => synthetic::run(args, Cloud::Uniform, output)?,
        What::Gaussian => synthetic::run(args, Cloud::Gaussian, output)?,
        What::Dial => dial::run(args, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn noisy_trees(args: &ReproduceArgs, output: &Output) -> Result<()> {
    let trees = if args.quick { args.trees.min(QUICK_TREES) } else { args.trees };
    let mut lines = Vec::new();
    for sigma in [2.0, 3.0, 4.0, 5.0] {
        for kind in [Kind::Additive, Kind::Ultrametric, Kind::SkipMst] {
            let spinner = output.spinner(&format!("noise {sigma}, {kind}"));
            // Single linkage of the noisy distances, as in the paper.
            let options = recovery_options(kind);
            let seed = args.seed;
            let found = recover_many(trees as u64, sigma, seed, Linkage::Single, &options)?;
            spinner.finish_and_clear();
            let line = Line { kind, sigma, found };
            if output.json {
                print_json(&line, args)?;
            }
            lines.push(line);
            interrupt::check()?;
        }
    }
    if !output.json {
        output.note(&format!(
            "{trees} trees at each noise level, seed {}; the paper's W₁ error is taken as absolute, as its authors' code computes it",
            args.seed
        ));
        output::line(output::table(&table(&lines)).trim_end())?;
    }
    Ok(())
}

fn table(lines: &[Line]) -> Vec<Vec<String>> {
    let heading =
        ["kind", "noise", "dist(T̂,T)", "paper", "W₁ relative error", "W₁ absolute error", "paper"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for line in lines {
        let cell = |of| format!("{:.3} ± {:.3}", line.mean(of), line.spread(of));
        let paper = |pick: fn((f64, f64)) -> f64| {
            line.paper().map_or("-".into(), |p| format!("{:.3}", pick(p)))
        };
        rows.push(vec![
            line.kind.to_string(),
            line.sigma.to_string(),
            cell(|r| r.tree_distance),
            paper(|p| p.0),
            cell(|r| r.relative_error),
            cell(|r| r.absolute_error),
            paper(|p| p.1),
        ]);
    }
    rows
}

fn print_json(line: &Line, args: &ReproduceArgs) -> Result<()> {
    output::line(json!({
        "experiment": "noisy-trees",
        "kind": line.kind.to_string(),
        "sigma": line.sigma,
        "trees": line.found.len(),
        "seed": args.seed,
        "tree_distance": line.mean(|r| r.tree_distance),
        "tree_distance_std": line.spread(|r| r.tree_distance),
        "relative_error": line.mean(|r| r.relative_error),
        "absolute_error": line.mean(|r| r.absolute_error),
        "paper_tree_distance": line.paper().map(|p| p.0),
        "paper_error": line.paper().map(|p| p.1),
    }))
}
