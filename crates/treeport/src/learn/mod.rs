//! Learning a tree from transport distances: \[CTW24\], Algorithm 1, with extensions.
//!
//! Gradient steps on node heights (`gradient`), each followed by a projection back to trees
//! ([`project`](crate::project())) that may change the shape. A step costs O(N·batch + N log N).
//!
//! **Scale invariance.** The batch gradient is divided by the batch's mean squared feature norm, so
//! a rate of 1 would fit a single pair exactly in any unit of distance. Multiplying all distances
//! by c multiplies the learned tree by c, to the last bit for powers of two, otherwise up to ties
//! broken by rounding. Internally, labels, masses and heights are divided by powers of two so that
//! they are near 1; values such as 1e-200 or 1e200 need no special treatment.

mod checkpoint;
mod coarse;
mod gradient;
mod options;

use std::ops::ControlFlow;
use std::time::Instant;

use rand::RngExt;
use rand::seq::SliceRandom;

pub use checkpoint::Checkpoint;
pub(crate) use options::{BATCH_SIZE, LEARNING_RATE, VALIDATION_FRACTION};
pub use options::{Kind, LearnOptions, Loss, Schedule};

use coarse::CoarseTree;
use gradient::WeightedPair;

use crate::build::binary::BinaryTree;
use crate::build::project;
use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::labeled::score;
use crate::numeric::scale;
use crate::numeric::seed::{Random, generator};
use crate::progress::tasks::LEARNING;
use crate::progress::{Progress, State};
use crate::tree::Tree;

/// Error of the tree after one pass over the training pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// Number of completed passes; 0 is the start.
    pub epoch: usize,
    /// Σ weight·(W_T − W₁)² / Σ weight·W₁² over the training pairs, with the weights of [`Loss`];
    /// without unit.
    pub training_loss: f64,
    /// Loss over the validation pairs, if there are any.
    pub validation_loss: Option<f64>,
    /// Mean of |W_T − W₁|/W₁ over the pairs that choose the best tree. Labels below 10⁻⁴ of the
    /// largest are left out; NaN if none remains.
    pub relative_error: f64,
}

/// Result of [`learn`].
#[derive(Clone, Debug)]
pub struct Learned {
    /// Best tree seen.
    pub tree: Tree,
    /// Errors at the start (epoch 0) and after every epoch.
    pub history: Vec<Epoch>,
    /// Epoch of the best tree.
    pub best_epoch: usize,
    /// Whether all epochs ran. False after early stopping, if `progress` canceled the run, or if
    /// the heights diverged because the rate was too large.
    pub finished: bool,
    /// Seconds spent on gradients.
    pub gradient_seconds: f64,
    /// Seconds spent on projections.
    pub projection_seconds: f64,
}

/// Learns a tree whose transport distances fit the labels.
///
/// Starts from `start` (any tree on the same points: a linkage, a phylogeny, an earlier learned
/// tree) and returns the best tree seen. `progress` is called at every step and may cancel the run,
/// which then returns the best tree so far.
///
/// # Errors
/// No labels; measures on other points; invalid options.
///
/// # Complexity
/// O(epochs · pairs · N + steps · N log N) time, O(N · (threads + batch/8)) memory. Above 20,000
/// points N is approximately the number of points in labeled measures: subtrees with fewer than
/// two of them move as a whole.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Labeled, LearnOptions, Linkage, PointMetric, learn, linkage, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
/// let data = Labeled::of_points(&metric, 6, 0)?;
/// let start = linkage(&metric, Linkage::Average, &silent)?;
/// let learned = learn(&start, &data, &LearnOptions::default(), &silent)?;
/// let error = |epoch: usize| learned.history[epoch].relative_error;
/// assert!(error(learned.best_epoch) <= error(0));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn learn(
    start: &Tree,
    data: &Labeled,
    options: &LearnOptions,
    progress: &Progress<'_>,
) -> Result<Learned> {
    resume(None, start, data, options, progress)
}

/// Resumes [`learn`] from a checkpoint of a run with the same arguments; the result is bit for bit
/// that of the uninterrupted run.
///
/// # Errors
/// A checkpoint of a run with other numbers of points or steps; see also [`learn`].
pub fn resume(
    from: Option<&Checkpoint>,
    start: &Tree,
    data: &Labeled,
    options: &LearnOptions,
    progress: &Progress<'_>,
) -> Result<Learned> {
    options.check()?;
    data.check_for(start.leaves())?;
    if let Some(coarse) = CoarseTree::of(start, &[data])? {
        let few = coarse.labeled(data)?;
        let learned = resume(from, &coarse.tree, &few, options, progress)?;
        return coarse.refined(learned, start, &few, options);
    }
    let mut rng = generator(options.seed);
    let parts = data.split_by(options.validation_fraction, &mut rng);
    descend(from, Run::new(start, &parts, options), start, options, rng, progress)
}

/// Runs [`resume`] with labels that are already split.
pub(crate) fn learn_judged(
    from: Option<&Checkpoint>,
    start: &Tree,
    parts: &(Labeled, Labeled),
    options: &LearnOptions,
    progress: &Progress<'_>,
) -> Result<Learned> {
    options.check()?;
    if let Some(coarse) = CoarseTree::of(start, &[&parts.0, &parts.1])? {
        let few = (coarse.labeled(&parts.0)?, coarse.labeled(&parts.1)?);
        let learned = learn_judged(from, &coarse.tree, &few, options, progress)?;
        return coarse.refined(learned, start, &few.0, options);
    }
    let run = Run::new(start, parts, options);
    descend(from, run, start, options, generator(options.seed), progress)
}

/// Runs all epochs, except for steps before the checkpoint.
fn descend(
    from: Option<&Checkpoint>,
    mut run: Run,
    start: &Tree,
    options: &LearnOptions,
    mut rng: Random,
    progress: &Progress<'_>,
) -> Result<Learned> {
    let batches = run.train.len().div_ceil(options.batch_size);
    let steps = options.epochs.saturating_mul(batches);
    if let Some(from) = from {
        run.restore(from, steps)?;
    }
    let done = from.map_or(0, Checkpoint::step);
    let mut order: Vec<usize> = (0..run.train.len()).collect();
    let mut step = 0;
    'epochs: for epoch in 1..=options.epochs {
        order.shuffle(&mut rng);
        for batch in order.chunks(options.batch_size) {
            let rate = options.learning_rate * options.schedule.share(step as f64 / steps as f64);
            let pivot = rng.random_range(0..start.leaves());
            step += 1;
            // Done before the checkpoint; only the random numbers are drawn again.
            if step <= done {
                continue;
            }
            let diverged = run.descend(batch, rate, pivot).is_break();
            if diverged || !run.report(step, steps, progress) {
                run.finished = false;
                break 'epochs;
            }
        }
        if epoch < run.history.len() {
            continue;
        }
        run.record(epoch);
        if options.patience > 0 && epoch - run.best_epoch >= options.patience {
            run.finished = epoch == options.epochs;
            break;
        }
    }
    run.into_learned(start)
}

/// State of a run of [`learn`]: the current tree, the best so far, and their errors.
struct Run {
    /// Distance that a height of 1 represents.
    unit: f64,
    train: Labeled,
    /// Weight of each training label.
    importance: Vec<f64>,
    validation: Labeled,
    loss: Loss,
    kind: Kind,
    tree: BinaryTree,
    best: BinaryTree,
    best_epoch: usize,
    best_loss: f64,
    history: Vec<Epoch>,
    finished: bool,
    gradient_seconds: f64,
    projection_seconds: f64,
}

impl Run {
    fn new(start: &Tree, (train, validation): &(Labeled, Labeled), options: &LearnOptions) -> Self {
        let mass_unit = scale::of_largest(train.measures().iter().map(|m| m.total()));
        let label_unit = scale::of_largest(train.distances().iter().copied());
        let train = train.in_units(label_unit, mass_unit);
        let validation = validation.in_units(label_unit, mass_unit);
        let unit = label_unit / mass_unit;
        let mut tree = BinaryTree::from_tree(start, &start.heights());
        if options.kind != Kind::Additive && !start.is_ultrametric() {
            tree = project::ultrametric(&tree);
        }
        if options.scale {
            // The unit is arbitrary until the factor is known; the start's own cannot overflow.
            tree.divide_heights(scale::power_of_two(tree.largest_height()));
            let factor =
                train.factor(&gradient::predictions(&tree, train.measures(), train.pairs()));
            tree.divide_heights(1.0 / factor);
        } else {
            tree.divide_heights(unit);
        }
        let mut run = Self {
            unit,
            importance: options.loss.importance(train.distances()),
            train,
            validation,
            loss: options.loss,
            kind: options.kind,
            best: tree.clone(),
            tree,
            best_epoch: 0,
            best_loss: f64::INFINITY,
            history: Vec::new(),
            finished: true,
            gradient_seconds: 0.0,
            projection_seconds: 0.0,
        };
        run.record(0);
        run
    }

    /// Reports progress; returns `false` if the run is canceled.
    fn report(&self, step: usize, steps: usize, progress: &Progress<'_>) -> bool {
        let checkpoint = || {
            let Self { history, tree, best, best_epoch, .. } = self;
            Checkpoint {
                step,
                best_epoch: *best_epoch,
                history: history.clone(),
                tree: tree.clone(),
                best: best.clone(),
            }
            .to_bytes()
        };
        progress(&State {
            error: self.history.last().map(|epoch| epoch.relative_error),
            checkpoint: Some(&checkpoint),
            ..State::new(LEARNING, step, Some(steps))
        })
    }

    /// Replaces the start by the state of a checkpoint.
    fn restore(&mut self, from: &Checkpoint, steps: usize) -> Result<()> {
        let fits = from.tree.leaves == self.tree.leaves && from.step <= steps;
        let best = from.history.get(from.best_epoch).filter(|_| fits);
        let Some(best) = best else {
            return Err(Error::Parse {
                format: "checkpoint",
                place: format!("step {}", from.step),
                reason: "it is of a run with other points or fewer steps".into(),
            });
        };
        self.best_loss = best.validation_loss.unwrap_or(best.training_loss);
        self.best_epoch = from.best_epoch;
        self.history.clone_from(&from.history);
        self.tree.clone_from(&from.tree);
        self.best.clone_from(&from.best);
        Ok(())
    }

    /// Takes one gradient step on a batch of labels and projects to trees. Breaks if the heights
    /// diverge, as they do if the rate is far too large.
    fn descend(&mut self, batch: &[usize], rate: f64, pivot: usize) -> ControlFlow<()> {
        let begun = Instant::now();
        let weighted = |&k: &usize| WeightedPair {
            pair: self.train.pairs()[k],
            distance: self.train.distances()[k],
            weight: self.importance[k],
        };
        let batch: Vec<WeightedPair> = batch.iter().map(weighted).collect();
        let step = gradient::step(&self.tree, self.train.measures(), &batch);
        if step.squared_norm > 0.0 {
            // Both the gradient and the squared norm are means over the batch: its size cancels.
            let factor = rate / step.squared_norm;
            let heights = self.tree.height.iter_mut().zip(&step.gradient);
            heights.for_each(|(height, g)| *height -= factor * g);
        }
        let largest = self.tree.largest_height();
        if largest.is_nan() || largest > DIVERGED {
            return ControlFlow::Break(());
        }
        let stepped = Instant::now();
        match self.kind {
            Kind::Ultrametric => self.tree = project::ultrametric(&self.tree),
            Kind::Additive => self.tree = project::additive(&self.tree, pivot),
            Kind::SkipMst => (),
        }
        self.gradient_seconds += (stepped - begun).as_secs_f64();
        self.projection_seconds += stepped.elapsed().as_secs_f64();
        ControlFlow::Continue(())
    }

    /// Computes the error, and keeps the tree if it is the best so far.
    fn record(&mut self, epoch: usize) {
        let begun = Instant::now();
        // The error is that of the tree that would be returned.
        let projected = (self.kind == Kind::SkipMst).then(|| project::ultrametric(&self.tree));
        let tree = projected.as_ref().unwrap_or(&self.tree);
        let train = LabelErrors::new(tree, &self.train, self.loss);
        let validation = (!self.validation.is_empty())
            .then(|| LabelErrors::new(tree, &self.validation, self.loss));
        let choosing = validation.as_ref().unwrap_or(&train);
        let relative_error = choosing.relative_error;
        if choosing.loss < self.best_loss {
            self.best.clone_from(tree);
            (self.best_epoch, self.best_loss) = (epoch, choosing.loss);
        }
        self.history.push(Epoch {
            epoch,
            training_loss: train.loss,
            validation_loss: validation.map(|v| v.loss),
            relative_error,
        });
        self.gradient_seconds += begun.elapsed().as_secs_f64();
    }

    fn into_learned(mut self, start: &Tree) -> Result<Learned> {
        self.best.divide_heights(1.0 / self.unit);
        let tree = match self.kind {
            Kind::Ultrametric | Kind::SkipMst => self.best.to_tree()?,
            // Additive trees are rooted at the last pivot: move the root to the midpoint.
            Kind::Additive => self.best.to_tree()?.rerooted_at_middle()?,
        };
        Ok(Learned {
            tree: tree.named_as(start)?,
            history: self.history,
            best_epoch: self.best_epoch,
            finished: self.finished,
            gradient_seconds: self.gradient_seconds,
            projection_seconds: self.projection_seconds,
        })
    }
}

/// Errors of a tree on labels.
struct LabelErrors {
    loss: f64,
    relative_error: f64,
}

impl LabelErrors {
    fn new(tree: &BinaryTree, data: &Labeled, loss: Loss) -> Self {
        let predicted = gradient::predictions(tree, data.measures(), data.pairs());
        let (mut squares, mut scale) = (0.0, 0.0);
        let importance = loss.importance(data.distances());
        for ((prediction, distance), weight) in
            predicted.iter().zip(data.distances()).zip(importance)
        {
            let error = prediction - distance;
            squares += weight * error * error;
            scale += weight * distance * distance;
        }
        // If all labels are 0, the scale is arbitrary.
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let errors = score::relative_errors(&predicted, data.distances());
        let relative_error = errors.iter().sum::<f64>() / errors.len() as f64;
        Self { loss: squares / scale, relative_error }
    }
}

/// Heights above this have diverged, because labels are near 1.
const DIVERGED: f64 = 1e100;
