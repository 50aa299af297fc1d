//! Memory limit of one step.

use pyo3::prelude::*;

use crate::convert::check_room;

/// Limits the bytes that one step may allocate beyond those in use; `None` removes the limit.
#[pyfunction]
#[pyo3(signature = (limit))]
pub(crate) fn set_memory_limit(limit: Option<u64>) {
    treeport::memory::set_limit(limit);
}

/// Rejects a copy of an array of this many bytes if it does not fit into memory.
#[pyfunction]
pub(crate) fn check_copy(bytes: u64) -> PyResult<()> {
    check_room(bytes)
}
