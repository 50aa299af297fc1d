//! The engines of exact transport. Each solves a balanced problem and returns a certified
//! [`Answer`](super::Answer); [`route`](super::route) chooses the engine.

mod arcs;
pub(super) mod auction;
mod bitset_basis;
mod coarse;
mod dual;
pub(super) mod edges;
mod flow_lists;
mod initial_basis;
pub(super) mod integer_mass;
pub(super) mod line;
mod line_potentials;
mod lopsided;
mod price;
#[cfg(test)]
pub(crate) mod random;
mod simplex;
mod small;
pub(super) mod sweeps;
pub(super) mod table;
mod tree_basis;

use crate::error::{Error, Result};
use crate::solve::answer::Answer;
pub(crate) use dual::lower_bound;
pub(crate) use sweeps::interval;

/// A value with the largest amount by which it may exceed the optimum.
#[derive(Clone, Copy)]
pub(super) struct Certified {
    pub(super) value: f64,
    pub(super) gap: f64,
    /// Whether the certificate needed integer costs.
    pub(super) integers: bool,
}

/// A callback that receives the lower bound over the upper one, if known; false cancels the work.
pub(crate) type KeepGoing<'a> = dyn Fn(Option<f64>) -> bool + 'a;

/// Pivots or allocations between two checks for cancellation: milliseconds of a long solve.
const PIVOTS_PER_CHECK: usize = 1 << 10;

/// Returns [`Error::Canceled`] if the callback cancels the work.
pub(in crate::solve) fn check_canceled(keep_going: &KeepGoing<'_>) -> Result<()> {
    if keep_going(None) { Ok(()) } else { Err(Error::Canceled) }
}

/// Most costs of a workspace that a thread keeps, about 1 MiB.
pub(super) const MOST_KEPT: usize = 1 << 17;

/// Returns the limit of pivots, far above the pivots of any problem in tests and measurements.
fn most_pivots(n: usize, m: usize) -> usize {
    1000 + 50 * (n + m) * (1 + (n + m).ilog2() as usize)
}

/// Returns whether a gap certifies a value; an infinite value never is certified.
pub(super) fn is_proof(value: f64, gap: f64) -> bool {
    value.is_finite() && gap <= Answer::TOLERANCE * value
}

/// Returns whether a value is insensitive to integer masses, which change it by `change`.
pub(super) fn is_settled(value: f64, change: f64) -> bool {
    value == 0.0 || change <= 1e-6 * value
}

/// Largest rounding error of a reduced cost, as a share of the largest cost.
pub(super) const SLACK: f64 = 1.0 / (1u64 << 48) as f64;
