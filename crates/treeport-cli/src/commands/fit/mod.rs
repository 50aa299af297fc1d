//! `treeport fit`: fits a tree or a forest to a ground metric and measures.

mod args;
mod checkpoint;
mod option_args;
mod summary;

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use treeport::estimate::calibration;
use treeport::io::ModelFile;
use treeport::labeled::{DEFAULT_PAIRS, TRIED_PAIRS, pairs_within};
use treeport::progress::State;
use treeport::progress::tasks;
use treeport::{Error, Fit, FitOptions, GroundMetric, Labeled, Measures, Relax};
use treeport_jobs::history;

pub(crate) use self::args::{FitArgs, parse_time};
use self::checkpoint::Checkpoints;
use self::summary::Summary;
use crate::commands::clouds;
use crate::input::PointSet;
use crate::interrupt::{self, Interrupted, Paused};
use crate::output::{self, Output};
use crate::pairs::{self, Pairs};
use crate::progress::{KeptItems, Watch, prepare, watched};
use crate::solved::Work;
use crate::{input, labels, parts};

/// Runs `treeport fit`. After Ctrl-C at any point, the message says what was kept.
pub(crate) fn run(args: &FitArgs, output: &Output) -> Result<ExitCode> {
    run_to_the_end(args, output).map_err(|error| match resume_note(args) {
        Some(on) if error.is::<Interrupted>() => Paused(format!("interrupted; {on}")).into(),
        _ => error,
    })
}

fn run_to_the_end(args: &FitArgs, output: &Output) -> Result<ExitCode> {
    let begun = Instant::now();
    for path in std::iter::once(&args.output).chain(&args.history) {
        if input::is_standard(path) {
            bail!("`fit` prints a summary on stdout; give its results files of their own");
        }
        output::check_place(path)?;
    }
    checkpoint::remove_abandoned(&args.output)?;
    if let Some(path) = &args.clouds.clouds {
        return clouds::fit(args, path, output);
    }
    if let Some(method) = clouds::method(args) {
        bail!("`--method {method}` is for clouds; give `--clouds`");
    }
    let (metric, names) = input::named_metric(&args.ground)?;
    let measures = args.data.measures.measures.as_ref();
    let measures = measures
        .map(|_| args.data.measures.read(PointSet::of(metric.points(), names.as_ref()), output))
        .transpose()?;
    let options = args.options(&metric, names.as_deref())?;
    check(args, &options, &metric)?;
    // Labels of an interrupted job take no time again.
    let is_first = checkpoint::kept(&args.output).is_none();
    let solving = Instant::now();
    let data = measures.map(|measures| training_data(args, &metric, &measures, output));
    let data = data.transpose()?;
    if let Some(data) = &data {
        let solved = args.data.labels.is_none() && is_first;
        let seconds = solved.then(|| solving.elapsed().as_secs_f64());
        let forecast = options.forecast(&metric, data, seconds);
        if forecast.costs_more_than_solving() {
            output.note(&format!("{forecast}, with `treeport exact`"));
        }
    }
    let (method, scale) = (options.method(data.is_some()), options.scale);
    let (mut fitted, stopped) = learn(args, &metric, data.as_ref(), options, output)?;
    if let Some(names) = names {
        fitted.model = fitted.model.with_names(names)?;
    }
    let calibration = match &data {
        Some(data) if stopped.is_none() => {
            Some(watched(output, |progress| calibration(&metric, &fitted.model, data, progress))?)
        }
        _ => None,
    };
    let (model, kept) = (fitted.model.clone(), args.with_metric.then(|| metric.clone()));
    ModelFile { model, calibration, metric: kept }.save(&args.output)?;
    write_history(args, &fitted)?;
    if stopped.is_none() {
        checkpoint::remove(&args.output)?;
    }
    let result = Summary {
        args,
        method,
        scale,
        data: data.as_ref(),
        fitted: &fitted,
        stopped: stopped.is_some(),
        seconds: begun.elapsed().as_secs_f64(),
    };
    if output.json {
        output::json(result.to_json())?;
    } else if !output.quiet {
        result.print()?;
    }
    let Some(place) = stopped else { return Ok(ExitCode::SUCCESS) };
    let file = args.output.display();
    let on = resume_note(args)
        .unwrap_or_else(|| format!("`--start {file} --scale false` continues from it"));
    output.note(&format!("interrupted {place}: `{file}` has the best tree so far, {on}"));
    Ok(ExitCode::from(interrupt::EXIT_CODE))
}

/// Converts an error of [`FitOptions::check_for`] to the names of the command line, where
/// `--n-pairs` counts pairs of points if there are no measures.
fn in_flags(args: &FitArgs, method: &str, error: Error) -> anyhow::Error {
    match error {
        Error::UnusedOption { option: "point_pairs", method }
            if args.data.pairs.n_pairs.is_some() =>
        {
            Error::UnusedOption { option: "n_pairs", method }.into()
        }
        Error::NothingToLearn { .. } => {
            anyhow!("`{method}` learns from measures; give `--measures`")
        }
        other => other.into(),
    }
}

/// Refuses options that the method does not support, before long work.
fn check(args: &FitArgs, options: &FitOptions, metric: &GroundMetric) -> Result<()> {
    let labels = args.data.measures.measures.is_some();
    let method = options.method(labels);
    let (takes, name) = (method.supports(), method.name());
    options.check_for(metric, labels).map_err(|error| in_flags(args, name, error))?;
    if args.history.is_some() && !takes.resume {
        return Err(Error::UnusedOption { option: "history", method: name }.into());
    }
    if labels && !options.scale && !takes.labels && !takes.learning {
        bail!("`{name}` with `--scale false` does not use measures; leave one of them out");
    }
    Ok(())
}

/// Reads labels from a file, or solves exact distances of some pairs and keeps them until the job
/// is done.
fn training_data(
    args: &FitArgs,
    metric: &GroundMetric,
    measures: &Measures,
    output: &Output,
) -> Result<Labeled> {
    let from = args.data.measures.path()?;
    if let Some(path) = &args.data.labels {
        return labels::read(path, measures, from);
    }
    let seed = args.data.pairs.seed;
    let usual = match args.budget {
        Some(time) => pairs_in_budget(args, time, metric, measures, output)?,
        None => DEFAULT_PAIRS,
    };
    let pairs = pairs::listed(&args.data.pairs, measures, from, seed, usual)?;
    if parts::regular(Some(&args.output)).is_none() {
        prepare(metric, output)?;
        return watched(output, |progress| Labeled::solve(metric, measures, pairs, progress));
    }
    let listed = Pairs::Listed(pairs.clone());
    let ground = metric.clone().into();
    let relax = Relax::Balanced;
    let (order, bounds) = (1.0, None);
    let work = Work { ground: &ground, measures, pairs: &listed, relax, order, bounds };
    let mut journal = checkpoint::labels(&args.output, &work.job())?;
    let mut distances = Vec::new();
    journal.take_lines(|line| {
        let distance = line.parse::<f64>();
        let is_read = distance.is_ok();
        distances.extend(distance);
        anyhow::Ok(is_read)
    })?;
    let path = journal.path().to_owned();
    let kept = |done, items| KeptItems { path: &path, done, all: pairs.len(), items };
    kept(distances.len(), "pairs").note_earlier(output, journal.dropped(), "row");
    prepare(metric, output)?;
    let whole = work.solve(distances.len(), &Watch::new(output), |_, solved| {
        let lines: String = solved[0].iter().map(|&d| output::number(d) + "\n").collect();
        journal.append(lines.as_bytes())?;
        distances.extend_from_slice(&solved[0]);
        Ok(())
    })?;
    if !whole {
        return Err(Paused(kept(distances.len(), "exact distances").interrupted()).into());
    }
    Labeled::new(measures, pairs, distances).with_context(|| input::name(from))
}

/// Estimates how many pairs fit into the time budget. The number is kept until the job is done, so
/// that an interrupted job resumes with the same pairs.
fn pairs_in_budget(
    args: &FitArgs,
    time: Duration,
    metric: &GroundMetric,
    measures: &Measures,
    output: &Output,
) -> Result<usize> {
    let (seed, from) = (args.data.pairs.seed, args.data.measures.path()?);
    let tried = pairs::listed(&args.data.pairs, measures, from, seed, TRIED_PAIRS)?;
    let count =
        || watched(output, |progress| pairs_within(time, metric, measures, &tried, progress));
    if parts::regular(Some(&args.output)).is_none() {
        return count();
    }
    let mut kept = checkpoint::budget(&args.output, metric, measures, (time, seed))?;
    if let Some(count) = kept.lines()?.first().and_then(|line| line.parse().ok()) {
        return Ok(count);
    }
    let count = count()?;
    kept.append(format!("{count}\n").as_bytes())?;
    Ok(count)
}

/// Fits until done or interrupted; returns the place of an interruption, if any.
fn learn(
    args: &FitArgs,
    metric: &GroundMetric,
    data: Option<&Labeled>,
    mut options: FitOptions,
    output: &Output,
) -> Result<(Fit, Option<String>)> {
    let resumes = options.method(data.is_some()).supports().resume;
    let checkpoints = (resumes && parts::regular(Some(&args.output)).is_some())
        .then(|| Checkpoints::open(&args.output, metric, data, &options))
        .transpose()?;
    if let Some(checkpoints) = &checkpoints {
        options.resume = checkpoints.last(output)?;
    }
    if let Some(from) = &options.resume {
        let epochs = from.history().len() - 1;
        output.note(&format!("continuing from step {}, after epoch {epochs}", from.step()));
    }
    let watch = Watch::new(output);
    // Current state, checkpoints, and the result of writing them.
    let kept = Mutex::new((None, checkpoints, Ok(())));
    let progress = |state: &State<'_>| {
        let continues = watch.update(state);
        let (at, checkpoints, written) = &mut *kept.lock().unwrap_or_else(PoisonError::into_inner);
        *at = Some((state.task, state.done, state.total));
        if let (Some(checkpoints), Ok(())) = (checkpoints, &written) {
            *written = checkpoints.update(state, !continues);
        }
        continues && written.is_ok()
    };
    let fitted = treeport::fit(metric, data, &options, &progress);
    drop(watch);
    let (at, _, written) = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    written?;
    match (fitted, at.and_then(place)) {
        (Err(Error::Canceled), _) => Err(Interrupted.into()),
        (Err(error), _) => Err(error.into()),
        // Ctrl-C after the last step stops nothing.
        (Ok(fitted), _) if fitted.finished || !interrupt::asked() => Ok((fitted, None)),
        (Ok(fitted), Some(place)) => Ok((fitted, Some(place))),
        // There is no tree to save yet.
        (Ok(_), None) => Err(Interrupted.into()),
    }
}

/// Describes where fitting was stopped, if there is a tree by then.
fn place((task, done, total): (&str, usize, Option<usize>)) -> Option<String> {
    match task {
        tasks::LEARNING => Some(format!("at step {done} of {}", total.unwrap_or(done))),
        tasks::EDGES => Some("after learning, while edges were fitted".into()),
        _ => None,
    }
}

/// Describes how the same command resumes, if it can.
fn resume_note(args: &FitArgs) -> Option<String> {
    let path = checkpoint::kept(&args.output)?;
    Some(format!("the same command continues from `{}`", path.display()))
}

fn write_history(args: &FitArgs, fitted: &Fit) -> Result<()> {
    let Some(path) = &args.history else { return Ok(()) };
    output::save(path, |out| {
        writeln!(out, "{}", history::HEADER)?;
        for e in &fitted.history {
            let validation = e.validation_loss.map_or_else(String::new, output::number);
            let (training, error) =
                (output::number(e.training_loss), output::number(e.relative_error));
            writeln!(out, "{},{training},{validation},{error}", e.epoch)?;
        }
        Ok(())
    })
}
