"""People on a road network: how far is one distribution of people from another?

The network is a grid of streets with random travel times; distances are shortest paths.
"""

import networkx as nx
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
roads = nx.grid_2d_graph(14, 14)
for u, v in roads.edges:
    roads.edges[u, v]["weight"] = float(rng.uniform(1, 4))
corners = np.array(roads.nodes)


def crowd():
    """People around a random place."""
    place = rng.uniform(0, 14, size=2)
    return np.exp(-((corners - place) ** 2).sum(axis=1) / rng.uniform(2, 20))


crowds = np.array([crowd() for _ in range(120)])
tw = tp.TreeWasserstein(graph=roads, n_pairs=500).fit(crowds[:80])
print(f"mean relative error on new crowds: {-tw.score(crowds[80:]):.3f}")

a, b = crowds[80] / crowds[80].sum(), crowds[81] / crowds[81].sum()
exact, plan = tp.emd(a, b, graph=roads, return_plan=True)
print(
    f"minutes to walk from one to the other: exact {exact:.2f}, by the tree {tw.distance(a, b):.2f}"
)
start, end = np.unravel_index(plan.toarray().argmax(), plan.shape)
print(
    f"the largest group goes from {tuple(map(int, corners[start]))} to {tuple(map(int, corners[end]))}"
)
