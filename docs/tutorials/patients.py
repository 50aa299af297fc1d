# %% [markdown]
# # Patients
#
# A patient is a sample of thousands of cells. Each cell is a point, given by its gene expression, so a patient is a *cloud*. No two patients have a cell
# in common, and their numbers of cells differ. Which patients are alike?
#
# The cohort here is made up, so we know the truth. There are eight types of cells in ten dimensions, and their shares differ from patient to patient. In half of
# the patients one type is more frequent and its cells have moved a little. With your own cells the calls are the same:
# `tp.Clouds(adata, groupby="patient")`.
#
# ```sh
# pip install ./python matplotlib     # in this repository
# ```

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)
types = rng.normal(scale=2.0, size=(8, 10))


def patient(ill):
    """The types of some hundred cells, and their places in ten dimensions."""
    shares = rng.dirichlet(np.full(8, 20.0) + (60.0 if ill else 0.0) * (np.arange(8) == 3))
    which = rng.choice(8, size=rng.integers(300, 900), p=shares)
    cells = types[which] + rng.normal(size=(len(which), 10)) + 0.5 * ill * (which == 3)[:, None]
    return which, cells


ill = np.arange(16) % 2 == 1
patients = {
    f"{'ill' if is_ill else 'well'}{at:02}": patient(is_ill) for at, is_ill in enumerate(ill)
}
cohort = tp.Clouds({name: cells for name, (_, cells) in patients.items()})
print(cohort)

# %% [markdown]
# ## All pairs, with all cells
#
# We use all cells, without subsampling, and all distances are exact. For patients of thousands of cells, `accuracy=0.05` gives two tables of proved bounds that are at most
# five percent apart, in a fraction of the time. With few cells, or a closer accuracy, it saves nothing.

# %%
table = tp.emd_pairwise(cohort)
print(table.iloc[:4, :4].round(2))

# %%
squares = table.to_numpy() ** 2
middle = np.eye(16) - 1 / 16
values, vectors = np.linalg.eigh(
    -0.5 * middle @ squares @ middle
)  # classical scaling: a map of the table
place = vectors[:, -2:] * np.sqrt(values[-2:])
print(f"two axes show {values[-2:].sum() / values[values > 0].sum():.0%} of the squared distances")
figure, ax = plt.subplots(figsize=(5, 4))
for is_ill, color, name in ((False, "tab:blue", "well"), (True, "tab:red", "ill")):
    ax.scatter(*place[ill == is_ill].T, color=color, label=name)
ax.set_title("a map of the cohort")
ax.legend()
plt.tight_layout()

# %% [markdown]
# ## How much distance comes from sampling alone
#
# Two samples of *one* patient are not at distance 0: the fewer cells, the farther apart. So before you read anything into a distance, split some patients into
# two random halves and see how far apart those are. The halves have half the cells, so they are farther apart than two samples of the full size would be. Here
# they are about as far apart as two patients of one kind, and closer than two patients of different kinds.

# %%
halves = []
for at in range(6):
    _, cells = cohort[at]
    order = rng.permutation(len(cells))
    halves += [cells[order[: len(cells) // 2]], cells[order[len(cells) // 2 :]]]
null = tp.emd_pairs(halves, [(2 * at, 2 * at + 1) for at in range(6)])
apart = table.to_numpy()[np.triu_indices(16, 1)]
print(
    f"two halves of one patient: {null.mean():.2f}; two patients: {apart.min():.2f} to {apart.max():.2f}"
)

# %% [markdown]
# `correct="sampling"` takes that part away, with intervals ([how](../SAMPLING.md)). What is left no longer depends on the numbers of cells. Patients of one kind differ, too, because
# their shares of types do; those of different kinds are now twice as far apart as they are.

# %%
corrected = tp.emd_pairwise(cohort, correct="sampling")
alike = (ill[:, None] == ill)[np.triu_indices(16, 1)]
for name, kind in (("of one kind", alike), ("of different kinds", ~alike)):
    values = corrected.value.to_numpy()[np.triu_indices(16, 1)][kind]
    print(f"two patients {name}: {apart[kind].mean():.2f}, corrected {values.mean():.2f}")

# %% [markdown]
# ## Do the groups differ?
#
# A permutation test of the groups: PERMANOVA, and a test of equal spread beside it.

# %%
test = tp.group_test(table, ["ill" if is_ill else "well" for is_ill in ill])
print(
    f"p = {test.pvalue:.3f}, R² = {test.r_squared:.2f}; equal spread p = {test.spread_pvalue:.3f}"
)

# %% [markdown]
# ## What moves between two patients
#
# The plan of one distance, summed by the types of the cells. The diagonal is noise within a type. Off the diagonal, cells of other types turn into
# type 3, which is more frequent in the ill.

# %%
(types_of_well, well_cells), (types_of_ill, ill_cells) = patients["well00"], patients["ill01"]
plan = tp.solve(None, None, well_cells, ill_cells)
by = plan.plan_by([f"type {one}" for one in types_of_well], [f"type {one}" for one in types_of_ill])
print(by.table[by.table.source != by.table.target].head(5).round(3))

# %% [markdown]
# ## Nearest patients, proved
#
# Leave one patient out: do its neighbors have the same diagnosis?

# %%
nn = tp.WassersteinNeighbors(n_neighbors=3).fit(cohort)
distances, numbers = nn.kneighbors()
votes = ill[numbers].mean(axis=1) > 0.5
print(f"right for {np.mean(votes == ill):.0%} of the patients")

# %% [markdown]
# ## What to try next
#
# - Your own cells: `tp.Clouds(adata, groupby="patient")`, or a long table: [clouds](../CLOUDS.md).
# - Thousands of cells per patient: [one problem of any size](../SCALE.md#one-problem-of-any-size).
# - Cell types within one sample, and trees over them: [cells](cells.py).
