//! The accuracy dial on many scenes: error and certified width at every level, beside what it has to beat.

use std::time::Instant;

use treeport::baseline::{BaselineOptions, Method, Training};
use treeport::estimate::{Estimator, Level};
use treeport::{Forest, ForestOptions, Linkage, Progress, Result, exact, linkage};
use treeport_report::score::{Score, median};

use crate::scene::Scene;

/// One level on one scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Notch {
    /// `average` (an untrained tree), `learned` (one tree), or a [`Level`].
    pub level: &'static str,
    /// As it is.
    pub plain: Score,
    /// After one factor from the training labels.
    pub scaled: Score,
    /// Mean and median of upper/lower − 1; only where there are bounds.
    pub width: Option<(f64, f64)>,
    /// Seconds for one pair, on one thread, and how many times that the exact solver takes.
    pub seconds: f64,
    /// Exact seconds divided by these.
    pub ratio: f64,
}

/// Runs the dial with a forest of `trees` perturbed average-linkage trees, which answer also where the exact solver
/// would be faster.
///
/// # Errors
/// [`Error::Cancelled`](treeport::Error::Cancelled) when `progress`, which counts pairs, asks to stop; else none for a scene
/// that was made (never seen: an answer without proof).
pub fn run(scene: &Scene, trees: usize, seed: u64, progress: &Progress<'_>) -> Result<Vec<Notch>> {
    let options = ForestOptions { trees, seed, ..ForestOptions::default() };
    let forest = Forest::perturbed(&scene.metric, &options, progress)?;
    let estimator = Estimator::new(&scene.metric, &forest)?.by_trees_alone();
    let calibrated = estimator.calibrated(&scene.train, &scene.train_labels, progress)?;
    let pairs = &scene.test_labels.pairs;
    let exact_seconds = per_pair(pairs, 1, |pairs| {
        exact::pairs(&scene.metric, &scene.test, pairs, progress).map(drop)
    })?;
    let mut notches = single_trees(scene, seed, exact_seconds, progress)?;
    for level in [Level::Tree, Level::Flow, Level::Arcs] {
        let times = if level == Level::Tree { OFTEN } else { 1 };
        let seconds = per_pair(pairs, times, |pairs| {
            calibrated.pairs(level, &scene.test, pairs, progress).map(drop)
        })?;
        let found = calibrated.pairs(level, &scene.test, pairs, progress)?;
        let answers = calibrated.answers(level, &scene.test, pairs, progress)?;
        let widths: Vec<f64> = answers.iter().map(|answer| answer.interval.width()).collect();
        notches.push(Notch {
            level: level.name(),
            plain: score(scene, &found.iter().map(|e| e.raw).collect::<Vec<_>>()),
            scaled: score(scene, &found.iter().map(|e| e.value).collect::<Vec<_>>()),
            width: Some((widths.iter().sum::<f64>() / widths.len() as f64, median(&widths))),
            seconds,
            ratio: exact_seconds / seconds,
        });
    }
    Ok(notches)
}

/// The untrained tree and the learned one, each times one factor.
fn single_trees(
    scene: &Scene,
    seed: u64,
    exact_seconds: f64,
    progress: &Progress<'_>,
) -> Result<Vec<Notch>> {
    let training = Training { measures: &scene.train, labels: &scene.train_labels };
    let options = BaselineOptions { seed, ..BaselineOptions::default() };
    let mut notches = Vec::new();
    for (level, method) in [("average", None), ("learned", Some(Method::Auto))] {
        let tree = match method {
            None => linkage(&scene.metric, Linkage::Average)?,
            Some(method) => {
                let model = method.build(&scene.metric, Some(training), &options, progress)?;
                model.tree().expect("the method builds a tree").clone()
            }
        };
        let model = treeport::baseline::Model::Tree(tree.clone());
        let factor = model.factor(&scene.metric, training)?;
        let pairs = &scene.test_labels.pairs;
        let found = tree.pairs(&scene.test, pairs, progress)?;
        let seconds =
            per_pair(pairs, OFTEN, |pairs| tree.pairs(&scene.test, pairs, progress).map(drop))?;
        let scaled: Vec<f64> = found.iter().map(|d| factor * d).collect();
        notches.push(Notch {
            level,
            plain: score(scene, &found),
            scaled: score(scene, &scaled),
            width: None,
            seconds,
            ratio: exact_seconds / seconds,
        });
    }
    Ok(notches)
}

fn score(scene: &Scene, found: &[f64]) -> Score {
    Score::new(found, &scene.test_labels.distances, scene.diameter)
}

/// Seconds for one pair on one thread, where pairs come so many times.
fn per_pair(
    pairs: &[(usize, usize)],
    times: usize,
    work: impl Fn(&[(usize, usize)]) -> Result<()> + Sync,
) -> Result<f64> {
    let many = pairs.repeat(times);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("one more thread").install(|| {
        let begun = Instant::now();
        work(&many)?;
        Ok(begun.elapsed().as_secs_f64() / many.len() as f64)
    })
}

/// How often pairs come where measures are laid out for a tree first, so that this weighs as little as where every
/// measure is in many pairs.
const OFTEN: usize = 50;

#[cfg(test)]
mod tests {
    use treeport::silent;

    use super::*;
    use crate::scene::{Masses, SceneOptions};

    #[test]
    fn the_higher_the_notch_the_smaller_the_error() {
        let options = SceneOptions { train: 40, test: 20, seed: 1 };
        let scene = Scene::new("uniform-2", Masses::Full, None, options, &silent).unwrap();
        let notches = run(&scene, 2, 1, &silent).unwrap();
        let names: Vec<_> = notches.iter().map(|n| n.level).collect();
        assert_eq!(names, ["average", "learned", "tree", "flow", "arcs"]);
        let error = |k: usize| notches[k].scaled.mean;
        assert!(error(3) < error(2) && error(4) < error(3), "{notches:?}");
        for width in [|n: &Notch| n.width.unwrap().0, |n: &Notch| n.width.unwrap().1] {
            assert!(width(&notches[4]) < width(&notches[3]));
            assert!(width(&notches[3]) < width(&notches[2]));
        }
        assert!(notches[2].plain.mean > notches[2].scaled.mean);
    }
}
