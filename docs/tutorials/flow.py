# needs: torch
# %% [markdown]
# # Points that flow
#
# `treeport.torch.emd` computes the exact transport cost of PyTorch tensors, with gradients in the points, in the masses, or in a cost matrix. Here two rings
# of points flow into a heart. Each point moves down the gradient of the cost, and nothing else tells it where to go.
#
# ```sh
# pip install ./python matplotlib torch     # in this repository
# ```

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
import treeport as tp
import treeport.torch as tt

torch.manual_seed(0)


def ring(count, radius, center):
    """Points on a circle."""
    angle = 2 * np.pi * torch.arange(count, dtype=torch.float64) / count
    return torch.tensor(center) + radius * torch.stack([angle.cos(), angle.sin()], dim=1)


def heart(count):
    """Points along the outline of a heart, equally far apart."""
    t = np.linspace(0, 2 * np.pi, 5000)
    line = (
        np.stack(
            [
                16 * np.sin(t) ** 3,
                13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t),
            ],
            axis=1,
        )
        / 16
    )
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    places = np.linspace(0, way[-1], count, endpoint=False)
    return torch.tensor(np.stack([np.interp(places, way, line[:, k]) for k in range(2)], axis=1))


rings = torch.cat([ring(120, 0.6, [-1.5, -1.0]), ring(120, 0.8, [1.4, 1.3])])
target = heart(300)
colors = ["tab:blue"] * 120 + ["tab:orange"] * 120
print(len(rings), "points flow to", len(target))

# %% [markdown]
# ## The flow
#
# With `metric="sqeuclidean"` the cost is W₂²: the mean squared distance that mass moves, under the best plan. `None` for the masses means the same mass at every
# point, 1 in total. The plan sends the mass of a point to some targets. The gradient at the point is twice its mass, times the vector from the mean of
# those targets to the point. The masses are 1/n, so a step of `0.1 * n` times the gradient goes a fifth of that way, however many points there are.


# %%
def flow(value, steps, rate):
    """Positions of all points before, during and after gradient descent, and the value at each."""
    x = rings.clone().requires_grad_()
    places, values = [rings], []
    for _ in range(steps):
        loss = value(x)
        loss.backward()
        with torch.no_grad():
            x -= rate * len(x) * x.grad
            x.grad = None
        places.append(x.detach().clone())
        values.append(loss.item())
    return places, values


def transport(x):
    return tt.emd(None, None, x, target, metric="sqeuclidean")


places, values = flow(transport, steps=30, rate=0.1)
for step in (0, 5, 10, 20, 29):
    print(f"step {step:2}: W2 = {values[step] ** 0.5:.4f}")

# %%
figure, axes = plt.subplots(2, 3, figsize=(9, 6), sharex=True, sharey=True)
for axis, step in zip(axes.flat, (0, 2, 4, 7, 12, 30)):
    axis.scatter(*target.T, s=1, color="0.75")
    axis.scatter(*places[step].T, s=5, color=colors)
    axis.set_title("two rings flow into a heart" if step == 0 else f"step {step}", fontsize=9)
    axis.set_aspect("equal")
    axis.set_axis_off()
plt.tight_layout()

# %% [markdown]
# ## Beside a plain baseline
#
# What if each point simply moved to the nearest point of the target? That needs no transport, but nothing stops all points from going to the same places. The exact
# distance shows how well each of the two covers the heart.


# %%
def nearest(x):
    return (torch.cdist(x, target).min(dim=1).values ** 2).mean()


by_nearest, _ = flow(nearest, steps=30, rate=0.1)
for name, last in (
    ("transport", places[-1]),
    ("nearest point", by_nearest[-1]),
    ("no flow", rings),
):
    print(f"{name:14} W1 to the heart = {tt.emd(None, None, last, target).item():.4f}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), sharex=True, sharey=True)
for axis, title, last in (
    (axes[0], "by transport", places[-1]),
    (axes[1], "each to the nearest point", by_nearest[-1]),
):
    axis.scatter(*target.T, s=1, color="0.75")
    axis.scatter(*last.T, s=6, color=colors)
    axis.set_title(title, fontsize=9)
    axis.set_aspect("equal")
    axis.set_axis_off()
plt.tight_layout()

# %% [markdown]
# ## Gradients in the masses
#
# Now the points stay on a grid, and their masses change. The gradient in the masses is the dual potential: where it is large, there is too much mass. Its entries
# add up to 0, so a step along it keeps the total mass. A softmax also keeps the masses positive.

# %%
side = torch.linspace(-1.2, 1.2, 25, dtype=torch.float64)
grid = torch.cartesian_prod(side, side)
logits = torch.zeros(len(grid), dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([logits], lr=0.3)
for step in range(101):
    loss = tt.emd(torch.softmax(logits, dim=0), None, grid, target)
    if step % 25 == 0:
        print(f"step {step:3}: W1 = {loss.item():.4f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# %%
found = torch.softmax(logits, dim=0).detach()
plt.figure(figsize=(4, 3.6))
plt.imshow(found.reshape(25, 25).T, origin="lower", extent=(-1.25, 1.25, -1.25, 1.25), cmap="Greys")
plt.plot(*target.T, ".", ms=1, color="tab:red")
plt.title("masses on a grid that come near a heart", fontsize=9)
plt.axis("off")
plt.tight_layout()

# %% [markdown]
# ## Batches
#
# Leading axes are batch axes, and an input that all problems share is given once. Here we compare every tenth step of the flow with the one target. The values are
# those of `tp.emd`, to the bit, and problems of more than 4,096 pairs of points are solved in parallel.

# %%
batch = torch.stack(places[::10])
together = tt.emd(None, None, batch, target)
one_by_one = [tp.emd(None, None, x.numpy(), target.numpy()) for x in batch]
print(together)
print("the same as one by one:", together.tolist() == one_by_one)

# %% [markdown]
# ## Are they right?
#
# We compare the gradient with a central difference along a random direction. Where the optimal plan changes, the value has a kink, and you get a subgradient.

# %%
x = (rings + 0.01 * torch.randn_like(rings)).requires_grad_()
tt.emd(None, None, x, target).backward()
direction = torch.randn_like(x)
with torch.no_grad():
    ahead, behind = (tt.emd(None, None, x + step * direction, target) for step in (1e-6, -1e-6))
print(
    f"gradient {(x.grad * direction).sum().item():.8f}, difference {(ahead - behind).item() / 2e-6:.8f}"
)
