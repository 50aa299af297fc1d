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

first, second = values[wine.target == 0], values[wine.target == 1]
order = rng.permutation(len(second))
tests = {
    "growers 0 and 1": tp.two_sample_test(first, second),
    "two halves of grower 1": tp.two_sample_test(second[order[:35]], second[order[35:]]),
}
for name, test in tests.items():
    print(
        f"{name}: distance {test.statistic:.2f}, p = {test.pvalue:.3f} ({test.n_resamples} splits)"
    )
assert tests["growers 0 and 1"].pvalue == 0.001  # a check of this page
assert tests["two halves of grower 1"].pvalue > 0.05

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
for axis, (name, test) in zip(axes, tests.items()):
    axis.hist(test.null_distribution, bins=25, color="0.7", density=True, label="random splits")
    axis.axvline(test.statistic, color="tab:red", label="the samples")
    axis.set(title=name, xlabel="distance")
axes[0].legend()
plt.tight_layout()

# %% [markdown]
# **How to read it.** The growers are farther apart than every random split of their wines: p is as small as 999 splits can make
# it, 0.001. Two halves of one grower lie among the random splits, so the test finds no difference, and it stops early: p is sure to be above 0.05.
# Distances depend on units: here every measurement is divided by its spread, and that choice is part of the test.
#
# **What next.** Pairs, batches, and how far apart samples are by chance: [two samples](../TWO_SAMPLES.md). Many
# groups, such as patients: [patients](patients.py).
