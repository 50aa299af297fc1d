"""The dial: estimates as accurate as one likes, certified bounds, and what labels tell about every level."""

from __future__ import annotations

from numbers import Real
from typing import Any, Optional, TypedDict, Union

import numpy as np

from . import _core
from ._forest import Forest
from ._inputs import Floats, threads_of
from ._labels import side_by_side
from ._methods import Problem, Raw
from ._progress import bar
from ._tree import Tree

LEVELS = ("tree", "flow", "arcs", "exact")

# A factor is a median: more labels than this would hardly move it.
MOST_LABELS = 100

# All distances between so many points take about a second.
MOST_POINTS = 5_000

# What a distance without ground metric may be off by, as wide as the library widens its bounds.
ROUNDING = 1e-11


class Calibration(TypedDict):
    """Factors of the levels; whether "flow" takes the mean of its plans; its narrowest interval."""

    tree: float
    flow: float
    arcs: float
    exact: float
    mean_of_plans: bool
    flow_width: float


def accuracy_of(accuracy: Any) -> Union[str, float]:
    """A level, or a relative error.

    Examples
    --------
    >>> accuracy_of("flow"), accuracy_of(0)
    ('flow', 0.0)
    """
    if isinstance(accuracy, str) and accuracy in LEVELS:
        return accuracy
    if isinstance(accuracy, Real) and float(accuracy) >= 0:
        return float(accuracy)
    known = ", ".join(LEVELS)
    raise ValueError(f"accuracy is {accuracy!r}; it must be {known}, or a number of at least 0")


def over(
    ground: _core.Ground, model: Raw, calibration: Optional[Calibration], threads: int
) -> _core.Dial:
    """What gives estimates and bounds."""
    ground = _core.Ground.solvable(ground, threads)
    return _core.Dial.over(ground, _forest(model), calibration, threads)


def calibration(problem: Problem, model: Raw, thorough: bool) -> Optional[Calibration]:
    """What some of the labels tell about every level; `None` where that would take too long.

    It looks at all distances between points: `thorough` says that this has been done anyway.
    """
    ground, threads = problem.ground, problem.threads
    if ground is None or (ground.points > MOST_POINTS and not thorough):
        return None
    count = len(problem.pairs)
    some = np.unique(np.linspace(0, count - 1, min(count, MOST_LABELS)).astype(np.int64))
    pairs, distances = problem.pairs[some], problem.distances[some]
    ground = _core.Ground.solvable(ground, threads)
    with bar("calibrating", problem.verbose) as report:
        return _core.Dial.calibrate(
            ground, _forest(model), problem.measures, pairs, distances, threads, report
        )


def around(distances: Floats) -> tuple[Floats, Floats]:
    """Bounds of distances that are exact but for rounding."""
    return distances * (1 - ROUNDING), distances * (1 + ROUNDING)


def _forest(model: Raw) -> _core.RawForest:
    """A tree is a forest of one."""
    return model if isinstance(model, _core.RawForest) else _core.RawForest.from_trees([model])


class Estimates:
    """What an estimator with a ground metric and a model can say about exact transport."""

    points: Any
    cost: Any
    graph: Any
    metric: str
    n_jobs: Optional[int]
    verbose: bool

    def estimate(self, A: Any, B: Any, accuracy: Union[str, float] = "flow") -> Floats:
        """Exact transport distance of row i of `A` to row i of `B`, as accurately as you like.

        The labels of `fit`, which have to be exact distances for that, calibrate every level
        (`calibration_`), so that "tree" is `paired` times a factor. Small supports are solved exactly at
        any level above "tree", because that is faster. The first call reads the ground metric and grows
        one more tree; later calls share both.

        Parameters
        ----------
        A, B : array-like or sparse of shape (n_measures, n_points)
        accuracy : {"tree", "flow", "arcs", "exact"} or float
            "tree" takes the distance of the trees; "flow" the true cost of their plans; "arcs" the best
            plan on the arcs they suggest; "exact" solves. A number is a relative error that is certified
            to be kept, each pair at the lowest level that can promise it.

        Returns
        -------
        distances : ndarray of shape (n_measures,)

        Examples
        --------
        >>> import numpy as np
        >>> import treeport as tp
        >>> rng = np.random.default_rng(0)
        >>> words, documents = rng.normal(size=(30, 2)), rng.integers(0, 2, size=(40, 30))
        >>> tw = tp.TreeWasserstein(points=words, method="forest").fit(documents)
        >>> exact = tw.estimate(documents[:20], documents[20:], accuracy="exact")
        >>> close = tw.estimate(documents[:20], documents[20:], accuracy=0.02)
        >>> bool((abs(close - exact) <= 0.02 * exact).all())
        True
        """
        asked, threads = accuracy_of(accuracy), threads_of(self.n_jobs)
        left, right = self._measures(A), self._measures(B)
        measures, pairs = side_by_side(left, right)
        dial = self._dial(threads)
        with bar("estimating", self.verbose) as report:
            if dial is None:  # the tree of points one apart is a star, and exact
                star = _core.RawTree.star(measures.points)
                return _core.pairs(star, pairs, measures, threads, report)
            return dial.pairs(asked, pairs, measures, threads, report)

    def bounds(
        self, A: Any, B: Any, accuracy: Union[str, float] = "flow"
    ) -> tuple[Floats, Floats]:
        """Certified bounds of the exact transport distance of row i of `A` to row i of `B`.

        Above is the cost of a plan; below are single linkage, which is never above the ground metric, the
        distance of the two centroids, and dual potentials (all but "tree"): at "flow" the mean of
        those of the trees, made to respect all distances, which it asks for. That is more work than an
        estimate, so larger supports are solved exactly, and `estimate` may lie outside of these bounds.

        Parameters
        ----------
        A, B : array-like or sparse of shape (n_measures, n_points)
        accuracy : {"tree", "flow", "arcs", "exact"} or float
            As for `estimate`; a number is the largest ``upper / lower - 1``.

        Returns
        -------
        lower, upper : ndarray of shape (n_measures,)

        Examples
        --------
        >>> import numpy as np
        >>> import treeport as tp
        >>> rng = np.random.default_rng(0)
        >>> words, documents = rng.normal(size=(30, 2)), rng.integers(0, 2, size=(40, 30))
        >>> tw = tp.TreeWasserstein(points=words).fit(documents)
        >>> lower, upper = tw.bounds(documents[:20], documents[20:], accuracy="tree")
        >>> exact = tw.estimate(documents[:20], documents[20:], accuracy="exact")
        >>> bool((lower <= exact).all() and (exact <= upper).all())
        True
        """
        asked, threads = accuracy_of(accuracy), threads_of(self.n_jobs)
        left, right = self._measures(A), self._measures(B)
        measures, pairs = side_by_side(left, right)
        dial = self._dial(threads)
        with bar("bounding", self.verbose) as report:
            if dial is None:
                star = _core.RawTree.star(measures.points)
                return around(_core.pairs(star, pairs, measures, threads, report))
            return dial.bounds(asked, pairs, measures, threads, report)

    def _dial(self, threads: int) -> Optional[_core.Dial]:
        """What answers `estimate`; made once for the same ground metric."""
        given = (self.points, self.cost, self.graph, self.metric, self._model)
        known, dial = getattr(self, "_made", ((), None))
        if len(known) == len(given) and all(one is other for one, other in zip(known, given)):
            return dial
        ground = self._ground()
        if ground is not None:
            kept = getattr(self, "calibration_", None)
            dial = over(ground, self._model._raw, kept, threads)
            self._made = (given, dial)
            return dial
        return None

    @property
    def _model(self) -> Union[Tree, Forest]:
        raise NotImplementedError

    def _ground(self) -> Optional[_core.Ground]:
        raise NotImplementedError

    def _measures(self, X: Any) -> _core.Measures:
        raise NotImplementedError
