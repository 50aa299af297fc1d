"""`Clouds`, which have points of their own and therefore no table of masses; what needs one says so."""

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
    """What the clouds are called; numbers there are none."""
    return NamedTable(_refuse, what.ids)


def _refuse() -> NoReturn:
    raise TypeError(WITHOUT_TABLE)
