//! Memory limit of one step.

use pyo3::prelude::*;

/// Limits the bytes that one step may allocate beyond those in use; `None` removes the limit.
#[pyfunction]
#[pyo3(signature = (limit))]
pub(crate) fn set_memory_limit(limit: Option<u64>) {
    treeport::internal::memory::set_limit(limit);
}
