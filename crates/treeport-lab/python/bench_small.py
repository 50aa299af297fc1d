"""Many small exact problems by several tools: ``treeport-lab bench small``.

Measures on points of their own, every one of a side with every one of the other, from coordinates, on one thread. The
tools take turns; what is printed is the median of a pair, in microseconds, and how many times ours it is. Then one pair of
few points and many; `bench overhead` has what a call costs by itself. Tools that are not installed are left out:
wasserstein (`PairwiseEMD`), POT (`ot.emd2`, which is given all distances of a pair by SciPy).
"""

import argparse
import statistics
import time
import timeit

import numpy as np
import treeport as tp
from scipy import sparse
from scipy.spatial.distance import cdist

ROUNDS = 5


def problem(support, side, dim, seed=0):
    """Points, and the masses of 2·side measures, each on the next `support` points."""
    rng = np.random.default_rng(seed)
    masses = rng.random((2 * side, support)) + 0.01
    return rng.normal(size=(2 * side * support, dim)), masses / masses.sum(axis=1, keepdims=True)


def treeport(points, masses):
    count, support = masses.shape
    at = np.repeat(np.arange(count), support), np.arange(count * support)
    measures = tp.Measures(sparse.csr_matrix((masses.ravel(), at), shape=(count, len(points))))
    pairs = np.array([(i, j) for i in range(count // 2) for j in range(count // 2, count)])
    return lambda: tp.emd_pairs(measures, pairs, points=points, n_jobs=1)


def pairwise_emd(points, masses):
    from wasserstein import PairwiseEMD

    parts = points.reshape(len(masses), -1, points.shape[1])
    events = [np.column_stack(event) for event in zip(masses, parts)]
    half = len(events) // 2
    solver = PairwiseEMD(R=1.0, beta=1.0, norm=False, num_threads=1, print_every=0, verbose=0, dtype="float64")

    def solve():
        solver(events[:half], events[half:])
        return np.asarray(solver.emds()).ravel()

    return solve


def pot(points, masses):
    import ot

    parts = points.reshape(len(masses), -1, points.shape[1])
    half = len(masses) // 2
    return lambda: np.array([
        ot.emd2(masses[i], masses[j], cdist(parts[i], parts[j]))
        for i in range(half)
        for j in range(half, len(masses))
    ])


def compare(support, side, dim):
    """Prints the time of a pair by every tool; all have to find the same."""
    points, masses = problem(support, side, dim)
    ways = {}
    for make in (treeport, pairwise_emd, pot):
        try:
            ways[make.__name__] = make(points, masses)
        except ImportError:
            pass
    found = {name: solve() for name, solve in ways.items()}
    for name, values in found.items():
        np.testing.assert_allclose(values, found["treeport"], rtol=1e-6, err_msg=name)
    times = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, solve in ways.items():
            begun = time.perf_counter()
            solve()
            times[name].append((time.perf_counter() - begun) / side**2 * 1e6)
    ours = statistics.median(times["treeport"])
    shown = (f"{name} {statistics.median(t):8.1f} ({statistics.median(t) / ours:5.1f})" for name, t in times.items())
    print(f"support {support:3} in R^{dim:<3}  " + "   ".join(shown), flush=True)


def lopsided(few=10, many=20_000, dim=3):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(few + many, dim))
    a, b = np.zeros(few + many), np.zeros(few + many)
    a[:few], b[few:] = rng.random(few) + 0.01, rng.random(many) + 0.01
    a, b = a / a.sum(), b / b.sum()
    spent = statistics.median(timeit.repeat(lambda: tp.emd(a, b, points=points), number=3, repeat=ROUNDS)) / 3
    print(f"emd, {few} × {many} points in R^{dim}: {spent * 1e6:.0f} microseconds")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("microseconds a pair, and how many times ours")
    for support, side in [(10, 60), (30, 40), (100, 8)]:
        for dim in (2, 3, 300):
            compare(support, side, dim)
    lopsided()
