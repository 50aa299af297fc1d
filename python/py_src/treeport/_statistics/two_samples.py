"""The permutation test of two samples by their exact distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _core
from .._clouds import Clouds
from .._ground import coordinates, geometry, with_metrics
from .._inputs import (
    check_same_columns,
    measures_of,
    row,
    seed_of,
    support,
    threads_of,
    to_points,
    width,
)
from .._progress import bar
from .._results import brief
from .._solution import Bounds
from .._types import Floats, Integers, Labels, Period, SampleLike, Seed
from .permutations import Stopping, permuted, strata_of

# Relative width of bounds that decide most comparisons: they take a quarter of the time of exact
# distances of 1,000 and 700 points in R⁵, and a random split differs from the next by 1 %.
_WIDTH = 0.02
# Relative rounding error of an exact distance: a split of the same points counts as equal.
_ROUNDING = 1e-9

_Splits = npt.NDArray[np.bool_]


@dataclass(frozen=True, repr=False)
class TwoSampleResult:
    """The result of `two_sample_test`.

    Attributes
    ----------
    statistic : float
        The exact distance between the samples.
    pvalue : float
        The share of random splits with at least that distance, the samples themselves included.
    null_distribution : ndarray
        The distances of the random splits: exact with ``exact=True``, or else the middle of
        `null_bounds`.
    null_bounds : Bounds
        Certified bounds of the distances of the random splits.
    n_resamples : int
        The number of random splits that were drawn.
    stopped : bool
        Whether drawing stopped early, because the p-value was sure to be above `stop_above`.
    """

    statistic: float
    pvalue: float
    null_distribution: Floats
    null_bounds: Bounds
    n_resamples: int
    stopped: bool

    def __repr__(self) -> str:
        return brief(self)


@with_metrics
def two_sample_test(
    x: SampleLike,
    y: SampleLike,
    *,
    paired: bool = False,
    strata: Optional[tuple[Labels, Labels]] = None,
    metric: str = "euclidean",
    period: Optional[Period] = None,
    n_resamples: int = 999,
    stop_above: Optional[float] = 0.05,
    exact: bool = False,
    random_state: Seed = 0,
    n_jobs: Optional[int] = None,
    verbose: bool = False,
) -> TwoSampleResult:
    """Tests whether two samples come from one distribution, by permutations of their points.

    The statistic is the exact transport distance between the samples. Even two samples of one
    distribution have a positive distance, which says little by itself; so it is compared with the
    distances of random splits of all points. Every comparison is decided by certified bounds, or
    by exact distances where bounds do not decide it. The test has the right size for samples of any
    sizes: under exchangeability ``pvalue <= α`` has probability α at most.

    Parameters
    ----------
    x, y : array-like, DataFrame, tensor, Clouds or tuple (masses, points)
        The samples: rows are points, of any number; one axis is points on a line. The columns of
        two DataFrames have to be the same. A sample with masses is a tuple, or Clouds with one
        cloud; masses count relative to their mean in the sample, and stay with their points.
    paired : bool
        Whether row i of `x` belongs to row i of `y`, such as before and after. Random splits then
        swap the two of a pair or leave them. If pairs lie much farther from each other than their
        two rows do, every split is about as far apart, and the test finds nothing: test the
        differences of rows instead.
    strata : tuple of two sequences, optional
        The stratum of each row of `x` and of `y`, such as the batch in which it was measured.
        Random splits keep the number of rows of each stratum in each sample.
    metric : {metrics}
        The distance between two points. Coordinates count as they are, so bring columns of
        different units to one scale.
    period : float or sequence, optional
        The period of coordinates that wrap around, as for `emd`.
    n_resamples : int
        The largest number of random splits. With b splits that are at least as far apart, the
        p-value is ``(b + 1) / (n_resamples + 1)``.
    stop_above : float or None
        Stop as soon as the p-value is sure to be above this (Besag and Clifford, 1991): with h
        such splits among the first l it is ``h / l``, and the test remains valid. `None`: draw all.
    exact : bool
        Whether to compute the exact distance of every random split, which takes about four times as
        long. The p-value does not change.
    random_state : int, numpy.random.Generator or None
        Determines the random splits.
    n_jobs : int, optional
        Threads; `None` and -1 mean all processors. The result is the same for any number.
    verbose : bool
        Whether to show a progress bar on stderr.

    Returns
    -------
    result : TwoSampleResult
        With `statistic`, `pvalue` and `null_distribution`, as the results of SciPy's tests.

    See Also
    --------
    group_test : Differences between groups of clouds or measures, by a table of distances.
    feature_drift : One test for each column of two DataFrames.

    Examples
    --------
    >>> import numpy as np
    >>> import treeport as tp
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    >>> tp.two_sample_test(x, y + 1.0).pvalue
    0.001
    >>> same = tp.two_sample_test(x, y)
    >>> same.pvalue > 0.05, same.stopped, same.n_resamples < 999
    (True, True, True)
    """
    stopping = Stopping.of(n_resamples, stop_above)
    check_columns(x, y)
    (left, at_left), (right, at_right) = sample_of(x, "x"), sample_of(y, "y")
    if at_left.shape[1] != at_right.shape[1]:
        raise ValueError(
            f"the points of x have {at_left.shape[1]} coordinates, those of y {at_right.shape[1]}; the numbers have to be equal"
        )
    sizes = len(at_left), len(at_right)
    groups = _strata(strata, sizes, paired)
    masses = np.concatenate([left, right])
    points = np.concatenate([at_left, at_right])
    ground = _core.Ground.from_points(points, geometry(metric, period))
    rng = np.random.default_rng(seed_of(random_state))
    threads = threads_of(n_jobs)
    own = np.arange(len(points))[np.newaxis] < sizes[0]
    with bar("two-sample test", verbose) as report:
        statistic = float(_solved(ground, masses, own, threads, None)[1][0])
        decided = _Judged(ground, masses, statistic, threads, exact)
        lower, upper = np.empty(0), np.empty(0)
        end = None
        for splits in _splits(rng, sizes, groups, paired, stopping):
            low, high = decided(splits)
            lower, upper = np.concatenate([lower, low]), np.concatenate([upper, high])
            exceeds = lower >= decided.threshold
            end = stopping.end(exceeds)
            if report is not None:
                report("two-sample test", len(lower), stopping.n_resamples)
            if end is not None:
                break
    lower, upper = lower[:end], upper[:end]
    return TwoSampleResult(
        statistic,
        stopping.pvalue(lower >= decided.threshold),
        (lower + upper) / 2,
        Bounds(lower, upper),
        len(lower),
        len(lower) < stopping.n_resamples,
    )


def check_columns(x: Any, y: Any) -> None:
    """Raises an error for two frames with different columns."""
    if hasattr(x, "columns") and hasattr(y, "columns"):
        check_same_columns(x, y)


def sample_of(sample: Any, name: str) -> tuple[Floats, Floats]:
    """Parses a sample into masses, 1 on average, and rows of coordinates."""
    if isinstance(sample, Clouds):
        if len(sample) != 1:
            raise ValueError(
                f"{name} are {len(sample)} clouds, and a sample is one; give `clouds[[0]]`, or compare groups of clouds "
                "by `group_test`"
            )
        masses, points = sample[0]
    elif isinstance(sample, tuple):
        if len(sample) != 2:
            raise ValueError(f"{name} is a tuple of {len(sample)}; give (masses, points)")
        points = coordinates(sample[1])
        masses = np.full(len(points), 1.0) if sample[0] is None else _dense(sample[0])
    else:
        points = _coordinates(sample, name)
        masses = np.full(len(points), 1.0)
    if len(masses) != len(points):
        raise ValueError(
            f"{name} has {len(masses)} masses and {len(points)} points; there has to be one for each"
        )
    if len(points) == 0:
        raise ValueError(f"{name} has no points")
    bad = np.argwhere(~np.isfinite(points))
    if len(bad):
        at, axis = (int(place) for place in bad[0])
        columns = None if isinstance(sample, (Clouds, tuple)) else to_points(sample).columns
        where = f"coordinate {axis}" if columns is None else f"column {list(columns)[axis]}"
        raise ValueError(
            f"{name} has {points[at, axis]} in row {at}, {where}; fill it or leave it out first"
        )
    if not (np.isfinite(masses) & (masses >= 0)).all() or masses.sum() <= 0:
        raise ValueError(f"the masses of {name} must be finite and at least 0, and not all 0")
    # A point keeps its mass when it changes sides, and the unit must not depend on the side.
    return masses / masses.mean(), np.ascontiguousarray(points)


def _coordinates(sample: Any, name: str) -> Floats:
    try:
        return coordinates(sample)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is no table of numbers: {error}") from error


def _dense(masses: Any) -> Floats:
    found = row(masses)
    whole = np.zeros(width(found))
    places, values = support(found)
    whole[places] = values
    return whole


def _strata(strata: Any, sizes: tuple[int, int], paired: bool) -> Integers:
    """Returns the stratum of every point of both samples."""
    if paired:
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"paired samples have as many rows, and x has {sizes[0]}, y {sizes[1]}"
            )
        if strata is not None:
            raise ValueError("pairs are strata of two rows already; leave out `strata`")
    if strata is None:
        return strata_of(None, sum(sizes), "points")
    if not isinstance(strata, (tuple, list)) or len(strata) != 2:
        raise ValueError("strata are two sequences: the labels of the rows of x, and those of y")
    for name, labels, size in zip("xy", strata, sizes):
        if len(labels) != size:
            raise ValueError(f"there are {len(labels)} strata for the {size} rows of {name}")
    both = np.empty(sum(sizes), dtype=object)
    both[:] = [*strata[0], *strata[1]]
    found = strata_of(both, sum(sizes), "points")
    first, second = set(found[: sizes[0]].tolist()), set(found[sizes[0] :].tolist())
    if not first & second:
        raise ValueError(
            "x and y have no stratum in common, so that no split differs from the samples; samples "
            "of different batches cannot be told from the batches"
        )
    return found


def _splits(
    rng: np.random.Generator,
    sizes: tuple[int, int],
    strata: Integers,
    paired: bool,
    stopping: Stopping,
) -> Iterator[_Splits]:
    """Yields batches of random splits: which points are in the first sample."""
    first = sizes[0]
    for count in stopping.batches():
        if paired:
            stays = rng.random((count, first)) < 0.5
            yield np.concatenate([stays, ~stays], axis=1)
        else:
            yield permuted(rng, count, strata) < first


class _Judged:
    """Decides for splits whether they are at least as far apart as the samples."""

    def __init__(
        self, ground: _core.Ground, masses: Floats, statistic: float, threads: int, exact: bool
    ) -> None:
        self.ground, self.masses, self.threads, self.exact = ground, masses, threads, exact
        self.threshold = statistic * (1 - _ROUNDING)

    def __call__(self, splits: _Splits) -> tuple[Floats, Floats]:
        """Returns bounds on one side of the threshold for every split: `lower` reaches it or
        `upper` is below."""
        accuracy = None if self.exact else _WIDTH
        lower, upper = _solved(self.ground, self.masses, splits, self.threads, accuracy)
        open_ = np.flatnonzero((lower < self.threshold) & (upper >= self.threshold))
        if len(open_):
            values = _solved(self.ground, self.masses, splits[open_], self.threads, None)[1]
            lower[open_] = upper[open_] = values
        return lower, upper


def _solved(
    ground: _core.Ground, masses: Floats, splits: _Splits, threads: int, accuracy: Optional[float]
) -> tuple[Floats, Floats]:
    """Computes bounds of the distances between the two sides of every split; without an accuracy
    both are the exact values."""
    sides = np.stack([splits, ~splits], axis=1).reshape(-1, len(masses))
    if (masses == masses[0]).all():
        places = np.nonzero(sides)[1]
        each = np.count_nonzero(sides, axis=1)
        values = np.repeat(1 / each, each)
    else:
        weighted = np.where(sides, masses, 0.0)
        totals = weighted.sum(axis=1)
        if (totals == 0).any():
            raise ValueError(
                "a random split has no mass on one side; leave out points without mass"
            )
        weighted /= totals[:, np.newaxis]
        places, each = np.nonzero(weighted)[1], np.count_nonzero(weighted, axis=1)
        values = weighted[weighted > 0]
    starts = np.concatenate([[0], np.cumsum(each)])
    rows = measures_of(sparse.csr_array((values, places, starts), shape=sides.shape))
    pairs = np.arange(len(sides), dtype=np.int64).reshape(-1, 2)
    lower, upper = _core.emd_pairs(ground, rows, pairs, threads, accuracy=accuracy)
    return (upper.copy() if lower is None else lower), upper
