"""One problem of 50 to 3,000 points a side: ``treeport-lab bench middle``.

Seconds are processor time on one thread. All solvers take turns on the same problem, a figure is the least of several rounds, and
all values must agree. A row has our time with a cost matrix and with coordinates of the same points, and for every peer its time
over ours for the same input:

    POT          `emd2` with the matrix
    wasserstein  `EMD` with coordinates, where distances are Euclidean
    SciPy, lapx  `linear_sum_assignment` and `lapjv` with the matrix, where all masses are equal

Kinds: points in the plane, the same with one side shifted, an integer grid with Manhattan costs, clusters in R⁵⁰, random costs.
"""

import argparse
import json
import os
import sys
import time

os.environ.update({name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")})
os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np
import treeport as tp
from bench_large import check, masses, ot, wasserstein
from point_clouds import clouds
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

try:
    import lap
except ImportError:
    lap = None

SIZES = [50, 100, 200, 300, 500, 1_000, 1_500, 3_000]
KINDS = ["plane", "shifted", "grid", "clusters", "random"]
MASSES = ["random", "equal"]
TOLERANCE = 1e-8
# Processor time that a short call is repeated for, and over which no more rounds follow.
REPEAT_SECONDS = 0.02
MOST_SECONDS = 2.0


def problem(rng, kind, n):
    """Returns a cost matrix, and the points with the name of their metric, if there are any."""
    if kind == "random":
        return rng.random((n, n)), None
    if kind == "grid":
        points = rng.integers(0, 30, size=(2, n, 2)).astype(float)
        return cdist(*points, "cityblock"), (*points, "manhattan")
    points = clouds(rng, kind, n)
    return cdist(*points), (*points, "euclidean")


def solvers(rng, kind, mass, n):
    """Returns the solvers by name, ours first."""
    cost, on = problem(rng, kind, n)
    a, b = (np.full(n, 1 / n) if mass == "equal" else masses(rng, n) for _ in "ab")
    calls = {"matrix": lambda: tp.emd(a, b, cost)}
    if on:
        x, y, metric = on
        calls["coordinates"] = lambda: tp.emd(a, b, x, y, metric=metric)
    if ot:
        calls["POT"] = lambda: float(ot.emd2(a, b, cost, numItermax=10**8))
    if wasserstein and on and metric == "euclidean":
        emd = wasserstein.EMD(norm=True, n_iter_max=10**8)
        calls["wasserstein"] = lambda: emd(a, x, b, y)
    if mass == "equal":
        calls["SciPy"] = lambda: cost[linear_sum_assignment(cost)].sum() / n
        if lap:
            calls["lapx"] = lambda: lap.lapjv(cost)[0] / n
    return calls


def seconds(call):
    """Returns the mean processor time of a call, repeated if it is short."""
    begun, calls = time.process_time(), 0
    while calls == 0 or time.process_time() - begun < REPEAT_SECONDS:
        call()
        calls += 1
    return (time.process_time() - begun) / calls


def least_seconds(calls, rounds):
    """Returns the least processor time of every solver; solvers alternate."""
    least, spent = dict.fromkeys(calls, np.inf), dict.fromkeys(calls, 0.0)
    for _ in range(rounds):
        for name, call in calls.items():
            if spent[name] < MOST_SECONDS:
                took = seconds(call)
                least[name], spent[name] = min(least[name], took), spent[name] + took
    return least


def measure(rng, kind, mass, n, rounds):
    calls = solvers(rng, kind, mass, n)
    ours = calls["matrix"]()
    for name, call in calls.items():
        check(ours, call(), TOLERANCE, f"{n} points, {kind}, {mass} masses, {name}")
    times = least_seconds(calls, rounds)
    matrix, coordinates = times["matrix"], times.get("coordinates")
    ratios = {name: times[name] / matrix for name in ("POT", "SciPy", "lapx") if name in times}
    if coordinates:
        ratios["matrix/coordinates"] = matrix / coordinates
    if "wasserstein" in times:
        ratios["wasserstein"] = times["wasserstein"] / coordinates
    return {"bench": "middle", "kind": kind, "masses": mass, "points": n, "seconds": times} | {
        "ratios": ratios
    }


def show(found):
    ours = (found["seconds"].get(name, np.nan) for name in ("matrix", "coordinates"))
    ratios = "  ".join(f"{name} {ratio:.2f}" for name, ratio in found["ratios"].items())
    case = f"{found['kind']:<9} {found['masses']:<7} {found['points']:>5}"
    print(case, *(f"{1e3 * spent:>9.4g} ms" for spent in ours), " ", ratios, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="points a side")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--masses", nargs="+", default=MASSES, choices=MASSES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one object per line")
    args = parser.parse_args()
    if not args.json:
        print("kind, masses, points; our time with a matrix and with coordinates; peers over ours")
    for kind in args.kinds:
        for mass in args.masses:
            for n in args.sizes:
                rng = np.random.default_rng([args.seed, n])
                found = measure(rng, kind, mass, n, args.rounds)
                print(json.dumps(found), flush=True) if args.json else show(found)


if __name__ == "__main__":
    sys.exit(main())
