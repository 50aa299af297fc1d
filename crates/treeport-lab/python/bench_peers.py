"""Exact transport against POT, wasserstein and OR-tools on the same problems: ``treeport-lab bench peers``.

Times are those of the solvers, without the cost matrix. The solvers take turns, every figure is the median of the rounds, and
all values must agree to 1e-9, relatively. A second table has 10,000 small pairs from coordinates, a third one graphs with mass
on all nodes: treeport and OR-tools' min-cost flow solve on the edges, POT on the matrix of all distances. TREEPORT_DATA is the
folder of the bus networks. Rows use one thread unless they say two.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median

# Set before numpy starts threads. OpenMP's number is a maximum: 1 would keep PairwiseEMD from using two
# threads. The other solvers use one thread by default, which `timed` checks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "2"

import numpy as np
import treeport as tp
from bench_large import masses, ot, row, show, wasserstein
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

try:
    import ortools
    from ortools.graph.python import min_cost_flow
except ImportError:
    ortools = None

SIZES = [10, 30, 100, 300, 1000, 2000]
GRIDS = [50, 100]
NETWORKS = ["kuopio", "belfast"]
SUPPORT, SIDE = 30, 100
TOLERANCE = 1e-9
# OR-tools takes whole masses and lengths, in units of these fractions.
WHOLE_MASS = 10**10
WHOLE_LENGTH = 10**4
WHOLE_TOLERANCE = 1e-5
# Most nodes for POT, which needs all distances.
MOST_NODES = 2_500
REPEAT_SECONDS = 0.3
MOST_ITERATIONS = 10**8


def pairs(rng, n):
    """Solvers of pairs of n points a side in R⁵⁰, each a function to (seconds per pair, values)."""
    count = min(max(3_000 // n, 2), 100)
    a, b = masses(rng, count, n), masses(rng, count, n)
    costs = [cdist(*rng.normal(size=(2, n, 50))) for _ in range(count)]
    problems = list(zip(a, b, costs))
    solvers = {"treeport": timed(lambda: [tp.emd(x, y, c) for x, y, c in problems])}
    if ot:
        solvers["POT"] = timed(
            lambda: [ot.emd2(x, y, c, numItermax=MOST_ITERATIONS) for x, y, c in problems]
        )
    if wasserstein:
        emd = wasserstein.EMD(norm=True, n_iter_max=MOST_ITERATIONS)
        solvers["wasserstein"] = timed(lambda: [emd(x, y, c) for x, y, c in problems])
    return solvers


def many(rng, threads):
    """Like `pairs`, for all pairs between two sides; POT uses one thread."""
    weights = masses(rng, 2 * SIDE, SUPPORT)
    points = rng.normal(size=(2 * SIDE, SUPPORT, 50))
    places = np.arange(weights.size), np.arange(0, weights.size + 1, SUPPORT)
    measures = tp.Measures(csr_array((weights.ravel(), *places)))
    both = [(i, j) for i in range(SIDE) for j in range(SIDE, 2 * SIDE)]
    flat = points.reshape(-1, 50)
    solvers = {
        "treeport": timed(
            lambda: tp.emd_pairs(measures, both, points=flat, n_jobs=threads), threads
        )
    }
    if ot and threads == 1:
        solvers["POT"] = timed(
            lambda: [ot.emd2(weights[i], weights[j], cdist(points[i], points[j])) for i, j in both]
        )
    if wasserstein:
        events = [np.column_stack(event) for event in zip(weights, points)]

        def pairwise():
            emds = wasserstein.PairwiseEMD(
                norm=True, num_threads=threads, verbose=0, throw_on_error=True
            )
            emds(events[:SIDE], events[SIDE:])
            return emds.emds().ravel()

        solvers["wasserstein"] = timed(pairwise, threads)
    return solvers


def grid(rng, side):
    """Ends and whole lengths of the edges of a square grid."""
    node = np.arange(side * side).reshape(side, side)
    streets = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    ends = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in streets])
    return ends, rng.integers(1_000, 10_000, len(ends)).astype(float)


def networks(folder):
    """Ends and lengths of the bus networks in the data folder, by name."""
    for name in NETWORKS:
        path = Path(folder) / name / "edges.csv"
        if path.is_file():
            edges = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1, 2))
            yield name, (edges[:, :2].astype(int), edges[:, 2])


def graphs(rng, ends, lengths):
    """Like `pairs`, on a graph with mass on all nodes; POT's distances are not timed."""
    nodes = ends.max() + 1
    a, b = masses(rng, 3, nodes), masses(rng, 3, nodes)
    # A sparse matrix has no edges of length 0.
    graph = csr_array((np.where(lengths > 0, lengths, 1e-13), ends.T), shape=(nodes, nodes))
    both, couples = np.concatenate([a, b]), [(k, len(a) + k) for k in range(len(a))]
    solvers = {"treeport": timed(lambda: tp.emd_pairs(both, couples, graph=graph, n_jobs=1))}
    if ot and nodes <= MOST_NODES:
        cost = shortest_path(graph, directed=False)
        solvers["POT"] = timed(
            lambda: [ot.emd2(x, y, cost, numItermax=MOST_ITERATIONS) for x, y in zip(a, b)]
        )
    if ortools:
        solvers["OR-tools"] = timed(lambda: [flow_cost(ends, lengths, x, y) for x, y in zip(a, b)])
    return solvers


def flow_cost(ends, lengths, a, b):
    """Returns the cost of OR-tools' min-cost flow, with integer masses and lengths."""
    parts = 1 if np.all(lengths == np.rint(lengths)) else WHOLE_LENGTH
    flow = min_cost_flow.SimpleMinCostFlow()
    both = np.concatenate([ends, ends[:, ::-1]])
    capacity = np.full(len(both), 2 * WHOLE_MASS)
    costs = np.rint(np.concatenate([lengths, lengths]) * parts).astype(int)
    flow.add_arcs_with_capacity_and_unit_cost(both[:, 0], both[:, 1], capacity, costs)
    supply = np.rint((a - b) * WHOLE_MASS).astype(int)
    supply[np.argmax(supply)] -= supply.sum()
    flow.set_nodes_supplies(np.arange(len(supply)), supply)
    if flow.solve() != flow.OPTIMAL:
        sys.exit("error: OR-tools found no optimum")
    return flow.optimal_cost() / WHOLE_MASS / parts


def timed(solve, threads=1):
    """Seconds of a pair: processor time on one thread, which other work lengthens less, otherwise elapsed time."""

    def run():
        values = np.array(solve())
        times, busy = [], []
        while not times or sum(times) < REPEAT_SECONDS:
            begun, before = time.perf_counter(), time.process_time()
            solve()
            busy.append(time.process_time() - before)
            times.append(time.perf_counter() - begun)
        if sum(busy) > (threads + 0.5) * sum(times):
            sys.exit(f"error: a solver ran on more than {threads} threads")
        return median(busy if threads == 1 else times) / len(values), values

    return run


def measure(job, case, solvers, rounds):
    """Runs the solvers in turns, compares their values, and returns a row of medians."""
    times = {name: [] for name in solvers}
    expected = None
    for _ in range(rounds):
        for name, run in solvers.items():
            seconds, values = run()
            expected = values if expected is None else expected
            worst = np.max(np.abs(values - expected) / expected)
            if worst > (WHOLE_TOLERANCE if name == "OR-tools" else TOLERANCE):
                sys.exit(f"error: {job} {case}: {name} differs by {worst:.2e}, relatively")
            times[name].append(seconds)
    return row(job, case, {name: median(spent) for name, spent in times.items()}, bench="peers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", default=SIZES, type=lambda text: [int(n) for n in text.split(",")]
    )
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--seed", default=0, type=int)
    parser.add_argument("--json", action="store_true", help="one object per line")
    args = parser.parse_args()
    modules = {
        "treeport": tp,
        "numpy": np,
        "POT": ot,
        "wasserstein": wasserstein,
        "OR-tools": ortools,
    }
    versions = {name: module and module.__version__ for name, module in modules.items()}
    print(f"# {versions}; milliseconds are those of a pair", file=sys.stderr)
    rng = np.random.default_rng(args.seed)
    jobs = [("pair", str(n), lambda n=n: pairs(rng, n)) for n in args.sizes]
    jobs += [("10000 pairs", f"{k} thread", lambda k=k: many(rng, k)) for k in (1, 2)]
    edges = dict(networks(os.environ.get("TREEPORT_DATA", "")))
    edges |= {f"grid{side * side}": grid(rng, side) for side in GRIDS}
    jobs += [("graph", name, lambda e=e: graphs(rng, *e)) for name, e in edges.items()]
    for job, case, make in jobs:
        found = measure(job, case, make(), args.rounds) | {"versions": versions}
        print(json.dumps(found), flush=True) if args.json else show(found)


if __name__ == "__main__":
    main()
