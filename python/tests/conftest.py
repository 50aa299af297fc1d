"""Data that several tests share; every test makes its own from a seed."""

import os
import signal
from pathlib import Path

# One of scikit-learn's checks is skipped otherwise; SciPy reads it when it is first imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

ROOT = Path(__file__).parents[2]
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "treeport"
BINARY = Path(os.environ.get("TREEPORT_BINARY", BUILT))


@pytest.fixture(scope="session")
def binary():
    """The command line, where it was built."""
    if not BINARY.exists():
        if "TREEPORT_TESTS_NEED_BINARY" in os.environ:
            pytest.fail(f"there is no {BINARY}; `cargo build` makes it")
        pytest.skip(f"there is no {BINARY}; `cargo build` makes it")
    return BINARY


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


@pytest.fixture(scope="session")
def options_of():
    """Returns the options that a method reads, of those given."""
    from treeport import _core

    readers = {row["name"]: row["methods"] for row in _core.fit_options()}
    return lambda method, **given: {
        name: value for name, value in given.items() if method in readers[name]
    }


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt here and in new processes; background jobs ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    # None: the handler was not installed by Python.
    if before is not None:
        signal.signal(signal.SIGINT, before)


def pytest_terminal_summary(terminalreporter):
    """Hands the reasons of skipped tests to `cargo xtask`, which shows them at its end."""
    # Processes of pytest-xdist report to the one that started them.
    if "TREEPORT_SKIPPED" in os.environ and "PYTEST_XDIST_WORKER" not in os.environ:
        with open(os.environ["TREEPORT_SKIPPED"], "a", encoding="utf-8") as file:
            for report in terminalreporter.stats.get("skipped", []):
                path, _, why = report.longrepr
                file.write(f"{os.path.relpath(path, ROOT)} ({why.removeprefix('Skipped: ')})\n")
