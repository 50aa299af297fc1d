//! Error, width of the certified interval and cost of every level of accuracy, with baselines.

use std::time::Duration;

use serde_json::json;
use treeport::accuracy::{Accuracy, Level};
use treeport::build::{PerturbedOptions, perturbed};
use treeport::estimate::{Estimate, Estimator};
use treeport::labeled::score::median;
use treeport::names::Named;
use treeport::{Method, Model, Progress, Score};
use treeport_report::timing::{time_exact, time_model, time_pairs};

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, score};
use crate::Result;
use crate::answers::{Answers, as_it_is, fit_whole};
use crate::scene::{Masses, Scene, SceneOptions, has_random_measures, names};

pub(super) const DIAL: Experiment = Experiment {
    name: "dial",
    about: "a forest of 16 trees at every level of accuracy, with certified bounds",
    cells,
    tables: &[Table {
        split: &["scene", "points", "labels", "seed"],
        line: &["level"],
        across: None,
        show: &[
            ("error", Column::Spread("error")),
            ("times one factor", Column::Spread("scaled")),
            ("mean width", Column::Number("mean_width", 3)),
            ("median width", Column::Number("median_width", 3)),
            ("between bounds", Column::Spread("between")),
            ("time", Column::Seconds("seconds")),
            ("exact/this", Column::Number("exact_over_this", 1)),
        ],
    }],
    figures: no_figures,
    words: "Not in the paper. Time is that of one pair on one thread; for trees every measure is in many pairs, so that what is \
done once for a measure costs little. `width` is upper/lower − 1 of the certified \
interval around W₁, which at the levels of trees is more work than the value: flow then computes all distances. `between bounds` is the \
error of the value that is returned with them, a blend of the lower and the upper bound with weights from the labels. Arcs does not \
use the tree: its bounds and its value are of a few Sinkhorn sweeps. A lower bound of 0 makes a width infinite: the mean is then omitted. A level with a larger error on the training labels than a lower one \
returns the value of the lower one. \
The levels are shown as they are, by the trees alone: where exact/this is below 1 the exact solver is faster, and there the \
estimator as users get it (`treeport estimate`) solves exactly instead.",
};

/// Trees of the forest.
const TREES: usize = 16;

/// Returns the numbers of labels and test pairs; fewer if an exact solve takes a second.
fn pairs(scene: &str) -> (usize, usize) {
    if scene == "rnaseq_10x" { (60, 20) } else { (300, 200) }
}

/// Scenes and pairs of a quick run.
const QUICK: (usize, usize) = (2, 50);

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let data = setup.data.as_deref();
    let mut scenes = if setup.scenes.is_empty() { names(data) } else { setup.scenes.clone() };
    if setup.quick {
        scenes.truncate(QUICK.0);
    }
    let mut cells = Vec::new();
    for scene in scenes {
        let (mut train, mut test) = pairs(&scene);
        train = setup.labels.unwrap_or(train);
        if setup.quick {
            (train, test) = (train.min(QUICK.1), QUICK.1);
        }
        let options = SceneOptions { train, test, seed: setup.seed };
        for (masses, name) in [(Masses::Full, "full"), (Masses::Subset, "subset")] {
            if masses == Masses::Full || has_random_measures(&scene) {
                let key = format!("{scene} {name} {train} {test}");
                let set = scene.clone();
                let work = move |progress: &Progress<'_>| {
                    let scene = Scene::new(&set, masses, data, options, progress)?;
                    rows(&scene, TREES, options.seed, progress)
                };
                cells.push(Cell::new(key, work).reads(setup, &scene));
            }
        }
    }
    cells
}

/// Evaluates the levels of a forest of `trees` perturbed average-linkage trees, even where the
/// exact solver would be faster, after an untrained tree and a learned one.
fn rows(scene: &Scene, trees: usize, seed: u64, progress: &Progress<'_>) -> Result<Vec<Row>> {
    let Scene { metric, train, test, .. } = scene;
    let options = PerturbedOptions { n_trees: trees, seed, ..PerturbedOptions::default() };
    let model = Model::Forest(perturbed(metric, &options, progress)?);
    let estimator = Estimator::new(metric, &model)?.by_trees_alone();
    let calibrated = estimator.calibrated(Level::Arcs, train, progress)?;
    let (measures, pairs) = (test.measures(), test.pairs());
    let (_, exact_seconds) = time_exact(metric, measures, pairs, Duration::MAX, progress)?;
    let row = |level: &str, [plain, scaled]: [Score; 2], seconds: f64| {
        json!({
            "experiment": "dial", "scene": scene.name, "points": metric.points(),
            "level": level, "labels": train.len(), "seed": seed,
            "error": score(&plain), "scaled": score(&scaled),
            "mean_width": null, "median_width": null, "between": null,
            "seconds": seconds, "exact_over_this": exact_seconds / seconds,
        })
    };
    let time = |model: &Model| time_model(model, measures, pairs, Duration::MAX, progress);
    let mut rows = Vec::new();
    for (level, method) in [("average", Method::Average), ("learned", Method::Tree)] {
        let model = fit_whole(metric, train, &as_it_is(method, seed), progress)?.model;
        let scores = Answers::of_model(&model, (train, test), progress)?.scores(test);
        rows.push(row(level, scores, time(&model)?.1));
    }
    for level in [Level::Tree, Level::Flow, Level::Arcs] {
        let (_, seconds) = if level == Level::Tree {
            time(&model)?
        } else {
            time_pairs(pairs.len(), Duration::MAX, progress, |watch| {
                calibrated.pairs(level, measures, pairs, watch).map(drop)
            })?
        };
        let found = calibrated.pairs(level, measures, pairs, progress)?;
        let of = |part: fn(&Estimate) -> f64| found.iter().map(part).collect::<Vec<_>>();
        let scores = [of(|e| e.raw), of(|e| e.value)].map(|found| test.score(&found));
        let answers = calibrated.answers(Accuracy::Level(level), measures, pairs, progress)?;
        let widths: Vec<f64> = answers.iter().map(|answer| answer.interval.width()).collect();
        let between: Vec<f64> = answers.iter().map(|answer| answer.value).collect();
        let mut row = row(level.name(), scores, seconds);
        row["mean_width"] = json!(widths.iter().sum::<f64>() / widths.len() as f64);
        row["median_width"] = json!(median(&widths));
        row["between"] = score(&test.score(&between));
        rows.push(row);
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use treeport::silent;

    use super::*;

    fn mean(row: &Row, part: &str) -> f64 {
        row[part]["mean"].as_f64().expect("a number")
    }

    #[test]
    fn on_unseen_pairs_no_level_errs_more_than_the_one_before() {
        let options = SceneOptions { train: 40, test: 40, seed: 2 };
        let scenes = [
            ("uniform-2", Masses::Full),
            ("uniform-5", Masses::Subset),
            ("uniform-17", Masses::Full),
            ("plane-100", Masses::Full),
        ];
        for (name, masses) in scenes {
            let scene = Scene::new(name, masses, None, options, &silent).unwrap();
            let rows = rows(&scene, 4, 1, &silent).unwrap();
            let levels: Vec<_> = rows.iter().filter_map(|row| row["level"].as_str()).collect();
            assert_eq!(levels, ["average", "learned", "tree", "flow", "arcs"]);
            let errors: Vec<f64> = rows[2..].iter().map(|row| mean(row, "scaled")).collect();
            assert!(errors.is_sorted_by(|low, high| high <= low), "{name}: {errors:?}");
            // With their bounds, flow and arcs are at least as accurate.
            let between = |k: usize| mean(&rows[k], "between");
            assert!(between(3) <= errors[1] && between(4) <= errors[2] * (1.0 + 1e-9), "{name}");
        }
    }
}
