"""Parsing of measures, single or many, and the class `Measures` for repeated use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Callable, Optional, Union

import numpy as np
from scipy import sparse

from .. import _core
from .._types import ArrayLike, Floats, Integers, Labels, MeasuresLike, Path, Seed, Table
from ._adapters import to_measures
from ._numbers import array_of, is_plain, is_sparse, refuse_complex
from ._table import NamedTable, Places, missing_of, names_of_labels, texts
from .dicts import are_mappings, is_mapping, named_rows, rows_of_mappings


def ids_of(what: Any) -> Any:
    """Returns the labels of rows if there are any, without reading the rows."""
    return to_measures(what).rows


def labels_of(what: Any) -> Optional[list[Any]]:
    """Returns the labels of all columns if there are any; `None` for dicts."""
    own = None if is_mapping(what) or are_mappings(what) else to_measures(what)
    return None if own is None or own.mentioned or own.columns is None else list(own.columns)


def check_same_columns(a: Any, b: Any) -> None:
    """Raises an error if two tables have different columns and the points have no names."""
    left, right = (names_of_labels(labels_of(one)) for one in (a, b))
    if left is None or right is None or left == right:
        return
    at = next(
        (at for at, (x, y) in enumerate(zip(left, right)) if x != y), min(len(left), len(right))
    )
    one, other = (names[at] if at < len(names) else "missing" for names in (left, right))
    raise ValueError(
        f"column {at} is {one} on the left and {other} on the right, and the points have no names; bring both into one "
        "order (`B[A.columns]`), or give names to the points"
    )


def unmapped(what: Any, places: Callable[[], Places]) -> Any:
    """Places measures given as ``{node: mass}`` on these points; returns other inputs unchanged."""
    if isinstance(what, Measures):
        return what._on(places)
    if is_mapping(what):
        return rows_of_mappings([what], places())
    return rows_of_mappings(what, places()) if are_mappings(what) else what


def row(measure: Any, names: Optional[Sequence[Any]] = None) -> Any:
    """Parses one measure into a dense vector, or into indices, masses and width of a sparse one.

    If both columns and points have names, they are matched."""
    masses = to_measures(measure).in_order(names)
    if is_sparse(masses):
        if masses.shape[0] != 1:
            raise ValueError(f"a measure is one row of masses, not {masses.shape[0]}")
        refuse_complex(masses.data)
        at = np.require(masses.indices, np.int64, "A")
        return at, np.require(masses.data, np.float64, "A"), masses.shape[1]
    masses = array_of(masses)
    if masses.ndim == 2 and masses.shape[0] == 1:
        masses = masses[0]
    if masses.ndim != 1:
        raise ValueError(
            f"a measure is one row of masses, not an array of shape {masses.shape}{_of_rows(masses)}"
        )
    return masses


def _of_rows(masses: Any) -> str:
    """Returns a hint for rows of points, or of (pT, y, phi), the format of particles in physics."""
    if masses.ndim != 2:
        return ""
    if masses.shape[1] != 3:
        return "; rows that are points, of equal masses: `emd(None, None, x, y)`"
    return (
        "; rows of (pT, y, phi) are masses with points: `emd(x[:, 0], y[:, 0], x[:, 1:], y[:, 1:])`"
    )


def refuse_events(measures: Any) -> None:
    """Raises an error for a list of arrays of three columns, which may be events or points."""

    def is_event(one: Any) -> bool:
        return isinstance(one, np.ndarray) and one.ndim == 2 and one.shape[1] == 3

    if isinstance(measures, (list, tuple)) and measures and all(map(is_event, measures)):
        raise ValueError(
            "arrays of three columns may be (pT, y, phi) or points; say which: "
            '`Clouds(events, weights="first")`, or `Clouds(arrays)` for points of equal masses'
        )


def refuse_lists(measures: Any) -> None:
    """Raises an error for a list of texts, or of arrays of points, which are no rows of masses."""
    if not isinstance(measures, (list, tuple)) or not measures:
        return
    first = measures[0]
    if isinstance(first, str) or (isinstance(first, (list, tuple)) and _has_text(first)):
        raise ValueError(
            "measures are rows of masses, and this is a list of texts; `texts(documents, vectors)` turns documents into "
            "measures and points"
        )
    if isinstance(first, np.ndarray) and first.ndim == 2:
        raise ValueError(
            f"measures are rows of masses, and this is a list of {len(measures)} arrays of two axes; if their rows are points, "
            "give `Clouds(arrays)`"
        )


def _has_text(row: Any) -> bool:
    return len(row) > 0 and isinstance(row[0], str)


def support(measure: Any) -> tuple[Integers, Floats]:
    """Returns the nonzero positions and entries of a result of `row`, including invalid entries."""
    if isinstance(measure, tuple):
        return measure[0], measure[1]
    places = np.flatnonzero(measure)
    return places, measure[places]


def width(measure: Any) -> int:
    """Returns the number of points of a result of `row`."""
    return int(measure[2] if isinstance(measure, tuple) else len(measure))


def table(measures: Any, names: Optional[Sequence[Any]] = None, missing: str = "warn") -> Any:
    """Parses many measures into a two-dimensional array or compressed rows of float64.

    If both columns and points have names, they are matched."""
    if names is None and is_plain(measures):
        return measures
    rows = to_measures(measures).in_order(names, missing)
    if is_sparse(rows):
        refuse_complex(rows.data)
        return rows if rows.dtype == np.float64 else rows.astype(np.float64)
    dense = array_of(rows)
    if dense.ndim != 2:
        raise ValueError(f"measures are the rows of a table, not an array of shape {dense.shape}")
    return dense


def measures_of(
    measures: Any,
    normalize: bool = False,
    names: Optional[Sequence[Any]] = None,
    missing: str = "warn",
    empty: bool = False,
) -> _core.Measures:
    """Parses and validates measures; `Measures` are valid already.

    With `normalize`, each measure is divided by its total. If both columns and points have names,
    they are matched, and `missing` determines the treatment of points without a column. Rows
    without mass raise an error unless they may be `empty`."""
    missing_of(missing)
    if isinstance(measures, Measures):
        return measures._for(names, normalize, missing, empty)
    own = to_measures(measures)
    refuse_events(measures)
    refuse_lists(measures)
    rows = table(own, names, missing)
    called = own.names if names is None or own.called(texts(names)) is None else names
    return _checked_by_id(rows, normalize, own.rows, called, empty)


def _checked_by_id(rows: Any, normalize: bool, ids: Any, names: Any, empty: bool) -> _core.Measures:
    """Builds measures from a result of `table`; errors use IDs and names of points if available."""
    try:
        return _checked(rows, normalize, empty)
    except ValueError as error:
        if (said := _bad_mass(rows, ids, names)) is not None:
            raise ValueError(said) from error
        without = np.flatnonzero(np.asarray(rows.sum(axis=1)).ravel() == 0)
        if ids is None or len(without) == 0:
            raise
        some = ", ".join(str(ids[at]) for at in without[:3])
        raise ValueError(
            f"{len(without)} of {len(ids)} rows have no mass, such as {some}; drop them"
        ) from error


def _bad_mass(rows: Any, ids: Any, names: Any) -> Optional[str]:
    """Describes the first invalid mass by measure and point; `None` if there are no labels."""
    values = rows.data if is_sparse(rows) else rows
    bad = np.argwhere(~(np.isfinite(values) & (values >= 0)))
    if len(bad) == 0 or (ids is None and names is None):
        return None
    if is_sparse(rows):
        at = int(bad[0][0])
        measure = int(np.searchsorted(rows.indptr, at, "right")) - 1
        point, value = int(rows.indices[at]), values[at]
    else:
        measure, point = (int(at) for at in bad[0])
        value = values[measure, point]
    numbers = [f"measure {measure}"] * (ids is not None) + [f"point {point}"] * (names is not None)
    of = f"measure {measure}" if ids is None else ids[measure]
    where = f"point {point}" if names is None else names[point]
    return f"{of} has mass {value:g} at {where} ({', '.join(numbers)}); masses must be finite and at least 0"


def _checked(rows: Any, normalize: bool, empty: bool) -> _core.Measures:
    """Builds measures from a result of `table`."""
    if not is_sparse(rows):
        return _core.Measures.dense(rows, normalize=normalize, empty=empty)
    start, columns = rows.indptr, rows.indices
    if start.dtype != columns.dtype:
        start, columns = start.astype(np.int64), columns.astype(np.int64)
    start, columns, masses = (
        np.require(part, None, ["C", "A"]) for part in (start, columns, rows.data)
    )
    return _core.Measures.csr(
        start, columns, masses, points=rows.shape[1], normalize=normalize, empty=empty
    )


class Measures:
    """Measures that are read once and used often.

    All functions that accept rows of masses accept `Measures` as well. Intermediate results of a
    tree or a forest are cached as long as both exist: a second `pairwise` does not repeat the work
    of the first, and a query against a collection takes only the time of the query. `Measures` are
    sparse, and have names of their rows and columns.

    Parameters
    ----------
    X : array-like, sparse, DataFrame or list of dict of shape (n_measures, n_points)
        One measure per row; one per observation of an AnnData, or sample of a `biom.Table`. A dict
        ``{name: mass}`` names points; other points have no mass. DataFrames may be of pandas or
        polars. polars has no index: a first column without numbers replaces it. Later changes to
        `X` have no effect.
    ids : sequence, optional
        IDs of the measures, which are index and columns of distance tables. By default the index of
        a DataFrame, the observations of an AnnData, or the samples of a `biom.Table`.
    names : sequence of str, optional
        Names of the points, which are matched to those of a tree. By default the columns of a
        DataFrame, the variables of an AnnData, or the observations of a `biom.Table`.
    missing : {"warn", "error"}
        What to do if points of a model or a metric are not among the names: count them as 0, with a
        `MissingColumnsWarning`, or raise an error. Points missing in dicts have no mass, without a
        warning.
    empty : bool
        Whether rows may have no mass. `Tree.unifrac` and transport with a `penalty` accept such
        rows; all other methods raise an error.

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

    # For subsampled groups of cells: the largest number of cells per group, and the whole groups.
    _cells: int
    _whole: Callable[[], Measures]

    def __init__(
        self,
        X: Union[MeasuresLike, NamedTable],
        *,
        ids: Optional[Labels] = None,
        names: Optional[Labels] = None,
        missing: str = "warn",
        empty: bool = False,
    ) -> None:
        given: Any = X
        if names is not None and are_mappings(X):
            given = named_rows(given, Places(len(names), names))
        own = to_measures(given)
        ids = own.rows if ids is None else ids
        called = own.columns if names is None else texts(names)
        refuse_events(X)
        refuse_lists(X)
        raw = _checked_by_id(table(own), False, ids, names_of_labels(called), empty)
        self._set(raw, ids, called, missing, own.mentioned)

    def _set(
        self,
        raw: _core.Measures,
        ids: Any,
        columns: Any,
        missing: str = "warn",
        mentioned: bool = False,
    ) -> None:
        self._missing, self._mentioned = missing_of(missing), mentioned
        raw.keep()
        self._raw = raw
        self.ids = _one_each(ids, len(raw), "IDs", "measures")
        self.names: Optional[list[str]] = names_of_labels(
            _one_each(columns, raw.points, "names", "points")
        )
        self._counted = columns is not None and self.names is None  # labels are 0, 1, …
        self._placed: Optional[tuple[list[str], Measures]] = None

    @classmethod
    def _of(cls, raw: _core.Measures, ids: Any, columns: Any, missing: str = "warn") -> Measures:
        made = cls.__new__(cls)
        made._set(raw, ids, columns, missing)
        return made

    @classmethod
    def read(
        cls, path: Path, *, transpose: bool = False, missing: str = "warn", empty: bool = False
    ) -> Measures:
        """Reads a file, with the IDs of its rows and the names of its columns if it has them.

        Parameters
        ----------
        path : str or path-like
            The ending determines the format, or the first bytes if there is none. ``.biom`` of
            either version, whose samples become rows (HDF5 requires h5py); ``.csv`` and ``.tsv``,
            which may be gzip, with headers and IDs as on the command line; ``.npy`` and SciPy's
            ``.npz``; ``.parquet``, where the index or else a first column of text has the IDs
            (requires pandas and pyarrow); ``.h5ad``, whose observations become rows (requires
            anndata).
        transpose : bool
            Whether a ``.csv`` or ``.tsv`` has measures in its columns, as `biom convert` writes
            them.
        missing : {"warn", "error"}
            What to do about points without a column, as for `Measures`.
        empty : bool
            Whether rows may have no mass, as for `Measures`.

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            It is not such a file; the message says where, and what to do.

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
        from .._read import hint_for_vectors, read

        file = os.fspath(path)
        try:
            found = read(file, transpose, empty)
            if not isinstance(found, tuple):
                return cls(found, missing=missing, empty=empty)
            raw, labels, columns = found
            return cls._of(raw, labels, columns, missing)
        except (ValueError, MemoryError) as error:
            raise type(error)(f"{file}: {error}{hint_for_vectors(file)}") from None

    @classmethod
    def from_anndata(
        cls,
        adata: Table,
        groupby: str,
        *,
        weights: Union[str, ArrayLike, None] = None,
        n_cells: Optional[int] = None,
        random_state: Seed = 0,
    ) -> Measures:
        """Converts groups of cells, such as types, donors or conditions, to uniform measures.

        The points are the cells, so models are over their coordinates:
        ``TreeWasserstein(adata.obsm["X_pca"])``. IDs of the measures are the names of the groups.

        Parameters
        ----------
        adata : AnnData
        groupby : str
            The column of `obs` with the group of every cell. Cells without an entry are in no
            group.
        weights : str or array-like of shape (n_obs,), optional
            The weight of every cell in its group, or the column of `obs` with the weights. Equal by
            default. The index of a Series is matched to `obs_names`.
        n_cells : int, optional
            The largest number of cells drawn of every group. `fit` learns from exact distances,
            which take long between groups of thousands of cells. Two samples of one group have a
            positive distance, which `TreeWasserstein.sampling_` reports.
        random_state : int, numpy.random.Generator or None
            Determines which cells are drawn.

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
        from .anndata import groups_of

        made = cls(groups_of(adata, groupby, weights, n_cells, random_state))
        if n_cells is not None:
            made._cells = n_cells
            made._whole = lambda: cls(groups_of(adata, groupby, weights, None, 0))
        return made

    @cached_property
    def _normalized(self) -> _core.Measures:
        normalized = self._raw.normalized()
        normalized.keep()
        return normalized

    def _for(
        self,
        names: Optional[Sequence[Any]],
        normalize: bool,
        missing: str = "warn",
        empty: bool = False,
    ) -> _core.Measures:
        """Returns the measures on points of these names for the compiled half."""
        placed = self._in_order(names, missing)
        if not empty:
            placed._raw.check_mass()
        return placed._normalized if normalize else placed._raw

    def _in_order(self, names: Optional[Sequence[Any]], missing: str = "warn") -> Measures:
        """Returns the measures on points of these names, cached for the next call.

        Points without a column raise an error if `missing` of the caller or of the measures is
        "error"."""
        missing = "error" if "error" in (missing, self._missing) else "warn"
        wanted = None if names is None else texts(names)
        called = None if wanted is None else self._table().called(wanted)
        if wanted is None or called is None or called == wanted:
            return self
        refused = missing == "error" and len(called) < len(wanted)
        if refused or self._placed is None or self._placed[0] != wanted:
            rows = self._table().in_order(wanted, missing)
            self._placed = wanted, Measures(rows, ids=self.ids, names=wanted, empty=True)
        return self._placed[1]

    def _on(self, places: Callable[[], Places]) -> Measures:
        """Returns the measures on these points; keys of dicts are numbers of unnamed points."""
        if not self._mentioned or (known := places()).names is not None:
            return self
        placed = self._in_order(range(known.size))
        return (
            self
            if placed is self
            else Measures._of(placed._raw, self.ids, range(known.size), self._missing)
        )

    def _rows(self) -> sparse.csr_array:
        start, columns, masses, points = self._raw.compressed()
        return sparse.csr_array((masses, columns, start), shape=(len(self), points))

    def _table(self) -> NamedTable:
        columns = range(self._raw.points) if self._counted else self.names
        return NamedTable(self._rows, self.ids, columns, self._mentioned)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _measures_again, (
            self._rows(),
            self.ids,
            self.names,
            self._counted,
            self._missing,
            self._mentioned,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of measures and of points."""
        return len(self._raw), self._raw.points

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"Measures(n_measures={len(self)}, n_points={self._raw.points})"


def _measures_again(
    rows: Any,
    ids: Any,
    names: Any,
    counted: bool = False,
    missing: str = "warn",
    mentioned: bool = False,
) -> Measures:
    columns = range(rows.shape[1]) if counted else names
    return Measures(NamedTable(lambda: rows, ids, columns, mentioned), missing=missing, empty=True)


def _one_each(labels: Any, count: int, what: str, things: str) -> Any:
    """Returns labels, or raises an error if their number is not `count`."""
    if labels is not None and len(labels) != count:
        raise ValueError(f"{len(labels)} {what} for {count} {things}")
    return labels
