//! `treeport exact`: exact distances between measures, resumable.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::args::{MeasureArgs, MetricArgs, PairArgs};
use crate::input::{self, Space};
use crate::interrupt::{self, Interrupted};
use crate::output::Output;
use crate::pairs::Pairs;
use crate::progress::{Watch, prepare};
use crate::rows::{self, DISTANCES};
use crate::solved::{self, Rows, Work};

const EXAMPLE: &str = "\
Examples:
  treeport exact --points words.npy --measures docs.npz --n-pairs 1000 -o labels.csv
  treeport exact --graph roads.csv --measures M.npz --pairs pairs.csv > distances.csv
  treeport fit --points words.npy --measures docs.npz --labels labels.csv -o model.tree

With `-o` what is done stays: after Ctrl-C, a crash or a kill the same command goes on from
`labels.csv.part`. `fit --n-pairs N` draws the same pairs for the same seed.";

/// Options of `treeport exact`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct ExactArgs {
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    measures: MeasureArgs,
    #[command(flatten)]
    pairs: PairArgs,
    /// Write to a file: rows left, right, distance (.csv), as `fit --labels` reads them.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `treeport exact`.
pub(crate) fn run(args: &ExactArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "exact distances go", &["csv"])?;
    let (metric, names) = input::metric(&args.ground)?;
    let measures = args.measures.read(Space::of(&metric, names.as_ref()))?;
    let pairs = Pairs::new(&args.pairs, &measures, args.measures.path()?)?;
    let work = Work { metric: &metric, measures: &measures, pairs: &pairs };
    // What is no regular file, such as /dev/stdout, has nothing beside it.
    let regular = file.filter(|path| !path.exists() || path.is_file());
    let open = |path| Rows::open(path, &work.job(), &pairs, |_| ());
    let journal = regular.map(open).transpose()?;
    prepare(&metric, output)?;
    match journal.zip(regular) {
        Some((journal, path)) => save(&work, journal, path, output),
        None => print(&work, file, output),
    }
}

/// Solves what is missing, then moves all rows to the target.
fn save(work: &Work<'_>, mut journal: Rows, target: &Path, output: &Output) -> Result<ExitCode> {
    let (begun, earlier, all) = (Instant::now(), journal.done, work.pairs.len());
    if !work.fill(&mut journal, output, |_| ())? {
        output.note(&journal.interrupted(all, "pairs"));
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    }
    journal.finish(target, work.pairs)?;
    let seconds = begun.elapsed().as_secs_f64();
    let facts = json!({"pairs": all, "done_before": earlier, "seconds": seconds});
    rows::wrote(output, "exact", Some(target), facts, &format!("{all} exact distances"))?;
    Ok(ExitCode::SUCCESS)
}

/// Rows to stdout, or to a file that is no regular file.
fn print(work: &Work<'_>, file: Option<&Path>, output: &Output) -> Result<ExitCode> {
    let watch = Watch::of_rows(output, file.is_none());
    rows::write(file, output, |out, json| {
        rows::header(out, json, &DISTANCES)?;
        let all = work.solve(0, &watch, |pairs, distances| {
            solved::write(out, json, pairs, distances)?;
            Ok(out.flush()?)
        })?;
        if all { Ok(()) } else { Err(Interrupted.into()) }
    })?;
    Ok(ExitCode::SUCCESS)
}
