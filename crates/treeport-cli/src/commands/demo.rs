//! `treeport demo`: the main job end to end on a built-in data set.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::Fit;
use treeport::internal::names::Named;
use treeport_report::demo::{Demo, Line};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};

use super::plot::loss;
use super::report;
use crate::interrupt;
use crate::output::{self, Output};
use crate::progress::watched;

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
    let demo = watched(output, |progress| Demo::new(args.seed, progress))?;
    let fitted = watched(output, |progress| demo.learn(args.seed, progress))?;
    interrupt::check()?;
    let table = demo.table(&fitted.model)?;
    let tree_seconds = demo.time(&fitted.model)?;
    let mut shown = demo.report(&fitted, &table, tree_seconds)?;
    shown.version = env!("TREEPORT_VERSION").into();
    let page = report::page(&shown, output)?;
    let files = files(&demo, &fitted, page)?;
    for (name, _, bytes) in &files {
        output::save(&args.output.join(name), |out| Ok(out.write_all(bytes)?))?;
    }
    if output.json {
        print_json(&demo, &fitted, &table, tree_seconds, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&demo, &fitted, &table, tree_seconds)?;
    for (name, what, _) in files {
        output::line(format!("{}  {what}", args.output.join(name).display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What it writes: name, what it is, contents.
fn files(
    demo: &Demo,
    fitted: &Fit,
    page: String,
) -> Result<[(&'static str, &'static str, Vec<u8>); 5]> {
    let continents = demo.cities.iter().map(|city| city.continent.to_owned()).collect();
    let options = DendrogramOptions {
        title: "200 cities: the tree learned from transport distances".into(),
        unit: "km".into(),
        groups: Some(continents),
        ..DendrogramOptions::default()
    };
    let (model, newick) = (&fitted.model, format!("{}\n", fitted.model.to_newick()));
    let (tree, loss) =
        (dendrogram_svg(model, &options), loss("Loss while learning", &fitted.history));
    Ok([
        ("report.html", "everything on one page; open it in a browser", page.into_bytes()),
        ("model.tree", "the model: treeport distance, eval and export read it", model.to_bytes()?),
        ("tree.nwk", "the same tree for any tool that reads Newick", newick.into_bytes()),
        ("tree.svg", "a picture of it, leaves colored by continent", tree.into_bytes()),
        ("loss.svg", "the loss while learning", loss.into_bytes()),
    ])
}

/// The stage of the tree that was kept.
fn stage(fitted: &Fit) -> &'static str {
    fitted.stage.map_or("none", Named::name)
}

fn print(demo: &Demo, fitted: &Fit, table: &[Line], tree_seconds: f64) -> Result<()> {
    let (seen, unseen) = (demo.training.len(), demo.test.len());
    output::line(format!(
        "{} cities, great-circle distances. A measure is a region: the people in the cities around a\n\
         random center. A tree was learned from {seen} exact transport distances between regions\n\
         (stage kept: {}, after {} epochs), and is judged on {unseen} pairs of regions it has never seen.\n",
        demo.cities.len(),
        stage(fitted),
        fitted.history.len() - 1,
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
    ))
}

fn print_json(
    demo: &Demo,
    fitted: &Fit,
    table: &[Line],
    tree_seconds: f64,
    args: &DemoArgs,
) -> Result<()> {
    for Line { name, score } in table {
        output::json(json!({
            "demo": name,
            "error": score.mean,
            "std": score.std,
            "median": score.median,
            "pairs": score.pairs,
            "left_out": score.left_out,
            "seed": args.seed,
        }))?;
    }
    output::json(json!({
        "demo": "times",
        "seconds": tree_seconds,
        "exact_seconds": demo.exact_seconds,
        "ratio": demo.exact_seconds / tree_seconds,
        "stage": stage(fitted),
        "best_epoch": fitted.best_epoch,
        "folder": args.output,
    }))
}
