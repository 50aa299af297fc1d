//! `treeport-lab reproduce`: experiments of the paper, with its figures beside ours.

mod journal;
mod results;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValue;
use treeport_lab::experiment::{self, ALL, Experiment, Row, Setup};
use treeport_report::terminal::at_most;

use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use journal::Journal;

const EXAMPLE: &str = "\
Example:
  treeport-lab reproduce real --data DIR        every method on the real data sets
  treeport-lab reproduce uniform                every method on 100 points of [-10, 10]^d
  treeport-lab reproduce gaussian --dims 2,17 --runs 10 --json
  treeport-lab reproduce noisy-trees --trees 100
  treeport-lab reproduce all --data DIR -o runs hours; what is finished is kept in `runs` and not done again
  treeport-lab reproduce results --from runs -o docs   writes docs/RESULTS.md";

/// Arguments of `treeport-lab reproduce`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ReproduceArgs {
    /// The experiment to run.
    #[arg(value_name = "NAME", value_parser = names())]
    what: String,
    /// Run fewer and smaller cases, in seconds.
    #[arg(long)]
    quick: bool,
    /// Folder of the real data sets [default: TREEPORT_DATA].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Folder for rows and figures; cells whose rows are there already, made by this version on the
    /// same data, are not run again.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Folder of finished runs, for `results`.
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Note about the run for readers of `results`.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Number of hidden trees per noise level.
    #[arg(long, default_value_t = 20, value_parser = at_most::<MOST_RUNS>)]
    trees: usize,
    /// Dimensions of `uniform` and `gaussian`.
    #[arg(long, value_name = "D,…", value_delimiter = ',', value_parser = at_most::<MOST_DIMENSIONS>)]
    #[arg(default_value = "2,5,8,11,14,17")]
    dims: Vec<usize>,
    /// Data sets of `uniform` and `gaussian`, scored together.
    #[arg(long, default_value_t = 5, value_parser = at_most::<MOST_RUNS>)]
    runs: usize,
    /// Only these scenes of `dial` or data sets of the others.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    scenes: Vec<String>,
    /// Labeled pairs to learn from, in place of an experiment's own number.
    #[arg(long, value_parser = at_most::<MOST_LABELS>)]
    labels: Option<usize>,
    /// Seed of all randomness.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Maximum number of trees and data sets; more would run for a year.
const MOST_RUNS: usize = 100_000;

/// Maximum number of dimensions; more would need a gigabyte per data set.
const MOST_DIMENSIONS: usize = 100_000;

/// Maximum number of labels; more would take months to solve.
const MOST_LABELS: usize = 10_000_000;

/// Returns the names of the experiments, and the words `all` and `results`.
fn names() -> Vec<PossibleValue> {
    let mut names: Vec<PossibleValue> =
        ALL.iter().map(|e| PossibleValue::new(e.name).help(e.about)).collect();
    names.push(PossibleValue::new("all").help("all of them, one after the other"));
    names.push(PossibleValue::new("results").help("the report of finished runs, in Markdown"));
    names
}

impl ReproduceArgs {
    fn setup(&self) -> Setup {
        let named = || std::env::var_os("TREEPORT_DATA").map(PathBuf::from);
        Setup {
            quick: self.quick,
            data: self.data.clone().or_else(named),
            seed: self.seed,
            trees: self.trees,
            dims: self.dims.clone(),
            runs: self.runs,
            scenes: self.scenes.clone(),
            labels: self.labels,
        }
    }

    /// Returns the command that reproduces the rows, without options that locate data.
    fn command(&self, name: &str) -> String {
        let mut command = format!("treeport-lab reproduce {name}");
        if self.quick {
            command += " --quick";
        }
        let plain = Setup::default();
        let mut add = |option: &str, value: u64| {
            // Writing to a string cannot fail.
            let _ = write!(command, " --{option} {value}");
        };
        if let Some(labels) = self.labels {
            add("labels", labels as u64);
        }
        if name == "noisy-trees" && self.trees != plain.trees {
            add("trees", self.trees as u64);
        }
        if ["uniform", "gaussian"].contains(&name) && self.runs != plain.runs {
            add("runs", self.runs as u64);
        }
        if self.seed != plain.seed {
            add("seed", self.seed);
        }
        command
    }
}

/// Runs an experiment and prints its table.
pub(crate) fn run(args: &ReproduceArgs, output: &Output) -> Result<ExitCode> {
    if args.what == "results" {
        let from =
            args.from.as_deref().context("`results` needs `--from DIR`, the folder of a run")?;
        let note = args.note.as_deref();
        results::write(from, note, args.output.as_deref().unwrap_or(Path::new("docs")), output)?;
        return Ok(ExitCode::SUCCESS);
    }
    let setup = args.setup();
    if args.what == "all" {
        let folder = args.output.clone().unwrap_or_else(|| "reproduced".into());
        for experiment in &ALL {
            output.note(&format!("{}: {}", experiment.name, experiment.about));
            one(experiment, args, &setup, Some(&folder), output)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let Some(experiment) = experiment::find(&args.what) else {
        bail!("there is no experiment `{}`", args.what);
    };
    one(experiment, args, &setup, args.output.as_deref(), output)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the unfinished cells, then shows all rows.
fn one(
    experiment: &Experiment,
    args: &ReproduceArgs,
    setup: &Setup,
    folder: Option<&Path>,
    output: &Output,
) -> Result<()> {
    let mut journal = Journal::open(folder, experiment.name, args.command(experiment.name))?;
    let cells = (experiment.cells)(setup);
    if cells.is_empty() {
        let why = format!(
            "{}: no data set to work on; name their folder with --data or TREEPORT_DATA",
            experiment.name
        );
        // With `all`, experiments without data are skipped; one requested by name is an error.
        if args.what != "all" {
            bail!(why);
        }
        output.note(&why);
        return Ok(());
    }
    if journal.dropped() > 0 {
        let (name, lines) = (experiment.name, journal.dropped());
        output
            .note(&format!("{name}: {lines} kept cells were cut off or damaged, to be run again"));
    }
    let bar = output.bar(experiment.name, cells.len());
    let mut rows: Vec<Row> = Vec::new();
    for (k, cell) in cells.iter().enumerate() {
        bar.set_position(k as u64);
        bar.set_message(format!("{} {}", experiment.name, cell.name));
        let found = if let Some(rows) = journal.find(cell)? {
            rows
        } else {
            let found = cell.run(&|_| !interrupt::asked());
            if interrupt::asked() {
                return stopped(folder, output);
            }
            let found = found?;
            journal.keep(cell, &found)?;
            found
        };
        if output.json {
            found.iter().try_for_each(output::json)?;
        }
        rows.extend(found);
    }
    bar.finish_and_clear();
    if !output.json {
        print(experiment, &rows)?;
    }
    let Some(folder) = folder else { return Ok(()) };
    results::draw(&(experiment.figures)(&rows), folder)
}

fn stopped(folder: Option<&Path>, output: &Output) -> Result<()> {
    if let Some(folder) = folder {
        output.note(&format!("finished cells are kept in `{}`", folder.display()));
    }
    Err(Interrupted.into())
}

fn print(experiment: &Experiment, rows: &[Row]) -> Result<()> {
    for table in experiment.tables {
        for (title, lines) in table.render(rows) {
            output::line(format!("{}\n{}", title.replace('_', " "), output::table(&lines)))?;
        }
    }
    Ok(())
}
