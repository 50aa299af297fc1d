//! Arguments of the command line; options of a single command are defined with that command.

use std::path::{PathBuf, absolute};

use anyhow::{Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, Args, Id, Parser};
use treeport::io::CloudOptions;
use treeport::io::format::Format;
use treeport::names::Named;
use treeport::{Missing, Period, PointMetric};
use treeport_report::terminal::{Global, at_least_one};

use crate::commands::Command;
use crate::{input, shards};

/// Learn a tree over a set of points, then compare measures on those points in microseconds.
#[derive(Debug, Parser)]
#[command(name = "treeport", version = env!("TREEPORT_VERSION"), after_help = example())]
pub(crate) struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// The format of inputs whose names do not show it, such as stdin and pipes [default: detected from
    /// their first bytes].
    #[arg(long, global = true, value_name = "FORMAT", hide_possible_values = true)]
    #[arg(help_heading = "Everywhere", value_parser = choice::<Format>())]
    pub(crate) input_format: Option<Format>,
}

/// Returns the text after the program's help; formats are those of the library's table.
fn example() -> String {
    let formats = Format::ALL.iter().filter(|format| format.is_read_here());
    let names: Vec<&str> = formats.map(|format| format.name()).collect();
    EXAMPLE.replace("FORMATS", &names.join(", "))
}

const EXAMPLE: &str = "\
Example, from word vectors and documents to distances between all documents:
  treeport fit --points words.npy --measures docs.npz -o model.tree
  treeport eval model.tree --points words.npy --measures docs.npz
  treeport distance model.tree --measures docs.npz -o distances.csv

The name of an input shows its format: .npy, .npz, .csv, .tsv, .biom, .nwk, and text also with .gz. The format of
stdin (`-`) and pipes is detected from their first bytes, or given by `--input-format` (FORMATS). A text table has
  a header, if its first row is text without numbers, or begins with `id` or another such word;
  IDs in its first column, if the header calls it id, index, name, sample id, feature id or #OTU ID,
  if its header cell is empty above text or 0, 1, 2, ..., or if all of the column is words.
Any other column of numbers is data. If there is doubt, it is an error.

Results go to stdout, everything else to stderr; `-` stands for stdin or stdout.
Exit codes: 0 done, 1 the answer is no, 2 bad input or usage, 130 interrupted.";

/// Parses a choice by the names in the library, for `value_parser`.
pub(crate) fn choice<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |choice: &T| {
        let meant = T::ALIASES.iter().filter(|(_, name)| *name == choice.name());
        let aliases = meant.map(|(alias, _)| *alias);
        PossibleValue::new(choice.name()).help(choice.help()).aliases(aliases)
    };
    PossibleValuesParser::new(T::ALL.iter().map(value)).try_map(|name| name.parse::<T>())
}

/// Source of the distances between points.
#[derive(Args, Clone, Debug)]
pub(crate) struct MetricArgs {
    #[command(flatten)]
    pub(crate) source: MetricSource,
    /// The distance between two points [default: euclidean].
    #[arg(long, value_name = "NAME", help_heading = "Ground metric")]
    #[arg(value_parser = choice::<PointMetric>(), conflicts_with_all = ["matrix", "graph"])]
    pub(crate) metric: Option<PointMetric>,
    /// Period of coordinates that wrap around, such as angles: one number for all coordinates, or a
    /// number or `none` for each, separated by commas (`none,6.283185307179586`).
    #[arg(
        long,
        value_name = "PERIODS",
        help_heading = "Ground metric",
        allow_hyphen_values = true
    )]
    #[arg(conflicts_with_all = ["matrix", "graph"])]
    pub(crate) period: Option<Period>,
    /// Promise that the matrix obeys the triangle inequality. Mass that two measures share can then
    /// stay in place, which makes exact transport faster.
    #[arg(long, conflicts_with_all = ["points", "graph"], help_heading = "Ground metric")]
    pub(crate) assume_metric: bool,
}

/// Exactly one of three files.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct MetricSource {
    /// Coordinates, one point per row (.npy, .csv, .tsv); a first column may name the points.
    #[arg(long, value_name = "FILE", help_heading = "Ground metric")]
    pub(crate) points: Option<PathBuf>,
    /// Distances: a square matrix (.npy, .csv, .tsv), whose first row and column may name the points,
    /// or its upper triangle (.npy).
    #[arg(long, value_name = "FILE", help_heading = "Ground metric")]
    pub(crate) matrix: Option<PathBuf>,
    /// A graph with edge lengths: an edge list with columns source, target, weight (.csv, .tsv), or a
    /// sparse adjacency matrix (.npz).
    #[arg(long, value_name = "FILE", help_heading = "Ground metric")]
    pub(crate) graph: Option<PathBuf>,
}

impl MetricSource {
    /// Returns the given file.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.points.as_ref().or(self.matrix.as_ref()).or(self.graph.as_ref())
    }
}

/// Names of the points.
#[derive(Args, Clone, Debug)]
pub(crate) struct NamesArgs {
    /// Names of the points, one per line in the order of the measures' columns; the leaves of
    /// Newick text are matched to them.
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
}

/// A ground metric with the names of its points.
#[derive(Args, Clone, Debug)]
pub(crate) struct GroundArgs {
    #[command(flatten)]
    pub(crate) metric: MetricArgs,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
}

/// Measures; commands that require them use `mut_arg("measures", …)`.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("normalize", |arg| arg.requires("collection")))]
#[command(mut_arg("transpose", |arg| arg.requires("measures")))]
#[command(mut_arg("missing", |arg| arg.requires("measures")))]
pub(crate) struct MeasureArgs {
    /// Measures, one per row, one point per column (.npz, .npy, .csv, .tsv). Text tables may have names
    /// of points in a header and IDs of measures in the first column; results then use these.
    #[arg(long, value_name = "FILE", help_heading = "Measures", group = "collection")]
    pub(crate) measures: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: ReadArgs,
}

/// Options for reading measures.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ReadArgs {
    /// Divide every measure by its total mass.
    #[arg(long, help_heading = "Measures")]
    pub(crate) normalize: bool,
    /// Text tables have points in rows and measures in columns, as in QIIME and BIOM.
    #[arg(long, help_heading = "Measures")]
    pub(crate) transpose: bool,
    /// What to do about points without a column: count them as 0 and say how many (warn), or refuse
    /// the table (error).
    #[arg(long, value_name = "HOW", help_heading = "Measures", default_value = "warn")]
    #[arg(value_parser = choice::<Missing>(), hide_possible_values = true)]
    pub(crate) missing: Missing,
}

/// Clouds in place of a ground metric and measures.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("groupby", |arg| arg.requires("clouds")))]
#[command(mut_arg("weights", |arg| arg.requires("clouds")))]
#[command(mut_arg("columns", |arg| arg.requires("clouds")))]
pub(crate) struct CloudArgs {
    /// Clouds (measures with their own points), in place of points and measures: a table with
    /// a row for each point (.csv, .tsv: id, mass, coordinates), a ragged archive (.npz), or a folder of
    /// arrays (.npy).
    #[arg(long, value_name = "FILE", help_heading = "Clouds", groups = ["MetricSource", "collection"])]
    #[arg(conflicts_with_all = ["measures", "assume_metric"])]
    pub(crate) clouds: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: CloudReadArgs,
}

/// Clouds in place of measures, for a model of clouds.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("groupby", |arg| arg.requires("clouds")))]
#[command(mut_arg("weights", |arg| arg.requires("clouds")))]
#[command(mut_arg("columns", |arg| arg.requires("clouds")))]
pub(crate) struct ModelCloudArgs {
    /// Clouds in place of measures, for a model that `fit --clouds` has written (.csv, .tsv, .npz, a
    /// folder of .npy).
    #[arg(long, value_name = "FILE", help_heading = "Clouds", group = "collection")]
    #[arg(conflicts_with = "measures")]
    pub(crate) clouds: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: CloudReadArgs,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CloudReadArgs {
    /// The column of a table with the cloud of each point [default: id].
    #[arg(long, value_name = "COLUMN", help_heading = "Clouds")]
    pub(crate) groupby: Option<String>,
    /// The column of masses [default: mass, if there is one], or `first` or `last` for arrays.
    /// Without masses, the points of a cloud have equal masses, 1 in total.
    #[arg(long, value_name = "COLUMN", help_heading = "Clouds")]
    pub(crate) weights: Option<String>,
    /// The columns of a table that are coordinates, separated by commas [default: all others].
    #[arg(long, value_name = "COLUMNS", help_heading = "Clouds", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
}

impl CloudReadArgs {
    pub(crate) fn options(&self) -> CloudOptions {
        let mut options = CloudOptions::default();
        options.groupby.clone_from(&self.groupby);
        options.weights.clone_from(&self.weights);
        options.columns.clone_from(&self.columns);
        options
    }

    /// Returns the first given option.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            ("--groupby", self.groupby.is_some()),
            ("--weights", self.weights.is_some()),
            ("--columns", self.columns.is_some()),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// A model, and measures on its points.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct ModelArgs {
    /// A tree or a forest that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) names: NamesArgs,
    #[command(flatten)]
    pub(crate) measures: MeasureArgs,
}

/// Selection of pairs of measures.
#[derive(Args, Clone, Debug)]
pub(crate) struct PairArgs {
    /// This many random pairs of measures [default: all pairs].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "Measures")]
    #[arg(conflicts_with = "pairs")]
    pub(crate) n_pairs: Option<usize>,
    /// Only these pairs: columns left and right (.csv, .tsv), with numbers from 0 or IDs.
    #[arg(long, value_name = "FILE", alias = "pairs-file", help_heading = "Measures")]
    #[arg(requires = "collection")]
    pub(crate) pairs: Option<PathBuf>,
    /// Seed of all randomness: the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Measures")]
    pub(crate) seed: u64,
}

/// Selection of a part of the job.
#[derive(Args, Clone, Debug)]
pub(crate) struct ShardArgs {
    /// Do only part I of N, from 1/N to N/N, and write it to FILE.csv.shard or FILE.npy.shard;
    /// `merge` puts all N together. The summary at the end is about this part alone.
    #[arg(long, value_name = "I/N", value_parser = shards::parse, requires = "output")]
    pub(crate) shard: Option<(usize, usize)>,
}

/// Measures with exact distances of some pairs, known already or to be solved.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("n_pairs", |arg| arg.help("Solve this many random pairs of measures exactly [default: 300]")))]
#[command(mut_arg("pairs", |arg| arg.help("Solve these pairs: columns left and right (.csv, .tsv), with numbers from 0 or IDs")))]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) measures: MeasureArgs,
    /// Exact distances known already: columns left, right, distance (.csv, .tsv), with
    /// numbers from 0 or IDs.
    #[arg(long, value_name = "FILE", requires = "measures", help_heading = "Measures")]
    #[arg(conflicts_with_all = ["n_pairs", "pairs"])]
    pub(crate) labels: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pairs: PairArgs,
}

/// Data for evaluating models.
#[derive(Args, Clone, Debug)]
pub(crate) struct TestArgs {
    #[command(flatten)]
    pub(crate) ground: GroundArgs,
    #[command(flatten)]
    pub(crate) data: LabelArgs,
}

/// Refuses to read stdin twice, because the first reader would consume it.
pub(crate) fn check_stdin(matches: &ArgMatches) -> Result<()> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    let mut readers = Vec::new();
    for id in matches.ids().map(Id::as_str).filter(|id| !writes(command, id)) {
        let paths = matches.try_get_many::<PathBuf>(id).ok().flatten();
        let standard = paths.into_iter().flatten().filter(|path| input::is_stdin(path));
        readers.extend(standard.map(|_| id.replace('_', "-")));
    }
    if let [one, other, ..] = &readers[..] {
        bail!("`{one}` and `{other}` are both stdin, which can be read once; give a file for one");
    }
    Ok(())
}

/// Checks whether an option names a file to write; `history` does so only for `fit`.
fn writes(command: &str, id: &str) -> bool {
    OUTPUTS.contains(&id) && (id != "history" || command == "fit")
}

/// Options that name a file to write.
const OUTPUTS: [&str; 3] = ["output", "history", "contracted"];

/// Refuses to write a file that the same command reads or writes twice.
pub(crate) fn check_outputs(matches: &ArgMatches) -> Result<()> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    let writes = |id: &str| writes(command, id);
    let mut files: Vec<(&str, PathBuf)> = Vec::new();
    for id in matches.ids().map(Id::as_str) {
        let paths = matches.try_get_many::<PathBuf>(id).ok().flatten();
        let regular = paths.into_iter().flatten().filter(|path| path.is_file() || writes(id));
        files.extend(regular.filter(|path| !input::is_standard(path)).map(|path| {
            (id, path.canonicalize().or_else(|_| absolute(path)).unwrap_or_else(|_| path.clone()))
        }));
    }
    // Only outputs are compared with all files, which may be many.
    for (k, (id, path)) in files.iter().enumerate().filter(|(_, (id, _))| writes(id)) {
        // An index is read completely before it is written, so it may replace itself.
        let safe = |other: &str| command == "index" && other == "index";
        let other = files
            .iter()
            .enumerate()
            .find(|(l, other)| *l != k && other.1 == *path && !safe(other.0));
        if let Some((_, (other, _))) = other {
            let (option, other) = (id.replace('_', "-"), other.replace('_', "-"));
            bail!(
                "`--{option}` and `{other}` are the same file, `{}`; it would be lost",
                path.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use treeport_report::terminal;

    use super::*;

    #[test]
    fn options_and_help_are_sound() {
        terminal::check(Cli::command());
    }
}
