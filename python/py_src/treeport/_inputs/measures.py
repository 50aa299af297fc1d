"""Adapter of `Measures`, for functions that read their rows.

`measures_of` accepts `Measures` directly."""

from __future__ import annotations

from typing import Any

from ._measures import Measures
from ._table import NamedTable


def is_mine(what: Any) -> bool:
    return isinstance(what, Measures)


def to_measures(what: Any) -> NamedTable:
    table: NamedTable = what._table()
    return table
