"""One problem of any size against other tools: ``treeport-lab bench large``.

Each part solves the same problems with treeport and with another tool in turns; a figure is the least time of several rounds,
and the ratio is the other tool's time over ours. Values must agree. Tools that are not installed are skipped.

    line      points with one coordinate: `tp.emd` and SciPy's `wasserstein_distance`
    small     ten and thirty points with coordinates: `tp.emd` and the package `wasserstein`
    exact     clouds with coordinates: `tp.emd` and POT, which computes its table of costs within its time
    matrix    cost matrices, random ones and distances in the plane: `tp.emd` and POT; seconds are those of processors
    lazy      10,000 points a side, exactly: `tp.emd` and POT's `emd2_lazy`
    within    100,000 points a side: `tp.emd(..., accuracy=0.01)` alone, with its memory
    whole     the first problem of `within`, exactly
"""

import argparse
import json
import sys
import time
import warnings

import numpy as np
import scipy.stats
import treeport as tp
from point_clouds import clouds

try:
    import ot
except ImportError:
    ot = None
try:
    import wasserstein
except ImportError:
    wasserstein = None

# Relative differences of exact values.
TOLERANCE = 1e-9


def least_times(ways, rounds):
    """Returns the shortest time of every solver; solvers alternate."""
    times = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, call in ways.items():
            begun = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - begun)
    return times


def row(part, case, times, problems=1, bench="large"):
    """A row of results: seconds of a problem by every tool, and the peer's time over ours."""
    seconds = {name: spent / problems for name, spent in times.items()}
    ours, *peers = seconds
    ratios = {f"{peer}_ratio": seconds[peer] / seconds[ours] for peer in peers}
    return {"bench": bench, "part": part, "case": case, "seconds": seconds, **ratios}


def check(ours, theirs, tolerance, case):
    if not abs(ours - theirs) <= tolerance * max(abs(ours), abs(theirs)):
        sys.exit(f"error: {case}: we find {ours}, the peer {theirs}")


def masses(rng, *shape):
    found = rng.random(shape)
    return found / found.sum(axis=-1, keepdims=True)


def line(rng, rounds):
    """Points on a line, unsorted."""
    for n in (1_000, 10_000, 100_000, 1_000_000):
        a, b, x, y = (
            masses(rng, n),
            masses(rng, n),
            rng.normal(size=(n, 1)),
            rng.normal(0.1, 1.2, size=(n, 1)),
        )
        ways = {
            "treeport": lambda: tp.emd(a, b, x, y),
            "SciPy": lambda: scipy.stats.wasserstein_distance(x[:, 0], y[:, 0], a, b),
        }
        check(ways["treeport"](), ways["SciPy"](), TOLERANCE, f"{n} points on a line")
        yield row("line", f"{n} points", least_times(ways, rounds if n < 1_000_000 else 2))
    # Too large for a table of costs: treeport alone.
    n = 10_000_000
    x, y, even = rng.normal(size=(n, 1)), rng.normal(0.1, 1.2, size=(n, 1)), np.full(n, 1 / n)
    yield row("line", f"{n} points", least_times({"treeport": lambda: tp.emd(even, even, x, y)}, 1))


def small(rng, rounds):
    """Small problems in the plane, twenty of each size."""
    for n in (10, 30):
        problems = [
            (masses(rng, n), masses(rng, n), rng.random((n, 2)), rng.random((n, 2)))
            for _ in range(20)
        ]
        ways = {"treeport": lambda: [tp.emd(a, b, x, y) for a, b, x, y in problems]}
        if wasserstein:
            peer = wasserstein.EMD(norm=True)
            ways["wasserstein"] = lambda: [peer(a, x, b, y) for a, b, x, y in problems]
            for ours, theirs in zip(ways["treeport"](), ways["wasserstein"]()):
                check(ours, theirs, TOLERANCE, f"{n} points in the plane")
        # Many short rounds: other work on the machine lengthens some of them, not the shortest.
        yield row("small", f"{n} points", least_times(ways, 100 * rounds), len(problems))


def exact(rng, rounds):
    """Draws two clouds with equal masses."""
    for n in (1_000, 3_000, 5_000):
        even = np.full(n, 1 / n)
        for kind in ("plane", "shifted", "clusters"):
            x, y = clouds(rng, kind, n)
            ways = {"treeport": lambda: tp.emd(even, even, x, y)}
            if ot:
                ways["POT"] = lambda: ot.emd2(
                    even, even, ot.dist(x, y, metric="euclidean"), numItermax=10**8
                )
                check(ways["treeport"](), float(ways["POT"]()), 1e-8, f"{n} points, {kind}")
            yield row("exact", f"{n} points, {kind}", least_times(ways, min(rounds, 3)))


def matrix(rng, _):
    """Equal and random masses, once each."""
    for n in (1_000, 3_000, 5_000):
        x, y = clouds(rng, "plane", n)
        for kind in ("random", "plane"):
            costs = (
                rng.random((n, n))
                if kind == "random"
                else np.hypot(*(x[:, None] - y[None]).transpose(2, 0, 1))
            )
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
    """Solvers without a cost matrix in memory."""
    n = 10_000
    x, y = clouds(rng, "plane", n)
    even = np.full(n, 1 / n)
    ways = {"treeport": lambda: tp.emd(even, even, x, y)}
    if ot:
        ways["POT"] = lambda: ot.emd2_lazy(
            x, y, metric="euclidean", numItermax=10**9, return_matrix=False
        )
    yield row("lazy", f"{n} points", least_times(ways, 1)) | {"megabytes": peak()}


def within(rng, _):
    """Bounds within one percent."""
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
    """Exact optimum of one problem of 100,000 points a side."""
    n = 100_000
    x, y = clouds(rng, "plane", n)
    even = np.full(n, 1 / n)
    begun = time.perf_counter()
    value = tp.emd(even, even, x, y)
    times = {"treeport": time.perf_counter() - begun}
    yield row("whole", f"{n} points, plane", times) | {"value": value, "megabytes": peak()}


def peak():
    """Returns the peak memory of this process in megabytes."""
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
}


def show(found):
    times = "  ".join(
        f"{name} {1e3 * seconds:>10.4g} ms" for name, seconds in found["seconds"].items()
    )
    ratios = "  ".join(
        f"{name.removesuffix('_ratio')}/ours {found[name]:.2f}"
        for name in found
        if name.endswith("_ratio")
    )
    more = "  ".join(
        f"{name} {found[name]:.6g}"
        for name in ("lower", "upper", "value", "megabytes")
        if name in found
    )
    print(f"{found['part']:<12} {found['case']:<24} {times}  {ratios}  {more}".rstrip(), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
