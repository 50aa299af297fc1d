# %% [markdown]
# # Recipe: images
#
# *How far is one picture from another, and what lies between them?* If you compare pixel by pixel, a stroke that has moved by one pixel is as
# wrong as a missing one. Transport asks how far the ink has to move. The pictures are the 8 × 8 handwritten digits
# that come with scikit-learn: a pixel is a point, and its ink is its mass.

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp
from sklearn.datasets import load_digits

digits = load_digits()
pixels = np.indices((8, 8)).reshape(2, -1).T.astype(float)  # row and column of every pixel
ink = digits.data / digits.data.sum(axis=1, keepdims=True)  # a total of 1 in every picture

one, other = 0, 3
distance, plan = tp.emd(ink[one], ink[other], points=pixels, return_plan=True)
moves = plan.tocoo()
print(
    f"a {digits.target[one]} and a {digits.target[other]}: ink moves by {distance:.2f} pixels on average"
)

# %%
figure, axes = plt.subplots(2, 5, figsize=(8, 3.6))
for step, share in enumerate(np.linspace(0, 1, 5)):
    places = (1 - share) * pixels[moves.row] + share * pixels[moves.col]  # every move, so far along
    moved = np.histogramdd(places, bins=(8, 8), range=[(-0.5, 7.5)] * 2, weights=moves.data)[0]
    mixed = ((1 - share) * ink[one] + share * ink[other]).reshape(8, 8)
    for axis, picture in zip(axes[:, step], (moved, mixed)):
        axis.imshow(picture, cmap="gray_r")
        axis.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("transport")
axes[1, 0].set_ylabel("average")
axes[0, 2].set_title("halfway")
plt.tight_layout()

# %% [markdown]
# Transport moves the strokes, while the average fades one picture into the other.
#
# Which pictures are nearest? We shift new pictures by one pixel, and give each the label of the nearest of 500 pictures that were not
# shifted. A shift counts like any other move, so pictures are centered first. After that their pixels no longer lie on one grid, so each picture
# brings its own masses and places: `tp.Clouds`. For comparison, we also center by whole pixels and compare pixel by pixel.

# %%
shifted = np.pad(ink[500:700].reshape(-1, 8, 8), ((0, 0), (0, 0), (1, 0)))[:, :, :8].reshape(-1, 64)
truth = digits.target[500:700]


def centered(picture):
    """Masses and places of the pixels that have ink, around their own center."""
    return picture[picture > 0], pixels[picture > 0] - picture @ pixels / picture.sum()


clouds = tp.Clouds(
    [centered(picture) for picture in np.vstack([ink[:500], shifted])], normalize=True
)
nearest = tp.WassersteinNeighbors(n_neighbors=1).fit(clouds[:500])
by_transport = digits.target[nearest.kneighbors(clouds[500:], return_distance=False)[:, 0]]


def right(old, new):
    """How often the picture that is nearest pixel by pixel has the right label."""
    return np.mean(digits.target[((new[:, None] - old) ** 2).sum(axis=2).argmin(axis=1)] == truth)


offsets = np.rint(3.5 - np.vstack([ink[:500], shifted]) @ pixels).astype(
    int
)  # to the middle, by whole pixels
moved = [
    np.roll(picture.reshape(8, 8), by, (0, 1)).ravel()
    for picture, by in zip(np.vstack([ink[:500], shifted]), offsets)
]
print(f"right: {np.mean(by_transport == truth):.0%} by transport, centered")
print(
    f"       {right(np.array(moved[:500]), np.array(moved[500:])):.0%} pixel by pixel, centered; {right(ink[:500], shifted):.0%} as they are"
)
assert np.mean(by_transport == truth) > 0.8  # a check of this page

# %% [markdown]
# **How to read it.** A shift by one pixel breaks the comparison, and centering repairs it. On digits as small as these, transport is then no better
# than centered pixels at finding labels. What it adds is a distance in pixels, the plan, and pictures of any sizes side by side. Give `points=` wherever
# pictures are rows of ink: without it `WassersteinNeighbors` takes all pixels to be one apart.
#
# **What next.** Pictures with different amounts of ink: do not divide by the total, leave out `normalize`, and give `penalty=p`: to add or remove a
# unit of ink then costs p, so that no ink moves farther than 2p pixels, as for [jets](jets.py). Large pictures: [one huge pair](huge_pair.py). Clouds and their files: [clouds](../CLOUDS.md). How neighbors
# are proved: [search](../SEARCH.md).
