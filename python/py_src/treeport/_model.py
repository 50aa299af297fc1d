"""The common base of `Tree` and `Forest`: files, and distances between measures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Optional, TypeVar

import numpy as np
from scipy import sparse

from . import _core
from ._inputs import (
    Floats,
    Integers,
    Places,
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
        self, a: Any, b: Any, *, normalize: bool = False, penalty: Optional[float] = None
    ) -> float:
        """Transport cost along the tree between two measures; for several trees, the weighted mean.

        Parameters
        ----------
        a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
            Masses at the points. Their totals have to be equal, unless a `penalty` is given. Names of a Series, or of a
            dict ``{name: mass}``, are matched to the names of the points; points that it does not name have no mass.
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        penalty : float, optional
            Unbalanced transport, exact for the distances of the tree: each unit that is not moved costs this much, where it
            is taken away and where it is put back.

        Examples
        --------
        >>> import treeport as tp
        >>> tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
        >>> tree.distance([1, 0, 0], [0, 1, 0])
        2.0
        >>> tree.distance({"cat": 1}, {"dog": 1})
        2.0
        >>> tree.distance([2, 0, 1], [0, 1, 0], penalty=1.5)  # one goes from cat to dog, two are taken away
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
        A: Any,
        B: Any,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        missing: str = "warn",
    ) -> Floats:
        """Distance of row i of `A` to row i of `B`, for every i, in parallel.

        Parameters
        ----------
        A, B : array-like, sparse, DataFrame, AnnData, biom.Table or Measures of shape (n_measures, n_points)
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
        A: Any,
        B: Any = None,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        out: Any = None,
        device: Optional[str] = None,
        missing: str = "warn",
    ) -> Any:
        """Distances of all rows of `A` to all rows of `B`, or of `A`, in parallel.

        Parameters
        ----------
        A : array-like, sparse, DataFrame, AnnData, biom.Table or Measures of shape (n_a, n_points)
            If both columns and points have names, they are matched. Points without a column have no
            mass, and a warning says so. Rows are the samples of a `biom.Table`, or the observations of an AnnData, whose columns are its variables.
        B : the same, of shape (n_b, n_points), optional
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        n_jobs : int, optional
            Threads; `None` and -1 mean all processors.
        out : ndarray of float64 and of the shape of the result, optional
            The array for the result, which is filled block by block. With a `numpy.memmap` the table may be larger than
            memory.
        device : str, optional
            "cuda" or "cuda:1" computes on a GPU, in single precision: the result is an array of float32, and `out` may
            be one of float32 or float64, or a tensor on the GPU. It needs PyTorch and Triton
            (``pip install "treeport[gpu]"``).
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.

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

    def cross(
        self,
        A: Any,
        B: Any,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        out: Any = None,
        device: Optional[str] = None,
        missing: str = "warn",
    ) -> Any:
        """Distances of all rows of `A` to all rows of `B`: ``pairwise(A, B)``, by its name in Rust.

        Parameters
        ----------
        A : array-like or sparse of shape (n_a, n_points)
        B : array-like or sparse of shape (n_b, n_points)
        normalize, n_jobs, out, device, missing
            As for `pairwise`.

        Returns
        -------
        distances : ndarray of shape (n_a, n_b), or DataFrame if rows have IDs
        """
        return self.pairwise(A, B, normalize=normalize, n_jobs=n_jobs, out=out, device=device, missing=missing)

    def kneighbors(
        self,
        A: Any,
        B: Any = None,
        n_neighbors: int = 10,
        *,
        normalize: bool = False,
        n_jobs: Optional[int] = None,
        device: Optional[str] = None,
        missing: str = "warn",
    ) -> tuple[Any, Integers]:
        """The rows of `B` that are nearest to each row of `A`, or the nearest others of `A`, by the model's distances.

        The whole table of distances is never in memory. `WassersteinNeighbors` finds the nearest by exact transport.

        Parameters
        ----------
        A : array-like or sparse of shape (n_a, n_points)
        B : array-like or sparse of shape (n_b, n_points), optional
        n_neighbors : int
            How many; all if there are fewer.
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        n_jobs : int, optional
            Threads; `None` and -1 mean all processors.
        device : str, optional
            "cuda" or "cuda:1" computes on a GPU, in single precision: see `pairwise`.
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.

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

    def coupling(self, a: Any, b: Any, *, normalize: bool = False, table: bool = False) -> Any:
        """Returns a transport plan between two measures.

        For a tree, this is an optimal plan for the tree's own distances. For a forest, it is a good plan but not always the best:
        the cheapest, by the forest's distances, of the plans of its trees and of one that takes the
        shortest moves of all of them first.

        Parameters
        ----------
        a, b : array-like of shape (n_points,), sparse of shape (1, n_points), or dict
            Masses at the points; their totals have to be equal. A dict has names of points, ``{name: mass}``.
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        table : bool
            Whether to return a table of moves in place of a sparse array.

        Returns
        -------
        plan : scipy.sparse.csr_array of shape (n_points, n_points), or DataFrame
            Rows sum to `a`, columns to `b`. The table has the columns source, target and mass, the largest mass first, with
            the names of the points if they have any; without pandas it is a list of such tuples.

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
        self, A: Any, *, normalize: bool = False, n_jobs: Optional[int] = None, missing: str = "warn"
    ) -> sparse.csr_array:
        """Sparse rows whose Manhattan distances are the distances of the measures.

        Column v is the length of the edge above node v times the mass below it. The columns of several trees stand side
        by side, each times the weight of its tree.

        Parameters
        ----------
        A : array-like, sparse, DataFrame, AnnData, biom.Table or Measures of shape (n_measures, n_points)
        normalize : bool
            Whether to divide each measure by its total first, as counts need.
        n_jobs : int, optional
            Threads; `None` and -1 mean all processors.
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.

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
        start, columns, values, nodes = self._raw.embed(self._measures(A, normalize, missing), threads_of(n_jobs))
        return sparse.csr_array((values, columns, start), shape=(len(start) - 1, nodes))

    def scaled(self: Self, factor: float) -> Self:
        """A model with every edge multiplied by `factor`."""
        return self._of(self._raw.scaled(factor))

    def extend(
        self: Self,
        distances: Any,
        names: Optional[Sequence[str]] = None,
        *,
        n_jobs: Optional[int] = None,
    ) -> Self:
        """A model with new points after the old ones. Distances between old points do not change.

        A new point is placed near its nearest old point, where its distances to 16 near and 16 other points fit best. Distances
        between new points are not known here, so nothing warns if they come out wrong. `TreeWasserstein.extend` does warn.

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
        table = np.atleast_2d(np.require(distances, np.float64, "A"))
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
