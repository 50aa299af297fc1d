//! `treeport coupling`: which mass goes where, for one pair of measures.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::{Measures, exact};

use crate::args::{MetricArgs, NamesArgs};
use crate::input;
use crate::output::{self, Output};
use crate::rows;

const EXAMPLE: &str = "\
Examples:
  treeport coupling model.tree --measures docs.npz --pair 0 7
  treeport coupling --exact --points words.npy --names words.txt --measures docs.npz --pair 0 7

Distances are those of the tree, or with `--exact` of the ground metric; mass times distance adds up
to the distance of the two measures. Mass that stays where it is has a row too.";

/// Options of `treeport coupling`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_group("MetricSource", |group| group.required(false)))]
pub(crate) struct CouplingArgs {
    /// A tree that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL", required_unless_present = "exact", conflicts_with = "exact")]
    #[arg(conflicts_with = "MetricSource")]
    model: Option<PathBuf>,
    /// The best plan of all for a ground metric, in place of a tree's.
    #[arg(long, requires = "MetricSource")]
    exact: bool,
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    names: NamesArgs,
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE")]
    measures: PathBuf,
    /// Divide every measure by its total mass.
    #[arg(long)]
    normalize: bool,
    /// The two measures, counted from 0.
    #[arg(long, num_args = 2, required = true, value_names = ["I", "J"])]
    pair: Vec<usize>,
    /// Write to a file: rows from, to, mass, distance (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// One row of a plan: from, to, mass and distance.
type Move = (usize, usize, f64, f64);

/// Names of the points, where they are known.
type Names = Option<Vec<String>>;

/// Runs `treeport coupling`.
pub(crate) fn run(args: &CouplingArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        output::check_place(path)?;
    }
    let (mut moves, names) = match &args.model {
        Some(model) => tree_plan(args, model)?,
        None => exact_plan(args, output)?,
    };
    moves.sort_unstable_by_key(|&(from, to, ..)| (from, to));
    let names = names.as_deref();
    if let Some(path) = file {
        output::save(path, |out| write(out, false, &moves, names))?;
        let (count, file) = (moves.len(), path.display().to_string());
        if output.json {
            output::line(json!({"command": "coupling", "moves": count, "file": file}))?;
        } else {
            output.note(&format!("{count} moves written to {file}"));
        }
    } else {
        write(&mut BufWriter::new(io::stdout().lock()), output.json, &moves, names)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tree_plan(args: &CouplingArgs, model: &Path) -> Result<(Vec<Move>, Names)> {
    let names = args.names.names.as_deref().map(input::names).transpose()?;
    let tree = input::model(model, names.as_deref())?;
    let (measures, i, j) = read_pair(args, tree.leaves())?;
    let plan = tree.coupling(&measures.row(i), &measures.row(j))?;
    let moves = plan.iter().map(|(from, to, mass)| (from, to, mass, tree.leaf_distance(from, to)));
    Ok((moves.collect(), tree.names().map(<[String]>::to_vec)))
}

fn exact_plan(args: &CouplingArgs, output: &Output) -> Result<(Vec<Move>, Names)> {
    let (metric, names) = input::named_metric(&args.ground, args.names.names.as_deref())?;
    let (measures, i, j) = read_pair(args, metric.points())?;
    let spinner = output.spinner("exact plan");
    let plan = exact::coupling(&metric, &measures.row(i), &measures.row(j));
    spinner.finish_and_clear();
    let mut moves: Vec<_> = plan?.iter().collect();
    // A graph is searched once for each run of moves from the same point.
    moves.sort_unstable_by_key(|&(from, to, _)| (from, to));
    let ends: Vec<_> = moves.iter().map(|&(from, to, _)| (from, to)).collect();
    let distances = metric.pairs(&ends);
    let with_distance =
        moves.into_iter().zip(distances).map(|((from, to, mass), d)| (from, to, mass, d));
    Ok((with_distance.collect(), names))
}

/// The measures and the two of them that are asked for.
fn read_pair(args: &CouplingArgs, points: usize) -> Result<(Measures, usize, usize)> {
    let (i, j) = (args.pair[0], args.pair[1]);
    let measures = input::measures(&args.measures, args.normalize)?;
    let fits = measures.check_points(points).and_then(|()| measures.check_pairs(&[(i, j)]));
    fits.with_context(|| input::name(&args.measures))?;
    Ok((measures, i, j))
}

fn write(out: &mut impl Write, json: bool, moves: &[Move], names: Option<&[String]>) -> Result<()> {
    if !json {
        writeln!(out, "from,to,mass,distance")?;
    }
    for &(from, to, mass, distance) in moves {
        if json {
            let (from, to) = (rows::json_name(names, from), rows::json_name(names, to));
            writeln!(
                out,
                "{}",
                json!({"from": from, "to": to, "mass": mass, "distance": distance})
            )?;
        } else {
            let (from, to) = (rows::csv_name(names, from), rows::csv_name(names, to));
            let (mass, distance) = (output::number(mass), output::number(distance));
            writeln!(out, "{from},{to},{mass},{distance}")?;
        }
    }
    Ok(out.flush()?)
}
