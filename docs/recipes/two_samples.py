# %% [markdown]
# # Recipe: two samples
#
# *Do two samples come from one distribution?* Their distance alone does not tell: even two samples of one distribution are not at distance 0. A
# permutation test counts how often a random split of the same points is at least as far apart. The samples are wines of two
# growers, with 13 chemical measurements each, and come with scikit-learn.

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

wine = load_wine()
values = StandardScaler().fit_transform(wine.data)
rng = np.random.default_rng(0)


def permutation_test(x, y, rng, splits=499):
    """The distance of two samples, those of random splits of all points, and the p-value.

    x and y are arrays (samples, features); one feature is `x[:, None]`.
    """
    points, size = np.vstack([x, y]), len(x)
    masses = np.zeros((2 * (splits + 1), len(points)))  # rows 2k and 2k + 1 are the two sides of split k
    for k in range(splits + 1):
        order = np.arange(len(points)) if k == 0 else rng.permutation(len(points))
        masses[2 * k, order[:size]] = 1 / size
        masses[2 * k + 1, order[size:]] = 1 / (len(points) - size)
    distances = tp.emd_pairs(masses, np.arange(len(masses)).reshape(-1, 2), points=points)
    return distances[0], distances[1:], np.mean(distances >= distances[0])  # the samples count, too: p is at least 1 / 500


first, second = values[wine.target == 0], values[wine.target == 1]
order = rng.permutation(len(second))
tests = {
    "growers 0 and 1": permutation_test(first, second, rng),
    "two halves of grower 1": permutation_test(second[order[:35]], second[order[35:]], rng),
}
for name, (distance, _, p_value) in tests.items():
    print(f"{name}: distance {distance:.2f}, p = {p_value:.3f}")
assert tests["growers 0 and 1"][2] == 1 / 500 and tests["two halves of grower 1"][2] > 0.05  # a check of this page

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
for axis, (name, (distance, random, p_value)) in zip(axes, tests.items()):
    axis.hist(random, bins=25, color="0.7", label="random splits")
    axis.axvline(distance, color="tab:red", label="the samples")
    axis.set(title=name, xlabel="distance")
axes[0].legend()
plt.tight_layout()

# %% [markdown]
# **How to read it.** The growers are farther apart than every random split of their wines: p is as small as 499 splits can make
# it, 1/500. Two halves of one grower lie among the random splits, so the test finds no difference. All distances are exact, and
# `emd_pairs` solves them on all processors. Distances depend on units: here every measurement is divided by its spread, and that choice is part of the test.
#
# **What next.** The same with SciPy's `permutation_test`, and how far apart samples are by chance: [two samples](../TWO_SAMPLES.md). Many
# groups, such as patients: [patients](patients.md).
