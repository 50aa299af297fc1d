//! One problem from every door: the costs may be said in several ways, the answers are the same and
//! prove each other.

use std::time::Duration;

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::metric::Components;
use treeport::{
    Aim, Answer, Error, GroundMetric, MatrixView, Measure, Measures, PointMetric, Potentials,
    Problem, Problems, Relax, silent, sinkhorn,
};

/// Coordinates of points on either side with their masses, some of them 0.
#[derive(Clone, Debug)]
pub(crate) struct Sides {
    pub(crate) dim: usize,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

impl Sides {
    fn views(&self) -> (MatrixView<'_>, MatrixView<'_>) {
        (
            MatrixView::new(self.a.len(), self.dim, &self.x).unwrap(),
            MatrixView::new(self.b.len(), self.dim, &self.y).unwrap(),
        )
    }

    fn measures(&self) -> (Measures, Measures) {
        let read = |masses: &[f64]| Measures::from_dense(masses.len(), masses).unwrap();
        (read(&self.a), read(&self.b))
    }

    pub(crate) fn costs(&self) -> Vec<f64> {
        let distance =
            |p: &[f64], q: &[f64]| -> f64 { p.iter().zip(q).map(|(s, t)| (s - t).abs()).sum() };
        let rows = self.x.chunks(self.dim);
        rows.flat_map(|p| self.y.chunks(self.dim).map(move |q| distance(p, q))).collect()
    }

    /// Asks about the problem by coordinates and about that by costs.
    pub(crate) fn both<T>(&self, relax: Relax, ask: impl Fn(&Problem<'_>) -> T) -> [T; 2] {
        let ((x, y), (a, b), costs) = (self.views(), self.measures(), self.costs());
        let (a, b) = (a.row(0), b.row(0));
        let points = Problem::of_points(&a, &b, x, Some(y), PointMetric::Manhattan).unwrap();
        let matrix = MatrixView::new(self.a.len(), self.b.len(), &costs).unwrap();
        let between = Problem::between(&self.a, &self.b, matrix);
        [ask(&points.relaxed(relax)), ask(&between.relaxed(relax))]
    }

    /// Checks that a plan moves no more than there is; what it costs.
    pub(crate) fn cost_of(&self, plan: &treeport::Coupling) -> f64 {
        let (mut a, mut b, costs) = (self.a.clone(), self.b.clone(), self.costs());
        for (i, j, mass) in plan.iter() {
            (a[i], b[j]) = (a[i] - mass, b[j] - mass);
        }
        assert!(a.iter().chain(&b).all(|&left| left >= -1e-12), "{a:?} {b:?}");
        plan.cost(|i, j| costs[i * self.b.len() + j])
    }
}

pub(crate) fn sides() -> impl Strategy<Value = Sides> {
    let mass = || prop_oneof![1 => Just(0.0), 3 => 0.01..2.0f64];
    (1..3usize, 1..9usize, 1..9usize).prop_flat_map(move |(dim, n, m)| {
        let coordinate = || prop_oneof![-5.0..5.0f64, Just(1.0)];
        let points = (vec(coordinate(), n * dim), vec(coordinate(), m * dim));
        (points, vec(mass(), n), vec(mass(), m)).prop_map(move |((x, y), mut a, mut b)| {
            a[0] += 0.1;
            b[m - 1] += 0.1;
            // Equal totals: what is missing goes to the last.
            let (given, taken): (f64, f64) = (a.iter().sum(), b.iter().sum());
            a[n - 1] += (taken - given).max(0.0);
            b[0] += (given - taken).max(0.0);
            Sides { dim, x, y, a, b }
        })
    })
}

fn close(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (x.abs() + y.abs()) + 1e-11
}

proptest! {
    #[test]
    fn coordinates_and_their_costs_are_one_problem(
        sides in sides(),
        relax in prop_oneof![Just(Relax::Balanced), (0.0..4.0).prop_map(Relax::Penalty), Just(Relax::Mass(0.05))],
    ) {
        let values = sides.both(relax, |problem| problem.value(&silent).unwrap());
        prop_assert!(close(values[0], values[1]), "{values:?}");
        let solutions = sides.both(relax, |problem| problem.solve(&silent).unwrap());
        let total: f64 = sides.a.iter().chain(&sides.b).sum();
        for (solution, value) in solutions.iter().zip(values) {
            prop_assert_eq!(solution.value(), value);
            let moved: f64 = solution.plan.mass.iter().sum();
            let left = if let Relax::Penalty(price) = relax { price * (total - 2.0 * moved) } else { 0.0 };
            prop_assert!(close(sides.cost_of(&solution.plan) + left, value));
        }
    }

    #[test]
    fn potentials_of_all_points_prove_it_from_either_door(sides in sides(), price in 0.0..4.0f64, plain: bool) {
        let relax = if plain { Relax::Balanced } else { Relax::Penalty(price) };
        let most = if plain { f64::INFINITY } else { price };
        let costs = sides.costs();
        let proved = sides.both(relax, |problem| {
            let (solution, potentials) = common::proved(problem);
            (solution.value(), potentials)
        });
        for (value, Potentials { left, right }) in proved {
            prop_assert_eq!((left.len(), right.len()), (sides.a.len(), sides.b.len()));
            let sum = |masses: &[f64], duals: &[f64]| -> f64 { masses.iter().zip(duals).map(|(m, d)| m * d).sum() };
            prop_assert!(close(sum(&sides.a, &left) + sum(&sides.b, &right), value));
            for (at, cost) in costs.iter().enumerate() {
                let (i, j) = (at / sides.b.len(), at % sides.b.len());
                prop_assert!(left[i] + right[j] <= cost + 1e-9);
            }
            prop_assert!(left.iter().chain(&right).all(|dual| *dual <= most + 1e-9));
        }
    }

    #[test]
    fn bounds_hold_and_so_does_the_plan_behind_them(
        sides in sides(),
        accuracy in prop::sample::select(vec![0.0, 0.01, 0.3]),
        relax in prop_oneof![Just(Relax::Balanced), (0.0..4.0).prop_map(Relax::Penalty), Just(Relax::Mass(0.05))],
        no_time: bool,
    ) {
        let target = Aim::within(accuracy).in_time(no_time.then_some(Duration::ZERO));
        let total: f64 = sides.a.iter().chain(&sides.b).sum();
        for (value, bounds) in sides.both(relax, |problem| {
            (problem.value(&silent).unwrap(), problem.answer(&target, &silent).unwrap())
        }) {
            let Answer { lower, upper, plan, .. } = bounds;
            prop_assert!(lower <= value * (1.0 + 1e-9) + 1e-12 && value <= upper * (1.0 + 1e-9) + 1e-12);
            prop_assert!(no_time || upper - lower <= accuracy.max(1e-9) * lower);
            let moved: f64 = plan.mass.iter().sum();
            let left = if let Relax::Penalty(price) = relax { price * (total - 2.0 * moved) } else { 0.0 };
            prop_assert!(sides.cost_of(&plan) + left <= upper * (1.0 + 1e-9) + 1e-11);
            if let Relax::Mass(mass) = relax {
                prop_assert!(close(moved, mass));
            }
        }
    }

    #[test]
    fn entropic_plans_are_the_same_from_either_door(sides in sides()) {
        let options = sinkhorn::SinkhornOptions::default();
        let [points, matrix] = sides.both(Relax::Balanced, |problem| sinkhorn::solve(problem, &options, &silent).unwrap());
        prop_assert!((points.transport_cost - matrix.transport_cost).abs() <= 1e-6 * (1.0 + matrix.transport_cost));
        prop_assert!(sides.cost_of(&points.plan) <= points.transport_cost * (1.0 + 1e-9) + 1e-11);
    }
}

/// Large enough for sweeps: their bounds, and the plan behind the upper one.
#[test]
fn sweeps_bound_large_problems_with_a_plan() {
    let n = 130;
    let wave = |k: usize| ((k * 7919 + 13) % 4001) as f64 / 4001.0;
    for (dim, accuracy) in [(2, 0.2), (30, 0.05)] {
        let coordinates = (0..2 * n * dim).map(|k| wave(k * k + k)).collect();
        let metric = GroundMetric::from_points(dim, coordinates, PointMetric::Euclidean).unwrap();
        let side = |points: std::ops::Range<usize>| points.map(|p| (p, 0.1 + wave(p))).collect();
        let rows: [Vec<(usize, f64)>; 2] = [side(0..n), side(n..2 * n)];
        let measures = Measures::from_rows(2 * n, rows).unwrap().normalized();
        for (i, j) in [(0, 1), (1, 0)] {
            let (a, b) = (measures.row(i), measures.row(j));
            let problem = Problem::new(&metric, &a, &b);
            let value = problem.value(&silent).unwrap();
            let target = Aim::within(accuracy);
            let Answer { lower, upper, plan, .. } = problem.answer(&target, &silent).unwrap();
            assert!(lower < value && value < upper && upper - lower <= accuracy * upper);
            assert!(plan.cost(|i, j| metric.distance(i, j)) <= upper);
            let sent: f64 =
                plan.iter().filter(|m| m.0 == a.support()[3] as usize).map(|m| m.2).sum();
            assert!((sent - a.masses()[3]).abs() <= 1e-12);
            // Without time the bounds of the sweeps are the answer; with it, the exact value is.
            let hurry = Aim::within(1e-4).in_time(Duration::ZERO);
            let bounds = problem.answer(&hurry, &silent).unwrap();
            assert!(bounds.lower < value && value < bounds.upper);
            let bounds = problem.answer(&Aim::exact(), &silent).unwrap();
            assert_eq!(bounds.upper, value);
            assert!(matches!(problem.answer(&hurry, &|_| false), Err(Error::Canceled)));
        }
    }
}

#[test]
fn graphs_in_several_pieces_are_bounded_piece_by_piece() {
    let islands = Components::from_edges(5, &[(0, 1, 2.0), (2, 3, 1.0), (3, 4, 1.0)]).unwrap();
    let rows = [1.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 2.0];
    let measures = Measures::from_dense(5, &rows).unwrap();
    let problem = Problem::new(&islands, &measures.row(0), &measures.row(1));
    let bounds = problem.answer(&Aim::within(0.1), &silent).unwrap();
    assert!(bounds.lower <= 6.0 && 6.0 <= bounds.upper && bounds.upper <= 6.0 / 0.9);
    assert_eq!(bounds.plan.cost(|i, j| islands.distance(i, j)), bounds.upper);
    let priced = problem.with_penalty(0.5);
    assert_eq!(priced.value(&silent).unwrap(), 3.0);
    assert_eq!(priced.answer(&Aim::exact(), &silent).unwrap().upper, 3.0);
    let options = sinkhorn::SinkhornOptions::default();
    let refused = sinkhorn::solve(&priced, &options, &silent).unwrap_err();
    assert!(refused.to_string().contains("entropic transport moves all mass"), "{refused}");
}

#[test]
fn errors_name_the_points_by_their_numbers_outside() {
    let (a, b) = (
        Measures::from_dense(3, &[0.0, 1.0, 0.0]).unwrap(),
        Measures::from_dense(2, &[0.0, 1.0]).unwrap(),
    );
    let (a, b) = (a.row(0), b.row(0));
    let x = [f64::NAN, 0.0, f64::NAN];
    let of = |x: &[f64], y: &[f64]| {
        let (x, y) = (MatrixView::new(3, 1, x).unwrap(), MatrixView::new(2, 1, y).unwrap());
        Problem::of_points(&a, &b, x, Some(y), PointMetric::Euclidean)?.value(&silent)
    };
    // Points without mass are not looked at.
    assert_eq!(of(&x, &[f64::NAN, 3.0]).unwrap(), 3.0);
    let bad = of(&x, &[0.0, f64::INFINITY]).unwrap_err();
    assert!(
        matches!(&bad, Error::RightPoints { cause } if cause.to_string().contains("point 1 is inf")),
        "{bad}"
    );
    let bad = of(&[0.0, f64::NAN, 0.0], &[0.0, 1.0]).unwrap_err();
    assert!(matches!(bad, Error::BadCoordinate { point: 1, .. }), "{bad}");
    let (x, y) = (MatrixView::new(3, 1, &x).unwrap(), MatrixView::new(2, 2, &[0.0; 4]).unwrap());
    let bad = Problem::of_points(&a, &b, x, Some(y), PointMetric::Euclidean).err().unwrap();
    assert!(bad.to_string().contains("the points of the second measure has shape (2, 2)"), "{bad}");
}

/// Values of a problem and of the same the other way round, from every door that has both.
fn both_ways(a: &Measure<'_>, b: &Measure<'_>, metric: &GroundMetric, relax: Relax) -> [f64; 2] {
    [(a, b), (b, a)].map(|(a, b)| Problem::new(metric, a, b).relaxed(relax).value(&silent).unwrap())
}

proptest! {
    #[test]
    fn the_way_back_has_the_same_bits(
        kind in 0..6u8, dim in prop_oneof![Just(2usize), Just(40)],
        coordinates in vec(-1.0..1.0, 40 * 24), masses in vec(prop_oneof![Just(0.0), 0.0..1.0], 48),
    ) {
        let coordinates: Vec<f64> = coordinates[..24 * dim].iter().map(|x| x + 0.1).collect();
        let metric = match kind {
            0 => GroundMetric::from_points(dim, coordinates.clone(), PointMetric::Euclidean),
            1 => GroundMetric::from_points(dim, coordinates.clone(), PointMetric::Manhattan),
            2 => GroundMetric::from_points(dim, coordinates.clone(), PointMetric::SqEuclidean),
            3 => GroundMetric::from_points(dim, coordinates.clone(), PointMetric::Cosine),
            4 => {
                let degrees = coordinates[..48].iter().map(|x| 80.0 * x).collect();
                GroundMetric::from_points(2, degrees, PointMetric::Haversine)
            }
            _ => {
                let edge = |i: usize| (i, (i + 1 + i % 5) % 24, coordinates[i].abs());
                let ring = (0..24).map(|i| (i, (i + 1) % 24, coordinates[24 + i].abs()));
                GroundMetric::from_edges(24, &ring.chain((0..24).map(edge)).collect::<Vec<_>>())
            }
        };
        let metric = metric.unwrap();
        let mut masses = masses;
        (masses[0], masses[47]) = (0.5, 0.5);
        let measures = Measures::from_dense(24, &masses).unwrap().normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        for relax in [Relax::Balanced, Relax::Mass(0.4), Relax::Penalty(0.3)] {
            let [there, back] = both_ways(&a, &b, &metric, relax);
            prop_assert_eq!(there.to_bits(), back.to_bits(), "{:?}: {} {}", relax, there, back);
            let pairs = Problems::new(&metric, &measures, &[(0, 1), (1, 0), (0, 0)]).relaxed(relax);
            let values = pairs.values(&silent).unwrap();
            prop_assert_eq!(values[0].to_bits(), values[1].to_bits());
        }
        let options = sinkhorn::SinkhornOptions { tolerance: 1e-3, ..Default::default() };
        let entropic = [(&a, &b), (&b, &a)].map(|(a, b)| {
            sinkhorn::value(&Problem::new(&metric, a, b), &options, &silent).unwrap()
        });
        prop_assert_eq!(entropic[0].to_bits(), entropic[1].to_bits());
        // Points of their own, and costs alone.
        let x = MatrixView::new(24, dim, &coordinates).unwrap();
        let clouds = [(&a, &b), (&b, &a)].map(|(a, b)| {
            let problem = Problem::of_points(a, b, x, Some(x), PointMetric::Euclidean).unwrap();
            problem.value(&silent).unwrap()
        });
        prop_assert_eq!(clouds[0].to_bits(), clouds[1].to_bits());
        let costs: Vec<f64> = (0..576).map(|at| metric.distance(at / 24, at % 24)).collect();
        let turned: Vec<f64> = (0..576).map(|at| costs[at % 24 * 24 + at / 24]).collect();
        let (of_a, of_b) = masses.split_at(24);
        let total: f64 = of_b.iter().sum::<f64>() / of_a.iter().sum::<f64>();
        let of_a: Vec<f64> = of_a.iter().map(|mass| mass * total).collect();
        let there = Problem::between(&of_a, of_b, MatrixView::new(24, 24, &costs).unwrap());
        let back = Problem::between(of_b, &of_a, MatrixView::new(24, 24, &turned).unwrap());
        let (there, back) = (there.solve(&silent).unwrap(), back.solve(&silent).unwrap());
        prop_assert_eq!(there.value().to_bits(), back.value().to_bits());
        prop_assert_eq!((there.plan.left, there.left), (back.plan.right, back.right));
    }
}

#[test]
fn the_way_back_has_the_same_bits_however_a_graph_is_asked() {
    let side = 30;
    let mut rng = 1u64;
    let mut next = || {
        rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (rng >> 33) as f64 / (1u64 << 31) as f64
    };
    let mut edges = Vec::new();
    for v in 0..side * side {
        if v % side + 1 < side {
            edges.push((v, v + 1, next() + 0.1));
        }
        if v + side < side * side {
            edges.push((v, v + side, next() + 0.1));
        }
    }
    for supports in [[250, 100], [300, 5], [600, 40]] {
        let rows = supports.map(|count| {
            let stride = side * side / count;
            (0..count).map(|k| (k * stride, next() + 0.01)).collect::<Vec<_>>()
        });
        let measures = Measures::from_rows(side * side, rows).unwrap().normalized();
        let ways = [(0, 1), (1, 0)].map(|(i, j)| {
            // A new one each time: what is prepared stays prepared.
            let metric = GroundMetric::from_edges(side * side, &edges).unwrap();
            let problem = Problem::new(&metric, &measures.row(i), &measures.row(j));
            let target = Aim::within(0.1);
            let bounds = problem.answer(&target, &silent).unwrap();
            let metric = GroundMetric::from_edges(side * side, &edges).unwrap();
            let value = Problem::new(&metric, &measures.row(i), &measures.row(j)).value(&silent);
            [value.unwrap(), bounds.lower, bounds.upper].map(f64::to_bits)
        });
        assert_eq!(ways[0], ways[1], "{supports:?}");
    }
}
