"""Exact problems in batches, and the gradients of their values, in NumPy.

The value of a problem is the optimum of a linear program. Its gradient in the masses is therefore
the pair of potentials, and in penalties the mass that stays behind. At points without mass it is the one-sided derivative as mass arrives, which
no pair of potentials has on both sides. Its gradient in the costs is the plan, and its gradient in
the points follows from the plan by the chain rule. If optima are not unique, these are
subgradients. `treeport.torch` passes them to PyTorch; this module is tested without PyTorch."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
from scipy import sparse

from . import _core
from ._types import Floats, Integers

# Problems of at most this many pairs of points (`QUICK_ARCS` of the library) are solved with the
# interpreter lock held, so threads would wait for each other.
_QUICK_PAIRS = 1 << 12

# The relative difference of totals that the compiled half accepts.
_SAME_TOTALS = 1e-7

# Largest delay of Ctrl-C in seconds.
_TICK = 0.05

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Plans:
    """Plans of a batch: `mass[k]` goes from `source[k]` to `target[k]` in problem `problem[k]`."""

    problem: Integers
    source: Integers
    target: Integers
    mass: Floats


@dataclass(frozen=True)
class SolvedBatch:
    """The values of a batch of problems, and the plans and rates that gradients require."""

    values: Floats
    plans: Optional[Plans]
    rates: Optional[tuple[Floats, Floats]]
    # With masses to move: the penalties at which just they move.
    penalties: Floats


def solve_batch(
    a: Floats,
    b: Floats,
    costs: Callable[[int], Any],
    *,
    plans: bool,
    rates: bool,
    relaxed: Callable[[int], dict[str, Any]] = lambda _: {},
    threads: int = 0,
    where: Callable[[int], str] = "batch entry {}: ".format,
) -> SolvedBatch:
    """Solves all problems i, of masses ``a[i]`` and ``b[i]`` and ``costs(i)``, like `emd`.

    ``relaxed(i)`` has the `mass` or the `penalty` of a problem, if there is one. It uses `threads` threads (0: all processors). Errors begin with ``where(i)``."""
    stopped = threading.Event()

    def report(task: str, done: int, total: int) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt

    wanted = "rates" if rates else "plan" if plans else "value"

    def solve(problem: int) -> _core.Answer:
        try:
            return _core.solve(
                a[problem],
                b[problem],
                costs(problem),
                wanted=wanted,
                report=report,
                **relaxed(problem),
            )
        except ValueError as error:
            raise ValueError(f"{where(problem)}{error}") from None

    values = np.empty(len(a))
    moves: list[Any] = []
    slopes = (np.empty(a.shape), np.empty(b.shape)) if rates else None
    penalties = np.zeros(len(a))
    few = a.shape[1] * b.shape[1] <= _QUICK_PAIRS
    for problem, found in enumerate(_in_order(solve, len(a), 1 if few else threads, stopped)):
        values[problem], penalties[problem] = found.upper, found.penalty or 0.0
        if plans:
            moves.append(found.moves)
        if slopes is not None and found.rates is not None:
            slopes[0][problem], slopes[1][problem] = found.rates
    return SolvedBatch(values, _joined(moves) if plans else None, slopes, penalties)


def _in_order(
    solve: Callable[[int], Any], count: int, threads: int, stopped: threading.Event
) -> Iterator[Any]:
    """Yields the results of all problems in order; the first error cancels all other problems."""
    threads = min(threads or os.cpu_count() or 1, count)
    if threads <= 1:
        yield from map(solve, range(count))
        return
    with ThreadPoolExecutor(threads) as pool:
        try:
            waiting = deque(pool.submit(solve, problem) for problem in range(count))
            while waiting:
                # In short steps, because Ctrl-C does not interrupt every wait.
                while not waiting[0].done():
                    wait([waiting[0]], timeout=_TICK)
                yield waiting.popleft().result()
        except BaseException:  # including Ctrl-C, which only the main thread receives
            # First, or stopped threads would start other problems.
            pool.shutdown(wait=False, cancel_futures=True)
            stopped.set()
            raise


def _joined(moves: list[Any]) -> Plans:
    """Concatenates plans."""
    sizes = [len(mass) for _, _, mass in moves]

    def all_of(part: int, kind: Any) -> Any:
        return np.concatenate([np.empty(0, kind), *(entries[part] for entries in moves)]).astype(
            kind, copy=False
        )

    problem = np.repeat(np.arange(len(moves), dtype=np.int64), sizes)
    return Plans(problem, all_of(0, np.int64), all_of(1, np.int64), all_of(2, np.float64))


def with_equal_totals(a: Floats, b: Floats, share: float) -> Floats:
    """Scales rows of `b` to the totals of `a` if the relative difference is at most `share`."""
    left, right = a.sum(axis=1), b.sum(axis=1)
    off = np.abs(left - right)
    rounded = (off > _SAME_TOTALS * left) & (off <= share * left) & (right > 0)
    if not rounded.any():
        return b
    factors = np.ones(len(b))
    factors[rounded] = left[rounded] / right[rounded]
    return b * factors[:, np.newaxis]


def in_masses(rates: Floats) -> Floats:
    """Computes the gradient in the masses: rates minus their mean, row by row.

    Rates are defined up to a constant, because totals are equal. Minus their mean they sum to 0, so
    a step along them keeps the total. This is the projection to the directions in which the value
    is defined."""
    known = np.isfinite(rates)  # no finite cost leads to other points, and their gradient is 0
    means = np.where(known, rates, 0.0).sum(axis=1, keepdims=True) / known.sum(
        axis=1, keepdims=True
    )
    return np.where(known, rates - means, 0.0)  # type: ignore[no-any-return]


def in_penalties(plans: Plans, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Computes the gradients in the penalties of all points: the mass that stays behind."""

    def rest(masses: Floats, ends: Integers) -> Floats:
        cells = plans.problem * masses.shape[1] + ends
        moved: Any = np.bincount(cells, weights=plans.mass, minlength=masses.size)
        return masses - moved.reshape(masses.shape)  # type: ignore[no-any-return]

    return rest(a, plans.source), rest(b, plans.target)


def in_costs(plans: Plans, factors: Floats, matrix: Integers, shape: Shape) -> Floats:
    """Computes the gradient in the cost matrices: the plans times the factors of their problems.

    ``matrix[i]`` is the number of the matrix of problem i, within an array of shape (..., n, m).
    Plans of problems that share a matrix are summed."""
    n, m = shape[-2:]
    cells = (matrix[plans.problem] * n + plans.source) * m + plans.target
    total: Any = np.bincount(
        cells, weights=plans.mass * factors[plans.problem], minlength=int(np.prod(shape))
    )
    return total.reshape(shape)  # type: ignore[no-any-return]


def in_points(
    plans: Plans,
    x: Floats,
    y: Floats,
    metric: str,
    period: Any = None,
    left: bool = True,
    right: bool = True,
) -> tuple[Optional[Floats], Optional[Floats]]:
    """Computes the gradients in the points, of shapes (count, n, d) and (count, m, d).

    They are sums over moves of mass times the gradient of the cost. A side that is not requested
    (`left`, `right`) is `None`."""
    slopes = slopes_of(
        x[plans.problem, plans.source], y[plans.problem, plans.target], metric, period
    )
    sides = zip((left, right), (plans.source, plans.target), (x.shape, y.shape), slopes)
    found = [
        _added(plans, ends, shape, rows) if wanted else None for wanted, ends, shape, rows in sides
    ]
    return found[0], found[1]


def _added(plans: Plans, ends: Integers, shape: Shape, rows: Floats) -> Floats:
    """Sums mass times row over the moves that end at each point, in the order of the moves."""
    count, points, dims = shape
    moves = np.arange(len(ends))
    matrix = sparse.csr_array(
        (plans.mass, (plans.problem * points + ends, moves)), shape=(count * points, len(ends))
    )
    return (matrix @ rows).reshape(count, points, dims)  # type: ignore[no-any-return]


def slopes_of(x: Floats, y: Floats, metric: str, period: Any = None) -> tuple[Floats, Floats]:
    """Computes the gradients of the costs from row k of `x` to row k of `y`, in `x` and in `y`.

    `metric` is the name in the compiled half. At kinks of the cost the result is a subgradient: 0
    at equal points, and along equal coordinates for "manhattan"; for "chebyshev" the one of the
    first largest difference; at half a period, one of the two directions."""
    if metric == "cosine":
        return _cosine_slopes(x, y)
    try:
        slope = _SLOPES[metric]
    except KeyError:
        known = ", ".join(f'"{name}"' for name in (*_SLOPES, "cosine"))
        raise ValueError(
            f'metric="{metric}" has no gradient in the points here, {known} have; detach the points, or give a cost matrix '
            "that depends on them"
        ) from None
    rows = slope(_shorter_way(x - y, period))
    return rows, -rows


def check_slopes(metric: str) -> None:
    """Raises an error for a metric without gradients in the points."""
    slopes_of(np.ones((1, 2)), np.ones((1, 2)), metric)


def _shorter_way(differences: Floats, period: Any) -> Floats:
    """Reduces differences of periodic coordinates to the shorter way; `None` means no period."""
    if period is None:
        return differences
    periods = np.broadcast_to(
        np.array(period, dtype=np.float64), differences.shape[1:]
    )  # None becomes NaN
    rounds = np.where(np.isnan(periods), 0.0, periods)
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = np.where(rounds > 0, np.round(differences / rounds), 0.0)
    return differences - turns * rounds  # type: ignore[no-any-return]


def _euclidean_slope(differences: Floats) -> Floats:
    """Normalizes differences to length 1; zero rows stay 0."""
    # Division by the largest entry first avoids overflow of squares.
    largest = np.abs(differences).max(axis=1, keepdims=True, initial=0.0)
    differences = differences / np.where(largest > 0, largest, 1.0)
    length = np.sqrt((differences**2).sum(axis=1, keepdims=True))
    return differences / np.where(length > 0, length, 1.0)  # type: ignore[no-any-return]


def _chebyshev_slope(differences: Floats) -> Floats:
    """Returns the sign of the first largest difference at its coordinate, and 0 elsewhere."""
    rows = np.zeros_like(differences)
    largest = np.abs(differences).argmax(axis=1)[:, np.newaxis]
    np.put_along_axis(
        rows, largest, np.sign(np.take_along_axis(differences, largest, axis=1)), axis=1
    )
    return rows


def _cosine_slopes(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Computes the gradients of 1 - x·y/(|x||y|) in `x` and in `y`.

    Each is minus the component of one unit vector orthogonal to the other, over the length of that."""
    of_x, length_x = _unit(x)
    of_y, length_y = _unit(y)
    cosine = (of_x * of_y).sum(axis=1, keepdims=True)
    return (cosine * of_x - of_y) / length_x, (cosine * of_y - of_x) / length_y


def _unit(rows: Floats) -> tuple[Floats, Floats]:
    """Returns normalized rows and their lengths."""
    unit = _euclidean_slope(rows)
    return unit, (rows * unit).sum(axis=1, keepdims=True)


_SLOPES: dict[str, Callable[[Floats], Floats]] = {
    "euclidean": _euclidean_slope,
    "sqeuclidean": lambda differences: 2 * differences,
    "manhattan": np.sign,
    "chebyshev": _chebyshev_slope,
}
