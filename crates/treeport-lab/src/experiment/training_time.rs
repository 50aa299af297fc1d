//! Training time: \[CTW24\], "Training time and convergence".

use std::time::Instant;

use serde_json::json;
use treeport::fit::Start;
use treeport::{FitOptions, GroundMetric, Labeled, Linkage, Method, PointMetric, Progress, fit};

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, paper};
use crate::Result;
use crate::answers::fit_whole;
use crate::generate::{couples, seeded, uniform_measures, uniform_points};

pub(super) const TRAINING_TIME: Experiment = Experiment {
    name: "training-time",
    about: "seconds to train a tree on 800, 1,000 and 1,500 points",
    cells,
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

const LABELS: usize = 200;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
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
    let data = Labeled::solve(&metric, &measures, couples(count), progress)?;
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
            "paper_seconds": paper::number("training-time", method, &n.to_string()), "labels": count, "epochs": epochs, "seed": seed,
        })
    };
    Ok(found.into_iter().map(row).collect())
}
