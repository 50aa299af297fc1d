"""Exact transport for many pairs of measures, listed or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, NamedTuple, Optional, Union

import numpy as np
from scipy import sparse

from . import _core
from ._clouds import Clouds, are_clouds, clouds_of, with_ids
from ._devices import check_for_device, engine_on, memory_errors
from ._devices.scans import ScanEngine
from ._ground import (
    GroundInput,
    geometry,
    graph_of,
    ground_of,
    names_of_ground,
    nodes_by_name,
    one_of,
    places_of_ground,
)
from ._inputs import (
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
from ._statistics.sampling_noise import CorrectedDistances, corrected
from ._types import (
    Accuracy,
    AnyMeasures,
    ArrayLike,
    Distances,
    Floats,
    GraphLike,
    Integers,
    PenaltyLike,
    Period,
)

_INT64 = np.dtype(np.int64)
_Prices = Union[None, float, Floats]


@with_solve_options("penalty", "order", "accuracy", "time", "device", many=True)
def emd_pairs(
    measures: AnyMeasures,
    pairs: ArrayLike,
    *,
    points: Optional[ArrayLike] = None,
    cost: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    assume_metric: bool = False,
    penalty: Optional[PenaltyLike] = None,
    order: float = 1.0,
    accuracy: Optional[Accuracy] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    correct: Optional[str] = None,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    missing: str = "warn",
) -> Distances:
    """Computes exact transport costs of many pairs of measures, in parallel.

    Parameters
    ----------
    measures : array-like or sparse of shape (n_measures, n_points), list of dict, or Clouds
        One measure per row, or a list with one ``{node: mass}`` per measure; an AnnData object
        stands for its `X`. Column names are matched to the names of the points. Without `points`,
        `cost` and `graph`: `Clouds`, which bring their own points, or a list from which `Clouds`
        can be made: of (masses, points), or of arrays of points.
    pairs : array-like of int or str of shape (n_pairs, 2)
        The rows to compare: their numbers, or their IDs if they have any.
    points, cost, graph, weight, metric, period
        The ground metric, as for `solve`; here `cost` has to be symmetric, and `graph` undirected.
        In each component of a graph the two measures of a pair need the same mass.
    assume_metric : bool
        Promise that `cost` obeys the triangle inequality. Then shared mass can stay in place, which
        is faster.
    {options}
    correct : {"sampling"}, optional
        Subtract what sampling alone adds to the distances of Clouds, by random splits of them: a
        `CorrectedDistances`, about six times the work.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.
    missing : {"warn", "error"}
        What to do about points without a column, as for `Measures`.

    Returns
    -------
    distances : ndarray of shape (n_pairs,)
        With `accuracy` or `time`: a `Bounds` of two such arrays instead, without plans; with
        `correct`: a `CorrectedDistances` of five.

    Examples
    --------
    >>> import treeport as tp
    >>> measures = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]
    >>> tp.emd_pairs(measures, [(0, 1), (0, 2)], points=[[0.0], [1.0], [5.0]])
    array([1., 3.])
    >>> tp.emd_pairs([([1.0], [[0.0]]), ([0.5, 0.5], [[1.0], [3.0]])], [(0, 1)])
    array([2.])
    """
    given = GroundInput(points, cost, graph, metric, weight, period)
    prices = _prices_of(penalty, given, device)
    threads = threads_of(n_jobs)
    if is_plain(measures) and is_plain(points) and is_plain(pairs, 2, _INT64):
        plain = all(one is None for one in (cost, graph, accuracy, time, device, correct))
        if plain and not (assume_metric or verbose):
            ground = points, geometry(metric, period)
            return _core.emd_pairs(ground, measures, pairs, threads, penalty=prices, order=order)[1]
    measures = with_ids(measures, prices is not None)
    numbers = pairs_of(pairs, ids_of(measures))

    def check(rows: list[Any], balanced: bool) -> None:
        if balanced:
            rows[0].check_pairs(numbers)

    posed = _posed([measures], given, assume_metric, missing, prices, check)
    if correct is not None:
        _check_correction(correct, posed, order, accuracy, time, device)
        return _corrected(posed, numbers, threads, verbose)
    return _solved(posed, numbers, order, accuracy, time, threads, verbose, device)


def _prices_of(penalty: Any, given: GroundInput, device: Optional[str]) -> _Prices:
    """Parses one penalty, or one for each point; raises an error if a device cannot help."""
    if device is not None:
        has_costs = given.cost is not None or given.graph is not None
        check_for_device(has_costs, given.metric, None, penalty, given.period)
    if isinstance(penalty, tuple):
        penalty = list(penalty)
    found = penalty_of(penalty)
    assert not isinstance(found, tuple)
    return found


def _of_clouds(clouds: _core.Clouds, penalty: _Prices, geometry: Any) -> _Prices:
    """Returns the penalties of clouds, their own or those given."""
    own = clouds.penalties(geometry)
    if own is not None and penalty is not None:
        raise ValueError(
            "these clouds have penalties of their own; leave `penalty` out, or give clouds without"
        )
    return penalty if own is None else own


class _Posed(NamedTuple):
    """The measures of one or two sets on one ground metric, which is `None` without any points."""

    ground: Union[_core.Ground, _core.Graph, None]
    measures: _core.Measures
    sizes: list[int]
    penalty: _Prices
    graph: Any
    clouds: Optional[_core.Clouds] = None
    dim: Optional[int] = None  # of clouds


def _check_correction(
    correct: str,
    posed: _Posed,
    order: float,
    accuracy: Optional[Accuracy],
    time: Optional[float],
    device: Optional[str],
) -> None:
    """Raises an error for a correction that is unknown or that does not apply."""
    if correct != "sampling":
        raise ValueError(f'correct is {correct!r}; it must be "sampling" or None')
    if posed.dim is None:
        raise ValueError(
            'correct="sampling" splits the points of Clouds; rows of masses on shared points have no samples to split, '
            "so give `Clouds([(masses, points), …])`"
        )
    relaxed = accuracy is not None or time is not None or posed.penalty is not None
    if relaxed or device is not None or order != 1 or posed.clouds is not None:
        raise ValueError(
            'correct="sampling" corrects exact distances of order 1 between equal totals of finite points; leave out accuracy, time, penalty, order and device'
        )


def _corrected(posed: _Posed, pairs: Integers, threads: int, verbose: bool) -> CorrectedDistances:
    """Computes exact costs of pairs of clouds, without the part that sampling causes."""
    if posed.dim is None or not isinstance(posed.ground, _core.Ground):  # no points
        return CorrectedDistances(*np.zeros((5, len(pairs))))
    with bar("corrected distances", verbose) as report:
        return corrected(posed.ground, posed.measures, pairs, posed.dim, threads, report)


def _solved(
    posed: _Posed,
    pairs: Integers,
    order: float,
    accuracy: Optional[Accuracy],
    time: Optional[float],
    threads: int,
    verbose: bool,
    device: Optional[str],
) -> Union[Floats, Bounds]:
    """Computes exact costs of pairs, or bounds with `accuracy` or `time`."""
    exact = accuracy is time is None

    def whole(found: Floats) -> Floats:
        return found if posed.clouds is None else posed.clouds.with_essential(pairs, order, found)

    if posed.ground is None:
        nothing = whole(np.zeros(len(pairs)))
        return nothing if exact else Bounds(nothing, nothing)
    engine = None
    if device is not None:
        check_for_device(False, "", None, posed.penalty, None)  # clouds may have their own
        if order != 1:
            raise ValueError(f"order is {order}; `device` computes order 1 alone, so leave it out")
        engine = engine_on(device, ScanEngine)
    progress = bar("exact distances", verbose)
    with nodes_by_name(posed.graph), progress as report, memory_errors("points", device, "points"):
        lower, upper = _core.emd_pairs(
            posed.ground,
            posed.measures,
            pairs,
            threads,
            accuracy=accuracy,
            seconds=time,
            penalty=posed.penalty,
            order=order,
            device=engine,
            report=report,
        )
    if exact:
        return whole(upper)
    assert lower is not None
    return Bounds(whole(lower), whole(upper))


@with_solve_options("penalty", "order", "accuracy", "time", "device", many=True)
def emd_pairwise(
    A: AnyMeasures,
    B: Optional[AnyMeasures] = None,
    *,
    points: Optional[ArrayLike] = None,
    cost: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    assume_metric: bool = False,
    penalty: Optional[PenaltyLike] = None,
    order: float = 1.0,
    accuracy: Optional[Accuracy] = None,
    time: Optional[float] = None,
    device: Optional[str] = None,
    correct: Optional[str] = None,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
    missing: str = "warn",
) -> Distances:
    """Computes exact transport costs of all measures of `A` to all of `B`, or of `A`.

    Parameters
    ----------
    A, B : array-like or sparse of shape (n_measures, n_points), list of dict, or Clouds
        As `measures` of `emd_pairs`.
    points, cost, graph, weight, metric, period, assume_metric
        As for `emd_pairs`.
    {options}
    correct, n_jobs, verbose, missing
        As for `emd_pairs`.

    Returns
    -------
    distances : ndarray of shape (n_a, n_b) or (n_a, n_a), or DataFrame if rows have IDs
        With `accuracy` or `time`: a `Bounds` of two such tables instead, without plans; with
        `correct`: a `CorrectedDistances` of five.

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
    given = GroundInput(points, cost, graph, metric, weight, period)
    A, B = (with_ids(one, penalty is not None) for one in (A, B))
    sets = [A] if B is None else [A, B]

    def check(rows: list[Any], balanced: bool) -> None:
        left, right = rows[0], None if B is None else rows[1]
        # Bytes of the table, the pairs and the distances.
        _core.Model.check_table(40 * len(left) * len(rows[-1]))
        if balanced and isinstance(left, _core.Clouds):
            left.check_balanced(right)
        elif balanced:
            _core.Model.check_balanced(left, right)

    prices = _prices_of(penalty, given, device)
    posed = _posed(sets, given, assume_metric, missing, prices, check)
    n, m = posed.sizes[0], posed.sizes[-1]
    if B is None:
        left, right = np.triu_indices(n, 1)
    else:
        left, right = (place.ravel() for place in np.indices((n, m)))
        right = right + n
    pairs = np.stack([left, right], axis=1).astype(np.int64, copy=False)

    def table(found: Floats) -> Distances:
        if B is not None:
            return framed(found.reshape(n, m), ids_of(A), ids_of(B))
        whole = np.zeros((n, n))
        whole[left, right] = whole[right, left] = found
        return framed(whole, ids_of(A), ids_of(A))

    threads = threads_of(n_jobs)
    if correct is not None:
        _check_correction(correct, posed, order, accuracy, time, device)
        return _corrected(posed, pairs, threads, verbose).each(table)
    found = _solved(posed, pairs, order, accuracy, time, threads, verbose, device)
    if isinstance(found, Bounds):
        return Bounds(table(found.lower), table(found.upper))
    return table(found)


def _posed(
    sets: list[Any],
    given: GroundInput,
    assume_metric: bool,
    missing: str,
    penalty: _Prices,
    check: Callable[[list[Any], bool], None],
) -> _Posed:
    """Parses one or two sets of measures; `check` validates them, and balance without a penalty."""
    ground: Union[_core.Ground, _core.Graph, None]
    clouds = _clouds_of(sets, given.sources, penalty is not None)
    if clouds is not None:
        raws = [one._raw for one in clouds]
        metric = geometry(given.metric, given.period)
        check(raws, False)
        both = raws[0] if len(raws) == 1 else raws[0].followed_by(raws[1])
        prices = _of_clouds(both, penalty, metric)
        check(raws, prices is None)
        ground = both.ground(metric) if both.points else None
        sizes = [len(raw) for raw in raws]
        essential = both if both.births() is not None else None
        return _Posed(ground, both.measures(), sizes, prices, None, essential, both.dim)
    for one in sets:
        refuse_events(one)
    one_of(*given.sources)
    names = names_of_ground(*given.sources)
    if names is None and len(sets) == 2:
        check_same_columns(*sets)
    plain = [unmapped(one, lambda: places_of_ground(*given.sources)) for one in sets]
    empty = penalty is not None
    # Measures are validated before the metric is built, which may take long.
    rows = [measures_of(one, names=names, missing=missing, empty=empty) for one in plain]
    check(rows, penalty is None)
    if given.graph is not None:
        ground = graph_of(given.graph, given.weight)
    else:
        ground = ground_of(*given)
        ground = ground.assume_metric() if assume_metric else ground
    both_rows = rows[0] if len(rows) == 1 else _stacked(rows)
    return _Posed(ground, both_rows, [len(one) for one in rows], penalty, given.graph)


def _stacked(sets: Sequence[_core.Measures]) -> _core.Measures:
    """Concatenates the rows of two sets."""
    parts = []
    for one in sets:
        start, columns, masses, points = one.compressed()
        parts.append(sparse.csr_array((masses, columns, start), shape=(len(one), points)))
    if parts[0].shape[1] != parts[-1].shape[1]:
        raise ValueError(f"A lives on {parts[0].shape[1]} points, B on {parts[-1].shape[1]}")
    return measures_of(sparse.vstack(parts, format="csr"), empty=True)


def _clouds_of(sets: list[Any], given: tuple[Any, ...], empty: bool) -> Optional[list[Clouds]]:
    """Parses one or two sets of clouds; `None` for measures on shared points."""
    if all(what is None for what in given) and all(are_clouds(one) for one in sets):
        found = [_read(one, "B: " if at else "", empty) for at, one in enumerate(sets)]
        if found[-1].dim != found[0].dim:
            raise ValueError(
                f"the points of A have {found[0].dim} coordinates, those of B {found[-1].dim}; the numbers have to be equal"
            )
        return found
    if not any(isinstance(one, Clouds) for one in sets):
        return None
    if any(what is not None for what in given):
        raise ValueError("Clouds bring their own points; leave out `points`, `cost` and `graph`")
    raise ValueError(
        "one of A and B are Clouds, which bring their own points, and the other is not; give both as Clouds"
    )


def _read(measures: Any, where: str, empty: bool) -> Clouds:
    """Parses clouds, and adds `where` to errors."""
    try:
        if isinstance(measures, Clouds):
            return clouds_of(measures, empty)
        # A list of two elements means (masses, points), like a tuple.
        return Clouds(
            [tuple(one) if isinstance(one, list) else one for one in measures], empty=empty
        )
    except ValueError as error:
        raise (ValueError(f"{where}{error}") if where else error) from None
