"""Pictures of trees; needs matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._inputs import Floats
    from ._tree import Tree

# More labels than this cannot be read.
MOST_LABELS = 60


def draw(tree: Tree, ax: Optional[Axes]) -> Axes:
    """Draws a tree from left to right."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.collections import LineCollection
    except ImportError as error:
        raise ImportError("Tree.plot draws with matplotlib: `pip install matplotlib`") from error
    if ax is None:
        _, ax = plt.subplots()
    x, y = positions(tree)
    parents = tree.parents
    # Along the edge at the child's place, then up or down to the parent's.
    along = np.stack([np.stack([x[parents], y], 1), np.stack([x, y], 1)], 1)
    across = np.stack([np.stack([x[parents], y], 1), np.stack([x[parents], y[parents]], 1)], 1)
    lines: Any = np.concatenate([along, across])
    ax.add_collection(LineCollection(lines, colors="0.25", linewidths=0.8))
    ax.autoscale()
    ax.set_xlabel("distance from the root")
    ax.set_yticks([])
    if tree.n_points <= MOST_LABELS:
        labels = tree.names or [str(point) for point in range(tree.n_points)]
        ax.set_yticks(y[: tree.n_points], labels)
        ax.yaxis.tick_right()
        ax.tick_params(axis="y", length=0)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def positions(tree: Tree) -> tuple[Floats, Floats]:
    """Distance from the root, and place across: leaves in depth-first order, parents amid their children."""
    parents, lengths, n = tree.parents, tree.lengths, tree.n_nodes
    root = n - 1
    x, y = np.zeros(n), np.zeros(n)
    leaves = np.zeros(n, dtype=np.int64)
    leaves[: tree.n_points] = 1
    for v in range(root):  # children come before parents
        leaves[parents[v]] += leaves[v]
    free = np.zeros(n)  # where the next child of a node begins
    for v in range(root, -1, -1):
        begin = 0.0
        if v != root:
            above = parents[v]
            x[v] = x[above] + lengths[v]
            begin = free[above]
            free[above] += leaves[v]
        free[v] = begin
        y[v] = begin
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    for v in range(n):
        if v >= tree.n_points:
            y[v] = (low[v] + high[v]) / 2
        if v != root:
            low[parents[v]] = min(low[parents[v]], y[v])
            high[parents[v]] = max(high[parents[v]], y[v])
    return x, y
