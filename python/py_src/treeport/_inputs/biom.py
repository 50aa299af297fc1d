"""Tables of the package biom-format: samples are measures, observations are points.

The package need not be installed."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from ._table import NamedTable, texts


def is_mine(what: Any) -> bool:
    return hasattr(what, "matrix_data") and hasattr(what, "ids")


def to_measures(what: Any) -> NamedTable:
    columns = texts(what.ids(axis="observation"))
    return NamedTable(lambda: sparse.csr_array(what.matrix_data.T), texts(what.ids()), columns)
