//! Fitted edges, judged by a dense solver that moves one edge at a time.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::fit::{
    EdgeOptions, FittedEdges, TreeWeightOptions, fit_labels, fit_points, fit_together, weighted,
};
use treeport::{Error, Forest, GroundMetric, Labeled, Measures, Tree, silent};

/// ½Σ(Ax − d)² + λΣx + ½μΣ(x − x₀)² over x ≥ 0.
struct Dense {
    rows: Vec<Vec<f64>>,
    target: Vec<f64>,
    lambda: f64,
    shrinkage: f64,
    towards: Vec<f64>,
}

impl Dense {
    /// One edge after the other to its best place, until none moves.
    fn solve(&self) -> Vec<f64> {
        let columns = self.towards.len();
        let mut x = self.towards.clone();
        for _ in 0..200_000 {
            let mut largest: f64 = 0.0;
            for v in 0..columns {
                let curve: f64 =
                    self.rows.iter().map(|row| row[v] * row[v]).sum::<f64>() + self.shrinkage;
                if curve == 0.0 {
                    x[v] = 0.0;
                    continue;
                }
                let next = (x[v] - self.slope(&x, v) / curve).max(0.0);
                largest = largest.max((next - x[v]).abs());
                x[v] = next;
            }
            if largest < 1e-14 {
                break;
            }
        }
        x
    }

    fn slope(&self, x: &[f64], v: usize) -> f64 {
        let fit = |row: &Vec<f64>, d: &f64| row[v] * (dot(row, x) - d);
        let sum: f64 = self.rows.iter().zip(&self.target).map(|(row, d)| fit(row, d)).sum();
        sum + self.lambda + self.shrinkage * (x[v] - self.towards[v])
    }

    fn objective(&self, x: &[f64]) -> f64 {
        let errors = self.rows.iter().zip(&self.target).map(|(row, d)| (dot(row, x) - d).powi(2));
        let moves = x.iter().zip(&self.towards).map(|(x, t)| (x - t).powi(2));
        0.5 * errors.sum::<f64>()
            + self.lambda * x.iter().sum::<f64>()
            + 0.5 * self.shrinkage * moves.sum::<f64>()
    }

    /// The largest move of an edge optimized alone.
    fn kkt(&self, x: &[f64]) -> f64 {
        let alone = |v: usize| {
            let curve: f64 =
                self.rows.iter().map(|row| row[v] * row[v]).sum::<f64>() + self.shrinkage;
            if curve == 0.0 { 0.0 } else { x[v] - (x[v] - self.slope(x, v) / curve).max(0.0) }
        };
        (0..x.len()).map(|v| alone(v).abs()).fold(0.0, f64::max)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Mass out of balance below every node but the root.
fn shares(tree: &Tree, surplus: &[f64]) -> Vec<f64> {
    let mut below = vec![0.0; tree.nodes()];
    below[..tree.leaves()].copy_from_slice(surplus);
    for v in 0..tree.root() {
        below[tree.parents()[v] as usize] += below[v];
    }
    below[tree.root()] = 0.0;
    below.iter().map(|f| f.abs()).collect()
}

/// The problem of [`fit_points`], written down.
fn dense_points(tree: &Tree, data: &Labeled, lambda: f64) -> (Dense, f64) {
    let unit = data.distances().iter().copied().fold(0.0, f64::max);
    let row = |&(i, j): &(usize, usize)| {
        let mut surplus = vec![0.0; tree.leaves()];
        (surplus[i], surplus[j]) = (1.0, -1.0);
        shares(tree, &surplus)
    };
    let dense = Dense {
        rows: data.pairs().iter().map(row).collect(),
        target: data.distances().iter().map(|d| d / unit).collect(),
        lambda,
        shrinkage: 0.0,
        towards: vec![0.0; tree.nodes()],
    };
    (dense, unit)
}

fn check(dense: &Dense, x: &[f64], kkt: f64) -> Result<(), TestCaseError> {
    prop_assert!(kkt <= 1e-6, "reported residual {}", kkt);
    prop_assert!((dense.kkt(x) - kkt).abs() <= 1e-9, "it is {}", dense.kkt(x));
    let judge = dense.solve();
    // Where the residual is 1e-7, the objective is off by its square times the number of edges and pairs.
    let gap = dense.objective(x) - dense.objective(&judge);
    prop_assert!(gap.abs() <= 1e-9, "objective {} above the judge's", gap);
    // Many edges may fit equally well; what they predict is the same.
    for row in &dense.rows {
        prop_assert!((dot(row, x) - dot(row, &judge)).abs() <= 1e-4);
    }
    Ok(())
}

/// Trees of any shape over 3 to 10 points, with distances that are no metric at all.
fn problems() -> impl Strategy<Value = (Tree, GroundMetric)> {
    common::trees(4..16)
        .prop_filter("three points", |t| (3..=10).contains(&t.leaves()))
        .prop_flat_map(|tree| {
            let n = tree.leaves();
            let distances = vec(0.0..10.0, n * (n - 1) / 2);
            let metric =
                distances.prop_map(move |d| GroundMetric::from_condensed(n, d).expect("distances"));
            (Just(tree), metric)
        })
}

proptest! {
    #[test]
    fn edges_agree_with_the_dense_solver(
        (tree, metric) in problems(),
        lambda in prop_oneof![Just(0.0), Just(1e-3), Just(0.5)],
        pairs in prop_oneof![Just(1_000usize), 2..6usize],
        seed in 0..5u64,
    ) {
        let options = EdgeOptions { lambda, pairs, seed, ..EdgeOptions::default() };
        let fitted = fit_points(&tree, &metric, &options, &silent).unwrap();
        let data = Labeled::of_points(&metric, pairs, seed).unwrap();
        let (dense, unit) = dense_points(&tree, &data, lambda);
        let x: Vec<f64> = fitted.tree.lengths().iter().map(|l| l / unit).collect();
        check(&dense, &x, fitted.kkt)?;
    }

    #[test]
    fn edges_for_labels_agree_with_the_dense_solver(
        (tree, masses, distances) in moderate_trees().prop_flat_map(|tree| {
            let masses = vec(0.01..1.0, 12 * tree.leaves());
            (Just(tree), masses, vec(1.0..3.0, 6))
        }),
        shrinkage in prop_oneof![Just(1e-4), Just(1e-2), Just(1.0)],
    ) {
        let measures = Measures::from_dense(tree.leaves(), &masses).unwrap().normalized();
        let pairs: Vec<(usize, usize)> = (0..6).map(|k| (2 * k, 2 * k + 1)).collect();
        let data = Labeled::new(&measures, pairs, distances).unwrap();
        let options = EdgeOptions { shrinkage: Some(shrinkage), ..EdgeOptions::default() };
        let fitted = fit_labels(&tree, &data, &options, &silent).unwrap();
        check_labels(&fitted, &dense_labels(&tree, &data, shrinkage))?;
    }

    #[test]
    fn edges_of_several_trees_come_near_the_dense_solver(
        (trees, masses, distances) in (3..10usize).prop_flat_map(|n| {
            let tree = move || vec((any::<u32>(), 0.01..10.0), 2 * n).prop_map(move |draws| joined(n, &draws));
            let masses = prop_oneof![vec(0.01..1.0, 12 * n), vec(prop_oneof![3 => Just(0.0), 1 => 0.01..1.0], 12 * n)];
            (vec(tree(), 1..4), masses, vec(1.0..3.0, 6))
        }),
        shrinkage in prop_oneof![Just(1e-3), Just(1e-2), Just(1.0)],
    ) {
        let n = trees[0].leaves();
        // Every measure has some mass.
        let masses: Vec<f64> = masses.iter().enumerate().map(|(k, m)| if k % n == k / n % n { m + 1.0 } else { *m }).collect();
        let measures = Measures::from_dense(n, &masses).unwrap().normalized();
        let pairs: Vec<(usize, usize)> = (0..6).map(|k| (2 * k, 2 * k + 1)).collect();
        let data = Labeled::new(&measures, pairs, distances).unwrap();
        let options = EdgeOptions { shrinkage: Some(shrinkage), ..EdgeOptions::default() };
        let forest = Forest::uniform(trees.clone()).unwrap();
        let fitted = fit_together(&forest, &data, &options, &silent).unwrap();
        prop_assert!(fitted.weights().iter().all(|w| *w == fitted.weights()[0]));
        let dense = dense_forest(&trees, &data, shrinkage);
        let edges: Vec<f64> = fitted.trees().iter().flat_map(|t| t.lengths().to_vec()).collect();
        let [ours, best, start] = [&edges, &dense.solve(), &dense.towards].map(|x| dense.objective(x));
        // It ends after some steps, not at the last digit, and its rows are in single precision.
        prop_assert!(start - ours >= 0.7 * (start - best) - 1e-5, "{} {} {}", start, ours, best);
    }

    /// Their rows are not stored, and their masses need not be 1.
    #[test]
    fn edges_for_pairs_of_single_points_agree_with_the_dense_solver(
        (tree, ends, distances) in moderate_trees().prop_flat_map(|tree| {
            let n = tree.leaves();
            (Just(tree), vec((0..n, 0..n, 0.1..10.0), 6), vec(1.0..3.0, 6))
        }),
        shrinkage in prop_oneof![Just(0.0), Just(1e-4), Just(1e-2), Just(1.0)],
    ) {
        // Every pair has a mass of its own.
        let rows = ends.iter().flat_map(|&(i, j, mass)| [[(i, mass)], [(j, mass)]]);
        let measures = Measures::from_rows(tree.leaves(), rows).unwrap();
        let pairs = (0..6).map(|k| (2 * k, 2 * k + 1)).collect();
        let data = Labeled::new(&measures, pairs, distances).unwrap();
        let options = EdgeOptions { shrinkage: Some(shrinkage), ..EdgeOptions::default() };
        let fitted = fit_labels(&tree, &data, &options, &silent).unwrap();
        check_labels(&fitted, &dense_labels(&tree, &data, shrinkage))?;
    }
}

/// No edge would move alone, and the objective is that of the dense solver.
fn check_labels(fitted: &FittedEdges, dense: &Dense) -> Result<(), TestCaseError> {
    prop_assert!(fitted.kkt <= 1e-6);
    let (ours, best) = (dense.objective(fitted.tree.lengths()), dense.objective(&dense.solve()));
    prop_assert!(ours <= best + 1e-8 * best.max(1.0), "ours {}, judge {}", ours, best);
    Ok(())
}

fn moderate_trees() -> impl Strategy<Value = Tree> {
    common::trees(4..16)
        .prop_filter("three points", |t| t.leaves() >= 3)
        .prop_map(|tree| moderate(&tree))
}

/// The same tree with edges from 0.01 to 10, or 0 above the leaves. A tree in which all labeled pairs are at
/// distance 0, up to rounding, has no factor, and what no label uses would be multiplied by anything.
fn moderate(tree: &Tree) -> Tree {
    let usual = |(v, l): (usize, &f64)| match *l {
        l if l < 0.01 && v >= tree.leaves() => 0.0,
        l => l.clamp(0.01, 10.0),
    };
    let mut length: Vec<f64> = tree.lengths().iter().enumerate().map(usual).collect();
    length[tree.root()] = 0.0;
    Tree::new(tree.leaves(), tree.parents().to_vec(), length).expect("the same shape")
}

/// The problem of [`fit_labels`], written down.
fn dense_labels(tree: &Tree, data: &Labeled, shrinkage: f64) -> Dense {
    let measures = data.measures();
    let predicted = tree.pairs(measures, data.pairs(), &silent).unwrap();
    let known = data.distances().iter().zip(&predicted).filter(|(_, p)| **p > 0.0);
    let mut ratios: Vec<f64> = known.map(|(d, p)| d / p).collect();
    ratios.sort_by(f64::total_cmp);
    // Of an even number the larger of the two in the middle.
    let factor = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
    let row = |(&(i, j), d): (&(usize, usize), &f64)| {
        let mut surplus = vec![0.0; tree.leaves()];
        measures.row(i).iter().for_each(|(p, mass)| surplus[p] += mass);
        measures.row(j).iter().for_each(|(p, mass)| surplus[p] -= mass);
        shares(tree, &surplus).iter().map(|s| s / d).collect()
    };
    let rows: Vec<Vec<f64>> = data.pairs().iter().zip(data.distances()).map(row).collect();
    let all: f64 = rows.iter().flatten().map(|a| a * a).sum();
    Dense {
        target: vec![1.0; rows.len()],
        rows,
        lambda: 0.0,
        shrinkage: shrinkage * all,
        towards: tree.lengths().iter().map(|l| factor * l).collect(),
    }
}

/// A binary tree over n points whose merges and edges were drawn.
fn joined(n: usize, draws: &[(u32, f64)]) -> Tree {
    let mut clusters: Vec<usize> = (0..n).collect();
    let mut parent = vec![0; 2 * n - 1];
    parent[2 * n - 2] = 2 * n as u32 - 2;
    for node in n..2 * n - 1 {
        for draw in [draws[node - n].0, draws[2 * n - 1 - (node - n)].0] {
            let child = clusters.swap_remove(draw as usize % clusters.len());
            parent[child] = node as u32;
        }
        clusters.push(node);
    }
    let mut length: Vec<f64> = draws[..2 * n - 1].iter().map(|draw| draw.1).collect();
    length[2 * n - 2] = 0.0;
    Tree::new(n, parent, length).expect("every node but the last has a parent")
}

/// The problem of [`fit_together`], written down: the trees' columns side by side.
fn dense_forest(trees: &[Tree], data: &Labeled, shrinkage: f64) -> Dense {
    let each: Vec<Dense> = trees.iter().map(|tree| dense_labels(tree, data, 0.0)).collect();
    let count = trees.len() as f64;
    let row = |p: usize| each.iter().flat_map(|d| d.rows[p].iter().map(|a| a / count)).collect();
    let rows: Vec<Vec<f64>> = (0..data.len()).map(row).collect();
    let all: f64 = rows.iter().flatten().map(|a| a * a).sum();
    let lengths: Vec<f64> = trees.iter().flat_map(|tree| tree.lengths().to_vec()).collect();
    let predicted: Vec<f64> =
        rows.iter().zip(data.distances()).map(|(row, d)| d * dot(row, &lengths)).collect();
    let factor = data.factor(&predicted);
    Dense {
        target: vec![1.0; rows.len()],
        rows,
        lambda: 0.0,
        shrinkage: shrinkage * all,
        towards: lengths.iter().map(|l| factor * l).collect(),
    }
}

#[test]
fn trees_fitted_together_do_better_than_trees_weighted_and_keep_their_unit() {
    let metric = common::cloud(40, 2);
    let (data, unseen) = common::lessons(&metric, 60).split(0.3, 1);
    let grown = treeport::build::PerturbedOptions { n_trees: 5, ..Default::default() };
    let forest = treeport::build::perturbed(&metric, &grown, &silent).unwrap();
    let options = EdgeOptions::default();
    let error = |forest: &Forest| {
        unseen.score(&forest.pairs(unseen.measures(), unseen.pairs(), &silent).unwrap()).mean
    };
    let weighted = weighted(&forest, &data, &TreeWeightOptions::default(), &silent).unwrap();
    let fit =
        |data: &Labeled, forest: &Forest| fit_together(forest, data, &options, &silent).unwrap();
    let together = fit(&data, &forest);
    let (before, after) = (error(&weighted), error(&together));
    assert!(after < before, "{before} {after}");
    assert_eq!(common::on_threads(1, || fit(&data, &forest)), together);
    let unit = 2f64.powi(-200);
    let far = common::relabeled(&data, |_, d| d * unit);
    assert_eq!(fit(&far, &forest), together.scaled(unit).unwrap());
    // Weights go into the edges that it starts from.
    let uneven = Forest::new(forest.trees().to_vec(), vec![1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
    assert_ne!(fit(&data, &uneven), together);
}

#[test]
fn the_right_shape_is_fitted_exactly() {
    let truth = Tree::from_newick("(((a:1,b:2):3,c:4):1,(d:2,e:5):0.5);").unwrap();
    let metric = GroundMetric::from_condensed(5, common::leaf_distances(&truth)).unwrap();
    let shape =
        Tree::new(5, truth.parents().to_vec(), vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    let options = EdgeOptions { lambda: 0.0, tolerance: 1e-12, ..EdgeOptions::default() };
    let fitted = fit_points(&shape.unwrap(), &metric, &options, &silent).unwrap();
    for (i, j) in common::pairs(5) {
        let (found, judge) = (fitted.tree.leaf_distance(i, j), truth.leaf_distance(i, j));
        assert!((found - judge).abs() < 1e-9 * 15.0, "{found} {judge}");
    }
}

#[test]
fn labels_choose_a_shrinkage_that_helps_on_pairs_they_have_not_seen() {
    // The metric is a tree's, but one edge is ten times as long as the shape says.
    let truth = Tree::from_newick("(((a:1,b:1):1,c:1):10,((d:1,e:1):1,f:1):1);").unwrap();
    let wrong = Tree::from_newick("(((a:1,b:1):1,c:1):1,((d:1,e:1):1,f:1):1);").unwrap();
    let metric = GroundMetric::from_condensed(6, common::leaf_distances(&truth)).unwrap();
    let mass = |k: usize| 0.01 + ((k * 7919) % 101) as f64;
    let masses: Vec<f64> = (0..6 * 80).map(mass).collect();
    let measures = Measures::from_dense(6, &masses).unwrap().normalized();
    let pairs: Vec<(usize, usize)> = (0..40).map(|k| (k, 79 - k)).collect();
    let data = Labeled::solve(&metric, &measures, pairs, &silent).unwrap();
    let (seen, unseen) = data.split_at(30);
    let fitted = fit_labels(&wrong, &seen, &EdgeOptions::default(), &silent).unwrap();
    let found = fitted.tree.pairs(&measures, unseen.pairs(), &silent).unwrap();
    assert!(unseen.score(&found).max < 0.02, "{:?}", unseen.score(&found));
}

#[test]
fn a_far_point_that_no_label_asks_for_costs_no_digits() {
    let tree = Tree::from_newick("(((0:1,1:1):1,2:2):5e16,3:5e16);").unwrap();
    let measures = Measures::unit_masses(4, 0..4).unwrap();
    let pairs = vec![(0, 1), (0, 2), (1, 2)];
    let data = Labeled::new(&measures, pairs, vec![2.0, 5.0, 5.0]).unwrap();
    let options = EdgeOptions { shrinkage: Some(1e-9), ..EdgeOptions::default() };
    let fitted = fit_labels(&tree, &data, &options, &silent).unwrap();
    for (&(i, j), wanted) in data.pairs().iter().zip(data.distances()) {
        let found = fitted.tree.leaf_distance(i, j);
        assert!((found - wanted).abs() < 1e-6, "{i}, {j}: {found}");
    }
}

#[test]
fn units_do_not_matter() {
    let tree = Tree::from_newick("(((a:1,b:2):3,c:4):1,(d:2,e:5):0.5);").unwrap();
    let distances = vec![3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0];
    let fit = |unit: f64| {
        let scaled = distances.iter().map(|d| d * unit).collect();
        let metric = GroundMetric::from_condensed(5, scaled).unwrap();
        fit_points(&tree, &metric, &EdgeOptions::default(), &silent).unwrap().tree
    };
    assert_eq!(fit(1.0).scaled(2f64.powi(100)).unwrap(), fit(2f64.powi(100)));
    assert_eq!(fit(1.0).scaled(2f64.powi(-600)).unwrap(), fit(2f64.powi(-600)));
}

#[test]
fn nothing_to_fit_is_a_tree_of_length_0() {
    let tree = Tree::from_newick("(a:1,b:1,c:1);").unwrap();
    let same = GroundMetric::from_condensed(3, vec![0.0; 3]).unwrap();
    let options = EdgeOptions::default();
    let fitted = fit_points(&tree, &same, &options, &silent).unwrap();
    assert_eq!((fitted.kkt, fitted.tree.statistics().total_length), (0.0, 0.0));
    let one = Tree::new(1, vec![0], vec![0.0]).unwrap();
    let alone = GroundMetric::from_condensed(1, vec![]).unwrap();
    assert_eq!(fit_points(&one, &alone, &options, &silent).unwrap().tree, one);
}

#[test]
fn bad_options_and_inputs_are_named() {
    let tree = Tree::from_newick("(a:1,b:1,c:1);").unwrap();
    let metric = GroundMetric::from_condensed(3, vec![1.0, 2.0, 2.5]).unwrap();
    let fit = |options: EdgeOptions| {
        fit_points(&tree, &metric, &options, &silent).unwrap_err().to_string()
    };
    let usual = EdgeOptions::default;
    assert_eq!(
        fit(EdgeOptions { lambda: -1.0, ..usual() }),
        "lambda is -1; it must be finite and at least 0"
    );
    assert_eq!(
        fit(EdgeOptions { pairs: 0, ..usual() }),
        "pairs is 0; there must be at least one pair of points"
    );
    assert!(fit(EdgeOptions { tolerance: f64::NAN, ..usual() }).starts_with("tolerance is NaN"));
    assert!(
        fit(EdgeOptions { shrinkage: Some(f64::INFINITY), ..usual() })
            .starts_with("shrinkage is inf")
    );
    let other = GroundMetric::from_condensed(2, vec![1.0]).unwrap();
    assert!(matches!(fit_points(&tree, &other, &usual(), &silent), Err(Error::PointCount { .. })));
    let measures = Measures::unit_masses(3, 0..3).unwrap();
    let zero = Labeled::new(&measures, vec![(0, 1)], vec![0.0]).unwrap();
    for nothing in [zero.split_at(0).0, zero] {
        let fitted = fit_labels(&tree, &nothing, &usual(), &silent);
        assert!(matches!(fitted, Err(Error::NothingToLearn { .. })));
    }
    let elsewhere = Measures::unit_masses(2, 0..2).unwrap();
    let elsewhere = Labeled::new(&elsewhere, vec![(0, 1)], vec![1.0]).unwrap();
    let fitted = fit_labels(&tree, &elsewhere, &usual(), &silent);
    assert!(matches!(fitted, Err(Error::PointCount { .. })));
}
