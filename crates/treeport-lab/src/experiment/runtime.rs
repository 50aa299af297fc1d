//! Time per pair on the real sets: \[CTW24\], the table of average runtimes.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use treeport::baseline::{BaselineOptions, Method, Model, Training};
use treeport::estimate::{Estimator, Level};
use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
use treeport::{
    Error, Forest, ForestOptions, Kind, LearnOptions, Linkage, Progress, exact, learn, linkage,
};

use super::{Cell, Experiment, Row, Setup, Show, Table, masses_name, no_figures, scenes};
use crate::Result;
use crate::scene::{Masses, Scene, SceneOptions};

pub(super) const RUNTIME: Experiment = Experiment {
    name: "runtime",
    about: "seconds for one pair, every method and exact, on one thread",
    cells,
    tables: &[Table {
        split: &["set", "masses", "points", "mean_support", "seed"],
        line: &["method"],
        across: None,
        show: &[
            ("time per pair", Show::Seconds("seconds")),
            ("exact/this", Show::Number("exact_over_this", 1)),
            ("paper", Show::Seconds("paper_seconds")),
            ("paper's OT/this", Show::Number("paper_ratio", 1)),
            ("pairs timed", Show::Text("pairs")),
        ],
    }],
    figures: no_figures,
    words: "One thread, measures already in memory, as many pairs as fit in the time given (or all there are). The ratio is to \
our own exact solver in the same run, which is itself faster than the paper's, on sparse measures by orders of magnitude: a ratio is worth more than a \
time, and a small ratio here is a fast exact solver and not a slow tree. On documents a tree's distance costs a walk over \
the support and not over all words, which is where the paper's own implementation loses its advantage. Sinkhorn runs \
1,000 iterations at most; the paper's figures are those of Python programs on another machine.",
};

/// How long each method is timed: whole runs, and in a glance.
const LIMIT: [Duration; 2] = [Duration::from_millis(1500), Duration::from_millis(150)];

/// Few labels: the time of a learned tree does not depend on how well it fits.
const LABELS: usize = 12;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    // The paper's random measures have full support.
    let scenes = scenes(setup, &["usca312"]).into_iter().filter(|scene| scene.1 == Masses::Full);
    let cell = |(set, masses)| Cell::new(set, move |progress| run(set, masses, setup, progress));
    scenes.map(cell).collect()
}

fn run(set: &str, masses: Masses, setup: &Setup, progress: &Progress<'_>) -> Result<Vec<Row>> {
    let options = SceneOptions { train: LABELS, test: LABELS, seed: setup.seed };
    let scene = Scene::new(set, masses, setup.data.as_deref(), options, progress)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one more thread");
    let limit = LIMIT[usize::from(setup.quick)];
    let timed = pool.install(|| times(&scene, setup.seed, limit, progress))?;
    let exact = timed.iter().find(|t| t.0 == "exact").map(|t| t.1);
    let reference = paper_seconds("exact", set);
    let row = |&(method, seconds, pairs): &(&str, f64, usize)| {
        let paper = paper_seconds(method, set);
        json!({
            "experiment": "runtime", "set": set, "masses": masses_name(set, masses),
            "points": scene.metric.points(), "seed": setup.seed,
            "mean_support": scene.test.entries() / scene.test.len(),
            "method": method, "seconds": seconds, "pairs": pairs,
            "exact_over_this": exact.map(|exact| exact / seconds),
            "paper_seconds": paper, "paper_ratio": reference.zip(paper).map(|(r, p)| r / p),
        })
    };
    Ok(timed.iter().map(row).collect())
}

/// Every method with its seconds for a pair and the pairs it was timed on.
fn times(
    scene: &Scene,
    seed: u64,
    limit: Duration,
    progress: &Progress<'_>,
) -> Result<Vec<(&'static str, f64, usize)>> {
    let metric = &scene.metric;
    // The same pairs again and again, so that a fast method has enough to do.
    let pairs: Vec<(usize, usize)> =
        scene.test_labels.pairs.iter().copied().cycle().take(MOST_PAIRS).collect();
    let timed = |work: &dyn Fn(&Progress<'_>) -> treeport::Result<()>| {
        time(work, limit, pairs.len(), progress)
    };
    let mut found = Vec::new();
    for (name, model) in models(scene, seed, progress)? {
        let (seconds, count) =
            timed(&|watch| model.pairs(metric, &scene.test, &pairs, watch).map(drop))?;
        found.push((name, seconds, count));
    }
    let options = ForestOptions { trees: TREES, seed, ..ForestOptions::default() };
    let forest = Forest::perturbed(metric, &options, progress)?;
    let estimator = Estimator::new(metric, &forest)?;
    for (name, level) in
        [("forest mean, 4 trees", Level::Tree), ("forest flow, 4 trees", Level::Flow)]
    {
        let (seconds, count) =
            timed(&|watch| estimator.pairs(level, &scene.test, &pairs, watch).map(drop))?;
        found.push((name, seconds, count));
    }
    let options = SinkhornOptions {
        epsilon: Epsilon::Absolute(1.0),
        scaling: None,
        max_iterations: 1000,
        tolerance: 1e-9,
    };
    let (seconds, count) = timed(&|watch| {
        for (k, &(i, j)) in pairs.iter().enumerate() {
            sinkhorn::solve(metric, &scene.test.row(i), &scene.test.row(j), &options)?;
            if !watch(k + 1) {
                return Err(Error::Cancelled);
            }
        }
        Ok(())
    })?;
    found.push(("sinkhorn", seconds, count));
    let (seconds, count) =
        timed(&|watch| exact::pairs(metric, &scene.test, &pairs, watch).map(drop))?;
    found.push(("exact", seconds, count));
    Ok(found)
}

/// Trees of the forest.
const TREES: usize = 4;

/// Pairs that a method is timed on at the most.
const MOST_PAIRS: usize = 20_000;

/// The methods of the paper's table that build a model.
fn models(scene: &Scene, seed: u64, progress: &Progress<'_>) -> Result<Vec<(&'static str, Model)>> {
    let options = BaselineOptions { seed, ..BaselineOptions::default() };
    let learning =
        LearnOptions { kind: Kind::Ultrametric, epochs: 5, seed, ..LearnOptions::default() };
    let start = linkage(&scene.metric, Linkage::Single)?;
    let watch = |_: &treeport::learn::Status<'_>| {
        if progress(0) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let tree = learn(&start, &scene.train, &scene.train_labels, &learning, watch)?.tree;
    let mut models = vec![("ult-tree", Model::Tree(tree))];
    let training = Training { measures: &scene.train, labels: &scene.train_labels };
    for method in [Method::Quadtree, Method::Flowtree, Method::CTwd] {
        if !method.needs_coordinates() || scene.metric.coordinates().is_some() {
            let model = method.build(&scene.metric, Some(training), &options, progress)?;
            models.push((method.name(), model));
        }
    }
    Ok(models)
}

/// Seconds for one of `most` items of work that counts them, until the time is up.
fn time(
    work: &dyn Fn(&Progress<'_>) -> treeport::Result<()>,
    limit: Duration,
    most: usize,
    progress: &Progress<'_>,
) -> Result<(f64, usize)> {
    let (done, begun) = (AtomicUsize::new(0), Instant::now());
    let watch = |count: usize| {
        done.store(count, Ordering::Relaxed);
        progress(count) && begun.elapsed() < limit
    };
    let result = work(&watch);
    let seconds = begun.elapsed().as_secs_f64();
    let count = match result {
        Ok(()) => most,
        // Stopped by the clock alone.
        Err(Error::Cancelled) if progress(0) => done.into_inner().max(1),
        Err(error) => return Err(error.into()),
    };
    Ok((seconds / count as f64, count))
}

/// Seconds in the paper's table.
fn paper_seconds(method: &str, set: &str) -> Option<f64> {
    let sets = ["usca312", "usair97", "belfast", "bbcsport", "twitter", "rnaseq_10x"];
    let column = sets.iter().position(|&name| name == set)?;
    let row: [Option<f64>; 6] = match method {
        "ult-tree" => [0.00006, 0.00013, 0.00944, 0.4204, 0.1310, 0.0017].map(Some),
        "ctwd" => [0.00004, 0.00002, 0.00009, 0.0004, 0.0002, 0.0002].map(Some),
        "sinkhorn" => [0.01450, 0.01883, 0.4327, 2.0851, 0.3601, 7.612].map(Some),
        "exact" => [0.00692, 0.03819, 0.5458, 1.6001, 0.3820, 0.570].map(Some),
        "quadtree" => [None, None, None, Some(0.0001), Some(0.0001), Some(0.0001)],
        "flowtree" => [None, None, None, Some(0.0002), Some(0.0001), Some(0.0001)],
        _ => return None,
    };
    row[column]
}
