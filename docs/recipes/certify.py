# needs: ot
# %% [markdown]
# # Recipe: certify the answer of another solver
#
# *How far is the plan of another package from the optimum?* An entropic plan, a greedy matching or a learned map comes with a cost, but not with a
# proof. `tp.certify` takes the plan, the potentials, or both, and returns bounds that hold for the optimum. The solvers here are POT's exact solver, POT's
# Sinkhorn, an entropic iteration in the logarithmic domain as in OTT, and a greedy matching, all on the same points.

# %%
import matplotlib.pyplot as plt
import numpy as np
import ot
import treeport as tp
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

rng = np.random.default_rng(0)
n = 400
x, y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2)) + [1.5, 0]
cost, mass = cdist(x, y), np.full(n, 1 / n)

proposals = {}
plan, log = ot.emd(mass, mass, cost, log=True)
proposals["POT, exact"] = plan, (log["u"], log["v"])
plan, log = ot.sinkhorn(mass, mass, cost, 0.05, log=True, stopThr=1e-4, warn=False)
proposals["POT, Sinkhorn"] = plan, (0.05 * np.log(log["u"]), 0.05 * np.log(log["v"]))

f, g, epsilon = np.zeros(n), np.zeros(n), 0.02
for _ in range(100):  # stopped early, so the marginals of the plan are wrong
    f = -epsilon * logsumexp((g - cost) / epsilon, b=mass, axis=1)
    g = -epsilon * logsumexp((f[:, None] - cost) / epsilon, b=mass[:, None], axis=0)
entropic = mass[:, None] * mass * np.exp((f[:, None] + g - cost) / epsilon)
proposals["log domain"] = entropic.astype(np.float32), (f, g)

greedy, free = np.empty(n, dtype=int), list(range(n))
for i in range(n):
    greedy[i] = free.pop(int(np.argmin(cost[i, free])))
proposals["greedy matching"] = greedy, None

# %%
print(f"{'':16} {'lower':>8} {'upper':>8} {'at most off by':>15} {'rerouted':>9}")
found = {}
for name, (plan, potentials) in proposals.items():
    found[name] = one = tp.certify(mass, mass, x, y, plan=plan, potentials=potentials)
    off = f"{one.relative_gap:.2%}"
    print(f"{name:16} {one.lower:8.4f} {one.upper:8.4f} {off:>15} {one.rerouted:9.1e}")

exact = tp.emd(mass, mass, x, y)
assert all(one.lower <= exact * (1 + 1e-9) for one in found.values())  # a check of this page
assert all(exact <= one.upper * (1 + 1e-9) for one in found.values())
assert found["POT, exact"].relative_gap < 1e-9 < found["greedy matching"].relative_gap

# %%
figure, axis = plt.subplots(figsize=(6, 1.8))
for row, (name, one) in enumerate(found.items()):
    axis.plot([one.lower, one.upper], [row, row], marker="|", linewidth=4, label=name)
axis.axvline(exact, color="gray", linewidth=1)
axis.set(yticks=range(len(found)), yticklabels=found, xlabel="proved interval")
plt.tight_layout()

# %% [markdown]
# **How to read it.** The optimum lies between `lower` and `upper`. `upper` is the cost of the plan after it was rounded to the right marginals, and `rerouted`
# is the mass that this moved elsewhere: a plan whose marginals are wrong may look cheaper than the optimum. `lower` comes from the potentials, which need not be
# feasible: c-transforms make them so. The matching has no potentials, so treeport solves the problem for the lower bound, and the width is how much the
# greedy plan really costs too much. With a plan and potentials, nothing is solved.
#
# **What next.** Large problems: with coordinates, memory is linear in points and moves, and `accuracy=0.01` or `time=60` bounds the work for what is
# missing; a sparse plan, `(source, target, mass)` or a list of targets needs no table. If a plan is not good enough, let treeport solve the problem from the
# start: [one huge pair](huge_pair.py), and [for users of POT](../FROM_POT.md). On the command line it is `treeport certify` ([commands](../COMMANDS.md)).
