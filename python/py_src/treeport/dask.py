"""Distances on a Dask cluster in blocks, with the same bits as on one machine.

The first argument of every function is a client, as in `xgboost.dask`. `None` means the current
client, or Dask's default scheduler if there is none. Results are lazy Dask arrays: computation
starts with ``.compute()``, ``to_zarr`` and similar calls, and progress bars of Dask work as usual
(`dask.diagnostics.ProgressBar`, `distributed.progress`). A model is sent to every worker of a
client once. A task uses one thread, so a worker runs as many tasks in parallel as it has threads.

Rows of masses are a Dask array whose blocks are NumPy arrays or sparse SciPy arrays; a list of
`dask.delayed` blocks, with their numbers of rows in ``chunks=``; or any other input of the library,
which is split into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

try:
    import dask.array as da
    from distributed import Client

    from ._dask_graph import Chunks, Job, RowBlocks, are_delayed, send_parts
    from ._dask_graph import current as current
    from ._parts import are_parts, listed, merged, search_part
except ImportError as error:
    raise ImportError('treeport.dask needs Dask: `pip install "treeport[dask]"`') from error

from . import _batches, _blocks
from ._blocks import EmdOptions, Metric
from ._clouds import Clouds, are_clouds
from ._devices import check_for_device, check_name
from ._estimator import TreeWasserstein
from ._ground import GroundInput, geometry
from ._inputs import pairs_of
from ._model import Model
from ._neighbors import WassersteinNeighbors
from ._options import with_solve_options
from ._solution import Bounds
from ._tables import neighbors_among
from ._types import Accuracy, AnyMeasures, ArrayLike, Floats, Integers, Path, PenaltyLike, Period

AnyModel = Union[Model, TreeWasserstein]
#: Rows of masses, or clouds: a Dask array, a list of delayed blocks, or any input in memory.
BlocksLike = Union[da.Array, AnyMeasures]

__all__ = ["cross", "emd_pairwise", "exact", "kneighbors", "pairwise", "score", "transform"]

# The largest number of rows of a block for exact distances, which take a thousand times as long.
_MOST_SOLVED = 128
# Bounds depend on the pairs that are solved together. Their blocks are therefore independent of the
# cluster, and sized for this many workers without and with a device, which needs larger blocks.
_BOUNDED_FOR, _BOUNDED_FOR_DEVICES = 16, 4


def pairwise(
    client: Optional[Client],
    model: AnyModel,
    A: BlocksLike,
    B: Optional[BlocksLike] = None,
    *,
    chunks: Chunks = None,
    device: Optional[str] = None,
) -> da.Array:
    """Computes distances of all rows of `A` to all rows of `B`, or of `A`, in blocks.

    A task reads two blocks of rows and computes one block of distances, so the memory of a worker
    depends on the size of blocks. Within `A`, each pair of blocks is computed once. The opposite
    block is a transposed copy, which may be sent to another worker.

    Parameters
    ----------
    client : distributed.Client or None
    model : Tree, Forest or fitted TreeWasserstein
    A : rows of masses of shape (n_a, n_points)
    B : rows of masses of shape (n_b, n_points), optional
    chunks : int or tuple of int, optional
        The largest number of rows of a block, or those of every block of `A`. By default, blocks of
        a Dask array are kept, and rows in memory are split into blocks of up to 2,048 rows that
        keep all workers busy.
    device : str, optional
        "cuda" computes every block on the GPU of its worker, in single precision; rounding then
        depends on the blocks.

    Returns
    -------
    distances : dask.array.Array of float64 of shape (n_a, n_b) or (n_a, n_a)
        The bits of `Tree.pairwise`, `Forest.pairwise` or `TreeWasserstein.pairwise`; with a device
        float32.

    Examples
    --------
    >>> import treeport as tp
    >>> import treeport.dask
    >>> tree = tp.Tree.from_newick("(cat:1,dog:2);")
    >>> distances = tp.dask.pairwise(None, tree, [[1, 0], [0, 1], [0.5, 0.5]], chunks=2)
    >>> distances.chunks
    ((2, 1), (2, 1))
    >>> distances.compute()[0].tolist()
    [0.0, 3.0, 1.5]
    """
    job = Job(client, *_answering(model))
    left, right = job.two(model, A, B, chunks)

    def block(i: int, j: int) -> tuple[Any, ...]:
        return job.block(left, right, i, j, device)

    return job.tables("pairwise", left, right, block, device=device)[0]


def cross(
    client: Optional[Client], model: AnyModel, A: BlocksLike, B: BlocksLike, **options: Any
) -> da.Array:
    """Computes distances of all rows of `A` to all of `B`: ``pairwise(client, model, A, B)``.

    Parameters
    ----------
    client, model, A, B
        As for `pairwise`.
    **options
        `chunks` and `device`, as for `pairwise`.

    Returns
    -------
    distances : dask.array.Array of shape (n_a, n_b)
    """
    return pairwise(client, model, A, B, **options)


def exact(
    client: Optional[Client],
    model: TreeWasserstein,
    A: BlocksLike,
    B: Optional[BlocksLike] = None,
    *,
    pairs: Optional[ArrayLike] = None,
    chunks: Chunks = None,
) -> da.Array:
    """Computes exact transport distances of listed pairs of rows, or of all pairs.

    Parameters
    ----------
    client : distributed.Client or None
    model : TreeWasserstein
        The estimator with `points`, `cost` or `graph`; it need not be fitted.
    A : rows of masses of shape (n_a, n_points)
        Every row is divided by its total first.
    B : rows of masses of shape (n_b, n_points), optional
    pairs : array-like of int of shape (n_pairs, 2), optional
        Rows of `A`, or a row of `A` and one of `B`; by default all of them.
    chunks : int or tuple of int, optional
        As for `pairwise`; by default, blocks have at most 128 rows. Listed pairs of rows in memory
        are split into blocks of pairs instead; those of a Dask array are grouped by their two
        blocks.

    Returns
    -------
    distances : dask.array.Array of float64 of shape (n_pairs,), (n_a, n_b) or (n_a, n_a)
        The bits of `emd_pairs` for normalized rows, up to the rounding of path lengths on graphs;
        listed pairs are one chunk.

    Examples
    --------
    >>> import treeport as tp
    >>> import treeport.dask
    >>> tw = tp.TreeWasserstein([[0.0], [1.0], [5.0]])
    >>> rows = [[1, 0, 0], [0, 1, 0], [0, 1, 1]]
    >>> tp.dask.exact(None, tw, rows, pairs=[(0, 1), (0, 2)]).compute().tolist()
    [1.0, 3.0]
    >>> tp.dask.exact(None, tw, rows).compute()[2].tolist()
    [3.0, 2.0, 0.0]
    """
    job = Job(client, _metric(model))
    left, right = job.two(model, A, B, chunks, _MOST_SOLVED)
    if pairs is not None:
        return _listed(job, left, right, pairs_of(pairs))

    def block(i: int, j: int) -> tuple[Any, ...]:
        return _blocks.solve_table, job.model, *_keys(left, right, i, j)

    return job.tables("exact", left, right, block)[0]


@with_solve_options("penalty", "order", "accuracy", "device", many=True)
def emd_pairwise(
    client: Optional[Client],
    A: BlocksLike,
    B: Optional[BlocksLike] = None,
    *,
    points: Optional[ArrayLike] = None,
    cost: Optional[ArrayLike] = None,
    metric: str = "euclidean",
    period: Optional[Period] = None,
    assume_metric: bool = False,
    penalty: Optional[PenaltyLike] = None,
    order: float = 1.0,
    accuracy: Optional[Accuracy] = None,
    device: Optional[str] = None,
    chunks: Chunks = None,
    n_jobs: int = 1,
) -> Union[da.Array, Bounds]:
    """Computes exact transport costs like `treeport.emd_pairwise`, in blocks on a cluster.

    A task reads two blocks and computes one block of costs. With a device, every worker uses the
    GPU that it sees, so start one worker per GPU, as `dask_cuda.LocalCUDACluster` does.

    Parameters
    ----------
    client : distributed.Client or None
    A, B : Clouds, or rows of masses of shape (n_measures, n_points)
        Without `points` and `cost`: `Clouds`, a list from which `Clouds` can be made, or a list of
        `dask.delayed` blocks of them, with their numbers in `chunks`. Otherwise rows of masses, as
        for `pairwise`; they are not divided by their totals.
    points, cost, metric, period, assume_metric
        As for `treeport.emd_pairwise`. For graphs use `exact`.
    {options}
    chunks : int or tuple of int, optional
        The largest number of measures of a block, or those of every block of `A`. By default,
        blocks have at most 128 measures and keep all workers busy; with `accuracy` their sizes do
        not depend on the number of workers.
    n_jobs : int
        Threads of one task. Tasks run in parallel on the threads of a worker. A worker with a GPU
        and one thread of Dask may use more for the work of the processor.

    Returns
    -------
    distances : dask.array.Array of float64 of shape (n_a, n_b) or (n_a, n_a)
        The bits of `treeport.emd_pairwise`. With `accuracy`, a `Bounds` of two such arrays: all
        bounds are certified, and the same blocks give the same bits, but bounds depend on the pairs
        that are solved together. IDs are dropped, and there is no `time`.

    Examples
    --------
    >>> import treeport as tp
    >>> import treeport.dask
    >>> clouds = [([1.0], [[0.0, 0.0]]), ([0.5, 0.5], [[3.0, 4.0], [0.0, 1.0]])]
    >>> tp.dask.emd_pairwise(None, clouds, chunks=1).compute().tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    >>> bounds = tp.dask.emd_pairwise(None, [[1, 0], [0, 1]], points=[[0.0], [2.0]], accuracy=0.1)
    >>> bounds.upper.compute().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    if device is not None:
        check_name(device)
        check_for_device(cost is not None, metric, None, penalty, period)
    wanted = "exact" if accuracy is None else accuracy
    # This call validates the options before any task runs.
    _batches.emd_pairwise([[1.0]], points=[[0.0]], order=order, accuracy=wanted, n_jobs=n_jobs)
    options: dict[str, Any] = {
        "metric": metric,
        "period": period,
        "order": order,
        "accuracy": accuracy,
        "device": device,
        "n_jobs": n_jobs,
    }
    sets: list[Any] = [A] if B is None else [A, B]
    own = points is None and cost is None
    if own:
        sets, penalty = _clouds(sets, penalty, metric, period, device)
    else:
        if points is not None and cost is not None:
            raise ValueError(
                "points and costs are given; the one or the other says how far points are from each other"
            )
        if any(isinstance(one, Clouds) for one in sets):
            raise ValueError("Clouds bring their own points; leave out `points` and `cost`")
        options.update(points=points, cost=cost, assume_metric=assume_metric)
    job = Job(client, EmdOptions({**options, "penalty": penalty}))
    if accuracy is not None:
        job.workers = _BOUNDED_FOR if device is None else _BOUNDED_FOR_DEVICES
    both = []
    for one, cut in zip(sets, (chunks, chunks if isinstance(chunks, int) else None)):
        if own:
            both.append(job.clouds(one, cut, _MOST_SOLVED))
        else:
            both.append(job.rows(TreeWasserstein(points, cost=cost), one, cut, _MOST_SOLVED))
    left, right = both[0], both[-1]

    def block(i: int, j: int) -> tuple[Any, ...]:
        return _blocks.emd_table, job.model, *_keys(left, right, i, j)

    if accuracy is None:
        return job.tables("emd_pairwise", left, right, block)[0]
    return Bounds(*job.tables("emd_pairwise", left, right, block, ("lower", "upper")))


def kneighbors(
    client: Optional[Client],
    model: Union[AnyModel, WassersteinNeighbors, Sequence[Union[WassersteinNeighbors, Path]]],
    A: BlocksLike,
    B: Optional[BlocksLike] = None,
    *,
    n_neighbors: int = 10,
    chunks: Chunks = None,
    device: Optional[str] = None,
    return_bounds: bool = False,
    early_stop: bool = True,
) -> tuple[da.Array, ...]:
    """Finds the nearest rows of `B` for every row of `A`, the nearest first; ties go by number.

    The neighbors from all pairs of blocks are merged. The full distance table is never in memory.

    Parameters
    ----------
    client : distributed.Client or None
    model : Tree, Forest, fitted TreeWasserstein or fitted WassersteinNeighbors, or a list of parts
        The distance. A WassersteinNeighbors has its own collection: `A` are queries, and each block
        of them is one task. A list has the parts of a collection, each a fitted
        WassersteinNeighbors or its file, which are searched like one index. Every part is sent to
        one worker, or read by it if it is a file; with files, rows are normalized and neighbors are
        exact.
    A : rows of masses of shape (n_a, n_points), or Clouds
        Clouds for a WassersteinNeighbors of these, or for parts of them.
    B : rows of masses of shape (n_b, n_points), optional
        By default each row of `A` is compared with the others.
    n_neighbors : int
        Neighbors per row; all if there are fewer.
    chunks, device
        As for `pairwise`; a WassersteinNeighbors supports no device here.
    return_bounds : bool
        Whether to return `bounds` as well; only for a WassersteinNeighbors and for parts.
    early_stop : bool
        Whether to search 1, 1, 2, 4, … parts after each other, limited by the distances found
        before, instead of all at once. Results are the same.

    Returns
    -------
    distances : dask.array.Array of float64 of shape (n_a, n_neighbors)
    numbers : dask.array.Array of int64 of shape (n_a, n_neighbors)
        Numbers of a part follow those of the part before, as in one index.
    bounds : dask.array.Array of float64 of shape (n_a,)
        Lower bounds of the distances of all other measures; only with `return_bounds`.

    Examples
    --------
    >>> import treeport as tp
    >>> import treeport.dask
    >>> tree = tp.Tree.from_newick("(cat:1,dog:2);")
    >>> rows = [[1, 0], [0, 1], [0.75, 0.25]]
    >>> distances, numbers = tp.dask.kneighbors(None, tree, rows, n_neighbors=1)
    >>> numbers.compute().tolist()
    [[2], [2], [0]]
    """
    if isinstance(model, WassersteinNeighbors) or are_parts(model):
        if device is not None:
            raise ValueError("a WassersteinNeighbors solves on the CPU; leave out `device`")
        if B is not None:
            raise ValueError(
                "a WassersteinNeighbors has its own collection; leave B out, and `add` rows to it"
            )
        if isinstance(model, WassersteinNeighbors):
            answer = _searched(client, model, A, n_neighbors, chunks)
        else:
            answer = _searched_parts(client, model, A, n_neighbors, chunks, early_stop)
        return answer if return_bounds else answer[:2]
    if return_bounds:
        raise ValueError(
            "distances of trees need no proof; `return_bounds` is for a WassersteinNeighbors"
        )
    job = Job(client, *_answering(model))
    left, right = job.two(model, A, B, chunks)
    k = neighbors_among(n_neighbors, sum(right.sizes) - (right is left))
    name = "kneighbors-" + job.token(left, right, k, device)
    rows, columns = _blocks.starts(left.sizes), _blocks.starts(right.sizes)
    parts: list[list[tuple[Any, int]]] = [[] for _ in rows]
    for i, j in _blocks.cells(len(rows), len(columns), right is left):
        mirrored = rows[i] if right is left and i != j else None
        key = (name + "-block", i, j)
        block = job.block(left, right, i, j, device)
        alone = right is left and i == j
        near = (_blocks.near, k, columns[j], mirrored, alone, *block)
        job.add(key, left.against(right, i, j), *near)
        parts[i].append((key, 0))
        if mirrored is not None:
            parts[j].append((key, 1))
    for i, found in enumerate(parts):
        job.combine((name, i), k, found)
    dtype = np.float64 if device is None else np.float32
    return _two_arrays(job, name, left.sizes, k, dtype)


def transform(
    client: Optional[Client], model: AnyModel, X: BlocksLike, *, chunks: Chunks = None
) -> da.Array:
    """Computes sparse rows whose cityblock (Manhattan) distances are the distances of the model.

    Parameters
    ----------
    client : distributed.Client or None
    model : Tree, Forest or fitted TreeWasserstein
    X : rows of masses of shape (n_measures, n_points)
    chunks : int or tuple of int, optional
        As for `pairwise`.

    Returns
    -------
    rows : dask.array.Array of shape (n_measures, n_nodes)
        Its blocks are `scipy.sparse.csr_array`; ``rows.map_blocks(lambda block: block.toarray())``
        makes them dense.

    Examples
    --------
    >>> import treeport as tp
    >>> import treeport.dask
    >>> tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
    >>> tp.dask.transform(None, tree, [[0.5, 0.5, 0]]).compute().toarray()
    array([[0.5, 0.5, 0. , 2. , 0. ]])
    """
    what, normalize = _answering(model)
    job = Job(client, what, normalize)
    rows = job.rows(model, X, chunks, _blocks.MOST_ROWS)
    name = "transform-" + job.token(rows)
    for i, key in enumerate(rows.keys):
        job.add((name, i, 0), rows.block(i), _blocks.embedded, job.model, normalize, key)
    return job.array(name, (rows.sizes, (what.n_nodes,)), sparse.csr_array((0, what.n_nodes)))


def score(
    client: Optional[Client], model: TreeWasserstein, X: BlocksLike, y: Optional[BlocksLike] = None
) -> float:
    """Computes `TreeWasserstein.score` eagerly, with its exact distances solved on the cluster.

    Rows of a Dask array are first copied to this process, because pairs are drawn from rows
    with mass.

    Parameters
    ----------
    client : distributed.Client or None
    model : fitted TreeWasserstein
    X, y
        As for `TreeWasserstein.score`.
    """
    left, right = (rows.compute() if isinstance(rows, da.Array) else rows for rows in (X, y))
    return model._score(left, right, current(client))


def solved(client: Client, model: TreeWasserstein, X: BlocksLike, pairs: Integers) -> Floats:
    """Computes exact distances of listed pairs eagerly, for `TreeWasserstein.fit`."""
    found: Floats = client.compute(exact(client, model, X, pairs=pairs)).result()
    return found


def _answering(model: Any) -> tuple[Model, bool]:
    """Returns the model behind `model`, and whether it normalizes rows."""
    if isinstance(model, Model):
        return model, False
    if isinstance(model, TreeWasserstein) and model.__sklearn_is_fitted__():
        return model.model_, model.normalize
    fitted = (
        "not fitted yet"
        if isinstance(model, TreeWasserstein)
        else f"of type {type(model).__name__}"
    )
    raise TypeError(f"model is {fitted}; give a Tree, a Forest or a fitted TreeWasserstein")


def _metric(model: Any) -> Metric:
    if not isinstance(model, TreeWasserstein):
        kind = type(model).__name__
        raise TypeError(
            f"model is of type {kind}, which has no ground metric; give a TreeWasserstein"
        )
    if model._is_without_metric():
        raise ValueError("the file has no ground metric; give one with set_params first")
    return Metric(model)


def _clouds(
    sets: list[Any], penalty: Any, metric: str, period: Any, device: Optional[str]
) -> tuple[list[Any], Any]:
    """Validates clouds, and returns them with a common penalty; others are stored in the clouds."""
    prices = _batches._prices_of(penalty, GroundInput(), None)
    delayed = [are_delayed(one) for one in sets]
    if any(delayed):
        if not all(delayed) or isinstance(prices, np.ndarray):
            what = "prices of points" if all(delayed) else "clouds in memory"
            raise ValueError(
                f"delayed blocks of clouds and {what} do not go together; give all of them as delayed blocks"
            )
        return sets, penalty
    for one in sets:
        if not isinstance(one, Clouds) and not are_clouds(one):
            kind = type(one).__name__
            raise TypeError(
                f"measures are of type {kind}; give Clouds, or rows of masses with `points` or `cost`"
            )
    given = _batches._clouds_of(sets, (None,), prices is not None)
    assert given is not None
    whole = given[0]._raw if len(given) == 1 else given[0]._raw.followed_by(given[1]._raw)
    relaxed = _batches._of_clouds(whole, prices, geometry(metric, period))
    if relaxed is None:
        given[0]._raw.check_balanced(None if len(given) == 1 else given[1]._raw)
    elif device is not None:
        check_for_device(False, "", None, relaxed, None)
    if isinstance(prices, np.ndarray):
        both = Clouds._of(whole.with_penalties(prices), None)
        ends = np.cumsum([0, *map(len, given)])
        return [both[begin:end] for begin, end in zip(ends, ends[1:])], None
    return list(given), penalty


def _keys(left: RowBlocks, right: RowBlocks, i: int, j: int) -> tuple[Any, ...]:
    """Returns the keys of two blocks, or one key if they are the same block."""
    return (left.keys[i],) if right is left and i == j else (left.keys[i], right.keys[j])


def _listed(job: Job, left: RowBlocks, right: RowBlocks, pairs: Integers) -> da.Array:
    """Builds the tasks for exact distances of listed pairs, in their order."""
    if pairs.shape[1] != 2:
        raise ValueError(f"the list of pairs has shape {pairs.shape}, expected (n, 2)")
    for side, rows in zip(pairs.T, (left, right)):
        if len(side) and not 0 <= side.min() <= side.max() < sum(rows.sizes):
            found, last = f"pairs name rows {side.min()} to {side.max()}", sum(rows.sizes) - 1
            raise ValueError(f"{found}; rows are numbered from 0 to {last}")
    name, most = (
        "labels-" + job.token(left, right, pairs),
        _blocks.per_task(len(pairs), job.workers),
    )
    if right is left and left.plain is not None:
        job.needs = job.needs[:1]  # every task carries only the rows it needs
        order = _blocks.cut(np.arange(len(pairs)), _blocks.sizes_of(len(pairs), most))
        tasks: list[Any] = _blocks.some_pairs(left.plain, pairs, most)
    else:
        jobs = _blocks.by_blocks(pairs, left.sizes, right.sizes, most)
        order = [places for places, *_ in jobs]
        tasks = [(inside, *_keys(left, right, i, j)) for _, inside, i, j in jobs]
    for number, task in enumerate(tasks):
        job.tasks[name + "-part", number] = (_blocks.solve, job.model, *task)
    parts = [(name + "-part", number) for number in range(len(tasks))]
    job.tasks[name, 0] = (_blocks.in_order, order, parts)
    return job.array(name, ((len(pairs),),), np.empty(0))


def _searched(
    client: Optional[Client], model: WassersteinNeighbors, A: Any, k: int, chunks: Chunks
) -> tuple[da.Array, ...]:
    """Builds the tasks of a search: every worker has the index, and queries are in blocks."""
    check_is_fitted(model)
    k = neighbors_among(k, model._index.present)
    job = Job(client, model._index)
    queries = job.rows(model, A, chunks, _MOST_SOLVED)
    name = "kneighbors-" + job.token(queries, model.normalize, k, model.accuracy)
    for i, key in enumerate(queries.keys):
        search = (_blocks.search_table, job.model, key, model.normalize, k, model.accuracy)
        job.add((name, i), queries.block(i), *search)
    return _arrays_with_bounds(job, name, queries.sizes, k)


def _searched_parts(
    client: Optional[Client], given: Any, A: Any, k: int, chunks: Chunks, early_stop: bool
) -> tuple[da.Array, ...]:
    """Builds the tasks of a search in parts, each on one worker, with queries in blocks."""
    job = Job(client, None)
    parts, needs = send_parts(job.client, given)
    job.needs += needs
    k = neighbors_among(k, sum(facts.present for facts in parts.facts))
    queries = job.rows(parts, A, chunks, _MOST_SOLVED)
    name = "kneighbors-" + job.token(queries, parts, k, early_stop)
    firsts = parts.firsts
    for i, rows in enumerate(queries.keys):
        known = None
        for wave in parts.waves(early_stop):
            asked = [(name + "-part", i, part) for part in wave]
            for part, key in zip(wave, asked):
                options = (parts.normalize, k, parts.accuracy, firsts[part], known)
                job.add(key, queries.block(i), search_part, parts.keys[part], rows, *options)
            new = (name + "-wave", i, wave.stop)
            job.tasks[new] = (merged, k, [*asked, known])
            known = new
        job.tasks[name, i] = (listed, known)
    return _arrays_with_bounds(job, name, queries.sizes, k)


def _arrays_with_bounds(
    job: Job, name: str, sizes: tuple[int, ...], k: int
) -> tuple[da.Array, ...]:
    """Returns arrays of distances, numbers and bounds from the results of the tasks `name`."""
    for i in range(len(sizes)):
        job.tasks[f"{name}-bounds", i] = (_blocks.one_side, (name, i), 2)
    near = _two_arrays(job, name, sizes, k)
    return *near, job.array(f"{name}-bounds", (sizes,), np.empty(0))


def _two_arrays(
    job: Job, name: str, sizes: tuple[int, ...], k: int, dtype: Any = np.float64
) -> tuple[da.Array, da.Array]:
    """Returns arrays of distances and numbers from the results of the tasks `name`."""
    for side, what in enumerate(("distances", "numbers")):
        for i in range(len(sizes)):
            job.tasks[f"{name}-{what}", i, 0] = (_blocks.one_side, (name, i), side)
    metas = np.empty((0, 0), dtype), np.empty((0, 0), dtype=np.int64)
    distances, numbers = (
        job.array(f"{name}-{what}", (sizes, (k,)), meta)
        for what, meta in zip(("distances", "numbers"), metas)
    )
    return distances, numbers
