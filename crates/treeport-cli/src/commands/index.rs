//! `treeport index`: writes a collection of measures to a file for exact search.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use treeport::memory;
use treeport::search::{IndexFile, MeasureSet};
use treeport::{Clouds, Geometry, GroundMetric, Index, IndexOptions, Measures, PointMetric};

use crate::args::{CloudArgs, GroundArgs, MeasureArgs};
use crate::input::{self, PointSet};
use crate::output::{self, Output};
use crate::progress::watched;
use crate::texts::TextArgs;

const EXAMPLE: &str = "\
Examples:
  treeport index --points words.npy --measures docs.npz --measure-names titles.txt -o docs.index
  treeport index --graph roads.csv --measures M.npz --normalize -o M.index
  treeport nearest docs.index --queries new.npz -k 5
  treeport index docs.index --add more.npz --measure-names more.txt --remove 3,7 -o docs.index
  treeport index --texts news/ --vectors glove.6B.100d.txt -o news.index
  treeport index --clouds jets.csv --normalize -o jets.index
  treeport index jets.index --clouds more.csv --normalize -o jets.index

The file holds the ground metric and the measures: `nearest` needs nothing else. Added measures
get the numbers after the last. Removed measures are gone from the file, and their numbers are not
used again. Answers stay exact whatever you add; but if most measures are new, a new index answers
faster.

After Ctrl-C no new file is written, and an existing file is unchanged. `--quiet` only writes the file.";

/// Options of `treeport index`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_group("MetricSource", |group| group.required(false)))]
#[command(mut_arg("measures", |arg| {
    arg.required_unless_present_any(["index", "clouds", "texts"]).visible_alias("add")
}))]
pub(crate) struct IndexArgs {
    /// An existing index, in place of a ground metric: add measures to it, or remove some.
    #[arg(value_name = "INDEX", required_unless_present_any = ["MetricSource", "texts"])]
    #[arg(conflicts_with_all = ["points", "matrix", "graph", "metric", "period", "assume_metric"])]
    #[arg(conflicts_with_all = ["names", "keep", "penalty"])]
    index: Option<PathBuf>,
    #[command(flatten)]
    ground: GroundArgs,
    #[command(flatten)]
    measures: MeasureArgs,
    #[command(flatten)]
    texts: TextArgs,
    /// Vectors of the words of texts: GloVe, word2vec (text or binary) or fastText (.vec), gzip or not.
    #[arg(long, value_name = "FILE", help_heading = "Texts", group = "MetricSource")]
    #[arg(requires = "texts", conflicts_with_all = ["names", "assume_metric"])]
    vectors: Option<PathBuf>,
    #[command(flatten)]
    clouds: CloudArgs,
    /// Totals of clouds may differ: each unit of mass that is not moved costs this much.
    #[arg(long, value_name = "PRICE", requires = "clouds", conflicts_with = "normalize")]
    #[arg(allow_negative_numbers = true, help_heading = "Clouds")]
    penalty: Option<f64>,
    /// Names of the measures, one per line; results then use these names.
    #[arg(long, value_name = "FILE", requires = "collection", help_heading = "Measures")]
    measure_names: Option<PathBuf>,
    /// Measures to remove from INDEX, by name or number, such as S003,7: nothing of them stays in the
    /// file.
    #[arg(long, value_name = "MEASURES", value_delimiter = ',', requires = "index")]
    #[arg(help_heading = "Measures")]
    remove: Vec<String>,
    /// Memory for tables that speed up searches, such as 2GB [default: 4 GiB]; results do not depend
    /// on it.
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    keep: Option<u64>,
    /// The file to write; it may be INDEX itself.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs `treeport index`.
pub(crate) fn run(args: &IndexArgs, output: &Output) -> Result<ExitCode> {
    let begun = Instant::now();
    if input::is_standard(&args.output) {
        bail!("`index` prints a summary on stdout; give the index a file of its own");
    }
    output::check_place(&args.output)?;
    let file = match &args.index {
        None => build(args, output)?,
        Some(path) => change(args, path, output)?,
    };
    file.save(&args.output)?;
    print_summary(args, &file.index, begun.elapsed().as_secs_f64(), output)?;
    Ok(ExitCode::SUCCESS)
}

fn build(args: &IndexArgs, output: &Output) -> Result<IndexFile> {
    if let Some(path) = &args.clouds.clouds {
        return build_of_clouds(args, path, output);
    }
    let (metric, point_names, measures) = read(args, output)?;
    let measures = named(args, measures)?;
    let options = IndexOptions { memory: args.keep, ..IndexOptions::default() };
    let index = watched(output, |progress| Index::new(&metric, &measures, &options, progress))?;
    Ok(IndexFile { index, point_names })
}

/// Reads a ground metric, the names of its points, and the measures.
fn read(
    args: &IndexArgs,
    output: &Output,
) -> Result<(GroundMetric, Option<Vec<String>>, Measures)> {
    if let Some(texts) = &args.texts.texts {
        let missing = "the words of `--texts` need `--vectors`, or an INDEX to add the texts to";
        let vectors = args.vectors.as_deref().context(missing)?;
        let (metric, words, measures) =
            args.texts.with_vectors(texts, vectors, geometry(args), output)?;
        return Ok((metric, Some(words), measures));
    }
    if args.vectors.is_some() {
        bail!(
            "`--vectors` are for the words of `--texts`; `--points` has vectors for `--measures`"
        );
    }
    let (metric, point_names) = input::named_metric(&args.ground)?;
    let measures =
        args.measures.read(PointSet::of(metric.points(), point_names.as_ref()), output)?;
    let path = args.measures.path()?;
    Measures::check_all_balanced(&[&measures]).with_context(|| input::name(path))?;
    Ok((metric, point_names, measures))
}

/// Returns the distance between points that have coordinates.
fn geometry(args: &IndexArgs) -> Geometry {
    let kind = args.ground.metric.metric.unwrap_or(PointMetric::Euclidean);
    kind.with_optional_period(args.ground.metric.period.clone())
}

fn build_of_clouds(args: &IndexArgs, path: &Path, output: &Output) -> Result<IndexFile> {
    let clouds = read_clouds(args, path, args.penalty.is_some())?;
    let said = |error: anyhow::Error| input::of_clouds(error, &clouds, path);
    let ground = clouds.ground(geometry(args)).map_err(|error| said(error.into()))?;
    let options =
        IndexOptions { memory: args.keep, penalty: args.penalty, ..IndexOptions::default() };
    let build =
        |progress: &treeport::Progress<'_>| Index::of_clouds(&clouds, &ground, &options, progress);
    let index = watched(output, build).map_err(said)?;
    Ok(IndexFile { index, point_names: None })
}

/// Reads clouds, named by a file or by their IDs; `empty` admits clouds without mass.
fn read_clouds(args: &IndexArgs, path: &Path, empty: bool) -> Result<Clouds> {
    let how = &args.clouds.how;
    let clouds = if empty {
        input::clouds_or_empty(path, how)?
    } else {
        input::clouds(path, how, args.measures.how.normalize)?
    };
    match input::measure_names(args.measure_names.as_deref(), clouds.measures())? {
        Some(names) => Ok(clouds.with_names(names)?),
        None => Ok(clouds),
    }
}

/// Names measures by a file or by their table.
fn named(args: &IndexArgs, measures: Measures) -> Result<Measures> {
    match input::measure_names(args.measure_names.as_deref(), &measures)? {
        Some(names) => Ok(measures.with_names(names)?),
        None => Ok(measures),
    }
}

/// Removes measures from an index and adds others.
fn change(args: &IndexArgs, path: &Path, output: &Output) -> Result<IndexFile> {
    let given = [&args.measures.measures, &args.texts.texts, &args.clouds.clouds];
    let from = given.into_iter().flatten().next();
    if from.is_none() && args.remove.is_empty() {
        bail!("there is nothing to do; give `--add` or `--remove`, or search with `nearest`");
    }
    let mut file = input::index(path)?;
    if args.clouds.clouds.is_some() && !file.index.is_of_clouds() {
        bail!("{}: it holds measures on shared points; add some with `--add`", input::name(path));
    }
    if args.texts.texts.is_some() && file.index.is_of_clouds() {
        bail!("{}: it holds clouds; add some with `--clouds`", input::name(path));
    }
    let removed = file.index.numbers_of(&args.remove).and_then(|n| file.index.remove(&n));
    removed.with_context(|| input::name(path))?;
    let Some(from) = from else { return Ok(file) };
    let both = || format!("{} against {}", input::name(from), input::name(path));
    let (index, of_clouds) = (&file.index, file.index.is_of_clouds());
    let (clouds, measures);
    let more: MeasureSet<'_> = if of_clouds {
        clouds = read_clouds(args, from, index.is_relaxed())?;
        (&clouds).into()
    } else {
        let more = if args.texts.texts.is_some() {
            args.texts.on_words(from, &file, path, output)?
        } else {
            let space = PointSet::of(index.metric().points(), file.point_names.as_ref());
            args.measures.read(space, output)?
        };
        Measures::check_all_balanced(&[&more, index.measures()]).with_context(both)?;
        measures = named(args, more)?;
        (&measures).into()
    };
    // IDs of a table are dropped unless names were requested.
    if index.measures().names().is_none() && args.measure_names.is_some() {
        let (name, what) = (input::name(path), if of_clouds { "clouds" } else { "measures" });
        bail!("{name}: its {what} have no names; leave `--measure-names` out");
    }
    watched(output, |progress| file.index.add(more, progress)).with_context(both)?;
    Ok(file)
}

/// Prints a summary of the index as JSON or text.
fn print_summary(args: &IndexArgs, index: &Index, seconds: f64, output: &Output) -> Result<()> {
    let (measures, points, used) = (index.len(), index.metric().points(), points_in_use(index));
    let (bytes, file) = (index.bytes(), args.output.display().to_string());
    if output.json {
        return output::json(json!({
            "command": "index", "file": file, "measures": measures, "points": points,
            "points_in_use": used, "bytes": bytes, "seconds": seconds,
        }));
    }
    if output.quiet {
        return Ok(());
    }
    let rows = [
        ("measures", measures.to_string()),
        ("points", format!("{used} in use of {points}")),
        ("memory", format!("{} beside points and measures", memory::show(bytes))),
        ("seconds", format!("{seconds:.1}")),
        ("written", file),
    ];
    rows.into_iter().try_for_each(|(key, value)| output::line(format!("{key:<10}{value}")))
}

fn points_in_use(index: &Index) -> usize {
    let mut used = vec![false; index.metric().points()];
    for measure in index.measures().iter() {
        measure.iter().for_each(|(point, _)| used[point] = true);
    }
    used.into_iter().filter(|used| *used).count()
}
