//! Edge lengths fitted to the distances of points.
//!
//! Tree distances are linear in the edges, so the best edges for given distances solve a
//! non-negative least squares problem (Yamada, Takezawa, Sato, Bao, Kozareva, Ravi 2022,
//! *Approximating 1-Wasserstein Distance with Trees*):
//!
//! ```text
//! min over x ≥ 0 of  ½ Σ_(i,j) (d_T(i, j) − d(i, j))² + λ Σ_v x(v)
//! ```
//!
//! over sampled pairs of points, with distances divided by their maximum. On a quadtree this is
//! qTWD, on a cluster tree cTWD. As in the paper, λ applies to the sum over all pairs: with 100,000
//! pairs and λ = 10⁻³ it only decides between edges that fit equally well.
//!
//! Distances of points are only a substitute for transport distances.
//! [`fit_labels`](super::fit_labels) uses transport distances between measures instead, and moves
//! the edges away from the solution for points only as far as the labels justify.

use super::design::Design;
use super::solver::{BoundedLeastSquares, solve};
use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::metric::GroundMetric;
use crate::progress::Progress;
use crate::progress::tasks::POINTS;
use crate::tools::option_range::OptionRange;
use crate::tree::Tree;

/// Options of [`fit_points`] and [`fit_labels`](super::fit_labels).
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeOptions {
    /// Price λ of length for distances divided by their maximum; 0 for plain least squares
    /// (default: 10⁻³).
    pub lambda: f64,
    /// Number of pairs of points to draw (default: 100,000; all pairs if there are fewer).
    pub pairs: usize,
    /// Strength of the shrinkage of [`fit_labels`](super::fit_labels) towards the initial edges;
    /// `None` (the default) chooses it by held-out labels.
    pub shrinkage: Option<f64>,
    /// Tolerance: stop when no edge alone would move by more than this share of the largest
    /// distance (default: 10⁻⁷).
    pub tolerance: f64,
    /// Largest number of iterations (default: 10,000).
    pub max_iterations: usize,
    /// Seed of the random pairs (default: 0).
    pub seed: u64,
}

impl Default for EdgeOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl EdgeOptions {
    pub(crate) const DEFAULT: Self = Self {
        lambda: 1e-3,
        pairs: 100_000,
        shrinkage: None,
        tolerance: 1e-7,
        max_iterations: 10_000,
        seed: 0,
    };

    pub(super) fn check(&self) -> Result<()> {
        OptionRange::NOT_NEGATIVE.check("lambda", self.lambda)?;
        OptionRange::NOT_NEGATIVE.check("shrinkage", self.shrinkage.unwrap_or_default())?;
        OptionRange::NOT_NEGATIVE.check("tolerance", self.tolerance)?;
        OptionRange::at_least(1.0, "there must be at least one pair of points")
            .check("pairs", self.pairs as f64)
    }
}

/// A tree with fitted edges, and the quality of the fit.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedEdges {
    /// Tree with the fitted edges.
    pub tree: Tree,
    /// Residual of the Karush–Kuhn–Tucker conditions: the largest move of an edge if it were
    /// optimized alone, as a share of the largest distance; 0 at the optimum.
    pub kkt: f64,
    /// Number of iterations.
    pub iterations: usize,
}

/// Fits the edges of a tree to the distances between points.
///
/// An edge that no sampled pair uses has length 0. `progress` counts iterations.
///
/// # Errors
/// A tree over another number of points; invalid options; [`Error::Canceled`].
///
/// # Complexity
/// O(pairs + nodes) per iteration; some hundred iterations for N in the thousands.
///
/// # Example
/// ```
/// use treeport::fit::{EdgeOptions, fit_points};
/// use treeport::{GroundMetric, Tree, silent};
/// let metric = GroundMetric::from_condensed(3, vec![2.0, 5.0, 5.0])?;
/// let shape = Tree::from_newick("((0:9,1:1):7,2:7);")?;
/// let options = EdgeOptions { lambda: 0.0, ..EdgeOptions::default() };
/// let fitted = fit_points(&shape, &metric, &options, &silent)?;
/// assert!(fitted.kkt <= 1e-6);
/// assert!((fitted.tree.leaf_distance(0, 2) - 5.0).abs() < 1e-5);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn fit_points(
    tree: &Tree,
    metric: &GroundMetric,
    options: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<FittedEdges> {
    options.check()?;
    if tree.leaves() != metric.points() {
        return Err(Error::PointCount { measures: metric.points(), points: tree.leaves() });
    }
    let nowhere = || Ok(FittedEdges { tree: tree.scaled(0.0)?, kkt: 0.0, iterations: 0 });
    if metric.points() < 2 {
        return nowhere();
    }
    let data = Labeled::of_points(metric, options.pairs, options.seed)?;
    let unit = data.distances().iter().copied().fold(0.0, f64::max);
    if unit == 0.0 {
        return nowhere();
    }
    let target: Vec<f64> = data.distances().iter().map(|d| d / unit).collect();
    let design = Design::paths(tree, data.pairs());
    let towards = vec![0.0; tree.nodes()];
    let lambda = options.lambda;
    let problem = BoundedLeastSquares {
        design: &design,
        target: &target,
        lambda,
        shrinkage: 0.0,
        towards: &towards,
    };
    let start = scaled_start(tree, &design, &target);
    let solved = solve(&problem, &start, options, (POINTS, progress))?;
    let tree = tree.with_lengths(solved.x.iter().map(|x| x * unit).collect())?;
    Ok(FittedEdges { tree, kkt: solved.kkt, iterations: solved.iterations })
}

/// Returns the tree's own lengths times the one factor that fits best.
fn scaled_start(tree: &Tree, design: &Design, target: &[f64]) -> Vec<f64> {
    let longest = tree.lengths().iter().copied().fold(0.0, f64::max);
    let unit = if longest > 0.0 { longest } else { 1.0 };
    let lengths: Vec<f64> = tree.lengths().iter().map(|l| l / unit).collect();
    let predicted = design.apply(&lengths);
    let squares: f64 = predicted.iter().map(|p| p * p).sum();
    let product: f64 = predicted.iter().zip(target).map(|(p, d)| p * d).sum();
    let factor = if squares > 0.0 { product / squares } else { 0.0 };
    lengths.iter().map(|l| factor * l).collect()
}
