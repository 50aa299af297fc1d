//! `treeport unifrac`: computes UniFrac distances of all samples of a table on a phylogeny.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use treeport::io::npy;
use treeport::tree::{UniFrac, UniFracOptions};
use treeport::{Error, Measures};

use crate::args::{ModelArgs, choice};
use crate::input;
use crate::output::{self, Output};
use crate::progress::watched;
use crate::rows;

const EXAMPLE: &str = "\
Examples:
  treeport unifrac tree.nwk --measures table.biom -o unifrac.tsv
  treeport unifrac tree.nwk --measures table.tsv.gz --transpose --variant unweighted -o unifrac.tsv
  treeport unifrac tree.nwk --measures samples.csv --variant generalized --alpha 0.5 -o unifrac.npy

Samples are rows of counts, and need not be divided by their totals. Use `--transpose` for tables with samples
in columns, such as QIIME's text tables. Samples may have no counts. Leaves that the table does not name have no
counts, so a reference tree need not be pruned. A name that no leaf has is an error.

In Python: tree.unifrac(table, variant=\"unweighted\"), or skbio.DistanceMatrix.read(\"unifrac.tsv\").";

/// Options of `treeport unifrac`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("normalize", |arg| arg.hide(true)))]
#[command(mut_arg("model", |arg| arg.help("A phylogeny: Newick text (.nwk), or a tree that `fit` has written")))]
pub(crate) struct UniFracArgs {
    #[command(flatten)]
    of: ModelArgs,
    /// The kind of UniFrac.
    #[arg(long, value_name = "NAME", value_parser = choice::<UniFrac>(), default_value = "weighted")]
    variant: UniFrac,
    /// The weight of abundant taxa in `generalized`, from 0 to 1.
    #[arg(long, value_name = "NUMBER", default_value_t = 0.5)]
    alpha: f64,
    /// Accept a root with more than two children, as files of unrooted trees have: distances depend on
    /// where that root is.
    #[arg(long)]
    unrooted: bool,
    /// Write to a file: the matrix with the names of the samples (.tsv, .csv), or without (.npy)
    /// [default: text to stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `treeport unifrac`.
pub(crate) fn run(args: &UniFracArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "distances go", &["tsv", "csv", "npy"])?;
    ensure!(file.is_some() || !output.json, "`unifrac` prints a matrix; leave `--json` out");
    let model = args.of.model()?;
    let tree = model.tree().with_context(|| {
        format!("{}: UniFrac needs one tree, and this is a forest", input::name(&args.of.model))
    })?;
    let samples = args.of.measures.read_or_empty((&model).into(), output)?;
    let UniFracArgs { variant, alpha, unrooted, .. } = *args;
    let options = UniFracOptions { variant, alpha, unrooted };
    let found = watched(output, |progress| tree.unifrac(&samples, &options, progress));
    let distances = found.map_err(|error| of_tree(error, &args.of.model))?;
    write(file, &samples, &distances, output)?;
    let facts = json!({"samples": samples.len(), "variant": args.variant.to_string()});
    let note = format!("{} UniFrac of {} samples", args.variant, samples.len());
    rows::wrote(output, "unifrac", file, facts, &note)?;
    Ok(ExitCode::SUCCESS)
}

/// Adds the file's name to an error about the tree.
fn of_tree(error: anyhow::Error, path: &Path) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Error::Unrooted { .. } | Error::NoLength { .. } | Error::NoLengths) => {
            error.context(input::name(path))
        }
        _ => error,
    }
}

/// Writes the matrix; text has the names of samples.
fn write(
    file: Option<&Path>,
    samples: &Measures,
    distances: &[f64],
    output: &Output,
) -> Result<()> {
    let count = samples.len();
    let ending = file.and_then(input::extension);
    if let (Some(path), Some("npy")) = (file, ending.as_deref()) {
        return output::save(path, |out| Ok(npy::write_f64(&[count, count], distances, out)?));
    }
    let separator = if ending.as_deref() == Some("csv") { ',' } else { '\t' };
    rows::write(file, output, |out, _| {
        rows::square_header(out, separator, (samples.names(), count))?;
        distances.chunks(count.max(1)).enumerate().try_for_each(|(row, values)| {
            rows::square_row(out, separator, (samples.names(), row), values)
        })
    })
}
