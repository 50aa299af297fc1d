"""Persistence diagrams: clouds whose points may be matched to the diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np

from . import _core
from ._clouds import Clouds
from ._inputs import Floats, array_of, texts


def diagrams(X: Any, *, metric: str = "euclidean", ids: Optional[Sequence[Any]] = None) -> Clouds:
    """Persistence diagrams, as `Clouds` whose points may be matched to the diagonal.

    Every point has mass 1, and a penalty of its own: its distance to the diagonal. Points are matched with each other, or with
    the diagonal. So `emd_pairwise` gives W1 between all diagrams, and `emd_pairs` gives W1 of listed pairs.

    Parameters
    ----------
    X : list or dict of array-like of shape (n_points, 2)
        The births and deaths of each diagram, by its ID if it is a dict. Diagrams may be empty, and points may lie on the diagonal.
    metric : {"euclidean", "chebyshev", "manhattan"}
        The distance between points, and to the diagonal: (death - birth) / sqrt(2), half of death - birth, or all of it. Use the
        same metric in `emd_pairwise` and `emd_pairs`.
    ids : sequence, optional
        IDs of the diagrams.

    Returns
    -------
    diagrams : Clouds

    Raises
    ------
    ValueError
        For a point that never dies (an essential class), that dies before it is born, or that is not a number. Drop
        essential classes, ``d[np.isfinite(d[:, 1])]``, or let them die where the filtration ends, ``np.minimum(d, end)``.

    Examples
    --------
    >>> import treeport as tp
    >>> shapes = tp.diagrams([[[0.0, 10.0]], [[0.0, 11.0], [3.0, 3.5]], []], metric="manhattan")
    >>> tp.emd_pairwise(shapes, metric="manhattan")
    array([[ 0. ,  1.5, 10. ],
           [ 1.5,  0. , 11.5],
           [10. , 11.5,  0. ]])
    """
    if isinstance(X, Mapping):
        ids, X = list(X) if ids is None else ids, list(X.values())
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__") or not hasattr(X, "__getitem__"):
        raise TypeError(f"diagrams are a list of arrays of (birth, death), not {type(X).__name__}")
    if ids is not None and len(ids) != len(X):
        raise ValueError(f"{len(ids)} IDs for {len(X)} diagrams")
    if len(X) == 0:
        raise ValueError("there are no diagrams; a list of them has at least one, which may be empty")
    rows = [_rows(str(at if ids is None else ids[at]), one) for at, one in enumerate(X)]
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
