"""Dask task graphs over blocks of rows of masses.

The model is sent to every worker once."""

from __future__ import annotations

import os
import pickle
from functools import partial
from numbers import Integral
from typing import Any, Callable, NamedTuple, Optional, Union
from weakref import WeakKeyDictionary, WeakValueDictionary

import dask.array as da
import numpy as np
from dask import delayed
from dask.array.core import concatenate_lookup
from dask.base import tokenize
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, Future, get_client
from scipy import sparse

from . import _blocks
from ._clouds import Clouds, are_clouds, clouds_of
from ._ground import names_of_ground, places_of_ground
from ._inputs import Places, table, unmapped
from ._model import Model
from ._neighbors import WassersteinNeighbors
from ._parts import Parts, check_facts, checked, facts_of, load

Chunks = Union[int, tuple[int, ...], None]

# The largest number of blocks whose nearest neighbors are merged in one task.
_AT_ONCE = 16

# Dask for Python 3.9 concatenates sparse matrices, but not sparse arrays.
if concatenate_lookup.dispatch(sparse.csr_array) is np.concatenate:
    concatenate_lookup.register(
        sparse.csr_array,
        lambda blocks, axis=0: (sparse.hstack if axis else sparse.vstack)(blocks, format="csr"),
    )


def current(client: Optional[Client]) -> Optional[Client]:
    """Returns the client, by default the current one, or `None` if there is none."""
    if client is None:
        try:
            client = get_client()
        except ValueError:
            return None
    if not isinstance(client, Client):
        kind = type(client).__name__
        raise TypeError(
            f"client is of type {kind}; give a distributed.Client, or None for the current one"
        )
    if client.asynchronous:
        raise ValueError(
            "the client is asynchronous; give one that is not, from a thread of its own"
        )
    return client


# Objects sent to each client, while a result still needs them.
_sent: WeakKeyDictionary[Client, WeakValueDictionary[str, Future]] = WeakKeyDictionary()


def _send(client: Optional[Client], what: Any) -> Delayed:
    """Sends an object to every worker once, or embeds it in the graph if there is no client."""
    token = tokenize(pickle.dumps(what))
    if client is None:
        return delayed(what, name=f"model-{token}", traverse=False)
    future = _kept(client, token, lambda: client.scatter(what, broadcast=True, hash=False))
    return delayed(future, name=f"model-{token}-{future.key}", traverse=False)


def _kept(client: Client, token: str, make: Callable[[], Future]) -> Future:
    """Returns the future of an object that was sent before, or sends it now."""
    sent = _sent.setdefault(client, WeakValueDictionary())
    future = sent.get(token)
    if future is None or future.status not in ("finished", "pending"):
        sent[token] = future = make()
    return future


def send_parts(client: Optional[Client], given: Any) -> tuple[Parts, list[Delayed]]:
    """Distributes the indexes of a collection over the workers; workers load files immediately."""
    normalize, accuracy = checked(given)
    if client is None:
        indexes = [load(os.fspath(part)) if _is_file(part) else part._index for part in given]
        facts = [facts_of(index) for index in indexes]
        names = [f"part-{tokenize(pickle.dumps(index))}" for index in indexes]
        needs = [delayed(index, name=name, traverse=False) for index, name in zip(indexes, names)]
    else:
        futures = [_send_part(client, place, part) for place, part in enumerate(given)]
        facts = client.gather([client.submit(facts_of, future) for future in futures])
        needs = [delayed(future, name=f"part-{future.key}", traverse=False) for future in futures]
    check_facts(given, facts)
    return Parts([need.key for need in needs], facts, normalize, accuracy), needs


def _is_file(part: Any) -> bool:
    return isinstance(part, (str, os.PathLike))


def _send_part(client: Client, place: int, part: Any) -> Future:
    """Sends one index to a worker, or has it load a file; another worker may replace it."""
    workers = sorted(client.nthreads())
    if not workers:
        raise ValueError("the cluster has no workers yet; `client.wait_for_workers` waits for them")
    there = [workers[place % len(workers)]]
    if not _is_file(part):
        token = tokenize(pickle.dumps(part._index))
        return _kept(client, token, lambda: client.scatter(part._index, workers=there, hash=False))
    path = os.path.abspath(os.fspath(part))
    known = os.stat(path) if os.path.exists(path) else None  # only the worker may have it
    token = tokenize(path, known and (known.st_mtime_ns, known.st_size))
    return _kept(
        client,
        token,
        lambda: client.submit(load, path, workers=there, allow_other_workers=True, pure=False),
    )


class RowBlocks(NamedTuple):
    """Rows of masses, or clouds, in blocks."""

    keys: list[Any]
    sizes: tuple[int, ...]
    needs: list[Any]  # the collections that the keys belong to
    plain: Any = None  # all rows, if they are in memory
    called: str = "row"

    def block(self, i: int) -> str:
        """Returns the name of a block for error messages."""
        return f"the block of {self.called}s that begins at {self.called} {_blocks.starts(self.sizes)[i]}"

    def against(self, other: RowBlocks, i: int, j: int) -> str:
        """Returns the name of a pair of blocks for error messages."""
        first, second = _blocks.starts(self.sizes)[i], _blocks.starts(other.sizes)[j]
        if other is self and i == j:
            return self.block(i)
        return f"the block of {self.called}s that begins at {self.called} {first}, followed by that from {self.called} {second} on"


class Job:
    """The tasks of one call, and the keys and settings that they share."""

    def __init__(self, client: Optional[Client], what: Any, normalize: bool = True) -> None:
        self.client = client = current(client)
        self.model, self.normalize, self.needs = None, normalize, []
        if what is not None:
            sent = _send(client, what)
            self.model, self.needs = sent.key, [sent]
        self.tasks: dict[Any, Any] = {}
        self.counted: dict[int, str] = {}
        self.workers = (
            (os.cpu_count() or 1) if client is None else max(1, sum(client.nthreads().values()))
        )

    def rows(self, model: Any, X: Any, chunks: Chunks, most: int) -> RowBlocks:
        rows = _rows(model, X, chunks, self.workers, most)
        self.needs += rows.needs
        return rows

    def two(
        self, model: Any, A: Any, B: Any, chunks: Chunks, most: int = _blocks.MOST_ROWS
    ) -> tuple[RowBlocks, RowBlocks]:
        """Returns two sets of rows, or one twice; a tuple of `chunks` applies to the first."""
        left = self.rows(model, A, chunks, most)
        if B is None:
            return left, left
        return left, self.rows(model, B, chunks if isinstance(chunks, int) else None, most)

    def clouds(self, X: Any, chunks: Chunks, most: int) -> RowBlocks:
        """Returns clouds in blocks; splits `Clouds`, and checks delayed blocks against `chunks`."""
        if isinstance(X, Clouds):
            rows = _of_clouds(X, _sizes(len(X), chunks, self.workers, most))
        else:
            rows = _of_delayed(X, chunks, _blocks.clouds_of_size, "cloud")
        self.needs += rows.needs
        return rows

    def block(
        self, left: RowBlocks, right: RowBlocks, i: int, j: int, device: Optional[str] = None
    ) -> tuple[Any, ...]:
        """Returns the task of one block of the distance table: a function and its arguments."""
        alone = right is left and i == j
        if device is not None:
            both = [left.keys[i]] if alone else [left.keys[i], right.keys[j]]
            return partial(_blocks.table_on, device), self.model, self.normalize, *both
        own = (_blocks.table, self.model, self.normalize, left.keys[i], self.census(left))
        return own if alone else (*own, right.keys[j], self.census(right))

    def census(self, rows: RowBlocks) -> str:
        """Returns the key of the census of all rows, which determines the layout of every block."""
        if id(rows) not in self.counted:
            name = self.counted[id(rows)] = "census-" + self.token(rows)
            for i, key in enumerate(rows.keys):
                task = (_blocks.census, self.model, self.normalize, key)
                self.add((name, i), rows.block(i), *task)
            self.tasks[name] = (sum, [(name, i) for i in range(len(rows.keys))])
        return self.counted[id(rows)]

    def add(self, key: Any, where: str, *task: Any) -> None:
        """Adds a task, a function and its arguments, whose errors begin with `where`."""
        self.tasks[key] = (_blocks.with_context, where, *task)

    def tables(
        self,
        name: str,
        left: RowBlocks,
        right: RowBlocks,
        block: Callable[[int, int], tuple[Any, ...]],
        sides: tuple[str, ...] = (),
        device: Optional[str] = None,
    ) -> list[da.Array]:
        """Returns one table of all blocks, or one for each side of the results of `block`.

        Symmetric tables transpose the blocks above the diagonal."""
        name = f"{name}-{self.token(left, right, sides, device)}"
        names = [f"{name}-{side}" for side in sides] or [name]
        for i, j in _blocks.cells(len(left.sizes), len(right.sizes), right is left):
            made = (f"{name}-block" if sides else name, i, j)
            self.add(made, left.against(right, i, j), *block(i, j))
            for number, _ in enumerate(sides):
                self.tasks[names[number], i, j] = (_blocks.one_side, made, number)
            if right is left and i != j:
                for table in names:
                    self.tasks[table, j, i] = (np.transpose, (table, i, j))
        meta = np.empty((0, 0), np.float64 if device is None else np.float32)
        return [self.array(table, (left.sizes, right.sizes), meta) for table in names]

    def combine(self, key: tuple[str, int], k: int, parts: list[tuple[Any, int]]) -> None:
        """Adds tasks that merge the neighbors found in blocks, `_AT_ONCE` at a time, as a tree."""
        groups = [parts[at : at + _AT_ONCE] for at in range(0, len(parts), _AT_ONCE)]
        made = [
            key if len(groups) == 1 else (*key, len(parts), number) for number in range(len(groups))
        ]
        for new, group in zip(made, groups):
            found, sides = zip(*group)
            self.tasks[new] = (_blocks.nearest_of, k, list(sides), list(found))
        if len(groups) > 1:
            self.combine(key, k, [(new, 0) for new in made])

    def array(self, name: str, chunks: Any, meta: Any) -> da.Array:
        graph = HighLevelGraph.from_collections(name, self.tasks, dependencies=self.needs)
        return da.Array(graph, name, chunks, meta=meta)

    def token(self, *parts: Any) -> str:
        """Returns a token of these inputs together with the model."""
        known = [(part.keys, part.sizes) if isinstance(part, RowBlocks) else part for part in parts]
        # A self-join and a join of two equal sets differ: in a self-join, a row is not its own
        # neighbor.
        return str(tokenize(self.model, self.normalize, known, len({id(part) for part in parts})))


def _names(model: Any) -> Any:
    """Returns the names of the points, to which columns are matched."""
    if isinstance(model, Parts):
        return model.facts[0].names
    if isinstance(model, Model):
        return model.names
    if isinstance(model, WassersteinNeighbors):
        named = getattr(model, "feature_names_in_", None)
        return model._names(reset=False) if named is None else list(named)
    names = names_of_ground(model.points, model.cost, model.graph)
    return names or (model.model_.names if model.__sklearn_is_fitted__() else None)


def _places(model: Any) -> Places:
    """Returns the points to which the keys of ``{node: mass}`` refer."""
    if isinstance(model, Parts):
        return Places(model.facts[0].points, model.facts[0].names)
    if isinstance(model, WassersteinNeighbors):
        return Places(model.n_features_in_, _names(model))
    if isinstance(model, Model) or model.__sklearn_is_fitted__():
        places: Places = model._places()
        return places
    return places_of_ground(model.points, model.cost, model.graph)


def _rows(model: Any, X: Any, chunks: Chunks, workers: int, most: int) -> RowBlocks:
    """Returns rows in blocks; splits them unless they are already in blocks."""
    if isinstance(X, da.Array):
        return _of_array(X, chunks)
    if are_delayed(X):
        return _of_delayed(X, chunks, _blocks.of_size, "row")
    if hasattr(X, "__dask_graph__"):
        kind, hint = (
            type(X).__name__,
            "a dask.array (of a frame `to_dask_array(lengths=True)`) or a list of blocks",
        )
        raise TypeError(f"rows are of type {kind}; give {hint}")
    if are_clouds(X):
        clouds = clouds_of(X, empty=True)
        return _of_clouds(clouds, _sizes(len(clouds), chunks, workers, most))
    plain = table(unmapped(X, lambda: _places(model)), _names(model))
    return _in_memory(plain, _sizes(plain.shape[0], chunks, workers, most), plain, plain)


def are_delayed(X: Any) -> bool:
    """Checks whether `X` is a list of delayed blocks."""
    return (
        isinstance(X, (list, tuple)) and bool(X) and all(isinstance(block, Delayed) for block in X)
    )


def _of_delayed(X: Any, chunks: Chunks, of_size: Callable[..., Any], called: str) -> RowBlocks:
    if not isinstance(chunks, tuple) or len(chunks) != len(X):
        raise ValueError(
            f"{len(X)} delayed blocks need `chunks=`, a tuple with the number of {called}s of each"
        )
    sized = [delayed(of_size)(block, size, i) for i, (block, size) in enumerate(zip(X, chunks))]
    return RowBlocks([block.key for block in sized], chunks, sized, called=called)


def _sizes(count: int, chunks: Chunks, workers: int, most: int) -> tuple[int, ...]:
    """Returns the rows of every block from `chunks` in the notation of Dask."""
    if chunks is None:
        return _blocks.square(count, workers, most)
    expected = "give a number of rows, -1 for all of them, or a tuple with the rows of every block"
    if (
        isinstance(chunks, Integral)
        and not isinstance(chunks, bool)
        and (chunks > 0 or chunks == -1)
    ):
        return _blocks.sizes_of(count, count if chunks == -1 else int(chunks))
    if not isinstance(chunks, tuple) or any(
        not isinstance(size, Integral) or size < 0 for size in chunks
    ):
        raise ValueError(f"chunks is {chunks!r}; {expected}")
    if sum(chunks) != count:
        raise ValueError(f"chunks are of {sum(chunks)} rows together; there are {count} rows")
    return chunks


def _of_clouds(X: Clouds, sizes: tuple[int, ...]) -> RowBlocks:
    return _in_memory(X, sizes, pickle.dumps(X), called="cloud")


def _in_memory(
    X: Any, sizes: tuple[int, ...], content: Any, plain: Any = None, called: str = "row"
) -> RowBlocks:
    """Splits rows or clouds in memory; `content` identifies them."""
    name, blocks = f"{called}s-" + tokenize(content, sizes), _blocks.cut(X, sizes)
    parts = [delayed(block, name=f"{name}-{i}", traverse=False) for i, block in enumerate(blocks)]
    return RowBlocks([part.key for part in parts], tuple(sizes), parts, plain, called)


def _of_array(X: da.Array, chunks: Chunks) -> RowBlocks:
    if X.ndim != 2:
        raise ValueError(f"measures are the rows of a table, not an array of shape {X.shape}")
    if any(np.isnan(size) for size in X.chunks[0]):
        raise ValueError(
            "the blocks have unknown numbers of rows; `compute_chunk_sizes()` finds them out"
        )
    X = X.rechunk({0: X.chunks[0] if chunks is None else chunks, 1: -1})
    return RowBlocks([key for (key,) in X.__dask_keys__()], X.chunks[0], [X])
