//! `treeport bench`: how fast, against a peer on the same data in the same run.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use treeport::Kind;
use treeport_lab::bench::{self, Row};

use crate::interrupt;
use crate::output::{self, Output};

const EXAMPLE: &str = "\
Examples:
  treeport bench project                 the projection against Prim on the dense matrix
  treeport bench project --sizes 1000,13243 --json
  treeport bench distance                a pair of sparse measures against the loop over all edges
  treeport bench learn                   training at the sizes of the paper

Times are medians of repeats on this machine; quote the ratio, not the time.";

/// What `treeport bench` accepts.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct BenchArgs {
    /// What to measure.
    #[arg(value_enum)]
    what: What,
    /// Numbers of points [default: the sizes the documentation quotes].
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = at_least_two)]
    sizes: Vec<usize>,
    /// Seed of the random data.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// The ultrametric projection after a gradient step.
    Project,
    /// One tree distance between prepared measures, by support.
    Distance,
    /// Fifty epochs over 200 pairs on points in the plane.
    Learn,
}

/// Support sizes of `bench distance`; the last one means all points.
const SUPPORTS: [usize; 3] = [10, 100, usize::MAX];

const KINDS: [Kind; 3] = [Kind::Ultrametric, Kind::Additive, Kind::SkipMst];

impl What {
    fn sizes(self) -> &'static [usize] {
        match self {
            Self::Project => &[1_000, 4_000, 13_243, 100_000, 1_000_000],
            Self::Distance => &[13_243],
            Self::Learn => &[800, 1_000, 1_500],
        }
    }

    /// What the two times are, for the reader of the table.
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
        }
    }
}

/// Runs a benchmark and prints its rows as they are done.
pub(crate) fn run(args: &BenchArgs, output: &Output) -> Result<ExitCode> {
    let sizes = if args.sizes.is_empty() { args.what.sizes() } else { &args.sizes };
    if !output.json {
        output.note(args.what.caveat());
    }
    let mut rows = Vec::new();
    for &n in sizes {
        let spinner = output.spinner(&format!("{n} points"));
        let mut done = Vec::new();
        let report = |row: &Row| done.push(row.clone());
        match args.what {
            What::Project => bench::project(&[n], args.seed, report)?,
            What::Distance => bench::distance(n, &SUPPORTS, args.seed, report)?,
            What::Learn => bench::learn(&[n], &KINDS, args.seed, report)?,
        }
        spinner.finish_and_clear();
        if output.json {
            done.iter().try_for_each(|row| output::line(object(row, args.seed)))?;
        }
        rows.extend(done);
        interrupt::check()?;
    }
    if !output.json {
        output::line(output::table(&table(&rows)).trim_end())?;
    }
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
    object.insert("threads".into(), json!(rayon::current_num_threads()));
    object.insert("seed".into(), json!(seed));
    object.into()
}

fn table(rows: &[Row]) -> Vec<Vec<String>> {
    let Some(first) = rows.first() else { return vec![] };
    let mut heading = vec!["points".to_owned()];
    heading.extend(first.case.iter().map(|(name, _)| (*name).to_owned()));
    heading.extend(["ours", "peer", "peer/ours"].map(str::to_owned));
    heading.extend(first.more.iter().map(|(name, _)| name.replace('_', " ")));
    let line = |row: &Row| {
        let mut line = vec![row.n.to_string()];
        line.extend(row.case.iter().map(|(_, value)| value.clone()));
        line.push(output::seconds(row.seconds));
        line.push(row.peer.as_ref().map_or("-".into(), |peer| output::seconds(peer.seconds)));
        line.push(row.ratio().map_or("-".into(), output::three_digits));
        line.extend(row.more.iter().map(|(_, value)| output::three_digits(*value)));
        line
    };
    std::iter::once(heading).chain(rows.iter().map(line)).collect()
}

fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0 | 1) => Err("it takes at least 2 points".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}
