"""Readers of measure files, with row and column names."""

from __future__ import annotations

from typing import Any, Callable

from scipy import sparse

from . import _core
from ._inputs import NamedTable, names_of_labels, texts


def read(path: str, transpose: bool, empty: bool = False) -> Any:
    """Reads a file of measures in Python, or in the compiled half if it supports the format."""
    kind, by_core = _core.format_of(path)
    if by_core or transpose:  # the compiled half rejects `transpose` for other formats than text
        return _core.Measures.read(path, transpose, empty)
    return READERS[kind](path)


def hint_for_vectors(path: str) -> str:
    """Returns a hint for errors about a text file whose first line is a word and numbers."""
    try:
        with open(path, encoding="utf-8") as file:
            words = file.readline(10_000).split(" ")
        [float(number) for number in words[1:]]
    except (OSError, ValueError):
        return ""
    is_vector = len(words) > 2
    return "; if these are word vectors, `read_word_vectors` reads them" if is_vector else ""


def read_hdf5_biom(path: str) -> NamedTable:
    """Reads the samples of a BIOM 2.1 table, which the file also stores as rows."""
    h5py = _needed("h5py", "a .biom file of HDF5", path)
    try:
        with h5py.File(path, "r") as file:
            group = file["sample/matrix"]
            parts = [group[name][()] for name in ("data", "indices", "indptr")]
            ids, names = (_ids(file[axis + "/ids"]) for axis in ("sample", "observation"))
    except KeyError as error:
        raise ValueError(f"it is HDF5, but no table of BIOM 2.1: {error.args[0]}") from None
    except OSError as error:
        raise OSError(f"{path}: the file of HDF5 is damaged, so copy it again: {error}") from None
    try:
        rows = sparse.csr_array(tuple(parts), shape=(len(ids), len(names)))
        rows.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"the matrix of samples is damaged: {error}") from None
    return NamedTable(lambda: rows, ids, names)


def _ids(dataset: Any) -> list[str]:
    return [item.decode() if isinstance(item, bytes) else str(item) for item in dataset[()]]


def read_h5ad(path: str) -> NamedTable:
    """Reads the observations of an AnnData file as rows of variables."""
    anndata = _needed("anndata", "a .h5ad file", path)
    data = anndata.read_h5ad(path)
    if data.X is None:
        raise ValueError("it has no X")
    return NamedTable(lambda: data.X, texts(data.obs_names), texts(data.var_names))


def read_parquet(path: str) -> NamedTable:
    """Reads a Parquet table whose index, or else first column of text, has the IDs."""
    pandas = _needed("pandas", "a .parquet file", path)
    try:
        frame = pandas.read_parquet(path)
    except ImportError as error:
        raise ImportError(
            f"{path}: a .parquet file is read by pyarrow: `pip install pyarrow`"
        ) from error
    counted = frame.index.equals(pandas.RangeIndex(len(frame)))
    if counted and frame.shape[1] and not pandas.api.types.is_numeric_dtype(frame.dtypes.iloc[0]):
        frame = frame.set_index(frame.columns[0])
        counted = False
    for name, kind in frame.dtypes.items():
        if not (pandas.api.types.is_numeric_dtype(kind) or pandas.api.types.is_bool_dtype(kind)):
            raise ValueError(f"column {name} is of type {kind}; masses are numbers")
    missing = frame.isna().to_numpy()
    if missing.any():
        row, column = (int(at[0]) for at in missing.nonzero())
        raise ValueError(
            f"row {frame.index[row]}, column {frame.columns[column]}: there is no number"
        )
    ids = None if counted else texts(frame.index)
    return NamedTable(
        lambda: sparse.csr_array(frame.to_numpy(dtype="float64")),
        ids,
        names_of_labels(frame.columns),
    )


def read_clouds_anndata(path: str) -> Any:
    """Reads an AnnData file, whose groups of cells become clouds."""
    return _needed("anndata", "a .h5ad file", path).read_h5ad(path)


def read_clouds_parquet(path: str) -> Any:
    """Reads a long table with pandas, or with polars if pandas cannot."""
    try:
        import pandas

        return pandas.read_parquet(path)
    except ImportError:  # pandas or its Parquet engine is not installed
        pass
    try:
        import polars

        return polars.read_parquet(path)
    except ImportError as error:
        raise ImportError(
            f"{path}: a .parquet file is read by pandas and pyarrow, or by polars: `pip install pandas pyarrow`; .csv needs none of them"
        ) from error


def _needed(package: str, what: str, path: str) -> Any:
    """Imports an optional package, or raises an error that names the file."""
    try:
        return __import__(package)
    except ImportError as error:
        raise ImportError(
            f"{path}: {what} is read by {package}: `pip install {package}`"
        ) from error


CLOUD_READERS: dict[str, Callable[[str], Any]] = {
    "h5ad": read_clouds_anndata,
    "parquet": read_clouds_parquet,
}

READERS: dict[str, Callable[[str], NamedTable]] = {
    "biom-hdf5": read_hdf5_biom,
    "h5ad": read_h5ad,
    "parquet": read_parquet,
}
