"""Permutation tests: random labels, and p-values that stay valid if drawing stops early."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from .._types import Integers

# Permutations that are drawn and judged together; results do not depend on threads.
BATCH = 64


class Stopping(NamedTuple):
    """Number of permutations, and number of exceedances after which no more are drawn."""

    n_resamples: int
    most: int

    @classmethod
    def of(cls, n_resamples: Any, stop_above: Optional[float]) -> Stopping:
        """Validates the parameters of a test.

        All permutations together give p = (b + 1) / (n + 1) for b exceedances. From `most` on that
        is above `stop_above`, whatever the rest would show."""
        if isinstance(n_resamples, bool) or n_resamples != int(n_resamples) or n_resamples < 1:
            raise ValueError(f"n_resamples is {n_resamples}; at least one permutation is needed")
        count = int(n_resamples)
        if stop_above is None:
            return cls(count, count + 1)
        if not 0 < stop_above < 1:
            raise ValueError(f"stop_above is {stop_above}; it must be None or between 0 and 1")
        # A share such as 0.29 * 100 may be rounded down from a whole number.
        return cls(count, max(1, int(np.floor(stop_above * (count + 1) * (1 + 1e-12)))))

    def batches(self) -> Iterator[int]:
        """Yields the sizes of batches."""
        for begin in range(0, self.n_resamples, BATCH):
            yield min(BATCH, self.n_resamples - begin)

    def end(self, exceeds: npt.NDArray[np.bool_]) -> Optional[int]:
        """Returns the number of permutations after which drawing stops; `None` to go on."""
        reached = np.flatnonzero(np.cumsum(exceeds) >= self.most)
        if len(reached):
            return int(reached[0]) + 1
        return self.n_resamples if len(exceeds) >= self.n_resamples else None

    def pvalue(self, exceeds: npt.NDArray[np.bool_]) -> float:
        """Returns the p-value of all permutations until the `end`.

        With h exceedances among l permutations, the last one among them, h / l is valid (Besag and
        Clifford, "Sequential Monte Carlo p-values", Biometrika 1991): it is at most α only if the
        statistic is among the h largest of l exchangeable values."""
        count, drawn = int(np.count_nonzero(exceeds)), len(exceeds)
        whole = (count + 1) / (self.n_resamples + 1)
        return whole if count < self.most else max(count / drawn, whole)


def strata_of(strata: Any, size: int, what: str) -> Integers:
    """Returns the number of the stratum of every item; one stratum if there are none given."""
    if strata is None:
        return np.zeros(size, dtype=np.int64)
    labels = np.asarray(strata)
    if labels.shape != (size,):
        raise ValueError(f"strata have shape {labels.shape}, and there are {size} {what}")
    numbers: Integers = numbered(labels, "strata")[1]
    return numbers


def numbered(labels: Any, what: str) -> tuple[list[Any], Integers]:
    """Returns the distinct labels in order of appearance, and the number of each entry's label."""
    place: dict[Any, int] = {}
    numbers = np.empty(len(labels), dtype=np.int64)
    for at, label in enumerate(labels):
        if label is None or label != label:
            raise ValueError(f"{what} have no label at position {at}")
        numbers[at] = place.setdefault(label, len(place))
    return list(place), numbers


def permuted(rng: np.random.Generator, count: int, strata: Integers) -> Integers:
    """Draws permutations of positions, one a row, that keep every stratum in place."""
    orders = np.tile(np.arange(len(strata)), (count, 1))
    for stratum in range(int(strata.max(initial=-1)) + 1):
        own = np.flatnonzero(strata == stratum)
        if len(own) > 1:
            orders[:, own] = rng.permuted(np.tile(own, (count, 1)), axis=1)
    return orders
