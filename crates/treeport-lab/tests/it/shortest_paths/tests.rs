use super::*;
use proptest::prelude::*;
use treeport::Measures;
use treeport_lab::generate::{
    random_unit_tree, seeded, sparse_measures, subset_measures, uniform_measures, uniform_points,
};

/// Cost of the cheapest of all n! assignments, by enumeration.
fn best_permutation(n: usize, cost: &dyn Fn(usize, usize) -> f64) -> f64 {
    fn place(row: usize, free: &mut Vec<usize>, cost: &dyn Fn(usize, usize) -> f64) -> f64 {
        let mut best = if free.is_empty() { 0.0 } else { f64::INFINITY };
        for k in 0..free.len() {
            let column = free.swap_remove(k);
            best = best.min(cost(row, column) + place(row + 1, free, cost));
            free.push(column);
            let last = free.len() - 1;
            free.swap(k, last);
        }
        best
    }
    place(0, &mut (0..n).collect(), cost)
}

/// Checks marginals, the value of the plan, dual feasibility and the duality gap.
fn assert_certified(
    a: Measure<'_>,
    b: Measure<'_>,
    cost: &dyn Fn(usize, usize) -> f64,
    found: &Transport,
) {
    let scale = a.iter().flat_map(|(i, _)| b.iter().map(move |(j, _)| cost(i, j)));
    let tolerance = 1e-11 * scale.fold(1e-300, f64::max) * a.total();
    let sent = |i| found.plan.iter().filter(|p| p.0 == i).map(|p| p.2).sum::<f64>();
    let got = |j| found.plan.iter().filter(|p| p.1 == j).map(|p| p.2).sum::<f64>();
    assert!(found.plan.iter().all(|p| p.2 > 0.0));
    assert!(a.iter().all(|(i, mass)| (sent(i) - mass).abs() < 1e-12 * a.total()));
    // The second measure was rescaled to the first.
    let ratio = a.total() / b.total();
    assert!(b.iter().all(|(j, mass)| (got(j) - mass * ratio).abs() < 1e-12 * a.total()));
    let paid: f64 = found.plan.iter().map(|&(i, j, mass)| mass * cost(i, j)).sum();
    assert!((paid - found.value).abs() <= tolerance);
    for ((i, _), left) in a.iter().zip(&found.left) {
        for ((j, _), right) in b.iter().zip(&found.right) {
            assert!(left + right <= cost(i, j) + tolerance / a.total(), "({i}, {j})");
        }
    }
    let earned =
        |m: Measure<'_>, f: &[f64]| m.masses().iter().zip(f).map(|(x, f)| x * f).sum::<f64>();
    let dual = earned(a, &found.left) + earned(b, &found.right) * ratio;
    assert!((dual - found.value).abs() <= tolerance, "gap {}", found.value - dual);
}

proptest! {
    #[test]
    fn equal_masses_agree_with_all_permutations(n in 1usize..=7, seed in any::<u64>()) {
        let costs = uniform_points(n, n, 0.0, 1.0, &mut seeded(seed)); // not a metric
        let points = vec![1.0; n];
        let measures = Measures::from_dense(n, &[points.clone(), points].concat()).unwrap();
        let cost = |i: usize, j: usize| costs[i * n + j];
        let found = transport(measures.row(0), measures.row(1), cost, false).unwrap();
        let best = best_permutation(n, &cost);
        prop_assert!((found.value - best).abs() < 1e-12 * n as f64, "{} {}", found.value, best);
        assert_certified(measures.row(0), measures.row(1), &cost, &found);
    }

    #[test]
    fn ties_are_settled(n in 1usize..=6, seed in any::<u64>()) {
        let mut rng = seeded(seed);
        let costs: Vec<f64> =
            uniform_points(n, n, 0.0, 3.0, &mut rng).iter().map(|c| c.floor()).collect();
        let measures = Measures::from_dense(n, &vec![1.0; 2 * n]).unwrap();
        let cost = |i: usize, j: usize| costs[i * n + j];
        let found = transport(measures.row(0), measures.row(1), cost, false).unwrap();
        prop_assert_eq!(found.value, best_permutation(n, &cost));
    }

    #[test]
    fn a_line_agrees_with_the_distribution_functions(n in 2usize..40, seed in any::<u64>()) {
        let mut rng = seeded(seed);
        let mut place = uniform_points(n, 1, 0.0, 100.0, &mut rng);
        place.sort_by(f64::total_cmp);
        let measures = subset_measures(n, 2, &mut rng).unwrap();
        let cost = |i: usize, j: usize| (place[i] - place[j]).abs();
        // W1 on a line is the area between the two distribution functions.
        let mut imbalance = 0.0;
        let mut area = 0.0;
        for p in 0..n {
            let mass = |r: usize| measures.row(r).iter().find(|e| e.0 == p).map_or(0.0, |e| e.1);
            imbalance += mass(0) - mass(1);
            area += if p + 1 < n { f64::abs(imbalance) * (place[p + 1] - place[p]) } else { 0.0 };
        }
        for stays in [false, true] {
            let found = transport(measures.row(0), measures.row(1), cost, stays).unwrap();
            prop_assert!((found.value - area).abs() < 1e-10, "{} {}", found.value, area);
            assert_certified(measures.row(0), measures.row(1), &cost, &found);
        }
    }

    #[test]
    fn a_tree_agrees_with_its_closed_form(nodes in 3usize..50, seed in any::<u64>()) {
        let mut rng = seeded(seed);
        let tree = random_unit_tree(nodes, &mut rng).unwrap();
        let measures = uniform_measures(tree.leaves(), 2, &mut rng).unwrap();
        let mut imbalance = vec![0.0; tree.nodes()];
        measures.row(0).iter().for_each(|(p, mass)| imbalance[p] += mass);
        measures.row(1).iter().for_each(|(p, mass)| imbalance[p] -= mass);
        let mut closed = 0.0;
        for v in 0..tree.root() {
            closed += tree.lengths()[v] * f64::abs(imbalance[v]);
            imbalance[tree.parents()[v] as usize] += imbalance[v];
        }
        let cost = |i: usize, j: usize| tree.leaf_distance(i, j);
        for stays in [false, true] {
            let found = transport(measures.row(0), measures.row(1), cost, stays).unwrap();
            prop_assert!((found.value - closed).abs() < 1e-12 * nodes as f64);
            assert_certified(measures.row(0), measures.row(1), &cost, &found);
        }
    }

    #[test]
    fn points_in_the_plane_are_certified_symmetric_and_zero_on_themselves(
        n in 2usize..60,
        support in 1usize..30,
        seed in any::<u64>(),
    ) {
        let mut rng = seeded(seed);
        let place = uniform_points(n, 2, -10.0, 10.0, &mut rng);
        let cost = |i: usize, j: usize| {
            (place[2 * i] - place[2 * j]).hypot(place[2 * i + 1] - place[2 * j + 1])
        };
        let measures = sparse_measures(n, support.min(n), 2, &mut rng).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        let forth = transport(a, b, cost, true).unwrap();
        let back = transport(b, a, cost, true).unwrap();
        assert_certified(a, b, &cost, &forth);
        prop_assert!((forth.value - back.value).abs() < 1e-11);
        prop_assert_eq!(transport(a, a, cost, true).unwrap().value, 0.0);
        prop_assert_eq!(transport(a, a, cost, false).unwrap().value, 0.0);
    }
}

#[test]
fn shared_mass_moves_when_that_is_cheaper() {
    // A semimetric: the detour over point 1 is cheaper than the direct move.
    let cost = |i: usize, j: usize| (i as f64 - j as f64).powi(2);
    let measures = Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5]).unwrap();
    let value = |stays| transport(measures.row(0), measures.row(1), cost, stays).unwrap().value;
    assert_eq!(value(false), 1.0);
    assert_eq!(value(true), 2.0);
}

#[test]
fn totals_within_rounding_are_settled_and_others_are_errors() {
    let cost = |i: usize, j: usize| i.abs_diff(j) as f64;
    let nearly = Measures::from_dense(2, &[1.0, 1e-9, 1e-9, 1.0 + 5e-7]).unwrap();
    for stays in [false, true] {
        let found = transport(nearly.row(0), nearly.row(1), cost, stays).unwrap();
        assert!((found.value - 1.0).abs() < 1e-8);
        assert_certified(nearly.row(0), nearly.row(1), &cost, &found);
    }
    let apart = Measures::from_dense(2, &[1.0, 0.0, 0.0, 1.1]).unwrap();
    let error = transport(apart.row(0), apart.row(1), cost, true).unwrap_err();
    assert!(matches!(error, Error::Unbalanced { .. }));
}

#[test]
fn bad_costs_are_errors() {
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let error = transport(measures.row(0), measures.row(1), |_, _| bad, true).unwrap_err();
        assert!(matches!(error, Error::BadDistance { from: 0, to: 1, .. }));
    }
}

#[test]
fn masses_of_very_different_size_are_certified() {
    let masses: Vec<f64> = (0..40).map(|p| 10f64.powi(-(p % 14))).collect();
    let measures = Measures::from_dense(20, &masses).unwrap().normalized();
    let cost = |i: usize, j: usize| ((i * 7 + j * 7) % 11) as f64 + i.abs_diff(j) as f64;
    let found = transport(measures.row(0), measures.row(1), cost, false).unwrap();
    assert_certified(measures.row(0), measures.row(1), &cost, &found);
}
