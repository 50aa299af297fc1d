# %% [markdown]
# # Recipe: patients
#
# *Which patients are alike, by all of their cells?* A patient is a group of cells. Each cell is a point, given by its gene expression.
# No two patients share a cell, and their numbers of cells differ. The cohort is made up, so we know the truth: there are five types of
# cells, and one of them is more frequent in the ill. With your own cells:
# `tp.Clouds(adata, groupby="patient", obsm="X_pca")`, or from a table `tp.Clouds(df, groupby="shop", columns=["price", "hour"])`: any groups of points will do.

# %%
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
types = rng.normal(scale=2.0, size=(5, 8))


def patient(ill):
    shares = rng.dirichlet([20, 20, 20, 20, 60 if ill else 20])
    which = rng.choice(5, size=rng.integers(200, 400), p=shares)
    return types[which] + rng.normal(size=(len(which), 8))


groups = ["ill" if number % 2 else "well" for number in range(12)]
cohort = tp.Clouds(
    {f"{group}{number:02}": patient(group == "ill") for number, group in enumerate(groups)}
)
table = np.asarray(
    tp.emd_pairwise(cohort)
)  # exact, with all cells; a DataFrame where pandas is installed
null = tp.null_distance(cohort, n_points=100)

alike = np.array(groups)[:, None] == np.array(groups)
apart = ~np.eye(12, dtype=bool)
print(
    f"mean distance within groups {table[alike & apart].mean():.2f}, between {table[~alike].mean():.2f}"
)
assert table[alike & apart].mean() < table[~alike].mean()  # a check of this page
print(f"two samples of 100 cells of one patient: {null:.2f}")

# %%
test = tp.group_test(table, groups)
print(f"between groups p = {test.pvalue:.3f}, R² = {test.r_squared:.2f}")
print(f"equal spread p = {test.spread_pvalue:.3f}, spread {test.spread}")
assert test.pvalue < 0.05  # a check of this page

# %%
tp.plot_distances(table, "mds", labels=cohort.ids, colors=groups).set_title("a map of the cohort")

# %% [markdown]
# **How to read it.** The ill lie together. But most of each distance comes from sampling: even two samples of 100 cells of *one* patient are 2.7 apart, and with 200 to
# 400 cells, as here, they would be somewhat nearer. So the sizes say little. What counts is that distances between groups exceed those within, and whether that is more than
# chance: `group_test` permutes the groups (PERMANOVA). A small second p-value (PERMDISP) would say that one group is spread more widely, which moves the first one, too. Patients of several
# hospitals are permuted within each: `strata=hospitals`. Coordinates count as they are: bring them to one scale, or take principal components.
#
# **What next.** Neighbors, thousands of cells, bounds: [the tutorial](../tutorials/patients.py). AnnData, files and long tables:
# [clouds](../CLOUDS.md). Do two patients differ? [Two samples](two_samples.py).
