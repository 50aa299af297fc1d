"""One problem of any size against other tools: ``treeport-lab bench large``.

Each part sends the same problems through us and through a peer, the two taking turns; a figure is the least time of
several rounds, and the ratio is the peer's time over ours. Values have to agree. Peers that are not installed are left out.

    line      points with one coordinate: `tp.emd` and SciPy's `wasserstein_distance`
    small     ten and thirty points with coordinates: `tp.emd` and the package `wasserstein`
    exact     clouds with coordinates: `tp.emd` and POT, which computes its table of costs within its time
    matrix    cost matrices, random ones and distances in the plane: `tp.emd` and POT; seconds are those of processors
    lazy      10,000 points a side, exactly: `tp.emd` and POT's `emd2_lazy`
    within    100,000 points a side: `tp.emd(..., accuracy=0.01)`, by ourselves, with the memory it took
    whole     the first of those, exactly
    cells     all pairs of 30 samples of 2,000 cells in R³⁰: `tp.emd_pairs(..., accuracy=0.01)`, by ourselves
    sinkhorn  entropic transport of a cost matrix: `tp.sinkhorn` and POT's `ot.sinkhorn2`
"""

import argparse
import json
import sys
import time
import warnings

import numpy as np
import scipy.stats
import treeport as tp

try:
    import ot
except ImportError:
    ot = None
try:
    import wasserstein
except ImportError:
    wasserstein = None

# Relative differences of exact values, and of entropic ones, where POT leaves marginals as they are.
TOLERANCE = 1e-9
ENTROPIC_TOLERANCE = 1e-4


def least_times(ways, rounds):
    """The least seconds of every way, which take turns."""
    times = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, call in ways.items():
            begun = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - begun)
    return times


def row(part, case, times, problems=1):
    """A row of results: seconds of a problem by every tool, and the peer's time over ours."""
    seconds = {name: spent / problems for name, spent in times.items()}
    ours, *peers = seconds
    ratios = {f"{peer}_ratio": seconds[peer] / seconds[ours] for peer in peers}
    return {"bench": "large", "part": part, "case": case, "seconds": seconds, **ratios}


def check(ours, theirs, tolerance, case):
    if not abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs)):
        sys.exit(f"error: {case}: we find {ours}, the peer {theirs}")


def masses(rng, count):
    found = rng.random(count)
    return found / found.sum()


def line(rng, rounds):
    """Points with one coordinate, in any order."""
    for n in (1_000, 10_000, 100_000, 1_000_000):
        a, b, x, y = masses(rng, n), masses(rng, n), rng.normal(size=(n, 1)), rng.normal(0.1, 1.2, size=(n, 1))
        ways = {
            "treeport": lambda: tp.emd(a, b, x, y),
            "SciPy": lambda: scipy.stats.wasserstein_distance(x[:, 0], y[:, 0], a, b),
        }
        check(ways["treeport"](), ways["SciPy"](), TOLERANCE, f"{n} points on a line")
        yield row("line", f"{n} points", least_times(ways, rounds if n < 1_000_000 else 2))
    # More than any table would hold, by ourselves.
    n = 10_000_000
    x, y, even = rng.normal(size=(n, 1)), rng.normal(0.1, 1.2, size=(n, 1)), np.full(n, 1 / n)
    yield row("line", f"{n} points", least_times({"treeport": lambda: tp.emd(even, even, x, y)}, 1))


def small(rng, rounds):
    """Few points in the plane, twenty problems of each size."""
    for n in (10, 30):
        problems = [(masses(rng, n), masses(rng, n), rng.random((n, 2)), rng.random((n, 2))) for _ in range(20)]
        ways = {"treeport": lambda: [tp.emd(a, b, x, y) for a, b, x, y in problems]}
        if wasserstein:
            peer = wasserstein.EMD(norm=True)
            ways["wasserstein"] = lambda: [peer(a, x, b, y) for a, b, x, y in problems]
            for ours, theirs in zip(ways["treeport"](), ways["wasserstein"]()):
                check(ours, theirs, TOLERANCE, f"{n} points in the plane")
        # Many short rounds: what else the machine does lengthens some of them, not the least.
        yield row("small", f"{n} points", least_times(ways, 100 * rounds), len(problems))


def sinkhorn(rng, rounds):
    """Points in the plane, ε as a share of the largest cost."""
    for n in (100, 300, 1_000, 3_000):
        a, b, x, y = masses(rng, n), masses(rng, n), rng.random((n, 2)), rng.random((n, 2))
        cost = np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=2))
        largest = cost.max()
        for share in (1, 0.3, 0.1, 0.03, 0.01, 0.001):
            ways = {"treeport": lambda: tp.sinkhorn(a, b, cost, epsilon=share)}
            if ot and share >= 0.01:
                # Below that it ends at its limit of iterations, far from the value.
                ways["POT"] = lambda: ot.sinkhorn2(a, b, cost, share * largest, numItermax=10_000, warn=False)
                check(ways["treeport"](), float(ways["POT"]()), ENTROPIC_TOLERANCE, f"{n} points, {share}")
            yield row("sinkhorn", f"{n} points, {share}", least_times(ways, max(2, min(rounds, 3_000 // n))))


def clouds(rng, kind, n):
    """Two clouds of n points: uniform or shifted in the plane, uniform in R³, clusters of unequal weight in R⁵⁰."""
    if kind == "clusters":
        centers = 3 * rng.normal(size=(40, 50))
        shares = rng.dirichlet(np.ones(40), size=2)
        return [centers[rng.choice(40, n, p=share)] + rng.normal(size=(n, 50)) for share in shares]
    dim = 3 if kind == "space" else 2
    x, y = rng.random((n, dim)), rng.random((n, dim))
    return x, y + 0.5 if kind == "shifted" else y


def exact(rng, rounds):
    """Even masses on two clouds."""
    for n in (1_000, 3_000, 5_000):
        even = np.full(n, 1 / n)
        for kind in ("plane", "shifted", "clusters"):
            x, y = clouds(rng, kind, n)
            ways = {"treeport": lambda: tp.emd(even, even, x, y)}
            if ot:
                ways["POT"] = lambda: ot.emd2(even, even, ot.dist(x, y, metric="euclidean"), numItermax=10**8)
                check(ways["treeport"](), float(ways["POT"]()), 1e-8, f"{n} points, {kind}")
            yield row("exact", f"{n} points, {kind}", least_times(ways, min(rounds, 3)))


def matrix(rng, _):
    """Even masses and random ones; once each."""
    for n in (1_000, 3_000, 5_000):
        x, y = clouds(rng, "plane", n)
        for kind in ("random", "plane"):
            costs = rng.random((n, n)) if kind == "random" else np.hypot(*(x[:, None] - y[None]).transpose(2, 0, 1))
            for weights in ("even", "random"):
                a, b = (np.full(n, 1 / n) if weights == "even" else masses(rng, n) for _ in "ab")
                ways = {"treeport": lambda: tp.emd(a, b, costs)}
                if ot:
                    ways["POT"] = lambda: float(ot.emd2(a, b, costs, numItermax=10**8))
                times, values = {}, []
                for name, call in ways.items():
                    begun = time.process_time()
                    values.append(call())
                    times[name] = time.process_time() - begun
                check(values[0], values[-1], 1e-8, f"{n} rows, {kind}")
                yield row("matrix", f"{n}, {kind}, {weights}", times)


def lazy(rng, _):
    """Neither side keeps a table of costs."""
    n = 10_000
    x, y = clouds(rng, "plane", n)
    even = np.full(n, 1 / n)
    ways = {"treeport": lambda: tp.emd(even, even, x, y)}
    if ot:
        ways["POT"] = lambda: ot.emd2_lazy(x, y, metric="euclidean", numItermax=10**9, return_matrix=False)
    yield row("lazy", f"{n} points", least_times(ways, 1)) | {"megabytes": peak()}


def within(rng, _):
    """Bounds one percent apart."""
    n = 100_000
    even = np.full(n, 1 / n)
    for kind in ("plane", "shifted", "space", "clusters"):
        x, y = clouds(rng, kind, n)
        begun = time.perf_counter()
        bounds = tp.emd(even, even, x, y, accuracy=0.01)
        times = {"treeport": time.perf_counter() - begun}
        proved = {"lower": bounds.lower, "upper": bounds.upper, "megabytes": peak()}
        yield row("within", f"{n} points, {kind}", times) | proved


def whole(rng, _):
    """The optimum of one of those."""
    n = 100_000
    x, y = clouds(rng, "plane", n)
    even = np.full(n, 1 / n)
    begun = time.perf_counter()
    value = tp.emd(even, even, x, y)
    times = {"treeport": time.perf_counter() - begun}
    yield row("whole", f"{n} points, plane", times) | {"value": value, "megabytes": peak()}


def cells(rng, _):
    """All pairs of some samples; seconds are those of processors."""
    samples, count = 30, 2_000
    centers = 2 * rng.normal(size=(12, 30))
    shares = rng.dirichlet(np.full(12, 3.0), size=samples)
    points = np.concatenate([centers[rng.choice(12, count, p=s)] + rng.normal(size=(count, 30)) for s in shares])
    measures = np.kron(np.eye(samples), np.full(count, 1 / count))
    pairs = [(i, j) for i in range(samples) for j in range(i)]
    begun = time.process_time()
    tp.emd_pairs(measures, pairs, points=points, accuracy=0.01)
    yield row("cells", f"{len(pairs)} pairs", {"treeport": time.process_time() - begun})


def peak():
    """Megabytes that this process has had at most."""
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


PARTS = {
    "line": line,
    "small": small,
    "exact": exact,
    "matrix": matrix,
    "lazy": lazy,
    "within": within,
    "whole": whole,
    "cells": cells,
    "sinkhorn": sinkhorn,
}


def show(found):
    times = "  ".join(f"{name} {1e3 * seconds:>10.4g} ms" for name, seconds in found["seconds"].items())
    ratios = "  ".join(f"{name.removesuffix('_ratio')}/ours {found[name]:.2f}" for name in found if name.endswith("_ratio"))
    more = "  ".join(f"{name} {found[name]:.6g}" for name in ("lower", "upper", "value", "megabytes") if name in found)
    print(f"{found['part']:<9} {found['case']:<24} {times}  {ratios}  {more}".rstrip(), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="some of the parts [default: all]")
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--json", action="store_true", help="one object per line")
    args = parser.parse_args()
    for unknown in set(args.parts) - set(PARTS):
        parser.error(f"there is no part {unknown}; there are {', '.join(PARTS)}")
    warnings.simplefilter("ignore")
    for name in args.parts or PARTS:
        for found in PARTS[name](np.random.default_rng(args.seed), args.rounds):
            print(json.dumps(found), flush=True) if args.json else show(found)


if __name__ == "__main__":
    main()
