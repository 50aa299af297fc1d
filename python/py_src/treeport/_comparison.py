"""Comparison of methods on the user's own measures: error against time, and what to do."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional

from . import _core
from ._clouds import Clouds
from ._estimator import TreeWasserstein
from ._ground import with_metrics
from ._inputs import seed_of, threads_of
from ._progress import bar
from ._tree_over_clouds import rows_of_fit
from ._types import AnyMeasures, ArrayLike, DataFrame, GraphLike, Path, Period, Seed

_COLUMNS = (
    ("method", "front"),
    ("error", "scaled_error", "scaled_std"),
    ("build_seconds", "pair_seconds"),
    ("model_bytes", "solved_exactly", "certified_width"),
)


class Comparison:
    """Error and time of methods, from `compare`. In a notebook it shows its picture.

    Attributes
    ----------
    advice : str
        Whether to solve all pairs of the measures exactly or to fit a method, with the times of
        both.
    rows : list of dict
        One for each method, the smallest error first: `method`; `front`, whether no other method is
        both faster and more accurate; `error`, the mean relative error; `scaled_error` and
        `scaled_std`, the error after one factor and its standard deviation; `build_seconds`;
        `pair_seconds` on one thread; `model_bytes`; `solved_exactly`, the share of pairs that the
        method solved instead of estimating them; `certified_width`, the mean relative width of
        certified bounds. The last two are `None` where they do not apply.
    """

    def __init__(self, raw: _core.Comparison) -> None:
        self._raw = raw
        self.advice: str = raw.advice or ""
        names = [name for part in _COLUMNS for name in part]
        rows = [[value for part in row for value in part] for row in raw.rows()]
        self.rows: list[dict[str, Any]] = [dict(zip(names, row)) for row in rows]

    def to_frame(self) -> DataFrame:
        """Returns the rows as a pandas DataFrame, indexed by method."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_frame makes a DataFrame: `pip install pandas`") from error
        return pandas.DataFrame(self.rows).set_index("method")

    def to_svg(self, title: str = "Error against time") -> str:
        """Draws error against time as SVG: no method is both faster and better than one on the line.

        Parameters
        ----------
        title : str
        """
        return self._raw.svg(title)

    def save_svg(self, path: Path, title: str = "Error against time") -> None:
        """Writes the picture of `to_svg` to a file.

        Parameters
        ----------
        path : str or path-like
        title : str
        """
        _core.write_text(os.fspath(path), self.to_svg(title))

    def __repr__(self) -> str:
        return f"{self._raw.text()}\n{self.advice}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"{self.to_svg()}<p>{escape(self.advice)}</p>"


@with_metrics
def compare(
    X: AnyMeasures,
    points: Optional[ArrayLike] = None,
    *,
    cost: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    methods: Optional[Sequence[str]] = None,
    n_pairs: int = _core.DEFAULT_PAIRS,
    normalize: bool = True,
    random_state: Seed = 0,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
) -> Comparison:
    """Times and evaluates methods on your measures, and says whether a fit is worth its time.

    Some pairs are solved exactly. Methods learn from the first half of them and are evaluated on
    the second.

    Parameters
    ----------
    X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_measures, n_points)
        The measures, as for `TreeWasserstein.fit`.
    points, cost, graph, weight, period
        The ground metric, as for `TreeWasserstein`.
    metric : {metrics}
        The distance between two points.
    methods : sequence of str, optional
        Methods of `TreeWasserstein`, "arcs" (values between certified bounds), "flowtree" and
        "mean-label"; by default all that can be used with the data. "exact" is always there.
    n_pairs : int
        Number of pairs of rows that are solved exactly.
    normalize : bool
        Whether to divide every row by its total first.
    random_state : int, numpy.random.Generator or None
        Source of randomness.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. Pairs are timed on one.
    verbose : bool
        Whether to show progress bars on stderr.

    Returns
    -------
    comparison : Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> rng = np.random.default_rng(0)
    >>> words, documents = rng.normal(size=(30, 2)), rng.integers(0, 2, size=(40, 30))
    >>> compared = tp.compare(documents, words, methods=["tree", "slices"], n_pairs=60)
    >>> sorted(row["method"] for row in compared.rows)
    ['exact', 'slices', 'tree']
    >>> compared.advice.startswith("Solve exactly: all 780 pairs take about")
    True
    """
    if n_pairs < 2:
        raise ValueError(f"n_pairs is {n_pairs}; one pair cannot both fit and test")
    data = TreeWasserstein(
        points,
        cost=cost,
        graph=graph,
        weight=weight,
        metric=metric,
        period=period,
        normalize=normalize,
        n_pairs=n_pairs,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    seed = seed_of(random_state)
    given = rows_of_fit(data, X) if isinstance(X, Clouds) else X
    labeled = data._sampled(data._with_mass(data._rows(given, reset=True)), seed, True, None)
    chosen = [methods] if isinstance(methods, str) else list(methods or [])
    with bar("comparing", verbose) as report:
        raw = _core.compare(
            data._ground(), labeled, chosen, seed=seed, threads=threads_of(n_jobs), report=report
        )
    return Comparison(raw)
