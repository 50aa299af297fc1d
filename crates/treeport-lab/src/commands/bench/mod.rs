//! `treeport-lab bench`: speed compared with a peer on the same data in the same run.

mod python;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use treeport::Kind;
use treeport::internal::memory;
use treeport_lab::bench::{self, Row};

use self::python::{SCRIPTS, Script};
use crate::interrupt;
use crate::output::{self, Output};

const EXAMPLE: &str = "\
Examples:
  treeport-lab bench project                     the projection against Prim on the dense matrix
  treeport-lab bench project --sizes 1000,13243 --json
  treeport-lab bench scale --graph edges.csv     every stage of a fit on a graph
  treeport-lab bench peers -- --sizes 30 --json  against other solvers, by Python
  treeport-lab bench peers -- --help             what that benchmark takes

Benchmarks in Python run by the interpreter in `target/venv` (`peers`: `target/venv-peers`), or by the one that
PYTHON names; if something has to be installed there, they say what.
Times are medians of repeats on this machine; quote the ratio, not the time.";

/// Arguments of `treeport-lab bench`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct BenchArgs {
    /// The benchmark to run.
    #[arg(value_enum)]
    name: Benchmark,
    /// Numbers of points [default: the sizes the documentation quotes].
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = at_least_two)]
    sizes: Vec<usize>,
    /// Graphs as files of edges, for `scale`; without `--sizes` nothing else is measured.
    #[arg(long, value_name = "CSV,…", value_delimiter = ',')]
    graph: Vec<PathBuf>,
    /// Sets of the data folder, for `search` and `intervals` [default: all, and `short-texts` and
    /// `plane`, which are made here]; `jets`, `images`, `cells` for `clouds`.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    sets: Vec<String>,
    /// Seed of the random data.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder of the real data sets, for those that read any [default: TREEPORT_DATA].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write the problems of `exact` or `graph` for other solvers, and stop.
    #[arg(long, value_name = "DIR", hide = true)]
    dump: Option<PathBuf>,
    /// Solve the problems of one folder of a dump, and print time and values as JSON.
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "dump")]
    replay: Option<PathBuf>,
    /// Arguments of a benchmark in Python.
    #[arg(last = true, value_name = "ARG")]
    args: Vec<OsString>,
}

/// A benchmark of this program, or one in Python.
#[derive(Clone, Copy, Debug)]
enum Benchmark {
    Here(What),
    Python(&'static Script),
}

impl ValueEnum for Benchmark {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Benchmark>> = LazyLock::new(|| {
            let here = What::value_variants().iter().copied().map(Benchmark::Here);
            here.chain(SCRIPTS.iter().map(Benchmark::Python)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Here(what) => what.to_possible_value(),
            Self::Python(Script { name, about, .. }) => {
                Some(PossibleValue::new(*name).help(format!("Python: {about}")))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// The ultrametric projection after a gradient step.
    Project,
    /// One tree distance between prepared measures, by support.
    Distance,
    /// Fifty epochs over 200 pairs on points in the plane.
    Learn,
    /// Every method built over points in R^300, and then one pair.
    Baselines,
    /// Exact transport between points in R^50, by support; batches of small ones, few points
    /// against many; size 5000 measures memory.
    Exact,
    /// Exact transport on street grids with that many nodes, and on networks of the data folder.
    Graph,
    /// The levels of `estimate` between points in R^300, by support.
    Estimate,
    /// Certified intervals between measures with that many points of the plane and of the data
    /// folder's sets.
    Intervals,
    /// Every stage of a fit on points in R^32, with its peak memory and growth.
    Scale,
    /// Nearest neighbors among that many measures of every set of the data folder.
    Search,
    /// Nearest neighbors among that many jets, and among images and samples of cells: measures with
    /// their own points.
    Clouds,
    /// Search in short texts, in one index and in up to 1,000 parts.
    Parts,
    /// All pairs of that many documents.
    Pairs,
    /// One document against that many prepared ones, and against those of the data folder.
    Scan,
}

/// Words per document and size of the vocabulary of `bench scan`: long documents, like newsgroups,
/// up to this many; then short ones.
const LONG: usize = 11_314;
const LONG_WORDS: (usize, usize) = (60, 20_000);
const SHORT_WORDS: (usize, usize) = (10, 8_000);

/// Support sizes of `bench estimate`.
const ESTIMATE_SUPPORTS: [usize; 4] = [30, 100, 300, 1_000];

/// Support sizes of `bench distance`; the last one means all points.
const SUPPORTS: [usize; 3] = [10, 100, usize::MAX];

const KINDS: [Kind; 3] = [Kind::Ultrametric, Kind::Additive, Kind::SkipMst];

impl What {
    fn sizes(self) -> &'static [usize] {
        match self {
            Self::Project => &[1_000, 4_000, 13_243, 100_000, 1_000_000],
            Self::Distance | Self::Estimate => &[13_243],
            Self::Learn => &[800, 1_000, 1_500],
            Self::Intervals => &[300, 1_000],
            Self::Baselines => &[6_344],
            Self::Exact => &[10, 30, 100, 300, 1_000, 2_000],
            Self::Graph => &[2_500, 10_000, 40_000],
            Self::Scan => &[LONG, 20_000, 100_000],
            Self::Scale => &[10_000, 30_000, 100_000, 300_000, 1_000_000],
            Self::Search => &[2_000],
            Self::Clouds => &[2_000, 5_000],
            Self::Parts => &[200_000],
            Self::Pairs => &[20_000],
        }
    }

    /// Estimated memory of one size; linkages check their tables themselves.
    fn bytes(self, n: usize) -> u64 {
        let n = n as u64;
        match self {
            Self::Project | Self::Distance | Self::Learn | Self::Graph => n.saturating_mul(1_000),
            Self::Clouds => n.saturating_mul(40_000),
            Self::Baselines | Self::Estimate | Self::Scan | Self::Pairs => n.saturating_mul(20_000),
            Self::Scale => n.saturating_mul(2_500),
            // All distances of 8,000 words, and a few copies of the texts.
            Self::Parts => n.saturating_mul(2_000).saturating_add(1 << 30),
            // The largest vocabulary, and a table of potentials, which larger collections omit.
            Self::Search => {
                let table = n.min(100_000).saturating_mul(30_000);
                n.saturating_mul(2_000).saturating_add(table).saturating_add(2 << 30)
            }
            Self::Intervals => n.saturating_mul(n).saturating_mul(16).saturating_add(1 << 30),
            // All distances of 2n points, and n by n costs.
            Self::Exact => n.saturating_mul(n).saturating_mul(32),
        }
    }

    /// Measures the rows of one size.
    fn measure(self, n: usize, args: &BenchArgs) -> Result<Vec<Row>> {
        let seed = args.seed;
        let step = format_args!("a benchmark of {n} points");
        memory::check(step, self.bytes(n), "take smaller `--sizes`")?;
        let mut done = Vec::new();
        let report = |row: &Row| done.push(row.clone());
        match self {
            Self::Project => bench::project(&[n], seed, report)?,
            Self::Distance => bench::distance(n, &SUPPORTS, seed, report)?,
            Self::Learn => bench::learn(&[n], &KINDS, seed, report)?,
            Self::Baselines => bench::baselines(n, seed, report)?,
            Self::Exact => bench::exact(&[n], seed, report)?,
            Self::Graph => bench::graph(&[n], seed, report)?,
            Self::Estimate => bench::estimate(n, &ESTIMATE_SUPPORTS, seed, report)?,
            Self::Scale => bench::scale(n, seed, report)?,
            Self::Intervals => bench::intervals(n, (&data_folder(args), &args.sets), seed, report)?,
            Self::Search => bench::search(n, (&data_folder(args), &args.sets), seed, report)?,
            Self::Clouds => bench::clouds(n, &args.sets, seed, report)?,
            Self::Parts => bench::parts(n, seed, report)?,
            Self::Pairs => bench::pairs(n, seed, report)?,
            Self::Scan => {
                let words = if n <= LONG { LONG_WORDS } else { SHORT_WORDS };
                bench::scan(n, words, seed, report)?;
            }
        }
        Ok(done)
    }

    /// Describes the two times for readers of the table.
    fn caveat(self) -> &'static str {
        match self {
            Self::Project => {
                "ours: tree and heights to projected tree; peer: Prim alone, its dense matrix given for free"
            }
            Self::Distance => {
                "ours: one pair of prepared measures, one thread; peer: the plain loop over all edges, one thread"
            }
            Self::Learn => {
                "ours: 50 epochs of batch 32 over 200 pairs, the start given; peer: the same with the dense matrix and Prim in every step; paper: its table, whose epochs and pairs it does not say"
            }
            Self::Baselines => {
                "ours: the method built once from points and 200 labels; ns per pair: measures with 30 points, prepared and compared, all threads"
            }
            Self::Exact => {
                "ours: one certified pair, distances included; peer: successive shortest paths, its matrix given, or as the row says"
            }
            Self::Scale => {
                "one fit by `auto` on points in 50 clusters in R^32, 300 labels between measures of 30 points; every stage, once"
            }
            Self::Search => {
                "ours: one query of an index from a file, one thread, in the first batch and in the same again; peer: every pair solved by the batch solver; both from coordinates, or from all distances of a network"
            }
            Self::Clouds => {
                "ours: one query of 10 neighbors, one thread, in the first batch and in the same again; peer: every pair solved by the batch solver"
            }
            Self::Parts => {
                "ours: one query of all parts, 10 neighbors, one thread, nothing kept but the measures; peer: one index of all of them"
            }
            Self::Intervals => {
                "ours: one pair with its interval, distances included, one thread; peer: the exact solver, the same"
            }
            Self::Pairs => {
                "ours: the upper half of a table in blocks of 64 MiB; peer: the distance of two prepared documents on as many threads, from 200,000 pairs"
            }
            Self::Scan => {
                "ours: one new document laid out and compared with a prepared collection, one thread; peer: the same pair after pair"
            }
            Self::Graph => {
                "ours: one certified pair, one thread (labels: all of them, all threads), on the edges where all nodes have mass, else by the hierarchy; peer: the solver with all distances given, or plain searches"
            }
            Self::Estimate => {
                "ours: one pair of a level by itself, nothing prepared, one thread; peer: the exact solver, one thread"
            }
        }
    }
}

/// Runs a benchmark.
pub(crate) fn run(args: &BenchArgs, output: &Output) -> Result<ExitCode> {
    match args.name {
        Benchmark::Here(_) if !args.args.is_empty() => {
            bail!("only benchmarks in Python take arguments after `--`")
        }
        Benchmark::Here(what) => measure(what, args, output),
        Benchmark::Python(script) => {
            args.refuse_own_options(output)?;
            script.run(&args.args, args.data.as_deref(), |left_out| output.note(left_out))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl BenchArgs {
    /// Refuses options that are not passed on to a benchmark in Python.
    fn refuse_own_options(&self, output: &Output) -> Result<()> {
        let given = [
            ("--sizes", !self.sizes.is_empty()),
            ("--graph", !self.graph.is_empty()),
            ("--sets", !self.sets.is_empty()),
            ("--seed", self.seed != 0),
            ("--dump", self.dump.is_some()),
            ("--replay", self.replay.is_some()),
            ("--json", output.json),
        ];
        match given.iter().find(|option| option.1) {
            Some((option, _)) => bail!(
                "{option} is not for benchmarks in Python; theirs come after `--`, and `-- --help` lists them"
            ),
            None => Ok(()),
        }
    }
}

/// Measures, and prints rows as they are finished.
fn measure(what: What, args: &BenchArgs, output: &Output) -> Result<ExitCode> {
    let sizes = match &args.sizes[..] {
        [] if args.graph.is_empty() => what.sizes(),
        sizes => sizes,
    };
    if let Some(folder) = &args.dump {
        match what {
            What::Graph => bench::dump_graphs(folder, sizes, &data_folder(args), args.seed)?,
            _ => bench::dump(folder, sizes, args.seed)?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &args.replay {
        return replay(folder);
    }
    if !output.json {
        output.note(what.caveat());
    }
    let mut rows = Vec::new();
    for &n in sizes {
        let spinner = output.spinner(&format!("{n} points"));
        let mut done = what.measure(n, args)?;
        spinner.finish_and_clear();
        if let What::Scale = what {
            for row in &mut done {
                row.more.extend(growth(row, &rows));
            }
        }
        finish(done, &mut rows, args, output)?;
    }
    let done = match what {
        What::Scale => scale_graphs(args, output)?,
        What::Scan => from_data("documents", args, output, |data, report| {
            bench::scan_documents(data, report)
        })?,
        What::Exact => from_data("the bus network", args, output, |data, report| {
            bench::exact_network(data, args.seed)?.iter().for_each(report);
            Ok(())
        })?,
        What::Graph => from_data("networks", args, output, |data, report| {
            Ok(bench::graph_networks(data, args.seed, report)?)
        })?,
        _ => vec![],
    };
    finish(done, &mut rows, args, output)?;
    if !output.json {
        output::line(output::table(&table(&rows)).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures the graphs given by `--graph`.
fn scale_graphs(args: &BenchArgs, output: &Output) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for path in &args.graph {
        let spinner = output.spinner(&path.display().to_string());
        bench::scale_graph(path, args.seed, |row| rows.push(row.clone()))?;
        spinner.finish_and_clear();
    }
    Ok(rows)
}

/// Returns the growth of time from the previous size, per factor of ten in the number of points.
fn growth(row: &Row, before: &[Row]) -> Option<(&'static str, f64)> {
    let other = before.iter().rev().find(|other| other.case == row.case)?;
    let decades = (row.n as f64 / other.n as f64).log10();
    (decades > 0.0)
        .then(|| ("times_per_decade", (row.seconds / other.seconds).powf(decades.recip())))
}

/// Keeps rows for the table at the end; JSON is printed immediately.
fn finish(done: Vec<Row>, rows: &mut Vec<Row>, args: &BenchArgs, output: &Output) -> Result<()> {
    if output.json {
        done.iter().try_for_each(|row| output::json(object(row, args.seed)))?;
    }
    rows.extend(done);
    interrupt::check()
}

/// Measures rows on the data folder, if it has any data for them.
fn from_data(
    what: &str,
    args: &BenchArgs,
    output: &Output,
    measure: impl FnOnce(&Path, &mut dyn FnMut(&Row)) -> treeport_lab::Result<()>,
) -> Result<Vec<Row>> {
    let (spinner, mut rows) = (output.spinner(what), Vec::new());
    measure(&data_folder(args), &mut |row| rows.push(row.clone()))?;
    spinner.finish_and_clear();
    if rows.is_empty() {
        let hint = "`--data DIR` or TREEPORT_DATA names the data folder";
        output.note(&format!("without {what}: {hint}"));
    }
    Ok(rows)
}

fn data_folder(args: &BenchArgs) -> PathBuf {
    let named = || std::env::var_os("TREEPORT_DATA").map(PathBuf::from);
    args.data.clone().or_else(named).unwrap_or_default()
}

fn replay(folder: &Path) -> Result<ExitCode> {
    let found = bench::replay(folder)?;
    let (seconds, values) = (found.seconds, found.values);
    let threads = rayon::current_num_threads();
    output::json(
        json!({ "n": found.n, "threads": threads, "seconds": seconds, "values": values }),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn object(row: &Row, seed: u64) -> Value {
    let mut object = Map::new();
    object.insert("bench".into(), json!(row.bench));
    object.insert("n".into(), json!(row.n));
    for (name, value) in &row.case {
        // Counts stay numbers.
        let value = value.parse::<u64>().map_or_else(|_| json!(value), |count| json!(count));
        object.insert((*name).into(), value);
    }
    object.insert("seconds".into(), json!(row.seconds));
    if let Some(peer) = &row.peer {
        object.insert("peer".into(), json!(peer.name));
        object.insert("peer_seconds".into(), json!(peer.seconds));
        object.insert("ratio".into(), json!(row.ratio()));
    }
    for (name, value) in &row.more {
        object.insert((*name).into(), json!(value));
    }
    object.insert("version".into(), json!(env!("TREEPORT_VERSION")));
    // A row with its own number of threads has the key already.
    object.entry("threads").or_insert_with(|| json!(rayon::current_num_threads()));
    object.insert("seed".into(), json!(seed));
    object.into()
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let Some(first) = rows.first() else { return vec![] };
    // Rows may have different figures.
    let mut figures: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.more) {
        if !figures.contains(name) {
            figures.push(name);
        }
    }
    let mut heading = vec!["points".to_owned()];
    heading.extend(first.case.iter().map(|(name, _)| (*name).to_owned()));
    heading.extend(["ours", "peer", "peer/ours"].map(str::to_owned));
    heading.extend(figures.iter().map(|name| name.replace('_', " ")));
    let line = |row: &Row| {
        let mut line = vec![row.n.to_string()];
        line.extend(row.case.iter().map(|(_, value)| value.clone()));
        line.push(output::seconds(row.seconds));
        line.push(row.peer.as_ref().map_or("-".into(), |peer| output::seconds(peer.seconds)));
        line.push(row.ratio().map_or("-".into(), output::three_digits));
        let figure = |name: &&str| row.more.iter().find(|more| more.0 == *name).map(|more| more.1);
        line.extend(figures.iter().map(|f| figure(f).map_or("-".into(), output::three_digits)));
        line
    };
    std::iter::once(heading).chain(rows.iter().map(line)).collect()
}

/// Largest number of points, beyond what any benchmark can finish.
const MOST_POINTS: usize = 1_000_000_000;

fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0 | 1) => Err("it takes at least 2 points".into()),
        Ok(count) if count > MOST_POINTS => Err(format!("it must be at most {MOST_POINTS}")),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}
