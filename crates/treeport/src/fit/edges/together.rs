//! Edge lengths of all trees of a forest, fitted to labels together.
//!
//! The mean of trees is linear in all their edges, so [`fit_labels`](super::fit_labels) generalizes
//! to the same least squares problem with more edges. On maps it had smaller errors than weights of
//! the same trees; against edges fitted tree by tree it was only compared in a test with 40 points,
//! where both were equal.

use super::accelerated::descend;
use super::design::EdgeGroups;
use super::labels::LabelFit;
use super::points::EdgeOptions;
use crate::error::Result;
use crate::labeled::Labeled;
use crate::memory;
use crate::model::forest::Forest;
use crate::progress::Progress;
use crate::progress::tasks::EDGES;
use crate::tree::Tree;

/// Candidate shrinkages of lengths, from strong to weak.
const OF_LENGTHS: [f64; 4] = [1e-3, 1e-4, 1e-5, 1e-6];

/// Candidate shrinkages of multipliers.
const OF_MULTIPLIERS: [f64; 5] = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Returns the candidate shrinkages.
fn tried(groups: Option<&EdgeGroups>) -> &'static [f64] {
    if groups.is_some() { &OF_MULTIPLIERS } else { &OF_LENGTHS }
}

/// Steps per shrinkage.
const STEPS: usize = 40;

/// Largest size of the problem in bytes; if labels need more, an evenly spaced subset is used.
const MOST_BYTES: usize = 1 << 29;

/// Share of the labels that is held out to choose the shrinkage.
const HELD_OUT: f64 = 0.2;

/// Fits the edges of all trees of a forest to labels together; trees get equal weights:
///
/// ```text
/// min over x ≥ 0 of  Σ ((Σ_k W_k/K − W₁)/W₁)² + μ·S Σ_k Σ_v (x_k(v) − x₀_k(v))²
/// ```
///
/// in the notation of [`fit_labels`](super::fit_labels). `options` has the seed and the shrinkage,
/// which held-out labels choose if it is not set; each shrinkage from the strongest down to that
/// one takes 40 steps. The weights of the forest become factors of its initial edges.
///
/// # Errors
/// Labels that are all 0; measures on other points; invalid options; too little memory;
/// [`Error::Canceled`](crate::Error::Canceled).
///
/// # Complexity
/// O(trees · entries) per iteration, for the nodes above the points of each pair, and as much
/// memory, up to half a gigabyte: of more labels, a subset is used.
///
/// # Example
/// ```
/// use treeport::fit::{EdgeOptions, fit_together};
/// use treeport::{Forest, GroundMetric, Labeled, PointMetric, Tree, silent};
/// // Neither tree alone can represent all three distances; their mean can.
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 2.0], PointMetric::Euclidean)?;
/// let left = Tree::from_newick("((a:1,b:1):1,c:2);")?;
/// let right = Tree::from_newick("(a:2,(b:1,c:1):1);")?;
/// let data = Labeled::of_points(&metric, 3, 0)?;
/// let options = EdgeOptions { shrinkage: Some(1e-6), ..EdgeOptions::default() };
/// let forest = Forest::uniform(vec![left, right])?;
/// let fitted = fit_together(&forest, &data, &options, &silent)?;
/// let found = fitted.pairs(data.measures(), data.pairs(), &silent)?;
/// assert!(data.score(&found).mean < 1e-3);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn fit_together(
    forest: &Forest,
    data: &Labeled,
    options: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    options.check()?;
    data.check_for(forest.leaves())?;
    data.check_above_zero()?;
    let forest = with_equal_weights(forest)?;
    let shrinkage = if let Some(shrinkage) = options.shrinkage {
        shrinkage
    } else {
        let parts = data.split(HELD_OUT, options.seed);
        choose_together(&forest, None, &parts, progress)?.1
    };
    fit_together_at(&forest, None, shrinkage, data, progress)
}

/// Chooses the shrinkage whose edges have the smallest error on held-out labels; returns the
/// equally weighted forest with these edges, and the shrinkage. With groups, a group of edges has
/// one multiplier, which is shrunk towards 1 (times the factor of the labels).
pub(in crate::fit) fn choose_together(
    forest: &Forest,
    groups: Option<&EdgeGroups>,
    (train, held_out): &(Labeled, Labeled),
    progress: &Progress<'_>,
) -> Result<(Forest, f64)> {
    let parts = (affordable(forest, groups, train)?, held_out.clone());
    let problem = LabelFit::new(forest.trees(), groups, &parts.0)?;
    let solve = |shrinkage: f64, edges: &[f64]| {
        descend(&problem.problem(shrinkage), edges, STEPS, (EDGES, progress))
    };
    let (trees, shrinkage) = problem.choose(tried(groups), &parts, solve)?;
    Ok((Forest::uniform(trees)?, shrinkage))
}

/// Fits the edges with the given shrinkage; trees get equal weights.
pub(in crate::fit) fn fit_together_at(
    forest: &Forest,
    groups: Option<&EdgeGroups>,
    shrinkage: f64,
    data: &Labeled,
    progress: &Progress<'_>,
) -> Result<Forest> {
    let data = affordable(forest, groups, data)?;
    let stronger = tried(groups).iter().copied().filter(|&tried| tried > shrinkage);
    let problem = LabelFit::new(forest.trees(), groups, &data)?;
    let mut edges = problem.towards().to_vec();
    for shrinkage in stronger.chain([shrinkage]) {
        edges = descend(&problem.problem(shrinkage), &edges, STEPS, (EDGES, progress))?;
    }
    Forest::uniform(problem.with_edges(&edges)?)
}

/// Returns a forest with the same mean whose trees have equal weights.
fn with_equal_weights(forest: &Forest) -> Result<Forest> {
    let count = forest.trees().len() as f64;
    let scaled = |(tree, weight): (&Tree, &f64)| tree.scaled(weight * count);
    let trees = forest.trees().iter().zip(forest.weights()).map(scaled);
    Forest::uniform(trees.collect::<Result<_>>()?)
}

/// Returns as many of the labels as [`MOST_BYTES`] permits, estimated from a few of them.
fn affordable(forest: &Forest, groups: Option<&EdgeGroups>, data: &Labeled) -> Result<Labeled> {
    let few = data.some(16);
    let each = LabelFit::new(forest.trees(), groups, &few)?.bytes().div_ceil(few.len()).max(1);
    let some = data.some((MOST_BYTES / each).max(1));
    let step = format_args!("edges of {} trees fitted together", forest.trees().len());
    memory::check(step, (some.len() * each) as u64, "give it fewer trees or fewer pairs")?;
    Ok(some)
}
