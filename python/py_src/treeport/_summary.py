"""Layout of trees with a limited number of rows, for plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ._tree import Tree
    from ._types import Floats, Integers


class Group(NamedTuple):
    """Leaves that share one row of a plot."""

    node: int
    size: int
    # Distance from its node to the deepest leaf.
    below: float
    # The first two leaves.
    points: list[int]


class Sketch(NamedTuple):
    """Layout of a plot: nodes, parents before children, and the groups from top to bottom."""

    parent: Integers
    x: Floats
    y: Floats
    groups: list[Group]


def sketch(tree: Tree, most: int) -> Sketch:
    """Lays out a tree in at most `most` rows, or four if `most` is less.

    Groups are in the order of their first leaves, and inner nodes are centered."""
    parent, length, found = tree._raw.summary(most)
    row = {group[0]: Group(*group) for group in found}
    x, first = np.zeros(len(parent)), np.full(len(parent), np.inf)
    below: list[list[int]] = [[] for _ in parent]
    for v in range(1, len(parent)):
        x[v] = x[parent[v]] + length[v]
        below[parent[v]].append(v)
    for node, group in row.items():
        first[node] = group.points[0]
    for v in range(len(parent) - 1, 0, -1):
        first[parent[v]] = min(first[parent[v]], first[v])
    order, stack = [], [0]
    while stack:
        v = stack.pop()
        order.append(v)
        stack += sorted(below[v], key=lambda c: -first[c])
    groups = [row[v] for v in order if v in row]
    y = np.zeros(len(parent))
    y[[group.node for group in groups]] = np.arange(len(groups))
    for v in range(len(parent) - 1, -1, -1):
        if below[v]:
            y[v] = (y[below[v]].min() + y[below[v]].max()) / 2
    return Sketch(parent, x, y, groups)


def label(group: Group, names: list[str] | None, letters: int = 24) -> str:
    """Returns the label of a row: up to two leaves, and the number of other leaves."""
    called = [str(p) if names is None else names[p] for p in group.points]
    called = [name if len(name) <= letters else name[: letters - 1] + "…" for name in called]
    rest = group.size - len(called)
    return ", ".join(called) + (f" and {rest:,} more" if rest else "")
