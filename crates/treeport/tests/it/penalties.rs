//! A penalty for each point: every answer is proved from outside by a plan and by potentials that meet, and
//! judged by balanced transport with a place where all that is left can go.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::metric::Components;
use treeport::{
    Aim, Answer, Error, GroundMetric, MatrixView, Measures, PointMetric, Potentials, Problem,
    Problems, silent,
};

/// Masses of rows and columns, costs between them and a penalty for each.
#[derive(Clone, Debug)]
struct Penalized {
    a: Vec<f64>,
    b: Vec<f64>,
    costs: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Penalized {
    fn ask<T>(&self, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        let costs = MatrixView::new(self.a.len(), self.b.len(), &self.costs).unwrap();
        ask(&Problem::between(&self.a, &self.b, costs).with_penalties(&self.left, &self.right))
    }

    fn proved(&self) -> (Answer, Potentials) {
        self.ask(proved)
    }

    fn value(&self) -> f64 {
        self.ask(|problem| problem.value(&silent)).unwrap()
    }

    fn transposed(&self) -> Self {
        let (n, m) = (self.a.len(), self.b.len());
        let costs = (0..n * m).map(|at| self.costs[at % n * m + at / n]).collect();
        let (a, b) = (self.b.clone(), self.a.clone());
        Self { a, b, costs, left: self.right.clone(), right: self.left.clone() }
    }

    fn reversed(&self) -> Self {
        let back = |values: &[f64]| values.iter().rev().copied().collect();
        Self {
            a: back(&self.a),
            b: back(&self.b),
            costs: back(&self.costs),
            left: back(&self.left),
            right: back(&self.right),
        }
    }

    /// What it costs to leave all mass behind.
    fn all(&self) -> f64 {
        dot(&self.a, &self.left) + dot(&self.b, &self.right)
    }

    /// Balanced transport where a last column takes what rows leave behind, and a last row gives what
    /// columns do without.
    fn by_transport(&self) -> f64 {
        let (n, m) = (self.a.len(), self.b.len());
        let sum = |masses: &[f64]| masses.iter().sum::<f64>();
        let (mut a, mut b) = (self.a.clone(), self.b.clone());
        a.push(sum(&self.b));
        b.push(sum(&self.a));
        let cost = |at: usize| match (at / (m + 1), at % (m + 1)) {
            (i, j) if i < n && j < m => self.costs[i * m + j].min(self.left[i] + self.right[j]),
            (i, _) if i < n => self.left[i],
            (_, j) if j < m => self.right[j],
            _ => 0.0,
        };
        let costs: Vec<f64> = (0..(n + 1) * (m + 1)).map(cost).collect();
        let costs = MatrixView::new(n + 1, m + 1, &costs).unwrap();
        Problem::between(&a, &b, costs).value(&silent).unwrap()
    }

    /// Checks a plan and potentials of all rows and columns against a value; sums of potentials may be above a
    /// cost by what rounding takes from it, and by `slack`.
    fn check(&self, solution: &Answer, Potentials { left: u, right: v }: &Potentials, slack: f64) {
        let (value, m, all) = (solution.value(), self.b.len(), self.all());
        let (mut a, mut b) = (self.a.clone(), self.b.clone());
        for (i, j, mass) in solution.plan.iter() {
            (a[i], b[j]) = (a[i] - mass, b[j] - mass);
        }
        let total: f64 = self.a.iter().chain(&self.b).sum();
        assert!(a.iter().chain(&b).all(|&left| left >= -1e-13 * total), "{a:?} {b:?}");
        let moved = solution.plan.cost(|i, j| self.costs[i * m + j]);
        let paid = moved + dot(&a, &self.left) + dot(&b, &self.right);
        assert!(near(paid, value, all), "{paid} {value} {all}");
        for (at, &cost) in self.costs.iter().enumerate() {
            let (i, j) = (at / m, at % m);
            let digits = slack + 1e-14 * (self.left[i] + self.right[j] + cost);
            assert!(u[i] + v[j] <= cost + digits, "{i} {j}: {} {} {cost}", u[i], v[j]);
        }
        let below = |duals: &[f64], most: &[f64]| {
            duals.iter().zip(most).all(|(dual, most)| *dual <= most * (1.0 + 1e-12))
        };
        assert!(below(u, &self.left) && below(v, &self.right), "{u:?} {v:?}");
        let bound = dot(&self.a, u) + dot(&self.b, v);
        assert!(near(bound, value, all), "{bound} {value} {all}");
    }
}

fn proved(problem: &Problem<'_>) -> (Answer, Potentials) {
    let (solution, potentials) = common::proved(problem);
    assert_eq!(problem.value(&silent).unwrap(), solution.value());
    (solution, potentials)
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Equal to 10⁻⁹, and to the last digits of what all mass would cost.
fn near(x: f64, y: f64, all: f64) -> bool {
    (x - y).abs() <= 1e-9 * y.abs() + 1e-14 * all
}

/// Costs up to 40 orders of magnitude apart, and penalties that are so, too.
fn far_apart() -> impl Strategy<Value = Penalized> {
    let mass = (1..30u8).prop_map(|tenths| f64::from(tenths) / 10.0);
    let far = prop_oneof![3 => Just(0), 1 => Just(6), 1 => Just(12), 1 => Just(18), 1 => Just(40)];
    let cost = (1..100u8, far).prop_map(|(digits, far)| f64::from(digits) * 10f64.powi(far - 1));
    let price = (0..100u8, -3..3i32, prop_oneof![2 => Just(0), 1 => -20..20i32]);
    let price = price.prop_map(|(digits, near, far)| f64::from(digits) * 10f64.powi(near + far));
    (1..6usize, 1..6usize, -20..20i32).prop_flat_map(move |(n, m, unit)| {
        let unit = 10f64.powi(unit);
        let masses = (vec(mass.clone(), n), vec(mass.clone(), m));
        let prices = (vec(price.clone(), n), vec(price.clone(), m));
        (masses, vec(cost.clone(), n * m), prices).prop_map(
            move |((a, b), costs, (left, right))| {
                let scaled = |values: Vec<f64>| values.into_iter().map(|x| x * unit).collect();
                Penalized { a, b, costs: scaled(costs), left: scaled(left), right: scaled(right) }
            },
        )
    })
}

/// Above all distances of a scene, whose last digits the triangle inequality may lose.
const LARGEST: f64 = 60.0;

/// Masses on points of the plane or of a ring, and a penalty for each point.
#[derive(Clone, Debug)]
struct Scene {
    metric: GroundMetric,
    measures: Measures,
    penalties: Vec<f64>,
    /// Where the metric is one of coordinates.
    points: Option<(Vec<f64>, PointMetric)>,
}

impl Scene {
    fn row(&self, k: usize) -> Vec<f64> {
        let mut masses = vec![0.0; self.measures.points()];
        self.measures.row(k).iter().for_each(|(point, mass)| masses[point] = mass);
        masses
    }

    fn by_costs(&self) -> Penalized {
        let n = self.metric.points();
        let costs = (0..n * n).map(|at| self.metric.distance(at / n, at % n)).collect();
        let (left, right) = (self.penalties.clone(), self.penalties.clone());
        Penalized { a: self.row(0), b: self.row(1), costs, left, right }
    }
}

fn scenes() -> impl Strategy<Value = Scene> {
    let mass = prop_oneof![2 => Just(0.0), 3 => 0.01..2.0, 1 => Just(1.0)];
    let price = prop_oneof![4 => 0.0..4.0, 1 => Just(0.0), 1 => Just(2.5)];
    (2..9usize, 0..4u8, any::<bool>()).prop_flat_map(move |(n, kind, to_a_line)| {
        let points = vec(prop_oneof![0.0..5.0, Just(1.0)], 2 * n);
        (points, vec(mass.clone(), 2 * n), vec(price.clone(), n)).prop_map(
            move |(points, masses, mut penalties)| {
                let ring: Vec<_> = (0..n).map(|i| (i, (i + 1) % n, points[i])).collect();
                let kinds =
                    [PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::SqEuclidean];
                let by_points =
                    kinds.get(usize::from(kind)).map(|&metric| (points.clone(), metric));
                let metric = match by_points {
                    Some((_, metric)) => GroundMetric::from_points(2, points, metric).unwrap(),
                    None => GroundMetric::from_edges(n, &ring).unwrap(),
                };
                if to_a_line {
                    // The way to a point, which obeys the triangle inequality.
                    penalties = (0..n).map(|i| metric.distance(0, i)).collect();
                }
                let rows = masses.chunks(n).map(|row| row.iter().copied().enumerate());
                let measures = Measures::from_rows_or_empty(n, rows).unwrap();
                Scene { metric, measures, penalties, points: by_points }
            },
        )
    })
}

proptest! {
    #[test]
    fn all_doors_agree_with_transport_to_a_spare_point(scene in scenes()) {
        let judge = scene.by_costs();
        let (a, b, all) = (scene.measures.row(0), scene.measures.row(1), judge.all());
        let empty = a.total() == 0.0 && b.total() == 0.0;
        let value = if empty { 0.0 } else { judge.by_transport() };
        let penalties = &scene.penalties;
        let on_ground = proved(&Problem::new(&scene.metric, &a, &b).with_penalties(penalties, penalties));
        let mut found = vec![on_ground, judge.proved()];
        if let Some((points, metric)) = &scene.points {
            let x = MatrixView::new(penalties.len(), 2, points).unwrap();
            for y in [None, Some(x)] {
                let problem = Problem::of_points(&a, &b, x, y, *metric).unwrap();
                found.push(proved(&problem.with_penalties(penalties, penalties)));
            }
        }
        for (solution, potentials) in &found {
            prop_assert!(near(solution.value(), value, 10.0 * all), "{} {value}", solution.value());
            judge.check(solution, potentials, 1e-14 * LARGEST);
        }
    }

    #[test]
    fn penalties_of_points_are_proved_however_far_apart(far in far_apart()) {
        let (solution, potentials) = far.proved();
        far.check(&solution, &potentials, 0.0);
        prop_assert!(solution.value() <= far.all() * (1.0 + 1e-12));
        let (value, all) = (solution.value(), far.all());
        prop_assert_eq!(far.transposed().value(), value);
        prop_assert!(near(far.reversed().value(), value, all));
        // Costs above both penalties are as good as those.
        let (mut capped, m) = (far.clone(), far.b.len());
        for (at, cost) in capped.costs.iter_mut().enumerate() {
            *cost = cost.min(far.left[at / m] + far.right[at % m]);
        }
        prop_assert!(near(capped.value(), value, all));
    }

    #[test]
    fn the_same_penalty_everywhere_is_one_penalty(scene in scenes(), price in 0.0..4.0) {
        let (a, b) = (scene.measures.row(0), scene.measures.row(1));
        let prices = vec![price; scene.penalties.len()];
        let problem = || Problem::new(&scene.metric, &a, &b);
        let one = problem().with_penalty(price).solve(&silent).unwrap();
        prop_assert_eq!(problem().with_penalties(&prices, &prices).solve(&silent).unwrap(), one);
    }

    #[test]
    fn many_pairs_have_the_bits_of_one_at_a_time(scene in scenes(), threads in 1..4usize) {
        let pairs = [(0, 1), (1, 0), (0, 0), (1, 1), (0, 1)];
        let (metric, measures, penalties) = (&scene.metric, &scene.measures, &scene.penalties);
        let problems = Problems::new(metric, measures, &pairs).with_penalties(penalties);
        let (found, bounds) = common::on_threads(threads, || {
            let bounds = problems.bounds(&Aim::exact(), &silent).unwrap();
            (problems.values(&silent).unwrap(), bounds)
        });
        for (at, (i, j)) in pairs.into_iter().enumerate() {
            let (a, b) = (measures.row(i), measures.row(j));
            let one = Problem::new(metric, &a, &b).with_penalties(penalties, penalties);
            prop_assert_eq!(found[at], one.value(&silent).unwrap());
            prop_assert!(bounds.lower[at] <= found[at] && found[at] <= bounds.upper[at]);
        }
        prop_assert_eq!(found[0], found[1]);
        let all = scene.by_costs().all();
        prop_assert!(found[2] <= 1e-14 * all && found[3] <= 1e-14 * all, "{:?}", found);
    }

    #[test]
    fn pieces_of_a_graph_pay_each_for_its_own(
        masses in vec(prop_oneof![Just(0.0), 0.1..2.0], 14), penalties in vec(0.0..4.0, 7)
    ) {
        // Two pieces of three nodes, and one of a single node.
        let edges = [(0, 2, 1.0), (2, 4, 0.5), (1, 3, 2.0), (3, 5, 0.25)];
        let ground = Components::from_edges(7, &edges).unwrap();
        let rows = masses.chunks(7).map(|row| row.iter().copied().enumerate());
        let measures = Measures::from_rows_or_empty(7, rows).unwrap();
        let far = |i: usize, j: usize| {
            let path = |i: usize| match i { 2 => 1.0, 4 => 1.5, 3 => 2.0, 5 => 2.25, _ => 0.0 };
            let piece = |i: usize| if i == 6 { 2 } else { i % 2 };
            if piece(i) == piece(j) { f64::abs(path(i) - path(j)) } else { 1e6 }
        };
        let judge = Penalized {
            a: masses[..7].to_vec(),
            b: masses[7..].to_vec(),
            costs: (0..49).map(|at| far(at / 7, at % 7)).collect(),
            left: penalties.clone(),
            right: penalties.clone(),
        };
        let (a, b) = (measures.row(0), measures.row(1));
        let (solution, potentials) = proved(&Problem::new(&ground, &a, &b).with_penalties(&penalties, &penalties));
        judge.check(&solution, &potentials, 1e-14 * LARGEST);
        let pairs = [(0, 1)];
        let problems = Problems::new(&ground, &measures, &pairs).with_penalties(&penalties);
        prop_assert!(near(problems.values(&silent).unwrap()[0], solution.value(), judge.all()));
        let bounds = problems.bounds(&Aim::exact(), &silent).unwrap();
        prop_assert!(near(bounds.upper[0], solution.value(), judge.all()));
    }
}

#[test]
fn mass_does_not_stay_where_it_pays_to_leave_it() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(2, &[1.0, 0.0, 1.0, 1.0]).unwrap();
    for (penalties, value) in [([0.0, 9.0], 1.0), ([8.5, 9.0], 9.0)] {
        for pair in [(0, 1), (1, 0)] {
            let (a, b) = (measures.row(pair.0), measures.row(pair.1));
            let problem = Problem::new(&metric, &a, &b).with_penalties(&penalties, &penalties);
            assert_eq!(problem.value(&silent).unwrap(), value, "{penalties:?}");
        }
    }
}

#[test]
fn large_masses_where_leaving_is_cheap_hide_no_penalty_elsewhere() {
    // Both have 10²⁰ at a point that may be left for next to nothing; elsewhere one unit has no partner.
    for shared in [0.0, 1e20] {
        let line = vec![0.0, 1e6, 1e6 + 1.0];
        let metric = GroundMetric::from_points(1, line, PointMetric::Euclidean).unwrap();
        let rows = [[(0, shared), (1, 1.0)], [(0, shared), (2, 2.0)]];
        let measures = Measures::from_rows_or_empty(3, rows).unwrap();
        let penalties = [1e-20, 2.0, 2.0];
        let problem = Problem::new(&metric, &measures.row(0), &measures.row(1))
            .with_penalties(&penalties, &penalties)
            .value(&silent);
        assert_eq!(problem.unwrap(), 3.0, "{shared}");
    }
}

#[test]
fn rounding_of_shared_mass_is_no_reason_to_give_up() {
    let metric = GroundMetric::from_points(1, vec![0.0, 5.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(2, &[1.0, 0.0, 1.0 - 1.2e-16, 3e-16]).unwrap();
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    assert!(problem.with_penalty(1.0).value(&silent).unwrap() < 1e-15);
}

#[test]
fn bad_penalties_of_points_are_named() {
    let costs = [1.0, 2.0];
    let refused = |left: &[f64], right: &[f64]| {
        let costs = MatrixView::new(1, 2, &costs).unwrap();
        let problem = Problem::between(&[1.0], &[0.5, 0.5], costs).with_penalties(left, right);
        problem.value(&silent).unwrap_err()
    };
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let error = refused(&[1.0], &[1.0, bad]);
        assert!(matches!(error, Error::BadPenalty { point: 1, .. }), "{error}");
    }
    assert!(matches!(refused(&[1.0, 1.0], &[1.0, 1.0]), Error::Shape { .. }));
    assert!(matches!(refused(&[1.0], &[1.0]), Error::Shape { .. }));
    let metric = GroundMetric::from_points(2, vec![0.0; 6], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0]).unwrap();
    let pairs = [(0, 0)];
    let short = Problems::new(&metric, &measures, &pairs).with_penalties(&[1.0]).values(&silent);
    assert!(matches!(short, Err(Error::Shape { .. })), "{short:?}");
    let (a, x) = (measures.row(0), MatrixView::new(3, 2, &[0.0; 6]).unwrap());
    for y in [None, Some(x)] {
        let problem = Problem::of_points(&a, &a, x, y, PointMetric::Euclidean).unwrap();
        let short = problem.with_penalties(&[1.0; 3], &[1.0]).value(&silent);
        assert!(matches!(short, Err(Error::Shape { .. })), "{short:?}");
    }
}
