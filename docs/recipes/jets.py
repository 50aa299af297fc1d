# %% [markdown]
# # Jets
#
# *Which jets are alike, though their energies differ?* The energy mover's distance charges each unit of momentum for how far it moves,
# and each unit that is left over for the radius R. An event is an array of (pT, y, φ). The events are made up: one or two
# prongs, with soft particles around them.

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp

rng = np.random.default_rng(0)


def jet(prongs):
    axes = rng.normal(scale=0.25, size=(prongs, 2))
    which = rng.integers(prongs, size=rng.integers(20, 50))
    pt = rng.exponential(size=len(which)) ** 2
    places = axes[which] + rng.normal(size=(len(which), 2)) * (0.08 / np.sqrt(0.3 + pt))[:, None]
    return np.column_stack([pt, places - np.average(places, axis=0, weights=pt) + [0.0, np.pi]])  # at φ = π


prongs = rng.integers(1, 3, size=300)
jets = tp.Clouds([jet(count) for count in prongs], weights="first")  # the first column is the mass
R, turn = 0.4, [None, 2 * np.pi]  # φ is an angle: it goes round

nearest = tp.WassersteinNeighbors(penalty=R, period=turn, n_neighbors=5).fit(jets[:250])
distances, numbers, bounds, solved = nearest.kneighbors(jets[250:], return_bounds=True)
votes = np.array([np.bincount(near).argmax() for near in prongs[numbers]])
print(f"right for {np.mean(votes == prongs[250:]):.0%} of the new jets; the commonest kind is {max(np.bincount(prongs[250:])) / 50:.0%}")
print(f"pairs solved for a query: {solved.mean():.0f} of 250; nothing that was left out is nearer")

# %%
query = 250 + np.argmax(prongs[250:] == 2)
to_all = tp.emd_pairwise(jets[[query]], jets[:250], period=turn, penalty=R)[0]
shown = {"a new jet": query, "its nearest": to_all.argmin(), "its farthest": to_all.argmax()}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
for axis, (name, number) in zip(axes, shown.items()):
    pt, place = jets[number]
    axis.scatter(*place.T, s=20 * pt, alpha=0.6)
    axis.set(title=name if number == query else f"{name}: {to_all[number]:.1f}", xlabel="y")
axes[0].set_ylabel("φ")
plt.tight_layout()

# %% [markdown]
# **How to read it.** The area of a dot is its pT. Distances are in units of pT times angle, so a hard jet is far from a soft
# one. `normalize=True` in `tp.Clouds` compares shapes alone; then you need no penalty.
#
# **What next.** More about jets: [the tutorial](../tutorials/jets.md). The same calls in `wasserstein` and EnergyFlow:
# [coming from EnergyFlow](../FROM_ENERGYFLOW.md). Awkward arrays and files: [clouds](../CLOUDS.md).
