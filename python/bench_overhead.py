"""What a call from Python costs beyond the work itself: ``python bench_overhead.py``.

The solver alone is the time of one pair among many in one call, on one thread.
"""

import timeit

import numpy as np
import treeport as tp
from scipy import sparse


def microseconds(call, number):
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def measure(rng, n, support):
    masses = np.zeros(n)
    masses[rng.choice(n, support, replace=False)] = rng.random(support)
    return masses / masses.sum()


rng = np.random.default_rng(0)
print("tp.emd, supports of 10     call      solver    overhead  (µs)")
for n in [10, 100, 1000]:
    points = rng.normal(size=(n, 2))
    cost = np.linalg.norm(points[:, None] - points[None], axis=2)
    a, b = measure(rng, n, 10), measure(rng, n, 10)
    same = np.zeros((5000, 2), dtype=np.int64) + [0, 1]
    for ground in [{"points": points}, {"cost": cost}]:
        call = microseconds(lambda: tp.emd(a, b, **ground), 5000)
        several = microseconds(lambda: tp.emd_pairs(np.stack([a, b]), same, **ground, n_jobs=1), 1)
        solver = several / len(same)
        name = f"{n} points, {next(iter(ground))}="
        print(f"{name:<22}{call:>9.1f} {solver:>11.1f} {call - solver:>11.1f}")

tree = tp.linkage(points=rng.normal(size=(1000, 2)))
at = rng.integers(1000, size=(2, 1_000_000))
start = np.arange(0, 1_000_001, 10)
mass = np.full(1_000_000, 0.1)
left, right = (sparse.csr_array((mass, places, start), shape=(100_000, 1000)) for places in at)
whole = microseconds(lambda: tree.paired(left, right), 1)
print(f"\ntree.paired, 100,000 pairs, supports of 10: {whole / 1e3:.0f} ms, {whole / 1e5:.2f} µs a pair")
