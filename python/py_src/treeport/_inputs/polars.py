"""DataFrames and Series of polars.

They have no index, so a first column that is not numeric has the labels of rows."""

from __future__ import annotations

from typing import Any

from ._table import NamedTable, comes_from


def is_mine(what: Any) -> bool:
    return comes_from(what, "polars")


def to_measures(what: Any) -> NamedTable:
    """Reads numbers with the names of columns; a first column without numbers labels the rows."""
    if hasattr(what, "collect"):
        raise TypeError("a LazyFrame of polars has no numbers yet; give `frame.collect()`")
    if not hasattr(what, "columns"):  # a Series
        return NamedTable(lambda: _numbers(what.to_frame())[:, 0])
    if what.width < 2 or _holds_numbers(what.dtypes[0]):
        return NamedTable(lambda: _numbers(what), None, what.columns)
    masses = what[:, 1:]
    return NamedTable(lambda: _numbers(masses), what[:, 0].to_list(), masses.columns)


def _holds_numbers(dtype: Any) -> bool:
    return bool(dtype.is_numeric()) or str(dtype) in ("Boolean", "Null")


def _numbers(frame: Any) -> Any:
    for column in frame.get_columns():
        if not _holds_numbers(column.dtype):
            raise ValueError(
                f"column {column.name} is of type {column.dtype}; give numbers, and names in the first column"
            )
        if column.null_count():
            row = column.is_null().arg_max()
            where = f"the entry of row {row}, column {column.name}"
            raise ValueError(f"{where} is missing; fill it (`fill_null`) or leave it out first")
    return frame.to_numpy()
