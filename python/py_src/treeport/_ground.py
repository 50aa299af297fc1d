"""Ground metrics: parsing of points, cost matrices and graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional, TypeVar, Union

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from . import _core
from ._inputs import (
    Measures,
    NamedTable,
    Places,
    array_of,
    in_rows,
    is_plain,
    is_sparse,
    network_of,
    own_labels,
    places_in,
    to_graph,
    to_measures,
    to_points,
)
from ._types import Floats, Integers

Documented = TypeVar("Documented")


class GroundInput(NamedTuple):
    """A ground metric as callers give it."""

    points: Any = None
    cost: Any = None
    graph: Any = None
    metric: str = "euclidean"
    weight: Optional[str] = "weight"
    period: Any = None

    @property
    def sources(self) -> tuple[Any, Any, Any]:
        """Points, cost and graph, of which one is given."""
        return self[:3]


def with_metrics(documented: Documented) -> Documented:
    """Replaces `{metrics}` in a docstring by the names of the metrics of points."""
    names = ", ".join(f'"{name}"' for name, _ in _core.point_metrics())
    documented.__doc__ = (documented.__doc__ or "").replace("{metrics}", "{" + names + "}")
    return documented


def geometry(metric: str, period: Any) -> Any:
    """Returns the metric, with periods if given, in the format of the compiled half."""
    if period is None:
        return metric
    expected = "it must be one number, or a number or None for each coordinate"
    try:
        if np.ndim(period) == 0:
            return metric, float(period)
        return metric, [None if one is None else float(one) for one in period]
    except (TypeError, ValueError):
        raise ValueError(f"period is {period!r}; {expected}") from None


def check_period(period: Any) -> None:
    """Raises an error for a period if there are no coordinates."""
    if period is not None:
        raise ValueError(
            f"period is {period!r}, and it is that of coordinates; leave it out, or give points instead of costs or a graph"
        )


def coordinates(points: Any) -> Floats:
    """Parses points as rows of coordinates."""
    if is_plain(points):
        return points  # type: ignore[no-any-return]
    values = to_points(points).values
    array: Floats = array_of(values.toarray() if is_sparse(values) else values)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ValueError(f"points are rows of coordinates, not an array of shape {array.shape}")
    return array


def names_of(graph: Any) -> Optional[list[Any]]:
    """Returns the names of the nodes of a graph that is not a matrix."""
    network = network_of(graph)
    return None if network is None else network.nodes(graph)  # type: ignore[no-any-return]


def names_of_ground(points: Any, cost: Any, graph: Any, axis: int = 0) -> Optional[list[Any]]:
    """Returns the names of points: nodes, rows of a table, or cells of an AnnData."""
    if graph is not None:
        return names_of(graph) or own_labels(to_graph(graph).rows)
    if points is not None:
        return own_labels(to_points(points).rows)
    table = to_measures(cost)
    return own_labels(table.rows if axis == 0 else table.columns)


def places_of_ground(points: Any, cost: Any, graph: Any, axis: int = 0) -> Places:
    """Returns the points of a ground metric; for a cost matrix, its rows or its columns."""
    names = names_of_ground(points, cost, graph, axis)
    if names is not None:
        return Places(len(names), names)
    given = graph if points is None else points
    if given is not None:
        return Places(given.shape[0] if hasattr(given, "shape") else len(given), None)
    shape = np.shape(to_measures(cost).values)
    if len(shape) == 1:  # condensed: n(n - 1)/2 distances
        return Places((1 + int(np.sqrt(1 + 8 * shape[0]))) // 2, None)
    return Places(shape[axis], None)


def places_for(source: Any, known: Optional[Places], X: Any) -> Places:
    """Returns the points of an estimator: of its ground metric, or `known`, or those in `X`."""
    given = source.points, source.cost, source.graph
    own = None if all(what is None for what in given) else places_of_ground(*given)
    if own is not None and (own.names is not None or known is None):
        return own
    if known is not None:
        return known
    return Places(X.shape[1], X.names) if isinstance(X, Measures) else places_in(X)


def costs(
    points: Any, cost: Any, graph: Any, metric: str, weight: Optional[str], period: Any = None
) -> Any:
    """Returns the source of distances for one call of the exact solver."""
    one_of(points, cost, graph)
    if points is not None:
        _check_degrees(points, metric)
        return coordinates(points), geometry(metric, period)
    check_period(period)
    if graph is not None:
        return graph_of(graph, weight)
    # A matrix in single precision is read in place.
    single = isinstance(cost, np.ndarray) and cost.dtype == np.float32 and cost.ndim == 2
    return _matrix(cost, np.float32 if single else np.float64)


def graph_of(graph: Any, weight: Optional[str]) -> Union[_core.Ground, _core.Graph]:
    """Returns a connected graph as a ground metric, or else as a `Graph` with its components."""
    parts = _core.Graph(*_edges(graph, weight))
    return parts.whole() if len(parts) == 1 else parts


@contextmanager
def nodes_by_name(graph: Any) -> Iterator[None]:
    """Adds the name of a node to errors about a component of a graph."""
    try:
        yield
    except ValueError as error:
        node, names = getattr(error, "node", None), names_of(graph)
        if node is None or names is None:
            raise
        raise ValueError(error.template.format(node=repr(names[node]))) from None  # type: ignore[attr-defined]


def ground_of(
    points: Any, cost: Any, graph: Any, metric: str, weight: Optional[str], period: Any = None
) -> _core.Ground:
    """Builds a ground metric for many calls."""
    one_of(points, cost, graph)
    if points is not None:
        _check_degrees(points, metric)
        return _core.Ground.from_points(coordinates(points), geometry(metric, period))
    check_period(period)
    if graph is not None:
        return _core.Graph(*_edges(graph, weight)).whole()
    values = _squared(to_measures(cost), "cost")
    single = getattr(values, "dtype", None) == np.float32  # half the memory
    matrix = in_rows(_matrix(values, np.float32 if single else np.float64))
    make = _core.Ground.from_condensed if matrix.ndim == 1 else _core.Ground.from_square
    return make(matrix)


def _squared(table: NamedTable, what: str) -> Any:
    """Returns a square table with its columns in the order of its rows if both have names."""
    rows, columns = own_labels(table.rows), own_labels(table.columns)
    if rows is None or columns is None or rows == columns:
        return table.values
    if set(rows) != set(columns) or len(set(rows)) < len(rows):
        raise ValueError(
            f"rows and columns of `{what}` have different names; they are the same points"
        )
    place = {name: at for at, name in enumerate(columns)}
    return array_of(table.values)[:, [place[name] for name in rows]]


def _check_degrees(points: Any, metric: str) -> None:
    """Raises an error for "haversine" if the first column is named as a longitude."""
    if metric != "haversine" or is_plain(points) or (columns := to_points(points).columns) is None:
        return
    first = str(next(iter(columns), "")).lower()
    if first in ("lon", "lng", "long", "longitude"):
        raise ValueError(
            f"the first column of points is {first}; haversine takes latitude, then longitude"
        )


def one_of(points: Any, cost: Any, graph: Any) -> None:
    """Raises an error unless exactly one ground metric is given."""
    check_cost(cost)
    given = 3 - (points is None) - (cost is None) - (graph is None)
    if given != 1:
        raise ValueError(f"give one of points, cost and graph; {given} of them are given")


def check_cost(cost: Any) -> None:
    """Raises an error if a graph or a sparse matrix is given as `cost`."""
    if network_of(cost) is not None:
        raise ValueError("the cost matrix is a networkx graph; give it by name, as `graph=`")
    if is_sparse(cost):
        raise ValueError(
            "the cost matrix is sparse, and costs that are not there are not 0 for certain; give `cost.toarray()`, or "
            "by name, as `graph=`, if it has the lengths of edges"
        )


def _matrix(cost: Any, dtype: Any) -> Any:
    check_cost(cost)
    values = to_measures(cost).values
    check_cost(values)
    matrix = array_of(values, dtype)
    if matrix.ndim not in (1, 2):
        raise ValueError(f"the cost matrix has shape {matrix.shape}, expected one or two axes")
    return matrix


def _adjacency(graph: Any) -> Any:
    """Returns compressed rows of an adjacency matrix; duplicate entries are summed, as in SciPy."""
    rows = sparse.csr_matrix(_squared(to_graph(graph), "graph"))
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"the adjacency matrix has shape {rows.shape}, expected a square")
    if not rows.has_canonical_format:
        rows = rows.copy()  # it may share memory with the input
        rows.sum_duplicates()
    return rows


def _one_way(rows: Any) -> Optional[tuple[int, int]]:
    """Returns an entry that differs from its transpose; a triangular matrix is undirected."""
    different = (rows != rows.T).tocoo()
    one_triangle = sparse.tril(rows, -1).nnz == 0 or sparse.triu(rows, 1).nnz == 0
    if one_triangle or not different.nnz:
        return None
    return int(different.row[0]), int(different.col[0])


def _edges(graph: Any, weight: Optional[str]) -> tuple[int, Integers, Floats]:
    """Returns the number of nodes, and the ends and weights of edges of an undirected graph."""
    hint = "distances are the same both ways here (`emd` alone knows directions), so say what it means: "
    if (network := network_of(graph)) is not None:
        if network.is_directed(graph):
            raise ValueError(f"the graph is directed; {hint}`graph.to_undirected()`")
        return len(network.nodes(graph)), *network.to_edges(graph, weight)
    rows = _adjacency(graph)
    if (one_way := _one_way(rows)) is not None:
        i, j = one_way
        raise ValueError(
            f"the adjacency matrix has {rows[i, j]} at ({i}, {j}) and {rows[j, i]} at ({j}, {i}); "
            f"{hint}`A.maximum(A.T)`"
        )
    matrix = rows.tocoo()
    ends = np.stack([matrix.row, matrix.col], axis=1).astype(np.int64)
    return matrix.shape[0], ends, matrix.data.astype(np.float64)


def directed(graph: Any, weight: Optional[str]) -> Any:
    """Returns the adjacency matrix of a directed graph; `None` for other graphs."""
    if graph is None:
        return None
    if (network := network_of(graph)) is None:
        rows = _adjacency(graph)
        return None if _one_way(rows) is None else rows
    if not network.is_directed(graph):
        return None
    ends, weights = network.to_edges(graph, weight)
    # Only the shortest of parallel edges counts: the last in descending order of length.
    order = np.lexsort((-weights, ends[:, 1], ends[:, 0]))
    ends, weights = ends[order], weights[order]
    last = np.ones(len(ends), dtype=bool)
    last[:-1] = (ends[1:] != ends[:-1]).any(axis=1)
    places = (ends[last, 0], ends[last, 1])
    return sparse.csr_matrix((weights[last], places), shape=(len(network.nodes(graph)),) * 2)


def directed_costs(
    adjacency: Any, left: Integers, right: Integers, names: Optional[list[Any]] = None
) -> Floats:
    """Computes lengths of shortest directed paths from nodes `left` to nodes `right`.

    Errors use the names of nodes if they have any."""

    def called(node: Any) -> str:
        return str(node) if names is None else repr(names[node])

    bad = adjacency.tocoo()
    wrong = ~(np.isfinite(bad.data) & (bad.data >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"the edge from node {called(bad.row[at])} to node {called(bad.col[at])} has length {bad.data[at]}; "
            "lengths must be finite and at least 0"
        )
    found = np.empty((len(left), len(right)))
    step = 64  # sources at a time; each needs a row of one entry per node
    for begin in range(0, len(left), step):
        some = left[begin : begin + step]
        found[begin : begin + step] = dijkstra(adjacency, directed=True, indices=some)[:, right]
    if np.isinf(found).any():
        i, j = np.argwhere(np.isinf(found))[0]
        raise ValueError(
            f"there is no path from node {called(left[i])} to node {called(right[j])}; each node with "
            "mass of a needs a path to each node with mass of b"
        )
    return found
