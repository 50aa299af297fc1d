//! Input of all methods, and the building blocks of which methods consist.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use super::edges::{fit_labels, fit_points};
use super::options::{FitOptions, Start};
use super::stages::stages;
use super::{Fit, forest, slices, weights};
use crate::build::{self, Linkage, Splitting, cluster_tree, linkage, quadtree};
use crate::error::Result;
use crate::labeled::Labeled;
use crate::learn::{LearnOptions, resume};
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::model::forest::Forest;
use crate::numeric::seed::generator;
use crate::progress::Progress;
use crate::tree::Tree;

use super::method::Method;

/// Checked arguments of [`fit`](super::fit()).
pub(super) struct FitJob<'a> {
    pub(super) metric: &'a GroundMetric,
    pub(super) data: Option<&'a Labeled>,
    pub(super) method: Method,
    pub(super) options: &'a FitOptions,
    pub(super) progress: &'a Progress<'a>,
}

/// Returns the epochs of `auto` and `tree`: one for every ten labels, from 50 to 200, but 50 where they would
/// take long.
///
/// On maps with 2,000 labels, 200 epochs had 5 % less error than 50, and 800 epochs no less than
/// 200. With 200 labels in the plane, 200 epochs overfitted: unseen pairs had 5 % more error.
pub(super) fn usual_epochs(labels: usize, points: usize) -> usize {
    let affordable = AFFORDABLE / labels.saturating_mul(points).max(1);
    (labels / 10).min(affordable).clamp(*AUTO_EPOCHS.start(), *AUTO_EPOCHS.end())
}

/// Smallest and largest number of epochs of `auto` and `tree`.
pub(super) const AUTO_EPOCHS: RangeInclusive<usize> = 50..=200;

/// Product of labels, points and epochs that takes some seconds.
const AFFORDABLE: usize = 200_000_000;

/// Tree shapes whose edges can be fitted.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Quadtree,
    Cluster(Splitting),
}

pub(super) const QUADTREE: Shape = Shape::Quadtree;
pub(super) const FARTHEST: Shape = Shape::Cluster(Splitting::Farthest);
pub(super) const KMEANS: Shape = Shape::Cluster(Splitting::KMeans);

impl FitJob<'_> {
    /// Returns labels, or this number of pairs of points; `None` for a single point.
    fn training_data(&self, point_pairs: usize) -> Result<Option<Cow<'_, Labeled>>> {
        if let Some(data) = self.data {
            return Ok(Some(Cow::Borrowed(data)));
        }
        if self.metric.points() < 2 {
            return Ok(None);
        }
        let data = Labeled::of_points(self.metric, point_pairs, self.options.seed)?;
        Ok(Some(Cow::Owned(data)))
    }

    fn learn_options(&self) -> LearnOptions {
        let usual = self.options.learn_options(self.method, self.data.is_some());
        let labels = self.data.filter(|_| self.method.has_stages()).map(Labeled::len);
        match (self.options.epochs, labels) {
            (None, Some(labels)) => {
                LearnOptions { epochs: usual_epochs(labels, self.metric.points()), ..usual }
            }
            _ => usual,
        }
    }

    fn start(&self) -> Result<Tree> {
        match &self.options.start {
            Some(Start::Tree(tree)) => Ok(tree.clone()),
            Some(Start::Linkage(method)) => linkage(self.metric, *method, self.progress),
            None => linkage(self.metric, Linkage::usual(self.metric.points()), self.progress),
        }
    }

    /// Runs all stages of `tree`.
    pub(super) fn stages(&self) -> Result<Fit> {
        let start = self.start()?;
        let Some(data) = self.training_data(self.options.point_pairs())? else {
            return Ok(Model::Tree(start).into());
        };
        let edges = self.options.edge_options(self.method);
        let from = self.options.resume.as_ref();
        let options = (&self.learn_options(), &edges);
        stages(from, &start, self.metric, &data, options, self.progress)
    }

    /// Runs all stages of `tree`; keeps slices if these have a clearly smaller error.
    pub(super) fn tree_or_slices(&self) -> Result<Fit> {
        let tree = self.stages()?;
        let (Some(data), true) = (self.data, tree.finished) else { return Ok(tree) };
        let options = self.learn_options();
        let parts = data.split_by(options.validation_fraction, &mut generator(options.seed));
        let slices = (self.options.slices(Method::Slices), self.options.seed);
        slices::slices_or_tree(tree, self.metric, (data, &parts), slices, self.progress)
    }

    /// Learns one tree.
    pub(super) fn learned(&self) -> Result<Fit> {
        let start = self.start()?;
        let Some(data) = self.training_data(self.options.point_pairs())? else {
            return Ok(Model::Tree(start).into());
        };
        let (from, options) = (self.options.resume.as_ref(), self.learn_options());
        let learned = resume(from, &start, &data, &options, self.progress)?;
        Ok(Fit {
            model: Model::Tree(learned.tree),
            stage: None,
            stage_errors: vec![],
            history: learned.history,
            best_epoch: learned.best_epoch,
            finished: learned.finished,
        })
    }

    fn perturbed_forest(&self) -> Result<Forest> {
        let options = self.options.perturbed_options(self.metric.points());
        build::perturbed(self.metric, &options, self.progress)
    }

    /// Builds linkages of the perturbed metric; labels determine their weights.
    pub(super) fn forest(&self) -> Result<Fit> {
        let forest = self.perturbed_forest()?;
        let weighted = match self.data {
            Some(data) if self.options.scale => self.weighted(&forest, data)?,
            _ => forest,
        };
        Ok(Model::Forest(weighted).into())
    }

    /// Learns linkages of the perturbed metric; with labels, also fits all edges together.
    pub(super) fn learned_forest(&self) -> Result<Fit> {
        let forest = self.perturbed_forest()?;
        let Some(data) = self.training_data(self.options.point_pairs())? else {
            return Ok(Model::Forest(forest).into());
        };
        let learn = self.learn_options();
        let fitted = if self.data.is_some() && self.options.scale && !data.is_all_zero() {
            let edges = self.options.edge_options(self.method);
            forest::stages(&forest, self.metric, &data, (&learn, &edges), self.progress)?
        } else {
            let learned = forest::learned(&forest, &data, &learn, self.progress)?;
            if self.options.scale { self.weighted(&learned, &data)? } else { learned }
        };
        Ok(Model::Forest(fitted).into())
    }

    /// Builds slices, levels and total variation, with weights and edges fitted to labels.
    pub(super) fn slices(&self) -> Result<Fit> {
        let data = if self.options.scale { self.training_data(slices::POINT_PAIRS)? } else { None };
        let seed = self.options.seed;
        let count = self.options.slices(self.method);
        let forest = slices::slices(self.metric, data.as_deref(), count, seed, self.progress)?;
        Ok(Model::Forest(forest).into())
    }

    fn weighted(&self, forest: &Forest, data: &Labeled) -> Result<Forest> {
        // Labels that are all 0 do not determine weights.
        if data.is_all_zero() {
            return Ok(forest.clone());
        }
        let options = weights::TreeWeightOptions { seed: self.options.seed, ..Default::default() };
        weights::weighted(forest, data, &options, self.progress)
    }

    pub(super) fn linkage(&self, method: Linkage) -> Result<Fit> {
        Ok(Model::Tree(linkage(self.metric, method, self.progress)?).into())
    }

    /// Builds a star whose distance is the mean distance of sampled points.
    pub(super) fn star(&self) -> Result<Fit> {
        let n = self.metric.points();
        let pairs = self.options.edge_options(self.method).pairs;
        if n == 1 {
            return Ok(Model::Tree(Tree::star(1, 0.0)?).into());
        }
        let data = Labeled::of_points(self.metric, pairs, self.options.seed)?;
        let mean = data.distances().iter().sum::<f64>() / data.len() as f64;
        Ok(Model::Tree(Tree::star(n, mean)?).into())
    }

    pub(super) fn shape_tree(&self, shape: Shape, seed: u64) -> Result<Tree> {
        match shape {
            Shape::Quadtree => quadtree(self.metric, seed),
            Shape::Cluster(splitting) => {
                let (branching, depth) = self.options.branching_and_depth(self.method);
                cluster_tree(self.metric, splitting, branching, depth, seed, self.progress)
            }
        }
    }

    pub(super) fn fitted_tree(&self, shape: Shape, seed: u64) -> Result<Tree> {
        let tree = self.shape_tree(shape, seed)?;
        let mut options = self.options.edge_options(self.method);
        options.seed = seed;
        Ok(fit_points(&tree, self.metric, &options, self.progress)?.tree)
    }

    pub(super) fn shape(&self, shape: Shape) -> Result<Fit> {
        Ok(Model::Tree(self.shape_tree(shape, self.options.seed)?).into())
    }

    pub(super) fn fitted(&self, shape: Shape) -> Result<Fit> {
        Ok(Model::Tree(self.fitted_tree(shape, self.options.seed)?).into())
    }

    pub(super) fn fitted_to_labels(&self, shape: Shape) -> Result<Fit> {
        let data = self.data.expect("`FitOptions::check_for` requires labels");
        let tree = self.fitted_tree(shape, self.options.seed)?;
        let options = self.options.edge_options(self.method);
        let fitted = fit_labels(&tree, data, &options, self.progress)?;
        Ok(Model::Tree(fitted.tree).into())
    }

    /// Builds the equally weighted forest of several random trees of a kind.
    pub(super) fn sliced(&self, tree: impl Fn(u64) -> Result<Tree>) -> Result<Fit> {
        let seeds = (0..self.options.slices(self.method)).map(|k| self.options.slice_seed(k));
        let trees = seeds.map(tree).collect::<Result<_>>()?;
        Ok(Model::Forest(Forest::uniform(trees)?).into())
    }
}
