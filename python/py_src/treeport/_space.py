"""Estimates between clouds by lines and partitions of the whole space: `space`, `lifted` and `rg`.

Nothing is kept of the clouds of the fit, and new clouds need no new points in a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import numpy as np
from scipy import sparse

from . import _core
from ._clouds import Clouds, refuse_essential
from ._ground import geometry
from ._inputs import pairs_of, seed_of, threads_of
from ._progress import bar
from ._results import framed
from ._types import Distances, Floats, Integers

# Points beyond which "auto" fits no tree: a tree over 20,000 points takes minutes.
MOST_FOR_TREE = 5_000


def raw_of(estimator: Any, X: Any) -> _core.Clouds:
    """Returns clouds, each divided by its total with `normalize`."""
    if not isinstance(X, Clouds):
        raise TypeError(f"this model was fitted to Clouds; give Clouds, not {type(X).__name__}")
    refuse_essential(X)
    return X._raw.normalized() if estimator.normalize else X._raw


def check_space(estimator: Any, X: Any, client: Any) -> None:
    """Refuses input that a model of clouds does not read."""
    if not isinstance(X, Clouds):
        raise ValueError(f"method={estimator.method!r} is for Clouds; give Clouds")
    for name in ("points", "cost", "graph"):
        if getattr(estimator, name) is not None:
            raise ValueError(f"Clouds bring their own points; leave out `{name}`")
    if client is not None:
        raise ValueError("a cluster solves pairs of measures; leave `client` out for Clouds")


def has_many_points(X: Any) -> bool:
    """Returns whether "auto" fits no tree over the points of clouds."""
    points = X.points
    return len(points) > MOST_FOR_TREE and len(np.unique(points, axis=0)) > MOST_FOR_TREE


def solved_pairs(
    estimator: Any, clouds: _core.Clouds, pairs: Optional[Integers] = None, test: bool = False
) -> tuple[Integers, Floats]:
    """Solves `pairs` of clouds exactly, or random ones: those of a fit, or others with `test`."""
    clouds.check_mass()
    ground = clouds.ground(geometry(estimator.metric, estimator.period))
    measures, threads = clouds.measures(), threads_of(estimator.n_jobs)
    if not estimator.normalize:
        clouds.check_balanced(None)
    count, own = estimator.n_pairs, (np.random.Generator, np.random.RandomState)
    fixed = test and isinstance(estimator.random_state, own)
    seed = seed_of(0 if fixed else estimator.random_state)
    with bar("exact distances", estimator.verbose) as report:
        if estimator.budget is not None and not test:
            count = _core.Labeled.count_within(
                ground,
                measures,
                seconds=estimator.budget,
                seed=seed,
                threads=threads,
                report=report,
            )
        if pairs is None:
            pairs = _core.sample_pairs(count=count, measures=len(clouds), seed=seed, test=test)
        return pairs, _core.emd_pairs(ground, measures, pairs, threads, report=report)[1]


def labels_of(clouds: _core.Clouds, pairs: Any, distances: Any) -> _core.Labeled:
    """Returns pairs of clouds with their distances."""
    known: Any = np.require(np.ravel(distances), np.float64, "A")
    return _core.Labeled(clouds.measures(), pairs_of(pairs), known)


def fitted(estimator: Any, clouds: _core.Clouds, labels: _core.Labeled) -> _core.Space:
    """Fits a model to labels of clouds."""
    method = estimator.method if _core.Space.has_method(estimator.method) else "space"
    with bar("fitting", estimator.verbose) as report:
        return _core.Space.fit(
            clouds,
            geometry(estimator.metric, estimator.period),
            labels,
            method=method,
            seed=seed_of(estimator.random_state),
            threads=threads_of(estimator.n_jobs),
            report=report,
        )


def _both(estimator: Any, A: Any, B: Any) -> tuple[_core.Clouds, Integers]:
    """Returns two sets of clouds as one, and the pairs of their rows."""
    left, right = raw_of(estimator, A), raw_of(estimator, B)
    if len(left) != len(right):
        raise ValueError(f"{len(left)} clouds cannot be paired with {len(right)}")
    rows = np.arange(len(left), dtype=np.int64)
    return left.followed_by(right), np.stack([rows, len(left) + rows], axis=1)


def distance(estimator: Any, a: Any, b: Any) -> float:
    both, pairs = _both(estimator, a, b)
    if len(pairs) != 1:
        raise ValueError(
            f"distance compares two clouds; `paired` compares {len(pairs)} with {len(pairs)}"
        )
    return float(estimator.space_.pairs(both, pairs, threads=1)[0])


def paired(estimator: Any, A: Any, B: Any) -> Floats:
    both, pairs = _both(estimator, A, B)
    found: Floats = estimator.space_.pairs(both, pairs, threads=threads_of(estimator.n_jobs))
    return found


def pairwise(
    estimator: Any, A: Any, B: Any = None, *, out: Any = None, device: Optional[str] = None
) -> Distances:
    _refuse(device, "device")
    table = _table(estimator, A, B)
    if out is not None:
        out[...] = table
        return out
    return framed(table, A.ids, A.ids if B is None else B.ids)


def _table(estimator: Any, A: Any, B: Any) -> Floats:
    left, right = raw_of(estimator, A), None if B is None else raw_of(estimator, B)
    with bar("distances", estimator.verbose) as report:
        threads = threads_of(estimator.n_jobs)
        table: Floats = estimator.space_.table(left, right, threads=threads, report=report)
        return table


def kneighbors(
    estimator: Any, A: Any, B: Any = None, n_neighbors: int = 10, *, device: Optional[str] = None
) -> tuple[Floats, Integers]:
    _refuse(device, "device")
    table = _table(estimator, A, B)
    if B is None:
        np.fill_diagonal(table, np.inf)
    most = table.shape[1] - (B is None)
    if not 1 <= n_neighbors <= most:
        raise ValueError(f"n_neighbors is {n_neighbors}; there are {most} clouds to choose from")
    numbers = np.argsort(table, axis=1, kind="stable")[:, :n_neighbors]
    return np.take_along_axis(table, numbers, axis=1), numbers


def transform(estimator: Any, X: Any) -> sparse.csr_array:
    threads = threads_of(estimator.n_jobs)
    start, columns, values, width = estimator.space_.embed(raw_of(estimator, X), threads)
    return sparse.csr_array((values, columns, start), shape=(len(X), width))


def score(estimator: Any, X: Any, y: Any = None) -> float:
    threads = threads_of(estimator.n_jobs)
    clouds, pairs = raw_of(estimator, X), None
    if isinstance(y, Clouds):
        clouds, pairs = _both(estimator, X, y)
    pairs, distances = solved_pairs(estimator, clouds, pairs, test=True)
    labels = labels_of(clouds, pairs, distances)
    return -float(estimator.space_.score(clouds, labels, threads))


def bounds(estimator: Any, A: Any, B: Any, accuracy: Any = None) -> tuple[Floats, Floats]:
    if accuracy is not None:
        raise ValueError("bounds of clouds have no `accuracy`; `emd_pairs` solves them to any")
    both, pairs = _both(estimator, A, B)
    found = estimator.space_.intervals(both, pairs, threads=threads_of(estimator.n_jobs))
    return found[:, 0], found[:, 2]


def _refuse(given: Any, option: str) -> None:
    if given is not None:
        raise ValueError(f"`{option}` is for trees; leave it out")


ANSWERS: dict[str, Callable[..., Any]] = {
    answer.__name__: answer
    for answer in (distance, paired, pairwise, kneighbors, transform, score, bounds)
}


def answer(estimator: Any, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Answers a call of a method of `TreeWasserstein` by the model of clouds."""
    if name not in ANSWERS:
        raise ValueError(
            f"`{name}` needs a tree, and `{estimator.space_.method}` has none; fit with "
            'method="tree", or solve pairs with `emd_pairs`'
        )
    return ANSWERS[name](estimator, *given, **named)
