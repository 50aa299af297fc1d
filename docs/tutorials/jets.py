# %% [markdown]
# # Jets
#
# A jet is a spray of particles from one quark or gluon. It is a *cloud*: a few dozen points in the plane of rapidity y and angle φ, each with a
# momentum pT. How far apart are two jets? The *energy mover's distance* is what it costs to turn one energy flow into the other. If the totals are
# equal, it is the Wasserstein distance.
#
# The jets here are made up in ten lines: prongs at random places, with hard particles near them and soft ones farther out. They are good
# enough to show the calls, but they are not physics.
#
# ```sh
# pip install ./python matplotlib     # in this repository
# ```

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)


def jet(prongs):
    """An array of (pT, y, φ) around a random place; φ goes round."""
    axes = rng.normal(scale=0.25, size=(prongs, 2))
    which = rng.integers(prongs, size=rng.integers(20, 80))
    hardness = rng.exponential(size=len(which))
    places = (
        axes[which] + rng.normal(size=(len(which), 2)) * (0.08 / np.sqrt(0.3 + hardness))[:, None]
    )
    pt = hardness**2
    places -= np.average(
        places, axis=0, weights=pt
    )  # around its own axis, as one does before comparing
    return np.column_stack([pt, places])


kinds = rng.integers(1, 4, size=1200)
events = [jet(prongs) for prongs in kinds]

# %% [markdown]
# ## Clouds
#
# `weights="first"` takes the first column as masses. `normalize` divides each jet by its total, so we compare shapes and not
# energies.

# %%
jets = tp.Clouds(events, weights="first", normalize=True)
print(jets)

# %%
(a, x), (b, y) = jets[0], jets[4]
distance, plan = tp.emd(a, b, x, y, return_plan=True)
print(f"{kinds[0]} and {kinds[4]} prongs, {distance:.3f} apart")
figure, ax = plt.subplots(figsize=(5, 4.2))
for i, j, mass in zip(*plan.nonzero(), plan[plan.nonzero()]):
    ax.plot([x[i, 0], y[j, 0]], [x[i, 1], y[j, 1]], color="0.6", lw=min(3, 60 * mass), zorder=0)
ax.scatter(*x.T, s=900 * a, color="tab:blue", alpha=0.7, label="one jet")
ax.scatter(*y.T, s=900 * b, color="tab:orange", alpha=0.7, label="the other")
ax.set_xlabel("y")
ax.set_ylabel("φ")
ax.set_title("what moves where")
ax.legend()
plt.tight_layout()

# %% [markdown]
# ## Nearest jets, proved
#
# For each of these queries the index solves about a dozen of a thousand pairs, and proves that no other jet is nearer.

# %%
known, new = jets[:1000], jets[1000:]
nn = tp.WassersteinNeighbors(n_neighbors=15).fit(known)
distances, numbers, bounds, solved = nn.kneighbors(new, return_bounds=True)
print(f"pairs solved for a query: {solved.mean():.1f} of {len(known)}")
assert (bounds >= distances[:, -1] * (1 - 1e-9)).all()

# %% [markdown]
# How many prongs does a jet have? Ask its neighbors.

# %%
votes = np.array([np.bincount(kinds[near], minlength=4).argmax() for near in numbers])
truth = kinds[1000:]
print(
    f"right for {np.mean(votes == truth):.0%} of the new jets; the commonest kind alone {np.bincount(truth).max() / len(truth):.0%}"
)

# %% [markdown]
# ## Periodic angles, and energies that differ
#
# Before jets are centered, their φ is an angle. `period` makes it wrap around, so that 3.1 and −3.1 are near. Without `normalize` the totals differ. Then `penalty` is
# the price of each unit of momentum that is not moved (the radius R of the energy mover's distance).

# %%
turned = [
    event + [0.0, 0.0, angle] for event, angle in zip(events[:200], rng.uniform(-np.pi, np.pi, 200))
]
raw = tp.Clouds(turned, weights="first")
search = tp.WassersteinNeighbors(period=[None, 2 * np.pi], penalty=0.4, n_neighbors=3).fit(raw)
near, which = search.kneighbors(raw[:5])
print(np.round(near, 2))
table = tp.emd_pairwise(raw[:5], raw, period=[None, 2 * np.pi], penalty=0.4)
assert np.allclose(np.sort(table, axis=1)[:, :3], near)

# %% [markdown]
# ## What to try next
#
# - Your own jets: an array of (pT, y, φ) for each, or an awkward array of them: [clouds](../CLOUDS.md).
# - [Coming from `wasserstein` or EnergyFlow](../FROM_ENERGYFLOW.md).
# - How fast searches are, and how they are proved: [search](../SEARCH.md#clouds).
