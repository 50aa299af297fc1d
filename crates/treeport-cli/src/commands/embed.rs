//! `treeport embed`: measures as vectors whose cityblock distance is the tree distance.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use treeport::Csr;
use treeport::io::npz;

use crate::args::NamesArgs;
use crate::output::{self, Output};
use crate::{input, interrupt, rows};

const EXAMPLE: &str = "\
Examples:
  treeport embed model.tree --measures docs.npz -o rows.npz
  treeport embed model.tree --measures docs.npz --measure-names titles.txt > rows.csv

A row has length(v) times the mass below v at every node v of the tree, so that the cityblock distance
of two rows is the tree distance of the two measures: any index for that distance will do.
In Python: rows = scipy.sparse.load_npz(\"rows.npz\")";

/// Options of `treeport embed`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct EmbedArgs {
    /// A tree that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    names: NamesArgs,
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE")]
    measures: PathBuf,
    /// Names of the measures, one per line; rows of text carry them.
    #[arg(long, value_name = "FILE")]
    measure_names: Option<PathBuf>,
    /// Divide every measure by its total mass.
    #[arg(long)]
    normalize: bool,
    /// Write to a file: a SciPy sparse matrix (.npz), or rows measure, node, value (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `treeport embed`.
pub(crate) fn run(args: &EmbedArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        if !matches!(input::extension(path), Some("npz" | "csv")) {
            bail!("cannot write `{}`: an embedding goes to a .npz or .csv file", path.display());
        }
        output::check_place(path)?;
    }
    let names = args.names.names.as_deref().map(input::names).transpose()?;
    let tree = input::model(&args.model, names.as_deref())?;
    let measures = input::measures(&args.measures, args.normalize)?;
    let titles = input::measure_names(args.measure_names.as_deref(), &measures)?;
    let rows = tree.embed(&measures).with_context(|| input::name(&args.measures))?;
    interrupt::check()?;
    let Some(path) = file else {
        let mut out = BufWriter::new(io::stdout().lock());
        write(&mut out, &rows, titles.as_deref(), output.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    if input::extension(path) == Some("npz") {
        output::save(path, |out| Ok(npz::write_csr(&rows, out)?))?;
    } else {
        output::save(path, |out| write(out, &rows, titles.as_deref(), false))?;
    }
    let (count, columns, file) = (rows.rows, rows.cols, path.display().to_string());
    if output.json {
        let entries = rows.values.len();
        output::line(
            json!({"command": "embed", "measures": count, "nodes": columns, "entries": entries, "file": file}),
        )?;
    } else {
        output.note(&format!("{count} rows over {columns} nodes written to {file}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// One line for every entry.
fn write(out: &mut impl Write, rows: &Csr, titles: Option<&[String]>, json: bool) -> Result<()> {
    if !json {
        writeln!(out, "measure,node,value")?;
    }
    for (row, bounds) in rows.start.windows(2).enumerate() {
        for entry in bounds[0]..bounds[1] {
            let (node, value) = (rows.indices[entry], rows.values[entry]);
            if json {
                let measure = rows::json_name(titles, row);
                writeln!(out, "{}", json!({"measure": measure, "node": node, "value": value}))?;
            } else {
                writeln!(out, "{},{node},{}", rows::csv_name(titles, row), output::number(value))?;
            }
        }
    }
    Ok(out.flush()?)
}
