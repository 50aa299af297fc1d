//! `treeport export`: writes a model in the formats of other tools.

mod pgvector;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use treeport::Model;
use treeport::io::{npy, npz};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};

use self::pgvector::PgvectorArgs;
use crate::args::{MeasureArgs, NamesArgs};
use crate::input;
use crate::output::{self, Output};
use crate::rows::{self, Cell};

const EXAMPLE: &str = "\
Examples:
  treeport export model.tree > tree.nwk
  treeport export model.tree -o dendrogram.svg
  treeport export model.tree --format linkage -o Z.npy      # scipy.cluster.hierarchy
  treeport export model.tree --measures docs.npz -o rows.npz
  treeport export model.tree --measures docs.npz --table docs -o rows.sql && psql -f rows.sql
  treeport export model.tree --measures docs.npz --queries new.npz --contracted small.tree -o rows.sql

The rows of the embedding are sparse vectors whose Manhattan distance (cityblock) is that of the model. For a forest,
Newick text has a line for every tree, without the weights; the picture shows the tree with the largest weight.

The format pgvector (.sql) makes a PostgreSQL table with an index for that distance, `<+>`. The index takes rows
of up to 1,000 entries. If measures have more, edges of the model are contracted, and their lengths are added to the
edges below; the command says by how much distances change at most. Queries have to come from the same contraction: give
them as `--queries`, or embed them later with the model that `--contracted` writes.";

/// Options of `treeport export`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
#[command(mut_arg("measures", |arg| arg.help("Measures to embed, one per row (.npz, .npy, .csv); for the formats npz and pgvector")))]
pub(crate) struct ExportArgs {
    /// A tree or a forest that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    names: NamesArgs,
    /// What to write [default: by the name of the output file, else newick].
    #[arg(long, value_enum, value_name = "NAME")]
    format: Option<Format>,
    #[command(flatten)]
    measures: MeasureArgs,
    #[command(flatten)]
    pgvector: PgvectorArgs,
    /// The file to write [default: stdout].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The text of phylogenies.
    Newick,
    /// SciPy's merges, for one ultrametric tree: CSV, or an array if the file ends in .npy.
    Linkage,
    /// Leaves, parent, length and names; for a forest all trees with their weights.
    Json,
    /// The dendrogram as a picture.
    Svg,
    /// The measures as sparse vectors (SciPy CSR) with the same distances.
    Npz,
    /// The sparse vectors as SQL: a PostgreSQL table with pgvector.
    Pgvector,
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
        output.note("the picture shows the tree with the largest weight");
    }
    let mut facts = json!({});
    match (format, file) {
        (Format::Npz, Some(path)) => {
            let rows = model.embed(&args.measures.read((&model).into(), output)?)?;
            output::save(path, |out| Ok(npz::write_csr(&rows, out)?))?;
        }
        (Format::Linkage, Some(path)) if input::extension(path).as_deref() == Some("npy") => {
            let rows = linkage(args, &model)?;
            output::save(path, |out| {
                Ok(npy::write_f64(&[rows.len(), 4], rows.as_flattened(), out)?)
            })?;
        }
        (Format::Pgvector, _) => {
            let export = args.pgvector.read(&model, &args.measures, output)?;
            rows::write(file, output, |out, _| export.write(out))?;
            export.note().iter().for_each(|note| output.note(note));
            facts = export.facts();
        }
        _ => rows::write(file, output, |out, _| write(args, &model, format, out))?,
    }
    let (leaves, value) = (model.points(), format.to_possible_value());
    let name = value.as_ref().map_or("", |value| value.get_name());
    facts["format"] = json!(name);
    facts["leaves"] = json!(leaves);
    facts["trees"] = json!(model.trees().len());
    rows::wrote(output, "export", file, facts, &format!("{name} of {leaves} leaves"))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the requested format, or the one of the file's name, or Newick.
fn format(args: &ExportArgs, file: Option<&Path>, output: &Output) -> Result<Format> {
    let by_name = match file.and_then(input::extension).as_deref() {
        Some("svg") => Format::Svg,
        Some("json") => Format::Json,
        Some("npy" | "csv") => Format::Linkage,
        Some("npz") => Format::Npz,
        Some("sql") => Format::Pgvector,
        None if output.json => Format::Json,
        _ => Format::Newick,
    };
    let format = args.format.unwrap_or(by_name);
    if output.json && file.is_none() && format != Format::Json {
        bail!("`--json` on stdout is the format json; for another one give `-o FILE`");
    }
    let measures = args.measures.measures.is_some();
    if format == Format::Npz && (!measures || file.is_none()) {
        bail!("an embedding needs measures and a file: `--measures M.npz -o rows.npz`");
    }
    if format == Format::Pgvector && !measures {
        bail!("a table of vectors needs measures: `--measures M.npz`");
    }
    if let Some(option) = args.pgvector.given().filter(|_| format != Format::Pgvector) {
        bail!(
            "`{option}` belongs to the format pgvector; give `--format pgvector`, or leave it out"
        );
    }
    Ok(format)
}

/// Writes a text format.
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
        Format::Newick | Format::Npz | Format::Pgvector => writeln!(out, "{}", model.to_newick())?,
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
            "{name}: a linkage matrix needs one tree, and this is a forest of {trees}; `--format newick` writes any model"
        );
    };
    tree.to_linkage().context(name)
}
