//! Estimates of W₁ at a choice of accuracies, from a tree's microseconds to the exact answer, with
//! certified bounds at every level.
//!
//! An [`Estimator`] has a ground metric and usually a [`Model`], a tree or a forest, over its
//! points; `Arcs`, `Exact` and relative errors do not need a model.
//!
//! | [`Level`] | value | side of W₁ | cost for s points and K trees |
//! | --- | --- | --- | --- |
//! | `Tree` | weighted mean of the trees' distances | either | K·O(s) |
//! | `Flow` | true cost of the trees' plans and of one merged from them, the least or the mean | above | K·O(s log s), K·s distances |
//! | `Arcs` | between the bounds that a few Sinkhorn sweeps and a plan on the arcs they use give | either | some 20 passes over s² costs in single precision, s/2 pivots |
//! | `Exact` | W₁ | equal | a solve with all s² distances |
//!
//! [`Estimator::calibrated`] fits to labels one factor per level, and the weights of the bounds
//! where a value combines both; the raw value is kept beside it. A level may have a larger error on
//! the labels than a lower one, as the plans of a single tree. It then returns the value of the
//! lower level, so that on the labels a slower level is never less accurate. Where supports are so
//! small that a level would cost more than the exact solver, it answers exactly
//! ([`Estimate::exact`]).
//!
//! # Certified bounds
//! [`Estimator::bounds`] computes an interval that contains W₁. Upper bound: the cost of any plan
//! is at least W₁, the minimum. Lower bound, the largest of:
//! - **Single linkage.** Its distance d of two points is the smallest possible largest step on a
//!   path between them. The direct step is such a path, so d ≤ D for all pairs, every plan costs no
//!   less in D than in d, and W_T ≤ W₁.
//! - **Centroids** (points whose distance is a norm of their difference). For any plan Π,
//!   ‖Σ μᵢxᵢ − Σ ρⱼxⱼ‖ = ‖Σ Πᵢⱼ(xᵢ − xⱼ)‖ ≤ Σ Πᵢⱼ‖xᵢ − xⱼ‖ by the triangle inequality.
//! - **Duals** (`Flow`). Potentials u with v_j = minᵢ(D(i,j) − uᵢ) satisfy uᵢ + v_j ≤ D(i,j), so Σ
//!   μᵢuᵢ + Σ ρⱼv_j ≤ Σ Πᵢⱼ D(i,j) for every plan. The u are the mean of the trees' own duals,
//!   which have different errors, made feasible for all distances (s² of them, but no solve).
//!
//! `Arcs` does not use the trees: its duals are those of a few Sinkhorn sweeps, which are tighter,
//! and its plan uses the arcs of these sweeps.
//!
//! Each bound is lowered (raised) by more than the largest rounding error.

#![expect(clippy::missing_errors_doc, reason = "errors are those of `Estimator::distance`")]

mod bounds;
mod calibrate;

use std::sync::{Arc, OnceLock};

use crate::accuracy::Level;
use crate::build::{Linkage, linkage};
use crate::error::{Error, Result};
use crate::measures::{Measure, Measures, check_balance};
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::model::flow::{FlowPlans, ground_distances};
use crate::progress::tasks::SOLVING;
use crate::progress::{Counter, Progress, silent};
use crate::solve::route::is_quick_on_edges;
use crate::solve::{Aim, Problem, exact};
use crate::tools::parallel;
use crate::tree::{Coupling, Tree, surpluses};

pub use crate::model::flow;
#[allow(deprecated, reason = "a former name")]
#[doc(hidden)]
pub use bounds::Answer;
pub use bounds::{CertifiedEstimate, Interval};
pub use calibrate::{Calibration, calibration};

/// Statistic of the flow level over the costs of the trees' plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Statistic {
    /// Minimum, also over a plan of the shortest moves of all trees: the tightest upper bound.
    #[default]
    Least,
    /// Mean over trees, which sometimes follows W₁ more closely once calibrated.
    Mean,
}

/// An estimate of W₁.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Raw value times a factor; at [`Level::Arcs`] a value between the bounds.
    pub value: f64,
    /// Result of the level, or of the lower one that replaces it ([`Calibration::levels`]); at
    /// [`Level::Arcs`] the cost of its plan.
    pub raw: f64,
    /// Whether the value is W₁ itself.
    pub exact: bool,
}

/// Estimates of W₁ on one ground metric by a tree or a forest.
///
/// # Example
/// ```
/// use treeport::{Estimator, GroundMetric, Level, Linkage, Measures, Model, PointMetric, linkage, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
/// let model = Model::Tree(linkage(&metric, Linkage::Average, &silent)?);
/// let estimator = Estimator::new(&metric, &model)?;
/// let measures = Measures::from_dense(4, &[0.5, 0.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.5])?;
/// let (a, b) = (measures.row(0), measures.row(1));
/// assert_eq!(estimator.distance(Level::Exact, &a, &b)?.value, 1.0);
/// let interval = estimator.bounds(Level::Flow, &a, &b)?;
/// assert!(interval.lower <= 1.0 && 1.0 <= interval.upper);
/// # Ok::<(), treeport::Error>(())
/// ```
///
/// It shares metric and model with its arguments; clones are cheap.
#[derive(Clone, Debug)]
pub struct Estimator {
    metric: GroundMetric,
    /// Trees, unless only levels without trees are used.
    model: Option<Model>,
    /// Single linkage for lower bounds, once computed.
    below: Arc<OnceLock<SingleLinkage>>,
    calibration: Calibration,
    /// Whether small supports are solved exactly at every level.
    shortcut: bool,
}

/// Largest number of compared coordinates, a second's work: 30,000 points in the plane.
const MOST_COMPARED: f64 = 2e9;

/// Single linkage, whose distances never exceed the metric's.
#[derive(Debug)]
struct SingleLinkage {
    tree: Tree,
    /// Height of the root above the leaves.
    height: f64,
}

impl Estimator {
    /// Creates an estimator without calibration. A graph is [prepared](GroundMetric::prepare) once.
    ///
    /// # Errors
    /// A model over another number of points than the metric's.
    pub fn new(metric: &GroundMetric, model: &Model) -> Result<Self> {
        metric.prepare(&silent)?;
        Self::over(metric, model)
    }

    /// Creates an estimator for levels that do not use trees: `arcs`, `exact`, and a relative
    /// error.
    ///
    /// # Errors
    /// Not enough memory for the distances of a graph.
    ///
    /// # Example
    /// ```
    /// use treeport::{Estimator, GroundMetric, Measures, PointMetric};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::unit_masses(3, [0, 2])?;
    /// let answer = Estimator::without_trees(&metric)?.within(0.1, &measures.row(0), &measures.row(1))?;
    /// assert_eq!(answer.value, 5.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn without_trees(metric: &GroundMetric) -> Result<Self> {
        metric.prepare(&silent)?;
        Ok(Self::with(metric, None))
    }

    fn with(metric: &GroundMetric, model: Option<Model>) -> Self {
        let (below, calibration) = (Arc::default(), Calibration::default());
        Self { metric: metric.clone(), model, below, calibration, shortcut: true }
    }

    /// Creates an estimator that searches a graph for every query, unlike [`new`](Self::new).
    fn over(metric: &GroundMetric, model: &Model) -> Result<Self> {
        if model.points() != metric.points() {
            let reason =
                format!("its trees have {} points, the metric {}", model.points(), metric.points());
            return Err(Error::BadForest { reason });
        }
        Ok(Self::with(metric, Some(model.clone())))
    }

    /// Returns the single linkage of the points, which the bounds of trees need; it is computed at
    /// the first call and kept. Returns `None` if comparing all pairs of coordinates would take
    /// seconds; bounds are then a little wider.
    fn below(&self, progress: &Progress<'_>) -> Result<Option<&SingleLinkage>> {
        if let Some((dim, _)) = self.metric.coordinates() {
            let points = self.metric.points() as f64;
            if points * points * dim as f64 > MOST_COMPARED {
                return Ok(None);
            }
        }
        if let Some(below) = self.below.get() {
            return Ok(Some(below));
        }
        // Outside of the cell; `GroundMetric::materialize` has the reason.
        let tree = linkage(&self.metric, Linkage::Single, progress)?;
        let height = tree.heights().into_iter().fold(0.0, f64::max);
        Ok(Some(self.below.get_or_init(|| SingleLinkage { tree, height })))
    }

    /// Uses the trees even where the exact solver is faster, to measure a level rather than to use
    /// it. [`Level::Exact`] stays exact.
    #[must_use]
    pub fn by_trees_alone(mut self) -> Self {
        self.shortcut = false;
        self
    }

    /// Returns the ground metric.
    pub fn metric(&self) -> &GroundMetric {
        &self.metric
    }

    /// Returns the model.
    ///
    /// # Errors
    /// There is no model ([`without_trees`](Self::without_trees)).
    pub fn model(&self) -> Result<&Model> {
        self.model.as_ref().ok_or_else(|| Error::BadOption {
            option: "accuracy",
            value: "tree or flow".into(),
            expected: "without a tree it is arcs, exact, or the largest relative error",
        })
    }

    /// Computes the cheapest plan of the flow level: of one tree, or merged from all.
    pub fn coupling(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Coupling> {
        self.check(a, b)?;
        Ok(self.flow(a, b)?.cheapest())
    }

    /// Estimates W₁ between two measures.
    ///
    /// # Errors
    /// Measures on other points than the metric's or of unequal mass; at [`Level::Exact`] also
    /// [`Error::Unsolved`].
    pub fn distance(&self, level: Level, a: &Measure<'_>, b: &Measure<'_>) -> Result<Estimate> {
        self.check(a, b)?;
        self.estimate(level, a, b)
    }

    /// Estimates W₁ of many pairs, in parallel; the same for any number of threads.
    ///
    /// # Errors
    /// See [`Estimator::distance`]; [`Error::Canceled`] if `progress` cancels.
    pub fn pairs(
        &self,
        level: Level,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<Estimate>> {
        measures.check_points(self.metric.points())?;
        measures.check_pairs(pairs)?;
        if level == Level::Tree {
            let raw = self.model()?.pairs(measures, pairs, progress)?;
            return Ok(raw.into_iter().map(|raw| self.scaled(level, raw)).collect());
        }
        in_parallel(ComparedPairs::Of(measures, pairs), progress, |a, b| self.estimate(level, a, b))
    }

    /// Estimates W₁ of measure `i` of `a` and measure `i` of `b` for every `i`, in parallel.
    ///
    /// # Errors
    /// The sets differ in size; see also [`Estimator::pairs`]. Errors number measures within their
    /// own set.
    pub fn paired(
        &self,
        level: Level,
        a: &Measures,
        b: &Measures,
        progress: &Progress<'_>,
    ) -> Result<Vec<Estimate>> {
        self.check_paired(a, b)?;
        if level == Level::Tree {
            let raw = self.model()?.paired(a, b, progress)?;
            return Ok(raw.into_iter().map(|raw| self.scaled(level, raw)).collect());
        }
        in_parallel(ComparedPairs::Both(a, b), progress, |a, b| self.estimate(level, a, b))
    }

    fn check_paired(&self, a: &Measures, b: &Measures) -> Result<()> {
        a.check_paired(b)?;
        a.check_points(self.metric.points())?;
        b.check_points(self.metric.points())
    }

    /// Computes the plans of all trees between two measures, with their true costs.
    fn flow(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<FlowPlans> {
        FlowPlans::new(self.model()?.trees(), a, b, &ground_distances(&self.metric))
    }

    /// Computes the statistic of the flow level.
    fn flow_value(&self, flow: &FlowPlans) -> Result<f64> {
        Ok(match self.calibration.statistic {
            Statistic::Least => flow.least(),
            Statistic::Mean => flow.mean(self.model()?.weights()),
        })
    }

    fn check(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<()> {
        for measure in [a, b] {
            measure.check_points(self.metric.points())?;
        }
        check_balance((0, *a), (1, *b))
    }

    fn estimate(&self, level: Level, a: &Measure<'_>, b: &Measure<'_>) -> Result<Estimate> {
        if self.is_small(level, false, a, b) {
            let value = Problem::new(&self.metric, a, b).value(&silent)?;
            return Ok(Estimate { value, raw: value, exact: true });
        }
        self.value_by(self.calibration.levels[level as usize], a, b)
    }

    /// Computes the value of a level itself.
    fn value_by(&self, level: Level, a: &Measure<'_>, b: &Measure<'_>) -> Result<Estimate> {
        let raw = match level {
            Level::Tree => self.model()?.distance(a, b)?,
            Level::Flow => self.flow_value(&self.flow(a, b)?)?,
            Level::Arcs | Level::Exact => {
                let interval = self.swept(f64::INFINITY, a, b)?;
                let value = interval.between(self.calibration.arcs_blend);
                return Ok(Estimate { value, raw: interval.upper, exact: false });
            }
        };
        Ok(self.scaled(level, raw))
    }

    /// Computes the bounds of a few sweeps, or those of the exact solver if the sweeps' are too
    /// wide: for example, one point may be so far away that single precision cannot distinguish the
    /// others.
    fn swept(&self, tolerance: f64, a: &Measure<'_>, b: &Measure<'_>) -> Result<Interval> {
        let (lower, upper) = exact::interval(&self.metric, a, b, tolerance)?;
        let interval = bounds::interval_with_slack(lower, upper);
        if interval.width() <= 1.0 {
            return Ok(interval);
        }
        let exact = Problem::new(&self.metric, a, b).answer(&Aim::value(), &silent)?;
        Ok(bounds::interval_with_slack(exact.lower, exact.upper))
    }

    fn scaled(&self, level: Level, raw: f64) -> Estimate {
        let value = self.calibration.factors[level as usize] * raw;
        Estimate { value, raw, exact: level == Level::Exact }
    }

    /// Returns whether the exact solver is at least as fast as the level, with or without bounds.
    fn is_small(&self, level: Level, bounds: bool, a: &Measure<'_>, b: &Measure<'_>) -> bool {
        let crossing = match level {
            Level::Tree => return false,
            Level::Exact => return true,
            _ if !self.shortcut => return false,
            Level::Flow if bounds => FLOW_BOUNDS_CROSSING,
            Level::Flow => FLOW_CROSSING,
            Level::Arcs => ARCS_CROSSING,
        };
        let (n, m) = self.moving(a, b);
        if level == Level::Arcs && is_quick_on_edges(&self.metric, n, m) {
            return true;
        }
        let trees = self.model.as_ref().map_or(1, |model| model.trees().len());
        !is_above(crossing, if level == Level::Arcs { 1 } else { trees }, (n, m))
    }

    /// Returns the numbers of sources and sinks of the transport problem.
    fn moving(&self, a: &Measure<'_>, b: &Measure<'_>) -> (usize, usize) {
        let (mut n, mut m) = (a.support().len(), b.support().len());
        if self.metric.is_metric() {
            // Common mass stays in place and is not part of the problem.
            (n, m) =
                surpluses(a, b).fold(
                    (0, 0),
                    |(n, m), (_, surplus)| {
                        if surplus > 0.0 { (n + 1, m) } else { (n, m + 1) }
                    },
                );
        }
        (n, m)
    }
}

/// Returns whether n·m > crossing·K·(n + m).
fn is_above(crossing: f64, trees: usize, (n, m): (usize, usize)) -> bool {
    let (n, m) = (n as f64, m as f64);
    n * m > crossing * trees as f64 * (n + m)
}

/// Pairs of measures whose masses have been checked.
#[derive(Clone, Copy)]
enum ComparedPairs<'a> {
    /// Pairs of one set.
    Of(&'a Measures, &'a [(usize, usize)]),
    /// Row i of one set with row i of another.
    Both(&'a Measures, &'a Measures),
}

impl ComparedPairs<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Of(_, pairs) => pairs.len(),
            Self::Both(a, _) => a.len(),
        }
    }

    fn pair(&self, k: usize) -> (Measure<'_>, Measure<'_>) {
        match self {
            Self::Of(measures, pairs) => (measures.row(pairs[k].0), measures.row(pairs[k].1)),
            Self::Both(a, b) => (a.row(k), b.row(k)),
        }
    }
}

/// Computes `work` for many pairs in parallel.
fn in_parallel<T: Send>(
    rows: ComparedPairs<'_>,
    progress: &Progress<'_>,
    work: impl Fn(&Measure<'_>, &Measure<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let counter = Counter::new(SOLVING, rows.len(), progress);
    let one = |k: usize| {
        let (a, b) = rows.pair(k);
        let result = work(&a, &b)?;
        counter.add(1)?;
        Ok(result)
    };
    parallel::try_map(rows.len(), one)
}

/// Crossover of the exact solver and the flow of K trees from n to m points: they are equally fast
/// where n·m is this many times K·(n + m), 48 points each for 16 trees. On one thread, in
/// R^300, the flow is 0.9 times as fast at 30 points, 1.7 to 2.0 times at 100, 5 at 300, 17 at
/// 1,000; in the plane, where distances cost nothing, it is 0.8 times as fast at 50 points.
const FLOW_CROSSING: f64 = 1.5;

/// Like [`FLOW_CROSSING`], for the bounds of the flow, which need all distances: 192 points each
/// for 16 trees. They are as fast as the solver at 120 points in the plane, at 140 in R^20 and at
/// 200 to 270 in R^300; at 1,000 points 6, 5 and 2 times as fast. At equal times the solver is
/// preferred, because it is exact.
const FLOW_BOUNDS_CROSSING: f64 = 6.0;

/// Crossover above which a try at the flow level, with the bounds that need few distances, costs at
/// most half of the sweeps: 12 points each for a tree, 200 for 16 trees.
const PLANS_CROSSING: f64 = 6.0;

/// [`FLOW_CROSSING`] for sweeps: they are as fast as the exact solver at 60 points on each side.
const ARCS_CROSSING: f64 = 30.0;
