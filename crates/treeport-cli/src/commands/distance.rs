//! `treeport distance`: distances between measures, of a tree or a forest.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use treeport::io::npy;
use treeport::tree::Scratch;
use treeport::{Error, Forest, Measures};

use crate::args::NamesArgs;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output, ProgressBar};
use crate::pairs::Pairs;
use crate::{input, labels, rows};

const EXAMPLE: &str = "\
Examples:
  treeport distance model.tree --measures docs.npz > distances.csv
  treeport distance model.tree --measures queries.npz --against docs.npz -o matrix.npy
  treeport distance phylogeny.nwk --names otus.txt --measures samples.csv --normalize
  treeport distance model.tree --measures docs.npz --measure-names titles.txt > distances.csv";

/// Options of `treeport distance`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DistanceArgs {
    /// A tree or a forest that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    names: NamesArgs,
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE")]
    measures: PathBuf,
    /// A second set: every measure of the first is compared with every one of these.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Only these pairs: columns left and right (.csv); measures count from 0.
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Names of the measures, one per line; rows carry them in place of numbers.
    #[arg(long, value_name = "FILE")]
    measure_names: Option<PathBuf>,
    /// Names of the second set, one per line.
    #[arg(long, value_name = "FILE", requires = "against")]
    against_names: Option<PathBuf>,
    /// Divide every measure by its total mass.
    #[arg(long)]
    normalize: bool,
    /// Write to a file: rows left, right, distance (.csv), or the matrix (.npy).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Distances computed between two looks at Ctrl-C: some milliseconds of work.
const CHUNK: usize = 1 << 16;

/// The measures on both sides, and which pairs of them are wanted.
struct Task<'a> {
    /// One tree is a forest of one.
    forest: &'a Forest,
    left: &'a Measures,
    right: &'a Measures,
    pairs: Pairs,
    left_names: Option<Vec<String>>,
    right_names: Option<Vec<String>>,
}

/// Runs `treeport distance`.
pub(crate) fn run(args: &DistanceArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        check_format(path)?;
        output::check_place(path)?;
    }
    let names = args.names.names.as_deref().map(input::names).transpose()?;
    let forest = input::forest(&args.model, names.as_deref())?;
    let read = |path: &Path| input::measures_on(forest.leaves(), path, args.normalize);
    let left = read(&args.measures)?;
    let against = args.against.as_deref().map(read).transpose()?;
    let right = against.as_ref().unwrap_or(&left);
    let pairs = match &args.pairs {
        Some(path) => Pairs::Listed(labels::read_pairs(path, &left, right)?),
        None if against.is_some() => Pairs::Across(left.len(), right.len()),
        None => Pairs::Within(left.len()),
    };
    pairs.check_balance(&left, right).with_context(|| match &args.against {
        Some(path) => format!("{} against {}", input::name(&args.measures), input::name(path)),
        None => input::name(&args.measures),
    })?;
    let left_names = input::measure_names(args.measure_names.as_deref(), &left)?;
    let right_names = match &against {
        Some(set) => input::measure_names(args.against_names.as_deref(), set)?,
        None => left_names.clone(),
    };
    let task = Task { forest: &forest, left: &left, right, pairs, left_names, right_names };
    interrupt::check()?;
    match file {
        None => {
            let bar = task.bar(output, io::stdout().is_terminal());
            task.write_rows(&mut BufWriter::new(io::stdout().lock()), output.json, &bar)?;
        }
        Some(path) => {
            let bar = task.bar(output, false);
            if input::extension(path) == Some("npy") {
                task.save_matrix(path, &bar)?;
            } else {
                output::save(path, |out| task.write_rows(out, false, &bar))?;
            }
            task.report(path, output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check_format(path: &Path) -> Result<()> {
    if matches!(input::extension(path), Some("csv" | "npy")) {
        return Ok(());
    }
    bail!("cannot write `{}`: distances go to a .csv or .npy file", path.display())
}

impl Task<'_> {
    /// Computes chunk after chunk and hands each to `take`; memory stays small however many there are.
    fn stream(
        &self,
        bar: &ProgressBar,
        mut take: impl FnMut(&[(usize, usize)], &[f64]) -> Result<()>,
    ) -> Result<()> {
        let mut prepared = Vec::with_capacity(self.forest.trees().len());
        for (tree, weight) in self.forest.trees().iter().zip(self.forest.weights()) {
            prepared.push((tree.prepare(self.left)?, tree.prepare(self.right)?, weight));
        }
        let mut pairs = self.pairs.iter();
        loop {
            let chunk: Vec<_> = pairs.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            let distance = |scratch: &mut Scratch, &(i, j): &(usize, usize)| {
                let trees = prepared.iter();
                trees.map(|(left, right, w)| *w * left.distance_to(i, right, j, scratch)).sum()
            };
            let distances: Vec<f64> =
                chunk.par_iter().with_min_len(64).map_init(Scratch::default, distance).collect();
            take(&chunk, &distances)?;
            bar.inc(chunk.len() as u64);
            interrupt::check()?;
        }
    }

    fn write_rows(&self, out: &mut impl Write, json: bool, bar: &ProgressBar) -> Result<()> {
        rows::distance_header(out, json)?;
        let names = (self.left_names.as_deref(), self.right_names.as_deref());
        self.stream(bar, |pairs, distances| {
            rows::distance_rows(out, json, names, pairs, distances)
        })?;
        bar.finish_and_clear();
        Ok(out.flush()?)
    }

    /// The matrix of all pairs, or the list of distances where pairs were listed.
    fn save_matrix(&self, path: &Path, bar: &ProgressBar) -> Result<()> {
        let (rows, columns) = (self.left.len(), self.right.len());
        let (shape, values) = if let Pairs::Listed(pairs) = &self.pairs {
            let mut values = Vec::with_capacity(pairs.len());
            self.stream(bar, |_, distances| {
                values.extend_from_slice(distances);
                Ok(())
            })?;
            (vec![values.len()], values)
        } else {
            bar.set_length(rows as u64);
            let progress = |done: usize| {
                bar.set_position(done as u64);
                !interrupt::asked()
            };
            let matrix = if matches!(self.pairs, Pairs::Within(_)) {
                self.forest.pairwise(self.left, &progress)
            } else {
                self.forest.cross(self.left, self.right, &progress)
            };
            let stopped = matches!(matrix, Err(Error::Cancelled));
            (vec![rows, columns], if stopped { return Err(Interrupted.into()) } else { matrix? })
        };
        bar.finish_and_clear();
        output::save(path, |out| Ok(npy::write_f64(&shape, &values, out)?))
    }

    /// A bar, unless the rows themselves scroll by.
    fn bar(&self, output: &Output, rows_at_terminal: bool) -> ProgressBar {
        if rows_at_terminal {
            ProgressBar::hidden()
        } else {
            output.bar("distances", self.pairs.len())
        }
    }

    fn report(&self, path: &Path, output: &Output) -> Result<()> {
        let (pairs, file) = (self.pairs.len(), path.display().to_string());
        if output.json {
            return output::line(json!({"command": "distance", "pairs": pairs, "file": file}));
        }
        output.note(&format!("{pairs} distances written to {file}"));
        Ok(())
    }
}
