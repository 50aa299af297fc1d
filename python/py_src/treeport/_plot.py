"""Plots of trees and of distance tables, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._summary import label, sketch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._tree import Tree


def axes(ax: Optional[Axes], width: float, height: float, what: str) -> Axes:
    """Returns the axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{what} draws with matplotlib: `pip install matplotlib`") from error
    if ax is None:
        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def draw(tree: Tree, ax: Optional[Axes], max_rows: int) -> Axes:
    """Draws a tree with its root at the left."""
    if max_rows < 4:
        raise ValueError(f"max_rows is {max_rows}; at least 4 are needed")
    parent, x, y, groups = sketch(tree, max_rows)
    ax = axes(ax, 7.0, 1.0 + 0.19 * max(len(groups), 8), "Tree.plot")
    from matplotlib.collections import LineCollection, PolyCollection

    # A horizontal line at the child's height, then a vertical line to the parent's height.
    along = np.stack([np.stack([x[parent], y], 1), np.stack([x, y], 1)], 1)
    across = np.stack([np.stack([x[parent], y], 1), np.stack([x[parent], y[parent]], 1)], 1)
    lines: Any = np.concatenate([along, across])
    ax.add_collection(LineCollection(lines, colors="0.25", linewidths=0.9))
    closed = [group for group in groups if group.size > 1]
    wedges = [
        [
            (x[g.node], y[g.node]),
            (x[g.node] + g.below, y[g.node] - 0.32),
            (x[g.node] + g.below, y[g.node] + 0.32),
        ]
        for g in closed
    ]
    if wedges:
        ax.add_collection(
            PolyCollection(wedges, facecolors="0.82", edgecolors="0.45", linewidths=0.6)
        )
    deepest = max(x.max(), *(x[g.node] + g.below for g in groups))
    ax.set_xlim(-0.01 * deepest, 1.01 * deepest or 1.0)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.set_xlabel("distance from the root")
    ax.set_yticks([y[g.node] for g in groups], [label(g, tree.names) for g in groups], fontsize=8)
    ax.yaxis.tick_right()
    ax.tick_params(axis="y", length=0)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    return ax
