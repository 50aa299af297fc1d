# %% [markdown]
# # Recipe: photographs
#
# *Where does the light of a photograph go, if it has to become another photograph?* `tp.solve` takes images as they are: arrays of masses of one shape. The
# distance between neighboring pixels is `grid`. The photographs are two that come with scikit-learn, a temple in China and a flower, made smaller by taking
# means of blocks.

# %%
import matplotlib.pyplot as plt
import numpy as np
import treeport as tp
from sklearn.datasets import load_sample_image


def light(name, block=10):
    """The brightness of a photograph in blocks of pixels, 1 in total."""
    gray = load_sample_image(name).astype(float).mean(axis=2)
    height, width = (size // block * block for size in gray.shape)
    blocks = gray[:height, :width].reshape(height // block, block, width // block, block)
    small = blocks.mean(axis=(1, 3))
    return small / small.sum()


temple, flower = light("china.jpg"), light("flower.jpg")
euclidean = tp.solve(temple, flower, grid=(1.0, 1.0), accuracy=0.01)
manhattan = tp.solve(temple, flower, grid=(1.0, 1.0), metric="manhattan")
print(f"{temple.shape[0]} x {temple.shape[1]} pixels")
print(f"Euclidean: light moves {euclidean.lower:.2f} to {euclidean.upper:.2f} pixels on average")
print(f"Manhattan: {manhattan.value:.2f} pixels, by the engine `{manhattan.engine}`")
assert euclidean.lower <= manhattan.value  # a check of this page

# %%
figure, axes = plt.subplots(1, 3, figsize=(10, 2.6))
euclidean.plot_displacement(axes[0], image=temple, step=3)
axes[1].imshow(flower, cmap="gray")
length = np.linalg.norm(euclidean.displacement, axis=2)
shown = axes[2].imshow(length, cmap="viridis")
figure.colorbar(shown, ax=axes[2])
for axis, title in zip(axes, ("where light goes", "what it becomes", "how far, in pixels")):
    axis.set(title=title, xticks=[], yticks=[])
plt.tight_layout()

# %%
shifted = np.roll(temple, 7, axis=1)
around = tp.solve(temple, shifted, grid=1.0, metric="manhattan", period=[None, temple.shape[1]])
within = tp.solve(temple, shifted, grid=1.0, metric="manhattan")
print(f"shifted by 7 pixels: {around.value:.2f} around the edge, {within.value:.2f} within it")
assert around.value <= 7 and around.value <= within.value

# %% [markdown]
# **How to read it.** Transport compares where light is, not how bright single pixels are. `displacement` has the mean way of the light of each pixel, an
# array of the shape of the image and one entry for each axis. Light that both photographs have at a pixel stays there, because Euclidean and Manhattan distances
# obey the triangle inequality; with `order=2` all of it may move. Manhattan distances are shortest paths between neighbors, so that the engine works on these
# edges and is fast. A `period` lets light leave on one side and come in on the other.
#
# **What next.** Photographs of different brightness: leave out the division by the total and give `penalty`. Many pictures at once: [images](images.py) as
# clouds. Large images: `accuracy=0.01` or `time=60`, as for [one huge pair](huge_pair.py). Volumes are arrays with three axes.
