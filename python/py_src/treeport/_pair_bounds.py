"""Lower bounds of many pairs of small measures at once, for searches with a device.

Measures of a collection share their points, so the costs from the points of all queries at hand to those of the collection are
worked out once, as a table on the device. A pair is then one small problem: its costs are gathered from the table, mass that both have at a
point is left out where costs obey the triangle inequality, duals are swept at a falling ε, as `_sweeps` does it, and made feasible:
``v_j = min_i c_ij - u_i``, ``u_i = min_j c_ij - v_j``. What they are worth is the bound.

What roundings may lose: costs are off by at most `lost` (see `_sweeps`). How duals were found does not matter: whatever the u are, the last minima make
``u_i + v_j`` at most the cost as computed, up to one rounding of a dual. The sums are in double precision. `lost` and four roundings of the largest duals are
taken off, so that no bound is above the distance, wherever distances are normal numbers.

Cost: for q points of queries, p points of the collection with d coordinates, and pairs of n by m points: q p d steps and q p numbers in
memory, then n m steps a pair for each sweep, in registers. At every ε the plan is computed once from the duals so far, and sweeps
only scale it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _core
from ._card import cost_table
from ._devices import engine_on, memory_errors
from ._sweeps import FORMULAS, losses, placed

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Blurs in typical costs, and sweeps at each.
SCHEDULE = ((0.1, 3), (0.05, 3), (0.025, 5), (0.0125, 6))
#: The most points of a measure that a device takes: a pair stays in registers.
MOST_POINTS = 256
#: Queries at a time: the host solves the pairs of some while the device bounds those of the next.
_AT_FIRST, _AT_ONCE = 64, 1024
#: Likely neighbors that are listed at the same time.
_MOST_LIKELY = 1 << 23
#: Costs in the table at the same time: 1 GiB.
_MOST_COSTS = 1 << 28
#: Likely neighbors that may be bounded, at least, and those that are in any case, for each neighbor that is asked for.
_LIKELY, _LIKELY_EACH, _FIRST, _FIRST_EACH = 512, 16, 32, 4
#: The k-th of the bounds times this is about the distance of the k-th neighbor, as in the compiled half.
_BEYOND = 1.01
#: Metrics whose costs are no less than a way around.
_WITH_TRIANGLES = ("euclidean", "manhattan", "chebyshev")


@dataclass(frozen=True)
class Rows:
    """Measures: where the points of each begin, the places of these, their masses in a total of 1, and the totals they had.

    Those with more points than a device takes have none here.
    """

    start: Integers
    places: Integers
    masses: Floats
    totals: Floats

    @staticmethod
    def of(measures: _core.Measures) -> Rows:
        """Measures of the compiled half."""
        start, places, masses, _ = measures.compressed()
        start = np.asarray(start, np.int64)
        sizes = np.diff(start)
        totals = np.add.reduceat(masses, start[:-1]) if len(masses) else np.zeros(len(sizes))
        kept = np.where(sizes <= MOST_POINTS, sizes, 0)
        here = np.repeat(kept > 0, sizes)
        shares = masses[here] / np.repeat(totals, kept)
        return Rows(np.concatenate([[0], np.cumsum(kept)]), np.asarray(places, np.int64)[here], shares, totals)

    def some(self, first: int, last: int) -> Rows:
        """The measures from one to another."""
        here = slice(self.start[first], self.start[last])
        start = self.start[first : last + 1] - self.start[first]
        return Rows(start, self.places[here], self.masses[here], self.totals[first:last])


class Engine:
    """The steps in NumPy, which judge those of devices."""

    table: Any

    def lay_out(self, points: Any, formula: str, triangles: bool, lost: float) -> None:
        """The points that measures are on."""
        self.points, self.formula, self.triangles, self.lost = points, formula, triangles, lost

    def keep(self, rows: Rows) -> Any:
        """Measures of a collection."""
        return rows

    def begin(self, queries: Rows, rows: Any) -> None:
        """Works out the costs from all points of some queries to those of the collection."""
        self.queries, self.rows = queries, rows
        used, self.columns = np.unique(rows.places, return_inverse=True)
        asked, self.lines = np.unique(queries.places, return_inverse=True)
        self.table = cost_table(self.formula, self.points[asked], self.points[used])
        self.stages = stages_of(some_costs(self.table).mean())

    def bounds(self, queries: Integers, rows: Integers) -> Floats:
        """Lower bounds of pairs: a query, and a measure of the collection."""
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
        # Feasible duals that every point attains with some other, so that no sum on a device vanishes.
        u = cost.min(axis=1)
        v = (cost - u[:, None]).min(axis=0)
        u = (cost - v).min(axis=1)
        for epsilon, sweeps in self.stages:
            for _ in range(sweeps):
                u = -epsilon * _log_sum((v - cost) / epsilon + np.log(b), 1)
                v = (-epsilon * _log_sum((u[:, None] - cost) / epsilon + np.log(a)[:, None], 0)).astype(np.float32)
        u = (cost - v).min(axis=1)
        v = (cost - u[:, None]).min(axis=0)
        worth = float(a @ u.astype(float) + b @ v.astype(float))
        return worth - self.lost - float(slack(np.abs(u).max(), np.abs(v).max()))


def slack(u: Any, v: Any) -> Any:
    """What roundings of duals may make of a bound: four of the largest in single precision, and the sums in double."""
    return (4 * 2.0**-24 + 1e-12) * (u + v)


def some_costs(table: Any) -> Any:
    """Costs from all over a table."""
    rows, columns = (max(1, size // 64) for size in table.shape)
    return table[::rows, ::columns]


def stages_of(typical: Any) -> list[tuple[float, int]]:
    """Every ε, and the sweeps at it."""
    return [(blur * max(float(typical), 1e-6), sweeps) for blur, sweeps in SCHEDULE]


def _log_sum(exponents: Any, axis: int) -> Any:
    most = exponents.max(axis=axis, keepdims=True)
    return (most + np.log(np.exp(exponents - most).sum(axis=axis, keepdims=True))).squeeze(axis)


class DeviceSearch:
    """An index whose likely neighbors a device bounds, while the compiled half proves and solves."""

    def __init__(self, index: _core.Index, device: str) -> None:
        self.index, self.device, self.state = index, device, state_of(index)
        self.turn = Lock()  # the engine works for one search at a time
        ground = index.ground
        given = ground.coordinates()
        if index.is_of_clouds or given is None or given[1] not in FORMULAS or ground.period() is not None:
            raise ValueError(
                f"a search with a device is for measures on shared points with the metrics {', '.join(FORMULAS)}, without a "
                "period and with coordinates whose squares are numbers; leave out `device`"
            )
        points, metric = given
        self.engine: Engine = engine_on(device, Engine, "_pair_bounds_cuda")
        self.numbers, measures = index.layout()
        with self._memory():
            formula = FORMULAS[metric]
            coordinates, self.worth = placed(points, formula)
            self.engine.lay_out(coordinates, formula, metric in _WITH_TRIANGLES, losses(formula, points.shape[1])[1])
            self.rows = Rows.of(measures)
            self.sizes = np.diff(self.rows.start)
            self.kept = self.engine.keep(self.rows)
            self.used = len(np.unique(self.rows.places))

    def search(
        self, queries: Any, k: int, radius: Optional[float], accuracy: Any, threads: int, report: Any
    ) -> _core._Found:
        """As `nearest` and `radius` of the index."""
        asked = self._own() if queries is None else Rows.of(queries)
        rows, count = len(asked.totals), max(_LIKELY, _LIKELY_EACH * k)
        at_once = max(1, _MOST_LIKELY // min(count, max(1, len(self.numbers))))
        found: list[_core._Found] = []
        with ThreadPoolExecutor(1) as ahead:
            for first in range(0, rows, at_once):
                group = first, min(first + at_once, rows)
                # All at once: behind the searches of others they would wait for these.
                likely = self.index.likely(queries, group, count, threads)
                parts = list(self._parts(asked, group))

                def bounds(part: tuple[int, int], group: tuple[int, int] = group, likely: Any = likely) -> Any:
                    with self.turn, self._memory():
                        return self._given(asked.some(*part), _some(likely, part[0] - group[0], part[1] - group[0]), k, radius)

                waiting = [ahead.submit(bounds, part) for part in parts[:1]]
                for at, part in enumerate(parts):
                    given = waiting.pop().result()
                    waiting += [ahead.submit(bounds, part) for part in parts[at + 1 : at + 2]]
                    told = None if report is None else _shifted(report, part[0], rows)
                    found.append(self.index.search_given(queries, part, k, radius, accuracy, given, threads, told))
        return _joined(found)

    def _memory(self) -> Any:
        return memory_errors("measures", self.device, "points")

    def _own(self) -> Rows:
        """The collection's own measures, by number; those that were removed have no points."""
        numbers = len(self.index)
        sizes, totals = np.zeros(numbers, np.int64), np.ones(numbers)
        sizes[self.numbers], totals[self.numbers] = self.sizes, self.rows.totals
        return Rows(np.concatenate([[0], np.cumsum(sizes)]), self.rows.places, self.rows.masses, totals)

    def _parts(self, asked: Rows, group: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Some queries at a time, whose costs fit into a table; few at first, so that the host soon has something to do,
        and then twice as many."""
        most = max(MOST_POINTS, _MOST_COSTS // max(self.used, 1))
        first, at_once = group[0], _AT_FIRST
        while first < group[1]:
            last = int(np.searchsorted(asked.start, asked.start[first] + most, side="right")) - 1
            last = min(max(last, first + 1), first + at_once, group[1])
            yield first, last
            first, at_once = last, min(2 * at_once, _AT_ONCE)

    def _given(self, some: Rows, likely: _core._BoundsOfQueries, k: int, radius: Optional[float]) -> _core._BoundsOfQueries:
        """Bounds of the likely neighbors of some queries."""
        start, numbers, shared = likely
        query = np.repeat(np.arange(len(start) - 1), np.diff(start))
        rank = np.arange(len(numbers)) - start[query]
        rows = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        # One that was added since, or has too many points, is not on the device, and is looked into as ever.
        known = (self.numbers[rows] == numbers) & (self.sizes[rows] > 0) & (np.diff(some.start)[query] > 0)
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
        return self.engine.bounds(queries, rows) * self.worth * (1 - 1e-12)


def state_of(index: _core.Index) -> tuple[int, int]:
    """What changes with every measure that is added or removed."""
    return len(index), index.present


def _kth(query: Integers, bounds: Floats, counts: npt.NDArray[np.bool_], k: int, queries: int) -> Floats:
    """The k-th least bound of each query; infinite where there are fewer."""
    query, bounds = query[counts], bounds[counts]
    order = np.lexsort((bounds, query))
    begin = np.searchsorted(query[order], np.arange(queries + 1))
    found = np.full(queries, np.inf)
    enough = (np.diff(begin) >= k) & (k > 0)
    found[enough] = bounds[order][begin[:-1][enough] + k - 1]
    return found


def _some(bounds: _core._BoundsOfQueries, first: int, last: int) -> _core._BoundsOfQueries:
    """The bounds of the queries from one to another."""
    start, numbers, of = bounds
    here = slice(start[first], start[last])
    return start[first : last + 1] - start[first], numbers[here], of[here]


def _shifted(report: Any, done: int, total: int) -> Any:
    """Tells of some queries as a part of all."""
    return lambda task, now, _: report(task, done + now, total)


def _joined(found: list[_core._Found]) -> _core._Found:
    """What parts have found, as one."""
    each = np.concatenate([[0], *(np.diff(part[0]) for part in found)])
    numbers, distances, bounds, solved = (np.concatenate([part[k] for part in found]) for k in range(1, 5))
    return np.cumsum(each), numbers, distances, bounds, solved
