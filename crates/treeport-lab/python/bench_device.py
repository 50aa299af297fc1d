"""Large exact problems with a GPU that scans all pairs: ``treeport-lab bench device``.

Bounds are certified by `tp.emd(..., device="cuda")`; `gpu` is the share of time in scans on the GPU, and
`scans` their number. The first call of each kind compiles kernels, so a small problem precedes the measurement.

    clusters  100,000 points a side in 40 clusters in R⁵⁰, within one percent
    space     100,000 a side, uniform in R³, within one percent
    plane     100,000 a side, uniform in the plane, within one percent; and with one cloud shifted by half
    cells     all pairs of 30 samples of 2,000 cells in R³⁰, within one percent, and without the GPU
    million   1,000,000 a side in 40 clusters in R⁵⁰, within two percent
    exact     100,000 a side in clusters, exactly
    limit     the share of the GPU's instruction rate that scans reach
    search    1,000 queries among 11,000 documents of about 80 words, ten neighbors each: the GPU, all cores, one core
    judge     thousands of small problems, exactly and as bounds, against the solver without a GPU
    peers     10,000 and 100,000 points a side in clusters, beside POT, GeomLoss and OTT-JAX on the same GPU: certified
              bounds and times (`device_peers.py`); packages that cannot be imported have rows with the error

PYTHONPATH may name a folder with the other packages. `peers --points 500 --cpu` tries that part without a GPU.
"""

import argparse
import json
import time

import device_peers
import numpy as np
import torch
import treeport as tp
from point_clouds import clouds
from scipy import sparse
from treeport._devices import scans, scans_cuda


class Watched(scans_cuda.CudaScanEngine):
    """An engine that records the time of its scans."""

    seconds, scans, rows = 0.0, 0, 0

    def nearest(self, formula, source, rows, *rest):
        begun = time.perf_counter()
        found = super().nearest(formula, source, rows, *rest)
        Watched.seconds += time.perf_counter() - begun
        Watched.scans += 1
        Watched.rows += len(rows)
        return found


def watched(work):
    """Returns the result of work, its time and the figures of the GPU."""
    Watched.seconds, Watched.scans, Watched.rows = 0.0, 0, 0
    torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    found = work()
    spent = time.perf_counter() - begun
    gigabytes = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    return found, {
        "seconds": round(spent, 2), "gpu": round(Watched.seconds / spent, 3), "scans": Watched.scans,
        "rows": Watched.rows, "gigabytes": gigabytes,
    }  # fmt: skip


def bounded(rng, kind, n, accuracy, most):
    x, y = clouds(rng, kind, n)
    even = np.full(n, 1 / n)
    bounds, spent = watched(
        lambda: tp.emd(even, even, x, y, accuracy=accuracy, time=most, device="cuda")
    )
    width = 1 - bounds.lower / bounds.upper
    return {
        "case": f"{n} points, {kind}",
        **spent,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "width": round(width, 6),
    }


def all_bounded(kinds, n, accuracy):
    """Returns a part that bounds a problem for each kind of clouds."""
    return lambda rng, most: (bounded(rng, kind, n, accuracy, most) for kind in kinds)


def cells(rng, _):
    samples, count = 30, 2_000
    centers = 2 * rng.normal(size=(12, 30))
    shares = rng.dirichlet(np.full(12, 3.0), size=samples)
    found = [
        centers[rng.choice(12, count, p=share)] + rng.normal(size=(count, 30)) for share in shares
    ]
    tp.emd_pairwise([cloud[:300] for cloud in found[:3]], accuracy=0.05, device="cuda")  # compiles
    for device in ("cuda", None):
        bounds, spent = watched(lambda: tp.emd_pairwise(found, accuracy=0.01, device=device))
        above = bounds.upper > 0
        width = np.max(1 - bounds.lower[above] / bounds.upper[above])
        yield {"case": f"435 pairs of 2,000 cells, {device}", **spent, "width": round(width, 6)}


def documents(rng, count, words=20_000, dim=300, topics=60):
    """Draws documents of about 80 words, mostly of two topics, with frequencies of a language."""
    of_word = rng.integers(topics, size=words)
    vectors = 0.6 * rng.normal(size=(topics, dim))[of_word] + rng.normal(size=(words, dim))
    often = 1 / (10 + rng.permutation(words))
    start, places, masses = [0], [], []
    for _ in range(count):
        weights = often * (0.7 * topics * rng.dirichlet(np.full(topics, 0.02))[of_word] + 0.3)
        drawn, counts = np.unique(
            rng.choice(words, size=rng.poisson(95) + 5, p=weights / weights.sum()),
            return_counts=True,
        )
        start.append(start[-1] + len(drawn))
        places.append(drawn)
        masses.append(counts.astype(float))
    return sparse.csr_array(
        (np.concatenate(masses), np.concatenate(places), start), shape=(count, words)
    ), vectors


def search(rng, _):
    """Times searches of ten neighbors: a first call, which may compile kernels, and a second."""
    collection, queries = 11_000, 1_000
    rows, vectors = documents(rng, collection + queries)
    kept = tp.WassersteinNeighbors(vectors).fit(rows[:collection])
    asked, found, times = rows[collection:], {}, {}
    for name, device, jobs in (
        ("gpu, first", "cuda", None),
        ("gpu", "cuda", None),
        ("all cores", None, None),
        ("one core", None, 1),
    ):
        kept.set_params(device=device, n_jobs=jobs)
        begun = time.perf_counter()
        found[name] = kept.kneighbors(asked, return_bounds=True)
        times[name] = time.perf_counter() - begun
    same = all(np.array_equal(found["gpu"][k], found["one core"][k]) for k in (0, 1))
    yield {
        "case": f"{queries} queries among {collection} documents of {np.diff(rows.indptr).mean():.0f} words",
        **{f"{name}, seconds": round(spent, 3) for name, spent in times.items()},
        "ratio": round(times["one core"] / times["gpu"], 1), "same": same,
        "solved": {name: found[name][3].mean() for name in ("gpu", "one core")},
    }  # fmt: skip


def limit(rng, _):
    """Measures the share of the GPU's instruction rate, with two for each coordinate of a pair."""
    engine = scans_cuda.CudaScanEngine("cuda")
    properties = torch.cuda.get_device_properties(0)
    most = properties.multi_processor_count * 128 * torch.cuda.clock_rate() * 1e6
    for dim in (50, 3):
        count, size = 16_384, 100_032
        left = torch.randn((dim, count), device="cuda")
        right = torch.randn((dim, size), device="cuda")
        prices, least = (
            torch.rand(size, device="cuda"),
            torch.empty((count, size // scans.BLOCK), device="cuda"),
        )
        times = []
        for _ in range(5):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            engine.minima(left, right, prices, least, 0)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begun)
        done = 2 * dim * count * size / min(times)
        yield {
            "case": f"least costs, R^{dim}",
            "milliseconds": round(1e3 * min(times), 2),
            "share": round(done / most, 3),
        }


def judge(rng, _):
    """Compares small problems of all kinds and metrics with the solver without a GPU."""
    scans_cuda.CudaScanEngine.takes_all = True
    metrics = ("euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine")
    missed, problems = 0, 2_000
    for trial in range(problems):
        n, m, dim = rng.integers(2, 80), rng.integers(2, 80), rng.integers(2, 8)
        metric, kind = metrics[trial % 5], trial // 5 % 4
        x, y = rng.normal(size=(n, dim)), rng.normal(size=(m, dim))
        if kind == 1:
            x, y = np.round(x) + 0.5, np.round(y) + 0.5
        if kind == 2:
            x, y = 1e-3 * x + 1e4, 1e-3 * y + 1e4
        a, b = (
            10.0 ** rng.uniform(-10, 0, size) if kind == 3 else rng.random(size) for size in (n, m)
        )
        a, b = a / a.sum(), b / b.sum()
        value = tp.emd(a, b, x, y, metric=metric)
        ours = tp.emd(a, b, x, y, metric=metric, device="cuda")
        bounds = tp.emd(a, b, x, y, metric=metric, device="cuda", accuracy=0.05)
        slack = 2e-9 * value
        missed += not (
            abs(ours - value) <= slack
            and bounds.lower <= value + slack
            and bounds.upper >= value - slack
        )
    scans_cuda.CudaScanEngine.takes_all = False
    yield {"case": f"{problems} small problems", "missed": missed}


PARTS = {
    "clusters": all_bounded(["clusters"], 100_000, 0.01),
    "space": all_bounded(["space"], 100_000, 0.01),
    "plane": all_bounded(["plane", "shifted"], 100_000, 0.01),
    "cells": cells,
    "million": all_bounded(["clusters"], 1_000_000, 0.02),
    "exact": all_bounded(["clusters"], 100_000, "exact"),
    "limit": limit,
    "search": search,
    "judge": judge,
}
NAMES = [*PARTS, "peers"]


def found_by(name, args):
    """Returns the rows of one part."""
    if name == "peers":
        device = "cpu" if args.cpu else "cuda"
        return device_peers.rows(args.peers, args.points, args.seed, device, args.limit)
    return PARTS[name](np.random.default_rng(args.seed), args.time)


def listed(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="which to run; all of them unless some are named")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--time", type=float, help="seconds after which bounds will do as they are")
    parser.add_argument("--seed", type=int, default=0)
    sizes = [10_000, 100_000]
    parser.add_argument(
        "--points",
        type=lambda text: [*map(int, listed(text))],
        default=sizes,
        help="sizes for `peers`: 10000,100000",
    )
    parser.add_argument(
        "--peers",
        type=listed,
        default=device_peers.NAMES,
        help=f"some of {','.join(device_peers.NAMES)}",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60,
        help="seconds for one step of a peer, or one answer of ours",
    )
    parser.add_argument("--cpu", action="store_true", help="only `peers`, without a GPU, to try it")
    args = parser.parse_args()
    parts = args.parts or (["peers"] if args.cpu else NAMES)
    for what, given, known in (("part", parts, NAMES), ("peer", args.peers, device_peers.NAMES)):
        if unknown := set(given) - set(known):
            parser.error(
                f"no {what} is called {', '.join(sorted(unknown))}; there are {', '.join(known)}"
            )
    if args.cpu and set(parts) != {"peers"}:
        parser.error("only `peers` can do without a GPU")
    scans_cuda.CudaScanEngine = Watched
    if set(parts) != {"peers"}:  # these begin in processes of their own
        rng = np.random.default_rng(args.seed)
        for kind in ("clusters", "plane", "space"):
            bounded(rng, kind, 5_000, 0.05, args.time)
    device = "cpu" if args.cpu else torch.cuda.get_device_name()
    for name in parts:
        for found in found_by(name, args):
            found = {"bench": "device", "part": name, "device": device, **found}
            print(
                json.dumps(found)
                if args.json
                else "  ".join(f"{key} {value}" for key, value in found.items()),
                flush=True,
            )


if __name__ == "__main__":
    main()
