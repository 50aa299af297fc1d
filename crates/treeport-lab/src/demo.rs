//! The main job end to end on a built-in data set: 200 cities, and who lives near whom.
//!
//! A measure is a region: the people of the cities around a random centre. How far is one region's
//! population from another's, along the great circle? Exact transport answers for some pairs, a tree is
//! learned from them, and both are asked about regions the tree has never seen.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use treeport::learn::{Status, learn};
use treeport::tree::Scratch;
use treeport::{
    GroundMetric, Labels, LearnOptions, Learned, Linkage, Measures, Progress, Tree, exact, linkage,
    silent,
};

use crate::cities::{City, cities, condensed_distances};
use crate::generate::{Random, random_pairs, regional_measures, seeded};
use crate::score::{
    Score, mean_label, median, median_ratio, total_variation_scale, total_variations,
};
use crate::timing::time_exact;
use crate::{Result, condensed};

/// Regions and pairs of them for training, and others for testing.
const TRAINING: (usize, usize) = (200, 2_000);
const TEST: (usize, usize) = (100, 500);

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
    pub const PAIRS: usize = TRAINING.1 + TEST.1;

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
        let test = labelled(&cities, &metric, TEST, &mut rng, &after_training)?;
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
        Ok(linkage(&self.metric, Linkage::Average)?.with_names(names)?)
    }

    /// Learns from the training pairs.
    ///
    /// # Errors
    /// None.
    pub fn learn(
        &self,
        seed: u64,
        progress: impl FnMut(&Status<'_>) -> ControlFlow<()>,
    ) -> Result<Learned> {
        let options = LearnOptions { epochs: 60, seed, ..LearnOptions::default() };
        let Labelled { measures, labels } = &self.training;
        Ok(learn(&self.start()?, measures, labels, &options, progress)?)
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
        let diameter = condensed::diameter(&self.metric.condensed());
        let line = |(name, predicted): (_, Vec<f64>)| Line {
            name,
            score: Score::new(&predicted, &labels.distances, diameter),
        };
        Ok(predictions.into_iter().map(line).collect())
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
