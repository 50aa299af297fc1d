"""What does not fit raises MemoryError with a way out, and Ctrl-C stops one long solve."""

import _thread
import subprocess
import sys
import threading

import numpy as np
import pytest
import treeport as tp


@pytest.fixture
def little():
    tp.set_memory_limit(100_000)
    yield
    tp.set_memory_limit(None)


def test_linkage_names_one_that_fits(little):
    points = np.arange(200.0)[:, None]
    for method in ["average", "complete", "ward"]:
        with pytest.raises(
            MemoryError, match=f"{method} linkage of 200 points needs 159 kB, and 100 kB are"
        ):
            tp.linkage(points=points, method=method)
    assert tp.linkage(points=points, method="single").n_points == 200


def test_tables_and_solves_are_refused(little):
    tree = tp.Tree.from_newick("(a:1,b:2);")
    measures = np.tile([0.5, 0.5], (150, 1))
    with pytest.raises(MemoryError, match="the table of 150 by 150 distances needs 180 kB"):
        tree.pairwise(measures)
    # More than threads keep from one problem to the next.
    a, b = np.ones(400), np.arange(400.0)
    a, b = a / a.sum(), (b + 1) / (b + 1).sum()
    cost = np.abs(np.subtract.outer(np.arange(400.0), np.arange(400.0)))
    with pytest.raises(
        MemoryError, match="exact transport between 400 and 400 points needs 1.3 MB"
    ):
        tp.emd(a, b, cost=cost)
    with pytest.raises(
        MemoryError, match="entropic transport between 400 and 400 points needs 2.6 MB"
    ):
        tp.sinkhorn(a, b, cost=cost)


def test_large_matrices_are_refused_before_they_are_read_or_copied(little):
    n = 5_000
    even = np.full(n, 1 / n)
    for number, copies in [(1.0, False), (np.float32(1), False), (np.int8(1), True)]:
        cost = np.broadcast_to(number, (n, n))
        for call, text in [
            (lambda: tp.emd(even, even, cost), "exact transport between 5000 and 5000 points"),
            (lambda: tp.emd(even, even, cost, mass=0.5), "take fewer points, such as a random"),
            (lambda: tp.emd(even, even, cost, penalty=9.0), "take fewer points, such as a random"),
            (lambda: tp.emd_pairwise(np.ones((2, n)), cost=cost), "a copy of an array"),
            (lambda: tp.linkage(cost=cost), "a copy of an array"),
        ]:
            with pytest.raises(MemoryError, match="a copy of an array" if copies else text):
                call()
    square = np.zeros((n, n))
    with pytest.raises(MemoryError, match="the upper triangle of a matrix of 5000 points needs"):
        tp.linkage(cost=square)


def test_arrays_that_only_claim_to_be_large_are_refused(little):
    tree = tp.Tree.from_newick("(a:1,b:2);")
    large = np.broadcast_to([0.5, 0.5], (100_000, 2))
    with pytest.raises(MemoryError, match="a copy of an array needs"):
        tp.Measures(large)
    with pytest.raises(MemoryError, match="a copy of an array needs"):
        tree.paired(large, large)
    with pytest.raises(MemoryError, match="the masses of all measures needs"):
        tp.Measures(np.broadcast_to(1.0, (2, 10_000)))
    for metric in ({"points": large}, {"cost": np.broadcast_to(1.0, 100_128)}):
        with pytest.raises(MemoryError, match="a copy of an array needs"):
            tp.linkage(**metric)


def test_the_limit_is_checked_and_lifted():
    with pytest.raises(ValueError, match="limit is -1"):
        tp.set_memory_limit(-1)
    tp.set_memory_limit(10)
    tp.set_memory_limit(None)
    assert tp.linkage(points=np.arange(200.0)[:, None], method="average").n_points == 200


def test_threads_beyond_reason_are_refused():
    tree = tp.Tree.from_newick("(a:1,b:2);")
    with pytest.raises(ValueError, match="100000 threads are more than the 1024"):
        tree.pairwise([[1, 0], [0, 1]], n_jobs=100_000)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")
def test_an_interpreter_with_little_address_space_goes_on():
    code = """
import resource, numpy as np, treeport as tp
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 600_000_000,) * 2)
tree = tp.Tree.from_newick("(a:1,b:2);")
for work in (
    # One thread, whatever the number of processors: the stacks of many would not fit.
    lambda: tp.linkage(points=np.arange(20_000.0)[:, None], method="average", n_jobs=1),
    lambda: tree.pairwise(np.tile([0.5, 0.5], (20_000, 1)), n_jobs=1),
):
    try:
        work()
    except MemoryError as error:
        print(str(error).split(" needs")[0])
try:
    tree.pairwise([[1, 0], [0, 1]], n_jobs=1000)
except MemoryError as error:
    print(str(error).split(",")[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "average linkage of 20000 points",
        "the table of 20000 by 20000 distances",
        "starting 1000 threads needs 69.4 GB",
    ]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize(
    "solve", [tp.emd, lambda a, b, cost: tp.sinkhorn(a, b, cost=cost, epsilon=1e-4)]
)
def test_one_long_solve_is_interrupted(solve):
    rng = np.random.default_rng(0)
    n = 4000
    cost = rng.random((n, n))
    a, b = rng.random(n), rng.random(n)
    b *= a.sum() / b.sum()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        solve(a, b, cost=cost)
