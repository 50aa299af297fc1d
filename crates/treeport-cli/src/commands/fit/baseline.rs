//! `treeport fit --method …`: the trees that learned ones are compared with.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;
use treeport::baseline::{BaselineOptions, Method, Training, WeightOptions};
use treeport::{GroundMetric, Labels, Measures, Tree};

use super::args::{FitArgs, ScaleName};
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use crate::{input, labels};

/// Builds the tree, writes it and says so.
pub(super) fn run(args: &FitArgs, method: Method, output: &Output) -> Result<ExitCode> {
    let begun = Instant::now();
    check(args, method)?;
    let (metric, names) = input::named_metric(&args.ground, args.names.as_deref())?;
    let given = args.measures.as_deref().map(|path| super::read_measures(path, args, &metric));
    let given = given.transpose()?;
    let metric = labels::solvable(metric, output);
    interrupt::check()?;
    let training = match given {
        Some(measures) => Some(super::what_to_learn(args, &metric, Some(measures), output)?),
        None => None,
    };
    interrupt::check()?;
    let tree = build(args, method, &metric, training.as_ref(), output)?;
    let tree = match names {
        Some(names) => tree.with_names(names)?,
        None => tree,
    };
    let bytes = tree.to_bytes()?;
    output::save(&args.output, |out| Ok(out.write_all(&bytes)?))?;
    let seconds = begun.elapsed().as_secs_f64();
    let counts = training.map(|(measures, labels)| (measures.len(), labels.pairs.len()));
    say(args, method, &tree, counts, seconds, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses what cannot be saved, and measures or files that nothing would come of.
fn check(args: &FitArgs, method: Method) -> Result<()> {
    if !method.is_tree() {
        bail!(
            "`{method}` is not the distance of one tree, so there is no tree to save; `treeport reproduce uniform` compares it with all others"
        );
    }
    if args.history.is_some() {
        bail!("`--history` is for learned trees; `{method}` has no epochs");
    }
    let wanted = method.needs_labels() || args.scale == ScaleName::Labels;
    match (&args.measures, wanted) {
        (None, true) if method.needs_labels() => {
            bail!("`{method}` learns from measures; give `--measures`")
        }
        (None, true) => bail!("`--scale labels` takes its factor from measures; give `--measures`"),
        (Some(_), false) => {
            bail!("`{method}` does not look at measures; `--scale labels` fits one factor to them")
        }
        _ => Ok(()),
    }
}

fn build(
    args: &FitArgs,
    method: Method,
    metric: &GroundMetric,
    training: Option<&(Measures, Labels)>,
    output: &Output,
) -> Result<Tree> {
    let weights = WeightOptions::default();
    // With measures the number of pairs is theirs.
    let pairs = args.pairs.filter(|_| training.is_none()).unwrap_or(weights.pairs);
    let options = BaselineOptions {
        scale: args.scale.into(),
        weights: WeightOptions { pairs, ..weights },
        seed: args.seed,
        ..BaselineOptions::default()
    };
    let training = training.map(|(measures, labels)| Training { measures, labels });
    let spinner = output.spinner(method.name());
    let model = method.build(metric, training, &options, &|_| !interrupt::asked());
    spinner.finish_and_clear();
    if interrupt::asked() {
        return Err(Interrupted.into());
    }
    let model = model?;
    model.tree().cloned().with_context(|| format!("`{method}` made no tree"))
}

fn say(
    args: &FitArgs,
    method: Method,
    tree: &Tree,
    counts: Option<(usize, usize)>,
    seconds: f64,
    output: &Output,
) -> Result<()> {
    let (measures, labels) = (counts.map(|c| c.0), counts.map(|c| c.1));
    let scaled = args.scale == ScaleName::Labels;
    let file = args.output.display().to_string();
    if output.json {
        return output::line(json!({
            "command": "fit",
            "method": method.name(),
            "points": tree.leaves(),
            "nodes": tree.nodes(),
            "measures": measures,
            "labels": labels,
            "scaled": scaled,
            "seed": args.seed,
            "seconds": seconds,
            "file": file,
        }));
    }
    if output.quiet {
        return Ok(());
    }
    let count = |count: Option<usize>| count.map_or_else(|| "none".into(), |c| c.to_string());
    let rows = [
        ("points", tree.leaves().to_string()),
        ("measures", count(measures)),
        ("labels", count(labels)),
        ("method", format!("{method}{}", if scaled { " × one factor" } else { "" })),
        ("nodes", tree.nodes().to_string()),
        ("seconds", format!("{seconds:.1}")),
        ("written", file),
    ];
    rows.into_iter().try_for_each(|(key, value)| output::line(format!("{key:<10}{value}")))
}
