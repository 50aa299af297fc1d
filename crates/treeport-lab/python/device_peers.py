"""Other solvers on the same GPU, and bounds certified by their results: part `peers` of `bench_device.py`.

    treeport         `tp.emd(..., accuracy=..., device="cuda")`, within five percent and within one
    pot              POT's `sinkhorn2(method="sinkhorn_log")` on tensors of PyTorch: the table of costs is in memory
    geomloss         GeomLoss' `SamplesLoss(backend="tensorized")`: the table of costs is in memory
    ott              OTT-JAX's `Sinkhorn` on the table of costs
    ott-online       OTT-JAX's `Sinkhorn` on coordinates, 256 rows at a time

Peers compute in single precision, as usual on a GPU. Their regularization ε decreases from 0.1 of the mean cost (`epsilon` in
the rows is that share) until the certified gap is at most one percent. POT and OTT start a step from the potentials of the step
before, and stop at a total marginal error of 0.001; `pot` tests the 2-norm and gets 0.001/√n, which is the same for equal errors
and stricter otherwise. GeomLoss has no such rule: it decreases ε within every call by the factor `scaling`, which is nearer to 1
for small ε. `seconds` is the time of a step, `altogether` the time to its result, with the earlier steps it started from.
Compilation and a small problem come first. Every peer has its own process, which is stopped when a step exceeds the limit;
an error, such as missing memory, is a row.

Bounds come from the potentials g of the second side, the same way for all peers, in double precision. Lower bound:
f_i = min_j (c_ij − g_j), then g_j = min_i (c_ij − f_i), and Σ a_i f_i + Σ b_j g_j. Upper bound: the cost of the entropic plan of
g, P_ij = a_i exp((g_j − c_ij)/ε) / Σ_k exp((g_k − c_ik)/ε), rounded to both marginals as by Altschuler, Weed and Rigollet (2017):
columns with too much mass are scaled down, and the missing mass is the product of the deficits of rows and columns. Costs are
square roots of |x|² + |y|² − 2xy; a slack for rounding is subtracted from the squares in the lower bound and added in the upper
one. The final sums are in double precision, with a relative error of about 1e-11.

For treeport, `lower` and `upper` come from `emd`, and `judged` is the lower bound computed here from its potentials.
"""

import argparse
import importlib.metadata
import json
import os
import queue
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import torch
from point_clouds import clouds

#: ε as shares of the mean cost; for GeomLoss with its factor `scaling`.
EPSILONS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
SCALINGS = (
    (0.03, 0.9),
    (0.01, 0.9),
    (0.01, 0.97),
    (0.003, 0.97),
    (0.003, 0.99),
    (0.003, 0.997),
    (0.001, 0.999),
)
ACCURACIES = (0.05, 0.01)
#: Total error of the marginals at which a peer stops.
MISSED = 1e-3
MOST_ITERATIONS = 100_000
#: Seconds for imports, compilation and a small problem, and for the bounds of one result.
PREPARING, PROVING = 240, 120


# Certified bounds.


class Judge:
    """Bounds certified by potentials, for equal masses and Euclidean costs."""

    def __init__(self, x, y, device):
        x, y = (torch.from_numpy(side).to(device, torch.float64) for side in (x, y))
        center = x.mean(0)
        self.x, self.y = x - center, y - center
        self.norms = [(side * side).sum(1) for side in (self.x, self.y)]
        largest = sum(float(norms.max()) for norms in self.norms)
        # Twice the rounding error of two norms, a product of `dim` terms and two sums.
        self.slack = 2 * (x.shape[1] + 4) * torch.finfo(torch.float64).eps * largest
        self.rows = max(1, (1 << 27 if self.x.is_cuda else 1 << 22) // len(y))

    def costs(self, sign):
        """Yields rows of costs that are lower bounds (sign -1) or upper bounds (1)."""
        for at in range(0, len(self.x), self.rows):
            rows = slice(at, at + self.rows)
            squares = torch.addmm(self.norms[1][None, :], self.x[rows], self.y.T, alpha=-2)
            squares += self.norms[0][rows, None] + sign * self.slack
            yield rows, squares.clamp_(min=0).sqrt_()

    def lower(self, g):
        g = g - g.mean()
        f = torch.cat([(costs - g).amin(1) for _, costs in self.costs(-1)])
        back = torch.full_like(g, torch.inf)
        for rows, costs in self.costs(-1):
            torch.minimum(back, (costs - f[rows, None]).amin(0), out=back)
        return float(f.mean() + back.mean())

    def upper(self, g, epsilon):
        n, m = len(self.x), len(self.y)

        def plan(rows, costs):
            """Returns rows of the plan with exact row sums."""
            return torch.softmax((g - costs) / epsilon, 1).div_(n)

        columns = torch.zeros_like(g)
        for rows, costs in self.costs(1):
            columns += plan(rows, costs).sum(0)
        kept = (1 / m / columns).clamp_(max=1)
        rest = torch.empty(n, dtype=g.dtype, device=g.device)
        total = torch.zeros((), dtype=g.dtype, device=g.device)
        for rows, costs in self.costs(1):
            moved = plan(rows, costs).mul_(kept)
            rest[rows] = 1 / n - moved.sum(1)
            total += moved.mul_(costs).sum()
        rest.clamp_(min=0)
        missing = (1 / m - columns * kept).clamp_(min=0)
        if missing.sum() > 0:
            missing /= missing.sum()
            for rows, costs in self.costs(1):
                total += rest[rows] @ (costs @ missing)
        return float(total)


# Peers: from two clouds and a device to a function from ε and a start to a value and potentials.


def pot(x, y, device):
    import ot

    x, y = (torch.from_numpy(side).to(device, torch.float32) for side in (x, y))

    def solve(epsilon, start):
        even = [torch.full((len(side),), 1 / len(side), device=device) for side in (x, y)]
        value, log = ot.sinkhorn2(
            *even, ot.dist(x, y, metric="euclidean"), epsilon, method="sinkhorn_log", log=True,
            numItermax=MOST_ITERATIONS, stopThr=MISSED / len(y) ** 0.5, warmstart=scaled(start, 1 / epsilon),
        )  # fmt: skip
        return value, (epsilon * log["log_u"], epsilon * log["log_v"])

    return solve


def scaled(potentials, by):
    return None if potentials is None else tuple(by * side for side in potentials)


def geomloss(x, y, device):
    from geomloss import SamplesLoss

    x, y = (torch.from_numpy(side).to(device, torch.float32) for side in (x, y))

    def solve(epsilon, scaling):
        loss = SamplesLoss(
            "sinkhorn",
            p=1,
            blur=epsilon,
            scaling=scaling,
            debias=False,
            potentials=True,
            backend="tensorized",
        )
        f, g = (side.flatten() for side in loss(x, y))
        return f.mean() + g.mean(), (f, g)

    solve.scalings = SCALINGS
    return solve


def ott(x, y, device, rows=None):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from ott.geometry import costs, geometry, pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    if device != "cpu" and jax.default_backend() == "cpu":
        raise RuntimeError("JAX finds no GPU")
    # OTT-JAX 0.6 uses `is_vmappable`, which newer versions of JAX made private; no type here needs it.
    if not hasattr(jax.interpreters.batching, "is_vmappable"):
        jax.interpreters.batching.is_vmappable = lambda _: False

    @jax.jit
    def solver(x, y, epsilon, start):
        if rows is None:
            geom = geometry.Geometry(cost_matrix=costs.Euclidean().all_pairs(x, y), epsilon=epsilon)
        else:
            geom = pointcloud.PointCloud(
                x, y, cost_fn=costs.Euclidean(), epsilon=epsilon, batch_size=rows
            )
        solve = sinkhorn.Sinkhorn(threshold=MISSED, max_iterations=MOST_ITERATIONS)
        out = solve(linear_problem.LinearProblem(geom), init=start)
        return out.reg_ot_cost, (out.f, out.g)

    x, y = (jax.numpy.asarray(side, "float32") for side in (x, y))
    zeros = tuple(jax.numpy.zeros(len(side), "float32") for side in (x, y))
    compiled = solver.lower(x, y, jax.numpy.float32(1), zeros).compile()

    def solve(epsilon, start):
        return jax.block_until_ready(
            compiled(x, y, jax.numpy.float32(epsilon), zeros if start is None else start)
        )

    def peak():
        return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)

    solve.peak = peak
    return solve


def ott_online(x, y, device):
    return ott(x, y, device, 256)


PEERS = {
    "pot": (pot, ["POT"]),
    "geomloss": (geomloss, ["geomloss"]),
    "ott": (ott, ["ott-jax", "jax"]),
    "ott-online": (ott_online, ["ott-jax", "jax"]),
}
NAMES = ["treeport", *PEERS]


# One peer in its own process, which prints a line after each step.


def say(**found):
    # Compilers print too, and not always a whole line.
    print("\npeer: " + json.dumps(found), flush=True)


def waited(device):
    if device != "cpu":
        torch.cuda.synchronize()


def gigabytes(device, peak):
    if device == "cpu":
        return None
    return round((torch.cuda.max_memory_allocated() if peak is None else peak()) / 1e9, 2)


def reason(error):
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


def version(of):
    try:
        return f"{of} {importlib.metadata.version(of)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{of}, not installed"


def ours(x, y, device):
    import treeport as tp

    even = np.full(len(x), 1 / len(x))
    on = "tiles" if device == "cpu" else device
    small = slice(0, 5_000 if device != "cpu" else 100)
    tp.emd(None, None, x[small], y[small], accuracy=0.05, device=on)
    say(ready=version("treeport"))
    judge = Judge(x, y, device)
    for accuracy in ACCURACIES:
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats()
        begun = time.perf_counter()
        bounds = tp.emd(even, even, x, y, accuracy=accuracy, device=on, return_potentials=True)
        spent = time.perf_counter() - begun
        memory = gigabytes(device, None)
        say(solved=spent, step=accuracy)
        g = torch.from_numpy(np.ascontiguousarray(bounds.potentials[1])).to(device)
        say(
            row={
                "accuracy": accuracy,
                "seconds": round(spent, 2),
                "altogether": round(spent, 2),
                "gigabytes": memory,
                "lower": bounds.lower,
                "upper": bounds.upper,
                "gap": round(1 - bounds.lower / bounds.upper, 6),
                "judged": judge.lower(g),
            }
        )


def lowered(make, packages, x, y, device):
    """Runs one peer with decreasing regularization."""
    small = make(x[:300], y[:300], device)
    small(10.0, 0.5 if hasattr(small, "scalings") else None)
    solve = make(x, y, device)
    say(ready=", ".join(map(version, packages)))
    judge = Judge(x, y, device)
    some = np.random.default_rng(0).integers(len(x), size=(2, 1_000))
    mean = float(torch.cdist(judge.x[some[0]], judge.y[some[1]]).mean())
    scalings = getattr(solve, "scalings", None)
    found, altogether = None, 0.0
    for share, scaling in scalings or [(share, None) for share in EPSILONS]:
        epsilon = share * mean
        if device != "cpu":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        say(step=share)
        begun = time.perf_counter()
        value, found = solve(epsilon, scaling or found)
        waited(device)
        spent = time.perf_counter() - begun
        altogether = spent if scaling else altogether + spent
        memory = gigabytes(device, getattr(solve, "peak", None))
        say(solved=spent, step=share)
        row = {
            "epsilon": share,
            "seconds": round(spent, 2),
            "altogether": round(altogether, 2),
            "gigabytes": memory,
            **({"scaling": scaling} if scaling else {}),
        }
        gap = proved(judge, epsilon, found[1], row, value)
        if gap <= ACCURACIES[-1]:
            return


def proved(judge, epsilon, g, row, value):
    """Prints a row with certified bounds, and returns the gap."""
    begun = time.perf_counter()
    g = g if torch.is_tensor(g) else torch.from_numpy(np.array(g))
    g = g.to(judge.x.device, torch.float64)
    lower, upper = judge.lower(g), judge.upper(g, epsilon)
    gap = 1 - lower / upper
    bounds = {"lower": lower, "upper": upper, "gap": round(gap, 6), "value": float(value)}
    say(row={**row, **bounds, "proving": round(time.perf_counter() - begun, 2)})
    return gap


def child(name, points, seed, device):
    warnings.simplefilter("ignore")
    try:
        x, y = clouds(np.random.default_rng(seed), "clusters", points)
        if name == "treeport":
            ours(x, y, device)
        else:
            lowered(*PEERS[name], x, y, device)
    except Exception as error:  # reported in the peer's row
        say(stopped=reason(error))


def rows(names, sizes, seed, device, limit):
    """Yields the rows of all peers at all sizes."""
    for points in sizes:
        for name in names:
            yield from asked(name, points, seed, device, limit)


def asked(name, points, seed, device, limit):
    """Yields the output of a process until a step exceeds the limit."""
    command = [sys.executable, __file__, name, str(points), str(seed), device]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, errors = queue.Queue(), []
    threading.Thread(
        target=lambda: [*map(lines.put, process.stdout), lines.put(None)], daemon=True
    ).start()
    threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True).start()
    case, step = {"case": f"{points} points, clusters", "peer": name}, None
    patience, ended = PREPARING, time.monotonic() + PREPARING
    try:
        while True:
            try:
                line = lines.get(timeout=max(0.0, ended - time.monotonic()))
            except queue.Empty:
                yield {**case, "step": step, "stopped": f"it took longer than {patience:g} s"}
                return
            if line is None:
                if process.wait():
                    said = "".join(errors[-1:]).strip()[:200]
                    yield {**case, "step": step, "stopped": f"exit {process.returncode}: {said}"}
                return
            if not line.startswith("peer: "):
                continue
            said = json.loads(line[6:])
            step = said.get("step", step)
            if "ready" in said:
                case["version"] = said["ready"]
            if "row" in said:
                yield {**case, **said["row"]}
            if "stopped" in said:
                yield {**case, "step": step, **said}
            patience = PROVING if "solved" in said else limit
            ended = time.monotonic() + patience
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One peer, for `bench_device.py`.")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("points", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("device")
    child(**vars(parser.parse_args()))
