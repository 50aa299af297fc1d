//! The predictions of a method for unseen pairs, without and with one factor from the
//! training labels.
//!
//! Methods often differ only by that factor, so every table has both.

use std::sync::atomic::{AtomicBool, Ordering};

use treeport::accuracy::Level;
use treeport::estimate::{Estimate, Estimator};
use treeport::internal::score;
use treeport::progress::State;
use treeport::{
    Error, Fit, FitOptions, GroundMetric, Labelled, Method, Model, Progress, Result, Score, fit,
};

/// Labels to learn from, and those of unseen pairs.
pub type Split<'a> = (&'a Labelled, &'a Labelled);

/// Predictions for the first unseen pairs, or for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// As they are.
    pub plain: Vec<f64>,
    /// After one factor from the training labels.
    pub scaled: Vec<f64>,
}

impl Answers {
    /// From what a method says about the first training pairs, or about all, and about unseen ones.
    pub fn new(train: &Labelled, seen: &[f64], unseen: Vec<f64>) -> Self {
        let factor = score::factor(seen, &train.distances()[..seen.len()]);
        Self { scaled: unseen.iter().map(|d| factor * d).collect(), plain: unseen }
    }

    /// What a method says about both kinds of pairs.
    ///
    /// # Errors
    /// Those of the method.
    pub fn of(data: Split<'_>, says: impl Fn(&Labelled) -> Result<Vec<f64>>) -> Result<Self> {
        let (train, test) = data;
        Ok(Self::new(train, &says(train)?, says(test)?))
    }

    /// What a model says.
    ///
    /// # Errors
    /// Measures on other points; `Cancelled` when `progress` asks to stop.
    pub fn of_model(model: &Model, data: Split<'_>, progress: &Progress<'_>) -> Result<Self> {
        Self::of(data, |data| model.pairs(data.measures(), data.pairs(), progress))
    }

    /// The mean of the training labels, for every pair.
    pub fn of_mean_label((train, test): Split<'_>) -> Self {
        let [mean, _] = train.null_baselines().map(|baseline| baseline.constant);
        Self::new(train, &vec![mean; train.len()], vec![mean; test.len()])
    }

    /// What the flow level of an estimator says once it is calibrated, and how often the exact
    /// solver said it.
    ///
    /// # Errors
    /// Measures on other points; `Cancelled` when `progress` asks to stop.
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

    /// How well both do on the pairs they are for.
    pub fn scores(&self, test: &Labelled) -> [Score; 2] {
        let exact = &test.distances()[..self.plain.len()];
        [&self.plain, &self.scaled].map(|found| Score::new(found, exact))
    }
}

/// Options that leave a method as its authors have it: labels set the scale only where a tree is
/// learned from them.
pub fn as_it_is(method: Method, seed: u64) -> FitOptions {
    FitOptions { scale: method.takes().learning, seed, ..FitOptions::of(method) }
}

/// [`fit()`], all of it or nothing: the best tree of a run that was stopped is no result.
///
/// # Errors
/// As [`fit()`]; `Cancelled` when `progress` asks to stop.
pub fn fit_whole(
    metric: &GroundMetric,
    data: &Labelled,
    options: &FitOptions,
    progress: &Progress<'_>,
) -> Result<Fit> {
    let stopped = AtomicBool::new(false);
    let watch = |state: &State<'_>| {
        let goes_on = progress(state);
        stopped.fetch_or(!goes_on, Ordering::Relaxed);
        goes_on
    };
    let fitted = fit(metric, Some(data), options, &watch)?;
    if stopped.into_inner() { Err(Error::Cancelled) } else { Ok(fitted) }
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
        let data = Labelled::of_points(&metric, 10, 0).unwrap();
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
        let data = Labelled::of_points(&metric, 3, 0).unwrap();
        for method in [Method::Auto, Method::Additive, Method::Forest] {
            let found = fit_whole(&metric, &data, &as_it_is(method, 0), &|_| false);
            assert!(matches!(found, Err(Error::Cancelled)), "{method}");
        }
    }
}
