//! `treeport demo`: the main job end to end on a built-in data set.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::Error;
use treeport::baseline::{Doing, Fit};
use treeport_report::Place;
use treeport_report::demo::{Demo, Line};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};
use treeport_report::loss_chart::loss_svg;

use crate::commands;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};

const EXAMPLE: &str = "\
Example:
  treeport demo
  treeport demo -o somewhere --seed 7

Takes a second or two. The cities and their distances are built in; nothing is downloaded.";

/// What `treeport demo` accepts.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// Folder for the files it writes; made if it is not there.
    #[arg(short, long, value_name = "FOLDER", default_value = "treeport-demo")]
    output: PathBuf,
    /// Seed of the regions and of learning.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Runs the demo: labels, learns, compares, writes.
pub(crate) fn run(args: &DemoArgs, output: &Output) -> Result<ExitCode> {
    fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot make the folder `{}`", args.output.display()))?;
    let demo = label(args, output)?;
    let fitted = learn(&demo, args, output)?;
    let table = demo.table(&fitted.tree)?;
    let tree_seconds = demo.time_tree(&fitted.tree)?;
    let mut report = demo.report(&fitted, &table, tree_seconds)?;
    report.version = env!("TREEPORT_VERSION").into();
    let page = commands::report::page(&report, output)?;
    let files = write(&demo, &fitted, &page, &args.output)?;
    if output.json {
        print_json(&demo, &fitted, &table, tree_seconds, args)?;
    } else {
        print(&demo, &fitted, &table, tree_seconds, &files)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Exact distances for all pairs the demo needs.
fn label(args: &DemoArgs, output: &Output) -> Result<Demo> {
    let bar = output.bar("exact transport", Demo::PAIRS);
    let progress = |done: usize| {
        bar.set_position(done as u64);
        !interrupt::asked()
    };
    let demo = Demo::new(args.seed, &progress);
    bar.finish_and_clear();
    match demo {
        Err(Error::Cancelled) => Err(Interrupted.into()),
        other => Ok(other?),
    }
}

fn learn(demo: &Demo, args: &DemoArgs, output: &Output) -> Result<Fit> {
    let bar = output.bar("learning", 1);
    let fitted = demo.learn(args.seed, &|doing| {
        if let Doing::Learning(status) = doing {
            bar.set_length(status.steps as u64);
            bar.set_position(status.step as u64);
        }
        !interrupt::asked()
    });
    bar.finish_and_clear();
    interrupt::check()?;
    Ok(fitted?)
}

/// The page, the model, its Newick text, and two pictures.
fn write(demo: &Demo, fitted: &Fit, page: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let continents = demo.cities.iter().map(|city| city.continent.to_owned()).collect();
    let options = DendrogramOptions {
        title: "200 cities: the tree learned from transport distances".into(),
        unit: "km".into(),
        groups: Some(continents),
        ..DendrogramOptions::default()
    };
    let training: Vec<f64> = fitted.learned.history.iter().map(|e| e.training_loss).collect();
    let validation: Vec<f64> =
        fitted.learned.history.iter().filter_map(|e| e.validation_loss).collect();
    let files = [
        ("report.html", page.as_bytes().to_vec()),
        ("model.tree", fitted.tree.to_bytes()?),
        ("tree.nwk", format!("{}\n", fitted.tree.to_newick()).into_bytes()),
        ("tree.svg", dendrogram_svg(&fitted.tree, &options).into_bytes()),
        (
            "loss.svg",
            loss_svg("Loss while learning", &training, &validation, Place::File).into_bytes(),
        ),
    ];
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        output::save(&path, |out| Ok(out.write_all(&bytes)?))?;
        written.push(path);
    }
    Ok(written)
}

fn print(
    demo: &Demo,
    fitted: &Fit,
    table: &[Line],
    tree_seconds: f64,
    files: &[PathBuf],
) -> Result<()> {
    let seen = demo.training.labels.pairs.len();
    let unseen = demo.test.labels.pairs.len();
    output::line(format!(
        "{} cities, great-circle distances. A measure is a region: the people in the cities around a\n\
         random centre. A tree was learned from {seen} exact transport distances between regions\n\
         (stage kept: {}, after {} epochs), and is judged on {unseen} pairs of regions it has never seen.\n",
        demo.cities.len(),
        fitted.stage,
        fitted.learned.history.len() - 1,
    ))?;
    let mut rows = vec![["", "mean relative error", "median"].map(str::to_owned).to_vec()];
    for Line { name, score } in table {
        let median = format!("{:.3}", score.median);
        rows.push(vec![(*name).to_owned(), score.to_string(), median]);
    }
    output::line(output::table(&rows))?;
    output::line(format!(
        "one pair: tree {}, exact solver {} ({} times the tree's time)\n",
        output::seconds(tree_seconds),
        output::seconds(demo.exact_seconds),
        output::three_digits(demo.exact_seconds / tree_seconds),
    ))?;
    for (path, what) in files.iter().zip([
        "everything on one page; open it in a browser",
        "the model: treeport distance, eval and export read it",
        "the same tree for any tool that reads Newick",
        "a picture of it, leaves coloured by continent",
        "the loss while learning",
    ]) {
        output::line(format!("{}  {what}", path.display()))?;
    }
    Ok(())
}

fn print_json(
    demo: &Demo,
    fitted: &Fit,
    table: &[Line],
    tree_seconds: f64,
    args: &DemoArgs,
) -> Result<()> {
    for Line { name, score } in table {
        output::line(json!({
            "demo": name,
            "error": score.mean,
            "std": score.std,
            "median": score.median,
            "pairs": score.pairs,
            "left_out": score.left_out,
            "seed": args.seed,
        }))?;
    }
    output::line(json!({
        "demo": "times",
        "seconds": tree_seconds,
        "exact_seconds": demo.exact_seconds,
        "ratio": demo.exact_seconds / tree_seconds,
        "stage": fitted.stage.to_string(),
        "best_epoch": fitted.learned.best_epoch,
        "folder": args.output,
    }))
}
