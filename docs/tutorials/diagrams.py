# needs: gudhi, ot
# %% [markdown]
# # Diagrams
#
# A persistence diagram lists the holes of a shape. Each hole is a point (birth, death); the larger the hole, the farther its point is from the diagonal.
# How far apart are two shapes? The distance is what it costs to turn one diagram into the other, where a point may also go to the diagonal and
# vanish. That is a transport problem with a price at each point: its distance to the diagonal.
#
# ```sh
# pip install ./python matplotlib gudhi POT     # in this repository; gudhi.wasserstein needs POT
# ```

# %%
import gudhi
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)


def shape(kind):
    """60 points, with noise, of a circle, of a figure eight, or of no shape at all."""
    angle = rng.uniform(0, 2 * np.pi, 60)
    if kind == "circle":
        places = np.column_stack([np.cos(angle), np.sin(angle)])
    elif kind == "eight":
        side = rng.choice([-1.0, 1.0], 60)
        places = np.column_stack([0.6 * np.cos(angle) + 0.6 * side, 0.6 * np.sin(angle)])
    else:
        places = rng.normal(scale=0.7, size=(60, 2))
    return places + rng.normal(scale=0.06, size=places.shape)


def diagram(places):
    """The loops of its Rips complex, as (birth, death)."""
    complex = gudhi.RipsComplex(points=places, max_edge_length=3.0).create_simplex_tree(
        max_dimension=2
    )
    complex.persistence()
    return complex.persistence_intervals_in_dimension(1)


kinds = np.array(["circle", "eight", "nothing"])[np.arange(90) % 3]
shapes = [shape(kind) for kind in kinds]
found = [diagram(places) for places in shapes]
print("points of a diagram:", min(map(len, found)), "to", max(map(len, found)))

# %%
figure, axes = plt.subplots(2, 3, figsize=(8, 5))
for column in range(3):
    axes[0, column].scatter(*shapes[column].T, s=6)
    axes[0, column].set_aspect("equal")
    axes[0, column].set_title(kinds[column])
    axes[1, column].scatter(*np.reshape(found[column], (-1, 2)).T, s=10, color="tab:red")
    axes[1, column].plot([0, 2], [0, 2], color="0.7", lw=1)
    axes[1, column].set_xlabel("birth")
axes[1, 0].set_ylabel("death")
plt.tight_layout()

# %% [markdown]
# ## Distances
#
# `tp.diagrams` turns the diagrams into clouds, and stores for each point what it costs to go to the diagonal. Empty diagrams are fine. The values
# agree with gudhi's.

# %%
from gudhi.wasserstein import wasserstein_distance

diagrams = tp.diagrams(found)
table = tp.emd_pairwise(diagrams)
theirs = wasserstein_distance(found[0], found[1], order=1, internal_p=2)
print(f"{table[0, 1]:.6f} by treeport, {theirs:.6f} by gudhi")
assert np.isclose(table[0, 1], theirs)

# %% [markdown]
# ## Nearest shapes, proved

# %%
nn = tp.WassersteinNeighbors(n_neighbors=5).fit(diagrams)
distances, numbers = nn.kneighbors()
alike = np.mean(kinds[numbers] == kinds[:, None])
print(f"of the five nearest, {alike:.0%} are of the same kind; at random {1 / 3:.0%}")

# %% [markdown]
# ## What to try next
#
# - `metric="chebyshev"`, in `tp.diagrams` and in `emd_pairwise`, is gudhi's default (`internal_p=inf`).
# - Points that never die have to be dropped or cut off first. The error names the diagram.
# - All calls side by side: [coming from gudhi or persim](../FROM_GUDHI.md).
