//! `treeport export`: a tree in the formats of other tools.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use treeport::Tree;
use treeport::io::{npy, npz};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};

use crate::args::NamesArgs;
use crate::input;
use crate::output::{self, Output};

const EXAMPLE: &str = "\
Examples:
  treeport export model.tree > tree.nwk
  treeport export model.tree -o dendrogram.svg
  treeport export model.tree --format linkage -o Z.npy      # scipy.cluster.hierarchy
  treeport export model.tree --measures docs.npz -o rows.npz

The rows of the embedding are sparse vectors whose cityblock distance is the tree distance.";

/// Options of `treeport export`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ExportArgs {
    /// A tree that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    names: NamesArgs,
    /// What to write [default: by the name of the output file, else newick].
    #[arg(long, value_enum, value_name = "NAME")]
    format: Option<Format>,
    /// Measures to embed, one per row (.npz, .npy, .csv); for the format npz.
    #[arg(long, value_name = "FILE")]
    measures: Option<PathBuf>,
    /// Where it goes [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The text of phylogenies.
    Newick,
    /// SciPy's merges, for ultrametric trees: CSV, or an array where the file ends in .npy.
    Linkage,
    /// Leaves, parent, length and names.
    Json,
    /// The dendrogram as a picture.
    Svg,
    /// The measures as sparse vectors (SciPy CSR) with the same distances.
    Npz,
}

/// Runs `treeport export`.
pub(crate) fn run(args: &ExportArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    let format = format(args, file, output)?;
    if let Some(path) = file {
        output::check_place(path)?;
    }
    let names = args.names.names.as_deref().map(input::names).transpose()?;
    let tree = input::model(&args.model, names.as_deref())?;
    match file {
        Some(path) if format == Format::Npz => save_embedding(args, &tree, path)?,
        Some(path) if format == Format::Linkage && input::extension(path) == Some("npy") => {
            let rows = linkage(args, &tree)?;
            output::save(path, |out| {
                Ok(npy::write_f64(&[rows.len(), 4], rows.as_flattened(), out)?)
            })?;
        }
        Some(path) => output::save(path, |out| write(args, &tree, format, out))?,
        None => write(args, &tree, format, &mut BufWriter::new(io::stdout().lock()))?,
    }
    if let Some(path) = file {
        report(&tree, format, path, output)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The format asked for, the one the file's name says, or Newick.
fn format(args: &ExportArgs, file: Option<&Path>, output: &Output) -> Result<Format> {
    let by_name = match file.and_then(input::extension) {
        Some("svg") => Format::Svg,
        Some("json") => Format::Json,
        Some("npy" | "csv") => Format::Linkage,
        Some("npz") => Format::Npz,
        None if output.json => Format::Json,
        _ => Format::Newick,
    };
    let format = args.format.unwrap_or(by_name);
    if output.json && file.is_none() && format != Format::Json {
        bail!("`--json` on stdout is the format json; for another one give `-o FILE`");
    }
    if format == Format::Npz && (args.measures.is_none() || file.is_none()) {
        bail!("an embedding needs measures and a file: `--measures M.npz -o rows.npz`");
    }
    Ok(format)
}

/// Writes a format made of text.
fn write(args: &ExportArgs, tree: &Tree, format: Format, out: &mut impl Write) -> Result<()> {
    match format {
        Format::Json => writeln!(
            out,
            "{}",
            json!({
                "leaves": tree.leaves(),
                "parent": tree.parents(),
                "length": tree.lengths(),
                "names": tree.names(),
            })
        )?,
        Format::Svg => {
            let title = args.model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let options = DendrogramOptions { title, ..DendrogramOptions::default() };
            out.write_all(dendrogram_svg(tree, &options).as_bytes())?;
        }
        Format::Linkage => {
            let rows = linkage(args, tree)?;
            writeln!(out, "left,right,distance,points")?;
            for [left, right, distance, points] in rows {
                writeln!(out, "{left},{right},{},{points}", output::number(distance))?;
            }
        }
        Format::Newick | Format::Npz => writeln!(out, "{}", tree.to_newick())?,
    }
    Ok(out.flush()?)
}

fn linkage(args: &ExportArgs, tree: &Tree) -> Result<Vec<[f64; 4]>> {
    tree.to_linkage().with_context(|| input::name(&args.model))
}

fn save_embedding(args: &ExportArgs, tree: &Tree, path: &Path) -> Result<()> {
    let from = args.measures.as_deref().context("an embedding needs `--measures`")?;
    let measures = input::measures(from, false)?;
    let rows = tree.embed(&measures).with_context(|| input::name(from))?;
    output::save(path, |out| Ok(npz::write_csr(&rows, out)?))
}

fn report(tree: &Tree, format: Format, path: &Path, output: &Output) -> Result<()> {
    let (leaves, file) = (tree.leaves(), path.display().to_string());
    let value = format.to_possible_value().expect("no format is hidden");
    let name = value.get_name();
    if output.json {
        return output::line(
            json!({"command": "export", "format": name, "leaves": leaves, "file": file}),
        );
    }
    output.note(&format!("{leaves} leaves written to {file} as {name}"));
    Ok(())
}
