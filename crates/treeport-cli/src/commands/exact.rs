//! `treeport exact`: exact distances between measures, resumable.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use treeport::accuracy::{Accuracy, Question};
use treeport::metric::Components;
use treeport::solve::SolveOption;
use treeport::{Aim, Forecast, Measures, PointMetric, Relax};
use treeport_jobs::Shard;

use crate::args::{CloudArgs, MeasureArgs, MetricArgs, PairArgs, ShardArgs};
use crate::commands::fit::parse_time;
use crate::input::{self, PointSet};
use crate::interrupt::Interrupted;
use crate::output::Output;
use crate::pairs::Pairs;
use crate::parts::{self, Parts};
use crate::progress::{Watch, prepare};
use crate::rows::{self, Cell};
use crate::shards;
use crate::solved::Work;

const EXAMPLE: &str = "\
Examples:
  treeport exact --points words.npy --measures docs.npz --n-pairs 1000 -o labels.csv
  treeport exact --graph roads.csv --measures M.npz --pairs pairs.csv > distances.csv
  treeport fit --points words.npy --measures docs.npz --labels labels.csv -o model.tree
  treeport exact --points cells.npy --measures samples.npz --accuracy 0.01 --time 10m
  treeport exact --clouds jets.csv -o distances.csv
  treeport exact --clouds jets.csv --penalty 0.4 -o distances.csv

With `-o`, finished pairs are kept: after Ctrl-C, a crash or a kill the same command continues from
`labels.csv.part`, with all of `--time` for the pairs that are left. `fit --n-pairs N` draws the same
pairs for the same seed.

To run in parts, on several machines or one after the other, and merge them to the same file:
  treeport exact --points words.npy --measures docs.npz --shard 1/8 -o labels-1.csv.shard
  treeport merge labels-*.csv.shard -o labels.csv";

/// Options of `treeport exact`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_arg("measures", |arg| arg.required_unless_present("clouds")))]
pub(crate) struct ExactArgs {
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    measures: MeasureArgs,
    #[command(flatten)]
    clouds: CloudArgs,
    #[command(flatten)]
    pairs: PairArgs,
    #[arg(help = SolveOption::ACCURACY.help)]
    #[arg(long, value_name = "ACCURACY", conflicts_with = "shard", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| Question::Problem.read(text))]
    accuracy: Option<Accuracy>,
    #[arg(help = format!("{}: 30s, 10m, 2h. {}", SolveOption::TIME.help, SolveOption::TIME.of_many))]
    #[arg(long, value_name = "TIME", conflicts_with = "shard", value_parser = parse_time)]
    #[arg(allow_hyphen_values = true)]
    time: Option<Duration>,
    #[arg(help = SolveOption::PENALTY.help)]
    #[arg(long, value_name = "PRICE", allow_negative_numbers = true)]
    penalty: Option<f64>,
    #[arg(help = help_of_mass())]
    #[arg(long, value_name = "MASS", allow_negative_numbers = true, conflicts_with = "penalty")]
    mass: Option<f64>,
    #[arg(help = format!("{}; {}", SolveOption::ORDER.help, SolveOption::ORDER.range))]
    #[arg(long, value_name = "P", allow_negative_numbers = true, default_value_t = 1.0)]
    #[arg(hide_default_value = true)]
    order: f64,
    /// Name the engine that answers each pair, and why, in place of distances. Nothing is solved.
    #[arg(long, conflicts_with = "shard")]
    explain: bool,
    /// Write to a file: rows left, right, distance (.csv), as `fit --labels` reads them.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    shard: ShardArgs,
}

fn help_of_mass() -> String {
    let SolveOption { help, of_many, range, .. } = SolveOption::MASS;
    format!("{help}. {of_many}; {range}")
}

/// Runs `treeport exact`.
pub(crate) fn run(args: &ExactArgs, output: &Output) -> Result<ExitCode> {
    let file = args.shard.target(args.output.as_deref(), "exact distances go", &["csv"])?;
    let PosedProblems { ground, names, measures, pairs } = PosedProblems::read(args, output)?;
    let (relax, order, aim) = (args.relax(), args.order, args.aim());
    let bounds = Some(aim).filter(|_| args.accuracy.is_some() || args.time.is_some());
    let work = Work { ground: &ground, measures: &measures, pairs: &pairs, relax, order, bounds };
    if args.explain {
        // The route on a graph depends on whether its distances are prepared.
        if let Ok(metric) = ground.whole() {
            prepare(metric, output)?;
        }
        return explain(&work, &aim, file, output)
            .map_err(|error| input::with_node(error, names.as_deref()));
    }
    let mut job = work.job();
    if let Some(names) = measures.names() {
        job = job.part("measure-names", parts::of_names(Some(names)));
    }
    let shard = args.shard.of(pairs.len(), "csv", || Ok(job.clone()))?;
    let (job, pairs) = (shard.as_ref().map_or(job, Shard::own_job), pairs.of(shard.as_ref()));
    let work = Work { ground: &ground, measures: &measures, pairs: &pairs, relax, order, bounds };
    let open = |path| Parts::open(path, &job, (pairs.len(), "pairs"), None, output);
    let resumed = parts::regular(file).map(open).transpose()?;
    if let Ok(metric) = ground.whole() {
        prepare(metric, output)?;
    }
    // Before the first line of output.
    let first: Vec<_> = pairs.iter().take(MOST_FORECAST).collect();
    work.problems(&first).check()?;
    if first.len() == pairs.len() {
        let aim = if work.bounds.is_some() { aim } else { Aim::value() };
        print_forecast(&work.problems(&first).forecast(&aim), output);
    }
    let done = match resumed.zip(file) {
        Some((parts, path)) => save(&work, parts, (path, shard.as_ref()), output),
        None => print(&work, file, output),
    };
    done.map_err(|error| input::with_node(error, names.as_deref()))
}

impl ExactArgs {
    fn aim(&self) -> Aim {
        Aim::to(self.accuracy.unwrap_or(Accuracy::EXACT)).in_time(self.time)
    }

    /// Returns the relaxation of the marginals.
    fn relax(&self) -> Relax {
        let relax = self.penalty.map(Relax::Penalty).or(self.mass.map(Relax::Mass));
        relax.unwrap_or_default()
    }

    /// Reads the pairs of measures; totals may differ if the problem is relaxed.
    fn pairs(&self, measures: &Measures, from: &Path) -> Result<Pairs> {
        match self.relax() {
            Relax::Balanced => Pairs::new(&self.pairs, measures, from),
            _ => Pairs::of_any_totals(&self.pairs, measures, from),
        }
    }
}

/// Maximum number of pairs for which a forecast is printed; for more, the progress bar soon has an
/// estimate.
const MOST_FORECAST: usize = 1 << 16;

/// The problems to solve.
struct PosedProblems {
    ground: Components,
    /// Names of the points, if any.
    names: Option<Vec<String>>,
    measures: Measures,
    pairs: Pairs,
}

impl PosedProblems {
    fn read(args: &ExactArgs, output: &Output) -> Result<Self> {
        if let Some(path) = &args.clouds.clouds {
            return Self::of_clouds(args, path);
        }
        let (ground, names) = input::ground(&args.ground)?;
        let measures = args.measures.read(PointSet::of(ground.points(), names.as_ref()), output)?;
        let pairs = args.pairs(&measures, args.measures.path()?)?;
        Ok(Self { ground, names, measures, pairs })
    }

    /// Treats clouds as measures on the points of all of them.
    fn of_clouds(args: &ExactArgs, path: &Path) -> Result<Self> {
        let normalize = args.measures.how.normalize;
        // A cloud without mass is valid if unmatched mass is penalized.
        let clouds = if args.penalty.is_some() && !normalize {
            input::clouds_or_empty(path, &args.clouds.how)?
        } else {
            input::clouds(path, &args.clouds.how, normalize)?
        };
        let named = |error| input::of_clouds(error, &clouds, path);
        let metric = args.ground.metric.unwrap_or(PointMetric::Euclidean);
        let geometry = metric.with_optional_period(args.ground.period.clone());
        let ground = clouds.ground(geometry).map_err(|error| named(error.into()))?;
        let measures = clouds.measures().clone();
        let pairs = args.pairs(&measures, path).map_err(named)?;
        Ok(Self { ground: ground.into(), names: None, measures, pairs })
    }
}

/// Solves the missing pairs and writes their rows to the target.
fn save<'a>(
    work: &Work<'_>,
    parts: Parts<'a>,
    (target, shard): (&Path, Option<&'a Shard>),
    output: &Output,
) -> Result<ExitCode> {
    let (begun, earlier, all) = (Instant::now(), parts.earlier(), work.pairs.len());
    let (mut parts, mut rest) = (parts.of(shard), work.pairs.iter().skip(earlier));
    let (columns, mut head) = (work.columns(), Vec::new());
    rows::header(&mut head, false, columns)?;
    let whole = parts.fill(Work::sizes(), &head, |_, items, progress| {
        let chunk: Vec<_> = rest.by_ref().take(items.len()).collect();
        let values = work.values(&chunk, begun, all - items.start, progress)?;
        let mut out = Vec::new();
        rows::values(&mut out, (false, columns), [work.measures.names(); 2], &chunk, &values)?;
        Ok(out)
    })?;
    if !whole {
        return Ok(parts.interrupted());
    }
    parts.file.finish()?;
    let seconds = begun.elapsed().as_secs_f64();
    let facts = json!({"pairs": all, "done_before": earlier, "seconds": seconds});
    let what = if work.bounds.is_some() { "bounds" } else { "exact distances" };
    let note = format!("{all} {what}");
    shards::wrote(output, "exact", (Some(target), shard), facts, &note)?;
    Ok(ExitCode::SUCCESS)
}

/// Rows with the engines that answer every pair.
fn explain(work: &Work<'_>, aim: &Aim, file: Option<&Path>, output: &Output) -> Result<ExitCode> {
    let pairs: Vec<_> = work.pairs.iter().collect();
    let routes = work.problems(&pairs).routes(aim)?;
    rows::write_all((file, None), output, &ROUTES, |out, json| {
        let names = work.measures.names();
        pairs.iter().zip(&routes).try_for_each(|(&(left, right), route)| {
            let (left, right) = (rows::name(names, left), rows::name(names, right));
            let (sources, sinks) = (Cell::Count(route.sources()), Cell::Count(route.sinks()));
            let (engines, reason) = (&route.names(), Cell::Text(route.reason()));
            let cells = [left, right, Cell::Text(engines), sources, sinks, reason];
            rows::row(out, json, &ROUTES, &cells)
        })
    })?;
    let facts = json!({"pairs": pairs.len()});
    rows::wrote(output, "exact", file, facts, &format!("{} routes", pairs.len()))?;
    Ok(ExitCode::SUCCESS)
}

/// The columns of routes.
const ROUTES: [&str; 6] = ["left", "right", "engines", "sources", "sinks", "reason"];

/// Prints a forecast of long work.
fn print_forecast(forecast: &Forecast, output: &Output) {
    if forecast.is_long() {
        output.note_to_watchers(&format!("expected: {forecast}, roughly"));
    }
}

/// Writes rows to stdout, or to anything other than a regular file.
fn print(work: &Work<'_>, file: Option<&Path>, output: &Output) -> Result<ExitCode> {
    let watch = Watch::of_rows(output, file.is_none());
    rows::write(file, output, |out, json| {
        let (columns, mut header) = (work.columns(), true);
        // The header comes after the first problems, so that an error of theirs prints no row.
        let all = work.solve(0, &watch, |pairs, values| {
            if std::mem::take(&mut header) {
                rows::header(out, json, columns)?;
            }
            rows::values(out, (json, columns), [work.measures.names(); 2], pairs, values)?;
            Ok(out.flush()?)
        })?;
        if header && all {
            rows::header(out, json, columns)?;
        }
        if all { Ok(()) } else { Err(Interrupted.into()) }
    })?;
    Ok(ExitCode::SUCCESS)
}
