"""Sparse matrices and arrays of SciPy, in every format."""

from __future__ import annotations

from typing import Any

from ._numbers import is_sparse as is_mine
from ._table import NamedTable

__all__ = ["is_mine", "to_measures"]


def to_measures(what: Any) -> NamedTable:
    """Reads rows of a matrix; an array of one axis is one row."""
    return NamedTable(lambda: compressed(what))


def compressed(matrix: Any) -> Any:
    """Converts to compressed rows and checks all indices, which SciPy does not validate."""
    if matrix.ndim == 1:
        matrix = matrix.reshape(1, -1)
    if hasattr(matrix, "check_format"):  # compressed rows, columns or blocks
        matrix.check_format(full_check=True)
        return matrix.tocsr()
    entries = matrix.tocoo()
    for at, side in zip((entries.row, entries.col), matrix.shape):
        if at.size and (at.min() < 0 or at.max() >= side):
            raise ValueError(f"the sparse matrix of shape {matrix.shape} has entries outside of it")
    return entries.tocsr()
