"""Many exact problems at once: pairs of measures, and tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Optional, Union

import numpy as np
from scipy import sparse

from . import _core
from ._ground import coordinates, graph_of, ground_of, names_of_ground, nodes_by_name, one_of, places_of_ground
from ._inputs import (
    Floats,
    Integers,
    check_same_columns,
    ids_of,
    is_plain,
    measures_of,
    pairs_of,
    refuse_events,
    row,
    threads_of,
    unmapped,
)
from ._progress import bar
from ._results import framed
from ._transport import Bounds, check_exponent, uniform

_INT64 = np.dtype(np.int64)


def emd_pairs(
    measures: Any,
    pairs: Any,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    assume_metric: bool = False,
    penalty: Optional[float] = None,
    accuracy: Union[str, float, None] = None,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    missing: str = "warn",
    p: float = 1,
) -> Any:
    """Exact transport costs of many pairs of measures, in parallel.

    Parameters
    ----------
    measures : array-like or sparse of shape (n_measures, n_points), list of dict, or list of (masses, points)
        One measure per row, or one ``{node: mass}`` each; an AnnData object stands for its `X`. Names of columns are
        matched to those of the points. Without `points`, `cost` and `graph`: measures with coordinates of their own, which
        may be of any number; masses of `None` are equal.
    pairs : array-like of int or str of shape (n_pairs, 2)
        The rows to compare: their numbers, or their IDs where they have any.
    points, cost, graph, weight, metric
        The ground metric, as for `emd`; `cost` has to be symmetric here, and `graph` undirected. In each component of a graph
        the measures of a pair have the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality, which makes it faster: shared mass stays put.
    penalty : float, optional
        Totals may differ: what is not moved costs this much a unit, as for `emd`.
    accuracy : float or "exact", optional
        Bounds this close, relative to the upper one, instead of exact costs, as for `emd`.
    n_jobs : int, optional
        Threads; `None` and -1 stand for all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What is done where points have no column, as for `Measures`.
    p : 1
        Costs are as they are; for another exponent see `emd`.

    Returns
    -------
    distances : ndarray of shape (n_pairs,)
        With `accuracy` a `Bounds` of two such arrays, without plans.

    Examples
    --------
    >>> import treeport as tp
    >>> measures = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]
    >>> tp.emd_pairs(measures, [(0, 1), (0, 2)], points=[[0.0], [1.0], [5.0]])
    array([1., 3.])
    >>> tp.emd_pairs([([1.0], [[0.0]]), ([0.5, 0.5], [[1.0], [3.0]])], [(0, 1)])
    array([2.])
    """
    check_exponent(p)
    threads = threads_of(n_jobs)
    plain = is_plain(measures, 2) and is_plain(points, 2) and is_plain(pairs, 2, _INT64)
    if plain and cost is graph is accuracy is None and not (assume_metric or verbose):
        return _core.emd_pairs((points, metric), measures, pairs, threads, None, penalty)
    numbers = pairs_of(pairs, ids_of(measures))

    def check(sets: list[_core.Measures]) -> None:
        if penalty is None:
            sets[0].check_pairs(numbers)

    ground, (rows,) = _on_one_ground([measures], points, cost, graph, metric, weight, assume_metric, missing, penalty is not None, check)
    with bar("exact distances", verbose) as report, nodes_by_name(graph):
        if accuracy is not None:
            lower, upper = _core.emd_pairs_within(ground, rows, numbers, accuracy, threads, report, penalty)
            return Bounds(lower, upper)
        return _core.emd_pairs(ground, rows, numbers, threads, report, penalty)


def emd_pairwise(
    A: Any,
    B: Any = None,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    assume_metric: bool = False,
    penalty: Optional[float] = None,
    accuracy: Union[str, float, None] = None,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    missing: str = "warn",
    p: float = 1,
) -> Any:
    """Exact transport costs of all measures of `A` to all of `B`, or of `A`, in parallel.

    Parameters
    ----------
    A, B : array-like or sparse of shape (n_measures, n_points), list of dict, or list of (masses, points)
        One measure per row, or one ``{node: mass}`` each; an AnnData object stands for its `X`. Names of columns are
        matched to those of the points. Without `points`, `cost` and `graph`: measures with coordinates of their own, which
        may be of any number; masses of `None` are equal.
    points, cost, graph, weight, metric
        The ground metric, as for `emd`; `cost` has to be symmetric here, and `graph` undirected. In each component of a graph
        the measures of a pair have the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality, which makes it faster: shared mass stays put.
    penalty : float, optional
        Totals may differ: what is not moved costs this much a unit, as for `emd`.
    accuracy : float or "exact", optional
        Bounds this close, relative to the upper one, instead of exact costs, as for `emd`.
    n_jobs : int, optional
        Threads; `None` and -1 stand for all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What is done where points have no column, as for `Measures`.
    p : 1
        Costs are as they are; for another exponent see `emd`.

    Returns
    -------
    distances : ndarray of shape (n_a, n_b) or (n_a, n_a), or DataFrame where rows have IDs
        With `accuracy` a `Bounds` of two such tables, without plans.

    Examples
    --------
    >>> import treeport as tp
    >>> tp.emd_pairwise([[1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]], points=[[0.0], [1.0], [5.0]])
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    >>> clouds = [([1.0], [[0.0, 0.0]]), ([0.5, 0.5], [[3.0, 4.0], [0.0, 1.0]])]
    >>> tp.emd_pairwise(clouds, clouds[:1])
    array([[0.],
           [3.]])
    """
    check_exponent(p)
    sets = [A] if B is None else [A, B]

    def check(rows: list[_core.Measures]) -> None:
        if penalty is None:
            _core.Model.check_balanced(rows[0], None if B is None else rows[1])

    ground, rows = _on_one_ground(sets, points, cost, graph, metric, weight, assume_metric, missing, penalty is not None, check)
    n, m = len(rows[0]), len(rows[-1])
    _core.Model.check_table(40 * n * m)  # the table, its pairs and their distances
    if B is None:
        left, right = np.triu_indices(n, 1)
        both = rows[0]
    else:
        left, right = (place.ravel() for place in np.indices((n, m)))
        both, right = _stacked(rows), right + n
    pairs = np.stack([left, right], axis=1).astype(np.int64, copy=False)
    def table(found: Floats) -> Any:
        if B is not None:
            return framed(found.reshape(n, m), ids_of(A), ids_of(B))
        whole = np.zeros((n, n))
        whole[left, right] = whole[right, left] = found
        return framed(whole, ids_of(A), ids_of(A))

    threads = threads_of(n_jobs)
    with bar("exact distances", verbose) as report, nodes_by_name(graph):
        if accuracy is None:
            return table(_core.emd_pairs(ground, both, pairs, threads, report, penalty))
        bounds = _core.emd_pairs_within(ground, both, pairs, accuracy, threads, report, penalty)
    return Bounds(*(table(found) for found in bounds))


def _stacked(sets: Sequence[_core.Measures]) -> _core.Measures:
    """The rows of one set after those of another."""
    parts = []
    for one in sets:
        start, columns, masses, points = one.compressed()
        parts.append(sparse.csr_array((masses, columns, start), shape=(len(one), points)))
    if parts[0].shape[1] != parts[-1].shape[1]:
        raise ValueError(f"A lives on {parts[0].shape[1]} points, B on {parts[-1].shape[1]}")
    return measures_of(sparse.vstack(parts, format="csr"), empty=True)


def _on_one_ground(
    sets: list[Any],
    points: Any,
    cost: Any,
    graph: Any,
    metric: str,
    weight: Optional[str],
    assume_metric: bool,
    missing: str,
    empty: bool,
    check: Callable[[list[_core.Measures]], None],
) -> tuple[Union[_core.Ground, _core.Graph], list[_core.Measures]]:
    """The ground metric and the measures of every set on it, which `check` has looked at before."""
    if points is cost is graph is None and all(_are_clouds(one) for one in sets):
        ground, rows = _clouds(sets, metric, empty)
        check(rows)
        return ground, rows
    for one in sets:
        refuse_events(one)
    one_of(points, cost, graph)
    names = names_of_ground(points, cost, graph)
    if names is None and len(sets) == 2:
        check_same_columns(*sets)
    plain = [unmapped(one, lambda: places_of_ground(points, cost, graph)) for one in sets]
    # Before the metric: what is wrong with masses is better said before long work than after it.
    rows = [measures_of(one, names=names, missing=missing, empty=empty) for one in plain]
    check(rows)
    if graph is not None:
        return graph_of(graph, weight), rows
    ground = ground_of(points, cost, graph, metric, weight)
    return ground.assume_metric() if assume_metric else ground, rows


def _are_clouds(measures: Any) -> bool:
    """Whether they are measures with points of their own: a list of pairs."""

    def is_cloud(one: Any) -> bool:
        return isinstance(one, (list, tuple)) and len(one) == 2 and np.ndim(one[1]) > 0

    return isinstance(measures, (list, tuple)) and all(is_cloud(one) for one in measures)


def _clouds(sets: list[Any], metric: str, empty: bool) -> tuple[_core.Ground, list[_core.Measures]]:
    """All points of all measures side by side; each measure has mass on its own."""
    sides: list[Floats] = []
    weights: list[Floats] = []
    for which, measures in zip(("", " of B"), sets):
        for number, (masses, points) in enumerate(measures):
            sides.append(coordinates(points))
            weights.append(uniform(len(sides[-1])) if masses is None else _dense(masses))
            _check_cloud(f"measure {number}{which}", weights[-1], sides[-1], sides[0].shape[1], empty)
    if not sides:
        raise ValueError("there are no measures; a list of (masses, points) has at least one")
    start = np.concatenate([[0], np.cumsum([len(masses) for masses in weights])])
    ground = _core.Ground.from_points(np.concatenate(sides), metric)
    rows, first = [], 0
    for measures in sets:
        here = start[first : first + len(measures) + 1]
        mass = np.concatenate([np.empty(0), *weights[first : first + len(measures)]])
        table = (mass, np.arange(here[0], here[-1]), here - here[0])
        rows.append(measures_of(sparse.csr_array(table, shape=(len(measures), int(start[-1]))), empty=empty))
        first += len(measures)
    return ground, rows


def _check_cloud(name: str, masses: Floats, points: Floats, dimensions: int, empty: bool) -> None:
    """Refuses what is no measure, by its name and with its place, which is another one on the common ground."""
    if len(masses) != len(points):
        raise ValueError(f"{name} has {len(masses)} masses and {len(points)} points; there has to be one for each")
    if points.shape[1] != dimensions:
        raise ValueError(
            f"the points of {name} have {points.shape[1]} coordinates, those of measure 0 {dimensions}; "
            "they have to live in one space"
        )
    bad = ~(np.isfinite(masses) & (masses >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(f"{name} has mass {masses[at]} at its point {at}; masses must be finite and at least 0")
    if not (empty or masses.any()):
        raise ValueError(f"{name} has no mass; drop it or give it a positive entry")
    if not np.isfinite(points).all():
        at, axis = (int(place) for place in np.argwhere(~np.isfinite(points))[0])
        raise ValueError(f"coordinate {axis} of point {at} of {name} is {points[at, axis]}; coordinates must be finite")


def _dense(masses: Any) -> Floats:
    """The masses of one measure, zeros written out."""
    found = row(masses)
    if not isinstance(found, tuple):
        return found  # type: ignore[no-any-return]
    at, values, size = found
    whole = np.zeros(size)
    np.add.at(whole, at, values)
    return whole
