"""Transport plans between groups of points: which mass goes from which group to which."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import Any, Optional

import numpy as np

from . import _core
from ._results import framed
from ._types import DataFrame, Floats, Path

# Side of a cell, width of a letter, and largest number of rows or columns of the picture.
_CELL, _LETTER, _MOST = 34, 7, 60


class PlanBy:
    """Mass and cost of a plan between groups of points, as returned by `Solution.plan_by`.

    In notebooks it shows a heat map of the costs.

    Attributes
    ----------
    mass, cost : DataFrame
        Mass that goes from each group of `a` (rows) to each group of `b` (columns), and what it
        costs. The costs add up to the cost of the plan.

    Examples
    --------
    >>> import treeport as tp
    >>> solution = tp.solve([1, 1, 0, 0], [0, 0, 1, 1], points=[[0.0], [1.0], [2.0], [5.0]])
    >>> by = solution.plan_by(["left", "left", "middle", "right"])
    >>> by.table
      source  target  mass  cost  distance
    0   left   right   1.0   4.0       4.0
    1   left  middle   1.0   2.0       2.0
    >>> by.mass
            left  middle  right
    left     0.0     1.0    1.0
    middle   0.0     0.0    0.0
    right    0.0     0.0    0.0
    """

    def __init__(self, mass: Floats, cost: Floats, sources: list[Any], targets: list[Any]) -> None:
        self.mass = framed(mass, sources, targets)
        self.cost = framed(cost, sources, targets)
        self._mass, self._cost, self._names = mass, cost, (sources, targets)

    @property
    def table(self) -> DataFrame:
        """One row for each pair of groups with mass: source, target, mass, cost, and cost for a
        unit of mass (`distance`); the largest cost first."""
        import pandas

        rows, columns = np.nonzero(self._mass)
        mass, cost = self._mass[rows, columns], self._cost[rows, columns]
        order = np.lexsort((columns, rows, -mass, -cost))
        sources, targets = self._names
        return pandas.DataFrame(
            {
                "source": [sources[at] for at in rows[order]],
                "target": [targets[at] for at in columns[order]],
                "mass": mass[order],
                "cost": cost[order],
                "distance": (cost / mass)[order],
            }
        )

    def to_svg(self, show: str = "cost") -> str:
        """Draws a heat map as SVG, in the color of the text around it.

        Parameters
        ----------
        show : {"cost", "mass"}

        Returns
        -------
        svg : str

        Examples
        --------
        >>> import treeport as tp
        >>> by = tp.solve([1, 0], [0, 1], points=[[0.0], [2.0]]).plan_by(["a", "b"])
        >>> by.to_svg().startswith("<svg")
        True
        """
        if show not in ("cost", "mass"):
            raise ValueError(f'show is {show!r}; it must be "cost" or "mass"')
        return _heat_map(self._cost if show == "cost" else self._mass, *self._names, show)

    def save_svg(self, path: Path, show: str = "cost") -> None:
        """Writes the heat map of `to_svg` to a file.

        Parameters
        ----------
        path : str or path-like
        show : {"cost", "mass"}
        """
        _core.write_text(os.fspath(path), self.to_svg(show).replace("currentColor", "#333"))

    def _repr_html_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        return repr(self.table)


def labels_of_points(labels: Any, names: Optional[list[Any]], size: int, what: str) -> list[Any]:
    """Returns one label for each point; a dict or a Series is matched by the names of points."""
    by_name = isinstance(labels, Mapping) or (hasattr(labels, "reindex") and names is not None)
    if by_name and names is None:
        raise ValueError(f"{what} are given by name, and the points have none; give them in order")
    if by_name and names is not None:
        known = set(labels if isinstance(labels, Mapping) else labels.index)
        absent = [name for name in names if name not in known]
        if absent:
            raise ValueError(
                f"{what} have no entry for {absent[0]!r}, one of {len(absent)} such points"
            )
        return [labels[name] for name in names]
    found = list(labels)
    if len(found) != size:
        raise ValueError(f"there are {len(found)} {what} for {size} points")
    return found


def _heat_map(values: Floats, rows: list[Any], columns: list[Any], show: str) -> str:
    """Draws a table: opacity follows the square root of a value, which is its title."""
    if max(values.shape) > _MOST:
        raise ValueError(
            f"{values.shape[0]} by {values.shape[1]} groups are more than a picture shows, {_MOST}; take larger groups"
        )
    names = [str(name) for name in rows], [str(name) for name in columns]
    left = 12 + _LETTER * max(map(len, names[0]), default=0)
    top = 24 + _LETTER * max(map(len, names[1]), default=0)
    width, height = left + _CELL * len(columns) + 8, top + _CELL * len(rows) + 8
    largest = float(values.max(initial=0.0)) or 1.0
    parts = [f'<text x="4" y="14" font-weight="bold">{show}</text>']
    for at, name in enumerate(names[0]):
        y = top + _CELL * at + _CELL / 2 + 4
        parts.append(f'<text x="{left - 6}" y="{y:g}" text-anchor="end">{escape(name)}</text>')
    for at, name in enumerate(names[1]):
        x, y = left + _CELL * at + _CELL / 2 + 4, top - 6
        place = f'x="{x:g}" y="{y:g}" transform="rotate(-90 {x:g} {y:g})"'
        parts.append(f"<text {place}>{escape(name)}</text>")
    for i, j in np.argwhere(values > 0):
        value = float(values[i, j])
        x, y = left + _CELL * j, top + _CELL * i
        square = f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="#c2410c"'
        title = escape(f"{names[0][i]} to {names[1][j]}: {value:.4g}")
        shade = (value / largest) ** 0.5
        parts.append(f'{square} fill-opacity="{shade:.3f}"><title>{title}</title></rect>')
        text = f'x="{x + _CELL / 2:g}" y="{y + _CELL / 2 + 4:g}" text-anchor="middle" font-size="9"'
        parts.append(f"<text {text}>{value:.2g}</text>")
    frame = f'x="{left}" y="{top}" width="{_CELL * len(columns)}" height="{_CELL * len(rows)}"'
    parts.append(f'<rect {frame} fill="none" stroke="currentColor" stroke-opacity="0.4"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="currentColor" role="img">{"".join(parts)}</svg>'
    )
