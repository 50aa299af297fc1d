//! How much memory one step may take.

use pyo3::prelude::*;

/// Limits what one step of the work may take beyond what is in use, in bytes; `None` lifts it.
#[pyfunction]
#[pyo3(signature = (limit))]
pub(crate) fn set_memory_limit(limit: Option<u64>) {
    treeport::internal::memory::set_limit(limit);
}
