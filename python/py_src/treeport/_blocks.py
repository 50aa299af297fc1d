"""Blocks of rows or of pairs, for worker processes of joblib and Dask.

Distances have the same bits in blocks as in one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from scipy import sparse

from . import _core
from ._batches import emd_pairwise
from ._clouds import Clouds, clouds_for, clouds_of
from ._ground import GroundInput, ground_of
from ._inputs import Measures, is_sparse, measures_of
from ._inputs import table as table_of_rows
from ._model import Model
from ._solution import Bounds
from ._tables import table_of
from ._types import Floats, Integers

Found = list[tuple[Floats, Integers]]

# A block of distances takes 32 MiB.
MOST_ROWS = 2048


class Metric:
    """A ground metric that pickles as its parameters, and is built once per process."""

    def __init__(self, given: Any) -> None:
        self.given = GroundInput(
            given.points, given.cost, given.graph, given.metric, given.weight, given.period
        )
        self.normalize: bool = given.normalize
        self.made: Optional[_core.Ground] = None

    def ground(self, n_points: int) -> _core.Ground:
        """Returns the metric, which is discrete on `n_points` points if no metric was given."""
        if all(what is None for what in self.given.sources):
            return _core.Ground.discrete(n_points)
        if self.made is None:
            self.made = ground_of(*self.given)
        return self.made

    def __getstate__(self) -> dict[str, Any]:
        return {"given": self.given, "normalize": self.normalize, "made": None}


@dataclass(frozen=True)
class EmdOptions:
    """Keyword arguments of `emd_pairwise` that do not depend on the measures."""

    given: dict[str, Any]


def sizes_of(rows: int, size: int) -> tuple[int, ...]:
    """Returns blocks of `size` rows, the last with the remainder; one empty block for 0 rows."""
    full, rest = divmod(rows, max(1, size))
    return (max(1, size),) * full + ((rest,) if rest or not full else ())


def square(rows: int, workers: int, most: int = MOST_ROWS) -> tuple[int, ...]:
    """Returns block sizes that balance the load: about 16 pairs of blocks per worker."""
    return sizes_of(rows, min(most, -(-rows // int(np.ceil(np.sqrt(32 * workers))))))


def per_task(pairs: int, workers: int) -> int:
    """Returns the pairs per task, which balances the load against the overhead of messages."""
    return int(np.clip(pairs // (8 * workers), 16, 4096))


def starts(sizes: Sequence[int]) -> list[int]:
    """Returns the first row of every block."""
    return [int(end) for end in np.cumsum([0, *sizes])[:-1]]


def cut(X: Any, sizes: Sequence[int]) -> list[Any]:
    """Splits rows into blocks of these sizes."""
    return [X[begin : begin + size] for begin, size in zip(starts(sizes), sizes)]


def cells(left: int, right: int, symmetric: bool) -> list[tuple[int, int]]:
    """Returns all pairs of blocks; of symmetric pairs, only (i, j) with i <= j."""
    return [(i, j) for i in range(left) for j in range(i if symmetric else 0, right)]


def stacked(a: Any, b: Any) -> Any:
    """Concatenates the rows of two sets; the result is sparse if one of them is."""
    a, b = table_of_rows(a), table_of_rows(b)
    if is_sparse(a) or is_sparse(b):
        return sparse.vstack([sparse.csr_array(a), sparse.csr_array(b)], format="csr")
    return np.concatenate([a, b])


def some_pairs(X: Any, pairs: Integers, most: int) -> list[tuple[Integers, Any]]:
    """Splits pairs into blocks; each has its rows of `X` and pairs of numbers of those rows."""
    jobs = []
    for block in cut(pairs, sizes_of(len(pairs), most)):
        rows, places = np.unique(block, return_inverse=True)
        jobs.append((places.reshape(-1, 2), X[rows]))
    return jobs


def by_blocks(
    pairs: Integers, left: Sequence[int], right: Sequence[int], most: int
) -> list[tuple[Integers, Integers, int, int]]:
    """Groups pairs by their two blocks of rows, with at most `most` pairs in a group.

    Returns the numbers of the pairs, their rows within the blocks, and both block numbers."""
    first = np.array(starts(left)), np.array(starts(right))
    at = np.stack(
        [np.searchsorted(first[k], pairs[:, k], side="right") - 1 for k in (0, 1)], axis=1
    )
    inside = pairs - np.stack([first[k][at[:, k]] for k in (0, 1)], axis=1)
    order = np.lexsort((at[:, 1], at[:, 0]))
    borders = np.flatnonzero(np.any(np.diff(at[order], axis=0), axis=1)) + 1
    jobs = []
    for cell in np.split(order, borders) if len(order) else []:
        i, j = (int(block) for block in at[cell[0]])
        jobs += [(some, inside[some], i, j) for some in cut(cell, sizes_of(len(cell), most))]
    return jobs


# Tasks of worker processes, each on one thread.


def of_size(rows: Any, size: int, number: int) -> Any:
    """Returns the block, or raises an error if it does not have `size` rows."""
    if rows.shape[0] != size:
        raise ValueError(f"block {number} has {rows.shape[0]} rows, and `chunks=` says {size}")
    return rows


def clouds_of_size(clouds: Any, size: int, number: int) -> Clouds:
    """Returns a block as `Clouds`, or raises an error if it does not have `size` clouds."""
    found: Clouds = with_context(f"block {number}", clouds_of, clouds, True)
    if len(found) != size:
        raise ValueError(f"block {number} has {len(found)} clouds, and `chunks=` says {size}")
    return found


def with_context(where: str, function: Callable[..., Any], *given: Any) -> Any:
    """Calls the function and adds `where` to its errors, whose row numbers count within a block."""
    try:
        return function(*given)
    except ValueError as error:
        raise ValueError(f"in {where}: {error}") from None


def census(model: Model, normalize: bool, rows: Any) -> Integers:
    """Returns the statistics of a block of rows that determine the memory layout."""
    return model._raw.census(measures_of(rows, normalize))


def table(
    model: Model, normalize: bool, a: Any, whole: Integers, b: Any = None, other: Any = None
) -> Floats:
    """Computes distances between two blocks of rows, or within one, with the bits of one full call.

    `whole` and `other` are the censuses of all rows on either side."""
    # Dask deserializes arrays that may be unaligned.
    left = measures_of(a, normalize), np.require(whole, np.int64, "A")
    right = None if b is None else (measures_of(b, normalize), np.require(other, np.int64, "A"))
    return model._raw.pairwise_part(left, right, 1)


def table_on(device: str, model: Model, normalize: bool, a: Any, b: Any = None) -> Any:
    """Computes distances between two blocks, or within one, on a GPU in single precision."""
    left, right = measures_of(a, normalize), None if b is None else measures_of(b, normalize)
    return table_of(model._raw, left, right, None, 1, device)


def embedded(model: Model, normalize: bool, rows: Any, threads: int = 1) -> sparse.csr_array:
    """Embeds rows so that their cityblock distances are those of the model.

    With `normalize`, rows without mass become rows of zeros."""
    if not normalize or isinstance(rows, Measures):  # which `embed` checks for mass
        return model.embed(rows, normalize=normalize, n_jobs=threads or None)
    kept = np.asarray(rows.sum(axis=1)).ravel() > 0
    if not kept.any():
        return sparse.csr_array((len(kept), model.n_nodes))
    measures = measures_of(rows if kept.all() else rows[kept], normalize=True)
    start, columns, values, nodes = model._raw.embed(measures, threads)
    # Row r begins at the end of the last row with mass before it.
    start = start[np.concatenate([[0], np.cumsum(kept)])]
    return sparse.csr_array((values, columns, start), shape=(len(kept), nodes))


def solve(metric: Metric, pairs: Integers, a: Any, b: Any = None) -> Floats:
    """Computes exact distances of listed pairs, within `a` or between `a` and `b`."""
    if b is not None:
        left, at_left = np.unique(pairs[:, 0], return_inverse=True)
        right, at_right = np.unique(pairs[:, 1], return_inverse=True)
        a = stacked(a[left], b[right])
        pairs = np.stack([at_left.ravel(), len(left) + at_right.ravel()], axis=1)
    ground, pairs = metric.ground(a.shape[1]), pairs.astype(np.int64)
    return _core.emd_pairs(ground, measures_of(a, metric.normalize), pairs, 1, prepare=True)[1]


def solve_table(metric: Metric, a: Any, b: Any = None) -> Floats:
    """Computes exact distances between all rows of two blocks, or within one."""
    shape = (a.shape[0], (a if b is None else b).shape[0])
    if b is not None:
        pairs = np.indices(shape).reshape(2, -1).T
        return solve(metric, pairs, a, b).reshape(shape)
    above = np.triu_indices(shape[0], 1)
    distances = np.zeros(shape)
    distances[above] = solve(metric, np.stack(above, axis=1), a)
    return distances + distances.T


def emd_table(options: EmdOptions, a: Any, b: Any = None) -> Any:
    """Returns `emd_pairwise` of two blocks, or of one, as an array, or lower and upper bounds."""
    found = emd_pairwise(a, b, **options.given)
    if isinstance(found, Bounds):
        return [(np.asarray(found.lower), np.asarray(found.upper))]
    return np.asarray(found)


def in_order(order: list[Integers], parts: list[Floats]) -> Floats:
    """Returns distances in the order of the listed pairs."""
    distances = np.empty(sum(map(len, order)))
    for places, values in zip(order, parts):
        distances[places] = values
    return distances


def search(
    index: _core.Index,
    queries: Any,
    normalize: bool,
    k: int,
    accuracy: Any,
    limits: Optional[list[float]] = None,
) -> _core._Found:
    """Finds the k nearest measures to a block of queries, within the `limits` of each if given."""
    is_cloud = index.is_of_clouds
    given = clouds_for(index, queries, normalize) if is_cloud else measures_of(queries, normalize)
    return index.nearest(given, k, accuracy=accuracy, threads=1, limits=limits)


def search_table(
    index: _core.Index, queries: Any, normalize: bool, k: int, accuracy: Any
) -> list[Any]:
    """Returns the result of `search` as a table of distances, a table of numbers, and bounds."""
    _, numbers, distances, bounds, _ = search(index, queries, normalize, k, accuracy)
    return [(distances.reshape(-1, k), numbers.reshape(-1, k), bounds)]


def nearest(distances: Floats, numbers: Integers, k: int) -> tuple[Floats, Integers]:
    """Returns the k smallest distances of every row and the IDs (`numbers`) of their columns.

    Ties go to the smaller ID."""
    k = min(k, distances.shape[1])
    if not distances.size or not k:
        return distances[:, :k], np.empty((len(distances), k), dtype=np.int64)
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    row, column = np.nonzero(distances <= last)  # at least k per row, more if there are ties
    value, number = distances[row, column], np.broadcast_to(numbers, distances.shape)[row, column]
    order = np.lexsort((number, value, row))
    begin = np.searchsorted(row, np.arange(len(distances)))
    kept = order[begin[:, np.newaxis] + np.arange(k)]
    return value[kept], number[kept]


def near(
    k: int, first: int, mirrored: Optional[int], alone: bool, make: Callable[..., Any], *block: Any
) -> Found:
    """Finds the nearest rows of one block for every row of another.

    `first` is the number of the first column. If `mirrored`, the number of the first row, is given,
    the result also has the nearest rows for every column. In a self-join (`alone`), a row is not
    its own neighbor."""
    distances = make(*block)
    if alone:
        np.fill_diagonal(distances, np.inf)

    def found(distances: Floats, first: int) -> tuple[Floats, Integers]:
        return nearest(distances, np.arange(first, first + distances.shape[1])[np.newaxis], k)

    return [found(distances, first)] + ([] if mirrored is None else [found(distances.T, mirrored)])


def nearest_of(k: int, sides: list[int], parts: list[Found]) -> Found:
    """Merges the nearest neighbors from several blocks; `sides` selects the direction of each."""
    both = zip(*(part[side] for part, side in zip(parts, sides)))
    distances, numbers = (np.concatenate(which, axis=1) for which in both)
    return [nearest(distances, numbers, k)]


def one_side(found: Found, side: int) -> Any:
    """Returns the distances (`side` 0) or the numbers (`side` 1)."""
    return found[0][side]


# Under `joblib.parallel_config`.


def processes() -> int:
    """Returns the number of joblib processes; 0 if the backend is sequential or uses threads."""
    backend, _ = get_active_backend()
    workers = int(effective_n_jobs(None))
    return 0 if workers < 2 or getattr(backend, "uses_threads", False) else workers


def spread(function: Callable[..., Any], jobs: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """Calls the function for every job in joblib processes, and yields results as they complete."""
    # Some backends, such as "multiprocessing", cannot return results before all jobs are done.
    backend, _ = get_active_backend()
    how = "generator" if getattr(backend, "supports_return_generator", False) else "list"
    return iter(Parallel(return_as=how)(delayed(function)(*job) for job in jobs))


def few(count: int) -> int:
    """Returns the rows or pairs per job if jobs carry large data: two jobs per process."""
    return max(1, -(-count // (2 * processes())))


def spread_pairs(metric: Metric, X: Any, pairs: Integers) -> Floats:
    """Computes exact distances of listed pairs of rows in joblib processes."""
    jobs = some_pairs(table_of_rows(X), pairs, few(len(pairs)))
    return np.concatenate(list(spread(solve, [(metric, *job) for job in jobs])))


def spread_search(
    index: _core.Index, queries: Any, normalize: bool, k: int, accuracy: Any
) -> _core._Found:
    """Finds the nearest measures of an index to queries in joblib processes."""
    blocks = cut(table_of_rows(queries), sizes_of(queries.shape[0], few(queries.shape[0])))
    found = list(spread(search, [(index, block, normalize, k, accuracy) for block in blocks]))
    each = np.concatenate([np.diff(start) for start, *_ in found])
    start = np.concatenate([[0], np.cumsum(each)])
    numbers, distances, bounds, solved = (np.concatenate(part) for part in list(zip(*found))[1:])
    return start, numbers, distances, bounds, solved


def spread_table(model: Model, normalize: bool, A: Any, B: Any, out: Floats) -> Floats:
    """Computes all distances between two sets of rows, or within one, in joblib processes."""

    def parts(rows: Any) -> tuple[Any, tuple[int, ...], list[Any]]:
        rows, sizes = table_of_rows(rows), square(rows.shape[0], processes())
        return model._raw.census(measures_of(rows, normalize)), sizes, cut(rows, sizes)

    whole, sizes, left = parts(A)
    other, widths, right = (whole, sizes, left) if B is None else parts(B)
    places = cells(len(left), len(right), B is None)

    def job(i: int, j: int) -> tuple[Any, ...]:
        own = (model, normalize, left[i], whole)
        return own if B is None and i == j else (*own, right[j], other)

    at = [[slice(a, a + n) for a, n in zip(starts(some), some)] for some in (sizes, widths)]
    for (i, j), block in zip(places, spread(table, [job(*place) for place in places])):
        out[at[0][i], at[1][j]] = block
        if B is None:
            out[at[0][j], at[1][i]] = block.T
    return out
