"""Data that several tests share; every test makes its own from a seed."""

import os

# One of scikit-learn's checks is skipped otherwise; SciPy reads it when it is first imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def words(rng):
    """Points in the plane."""
    return rng.normal(size=(25, 2))


@pytest.fixture
def documents(rng):
    """Counts on the words, no row empty."""
    counts = rng.poisson(0.4, size=(60, 25))
    counts[np.arange(60), rng.integers(25, size=60)] += 1
    return counts
