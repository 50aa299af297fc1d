//! Non-negative least squares with a penalty on length: edges x ≥ 0 that minimize
//!
//! ```text
//! ½ Σ (Ax − d)² + λ Σ x + ½ μ Σ (x − x₀)²
//! ```
//!
//! by conjugate gradients on the edges above 0 (the free set). Where an edge would become negative,
//! the step is projected; where releasing active edges decreases the objective more, the step is
//! along these (MPRGP: Dostál, Schöberl 2005, *Minimizing quadratic functions subject to bound
//! constraints*). Columns are first scaled to norm 1. Nested edges have almost equal columns, for
//! which coordinate descent would need thousands of rounds.
//!
//! The accuracy of the solution is measured: [`Solved::kkt`] is the largest move of an edge if it
//! were optimized alone.

use super::design::Design;
use super::points::EdgeOptions;
use crate::error::{Error, Result};
use crate::progress::{Progress, State};

/// Problem data; `towards` has x₀ for every column.
pub(super) struct BoundedLeastSquares<'a> {
    pub(super) design: &'a Design,
    pub(super) target: &'a [f64],
    pub(super) lambda: f64,
    pub(super) shrinkage: f64,
    pub(super) towards: &'a [f64],
}

impl BoundedLeastSquares<'_> {
    /// Returns the reciprocal norm of each column; 0 if no sample uses the edge.
    pub(super) fn scale(&self) -> Vec<f64> {
        let inverse = |c: f64| if c > 0.0 { 1.0 / c.sqrt() } else { 0.0 };
        self.design.squares().iter().map(|c| inverse(c + self.shrinkage)).collect()
    }

    /// Computes the gradient with respect to y at edges y·scale.
    pub(super) fn gradient(&self, y: &[f64], scale: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = y.iter().zip(scale).map(|(y, s)| y * s).collect();
        let mut residual = self.design.apply(&x);
        residual.iter_mut().zip(self.target).for_each(|(r, d)| *r -= d);
        let mut slope = self.design.transpose(&residual);
        for v in 0..x.len() {
            let shrink = self.shrinkage * (x[v] - self.towards[v]);
            slope[v] = scale[v] * (slope[v] + self.lambda + shrink);
        }
        slope
    }

    /// Computes H·p, with H = S(AᵀA + μ)S.
    fn curvature(&self, p: &[f64], scale: &[f64]) -> Vec<f64> {
        let x: Vec<f64> = p.iter().zip(scale).map(|(p, s)| p * s).collect();
        let mut out = self.design.transpose(&self.design.apply(&x));
        for (v, out) in out.iter_mut().enumerate() {
            *out = scale[v] * (*out + self.shrinkage * x[v]);
        }
        out
    }
}

/// Returns an upper estimate of the largest eigenvalue of H by power iteration. The entries of H
/// are at least 0, so a positive start has a component along its eigenvector. Stops when the
/// relative change is below `enough`.
pub(super) fn largest_curvature(
    problem: &BoundedLeastSquares<'_>,
    scale: &[f64],
    enough: f64,
) -> f64 {
    let mut p: Vec<f64> = scale.iter().map(|s| f64::from(u8::from(*s > 0.0))).collect();
    let mut value = 1.0;
    for _ in 0..20 {
        let norm = dot(&p, &p).sqrt();
        if norm == 0.0 {
            return 1.0;
        }
        let unit: Vec<f64> = p.iter().map(|p| p / norm).collect();
        p = problem.curvature(&unit, scale);
        let before = std::mem::replace(&mut value, dot(&p, &p).sqrt());
        if (value - before).abs() < enough * value {
            break;
        }
    }
    1.2 * value.max(1.0)
}

/// A solution with its residual.
pub(super) struct Solved {
    pub(super) x: Vec<f64>,
    /// Largest |x − max(0, x − g/c)| over edges with gradient g and curvature c.
    pub(super) kkt: f64,
    pub(super) iterations: usize,
}

/// Iterations between two exact gradients, which remove accumulated rounding errors.
const REFRESH: usize = 50;

/// Curvature below this is a rounding error: columns have norm 1.
const FLAT: f64 = 1e-13;

/// Active edges are released if they promise more than this many times the decrease of free edges.
const PROPORTION: f64 = 1.0;

/// Solves from `start` until the residual is at most the tolerance or the iterations are exhausted.
pub(super) fn solve(
    problem: &BoundedLeastSquares<'_>,
    start: &[f64],
    options: &EdgeOptions,
    (task, progress): (&'static str, &Progress<'_>),
) -> Result<Solved> {
    let mut state = SolverState::new(problem, start);
    let mut iterations = 0;
    while state.kkt() > options.tolerance && iterations < options.max_iterations {
        state.step();
        iterations += 1;
        if iterations % REFRESH == 0 {
            state.remove_rounding();
            if !progress(&State::new(task, iterations, None)) {
                return Err(Error::Canceled);
            }
        }
    }
    state.compute_gradient();
    let (x, kkt) = (state.x(), state.kkt());
    Ok(Solved { x, kkt, iterations })
}

/// Iterate y = x/scale ≥ 0 with its gradient and the next search direction.
struct SolverState<'a> {
    problem: &'a BoundedLeastSquares<'a>,
    /// Reciprocal norm of each column; 0 if no sample uses the edge, which then stays 0.
    scale: Vec<f64>,
    y: Vec<f64>,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    /// Step size at which a projected step never increases the objective.
    safe: f64,
}

impl<'a> SolverState<'a> {
    fn new(problem: &'a BoundedLeastSquares<'a>, start: &[f64]) -> Self {
        let scale = problem.scale();
        let y = start.iter().zip(&scale).map(|(x, s)| if *s > 0.0 { x / s } else { 0.0 });
        let (y, zeros) = (y.collect(), vec![0.0; scale.len()]);
        let (gradient, direction) = (zeros.clone(), zeros);
        let mut state = Self { problem, scale, y, gradient, direction, safe: 1.0 };
        state.safe = 1.0 / largest_curvature(problem, &state.scale, 0.0);
        state.refresh();
        state
    }

    fn x(&self) -> Vec<f64> {
        self.y.iter().zip(&self.scale).map(|(y, s)| y * s).collect()
    }

    /// Removes rounding errors, and shortens the tree where only λ determines lengths.
    fn remove_rounding(&mut self) {
        if self.problem.lambda > 0.0 && self.problem.shrinkage == 0.0 {
            let mut x = self.x();
            self.problem.design.lift(&mut x);
            for v in 0..x.len() {
                if self.scale[v] > 0.0 {
                    self.y[v] = (x[v] / self.scale[v]).max(0.0);
                }
            }
            self.refresh();
        } else {
            self.compute_gradient();
        }
    }

    /// Computes the exact gradient, and restarts at the steepest descent over the free edges.
    fn refresh(&mut self) {
        self.compute_gradient();
        self.direction = self.free();
    }

    fn compute_gradient(&mut self) {
        self.gradient = self.problem.gradient(&self.y, &self.scale);
    }

    /// Returns the gradient on free edges (those above 0).
    fn free(&self) -> Vec<f64> {
        let free = |(g, y): (&f64, &f64)| if *y > 0.0 { *g } else { 0.0 };
        self.gradient.iter().zip(&self.y).map(free).collect()
    }

    /// Returns the gradient on active edges (those at 0) that would grow.
    fn active(&self) -> Vec<f64> {
        let active = |(g, y): (&f64, &f64)| if *y > 0.0 { 0.0 } else { g.min(0.0) };
        self.gradient.iter().zip(&self.y).map(active).collect()
    }

    /// Returns the largest move of an edge if it were optimized alone, in units of the targets.
    fn kkt(&self) -> f64 {
        let alone =
            |v: usize| self.scale[v] * (self.y[v] - (self.y[v] - self.gradient[v]).max(0.0));
        (0..self.y.len()).map(|v| alone(v).abs()).fold(0.0, f64::max)
    }

    fn step(&mut self) {
        let (free, active) = (self.free(), self.active());
        // Decrease of a safe step over the free edges, with edges that reach 0 cut short.
        let reduced = |v: usize| free[v] * free[v].min(self.y[v] / self.safe);
        let promise: f64 = (0..free.len()).map(reduced).sum();
        if dot(&active, &active) > PROPORTION * PROPORTION * promise {
            self.release(&active);
        } else {
            self.conjugate();
        }
    }

    /// Releases active edges with an optimal step.
    fn release(&mut self, active: &[f64]) {
        let product = self.problem.curvature(active, &self.scale);
        let curve = dot(active, &product);
        let along = if curve > 0.0 { dot(&self.gradient, active) / curve } else { self.safe };
        self.advance(along, active, &product);
        self.direction = self.free();
    }

    /// Takes a conjugate gradient step, cut off and then projected where an edge reaches 0.
    fn conjugate(&mut self) {
        let direction = std::mem::take(&mut self.direction);
        let product = self.problem.curvature(&direction, &self.scale);
        let curve = dot(&direction, &product);
        let flat = curve <= FLAT * dot(&direction, &direction);
        let wanted = if flat { f64::INFINITY } else { dot(&self.gradient, &direction) / curve };
        let step_to_zero = |(y, p): (&f64, &f64)| if *p > 0.0 { y / p } else { f64::INFINITY };
        let limit = self.y.iter().zip(&direction).map(step_to_zero).fold(f64::INFINITY, f64::min);
        if wanted <= limit && wanted.is_finite() {
            self.advance(wanted, &direction, &product);
            let free = self.free();
            let share = dot(&free, &product) / curve;
            let next = free.iter().zip(&direction).map(|(f, p)| f - share * p);
            self.direction = next.collect();
        } else {
            if limit.is_finite() {
                self.advance(limit, &direction, &product);
            }
            let free = self.free();
            for (y, f) in self.y.iter_mut().zip(&free) {
                *y = (*y - self.safe * f).max(0.0);
            }
            self.refresh();
        }
    }

    /// Moves to y − along·p, and updates the gradient.
    fn advance(&mut self, along: f64, p: &[f64], product: &[f64]) {
        for v in 0..p.len() {
            self.y[v] = (self.y[v] - along * p[v]).max(0.0);
            self.gradient[v] -= along * product[v];
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
