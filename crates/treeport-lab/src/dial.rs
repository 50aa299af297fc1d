//! Levels of accuracy on many scenes: error and certified width at every level, with baselines.

use std::time::Duration;

use treeport::accuracy::{Accuracy, Level};
use treeport::build::{PerturbedOptions, perturbed};
use treeport::estimate::Estimator;
use treeport::internal::names::Named;
use treeport::internal::score::median;
use treeport::{Method, Model, Progress, Result, Score};
use treeport_report::timing::{time_exact, time_model, time_pairs};

use crate::answers::{Answers, as_it_is, fit_whole};
use crate::scene::Scene;

/// Results of one level on one scene.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelRow {
    /// `average` (an untrained tree), `learned` (one tree), or a [`Level`].
    pub level: &'static str,
    /// Score without a factor.
    pub plain: Score,
    /// Score after one factor from the training labels.
    pub scaled: Score,
    /// Mean and median of upper/lower − 1, if there are bounds.
    pub width: Option<(f64, f64)>,
    /// Score of a value between those bounds, on the same labels.
    pub between: Option<Score>,
    /// Seconds per pair on one thread.
    pub seconds: f64,
    /// Time of the exact solver divided by `seconds`.
    pub ratio: f64,
}

/// Evaluates the levels of a forest of `trees` perturbed average-linkage trees, even where the
/// exact solver would be faster.
///
/// # Errors
/// [`Error::Cancelled`](treeport::Error::Cancelled) if `progress`, which counts pairs, requests a
/// stop; otherwise none for a generated scene (never seen: a result without a certificate).
pub fn run(
    scene: &Scene,
    trees: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Vec<LevelRow>> {
    let Scene { metric, train, test, .. } = scene;
    let options = PerturbedOptions { n_trees: trees, seed, ..PerturbedOptions::default() };
    let model = Model::Forest(perturbed(metric, &options, progress)?);
    let estimator = Estimator::new(metric, &model)?.by_trees_alone();
    let calibrated = estimator.calibrated(Level::Arcs, train, progress)?;
    let (measures, pairs) = (test.measures(), test.pairs());
    let (_, exact_seconds) = time_exact(metric, measures, pairs, Duration::MAX, progress)?;
    let mut rows = single_trees(scene, seed, exact_seconds, progress)?;
    for level in [Level::Tree, Level::Flow, Level::Arcs] {
        let (_, seconds) = if level == Level::Tree {
            time_model(&model, measures, pairs, Duration::MAX, progress)?
        } else {
            time_pairs(pairs.len(), Duration::MAX, progress, |watch| {
                calibrated.pairs(level, measures, pairs, watch).map(drop)
            })?
        };
        let found = calibrated.pairs(level, measures, pairs, progress)?;
        let answers = calibrated.answers(Accuracy::Level(level), measures, pairs, progress)?;
        let widths: Vec<f64> = answers.iter().map(|answer| answer.interval.width()).collect();
        rows.push(LevelRow {
            level: level.name(),
            plain: test.score(&found.iter().map(|e| e.raw).collect::<Vec<_>>()),
            scaled: test.score(&found.iter().map(|e| e.value).collect::<Vec<_>>()),
            width: Some((widths.iter().sum::<f64>() / widths.len() as f64, median(&widths))),
            between: Some(test.score(&answers.iter().map(|a| a.value).collect::<Vec<_>>())),
            seconds,
            ratio: exact_seconds / seconds,
        });
    }
    Ok(rows)
}

/// Evaluates the untrained tree and the learned one, each scaled by one factor.
fn single_trees(
    scene: &Scene,
    seed: u64,
    exact_seconds: f64,
    progress: &Progress<'_>,
) -> Result<Vec<LevelRow>> {
    let Scene { metric, train, test, .. } = scene;
    let mut rows = Vec::new();
    for (level, method) in [("average", Method::Average), ("learned", Method::Auto)] {
        let model = fit_whole(metric, train, &as_it_is(method, seed), progress)?.model;
        let [plain, scaled] = Answers::of_model(&model, (train, test), progress)?.scores(test);
        let (measures, pairs) = (test.measures(), test.pairs());
        let (_, seconds) = time_model(&model, measures, pairs, Duration::MAX, progress)?;
        let ratio = exact_seconds / seconds;
        rows.push(LevelRow { level, plain, scaled, width: None, between: None, seconds, ratio });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use treeport::silent;

    use super::*;
    use crate::scene::{Masses, SceneOptions};

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
            let rows = run(&scene, 4, 1, &silent).unwrap();
            let errors: Vec<f64> = rows[2..].iter().map(|row| row.scaled.mean).collect();
            assert!(errors.is_sorted_by(|low, high| high <= low), "{name}: {errors:?}");
            // With their bounds, flow and arcs are at least as accurate.
            let between = |k: usize| rows[k].between.as_ref().unwrap().mean;
            assert!(between(3) <= errors[1] && between(4) <= errors[2] * (1.0 + 1e-9), "{name}");
        }
    }

    #[test]
    fn the_higher_the_level_the_smaller_the_error() {
        let options = SceneOptions { train: 40, test: 20, seed: 1 };
        let scene = Scene::new("uniform-2", Masses::Full, None, options, &silent).unwrap();
        let rows = run(&scene, 2, 1, &silent).unwrap();
        let names: Vec<_> = rows.iter().map(|n| n.level).collect();
        assert_eq!(names, ["average", "learned", "tree", "flow", "arcs"]);
        let error = |k: usize| rows[k].scaled.mean;
        assert!(error(3) < error(2) && error(4) < error(3), "{rows:?}");
        for width in [|n: &LevelRow| n.width.unwrap().0, |n: &LevelRow| n.width.unwrap().1] {
            assert!(width(&rows[4]) < width(&rows[3]));
            assert!(width(&rows[3]) < width(&rows[2]));
        }
        assert!(rows[2].plain.mean > rows[2].scaled.mean);
    }
}
