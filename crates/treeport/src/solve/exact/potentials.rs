//! The dual values of a solution at every point, so that anybody can check the proof.
//!
//! The solver has dual values where mass moves. Where the triangle inequality is promised, the
//! function f(x) = min(most, minⱼ d(x, j) − vⱼ) over the points j that gain mass is 1-Lipschitz, at
//! least uᵢ at every point that loses mass and at most −vⱼ at every j. So u = f and v = −f prove at
//! least as much as what they came from, mass that stays put included. Without the promise both
//! sides are extended by the least of what the other one allows.
//!
//! Where each point has a penalty of its own, f(p) = min(λₚ, minⱼ d(p, j) − vⱼ) is both uₚ and −vₚ at
//! points p where mass stays, and everything else is extended as without the promise. Mass stays
//! only if λᵢ ≤ λₚ + d(i, p) for the penalties of either side's points (`penalized`), so that
//! - uₚ + vⱼ ≤ d(p, j) by definition, and uₚ ≤ λₚ;
//! - uᵢ + vₚ ≤ d(i, p): where f(p) = λₚ, as uᵢ ≤ λᵢ ≤ λₚ + d(i, p); else as
//!   uᵢ ≤ d(i, j) − vⱼ ≤ d(i, p) + d(p, j) − vⱼ;
//! - vₚ ≤ μₚ, the penalty of p on the other side: f(p) ≥ min(0, minⱼ d(p, j) − μⱼ) ≥ −μₚ.
//!
//! Neither dual value of p is below what it was: f(p) ≥ uₚ, and f(p) ≤ −vₚ where p gains mass.

use super::Solution;
use super::line::Line;
use crate::metric::GroundMetric;
use crate::parallel;
use crate::solve::matrix::MatrixView;
use crate::solve::penalty::Penalty;
use crate::solve::problem::Potentials;

impl Solution {
    /// Dual values of all points of a metric, none above `most`.
    pub(in crate::solve) fn on_metric(
        &self,
        metric: &GroundMetric,
        most: Penalty<'_>,
    ) -> Potentials {
        let n = metric.points();
        let most = match most {
            Penalty::Same(most) => most,
            Penalty::OfPoints(_) => {
                let row = |i: usize, out: &mut [f64]| metric.row(i, out);
                return self.with_shared(metric, most).extended(n, n, most, row);
            }
        };
        if !metric.is_metric() {
            if let Some(line) = Line::of(metric) {
                return self.extended_on_line(&line, most);
            }
            return self.extended(n, n, Penalty::Same(most), |i, out| metric.row(i, out));
        }
        let left = self.heights(metric, most);
        let right = left.iter().map(|h| -h).collect();
        Potentials { left, right }
    }

    /// Dual values of all rows and columns, none above `most`. Rows and columns whose costs are all
    /// no numbers get 0.
    pub(in crate::solve) fn on_matrix(
        &self,
        costs: &MatrixView<'_>,
        most: Penalty<'_>,
    ) -> Potentials {
        let mut row = Vec::with_capacity(costs.columns());
        self.extended(costs.rows(), costs.columns(), most, |i, out| {
            row.clear();
            costs.push_whole_row(i, &mut row);
            out.copy_from_slice(&row);
        })
    }

    /// The same with dual values of points where mass stays put: those that have none on both sides.
    fn with_shared(&self, metric: &GroundMetric, most: Penalty<'_>) -> Self {
        let mut all = self.clone();
        if !metric.is_metric() {
            return all;
        }
        let has = |duals: &[(usize, f64)], p: usize| duals.binary_search_by_key(&p, |dual| dual.0);
        for (p, _, _) in self.plan.iter().filter(|&(from, to, _)| from == to) {
            let (left, right) = (has(&self.left, p), has(&self.right, p));
            if left.is_ok() && right.is_ok() {
                // A move like any other.
                continue;
            }
            let allowed = self.right.iter().map(|&(j, v)| metric.distance(p, j) - v);
            let height = allowed.fold(most.at(0, p), f64::min);
            match left {
                Ok(at) => all.left[at].1 = height,
                Err(_) => all.left.push((p, height)),
            }
            match right {
                Ok(at) => all.right[at].1 = -height,
                Err(_) => all.right.push((p, -height)),
            }
        }
        all
    }

    /// The 1-Lipschitz function of the module's text.
    fn heights(&self, metric: &GroundMetric, most: f64) -> Vec<f64> {
        let n = metric.points();
        if self.right.is_empty() {
            // Where nothing moves and nothing is left over, any constant proves it.
            return vec![if self.left.is_empty() { 0.0 } else { most }; n];
        }
        if metric.edges().is_some() {
            let mut height = vec![most.min(f64::MAX / 4.0); n];
            self.right.iter().for_each(|&(j, v)| height[j] = -v);
            metric.make_lipschitz(&mut height);
            return height;
        }
        if let Some(line) = Line::of(metric) {
            return line.allowed(&self.right, most);
        }
        let (columns, values): (Vec<usize>, Vec<f64>) = self.right.iter().copied().unzip();
        let lowest = |row: &mut Vec<f64>, i: usize| {
            row.resize(columns.len(), 0.0);
            metric.block(&[i], &columns, row);
            row.iter().zip(&values).map(|(d, v)| d - v).fold(most, f64::min)
        };
        if n.saturating_mul(columns.len()) <= ALONE {
            let mut row = Vec::new();
            return (0..n).map(|i| lowest(&mut row, i)).collect();
        }
        parallel::map_with(n, Vec::new, lowest)
    }

    /// As [`extended`](Self::extended), on a line.
    fn extended_on_line(&self, line: &Line<'_>, most: f64) -> Potentials {
        let mut right = line.allowed(&self.left, most);
        self.right.iter().for_each(|&(j, v)| right[j] = v);
        for v in &mut right {
            *v = or_zero(*v);
        }
        let columns: Vec<(usize, f64)> = right.iter().copied().enumerate().collect();
        let mut left = line.allowed(&columns, most);
        for u in &mut left {
            *u = or_zero(*u);
        }
        self.left.iter().for_each(|&(i, u)| left[i] = u);
        Potentials { left, right }
    }

    /// First columns without a value get the largest that the rows with one allow, then the other
    /// rows the largest that all columns allow.
    pub(in crate::solve) fn extended(
        &self,
        rows: usize,
        columns: usize,
        most: Penalty<'_>,
        mut costs: impl FnMut(usize, &mut [f64]),
    ) -> Potentials {
        let mut row = vec![0.0; columns];
        let mut right: Vec<f64> = (0..columns).map(|j| most.at(1, j)).collect();
        for &(i, u) in &self.left {
            costs(i, &mut row);
            right.iter_mut().zip(&row).for_each(|(v, cost)| *v = v.min(cost - u));
        }
        self.right.iter().for_each(|&(j, v)| right[j] = v);
        for v in &mut right {
            *v = or_zero(*v);
        }
        let mut left = vec![None; rows];
        self.left.iter().for_each(|&(i, u)| left[i] = Some(u));
        let mut allowed = |i: usize| {
            costs(i, &mut row);
            or_zero(row.iter().zip(&right).map(|(cost, v)| cost - v).fold(most.at(0, i), f64::min))
        };
        let left = left.into_iter().enumerate().map(|(i, u)| u.unwrap_or_else(|| allowed(i)));
        Potentials { left: left.collect(), right }
    }
}

/// Distances that one thread looks at before another would have begun.
const ALONE: usize = 1 << 16;

/// Without any cost nothing binds a value, and 0 is one that can be added up.
fn or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
