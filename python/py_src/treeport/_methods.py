"""How a tree is made from a problem: the one place where methods are looked up.

A method is a function from a `Problem` to a `Fitted`. To add one, write the function and name it in `METHODS`.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, TypedDict

from . import _core
from ._inputs import Floats, Integers
from ._progress import bar


class Options(TypedDict):
    """How a tree is learned."""

    kind: str
    epochs: int
    batch: int
    rate: float
    loss: str
    validation: float
    rescale: bool
    seed: int


class Problem(NamedTuple):
    """What every method gets."""

    ground: Optional[_core.Ground]  # None: all points are one apart
    start: _core.RawTree
    measures: _core.Measures
    pairs: Integers
    distances: Floats
    options: Options
    threads: int
    verbose: bool


class Fitted(NamedTuple):
    """What every method gives."""

    tree: _core.RawTree
    loss_curve: Floats
    validation_loss_curve: Floats
    best_epoch: int


def learned(kind: str) -> Callable[[Problem], Fitted]:
    """Descent on the edges of the start."""

    def fit(problem: Problem) -> Fitted:
        options: Options = {**problem.options, "kind": kind}
        start, measures, pairs, distances = problem[1:5]
        with bar("learning", problem.verbose) as report:
            return Fitted(
                *_core.learn(start, measures, pairs, distances, options, problem.threads, report)
            )

    return fit


METHODS: dict[str, Callable[[Problem], Fitted]] = {
    "additive": learned("additive"),
    "ultrametric": learned("ultrametric"),
    "skip-mst": learned("skip-mst"),
}


def chosen(method: str) -> str:
    """The name of a method; "auto" is the one that did best on every kind of data so far."""
    if method == "auto":
        return "additive"
    if method not in METHODS:
        known = ", ".join(["auto", *METHODS])
        raise ValueError(f"method is {method!r}; it must be one of {known}")
    return method
