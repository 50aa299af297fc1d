//! `treeport coupling`: the transport plan between two measures.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::{Measures, Problem};

use crate::args::{GroundArgs, MeasureArgs};
use crate::finder::MeasureFinder;
use crate::input::{self, PointSet};
use crate::output::Output;
use crate::progress::watched;
use crate::rows::{self, Cell};

const EXAMPLE: &str = "\
Examples:
  treeport coupling model.tree --measures docs.npz --pair 0 7
  treeport coupling --exact --points words.npy --names words.txt --measures docs.npz --pair 0 7

Distances are those of the model, or with `--exact` those of the ground metric. Mass times distance adds up
to the distance of the two measures; for a forest, to a little more. Mass that stays in place has a row, too.";

/// Options of `treeport coupling`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_group("MetricSource", |group| group.required(false)))]
#[command(mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct CouplingArgs {
    /// A tree or a forest that `fit` has written, or Newick text (.nwk).
    #[arg(value_name = "MODEL", required_unless_present = "exact", conflicts_with = "exact")]
    #[arg(conflicts_with = "MetricSource")]
    model: Option<PathBuf>,
    /// The optimal plan for a ground metric, in place of a model's plan.
    #[arg(long, requires = "MetricSource")]
    exact: bool,
    #[command(flatten)]
    ground: GroundArgs,
    #[command(flatten)]
    measures: MeasureArgs,
    /// The two measures: their numbers from 0, or their IDs in the table.
    #[arg(long, num_args = 2, required = true, value_names = ["I", "J"])]
    pair: Vec<String>,
    /// Write to a file: rows from, to, mass, distance (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Rows of a plan (from, to, mass, distance), and the names of the points, if known.
type Plan = (Vec<(usize, usize, f64, f64)>, Option<Vec<String>>);

const COLUMNS: [&str; 4] = ["from", "to", "mass", "distance"];

/// Runs `treeport coupling`.
pub(crate) fn run(args: &CouplingArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "a plan goes", &["csv"])?;
    let (mut moves, names) = match &args.model {
        Some(model) => model_plan(args, model, output)?,
        None => exact_plan(args, output)?,
    };
    moves.sort_unstable_by_key(|&(from, to, ..)| (from, to));
    let name = |point| rows::name(names.as_deref(), point);
    rows::write_all((file, None), output, &COLUMNS, |out, json| {
        moves.iter().try_for_each(|&(from, to, mass, distance)| {
            let [mass, distance] = [mass, distance].map(Cell::Number);
            rows::row(out, json, &COLUMNS, &[name(from), name(to), mass, distance])
        })
    })?;
    let count = moves.len();
    rows::wrote(output, "coupling", file, json!({"moves": count}), &format!("{count} moves"))?;
    Ok(ExitCode::SUCCESS)
}

fn model_plan(args: &CouplingArgs, path: &Path, output: &Output) -> Result<Plan> {
    let model = input::named_model(path, &args.ground.names)?;
    let (measures, (i, j)) = read_pair(&args.measures, &args.pair, (&model).into(), output)?;
    let plan = model.coupling(&measures.row(i), &measures.row(j))?;
    let moves = plan.iter().map(|(from, to, mass)| (from, to, mass, model.leaf_distance(from, to)));
    Ok((moves.collect(), model.names().map(<[String]>::to_vec)))
}

fn exact_plan(args: &CouplingArgs, output: &Output) -> Result<Plan> {
    let (ground, names) = input::named_ground(&args.ground)?;
    let space = PointSet::of(ground.points(), names.as_ref());
    let (measures, (i, j)) = read_pair(&args.measures, &args.pair, space, output)?;
    let (a, b) = (measures.row(i), measures.row(j));
    let solved =
        watched(output, |progress| Problem::new(&ground, &a, &b).numbered(i, j).solve(progress));
    let solved = solved.map_err(|error| input::with_node(error, names.as_deref()))?;
    let mut moves: Vec<_> = solved.plan.iter().collect();
    // Consecutive moves from the same point share one search of a graph.
    moves.sort_unstable_by_key(|&(from, to, _)| (from, to));
    let ends: Vec<_> = moves.iter().map(|&(from, to, _)| (from, to)).collect();
    let distances = ground.pairs(&ends);
    let row = |((from, to, mass), distance)| (from, to, mass, distance);
    Ok((moves.into_iter().zip(distances).map(row).collect(), names))
}

/// Reads the measures, and finds the two of `--pair`.
pub(crate) fn read_pair(
    args: &MeasureArgs,
    pair: &[String],
    space: PointSet<'_>,
    output: &Output,
) -> Result<(Measures, (usize, usize))> {
    let (measures, path) = (args.read(space, output)?, args.path()?);
    let finder = MeasureFinder::new(&measures);
    let find =
        |which: usize| finder.find("`--pair`", &pair[which]).with_context(|| input::name(path));
    let (i, j) = (find(0)?, find(1)?);
    measures.check_pairs(&[(i, j)]).with_context(|| input::name(path))?;
    Ok((measures, (i, j)))
}
