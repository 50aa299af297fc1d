//! Dual values of all points from those of an answer: a certificate that can be checked by itself.
//!
//! Engines return dual values of sources and sinks only. With the triangle inequality, the function
//! f(x) = min(most, minⱼ d(x, j) − vⱼ) over the sinks j is 1-Lipschitz, at least uᵢ at every source
//! and at most −vⱼ at every sink. So u = f and v = −f prove at least the bound of the original dual
//! values, also for mass that stays in place. So does max(−most, maxᵢ uᵢ − d(x, i)) over the
//! sources i, which takes less time if there are few of them. Without the triangle inequality, each
//! missing dual value becomes the largest that the dual values of the other side allow.
//!
//! If each point has its own penalty, f(p) = min(λₚ, minⱼ d(p, j) − vⱼ) is both uₚ and −vₚ at
//! points p where mass stays, and the other dual values are extended as without the triangle
//! inequality. Mass stays only if λᵢ ≤ λₚ + d(i, p) for the penalties of either side's points
//! (`penalized`), so that
//! - uₚ + vⱼ ≤ d(p, j) by definition, and uₚ ≤ λₚ;
//! - uᵢ + vₚ ≤ d(i, p): where f(p) = λₚ, as uᵢ ≤ λᵢ ≤ λₚ + d(i, p); else as
//!   uᵢ ≤ d(i, j) − vⱼ ≤ d(i, p) + d(p, j) − vⱼ;
//! - vₚ ≤ μₚ, the penalty of p on the other side: f(p) ≥ min(0, minⱼ d(p, j) − μⱼ) ≥ −μₚ.
//!
//! Neither dual value of p decreases: f(p) ≥ uₚ, and f(p) ≤ −vₚ if p is a sink.
//!
//! **Rates.** The value is a convex, piecewise linear function of the masses, and dual values of
//! points with mass are its slopes. If mass arrives at a sink j without mass, it comes from sources
//! with mass, so its rate is minᵢ c(i, j) − uᵢ over these alone: other sources must not lower it.
//! No joint extension has these rates on both sides.

use std::collections::BTreeMap;
use std::ops::Range;

use super::answer::{Answer, Potentials};
use super::exact::line::Line;
use super::ground::Ground;
use super::matrix::MatrixView;
use super::problem::{Input, Problem};
use super::relax::{Penalty, Relaxation};
use super::route::is_lopsided;
use super::sides::rescaling;
use crate::error::{Error, Result};
use crate::metric::{Components, GroundMetric};
use crate::parallel;
use crate::rounding::double;
use crate::twofold::Twofold;

impl Answer {
    /// Extends the dual values to all points of a metric, none above `most`.
    pub(super) fn on_metric(&self, metric: &GroundMetric, most: Penalty<'_>) -> Potentials {
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

    /// Extends the dual values to all rows and columns, none above `most`; 0 without a finite cost.
    pub(super) fn on_matrix(&self, costs: &MatrixView<'_>, most: Penalty<'_>) -> Potentials {
        let mut row = Vec::with_capacity(costs.columns());
        self.extended(costs.rows(), costs.columns(), most, |i, out| {
            row.clear();
            costs.push_whole_row(i, &mut row);
            out.copy_from_slice(&row);
        })
    }

    /// Returns the answer with dual values of the points where mass stays in place.
    fn with_shared(&self, metric: &GroundMetric, most: Penalty<'_>) -> Self {
        let mut all = self.clone();
        if !metric.is_metric() {
            return all;
        }
        let has = |duals: &[(usize, f64)], p: usize| duals.binary_search_by_key(&p, |dual| dual.0);
        for (p, _, _) in self.plan.iter().filter(|&(from, to, _)| from == to) {
            let (left, right) = (has(&self.left, p), has(&self.right, p));
            if left.is_ok() && right.is_ok() {
                // The point is a source and a sink, and the move is an arc of the plan.
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

    /// Computes the 1-Lipschitz function f of the module head.
    fn heights(&self, metric: &GroundMetric, most: f64) -> Vec<f64> {
        let n = metric.points();
        if self.right.is_empty() {
            // Without sources any constant function is optimal.
            return vec![if self.left.is_empty() { 0.0 } else { most }; n];
        }
        if is_lopsided(self.left.len(), self.right.len()) && self.left.len() < self.right.len() {
            return c_transform(metric, 0..n, &self.left, most)
                .iter()
                .map(|height| -height)
                .collect();
        }
        c_transform(metric, 0..n, &self.right, most)
    }

    /// Extends the dual values on a line as [`extended`](Self::extended) does, in O(n log n).
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

    /// Extends the dual values to all rows and columns.
    ///
    /// First every column without a value gets the largest that the rows with a value allow, then
    /// every row without a value the largest that all columns allow.
    pub(super) fn extended(
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

impl Problem<'_> {
    /// Extends the dual values of an answer to all points.
    pub(super) fn potentials(&self, answer: &Answer) -> Result<Potentials> {
        if answer.left.is_empty() && answer.right.is_empty() {
            // They prove the lower bound 0, because no cost and no penalty is negative.
            let [left, right] = self.sizes().map(|size| vec![0.0; size]);
            return Ok(Potentials { left, right });
        }
        let most = self.relax.penalty();
        Ok(match &self.input {
            Input::Ground { ground: Ground::Metric(metric), .. } => answer.on_metric(metric, most),
            Input::Ground { ground: Ground::Components(ground), .. } => {
                answer.on_components(ground, most)
            }
            Input::Points(points) => points.potentials(answer, most)?,
            Input::Matrix { costs, .. } => answer.on_matrix(costs, most),
        })
    }

    /// Computes the rates of the value: dual values of points with mass, and one-sided rates of all
    /// others.
    pub(super) fn rates(&self, potentials: &Potentials) -> Result<Potentials> {
        let dual_values = [&potentials.left, &potentials.right];
        let masses = self.masses();
        let [left, right] = [0, 1].map(|side: usize| -> Vec<(usize, f64)> {
            let with_mass = masses[side].iter().filter(|entry| entry.1 > 0.0);
            with_mass.map(|&(point, _)| (point, dual_values[side][point])).collect()
        });
        let most = self.relax.penalty();
        let mut rates = match &self.input {
            Input::Ground { ground: Ground::Metric(metric), .. } => {
                let of = |values| c_transform(metric, 0..metric.points(), values, f64::INFINITY);
                Potentials { left: of(&right), right: of(&left) }
            }
            Input::Ground { ground: Ground::Components(ground), .. } => Potentials {
                left: by_components(ground, &right),
                right: by_components(ground, &left),
            },
            Input::Points(points) => points.rates([&left, &right])?,
            Input::Matrix { costs, .. } => rates_of_matrix(costs, [&left, &right]),
        };
        for (side, (rates, known)) in
            [(&mut rates.left, left), (&mut rates.right, right)].into_iter().enumerate()
        {
            for (point, rate) in rates.iter_mut().enumerate() {
                *rate = rate.min(most.at(side, point));
            }
            for (point, dual) in known {
                rates[point] = dual;
            }
        }
        Ok(rates)
    }

    /// Refuses problems without dual values of all points.
    pub(super) fn check_potentials(&self) -> Result<()> {
        let Relaxation::Mass(mass) = self.relax else { return Ok(()) };
        Err(Error::BadOption {
            option: "mass",
            value: mass.to_string(),
            expected: "there are no potentials with a mass; give a penalty, or do without them",
        })
    }

    /// Computes the lower bound that dual values of all points prove, safe against rounding.
    ///
    /// A product rounds once. A dual value is the minimum of differences that round once, or on a
    /// graph of sums along a path. If totals differ slightly, a constant added to the dual values
    /// changes the bound, so that difference counts at the largest dual value.
    pub(super) fn proved_by(&self, potentials: &Potentials) -> f64 {
        let sides = [&potentials.left, &potentials.right];
        let masses = self.masses();
        // The second measure is scaled to the total of the first, in every component.
        let component = |point: usize| match &self.input {
            Input::Ground { ground: Ground::Components(ground), .. } => ground.place(point).0,
            _ => 0,
        };
        let mut totals: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
        for (side, masses) in masses.iter().enumerate() {
            for &(point, mass) in masses {
                totals.entry(component(point)).or_default()[side] += mass;
            }
        }
        let factor = |side: usize, point: usize| match totals.get(&component(point)) {
            Some(&[total_a, total_b]) if side == 1 && self.relax.is_balanced() => {
                rescaling(total_a, total_b)
            }
            _ => 1.0,
        };
        let (mut sum, mut surplus) = (Twofold::from(0.0), Twofold::from(0.0));
        let (mut size, mut total) = (0.0, 0.0);
        for (side, masses) in masses.iter().enumerate() {
            for &(point, mass) in masses {
                let (mass, dual) = (factor(side, point) * mass, sides[side][point]);
                sum = sum + Twofold::from(mass * dual);
                surplus = surplus + Twofold::from(if side == 0 { mass } else { -mass });
                size += mass * dual.abs();
                total += mass;
            }
        }
        let largest = sides.into_iter().flatten().fold(0.0f64, |most, dual| most.max(dual.abs()));
        let on_path = match &self.input {
            Input::Ground { ground, .. } if ground.is_graph() => 4 * ground.points(),
            _ => 0,
        };
        let unequal = if self.relax.is_balanced() { surplus.rounded().abs() } else { 0.0 };
        let rounding = double(8) * size + double(8 + on_path) * total * largest;
        sum.rounded() - rounding - unequal * largest
    }

    /// Returns the points with mass on either side, in the numbering of the call.
    fn masses(&self) -> [Vec<(usize, f64)>; 2] {
        let numbered = |masses: &[f64]| masses.iter().copied().enumerate().collect();
        match &self.input {
            Input::Ground { a, b, .. } => [a.iter().collect(), b.iter().collect()],
            Input::Points(points) => points.masses(),
            Input::Matrix { a, b, .. } => [numbered(a), numbered(b)],
        }
    }
}

/// Computes min(most, minⱼ d(x, j) − vⱼ) for some points x of a metric, over some j with values.
///
/// O(n log n) on a line, one search of a graph, and a distance for each x and j elsewhere.
pub(super) fn c_transform(
    metric: &GroundMetric,
    of: Range<usize>,
    values: &[(usize, f64)],
    most: f64,
) -> Vec<f64> {
    let n = metric.points();
    if metric.edges().is_some() {
        let mut height = vec![most.min(f64::MAX / 4.0); n];
        for &(j, v) in values {
            height[j] = height[j].min(-v);
        }
        metric.make_lipschitz(&mut height);
        return height[of].to_vec();
    }
    if let Some(line) = Line::of(metric) {
        return line.allowed(values, most)[of].to_vec();
    }
    let (columns, values): (Vec<usize>, Vec<f64>) = values.iter().copied().unzip();
    let lowest = |row: &mut Vec<f64>, i: usize| {
        row.resize(columns.len(), 0.0);
        metric.block(&[i], &columns, row);
        row.iter().zip(&values).map(|(d, v)| d - v).fold(most, f64::min)
    };
    if of.len().saturating_mul(columns.len()) <= ALONE {
        let mut row = Vec::new();
        return of.map(|i| lowest(&mut row, i)).collect();
    }
    parallel::map_with(of.len(), Vec::new, |row, at| lowest(row, of.start + at))
}

/// Computes the transform of values in every component of a graph; 0 in components without any.
fn by_components(ground: &Components, values: &[(usize, f64)]) -> Vec<f64> {
    let mut parts: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for &(node, value) in values {
        let (component, point) = ground.place(node);
        parts.entry(component).or_default().push((point, value));
    }
    let mut all = vec![f64::INFINITY; ground.points()];
    for (component, values) in parts {
        let metric = ground.metric(component);
        let rates = c_transform(metric, 0..metric.points(), &values, f64::INFINITY);
        for (point, rate) in rates.into_iter().enumerate() {
            all[ground.node(component, point)] = rate;
        }
    }
    all
}

/// Computes the transforms of dual values of rows and of columns, in one pass over the costs.
fn rates_of_matrix(costs: &MatrixView<'_>, [left, right]: [&[(usize, f64)]; 2]) -> Potentials {
    let mut rates = Potentials {
        left: vec![f64::INFINITY; costs.rows()],
        right: vec![f64::INFINITY; costs.columns()],
    };
    let mut known = left.iter().peekable();
    let mut row = Vec::with_capacity(costs.columns());
    for (i, rate) in rates.left.iter_mut().enumerate() {
        row.clear();
        costs.push_whole_row(i, &mut row);
        if let Some(&(_, u)) = known.next_if(|entry| entry.0 == i) {
            rates.right.iter_mut().zip(&row).for_each(|(rate, cost)| *rate = rate.min(cost - u));
        } else {
            *rate = right.iter().map(|&(j, v)| row[j] - v).fold(f64::INFINITY, f64::min);
        }
    }
    rates
}

/// Most distances that one thread computes before another would have started.
const ALONE: usize = 1 << 16;

/// Returns 0 for a dual value that no finite cost bounds, so that sums stay finite.
fn or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
