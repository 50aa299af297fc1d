//! `treeport eval`: models beside exact transport, and beside baselines that know almost nothing.
//!
//! Whatever has a constant gets it from the first half of the pairs, and everything is scored on the
//! second half, so that all rows of the table are of the same pairs.

mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use treeport::tree::Scratch;
use treeport::{GroundMetric, Labels, Measures, Tree, silent};
use treeport_lab::score::{self, Score};
use treeport_lab::timing::time_exact;

use self::report::Report;
use crate::args::{MetricArgs, NamesArgs, at_least_one};
use crate::output::Output;
use crate::{input, interrupt, labels};

const EXAMPLE: &str = "\
Example:
  treeport eval model.tree start.nwk --points words.npy --measures docs.npz --pairs 1000

The pairs are drawn apart from those that `fit` learns from, but from the same measures: keep some
measures back for an honest test. A model that does not beat `constant x total variation` is worth
nothing.";

/// Options of `treeport eval`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct EvalArgs {
    /// Trees that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    names: NamesArgs,
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE", help_heading = "Test pairs")]
    measures: PathBuf,
    /// Divide every measure by its total mass.
    #[arg(long, help_heading = "Test pairs")]
    normalize: bool,
    /// Exact distances known already: columns left, right, distance (.csv); measures count from 0.
    #[arg(long, value_name = "FILE", conflicts_with = "pairs", help_heading = "Test pairs")]
    labels: Option<PathBuf>,
    /// Random pairs of measures to solve exactly.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = at_least_one)]
    #[arg(help_heading = "Test pairs")]
    pairs: usize,
    /// Seed of the random pairs.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Test pairs")]
    seed: u64,
}

/// Keeps the test pairs apart from those `fit` draws with the same seed.
const TEST_PAIRS: u64 = 0x7465_7374;

/// Time spent on timing the exact solver; a pair of large measures may take longer.
const TIMING: Duration = Duration::from_secs(2);

/// Runs `treeport eval`.
pub(crate) fn run(args: &EvalArgs, output: &Output) -> Result<ExitCode> {
    let (metric, names) = input::metric(&args.ground)?;
    let names = args.names.names.as_deref().map(input::names).transpose()?.or(names);
    let mut models = Vec::with_capacity(args.models.len());
    for path in &args.models {
        let tree = input::model(path, names.as_deref())?;
        input::check_leaves(path, &tree, &metric)?;
        models.push((path.display().to_string(), tree));
    }
    let measures = input::measures(&args.measures, args.normalize)?;
    measures.check_points(metric.points()).with_context(|| input::name(&args.measures))?;
    let metric = labels::solvable(metric, output);
    interrupt::check()?;
    let test = Test::new(args, &metric, &measures, output)?;
    let rows = models.iter().map(|(name, tree)| test.model(name, tree)).collect::<Result<_>>()?;
    let report = Report { rows, baselines: test.baselines()?, test };
    if output.json {
        report.print_json()?;
    } else {
        report.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Labelled pairs, and how long the exact solver takes for one.
struct Test<'a> {
    measures: &'a Measures,
    labels: Labels,
    /// Pairs before this one fit constants; it and those after are scored.
    half: usize,
    diameter: f64,
    timed: usize,
    exact_seconds: f64,
}

/// How one model does.
struct Row {
    model: String,
    plain: Score,
    factor: f64,
    scaled: Score,
    seconds: f64,
}

/// A prediction that ignores the ground metric.
struct Baseline {
    name: &'static str,
    constant: f64,
    score: Score,
}

impl<'a> Test<'a> {
    fn new(
        args: &EvalArgs,
        metric: &GroundMetric,
        measures: &'a Measures,
        output: &Output,
    ) -> Result<Self> {
        let name = || input::name(&args.measures);
        let labels = if let Some(path) = &args.labels {
            labels::read(path, measures)?
        } else {
            let seed = args.seed ^ TEST_PAIRS;
            let pairs = labels::random_pairs(args.pairs, measures.len(), seed);
            Labels { pairs: pairs.with_context(name)?, distances: vec![] }
        };
        measures.check_pairs(&labels.pairs).with_context(name)?;
        ensure!(labels.pairs.len() >= 2, "one pair cannot both fit and test; give at least 2");
        let distances = if args.labels.is_some() {
            labels.distances
        } else {
            labels::solve(metric, measures, &labels.pairs, output)?
        };
        let labels = Labels { pairs: labels.pairs, distances };
        let go_on = |_| !interrupt::asked();
        let timed = time_exact(metric, measures, &labels.pairs, TIMING, &go_on);
        interrupt::check()?;
        let (timed, exact_seconds) = timed?;
        let half = labels.pairs.len() / 2;
        Ok(Self { measures, half, diameter: diameter(metric), labels, timed, exact_seconds })
    }

    fn score(&self, predicted: &[f64], factor: f64) -> Score {
        let predicted: Vec<f64> = predicted[self.half..].iter().map(|p| factor * p).collect();
        Score::new(&predicted, &self.labels.distances[self.half..], self.diameter)
    }

    fn model(&self, name: &str, tree: &Tree) -> Result<Row> {
        let predicted = tree.pairs(self.measures, &self.labels.pairs, &silent)?;
        let (half, labels) = (self.half, &self.labels.distances);
        let factor = score::median_ratio(&labels[..half], &predicted[..half]);
        Ok(Row {
            model: name.to_owned(),
            plain: self.score(&predicted, 1.0),
            factor,
            scaled: self.score(&predicted, factor),
            seconds: self.time_tree(tree)?,
        })
    }

    /// Seconds for one of the pairs that the exact solver was timed on.
    fn time_tree(&self, tree: &Tree) -> Result<f64> {
        let prepared = tree.prepare(self.measures)?;
        let pairs = &self.labels.pairs[..self.timed];
        let mut scratch = Scratch::default();
        let begun = Instant::now();
        let mut done = 0;
        // One clock reading would be a good part of a single pass over a few short pairs.
        while done == 0 || begun.elapsed() < Duration::from_millis(50) {
            for &(i, j) in pairs {
                std::hint::black_box(prepared.distance_with(i, j, &mut scratch));
            }
            done += pairs.len();
        }
        Ok(begun.elapsed().as_secs_f64() / done as f64)
    }

    fn baselines(&self) -> Result<[Baseline; 2]> {
        let (pairs, labels) = (&self.labels.pairs, &self.labels.distances);
        let mean = score::mean_label(&labels[..self.half]);
        let variations = score::total_variations(self.measures, pairs)?;
        let scale = score::median_ratio(&labels[..self.half], &variations[..self.half]);
        Ok([
            Baseline {
                name: "mean label",
                constant: mean,
                score: self.score(&vec![1.0; pairs.len()], mean),
            },
            Baseline {
                name: "constant x total variation",
                constant: scale,
                score: self.score(&variations, scale),
            },
        ])
    }
}

/// The largest distance, or for points one close to it.
///
/// It only says which labels count as 0, below 10⁻⁴ of it, so that going from each point to the one
/// farthest away a few times is enough: for a metric that finds at least half of the diameter.
fn diameter(metric: &GroundMetric) -> f64 {
    if metric.matrix().is_some() {
        return metric.condensed().into_iter().fold(0.0, f64::max);
    }
    let mut row = vec![0.0; metric.points()];
    let (mut from, mut largest) = (0, 0.0);
    for _ in 0..4 {
        metric.row(from, &mut row);
        for (to, &distance) in row.iter().enumerate() {
            if distance > largest {
                (from, largest) = (to, distance);
            }
        }
    }
    largest
}
