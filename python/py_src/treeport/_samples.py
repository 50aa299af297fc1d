"""Sampling error of distances: two samples of one group have a positive distance."""

from __future__ import annotations

import warnings
from typing import Any, Optional, TypedDict

import numpy as np
from scipy import sparse

from ._batches import emd_pairs
from ._clouds import Clouds, clouds_of
from ._ground import coordinates, with_metrics
from ._inputs import measures_of, outside, seed_of, threads_of, to_measures
from ._types import AnyMeasures, ArrayLike, Floats, Integers, Period, Seed


@with_metrics
def null_distance(
    X: AnyMeasures,
    points: Optional[ArrayLike] = None,
    *,
    metric: str = "euclidean",
    period: Optional[Period] = None,
    n_points: Optional[int] = None,
    random_state: Seed = 0,
    n_jobs: Optional[int] = None,
) -> float:
    """Computes the mean distance between two disjoint samples of one group, over all groups.

    Two samples of one distribution have a positive distance, which is larger for smaller samples. A
    distance between groups shows a difference only as far as it exceeds this one.

    Parameters
    ----------
    X : Clouds, or array-like, sparse or Measures of shape (n_groups, n_points)
        The groups: each is a cloud of points, or a row of masses on shared `points`.
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates of shared points; Clouds bring their own.
    metric : {metrics}
        The distance between two points.
    period : float or sequence, optional
        The period of coordinates that wrap around, as for `emd`.
    n_points : int, optional
        Number of points of a sample; by default half of the group. A group with fewer than twice as
        many points is split into halves, with a warning. If groups were sampled with
        ``n_cells=500``, draw 500 from the whole groups.
    random_state : int, numpy.random.Generator or None
        Determines which points are drawn.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors.

    Returns
    -------
    distance : float
        NaN if no group has two points.

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
    groups = list(_groups(X, points))
    if n_points is not None:
        _warn_of_small_groups([int(np.count_nonzero(masses > 0)) for masses, _ in groups], n_points)
    return _null_distance(
        groups, n_points, random_state, metric=metric, period=period, n_jobs=n_jobs
    )


def _null_distance(
    groups: Any, n_points: Optional[int], random_state: Seed, **ground: Any
) -> float:
    """Computes `null_distance` from masses and points of groups, without a warning."""
    rng = np.random.default_rng(seed_of(random_state))
    draws: list[tuple[Floats, Floats]] = []
    for masses, at in groups:
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
    return float(np.mean(emd_pairs(Clouds(draws), pairs, **ground)))


def _warn_of_small_groups(sizes: list[int], n_points: int) -> None:
    small = sum(size < 2 * n_points for size in sizes)
    if small:
        warnings.warn(
            f"two samples of {n_points} points need a group of {2 * n_points}; {small} of {len(sizes)} groups are smaller, and their "
            "samples are half of them, which makes the distance larger; groups of one point are left out",
            UserWarning,
            stacklevel=outside(),
        )


# The largest number of pairs of whole groups to solve, and of the sum of products of their sizes.
_PAIRS, _WORK = 16, 40_000_000


class Sampling(TypedDict):
    """Effect of subsampling cells: null distance, and mean relative error on whole groups."""

    null_distance: float
    error: float


def sampling_of(estimator: Any, drawn: Any) -> Optional[Sampling]:
    """Estimates the effect of subsampling (``n_cells=``) on a fit; `None` for other measures.

    The number of solved pairs of whole groups depends on their sizes, to limit the time to seconds."""
    whole = getattr(drawn, "_whole", None)
    points = estimator._coordinates()
    if whole is None or points is None:
        return None
    rows, at = sparse.csr_array(to_measures(whole()).values), coordinates(points)
    if rows.shape[1] != len(at) or rows.shape[0] < 2:
        return None
    rng = np.random.default_rng(seed_of(estimator.random_state))
    ground = {"metric": estimator.metric, "period": estimator.period, "n_jobs": estimator.n_jobs}
    null = _null_distance(_groups(rows, at), drawn._cells, rng, **ground)
    pairs = _affordable(np.diff(rows.indptr), rng)
    exact = emd_pairs(rows, pairs, points=at, **ground)
    left, right = (measures_of(rows[pairs[:, side]]) for side in (0, 1))
    found = estimator.model_._raw.paired(left, right, threads_of(estimator.n_jobs))
    apart = exact > 0
    error = float(np.mean(np.abs(found[apart] / exact[apart] - 1))) if apart.any() else float("nan")
    return {"null_distance": null, "error": error}


def _affordable(sizes: Integers, rng: np.random.Generator) -> Integers:
    """Draws random pairs of groups within the limits of pairs and work, at least one."""
    every = np.column_stack(np.triu_indices(len(sizes), 1))[
        rng.permutation(len(sizes) * (len(sizes) - 1) // 2)
    ]
    work = np.cumsum(sizes[every[:, 0]].astype(np.int64) * sizes[every[:, 1]])
    count = np.clip(np.searchsorted(work, _WORK, side="right"), 1, _PAIRS)
    return every[:count]


def _groups(X: Any, points: Any) -> Any:
    """Returns an iterator over masses and points of every group."""
    if points is None:
        return iter(clouds_of(X))
    at = coordinates(points)
    rows = sparse.csr_array(to_measures(X).values)
    if rows.shape[1] != len(at):
        raise ValueError(f"the measures live on {rows.shape[1]} points, and there are {len(at)}")
    parts = zip(rows.indptr[:-1], rows.indptr[1:])
    return ((rows.data[first:last], at[rows.indices[first:last]]) for first, last in parts)
