//! Lengths of the edges of new leaves, in trees whose other edges are fixed.

use super::design::{Design, EdgeGroups, FIXED};
use super::points::EdgeOptions;
use super::solver::{BoundedLeastSquares, solve};
use crate::error::Result;
use crate::labeled::Labeled;
use crate::progress::Progress;
use crate::progress::tasks::EDGES;
use crate::tree::Tree;

/// Strength of the shrinkage towards the start; at 1 it outweighs all labels together.
const SHRINKAGE: f64 = 1e-3;

/// Range of the common factor of all new edges.
const FACTORS: [f64; 2] = [0.2, 5.0];

/// Labels below this share of the largest belong to copies of points and are left out.
const LEAST_LABEL: f64 = 1e-9;

/// Fits the edges of new leaves in weighted trees, whose leaves from `old` on are new. Edges with
/// no old leaf below and a length x₀ above 0 become x₀·z. All other edges keep their lengths, bit
/// for bit.
///
/// ```text
/// min over z ≥ 0 of  Σ ((W_T − W)/W)² + μ·S Σ_v (z(v) − f)²
/// ```
///
/// over labels W, where f is the one factor with the best fit and S the sum of all squared
/// coefficients. Shrinkage is relative to an edge's length, so that short edges in a cluster of new
/// points stay short if long labels contribute.
///
/// # Complexity
/// O(entries) per iteration, for the nodes above the points of each pair in each tree, and as much
/// memory.
pub(crate) fn fit_new_edges(
    trees: &[Tree],
    weights: &[f64],
    old: usize,
    data: &Labeled,
    progress: &Progress<'_>,
) -> Result<Vec<Tree>> {
    let largest = data.distances().iter().copied().fold(0.0, f64::max);
    let inverse = |&label: &f64| if label > LEAST_LABEL * largest { label.recip() } else { 0.0 };
    let factors: Vec<f64> = data.distances().iter().map(inverse).collect();
    let groups = each_alone(trees, old);
    let (design, fixed) = Design::grouped(trees, weights, &groups, data, &factors)?;
    let target: Vec<f64> = data
        .distances()
        .iter()
        .zip(factors.iter().zip(&fixed))
        .map(|(label, (factor, fixed))| label * factor - fixed)
        .collect();
    let ones = vec![1.0; design.columns()];
    let towards = vec![one_factor(&design.apply(&ones), &target); design.columns()];
    let shrinkage = SHRINKAGE * design.squares().iter().sum::<f64>();
    if shrinkage == 0.0 {
        return Ok(trees.to_vec());
    }
    let problem = BoundedLeastSquares {
        design: &design,
        target: &target,
        lambda: 0.0,
        shrinkage,
        towards: &towards,
    };
    let options = EdgeOptions { tolerance: 1e-4, max_iterations: 200, ..EdgeOptions::default() };
    let solved = solve(&problem, &towards, &options, (EDGES, progress))?;
    groups.multiplied(trees, &solved.x)
}

/// Makes every new edge a group of its own; all others are fixed.
fn each_alone(trees: &[Tree], old: usize) -> EdgeGroups {
    let mut count = 0;
    let mut next = |free: bool| {
        count += u32::from(free);
        if free { count - 1 } else { FIXED }
    };
    let of_tree =
        trees.iter().map(|tree| new_edges(tree, old).into_iter().map(&mut next).collect());
    let of_tree = of_tree.collect();
    EdgeGroups { count: count as usize, of_tree }
}

/// Returns the factor of new edges that minimizes the squared residual.
fn one_factor(found: &[f64], missing: &[f64]) -> f64 {
    let product: f64 = found.iter().zip(missing).map(|(f, m)| f * m).sum();
    let squares: f64 = found.iter().map(|f| f * f).sum();
    if squares > 0.0 { (product / squares).clamp(FACTORS[0], FACTORS[1]) } else { 1.0 }
}

/// Returns whether each edge has a positive length and only new leaves below.
fn new_edges(tree: &Tree, old: usize) -> Vec<bool> {
    let mut free: Vec<bool> = (0..tree.nodes()).map(|v| v >= old).collect();
    for v in 0..tree.root() {
        let above = tree.parents()[v] as usize;
        free[above] &= free[v];
    }
    free[tree.root()] = false;
    free.iter().zip(tree.lengths()).map(|(free, length)| *free && *length > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Measures;
    use crate::progress::silent;

    #[test]
    fn only_edges_without_old_leaves_are_fitted() {
        // Points 0 and 1 are old; 2 and 3 share a parent on the edge above 1.
        let tree = Tree::from_newick("(a:1,(b:1,(c:1,d:1):1):1);").unwrap();
        assert_eq!(
            new_edges(&tree, 2),
            [false, false, true, true, true, false, false],
            "{:?}",
            tree.parents()
        );
        // True lengths: edges of 2 and 3 for c and d, and 0.5 above both.
        let mut truth = tree.lengths().to_vec();
        (truth[2], truth[3], truth[4]) = (2.0, 3.0, 0.5);
        let truth = tree.with_lengths(truth).unwrap();
        let measures = Measures::unit_masses(4, 0..4).unwrap();
        let pairs = vec![(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let labels = pairs.iter().map(|&(i, j)| truth.leaf_distance(i, j)).collect();
        let data = Labeled::new(&measures, pairs, labels).unwrap();
        let trees = [tree.clone(), tree.clone()];
        let fitted = fit_new_edges(&trees, &[0.5, 0.5], 2, &data, &silent).unwrap();
        for found in &fitted {
            for v in [0, 1, 5, 6] {
                assert_eq!(found.lengths()[v].to_bits(), tree.lengths()[v].to_bits());
            }
            for (i, j) in [(0, 2), (1, 3), (2, 3)] {
                let (found, truth) = (found.leaf_distance(i, j), truth.leaf_distance(i, j));
                assert!((found / truth - 1.0).abs() < 0.05, "{found} {truth}");
            }
        }
    }
}
