"""DataFrames and Series of pandas and compatible packages; pandas need not be installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._numbers import refuse_complex
from ._table import NamedTable


def is_mine(what: Any) -> bool:
    return hasattr(what, "index") and (hasattr(what, "columns") or hasattr(what, "reindex"))


def to_measures(what: Any) -> NamedTable:
    """Reads numbers with the labels of rows and columns; the labels of a Series are points."""
    if hasattr(what, "columns"):
        return NamedTable(lambda: _numbers(what), what.index, what.columns)
    return NamedTable(lambda: _numbers(what), None, what.index)


def _numbers(values: Any) -> Any:
    for kind in np.atleast_1d(np.asarray(values.dtypes, dtype=object)):
        refuse_complex(kind)
    try:
        return np.require(values, np.float64, "A")
    except TypeError as error:
        if not np.any(values.isna()):
            raise
        place = tuple(int(at[0]) for at in np.nonzero(np.asarray(values.isna())))
        column = "" if len(place) == 1 else f", column {values.columns[place[1]]}"
        where = f"the entry of row {values.index[place[0]]}{column}"
        raise ValueError(f"{where} is missing; fill it (`fillna`) or leave it out first") from error
