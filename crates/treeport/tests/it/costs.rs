//! Problems given by costs alone, against the same problems on a metric, their mirror images, and all
//! permutations.

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
use treeport::{Answer, Error, GroundMetric, MatrixView, Measures, Problem, silent};

/// Masses of rows, masses of columns, and costs row after row.
#[derive(Clone, Debug)]
struct Costs {
    a: Vec<f64>,
    b: Vec<f64>,
    cost: Vec<f64>,
}

impl Costs {
    fn costs(&self) -> MatrixView<'_> {
        MatrixView::new(self.a.len(), self.b.len(), &self.cost).unwrap()
    }

    fn solve(&self) -> Answer {
        Problem::between(&self.a, &self.b, self.costs()).solve(&silent).unwrap()
    }

    fn at(&self, i: usize, j: usize) -> f64 {
        self.cost[i * self.b.len() + j]
    }

    /// The same with rows and columns in another order, some of them left out or named twice.
    fn picked(&self, rows: &[usize], columns: &[usize]) -> Self {
        let pick = |masses: &[f64], order: &[usize]| order.iter().map(|&k| masses[k]).collect();
        let cost = rows.iter().flat_map(|&i| columns.iter().map(move |&j| self.at(i, j)));
        Self { a: pick(&self.a, rows), b: pick(&self.b, columns), cost: cost.collect() }
    }

    fn transposed(&self) -> Self {
        let (n, m) = (self.a.len(), self.b.len());
        let cost = (0..m).flat_map(|j| (0..n).map(move |i| self.at(i, j))).collect();
        Self { a: self.b.clone(), b: self.a.clone(), cost }
    }

    /// Costs are known to rounding of the largest that can be moved.
    fn close(&self, x: f64, y: f64) -> bool {
        let largest = self.cost.iter().copied().fold(0.0, f64::max);
        (x - y).abs() <= 1e-9 * x.abs().max(y.abs()) + 1e-13 * largest
    }
}

fn normalized(mut masses: Vec<f64>) -> Vec<f64> {
    masses[0] = masses[0].max(0.1);
    let total: f64 = masses.iter().sum();
    for mass in &mut masses {
        *mass /= total;
    }
    masses
}

/// Rectangles of any costs: ties, zeros, sizes apart, other ways back.
fn problems(size: usize) -> impl Strategy<Value = Costs> {
    let masses = |n| vec(prop_oneof![1 => Just(0.0), 1 => Just(0.25), 3 => 0.01..1.0f64], n);
    let cost = prop_oneof![4 => 0.0..10.0, 3 => (0..4).prop_map(f64::from), 1 => Just(1e6)];
    (1..size, 1..size).prop_flat_map(move |(n, m)| {
        (masses(n), masses(m), vec(cost.clone(), n * m)).prop_map(|(a, b, cost)| Costs {
            a: normalized(a),
            b: normalized(b),
            cost,
        })
    })
}

/// Some order of `0..n`.
fn order(n: usize, keys: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&k| keys[k]);
    order
}

/// The cheapest of all assignments of rows to columns, one after the other.
fn cheapest(problem: &Costs, row: usize, free: &mut Vec<usize>) -> f64 {
    let mut least = if free.is_empty() { 0.0 } else { f64::INFINITY };
    for k in 0..free.len() {
        let column = free.remove(k);
        least = least.min(problem.at(row, column) + cheapest(problem, row + 1, free));
        free.insert(k, column);
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_metric_without_the_triangle_inequality_is_the_same_to_the_bit(
        (masses, distances) in (2..20usize).prop_flat_map(|n| (
            vec(prop_oneof![1 => Just(0.0), 3 => 0.01..1.0f64], 2 * n),
            vec(prop_oneof![0.0..10.0, (0..4).prop_map(f64::from)], n * (n - 1) / 2),
        )),
    ) {
        let n = masses.len() / 2;
        let (a, b) = (normalized(masses[..n].to_vec()), normalized(masses[n..].to_vec()));
        let metric = GroundMetric::from_condensed(n, distances).unwrap();
        let measures = Measures::from_dense(n, &[a.clone(), b.clone()].concat()).unwrap();
        let cost = |i: usize, j: usize| metric.distance(i, j);
        let costs = MatrixView::from_fn(n, n, &cost);
        let judge = Problem::new(&metric, &measures.row(0), &measures.row(1)).solve(&silent).unwrap();
        prop_assert_eq!(Problem::between(&a, &b, costs).value(&silent).unwrap(), judge.value());
        prop_assert_eq!(Problem::between(&a, &b, costs).solve(&silent).unwrap(), judge);
        let options = SinkhornOptions { epsilon: Epsilon::Relative(0.2), ..Default::default() };
        let judge = sinkhorn::solve(&Problem::new(&metric, &measures.row(0), &measures.row(1)), &options, &silent).unwrap();
        let entropic = sinkhorn::solve(&Problem::between(&a, &b, costs), &options, &silent).unwrap();
        prop_assert_eq!(sinkhorn::value(&Problem::between(&a, &b, costs), &options, &silent).ok(), judge.converged.then_some(judge.transport_cost));
        prop_assert_eq!(entropic, judge);
    }

    #[test]
    fn the_plan_moves_all_mass_and_the_duals_prove_it(problem in problems(25)) {
        let found = problem.solve();
        let (mut a, mut b, mut cost) = (problem.a.clone(), problem.b.clone(), 0.0);
        for (i, j, mass) in found.plan.iter() {
            prop_assert!(mass > 0.0);
            a[i] -= mass;
            b[j] -= mass;
            cost += mass * problem.at(i, j);
        }
        prop_assert!(a.iter().chain(&b).all(|rest| rest.abs() <= 1e-14));
        prop_assert!(problem.close(cost, found.value()));
        prop_assert!(found.gap() <= Answer::TOLERANCE * found.value());
        let mut bound = 0.0;
        for &(i, u) in &found.left {
            bound += problem.a[i] * u;
            for &(j, v) in &found.right {
                prop_assert!(u + v <= problem.at(i, j) + 1e-13 * problem.at(i, j).max(1e6));
            }
        }
        bound += found.right.iter().map(|&(j, v)| problem.b[j] * v).sum::<f64>();
        prop_assert!(problem.close(bound, found.value()));
        prop_assert_eq!(Problem::between(&problem.a, &problem.b, problem.costs()).value(&silent).unwrap(), found.value());
        let cost = |i, j| problem.at(i, j);
        let other = MatrixView::from_fn(problem.a.len(), problem.b.len(), &cost);
        prop_assert_eq!(Problem::between(&problem.a, &problem.b, other).solve(&silent).unwrap(), found);
    }

    #[test]
    fn neither_direction_nor_order_nor_parts_matter(problem in problems(25), keys in vec(any::<u32>(), 50)) {
        let value = problem.solve().value();
        prop_assert!(problem.close(problem.transposed().solve().value(), value));
        let (rows, columns) = (order(problem.a.len(), &keys), order(problem.b.len(), &keys[25..]));
        let shuffled = problem.picked(&rows, &columns);
        prop_assert!(problem.close(shuffled.solve().value(), value));
        // Every row as two of half the mass.
        let twice: Vec<usize> = rows.iter().flat_map(|&i| [i, i]).collect();
        let mut split = problem.picked(&twice, &columns);
        split.a.iter_mut().for_each(|mass| *mass /= 2.0);
        prop_assert!(problem.close(split.solve().value(), value));
    }

    #[test]
    fn units_of_mass_and_cost_do_not_matter(problem in problems(15)) {
        let (mass, cost) = (8.0, 0.25);
        let mut scaled = problem.clone();
        scaled.a.iter_mut().chain(&mut scaled.b).for_each(|m| *m *= mass);
        scaled.cost.iter_mut().for_each(|c| *c *= cost);
        // Powers of 2, so that nothing is rounded anew.
        prop_assert_eq!(scaled.solve().value(), problem.solve().value() * mass * cost);
    }

    #[test]
    fn it_agrees_with_all_permutations(problem in problems(7)) {
        let n = problem.a.len().min(problem.b.len());
        let all: Vec<usize> = (0..n).collect();
        let mut square = problem.picked(&all, &all);
        (square.a, square.b) = (vec![1.0; n], vec![1.0; n]);
        let judge = cheapest(&square, 0, &mut all.clone());
        prop_assert!(square.close(square.solve().value(), judge));
    }

    #[test]
    fn costs_without_mass_are_never_read(problem in problems(12), bad in prop_oneof![Just(f64::NAN), Just(-1.0)]) {
        let (n, m) = (problem.a.len(), problem.b.len());
        let cost = |i: usize, j: usize| if i < n && j < m { problem.at(i, j) } else { bad };
        let (mut a, mut b) = (problem.a.clone(), problem.b.clone());
        a.push(0.0);
        b.extend([0.0, 0.0]);
        let matrix: Vec<f64> = (0..=n).flat_map(|i| (0..m + 2).map(move |j| cost(i, j))).collect();
        let costs = MatrixView::new(n + 1, m + 2, &matrix).unwrap();
        prop_assert_eq!(Problem::between(&a, &b, costs).solve(&silent).unwrap(), problem.solve());
        prop_assert_eq!(Problem::between(&a, &b, MatrixView::from_fn(n + 1, m + 2, &cost)).value(&silent).unwrap(), problem.solve().value());
    }

    #[test]
    fn entropy_costs_more_and_the_way_back_the_same(problem in problems(12)) {
        let options = SinkhornOptions { epsilon: Epsilon::Relative(0.2), tolerance: 1e-11, ..Default::default() };
        let back = problem.transposed();
        let solve = |p: &Costs| sinkhorn::solve(&Problem::between(&p.a, &p.b, p.costs()), &options, &silent).unwrap();
        let (there, back) = (solve(&problem), solve(&back));
        prop_assert!(there.transport_cost >= problem.solve().value() * (1.0 - 1e-9));
        let largest = problem.cost.iter().copied().fold(0.0, f64::max);
        prop_assert!((there.transport_cost - back.transport_cost).abs() <= 1e-8 * largest);
    }
}

#[test]
fn shared_mass_moves_where_that_is_cheaper() {
    // The same two places on both sides, and staying is dear.
    let problem = Costs { a: vec![0.5, 0.5], b: vec![0.5, 0.5], cost: vec![3.0, 1.0, 0.0, 3.0] };
    assert_eq!(problem.solve().value(), 0.5);
}

#[test]
fn equal_sides_with_an_unequal_way_back_converge_to_the_right_plan() {
    // f = g is no solution here.
    let problem = Costs { a: vec![0.5, 0.5], b: vec![0.5, 0.5], cost: vec![1.0, 5.0, 0.0, 1.0] };
    let options = SinkhornOptions { epsilon: Epsilon::Absolute(1.0), ..Default::default() };
    let found = sinkhorn::solve(
        &Problem::between(&problem.a, &problem.b, problem.costs()),
        &options,
        &silent,
    )
    .unwrap();
    assert!(found.converged);
    // Two plans, stay or swap, at 1 and 2.5: x/(1/2 − x) = exp(−(5 + 0 − 1 − 1)/2).
    let swaps = 1.0 / (1.0 + 1.5f64.exp());
    assert!((found.transport_cost - (1.0 + 1.5 * swaps)).abs() < 1e-8, "{}", found.transport_cost);
}

#[test]
fn totals_that_differ_by_rounding_are_settled_and_others_refused() {
    let costs = MatrixView::new(1, 2, &[1.0, 3.0]).unwrap();
    let value = Problem::between(&[1.0 + 1e-9], &[0.5, 0.5], costs).value(&silent).unwrap();
    assert!((value - 2.0).abs() < 1e-8);
    let error = Problem::between(&[1.1], &[0.5, 0.5], costs).value(&silent).unwrap_err();
    assert!(matches!(
        error,
        Error::Unbalanced { left: 0, right: 1, left_total: 1.1, right_total: 1.0 }
    ));
}

#[test]
fn errors_name_the_entry() {
    let refused = |a: &[f64], b: &[f64], (n, m): (usize, usize), cost: &[f64]| {
        let costs = MatrixView::new(n, m, cost).unwrap();
        let error = Problem::between(a, b, costs).value(&silent).unwrap_err().to_string();
        assert_eq!(Problem::between(a, b, costs).solve(&silent).unwrap_err().to_string(), error);
        let options = SinkhornOptions::default();
        assert_eq!(
            sinkhorn::value(&Problem::between(a, b, costs), &options, &silent)
                .unwrap_err()
                .to_string(),
            error
        );
        assert_eq!(
            sinkhorn::solve(&Problem::between(a, b, costs), &options, &silent)
                .unwrap_err()
                .to_string(),
            error
        );
        error
    };
    let (half, ones) = ([0.5, 0.5], [1.0; 4]);
    let mass = |measure, value, point| {
        format!(
            "measure {measure} has mass {value} at point {point}; masses must be finite and at least 0"
        )
    };
    assert_eq!(refused(&[0.5, -0.5], &half, (2, 2), &ones), mass(0, "-0.5", 1));
    assert_eq!(refused(&half, &[f64::NAN, 1.0], (2, 2), &ones), mass(1, "NaN", 0));
    assert!(
        refused(&[0.0, f64::MAX, f64::MAX], &half, (3, 2), &[1.0; 6])
            .contains("mass inf at point 1")
    );
    assert!(refused(&half, &[0.0, 0.0], (2, 2), &ones).starts_with("measure 1 has no mass"));
    assert!(refused(&[], &half, (0, 2), &[]).starts_with("there are no points"));
    let shape = "the cost matrix has shape (1, 4), expected (2, 2)";
    assert_eq!(refused(&half, &half, (1, 4), &ones), shape);
    let extreme = [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-1e-300, "-1e-300")];
    for (bad, said) in [(-1.0, "-1")].into_iter().chain(extreme) {
        let mut cost = [1.0; 6];
        cost[5] = bad;
        let error = refused(&half, &[0.5, 0.0, 0.5], (2, 3), &cost);
        assert!(
            error.starts_with(&format!("distance from point 1 to point 2 is {said};")),
            "{error}"
        );
    }
    let error = MatrixView::new(2, 3, &ones).unwrap_err().to_string();
    assert_eq!(error, "the table has shape (4,), expected (2, 3)");
    let options = SinkhornOptions { max_iterations: 0, ..Default::default() };
    let costs = MatrixView::new(2, 2, &ones).unwrap();
    assert!(sinkhorn::value(&Problem::between(&half, &half, costs), &options, &silent).is_err());
}
