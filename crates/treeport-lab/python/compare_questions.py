"""Problems of `bench_compare.py`, and the calls that solve them in each package.

A question makes a problem from a seed; a way turns a problem into a function without arguments, whose calls are timed.
Packages are imported when a worker needs them, so that its memory has no other package in it.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Problem = dict[str, Any]
Solve = Callable[[], Any]

MOST_ITERATIONS = 10**8
EPSILON = 0.05
PENALTY = 0.8


class Package(NamedTuple):
    """A package: its name for pip, and the modules it requires."""

    pip: str
    modules: tuple[str, ...]


PACKAGES = {
    "treeport": Package("treeport", ("treeport",)),
    "POT": Package("POT", ("ot",)),
    "wasserstein": Package("wasserstein", ("wasserstein",)),
    "SciPy": Package("scipy", ("scipy",)),
    "GUDHI": Package("gudhi", ("gudhi", "ot")),
    "scikit-bio": Package("scikit-bio", ("skbio",)),
    "OTT": Package("ott-jax", ("ott", "jax")),
}


class Way(NamedTuple):
    """A solver of a package: its call, and a function from a problem to the timed work."""

    package: str
    call: str
    prepare: Callable[[Problem], Solve]


class Question(NamedTuple):
    """A benchmark question. Values agree if they differ by at most `tolerance` of the largest."""

    name: str
    title: str
    make: Callable[[np.random.Generator], Problem]
    ways: list[Way]
    tolerance: float = 1e-8
    # A way stopped at one question skips the later questions of its family, which are no smaller.
    family: str = ""
    # Number of results of one call; times are divided by it.
    answers: int = 1
    quick: bool = False


# Problems.


def masses(rng: np.random.Generator, *shape: int) -> np.ndarray:
    found = rng.random(shape) + 0.01
    return found / found.sum(axis=-1, keepdims=True)


def pair(n: int, dim: int) -> Callable[[np.random.Generator], Problem]:
    def make(rng: np.random.Generator) -> Problem:
        return {
            "a": masses(rng, n),
            "b": masses(rng, n),
            "x": rng.random((n, dim)),
            "y": rng.random((n, dim)),
        }

    return make


def unequal(rng: np.random.Generator) -> Problem:
    found = pair(300, 2)(rng)
    return found | {"b": 0.6 * found["b"]}


def small_pairs(rng: np.random.Generator) -> Problem:
    count, n = 100, 30
    return {
        "a": masses(rng, count, n),
        "b": masses(rng, count, n),
        "x": rng.random((count, n, 2)),
        "y": rng.random((count, n, 2)),
    }


def clouds(rng: np.random.Generator) -> Problem:
    """Draws queries and a collection: clusters at random places."""

    def some(count: int) -> np.ndarray:
        return 3 * rng.random((count, 1, 2)) + rng.normal(size=(count, 20, 2)) * rng.uniform(
            0.1, 0.6, size=(count, 1, 1)
        )

    return {
        "masses": masses(rng, 2_000, 20),
        "points": some(2_000),
        "query_masses": masses(rng, 50, 20),
        "queries": some(50),
    }


def diagram(rng: np.random.Generator, kind: int) -> np.ndarray:
    """Many points near the diagonal, and a few far from it, as Rips complexes have."""
    count = int(rng.integers(2, 46))
    birth = rng.uniform(0.1, 0.6, count)
    life = rng.exponential(0.06, count)
    life[: kind + 1] += rng.uniform(0.5, 1.2, min(count, kind + 1))
    return np.stack([birth, birth + life], axis=1)


def persistence(rng: np.random.Generator) -> Problem:
    found = [diagram(rng, at % 3) for at in range(200)]
    return {"points": np.concatenate(found), "ends": np.cumsum([len(one) for one in found])}


def diagrams_of(problem: Problem) -> list[np.ndarray]:
    return np.split(problem["points"], problem["ends"][:-1])


def samples(rng: np.random.Generator) -> Problem:
    """A random phylogeny as Newick text, and counts of its tips, of which few are common."""
    tips = 5_000
    nodes = [f"t{k}:{rng.exponential():.6f}" for k in range(tips)]
    while len(nodes) > 1:
        rng.shuffle(nodes)
        pairs = [f"({a},{b}):{rng.exponential():.6f}" for a, b in zip(nodes[::2], nodes[1::2])]
        nodes = pairs + (nodes[-1:] if len(nodes) % 2 else [])
    text = nodes[0].rsplit(":", 1)[0] + ";"
    chances = rng.permutation(1.0 / np.arange(1, tips + 1))
    return {"tree": np.array(text), "counts": rng.multinomial(500, chances / chances.sum(), 100)}


# Ways. Each imports its package when it is first called.


def by(module: str, solve: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a problem's arrays, by a module."""
    return lambda *arrays: solve(importlib.import_module(module), *arrays)


def each(solve: Callable[..., float]) -> Callable[[Problem], Solve]:
    """Returns a way to solve every pair of a problem with many."""

    def prepare(problem: Problem) -> Solve:
        pairs = list(zip(*(problem[key] for key in "abxy")))
        return lambda: [solve(*one) for one in pairs]

    return prepare


def once(solve: Callable[..., float]) -> Callable[[Problem], Solve]:
    return lambda problem: lambda: solve(*(problem[key] for key in "abxy"))


def costs(ot: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ot.dist(x, y, metric="euclidean")


@functools.cache
def wasserstein_solver(**options):
    """Creates a solver once for all calls, as its documentation does."""
    import wasserstein

    return wasserstein.EMD(beta=1.0, n_iter_max=MOST_ITERATIONS, **options)


def wasserstein_emd(a, b, x, y):
    return wasserstein_solver(R=1.0, norm=True)(a, x, b, y)


def wasserstein_unbalanced(a, b, x, y):
    # No two points are farther apart than two penalties, so the problems are equal; the radius is the unit.
    return PENALTY * wasserstein_solver(R=PENALTY, norm=False)(a, x, b, y)


tp_emd = by("treeport", lambda tp, a, b, x, y: tp.emd(a, b, x, y))
tp_partial = by("treeport", lambda tp, a, b, x, y: tp.emd(a, b, x, y, mass=0.5))
tp_unbalanced = by("treeport", lambda tp, a, b, x, y: tp.emd(a, b, x, y, penalty=PENALTY))
tp_entropic = by(
    "treeport", lambda tp, a, b, x, y: tp.sinkhorn(a, b, x, y, epsilon=EPSILON, relative=False)
)
pot_emd = by(
    "ot", lambda ot, a, b, x, y: ot.emd2(a, b, costs(ot, x, y), numItermax=MOST_ITERATIONS)
)
pot_lazy = by(
    "ot",
    lambda ot, a, b, x, y: ot.emd2_lazy(
        x, y, a, b, metric="euclidean", numItermax=MOST_ITERATIONS, return_matrix=False
    ),
)
pot_line = by("ot", lambda ot, a, b, x, y: ot.emd2_1d(x, y, a, b, metric="euclidean"))
pot_partial = by(
    "ot",
    lambda ot, a, b, x, y: ot.partial.partial_wasserstein2(
        a, b, costs(ot, x, y), m=0.5, numItermax=MOST_ITERATIONS
    ),
)
pot_unbalanced = by(
    "ot",
    lambda ot, a, b, x, y: (
        ot.solve(costs(ot, x, y), a, b, unbalanced=PENALTY, unbalanced_type="TV").value
    ),
)
pot_entropic = by(
    "ot", lambda ot, a, b, x, y: ot.sinkhorn2(a, b, costs(ot, x, y), EPSILON, numItermax=100_000)
)
scipy_nd = by("scipy.stats", lambda stats, a, b, x, y: stats.wasserstein_distance_nd(x, y, a, b))
scipy_line = by(
    "scipy.stats", lambda stats, a, b, x, y: stats.wasserstein_distance(x[:, 0], y[:, 0], a, b)
)


def ott_entropic(problem: Problem) -> Solve:
    import jax
    from ott.geometry import costs, pointcloud
    from ott.solvers import linear

    def cost(x, y, a, b):
        geometry = pointcloud.PointCloud(x, y, cost_fn=costs.Euclidean(), epsilon=EPSILON)
        # With kernels, like POT; in logarithms it takes twice the time. Single precision gets no nearer.
        return linear.solve(
            geometry, a, b, lse_mode=False, threshold=1e-5, max_iterations=100_000
        ).primal_cost

    compiled = jax.jit(cost)
    return lambda: float(compiled(*(problem[key] for key in "xyab")))


def tp_diagrams(problem: Problem) -> Solve:
    import treeport as tp

    found = diagrams_of(problem)
    return lambda: tp.emd_pairwise(tp.diagrams(found), n_jobs=1)[np.triu_indices(len(found), 1)]


def gudhi_diagrams(module: str) -> Callable[[Problem], Solve]:
    distance = by(module, lambda its, *two: its.wasserstein_distance(*two, order=1, internal_p=2))
    return lambda problem: (
        lambda: list(itertools.starmap(distance, itertools.combinations(diagrams_of(problem), 2)))
    )


def tip_names(problem: Problem) -> list[str]:
    return [f"t{k}" for k in range(problem["counts"].shape[1])]


def tp_unifrac(problem: Problem) -> Solve:
    import treeport as tp

    text, names = str(problem["tree"]), tip_names(problem)
    return lambda: tp.Tree.from_newick(text, names=names).unifrac(problem["counts"])


def skbio_unifrac(problem: Problem) -> Solve:
    import io

    from skbio import TreeNode
    from skbio.diversity import beta_diversity

    text, names = str(problem["tree"]), tip_names(problem)

    def solve():
        tree = TreeNode.read(io.StringIO(text))
        return beta_diversity(
            "weighted_unifrac", problem["counts"], taxa=names, tree=tree, validate=False
        ).data

    return solve


def tp_nearest(problem: Problem) -> Solve:
    import treeport as tp

    data = list(zip(problem["masses"], problem["points"]))
    queries = list(zip(problem["query_masses"], problem["queries"]))
    return lambda: (
        tp.WassersteinNeighbors(n_neighbors=10, n_jobs=1).fit(data).kneighbors(queries)[0]
    )


def pot_nearest(problem: Problem) -> Solve:
    data = list(zip(problem["masses"], problem["points"]))
    queries = list(zip(problem["query_masses"], problem["queries"]))
    return lambda: np.sort([[pot_emd(a, b, x, y) for b, y in data] for a, x in queries])[:, :10]


def wasserstein_nearest(problem: Problem) -> Solve:
    import wasserstein

    data = [np.column_stack(one) for one in zip(problem["masses"], problem["points"])]
    queries = [np.column_stack(one) for one in zip(problem["query_masses"], problem["queries"])]

    def solve():
        emds = wasserstein.PairwiseEMD(
            R=1.0, beta=1.0, norm=True, num_threads=1, print_every=0, verbose=0
        )
        emds(queries, data)
        return np.sort(emds.emds(), axis=1)[:, :10]

    return solve


PAIR_WAYS = [
    Way("treeport", "emd(a, b, x, y)", once(tp_emd)),
    Way("POT", "emd2 of a table of costs", once(pot_emd)),
    Way("POT", "emd2_lazy, without one", once(pot_lazy)),
    Way("wasserstein", "EMD", once(wasserstein_emd)),
    Way("SciPy", "wasserstein_distance_nd", once(scipy_nd)),
]

QUESTIONS = [
    Question(
        "small",
        "one pair of 30 points a side in the plane",
        small_pairs,
        [
            Way("treeport", "emd(a, b, x, y)", each(tp_emd)),
            Way("POT", "emd2 of a table of costs", each(pot_emd)),
            Way("wasserstein", "EMD", each(wasserstein_emd)),
            Way("SciPy", "wasserstein_distance_nd", each(scipy_nd)),
        ],
        answers=100,
        quick=True,
    ),
    *(
        Question(
            f"{name}-{n}",
            f"one pair of {n:,} points a side in {where}",
            pair(n, dim),
            PAIR_WAYS,
            family="pair",
            quick=(name, n) == ("plane", 1_000),
        )
        for name, where, dim in (("plane", "the plane", 2), ("space", "R⁵⁰", 50))
        for n in (1_000, 5_000)
    ),
    Question(
        "line",
        "one pair of 100,000 points a side on a line",
        pair(100_000, 1),
        [
            Way("treeport", "emd(a, b, x, y)", once(tp_emd)),
            Way("SciPy", "wasserstein_distance", once(scipy_line)),
            Way("POT", "emd2_1d", once(pot_line)),
        ],
        quick=True,
    ),
    Question(
        "partial",
        "half of the mass moved, 1,000 points a side",
        pair(1_000, 2),
        [
            Way("treeport", "emd(…, mass=0.5)", once(tp_partial)),
            Way("POT", "partial_wasserstein2", once(pot_partial)),
        ],
        quick=True,
    ),
    Question(
        "unbalanced",
        "totals 1 and 0.6, a penalty for what is left, 300 points a side",
        unequal,
        [
            Way("treeport", "emd(…, penalty=0.8)", once(tp_unbalanced)),
            Way("wasserstein", "EMD(norm=False)", once(wasserstein_unbalanced)),
            Way("POT", 'solve(…, unbalanced_type="TV")', once(pot_unbalanced)),
        ],
        quick=True,
    ),
    Question(
        "entropic",
        "entropic transport, 1,000 points a side, ε = 0.05",
        pair(1_000, 2),
        [
            Way("treeport", "sinkhorn", once(tp_entropic)),
            Way("POT", "sinkhorn2", once(pot_entropic)),
            Way("OTT", "linear.solve in single precision, on the CPU", ott_entropic),
        ],
        tolerance=1e-4,
        quick=True,
    ),
    Question(
        "diagrams",
        "all pairs of 200 persistence diagrams",
        persistence,
        [
            Way("treeport", "emd_pairwise(diagrams(…))", tp_diagrams),
            Way("GUDHI", "wasserstein.wasserstein_distance", gudhi_diagrams("gudhi.wasserstein")),
            Way("GUDHI", "hera.wasserstein_distance, to 1 %", gudhi_diagrams("gudhi.hera")),
        ],
    ),
    Question(
        "unifrac",
        "weighted UniFrac of 100 samples, 5,000 tips",
        samples,
        [
            Way("treeport", "Tree.unifrac", tp_unifrac),
            Way("scikit-bio", "beta_diversity", skbio_unifrac),
        ],
    ),
    Question(
        "nearest",
        "the 10 nearest of 2,000 clouds of 20 points, for 50 queries",
        clouds,
        [
            Way("treeport", "WassersteinNeighbors, built and asked", tp_nearest),
            Way("POT", "emd2 of every pair", pot_nearest),
            Way("wasserstein", "PairwiseEMD of every pair", wasserstein_nearest),
        ],
    ),
]

# Invalid input by name: masses and coordinates of three points in the plane.
TRIANGLE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
EVEN = [1 / 3, 1 / 3, 1 / 3]
NONSENSE = {
    "a mass below 0": ([0.6, -0.1, 0.5], EVEN, TRIANGLE, TRIANGLE),
    "a mass that is NaN": ([0.5, float("nan"), 0.5], EVEN, TRIANGLE, TRIANGLE),
    "totals 1 and 2": (EVEN, [2 / 3, 2 / 3, 2 / 3], TRIANGLE, TRIANGLE),
    "no mass at all": ([0.0, 0.0, 0.0], EVEN, TRIANGLE, TRIANGLE),
    "a coordinate that is NaN": (
        [0.2, 0.2, 0.6],
        EVEN,
        [[0.0, 0.0], [1.0, float("nan")], [0.0, 1.0]],
        TRIANGLE,
    ),
    "a coordinate that is infinite": (
        [0.2, 0.2, 0.6],
        EVEN,
        [[0.0, 0.0], [1.0, float("inf")], [0.0, 1.0]],
        TRIANGLE,
    ),
    "one point fewer than masses": ([0.2, 0.2, 0.6], EVEN, TRIANGLE[:2], TRIANGLE),
}
ASKED = {"treeport": tp_emd, "POT": pot_emd, "wasserstein": wasserstein_emd, "SciPy": scipy_nd}
