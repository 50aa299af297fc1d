"""How trees are made from a problem: the one place where methods are looked up.

A method is a function from a `Problem` to a `Fitted`. To add one, write the function and name it in `METHODS`.
"""

from __future__ import annotations

from typing import Callable, NamedTuple, Optional, TypedDict, Union

import numpy as np

from . import _core
from ._inputs import Floats, Integers
from ._progress import bar

Raw = Union[_core.RawTree, _core.RawForest]


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


class BuildOptions(TypedDict):
    """How trees are built that do not start from one."""

    trees: int
    linkage: str
    rescale: bool
    seed: int
    learn: Options


class Problem(NamedTuple):
    """What every method gets."""

    ground: Optional[_core.Ground]  # None: all points are one apart
    start: Optional[_core.RawTree]  # where one is learned from
    measures: _core.Measures
    pairs: Integers
    distances: Floats
    options: Options
    build: BuildOptions
    threads: int
    verbose: bool


class Fitted(NamedTuple):
    """What every method gives; without epochs the curves are empty, and so are stages without stages."""

    model: Raw
    loss_curve: Floats
    validation_loss_curve: Floats
    best_epoch: int
    stage: Optional[str]  # the best of several
    stage_errors: dict[str, float]


def staged(problem: Problem) -> Fitted:
    """The best of several stages, learning among them; without a ground metric there is only learning."""
    ground, start, measures, pairs, distances, options, _, threads, verbose = problem
    if ground is None:
        return learned("additive")(problem)
    assert start is not None
    options = {**options, "rescale": True}
    labels = measures, pairs, distances
    with bar("fitting", verbose) as report:
        tree, curves, (stage, errors) = _core.fit(start, ground, *labels, options, threads, report)
    return Fitted(tree, *curves, stage, dict(errors))


def learned(kind: str) -> Callable[[Problem], Fitted]:
    """Descent on the edges of the start."""

    def fit(problem: Problem) -> Fitted:
        options: Options = {**problem.options, "kind": kind}
        start, measures, pairs, distances = problem[1:5]
        assert start is not None
        with bar("learning", problem.verbose) as report:
            tree, curves = _core.learn(
                start, measures, pairs, distances, options, problem.threads, report
            )
        return Fitted(tree, *curves, None, {})

    return fit


def built(method: str) -> Callable[[Problem], Fitted]:
    """What the library builds under that name; where all points are one apart, a star is what there is."""

    def fit(problem: Problem) -> Fitted:
        if problem.ground is None:
            model: Raw = _star(problem, method)
        else:
            ground = _core.Ground.solvable(problem.ground, problem.threads)
            options, labels = problem.build, problem[2:5]
            with bar("building", problem.verbose) as report:
                model = _core.build(method, ground, *labels, options, problem.threads, report)
        return Fitted(model, np.empty(0), np.empty(0), 0, None, {})

    return fit


def _star(problem: Problem, method: str) -> Raw:
    star = _core.RawTree.star(problem.measures.points)
    if problem.build["rescale"]:
        found = _core.pairs(star, problem.pairs, problem.measures, problem.threads)
        told = (found > 0) & (problem.distances > 0)
        if told.any():
            star = star.scaled(float(np.median(problem.distances[told] / found[told])))
    return _core.RawForest.from_trees([star]) if method in FORESTS else star


# Methods that give several trees.
FORESTS = (
    "forest",
    "learned-forest",
    "sliced-quadtree",
    "sliced-cluster",
    "sliced-qtwd",
    "sliced-ctwd",
)

# Methods that grow linkages of their own.
GROWN = ("forest", "learned-forest")

# One learned tree.
KINDS = ("additive", "ultrametric", "skip-mst")

# Methods that start from a tree.
STARTED = ("auto", *KINDS)

# Methods that look at all distances between points, so that doing so once more hardly matters.
THOROUGH = (*STARTED, *GROWN, "single", "average", "ultratwd-mst", "ultratwd")

METHODS: dict[str, Callable[[Problem], Fitted]] = {
    "auto": staged,
    **{kind: learned(kind) for kind in KINDS},
    **{
        name: built(name)
        for name in (
            "forest",
            "learned-forest",
            "quadtree",
            "cluster",
            "kmeans",
            "qtwd",
            "ctwd",
            "qtwd-labels",
            "ctwd-labels",
            "sliced-quadtree",
            "sliced-cluster",
            "sliced-qtwd",
            "sliced-ctwd",
            "ultratwd-mst",
            "ultratwd",
            "single",
            "average",
            "total-variation",
        )
    },
}


def check(method: str) -> None:
    """Refuses a name that is not in the table."""
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise ValueError(f"method is {method!r}; it must be one of {known}")
