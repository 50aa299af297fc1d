"""Drift of the columns of a table: one test a column."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .._inputs import seed_of
from .._inputs._long_table import is_frame
from .._inputs.pandas import what_it_holds
from .._types import Axes, DataFrame, Floats, Labels, Seed, Table
from .permutations import Stopping

# Largest number of entries of a batch of permutations, and relative rounding error of a distance.
_ENTRIES, _ROUNDING = 4_000_000, 1e-9
# Random splits for each column: just enough for an adjusted p-value below 0.05.
_PER_COLUMN = 20


def feature_drift(
    before: Table,
    after: Table,
    *,
    columns: Optional[Labels] = None,
    n_resamples: Optional[int] = None,
    stop_above: Optional[float] = 0.05,
    random_state: Seed = 0,
) -> DataFrame:
    """Compares every column of two tables: how far has its distribution moved, and is it chance?

    Parameters
    ----------
    before, after : DataFrame of pandas or polars
        Tables with the same columns and any numbers of rows, such as the data of a training set and
        of today. Missing entries are left out and counted.
    columns : list, optional
        The columns to compare; all by default. Columns of text or dates are an error that names
        them.
    n_resamples : int, optional
        The largest number of random splits of each column; by default 999, or 20 for each column if
        that is more: adjusted p-values are at least the number of columns over this number.
    stop_above : float or None
        When to stop early, as for `two_sample_test`.
    random_state : int, numpy.random.Generator or None
        Determines the random splits.

    Returns
    -------
    drift : DataFrame
        One row a column, the largest `drift` first. `distance` is the Wasserstein-1 distance in the
        unit of the column, and `drift` that distance over the standard deviation before: the mean
        way of a value, in spreads. `shift` is the part of it that a difference of means explains,
        with its sign. `pvalue` is that of a permutation test, and `adjusted` the same after Holm's
        correction for the number of columns. `missing_before` and `missing_after` are shares of
        missing entries.

    See Also
    --------
    two_sample_test : The joint test of all columns, which also sees changes of their dependence.
    plot_drift : The picture.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import treeport as tp
    >>> rng = np.random.default_rng(0)
    >>> before = pd.DataFrame({"age": rng.normal(40, 10, 300), "income": rng.exponential(5, 300)})
    >>> after = pd.DataFrame({"age": rng.normal(40, 10, 200), "income": rng.exponential(9, 200)})
    >>> drift = tp.feature_drift(before, after)
    >>> drift.index.tolist(), float(drift.pvalue["income"]), bool(drift.pvalue["age"] > 0.05)
    (['income', 'age'], 0.001, True)
    """
    import pandas

    names = _columns(before, after, columns)
    each = max(999, _PER_COLUMN * len(names)) if n_resamples is None else n_resamples
    stopping = Stopping.of(each, stop_above)
    rng = np.random.default_rng(seed_of(random_state))
    rows = []
    for name in names:
        x, missing_before = _numbers(before, name, "before")
        y, missing_after = _numbers(after, name, "after")
        distance, pvalue = _tested(x, y, stopping, rng)
        largest = np.abs(x).max() or 1.0  # squares of its multiples do not overflow
        spread = float(np.std(x / largest) * largest)
        in_spreads = distance / spread if spread > 0 else (np.inf if distance > 0 else 0.0)
        shift = float(y.mean() - x.mean()) / spread if spread > 0 else np.nan
        rows.append((distance, in_spreads, shift, pvalue, missing_before, missing_after))
    titles = ["distance", "drift", "shift", "pvalue", "missing_before", "missing_after"]
    frame = pandas.DataFrame(rows, index=pandas.Index(names, name="column"), columns=titles)
    frame.insert(4, "adjusted", holm(frame.pvalue.to_numpy()))
    return frame.sort_values("drift", ascending=False, kind="stable")


def plot_drift(drift: DataFrame, ax: Optional[Axes] = None, *, most: int = 40) -> Axes:
    """Draws the result of `feature_drift`: a bar a column, dark where it is more than chance.

    Parameters
    ----------
    drift : DataFrame
        A result of `feature_drift`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    most : int
        The largest number of columns to draw.

    Returns
    -------
    ax : matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> import treeport as tp
    >>> drift = tp.feature_drift(pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"a": [2.0, 3.0]}))
    >>> tp.plot_drift(drift).get_xlabel()
    'drift, in standard deviations before'
    """
    from .._plot import axes

    shown = drift.head(most).iloc[::-1]
    ax = axes(ax, 6.0, 1.0 + 0.22 * max(len(shown), 4), "plot_drift")
    largest = shown.drift[np.isfinite(shown.drift)].max() if len(shown) else 1.0
    # A column that was constant has moved infinitely many spreads.
    lengths = np.where(np.isfinite(shown.drift), shown.drift, 1.1 * (largest or 1.0))
    colors = ["C3" if p <= 0.05 else "0.75" for p in shown.adjusted]
    ax.barh([str(name) for name in shown.index], lengths, color=colors)
    ax.set_xlabel("drift, in standard deviations before")
    ax.set_title("drift (red: adjusted p ≤ 0.05)", fontsize=10)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def holm(pvalues: Floats) -> Floats:
    """Adjusts p-values for their number, by Holm's step-down method."""
    order = np.argsort(pvalues, kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _columns(before: Any, after: Any, columns: Any) -> list[Any]:
    """Returns the columns to compare, all of which both tables have and which hold numbers."""
    for name, table in (("before", before), ("after", after)):
        if not is_frame(table) or hasattr(table, "collect"):
            raise TypeError(f"{name} is of type {type(table).__name__}; give a DataFrame")
    if isinstance(columns, str):
        raise TypeError(f"columns is the text {columns!r}; give a list")
    left, right = list(before.columns), list(after.columns)
    names = left if columns is None else list(columns)
    for what, own in (("before", left), ("after", right)):
        absent = [name for name in names if name not in own]
        if absent:
            raise ValueError(f"`{what}` has no column {absent[0]!r}")
        twice = next((name for name in names if own.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"`{what}` has two columns {twice!r}")
    if columns is None and (more := [name for name in right if name not in left]):
        raise ValueError(f"`before` has no column {more[0]!r}; `columns=` says which to compare")
    wrong = [
        (name, held)
        for name in names
        for held in (_what_it_holds(before[name]) or _what_it_holds(after[name]),)
        if held is not None
    ]
    if wrong:
        some = ", ".join(f"{name} ({held})" for name, held in wrong[:5])
        more_of_them = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        numeric = [name for name in names if name not in {one for one, _ in wrong}]
        raise ValueError(
            f"columns without numbers: {some}{more_of_them}; compare the others, `columns={numeric[:8]!r}`"
            + (", …" if len(numeric) > 8 else "")
        )
    if not names:
        raise ValueError("there are no columns to compare")
    return names


def _what_it_holds(column: Any) -> Optional[str]:
    """Describes a column without numbers; `None` for numbers."""
    if not hasattr(column, "is_null"):
        return what_it_holds(column)
    kind = column.dtype  # of polars
    if kind.is_numeric() or str(kind) in ("Boolean", "Null"):
        return None
    return "dates" if kind.is_temporal() else "text" if str(kind) == "String" else str(kind)


def _numbers(table: Any, name: Any, what: str) -> tuple[Floats, float]:
    """Returns the entries of a column that are there, and the share of those that are not."""
    column = table[name]
    if hasattr(column, "is_null"):
        values = column.cast(float).fill_null(float("nan")).to_numpy()
    else:
        values = column.astype("object").where(column.notna(), np.nan).to_numpy(np.float64)
    there = ~np.isnan(values)
    found = np.asarray(values[there], dtype=np.float64)
    if len(found) == 0:
        raise ValueError(f"column {name} of `{what}` has no entries")
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(f"column {name} of `{what}` is infinite in row {row}")
    return found, float(1 - there.mean())


def _tested(
    x: Floats, y: Floats, stopping: Stopping, rng: np.random.Generator
) -> tuple[float, float]:
    """Returns the distance of two samples on a line and the p-value of the permutation test."""
    both = np.concatenate([x, y])
    order = np.argsort(both, kind="stable")
    gaps = np.diff(both[order])
    signs = np.where(order < len(x), 1 / len(x), -1 / len(y))
    distance = float(on_line(signs[np.newaxis], gaps)[0])
    threshold = distance * (1 - _ROUNDING)
    exceeds = np.empty(0, dtype=bool)
    for batch in stopping.batches():
        at_once = max(1, _ENTRIES // len(both))
        for begin in range(0, batch, at_once):
            draws = np.tile(signs, (min(at_once, batch - begin), 1))
            rng.permuted(draws, axis=1, out=draws)
            exceeds = np.append(exceeds, on_line(draws, gaps) >= threshold)
        end = stopping.end(exceeds)
        if end is not None:
            return distance, stopping.pvalue(exceeds[:end])
    raise AssertionError("the last batch has an end")


def on_line(signs: Floats, gaps: Floats) -> Floats:
    """Computes distances on a line: the area between distribution functions, for rows of signed
    masses at sorted points."""
    return np.abs(np.cumsum(signs, axis=1)[:, :-1]) @ gaps  # type: ignore[no-any-return]
