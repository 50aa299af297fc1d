"""Kernels of devices beside their twins in NumPy, by Triton's interpreter: `cargo xtask device-tests`."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

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


def run(script):
    """Runs a script in a process of its own, because the interpreter is chosen when kernels are defined."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def interpreted():
    """Runs a script whose kernels Triton's interpreter runs without a GPU."""

    def unless_needed(why):
        # `cargo xtask device-tests` is about nothing else.
        (pytest.fail if "TREEPORT_TESTS_NEED_KERNELS" in os.environ else pytest.skip)(why)

    if find_spec("torch") is None or find_spec("triton") is None:
        unless_needed("needs PyTorch and Triton")
    ended = run(LOOP)
    if ended.returncode:  # as that of Triton 3.6 with NumPy 2.5
        unless_needed(
            f"Triton's interpreter fails at a plain loop: {ended.stderr.strip().rpartition(chr(10))[2]}"
        )

    def check(script):
        ended = run(script)
        assert ended.returncode == 0, ended.stderr

    return check


def test_searches_of_large_problems_are_those_of_the_twin(interpreted):
    script = """
import contextlib
import numpy as np
import torch
from treeport._devices import scans, scans_cuda

class OnHost(scans_cuda.CudaScanEngine):
    def __init__(self):
        scans.ScanEngine.__init__(self)
        self.device = torch.device("cpu")

    def current(self):
        return contextlib.nullcontext()

rng = np.random.default_rng(0)
for formula in ("length", "square", "absolutes", "largest"):
    for n, m, dim, most in ((40, 500, 3, 4), (150, 600, 7, 8), (10, 50, 2, 32), (5, 2, 1, 3)):
        x, y = (rng.normal(size=(size, dim)).astype(np.float32) for size in (n, m))
        prices, rows = rng.normal(size=m).astype(np.float32), rng.permutation(n)[: n // 2]
        found = []
        for engine in (scans.ScanEngine(), OnHost()):
            source, target = engine.keep(x), engine.keep(y)
            found.append(engine.nearest(formula, source, rows, target, prices, most, 0.05))
        for ours, theirs in zip(*found):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
"""
    interpreted(script)


def test_bounds_of_pairs_are_those_of_the_twin(interpreted):
    script = """
import numpy as np, torch
from treeport._devices import pair_bounds, pair_bounds_cuda
from treeport._devices.pair_bounds import MeasureRows, PairBoundEngine

class Interpreted(pair_bounds_cuda.CudaPairBoundEngine):
    def __init__(self):
        self.device = torch.device("cpu")

torch.cuda.device = __import__("contextlib").nullcontext
rng = np.random.default_rng(1)
for formula, triangles in (("length", True), ("square", False), ("absolutes", True), ("largest", True)):
    points = rng.normal(size=(150, 3)).astype(np.float32)
    def rows(sizes):
        places = [np.sort(rng.choice(150, size, replace=False)) for size in sizes]
        masses = [10.0 ** rng.uniform(-8, 0, size) for size in sizes]
        start = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.concatenate([mass / max(mass.sum(), 1e-300) for mass in masses])
        return MeasureRows(start, np.concatenate(places).astype(int), shares, np.ones(len(sizes)))
    collection, queries = rows([1, 20, 0, 33, 70, 130]), rows([1, 5, 0, 40, 129])
    found = []
    for engine in (PairBoundEngine(), Interpreted()):
        engine.lay_out(points, formula, triangles, 1e-6)
        engine.begin(queries, engine.keep(collection))
        found.append(np.maximum(engine.bounds(*np.indices((5, 6)).reshape(2, -1)), 0))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=2e-3 * found[0].max())
"""
    interpreted(script)


def test_tables_of_trees_are_those_of_the_twin(interpreted):
    script = """
import contextlib
import numpy as np
import torch
import treeport as tp
from treeport._devices import tables, tables_cuda

class OnHost(tables_cuda.CudaTableEngine):
    block = 256

    def __init__(self):
        self.device = torch.device("cpu")

    def current(self):
        return contextlib.nullcontext()

    def write(self, tile, out):
        return super().write(tile, torch.from_numpy(out))

rng = np.random.default_rng(2)
tree = tp.linkage(points=rng.normal(size=(90, 3)))
def rows(count, support):
    masses = rng.random((count, 90)) * (rng.random((count, 90)).argsort(axis=1) < support)
    masses /= masses.sum(axis=1, keepdims=True)
    return tables.SparseRows(*tree._raw.embed(tree._measures(masses), 0)[:3])
for frequent in (-1.0, 0.012, 2.0):  # all columns dense, some, and none
    for left, right in ((rows(14, 4), None), (rows(11, 3), rows(6, 12))):
        found = []
        for engine in (tables.TableEngine(), OnHost()):
            engine.block, engine.frequent = 256, frequent
            sides = tables.sides(engine, left, right, tree.n_nodes)
            table = np.empty((len(sides[0]), len(sides[1])), np.float32)
            tables.table(engine, *sides, right is None, table)
            found.append((table, *tables.nearest(engine, *sides, right is None, 5)))
        allowed = tables.rounding(left, right, tables.sides(tables.TableEngine(), left, right, tree.n_nodes)[0])
        for ours, theirs in zip(found[0][:2], found[1][:2]):
            assert ours.dtype == theirs.dtype == np.float32
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=2 * allowed)
        for (table, distances, numbers) in found:
            np.testing.assert_array_equal(distances, np.take_along_axis(table, numbers.astype(int), 1))
"""
    interpreted(script)
