# %% [markdown]
# # Recipe: persistence diagrams
#
# *Which signals have equally deep valleys, wherever these are?* A persistence diagram has a point (birth, death) for each
# valley of a signal: the level of its bottom, and the level at which water in it would spill into a deeper valley.
# Valleys of noise die soon and lie near the diagonal. The distance between two diagrams is the cost of moving points to each other,
# or to the diagonal, where they vanish.
#
# The signals are made up: two, three or four valleys at random places, and noise. For peaks, take `diagram(-values)`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
time = np.linspace(0, 1, 200)


def signal(valleys):
    gaps = 0.12 + (0.95 - 0.12 * valleys) * rng.dirichlet(
        np.ones(valleys + 1)
    )  # of any lengths from 0.12 on
    places = np.cumsum(gaps[:-1]) - 0.06
    return -sum(np.exp(-(((time - place) / 0.03) ** 2)) for place in places) + rng.normal(
        scale=0.04, size=200
    )


def diagram(values):
    """Valleys as rows of (birth, death); the deepest, which never dies, is left out."""
    valley, birth, rows = {}, {}, []
    for at in np.argsort(values):
        beside = {valley[near] for near in (at - 1, at + 1) if near in valley}
        own = min(beside, key=birth.get, default=at)  # the deepest valley beside it, or a new one
        birth.setdefault(own, values[at])
        for shallow in beside - {own}:
            rows.append((birth[shallow], values[at]))
            valley = {place: own if name == shallow else name for place, name in valley.items()}
        valley[at] = own
    return np.array(rows).reshape(-1, 2)


kinds = rng.permutation(np.repeat([2, 3, 4], 20))
signals = [signal(valleys) for valleys in kinds]
diagrams = tp.diagrams([diagram(values) for values in signals])
distances, numbers = tp.WassersteinNeighbors(n_neighbors=3).fit(diagrams).kneighbors()
print(
    f"of the three nearest, {np.mean(kinds[numbers] == kinds[:, None]):.0%} have as many valleys; at random 33%"
)
by_values = np.argsort([[np.abs(a - b).sum() for b in signals] for a in signals], axis=1)[:, 1:4]
assert np.mean(kinds[numbers] == kinds[:, None]) > 0.9  # a check of this page
print(f"by the values at each time {np.mean(kinds[by_values] == kinds[:, None]):.0%}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 3.2))
for number, color in ((0, "tab:blue"), (numbers[0, 0], "tab:orange")):
    axes[0].plot(time, signals[number], color=color, lw=1)
    axes[1].scatter(
        *diagrams[number][1].T,
        color=color,
        s=14,
        alpha=0.6,
        label="a signal" if number == 0 else "its nearest",
    )
axes[0].set(title="a signal and its nearest", xlabel="time")
axes[1].axline((-1, -1), slope=1, color="0.7", lw=1)
axes[1].legend()
axes[1].set(title="their diagrams", xlabel="birth", ylabel="death")
plt.tight_layout()

# %% [markdown]
# **How to read it.** Each point far from the diagonal is a valley, except that the deepest is left out: two valleys make one far point. The crowd near the
# diagonal is noise, and costs little. Neighbors are exact, as if all distances were computed and sorted. `tp.emd_pairwise(diagrams)` is the table of all pairs, and
# `tp.emd_pairs(diagrams, [(0, 1)])` one of them.
#
# **Mind.** `tp.diagrams` takes a list of arrays of (birth, death), from GUDHI, ripser or persim too; drop those that never die. Do not leave it out: plain arrays are
# clouds whose points cannot go to the diagonal. Distances are Euclidean, as in persim; `metric="chebyshev"` is GUDHI's default.
#
# **What next.** Holes of shapes, with diagrams by GUDHI: [the tutorial](../tutorials/diagrams.py). All calls beside those of GUDHI and persim:
# [coming from GUDHI](../FROM_GUDHI.md).
