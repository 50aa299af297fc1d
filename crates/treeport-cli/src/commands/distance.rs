//! `treeport distance`: tree distances between measures.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use rayon::prelude::*;
use serde_json::json;
use treeport::format::npy;
use treeport::measure::BALANCE_TOLERANCE;
use treeport::tree::Scratch;
use treeport::{Error, Measures, Tree};

use crate::args::NamesArgs;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use crate::{input, labels};

const EXAMPLE: &str = "\
Examples:
  treeport distance model.tree --measures docs.npz > distances.csv
  treeport distance model.tree --measures queries.npz --against docs.npz -o matrix.npy
  treeport distance phylogeny.nwk --names otus.txt --measures samples.csv --normalize";

/// Options of `treeport distance`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DistanceArgs {
    /// A tree that `fit` has written, or Newick text (.nwk).
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
    tree: &'a Tree,
    left: &'a Measures,
    right: &'a Measures,
    /// Whether both sides are the same set: then each pair counts once.
    same: bool,
    listed: Option<Vec<(usize, usize)>>,
}

/// Runs `treeport distance`.
pub(crate) fn run(args: &DistanceArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        check_format(path)?;
        output::check_place(path)?;
    }
    let names = args.names.names.as_deref().map(input::names).transpose()?;
    let tree = input::model(&args.model, names.as_deref())?;
    let read = |path: &Path| -> Result<Measures> {
        let measures = input::measures(path, args.normalize)?;
        measures.check_points(tree.leaves()).with_context(|| input::name(path))?;
        Ok(measures)
    };
    let left = read(&args.measures)?;
    let against = args.against.as_deref().map(read).transpose()?;
    let (right, same) = (against.as_ref().unwrap_or(&left), against.is_none());
    let listed = args.pairs.as_deref().map(|path| labels::read_pairs(path, &left, right));
    let task = Task { tree: &tree, left: &left, right, same, listed: listed.transpose()? };
    task.check_balance().with_context(|| match &args.against {
        Some(path) => format!("{} against {}", input::name(&args.measures), input::name(path)),
        None => input::name(&args.measures),
    })?;
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
    /// The number of pairs.
    fn len(&self) -> usize {
        let (n, m) = (self.left.len(), self.right.len());
        match &self.listed {
            Some(pairs) => pairs.len(),
            None if self.same => n * n.saturating_sub(1) / 2,
            None => n * m,
        }
    }

    fn pairs(&self) -> Box<dyn Iterator<Item = (usize, usize)> + '_> {
        let (n, m, same) = (self.left.len(), self.right.len(), self.same);
        match &self.listed {
            Some(pairs) => Box::new(pairs.iter().copied()),
            None => Box::new(
                (0..n).flat_map(move |i| (if same { i + 1 } else { 0 }..m).map(move |j| (i, j))),
            ),
        }
    }

    /// Refuses pairs of different mass before the first row is printed.
    fn check_balance(&self) -> treeport::Result<()> {
        if let Some(pairs) = &self.listed {
            return pairs.iter().try_for_each(|&(i, j)| self.check_pair(i, j));
        }
        let extremes = |set: &Measures| {
            let by_total =
                |&i: &usize, &j: &usize| set.row(i).total().total_cmp(&set.row(j).total());
            Some(((0..set.len()).min_by(by_total)?, (0..set.len()).max_by(by_total)?))
        };
        // If the lightest and the heaviest agree, all do.
        match (extremes(self.left), extremes(self.right)) {
            (Some((light, heavy)), Some((lightest, heaviest))) => {
                self.check_pair(light, heaviest)?;
                self.check_pair(heavy, lightest)
            }
            _ => Ok(()),
        }
    }

    fn check_pair(&self, left: usize, right: usize) -> treeport::Result<()> {
        let (left_total, right_total) =
            (self.left.row(left).total(), self.right.row(right).total());
        if (left_total - right_total).abs() <= BALANCE_TOLERANCE * left_total.max(right_total) {
            return Ok(());
        }
        Err(Error::Unbalanced { left, right, left_total, right_total })
    }

    /// Computes chunk after chunk and hands each to `take`; memory stays small however many there are.
    fn stream(
        &self,
        bar: &ProgressBar,
        mut take: impl FnMut(&[(usize, usize)], &[f64]) -> Result<()>,
    ) -> Result<()> {
        let (left, right) = (self.tree.prepare(self.left)?, self.tree.prepare(self.right)?);
        let mut pairs = self.pairs();
        loop {
            let chunk: Vec<_> = pairs.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            let distance = |scratch: &mut Scratch, &(i, j): &(usize, usize)| {
                left.distance_to(i, &right, j, scratch)
            };
            let distances: Vec<f64> =
                chunk.par_iter().with_min_len(64).map_init(Scratch::default, distance).collect();
            take(&chunk, &distances)?;
            bar.inc(chunk.len() as u64);
            interrupt::check()?;
        }
    }

    fn write_rows(&self, out: &mut impl Write, json: bool, bar: &ProgressBar) -> Result<()> {
        if !json {
            writeln!(out, "left,right,distance")?;
        }
        self.stream(bar, |pairs, distances| {
            for (&(left, right), &distance) in pairs.iter().zip(distances) {
                let distance = output::number(distance);
                if json {
                    writeln!(out, r#"{{"left":{left},"right":{right},"distance":{distance}}}"#)?;
                } else {
                    writeln!(out, "{left},{right},{distance}")?;
                }
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        Ok(out.flush()?)
    }

    /// The matrix of all pairs, or the list of distances where pairs were listed.
    fn save_matrix(&self, path: &Path, bar: &ProgressBar) -> Result<()> {
        let (rows, columns) = (self.left.len(), self.right.len());
        let (shape, values) = if self.listed.is_some() {
            let mut values = Vec::with_capacity(self.len());
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
            let matrix = if self.same {
                self.tree.pairwise(self.left, &progress)
            } else {
                self.tree.cross(self.left, self.right, &progress)
            };
            let stopped = matches!(matrix, Err(Error::Cancelled));
            (vec![rows, columns], if stopped { return Err(Interrupted.into()) } else { matrix? })
        };
        bar.finish_and_clear();
        output::save(path, |out| Ok(npy::write_f64(&shape, &values, out)?))
    }

    /// A bar, unless the rows themselves scroll by.
    fn bar(&self, output: &Output, rows_at_terminal: bool) -> ProgressBar {
        if rows_at_terminal { ProgressBar::hidden() } else { output.bar("distances", self.len()) }
    }

    fn report(&self, path: &Path, output: &Output) -> Result<()> {
        let file = path.display().to_string();
        if output.json {
            return output::line(json!({"command": "distance", "pairs": self.len(), "file": file}));
        }
        output.note(&format!("{} distances written to {file}", self.len()));
        Ok(())
    }
}
