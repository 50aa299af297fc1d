//! `treeport embed`: measures as vectors whose cityblock distance is the model's.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::io::npz;

use crate::args::ModelArgs;
use crate::output::{self, Output};
use crate::rows::{self, Cell};
use crate::{input, interrupt};

const EXAMPLE: &str = "\
Examples:
  treeport embed model.tree --measures docs.npz -o rows.npz
  treeport embed model.tree --measures docs.npz --measure-names titles.txt > rows.csv

A row has length(v) times the mass below v at every node v of the tree, so that the cityblock distance
of two rows is the tree distance of the two measures: any index for that distance will do. The trees of a forest
stand side by side, each times its weight.
In Python: rows = scipy.sparse.load_npz(\"rows.npz\")";

/// Options of `treeport embed`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    of: ModelArgs,
    /// Names of the measures, one per line; rows of text carry them.
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    measure_names: Option<PathBuf>,
    /// Write to a file: a SciPy sparse matrix (.npz), or rows measure, node, value (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const COLUMNS: [&str; 3] = ["measure", "node", "value"];

/// Runs `treeport embed`.
pub(crate) fn run(args: &EmbedArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "an embedding goes", &["npz", "csv"])?;
    let model = args.of.model()?;
    let measures = args.of.measures.read((&model).into())?;
    let titles = input::measure_names(args.measure_names.as_deref(), &measures)?;
    let path = args.of.measures.path()?;
    let embedded = model.embed(&measures).with_context(|| input::name(path))?;
    interrupt::check()?;
    if let Some(path) = file.filter(|path| input::extension(path) == Some("npz")) {
        output::save(path, |out| Ok(npz::write_csr(&embedded, out)?))?;
    } else {
        rows::write(file, output, |out, json| {
            rows::header(out, json, &COLUMNS)?;
            for (row, bounds) in embedded.start.windows(2).enumerate() {
                for entry in bounds[0]..bounds[1] {
                    let (node, value) = (embedded.indices[entry], embedded.values[entry]);
                    let measure = rows::name(titles.as_deref(), row);
                    let cells = [measure, Cell::Count(node), Cell::Number(value)];
                    rows::row(out, json, &COLUMNS, &cells)?;
                }
            }
            Ok(())
        })?;
    }
    let (count, nodes, entries) = (embedded.rows, embedded.cols, embedded.values.len());
    let facts = json!({"measures": count, "nodes": nodes, "entries": entries});
    rows::wrote(output, "embed", file, facts, &format!("{count} rows over {nodes} nodes"))?;
    Ok(ExitCode::SUCCESS)
}
