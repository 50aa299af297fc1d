"""Nearest neighbors under exact transport, in the manner of scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._blocks import processes, spread_search
from ._estimator import TreeWasserstein, _parameters
from ._ground import ground_of, names_of_ground, places_for, with_metrics
from ._inputs import Integers, Places, are_mappings, measures_of, named_rows, neighbors_of, rows_of, threads_of
from ._progress import bar


@with_metrics
class WassersteinNeighbors(  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Finds the measures of a collection that are nearest by exact transport.

    A measure is a row of masses at the points; every row is divided by its total first. `fit` works out once
    what helps all queries; after that few pairs are solved for a query, and the answer is proved to be
    that of solving all of them. Methods are those of scikit-learn's `NearestNeighbors` and `KNeighborsTransformer`.

    Parameters
    ----------
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates of the points. Give at most one of `points`, `cost`, `graph` and `model`; with none of them all
        points are at distance one.
    cost : array-like of shape (n_points, n_points) or (n_points * (n_points - 1) / 2,), optional
        Distances between the points, square or condensed.
    graph : sparse matrix of shape (n_points, n_points) or networkx graph, optional
        Edge weights of an undirected graph; distances are shortest paths.
    model : TreeWasserstein, optional
        One whose ground metric is taken. Its trees are not: distances are exact ones.
    weight : str or None
        The attribute of a networkx graph's edges that holds their lengths; `None` counts every edge as 1.
    metric : {metrics}
        How distances follow from `points`.
    n_neighbors : int
        Neighbors of a query, where a call does not say.
    radius : float
        The radius, where a call does not say.
    accuracy : {"exact", "approximate"} or float
        "exact" finds the nearest, proved. A number ε allows each distance to be 1 + ε times the true one of its
        rank, proved; the distances themselves are exact. "approximate" solves nothing: neighbors are the nearest by lower bounds
        of their distances, which are given in place of these; `expected_recall` says how many are right.
        `radius_neighbors` is exact at any.
    memory : int, optional
        Bytes to keep distances and potentials in, which make answers faster, never others; 4 GiB by default.
    n_jobs : int, optional
        Threads; `None` and -1 stand for all processors. The result is the same for any number.
    verbose : bool
        Whether to show progress bars on stderr.

    Attributes
    ----------
    n_samples_fit_ : int
        Numbers given to measures so far: those of `fit` and of `add`, removed ones included.
    n_features_in_ : int
        Number of points.
    feature_names_in_ : ndarray of shape (n_points,)
        Names of the points, where `fit` got a DataFrame with names of columns.
    effective_metric_ : str
        "wasserstein".

    Examples
    --------
    >>> import treeport as tp
    >>> places = [[0.0], [1.0], [5.0]]
    >>> nn = tp.WassersteinNeighbors(places, n_neighbors=2).fit([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> distances, numbers = nn.kneighbors([[0, 1, 0]])
    >>> distances.tolist(), numbers.tolist()
    ([[0.5, 1.0]], [[1, 0]])
    """

    _index: _core.Index
    effective_metric_ = "wasserstein"

    def __init__(
        self,
        points: Any = None,
        *,
        cost: Any = None,
        graph: Any = None,
        model: Optional[TreeWasserstein] = None,
        weight: Optional[str] = "weight",
        metric: str = "euclidean",
        n_neighbors: int = 10,
        radius: float = 1.0,
        accuracy: Union[str, float] = "exact",
        memory: Optional[int] = None,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.points = points
        self.cost = cost
        self.graph = graph
        self.model = model
        self.weight = weight
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.accuracy = accuracy
        self.memory = memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> WassersteinNeighbors:
        """Builds the index of a collection.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_measures, n_points)
            One measure per row, none without mass. Row i is measure number i.
        y : ignored

        Returns
        -------
        self : WassersteinNeighbors
        """
        self._check()
        names = self._names(reset=True)
        X = rows_of(self, self._named(X, reset=True), names, reset=True)
        measures, ground = measures_of(X, normalize=True), self._ground()
        named = getattr(self, "feature_names_in_", names)
        with bar("indexing", self.verbose) as report:
            self._index = _core.Index(
                ground,
                measures,
                None if self.memory is None else int(self.memory),
                None if named is None else [str(name) for name in named],
                threads_of(self.n_jobs),
                report,
            )
        self.n_samples_fit_ = len(self._index)
        return self

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: Optional[int] = None,
        return_distance: bool = True,
        return_bounds: bool = False,
    ) -> Any:
        """The nearest measures of every query, the nearest first; ties by number.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_queries, n_points), optional
            By default every measure of the collection is a query, among the others.
        n_neighbors : int, optional
            How many.
        return_distance : bool
        return_bounds : bool
            Whether to return what was proved, too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with `return_distance`. Lower bounds of them where `accuracy` is "approximate".
        numbers : ndarray of int of shape (n_queries, n_neighbors)
            Without `X` a measure that was removed has the neighbors -1, at infinite distances.
        bounds : ndarray of shape (n_queries,)
            Only with `return_bounds`: no measure that was left out is nearer than this.
        solved : ndarray of int of shape (n_queries,)
            Only with `return_bounds`: how many pairs were solved.
        """
        start, found, distances, bounds, solved = self._nearest(X, n_neighbors)
        each = np.diff(start)
        shape = (len(each), max(each, default=0))
        there = each == shape[1]  # all but those that were removed
        numbers, table = np.full(shape, -1, dtype=np.int64), np.full(shape, np.inf)
        numbers[there] = found.reshape(-1, shape[1])
        table[there] = distances.reshape(-1, shape[1])
        answer: tuple[Any, ...] = (table, numbers) if return_distance else (numbers,)
        answer += (bounds, solved) if return_bounds else ()
        return answer if len(answer) > 1 else numbers

    def radius_neighbors(
        self,
        X: Any = None,
        radius: Optional[float] = None,
        return_distance: bool = True,
        sort_results: bool = True,
    ) -> Any:
        """All measures within a distance of every query, the distance included; exact at any `accuracy`.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_queries, n_points), optional
            By default every measure of the collection is a query, among the others.
        radius : float, optional
            The distance.
        return_distance : bool
        sort_results : bool
            They are sorted in any case, the nearest first.

        Returns
        -------
        distances : ndarray of arrays of shape (n_queries,)
            Only with `return_distance`.
        numbers : ndarray of arrays of int of shape (n_queries,)
        """
        start, found, distances, *_ = self._within(X, radius)
        numbers = _arrays(found, start)
        return (_arrays(distances, start), numbers) if return_distance else numbers

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: Optional[int] = None, mode: str = "connectivity"
    ) -> sparse.csr_matrix:
        """The graph of nearest neighbors, which scikit-learn takes for ``metric="precomputed"``.

        Parameters
        ----------
        X, n_neighbors
            As for `kneighbors`.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit_)
            The entries of a row by distance; a distance of 0 is an entry, too.
        """
        _check_mode(mode)
        return self._matrix(self._nearest(X, n_neighbors), mode)

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: Optional[float] = None,
        mode: str = "connectivity",
        sort_results: bool = True,
    ) -> sparse.csr_matrix:
        """The graph of neighbors within a distance; see `radius_neighbors` and `kneighbors_graph`.

        Parameters
        ----------
        X, radius, sort_results
            As for `radius_neighbors`.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit_)
        """
        _check_mode(mode)
        return self._matrix(self._within(X, radius), mode)

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Distances to the nearest measures, for a next step that has ``metric="precomputed"``.

        As scikit-learn's `KNeighborsTransformer` has it, these are ``n_neighbors + 1``, for whoever is in the
        collection finds itself.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_queries, n_points)

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit_)
        """
        check_is_fitted(self)
        return self.kneighbors_graph(X, neighbors_of(self.n_neighbors) + 1, mode="distance")

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_matrix:
        """Builds the index, and the graph of every measure with itself and its `n_neighbors` nearest others.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_measures, n_points)
        y : ignored

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_measures, n_measures)
            Each is its own first neighbor, at distance 0, even where others are equal to it.
        """
        start, numbers, distances, bounds, solved = self.fit(X)._nearest(None, None)
        own = np.arange(len(start) - 1)
        numbers = np.insert(numbers, start[:-1], own)
        distances = np.insert(distances, start[:-1], 0.0)
        start = start + np.arange(len(start))
        return self._matrix((start, numbers, distances, bounds, solved), "distance")

    def add(self, X: Any) -> Integers:
        """Adds measures to the collection; `RuntimeError` while another thread searches it.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_measures, n_points)

        Returns
        -------
        numbers : ndarray of int of shape (n_measures,)
            Theirs, which follow those given before.
        """
        measures = self._measures(X)
        with bar("indexing", self.verbose) as report:
            first = self._index.add(measures, threads_of(self.n_jobs), report)
        self.n_samples_fit_ = len(self._index)
        return np.arange(first, self.n_samples_fit_)

    def remove(self, numbers: Any) -> WassersteinNeighbors:
        """Removes measures from the collection; the others keep their numbers.

        Parameters
        ----------
        numbers : int or array-like of int
            One that no measure has is refused, and nothing is removed then.

        Returns
        -------
        self : WassersteinNeighbors
        """
        check_is_fitted(self)
        given = np.atleast_1d(np.asarray(numbers))
        if given.size and (given.dtype.kind not in "iu" or given.ndim != 1):
            raise ValueError(f"numbers of measures are a list of int, not {given.dtype} of shape {given.shape}")
        if given.size and given.min() < 0:
            raise ValueError(f"there is no measure {given.min()}; measures are numbered from 0")
        self._index.remove(given.astype(np.int64))
        return self

    def expected_recall(self, n_neighbors: Optional[int] = None) -> float:
        """The share of the true neighbors that ``accuracy="approximate"`` finds, measured on some of the collection.

        Parameters
        ----------
        n_neighbors : int, optional
            How many neighbors.
        """
        check_is_fitted(self)
        k = neighbors_of(self.n_neighbors if n_neighbors is None else n_neighbors)
        with bar("searching", self.verbose) as report:
            return self._index.expected_recall(k, threads_of(self.n_jobs), report)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the collection, its ground metric and all that was worked out to one file.

        Parameters
        ----------
        path : str or path-like
        """
        check_is_fitted(self)
        self._index.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> WassersteinNeighbors:
        """Reads what `save` has written, ready to answer.

        The ground metric becomes `points`, `cost` or `graph`; other parameters are not in the file.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            It is not the file of an index, or it is damaged.
        """
        index = _core.Index.load(os.fspath(path))
        loaded = cls(**_parameters(index.ground))
        loaded._index = index
        loaded.n_features_in_ = index.ground.points
        loaded.n_samples_fit_ = len(index)
        return loaded

    @property
    def nbytes_(self) -> int:
        """Bytes that the index takes now beside the ground metric and the measures."""
        check_is_fitted(self)
        return self._index.bytes

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _check(self) -> None:
        """Refuses parameters that cannot be used."""
        _core.check_search_accuracy(self.accuracy)
        memory = self.memory
        number = isinstance(memory, (int, np.integer)) and not isinstance(memory, bool)
        if memory is not None and not (number and memory >= 0):
            raise ValueError(f"memory is {memory!r}; it is a number of bytes, or None")
        given = (self.points, self.cost, self.graph, self.model)
        count = sum(what is not None for what in given)
        if count > 1:
            raise ValueError(f"give at most one of points, cost, graph and model; {count} of them are given")
        if not isinstance(self.model, (TreeWasserstein, type(None))):
            raise ValueError(f"model is of type {type(self.model).__name__}; it must be a TreeWasserstein")

    def _ground(self) -> _core.Ground:
        source = self if self.model is None else self.model
        bare = source.points is None and source.cost is None and source.graph is None
        if self.model is None and bare:
            return _core.Ground.discrete(self.n_features_in_)
        if self.model is not None and (bare or self.model.__sklearn_is_fitted__()):
            check_is_fitted(self.model)
            return self.model._ground()
        return ground_of(source.points, source.cost, source.graph, source.metric, source.weight)

    def _names(self, reset: bool) -> Optional[Sequence[Any]]:
        """Names of the points that columns are matched to."""
        model = self.model
        source = self if model is None else model
        names = names_of_ground(source.points, source.cost, source.graph)
        if reset:
            return names or (model._model.names if model and model.__sklearn_is_fitted__() else None)
        return names if hasattr(self, "feature_names_in_") else names or self._index.names

    def _rows(self, X: Any) -> Any:
        """Rows as scikit-learn checks them."""
        check_is_fitted(self)
        return rows_of(self, self._named(X, reset=False), self._names(reset=False), reset=False)

    def _named(self, X: Any, reset: bool) -> Any:
        """Rows that are given as ``{node: mass}``, with the names of the points; others as they are."""
        if not are_mappings(X):
            return X
        source = self if self.model is None else self.model
        known = None
        if not reset:
            known = Places(self.n_features_in_, getattr(self, "feature_names_in_", self._index.names))
        elif self.model is not None and self.model.__sklearn_is_fitted__():
            known = self.model._places()
        return named_rows(X, places_for(source, known, X))

    def _measures(self, X: Any) -> _core.Measures:
        return measures_of(self._rows(X), normalize=True)

    def _nearest(self, X: Any, n_neighbors: Optional[int]) -> _core._Found:
        check_is_fitted(self)
        k = neighbors_of(self.n_neighbors if n_neighbors is None else n_neighbors)
        rows = None if X is None else self._rows(X)
        present = self._index.present
        if k > (present - 1 if rows is None else present):
            relation = "<" if rows is None else "<="
            samples = present if rows is None else rows.shape[0]
            raise ValueError(
                f"Expected n_neighbors {relation} n_samples_fit, but n_neighbors = {k}, "
                f"n_samples_fit = {present}, n_samples = {samples}"
            )
        if rows is not None and processes():
            return spread_search(self._index, rows, k, self.accuracy)
        queries = None if rows is None else measures_of(rows, normalize=True)
        with bar("searching", self.verbose) as report:
            return self._index.nearest(queries, k, self.accuracy, threads_of(self.n_jobs), report)

    def _within(self, X: Any, radius: Optional[float]) -> _core._Found:
        check_is_fitted(self)
        radius = float(self.radius if radius is None else radius)
        queries = None if X is None else self._measures(X)
        with bar("searching", self.verbose) as report:
            return self._index.radius(queries, radius, threads_of(self.n_jobs), report)

    def _matrix(self, found: _core._Found, mode: str) -> sparse.csr_matrix:
        start, numbers, distances, *_ = found
        values = np.ones_like(distances) if mode == "connectivity" else distances
        shape = (len(start) - 1, self.n_samples_fit_)
        # Not an array: scanpy, for one, asks graphs for what only a matrix has.
        return sparse.csr_matrix((values, numbers, start), shape=shape)


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode is {mode!r}; it must be connectivity or distance")


def _arrays(values: Any, start: Integers) -> Any:
    """One array for each query, in an array."""
    parts = np.empty(len(start) - 1, dtype=object)
    for row in range(len(parts)):
        parts[row] = values[start[row] : start[row + 1]].copy()
    return parts
