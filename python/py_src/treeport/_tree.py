"""Rooted trees whose leaves are the points, and linkage."""

from __future__ import annotations

from typing import Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _core
from ._ground import ground_of, names_of_ground
from ._inputs import ids_of, names_of_labels, threads_of
from ._model import Model
from ._results import framed
from ._skbio import arrays_of
from ._types import (
    ArrayLike,
    Axes,
    Distances,
    Floats,
    GraphLike,
    Integers,
    MeasuresLike,
    Period,
    TreeNode,
)


class Tree(Model):
    """A rooted tree whose leaves are points, and transport along its edges.

    Nodes ``0 … n_points - 1`` are the points, a parent has a larger number than its children, and
    the root comes last.

    Parameters
    ----------
    parents : array-like of int of shape (n_nodes,)
        Parent of every node; the root is its own parent.
    lengths : array-like of shape (n_nodes,)
        Length of the edge above every node, 0 at the root.
    names : sequence of str, optional
        Names of the points.

    Attributes
    ----------
    n_points, n_nodes : int
    parents, lengths : ndarray of shape (n_nodes,)
    names : list of str or None
    is_ultrametric : bool
        Whether all leaves are equally far from the root.

    Examples
    --------
    >>> import treeport as tp
    >>> tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
    >>> tree.distance([1, 0, 0], [0, 0.5, 0.5])
    4.0
    >>> tree
    Tree(n_points=3, n_nodes=5)
    """

    _forest = False

    def __init__(
        self, parents: npt.ArrayLike, lengths: npt.ArrayLike, names: Optional[Sequence[str]] = None
    ) -> None:
        above = np.atleast_1d(np.require(parents, np.int64, "A"))
        edges = np.atleast_1d(np.require(lengths, np.float64, "A"))
        # Leaves come first and every inner node has a child.
        leaves = 1 if len(above) == 1 else int(above.min(initial=len(above)))
        self._raw = _core.Model.from_parents(max(leaves, 0), above, edges)
        if names is not None:
            self._raw = self._raw.with_names([str(name) for name in names])

    @classmethod
    def from_newick(cls, text: str, names: Optional[Sequence[str]] = None) -> Tree:
        """Reads a tree from Newick text.

        Parameters
        ----------
        text : str
            One tree; a missing length is 0, which `unifrac` rejects; labels of inner nodes are
            ignored.
        names : sequence of str, optional
            The order of the points, for instance the columns of a table: the names of all leaves.
            By default, points are numbered in order of appearance.

        Examples
        --------
        >>> import treeport as tp
        >>> tp.Tree.from_newick("(cat:1,dog:2);", names=["dog", "cat"]).lengths
        array([2., 1., 0.])
        """
        names = None if names is None else [str(name) for name in names]
        return cls._of(_core.Model.from_newick(text, names))

    @classmethod
    def from_skbio(cls, node: TreeNode, names: Optional[Sequence[str]] = None) -> Tree:
        """Converts a `TreeNode` of scikit-bio.

        Parameters
        ----------
        node : skbio.TreeNode
            The root. Every tip needs its own name, and every edge a length; inner nodes need no
            names.
        names : sequence of str, optional
            The order of the points: see `from_newick`.

        Examples
        --------
        >>> import treeport as tp
        >>> from skbio import TreeNode
        >>> tp.Tree.from_skbio(TreeNode.read(["((a:1,b:1):2,c:3);"])).names
        ['a', 'b', 'c']
        """
        parents, lengths, called = arrays_of(node, names)
        return cls(parents, lengths, called)

    @classmethod
    def from_linkage(cls, linkage: npt.ArrayLike) -> Tree:
        """Converts a SciPy linkage matrix; tree distances are cophenetic distances.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_linkage([[0, 2, 1.5, 2], [1, 3, 4.0, 3]])
        >>> tree.distance([1, 0, 0], [0, 1, 0])
        4.0
        """
        matrix = np.require(linkage, np.float64, "A")
        if matrix.size == 0:
            matrix = matrix.reshape(0, 4)
        if matrix.ndim != 2:
            shape = matrix.shape
            raise ValueError(f"the linkage matrix has shape {shape}, expected (n − 1, 4)")
        return cls._of(_core.Model.from_linkage(matrix))

    @property
    def parents(self) -> Integers:
        """Parent of every node; the root is its own parent."""
        return self._raw.parents()

    @property
    def lengths(self) -> Floats:
        """Length of the edge above every node, 0 at the root."""
        return self._raw.lengths()

    @property
    def is_ultrametric(self) -> bool:
        """Whether all leaves are equally far from the root."""
        return self._raw.is_ultrametric

    def to_linkage(self) -> Floats:
        """Returns the tree as a SciPy linkage matrix.

        Raises
        ------
        ValueError
            The tree is not ultrametric.
        """
        return self._raw.to_linkage()

    def barycenter(
        self,
        measures: MeasuresLike,
        weights: Optional[npt.ArrayLike] = None,
        *,
        missing: str = "warn",
    ) -> Floats:
        """Computes a measure with the smallest weighted sum of tree distances to given measures.

        Parameters
        ----------
        measures : array-like or sparse of shape (n_measures, n_points)
            One measure per row. Their totals have to be equal; the barycenter has the same total.
        weights : array-like of shape (n_measures,), optional
            Weights of the measures; equal by default.
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.

        Returns
        -------
        masses : ndarray of shape (n_points,)
            An exact minimizer, usually one of several; the choice is deterministic.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("(cat:3,dog:3,bird:3,pet:0.5);")
        >>> tree.barycenter([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
        array([0., 0., 0., 1.])
        >>> tree.barycenter([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], weights=[3, 1, 1])
        array([1., 0., 0., 0.])
        """
        shares = None if weights is None else np.atleast_1d(np.require(weights, np.float64, "A"))
        if shares is not None and shares.ndim != 1:
            raise ValueError(f"weights has shape {shares.shape}, expected one for every measure")
        return self._raw.barycenter(self._measures(measures, missing=missing), shares)

    def unifrac(
        self,
        counts: MeasuresLike,
        variant: str = "weighted",
        *,
        alpha: float = 0.5,
        unrooted: bool = False,
        n_jobs: Optional[int] = None,
        missing: str = "warn",
    ) -> Distances:
        """Computes UniFrac distances of all pairs of samples, with the tree as their phylogeny.

        Parameters
        ----------
        counts : array-like, sparse, DataFrame or Measures of shape (n_samples, n_points)
            Counts of taxa, one sample per row. Totals may differ; a sample with a total of 0 has
            shares of 0. Column names are matched to the tips. Tips without a column have no counts,
            and a warning says so. Samples of a `biom.Table` are rows.
        variant : {"weighted", "weighted-normalized", "unweighted", "generalized", "variance-adjusted"}
            "weighted" is the tree distance of shares; "weighted-normalized" divides it by its
            largest possible value. "unweighted" is the share of branch length that only one of the
            two samples has. "generalized" (Chen et al. 2012) gives abundant taxa less weight for
            smaller `alpha`. "variance-adjusted" (Chang et al. 2011) weighs edges by the random
            variance of their shares.
        alpha : float
            From 0 to 1, for "generalized"; 1 is "weighted-normalized".
        unrooted : bool
            Whether to accept a root with more than two children. By default it is an error: an
            unrooted tree has its root in an arbitrary place, on which UniFrac depends.
        n_jobs : int, optional
            Threads; `None` and -1 mean all processors.
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_samples), or DataFrame if samples have IDs

        Raises
        ------
        ValueError
            The tree is unrooted and `unrooted` is `False`, or an edge was read without a length.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("((a:1,b:1):2,c:3);")
        >>> tree.unifrac([[8, 0, 0], [4, 4, 0]], "unweighted").tolist()
        [[0.0, 0.25], [0.25, 0.0]]
        """
        samples = self._measures(counts, missing=missing, empty=True)
        distances = self._raw.unifrac(
            samples,
            variant,
            alpha=float(alpha),
            unrooted=bool(unrooted),
            threads=threads_of(n_jobs),
        )
        ids = ids_of(counts)
        return framed(distances, ids, ids)

    def plot(self, ax: Optional[Axes] = None, *, max_rows: int = 40) -> Axes:
        """Draws the tree with its root at the left; edges are drawn to scale.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        max_rows : int
            The largest number of rows, roughly. In a tree with more leaves, subtrees are drawn as
            wedges as deep as their deepest leaf, with labels that count their leaves.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        from ._plot import draw

        return draw(self, ax, max_rows)

    def _repr_html_(self) -> str:
        from ._html import of_tree

        return of_tree(self)

    def __repr__(self) -> str:
        return f"Tree(n_points={self.n_points}, n_nodes={self.n_nodes})"


def linkage(
    *,
    points: Optional[ArrayLike] = None,
    cost: Optional[ArrayLike] = None,
    graph: Optional[GraphLike] = None,
    weight: Optional[str] = "weight",
    metric: str = "euclidean",
    period: Optional[Period] = None,
    method: str = "average",
    names: Optional[Sequence[str]] = None,
    n_jobs: Optional[int] = None,
) -> Tree:
    """Builds a tree over the points of a ground metric by agglomerative clustering.

    Parameters
    ----------
    points, cost, graph, weight, metric, period
        The ground metric, as for `emd`; here `cost` has to be symmetric, and `graph` undirected.
    method : {"average", "single", "complete", "ward", "closest", "neighbors"}
        The distance between clusters, as in `scipy.cluster.hierarchy.linkage`; "closest" is the
        ultrametric with the smallest maximum error; "neighbors" approximates "average" without
        distances of all pairs.
    names : sequence of str, optional
        Names of the points; by default the nodes of a networkx graph, or the index of a DataFrame.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors.

    Returns
    -------
    tree : Tree
        The distance between two leaves is that at which their clusters are merged.

    Examples
    --------
    >>> import treeport as tp
    >>> tp.linkage(points=[[0.0], [1.0], [5.0]], method="single").to_newick()
    '(2:2,(0:0.5,1:0.5):1.5);'
    """
    ground = ground_of(points, cost, graph, metric, weight, period)
    raw = ground.linkage(method, threads_of(n_jobs))
    own = names_of_labels(names_of_ground(points, cost, graph) or [])
    called = own if names is None else [str(name) for name in names]
    return Tree._of(raw if called is None else raw.with_names(called))
