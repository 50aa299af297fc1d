//! `treeport compare`: compares all methods on the user's data.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use treeport::accuracy::Level;
use treeport::build::quadtree;
use treeport::estimate::Estimator;
use treeport::fit::Family;
use treeport::{
    Error, FitOptions, GroundMetric, Labelled, Method, Model, Progress, Score, fit, flow,
};
use treeport_report::timing::{time_model, time_pairs};

use crate::args::{LabelArgs, MetricArgs};
use crate::output::{self, Output};
use crate::progress::{prepare, watched};
use crate::{input, interrupt};

const EXAMPLE: &str = "\
Examples:
  treeport compare --points words.npy --measures docs.npz --n-pairs 1000
  treeport compare --graph roads.csv --measures M.npz --methods additive,forest,ctwd,mean-label

Pairs of measures are solved exactly. Methods learn from the first half and are tested on the second.
`error` is the mean relative error of a method as it is. A method that does not learn has no factor here,
although `fit` gives it one. `after one factor` is the error after all distances are multiplied by one number,
the best for the first half. Rows are sorted by this error.
Besides the methods of `fit` there are `mean-label`, which predicts the same distance for all pairs, and `flowtree`, the true
cost of a quadtree's plans. `forest` also has a row by flow, in which small supports are solved exactly.";

/// Options of `treeport compare`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    test: LabelArgs,
    /// Only these methods [default: all that can be used with the data].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = parse)]
    methods: Vec<Predictor>,
}

/// A predictor of distances.
#[derive(Clone, Copy, Debug)]
enum Predictor {
    /// A model of `fit`.
    Fit(Method),
    /// The mean of the labels for every pair.
    MeanLabel,
    /// The cost, in the ground metric, of the plan that is optimal on a quadtree.
    Flowtree,
}

impl Predictor {
    fn name(self) -> &'static str {
        match self {
            Self::Fit(method) => method.name(),
            Self::MeanLabel => "mean-label",
            Self::Flowtree => "flowtree",
        }
    }

    fn needs_coordinates(self) -> bool {
        match self {
            Self::Fit(method) => method.takes().coordinates,
            Self::MeanLabel => false,
            Self::Flowtree => true,
        }
    }
}

fn parse(name: &str) -> Result<Predictor, Error> {
    match name {
        "mean-label" => Ok(Predictor::MeanLabel),
        "flowtree" => Ok(Predictor::Flowtree),
        name => name.parse().map(Predictor::Fit),
    }
}

/// Results of a predictor.
struct Row {
    method: &'static str,
    plain: Score,
    scaled: Score,
    build: Duration,
    /// Seconds per pair.
    pair: f64,
    /// Bytes of the model, without the ground metric.
    bytes: usize,
    /// Share of pairs that were solved exactly instead of estimated.
    exact: Option<f64>,
}

/// Time limit for timing pairs.
const TIMING: Duration = Duration::from_secs(1);

/// Runs `treeport compare`.
pub(crate) fn run(args: &CompareArgs, output: &Output) -> Result<ExitCode> {
    let (metric, names) = input::metric(&args.ground)?;
    prepare(&metric, output)?;
    let labels = args.test.test(&metric, names.as_deref(), output)?;
    let (train, test) = labels.split_at(labels.len() / 2);
    let judge = Judge { metric: &metric, train: &train, test: &test, seed: args.test.pairs.seed };
    let mut predictors = args.methods.clone();
    if predictors.is_empty() {
        predictors.extend(Method::ALL.iter().map(|method| Predictor::Fit(*method)));
        predictors.extend([Predictor::MeanLabel, Predictor::Flowtree]);
    }
    let mut rows = Vec::new();
    for predictor in predictors {
        if predictor.needs_coordinates() && metric.coordinates().is_none() {
            output.note(&format!("skipped {}, which needs coordinates", predictor.name()));
            continue;
        }
        rows.extend(watched(output, |progress| judge.rows(predictor, progress))?);
        interrupt::check()?;
    }
    rows.sort_by(|a, b| a.scaled.mean.total_cmp(&b.scaled.mean));
    print(&rows, train.len(), test.len(), output)?;
    Ok(ExitCode::SUCCESS)
}

/// Training and test labels.
struct Judge<'a> {
    metric: &'a GroundMetric,
    train: &'a Labelled,
    test: &'a Labelled,
    seed: u64,
}

impl Judge<'_> {
    /// Evaluates a predictor; returns a second row, by flow, for a forest.
    fn rows(&self, predictor: Predictor, progress: &Progress<'_>) -> treeport::Result<Vec<Row>> {
        let Self { metric, train, test, seed } = *self;
        let begun = Instant::now();
        match predictor {
            Predictor::MeanLabel => {
                let mean = train.null_baselines()[0].constant;
                let means = |data: &Labelled| Ok(vec![mean; data.len()]);
                Ok(vec![self.row(
                    predictor.name(),
                    begun.elapsed(),
                    0.0,
                    size_of::<f64>(),
                    means,
                )?])
            }
            Predictor::Flowtree => {
                let tree = quadtree(metric, seed)?;
                let build = begun.elapsed();
                let flow = |data: &Labelled, progress: &Progress<'_>| {
                    flow::pairs(&tree, metric, data.measures(), data.pairs(), progress)
                };
                let pair = time(test, progress, |watch| flow(test, watch).map(drop))?;
                let bytes = bytes(&tree.clone().into());
                Ok(vec![
                    self.row(predictor.name(), build, pair, bytes, |data| flow(data, progress))?,
                ])
            }
            Predictor::Fit(method) => {
                // Methods that do not learn are compared without the factor that `fit` gives them.
                let scale = method.family() != Family::Compared;
                let options = FitOptions { scale, seed, ..FitOptions::of(method) };
                let model = fit(metric, Some(train), &options, progress)?.model;
                let build = begun.elapsed();
                let pairs = |data: &Labelled| model.pairs(data.measures(), data.pairs(), progress);
                let pair = time_model(&model, test.measures(), test.pairs(), TIMING, progress)?.1;
                let mut rows =
                    vec![self.row(predictor.name(), build, pair, bytes(&model), pairs)?];
                if method == Method::Forest {
                    rows.push(self.by_flow(&model, build, progress)?);
                }
                Ok(rows)
            }
        }
    }

    /// Scores predictions unscaled, and scaled by the factor fitted to the training labels.
    fn row(
        &self,
        method: &'static str,
        build: Duration,
        pair: f64,
        bytes: usize,
        predict: impl Fn(&Labelled) -> treeport::Result<Vec<f64>>,
    ) -> treeport::Result<Row> {
        let (factor, predicted) = (self.train.factor(&predict(self.train)?), predict(self.test)?);
        let scaled: Vec<f64> = predicted.iter().map(|p| factor * p).collect();
        let (plain, scaled) = (self.test.score(&predicted), self.test.score(&scaled));
        Ok(Row { method, plain, scaled, build, pair, bytes, exact: None })
    }

    /// Scores the exact cost of a forest's plans, calibrated by the training labels.
    fn by_flow(
        &self,
        model: &Model,
        build: Duration,
        progress: &Progress<'_>,
    ) -> treeport::Result<Row> {
        let Self { metric, train, test, .. } = *self;
        let begun = Instant::now();
        let estimator = Estimator::new(metric, model)?.calibrated(Level::Flow, train, progress)?;
        let build = build + begun.elapsed();
        let estimate = |progress: &Progress<'_>| {
            estimator.pairs(Level::Flow, test.measures(), test.pairs(), progress)
        };
        let found = estimate(progress)?;
        let pair = time(test, progress, |watch| estimate(watch).map(drop))?;
        let values: Vec<f64> = found.iter().map(|estimate| estimate.value).collect();
        let raw: Vec<f64> = found.iter().map(|estimate| estimate.raw).collect();
        let exact = found.iter().filter(|e| e.exact).count() as f64 / found.len() as f64;
        // Calibrated already, and exact values must not be scaled.
        let (plain, scaled) = (test.score(&raw), test.score(&values));
        let (method, bytes, exact) = ("forest by flow", bytes(model), Some(exact));
        Ok(Row { method, plain, scaled, build, pair, bytes, exact })
    }
}

/// Measures the seconds per pair on one thread.
fn time(
    test: &Labelled,
    progress: &Progress<'_>,
    work: impl FnOnce(&Progress<'_>) -> treeport::Result<()> + Send,
) -> treeport::Result<f64> {
    Ok(time_pairs(test.len(), TIMING, progress, work)?.1)
}

/// Bytes of the parents and lengths of all nodes.
fn bytes(model: &Model) -> usize {
    model.nodes() * (size_of::<u32>() + size_of::<f64>())
}

fn print(rows: &[Row], learned: usize, judged: usize, output: &Output) -> Result<()> {
    if output.json {
        return rows.iter().try_for_each(|row| {
            output::json(json!({
                "command": "compare",
                "method": row.method,
                "error": row.plain.mean,
                "scaled_error": row.scaled.mean,
                "scaled_std": row.scaled.std,
                "build_seconds": row.build.as_secs_f64(),
                "pair_seconds": row.pair,
                "model_bytes": row.bytes,
                "solved_exactly": row.exact,
            }))
        });
    }
    output.note(&format!("learned from {learned} pairs, judged on {judged} others"));
    let heading =
        ["method", "error", "after one factor", "to build", "one pair", "model", "solved exactly"];
    let mut table = vec![heading.map(str::to_owned).to_vec()];
    for row in rows {
        let mut cells = vec![row.method.to_owned(), row.plain.to_string(), row.scaled.to_string()];
        cells.extend([row.build.as_secs_f64(), row.pair].map(output::seconds));
        cells.push(format!("{:.1} KiB", row.bytes as f64 / 1024.0));
        cells.extend(row.exact.map(|share| format!("{:.0} %", 100.0 * share)));
        table.push(cells);
    }
    output::line(output::table(&table).trim_end())
}
