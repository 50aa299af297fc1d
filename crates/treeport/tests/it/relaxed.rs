//! Transport that leaves mass behind, and potentials of all points: every answer is proved from
//! outside, by a plan and by potentials that meet; moved masses by the penalty that pays for them.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{
    Aim, Answer, Error, GroundMetric, MatrixView, Measure, Measures, PointMetric, Potentials,
    Problem, Problems, Relax, silent,
};

/// Masses on points of the plane or of a ring, and their distances by several metrics.
#[derive(Clone, Debug)]
struct Scene {
    metric: GroundMetric,
    measures: Measures,
}

impl Scene {
    fn row(&self, k: usize) -> Vec<f64> {
        let mut masses = vec![0.0; self.measures.points()];
        self.measures.row(k).iter().for_each(|(point, mass)| masses[point] = mass);
        masses
    }

    fn costs(&self) -> Vec<f64> {
        let n = self.metric.points();
        (0..n * n).map(|at| self.metric.distance(at / n, at % n)).collect()
    }

    fn solve(&self, relax: Relax) -> Answer {
        let (a, b) = (self.measures.row(0), self.measures.row(1));
        Problem::new(&self.metric, &a, &b).relaxed(relax).solve(&silent).unwrap()
    }

    fn between(&self, relax: Relax) -> Answer {
        self.on_costs(relax, |problem| problem.solve(&silent).unwrap())
    }

    /// The problem by its costs alone.
    fn on_costs<T>(&self, relax: Relax, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        let (n, costs, a, b) = (self.metric.points(), self.costs(), self.row(0), self.row(1));
        ask(&Problem::between(&a, &b, MatrixView::new(n, n, &costs).unwrap()).relaxed(relax))
    }

    /// Solutions with potentials of all points, on the metric and by costs alone.
    fn proved(&self, relax: Relax) -> [(Answer, Potentials); 2] {
        let both = |problem: &Problem<'_>| {
            let (solution, potentials) = common::proved(problem);
            (solution, potentials)
        };
        let (a, b) = (self.measures.row(0), self.measures.row(1));
        [both(&Problem::new(&self.metric, &a, &b).relaxed(relax)), self.on_costs(relax, both)]
    }

    /// What the parts of a plan cost, moved mass included; checks that no point gives or takes
    /// more than it has.
    fn check_plan(&self, solution: &Answer) -> (f64, f64) {
        let (mut a, mut b) = (self.row(0), self.row(1));
        for (i, j, mass) in solution.plan.iter() {
            (a[i], b[j]) = (a[i] - mass, b[j] - mass);
        }
        assert!(a.iter().chain(&b).all(|&left| left >= -1e-12), "{a:?} {b:?}");
        let cost = solution.plan.cost(|i, j| self.metric.distance(i, j));
        (cost, solution.plan.iter().map(|step| step.2).sum())
    }

    /// Checks that potentials are feasible at all points; returns what they prove.
    fn check_potentials(&self, potentials: &Potentials, most: f64) -> f64 {
        let Potentials { left: u, right: v } = potentials;
        let n = self.metric.points();
        for i in 0..n {
            for j in 0..n {
                let slack = self.metric.distance(i, j) - u[i] - v[j];
                assert!(slack >= -1e-9 * SIZE, "{i} {j} {slack}");
            }
        }
        assert!(u.iter().chain(v).all(|&value| value <= most + 1e-9 * SIZE), "{most} {u:?} {v:?}");
        let sum = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
        };
        sum(&self.row(0), u) + sum(&self.row(1), v)
    }

    fn totals(&self) -> f64 {
        self.measures.row(0).total() + self.measures.row(1).total()
    }
}

/// About the largest cost.
const SIZE: f64 = 100.0;

fn scenes() -> impl Strategy<Value = Scene> {
    let mass = prop_oneof![2 => Just(0.0), 3 => 0.01..2.0, 1 => Just(1.0)];
    (2..9usize, 0..4u8).prop_flat_map(move |(n, kind)| {
        let points = vec(prop_oneof![0.0..5.0, Just(1.0)], 2 * n);
        (points, vec(mass.clone(), 2 * n)).prop_map(move |(points, mut masses)| {
            masses[0] += 0.1;
            masses[2 * n - 1] += 0.1;
            let ring: Vec<_> = (0..n).map(|i| (i, (i + 1) % n, points[i])).collect();
            let of_points = |metric| GroundMetric::from_points(2, points.clone(), metric).unwrap();
            let metric = match kind {
                0 => of_points(PointMetric::Euclidean),
                1 => of_points(PointMetric::Manhattan),
                2 => of_points(PointMetric::SqEuclidean),
                _ => GroundMetric::from_edges(n, &ring).unwrap(),
            };
            Scene { metric, measures: Measures::from_dense(n, &masses).unwrap() }
        })
    })
}

fn close(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (x.abs() + y.abs()) + 1e-10
}

proptest! {
    #[test]
    fn a_penalty_is_proved_by_plan_and_potentials(scene in scenes(), price in 0.0..4.0) {
        let proved = scene.proved(Relax::Penalty(price));
        for (solution, potentials) in &proved {
            let (cost, moved) = scene.check_plan(solution);
            prop_assert!(close(solution.value(), cost + price * (scene.totals() - 2.0 * moved)));
            prop_assert!(close(solution.value(), scene.check_potentials(potentials, price)));
        }
        prop_assert!(close(proved[0].0.value(), proved[1].0.value()));
    }

    #[test]
    fn what_pays_under_a_penalty_is_cheapest_for_its_mass(scene in scenes(), price in 0.0..4.0) {
        let paid = scene.solve(Relax::Penalty(price));
        let (cost, mass) = scene.check_plan(&paid);
        for solution in [scene.solve(Relax::Mass(mass)), scene.between(Relax::Mass(mass))] {
            prop_assert!(close(solution.value(), cost), "{} {cost}", solution.value());
            let (spent, moved) = scene.check_plan(&solution);
            prop_assert!(close(spent, cost) && close(moved, mass), "{moved} {mass}");
        }
    }

    #[test]
    fn any_mass_moves_exactly_and_no_penalty_finds_it_cheaper(
        scene in scenes(), share in 0.0..=1.0, prices in vec(0.0..6.0, 8)
    ) {
        let most = scene.measures.row(0).total().min(scene.measures.row(1).total());
        let mass = share * most;
        let solution = scene.solve(Relax::Mass(mass));
        let (spent, moved) = scene.check_plan(&solution);
        prop_assert!(close(spent, solution.value()) && close(moved, mass), "{moved} {mass}");
        prop_assert!(close(solution.value(), scene.between(Relax::Mass(mass)).value()));
        for price in prices {
            // Moving this mass is one of the ways to pay the penalty.
            let paid = scene.solve(Relax::Penalty(price)).value();
            let bound = solution.value() + price * (scene.totals() - 2.0 * mass);
            prop_assert!(paid <= bound + 1e-9 * (1.0 + bound), "{paid} {bound}");
        }
    }

    #[test]
    fn a_mass_is_proved_by_potentials_and_the_penalty_at_which_it_moves(
        scene in scenes(), share in prop_oneof![0.0..=1.0, Just(1.0), Just(1e-9)], shift in -0.3..0.3f64
    ) {
        let [a, b] = [0, 1].map(|k| scene.measures.row(k).total());
        let mass = share * a.min(b);
        for (solution, potentials) in scene.proved(Relax::Mass(mass)) {
            let penalty = solution.penalty.unwrap_or(0.0);
            let worth = scene.check_potentials(&potentials, penalty);
            let proved = worth - penalty * (a + b - 2.0 * mass);
            prop_assert!(close(solution.value(), proved), "{} {proved}", solution.value());
            // The value of another mass lies above this line.
            let other = (mass + shift * a.min(b)).clamp(0.0, a.min(b));
            let value = scene.solve(Relax::Mass(other)).value();
            let line = proved + 2.0 * penalty * (other - mass);
            prop_assert!(value >= line - 1e-9 * (value + line.abs()) - 1e-10, "{value} {line}");
        }
    }

    #[test]
    fn potentials_of_plain_transport_prove_it_at_all_points(scene in scenes()) {
        let scene = Scene { measures: scene.measures.clone().normalized(), ..scene };
        for (solution, potentials) in scene.proved(Relax::Balanced) {
            let proved = scene.check_potentials(&potentials, f64::INFINITY);
            prop_assert!(close(solution.value(), proved), "{} {proved}", solution.value());
        }
    }

    #[test]
    fn no_penalty_is_paid_for_the_rounding_of_totals(scene in scenes(), power in -1..60i32) {
        let scene = Scene { measures: scene.measures.clone().normalized(), ..scene };
        let (a, b) = (scene.measures.row(0), scene.measures.row(1));
        let plain = Problem::new(&scene.metric, &a, &b).value(&silent).unwrap();
        let price = 10f64.powi(power);
        let [(solution, potentials), (between, _)] = scene.proved(Relax::Penalty(price));
        prop_assert!(close(solution.value(), between.value()));
        let plain = if power < 2 { solution.value() } else { plain };
        prop_assert!(close(solution.value(), plain), "{} {plain}", solution.value());
        let proved = scene.check_potentials(&potentials, price);
        prop_assert!(close(proved, plain), "{proved} {plain}");
    }

    #[test]
    fn many_pairs_agree_with_one_at_a_time(scene in scenes(), price in 0.0..4.0, threads in 1..4usize) {
        let pairs = [(0, 1), (1, 0), (0, 0), (1, 1), (0, 1)];
        let relaxed = Relax::Penalty(price);
        let (metric, measures) = (&scene.metric, &scene.measures);
        let found = common::on_threads(threads, || {
            Problems::new(metric, measures, &pairs).relaxed(relaxed).values(&silent).unwrap()
        });
        for ((i, j), value) in pairs.into_iter().zip(found) {
            let (a, b) = (measures.row(i), measures.row(j));
            let one = Problem::new(metric, &a, &b).relaxed(relaxed).solve(&silent).unwrap();
            prop_assert_eq!(value, one.value());
        }
    }

    #[test]
    fn whole_units_are_moved_as_the_best_of_all_partial_assignments(
        costs in vec(0..9u8, 16), count in 0..=4usize
    ) {
        let cost: Vec<f64> = costs.into_iter().map(f64::from).collect();
        let matrix = MatrixView::new(4, 4, &cost).unwrap();
        let ones = [1.0; 4];
        let mass = Relax::Mass(count as f64);
        let solution = Problem::between(&ones, &ones, matrix).relaxed(mass).solve(&silent).unwrap();
        prop_assert_eq!(solution.value(), cheapest(&cost, 0, 0, count));
    }
}

/// The cheapest `count` of the rows from `row` on, to columns that `used` does not have.
fn cheapest(cost: &[f64], row: usize, used: u32, count: usize) -> f64 {
    if count == 0 {
        return 0.0;
    }
    if row == 4 {
        return f64::INFINITY;
    }
    let columns = (0..4).filter(|j| used & (1 << j) == 0);
    let taken =
        columns.map(|j| cost[row * 4 + j] + cheapest(cost, row + 1, used | (1 << j), count - 1));
    taken.fold(cheapest(cost, row + 1, used, count), f64::min)
}

#[test]
fn bad_penalties_and_masses_are_named() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(2, &[1.0, 0.0, 0.0, 3.0]).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    for relaxed in [
        Relax::Penalty(-1.0),
        Relax::Penalty(f64::INFINITY),
        Relax::Penalty(f64::NAN),
        Relax::Mass(-0.5),
        Relax::Mass(1.1),
        Relax::Mass(f64::NAN),
    ] {
        let error = Problem::new(&metric, &a, &b).relaxed(relaxed).solve(&silent).unwrap_err();
        assert!(matches!(error, Error::BadOption { .. }), "{relaxed:?} {error}");
    }
    let some =
        |mass| Problem::new(&metric, &a, &b).relaxed(Relax::Mass(mass)).solve(&silent).unwrap();
    assert_eq!((some(1.0).value(), some(0.0).value(), some(0.0).plan.len()), (1.0, 0.0, 0));
}

#[test]
fn a_tiny_mass_keeps_its_digits_beside_large_ones() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 0.0, 2.0]).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    for mass in [1e-6, 1e-9, 1e-12, 1e-17, 1e-300] {
        let solution =
            Problem::new(&metric, &a, &b).relaxed(Relax::Mass(mass)).solve(&silent).unwrap();
        assert!(
            (solution.value() / (5.0 * mass) - 1.0).abs() < 1e-12,
            "{mass}: {}",
            solution.value()
        );
        let moved: f64 = solution.plan.mass.iter().sum();
        assert!((moved / mass - 1.0).abs() < 1e-12, "{mass}: {moved}");
    }
}

/// A cost matrix and masses of few digits; costs are up to 40 orders of magnitude apart.
#[derive(Clone, Debug)]
struct FarApart {
    a: Vec<f64>,
    b: Vec<f64>,
    costs: Vec<f64>,
}

impl FarApart {
    fn ask<T>(&self, relax: Relax, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        let costs = MatrixView::new(self.a.len(), self.b.len(), &self.costs).unwrap();
        ask(&Problem::between(&self.a, &self.b, costs).relaxed(relax))
    }

    fn value(&self, relax: Relax) -> f64 {
        self.ask(relax, |problem| problem.value(&silent)).unwrap()
    }

    fn transposed(&self) -> Self {
        let (n, m) = (self.a.len(), self.b.len());
        let costs = (0..n * m).map(|at| self.costs[at % n * m + at / n]).collect();
        Self { a: self.b.clone(), b: self.a.clone(), costs }
    }

    fn reversed(&self) -> Self {
        let back = |values: &[f64]| values.iter().rev().copied().collect();
        Self { a: back(&self.a), b: back(&self.b), costs: back(&self.costs) }
    }

    fn totals(&self) -> f64 {
        self.a.iter().chain(&self.b).sum()
    }
}

fn far_apart() -> impl Strategy<Value = FarApart> {
    let mass = (1..30u8).prop_map(|tenths| f64::from(tenths) / 10.0);
    let far = prop_oneof![3 => Just(0), 1 => Just(6), 1 => Just(12), 1 => Just(18), 1 => Just(40)];
    let cost = (1..100u8, far).prop_map(|(digits, far)| f64::from(digits) * 10f64.powi(far - 1));
    (1..6usize, 1..6usize, -20..20i32).prop_flat_map(move |(n, m, unit)| {
        let unit = 10f64.powi(unit);
        (vec(mass.clone(), n), vec(mass.clone(), m), vec(cost.clone(), n * m)).prop_map(
            move |(a, b, costs)| FarApart { a, b, costs: costs.iter().map(|c| c * unit).collect() },
        )
    })
}

/// Equal to 10⁻⁹, and to the last digits of what all masses would cost.
fn near(x: f64, y: f64, all: f64) -> bool {
    (x - y).abs() <= 1e-9 * y.abs() + 1e-14 * all
}

proptest! {
    #[test]
    fn penalties_are_proved_however_far_apart_costs_are(far in far_apart(), order in -20..25i32) {
        let price = 10f64.powi(order);
        let relax = Relax::Penalty(price);
        let (solution, potentials) = far.ask(relax, |problem| {
            let (solution, potentials) = common::proved(problem);
            (solution, potentials)
        });
        let value = solution.value();
        let (all, m) = (price * far.totals(), far.b.len());
        prop_assert!(value <= all * (1.0 + 1e-12), "{value} {all}");
        let (mut a, mut b) = (far.a.clone(), far.b.clone());
        for (i, j, mass) in solution.plan.iter() {
            (a[i], b[j]) = (a[i] - mass, b[j] - mass);
        }
        let cost = solution.plan.cost(|i, j| far.costs[i * m + j]);
        let left: f64 = a.iter().chain(&b).sum();
        prop_assert!(a.iter().chain(&b).all(|&left| left >= -1e-12), "{a:?} {b:?}");
        prop_assert!(near(cost + price * left, value, all), "{cost} {left} {value}");
        let Potentials { left: u, right: v } = potentials;
        for (at, &cost) in far.costs.iter().enumerate() {
            prop_assert!(u[at / m] + v[at % m] <= cost * (1.0 + 1e-12) + 1e-14 * price);
        }
        prop_assert!(u.iter().chain(&v).all(|&dual| dual <= price * (1.0 + 1e-12)));
        let worth = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
        };
        let bound = worth(&far.a, &u) + worth(&far.b, &v);
        prop_assert!(near(bound, value, all), "{bound} {value} {all}");
    }

    #[test]
    fn order_and_direction_do_not_change_what_a_penalty_costs(
        far in far_apart(), order in -20..25i32
    ) {
        let relax = Relax::Penalty(10f64.powi(order));
        let value = far.value(relax);
        prop_assert!(near(far.transposed().value(relax), value, 0.0));
        prop_assert!(near(far.reversed().value(relax), value, 0.0));
        // Costs above twice the penalty are as good as that.
        let capped = far.costs.iter().map(|c| c.min(2.0 * 10f64.powi(order))).collect();
        let capped = FarApart { costs: capped, ..far };
        prop_assert!(near(capped.value(relax), value, 0.0));
    }

    #[test]
    fn order_and_direction_do_not_change_what_a_mass_costs(far in far_apart(), share in 1..9u8) {
        let total = |masses: &[f64]| masses.iter().sum::<f64>();
        let relax = Relax::Mass(f64::from(share) / 10.0 * total(&far.a).min(total(&far.b)));
        let value = far.value(relax);
        prop_assert!(near(far.transposed().value(relax), value, 0.0));
        prop_assert!(near(far.reversed().value(relax), value, 0.0));
    }

    #[test]
    fn masses_are_proved_by_potentials_however_far_apart_costs_are(
        far in far_apart(), order in -25..=0i32
    ) {
        let [a, b] = [&far.a, &far.b].map(|masses| masses.iter().sum::<f64>());
        let mass = 10f64.powi(order) * a.min(b);
        let (solution, potentials) = far.ask(Relax::Mass(mass), common::proved);
        let (value, m) = (solution.value(), far.b.len());
        let penalty = solution.penalty.unwrap_or(0.0);
        let Potentials { left: u, right: v } = potentials;
        let largest = u.iter().chain(&v).fold(penalty, |most, dual| most.max(dual.abs()));
        for (at, &cost) in far.costs.iter().enumerate() {
            prop_assert!(u[at / m] + v[at % m] <= cost * (1.0 + 1e-12) + 1e-14 * largest);
        }
        prop_assert!(u.iter().chain(&v).all(|&dual| dual <= penalty));
        let worth = |masses: &[f64], duals: &[f64]| -> f64 {
            masses.iter().zip(duals).map(|(mass, dual)| mass * (dual - penalty)).sum()
        };
        let bound = worth(&far.a, &u) + worth(&far.b, &v) + 2.0 * penalty * mass;
        prop_assert!(near(bound, value, penalty * (a + b)), "{bound} {value}");
    }
}

#[test]
fn costs_far_above_a_penalty_lend_it_nothing() {
    for high in [1e6, 1e12, 1e30, 1e300] {
        let far = FarApart { a: vec![0.8], b: vec![0.4, 0.3], costs: vec![high, high] };
        assert!((far.value(Relax::Penalty(1.0)) - 1.5).abs() <= 1e-15, "{high}");
        assert_eq!(far.value(Relax::Penalty(0.0)), 0.0);
    }
}

#[test]
fn masses_too_far_apart_are_not_given_as_proved() {
    let costs = MatrixView::new(2, 2, &[0.5, 2e35, 1e35, 1e35]).unwrap();
    let masses = [1.0, 1e-35];
    let value = Problem::between(&masses, &masses, costs).value(&silent);
    assert!(matches!(value, Err(Error::Unsolved { .. })), "{value:?}");
}

#[test]
fn a_side_without_mass_is_paid_for_by_the_other() {
    let nothing = FarApart { a: vec![0.0, 0.0], b: vec![0.5, 0.25], costs: vec![1.0; 4] };
    for far in [nothing.transposed(), nothing] {
        assert_eq!(far.value(Relax::Penalty(2.0)), 1.5);
        let bounds = far.ask(Relax::Penalty(2.0), |p| p.answer(&Aim::exact(), &silent));
        assert_eq!(bounds.unwrap().upper, 1.5);
        let refused = far.ask(Relax::Balanced, |problem| problem.value(&silent));
        assert!(matches!(refused, Err(Error::NoMass { .. })), "{refused:?}");
    }
    let neither = FarApart { a: vec![0.0], b: vec![0.0], costs: vec![1.0] };
    assert_eq!(neither.value(Relax::Penalty(2.0)), 0.0);
}

#[test]
fn tiny_masses_of_equal_measures_cost_nothing() {
    let masses = [0.7, 0.3, 1e-42, 5e-324];
    let costs: Vec<f64> = (0..16).map(|at| f64::from(u8::from(at % 5 != 0))).collect();
    let costs = MatrixView::new(4, 4, &costs).unwrap();
    assert_eq!(Problem::between(&masses, &masses, costs).value(&silent).unwrap(), 0.0);
}

#[test]
fn sides_without_mass_are_fine_wherever_a_penalty_is_paid() {
    let coordinates = [0.0, 0.0, 3.0, 4.0, 0.0, 1.0];
    let points =
        GroundMetric::from_points(2, coordinates.to_vec(), PointMetric::Euclidean).unwrap();
    let graph = GroundMetric::from_edges(3, &[(0, 1, 5.0), (0, 2, 1.0)]).unwrap();
    let rows = [vec![], vec![(0, 0.5), (2, 0.25)]];
    let measures = Measures::from_rows_or_empty(3, rows).unwrap();
    let x = MatrixView::new(3, 2, &coordinates).unwrap();
    for (i, j, value) in [(0, 1, 1.5), (1, 0, 1.5), (0, 0, 0.0), (1, 1, 0.0)] {
        let (a, b) = (measures.row(i), measures.row(j));
        for y in [None, Some(x)] {
            let problem = Problem::of_points(&a, &b, x, y, PointMetric::Euclidean).unwrap();
            let problem = problem.with_penalty(2.0);
            let (solution, proof) = common::proved(&problem);
            assert_eq!((solution.value(), problem.value(&silent).unwrap()), (value, value));
            let worth = |measure: &Measure<'_>, duals: &[f64]| -> f64 {
                measure.iter().map(|(point, mass)| mass * duals[point]).sum()
            };
            assert_eq!(worth(&a, &proof.left) + worth(&b, &proof.right), value);
        }
        for metric in [&points, &graph] {
            let problem = Problem::new(metric, &a, &b).with_penalty(2.0);
            assert_eq!(problem.value(&silent).unwrap(), value);
            let pairs = [(i, j)];
            let pairs = Problems::new(metric, &measures, &pairs).relaxed(Relax::Penalty(2.0));
            assert_eq!(pairs.values(&silent).unwrap(), [value]);
        }
    }
}

#[test]
fn weights_whose_sum_rounds_below_one_do_not_overflow() {
    for k in [10usize, 13, 37, 100] {
        // Everything crosses a bridge, so that all of the mass is in one place.
        let nodes = 2000;
        let path: Vec<_> = (1..nodes).map(|v| (v - 1, v, 1.0)).collect();
        let metric = GroundMetric::from_edges(nodes, &path).unwrap();
        let mass = 1.0 / k as f64;
        let rows = [0, nodes - k].map(|first| (first..first + k).map(move |p| (p, mass)));
        let measures = Measures::from_rows(nodes, rows).unwrap();
        let value = Problem::new(&metric, &measures.row(0), &measures.row(1)).value(&silent);
        let far = (nodes - k) as f64;
        assert!((value.unwrap() / far - 1.0).abs() <= 1e-12, "{k}");
        // Few against many, with a spare row and column.
        let (a, b) = (vec![mass; k], vec![1.0 / 1600.0; 1600]);
        let costs: Vec<f64> = (0..1600 * k).map(|at| ((at * 7919) % 101) as f64 / 101.0).collect();
        let far = FarApart { a, b, costs };
        let value = far.value(Relax::Penalty(0.4));
        assert!(near(far.transposed().value(Relax::Penalty(0.4)), value, 0.0) && value < 0.8);
    }
}

#[test]
fn a_mass_is_moved_to_its_last_digits() {
    let high = vec![0.0, 1e13, 1e13, 1e13];
    let tiny = FarApart { a: vec![1.0, 1e-13], b: vec![1.0, 1e-13], costs: high.clone() };
    assert_eq!(tiny.value(Relax::Mass(1.0)), 0.0);
    let more = FarApart { a: vec![1.0, 5e-13], b: vec![1.0, 1.0], costs: high };
    assert_eq!(more.value(Relax::Mass(1.0)), 0.0);
    let line = GroundMetric::from_points(1, vec![0.0, 1e12, 2e12], PointMetric::Euclidean).unwrap();
    let measures = Measures::from_dense(3, &[1.0, 1.0, 0.0, 1.0, 0.0, 1.0]).unwrap();
    let problem = Problem::new(&line, &measures.row(0), &measures.row(1)).with_mass(1.0 + 4e-13);
    assert!((problem.value(&silent).unwrap() - 0.4).abs() <= 1e-3);
}

/// Returns measures of `count` points each with masses in turn, on random points.
fn many_points(dim: usize, count: usize, far: f64) -> (GroundMetric, Measures) {
    let mut state = 88_172_645_463_325_252u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut coordinates: Vec<f64> = (0..2 * count * dim).map(|_| random()).collect();
    coordinates[0] += far;
    let sides = [0..count, count..2 * count];
    let rows = sides.map(|side| side.map(|point| (point, 1.0)).collect::<Vec<_>>());
    let metric = GroundMetric::from_points(dim, coordinates, PointMetric::Euclidean).unwrap();
    (metric, Measures::from_rows(2 * count, rows).unwrap())
}

#[test]
fn many_relaxed_points_are_solved_without_a_table_and_with_the_same_bits_on_any_threads() {
    let (metric, measures) = many_points(2, 760, 0.0);
    let (a, b) = (measures.row(0), measures.row(1));
    for relax in [Relax::Mass(76.0), Relax::Mass(759.5), Relax::Penalty(0.02), Relax::Penalty(9.0)]
    {
        let solve = || Problem::new(&metric, &a, &b).relaxed(relax).solve(&silent).unwrap();
        let one = common::on_threads(1, solve);
        assert_eq!(one.engine, treeport::solve::Engine::Auction, "{relax:?}");
        assert!(one.gap() <= 1e-9 * one.upper, "{relax:?}");
        assert_eq!(common::on_threads(3, solve), one, "{relax:?}");
        let swapped = Problem::new(&metric, &b, &a).relaxed(relax).value(&silent).unwrap();
        assert_eq!(swapped, one.upper, "{relax:?}");
        let problem = Problem::new(&metric, &a, &b).relaxed(relax);
        let near = problem.answer(&Aim::within(0.05), &silent).unwrap();
        assert!(near.lower <= one.upper && one.lower <= near.upper && near.is_within(0.05));
    }
}

#[test]
fn one_point_far_away_does_not_blur_the_others() {
    let (metric, measures) = many_points(2, 1_500, 1e9);
    let (plain, _) = many_points(2, 1_500, 0.0);
    let (a, b) = (measures.row(0), measures.row(1));
    let answer = Problem::new(&metric, &a, &b).solve(&silent).unwrap();
    assert_eq!(answer.engine, treeport::solve::Engine::Auction);
    assert!(answer.gap() <= 1e-9 * answer.upper);
    // The far point takes a way of about 10⁹, the others about as much as without it.
    let others = Problem::new(&plain, &a, &b).value(&silent).unwrap();
    let cost = |(i, j, mass): (usize, usize, f64)| mass * metric.distance(i, j);
    let near: f64 = answer.plan.iter().filter(|arc| arc.0 != 0).map(cost).sum();
    assert!(near <= others + 2.0 && (answer.upper - 1e9).abs() <= others + 3.0, "{near} {others}");
}

#[test]
fn a_first_plan_with_a_penalty_reads_its_costs() {
    let costs = [f64::NAN, 1.0, 1.0, 1.0];
    let costs = MatrixView::new(2, 2, &costs).unwrap();
    let problem = Problem::between(&[1.0, 1.0], &[1.0, 1.0], costs).with_penalty(3.0);
    let aim = Aim::exact().in_time(std::time::Duration::ZERO);
    assert!(matches!(
        problem.answer(&aim, &silent),
        Err(Error::BadDistance { from: 0, to: 0, .. })
    ));
}

#[test]
fn potentials_and_sweeps_can_be_stopped_at_any_question() {
    // Many points, of which few have mass.
    let (metric, _) = many_points(20, 10_000, 0.0);
    let rows = [0..300, 300..600].map(|side| side.map(|point| (point, 1.0)).collect::<Vec<_>>());
    let measures = Measures::from_rows(20_000, rows).unwrap();
    let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let run = |aim: Aim, most: usize| {
        asked.store(0, std::sync::atomic::Ordering::Relaxed);
        let count = |_: &treeport::progress::State<'_>| {
            asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < most
        };
        let answer = problem.answer(&aim, &count);
        (answer, asked.load(std::sync::atomic::Ordering::Relaxed))
    };
    let potentials = Aim::exact().wanting(treeport::Wanted::Potentials);
    let (solved, solving) = run(Aim::exact(), usize::MAX);
    let (proved, all) = run(potentials, usize::MAX);
    assert!(solved.is_ok() && proved.is_ok() && all > solving, "{all} {solving}");
    for most in solving..all {
        assert!(matches!(run(potentials, most).0, Err(Error::Canceled)), "{most} of {all}");
    }
    // One question after the costs, one after each sweep.
    let bounds = Aim::within(0.5);
    let (found, all) = run(bounds, usize::MAX);
    assert!(found.is_ok() && all >= 7, "{all}");
    for most in 0..all {
        assert!(matches!(run(bounds, most).0, Err(Error::Canceled)), "{most} of {all}");
    }
}

/// Penalties on the edges of a graph have the value of a table of its distances.
#[test]
fn penalties_on_a_street_grid_need_no_distances() {
    let (side, nodes) = (40, 1600);
    let length = |k: usize| 1.0 + (0.7 * k as f64).sin().abs();
    let right = (0..nodes).filter(|v| v % side + 1 < side).map(|v| (v, v + 1, length(v)));
    let down = (0..nodes - side).map(|v| (v, v + side, length(3 * v + 1)));
    let edges: Vec<_> = right.chain(down).collect();
    let metric = GroundMetric::from_edges(nodes, &edges).unwrap();
    let masses = |k: usize| (0..nodes).map(move |v| length(5 * v + k));
    let all: Vec<f64> = masses(2).chain(masses(3).map(|mass| 0.8 * mass)).collect();
    let measures = Measures::from_dense(nodes, &all).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    let table = metric.materialized().unwrap();
    for price in [0.4, 3.0, 500.0] {
        let problem = |metric| Problem::new(metric, &a, &b).with_penalty(price);
        let answer = problem(&metric).solve(&silent).unwrap();
        assert_eq!(answer.engine, treeport::solve::Engine::Edges);
        let judge = problem(&table).value(&silent).unwrap();
        assert!((answer.upper - judge).abs() <= 1e-9 * judge, "{price}");
        let [mut left, mut right] = [a, b].map(|row| row.iter().collect::<Vec<_>>());
        let mut paid = 0.0;
        for (i, j, mass) in answer.plan.iter() {
            (left[i].1, right[j].1) = (left[i].1 - mass, right[j].1 - mass);
            paid += mass * metric.distance(i, j);
        }
        let rest = left.iter().chain(&right).map(|entry| entry.1);
        assert!(rest.clone().all(|mass| mass >= -1e-9));
        paid += price * rest.sum::<f64>();
        assert!((paid - judge).abs() <= 1e-9 * judge, "{price}");
    }
}

/// Many masses over 30 orders of magnitude on a line are sorted: an auction takes ten times as long.
#[test]
fn a_mass_among_wide_masses_on_a_line_is_sorted() {
    let n = 740;
    let wave = |k: usize| (1.7 * k as f64).sin().abs();
    let at: Vec<f64> = (0..2 * n).map(wave).collect();
    let line = GroundMetric::from_points(1, at.clone(), PointMetric::Euclidean).unwrap();
    let rows = [0, n].map(|from| -> Vec<(usize, f64)> {
        (from..from + n).map(|k| (k, 10f64.powf(-30.0 * wave(3 * k + 1)))).collect()
    });
    let measures = Measures::from_rows(2 * n, rows.to_vec()).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    let plane = at.iter().flat_map(|&x| [x, 0.0]).collect();
    let plane = GroundMetric::from_points(2, plane, PointMetric::Euclidean).unwrap();
    for share in [0.9, 1e-3] {
        let mass = share * a.total().min(b.total());
        let found = Problem::new(&line, &a, &b).with_mass(mass).solve(&silent).unwrap();
        assert_eq!(found.engine, treeport::solve::Engine::Line, "{share}");
        let judge = Problem::new(&plane, &a, &b).with_mass(mass).value(&silent).unwrap();
        assert!((found.upper - judge).abs() <= 1e-8 * judge, "{} {judge}", found.upper);
    }
}
