# %% [markdown]
# # Recipe: drift
#
# *Which columns of my table have changed since the model was trained?* `feature_drift` compares every column of two tables: how far its values have moved, in units of their spread, and whether that is more
# than chance. The table is scikit-learn's of tumors. One half is before, the other half after, and we know what changed, because we change it: a new microscope measures textures a tenth
# too large, and smoothness with twice the error.

# %%
import numpy as np
import treeport as tp
from sklearn.datasets import load_breast_cancer

table = load_breast_cancer(as_frame=True).data.filter(like="mean")
rng = np.random.default_rng(0)
order = rng.permutation(len(table))
before, after = table.iloc[order[:300]], table.iloc[order[300:]].copy()
after["mean texture"] *= 1.1
smooth = after["mean smoothness"]
after["mean smoothness"] += 2 * smooth.std() * rng.normal(size=len(after))

# %%
drift = tp.feature_drift(before, after)
print(drift[["drift", "shift", "pvalue", "adjusted"]].round(3))
changed = set(drift.index[drift.adjusted <= 0.05])
assert changed == {"mean texture", "mean smoothness"}  # a check of this page

# %%
tp.plot_drift(drift)

# %%
both = tp.two_sample_test(before / before.std(), after / before.std())
print(f"all columns together: p = {both.pvalue:.3f}")

# %% [markdown]
# **How to read it.** `drift` is the Wasserstein-1 distance over the standard deviation before: 0.5 means that values have moved by half a spread on average. `shift` is the part that a difference of means
# explains. The texture has moved as a whole, and drift and shift are equal; the smoothness is only less exact, and its shift is small. Red bars have an adjusted p of at most 0.05: with many
# columns some p-values are small by chance, which Holm's correction takes into account.
#
# **What next.** A change of the dependence between columns is no drift of a column; the test of all columns together sees it: [two samples](two_samples.py). Text and dates are named in an error: give
# `columns=`.
