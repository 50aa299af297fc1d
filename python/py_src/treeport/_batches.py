"""Exact transport for many pairs of measures, listed or all."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, Callable, Optional, Union

import numpy as np
from scipy import sparse

from . import _core
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
from ._options import with_solve_options
from ._penalties import penalty_of
from ._progress import bar
from ._results import framed
from ._solution import Bounds

_INT64 = np.dtype(np.int64)
_Prices = Union[None, float, Floats]
_Ground = Union[None, _core.Ground, _core.Graph]


@with_solve_options("penalty", "accuracy", "time", "device", many=True)
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
        The ground metric, as for `solve`; here `cost` has to be symmetric, and `graph` undirected. In each component of a graph
        the two measures of a pair need the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality. Then shared mass can stay in place, which is faster.
    {options}
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What to do about points without a column, as for `Measures`.

    Returns
    -------
    distances : ndarray of shape (n_pairs,)
        With `accuracy` or `time`: a `Bounds` of two such arrays instead, without plans.

    Examples
    --------
    >>> import treeport as tp
    >>> measures = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]
    >>> tp.emd_pairs(measures, [(0, 1), (0, 2)], points=[[0.0], [1.0], [5.0]])
    array([1., 3.])
    >>> tp.emd_pairs([([1.0], [[0.0]]), ([0.5, 0.5], [[1.0], [3.0]])], [(0, 1)])
    array([2.])
    """
    if device is not None:
        check_for_device(cost is not None or graph is not None, metric, None, penalty, period)
    threads = threads_of(n_jobs)
    penalty = _penalty_of(penalty)
    plain = device is None and is_plain(measures, 2) and is_plain(points, 2) and is_plain(pairs, 2, _INT64)
    if plain and cost is graph is accuracy is time is None and not (assume_metric or verbose):
        return _core.emd_pairs((points, geometry(metric, period)), measures, pairs, threads, penalty=penalty)[1]
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
    """Parses one penalty, or one for each point."""
    if isinstance(penalty, tuple):
        penalty = list(penalty)
    found = penalty_of(penalty)
    assert not isinstance(found, tuple)
    return found


def _of_clouds(clouds: _core.Clouds, penalty: _Prices, geometry: Any) -> _Prices:
    """Returns the penalties of clouds, their own or those given."""
    own = clouds.penalties(geometry)
    if own is not None and penalty is not None:
        raise ValueError("these clouds have penalties of their own; leave `penalty` out, or give clouds without")
    return penalty if own is None else own


def _ground_of(clouds: _core.Clouds, metric: str, period: Any) -> Optional[_core.Ground]:
    """Returns the ground metric of all points; `None` if all clouds are empty."""
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
    """Computes exact costs of pairs, or bounds with `accuracy` or `time`."""
    if ground is None:
        nothing = np.zeros(len(pairs))
        return nothing if accuracy is time is None else Bounds(nothing, nothing)
    with bar("exact distances", verbose) as report:
        engine = None
        if device is not None:
            check_for_device(False, "", None, penalty, None)  # clouds may have penalties of their own
            engine = engine_of(device)
        with memory_errors("points", str(device), "points"):
            lower, upper = _core.emd_pairs(
                ground, rows, pairs, threads, accuracy=accuracy, seconds=time, penalty=penalty, device=engine, report=report
            )
        return upper if accuracy is time is None else Bounds(lower, upper)


@with_solve_options("penalty", "accuracy", "time", "device", many=True)
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
) -> Any:
    """Exact transport costs from all measures of `A` to all of `B`, or among those of `A`, in parallel.

    Parameters
    ----------
    A, B : array-like or sparse of shape (n_measures, n_points), list of dict, or Clouds
        One measure per row, or a list with one ``{node: mass}`` per measure; an AnnData object stands for its `X`. Column names are
        matched to the names of the points. Without `points`, `cost` and `graph`: `Clouds`, which bring their own points, or a
        list from which `Clouds` can be made: of (masses, points), or of arrays of points.
    points, cost, graph, weight, metric, period
        The ground metric, as for `solve`; here `cost` has to be symmetric, and `graph` undirected. In each component of a graph
        the two measures of a pair need the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality. Then shared mass can stay in place, which is faster.
    {options}
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What to do about points without a column, as for `Measures`.

    Returns
    -------
    distances : ndarray of shape (n_a, n_b) or (n_a, n_a), or DataFrame if rows have IDs
        With `accuracy` or `time`: a `Bounds` of two such tables instead, without plans.

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
    """Returns the ground metric, the measures of A, then of B, both counts, and penalties."""
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
    _core.Model.check_table(40 * len(left) * len(right))  # bytes of the table, pairs and distances


def _stacked(sets: Sequence[_core.Measures]) -> _core.Measures:
    """Concatenates the rows of two sets."""
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
    """Returns the ground metric and the measures of every set on it, validated by `check`."""
    for one in sets:
        refuse_events(one)
    one_of(points, cost, graph)
    names = names_of_ground(points, cost, graph)
    if names is None and len(sets) == 2:
        check_same_columns(*sets)
    plain = [unmapped(one, lambda: places_of_ground(points, cost, graph)) for one in sets]
    # Measures are validated before the metric is built, which may take long.
    rows = [measures_of(one, names=names, missing=missing, empty=empty) for one in plain]
    check(rows)
    if graph is not None:
        return graph_of(graph, weight), rows
    ground = ground_of(points, cost, graph, metric, weight, period)
    return ground.assume_metric() if assume_metric else ground, rows


def _clouds_of(measures: Any, others: Any, given: tuple[Any, ...], empty: bool) -> Optional[tuple[Clouds, Optional[Clouds]]]:
    """Parses two sets of clouds, the second optional; `None` for measures on shared points."""
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
    """Parses clouds, and adds `where` to errors."""
    try:
        if isinstance(measures, Clouds):
            return clouds_of(measures, empty)
        # A list of two elements means (masses, points), like a tuple.
        return Clouds([tuple(one) if isinstance(one, list) else one for one in measures], empty=empty)
    except ValueError as error:
        raise (ValueError(f"{where}{error}") if where else error) from None
