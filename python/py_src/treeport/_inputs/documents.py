"""Adapter of `Texts`, which are measures on words and the points of these words."""

from __future__ import annotations

from typing import Any

from ._adapters import to_points as points_of
from ._table import NamedTable


def is_mine(what: Any) -> bool:
    from .._texts.documents import Texts

    return isinstance(what, Texts)


def to_measures(what: Any) -> NamedTable:
    table: NamedTable = what.measures._table()
    return table


def to_points(what: Any) -> NamedTable:
    return points_of(what.points)
