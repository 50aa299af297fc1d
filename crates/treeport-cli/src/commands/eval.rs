//! `treeport eval`: models compared with exact transport and null baselines.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use treeport::{Judged, NullBaseline};
use treeport::{Labeled, Score};
use treeport_report::timing::{time_exact, time_model};

use crate::args::{ModelCloudArgs, TestArgs};
use crate::commands::clouds;
use crate::input::MetricAndModels;
use crate::output::{self, Output};
use crate::progress::{prepare, watched};

const EXAMPLE: &str = "\
Example:
  treeport eval model.tree start.nwk --points words.npy --measures docs.npz --n-pairs 1000

The pairs are new random pairs, not those of `fit`. But they come from the same measures, so some may be
the same: for an honest test, keep some measures out of `fit`. A model that does not beat `constant × total
variation` is worth nothing. `error` is minus Python's `score` for the same measures, seed and
number of pairs.";

/// Options of `treeport eval`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required_unless_present("clouds")))]
#[command(mut_group("MetricSource", |group| group.required(false)))]
pub(crate) struct EvalArgs {
    /// Trees and forests that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL", required = true)]
    pub(super) models: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) clouds: ModelCloudArgs,
    #[command(flatten)]
    pub(super) test: TestArgs,
}

/// Time limit for timing the exact solver; a pair of large measures may take longer.
const TIMING: Duration = Duration::from_secs(2);

/// Evaluation of one model.
struct Row {
    model: String,
    judged: Judged,
    seconds: f64,
}

/// Everything that is printed.
struct Results {
    test: Labeled,
    rows: Vec<Row>,
    baselines: [NullBaseline; 2],
    /// Number of timed pairs.
    timed: usize,
    exact_seconds: f64,
}

/// Runs `treeport eval`.
pub(crate) fn run(args: &EvalArgs, output: &Output) -> Result<ExitCode> {
    if let Some(path) = &args.clouds.clouds {
        return clouds::eval(args, path, output);
    }
    let (metric, MetricAndModels { models, .. }) =
        MetricAndModels::with_metric(&args.test.ground, &args.models)?;
    prepare(&metric, output)?;
    let test = args.test.data.test(&metric, models[0].names(), output)?;
    let (measures, pairs) = (test.measures(), test.pairs());
    let (timed, exact_seconds) =
        watched(output, |progress| time_exact(&metric, measures, pairs, TIMING, progress))?;
    let mut rows = Vec::with_capacity(models.len());
    for (model, path) in models.iter().zip(&args.models) {
        let (predicted, seconds) = watched(output, |progress| {
            let predicted = model.pairs(measures, pairs, progress)?;
            Ok((predicted, time_model(model, measures, &pairs[..timed], TIMING, progress)?.1))
        })?;
        let model = path.display().to_string();
        rows.push(Row { model, judged: test.judge(&predicted), seconds });
    }
    let results = Results { baselines: test.null_baselines(), test, rows, timed, exact_seconds };
    if output.json {
        results.print_json()?;
    } else {
        results.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Results {
    /// Prints a table and how to read it.
    fn print(&self) -> Result<()> {
        let left_out = match self.baselines[0].score.left_out {
            0 => String::new(),
            count => format!(" Left out, since their distance is nearly 0: {count}."),
        };
        output::line(format!(
            "{} test pairs.{left_out}\n\
             error: mean of |model - exact| / exact ± its standard deviation; scaled: after one factor, which each\n\
             half of the pairs has from the other half. time: one pair on one thread, over the first {} pairs.\n",
            self.test.len(),
            self.timed
        ))?;
        let cells = |score: &Score| {
            // Enough digits for errors below a percent.
            [format!("{:.4} ± {:.4}", score.mean, score.std), format!("{:.4}", score.median)]
        };
        let heading =
            ["", "error", "median", "scaled error", "median", "factor", "time", "exact/time"];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        for Row { model, judged, seconds } in &self.rows {
            let mut row = vec![model.clone()];
            row.extend(cells(&judged.plain));
            row.extend(cells(&judged.scaled));
            row.push(output::three_digits(judged.factor));
            row.push(output::seconds(*seconds));
            row.push(output::three_digits(self.exact_seconds / seconds));
            table.push(row);
        }
        for NullBaseline { name, constant, score } in &self.baselines {
            let mut row = vec![(*name).to_owned(), String::new(), String::new()];
            row.extend(cells(score));
            row.push(output::three_digits(*constant));
            table.push(row);
        }
        let mut exact = vec![String::new(); heading.len() - 1];
        (exact[0], exact[6]) = ("exact".into(), output::seconds(self.exact_seconds));
        table.push(exact);
        output::line(output::table(&table).trim_end())
    }

    /// Prints one object for every model, for every baseline, and for the exact solver.
    fn print_json(&self) -> Result<()> {
        let (pairs, exact) = (self.test.len(), self.exact_seconds);
        for Row { model, judged: Judged { plain, scaled, factor }, seconds } in &self.rows {
            output::json(json!({
                "model": model,
                "pairs": pairs,
                "scored": plain.pairs,
                "left_out": plain.left_out,
                "error": plain.mean,
                "std": plain.std,
                "median": plain.median,
                "factor": factor,
                "scaled_error": scaled.mean,
                "scaled_std": scaled.std,
                "scaled_median": scaled.median,
                "seconds": seconds,
                "exact_seconds": exact,
                "exact_over_model": exact / seconds,
            }))?;
        }
        for NullBaseline { name, constant, score } in &self.baselines {
            output::json(json!({
                "baseline": name,
                "pairs": pairs,
                "scored": score.pairs,
                "left_out": score.left_out,
                "constant": constant,
                "scaled_error": score.mean,
                "scaled_std": score.std,
                "scaled_median": score.median,
            }))?;
        }
        output::json(
            json!({"baseline": "exact", "pairs": pairs, "timed": self.timed, "seconds": exact}),
        )
    }
}
