"""Measures as ``{node: mass}``, one or a list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Callable

import numpy as np
from scipy import sparse

from ._numbers import is_sparse
from ._table import NamedTable, Places, texts


def is_mine(what: Any) -> bool:
    return is_mapping(what) or are_mappings(what)


def to_measures(what: Any) -> NamedTable:
    """Reads one row per dict; points are the nodes that occur in them, in order of appearance."""
    measures = [what] if is_mapping(what) else what
    return named_rows(measures, places_in(measures))


def is_mapping(what: Any) -> bool:
    """Checks whether the input is one measure ``{node: mass}``; `scipy.sparse.dok_array` is not."""
    return isinstance(what, Mapping) and not is_sparse(what)


def are_mappings(what: Any) -> bool:
    """Checks whether the input is a nonempty list of measures ``{node: mass}``."""
    return isinstance(what, (list, tuple)) and bool(what) and all(map(is_mapping, what))


def rows_of_mappings(measures: Sequence[Mapping[Any, Any]], places: Places) -> sparse.csr_array:
    """Builds one sparse row per dict; points that are not keys have no mass."""
    find = _finder(places)
    start, columns, masses = [0], [], []
    for measure in measures:
        for node, mass in measure.items():
            columns.append(find(node))
            masses.append(_mass(node, mass))
        if len(set(columns[start[-1] :])) < len(measure):
            raise ValueError(f"two of the nodes {_some(measure)} are the same node")
        start.append(len(columns))
    parts = (np.array(masses, np.float64), np.array(columns, np.int64), np.array(start, np.int64))
    return sparse.csr_array(parts, shape=(len(measures), places.size))


def named_rows(measures: Sequence[Mapping[Any, Any]], places: Places) -> NamedTable:
    """Returns dicts as a table with the names of the points, if they have any."""
    called = None if places.names is None else texts(places.names)
    return NamedTable(lambda: rows_of_mappings(measures, places), None, called, mentioned=True)


def places_in(measures: Sequence[Mapping[Any, Any]]) -> Places:
    """Returns all nodes that occur in the measures, in order of appearance."""
    nodes = list(dict.fromkeys(node for measure in measures for node in measure))
    return Places(len(nodes), nodes)


def _finder(places: Places) -> Callable[[Any], int]:
    """Returns a function that maps a node, or its text, to its number; names in models are text."""
    if places.names is None:
        return lambda node: _number(node, places.size)
    names = places.names
    exact = {name: at for at, name in enumerate(names)}
    by_text: dict[str, int] = {}

    def find(node: Any) -> int:
        at = exact.get(node)
        if at is None:
            if not by_text:
                for number, text in enumerate(texts(names)):
                    by_text[text] = -1 if text in by_text else number
            at = by_text.get(str(node))
            if at == -1:
                raise ValueError(
                    f"several nodes read {str(node)!r}; name the node itself, not its text"
                )
        if at is None:
            some = ", ".join(repr(name) for name in names[:3])
            raise ValueError(f"there is no node {node!r}; there are {len(names)}, such as {some}")
        return at

    if len(exact) < len(names):
        twice = next(name for at, name in enumerate(names) if exact[name] != at)
        raise ValueError(
            f"two points are called {twice!r}, so that masses cannot be matched by name"
        )
    return find


def _number(node: Any, count: int) -> int:
    if isinstance(node, Integral) and not isinstance(node, bool) and 0 <= int(node) < count:
        return int(node)
    raise ValueError(
        f"there is no point {node!r}; points have no names here, and are numbered from 0 to {count - 1}"
    )


def _some(nodes: Any) -> str:
    few = [repr(node) for node in list(nodes)[:3]]
    return ", ".join(few) + (", …" if len(nodes) > 3 else "")


def _mass(node: Any, mass: Any) -> float:
    try:
        value = float(mass)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"node {node!r} has mass {mass!r}, which is no number") from error
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"node {node!r} has mass {value}; masses must be finite and at least 0")
    return value
