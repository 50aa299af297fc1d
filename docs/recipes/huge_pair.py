# %% [markdown]
# # Recipe: one huge pair
#
# *I have two large sets of points and want their Wasserstein distance once. How good an answer can I get, and how soon?* Say either how accurate
# the answer has to be, or how long it may take. Either way you get two numbers, and a proof that the distance lies between them. No
# model is fitted, and there is no table of all distances in memory. The points are made up: 3,000 in three clusters of the plane, and
# 3,000 more after one of the clusters has moved. So few let this page run in seconds; the same calls take 100,000.

# %%
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
centers = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
x = centers[rng.integers(3, size=3000)] + rng.normal(size=(3000, 2))
y = (centers + [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])[rng.integers(3, size=3000)] + rng.normal(
    size=(3000, 2)
)

found = {}
for accuracy in (0.1, 0.01, 0.001):
    begun = perf_counter()
    bounds = tp.emd(None, None, x, y, accuracy=accuracy)  # None: every point has the same mass
    found[accuracy] = bounds
    print(
        f"accuracy={accuracy}: between {bounds.lower:.4f} and {bounds.upper:.4f}, {perf_counter() - begun:.2f} s"
    )

exact = tp.emd(None, None, x, y)
print(f"exact: {exact:.6f}")
limited = tp.emd(None, None, x, y, time=1)  # a second
print(f"time=1: between {limited.lower:.4f} and {limited.upper:.4f}")
assert all(
    bounds.lower <= exact * (1 + 1e-9) and exact <= bounds.upper * (1 + 1e-9)
    for bounds in [*found.values(), limited]
)

# %%
bounds = tp.emd(None, None, x, y, accuracy=0.01, return_plan=True)
moves = bounds.plan.tocoo()
some = rng.choice(moves.nnz, 400, replace=False)
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
starts, ends = x[moves.row[some]], y[moves.col[some]]
left.plot([starts[:, 0], ends[:, 0]], [starts[:, 1], ends[:, 1]], color="0.7", lw=0.7)
left.scatter(*starts.T, s=3, color="tab:blue", label="from")
left.scatter(*ends.T, s=3, color="tab:orange", label="to")
left.legend()
left.set(title="400 of the moves", aspect="equal")
for place, (accuracy, interval) in enumerate(found.items()):
    right.plot(
        [place, place],
        [interval.lower, interval.upper],
        color="tab:blue",
        lw=5,
        marker="_",
        markersize=16,
    )
right.axhline(exact, color="tab:red", lw=1, label="exact")
right.set(
    title="what is proved", xlabel="accuracy", xticks=range(len(found)), xticklabels=list(found)
)
right.legend()
plt.tight_layout()

# %% [markdown]
# **How to read it.** The bars always contain the exact value: that is what "proved" means. With `accuracy=0.01`
# the upper number is at most 1 % above the lower one, and often much closer. The upper bound is the cost of a plan: `return_plan=True` puts it into `bounds.plan`, a sparse
# matrix of the mass that goes from row i to column j.
#
# **Mind.** With `time=` the interval is wide until the first round is done, which takes seconds for tens of thousands of points: if unsure, give `accuracy=0.1` first. Masses of your
# own: `tp.emd(a / a.sum(), b / b.sum(), x, y)`; numbers of points may differ, and `metric=` takes others than Euclidean.
#
# **What next.** 100,000 points a side and more, with figures: [one problem of any size](../SCALE.md#one-problem-of-any-size).
# Which engine runs: [which tool when](../WHICH.md#which-engine-answers-emd). Points with one coordinate are solved by sorting: ten
# million are no trouble.
