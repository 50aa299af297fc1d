# needs: skbio
# %% [markdown]
# # Microbiome
#
# This tutorial compares samples on a phylogeny. The data is desert soil after rain: 19 samples of a biocrust, taken up to 49.5 hours after wetting, from
# crusts of four ages (Swenson et al. 2018; the table is part of the package scikit-bio).
#
# ```sh
# pip install ./python matplotlib scikit-bio     # in this repository
# ```
#
# **A point** is a taxon, a tip of the tree. **A measure** is a sample: the share of each taxon in it. Transport along the
# branches of the tree is *weighted UniFrac*. The tree is given, so there is nothing to learn and no error. The
# answer is exact, in time linear in the number of taxa in the two samples.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import skbio
import treeport as tp
from skbio.diversity import beta_diversity
from skbio.stats.distance import DistanceMatrix, permanova

file = Path(skbio.__file__).parent / "stats/ordination/tests/data/soils/microbes.tsv"
counts = pd.read_csv(file, sep="\t", index_col=0).T
print(f"{counts.shape[0]} samples, {counts.shape[1]} taxa")
print(", ".join(counts.columns[:3]), "…")

# %% [markdown]
# ## A tree
#
# Usually you have a Newick file, and `tp.Tree.from_newick(text)` reads it. This table comes without one, but the name of every taxon
# tells its phylum. So our tree is the *taxonomy*: taxa hang below their phylum, phyla hang below the root, and every branch
# has length 1. Two taxa of one phylum are at distance 2, others at distance 4. That is a crude tree; a phylogeny from sequences says more.
# `names` puts the points in the order of the table's columns, so plans have that order, too.

# %%
phylum = counts.columns.str.extract(r"\((.+)\)")[0].to_numpy()
clades = []
for name in dict.fromkeys(phylum):
    tips = counts.columns[phylum == name]
    clades.append("(" + ",".join(f"'{tip}':1" for tip in tips) + "):1")
tree = tp.Tree.from_newick("(" + ",".join(clades) + ");", names=counts.columns)
print(tree)

# %% [markdown]
# ## All pairs
#
# `unifrac` takes counts with any totals, matches columns to tips by name, and returns a DataFrame. Files of unrooted trees have a root with three branches or
# more, and UniFrac depends on the root. So treeport asks you to confirm such a root: ours is intended (`unrooted=True`). We check the result against
# scikit-bio itself.

# %%
unifrac = tree.unifrac(counts, unrooted=True)
judge = beta_diversity(
    "weighted_unifrac",
    counts.to_numpy(),
    counts.index,
    taxa=list(counts.columns),
    tree=skbio.TreeNode.read([tree.to_newick()], convert_underscores=False),
    validate=False,  # it wants two branches at the root, and ours has one for every phylum
)
print(f"largest difference from scikit-bio: {np.abs(unifrac.to_numpy() - judge.data).max():.1e}")
print(unifrac.iloc[:3, :3].round(3).to_string())

# %% [markdown]
# ## What does it see?
#
# Samples differ in two ways: the hours since wetting, and the age of the crust. PERMANOVA's F compares the distances between groups with
# those inside them (higher: farther apart). The plain baseline is Bray–Curtis, which does not use the tree.

# %%
hours, stage = zip(*(name.split("_") for name in counts.index))
tables = {
    "weighted UniFrac": unifrac.to_numpy(),
    "unweighted UniFrac": tree.unifrac(counts, "unweighted", unrooted=True).to_numpy(),
    "Bray–Curtis": beta_diversity("braycurtis", counts.to_numpy(), counts.index).data,
}
print(f"{'':20}{'hours':>14}{'age of crust':>20}")
for name, table in tables.items():
    matrix = DistanceMatrix((table + table.T) / 2, counts.index)
    line = f"{name:20}"
    for grouping in (hours, stage):
        test = permanova(matrix, grouping, permutations=999, seed=0)
        line += f"   F {test['test statistic']:.2f}, p {test['p-value']:.3f}"
    print(line)

# %% [markdown]
# Neither is better: they answer different questions. After rain whole phyla bloom. Weighted UniFrac moves mass between phyla, so it sees the
# hours best. *Which* rare taxa live in a crust depends on its age, and unweighted UniFrac sees that. There are only about four samples for each time, so treat the
# p-values as hints.
#
# ## Look

# %%
times = ["3min", "9hr", "18hr", "42hr", "49p5hr"]
names = sorted(counts.index, key=lambda name: times.index(name.split("_")[0]))
plt.figure(figsize=(6, 5))
plt.imshow(unifrac.loc[names, names], cmap="viridis")
plt.xticks(range(len(names)), names, rotation=90, fontsize=7)
plt.yticks(range(len(names)), names, fontsize=7)
plt.colorbar(label="weighted UniFrac")
plt.tight_layout()
plt.show()

# %% [markdown]
# ## What blooms?
#
# The plan between two samples says which mass has to move. Here we sum it over phyla, for two samples of the same kind of crust: three minutes and
# nine hours after wetting. The tree's plan keeps mass inside a phylum where it can.

# %%
shares = counts.div(counts.sum(axis=1), axis=0)
plan = tree.coupling(shares.loc["3min_latemid"], shares.loc["9hr_latemid"]).tocoo()
moves = pd.DataFrame({"from": phylum[plan.row], "to": phylum[plan.col], "share": plan.data})
moves = moves[moves["from"] != moves["to"]].groupby(["from", "to"])["share"].sum()
print(moves.sort_values(ascending=False).head(5).round(3).to_string())
for time in ("3min_latemid", "9hr_latemid"):
    print(f"share of Firmicutes, {time}: {shares.loc[time, phylum == 'Firmicutes'].sum():.3f}")

# %% [markdown]
# Here all phyla are equally far from each other, so other plans that pair them differently cost the same. How much each phylum gains or loses is
# certain.
#
# ## What to try next
#
# - A real phylogeny: `tp.Tree.from_newick(Path("tree.nwk").read_text())`. The table may have only some of its tips.
# - `tree.unifrac(counts, "generalized", alpha=0.5)`, `"variance-adjusted"`, `"weighted-normalized"`.
# - `tree.kneighbors(shares, n_neighbors=5)`, and `skbio.DistanceMatrix(unifrac, unifrac.index)` for ordination.
# - QIIME tables on the command line: [files](../FILES.md).
