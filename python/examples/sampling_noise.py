"""What `correct="sampling"` is worth where the truth is known: the table of docs/SAMPLING.md.

`python sampling_noise.py 6` takes a minute; without a number every case has one pair of each size.
"""

import sys

import numpy as np
import treeport as tp
from scipy.stats import spearmanr

REPEATS = int(sys.argv[1]) if len(sys.argv) == 2 and sys.argv[1].isdigit() else 1
SIZES = [(100, 100), (100, 1000), (600, 200), (500, 500), (1000, 800)] * REPEATS
rng = np.random.default_rng(0)


def normals(dim, shift, n, m):
    return rng.normal(size=(n, dim)), rng.normal(size=(m, dim)) + shift * np.eye(dim)[0]


def clusters(dim, moved, n, m):
    """Two clusters at distance 8; a share of the mass is in the other one."""

    def sample(size, share):
        far = rng.random(size) < share
        return 0.3 * rng.normal(size=(size, dim)) + 8.0 * far[:, None] * np.eye(dim)[0]

    return sample(n, 0.5), sample(m, 0.5 + moved)


cases = [(normals, dim, shift, shift) for dim in (1, 2, 5, 30) for shift in (0.0, 0.5, 1.0, 3.0)]
cases += [(clusters, dim, moved, 8 * moved) for dim in (2, 5, 30) for moved in (0.0, 0.1, 0.3)]
totals, noise = np.zeros(2), [1 / n + 1 / m for n, m in SIZES]
ranks, inside = [], []
print("kind      dim  truth  distance  corrected  intervals")
for make, dim, shift, truth in cases:
    clouds = tp.Clouds([cloud for n, m in SIZES for cloud in make(dim, shift, n, m)])
    pairs = np.arange(len(clouds)).reshape(-1, 2)
    found = tp.emd_pairs(clouds, pairs, correct="sampling")
    errors = [found.uncorrected - truth, found.value - truth]
    totals += [abs(error.mean()) for error in errors]
    ranks.append([spearmanr(error, noise).statistic for error in errors])
    inside.append(np.mean((found.lower <= truth) & (truth <= found.upper)))
    means = [f"{error.mean():+9.2f}" for error in errors]
    print(f"{make.__name__:8} {dim:4} {truth:6.1f} {means[0]}  {means[1]}  {inside[-1]:9.0%}")
print(f"mean errors {totals[1] / totals[0]:.2f} of the uncorrected ones")
before, after = np.mean(ranks, axis=0)
print(f"rank correlation with 1/n + 1/m {after:+.2f}, uncorrected {before:+.2f}")
print(f"{np.mean(inside):.0%} of the intervals hold the truth")
assert totals[1] < 0.2 * totals[0]
