//! The result type of all engines: bounds, plan, dual values and the engine that found them.

use super::route::{Engine, Route};
use crate::accuracy::PROOF_TOLERANCE;
use crate::tree::Coupling;

/// Certified bounds of the value of a problem, with the plan and the dual values behind them.
///
/// Both bounds hold up to [`Answer::TOLERANCE`], for [rounded masses](crate::solve). Plan and dual
/// values are empty if the aim was [`Wanted::Value`](super::Wanted::Value).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Certified lower bound: no plan costs less.
    pub lower: f64,
    /// Certified upper bound: the cost of the plan with penalties, or above; the value if exact.
    pub upper: f64,
    /// Plan behind the upper bound, including mass that stays in place.
    pub plan: Coupling,
    /// Dual values of the first measure, `left + right ≤ cost`; empty for the trivial bound 0.
    pub left: Vec<(usize, f64)>,
    /// Dual values of points of the second measure.
    pub right: Vec<(usize, f64)>,
    /// With a mass to move, the penalty of a unit that stays behind at which just that mass moves:
    /// moving a unit more costs twice as much. Dual values are those of the problem with this
    /// penalty. `None` without dual values.
    pub penalty: Option<f64>,
    /// Dual values of all points, if [requested](super::Wanted::Potentials).
    pub potentials: Option<Potentials>,
    /// One-sided derivatives of the value, if [requested](super::Wanted::Rates): moving a unit of mass
    /// of one measure from point j to point k changes the value by rate k minus rate j, as long as the
    /// basis stays optimal; at least by that if optimal dual values are not unique. At points with
    /// mass they are dual values; at the others they need not satisfy `left + right ≤ cost`, and are
    /// infinite where no finite cost leads.
    pub rates: Option<Potentials>,
    /// Engine that found the upper bound.
    pub engine: Engine,
    /// Engines chosen for the problem, and why; for components those of the largest one.
    pub route: Route,
    /// Number of pivots of the simplex, or of augmenting paths.
    pub pivots: usize,
    /// Whether the certificate needed integer costs.
    pub integers: bool,
}

/// Dual values of all points, with or without mass: a certificate of the lower bound.
///
/// Up to rounding, `left[i] + right[j]` is at most the cost from i to j, no value exceeds the
/// penalty of its point, and Σ a·left + Σ b·right is the lower bound. On ground metrics `right` is
/// −`left`, unless each point has its own penalty. With a mass m to move, the lower bound is lower
/// by λ(Σa + Σb − 2m), the [penalty](Answer::penalty) λ of the mass that stays behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Potentials {
    /// Dual values of the points of the first measure, or of the rows.
    pub left: Vec<f64>,
    /// Dual values of the points of the second measure, or of the columns.
    pub right: Vec<f64>,
}

/// Dual values as pairs of a point and its value.
pub(super) type Duals = Vec<(usize, f64)>;

impl Answer {
    /// Relative tolerance of a certificate: the largest gap between an exact answer's bounds.
    pub const TOLERANCE: f64 = PROOF_TOLERANCE;

    /// Returns the cost of the plan: the value of the problem if the answer is exact.
    pub fn value(&self) -> f64 {
        self.upper
    }

    /// Returns upper bound minus lower bound: the most by which another plan could be cheaper.
    pub fn gap(&self) -> f64 {
        self.upper - self.lower
    }

    /// Returns whether upper ≤ (1 + `error`) · lower.
    pub fn is_within(&self, error: f64) -> bool {
        let allowed = if self.lower > 0.0 { error * self.lower } else { 0.0 };
        self.upper.is_finite() && (self.gap() <= allowed || error == f64::INFINITY)
    }

    /// Creates the answer of a plan that costs nothing.
    pub(super) fn free(plan: Coupling) -> Self {
        Self { plan, ..Self::default() }
    }

    /// Creates the answer of a plan that may cost `gap` more than an optimal one.
    pub(super) fn certified(value: f64, gap: f64, engine: Engine) -> Self {
        Self { lower: (value - gap).max(0.0), upper: value, engine, ..Self::default() }
    }

    /// Returns the answer of the transposed problem.
    pub(super) fn transposed(mut self) -> Self {
        std::mem::swap(&mut self.left, &mut self.right);
        std::mem::swap(&mut self.plan.left, &mut self.plan.right);
        self
    }

    /// Adds the answer of a problem that has no arcs in common with this one.
    pub(super) fn add(&mut self, other: Self) {
        self.lower += other.lower;
        self.upper += other.upper;
        self.plan.left.extend(other.plan.left);
        self.plan.right.extend(other.plan.right);
        self.plan.mass.extend(other.plan.mass);
        self.left.extend(other.left);
        self.right.extend(other.right);
        self.pivots += other.pivots;
        self.integers |= other.integers;
        self.engine = self.engine.max(other.engine);
        if other.route.arcs() >= self.route.arcs() {
            self.route = other.route;
        }
    }

    /// Combines the better upper bound and its plan with the better lower bound and its duals.
    pub(super) fn or_better(mut self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        if other.upper < self.upper {
            (self.upper, self.plan, self.engine) = (other.upper, other.plan, other.engine);
        }
        if other.lower > self.lower {
            (self.lower, self.penalty) = (other.lower, other.penalty);
            (self.left, self.right) = (other.left, other.right);
        }
        self
    }

    /// Renumbers the points of the plan and of the dual values.
    pub(super) fn rename(&mut self, name: impl Fn(usize) -> usize) {
        for end in self.plan.left.iter_mut().chain(&mut self.plan.right) {
            *end = name(*end as usize) as u32;
        }
        for dual in self.left.iter_mut().chain(&mut self.right) {
            dual.0 = name(dual.0);
        }
    }
}
