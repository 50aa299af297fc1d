//! `auto`: the best single tree we know how to make from a metric and labels.

use std::sync::atomic::{AtomicBool, Ordering};

use super::edges::{EdgeOptions, choose_shrinkage, fit_labels, fit_labels_as};
use super::{Fit, Stage};
use crate::error::{Error, Result};
use crate::labelled::Labelled;
use crate::learn::{Checkpoint, LearnOptions, learn_judged};
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::progress::{Progress, State, silent};
use crate::score::relative_errors;
use crate::seed::generator;
use crate::steps::{EDGES, POINTS};
use crate::tree::Tree;

/// Fits a tree to labels as well as we can, in stages.
///
/// Four stages, the last two from the best so far:
///
/// 1. **start**: any tree, rescaled. Average linkage is the one to take; Ward's linkage, random
///    grids, clusters and a star ended worse nearly everywhere. Where distances are concentrated,
///    single linkage may end better: for masses on all of 4,360 cells at half the error. It often
///    starts better and still ends worse, so only the labels held back can tell.
/// 2. **points**: the edges that fit the distances of points, shrunk towards the start
///    (`fit_labels` on pairs of points, which are labels that cost nothing). Without shrinkage
///    (`fit_points`) it is as good on maps and graphs, but on words, which have more edges than
///    pairs can tell, it ruined the start. Labels have fitted one factor of either tree, so all of
///    them say which is better.
/// 3. **learned**: `learn`, which changes the shape too. It is kept where it is better on labels
///    that were held back.
/// 4. **edges**: the edges that fit the labels, shrunk towards those they had, where they win by a
///    `margin` on the labels held back; those are then learned from as well.
///
/// The factor of what is kept is that of all labels. On maps with 50 labels the answer is then
/// seldom worse than the start times one factor, and better in the mean (`treeport-lab reproduce
/// few-labels`): a choice of the first two by the ten labels held back was often wrong, and cost
/// more than learning gave.
///
/// `treeport-lab reproduce real` sets it beside average linkage and beside learning alone, and
/// `treeport-lab reproduce dial` beside forests; docs/RESULTS.md has the figures.
///
/// # Complexity
/// That of `learn` and of `fit_labels`, a few of the latter: a second for some hundred points, half
/// a minute for 13,000 points and 1,500 labels between measures of 100 points.
pub(super) fn stages(
    from: Option<&Checkpoint>,
    start: &Tree,
    metric: &GroundMetric,
    data: &Labelled,
    (learn, edges): (&LearnOptions, &EdgeOptions),
    progress: &Progress<'_>,
) -> Result<Fit> {
    let stopped = AtomicBool::new(false);
    let goes_on = |state: &State<'_>| {
        // Once stopped, stopped for good: later stages must not begin where an earlier one was cut
        // off.
        let stop = stopped.load(Ordering::Relaxed) || !progress(state);
        stopped.store(stop, Ordering::Relaxed);
        !stop
    };
    let begins = |task| goes_on(&State::new(task, 0, None));
    let parts = data.split_by(learn.validation_fraction, &mut generator(learn.seed));
    let mut search = Search::new(start, data, &parts)?;

    // Points that nothing is known about have no distances to fit.
    if !metric.is_discrete()
        && begins(POINTS)
        && let Some(tree) = or_stopped(fit_to_points(start, metric, edges, &goes_on))?
    {
        search.try_out(Stage::Points, &tree)?;
    }

    let first = search.best.tree.clone();
    let learned = learn_judged(from, &first, &parts, learn, &goes_on)?;
    search.try_out(Stage::Learned, &learned.tree)?;

    if !parts.0.is_all_zero() && begins(EDGES) {
        let from = search.best.tree.clone();
        let chosen = choose_shrinkage(&from, &parts, edges, (EDGES, &goes_on));
        if let Some((tree, shrinkage)) = or_stopped(chosen)?
            && search.try_out(Stage::Edges, &tree)?
        {
            let edges = EdgeOptions { shrinkage: Some(shrinkage), ..edges.clone() };
            if let Some(fitted) = or_stopped(fit_labels(&from, data, &edges, &goes_on))? {
                search.best.tree = fitted.tree;
            }
        }
    }
    let Search { best, errors, .. } = search;
    Ok(Fit {
        model: Model::Tree(calibrated(&best.tree, data)?),
        stage: Some(best.stage),
        stage_errors: errors,
        history: learned.history,
        best_epoch: learned.best_epoch,
        finished: !stopped.into_inner(),
    })
}

/// Nothing where the work was stopped.
fn or_stopped<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(Error::Cancelled) => Ok(None),
        other => other.map(Some),
    }
}

/// The start with edges shrunk from it towards the distances of points; as it is where there are
/// none.
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

/// Pairs of points with their distances; nothing where those say nothing.
pub(super) fn distances_of_points(
    metric: &GroundMetric,
    edges: &EdgeOptions,
) -> Result<Option<Labelled>> {
    // Points that nothing is known about have no distances to fit.
    if metric.is_discrete() || metric.points() < 2 {
        return Ok(None);
    }
    let points = Labelled::of_points(metric, edges.pairs, edges.seed)?;
    Ok((!points.is_all_zero()).then_some(points))
}

/// The tree times the one factor that labels give it.
fn calibrated(tree: &Tree, data: &Labelled) -> Result<Tree> {
    tree.scaled(data.factor(&tree.pairs(data.measures(), data.pairs(), &silent)?))
}

/// The error of a tree on labels, after one factor fitted to them.
pub(super) fn error_after_factor(tree: &Tree, data: &Labelled) -> Result<f64> {
    let predicted = tree.pairs(data.measures(), data.pairs(), &silent)?;
    let factor = data.factor(&predicted);
    let scaled: Vec<f64> = predicted.iter().map(|p| factor * p).collect();
    Ok(data.score(&scaled).mean)
}

/// The best tree so far, and what judges the next.
struct Search<'a> {
    data: &'a Labelled,
    train: &'a Labelled,
    judge: &'a Labelled,
    best: Best,
    errors: Vec<(Stage, f64)>,
}

struct Best {
    tree: Tree,
    stage: Stage,
    /// Of every label that judges.
    errors: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(
        start: &Tree,
        data: &'a Labelled,
        (train, held_back): &'a (Labelled, Labelled),
    ) -> Result<Self> {
        let judge = if held_back.is_all_zero() { train } else { held_back };
        let best = Best { tree: start.clone(), stage: Stage::Start, errors: Vec::new() };
        let mut search = Self { data, train, judge, best, errors: Vec::new() };
        search.try_out(Stage::Start, start)?;
        Ok(search)
    }

    /// Judges the tree of a stage after one factor, and keeps it if it is the best so far.
    fn try_out(&mut self, stage: Stage, tree: &Tree) -> Result<bool> {
        let tree = calibrated(tree, self.train)?;
        let predicted = tree.pairs(self.judge.measures(), self.judge.pairs(), &silent)?;
        let errors = relative_errors(&predicted, self.judge.distances());
        self.errors.push((stage, mean(&errors)));
        let better = match stage {
            Stage::Start => true,
            Stage::Points => self.is_better_on_all(&tree)?,
            Stage::Learned => gains(&self.best.errors, &errors, 0.0),
            Stage::Edges => gains(&self.best.errors, &errors, margin(self.data.len())),
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

/// Whether errors on the same labels went down, by so many standard errors of the difference.
pub(super) fn gains(before: &[f64], after: &[f64], margin: f64) -> bool {
    let gains: Vec<f64> = before.iter().zip(after).map(|(a, b)| a - b).collect();
    let (gain, count) = (mean(&gains), gains.len() as f64);
    let wins = gain > LAST_DIGITS * mean(before);
    let squares = gains.iter().map(|g| (g - gain).powi(2)).sum::<f64>();
    // One label alone has no standard error, and is not enough.
    wins && (margin == 0.0 || gain > margin * (squares / (count - 1.0) / count).sqrt())
}

/// By how many standard errors edges fitted to so many labels have to win: one for every halving
/// below [`ENOUGH`].
///
/// They are as many numbers as there are nodes, and the labels that judge them have chosen their
/// shrinkage before: the best of seven by ten labels looks good by luck. On 100 points of a square
/// they were kept 15 times of 20 with 50 labels, and were worse than what they came from. With
/// enough labels a margin costs: on the graph of airports it turned away edges that were better.
pub(super) fn margin(labels: usize) -> f64 {
    (ENOUGH / labels as f64).log2().max(0.0)
}

/// Labels from which on the better edges are kept.
const ENOUGH: f64 = 300.0;

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A stage that changes nothing but the last digits is no better.
pub(super) const LAST_DIGITS: f64 = 1e-9;
