"""Many exact problems at once: pairs of measures, and tables of them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, Callable, Optional, Union

import numpy as np
from scipy import sparse

from . import _core, _sweeps
from ._card import check_for_device, engine_of
from ._clouds import Clouds, are_clouds, clouds_of
from ._devices import memory_errors
from ._ground import geometry, graph_of, ground_of, names_of_ground, nodes_by_name, one_of, places_of_ground
from ._inputs import (
    Floats,
    Integers,
    check_same_columns,
    ids_of,
    is_plain,
    measures_of,
    pairs_of,
    refuse_events,
    threads_of,
    unmapped,
)
from ._penalties import penalty_of
from ._progress import bar
from ._results import framed
from ._transport import Bounds, check_exponent

_INT64 = np.dtype(np.int64)
_Prices = Union[None, float, Floats]
_Ground = Union[None, _core.Ground, _core.Graph]


def emd_pairs(
    measures: Any,
    pairs: Any,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Any = None,
    assume_metric: bool = False,
    penalty: Any = None,
    accuracy: Union[str, float, None] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    missing: str = "warn",
    p: float = 1,
) -> Any:
    """Exact transport costs of many pairs of measures, in parallel.

    Parameters
    ----------
    measures : array-like or sparse of shape (n_measures, n_points), list of dict, or Clouds
        One measure per row, or a list with one ``{node: mass}`` per measure; an AnnData object stands for its `X`. Column names are
        matched to the names of the points. Without `points`, `cost` and `graph`: `Clouds`, which bring their own points, or a
        list from which `Clouds` can be made: of (masses, points), or of arrays of points.
    pairs : array-like of int or str of shape (n_pairs, 2)
        The rows to compare: their numbers, or their IDs if they have any.
    points, cost, graph, weight, metric, period
        The ground metric, as for `emd`; here `cost` has to be symmetric, and `graph` undirected. In each component of a graph
        the two measures of a pair need the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality. Then shared mass can stay in place, which is faster.
    penalty : float or array-like of shape (n_points,), optional
        Totals may differ: each unit that is not moved costs this much, as for `emd`. An array has a price for each point; for
        clouds, one cloud after the other. `Clouds` may have penalties of their own, as those of `diagrams` do.
    accuracy : float or "exact", optional
        Return bounds instead of exact costs. They differ by at most this share of the upper bound, as for `emd`.
    time : float, optional
        Return bounds instead of exact costs, the best within this many seconds for all pairs together. Each pair gets an
        equal share of the time that is left when it begins, so time that one pair does not use goes to later pairs.
    device : str, optional
        "cuda" and so on: a GPU searches all pairs of points of large problems, as for `emd`.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What to do about points without a column, as for `Measures`.
    p : 1
        Costs are taken as they are; for another exponent see `emd`.

    Returns
    -------
    distances : ndarray of shape (n_pairs,)
        With `accuracy` or `time`: a `Bounds` of two such arrays, without plans.

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
    if device is not None:
        check_for_device(cost is not None or graph is not None, metric, None, penalty, period)
    threads = threads_of(n_jobs)
    penalty = _penalty_of(penalty)
    plain = device is None and is_plain(measures, 2) and is_plain(points, 2) and is_plain(pairs, 2, _INT64)
    if plain and cost is graph is accuracy is time is None and not (assume_metric or verbose):
        return _core.emd_pairs((points, geometry(metric, period)), measures, pairs, threads, None, penalty)
    numbers = pairs_of(pairs, ids_of(measures))
    own = _clouds_of(measures, None, (points, cost, graph), penalty is not None)
    if own is not None:
        raw = own[0]._raw
        penalty = _of_clouds(raw, penalty, geometry(metric, period))
        if penalty is None:
            raw.check_pairs(numbers)
        return _solved(_ground_of(raw, metric, period), raw.measures(), numbers, accuracy, time, threads, verbose, penalty, device)

    def check(sets: list[_core.Measures]) -> None:
        if penalty is None:
            sets[0].check_pairs(numbers)

    ground, (rows,) = _on_one_ground([measures], points, cost, graph, metric, period, weight, assume_metric, missing, penalty is not None, check)
    with nodes_by_name(graph):
        return _solved(ground, rows, numbers, accuracy, time, threads, verbose, penalty, device)


def _penalty_of(penalty: Any) -> _Prices:
    """One number, or one for each point."""
    if isinstance(penalty, tuple):
        penalty = list(penalty)
    found = penalty_of(penalty)
    assert not isinstance(found, tuple)
    return found


def _of_clouds(clouds: _core.Clouds, penalty: _Prices, geometry: Any) -> _Prices:
    """The penalties of clouds, their own or those that are given."""
    own = clouds.penalties(geometry)
    if own is not None and penalty is not None:
        raise ValueError("these clouds have penalties of their own; leave `penalty` out, or give clouds without")
    return penalty if own is None else own


def _ground_of(clouds: _core.Clouds, metric: str, period: Any) -> Optional[_core.Ground]:
    """The metric of all points; none where all clouds are empty."""
    return clouds.ground(geometry(metric, period)) if clouds.points else None


def _solved(
    ground: _Ground,
    rows: _core.Measures,
    pairs: Integers,
    accuracy: Union[str, float, None],
    time: Optional[float],
    threads: int,
    verbose: bool,
    penalty: _Prices,
    device: Optional[str],
) -> Union[Floats, Bounds]:
    """Exact costs of pairs, or bounds of them."""
    if ground is None:
        nothing = np.zeros(len(pairs))
        return nothing if accuracy is time is None else Bounds(nothing, nothing)
    with bar("exact distances", verbose) as report:
        if device is not None:
            check_for_device(False, "", None, penalty, None)  # clouds may have penalties of their own
            with memory_errors("points", device, "points"):
                found = _bounded_on(device, ground, rows, pairs, accuracy, time, threads, report)
            return found.upper if accuracy is time is None else found
        if accuracy is not None or time is not None:
            wanted = "exact" if accuracy is None else accuracy
            return Bounds(*_core.emd_pairs_within(ground, rows, pairs, wanted, time, threads, report, penalty))
        return _core.emd_pairs(ground, rows, pairs, threads, report, penalty)


def _bounded_on(
    device: str,
    ground: Union[_core.Ground, _core.Graph],
    rows: _core.Measures,
    pairs: Integers,
    accuracy: Union[str, float, None],
    time: Optional[float],
    threads: int,
    report: Any,
) -> Bounds:
    """Bounds of pairs by a device: sweeps of all at once, and what they leave one by one."""
    engine = engine_of(device)
    wanted = "exact" if accuracy is None else accuracy
    lower, upper, left = np.zeros(len(pairs)), np.full(len(pairs), np.inf), np.arange(len(pairs))
    placed = ground.coordinates() if isinstance(ground, _core.Ground) else None
    if placed is not None and time is None and _sweeps.takes(placed[1], wanted):
        start, columns, masses, _ = rows.compressed()
        sizes = np.diff(start)[pairs]
        some = np.flatnonzero((sizes.min(axis=1) >= _SWEPT) | engine.takes_all & (sizes.min(axis=1) > 0))
        used, names = np.unique(pairs[some], return_inverse=True)
        if len(some):
            points = np.concatenate([placed[0][columns[start[row] : start[row + 1]]] for row in used])
            parts = np.concatenate([masses[start[row] : start[row + 1]] for row in used])
            starts = np.concatenate([[0], np.cumsum(np.diff(start)[used])]).astype(np.int64)
            found = _sweeps.bounds(
                _sweeps.engine_of(device), points, placed[1], starts, parts, names.reshape(-1, 2), float(wanted), report
            )
            lower[some], upper[some] = found.lower, found.upper
            left = np.setdiff1d(left, some[found.close])
    if len(left):
        rest = _core.emd_pairs_within(ground, rows, pairs[left], wanted, time, threads, report, None, engine)
        lower[left], upper[left] = np.fmax(lower[left], rest[0]), np.fmin(upper[left], rest[1])
    return Bounds(lower, upper)


#: Points of a measure from which on a device sweeps its pairs: fewer are solved sooner.
_SWEPT = 200


def emd_pairwise(
    A: Any,
    B: Any = None,
    *,
    points: Any = None,
    cost: Any = None,
    graph: Any = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Any = None,
    assume_metric: bool = False,
    penalty: Any = None,
    accuracy: Union[str, float, None] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    missing: str = "warn",
    p: float = 1,
) -> Any:
    """Exact transport costs from all measures of `A` to all of `B`, or among those of `A`, in parallel.

    Parameters
    ----------
    A, B : array-like or sparse of shape (n_measures, n_points), list of dict, or Clouds
        One measure per row, or a list with one ``{node: mass}`` per measure; an AnnData object stands for its `X`. Column names are
        matched to the names of the points. Without `points`, `cost` and `graph`: `Clouds`, which bring their own points, or a
        list from which `Clouds` can be made: of (masses, points), or of arrays of points.
    points, cost, graph, weight, metric, period
        The ground metric, as for `emd`; here `cost` has to be symmetric, and `graph` undirected. In each component of a graph
        the two measures of a pair need the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality. Then shared mass can stay in place, which is faster.
    penalty : float or array-like of shape (n_points,), optional
        Totals may differ: each unit that is not moved costs this much, as for `emd`. An array has a price for each point; for
        clouds, one cloud after the other. `Clouds` may have penalties of their own, as those of `diagrams` do.
    accuracy : float or "exact", optional
        Return bounds instead of exact costs. They differ by at most this share of the upper bound, as for `emd`.
    time : float, optional
        Return bounds instead of exact costs, the best within this many seconds for all pairs together. Each pair gets an
        equal share of the time that is left when it begins, so time that one pair does not use goes to later pairs.
    device : str, optional
        "cuda" and so on: a GPU searches all pairs of points of large problems, as for `emd`.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What to do about points without a column, as for `Measures`.
    p : 1
        Costs are taken as they are; for another exponent see `emd`.

    Returns
    -------
    distances : ndarray of shape (n_a, n_b) or (n_a, n_a), or DataFrame if rows have IDs
        With `accuracy` or `time`: a `Bounds` of two such tables, without plans.

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
    if device is not None:
        check_for_device(cost is not None or graph is not None, metric, None, penalty, period)
    ground, both, n, m, penalty = _both_on_one_ground(
        A, B, points, cost, graph, metric, period, weight, assume_metric, missing, _penalty_of(penalty)
    )
    if B is None:
        left, right = np.triu_indices(n, 1)
    else:
        left, right = (place.ravel() for place in np.indices((n, m)))
        right = right + n
    pairs = np.stack([left, right], axis=1).astype(np.int64, copy=False)

    def table(found: Floats) -> Any:
        if B is not None:
            return framed(found.reshape(n, m), ids_of(A), ids_of(B))
        whole = np.zeros((n, n))
        whole[left, right] = whole[right, left] = found
        return framed(whole, ids_of(A), ids_of(A))

    with nodes_by_name(graph):
        found = _solved(ground, both, pairs, accuracy, time, threads_of(n_jobs), verbose, penalty, device)
    return Bounds(table(found.lower), table(found.upper)) if isinstance(found, Bounds) else table(found)


def _both_on_one_ground(
    A: Any,
    B: Any,
    points: Any,
    cost: Any,
    graph: Any,
    metric: str,
    period: Any,
    weight: Optional[str],
    assume_metric: bool,
    missing: str,
    penalty: _Prices,
) -> tuple[_Ground, _core.Measures, int, int, _Prices]:
    """The ground metric, the measures of A and then those of B, where there are any, how many of each, and penalties."""
    own = _clouds_of(A, B, (points, cost, graph), penalty is not None)
    if own is not None:
        left, right = own[0]._raw, None if own[1] is None else own[1]._raw
        _check_table(left, left if right is None else right)
        both = left if right is None else left.followed_by(right)
        penalty = _of_clouds(both, penalty, geometry(metric, period))
        if penalty is None:
            left.check_balanced(right)
        return _ground_of(both, metric, period), both.measures(), len(left), len(both) - len(left), penalty

    def check(rows: list[_core.Measures]) -> None:
        if penalty is None:
            _core.Model.check_balanced(rows[0], None if B is None else rows[1])

    sets = [A] if B is None else [A, B]
    ground, rows = _on_one_ground(sets, points, cost, graph, metric, period, weight, assume_metric, missing, penalty is not None, check)
    _check_table(rows[0], rows[-1])
    return ground, rows[0] if B is None else _stacked(rows), len(rows[0]), len(rows[-1]), penalty


def _check_table(left: Sized, right: Sized) -> None:
    _core.Model.check_table(40 * len(left) * len(right))  # the table, its pairs and their distances


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
    period: Any,
    weight: Optional[str],
    assume_metric: bool,
    missing: str,
    empty: bool,
    check: Callable[[list[_core.Measures]], None],
) -> tuple[Union[_core.Ground, _core.Graph], list[_core.Measures]]:
    """The ground metric and the measures of every set on it, which `check` has looked at before."""
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
    ground = ground_of(points, cost, graph, metric, weight, period)
    return ground.assume_metric() if assume_metric else ground, rows


def _clouds_of(measures: Any, others: Any, given: tuple[Any, ...], empty: bool) -> Optional[tuple[Clouds, Optional[Clouds]]]:
    """Two sets of clouds, the second of which may be none; `None` where they are measures on shared points."""
    sets = [measures] if others is None else [measures, others]
    if all(what is None for what in given) and all(are_clouds(one) for one in sets):
        left = _read(measures, "", empty)
        right = None if others is None else _read(others, "B: ", empty)
        if right is not None and right.dim != left.dim:
            raise ValueError(f"the points of A have {left.dim} coordinates, those of B {right.dim}; they have to live in one space")
        return left, right
    if not any(isinstance(one, Clouds) for one in sets):
        return None
    if any(what is not None for what in given):
        raise ValueError("Clouds bring their own points; leave out `points`, `cost` and `graph`")
    raise ValueError("one of A and B are Clouds, which bring their own points, and the other is not; give both as Clouds")


def _read(measures: Any, where: str, empty: bool) -> Clouds:
    """Clouds; errors say where they are."""
    try:
        if isinstance(measures, Clouds):
            return clouds_of(measures, empty)
        # Here lists of two are masses and points, as tuples are.
        return Clouds([tuple(one) if isinstance(one, list) else one for one in measures], empty=empty)
    except ValueError as error:
        raise (ValueError(f"{where}{error}") if where else error) from None
