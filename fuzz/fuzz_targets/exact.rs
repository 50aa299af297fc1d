//! Exact transport on supports that overlap, masses over 30 orders of magnitude, and costs with ties.
//!
//! Every answer is checked from the outside: marginals, the cost of the plan, feasible dual values, and
//! a dual bound that meets the value.
#![no_main]

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use treeport::exact::{Solution, TOLERANCE, solve};
use treeport::{Error, GroundMetric, Measure, Measures};

/// Most points: the bytes of one input fill a matrix of this size.
const MOST_POINTS: usize = 24;

/// What rounding may add to a sum, relative to its largest term.
const ROUNDING: f64 = 1e-12;

#[derive(Debug)]
struct Problem {
    points: usize,
    /// The upper triangle.
    costs: Vec<f64>,
    masses: [Vec<f64>; 2],
    shared_stays: bool,
}

impl<'a> Arbitrary<'a> for Problem {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let points = u.int_in_range(2..=MOST_POINTS)?;
        // Few different costs make many ties; a wide range makes hard sums.
        let kind = u.int_in_range(0..=3)?;
        let pairs = points * (points - 1) / 2;
        let costs = (0..pairs).map(|_| cost(kind, u)).collect::<Result<_, _>>()?;
        let mut row = || (0..points).map(|_| mass(u)).collect::<Result<Vec<_>, _>>();
        let masses = [row()?, row()?];
        Ok(Self { points, costs, masses, shared_stays: u.arbitrary()? })
    }
}

fn cost(kind: u8, u: &mut Unstructured) -> arbitrary::Result<f64> {
    Ok(match kind {
        0 => f64::from(u.int_in_range(0..=3u8)?),
        1 => 1.0 + f64::from(u.arbitrary::<u8>()?) / 256.0,
        2 => f64::from(u.arbitrary::<u16>()?) / 7.0,
        _ => f64::from(u.int_in_range(1..=9u8)?) * 10f64.powi(u.int_in_range(-15..=15)?),
    })
}

/// 0 half of the time; else from 10^−15 to 10^15.
fn mass(u: &mut Unstructured) -> arbitrary::Result<f64> {
    let exponent = u.int_in_range(-46..=15)?;
    let digits = f64::from(u.int_in_range(1..=255u8)?) / 100.0;
    Ok(if exponent < -15 { 0.0 } else { digits * 10f64.powi(exponent) })
}

impl Problem {
    /// The measures, brought to one total; `None` if one has no mass.
    fn measures(&self) -> Option<Measures> {
        let [a, b] = &self.masses;
        let factor = a.iter().sum::<f64>() / b.iter().sum::<f64>();
        let b = b.iter().map(|mass| mass * factor);
        let dense: Vec<f64> = a.iter().copied().chain(b).collect();
        Measures::from_dense(self.points, &dense).ok()
    }

    fn metric(&self) -> GroundMetric {
        let mut costs = self.costs.clone();
        if self.shared_stays {
            close(self.points, &mut costs);
        }
        let metric = GroundMetric::from_condensed(self.points, costs).expect("costs are finite");
        if self.shared_stays { metric.assume_metric().unwrap() } else { metric }
    }
}

/// Shortest paths, so that the triangle inequality may be promised.
fn close(n: usize, costs: &mut [f64]) {
    let at = |i: usize, j: usize| {
        let (i, j) = (i.min(j), i.max(j));
        i * n - i * (i + 1) / 2 + j - i - 1
    };
    for k in 0..n {
        for i in (0..n).filter(|&i| i != k) {
            for j in (i + 1..n).filter(|&j| j != k) {
                costs[at(i, j)] = costs[at(i, j)].min(costs[at(i, k)] + costs[at(k, j)]);
            }
        }
    }
}

fuzz_target!(|problem: Problem| {
    let Some(measures) = problem.measures() else { return };
    let metric = problem.metric();
    let (a, b) = (measures.row(0), measures.row(1));
    let found = match solve(&metric, &a, &b) {
        Err(Error::Unsolved { .. }) if far_apart(&metric) => return,
        found => found.expect("a balanced problem has a proof unless its costs lie far apart"),
    };
    assert!(found.gap >= 0.0 && found.gap <= TOLERANCE * found.value, "{found:?}");
    check_plan(&metric, &a, &b, &found);
    check_duals(&metric, &a, &b, &found);
});

/// Whether costs lie so far apart that the solver may refuse: its documentation says 25 orders.
fn far_apart(metric: &GroundMetric) -> bool {
    let costs = || metric.condensed().unwrap().into_iter().filter(|&cost| cost > 0.0);
    costs().fold(0.0, f64::max) > 1e25 * costs().fold(f64::INFINITY, f64::min)
}

fn check_plan(metric: &GroundMetric, a: &Measure, b: &Measure, found: &Solution) {
    let mut left = vec![0.0; metric.points()];
    let mut right = left.clone();
    let mut cost = 0.0;
    for (i, j, mass) in found.plan.iter() {
        assert!(mass > 0.0);
        left[i] += mass;
        right[j] += mass;
        cost += mass * metric.distance(i, j);
    }
    assert!((cost - found.value).abs() <= ROUNDING * found.value, "{cost}, {found:?}");
    for (measure, sums) in [(a, left), (b, right)] {
        let mut expected = vec![0.0; sums.len()];
        measure.iter().for_each(|(point, mass)| expected[point] = mass);
        for (sum, mass) in sums.iter().zip(expected) {
            assert!((sum - mass).abs() <= ROUNDING * a.total(), "{sum}, {mass}, {found:?}");
        }
    }
}

/// Feasible dual values bound every plan from below; here they have to meet the plan.
fn check_duals(metric: &GroundMetric, a: &Measure, b: &Measure, found: &Solution) {
    let size = |duals: &[(usize, f64)]| duals.iter().map(|d| d.1.abs()).fold(0.0, f64::max);
    let largest = size(&found.left).max(size(&found.right));
    for &(i, u) in &found.left {
        for &(j, v) in &found.right {
            let (sum, distance) = (u + v, metric.distance(i, j));
            assert!(sum <= distance + ROUNDING * (largest + distance), "{i}, {j}, {found:?}");
        }
    }
    let moved = |own: &Measure, other: &Measure, duals: &[(usize, f64)]| -> f64 {
        let at = |m: &Measure, p: usize| m.iter().find(|x| x.0 == p).map_or(0.0, |x| x.1);
        let stays = |p| if metric.is_metric() { at(own, p).min(at(other, p)) } else { 0.0 };
        duals.iter().map(|&(p, dual)| (at(own, p) - stays(p)) * dual).sum()
    };
    let bound = moved(a, b, &found.left) + moved(b, a, &found.right);
    let slack = 2.0 * TOLERANCE * found.value + ROUNDING * a.total() * largest;
    assert!((found.value - bound).abs() <= slack, "bound {bound}, {found:?}");
}
