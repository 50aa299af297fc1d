//! The slow judge: exact transport by successive shortest paths.
//!
//! Kept for tests because it is short enough to check by reading. It moves mass from
//! one measure to the other along the cheapest path of the residual graph until none is left, and
//! keeps dual potentials on the way, which prove the answer. Each round is one dense Dijkstra over
//! both supports; for supports of n and m points expect about n + m rounds of O(n·m).

mod solver;

use treeport::Measure;

use crate::error::Result;

/// How far two totals may differ, relative to the larger, to be settled by rescaling.
const BALANCE_TOLERANCE: f64 = 1e-6;

/// The cheapest way to turn one measure into another, with its proof.
///
/// The potentials satisfy `left[i] + right[j] <= cost(i, j)` for all points of the two supports, so
/// their mass-weighted sum is a lower bound on every plan; it equals `value` up to rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Total cost of the plan: Σ mass · cost.
    pub value: f64,
    /// (from, to, mass) with mass above 0; the numbers are those of the points.
    pub plan: Vec<(usize, usize, f64)>,
    /// A potential for every point of the first measure, in its order.
    pub left: Vec<f64>,
    /// A potential for every point of the second measure, in its order.
    pub right: Vec<f64>,
}

/// The exact cost of transport from `a` to `b`, its plan and its potentials.
///
/// Totals that differ by less than 10⁻⁶ count as equal: the second measure is rescaled to the
/// first. `shared_stays` promises that `cost` is 0 on the diagonal and obeys the triangle
/// inequality; mass at the same point then stays put, which shrinks the problem. Without the
/// promise it may move.
///
/// # Errors
/// Unequal totals, a cost that is negative or not finite, or (never seen) rounding that keeps the
/// loop from finishing: an error, not a wrong number.
///
/// # Example
/// ```
/// use treeport_lab::exact::transport;
/// let measures = treeport::Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.5, 0.5])?;
/// let line = |i: usize, j: usize| i.abs_diff(j) as f64;
/// let found = transport(measures.row(0), measures.row(1), line, true)?;
/// assert_eq!(found.value, 1.0);
/// # Ok::<(), treeport_lab::Error>(())
/// ```
pub fn transport(
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
    // One 1-Lipschitz function extends the potentials to the points that were cancelled:
    // f(x) = min_j cost(x, j) − right(j), taken as f on the left and −f on the right.
    let potential = |x: usize| {
        let reach = demand.iter().zip(&moved.right).map(|(&(j, _), r)| cost(x, j) - r);
        if demand.is_empty() { 0.0 } else { reach.fold(f64::INFINITY, f64::min) }
    };
    let left = a.iter().map(|(x, _)| potential(x)).collect();
    let right = b.iter().map(|(x, _)| -potential(x)).collect();
    Ok(Transport { value: moved.value, plan, left, right })
}

type Masses = Vec<(usize, f64)>;

/// Both measures as lists, the second rescaled to the total of the first.
fn balanced(a: Measure<'_>, b: Measure<'_>) -> Result<(Masses, Masses)> {
    let (left_total, right_total) = (a.total(), b.total());
    if (left_total - right_total).abs() > BALANCE_TOLERANCE * left_total.max(right_total) {
        return Err(
            treeport::Error::Unbalanced { left: 0, right: 1, left_total, right_total }.into()
        );
    }
    let scale = left_total / right_total;
    Ok((a.iter().collect(), b.iter().map(|(j, mass)| (j, mass * scale)).collect()))
}

/// Takes the common part out of both lists, which are sorted by point, and returns it as a plan.
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

#[cfg(test)]
mod tests;
