"""Ground metrics: points, matrices of costs and graphs as users have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional, TypeVar, Union

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from . import _core
from ._inputs import (
    Floats,
    Integers,
    Measures,
    NamedTable,
    Places,
    array_of,
    is_sparse,
    is_plain,
    network_of,
    own_labels,
    places_in,
    to_graph,
    to_measures,
    to_points,
)

Documented = TypeVar("Documented")


def with_metrics(documented: Documented) -> Documented:
    """Names the library's metrics of points in a docstring, where it says `{metrics}`."""
    names = ", ".join(f'"{name}"' for name, _ in _core.point_metrics())
    documented.__doc__ = (documented.__doc__ or "").replace("{metrics}", "{" + names + "}")
    return documented


def geometry(metric: str, period: Any) -> Any:
    """How coordinates are compared, as the compiled half takes it: by a metric alone, or with periods."""
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
    """Refuses a period of what has no coordinates."""
    if period is not None:
        raise ValueError(
            f"period is {period!r}, and it is that of coordinates; leave it out, or give points instead of costs or a graph"
        )


def coordinates(points: Any) -> Floats:
    """Points as rows of coordinates."""
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
    """The names of the nodes of a graph that is no matrix."""
    network = network_of(graph)
    return None if network is None else network.nodes(graph)  # type: ignore[no-any-return]


def names_of_ground(points: Any, cost: Any, graph: Any, axis: int = 0) -> Optional[list[Any]]:
    """What the points of a ground metric are called: nodes, the rows of a table, or the cells of an AnnData."""
    if graph is not None:
        return names_of(graph) or own_labels(to_graph(graph).rows)
    if points is not None:
        return own_labels(to_points(points).rows)
    table = to_measures(cost)
    return own_labels(table.rows if axis == 0 else table.columns)


def places_of_ground(points: Any, cost: Any, graph: Any, axis: int = 0) -> Places:
    """The points of a ground metric; those of a matrix of costs are its rows, or its columns."""
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
    """The points of an estimator: those of its ground metric, `known` from elsewhere, or those that `X` mentions."""
    given = source.points, source.cost, source.graph
    own = None if all(what is None for what in given) else places_of_ground(*given)
    if own is not None and (own.names is not None or known is None):
        return own
    if known is not None:
        return known
    return Places(X.shape[1], X.names) if isinstance(X, Measures) else places_in(X)


def costs(points: Any, cost: Any, graph: Any, metric: str, weight: Optional[str], period: Any = None) -> Any:
    """What one call of the exact solver reads distances from."""
    one_of(points, cost, graph)
    if points is not None:
        _check_degrees(points, metric)
        return coordinates(points), geometry(metric, period)
    check_period(period)
    if graph is not None:
        return graph_of(graph, weight)
    # A large table in single precision is read where it lies.
    single = isinstance(cost, np.ndarray) and cost.dtype == np.float32 and cost.ndim == 2
    return _matrix(cost, np.float32 if single else np.float64)


def graph_of(graph: Any, weight: Optional[str]) -> Union[_core.Ground, _core.Graph]:
    """A graph as a ground metric, or as it is where it falls into several components."""
    parts = _core.Graph(*_edges(graph, weight))
    return parts.whole() if len(parts) == 1 else parts


@contextmanager
def nodes_by_name(graph: Any) -> Iterator[None]:
    """Errors about a component of a graph say the name of one of its nodes."""
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
    """A ground metric for many calls."""
    one_of(points, cost, graph)
    if points is not None:
        _check_degrees(points, metric)
        return _core.Ground.from_points(coordinates(points), geometry(metric, period))
    check_period(period)
    if graph is not None:
        return _core.Graph(*_edges(graph, weight)).whole()
    values = _squared(to_measures(cost), "cost")
    single = getattr(values, "dtype", None) == np.float32  # half the memory
    matrix = np.ascontiguousarray(_matrix(values, np.float32 if single else np.float64))
    make = _core.Ground.from_condensed if matrix.ndim == 1 else _core.Ground.from_square
    return make(matrix)


def _squared(table: NamedTable, what: str) -> Any:
    """The numbers of a square table, with its columns in the order of its rows where both have names."""
    rows, columns = own_labels(table.rows), own_labels(table.columns)
    if rows is None or columns is None or rows == columns:
        return table.values
    if set(rows) != set(columns) or len(set(rows)) < len(rows):
        raise ValueError(f"rows and columns of `{what}` are called differently; they are the same points")
    place = {name: at for at, name in enumerate(columns)}
    return array_of(table.values)[:, [place[name] for name in rows]]


def _check_degrees(points: Any, metric: str) -> None:
    """Refuses a table of places that begins with longitudes."""
    if metric != "haversine" or is_plain(points) or (columns := to_points(points).columns) is None:
        return
    first = str(next(iter(columns), "")).lower()
    if first in ("lon", "lng", "long", "longitude"):
        raise ValueError(f"the first column of points is {first}; haversine takes latitude, then longitude")


def one_of(points: Any, cost: Any, graph: Any) -> None:
    """Refuses no ground metric, more than one, and what is no matrix of costs."""
    check_cost(cost)
    given = 3 - (points is None) - (cost is None) - (graph is None)
    if given != 1:
        raise ValueError(f"give one of points, cost and graph; {given} of them are given")


def check_cost(cost: Any) -> None:
    """Refuses graphs and sparse matrices in the place of the costs, by name."""
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
    """Compressed rows of an adjacency matrix; they add up entries that come twice, as SciPy does."""
    rows = sparse.csr_matrix(_squared(to_graph(graph), "graph"))
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"the adjacency matrix has shape {rows.shape}, expected a square")
    if not rows.has_canonical_format:
        rows = rows.copy()  # it may be the caller's own
        rows.sum_duplicates()
    return rows


def _one_way(rows: Any) -> Optional[tuple[int, int]]:
    """An entry of an adjacency matrix that differs from its mirror image; one triangle stands for both."""
    different = (rows != rows.T).tocoo()
    one_triangle = sparse.tril(rows, -1).nnz == 0 or sparse.triu(rows, 1).nnz == 0
    if one_triangle or not different.nnz:
        return None
    return int(different.row[0]), int(different.col[0])


def _edges(graph: Any, weight: Optional[str]) -> tuple[int, Integers, Floats]:
    """Number of nodes, ends and weights of the edges of an undirected graph."""
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
    """The adjacency matrix of a graph whose edges lead one way; `None` for any other."""
    if graph is None:
        return None
    if (network := network_of(graph)) is None:
        rows = _adjacency(graph)
        return None if _one_way(rows) is None else rows
    if not network.is_directed(graph):
        return None
    ends, weights = network.to_edges(graph, weight)
    # Of parallel edges the shortest counts: the last of those that are sorted by length, downwards.
    order = np.lexsort((-weights, ends[:, 1], ends[:, 0]))
    ends, weights = ends[order], weights[order]
    last = np.ones(len(ends), dtype=bool)
    last[:-1] = (ends[1:] != ends[:-1]).any(axis=1)
    places = (ends[last, 0], ends[last, 1])
    return sparse.csr_matrix((weights[last], places), shape=(len(network.nodes(graph)),) * 2)


def directed_costs(adjacency: Any, left: Integers, right: Integers, names: Optional[list[Any]] = None) -> Floats:
    """Lengths of the shortest ways from some nodes to others, along the directions of the edges.

    Errors call the nodes by their names, where they have any.
    """

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
    step = 64  # searches at a time, each as long as there are nodes
    for begin in range(0, len(left), step):
        some = left[begin : begin + step]
        found[begin : begin + step] = dijkstra(adjacency, directed=True, indices=some)[:, right]
    if np.isinf(found).any():
        i, j = np.argwhere(np.isinf(found))[0]
        raise ValueError(
            f"no way leads from node {called(left[i])} to node {called(right[j])}; there has to be one from every node "
            "where a has mass to every node where b has"
        )
    return found
