"""Estimates of exact transport at several levels of accuracy, and certified bounds."""

from __future__ import annotations

from typing import Any, Optional

from . import _core
from ._inputs import threads_of
from ._progress import bar
from ._tree_over_clouds import takes_clouds
from ._types import Accuracy, AnyMeasures, Floats


class Estimates:
    """Estimates and bounds of exact transport from a ground metric and a model."""

    n_jobs: Optional[int]
    verbose: bool

    @takes_clouds
    def estimate(self, A: AnyMeasures, B: AnyMeasures, accuracy: Accuracy = "flow") -> Floats:
        """Estimates the exact transport distance of row i of `A` to row i of `B`, at some accuracy.

        Some of the exact distances of `fit` calibrate every level (`calibration_`), so that "tree"
        is `paired` times a factor. If a level has a larger error on them than a lower level, it
        returns the value of the lower level. Files store the calibration: `treeport estimate` gives
        the same values for a saved model. At levels above "tree", small supports are solved
        exactly, because that is faster.

        Parameters
        ----------
        A, B : array-like or sparse of shape (n_measures, n_points)
        accuracy : {"tree", "flow", "arcs", "exact"} or float
            "tree" is the distance of the trees; "flow" the true cost of their plans; "arcs" a value
            between the bounds of a few Sinkhorn iterations, without the trees; "exact" solves the
            problem. A number is a certified relative error: a pair is tried at "flow" if its plans
            are likely to suffice, then at "arcs", and is solved exactly if neither certifies the
            error.

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
        self, A: AnyMeasures, B: AnyMeasures, accuracy: Accuracy = "flow"
    ) -> tuple[Floats, Floats]:
        """Computes certified bounds of the exact distance of row i of `A` to row i of `B`.

        The upper bound is the cost of a plan. The lower bound comes from feasible dual potentials:
        at "flow" the mean of those of the trees, at "arcs" those of a few Sinkhorn iterations,
        whose bounds are much tighter in the plane. "tree" and "flow" also use single linkage, which
        is never above the ground metric, and the distance between the two centroids. Bounds take
        longer than an estimate, so larger supports are solved exactly than in `estimate`. An
        `estimate` may lie outside of these bounds.

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
            return estimator.paired(
                accuracy, left, right, bounds=bounds, threads=threads, report=report
            )

    def _estimator(self, threads: int) -> _core.Estimator:
        raise NotImplementedError

    def _measures(self, X: Any) -> _core.Measures:
        raise NotImplementedError
