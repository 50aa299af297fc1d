"""Ground metrics: points, matrices of costs and graphs as users have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union
from zlib import crc32

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from . import _core
from ._inputs import Floats, Integers, array_of, is_sparse, is_table, sound
from ._named import names_of_labels


def coordinates(points: Any) -> Floats:
    """Points as rows of coordinates."""
    if is_table(points):
        return points  # type: ignore[no-any-return]
    if hasattr(points, "obsm"):  # AnnData: observations are points
        maps = points.obsm
        key = "X_pca" if "X_pca" in maps else next(iter(maps), None)
        points = points.X if key is None else maps[key]
    if is_sparse(points):
        points = sound(points).toarray()
    array: Floats = array_of(points)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ValueError(f"points are rows of coordinates, not an array of shape {array.shape}")
    return array


def names_of(graph: Any) -> Optional[list[Any]]:
    """The names of the nodes of a networkx graph."""
    return list(graph.nodes) if _is_network(graph) else None


def costs(points: Any, cost: Any, graph: Any, metric: str, weight: Optional[str]) -> Any:
    """What one call of the exact solver reads distances from."""
    one_of(points, cost, graph)
    if points is not None:
        _check_degrees(points, metric)
        return coordinates(points), metric
    if graph is not None:
        return graph_of(graph, weight)
    return _matrix(cost, np.float64)


def graph_of(graph: Any, weight: Optional[str]) -> Union[_core.Ground, _core.Graph]:
    """A graph as a ground metric, or as it is where it falls into several components."""
    parts = _core.Graph(*_edges(graph, weight))
    return parts.whole() if len(parts) == 1 else parts


@contextmanager
def nodes_by_name(graph: Any) -> Iterator[None]:
    """Errors about a component of a graph name one of its nodes, in place of the number."""
    try:
        yield
    except ValueError as error:
        node, names = getattr(error, "node", None), names_of(graph)
        if node is None or names is None:
            raise
        raise ValueError(str(error).replace(f"node {node},", f"node {names[node]!r},")) from None


def ground_of(
    points: Any, cost: Any, graph: Any, metric: str, weight: Optional[str]
) -> _core.Ground:
    """A ground metric for many calls."""
    one_of(points, cost, graph)
    if points is not None:
        _check_degrees(points, metric)
        return _core.Ground.from_points(coordinates(points), metric)
    if graph is not None:
        return _core.Graph(*_edges(graph, weight)).whole()
    single = getattr(cost, "dtype", None) == np.float32  # half the memory
    matrix = np.ascontiguousarray(_matrix(_squared(cost, "cost"), np.float32 if single else np.float64))
    make = _core.Ground.from_condensed if matrix.ndim == 1 else _core.Ground.from_square
    return make(matrix)


def _squared(table: Any, what: str) -> Any:
    """A square DataFrame with its columns in the order of its rows; everything else as it is."""
    if not (hasattr(table, "columns") and hasattr(table, "index")):
        return table
    rows, columns = list(table.index), list(table.columns)
    if rows == columns or names_of_labels(rows) is None or names_of_labels(columns) is None:
        return table
    if set(rows) != set(columns) or len(set(rows)) < len(rows):
        raise ValueError(f"rows and columns of `{what}` are called differently; they are the same points")
    return table[rows]


def _check_degrees(points: Any, metric: str) -> None:
    """Refuses a table of places that begins with longitudes."""
    first = str(next(iter(getattr(points, "columns", [])), "")).lower()
    if metric == "haversine" and first in ("lon", "lng", "long", "longitude"):
        raise ValueError(f"the first column of points is {first}; haversine takes latitude, then longitude")


def one_of(points: Any, cost: Any, graph: Any) -> None:
    """Refuses no ground metric, more than one, and what is no matrix of costs."""
    check_cost(cost)
    given = 3 - (points is None) - (cost is None) - (graph is None)
    if given != 1:
        raise ValueError(f"give one of points, cost and graph; {given} of them are given")


def check_cost(cost: Any) -> None:
    """Refuses graphs and sparse matrices in the place of the costs, by name."""
    if _is_network(cost):
        raise ValueError("the cost matrix is a networkx graph; give it by name, as `graph=`")
    if is_sparse(cost):
        raise ValueError(
            "the cost matrix is sparse, and costs that are not there are not 0 for certain; give `cost.toarray()`, or "
            "by name, as `graph=`, if it has the lengths of edges"
        )


def _matrix(cost: Any, dtype: Any) -> Any:
    check_cost(cost)
    matrix = array_of(cost, dtype)
    if matrix.ndim not in (1, 2):
        raise ValueError(f"the cost matrix has shape {matrix.shape}, expected one or two axes")
    return matrix


def _is_network(graph: Any) -> bool:
    """Whether it is a graph of networkx, which need not be installed."""
    return hasattr(graph, "nodes") and hasattr(graph, "edges")


def _network_edges(graph: Any, weight: Optional[str]) -> tuple[int, Integers, Floats]:
    """Number of nodes, ends and weights of the edges of a networkx graph."""
    number = {node: at for at, node in enumerate(graph.nodes)}
    edges = list(graph.edges(data=True))
    for u, v, data in edges:
        if weight is not None and data.get(weight) is None:
            has = ", ".join(map(repr, data)) or "none"
            raise ValueError(
                f"the edge from {u!r} to {v!r} has no attribute {weight!r} (it has: {has}); `weight=` names "
                "the one that holds its length, and `weight=None` counts every edge as 1"
            )
    ends = np.array([(number[u], number[v]) for u, v, _ in edges], dtype=np.int64)
    weights = [1.0 if weight is None else data[weight] for *_, data in edges]
    return len(number), ends.reshape(-1, 2), np.array(weights, dtype=np.float64)


def _adjacency(graph: Any) -> Any:
    """Compressed rows of an adjacency matrix; they add up entries that come twice, as SciPy does."""
    if hasattr(graph, "obsp"):  # AnnData: the graph of neighbors, where one need not be mutual
        graph = sound(graph.obsp["distances"])
        graph = graph.maximum(graph.T)
    rows = sparse.csr_matrix(sound(graph) if is_sparse(graph) else _squared(graph, "graph"))
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"the adjacency matrix has shape {rows.shape}, expected a square")
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
    if _is_network(graph):
        if graph.is_directed():
            raise ValueError(f"the graph is directed; {hint}`graph.to_undirected()`")
        return _network_edges(graph, weight)
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
    if not _is_network(graph):
        if graph is None or hasattr(graph, "obsp"):
            return None
        rows = _adjacency(graph)
        return None if _one_way(rows) is None else rows
    if not graph.is_directed():
        return None
    nodes, ends, weights = _network_edges(graph, weight)
    # Of parallel edges the shortest counts: the last of those that are sorted by length, downwards.
    order = np.lexsort((-weights, ends[:, 1], ends[:, 0]))
    ends, weights = ends[order], weights[order]
    last = np.ones(len(ends), dtype=bool)
    last[:-1] = (ends[1:] != ends[:-1]).any(axis=1)
    places = (ends[last, 0], ends[last, 1])
    return sparse.csr_matrix((weights[last], places), shape=(nodes, nodes))


def directed_costs(adjacency: Any, left: Integers, right: Integers) -> Floats:
    """Lengths of the shortest ways from some nodes to others, along the directions of the edges."""
    bad = adjacency.tocoo()
    wrong = ~(np.isfinite(bad.data) & (bad.data >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"the edge from node {bad.row[at]} to node {bad.col[at]} has length {bad.data[at]}; "
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
            f"no way leads from node {left[i]} to node {right[j]}; there has to be one from every node "
            "where a has mass to every node where b has"
        )
    return found


def fingerprint(
    points: Any, cost: Any, graph: Any, metric: str, weight: Optional[str]
) -> tuple[Any, ...]:
    """What tells one ground metric from another: a number for its contents, which may change in place."""
    if points is not None:
        parts = [coordinates(points)]
    elif cost is not None:
        parts = [_matrix(cost, None)]
    else:
        parts = [] if graph is None else [np.asarray(part) for part in _edges(graph, weight)]
    numbers = [(part.shape, str(part.dtype), crc32(np.ascontiguousarray(part).data)) for part in parts]
    return metric, points is None, cost is None, graph is None, *numbers
