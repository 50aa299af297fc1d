"""Weighted means of several trees over the same points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np
import numpy.typing as npt

from . import _core
from ._model import Model
from ._tree import Tree
from ._types import Floats


class Forest(Model):
    """Trees over the same points, and the weighted mean of their distances.

    The boundaries of a single tree separate near points. The mean over trees with different
    boundaries has a smaller error. It is still a Manhattan distance: that of the concatenated
    embeddings of the trees.

    Parameters
    ----------
    trees : sequence of Tree
        At least one, all over the same points.
    weights : array-like of shape (n_trees,), optional
        Weights of the trees, which are divided by their sum. Equal by default.

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

    _forest = True

    def __init__(self, trees: Sequence[Tree], weights: Optional[npt.ArrayLike] = None) -> None:
        shares = None if weights is None else np.atleast_1d(np.require(weights, np.float64, "A"))
        self._raw = _core.Model.from_trees([tree._raw for tree in trees], shares)

    @property
    def trees(self) -> list[Tree]:
        """The trees."""
        return [Tree._of(raw) for raw in self._raw.trees()]

    @property
    def weights(self) -> Floats:
        """The weights of the trees, which sum to 1."""
        return self._raw.weights()

    def __len__(self) -> int:
        return len(self.weights)

    def _repr_html_(self) -> str:
        from ._html import of_forest

        return of_forest(self)

    def __repr__(self) -> str:
        return f"Forest(n_trees={len(self)}, n_points={self.n_points})"
