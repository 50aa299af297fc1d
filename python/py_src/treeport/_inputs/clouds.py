"""Adapter of `Clouds`, which have IDs but no table of masses on shared points."""

from __future__ import annotations

from typing import Any, NoReturn

from ._table import NamedTable

WITHOUT_TABLE = (
    "Clouds bring their own points, and this takes measures on points that all share (rows of masses, or `Measures`); "
    "`emd_pairs` and `emd_pairwise` take Clouds, and `clouds.points` are all their points"
)


def is_mine(what: Any) -> bool:
    from .._clouds import Clouds

    return isinstance(what, Clouds)


def to_measures(what: Any) -> NamedTable:
    """Returns a table with the IDs of clouds; reading its numbers raises an error."""
    return NamedTable(_refuse, what.ids)


def _refuse() -> NoReturn:
    raise TypeError(WITHOUT_TABLE)
