"""Distances of all pairs, computed in tiles in single precision, for GPUs.

The distance of two measures is the cityblock distance of their rows of `embed`,
``sum_v |a_v - b_v|``. The columns are of two kinds:

* Frequent columns, in which many pairs of rows are both nonzero, are stored in a dense array and
  take two instructions per pair.
* Rare columns, near the leaves, use ``|a - b| = a + b - 2 min(a, b)``. The minimum is 0 unless both
  rows are nonzero, so only such pairs are visited, through inverted lists of the rows of a column.

The minimum of each column over all rows is subtracted first. That changes no distance, reduces
rounding errors, and drops columns that are equal in all rows. Results are exact up to `rounding`.

Invariant: a block has the same bits whichever other blocks are computed, and ``block(i, j)`` is the
transpose of ``block(j, i)``. Work for n rows against m: n m F for F frequent columns, and one step
for every pair of rows and rare column in which both are nonzero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from .. import _core

Single = npt.NDArray[np.float32]

#: The number of rows is padded to a multiple of this, so that all tiles of an engine are full.
PADDING = 256


@dataclass(frozen=True)
class SparseRows:
    """SparseRows of `embed` in compressed sparse row format."""

    start: Any
    columns: Any
    values: Any

    def __len__(self) -> int:
        return len(self.start) - 1


@dataclass(frozen=True)
class TableSide:
    """One side of the distance table, in the memory layout of the tiles."""

    #: Frequent columns × padded rows, one array for each block of rows.
    dense: list[Any]
    #: The rare columns of each row.
    rare: SparseRows
    #: The sum of the infrequent columns of each row, including those that one side alone uses.
    sums: Any
    #: The rows of each rare column, in order.
    lists: SparseRows
    #: Sorted keys of the entries of `lists`, column × number of rows + row, for binary search.
    keys: Any

    def __len__(self) -> int:
        return len(self.rare)


class TableEngine:
    """Device-specific operations; this reference implementation uses NumPy."""

    #: A column is frequent if more than this share of all pairs is nonzero in both rows. One step
    #: along an inverted list takes as long as 1 / `frequent` steps of dense columns.
    frequent = 0.012
    #: SparseRows on either side of a block.
    block = 2048

    def current(self) -> Any:
        """Returns a context manager in which the device is the current one."""
        return nullcontext()

    def array(self, values: Any) -> Any:
        """Returns values as an array on the device."""
        return np.asarray(values)

    def zeros(self, *shape: int) -> Any:
        """Returns an array of zeros in single precision."""
        return np.zeros(shape, np.float32)

    def single(self, values: Any) -> Any:
        """Converts values to single precision."""
        return values.astype(np.float32)

    def short(self, numbers: Any) -> Any:
        """Converts numbers to 32-bit integers."""
        return numbers.astype(np.int32)

    def arange(self, count: int) -> Any:
        return np.arange(count)

    def repeat(self, values: Any, counts: Any) -> Any:
        return np.repeat(values, counts)

    def counts(self, numbers: Any, size: int) -> Any:
        """Counts the occurrences of each number below `size`."""
        return np.bincount(numbers, minlength=size)

    def begins(self, counts: Any) -> Any:
        """Returns the offsets of parts of these sizes, and the end of the last part."""
        return np.concatenate([[0], np.cumsum(counts)])

    def split(self, dense: Any) -> list[Any]:
        """Splits the columns into one contiguous array per block."""
        return [
            dense[:, at : at + self.block].copy() for at in range(0, dense.shape[1], self.block)
        ]

    def order(self, keys: Any) -> Any:
        return np.argsort(keys, kind="stable")

    def least(self, sets: list[SparseRows], nodes: int) -> Any:
        """Returns the minimum of each column over all rows of all sets; missing entries are 0."""
        least, used = np.full(nodes, np.inf), np.zeros(nodes, np.int64)
        for rows in sets:
            np.minimum.at(least, rows.columns, rows.values)
            used += self.counts(rows.columns, nodes)
        return np.where(used == sum(map(len, sets)), least, 0)

    def search(self, keys: Any, values: Any) -> Any:
        """Returns the number of sorted keys below each value."""
        return np.searchsorted(keys, values)

    def sums(self, rows: SparseRows) -> Any:
        """Returns the sum of each row in single precision."""
        sums = np.zeros(len(rows), np.float32)
        for row, (first, end) in enumerate(zip(rows.start[:-1], rows.start[1:])):
            sums[row] = rows.values[first:end].sum(dtype=np.float32)
        return sums

    def tile(self, left: Any, right: Any) -> Any:
        """Computes distances over the frequent columns for all padded rows."""
        tile = np.zeros((left.shape[1], right.shape[1]), np.float32)
        for a, b in zip(left, right):
            tile += np.abs(a[:, None] - b[None, :])
        return tile

    def subtract_shared(
        self, tile: Any, rare: SparseRows, first: int, lists: SparseRows, parts: Any
    ) -> None:
        """Subtracts 2 min(a, b) for every rare column in which both rows are nonzero.

        Row i of the tile is row ``first + i`` of `rare`. The entries of column v in `lists` that
        belong to the tile are ``parts[0][v]:parts[1][v]``. The tile's first column is row
        ``parts[2]``."""
        begin, end, offset = parts
        for i, row in enumerate(tile):
            for e in range(rare.start[first + i], rare.start[first + i + 1]):
                v = rare.columns[e]
                some = slice(begin[v], end[v])
                row[lists.columns[some] - offset] -= 2 * np.minimum(
                    rare.values[e], lists.values[some]
                )

    def finish(self, tile: Any, diagonal: bool) -> Any:
        """Clips distances at 0, and sets the diagonal to 0 where it holds self-distances."""
        np.maximum(tile, 0, out=tile)
        if diagonal:
            np.fill_diagonal(tile, 0)
        return tile

    def nearest(self, tile: Any, count: int, first: int, itself: bool) -> Any:
        """Returns the `count` nearest columns of each row as sorted keys.

        A key holds the bits of a distance above the column number; the first column has the number
        `first`. With `itself`, the diagonal is excluded."""
        keys = tile.view(np.int32).astype(np.int64) << 32 | np.arange(first, first + tile.shape[1])
        if itself:
            np.fill_diagonal(keys, EXCLUDED)
        keys.partition(min(count, keys.shape[1]) - 1, axis=1)
        return np.sort(keys[:, :count], axis=1)

    def merged(self, a: Any, b: Any, count: int) -> Any:
        """Merges two sets of sorted keys and keeps the `count` smallest of each row."""
        return np.sort(np.concatenate([a, b], axis=1), axis=1)[:, :count]

    def host(self, values: Any) -> Any:
        """Returns values as a NumPy array."""
        return values

    def write(self, tile: Any, out: Any) -> Callable[[], None]:
        """Starts copying a tile into `out`, and returns a function that completes the copy."""
        out[...] = tile
        return lambda: None


EXCLUDED = np.iinfo(np.int64).max


def sides(
    engine: TableEngine, left: SparseRows, right: Optional[SparseRows], nodes: int
) -> tuple[TableSide, TableSide]:
    """Returns both sets of rows in tile layout; without a second set, the first one twice."""
    given = [left] if right is None else [left, right]
    _check_range(given)
    sets = _less_common(engine, [_on(engine, rows) for rows in given], nodes)
    used = [engine.counts(rows.columns, nodes) for rows in sets]
    frequent = used[0] * used[-1] > engine.frequent * len(sets[0]) * len(sets[-1])
    # A column that only one set uses contributes to the row sums alone.
    shared = (used[0] > 0) & (used[-1] > 0) & ~frequent
    laid = [_side(engine, rows, frequent, shared) for rows in sets]
    return laid[0], laid[-1]


def _check_range(sets: list[SparseRows]) -> None:
    """Raises an error if row sums would overflow or values underflow in single precision."""
    largest = max(float(rows.values.max(initial=0.0)) for rows in sets)
    if largest and not 1e-20 < largest < 1e30:
        raise ValueError(
            f"lengths of edges times masses are up to {largest:.1e}, outside the range of single "
            "precision; scale masses or the model (`scaled`) to about 1, or leave out `device`"
        )


def _on(engine: TableEngine, rows: SparseRows) -> SparseRows:
    return SparseRows(
        engine.array(rows.start), engine.array(rows.columns), engine.array(rows.values)
    )


def _less_common(engine: TableEngine, sets: list[SparseRows], nodes: int) -> list[SparseRows]:
    """Subtracts the minimum of every column from all rows."""
    common = engine.least(sets, nodes)
    without = [
        SparseRows(rows.start, rows.columns, rows.values - common[rows.columns]) for rows in sets
    ]
    return [_some(engine, rows, rows.values > 0) for rows in without]


def _row_numbers(engine: TableEngine, rows: SparseRows) -> Any:
    return engine.repeat(engine.arange(len(rows)), rows.start[1:] - rows.start[:-1])


def _some(engine: TableEngine, rows: SparseRows, kept: Any) -> SparseRows:
    """Returns the rows restricted to the entries in `kept`."""
    counts = engine.counts(_row_numbers(engine, rows)[kept], len(rows))
    return SparseRows(engine.begins(counts), rows.columns[kept], rows.values[kept])


def _side(engine: TableEngine, rows: SparseRows, frequent: Any, shared: Any) -> TableSide:
    rows = replace(rows, values=engine.single(rows.values))
    rest = _some(engine, rows, ~frequent[rows.columns])
    rare = _some(engine, rest, shared[rest.columns])
    rare = replace(rare, columns=engine.begins(shared)[:-1][rare.columns])
    numbers = _row_numbers(engine, rare)
    keys = rare.columns * len(rows) + numbers
    order = engine.order(keys)
    begins = engine.begins(engine.counts(rare.columns, int(shared.sum())))
    lists = SparseRows(begins, engine.short(numbers[order]), rare.values[order])
    rare = replace(rare, columns=engine.short(rare.columns))
    return TableSide(_dense(engine, rows, frequent), rare, engine.sums(rest), lists, keys[order])


def _dense(engine: TableEngine, rows: SparseRows, frequent: Any) -> list[Any]:
    """Returns the frequent columns of padded rows as dense arrays, with at least one column."""
    height, width = max(1, int(frequent.sum())), -(-len(rows) // PADDING) * PADDING
    dense, kept = engine.zeros(height, width), frequent[rows.columns]
    places = engine.begins(frequent)[:-1][rows.columns[kept]]
    dense[places, _row_numbers(engine, rows)[kept]] = rows.values[kept]
    return engine.split(dense)


def rounding(left: SparseRows, right: Optional[SparseRows], laid: TableSide) -> float:
    """Returns a bound on the rounding error of a distance in single precision.

    Every value is rounded once. A distance sums one term per frequent column and two per rare entry
    of a row. Each partial sum is at most the sum of both rows, and is rounded once."""
    rows = [left, left if right is None else right]
    total = sum(
        float(np.diff(np.concatenate([[0.0], np.cumsum(r.values)])[r.start]).max()) for r in rows
    )
    rare = max(int(np.diff(r.start).max()) for r in rows)
    return 1.01 * _core.lost_in_single(int(laid.dense[0].shape[0]) + 2 * rare + 8) * total


def _block(
    engine: TableEngine, left: TableSide, right: TableSide, at: tuple[slice, slice], same: bool
) -> Any:
    """Computes the distances of one block: a range of rows on either side."""
    rows, others = at
    tile = engine.tile(
        left.dense[rows.start // engine.block], right.dense[others.start // engine.block]
    )
    tile = tile[: rows.stop - rows.start, : others.stop - others.start]
    tile += left.sums[rows, None] + right.sums[None, others]
    columns = engine.arange(len(right.lists)) * len(right)
    begin = engine.search(right.keys, columns + others.start)
    end = engine.search(right.keys, columns + others.stop)
    engine.subtract_shared(tile, left.rare, rows.start, right.lists, (begin, end, others.start))
    return engine.finish(tile, same and rows == others)


def _blocks(
    engine: TableEngine, left: TableSide, right: TableSide, same: bool
) -> Iterator[tuple[slice, slice]]:
    """Yields all blocks; for a self-join, only those on and above the diagonal."""
    for i in range(0, len(left), engine.block):
        for j in range(i if same else 0, len(right), engine.block):
            yield (
                slice(i, min(i + engine.block, len(left))),
                slice(j, min(j + engine.block, len(right))),
            )


def table(engine: TableEngine, left: TableSide, right: TableSide, same: bool, out: Any) -> None:
    """Writes all distances to `out`; computing a block overlaps with copying the previous one."""
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
    engine: TableEngine, left: TableSide, right: TableSide, same: bool, count: int
) -> tuple[Single, npt.NDArray[np.int64]]:
    """Returns distances and numbers of the nearest rows of the right side for each left row.

    Ties are broken by number. In a self-join, a row is not its own neighbor."""
    best: dict[int, Any] = {}

    def take(row: int, keys: Any) -> None:
        best[row] = engine.merged(best[row], keys, count) if row in best else keys

    for rows, others in _blocks(engine, left, right, same):
        tile = _block(engine, left, right, (rows, others), same)
        take(rows.start, engine.nearest(tile, count, others.start, same and rows == others))
        if same and rows != others:
            take(others.start, engine.nearest(tile.T, count, rows.start, False))
    keys = np.concatenate(
        [np.empty((0, count), np.int64), *(engine.host(best[row]) for row in sorted(best))]
    )
    return (keys >> 32).astype(np.int32).view(np.float32), keys & 0xFFFFFFFF
