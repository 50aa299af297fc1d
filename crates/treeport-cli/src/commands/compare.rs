//! `treeport compare`: every method on the user's own data.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::baseline::{BaselineOptions, Method, Model, Training};
use treeport::estimate::{Estimator, Level};
use treeport::{Error, GroundMetric, Labels, silent};
use treeport_report::score::Score;

use crate::args::MetricArgs;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use crate::scored::{Scored, TestArgs};
use crate::{input, labels};

const EXAMPLE: &str = "\
Examples:
  treeport compare --points words.npy --measures docs.npz --pairs 1000
  treeport compare --graph roads.csv --measures M.npz --methods additive,forest,ctwd,quadtree

Pairs of measures are solved exactly. Methods learn from the first half and are judged on the second:
the mean relative error as they are, and after one factor from the first half, by which they are sorted.";

/// Options of `treeport compare`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    test: TestArgs,
    /// Only these methods [default: all that fit the data].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = parse)]
    methods: Vec<Method>,
}

fn parse(name: &str) -> Result<Method, String> {
    name.parse().map_err(|error: Error| error.to_string())
}

/// How one method did.
struct Row {
    method: String,
    plain: Score,
    scaled: Score,
    build: f64,
    pair: f64,
    /// Of the model; what needs the metric at hand needs more.
    bytes: usize,
}

/// Runs `treeport compare`.
pub(crate) fn run(args: &CompareArgs, output: &Output) -> Result<ExitCode> {
    let (metric, _) = input::metric(&args.ground)?;
    let path = args.test.measures.as_deref().context("give `--measures`")?;
    let measures = args.test.read(path, &metric)?;
    let metric = labels::solvable(metric, output);
    let scored = args.test.label(path, &metric, &measures, output)?;
    let methods = match &args.methods[..] {
        [] => Method::ALL.to_vec(),
        some => some.to_vec(),
    };
    let mut rows = Vec::new();
    for method in methods {
        if method.needs_coordinates() && metric.coordinates().is_none() {
            output.note(&format!("without {method}, which needs coordinates"));
            continue;
        }
        let spinner = output.spinner(method.name());
        let found = judge(method, &metric, &scored, args.test.seed);
        spinner.finish_and_clear();
        rows.extend(found.map_err(|error| match error {
            Error::Cancelled => anyhow::Error::from(Interrupted),
            other => other.into(),
        })?);
        interrupt::check()?;
    }
    rows.sort_by(|a, b| a.scaled.mean.total_cmp(&b.scaled.mean));
    print(&rows, &scored, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds a method and times it; a forest gets a second row, by flow.
fn judge(
    method: Method,
    metric: &GroundMetric,
    scored: &Scored<'_>,
    seed: u64,
) -> treeport::Result<Vec<Row>> {
    let half = scored.half;
    let train = Labels {
        pairs: scored.labels.pairs[..half].to_vec(),
        distances: scored.labels.distances[..half].to_vec(),
    };
    let training = Training { measures: scored.measures, labels: &train };
    let options = BaselineOptions { seed, ..BaselineOptions::default() };
    let go_on = |_| !interrupt::asked();
    let begun = Instant::now();
    let model = method.build(metric, Some(training), &options, &go_on)?;
    let build = begun.elapsed().as_secs_f64();
    let pairs = &scored.labels.pairs;
    let begun = Instant::now();
    let predicted = model.pairs(metric, scored.measures, pairs, &go_on)?;
    let pair = begun.elapsed().as_secs_f64() / pairs.len() as f64;
    let row = |name: &str, predicted: &[f64], build, pair| Row {
        method: name.into(),
        plain: scored.score(predicted, 1.0),
        scaled: scored.score(predicted, scored.factor(predicted)),
        build,
        pair,
        bytes: bytes(&model),
    };
    let mut rows = vec![row(method.name(), &predicted, build, pair)];
    if let (Method::Forest, Model::Forest(forest)) = (method, &model) {
        let estimator =
            Estimator::new(metric, forest)?.calibrated(scored.measures, &train, &silent)?;
        let build = build + begun.elapsed().as_secs_f64() - pair * pairs.len() as f64;
        let begun = Instant::now();
        let found = estimator.pairs(Level::Flow, scored.measures, pairs, &go_on)?;
        let pair = begun.elapsed().as_secs_f64() / pairs.len() as f64;
        // Calibrated already, except for what is exact: one more factor would spoil that.
        let values: Vec<f64> = found.iter().map(|estimate| estimate.value).collect();
        let raw: Vec<f64> = found.iter().map(|estimate| estimate.raw).collect();
        let mut flow = row("forest by flow", &raw, build, pair);
        flow.scaled = scored.score(&values, 1.0);
        rows.push(flow);
    }
    Ok(rows)
}

/// Parents and lengths of all nodes.
fn bytes(model: &Model) -> usize {
    let of = |tree: &treeport::Tree| tree.nodes() * (size_of::<u32>() + size_of::<f64>());
    match model {
        Model::Tree(tree) | Model::Flow { tree, .. } => of(tree),
        Model::Forest(forest) => forest.trees().iter().map(of).sum(),
        Model::Constant(_) => size_of::<f64>(),
    }
}

fn print(rows: &[Row], scored: &Scored<'_>, output: &Output) -> Result<()> {
    if output.json {
        for row in rows {
            output::line(json!({
                "command": "compare",
                "method": row.method,
                "error": row.plain.mean,
                "scaled_error": row.scaled.mean,
                "scaled_std": row.scaled.std,
                "build_seconds": row.build,
                "pair_seconds": row.pair,
                "model_bytes": row.bytes,
            }))?;
        }
        return Ok(());
    }
    let (learned, judged) = (scored.half, scored.labels.pairs.len() - scored.half);
    output.note(&format!("learned from {learned} pairs, judged on {judged} others"));
    let heading = ["method", "error", "after one factor", "to build", "one pair", "model"];
    let mut table = vec![heading.map(str::to_owned).to_vec()];
    for row in rows {
        table.push(vec![
            row.method.clone(),
            row.plain.to_string(),
            row.scaled.to_string(),
            output::seconds(row.build),
            output::seconds(row.pair),
            format!("{:.1} KiB", row.bytes as f64 / 1024.0),
        ]);
    }
    output::line(output::table(&table).trim_end())
}
