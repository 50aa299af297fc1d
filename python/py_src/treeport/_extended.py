"""Validation of extended trees: distances on new points are compared with certified bounds."""

from __future__ import annotations

import warnings
from typing import Any, Optional

import numpy as np
from scipy import sparse

from . import _core
from ._inputs import Measures, outside
from ._types import Floats, Integers

PAIRS = 32  # sampled pairs of measures
POINTS = 4  # largest support of a sampled measure
TOLERATED = 1.25  # largest ratio of the error factor on new points to that on old points


class ExtendedTreeWarning(UserWarning):
    """Warning about distances on new points that lie outside their certified bounds."""


def check_estimator(larger: Any, old: int, measures: Optional[_core.Measures]) -> None:
    """Warns if distances between measures on new points lie outside of `bounds`.

    Compares pairs of `measures` if given. Otherwise it draws measures on a few points, both from
    the new points and from the old ones, because trees have errors on old points as well."""
    new = larger.n_features_in_ - old
    if measures is not None:
        pairs = _pairs_of(measures, old)
        if pairs is not None:
            _tell(_factors(larger, pairs), 1.0)
        return
    if new < 2:
        return
    size = min(POINTS, new // 2, max(old // 2, 1))  # equal sizes: errors depend on the support
    on_new = _factors(larger, _sampled(np.arange(old, old + new), old + new, size))
    on_old = _factors(larger, _sampled(np.arange(old), old + new, size))
    _tell(on_new, float(np.median(on_old)) if len(on_old) else 1.0)


def _pairs_of(measures: _core.Measures, old: int) -> Optional[tuple[Any, Any]]:
    """Draws up to `PAIRS` pairs in which one has mass at a new point; `None` if there are none."""
    start, columns, masses, points = measures.compressed()
    rows = sparse.csr_array((masses, columns, start), shape=(len(measures), points))
    on_new = np.flatnonzero(np.diff(rows[:, old:].indptr))
    if len(on_new) == 0 or len(measures) < 2:
        return None
    rng = np.random.default_rng(0)
    left = rng.choice(on_new, PAIRS)
    right = (left + rng.integers(1, len(measures), PAIRS)) % len(measures)
    pairs = np.unique(np.sort(np.stack([left, right], axis=1), axis=1), axis=0)
    return rows[pairs[:, 0]], rows[pairs[:, 1]]


def _sampled(points: Integers, width: int, size: int = POINTS) -> Optional[tuple[Any, Any]]:
    """Draws pairs of uniform measures with disjoint supports of `size` of the points."""
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
    """Returns the factor, at least 1, by which each sampled distance violates its bounds."""
    if sampled is None:
        return np.empty(0)
    names = larger.model_.names
    left, right = (Measures(rows, names=names) for rows in sampled)
    lower, upper = larger.bounds(left, right)
    return _outside_by(larger.model_.paired(*sampled), lower, upper)


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
        f"factor of {factor:.3g} in the median. Give `measures` like those of later calls, or fit again with the new points, or "
        "ask `bounds`, or `estimate` with an accuracy, which stay right",
        ExtendedTreeWarning,
        stacklevel=outside(),
    )
