//! `treeport fit`: from a ground metric and measures to a tree in a file.

mod args;
mod baseline;
mod checkpoint;
mod learning;
mod summary;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use treeport::baseline::Method;
use treeport::learn::point_labels;
use treeport::{GroundMetric, Labels, Linkage, Measures, Tree};

pub(crate) use self::args::FitArgs;
use self::args::{ScaleName, Start};
use self::learning::{At, Lessons, Outcome};
use self::summary::Summary;
use crate::commands::exact;
use crate::output::{self, Output};
use crate::{history, input, interrupt, labels};

/// Pairs of measures that are labelled if nobody says how many.
const MEASURE_PAIRS: usize = 300;
/// Pairs of points, whose labels cost nothing.
const POINT_PAIRS: usize = 10_000;

/// Runs `treeport fit`.
pub(crate) fn run(args: &FitArgs, output: &Output) -> Result<ExitCode> {
    let begun = Instant::now();
    for path in std::iter::once(&args.output).chain(&args.history) {
        if input::is_standard(path) {
            bail!("`fit` prints a summary on stdout; give its results files of their own");
        }
        output::check_place(path)?;
    }
    let method = args.method();
    if method != Method::Auto && method.kind().is_none() {
        return baseline::run(args, method, output);
    }
    if args.trees.is_some() {
        bail!("`--trees` is for a `--method` of several trees: forest, learned-forest, sliced-…");
    }
    if args.scale == ScaleName::Labels {
        bail!("`--scale` is for other methods: `{method}` has its scale from the labels already");
    }
    let (metric, names) = input::named_metric(&args.ground, args.names.as_deref())?;
    let given = args.measures.as_deref().map(|path| read_measures(path, args, &metric));
    let given = given.transpose()?;
    let (start, metric) = first_tree(args, metric, names, output)?;
    interrupt::check()?;
    let count = given.as_ref().map(Measures::len);
    let (measures, labels) = what_to_learn(args, &metric, given, output)?;
    learning::check(args)?;
    let lessons = Lessons { start: &start, metric: &metric, measures: &measures, labels: &labels };
    let outcome = learning::run(args, &lessons, output)?;
    write_results(args, &outcome)?;
    if outcome.stopped.is_none() {
        checkpoint::remove(&args.output)?;
    }
    let result = Summary {
        args,
        points: start.leaves(),
        measures: count,
        labels: labels.pairs.len(),
        outcome: &outcome,
        seconds: begun.elapsed().as_secs_f64(),
    };
    if output.json {
        output::line(result.to_json())?;
    } else if !output.quiet {
        result.print()?;
    }
    let Some(at) = outcome.stopped else { return Ok(ExitCode::SUCCESS) };
    output.note(&interrupted(args, at, outcome.kept.as_deref()));
    Ok(ExitCode::from(interrupt::EXIT_CODE))
}

/// Where the work was stopped, what there is of it, and how it goes on.
fn interrupted(args: &FitArgs, at: At, kept: Option<&Path>) -> String {
    let file = args.output.display();
    let on = kept.map_or_else(
        || format!("`--start {file}` goes on from it"),
        |path| format!("the same command goes on from `{}`", path.display()),
    );
    let place = match at {
        At::Points => "before learning".into(),
        At::Learning { step, steps } => format!("at step {step} of {steps}"),
        At::Edges => "after learning, while edges were fitted".into(),
    };
    format!("interrupted {place}: `{file}` has the best tree so far, {on}")
}

fn read_measures(path: &Path, args: &FitArgs, metric: &GroundMetric) -> Result<Measures> {
    input::measures_on(metric.points(), path, args.normalize)
}

/// The tree to start from, and the metric in the form that the exact solver needs.
fn first_tree(
    args: &FitArgs,
    metric: GroundMetric,
    names: Option<Vec<String>>,
    output: &Output,
) -> Result<(Tree, GroundMetric)> {
    let solves = args.measures.is_some() && args.labels.is_none();
    let solvable = |metric| if solves { labels::solvable(metric, output) } else { metric };
    let (text, method) = match args.start() {
        Start::Linkage(text, method) => (text, method),
        Start::File(path) => {
            let tree = input::model(&path, names.as_deref())?;
            input::check_leaves(&path, tree.leaves(), &metric)?;
            return Ok((tree, solvable(metric)));
        }
    };
    let grow = |metric: &GroundMetric| {
        let spinner = output.spinner(&text);
        let tree = treeport::linkage(metric, method);
        spinner.finish_and_clear();
        tree
    };
    // Single linkage wants the graph itself, the others all distances.
    let (tree, metric) = if method == Linkage::Single {
        (grow(&metric)?, solvable(metric))
    } else {
        let metric = solvable(metric);
        (grow(&metric)?, metric)
    };
    let tree = match names {
        Some(names) => tree.with_names(names)?,
        None => tree,
    };
    Ok((tree, metric))
}

/// Measures and labels: those given, exact ones for random pairs, or those of the points.
fn what_to_learn(
    args: &FitArgs,
    metric: &GroundMetric,
    measures: Option<Measures>,
    output: &Output,
) -> Result<(Measures, Labels)> {
    let (Some(measures), Some(path)) = (measures, &args.measures) else {
        let count = args.pairs.unwrap_or(POINT_PAIRS);
        return Ok(point_labels(metric, count, args.seed)?);
    };
    if let Some(file) = &args.labels {
        let labels = labels::read(file, &measures)?;
        measures.check_pairs(&labels.pairs).with_context(|| input::name(path))?;
        return Ok((measures, labels));
    }
    let count = args.pairs.unwrap_or(MEASURE_PAIRS);
    let pairs = labels::random_pairs(count, measures.len(), args.seed)
        .and_then(|pairs| measures.check_pairs(&pairs).map(|()| pairs).map_err(Into::into))
        .with_context(|| input::name(path))?;
    let distances = if checkpoint::possible(&args.output) {
        let beside = checkpoint::labels_beside(&args.output);
        exact::solve_beside(&beside, metric, &measures, &pairs, output)?
    } else {
        labels::solve(metric, &measures, &pairs, output)?
    };
    Ok((measures, Labels { pairs, distances }))
}

fn write_results(args: &FitArgs, outcome: &Outcome) -> Result<()> {
    let bytes = outcome.tree.to_bytes()?;
    output::save(&args.output, |out| Ok(out.write_all(&bytes)?))?;
    let Some(path) = &args.history else { return Ok(()) };
    output::save(path, |out| {
        writeln!(out, "{}", history::HEADER)?;
        for e in &outcome.learned.history {
            let validation = e.validation_loss.map_or_else(String::new, output::number);
            let (training, error) =
                (output::number(e.training_loss), output::number(e.relative_error));
            writeln!(out, "{},{training},{validation},{error}", e.epoch)?;
        }
        Ok(())
    })
}
