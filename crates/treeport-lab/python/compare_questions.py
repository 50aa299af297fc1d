"""What `bench_compare.py` asks, and how each package answers.

A question makes a problem from a seed; a way turns a problem into a function without arguments, which is what is timed: all
that a package does between arrays and answer. Nothing here is imported before a worker needs it, so that its memory is its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Problem = dict[str, Any]
Solve = Callable[[], Any]

MOST_ITERATIONS = 10**8
EPSILON = 0.05
PENALTY = 0.8


class Package(NamedTuple):
    """A package by its name for pip, and the modules that it takes to run."""

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
    """How a package answers: what it calls that, and a function from a problem to what is timed."""

    package: str
    call: str
    prepare: Callable[[Problem], Solve]


class Question(NamedTuple):
    """What is asked. Values agree where they differ by no more than `tolerance` of the largest."""

    name: str
    title: str
    make: Callable[[np.random.Generator], Problem]
    ways: list[Way]
    tolerance: float = 1e-8
    # A way that was stopped at one question is not asked the later ones of its family, which are no smaller.
    family: str = ""
    # How many answers one call gives; times are those of one.
    answers: int = 1
    quick: bool = False


# Problems.


def masses(rng: np.random.Generator, *shape: int) -> np.ndarray:
    found = rng.random(shape) + 0.01
    return found / found.sum(axis=-1, keepdims=True)


def pair(n: int, dim: int) -> Callable[[np.random.Generator], Problem]:
    def make(rng: np.random.Generator) -> Problem:
        return {"a": masses(rng, n), "b": masses(rng, n), "x": rng.random((n, dim)), "y": rng.random((n, dim))}

    return make


def unequal(rng: np.random.Generator) -> Problem:
    found = pair(300, 2)(rng)
    return found | {"b": 0.6 * found["b"]}


def small_pairs(rng: np.random.Generator) -> Problem:
    count, n = 100, 30
    return {"a": masses(rng, count, n), "b": masses(rng, count, n), "x": rng.random((count, n, 2)), "y": rng.random((count, n, 2))}


def clouds(rng: np.random.Generator) -> Problem:
    """Queries, and those to be found among: clusters at random places."""
    def some(count: int) -> np.ndarray:
        return 3 * rng.random((count, 1, 2)) + rng.normal(size=(count, 20, 2)) * rng.uniform(0.1, 0.6, size=(count, 1, 1))

    return {"masses": masses(rng, 2_000, 20), "points": some(2_000), "query_masses": masses(rng, 50, 20), "queries": some(50)}


def persistence(rng: np.random.Generator) -> Problem:
    from bench_diagrams import at_random

    found = [at_random(rng, at % 3) for at in range(200)]
    return {"points": np.concatenate(found), "ends": np.cumsum([len(one) for one in found])}


def diagrams_of(problem: Problem) -> list[np.ndarray]:
    return np.split(problem["points"], problem["ends"][:-1])


def samples(rng: np.random.Generator) -> Problem:
    from bench_unifrac import counts, phylogeny

    tips = 5_000
    text = phylogeny(tips, rng)
    return {"tree": np.array(text), "counts": counts(100, tips, rng).toarray().astype(np.int64)}


# Ways. Each imports its package when it is prepared.


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist

    return cdist(x, y)


def each(solve: Callable[..., float]) -> Callable[[Problem], Solve]:
    """The same for every pair of a problem of many."""

    def prepare(problem: Problem) -> Solve:
        pairs = list(zip(*(problem[key] for key in "abxy")))
        return lambda: [solve(*one) for one in pairs]

    return prepare


def once(solve: Callable[..., float]) -> Callable[[Problem], Solve]:
    return lambda problem: lambda: solve(*(problem[key] for key in "abxy"))


def tp_emd(a, b, x, y):
    import treeport as tp

    return tp.emd(a, b, x, y)


def pot_emd(a, b, x, y):
    import ot

    return ot.emd2(a, b, ot.dist(x, y, metric="euclidean"), numItermax=MOST_ITERATIONS)


def pot_lazy(a, b, x, y):
    import ot

    return ot.emd2_lazy(x, y, a, b, metric="euclidean", numItermax=MOST_ITERATIONS, return_matrix=False)


@functools.cache
def wasserstein_solver(**options):
    """Made once, as its users do."""
    import wasserstein

    return wasserstein.EMD(beta=1.0, n_iter_max=MOST_ITERATIONS, **options)


def wasserstein_emd(a, b, x, y):
    return wasserstein_solver(R=1.0, norm=True)(a, x, b, y)


def scipy_nd(a, b, x, y):
    from scipy.stats import wasserstein_distance_nd

    return wasserstein_distance_nd(x, y, a, b)


def scipy_line(a, b, x, y):
    from scipy.stats import wasserstein_distance

    return wasserstein_distance(x[:, 0], y[:, 0], a, b)


def pot_line(a, b, x, y):
    import ot

    return ot.emd2_1d(x, y, a, b, metric="euclidean")


def tp_partial(a, b, x, y):
    import treeport as tp

    return tp.emd(a, b, x, y, mass=0.5)


def pot_partial(a, b, x, y):
    import ot

    return ot.partial.partial_wasserstein2(a, b, ot.dist(x, y, metric="euclidean"), m=0.5, numItermax=MOST_ITERATIONS)


def tp_unbalanced(a, b, x, y):
    import treeport as tp

    return tp.emd(a, b, x, y, penalty=PENALTY)


def pot_unbalanced(a, b, x, y):
    import ot

    return ot.solve(ot.dist(x, y, metric="euclidean"), a, b, unbalanced=PENALTY, unbalanced_type="TV").value


def wasserstein_unbalanced(a, b, x, y):
    # No two points are farther apart than two penalties, so that it is the same question; the radius is its unit.
    return PENALTY * wasserstein_solver(R=PENALTY, norm=False)(a, x, b, y)


def tp_entropic(a, b, x, y):
    import treeport as tp

    return tp.sinkhorn(a, b, x, y, epsilon=EPSILON, relative=False)


def pot_entropic(a, b, x, y):
    import ot

    return ot.sinkhorn2(a, b, ot.dist(x, y, metric="euclidean"), EPSILON, numItermax=100_000)


def ott_entropic(problem: Problem) -> Solve:
    import jax
    from ott.geometry import costs, pointcloud
    from ott.solvers import linear

    def cost(x, y, a, b):
        geometry = pointcloud.PointCloud(x, y, cost_fn=costs.Euclidean(), epsilon=EPSILON)
        # By kernels, as POT's; logarithms take twice the time here. In JAX's own precision it gets no nearer.
        return linear.solve(geometry, a, b, lse_mode=False, threshold=1e-5, max_iterations=100_000).primal_cost

    compiled = jax.jit(cost)
    return lambda: float(compiled(*(problem[key] for key in "xyab")))


def tp_diagrams(problem: Problem) -> Solve:
    import treeport as tp

    found = diagrams_of(problem)
    return lambda: tp.emd_pairwise(tp.diagrams(found), n_jobs=1)[np.triu_indices(len(found), 1)]


def in_two_loops(distance: Callable[[np.ndarray, np.ndarray], float], found: list[np.ndarray]) -> Solve:
    return lambda: [distance(found[i], found[j]) for i in range(len(found)) for j in range(i + 1, len(found))]


def gudhi_diagrams(problem: Problem) -> Solve:
    from gudhi.wasserstein import wasserstein_distance

    return in_two_loops(lambda one, other: wasserstein_distance(one, other, order=1, internal_p=2), diagrams_of(problem))


def hera_diagrams(problem: Problem) -> Solve:
    from gudhi.hera import wasserstein_distance

    return in_two_loops(lambda one, other: wasserstein_distance(one, other, order=1, internal_p=2), diagrams_of(problem))


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
        return beta_diversity("weighted_unifrac", problem["counts"], taxa=names, tree=tree, validate=False).data

    return solve


def tp_nearest(problem: Problem) -> Solve:
    import treeport as tp

    data = list(zip(problem["masses"], problem["points"]))
    queries = list(zip(problem["query_masses"], problem["queries"]))
    return lambda: tp.WassersteinNeighbors(n_neighbors=10, n_jobs=1).fit(data).kneighbors(queries)[0]


def pot_nearest(problem: Problem) -> Solve:
    import ot

    def solve():
        found = [
            [ot.emd2(a, b, ot.dist(x, y, metric="euclidean")) for b, y in zip(problem["masses"], problem["points"])]
            for a, x in zip(problem["query_masses"], problem["queries"])
        ]
        return np.sort(found, axis=1)[:, :10]

    return solve


def wasserstein_nearest(problem: Problem) -> Solve:
    import wasserstein

    data = [np.column_stack(one) for one in zip(problem["masses"], problem["points"])]
    queries = [np.column_stack(one) for one in zip(problem["query_masses"], problem["queries"])]

    def solve():
        emds = wasserstein.PairwiseEMD(R=1.0, beta=1.0, norm=True, num_threads=1, print_every=0, verbose=0)
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
    Question("plane-1000", "one pair of 1,000 points a side in the plane", pair(1_000, 2), PAIR_WAYS, family="pair", quick=True),
    Question("plane-5000", "one pair of 5,000 points a side in the plane", pair(5_000, 2), PAIR_WAYS, family="pair"),
    Question("space-1000", "one pair of 1,000 points a side in R⁵⁰", pair(1_000, 50), PAIR_WAYS, family="pair"),
    Question("space-5000", "one pair of 5,000 points a side in R⁵⁰", pair(5_000, 50), PAIR_WAYS, family="pair"),
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
        [Way("treeport", "emd(…, mass=0.5)", once(tp_partial)), Way("POT", "partial_wasserstein2", once(pot_partial))],
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
            Way("GUDHI", "wasserstein.wasserstein_distance", gudhi_diagrams),
            Way("GUDHI", "hera.wasserstein_distance, to 1 %", hera_diagrams),
        ],
    ),
    Question(
        "unifrac",
        "weighted UniFrac of 100 samples, 5,000 tips",
        samples,
        [Way("treeport", "Tree.unifrac", tp_unifrac), Way("scikit-bio", "beta_diversity", skbio_unifrac)],
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

# What makes no sense, by its name: masses and coordinates of three points in the plane.
TRIANGLE = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
EVEN = [1 / 3, 1 / 3, 1 / 3]
NONSENSE = {
    "a mass below 0": ([0.6, -0.1, 0.5], EVEN, TRIANGLE, TRIANGLE),
    "a mass that is NaN": ([0.5, float("nan"), 0.5], EVEN, TRIANGLE, TRIANGLE),
    "totals 1 and 2": (EVEN, [2 / 3, 2 / 3, 2 / 3], TRIANGLE, TRIANGLE),
    "no mass at all": ([0.0, 0.0, 0.0], EVEN, TRIANGLE, TRIANGLE),
    "a coordinate that is NaN": ([0.2, 0.2, 0.6], EVEN, [[0.0, 0.0], [1.0, float("nan")], [0.0, 1.0]], TRIANGLE),
    "a coordinate that is infinite": ([0.2, 0.2, 0.6], EVEN, [[0.0, 0.0], [1.0, float("inf")], [0.0, 1.0]], TRIANGLE),
    "one point fewer than masses": ([0.2, 0.2, 0.6], EVEN, TRIANGLE[:2], TRIANGLE),
}
ASKED = {
    "treeport": tp_emd,
    "POT": pot_emd,
    "wasserstein": wasserstein_emd,
    "SciPy": scipy_nd,
}
