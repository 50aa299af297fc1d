//! Flow: what the plan of a tree costs in the ground metric.
//!
//! A tree's greedy plan is a plan, so its true cost ⟨Π_T, D⟩ is never below W₁, and it is W₁ where the
//! metric is the tree's own. It asks the tree only who goes with whom, not how far: a quadtree used like this
//! is Flowtree (Backurs, Dong, Indyk, Razenshteyn, Wagner 2020, *Scalable Nearest Neighbor Search for Optimal
//! Transport*).

use rayon::prelude::*;

use crate::error::Result;
use crate::measure::{Measure, Measures};
use crate::metric::GroundMetric;
use crate::progress::{Counter, Progress};
use crate::tree::Tree;

/// ⟨Π_T, D⟩: the cost in `metric` of the plan that `tree` makes.
///
/// # Errors
/// The measures live on other points than the tree's or the metric's, or their masses differ.
///
/// # Complexity
/// O(s log s) for the plan, and at most s distances, for s points with mass. For a graph give
/// [`GroundMetric::materialized`] distances.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Measures, Norm, Tree, flow};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], Norm::Euclidean)?;
/// let tree = Tree::from_newick("((0:1,1:1):9,2:10);")?;
/// let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
/// assert_eq!(flow::distance(&tree, &metric, &measures.row(0), &measures.row(1))?, 3.0);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn distance(
    tree: &Tree,
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
) -> Result<f64> {
    a.check_points(metric.points())?;
    Ok(tree.coupling(a, b)?.cost(|i, j| metric.distance(i, j)))
}

/// [`distance`] of many pairs, in parallel over pairs; the same for any number of threads.
///
/// # Errors
/// As [`distance`], naming the measures; [`Error::Cancelled`](crate::Error::Cancelled) when `progress`
/// asks to stop.
pub fn pairs(
    tree: &Tree,
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    measures.check_points(metric.points())?;
    measures.check_points(tree.leaves())?;
    measures.check_pairs(pairs)?;
    let counter = Counter::new(progress);
    pairs
        .par_iter()
        .map(|&(i, j)| {
            let cost = distance(tree, metric, &measures.row(i), &measures.row(j))?;
            counter.add(1)?;
            Ok(cost)
        })
        .collect()
}
