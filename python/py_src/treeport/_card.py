"""Searches through all pairs of a problem, for devices that do much arithmetic at once.

A large exact problem (`emd` with `device`) asks one question over and over: for these points on one side, which points of the
other have the least cost + price? The compiled half asks an engine and proves everything from what it answers.

An answer takes two steps, so that nothing of the size of the table of costs is ever in memory:

1. The least cost + price in every block of `BLOCK` points, for each row. The `most` least of these blocks hold at least
   `most` points that are no worse than the last of them, and every point of another block is at least as bad as
   the next one.
2. All costs in those blocks, from which the least are chosen.

What single precision loses: costs are sums over coordinates in their order, of rounded differences, each term added with at
most two roundings, and one root, rounded once. That is what the compiled half counts on (`Frame::lost` there); prices are added
with one more.

Cost for r rows against m points with d coordinates: r m d steps, and r m / BLOCK numbers in memory, some rows at a time.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from ._devices import engine_on

Single = npt.NDArray[np.float32]

#: Points that one minimum stands for.
BLOCK = 64
#: The price of nobody: what fills up the last block.
FAR = np.float32(1e30)
#: Numbers of one array, at most.
_AT_ONCE = 1 << 26


class Engine:
    """The steps in NumPy, which judge those of devices."""

    #: Whether it is asked however little there is to look through.
    takes_all = True

    def __init__(self) -> None:
        self._clouds: dict[int, Any] = {}
        self._numbers = count()  # several threads may keep points at the same time

    def chosen(self) -> Any:
        """A context in which the device is the current one."""
        return nullcontext()

    def keep(self, points: Single) -> int:
        """Keeps points, one a row, and says by which number it knows them."""
        number = next(self._numbers)
        with self.chosen():
            self._clouds[number] = self.laid_out(points)
        return number

    def forget(self, number: int) -> None:
        """Points that nobody will ask for again."""
        self._clouds.pop(number, None)

    def nearest(
        self, formula: str, source: int, rows: npt.NDArray[np.int64], target: int, prices: Single, most: int, noise: float
    ) -> tuple[npt.NDArray[np.int32], Single, Single]:
        """Of each row the `most` points of least cost + price + noise, their costs, and what all others have at least.

        Where there are fewer points, the rest of the numbers is -1.
        """
        with self.chosen():
            sources, targets = self._clouds[source], self._clouds[target]
            blocks = self.blocks_of(targets)
            prices = self.padded(prices, blocks * BLOCK)
            step = max(1, min(_AT_ONCE // blocks, _AT_ONCE // (BLOCK * min(most, blocks))))
            parts = [
                self.some(formula, sources, rows[at : at + step], targets, prices, most, noise) for at in range(0, len(rows), step)
            ]
            points, costs, limits = (np.concatenate([self.host(part[k]) for part in parts]) for k in range(3))
        return points, costs, limits

    def laid_out(self, points: Single) -> Any:
        """Points as the other steps take them."""
        return points.copy()

    def blocks_of(self, targets: Any) -> int:
        """How many blocks points fill."""
        return int(-(-len(targets) // BLOCK))

    def padded(self, prices: Single, size: int) -> Any:
        """Prices on the device, and those of nobody."""
        return np.concatenate([prices, np.full(size - len(prices), FAR)])

    def host(self, values: Any) -> Any:
        """As an array of NumPy."""
        return values

    def some(
        self, formula: str, sources: Any, rows: npt.NDArray[np.int64], targets: Any, prices: Any, most: int, noise: float
    ) -> tuple[Any, Any, Any]:
        """`nearest` for so many rows as there is memory for."""
        height, size = len(rows), len(prices)
        points = np.zeros((size, targets.shape[1]), np.float32)
        points[: len(targets)] = targets
        costs = cost_table(formula, sources[rows], points)
        values = costs + prices
        least = values.reshape(height, -1, BLOCK).min(axis=2)
        order = np.argsort(least, axis=1, kind="stable")
        chosen = min(most, least.shape[1])
        places = (order[:, :chosen, None] * BLOCK + np.arange(BLOCK)).reshape(height, -1)
        noisy = np.take_along_axis(values, places, 1) + np.float32(noise) * random_numbers(rows[:, None], places)
        first = np.argsort(noisy, axis=1, kind="stable")
        listed = np.take_along_axis(places, first[:, :most], 1)
        limit = np.full(height, FAR)
        if chosen < least.shape[1]:
            limit = np.take_along_axis(least, order[:, chosen : chosen + 1], 1)[:, 0] + np.float32(noise)
        if noisy.shape[1] > most:
            limit = np.minimum(limit, np.take_along_axis(noisy, first[:, most : most + 1], 1)[:, 0])
        found = np.full((height, most), -1, np.int32)
        paid = np.zeros((height, most), np.float32)
        found[:, : listed.shape[1]] = np.where(listed < len(targets), listed, -1)
        paid[:, : listed.shape[1]] = np.take_along_axis(costs, listed, 1)
        return found, paid, limit.astype(np.float32)


def cost_table(formula: str, left: Single, right: Single) -> Single:
    """All costs between two sets of points, coordinate by coordinate in single precision."""
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
    """A number below 1 for each pair, always the same: those of neighbors have nothing in common."""
    mixed = np.asarray(rows).astype(np.uint32) * np.uint32(0x9E3779B1) ^ np.asarray(columns).astype(np.uint32) * np.uint32(0x85EBCA77)
    mixed = (mixed ^ mixed >> np.uint32(15)) * np.uint32(0x2C1B3C6D)
    mixed = mixed ^ mixed >> np.uint32(12)
    numbers: Single = (mixed >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)
    return numbers


def engine_of(device: str) -> Engine:
    """What computes on a device."""
    found: Engine = engine_on(device, Engine, "_card_cuda")
    return found


def check_for_device(without_points: bool, metric: str, mass: Any, penalty: Any, period: Any) -> None:
    """Refuses what no device looks through."""
    if without_points:
        raise ValueError("a device measures between points: give `points`, or `x` and `y`, or leave out `device`")
    if metric == "haversine":
        raise ValueError("a device knows no haversine; leave out `device`")
    for name, value in (("mass", mass), ("penalty", penalty), ("period", period)):
        if value is not None:
            raise ValueError(f"a device knows no {name}; leave out `device`, or `{name}`")
