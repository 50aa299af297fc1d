"""What users have, as the compiled half takes it: arrays without a copy wherever they fit already."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, Callable, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from . import _core
from ._mappings import Places, are_mappings, named_rows, places_in
from ._named import Named, ids_of, is_anndata, is_biom, named, names_of_labels, placed, places_of, texts

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
T = TypeVar("T")
Seed = Union[int, np.random.Generator, np.random.RandomState, None]


def is_sparse(what: Any) -> bool:
    """Whether it is a sparse matrix or array of SciPy; quick to say no to what most callers have."""
    return type(what) is not np.ndarray and bool(sparse.issparse(what))


def sound(matrix: Any) -> Any:
    """The same sparse matrix, if its indices lie inside it; SciPy's own loops go wherever they say."""
    if hasattr(matrix, "check_format"):  # compressed rows, columns or blocks
        matrix.check_format(full_check=True)
    elif matrix.format == "coo":
        places = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
        for at, side in zip(places, matrix.shape):
            if at.size and (at.min() < 0 or at.max() >= side):
                raise ValueError(f"the sparse matrix of shape {matrix.shape} has entries outside of it")
    return matrix


def is_table(what: Any) -> bool:
    """Whether it is a plain table of float64, as most callers have; quick to say."""
    plain = type(what) is np.ndarray and what.ndim == 2 and what.dtype == np.float64
    return plain and bool(what.flags.aligned)


def _whole(values: Any) -> Any:
    """The same; an entry that is masked has no value, and what is behind the mask is not meant."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("some entries are masked; fill them (`filled`) or leave them out first")
    return values


def array_of(values: Any, dtype: Any = np.float64) -> Any:
    """An array of aligned numbers; what came over a network, or out of a file, may lie anywhere."""
    try:
        return np.require(_whole(values), dtype, "A")
    except TypeError as error:
        if not (hasattr(values, "isna") and np.any(values.isna())):
            raise
        raise ValueError(f"{_missing(values)} is missing; fill it (`fillna`) or leave it out first") from error


def _missing(values: Any) -> str:
    """Where a table or a Series of pandas has no value."""
    place = tuple(int(at[0]) for at in np.nonzero(np.asarray(values.isna())))
    column = "" if len(place) == 1 else f", column {values.columns[place[1]]}"
    return f"the entry of row {values.index[place[0]]}{column}"


def in_order(table: Any, names: Optional[Sequence[Any]]) -> Any:
    """Rows or a Series in the order of points that have names, by their own; everything else as it is.

    Points without a column have no mass.
    """
    if names is None:
        return table
    if hasattr(table, "reindex") and getattr(table, "ndim", 0) == 1:
        return _one_in_order(table, names)
    own = named(table)
    if own.names is None and not own.counted:
        return own.rows
    wanted = texts(names)
    columns = own.called(wanted)
    if columns is None or columns == wanted:
        return own.rows
    places = places_of(columns, wanted, own.ids)
    if len(places) == len(wanted) and hasattr(own.rows, "iloc"):
        return own.rows.iloc[:, np.argsort(places)]
    return placed(own.rows if is_sparse(own.rows) else array_of(own.rows), places, len(wanted))


def _one_in_order(series: Any, names: Sequence[Any]) -> Any:
    """A Series in the order of names."""
    own, wanted = texts(series.index), texts(names)
    only_counts = names_of_labels(series.index) is None and set(own).isdisjoint(wanted)
    if only_counts or own == wanted:
        return series
    masses = np.zeros(len(wanted))
    masses[places_of(own, wanted)] = array_of(series)
    return masses


def row(measure: Any, names: Optional[Sequence[Any]] = None) -> Any:
    """One measure: a vector of masses, or the three parts of a sparse one.

    Where both it and the points have names, they are matched.
    """
    measure = in_order(measure, names)
    if is_sparse(measure):
        measure = sound(measure)
        measure = sparse.csr_matrix(measure.reshape(1, -1) if measure.ndim == 1 else measure)
        if measure.shape[0] != 1:
            raise ValueError(f"a measure is one row of masses, not {measure.shape[0]}")
        at = np.require(measure.indices, np.int64, "A")
        return at, np.require(measure.data, np.float64, "A"), measure.shape[1]
    masses = array_of(measure)
    if masses.ndim == 2 and masses.shape[0] == 1:
        masses = masses[0]
    if masses.ndim != 1:
        raise ValueError(f"a measure is one row of masses, not an array of shape {masses.shape}")
    return masses


def support(measure: Any) -> tuple[Integers, Floats]:
    """Where the result of `row` has mass, or what is no mass and has to be refused, and how much."""
    if isinstance(measure, tuple):
        return measure[0], measure[1]
    places = np.flatnonzero(measure)
    return places, measure[places]


def table(measures: Any) -> Any:
    """Many measures as float64: a two-dimensional array, or compressed rows."""
    if is_table(measures):
        return measures
    if is_biom(measures) or is_anndata(measures) or isinstance(measures, (Measures, Named)):
        measures = named(measures).rows
    if is_sparse(measures):
        rows = sound(measures).tocsr()
        return rows if rows.dtype == np.float64 else rows.astype(np.float64)
    dense = array_of(measures)
    if dense.ndim != 2:
        raise ValueError(f"measures are the rows of a table, not an array of shape {dense.shape}")
    return dense


def measures_of(
    measures: Any, normalize: bool = False, names: Optional[Sequence[Any]] = None
) -> _core.Measures:
    """Checked measures; with `normalize` each is divided by its total.

    Where both columns and points have names, they are matched.
    """
    if isinstance(measures, Measures):
        return measures._for(names, normalize)
    return _checked_by_id(table(in_order(measures, names)), normalize, ids_of(measures))


def _checked_by_id(rows: Any, normalize: bool, ids: Any) -> _core.Measures:
    """Measures of what `table` returns; those without mass are named by their IDs, where they have any."""
    try:
        return _checked(rows, normalize)
    except ValueError as error:
        empty = np.flatnonzero(np.asarray(rows.sum(axis=1)).ravel() == 0)
        if ids is None or len(empty) == 0:
            raise
        some = ", ".join(str(ids[at]) for at in empty[:3])
        raise ValueError(f"{len(empty)} of {len(ids)} rows have no mass, such as {some}; drop them") from error


def _checked(rows: Any, normalize: bool) -> _core.Measures:
    """Measures of what `table` returns."""
    if not is_sparse(rows):
        return _core.Measures.dense(rows, normalize)
    start, columns = rows.indptr, rows.indices
    if start.dtype != columns.dtype:
        start, columns = start.astype(np.int64), columns.astype(np.int64)
    start, columns, masses = (np.require(part, None, ["C", "A"]) for part in (start, columns, rows.data))
    return _core.Measures.csr(start, columns, masses, rows.shape[1], normalize)


class Measures:
    """Measures that are read once and used often.

    Everything that takes rows of masses takes them, too, and what a tree or a forest has worked out for them stays as
    long as both are there: a second `pairwise` does not pay for the first, and a query against a collection pays
    for the query alone. They are sparse, and know what their rows and columns are called.

    Parameters
    ----------
    X : array-like, sparse, DataFrame, AnnData or biom.Table of shape (n_measures, n_points), or list of dict
        One measure per row; of a `biom.Table` one per sample. A dict ``{name: mass}`` has the points by their names;
        those that it does not mention have no mass. Later changes to `X` do not reach them.
    ids : sequence, optional
        What the measures are called, which tables of distances have as index and columns. By default the index of a
        DataFrame, the observations of an AnnData, or the samples of a `biom.Table`.
    names : sequence of str, optional
        What the points are called, which are matched to those of a tree. By default the columns of a DataFrame, the
        variables of an AnnData, or the observations of a `biom.Table`.

    Attributes
    ----------
    ids : sequence or None
    names : list of str or None
    shape : tuple of int
        Number of measures and of points.

    Examples
    --------
    >>> import treeport as tp
    >>> measures = tp.Measures([[1, 0], [0, 1]])
    >>> measures
    Measures(n_measures=2, n_points=2)
    >>> float(tp.Tree.from_newick("(cat:1,dog:2);").pairwise(measures)[0, 1])
    3.0
    """

    def __init__(
        self, X: Any, *, ids: Optional[Sequence[Any]] = None, names: Optional[Sequence[Any]] = None
    ) -> None:
        if are_mappings(X):
            places = places_in(X) if names is None else Places(len(names), names)
            X = named_rows(X, places)
        own = named(X)
        ids = own.ids if ids is None else ids
        raw = _checked_by_id(table(own), False, ids)
        self._set(raw, ids, own.names if names is None else texts(names), own.counted and names is None)

    def _set(self, raw: _core.Measures, ids: Any, names: Optional[list[str]], counted: bool = False) -> None:
        raw.keep()
        self._raw, self._counted = raw, counted
        self.ids = _counted(ids, len(raw), "IDs", "measures")
        self.names: Optional[list[str]] = _counted(names, raw.points, "names", "points")
        self._placed: Optional[tuple[list[str], Measures]] = None

    @classmethod
    def _of(cls, raw: _core.Measures, ids: Any, names: Optional[list[str]]) -> Measures:
        made = cls.__new__(cls)
        made._set(raw, ids, names)
        return made

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, transpose: bool = False) -> Measures:
        """Reads a file, with the IDs of its rows and the names of its columns where it has them.

        Parameters
        ----------
        path : str or path-like
            Its ending tells the format. ``.biom``, of either version, where samples become rows (HDF5 needs h5py);
            ``.csv`` and ``.tsv``, which may be gzip, with headers and IDs as the command line reads them; ``.npy`` and
            SciPy's ``.npz``; ``.parquet``, where the index or else a first column of text has the IDs (needs pandas and
            pyarrow); ``.h5ad``, whose observations become rows (needs anndata).
        transpose : bool
            Whether a ``.csv`` or ``.tsv`` has measures in its columns, as `biom convert` writes them.

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            It is not such a file; says where, and what to do.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import treeport as tp
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "table.tsv")
        ...     _ = path.write_text("#OTU ID\\tgut\\tskin\\nb\\t8\\t4\\na\\t0\\t4\\n")
        ...     samples = tp.Measures.read(path, transpose=True)
        >>> samples.ids, samples.names
        (['gut', 'skin'], ['b', 'a'])
        """
        from ._read import READERS, format_of, is_hdf5, read_hdf5_biom

        file = os.fspath(path)
        kind = format_of(file)
        if transpose and kind not in ("csv", "tsv"):
            raise ValueError(f"{file}: transpose is for tables of text (.csv, .tsv)")
        if kind in READERS or (kind == "biom" and is_hdf5(file)):
            own = READERS.get(kind, read_hdf5_biom)(file)
            return _in_file(file, lambda: cls(own.rows, ids=own.ids, names=own.names))
        raw, ids, names = _in_file(file, lambda: _core.Measures.read(file, kind, transpose))
        return cls._of(raw, ids, names)

    @classmethod
    def from_anndata(
        cls,
        adata: Any,
        groupby: str,
        *,
        weights: Any = None,
        n_cells: Optional[int] = None,
        random_state: Seed = 0,
    ) -> Measures:
        """Groups of cells, such as types, donors or conditions: each an even spread over its cells.

        Points are the cells, so that models are made for their coordinates, as ``TreeWasserstein(adata.obsm["X_pca"])``;
        measures are called as the groups, and so are rows and columns of their distances.

        Parameters
        ----------
        adata : AnnData
        groupby : str
            The column of `obs` that says which group a cell is in. Cells without an entry are in none.
        weights : str or array-like of shape (n_obs,), optional
            How much every cell counts in its group, or the column of `obs` that says so. Equal by default. The index of a
            Series is matched to `obs_names`.
        n_cells : int, optional
            Draws at most so many cells of every group: exact distances, which `fit` learns from, take long between
            groups of thousands.
        random_state : int, numpy.random.Generator or None
            Which are drawn.

        Returns
        -------
        measures : Measures of shape (n_groups, n_obs)
            Groups in the order of their categories, or sorted; those without cells are left out.

        Examples
        --------
        >>> import numpy as np, pandas as pd, treeport as tp
        >>> from types import SimpleNamespace as AnnData  # stands in for anndata's
        >>> obs = pd.DataFrame({"type": ["B", "T", "T"]}, index=["c1", "c2", "c3"])
        >>> cells = AnnData(obs=obs, obs_names=obs.index, obsm={"X_pca": np.array([[0.0], [1.0], [5.0]])})
        >>> types = tp.Measures.from_anndata(cells, "type")
        >>> tp.linkage(points=cells.obsm["X_pca"], method="single").pairwise(types)
             B    T
        B  0.0  2.5
        T  2.5  0.0
        """
        from ._anndata import groups_of

        return cls(groups_of(adata, groupby, weights, n_cells, random_state))

    @cached_property
    def _normalized(self) -> _core.Measures:
        normalized = self._raw.normalized()
        normalized.keep()
        return normalized

    def _for(self, names: Optional[Sequence[Any]], normalize: bool) -> _core.Measures:
        """Those that points of these names are asked about; kept, in case they ask again."""
        if names is None or (self.names is None and not self._counted):
            return self._normalized if normalize else self._raw
        wanted = texts(names)
        called = Named(self, None, self.names, self._counted).called(wanted)
        if called is None or called == wanted:
            return self._for(None, normalize)
        if self._placed is None or self._placed[0] != wanted:
            self._placed = wanted, Measures(in_order(self, wanted))
        return self._placed[1]._for(None, normalize)

    def _rows(self) -> sparse.csr_array:
        start, columns, masses, points = self._raw.compressed()
        return sparse.csr_array((masses, columns, start), shape=(len(self), points))

    def _named(self) -> Named:
        return Named(self._rows(), self.ids, self.names, self._counted)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _measures_again, tuple(self._named())

    @property
    def shape(self) -> tuple[int, int]:
        """Number of measures and of points."""
        return len(self._raw), self._raw.points

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"Measures(n_measures={len(self)}, n_points={self._raw.points})"


def _in_file(path: str, read: Callable[[], T]) -> T:
    """What is read; errors about what a file holds begin with its name."""
    try:
        return read()
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _measures_again(rows: Any, ids: Any, names: Any, counted: bool = False) -> Measures:
    return Measures(Named(rows, ids, names, counted))


def _counted(labels: Any, count: int, what: str, things: str) -> Any:
    """Labels, one for each thing, or none."""
    if labels is not None and len(labels) != count:
        raise ValueError(f"{len(labels)} {what} for {count} {things}")
    return labels


def rows_of(
    estimator: Any, X: Any, names: Optional[Sequence[Any]], reset: bool, least: int = 1
) -> Any:
    """Rows as scikit-learn checks them, at least so many; columns with names are matched to points with names."""
    if is_sparse(X):
        X = sound(X)
    is_frame = hasattr(X, "columns")
    has_names = is_biom(X) or is_anndata(X) or isinstance(X, (Measures, Named))
    if has_names or (is_frame and names is not None):
        X = _by_name(estimator, X, names, reset, least)
    else:
        if not reset and not hasattr(estimator, "feature_names_in_") and is_frame:
            X = np.asarray(X)
        X = _validated(estimator, X, reset, least)
    masses = X.data if is_sparse(X) else X
    if masses.size and masses.min() < 0:
        try:
            measures_of(X)
        except ValueError as error:
            # How scikit-learn's own estimators begin; the rest says where.
            raise ValueError(f"Negative values in data: {error}") from None
    return X


def _validated(estimator: Any, X: Any, reset: bool, least: int) -> Any:
    return validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least
    )


def _by_name(estimator: Any, X: Any, names: Optional[Sequence[Any]], reset: bool, least: int) -> Any:
    """Rows whose columns are matched to points by name; scikit-learn looks for names in DataFrames alone."""
    own = named(X)
    if names is None and not reset:
        names = getattr(estimator, "feature_names_in_", None)
    if own.names is None and (names is None or own.called(texts(names)) is None):
        return _validated(estimator, np.asarray(own.rows) if hasattr(X, "columns") else own.rows, reset, least)
    rows = own.rows if names is None else in_order(own, names)
    rows = sound(rows) if is_sparse(rows) else array_of(rows)
    if names is not None and not reset:
        return check_array(rows, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least)
    rows = _validated(estimator, rows, reset, least)
    if reset:
        called = own.names if names is None else texts(names)
        estimator.feature_names_in_ = np.array(called, dtype=object)
    return rows


def with_mass(X: Any) -> Any:
    """The rows that have mass."""
    kept = np.asarray(X.sum(axis=1)).ravel() > 0
    if np.count_nonzero(kept) < 2:
        raise ValueError(f"{np.count_nonzero(kept)} rows have mass; a pair needs two")
    return X if kept.all() else X[kept]


def pairs_of(pairs: Any) -> Integers:
    """Pairs of row numbers."""
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"pairs are numbers of rows, not {array.dtype}")
    if array.ndim != 2:
        raise ValueError(f"the list of pairs has shape {array.shape}, expected (n, 2)")
    return np.require(array, np.int64, "A")


def neighbors_of(n_neighbors: Any) -> int:
    """A number of neighbors, in the words of scikit-learn where it is none."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, Integral):
        raise TypeError(f"n_neighbors does not take {type(n_neighbors)} value, enter integer value")
    if n_neighbors <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
    return int(n_neighbors)


def threads_of(n_jobs: Optional[int]) -> int:
    """Threads to use: all processors for `None` and -1; 0 is how the compiled half says all."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; give a number of threads, or -1 for all processors")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seed_of(random_state: Seed) -> int:
    """A seed; a generator moves on, so that the next call gets another."""
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state is {random_state}; a seed is at least 0 and below 2**64")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    raise ValueError(f"random_state is {random_state!r}; give an int, a Generator or None")


def moves_matrix(moves: Any, shape: tuple[int, int]) -> sparse.csr_array:
    """A plan as a sparse matrix."""
    left, right, mass = moves
    return sparse.coo_array((mass, (left, right)), shape=shape).tocsr()


def width(measure: Any) -> int:
    """Number of points that the result of `row` lives on."""
    return int(measure[2] if isinstance(measure, tuple) else len(measure))
