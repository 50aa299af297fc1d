"""Times exact transport against POT, wasserstein and OR-tools, one thread each, on the same problems in one run.

`treeport-lab bench peers` runs this in an environment of its own. The problems come from
`treeport-lab bench exact --dump`; what is timed is the solve, with the cost matrix given. The solvers take
turns, because machines are noisy, and every figure is the median of the rounds. All values have to
agree to 1e-9, relatively. A second table has 10,000 small pairs from coordinates, a third one graphs with
mass on all nodes: treeport and OR-tools' min-cost flow solve on the edges, POT is given all distances.
TREEPORT_DATA names the folder of the bus networks.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

# Before numpy starts its threads. OpenMP's number is a ceiling: 1 would hold PairwiseEMD to one thread
# where it is asked for two. The other solvers take one thread by themselves, as `timed` checks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "2"

import numpy as np

try:
    import ot
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path
    from scipy.spatial.distance import cdist
except ImportError:
    ot = None
try:
    import wasserstein
except ImportError:
    wasserstein = None
try:
    import ortools
    from ortools.graph.python import min_cost_flow
except ImportError:
    ortools = None

SIZES = [10, 30, 100, 300, 1000, 2000]
GRIDS = [2_500, 10_000]
TOLERANCE = 1e-9
# OR-tools has whole masses and lengths, in parts of these.
WHOLE_MASS = 10**10
WHOLE_LENGTH = 10**4
WHOLE_TOLERANCE = 1e-5
# POT is given all distances up to so many nodes.
MOST_NODES = 2_500
REPEAT_SECONDS = 0.3
MOST_ITERATIONS = 10**8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    lab = os.environ.get("TREEPORT_LAB", "treeport-lab")
    parser.add_argument("--treeport", default=lab, type=Path, help="our binary treeport-lab")
    parser.add_argument("--sizes", default=SIZES, type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--json", action="store_true", help="one object per line")
    args = parser.parse_args()
    print(f"# {versions()}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        sizes = ",".join(map(str, args.sizes))
        ours(args.treeport, "--sizes", sizes, "--dump", folder)
        pairs = [
            ("pair", 1, measure(n, pair_solvers(args.treeport, folder / str(n)), args.rounds))
            for n in args.sizes
        ]
        many = [
            ("10000 pairs", threads, measure(30, many_solvers(args.treeport, folder / "many", threads), args.rounds))
            for threads in (1, 2)
        ]
        ours(args.treeport, "--sizes", ",".join(map(str, GRIDS)), "--dump", folder / "graphs", what="graph")
        graphs = [
            (at.name, 1, measure(at.name, graph_solvers(args.treeport, at), args.rounds))
            for at in sorted((folder / "graphs").iterdir())
        ]
    if args.json:
        for job, threads, row in pairs + many + graphs:
            print(json.dumps({"bench": "peers", "job": job, "threads": threads, "versions": versions(), **row}))
    else:
        show("one pair, cost matrix given, 1 thread: ms per pair", "support", pairs)
        show("10,000 pairs of support 30, from coordinates: ms per pair", "threads", many)
        show("mass on all nodes of a graph, 1 thread: ms per pair", "graph", graphs, ["treeport", "POT", "OR-tools"])


def versions():
    found = {"numpy": np.__version__}
    for name, module in (("POT", ot), ("wasserstein", wasserstein), ("OR-tools", ortools)):
        found[name] = module.__version__ if module else None
    return found


def ours(treeport, *args, what="exact"):
    command = [treeport, "bench", what, *args]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def replay(treeport, folder, threads):
    """Our seconds per pair and values; the binary takes its own median."""
    found = json.loads(ours(treeport, "--replay", folder, "--threads", str(threads)))
    return found["seconds"], np.array(found["values"])


def pair_solvers(treeport, folder):
    """Solvers by name, each a function to (seconds per pair, values)."""
    cost, a, b = (np.load(folder / f"{name}.npy") for name in ("cost", "a", "b"))
    solvers = {"treeport": lambda: replay(treeport, folder, 1)}
    if ot:
        solvers["POT"] = timed(
            lambda: [ot.emd2(x, y, c, numItermax=MOST_ITERATIONS) for x, y, c in zip(a, b, cost)]
        )
    if wasserstein:
        emd = wasserstein.EMD(norm=True, n_iter_max=MOST_ITERATIONS)
        solvers["wasserstein"] = timed(lambda: [emd(x, y, c) for x, y, c in zip(a, b, cost)])
    return solvers


def many_solvers(treeport, folder, threads):
    """As pair_solvers, on coordinates; POT's distances are SciPy's. It has one thread alone."""
    masses, points = np.load(folder / "masses.npy"), np.load(folder / "points.npy")
    points = points.reshape(*masses.shape, -1)
    half = len(masses) // 2
    solvers = {"treeport": lambda: replay(treeport, folder, threads)}
    if ot and threads == 1:
        solvers["POT"] = timed(
            lambda: [
                ot.emd2(masses[i], masses[j], cdist(points[i], points[j]), numItermax=MOST_ITERATIONS)
                for i in range(half)
                for j in range(half, 2 * half)
            ]
        )
    if wasserstein:
        events = [np.column_stack(event) for event in zip(masses, points)]

        def pairwise():
            emds = wasserstein.PairwiseEMD(norm=True, num_threads=threads, verbose=0, throw_on_error=True)
            emds(events[:half], events[half:])
            return emds.emds().ravel()

        solvers["wasserstein"] = timed(pairwise, threads)
    return solvers


def graph_solvers(treeport, folder):
    """As pair_solvers, on a graph; POT's distances are not part of the time."""
    edges, masses = np.load(folder / "edges.npy"), np.load(folder / "nodes.npy")
    a, b = masses[::2], masses[1::2]
    nodes = masses.shape[1]
    ends, lengths = edges[:, :2].astype(int), edges[:, 2]
    solvers = {"treeport": lambda: replay(treeport, folder, 1)}
    if ot and nodes <= MOST_NODES:
        # SciPy takes an entry 0 for no edge.
        graph = csr_matrix((np.where(lengths > 0, lengths, 1e-13), ends.T), shape=(nodes, nodes))
        cost = shortest_path(graph, directed=False)
        solvers["POT"] = timed(lambda: [ot.emd2(x, y, cost, numItermax=MOST_ITERATIONS) for x, y in zip(a, b)])
    if ortools:
        solvers["OR-tools"] = timed(lambda: [flow_cost(ends, lengths, x, y) for x, y in zip(a, b)])
    return solvers


def flow_cost(ends, lengths, a, b):
    """The cost of OR-tools' min-cost flow, with masses and, if need be, lengths in whole parts."""
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
    def run():
        values = np.array(solve())
        times = []
        busy = time.process_time()
        while not times or sum(times) < REPEAT_SECONDS:
            start = time.perf_counter()
            solve()
            times.append(time.perf_counter() - start)
        busy = time.process_time() - busy
        if busy > (threads + 0.5) * sum(times):
            sys.exit(f"error: a solver ran on more than {threads} threads")
        return median(times) / len(values), values

    return run


def measure(n, solvers, rounds):
    """Lets the solvers take turns, compares their values, and returns the medians."""
    times = {name: [] for name in solvers}
    expected = None
    for _ in range(rounds):
        for name, run in solvers.items():
            seconds, values = run()
            expected = values if expected is None else expected
            worst = np.max(np.abs(values - expected) / expected)
            if worst > (WHOLE_TOLERANCE if name == "OR-tools" else TOLERANCE):
                sys.exit(f"error: at {n} {name} differs from treeport by {worst:.2e}, relatively")
            times[name].append(seconds)
    row = {"n": n, **{f"{name}_seconds": median(t) for name, t in times.items()}}
    for name in list(times)[1:]:
        row[f"{name}_ratio"] = row[f"{name}_seconds"] / row["treeport_seconds"]
    return row


def show(title, first, rows, names=("treeport", "POT", "wasserstein")):
    """One table: times, then the peers' times over ours."""
    columns = [f"{name}_seconds" for name in names] + [f"{name}_ratio" for name in names[1:]]
    heads = [first, *names, *(f"{name}/ours" for name in names[1:])]
    print(title)
    print("".join(f"{head:>17}" for head in heads))
    for _, threads, row in rows:
        label = threads if first == "threads" else row["n"]
        cells = [row.get(column) for column in columns]
        scaled = [c * 1e3 if c and "seconds" in name else c for c, name in zip(cells, columns)]
        print(f"{label:>17}" + "".join(f"{c:>17.4g}" if c else f"{'-':>17}" for c in scaled))
    print(flush=True)


if __name__ == "__main__":
    main()
