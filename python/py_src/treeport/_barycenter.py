"""Barycenters of clouds: the points that are nearest to all of them, found with exact plans."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Optional

import numpy as np
from scipy import sparse

from . import _core
from ._clouds import Clouds, clouds_of
from ._ground import coordinates
from ._inputs import array_of, seed_of, threads_of
from ._progress import bar
from ._results import brief
from ._types import ArrayLike, CloudsLike, Floats, Seed

# Steps of Weiszfeld's iteration between two plans; later plans continue it.
_STEPS = 20


class Barycenter(NamedTuple):
    """A cloud that is near to all clouds of a set, as returned by `barycenter`.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_dimensions)
    masses : ndarray of shape (n_points,)
    value : float
        The weighted mean of the exact distances to all clouds; of squared distances for order 2.
    values : ndarray
        The value after each iteration; it never grows.
    converged : bool
        Whether the last iteration changed the value by less than the tolerance.
    """

    points: Floats
    masses: Floats
    value: float
    values: Floats
    converged: bool

    def __repr__(self) -> str:
        return brief(self)


def barycenter(
    clouds: CloudsLike,
    n_points: Optional[int] = None,
    *,
    weights: Optional[ArrayLike] = None,
    order: int = 2,
    init: Optional[ArrayLike] = None,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    random_state: Seed = 0,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
) -> Barycenter:
    """Computes a barycenter of clouds with free support: an average patient, jet or diagram.

    It minimizes the weighted mean of the squared Wasserstein-2 distances to all clouds (`order` 2),
    or of the Wasserstein-1 distances (`order` 1, a median, which is robust to outlying clouds).
    Exact plans to all clouds and the best places for these plans alternate, and the value falls in
    every iteration. The result is a local minimum, which depends on the start.

    Parameters
    ----------
    clouds : Clouds, or what `Clouds` takes
        Of equal totals; the metric is Euclidean.
    n_points : int, optional
        The number of points of the barycenter, which have equal masses; by default the mean number
        of points of the clouds.
    weights : array-like of shape (n_clouds,), optional
        The weights of the clouds, which are divided by their sum; equal by default.
    order : {2, 1}
    init : array-like of shape (n_points, n_dimensions), optional
        Where to start; by default at a random sample of all points.
    max_iterations : int
        The largest number of iterations.
    tolerance : float
        Stop when an iteration lowers the value by a smaller share.
    random_state : int, numpy.random.Generator or None
        Determines the sample to start at.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    barycenter : Barycenter
        ``(barycenter.masses, barycenter.points)`` is a cloud.

    See Also
    --------
    Tree.barycenter : The barycenter of measures on the points of a tree, which is exact.

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> found = tp.barycenter([square, square + [4.0, 2.0]], init=square)
    >>> found.points[np.lexsort(found.points.T[::-1])].round(6).tolist()
    [[2.0, 1.0], [2.0, 2.0], [3.0, 1.0], [3.0, 2.0]]
    >>> round(found.value, 6)  # both squares are at the squared distance 2² + 1²
    5.0
    """
    given = clouds_of(clouds)
    given._raw.check_balanced(None)
    if order not in (1, 2):
        raise ValueError(f"order is {order!r}; it must be 2 or 1")
    if max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations}; at least one is needed")
    shares = _shares(weights, len(given))
    total = float(given.totals[0])
    points = _start(given, n_points, init, random_state)
    masses = np.full(len(points), total / len(points))
    step = _Step(given, shares, masses, order)
    values: list[float] = []
    threads = threads_of(n_jobs) or None
    with bar("barycenter", verbose) as report, ThreadPoolExecutor(threads) as pool:
        while True:
            value, targets = step.plans(points, pool)
            converged = bool(values) and values[-1] - value <= tolerance * values[-1]
            values.append(value)
            if report is not None:
                report("barycenter", len(values) - 1, max_iterations)
            if converged or len(values) > max_iterations or value == 0:
                break
            points = step.places(points, targets)
    return Barycenter(points, masses, values[-1], np.array(values), converged or value == 0)


class _Step:
    """One iteration between clouds and the points of the barycenter."""

    def __init__(self, clouds: Clouds, shares: Floats, masses: Floats, order: int) -> None:
        self.clouds, self.shares, self.masses, self.order = list(clouds), shares, masses, order
        self.everything = np.concatenate([points for _, points in self.clouds])
        self.metric = "euclidean" if order == 1 else "sqeuclidean"

    def plans(self, points: Floats, pool: ThreadPoolExecutor) -> tuple[float, sparse.csr_array]:
        """Returns the value, and the weighted mass from each point to each point of all clouds."""

        def solve(at: int) -> tuple[float, Any]:
            masses, places = self.clouds[at]
            found = _core.solve(self.masses, masses, (points, places, self.metric), wanted="plan")
            source, target, mass = found.moves
            shape = len(points), len(places)
            return found.upper, sparse.csr_array((mass, (source, target)), shape=shape)

        # A cloud of weight 0 needs no plan.
        used = np.flatnonzero(self.shares)
        solved = dict(zip(used.tolist(), pool.map(solve, used.tolist())))
        value = sum(float(self.shares[at]) * solved[at][0] for at in solved)
        parts = [
            solved[at][1] * self.shares[at]
            if at in solved
            else sparse.csr_array((len(points), len(places)))
            for at, (_, places) in enumerate(self.clouds)
        ]
        return value, sparse.csr_array(sparse.hstack(parts, format="csr"))

    def places(self, points: Floats, targets: sparse.csr_array) -> Floats:
        """Returns the best places for the plans: means of targets, or their geometric medians."""
        mass = np.asarray(targets.sum(axis=1))[:, np.newaxis]
        if self.order == 2:
            means: Floats = np.asarray(targets @ self.everything) / mass
            return means
        entries = targets.tocoo()
        row, goal = entries.row, self.everything[entries.col]

        def lengths(at: Floats) -> Floats:
            return np.linalg.norm(goal - at[row], axis=1)  # type: ignore[no-any-return]

        def cost(away: Floats) -> Floats:
            each: Floats = entries.data * away
            return np.bincount(row, each, len(points)).astype(np.float64)

        best, away = points, lengths(points)
        for _ in range(_STEPS):
            # Weiszfeld's step; a point on a target would stay there for ever.
            pull = entries.data / np.maximum(away, 1e-12 * (1 + away.max()))
            weights = sparse.csr_array(
                (pull, (row, np.arange(len(row)))), shape=(len(points), len(row))
            )
            moved = np.asarray(weights @ goal) / np.asarray(weights.sum(axis=1))[:, np.newaxis]
            better = cost(lengths(moved)) < cost(away)
            if not better.any():
                break
            best = np.where(better[:, np.newaxis], moved, best)
            away = lengths(best)
        return best


def _shares(weights: Any, count: int) -> Floats:
    """Returns weights of clouds with a sum of 1."""
    if weights is None:
        return np.full(count, 1 / count)
    shares: Floats = array_of(weights)
    if shares.shape != (count,):
        raise ValueError(f"weights have shape {shares.shape}, and there are {count} clouds")
    bad = np.flatnonzero(~(np.isfinite(shares) & (shares >= 0)))
    if len(bad):
        raise ValueError(f"weight {bad[0]} is {shares[bad[0]]}; weights are finite and at least 0")
    if shares.sum() == 0:
        raise ValueError("all weights are 0")
    whole: Floats = shares / shares.sum()
    return whole


def _start(clouds: Clouds, n_points: Optional[int], init: Any, random_state: Seed) -> Floats:
    """Returns the points to start at."""
    if init is not None:
        points = np.array(coordinates(init), dtype=np.float64, order="C")
        if n_points is not None and len(points) != n_points:
            raise ValueError(f"init has {len(points)} points, and n_points is {n_points}")
        if points.shape[1] != clouds.dim or len(points) == 0:
            raise ValueError(
                f"init has shape {points.shape}, and clouds have {clouds.dim} coordinates"
            )
        if not np.isfinite(points).all():
            raise ValueError("init has coordinates that are not finite")
        return points
    count = max(1, round(float(np.mean(clouds.sizes)))) if n_points is None else n_points
    if count < 1:
        raise ValueError(f"n_points is {n_points}; at least one is needed")
    rng = np.random.default_rng(seed_of(random_state))
    masses: Floats = clouds.masses
    several = bool(np.count_nonzero(masses) < count)
    drawn = rng.choice(len(masses), count, replace=several, p=masses / masses.sum())
    points = clouds.points[drawn]
    if several:  # equal points would stay together
        spread = np.std(clouds.points, axis=0, keepdims=True)
        points = points + 1e-3 * spread * rng.normal(size=points.shape)
    return np.ascontiguousarray(points)
