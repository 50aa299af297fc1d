//! `treeport estimate`: distances to a chosen accuracy, with certified bounds.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use treeport::accuracy::{Accuracy, Level, Question};
use treeport::estimate::{CertifiedEstimate, Estimator};
use treeport::memory;
use treeport::{FitOptions, GroundMetric, Labeled, Method, Model, fit};
use treeport_report::terminal::at_least_one;

use crate::args::{GroundArgs, MeasureArgs, PairArgs};
use crate::input::{MetricAndModels, PointSet};
use crate::labels;
use crate::output::Output;
use crate::pairs::Pairs;
use crate::progress::{prepare, watched};
use crate::rows::{self, Cell};

const EXAMPLE: &str = "\
Examples:
  treeport estimate --points words.npy --measures docs.npz --n-pairs 1000 --accuracy flow
  treeport estimate --points words.npy --measures docs.npz --accuracy 0.02 --bounds -o distances.csv
  treeport estimate --graph roads.csv --measures M.npz --labels labels.csv --accuracy tree

Accuracies, each slower than the one before: `tree` (the mean distance of the trees), `flow` (the true
cost of their plans), `arcs` (a value between the bounds that a few Sinkhorn sweeps prove; it does not
use the trees), `exact`; or the largest relative error, certified for every pair. Labels calibrate each level: those that
`fit` learned from, which the model's file keeps, or `--labels`. If a level has a larger error on the labels than a
lower level, it returns the value of the lower level. Without labels, flow is an upper bound, which may be
farther off than the tree, and arcs is the middle of its bounds. Without a model, labels weigh the trees, as in
`fit --method forest`.

A model that was fitted with `--with-metric` needs no other file of distances:
  treeport fit --points words.npy --measures docs.npz --with-metric -o model.tree
  treeport estimate model.tree --measures docs.npz";

/// Options of `treeport estimate`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required(true)))]
#[command(mut_group("MetricSource", |group| group.required(false)))]
pub(crate) struct EstimateArgs {
    /// A tree or a forest that `fit` has written [default: none for arcs, exact and numbers; otherwise
    /// that of `fit --method forest`, made on the spot].
    #[arg(value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    ground: GroundArgs,
    #[command(flatten)]
    measures: MeasureArgs,
    #[command(flatten)]
    pairs: PairArgs,
    /// tree, flow, arcs, exact, or the largest relative error, such as 0.02.
    #[arg(long, value_name = "HOW", default_value = "flow", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| Question::Estimate.read(text))]
    accuracy: Accuracy,
    /// Add two columns with certified bounds of the exact distance.
    #[arg(long)]
    bounds: bool,
    /// Exact distances of some pairs for the calibration, as `exact` writes them (.csv).
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    labels: Option<PathBuf>,
    /// Number of trees to grow if no model is given; by default as many as `fit --method forest` grows.
    #[arg(long, value_name = "K", alias = "trees", value_parser = at_least_one)]
    #[arg(conflicts_with = "model")]
    n_trees: Option<usize>,
    /// Write to a file: rows left, right, distance (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const COLUMNS: [&str; 5] = ["left", "right", "distance", "lower", "upper"];

/// Runs `treeport estimate`.
pub(crate) fn run(args: &EstimateArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "estimates go", &["csv"])?;
    let (metric, mut kept) = MetricAndModels::with_metric(&args.ground, args.model.as_slice())?;
    let given = kept.models.pop();
    let names = given.as_ref().and_then(Model::names).or(kept.names.as_deref());
    let measures = args.measures.read(PointSet { points: metric.points(), names }, output)?;
    let pairs = Pairs::new(&args.pairs, &measures, args.measures.path()?)?;
    let (count, each) = (pairs.len(), size_of::<[usize; 2]>() + size_of::<CertifiedEstimate>());
    let step = format_args!("the list of {count} estimates");
    let bytes = (count as u64).saturating_mul(each as u64);
    memory::check(step, bytes, "draw some (`--n-pairs N`), or list them (`--pairs FILE`)")?;
    let pairs: Vec<_> = pairs.iter().collect();
    let read = |path: &PathBuf| labels::read(path, &measures, args.measures.path()?);
    let known = args.labels.as_ref().map(read).transpose()?;
    let asks_trees = match args.accuracy {
        Accuracy::Level(level) => level <= Level::Flow,
        // Sweeps and the exact solver finish before trees could be grown.
        _ => args.n_trees.is_some(),
    };
    let model = match given {
        None if asks_trees || known.is_some() => {
            Some(forest(args, &metric, known.as_ref(), output)?)
        }
        given => given,
    };
    prepare(&metric, output)?;
    let mut estimator = match &model {
        Some(model) => Estimator::new(&metric, model)?,
        None => Estimator::without_trees(&metric)?,
    };
    if let (Some(calibration), None) = (kept.calibration, &known) {
        estimator = estimator.with_calibration(calibration)?;
    }
    if let Some(known) = &known {
        let highest = match args.accuracy {
            Accuracy::Level(level) => level,
            _ => Level::Exact,
        };
        estimator = watched(output, |progress| estimator.calibrated(highest, known, progress))?;
    }
    let found = watched(output, |progress| match args.accuracy {
        Accuracy::Level(level) if !args.bounds => {
            let values = estimator.pairs(level, &measures, &pairs, progress)?;
            Ok(values.iter().map(|estimate| [estimate.value; 3]).collect())
        }
        accuracy => {
            let answers = estimator.answers(accuracy, &measures, &pairs, progress)?;
            let row = |a: &CertifiedEstimate| [a.value, a.interval.lower, a.interval.upper];
            Ok(answers.iter().map(row).collect::<Vec<_>>())
        }
    })?;
    let columns = if args.bounds { &COLUMNS[..] } else { &COLUMNS[..3] };
    let ids = measures.names();
    rows::write_all((file, None), output, columns, |out, json| {
        pairs.iter().zip(&found).try_for_each(|(&(left, right), &[value, lower, upper])| {
            let [value, lower, upper] = [value, lower, upper].map(Cell::Number);
            let (left, right) = (rows::name(ids, left), rows::name(ids, right));
            let cells = [left, right, value, lower, upper];
            rows::row(out, json, columns, &cells)
        })
    })?;
    let count = found.len();
    rows::wrote(output, "estimate", file, json!({"pairs": count}), &format!("{count} estimates"))?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the forest of `fit --method forest`, weighted by labels if there are any.
fn forest(
    args: &EstimateArgs,
    metric: &GroundMetric,
    known: Option<&Labeled>,
    output: &Output,
) -> Result<Model> {
    let (n_trees, seed) = (args.n_trees, args.pairs.seed);
    let options = FitOptions { n_trees, seed, ..FitOptions::of(Method::Forest) };
    options.check(known.is_some())?;
    Ok(watched(output, |progress| fit(metric, known, &options, progress))?.model)
}
