"""DataFrames and Series of pandas and compatible packages; pandas need not be installed."""

from __future__ import annotations

from numbers import Number
from typing import Any, Optional

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
    _refuse_text(values)
    try:
        return np.require(values, np.float64, "A")
    except TypeError as error:
        if not np.any(values.isna()):
            raise
        place = tuple(int(at[0]) for at in np.nonzero(np.asarray(values.isna())))
        column = "" if len(place) == 1 else f", column {values.columns[place[1]]}"
        where = f"the entry of row {values.index[place[0]]}{column}"
        raise ValueError(f"{where} is missing; fill it (`fillna`) or leave it out first") from error


def columns_without_numbers(frame: Any) -> list[tuple[Any, str]]:
    """Returns the columns of a frame that hold text, dates or other objects, and what they hold."""
    found = []
    kinds = np.asarray(frame.dtypes, dtype=object)
    # Reading a column takes microseconds, and tables of counts have thousands.
    for at in np.flatnonzero([getattr(kind, "kind", "O") not in "biuf" for kind in kinds]):
        held = what_it_holds(frame.iloc[:, at])
        if held is not None:
            found.append((frame.columns[at], held))
    return found


def what_it_holds(column: Any) -> Optional[str]:
    """Describes a Series without numbers; `None` for numbers, also in a column of objects."""
    kind = str(column.dtype)
    if kind.startswith(("datetime", "timedelta", "period")):
        return "dates"
    if kind == "category":
        return what_it_holds(column.cat.categories.to_series())
    if kind.startswith("str"):
        return "text"
    if kind != "object":
        return None
    other = next((one for one in column if not _is_number(one)), None)
    return None if other is None else f"entries such as {other!r}"


def _is_number(one: Any) -> bool:
    return one is None or isinstance(one, (Number, np.generic)) or type(one).__name__ == "NAType"


def _refuse_text(values: Any) -> None:
    """Raises an error that names the columns that do not hold numbers."""
    if hasattr(values, "iloc") and hasattr(values, "columns"):
        wrong = columns_without_numbers(values)
    elif hasattr(values, "dtype") and (held := what_it_holds(values)) is not None:
        raise ValueError(f"the Series has {held}, and not numbers")
    else:
        return
    if wrong:
        name, held = wrong[0]
        more = f" ({len(wrong)} columns do)" if len(wrong) > 1 else ""
        raise ValueError(
            f"column {name} has {held}{more}, and not numbers; leave it out (`drop(columns=…)`), or make it the index if "
            "it names the rows"
        )
