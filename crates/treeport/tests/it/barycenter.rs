//! Unbalanced transport and barycenters on trees, against exact transport on the tree's metric and
//! against linear programs whose bases are all tried.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Error, GroundMetric, Measures, Problem, Relax, Tree, silent};

/// Trees whose lengths lie not too far apart to be compared by sums.
fn trees(nodes: std::ops::Range<usize>) -> impl Strategy<Value = Tree> {
    (common::trees(nodes), vec(prop_oneof![1 => Just(0.0), 4 => 0.1..5.0], 40)).prop_map(
        |(tree, lengths)| {
            let mut length: Vec<f64> = (0..tree.nodes()).map(|v| lengths[v % 40]).collect();
            length[tree.root()] = 0.0;
            Tree::new(tree.leaves(), tree.parents().to_vec(), length).unwrap()
        },
    )
}

/// Measures of any masses on the leaves of a tree.
fn scenes(nodes: std::ops::Range<usize>, count: usize) -> impl Strategy<Value = (Tree, Measures)> {
    let mass = prop_oneof![2 => Just(0.0), 3 => 0.01..2.0, 1 => Just(1.0)];
    trees(nodes).prop_flat_map(move |tree| {
        let n = tree.leaves();
        vec(mass.clone(), n * count).prop_map(move |mut masses| {
            for (k, row) in masses.chunks_mut(n).enumerate() {
                row[k % n] += 0.25;
            }
            (tree.clone(), Measures::from_dense(n, &masses).unwrap())
        })
    })
}

fn metric_of(tree: &Tree) -> GroundMetric {
    let n = tree.leaves();
    GroundMetric::from_condensed(n, common::leaf_distances(tree)).unwrap()
}

proptest! {
    #[test]
    fn unbalanced_transport_agrees_with_the_exact_solver(
        (tree, measures) in scenes(2..40, 2), penalty in prop_oneof![0.0..12.0, Just(0.0), 1.0..1e6]
    ) {
        let (a, b) = (measures.row(0), measures.row(1));
        let relaxed = Relax::Penalty(penalty);
        let judge = Problem::new(&metric_of(&tree), &a, &b).relaxed(relaxed).solve(&silent).unwrap();
        let found = tree.unbalanced(&a, &b, penalty).unwrap();
        prop_assert!((found - judge.value()).abs() <= 1e-9 * (found + 1e-3), "{found} {}", judge.value());
        let back = tree.unbalanced(&b, &a, penalty).unwrap();
        prop_assert!((found - back).abs() <= 1e-9 * found + 1e-12, "{found} {back}");
    }

    #[test]
    fn with_a_high_penalty_and_equal_masses_it_is_the_distance((tree, measures) in scenes(2..60, 2)) {
        let measures = measures.normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let longest: f64 = tree.lengths().iter().sum();
        let (found, judge) = (tree.unbalanced(&a, &b, longest).unwrap(), tree.distance(&a, &b).unwrap());
        prop_assert!((found - judge).abs() <= 1e-12 * (1.0 + longest), "{found} {judge}");
        // No penalty is paid for the rounding of totals.
        let higher = tree.unbalanced(&a, &b, 1e40).unwrap();
        prop_assert!((higher - judge).abs() <= 1e-12 * (1.0 + longest), "{higher} {judge}");
    }

    #[test]
    fn no_basis_beats_the_barycenter((tree, measures) in scenes(2..6, 3), weights in vec(0.1..3.0, 3)) {
        let measures = measures.normalized();
        let found = tree.barycenter(&measures, Some(&weights), &silent).unwrap();
        let ours = objective(&tree, &measures, &weights, &found);
        let judge = least(&tree, &measures, &weights);
        prop_assert!((ours - judge).abs() <= 1e-9 * (1.0 + judge), "{ours} {judge} {found:?}");
    }

    #[test]
    fn no_mass_moved_makes_a_barycenter_better(
        (tree, measures) in scenes(3..60, 4), moves in vec((any::<u32>(), any::<u32>(), 0.0..1.0), 30)
    ) {
        // A convex function: what cannot be bettered a little is least.
        let measures = measures.normalized();
        let weights = [1.0; 4];
        let found = tree.barycenter(&measures, None, &silent).unwrap();
        prop_assert!((found.iter().sum::<f64>() - 1.0).abs() <= 1e-12);
        let ours = objective(&tree, &measures, &weights, &found);
        for (from, to, share) in moves {
            let (from, to) = (from as usize % found.len(), to as usize % found.len());
            let mut other = found.clone();
            let mass = 0.01 * share * other[from];
            other[from] -= mass;
            other[to] += mass;
            prop_assert!(objective(&tree, &measures, &weights, &other) >= ours - 1e-9 * (1.0 + ours));
        }
    }

    #[test]
    fn the_barycenter_of_one_measure_is_that_measure((tree, measures) in scenes(2..40, 1)) {
        let found = tree.barycenter(&measures, None, &silent).unwrap();
        let row = measures.row(0);
        let found = Measures::from_dense(tree.leaves(), &found).unwrap();
        // Leaves that no length parts are one point.
        prop_assert!(tree.distance(&found.row(0), &row).unwrap() <= 1e-9 * (1.0 + row.total()));
    }
}

/// The weighted sum of distances to all measures.
fn objective(tree: &Tree, measures: &Measures, weights: &[f64], masses: &[f64]) -> f64 {
    let center = Measures::from_dense(tree.leaves(), masses).unwrap();
    let distance = |row| tree.distance(&center.row(0), &row).unwrap();
    measures.iter().zip(weights).map(|(row, weight)| weight * distance(row)).sum()
}

/// The least weighted sum of distances. A linear program is least at a corner: a point where as many
/// of the planes y(v) = m_k(v), y(leaf) = 0 meet as there are leaves, with the total among them.
fn least(tree: &Tree, measures: &Measures, weights: &[f64]) -> f64 {
    let n = tree.leaves();
    let mut planes: Vec<(Vec<f64>, f64)> = Vec::new();
    let mut below: Vec<Vec<f64>> = (0..tree.nodes()).map(|_| vec![0.0; n]).collect();
    for v in 0..tree.root() {
        if v < n {
            below[v][v] = 1.0;
            planes.push((below[v].clone(), 0.0));
        }
        for row in measures.iter() {
            planes.push((below[v].clone(), row.iter().map(|(p, mass)| mass * below[v][p]).sum()));
        }
        let own = below[v].clone();
        let parent = tree.parents()[v] as usize;
        below[parent].iter_mut().zip(own).for_each(|(sum, one)| *sum += one);
    }
    let mut best = f64::INFINITY;
    let whole = vec![(vec![1.0; n], 1.0)];
    corners(&planes, whole, n, &mut |masses| {
        if masses.iter().all(|&mass| mass >= -1e-9) {
            let masses: Vec<f64> = masses.iter().map(|mass| mass.max(0.0)).collect();
            let total: f64 = masses.iter().sum();
            let masses: Vec<f64> = masses.iter().map(|mass| mass / total).collect();
            best = best.min(objective(tree, measures, weights, &masses));
        }
    });
    best
}

/// All points where `n` planes meet in one.
fn corners(
    planes: &[(Vec<f64>, f64)],
    chosen: Vec<(Vec<f64>, f64)>,
    n: usize,
    found: &mut impl FnMut(&[f64]),
) {
    if chosen.len() == n {
        if let Some(point) = solved(chosen) {
            found(&point);
        }
        return;
    }
    for (k, plane) in planes.iter().enumerate() {
        let mut more = chosen.clone();
        more.push(plane.clone());
        corners(&planes[k + 1..], more, n, found);
    }
}

/// Gaussian elimination with the largest pivots; `None` if the planes do not meet in one point.
fn solved(mut rows: Vec<(Vec<f64>, f64)>) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let size = |row: &(Vec<f64>, f64)| row.0[column].abs();
        let pivot = (column..n).max_by(|&i, &j| size(&rows[i]).total_cmp(&size(&rows[j])))?;
        rows.swap(column, pivot);
        let (by, value) = rows[column].clone();
        if by[column].abs() < 1e-9 {
            return None;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(k, _)| *k != column) {
            let factor = row.0[column] / by[column];
            row.0.iter_mut().zip(&by).for_each(|(x, y)| *x -= factor * y);
            row.1 -= factor * value;
        }
    }
    Some((0..n).map(|k| rows[k].1 / rows[k].0[k]).collect())
}

#[test]
fn medians_that_do_not_add_up_are_settled() {
    // Below each edge of the star the median mass is 0, but all mass has to be somewhere: the point
    // on the shortest edge is nearest to the three.
    let tree = Tree::from_newick("(a:3,b:3,c:3,hub:0.5);").unwrap();
    let measures = Measures::unit_masses(4, [0, 1, 2]).unwrap();
    assert_eq!(tree.barycenter(&measures, None, &silent).unwrap(), [0.0, 0.0, 0.0, 1.0]);
    let heavy = tree.barycenter(&measures, Some(&[3.0, 1.0, 1.0]), &silent).unwrap();
    assert_eq!(heavy, [1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn a_long_comb_and_a_broad_star_are_no_trouble() {
    let n = 20_000u32;
    let comb: Vec<u32> = (0..2 * n - 1)
        .map(|v| {
            if v < 2 {
                n
            } else if v < n {
                n + v - 1
            } else {
                (v + 1).min(2 * n - 2)
            }
        })
        .collect();
    let length: Vec<f64> =
        (0..2 * n - 1).map(|v| f64::from(v % 7) * f64::from(v < 2 * n - 2)).collect();
    let comb = Tree::new(n as usize, comb, length).unwrap();
    let star = Tree::star(n as usize, 1.0).unwrap();
    let mass = |k: usize| (0..n as usize).map(move |i| (i, common::noise(i * 7 + k)));
    let measures = Measures::from_rows(n as usize, (0..3).map(mass)).unwrap();
    for tree in [comb, star] {
        let (a, b) = (measures.row(0), measures.row(1));
        let flat = tree.unbalanced(&a, &b, 0.5).unwrap();
        assert!(flat > 0.0 && flat <= 0.5 * (a.total() + b.total()));
        let normalized = measures.clone().normalized();
        let center = tree.barycenter(&normalized, None, &silent).unwrap();
        let ours = objective(&tree, &normalized, &[1.0; 3], &center);
        for row in normalized.iter() {
            let mut masses = vec![0.0; n as usize];
            row.iter().for_each(|(point, mass)| masses[point] = mass);
            assert!(ours <= objective(&tree, &normalized, &[1.0; 3], &masses));
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let tree = Tree::from_newick("(a:1,b:2);").unwrap();
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    let message = |weights: &[f64]| {
        tree.barycenter(&measures, Some(weights), &silent).unwrap_err().to_string()
    };
    assert_eq!(message(&[1.0]), "the list of weights has shape (1,), expected (2,)");
    assert_eq!(
        message(&[1.0, -1.0]),
        "weights is -1 for measure 1; weights must be finite and at least 0"
    );
    assert_eq!(message(&[0.0, 0.0]), "weights is 0 in all; their sum must be above 0 and finite");
    let none = Measures::from_dense(2, &[]).unwrap();
    assert!(matches!(tree.barycenter(&none, None, &silent), Err(Error::Shape { .. })));
    let uneven = Measures::from_dense(2, &[1.0, 0.0, 0.0, 2.0]).unwrap();
    assert!(matches!(tree.barycenter(&uneven, None, &silent), Err(Error::Unbalanced { .. })));
    let stopped = tree.barycenter(&measures, None, &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
    for penalty in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = tree.unbalanced(&measures.row(0), &measures.row(1), penalty);
        assert!(matches!(refused, Err(Error::BadOption { option: "penalty", .. })));
    }
    let one = Tree::star(1, 0.0).unwrap();
    let measures = Measures::from_dense(1, &[2.0, 2.0]).unwrap();
    assert_eq!(one.barycenter(&measures, None, &silent).unwrap(), [2.0]);
    assert_eq!(one.unbalanced(&measures.row(0), &measures.row(1), 1.0).unwrap(), 0.0);
}
