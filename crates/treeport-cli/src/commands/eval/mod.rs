//! `treeport eval`: models beside exact transport, and beside baselines that know almost nothing.

mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use treeport::tree::Scratch;
use treeport::{Forest, GroundMetric, silent};
use treeport_report::score::Score;
use treeport_report::timing::time_exact;

use self::report::Report;
use crate::args::{MetricArgs, NamesArgs};
use crate::output::Output;
use crate::scored::{Scored, TestArgs};
use crate::{input, interrupt, labels};

const EXAMPLE: &str = "\
Example:
  treeport eval model.tree start.nwk --points words.npy --measures docs.npz --pairs 1000

The pairs are drawn apart from those that `fit` learns from, but from the same measures: keep some
measures back for an honest test. A model that does not beat `constant x total variation` is worth
nothing.";

/// Options of `treeport eval`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct EvalArgs {
    /// Trees and forests that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    names: NamesArgs,
    #[command(flatten)]
    test: TestArgs,
}

/// Time spent on timing the exact solver; a pair of large measures may take longer.
const TIMING: Duration = Duration::from_secs(2);

/// Runs `treeport eval`.
pub(crate) fn run(args: &EvalArgs, output: &Output) -> Result<ExitCode> {
    let (metric, names) = input::metric(&args.ground)?;
    let names = args.names.names.as_deref().map(input::names).transpose()?.or(names);
    let mut models = Vec::with_capacity(args.models.len());
    for path in &args.models {
        let forest = input::forest(path, names.as_deref())?;
        input::check_leaves(path, forest.leaves(), &metric)?;
        models.push((path.display().to_string(), forest));
    }
    let path = args.test.measures.as_deref().context("give `--measures`")?;
    let measures = args.test.read(path, &metric)?;
    let metric = labels::solvable(metric, output);
    interrupt::check()?;
    let test = Test::new(args.test.label(path, &metric, &measures, output)?, &metric)?;
    let rows =
        models.iter().map(|(name, forest)| test.model(name, forest)).collect::<Result<_>>()?;
    let report = Report { rows, baselines: test.scored.baselines()?, test };
    if output.json {
        report.print_json()?;
    } else {
        report.print()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Labelled pairs, and how long the exact solver takes for one.
struct Test<'a> {
    scored: Scored<'a>,
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

impl<'a> Test<'a> {
    fn new(scored: Scored<'a>, metric: &GroundMetric) -> Result<Self> {
        let go_on = |_| !interrupt::asked();
        let timed = time_exact(metric, scored.measures, &scored.labels.pairs, TIMING, &go_on);
        interrupt::check()?;
        let (timed, exact_seconds) = timed?;
        Ok(Self { scored, timed, exact_seconds })
    }

    fn model(&self, name: &str, forest: &Forest) -> Result<Row> {
        let scored = &self.scored;
        let predicted = forest.pairs(scored.measures, &scored.labels.pairs, &silent)?;
        let factor = scored.factor(&predicted);
        Ok(Row {
            model: name.to_owned(),
            plain: scored.score(&predicted, 1.0),
            factor,
            scaled: scored.score(&predicted, factor),
            seconds: self.time_forest(forest)?,
        })
    }

    /// Seconds for one of the pairs that the exact solver was timed on.
    fn time_forest(&self, forest: &Forest) -> Result<f64> {
        let trees = forest.trees().iter().map(|tree| tree.prepare(self.scored.measures));
        let trees = trees.collect::<treeport::Result<Vec<_>>>()?;
        let pairs = &self.scored.labels.pairs[..self.timed];
        let mut scratch = Scratch::default();
        let begun = Instant::now();
        let mut done = 0;
        // One clock reading would be a good part of a single pass over a few short pairs.
        while done == 0 || begun.elapsed() < Duration::from_millis(50) {
            for &(i, j) in pairs {
                for tree in &trees {
                    std::hint::black_box(tree.distance_with(i, j, &mut scratch));
                }
            }
            done += pairs.len();
        }
        Ok(begun.elapsed().as_secs_f64() / done as f64)
    }
}
