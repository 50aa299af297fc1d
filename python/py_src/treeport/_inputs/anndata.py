"""AnnData objects: profiles of cells or samples, their coordinates, and their groups.

The package anndata need not be installed."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from scipy import sparse

from .._types import Floats, Integers, Seed
from ._adapters import to_measures as _read
from ._numbers import seed_of
from ._table import NamedTable, names_of_labels, texts


def is_mine(what: Any) -> bool:
    return hasattr(what, "obsm")


def to_measures(what: Any) -> NamedTable:
    """Reads observations as rows of variables."""
    return NamedTable(
        lambda: _profiles(what), getattr(what, "obs_names", None), _names(what, "var_names")
    )


def to_points(what: Any) -> NamedTable:
    """Reads coordinates of observations: "X_pca", or else the first entry of `obsm`, or `X`."""
    key = "X_pca" if "X_pca" in what.obsm else next(iter(what.obsm), None)
    values = (lambda: _profiles(what)) if key is None else (lambda: _read(what.obsm[key]).values)
    return NamedTable(values, _names(what, "obs_names"))


def to_graph(what: Any) -> NamedTable:
    """Reads the graph of neighbors, with an edge if either node is a neighbor of the other."""

    def adjacency() -> Any:
        distances = _read(what.obsp["distances"]).values
        return distances.maximum(distances.T)

    return NamedTable(adjacency, _names(what, "obs_names"))


def _profiles(what: Any) -> Any:
    if getattr(what, "X", None) is None:
        raise ValueError("the AnnData has no X, whose rows would be the measures")
    return _read(what.X).values


def _names(what: Any, axis: str) -> Any:
    """Returns the names of observations or variables; AnnData names unnamed ones "0", "1", …"""
    labels = getattr(what, axis, None)
    names = None if labels is None else texts(labels)
    counted = names is not None and names == texts(range(len(names)))
    return range(len(names)) if counted and names is not None else names


def groups_of(
    adata: Any, groupby: str, weights: Any, n_cells: Optional[int], random_state: Seed
) -> NamedTable:
    """Builds one row per group of cells and one column per cell; rows sum to 1."""
    kinds = _column(adata, groupby).astype("category").cat
    group = np.asarray(kinds.codes, dtype=np.int64)  # -1 where the entry is missing
    mass = _masses(adata, weights, len(group))
    cells = np.flatnonzero((group >= 0) & (mass > 0))
    if n_cells is not None:
        cells = _some(cells, group, n_cells, seed_of(random_state))
    if len(cells) == 0:
        raise ValueError(f"no cell has both a group in obs[{groupby!r}] and a weight above 0")
    there, rows = np.unique(group[cells], return_inverse=True)
    totals = np.bincount(rows, mass[cells])
    shape = (len(there), len(group))
    table = sparse.csr_array((mass[cells] / totals[rows], (rows, cells)), shape=shape)
    names = texts(adata.obs_names) if len(set(adata.obs_names)) == len(group) else None
    return NamedTable(lambda: table, texts(kinds.categories[there]), names)


def _column(adata: Any, key: str) -> Any:
    """Returns a column of obs, or raises an error if it does not exist."""
    if not (hasattr(adata, "obs") and hasattr(adata, "obs_names")):
        raise TypeError(f"the cells are of type {type(adata).__name__}; give an AnnData")
    if key not in adata.obs:
        has = ", ".join(repr(column) for column in adata.obs.columns) or "none"
        raise ValueError(f"obs has no column {key!r}; its columns: {has}")
    return adata.obs[key]


def _masses(adata: Any, weights: Any, count: int) -> Floats:
    """Returns the validated weight of every cell, 1 by default."""
    if weights is None:
        return np.ones(count)
    given = _column(adata, weights) if isinstance(weights, str) else _by_cell(adata, weights)
    mass = np.asarray(given, dtype=np.float64)
    if mass.shape != (count,):
        raise ValueError(
            f"the weights have shape {mass.shape}, expected ({count},): one for every cell"
        )
    wrong = np.flatnonzero(~(np.isfinite(mass) & (mass >= 0)))
    if len(wrong):
        cell = adata.obs_names[wrong[0]]
        raise ValueError(
            f"the weight of cell {cell} is {mass[wrong[0]]}; weights must be finite and at least 0"
        )
    return mass


def _by_cell(adata: Any, weights: Any) -> Any:
    """Returns weights in the order of the cells; a Series is matched by its index."""
    if not hasattr(weights, "reindex") or names_of_labels(weights.index) is None:
        return weights
    own, cells = texts(weights.index), texts(adata.obs_names)
    if own == cells:
        return weights
    at = {cell: place for place, cell in enumerate(own)}
    if len(at) < len(own):
        raise ValueError(
            "the index of the weights has a cell twice; give them in the order of the cells, as an array"
        )
    missing = next((cell for cell in cells if cell not in at), None)
    if missing is not None:
        raise ValueError(
            f"the weights have no entry for cell {missing}; their index has to have all of obs_names"
        )
    return np.asarray(weights)[[at[cell] for cell in cells]]


def _some(cells: Integers, group: Integers, most: int, seed: int) -> Integers:
    """Draws at most `most` cells of every group, in their original order."""
    if most < 1:
        raise ValueError(f"n_cells is {most}; at least one is needed")
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(cells)
    shuffled = shuffled[np.argsort(group[shuffled], kind="stable")]
    first = np.searchsorted(group[shuffled], group[shuffled])
    return np.sort(shuffled[np.arange(len(shuffled)) - first < most])


def cells_by_group(
    adata: Any, groupby: Optional[str], weights: Any, obsm: Optional[str]
) -> tuple[Floats, Integers, Optional[Floats], list[str], bool]:
    """Returns coordinates of cells sorted by group, offsets, weights, groups, and `normalize`."""
    if groupby is None:
        raise ValueError(
            "an AnnData becomes clouds by `groupby`: the column of obs that says which cloud a cell belongs to"
        )
    kinds = _column(adata, groupby).astype("category").cat
    group = np.asarray(kinds.codes, dtype=np.int64)  # -1 where the entry is missing
    cells = np.argsort(group, kind="stable")
    cells = cells[group[cells] >= 0]
    if len(cells) == 0:
        raise ValueError(f"no cell has a group in obs[{groupby!r}]")
    there, rows = np.unique(group[cells], return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows))]).astype(np.int64)
    points = _coordinates(adata, obsm)[cells]
    mass = None if weights is None else _masses(adata, weights, len(group))[cells]
    dense = np.require(
        points.toarray() if sparse.issparse(points) else points, np.float64, ["C", "A"]
    )
    return dense, starts, mass, texts(kinds.categories[there]), weights is not None


def _coordinates(adata: Any, obsm: Optional[str]) -> Any:
    """Returns the coordinates of every cell, dense or sparse."""
    if obsm is None:
        values = to_points(adata).values
    elif obsm in adata.obsm:
        values = _read(adata.obsm[obsm]).values
    elif obsm == "X":
        values = _profiles(adata)
    else:
        has = ", ".join(repr(key) for key in adata.obsm) or "none"
        raise ValueError(f'obsm has no entry {obsm!r}; its entries: {has} ("X" stands for X)')
    if sparse.issparse(values):
        return sparse.csr_array(values)
    return np.asarray(values)
