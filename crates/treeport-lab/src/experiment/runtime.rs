//! Time per pair on the real data sets: \[CTW24\], the table of average runtimes.

use std::time::Duration;

use serde_json::json;
use treeport::accuracy::Level;
use treeport::build::{PerturbedOptions, perturbed, quadtree};
use treeport::estimate::Estimator;
use treeport::fit::Start;
use treeport::progress::State;
use treeport::progress::tasks::SOLVING;
use treeport::sinkhorn;
use treeport::{Error, FitOptions, Linkage, Method, Model, Problem, Progress, flow, silent};
use treeport_report::timing::{time_exact, time_model, time_pairs};

use super::real::SINKHORN;
use super::{Cell, Column, Experiment, Row, Setup, Table, masses_name, no_figures, paper, scenes};
use crate::Result;
use crate::answers::{as_it_is, fit_whole};
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
            ("time per pair", Column::Seconds("seconds")),
            ("exact/this", Column::Number("exact_over_this", 1)),
            ("paper", Column::Seconds("paper_seconds")),
            ("paper's OT/this", Column::Number("paper_ratio", 1)),
            ("pairs timed", Column::Text("pairs")),
        ],
    }],
    figures: no_figures,
    words: "One thread, measures already in memory, as many pairs as fit in the time given (or all there are). The ratio is to \
our own exact solver in the same run, so that a small ratio may be a fast exact solver and not a slow tree. On documents a tree's distance costs a walk over \
the support and not over all words. Sinkhorn runs \
1,000 iterations at most; the paper's figures are those of Python programs on another machine.",
};

/// Time limit per method in a full and in a quick run.
const LIMIT: [Duration; 2] = [Duration::from_millis(1500), Duration::from_millis(150)];

/// Few labels: the time of a learned tree does not depend on its accuracy.
const LABELS: usize = 12;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    // The paper's random measures have full support.
    let scenes = scenes(setup, &["usca312"]).into_iter().filter(|scene| scene.1 == Masses::Full);
    let cell = |(set, masses)| {
        Cell::new(set, move |progress| run(set, masses, setup, progress)).reads(setup, set)
    };
    scenes.map(cell).collect()
}

fn run(set: &str, masses: Masses, setup: &Setup, progress: &Progress<'_>) -> Result<Vec<Row>> {
    let options = SceneOptions { train: LABELS, test: LABELS, seed: setup.seed };
    let scene = Scene::new(set, masses, setup.data.as_deref(), options, progress)?;
    let limit = LIMIT[usize::from(setup.quick)];
    let timed = times(&scene, setup.seed, limit, progress)?;
    let exact = timed.iter().find(|t| t.0 == "exact").map(|t| t.1.1);
    let measures = scene.test.measures();
    let reference = paper::number("runtime", "exact", set);
    let row = |&(method, (pairs, seconds)): &(&str, Timed)| {
        let paper = paper::number("runtime", method, set);
        json!({
            "experiment": "runtime", "set": set, "masses": masses_name(set, masses),
            "points": scene.metric.points(), "seed": setup.seed,
            "mean_support": measures.entries() / measures.len(),
            "method": method, "seconds": seconds, "pairs": pairs,
            "exact_over_this": exact.map(|exact| exact / seconds),
            "paper_seconds": paper, "paper_ratio": reference.zip(paper).map(|(r, p)| r / p),
        })
    };
    Ok(timed.iter().map(row).collect())
}

/// Number of timed pairs, and seconds per pair.
type Timed = (usize, f64);

/// Times a pair by every method.
fn times(
    scene: &Scene,
    seed: u64,
    limit: Duration,
    progress: &Progress<'_>,
) -> Result<Vec<(&'static str, Timed)>> {
    let Scene { metric, test, .. } = scene;
    let measures = test.measures();
    let of_model = |model: &Model| time_model(model, measures, test.pairs(), limit, progress);
    // Repeat the pairs, so that fast methods run long enough.
    let pairs: Vec<(usize, usize)> =
        test.pairs().iter().copied().cycle().take(MOST_PAIRS).collect();
    let timed = |work: &(dyn Fn(&Progress<'_>) -> treeport::Result<()> + Sync)| {
        time_pairs(pairs.len(), limit, progress, work)
    };
    let mut found = Vec::new();
    for (name, model) in models(scene, seed, progress)? {
        found.push((name, of_model(&model)?));
    }
    if metric.coordinates().is_some() {
        let tree = quadtree(metric, seed)?;
        let flowtree =
            timed(&|watch| flow::pairs(&tree, metric, measures, &pairs, watch).map(drop))?;
        found.push(("flowtree", flowtree));
    }
    let options = PerturbedOptions { n_trees: TREES, seed, ..PerturbedOptions::default() };
    let forest = Model::Forest(perturbed(metric, &options, progress)?);
    found.push(("forest mean, 4 trees", of_model(&forest)?));
    let estimator = Estimator::new(metric, &forest)?;
    let flow = timed(&|watch| estimator.pairs(Level::Flow, measures, &pairs, watch).map(drop))?;
    found.push(("forest flow, 4 trees", flow));
    let sinkhorn = timed(&|watch| {
        for (k, &(i, j)) in pairs.iter().enumerate() {
            // Not `sinkhorn::pairs`, which requires convergence.
            let problem = Problem::new(metric, &measures.row(i), &measures.row(j));
            sinkhorn::solve(&problem, &SINKHORN, &silent)?;
            let (done, total) = (k + 1, Some(pairs.len()));
            if !watch(&State::new(SOLVING, done, total)) {
                return Err(Error::Canceled);
            }
        }
        Ok(())
    })?;
    found.push(("sinkhorn", sinkhorn));
    found.push(("exact", time_exact(metric, measures, &pairs, limit, progress)?));
    Ok(found)
}

/// Trees of the forest.
const TREES: usize = 4;

/// Maximum number of pairs on which a method is timed.
const MOST_PAIRS: usize = 20_000;

/// Builds the models of the paper's table.
fn models(scene: &Scene, seed: u64, progress: &Progress<'_>) -> Result<Vec<(&'static str, Model)>> {
    let Scene { metric, train, .. } = scene;
    let ult_tree = FitOptions {
        start: Some(Start::Linkage(Linkage::Single)),
        epochs: Some(5),
        ..as_it_is(Method::Ultrametric, seed)
    };
    let mut models = vec![("ult-tree", fit_whole(metric, train, &ult_tree, progress)?.model)];
    for method in [Method::Quadtree, Method::CTwd] {
        if !method.supports().coordinates || metric.coordinates().is_some() {
            let fitted = fit_whole(metric, train, &as_it_is(method, seed), progress)?;
            models.push((method.name(), fitted.model));
        }
    }
    Ok(models)
}
