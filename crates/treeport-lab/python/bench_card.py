"""Large exact problems with a GPU that looks through all pairs: ``treeport-lab bench card``.

Bounds are those that `tp.emd(..., device="cuda")` proves; `card` is the share of the time that the GPU was asked, and
`looks` how often. The first call of each kind compiles kernels: a small problem goes before.

    clusters  100,000 points a side in 40 clusters in R⁵⁰, within one percent
    space     100,000 a side, uniform in R³, within one percent
    plane     100,000 a side, uniform in the plane, within one percent; and with one cloud shifted by half
    cells     all pairs of 30 samples of 2,000 cells in R³⁰, within one percent, and without the GPU
    million   1,000,000 a side in 40 clusters in R⁵⁰, within two percent
    exact     100,000 a side in clusters, exactly
    limit     the share of the GPU's arithmetic that the search for least costs reaches
    search    1,000 queries among 11,000 documents of about 80 words, ten neighbors each: the GPU, all cores, one core
    judge     thousands of small problems, exactly and as bounds, against the solver without a GPU
    peers     10,000 and 100,000 points a side in clusters, beside POT, GeomLoss and OTT-JAX on the same GPU: what each of
              them proves, and in which time; `card_peers.py` says how, and a row says which of them cannot be imported

Peers need not be installed: a folder that has them goes into PYTHONPATH. `peers --points 500 --cpu` tries that part without a GPU.
"""

import argparse
import json
import time

import numpy as np
import torch
import treeport as tp
from scipy import sparse
from treeport import _card, _card_cuda

import card_peers


def clouds(rng, kind, n):
    """Two clouds of n points: uniform or shifted in the plane, uniform in R³, clusters of unequal weight in R⁵⁰."""
    if kind == "clusters":
        return card_peers.clouds(rng, n)
    dim = 3 if kind == "space" else 2
    x, y = rng.random((n, dim)), rng.random((n, dim))
    return x, y + 0.5 if kind == "shifted" else y


class Watched(_card_cuda.Cuda):
    """An engine that notes how long it is asked."""

    seconds, looks, rows = 0.0, 0, 0

    def nearest(self, formula, source, rows, *rest):
        begun = time.perf_counter()
        found = super().nearest(formula, source, rows, *rest)
        Watched.seconds += time.perf_counter() - begun
        Watched.looks += 1
        Watched.rows += len(rows)
        return found


def watched(work):
    """What work finds, how long it takes, and what the GPU did."""
    Watched.seconds, Watched.looks, Watched.rows = 0.0, 0, 0
    torch.cuda.reset_peak_memory_stats()
    begun = time.perf_counter()
    found = work()
    spent = time.perf_counter() - begun
    gigabytes = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    return found, {
        "seconds": round(spent, 2), "card": round(Watched.seconds / spent, 3), "looks": Watched.looks,
        "rows": Watched.rows, "gigabytes": gigabytes,
    }  # fmt: skip


def bounded(rng, kind, n, accuracy, most):
    x, y = clouds(rng, kind, n)
    even = np.full(n, 1 / n)
    bounds, spent = watched(lambda: tp.emd(even, even, x, y, accuracy=accuracy, time=most, device="cuda"))
    width = 1 - bounds.lower / bounds.upper
    return {"case": f"{n} points, {kind}", **spent, "lower": bounds.lower, "upper": bounds.upper, "width": round(width, 6)}


def clusters(rng, most):
    yield bounded(rng, "clusters", 100_000, 0.01, most)


def space(rng, most):
    yield bounded(rng, "space", 100_000, 0.01, most)


def plane(rng, most):
    yield bounded(rng, "plane", 100_000, 0.01, most)
    yield bounded(rng, "shifted", 100_000, 0.01, most)


def million(rng, most):
    yield bounded(rng, "clusters", 1_000_000, 0.02, most)


def exact(rng, most):
    yield bounded(rng, "clusters", 100_000, "exact", most)


def cells(rng, _):
    samples, count = 30, 2_000
    centers = 2 * rng.normal(size=(12, 30))
    shares = rng.dirichlet(np.full(12, 3.0), size=samples)
    found = [centers[rng.choice(12, count, p=share)] + rng.normal(size=(count, 30)) for share in shares]
    tp.emd_pairwise([cloud[:300] for cloud in found[:3]], accuracy=0.05, device="cuda")  # compiles
    for device in ("cuda", None):
        bounds, spent = watched(lambda: tp.emd_pairwise(found, accuracy=0.01, device=device))
        above = bounds.upper > 0
        width = np.max(1 - bounds.lower[above] / bounds.upper[above])
        yield {"case": f"435 pairs of 2,000 cells, {device}", **spent, "width": round(width, 6)}


def documents(rng, count, words=20_000, dim=300, topics=60):
    """Documents of about 80 words, each mostly from two topics and the rest from anywhere; frequent words are frequent."""
    of_word = rng.integers(topics, size=words)
    vectors = 0.6 * rng.normal(size=(topics, dim))[of_word] + rng.normal(size=(words, dim))
    often = 1 / (10 + rng.permutation(words))
    start, places, masses = [0], [], []
    for _ in range(count):
        weights = often * (0.7 * topics * rng.dirichlet(np.full(topics, 0.02))[of_word] + 0.3)
        drawn, counts = np.unique(rng.choice(words, size=rng.poisson(95) + 5, p=weights / weights.sum()), return_counts=True)
        start.append(start[-1] + len(drawn))
        places.append(drawn)
        masses.append(counts.astype(float))
    return sparse.csr_array((np.concatenate(masses), np.concatenate(places), start), shape=(count, words)), vectors


def search(rng, _):
    """Ten neighbors of each, the first call and the second; the first compiles kernels where none is kept."""
    collection, queries = 11_000, 1_000
    rows, vectors = documents(rng, collection + queries)
    kept = tp.WassersteinNeighbors(vectors).fit(rows[:collection])
    asked, found, times = rows[collection:], {}, {}
    for name, device, jobs in (("gpu, first", "cuda", None), ("gpu", "cuda", None), ("all cores", None, None), ("one core", None, 1)):
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
    """Instructions a second, two for each coordinate of a pair, over those that all processors of the GPU begin."""
    engine = _card_cuda.Cuda("cuda")
    properties = torch.cuda.get_device_properties(0)
    most = properties.multi_processor_count * 128 * torch.cuda.clock_rate() * 1e6
    for dim in (50, 3):
        count, size = 16_384, 100_032
        left = torch.randn((dim, count), device="cuda")
        right = torch.randn((dim, size), device="cuda")
        prices, least = torch.rand(size, device="cuda"), torch.empty((count, size // _card.BLOCK), device="cuda")
        times = []
        for _ in range(5):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            engine.minima(left, right, prices, least, 0)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - begun)
        done = 2 * dim * count * size / min(times)
        yield {"case": f"least costs, R^{dim}", "milliseconds": round(1e3 * min(times), 2), "share": round(done / most, 3)}


def judge(rng, _):
    """Near points, far from the origin, duplicates, masses over ten orders; every metric."""
    _card_cuda.Cuda.takes_all = True
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
        a, b = (10.0 ** rng.uniform(-10, 0, size) if kind == 3 else rng.random(size) for size in (n, m))
        a, b = a / a.sum(), b / b.sum()
        value = tp.emd(a, b, x, y, metric=metric)
        ours = tp.emd(a, b, x, y, metric=metric, device="cuda")
        bounds = tp.emd(a, b, x, y, metric=metric, device="cuda", accuracy=0.05)
        slack = 2e-9 * value
        missed += not (abs(ours - value) <= slack and bounds.lower <= value + slack and bounds.upper >= value - slack)
    _card_cuda.Cuda.takes_all = False
    yield {"case": f"{problems} small problems", "missed": missed}


PARTS = {"clusters": clusters, "space": space, "plane": plane, "cells": cells, "million": million, "exact": exact, "limit": limit, "search": search, "judge": judge}
NAMES = [*PARTS, "peers"]


def found_by(name, args):
    """The rows of one part."""
    if name == "peers":
        device = "cpu" if args.cpu else "cuda"
        return card_peers.rows(args.peers, args.points, args.seed, device, args.limit)
    return PARTS[name](np.random.default_rng(args.seed), args.time)


def listed(text):
    return text.split(",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="which to run; all of them unless some are named")
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--time", type=float, help="seconds after which bounds will do as they are")
    parser.add_argument("--seed", type=int, default=0)
    sizes = [10_000, 100_000]
    parser.add_argument("--points", type=lambda text: [*map(int, listed(text))], default=sizes, help="sizes for `peers`: 10000,100000")
    parser.add_argument("--peers", type=listed, default=card_peers.NAMES, help=f"some of {','.join(card_peers.NAMES)}")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one step of a peer, or one answer of ours")
    parser.add_argument("--cpu", action="store_true", help="only `peers`, without a GPU, to try it")
    args = parser.parse_args()
    parts = args.parts or (["peers"] if args.cpu else NAMES)
    for what, given, known in (("part", parts, NAMES), ("peer", args.peers, card_peers.NAMES)):
        if unknown := set(given) - set(known):
            parser.error(f"no {what} is called {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if args.cpu and set(parts) != {"peers"}:
        parser.error("only `peers` can do without a GPU")
    _card_cuda.Cuda = Watched
    if set(parts) != {"peers"}:  # these begin in processes of their own
        rng = np.random.default_rng(args.seed)
        for kind in ("clusters", "plane", "space"):
            bounded(rng, kind, 5_000, 0.05, args.time)
    device = "cpu" if args.cpu else torch.cuda.get_device_name()
    for name in parts:
        for found in found_by(name, args):
            found = {"bench": "card", "part": name, "device": device, **found}
            print(json.dumps(found) if args.json else "  ".join(f"{key} {value}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
