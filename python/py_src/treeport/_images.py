"""Images and volumes: arrays of masses on a regular grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _core
from ._ground import GroundInput, geometry
from ._inputs import array_of
from ._problem import Problem, no_masses
from ._types import ArrayLike, Axes, Floats

Spacing = Union[float, Sequence[float]]


class ImageProblem(Problem):
    """Two images or volumes of one shape, and the distances between their pixels."""

    def __init__(
        self, a: Any, b: Any, grid: Spacing, given: GroundInput, is_balanced: bool
    ) -> None:
        images = [_image(one, name) for one, name in ((a, "a"), (b, "b"))]
        shape = images[0].shape
        if shape != images[1].shape:
            raise ValueError(
                f"a has shape {shape} and b {images[1].shape}; with `grid` both are images of one shape"
            )
        if any(what is not None for what in given.sources):
            raise ValueError(
                "`grid` gives the places of pixels; leave out `points`, `cost` and `graph`"
            )
        every = isinstance(grid, (int, float, np.number))
        steps = np.broadcast_to(grid, len(shape)) if every else np.asarray(grid, dtype=np.float64)
        self._given, self._points_b = given, None
        self.names = None, None
        self.a, self.b = (image.ravel() for image in images)
        self.shape = self.a.size, self.b.size
        self._places = None
        metric = geometry(given.metric, given.period)
        self.costs = _core.Ground.grid(list(shape), steps.tolist(), metric, is_balanced)
        self.grid = Grid(shape, steps.astype(np.float64), given.period)


class Grid:
    """The places of pixels, and the displacements between them."""

    def __init__(self, shape: tuple[int, ...], spacing: Floats, period: Any) -> None:
        """Stores the shape, and the spacing and the period of each axis."""
        self.shape, self.spacing = shape, spacing
        each: Any = period
        if period is None or np.ndim(period) == 0:
            each = [period] * len(shape)
        self.period = np.array([np.inf if one is None else float(one) for one in each])

    def displacement(self, moves: Any) -> Floats:
        """Returns the mean displacement of the mass of each pixel; NaN where none moves."""
        ends = [
            np.stack(np.unravel_index(side, self.shape), axis=1) * self.spacing
            for side in (moves.source, moves.target)
        ]
        way = ends[1] - ends[0]
        around = np.isfinite(self.period)
        way[:, around] -= self.period[around] * np.rint(way[:, around] / self.period[around])
        count, dim = int(np.prod(self.shape)), len(self.shape)
        mass = np.bincount(moves.source, moves.mass, minlength=count)
        field = np.full((count, dim), np.nan)
        for axis in range(dim):
            total = np.bincount(moves.source, moves.mass * way[:, axis], minlength=count)
            np.divide(total, mass, out=field[:, axis], where=mass > 0)
        return field.reshape(*self.shape, dim)


def _image(given: Any, name: str) -> Floats:
    """Parses an image or a volume; errors name the pixel."""
    if given is None:
        raise ValueError(f"{name} is None; with `grid` it is an array of masses")
    image = np.ascontiguousarray(array_of(given), dtype=np.float64)
    if image.ndim == 0 or image.size == 0:
        raise no_masses("ab".index(name))
    wrong = np.argwhere(~(np.isfinite(image) & (image >= 0)))
    if len(wrong):
        place = tuple(int(index) for index in wrong[0])
        raise ValueError(
            f"{name} has mass {image[place]} at pixel {place}; masses must be finite and at least 0"
        )
    return image


def plot_displacement(
    grid: Grid,
    moves: Any,
    ax: Optional[Axes] = None,
    *,
    image: Optional[ArrayLike] = None,
    step: Optional[int] = None,
) -> Axes:
    """Draws the displacement field of an image as arrows."""
    import matplotlib.pyplot as plt

    if len(grid.shape) != 2:
        raise ValueError(
            f"the problem has {len(grid.shape)} axes; arrows are drawn for images, with 2"
        )
    ax = plt.subplots()[1] if ax is None else ax
    step = max(1, max(grid.shape) // 32) if step is None else step
    field = grid.displacement(moves)[::step, ::step]
    rows, columns = (np.arange(0, size, step) * s for size, s in zip(grid.shape, grid.spacing))
    high, wide = np.array(grid.shape) * grid.spacing
    half_high, half_wide = 0.5 * grid.spacing
    extent = (-half_wide, wide - half_wide, high - half_high, -half_high)
    if image is not None:
        ax.imshow(np.asarray(image), extent=extent, cmap="gray")
    ax.quiver(
        *np.meshgrid(columns, rows),
        field[..., 1],
        field[..., 0],
        color="tab:red",
        angles="xy",
        scale_units="xy",
        scale=1,
    )
    ax.set(xlim=extent[:2], ylim=extent[2:], aspect="equal")
    return ax
