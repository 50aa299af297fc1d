//! The method `slices`: several kinds of trees, with weights and edges fitted to labels.
//!
//! A [slice](crate::build::slices) represents mass that moves along a line, a level of a hierarchy
//! mass that leaves the clusters of one scale, and total variation mass that moves at all. Each of
//! them alone is inaccurate; their mixture has a smaller error than a learned tree. All of them are
//! trees, so the mixture is a [`Forest`], and its distance is linear in all edges:
//!
//! 1. **weights**: one for each [`Family`], at least 0, by least squares on relative errors with
//!    shrinkage towards equal contributions (`family_weights`).
//! 2. **edges**: a multiplier for every edge, for paths one for each of [`PARTS`] parts, shrunk
//!    towards 1 (`fit_together_at`). Held-out labels choose the shrinkage, and whether multipliers
//!    are kept.
//!
//! Mean relative errors on new pairs with 400 labels between 200 measures, two seeds, full and
//! subset measures of maps (USCA312, `USAir97`), and documents (Twitter, BBC Sport; one seed):
//!
//! | | USCA312 | `USAir97` | Twitter | BBC Sport |
//! | --- | --- | --- | --- | --- |
//! | `tree`, one learned tree | 0.051 / 0.063 | 0.032 / 0.031 | 0.0147 | 0.0065 |
//! | weights alone | 0.027 / 0.028 | 0.042 / 0.045 | 0.015 | 0.009 |
//! | **with multipliers** | 0.024 / 0.025 | 0.025 / 0.027 | 0.014 | 0.007 |
//!
//! Tried and lost, on the maps: 16 slices (3 % less error, half as many trees more); four
//! hierarchies (5 % less on USCA312, more on documents, twice the fit); shrinkage of lengths in
//! place of multipliers (10 % more error); one multiplier for all points (20 to 40 % more on
//! `USAir97`); a learned tree as another family (no gain on maps, where its weight is too large
//! because its edges have seen the same labels; 7 % on Twitter).

use super::edges::{EdgeGroups, choose_together, fit_together_at};
use super::stages::{improves, margin, mean, none_if_canceled};
use super::weights::family_weights;
use super::{Fit, Stage};
use crate::build::slices::{landmark_slices, levels};
use crate::build::{Linkage, PerturbedOptions, perturbed};
use crate::error::Result;
use crate::labeled::Labeled;
use crate::labeled::score::relative_errors;
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::model::forest::Forest;
use crate::numeric::seed::generator;
use crate::progress::{Progress, silent};
use crate::tree::Tree;

/// Numbers of clusters of the levels.
const CUTS: [usize; 9] = [3, 6, 12, 25, 50, 100, 200, 400, 800];

/// Number of hierarchies: the linkage of the metric and one of perturbed distances.
const HIERARCHIES: usize = 2;

/// Largest number of parts of a path that have a multiplier each; 64 had the same errors.
const PARTS: usize = 32;

/// Number of pairs of points to fit to without labels.
pub(super) const POINT_PAIRS: usize = 2_000;

/// Share of the labels that is held out.
const HELD_OUT: f64 = 0.2;

/// Fits the slices, levels and total variation of a metric to labels; without labels above 0, returns
/// the mean of slices and hierarchies.
///
/// # Complexity
/// Two linkages; then O(entries) per iteration, for the nodes above the points of each pair.
pub(super) fn slices(
    metric: &GroundMetric,
    data: Option<&Labeled>,
    slices: usize,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Forest> {
    let families = Families::new(metric, slices, seed, progress)?;
    let Some(data) = data.filter(|data| !data.is_all_zero()) else {
        return Forest::uniform(families.trees);
    };
    let parts = data.split_by(HELD_OUT, &mut generator(seed));
    let choice = families.choose(&parts, data.len(), seed, progress)?;
    families.fitted(data, choice.shrinkage, seed, progress)
}

/// Largest ratio of the error of slices to the error of the tree at which slices replace the tree:
/// with slices a pair of measures takes several times as long.
const WORTH: f64 = 0.9;

/// Fits slices to the first part of the labels; if their error on the second is clearly smaller
/// than that of the tree, returns slices fitted to all labels, otherwise the tree.
pub(super) fn slices_or_tree(
    tree: Fit,
    metric: &GroundMetric,
    (data, parts): (&Labeled, &(Labeled, Labeled)),
    (count, seed): (usize, u64),
    progress: &Progress<'_>,
) -> Result<Fit> {
    let error = tree.stage_errors.iter().find(|(stage, _)| Some(*stage) == tree.stage);
    let Some((_, error)) = error.copied() else { return Ok(tree) };
    if parts.0.is_all_zero() || parts.1.is_all_zero() {
        return Ok(tree);
    }
    let compare = || {
        let families = Families::new(metric, count, seed, progress)?;
        let choice = families.choose(parts, data.len(), seed, progress)?;
        let forest = if choice.error < WORTH * error {
            Some(families.fitted(data, choice.shrinkage, seed, progress)?)
        } else {
            None
        };
        Ok((choice.error, forest))
    };
    let Some((found, forest)) = none_if_canceled(compare())? else {
        return Ok(Fit { finished: false, ..tree });
    };
    let mut fit = tree;
    fit.stage_errors.push((Stage::Slices, found));
    if let Some(forest) = forest {
        (fit.model, fit.stage) = (Model::Forest(forest), Some(Stage::Slices));
    }
    Ok(fit)
}

/// Choices that held-out labels make for families.
struct FamilyChoice {
    /// Mean relative error on the held-out labels; NaN if there are none.
    error: f64,
    /// Shrinkage of the multipliers; `None` if the weights alone are as good.
    shrinkage: Option<f64>,
}

/// Edges of some trees, with lengths, that have one weight.
type Family = Vec<(usize, Vec<f64>)>;

/// Trees, and the families of their edges.
struct Families {
    trees: Vec<Tree>,
    all: Vec<Family>,
    /// Number of slices, which are the first trees.
    slices: usize,
}

impl Families {
    /// Creates a family for each slice, each hierarchy, each level (the mean over hierarchies), and
    /// total variation.
    fn new(
        metric: &GroundMetric,
        slices: usize,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let n = metric.points();
        let mut trees = landmark_slices(metric, slices, (seed % n as u64) as usize, progress)?;
        let slices = trees.len();
        let linkage = Linkage::usual_of_forest(n);
        let options =
            PerturbedOptions { n_trees: HIERARCHIES, linkage, seed, ..Default::default() };
        let hierarchies = perturbed(metric, &options, progress)?.trees().to_vec();
        let of = |(k, hierarchy): (usize, &Tree)| -> Vec<_> {
            let level = |nodes: &Vec<usize>| {
                let mut lengths = vec![0.0; hierarchy.nodes()];
                for &v in nodes {
                    lengths[v] = 1.0;
                }
                (slices + k, lengths)
            };
            levels(hierarchy, &CUTS).iter().map(level).collect()
        };
        let of_hierarchies: Vec<Vec<_>> = hierarchies.iter().enumerate().map(of).collect();
        trees.extend(hierarchies);
        let alone = |(k, tree): (usize, &Tree)| vec![(k, tree.lengths().to_vec())];
        let mut families: Vec<Family> = trees.iter().enumerate().map(alone).collect();
        for level in 0..CUTS.len() {
            families.push(of_hierarchies.iter().map(|levels| levels[level].clone()).collect());
        }
        // The leaves of one hierarchy are enough.
        let variation = (0..trees[slices].nodes()).map(|v| f64::from(u8::from(v < n)));
        families.push(vec![(slices, variation.collect())]);
        Ok(Self { trees, all: families, slices })
    }

    /// Fits weights and multipliers to the first part of the labels, and chooses the shrinkage of the
    /// multipliers by the second.
    fn choose(
        &self,
        parts: &(Labeled, Labeled),
        labels: usize,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<FamilyChoice> {
        let (train, held_out) = parts;
        if train.is_all_zero() || held_out.is_all_zero() {
            return Ok(FamilyChoice { error: f64::NAN, shrinkage: None });
        }
        let errors = |forest: &Forest| -> Result<Vec<f64>> {
            let predicted = forest.pairs(held_out.measures(), held_out.pairs(), &silent)?;
            Ok(relative_errors(&predicted, held_out.distances()))
        };
        let (before, groups) = self.weighted(train, seed, progress)?;
        let (after, shrinkage) = choose_together(&before, Some(&groups), parts, progress)?;
        let (before, after) = (errors(&before)?, errors(&after)?);
        Ok(if improves(&before, &after, margin(labels)) {
            FamilyChoice { error: mean(&after), shrinkage: Some(shrinkage) }
        } else {
            FamilyChoice { error: mean(&before), shrinkage: None }
        })
    }

    /// Fits weights and, with a shrinkage, multipliers.
    fn fitted(
        &self,
        data: &Labeled,
        shrinkage: Option<f64>,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<Forest> {
        let (forest, groups) = self.weighted(data, seed, progress)?;
        match shrinkage {
            Some(shrinkage) => fit_together_at(&forest, Some(&groups), shrinkage, data, progress),
            None => Ok(forest),
        }
    }

    /// Fits the weights of the families; returns the forest and the groups of its edges.
    fn weighted(
        &self,
        data: &Labeled,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<(Forest, EdgeGroups)> {
        let columns: Result<_> =
            self.all.iter().map(|family| self.distances(family, data, progress)).collect();
        let (weights, _) = family_weights(columns?, data, seed)?;
        let mut lengths: Vec<Vec<f64>> =
            self.trees.iter().map(|tree| vec![0.0; tree.nodes()]).collect();
        for (family, weight) in self.all.iter().zip(&weights) {
            for (tree, own) in family {
                let sums = lengths[*tree].iter_mut().zip(own);
                sums.for_each(|(sum, length)| *sum += weight * length);
            }
        }
        // Trees without weight are left out.
        let is_used = |k: &usize| lengths[*k].iter().any(|length| *length > 0.0);
        let used: Vec<usize> = (0..self.trees.len()).filter(is_used).collect();
        let mut groups = EdgeGroups::default();
        let mut trees = Vec::new();
        for &k in &used {
            let of_mean = lengths[k].iter().map(|length| length * used.len() as f64);
            let tree = self.trees[k].with_lengths(of_mean.collect())?;
            let parts = if k < self.slices { PARTS } else { usize::MAX };
            groups.add(&tree, parts);
            trees.push(tree);
        }
        Ok((Forest::uniform(trees)?, groups))
    }

    /// Computes the distances of a family for the labeled pairs.
    fn distances(
        &self,
        family: &Family,
        data: &Labeled,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; data.len()];
        for (tree, lengths) in family {
            let tree = self.trees[*tree].with_lengths(lengths.clone())?;
            let found = tree.pairs(data.measures(), data.pairs(), progress)?;
            sums.iter_mut().zip(found).for_each(|(sum, d)| *sum += d);
        }
        Ok(sums)
    }
}
