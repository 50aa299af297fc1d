"""Nearest neighbors under exact transport, with the interface of scikit-learn."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._blocks import processes, spread_search
from ._clouds import are_clouds, clouds_for, clouds_of
from ._devices.pair_bounds import DeviceSearch
from ._estimator import TreeWasserstein, _parameters, refuse_frames, with_normalize
from ._ground import check_period, geometry, ground_of, names_of_ground, places_for, with_metrics
from ._inputs import (
    Measures,
    Places,
    are_mappings,
    ids_of,
    measures_of,
    named_rows,
    names_of_labels,
    neighbors_of,
    rows_of,
    texts,
    threads_of,
)
from ._progress import bar
from ._types import Accuracy, AnyMeasures, ArrayLike, GraphLike, Integers, Neighbors, Path, Period


@with_metrics
class WassersteinNeighbors(  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Finds the measures of a collection that are nearest by exact transport.

    A measure is a row of masses at the points, or one of `Clouds`, which bring their own points and
    need no `points` here. With `normalize`, each is divided by its total first. `fit` builds an
    index. A query then solves few pairs exactly, and its result is certified to equal that of
    solving all pairs. Methods are those of scikit-learn's `NearestNeighbors` and
    `KNeighborsTransformer`.

    Threads may share a fitted estimator: searches run concurrently, and `add`, `remove` and `save`
    wait for them. `fit` and `set_params` require that no other thread uses the estimator.

    Parameters
    ----------
    points, cost, graph, weight, period
        The ground metric, as for `TreeWasserstein`. Give at most one of `points`, `cost`, `graph`
        and `model`, and none of them for `Clouds`.
    model : TreeWasserstein, optional
        An estimator whose ground metric is used. Its trees are not used: distances are exact.
    metric : {metrics}
        The distance between two points.
    n_neighbors : int
        The number of neighbors, unless a call gives one.
    radius : float
        The radius of range queries, unless a call gives one.
    accuracy : {"exact", "approximate"} or float
        "exact" finds the nearest measures, with a certificate. With a number ε, each distance is
        exact and certified to be at most 1 + ε times the true distance of the same rank.
        "approximate" finds most of them sooner: it chooses candidates by estimated distances and
        solves only the best; `expected_recall` estimates the share of true neighbors. Distances are
        exact in any case.
        `radius_neighbors` is always exact.
    normalize : bool
        Whether to divide every row, of the collection and of queries, by its total first. With
        `False`, totals have to be equal. With a `penalty`, masses are never divided.
    penalty : float, optional
        For `Clouds`: totals may differ, and a unit of mass that is not moved costs this much, as
        for `emd`. Clouds with penalties of their own, such as `diagrams`, need none.
    memory : int, optional
        Bytes for the potentials of measures, which make searches faster and do not change results:
        2 for each measure and point, if all of them fit; 4 GiB by default. For `Clouds`, 2 for each
        cloud and each of at most 4,096 points of a net; by default 16 times the bytes of masses and
        coordinates.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    device : str, optional
        "cuda", "cuda:1" and so on: a GPU computes lower bounds for candidates of many queries at
        once, and the processors solve the remaining pairs. Exact neighbors and distances are the
        same, with the same certificate; with a number as `accuracy`, other neighbors within it may
        be found. It supports measures on shared `points` with the metrics "euclidean",
        "sqeuclidean", "manhattan" and "chebyshev", without a period, and requires PyTorch and
        Triton (``pip install "treeport[gpu]"``). "tiles" runs the same steps in NumPy, slowly, for
        tests. With "approximate" it is not used.
    verbose : bool
        Whether to show progress bars on stderr.

    Attributes
    ----------
    n_samples_fit_ : int
        Number of measures ever added, by `fit` and `add`, including removed ones.
    measure_names_ : dict of int to str, or None
        Names of the measures by number, if `fit` received rows with IDs, such as a DataFrame with
        an index.
    n_features_in_ : int
        Number of points; for `Clouds`, the number of coordinates.
    feature_names_in_ : ndarray of shape (n_points,)
        Names of the points, if `fit` received a DataFrame with names of columns.
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
    >>> clouds = tp.Clouds([[[0.0, 0.0], [0.0, 1.0]], [[5.0, 5.0]]])
    >>> tp.WassersteinNeighbors(n_neighbors=1).fit(clouds).kneighbors(tp.Clouds([[[4.0, 5.0]]]))
    (array([[1.]]), array([[1]]))
    """

    _index: _core.Index
    effective_metric_ = "wasserstein"

    def __init__(
        self,
        points: Optional[ArrayLike] = None,
        *,
        cost: Optional[ArrayLike] = None,
        graph: Optional[GraphLike] = None,
        model: Optional[TreeWasserstein] = None,
        weight: Optional[str] = "weight",
        metric: str = "euclidean",
        period: Optional[Period] = None,
        n_neighbors: int = 10,
        radius: float = 1.0,
        accuracy: Accuracy = "exact",
        normalize: bool = True,
        penalty: Optional[float] = None,
        memory: Optional[int] = None,
        n_jobs: Optional[int] = None,
        device: Optional[str] = None,
        verbose: bool = False,
    ) -> None:
        self.points: Any = points
        self.cost: Any = cost
        self.graph: Any = graph
        self.model = model
        self.weight = weight
        self.metric = metric
        self.period: Any = period
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.accuracy = accuracy
        self.normalize = normalize
        self.penalty = penalty
        self.memory = memory
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def fit(self, X: AnyMeasures, y: object = None) -> WassersteinNeighbors:
        """Builds the index of a collection.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_measures, n_points)
            One measure per row. Row i is measure number i. Rows without mass are left out, with a
            warning: no search finds them, and their numbers stay unused. IDs of rows, such as the
            index of a DataFrame, become names of measures, unless two are the same. A list of
            (masses, points) or of arrays of points stands for `Clouds`, all of which have mass.
        y : ignored

        Returns
        -------
        self : WassersteinNeighbors
        """
        self._check()
        if are_clouds(X):
            return self._fit_clouds(X)
        if self.penalty is not None:
            raise ValueError(
                "a search with a penalty is for Clouds; leave `penalty` out, or give Clouds"
            )
        names = self._names(reset=True)
        called = _names_of(X)
        rows = rows_of(self, self._named(X, reset=True), names, reset=True)
        count, heavy = rows.shape[0], self._rows_with_mass(rows)
        if heavy is not None and len(heavy) == 0:
            raise ValueError(f"none of {count} rows has mass")
        measures = measures_of(rows if heavy is None else rows[heavy], self.normalize)
        named = getattr(self, "feature_names_in_", names)
        ground = self._ground()
        with bar("indexing", self.verbose) as report:
            index = _core.Index(
                ground,
                measures,
                memory=None if self.memory is None else int(self.memory),
                names=None if named is None else texts(named),
                threads=threads_of(self.n_jobs),
                report=report,
            )
        if heavy is not None:
            _warn_of_rows_without_mass(count, heavy)
            index.set_numbers(heavy.tolist(), count)
        if called is not None and len(set(called)) == len(called):
            index.set_names(called if heavy is None else [called[row] for row in heavy])
        self._index = index
        return self

    def _fit_clouds(self, X: Any) -> WassersteinNeighbors:
        """Builds the index of a collection of clouds."""
        clouds = clouds_of(X, empty=self.penalty is not None)
        relaxed = self.penalty is not None or clouds.penalties is not None
        given = {"points": self.points, "cost": self.cost, "graph": self.graph, "model": self.model}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"Clouds bring their own points; leave out `{name}`")
        raw = clouds._raw.normalized() if self.normalize and not relaxed else clouds._raw
        if clouds.ids is not None and len(set(clouds.ids)) < len(clouds.ids):
            raise ValueError(
                "two of the clouds have the same ID; call each something else, or leave the IDs out"
            )
        with bar("indexing", self.verbose) as report:
            self._index = _core.Index.of_clouds(
                raw,
                raw.ground(geometry(self.metric, self.period)),
                memory=None if self.memory is None else int(self.memory),
                penalty=None if self.penalty is None else float(self.penalty),
                threads=threads_of(self.n_jobs),
                report=report,
            )
        self.n_features_in_ = clouds.dim
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def kneighbors(
        self,
        X: Optional[AnyMeasures] = None,
        n_neighbors: Optional[int] = None,
        return_distance: bool = True,
        return_bounds: bool = False,
        return_names: bool = False,
        time: Optional[float] = None,
    ) -> Neighbors:
        """Finds the nearest measures of every query, the nearest first; lower numbers break ties.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_queries, n_points), optional
            The queries; Clouds if the collection has Clouds. By default, every measure of the
            collection is a query, and is not its own neighbor.
        n_neighbors : int, optional
            Neighbors per query; all if there are fewer.
        return_distance : bool
        return_bounds : bool
            Whether to return `bounds` and `solved` as well.
        return_names : bool
            Whether to return names of measures instead of numbers, if the rows of the collection
            had IDs.
        time : float, optional
            Seconds for each query of `X`: the best found by then, with exact distances. Results
            depend on the speed of the machine; where the last distance of a query exceeds its
            bound, some neighbors may be missing. Not with a `device`.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Only with `return_distance`.
        numbers : ndarray of int of shape (n_queries, n_neighbors)
            Without `X`, removed measures have the neighbors -1 at infinite distances. With
            `return_names`, an array of str, with `None` instead of -1.
        bounds : ndarray of shape (n_queries,)
            Lower bounds of the distances of all other measures; only with `return_bounds`.
        solved : ndarray of int of shape (n_queries,)
            Numbers of pairs that were solved; only with `return_bounds`.
        """
        start, found, distances, bounds, solved = self._nearest(X, n_neighbors, time)
        each = np.diff(start)
        none = min(self.n_neighbors if n_neighbors is None else n_neighbors, self._index.present)
        shape = (len(each), max(each, default=none))
        there = each == shape[1]  # all but those that were removed
        numbers, table = np.full(shape, -1, dtype=np.int64), np.full(shape, np.inf)
        each_of = (np.count_nonzero(there), shape[1])
        numbers[there], table[there] = found.reshape(each_of), distances.reshape(each_of)
        found = self._called(numbers) if return_names else numbers
        answer: tuple[Any, ...] = (table, found) if return_distance else (found,)
        answer += (bounds, solved) if return_bounds else ()
        return answer if len(answer) > 1 else found

    def radius_neighbors(
        self,
        X: Optional[AnyMeasures] = None,
        radius: Optional[float] = None,
        return_distance: bool = True,
        sort_results: bool = True,
    ) -> Any:
        """Finds all measures within a distance, inclusive, of every query; exact at any `accuracy`.

        Parameters
        ----------
        X
            As for `kneighbors`.
        radius : float, optional
            The largest distance.
        return_distance : bool
        sort_results : bool
            Whether to sort neighbors by distance, the nearest first, instead of by number.

        Returns
        -------
        distances : ndarray of arrays of shape (n_queries,)
            Only with `return_distance`.
        numbers : ndarray of arrays of int of shape (n_queries,)
        """
        start, found, distances, *_ = _ordered(self._within(X, radius), sort_results)
        numbers = _arrays(found, start)
        return (_arrays(distances, start), numbers) if return_distance else numbers

    def kneighbors_graph(
        self,
        X: Optional[AnyMeasures] = None,
        n_neighbors: Optional[int] = None,
        mode: str = "connectivity",
    ) -> sparse.csr_matrix:
        """Returns the graph of nearest neighbors, for ``metric="precomputed"`` of scikit-learn.

        Parameters
        ----------
        X, n_neighbors
            As for `kneighbors`.
        mode : {"connectivity", "distance"}
            Whether entries are ones or distances.

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit_)
            Entries of a row are sorted by distance; distances of 0 are stored.
        """
        _check_mode(mode)
        return self._matrix(self._nearest(X, n_neighbors), mode)

    def radius_neighbors_graph(
        self,
        X: Optional[AnyMeasures] = None,
        radius: Optional[float] = None,
        mode: str = "connectivity",
        sort_results: bool = True,
    ) -> sparse.csr_matrix:
        """Returns the graph of neighbors within a distance, like `kneighbors_graph`.

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
        return self._matrix(_ordered(self._within(X, radius), sort_results), mode)

    def transform(self, X: AnyMeasures) -> sparse.csr_matrix:
        """Distances to the nearest measures, for a next step that has ``metric="precomputed"``.

        A row has ``n_neighbors + 1`` entries, as in scikit-learn's `KNeighborsTransformer`, because
        a measure of the collection finds itself.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_queries, n_points)

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit_)
            A row without mass has no entries.
        """
        check_is_fitted(self)
        refuse_frames(self)
        k = neighbors_of(self.n_neighbors) + 1
        if self._index.is_of_clouds:
            return self._matrix(self._search(self._clouds(X), k), "distance")
        rows = self._rows(X)
        heavy = self._rows_with_mass(rows)
        if heavy is None:
            return self._matrix(self._search(rows, k), "distance")
        if len(heavy) == 0:
            return sparse.csr_matrix((rows.shape[0], self.n_samples_fit_))
        start, numbers, distances, bounds, solved = self._search(rows[heavy], k)
        each = np.zeros(rows.shape[0], dtype=np.int64)
        each[heavy] = np.diff(start)
        start = np.concatenate([[0], np.cumsum(each)])
        return self._matrix((start, numbers, distances, bounds, solved), "distance")

    def fit_transform(self, X: AnyMeasures, y: object = None) -> sparse.csr_matrix:
        """Builds the index, and the graph of each measure, itself and its `n_neighbors` nearest.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_measures, n_points)
        y : ignored

        Returns
        -------
        graph : scipy.sparse.csr_matrix of shape (n_measures, n_measures)
            Each is its own first neighbor, at distance 0, even where others are equal to it. A row
            without mass has no entries.
        """
        refuse_frames(self)
        start, numbers, distances, bounds, solved = self.fit(X)._nearest(None, None)
        own, _ = self._index.labels
        numbers = np.insert(numbers, start[own], own)
        distances = np.insert(distances, start[own], 0.0)
        each = np.diff(start)
        each[own] += 1
        start = np.concatenate([[0], np.cumsum(each)])
        return self._matrix((start, numbers, distances, bounds, solved), "distance")

    def add(self, X: AnyMeasures) -> Integers:
        """Adds measures to the collection, after running searches of other threads have finished.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_measures, n_points)
            All need mass. If measures of the collection have names, new measures need new names as
            well: the IDs of rows. Otherwise, IDs are ignored.

        Returns
        -------
        numbers : ndarray of int of shape (n_measures,)
            Numbers of the new measures, which follow those of earlier ones.
        """
        check_is_fitted(self)
        measures = self._measures(X)
        names = None if isinstance(measures, _core.Clouds) else _names_of(X)
        with bar("indexing", self.verbose) as report:
            threads = threads_of(self.n_jobs)
            first = self._index.add(measures, names, threads=threads, report=report)
        return np.arange(first, first + len(measures))

    def remove(self, numbers: ArrayLike) -> WassersteinNeighbors:
        """Removes measures from the collection; the others keep their numbers.

        It waits for running searches of other threads. Removed measures are deleted from memory,
        and files that are saved later do not contain them.

        Parameters
        ----------
        numbers : int, str, or array-like of either
            Numbers or names of measures. If any of them is unknown, an error is raised and nothing
            is removed.

        Returns
        -------
        self : WassersteinNeighbors
        """
        check_is_fitted(self)
        given = np.atleast_1d(np.asarray(numbers))
        if (
            given.dtype.kind in "UO"
            and given.ndim == 1
            and all(isinstance(name, str) for name in given)
        ):
            given = np.asarray(self._index.numbers_of(given.tolist()), dtype=np.int64)
        if given.size and (given.dtype.kind not in "iu" or given.ndim != 1):
            raise ValueError(
                f"numbers of measures are a list of int, and names one of str, not {given.dtype} of shape {given.shape}"
            )
        if given.size and given.min() < 0:
            raise ValueError(f"there is no measure {given.min()}; measures are numbered from 0")
        self._index.remove(given.astype(np.int64))
        return self

    def expected_recall(self, n_neighbors: Optional[int] = None) -> float:
        """Estimates the recall of ``accuracy="approximate"`` on a sample of the collection.

        Parameters
        ----------
        n_neighbors : int, optional
            Neighbors per query; all if there are fewer.
        """
        check_is_fitted(self)
        k = neighbors_of(self.n_neighbors if n_neighbors is None else n_neighbors)
        with bar("searching", self.verbose) as report:
            return self._index.expected_recall(k, threads_of(self.n_jobs), report)

    def save(self, path: Path) -> None:
        """Writes the collection, its ground metric and the index to one file.

        Parameters
        ----------
        path : str or path-like
        """
        check_is_fitted(self)
        self._index.save(os.fspath(path))

    @classmethod
    def load(cls, path: Path) -> WassersteinNeighbors:
        """Reads a file written by `save`, ready for queries.

        The ground metric becomes `points`, `cost` or `graph`; other parameters are not in the file.
        A collection whose totals are not 1 requires ``set_params(normalize=False)``.

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
        ground, clouds = index.ground, index.is_of_clouds
        given = _parameters(ground)
        if clouds:
            dim = given.pop("points").shape[1]
            given["penalty"] = index.penalty[1]
        loaded = cls(**given)
        loaded._index = index
        loaded.n_features_in_ = dim if clouds else ground.points
        return loaded

    @property
    def n_samples_fit_(self) -> int:
        """Number of measures ever added, including removed ones."""
        check_is_fitted(self)
        return len(self._index)

    @property
    def measure_names_(self) -> Optional[dict[int, str]]:
        """Names of the measures by number, if they have any."""
        check_is_fitted(self)
        numbers, names = self._index.labels
        return None if names is None else dict(zip(numbers.tolist(), names))

    @property
    def nbytes_(self) -> int:
        """Bytes of the index without the ground metric and the measures."""
        check_is_fitted(self)
        return self._index.bytes

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_index")

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return with_normalize(super().__repr__(N_CHAR_MAX), self.normalize)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles of version 0.2 lack these parameters, and store `n_samples_fit_` as a number.
        kept = {name: value for name, value in state.items() if name != "n_samples_fit_"}
        super().__setstate__({"normalize": True, "penalty": None, "device": None, **kept})

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state.pop("_device_search_cache", None)  # device memory cannot be pickled
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _check(self) -> None:
        """Validates the parameters."""
        _core.check_search_accuracy(self.accuracy)
        memory = self.memory
        number = isinstance(memory, (int, np.integer)) and not isinstance(memory, bool)
        if memory is not None and not (number and memory >= 0):
            raise ValueError(f"memory is {memory!r}; it is a number of bytes, or None")
        given = (self.points, self.cost, self.graph, self.model)
        count = sum(what is not None for what in given)
        if count > 1:
            raise ValueError(
                f"give at most one of points, cost, graph and model; {count} of them are given"
            )
        if not isinstance(self.model, (TreeWasserstein, type(None))):
            raise ValueError(
                f"model is of type {type(self.model).__name__}; it must be a TreeWasserstein"
            )

    def _ground(self) -> _core.Ground:
        source = self if self.model is None else self.model
        bare = source.points is None and source.cost is None and source.graph is None
        if self.model is None and bare:
            check_period(self.period)
            return _core.Ground.discrete(self.n_features_in_)
        if self.model is not None and (bare or self.model.__sklearn_is_fitted__()):
            check_is_fitted(self.model)
            return self.model._ground()
        return ground_of(
            source.points, source.cost, source.graph, source.metric, source.weight, source.period
        )

    def _names(self, reset: bool) -> Optional[Sequence[Any]]:
        """Returns the names of the points, to which columns are matched."""
        model = self.model
        source = self if model is None else model
        names = names_of_ground(source.points, source.cost, source.graph)
        if reset:
            return names or (
                model.model_.names if model and model.__sklearn_is_fitted__() else None
            )
        return names if hasattr(self, "feature_names_in_") else names or self._index.names

    def _rows(self, X: Any) -> Any:
        """Validates rows with the checks of scikit-learn."""
        check_is_fitted(self)
        return rows_of(self, self._named(X, reset=False), self._names(reset=False), reset=False)

    def _named(self, X: Any, reset: bool) -> Any:
        """Places dicts ``{node: mass}`` and `Measures` on the points; returns other rows as is."""
        if not (are_mappings(X) or isinstance(X, Measures)):
            return X
        source = self if self.model is None else self.model
        known = None
        if not reset:
            known = Places(
                self.n_features_in_, getattr(self, "feature_names_in_", self._index.names)
            )
        elif self.model is not None and self.model.__sklearn_is_fitted__():
            known = self.model._places()
        if isinstance(X, Measures):
            return X._on(lambda: places_for(source, known, X))
        return named_rows(X, places_for(source, known, X))

    def _measures(self, X: Any) -> Union[_core.Measures, _core.Clouds]:
        if self._index.is_of_clouds:
            return self._clouds(X)
        return measures_of(self._rows(X), self.normalize)

    def _clouds(self, X: Any) -> _core.Clouds:
        return clouds_for(self._index, X, self.normalize)

    def _nearest(
        self, X: Any, n_neighbors: Optional[int], time: Optional[float] = None
    ) -> _core._Found:
        check_is_fitted(self)
        k = neighbors_of(self.n_neighbors if n_neighbors is None else n_neighbors)
        if time is not None and (X is None or self.device is not None):
            raise ValueError("`time` is for queries, `X`, and without a `device`")
        if X is not None and self._index.is_of_clouds:
            return self._search(self._clouds(X), k, time)
        return self._search(None if X is None else self._rows(X), k, time)

    def _search(self, rows: Any, k: int, time: Optional[float] = None) -> _core._Found:
        """Finds the neighbors of rows, of clouds, or (`None`) of the collection's own measures."""
        as_they_are = rows is None or isinstance(rows, _core.Clouds)
        if not as_they_are and self.device is None and time is None and processes():
            return spread_search(self._index, rows, self.normalize, k, self.accuracy)
        queries = rows if as_they_are else measures_of(rows, self.normalize)
        with bar("searching", self.verbose) as report:
            on_device, threads = self._device_search(), threads_of(self.n_jobs)
            if on_device is not None:
                return on_device.search(queries, k, None, self.accuracy, threads, report)
            return self._index.nearest(
                queries, k, accuracy=self.accuracy, threads=threads, report=report, time=time
            )

    def _device_search(self) -> Optional[DeviceSearch]:
        """Returns the cached search on the device, or `None` if a search does not use one."""
        if self.device is None or self.accuracy == "approximate" or not self._index.present:
            return None
        cached = self.__dict__.get("_device_search_cache")
        if cached is None or not cached.is_current(self._index, self.device):
            cached = self._device_search_cache = DeviceSearch(self._index, self.device)
        return cached

    def _within(self, X: Any, radius: Optional[float]) -> _core._Found:
        check_is_fitted(self)
        radius = float(self.radius if radius is None else radius)
        queries = None if X is None else self._measures(X)
        with bar("searching", self.verbose) as report:
            on_device, threads = self._device_search(), threads_of(self.n_jobs)
            if on_device is not None and radius >= 0:
                return on_device.search(queries, 0, radius, "exact", threads, report)
            return self._index.radius(queries, radius, threads=threads, report=report)

    def _matrix(self, found: _core._Found, mode: str) -> sparse.csr_matrix:
        start, numbers, distances, *_ = found
        values = np.ones_like(distances) if mode == "connectivity" else distances
        shape = (len(start) - 1, self.n_samples_fit_)
        # A matrix, because packages such as scanpy use methods that sparse arrays lack.
        return sparse.csr_matrix((values, numbers, start), shape=shape)

    def _rows_with_mass(self, rows: Any) -> Optional[Integers]:
        """Returns the rows that have mass; `None` if all have, or if all are required to."""
        if isinstance(rows, Measures) or not self.normalize:
            return None
        heavy = np.flatnonzero(np.asarray(rows.sum(axis=1)).ravel() > 0)
        return None if len(heavy) == rows.shape[0] else heavy

    def _called(self, numbers: Integers) -> Any:
        """Returns the names of measures for their numbers."""
        names = self.measure_names_
        if names is None:
            raise ValueError(
                "the measures have no names; fit a DataFrame, or Measures, whose rows have IDs, no two the same"
            )
        called = [names.get(number) for number in numbers.ravel().tolist()]
        return np.array(called, dtype=object).reshape(numbers.shape)


def _names_of(X: Any) -> Optional[list[str]]:
    """Returns IDs of rows as names, or `None` if they are 0, 1, …"""
    return None if are_mappings(X) else names_of_labels(ids_of(X))


def _warn_of_rows_without_mass(count: int, heavy: Integers) -> None:
    light = np.setdiff1d(np.arange(count), heavy)
    warnings.warn(
        f"{len(light)} of {count} rows have no mass, such as {light[0]}; they are left out, and no search finds them",
        UserWarning,
        stacklevel=3,
    )


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f"mode is {mode!r}; it must be connectivity or distance")


def _arrays(values: Any, start: Integers) -> Any:
    """Returns an array of arrays, one for each query."""
    parts = np.empty(len(start) - 1, dtype=object)
    for row in range(len(parts)):
        parts[row] = values[start[row] : start[row + 1]].copy()
    return parts


def _ordered(found: _core._Found, by_distance: bool) -> _core._Found:
    """Sorts the neighbors of each query by number, unless `by_distance`."""
    if by_distance:
        return found
    start, numbers, distances, *rest = found
    order = np.lexsort((numbers, np.repeat(np.arange(len(start) - 1), np.diff(start))))
    return (start, numbers[order], distances[order], *rest)  # type: ignore[return-value]
