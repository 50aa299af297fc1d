//! Points with one coordinate, which are solved by sorting, from every door; judged by the simplex on
//! the table of their costs.

use std::time::Duration;

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{
    Aim, Answer, Error, GroundMetric, MatrixView, Measures, PointMetric, Potentials, Problem,
    Problems, Relax, silent,
};

/// Places and masses of two measures, some of them 0, and how far places are apart.
#[derive(Clone, Debug)]
struct Pair {
    kind: PointMetric,
    x: Vec<f64>,
    y: Vec<f64>,
    a: Vec<f64>,
    b: Vec<f64>,
}

const KINDS: [PointMetric; 4] =
    [PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::SqEuclidean, PointMetric::Cosine];

impl Pair {
    fn cost(&self, i: usize, j: usize) -> f64 {
        let (x, y) = (self.x[i], self.y[j]);
        match self.kind {
            PointMetric::SqEuclidean => (x - y).powi(2),
            PointMetric::Cosine => 1.0 - (x * y).signum(),
            _ => (x - y).abs(),
        }
    }

    fn costs(&self) -> Vec<f64> {
        let m = self.b.len();
        (0..self.a.len() * m).map(|at| self.cost(at / m, at % m)).collect()
    }

    fn largest(&self) -> f64 {
        self.costs().into_iter().fold(0.0, f64::max)
    }

    fn swapped(&self) -> Self {
        let Self { kind, x, y, a, b } = self.clone();
        Self { kind, x: y, y: x, a: b, b: a }
    }

    /// Asks about it by coordinates.
    fn ask<T>(&self, question: impl Fn(&Problem<'_>) -> T) -> T {
        let x = MatrixView::new(self.x.len(), 1, &self.x).unwrap();
        let y = MatrixView::new(self.y.len(), 1, &self.y).unwrap();
        let read = |masses: &[f64]| Measures::from_dense(masses.len(), masses).unwrap();
        let (a, b) = (read(&self.a), read(&self.b));
        let problem = Problem::of_points(&a.row(0), &b.row(0), x, Some(y), self.kind);
        question(&problem.unwrap())
    }

    /// What the simplex finds on the table of costs.
    fn judge(&self) -> f64 {
        let costs = self.costs();
        let costs = MatrixView::new(self.a.len(), self.b.len(), &costs).unwrap();
        Problem::between(&self.a, &self.b, costs).value(&silent).unwrap()
    }

    /// What values may differ by: what is proved of both, and mass that rounds.
    fn tolerance(&self, value: f64) -> f64 {
        2e-9 * value + 1e-14 * self.largest() * self.a.iter().sum::<f64>()
    }

    /// Checks that a plan takes all mass and no more than there is, with few moves; what it costs.
    fn cost_of(&self, solution: &Answer) -> f64 {
        let total: f64 = self.a.iter().sum();
        let (mut a, mut b) = (self.a.clone(), self.b.clone());
        for (i, j, mass) in solution.plan.iter() {
            (a[i], b[j]) = (a[i] - mass, b[j] - mass);
        }
        assert!(a.iter().chain(&b).all(|rest| rest.abs() <= 1e-14 * total), "{a:?} {b:?}");
        let with_mass = |masses: &[f64]| masses.iter().filter(|mass| **mass > 0.0).count();
        assert!(solution.plan.len() < with_mass(&self.a) + with_mass(&self.b));
        solution.plan.cost(|i, j| self.cost(i, j))
    }

    /// Checks that dual values of all points are feasible; what they prove.
    fn proved(&self, Potentials { left, right }: &Potentials) -> f64 {
        assert_eq!((left.len(), right.len()), (self.a.len(), self.b.len()));
        let size = left.iter().chain(right).fold(self.largest(), |most, dual| most.max(dual.abs()));
        for (i, u) in left.iter().enumerate() {
            for (j, v) in right.iter().enumerate() {
                assert!(u + v <= self.cost(i, j) + 4.0 * f64::EPSILON * size, "{i} {j}");
            }
        }
        let sum = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
        };
        sum(&self.a, left) + sum(&self.b, right)
    }
}

/// Few places, many or equal ones; masses of one size, of 20 orders of magnitude, or all the same.
fn pairs() -> impl Strategy<Value = Pair> {
    let sizes = prop_oneof![(1..4usize, 1..30usize), (1..30usize, 1..30usize)];
    (sizes, 0..4usize, 0..4u8, 0..4u8, any::<bool>()).prop_flat_map(
        |((n, m), kind, places, masses, equal)| {
            let place = move || match places {
                0 => (-5.0..5.0f64).boxed(),
                1 => (-3..3i32).prop_map(|k| f64::from(k) + 0.25).boxed(),
                2 => (-20..20i32, -1.0..1.0f64).prop_map(|(e, x)| x * 10f64.powi(e)).boxed(),
                _ => (0.0..1e-6f64).prop_map(|x| 1e6 + x).boxed(),
            };
            let mass = move || match masses {
                0 => prop_oneof![1 => Just(0.0), 3 => 0.01..2.0f64].boxed(),
                1 => (-20..1i32, 1.0..10.0f64).prop_map(|(e, x)| x * 10f64.powi(e)).boxed(),
                2 => (0..3u8).prop_map(f64::from).boxed(),
                _ => Just(0.1).boxed(),
            };
            let m = if equal { n } else { m };
            (vec(place(), n), vec(place(), m), vec(mass(), n), vec(mass(), m)).prop_map(
                move |(x, y, mut a, mut b)| {
                    let (x, y) = if equal { (x.clone(), x) } else { (x, y) };
                    if equal && masses > 1 {
                        b.clone_from(&a);
                        b.reverse();
                    }
                    a[0] += 0.1;
                    b[m - 1] += 0.1;
                    // Equal totals: what is missing goes to the last.
                    let (given, taken): (f64, f64) = (a.iter().sum(), b.iter().sum());
                    a[n - 1] += (taken - given).max(0.0);
                    b[0] += (given - taken).max(0.0);
                    let away = |places: Vec<f64>| -> Vec<f64> {
                        // Cosines have no distance for 0.
                        places.into_iter().map(|x| if x == 0.0 { 1.0 } else { x }).collect()
                    };
                    Pair { kind: KINDS[kind], x: away(x), y: away(y), a, b }
                },
            )
        },
    )
}

proptest! {
    #[test]
    fn sorting_finds_what_the_simplex_finds(pair in pairs()) {
        let judge = pair.judge();
        let tolerance = pair.tolerance(judge);
        let value = pair.ask(|problem| problem.value(&silent).unwrap());
        prop_assert!((value - judge).abs() <= tolerance, "{value} {judge}");
        prop_assert_eq!(value.to_bits(), pair.swapped().ask(|problem| problem.value(&silent).unwrap()).to_bits());
        let (solution, potentials) = pair.ask(|problem| {
            let (solution, potentials) = common::proved(problem);
            (solution, potentials)
        });
        prop_assert_eq!(solution.value().to_bits(), value.to_bits());
        prop_assert!(solution.gap() <= 1e-9 * value);
        let cost = pair.cost_of(&solution);
        prop_assert!((cost - value).abs() <= 1e-12 * value + 1e-300, "{cost} {value}");
        let proved = pair.proved(&potentials);
        prop_assert!((proved - value).abs() <= tolerance, "{proved} {value}");
    }

    #[test]
    fn bounds_are_the_solution_or_hold(pair in pairs(), no_time: bool) {
        let target = Aim::within(0.1).in_time(no_time.then_some(Duration::ZERO));
        let (value, bounds) =
            pair.ask(|problem| (problem.value(&silent).unwrap(), problem.answer(&target, &silent).unwrap()));
        prop_assert!(bounds.lower <= value && value <= bounds.upper + pair.tolerance(value));
        prop_assert!(no_time || bounds.upper == value && bounds.upper - bounds.lower <= 1e-9 * value);
    }

    #[test]
    fn measures_on_common_points_leave_what_they_share(
        kind in 0..4usize,
        places in vec((-3..4i32).prop_map(|k| f64::from(k) * 0.3 + 0.1), 12),
        masses in vec((0..4u8).prop_map(f64::from), 12),
        turn in 0..12usize,
    ) {
        let mut masses = masses;
        masses[0] += 1.0;
        let (a, mut b) = (masses.clone(), masses);
        b.rotate_left(turn);
        let pair = Pair { kind: KINDS[kind], x: places.clone(), y: places.clone(), a, b };
        let metric = GroundMetric::from_points(1, places.clone(), pair.kind).unwrap();
        let measures = Measures::from_dense(12, &[pair.a.clone(), pair.b.clone()].concat()).unwrap();
        let (judge, problem) = (pair.judge(), Problem::new(&metric, &measures.row(0), &measures.row(1)));
        let (solution, potentials) = common::proved(&problem);
        prop_assert!((solution.value() - judge).abs() <= pair.tolerance(judge));
        prop_assert!((pair.cost_of(&solution) - judge).abs() <= pair.tolerance(judge));
        let proved = pair.proved(&potentials);
        prop_assert!((proved - judge).abs() <= pair.tolerance(judge));
        let list = [(0, 1), (1, 0), (0, 0)];
        let values = Problems::new(&metric, &measures, &list).values(&silent).unwrap();
        prop_assert_eq!(values, [solution.value(), solution.value(), 0.0]);
        let x = MatrixView::new(12, 1, &places).unwrap();
        let one_set = Problem::of_points(&measures.row(0), &measures.row(1), x, None, pair.kind).unwrap();
        prop_assert_eq!(one_set.value(&silent).unwrap(), solution.value());
        if pair.kind.is_metric() {
            let stays: f64 = solution.plan.iter().filter(|(i, j, _)| i == j).map(|m| m.2).sum();
            let shared: f64 = pair.a.iter().zip(&pair.b).map(|(a, b)| a.min(*b)).sum();
            prop_assert_eq!(stays, shared);
        }
        // What may be left behind goes the way of all points.
        let relaxed = problem.relaxed(Relax::Penalty(0.2));
        let (_, potentials) = common::proved(&relaxed);
        let most = potentials.left.iter().chain(&potentials.right).fold(0.0, |m: f64, d| m.max(*d));
        prop_assert!(most <= 0.2 + 1e-12);
        pair.proved(&potentials);
    }
}

/// Numbers between 0 and 1.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64
    };
    (0..count).map(|_| next()).collect()
}

/// The integral of |F − G|, by the book.
fn integral(pair: &Pair) -> f64 {
    let left = pair.x.iter().zip(&pair.a).map(|(&x, &mass)| (x, mass));
    let right = pair.y.iter().zip(&pair.b).map(|(&y, &mass)| (y, -mass));
    let mut all: Vec<(f64, f64)> = left.chain(right).collect();
    all.sort_by(|p, q| p.0.total_cmp(&q.0));
    let (mut surplus, mut sum) = (0.0, 0.0);
    for step in all.windows(2) {
        surplus += step[0].1;
        sum += f64::abs(surplus) * (step[1].0 - step[0].0);
    }
    sum
}

#[test]
fn a_hundred_thousand_points_are_quick_and_proved() {
    let (n, m) = (100_000, 60_000);
    let masses = |count: usize, seed| {
        let masses = numbers(count, seed);
        let total: f64 = masses.iter().sum();
        masses.into_iter().map(|mass| mass / total).collect::<Vec<f64>>()
    };
    let (x, y) = (numbers(n, 1), numbers(m, 2));
    let kind = PointMetric::Euclidean;
    let pair = Pair { kind, x, y, a: masses(n, 3), b: masses(m, 4) };
    let integral = integral(&pair);
    let (solution, potentials) = pair.ask(|problem| {
        let (solution, potentials) = common::proved(problem);
        assert_eq!(problem.value(&silent).unwrap(), solution.value());
        (solution, potentials)
    });
    assert!(
        (solution.value() - integral).abs() <= 1e-9 * integral,
        "{} {integral}",
        solution.value()
    );
    assert!(solution.plan.len() < n + m && solution.gap() <= 1e-9 * integral);
    // Neighbors are all that 1-Lipschitz functions are checked at.
    let Potentials { left, right } = potentials;
    let sides = pair.x.iter().zip(left).chain(pair.y.iter().zip(right.into_iter().map(|v| -v)));
    let mut heights: Vec<(f64, f64)> = sides.map(|(&x, height)| (x, height)).collect();
    heights.sort_by(|p, q| p.0.total_cmp(&q.0));
    let steep = |s: &[(f64, f64)]| (s[1].1 - s[0].1).abs() > s[1].0 - s[0].0 + 2.0 * f64::EPSILON;
    assert!(!heights.windows(2).any(steep));
    let squares = Pair { kind: PointMetric::SqEuclidean, ..pair };
    let solution = squares.ask(|problem| problem.solve(&silent).unwrap());
    assert!(solution.gap() <= 1e-9 * solution.value() && solution.value() < integral);
}

#[test]
fn masses_and_places_at_the_ends_of_the_range_are_solved() {
    let of = |x: &[f64], a: &[f64], y: &[f64], b: &[f64]| Pair {
        kind: PointMetric::Euclidean,
        x: x.to_vec(),
        y: y.to_vec(),
        a: a.to_vec(),
        b: b.to_vec(),
    };
    for unit in [5e-324, 1e-310, 1e-200, 1.0, 1e140] {
        let pair = of(&[0.0, 3.0 * unit], &[0.25, 0.75], &[unit, unit], &[0.5, 0.5]);
        let solution = pair.ask(|problem| problem.solve(&silent).unwrap());
        let relative = solution.value() / unit;
        assert!((relative - 1.75).abs() <= if unit < 1e-300 { 0.5 } else { 1e-15 }, "{unit}");
    }
    for mass in [1e-300, 1e-20, 1e300] {
        let pair = of(&[0.0], &[mass], &[3.0], &[mass]);
        assert!((pair.ask(|problem| problem.value(&silent).unwrap()) / mass - 3.0).abs() < 1e-12);
    }
    let beyond = of(&[0.0], &[1e300], &[1e100], &[1e300]);
    let refused = beyond.ask(|problem| problem.value(&silent).unwrap_err());
    assert!(matches!(refused, Error::Overflow { .. }), "{refused}");
    // Masses that settling would change are refused, as everywhere.
    let apart = of(&[0.0, 1e40], &[1.0, 1e-40], &[0.0, 0.0], &[1.0, 1e-40]);
    let refused = apart.ask(|problem| problem.value(&silent).unwrap_err());
    assert!(matches!(refused, Error::Unsolved { .. }), "{refused}");
}

#[test]
fn it_stops_when_asked_to() {
    let pair = Pair {
        kind: PointMetric::Euclidean,
        x: vec![0.0, 1.0],
        y: vec![2.0],
        a: vec![0.5, 0.5],
        b: vec![1.0],
    };
    assert!(matches!(pair.ask(|problem| problem.value(&|_| false)), Err(Error::Canceled)));
}
