//! `treeport compare`: compares all methods on the user's data, in error and time.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::Args;
use serde_json::json;
use treeport::Error;
use treeport_report::comparison::{Comparison, Contender, Judge};

use crate::args::{LabelArgs, MetricArgs};
use crate::output::{self, Output};
use crate::progress::{prepare, watched};
use crate::{input, interrupt, rows};

const EXAMPLE: &str = "\
Examples:
  treeport compare --points words.npy --measures docs.npz --n-pairs 1000
  treeport compare --graph roads.csv --measures M.npz --methods additive,forest,ctwd,mean-label -o front.svg

Pairs of measures are solved exactly. Methods learn from the first half and are tested on the second.
`error` is the mean relative error of a method's own distances; methods that do not learn have no factor here,
although `fit` gives them one. `after one factor` is the error after all distances are multiplied by one number,
the best for the first half. Rows are sorted by this error.
Besides the methods of `fit` there are `exact`, which is always there; `arcs`, values between certified bounds; `mean-label`,
which predicts the same distance for all pairs; and `flowtree`, the true cost of a quadtree's plans. `forest` also has a row
by flow. In this row and in `arcs`, small supports are solved exactly.
The picture shows error against time: no other method is both faster and more accurate than one marked with its name. The last
line says whether a fit is worth its time for all pairs of the measures, or from how many pairs on.";

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
    methods: Vec<Contender>,
    /// A file for the picture of error against time (.svg).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn parse(name: &str) -> Result<Contender, Error> {
    name.parse()
}

/// Runs `treeport compare`.
pub(crate) fn run(args: &CompareArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().map(|file| {
        ensure!(!input::is_standard(file), "stdout has the table; give a file for the picture");
        rows::target(Some(file), "a picture goes", &["svg"])
    });
    let file = file.transpose()?;
    let (metric, names) = input::metric(&args.ground)?;
    prepare(&metric, output)?;
    let labels = args.test.test(&metric, names.as_deref(), output)?;
    let (train, test) = labels.split_at(labels.len() / 2);
    let judge = Judge { metric: &metric, train: &train, test: &test, seed: args.test.pairs.seed };
    let mut found = Vec::new();
    for contender in Contender::chosen(&args.methods) {
        if !contender.is_possible(&metric) {
            output.note(&format!("skipped {contender}, which needs coordinates"));
            continue;
        }
        found.extend(watched(output, |progress| judge.rows(contender, progress))?);
        interrupt::check()?;
    }
    let comparison = Comparison::new(&judge, found);
    if let Some(file) = file {
        let svg = comparison.svg("Error against time");
        rows::write(file, output, |out, _| Ok(out.write_all(svg.as_bytes())?))?;
    }
    print(&comparison, output)?;
    Ok(ExitCode::SUCCESS)
}

fn print(comparison: &Comparison, output: &Output) -> Result<()> {
    let threads = rayon::current_num_threads();
    let advice = comparison.advice(threads);
    if output.json {
        for (row, front) in comparison.rows.iter().zip(comparison.front()) {
            output::json(json!({
                "command": "compare",
                "method": row.name,
                "error": row.plain.mean,
                "scaled_error": row.scaled.mean,
                "scaled_std": row.scaled.std,
                "build_seconds": row.build_seconds,
                "pair_seconds": row.pair_seconds,
                "model_bytes": row.bytes,
                "solved_exactly": row.solved_exactly,
                "certified_width": row.certified_width,
                "front": front,
            }))?;
        }
        return advice.map_or(Ok(()), |advice| {
            output::json(json!({
                "command": "compare",
                "advice": advice.to_string(),
                "pairs": advice.pairs,
                "threads": threads,
                "exact_seconds": advice.exact_seconds,
                "fit": advice.fit.as_ref().map(|fit| &fit.method),
                "fit_seconds": advice.fit.as_ref().map(|fit| fit.build_seconds),
                "fit_pairs_seconds": advice.fit.as_ref().map(|fit| fit.pairs_seconds),
                "fit_pays_from": advice.fit.as_ref().map(|fit| fit.pays_from),
            }))
        });
    }
    let (learned, judged) = comparison.labels;
    output.note(&format!("learned from {learned} pairs, judged on {judged} others"));
    output::line(comparison.table())?;
    output::line(comparison.picture())?;
    advice.map_or(Ok(()), output::line)
}
