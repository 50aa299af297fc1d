//! `auto` beside its own start, with few labels.

use std::time::Instant;

use serde_json::json;
use treeport::internal::names::Named;
use treeport::{FitOptions, Labelled, Method, fit, silent};

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, spread};
use crate::Result;
use crate::scene::{Masses, Scene, SceneOptions};

pub(super) const FEW_LABELS: Experiment = Experiment {
    name: "few-labels",
    about: "`auto` and its start times one factor, with few labels",
    cells,
    tables: &[Table {
        split: &["seeds"],
        line: &["set", "labels"],
        across: None,
        show: &[
            ("start", Column::Spread("start")),
            ("auto", Column::Spread("auto")),
            ("worse", Column::Text("worse")),
            ("kept", Column::Text("kept")),
            ("fit", Column::Seconds("seconds")),
        ],
    }],
    figures: no_figures,
    words: "Not in the paper. Mean error on unseen pairs over the seeds, of average linkage times one factor and of \
`auto`, from the same labels; how many times `auto` had the larger error, and which stage it kept how often.",
};

/// Maps, with masses on all points or on some.
const SETS: [&str; 3] = ["usca312", "usair97", "kuopio"];

const SEEDS: u64 = 10;

/// Unseen pairs to judge by.
const TEST: usize = 300;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    if setup.quick {
        return vec![cell(setup, "uniform-2", Masses::Subset, vec![30], 3)];
    }
    let wanted = |set: &&str| setup.scenes.is_empty() || setup.scenes.iter().any(|s| s == set);
    let sets = SETS.into_iter().filter(|_| setup.data.is_some()).filter(wanted);
    let counts = setup.labels.map_or(vec![50, 150, 300], |labels| vec![labels]);
    let kinds = |set| [Masses::Full, Masses::Subset].map(|masses| (set, masses));
    let of = |(set, masses)| cell(setup, set, masses, counts.clone(), SEEDS).reads(setup, set);
    sets.flat_map(kinds).map(of).collect()
}

/// All numbers of labels of a set: the first of one list for each seed.
fn cell<'a>(
    setup: &'a Setup,
    set: &'static str,
    masses: Masses,
    counts: Vec<usize>,
    seeds: u64,
) -> Cell<'a> {
    let name = format!("{set} {}", if masses == Masses::Full { "full" } else { "subset" });
    Cell::new(format!("{name} {counts:?} {seeds}"), move |progress| {
        let most = counts.iter().copied().max().unwrap_or_default();
        let mut scenes = Vec::new();
        for seed in (setup.seed..).take(seeds as usize) {
            let options = SceneOptions { train: most, test: TEST, seed };
            let scene = Scene::new(set, masses, setup.data.as_deref(), options, progress)?;
            scenes.push((seed, scene));
        }
        let rows = counts.iter().map(|&labels| row(&name, labels, &scenes));
        rows.collect()
    })
}

fn row(set: &str, labels: usize, scenes: &[(u64, Scene)]) -> Result<Row> {
    let (mut start, mut auto, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    let mut seconds = 0.0;
    for (seed, scene) in scenes {
        let train = scene.train.split_at(labels).0;
        start.push(error(Method::Average, scene, &train, *seed)?.0);
        let begun = Instant::now();
        let (error, stage) = error(Method::Auto, scene, &train, *seed)?;
        seconds += begun.elapsed().as_secs_f64();
        auto.push(error);
        kept.push(stage);
    }
    let worse = start.iter().zip(&auto).filter(|(start, auto)| auto > start).count();
    let stages = ["start", "points", "learned", "edges"];
    let times = stages.map(|stage| kept.iter().filter(|k| **k == stage).count());
    let counted = stages.iter().zip(times).filter(|(_, times)| *times > 0);
    let kept: Vec<String> = counted.map(|(stage, times)| format!("{stage} {times}")).collect();
    Ok(json!({
        "experiment": "few-labels", "set": set, "labels": labels, "seeds": scenes.len(),
        "start": spread(&start), "auto": spread(&auto), "worse": worse, "kept": kept.join(", "),
        "seconds": seconds / scenes.len() as f64,
    }))
}

/// The error on unseen pairs, and the stage that was kept.
fn error(
    method: Method,
    scene: &Scene,
    train: &Labelled,
    seed: u64,
) -> Result<(f64, &'static str)> {
    let options = FitOptions { seed, ..FitOptions::of(method) };
    let fitted = fit(&scene.metric, Some(train), &options, &silent)?;
    let predicted = fitted.model.pairs(scene.test.measures(), scene.test.pairs(), &silent)?;
    Ok((scene.test.score(&predicted).mean, fitted.stage.map_or("", Named::name)))
}
