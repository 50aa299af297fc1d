//! `treeport report`: a model as one page to look at.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde_json::json;
use treeport::estimate::{Answer, Estimator, Level};
use treeport::learn::Epoch;
use treeport::{Error, Forest, GroundMetric, Measures, Tree, silent};
use treeport_report::report::{Model, Report, Test, html};
use treeport_report::score::Score;

use crate::args::{MetricArgs, NamesArgs};
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Output};
use crate::scored::{Scored, TestArgs};
use crate::{history, input, labels};

const EXAMPLE: &str = "\
Examples:
  treeport report model.tree -o report.html
  treeport report model.tree --points words.npy --names words.txt --measures docs.npz -o report.html
  treeport report model.tree start.nwk --graph roads.csv --measures M.npz --history loss.csv -o roads.html

One file that works without a network: the tree to walk around in, predicted against exact distances,
errors, transport plans. Without a ground metric and measures it shows the tree alone. Everything is
judged on the second half of the pairs, as `treeport eval` does.";

/// Options of `treeport report`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_group("MetricSource", |group| group.required(false)))]
pub(crate) struct ReportArgs {
    /// Trees that `fit` has written, or Newick text (.nwk); the first one is shown first.
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    ground: MetricArgs,
    #[command(flatten)]
    names: NamesArgs,
    #[command(flatten)]
    test: TestArgs,
    /// Names of the measures, one per line.
    #[arg(long, value_name = "FILE", requires = "measures", help_heading = "Test pairs")]
    measure_names: Option<PathBuf>,
    /// Losses that `fit --history` has written, for the first model (.csv).
    #[arg(long, value_name = "FILE", help_heading = "What to show")]
    history: Option<PathBuf>,
    /// A group for every point, one per line; groups give colours.
    #[arg(long, value_name = "FILE", help_heading = "What to show")]
    groups: Option<PathBuf>,
    /// Heading of the page [default: the name of the model].
    #[arg(long, value_name = "TEXT", help_heading = "What to show")]
    title: Option<String>,
    /// Unit of distances, such as km.
    #[arg(long, value_name = "TEXT", default_value = "", help_heading = "What to show")]
    unit: String,
    /// Where the page goes (.html).
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// What the page is made from, read and solved.
struct Read {
    trees: Vec<Tree>,
    metric: Option<GroundMetric>,
    measures: Option<Measures>,
    measure_names: Option<Vec<String>>,
    history: Vec<Epoch>,
    groups: Option<Vec<String>>,
}

/// Runs `treeport report`.
pub(crate) fn run(args: &ReportArgs, output: &Output) -> Result<ExitCode> {
    let file = &args.output;
    if !input::is_standard(file) {
        if !matches!(input::extension(file), Some("html" | "htm")) && !file.exists() {
            bail!("cannot write `{}`: a report goes to a .html file", file.display());
        }
        output::check_place(file)?;
    }
    let read = Read::new(args, output)?;
    let scored = match (&read.metric, &read.measures, args.test.measures.as_deref()) {
        (Some(metric), Some(measures), Some(path)) => {
            Some(args.test.label(path, metric, measures, output)?)
        }
        _ => None,
    };
    interrupt::check()?;
    let report = read.report(args, scored.as_ref())?;
    let page = page(&report, output)?;
    if input::is_standard(file) {
        output::line(page.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    output::save(file, |out| Ok(out.write_all(page.as_bytes())?))?;
    let (shown, bytes) = (file.display().to_string(), page.len());
    if output.json {
        let scores = report.scores.iter().map(|(name, s)| json!({"name": name, "error": s.mean}));
        output::line(json!({
            "command": "report",
            "models": report.models.len(),
            "bytes": bytes,
            "scores": scores.collect::<Vec<_>>(),
            "file": shown,
        }))?;
    } else {
        output.note(&format!(
            "report written to {shown} ({} kB); open it in a browser",
            bytes / 1000
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// The text of the page, with a bar while plans are solved.
pub(crate) fn page(report: &Report<'_>, output: &Output) -> Result<String> {
    let spinner = output.spinner("transport plans");
    let page = html(report, &|_| !interrupt::asked());
    spinner.finish_and_clear();
    match page {
        Err(Error::Cancelled) => Err(Interrupted.into()),
        page => Ok(page?),
    }
}

impl Read {
    fn new(args: &ReportArgs, output: &Output) -> Result<Self> {
        let has_metric = input::has_metric(&args.ground);
        ensure!(
            has_metric == args.test.measures.is_some(),
            "predictions are judged with both a ground metric and `--measures`; give both or neither"
        );
        let mut names = args.names.names.as_deref().map(input::names).transpose()?;
        let mut metric = None;
        if has_metric {
            let (read, own) = input::metric(&args.ground)?;
            names = names.or(own);
            metric = Some(read);
        }
        let mut trees: Vec<Tree> = Vec::with_capacity(args.models.len());
        for path in &args.models {
            let tree = input::model(path, names.as_deref())?;
            if let Some(metric) = &metric {
                input::check_leaves(path, tree.leaves(), metric)?;
            }
            if let Some(first) = trees.first() {
                let (leaves, expected) = (tree.leaves(), first.leaves());
                let name = input::name(path);
                ensure!(
                    leaves == expected,
                    "{name}: it has {leaves} leaves, the first model {expected}"
                );
            }
            trees.push(tree);
        }
        let metric = metric.map(|metric| labels::solvable(metric, output));
        let measures = match (&args.test.measures, &metric) {
            (Some(path), Some(metric)) => Some(args.test.read(path, metric)?),
            _ => None,
        };
        let groups = args.groups.as_deref();
        Ok(Self {
            groups: groups
                .map(|path| input::counted_names(path, trees[0].leaves(), "points"))
                .transpose()?,
            measure_names: match &measures {
                Some(set) => input::measure_names(args.measure_names.as_deref(), set)?,
                None => None,
            },
            history: args.history.as_deref().map(history::read).transpose()?.unwrap_or_default(),
            trees,
            metric,
            measures,
        })
    }

    fn report<'a>(
        &'a self,
        args: &ReportArgs,
        scored: Option<&'a Scored<'a>>,
    ) -> Result<Report<'a>> {
        let mut models = Vec::with_capacity(self.trees.len());
        let mut scores = Vec::new();
        for (k, (tree, path)) in self.trees.iter().zip(&args.models).enumerate() {
            let (mut predicted, mut bounds) = (Vec::new(), None);
            if let Some(scored) = scored {
                let all = tree.pairs(scored.measures, &scored.labels.pairs, &silent)?;
                scores.push((path.display().to_string(), scored.score(&all, 1.0)));
                predicted = all[scored.half..].to_vec();
                bounds = self.bounds(tree, scored)?;
            }
            let history = if k == 0 { &self.history[..] } else { &[] };
            let name = path.display().to_string();
            models.push(Model { file: name.clone(), name, tree, history, predicted, bounds });
        }
        if let Some(scored) = scored {
            let baselines = scored.baselines()?;
            scores.extend(baselines.map(|b| (b.name.replace(" x ", " × "), b.score)));
        }
        let test = scored.zip(self.metric.as_ref()).map(|(scored, metric)| Test {
            metric,
            measures: scored.measures,
            names: self.measure_names.clone(),
            pairs: &scored.labels.pairs[scored.half..],
            exact: &scored.labels.distances[scored.half..],
            diameter: scored.diameter,
        });
        let stem = args.models[0].file_stem().unwrap_or_default().to_string_lossy();
        Ok(Report {
            title: args.title.clone().unwrap_or_else(|| stem.into_owned()),
            summary: self.summary(scored),
            unit: args.unit.clone(),
            tiles: tiles(&scores, self.trees.len()),
            models,
            test,
            scores,
            groups: self.groups.clone(),
            facts: self.facts(args, scored),
            version: env!("TREEPORT_VERSION").into(),
        })
    }

    /// Between which values the exact distance of every test pair is certain to lie, by this tree alone.
    fn bounds(&self, tree: &Tree, scored: &Scored<'_>) -> Result<Option<Vec<(f64, f64)>>> {
        let Some(metric) = &self.metric else { return Ok(None) };
        let forest = Forest::uniform(vec![tree.clone()])?;
        let estimator = Estimator::new(metric, &forest)?;
        let pairs = &scored.labels.pairs[scored.half..];
        let go_on = |_| !interrupt::asked();
        let ends = |answer: &Answer| (answer.interval.lower, answer.interval.upper);
        match estimator.answers(Level::Flow, scored.measures, pairs, &go_on) {
            Err(Error::Cancelled) => Err(Interrupted.into()),
            answers => Ok(Some(answers?.iter().map(ends).collect())),
        }
    }

    fn summary(&self, scored: Option<&Scored<'_>>) -> String {
        let points = self.trees[0].leaves();
        match scored {
            Some(scored) => format!(
                "A tree over {points} points, judged on {} pairs of measures whose exact transport distance is known.",
                scored.labels.pairs.len() - scored.half
            ),
            None => format!("A tree over {points} points."),
        }
    }

    fn facts(&self, args: &ReportArgs, scored: Option<&Scored<'_>>) -> Vec<(String, String)> {
        let Some(scored) = scored else { return vec![] };
        let mut facts = vec![("points".to_owned(), scored.measures.points().to_string())];
        let mut add = |key: &str, value: String| facts.push((key.to_owned(), value));
        let source = &args.ground.source;
        if let Some(path) =
            source.points.as_ref().or(source.matrix.as_ref()).or(source.graph.as_ref())
        {
            add("ground metric", path.display().to_string());
        }
        let metric = self.metric.as_ref();
        let coordinates = metric.and_then(|m| Some((m.coordinates()?.0, m.norm()?)));
        if let Some((dim, norm)) = coordinates {
            add("coordinates", format!("{dim}, {norm}"));
        }
        add("largest distance", format!("{} {}", output::three_digits(scored.diameter), args.unit));
        let measures = scored.measures;
        add("measures", measures.len().to_string());
        let mean = measures.entries() as f64 / measures.len().max(1) as f64;
        add("points in a measure", format!("{} on average", output::three_digits(mean)));
        let (pairs, half) = (scored.labels.pairs.len(), scored.half);
        add(
            "test pairs",
            format!("{pairs}: {half} fit the constants of the baselines, {} judge", pairs - half),
        );
        let left_out = Score::new(
            &scored.labels.distances[half..],
            &scored.labels.distances[half..],
            scored.diameter,
        )
        .left_out;
        if left_out > 0 {
            add("left out", format!("{left_out} pairs whose distance is nearly 0"));
        }
        facts
    }
}

/// The figures at the top: the first model's errors, beside the best that knows almost nothing.
fn tiles(scores: &[(String, Score)], models: usize) -> Vec<(String, String)> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let Some((_, first)) = scores.first() else { return vec![] };
    let nulls = scores[models..].iter().map(|(_, score)| score.mean);
    let null = nulls.fold(f64::INFINITY, f64::min);
    let mut tiles = vec![
        (percent(first.mean), "mean error".to_owned()),
        (percent(first.median), "median error".to_owned()),
        (percent(first.max), "largest error".to_owned()),
    ];
    if null.is_finite() {
        tiles.push((percent(null), "the better null baseline".to_owned()));
    }
    tiles
}
