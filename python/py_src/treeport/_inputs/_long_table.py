"""Long tables: a row for every point, with the ID of its cloud, its mass and its coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from .._types import Floats, Integers
from ._table import comes_from

# Default names of columns, the same as in the compiled half.
ID, MASS = "id", "mass"


def is_frame(what: Any) -> bool:
    """Checks whether the input is a DataFrame of pandas or of polars."""
    if comes_from(what, "polars"):
        return hasattr(what, "collect") or hasattr(what, "columns")
    return hasattr(what, "index") and hasattr(what, "columns")


class LongTable:
    """A data frame with the roles of its columns."""

    def __init__(
        self, frame: Any, id: Optional[str], mass: Optional[str], columns: Optional[Sequence[str]]
    ) -> None:
        if hasattr(frame, "collect"):
            raise TypeError("a LazyFrame of polars has no numbers yet; give `frame.collect()`")
        self.id = ID if id is None else id
        index = getattr(frame, "index", None)
        if index is not None and self.id in (index.names or ()) and self.id not in frame.columns:
            frame = frame.reset_index()
        self.frame = frame
        self.known = list(frame.columns)
        self.mass = (
            MASS if mass is None and MASS in self.known and MASS not in (columns or ()) else mass
        )
        others = [name for name in self.known if name not in (self.id, self.mass)]
        self.columns = others if columns is None else list(columns)
        for name in (self.id, *([] if self.mass is None else [self.mass]), *self.columns):
            self._check(name)
        if not self.columns:
            raise ValueError(
                f"the table has no columns of coordinates; its columns are {self._all()}"
            )

    def _check(self, name: Any) -> None:
        if name not in self.known:
            hint = " (`groupby` says which column has the IDs of clouds)" if name == self.id else ""
            raise ValueError(
                f"the table has no column {name!r}{hint}; its columns are {self._all()}"
            )
        if self.known.count(name) > 1:
            raise ValueError(f"the table has two columns {name!r}")

    def _all(self) -> str:
        return ", ".join(repr(name) for name in self.known) or "none"

    def read(self) -> tuple[Floats, Integers, Optional[Floats], list[Any]]:
        """Returns points, offsets of clouds, masses and IDs; clouds are in order of appearance."""
        ids, number = self._clouds()
        order = np.argsort(number, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(ids)))]).astype(
            np.int64
        )
        points = np.empty((len(number), len(self.columns)))
        for axis, name in enumerate(self.columns):
            points[:, axis] = self._numbers(name)[order]
        masses = None if self.mass is None else self._numbers(self.mass)[order]
        return points, starts, masses, ids

    def _clouds(self) -> tuple[list[Any], Integers]:
        """Returns the IDs of clouds, and the number of the cloud of every row."""
        column = self.frame[self.id]
        missing = np.asarray(column.is_null() if hasattr(column, "is_null") else column.isna())
        if missing.any():
            raise ValueError(
                f"row {int(np.argmax(missing))} has no {self.id}; every point belongs to a cloud"
            )
        values = column.to_list()
        place: dict[Any, int] = {}
        number = np.fromiter(
            (place.setdefault(value, len(place)) for value in values), np.int64, len(values)
        )
        if not place:
            raise ValueError("the table has no rows; a row is a point of a cloud")
        return list(place), number

    def _numbers(self, name: str) -> Floats:
        column = self.frame[name]
        try:
            # Missing numbers become NaN, which raises an error with its position later.
            return np.asarray(column.to_numpy(), dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"column {name!r} is of type {column.dtype}; coordinates and masses are numbers "
                "(`columns` says which columns are coordinates)"
            ) from None
