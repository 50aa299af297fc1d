//! Fitted edges, judged by a dense solver that moves one edge at a time.

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::baseline::{Fitted, WeightOptions, fit_labels, fit_points, fit_points_jointly};
use treeport::learn::point_labels;
use treeport::{Error, GroundMetric, Labels, Measures, Tree, exact, silent};

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

    /// The largest move of an edge optimised alone.
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
fn dense_points(trees: &[Tree], labels: &Labels, lambda: f64) -> (Dense, f64) {
    let unit = labels.distances.iter().copied().fold(0.0, f64::max);
    let row = |&(i, j): &(usize, usize)| {
        let of = |tree: &Tree| {
            let mut surplus = vec![0.0; tree.leaves()];
            (surplus[i], surplus[j]) = (1.0, -1.0);
            shares(tree, &surplus)
        };
        trees.iter().flat_map(of).collect()
    };
    let columns = trees.iter().map(Tree::nodes).sum();
    let dense = Dense {
        rows: labels.pairs.iter().map(row).collect(),
        target: labels.distances.iter().map(|d| d / unit).collect(),
        lambda,
        shrinkage: 0.0,
        towards: vec![0.0; columns],
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
        let options = WeightOptions { lambda, pairs, seed, ..WeightOptions::default() };
        let fitted = fit_points(&tree, &metric, &options, &silent).unwrap();
        let (_, labels) = point_labels(&metric, pairs, seed).unwrap();
        let (dense, unit) = dense_points(std::slice::from_ref(&tree), &labels, lambda);
        let x: Vec<f64> = fitted.model.lengths().iter().map(|l| l / unit).collect();
        check(&dense, &x, fitted.kkt)?;
    }

    #[test]
    fn trees_fitted_together_agree_with_the_dense_solver(
        (tree, metric) in problems(),
        order in any::<u64>(),
    ) {
        let other = common::with_leaves_at(&tree, &common::shuffled(tree.leaves(), order));
        let trees = [tree, other];
        let options = WeightOptions::default();
        let fitted = fit_points_jointly(&trees, &metric, &options, &silent).unwrap();
        let (_, labels) = point_labels(&metric, 1_000, 0).unwrap();
        let (dense, unit) = dense_points(&trees, &labels, options.lambda);
        let lengths = fitted.model.trees().iter().flat_map(Tree::lengths);
        // The mean of two trees is half of their sum.
        let x: Vec<f64> = lengths.map(|l| 0.5 * l / unit).collect();
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
        let labels = Labels { pairs, distances };
        let options = WeightOptions { shrinkage: Some(shrinkage), ..WeightOptions::default() };
        let fitted = fit_labels(&tree, &measures, &labels, &options, &silent).unwrap();
        check_labels(&fitted, &dense_labels(&tree, &measures, &labels, shrinkage))?;
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
        let labels = Labels { pairs, distances };
        let options = WeightOptions { shrinkage: Some(shrinkage), ..WeightOptions::default() };
        let fitted = fit_labels(&tree, &measures, &labels, &options, &silent).unwrap();
        check_labels(&fitted, &dense_labels(&tree, &measures, &labels, shrinkage))?;
    }
}

/// No edge would move alone, and the objective is that of the dense solver.
fn check_labels(fitted: &Fitted<Tree>, dense: &Dense) -> Result<(), TestCaseError> {
    prop_assert!(fitted.kkt <= 1e-6);
    let (ours, best) = (dense.objective(fitted.model.lengths()), dense.objective(&dense.solve()));
    prop_assert!(ours <= best + 1e-8 * best.max(1.0), "ours {}, judge {}", ours, best);
    Ok(())
}

fn moderate_trees() -> impl Strategy<Value = Tree> {
    common::trees(4..16)
        .prop_filter("three points", |t| t.leaves() >= 3)
        .prop_map(|tree| moderate(&tree))
}

/// The same tree with edges from 0.01 to 10, or 0 above the leaves. A tree in which all labelled pairs are at
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
fn dense_labels(tree: &Tree, measures: &Measures, labels: &Labels, shrinkage: f64) -> Dense {
    let predicted = tree.pairs(measures, &labels.pairs, &silent).unwrap();
    let mut ratios: Vec<f64> = labels
        .distances
        .iter()
        .zip(&predicted)
        .filter(|(_, p)| **p > 0.0)
        .map(|(d, p)| d / p)
        .collect();
    ratios.sort_by(f64::total_cmp);
    let half = ratios.len() / 2;
    let factor = match ratios.len() {
        0 => 1.0,
        odd if odd % 2 == 1 => ratios[half],
        _ => f64::midpoint(ratios[half - 1], ratios[half]),
    };
    let row = |(&(i, j), d): (&(usize, usize), &f64)| {
        let mut surplus = vec![0.0; tree.leaves()];
        measures.row(i).iter().for_each(|(p, mass)| surplus[p] += mass);
        measures.row(j).iter().for_each(|(p, mass)| surplus[p] -= mass);
        shares(tree, &surplus).iter().map(|s| s / d).collect()
    };
    let rows: Vec<Vec<f64>> = labels.pairs.iter().zip(&labels.distances).map(row).collect();
    let all: f64 = rows.iter().flatten().map(|a| a * a).sum();
    Dense {
        target: vec![1.0; rows.len()],
        rows,
        lambda: 0.0,
        shrinkage: shrinkage * all,
        towards: tree.lengths().iter().map(|l| factor * l).collect(),
    }
}

#[test]
fn the_right_shape_is_fitted_exactly() {
    let truth = Tree::from_newick("(((a:1,b:2):3,c:4):1,(d:2,e:5):0.5);").unwrap();
    let metric = GroundMetric::from_condensed(5, common::leaf_distances(&truth)).unwrap();
    let shape =
        Tree::new(5, truth.parents().to_vec(), vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    let options = WeightOptions { lambda: 0.0, tolerance: 1e-12, ..WeightOptions::default() };
    let fitted = fit_points(&shape.unwrap(), &metric, &options, &silent).unwrap();
    for (i, j) in common::pairs(5) {
        let (found, judge) = (fitted.model.leaf_distance(i, j), truth.leaf_distance(i, j));
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
    let distances = exact::pairs(&metric, &measures, &pairs, &silent).unwrap();
    let (seen, unseen) = pairs.split_at(30);
    let labels = Labels { pairs: seen.to_vec(), distances: distances[..30].to_vec() };
    let fitted =
        fit_labels(&wrong, &measures, &labels, &WeightOptions::default(), &silent).unwrap();
    let found = fitted.model.pairs(&measures, unseen, &silent).unwrap();
    for (found, exact) in found.iter().zip(&distances[30..]) {
        assert!((found - exact).abs() < 0.02 * exact, "{found} {exact}");
    }
}

#[test]
fn a_far_point_that_no_label_asks_for_costs_no_digits() {
    let tree = Tree::from_newick("(((0:1,1:1):1,2:2):5e16,3:5e16);").unwrap();
    let measures = Measures::unit_masses(4, 0..4).unwrap();
    let labels = Labels { pairs: vec![(0, 1), (0, 2), (1, 2)], distances: vec![2.0, 5.0, 5.0] };
    let options = WeightOptions { shrinkage: Some(1e-9), ..WeightOptions::default() };
    let fitted = fit_labels(&tree, &measures, &labels, &options, &silent).unwrap();
    for (&(i, j), wanted) in labels.pairs.iter().zip(&labels.distances) {
        let found = fitted.model.leaf_distance(i, j);
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
        fit_points(&tree, &metric, &WeightOptions::default(), &silent).unwrap().model
    };
    assert_eq!(fit(1.0).scaled(2f64.powi(100)).unwrap(), fit(2f64.powi(100)));
    assert_eq!(fit(1.0).scaled(2f64.powi(-600)).unwrap(), fit(2f64.powi(-600)));
}

#[test]
fn nothing_to_fit_is_a_tree_of_length_0() {
    let tree = Tree::from_newick("(a:1,b:1,c:1);").unwrap();
    let same = GroundMetric::from_condensed(3, vec![0.0; 3]).unwrap();
    let options = WeightOptions::default();
    let fitted = fit_points(&tree, &same, &options, &silent).unwrap();
    assert_eq!((fitted.kkt, fitted.model.statistics().total_length), (0.0, 0.0));
    let one = Tree::new(1, vec![0], vec![0.0]).unwrap();
    let alone = GroundMetric::from_condensed(1, vec![]).unwrap();
    assert_eq!(fit_points(&one, &alone, &options, &silent).unwrap().model, one);
    assert_eq!(
        fit_points_jointly(std::slice::from_ref(&one), &alone, &options, &silent)
            .unwrap()
            .model
            .trees(),
        [one]
    );
}

#[test]
fn bad_options_and_inputs_are_named() {
    let tree = Tree::from_newick("(a:1,b:1,c:1);").unwrap();
    let metric = GroundMetric::from_condensed(3, vec![1.0, 2.0, 2.5]).unwrap();
    let fit = |options: WeightOptions| {
        fit_points(&tree, &metric, &options, &silent).unwrap_err().to_string()
    };
    let usual = WeightOptions::default;
    assert_eq!(
        fit(WeightOptions { lambda: -1.0, ..usual() }),
        "lambda is -1; it must be finite and at least 0"
    );
    assert_eq!(
        fit(WeightOptions { pairs: 0, ..usual() }),
        "pairs is 0; there must be at least one pair of points"
    );
    assert!(fit(WeightOptions { tolerance: f64::NAN, ..usual() }).starts_with("tolerance is NaN"));
    assert!(
        fit(WeightOptions { shrinkage: Some(f64::INFINITY), ..usual() })
            .starts_with("shrinkage is inf")
    );
    let other = GroundMetric::from_condensed(2, vec![1.0]).unwrap();
    assert!(matches!(fit_points(&tree, &other, &usual(), &silent), Err(Error::PointCount { .. })));
    assert!(matches!(
        fit_points_jointly(&[], &metric, &usual(), &silent),
        Err(Error::BadForest { .. })
    ));
    let measures = Measures::unit_masses(3, 0..3).unwrap();
    let labels = |distances: Vec<f64>| Labels { pairs: vec![(0, 1); distances.len()], distances };
    let fit = |labels: Labels| fit_labels(&tree, &measures, &labels, &usual(), &silent);
    assert!(matches!(fit(labels(vec![])), Err(Error::NothingToLearn { .. })));
    assert!(matches!(fit(labels(vec![0.0])), Err(Error::NothingToLearn { .. })));
    assert!(matches!(fit(labels(vec![-1.0])), Err(Error::BadLabel { .. })));
}
