//! Loss per epoch on the real data sets: \[CTW24\], the figure of training losses.

use serde_json::{Value, json};
use treeport::fit::Start;
use treeport::learn::Loss;
use treeport::{FitOptions, Linkage, Method, Progress};
use treeport_report::line_chart::Axes;

use super::{Cell, Column, Experiment, Figure, Row, Setup, Table, chart, masses_name, scenes};
use crate::Result;
use crate::answers::fit_whole;
use crate::scene::{Masses, Scene, SceneOptions};

pub(super) const CONVERGENCE: Experiment = Experiment {
    name: "convergence",
    about: "loss by epoch on the real data sets",
    cells,
    tables: &[Table {
        split: &["labels", "epochs", "seed"],
        line: &["set", "masses"],
        across: Some("method"),
        show: &[
            ("loss at the start", Column::Number("first_loss", 5)),
            ("at the end", Column::Number("last_loss", 5)),
            ("best epoch", Column::Text("best_epoch")),
        ],
    }],
    figures,
    words: "Training loss: squared error as a share of the squared labels, after the start has been multiplied by one factor. \
Steps have no unit, and the rate falls to 0. Held-out labels choose the epoch that is kept. Fewer pairs than in the paper; the axes of its \
figure have no numbers that could be compared.",
};

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let scenes = scenes(setup, &["usca312"]).into_iter().filter(|scene| scene.1 == Masses::Full);
    let cell = |(set, masses)| {
        let labels = match set {
            _ if setup.quick => 60,
            "rnaseq_10x" => 100,
            "belfast" => 200,
            _ => 500,
        };
        let labels = setup.labels.unwrap_or(labels);
        let epochs = if setup.quick { 20 } else { 100 };
        Cell::new(format!("{set} {labels} {epochs}"), move |progress| {
            run((set, masses), labels, epochs, setup, progress)
        })
        .reads(setup, set)
    };
    scenes.map(cell).collect()
}

fn run(
    (set, masses): (&str, Masses),
    labels: usize,
    epochs: usize,
    setup: &Setup,
    progress: &Progress<'_>,
) -> Result<Vec<Row>> {
    let seed = setup.seed;
    let options = SceneOptions { train: labels, test: 1, seed };
    let scene = Scene::new(set, masses, setup.data.as_deref(), options, progress)?;
    let of = |method| FitOptions { epochs: Some(epochs), seed, ..FitOptions::of(method) };
    let paper = FitOptions {
        start: Some(Start::Linkage(Linkage::Single)),
        loss: Some(Loss::Squared),
        ..of(Method::Ultrametric)
    };
    let mut rows = Vec::new();
    for (method, options) in [("ult-tree (paper)", paper), ("additive", of(Method::Additive))] {
        let learned = fit_whole(&scene.metric, &scene.train, &options, progress)?;
        let losses: Vec<f64> = learned.history.iter().map(|epoch| epoch.training_loss).collect();
        rows.push(json!({
            "experiment": "convergence", "set": set, "masses": masses_name(set, masses),
            "method": method, "labels": scene.train.len(), "epochs": epochs, "seed": seed,
            "first_loss": losses.first(), "last_loss": losses.last(),
            "best_epoch": learned.best_epoch, "losses": losses,
        }));
    }
    Ok(rows)
}

/// Draws one chart per data set.
fn figures(rows: &[Row]) -> Vec<Figure> {
    let mut sets: Vec<&str> = rows.iter().filter_map(|row| row["set"].as_str()).collect();
    sets.dedup();
    let draw = |set: &str| {
        let of_set = rows.iter().filter(|row| row["set"] == set);
        let line = |row: &Row| {
            let losses = row["losses"].as_array().into_iter().flatten();
            let points = (0..).map(f64::from).zip(losses.filter_map(Value::as_f64)).collect();
            (row["method"].as_str().unwrap_or_default().to_owned(), points)
        };
        let lines: Vec<_> = of_set.map(line).collect();
        let axes = Axes { x: "epoch", y: "training loss" };
        chart(&format!("convergence-{set}"), &format!("{set}: training loss"), axes, &lines)
    };
    sets.into_iter().map(draw).collect()
}
