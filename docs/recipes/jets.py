# %% [markdown]
# # Recipe: jets
#
# *Which jets are alike?* A jet is a spray of particles: rows of (pT, y, φ), which are momentum, rapidity and angle. The energy mover's distance charges each
# unit of momentum for how far it moves, and each unit that one jet has more than the other for the radius R. The jets are made up: one or two dense cores
# (prongs), with particles of little momentum around them.

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
    places -= np.average(places, axis=0, weights=pt)
    return np.column_stack(
        [pt, places[:, 0], places[:, 1] % (2 * np.pi)]
    )  # at φ = 0, where angles begin again


prongs = rng.integers(1, 3, size=300)
jets = tp.Clouds([jet(count) for count in prongs], weights="first")  # the first column is the mass
R, turn = 0.4, [None, 2 * np.pi]  # φ is an angle: it goes round

nearest = tp.WassersteinNeighbors(penalty=R, period=turn, n_neighbors=5).fit(jets[:250])
distances, numbers, bounds, solved = nearest.kneighbors(jets[250:], return_bounds=True)
print(
    f"pairs solved for a query: {solved.mean():.0f} of 250; no jet that was left out is nearer than bounds[query]"
)

shapes = tp.Clouds([jets[number] for number in range(300)], normalize=True)  # every total becomes 1
by_shape = (
    tp.WassersteinNeighbors(period=turn, n_neighbors=5)
    .fit(shapes[:250])
    .kneighbors(shapes[250:], return_distance=False)
)
for name, found in (("with energies", numbers), ("shapes alone", by_shape)):
    votes = np.array([np.bincount(near).argmax() for near in prongs[found]])
    print(
        f"{name}: the number of prongs is right for {np.mean(votes == prongs[250:]):.0%} of the new jets"
    )
print(f"the commonest number: {max(np.bincount(prongs[250:])) / 50:.0%}")

# %%
query = 250 + np.argmax(prongs[250:] == 2)
to_all = tp.emd_pairwise(shapes[[query]], shapes[:250], period=turn)[0]
shown = {"a new jet": query, "its nearest": to_all.argmin(), "its farthest": to_all.argmax()}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharex=True, sharey=True)
for axis, (name, number) in zip(axes, shown.items()):
    pt, place = jets[number]
    angle = (place[:, 1] + np.pi) % (2 * np.pi) - np.pi
    axis.scatter(place[:, 0], angle, s=20 * pt, alpha=0.6)
    axis.set(title=f"{name}, prongs: {prongs[number]}", xlabel="y")
axes[0].set_ylabel("φ")
plt.tight_layout()

# %% [markdown]
# **How to read it.** The area of a dot is its pT; nearest and farthest are those by shape. With energies, distances are in units of pT times angle, so a jet of much
# momentum is far from one of little. Shapes alone tell the prongs better.
#
# **Mind.** `penalty=R` is R times the energy mover's distance if no two particles are more than 2R apart. Beyond 2R it is cheaper to leave both behind, and EnergyFlow would
# move them: take R at least half as large as the jets are wide, and divide by R for EnergyFlow's values. Without `penalty` the search divides every jet
# by its total, while `emd_pairwise` refuses jets of different totals. More columns than three: `event[:, :3]`.
#
# **What next.** More about jets: [the tutorial](../tutorials/jets.py). The same calls in `wasserstein` and EnergyFlow:
# [coming from EnergyFlow](../FROM_ENERGYFLOW.md). Awkward arrays and files: [clouds](../CLOUDS.md).
