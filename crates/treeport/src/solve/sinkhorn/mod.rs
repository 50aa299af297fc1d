//! Entropic transport: Sinkhorn's algorithm, stable for any ε.
//!
//! Among all plans Π with marginals μ and ρ, of total mass M, it finds the one that minimizes
//!
//! $$ \langle \Pi, D \rangle + \varepsilon\,\mathrm{KL}(\Pi \,|\, \mu \otimes \rho / M), \qquad
//! \mathrm{KL}(\Pi|Q) = \sum_{ij} \Pi_{ij} \log(\Pi_{ij} / Q_{ij}) $$
//!
//! on the supports of μ and ρ (Cuturi, *Sinkhorn Distances*, 2013). The plan is the one POT finds:
//! for M = 1 its objective ⟨Π, D⟩ + ε Σ Π log Π differs by the constant ε(Σ μ log μ + Σ ρ log ρ).
//! POT's `sinkhorn2` returns ⟨Π, D⟩, here [`Entropic::transport_cost`], and so do [`value`] and
//! [`pairs`].
//!
//! **Not a distance.** Entropy spreads mass, so that equal measures are *not* at distance 0, and
//! mass that both measures share moves, even where the metric guarantees that it stays. The cost is
//! never below W₁ ([`Problem::value`]) and decreases to it as ε goes to 0, above by at most ε times
//! M·log(min(n, m)) for supports of n and m points.
//!
//! **A feasible plan.** Sinkhorn's iteration ends with marginals that are only nearly right. The
//! plan returned here is rounded to the marginals, which changes the cost by at most twice
//! [`violation`](Entropic::violation)·M·max D; POT returns it unrounded.
//!
//! **Slow convergence.** Across a gap of width w between points mass moves at a rate of exp(−w/ε).
//! Where two measures have nearly but not quite the same mass on each side of a gap of 20 ε or more
//! (nearly equal measures do everywhere), convergence can take more iterations than are allowed.
//! The result reports it, and [`Problem::value`] is the better tool there.

mod options;
mod passes;
mod relax;
mod round;
mod scaling;

pub use options::{Epsilon, SinkhornOptions};

use crate::error::{Error, Result};
use crate::measures::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::tasks::SOLVING;
use crate::progress::{Counter, Progress, State};
use crate::solve::problem::Problem;
use crate::solve::problem::posed::Posed;
use crate::tools::parallel;
use crate::tree::Coupling;
use round::Scaled;
use scaling::Scaling;

/// Entropic plan with its costs and potentials.
#[derive(Clone, Debug, PartialEq)]
pub struct Entropic {
    /// Cost ⟨Π, D⟩ of the plan, without the entropy.
    pub transport_cost: f64,
    /// Objective ⟨Π, D⟩ + ε KL(Π | μ⊗ρ/M). Up to the violation it is Σ μ·left + Σ ρ·right.
    pub regularized_cost: f64,
    /// Plan of all entries above 0, rounded to the marginals μ and ρ·(total of μ / total of ρ).
    pub plan: Coupling,
    /// Potentials f of the left support: before rounding Πᵢⱼ = μᵢ ρⱼ/M · exp((fᵢ + gⱼ − Dᵢⱼ)/ε).
    pub left: Vec<(usize, f64)>,
    /// Potentials g of the right support.
    pub right: Vec<(usize, f64)>,
    /// Absolute ε, in the unit of the distances.
    pub epsilon: f64,
    /// Number of iterations at all values of ε together.
    pub iterations: usize,
    /// Error of the marginals before rounding: the larger of the two sums Σ|difference|/M.
    pub violation: f64,
    /// Whether the violation is within the tolerance.
    pub converged: bool,
}

/// Computes the entropic plan of a problem, converged or not: see [`Entropic::converged`]. Plan and
/// potentials are indexed by point, or by row and column of a matrix; entries without mass are left
/// out.
///
/// # Errors
/// The errors of [`Problem::value`]; a graph in several components; a problem that leaves mass
/// unmatched; an option out of range; [`Error::Canceled`] when `progress`, which counts
/// iterations, returns false.
///
/// # Complexity
/// Two numbers per pair of points of the supports, and one pass over one of the two tables per
/// iteration.
///
/// # Example
/// ```
/// use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
/// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(2, &[0.5, 0.5, 0.5, 0.5])?;
/// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
/// let options = SinkhornOptions { epsilon: Epsilon::Absolute(1.0), ..SinkhornOptions::default() };
/// let entropic = sinkhorn::solve(&problem, &options, &silent)?;
/// // Two points one apart, half the mass at each: 1/(1 + e) of it changes places.
/// assert!((entropic.transport_cost - 1.0 / (1.0 + 1f64.exp())).abs() < 1e-9);
/// assert!(entropic.converged);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn solve(
    problem: &Problem<'_>,
    options: &SinkhornOptions,
    progress: &Progress<'_>,
) -> Result<Entropic> {
    let mut scratch = Scaling::default();
    let total = prepare(&mut scratch, problem, options)?;
    let mut entropic = entropic(scratch, total, options, progress)?;
    let Entropic { plan, left, right, .. } = &mut entropic;
    for end in plan.left.iter_mut().chain(&mut plan.right) {
        *end = problem.name(*end as usize) as u32;
    }
    for dual in left.iter_mut().chain(right) {
        dual.0 = problem.name(dual.0);
    }
    Ok(entropic)
}

/// Copies a problem into the workspace; returns the mass that moves.
fn prepare(scratch: &mut Scaling, problem: &Problem<'_>, options: &SinkhornOptions) -> Result<f64> {
    options.check()?;
    match problem.in_one_piece()? {
        Posed::Matrix(matrix) => scratch.prepare_between(&matrix),
        Posed::Metric(pair) => scratch.prepare(pair.metric, &pair.a, &pair.b),
        Posed::Components(_) => unreachable!("it is in one piece"),
    }
}

/// Solves the prepared problem for measures of this total mass.
fn entropic(
    mut scratch: Scaling,
    total: f64,
    options: &SinkhornOptions,
    progress: &Progress<'_>,
) -> Result<Entropic> {
    let run = run(&mut scratch, total, options, true, progress)?;
    let (left, right) = (&scratch.left, &scratch.right);
    let mut plan = Coupling::default();
    let moves = scratch.plan.iter().filter(|share| **share * total > 0.0).count();
    let bytes = memory::size_of::<(u32, u32, f64)>(&[moves]);
    let step = format_args!("an entropic plan of {moves} moves");
    memory::check(step, bytes, "take the cost alone, without a plan")?;
    let width = right.len();
    let (rows, columns) = if scratch.swapped { (right, left) } else { (left, right) };
    for (i, &from) in rows.iter().enumerate() {
        for (j, &to) in columns.iter().enumerate() {
            let at = if scratch.swapped { j * width + i } else { i * width + j };
            let mass = scratch.plan[at] * total;
            if mass > 0.0 {
                plan.push(from as u32, to as u32, mass);
            }
        }
    }
    let potentials = |points: &[usize], of: &[f64]| -> Vec<(usize, f64)> {
        points.iter().copied().zip(of.iter().copied()).collect()
    };
    let mut duals = [potentials(left, &scratch.f), potentials(right, &scratch.g)];
    if scratch.swapped {
        duals.reverse();
    }
    let [left, right] = duals;
    Ok(Entropic {
        transport_cost: run.cost,
        regularized_cost: run.cost + run.epsilon * total * divergence(&scratch),
        plan,
        left,
        right,
        epsilon: run.epsilon,
        iterations: run.iterations,
        violation: run.violation,
        converged: run.violation <= options.tolerance,
    })
}

/// Computes [`Entropic::transport_cost`] of a problem.
///
/// # Errors
/// The errors of [`solve`], and [`Error::NotConverged`] with the violation: a number that depends
/// on where the iteration stopped is not returned.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Measures, PointMetric, Problem, silent, sinkhorn};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5])?;
/// let problem = Problem::new(&metric, &measures.row(0), &measures.row(1));
/// let value = sinkhorn::value(&problem, &sinkhorn::SinkhornOptions::default(), &silent)?;
/// assert!(value >= problem.value(&silent)?);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn value(
    problem: &Problem<'_>,
    options: &SinkhornOptions,
    progress: &Progress<'_>,
) -> Result<f64> {
    let mut scratch = Scaling::default();
    let total = prepare(&mut scratch, problem, options)?;
    run(&mut scratch, total, options, false, progress)?.converged((0, 1), options)
}

/// Computes the [`value`] of many pairs, in parallel over pairs; any number of threads gives the
/// same bits.
///
/// For a graph pass [`GroundMetric::materialized`] distances.
///
/// # Errors
/// The errors of [`value`], with the numbers of the measures; [`Error::Canceled`] when `progress`
/// returns false.
pub fn pairs(
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    options: &SinkhornOptions,
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    options.check()?;
    measures.check_points(metric.points())?;
    measures.check_pairs(pairs)?;
    let counter = Counter::new(SOLVING, pairs.len(), progress);
    let keep_going = |_: &State<'_>| counter.add(0).is_ok();
    parallel::try_map_with(pairs.len(), Scaling::default, |scratch, at| {
        let (i, j) = pairs[at];
        let (a, b) = (measures.row(i), measures.row(j));
        let total = scratch.prepare(metric, &a, &b)?;
        let value = run(scratch, total, options, false, &keep_going)?.converged((i, j), options)?;
        counter.add(1)?;
        Ok(value)
    })
}

/// Numbers of one run; the plan is in the workspace.
struct Run {
    cost: f64,
    epsilon: f64,
    iterations: usize,
    violation: f64,
}

impl Run {
    /// Returns the cost, or an error if the violation is above the tolerance.
    fn converged(&self, (left, right): (usize, usize), options: &SinkhornOptions) -> Result<f64> {
        let (iterations, violation, tolerance) =
            (self.iterations, self.violation, options.tolerance);
        if violation <= tolerance {
            return Ok(self.cost);
        }
        Err(Error::NotConverged { left, right, violation, tolerance, iterations })
    }
}

/// Solves the prepared problem; the kernel becomes the plan if that is `wanted`.
fn run(
    scratch: &mut Scaling,
    total: f64,
    options: &SinkhornOptions,
    wanted: bool,
    progress: &Progress<'_>,
) -> Result<Run> {
    let epsilon = options.epsilon.absolute(scratch.largest);
    let iterations = scratch.solve(epsilon, options, progress)?;
    let Scaling { plan: kernel, cost, u, v, a, b, sums, .. } = scratch;
    let rounded = round::round(Scaled { kernel, cost, u, v, a, b }, wanted, sums);
    Ok(Run { cost: rounded.cost * total, epsilon, iterations, violation: rounded.violation })
}

/// Computes KL(Π | a⊗b) of the plan in the workspace; all masses are shares of the total.
fn divergence(scratch: &Scaling) -> f64 {
    let rows = scratch.plan.chunks_exact(scratch.b.len()).zip(&scratch.a);
    let of_row = |(row, a): (&[f64], &f64)| -> f64 {
        let moves = row.iter().zip(&scratch.b).filter(|(share, _)| **share > 0.0);
        moves.map(|(share, b)| share * (share / a / b).ln()).sum()
    };
    rows.map(of_row).sum()
}
