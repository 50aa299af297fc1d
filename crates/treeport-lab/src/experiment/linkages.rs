//! `fit` from neighbors linkage compared with `fit` from average linkage.

use serde_json::json;
use treeport::fit::Start;
use treeport::{FitOptions, GroundMetric, Labelled, Linkage, PointMetric, Progress, fit, silent};

use super::{Cell, Column, Experiment, Setup, Table, no_figures, score};
use crate::Result;
use crate::generate::{
    clustered_measures, clustered_points, near_measures, random_pairs, seeded, sparse_measures,
    uniform_points,
};
use crate::scene::{Masses, Scene, SceneOptions};

pub(super) const LINKAGES: Experiment = Experiment {
    name: "linkages",
    about: "the fit from neighbors linkage, and from average linkage",
    cells,
    tables: &[Table {
        split: &["labels"],
        line: &["set", "points", "seed"],
        across: None,
        show: &[
            ("from average", Column::Spread("average")),
            ("from neighbors", Column::Spread("neighbors")),
            ("ratio", Column::Number("ratio", 3)),
        ],
    }],
    figures: no_figures,
    words: "Not in the paper. Error of `auto` on unseen pairs, from either start. Neighbors linkage never sees the \
distance matrix: it is what makes a million points possible.",
};

/// Generated data sets, and those of the data folder.
const SETS: [&str; 10] = [
    "plane-2000",
    "cube8-2000",
    "mixture-20000",
    "cells",
    "twitter",
    "bbcsport",
    "usair97 full",
    "usair97 subset",
    "belfast full",
    "belfast subset",
];

const SEEDS: u64 = 3;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let wanted = |set: &&str| {
        let first = set.split([' ', '-']).next().unwrap_or_default();
        let named = setup.scenes.is_empty() || setup.scenes.iter().any(|s| s == *set || s == first);
        named && (setup.data.is_some() || set.contains('-'))
    };
    if setup.quick {
        return vec![cell(setup, "plane-300", 60, setup.seed)];
    }
    let labels = setup.labels.unwrap_or(600);
    let sets = SETS.into_iter().filter(wanted);
    let seeds = |set| (0..SEEDS).map(move |k| cell(setup, set, labels, setup.seed + k));
    sets.flat_map(seeds).collect()
}

fn cell<'a>(setup: &'a Setup, set: &'static str, labels: usize, seed: u64) -> Cell<'a> {
    Cell::new(format!("{set} {labels} {seed}"), move |progress| {
        let (metric, train, test) = problem(setup, set, labels, seed, progress)?;
        let errors = |linkage| -> Result<treeport::Score> {
            let start = Some(Start::Linkage(linkage));
            let options = FitOptions { start, seed, ..FitOptions::default() };
            let model = fit(&metric, Some(&train), &options, progress)?.model;
            Ok(test.score(&model.pairs(test.measures(), test.pairs(), &silent)?))
        };
        let [average, neighbors] = [Linkage::Average, Linkage::Neighbors].map(errors);
        let (average, neighbors) = (average?, neighbors?);
        Ok(vec![json!({
            "experiment": "linkages", "set": set, "points": metric.points(), "seed": seed,
            "labels": train.len(), "average": score(&average), "neighbors": score(&neighbors),
            "ratio": neighbors.mean / average.mean,
        })])
    })
}

/// Test pairs.
const TEST: usize = 300;

/// Support size of measures on generated data sets.
const SUPPORT: usize = 30;

fn problem(
    setup: &Setup,
    set: &str,
    labels: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<(GroundMetric, Labelled, Labelled)> {
    let rng = &mut seeded(seed);
    let count = |set: &str| set.rsplit('-').next().and_then(|n| n.parse::<usize>().ok());
    let euclidean = |dim, points| GroundMetric::from_points(dim, points, PointMetric::Euclidean);
    let measures = 2 * TEST;
    let (metric, drawn) = match (set.split([' ', '-']).next(), count(set)) {
        (Some(kind @ ("plane" | "cube8")), Some(n)) => {
            let dim = if kind == "plane" { 2 } else { 8 };
            let metric = euclidean(dim, uniform_points(n, dim, 0.0, 1.0, rng))?;
            let drawn = [(); 2].map(|()| sparse_measures(n, SUPPORT, measures, rng));
            (metric, drawn)
        }
        (Some("mixture"), Some(n)) => {
            let metric = euclidean(32, clustered_points(n, 32, 50, rng))?;
            (metric, [(); 2].map(|()| clustered_measures(n, 50, SUPPORT, measures, rng)))
        }
        (Some("cells"), _) => {
            let options = SceneOptions { train: 1, test: 1, seed };
            let data = setup.data.as_deref();
            let scene = Scene::new("rnaseq_10x", Masses::Subset, data, options, progress)?;
            let drawn = [(); 2].map(|()| near_measures(&scene.metric, (50, 500), measures, rng));
            (scene.metric, drawn)
        }
        _ => {
            let (name, masses) = set.split_once(' ').unwrap_or((set, "full"));
            let masses = if masses == "full" { Masses::Full } else { Masses::Subset };
            let options = SceneOptions { train: labels, test: TEST, seed };
            let scene = Scene::new(name, masses, setup.data.as_deref(), options, progress)?;
            return Ok((scene.metric, scene.train, scene.test));
        }
    };
    let [train, test] = drawn;
    let (train, test) = (train?, test?);
    let pairs = random_pairs(labels, train.len(), rng)?;
    let train = Labelled::solve(&metric, &train, pairs, progress)?;
    let pairs = random_pairs(TEST, test.len(), rng)?;
    let test = Labelled::solve(&metric, &test, pairs, progress)?;
    Ok((metric, train, test))
}
