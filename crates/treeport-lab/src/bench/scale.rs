//! Stages of a fit on many points or on a large graph: seconds and peak memory.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use treeport::build::linkage;
use treeport::fit::Start;
use treeport::io::npy;
use treeport::progress::State;
use treeport::progress::tasks;
use treeport::{
    FitOptions, GroundMetric, Labeled, Linkage, Measures, Model, PointMetric, Tree, fit, silent,
};

use super::Row;
use super::graph::read;
use super::memory::{peak_now_mib, reset_peak};
use crate::Result;
use crate::generate::{
    Random, clustered_measures, clustered_points, near_measures, random_pairs, seeded,
    sparse_measures,
};

/// Dimension of the points.
const DIM: usize = 32;

/// Number of clusters of the points.
const CLUSTERS: usize = 50;

/// Support size of measures on points.
const SUPPORT: usize = 30;

/// Number of training measures.
const MEASURES: usize = 600;

/// Number of labeled training pairs.
const LABELS: usize = 300;

/// Number of test pairs. Their measures are not used for training.
const TEST: usize = 100;

/// Support size of measures on a graph.
const NODES: usize = 100;

/// A concentrated support is drawn from this number of nodes around a random center.
const AROUND: usize = 2_000;

/// Name of the time for drawing measures, which is not a stage of a fit.
const DRAWING: &str = "drawing";

/// Times every stage of a `fit` on points in 50 clusters in R³² with 300 labels, once: reading, the
/// labels, the start (average linkage, or above 20,000 points the first neighbor graph and the
/// merging along it), and the stages of `auto`; and the total.
pub fn scale(n: usize, seed: u64, report: impl FnMut(&Row)) -> Result<()> {
    let mut rng = seeded(seed);
    let file = file(n, &mut rng);
    let [train, test] =
        [MEASURES, 2 * TEST].map(|m| clustered_measures(n, CLUSTERS, SUPPORT, m, &mut rng));
    let watch = Watch::new("read");
    let metric = GroundMetric::read_points_npy(&file[..], PointMetric::Euclidean)?;
    drop(file);
    let errors = stages(&watch, &metric, &train?, &test?, &mut rng)?;
    report_stages(n, &[], watch, &errors, report);
    Ok(())
}

/// Times all stages on a graph from a file of edges, with measures of 100 nodes: each near a random
/// center, or drawn from the whole graph.
pub fn scale_graph(path: &Path, seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    let folder = path.parent().and_then(Path::file_name).unwrap_or(path.as_os_str());
    for masses in ["concentrated", "spread"] {
        let mut rng = seeded(seed);
        let watch = Watch::new("read");
        let metric = read(path)?;
        watch.start(DRAWING);
        let nodes = NODES.min(metric.points());
        let draw = |count, rng: &mut Random| match masses {
            "spread" => sparse_measures(metric.points(), nodes, count, rng),
            _ => near_measures(&metric, (nodes, AROUND), count, rng),
        };
        let (train, test) = (draw(MEASURES / 3, &mut rng)?, draw(2 * TEST, &mut rng)?);
        let errors = stages(&watch, &metric, &train, &test, &mut rng)?;
        let case =
            [("graph", folder.to_string_lossy().into_owned()), ("masses", masses.to_owned())];
        report_stages(metric.points(), &case, watch, &errors, &mut report);
    }
    Ok(())
}

/// Runs all stages; returns the errors on test pairs.
fn stages(
    watch: &Watch,
    metric: &GroundMetric,
    train: &Measures,
    test: &Measures,
    rng: &mut Random,
) -> Result<Vec<(&'static str, f64)>> {
    let n = metric.points();
    let (pairs, unseen) =
        (random_pairs(LABELS, train.len(), rng)?, random_pairs(TEST, test.len(), rng)?);
    if metric.edges().is_some() {
        watch.start("paths");
        metric.prepare(&silent)?;
    }
    watch.start("labels");
    let data = Labeled::solve(metric, train, pairs, &silent)?;
    let method = Linkage::usual(n);
    let all_pairs = method == Linkage::Average;
    watch.start(if all_pairs { "average linkage" } else { "near neighbors" });
    let track = |state: &State<'_>| {
        match state.task {
            tasks::BUILDING if !all_pairs => watch.start("merging"),
            tasks::POINTS => watch.start("points"),
            tasks::LEARNING => watch.start("learning"),
            tasks::EDGES => watch.start("edges"),
            _ => (),
        }
        true
    };
    let start = linkage(metric, method, &track)?;
    watch.start("points");
    let options = FitOptions { start: Some(Start::Tree(start.clone())), ..FitOptions::default() };
    let fitted = fit(metric, Some(&data), &options, &track)?;
    watch.start("");
    let test = Labeled::solve(metric, test, unseen, &silent)?;
    errors(&fitted.model, &start, &data, &test)
}

/// Computes mean relative errors on test pairs: of the fit, of the scaled start, and of the better
/// null baseline. Also times the first call for all these pairs, which prepares the tree once, and
/// a distance in the second call.
fn errors(
    model: &Model,
    start: &Tree,
    data: &Labeled,
    test: &Labeled,
) -> Result<Vec<(&'static str, f64)>> {
    let start = Model::Tree(start.clone());
    let factor = data.factor(&start.pairs(data.measures(), data.pairs(), &silent)?);
    let start = start.scaled(factor)?;
    let error = |model: &Model| -> Result<f64> {
        Ok(test.score(&model.pairs(test.measures(), test.pairs(), &silent)?).mean)
    };
    let prepared = model.prepare(test.measures())?;
    let timed = || -> Result<f64> {
        let begun = Instant::now();
        prepared.pairs(test.pairs(), &silent)?;
        Ok(begun.elapsed().as_secs_f64())
    };
    let (first, again) = (timed()?, timed()?);
    let nulls = test.null_baselines().map(|null| null.score.mean);
    Ok(vec![
        ("error", error(model)?),
        ("start_error", error(&start)?),
        ("null_error", nulls[0].min(nulls[1])),
        ("milliseconds_of_first_call", 1e3 * first),
        ("microseconds_a_pair", 1e6 * again / test.len() as f64),
    ])
}

fn report_stages(
    n: usize,
    case: &[(&'static str, String)],
    watch: Watch,
    errors: &[(&'static str, f64)],
    mut report: impl FnMut(&Row),
) {
    let row = |stage: &str, seconds, peak: Option<f64>| Row {
        bench: "scale",
        n,
        case: case.iter().cloned().chain([("stage", stage.to_owned())]).collect(),
        seconds,
        peer: None,
        more: peak.map(|peak| ("peak_mib", peak)).into_iter().collect(),
    };
    let mut stages = watch.done.into_inner().unwrap_or_default();
    stages.retain(|stage| stage.name != DRAWING);
    for stage in &stages {
        report(&row(stage.name, stage.seconds, stage.peak));
    }
    let peak = stages.iter().filter_map(|stage| stage.peak).reduce(f64::max);
    let mut whole = row("all", stages.iter().map(|stage| stage.seconds).sum(), peak);
    whole.more.extend(errors);
    report(&whole);
}

/// Encodes the points as an `.npy` file.
fn file(n: usize, rng: &mut Random) -> Vec<u8> {
    let mut file = Vec::new();
    let points = clustered_points(n, DIM, CLUSTERS, rng);
    npy::write_f64(&[n, DIM], &points, &mut file).expect("writing to a vector cannot fail");
    file
}

/// A finished stage.
struct Done {
    name: &'static str,
    seconds: f64,
    peak: Option<f64>,
}

/// Stopwatch of the current stage.
struct Watch {
    now: Mutex<(&'static str, Instant)>,
    done: Mutex<Vec<Done>>,
}

impl Watch {
    fn new(first: &'static str) -> Self {
        reset_peak();
        Self { now: Mutex::new((first, Instant::now())), done: Mutex::default() }
    }

    /// Starts the stage `next` unless it is the current one.
    fn start(&self, next: &'static str) {
        let Ok(mut now) = self.now.lock() else { return };
        if now.0 == next {
            return;
        }
        let (name, begun) = std::mem::replace(&mut *now, (next, Instant::now()));
        let done = Done { name, seconds: begun.elapsed().as_secs_f64(), peak: peak_now_mib() };
        if let Ok(mut all) = self.done.lock() {
            all.push(done);
        }
        reset_peak();
    }
}
