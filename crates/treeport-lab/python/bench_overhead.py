"""What a call from Python costs beyond the work itself: ``treeport-lab bench overhead``.

The solver alone is the time of one pair among many in one call, on one thread. Where POT is installed, its time
over ours comes after it: the same cost matrices, the two taking turns.
"""

import argparse
import timeit

import numpy as np
import treeport as tp
from scipy import sparse

try:
    import ot
except ImportError:
    ot = None


def microseconds(call, number):
    return min(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def measure(rng, n, support):
    masses = np.zeros(n)
    masses[rng.choice(n, support, replace=False)] = rng.random(support)
    return masses / masses.sum()


argparse.ArgumentParser(description=__doc__).parse_args()
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

print("\none problem with a cost matrix    POT     tp.emd     ratio  (µs)")
if ot is None:
    print("left out, because POT is not installed; `pip install pot` adds it")
for support in [10, 30] if ot else []:
    problems = []
    for x, y in rng.normal(size=(20, 2, support, 2)):
        a, b = (rng.dirichlet(np.ones(support)) for _ in range(2))
        problems.append((a, b, np.linalg.norm(x[:, None] - y[None], axis=2)))
    solvers = {"POT": ot.emd2, "tp.emd": lambda a, b, cost: tp.emd(a, b, cost=cost)}
    for problem in problems:
        one, other = (solve(*problem) for solve in solvers.values())
        assert abs(one - other) <= 1e-9 * one, "both did the same job"
    best = dict.fromkeys(solvers, np.inf)
    for name, solve in 300 * list(solvers.items()):
        spent = timeit.timeit(lambda: [solve(*problem) for problem in problems], number=2)
        best[name] = min(best[name], spent / 2 / len(problems) * 1e6)
    pot, ours = best.values()
    print(f"supports of {support:<17}{pot:>9.1f} {ours:>10.2f} {pot / ours:>9.1f}")

tree = tp.linkage(points=rng.normal(size=(1000, 2)))
at = rng.integers(1000, size=(2, 1_000_000))
start = np.arange(0, 1_000_001, 10)
mass = np.full(1_000_000, 0.1)
left, right = (sparse.csr_array((mass, places, start), shape=(100_000, 1000)) for places in at)
whole = microseconds(lambda: tree.paired(left, right), 1)
print(f"\ntree.paired, 100,000 pairs, supports of 10: {whole / 1e3:.0f} ms, {whole / 1e5:.2f} µs a pair")
