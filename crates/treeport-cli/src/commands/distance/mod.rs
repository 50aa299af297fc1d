//! `treeport distance`: distances between measures by a tree or a forest.

mod matrix;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use treeport::PreparedMeasures;
use treeport::io::npy;
use treeport::progress::Progress;
use treeport::{Measures, Model};
use treeport_jobs::fingerprint::of_measures;
use treeport_jobs::{JobFingerprint, Shard};

use crate::args::{ModelArgs, ModelCloudArgs, PairArgs, ShardArgs};
use crate::commands::clouds;
use crate::input;
use crate::output::{self, Output};
use crate::pairs::{self, Pairs};
use crate::parts::{self, Parts};
use crate::progress::{Watch, or_interrupted};
use crate::rows::{self, DISTANCES};
use crate::shards;

const EXAMPLE: &str = "\
Examples:
  treeport distance model.tree --measures docs.npz > distances.csv
  treeport distance model.tree --measures queries.npz --against docs.npz -o matrix.npy
  treeport distance phylogeny.nwk --names otus.txt --measures samples.csv --normalize
  treeport distance model.tree --measures docs.npz --measure-names titles.txt > distances.csv
  treeport distance jets.space --clouds new.csv -o distances.csv
  treeport distance tree.nwk --measures table.tsv.gz --transpose --normalize --square -o matrix.tsv

In Python: pandas.read_csv(\"matrix.tsv\", sep=\"\\t\", index_col=0), or skbio.DistanceMatrix.read(\"matrix.tsv\").

A table may be larger than memory: with `-o` it is written in blocks. After Ctrl-C,
a crash or a kill the same command continues from `matrix.npy.part`.

To run in parts, on several machines or one after the other, and merge them to the same file:
  treeport distance model.tree --measures docs.npz --shard 1/8 -o matrix-1.npy.shard
  treeport merge matrix-*.npy.shard -o matrix.npy";

/// Options of `treeport distance`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
#[command(mut_arg("measures", |arg| arg.required(false).required_unless_present("clouds")))]
pub(crate) struct DistanceArgs {
    #[command(flatten)]
    pub(super) of: ModelArgs,
    #[command(flatten)]
    pub(super) clouds: ModelCloudArgs,
    #[command(flatten)]
    pub(super) pairs: PairArgs,
    /// A second set of measures: every measure of the first set is compared with every one of these.
    #[arg(long, value_name = "FILE", conflicts_with = "n_pairs", help_heading = "Measures")]
    pub(super) against: Option<PathBuf>,
    /// Names of the measures, one per line; rows then have names in place of numbers.
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    pub(super) measure_names: Option<PathBuf>,
    /// Names of the second set, one per line.
    #[arg(long, value_name = "FILE", requires = "against", help_heading = "Measures")]
    pub(super) against_names: Option<PathBuf>,
    /// Write a square matrix as text in place of rows left, right, distance; its first row and
    /// column are the names or the numbers of the measures (.csv, .tsv).
    #[arg(long, conflicts_with_all = ["pairs", "n_pairs"])]
    pub(super) square: bool,
    /// Write to a file: rows left, right, distance (.csv), or the matrix (.npy; .csv or .tsv with
    /// `--square`).
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) shard: ShardArgs,
}

/// Distances between two writes.
const CHUNK: usize = 1 << 16;

/// Inputs of the computation.
struct Work<'a> {
    model: &'a Model,
    left: &'a Measures,
    against: Option<&'a Measures>,
    pairs: &'a Pairs,
    left_names: Option<Vec<String>>,
    right_names: Option<Vec<String>>,
    form: Form,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// One row per pair.
    Rows,
    /// An array: the matrix, or the distances of listed pairs.
    Npy,
    /// The matrix as text with this separator.
    Square(char),
}

/// Runs `treeport distance`.
pub(crate) fn run(args: &DistanceArgs, output: &Output) -> Result<ExitCode> {
    if let Some(path) = &args.clouds.clouds {
        return clouds::distance(args, path, output);
    }
    let endings = if args.square { ["csv", "tsv"] } else { ["csv", "npy"] };
    let file = args.shard.target(args.output.as_deref(), "distances go", &endings)?;
    ensure!(
        !(args.square && output.json && file.is_none()),
        "`--square` prints a matrix; leave `--json` out"
    );
    let form = match file.and_then(shards::format).as_deref() {
        ending if args.square => Form::Square(if ending == Some("tsv") { '\t' } else { ',' }),
        Some("npy") => Form::Npy,
        _ => Form::Rows,
    };
    let model = args.of.model()?;
    let left = args.of.measures.read((&model).into(), output)?;
    let how = args.of.measures.how;
    let read = |path: &PathBuf| input::measures((&model).into(), path, how, output);
    let against = args.against.as_ref().map(read).transpose()?;
    let pairs = which_pairs(args, &left, against.as_ref())?;
    let left_names = input::measure_names(args.measure_names.as_deref(), &left)?;
    let right_names = match &against {
        Some(set) => input::measure_names(args.against_names.as_deref(), set)?,
        None => left_names.clone(),
    };
    let (model, left, against, pairs) = (&model, &left, against.as_ref(), &pairs);
    let work = Work { model, left, against, pairs, left_names, right_names, form };
    let Some(path) = parts::regular(file) else {
        work.print(file, output)?;
        return Ok(ExitCode::SUCCESS);
    };
    work.save(path, &args.shard, output)
}

/// All parts, or the exit code of an interrupted run.
type Filled<'a> = Result<Parts<'a>, ExitCode>;

impl Work<'_> {
    /// Writes distances to a file in blocks, all or those of a shard.
    fn save(&self, path: &Path, args: &ShardArgs, output: &Output) -> Result<ExitCode> {
        let is_table = self.form != Form::Rows && !matches!(self.pairs, Pairs::Listed(_));
        let items = if is_table { self.left.len() } else { self.pairs.len() };
        let (job, format) = (self.job(), shards::format(path));
        let format = format.as_deref().unwrap_or("csv");
        let shard = args.of(items, format, || Ok(job.clone()))?;
        let shard = shard.as_ref();
        let job = shard.map_or(job, Shard::own_job);
        let filled = if is_table {
            self.save_table((path, &job), shard, output)?
        } else {
            self.save_list((path, &job), shard, output)?
        };
        let parts = match filled {
            Ok(parts) => parts,
            Err(interrupted) => return Ok(interrupted),
        };
        let earlier = parts.earlier();
        parts.file.finish()?;
        let (mut facts, note) = match shard.map(|shard| shard.range().len()) {
            // Two rows share a distance, so rows are counted, not pairs.
            Some(rows) if is_table => (json!({"rows": rows}), format!("{rows} rows of distances")),
            some => {
                let count = some.unwrap_or(self.pairs.len());
                (json!({"pairs": count}), format!("{count} distances"))
            }
        };
        if earlier > 0 {
            facts["done_before"] = json!(earlier);
        }
        shards::wrote(output, "distance", (Some(path), shard), facts, &note)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Writes rows to stdout, or to anything other than a regular file, such as a pipe.
    fn print(&self, file: Option<&Path>, output: &Output) -> Result<()> {
        let watch = Watch::of_rows(output, file.is_none());
        if let Some(path) = file.filter(|_| self.form == Form::Npy) {
            let (shape, values) = self.table(output)?;
            return output::save(path, |out| Ok(npy::write_f64(&shape, &values, out)?));
        }
        if let Form::Square(separator) = self.form {
            return self.print_square(file, separator, output);
        }
        let (prepared, offset) = self.prepare()?;
        rows::write(file, output, |out, json| {
            rows::header(out, json, &DISTANCES)?;
            let mut rest = self.pairs.iter();
            let mut done = 0;
            while done < self.pairs.len() {
                let progress = watch.after(done, self.pairs.len());
                let chunk: Vec<_> = rest.by_ref().take(CHUNK).collect();
                let found = or_interrupted(pairs_of(&prepared, offset, &chunk, &progress))?;
                rows::distances(out, json, self.names(), &chunk, &found)?;
                done += chunk.len();
            }
            Ok(())
        })
    }

    fn names(&self) -> [Option<&[String]>; 2] {
        [self.left_names.as_deref(), self.right_names.as_deref()]
    }

    /// Prepares both sets as one; returns the offset of the second.
    fn prepare(&self) -> Result<(PreparedMeasures, usize)> {
        Ok(match self.against {
            Some(right) => (self.model.prepare(&self.left.followed_by(right)?)?, self.left.len()),
            None => (self.model.prepare(self.left)?, 0),
        })
    }

    fn job(&self) -> JobFingerprint {
        let form = match self.form {
            Form::Rows => 0,
            Form::Npy => 1,
            Form::Square(separator) => separator.into(),
        };
        JobFingerprint::new("treeport-distance-1")
            .part("format", form)
            .part("model", parts::of_model(self.model))
            .part("measures", of_measures(self.left))
            .part("against", self.against.map_or(0, of_measures))
            .part("pairs", self.pairs.fingerprint())
            .part("measure-names", parts::of_names(self.left_names.as_deref()))
            .part("against-names", parts::of_names(self.right_names.as_deref()))
    }

    /// Writes distances of pairs, as rows or as an array, in blocks.
    fn save_list<'a>(
        &self,
        (path, job): (&Path, &JobFingerprint),
        shard: Option<&'a Shard>,
        output: &'a Output,
    ) -> Result<Filled<'a>> {
        let (mut head, npy) = (Vec::new(), self.form == Form::Npy);
        if npy {
            npy::write_f64_header(&[self.pairs.len()], &mut head)?;
        } else {
            rows::header(&mut head, false, &DISTANCES)?;
        }
        let pairs = self.pairs.clone().of(shard);
        let count = pairs.len();
        let bytes = npy.then(|| head.len() as u64 + 8 * count as u64);
        let parts = Parts::open(path, job, (count, "pairs"), bytes, output)?;
        let mut parts = parts.of(shard);
        let (prepared, offset) = self.prepare()?;
        let mut rest = pairs.iter().skip(parts.earlier());
        let whole = parts.fill(CHUNK / 16..=CHUNK, &head, |_, items, progress| {
            let pairs: Vec<_> = rest.by_ref().take(items.len()).collect();
            let distances = pairs_of(&prepared, offset, &pairs, progress)?;
            let mut out = Vec::new();
            if npy {
                out.extend(distances.iter().flat_map(|d| d.to_le_bytes()));
            } else {
                rows::distances(&mut out, false, self.names(), &pairs, &distances)?;
            }
            Ok(out)
        })?;
        Ok(if whole { Ok(parts) } else { Err(parts.interrupted()) })
    }
}

/// Computes distances of pairs whose second measures are counted from `offset`.
fn pairs_of(
    prepared: &PreparedMeasures,
    offset: usize,
    pairs: &[(usize, usize)],
    progress: &Progress<'_>,
) -> treeport::Result<Vec<f64>> {
    let pairs: Vec<_> = pairs.iter().map(|&(i, j)| (i, offset + j)).collect();
    prepared.pairs(&pairs, progress)
}

/// Selects the pairs; measures of different totals are refused before the first row.
fn which_pairs(args: &DistanceArgs, left: &Measures, against: Option<&Measures>) -> Result<Pairs> {
    let from = args.of.measures.path()?;
    let (Some(right), Some(path)) = (against, &args.against) else {
        // A single measure has no pairs, which is not an error here.
        let all = args.pairs.pairs.is_none() && args.pairs.n_pairs.is_none();
        return if all && left.len() < 2 {
            Ok(Pairs::Within(0))
        } else {
            Pairs::new(&args.pairs, left, from)
        };
    };
    let names = || format!("{} against {}", input::name(from), input::name(path));
    Measures::check_all_balanced(&[left, right]).with_context(names)?;
    Ok(match &args.pairs.pairs {
        Some(path) => Pairs::Listed(pairs::read(path, left, right)?),
        None => Pairs::Across(left.len(), right.len()),
    })
}
