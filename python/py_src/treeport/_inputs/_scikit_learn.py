"""Validation of rows with the checks of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from . import pandas
from ._adapters import to_measures
from ._measures import Measures, measures_of, refuse_lists
from ._numbers import array_of, is_sparse
from ._table import NamedTable, texts


def rows_of(
    estimator: Any, X: Any, names: Optional[Sequence[Any]], reset: bool, least: int = 1
) -> Any:
    """Validates at least `least` rows as scikit-learn does, and matches named columns to points.

    `Measures` are returned as `Measures`, because they were validated on construction."""
    if isinstance(X, Measures):
        return _measures(estimator, X, names, reset, least)
    refuse_lists(X)
    own = to_measures(X)
    if pandas.is_mine(X) and names is None:  # scikit-learn reads names of DataFrames itself
        known = reset or hasattr(estimator, "feature_names_in_")
        rows = _validated(estimator, X if known else np.asarray(X), reset, least)
    else:
        rows = _by_name(estimator, own, names, reset, least)
    masses = rows.data if is_sparse(rows) else rows
    if masses.size and masses.min() < 0:
        try:
            measures_of(rows)
        except ValueError as error:
            # The prefix is that of scikit-learn's own estimators; the rest gives the position.
            raise ValueError(f"Negative values in data: {error}") from None
    return rows


def _validated(estimator: Any, X: Any, reset: bool, least: int) -> Any:
    return validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least
    )


def _by_name(
    estimator: Any, own: NamedTable, names: Optional[Sequence[Any]], reset: bool, least: int
) -> Any:
    """Validates rows and matches their columns to points by name."""
    called = _called(estimator, own, names, reset)
    if called is None:
        return _validated(estimator, own.values, reset, least)
    rows = own.in_order(called)
    rows = rows if is_sparse(rows) else array_of(rows)
    if not reset:
        return check_array(rows, accept_sparse="csr", dtype=np.float64, ensure_min_samples=least)
    rows = _validated(estimator, rows, reset, least)
    estimator.feature_names_in_ = np.array(called, dtype=object)
    return rows


def _called(
    estimator: Any, own: NamedTable, names: Optional[Sequence[Any]], reset: bool
) -> Optional[list[str]]:
    """Returns the names of the points if the columns of a table can be matched to them."""
    if names is None and not reset:
        names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return own.names
    wanted = texts(names)
    return None if own.called(wanted) is None else wanted


def _measures(
    estimator: Any, X: Measures, names: Optional[Sequence[Any]], reset: bool, least: int
) -> Measures:
    """Places `Measures` on points of these names, and sets the attributes scikit-learn requires."""
    if len(X) < least:
        raise ValueError(
            f"Found array with {len(X)} sample(s) while a minimum of {least} is required."
        )
    called = _called(estimator, X._table(), names, reset)
    placed = X._in_order(called)
    if reset or called is None:
        validate_data(estimator, placed, reset=reset, skip_check_array=True)
    if reset and called is not None:
        estimator.feature_names_in_ = np.array(called, dtype=object)
    return placed


def with_mass(X: Any) -> Any:
    """Returns the rows that have mass, or raises an error if fewer than two do."""
    if isinstance(X, Measures):
        return X
    kept = np.asarray(X.sum(axis=1)).ravel() > 0
    if np.count_nonzero(kept) < 2:
        raise ValueError(f"{np.count_nonzero(kept)} rows have mass; a pair needs two")
    return X if kept.all() else X[kept]
