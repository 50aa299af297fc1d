"""All pairs in tiles of single precision, for machines that do much arithmetic at once.

The distance of two measures is the cityblock distance of their rows of `embed`, ``sum_v |a_v - b_v|``. Its columns are
of two kinds:

* frequent ones, in which two rows often both have mass, stand in a dense array: two instructions for each pair.
* rare ones, near the leaves: ``|a - b| = a + b - 2 min(a, b)``, and the minimum is 0 unless both rows have mass there.
  Only such pairs are visited, along the lists of rows that have mass in a column.

What all rows have in common in a column is subtracted first: that changes no distance, leaves less to round, and drops
columns that are the same in all rows. What is computed is exact but for rounding: see `rounding`.

Invariant: a block is the same numbers, to the bit, whatever other blocks are computed, and ``block(i, j)`` is the
transpose of ``block(j, i)``. Work for n rows against m: n m F for F frequent columns, and one step for every pair of rows and
rare column that both use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

Single = npt.NDArray[np.float32]

#: Rows are padded to a multiple, so that no tile of an engine hangs over.
PADDING = 256


@dataclass(frozen=True)
class Rows:
    """Compressed rows of `embed`."""

    start: Any
    columns: Any
    values: Any

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True)
class Side:
    """Rows as tiles take them."""

    #: Frequent columns by padded rows, one array for each block of rows.
    dense: list[Any]
    #: The rare columns of each row.
    rare: Rows
    #: Sums of those.
    sums: Any
    #: The rows of each rare column, in order.
    lists: Rows
    #: Column times number of rows plus row of every entry of `lists`, which says where rows from some row on begin.
    keys: Any

    def __len__(self) -> int:
        return len(self.rare)


class Engine:
    """The few steps that differ between machines; these are NumPy's, which judge the others."""

    #: The share of pairs that share a column from which it is frequent: a step along lists takes as long as its inverse of
    #: dense columns.
    frequent = 0.012
    #: Rows on either side of a block.
    block = 2048

    def chosen(self) -> Any:
        """A context in which the machine is the current one."""
        return nullcontext()

    def array(self, values: Any) -> Any:
        """An array of these values on the machine."""
        return np.asarray(values)

    def zeros(self, *shape: int) -> Any:
        """Zeros in single precision."""
        return np.zeros(shape, np.float32)

    def single(self, values: Any) -> Any:
        """In single precision."""
        return values.astype(np.float32)

    def short(self, numbers: Any) -> Any:
        """Integers of 32 bits."""
        return numbers.astype(np.int32)

    def arange(self, count: int) -> Any:
        return np.arange(count)

    def repeat(self, values: Any, counts: Any) -> Any:
        return np.repeat(values, counts)

    def counts(self, numbers: Any, size: int) -> Any:
        """How often each number below `size` occurs."""
        return np.bincount(numbers, minlength=size)

    def begins(self, counts: Any) -> Any:
        """Where parts of such sizes begin, and where the last one ends."""
        return np.concatenate([[0], np.cumsum(counts)])

    def split(self, dense: Any) -> list[Any]:
        """One array for each block of columns, so that what a tile reads lies together."""
        return [dense[:, at : at + self.block].copy() for at in range(0, dense.shape[1], self.block)]

    def order(self, keys: Any) -> Any:
        return np.argsort(keys, kind="stable")

    def least(self, sets: list[Rows], nodes: int) -> Any:
        """The least value of each column in all rows of all sets, which is 0 unless all of them have one."""
        least, used = np.full(nodes, np.inf), np.zeros(nodes, np.int64)
        for rows in sets:
            np.minimum.at(least, rows.columns, rows.values)
            used += self.counts(rows.columns, nodes)
        return np.where(used == sum(map(len, sets)), least, 0)

    def search(self, keys: Any, values: Any) -> Any:
        """How many of the sorted keys are below each value."""
        return np.searchsorted(keys, values)

    def sums(self, rows: Rows) -> Any:
        """The sum of each row, in single precision."""
        sums = np.zeros(len(rows), np.float32)
        for row, (first, end) in enumerate(zip(rows.start[:-1], rows.start[1:])):
            sums[row] = rows.values[first:end].sum(dtype=np.float32)
        return sums

    def tile(self, left: Any, right: Any) -> Any:
        """Distances in the frequent columns, of all padded rows."""
        tile = np.zeros((left.shape[1], right.shape[1]), np.float32)
        for a, b in zip(left, right):
            tile += np.abs(a[:, None] - b[None, :])
        return tile

    def subtract_shared(self, tile: Any, rare: Rows, first: int, lists: Rows, parts: Any) -> None:
        """Takes 2 min(a, b) away wherever rows share a rare column.

        Row i of the tile is row ``first + i`` of `rare`; the entries of column v in `lists` that belong to the
        tile are those from ``parts[0][v]`` to ``parts[1][v]``, and its first column is row ``parts[2]``.
        """
        begin, end, offset = parts
        for i, row in enumerate(tile):
            for e in range(rare.start[first + i], rare.start[first + i + 1]):
                v = rare.columns[e]
                some = slice(begin[v], end[v])
                row[lists.columns[some] - offset] -= 2 * np.minimum(rare.values[e], lists.values[some])

    def finish(self, tile: Any, diagonal: bool) -> Any:
        """No distance below 0, and none of a row to itself."""
        np.maximum(tile, 0, out=tile)
        if diagonal:
            np.fill_diagonal(tile, 0)
        return tile

    def nearest(self, tile: Any, count: int, first: int, itself: bool) -> Any:
        """Of each row the `count` least as sorted keys: the bits of a distance, then its column; `first` is the first."""
        keys = tile.view(np.int32).astype(np.int64) << 32 | np.arange(first, first + tile.shape[1])
        if itself:
            np.fill_diagonal(keys, _NONE)
        keys.partition(min(count, keys.shape[1]) - 1, axis=1)
        return np.sort(keys[:, :count], axis=1)

    def merged(self, a: Any, b: Any, count: int) -> Any:
        """The least of both sets of keys."""
        return np.sort(np.concatenate([a, b], axis=1), axis=1)[:, :count]

    def host(self, values: Any) -> Any:
        """As an array of NumPy."""
        return values

    def write(self, tile: Any, out: Any) -> Callable[[], None]:
        """Begins to write a tile to a part of the result; what is returned ends it."""
        out[...] = tile
        return lambda: None


_NONE = np.iinfo(np.int64).max


def sides(engine: Engine, left: Rows, right: Optional[Rows], nodes: int) -> tuple[Side, Side]:
    """Both sets of rows, laid out; without a second set the first one twice."""
    given = [left] if right is None else [left, right]
    _check_range(given)
    sets = _less_common(engine, [_on(engine, rows) for rows in given], nodes)
    used = [engine.counts(rows.columns, nodes) for rows in sets]
    frequent = used[0] * used[-1] > engine.frequent * len(sets[0]) * len(sets[-1])
    # A column that only one set uses adds to the sums, and is never shared.
    shared = (used[0] > 0) & (used[-1] > 0) & ~frequent
    laid = [_side(engine, rows, frequent, shared) for rows in sets]
    return laid[0], laid[-1]


def _check_range(sets: list[Rows]) -> None:
    """Refuses rows whose sums single precision cannot hold, or whose values it would make 0."""
    largest = max(float(rows.values.max(initial=0.0)) for rows in sets)
    if largest and not 1e-20 < largest < 1e30:
        raise ValueError(
            f"lengths of edges times masses go up to {largest:.1e}, which single precision has no room for; divide masses or "
            "scale the model (`scaled`) to about 1, or leave out `device`"
        )


def _on(engine: Engine, rows: Rows) -> Rows:
    return Rows(engine.array(rows.start), engine.array(rows.columns), engine.array(rows.values))


def _less_common(engine: Engine, sets: list[Rows], nodes: int) -> list[Rows]:
    """Rows less what all of them have in common: the least value of every column."""
    common = engine.least(sets, nodes)
    without = [Rows(rows.start, rows.columns, rows.values - common[rows.columns]) for rows in sets]
    return [_some(engine, rows, rows.values > 0) for rows in without]


def _row_numbers(engine: Engine, rows: Rows) -> Any:
    return engine.repeat(engine.arange(len(rows)), rows.start[1:] - rows.start[:-1])


def _some(engine: Engine, rows: Rows, kept: Any) -> Rows:
    """Some of the entries."""
    counts = engine.counts(_row_numbers(engine, rows)[kept], len(rows))
    return Rows(engine.begins(counts), rows.columns[kept], rows.values[kept])


def _side(engine: Engine, rows: Rows, frequent: Any, shared: Any) -> Side:
    rows = replace(rows, values=engine.single(rows.values))
    rest = _some(engine, rows, ~frequent[rows.columns])
    rare = _some(engine, rest, shared[rest.columns])
    rare = replace(rare, columns=engine.begins(shared)[:-1][rare.columns])
    numbers = _row_numbers(engine, rare)
    keys = rare.columns * len(rows) + numbers
    order = engine.order(keys)
    begins = engine.begins(engine.counts(rare.columns, int(shared.sum())))
    lists = Rows(begins, engine.short(numbers[order]), rare.values[order])
    rare = replace(rare, columns=engine.short(rare.columns))
    return Side(_dense(engine, rows, frequent), rare, engine.sums(rest), lists, keys[order])


def _dense(engine: Engine, rows: Rows, frequent: Any) -> list[Any]:
    """The frequent columns, one at least, of padded rows."""
    height, width = max(1, int(frequent.sum())), -(-len(rows) // PADDING) * PADDING
    dense, kept = engine.zeros(height, width), frequent[rows.columns]
    places = engine.begins(frequent)[:-1][rows.columns[kept]]
    dense[places, _row_numbers(engine, rows)[kept]] = rows.values[kept]
    return engine.split(dense)


def rounding(left: Rows, right: Optional[Rows], laid: Side) -> float:
    """What single precision may change a distance by, at most.

    Every value is rounded once, and a distance is a sum of as many terms as there are frequent columns, and of twice the rare
    ones of a row: no partial sum is larger than the sum of both rows, and each is rounded once.
    """
    rows = [left, left if right is None else right]
    total = sum(float(np.diff(np.concatenate([[0.0], np.cumsum(r.values)])[r.start]).max()) for r in rows)
    rare = max(int(np.diff(r.start).max()) for r in rows)
    return 1.01 * (int(laid.dense[0].shape[0]) + 2 * rare + 8) * 2.0**-24 * total


def _block(engine: Engine, left: Side, right: Side, at: tuple[slice, slice], same: bool) -> Any:
    """Distances of some rows of either side."""
    rows, others = at
    tile = engine.tile(left.dense[rows.start // engine.block], right.dense[others.start // engine.block])
    tile = tile[: rows.stop - rows.start, : others.stop - others.start]
    tile += left.sums[rows, None] + right.sums[None, others]
    columns = engine.arange(len(right.lists)) * len(right)
    begin = engine.search(right.keys, columns + others.start)
    end = engine.search(right.keys, columns + others.stop)
    engine.subtract_shared(tile, left.rare, rows.start, right.lists, (begin, end, others.start))
    return engine.finish(tile, same and rows == others)


def _blocks(engine: Engine, left: Side, right: Side, same: bool) -> Iterator[tuple[slice, slice]]:
    """All blocks; of one set with itself those above the diagonal."""
    for i in range(0, len(left), engine.block):
        for j in range(i if same else 0, len(right), engine.block):
            yield slice(i, min(i + engine.block, len(left))), slice(j, min(j + engine.block, len(right)))


def table(engine: Engine, left: Side, right: Side, same: bool, out: Any) -> None:
    """All distances into `out`; the next block is computed while one is written."""
    unfinished: list[Callable[[], None]] = []
    for rows, others in _blocks(engine, left, right, same):
        tile = _block(engine, left, right, (rows, others), same)
        begun = [engine.write(tile, out[rows, others])]
        if same and rows != others:
            begun.append(engine.write(tile.T, out[others, rows]))
        for end in unfinished:
            end()
        unfinished = begun
    for end in unfinished:
        end()


def nearest(
    engine: Engine, left: Side, right: Side, same: bool, count: int
) -> tuple[Single, npt.NDArray[np.int64]]:
    """The nearest rows of the right side to each of the left, of one set the nearest others; equal ones by number."""
    best: dict[int, Any] = {}

    def take(row: int, keys: Any) -> None:
        best[row] = engine.merged(best[row], keys, count) if row in best else keys

    for rows, others in _blocks(engine, left, right, same):
        tile = _block(engine, left, right, (rows, others), same)
        take(rows.start, engine.nearest(tile, count, others.start, same and rows == others))
        if same and rows != others:
            take(others.start, engine.nearest(tile.T, count, rows.start, False))
    keys = np.concatenate([np.empty((0, count), np.int64), *(engine.host(best[row]) for row in sorted(best))])
    return (keys >> 32).astype(np.int32).view(np.float32), keys & 0xFFFFFFFF
