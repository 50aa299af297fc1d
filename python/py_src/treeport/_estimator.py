"""`TreeWasserstein`: learned trees as a scikit-learn estimator."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._blocks import Metric, embedded, processes, spread_pairs, spread_table, stacked
from ._clouds import Clouds
from ._estimates import Estimates
from ._extended import check_estimator
from ._forest import Forest
from ._ground import check_period, coordinates, ground_of, names_of_ground, places_for, with_metrics
from ._inputs import (
    Measures,
    Places,
    are_mappings,
    ids_of,
    measures_of,
    named_rows,
    names_of_labels,
    names_of_more,
    pairs_of,
    rows_of,
    seed_of,
    threads_of,
    to_points,
    unmapped,
    with_mass,
)
from ._options import FIT_OPTIONS, parameters
from ._progress import bar
from ._results import framed, moves
from ._samples import sampling_of
from ._space import check_space, fitted, has_many_points, labels_of, raw_of, solved_pairs
from ._tables import nearest_of, room_for, table_of
from ._tree import Tree
from ._tree_over_clouds import rows_of_fit, takes_clouds
from ._types import (
    AnyMeasures,
    ArrayLike,
    Distances,
    Floats,
    GraphLike,
    Integers,
    Masses,
    MeasuresLike,
    Path,
    Period,
    PlanOrTable,
    Seed,
    Table,
)

if TYPE_CHECKING:
    import torch
    from distributed import Client

    from ._torch import TreeDistance


# Parameters that "auto" reads for clouds without a tree.
_OF_CLOUDS = ("metric", "period", "weight", "method", "n_pairs", "budget", "scale")

# The parameters that define the ground metric.
_GROUND = frozenset(("points", "cost", "graph", "metric", "period", "weight"))


class _Made(NamedTuple):
    """Objects that are cached between calls and excluded from pickles."""

    given: tuple[Any, ...]  # the parameters of the ground metric
    ground: _core.Ground
    estimator: Optional[_core.Estimator]


@with_metrics
class TreeWasserstein(  # type: ignore[misc]
    Estimates,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Learns a tree over points whose transport distances are those of the points' own metric.

    A measure is a row of masses at the points: a document as counts of words, a sample as counts of
    species. With `normalize`, every row is divided by its total first. `fit` solves some pairs of
    rows exactly and learns a tree from them. After that, a distance takes time linear in the
    supports of its two rows.

    `fit` reads points, costs and graphs once. If you change an array in place afterwards,
    `estimate`, `bounds` and `score` do not see the change until `fit` or ``set_params(points=…)``
    reads the array again.

    The method "tree" starts with the first tree, fits its edges to the distances of points, learns
    an additive tree from the better of the two, and fits the edges to the exact distances of
    measures. Held-out exact distances choose the best of the four trees (`stage_`). "slices" is a
    forest of paths and clusters: on maps, networks and coordinates in few dimensions it has half
    the error, and a pair takes several times as long. "auto" fits both, and keeps "slices" if their
    error on the held-out distances is at most nine tenths of that of the tree.
    For `Clouds`, "space" needs no tree over their points: it compares them along lines and in cells
    of the whole space, new clouds as well as those of the fit. "auto" takes it if its
    expected error is below that of the tree, or the clouds have more than 5,000 points; an option
    of trees asks for a tree. "lifted" adds the costs of plans: half the error, certified `bounds`, and
    several times the time; "rg" is the regression of Nguyen, Nguyen, Ho (2026), for comparison.
    "learned-forest" is the mean of several learned trees. Labels are exact distances, never
    classes. Methods with a quadtree, and "kmeans", need `points`.

    If an option is `None`, the method chooses the default named below. An option that the method
    does not read is ignored, with a warning.

    Parameters
    ----------
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates of the points; an AnnData object stands for its ``obsm["X_pca"]``, or else its
        first entry of `obsm`. Give at most one of `points`, `cost` and `graph`. With none of them,
        all points are at distance one from each other.
    cost : array-like of shape (n_points, n_points) or (n_points * (n_points - 1) / 2,), optional
        Distances between the points, square or condensed.
    graph : sparse matrix of shape (n_points, n_points) or networkx graph, optional
        Edge weights of an undirected graph; distances are shortest paths.
    weight : str or None
        The edge attribute of a networkx graph that holds the lengths; `None` gives every edge
        length 1.
    metric : {metrics}
        The distance between two points.
    period : float or sequence of float or None, optional
        The period of all coordinates of `points`, or of each, as for `emd`.
    max_points : int, optional
        Only for a fit to `Clouds`: the largest number of points of the tree. If there are more,
        this many are drawn at random, and every other point counts as the nearest of them
        (`slack_`).
    normalize : bool
        Whether to divide every row by its total first, in `fit` and in all other methods. With
        `False`, masses are used as they are, and totals have to be equal.
    {options}
    random_state : int, numpy.random.Generator or None
        Source of randomness; `None` gives a different tree every time.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show progress bars on stderr.

    Attributes
    ----------
    model_ : Tree or Forest
        The tree or the forest, for measures that should not be normalized and for all methods of
        both.
    tree_ : Tree
        The tree. Missing if the method gives a forest, as "auto" may; "tree" always gives a tree.
    forest_ : Forest
        The trees and their weights, if the method gives several.
    calibration_ : dict or None
        Calibration of the levels of `estimate` by exact distances: a factor for each level, and a
        few more figures. `None` for a model from a file without a calibration.
    loss_curve_ : ndarray of shape (n_epochs + 1,)
        Loss on the training pairs: at the start, then after every epoch; empty if nothing is
        learned.
    validation_loss_curve_ : ndarray of shape (n_epochs + 1,)
        The same on the validation pairs, NaN if there are none.
    best_epoch_ : int
        The epoch of the tree.
    stage_ : {"start", "points", "learned", "edges", "slices"} or None
        The stage of "auto" or "tree" that produced the model; `None` for other methods.
    stage_errors_ : dict of str to float
        Mean relative error of every stage on the held-out exact distances, after one factor; empty
        for other methods.
    method_ : str
        The method that was fitted.
    n_pairs_ : int
        Number of pairs that the model was fitted to.
    points_ : ndarray of shape (n_points, n_dimensions)
        After a fit to `Clouds`: the points of the tree.
    space_ : object
        After a fit to `Clouds` without a tree (`method_` "space", "lifted" or "rg"), in place of
        `tree_`: has the attributes `method`, `metric`, `dim`, and `error`, the mean relative error
        that cross-validation expects of new clouds.
    slack_ : float
        After a fit to `Clouds`: the mean distance from the mass of a cloud to the points of the
        tree; 0 unless `max_points` leaves some out. The distance of two clouds is off by at most
        the sum of theirs.
    support_ : int
        Number of points of a measure: the median over those of the fit.
    sampling_ : dict or None
        After a fit to sampled groups of cells (``Measures.from_anndata(…, n_cells=500)``):
        "null_distance", the mean distance between two such samples of one group (or two halves of a
        small one), and "error", the mean relative error on whole groups. `None` after other fits.
    n_features_in_ : int
        Number of points.
    feature_names_in_ : ndarray of shape (n_points,)
        Names of the points, if the columns given to `fit` have names: those of a DataFrame, a
        `biom.Table` or `Measures`.

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> rng = np.random.default_rng(0)
    >>> words = rng.normal(size=(30, 2))
    >>> documents = rng.integers(0, 2, size=(40, 30))
    >>> tw = tp.TreeWasserstein(points=words).fit(documents)
    >>> a, b = (document / document.sum() for document in documents[:2])
    >>> exact = tp.emd(a, b, points=words)
    >>> bool(abs(tw.distance(documents[0], documents[1]) - exact) < 0.3 * exact)
    True
    >>> tw.transform(documents).shape == (40, tw.model_.n_nodes)
    True
    """

    _made: _Made

    def __init__(
        self,
        points: Optional[ArrayLike] = None,
        *,
        cost: Optional[ArrayLike] = None,
        graph: Optional[GraphLike] = None,
        weight: Optional[str] = "weight",
        metric: str = "euclidean",
        period: Optional[Period] = None,
        max_points: Optional[int] = None,
        normalize: bool = True,
        method: str = "auto",
        n_trees: Optional[int] = None,
        start: Union[str, Tree, None] = None,
        point_pairs: Optional[int] = None,
        branching: Optional[int] = None,
        depth: Optional[int] = None,
        n_pairs: int = _core.DEFAULT_PAIRS,
        budget: Optional[float] = None,
        epochs: Optional[int] = None,
        learning_rate: Optional[float] = None,
        batch_size: Optional[int] = None,
        schedule: Optional[str] = None,
        validation_fraction: Optional[float] = None,
        patience: Optional[int] = None,
        loss: Optional[str] = None,
        scale: bool = True,
        random_state: Seed = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.points: Any = points
        self.cost: Any = cost
        self.graph: Any = graph
        self.weight = weight
        self.metric = metric
        self.period: Any = period
        self.max_points = max_points
        self.normalize = normalize
        self.method = method
        self.n_trees = n_trees
        self.start = start
        self.point_pairs = point_pairs
        self.branching = branching
        self.depth = depth
        self.n_pairs = n_pairs
        self.budget = budget
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.schedule = schedule
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.loss = loss
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: AnyMeasures,
        y: object = None,
        *,
        pairs: Optional[ArrayLike] = None,
        distances: Optional[ArrayLike] = None,
        client: Optional[Client] = None,
    ) -> TreeWasserstein:
        """Learns a tree.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, Measures or Clouds of shape (n_measures, n_points)
            One measure per row, or a list with one ``{name: mass}`` per measure. An AnnData or a
            `biom.Table` has rows, too. Names are nodes of a networkx graph or rows of a DataFrame
            of points, otherwise numbers of points. Rows without mass are left out, unless `pairs`
            refers to row numbers. `Clouds` bring their own points: all of them, or `max_points` of
            them, are the points of the tree. Later you can ask about other clouds, too.
        y : ignored
        pairs : array-like of int of shape (n_pairs, 2), optional
            Rows whose distances are known.
        distances : array-like of shape (n_pairs,), optional
            The exact distances of `pairs`. By default, `n_pairs` random pairs are solved exactly.
        client : distributed.Client, optional
            A Dask cluster that solves the random pairs. The tree is learned on this machine, and is
            the same (`treeport.dask`).

        Returns
        -------
        self : TreeWasserstein
        """
        if (pairs is None) != (distances is None):
            raise ValueError("give pairs and distances together, or neither")
        if self.n_pairs < 1:
            raise ValueError(f"n_pairs is {self.n_pairs}; at least one is needed")
        if client is not None:
            from .dask import current

            client = current(client)
        for stale in ("points_", "slack_", "_net", "_fitted_rows", "_extension", "space_"):
            self.__dict__.pop(stale, None)
        space = None
        if _core.Space.has_method(self.method) or self._tries_space(X, client):
            check_space(self, X, client)
            clouds = raw_of(self, X)
            if pairs is None:
                pairs, distances = solved_pairs(self, clouds)
            labels = labels_of(clouds, pairs, distances)
            space = fitted(self, clouds, labels)
            if self.method != "auto" or has_many_points(X):
                return self._keep_space(space, labels)
        given = rows_of_fit(self, X) if isinstance(X, Clouds) else X
        rows, data = self._rows(given, reset=True), None
        threads, seed = threads_of(self.n_jobs), seed_of(self.random_state)
        if pairs is None:
            rows = self._with_mass(rows)
        else:  # before the metric, which may take long
            known: Any = distances
            known = np.require(np.ravel(known), np.float64, "A")
            data = _core.Labeled(self._checked(rows), pairs_of(pairs), known)
        self.__dict__.pop("_made", None)  # its arrays may have changed in place
        ground, options = self._ground(), self._options(seed)
        for unread in _core.check_options(ground, options):  # before the pairs are solved
            warnings.warn(unread, UserWarning, stacklevel=2)
        seconds = None
        if data is None:
            begun = time.perf_counter()
            data = self._sampled(rows, seed, False, client)
            seconds = time.perf_counter() - begun
        costly = _core.costly_fit(ground, data, options, seconds=seconds)
        if costly is not None:
            warnings.warn(f"{costly}, with tp.emd_pairwise", UserWarning, stacklevel=2)
        with bar("fitting", self.verbose) as report:
            raw, curves, stages = _core.fit(ground, data, options, threads=threads, report=report)
        self.method_ = self.method
        self.n_pairs_ = len(data)
        self.support_ = data.support
        self._set_model(raw)
        self.loss_curve_, self.validation_loss_curve_, self.best_epoch_ = curves
        self.stage_, self.stage_errors_ = stages[0], dict(stages[1])
        self.calibration_: Optional[_core._Calibration]
        with bar("calibrating", self.verbose) as report:
            self.calibration_ = _core.calibration(ground, raw, data, threads=threads, report=report)
        self._made = self._made._replace(estimator=None)
        self.sampling_ = sampling_of(self, given)
        if space is not None and space.error < self.stage_errors_.get(self.stage_ or "", np.inf):
            return self._keep_space(space, labels)
        return self

    def _tries_space(self, X: Any, client: Any) -> bool:
        """Returns whether "auto" compares a tree with lines and cells of the space: for clouds, unless
        an option of trees is given."""
        given = [name for name in (*FIT_OPTIONS, "max_points", *_GROUND) if name not in _OF_CLOUDS]
        return (
            isinstance(X, Clouds)
            and self.method == "auto"
            and self.metric != "sqeuclidean"
            and client is None
            and all(getattr(self, name) is None for name in given)
        )

    def _keep_space(self, space: _core.Space, labels: _core.Labeled) -> TreeWasserstein:
        """Sets the model of clouds, and deletes the tree."""
        stale = ("tree_", "forest_", "stage_", "stage_errors_", "calibration_", "loss_curve_")
        more = ("points_", "slack_", "_net", "_fitted_rows", "_from_file", "_made", "best_epoch_")
        for name in (*stale, *more, "validation_loss_curve_", "sampling_"):
            self.__dict__.pop(name, None)
        self.space_, self.method_ = space, space.method
        self.n_pairs_, self.support_, self.n_features_in_ = len(labels), labels.support, space.dim
        return self

    @takes_clouds
    def distance(self, a: Masses, b: Masses) -> float:
        """Computes the tree distance between two measures; with `normalize`, of their shares.

        For a forest, this distance and those of all other methods are weighted means of its trees.

        Parameters
        ----------
        a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
        """
        check_is_fitted(self)
        return self.model_.distance(self._unmapped(a), self._unmapped(b), normalize=self.normalize)

    @takes_clouds
    def paired(self, A: AnyMeasures, B: AnyMeasures) -> Floats:
        """Computes tree distances of row i of `A` to row i of `B`, like `Tree.paired`."""
        left, right = self._measures(A), self._measures(B)
        return self.model_._raw.paired(left, right, threads_of(self.n_jobs))

    @takes_clouds
    def pairwise(
        self,
        A: AnyMeasures,
        B: Optional[AnyMeasures] = None,
        *,
        out: Optional[Table] = None,
        device: Optional[str] = None,
    ) -> Distances:
        """Computes tree distances of all rows of `A` to all rows of `B`, or of `A`.

        scikit-learn accepts this table with ``metric="precomputed"``.

        Parameters
        ----------
        A, B, out, device
            As for `Tree.pairwise`.

        Returns
        -------
        distances : ndarray of shape (n_a, n_b) or (n_a, n_a), or DataFrame if rows have IDs
            `out`, if given; on a GPU an array.
        """
        left, right = self._measures(A), None if B is None else self._measures(B)
        if device is not None or not processes():
            distances = table_of(
                self.model_._raw, left, right, out, threads_of(self.n_jobs), device
            )
        else:
            rows = [None if X is None else self._rows(X, reset=False) for X in (A, B)]
            distances = spread_table(
                self.model_, self.normalize, rows[0], rows[1], room_for(left, right, out)
            )
        if out is not None or device is not None:
            return distances
        return framed(distances, ids_of(A), ids_of(A if B is None else B))

    def cross(self, A: AnyMeasures, B: AnyMeasures, **options: Any) -> Distances:
        """Computes ``pairwise(A, B, **options)``."""
        return self.pairwise(A, B, **options)

    @takes_clouds
    def kneighbors(
        self,
        A: AnyMeasures,
        B: Optional[AnyMeasures] = None,
        n_neighbors: int = 10,
        *,
        device: Optional[str] = None,
    ) -> tuple[Distances, Integers]:
        """Finds the rows of `B` nearest to each row of `A`, or the nearest other rows of `A`.

        Parameters
        ----------
        A, B, n_neighbors, device
            As for `Tree.kneighbors`.

        Returns
        -------
        distances, numbers : ndarray of shape (n_a, n_neighbors)
            As for `Tree.kneighbors`.
        """
        left, right = self._measures(A), None if B is None else self._measures(B)
        threads = threads_of(self.n_jobs)
        return nearest_of(self.model_._raw, left, right, n_neighbors, threads, device)

    @takes_clouds
    def coupling(self, a: Masses, b: Masses, *, table: bool = False) -> PlanOrTable:
        """Returns a transport plan of the tree or the forest, like `Tree.coupling`.

        With `normalize`, rows sum to `a` and columns to `b` divided by their totals."""
        check_is_fitted(self)
        plan = self.model_.coupling(self._unmapped(a), self._unmapped(b), normalize=self.normalize)
        names = self._places().names if table else None
        return moves(plan, names, names) if table else plan

    @takes_clouds
    def transform(self, X: AnyMeasures) -> sparse.csr_array:
        """Computes sparse rows whose Manhattan distances are the tree distances.

        Parameters
        ----------
        X : array-like, sparse, DataFrame, AnnData or Measures of shape (n_measures, n_points)

        Returns
        -------
        rows : scipy.sparse.csr_array of shape (n_measures, n_nodes)
            A row without mass becomes a row of zeros, if rows are normalized.
        """
        check_is_fitted(self)
        refuse_frames(self)
        rows = self._rows(X, reset=False)
        return embedded(self.model_, self.normalize, rows, threads_of(self.n_jobs))

    @takes_clouds
    def score(self, X: AnyMeasures, y: Optional[AnyMeasures] = None) -> float:
        """Returns minus the mean relative error against exact transport; 0 is perfect.

        Parameters
        ----------
        X : array-like or sparse of shape (n_measures, n_points)
        y : array-like or sparse of shape (n_measures, n_points), optional
            A second set of measures: row i of `X` is compared with row i of `y`. By default,
            `n_pairs` new random pairs of rows of `X` are compared. Anything with one axis, such as
            class labels, is ignored.

        Returns
        -------
        score : float
            Pairs whose exact distance is nearly 0 are left out; NaN if there are no others.
        """
        return self._score(X, y, None)

    def _score(self, X: Any, y: Any, client: Optional[Client]) -> float:
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        if getattr(y, "ndim", np.ndim(y)) == 2:
            data = self._paired(X, self._rows(y, reset=False), client)
        else:
            own = (np.random.Generator, np.random.RandomState)
            seed = 0 if isinstance(self.random_state, own) else self.random_state
            data = self._sampled(self._with_mass(X), seed_of(seed), True, client)
        return -data.error(self.model_._raw, threads_of(self.n_jobs))

    def _sampled(self, X: Any, seed: int, test: bool, client: Optional[Client]) -> _core.Labeled:
        """Draws random pairs of rows and computes their exact distances."""
        measures = self._checked(X)
        ground, threads, count = self._ground(), threads_of(self.n_jobs), self.n_pairs
        with bar("exact distances", self.verbose) as report:
            if self.budget is not None and not test:
                count = _core.Labeled.count_within(
                    ground, measures, seconds=self.budget, seed=seed, threads=threads, report=report
                )
            if client is None and not processes():
                return _core.Labeled.sample(
                    ground,
                    measures,
                    count=count,
                    seed=seed,
                    test=test,
                    threads=threads,
                    report=report,
                )
        pairs = _core.sample_pairs(count=count, measures=len(measures), seed=seed, test=test)
        return self._labeled(X, measures, pairs, client)

    def _paired(self, X: Any, y: Any, client: Optional[Client]) -> _core.Labeled:
        """Computes exact distances of row i of one set to row i of another."""
        if X.shape[0] != y.shape[0]:
            raise ValueError(f"{X.shape[0]} measures cannot be paired with {y.shape[0]}")
        if client is not None or processes():
            both = stacked(X, y)
            pairs = np.arange(2 * X.shape[0]).reshape(2, -1).T
            return self._labeled(both, measures_of(both, self.normalize), pairs, client)
        left, right = measures_of(X, self.normalize), measures_of(y, self.normalize)
        with bar("exact distances", self.verbose) as report:
            threads = threads_of(self.n_jobs)
            return _core.Labeled.paired(self._ground(), left, right, threads=threads, report=report)

    def _labeled(
        self, X: Any, measures: _core.Measures, pairs: Integers, client: Optional[Client]
    ) -> _core.Labeled:
        """Computes exact distances of pairs of rows in processes of Dask or joblib."""
        if client is None:
            distances = spread_pairs(Metric(self), X, pairs)
        else:
            from .dask import solved

            distances = solved(client, self, X, pairs)
        self._ground().prepare(threads_of(self.n_jobs))  # as after solving pairs in this process
        # Arrays from a network may be unaligned.
        return _core.Labeled(measures, pairs, np.require(distances, np.float64, "A"))

    def extend(
        self,
        points: ArrayLike,
        names: Optional[Sequence[str]] = None,
        *,
        measures: Optional[MeasuresLike] = None,
    ) -> TreeWasserstein:
        """Returns a fitted copy with new points after the old ones, whose distances do not change.

        Each new point is attached beside a near leaf, old or new, by an edge of the same kind. The
        new edges are then fitted to exact distances: those of `measures` if given, or else those of
        random measures with as many points as those of the fit (`support_`). The old part of the
        tree is not learned again, so a new fit is better once many points are new ("New points" in
        the documentation has figures). An `ExtendedTreeWarning` warns if distances of sampled
        pairs, of `measures` if given, lie outside their certified bounds.

        Parameters
        ----------
        points : array-like of shape (n_new, n_dimensions)
            Coordinates of the same kind as in the fit. To extend a tree over a cost matrix or a
            graph, use ``tw.model_.extend(distances)``.
        names : sequence of str, optional
            Names of the new points; required if the old ones have names, and taken from the index
            of a DataFrame.
        measures : array-like or Measures of shape (n_measures, n_points + n_new), optional
            Measures on old and new points, similar to those of later calls. At most 500 pairs with
            a measure on new points are solved exactly.

        Returns
        -------
        tw : TreeWasserstein
            Its measures have one column for every old and new point.

        Examples
        --------
        >>> import numpy as np
        >>> import treeport as tp
        >>> rng = np.random.default_rng(0)
        >>> words, documents = rng.normal(size=(50, 2)), rng.poisson(0.5, size=(40, 50))
        >>> tw = tp.TreeWasserstein(points=words).fit(documents)
        >>> larger = tw.extend([[0.5, 0.5], [3.0, 3.0]])
        >>> larger.model_.n_points
        52
        """
        check_is_fitted(self)
        if hasattr(self, "space_"):
            raise ValueError(f"`{self.space_.method}` needs no new points: give it new clouds")
        own = self._coordinates()
        if own is None:
            raise ValueError(
                "extend needs a fit with `points`; for others give distances: `tw.model_.extend(distances)`"
            )
        given, known_axes = to_points(points), to_points(own).columns
        names = names_of_labels(given.rows) if names is None else names
        if (
            given.columns is not None
            and known_axes is not None
            and list(given.columns) != list(known_axes)
        ):
            raise ValueError(
                f"the new points have columns {list(given.columns)}, the old ones {list(known_axes)}"
            )
        new, old = coordinates(points), coordinates(own)
        if new.shape[1] != old.shape[1]:
            raise ValueError(f"new points have shape {new.shape}; give rows of {old.shape[1]}")
        known = names_of_more(self.model_.names, names, len(new))
        larger = TreeWasserstein(**{**self.get_params(deep=False), "points": np.vstack([old, new])})
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        larger.__dict__.update(fitted)
        larger.n_features_in_ = len(old) + len(new)
        if known is not None and hasattr(self, "feature_names_in_"):
            larger.feature_names_in_ = np.array(known, dtype=object)
        ground = larger._ground()
        rows = None if measures is None else measures_of(measures, self.normalize, known)
        with bar("placing new points", self.verbose) as report:
            raw = self.model_._raw.extended_on(
                ground,
                measures=rows,
                support=getattr(self, "support_", None),
                seed=seed_of(self.random_state),
                threads=threads_of(self.n_jobs),
                report=report,
            )
        larger._set_model(raw if known is None else raw.with_names(known))
        check_estimator(larger, len(old), rows)
        return larger

    def save(self, path: Path, *, with_metric: bool = True) -> None:
        """Writes the fitted model to one file, which `treeport.load` and the command line can read.

        The file contains the tree or the forest, the names of the points, the calibration, and the
        ground metric. It does not contain data of the fit (the other parameters, `loss_curve_`),
        which a pickle has as well.

        Parameters
        ----------
        path : str or path-like
        with_metric : bool
            Whether to write the points, distances or graph to the file. Without them the file is
            small, but `estimate`, `bounds` and `score` require them again.
        """
        check_is_fitted(self)
        if hasattr(self, "space_"):
            self.space_.save(os.fspath(path))
            return
        ground = self._ground() if with_metric and not self._is_without_metric() else None
        calibration = getattr(self, "calibration_", None)
        self.model_._raw.save_file(os.fspath(path), calibration, ground)

    def to_torch(self, dtype: Optional[torch.dtype] = None) -> TreeDistance:
        """Returns the distance as a PyTorch module, differentiable in the masses.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Type of the masses; by default PyTorch's own default.

        Returns
        -------
        module : torch.nn.Module
            ``module(A, B)`` takes two tensors of shape (n_measures, n_points), whose rows have
            equal totals, and returns the distances of their rows.
        """
        check_is_fitted(self)
        try:
            from ._torch import TreeDistance
        except ImportError as error:
            raise ImportError("to_torch needs PyTorch: `pip install torch`") from error
        return TreeDistance(self.model_, dtype)

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_nodes

    def __sklearn_is_fitted__(self) -> bool:
        return any(hasattr(self, name) for name in ("tree_", "forest_", "space_"))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles of older versions lack newer options.
        super().__setstate__(
            {**dict.fromkeys((*FIT_OPTIONS, "max_points")), "normalize": True, **state}
        )

    def __getstate__(self) -> dict[str, Any]:
        # Caches are as large as the ground metric and fast to rebuild.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_made", "_extension")}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return with_normalize(super().__repr__(N_CHAR_MAX), self.normalize)

    @property
    def model_(self) -> Union[Tree, Forest]:
        """The tree or the forest."""
        return self.forest_ if "forest_" in vars(self) else self.tree_

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raises an error for a missing attribute; for `tree_` it names the way out."""
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in ("tree_", "model_") and "space_" in vars(self):
                message += f': `{self.space_.method}` has no tree; fit with method="tree"'
            elif name == "tree_" and "forest_" in vars(self):
                message += ': the model is a forest; use `model_`, or fit with method="tree"'
            raise AttributeError(message)

    def _set_model(self, raw: _core.Model) -> None:
        """Sets `tree_` or `forest_`, and deletes the model of an earlier fit."""
        for stale in ("tree_", "forest_", "_from_file"):
            self.__dict__.pop(stale, None)
        if hasattr(self, "feature_names_in_"):
            raw = raw.with_names(list(self.feature_names_in_))
        elif raw.names is None:
            own = names_of_labels(names_of_ground(self._coordinates(), self.cost, self.graph) or [])
            raw = raw if own is None else raw.with_names(own)
        if raw.is_forest:
            self.forest_ = Forest._of(raw)
        else:
            self.tree_ = Tree._of(raw)

    def _repr_html_inner(self) -> str:
        """Returns the HTML representation, also for old notebooks."""
        if not self.__sklearn_is_fitted__() or hasattr(self, "space_"):
            return str(super()._repr_html_inner())
        from ._html import of_fitted

        return of_fitted(self)

    def _repr_mimebundle_(self, **given: Any) -> dict[str, str]:
        """Returns scikit-learn's diagram before the fit, and facts of the model after it."""
        shown: dict[str, str] = super()._repr_mimebundle_(**given)
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_inner()
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _rows(self, X: Any, reset: bool) -> Any:
        """Validates rows with the checks of scikit-learn."""
        names = names_of_ground(self._coordinates(), self.cost, self.graph)
        if are_mappings(X):
            X = named_rows(X, self._places(X if reset else None))
            names = X.names
        elif isinstance(X, Measures):
            X = X._on(lambda: self._places(X if reset else None))
        if not reset and not hasattr(self, "feature_names_in_"):  # read from a file
            names = names or self.model_.names
        return rows_of(self, X, names, reset, least=2 if reset else 1)

    def _places(self, X: Any = None) -> Places:
        """Returns the points of the ground metric or of the model, or before a fit those in `X`."""
        return places_for(self, self.model_._places() if X is None else None, X)

    def _unmapped(self, measure: Any) -> Any:
        return unmapped(measure, self._places)

    def _with_mass(self, X: Any) -> Any:
        """Returns the rows that have mass if `normalize`, or else all rows."""
        return with_mass(X) if self.normalize else X

    def _checked(self, X: Any) -> _core.Measures:
        """Parses measures, and checks that totals are equal unless `normalize`."""
        measures = measures_of(X, self.normalize)
        if not self.normalize:
            others = np.arange(len(measures))
            measures.check_pairs(np.stack([np.zeros_like(others), others], axis=1))
        return measures

    def _measures(self, X: Any) -> _core.Measures:
        check_is_fitted(self)
        if isinstance(X, Measures):
            return measures_of(self._unmapped(X), self.normalize, self.model_.names)
        return measures_of(self._rows(X, reset=False), self.normalize)

    def set_params(self, **params: Any) -> TreeWasserstein:
        """Sets parameters; a ground metric among them is read again, even if it is the same object.

        Parameters
        ----------
        **params
            Names of parameters of this class, and their values.

        Returns
        -------
        self : TreeWasserstein
        """
        if not _GROUND.isdisjoint(params):
            self.__dict__.pop("_made", None)
        super().set_params(**params)
        return self

    def _ground(self) -> _core.Ground:
        """Returns the ground metric, cached while its parameters are the same objects."""
        made: Optional[_Made] = getattr(self, "_made", None)
        given = (self._coordinates(), *(getattr(self, name) for name in _GROUND))
        same = made is not None and all(new is old for new, old in zip(given, made.given))
        if made is not None and same and made.ground.points == self.n_features_in_:
            return made.ground
        if self._is_without_metric():
            raise ValueError("the file has no ground metric; give one with set_params first")
        points = self._coordinates()
        if points is None and self.cost is None and self.graph is None:
            check_period(self.period)
            ground = _core.Ground.discrete(self.n_features_in_)
        else:
            ground = ground_of(points, self.cost, self.graph, self.metric, self.weight, self.period)
        if ground.points != self.n_features_in_:
            raise ValueError(
                f"the measures live on {self.n_features_in_} points, "
                f"the tree or metric on {ground.points}"
            )
        self._made = _Made(given, ground, None)
        return ground

    def _coordinates(self) -> Any:
        """Returns the points given, or those of the clouds of the fit."""
        return getattr(self, "points_", None) if self.points is None else self.points

    def _is_without_metric(self) -> bool:
        """Checks whether the model comes from a file without a ground metric and still has none."""
        given = (self._coordinates(), self.cost, self.graph)
        return getattr(self, "_from_file", False) and all(what is None for what in given)

    def _estimator(self, threads: int) -> _core.Estimator:
        """Returns the estimator behind `estimate`, cached with the ground metric."""
        ground = self._ground()
        if self._made.estimator is None:
            calibration = getattr(self, "calibration_", None)
            estimator = _core.Estimator(
                ground, self.model_._raw, calibration=calibration, threads=threads
            )
            self._made = self._made._replace(estimator=estimator)
            return estimator
        return self._made.estimator

    def _check_names(self) -> None:
        """Raises an error if the names of `start` differ from the columns, or in their order."""
        names = self.start.names if isinstance(self.start, Tree) else None
        if names is None or not hasattr(self, "feature_names_in_"):
            return
        for point, (own, column) in enumerate(zip(names, self.feature_names_in_)):
            if own != column:
                raise ValueError(
                    f"start calls point {point} {own!r}, the columns call it {column!r}; "
                    "make the tree with the columns' names, as `Tree.from_newick(text, names=…)` does"
                )

    def _options(self, seed: int) -> dict[str, Any]:
        """Returns the fit options of the library by name."""
        self._check_names()
        options = {name: getattr(self, name) for name in FIT_OPTIONS}
        if isinstance(self.start, Tree):
            options["start"] = self.start._raw
        return {**options, "seed": seed}


_NAMES = list(inspect.signature(TreeWasserstein).parameters)
TreeWasserstein.__doc__ = (TreeWasserstein.__doc__ or "").replace("{options}", parameters(_NAMES))


def with_normalize(shown: str, normalize: bool) -> str:
    """Adds `normalize` to the text of an estimator, even if it has the default value."""
    if "normalize=" in shown:
        return shown
    before, parenthesis, _ = shown.rpartition(")")
    comma = "" if before.endswith("(") else ", "
    return f"{before}{comma}normalize={normalize}{parenthesis}"


def refuse_frames(estimator: Any) -> None:
    """Raises an error if `set_output` requests DataFrames, which would be dense."""
    wanted = _get_output_config("transform", estimator)["dense"]
    if wanted != "default":
        raise ValueError(
            f"set_output asks {type(estimator).__name__} for {wanted}. The transformer outputs a scipy sparse matrix. "
            'A frame of it would have every zero; take `set_output(transform="default")` for this step, and '
            "`pandas.DataFrame.sparse.from_spmatrix` where a frame is needed"
        )


def load(path: Path) -> TreeWasserstein:
    """Reads a file written by `TreeWasserstein.save`.

    It gives the same results as the estimator that wrote the file. A file of `Tree.save`,
    `Forest.save`, ``save(with_metric=False)`` or ``treeport fit`` without ``--with-metric`` has no
    ground metric. Then `distance`, `paired`, `pairwise`, `coupling` and `transform` work, but
    `estimate`, `bounds`, `score` and `fit` need ``set_params(points=…)`` first.

    Parameters
    ----------
    path : str or path-like
        A file written by `TreeWasserstein.save`, `Tree.save`, `Forest.save` or the command line.

    Returns
    -------
    tw : TreeWasserstein

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not the file of a tree or a forest, or it is damaged.
    """
    try:
        raw, calibration, ground = _core.Model.load_file(os.fspath(path))
    except ValueError:
        if not _core.Space.is_file(os.fspath(path)):
            raise
        return _of_space(_core.Space.load(os.fspath(path)))
    loaded = TreeWasserstein(**({} if ground is None else _parameters(ground)))
    loaded._set_model(raw)
    loaded.n_features_in_ = raw.points
    loaded.calibration_ = calibration
    loaded._from_file = ground is None
    return loaded


def _of_space(space: _core.Space) -> TreeWasserstein:
    """Returns the estimator of a model of clouds."""
    loaded = TreeWasserstein(metric=space.metric, period=space.period(), method=space.method)
    loaded.space_, loaded.method_, loaded.n_features_in_ = space, space.method, space.dim
    return loaded


def _parameters(ground: _core.Ground) -> dict[str, Any]:
    """Returns parameters that define the same ground metric."""
    points, cost, edges = ground.coordinates(), ground.condensed(), ground.edges()
    if points is not None:
        return {"points": points[0], "metric": points[1], "period": ground.period()}
    if cost is not None:
        return {"cost": cost}
    if edges is not None:
        left, right, weights = edges
        shape = (ground.points, ground.points)
        return {"graph": sparse.coo_array((weights, (left, right)), shape=shape).tocsr()}
    return {}
