"""Rows and columns that have names: DataFrames, AnnData, tables of BIOM, and what is read from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt
from scipy import sparse


class Named(NamedTuple):
    """Rows of masses, and what rows and columns are called; `None` where they have no names."""

    rows: Any
    ids: Any
    names: Optional[list[str]]
    counted: bool = False  # whether columns have labels that only count from 0

    def called(self, points: Sequence[str]) -> Optional[list[str]]:
        """What columns are called; numbers that only count are names where some of these points have them."""
        if self.names is not None or not self.counted:
            return self.names
        numbers = texts(range(self.rows.shape[1]))
        return None if set(numbers).isdisjoint(points) else numbers


def is_anndata(what: Any) -> bool:
    """Whether it is an AnnData, whose package need not be installed; observations are measures."""
    return hasattr(what, "obsm") and hasattr(what, "X")


def is_biom(what: Any) -> bool:
    """Whether it is a table of the package biom-format, which need not be installed."""
    return hasattr(what, "matrix_data") and hasattr(what, "ids")


def named(what: Any) -> Named:
    """What rows and columns are called, where they are called anything; samples of BIOM tables become rows."""
    if isinstance(what, np.ndarray) or sparse.issparse(what):
        return Named(what, None, None)
    if isinstance(what, Named):
        return what
    if is_biom(what):
        rows = sparse.csr_array(what.matrix_data.T)
        return Named(rows, ids_of(what), texts(what.ids(axis="observation")))
    if is_anndata(what):
        return _of_anndata(what)
    if hasattr(what, "columns") and hasattr(what, "index"):  # pandas
        names = names_of_labels(what.columns)
        return Named(what, what.index, names, names is None)
    if hasattr(what, "_named"):  # Measures
        own: Named = what._named()
        return own
    return Named(what, None, None)


def _of_anndata(what: Any) -> Named:
    """Observations as rows; variables that were given no names are called 0, 1, … there, as text."""
    if what.X is None:
        raise ValueError("the AnnData has no X, whose rows would be the measures")
    labels = getattr(what, "var_names", None)
    names = None if labels is None else texts(labels)
    counted = names is not None and names == texts(range(len(names)))
    return Named(what.X, ids_of(what), None if counted else names, counted)


def ids_of(what: Any) -> Any:
    """What rows are called, where they are called anything; the rows themselves are not looked at."""
    if isinstance(what, np.ndarray) or sparse.issparse(what):
        return None
    if is_biom(what):
        return texts(what.ids())
    if is_anndata(what):
        return getattr(what, "obs_names", None)
    if hasattr(what, "columns") and hasattr(what, "index"):  # pandas
        return what.index
    return what.ids if hasattr(what, "_named") else None


def names_of_labels(labels: Any) -> Optional[list[str]]:
    """Labels as names; those that only count from 0 are none."""
    found = list(labels)
    return None if found == list(range(len(found))) else texts(found)


def texts(labels: Any) -> list[str]:
    return [str(label) for label in labels]


def places_of(columns: Sequence[str], names: Sequence[str], ids: Any = None) -> npt.NDArray[np.int64]:
    """For every column the number of the point of that name."""
    number = {name: at for at, name in enumerate(names)}
    if len(number) < len(names):
        twice = next(name for at, name in enumerate(names) if number[name] != at)
        raise ValueError(f"two points are called {twice}, so that columns cannot be matched by name")
    unknown = [column for column in columns if column not in number]
    if unknown:
        some = ", ".join(unknown[:3])
        turned = ids is not None and any(str(name) in number for name in ids)
        hint = "; rows are called as points are, so turn the table round (`.T`, of a biom.Table `.transpose()`)" if turned else ""
        raise ValueError(
            f"{len(unknown)} of {len(columns)} columns are called as no point is, such as {some}{hint}"
        )
    places = np.array([number[column] for column in columns], dtype=np.int64)
    found, times = np.unique(places, return_counts=True)
    if len(found) < len(places):
        raise ValueError(f"the column {names[found[times > 1][0]]} is there twice")
    return places


def placed(rows: Any, places: npt.NDArray[np.int64], width: int) -> sparse.csr_array:
    """Rows with their columns at other places; all other columns are empty, and take no memory."""
    given = sparse.csr_array(rows if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64))
    at = places[given.indices]
    moved = sparse.csr_array((given.data, at, given.indptr), shape=(given.shape[0], width))
    moved.sort_indices()
    return moved


def names_of_more(
    old: Optional[Sequence[str]], new: Optional[Sequence[str]], count: int
) -> Optional[list[str]]:
    """What all points are called once there are `count` more."""
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
        raise ValueError(f"two new points are called {next(name for name in called if called.count(name) > 1)}")
    return [*old, *called]


def check_same_columns(a: Any, b: Any) -> None:
    """Refuses two tables whose columns are called differently, where the points have no names that would tell."""
    left, right = named(a).names, named(b).names
    if left is None or right is None or left == right:
        return
    at = next((at for at, (x, y) in enumerate(zip(left, right)) if x != y), min(len(left), len(right)))
    one, other = (names[at] if at < len(names) else "missing" for names in (left, right))
    raise ValueError(
        f"column {at} is {one} on the left and {other} on the right, and the points have no names; bring both into one "
        "order (`B[A.columns]`), or give names to the points"
    )


def framed(distances: Any, left: Any, right: Any) -> Any:
    """A table of distances with the IDs of its rows and columns, where either has any."""
    if left is None and right is None:
        return distances
    try:
        import pandas
    except ImportError as error:
        raise ImportError("distances of rows with IDs are a DataFrame: `pip install pandas`") from error
    return pandas.DataFrame(distances, index=left, columns=right)
