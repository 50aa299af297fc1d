//! The main job end to end on a built-in data set: 200 cities, and who lives near whom.
//!
//! A measure is a region: the people of the cities around a random centre. How far is one region's
//! population from another's, along the great circle? Exact transport answers for some pairs, a tree is
//! learned from them, and both are asked about regions the tree has never seen.

mod regions;

use std::time::{Duration, Instant};

use treeport::baseline::{Doing, Fit, FitOptions, fit};
use treeport::tree::Scratch;
use treeport::{
    GroundMetric, Labels, LearnOptions, Linkage, Measure, Measures, Progress, Result, Tree, exact,
    linkage, silent,
};

use crate::cities::{City, cities, condensed_distances};
use crate::report::{Model, Report, Test};
use crate::sample::{Random, random_pairs, seeded};
use crate::score::{
    Score, mean_label, median, median_ratio, total_variation_scale, total_variations,
};
use crate::timing::time_exact;

pub use regions::regional_measures;

/// Regions and pairs of them for training, and others for testing.
const TRAINING: (usize, usize) = (200, 2_000);
const TESTS: (usize, usize) = (100, 500);

/// The cities, the regions and their exact distances.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The points.
    pub cities: Vec<City>,
    /// Great-circle distances in km.
    pub metric: GroundMetric,
    /// Regions to learn from.
    pub training: Labelled,
    /// Regions that only test.
    pub test: Labelled,
    /// Seconds for one exact distance on one thread.
    pub exact_seconds: f64,
}

/// Measures with exact distances between some pairs.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The measures.
    pub measures: Measures,
    /// Pairs of them and their distances.
    pub labels: Labels,
}

/// One line of the demo's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What predicts.
    pub name: &'static str,
    /// How well.
    pub score: Score,
}

impl Demo {
    /// Pairs to solve exactly, in all.
    pub const PAIRS: usize = TRAINING.1 + TESTS.1;

    /// Draws the regions and solves the pairs; `progress` counts pairs and may stop.
    ///
    /// # Errors
    /// `Cancelled` when asked to stop.
    pub fn new(seed: u64, progress: &Progress<'_>) -> Result<Self> {
        let cities = cities();
        let distances = condensed_distances(&cities);
        let metric = GroundMetric::from_condensed(cities.len(), distances)?.assume_metric();
        let mut rng = seeded(seed);
        let training = labelled(&cities, &metric, TRAINING, &mut rng, progress)?;
        let after_training = |done: usize| progress(TRAINING.1 + done);
        let test = labelled(&cities, &metric, TESTS, &mut rng, &after_training)?;
        let Labelled { measures, labels } = &test;
        let (_, exact_seconds) =
            time_exact(&metric, measures, &labels.pairs, Duration::MAX, &silent)?;
        Ok(Self { cities, metric, training, test, exact_seconds })
    }

    /// The tree that learning starts from.
    ///
    /// # Errors
    /// None.
    pub fn start(&self) -> Result<Tree> {
        let names = self.cities.iter().map(|city| city.name.to_owned()).collect();
        linkage(&self.metric, Linkage::Average)?.with_names(names)
    }

    /// Learns from the training pairs, as `treeport fit` does.
    ///
    /// # Errors
    /// None.
    pub fn learn(&self, seed: u64, progress: &(dyn Fn(&Doing<'_>) -> bool + Sync)) -> Result<Fit> {
        let defaults = FitOptions::default();
        let options = FitOptions { learn: LearnOptions { seed, ..defaults.learn }, ..defaults };
        let Labelled { measures, labels } = &self.training;
        fit(&self.start()?, &self.metric, measures, labels, &options, progress)
    }

    /// How well the learned tree, its start and the two null baselines predict the test pairs.
    ///
    /// # Errors
    /// None.
    pub fn table(&self, learned: &Tree) -> Result<Vec<Line>> {
        let Labelled { measures, labels } = &self.test;
        let train = &self.training;
        let start = self.start()?;
        let on_training = start.pairs(&train.measures, &train.labels.pairs, &silent)?;
        let factor = median_ratio(&train.labels.distances, &on_training);
        let mean = mean_label(&train.labels.distances);
        let Labels { pairs, distances } = &train.labels;
        let variation = total_variation_scale(&train.measures, pairs, distances)?;
        let scaled = |values: Vec<f64>, factor: f64| values.iter().map(|v| v * factor).collect();
        let predictions = [
            ("mean of the training labels", vec![mean; labels.pairs.len()]),
            (
                "constant × total variation",
                scaled(total_variations(measures, &labels.pairs)?, variation),
            ),
            (
                "start: average linkage × constant",
                scaled(start.pairs(measures, &labels.pairs, &silent)?, factor),
            ),
            ("learned tree", learned.pairs(measures, &labels.pairs, &silent)?),
        ];
        let diameter = self.diameter();
        let line = |(name, predicted): (_, Vec<f64>)| Line {
            name,
            score: Score::new(&predicted, &labels.distances, diameter),
        };
        Ok(predictions.into_iter().map(line).collect())
    }

    /// The largest distance between two cities.
    fn diameter(&self) -> f64 {
        self.metric.condensed().into_iter().fold(0.0, f64::max)
    }

    /// A region by its largest city.
    fn region_name(&self, region: &Measure<'_>) -> String {
        let largest = region.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(city, _)| city);
        match region.support() {
            1 => self.cities[largest].name.to_owned(),
            cities => format!("{} + {}", self.cities[largest].name, cities - 1),
        }
    }

    /// The page about a learned tree, with the table and the time of one tree distance.
    ///
    /// # Errors
    /// None.
    pub fn report<'a>(
        &'a self,
        fitted: &'a Fit,
        table: &[Line],
        tree_seconds: f64,
    ) -> Result<Report<'a>> {
        let Labelled { measures, labels } = &self.test;
        let name = "learned tree";
        let model = Model {
            name: name.into(),
            file: "model.tree".into(),
            tree: &fitted.tree,
            history: &fitted.learned.history,
            predicted: fitted.tree.pairs(measures, &labels.pairs, &silent)?,
            bounds: None,
        };
        let score = table.iter().find(|line| line.name == name).map(|line| line.score);
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let mut tiles = vec![(
            format!("{:.0} ×", self.exact_seconds / tree_seconds),
            "faster than exact transport".into(),
        )];
        if let Some(score) = score {
            tiles.insert(0, (percent(score.median), "median error".into()));
            tiles.insert(0, (percent(score.mean), "mean error".into()));
        }
        let fact = |key: &str, value: String| (key.to_owned(), value);
        Ok(Report {
            title: "200 cities: a tree learned from transport distances".into(),
            summary: format!(
                "A measure is a region: the people in the cities around a random centre. The tree was learned \
                 from {} exact distances between regions, and is judged on {} pairs of other regions.",
                self.training.labels.pairs.len(),
                labels.pairs.len()
            ),
            unit: "km".into(),
            tiles,
            models: vec![model],
            test: Some(Test {
                metric: &self.metric,
                measures,
                names: Some(measures.iter().map(|m| self.region_name(&m)).collect()),
                pairs: &labels.pairs,
                exact: &labels.distances,
                diameter: self.diameter(),
            }),
            scores: table.iter().rev().map(|line| (line.name.to_owned(), line.score)).collect(),
            groups: Some(self.cities.iter().map(|city| city.continent.to_owned()).collect()),
            facts: vec![
                fact("points", format!("{} cities", self.cities.len())),
                fact("ground metric", "great-circle distance".into()),
                fact("regions to learn from", self.training.measures.len().to_string()),
                fact("regions to test on", measures.len().to_string()),
                fact(
                    "cities in a region",
                    format!("{:.1} on average", measures.entries() as f64 / measures.len() as f64),
                ),
            ],
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    /// Seconds for one tree distance on one thread, between prepared measures.
    ///
    /// # Errors
    /// None.
    pub fn time_tree(&self, tree: &Tree) -> Result<f64> {
        let Labelled { measures, labels } = &self.test;
        let prepared = tree.prepare(measures)?;
        let mut scratch = Scratch::default();
        let mut times = Vec::new();
        for _ in 0..20 {
            let begun = Instant::now();
            for &(i, j) in &labels.pairs {
                std::hint::black_box(prepared.distance_with(i, j, &mut scratch));
            }
            times.push(begun.elapsed().as_secs_f64());
        }
        Ok(median(&times) / labels.pairs.len() as f64)
    }
}

fn labelled(
    cities: &[City],
    metric: &GroundMetric,
    (regions, pairs): (usize, usize),
    rng: &mut Random,
    progress: &Progress<'_>,
) -> Result<Labelled> {
    let measures = regional_measures(cities, regions, rng)?;
    let pairs = random_pairs(pairs, regions, rng)?;
    let distances = exact::pairs(metric, &measures, &pairs, progress)?;
    Ok(Labelled { measures, labels: Labels { pairs, distances } })
}
