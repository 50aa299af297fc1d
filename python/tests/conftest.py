"""Data that several tests share; every test makes its own from a seed."""

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
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


# A loop up to an argument, as our kernels have it.
LOOP = """
import torch
import triton
import triton.language as tl

@triton.jit
def add(out, count):
    total = tl.zeros((4,), dtype=tl.float32)
    for _ in range(1, count):
        total += 1.0
    tl.store(out + tl.arange(0, 4), total)

out = torch.zeros(4)
add[(1,)](out, 3)
assert out.tolist() == [2.0] * 4
"""


@pytest.fixture(scope="session")
def interpreted(tmp_path_factory):
    """Runs a script whose kernels Triton's interpreter runs without a GPU: in a process of its own, because the interpreter is
    chosen when kernels are defined."""
    if find_spec("torch") is None or find_spec("triton") is None:
        pytest.skip("needs PyTorch and Triton")
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    loop = tmp_path_factory.mktemp("triton") / "loop.py"
    loop.write_text(LOOP)
    ended = subprocess.run([sys.executable, loop], env=environment, capture_output=True, text=True, timeout=300)
    if ended.returncode:  # as that of Triton 3.6 with NumPy 2.5
        pytest.skip(f"Triton's interpreter fails at a plain loop: {ended.stderr.strip().rpartition(chr(10))[2]}")
    return lambda script: subprocess.run([sys.executable, "-c", script], check=True, env=environment)


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


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, here and in new processes: background jobs of shells ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    # None: somebody who is not Python listens.
    if before is not None:
        signal.signal(signal.SIGINT, before)


def pytest_terminal_summary(terminalreporter):
    """Hands the reasons of skipped tests to `cargo xtask`, which shows them at its end."""
    if "TREEPORT_SKIPPED" in os.environ:
        with open(os.environ["TREEPORT_SKIPPED"], "a", encoding="utf-8") as file:
            for report in terminalreporter.stats.get("skipped", []):
                path, _, why = report.longrepr
                file.write(f"{os.path.relpath(path, ROOT)} ({why.removeprefix('Skipped: ')})\n")
