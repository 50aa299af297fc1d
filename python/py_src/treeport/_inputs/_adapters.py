"""The list of adapters: every file of this folder whose name does not begin with an underscore.

An adapter is a module with ``is_mine(what)``, which returns true for inputs of this adapter only,
and with the conversions that it supports:

- ``to_measures(what)`` returns a `NamedTable` with one measure per row, or with one axis for a
  single measure;
- ``to_points(what)`` returns a `NamedTable` with one point per row, and ``to_graph(what)`` one with
  an adjacency matrix; both default to ``to_measures``;
- ``nodes(what)``, ``is_directed(what)`` and ``to_edges(what, weight)`` return the names of nodes,
  the direction, and the ends and lengths of edges, for graphs that are not matrices.

Inputs without an adapter are converted by NumPy."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Optional

import numpy as np

from ._table import NamedTable


@lru_cache(maxsize=None)
def adapters() -> tuple[Any, ...]:
    """Returns all adapters, imported on first use because some of them depend on `_measures`."""
    package = import_module(__package__)
    names = (module.name for module in iter_modules(package.__path__))
    return tuple(
        import_module(f"{__package__}.{name}") for name in names if not name.startswith("_")
    )


def adapter_of(what: Any) -> Optional[Any]:
    """Returns the adapter of an input, or `None`; fast for NumPy arrays, the most common input."""
    if what is None or type(what) is np.ndarray:
        return None
    return next((adapter for adapter in adapters() if adapter.is_mine(what)), None)


def to_measures(what: Any) -> NamedTable:
    """Reads rows of masses, or one measure, with the labels of rows and columns."""
    return _table("to_measures", what)


def to_points(what: Any) -> NamedTable:
    """Reads rows of coordinates, with the labels of points and axes."""
    return _table("to_points", what)


def to_graph(what: Any) -> NamedTable:
    """Reads an adjacency matrix, with the labels of nodes."""
    return _table("to_graph", what)


def network_of(what: Any) -> Optional[Any]:
    """Returns the adapter of a graph that is not a matrix; `None` for other inputs."""
    adapter = adapter_of(what)
    return adapter if hasattr(adapter, "to_edges") else None


def _table(how: str, what: Any) -> NamedTable:
    if isinstance(what, NamedTable):
        return what
    adapter = adapter_of(what)
    read = getattr(adapter, how, None) or getattr(adapter, "to_measures", None)
    return NamedTable(lambda: what) if read is None else read(what)  # type: ignore[no-any-return]
