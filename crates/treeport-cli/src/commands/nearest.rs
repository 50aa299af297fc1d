//! `treeport nearest`: the measures closest to each measure, by tree distance.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use treeport::tree::{Prepared, Scratch};
use treeport::{Measures, Tree};
use treeport_report::terminal::at_least_one;

use crate::args::NamesArgs;
use crate::output::{self, Output, ProgressBar};
use crate::pairs::Pairs;
use crate::{input, interrupt, rows};

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
    /// A tree that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    names: NamesArgs,
    /// Measures to choose from, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE")]
    measures: PathBuf,
    /// Names of the measures, one per line.
    #[arg(long, value_name = "FILE")]
    measure_names: Option<PathBuf>,
    /// Measures whose neighbors are wanted [default: the measures themselves].
    #[arg(long, value_name = "FILE")]
    queries: Option<PathBuf>,
    /// Names of the queries, one per line.
    #[arg(long, value_name = "FILE", requires = "queries")]
    query_names: Option<PathBuf>,
    /// Neighbors of each.
    #[arg(short, value_name = "N", default_value_t = 10, value_parser = at_least_one)]
    k: usize,
    /// Divide every measure by its total mass.
    #[arg(long)]
    normalize: bool,
    /// Write to a file: rows query, rank, neighbor, distance (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Queries answered between two looks at Ctrl-C.
const CHUNK: usize = 64;

/// Everything the rows need.
struct Search<'a> {
    tree: &'a Tree,
    measures: &'a Measures,
    /// `None`: the measures ask about one another.
    queries: Option<&'a Measures>,
    k: usize,
    names: Option<Vec<String>>,
    query_names: Option<Vec<String>>,
}

/// Runs `treeport nearest`.
pub(crate) fn run(args: &NearestArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        if input::extension(path) != Some("csv") {
            bail!("cannot write `{}`: neighbors go to a .csv file", path.display());
        }
        output::check_place(path)?;
    }
    let names = args.names.names.as_deref().map(input::names).transpose()?;
    let tree = input::model(&args.model, names.as_deref())?;
    let read = |path: &Path| input::measures_on(tree.leaves(), path, args.normalize);
    let measures = read(&args.measures)?;
    let queries = args.queries.as_deref().map(read).transpose()?;
    let asking = queries.as_ref().unwrap_or(&measures);
    let pairs = Pairs::Across(asking.len(), measures.len());
    pairs.check_balance(asking, &measures).with_context(|| input::name(&args.measures))?;
    let names = input::measure_names(args.measure_names.as_deref(), &measures)?;
    let query_names = match &queries {
        Some(queries) => input::measure_names(args.query_names.as_deref(), queries)?,
        None => names.clone(),
    };
    let search = Search {
        tree: &tree,
        measures: &measures,
        queries: queries.as_ref(),
        k: args.k,
        names,
        query_names,
    };
    search.answer(file, asking.len(), output)?;
    Ok(ExitCode::SUCCESS)
}

impl Search<'_> {
    fn answer(&self, file: Option<&Path>, queries: usize, output: &Output) -> Result<()> {
        let Some(path) = file else {
            let at_terminal = io::stdout().is_terminal();
            let bar =
                if at_terminal { ProgressBar::hidden() } else { output.bar("neighbors", queries) };
            return self.write(&mut BufWriter::new(io::stdout().lock()), output.json, &bar);
        };
        let bar = output.bar("neighbors", queries);
        output::save(path, |out| self.write(out, false, &bar))?;
        let file = path.display().to_string();
        if output.json {
            return output::line(json!({"command": "nearest", "queries": queries, "file": file}));
        }
        output.note(&format!("neighbors of {queries} measures written to {file}"));
        Ok(())
    }

    fn write(&self, out: &mut impl Write, json: bool, bar: &ProgressBar) -> Result<()> {
        if !json {
            writeln!(out, "query,rank,neighbor,distance")?;
        }
        let among = self.tree.prepare(self.measures)?;
        let asking = self.tree.prepare(self.queries.unwrap_or(self.measures))?;
        let all: Vec<usize> = (0..asking.len()).collect();
        for chunk in all.chunks(CHUNK) {
            let found: Vec<Vec<(f64, usize)>> = chunk
                .par_iter()
                .map_init(Scratch::default, |scratch, &q| {
                    self.neighbors(&asking, q, &among, scratch)
                })
                .collect();
            for (&query, neighbors) in chunk.iter().zip(&found) {
                self.write_rows(out, json, query, neighbors)?;
            }
            bar.inc(chunk.len() as u64);
            interrupt::check()?;
        }
        bar.finish_and_clear();
        Ok(out.flush()?)
    }

    /// The closest first; a measure is no neighbor of itself.
    fn neighbors(
        &self,
        asking: &Prepared<'_>,
        query: usize,
        among: &Prepared<'_>,
        scratch: &mut Scratch,
    ) -> Vec<(f64, usize)> {
        let others = (0..among.len()).filter(|&m| self.queries.is_some() || m != query);
        let mut found: Vec<(f64, usize)> =
            others.map(|m| (asking.distance_to(query, among, m, scratch), m)).collect();
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if self.k < found.len() {
            found.select_nth_unstable_by(self.k, order);
            found.truncate(self.k);
        }
        found.sort_unstable_by(order);
        found
    }

    fn write_rows(
        &self,
        out: &mut impl Write,
        json: bool,
        query: usize,
        neighbors: &[(f64, usize)],
    ) -> Result<()> {
        let (queries, names) = (self.query_names.as_deref(), self.names.as_deref());
        for (rank, &(distance, neighbor)) in neighbors.iter().enumerate() {
            if json {
                let row = json!({
                    "query": rows::json_name(queries, query),
                    "rank": rank + 1,
                    "neighbor": rows::json_name(names, neighbor),
                    "distance": distance,
                });
                writeln!(out, "{row}")?;
            } else {
                let (query, neighbor) =
                    (rows::csv_name(queries, query), rows::csv_name(names, neighbor));
                writeln!(out, "{query},{},{neighbor},{}", rank + 1, output::number(distance))?;
            }
        }
        Ok(())
    }
}
