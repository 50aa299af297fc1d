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
use super::costs::least_sums;
use super::exact::line::Line;
use super::exact::{KeepGoing, check_canceled};
use super::problem::ground::Ground;
use super::problem::matrix::MatrixView;
use super::problem::{Input, Problem};
use super::relax::{Penalty, Relaxation};
use super::sides::rescaling;
use crate::error::Result;
use crate::metric::{Components, GroundMetric};
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::rounding::double;
use crate::tools::parallel;

impl Answer {
    /// Extends the dual values to all points of a metric, none above `most`.
    pub(super) fn on_metric(
        &self,
        metric: &GroundMetric,
        most: Penalty<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let n = metric.points();
        let most = match most {
            Penalty::Same(most) => most,
            Penalty::OfPoints(_) => {
                let row = |i: usize, out: &mut [f64]| metric.row(i, out);
                let shared = self.with_shared(metric, most, keep_going)?;
                return shared.extended((n, n), most, row, keep_going);
            }
        };
        if !metric.is_metric() {
            if let Some(line) = Line::of(metric) {
                return Ok(self.extended_on_line(&line, most));
            }
            let row = |i: usize, out: &mut [f64]| metric.row(i, out);
            return self.extended((n, n), Penalty::Same(most), row, keep_going);
        }
        let left = self.heights(metric, most, keep_going)?;
        let right = left.iter().map(|h| -h).collect();
        Ok(Potentials { left, right })
    }

    /// Extends the dual values to all rows and columns, none above `most`; 0 without a finite cost.
    fn on_matrix(
        &self,
        costs: &MatrixView<'_>,
        most: Penalty<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let mut row = Vec::with_capacity(costs.columns());
        let read = |i: usize, out: &mut [f64]| {
            row.clear();
            costs.push_whole_row(i, &mut row);
            out.copy_from_slice(&row);
        };
        self.extended((costs.rows(), costs.columns()), most, read, keep_going)
    }

    /// Returns the answer with dual values of the points where mass stays in place.
    fn with_shared(
        &self,
        metric: &GroundMetric,
        most: Penalty<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Self> {
        let mut all = self.clone();
        if !metric.is_metric() {
            return Ok(all);
        }
        let mut pace = Pace::new(keep_going);
        let has = |duals: &[(usize, f64)], p: usize| duals.binary_search_by_key(&p, |dual| dual.0);
        for (p, _, _) in self.plan.iter().filter(|&(from, to, _)| from == to) {
            let (left, right) = (has(&self.left, p), has(&self.right, p));
            if left.is_ok() && right.is_ok() {
                // The point is a source and a sink, and the move is an arc of the plan.
                continue;
            }
            pace.add(self.right.len())?;
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
        Ok(all)
    }

    /// Computes the 1-Lipschitz function f of the module head.
    fn heights(
        &self,
        metric: &GroundMetric,
        most: f64,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Vec<f64>> {
        let n = metric.points();
        if self.right.is_empty() {
            // Without sources any constant function is optimal.
            return Ok(vec![if self.left.is_empty() { 0.0 } else { most }; n]);
        }
        if FEW_SOURCES * self.left.len() <= self.right.len() {
            let depths = c_transform(metric, 0..n, &self.left, most, keep_going)?;
            return Ok(depths.iter().map(|depth| -depth).collect());
        }
        c_transform(metric, 0..n, &self.right, most, keep_going)
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

    /// Extends the dual values to all rows and columns: first every column without a value gets the
    /// largest that the rows with one allow, then every row the largest that all columns allow.
    pub(super) fn extended(
        &self,
        (rows, columns): (usize, usize),
        most: Penalty<'_>,
        mut costs: impl FnMut(usize, &mut [f64]),
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let (mut row, mut pace) = (vec![0.0; columns], Pace::new(keep_going));
        let mut right: Vec<f64> = (0..columns).map(|j| most.at(1, j)).collect();
        for &(i, u) in &self.left {
            pace.add(columns)?;
            costs(i, &mut row);
            right.iter_mut().zip(&row).for_each(|(v, cost)| *v = v.min(cost - u));
        }
        self.right.iter().for_each(|&(j, v)| right[j] = v);
        for v in &mut right {
            *v = or_zero(*v);
        }
        let mut known = vec![None; rows];
        self.left.iter().for_each(|&(i, u)| known[i] = Some(u));
        let mut left = Vec::with_capacity(rows);
        for (i, u) in known.into_iter().enumerate() {
            left.push(if let Some(u) = u {
                u
            } else {
                pace.add(columns)?;
                costs(i, &mut row);
                let allowed = row.iter().zip(&right).map(|(cost, v)| cost - v);
                or_zero(allowed.fold(most.at(0, i), f64::min))
            });
        }
        Ok(Potentials { left, right })
    }
}

/// Ratio of the numbers of sinks and sources from which potentials are those that the sources allow.
const FEW_SOURCES: usize = 8;

/// Checks for cancellation once for every [`ASKED`] costs.
struct Pace<'a> {
    keep_going: &'a KeepGoing<'a>,
    costs: usize,
}

/// Costs between two checks for cancellation: some milliseconds.
const ASKED: usize = 1 << 19;

impl<'a> Pace<'a> {
    fn new(keep_going: &'a KeepGoing<'a>) -> Self {
        Self { keep_going, costs: 0 }
    }

    /// Counts costs that are computed next.
    fn add(&mut self, costs: usize) -> Result<()> {
        self.costs += costs;
        if self.costs < ASKED {
            return Ok(());
        }
        self.costs = 0;
        check_canceled(self.keep_going)
    }
}

impl Problem<'_> {
    /// Extends the dual values of an answer to all points.
    pub(super) fn potentials(
        &self,
        answer: &Answer,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        if answer.left.is_empty() && answer.right.is_empty() {
            // They prove the lower bound 0, because no cost and no penalty is negative.
            let [left, right] = self.sizes().map(|size| vec![0.0; size]);
            return Ok(Potentials { left, right });
        }
        let most = self.penalty_of(answer);
        match &self.input {
            Input::Ground { ground: Ground::Metric(metric), .. } => {
                answer.on_metric(metric, most, keep_going)
            }
            Input::Ground { ground: Ground::Components(ground), .. } => {
                answer.on_components(ground, most, keep_going)
            }
            Input::Points(points) => points.potentials(answer, most, keep_going),
            Input::Matrix { costs, .. } => answer.on_matrix(costs, most, keep_going),
        }
    }

    /// Computes the rates of the value: dual values of points with mass, one-sided rates of others.
    pub(super) fn rates(
        &self,
        answer: &Answer,
        potentials: &Potentials,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let dual_values = [&potentials.left, &potentials.right];
        let masses = self.masses();
        let [left, right] = [0, 1].map(|side: usize| -> Vec<(usize, f64)> {
            let with_mass = masses[side].iter().filter(|entry| entry.1 > 0.0);
            with_mass.map(|&(point, _)| (point, dual_values[side][point])).collect()
        });
        let most = self.penalty_of(answer);
        let mut rates = match &self.input {
            Input::Ground { ground: Ground::Metric(metric), .. } => {
                let all = 0..metric.points();
                let of =
                    |values| c_transform(metric, all.clone(), values, f64::INFINITY, keep_going);
                Potentials { left: of(&right)?, right: of(&left)? }
            }
            Input::Ground { ground: Ground::Components(ground), .. } => Potentials {
                left: by_components(ground, &right, keep_going)?,
                right: by_components(ground, &left, keep_going)?,
            },
            Input::Points(points) => points.rates([&left, &right], keep_going)?,
            Input::Matrix { costs, .. } => rates_of_matrix(costs, [&left, &right], keep_going)?,
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
            if let Some(penalty) = answer.penalty {
                // The mass that moves does not change, so a unit more is a unit more left behind.
                for rate in rates {
                    *rate -= penalty;
                }
            }
        }
        Ok(rates)
    }

    /// Returns the penalties that dual values respect; with a mass, the one at which it moves.
    fn penalty_of(&self, answer: &Answer) -> Penalty<'_> {
        match self.relax {
            Relaxation::Mass(_) => Penalty::Same(answer.penalty.unwrap_or(0.0)),
            relax => relax.penalty(),
        }
    }

    /// Computes the lower bound that dual values of all points prove, safe against rounding. With a
    /// mass, `penalty` is the one at which it moves.
    ///
    /// A product rounds once. A dual value is the minimum of differences that round once, or on a
    /// graph of sums along a path. If totals differ slightly, a constant added to the dual values
    /// changes the bound, so that difference counts at the largest dual value.
    pub(super) fn proved_by(&self, potentials: &Potentials, penalty: Option<f64>) -> f64 {
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
        let (mut sum, mut surplus) = (DoubleDouble::from(0.0), DoubleDouble::from(0.0));
        let (mut size, mut total) = (0.0, 0.0);
        for (side, masses) in masses.iter().enumerate() {
            for &(point, mass) in masses {
                let (mass, dual) = (factor(side, point) * mass, sides[side][point]);
                sum = sum + DoubleDouble::from(mass * dual);
                surplus = surplus + DoubleDouble::from(if side == 0 { mass } else { -mass });
                size += mass * dual.abs();
                total += mass;
                if let Some(penalty) = penalty {
                    sum = sum - DoubleDouble::product(mass, penalty);
                    size += mass * penalty;
                }
            }
        }
        if let (Relaxation::Mass(moved), Some(penalty)) = (self.relax, penalty) {
            let total = |side: &Vec<(usize, f64)>| side.iter().map(|entry| entry.1).sum::<f64>();
            let moved = masses.iter().map(total).fold(moved, f64::min);
            sum = sum + DoubleDouble::product(2.0 * moved, penalty);
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
    pub(super) fn masses(&self) -> [Vec<(usize, f64)>; 2] {
        let numbered = |masses: &[f64]| masses.iter().copied().enumerate().collect();
        match &self.input {
            Input::Ground { a, b, .. } => [a.iter().collect(), b.iter().collect()],
            Input::Points(points) => points.masses(),
            Input::Matrix { a, b, .. } => [numbered(a), numbered(b)],
        }
    }
}

/// Computes min(most, minⱼ d(x, j) − vⱼ) for the given points x of a metric, over the given j with
/// values: O(n log n) on a line and for points in few dimensions, one search of a graph, and a
/// distance for each x and j elsewhere.
pub(super) fn c_transform(
    metric: &GroundMetric,
    of: Range<usize>,
    values: &[(usize, f64)],
    most: f64,
    keep_going: &KeepGoing<'_>,
) -> Result<Vec<f64>> {
    let n = metric.points();
    if metric.edges().is_some() {
        let mut height = vec![most.min(f64::MAX / 4.0); n];
        for &(j, v) in values {
            height[j] = height[j].min(-v);
        }
        metric.make_lipschitz(&mut height);
        return Ok(height[of].to_vec());
    }
    if let Some(line) = Line::of(metric) {
        return Ok(line.allowed(values, most)[of].to_vec());
    }
    let (columns, values): (Vec<usize>, Vec<f64>) = values.iter().copied().unzip();
    let lowest = |row: &mut Vec<f64>, i: usize| {
        row.resize(columns.len(), 0.0);
        metric.block(&[i], &columns, row);
        row.iter().zip(&values).map(|(d, v)| d - v).fold(most, f64::min)
    };
    let costs = of.len().saturating_mul(columns.len());
    if costs <= ALONE {
        let mut row = Vec::new();
        return Ok(of.map(|i| lowest(&mut row, i)).collect());
    }
    if costs >= SEARCHED {
        let (rows, prices): (Vec<usize>, Vec<f64>) =
            (of.clone().collect(), values.iter().map(|v| -v).collect());
        if let Some(least) = least_sums(metric, [&rows, &columns], &prices, keep_going)? {
            return Ok(least.into_iter().map(|least| least.min(most)).collect());
        }
    }
    let (mut all, some) = (Vec::with_capacity(of.len()), (ASKED / columns.len().max(1)).max(1));
    for first in of.clone().step_by(some) {
        check_canceled(keep_going)?;
        let count = some.min(of.end - first);
        all.extend(parallel::map_with(count, Vec::new, |row, at| lowest(row, first + at)));
    }
    Ok(all)
}

/// Fewest costs for which points are laid out for searches first.
const SEARCHED: usize = 1 << 22;

/// Computes the transform of values in every component of a graph; 0 in components without any.
fn by_components(
    ground: &Components,
    values: &[(usize, f64)],
    keep_going: &KeepGoing<'_>,
) -> Result<Vec<f64>> {
    let mut parts: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for &(node, value) in values {
        let (component, point) = ground.place(node);
        parts.entry(component).or_default().push((point, value));
    }
    let mut all = vec![f64::INFINITY; ground.points()];
    for (component, values) in parts {
        let metric = ground.metric(component);
        let points = 0..metric.points();
        let rates = c_transform(metric, points, &values, f64::INFINITY, keep_going)?;
        for (point, rate) in rates.into_iter().enumerate() {
            all[ground.node(component, point)] = rate;
        }
    }
    Ok(all)
}

/// Computes the transforms of dual values of rows and of columns, in one pass over the costs.
fn rates_of_matrix(
    costs: &MatrixView<'_>,
    [left, right]: [&[(usize, f64)]; 2],
    keep_going: &KeepGoing<'_>,
) -> Result<Potentials> {
    let mut rates = Potentials {
        left: vec![f64::INFINITY; costs.rows()],
        right: vec![f64::INFINITY; costs.columns()],
    };
    let mut known = left.iter().peekable();
    let (mut row, mut pace) = (Vec::with_capacity(costs.columns()), Pace::new(keep_going));
    for (i, rate) in rates.left.iter_mut().enumerate() {
        pace.add(costs.columns())?;
        row.clear();
        costs.push_whole_row(i, &mut row);
        if let Some(&(_, u)) = known.next_if(|entry| entry.0 == i) {
            rates.right.iter_mut().zip(&row).for_each(|(rate, cost)| *rate = rate.min(cost - u));
        } else {
            *rate = right.iter().map(|&(j, v)| row[j] - v).fold(f64::INFINITY, f64::min);
        }
    }
    Ok(rates)
}

/// Most distances that one thread computes before another would have started.
const ALONE: usize = 1 << 16;

/// Returns 0 for a dual value that no finite cost bounds, so that sums stay finite.
fn or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
