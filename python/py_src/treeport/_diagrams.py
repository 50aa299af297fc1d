"""Persistence diagrams: clouds whose points may be matched to the diagonal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

import numpy as np

from . import _core
from ._clouds import Clouds
from ._inputs import array_of, texts
from ._types import CloudsLike, Floats, Labels


def diagrams(X: CloudsLike, *, metric: str = "euclidean", ids: Optional[Labels] = None) -> Clouds:
    """Converts persistence diagrams to `Clouds` whose points may be matched to the diagonal.

    Every point has mass 1 and a penalty: its distance to the diagonal. Points are matched with each
    other or with the diagonal, so `emd_pairwise` computes W1 between all diagrams, and `emd_pairs`
    W1 of listed pairs; `order=2` and `order=np.inf` are Wasserstein-2 and the bottleneck distance.

    Points with an infinite death (essential classes) are matched among themselves, by their births.
    Diagrams with different numbers of them are infinitely far apart. Trees and searches refuse them.

    Parameters
    ----------
    X : list or dict of array-like of shape (n_points, 2)
        The births and deaths of each diagram; keys of a dict are IDs. Diagrams may be empty, and
        points may lie on the diagonal.
    metric : {"euclidean", "chebyshev", "manhattan"}
        The distance between points, and to the diagonal: death - birth, divided by sqrt(2), 2 or 1.
        Use the same metric in `emd_pairwise` and `emd_pairs`.
    ids : sequence, optional
        IDs of the diagrams.

    Returns
    -------
    diagrams : Clouds

    Raises
    ------
    ValueError
        A point has a death before its birth, or a NaN.

    Examples
    --------
    >>> import treeport as tp
    >>> shapes = tp.diagrams([[[0.0, 10.0]], [[0.0, 11.0], [3.0, 3.5]], []], metric="manhattan")
    >>> tp.emd_pairwise(shapes, metric="manhattan")
    array([[ 0. ,  1.5, 10. ],
           [ 1.5,  0. , 11.5],
           [10. , 11.5,  0. ]])
    """
    given: Any = X
    if isinstance(X, Mapping):
        ids, given = list(X) if ids is None else ids, list(X.values())
    is_list = hasattr(given, "__len__") and hasattr(given, "__getitem__")
    if isinstance(given, (str, bytes)) or not is_list:
        raise TypeError(f"diagrams are a list of arrays of (birth, death), not {type(X).__name__}")
    if ids is not None and len(ids) != len(given):
        raise ValueError(f"{len(ids)} IDs for {len(given)} diagrams")
    if len(given) == 0:
        raise ValueError(
            "there are no diagrams; a list of them has at least one, which may be empty"
        )
    rows = [_rows(str(at if ids is None else ids[at]), one) for at, one in enumerate(given)]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in rows])]).astype(np.int64)
    names = None if ids is None else texts(ids)
    return Clouds._of(_core.Clouds.diagrams(np.concatenate(rows), starts, names, metric), ids)


def _rows(called: str, one: Any) -> Floats:
    """Parses births and deaths; an empty list may have any shape."""
    try:
        found = array_of(one)
    except (TypeError, ValueError) as error:
        raise ValueError(f"diagram {called} is no array of (birth, death): {error}") from error
    if found.size == 0:
        return np.empty((0, 2))
    if found.ndim != 2 or found.shape[1] != 2:
        hint = "; GUDHI's `persistence` has pairs (dimension, (birth, death)), so take `persistence_intervals_in_dimension`"
        raise ValueError(
            f"diagram {called} has shape {found.shape}; rows are (birth, death){hint if found.ndim != 2 else ''}"
        )
    return found  # type: ignore[no-any-return]
