//! Reference solver: exact transport by successive shortest paths.
//!
//! It is short enough to verify by reading. It augments along the
//! cheapest path of the residual graph until all mass is moved, and maintains dual potentials that
//! certify the result. Each round is a dense Dijkstra over both supports; for supports of n and m
//! points expect about n + m rounds of O(n·m).

mod solver;

use treeport::{Error, Measure, Result};

/// Largest relative difference of two totals that is removed by rescaling.
const BALANCE_TOLERANCE: f64 = 1e-6;

/// An optimal transport plan with its certificate.
///
/// The potentials satisfy `left[i] + right[j] <= cost(i, j)` for all points of the two supports, so
/// their mass-weighted sum is a lower bound of every plan; it equals `value` up to rounding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transport {
    /// Total cost of the plan: Σ mass · cost.
    pub(crate) value: f64,
    /// (from, to, mass) with positive mass, by the numbers of the points.
    pub(crate) plan: Vec<(usize, usize, f64)>,
    /// Potentials of the points of the first measure, in its order.
    pub(crate) left: Vec<f64>,
    /// Potentials of the points of the second measure, in its order.
    pub(crate) right: Vec<f64>,
}

/// Computes the exact cost of transport from `a` to `b`, its plan and its potentials.
///
/// Totals that differ by less than 10⁻⁶ count as equal: the second measure is rescaled to the
/// first. `shared_stays` asserts that `cost` is 0 on the diagonal and satisfies the triangle
/// inequality; shared mass then stays in place, which shrinks the problem. Otherwise it may move.
pub(crate) fn transport(
    a: Measure<'_>,
    b: Measure<'_>,
    cost: impl Fn(usize, usize) -> f64,
    shared_stays: bool,
) -> Result<Transport> {
    let (mut supply, mut demand) = balanced(a, b)?;
    if !shared_stays {
        return solver::solve(&supply, &demand, a.total(), cost);
    }
    let mut plan = cancel_shared(&mut supply, &mut demand);
    let moved = solver::solve(&supply, &demand, a.total(), &cost)?;
    plan.extend(&moved.plan);
    // A 1-Lipschitz function extends the potentials to the canceled points: f(x) = min_j cost(x,
    // j) − right(j), used as f on the left and −f on the right.
    let potential = |x: usize| {
        let candidates = demand.iter().zip(&moved.right).map(|(&(j, _), r)| cost(x, j) - r);
        if demand.is_empty() { 0.0 } else { candidates.fold(f64::INFINITY, f64::min) }
    };
    let left = a.iter().map(|(x, _)| potential(x)).collect();
    let right = b.iter().map(|(x, _)| -potential(x)).collect();
    Ok(Transport { value: moved.value, plan, left, right })
}

type Masses = Vec<(usize, f64)>;

/// Returns both measures as lists, the second rescaled to the total of the first.
fn balanced(a: Measure<'_>, b: Measure<'_>) -> Result<(Masses, Masses)> {
    let (left_total, right_total) = (a.total(), b.total());
    if (left_total - right_total).abs() > BALANCE_TOLERANCE * left_total.max(right_total) {
        return Err(Error::Unbalanced { left: 0, right: 1, left_total, right_total });
    }
    let scale = left_total / right_total;
    Ok((a.iter().collect(), b.iter().map(|(j, mass)| (j, mass * scale)).collect()))
}

/// Removes the common mass from both lists, which are sorted by point, and returns it as a plan.
fn cancel_shared(supply: &mut Masses, demand: &mut Masses) -> Vec<(usize, usize, f64)> {
    let mut shared = Vec::new();
    for (point, mass) in supply.iter_mut() {
        if let Ok(at) = demand.binary_search_by_key(point, |&(j, _)| j) {
            let common = mass.min(demand[at].1);
            *mass -= common;
            demand[at].1 -= common;
            shared.push((*point, *point, common));
        }
    }
    supply.retain(|&(_, mass)| mass > 0.0);
    demand.retain(|&(_, mass)| mass > 0.0);
    shared
}

mod tests;
