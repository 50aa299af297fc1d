//! `treeport nearest`: nearest neighbors of measures, by an index or a model.

mod index;
mod model;
mod several;

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use treeport::accuracy::{Accuracy, Question};
use treeport::search::{IndexFile, MeasureSet, SavedFile};
use treeport::{Clouds, Index, Measures};
use treeport_jobs::JobFingerprint;
use treeport_jobs::fingerprint::{Mix, of_measures};
use treeport_report::terminal::at_least_one;

use super::fit::parse_time;
use crate::args::{CloudReadArgs, NamesArgs, ReadArgs, ShardArgs};
use crate::input::PointSet;
use crate::output::Output;
use crate::rows::{self, Cell};
use crate::texts::TextArgs;
use crate::{input, parts};

const EXAMPLE: &str = "\
Examples:
  treeport nearest docs.index --queries new.npz -k 5
  treeport nearest docs.index --queries new.npz --accuracy 0.02 -o neighbors.csv
  treeport nearest docs.index --queries new.npz --radius 0.3
  treeport nearest a.index b.index c.index --queries new.npz -k 5
  treeport nearest news.index --texts new.txt -k 5
  treeport nearest jets.index --queries new_jets.csv --normalize -k 5
  treeport nearest model.tree --measures docs.npz -k 5
  treeport nearest model.tree --measures docs.npz --measure-names titles.txt --queries new.npz

Without `--queries`, the result has the neighbors of every measure among the others. If an index holds
clouds, queries are a file of clouds, too.

Which to choose:
  INDEX                   the nearest by exact distance, certified; only a few pairs are solved
  --accuracy 0.02         the same up to 2 % of a distance; faster if many are about equally near
  --accuracy approximate  most of the true neighbors, sooner: candidates are chosen by estimates, and only
                          the best are solved. With `-o` it reports the expected share of true neighbors,
                          measured by 64 exact searches
  --time 0.02s            the best found in this time for each query
  --radius R              all within a distance, such as duplicates
  MODEL                   the quick way: the nearest by the distances of a tree or a forest, all of
                          which are computed

An index adds a column `bound`: no measure that was left out is nearer to the query than that. It is
`inf` (in JSON `null`) if none was left out. Ties go to the smaller number.

Several indexes, the parts of a collection, answer as one. They are read one after the other, so
memory has to hold only the largest, and no part is searched farther than the neighbors found so far.
All need the same points. Names must differ from part to part. Measures without names are numbered
from part to part, as in one index. `--queries` is then required.

To run in parts, on several machines or one after the other, and merge them to the same file:
  treeport nearest docs.index --queries new.npz --shard 1/8 -o neighbors-1.csv.shard
  treeport merge neighbors-*.csv.shard -o neighbors.csv
Only the first shard reports the expected share of true neighbors of `--accuracy approximate`.";

/// Options of `treeport nearest`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct NearestArgs {
    /// An index that `index` has written; or a tree or a forest of `fit`, or Newick text (.nwk).
    #[arg(value_name = "INDEX|MODEL")]
    model: PathBuf,
    /// More indexes: the other parts of the collection.
    #[arg(value_name = "INDEX")]
    more: Vec<PathBuf>,
    #[command(flatten)]
    names: NamesArgs,
    /// With a model, the measures to search: one per row, one point per column (.npz, .npy, .csv,
    /// .tsv).
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    measures: Option<PathBuf>,
    /// Names of the measures, one per line.
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    measure_names: Option<PathBuf>,
    /// Measures whose neighbors to find [default: the measures themselves].
    #[arg(long, value_name = "FILE", help_heading = "Measures", group = "collection")]
    queries: Option<PathBuf>,
    /// Names of the queries, one per line.
    #[arg(long, value_name = "FILE", requires = "collection", help_heading = "Measures")]
    query_names: Option<PathBuf>,
    /// Options for reading measures and queries.
    #[command(flatten)]
    how: ReadArgs,
    /// Texts in place of queries, for an index of texts.
    #[command(flatten)]
    texts: TextArgs,
    /// Options for reading queries of an index of clouds.
    #[command(flatten)]
    cloud: CloudReadArgs,
    /// Number of neighbors of each query.
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    k: usize,
    /// exact, approximate (choose candidates by estimates, and solve only the best), or by which
    /// share a distance may exceed the true one of its rank, such as 0.02 [default: exact].
    #[arg(long, value_name = "HOW", alias = "within", help_heading = "With an index")]
    #[arg(value_parser = |text: &str| Question::Search.read(text), allow_negative_numbers = true)]
    #[arg(conflicts_with = "radius")]
    accuracy: Option<Accuracy>,
    /// Time for each query, such as 0.02s: the best found by then, with exact distances.
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "With an index")]
    #[arg(conflicts_with_all = ["radius", "shard"], requires = "collection")]
    time: Option<Duration>,
    /// Former name of `--accuracy approximate`.
    #[arg(long, hide = true, conflicts_with_all = ["accuracy", "radius"])]
    approximate: bool,
    /// All measures within this distance, in place of the N nearest.
    #[arg(long, value_name = "R", allow_negative_numbers = true, help_heading = "With an index")]
    #[arg(conflicts_with = "k")]
    radius: Option<f64>,
    /// Write to a file: rows query, rank, neighbor, distance (.csv), and with an index also bound.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    shard: ShardArgs,
}

/// Queries of an index: on its points, or clouds with their own points.
enum QuerySet {
    OnPoints(Measures),
    Clouds(Clouds),
}

impl QuerySet {
    /// Reads queries of the kind that the index holds.
    fn read(args: &NearestArgs, path: &Path, from: &IndexFile, output: &Output) -> Result<Self> {
        let index = &from.index;
        if args.texts.texts.is_some() {
            let texts = args.texts.on_words(path, from, &args.model, output)?;
            return Ok(Self::OnPoints(texts));
        }
        if index.is_relaxed() {
            if args.how.normalize {
                bail!(
                    "{}: totals of its clouds may differ; leave `--normalize` out",
                    input::name(&args.model)
                );
            }
            return Ok(Self::Clouds(input::clouds_or_empty(path, &args.cloud)?));
        }
        if index.is_of_clouds() {
            return Ok(Self::Clouds(input::clouds(path, &args.cloud, args.how.normalize)?));
        }
        if let Some(option) = args.cloud.given() {
            let name = input::name(&args.model);
            bail!("{name}: it holds measures on shared points, and `{option}` is for clouds");
        }
        let space = PointSet::of(index.metric().points(), from.point_names.as_ref());
        Ok(Self::OnPoints(input::measures(space, path, args.how, output)?))
    }

    fn measures(&self) -> &Measures {
        match self {
            Self::OnPoints(measures) => measures,
            Self::Clouds(clouds) => clouds.measures(),
        }
    }

    /// Selects the given rows.
    fn rows(&self, rows: Range<usize>) -> treeport::Result<Self> {
        Ok(match self {
            Self::OnPoints(all) if rows.len() == all.len() => Self::OnPoints(all.clone()),
            Self::OnPoints(all) => {
                let rows = rows.map(|row| all.row(row).iter());
                Self::OnPoints(Measures::from_rows(all.points(), rows)?)
            }
            Self::Clouds(all) => Self::Clouds(all.select(&rows.collect::<Vec<_>>())?),
        })
    }

    /// Converts to the argument of a search.
    fn set(&self) -> MeasureSet<'_> {
        match self {
            Self::OnPoints(measures) => measures.into(),
            Self::Clouds(clouds) => clouds.into(),
        }
    }

    /// Computes the fingerprint of the queries.
    fn fingerprint(&self) -> u64 {
        match self {
            Self::OnPoints(measures) => of_measures(measures),
            Self::Clouds(clouds) => {
                let mut mix = Mix::new();
                mix.word(of_measures(clouds.measures()));
                mix.word(clouds.dim() as u64);
                mix.numbers(clouds.coordinates().iter().copied());
                mix.number()
            }
        }
    }

    /// Refuses totals that differ from those of an index.
    fn check_totals(&self, index: &Index, args: &NearestArgs, part: &Path) -> Result<()> {
        // The search reports clouds by their IDs.
        let Self::OnPoints(measures) = self else { return Ok(()) };
        let against = || {
            let queries = args.query_path().map(input::name).unwrap_or_default();
            format!("{queries} against {}", input::name(part))
        };
        Measures::check_all_balanced(&[measures, index.measures()]).with_context(against)
    }
}

/// Columns of the result; only an index has the last one.
const COLUMNS: [&str; 5] = ["query", "rank", "neighbor", "distance", "bound"];

/// Names of queries and measures.
struct Names {
    queries: MeasureNames,
    measures: MeasureNames,
}

#[derive(Clone, Default)]
struct MeasureNames {
    names: Option<Vec<String>>,
    /// Ascending numbers of the measures, if some were removed from an index.
    numbers: Option<Vec<usize>>,
}

impl MeasureNames {
    /// Returns the name of the measure with this number, which must exist.
    fn cell(&self, number: usize) -> Cell<'_> {
        let place = |numbers: &Vec<usize>| numbers.binary_search(&number).unwrap_or(number);
        match &self.names {
            Some(names) => rows::name(Some(names), self.numbers.as_ref().map_or(number, place)),
            None => rows::name(None, number),
        }
    }
}

impl Names {
    /// Collects the names of measures, and those of queries if they are other measures.
    fn new(args: &NearestArgs, queries: Option<&Measures>, measures: MeasureNames) -> Result<Self> {
        let queries = match queries {
            Some(queries) => {
                let names = input::measure_names(args.query_names.as_deref(), queries)?;
                MeasureNames { names, numbers: None }
            }
            None => measures.clone(),
        };
        Ok(Self { queries, measures })
    }
}

/// Runs `treeport nearest`.
pub(crate) fn run(args: &NearestArgs, output: &Output) -> Result<ExitCode> {
    let file = args.shard.target(args.output.as_deref(), "neighbors go", &["csv"])?;
    match input::index_or_model(&args.model, &args.names)? {
        SavedFile::Index(index) => {
            args.check_for_index()?;
            if !args.more.is_empty() && args.time.is_some() {
                bail!("`--time` is for one index; leave it out, or search the parts one by one");
            }
            if args.more.is_empty() {
                index::run(args, &index, file, output)?;
            } else {
                several::run(args, *index, file, output)?;
            }
        }
        SavedFile::Model(kept) => model::run(args, &kept.model, file, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl NearestArgs {
    /// Returns the file of queries.
    fn query_path(&self) -> Option<&Path> {
        self.queries.as_deref().or(self.texts.texts.as_deref())
    }

    /// Returns the accuracy of a search in an index.
    fn accuracy(&self) -> Accuracy {
        let old = if self.approximate { Accuracy::Approximate } else { Accuracy::EXACT };
        self.accuracy.unwrap_or(old)
    }

    /// Computes the fingerprint of the job without the index or model.
    fn job(&self, queries: u64, names: &Names) -> JobFingerprint {
        let mut how = Mix::new();
        how.word(if self.radius.is_some() { 0 } else { self.k as u64 });
        let accuracy = self.accuracy();
        how.word((accuracy == Accuracy::Approximate).into());
        let within = if let Accuracy::Within(error) = accuracy { error } else { -1.0 };
        how.numbers([within, self.radius.unwrap_or(-1.0)]);
        JobFingerprint::new("treeport-nearest-1")
            .part("how-many", how.number())
            .part("queries", queries)
            .part("query-names", parts::of_names(names.queries.names.as_deref()))
            .part("measure-names", parts::of_names(names.measures.names.as_deref()))
    }

    /// Refuses options for content that an index already has.
    fn check_for_index(&self) -> Result<()> {
        let name = input::name(&self.model);
        if self.measures.is_some() {
            bail!(
                "{name}: an index searches its own measures; leave `--measures` out, give queries with \
                 `--queries`, or add measures with `treeport index {name} --add`"
            );
        }
        if self.names.names.is_some() || self.measure_names.is_some() {
            bail!("{name}: an index keeps its names, which are given to `treeport index`");
        }
        if self.how.normalize && self.queries.is_none() {
            bail!("{name}: an index keeps its measures as they are; leave `--normalize` out");
        }
        Ok(())
    }

    /// Refuses options that only an index supports.
    fn check_for_model(&self) -> Result<()> {
        let name = input::name(&self.model);
        if let Some(option) = self.cloud.given() {
            bail!("{name}: it is not an index of clouds, which `{option}` requires");
        }
        if let Some(other) = self.more.first() {
            let other = input::name(other);
            bail!(
                "{name}: it is not an index, and only indexes can be searched together; leave {other} out"
            );
        }
        for (option, given) in [
            ("--accuracy", self.accuracy.is_some() || self.approximate),
            ("--radius", self.radius.is_some()),
            ("--time", self.time.is_some()),
            ("--texts", self.texts.texts.is_some()),
        ] {
            if given {
                bail!(
                    "{name}: it is not an index, which `{option}` requires; `treeport index` makes one"
                );
            }
        }
        Ok(())
    }
}

/// Writes the rows of one query; `bound` is the lower bound of an index for all other distances.
fn write(
    out: &mut dyn Write,
    json: bool,
    names: &Names,
    query: usize,
    found: &[(usize, f64)],
    bound: Option<f64>,
) -> Result<()> {
    for (&(neighbor, distance), rank) in found.iter().zip(1..) {
        let query = names.queries.cell(query);
        let neighbor = names.measures.cell(neighbor);
        let (rank, distance) = (Cell::Count(rank), Cell::Number(distance));
        match bound {
            Some(bound) => {
                let cells = [query, rank, neighbor, distance, Cell::Number(bound)];
                rows::row(out, json, &COLUMNS, &cells)?;
            }
            None => rows::row(out, json, &COLUMNS[..4], &[query, rank, neighbor, distance])?,
        }
    }
    Ok(())
}
