//! Constants of proofs in Python; their derivations are in the library.

use pyo3::prelude::*;

/// Returns an upper bound of the relative error of this many roundings to single precision.
#[pyfunction]
pub(crate) fn lost_in_single(roundings: usize) -> f64 {
    treeport::solve::single(roundings)
}
