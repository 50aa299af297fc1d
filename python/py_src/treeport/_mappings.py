"""Measures as ``{node: mass}``, and plans as tables of names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
from scipy import sparse

from ._named import Named, names_of_labels, texts


class Places(NamedTuple):
    """How many points there are, and what they are called; `None` where they go by their numbers."""

    size: int
    names: Optional[Sequence[Any]]


def is_mapping(what: Any) -> bool:
    """Whether it is one measure as ``{node: mass}``."""
    return isinstance(what, Mapping)


def are_mappings(what: Any) -> bool:
    """Whether it is a list of measures as ``{node: mass}``."""
    return isinstance(what, (list, tuple)) and bool(what) and all(map(is_mapping, what))


def unmapped(what: Any, places: Callable[[], Places]) -> Any:
    """Sparse rows of what is given as ``{node: mass}``, or as a list of those; everything else as it is."""
    if is_mapping(what):
        return rows_of_mappings([what], places())
    return rows_of_mappings(what, places()) if are_mappings(what) else what


def rows_of_mappings(measures: Sequence[Mapping[Any, Any]], places: Places) -> sparse.csr_array:
    """A sparse row for each; points that it does not mention have no mass."""
    find = _finder(places)
    start, columns, masses = [0], [], []
    for measure in measures:
        for node, mass in measure.items():
            columns.append(find(node))
            masses.append(_mass(node, mass))
        if len(set(columns[start[-1] :])) < len(measure):
            raise ValueError(f"two of the nodes {_some(measure)} are one and the same")
        start.append(len(columns))
    parts = (np.array(masses, np.float64), np.array(columns, np.int64), np.array(start, np.int64))
    return sparse.csr_array(parts, shape=(len(measures), places.size))


def named_rows(measures: Sequence[Mapping[Any, Any]], places: Places) -> Named:
    """The same with the names of the points, where they have any."""
    called = None if places.names is None else texts(places.names)
    return Named(rows_of_mappings(measures, places), None, called)


def places_in(measures: Sequence[Mapping[Any, Any]]) -> Places:
    """The nodes that measures mention, in that order, where nothing else says which there are."""
    nodes = list(dict.fromkeys(node for measure in measures for node in measure))
    return Places(len(nodes), nodes)


def places_for(source: Any, known: Optional[Places], X: Any) -> Places:
    """The points of an estimator: those of its ground metric, `known` from elsewhere, or those that `X` mentions."""
    given = source.points, source.cost, source.graph
    own = None if all(what is None for what in given) else places_of_ground(*given)
    if own is not None and (own.names is not None or known is None):
        return own
    return places_in(X) if known is None else known


def places_of_ground(points: Any, cost: Any, graph: Any, axis: int = 0) -> Places:
    """The points of a ground metric; those of a matrix of costs are its rows, or its columns."""
    names = names_of_ground(points, cost, graph, axis)
    if names is not None:
        return Places(len(names), names)
    given = graph if points is None else points
    if given is not None:
        return Places(given.shape[0] if hasattr(given, "shape") else len(given), None)
    shape = np.shape(cost)
    if len(shape) == 1:  # condensed: n(n - 1)/2 distances
        return Places((1 + int(np.sqrt(1 + 8 * shape[0]))) // 2, None)
    return Places(shape[axis], None)


def names_of_ground(points: Any, cost: Any, graph: Any, axis: int = 0) -> Optional[list[Any]]:
    """What the points of a ground metric are called: nodes, the index of a table, or the cells of an AnnData."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        return list(graph.nodes)
    for given, at in ((graph, 0), (points, 0), (cost, axis)):
        if given is not None:
            return _labels(given, at)
    return None


def _labels(what: Any, axis: int) -> Optional[list[Any]]:
    """The index or the columns of a DataFrame, or the observations of an AnnData, where they are names."""
    if hasattr(what, "obs_names"):
        names = texts(what.obs_names)
        return None if names == texts(range(len(names))) else names
    if not hasattr(what, "columns"):
        return None
    labels = what.index if axis == 0 else what.columns
    return None if names_of_labels(labels) is None else list(labels)


def _finder(places: Places) -> Callable[[Any], int]:
    """What finds the number of a node, by itself or by its text, which is how models and columns are called."""
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
                raise ValueError(f"several nodes read {str(node)!r}; name the node itself, not its text")
        if at is None:
            some = ", ".join(repr(name) for name in names[:3])
            raise ValueError(f"there is no node {node!r}; there are {len(names)}, such as {some}")
        return at

    if len(exact) < len(names):
        twice = next(name for at, name in enumerate(names) if exact[name] != at)
        raise ValueError(f"two points are called {twice!r}, so that masses cannot be matched by name")
    return find


def _number(node: Any, count: int) -> int:
    if isinstance(node, Integral) and not isinstance(node, bool) and 0 <= int(node) < count:
        return int(node)
    raise ValueError(f"there is no point {node!r}; points have no names here, and are numbered from 0 to {count - 1}")


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


def moves(plan: sparse.csr_array, left: Optional[Sequence[Any]], right: Optional[Sequence[Any]]) -> Any:
    """A plan as a table of source, target and mass, the largest mass first."""
    entries = sparse.coo_array(plan)
    source, target, mass = entries.row, entries.col, entries.data
    order = np.lexsort((target, source, -mass))
    columns = [_called(source[order], left), _called(target[order], right), mass[order].tolist()]
    try:
        import pandas
    except ImportError:
        return list(zip(*columns))
    frame = pandas.DataFrame({"mass": columns[2]})
    # Nodes may be tuples, which a column takes as they are when they come one by one.
    for at, name in enumerate(("source", "target")):
        frame.insert(at, name, pandas.Series(columns[at], dtype=_dtype(columns[at])))
    return frame


def _called(numbers: Any, names: Optional[Sequence[Any]]) -> list[Any]:
    return [int(at) if names is None else names[at] for at in numbers.tolist()]


def _dtype(nodes: list[Any]) -> Any:
    """Whole numbers stay numbers; everything else is an object."""
    return np.int64 if nodes and all(type(node) is int for node in nodes) else object
