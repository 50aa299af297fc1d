//! An accuracy of ε means upper ≤ (1 + ε) · lower, whichever engine answers; a route names it beforehand.

use std::time::Duration;

use treeport::metric::Components;
use treeport::solve::Engine;
use treeport::{
    Aim, GroundMetric, MatrixView, Measures, PointMetric, Problem, Problems, Relax, Wanted, silent,
};

/// A number from 0 to 1 for every whole number.
fn noise(k: usize) -> f64 {
    let mut state = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3 {
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (state >> 11) as f64 / (1u64 << 53) as f64
}

/// Two measures of n and m points, with coordinates and masses of their own.
fn points(n: usize, m: usize, dim: usize) -> (GroundMetric, Measures) {
    let coordinates = (0..(n + m) * dim).map(noise).collect();
    let metric = GroundMetric::from_points(dim, coordinates, PointMetric::Euclidean).unwrap();
    let row = |first: usize, count: usize| {
        (first..first + count).map(|k| (k, 0.5 + noise(7 * k))).collect::<Vec<_>>()
    };
    let measures = Measures::from_rows(n + m, [row(0, n), row(n, m)]).unwrap();
    (metric, measures.normalized())
}

/// A grid of streets, every tenth node with mass.
fn streets(side: usize) -> (GroundMetric, Measures) {
    let node = |x: usize, y: usize| x * side + y;
    let mut edges = vec![];
    for x in 0..side {
        for y in 0..side {
            let length = |k: usize| 0.5 + noise(k + 31 * node(x, y));
            if x + 1 < side {
                edges.push((node(x, y), node(x + 1, y), length(0)));
            }
            if y + 1 < side {
                edges.push((node(x, y), node(x, y + 1), length(1)));
            }
        }
    }
    let row = |first: usize| {
        (first..side * side).step_by(10).map(|k| (k, 0.5 + noise(k))).collect::<Vec<_>>()
    };
    let metric = GroundMetric::from_edges(side * side, &edges).unwrap();
    (metric, Measures::from_rows(side * side, [row(0), row(5)]).unwrap().normalized())
}

/// Checks that the bounds hold the exact value, are as close as they claim, and come from an engine of the
/// route, which begins with `first` where bounds may be wide.
fn judge(problem: &Problem<'_>, first: Engine) {
    let exact = problem.value(&silent).unwrap();
    for error in [0.0, 0.003, 0.05, 0.5, f64::INFINITY] {
        let aim = Aim::within(error);
        let route = problem.route(&aim).unwrap();
        // Sweeps run only for widths that they are likely to reach.
        if error >= 0.5 {
            assert_eq!(route.engine(), first, "{route}");
        }
        let answer = problem.answer(&aim, &silent).unwrap();
        let (lower, upper) = (answer.lower, answer.upper);
        assert!(lower <= exact * (1.0 + 1e-9) && exact <= upper * (1.0 + 1e-9), "{route}");
        assert!(
            upper <= (1.0 + error.max(1e-9)) * lower || error > 1e9,
            "{error}: {lower} {upper}"
        );
        assert!(route.engines().any(|engine| engine == answer.engine), "{route}");
    }
}

#[test]
fn few_and_many_points() {
    for (n, m, dim, first) in [
        (20, 30, 2, Engine::Small),
        (90, 110, 2, Engine::Sweeps),
        (500, 400, 10, Engine::Sweeps),
        (3, 700, 2, Engine::Lopsided),
        (1600, 1500, 2, Engine::Auction),
        (1500, 1500, 10, Engine::Sweeps),
        (300, 200, 1, Engine::Line),
    ] {
        let (metric, measures) = points(n, m, dim);
        judge(&Problem::new(&metric, &measures.row(0), &measures.row(1)), first);
        judge(&Problem::new(&metric, &measures.row(1), &measures.row(0)), first);
    }
}

#[test]
fn matrices() {
    for (n, m, first) in
        [(25, 25, Engine::Small), (200, 100, Engine::Table), (2100, 2050, Engine::Auction)]
    {
        let costs: Vec<f64> = (0..n * m).map(noise).collect();
        let (a, b) = (vec![1.0 / n as f64; n], vec![1.0 / m as f64; m]);
        judge(&Problem::between(&a, &b, MatrixView::new(n, m, &costs).unwrap()), first);
    }
}

#[test]
fn graphs() {
    let (metric, measures) = streets(40);
    judge(&Problem::new(&metric, &measures.row(0), &measures.row(1)), Engine::Edges);
}

#[test]
fn what_stays_behind() {
    let (metric, measures) = points(90, 110, 2);
    for relax in [Relax::Mass(0.5), Relax::Penalty(0.2), Relax::Penalty(10.0)] {
        let problem = Problem::new(&metric, &measures.row(0), &measures.row(1)).relaxed(relax);
        judge(&problem, Engine::Table);
    }
    let penalties: Vec<f64> = (0..200).map(|k| 0.2 + noise(k)).collect();
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    judge(&problem.with_penalties(&penalties, &penalties), Engine::Table);
}

#[test]
fn many_problems() {
    let (metric, measures) = points(90, 110, 2);
    let pairs = [(0, 1), (1, 0), (0, 0)];
    for relax in [Relax::Balanced, Relax::Penalty(0.3)] {
        let problems = Problems::new(&metric, &measures, &pairs).relaxed(relax);
        let exact = problems.values(&silent).unwrap();
        let routes = problems.routes(&Aim::within(0.05)).unwrap();
        let found = problems.bounds(&Aim::within(0.05), &silent).unwrap();
        for (pair, exact) in exact.iter().enumerate() {
            let (lower, upper) = (found.lower[pair], found.upper[pair]);
            assert!(lower <= exact * (1.0 + 1e-9) && *exact <= upper * (1.0 + 1e-9));
            assert!(upper <= 1.05 * lower, "{lower} {upper}");
        }
        assert_eq!(routes[2].sources(), 0, "all mass stays");
        assert_eq!(routes[0].sources() + routes[0].sinks(), 200);
    }
}

#[test]
fn every_question_has_a_route() {
    let (metric, measures) = points(90, 110, 2);
    let (a, b) = (measures.row(0), measures.row(1));
    let pieces = Components::from_edges(4, &[(0, 1, 1.0), (2, 3, 1.0)]).unwrap();
    let on_pieces =
        Measures::from_rows(4, [vec![(0, 1.0), (2, 1.0)], vec![(1, 1.0), (3, 1.0)]]).unwrap();
    let problem = |relax| Problem::new(&metric, &a, &b).relaxed(relax);
    let back = Problem::new(&metric, &b, &a).answer(&Aim::exact(), &silent).unwrap();
    assert_eq!((back.route.sources(), back.route.sinks()), (110, 90), "as in the call");
    for aim in [Aim::exact(), Aim::within(0.1), Aim::exact().in_time(Duration::from_secs(1))] {
        for wanted in [Wanted::Value, Wanted::Plan, Wanted::Potentials] {
            let aim = aim.wanting(wanted);
            for relax in [Relax::Balanced, Relax::Mass(0.5), Relax::Penalty(0.2)] {
                let route = problem(relax).route(&aim).unwrap();
                assert!(route.to_string().contains("90 sources and 110 sinks"), "{route}");
            }
            let apart = Problem::new(&pieces, &on_pieces.row(0), &on_pieces.row(1));
            assert_eq!(apart.route(&aim).unwrap().sources(), 1);
        }
    }
}
