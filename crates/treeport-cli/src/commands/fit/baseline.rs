//! `treeport fit --method …`: the trees that ours are compared with, and forests.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::json;
use treeport::baseline::{BaselineOptions, Method, Model, Training, WeightOptions};
use treeport::{Forest, ForestOptions, GroundMetric, Labels, Measures, Tree};

use super::args::{FitArgs, ScaleName};
use super::checkpoint;
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
    let model = build(args, method, &metric, training.as_ref(), output)?;
    let (forest, bytes) = named(model, names).with_context(|| format!("`{method}`"))?;
    output::save(&args.output, |out| Ok(out.write_all(&bytes)?))?;
    checkpoint::remove_labels(&args.output)?;
    let seconds = begun.elapsed().as_secs_f64();
    let counts = training.map(|(measures, labels)| (measures.len(), labels.pairs.len()));
    say(args, method, &forest, counts, seconds, output)?;
    Ok(ExitCode::SUCCESS)
}

/// The model with the names of the points, as a forest (of one, if it is a tree), and the bytes of its file.
fn named(model: Model, names: Option<Vec<String>>) -> Result<(Forest, Vec<u8>)> {
    let (forest, single) = match model {
        Model::Tree(tree) => (Forest::uniform(vec![tree])?, true),
        Model::Forest(forest) => (forest, false),
        _ => bail!("this is neither a tree nor a forest"),
    };
    let forest = match names {
        Some(names) => forest.with_names(names)?,
        None => forest,
    };
    let bytes = if single { forest.trees()[0].to_bytes()? } else { forest.to_bytes()? };
    Ok((forest, bytes))
}

/// Refuses what cannot be saved, and measures or files that nothing would come of.
fn check(args: &FitArgs, method: Method) -> Result<()> {
    if !(method.is_tree() || method.is_forest()) {
        bail!(
            "`{method}` is not the distance of trees, so there is nothing to save; `treeport compare` sets it beside all others"
        );
    }
    if args.trees.is_some() && !method.is_forest() {
        bail!("`--trees` is for methods of several trees; `{method}` has one");
    }
    if let Some(option) = args.unread(method) {
        bail!("`{option}` is for `auto` and the learner; `{method}` does not read it");
    }
    let wanted = method.uses_labels() || args.scale == ScaleName::Labels;
    match (&args.measures, wanted) {
        (None, true) if method.needs_labels() => {
            bail!("`{method}` learns from measures; give `--measures`")
        }
        (None, true) if args.scale == ScaleName::Labels => {
            bail!("`--scale labels` takes its factor from measures; give `--measures`")
        }
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
) -> Result<Model> {
    let defaults = BaselineOptions::default();
    let weights = WeightOptions::default();
    // With measures the number of pairs is theirs.
    let pairs = args.pairs.filter(|_| training.is_none()).unwrap_or(weights.pairs);
    let options = BaselineOptions {
        scale: args.scale.into(),
        weights: WeightOptions { pairs, ..weights },
        slices: args.trees.unwrap_or(defaults.slices),
        forest: ForestOptions {
            trees: args.trees.unwrap_or(defaults.forest.trees),
            ..defaults.forest
        },
        learn: args.learn_options(),
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
    Ok(model?)
}

fn say(
    args: &FitArgs,
    method: Method,
    forest: &Forest,
    counts: Option<(usize, usize)>,
    seconds: f64,
    output: &Output,
) -> Result<()> {
    let nodes: usize = forest.trees().iter().map(Tree::nodes).sum();
    let trees = method.is_forest().then_some(forest.trees().len());
    let (measures, labels) = (counts.map(|c| c.0), counts.map(|c| c.1));
    let scaled = args.scale == ScaleName::Labels;
    let file = args.output.display().to_string();
    if output.json {
        return output::line(json!({
            "command": "fit",
            "method": method.name(),
            "points": forest.leaves(),
            "trees": forest.trees().len(),
            "nodes": nodes,
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
    let of = trees.map_or_else(String::new, |trees| format!(" of {trees}"));
    let rows = [
        ("points", forest.leaves().to_string()),
        ("measures", count(measures)),
        ("labels", count(labels)),
        ("method", format!("{method}{of}{}", if scaled { " × one factor" } else { "" })),
        ("nodes", nodes.to_string()),
        ("seconds", format!("{seconds:.1}")),
        ("written", file),
    ];
    rows.into_iter().try_for_each(|(key, value)| output::line(format!("{key:<10}{value}")))
}
