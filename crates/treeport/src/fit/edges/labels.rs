//! Edge lengths fitted to labels with shrinkage towards their previous values.
//!
//! A few hundred labels cannot determine thousands of edges, but they can determine how much to
//! change them: edges are shrunk towards their previous lengths, and held-out labels choose the
//! strength. Each solution is the start of the next, from strong to weak shrinkage, until the error
//! increases: weak shrinkages take hundreds of iterations and seldom win.

use std::slice::from_ref;

use super::design::{Design, EdgeGroups};
use super::points::{EdgeOptions, FittedEdges};
use super::solver::{BoundedLeastSquares, Solved, solve};
use crate::error::Result;
use crate::labeled::Labeled;
use crate::learn::Loss;
use crate::progress::tasks::EDGES;
use crate::progress::{Progress, silent};
use crate::tree::Tree;

/// Candidate shrinkages, from almost no change to almost no shrinkage.
const TRIED: [f64; 7] = [1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Share of the labels that is held out to choose the shrinkage.
const HELD_OUT: f64 = 0.25;

/// Fits the edges of a tree to transport distances between measures, with shrinkage towards their
/// lengths:
///
/// ```text
/// min over x ≥ 0 of  Σ ((W_T − W₁)/W₁)² + μ·S Σ_v (x(v) − x₀(v))²
/// ```
///
/// where x₀ are the edges of `tree` (those of [`fit_points`](super::fit_points), for example) times
/// the median of W₁/W_T, and S is the sum of all squared coefficients of the first sum, so that μ
/// has no unit: at 1 it outweighs all labels together. Labels near 0 count as in
/// [`Loss::Relative`]. If μ is not set, held-out labels choose it among several.
///
/// # Errors
/// Labels that are all 0; measures on other points; invalid options;
/// [`Error::Canceled`](crate::Error::Canceled).
///
/// # Complexity
/// O(entries) per iteration, for the nodes above the points of each pair, and as much memory; for
/// measures on single points O(pairs + nodes).
pub fn fit_labels(
    tree: &Tree,
    data: &Labeled,
    options: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<FittedEdges> {
    fit_labels_as(EDGES, tree, data, options, progress)
}

/// Runs [`fit_labels`] under another task name.
pub(in crate::fit) fn fit_labels_as(
    task: &'static str,
    tree: &Tree,
    data: &Labeled,
    options: &EdgeOptions,
    progress: &Progress<'_>,
) -> Result<FittedEdges> {
    options.check()?;
    data.check_above_zero()?;
    let shrinkage = if let Some(shrinkage) = options.shrinkage {
        shrinkage
    } else {
        let parts = data.split(HELD_OUT, options.seed);
        choose_shrinkage(tree, &parts, options, (task, progress))?.1
    };
    let problem = LabelFit::new(from_ref(tree), None, data)?;
    let solved = problem.solve(shrinkage, &problem.towards, options, (task, progress))?;
    let tree = problem.with_edges(&solved.x)?.remove(0);
    Ok(FittedEdges { tree, kkt: solved.kkt, iterations: solved.iterations })
}

/// Fits edges with the shrinkage that held-out labels choose; returns tree and shrinkage.
pub(in crate::fit) fn choose_shrinkage(
    tree: &Tree,
    parts: &(Labeled, Labeled),
    options: &EdgeOptions,
    progress: (&'static str, &Progress<'_>),
) -> Result<(Tree, f64)> {
    // A low accuracy suffices to choose.
    let tolerance = options.tolerance.max(1e-5);
    let max_iterations = options.max_iterations.min(MOST_ITERATIONS);
    let rough = EdgeOptions { tolerance, max_iterations, ..options.clone() };
    let problem = LabelFit::new(from_ref(tree), None, &parts.0)?;
    let solve =
        |shrinkage: f64, edges: &[f64]| Ok(problem.solve(shrinkage, edges, &rough, progress)?.x);
    let (mut trees, shrinkage) = problem.choose(&TRIED, parts, solve)?;
    Ok((trees.remove(0), shrinkage))
}

/// Computes the mean distances of several trees for the labeled pairs.
fn means(trees: &[Tree], data: &Labeled) -> Result<Vec<f64>> {
    let one = |tree: &Tree| tree.pairs(data.measures(), data.pairs(), &silent);
    let all = trees.iter().map(one).collect::<Result<Vec<_>>>()?;
    let mean = |p: usize| all.iter().map(|of| of[p]).sum::<f64>() / trees.len() as f64;
    Ok((0..data.len()).map(mean).collect())
}

/// Largest number of iterations per candidate shrinkage.
const MOST_ITERATIONS: usize = 100;

/// Number of consecutive shrinkages with a larger error that ends the search.
const PATIENCE: usize = 1;

fn relative_loss(predicted: &[f64], labels: &[f64]) -> f64 {
    let importance = Loss::Relative.importance(labels);
    let errors =
        predicted.iter().zip(labels).zip(importance).map(|((p, d), w)| w * (p - d).powi(2));
    errors.sum()
}

/// Least squares problem of [`fit_labels`] for any shrinkage and one or more trees.
pub(super) struct LabelFit<'a> {
    trees: &'a [Tree],
    /// Groups of edges with one multiplier each; without, every edge has its own length.
    groups: Option<&'a EdgeGroups>,
    design: Design,
    target: Vec<f64>,
    /// Edge lengths of all trees, or multipliers of the groups, rescaled to the labels.
    towards: Vec<f64>,
    /// Sum of all squared coefficients.
    squares: f64,
    /// Unit of the edge lengths or multipliers.
    unit: f64,
}

impl<'a> LabelFit<'a> {
    pub(super) fn new(
        trees: &'a [Tree],
        groups: Option<&'a EdgeGroups>,
        data: &Labeled,
    ) -> Result<Self> {
        let measures = data.measures();
        let factor = data.factor(&means(trees, data)?);
        let largest = data.distances().iter().copied().fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let importance = Loss::Relative.importance(data.distances());
        let count = trees.len() as f64;
        let factors =
            |unit: f64| importance.iter().map(|w| w.sqrt() / unit / count).collect::<Vec<_>>();
        let target = data.distances().iter().zip(&importance).map(|(d, w)| d / largest * w.sqrt());
        let target = target.collect();
        if let Some(groups) = groups {
            let ones = vec![1.0; trees.len()];
            // Multipliers near `factor`, whose unit is 1; coefficients are shares of a label.
            let (design, _) = Design::grouped(trees, &ones, groups, data, &factors(largest))?;
            let (towards, squares) = (vec![factor; groups.count], design.squares().iter().sum());
            let (groups, unit) = (Some(groups), 1.0);
            return Ok(Self { trees, groups, design, target, towards, squares, unit });
        }
        let mass = measures.iter().map(|m| m.total()).fold(0.0, f64::max);
        // Lengths in multiples of label/mass, so that coefficients and targets are near 1.
        let unit = largest / mass;
        let factors = factors(mass);
        let design = match trees {
            [tree] => Design::surpluses(tree, measures, data.pairs(), &factors)?,
            _ => Design::several(trees, measures, data.pairs(), &factors)?,
        };
        let lengths = trees.iter().flat_map(Tree::lengths);
        let towards = lengths.map(|l| l * factor / unit).collect();
        let squares = design.squares().iter().sum();
        Ok(Self { trees, groups, design, target, towards, squares, unit })
    }

    /// Chooses the shrinkage by held-out labels; `solve` is called with a shrinkage and a start.
    pub(super) fn choose(
        &self,
        tried: &[f64],
        (train, held_out): &(Labeled, Labeled),
        solve: impl Fn(f64, &[f64]) -> Result<Vec<f64>>,
    ) -> Result<(Vec<Tree>, f64)> {
        let judge = if held_out.is_empty() { train } else { held_out };
        let mut best: Option<(f64, Vec<Tree>, f64)> = None;
        let (mut edges, mut worse) = (self.towards.clone(), 0);
        for &shrinkage in tried {
            edges = solve(shrinkage, &edges)?;
            let trees = self.with_edges(&edges)?;
            let loss = relative_loss(&means(&trees, judge)?, judge.distances());
            if best.as_ref().is_none_or(|best| loss < best.0) {
                (best, worse) = (Some((loss, trees, shrinkage)), 0);
            } else {
                worse += 1;
                if worse == PATIENCE {
                    break;
                }
            }
        }
        let (_, trees, shrinkage) = best.expect("there is a candidate");
        Ok((trees, shrinkage))
    }

    /// Returns the bytes of the stored problem.
    pub(super) fn bytes(&self) -> usize {
        self.design.bytes()
    }

    /// Returns the edge lengths of the trees, rescaled to the labels.
    pub(super) fn towards(&self) -> &[f64] {
        &self.towards
    }

    pub(super) fn problem(&self, shrinkage: f64) -> BoundedLeastSquares<'_> {
        BoundedLeastSquares {
            design: &self.design,
            target: &self.target,
            lambda: 0.0,
            shrinkage: shrinkage * self.squares,
            towards: &self.towards,
        }
    }

    fn solve(
        &self,
        shrinkage: f64,
        from: &[f64],
        options: &EdgeOptions,
        progress: (&'static str, &Progress<'_>),
    ) -> Result<Solved> {
        solve(&self.problem(shrinkage), from, options, progress)
    }

    /// Returns the trees with other edge lengths.
    pub(super) fn with_edges(&self, edges: &[f64]) -> Result<Vec<Tree>> {
        if let Some(groups) = self.groups {
            return groups.multiplied(self.trees, edges);
        }
        let mut rest = edges;
        let next = |tree: &Tree| {
            let (own, others) = rest.split_at(tree.nodes());
            rest = others;
            tree.with_lengths(own.iter().map(|x| x * self.unit).collect())
        };
        self.trees.iter().map(next).collect()
    }
}
