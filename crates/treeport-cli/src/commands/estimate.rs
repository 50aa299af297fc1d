//! `treeport estimate`: distances as accurate as asked, with certified bounds.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use treeport::estimate::{Answer, Estimator, Interval, Level};
use treeport::{Error, Forest, ForestOptions, GroundMetric, Labels, Measures, Progress};
use treeport_report::terminal::at_least_one;

use crate::args::MetricArgs;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use crate::{input, labels};

const EXAMPLE: &str = "\
Examples:
  treeport estimate --points words.npy --measures docs.npz --pairs 1000 --accuracy flow
  treeport estimate --points words.npy --measures docs.npz --accuracy 0.02 --bounds -o distances.csv
  treeport estimate --graph roads.csv --measures M.npz --labels labels.csv --accuracy tree

Accuracies, each slower and closer than the one before: `tree` (the mean distance of the trees),
`flow` (the true cost of their plans), `arcs` (the best plan on what they suggest), `exact`; or the
largest relative error, certified for every pair. With `--labels` each level is brought to their scale.";

/// Options of `treeport estimate`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct EstimateArgs {
    /// A forest or a tree that `fit` has written [default: trees grown on the spot].
    #[arg(value_name = "MODEL")]
    model: Option<PathBuf>,
    #[command(flatten)]
    ground: MetricArgs,
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE")]
    measures: PathBuf,
    /// Divide every measure by its total mass.
    #[arg(long)]
    normalize: bool,
    /// tree, flow, arcs, exact, or the largest relative error, such as 0.02.
    #[arg(long, value_name = "HOW", default_value = "flow", value_parser = Accuracy::from_str)]
    accuracy: Accuracy,
    /// Add two columns between which the exact distance lies for certain.
    #[arg(long)]
    bounds: bool,
    /// So many random pairs [default: all pairs].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pairs: Option<usize>,
    /// Only these pairs: columns left and right (.csv); measures count from 0.
    #[arg(long, value_name = "FILE", conflicts_with = "pairs")]
    pairs_file: Option<PathBuf>,
    /// Exact distances of some pairs, as `exact` writes them, to calibrate by (.csv).
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Trees to grow where no model is given.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = at_least_one)]
    trees: usize,
    /// Seed of the trees and of the random pairs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Write to a file: rows left, right, distance (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What `--accuracy` says.
#[derive(Clone, Copy, Debug)]
enum Accuracy {
    Level(Level),
    Within(f64),
}

impl FromStr for Accuracy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(level) = text.parse() {
            return Ok(Self::Level(level));
        }
        match text.parse::<f64>() {
            Ok(error) if error >= 0.0 => Ok(Self::Within(error)),
            _ => Err("it must be tree, flow, arcs, exact or a number of at least 0".into()),
        }
    }
}

/// Runs `treeport estimate`.
pub(crate) fn run(args: &EstimateArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        let csv = input::extension(path) == Some("csv");
        ensure!(csv, "cannot write `{}`: estimates go to a .csv file", path.display());
        output::check_place(path)?;
    }
    let (metric, _) = input::metric(&args.ground)?;
    let measures = input::measures_on(metric.points(), &args.measures, args.normalize)?;
    let pairs = which_pairs(args, &measures)?;
    measures.check_pairs(&pairs).with_context(|| input::name(&args.measures))?;
    let known = args.labels.as_deref().map(|path| labels::read(path, &measures)).transpose()?;
    let metric = labels::solvable(metric, output);
    let forest = forest(args, &metric, output)?;
    let mut estimator = Estimator::new(&metric, &forest)?;
    if let Some(known) = &known {
        estimator = calibrated(estimator, &measures, known, output)?;
    }
    let rows = with_bar(output, "estimates", pairs.len(), |progress| {
        estimates(args, &estimator, &measures, &pairs, progress)
    })?;
    match file {
        Some(path) => {
            output::save(path, |out| write_rows(out, args, false, &pairs, &rows))?;
            report(path, rows.len(), output)?;
        }
        None => {
            write_rows(&mut BufWriter::new(io::stdout().lock()), args, output.json, &pairs, &rows)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn report(path: &Path, pairs: usize, output: &Output) -> Result<()> {
    let file = path.display().to_string();
    if output.json {
        return output::line(json!({"command": "estimate", "pairs": pairs, "file": file}));
    }
    output.note(&format!("{pairs} estimates written to {file}"));
    Ok(())
}

fn which_pairs(args: &EstimateArgs, measures: &Measures) -> Result<Vec<(usize, usize)>> {
    let (name, count) = (|| input::name(&args.measures), measures.len());
    ensure!(count >= 2, "{}: a pair needs two measures, the file has {count}", name());
    match (&args.pairs_file, args.pairs) {
        (Some(path), _) => labels::read_pairs(path, measures, measures),
        (None, Some(pairs)) => labels::random_pairs(pairs, count, args.seed).with_context(name),
        (None, None) => Ok((0..count).flat_map(|i| (i + 1..count).map(move |j| (i, j))).collect()),
    }
}

/// The trees of a file, or new ones.
fn forest(args: &EstimateArgs, metric: &GroundMetric, output: &Output) -> Result<Forest> {
    if let Some(path) = &args.model {
        let forest = input::forest(path, None)?;
        input::check_leaves(path, forest.leaves(), metric)?;
        return Ok(forest);
    }
    let options = ForestOptions { trees: args.trees, seed: args.seed, ..ForestOptions::default() };
    with_bar(output, "trees", args.trees, |progress| Forest::perturbed(metric, &options, progress))
}

fn calibrated<'a>(
    estimator: Estimator<'a>,
    measures: &Measures,
    known: &Labels,
    output: &Output,
) -> Result<Estimator<'a>> {
    with_bar(output, "calibration", Estimator::PASSES * known.pairs.len(), |progress| {
        estimator.calibrated(measures, known, progress)
    })
}

/// A value with its interval, if that was asked for.
type Row = (f64, Option<Interval>);

fn estimates(
    args: &EstimateArgs,
    estimator: &Estimator<'_>,
    measures: &Measures,
    pairs: &[(usize, usize)],
    progress: &Progress<'_>,
) -> treeport::Result<Vec<Row>> {
    match args.accuracy {
        Accuracy::Within(error) => {
            Ok(rows(&estimator.pairs_within(error, measures, pairs, progress)?))
        }
        Accuracy::Level(level) if args.bounds => {
            Ok(rows(&estimator.answers(level, measures, pairs, progress)?))
        }
        Accuracy::Level(level) => {
            let values = estimator.pairs(level, measures, pairs, progress)?;
            Ok(values.iter().map(|estimate| (estimate.value, None)).collect())
        }
    }
}

fn rows(answers: &[Answer]) -> Vec<Row> {
    answers.iter().map(|answer| (answer.value, Some(answer.interval))).collect()
}

fn write_rows(
    out: &mut impl Write,
    args: &EstimateArgs,
    json: bool,
    pairs: &[(usize, usize)],
    rows: &[Row],
) -> Result<()> {
    if !json {
        writeln!(out, "left,right,distance{}", if args.bounds { ",lower,upper" } else { "" })?;
    }
    for (&(left, right), &(value, interval)) in pairs.iter().zip(rows) {
        let value = output::number(value);
        let interval = interval.filter(|_| args.bounds);
        let ends = interval.map(|i| (output::number(i.lower), output::number(i.upper)));
        match (json, ends) {
            (true, None) => {
                writeln!(out, r#"{{"left":{left},"right":{right},"distance":{value}}}"#)?;
            }
            (true, Some((lower, upper))) => writeln!(
                out,
                r#"{{"left":{left},"right":{right},"distance":{value},"lower":{lower},"upper":{upper}}}"#
            )?,
            (false, None) => writeln!(out, "{left},{right},{value}")?,
            (false, Some((lower, upper))) => {
                writeln!(out, "{left},{right},{value},{lower},{upper}")?;
            }
        }
    }
    Ok(())
}

/// Work with a progress bar that Ctrl-C can stop.
fn with_bar<T>(
    output: &Output,
    what: &str,
    length: usize,
    work: impl FnOnce(&Progress<'_>) -> treeport::Result<T>,
) -> Result<T> {
    let bar = output.bar(what, length);
    let progress = |done: usize| {
        bar.set_position(done as u64);
        !interrupt::asked()
    };
    let result = work(&progress);
    bar.finish_and_clear();
    match result {
        Err(Error::Cancelled) => Err(Interrupted.into()),
        other => Ok(other?),
    }
}
