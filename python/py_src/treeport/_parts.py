"""Search of a collection that is split into several indexes."""

from __future__ import annotations

import os
from typing import Any, NamedTuple, Optional

import numpy as np
from dask.base import tokenize
from dask.sizeof import sizeof

from . import _core
from ._blocks import nearest, search
from ._estimator import _parameters
from ._neighbors import WassersteinNeighbors
from ._types import Floats, Integers

# Distances and numbers of the k nearest of each query, padded with infinity and -1, and a lower
# bound of the distances of all others.
PartFound = tuple[Floats, Integers, Floats]


def _bytes_of(index: _core.Index) -> int:
    """Estimates the bytes of an index with its measures, so that Dask moves queries instead."""
    return 2 * index.bytes


sizeof.register(_core.Index, _bytes_of)


class PartFacts(NamedTuple):
    """Metadata of an index on a worker, as the client needs it."""

    points: int
    names: Optional[list[str]]
    ground: str  # a token of the ground metric
    numbers: int  # numbers assigned so far, including removed measures
    present: int


class Parts(NamedTuple):
    """The parts of a collection: keys of their indexes, metadata and shared settings."""

    keys: list[Any]
    facts: list[PartFacts]
    normalize: bool
    accuracy: Any

    @property
    def firsts(self) -> list[int]:
        """The number of the first measure of every part within the collection."""
        return [
            sum(facts.numbers for facts in self.facts[:part]) for part in range(len(self.facts))
        ]

    def waves(self, early_stop: bool) -> list[range]:
        """Returns groups of parts that are searched concurrently.

        With `early_stop` their sizes are 1, 1, 2, 4, …, and distances found by earlier groups limit
        the searches of later ones. Otherwise all parts are one group."""
        borders = [0]
        while borders[-1] < len(self.keys):
            at = borders[-1]
            borders.append(min(len(self.keys), at + max(1, at)) if early_stop else len(self.keys))
        return [range(begin, end) for begin, end in zip(borders, borders[1:])]


def are_parts(model: Any) -> bool:
    """Checks whether the model is a list of indexes."""
    return isinstance(model, (list, tuple))


def checked(given: Any) -> tuple[bool, Any]:
    """Returns the shared settings of the parts, `normalize` and `accuracy`, if they agree."""
    if not given:
        raise ValueError(
            "the list of parts is empty; give files of indexes or fitted WassersteinNeighbors"
        )
    asked = []
    for place, part in enumerate(given):
        if isinstance(part, WassersteinNeighbors) and part.__sklearn_is_fitted__():
            asked.append((part.normalize, part.accuracy))
        elif isinstance(part, (str, os.PathLike)):
            asked.append((True, "exact"))
        else:
            fitted = (
                "not fitted yet"
                if isinstance(part, WassersteinNeighbors)
                else f"of type {type(part).__name__}"
            )
            raise TypeError(
                f"part {place} is {fitted}; give the file of an index or a fitted WassersteinNeighbors"
            )
    for place, other in enumerate(asked):
        if other != asked[0]:
            raise ValueError(
                f"part {place} has (normalize, accuracy) = {other}, and part 0 has {asked[0]}; ask all alike"
            )
    return asked[0]


def check_facts(given: Any, facts: list[PartFacts]) -> None:
    """Raises an error if parts have different points."""
    called = [
        f" ({os.fspath(part)})" if isinstance(part, (str, os.PathLike)) else "" for part in given
    ]
    for place, other in enumerate(facts):
        if (other.points, other.names, other.ground) != (
            facts[0].points,
            facts[0].names,
            facts[0].ground,
        ):
            raise ValueError(
                f"part {place}{called[place]} has other points than part 0{called[0]}; parts of a collection are built on the same"
            )


# Tasks of workers.


def load(path: str) -> _core.Index:
    """Reads the index in a file."""
    return _core.Index.load(path)


def facts_of(index: _core.Index) -> PartFacts:
    ground = index.ground
    if index.is_of_clouds:
        # Every part has its own points; parts share the metric and the dimension.
        given = _parameters(ground)
        dim = given.pop("points").shape[1]
        return PartFacts(
            dim, None, tokenize("clouds", given, index.penalty), len(index), index.present
        )
    return PartFacts(
        ground.points, index.names, tokenize(_parameters(ground)), len(index), index.present
    )


def search_part(
    index: _core.Index,
    queries: Any,
    normalize: bool,
    k: int,
    accuracy: Any,
    first: int,
    known: Optional[PartFound],
) -> PartFound:
    """Searches a part whose numbers begin at `first`, within the k-th distances in `known`."""
    limits = None if known is None or not k else known[0][:, -1].tolist()
    start, numbers, distances, bounds, _ = search(index, queries, normalize, k, accuracy, limits)
    each = np.diff(start)
    there = np.arange(k) < each[:, np.newaxis]
    near, called = np.full(there.shape, np.inf), np.full(there.shape, -1, dtype=np.int64)
    near[there], called[there] = distances, numbers + first
    return near, called, bounds


def merged(k: int, lists: list[Optional[PartFound]]) -> PartFound:
    """Merges the neighbors of several parts, and the lower bounds of all measures left out."""
    distances, numbers, bounds = zip(*(found for found in lists if found is not None))
    near, called = nearest(
        np.concatenate(distances, axis=1), np.concatenate(numbers, axis=1), k + 1
    )
    bound = np.min([*bounds, *near[:, k:].T], axis=0)
    return near[:, :k], called[:, :k], bound


def listed(found: PartFound) -> list[PartFound]:
    """Wraps the result of a part as a list, the format of other block results."""
    return [found]
