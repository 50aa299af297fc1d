//! Tests on fixed problems: large ones, and regressions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::phases::next_epsilon;
use super::tests::{goal, judged, laid_out, sides_of};
use super::*;
use crate::measures::Measures;
use crate::metric::PointMetric;
use crate::solve::costs::tests::entries;
use crate::solve::costs::{Candidates, Coarser, Prices, Query, SinglePrecision};
use crate::solve::exact::random::random;
use crate::solve::problem::matrix::MatrixView;
use crate::solve::problem::posed::OnMatrix;
use crate::solve::relax::Relaxation;

#[test]
fn forbidden_moves_are_proved_where_lists_do_not_have_them() {
    let n = 300;
    let all = entries(2, n * n, 5);
    let masses = vec![1.0 / n as f64; n];
    let mut random = random(6);
    let others: Vec<f64> = (0..n).map(|_| random() + 0.1).collect();
    let total: f64 = others.iter().sum();
    let others: Vec<f64> = others.iter().map(|mass| mass / total).collect();
    let view = MatrixView::new(n, n, &all).unwrap();
    let mut sides = Sides::default();
    let matrix = OnMatrix { costs: &view, a: &masses, b: &others };
    sides.read_matrix(&matrix, Relaxation::Balanced).unwrap();
    let problem = laid_out(Costs::Matrix(&view), &sides, None, 512).unwrap();
    let best = problem.solve(&mut Simplex::default(), &goal(0.0, false)).unwrap();
    let found = best.certified.expect("a proof").value;
    let judge = judged(Costs::Matrix(&view), &sides).upper;
    assert!((found - judge).abs() <= 2e-9 * judge, "{found} {judge}");
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
    // The reference: a network simplex on the whole table.
    let view = MatrixView::new(n, m, &costs).unwrap();
    let mut sides = Sides::default();
    sides.read_matrix(&OnMatrix { costs: &view, a: &a, b: &b }, Relaxation::Balanced).unwrap();
    let judge = judged(Costs::Matrix(&view), &sides).upper;
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
            assert_eq!(solution.value(), back.value(&crate::silent).unwrap());
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
    let sides = sides_of(&metric, &measures);
    let problem = laid_out(Costs::Metric(&metric), &sides, None, 512).unwrap();
    let mut stopped = 0;
    for asked in [0, 3, 30, 300, 3000, 30_000, usize::MAX] {
        let count = std::cell::Cell::new(0);
        let keep_going = |_| {
            count.set(count.get() + 1);
            count.get() <= asked
        };
        let goal = |has_passed| Goal {
            width: 0.0,
            keep_going: &keep_going,
            keeps_bounds: true,
            has_passed,
        };
        match problem.solve(&mut Simplex::default(), &goal(&|| true)) {
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
            let canceled = problem.solve(&mut Simplex::default(), &goal(&|| false));
            assert!(matches!(canceled, Err(Error::Canceled)));
        }
    }
    assert!(stopped > 0);
}

/// Creates two measures of n points each with these coordinates and masses.
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
    let sides = sides_of(&metric, &measures);
    let problem = laid_out(Costs::Metric(&metric), &sides, None, 512).unwrap();
    let best = problem.solve(&mut Simplex::default(), &goal(0.0, false)).unwrap();
    let value = best.certified.map(|found| found.value).unwrap();
    assert!((value - 2f64.sqrt() * 1e-5).abs() <= 1e-9 * value, "{value}");
}

#[test]
fn costs_beyond_the_range_are_an_error_however_close_bounds_need_to_be() {
    let mut random = random(8);
    let at = |_| 1e149 * random();
    let (metric, measures) = two_clouds(1500, 2, PointMetric::Euclidean, at, || 1e200);
    let problem = crate::Problem::new(&metric, &measures.row(0), &measures.row(1));
    assert!(problem.answer(&crate::Aim::within(0.1), &crate::silent).is_err());
    assert!(problem.value(&crate::silent).is_err());
}

#[test]
fn an_epsilon_that_is_rounded_up_is_not_taken_for_ever() {
    // In single precision 0.1 is rounded up.
    assert!(f64::from(0.1f32) > 0.1);
    assert_eq!(next_epsilon(0.4, 0.1), 0.1);
    assert_eq!(next_epsilon(0.1, 0.1), 0.1 * levels::FALL);
    for k in 0..2000 {
        let (epsilon, wanted) = (1.0f32, f64::from(k) * 7.3e-4);
        assert!(next_epsilon(epsilon, wanted) < epsilon, "{wanted}");
    }
}

/// Cost source that counts the scans of all sinks.
struct Counted<'a> {
    costs: Box<dyn CostSource + 'a>,
    scans: Arc<AtomicUsize>,
}

impl CostSource for Counted<'_> {
    fn sizes(&self) -> [usize; 2] {
        self.costs.sizes()
    }

    fn cost(&self, source: usize, sink: usize) -> f64 {
        self.costs.cost(source, sink)
    }

    fn single(&self, source: usize, sink: usize) -> f32 {
        self.costs.single(source, sink)
    }

    fn precision(&self) -> SinglePrecision {
        self.costs.precision()
    }

    fn are_lengths(&self) -> bool {
        self.costs.are_lengths()
    }

    fn prices(&self, of: Vec<f32>) -> Prices {
        self.costs.prices(of)
    }

    fn refresh(&self, prices: &mut Prices) {
        self.costs.refresh(prices);
    }

    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        self.scans.fetch_add(rows.len(), Ordering::Relaxed);
        self.costs.candidates(rows, query)
    }

    fn rows_at_once(&self, rows: usize, query: &Query<'_>) -> usize {
        self.costs.rows_at_once(rows, query)
    }

    fn coarser(&self, group: usize) -> Option<Coarser<'_>> {
        self.costs.coarser(group)
    }
}

/// Returns the scans per source for a certified value, where a third of the points are spread over
/// this width and the others over 1.
fn scans_where_a_third_is_spread(width: f64, more: f64, from_matrix: bool) -> usize {
    let (n, mut random) = (1500, random(11));
    let at = |k: usize| random() * if (k / 2).is_multiple_of(3) { width } else { 1.0 };
    let mut masses = self::random(12);
    let mass = || 1.0 + more * masses();
    let (metric, measures) = two_clouds(n, 2, PointMetric::Euclidean, at, mass);
    let sides = sides_of(&metric, &measures.normalized());
    let all: Vec<f64> = (0..n * n).map(|k| metric.distance(k / n, n + k % n)).collect();
    let view = MatrixView::new(n, n, &all).unwrap();
    let costs = if from_matrix { Costs::Matrix(&view) } else { Costs::Metric(&metric) };
    let mut on_costs = sides.clone();
    if from_matrix {
        for place in &mut on_costs.right {
            *place -= n;
        }
    }
    let mut problem = laid_out(costs, &on_costs, None, 512).unwrap();
    let scans = Arc::new(AtomicUsize::new(0));
    problem.costs = Box::new(Counted { costs: problem.costs, scans: Arc::clone(&scans) });
    let best = problem.solve(&mut Simplex::default(), &goal(0.0, false)).unwrap();
    let value = best.certified.expect("a proof").value;
    let judge = judged(Costs::Metric(&metric), &sides).upper;
    assert!((value - judge).abs() <= 2e-9 * judge, "{value} {judge}");
    scans.load(Ordering::Relaxed) / n
}

/// Without levels that respect scales it takes up to a hundred scans a source.
#[test]
fn a_mixture_of_scales_takes_few_scans() {
    for from_matrix in [false, true] {
        for more in [0.0, 1.0] {
            let [plain, mixed] =
                [1.0, 1e3].map(|width| scans_where_a_third_is_spread(width, more, from_matrix));
            assert!(mixed <= 2 * plain + 8, "{mixed} {plain}");
        }
    }
}
