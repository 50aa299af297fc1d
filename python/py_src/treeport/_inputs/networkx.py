"""Graphs of networkx; the package need not be installed."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .._types import Floats, Integers


def is_mine(what: Any) -> bool:
    return hasattr(what, "nodes") and hasattr(what, "edges")


def nodes(graph: Any) -> list[Any]:
    """Returns the nodes, which are their own names."""
    return list(graph.nodes)


def is_directed(graph: Any) -> bool:
    return bool(graph.is_directed())


def to_edges(graph: Any, weight: Optional[str]) -> tuple[Integers, Floats]:
    """Returns the numbers of both ends of every edge, and its length from attribute `weight`."""
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
    lengths = [1.0 if weight is None else data[weight] for *_, data in edges]
    return ends.reshape(-1, 2), np.array(lengths, dtype=np.float64)
