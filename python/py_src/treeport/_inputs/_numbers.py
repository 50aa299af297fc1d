"""Conversion of arrays and numbers to the types of the compiled half, without needless copies."""

from __future__ import annotations

import os
from numbers import Integral
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _core
from .._types import Integers, Seed

if TYPE_CHECKING:
    from typing_extensions import TypeGuard


def is_sparse(what: Any) -> bool:
    """Checks whether the input is a sparse matrix or array of SciPy; fast for NumPy arrays."""
    return type(what) is not np.ndarray and bool(sparse.issparse(what))


_FLOAT64 = np.dtype(np.float64)


def is_plain(
    what: Any, dimensions: int = 2, kind: np.dtype[Any] = _FLOAT64
) -> TypeGuard[npt.NDArray[Any]]:
    """Checks whether the compiled half accepts the array without conversion; a fast test."""
    plain = type(what) is np.ndarray and what.dtype is kind and what.ndim == dimensions
    return plain and bool(what.flags.aligned)


def array_of(values: Any, dtype: Any = np.float64) -> Any:
    """Returns an aligned array; arrays from a network or a file may be unaligned."""
    refuse_complex(values)
    # The values behind a mask are invalid.
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError("some entries are masked; fill them (`filled`) or leave them out first")
    if isinstance(values, np.ndarray) and values.dtype != dtype:
        _core.check_copy(values.size * np.dtype(dtype).itemsize)
    return np.require(values, dtype, "A")


def in_rows(array: Any) -> Any:
    """Returns a row-major array; a copy has to fit into memory, whatever a view claims to hold."""
    if not array.flags.c_contiguous:
        _core.check_copy(array.nbytes)
    return np.ascontiguousarray(array)


def refuse_complex(values: Any) -> None:
    """Raises an error for complex numbers or a complex type."""
    if getattr(values, "kind", "") == "c" or np.iscomplexobj(values):
        raise ValueError(
            "the numbers are complex; give real ones, such as their absolute values (`np.abs`)"
        )


def pairs_of(pairs: Any, ids: Any = None) -> Integers:
    """Parses pairs of row numbers, or of IDs if rows have IDs."""
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2:
        raise ValueError(f"the list of pairs has shape {array.shape}, expected (n, 2)")
    if array.dtype.kind in "OUST":
        array = _numbers_of(array, ids)
    if array.dtype.kind not in "iu":
        raise ValueError(f"pairs are numbers of rows, not {array.dtype}")
    return np.require(array, np.int64, "A")


def _numbers_of(pairs: npt.NDArray[Any], ids: Any) -> Integers:
    """Converts pairs of IDs to pairs of row numbers."""
    if ids is None:
        raise ValueError(
            f"pairs are numbers of rows, not {str(pairs.flat[0])!r}: the measures have no names"
        )
    number: dict[str, int] = {}
    for at, name in enumerate(ids):
        number[str(name)] = -1 if str(name) in number else at
    found = np.empty(pairs.shape, dtype=np.int64)
    for place, name in np.ndenumerate(pairs):
        named = number.get(str(name))
        if named is None or named < 0:
            there = "no measure is" if named is None else "several measures are"
            raise ValueError(
                f"pair {place[0]} names {name}, and {there} called so; there are {len(ids)}, such as {ids[0]}"
            )
        found[place] = named
    return found


def neighbors_of(n_neighbors: Any) -> int:
    """Validates a number of neighbors, with the error messages of scikit-learn."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, Integral):
        raise TypeError(f"n_neighbors does not take {type(n_neighbors)} value, enter integer value")
    if n_neighbors <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {n_neighbors}")
    return int(n_neighbors)


def threads_of(n_jobs: Optional[int]) -> int:
    """Returns the number of threads for `n_jobs`; 0 means all processors in the compiled half."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; give a number of threads, or -1 for all processors")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seed_of(random_state: Seed) -> int:
    """Returns a seed; a generator advances, so the next call draws a different seed."""
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**64:
            raise ValueError(
                f"random_state is {random_state}; a seed is at least 0 and below 2**64"
            )
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    raise ValueError(f"random_state is {random_state!r}; give an int, a Generator or None")
