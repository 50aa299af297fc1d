"""What a sample alone makes of a distance: two draws of one group are not 0 apart."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from scipy import sparse

from ._batches import emd_pairs
from ._clouds import Clouds, clouds_of
from ._ground import coordinates, with_metrics
from ._inputs import Floats, Measures, Seed, seed_of, to_measures


@with_metrics
def null_distance(
    X: Any,
    points: Any = None,
    *,
    metric: str = "euclidean",
    n_points: Optional[int] = None,
    random_state: Seed = 0,
    n_jobs: Optional[int] = None,
) -> float:
    """The distance that sampling alone makes: between two disjoint draws of one group, in the mean over groups.

    The distance of two samples of one distribution is above 0, and the smaller the samples, the larger it is. A distance
    between groups tells of a difference only as far as it is larger than this.

    Parameters
    ----------
    X : Clouds, or array-like, sparse or Measures of shape (n_groups, n_points)
        Groups: each a cloud of points, or a row of masses on `points` that all share.
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates of shared points; Clouds bring theirs.
    metric : {metrics}
        How distances follow from coordinates.
    n_points : int, optional
        Points of a draw; half of those of a group, where it has fewer than twice as many, and by default. For groups that
        were drawn with ``n_cells=500``, draw 500 of the whole groups.
    random_state : int, numpy.random.Generator or None
        Which are drawn.
    n_jobs : int, optional
        Threads; `None` and -1 stand for all processors.

    Returns
    -------
    distance : float
        NaN where no group has two points.

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> rng = np.random.default_rng(0)
    >>> groups = tp.Clouds([rng.normal(size=(200, 2)) for _ in range(5)])
    >>> few, many = tp.null_distance(groups, n_points=10), tp.null_distance(groups, n_points=100)
    >>> bool(0 < many < few)
    True
    """
    if n_points is not None and n_points < 1:
        raise ValueError(f"n_points is {n_points}; at least one is needed")
    rng = np.random.default_rng(seed_of(random_state))
    draws: list[tuple[Floats, Floats]] = []
    for masses, at in _groups(X, points):
        here = np.flatnonzero(masses > 0)
        size = len(here) // 2 if n_points is None else min(n_points, len(here) // 2)
        if size == 0:
            continue
        drawn = rng.permutation(here)[: 2 * size]
        for half in (drawn[:size], drawn[size:]):
            draws.append((masses[half] / masses[half].sum(), at[half]))
    if not draws:
        return float("nan")
    pairs = np.arange(len(draws)).reshape(-1, 2)
    return float(np.mean(emd_pairs(Clouds(draws), pairs, metric=metric, n_jobs=n_jobs)))


def _groups(X: Any, points: Any) -> Any:
    """Masses and points of every group."""
    if points is None:
        return iter(clouds_of(X))
    at = coordinates(points)
    rows = sparse.csr_array(to_measures(X).values)
    if rows.shape[1] != len(at):
        raise ValueError(f"the measures live on {rows.shape[1]} points, and there are {len(at)}")
    parts = zip(rows.indptr[:-1], rows.indptr[1:])
    return ((rows.data[first:last], at[rows.indices[first:last]]) for first, last in parts)
