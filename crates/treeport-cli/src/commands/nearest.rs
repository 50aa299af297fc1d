//! `treeport nearest`: the measures closest to each measure.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use treeport::Measures;
use treeport::model::Prepared;
use treeport::progress::State;
use treeport::tree::Scratch;
use treeport_report::terminal::at_least_one;

use crate::args::ModelArgs;
use crate::input;
use crate::interrupt::Interrupted;
use crate::output::Output;
use crate::progress::Watch;
use crate::rows::{self, Cell};

const EXAMPLE: &str = "\
Examples:
  treeport nearest model.tree --measures docs.npz -k 5
  treeport nearest model.tree --measures docs.npz --measure-names titles.txt --queries new.npz

Without `--queries` every measure is asked about its neighbors among the others. All of them are
compared, a microsecond each; ties go to the smaller number.";

/// Options of `treeport nearest`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct NearestArgs {
    #[command(flatten)]
    of: ModelArgs,
    /// Names of the measures, one per line.
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    measure_names: Option<PathBuf>,
    /// Measures whose neighbors are wanted [default: the measures themselves].
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    queries: Option<PathBuf>,
    /// Names of the queries, one per line.
    #[arg(long, value_name = "FILE", requires = "queries", help_heading = "Measures")]
    query_names: Option<PathBuf>,
    /// Neighbors of each.
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    k: usize,
    /// Write to a file: rows query, rank, neighbor, distance (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Queries answered between two looks at Ctrl-C.
const CHUNK: usize = 64;

const COLUMNS: [&str; 4] = ["query", "rank", "neighbor", "distance"];

/// Runs `treeport nearest`.
pub(crate) fn run(args: &NearestArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "neighbors go", &["csv"])?;
    let model = args.of.model()?;
    let (measures, normalize) =
        (args.of.measures.read((&model).into())?, args.of.measures.normalize);
    let read = |path: &PathBuf| input::measures((&model).into(), path, normalize);
    let queries = args.queries.as_ref().map(read).transpose()?;
    let asking = queries.as_ref().unwrap_or(&measures);
    let path = input::name(args.of.measures.path()?);
    Measures::check_all_balanced(&[asking, &measures]).with_context(|| match &args.queries {
        Some(queries) => format!("{} against {path}", input::name(queries)),
        None => path,
    })?;
    let names = input::measure_names(args.measure_names.as_deref(), &measures)?;
    let query_names = match &queries {
        Some(queries) => input::measure_names(args.query_names.as_deref(), queries)?,
        None => names.clone(),
    };
    let (among, prepared) = (model.prepare(&measures)?, model.prepare(asking)?);
    let (count, watch) = (asking.len(), Watch::of_rows(output, file.is_none()));
    rows::write(file, output, |out, json| {
        rows::header(out, json, &COLUMNS)?;
        for first in (0..count).step_by(CHUNK) {
            let chunk = first..count.min(first + CHUNK);
            let found: Vec<Vec<(f64, usize)>> = chunk
                .clone()
                .into_par_iter()
                .map_init(Scratch::default, |scratch, query| {
                    // A measure is no neighbor of itself.
                    let itself = if queries.is_some() { None } else { Some(query) };
                    neighbors(args.k, (&prepared, query), &among, itself, scratch)
                })
                .collect();
            for (query, neighbors) in chunk.clone().zip(found) {
                for ((distance, neighbor), rank) in neighbors.into_iter().zip(1..) {
                    let query = rows::name(query_names.as_deref(), query);
                    let neighbor = rows::name(names.as_deref(), neighbor);
                    let cells = [query, Cell::Count(rank), neighbor, Cell::Number(distance)];
                    rows::row(out, json, &COLUMNS, &cells)?;
                }
            }
            let (done, total) = (chunk.end, Some(count));
            let state = State { task: "neighbors", done, total, error: None, checkpoint: None };
            if !watch.hear(&state) {
                return Err(Interrupted.into());
            }
        }
        Ok(())
    })?;
    let note = format!("neighbors of {count} measures");
    rows::wrote(output, "nearest", file, json!({"queries": count}), &note)?;
    Ok(ExitCode::SUCCESS)
}

/// The closest first.
fn neighbors(
    k: usize,
    (asking, query): (&Prepared, usize),
    among: &Prepared,
    itself: Option<usize>,
    scratch: &mut Scratch,
) -> Vec<(f64, usize)> {
    let others = (0..among.measures().len()).filter(|&m| itself != Some(m));
    let mut found: Vec<(f64, usize)> =
        others.map(|m| (asking.distance_to(query, among, m, scratch), m)).collect();
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if k < found.len() {
        found.select_nth_unstable_by(k, order);
        found.truncate(k);
    }
    found.sort_unstable_by(order);
    found
}
