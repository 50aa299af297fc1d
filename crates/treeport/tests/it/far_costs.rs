//! Costs over forty orders of magnitude, against a judge that does not round: successive shortest paths on
//! whole masses, with costs as digits that are compared one after the other.

use std::ops::{Add, Mul, Sub};

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Answer, MatrixView, Potentials, Problem, Relax, silent};

/// Σ digit·2^(33·place), the highest digit first. Sums of some hundred costs have digits far below 2³²,
/// so that the order of the digits is that of the numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Digits([i64; PLACES]);

/// 2^(4·33) is beyond 10³⁹, and digits go up to 99.
const PLACES: usize = 5;
const BITS: i32 = 33;

impl Add for Digits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

impl Sub for Digits {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] - other.0[k]))
    }
}

impl Mul<i64> for Digits {
    type Output = Self;

    fn mul(self, times: i64) -> Self {
        Self(self.0.map(|digit| digit * times))
    }
}

impl Digits {
    fn new(digit: i64, place: usize) -> Self {
        let mut digits = Self::default();
        digits.0[PLACES - 1 - place] = digit;
        digits
    }

    /// In units of 2⁻⁶⁶, so that costs lie around 1.
    fn real(self) -> f64 {
        // The lowest first: all digits of a cost are at least 0.
        let places = (-2 * BITS..).step_by(BITS as usize);
        self.0.iter().rev().zip(places).map(|(&digit, place)| digit as f64 * 2f64.powi(place)).sum()
    }
}

/// A problem in sixteenths of mass.
#[derive(Clone, Debug)]
struct Far {
    a: Vec<i64>,
    b: Vec<i64>,
    costs: Vec<Digits>,
}

impl Far {
    fn ask<T>(&self, relax: Relax, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        let masses = |of: &[i64]| of.iter().map(|&mass| sixteenths(mass)).collect::<Vec<_>>();
        let (a, b) = (masses(&self.a), masses(&self.b));
        let costs: Vec<f64> = self.costs.iter().map(|cost| cost.real()).collect();
        let costs = MatrixView::new(a.len(), b.len(), &costs).unwrap();
        ask(&Problem::between(&a, &b, costs).relaxed(relax))
    }

    /// The least cost of moving so much.
    fn judge(&self, mut rest: i64) -> f64 {
        let (mut a, mut b, mut plan) =
            (self.a.clone(), self.b.clone(), vec![0i64; self.costs.len()]);
        while rest > 0 {
            let path = self.cheapest_path(&a, &b, &plan);
            let arcs = || path.windows(2).enumerate();
            let at = |k: usize, pair: &[usize]| {
                let (i, j) =
                    if k.is_multiple_of(2) { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
                i * b.len() + j
            };
            let back = arcs().filter(|(k, _)| k % 2 == 1).map(|(k, pair)| plan[at(k, pair)]);
            let ends = a[path[0]].min(b[path[path.len() - 1]]).min(rest);
            let amount = back.fold(ends, i64::min);
            for (k, pair) in arcs() {
                plan[at(k, pair)] += if k.is_multiple_of(2) { amount } else { -amount };
            }
            a[path[0]] -= amount;
            b[path[path.len() - 1]] -= amount;
            rest -= amount;
        }
        let paid = self.costs.iter().zip(&plan).map(|(&cost, &mass)| cost * mass);
        paid.fold(Digits::default(), |sum, cost| sum + cost).real() / 16.0
    }

    /// Rows and columns in turn, from a row with mass to a column that lacks some, by Bellman and Ford; of
    /// paths of one cost one with the fewest arcs.
    fn cheapest_path(&self, a: &[i64], b: &[i64], plan: &[i64]) -> Vec<usize> {
        let m = b.len();
        let start = |i: usize| (a[i] > 0).then(|| (Digits::default(), 0, vec![i]));
        let mut rows: Vec<_> = (0..a.len()).map(start).collect();
        let mut columns: Vec<Option<(Digits, usize, Vec<usize>)>> = vec![None; m];
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..a.len() * m {
                let (row, column) = (&mut rows[at / m], &mut columns[at % m]);
                let better = |price: Digits, steps: usize, than: &Option<(Digits, usize, _)>| {
                    than.as_ref().is_none_or(|than| (price, steps) < (than.0, than.1))
                };
                if let Some((price, steps, path)) = row {
                    let (price, steps) = (*price + self.costs[at], *steps + 1);
                    if better(price, steps, column) {
                        let path = [&path[..], &[at % m]].concat();
                        (*column, changed) = (Some((price, steps, path)), true);
                    }
                }
                if let Some((price, steps, path)) = column.as_ref().filter(|_| plan[at] > 0) {
                    let (price, steps) = (*price - self.costs[at], *steps + 1);
                    if better(price, steps, row) {
                        let path = [&path[..], &[at / m]].concat();
                        (*row, changed) = (Some((price, steps, path)), true);
                    }
                }
            }
        }
        let lacking = columns.into_iter().enumerate().filter(|(j, _)| b[*j] > 0);
        lacking.filter_map(|(_, found)| found).min().expect("both sides have mass left").2
    }

    fn transposed(&self) -> Self {
        let (n, m) = (self.a.len(), self.b.len());
        let costs = (0..n * m).map(|at| self.costs[at % n * m + at / n]).collect();
        Self { a: self.b.clone(), b: self.a.clone(), costs }
    }

    /// With other orders of rows and columns.
    fn reordered(&self, rows: &[u64], columns: &[u64]) -> Self {
        let by = |keys: &[u64], count: usize| {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(|&k| keys[k]);
            order
        };
        let (rows, columns) = (by(rows, self.a.len()), by(columns, self.b.len()));
        let m = self.b.len();
        let costs = rows.iter().flat_map(|&i| columns.iter().map(move |&j| self.costs[i * m + j]));
        Self {
            costs: costs.collect(),
            a: rows.iter().map(|&i| self.a[i]).collect(),
            b: columns.iter().map(|&j| self.b[j]).collect(),
        }
    }

    fn totals(&self) -> [i64; 2] {
        [self.a.iter().sum(), self.b.iter().sum()]
    }

    /// The plan moves so much of what there is, and costs what the solution says.
    fn check_plan(&self, solution: &Answer, moved: i64) -> Result<(), TestCaseError> {
        let m = self.b.len();
        let (mut rows, mut columns) = (vec![0.0; self.a.len()], vec![0.0; m]);
        for (i, j, mass) in solution.plan.iter() {
            prop_assert!(mass > 0.0);
            rows[i] += mass;
            columns[j] += mass;
        }
        let least = |sums: &[f64], given: &[i64]| {
            sums.iter().zip(given).all(|(sum, &given)| *sum <= sixteenths(given))
        };
        prop_assert!(least(&rows, &self.a) && least(&columns, &self.b), "{rows:?} {columns:?}");
        prop_assert_eq!(rows.iter().sum::<f64>(), sixteenths(moved));
        let paid = solution.plan.cost(|i, j| self.costs[i * m + j].real());
        prop_assert!(near(paid, solution.value()), "{paid} {}", solution.value());
        Ok(())
    }
}

fn sixteenths(mass: i64) -> f64 {
    mass as f64 / 16.0
}

/// To what counts as a proof; nothing but 0 is near 0.
fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= Answer::TOLERANCE * y.abs()
}

fn problems() -> impl Strategy<Value = Far> {
    let mass = prop_oneof![Just(1i64), Just(16), 1..100i64];
    let any = (1..100i64, 0..PLACES).prop_map(|(digit, place)| Digits::new(digit, place));
    // Many ties, also of costs that are far apart.
    let tied = (0..PLACES).prop_map(|place| Digits::new(1, place));
    let cost = prop_oneof![Just(Digits::default()), any, tied];
    (1..7usize, 1..7usize).prop_flat_map(move |(n, m)| {
        (vec(mass.clone(), n), vec(mass.clone(), m), vec(cost.clone(), n * m))
            .prop_map(|(a, b, costs)| Far { a, b, costs })
    })
}

fn keys() -> impl Strategy<Value = [Vec<u64>; 2]> {
    [vec(any::<u64>(), 6), vec(any::<u64>(), 6)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_mass_costs_the_least_in_any_order(far in problems(), share in 0..=16i64, keys in keys()) {
        let [given, taken] = far.totals();
        let moved = given.min(taken) * share / 16;
        let judge = far.judge(moved);
        let other = far.reordered(&keys[0], &keys[1]);
        for far in [far.transposed(), other.transposed(), far, other] {
            let solution = far.ask(Relax::Mass(sixteenths(moved)), |problem| problem.solve(&silent));
            let solution = solution.unwrap();
            prop_assert!(near(solution.value(), judge), "{} {judge}", solution.value());
            far.check_plan(&solution, moved)?;
        }
    }

    #[test]
    fn all_mass_costs_the_least_in_any_order(mut far in problems(), keys in keys()) {
        let [given, taken] = far.totals();
        let short = if given < taken { &mut far.a } else { &mut far.b };
        short[0] += (given - taken).abs();
        let moved = given.max(taken);
        let judge = far.judge(moved);
        let other = far.reordered(&keys[0], &keys[1]);
        for far in [far.transposed(), other.transposed(), far, other] {
            let proved = |problem: &Problem<'_>| {
                let (solution, potentials) = common::proved(problem);
                (solution, potentials)
            };
            let (solution, Potentials { left: u, right: v }) = far.ask(Relax::Balanced, proved);
            prop_assert!(near(solution.value(), judge), "{} {judge}", solution.value());
            far.check_plan(&solution, moved)?;
            // The potentials are below the costs as given, and prove the value.
            let m = far.b.len();
            for (at, cost) in far.costs.iter().enumerate() {
                let (u, v, cost) = (u[at / m], v[at % m], cost.real());
                prop_assert!(u + v <= cost + 1e-15 * u.abs().max(v.abs()), "{u} + {v} > {cost}");
            }
            let worth = |masses: &[i64], duals: &[f64]| -> (f64, f64) {
                let parts = || masses.iter().zip(duals).map(|(&mass, dual)| sixteenths(mass) * dual);
                (parts().sum(), parts().map(f64::abs).sum())
            };
            let (left, right) = (worth(&far.a, &u), worth(&far.b, &v));
            let room = 1e-9 * judge + 1e-14 * (left.1 + right.1);
            prop_assert!((left.0 + right.0 - judge).abs() <= room, "{left:?} {right:?} {judge}");
        }
    }
}

/// A plan at no cost was found and not proved: what it leaves to be told apart is 0 and all else.
#[test]
fn what_costs_nothing_is_proved_beside_any_cost() {
    for costs in [[2.4e-18, 0.0, 5e19], [5e19, 2.4e-18, 0.0], [0.0, 5e19, 2.4e-18]] {
        let [a, b] = [vec![0.5], vec![0.531, 0.3, 1.3]];
        let matrix = MatrixView::new(1, 3, &costs).unwrap();
        let mass = Problem::between(&a, &b, matrix).relaxed(Relax::Mass(0.25));
        assert_eq!(mass.value(&silent).unwrap(), 0.0);
    }
}
