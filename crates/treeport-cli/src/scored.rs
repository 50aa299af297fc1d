//! Test pairs with exact distances, and scores on them.
//!
//! Whatever has a constant gets it from the first half of the pairs, and everything is scored on the
//! second half, so that all scores are of the same pairs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use treeport::{GroundMetric, Labels, Measures};
use treeport_report::score::{self, Score};
use treeport_report::terminal::at_least_one;

use crate::output::Output;
use crate::{input, labels};

/// Where test pairs come from.
#[derive(Args, Debug)]
pub(crate) struct TestArgs {
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE", help_heading = "Test pairs")]
    pub(crate) measures: Option<PathBuf>,
    /// Divide every measure by its total mass.
    #[arg(long, requires = "measures", help_heading = "Test pairs")]
    pub(crate) normalize: bool,
    /// Exact distances known already: columns left, right, distance (.csv); measures count from 0.
    #[arg(long, value_name = "FILE", conflicts_with = "pairs", help_heading = "Test pairs")]
    pub(crate) labels: Option<PathBuf>,
    /// Random pairs of measures to solve exactly.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = at_least_one)]
    #[arg(help_heading = "Test pairs")]
    pub(crate) pairs: usize,
    /// Seed of the random pairs.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Test pairs")]
    pub(crate) seed: u64,
}

/// Keeps the test pairs apart from those `fit` draws with the same seed.
const TEST_PAIRS: u64 = 0x7465_7374;

/// Labelled pairs of measures.
pub(crate) struct Scored<'a> {
    pub(crate) measures: &'a Measures,
    pub(crate) labels: Labels,
    /// Pairs before this one fit constants; it and those after are scored.
    pub(crate) half: usize,
    pub(crate) diameter: f64,
}

/// A prediction that ignores the ground metric.
pub(crate) struct Baseline {
    pub(crate) name: &'static str,
    pub(crate) constant: f64,
    pub(crate) score: Score,
}

impl TestArgs {
    /// The measures, checked against the metric.
    pub(crate) fn read(&self, path: &Path, metric: &GroundMetric) -> Result<Measures> {
        input::measures_on(metric.points(), path, self.normalize)
    }

    /// Reads the labels, or draws pairs and solves them.
    pub(crate) fn label<'a>(
        &self,
        path: &Path,
        metric: &GroundMetric,
        measures: &'a Measures,
        output: &Output,
    ) -> Result<Scored<'a>> {
        let name = || input::name(path);
        let labels = if let Some(path) = &self.labels {
            labels::read(path, measures)?
        } else {
            let seed = self.seed ^ TEST_PAIRS;
            let pairs = labels::random_pairs(self.pairs, measures.len(), seed);
            Labels { pairs: pairs.with_context(name)?, distances: vec![] }
        };
        measures.check_pairs(&labels.pairs).with_context(name)?;
        ensure!(labels.pairs.len() >= 2, "one pair cannot both fit and test; give at least 2");
        let distances = if self.labels.is_some() {
            labels.distances
        } else {
            labels::solve(metric, measures, &labels.pairs, output)?
        };
        let labels = Labels { pairs: labels.pairs, distances };
        let half = labels.pairs.len() / 2;
        Ok(Scored { measures, half, diameter: diameter(metric), labels })
    }
}

impl Scored<'_> {
    /// The score of predictions for all pairs, times a factor, on the second half.
    pub(crate) fn score(&self, predicted: &[f64], factor: f64) -> Score {
        let predicted: Vec<f64> = predicted[self.half..].iter().map(|p| factor * p).collect();
        Score::new(&predicted, &self.labels.distances[self.half..], self.diameter)
    }

    /// The factor that fits predictions to the first half.
    pub(crate) fn factor(&self, predicted: &[f64]) -> f64 {
        score::median_ratio(&self.labels.distances[..self.half], &predicted[..self.half])
    }

    /// What a model has to beat.
    pub(crate) fn baselines(&self) -> Result<[Baseline; 2]> {
        let pairs = &self.labels.pairs;
        let mean = score::mean_label(&self.labels.distances[..self.half]);
        let variations = score::total_variations(self.measures, pairs)?;
        let scale = self.factor(&variations);
        Ok([
            Baseline {
                name: "mean label",
                constant: mean,
                score: self.score(&vec![1.0; pairs.len()], mean),
            },
            Baseline {
                name: "constant x total variation",
                constant: scale,
                score: self.score(&variations, scale),
            },
        ])
    }
}

/// The largest distance, or for points one close to it.
///
/// It only says which labels count as 0, below 10⁻⁴ of it, so that going from each point to the one
/// farthest away a few times is enough: for a metric that finds at least half of the diameter.
fn diameter(metric: &GroundMetric) -> f64 {
    if metric.matrix().is_some() {
        return metric.condensed().into_iter().fold(0.0, f64::max);
    }
    let mut row = vec![0.0; metric.points()];
    let (mut from, mut largest) = (0, 0.0);
    for _ in 0..4 {
        metric.row(from, &mut row);
        for (to, &distance) in row.iter().enumerate() {
            if distance > largest {
                (from, largest) = (to, distance);
            }
        }
    }
    largest
}
