//! `auto` compared with its own start, with few labels.

use std::time::Instant;

use serde_json::json;
use treeport::internal::names::Named;
use treeport::{FitOptions, Labelled, Method, Progress, fit, silent};

use super::{Cell, Column, Experiment, Row, Setup, Table, masses_name, no_figures, spread};
use crate::Result;
use crate::scene::{Masses, Scene, SceneOptions, has_random_measures};

pub(super) const FEW_LABELS: Experiment = Experiment {
    name: "few-labels",
    about: "`auto` and its start times one factor, with few labels",
    cells,
    tables: &[Table {
        split: &["seeds"],
        line: &["set", "measures", "labels"],
        across: None,
        show: &[
            ("start", Column::Spread("start")),
            ("auto", Column::Spread("auto")),
            ("worse", Column::Text("worse")),
            ("largest ratio", Column::Number("largest_ratio", 3)),
            ("kept", Column::Text("kept")),
            ("fit", Column::Seconds("seconds")),
        ],
    }],
    figures: no_figures,
    words: "Not in the paper. Mean error on unseen pairs over the seeds, of average linkage times one factor and of \
`auto`, from the same labels; how many times `auto` had the larger error, the largest of its errors over that of the start, \
and which stage it kept how often. Test pairs are of other measures than the labels. Maps are also run with all labels between a few measures.",
};

/// Default data sets: maps, cells and documents; any other sets can be named.
const SETS: [&str; 6] =
    ["usca312", "usair97", "kuopio", "belfast", "pbmc68k_reduced", "bbcsport_w2v1k"];

/// Data sets that are also run with all labels between a few measures.
const MAPS: [&str; 3] = ["usca312", "usair97", "kuopio"];

/// Number of measures between which all labels are; generalizing to new measures is harder than to
/// new pairs.
const FEW_MEASURES: usize = 40;

const SEEDS: u64 = 10;

/// Test pairs.
const TEST: usize = 300;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let of = |set: &str, masses, measures| FewLabels { set: set.into(), masses, measures };
    if setup.quick {
        return vec![of("uniform-2", Masses::Subset, None).cell(setup, vec![30], 3)];
    }
    let counts = setup.labels.map_or(vec![50, 150, 300], |labels| vec![labels]);
    let named = setup.scenes.iter().map(String::as_str);
    let sets: Vec<&str> = if setup.scenes.is_empty() { SETS.to_vec() } else { named.collect() };
    let kinds = |set: &str| {
        let mut kinds = vec![of(set, Masses::Full, None)];
        if has_random_measures(set) {
            kinds.push(of(set, Masses::Subset, None));
        }
        if MAPS.contains(&set) {
            kinds.push(of(set, Masses::Full, Some(FEW_MEASURES)));
        }
        kinds
    };
    let kinds = sets.into_iter().filter(|_| setup.data.is_some()).flat_map(kinds);
    kinds.map(|kind| kind.cell(setup, counts.clone(), SEEDS)).collect()
}

/// A data set with one kind of measures.
struct FewLabels {
    set: String,
    masses: Masses,
    /// Number of measures between which all labels are; `None` for two measures per label.
    measures: Option<usize>,
}

impl FewLabels {
    /// Creates the cell of all numbers of labels; for each seed they are prefixes of one list.
    fn cell(self, setup: &Setup, counts: Vec<usize>, seeds: u64) -> Cell<'_> {
        let name = format!("{} {}", self.set, masses_name(&self.set, self.masses));
        let measures = self.measures.map_or("many".to_owned(), |count| count.to_string());
        let (set, title) = (self.set.clone(), format!("{name} {measures} {counts:?} {seeds}"));
        let work = move |progress: &Progress<'_>| {
            let most = counts.iter().copied().max().unwrap_or_default();
            let mut scenes = Vec::new();
            for seed in (setup.seed..).take(seeds as usize) {
                scenes.push((seed, self.scene(setup, most, seed, progress)?));
            }
            let rows = counts.iter().map(|&labels| row(&name, &measures, labels, &scenes));
            rows.collect()
        };
        Cell::new(title, work).reads(setup, &set)
    }

    fn scene(
        &self,
        setup: &Setup,
        labels: usize,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<Scene> {
        let train = self.measures.map_or(labels, |measures| measures / 2);
        let options = SceneOptions { train, test: TEST, seed };
        let data = setup.data.as_deref();
        let mut scene = Scene::new(&self.set, self.masses, data, options, progress)?;
        if self.measures.is_some() {
            let measures = scene.train.measures();
            scene.train = Labelled::sample(&scene.metric, measures, labels, seed, progress)?;
        }
        Ok(scene)
    }
}

fn row(set: &str, measures: &str, labels: usize, scenes: &[(u64, Scene)]) -> Result<Row> {
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
    let ratios = start.iter().zip(&auto).map(|(start, auto)| auto / start);
    let stages = ["start", "points", "learned", "edges"];
    let times = stages.map(|stage| kept.iter().filter(|k| **k == stage).count());
    let counted = stages.iter().zip(times).filter(|(_, times)| *times > 0);
    let kept: Vec<String> = counted.map(|(stage, times)| format!("{stage} {times}")).collect();
    Ok(json!({
        "experiment": "few-labels", "set": set, "measures": measures, "labels": labels, "seeds": scenes.len(),
        "start": spread(&start), "auto": spread(&auto), "worse": worse,
        "largest_ratio": ratios.fold(0.0, f64::max), "kept": kept.join(", "),
        "seconds": seconds / scenes.len() as f64,
    }))
}

/// Returns the error on test pairs, and the selected stage.
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
