//! `treeport reproduce dial`: what every level of accuracy costs and gives.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use treeport_lab::dial::{self, Notch};
use treeport_lab::scene::{Masses, Scene, SceneOptions, has_random_measures, names};

use super::reproduce::ReproduceArgs;
use crate::interrupt;
use crate::output::{self, Output};

/// Trees of the forest.
const TREES: usize = 16;

/// Unseen pairs to judge by.
const TEST: usize = 200;

/// What a glance takes.
const QUICK: (usize, usize) = (2, 50);

/// Runs the dial on every scene and prints a table for each.
pub(super) fn run(args: &ReproduceArgs, output: &Output) -> Result<()> {
    let named = || std::env::var_os("TREEPORT_DATA").map(PathBuf::from);
    let data = args.data.clone().or_else(named);
    let mut scenes = args.scenes.clone();
    if scenes.is_empty() {
        scenes = names(data.as_deref());
    }
    let mut options = SceneOptions { train: args.labels, test: TEST, seed: args.seed };
    if args.quick {
        scenes.truncate(QUICK.0);
        options = SceneOptions { train: options.train.min(QUICK.1), test: QUICK.1, ..options };
    }
    output.note(&format!(
        "{TREES} trees, {} labels, {} unseen pairs, seed {}; errors relative, after one factor from the labels",
        options.train, options.test, options.seed
    ));
    for name in scenes {
        for masses in [Masses::Full, Masses::Subset] {
            if masses == Masses::Subset && !has_random_measures(&name) {
                continue;
            }
            let bar = output.bar("labels", options.train + options.test);
            let watch = |done: usize| {
                bar.set_position(done as u64);
                !interrupt::asked()
            };
            let scene = Scene::new(&name, masses, data.as_deref(), options, &watch);
            bar.finish_and_clear();
            let scene = scene?;
            let spinner = output.spinner(&scene.name);
            let notches = dial::run(&scene, TREES, args.seed)?;
            spinner.finish_and_clear();
            interrupt::check()?;
            print(&scene, &notches, options, output)?;
        }
    }
    Ok(())
}

fn print(scene: &Scene, notches: &[Notch], options: SceneOptions, output: &Output) -> Result<()> {
    if output.json {
        for notch in notches {
            output::line(json!({
                "experiment": "dial",
                "scene": scene.name,
                "level": notch.level,
                "labels": options.train,
                "seed": options.seed,
                "error": notch.plain.mean,
                "scaled_error": notch.scaled.mean,
                "scaled_std": notch.scaled.std,
                "width": notch.width,
                "seconds": notch.seconds,
                "exact_over_this": notch.ratio,
            }))?;
        }
        return Ok(());
    }
    let heading = ["level", "error", "after one factor", "width", "time", "exact/this"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for notch in notches {
        rows.push(vec![
            notch.level.into(),
            notch.plain.to_string(),
            notch.scaled.to_string(),
            notch.width.map_or("-".into(), |width| format!("{width:.3}")),
            format!("{:.1} µs", notch.seconds * 1e6),
            format!("{:.1}", notch.ratio),
        ]);
    }
    output::line(format!("{} ({} points)", scene.name, scene.metric.points()))?;
    output::line(output::table(&rows))
}
