//! Predictions of a method for test pairs, unscaled and scaled by a factor from the training
//! labels.
//!
//! Methods often differ only by that factor, so every table has both.

use std::sync::atomic::{AtomicBool, Ordering};

use treeport::accuracy::Level;
use treeport::estimate::{Estimate, Estimator};
use treeport::labeled::score;
use treeport::progress::State;
use treeport::{
    Error, Fit, FitOptions, GroundMetric, Labeled, Method, Model, Progress, Result, Score, fit,
};

/// Training labels and test labels.
pub type Split<'a> = (&'a Labeled, &'a Labeled);

/// Predictions for the first test pairs, or for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// Unscaled.
    pub plain: Vec<f64>,
    /// Scaled by one factor from the training labels.
    pub scaled: Vec<f64>,
}

impl Answers {
    /// Scales predictions by the factor that the predictions `seen` for the first labels need.
    pub fn new(train: &Labeled, seen: &[f64], unseen: Vec<f64>) -> Self {
        let factor = score::factor(seen, &train.distances()[..seen.len()]);
        Self { scaled: unseen.iter().map(|d| factor * d).collect(), plain: unseen }
    }

    /// Collects the predictions of a method for both kinds of pairs.
    pub fn of(data: Split<'_>, predict: impl Fn(&Labeled) -> Result<Vec<f64>>) -> Result<Self> {
        let (train, test) = data;
        Ok(Self::new(train, &predict(train)?, predict(test)?))
    }

    /// Collects the predictions of a model.
    pub fn of_model(model: &Model, data: Split<'_>, progress: &Progress<'_>) -> Result<Self> {
        Self::of(data, |data| model.pairs(data.measures(), data.pairs(), progress))
    }

    /// Predicts the mean of the training labels for every pair.
    pub fn of_mean_label((train, test): Split<'_>) -> Self {
        let [mean, _] = train.null_baselines().map(|baseline| baseline.constant);
        Self::new(train, &vec![mean; train.len()], vec![mean; test.len()])
    }

    /// Predicts by the calibrated flow level; also returns the number of pairs solved exactly.
    pub fn of_flow(
        estimator: Estimator,
        (train, test): Split<'_>,
        progress: &Progress<'_>,
    ) -> Result<(Self, usize)> {
        let estimator = estimator.calibrated(Level::Flow, train, progress)?;
        let found = estimator.pairs(Level::Flow, test.measures(), test.pairs(), progress)?;
        let of = |part: fn(&Estimate) -> f64| found.iter().map(part).collect();
        let solved = found.iter().filter(|estimate| estimate.exact).count();
        Ok((Self { plain: of(|e| e.raw), scaled: of(|e| e.value) }, solved))
    }

    /// Scores both predictions.
    pub fn scores(&self, test: &Labeled) -> [Score; 2] {
        let exact = &test.distances()[..self.plain.len()];
        [&self.plain, &self.scaled].map(|found| Score::new(found, exact))
    }
}

/// Returns options for a method as published: labels set the scale of learned trees alone.
pub fn as_it_is(method: Method, seed: u64) -> FitOptions {
    FitOptions { scale: method.supports().learning, seed, ..FitOptions::of(method) }
}

/// Runs [`fit()`] without partial results: the best tree of an interrupted run is discarded.
pub fn fit_whole(
    metric: &GroundMetric,
    data: &Labeled,
    options: &FitOptions,
    progress: &Progress<'_>,
) -> Result<Fit> {
    let stopped = AtomicBool::new(false);
    let watch = |state: &State<'_>| {
        let continues = progress(state);
        stopped.fetch_or(!continues, Ordering::Relaxed);
        continues
    };
    let fitted = fit(metric, Some(data), options, &watch)?;
    if stopped.into_inner() { Err(Error::Canceled) } else { Ok(fitted) }
}

#[cfg(test)]
mod tests {
    use treeport::{PointMetric, silent};

    use super::*;

    #[test]
    fn a_method_as_it_is_differs_from_its_scaled_self_by_one_factor() {
        let metric =
            GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0, 9.0], PointMetric::Euclidean);
        let metric = metric.unwrap();
        let data = Labeled::of_points(&metric, 10, 0).unwrap();
        let plain = fit_whole(&metric, &data, &as_it_is(Method::Quadtree, 3), &silent).unwrap();
        let options = FitOptions { seed: 3, ..FitOptions::of(Method::Quadtree) };
        let scaled = fit(&metric, Some(&data), &options, &silent).unwrap();
        let answers = Answers::of_model(&plain.model, (&data, &data), &silent).unwrap();
        let expected = scaled.model.pairs(data.measures(), data.pairs(), &silent).unwrap();
        for (ours, theirs) in answers.scaled.iter().zip(&expected) {
            assert!((ours - theirs).abs() <= 1e-12 * theirs);
        }
        assert_ne!(answers.plain, answers.scaled);
    }

    #[test]
    fn a_stopped_fit_is_no_result() {
        let metric = GroundMetric::from_condensed(3, vec![1.0, 2.0, 3.0]).unwrap();
        let data = Labeled::of_points(&metric, 3, 0).unwrap();
        for method in [Method::Auto, Method::Additive, Method::Forest] {
            let found = fit_whole(&metric, &data, &as_it_is(method, 0), &|_| false);
            assert!(matches!(found, Err(Error::Canceled)), "{method}");
        }
    }
}
