//! `treeport distance`: distances between measures, of a tree or a forest.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::io::npy;
use treeport::model::Prepared;
use treeport::progress::State;
use treeport::{Error, Measures, Model};

use crate::args::{ModelArgs, PairArgs};
use crate::input;
use crate::interrupt::Interrupted;
use crate::output::{self, Output};
use crate::pairs::{self, Pairs};
use crate::progress::{Watch, watched};
use crate::rows::{self, Cell, DISTANCES};

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
    #[command(flatten)]
    of: ModelArgs,
    #[command(flatten)]
    pairs: PairArgs,
    /// A second set: every measure of the first is compared with every one of these.
    #[arg(long, value_name = "FILE", conflicts_with = "n_pairs", help_heading = "Measures")]
    against: Option<PathBuf>,
    /// Names of the measures, one per line; rows carry them in place of numbers.
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    measure_names: Option<PathBuf>,
    /// Names of the second set, one per line.
    #[arg(long, value_name = "FILE", requires = "against", help_heading = "Measures")]
    against_names: Option<PathBuf>,
    /// Write to a file: rows left, right, distance (.csv), or the matrix (.npy).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Distances between two writes.
const CHUNK: usize = 1 << 16;

/// Runs `treeport distance`.
pub(crate) fn run(args: &DistanceArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "distances go", &["csv", "npy"])?;
    let model = args.of.model()?;
    let left = args.of.measures.read((&model).into())?;
    let normalize = args.of.measures.normalize;
    let read = |path: &PathBuf| input::measures((&model).into(), path, normalize);
    let against = args.against.as_ref().map(read).transpose()?;
    let pairs = which_pairs(args, &left, against.as_ref())?;
    let left_names = input::measure_names(args.measure_names.as_deref(), &left)?;
    let right_names = match &against {
        Some(set) => input::measure_names(args.against_names.as_deref(), set)?,
        None => left_names.clone(),
    };
    if let Some(path) = file.filter(|path| input::extension(path) == Some("npy")) {
        let (shape, values) = matrix(&model, &left, against.as_ref(), &pairs, output)?;
        output::save(path, |out| Ok(npy::write_f64(&shape, &values, out)?))?;
    } else {
        let (prepared, offset) = prepare(&model, &left, against.as_ref())?;
        let watch = Watch::of_rows(output, file.is_none());
        rows::write(file, output, |out, json| {
            rows::header(out, json, &DISTANCES)?;
            stream(&prepared, offset, &pairs, &watch, |(i, j), distance| {
                let left = rows::name(left_names.as_deref(), i);
                let right = rows::name(right_names.as_deref(), j);
                rows::row(out, json, &DISTANCES, &[left, right, Cell::Number(distance)])
            })
        })?;
    }
    let count = pairs.len();
    rows::wrote(output, "distance", file, json!({"pairs": count}), &format!("{count} distances"))?;
    Ok(ExitCode::SUCCESS)
}

/// Which pairs are wanted; pairs of different mass are refused before the first row.
fn which_pairs(args: &DistanceArgs, left: &Measures, against: Option<&Measures>) -> Result<Pairs> {
    let from = args.of.measures.path()?;
    let (Some(right), Some(path)) = (against, &args.against) else {
        // One measure alone has no pairs, and no row is no error here.
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

/// Both sets laid out as one, and where the second begins.
fn prepare(
    model: &Model,
    left: &Measures,
    against: Option<&Measures>,
) -> Result<(Prepared, usize)> {
    Ok(match against {
        Some(right) => (model.prepare(&left.followed_by(right)?)?, left.len()),
        None => (model.prepare(left)?, 0),
    })
}

/// Computes chunk after chunk and hands over the distances; memory stays small however many there
/// are.
fn stream(
    prepared: &Prepared,
    offset: usize,
    pairs: &Pairs,
    watch: &Watch<'_>,
    mut take: impl FnMut((usize, usize), f64) -> Result<()>,
) -> Result<()> {
    let (mut done, total) = (0, Some(pairs.len()));
    let mut rest = pairs.iter();
    loop {
        let chunk: Vec<_> = rest.by_ref().take(CHUNK).map(|(i, j)| (i, offset + j)).collect();
        if chunk.is_empty() {
            return Ok(());
        }
        let of_all =
            |state: &State<'_>| watch.hear(&State { done: done + state.done, total, ..*state });
        let distances = match prepared.pairs(&chunk, &of_all) {
            Err(Error::Cancelled) => return Err(Interrupted.into()),
            distances => distances?,
        };
        for (&(i, j), &distance) in chunk.iter().zip(&distances) {
            take((i, j - offset), distance)?;
        }
        done += chunk.len();
    }
}

/// The matrix of all pairs, or the list of distances where pairs were listed, with its shape.
fn matrix(
    model: &Model,
    left: &Measures,
    against: Option<&Measures>,
    pairs: &Pairs,
    output: &Output,
) -> Result<(Vec<usize>, Vec<f64>)> {
    let (rows, columns) = (left.len(), against.unwrap_or(left).len());
    if matches!(pairs, Pairs::Listed(_)) {
        let (prepared, offset) = prepare(model, left, against)?;
        let mut values = Vec::with_capacity(pairs.len());
        stream(&prepared, offset, pairs, &Watch::new(output), |_, distance| {
            values.push(distance);
            Ok(())
        })?;
        return Ok((vec![values.len()], values));
    }
    let values = watched(output, |progress| match against {
        Some(right) => model.cross(left, right, progress),
        None => model.pairwise(left, progress),
    })?;
    Ok((vec![rows, columns], values))
}
