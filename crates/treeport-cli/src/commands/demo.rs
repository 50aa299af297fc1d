//! `treeport demo`: fits models on a built-in data set, and shows error against time.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::names::Named;
use treeport::{Fit, Measure, Method};
use treeport_report::cities::City;
use treeport_report::comparison::{Advice, Comparison};
use treeport_report::demo::{Demo, Line, Models, faster};
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

/// Arguments of `treeport demo`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// Folder for the output files; created if missing.
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
    let models = watched(output, |progress| demo.learn(args.seed, progress))?;
    interrupt::check()?;
    let table = demo.table(&models)?;
    let compared = watched(output, |progress| demo.compare(&models, progress))?;
    let advice = compared.advice(rayon::current_num_threads());
    let said = advice.as_ref().map(Advice::to_string).unwrap_or_default();
    let mut shown = demo.report(&models, &table, &compared, &said)?;
    shown.version = env!("TREEPORT_VERSION").into();
    let page = report::page(&shown, output)?;
    let files = files(&demo, &models, &compared, page)?;
    for (name, _, bytes) in &files {
        output::save(&args.output.join(name), |out| Ok(out.write_all(bytes)?))?;
    }
    if output.json {
        print_json(&models, &table, &compared, args)?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&demo, &models, &table, &compared)?;
    output::line(said + "\n")?;
    for (name, what, _) in files {
        output::line(format!("{}  {what}", args.output.join(name).display()))?;
    }
    output::line(next_commands(args))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the output files: name, description, content.
fn files(
    demo: &Demo,
    models: &Models,
    compared: &Comparison,
    page: String,
) -> Result<[(&'static str, &'static str, Vec<u8>); 9]> {
    let continents = demo.cities.iter().map(|city| city.continent.to_owned()).collect();
    let options = DendrogramOptions {
        title: "200 cities: the tree learned from transport distances".into(),
        unit: "km".into(),
        groups: Some(continents),
        ..DendrogramOptions::default()
    };
    let (model, best) = (&models.tree.model, &models.best.model);
    let newick = format!("{}\n", model.to_newick());
    let (tree, loss) =
        (dendrogram_svg(model, &options), loss("Loss while learning", &models.tree.history));
    let front = compared.svg("200 cities: error against time");
    Ok([
        ("report.html", "everything on one page; open it in a browser", page.into_bytes()),
        (
            "best.tree",
            "the best model: treeport distance, eval and export read it",
            best.to_bytes()?,
        ),
        ("model.tree", "the learned tree", model.to_bytes()?),
        ("tree.nwk", "the same tree for any tool that reads Newick", newick.into_bytes()),
        ("tree.svg", "a picture of it, leaves colored by continent", tree.into_bytes()),
        ("loss.svg", "the loss while learning", loss.into_bytes()),
        ("front.svg", "error against time", front.into_bytes()),
        ("cities.csv", "where the cities are", cities_table(&demo.cities).into_bytes()),
        ("regions.csv", "the regions that it is judged on", regions_table(demo).into_bytes()),
    ])
}

/// Writes the points as `--points` reads them.
fn cities_table(cities: &[City]) -> String {
    let row = |city: &City| format!("{},{},{}\n", city.name, city.latitude, city.longitude);
    "id,latitude,longitude\n".to_owned() + &cities.iter().map(row).collect::<String>()
}

/// Writes the measures as `--measures` reads them; regions are named by their largest city.
fn regions_table(demo: &Demo) -> String {
    let header = demo.cities.iter().map(|city| city.name).collect::<Vec<_>>().join(",");
    let row = |(number, region): (usize, Measure<'_>)| {
        let mut masses = vec!["0".to_owned(); demo.cities.len()];
        let mut largest = (0, 0.0);
        for (city, mass) in region.iter() {
            masses[city] = mass.to_string();
            largest = if mass > largest.1 { (city, mass) } else { largest };
        }
        format!("{} {number},{}\n", demo.cities[largest.0].name, masses.join(","))
    };
    let rows: String = demo.test.measures().iter().enumerate().map(row).collect();
    format!("id,{header}\n{rows}")
}

/// Formats three commands on the written files, ready to run in this folder.
fn next_commands(args: &DemoArgs) -> String {
    let program = std::env::args_os().next().unwrap_or_else(|| "treeport".into());
    let program = quoted(&program.to_string_lossy());
    let file = |name| quoted(&args.output.join(name).to_string_lossy());
    let (model, regions, cities) = (file("model.tree"), file("regions.csv"), file("cities.csv"));
    let best = file("best.tree");
    let own = file("own.tree");
    format!(
        "\nTry next: the nearest regions by the best model, the plan of the tree between two regions,\n\
         and a model fitted to files, as you would to your own:\n  \
         {program} nearest {best} --measures {regions} -k 3\n  \
         {program} coupling {model} --measures {regions} --pair 0 1\n  \
         {program} fit --points {cities} --metric haversine --measures {regions} -o {own}"
    )
}

/// Quotes a word for the shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/\\._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(|c| plain(c) && (c != '\\' || cfg!(windows))) {
        return word.to_owned();
    }
    if cfg!(windows) { format!("\"{word}\"") } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Returns the name of the selected stage of the tree.
fn stage(fitted: &Fit) -> &'static str {
    fitted.stage.map_or("none", Named::name)
}

fn print(demo: &Demo, models: &Models, table: &[Line], compared: &Comparison) -> Result<()> {
    let (seen, unseen) = (demo.training.len(), demo.test.len());
    output::line(format!(
        "{} cities, great-circle distances. A measure is a region: the people in the cities around a\n\
         random center. A tree (stage kept: {}, after {} epochs) and the best model (stage kept: {})\n\
         were fitted to {seen} exact transport distances between regions, and are judged on {unseen} pairs of\n\
         regions they have never seen.\n",
        demo.cities.len(),
        stage(&models.tree),
        models.tree.history.len() - 1,
        stage(&models.best),
    ))?;
    let mut rows = vec![["", "mean relative error", "median"].map(str::to_owned).to_vec()];
    for Line { name, score } in table {
        let median = format!("{:.3}", score.median);
        rows.push(vec![(*name).to_owned(), score.to_string(), median]);
    }
    output::line(output::table(&rows))?;
    output::line(compared.picture())
}

fn print_json(
    models: &Models,
    table: &[Line],
    compared: &Comparison,
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
    let times = compared.rows.iter().map(|row| (row.name.clone(), json!(row.pair_seconds)));
    output::json(json!({
        "demo": "times",
        "seconds": times.collect::<serde_json::Map<_, _>>(),
        "ratio": faster(compared, Method::Auto),
        "tree_ratio": faster(compared, Method::Tree),
        "stage": stage(&models.tree),
        "best_stage": stage(&models.best),
        "best_epoch": models.tree.best_epoch,
        "folder": args.output,
    }))
}
