//! The dual values of a solution at every point, so that anybody can check the proof.
//!
//! The solver has dual values where mass moves. Where the triangle inequality is promised, the
//! function f(x) = min(most, minⱼ d(x, j) − vⱼ) over the points j that gain mass is 1-Lipschitz, at
//! least uᵢ at every point that loses mass and at most −vⱼ at every j. So u = f and v = −f prove at
//! least as much as what they came from, mass that stays put included. Without the promise both
//! sides are extended by the least of what the other one allows.

use super::Solution;
use super::line::Line;
use crate::metric::GroundMetric;
use crate::solve::matrix::MatrixView;
use crate::solve::problem::Potentials;

impl Solution {
    /// Dual values of all points of a metric, none above `most`.
    pub(in crate::solve) fn on_metric(&self, metric: &GroundMetric, most: f64) -> Potentials {
        if !metric.is_metric() {
            if let Some(line) = Line::of(metric) {
                return self.extended_on_line(&line, most);
            }
            let n = metric.points();
            return self.extended(n, n, most, |i, out| metric.row(i, out));
        }
        let left = self.heights(metric, most);
        let right = left.iter().map(|h| -h).collect();
        Potentials { left, right }
    }

    /// Dual values of all rows and columns, none above `most`. Rows and columns whose costs are all
    /// no numbers get 0.
    pub(in crate::solve) fn on_matrix(&self, costs: &MatrixView<'_>, most: f64) -> Potentials {
        let mut row = Vec::with_capacity(costs.columns());
        self.extended(costs.rows(), costs.columns(), most, |i, out| {
            row.clear();
            costs.push_whole_row(i, &mut row);
            out.copy_from_slice(&row);
        })
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
        let mut row = vec![0.0; columns.len()];
        let lowest = |i: usize| {
            metric.block(&[i], &columns, &mut row);
            row.iter().zip(&values).map(|(d, v)| d - v).fold(most, f64::min)
        };
        (0..n).map(lowest).collect()
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
    fn extended(
        &self,
        rows: usize,
        columns: usize,
        most: f64,
        mut costs: impl FnMut(usize, &mut [f64]),
    ) -> Potentials {
        let mut row = vec![0.0; columns];
        let mut right = vec![most; columns];
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
            or_zero(row.iter().zip(&right).map(|(cost, v)| cost - v).fold(most, f64::min))
        };
        let left = left.into_iter().enumerate().map(|(i, u)| u.unwrap_or_else(|| allowed(i)));
        Potentials { left: left.collect(), right }
    }
}

/// Without any cost nothing binds a value, and 0 is one that can be added up.
fn or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
