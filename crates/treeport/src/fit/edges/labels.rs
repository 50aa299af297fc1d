//! Edge lengths from labels that stay near what they were.
//!
//! A few hundred labels cannot say what thousands of edges should be, but they can say by how much
//! to believe them: the edges are shrunk towards those the tree had, and labels that were held back
//! choose how hard. From hard to soft each solution starts the next, and the way ends once it leads
//! nowhere: soft ones take hundreds of iterations and seldom win.

use super::design::Design;
use super::points::{EdgeOptions, FittedEdges};
use super::solver::{Problem, Solved, solve};
use crate::error::{Error, Result};
use crate::labelled::Labelled;
use crate::learn::Loss;
use crate::progress::{EDGES, Progress, silent};
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
/// where x₀ are the edges of `tree` (those of [`fit_points`](super::fit_points), say) times the
/// median of W₁/W_T, and S is the sum of all squared coefficients of the first sum, so that μ has
/// no unit: at 1 it outweighs all labels together. Labels near 0 count as in [`Loss::Relative`].
/// Where μ is not given, several are tried, and those labels choose that were held back.
///
/// # Errors
/// Labels that are all 0, measures on other points, bad options, or [`Error::Cancelled`].
///
/// # Complexity
/// O(entries) an iteration, for the nodes above the points of each pair, and as much memory; for
/// measures on single points O(pairs + nodes).
pub fn fit_labels(
    tree: &Tree,
    data: &Labelled,
    options: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<FittedEdges> {
    fit_labels_as(EDGES, tree, data, options, progress)
}

/// [`fit_labels`] under the name of another task.
pub(in crate::fit) fn fit_labels_as(
    task: &'static str,
    tree: &Tree,
    data: &Labelled,
    options: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<FittedEdges> {
    options.check()?;
    if data.is_all_zero() {
        let what = "there is no label above 0".to_owned();
        return Err(Error::NothingToLearn { what });
    }
    let shrinkage = if let Some(shrinkage) = options.shrinkage {
        shrinkage
    } else {
        let parts = data.split(HELD_BACK, options.seed);
        choose_shrinkage(tree, &parts, options, (task, progress))?.1
    };
    let problem = Shrunk::new(tree, data)?;
    problem.fitted(&problem.solve(shrinkage, &problem.towards, options, (task, progress))?)
}

/// The shrinkage whose edges do best on labels they have not seen, and those edges.
pub(in crate::fit) fn choose_shrinkage(
    tree: &Tree,
    (train, held_back): &(Labelled, Labelled),
    options: &EdgeOptions,
    progress: (&'static str, &Progress<'_>),
) -> Result<(Tree, f64)> {
    let problem = Shrunk::new(tree, train)?;
    let judge = if held_back.is_empty() { train } else { held_back };
    // An edge that is not fitted to the last digit serves to choose.
    let tolerance = options.tolerance.max(1e-5);
    let max_iterations = options.max_iterations.min(MOST_ITERATIONS);
    let rough = EdgeOptions { tolerance, max_iterations, ..options.clone() };
    let mut best: Option<(f64, Tree, f64)> = None;
    let (mut edges, mut worse) = (problem.towards.clone(), 0);
    for shrinkage in TRIED {
        let solved = problem.solve(shrinkage, &edges, &rough, progress)?;
        let tree = problem.fitted(&solved)?.tree;
        edges = solved.x;
        let predicted = tree.pairs(judge.measures(), judge.pairs(), &silent)?;
        let loss = relative_loss(&predicted, judge.distances());
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
    let importance = Loss::Relative.importance(labels);
    let errors =
        predicted.iter().zip(labels).zip(importance).map(|((p, d), w)| w * (p - d).powi(2));
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
    fn new(tree: &'a Tree, data: &Labelled) -> Result<Self> {
        let measures = data.measures();
        let factor = data.factor(&tree.pairs(measures, data.pairs(), &silent)?);
        let largest = data.distances().iter().copied().fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let mass = measures.iter().map(|m| m.total()).fold(0.0, f64::max);
        // Lengths in units of label/mass, so that products with masses near 1 are near labels near
        // 1.
        let unit = largest / mass;
        let importance = Loss::Relative.importance(data.distances());
        let factors: Vec<f64> = importance.iter().map(|w| w.sqrt() / mass).collect();
        let design = Design::surpluses(tree, measures, data.pairs(), &factors)?;
        let target = data.distances().iter().zip(&importance).map(|(d, w)| d / largest * w.sqrt());
        let towards = tree.lengths().iter().map(|l| l * factor / unit).collect();
        let squares = design.squares().iter().sum();
        Ok(Self { tree, target: target.collect(), towards, squares, unit, design })
    }

    fn solve(
        &self,
        shrinkage: f64,
        from: &[f64],
        options: &EdgeOptions,
        progress: (&'static str, &Progress<'_>),
    ) -> Result<Solved> {
        let problem = Problem {
            design: &self.design,
            target: &self.target,
            lambda: 0.0,
            shrinkage: shrinkage * self.squares,
            towards: &self.towards,
        };
        solve(&problem, from, options, progress)
    }

    fn fitted(&self, solved: &Solved) -> Result<FittedEdges> {
        let lengths = solved.x.iter().map(|x| x * self.unit).collect();
        let tree = self.tree.with_lengths(lengths)?;
        Ok(FittedEdges { tree, kkt: solved.kkt, iterations: solved.iterations })
    }
}
