//! Weights of the trees of a forest, fitted to labels.
//!
//! The forest's distance is linear in the weights, so the best weights for relative errors on
//! labels d_p solve a non-negative least squares problem with as many unknowns as trees:
//!
//! ```text
//! min over w ≥ 0 of  1/P Σ_p (Σ_k w_k·W_k(p)/d_p − 1)² + λ·τ·Σ_k (w_k − 1/K)²
//! ```
//!
//! after dividing by the one factor that fits equal weights; τ is the mean square of W_k(p)/d_p, so
//! that λ has no unit. Trees of one forest have similar distances, and plain least squares (λ = 0)
//! would overfit the noise of few labels: λ shrinks the weights towards equal ones. It is chosen by
//! five-fold cross-validation, with λ = ∞ (equal weights and the factor) among the choices.

use rand::seq::SliceRandom;

use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::learn::Loss;
use crate::model::forest::Forest;
use crate::numeric::scale;
use crate::numeric::seed::generator;
use crate::progress::{Progress, State};

/// Options of [`weighted`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeWeightOptions {
    /// Strength of the shrinkage towards equal weights: 0 for none, infinity for equal weights;
    /// `None` (the default) chooses it by cross-validation.
    pub shrinkage: Option<f64>,
    /// Seed of the cross-validation (default: 0).
    pub seed: u64,
}

/// Candidate shrinkages. Perturbed trees differ by some percent, and λ by their square.
const SHRINKAGES: [f64; 7] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, f64::INFINITY];

/// Folds of the cross-validation.
const FOLDS: usize = 5;

/// Fits the weights of a forest, and one factor for all trees, to labels.
///
/// The weights still sum to 1: the factor is applied to the trees. `progress` counts labels.
///
/// # Errors
/// No labels; measures on other points; labels that are all 0; trees that see no difference in any
/// labeled pair; an invalid shrinkage; [`Error::Canceled`] if `progress` cancels.
///
/// # Example
/// ```
/// use treeport::fit::{TreeWeightOptions, weighted};
/// use treeport::{Forest, Labeled, Measures, Tree, silent};
/// let good = Tree::from_newick("((a:1,b:1):1,c:2);")?;
/// let bad = Tree::from_newick("(a:1,b:1,c:1);")?;
/// let measures = Measures::unit_masses(3, [0, 1, 2])?;
/// let data = Labeled::new(&measures, vec![(0, 1), (0, 2), (1, 2)], vec![1.0, 2.0, 2.0])?;
/// let options = TreeWeightOptions { shrinkage: Some(0.0), ..Default::default() };
/// let forest = weighted(&Forest::uniform(vec![good, bad])?, &data, &options, &silent)?;
/// assert!(forest.weights()[0] > 0.999);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn weighted(
    forest: &Forest,
    data: &Labeled,
    options: &TreeWeightOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    if let Some(value) = options.shrinkage.filter(|s| s.is_nan() || *s < 0.0) {
        let (option, value) = ("shrinkage", value.to_string());
        return Err(Error::BadOption { option, value, expected: "it must be at least 0" });
    }
    data.check_for(forest.leaves())?;
    let (rows, unit) = rows(forest, data, progress)?;
    let shrinkage = options.shrinkage.unwrap_or_else(|| rows.best_shrinkage(options.seed).0);
    let all: Vec<usize> = (0..rows.target.len()).collect();
    let weights = rows.fit(&all, shrinkage);
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return Err(nothing("the trees see no difference in any of the pairs"));
    }
    Forest::new(forest.scaled(total * unit)?.trees().to_vec(), weights)
}

/// Fits a weight of at least 0 to each column of distances, one distance per label, so that their
/// sum has small relative errors; shrunk towards equal contributions.
///
/// Also returns the mean relative error of the cross-validation that chooses the shrinkage; NaN for
/// one label.
pub(crate) fn family_weights(
    columns: Vec<Vec<f64>>,
    data: &Labeled,
    seed: u64,
) -> Result<(Vec<f64>, f64)> {
    // In units of their own, all columns are about as large.
    let unit = |column: &Vec<f64>| {
        let shares = column.iter().zip(data.distances()).filter(|(_, label)| **label > 0.0);
        let sum: f64 = shares.map(|(d, label)| d / label).sum();
        if sum > 0.0 { data.len() as f64 / sum } else { 0.0 }
    };
    let units: Vec<f64> = columns.iter().map(unit).collect();
    let scaled = columns.into_iter().zip(&units).map(|(mut column, unit)| {
        for d in &mut column {
            *d *= unit;
        }
        column
    });
    let (rows, unit) = rows_of(scaled.collect(), data)?;
    let all: Vec<usize> = (0..rows.target.len()).collect();
    let (shrinkage, error) = rows.best_shrinkage(seed);
    let weights = rows.fit(&all, shrinkage);
    let weights = weights.iter().zip(&units).map(|(weight, own)| weight * unit * own).collect();
    Ok((weights, error))
}

/// Returns the least squares problem, and the unit of its weights.
fn rows(forest: &Forest, data: &Labeled, progress: &Progress<'_>) -> Result<(TreeDistances, f64)> {
    let (count, trees) = (data.len(), forest.trees().len());
    let mut columns = Vec::with_capacity(trees);
    for (k, tree) in forest.trees().iter().enumerate() {
        let share = |state: &State<'_>| {
            progress(&State { done: (k * count + state.done) / trees, ..*state })
        };
        columns.push(tree.pairs(data.measures(), data.pairs(), &share)?);
    }
    rows_of(columns, data)
}

/// Returns the least squares problem of columns of distances, and the unit of its weights.
fn rows_of(mut columns: Vec<Vec<f64>>, data: &Labeled) -> Result<(TreeDistances, f64)> {
    let label_unit = scale::of_largest(data.distances().iter().copied());
    let tree_unit = scale::of_largest(columns.iter().flatten().copied());
    let target: Vec<f64> = data.distances().iter().map(|d| d / label_unit).collect();
    if target.iter().all(|d| *d == 0.0) {
        return Err(nothing("all exact distances are 0"));
    }
    let counts: Vec<f64> = Loss::Relative.importance(&target).iter().map(|w| w.sqrt()).collect();
    for column in &mut columns {
        column.iter_mut().zip(&counts).for_each(|(w, count)| *w *= count / tree_unit);
    }
    let target = target.iter().zip(&counts).map(|(d, count)| d * count).collect();
    Ok((TreeDistances { columns, target }, label_unit / tree_unit))
}

fn nothing(what: &str) -> Error {
    Error::NothingToLearn { what: what.into() }
}

/// Distances of every tree and their targets, one row per label, divided by about its label.
#[derive(Debug)]
struct TreeDistances {
    columns: Vec<Vec<f64>>,
    target: Vec<f64>,
}

impl TreeDistances {
    /// Computes the weights, factor included, that fit the rows in `places`.
    fn fit(&self, places: &[usize], shrinkage: f64) -> Vec<f64> {
        let trees = self.columns.len();
        let mean = |p: usize| self.columns.iter().map(|c| c[p]).sum::<f64>() / trees as f64;
        let means: Vec<f64> = places.iter().map(|&p| mean(p)).collect();
        let squares: f64 = means.iter().map(|m| m * m).sum();
        let product: f64 = means.iter().zip(places).map(|(m, &p)| m * self.target[p]).sum();
        // No tree sees any difference here, so the factor is arbitrary: 0.
        let factor = if squares > 0.0 { product / squares } else { 0.0 };
        let equal = vec![1.0 / trees as f64; trees];
        let weights = if shrinkage == f64::INFINITY || factor == 0.0 {
            equal
        } else {
            let problem = self.normal_equations(places, factor, shrinkage);
            solve(&problem, equal)
        };
        weights.iter().map(|w| w * factor).collect()
    }

    /// Returns AᵀA + λτI and Aᵀd + λτ/K, over the rows in `places` divided by the factor.
    fn normal_equations(
        &self,
        places: &[usize],
        factor: f64,
        shrinkage: f64,
    ) -> NonNegativeQuadratic {
        let (trees, rows) = (self.columns.len(), places.len() as f64);
        let dot = |a: &[f64], b: &[f64]| places.iter().map(|&p| a[p] * b[p]).sum::<f64>() / rows;
        let mut gram = vec![0.0; trees * trees];
        let mut right = Vec::with_capacity(trees);
        for (j, column) in self.columns.iter().enumerate() {
            for k in 0..=j {
                let product = factor * factor * dot(column, &self.columns[k]);
                (gram[j * trees + k], gram[k * trees + j]) = (product, product);
            }
            right.push(factor * dot(column, &self.target));
        }
        let mean_square = (0..trees).map(|k| gram[k * trees + k]).sum::<f64>() / trees as f64;
        let hold = shrinkage * mean_square;
        for k in 0..trees {
            gram[k * trees + k] += hold;
            right[k] += hold / trees as f64;
        }
        NonNegativeQuadratic { gram, right }
    }

    /// Returns the shrinkage with the smallest cross-validation error, the largest among ties, and
    /// that error.
    fn best_shrinkage(&self, seed: u64) -> (f64, f64) {
        let count = self.target.len();
        if count < 2 {
            return (f64::INFINITY, f64::NAN);
        }
        // One column has only its factor.
        let most = if self.columns.len() == 1 { SHRINKAGES.len() - 1 } else { 0 };
        let shrinkages = &SHRINKAGES[most..];
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(&mut generator(seed));
        let folds = FOLDS.min(count);
        let mut errors = vec![0.0; shrinkages.len()];
        for fold in 0..folds {
            let held = |at: &usize| at % folds == fold;
            let places = |back: bool| -> Vec<usize> {
                (0..count).filter(|at| held(at) == back).map(|at| order[at]).collect()
            };
            let (train, test) = (places(false), places(true));
            for (error, shrinkage) in errors.iter_mut().zip(shrinkages) {
                *error += self.error(&self.fit(&train, *shrinkage), &test);
            }
        }
        let tried = errors.into_iter().zip(shrinkages).rev();
        let best = tried.min_by(|a, b| a.0.total_cmp(&b.0));
        // All targets are the same number, except those of labels near 0.
        let whole: f64 = self.target.iter().sum();
        best.map_or((f64::INFINITY, f64::NAN), |(error, at)| (*at, error / whole))
    }

    /// Computes the sum of absolute relative errors over the rows in `places`.
    fn error(&self, weights: &[f64], places: &[usize]) -> f64 {
        let predicted =
            |p: usize| self.columns.iter().zip(weights).map(|(c, w)| w * c[p]).sum::<f64>();
        places.iter().map(|&p| (predicted(p) - self.target[p]).abs()).sum()
    }
}

/// Quadratic program: ½ wᵀGw − rᵀw over w ≥ 0, with G symmetric and positive semidefinite.
struct NonNegativeQuadratic {
    gram: Vec<f64>,
    right: Vec<f64>,
}

/// Largest number of passes over all coordinates; some hundred suffice with the shrinkages above.
const MAX_PASSES: usize = 20_000;

/// Tolerance of the optimality conditions, relative to the right side.
const TOLERANCE: f64 = 1e-12;

/// Solves by coordinate descent from `weights` until the Karush–Kuhn–Tucker conditions hold.
fn solve(problem: &NonNegativeQuadratic, mut weights: Vec<f64>) -> Vec<f64> {
    let trees = weights.len();
    let tolerance = TOLERANCE * problem.right.iter().fold(0.0, |a: f64, r| a.max(r.abs()));
    for _ in 0..MAX_PASSES {
        if problem.violation(&weights) <= tolerance {
            break;
        }
        for k in 0..trees {
            let curvature = problem.gram[k * trees + k];
            // A tree that sees no difference may have any weight: it keeps its own.
            if curvature > 0.0 {
                weights[k] = (weights[k] - problem.slope(&weights, k) / curvature).max(0.0);
            }
        }
    }
    weights
}

impl NonNegativeQuadratic {
    /// Returns the partial derivative with respect to one weight.
    fn slope(&self, weights: &[f64], k: usize) -> f64 {
        let row = &self.gram[k * weights.len()..][..weights.len()];
        row.iter().zip(weights).map(|(g, w)| g * w).sum::<f64>() - self.right[k]
    }

    /// Returns the violation of optimality: derivatives are 0 where w > 0, else not negative.
    fn violation(&self, weights: &[f64]) -> f64 {
        let of = |k: usize| {
            let slope = self.slope(weights, k);
            if weights[k] > 0.0 { slope.abs() } else { (-slope).max(0.0) }
        };
        (0..weights.len()).map(of).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn objective(problem: &NonNegativeQuadratic, w: &[f64]) -> f64 {
        (0..w.len()).map(|k| w[k] * 0.5 * (problem.slope(w, k) - problem.right[k])).sum()
    }

    /// Tries every set of positive weights: Gaussian elimination on their equations, best feasible
    /// value.
    fn brute_force(problem: &NonNegativeQuadratic) -> f64 {
        let n = problem.right.len();
        let mut best = 0.0; // all weights 0
        for set in 1..1usize << n {
            let free: Vec<usize> = (0..n).filter(|k| set >> k & 1 == 1).collect();
            let mut a: Vec<Vec<f64>> = free
                .iter()
                .map(|&r| {
                    let row = free.iter().map(|&c| problem.gram[r * n + c]);
                    row.chain([problem.right[r]]).collect()
                })
                .collect();
            let m = free.len();
            for p in 0..m {
                let pivot = a[p].clone();
                for (_, row) in a.iter_mut().enumerate().filter(|(r, _)| *r != p) {
                    let by = row[p] / pivot[p];
                    row.iter_mut().zip(&pivot).for_each(|(x, y)| *x -= by * y);
                }
            }
            let mut w = vec![0.0; n];
            free.iter().enumerate().for_each(|(p, &k)| w[k] = a[p][m] / a[p][p]);
            if w.iter().all(|x| x.is_finite() && *x >= 0.0) {
                best = f64::min(best, objective(problem, &w));
            }
        }
        best
    }

    fn rows() -> impl Strategy<Value = TreeDistances> {
        (1..5usize, 3..9usize).prop_flat_map(|(trees, labels)| {
            let columns = vec(vec(0.0..2.0, labels), trees);
            (columns, vec(0.1..2.0, labels))
                .prop_map(|(columns, target)| TreeDistances { columns, target })
        })
    }

    proptest! {
        #[test]
        fn weights_meet_the_optimality_conditions_and_brute_force(
            rows in rows(),
            shrinkage in prop_oneof![Just(0.01), Just(0.1), Just(3.0)],
        ) {
            let places: Vec<usize> = (0..rows.target.len()).collect();
            let problem = rows.normal_equations(&places, 0.7, shrinkage);
            let trees = rows.columns.len();
            let weights = solve(&problem, vec![1.0 / trees as f64; trees]);
            prop_assert!(weights.iter().all(|w| *w >= 0.0));
            // Sums of a few products below 10.
            prop_assert!(problem.violation(&weights) < 1e-10);
            let (found, judge) = (objective(&problem, &weights), brute_force(&problem));
            prop_assert!((found - judge).abs() < 1e-9 * (1.0 + judge.abs()), "{} {}", found, judge);
        }

        #[test]
        fn no_other_weights_fit_better_and_none_move_without_end(rows in rows(), by in vec(0.0..2.0, 5)) {
            let places: Vec<usize> = (0..rows.target.len()).collect();
            let squares = |w: &[f64]| -> f64 {
                let at = |p: usize| rows.columns.iter().zip(w).map(|(c, w)| w * c[p]).sum::<f64>();
                places.iter().map(|&p| (at(p) - rows.target[p]).powi(2)).sum()
            };
            let fitted = squares(&rows.fit(&places, 0.0));
            prop_assert!(fitted <= squares(&by[..rows.columns.len()]) + 1e-6);
            prop_assert!(fitted <= squares(&rows.fit(&places, f64::INFINITY)) + 1e-9);
            // Infinity is the limit of large numbers.
            let (far, end) = (rows.fit(&places, 1e9), rows.fit(&places, f64::INFINITY));
            prop_assert!(far.iter().zip(&end).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b)));
        }
    }
}
