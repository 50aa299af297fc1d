//! The method `tree`: the most accurate single tree from a metric and labels.

use std::sync::atomic::{AtomicBool, Ordering};

use super::edges::{EdgeOptions, choose_shrinkage, fit_labels, fit_labels_as};
use super::{Fit, Stage};
use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::labeled::score::relative_errors;
use crate::learn::{Checkpoint, LearnOptions, learn_judged};
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::numeric::seed::generator;
use crate::progress::tasks::{EDGES, POINTS};
use crate::progress::{Progress, State, silent};
use crate::tree::Tree;

/// Fits a tree to labels in four stages; the last two continue from the best tree so far:
///
/// 1. **start**: any tree, rescaled. Average linkage is recommended; Ward's linkage, random grids,
///    clusters and a star ended with larger errors nearly everywhere. Where distances are
///    concentrated, single linkage may end better: for masses on all of 4,360 cells with half the
///    error. It often starts better and still ends worse, so only held-out labels can tell.
/// 2. **points**: edges fitted to the distances of points, shrunk towards the start (`fit_labels`
///    on pairs of points, which are labels without cost). Without shrinkage (`fit_points`) it is as
///    good on maps and graphs, but on words, which have more edges than the pairs can determine, it
///    ruined the start. Only one factor of each tree is fitted to labels, so all labels compare the
///    two trees.
/// 3. **learned**: `learn`, which also changes the shape. It is kept if it is better on held-out
///    labels.
/// 4. **edges**: edges fitted to the labels, shrunk towards their previous lengths, kept if they
///    win by a `margin` on the held-out labels; they are then fitted to all labels.
///
/// The factor of the result is fitted to all labels. On maps with 50 labels the result is then
/// seldom worse than the start times one factor, and better on average. Choosing among the first
/// two stages by the ten held-out labels was often wrong, and cost more than learning gained.
///
/// `treeport-lab reproduce real` compares it with average linkage and with learning alone, and
/// `treeport-lab reproduce dial` with forests; docs/RESULTS.md has the figures.
///
/// # Complexity
/// One run of `learn` and a few of `fit_labels`: a second for some hundred points, half a minute
/// for 13,000 points and 1,500 labels between measures of 100 points.
pub(super) fn stages(
    from: Option<&Checkpoint>,
    start: &Tree,
    metric: &GroundMetric,
    data: &Labeled,
    (learn, edges): (&LearnOptions, &EdgeOptions),
    progress: &Progress<'_>,
) -> Result<Fit> {
    let stopped = AtomicBool::new(false);
    let proceed = |state: &State<'_>| {
        // Cancellation is final: later stages must not continue from an interrupted one.
        let stop = stopped.load(Ordering::Relaxed) || !progress(state);
        stopped.store(stop, Ordering::Relaxed);
        !stop
    };
    let begin = |task| proceed(&State::new(task, 0, None));
    let parts = data.split_by(learn.validation_fraction, &mut generator(learn.seed));
    let mut selection = StageSelection::new(start, data, &parts)?;

    // Discrete metrics have no distances to fit.
    if !metric.is_discrete()
        && begin(POINTS)
        && let Some(tree) = none_if_canceled(fit_to_points(start, metric, edges, &proceed))?
    {
        selection.evaluate(Stage::Points, &tree)?;
    }

    let first = selection.best.tree.clone();
    let learned = learn_judged(from, &first, &parts, learn, &proceed)?;
    selection.evaluate(Stage::Learned, &learned.tree)?;

    if !parts.0.is_all_zero() && begin(EDGES) {
        let from = selection.best.tree.clone();
        let chosen = choose_shrinkage(&from, &parts, edges, (EDGES, &proceed));
        if let Some((tree, shrinkage)) = none_if_canceled(chosen)?
            && selection.evaluate(Stage::Edges, &tree)?
        {
            let edges = EdgeOptions { shrinkage: Some(shrinkage), ..edges.clone() };
            if let Some(fitted) = none_if_canceled(fit_labels(&from, data, &edges, &proceed))? {
                selection.best.tree = fitted.tree;
            }
        }
    }
    let StageSelection { best, errors, .. } = selection;
    Ok(Fit {
        model: Model::Tree(calibrated(&best.tree, data)?),
        stage: Some(best.stage),
        stage_errors: errors,
        history: learned.history,
        best_epoch: learned.best_epoch,
        finished: !stopped.into_inner(),
    })
}

/// Converts cancellation to `None`.
pub(super) fn none_if_canceled<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::Canceled) => Ok(None),
        other => other.map(Some),
    }
}

/// Fits the edges of the start to the distances of points, if there are any, with shrinkage.
fn fit_to_points(
    start: &Tree,
    metric: &GroundMetric,
    edges: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<Tree> {
    match distances_of_points(metric, edges)? {
        Some(points) => Ok(fit_labels_as(POINTS, start, &points, edges, progress)?.tree),
        None => Ok(start.clone()),
    }
}

/// Returns pairs of points with their distances, or `None` if these have no information.
pub(super) fn distances_of_points(
    metric: &GroundMetric,
    edges: &EdgeOptions,
) -> Result<Option<Labeled>> {
    // Discrete metrics have no distances to fit.
    if metric.is_discrete() || metric.points() < 2 {
        return Ok(None);
    }
    let points = Labeled::of_points(metric, edges.pairs, edges.seed)?;
    Ok((!points.is_all_zero()).then_some(points))
}

/// Scales a tree by the one factor that labels determine.
fn calibrated(tree: &Tree, data: &Labeled) -> Result<Tree> {
    tree.scaled(data.factor(&tree.pairs(data.measures(), data.pairs(), &silent)?))
}

/// Computes the error of a tree on labels, after scaling by one factor fitted to them.
pub(super) fn error_after_factor(tree: &Tree, data: &Labeled) -> Result<f64> {
    let predicted = tree.pairs(data.measures(), data.pairs(), &silent)?;
    let factor = data.factor(&predicted);
    let scaled: Vec<f64> = predicted.iter().map(|p| factor * p).collect();
    Ok(data.score(&scaled).mean)
}

/// Best tree so far, with the labels for training and for comparison.
struct StageSelection<'a> {
    data: &'a Labeled,
    train: &'a Labeled,
    comparison: &'a Labeled,
    best: Best,
    errors: Vec<(Stage, f64)>,
}

struct Best {
    tree: Tree,
    stage: Stage,
    /// Errors on the labels for comparison.
    errors: Vec<f64>,
}

impl<'a> StageSelection<'a> {
    fn new(
        start: &Tree,
        data: &'a Labeled,
        (train, held_back): &'a (Labeled, Labeled),
    ) -> Result<Self> {
        let comparison = if held_back.is_all_zero() { train } else { held_back };
        let best = Best { tree: start.clone(), stage: Stage::Start, errors: Vec::new() };
        let mut selection = Self { data, train, comparison, best, errors: Vec::new() };
        selection.evaluate(Stage::Start, start)?;
        Ok(selection)
    }

    /// Evaluates the tree of a stage after scaling by one factor; keeps the best so far.
    fn evaluate(&mut self, stage: Stage, tree: &Tree) -> Result<bool> {
        let tree = calibrated(tree, self.train)?;
        let predicted = tree.pairs(self.comparison.measures(), self.comparison.pairs(), &silent)?;
        let errors = relative_errors(&predicted, self.comparison.distances());
        self.errors.push((stage, mean(&errors)));
        let better = match stage {
            Stage::Start => true,
            Stage::Points => self.is_better_on_all(&tree)?,
            Stage::Learned => improves(&self.best.errors, &errors, 0.0),
            Stage::Edges | Stage::Slices => {
                improves(&self.best.errors, &errors, margin(self.data.len()))
            }
        };
        if better {
            self.best = Best { tree, stage, errors };
        }
        Ok(better)
    }

    fn is_better_on_all(&self, tree: &Tree) -> Result<bool> {
        let error = |tree| error_after_factor(tree, self.data);
        Ok(error(tree)? < error(&self.best.tree)? * (1.0 - LAST_DIGITS))
    }
}

/// Returns whether errors on the same labels decreased by `margin` standard errors.
pub(super) fn improves(before: &[f64], after: &[f64], margin: f64) -> bool {
    let gains: Vec<f64> = before.iter().zip(after).map(|(a, b)| a - b).collect();
    let (gain, count) = (mean(&gains), gains.len() as f64);
    let wins = gain > LAST_DIGITS * mean(before);
    let squares = gains.iter().map(|g| (g - gain).powi(2)).sum::<f64>();
    // A single label has no standard error and is not sufficient.
    wins && (margin == 0.0 || gain > margin * (squares / (count - 1.0) / count).sqrt())
}

/// Returns the number of standard errors by which edges fitted to labels must win: one for every
/// halving of the number of labels below [`ENOUGH`].
///
/// There are as many edges as nodes, and the labels that compare them have already chosen the
/// shrinkage: the best of seven by ten labels is often good by chance. On 100 points of a square
/// they were kept 15 times of 20 with 50 labels, and were worse than the previous tree. With enough
/// labels a margin is harmful: on the graph of airports it rejected edges that were better.
pub(super) fn margin(labels: usize) -> f64 {
    (ENOUGH / labels as f64).log2().max(0.0)
}

/// Number of labels from which on better edges need no margin.
const ENOUGH: f64 = 300.0;

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Smallest relative improvement that counts, above rounding.
pub(super) const LAST_DIGITS: f64 = 1e-9;
