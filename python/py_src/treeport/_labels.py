"""What is learned from, and judged by: pairs of rows and their exact distances."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _core
from ._inputs import Floats, Integers
from ._progress import bar

# Relative errors mean nothing where the exact distance is nearly 0: below this share of the largest.
LEAST_LABEL = 1e-4


def with_mass(X: Any) -> Any:
    """The rows that have mass."""
    kept = np.asarray(X.sum(axis=1)).ravel() > 0
    if np.count_nonzero(kept) < 2:
        raise ValueError(f"{np.count_nonzero(kept)} rows have mass; a pair needs two")
    return X if kept.all() else X[kept]


def random_pairs(rows: int, count: int, seed: int) -> Integers:
    """`count` different pairs of rows, or all of them if there are fewer.

    Examples
    --------
    >>> random_pairs(3, 10, seed=0)
    array([[1, 0],
           [2, 0],
           [2, 1]])
    """
    there = rows * (rows - 1) // 2
    if count < there:
        places = np.sort(np.random.default_rng(seed).choice(there, count, replace=False))
    else:
        places = np.arange(there)
    # Place (1,0), (2,0), (2,1), (3,0), …; the square root may be off by one.
    left = ((1 + np.sqrt(1 + 8 * places.astype(np.float64))) / 2).astype(np.int64)
    left -= left * (left - 1) // 2 > places
    left += left * (left + 1) // 2 <= places
    return np.stack([left, places - left * (left - 1) // 2], axis=1)


def side_by_side(left: _core.Measures, right: _core.Measures) -> tuple[_core.Measures, Integers]:
    """Both sets as one, and the pairs of row i with row i."""
    if len(left) != len(right):
        raise ValueError(f"{len(left)} measures cannot be paired with {len(right)}")
    first = np.arange(len(left), dtype=np.int64)
    return left.followed_by(right), np.stack([first, first + len(left)], axis=1)


def exact(
    ground: Optional[_core.Ground],
    measures: _core.Measures,
    pairs: Integers,
    threads: int,
    verbose: bool,
) -> Floats:
    """Exact distances; without a ground metric all points are one apart."""
    with bar("exact distances", verbose) as report:
        if ground is None:  # the tree of points one apart is a star, and exact
            star = _core.RawTree.star(measures.points)
            return _core.pairs(star, pairs, measures, threads, report)
        ground = _core.Ground.solvable(ground, threads)
        return _core.emd_pairs(ground, measures, pairs, threads, report)


def relative_error(found: Floats, judge: Floats) -> float:
    """Mean relative error where it means something; NaN if it does nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> relative_error(np.array([1.5, 2.0, 7.0]), np.array([1.0, 2.0, 0.0]))
    0.25
    """
    counts = judge > LEAST_LABEL * judge.max(initial=0.0)
    if not counts.any():
        return float("nan")
    return float(np.mean(np.abs(found - judge)[counts] / judge[counts]))
