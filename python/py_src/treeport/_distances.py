"""Plots of a table of all distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np
from scipy.cluster import hierarchy
from scipy.linalg import eigh
from scipy.spatial.distance import squareform

from ._inputs import ids_of, texts
from ._plot import axes
from ._summary import Group, label
from ._types import ArrayLike, Floats, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The largest number of labels that stay readable.
MOST_LABELS = 60
# The largest number of rows of a dendrogram; the lowest joins are collapsed.
MOST_ROWS = 40
# The largest number of leaves to order optimally, which takes at least quadratic time.
MOST_ORDERED = 1000


def plot_distances(
    distances: ArrayLike,
    kind: str = "heatmap",
    *,
    labels: Optional[Labels] = None,
    colors: Optional[Labels] = None,
    ax: Optional[Axes] = None,
) -> Axes:
    """Draws a table of all distances, such as the result of `pairwise` or `unifrac`.

    Parameters
    ----------
    distances : DataFrame or array-like of shape (n, n)
    kind : {"heatmap", "mds", "dendrogram"}
        A heatmap, ordered by a dendrogram; a map, by classical multidimensional scaling; or a
        dendrogram of average linkage. With more than 40 rows, its lowest merges are collapsed.
    labels : sequence of length n, optional
        Labels of the rows; by default the index of the DataFrame, or numbers. At most 60 are
        written.
    colors : sequence of length n, optional
        The group of every row, which determines the color of its mark or label. A Series is matched
        by its index.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib.axes.Axes

    Examples
    --------
    >>> import treeport as tp
    >>> ax = tp.plot_distances([[0, 1, 4], [1, 0, 3], [4, 3, 0]], "dendrogram", labels=["a", "b", "c"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['c', 'b', 'a']
    """
    table = checked_table(distances)
    kinds = {"heatmap": _heatmap, "mds": _map, "dendrogram": _dendrogram}
    if kind not in kinds:
        raise ValueError(f"kind is {kind!r}; it must be heatmap, mds or dendrogram")
    ids = ids_of(distances)
    names = texts(
        range(len(table)) if labels is None and ids is None else ids if labels is None else labels
    )
    groups = _groups(colors, ids)
    for what, given in (("labels", names), ("colors", groups)):
        if given is not None and len(given) != len(table):
            raise ValueError(f"{len(given)} {what} for {len(table)} rows")
    return kinds[kind](table, names, groups, ax)


def checked_table(distances: Any) -> Floats:
    """Validates a table of all distances, also a `DistanceMatrix` of scikit-bio."""
    is_matrix = hasattr(distances, "ids") and hasattr(distances, "data")
    table = np.asarray(distances.data if is_matrix else distances, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(
            f"the distances have shape {table.shape}, expected (n, n): all within one set"
        )
    if not np.isfinite(table).all():
        i, j = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"the distance of rows {i} and {j} is {table[i, j]}; distances must be finite"
        )
    off = np.abs(table - table.T)
    if off.max() > 1e-9 * np.abs(table).max():
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        raise ValueError(
            f"rows {i} and {j} are {table[i, j]} apart, and {table[j, i]} in the other order"
        )
    symmetric: Floats = (table + table.T) / 2
    np.fill_diagonal(symmetric, 0.0)
    return symmetric


def _groups(colors: Any, ids: Any) -> Optional[list[str]]:
    if colors is None:
        return None
    if hasattr(colors, "reindex") and ids is not None:
        colors = _by_index(colors, ids)
    return texts(colors)


def _by_index(colors: Any, ids: Any) -> Any:
    """Returns a Series in the order of IDs."""
    if list(colors.index) == list(ids):  # IDs may have duplicates
        return colors
    missing = [one for one in ids if one not in colors.index]
    if missing:
        raise ValueError(f"colors have no entry for {missing[0]}")
    if colors.index.has_duplicates:
        twice = colors.index[colors.index.duplicated()][0]
        raise ValueError(
            f"colors have two entries for {twice}; give them in the order of the rows, as a list"
        )
    return colors.loc[list(ids)]


def _palette(groups: list[str]) -> dict[str, Any]:
    """Returns a color for every group, in order of appearance."""
    from matplotlib import colormaps

    found = list(dict.fromkeys(groups))
    name, count = ("tab10", 10) if len(found) <= 10 else ("tab20", 20)
    return {group: colormaps[name](at % count) for at, group in enumerate(found)}


def _legend(ax: Axes, groups: list[str], **place: Any) -> None:
    from matplotlib.lines import Line2D

    dot: dict[str, Any] = {"marker": "o", "linestyle": ""}
    marks = [
        Line2D([], [], color=color, label=group, **dot) for group, color in _palette(groups).items()
    ]
    ax.legend(handles=marks, frameon=False, fontsize=9, handletextpad=0.2, **place)


def _color_ticks(ticks: Any, order: Any, groups: Optional[list[str]]) -> None:
    """Sets the colors of axis labels to those of their groups."""
    if groups is not None:
        palette = _palette(groups)
        for tick, at in zip(ticks, order):
            tick.set_color(palette[groups[at]])


def _linkage(table: Floats, ordered: bool) -> Floats:
    best = ordered and len(table) <= MOST_ORDERED
    joined: Floats = hierarchy.linkage(
        squareform(table, checks=False), "average", optimal_ordering=best
    )
    return joined


def _heatmap(
    table: Floats, names: list[str], groups: Optional[list[str]], ax: Optional[Axes]
) -> Axes:
    order = hierarchy.leaves_list(_linkage(table, True))
    few = len(names) <= MOST_LABELS
    side = float(np.clip(0.17 * len(names), 3.6, 8.0)) if few else 6.0
    ax = axes(ax, side + 1.6, side + 0.6, "plot_distances")
    shown = ax.imshow(table[np.ix_(order, order)], cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(shown, ax=ax, label="distance", shrink=0.8)
    ax.set_xticks([])
    ax.set_yticks([])
    if few:
        called = [names[at] for at in order]
        size = 9 if len(names) <= 30 else 7
        ax.set_xticks(range(len(order)), called, rotation=90, fontsize=size)
        ax.set_yticks(range(len(order)), called, fontsize=size)
        for ticks in (ax.get_xticklabels(), ax.get_yticklabels()):
            _color_ticks(ticks, order, groups)
        if groups is not None:
            _legend(ax, groups, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    ax.tick_params(length=0)
    for side_name in ("left", "top", "right", "bottom"):
        ax.spines[side_name].set_visible(False)
    return ax


def scaled(table: Floats) -> Floats:
    """Computes two coordinates of every row by classical multidimensional scaling."""
    squares = table**2
    means = squares.mean(axis=0)
    inner = -(squares - means - means[:, None] + means.mean()) / 2
    n = len(table)
    values, vectors = eigh(inner, subset_by_index=[n - 2, n - 1])
    places: Floats = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    # Signs are arbitrary; this choice is deterministic.
    signs = np.sign(places[np.abs(places).argmax(axis=0), [0, 1]])
    return places * np.where(signs == 0, 1, signs)


def _map(table: Floats, names: list[str], groups: Optional[list[str]], ax: Optional[Axes]) -> Axes:
    ax = axes(ax, 6.4, 5.2, "plot_distances")
    places = scaled(table)
    color = "C0" if groups is None else [_palette(groups)[group] for group in groups]
    ax.scatter(
        places[:, 0],
        places[:, 1],
        s=26 if len(places) <= 300 else 9,
        c=color,
        linewidths=0,
        alpha=0.85,
    )
    ax.margins(0.12)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("coordinate 1")
    ax.set_ylabel("coordinate 2")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    if groups is not None:
        _legend(ax, groups, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if len(names) <= MOST_LABELS:
        _write_beside(ax, places, names)
    return ax


def _write_beside(ax: Axes, places: Floats, names: list[str]) -> None:
    """Writes names beside their marks, except those that would overlap others."""
    from matplotlib.transforms import Bbox

    figure = ax.figure
    figure.canvas.draw()  # computes the extents of all artists
    frame, marks = ax.get_window_extent(), ax.transData.transform(places)
    taken = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for x, y in marks]
    beside = [((6, 0), "left", "center"), ((-6, 0), "right", "center")]
    sides = [*beside, ((0, 6), "center", "bottom"), ((0, -6), "center", "top")]
    for place, name in zip(places, names):
        for offset, across, up in sides:
            text = ax.annotate(
                name,
                place,
                xytext=offset,
                textcoords="offset points",
                ha=across,
                va=up,
                fontsize=8,
                color="0.25",
            )
            box = text.get_window_extent()
            inside = frame.containsx(box.x0) and frame.containsx(box.x1) and frame.containsy(box.y0)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _dendrogram(
    table: Floats, names: list[str], groups: Optional[list[str]], ax: Optional[Axes]
) -> Axes:
    ax = axes(ax, 7.0, 1.0 + 0.2 * max(min(len(names), MOST_ROWS), 8), "plot_distances")
    joined = _linkage(table, True)
    closed = {"truncate_mode": "lastp", "p": MOST_ROWS} if len(names) > MOST_ROWS else {}
    quiet = {"color_threshold": 0, "above_threshold_color": "0.3"}
    rows = hierarchy.dendrogram(joined, orientation="left", ax=ax, **quiet, **closed)["leaves"]
    nodes = hierarchy.to_tree(joined, rd=True)[1]
    within = [nodes[row].pre_order() for row in rows]
    said = [
        label(Group(row, len(leaves), 0.0, leaves[:2]), names) for row, leaves in zip(rows, within)
    ]
    ax.set_yticklabels(said, fontsize=8)
    if groups is not None:
        mixed = [len({groups[leaf] for leaf in leaves}) > 1 for leaves in within]
        ticks = [tick for tick, several in zip(ax.get_yticklabels(), mixed) if not several]
        _color_ticks(
            ticks, [leaves[0] for leaves, several in zip(within, mixed) if not several], groups
        )
        _legend(ax, groups, loc="upper left")
    ax.set_xlabel("distance at which they are joined")
    ax.tick_params(axis="y", length=0)
    for side in ("left", "top", "right"):
        ax.spines[side].set_visible(False)
    return ax
