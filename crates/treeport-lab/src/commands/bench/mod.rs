//! `treeport-lab bench`: speed compared with a peer on the same data in the same run.

mod python;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use treeport::memory;
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
PYTHON names; a missing package is an error with the command that installs it.
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
    /// Sets to measure [default: all]. `search` and `intervals` have those of the data folder, and
    /// the generated ones `short-texts` and `plane`; `clouds` has `jets`, `images` and `cells`;
    /// `mixed` has `plane`, `shifted`, `R3` and `R30`.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    sets: Vec<String>,
    /// Seed of the random data.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder of the real data sets, for those that read any [default: TREEPORT_DATA].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Arguments of a benchmark in Python.
    #[arg(last = true, value_name = "ARG")]
    args: Vec<OsString>,
}

/// A benchmark of this program, or one in Python.
#[derive(Clone, Copy, Debug)]
enum Benchmark {
    Here(&'static Bench),
    Python(&'static Script),
}

impl ValueEnum for Benchmark {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<Benchmark>> = LazyLock::new(|| {
            let here = BENCHES.iter().map(Benchmark::Here);
            here.chain(SCRIPTS.iter().map(Benchmark::Python)).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Here(Bench { name, about, .. }) => PossibleValue::new(*name).help(*about),
            Self::Python(Script { name, about, .. }) => {
                PossibleValue::new(*name).help(format!("Python: {about}"))
            }
        })
    }
}

/// A benchmark of this program.
#[derive(Debug)]
struct Bench {
    name: &'static str,
    /// One-line description.
    about: &'static str,
    /// Description of the two times for readers of the table.
    caveat: &'static str,
    sizes: &'static [usize],
    /// Estimated memory of one size; linkages check their tables themselves.
    bytes: fn(u64) -> u64,
    /// Measures the rows of one size.
    measure: fn(usize, &BenchArgs, &mut Report<'_>) -> treeport_lab::Result<()>,
}

type Report<'a> = dyn FnMut(&Row) + 'a;
type Further = fn(&BenchArgs, &mut Report<'_>) -> treeport_lab::Result<()>;

/// Support sizes of `bench distance`; the last one means all points.
const SUPPORTS: [usize; 3] = [10, 100, usize::MAX];

const BENCHES: [Bench; 10] = [
    Bench {
        name: "project",
        about: "The ultrametric projection after a gradient step",
        caveat: "ours: tree and heights to projected tree; peer: Prim alone, its dense matrix given for free",
        sizes: &[1_000, 4_000, 13_243, 100_000, 1_000_000],
        bytes: |n| n.saturating_mul(1_000),
        measure: |n, args, report| bench::project(&[n], args.seed, report),
    },
    Bench {
        name: "distance",
        about: "One tree distance between prepared measures, by support",
        caveat: "ours: one pair of prepared measures, one thread; peer: the plain loop over all edges, one thread",
        sizes: &[13_243],
        bytes: |n| n.saturating_mul(1_000),
        measure: |n, args, report| bench::distance(n, &SUPPORTS, args.seed, report),
    },
    Bench {
        name: "graph",
        about: "Exact transport on street grids with that many nodes, and on networks of the data folder (with `penalty=`, on the edges too: `bench relaxed -- graph`)",
        caveat: "ours: one certified pair, one thread (labels: all of them, all threads), on the edges where all nodes have mass, else by the hierarchy; peer: the solver with all distances given, or plain searches",
        sizes: &[2_500, 10_000, 40_000],
        bytes: |n| n.saturating_mul(1_000),
        measure: |n, args, report| bench::graph(&[n], args.seed, report),
    },
    Bench {
        name: "intervals",
        about: "Certified intervals between measures with that many points of the plane and of the data folder's sets",
        caveat: "ours: one pair with its interval, distances included, one thread; peer: the exact solver, the same",
        sizes: &[300, 1_000],
        bytes: |n| n.saturating_mul(n).saturating_mul(16).saturating_add(1 << 30),
        measure: |n, args, report| {
            bench::intervals(n, (&data_folder(args), &args.sets), args.seed, report)
        },
    },
    Bench {
        name: "mixed",
        about: "One problem with that many points a side beside a harder one: a mixture of scales, its cost matrix, bounds",
        caveat: "ours: the value, or bounds 1 % apart, of plain points; peer: the same of a mixture of scales, the value from the cost matrix, or bounds; one thread",
        sizes: &[3_000, 10_000],
        bytes: |n| {
            n.saturating_mul(n)
                .saturating_mul(20)
                .min(3 << 30)
                .saturating_add(n.saturating_mul(20_000))
        },
        measure: |n, args, report| bench::mixed(n, &args.sets, args.seed, report),
    },
    Bench {
        name: SCALE,
        about: "Every stage of a fit on points in R^32, with its peak memory and growth",
        caveat: "one fit by `auto` on points in 50 clusters in R^32, 300 labels between measures of 30 points; every stage, once",
        sizes: &[10_000, 30_000, 100_000, 300_000, 1_000_000],
        bytes: |n| n.saturating_mul(2_500),
        measure: |n, args, report| bench::scale(n, args.seed, report),
    },
    Bench {
        name: "search",
        about: "Nearest neighbors among that many measures of every set of the data folder",
        caveat: "ours: one query of an index from a file, one thread, in the first batch and in the same again; peer: every pair solved by the batch solver; both from coordinates, or from all distances of a network",
        sizes: &[2_000],
        // The largest vocabulary, and a table of potentials, which larger collections omit.
        bytes: |n| {
            let table = n.min(100_000).saturating_mul(30_000);
            n.saturating_mul(2_000).saturating_add(table).saturating_add(2 << 30)
        },
        measure: |n, args, report| {
            bench::search(n, (&data_folder(args), &args.sets), args.seed, report)
        },
    },
    Bench {
        name: "clouds",
        about: "Nearest neighbors among that many jets, and among images and samples of cells: measures with their own points",
        caveat: "ours: one query of 10 neighbors, one thread, in the first batch and in the same again; peer: every pair solved by the batch solver",
        sizes: &[2_000, 5_000],
        bytes: |n| n.saturating_mul(40_000),
        measure: |n, args, report| bench::clouds(n, &args.sets, args.seed, report),
    },
    Bench {
        name: "space",
        about: "Errors of estimates between new clouds by that many labels, without a tree over their points",
        caveat: "ours: rows of new clouds and one pair, mean of five seeds; peer: every pair solved; errors are mean relative ones on new clouds, also on clouds drawn with other parameters",
        sizes: &[50],
        bytes: |_| 1 << 28,
        measure: |n, args, report| {
            bench::space(n, (&data_folder(args), &args.sets), args.seed, report)
        },
    },
    Bench {
        name: "parts",
        about: "Search in short texts, in one index and in up to 1,000 parts",
        caveat: "ours: one query of all parts, 10 neighbors, one thread, nothing kept but the measures; peer: one index of all of them",
        sizes: &[200_000],
        // All distances of 8,000 words, and a few copies of the texts.
        bytes: |n| n.saturating_mul(2_000).saturating_add(1 << 30),
        measure: |n, args, report| bench::parts(n, args.seed, report),
    },
];

/// Name of the benchmark whose rows say how time grows.
const SCALE: &str = "scale";

/// Returns what a benchmark measures besides its sizes: its source, and the function.
fn further(name: &str) -> Option<(&'static str, Further)> {
    match name {
        "graph" => Some(("networks", |args, report| {
            bench::graph_networks(&data_folder(args), args.seed, report)
        })),
        SCALE => Some(("graphs", |args, report| {
            args.graph.iter().try_for_each(|path| bench::scale_graph(path, args.seed, &mut *report))
        })),
        _ => None,
    }
}

/// Runs a benchmark.
pub(crate) fn run(args: &BenchArgs, output: &Output) -> Result<ExitCode> {
    match args.name {
        Benchmark::Here(_) if !args.args.is_empty() => {
            bail!("only benchmarks in Python take arguments after `--`")
        }
        Benchmark::Here(bench) => measure(bench, args, output),
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
fn measure(bench: &Bench, args: &BenchArgs, output: &Output) -> Result<ExitCode> {
    let sizes = match &args.sizes[..] {
        [] if args.graph.is_empty() => bench.sizes,
        sizes => sizes,
    };
    if !output.json {
        output.note(bench.caveat);
    }
    let mut rows = Vec::new();
    for &n in sizes {
        let step = format_args!("a benchmark of {n} points");
        memory::check(step, (bench.bytes)(n as u64), "take smaller `--sizes`")?;
        let mut done =
            watched(&format!("{n} points"), output, |report| (bench.measure)(n, args, report))?;
        if bench.name == SCALE {
            for row in &mut done {
                row.more.extend(growth(row, &rows));
            }
        }
        finish(done, &mut rows, args, output)?;
    }
    if let Some((what, measure)) = further(bench.name) {
        let done = watched(what, output, |report| measure(args, report))?;
        if done.is_empty() && bench.name != SCALE {
            let hint = "`--data DIR` or TREEPORT_DATA names the data folder";
            output.note(&format!("without {what}: {hint}"));
        }
        finish(done, &mut rows, args, output)?;
    }
    if !output.json {
        output::line(output::table(&table(&rows)).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Collects rows while a spinner turns.
fn watched(
    what: &str,
    output: &Output,
    measure: impl FnOnce(&mut Report<'_>) -> treeport_lab::Result<()>,
) -> Result<Vec<Row>> {
    let (spinner, mut rows) = (output.spinner(what), Vec::new());
    measure(&mut |row| rows.push(row.clone()))?;
    spinner.finish_and_clear();
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

fn data_folder(args: &BenchArgs) -> PathBuf {
    let named = || std::env::var_os("TREEPORT_DATA").map(PathBuf::from);
    args.data.clone().or_else(named).unwrap_or_default()
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
