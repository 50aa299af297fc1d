//! `treeport export`: a model in the formats of other tools.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use treeport::Model;
use treeport::io::{npy, npz};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};

use crate::args::NamesArgs;
use crate::input;
use crate::output::{self, Output};
use crate::rows::{self, Cell};

const EXAMPLE: &str = "\
Examples:
  treeport export model.tree > tree.nwk
  treeport export model.tree -o dendrogram.svg
  treeport export model.tree --format linkage -o Z.npy      # scipy.cluster.hierarchy
  treeport export model.tree --measures docs.npz -o rows.npz

The rows of the embedding are sparse vectors whose cityblock distance is that of the model. Of a forest Newick has
a line for every tree, without the weights; the picture is of the tree that counts most.";

/// Options of `treeport export`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ExportArgs {
    /// A tree or a forest that `fit` has written, or Newick text (.nwk).
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
    /// SciPy's merges, for one ultrametric tree: CSV, or an array where the file ends in .npy.
    Linkage,
    /// Leaves, parent, length and names; of a forest all trees with their weights.
    Json,
    /// The dendrogram as a picture.
    Svg,
    /// The measures as sparse vectors (SciPy CSR) with the same distances.
    Npz,
}

const LINKAGE: [&str; 4] = ["left", "right", "distance", "points"];

/// Runs `treeport export`.
pub(crate) fn run(args: &ExportArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    let format = format(args, file, output)?;
    if let Some(path) = file {
        output::check_place(path)?;
    }
    let model = input::named_model(&args.model, &args.names)?;
    if format == Format::Svg && model.tree().is_none() {
        output.note("the picture is of the tree that counts most");
    }
    match (format, file) {
        (Format::Npz, Some(path)) => {
            let from = args.measures.as_deref().context("an embedding needs `--measures`")?;
            let rows = model.embed(&input::measures((&model).into(), from, false)?)?;
            output::save(path, |out| Ok(npz::write_csr(&rows, out)?))?;
        }
        (Format::Linkage, Some(path)) if input::extension(path) == Some("npy") => {
            let rows = linkage(args, &model)?;
            output::save(path, |out| {
                Ok(npy::write_f64(&[rows.len(), 4], rows.as_flattened(), out)?)
            })?;
        }
        _ => rows::write(file, output, |out, _| write(args, &model, format, out))?,
    }
    let (leaves, value) = (model.points(), format.to_possible_value());
    let name = value.as_ref().map_or("", |value| value.get_name());
    let facts = json!({"format": name, "leaves": leaves, "trees": model.trees().len()});
    rows::wrote(output, "export", file, facts, &format!("{name} of {leaves} leaves"))?;
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
fn write(args: &ExportArgs, model: &Model, format: Format, out: &mut dyn Write) -> Result<()> {
    match format {
        Format::Json => writeln!(out, "{}", json(model))?,
        Format::Svg => {
            let title = args.model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let options = DendrogramOptions { title, ..DendrogramOptions::default() };
            out.write_all(dendrogram_svg(model, &options).as_bytes())?;
        }
        Format::Linkage => {
            let merges = linkage(args, model)?;
            rows::header(out, false, &LINKAGE)?;
            for row in merges {
                rows::row(out, false, &LINKAGE, &row.map(Cell::Number))?;
            }
        }
        Format::Newick | Format::Npz => writeln!(out, "{}", model.to_newick())?,
    }
    Ok(())
}

fn json(model: &Model) -> Value {
    let (leaves, names) = (model.points(), model.names());
    if let Some(tree) = model.tree() {
        let (parent, length) = (tree.parents(), tree.lengths());
        return json!({"leaves": leaves, "names": names, "parent": parent, "length": length});
    }
    let trees = model.trees().iter().zip(model.weights()).map(
        |(tree, weight)| json!({"weight": weight, "parent": tree.parents(), "length": tree.lengths()}),
    );
    json!({"leaves": leaves, "names": names, "trees": trees.collect::<Vec<_>>()})
}

fn linkage(args: &ExportArgs, model: &Model) -> Result<Vec<[f64; 4]>> {
    let name = input::name(&args.model);
    let Some(tree) = model.tree() else {
        let trees = model.trees().len();
        bail!(
            "{name}: a linkage matrix is of one tree, and this is a forest of {trees}; `--format newick` writes any model"
        );
    };
    tree.to_linkage().context(name)
}
