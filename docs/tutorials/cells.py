# needs: scanpy
# %% [markdown]
# # Cells
#
# How far is one kind of cell from another? We take 700 blood cells that come with the scanpy package (`pbmc68k_reduced`, from Zheng et al. 2017). They
# are already reduced to 50 principal components and labeled with ten kinds.
#
# ```sh
# pip install ./python matplotlib scanpy     # in this repository
# ```
#
# **A point** is a cell; its coordinates are its gene expression. **A measure** is a group of cells: a cluster, a patient, a
# treatment. The distance between two groups is what it costs to turn the cells of one into the cells of the other. Unlike the
# distance between the means, it sees the *shape* of a group: its spread and its subgroups.

# %%
import warnings
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy
import treeport as tp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the file is of an older format
    cells = anndata.read_h5ad(
        Path(scanpy.__file__).parent / "datasets" / "10x_pbmc68k_reduced.h5ad"
    )
places = np.asarray(cells.obsm["X_pca"], dtype=float)
kinds = cells.obs["bulk_labels"]
print(places.shape[0], "cells in", places.shape[1], "dimensions")
print(kinds.value_counts().to_string())

# %% [markdown]
# ## Groups as measures
#
# One row for each kind, one column for each cell, equal mass on the cells of that kind.

# %%
groups = tp.Measures.from_anndata(cells, groupby="bulk_labels")
print(groups)

# %% [markdown]
# ## Exact distances between kinds
#
# Ten kinds make 45 pairs: few enough to solve exactly. The plain baseline is the distance between means. It can never be larger than the
# transport distance.

# %%
distances = tp.emd_pairwise(groups, points=places)  # a DataFrame with the names of the kinds
first, second = np.triu_indices(len(distances), 1)
exact = distances.to_numpy()[first, second]
means = np.array([places[kinds == kind].mean(axis=0) for kind in distances.index])
between = np.linalg.norm(means[first] - means[second], axis=1)
assert (between <= exact + 1e-9).all()
closest = pd.DataFrame(
    {
        "a": distances.index[first],
        "b": distances.index[second],
        "exact": exact.round(2),
        "means": between.round(2),
    }
).sort_values("exact")
print(closest.head(4).to_string(index=False))
print(closest.tail(2).to_string(index=False, header=False))

# %% [markdown]
# The two kinds of T cells at the top have means that are 3 apart, while their cells are 11 apart. But part of that distance is chance: in 50
# dimensions, a few cells are far from any other few cells, even of the same kind. Measure this effect before you call two groups different. Here are
# two halves of *one* kind:

# %%
rng = np.random.default_rng(0)


def halves(kind):
    """Distance between two random halves of a kind."""
    members = rng.permutation(np.flatnonzero(kinds == kind))
    rows = np.zeros((2, len(kinds)))
    rows[0, members[::2]] = 1
    rows[1, members[1::2]] = 1
    rows /= rows.sum(axis=1, keepdims=True)
    return tp.emd(rows[0], rows[1], points=places)


for kind in ["CD4+/CD25 T Reg", "CD19+ B", "Dendritic"]:
    print(f"two halves of {kind:16} {np.mean([halves(kind) for _ in range(5)]):.2f}")

# %% [markdown]
# So the T cells at the top are hardly farther apart than two halves of one kind. (The halves are smaller groups, so they come out a little too far apart.)
# This table does not tell those T cells apart. B cells and NK cells, at 26, are different.
#
# ## Many samples: learn a tree
#
# Hundreds of samples make tens of thousands of pairs, and then a tree pays. The data has no patients, so we *make*
# samples: each draws 100 cells, with random shares of the kinds. The tree learns from half of the samples and is tested on the other half.

# %%
codes = kinds.cat.codes.to_numpy()


def sample():
    """100 cells, by random shares of the kinds."""
    weight = rng.dirichlet(np.full(10, 0.3))[codes] / np.bincount(codes)[codes]
    return rng.multinomial(100, weight / weight.sum())


samples = np.array([sample() for _ in range(400)])
tw = tp.TreeWasserstein(points=places).fit(samples[:200])
print(f"mean relative error on new samples: {-tw.score(samples[200:]):.3f}")

# %% [markdown]
# Compare this with two baselines that know less: the distance between means, times the factor that suits it best, and one number for all
# pairs.

# %%
new = samples[200:] / samples[200:].sum(axis=1, keepdims=True)
pairs = rng.integers(200, size=(500, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
truth = tp.emd_pairs(new, pairs, points=places)
tree = tw.paired(new[pairs[:, 0]], new[pairs[:, 1]])
centers = new @ places
apart = np.linalg.norm(centers[pairs[:, 0]] - centers[pairs[:, 1]], axis=1)


def error(distances):
    return np.mean(np.abs(distances - truth) / truth)


factor = min(np.linspace(0.5, 5, 451), key=lambda f: error(f * apart))
number = min(np.linspace(truth.min(), truth.max(), 1000), key=error)
print(f"tree                            {error(tree):.3f}")
print(f"distance of means × {factor:.2f}        {error(factor * apart):.3f}")
print(f"the best number for all pairs   {error(number):.3f}")

# %%
plt.figure(figsize=(4.6, 4.2))
plt.scatter(truth, tree, s=6, label="tree")
plt.scatter(truth, factor * apart, s=6, alpha=0.5, label="means × factor")
plt.axline((truth.min(), truth.min()), slope=1, color="gray", lw=1)
plt.xlabel("exact distance")
plt.ylabel("estimate")
plt.legend()
plt.title("500 pairs of samples")
plt.tight_layout()
plt.show()

# %% [markdown]
# ## Use it
#
# You can give a table of all pairs to anything that takes distances: scikit-learn with `metric="precomputed"`, a heat map, a
# neighbor graph. Here we predict which kind makes up most of a sample from its nearest neighbors among the other samples.

# %%
from sklearn.neighbors import KNeighborsClassifier

table = tw.pairwise(samples)
most = np.array([np.bincount(codes, weights=row, minlength=10).argmax() for row in samples])
knn = KNeighborsClassifier(5, metric="precomputed").fit(table[:200, :200], most[:200])
print(f"the commonest kind, by 5 nearest samples: {knn.score(table[200:, :200], most[200:]):.2f}")
print(
    f"by guessing the commonest of all:         {np.mean(most[200:] == np.bincount(most[:200]).argmax()):.2f}"
)

# %%
ax = tp.plot_distances(distances, kind="heatmap")  # or "mds", or "dendrogram"
ax.set_title("Ten kinds of blood cells")
plt.show()

# %% [markdown]
# ## What to try next
#
# - Real samples: `groupby="patient"`, or any other column of `cells.obs`. `cells.uns["distances"] = distances` keeps the table.
# - `start="single"`, if all cells are about equally far apart.
# - `tw.bounds(A, B)`: a proved interval for each pair. [Which tool when](../WHICH.md) lists everything else.
