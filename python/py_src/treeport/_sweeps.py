"""Certified bounds of many exact problems at once, by sweeps of their duals in single precision.

For each pair of clouds the entropic duals are found by sweeps, over-relaxed, while ε falls: ``f_i = -ε log Σ_j b_j exp((g_j - c_ij)
/ ε)``, and g from f in the same way. No costs are stored: a step computes them from coordinates. Then

* **lower**: ``g_j = min_i c_ij - f_i``, ``f_i = min_j c_ij - g_j``; what these duals are worth is below every plan.
* **upper**: the entropic plan ``P_ij = a_i b_j exp((f_i + g_j - c_ij) / ε)``, scaled down where a column or a row has too much, and the
  rest placed by its product measure.

What roundings may lose is derived here, and taken off one bound and added to the other:

* *Costs* are off by at most `lost`: coordinates are relative to a center and below 2 in units, each moved by one rounding; a sum over d
  of them takes d + 4 roundings, a root and a price two more (as `Frame::lost` of the compiled half).
* *The plan* is the very numbers ``P_ij`` that the device computes in single precision. A step sees the same bits whichever side is
  its rows: the terms of a cost are symmetric, and potentials are added first. Their sums are those of blocks of 64 in single precision and
  beyond in double: off by a share of at most `SUMS`. So with ``θ = 1 / (1 + 2 SUMS)`` the scaled plan times θ has no row and no column
  with more than it may have; what it leaves is at most ``4 SUMS`` more than was computed, and goes no farther than the two
  farthest points.

Cost of a step for pairs of n and m points with d coordinates: n m d operations, nothing of size n m in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._card import cost_table
from ._devices import engine_on

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

#: Points of a block, whose sums are in single precision.
BLOCK = 64
#: The share that such a sum is off by at most: a rounding for each term, and four for its factors.
SUMS = (BLOCK + 4) * 2.0**-24
#: Sweeps at an ε: few at the first ones, where duals are far from the end, and more at those whose plan counts. Of samples of 1,000 cells
#: in R³⁰ the bounds were 1.3 % apart after 42 sweeps, 6 at each ε, and 0.6 % after 48 in this way.
_FIRST_SWEEPS, _SWEEPS = 4, 10
_FIRST_HALVINGS, _HALVINGS = 4, 10
#: How far a sweep goes beyond.
_BEYOND = 1.6
#: Halvings after which bounds are looked at.
_FIRST_LOOK = 8
#: What a step computes.
SOFTMIN, LEAST, SUMS_OF_PLAN = 0, 1, 2
#: What devices call the costs of metrics.
FORMULAS = {
    "euclidean": "length",
    "sqeuclidean": "square",
    "manhattan": "absolutes",
    "chebyshev": "largest",
}


@dataclass(frozen=True)
class Sides:
    """The points of one side of all pairs: where those of pair p begin in all points, and in arrays of this side."""

    first: Integers
    count: Integers
    begin: Integers


class Engine:
    """The steps in NumPy, which judge those of devices."""

    def lay_out(self, points: npt.NDArray[np.float32], formula: str) -> None:
        """The points that all steps are about."""
        self.points, self.formula = points, formula

    def array(self, values: Any) -> Any:
        """Numbers on the device, in single precision."""
        return np.asarray(values, np.float32)

    def host(self, values: Any) -> Floats:
        """Numbers of the device, in double precision."""
        return np.asarray(values, np.float64)

    def step(
        self, what: int, rows: Sides, columns: Sides, pairs: Integers, of_rows: Any, of_columns: Any, weights: Any, epsilon: Floats
    ) -> tuple[Any, Any]:
        """For every row of the pairs, over its columns: a softmin or least ``c - of_columns``, or sums of the plan times weights.

        The sums of the plan are ``Σ_j P_ij w_j`` and ``Σ_j P_ij w_j c_ij``. With ε = ∞ the plan is 1 everywhere.
        """
        out = np.zeros(len(of_rows), np.float32 if what != SUMS_OF_PLAN else np.float64)
        costs = np.zeros(len(of_rows) if what == SUMS_OF_PLAN else 0)
        for pair in pairs:
            x = self.points[rows.first[pair] :][: rows.count[pair]]
            y = self.points[columns.first[pair] :][: columns.count[pair]]
            here = slice(rows.begin[pair], rows.begin[pair] + rows.count[pair])
            there = slice(columns.begin[pair], columns.begin[pair] + columns.count[pair])
            cost, inverse = cost_table(self.formula, x, y), np.float32(1 / epsilon[pair])
            if what == LEAST:
                out[here] = (cost - of_columns[there]).min(axis=1)
            elif what == SOFTMIN:
                exponents = (of_columns[there] - cost) * inverse
                most = exponents.max(axis=1)
                sums = np.exp(exponents - most[:, None]).sum(axis=1)
                out[here] = -np.float32(epsilon[pair]) * (most + np.log(sums))
            else:
                plan = np.exp(((of_rows[here, None] + of_columns[there]) - cost) * inverse) * weights[there]
                out[here] = _blocked(plan)
                costs[here] = _blocked(plan * cost)
        return out, costs


def _blocked(table: npt.NDArray[np.float32]) -> Floats:
    """Sums of rows, of blocks in single precision."""
    sums = np.zeros(len(table))
    for at in range(0, table.shape[1], BLOCK):
        sums += table[:, at : at + BLOCK].sum(axis=1, dtype=np.float32)
    return sums


@dataclass(frozen=True)
class Found:
    """Bounds of pairs, and which of them are close enough."""

    lower: Floats
    upper: Floats
    close: npt.NDArray[np.bool_]


def takes(metric: str, accuracy: Any) -> bool:
    """Whether sweeps can find bounds so close in single precision."""
    return metric in FORMULAS and type(accuracy) in (int, float) and accuracy >= 1e-3


def bounds(
    engine: Engine, points: Floats, metric: str, start: Integers, masses: Floats, pairs: Integers, accuracy: float, told: Any = None
) -> Found:
    """Bounds of the exact costs of pairs of measures: row r has the points from ``start[r]`` to ``start[r + 1]``, with their masses.

    Totals of a pair are equal; every measure has mass at each of its points. Pairs that do not come close enough have
    the best bounds that were found.
    """
    problem = _Problem(engine, points, metric, start, masses, pairs)
    best = Found(np.zeros(len(pairs)), np.full(len(pairs), np.inf), np.zeros(len(pairs), bool))
    for halving in range(_HALVINGS):
        left = np.flatnonzero(~best.close)
        if not len(left):
            break
        if told is not None:
            told("bounds", len(pairs) - len(left), len(pairs))
        problem.sweep(left, _FIRST_SWEEPS if halving < _FIRST_HALVINGS else _SWEEPS)
        if halving + 1 >= _FIRST_LOOK:
            lower, upper = problem.lower(left), problem.upper(left)
            best.lower[left] = np.fmax(best.lower[left], lower)
            best.upper[left] = np.fmin(best.upper[left], upper)
            best.close[left] = best.upper[left] - best.lower[left] <= accuracy * best.upper[left]
        problem.set_epsilon(problem.epsilon / 2)
    return best


class _Problem:
    """Sweeps of many pairs, whose masses are shares of their totals and whose costs are in units of the device."""

    def __init__(
        self, engine: Engine, points: Floats, metric: str, start: Integers, masses: Floats, pairs: Integers
    ) -> None:
        self.engine = engine
        formula = FORMULAS[metric]
        coordinates, self.worth = placed(points, formula)
        self.largest, self.lost = losses(formula, points.shape[1])
        engine.lay_out(coordinates, formula)
        counts = np.diff(start)
        self.sides = [_side(start, counts, pairs[:, side]) for side in (0, 1)]
        totals = np.add.reduceat(masses, start[:-1]) if len(masses) else masses
        self.totals = totals[pairs[:, 0]]
        shares = masses / np.repeat(totals, counts)
        self.masses = [np.concatenate([shares[start[r] : start[r + 1]] for r in pairs[:, side]]) for side in (0, 1)]
        self.logs = [np.log(np.maximum(side, 1e-300)) for side in self.masses]
        self.set_epsilon(np.array([_typical(coordinates, formula, start, i, j) for i, j in pairs]) / 2)
        self.duals: list[Any] = [engine.array(np.zeros(len(side))) for side in self.masses]

    def of_pairs(self, side: int, values: Floats) -> Floats:
        """A number of every pair at each of its points."""
        return np.repeat(values, self.sides[side].count)

    def set_epsilon(self, epsilon: Floats) -> None:
        """Another ε for every pair."""
        self.epsilon = epsilon
        self._terms = [self.engine.array(self.of_pairs(side, epsilon) * self.logs[side]) for side in (0, 1)]

    def in_exponent(self, side: int) -> Any:
        """Duals, and ε times the logarithm of masses."""
        return self.duals[side] + self._terms[side]

    def step(
        self, what: int, side: int, pairs: Integers, of_rows: Any, of_columns: Any, weights: Any = None, epsilon: Any = None
    ) -> tuple[Any, Any]:
        rows, columns = self.sides[side], self.sides[1 - side]
        epsilon = self.epsilon if epsilon is None else epsilon
        return self.engine.step(what, rows, columns, pairs, of_rows, of_columns, weights, epsilon)

    def sweep(self, pairs: Integers, count: int) -> None:
        """Some sweeps at this ε, the last of which leaves rows as they should be."""
        for sweep in range(count):
            beyond = _BEYOND if 1 < sweep < count - 1 else 1.0
            for side in (1, 0):
                found, _ = self.step(SOFTMIN, side, pairs, self.duals[side], self.in_exponent(1 - side))
                self.duals[side] = self.duals[side] + beyond * (found - self.duals[side])

    def lower(self, pairs: Integers) -> Floats:
        """What the duals prove."""
        right, _ = self.step(LEAST, 1, pairs, self.duals[1], self.duals[0])
        left, _ = self.step(LEAST, 0, pairs, self.duals[0], right)
        right, left = self.engine.host(right), self.engine.host(left)
        worth = self.sums(0, left * self.masses[0]) + self.sums(1, right * self.masses[1])
        size = self.sums(0, np.abs(left) * self.masses[0]) + self.sums(1, np.abs(right) * self.masses[1])
        price = np.maximum(self.most(1, np.abs(right)), self.most(0, np.abs(left)))
        lost = self.lost + 4 * 2.0**-24 * price + 1e-12 * size
        return np.maximum(worth - lost, 0.0)[pairs] * self.worth * self.totals[pairs] * (1 - 1e-12)

    def upper(self, pairs: Integers) -> Floats:
        """What the entropic plan costs, made one of the right masses."""
        engine, (a, b) = self.engine, self.masses
        left, right = self.in_exponent(0), self.in_exponent(1)
        sums, _ = self.step(SUMS_OF_PLAN, 1, pairs, right, left, engine.array(np.ones(len(a))))
        columns = np.minimum(1.0, _divided(b, engine.host(sums))).astype(np.float32)
        sums, costs = self.step(SUMS_OF_PLAN, 0, pairs, left, right, engine.array(columns))
        sums, costs = engine.host(sums), engine.host(costs)
        rows = np.minimum(1.0, _divided(a, sums)).astype(np.float32)
        placed, _ = self.step(SUMS_OF_PLAN, 1, pairs, right, left, engine.array(rows))
        spare = np.maximum(a - rows * sums, 0.0), np.maximum(b - columns * engine.host(placed), 0.0)
        # What is left goes by its product measure: the plan of an infinite ε.
        infinite = np.full(len(self.epsilon), np.inf)
        _, apart = self.step(SUMS_OF_PLAN, 0, pairs, left, right, engine.array(spare[1]), infinite)
        over = [self.sums(side, spare[side]) for side in (0, 1)]
        rest = self.sums(0, spare[0] * engine.host(apart)) / np.maximum(np.maximum(*over), 1e-300)
        unplaced = 4 * SUMS + np.abs(over[0] - over[1])
        total = (self.sums(0, rows * costs) + rest) * (1 + 4 * SUMS) + self.lost + unplaced * self.largest
        return total[pairs] * self.worth * self.totals[pairs] * (1 + 1e-12)

    def sums(self, side: int, values: Floats) -> Floats:
        """Sums over the points of every pair."""
        return np.add.reduceat(values, self.sides[side].begin)

    def most(self, side: int, values: Floats) -> Floats:
        """The largest number at the points of every pair."""
        return np.maximum.reduceat(values, self.sides[side].begin)


def _divided(masses: Floats, sums: Floats) -> Floats:
    """How much of each sum may stay; all, where there is none."""
    return np.divide(masses, sums, out=np.ones_like(masses), where=sums > 0)


def _side(start: Integers, counts: Integers, measures: Integers) -> Sides:
    count = counts[measures]
    return Sides(start[measures], count, np.concatenate([[0], np.cumsum(count)[:-1]]).astype(np.int64))


def _typical(points: npt.NDArray[np.float32], formula: str, start: Integers, i: int, j: int) -> float:
    """The mean cost of some pairs of points."""
    places = np.arange(16)
    x = points[start[i] + places * 7919 % (start[i + 1] - start[i])]
    y = points[start[j] + places * 104729 % (start[j + 1] - start[j])]
    return max(float(cost_table(formula, x, y).mean()), 1e-6)


def placed(points: Floats, formula: str) -> tuple[npt.NDArray[np.float32], float]:
    """Points relative to their center, below 2 in units, in single precision; and what a cost in units is worth."""
    center = points.mean(axis=0)
    largest = float(np.abs(points - center).max(initial=0.0))
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    return ((points - center) / unit).astype(np.float32), unit * unit if formula == "square" else unit


def losses(formula: str, dim: int) -> tuple[float, float]:
    """More than any cost, and more than roundings put one off by: coordinates are below 2, so differences below 4."""
    once = 2.0**-24
    largest, moved = {
        "length": (4 * dim**0.5, 4 * once * dim**0.5),
        "absolutes": (4.0 * dim, 4 * once * dim),
        "square": (16.0 * dim, 4 * once * dim**0.5 * 2.1 * 4 * dim**0.5),
        "largest": (4.0, 4 * once),
    }[formula]
    return largest, 2 * (moved + (dim + 8) * once * largest)


def engine_of(device: str) -> Engine:
    """What computes on a device."""
    found: Engine = engine_on(device, Engine, "_sweeps_cuda")
    return found
