"""Other solvers on the same GPU, and what their answers prove: the part `peers` of `bench_card.py`.

    treeport         `tp.emd(..., accuracy=..., device="cuda")`, within five percent and within one
    pot              POT's `sinkhorn2(method="sinkhorn_log")` on tensors of PyTorch: the table of costs is in memory
    pot-lazy         POT's `empirical_sinkhorn(isLazy=True)`, 1,000 rows at a time; it measures in NumPy, on the CPU
    geomloss         GeomLoss' `SamplesLoss(backend="tensorized")`: the table of costs is in memory
    geomloss-online  the same with `backend="online"`, which compiles its kernels by KeOps
    ott              OTT-JAX's `Sinkhorn` on the table of costs
    ott-online       OTT-JAX's `Sinkhorn` on coordinates, 256 rows at a time

Peers compute in single precision, as their users have them do on a GPU. Their regularization ε is lowered step by step, from
0.1 of the mean cost on (`epsilon` in the rows is that share), until what they answer is proved within one percent. POT and OTT begin a step
with the potentials of the step before, and stop where marginals are off by 0.001 altogether; `pot` measures that by a 2-norm, and is given
0.001/√n, which is as much where all points are equally off, and stricter elsewhere. GeomLoss has no such rule: it lowers ε by itself
in every step, by the factor `scaling`, which is brought nearer to 1 when ε is small. `seconds` are those of a step, `altogether` those that a
user waits for this answer: with the steps before it, where it began with them. Compiling and a small problem go before. A process
of its own has each of them: what takes longer than the limit for one step is stopped, and what runs out of memory is a row that says so.

What is proved comes from the potentials g of the second side, the same way for all peers, some rows of costs at a time in double
precision. Lower bound: f_i = min_j (c_ij − g_j), then g_j = min_i (c_ij − f_i), and Σ a_i f_i + Σ b_j g_j. Upper bound: the cost of the
entropic plan of g, P_ij = a_i exp((g_j − c_ij)/ε) / Σ_k exp((g_k − c_ik)/ε), brought to both marginals as Altschuler, Weed and Rigollet
(2017) do: columns that have too much are scaled down, and what is then missing is moved as the product of what the rows and the
columns lack. Costs are roots of |x|² + |y|² − 2xy, so that a slack goes off their squares in the lower bound and on them in the upper
one. The last sums are those of double precision, and are good to 1e-11 or so of the bounds.

For treeport `lower` and `upper` are what `emd` says, and `judged` is the lower bound that its potentials prove this way.
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

#: Shares of the mean cost, for GeomLoss with the factor by which it comes down to them.
EPSILONS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
SCALINGS = ((0.03, 0.9), (0.01, 0.9), (0.01, 0.97), (0.003, 0.97), (0.003, 0.99), (0.003, 0.997), (0.001, 0.999))
ACCURACIES = (0.05, 0.01)
#: What marginals of a peer may be off altogether.
MISSED = 1e-3
MOST_ITERATIONS = 100_000
#: Seconds for imports, compilers and a small problem; and for the proof of one answer.
PREPARING, PROVING = 240, 120


def clouds(rng, n):
    """Two clouds of n points in clusters of unequal weight in R⁵⁰, as in the part `clusters`."""
    centers = 3 * rng.normal(size=(40, 50))
    shares = rng.dirichlet(np.ones(40), size=2)
    return [centers[rng.choice(40, n, p=share)] + rng.normal(size=(n, 50)) for share in shares]


# What answers prove.


class Judge:
    """Bounds that potentials prove, for equal masses and Euclidean costs."""

    def __init__(self, x, y, device):
        x, y = (torch.from_numpy(side).to(device, torch.float64) for side in (x, y))
        center = x.mean(0)
        self.x, self.y = x - center, y - center
        self.norms = [(side * side).sum(1) for side in (self.x, self.y)]
        largest = sum(float(norms.max()) for norms in self.norms)
        # Twice what two norms, a product of `dim` terms and two sums lose in double precision.
        self.slack = 2 * (x.shape[1] + 4) * torch.finfo(torch.float64).eps * largest
        self.rows = max(1, (1 << 27 if self.x.is_cuda else 1 << 22) // len(y))

    def costs(self, sign):
        """Costs from some rows to all points, and which rows; none is too large (sign -1), or too small (1)."""
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
            """These rows of the plan, whose sums are right."""
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


# Peers: from two clouds and a device a function from ε and where to begin to a value and potentials.


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


def pot_lazy(x, y, device):
    import ot

    x, y = (torch.from_numpy(side).to(device, torch.float32) for side in (x, y))

    def solve(epsilon, start):
        found = ot.bregman.empirical_sinkhorn(
            x, y, epsilon, metric="euclidean", isLazy=True, batchSize=1_000, numIterMax=MOST_ITERATIONS,
            stopThr=MISSED, warmstart=scaled(start, 1 / epsilon),
        )  # fmt: skip
        return None, scaled(found, epsilon)

    return solve


def scaled(potentials, by):
    return None if potentials is None else tuple(by * side for side in potentials)


def geomloss(x, y, device, backend="tensorized"):
    from geomloss import SamplesLoss

    x, y = (torch.from_numpy(side).to(device, torch.float32) for side in (x, y))

    def solve(epsilon, scaling):
        loss = SamplesLoss("sinkhorn", p=1, blur=epsilon, scaling=scaling, debias=False, potentials=True, backend=backend)
        f, g = (side.flatten() for side in loss(x, y))
        return f.mean() + g.mean(), (f, g)

    solve.scalings = SCALINGS
    return solve


def geomloss_online(x, y, device):
    import pykeops  # GeomLoss says nothing of use where it is not there

    if device != "cpu" and not pykeops.config.gpu_available:
        raise RuntimeError(f"KeOps finds no GPU: {pykeops.config.pykeops_cuda.cuda_message}")
    return geomloss(x, y, device, "online")


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
    # OTT-JAX 0.6 looks for types that `vmap` takes as one leaf, which newer versions of JAX keep to themselves; here are none.
    if not hasattr(jax.interpreters.batching, "is_vmappable"):
        jax.interpreters.batching.is_vmappable = lambda _: False

    @jax.jit
    def solver(x, y, epsilon, start):
        if rows is None:
            geom = geometry.Geometry(cost_matrix=costs.Euclidean().all_pairs(x, y), epsilon=epsilon)
        else:
            geom = pointcloud.PointCloud(x, y, cost_fn=costs.Euclidean(), epsilon=epsilon, batch_size=rows)
        solve = sinkhorn.Sinkhorn(threshold=MISSED, max_iterations=MOST_ITERATIONS)
        out = solve(linear_problem.LinearProblem(geom), init=start)
        return out.reg_ot_cost, (out.f, out.g)

    x, y = (jax.numpy.asarray(side, "float32") for side in (x, y))
    zeros = tuple(jax.numpy.zeros(len(side), "float32") for side in (x, y))
    compiled = solver.lower(x, y, jax.numpy.float32(1), zeros).compile()

    def solve(epsilon, start):
        return jax.block_until_ready(compiled(x, y, jax.numpy.float32(epsilon), zeros if start is None else start))

    def peak():
        return (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)

    solve.peak = peak
    return solve


def ott_online(x, y, device):
    return ott(x, y, device, 256)


PEERS = {
    "pot": (pot, ["POT"]), "pot-lazy": (pot_lazy, ["POT"]), "geomloss": (geomloss, ["geomloss"]),
    "geomloss-online": (geomloss_online, ["geomloss", "pykeops"]), "ott": (ott, ["ott-jax", "jax"]),
    "ott-online": (ott_online, ["ott-jax", "jax"]),
}  # fmt: skip
NAMES = ["treeport", *PEERS]


# One of them in a process of its own, which prints a line as soon as something is done.


def say(**found):
    # Compilers print, too, and not always a whole line.
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
        width = 1 - bounds.lower / bounds.upper
        row = {"accuracy": accuracy, "seconds": round(spent, 2), "altogether": round(spent, 2), "gigabytes": memory}
        say(row={**row, "lower": bounds.lower, "upper": bounds.upper, "gap": round(width, 6), "judged": judge.lower(g)})


def lowered(make, packages, x, y, device):
    """One peer, its regularization lowered step by step."""
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
        row = {"epsilon": share, "seconds": round(spent, 2), "altogether": round(altogether, 2), "gigabytes": memory}
        gap = proved(judge, epsilon, found[1], {**row, "scaling": scaling} if scaling else row, value)
        if gap <= ACCURACIES[-1]:
            return


def proved(judge, epsilon, g, row, value):
    """Says a row with what potentials prove, and returns the gap."""
    begun = time.perf_counter()
    g = g if torch.is_tensor(g) else torch.from_numpy(np.array(g))
    g = g.to(judge.x.device, torch.float64)
    lower, upper = judge.lower(g), judge.upper(g, epsilon)
    gap = 1 - lower / upper
    proving = round(time.perf_counter() - begun, 2)
    value = None if value is None else float(value)
    say(row={**row, "lower": lower, "upper": upper, "gap": round(gap, 6), "value": value, "proving": proving})
    return gap


def child(name, points, seed, device):
    warnings.simplefilter("ignore")
    try:
        x, y = clouds(np.random.default_rng(seed), points)
        if name == "treeport":
            ours(x, y, device)
        else:
            lowered(*PEERS[name], x, y, device)
    except Exception as error:  # what stops a peer is what its row says
        say(stopped=reason(error))


def rows(names, sizes, seed, device, limit):
    """The rows of all peers at all sizes."""
    for points in sizes:
        for name in names:
            yield from asked(name, points, seed, device, limit)


def environment_of(name):
    """Where KeOps and the compiler that it runs look for CUDA; the others bring what they need."""
    from torch.utils.cpp_extension import CUDA_HOME

    environment = dict(os.environ)
    if name != "geomloss-online" or CUDA_HOME is None:
        return environment
    with open("/proc/self/maps") as maps:
        driver = {os.path.dirname(line.split()[-1]) for line in maps if "libcuda.so" in line}
    folders = [os.path.join(CUDA_HOME, "lib64"), *sorted(driver)]
    environment.setdefault("CUDA_PATH", CUDA_HOME)
    for variable, more in (("LD_LIBRARY_PATH", []), ("LIBRARY_PATH", [os.path.join(CUDA_HOME, "lib64", "stubs")])):
        before = environment.get(variable)
        environment[variable] = os.pathsep.join([*([before] if before else []), *folders, *more])
    return environment


def asked(name, points, seed, device, limit):
    """What a process says, as long as no step takes longer than the limit."""
    command = [sys.executable, __file__, name, str(points), str(seed), device]
    process = subprocess.Popen(command, env=environment_of(name), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines, errors = queue.Queue(), []
    threading.Thread(target=lambda: [*map(lines.put, process.stdout), lines.put(None)], daemon=True).start()
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
                    yield {**case, "step": step, "stopped": f"exit {process.returncode}: {''.join(errors[-1:]).strip()[:200]}"}
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
    parser = argparse.ArgumentParser(description="One peer, for `bench_card.py`.")
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("points", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("device")
    child(**vars(parser.parse_args()))
