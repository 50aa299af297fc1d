use proptest::prelude::*;

use crate::exact::edges;
use crate::solve::problem::OnMetric;
use crate::{
    Accuracy, Bounds, GroundMetric, Measure, Measures, Problem, Result, Solution, Target, silent,
};

/// A graph and two measures on it.
#[derive(Clone, Debug)]
struct GraphScene {
    n: usize,
    edges: Vec<(usize, usize, f64)>,
    masses: Vec<f64>,
}

impl GraphScene {
    fn metric(&self) -> GroundMetric {
        GroundMetric::from_edges(self.n, &self.edges).unwrap()
    }

    fn measures(&self) -> Measures {
        Measures::from_dense(self.n, &self.masses).unwrap().normalized()
    }

    fn on_edges(&self) -> Solution {
        let measures = self.measures();
        on_edges(&self.metric(), measures.row(0), measures.row(1))
    }

    /// The bipartite solver on all distances.
    fn judge(&self) -> f64 {
        let (metric, measures) =
            (self.metric().materialized().unwrap().assume_metric().unwrap(), self.measures());
        Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap()
    }
}

fn on_edges(metric: &GroundMetric, a: Measure<'_>, b: Measure<'_>) -> Solution {
    edges::solve_on_edges(&OnMetric { metric, a, b }).unwrap()
}

fn within(scene: &GraphScene, accuracy: f64, progress: &crate::Progress<'_>) -> Result<Bounds> {
    let (metric, measures) = (scene.metric(), scene.measures());
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    problem.within(Target { accuracy: Accuracy::Within(accuracy), time: None }, progress)
}

/// A random tree and more edges, with ties, zeros, loops and parallels; supports from one point up
/// to all, masses with ties.
fn problems() -> impl Strategy<Value = GraphScene> {
    (2usize..40).prop_flat_map(|n| {
        let length = prop_oneof![Just(0.0), Just(1.0), Just(2.0), 0.0..10.0f64, 1e-9..1e-6f64];
        let tree = prop::collection::vec((any::<prop::sample::Index>(), length.clone()), n - 1);
        let more = prop::collection::vec((0..n, 0..n, length), 0..90);
        let mass = prop_oneof![4 => Just(0.0), 1 => Just(1.0), 2 => 0.0..1.0f64];
        let full = prop_oneof![Just(1.0), 0.01..1.0f64];
        let masses =
            prop_oneof![prop::collection::vec(mass, 2 * n), prop::collection::vec(full, 2 * n)];
        let scale = prop::sample::select(vec![1.0, 1.0, 1e-300, 1e-150, 1e200]);
        (tree, more, masses, scale).prop_map(move |(tree, more, mut masses, scale)| {
            let join =
                |(v, (up, w)): (usize, (prop::sample::Index, f64))| (v + 1, up.index(v + 1), w);
            let all = tree.into_iter().enumerate().map(join).chain(more);
            let edges = all.map(|(a, b, w)| (a, b, w * scale)).collect();
            masses[0] += 0.5;
            masses[2 * n - 1] += 0.5;
            GraphScene { n, edges, masses }
        })
    })
}

/// The plan moves one measure into the other at the stated cost; the duals prove that cost.
fn check(problem: &GraphScene, found: &Solution) -> Result<(), TestCaseError> {
    let (metric, measures) = (problem.metric(), problem.measures());
    metric.materialize(&silent).unwrap();
    let mut rest = vec![0.0; problem.n];
    for (row, sign) in [(0, 1.0), (1, -1.0)] {
        measures.row(row).iter().for_each(|(p, mass)| rest[p] += sign * mass);
    }
    let moves: Vec<_> = found.plan.iter().filter(|(i, j, _)| i != j).collect();
    for &(i, j, mass) in &moves {
        prop_assert!(mass > 0.0);
        rest[i] -= mass;
        rest[j] += mass;
    }
    prop_assert!(rest.iter().all(|r| r.abs() <= 1e-12), "{rest:?}");
    prop_assert!(moves.len() < (found.left.len() + found.right.len()).max(1));
    let cost = found.plan.cost(|i, j| metric.distance(i, j));
    prop_assert!((cost - found.value).abs() <= 1e-9 * found.value, "{cost} {}", found.value);
    let largest = (0..problem.n).map(|v| metric.distance(0, v)).fold(0.0, f64::max);
    for &(i, u) in &found.left {
        for &(j, v) in &found.right {
            prop_assert!(u + v <= metric.distance(i, j) + 1e-12 * largest);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn it_agrees_with_the_bipartite_solver(problem in problems()) {
        let (found, judge) = (problem.on_edges(), problem.judge());
        prop_assert!((found.value - judge).abs() <= 2e-9 * judge, "{} {judge}", found.value);
        prop_assert!(found.gap <= Solution::TOLERANCE * found.value);
        check(&problem, &found)?;
    }

    #[test]
    fn other_numbers_and_the_way_back_change_nothing(problem in problems(), seed in 0usize..100) {
        let value = problem.on_edges().value;
        let n = problem.n;
        let mut back = problem.clone();
        back.masses.rotate_left(n);
        prop_assert!((back.on_edges().value - value).abs() <= 1e-9 * value);
        // Node v is called (v·step + seed) mod n, edges come the other way round.
        let step = (1..).filter(|s| (2..=n).all(|d| s % d != 0 || n % d != 0)).nth(seed % 5).unwrap();
        let name = |v: usize| (v * step + seed) % n;
        let edges = problem.edges.iter().rev().map(|&(a, b, w)| (name(b), name(a), w)).collect();
        let mut masses = vec![0.0; 2 * n];
        for v in 0..n {
            masses[name(v)] = problem.masses[v];
            masses[n + name(v)] = problem.masses[n + v];
        }
        let other = GraphScene { n, edges, masses };
        prop_assert!((other.on_edges().value - value).abs() <= 1e-9 * value);
    }

    #[test]
    fn powers_of_two_scale_the_value_exactly(problem in problems(), by in -20i32..20) {
        let factor = 2f64.powi(by);
        let value = problem.on_edges().value;
        let mut scaled = problem.clone();
        scaled.edges.iter_mut().for_each(|edge| edge.2 *= factor);
        // Not where lengths become so small that they lose digits.
        if value == 0.0 || value > 1e-280 {
            prop_assert_eq!(scaled.on_edges().value, value * factor);
        }
    }

    #[test]
    fn early_bounds_hold(problem in problems(), epsilon in prop::sample::select(vec![0.0, 1e-6, 0.1, 0.5, 10.0])) {
        let judge = problem.judge();
        let Bounds { lower, upper, plan, .. } = within(&problem, epsilon, &silent).unwrap();
        let metric = problem.metric();
        prop_assert!(plan.cost(|i, j| metric.distance(i, j)) <= upper * (1.0 + 1e-9));
        prop_assert!(lower <= judge * (1.0 + 2e-9) && upper >= judge * (1.0 - 2e-9), "{lower} {judge} {upper}");
        prop_assert!(upper - lower <= epsilon.max(Solution::TOLERANCE) * upper);
    }
}

/// Streets with lengths of all kinds, large enough for chunks to be cut and laid out anew.
fn grid(side: usize, seed: usize) -> GraphScene {
    let wave = |k: usize| ((k * 7919 + seed * 104_729) % 1009) as f64 / 1009.0;
    let node = |x: usize, y: usize| x * side + y;
    let right = (0..side).flat_map(|x| (1..side).map(move |y| (node(x, y - 1), node(x, y))));
    let down = (1..side).flat_map(|x| (0..side).map(move |y| (node(x - 1, y), node(x, y))));
    let edges = right.chain(down).enumerate().map(|(k, (a, b))| (a, b, wave(k * k))).collect();
    let masses = (0..2 * side * side).map(|k| wave(k * k * k + 1) + 0.01).collect();
    GraphScene { n: side * side, edges, masses }
}

#[test]
fn grids_of_many_chunks_are_solved() {
    for seed in 0..4 {
        let problem = grid(24, seed);
        let (found, judge) = (problem.on_edges(), problem.judge());
        assert!((found.value - judge).abs() <= 1e-12 * judge, "{} {judge}", found.value);
        check(&problem, &found).unwrap();
        let Bounds { lower, upper, .. } = within(&problem, 0.02, &silent).unwrap();
        assert!(lower <= judge && judge <= upper * (1.0 + 1e-12) && upper - lower <= 0.02 * upper);
    }
}

#[test]
fn lengths_far_apart_take_more_bits() {
    // All mass moves along lengths that 64 bits cannot tell from 0 beside the others.
    let edges = vec![(0, 1, 1e-30), (1, 2, 1.0), (2, 3, 1e-30), (0, 1, 3e-30)];
    let problem = GraphScene { n: 4, edges, masses: vec![0.5, 0.0, 0.0, 0.5, 0.0, 0.5, 0.5, 0.0] };
    let found = problem.on_edges();
    assert!((found.value - 1e-30).abs() <= 1e-39, "{}", found.value);
    assert!(found.gap <= 1e-39);
}

#[test]
fn it_can_be_stopped() {
    let problem = grid(24, 1);
    let stopped = within(&problem, 0.0, &|_| false);
    assert!(matches!(stopped, Err(crate::Error::Cancelled)));
    let bad = within(&problem, f64::NAN, &silent);
    assert!(bad.unwrap_err().to_string().contains("accuracy of a problem is `NaN`"));
}

/// A graph of more nodes than a table is kept for: small supports go by the hierarchy, all nodes by
/// the edges, and each way finds what the other does.
#[test]
fn both_ways_of_a_large_graph_agree() {
    let problem = grid(64, 2);
    let n = problem.n;
    let dense = problem.measures();
    let some = |row: usize, step: usize| -> Vec<(usize, f64)> {
        dense.row(row).iter().filter(|(p, _)| p % step == row).collect()
    };
    let rows = [some(0, 41), some(1, 41), some(0, 1), dense.row(1).iter().collect()];
    let measures = Measures::from_rows(n, rows).unwrap().normalized();
    let (pairs, metric) = ([(0, 1), (2, 3), (0, 2)], problem.metric());
    let labels = crate::Labelled::solve(&metric, &measures, pairs.to_vec(), &silent).unwrap();
    assert!(metric.is_indexed(), "there is no table");
    for (&(i, j), &value) in pairs.iter().zip(labels.distances()) {
        let (a, b) = (measures.row(i), measures.row(j));
        let solved = Problem::new(&metric, &a, &b).solve(&silent).unwrap();
        let on_edges = on_edges(&problem.metric(), a, b);
        assert_eq!(solved.value, value);
        assert!((on_edges.value - value).abs() <= 1e-12 * value, "{} {value}", on_edges.value);
        let cost = solved.plan.cost(|x, y| metric.distance(x, y));
        assert!((cost - value).abs() <= 1e-12 * value);
    }
    // Few searches do not pay for a hierarchy; what they find is the same.
    let fresh = problem.metric();
    let value = Problem::new(&fresh, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
    assert!(fresh.is_searched());
    assert!((value - labels.distances()[0]).abs() <= 1e-12 * value);
}
