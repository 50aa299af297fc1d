"""Samples of bacteria on a phylogeny: weighted UniFrac, and then some.

A phylogeny is a tree already, so there is nothing to learn: transport along its branches is the weighted
UniFrac distance. The tree and the table of counts here are made up.
"""

import numpy as np
import pandas as pd
import treeport as tp
from sklearn.neighbors import KNeighborsClassifier

rng = np.random.default_rng(0)
species = [f"species_{i}" for i in range(40)]
nodes = [f"{name}:{rng.uniform(0.1, 1):.3f}" for name in species]
while len(nodes) > 1:
    first, second = nodes.pop(0), nodes.pop(0)
    nodes.append(f"({first},{second}):{rng.uniform(0.1, 1):.3f}")
phylogeny = nodes[0].rsplit(":", 1)[0] + ";"

# Sick people have more of one clade.
sick = rng.integers(2, size=80)
abundance = rng.gamma(0.5, size=(80, 40))
abundance[:, :10] *= np.where(sick, 4, 1)[:, None]
counts = pd.DataFrame(rng.poisson(20 * abundance) + 1, columns=species)

tree = tp.Tree.from_newick(phylogeny, names=list(counts.columns))
unifrac = tree.pairwise(counts, normalize=True)  # a DataFrame, as the counts are
print(f"weighted UniFrac of the first two samples: {unifrac.iloc[0, 1]:.3f}")

knn = KNeighborsClassifier(5, metric="precomputed").fit(unifrac.iloc[:60, :60], sick[:60])
print(f"sick or healthy, by 5 nearest samples: {knn.score(unifrac.iloc[60:, :60], sick[60:]):.2f}")

plan = tree.coupling(counts.iloc[0], counts.iloc[1], normalize=True).tocoo()
moved = [(mass, i, j) for i, j, mass in zip(plan.row, plan.col, plan.data) if i != j]
mass, i, j = max(moved)
print(f"the largest change: {mass:.3f} from {species[i]} to {species[j]}")
