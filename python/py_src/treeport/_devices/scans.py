"""Nearest-neighbor queries over all pairs of points of an exact problem, for GPUs.

A large exact problem (`emd` with `device`) repeats one query: for given points on one side, find
the points of the other side with the least cost + price. The compiled half sends these queries to
an engine and derives its certificates from the candidate lists that the engine returns.

A query runs in two steps, so that the full cost matrix is never in memory:

1. Compute the minimum of cost + price over every block of `BLOCK` points, for each row. The `most`
   blocks with the smallest minima contain at least `most` points whose value is at most the largest
   of these minima. Every point of another block has at least the next larger minimum.
2. Compute all costs in those blocks and select the smallest values.

Rounding in single precision: a cost sums rounded coordinate differences in coordinate order, adds
each term with at most two roundings, and takes at most one root, rounded once. The compiled half
relies on this error bound (`metric::kernels::formulas`). Adding a price takes one more rounding.

Cost for r rows against m points with d coordinates: r m d steps, and r m / BLOCK numbers in memory,
which processing rows in chunks limits."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core

Single = npt.NDArray[np.float32]

#: Points in a block, over which one minimum is taken.
BLOCK = 64
#: The price of padding points, which fill up the last block.
CLOSED = np.float32(_core.CLOSED_PRICE)
#: The largest number of entries of one array.
_MOST_ENTRIES = 1 << 26


class ScanEngine:
    """Reference implementation of the queries in NumPy, against which the GPU's is tested."""

    #: Whether the engine also receives queries over few pairs.
    takes_all = True

    def __init__(self) -> None:
        self._points: dict[int, Any] = {}
        self._numbers = count()  # `next` is atomic: several threads may call `keep`

    def current(self) -> Any:
        """Returns a context manager in which the device is the current one."""
        return nullcontext()

    def keep(self, points: Single) -> int:
        """Stores points, one per row, and returns their handle."""
        number = next(self._numbers)
        with self.current():
            self._points[number] = self.layout(points)
        return number

    def forget(self, number: int) -> None:
        """Releases the points of a handle."""
        self._points.pop(number, None)

    def nearest(
        self,
        formula: str,
        source: int,
        rows: npt.NDArray[np.int64],
        target: int,
        prices: Single,
        most: int,
        noise: float,
    ) -> tuple[npt.NDArray[np.int32], Single, Single]:
        """Returns the `most` points of least cost + price + noise for each row.

        Also returns their costs, and a lower bound on cost + price + noise of all other points.
        Where there are fewer points, the remaining indices are -1."""
        with self.current():
            sources, targets = self._points[source], self._points[target]
            blocks = self.blocks_of(targets)
            prices = self.padded(prices, blocks * BLOCK)
            step = max(
                1, min(_MOST_ENTRIES // blocks, _MOST_ENTRIES // (BLOCK * min(most, blocks)))
            )
            parts = [
                self.scan(formula, sources, rows[at : at + step], targets, prices, most, noise)
                for at in range(0, len(rows), step)
            ]
            points, costs, limits = (
                np.concatenate([self.host(part[k]) for part in parts]) for k in range(3)
            )
        return points, costs, limits

    def layout(self, points: Single) -> Any:
        """Returns points in the memory layout of the engine."""
        return points.copy()

    def blocks_of(self, targets: Any) -> int:
        """Returns the number of blocks of the points, including a partial one."""
        return int(-(-len(targets) // BLOCK))

    def padded(self, prices: Single, size: int) -> Any:
        """Returns prices on the device, followed by the prices of padding points."""
        return np.concatenate([prices, np.full(size - len(prices), CLOSED)])

    def host(self, values: Any) -> Any:
        """Returns values as a NumPy array."""
        return values

    def scan(
        self,
        formula: str,
        sources: Any,
        rows: npt.NDArray[np.int64],
        targets: Any,
        prices: Any,
        most: int,
        noise: float,
    ) -> tuple[Any, Any, Any]:
        """Computes `nearest` for one chunk of rows."""
        height, size = len(rows), len(prices)
        points = np.zeros((size, targets.shape[1]), np.float32)
        points[: len(targets)] = targets
        costs = cost_table(formula, sources[rows], points)
        values = costs + prices
        least = values.reshape(height, -1, BLOCK).min(axis=2)
        order = np.argsort(least, axis=1, kind="stable")
        chosen = min(most, least.shape[1])
        places = (order[:, :chosen, None] * BLOCK + np.arange(BLOCK)).reshape(height, -1)
        noisy = np.take_along_axis(values, places, 1) + np.float32(noise) * random_numbers(
            rows[:, None], places
        )
        first = np.argsort(noisy, axis=1, kind="stable")
        listed = np.take_along_axis(places, first[:, :most], 1)
        limit = np.full(height, CLOSED)
        if chosen < least.shape[1]:
            limit = np.take_along_axis(least, order[:, chosen : chosen + 1], 1)[:, 0] + np.float32(
                noise
            )
        if noisy.shape[1] > most:
            limit = np.minimum(limit, np.take_along_axis(noisy, first[:, most : most + 1], 1)[:, 0])
        found = np.full((height, most), -1, np.int32)
        paid = np.zeros((height, most), np.float32)
        found[:, : listed.shape[1]] = np.where(listed < len(targets), listed, -1)
        paid[:, : listed.shape[1]] = np.take_along_axis(costs, listed, 1)
        return found, paid, limit.astype(np.float32)


def cost_table(formula: str, left: Single, right: Single) -> Single:
    """Computes the cost matrix of two point sets in single precision, one coordinate at a time."""
    total = np.zeros((len(left), len(right)), np.float32)
    for x, y in zip(left.T, right.T):
        apart = np.abs(x[:, None] - y[None, :])
        if formula == "absolutes":
            total += apart
        elif formula == "largest":
            np.maximum(total, apart, out=total)
        else:
            total += apart * apart
    return np.sqrt(total) if formula == "length" else total


def random_numbers(rows: Any, columns: Any) -> Single:
    """Returns a pseudorandom number in [0, 1) for each pair of indices, by an integer hash."""
    mixed = np.asarray(rows).astype(np.uint32) * np.uint32(0x9E3779B1) ^ np.asarray(columns).astype(
        np.uint32
    ) * np.uint32(0x85EBCA77)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(0x2C1B3C6D)
    mixed = mixed ^ mixed >> np.uint32(12)
    numbers: Single = (mixed >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)
    return numbers
