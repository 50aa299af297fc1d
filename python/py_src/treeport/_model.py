"""The common base of `Tree` and `Forest`: files, and distances between measures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional, TypeVar

import numpy as np
from scipy import sparse

from . import _core
from ._inputs import (
    Places,
    array_of,
    check_same_columns,
    ids_of,
    measures_of,
    names_of_more,
    row,
    threads_of,
    unmapped,
    width,
)
from ._results import framed, moves, moves_matrix
from ._tables import nearest_of, table_of
from ._types import ArrayLike, Distances, Floats, Integers, Masses, MeasuresLike, PlanOrTable, Table

Self = TypeVar("Self", bound="Model")


class Model:
    """A distance between measures, computed by the compiled half."""

    _forest: bool
    _raw: _core.Model

    @classmethod
    def _of(cls: type[Self], raw: _core.Model) -> Self:
        model = cls.__new__(cls)
        model._raw = raw
        return model

    @classmethod
    def _from_bytes(cls: type[Self], state: bytes) -> Self:
        return cls._of(_core.Model.from_bytes(state))

    @classmethod
    def load(cls: type[Self], path: str | os.PathLike[str]) -> Self:
        """Reads a file written by `save`, `TreeWasserstein.save` or the command line."""
        try:
            raw = _core.Model.load(os.fspath(path))
        except MemoryError as error:
            raise MemoryError(f"{os.fspath(path)}: {error}") from None
        if raw.is_forest != cls._forest:
            found, other = ("forest", "Forest") if raw.is_forest else ("tree", "Tree")
            raise ValueError(f"`{os.fspath(path)}` holds a {found}; read it with `{other}.load`")
        return cls._of(raw)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to one file, which all later releases can read."""
        self._raw.save(os.fspath(path))

    @property
    def n_points(self) -> int:
        """Number of points, which are the leaves of every tree."""
        return self._raw.points

    @property
    def n_nodes(self) -> int:
        """Number of nodes, roots included, of all trees together."""
        return self._raw.nodes

    @property
    def names(self) -> Optional[list[str]]:
        """Names of the points, if they have any."""
        return self._raw.names

    def distance(
        self, a: Masses, b: Masses, *, normalize: bool = False, penalty: Optional[float] = None
    ) -> float:
        """Computes the transport cost along the tree; for several trees, the weighted mean.

        Parameters
        ----------
        a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
            Masses at the points. Their totals have to be equal, unless a `penalty` is given. Names
            of a Series, or of a dict ``{name: mass}``, are matched to the names of the points;
            other points have no mass.
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        penalty : float, optional
            Unbalanced transport, exact for the distances of the tree: each unit of mass of either
            measure that is not moved costs this much.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
        >>> tree.distance([1, 0, 0], [0, 1, 0])
        2.0
        >>> tree.distance({"cat": 1}, {"dog": 1})
        2.0
        >>> tree.distance([2, 0, 1], [0, 1, 0], penalty=1.5)  # one unit moves, two do not
        5.0
        """
        left, right = self._row(a), self._row(b)
        if penalty is None:
            return self._raw.distance(left, right, normalize)
        if normalize:
            raise ValueError("`penalty` is for totals that differ; give `penalty` or `normalize`")
        return self._raw.unbalanced(left, right, penalty)

    def paired(
        self,
        A: MeasuresLike,
        B: MeasuresLike,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        missing: str = "warn",
    ) -> Floats:
        """Computes distances of row i of `A` to row i of `B`, for every i, in parallel.

        Parameters
        ----------
        A, B : array-like, sparse, DataFrame or Measures of shape (n_measures, n_points)
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        n_jobs : int, optional
            Threads; `None` and -1 mean all processors.
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.

        Returns
        -------
        distances : ndarray of shape (n_measures,)
        """
        self._check_columns(A, B)
        left, right = self._measures(A, normalize, missing), self._measures(B, normalize, missing)
        return self._raw.paired(left, right, threads_of(n_jobs))

    def pairwise(
        self,
        A: MeasuresLike,
        B: Optional[MeasuresLike] = None,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        out: Optional[Table] = None,
        device: Optional[str] = None,
        missing: str = "warn",
    ) -> Distances:
        """Computes distances of all rows of `A` to all rows of `B`, or of `A`, in parallel.

        Parameters
        ----------
        A : array-like, sparse, DataFrame, AnnData or Measures of shape (n_a, n_points)
            If both columns and points have names, they are matched. Points without a column have no
            mass, and a warning says so. Rows are the samples of a `biom.Table` or the observations
            of an AnnData, whose columns are its variables.
        B : the same, of shape (n_b, n_points), optional
        normalize, n_jobs, missing
            As for `paired`.
        out : ndarray of float64 and of the shape of the result, optional
            The array for the result, which is filled block by block. With a `numpy.memmap`, the
            table may be larger than memory.
        device : str, optional
            "cuda" or "cuda:1" computes on a GPU, in single precision: the result is an array of
            float32, and `out` may be an array of float32 or float64, or a tensor on the GPU. This
            requires PyTorch and Triton (``pip install "treeport[gpu]"``).

        Returns
        -------
        distances : ndarray of shape (n_a, n_b) or (n_a, n_a), or DataFrame if rows have IDs
            `out`, if given; on a GPU an array.

        Examples
        --------
        >>> import treeport as tp
        >>> tp.Tree.from_newick("(cat:1,dog:2);").pairwise([[1, 0], [0, 1]])
        array([[0., 3.],
               [3., 0.]])

        A table in a file:

        >>> import tempfile, numpy as np
        >>> with tempfile.TemporaryFile() as file:
        ...     table = np.memmap(file, dtype=np.float64, mode="w+", shape=(2, 2))
        ...     tp.Tree.from_newick("(cat:1,dog:2);").pairwise([[1, 0], [0, 1]], out=table)[0].tolist()
        [0.0, 3.0]
        """
        self._check_columns(A, B)
        left = self._measures(A, normalize, missing)
        right = None if B is None else self._measures(B, normalize, missing)
        distances = table_of(self._raw, left, right, out, threads_of(n_jobs), device)
        if out is not None or device is not None:
            return distances
        return framed(distances, ids_of(A), ids_of(A if B is None else B))

    def cross(self, A: MeasuresLike, B: MeasuresLike, **options: Any) -> Distances:
        """Computes ``pairwise(A, B, **options)``."""
        return self.pairwise(A, B, **options)

    def kneighbors(
        self,
        A: MeasuresLike,
        B: Optional[MeasuresLike] = None,
        n_neighbors: int = 10,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        device: Optional[str] = None,
        missing: str = "warn",
    ) -> tuple[Distances, Integers]:
        """Finds the rows of `B` nearest to each row of `A`, or the nearest other rows of `A`.

        The table of distances is never in memory. `WassersteinNeighbors` searches by exact
        transport.

        Parameters
        ----------
        A : array-like or sparse of shape (n_a, n_points)
        B : array-like or sparse of shape (n_b, n_points), optional
        n_neighbors : int
            Neighbors per row; all if there are fewer.
        normalize, n_jobs, device, missing
            As for `pairwise`.

        Returns
        -------
        distances : ndarray of shape (n_a, n_neighbors)
            In ascending order.
        numbers : ndarray of int64 of shape (n_a, n_neighbors)
            Rows of `B`, or of `A`. Of equal distances, the lower number comes first.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
        >>> tree.kneighbors([[1, 0, 0], [0, 1, 0], [0, 0, 1]], n_neighbors=1)[1].tolist()
        [[1], [0], [0]]
        """
        left = self._measures(A, normalize, missing)
        right = None if B is None else self._measures(B, normalize, missing)
        return nearest_of(self._raw, left, right, n_neighbors, threads_of(n_jobs), device)

    def coupling(
        self, a: Masses, b: Masses, *, normalize: bool = False, table: bool = False
    ) -> PlanOrTable:
        """Returns a transport plan between two measures.

        For a tree, the plan is optimal for the tree's distances. For a forest, it is the cheapest,
        by the forest's distances, of the plans of its trees and of a greedy plan of their shortest
        moves, and may not be optimal.

        Parameters
        ----------
        a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
            Masses at the points; their totals have to be equal. Keys of a dict are names of points.
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        table : bool
            Whether to return a table of moves in place of a sparse array.

        Returns
        -------
        plan : scipy.sparse.csr_array of shape (n_points, n_points), or DataFrame
            Rows sum to `a`, columns to `b`. The table has the columns source, target and mass, the
            largest mass first, with the names of the points if they have any. Without pandas it is
            a list of tuples.

        Examples
        --------
        >>> import treeport as tp
        >>> tp.Tree.from_newick("(cat:1,dog:2);").coupling([1, 0], [0.25, 0.75]).toarray()
        array([[0.25, 0.75],
               [0.  , 0.  ]])
        >>> tp.Tree.from_newick("(cat:1,dog:2);").coupling({"cat": 4}, {"cat": 1, "dog": 3}, table=True)
          source target  mass
        0    cat    dog   3.0
        1    cat    cat   1.0
        """
        left, right = self._row(a), self._row(b)
        plan = moves_matrix(self._raw.coupling(left, right, normalize), (width(left), width(right)))
        return moves(plan, self.names, self.names) if table else plan

    def to_newick(self) -> str:
        """The trees as Newick text, one line per tree; points without names get their numbers."""
        return self._raw.to_newick()

    def embed(
        self,
        A: MeasuresLike,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        missing: str = "warn",
    ) -> sparse.csr_array:
        """Computes sparse rows whose Manhattan distances are the distances of the measures.

        Column v is the length of the edge above node v times the mass below it. The columns of
        several trees are concatenated, each multiplied by the weight of its tree.

        Parameters
        ----------
        A : array-like, sparse, DataFrame, AnnData or Measures of shape (n_measures, n_points)
        normalize, n_jobs, missing
            As for `paired`.

        Returns
        -------
        rows : scipy.sparse.csr_array of shape (n_measures, n_nodes)

        Examples
        --------
        >>> import treeport as tp
        >>> tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);").embed([[0.5, 0.5, 0]]).toarray()
        array([[0.5, 0.5, 0. , 2. , 0. ]])
        >>> tree = tp.Tree.from_newick("(cat:1,dog:2);")
        >>> tp.Forest([tree, tree.scaled(2)]).embed([[0.5, 0.5]]).toarray()
        array([[0.25, 0.5 , 0.  , 0.5 , 1.  , 0.  ]])
        """
        start, columns, values, nodes = self._raw.embed(
            self._measures(A, normalize, missing), threads_of(n_jobs)
        )
        return sparse.csr_array((values, columns, start), shape=(len(start) - 1, nodes))

    def scaled(self: Self, factor: float) -> Self:
        """Returns the model with every edge multiplied by `factor`."""
        return self._of(self._raw.scaled(factor))

    def extend(
        self: Self,
        distances: ArrayLike,
        names: Optional[Sequence[str]] = None,
        *,
        n_jobs: Optional[int] = None,
    ) -> Self:
        """Returns a model with new points after the old ones, whose distances do not change.

        A new point is placed near its nearest old point, where its distances to 16 near and 16
        other points fit best. Distances between new points are unknown here, so no warning says if
        they are far off; `TreeWasserstein.extend` has such a warning.

        Parameters
        ----------
        distances : array-like of shape (n_new, n_points)
            The distance from every new point to every old one.
        names : sequence of str, optional
            Names of the new points; required if the old ones have names.
        n_jobs : int, optional
            Threads; `None` and -1 mean all processors. The result is the same for any number.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
        >>> larger = tree.extend([[3.0, 1.0, 6.0]], names=["wolf"])
        >>> larger.n_points, larger.distance([1, 0, 0, 0], [0, 1, 0, 0])
        (4, 2.0)
        """
        table = np.atleast_2d(array_of(distances))
        if table.ndim != 2:
            raise ValueError(f"distances have shape {table.shape}; give a row for every new point")
        known = names_of_more(self.names, names, len(table))
        raw = self._raw.extended(table, threads_of(n_jobs), None)
        return self._of(raw if known is None else raw.with_names(known))

    def _measures(
        self, A: Any, normalize: bool = False, missing: str = "warn", empty: bool = False
    ) -> _core.Measures:
        """Parses rows of masses, and matches named columns to named points."""
        return measures_of(unmapped(A, self._places), normalize, self.names, missing, empty)

    def _check_columns(self, A: Any, B: Any) -> None:
        if self.names is None and B is not None:
            check_same_columns(A, B)

    def _row(self, a: Any) -> Any:
        """Parses one row of masses, and matches its names to those of the points."""
        return row(unmapped(a, self._places), self.names)

    def _places(self) -> Places:
        return Places(self.n_points, self.names)

    def __eq__(self, other: object) -> bool:
        return bool(self._raw == other._raw) if isinstance(other, type(self)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return self._from_bytes, (self._raw.to_bytes(),)
