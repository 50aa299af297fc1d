"""The common representation of inputs: numbers with labels of rows and columns."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
from scipy import sparse

from .._types import Integers
from ._numbers import array_of, is_sparse


class Places(NamedTuple):
    """The number of points and their names; `None` if points are referred to by number."""

    size: int
    names: Optional[Sequence[Any]]


class MissingColumnsWarning(UserWarning):
    """Warning about points without a column in a table of masses, which count as 0."""


class NamedTable:
    """Numbers of one or two axes with optional labels of rows and columns.

    Numbers are read on first access, so reading only the labels is cheap. With `mentioned`, as for
    dicts, points without a column have no mass and cause no warning."""

    def __init__(
        self,
        read: Callable[[], Any],
        rows: Any = None,
        columns: Any = None,
        mentioned: bool = False,
    ) -> None:
        self._read, self.rows, self.columns, self.mentioned = read, rows, columns, mentioned

    @cached_property
    def values(self) -> Any:
        """The numbers: compressed rows, an array, or an input that NumPy converts to one."""
        return self._read()

    @property
    def names(self) -> Optional[list[str]]:
        """The labels of columns as names; `None` if there are none or if they are 0, 1, …"""
        return names_of_labels(self.columns)

    def called(self, points: Sequence[str]) -> Optional[list[str]]:
        """Returns the names of columns; labels 0, 1, … are names if a point has one of them."""
        if self.columns is None or self.names is not None:
            return self.names
        numbers = texts(self.columns)
        return None if set(numbers).isdisjoint(points) else numbers

    def in_order(self, points: Optional[Sequence[Any]], missing: str = "warn") -> Any:
        """Returns the numbers with columns in the order of the points, if both have names.

        Points without a column have no mass and cause a warning, or an error if `missing` is
        "error"."""
        wanted = None if points is None else texts(points)
        columns = None if wanted is None else self.called(wanted)
        if wanted is None or columns is None or columns == wanted:
            return self.values
        places = places_of(columns, wanted, self.rows)
        if len(places) < len(wanted) and not self.mentioned:
            _tell_missing(set(columns), wanted, missing)
        return _placed(self.values, places, len(wanted))


def missing_of(missing: str) -> str:
    """Returns a value of the parameter `missing`, or raises an error if it is invalid."""
    if missing not in ("warn", "error"):
        raise ValueError(f'missing is {missing!r}; it must be "warn" or "error"')
    return missing


def _tell_missing(columns: set[str], points: Sequence[str], missing: str) -> None:
    """Warns about points without a column, or raises an error if `missing` is "error"."""
    without = [name for name in points if name not in columns]
    have, they = ("has", "it counts") if len(without) == 1 else ("have", "they count")
    said = f"{len(without)} of {len(points)} points {have} no column, such as {without[0]}"
    if missing_of(missing) == "error":
        raise ValueError(f"{said}; give every point one, of zeros where it has no mass")
    hint = '`Measures(X, missing="error")` refuses such a table'
    warnings.warn(f"{said}; {they} as 0 ({hint})", MissingColumnsWarning, stacklevel=outside())


def outside() -> int:
    """Returns the stack level of the first caller outside this package and scikit-learn."""
    inside, level = (__name__.partition(".")[0], "sklearn"), 1
    frame = sys._getframe(1)
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__")).partition(".")[0] in inside
    ):
        frame, level = frame.f_back, level + 1
    return level


def comes_from(what: Any, package: str) -> bool:
    """Checks whether the type or a base class is of a package, which need not be installed."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(what).__mro__)


def own_labels(labels: Any) -> Optional[list[Any]]:
    """Returns labels as a list, or `None` if they are 0, 1, …"""
    found = None if labels is None else list(labels)
    return None if found is None or found == list(range(len(found))) else found


def names_of_labels(labels: Any) -> Optional[list[str]]:
    """Returns labels as text, or `None` if they are 0, 1, …"""
    found = own_labels(labels)
    return None if found is None else texts(found)


def texts(labels: Any) -> list[str]:
    return [str(label) for label in labels]


def places_of(columns: Sequence[str], names: Sequence[str], ids: Any = None) -> Integers:
    """Returns the number of the point of the same name for every column."""
    number = {name: at for at, name in enumerate(names)}
    if len(number) < len(names):
        twice = next(name for at, name in enumerate(names) if number[name] != at)
        raise ValueError(
            f"two points are called {twice}, so that columns cannot be matched by name"
        )
    unknown = [column for column in columns if column not in number]
    if unknown:
        some = ", ".join(unknown[:3])
        turned = ids is not None and any(str(name) in number for name in ids)
        hint = (
            "; the rows name points, so transpose the table (`.T`, of a biom.Table `.transpose()`)"
            if turned
            else ""
        )
        raise ValueError(
            f"{len(unknown)} of {len(columns)} columns name no point, such as {some}{hint}"
        )
    places = np.array([number[column] for column in columns], dtype=np.int64)
    found, times = np.unique(places, return_counts=True)
    if len(found) < len(places):
        raise ValueError(f"the column {names[found[times > 1][0]]} is there twice")
    return places


def _placed(values: Any, places: Integers, width: int) -> Any:
    """Moves columns to new positions; if columns are added, the result is sparse."""
    if not is_sparse(values):
        values = array_of(values)
        if values.ndim == 1:
            masses = np.zeros(width)
            masses[places] = values
            return masses
        if len(places) == width:
            return values[:, np.argsort(places)]
    given = sparse.csr_array(values)
    moved = sparse.csr_array(
        (given.data, places[given.indices], given.indptr), shape=(given.shape[0], width)
    )
    # The masses may share memory with the input, which must not change.
    return moved if moved.has_sorted_indices else moved.sorted_indices()


def names_of_more(
    old: Optional[Sequence[str]], new: Optional[Sequence[str]], count: int
) -> Optional[list[str]]:
    """Returns the names of old and new points, or raises an error if they do not fit."""
    if new is not None and len(new) != count:
        raise ValueError(f"there are {len(new)} names for {count} new points")
    if (old is None) != (new is None):
        raise ValueError(
            "the old points have no names, so the new ones have none either"
            if old is None
            else "the old points have names; give `names` for the new ones"
        )
    if old is None or new is None:
        return None
    called = texts(new)
    if both := set(old).intersection(called):
        raise ValueError(f"there is a point called {min(both)} already")
    if len(set(called)) < len(called):
        raise ValueError(
            f"two new points are called {next(name for name in called if called.count(name) > 1)}"
        )
    return [*old, *called]
