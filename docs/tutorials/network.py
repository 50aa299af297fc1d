# needs: networkx
# %% [markdown]
# # A city's buses
#
# From where people are to where they want to be. The buses of Kuopio in Finland: 528 stops, and how many seconds buses take between neighboring ones. (Kujala, Weckström and Darst, a
# collection of public transport networks of 25 cities, after schedules of the City of Kuopio, CC BY 4.0; the two small tables are
# in `docs/tutorials/data/kuopio`.)
#
# ```sh
# pip install ./python matplotlib networkx pandas     # in this repository
# ```
#
# **A point** is a stop; the distance of two stops is the shortest ride between them. **A measure** says where people are: how many of
# them at which stop. The transport distance between two measures is the mean ride, when everybody goes to the place that makes the
# total least.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import treeport as tp

folder = Path(__file__).parent / "data" / "kuopio"
stops = pd.read_csv(folder / "stops.csv")
rides = pd.read_csv(folder / "rides.csv")
buses = nx.Graph()
buses.add_nodes_from(stops["stop"])
buses.add_weighted_edges_from(rides.itertuples(index=False), weight="seconds")
print(buses)

# %% [markdown]
# ## Crowds
#
# Nobody publishes who waits where, so we make crowds: people who live around a random stop, fewer with every kilometer. Your own
# counts of passengers go here.

# %%
rng = np.random.default_rng(0)
north = 111.2 * stops["lat"].to_numpy()  # kilometers
east = 111.2 * np.cos(np.radians(62.9)) * stops["lon"].to_numpy()


def crowd():
    """People around a random stop."""
    middle, width = rng.integers(len(stops)), rng.uniform(0.5, 3)
    away = np.hypot(north - north[middle], east - east[middle])
    return np.where(away < 3 * width, np.exp(-((away / width) ** 2)), 0)


crowds = np.array([crowd() for _ in range(300)])
shares = crowds / crowds.sum(axis=1, keepdims=True)

# %% [markdown]
# ## One pair, exactly
#
# On a network the exact solver works on the edges themselves, so a pair takes a millisecond or so and needs no table of distances.

# %%
a, b = shares[0], shares[1]
seconds, plan = tp.emd(a, b, graph=buses, weight="seconds", return_plan=True)
print(f"the mean ride from crowd 0 to crowd 1: {seconds / 60:.1f} minutes")
plan = plan.tocoo()
for k in np.argsort(-plan.data)[:3]:
    print(f"{plan.data[k]:.1%} go from {stops['name'][plan.row[k]]} to {stops['name'][plan.col[k]]}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(8, 4), sharex=True, sharey=True)
for ax, share, title in zip(axes, (a, b), ("crowd 0", "crowd 1")):
    for u, v in buses.edges:
        ax.plot(east[[u, v]], north[[u, v]], color="0.85", lw=0.8, zorder=0)
    some = share > 0
    ax.scatter(east[some], north[some], s=2000 * share[some], color="tab:blue", alpha=0.7)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title)
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Many pairs: learn a tree
#
# All pairs of 300 crowds are 44,850 problems. The tree learns from 300 of them, on 200 crowds; the other 100 judge it.

# %%
tw = tp.TreeWasserstein(graph=buses, weight="seconds").fit(crowds[:200])
print(f"mean relative error on new crowds: {-tw.score(crowds[200:]):.3f}")

# %% [markdown]
# Beside it: two plain baselines with the one factor that suits each best, and the tree *before* learning. The straight line between the
# middles of two crowds is what one would try first.

# %%
new = shares[200:]
pairs = np.column_stack(np.triu_indices(100, 1))
pairs = pairs[rng.permutation(len(pairs))[:600]]
truth = tp.emd_pairs(new, pairs, graph=buses, weight="seconds")
start = tp.linkage(graph=buses, weight="seconds").paired(new[pairs[:, 0]], new[pairs[:, 1]])
middles = new @ np.column_stack([north, east])
line = np.linalg.norm(middles[pairs[:, 0]] - middles[pairs[:, 1]], axis=1)


def best(distances):
    """Mean relative error after the best of many factors."""
    factors = np.median(truth / distances) * np.linspace(0.3, 1.7, 141)
    return min(np.mean(np.abs(f * distances - truth) / truth) for f in factors)


tree = tw.paired(new[pairs[:, 0]], new[pairs[:, 1]])
print(f"learned tree, as it is          {np.mean(np.abs(tree - truth) / truth):.3f}")
print(f"average linkage × factor        {best(start):.3f}")
print(f"straight line × factor          {best(line):.3f}")
print(f"the best number for all pairs   {best(np.ones_like(truth)):.3f}")

# %% [markdown]
# ## A promise instead of an average
#
# A mean error says nothing about *one* pair. `bounds` does: the exact distance is proved to lie between the two.

# %%
left, right = new[pairs[:8, 0]], new[pairs[:8, 1]]
lower, upper = tw.bounds(left, right)
print("minutes: proved to be between, and exact")
for low, high, exact in zip(lower / 60, upper / 60, truth[:8] / 60):
    print(f"  {low:5.2f} to {high:5.2f}   {exact:5.2f}")
assert (lower <= truth[:8] + 1e-6).all() and (truth[:8] <= upper + 1e-6).all()

# %% [markdown]
# ## Use it
#
# Which crowds of the past were most like today's?

# %%
distances, numbers = tw.kneighbors(crowds[200:201], crowds[:200], n_neighbors=3)
nearest = tp.WassersteinNeighbors(graph=buses, weight="seconds", n_neighbors=3).fit(crowds[:200])
exact, proved = nearest.kneighbors(crowds[200:201])
print("by the tree:     ", [(int(n), f"{d / 60:.1f} min") for n, d in zip(numbers[0], distances[0])])
print("exact and proved:", [(int(n), f"{d / 60:.1f} min") for n, d in zip(proved[0], exact[0])])

# %% [markdown]
# ## What to try next
#
# - Your own network: any networkx graph, or a SciPy sparse matrix of edge lengths.
# - Roads with 264,346 crossings: [large inputs](../SCALE.md).
# - On road and bus networks exact distances are cheap; [which tool when](../WHICH.md) says from how many pairs on a tree pays.
