//! New points on a fitted model, which stays as it is: distances between old points do not change.
//!
//! A tree that was learned has lengths that serve transport: between two samples of 100 points most mass goes up one
//! leaf edge and down another. New leaves need the same kind of lengths, and have to hang where old
//! leaves hang. Three steps:
//!
//! 1. **Links** (`links`): each new point x gets a leaf y to hang beside, old or new, by the least
//!    D(x, y) − ½ r(y), with r the mean distance to 64 old points. The nearest y alone would be a central one too often (a
//!    hub): central leaves have short edges, and two new measures would hang at the same few places and cancel.
//! 2. **Twins** (`twins`): x hangs where y hangs, by an edge as long as that of y, and longer by as much as x
//!    is farther from the others than y, r(x) − r(y) on the tree's scale. Nearer than the edge of y is long, it hangs on that edge.
//! 3. **Lengths** (`lengths`): the new edges are fitted to exact distances of measures. Where the measures are
//!    given ([`Extension::measures`]) that is all. Otherwise measures are drawn at random, on new points and
//!    on old ones, and the labels are multiplied by what the model makes of such measures on old points: its factor depends on their size.
//!
//! # How good it is
//! 20 groups of 100 normal points in R¹⁰, tree learned on 18. Mean signed error and mean error over six seeds, by how far
//! apart the means of groups are in each coordinate (`extend::tests`, the ignored one). The first row is what
//! [`Tree::place`](crate::Tree::place) made of them.
//!
//! | edges fitted to | apart | old–old | new–old | new–new | mean errors |
//! | --- | --- | --- | --- | --- | --- |
//! | distances to old leaves | 0 | 0.000 | −0.109 | −0.252 | 0.011, 0.109, 0.252 |
//! | drawn measures | 0 | 0.000 | 0.001 | 0.002 | 0.011, 0.015, 0.012 |
//! | | 0.1 | 0.001 | 0.001 | 0.008 | 0.011, 0.016, 0.010 |
//! | | 0.3 | −0.001 | 0.000 | 0.014 | 0.016, 0.023, 0.024 |
//! | the groups | 0 | 0.000 | 0.001 | −0.002 | 0.011, 0.013, 0.003 |
//! | | 0.1 | 0.001 | −0.001 | 0.001 | 0.011, 0.014, 0.005 |
//! | | 0.3 | −0.001 | −0.004 | 0.005 | 0.016, 0.021, 0.006 |
//!
//! There is one pair of new groups for each seed, so that new–new varies: by four other seeds (of NumPy), drawn measures have −0.011 and −0.024 at 0.3,
//! with mean errors of 0.023 and 0.033, and the groups 0.000 and −0.001. At 1.0, where old–old itself errs by 0.066, drawn measures have 0.019
//! and −0.016 with 0.066 and 0.086, the groups 0.011 and −0.032 with 0.066 and 0.047.
//!
//! # What was tried
//! 20 groups of 100 normal points in R¹⁰, means 0.3 apart in each coordinate, tree learned on 18; mean signed error of new–old and
//! new–new, and mean error, over four seeds. Between old groups the mean error is 0.016.
//!
//! | new leaves | new–old | new–new | mean error |
//! | --- | --- | --- | --- |
//! | each at its best place near its nearest old leaf ([`Tree::place`](crate::Tree::place)) | −0.12 | −0.27 | 0.12, 0.27 |
//! | the same among new leaves, too | −0.13 | −0.29 | 0.13, 0.29 |
//! | with distances replaced by what old pairs of such a distance have in the tree | −0.05 | −0.17 | 0.05, 0.17 |
//! | twins of the nearest leaf | −0.08 | −0.17 | 0.08, 0.17 |
//! | twins by D − ½ r, edges of their twins | −0.015 | −0.031 | 0.023, 0.039 |
//! | the same, edges longer by r(x) − r(y) | −0.005 | −0.011 | 0.019, 0.027 |
//! | and fitted to drawn measures of 64 points | −0.010 | −0.023 | 0.021, 0.030 |
//! | and fitted to the measures themselves | 0.000 | −0.006 | 0.017, 0.011 |
//!
//! In place of ½: 0 to 0.4 leave edges too short (−0.05 at 0.4), 0.6 is as good; the mean distance to the 10 nearest
//! in place of r as well, but costs all distances between old points. Drawn measures of 16 points, where those that are asked have
//! 100, leave twice the error of 64: hence [`Extension::support`]. Places fitted to distances (the second and third rows) err in
//! another way at every size of measures, which no factor can heal.

mod lengths;
mod links;
mod twins;

use links::Neighborhood;

use crate::error::{Error, Result};
use crate::forest::Forest;
use crate::measure::Measures;
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::progress::Progress;
use crate::tree::Tree;

/// What [`Model::extended_on`] fits the edges of new points to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Extension {
    /// Measures on all points, old and new; those that use new points are solved against the others and
    /// each other. Without them measures are drawn (default).
    pub measures: Option<Measures>,
    /// Points of a drawn measure: about as many as those have that will be asked (default: 32).
    pub support: usize,
    /// Seed of what is drawn (default: 0).
    pub seed: u64,
}

impl Default for Extension {
    fn default() -> Self {
        Self { measures: None, support: 32, seed: 0 }
    }
}

impl Model {
    /// The model with new points after the old ones: `metric` has the points of the model first. Distances between old
    /// points do not change; names are left out.
    ///
    /// # Errors
    /// Fewer points than the model has, distances that are not finite, measures on other points or of unequal masses;
    /// [`Error::Cancelled`].
    ///
    /// # Complexity
    /// O(M·(N + M)) distances for M new points and N old ones, some hundred exact distances of measures, and
    /// least squares over 3M edges at the most.
    ///
    /// # Example
    /// ```
    /// use treeport::{Extension, GroundMetric, Linkage, Model, PointMetric, linkage, silent};
    /// let at = |points: &[f64]| GroundMetric::from_points(1, points.to_vec(), PointMetric::Euclidean);
    /// let model = Model::Tree(linkage(&at(&[0.0, 1.0, 5.0, 6.0])?, Linkage::Average, &silent)?);
    /// let larger =
    ///     model.extended_on(&at(&[0.0, 1.0, 5.0, 6.0, 5.5, 90.0])?, &Extension::default(), &silent)?;
    /// assert_eq!(larger.leaf_distance(0, 2), model.leaf_distance(0, 2));
    /// assert!(larger.leaf_distance(2, 4) < larger.leaf_distance(0, 4));
    /// assert!(larger.leaf_distance(4, 5) > 50.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn extended_on(
        &self,
        metric: &GroundMetric,
        extension: &Extension,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let (old, points) = (self.points(), metric.points());
        if points < old {
            return Err(Error::PointCount { measures: points, points: old });
        }
        if let Some(measures) = &extension.measures {
            measures.check_points(points)?;
        }
        if points == old {
            return Ok(self.clone());
        }
        metric.prepare(progress)?;
        let among = Neighborhood::new(metric, old)?;
        let links = among.links(progress)?;
        let hung = |tree: &Tree| twins::hang(tree, &among, &links);
        let trees = self.trees().iter().map(hung).collect::<Result<Vec<_>>>()?;
        let larger = self.of_trees(trees)?;
        self.of_trees(lengths::fitted(self, &larger, metric, extension, progress)?)
    }

    /// The same kind of model, of other trees.
    fn of_trees(&self, mut trees: Vec<Tree>) -> Result<Self> {
        match self {
            Self::Tree(_) => Ok(Self::Tree(trees.remove(0))),
            Self::Forest(forest) => {
                Ok(Self::Forest(Forest::new(trees, forest.weights().to_vec())?))
            }
        }
    }
}

#[cfg(test)]
mod tests;
