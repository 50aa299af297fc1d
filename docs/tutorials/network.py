# needs: networkx
# %% [markdown]
# # A city's network
#
# This tutorial uses the five lines of the Vienna underground as they were in 2020, with 98 stations. The table in `docs/tutorials/data` lists the
# stations of every line in order. We count two minutes from one station to the next.
#
# ```sh
# pip install ./python matplotlib networkx     # in this repository
# ```
#
# **A point** is a station; the distance between two stations is the shortest ride. **A measure** says how many people are at which
# station. The transport distance between two measures is the mean ride, if people are assigned to destinations so that the total is as
# small as possible.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import treeport as tp

table = pd.read_csv(Path(__file__).parent / "data" / "vienna.csv")
city = nx.Graph()
for _, stations in table.groupby("line")["station"]:
    nx.add_path(city, stations, minutes=2)
print(city)

# %% [markdown]
# ## After the match, exactly
#
# 25,000 people leave the stadium and Praterstern for four stations. On a network the exact solver works on the edges themselves, so it needs no
# distance table. Stations that a measure does not name have no mass.

# %%
leave = {"Stadion": 20_000, "Praterstern": 5_000}
arrive = {"Karlsplatz": 11_000, "Floridsdorf": 5_000, "Westbahnhof": 5_000, "Seestadt": 4_000}
minutes, moves = tp.emd(leave, arrive, graph=city, weight="minutes", return_plan="table")
print(f"the mean ride takes {minutes / 25_000:.1f} minutes")
print(moves)

# %% [markdown]
# ## Crowds
#
# Nobody publishes how many people wait where, so we make up crowds: people around a random station, fewer with every stop. Put your own passenger counts
# here.

# %%
stations = list(city)
rng = np.random.default_rng(0)
rides = nx.floyd_warshall_numpy(city, weight="minutes")


def crowd():
    """People around a random station."""
    away, width = rides[rng.integers(98)], rng.uniform(3, 9)
    return np.where(away < 3 * width, np.exp(-((away / width) ** 2)), 0)


crowds = pd.DataFrame([crowd() for _ in range(300)], columns=stations)
shares = crowds.div(crowds.sum(axis=1), axis=0).to_numpy()

# %%
places = nx.kamada_kawai_layout(city)
x, y = np.array([places[station] for station in stations]).T
figure, axes = plt.subplots(1, 2, figsize=(8, 4.2), sharex=True, sharey=True)
for ax, share, title in zip(axes, shares, ("crowd 0", "crowd 1")):
    for u, v in city.edges:
        ax.plot(
            [places[u][0], places[v][0]], [places[u][1], places[v][1]], color="0.8", lw=1, zorder=0
        )
    ax.scatter(x, y, s=4, color="0.6")
    ax.scatter(x, y, s=1500 * share, color="tab:blue", alpha=0.7)
    ax.annotate(stations[share.argmax()], (x[share.argmax()], y[share.argmax()]), fontsize=9)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title)
plt.tight_layout()
plt.show()

# %%
minutes, moves = tp.emd(shares[0], shares[1], graph=city, weight="minutes", return_plan="table")
print(f"the mean ride from crowd 0 to crowd 1: {minutes:.1f} minutes")
print(moves.head(3))

# %% [markdown]
# ## Many pairs: learn a tree
#
# All pairs of 300 crowds make 44,850 problems. The tree learns from 300 pairs of the first 200 crowds. The other 100 crowds test it.

# %%
tw = tp.TreeWasserstein(graph=city, weight="minutes").fit(crowds[:200])
print(f"mean relative error on new crowds: {-tw.score(crowds[200:]):.3f}")

# %% [markdown]
# We compare it with plain baselines, each times the factor that suits it best. The ride between the fullest stations of two crowds is what
# one would try first. Average linkage is the tree *before* learning.

# %%
new = shares[200:]
pairs = np.column_stack(np.triu_indices(100, 1))
pairs = pairs[rng.permutation(len(pairs))[:600]]
truth = tp.emd_pairs(new, pairs, graph=city, weight="minutes")
start = tp.linkage(graph=city, weight="minutes").paired(new[pairs[:, 0]], new[pairs[:, 1]])
middle = new.argmax(axis=1)
ride = rides[middle[pairs[:, 0]], middle[pairs[:, 1]]]


def best(distances):
    """Mean relative error after the best of many factors."""
    factors = np.median(truth / np.maximum(distances, 1e-9)) * np.linspace(0.3, 1.7, 141)
    return min(np.mean(np.abs(f * distances - truth) / truth) for f in factors)


tree = tw.paired(crowds.iloc[200 + pairs[:, 0]], crowds.iloc[200 + pairs[:, 1]])
print(f"learned tree, as it is             {np.mean(np.abs(tree - truth) / truth):.3f}")
print(f"average linkage × factor           {best(start):.3f}")
print(f"between fullest stations × factor  {best(ride):.3f}")
print(f"the best number for all pairs      {best(np.ones_like(truth)):.3f}")

# %% [markdown]
# ## A promise instead of an average
#
# A mean error says nothing about *one* pair. `bounds` does: it proves that the exact distance lies between two numbers.

# %%
left, right = crowds.iloc[200 + pairs[:8, 0]], crowds.iloc[200 + pairs[:8, 1]]
lower, upper = tw.bounds(left, right, "flow")
print("minutes: proved to be between, and exact")
for low, high, exact in zip(lower, upper, truth[:8]):
    print(f"  {low:5.2f} to {high:5.2f}   {exact:5.2f}")
assert (lower <= truth[:8] + 1e-6).all() and (truth[:8] <= upper + 1e-6).all()

# %% [markdown]
# ## Use it
#
# Which crowds of the past were most like today's?

# %%
distances, numbers = tw.kneighbors(crowds[200:201], crowds[:200], n_neighbors=3)
nearest = tp.WassersteinNeighbors(graph=city, weight="minutes", n_neighbors=3).fit(crowds[:200])
exact, proved = nearest.kneighbors(crowds[200:201])
print("by the tree:     ", [(int(n), f"{d:.1f} min") for n, d in zip(numbers[0], distances[0])])
print("exact and proved:", [(int(n), f"{d:.1f} min") for n, d in zip(proved[0], exact[0])])

# %% [markdown]
# ## What to try next
#
# - Your own network: any networkx graph, or a SciPy sparse matrix of edge lengths.
# - Roads with 264,346 crossings: [large inputs](../SCALE.md).
# - On road and bus networks exact distances are cheap. [Which tool when](../WHICH.md) says how many pairs it takes before a tree pays.
