"""Measures with points of their own: cells of patients, particles of jets, pixels, diagrams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from . import _core
from ._ground import coordinates
from ._inputs import Measures, array_of, refuse_events, row, texts
from ._inputs._long_table import LongTable, is_frame
from ._inputs.anndata import cells_by_group
from ._inputs.anndata import is_mine as is_anndata
from ._inputs.clouds import WITHOUT_TABLE
from ._read import CLOUD_READERS
from ._types import ArrayLike, CloudsLike, Floats, Integers, Labels, Path


class Parts(NamedTuple):
    """Parsed clouds: all points, the offset of each cloud, and masses (`None`: equal)."""

    points: Floats
    starts: Integers
    masses: Optional[Floats] = None
    ids: Optional[Sequence[Any]] = None
    normalize: bool = False


class Clouds:
    """Measures with points of their own, of any sizes.

    A patient is a set of cells, a jet a set of particles, an image a set of pixels: such measures
    share no points. `emd_pairs` and `emd_pairwise` accept them instead of rows of masses, and then
    need no `points`.

    Parameters
    ----------
    X : list, dict, ndarray, awkward.Array, AnnData or DataFrame
        - a list with an array of points of shape (n_points, n_coordinates) for each cloud, with equal
          masses, 1 in total; or with a tuple ``(masses, points)`` for each, where `None` means equal
          masses; arrays of one axis are points on a line;
        - a dict of such clouds by their IDs, or an array of three axes;
        - with `weights` "first" or "last": arrays with a column of masses, such as (pT, y, φ);
        - with `offsets`: the points of all clouds, as rows of one array;
        - an awkward array of such arrays, or of records, whose fields are coordinates;
        - with `groupby`: an AnnData, where every group of cells is a cloud;
        - a long table of pandas or polars: one row for each point, with the ID of its cloud.
    offsets : array-like of int of shape (n_clouds + 1,), optional
        Cloud ``i`` has the rows ``offsets[i]:offsets[i + 1]`` of `X`.
    masses : array-like of shape (n_points,), optional
        With `offsets`: the masses of all points, equal within each cloud by default.
    groupby : str, optional
        The column with the cloud of each row: of `obs`, or of a long table, where "id" is the
        default.
    weights : str or array-like, optional
        The masses of the points: the "first" or "last" column of arrays, a field of records, a
        column of a long table (by default "mass", if there is one), a column of `obs`, or an array
        of weights of all cells. Groups of cells are divided by their totals.
    columns : list of str, optional
        The columns of a long table that are coordinates; all others by default.
    obsm : str, optional
        The entry of `obsm` with the coordinates of cells, or "X"; by default "X_pca", or else the
        first entry, or `X`.
    ids : sequence, optional
        IDs of the clouds, which are index and columns of distance tables, and appear in errors.
    normalize : bool
        Whether to divide each cloud by its total.
    empty : bool
        Whether clouds may have no mass or no points, for transport with a `penalty`.

    Attributes
    ----------
    ids : list or None

    See Also
    --------
    Measures : Rows of masses on shared points.

    Examples
    --------
    >>> import treeport as tp
    >>> clouds = tp.Clouds({"a": [[0.0, 0.0]], "b": ([0.5, 0.5], [[3.0, 4.0], [0.0, 1.0]])})
    >>> clouds
    Clouds(n_clouds=2, points=1 to 2, dim=2, totals=1)
    >>> tp.emd_pairwise(clouds)
         a    b
    a  0.0  3.0
    b  3.0  0.0
    >>> jets = [[[9.0, 0.1, 0.2], [1.0, 0.3, 0.4]], [[5.0, 0.0, 0.0]]]  # pT, y, φ
    >>> tp.Clouds(jets, weights="first", normalize=True)[0]
    (array([0.9, 0.1]), array([[0.1, 0.2],
           [0.3, 0.4]]))
    """

    def __init__(
        self,
        X: CloudsLike,
        offsets: Optional[ArrayLike] = None,
        masses: Optional[ArrayLike] = None,
        *,
        groupby: Optional[str] = None,
        weights: Union[str, ArrayLike, None] = None,
        columns: Optional[Sequence[str]] = None,
        obsm: Optional[str] = None,
        ids: Optional[Labels] = None,
        normalize: bool = False,
        empty: bool = False,
    ) -> None:
        given: dict[str, Any] = {"offsets": offsets, "masses": masses, "groupby": groupby}
        given.update(weights=weights, columns=columns, obsm=obsm)
        given = {name: value for name, value in given.items() if value is not None}
        parts = _parts_of(X, given, ids)
        called = parts.ids if ids is None else ids
        if called is not None and len(called) != len(parts.starts) - 1:
            raise ValueError(f"{len(called)} IDs for {len(parts.starts) - 1} clouds")
        names = None if called is None else texts(called)
        own = X._raw.own_penalties() if isinstance(X, Clouds) else None
        raw = _core.Clouds(
            parts.points,
            parts.starts,
            masses=parts.masses,
            names=names,
            normalize=normalize or parts.normalize,
            empty=empty or own is not None,
        )
        raw = raw if own is None else raw.with_penalties(*own)
        births = X._raw.births() if isinstance(X, Clouds) else None
        self._set(raw if births is None else raw.with_births(births), called)

    def _set(self, raw: _core.Clouds, ids: Optional[Sequence[Any]]) -> None:
        self._raw = raw
        self.ids: Optional[list[Any]] = None if ids is None else list(ids)

    @classmethod
    def _of(cls, raw: _core.Clouds, ids: Optional[Sequence[Any]]) -> Clouds:
        made = cls.__new__(cls)
        made._set(raw, ids)
        return made

    @classmethod
    def read(
        cls,
        path: Path,
        *,
        groupby: Optional[str] = None,
        weights: Optional[str] = None,
        columns: Optional[Sequence[str]] = None,
        obsm: Optional[str] = None,
        normalize: bool = False,
        empty: bool = False,
    ) -> Clouds:
        """Reads a file or a folder; the command line reads the same formats with `--clouds`.

        Parameters
        ----------
        path : str or path-like
            A long table with a row for each point (``.csv`` and ``.tsv``, which may be gzip;
            ``.parquet`` by pandas with pyarrow, or by polars). A ragged archive (``.npz``) with
            `points`, `offsets` and, optionally, `masses` and `ids`, as written by `save`. An array
            of three axes (``.npy``). A folder of arrays of points (``.npy``) in the order of their
            names, whose stems are the IDs. An AnnData file (``.h5ad``), with `groupby`.
        groupby, weights, columns, obsm, normalize, empty
            As for `Clouds`.

        Returns
        -------
        clouds : Clouds
            With IDs, as text, if the file has them.

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
        ...     path = pathlib.Path(folder, "jets.csv")
        ...     _ = path.write_text("id,mass,y,phi\\nj1,0.5,0,0\\nj1,0.5,0,1\\nj2,1,3,4\\n")
        ...     tp.Clouds.read(path)
        Clouds(n_clouds=2, points=1 to 2, dim=2, totals=1)
        """
        file = os.fspath(path)
        options: Any = {"groupby": groupby, "weights": weights, "normalize": normalize}
        options.update(columns=None if columns is None else list(columns), empty=empty)
        try:
            kind = "folder" if os.path.isdir(file) else _core.format_of(file, True)[0]
            if kind in CLOUD_READERS:
                return cls(CLOUD_READERS[kind](file), obsm=obsm, **options)
            if obsm is not None:
                raise ValueError("`obsm` is for AnnData files (.h5ad)")
            raw = _core.Clouds.read(file, **options)
            return cls._of(raw, raw.names)
        except (ValueError, MemoryError) as error:
            raise type(error)(f"{file}: {error}") from None

    def save(self, path: Path) -> None:
        """Writes the clouds to a ragged archive (``.npz``) for `read` and NumPy, atomically.

        Parameters
        ----------
        path : str or path-like
            The file has the members `points`, `offsets`, `masses` and, if clouds have IDs, `ids`,
            as text.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import treeport as tp
        >>> clouds = tp.Clouds({"a": [[0.0], [1.0]]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clouds.save(pathlib.Path(folder, "clouds.npz"))
        ...     tp.Clouds.read(pathlib.Path(folder, "clouds.npz")) == clouds
        True
        """
        self._raw.save(os.fspath(path))

    @classmethod
    def concat(cls, sets: Sequence[Clouds]) -> Clouds:
        """Concatenates several sets of clouds.

        Parameters
        ----------
        sets : list of Clouds
            All points need the same number of coordinates.

        Returns
        -------
        clouds : Clouds
            With IDs if all sets have them.

        Examples
        --------
        >>> import treeport as tp
        >>> left, right = tp.Clouds({"a": [[0.0], [1.0]]}), tp.Clouds({"b": [[2.0], [4.0]]})
        >>> tp.Clouds.concat([left, right]).ids
        ['a', 'b']
        """
        parts = list(sets)
        if not parts:
            raise ValueError("there are no clouds to put together")
        raw, ids = parts[0]._raw, parts[0].ids
        for part in parts[1:]:
            raw = raw.followed_by(part._raw)
            ids = None if ids is None or part.ids is None else ids + part.ids
        return cls._of(raw, ids)

    def normalized(self) -> Clouds:
        """Returns the clouds with each divided by its total.

        Returns
        -------
        clouds : Clouds

        Examples
        --------
        >>> import treeport as tp
        >>> tp.Clouds([([1.0, 3.0], [[0.0], [1.0]])]).normalized().masses
        array([0.25, 0.75])
        """
        return Clouds._of(self._raw.normalized(), self.ids)

    def with_penalties(self, penalties: ArrayLike) -> Clouds:
        """Returns the clouds with a penalty for each point: the cost of not moving a unit of mass.

        Parameters
        ----------
        penalties : array-like of shape (n_points,)
            One for each point of all clouds, one cloud after the other.

        Returns
        -------
        clouds : Clouds
            `emd_pairs` and `emd_pairwise` need no `penalty` for them.

        Examples
        --------
        >>> import treeport as tp
        >>> clouds = tp.Clouds([([1.0, 1.0], [[0.0], [9.0]]), ([1.0], [[1.0]])]).with_penalties([5.0, 0.5, 5.0])
        >>> tp.emd_pairs(clouds, [(0, 1)])
        array([1.5])
        """
        return Clouds._of(self._raw.with_penalties(array_of(penalties)), self.ids)

    @property
    def penalties(self) -> Optional[Floats]:
        """The cost of not moving a unit of mass at each point, if the clouds have penalties."""
        own = self._raw.own_penalties()
        return None if own is None else own[0]

    @property
    def dim(self) -> int:
        """The number of coordinates of a point."""
        return self._raw.dim

    @property
    def points(self) -> Floats:
        """The points of all clouds, one cloud after the other."""
        return self._raw.coordinates()

    @property
    def offsets(self) -> Integers:
        """Cloud ``i`` has the points ``offsets[i]:offsets[i + 1]``."""
        return self._raw.starts()

    @property
    def masses(self) -> Floats:
        """The masses of all points."""
        return self._raw.masses()

    @property
    def sizes(self) -> Integers:
        """The number of points of each cloud."""
        return np.diff(self.offsets)

    @property
    def totals(self) -> Floats:
        """The total mass of each cloud."""
        return self._raw.totals()

    def __len__(self) -> int:
        return len(self._raw)

    def __iter__(self) -> Iterator[tuple[Floats, Floats]]:
        return (self._raw.cloud(at) for at in range(len(self)))

    def __getitem__(self, which: Any) -> Any:
        """Returns the masses and points of one cloud, or the clouds of a slice or a list."""
        if isinstance(which, slice):
            return self._some(np.arange(len(self), dtype=np.int64)[which])
        if isinstance(which, (list, np.ndarray)):
            return self._some(self._numbers(which))
        return self._raw.cloud(self._number(which))

    def _some(self, numbers: Integers) -> Clouds:
        ids = None if self.ids is None else [self.ids[at] for at in numbers]
        return Clouds._of(self._raw.select(numbers), ids)

    def _numbers(self, which: Any) -> Integers:
        """Returns the positions of clouds given by numbers, IDs or a mask."""
        array = np.asarray(which)
        if array.dtype == bool:
            if array.shape != (len(self),):
                raise IndexError(f"a mask of shape {array.shape} for {len(self)} clouds")
            return np.flatnonzero(array).astype(np.int64)
        return np.array([self._number(one) for one in which], dtype=np.int64)

    def _number(self, which: Any) -> int:
        if isinstance(which, Integral) and not isinstance(which, bool):
            if -len(self) <= int(which) < len(self):
                return int(which) % len(self)
            raise IndexError(f"there is no cloud {which}: there are {len(self)}, numbered from 0")
        found = (
            [] if self.ids is None else [at for at, name in enumerate(self.ids) if name == which]
        )
        if len(found) != 1:
            there = "several clouds are" if found else "no cloud is"
            raise KeyError(f"{there} called {which!r}")
        return found[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Clouds):
            return NotImplemented
        return self._raw == other._raw and _texts(self.ids) == _texts(other.ids)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _clouds_again, (
            self.points,
            self.offsets,
            self.masses,
            self.ids,
            self._raw.own_penalties(),
            self._raw.births(),
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(WITHOUT_TABLE)

    def __repr__(self) -> str:
        sizes, totals = self.sizes, self.totals
        return f"Clouds(n_clouds={len(self)}, points={_range(sizes)}, dim={self.dim}, totals={_range(totals)})"


def _clouds_again(
    points: Floats,
    starts: Integers,
    masses: Floats,
    ids: Optional[list[Any]],
    penalties: Optional[tuple[Floats, Optional[str]]] = None,
    births: Optional[list[list[float]]] = None,
) -> Clouds:
    names = None if ids is None else texts(ids)
    # Dask deserializes arrays that may be unaligned.
    aligned = partial(np.require, dtype=None, requirements="A")
    raw = _core.Clouds(
        aligned(points), aligned(starts), masses=aligned(masses), names=names, empty=True
    )
    if penalties is not None:
        raw = raw.with_penalties(aligned(penalties[0]), *penalties[1:])
    if births is not None:
        raw = raw.with_births(births)
    return Clouds._of(raw, ids)


def _texts(ids: Optional[list[Any]]) -> Optional[list[str]]:
    return None if ids is None else texts(ids)


def _range(numbers: Any) -> str:
    """Formats the minimum and the maximum of numbers with six digits."""
    if len(numbers) == 0:
        return "none"
    least, most = f"{numbers.min():.6g}", f"{numbers.max():.6g}"
    return least if least == most else f"{least} to {most}"


def clouds_of(X: Any, empty: bool = False) -> Clouds:
    """Converts lists to `Clouds`; returns `Clouds` unchanged.

    Clouds without mass raise an error unless they may be `empty` or have penalties."""
    if not isinstance(X, Clouds):
        return Clouds(X, empty=empty)
    if not empty and X.penalties is None:
        X._raw.check_mass()
    return X


def with_ids(measures: Any, empty: bool) -> Any:
    """Converts a dict of clouds to `Clouds`, which have its keys as IDs."""
    is_dict = isinstance(measures, Mapping) and are_clouds(measures)
    return Clouds(measures, empty=empty) if is_dict else measures


def are_clouds(measures: Any) -> bool:
    """Checks whether `measures` are `Clouds`, or a list or a dict of pairs or of arrays of points."""

    def is_cloud(one: Any) -> bool:
        if isinstance(one, (list, tuple)):
            return len(one) == 2 and np.ndim(one[1]) > 0
        if isinstance(one, np.ndarray):
            return one.ndim == 2 and one.dtype != object
        return hasattr(one, "columns") and len(getattr(one, "shape", ())) == 2

    if isinstance(measures, Clouds):
        return True
    if isinstance(measures, Mapping):
        measures = list(measures.values())
    if not isinstance(measures, (list, tuple)) or not all(is_cloud(one) for one in measures):
        return False
    refuse_events(measures)
    return True


def clouds_for(index: _core.Index, X: Any, normalize: bool) -> _core.Clouds:
    """Returns clouds as queries to an index of clouds, or as additions to it."""
    if not are_clouds(X):
        raise ValueError(
            "the collection has Clouds, which bring their own points; give Clouds, too"
        )
    relaxed, _ = index.penalty
    raw = clouds_of(X, empty=relaxed)._raw
    return raw.normalized() if normalize and not relaxed else raw


def _parts_of(X: Any, given: dict[str, Any], ids: Any) -> Parts:
    """Parses clouds according to the type of `X`, or raises an error for inapplicable options."""
    if isinstance(X, Measures):
        raise TypeError(
            "Measures are rows of masses on points that all share, and Clouds bring their own; "
            "give a list of (masses, points), or keep the Measures and name their `points`"
        )
    if isinstance(X, Clouds):
        _only(given, "Clouds")
        return Parts(X.points, X.offsets, X.masses, X.ids)
    if is_anndata(X):
        _only(given, "an AnnData", "groupby", "weights", "obsm")
        return Parts(
            *cells_by_group(X, given.get("groupby"), given.get("weights"), given.get("obsm"))
        )
    if is_frame(X):
        _only(given, "a table", "groupby", "weights", "columns")
        table = LongTable(X, given.get("groupby"), given.get("weights"), given.get("columns"))
        return Parts(*table.read())
    if "offsets" in given:
        _only(given, "points with offsets", "offsets", "masses")
        return _of_ragged(X, given["offsets"], given.get("masses"))
    _only(given, "a list of clouds", "weights")
    return _of_list(X, given.get("weights"), ids)


def _only(given: dict[str, Any], what: str, *known: str) -> None:
    for name in given:
        if name not in known:
            use = ", ".join(f"`{one}`" for one in known) or "none"
            raise ValueError(
                f"`{name}` does not apply to {what}, which supports {use} of these options"
            )


def _of_ragged(X: Any, offsets: Any, masses: Any) -> Parts:
    """Parses rows of all points with offsets."""
    points, starts = coordinates(X), array_of(offsets, None)
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        raise ValueError(
            f"offsets are a list of whole numbers, not {starts.dtype} of shape {starts.shape}"
        )
    starts = starts.astype(np.int64)
    wrong = np.flatnonzero(np.diff(starts) < 0)
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(points) or len(wrong):
        where = (
            f"offset {wrong[0] + 1} is less than the one before it"
            if len(wrong)
            else f"they are {_few(starts)}"
        )
        raise ValueError(
            f"offsets go from 0 up to the number of points, which is {len(points)}; {where}"
        )
    if masses is None:
        return Parts(points, starts)
    found = _dense(masses)
    if len(found) != len(points):
        raise ValueError(
            f"there are {len(found)} masses and {len(points)} points; there has to be one for each"
        )
    return Parts(points, starts, found)


def _few(numbers: Integers) -> str:
    return (
        f"{numbers.tolist()}"
        if len(numbers) < 4
        else f"[{numbers[0]}, {numbers[1]}, …, {numbers[-1]}]"
    )


def _of_list(X: Any, weights: Any, ids: Any) -> Parts:
    """Parses a list of clouds, or a dict of clouds by ID."""
    if isinstance(X, Mapping):
        keys = list(X)
        ids, X = keys if ids is None else ids, list(X.values())
    elif isinstance(X, (list, tuple)) and X and isinstance(X[0], str):
        raise TypeError(
            "this is a list of texts, and clouds are arrays of points; `texts(documents, vectors)` turns documents into measures"
        )
    elif isinstance(X, (str, bytes)):
        raise TypeError(f"{X!r} is a text; files are read by `Clouds.read`")
    elif not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(
            f"clouds are a list of arrays or of (masses, points), not {type(X).__name__}"
        )
    elif np.ndim(X) != 3 if isinstance(X, np.ndarray) and X.dtype != object else False:
        raise ValueError(
            f"an array of shape {X.shape} is no list of clouds; give `offsets` that say where each begins, "
            "a list of arrays, or an array of three axes"
        )
    if len(X) == 0:
        raise ValueError("there are no clouds; a list of them has at least one")
    if weights not in (None, "first", "last") and not hasattr(X, "fields"):
        raise ValueError(
            f'weights is {weights!r}; masses are in the "first" or the "last" column of arrays'
        )
    called = _labels(ids)
    fields = getattr(X, "fields", None)
    read = _records(list(fields), weights) if fields else _one_cloud
    points, masses = [], []
    for at, one in enumerate(X):
        found = read(called(at), one, weights)
        points.append(found[1])
        masses.append(found[0])
    _check_dimensions(points, called)
    # Empty lists have no second axis and so no number of coordinates.
    wide = next((one.shape[1] for one in points if one.ndim == 2), 1)
    points = [one if one.ndim == 2 else one.reshape(0, wide) for one in points]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in points])]).astype(np.int64)
    if all(one is None for one in masses):
        return Parts(np.concatenate(points), starts, None, ids)
    whole = [
        np.full(len(here), 1 / max(len(here), 1)) if one is None else one
        for one, here in zip(masses, points)
    ]
    return Parts(np.concatenate(points), starts, np.concatenate(whole), ids)


def _labels(ids: Any) -> Callable[[int], str]:
    """Returns the function that names clouds in errors: by ID, or else by number."""
    return str if ids is None else lambda at: str(ids[at]) if at < len(ids) else str(at)


def _one_cloud(called: str, one: Any, weights: Optional[str]) -> tuple[Optional[Floats], Floats]:
    """Parses one cloud into masses (`None` if equal) and points."""
    if isinstance(one, tuple):
        if weights is not None:
            raise ValueError(
                f"cloud {called} is a tuple, which has its masses; leave out `weights`"
            )
        if len(one) != 2:
            raise ValueError(
                f"cloud {called} is a tuple of {len(one)}; give (masses, points), or an array of points"
            )
        points = _points(called, one[1])
        if one[0] is None:
            return None, points
        masses = _masses(called, one[0])
        if len(masses) != len(points):
            raise ValueError(
                f"cloud {called} has {len(masses)} masses and {len(points)} points; there has to be one for each"
            )
        return masses, points
    _refuse_doubt(called, one)
    points = _points(called, one)
    if weights is None:
        return None, points
    if points.size and points.shape[1] < 2:
        raise ValueError(
            f"cloud {called} has {points.shape[1]} column, and needs one for masses and at least one for coordinates"
        )
    if points.ndim == 1:  # an empty list
        return np.empty(0), points
    at = 0 if weights == "first" else points.shape[1] - 1
    return np.ascontiguousarray(points[:, at]), np.delete(points, at, axis=1)


def _refuse_doubt(called: str, one: Any) -> None:
    """Raises an error for an ambiguous list: of masses and points, or of two points."""
    if (
        isinstance(one, list)
        and len(one) == 2
        and isinstance(one[0], list)
        and np.ndim(one[0]) == 1
    ):
        if (
            isinstance(one[1], list)
            and len(one[1])
            and isinstance(one[1][0], (list, tuple, np.ndarray))
        ):
            raise ValueError(
                f"cloud {called} is a list of masses and points; give a tuple, (masses, points)"
            )


def _records(
    fields: list[str], weights: Optional[str]
) -> Callable[[str, Any, Any], tuple[Optional[Floats], Floats]]:
    """Returns a reader of records whose fields are coordinates, and optionally masses."""
    if weights in ("first", "last") and weights not in fields:
        weights = fields[0] if weights == "first" else fields[-1]
    if weights is not None and weights not in fields:
        raise ValueError(f"weights is {weights!r}; the records have the fields {', '.join(fields)}")
    axes = [field for field in fields if field != weights]

    def read(called: str, one: Any, _: Any) -> tuple[Optional[Floats], Floats]:
        points = np.stack([_masses(called, one[field]) for field in axes], axis=1)
        return (None if weights is None else _masses(called, one[weights])), points

    return read


def _points(called: str, points: Any) -> Floats:
    """Parses rows of coordinates; the result for an empty list has one axis."""
    try:
        found = coordinates(points)
    except (TypeError, ValueError) as error:
        raise ValueError(f"cloud {called}: its points are no rows of numbers: {error}") from error
    if found.size == 0 and np.ndim(points) == 1:
        return np.empty(0)
    return np.ascontiguousarray(found)


def _masses(called: str, masses: Any) -> Floats:
    try:
        return _dense(masses)
    except (TypeError, ValueError) as error:
        raise ValueError(f"cloud {called}: its masses are no list of numbers: {error}") from error


def _check_dimensions(points: list[Floats], called: Callable[[int], str]) -> None:
    """Raises an error if clouds differ in their number of coordinates."""
    first = next((at for at, one in enumerate(points) if one.ndim == 2), None)
    for at, one in enumerate(points):
        if first is not None and one.ndim == 2 and one.shape[1] != points[first].shape[1]:
            raise ValueError(
                f"the points of cloud {called(at)} have {one.shape[1]} coordinates, those of cloud {called(first)} "
                f"{points[first].shape[1]}; the numbers have to be equal"
            )


def _dense(masses: Any) -> Floats:
    """Returns the masses of one measure as a dense array."""
    found = row(masses)
    if not isinstance(found, tuple):
        return found  # type: ignore[no-any-return]
    at, values, size = found
    whole = np.zeros(size)
    np.add.at(whole, at, values)
    return whole


def refuse_essential(clouds: Clouds) -> None:
    """Raises an error for diagrams with points that never die, which trees and spaces do not match."""
    if clouds._raw.births() is not None:
        raise ValueError(
            "some diagrams have points that never die (essential classes), which only `emd_pairs` and `emd_pairwise` "
            "match; leave them out, or let them die where the filtration ends"
        )
