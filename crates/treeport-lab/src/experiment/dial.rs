//! Cost and accuracy of every level, as cells: [`crate::dial`].

use serde_json::json;
use treeport::Progress;

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, score};
use crate::Result;
use crate::dial;
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
                    rows(&scene, options, progress)
                };
                cells.push(Cell::new(key, work).reads(setup, &scene));
            }
        }
    }
    cells
}

fn rows(scene: &Scene, options: SceneOptions, progress: &Progress<'_>) -> Result<Vec<Row>> {
    let row = |level: &dial::LevelRow| {
        json!({
            "experiment": "dial", "scene": scene.name, "points": scene.metric.points(),
            "level": level.level, "labels": scene.train.len(), "seed": options.seed,
            "error": score(&level.plain), "scaled": score(&level.scaled),
            "mean_width": level.width.map(|width| width.0),
            "median_width": level.width.map(|width| width.1),
            "between": level.between.as_ref().map(score),
            "seconds": level.seconds, "exact_over_this": level.ratio,
        })
    };
    Ok(dial::run(scene, TREES, options.seed, progress)?.iter().map(row).collect())
}
