//! `treeport certify`: proved bounds from a plan or potentials of any solver.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use treeport::accuracy::{Accuracy, Question};
use treeport::solve::SolveOption;
use treeport::{Aim, Coupling, Problem, Proposal, Relax, Wanted};

use crate::args::{GroundArgs, MeasureArgs};
use crate::commands::coupling::read_pair;
use crate::commands::fit::parse_time;
use crate::input::{self, PointSet};
use crate::output::Output;
use crate::progress::watched;
use crate::rows::{self, Cell};

const EXAMPLE: &str = "\
Examples:
  treeport certify --points cells.npy --measures days.npz --pair 0 1 --plan plan.csv
  treeport certify --points cells.npy --measures days.npz --pair 0 1 --plan plan.csv --potentials duals.csv

The plan is rounded to the marginals and proves the upper bound; potentials are made feasible and prove the
lower bound. Without one of the files, the solver proves that bound, to `--accuracy` and within `--time`.";

/// Options of `treeport certify`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required(true)))]
pub(crate) struct CertifyArgs {
    #[command(flatten)]
    ground: GroundArgs,
    #[command(flatten)]
    measures: MeasureArgs,
    /// The two measures: their numbers from 0, or their IDs in the table.
    #[arg(long, num_args = 2, required = true, value_names = ["I", "J"])]
    pair: Vec<String>,
    /// The plan: columns from, to, mass (.csv, .tsv), as `coupling` writes them.
    #[arg(long, value_name = "FILE", required_unless_present = "potentials")]
    plan: Option<PathBuf>,
    /// Potentials of the points of both measures: columns point, left, right (.csv, .tsv).
    #[arg(long, value_name = "FILE")]
    potentials: Option<PathBuf>,
    #[arg(help = SolveOption::ACCURACY.help)]
    #[arg(long, value_name = "ACCURACY", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| Question::Problem.read(text))]
    accuracy: Option<Accuracy>,
    #[arg(help = format!("{}: 30s, 10m, 2h", SolveOption::TIME.help))]
    #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
    time: Option<Duration>,
    #[arg(help = SolveOption::PENALTY.help)]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    penalty: Option<f64>,
    /// Write to a file: a row lower, upper, rerouted (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Bounds, and the mass that the rounded plan moves and the plan of the file did not.
const COLUMNS: [&str; 3] = ["lower", "upper", "rerouted"];

/// Runs `treeport certify`.
pub(crate) fn run(args: &CertifyArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(args.output.as_deref(), "a certificate goes", &["csv"])?;
    let (ground, names) = input::named_ground(&args.ground)?;
    let space = PointSet::of(ground.points(), names.as_ref());
    let (measures, (i, j)) = read_pair(&args.measures, &args.pair, space, output)?;
    let (a, b) = (measures.row(i), measures.row(j));
    let points = Points::new(ground.points(), names.as_deref());
    let plan = args.plan.as_deref().map(|path| points.plan(path)).transpose()?;
    let potentials = args.potentials.as_deref().map(|path| points.potentials(path)).transpose()?;
    let mut proposal = Proposal::default();
    if let Some(plan) = &plan {
        proposal = proposal.with_moves(plan);
    }
    if let Some([left, right]) = &potentials {
        proposal = proposal.with_left(left).with_right(right);
    }
    let aim = Aim::to(args.accuracy.unwrap_or(Accuracy::EXACT)).in_time(args.time);
    let relax = args.penalty.map(Relax::Penalty).unwrap_or_default();
    let problem = Problem::new(&ground, &a, &b).numbered(i, j).relaxed(relax);
    let found = watched(output, |progress| {
        problem.certify(&proposal, &aim.wanting(Wanted::Value), progress)
    });
    let found = found.map_err(|error| input::with_node(error, names.as_deref()))?;
    let values = [found.answer.lower, found.answer.upper, found.rerouted];
    rows::write_all((file, None), output, &COLUMNS, |out, json| {
        rows::row(out, json, &COLUMNS, &values.map(Cell::Number))
    })?;
    let [lower, upper, rerouted] = values;
    let facts = json!({"lower": lower, "upper": upper, "rerouted": rerouted});
    rows::wrote(output, "certify", file, facts, "a certificate")?;
    Ok(ExitCode::SUCCESS)
}

/// The points, by name if they have names, or else by number.
struct Points<'a> {
    count: usize,
    by_name: Option<HashMap<&'a str, usize>>,
}

impl<'a> Points<'a> {
    fn new(count: usize, names: Option<&'a [String]>) -> Self {
        let by_name = names.map(|names| {
            names.iter().enumerate().map(|(point, name)| (name.as_str(), point)).collect()
        });
        Self { count, by_name }
    }

    fn find(&self, what: &str, cell: &str) -> Result<usize> {
        if let Some(by_name) = &self.by_name {
            let found = by_name.get(cell).copied();
            return found
                .with_context(|| format!("{what} is `{cell}`, and no point has that name"));
        }
        let point: usize = cell
            .parse()
            .with_context(|| format!("{what} is `{cell}`, expected a point's number"))?;
        let count = self.count;
        ensure!(point < count, "{what} is {point}, but there are {count} points, numbered from 0");
        Ok(point)
    }

    fn plan(&self, path: &Path) -> Result<Coupling> {
        let mut plan = Coupling::default();
        input::columns(path, ["from", "to", "mass"], |[from, to, mass]| {
            plan.left.push(self.find("from", from)? as u32);
            plan.right.push(self.find("to", to)? as u32);
            plan.mass.push(number("mass", mass)?);
            Ok(())
        })?;
        Ok(plan)
    }

    /// Reads potentials; those of points that the file does not list are unknown.
    fn potentials(&self, path: &Path) -> Result<[Vec<f64>; 2]> {
        let mut potentials = [vec![f64::NAN; self.count], vec![f64::NAN; self.count]];
        input::columns(path, ["point", "left", "right"], |[point, left, right]| {
            let point = self.find("point", point)?;
            potentials[0][point] = number("left", left)?;
            potentials[1][point] = number("right", right)?;
            Ok(())
        })?;
        Ok(potentials)
    }
}

fn number(what: &str, cell: &str) -> Result<f64> {
    cell.parse().with_context(|| format!("{what} is `{cell}`, expected a number"))
}
