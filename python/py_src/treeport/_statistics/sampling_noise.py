"""Distances of clouds without the part that sampling causes.

Let D be the distance of two samples of sizes n and m, and h the distance that two samples of these
sizes have if their populations are equal. Sampling displaces matched points at random, a true
difference W displaces them in one direction, and D is the mean length of the sum. With normal
displacements in d dimensions D / h = ₁F₁(-1/2; d/2; -W² / 2σ²), the mean of a noncentral χ, where σ
gives h for W = 0. In many dimensions that is D² = W² + h²; on a line noise vanishes where the
difference is large.

A difference may move a part of the mass only. So D and h are not means over the whole plan: the
moves of a plan are sorted by length into bins of equal mass, the relation is solved for W in each
bin, with the same bin of the splits for h, and the result is the mean of all W.

h comes from splits of each cloud in the ratio n : m. A split of a cloud of N points has samples of
N/(n + m) times these sizes; the step from splits to splits of half as many points gives the
exponent by which h follows the size, and with it h at the sizes n and m.

# What was tried
Shifted normals in R¹ to R³⁰ and mixtures with other weights, 100 to 1,000 points, mean errors:

- *the relation between the means D and h*, without bins: the same on normals, but +0.52 for D's
  +1.07 where a third of the mass moves between clusters in R³⁰, where bins have +0.12;
- *D − h* is right for equal populations, and wrong for different ones: -0.92 for D's +0.16 in R⁵
  at a shift of 3, because a shift that is larger than h hides the noise;
- *√(D² − h²)*: -0.07 in R⁵ at shifts of 1 and 3, because noise along the shift does not count;
- *a fitted exponent p of Dᵖ − hᵖ*, from distances of halves: +1.3 for the root's +0.05 in R³⁰;
- *extrapolation of D itself from halves*, as by Richardson: -1.4 for -0.06 in R³⁰.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gamma, hyp1f1, ndtri

from .. import _core
from .._inputs import measures_of
from .._results import brief
from .._types import Distances, Floats, Integers

# Random splits of each cloud for each pair.
_SPLITS = 4
# Largest exponent of the sample size: 1/2 on a line.
_MOST_EXPONENT = 0.6
# Bins of equal mass of the moves of a plan.
_BINS = 64
# Most points of the measures that are solved together.
_BATCH = 4_000_000


class CorrectedDistances(NamedTuple):
    """Distances of clouds without the part that sampling causes, as by ``correct="sampling"``.

    Attributes
    ----------
    value : ndarray or DataFrame
        The corrected distances, negative where the distance is smaller than sampling alone makes
        it.
    lower, upper : ndarray or DataFrame
        Approximate 95 % intervals of the true distances.
    uncorrected : ndarray or DataFrame
        The exact distances of the samples.
    noise : ndarray or DataFrame
        The distances that two samples of these sizes have if their populations are equal.
    """

    value: Distances
    lower: Distances
    upper: Distances
    uncorrected: Distances
    noise: Distances

    def __repr__(self) -> str:
        return brief(self)

    def each(self, function: Any) -> CorrectedDistances:
        """Returns the tables with a function applied to each."""
        return CorrectedDistances(*map(function, self))


class _Sample(NamedTuple):
    """Points of one cloud on the ground, with their masses."""

    points: Integers
    masses: Floats

    def part(self, which: Integers) -> _Sample:
        return _Sample(self.points[which], self.masses[which])


class _Jobs:
    """Problems between samples, solved together."""

    def __init__(self) -> None:
        self.samples: list[_Sample] = []

    def __len__(self) -> int:
        return len(self.samples) // 2

    def add(self, left: _Sample, right: _Sample) -> int:
        """Adds a problem and returns its number."""
        self.samples += [left, right]
        return len(self) - 1

    def points(self) -> int:
        return sum(len(one.points) for one in self.samples)

    def solved(self, ground: _core.Ground, threads: int, report: Any) -> Floats:
        starts = np.concatenate([[0], np.cumsum([len(one.points) for one in self.samples])])
        places = np.concatenate([one.points for one in self.samples])
        masses = np.concatenate([one.masses / one.masses.sum() for one in self.samples])
        shape = (len(self.samples), int(places.max()) + 1)
        rows = sparse.csr_array((masses, places, starts), shape=shape)
        # Points of a sample are in random order.
        rows.sort_indices()
        rows.resize((shape[0], ground.points))
        pairs = np.arange(len(self.samples), dtype=np.int64).reshape(-1, 2)
        found = _core.plan_lengths(ground, measures_of(rows), pairs, threads, _BINS, report)
        return found.reshape(-1, _BINS)


class _Pair:
    """The problems of one pair of clouds, by their numbers among the jobs."""

    def __init__(
        self, left: _Sample, right: _Sample, jobs: _Jobs, rng: np.random.Generator
    ) -> None:
        self.sizes = np.array([len(left.points), len(right.points)])
        self.whole = jobs.add(left, right)
        self.halves: list[list[int]] = []
        self.splits: tuple[list[int], list[int]] = ([], [])
        self.smaller: tuple[list[int], list[int]] = ([], [])
        share = self.sizes[0] / self.sizes.sum()
        for _ in range(_SPLITS):
            a, b = _cut(left, 0.5, rng), _cut(right, 0.5, rng)
            if min(self.sizes) > 1:
                self.halves.append([jobs.add(one, other) for one in a for other in b])
            for side, cloud in enumerate((left, right)):
                first, second = _cut(cloud, share, rng)
                if min(len(first.points), len(second.points)) == 0:
                    continue
                self.splits[side].append(jobs.add(first, second))
                halves = _cut(first, 0.5, rng), _cut(second, 0.5, rng)
                for one, other in zip(*halves):
                    if min(len(one.points), len(other.points)):
                        self.smaller[side].append(jobs.add(one, other))

    def noise(self, lengths: Floats) -> tuple[Floats, float, float]:
        """Returns h of every bin at the sizes of the pair, the variance of its mean, and the
        exponent of the sizes."""
        values = lengths.mean(axis=1)
        means, variances, exponents, weights = [], [], [], []
        for side, size in enumerate(self.sizes):
            if not self.splits[side]:
                continue
            found = values[self.splits[side]]
            exponent = 0.0
            if self.smaller[side] and found.mean() > 0:
                ratio = values[self.smaller[side]].mean() / found.mean()
                exponent = float(np.clip(np.log2(max(ratio, 1.0)), 0.0, _MOST_EXPONENT))
            scale = (size / self.sizes.sum()) ** exponent
            means.append(lengths[self.splits[side]].mean(axis=0) * scale)
            spread = found.var(ddof=1) if len(found) > 1 else 0.0
            variances.append(spread / len(found) * scale**2)
            exponents.append(exponent)
            weights.append(float(size))
        if not means:
            return np.full(_BINS, np.nan), np.nan, np.nan
        shares = np.array(weights) / np.sum(weights)
        return shares @ np.array(means), float(shares**2 @ variances), float(shares @ exponents)

    def variance(self, values: Floats) -> float:
        """Returns the variance of the distance of the whole samples.

        Two halves of a sample of n points differ by a random sum whose variance is four times that
        of the whole sample."""
        if not self.halves:
            return np.nan
        square = values[np.array(self.halves)].reshape(-1, 2, 2)
        by_left = square.mean(axis=2)[:, 0] - square.mean(axis=2)[:, 1]
        by_right = square.mean(axis=1)[:, 0] - square.mean(axis=1)[:, 1]
        return float(np.mean(by_left**2 + by_right**2)) / 4


def corrected(
    ground: _core.Ground,
    measures: _core.Measures,
    pairs: Integers,
    dim: int,
    threads: int,
    report: Any = None,
    confidence: float = 0.95,
) -> CorrectedDistances:
    """Corrects the distances of pairs of measures, each with its own points of the ground."""
    starts, places, masses, _ = measures.compressed()
    totals = np.add.reduceat(masses, starts[:-1])

    def sample(at: int) -> _Sample:
        own = slice(starts[at], starts[at + 1])
        return _Sample(places[own], masses[own])

    found = np.empty((5, len(pairs)))
    jobs = _Jobs()
    waiting: list[tuple[int, _Pair]] = []

    def solve() -> None:
        values = jobs.solved(ground, threads, report)
        for number, pair in waiting:
            found[:, number] = _corrected(pair, values, dim, confidence) * totals[pairs[number, 0]]

    for number, (i, j) in enumerate(pairs):
        # A pair has the same splits in every batch and every order of a list.
        rng = np.random.default_rng([min(i, j), max(i, j)])
        if i == j:
            found[:, number] = 0.0
            continue
        first, second = (sample(int(one)) for one in (min(i, j), max(i, j)))
        waiting.append((number, _Pair(first, second, jobs, rng)))
        if jobs.points() > _BATCH:
            solve()
            jobs, waiting = _Jobs(), []
    if waiting:
        solve()
    return CorrectedDistances(*found)


def _corrected(pair: _Pair, lengths: Floats, dim: int, confidence: float) -> Floats:
    """Returns the corrected distance, its interval, the distance and the noise of one pair."""
    moves, (noise, variance, exponent) = lengths[pair.whole], pair.noise(lengths)
    distance, level = moves.mean(), noise.mean()
    if np.isnan(level):  # a cloud of one point has no splits
        return np.array([np.nan, np.nan, np.nan, distance, np.nan])
    # Points on a curve in space have noise along the curve.
    dim = max(1, min(dim, round(1 / max(exponent, 1 / dim))))
    error = ndtri((1 + confidence) / 2) * np.sqrt(pair.variance(lengths.mean(axis=1)) + variance)
    value, lower, upper = (
        without_noise(moves + change, noise, dim).mean() for change in (0.0, -error, error)
    )
    # No true distance is negative.
    return np.array([value, lower, max(upper, 0.0), distance, level])


def without_noise(lengths: Floats, noise: Floats, dim: int) -> Floats:
    """Returns the differences W that noise lengthens to these lengths: the inverse of the mean of χ.

    Lengths below the noise mirror those above it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(lengths - noise) / noise + 1
        # Where the table ends, the series of the mean has two terms.
        far = np.sqrt(np.maximum(ratio**2 - _along(dim), 0.0))
        found = np.where(ratio > _FARTHEST, far, np.sqrt(np.interp(ratio, *_inverse(dim)))) * noise
    return np.where(noise > 0, np.copysign(found, lengths - noise), lengths)


# Dimensions above which D² = W² + h² up to 1 %, and SciPy's ₁F₁ overflows.
_MANY = 50
# Ratio of length and noise up to which the inverse of the mean is tabulated.
_FARTHEST = 8.0


@lru_cache(maxsize=16)
def _inverse(dim: int) -> tuple[Floats, Floats]:
    """Returns ratios of length and noise, and the squares of W / noise that cause them."""
    squares = np.concatenate([[0.0], np.geomspace(1e-8, _FARTHEST**2, 4000)])
    if dim > _MANY:
        return np.sqrt(1 + squares), squares
    # W² / 2σ² for noise of mean 1.
    half = squares * _mean(dim) ** 2
    return hyp1f1(-0.5, dim / 2, -half), squares


def _mean(dim: int) -> float:
    """Returns the mean length of normal noise in units of √2 σ."""
    return float(gamma((dim + 1) / 2) / gamma(dim / 2) if dim <= _MANY else np.sqrt(dim / 2))


def _along(dim: int) -> float:
    """Returns the share of squared noise across a direction, over the squared mean length."""
    return (dim - 1) / (2 * _mean(dim) ** 2)


def _cut(sample: _Sample, share: float, rng: np.random.Generator) -> Sequence[_Sample]:
    """Splits a sample at random into a share of its points and the rest."""
    order = rng.permutation(len(sample.points))
    at = round(share * len(order))
    parts: list[npt.NDArray[Any]] = [order[:at], order[at:]]
    return [sample.part(np.asarray(part)) for part in parts]
