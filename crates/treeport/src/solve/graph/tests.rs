use proptest::prelude::*;

use crate::solve::aim::Deadline;
use crate::solve::exact::edges::EdgeProblem;
use crate::solve::problem::posed::OnMetric;
use crate::solve::workspace::Workspace;
use crate::{Aim, Answer, GroundMetric, Measure, Measures, Problem, Result, silent};

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

    fn on_edges(&self) -> Answer {
        let measures = self.measures();
        on_edges(&self.metric(), measures.row(0), measures.row(1))
    }

    /// Computes the value by the simplex on all distances.
    fn judge(&self) -> f64 {
        let (metric, measures) =
            (self.metric().materialized().unwrap().assume_metric().unwrap(), self.measures());
        Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent).unwrap()
    }
}

fn on_edges(metric: &GroundMetric, a: Measure<'_>, b: Measure<'_>) -> Answer {
    let mut space = Workspace::default();
    let Workspace { sides, units, edges, .. } = &mut space;
    sides.read(&OnMetric { metric, a, b }, true);
    let (Some(network), false) = (metric.network(), sides.is_empty()) else {
        return Answer { plan: sides.shared_plan(), ..Answer::default() };
    };
    let (aim, deadline) = (Aim::exact(), Deadline::new(None, &silent));
    let problem =
        EdgeProblem { metric, network, sides, spare: None, aim: &aim, deadline: &deadline };
    let answer = problem.answer(units, edges).unwrap();
    sides.unswapped(answer)
}

fn within(scene: &GraphScene, accuracy: f64, progress: &crate::Progress<'_>) -> Result<Answer> {
    let (metric, measures) = (scene.metric(), scene.measures());
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    problem.answer(&Aim::within(accuracy), progress)
}

/// Generates a random tree with more edges, with ties, zeros, loops and parallel edges; supports of
/// one point up to all, and masses with ties.
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

/// Checks the marginals and the cost of the plan, and the feasibility of the dual values.
fn check(problem: &GraphScene, found: &Answer) -> Result<(), TestCaseError> {
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
    prop_assert!((cost - found.value()).abs() <= 1e-9 * found.value(), "{cost} {}", found.value());
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
    fn values_agree_with_the_bipartite_simplex(problem in problems()) {
        let (found, judge) = (problem.on_edges(), problem.judge());
        prop_assert!((found.value() - judge).abs() <= 2e-9 * judge, "{} {judge}", found.value());
        prop_assert!(found.gap() <= Answer::TOLERANCE * found.value());
        check(&problem, &found)?;
    }

    #[test]
    fn values_are_invariant_to_numbering_and_direction(problem in problems(), seed in 0usize..100) {
        let value = problem.on_edges().value();
        let n = problem.n;
        let mut back = problem.clone();
        back.masses.rotate_left(n);
        prop_assert!((back.on_edges().value() - value).abs() <= 1e-9 * value);
        // Node v gets the number (v·step + seed) mod n, and edges are reversed.
        let step = (1..).filter(|s| (2..=n).all(|d| s % d != 0 || n % d != 0)).nth(seed % 5).unwrap();
        let name = |v: usize| (v * step + seed) % n;
        let edges = problem.edges.iter().rev().map(|&(a, b, w)| (name(b), name(a), w)).collect();
        let mut masses = vec![0.0; 2 * n];
        for v in 0..n {
            masses[name(v)] = problem.masses[v];
            masses[n + name(v)] = problem.masses[n + v];
        }
        let other = GraphScene { n, edges, masses };
        prop_assert!((other.on_edges().value() - value).abs() <= 1e-9 * value);
    }

    #[test]
    fn powers_of_two_scale_the_value_exactly(problem in problems(), by in -20i32..20) {
        let factor = 2f64.powi(by);
        let value = problem.on_edges().value();
        let mut scaled = problem.clone();
        scaled.edges.iter_mut().for_each(|edge| edge.2 *= factor);
        // Subnormal lengths lose digits.
        if value == 0.0 || value > 1e-280 {
            prop_assert_eq!(scaled.on_edges().value(), value * factor);
        }
    }

    #[test]
    fn early_bounds_hold(problem in problems(), epsilon in prop::sample::select(vec![0.0, 1e-6, 0.1, 0.5, 10.0])) {
        let judge = problem.judge();
        let Answer { lower, upper, plan, .. } = within(&problem, epsilon, &silent).unwrap();
        let metric = problem.metric();
        prop_assert!(plan.cost(|i, j| metric.distance(i, j)) <= upper * (1.0 + 1e-9));
        prop_assert!(lower <= judge * (1.0 + 2e-9) && upper >= judge * (1.0 - 2e-9), "{lower} {judge} {upper}");
        prop_assert!(upper - lower <= epsilon.max(Answer::TOLERANCE) * upper);
    }
}

/// Generates a grid with random lengths in which chunks of the tour are split and rebuilt.
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
        assert!((found.value() - judge).abs() <= 1e-12 * judge, "{} {judge}", found.value());
        check(&problem, &found).unwrap();
        let Answer { lower, upper, .. } = within(&problem, 0.02, &silent).unwrap();
        assert!(lower <= judge && judge <= upper * (1.0 + 1e-12) && upper - lower <= 0.02 * upper);
    }
}

#[test]
fn lengths_of_different_magnitudes_use_128_bits() {
    // Mass moves along lengths that 64 bits round to 0 next to the others.
    let edges = vec![(0, 1, 1e-30), (1, 2, 1.0), (2, 3, 1e-30), (0, 1, 3e-30)];
    let problem = GraphScene { n: 4, edges, masses: vec![0.5, 0.0, 0.0, 0.5, 0.0, 0.5, 0.5, 0.0] };
    let found = problem.on_edges();
    assert!((found.value() - 1e-30).abs() <= 1e-39, "{}", found.value());
    assert!(found.gap() <= 1e-39);
}

#[test]
fn a_solve_can_be_canceled() {
    let problem = grid(24, 1);
    let stopped = within(&problem, 0.0, &|_| false);
    assert!(matches!(stopped, Err(crate::Error::Canceled)));
    let bad = within(&problem, f64::NAN, &silent);
    assert!(bad.unwrap_err().to_string().contains("accuracy of a problem is `NaN`"));
}

/// Compares both engines on a graph with too many nodes for a table: distances from the hierarchy
/// for small supports, and the simplex on edges.
#[test]
fn both_engines_of_a_large_graph_agree() {
    let problem = grid(64, 2);
    let n = problem.n;
    let dense = problem.measures();
    let some = |row: usize, step: usize| -> Vec<(usize, f64)> {
        dense.row(row).iter().filter(|(p, _)| p % step == row).collect()
    };
    let rows = [some(0, 41), some(1, 41), some(0, 1), dense.row(1).iter().collect()];
    let measures = Measures::from_rows(n, rows).unwrap().normalized();
    let (pairs, metric) = ([(0, 1), (2, 3), (0, 2)], problem.metric());
    let labels = crate::Labeled::solve(&metric, &measures, pairs.to_vec(), &silent).unwrap();
    assert!(metric.is_indexed(), "there is no table");
    for (&(i, j), &value) in pairs.iter().zip(labels.distances()) {
        let (a, b) = (measures.row(i), measures.row(j));
        let solved = Problem::new(&metric, &a, &b).solve(&silent).unwrap();
        let on_edges = on_edges(&problem.metric(), a, b);
        assert_eq!(solved.value(), value);
        assert!((on_edges.value() - value).abs() <= 1e-12 * value, "{} {value}", on_edges.value());
        let cost = solved.plan.cost(|x, y| metric.distance(x, y));
        assert!((cost - value).abs() <= 1e-12 * value);
    }
    // Few searches do not need a hierarchy, and find equal distances.
    let fresh = problem.metric();
    let value = Problem::new(&fresh, &measures.row(0), &measures.row(1)).value(&silent).unwrap();
    assert!(fresh.is_searched());
    assert!((value - labels.distances()[0]).abs() <= 1e-12 * value);
}
