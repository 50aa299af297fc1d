//! The fast projection against the slow ones: minimax paths, and Prim on the dense matrix.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Tree, project, project_additive};

/// Any tree with any heights: ties, equal heights, steps below 0, leaves off the ground.
fn perturbed_trees(nodes: std::ops::Range<usize>) -> impl Strategy<Value = (Tree, Vec<f64>)> {
    let height = prop_oneof![
        3 => -5.0..20.0,
        2 => (-2..6i32).prop_map(f64::from),
        1 => Just(1.0),
    ];
    common::trees(nodes).prop_flat_map(move |tree| {
        let heights = vec(height.clone(), tree.nodes());
        (Just(tree), heights)
    })
}

/// A small gradient-like step away from a binary ultrametric tree.
fn stepped_trees(leaves: std::ops::Range<usize>) -> impl Strategy<Value = (Tree, Vec<f64>)> {
    common::ultrametric_trees(leaves).prop_flat_map(|(tree, heights)| {
        let steps = vec(prop_oneof![Just(0.0), -0.5..0.5], heights.len());
        let moved = steps.prop_map(move |steps| {
            heights.iter().zip(&steps).map(|(h, s)| h + s).collect::<Vec<f64>>()
        });
        (Just(tree), moved)
    })
}

/// 2θ(lca) − θ(i) − θ(j) for all pairs, row by row.
fn implied(tree: &Tree, heights: &[f64]) -> Vec<f64> {
    let n = tree.leaves();
    let mut matrix = vec![0.0; n * n];
    for (i, j) in common::pairs(n) {
        let lca = common::common_ancestor(tree, i, j);
        let distance = 2.0 * heights[lca] - heights[i] - heights[j];
        matrix[i * n + j] = distance;
        matrix[j * n + i] = distance;
    }
    matrix
}

/// The smallest largest step over all paths: three nested loops.
fn minimax(n: usize, mut matrix: Vec<f64>) -> Vec<f64> {
    for k in 0..n {
        for i in (0..n).filter(|&i| i != k) {
            for j in (0..n).filter(|&j| j != i && j != k) {
                let around = matrix[i * n + k].max(matrix[k * n + j]);
                matrix[i * n + j] = matrix[i * n + j].min(around);
            }
        }
    }
    matrix
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(1.0, |most, v| v.abs().max(most))
}

/// Every leaf distance of `tree` is `expected(i, j)` to 1e-12 of the scale.
fn assert_distances(tree: &Tree, scale: f64, expected: impl Fn(usize, usize) -> f64) {
    for (i, j) in common::pairs(tree.leaves()) {
        let (ours, judge) = (tree.leaf_distance(i, j), expected(i, j));
        assert!((ours - judge).abs() <= 1e-12 * scale, "d({i},{j}) is {ours}, expected {judge}");
    }
}

fn agrees_with_minimax(tree: &Tree, heights: &[f64]) {
    let n = tree.leaves();
    let judge = minimax(n, implied(tree, heights));
    let projected = project(tree, heights).unwrap();
    assert!(projected.is_ultrametric());
    assert_distances(&projected, largest(heights), |i, j| judge[i * n + j].max(0.0));
}

fn agrees_with_prim(tree: &Tree, heights: &[f64]) {
    let n = tree.leaves();
    let prim = common::single_linkage(n, &implied(tree, heights));
    let projected = project(tree, heights).unwrap();
    assert_distances(&projected, largest(heights), |i, j| prim[i * n + j].max(0.0));
}

/// The Farris transform done densely: minimax paths of the Gromov product, leaves clamped to parents.
fn additive_judge(tree: &Tree, heights: &[f64], r: usize) -> Vec<f64> {
    let n = tree.leaves();
    let d = implied(tree, heights);
    let to_r: Vec<f64> = (0..n).map(|i| d[i * n + r].max(0.0)).collect();
    let product = (0..n * n).map(|k| 0.5 * (d[k] - to_r[k / n] - to_r[k % n])).collect();
    let merged = minimax(n, product);
    let parent = |i: usize| {
        (0..n).filter(|&j| j != i).map(|j| merged[i * n + j]).fold(f64::INFINITY, f64::min)
    };
    let leaf: Vec<f64> = (0..n).map(|i| (-to_r[i]).min(parent(i))).collect();
    (0..n * n).map(|k| 2.0 * merged[k] - leaf[k / n] - leaf[k % n]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_agrees_with_minimax_paths((tree, heights) in perturbed_trees(1..40)) {
        agrees_with_minimax(&tree, &heights);
    }

    #[test]
    fn it_agrees_with_minimax_paths_after_small_steps((tree, heights) in stepped_trees(2..30)) {
        agrees_with_minimax(&tree, &heights);
    }

    #[test]
    fn the_additive_one_agrees_with_the_dense_gromov_product(
        (tree, heights) in perturbed_trees(3..30),
        r in any::<prop::sample::Index>(),
    ) {
        let (n, r) = (tree.leaves(), r.index(tree.leaves()));
        let judge = additive_judge(&tree, &heights, r);
        let projected = project_additive(&tree, &heights, r).unwrap();
        assert_distances(&projected, 10.0 * largest(&heights), |i, j| judge[i * n + j]);
    }

    #[test]
    fn projecting_twice_changes_nothing((tree, heights) in perturbed_trees(2..60)) {
        let once = project(&tree, &heights).unwrap();
        let twice = project(&once, &once.heights()).unwrap();
        assert_distances(&twice, largest(&heights), |i, j| once.leaf_distance(i, j));
    }

    #[test]
    fn the_additive_one_keeps_every_tree_metric(
        tree in common::trees(2..60),
        r in any::<prop::sample::Index>(),
    ) {
        let projected =
            project_additive(&tree, &tree.heights(), r.index(tree.leaves())).unwrap();
        let scale = 10.0 * largest(&tree.heights());
        assert_distances(&projected, scale, |i, j| tree.leaf_distance(i, j));
    }

    #[test]
    fn it_scales_with_the_heights((tree, heights) in perturbed_trees(2..60), c in 1e-3..1e3) {
        let scaled: Vec<f64> = heights.iter().map(|h| c * h).collect();
        let (small, large) = (project(&tree, &heights).unwrap(), project(&tree, &scaled).unwrap());
        assert_distances(&large, largest(&scaled), |i, j| c * small.leaf_distance(i, j));
    }

    #[test]
    fn it_does_not_depend_on_the_order_of_points(
        (tree, heights) in perturbed_trees(2..60),
        seed in any::<u64>(),
    ) {
        let order = common::shuffled(tree.leaves(), seed);
        let renamed = common::with_leaves_at(&tree, &order);
        let mut moved = heights.clone();
        (0..tree.leaves()).for_each(|i| moved[order[i]] = heights[i]);
        let (first, second) = (project(&tree, &heights).unwrap(), project(&renamed, &moved).unwrap());
        assert_distances(&first, largest(&heights), |i, j| second.leaf_distance(order[i], order[j]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn it_agrees_with_prim_on_larger_trees((tree, heights) in perturbed_trees(100..700)) {
        agrees_with_prim(&tree, &heights);
    }

    #[test]
    fn it_agrees_with_prim_on_larger_trees_after_small_steps(
        (tree, heights) in stepped_trees(100..500),
    ) {
        agrees_with_prim(&tree, &heights);
    }
}

#[test]
fn heights_that_do_not_fit_are_refused() {
    let tree = Tree::new(2, vec![2, 2, 2], vec![1.0, 1.0, 0.0]).unwrap();
    let message = |heights: &[f64]| project(&tree, heights).unwrap_err().to_string();
    assert_eq!(message(&[0.0, 0.0]), "the list of heights has shape (2,), expected (3,)");
    assert_eq!(message(&[0.0, f64::NAN, 1.0]), "not a tree: the height of node 1 is NaN");
    let error = project_additive(&tree, &[0.0, 0.0, 1.0], 2).unwrap_err().to_string();
    assert_eq!(error, "the leaf to project from is 2; it must be one of the points");
}
