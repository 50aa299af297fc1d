//! The judge is the solver with a table of all costs.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::random::random;
use super::super::{Solver, reused};
use super::cloud::{Cloud, Query};
use super::frame::Frame;
use super::table::MatrixCosts;
use super::*;
use crate::measure::{Measure, Measures};
use crate::metric::{Period, PointMetric};
use crate::rounding::TOTALS;
use crate::solve::matrix::MatrixView;

/// Points of some kind: spread out, on a grid with many ties, in few places, of any size.
fn points() -> impl Strategy<Value = (GroundMetric, usize)> {
    let kinds = prop::sample::select(vec![
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::Chebyshev,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
        PointMetric::Haversine,
    ]);
    let turns = prop::sample::select(vec![None, Some([0.6, 0.9]), Some([1.3, 0.35])]);
    let dims = prop::sample::select(vec![1usize, 2, 3, 8, 9, 20]);
    let sizes = prop::sample::select(vec![1e-9, 1.0, 1e9]);
    let grids = prop::sample::select(vec![0.0, 3.0, 1.0]);
    (kinds, dims, sizes, grids, turns, 20usize..140, any::<u64>()).prop_filter_map(
        "no such metric",
        |(kind, dim, size, grid, turns, n, seed)| {
            let dim = if kind == PointMetric::Haversine { 2 } else { dim };
            let mut random = random(seed);
            let mut coordinate = || {
                let x = random();
                size * if grid > 0.0 { (grid * x).round() + 1.0 } else { x }
            };
            let mut coordinates: Vec<f64> = (0..n * dim).map(|_| coordinate()).collect();
            if kind == PointMetric::Haversine {
                // All over the Earth, on one side of it, in one town, and opposite to each other.
                let (width, others) =
                    [(180.0f64, 0.0), (90.0, 0.0), (0.1, 0.0), (1e-3, 180.0)][n % 4];
                for (k, at) in coordinates.iter_mut().enumerate() {
                    let share = *at / size / if grid > 0.0 { grid + 1.0 } else { 1.0 } - 0.5;
                    *at = share * if k % 2 == 0 { width.min(179.0) } else { width };
                    let is_opposite = k % 2 == 1 && k > n;
                    *at += if is_opposite { others } else { 0.0 };
                }
            }
            // Every third coordinate has no period.
            let period = turns.map(|turns: [f64; 2]| {
                let width = size * if grid > 0.0 { grid } else { 1.0 };
                let period = |k: usize| turns.get(k % 3).map(|turn| turn * width);
                Period::Each((0..dim).map(period).collect())
            });
            let period = period.filter(|_| kind != PointMetric::Haversine);
            let geometry = kind.with_optional_period(period);
            Some((GroundMetric::from_points(dim, coordinates, geometry).ok()?, n))
        },
    )
}

/// Masses of two measures: equal, random, over 20 orders of magnitude, the same points twice, or equal and as many
/// on either side.
fn measures(n: usize, kind: u8, seed: u64) -> Option<Measures> {
    let mut random = random(seed ^ 0xabcd);
    let mut mass = || match kind {
        0 | 4 => 1.0,
        1 => random() + 1e-3,
        _ => 10f64.powf(-20.0 * random()),
    };
    let half = n / 2;
    let sides = match kind {
        3 => [0..n, 0..n],
        4 => [0..half, half..2 * half],
        _ => [0..half, half..n],
    };
    let rows = sides.map(|side| side.map(|point| (point, mass())).collect::<Vec<_>>());
    Some(Measures::from_rows(n, rows).ok()?.normalized())
}

/// Both ways of solving what is laid out.
fn both(
    metric: &GroundMetric,
    (a, b): (&Measure<'_>, &Measure<'_>),
    (width, keeps_bounds): (f64, bool),
) -> Option<(Answer, f64, Solver)> {
    reused(|solver| {
        solver.lay_out(metric, a, b);
        if solver.left.is_empty() {
            return None;
        }
        let masses = [&solver.supply[..], &solver.demand];
        let sides = [&solver.left[..], &solver.right];
        let sparse = Sparse::new(metric, sides, masses, None, &|_| true).unwrap()?;
        let aim = Aim { width, goes_on: &|_| true, keeps_bounds, is_up: &|| false };
        let answer = sparse.solve(&mut Simplex::default(), &aim).unwrap();
        let mut dense = Solver::default();
        dense.lay_out(metric, a, b);
        dense.fill_costs(metric, &|_| true).unwrap();
        let value = dense.certified(&|_| true).unwrap().value;
        Some((answer, value, dense))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_proved_is_what_all_costs_say(
        (metric, n) in points(),
        (kind, seed) in (0u8..5, any::<u64>()),
        aim in (prop::sample::select(vec![0.0, 0.01, 0.2]), any::<bool>()),
    ) {
        let Some(measures) = measures(n, kind, seed) else { return Ok(()) };
        let (a, b) = (measures.row(0), measures.row(1));
        let Some((answer, value, dense)) = both(&metric, (&a, &b), aim) else { return Ok(()) };
        let near = 1e-9 * value + 1e-300;
        prop_assert!(answer.lower <= value + near, "{} {value}", answer.lower);
        prop_assert!(answer.upper >= value - near, "{} {value}", answer.upper);
        if let Some(found) = answer.certified {
            prop_assert!((found.value - value).abs() <= 2.0 * near, "{} {value}", found.value);
            prop_assert_eq!(found.value, answer.upper);
            prop_assert!(answer.moves.len() < dense.left.len() + dense.right.len());
        }
        // The plan has the masses given, and costs the upper bound.
        let total: f64 = dense.supply.iter().sum();
        let (mut given, mut taken) = (dense.supply.clone(), dense.demand.clone());
        let mut cost = 0.0;
        for &(i, j, mass) in &answer.moves {
            prop_assert!(mass > 0.0);
            given[i] -= mass;
            taken[j] -= mass;
            cost += mass * metric.distance(dense.left[i], dense.right[j]);
        }
        let most = given.iter().chain(&taken).fold(0.0, |most: f64, rest| most.max(rest.abs()));
        prop_assert!(most <= TOTALS * total, "{most}");
        prop_assert!((cost - answer.upper).abs() <= 1e-12 * cost);
        // The duals prove the lower bound for all pairs.
        if answer.left.is_empty() {
            prop_assert_eq!(answer.lower, 0.0);
            return Ok(());
        }
        let largest = answer.left.iter().chain(&answer.right).fold(0.0, |m: f64, d| m.max(d.abs()));
        for (&i, u) in dense.left.iter().zip(&answer.left) {
            for (&j, v) in dense.right.iter().zip(&answer.right) {
                prop_assert!(u + v <= metric.distance(i, j) + 1e-15 * largest);
            }
        }
        let sum = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
        };
        let proved = sum(&dense.supply, &answer.left) + sum(&dense.demand, &answer.right);
        prop_assert!(answer.lower <= proved + 1e-12 * total * largest);
    }

    #[test]
    fn boxes_and_single_precision_lose_nothing_that_is_not_said(
        (metric, n) in points(),
        prices in vec(-1.0..1.0f32, 140),
        most in 1usize..9,
        noise in prop::sample::select(vec![0.0f32, 0.3]),
    ) {
        let half = n / 2;
        let sides: [Vec<usize>; 2] = [(0..half).collect(), (half..n).collect()];
        let Some(frame) = Frame::new(&metric, [&sides[0], &sides[1]]) else { return Ok(()) };
        let ordered = |side: &[usize]| -> Vec<usize> {
            Cloud::order(&metric, side).iter().map(|&place| side[place as usize]).collect()
        };
        let (left, right) = (ordered(&sides[0]), ordered(&sides[1]));
        let from = Cloud::new(&frame, &metric, left.iter().copied(), None);
        let to = Cloud::new(&frame, &metric, right.iter().copied(), None);
        let prices = to.prices(prices[..right.len()].iter().copied());
        let rows: Vec<u32> = (0..left.len() as u32).collect();
        let query = Query { prices: &prices, most, noise };
        let boxed = to.nearest(&from, &rows, &query);
        let plain = to.without_boxes().nearest(&from, &rows, &query);
        let lost = frame.lost(1.0);
        for (i, (boxed, plain)) in boxed.iter().zip(&plain).enumerate() {
            prop_assert_eq!(boxed.limit, plain.limit);
            let sorted = |found: &cloud::Found| {
                let mut entries: Vec<_> =
                    found.entries().map(|e| (e.value.to_bits(), e.point)).collect();
                entries.sort_unstable();
                entries
            };
            prop_assert_eq!(sorted(boxed), sorted(plain));
            let listed: Vec<usize> = boxed.entries().map(|e| e.point as usize).collect();
            for j in 0..right.len() {
                let cost = metric.distance(left[i], right[j]) / frame.worth;
                let value = cost + f64::from(prices.of[j]);
                match boxed.entries().find(|entry| entry.point as usize == j) {
                    Some(entry) => {
                        let found = from.cost(i, &to, j);
                        prop_assert!((f64::from(found) - cost).abs() <= lost);
                        prop_assert!(noise > 0.0 || entry.value == found + prices.of[j]);
                        let off = f64::from(entry.value) - value;
                        prop_assert!(-lost <= off && off <= lost + f64::from(noise));
                    }
                    None => prop_assert!(
                        value + f64::from(noise) >= f64::from(boxed.limit) - lost,
                        "{listed:?}"
                    ),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_matrix_has_the_value_that_all_its_costs_say(
        (n, m) in (2usize..90, 2usize..90),
        (kind, seed, is_turned) in (0u8..4, any::<u64>(), any::<bool>()),
        (width, keeps_bounds) in (prop::sample::select(vec![0.0, 0.01, 0.2]), any::<bool>()),
    ) {
        let mut random = random(seed);
        let mut cost = || match kind {
            0 => random(),
            1 => (4.0 * random()).round(),
            // Moves that are forbidden.
            2 => { let cost = random(); if cost < 0.2 { 1e12 } else { cost } }
            _ => 1e-9 * random().powi(3),
        };
        let costs: Vec<f64> = (0..n * m).map(|_| cost()).collect();
        let mut masses = |count: usize| -> Vec<f64> {
            let all: Vec<f64> = (0..count).map(|_| random() + 1e-3).collect();
            let total: f64 = all.iter().sum();
            all.into_iter().map(|mass| mass / total).collect()
        };
        let (mut a, mut b) = (masses(n), masses(m));
        let view = MatrixView::new(n, m, &costs).unwrap();
        let value = crate::Problem::between(&a, &b, view).value(&crate::silent).unwrap();
        let (mut sources, mut sinks): (Vec<_>, Vec<_>) = ((0..n).collect(), (0..m).collect());
        if is_turned {
            std::mem::swap(&mut a, &mut b);
            std::mem::swap(&mut sources, &mut sinks);
        }
        crate::solve::exact::balance_totals(&a, &mut b);
        let matrix = MatrixCosts { view: &view, is_turned };
        let sparse = Sparse::of_matrix(matrix, [&sources, &sinks], [&a, &b], &|_| true);
        let sparse = sparse.unwrap().unwrap();
        let aim = Aim { width, goes_on: &|_| true, keeps_bounds, is_up: &|| false };
        let answer = sparse.solve(&mut Simplex::default(), &aim).unwrap();
        let near = 1e-9 * value + 1e-300;
        prop_assert!(answer.lower <= value + near && answer.upper >= value - near);
        prop_assert!(answer.reaches(width) || kind == 2 || width == 0.0, "{}", answer.lower / value);
        if let Some(found) = answer.certified {
            prop_assert!((found.value - value).abs() <= 2.0 * near, "{} {value}", found.value);
        }
        let largest = answer.left.iter().chain(&answer.right).fold(0.0, |m: f64, d| m.max(d.abs()));
        for (i, u) in answer.left.iter().enumerate() {
            for (j, v) in answer.right.iter().enumerate() {
                prop_assert!(u + v <= matrix.cost(i, j) + 1e-15 * largest);
            }
        }
    }
}

#[test]
fn a_large_matrix_has_the_same_bits_either_way_and_on_any_number_of_threads() {
    let (n, m) = (2100, 2050);
    let mut random = random(12);
    let costs: Vec<f64> = (0..n * m).map(|_| random()).collect();
    let back: Vec<f64> = (0..n * m).map(|at| costs[at % n * m + at / n]).collect();
    let (a, b) = (vec![1.0 / n as f64; n], vec![1.0 / m as f64; m]);
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let there = crate::Problem::between(&a, &b, MatrixView::new(n, m, &costs).unwrap());
            let back = crate::Problem::between(&b, &a, MatrixView::new(m, n, &back).unwrap());
            let value = there.value(&crate::silent).unwrap();
            assert_eq!(value, back.value(&crate::silent).unwrap());
            value
        })
    };
    let value = solve(1);
    assert_eq!(value, solve(3));
    // The judge: a network simplex on the whole table.
    let mut dense = Solver::default();
    let view = MatrixView::new(n, m, &costs).unwrap();
    let matrix = crate::solve::problem::OnMatrix { costs: &view, a: &a, b: &b };
    dense.prepare_between(&matrix, &|_| true).unwrap();
    let judge = dense.certified(&|_| true).unwrap().value;
    assert!((value - judge).abs() <= 2e-9 * judge, "{value} {judge}");
}

#[test]
fn a_large_matrix_with_a_cost_that_is_none_is_refused_by_its_place() {
    let n = 2100;
    let masses = vec![1.0; n];
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        let entry = |i: usize, j: usize| if (i, j) == (7, 1400) { bad } else { 1.0 };
        let view = MatrixView::from_fn(n, n, &entry);
        let error = crate::Problem::between(&masses, &masses, view).value(&crate::silent);
        assert!(matches!(error, Err(Error::BadDistance { from: 7, to: 1400, .. })));
    }
}

#[test]
fn any_number_of_threads_finds_the_same_bits() {
    same_bits_on_any_number_of_threads(2600, 1.0);
}

#[test]
fn any_number_of_threads_finds_the_same_bits_where_masses_are_equal() {
    same_bits_on_any_number_of_threads(1500, 0.0);
}

/// Masses differ by up to `more`.
fn same_bits_on_any_number_of_threads(n: usize, more: f64) {
    let dim = 3;
    let mut random = random(5);
    let coordinates = (0..2 * n * dim).map(|_| random()).collect();
    let metric = GroundMetric::from_points(dim, coordinates, PointMetric::Euclidean).unwrap();
    let mut mass = || 1.0 + more * random();
    let rows = [0, n].map(|first| (first..first + n).map(|p| (p, mass())).collect::<Vec<_>>());
    let measures = Measures::from_rows(2 * n, rows).unwrap().normalized();
    let (a, b) = (measures.row(0), measures.row(1));
    let solve = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let problem = crate::Problem::new(&metric, &a, &b);
        let back = crate::Problem::new(&metric, &b, &a);
        pool.install(|| {
            let solution = problem.solve(&crate::silent).unwrap();
            assert_eq!(solution.value, back.value(&crate::silent).unwrap());
            solution
        })
    };
    assert_eq!(solve(1), solve(3));
}

#[test]
fn a_run_can_be_stopped_and_says_what_it_knows() {
    let n = 2000;
    let mut random = random(9);
    let coordinates = (0..4 * n).map(|_| random()).collect();
    let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
    let rows = [0, n].map(|first| (first..first + n).map(|p| (p, 1.0)).collect::<Vec<_>>());
    let measures = Measures::from_rows(2 * n, rows).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    let exact = crate::Problem::new(&metric, &a, &b).value(&crate::silent).unwrap();
    let mut solver = Solver::default();
    solver.lay_out(&metric, &a, &b);
    let masses = [&solver.supply[..], &solver.demand];
    let sparse = Sparse::new(&metric, [&solver.left, &solver.right], masses, None, &|_| true)
        .unwrap()
        .unwrap();
    let mut stopped = 0;
    for asked in [0, 3, 30, 300, 3000, 30_000, usize::MAX] {
        let count = std::cell::Cell::new(0);
        let goes_on = |_| {
            count.set(count.get() + 1);
            count.get() <= asked
        };
        let aim = |is_up| Aim { width: 0.0, goes_on: &goes_on, keeps_bounds: true, is_up };
        match sparse.solve(&mut Simplex::default(), &aim(&|| true)) {
            Err(error) => panic!("{error}"),
            Ok(answer) => {
                stopped += usize::from(answer.certified.is_none());
                assert!(answer.upper <= 50.0 * exact || asked > 3, "{}", answer.upper);
                assert!(
                    answer.lower <= exact * (1.0 + 1e-9) && exact <= answer.upper * (1.0 + 1e-9)
                );
                assert!(answer.certified.is_some() || asked < usize::MAX);
            }
        }
        if count.replace(0) > asked {
            let cancelled = sparse.solve(&mut Simplex::default(), &aim(&|| false));
            assert!(matches!(cancelled, Err(Error::Cancelled)));
        }
    }
    assert!(stopped > 0);
}

/// Two measures of n points each, of which coordinates and masses are given.
fn two_clouds(
    n: usize,
    dim: usize,
    kind: PointMetric,
    mut coordinate: impl FnMut(usize) -> f64,
    mut mass: impl FnMut() -> f64,
) -> (GroundMetric, Measures) {
    let coordinates = (0..2 * n * dim).map(&mut coordinate).collect();
    let metric = GroundMetric::from_points(dim, coordinates, kind).unwrap();
    let rows = [0, n].map(|first| (first..first + n).map(|p| (p, mass())).collect::<Vec<_>>());
    (metric, Measures::from_rows(2 * n, rows).unwrap())
}

#[test]
fn points_on_a_line_in_the_plane_are_solved_as_on_a_line() {
    let n = 1500;
    let (mut places, mut masses) = (random(3), random(4));
    let places: Vec<f64> = (0..2 * n).map(|_| places()).collect();
    let masses: Vec<f64> = (0..2 * n).map(|_| masses()).collect();
    let value = |dim: usize| {
        let at = |k: usize| if k.is_multiple_of(dim) { places[k / dim] } else { 0.0 };
        let mut given = masses.iter();
        let mass = || *given.next().unwrap();
        let (metric, measures) = two_clouds(n, dim, PointMetric::Euclidean, at, mass);
        let measures = measures.normalized();
        let problem = crate::Problem::new(&metric, &measures.row(0), &measures.row(1));
        problem.value(&crate::silent).unwrap()
    };
    let (line, plane) = (value(1), value(2));
    assert!((line - plane).abs() <= 2e-9 * line, "{line} {plane}");
}

#[test]
fn a_value_far_below_the_duals_is_proved() {
    let n = 1500;
    let mut random = random(6);
    let first: Vec<f64> = (0..2 * n).map(|_| random()).collect();
    let at = |k: usize| first[k % (2 * n)] + if k < 2 * n { 0.0 } else { 1e-5 };
    let (metric, measures) = two_clouds(n, 2, PointMetric::Euclidean, at, || 1.0 / n as f64);
    let mut solver = Solver::default();
    solver.lay_out(&metric, &measures.row(0), &measures.row(1));
    let masses = [&solver.supply[..], &solver.demand];
    let sides = [&solver.left[..], &solver.right];
    let sparse = Sparse::new(&metric, sides, masses, None, &|_| true).unwrap().unwrap();
    let aim = Aim { width: 0.0, goes_on: &|_| true, keeps_bounds: false, is_up: &|| false };
    let answer = sparse.solve(&mut Simplex::default(), &aim).unwrap();
    let value = answer.certified.map(|found| found.value).unwrap();
    assert!((value - 2f64.sqrt() * 1e-5).abs() <= 1e-9 * value, "{value}");
}

#[test]
fn costs_beyond_the_range_are_an_error_however_close_bounds_need_to_be() {
    let mut random = random(8);
    let at = |_| 1e149 * random();
    let (metric, measures) = two_clouds(1500, 2, PointMetric::Euclidean, at, || 1e200);
    let problem = crate::Problem::new(&metric, &measures.row(0), &measures.row(1));
    let target = crate::Target { accuracy: crate::Accuracy::Within(0.1), time: None };
    assert!(problem.within(target, &crate::silent).is_err());
    assert!(problem.value(&crate::silent).is_err());
}

#[test]
fn an_epsilon_that_is_rounded_up_is_not_taken_for_ever() {
    // In single precision 0.1 is more than 0.1.
    assert!(f64::from(0.1f32) > 0.1);
    assert_eq!(next_epsilon(0.4, 0.1), 0.1);
    assert_eq!(next_epsilon(0.1, 0.1), 0.1 * FALL);
    for k in 0..2000 {
        let (epsilon, wanted) = (1.0f32, f64::from(k) * 7.3e-4);
        assert!(next_epsilon(epsilon, wanted) < epsilon, "{wanted}");
    }
}
