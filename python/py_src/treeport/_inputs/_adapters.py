"""The list of adapters: every file of this folder whose name does not begin with an underscore.

An adapter is a file with `is_mine(what)`, true of no other adapter's inputs, and what it can make of its own:

- ``to_measures(what)``: a `NamedTable` with one measure per row, or with one axis for one measure;
- ``to_points(what)``: one with a point per row, and ``to_graph(what)``: an adjacency matrix, where they differ from that;
- ``nodes(what)``, ``is_directed(what)`` and ``to_edges(what, weight)``: names of nodes, and ends and lengths of edges, of
  graphs that are no matrix.

What no adapter claims is taken for an array, or for what NumPy makes one of.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Optional

import numpy as np

from ._table import NamedTable


@lru_cache(maxsize=None)
def adapters() -> tuple[Any, ...]:
    """All adapters; imported when they are first asked for, because some of them need `_measures`."""
    package = import_module(__package__)
    names = (module.name for module in iter_modules(package.__path__))
    return tuple(import_module(f"{__package__}.{name}") for name in names if not name.startswith("_"))


def adapter_of(what: Any) -> Optional[Any]:
    """The adapter whose input it is; quick to say no to what most callers have."""
    if what is None or type(what) is np.ndarray:
        return None
    return next((adapter for adapter in adapters() if adapter.is_mine(what)), None)


def to_measures(what: Any) -> NamedTable:
    """Rows of masses, or one measure, with what rows and columns are called."""
    return _table("to_measures", what)


def to_points(what: Any) -> NamedTable:
    """Rows of coordinates, with what points and axes are called."""
    return _table("to_points", what)


def to_graph(what: Any) -> NamedTable:
    """An adjacency matrix, with what nodes are called."""
    return _table("to_graph", what)


def network_of(what: Any) -> Optional[Any]:
    """The adapter of a graph that is no matrix; `None` for everything else."""
    adapter = adapter_of(what)
    return adapter if hasattr(adapter, "to_edges") else None


def _table(how: str, what: Any) -> NamedTable:
    if isinstance(what, NamedTable):
        return what
    adapter = adapter_of(what)
    read = getattr(adapter, how, None) or getattr(adapter, "to_measures", None)
    return NamedTable(lambda: what) if read is None else read(what)  # type: ignore[no-any-return]
