//! The methods by name.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cluster::{Splitting, cluster_tree};
use super::fit::{Doing, FitOptions, fit};
use super::model::{Model, Scale, Training};
use super::options::BaselineOptions;
use super::quadtree::quadtree;
use super::shrink::fit_labels;
use super::ultratwd::{ultratwd, ultratwd_mst};
use super::weights::{WeightOptions, fit_points, fit_points_jointly};
use crate::error::{Error, Result};
use crate::forest::{Forest, ForestOptions};
use crate::learn::{Kind, Labels, LearnOptions, Status, learn, point_labels};
use crate::linkage::{Linkage, linkage};
use crate::measure::Measures;
use crate::metric::GroundMetric;
use crate::progress::Progress;
use crate::tree::Tree;

/// A way to approximate transport; [`the module`](super) says where each comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// The mean of the labels for every pair.
    MeanLabel,
    /// A constant times the total variation: all points equally far apart, as far as points are in the mean.
    TotalVariation,
    /// A randomly shifted quadtree.
    Quadtree,
    /// The cost of a quadtree's plan.
    Flowtree,
    /// A cluster tree by farthest points.
    Cluster,
    /// A cluster tree by k-means.
    KMeans,
    /// A quadtree with edges fitted to the distances of points.
    QTwd,
    /// A cluster tree with edges fitted to the distances of points.
    CTwd,
    /// The same with edges fitted to labels, shrunk towards qTWD.
    QTwdLabels,
    /// The same with edges fitted to labels, shrunk towards cTWD.
    CTwdLabels,
    /// The mean of several quadtrees.
    SlicedQuadtree,
    /// The mean of several cluster trees.
    SlicedCluster,
    /// The mean of several qTWD.
    SlicedQTwd,
    /// The mean of several cTWD.
    SlicedCTwd,
    /// Minimum spanning tree and shift: the nearest ultrametric in the largest difference.
    UltraTwdMst,
    /// From there down the squared differences.
    UltraTwd,
    /// Single linkage.
    Single,
    /// Average linkage.
    Average,
    /// A learned ultrametric tree.
    Ultrametric,
    /// A learned ultrametric tree that keeps the shape of its start.
    SkipMst,
    /// A learned additive tree.
    Additive,
    /// The best of several stages, learning among them: [`fit`].
    Auto,
    /// The mean of average linkages of a perturbed metric.
    Forest,
    /// The same with every tree learned, as an additive tree.
    LearnedForest,
}

/// The shapes whose edges are fitted.
#[derive(Clone, Copy)]
enum Shape {
    Quadtree,
    Cluster(Splitting),
}

const FARTHEST: Shape = Shape::Cluster(Splitting::Farthest);

impl Method {
    /// All methods, simple ones first.
    pub const ALL: [Self; 24] = [
        Self::MeanLabel,
        Self::TotalVariation,
        Self::Quadtree,
        Self::SlicedQuadtree,
        Self::Flowtree,
        Self::Cluster,
        Self::KMeans,
        Self::SlicedCluster,
        Self::QTwd,
        Self::SlicedQTwd,
        Self::QTwdLabels,
        Self::CTwd,
        Self::SlicedCTwd,
        Self::CTwdLabels,
        Self::UltraTwdMst,
        Self::UltraTwd,
        Self::Single,
        Self::Average,
        Self::SkipMst,
        Self::Ultrametric,
        Self::Additive,
        Self::Auto,
        Self::Forest,
        Self::LearnedForest,
    ];

    /// The one word it goes by.
    pub fn name(self) -> &'static str {
        match self {
            Self::MeanLabel => "mean-label",
            Self::TotalVariation => "total-variation",
            Self::Quadtree => "quadtree",
            Self::Flowtree => "flowtree",
            Self::Cluster => "cluster",
            Self::KMeans => "kmeans",
            Self::QTwd => "qtwd",
            Self::CTwd => "ctwd",
            Self::QTwdLabels => "qtwd-labels",
            Self::CTwdLabels => "ctwd-labels",
            Self::SlicedQuadtree => "sliced-quadtree",
            Self::SlicedCluster => "sliced-cluster",
            Self::SlicedQTwd => "sliced-qtwd",
            Self::SlicedCTwd => "sliced-ctwd",
            Self::UltraTwdMst => "ultratwd-mst",
            Self::UltraTwd => "ultratwd",
            Self::Single => "single",
            Self::Average => "average",
            Self::Ultrametric => "ultrametric",
            Self::SkipMst => "skip-mst",
            Self::Additive => "additive",
            Self::Auto => "auto",
            Self::Forest => "forest",
            Self::LearnedForest => "learned-forest",
        }
    }

    /// What [`learn`](crate::learn()) has to be told, if this is one learned tree.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Ultrametric => Some(Kind::Ultrametric),
            Self::SkipMst => Some(Kind::SkipMst),
            Self::Additive => Some(Kind::Additive),
            _ => None,
        }
    }

    /// Whether there is no such method without labels.
    pub fn needs_labels(self) -> bool {
        matches!(self, Self::MeanLabel | Self::QTwdLabels | Self::CTwdLabels)
    }

    /// Whether labels change more than its scale.
    pub fn uses_labels(self) -> bool {
        let learns = self.kind().is_some() || matches!(self, Self::Auto | Self::LearnedForest);
        self.needs_labels() || learns
    }

    /// Whether it builds several trees whose mean distance is the answer.
    pub fn is_forest(self) -> bool {
        use Method::{
            Forest, LearnedForest, SlicedCTwd, SlicedCluster, SlicedQTwd, SlicedQuadtree,
        };
        matches!(
            self,
            SlicedQuadtree | SlicedCluster | SlicedQTwd | SlicedCTwd | Forest | LearnedForest
        )
    }

    /// Whether it needs coordinates, and not only distances.
    pub fn needs_coordinates(self) -> bool {
        use Method::{Flowtree, KMeans, QTwd, QTwdLabels, Quadtree, SlicedQTwd, SlicedQuadtree};
        matches!(
            self,
            Quadtree | Flowtree | QTwd | QTwdLabels | SlicedQuadtree | SlicedQTwd | KMeans
        )
    }

    /// Whether it builds a single tree whose distance is the answer.
    pub fn is_tree(self) -> bool {
        !(self.is_forest() || matches!(self, Self::MeanLabel | Self::Flowtree))
    }

    /// Builds the model over the points of a metric.
    ///
    /// Labels are used where the method learns from them and where [`Scale::Labels`] asks for a factor.
    /// `progress` hears a growing count of work done, in whatever steps the method takes.
    ///
    /// # Errors
    /// A method that needs labels or coordinates without them, labels that do not fit, bad options, or
    /// [`Error::Cancelled`] when `progress` asks to stop.
    pub fn build(
        self,
        metric: &GroundMetric,
        training: Option<Training<'_>>,
        options: &BaselineOptions,
        progress: &Progress<'_>,
    ) -> Result<Model> {
        options.check()?;
        if let Some(training) = training {
            training.check(metric)?;
        }
        let model = self.plain(Task { metric, training, options, progress })?;
        match options.scale {
            Scale::None => Ok(model),
            Scale::Labels => {
                let training = training.ok_or_else(|| self.without_labels())?;
                model.scaled(model.factor(metric, training)?)
            }
        }
    }

    fn without_labels(self) -> Error {
        Error::NothingToLearn { what: format!("{self} takes labels and there are none") }
    }

    /// The model before any factor.
    fn plain(self, task: Task<'_>) -> Result<Model> {
        let (metric, options) = (task.metric, task.options);
        Ok(Model::Tree(match self {
            Self::MeanLabel => {
                let labels = &task.training.ok_or_else(|| self.without_labels())?.labels.distances;
                return Ok(Model::Constant(labels.iter().sum::<f64>() / labels.len() as f64));
            }
            Self::Flowtree => {
                return Ok(Model::Flow { tree: quadtree(metric, options.seed)?, factor: 1.0 });
            }
            Self::Forest => return Ok(Model::Forest(task.forest()?)),
            Self::LearnedForest => return task.learned_forest(),
            Self::SlicedQuadtree => return task.sliced(Shape::Quadtree),
            Self::SlicedCluster => return task.sliced(FARTHEST),
            Self::SlicedQTwd => return task.sliced_fitted(Shape::Quadtree),
            Self::SlicedCTwd => return task.sliced_fitted(FARTHEST),
            Self::TotalVariation => task.star()?,
            Self::Quadtree => task.shape(Shape::Quadtree, options)?,
            Self::Cluster => task.shape(FARTHEST, options)?,
            Self::KMeans => task.shape(Shape::Cluster(Splitting::KMeans), options)?,
            Self::QTwd => task.fitted(Shape::Quadtree, options)?,
            Self::CTwd => task.fitted(FARTHEST, options)?,
            Self::QTwdLabels => task.labelled(self, Shape::Quadtree)?,
            Self::CTwdLabels => task.labelled(self, FARTHEST)?,
            Self::UltraTwdMst => ultratwd_mst(metric)?,
            Self::UltraTwd => {
                let pairs = options.weights.pairs.min(MOST_LEARNED_PAIRS);
                ultratwd(metric, pairs, options.seed, task.progress)?
            }
            Self::Single => linkage(metric, Linkage::Single)?,
            Self::Average => linkage(metric, Linkage::Average)?,
            Self::Ultrametric => task.learned(Kind::Ultrametric)?,
            Self::SkipMst => task.learned(Kind::SkipMst)?,
            Self::Additive => task.learned(Kind::Additive)?,
            Self::Auto => task.fit()?,
        }))
    }
}

/// The learner reads every node for every pair: beyond this many pairs of points it gains little.
const MOST_LEARNED_PAIRS: usize = 5_000;

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name).ok_or_else(|| {
            Error::BadOption {
                option: "the method",
                value: format!("`{name}`"),
                expected: "it must be mean-label, total-variation, quadtree, sliced-quadtree, \
                    flowtree, cluster, kmeans, sliced-cluster, qtwd, sliced-qtwd, qtwd-labels, ctwd, \
                    sliced-ctwd, ctwd-labels, ultratwd-mst, ultratwd, single, average, skip-mst, \
                    ultrametric, additive, auto, forest or learned-forest",
            }
        })
    }
}

/// What a method is built from.
#[derive(Clone, Copy)]
struct Task<'a> {
    metric: &'a GroundMetric,
    training: Option<Training<'a>>,
    options: &'a BaselineOptions,
    progress: &'a Progress<'a>,
}

impl Task<'_> {
    /// All points equally far apart, as far as sampled points are in the mean.
    fn star(&self) -> Result<Tree> {
        let n = self.metric.points();
        if n == 1 {
            return Tree::new(1, vec![0], vec![0.0]);
        }
        let (_, labels) = point_labels(self.metric, self.options.weights.pairs, self.options.seed)?;
        let mean = labels.distances.iter().sum::<f64>() / labels.distances.len() as f64;
        let mut length = vec![0.5 * mean; n + 1];
        length[n] = 0.0;
        Tree::new(n, vec![n as u32; n + 1], length)
    }

    /// All stages of [`fit`], on labels, or on pairs of points where there are none.
    fn fit(&self) -> Result<Tree> {
        let start = linkage(self.metric, Linkage::Average)?;
        let Some((measures, labels)) = self.lessons()? else { return Ok(start) };
        let defaults = FitOptions::default();
        let learn = LearnOptions {
            kind: Kind::Additive,
            validation: defaults.learn.validation,
            seed: self.options.seed,
            ..self.options.learn.clone()
        };
        let options = FitOptions { learn, ..defaults };
        let done = AtomicUsize::new(0);
        let progress = |_: &Doing<'_>| (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1);
        let fitted = fit(&start, self.metric, &measures, &labels, &options, &progress)?;
        if fitted.finished { Ok(fitted.tree) } else { Err(Error::Cancelled) }
    }

    fn shape(&self, shape: Shape, options: &BaselineOptions) -> Result<Tree> {
        match shape {
            Shape::Quadtree => quadtree(self.metric, options.seed),
            Shape::Cluster(splitting) => {
                let (branching, depth) = (options.branching, options.depth);
                cluster_tree(self.metric, splitting, branching, depth, options.seed, self.progress)
            }
        }
    }

    fn fitted(&self, shape: Shape, options: &BaselineOptions) -> Result<Tree> {
        let tree = self.shape(shape, options)?;
        Ok(fit_points(&tree, self.metric, &weights(options), self.progress)?.model)
    }

    fn labelled(&self, method: Method, shape: Shape) -> Result<Tree> {
        let Training { measures, labels } = self.training.ok_or_else(|| method.without_labels())?;
        let tree = self.fitted(shape, self.options)?;
        let weights = weights(self.options);
        Ok(fit_labels(&tree, measures, labels, &weights, self.progress)?.model)
    }

    fn shapes(&self, shape: Shape) -> Result<Vec<Tree>> {
        let slices = 0..self.options.slices;
        slices.map(|k| self.shape(shape, &self.options.slice(k))).collect()
    }

    fn sliced(&self, shape: Shape) -> Result<Model> {
        Ok(Model::Forest(Forest::uniform(self.shapes(shape)?)?))
    }

    fn sliced_fitted(&self, shape: Shape) -> Result<Model> {
        if self.options.joint {
            let (trees, weights) = (self.shapes(shape)?, weights(self.options));
            let fitted = fit_points_jointly(&trees, self.metric, &weights, self.progress)?;
            return Ok(Model::Forest(fitted.model));
        }
        let slices = 0..self.options.slices;
        let trees = slices.map(|k| self.fitted(shape, &self.options.slice(k)));
        Ok(Model::Forest(Forest::uniform(trees.collect::<Result<_>>()?)?))
    }

    /// Learned from labels, or from pairs of points where there are none.
    fn learned(&self, kind: Kind) -> Result<Tree> {
        let options = LearnOptions { kind, seed: self.options.seed, ..self.options.learn.clone() };
        let start = linkage(self.metric, Linkage::Average)?;
        let mut stopped = false;
        let watch = |status: &Status<'_>| {
            stopped = !(self.progress)(status.step);
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let Some((measures, labels)) = self.lessons()? else { return Ok(start) };
        let learned = learn(&start, &measures, &labels, &options, watch)?;
        if stopped { Err(Error::Cancelled) } else { Ok(learned.tree) }
    }

    /// What trees learn from: labels, or pairs of points where there are none; nothing for a single point.
    fn lessons(&self) -> Result<Option<(Cow<'_, Measures>, Cow<'_, Labels>)>> {
        if let Some(Training { measures, labels }) = self.training {
            return Ok(Some((Cow::Borrowed(measures), Cow::Borrowed(labels))));
        }
        if self.metric.points() < 2 {
            return Ok(None);
        }
        let pairs = self.options.weights.pairs.min(MOST_LEARNED_PAIRS);
        let (measures, labels) = point_labels(self.metric, pairs, self.options.seed)?;
        Ok(Some((Cow::Owned(measures), Cow::Owned(labels))))
    }

    fn forest(&self) -> Result<Forest> {
        let options = ForestOptions { seed: self.options.seed, ..self.options.forest.clone() };
        Forest::perturbed(self.metric, &options, self.progress)
    }

    fn learned_forest(&self) -> Result<Model> {
        let (kind, seed) = (Kind::Additive, self.options.seed);
        let options = LearnOptions { kind, seed, ..self.options.learn.clone() };
        let forest = self.forest()?;
        let Some((measures, labels)) = self.lessons()? else { return Ok(Model::Forest(forest)) };
        let grown = forest.trees().len();
        let after = |step: usize| (self.progress)(grown + step);
        Ok(Model::Forest(forest.learned(&measures, &labels, &options, &after)?))
    }
}

fn weights(options: &BaselineOptions) -> WeightOptions {
    WeightOptions { seed: options.seed, ..options.weights.clone() }
}
