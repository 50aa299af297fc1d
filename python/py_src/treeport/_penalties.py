"""Penalties of unmoved mass: one for all points, or one for each."""

from __future__ import annotations

from typing import Any, Union

import numpy as np

from ._inputs import array_of
from ._types import Floats

Penalty = Union[None, float, Floats, tuple[Floats, Floats]]


def penalty_of(penalty: Any, has_two_sets: bool = False) -> Penalty:
    """Parses a number, an array, or a pair of arrays if `a` and `b` have different points."""
    if penalty is None or isinstance(penalty, (int, float)):
        return penalty
    if isinstance(penalty, tuple):
        if len(penalty) != 2:
            raise ValueError(
                f"penalty is a tuple of {len(penalty)}; give one number, one array, or the arrays of the points of a and of b"
            )
        left, right = (_of_points(side) for side in penalty)
        return left, right
    if np.ndim(penalty) == 0:
        return float(penalty)
    if has_two_sets:
        raise ValueError(
            "a and b have points of their own; give penalty as two arrays, (those of the points of a, those of the points of b)"
        )
    return _of_points(penalty)


def _of_points(penalties: Any) -> Floats:
    found: Floats = array_of(penalties, np.float64)
    if found.ndim == 0:
        raise ValueError(
            f"penalty is a tuple that holds the number {float(found)}; a tuple holds two arrays, a number for each point of a and "
            "for each point of b (`np.full(n, …)`), and one number alone is that of all points"
        )
    if found.ndim != 1:
        raise ValueError(
            f"penalties are an array of shape {found.shape}; give one axis, a number for each point"
        )
    return found  # type: ignore[no-any-return]
