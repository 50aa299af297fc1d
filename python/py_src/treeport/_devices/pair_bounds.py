"""Batched lower bounds of transport distances between small measures, for searches on a GPU.

Measures of a collection share their points, so the cost matrix from the points of a batch of
queries to those of the collection is computed once, on the device. Each pair is then one small
transport problem. Its costs are gathered from the matrix. Where costs satisfy the triangle
inequality, mass that both measures have at the same point is subtracted. Sinkhorn iterations with
decreasing ε compute dual values, and c-transforms make them feasible: ``v_j = min_i c_ij - u_i``,
``u_i = min_j c_ij - v_j``. The dual objective is the lower bound.

Rounding: costs have an error of at most `lost` (`metric::kernels::formulas` of the compiled half).
Errors of the iterations do not matter: for any u, the final c-transforms make ``u_i + v_j`` at most
the computed cost, up to one rounding of a dual value (`solve::single_problem`). Subtracting `lost`
and the `slack` of the largest dual values keeps every bound at most the distance, as long as
distances are normal floating-point numbers.

Cost for q points of queries, p points of the collection with d coordinates, and pairs of n by m
points: q p d steps and q p numbers in memory, then n m steps per pair and iteration, in registers.
At every ε the plan is computed once from the current duals, and the iterations only scale it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _core
from . import engine_on, memory_errors
from .scans import cost_table

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Each ε as a multiple of the typical cost, and its number of Sinkhorn iterations.
SCHEDULE = ((0.1, 3), (0.05, 3), (0.025, 5), (0.0125, 6))
#: The largest support of a measure that the device supports: a pair has to fit in registers.
MOST_POINTS = 256
#: Queries per batch, initially and at most. The host solves one batch while the device bounds the
#: next.
_AT_FIRST, _AT_ONCE = 64, 1024
#: The largest number of candidate pairs that are listed at the same time.
_MOST_LIKELY = 1 << 23
#: The largest number of entries of the cost matrix: 1 GiB.
_MOST_COSTS = 1 << 28
#: Candidates per query: `_LIKELY`, or `_LIKELY_EACH` per neighbor if that is more. The device
#: always bounds the first `_FIRST`, or `_FIRST_EACH` per neighbor.
_LIKELY, _LIKELY_EACH, _FIRST, _FIRST_EACH = 512, 16, 32, 4
#: The k-th smallest bound times this estimates the distance of the k-th neighbor, as in the
#: compiled half.
_BEYOND = 1.01


@dataclass(frozen=True)
class MeasureRows:
    """Measures in compressed sparse row format, normalized, with their original totals.

    Measures with more than `MOST_POINTS` points are left empty."""

    start: Integers
    places: Integers
    masses: Floats
    totals: Floats

    @staticmethod
    def of(measures: _core.Measures) -> MeasureRows:
        """Converts measures of the compiled half."""
        start, places, masses, _ = measures.compressed()
        start = np.asarray(start, np.int64)
        sizes = np.diff(start)
        totals = np.add.reduceat(masses, start[:-1]) if len(masses) else np.zeros(len(sizes))
        kept = np.where(sizes <= MOST_POINTS, sizes, 0)
        here = np.repeat(kept > 0, sizes)
        shares = masses[here] / np.repeat(totals, kept)
        return MeasureRows(
            np.concatenate([[0], np.cumsum(kept)]),
            np.asarray(places, np.int64)[here],
            shares,
            totals,
        )

    def some(self, first: int, last: int) -> MeasureRows:
        """Returns the measures `first` to `last`, exclusive."""
        here = slice(self.start[first], self.start[last])
        start = self.start[first : last + 1] - self.start[first]
        return MeasureRows(start, self.places[here], self.masses[here], self.totals[first:last])


class PairBoundEngine:
    """Reference implementation in NumPy, against which the GPU's is tested."""

    table: Any

    def lay_out(self, points: Any, formula: str, triangles: bool, lost: float) -> None:
        """Sets the points of the measures, the cost formula and its rounding error."""
        self.points, self.formula, self.triangles, self.lost = points, formula, triangles, lost

    def keep(self, rows: MeasureRows) -> Any:
        """Stores the measures of the collection on the device."""
        return rows

    def begin(self, queries: MeasureRows, rows: Any) -> None:
        """Computes the costs from the points of the given queries to those of the collection."""
        self.queries, self.rows = queries, rows
        used, self.columns = np.unique(rows.places, return_inverse=True)
        asked, self.lines = np.unique(queries.places, return_inverse=True)
        self.table = cost_table(self.formula, self.points[asked], self.points[used])
        self.stages = stages_of(some_costs(self.table).mean())

    def bounds(self, queries: Integers, rows: Integers) -> Floats:
        """Computes lower bounds for pairs of a query and a measure of the collection."""
        return np.array([self._bound(query, row) for query, row in zip(queries, rows)])

    def _bound(self, query: int, row: int) -> float:
        there = slice(self.queries.start[query], self.queries.start[query + 1])
        here = slice(self.rows.start[row], self.rows.start[row + 1])
        cost = self.table[self.lines[there]][:, self.columns[here]].T
        a, b = self.rows.masses[here].copy(), self.queries.masses[there].copy()
        if self.triangles:
            same = self.rows.places[here][:, None] == self.queries.places[there]
            both = np.where(same, np.minimum(a[:, None], b), 0.0)
            a, b = a - both.sum(axis=1), b - both.sum(axis=0)
        cost, a, b = cost[a > 0][:, b > 0], a[a > 0], b[b > 0]
        if not len(a) or not len(b):
            return 0.0
        # Feasible initial duals, tight in at least one pair for every point, so that no sum on a
        # device underflows to 0.
        u = cost.min(axis=1)
        v = (cost - u[:, None]).min(axis=0)
        u = (cost - v).min(axis=1)
        for epsilon, sweeps in self.stages:
            for _ in range(sweeps):
                u = -epsilon * _log_sum((v - cost) / epsilon + np.log(b), 1)
                v = (
                    -epsilon * _log_sum((u[:, None] - cost) / epsilon + np.log(a)[:, None], 0)
                ).astype(np.float32)
        u = (cost - v).min(axis=1)
        v = (cost - u[:, None]).min(axis=0)
        worth = float(a @ u.astype(float) + b @ v.astype(float))
        return worth - self.lost - float(slack(np.abs(u).max(), np.abs(v).max()))


def slack(u: Any, v: Any) -> Any:
    """Returns the largest rounding error of a bound, from the largest dual value of either side."""
    return _core.LOST_BY_DUALS * (u + v)


def some_costs(table: Any) -> Any:
    """Returns a regular sample of the cost matrix."""
    rows, columns = (max(1, size // 64) for size in table.shape)
    return table[::rows, ::columns]


def stages_of(typical: Any) -> list[tuple[float, int]]:
    """Returns each ε and its number of iterations."""
    return [(blur * max(float(typical), 1e-6), sweeps) for blur, sweeps in SCHEDULE]


def _log_sum(exponents: Any, axis: int) -> Any:
    most = exponents.max(axis=axis, keepdims=True)
    return (most + np.log(np.exp(exponents - most).sum(axis=axis, keepdims=True))).squeeze(axis)


class DeviceSearch:
    """Neighbor search in which a device bounds candidates and the compiled half solves pairs."""

    def __init__(self, index: _core.Index, device: str) -> None:
        self.index, self.device, self.state = index, device, _state_of(index)
        self.turn = Lock()  # the engine runs one search at a time
        found = None if index.is_of_clouds else index.ground.device_points()
        if found is None:
            raise ValueError(
                "a search with a device is for measures on shared points with the metrics euclidean, sqeuclidean, manhattan and "
                "chebyshev, without a period and with coordinates whose squares are numbers; leave out `device`"
            )
        self.engine = engine_on(device, PairBoundEngine)
        self.numbers, measures = index.layout()
        with self._memory():
            formula, coordinates, self.unit_cost, lost, stays_put = found
            self.engine.lay_out(coordinates, formula, stays_put, lost)
            self.rows = MeasureRows.of(measures)
            self.sizes = np.diff(self.rows.start)
            self.kept = self.engine.keep(self.rows)
            self.used = len(np.unique(self.rows.places))

    def search(
        self,
        queries: Any,
        k: int,
        radius: Optional[float],
        accuracy: Any,
        threads: int,
        report: Any,
    ) -> _core._Found:
        """Answers k-nearest-neighbor or range queries, like `nearest` and `radius` of the index."""
        asked = self._own() if queries is None else MeasureRows.of(queries)
        rows, count = len(asked.totals), max(_LIKELY, _LIKELY_EACH * k)
        at_once = max(1, _MOST_LIKELY // min(count, max(1, len(self.numbers))))
        found: list[_core._Found] = []
        with ThreadPoolExecutor(1) as ahead:
            for first in range(0, rows, at_once):
                group = first, min(first + at_once, rows)
                # One call per group: a call for each part would queue behind the searches of the
                # other parts.
                likely = self.index.likely(queries, group, count=count, threads=threads)
                parts = list(self._parts(asked, group))

                def bounds(
                    part: tuple[int, int], group: tuple[int, int] = group, likely: Any = likely
                ) -> Any:
                    with self.turn, self._memory():
                        return self._given(
                            asked.some(*part),
                            _some(likely, part[0] - group[0], part[1] - group[0]),
                            k,
                            radius,
                        )

                waiting = [ahead.submit(bounds, part) for part in parts[:1]]
                for at, part in enumerate(parts):
                    given = waiting.pop().result()
                    waiting += [ahead.submit(bounds, part) for part in parts[at + 1 : at + 2]]
                    told = None if report is None else _shifted(report, part[0], rows)
                    found.append(
                        self.index.search_given(
                            queries,
                            part,
                            k=k,
                            radius=radius,
                            accuracy=accuracy,
                            given=given,
                            threads=threads,
                            report=told,
                        )
                    )
        return _joined(found)

    def is_current(self, index: _core.Index, device: str) -> bool:
        """Checks whether the search is of this index, as it is now, on this device."""
        same = self.index is index and self.device == device
        return same and self.state == _state_of(index)

    def _memory(self) -> Any:
        return memory_errors("measures", self.device, "points")

    def _own(self) -> MeasureRows:
        """Returns the collection's own measures by number; removed measures are empty."""
        numbers = len(self.index)
        sizes, totals = np.zeros(numbers, np.int64), np.ones(numbers)
        sizes[self.numbers], totals[self.numbers] = self.sizes, self.rows.totals
        return MeasureRows(
            np.concatenate([[0], np.cumsum(sizes)]), self.rows.places, self.rows.masses, totals
        )

    def _parts(self, asked: MeasureRows, group: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Yields ranges of queries whose cost matrix fits in memory.

        The first range is small, so that the host starts early; then sizes double."""
        most = max(MOST_POINTS, _MOST_COSTS // max(self.used, 1))
        first, at_once = group[0], _AT_FIRST
        while first < group[1]:
            last = int(np.searchsorted(asked.start, asked.start[first] + most, side="right")) - 1
            last = min(max(last, first + 1), first + at_once, group[1])
            yield first, last
            first, at_once = last, min(2 * at_once, _AT_ONCE)

    def _given(
        self, some: MeasureRows, likely: _core._BoundsOfQueries, k: int, radius: Optional[float]
    ) -> _core._BoundsOfQueries:
        """Computes bounds of the candidates of a batch of queries."""
        start, numbers, shared = likely
        query = np.repeat(np.arange(len(start) - 1), np.diff(start))
        rank = np.arange(len(numbers)) - start[query]
        rows = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        # A measure that was added since, or that has too many points, is not on the device and is
        # searched by the compiled half alone.
        known = (
            (self.numbers[rows] == numbers)
            & (self.sizes[rows] > 0)
            & (np.diff(some.start)[query] > 0)
        )
        if not known.any():
            return np.zeros(len(start), np.int64), numbers[:0], shared[:0]
        bounds = np.full(len(numbers), -np.inf)
        self.engine.begin(some, self.kept)
        if radius is None:
            first = known & (rank < max(_FIRST, _FIRST_EACH * k))
            bounds[first] = self._bounds(query[first], rows[first])
            limit = _BEYOND * _kth(query, bounds, first, k, len(start) - 1)
        else:
            first, limit = np.zeros(len(numbers), bool), radius / some.totals
        rest = known & ~first & (shared <= limit[query])
        bounds[rest] = self._bounds(query[rest], rows[rest])
        there = (bounds > 0) & np.isfinite(bounds)
        counts = np.bincount(query[there], minlength=len(start) - 1)
        return np.concatenate([[0], np.cumsum(counts)]), numbers[there], bounds[there]

    def _bounds(self, queries: Integers, rows: Integers) -> Floats:
        return self.engine.bounds(queries, rows) * self.unit_cost


def _state_of(index: _core.Index) -> tuple[int, int]:
    """Returns a value that changes whenever a measure is added or removed."""
    return len(index), index.present


def _kth(
    query: Integers, bounds: Floats, counts: npt.NDArray[np.bool_], k: int, queries: int
) -> Floats:
    """Returns the k-th smallest bound of each query, or infinity if it has fewer."""
    query, bounds = query[counts], bounds[counts]
    order = np.lexsort((bounds, query))
    begin = np.searchsorted(query[order], np.arange(queries + 1))
    found = np.full(queries, np.inf)
    enough = (np.diff(begin) >= k) & (k > 0)
    found[enough] = bounds[order][begin[:-1][enough] + k - 1]
    return found


def _some(bounds: _core._BoundsOfQueries, first: int, last: int) -> _core._BoundsOfQueries:
    """Returns the bounds of the queries `first` to `last`, exclusive."""
    start, numbers, of = bounds
    here = slice(start[first], start[last])
    return start[first : last + 1] - start[first], numbers[here], of[here]


def _shifted(report: Any, done: int, total: int) -> Any:
    """Returns a progress callback that reports a batch as part of all queries."""
    return lambda task, now, _: report(task, done + now, total)


def _joined(found: list[_core._Found]) -> _core._Found:
    """Concatenates the results of batches."""
    each = np.concatenate([[0], *(np.diff(part[0]) for part in found)])
    numbers, distances, bounds, solved = (
        np.concatenate([part[k] for part in found]) for k in range(1, 5)
    )
    return np.cumsum(each), numbers, distances, bounds, solved
