//! Test scenes: a ground metric, labeled training pairs, and labeled test pairs.
//!
//! Scenes have names. Generated: `uniform-D` (100 points of [−10, 10]^D) and `plane-S` (500 points
//! of the unit square, measures with S points). From a data folder: the name of a data set. Data
//! sets without measures get random ones of one of two kinds ([`Masses`]); documents are split as
//! defined by their set, so that test documents are not used for training.

use std::path::Path;

use treeport::io::{Array, npz};
use treeport::progress::State;
use treeport::{Error, GroundMetric, Labeled, Measures, PointMetric, Progress};

use crate::Result;
use crate::datasets::{self, Dataset, Kind};
use crate::generate::{
    Random, random_pairs, seeded, sparse_measures, subset_measures, uniform_measures,
    uniform_points,
};

/// Distribution of random masses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masses {
    /// Independent uniform masses on all points.
    Full,
    /// Equal masses on a random subset of uniform size.
    Subset,
}

impl Masses {
    /// Draws measures.
    pub fn draw(self, points: usize, count: usize, rng: &mut Random) -> treeport::Result<Measures> {
        match self {
            Self::Full => uniform_measures(points, count, rng),
            Self::Subset => subset_measures(points, count, rng),
        }
    }
}

/// A metric with labeled pairs.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Name of the scene.
    pub name: String,
    /// Ground metric; graphs are materialized.
    pub metric: GroundMetric,
    /// Training labels.
    pub train: Labeled,
    /// Test labels.
    pub test: Labeled,
}

/// Numbers of pairs of a scene, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneOptions {
    /// Number of labeled training pairs.
    pub train: usize,
    /// Number of labeled test pairs.
    pub test: usize,
    /// Seed of points, measures and pairs.
    pub seed: u64,
}

/// Names the scenes in the order of the tables; those of the data folder only if present.
pub fn names(data: Option<&Path>) -> Vec<String> {
    let mut names: Vec<String> = [2, 5, 8, 17].iter().map(|d| format!("uniform-{d}")).collect();
    names.extend([5, 25, 100].iter().map(|s| format!("plane-{s}")));
    let found = data.map(datasets::find).unwrap_or_default();
    let order =
        ["usca312", "usair97", "belfast", "rnaseq_10x", "bbcsport_w2v1k", "twitter", "bbcsport"];
    names.extend(order.iter().filter(|name| found.get(name).is_some()).map(|&name| name.into()));
    names
}

/// Checks whether a scene's measures are random, so that [`Masses`] applies.
pub fn has_random_measures(name: &str) -> bool {
    let drawn = ["usca312", "usair97", "belfast", "kuopio", "rnaseq_10x", "pbmc68k_reduced"];
    name.starts_with("uniform-") || drawn.contains(&name)
}

impl Scene {
    /// Generates or reads a scene and labels its pairs; `progress` counts labels.
    pub fn new(
        name: &str,
        masses: Masses,
        data: Option<&Path>,
        options: SceneOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut rng = seeded(options.seed);
        let scene = UnlabeledScene::new(name, masses, data, options, &mut rng)?;
        let [train_pairs, test_pairs] =
            [(options.train, &scene.train), (options.test, &scene.test)]
                .map(|(count, measures)| random_pairs(count, measures.len(), &mut rng));
        let (train_pairs, test_pairs) = (train_pairs?, test_pairs?);
        let train = Labeled::solve(&scene.metric, &scene.train, train_pairs, progress)?;
        let further = |state: &State<'_>| {
            progress(&State { done: train.len() + state.done, total: None, ..*state })
        };
        let test = Labeled::solve(&scene.metric, &scene.test, test_pairs, &further)?;
        let name = if has_random_measures(name) {
            format!("{name}, {}", if masses == Masses::Full { "all points" } else { "subset" })
        } else {
            name.into()
        };
        Ok(Self { name, metric: scene.metric, train, test })
    }
}

/// A scene before its pairs are drawn.
struct UnlabeledScene {
    metric: GroundMetric,
    train: Measures,
    test: Measures,
}

impl UnlabeledScene {
    fn new(
        name: &str,
        masses: Masses,
        data: Option<&Path>,
        options: SceneOptions,
        rng: &mut Random,
    ) -> Result<Self> {
        let made =
            name.split_once('-').and_then(|(kind, n)| Some((kind, n.parse::<usize>().ok()?)));
        if let Some((kind @ ("uniform" | "plane"), number)) = made {
            return Self::made(kind, number, masses, options, rng);
        }
        let found = data.map(datasets::find).unwrap_or_default();
        let set = found.get(name).ok_or_else(|| Error::BadOption {
            option: "scene",
            value: name.into(),
            expected: "it must be uniform-D, plane-S or a set in the data folder",
        })?;
        Self::read(set, masses, options, rng)
    }

    fn made(
        kind: &str,
        number: usize,
        masses: Masses,
        options: SceneOptions,
        rng: &mut Random,
    ) -> Result<Self> {
        if kind == "uniform" {
            let points = uniform_points(100, number, -10.0, 10.0, rng);
            let metric = GroundMetric::from_points(number, points, PointMetric::Euclidean)?;
            return Self::with_random_measures(metric, masses, options, rng);
        }
        let points = uniform_points(500, 2, 0.0, 1.0, rng);
        let metric =
            GroundMetric::from_points(2, points, PointMetric::Euclidean)?.materialized()?;
        let train = sparse_measures(500, number, 2 * options.train, rng)?;
        let test = sparse_measures(500, number, 2 * options.test, rng)?;
        Ok(Self { metric, train, test })
    }

    fn read(
        set: &Dataset,
        masses: Masses,
        options: SceneOptions,
        rng: &mut Random,
    ) -> Result<Self> {
        match set.kind {
            Kind::Text => {
                let docs = set.documents()?;
                let part = |name| some_rows(&docs, &rows_of(set, name)?);
                Ok(Self { metric: set.metric()?, train: part("train")?, test: part("test")? })
            }
            Kind::Tree => {
                let docs = set.documents()?;
                Ok(Self { metric: set.metric()?, train: docs.clone(), test: docs })
            }
            _ => {
                let metric = set.metric()?;
                let metric = if set.kind == Kind::Graph { metric.materialized()? } else { metric };
                Self::with_random_measures(metric, masses, options, rng)
            }
        }
    }

    /// Draws two measures per requested pair, but at most a few hundred.
    fn with_random_measures(
        metric: GroundMetric,
        masses: Masses,
        options: SceneOptions,
        rng: &mut Random,
    ) -> Result<Self> {
        let n = metric.points();
        let mut draw = |pairs: usize| masses.draw(n, (2 * pairs).min(MOST_MEASURES), rng);
        let (train, test) = (draw(options.train)?, draw(options.test)?);
        Ok(Self { metric, train, test })
    }
}

/// Maximum number of random measures of a data set; pairs are drawn among them.
const MOST_MEASURES: usize = 600;

/// Reads the row numbers of one part of the documents.
fn rows_of(set: &Dataset, name: &str) -> Result<Vec<usize>> {
    let values = npz::read_one(set.open("split.npz")?, name).and_then(Array::into_f64)?;
    Ok(values.into_iter().map(|row| row as usize).collect())
}

fn some_rows(measures: &Measures, rows: &[usize]) -> Result<Measures> {
    let row = |&r: &usize| Ok(measures.get(r)?.iter().collect::<Vec<_>>());
    let rows = rows.iter().map(row).collect::<Result<Vec<_>>>()?;
    Ok(Measures::from_rows(measures.points(), rows)?.normalized())
}

#[cfg(test)]
mod tests {
    use treeport::{Problem, silent};

    use super::*;

    const FEW: SceneOptions = SceneOptions { train: 7, test: 5, seed: 3 };

    #[test]
    fn made_scenes_are_labeled_and_the_same_for_a_seed() {
        for (name, masses) in [("uniform-3", Masses::Subset), ("plane-5", Masses::Full)] {
            let scene = Scene::new(name, masses, None, FEW, &silent).unwrap();
            assert_eq!((scene.train.len(), scene.test.len()), (7, 5));
            let (i, j) = scene.test.pairs()[4];
            let row = |r| scene.test.measures().row(r);
            let again = Problem::new(&scene.metric, &row(i), &row(j)).value(&silent);
            assert_eq!(scene.test.distances()[4], again.unwrap());
            let twin = Scene::new(name, masses, None, FEW, &silent).unwrap();
            assert_eq!(twin.train, scene.train);
        }
    }

    #[test]
    fn an_unknown_scene_is_an_error() {
        let error = Scene::new("mars", Masses::Full, None, FEW, &silent).unwrap_err();
        assert!(error.to_string().starts_with("scene is mars"), "{error}");
    }
}
