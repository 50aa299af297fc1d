"""Estimates as accurate as one likes, and certified bounds."""

from __future__ import annotations

from typing import Any, Optional, TypedDict, Union

from . import _core
from ._inputs import Floats, threads_of
from ._progress import bar
from ._tree_over_clouds import takes_clouds

class Calibration(TypedDict):
    """Factors of the levels; which level answers for each of them, itself or a lower one that erred less; whether
    "flow" takes the mean of its plans; its narrowest interval; how much of the lower and of the upper bound "flow" and
    "arcs" take where both are computed."""

    tree: float
    flow: float
    arcs: float
    exact: float
    levels: list[str]
    mean_of_plans: bool
    flow_width: float
    flow_blend: Optional[list[float]]
    arcs_blend: list[float]


class Estimates:
    """What an estimator with a ground metric and a model can say about exact transport."""

    n_jobs: Optional[int]
    verbose: bool

    @takes_clouds
    def estimate(self, A: Any, B: Any, accuracy: Union[str, float] = "flow") -> Floats:
        """Exact transport distance of row i of `A` to row i of `B`, as accurately as you like.

        Some of the distances of `fit`, which have to be exact for that, calibrate every level
        (`calibration_`), so that "tree" is `paired` times a factor; a level that errs more on them than a lower
        one gives the value of the lower one. Files remember it: `treeport estimate` says the same of a
        model that was saved. Small supports are solved exactly at any level above "tree", because that is faster.

        Parameters
        ----------
        A, B : array-like or sparse of shape (n_measures, n_points)
        accuracy : {"tree", "flow", "arcs", "exact"} or float
            "tree" takes the distance of the trees; "flow" the true cost of their plans; "arcs" a value between
            the bounds that a few Sinkhorn sweeps prove, and does not use the trees; "exact" solves. A number is a relative
            error that is certified to be kept: a pair is tried at "flow", where its plans are likely to be enough, then
            at "arcs", and is solved where neither proves it.

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
        return self._ask(A, B, accuracy, False)[0]

    @takes_clouds
    def bounds(
        self, A: Any, B: Any, accuracy: Union[str, float] = "flow"
    ) -> tuple[Floats, Floats]:
        """Certified bounds of the exact transport distance of row i of `A` to row i of `B`.

        Above is the cost of a plan; below are dual potentials, made to respect all distances: at "flow" the mean of
        those of the trees, at "arcs" those of a few Sinkhorn sweeps, which are much narrower on maps. "tree" and
        "flow" also know single linkage, which is never above the ground metric, and the distance of the two
        centroids. That is more work than an estimate, so larger supports are solved exactly, and `estimate` may
        lie outside of these bounds.

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
        return self._ask(A, B, accuracy, True)

    def _ask(self, A: Any, B: Any, accuracy: Any, bounds: bool) -> tuple[Floats, Floats]:
        threads = threads_of(self.n_jobs)
        left, right = self._measures(A), self._measures(B)
        estimator = self._estimator(threads)
        with bar("bounding" if bounds else "estimating", self.verbose) as report:
            return estimator.paired(accuracy, left, right, bounds, threads, report)

    def _estimator(self, threads: int) -> _core.Estimator:
        raise NotImplementedError

    def _measures(self, X: Any) -> _core.Measures:
        raise NotImplementedError
