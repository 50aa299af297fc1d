"""Whether distances between new points of an extended tree can be right: they are compared with certified bounds."""

from __future__ import annotations

import warnings
from typing import Any, Optional

import numpy as np
from scipy import sparse

from ._inputs import Floats, Integers, outside

PAIRS = 32  # sampled pairs of measures
POINTS = 4  # most points of such a measure
TOLERATED = 1.25  # how much worse new measures may come out than old ones


class ExtendedTreeWarning(UserWarning):
    """Distances between measures on new points lie outside their certified bounds."""


def check_estimator(larger: Any, old: int) -> None:
    """Warns where an extended estimator's distances between measures on new points are outside of `bounds`.

    Trees err between old points as well, so that those are the standard.
    """
    new = larger.n_features_in_ - old
    if new < 2:
        return
    size = min(POINTS, new // 2, max(old // 2, 1))  # the same for both: trees err more between single points
    on_new = _factors(larger, _sampled(np.arange(old, old + new), old + new, size))
    on_old = _factors(larger, _sampled(np.arange(old), old + new, size))
    _tell(on_new, float(np.median(on_old)) if len(on_old) else 1.0)


def _sampled(points: Integers, width: int, size: int = POINTS) -> Optional[tuple[Any, Any]]:
    """Pairs of measures on some points, apart from each other: equal masses on a few."""
    if len(points) < 2 * size:
        return None
    rng, rows = np.random.default_rng(0), ([], [])  # type: ignore[var-annotated]
    for _ in range(PAIRS):
        drawn = rng.choice(points, 2 * size, replace=False)
        for side, at in zip(rows, (drawn[:size], drawn[size:])):
            row = np.zeros(width)
            row[at] = 1 / size
            side.append(row)
    return sparse.csr_array(np.array(rows[0])), sparse.csr_array(np.array(rows[1]))


def _factors(larger: Any, sampled: Optional[tuple[Any, Any]]) -> Floats:
    """How far distances of sampled pairs are outside their bounds, each as a factor of at least 1."""
    if sampled is None:
        return np.empty(0)
    lower, upper = larger.bounds(*sampled)
    return _outside_by(larger._model.paired(*sampled), lower, upper)


def _outside_by(found: Floats, lower: Floats, upper: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.maximum(found / upper, lower / found)
    return np.maximum(np.where(np.isnan(factors), 1.0, factors), 1.0)


def _tell(factors: Floats, standard: float) -> None:
    factor = float(np.median(factors))
    if factor <= TOLERATED * standard:
        return
    count = int(np.count_nonzero(factors > 1))
    warnings.warn(
        f"of {len(factors)} sampled pairs of measures on new points, {count} have a distance outside its certified bounds, by a "
        f"factor of {factor:.3g} in the median. Give `measures` that will be asked about, or fit again with the new points, or "
        "ask `bounds`, or `estimate` with an accuracy, which stay right",
        ExtendedTreeWarning,
        stacklevel=outside(),
    )
