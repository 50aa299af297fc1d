"""Several trees over the same points."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from scipy import sparse

from . import _core
from ._inputs import Floats, measures_of, row, threads_of
from ._tree import Tree


class Forest:
    """Trees over the same points, and the weighted mean of their distances.

    One tree has to cut space somewhere; the mean of trees that cut elsewhere makes smaller mistakes. It is
    still a cityblock distance, of the embeddings of the trees side by side.

    Parameters
    ----------
    trees : sequence of Tree
        At least one, all over the same points.
    weights : array-like of shape (n_trees,), optional
        How much each counts; they are divided by their sum. Equal by default.

    Attributes
    ----------
    trees : list of Tree
    weights : ndarray of shape (n_trees,)
    n_points, n_nodes : int
    names : list of str or None

    Examples
    --------
    >>> import treeport as tp
    >>> near, far = tp.Tree.from_newick("(cat:1,dog:1);"), tp.Tree.from_newick("(cat:2,dog:2);")
    >>> forest = tp.Forest([near, far], weights=[1, 3])
    >>> forest.distance([1, 0], [0, 1])
    3.5
    >>> forest
    Forest(n_trees=2, n_points=2)
    """

    _raw: _core.RawForest

    def __init__(self, trees: Sequence[Tree], weights: Any = None) -> None:
        if weights is not None:
            weights = np.atleast_1d(np.asarray(weights, dtype=np.float64))
        self._raw = _core.RawForest.from_trees([tree._raw for tree in trees], weights)

    @classmethod
    def _of(cls, raw: _core.RawForest) -> Forest:
        forest = cls.__new__(cls)
        forest._raw = raw
        return forest

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Forest:
        """Reads a forest that `save` or `TreeWasserstein.save` has written."""
        return cls._of(_core.RawForest.load(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the forest to one file, which every later release reads."""
        self._raw.save(os.fspath(path))

    @property
    def trees(self) -> list[Tree]:
        """The trees."""
        return [Tree._of(raw) for raw in self._raw.trees()]

    @property
    def weights(self) -> Floats:
        """How much each tree counts; the sum is 1."""
        return self._raw.weights()

    @property
    def n_points(self) -> int:
        """Number of points, which are the leaves of every tree."""
        return self._raw.leaves

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees together."""
        return self._raw.nodes

    @property
    def names(self) -> Optional[list[str]]:
        """Names of the points, if they have any."""
        return self._raw.names

    def distance(self, a: Any, b: Any) -> float:
        """Weighted mean of the trees' transport costs between two measures.

        Parameters
        ----------
        a, b : array-like of shape (n_points,) or sparse of shape (1, n_points)
            Masses at the points; their totals have to be equal.
        """
        return self._raw.distance(row(a), row(b), False)

    def paired(self, A: Any, B: Any, *, n_jobs: Optional[int] = None) -> Floats:
        """Distance of row i of `A` to row i of `B`, for every i, in parallel.

        Parameters
        ----------
        A, B : array-like or sparse of shape (n_measures, n_points)
        n_jobs : int, optional
            Threads; `None` and -1 stand for all processors.

        Returns
        -------
        distances : ndarray of shape (n_measures,)
        """
        return self._raw.paired(measures_of(A), measures_of(B), threads_of(n_jobs))

    def pairwise(self, A: Any, B: Any = None, *, n_jobs: Optional[int] = None) -> Floats:
        """Distances of all rows of `A` to all rows of `B`, or of `A`, in parallel.

        Parameters
        ----------
        A : array-like or sparse of shape (n_a, n_points)
        B : array-like or sparse of shape (n_b, n_points), optional
        n_jobs : int, optional
            Threads; `None` and -1 stand for all processors.

        Returns
        -------
        distances : ndarray of shape (n_a, n_b) or (n_a, n_a)
        """
        other = None if B is None else measures_of(B)
        return self._raw.pairwise(measures_of(A), other, threads_of(n_jobs))

    def embed(self, A: Any, *, n_jobs: Optional[int] = None) -> sparse.csr_array:
        """Sparse rows whose cityblock distances are the distances of the measures.

        They are the rows of `Tree.embed` of every tree side by side, each times its weight.

        Parameters
        ----------
        A : array-like or sparse of shape (n_measures, n_points)
        n_jobs : int, optional
            Threads; `None` and -1 stand for all processors.

        Returns
        -------
        rows : scipy.sparse.csr_array of shape (n_measures, n_nodes)

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("(cat:1,dog:2);")
        >>> tp.Forest([tree, tree.scaled(2)]).embed([[0.5, 0.5]]).toarray()
        array([[0.25, 0.5 , 0.  , 0.5 , 1.  , 0.  ]])
        """
        start, columns, values, nodes = self._raw.embed(measures_of(A), threads_of(n_jobs))
        return sparse.csr_array((values, columns, start), shape=(len(start) - 1, nodes))

    def scaled(self, factor: float) -> Forest:
        """The same forest with every edge multiplied by `factor`."""
        return self._of(self._raw.scaled(factor))

    def __len__(self) -> int:
        return len(self.weights)

    def __eq__(self, other: object) -> bool:
        return self._raw == other._raw if isinstance(other, Forest) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Forest(n_trees={len(self)}, n_points={self.n_points})"

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return _from_bytes, (self._raw.to_bytes(),)


def _from_bytes(state: bytes) -> Forest:
    return Forest._of(_core.RawForest.from_bytes(state))
