//! Training time, and growth of the time of a step: \[CTW24\], "Training time and convergence".

use std::time::Instant;

use serde_json::json;
use treeport::fit::Start;
use treeport::{
    FitOptions, GroundMetric, Kind, Labelled, LearnOptions, Linkage, Method, PointMetric, Progress,
    fit, learn, silent,
};

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures};
use crate::Result;
use crate::answers::fit_whole;
use crate::generate::{
    couples, labelled_by, random_merge_tree, seeded, sparse_measures, uniform_measures,
    uniform_points,
};

pub(super) const TRAINING_TIME: Experiment = Experiment {
    name: "training-time",
    about: "seconds to train a tree on 800, 1,000 and 1,500 points",
    cells: time_cells,
    tables: &[Table {
        split: &["labels", "epochs", "seed"],
        line: &["method"],
        across: Some("points"),
        show: &[("ours", Column::Seconds("seconds")), ("paper", Column::Seconds("paper_seconds"))],
    }],
    figures: no_figures,
    words: "Points in the plane, full-support measures. The paper states neither the epochs nor the pairs of its times, \
so its figures are listed beside ours without a ratio. `labels (exact)` is what the training labels cost with our \
solver, on all threads; the trees are trained with the start included.",
};

pub(super) const GROWTH: Experiment = Experiment {
    name: "growth",
    about: "milliseconds for a step of training, up to 100,000 points",
    cells: growth_cells,
    tables: &[Table {
        split: &["batch", "seed"],
        line: &["points"],
        across: Some("kind"),
        show: &[
            ("step", Column::Seconds("step_seconds")),
            ("its projection", Column::Seconds("projection_seconds")),
        ],
    }],
    figures: no_figures,
    words: "One step is the gradient of a batch of full-support pairs and the projection. The paper's projection takes N² time \
and an N×N matrix, at 100,000 points 80 GB; ours N log N time and memory for a few lists of N numbers.",
};

const LABELS: usize = 200;

fn time_cells(setup: &Setup) -> Vec<Cell<'_>> {
    let (sizes, labels, epochs): (&[usize], _, _) =
        if setup.quick { (&[300], 50, 20) } else { (&[800, 1000, 1500], LABELS, 100) };
    let labels = setup.labels.unwrap_or(labels);
    let cell = |&n: &usize| {
        Cell::new(format!("{n} {labels} {epochs}"), move |progress| {
            train(n, labels, epochs, setup.seed, progress)
        })
    };
    sizes.iter().map(cell).collect()
}

fn train(
    n: usize,
    count: usize,
    epochs: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Vec<Row>> {
    let mut rng = seeded(seed);
    let points = uniform_points(n, 2, -10.0, 10.0, &mut rng);
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean)?;
    let measures = uniform_measures(n, 2 * count, &mut rng)?;
    let begun = Instant::now();
    let data = Labelled::solve(&metric, &measures, couples(count), progress)?;
    let mut found = vec![("labels (exact)", begun.elapsed().as_secs_f64())];
    for (name, method, start) in [
        ("ult-tree", Method::Ultrametric, Linkage::Single),
        ("additive", Method::Additive, Linkage::Average),
    ] {
        let begun = Instant::now();
        let options = FitOptions {
            start: Some(Start::Linkage(start)),
            epochs: Some(epochs),
            batch_size: Some(32),
            seed,
            ..FitOptions::of(method)
        };
        fit_whole(&metric, &data, &options, progress)?;
        found.push((name, begun.elapsed().as_secs_f64()));
    }
    for method in [Method::CTwd, Method::QTwd] {
        let begun = Instant::now();
        fit(&metric, None, &FitOptions { seed, ..FitOptions::of(method) }, progress)?;
        found.push((method.name(), begun.elapsed().as_secs_f64()));
    }
    let row = |(method, seconds): (&str, f64)| {
        json!({
            "experiment": "training-time", "points": n, "method": method, "seconds": seconds,
            "paper_seconds": paper(method, n), "labels": count, "epochs": epochs, "seed": seed,
        })
    };
    Ok(found.into_iter().map(row).collect())
}

fn paper(method: &str, n: usize) -> Option<f64> {
    let column = [800, 1000, 1500].iter().position(|&size| size == n)?;
    let row = match method {
        "ult-tree" => [103.00, 92.79, 357.86],
        "ctwd" => [10.35, 10.77, 14.92],
        "qtwd" => [11.72, 13.55, 16.90],
        _ => return None,
    };
    Some(row[column])
}

/// Pairs per step.
const BATCH: usize = 20;

/// Number of timed steps.
const STEPS: usize = 5;

fn growth_cells(setup: &Setup) -> Vec<Cell<'_>> {
    let sizes: &[usize] =
        if setup.quick { &[1000, 3000] } else { &[1000, 3000, 10_000, 30_000, 100_000] };
    let mut cells = Vec::new();
    for &n in sizes {
        for kind in [Kind::Ultrametric, Kind::Additive] {
            let work = move |_: &Progress<'_>| Ok(vec![step(n, kind, setup.seed)?]);
            cells.push(Cell::new(format!("{n} {kind}"), work));
        }
    }
    cells
}

fn step(n: usize, kind: Kind, seed: u64) -> Result<Row> {
    let mut rng = seeded(seed);
    let [start, other] = [random_merge_tree(n, &mut rng)?, random_merge_tree(n, &mut rng)?];
    let measures = sparse_measures(n, n, 2 * BATCH, &mut rng)?;
    // The time of a step does not depend on the values of labels.
    let data = labelled_by(&other, &measures)?;
    let options = LearnOptions {
        kind,
        epochs: STEPS,
        batch_size: BATCH,
        validation_fraction: 0.0,
        seed,
        ..LearnOptions::default()
    };
    let learned = learn(&start, &data, &options, &silent)?;
    let per_step = |seconds: f64| seconds / STEPS as f64;
    Ok(json!({
        "experiment": "growth", "points": n, "kind": kind.to_string(), "batch": BATCH, "seed": seed,
        "step_seconds": per_step(learned.gradient_seconds + learned.projection_seconds),
        "projection_seconds": per_step(learned.projection_seconds),
    }))
}
