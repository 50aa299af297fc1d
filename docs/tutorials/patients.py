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
    """Some hundred cells in ten dimensions."""
    shares = rng.dirichlet(np.full(8, 20.0) + (60.0 if ill else 0.0) * (np.arange(8) == 3))
    which = rng.choice(8, size=rng.integers(300, 900), p=shares)
    return types[which] + rng.normal(size=(len(which), 10)) + 0.5 * ill * (which == 3)[:, None]


ill = np.arange(16) % 2 == 1
cohort = tp.Clouds({f"{'ill' if is_ill else 'well'}{at:02}": patient(is_ill) for at, is_ill in enumerate(ill)})
print(cohort)

# %% [markdown]
# ## All pairs, with all cells
#
# We use all cells, without subsampling. `accuracy=0.01` gives two tables that are at most one percent apart, and every distance is proved to lie between
# them. Leave it out for exact distances.

# %%
bounds = tp.emd_pairwise(cohort, accuracy=0.01)
table = (bounds.lower + bounds.upper) / 2
print(table.iloc[:4, :4].round(2))

# %%
squares = table.to_numpy() ** 2
middle = np.eye(16) - 1 / 16
values, vectors = np.linalg.eigh(-0.5 * middle @ squares @ middle)  # classical scaling: a map of the table
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
print(f"two halves of one patient: {null.mean():.2f}; two patients: {apart.min():.2f} to {apart.max():.2f}")

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
# - Cell types within one sample, and trees over them: [cells](cells.md).
