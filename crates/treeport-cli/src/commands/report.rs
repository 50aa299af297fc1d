//! `treeport report`: writes a model as a page to explore.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::json;
use treeport::accuracy::{Accuracy, Level};
use treeport::estimate::{CertifiedEstimate, Estimator};
use treeport::learn::Epoch;
use treeport::{GroundMetric, Labeled, Measures, Model, Progress, Score};
use treeport_report::chart::FrontPoint;
use treeport_report::report::{self, MOST_QUERIES, NeighborSearch, Report, Test, html};
use treeport_report::timing::{time_exact, time_model};

use crate::args::TestArgs;
use crate::input::{self, MetricAndModels};
use crate::output::{self, Output};
use crate::progress::{prepare, watched};
use crate::rows;

const EXAMPLE: &str = "\
Examples:
  treeport report model.tree -o report.html
  treeport report model.tree --points words.npy --names words.txt --measures docs.npz -o report.html
  treeport report model.tree start.nwk --graph roads.csv --measures M.npz --history loss.csv -o roads.html

The page is one file that works without a network. It shows the tree to explore, predicted against exact distances,
errors, transport plans, and the nearest measures of some, each with the plan that explains its distance. Without a
ground metric, neighbors are those of the first model. Without measures, it shows the trees alone. A forest is shown
one tree at a time. Models are tested as by `treeport eval`. Trees of more than 20,000 leaves are shown as a summary of
at most 2,000 groups of leaves, which keeps the page below 2 MB.";

/// Options of `treeport report`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE, mut_group("MetricSource", |group| group.required(false)))]
pub(crate) struct ReportArgs {
    /// Trees and forests that `fit` has written, or Newick text (.nwk); the first one is shown
    /// first.
    #[arg(value_name = "MODEL", required = true)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    test: TestArgs,
    /// Names of the measures, one per line.
    #[arg(long, value_name = "FILE", requires = "measures", help_heading = "Measures")]
    measure_names: Option<PathBuf>,
    /// Measures whose neighbors are shown, at most 30, by their numbers from 0 [default: some, evenly
    /// spaced].
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires = "measures")]
    #[arg(help_heading = "What to show")]
    neighbors_of: Vec<usize>,
    /// Losses that `fit --history` has written, for the first model (.csv).
    #[arg(long, value_name = "FILE", help_heading = "What to show")]
    history: Option<PathBuf>,
    /// A group for every point, one per line; groups color the tree.
    #[arg(long, value_name = "FILE", help_heading = "What to show")]
    groups: Option<PathBuf>,
    /// Heading of the page [default: the name of the model].
    #[arg(long, value_name = "TEXT", help_heading = "What to show")]
    title: Option<String>,
    /// Unit of distances, such as km.
    #[arg(long, value_name = "TEXT", default_value = "", help_heading = "What to show")]
    unit: String,
    /// The file for the page (.html).
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Time limit for timing the pairs of a model.
const TIMING: Duration = Duration::from_secs(1);

/// Inputs of the page, read and solved.
struct Inputs {
    models: Vec<Model>,
    /// Ground metric and labels for evaluating the models, if given.
    test: Option<(GroundMetric, Labeled)>,
    /// Measures without a ground metric to evaluate on.
    measures: Option<Measures>,
    measure_names: Option<Vec<String>>,
    history: Vec<Epoch>,
    groups: Option<Vec<String>>,
}

/// Runs `treeport report`.
pub(crate) fn run(args: &ReportArgs, output: &Output) -> Result<ExitCode> {
    let file = rows::target(Some(&args.output), "a report goes", &["html", "htm"])?;
    let inputs = Inputs::read(args, output)?;
    let report = inputs.report(args, output)?;
    let page = page(&report, output)?;
    rows::write(file, output, |out, _| Ok(out.write_all(page.as_bytes())?))?;
    let scores = report.scores.iter().map(|(name, s)| json!({"name": name, "error": s.mean}));
    let facts = json!({
        "models": report.models.len(),
        "bytes": page.len(),
        "scores": scores.collect::<Vec<_>>(),
    });
    let unjudged = inputs.measures.is_some();
    let what = if unjudged { "unjudged report (no ground metric)" } else { "report" };
    let note = format!("{what} of {} kB", page.len() / 1000);
    rows::wrote(output, "report", file, facts, &note)?;
    Ok(ExitCode::SUCCESS)
}

/// Renders the page, with a progress bar while plans are solved.
pub(crate) fn page(report: &Report<'_>, output: &Output) -> Result<String> {
    watched(output, |progress| html(report, progress))
}

impl Inputs {
    fn read(args: &ReportArgs, output: &Output) -> Result<Self> {
        let has_measures = args.test.data.measures.measures.is_some();
        ensure!(
            has_measures || args.test.ground.metric.source.file().is_none(),
            "predictions are judged with both a ground metric and `--measures`; give both or neither"
        );
        let (ground, pairs) = (&args.test.ground, &args.test.data.pairs);
        // Labels and pairs are for evaluation, which needs the metric.
        let judged =
            args.test.data.labels.is_some() || pairs.pairs.is_some() || pairs.n_pairs.is_some();
        let (metric, models) = if has_measures && judged {
            let (metric, read) = MetricAndModels::with_metric(ground, &args.models)?;
            (Some(metric), read.models)
        } else {
            let read = MetricAndModels::read(ground, &args.models)?;
            (read.metric.filter(|_| has_measures), read.models)
        };
        let first = models[0].points();
        for (model, path) in models.iter().zip(&args.models) {
            let (leaves, name) = (model.points(), input::name(path));
            ensure!(leaves == first, "{name}: it has {leaves} leaves, the first model {first}");
        }
        let groups = args.groups.as_deref();
        let groups = groups.map(|path| input::counted_names(path, models[0].points(), "points"));
        let (groups, history) = (groups.transpose()?, args.history.as_deref().map(input::history));
        let history = history.transpose()?.unwrap_or_default();
        let (mut test, mut measures) = (None, None);
        if let Some(metric) = metric {
            prepare(&metric, output)?;
            let data = args.test.data.test(&metric, models[0].names(), output)?;
            test = Some((metric, data));
        } else if has_measures {
            measures = Some(args.test.data.measures.read((&models[0]).into(), output)?);
        }
        let inputs = Self { models, test, measures, measure_names: None, history, groups };
        let names = inputs
            .measures()
            .map(|measures| input::measure_names(args.measure_names.as_deref(), measures));
        let measure_names = names.transpose()?.flatten();
        Ok(Self { measure_names, ..inputs })
    }

    /// Returns the measures, with or without a ground metric.
    fn measures(&self) -> Option<&Measures> {
        self.test.as_ref().map(|(_, data)| data.measures()).or(self.measures.as_ref())
    }

    /// Returns the measures whose neighbors are shown. They need equal totals; otherwise the
    /// section is omitted unless it was requested.
    fn search(&self, args: &ReportArgs) -> Result<Option<NeighborSearch<'_>>> {
        let Some(measures) = self.measures() else { return Ok(None) };
        let mut of: Vec<usize> = Vec::new();
        for &number in &args.neighbors_of {
            measures.get(number).context("--neighbors-of")?;
            if !of.contains(&number) {
                of.push(number);
            }
        }
        let (given, most) = (of.len(), MOST_QUERIES);
        ensure!(
            given <= most,
            "`--neighbors-of` has {given} measures; a page shows {most} at most"
        );
        let balanced = Measures::check_all_balanced(&[measures]);
        if balanced.is_err() && of.is_empty() && self.test.is_some() {
            return Ok(None);
        }
        let path = input::name(args.test.data.measures.path()?);
        balanced.context(path)?;
        let metric = self.test.as_ref().map(|(metric, _)| metric);
        Ok(Some(NeighborSearch { measures, names: self.measure_names.clone(), metric, of }))
    }

    fn report<'a>(&'a self, args: &ReportArgs, output: &Output) -> Result<Report<'a>> {
        let search = self.search(args)?;
        let (mut models, mut scores) = (Vec::with_capacity(self.models.len()), Vec::new());
        for (k, (model, path)) in self.models.iter().zip(&args.models).enumerate() {
            let (mut predicted, mut bounds) = (Vec::new(), None);
            let name = path.display().to_string();
            if let Some((metric, data)) = &self.test {
                (predicted, bounds) = watched(output, |progress| {
                    // Certified bounds of the exact distance, by this model alone.
                    let (level, estimator) = (Level::Flow, Estimator::new(metric, model)?);
                    let (measures, pairs) = (data.measures(), data.pairs());
                    let answers =
                        estimator.answers(Accuracy::Level(level), measures, pairs, progress)?;
                    let ends =
                        |answer: &CertifiedEstimate| (answer.interval.lower, answer.interval.upper);
                    let bounds = answers.iter().map(ends).collect();
                    Ok((model.pairs(measures, pairs, progress)?, Some(bounds)))
                })?;
                scores.push((name.clone(), data.score(&predicted)));
            }
            let history = if k == 0 { &self.history[..] } else { &[] };
            models.push(report::Model {
                file: name.clone(),
                name,
                model,
                history,
                predicted,
                bounds,
            });
        }
        let front = self.front(&scores, output)?;
        let data = self.test.as_ref().map(|(_, data)| data);
        let baselines = data.map(Labeled::null_baselines);
        scores.extend(baselines.into_iter().flatten().map(|b| (b.name.to_owned(), b.score)));
        let test = self.test.as_ref().map(|(metric, data)| Test {
            metric,
            data,
            names: self.measure_names.clone(),
        });
        let stem = args.models[0].file_stem().unwrap_or_default().to_string_lossy();
        Ok(Report {
            title: args.title.clone().unwrap_or_else(|| stem.into_owned()),
            summary: self.summary(),
            unit: args.unit.clone(),
            tiles: tiles(&scores, self.models.len()),
            models,
            test,
            search,
            facts: self.facts(args, scores.first().map_or(0, |(_, score)| score.left_out)),
            scores,
            front,
            groups: self.groups.clone(),
            places: self.test.as_ref().and_then(|(metric, _)| report::places(metric)),
            version: env!("TREEPORT_VERSION").into(),
        })
    }

    /// Times the models and the exact solver on the test pairs.
    fn front(&self, scores: &[(String, Score)], output: &Output) -> Result<Option<report::Front>> {
        let Some((metric, data)) = &self.test else { return Ok(None) };
        let (measures, pairs) = (data.measures(), data.pairs());
        let mut points = Vec::with_capacity(scores.len() + 1);
        let mut add = |name: &str, error, seconds| {
            points.push(FrontPoint { name: name.to_owned(), seconds, error });
        };
        for (model, (name, score)) in self.models.iter().zip(scores) {
            let time =
                |progress: &Progress<'_>| time_model(model, measures, pairs, TIMING, progress);
            add(name, score.mean, watched(output, time)?.1);
        }
        let time = |progress: &Progress<'_>| time_exact(metric, measures, pairs, TIMING, progress);
        add("exact", 0.0, watched(output, time)?.1);
        Ok(Some(report::Front {
            points,
            constant_guess: Some(data.null_baselines()[0].score.mean),
            note: "Times of a pair, on one thread.".into(),
        }))
    }

    fn summary(&self) -> String {
        let (model, points) = (&self.models[0], self.models[0].points());
        let what = match model {
            Model::Tree(_) => format!("A tree over {points} points"),
            Model::Forest(forest) => {
                format!("A forest of {} trees over {points} points", forest.trees().len())
            }
        };
        match &self.test {
            Some((_, data)) => format!(
                "{what}, judged on {} pairs of measures whose exact transport distance is known.",
                data.len()
            ),
            None => format!("{what}."),
        }
    }

    fn facts(&self, args: &ReportArgs, left_out: usize) -> Vec<(String, String)> {
        let Some((metric, data)) = &self.test else { return vec![] };
        let measures = data.measures();
        let mut facts = vec![("points".to_owned(), measures.points().to_string())];
        let mut add = |key: &str, value: String| facts.push((key.to_owned(), value));
        if let Some(path) = args.test.ground.metric.source.file() {
            add("ground metric", path.display().to_string());
        }
        if let (Some((dim, _)), Some(compared)) = (metric.coordinates(), metric.point_metric()) {
            let period = metric.period().map(|period| format!(", period {period}"));
            add("coordinates", format!("{dim}, {compared}{}", period.unwrap_or_default()));
        }
        add("measures", measures.len().to_string());
        let mean = measures.entries() as f64 / measures.len().max(1) as f64;
        add("points in a measure", format!("{} on average", output::three_digits(mean)));
        add("test pairs", data.len().to_string());
        if left_out > 0 {
            add("left out", format!("{left_out} pairs whose distance is nearly 0"));
        }
        facts
    }
}

/// Returns the figures at the top: errors of the first model and of the better null baseline.
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
