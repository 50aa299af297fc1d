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
    let (start, metric) = first_tree(args, metric, names.as_deref(), output)?;
    interrupt::check()?;
    let count = given.as_ref().map(Measures::len);
    let (measures, labels) = what_to_learn(args, &metric, given, output)?;
    learning::check(args)?;
    let First { name, tree: start } = match start {
        Some(start) => start,
        None => best_tree(&metric, &measures, &labels, names.as_deref(), output)?,
    };
    learning::check(args)?;
    let lessons = Lessons { start: &start, metric: &metric, measures: &measures, labels: &labels };
    let outcome = learning::run(args, &lessons, output)?;
    write_results(args, &outcome)?;
    if outcome.stopped.is_none() {
        checkpoint::remove(&args.output)?;
    }
    let result = Summary {
        args,
        start: &name,
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

/// Where learning starts.
struct First {
    name: String,
    tree: Tree,
}

/// Shows that a tree is being grown.
fn grown<T>(text: &str, output: &Output, grow: impl FnOnce() -> treeport::Result<T>) -> Result<T> {
    let spinner = output.spinner(text);
    let grown = grow();
    spinner.finish_and_clear();
    Ok(grown?)
}

fn named(tree: Tree, names: Option<&[String]>) -> Result<Tree> {
    Ok(match names {
        Some(names) => tree.with_names(names.to_vec())?,
        None => tree,
    })
}

/// The tree to start from, if labels have no say in it, and the metric in the form that the exact solver
/// needs.
fn first_tree(
    args: &FitArgs,
    metric: GroundMetric,
    names: Option<&[String]>,
    output: &Output,
) -> Result<(Option<First>, GroundMetric)> {
    let solves = args.measures.is_some() && args.labels.is_none();
    let solvable = |metric| if solves { labels::solvable(metric, output) } else { metric };
    let (text, method) = match args.start() {
        Start::Best => return Ok((None, solvable(metric))),
        Start::Linkage(text, method) => (text, method),
        Start::File(path) => {
            let tree = input::model(&path, names)?;
            input::check_leaves(&path, tree.leaves(), &metric)?;
            return Ok((Some(First { name: path.display().to_string(), tree }), solvable(metric)));
        }
    };
    let grow = |metric: &GroundMetric| {
        let tree = grown(&text, output, || treeport::linkage(metric, method))?;
        Ok::<_, anyhow::Error>(First { name: text.clone(), tree: named(tree, names)? })
    };
    // Single linkage wants the graph itself, the others all distances.
    if method == Linkage::Single {
        return Ok((Some(grow(&metric)?), solvable(metric)));
    }
    let metric = solvable(metric);
    Ok((Some(grow(&metric)?), metric))
}

/// Average or single linkage, whichever is nearer to the labels.
fn best_tree(
    metric: &GroundMetric,
    measures: &Measures,
    labels: &Labels,
    names: Option<&[String]>,
    output: &Output,
) -> Result<First> {
    let grow = || treeport::baseline::best_start(metric, measures, labels);
    let (linkage, tree) = grown("average and single linkage", output, grow)?;
    let name = if linkage == Linkage::Single { "single linkage" } else { "average linkage" };
    Ok(First { name: name.to_owned(), tree: named(tree, names)? })
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
