"""Whether transport pays: nearest-neighbor classification by it and by plain baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _core
from .._estimator import TreeWasserstein
from .._ground import coordinates
from .._inputs import Measures, to_measures
from .._neighbors import WassersteinNeighbors
from .._statistics.groups import in_order
from .._statistics.permutations import numbered
from .._types import ArrayLike, Floats, GroupLabels, Integers, MeasuresLike, Seed
from .documents import Texts

EXACT = "exact transport"


@dataclass(frozen=True)
class NeighborComparison:
    """The result of `compare_neighbors`.

    Attributes
    ----------
    accuracy : dict
        The share of measures whose neighbors have their class, for each method.
    pvalues : dict
        For each method but "exact transport", the p-value of McNemar's exact test that the two are
        right equally often.
    correct : dict
        For each method, whether each measure was classified correctly.
    """

    accuracy: dict[str, float]
    pvalues: dict[str, float]
    correct: dict[str, npt.NDArray[np.bool_]]

    def __repr__(self) -> str:
        lines = [f"{'method':<18} accuracy  p against exact transport"]
        for name, share in self.accuracy.items():
            p = f"{self.pvalues[name]:.3g}" if name in self.pvalues else ""
            lines.append(f"{name:<18} {share:8.3f}  {p}".rstrip())
        return "\n".join(lines)


def compare_neighbors(
    measures: MeasuresLike,
    y: GroupLabels,
    *,
    points: Optional[ArrayLike] = None,
    n_neighbors: int = 5,
    random_state: Seed = 0,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
) -> NeighborComparison:
    """Compares nearest-neighbor classification by transport with plain baselines, leaving one out.

    Transport does not always pay. This tells for your data: each measure gets the most frequent
    class among its nearest others, by exact transport, by a tree, by the cosine of means of points,
    and by the cosine of TF-IDF vectors, which sees only points in common.

    Parameters
    ----------
    measures : Texts, or array-like, sparse or Measures of shape (n_measures, n_points)
    y : sequence of length n_measures, Series or dict
        The class of each measure.
    points : array-like of shape (n_points, n_dimensions)
        `Texts` have their own.
    n_neighbors : int
        The number of neighbors that vote; of equally frequent classes the one with the nearest
        neighbor wins.
    random_state, n_jobs, verbose
        As for `TreeWasserstein` and `WassersteinNeighbors`.

    Returns
    -------
    comparison : NeighborComparison
        Printed, it is a table of methods.

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> rng = np.random.default_rng(0)
    >>> words = np.concatenate([rng.normal(size=(20, 3)), rng.normal(3.0, size=(20, 3))])
    >>> chance = np.repeat([[3, 1], [1, 3]], 15, axis=0).repeat(20, axis=1) / 80
    >>> rows = np.array([rng.multinomial(8, row) for row in chance])
    >>> found = tp.compare_neighbors(rows, ["a"] * 15 + ["b"] * 15, points=words)
    >>> found.accuracy["exact transport"] > 0.8, sorted(found.pvalues)
    (True, ['TF-IDF cosine', 'mean cosine', 'tree'])
    """
    from sklearn.feature_extraction.text import TfidfTransformer  # imports take a second

    if isinstance(measures, Texts):
        points = measures.points if points is None else points
        measures = measures.measures
    if points is None:
        raise TypeError("give the `points` of the measures, or `Texts`, which have them")
    rows = measures if isinstance(measures, Measures) else Measures(measures)
    n = rows.shape[0]
    if n <= n_neighbors:
        raise ValueError(f"{n} measures have fewer than {n_neighbors} others; take fewer neighbors")
    names, classes = numbered(in_order(y, rows.ids, n, "classes"), "classes")
    if len(names) < 2:
        raise ValueError(f"all {n} measures have one class, {names[0]}")
    _core.Model.check_table(16 * n * n)
    masses = sparse.csr_array(to_measures(rows).in_order(_names_of(points), "warn"))
    search = WassersteinNeighbors(points=points, n_neighbors=n_neighbors, n_jobs=n_jobs)
    tree = TreeWasserstein(points=points, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
    nearest = {
        EXACT: np.asarray(search.fit(rows).kneighbors()[1]),
        "tree": _nearest(np.asarray(tree.fit(rows).pairwise(rows)), n_neighbors),
        "mean cosine": _by_cosine(masses @ coordinates(points), n_neighbors),
        "TF-IDF cosine": _by_cosine(TfidfTransformer(norm=None).fit_transform(masses), n_neighbors),
    }
    correct = {name: _votes(classes[near]) == classes for name, near in nearest.items()}
    return NeighborComparison(
        {name: float(right.mean()) for name, right in correct.items()},
        {name: mcnemar(correct[EXACT], right) for name, right in correct.items() if name != EXACT},
        correct,
    )


def _names_of(points: Any) -> Any:
    return to_measures(points).rows


def _nearest(distances: Floats, count: int) -> Integers:
    """Returns the nearest other rows of a table; lower numbers break ties."""
    distances = distances.copy()
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :count]


def _by_cosine(rows: Any, count: int) -> Integers:
    from sklearn.preprocessing import normalize

    unit = normalize(rows)
    inner = unit @ unit.T
    return _nearest(-(inner.toarray() if sparse.issparse(inner) else inner), count)


def _votes(classes: Integers) -> Integers:
    """Returns the most frequent class of every row; of equals the one that comes first."""
    times = (classes[:, :, np.newaxis] == classes[:, np.newaxis, :]).sum(axis=2)
    chosen: Integers = np.take_along_axis(classes, times.argmax(axis=1)[:, np.newaxis], 1)[:, 0]
    return chosen


def mcnemar(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    """Computes the p-value of McNemar's exact test: the binomial test of the cases that only one of
    two methods has right."""
    from scipy.stats import binomtest

    only = int(np.count_nonzero(one & ~other)), int(np.count_nonzero(other & ~one))
    return 1.0 if sum(only) == 0 else float(binomtest(only[0], sum(only)).pvalue)
