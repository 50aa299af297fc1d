"""The scikit-learn face of learned trees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core, _methods
from ._dial import Estimates, calibration
from ._forest import Forest
from ._inputs import (
    Floats,
    Seed,
    ground_of,
    is_sparse,
    measures_of,
    moves_matrix,
    pairs_of,
    row,
    seed_of,
    threads_of,
    width,
)
from ._labels import exact, random_pairs, relative_error, side_by_side, with_mass
from ._tree import Tree

if TYPE_CHECKING:
    from ._torch import TreeDistance

class TreeWasserstein(  # type: ignore[misc]
    Estimates,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Learns a tree over points whose transport distances are those of the points' own metric.

    A measure is a row of masses at the points: a document as counts of words, a sample as counts of
    species. Every row is divided by its total first. `fit` solves some pairs of rows exactly and learns
    a tree from them; after that a distance costs time linear in the supports of its two rows.

    Parameters
    ----------
    points : array-like of shape (n_points, n_dimensions), optional
        Coordinates of the points; an AnnData object stands for its ``obsm["X_pca"]``, or else its first
        entry of `obsm`. Give at most one of `points`, `cost` and `graph`; with none of them all points
        are at distance one.
    cost : array-like of shape (n_points, n_points) or (n_points * (n_points - 1) / 2,), optional
        Distances between the points, square or condensed.
    graph : sparse matrix of shape (n_points, n_points) or networkx graph, optional
        Edge weights; distances are shortest paths.
    metric : {"euclidean", "manhattan", "cosine", "sqeuclidean"}
        How distances follow from `points`.
    method : str
        What is fitted:

        - "auto", the best single tree we know how to make: from the start, edges are fitted to the
          distances of points, an additive tree is learned from the better of the two, and edges are
          fitted to the labels. Labels that are held back judge all four, and the best is kept (`stage_`);
        - learning alone: "additive" has leaves at any depth, "ultrametric" all at the same; "skip-mst"
          is ultrametric with the shape of the start;
        - "forest": `n_trees` linkages of the points with their distances perturbed at random, averaged
          with weights that fit the labels; "learned-forest" learns each of them, and weighs all the same;
        - other methods, to compare with: "quadtree", "cluster", "kmeans"; "qtwd" and "ctwd" with edges
          fitted to the distances of points, "qtwd-labels" and "ctwd-labels" to labels; "sliced-quadtree",
          "sliced-cluster", "sliced-qtwd" and "sliced-ctwd", which average `n_trees` of them;
          "ultratwd-mst" and "ultratwd"; "single" and "average" linkage; "total-variation", for which
          all points are equally far apart. Those with a quadtree, and "kmeans", need `points`.
    n_trees : int
        Trees of the forests and of the sliced methods.
    init : {"average", "single", "complete", "ward", "closest"} or Tree
        Tree to start from: a linkage of the points, or a tree of your own. "single" is worth a try where
        all points are about equally far apart, as cells are. For the forests the linkage of every tree.
        Methods that do not learn do not read it.
    n_pairs : int
        Pairs of rows that are solved exactly to learn from; all pairs if there are fewer.
    epochs : int
        Passes over the pairs while learning; 0 leaves it out.
    learning_rate : float
        Size of the first steps, without unit; 0.3 to 1 is the useful range.
    batch_size : int
        Pairs in one step.
    validation_fraction : float, optional
        Share of the pairs kept for choosing the best tree; `None` stands for 0.2 where the method is
        "auto" and for 0.1 elsewhere.
    loss : {"relative", "squared"}
        Whether every pair counts the same, or large distances more.
    scale : bool
        Whether to bring the start, or the trees of a method that does not learn, to the scale of the
        exact distances; without it "forest" has equal weights. "auto" always does.
    random_state : int, numpy.random.Generator or None
        Source of randomness; `None` gives another tree every time.
    n_jobs : int, optional
        Threads; `None` and -1 stand for all processors. The result is the same for any number.
    verbose : bool
        Whether to show progress bars on stderr.

    Attributes
    ----------
    tree_ : Tree
        The tree, for measures that are not to be normalized, and for what else a tree can do. There is
        none where the method gives a forest.
    forest_ : Forest
        The trees and their weights, where the method gives several.
    calibration_ : dict or None
        What the labels tell `estimate` about its levels: a factor for each, and a few more numbers. `None`
        without a ground metric, and for more than 5,000 points if the method itself does not look at all
        distances between them.
    loss_curve_ : ndarray of shape (n_epochs + 1,)
        Loss on the training pairs: the start, then every epoch; empty where nothing is learned.
    validation_loss_curve_ : ndarray of shape (n_epochs + 1,)
        The same on the pairs kept for validation, NaN if there are none.
    best_epoch_ : int
        The epoch whose tree it is.
    stage_ : {"start", "points", "learned", "edges"} or None
        The stage of "auto" whose tree it is; `None` for other methods, and without a ground metric.
    stage_errors_ : dict of str to float
        Mean relative error of every stage on the labels held back, after one factor; empty for others.
    method_ : str
        The method that was fitted.
    n_features_in_ : int
        Number of points.
    feature_names_in_ : ndarray of shape (n_points,)
        Names of the points, where `fit` got a DataFrame with names of columns.

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> rng = np.random.default_rng(0)
    >>> words = rng.normal(size=(30, 2))
    >>> documents = rng.integers(0, 2, size=(40, 30))
    >>> tw = tp.TreeWasserstein(points=words).fit(documents)
    >>> exact = tp.emd(documents[0] / documents[0].sum(), documents[1] / documents[1].sum(), points=words)
    >>> bool(abs(tw.distance(documents[0], documents[1]) - exact) < 0.3 * exact)
    True
    >>> tw.transform(documents).shape
    (40, 59)
    """

    def __init__(
        self,
        points: Any = None,
        *,
        cost: Any = None,
        graph: Any = None,
        metric: str = "euclidean",
        method: str = "auto",
        n_trees: int = 16,
        init: Union[str, Tree] = "average",
        n_pairs: int = 300,
        epochs: int = 50,
        learning_rate: float = 0.5,
        batch_size: int = 20,
        validation_fraction: Optional[float] = None,
        loss: str = "relative",
        scale: bool = True,
        random_state: Seed = 0,
        n_jobs: Optional[int] = None,
        verbose: bool = False,
    ) -> None:
        self.points = points
        self.cost = cost
        self.graph = graph
        self.metric = metric
        self.method = method
        self.n_trees = n_trees
        self.init = init
        self.n_pairs = n_pairs
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.validation_fraction = validation_fraction
        self.loss = loss
        self.scale = scale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, pairs: Any = None, distances: Any = None
    ) -> TreeWasserstein:
        """Learns a tree.

        Parameters
        ----------
        X : array-like, sparse, DataFrame or AnnData of shape (n_measures, n_points)
            One measure per row. Rows without mass are left out.
        y : ignored
        pairs : array-like of int of shape (n_labels, 2), optional
            Rows whose distances are known.
        distances : array-like of shape (n_labels,), optional
            Their distances. By default `n_pairs` pairs are drawn and solved exactly.

        Returns
        -------
        self : TreeWasserstein
        """
        if (pairs is None) != (distances is None):
            raise ValueError("give pairs and distances together, or neither")
        self._check_options()
        name = self.method
        X = self._rows(X, reset=True)
        threads, seed = threads_of(self.n_jobs), seed_of(self.random_state)
        ground = self._ground()
        if ground is not None:
            ground.check_method(name)
            if pairs is None:  # labels will ask for many distances, and others may then, too
                ground = _core.Ground.solvable(ground, threads)
        start = self._start(ground, threads) if name in _methods.STARTED else None
        if pairs is None:
            measures = measures_of(with_mass(X), normalize=True)
            numbers = random_pairs(len(measures), self.n_pairs, seed)
            labels = exact(ground, measures, numbers, threads, self.verbose)
        else:
            measures = measures_of(X, normalize=True)
            numbers = pairs_of(pairs)
            labels = np.ravel(np.asarray(distances, dtype=np.float64))
        options, build = self._options(seed), self._build_options(seed)
        problem = _methods.Problem(
            ground, start, measures, numbers, labels, options, build, threads, bool(self.verbose)
        )
        fitted = _methods.METHODS[name](problem)
        self.method_ = name
        self._set_model(fitted.model)
        self.loss_curve_ = fitted.loss_curve
        self.validation_loss_curve_ = fitted.validation_loss_curve
        self.best_epoch_ = fitted.best_epoch
        self.stage_ = fitted.stage
        self.stage_errors_ = fitted.stage_errors
        thorough = name in _methods.THOROUGH and not isinstance(self.init, Tree)
        self.calibration_ = calibration(problem, fitted.model, thorough)
        return self

    def distance(self, a: Any, b: Any) -> float:
        """Tree distance between two measures, each divided by its total first.

        For a forest this is the weighted mean of its trees' distances, here and everywhere below.

        Parameters
        ----------
        a, b : array-like of shape (n_points,) or sparse of shape (1, n_points)
        """
        check_is_fitted(self)
        return _core.distance(self._model._raw, row(a), row(b), True)

    def paired(self, A: Any, B: Any) -> Floats:
        """Tree distance of row i of `A` to row i of `B`, for every i.

        Parameters
        ----------
        A, B : array-like or sparse of shape (n_measures, n_points)

        Returns
        -------
        distances : ndarray of shape (n_measures,)
        """
        left, right = self._measures(A), self._measures(B)
        return _core.paired(self._model._raw, left, right, threads_of(self.n_jobs))

    def pairwise(self, A: Any, B: Any = None) -> Floats:
        """Tree distances of all rows of `A` to all rows of `B`, or of `A`.

        This is what ``metric="precomputed"`` of scikit-learn takes.

        Parameters
        ----------
        A : array-like or sparse of shape (n_a, n_points)
        B : array-like or sparse of shape (n_b, n_points), optional

        Returns
        -------
        distances : ndarray of shape (n_a, n_b) or (n_a, n_a)
        """
        left, right = self._measures(A), None if B is None else self._measures(B)
        return _core.pairwise(self._model._raw, left, right, threads_of(self.n_jobs))

    def coupling(self, a: Any, b: Any) -> sparse.csr_array:
        """Which share of the mass goes where, by the tree.

        A forest has no plan of its own: this is the one that costs least in the ground metric, of the plans of
        its trees and one that takes the shortest moves of all of them first.

        Parameters
        ----------
        a, b : array-like of shape (n_points,) or sparse of shape (1, n_points)

        Returns
        -------
        plan : scipy.sparse.csr_array of shape (n_points, n_points)
            Its total is 1; rows sum to `a` and columns to `b`, each divided by its total.
        """
        check_is_fitted(self)
        left, right = row(a), row(b)
        model = self._model
        if isinstance(model, Forest):
            dial = self._dial(threads_of(self.n_jobs))
            # Without a ground metric a forest is one star.
            planner = model.trees[0]._raw if dial is None else dial
        else:
            planner = model._raw
        moves = planner.coupling(left, right, True)
        return moves_matrix(moves, (width(left), width(right)))

    def transform(self, X: Any) -> sparse.csr_array:
        """Sparse rows whose cityblock (Manhattan) distances are the tree distances.

        Parameters
        ----------
        X : array-like, sparse, DataFrame or AnnData of shape (n_measures, n_points)

        Returns
        -------
        rows : scipy.sparse.csr_array of shape (n_measures, n_nodes)
            A row without mass becomes a row of zeros.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        kept = np.asarray(X.sum(axis=1)).ravel() > 0
        if not kept.any():
            return sparse.csr_array((len(kept), self._n_features_out))
        measures = measures_of(X if kept.all() else X[kept], normalize=True)
        start, columns, values, nodes = _core.embed(self._model._raw, measures, threads_of(self.n_jobs))
        # Row r begins where the rows with mass before it end.
        start = start[np.concatenate([[0], np.cumsum(kept)])]
        return sparse.csr_array((values, columns, start), shape=(len(kept), nodes))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean relative error against exact transport; 0 is perfect.

        Parameters
        ----------
        X : array-like or sparse of shape (n_measures, n_points)
        y : array-like or sparse of shape (n_measures, n_points), optional
            A second set of measures: row i of `X` is compared with row i of `y`. By default `n_pairs`
            pairs of rows of `X` are. Anything with one axis, such as class labels, is ignored.

        Returns
        -------
        score : float
            Pairs whose exact distance is nearly 0 are left out; NaN if there are no others.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        threads, ground = threads_of(self.n_jobs), self._ground()
        if getattr(y, "ndim", np.ndim(y)) == 2:
            measures, pairs = side_by_side(measures_of(X, normalize=True), self._measures(y))
        else:
            measures = measures_of(with_mass(X), normalize=True)
            seed = 0 if isinstance(self.random_state, np.random.Generator) else self.random_state
            pairs = random_pairs(len(measures), self.n_pairs, seed_of(seed))
        judge = exact(ground, measures, pairs, threads, self.verbose)
        found = _core.pairs(self._model._raw, pairs, measures, threads)
        return -relative_error(found, judge)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tree or the forest to a file that `treeport.load` reads."""
        check_is_fitted(self)
        self._model.save(path)

    def to_torch(self, dtype: Any = None) -> TreeDistance:
        """The distance as a PyTorch module, differentiable in the masses.

        Parameters
        ----------
        dtype : torch.dtype, optional
            Of the masses; by default PyTorch's own default.

        Returns
        -------
        module : torch.nn.Module
            ``module(A, B)`` takes two tensors of shape (n_measures, n_points), whose rows have equal
            totals, and returns the distances of their rows.
        """
        check_is_fitted(self)
        try:
            from ._torch import TreeDistance
        except ImportError as error:
            raise ImportError("to_torch needs PyTorch: `pip install torch`") from error
        return TreeDistance(self._model, dtype)

    @property
    def _n_features_out(self) -> int:
        return self._model.n_nodes

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "tree_") or hasattr(self, "forest_")

    def __getstate__(self) -> dict[str, Any]:
        # What `estimate` keeps is as large as the ground metric, and quickly made again.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_made"}

    @property
    def _model(self) -> Union[Tree, Forest]:
        return self.forest_ if hasattr(self, "forest_") else self.tree_

    def _set_model(self, raw: _methods.Raw) -> None:
        """Keeps a tree as `tree_` or a forest as `forest_`, and nothing of an earlier fit."""
        for stale in ("tree_", "forest_", "_made"):
            self.__dict__.pop(stale, None)
        if raw.names is None and hasattr(self, "feature_names_in_"):
            raw = raw.with_names(list(self.feature_names_in_))
        if isinstance(raw, _core.RawForest):
            self.forest_ = Forest._of(raw)
        else:
            self.tree_ = Tree._of(raw)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _rows(self, X: Any, reset: bool) -> Any:
        """Rows as scikit-learn checks them."""
        if hasattr(X, "obsm") and hasattr(X, "X"):  # AnnData: observations are measures
            X = X.X
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_min_samples=2 if reset else 1,
        )
        masses = X.data if is_sparse(X) else X
        if masses.size and masses.min() < 0:
            try:
                measures_of(X)
            except ValueError as error:
                # How scikit-learn's own estimators begin; the rest says where.
                raise ValueError(f"Negative values in data: {error}") from None
        return X

    def _measures(self, X: Any) -> _core.Measures:
        check_is_fitted(self)
        return measures_of(self._rows(X, reset=False), normalize=True)

    def _ground(self) -> Optional[_core.Ground]:
        if self.points is None and self.cost is None and self.graph is None:
            if getattr(self, "_from_file", False):
                raise ValueError(
                    "a file has the tree but no ground metric; give one with set_params first"
                )
            return None
        ground = ground_of(self.points, self.cost, self.graph, self.metric)
        if ground.points != self.n_features_in_:
            raise ValueError(
                f"the measures live on {self.n_features_in_} points, "
                f"the tree or metric on {ground.points}"
            )
        return ground

    def _start(self, ground: Optional[_core.Ground], threads: int) -> _core.RawTree:
        if isinstance(self.init, Tree):
            return self.init._raw
        if ground is None:
            return _core.RawTree.star(self.n_features_in_)
        return ground.linkage(self.init, threads)

    def _check_options(self) -> None:
        """Refuses options now rather than after the pairs have been solved."""
        _check("n_pairs", self.n_pairs, self.n_pairs >= 1, "at least one is needed")
        _check("n_trees", self.n_trees, self.n_trees >= 1, "at least one is needed")
        _methods.check(self.method)
        known = isinstance(self.init, (str, Tree))
        _check("init", repr(self.init), known, "it must be the name of a linkage or a Tree")
        if self.method in _methods.GROWN and isinstance(self.init, Tree):
            raise ValueError(f"init is {self.init!r}; {self.method!r} takes a linkage for its trees")
        _check("epochs", self.epochs, self.epochs >= 0, "it must be at least 0")
        _check("batch_size", self.batch_size, self.batch_size >= 1, "a batch holds at least one pair")
        rate, share = self.learning_rate, self._validation()
        _check("learning_rate", rate, 0 < rate < np.inf, "it must be above 0; try 0.5")
        _check("validation_fraction", share, 0 <= share < 1, "a share from 0 to below 1")
        _check("loss", self.loss, self.loss in ("relative", "squared"), "relative or squared")

    def _validation(self) -> float:
        if self.validation_fraction is not None:
            return float(self.validation_fraction)
        return 0.2 if self.method == "auto" else 0.1

    def _options(self, seed: int) -> _methods.Options:
        return {
            "kind": "additive",
            "epochs": int(self.epochs),
            "batch": int(self.batch_size),
            "rate": float(self.learning_rate),
            "loss": self.loss,
            "validation": self._validation(),
            "rescale": bool(self.scale),
            "seed": seed,
        }

    def _build_options(self, seed: int) -> _methods.BuildOptions:
        return {
            "trees": int(self.n_trees),
            "linkage": self.init if isinstance(self.init, str) else "average",
            "rescale": bool(self.scale),
            "seed": seed,
            "learn": self._options(seed),
        }


def load(path: str | os.PathLike[str]) -> TreeWasserstein:
    """Reads what `TreeWasserstein.save` has written, ready to answer.

    A file has the tree, or the forest, alone: `distance`, `paired`, `pairwise` and `transform` work as
    before, and `coupling` for a tree. `estimate`, `bounds`, `score`, `fit` and the `coupling` of a forest
    need a ground metric first, by ``set_params(points=…)``; estimates are not calibrated then.

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
    loaded = TreeWasserstein()
    loaded._set_model(_core.load(os.fspath(path)))
    loaded.n_features_in_ = loaded._model.n_points
    loaded._from_file = True
    return loaded


def _check(name: str, value: object, good: bool, expected: str) -> None:
    if not good:
        raise ValueError(f"{name} is {value}; {expected}")
