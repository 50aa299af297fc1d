//! Edge lengths from labels that stay near what they were.
//!
//! A few hundred labels cannot say what thousands of edges should be, but they can say by how much to
//! believe them: the edges are shrunk towards those the tree had, and labels that were held back choose how
//! hard. From hard to soft each solution starts the next, and the way ends once it leads nowhere: soft ones
//! take hundreds of iterations and seldom win.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::design::Design;
use super::model::median_ratio;
use super::solver::{Problem, Solved, solve};
use super::weights::{Fitted, WeightOptions, with_lengths};
use crate::error::{Error, Result};
use crate::learn::{Labels, Loss, split};
use crate::measure::Measures;
use crate::progress::{Progress, silent};
use crate::tree::Tree;

/// Shrinkages that are tried: from next to no change to next to none.
const TRIED: [f64; 7] = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Share of the labels that choose the shrinkage.
const HELD_BACK: f64 = 0.25;

/// The edges of `tree` that fit transport distances between measures, and stay near what they were:
///
/// ```text
/// min over x ≥ 0 of  Σ ((W_T − W₁)/W₁)² + μ·S Σ_v (x(v) − x₀(v))²
/// ```
///
/// where x₀ are the edges of `tree` (those of [`fit_points`](super::fit_points), say) times the median of
/// W₁/W_T, and S is the sum of all squared coefficients of the first sum, so that μ has no unit: at 1 it
/// outweighs all labels together. Labels near 0 count as in [`Loss::Relative`]. Where μ is not given,
/// several are tried, and those labels choose that were held back.
///
/// # Errors
/// No labels, labels that do not fit the measures, bad options, or [`Error::Cancelled`].
///
/// # Complexity
/// O(entries) an iteration, for the nodes above the points of each pair, and as much memory; for measures on
/// single points O(pairs + nodes).
pub fn fit_labels(
    tree: &Tree,
    measures: &Measures,
    labels: &Labels,
    options: &WeightOptions,
    progress: &Progress<'_>,
) -> Result<Fitted<Tree>> {
    options.check()?;
    labels.check(measures)?;
    if labels.distances.iter().all(|d| *d == 0.0) {
        let what = "there is no label above 0".to_owned();
        return Err(Error::NothingToLearn { what });
    }
    let shrinkage = if let Some(shrinkage) = options.shrinkage {
        shrinkage
    } else {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(options.seed);
        let (train, held_back) = split(labels, HELD_BACK, &mut rng)?;
        choose(tree, measures, (&train, &held_back), options, progress)?.1
    };
    let task = Shrunk::new(tree, measures, labels)?;
    task.fitted(&task.solve(shrinkage, &task.towards, options, progress)?)
}

/// The shrinkage whose edges do best on labels they have not seen, and those edges.
pub(super) fn choose(
    tree: &Tree,
    measures: &Measures,
    (train, held_back): (&Labels, &Labels),
    options: &WeightOptions,
    progress: &Progress<'_>,
) -> Result<(Tree, f64)> {
    let task = Shrunk::new(tree, measures, train)?;
    let judge = if held_back.pairs.is_empty() { train } else { held_back };
    // An edge that is not fitted to the last digit serves to choose.
    let tolerance = options.tolerance.max(1e-5);
    let max_iterations = options.max_iterations.min(MOST_ITERATIONS);
    let rough = WeightOptions { tolerance, max_iterations, ..options.clone() };
    let mut best: Option<(f64, Tree, f64)> = None;
    let (mut edges, mut worse) = (task.towards.clone(), 0);
    for shrinkage in TRIED {
        let solved = task.solve(shrinkage, &edges, &rough, progress)?;
        let tree = task.fitted(&solved)?.model;
        edges = solved.x;
        let predicted = tree.pairs(measures, &judge.pairs, &silent)?;
        let loss = relative_loss(&predicted, &judge.distances);
        if best.as_ref().is_none_or(|best| loss < best.0) {
            (best, worse) = (Some((loss, tree, shrinkage)), 0);
        } else {
            worse += 1;
            if worse == PATIENCE {
                break;
            }
        }
    }
    let (_, tree, shrinkage) = best.expect("shrinkages were tried");
    Ok((tree, shrinkage))
}

/// Iterations for one of the shrinkages that are tried.
const MOST_ITERATIONS: usize = 100;

/// Shrinkages in a row that may do worse.
const PATIENCE: usize = 1;

fn relative_loss(predicted: &[f64], labels: &[f64]) -> f64 {
    let weights = Loss::Relative.weights(labels);
    let errors = predicted.iter().zip(labels).zip(weights).map(|((p, d), w)| w * (p - d).powi(2));
    errors.sum()
}

/// The problem of [`fit_labels`] for any shrinkage; not all labels are 0.
struct Shrunk<'a> {
    tree: &'a Tree,
    design: Design,
    target: Vec<f64>,
    /// The edges of the tree, rescaled to the labels.
    towards: Vec<f64>,
    /// Sum of all squared coefficients.
    squares: f64,
    /// What an edge of 1 means.
    unit: f64,
}

impl<'a> Shrunk<'a> {
    fn new(tree: &'a Tree, measures: &Measures, labels: &Labels) -> Result<Self> {
        let predicted = tree.pairs(measures, &labels.pairs, &silent)?;
        let factor = median_ratio(&labels.distances, &predicted);
        let largest = labels.distances.iter().copied().fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let mass = measures.iter().map(|m| m.total()).fold(0.0, f64::max);
        // Lengths in units of label/mass, so that products with masses near 1 are near labels near 1.
        let unit = largest / mass;
        let weights = Loss::Relative.weights(&labels.distances);
        let factors: Vec<f64> = weights.iter().map(|w| w.sqrt() / mass).collect();
        let design = Design::surpluses(tree, measures, &labels.pairs, &factors)?;
        let target = labels.distances.iter().zip(&weights).map(|(d, w)| d / largest * w.sqrt());
        let towards = tree.lengths().iter().map(|l| l * factor / unit).collect();
        let squares = design.squares().iter().sum();
        Ok(Self { tree, target: target.collect(), towards, squares, unit, design })
    }

    fn solve(
        &self,
        shrinkage: f64,
        from: &[f64],
        options: &WeightOptions,
        progress: &Progress<'_>,
    ) -> Result<Solved> {
        let problem = Problem {
            design: &self.design,
            target: &self.target,
            lambda: 0.0,
            shrinkage: shrinkage * self.squares,
            towards: &self.towards,
        };
        solve(&problem, from, options.tolerance, options.max_iterations, progress)
    }

    fn fitted(&self, solved: &Solved) -> Result<Fitted<Tree>> {
        let lengths = solved.x.iter().map(|x| x * self.unit).collect();
        let model = with_lengths(self.tree, lengths)?;
        Ok(Fitted { model, kkt: solved.kkt, iterations: solved.iterations })
    }
}
