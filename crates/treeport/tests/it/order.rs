//! Orders of the distance: permutations, thresholds with another engine, and proofs.

use crate::problem::{Sides, sides};
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::solve::Engine;
use treeport::{
    Aim, Answer, Error, GroundMetric, MatrixView, Measures, PointMetric, Potentials, Problem,
    Problems, Relax, Wanted, silent,
};

const ORDERS: [f64; 5] = [1.0, 1.5, 2.0, 3.0, f64::INFINITY];

/// Computes the value of the best permutation by trying all of them.
fn by_permutations(costs: &[f64], n: usize, order: f64) -> f64 {
    fn go(costs: &[f64], n: usize, order: f64, left: &mut Vec<usize>, so_far: f64) -> f64 {
        let i = n - left.len();
        if i == n {
            return so_far;
        }
        let mut best = f64::INFINITY;
        for at in 0..left.len() {
            let j = left.swap_remove(at);
            let cost = costs[i * n + j];
            let next =
                if order.is_infinite() { so_far.max(cost) } else { so_far + cost.powf(order) };
            best = best.min(go(costs, n, order, left, next));
            left.push(j);
            let last = left.len() - 1;
            left.swap(at, last);
        }
        best
    }
    let sum = go(costs, n, order, &mut (0..n).collect(), 0.0);
    if order.is_infinite() { sum } else { sum.powf(1.0 / order) }
}

/// Computes the bottleneck value: the least cost or penalty up to which all mass moves, where
/// longer moves cost 1 and shorter ones nothing.
fn by_thresholds(sides: &Sides, relax: Relax) -> f64 {
    let costs = sides.costs();
    let mut all = costs.clone();
    all.push(0.0);
    if let Relax::Penalty(price) = relax {
        all.push(price);
    }
    all.sort_by(f64::total_cmp);
    let total: f64 = sides.a.iter().chain(&sides.b).sum();
    let is_enough = |t: f64| {
        let longer: Vec<f64> = costs.iter().map(|&cost| f64::from(u8::from(cost > t))).collect();
        let view = MatrixView::new(sides.a.len(), sides.b.len(), &longer).unwrap();
        let relax = match relax {
            Relax::Penalty(price) => Relax::Penalty(f64::from(u8::from(price > t))),
            relax => relax,
        };
        let problem = Problem::between(&sides.a, &sides.b, view).relaxed(relax);
        problem.value(&silent).unwrap() <= 1e-11 * total
    };
    all.into_iter().find(|&t| is_enough(t)).unwrap()
}

/// Checks plan and potentials of an answer of order ∞.
fn check_bottleneck(sides: &Sides, answer: &Answer, relax: Relax) {
    let (costs, width) = (sides.costs(), sides.b.len());
    assert_eq!(answer.engine, Engine::Bottleneck);
    let total: f64 = sides.a.iter().sum();
    let [mut a, mut b] = [sides.a.clone(), sides.b.clone()];
    let mut longest = 0f64;
    for (i, j, mass) in answer.plan.iter() {
        longest = longest.max(costs[i * width + j]);
        (a[i], b[j]) = (a[i] - mass, b[j] - mass);
    }
    assert!(longest <= answer.upper * (1.0 + 1e-12), "{longest} {answer:?}");
    let left: f64 = a.iter().chain(&b).map(|mass| mass.abs()).sum();
    let mut most = 1.0;
    if let Relax::Penalty(price) = relax {
        most = f64::from(u8::from(price >= answer.lower));
        assert!(left <= 1e-10 * total || price <= answer.upper, "{left} {answer:?}");
    } else if relax == Relax::Balanced {
        assert!(left <= 1e-10 * total, "{left} {total}");
    }
    if let Some(Potentials { left, right }) = &answer.potentials {
        let sum = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
        };
        let proved = sum(&sides.a, left) + sum(&sides.b, right);
        assert!(answer.lower == 0.0 || proved > 0.0, "{proved} {answer:?}");
        for (at, &cost) in costs.iter().enumerate() {
            let is_long = f64::from(u8::from(cost >= answer.lower * (1.0 - 1e-12)));
            assert!(left[at / width] + right[at % width] <= is_long, "{at} {answer:?}");
        }
        assert!(left.iter().chain(right).all(|&dual| dual <= most), "{answer:?}");
    }
}

proptest! {
    #[test]
    fn every_order_is_the_best_permutation(
        at in vec((0..6i32, 0..6i32), 12),
        smooth in vec(-3.0..3.0f64, 24),
        is_smooth: bool,
        metric in prop_oneof![Just(PointMetric::Euclidean), Just(PointMetric::Manhattan), Just(PointMetric::Chebyshev)],
    ) {
        let n = 6;
        let points: Vec<f64> = if is_smooth { smooth } else {
            at.iter().flat_map(|&(x, y)| [f64::from(x), f64::from(y)]).collect()
        };
        let ground = GroundMetric::from_points(2, points, metric).unwrap();
        let mut costs = Vec::new();
        for i in 0..n {
            costs.extend((0..n).map(|j| ground.distance(i, n + j)));
        }
        let masses: Vec<f64> = [[1.0, 0.0], [0.0, 1.0]].iter().flat_map(|&[x, y]| [vec![x; n], vec![y; n]].concat()).collect();
        let measures = Measures::from_dense(2 * n, &masses).unwrap();
        let view = MatrixView::new(n, n, &costs).unwrap();
        let ones = vec![1.0; n];
        for order in ORDERS {
            let judge = by_permutations(&costs, n, order);
            let close = |value: f64| (value - judge).abs() <= 1e-9 * (1.0 + judge);
            let problem = Problem::new(&ground, &measures.row(0), &measures.row(1)).with_order(order);
            prop_assert!(close(problem.value(&silent).unwrap()), "{order}");
            let reverse = Problem::new(&ground, &measures.row(1), &measures.row(0)).with_order(order);
            prop_assert!(close(reverse.value(&silent).unwrap()), "{order}");
            let between = Problem::between(&ones, &ones, view).with_order(order);
            prop_assert!(close(between.value(&silent).unwrap()), "{order}");
            let many = Problems::new(&ground, &measures, &[(0, 1), (1, 0)]).with_order(order);
            prop_assert!(many.values(&silent).unwrap().into_iter().all(close), "{order}");
            let bounds = many.bounds(&Aim::within(0.1), &silent).unwrap();
            prop_assert!(bounds.lower[0] <= judge * (1.0 + 1e-9) + 1e-12 && judge <= bounds.upper[0] * (1.0 + 1e-9) + 1e-12);
            prop_assert!(bounds.upper[0] <= 1.1 * bounds.lower[0] * (1.0 + 1e-9) + 1e-12, "{order} {bounds:?}");
        }
    }

    #[test]
    fn bottlenecks_are_thresholds_of_other_engines(
        sides in sides(),
        relax in prop_oneof![Just(Relax::Balanced), (0.0..4.0).prop_map(Relax::Penalty), Just(Relax::Mass(0.07))],
    ) {
        let judge = by_thresholds(&sides, relax);
        let wanted = if matches!(relax, Relax::Mass(_)) { Wanted::Plan } else { Wanted::Potentials };
        for answer in both_of_order(&sides, relax, f64::INFINITY, wanted) {
            prop_assert!((answer.upper - judge).abs() <= 1e-12 * (1.0 + judge), "{answer:?} {judge}");
            prop_assert_eq!(answer.lower, answer.upper);
            check_bottleneck(&sides, &answer, relax);
        }
    }

    #[test]
    fn potentials_prove_the_power_of_the_value(
        sides in sides(),
        relax in prop_oneof![Just(Relax::Balanced), (0.0..4.0).prop_map(Relax::Penalty)],
        order in prop_oneof![Just(2.0), Just(3.0)],
    ) {
        let (costs, width) = (sides.costs(), sides.b.len());
        let [one, other] = both_of_order(&sides, relax, order, Wanted::Potentials);
        prop_assert!((one.upper - other.upper).abs() <= 1e-9 * (1.0 + one.upper), "{one:?} {other:?}");
        for answer in [one, other] {
            let Potentials { left, right } = answer.potentials.as_ref().unwrap();
            let sum = |masses: &[f64], duals: &[f64]| -> f64 {
                masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
            };
            let (proved, power) = (sum(&sides.a, left) + sum(&sides.b, right), answer.upper.powf(order));
            prop_assert!((proved - power).abs() <= 1e-7 * (1.0 + power), "{proved} {power}");
            for (at, cost) in costs.iter().enumerate() {
                prop_assert!(left[at / width] + right[at % width] <= cost.powf(order) + 1e-7);
            }
        }
    }
}

/// Answers by coordinates and by costs.
fn both_of_order(sides: &Sides, relax: Relax, order: f64, wanted: Wanted) -> [Answer; 2] {
    let (x, y) = (&sides.x, &sides.y);
    let x = MatrixView::new(sides.a.len(), sides.dim, x).unwrap();
    let y = MatrixView::new(sides.b.len(), sides.dim, y).unwrap();
    let read = |masses: &[f64]| Measures::from_dense(masses.len(), masses).unwrap();
    let (a, b, costs) = (read(&sides.a), read(&sides.b), sides.costs());
    let metric = PointMetric::Manhattan;
    let points = Problem::of_points(&a.row(0), &b.row(0), x, Some(y), metric).unwrap();
    let matrix = MatrixView::new(sides.a.len(), sides.b.len(), &costs).unwrap();
    let between = Problem::between(&sides.a, &sides.b, matrix);
    let aim = Aim::exact().wanting(wanted);
    [points, between]
        .map(|problem| problem.relaxed(relax).with_order(order).answer(&aim, &silent).unwrap())
}

#[test]
fn large_bottlenecks_in_trees_are_those_of_flat_searches() {
    let wave = |k: usize| ((k * 7919 + 13) % 10_007) as f64 / 1000.0;
    let n = 700;
    for (dim, metric) in
        [(2, PointMetric::Euclidean), (3, PointMetric::Chebyshev), (12, PointMetric::SqEuclidean)]
    {
        let at: Vec<f64> = (0..2 * n * dim).map(wave).collect();
        let masses: Vec<f64> = (0..n).map(|k| 1.0 + wave(k * 3)).collect();
        let (x, y) = at.split_at(n * dim);
        let ground = GroundMetric::from_points(dim, at.clone(), metric).unwrap();
        let cost = |i: usize, j: usize| ground.distance(i, n + j);
        let (x, y) = (MatrixView::new(n, dim, x).unwrap(), MatrixView::new(n, dim, y).unwrap());
        let (a, mut b) = (masses.clone(), masses);
        b.rotate_left(100);
        let read = |masses: &[f64]| Measures::from_dense(n, masses).unwrap();
        let (rows, columns) = (read(&a), read(&b));
        let points = Problem::of_points(&rows.row(0), &columns.row(0), x, Some(y), metric).unwrap();
        let between = Problem::between(&a, &b, MatrixView::from_fn(n, n, &cost));
        let [one, other] = [points, between].map(|problem| {
            problem.with_order(f64::INFINITY).answer(&Aim::exact(), &silent).unwrap()
        });
        assert_eq!(one.upper, other.upper, "{metric}");
        assert_eq!(one.lower, one.upper, "{metric}");
        assert!(one.plan.iter().all(|(i, j, _)| cost(i, j) <= one.upper));
    }
}

#[test]
fn orders_below_one_are_refused() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(2, &[1.0, 0.0, 0.0, 1.0]).unwrap();
    for order in [0.999, 0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        let problem = Problem::new(&metric, &measures.row(0), &measures.row(1)).with_order(order);
        let error = problem.value(&silent).unwrap_err();
        assert!(matches!(error, Error::BadOption { option: "order", .. }), "{error}");
        let many = Problems::new(&metric, &measures, &[(0, 1)]).with_order(order);
        assert!(matches!(many.values(&silent), Err(Error::BadOption { option: "order", .. })));
    }
    // Rounding of totals does not move mass along a long arc.
    let metric =
        GroundMetric::from_points(1, vec![0.0, 1.0, 100.0], PointMetric::Euclidean).unwrap();
    let third = 1.0 / 3.0;
    let rows = [third, third, third, 2.0 * third, 0.0, 1.0 - 2.0 * third];
    let measures = Measures::from_dense(3, &rows).unwrap();
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    assert_eq!(problem.with_order(f64::INFINITY).value(&silent).unwrap(), 1.0);
}

#[test]
fn mass_without_a_partner_pays_its_penalty() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense_or_empty(2, &[2.0, 1.0, 0.0, 0.0]).unwrap();
    let penalties = [3.0, 1.0];
    for (order, value) in
        [(1.0, 7.0), (2.0, 19f64.sqrt()), (3.0, 55f64.cbrt()), (f64::INFINITY, 3.0)]
    {
        for (i, j) in [(0, 1), (1, 0)] {
            let problem = Problem::new(&metric, &measures.row(i), &measures.row(j));
            let problem = problem.with_penalties(&penalties, &penalties).with_order(order);
            let answer =
                problem.answer(&Aim::exact().wanting(Wanted::Potentials), &silent).unwrap();
            assert!((answer.upper - value).abs() < 1e-9, "{order}: {answer:?}");
            assert!((answer.lower - value).abs() < 1e-9, "{order}: {answer:?}");
        }
    }
}

#[test]
fn bottlenecks_stop_at_a_deadline_and_when_canceled() {
    let wave = |k: usize| ((k * 7919 + 13) % 10_007) as f64;
    let at: Vec<f64> = (0..800).map(wave).collect();
    let metric = GroundMetric::from_points(2, at, PointMetric::Euclidean).unwrap();
    let rows = [vec![1.0; 200], vec![0.0; 400], vec![1.0; 200]].concat();
    let measures = Measures::from_dense(400, &rows).unwrap();
    let problem =
        || Problem::new(&metric, &measures.row(0), &measures.row(1)).with_order(f64::INFINITY);
    let exact = problem().value(&silent).unwrap();
    let at_once = Aim::exact().in_time(std::time::Duration::ZERO);
    let answer = problem().answer(&at_once, &silent).unwrap();
    assert!(answer.lower <= exact && exact <= answer.upper, "{answer:?} {exact}");
    let canceled = problem().answer(&Aim::exact(), &|_| false);
    assert!(matches!(canceled, Err(Error::Canceled)), "{canceled:?}");
}

#[test]
fn plans_of_bottlenecks_move_no_more_than_the_mass() {
    let costs = [0.0, 10.0, 10.0, 0.0];
    for (masses, mass) in [([1.0, 1.0], 1.0), ([3.0, 1.0], 2.5)] {
        let matrix = MatrixView::new(2, 2, &costs).unwrap();
        let problem = Problem::between(&masses, &masses, matrix).with_mass(mass);
        let answer = problem.with_order(f64::INFINITY).answer(&Aim::exact(), &silent).unwrap();
        assert_eq!(answer.upper, 0.0);
        let moved: f64 = answer.plan.iter().map(|entry| entry.2).sum();
        assert!((moved - mass).abs() <= 1e-11 * mass, "{moved}");
    }
}

#[test]
fn potentials_of_powers_that_overflow_or_vanish_are_refused() {
    for cost in [1e7, 1e-7] {
        let costs = [2.0 * cost, 3.0 * cost, cost, 2.0 * cost];
        let matrix = MatrixView::new(2, 2, &costs).unwrap();
        let problem = Problem::between(&[1.0, 1.0], &[1.0, 1.0], matrix).with_order(50.0);
        assert!(problem.value(&silent).unwrap() > cost);
        let refused = problem.answer(&Aim::exact().wanting(Wanted::Potentials), &silent);
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("potentials are costs to that power"), "{message}");
    }
}

/// Costs that differ by many orders of magnitude, and orders whose powers are beyond `f64`.
#[test]
fn extreme_orders_have_the_value_of_the_best_permutation() {
    let n = 5;
    let wave = |k: usize| (1.7 * k as f64).sin().abs();
    let tables: [Vec<f64>; 4] = [
        (0..n * n).map(wave).collect(),
        (0..n * n).map(|k| 1e-200 * wave(k)).collect(),
        (0..n * n).map(|k| 10f64.powf(-30.0 * wave(k))).collect(),
        // A point far away that hardly moves.
        (0..n * n)
            .map(|k| match (k / n, k % n) {
                (0, 0) => 0.5,
                (0, _) | (_, 0) => 1e30,
                _ => wave(k),
            })
            .collect(),
    ];
    for (at, costs) in tables.iter().enumerate() {
        let longest = by_permutations(costs, n, f64::INFINITY);
        let scaled: Vec<f64> = costs.iter().map(|cost| cost / longest).collect();
        for order in [20.0, 300.0, 1e3, 1e4, 1e6] {
            let view = MatrixView::new(n, n, costs).unwrap();
            let ones = vec![1.0; n];
            let value = Problem::between(&ones, &ones, view).with_order(order).value(&silent);
            let (value, judge) = (value.unwrap(), longest * by_permutations(&scaled, n, order));
            assert!((value - judge).abs() <= 1e-9 * judge, "{at} {order}: {value} {judge}");
        }
    }
}

/// Powers of penalties far below all costs become 0.
#[test]
fn small_penalties_of_a_high_order_are_paid() {
    let costs = [5.0, 9.0, 4.0, 8.0];
    for (penalty, order) in [(1e-2, 200.0), (1e-4, 100.0), (1e-9, 40.0), (1e-2, 100.0)] {
        let problem =
            Problem::between(&[1.0; 2], &[1.0; 2], MatrixView::new(2, 2, &costs).unwrap());
        let value = problem.with_penalty(penalty).with_order(order).value(&silent).unwrap();
        let expected = 4f64.powf(1.0 / order) * penalty;
        assert!((value - expected).abs() <= 1e-9 * expected, "{penalty} {order}: {value}");
    }
}

/// Masses far below one that moves by rounding of the total.
#[test]
fn a_tiny_mass_of_order_infinity_moves_along_the_shortest_arcs() {
    let costs = [3.0, 2.0, 7.0, 1.0, 4.0, 6.0];
    let (a, b) = ([0.5, 0.5], [0.25, 0.25, 0.5]);
    let problem = || Problem::between(&a, &b, MatrixView::new(2, 3, &costs).unwrap());
    for (mass, longest) in [(1e-300, 1.0), (1e-30, 1.0), (1e-12, 1.0), (0.25, 1.0), (0.5, 2.0)] {
        let problem = problem().with_mass(mass).with_order(f64::INFINITY);
        let answer = problem.answer(&Aim::exact().wanting(Wanted::Plan), &silent).unwrap();
        assert_eq!((answer.lower, answer.upper), (longest, longest), "{mass}");
        let moved: f64 = answer.plan.iter().map(|(_, _, mass)| mass).sum();
        assert!((moved - mass).abs() <= 1e-11 * mass, "{mass} {moved}");
    }
    // A point of hardly any mass has to move, too.
    let (a, b) = ([1.0, 1e-15], [1e-15, 1.0]);
    let far = [0.0, 0.0, 9.0, 9.0];
    let problem = Problem::between(&a, &b, MatrixView::new(2, 2, &far).unwrap());
    let answer = problem.with_mass(1e-15).with_order(f64::INFINITY).value(&silent).unwrap();
    assert_eq!(answer, 0.0);
}
