"""What people bring from POT: its calls, potentials, clouds, partial and unbalanced transport; judged by POT and linear programs."""

import networkx as nx
import numpy as np
import ot
import pytest
import treeport as tp
from scipy.optimize import linprog
from scipy.spatial.distance import cdist


def problems(count, seed=5):
    """Two sets of points, and masses on them of any totals, some of them 0."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, m, dim = (int(k) for k in rng.integers(1, [12, 12, 4]))
        a, b = rng.random(n) * (rng.random(n) < 0.8) + 1e-3, rng.random(m) + 1e-3
        yield a, b, rng.normal(size=(n, dim)), rng.normal(size=(m, dim))


def relaxed_lp(a, b, cost, mass=None, penalty=None):
    """The linear program itself."""
    n, m = cost.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    price = cost.ravel() - (0 if penalty is None else 2 * penalty)
    equal = {} if mass is None else {"A_eq": np.ones((1, n * m)), "b_eq": [mass]}
    found = linprog(price, A_ub=np.vstack([rows, columns]), b_ub=np.concatenate([a, b]), **equal)
    assert found.status == 0
    return found.fun + (0 if penalty is None else penalty * (a.sum() + b.sum()))


def test_calls_of_pot_mean_the_same():
    for a, b, x, y in problems(100):
        a, b, cost = a / a.sum(), b / b.sum(), ot.dist(x, y, metric="euclidean")
        judge = ot.emd2(a, b, cost)
        assert tp.emd(a, b, cost) == pytest.approx(judge, rel=1e-9, abs=1e-13)
        assert tp.emd(a, b, cost) == tp.emd(a, b, cost=cost) == tp.emd(a.tolist(), b, cost.tolist())
        value, plan = tp.emd(a, b, cost, return_plan=True)
        assert (plan.toarray() * cost).sum() == pytest.approx(judge, rel=1e-9, abs=1e-13)
        assert tp.sinkhorn(a, b, cost) == tp.sinkhorn(a, b, cost=cost)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean", "cosine"])
def test_two_sets_of_points(metric):
    for a, b, x, y in problems(60):
        a, b = a / a.sum(), b / b.sum()
        cost = cdist(x, y, {"manhattan": "cityblock"}.get(metric, metric)).clip(0)
        value, plan = tp.emd(a, b, x, y, metric=metric, return_plan=True)
        assert value == pytest.approx(tp.emd(a, b, cost), rel=1e-9, abs=1e-12)
        assert tp.emd(a, b, points=x, points_b=y, metric=metric) == pytest.approx(value, rel=1e-12)
        assert tp.emd(a, b, x.tolist(), y.tolist(), metric=metric) == pytest.approx(
            value, rel=1e-12
        )
        assert plan.shape == cost.shape
        np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)
        assert (plan.toarray() * cost).sum() == pytest.approx(value, rel=1e-9, abs=1e-12)
    entropic = tp.sinkhorn(a, b, x, y, metric=metric, epsilon=0.1)
    assert entropic == pytest.approx(tp.sinkhorn(a, b, cost, epsilon=0.1), rel=1e-9)


def check_proof(a, b, cost, value, potentials, most=np.inf):
    u, v = potentials
    size = 1 + cost.max()
    assert (u[:, None] + v[None] <= cost + 1e-9 * size).all()
    assert max(u.max(), v.max()) <= most + 1e-9 * size
    assert a @ u + b @ v == pytest.approx(value, rel=1e-8, abs=1e-9 * size)


def test_potentials_prove_values_at_all_points():
    for a, b, x, y in problems(60):
        a[len(a) // 2] = 0 if len(a) > 1 else a[0]
        a, b = a / a.sum(), b / b.sum()
        for metric in ["euclidean", "sqeuclidean"]:
            cost = cdist(x, y, metric)
            value, duals = tp.emd(a, b, cost, return_potentials=True)
            check_proof(a, b, cost, value, duals)
            assert value == tp.emd(a, b, cost)
            value, plan, duals = tp.emd(
                a, b, x, y, metric=metric, return_plan=True, return_potentials=True
            )
            check_proof(a, b, cost, value, duals)
            assert plan.shape == cost.shape
            both, all_points = np.concatenate([a, 0 * b]), np.concatenate([x, y])
            other = np.concatenate([0 * a, b])
            other[0] += 0.25
            other /= other.sum()
            cost = cdist(all_points, all_points, metric)
            value, duals = tp.emd(
                both, other, points=all_points, metric=metric, return_potentials=True
            )
            check_proof(both, other, cost, value, duals)
            if metric == "euclidean":
                np.testing.assert_array_equal(duals[0], -duals[1])
                condensed = cost[np.triu_indices(len(cost), 1)]
                value, duals = tp.emd(both, other, condensed, return_potentials=True)
                check_proof(both, other, cost, value, duals)


def test_potentials_on_graphs(rng):
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=1)
    a, b = np.zeros(30), np.zeros(30)
    a[:5], b[3:9] = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(6))
    paths = np.asarray(nx.floyd_warshall_numpy(graph))
    value, duals = tp.emd(a, b, graph=graph, weight=None, return_potentials=True)
    check_proof(a, b, paths, value, duals)
    ring = nx.DiGraph([(i, (i + 1) % 30) for i in range(30)])
    ways = np.asarray(nx.floyd_warshall_numpy(ring))
    value, (u, v) = tp.emd(a, b, graph=ring, weight=None, return_potentials=True)
    check_proof(a[:5], b[3:9], ways[:5, 3:9], value, (u[:5], v[3:9]))
    assert not u[5:].any() and not v[:3].any()


def test_partial_transport_agrees_with_a_linear_program_and_no_plan_of_pot_costs_less():
    rng = np.random.default_rng(8)
    for a, b, x, y in problems(60):
        cost = cdist(x, y)
        mass = float(rng.choice([0.2, 0.7, 1.0])) * min(a.sum(), b.sum())
        value, plan = tp.emd(a, b, cost, mass=mass, return_plan=True)
        assert value == pytest.approx(relaxed_lp(a, b, cost, mass=mass), rel=1e-7, abs=1e-9)
        theirs = ot.partial.partial_wasserstein(
            a, b, cost, m=min(mass, 0.999999 * min(a.sum(), b.sum()))
        )
        assert tp.emd(a, b, cost, mass=min(theirs.sum(), mass)) <= (theirs * cost).sum() + 1e-9
        assert plan.sum() == pytest.approx(mass)
        assert (plan.sum(axis=1) <= a + 1e-12).all() and (plan.sum(axis=0) <= b + 1e-12).all()
        assert (plan.toarray() * cost).sum() == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert tp.emd(a, b, x, y, mass=mass) == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_unbalanced_transport_agrees_with_a_linear_program():
    rng = np.random.default_rng(9)
    for a, b, x, y in problems(60):
        cost, penalty = cdist(x, y), float(rng.random() * 2)
        value, plan, duals = tp.emd(
            a, b, cost, penalty=penalty, return_plan=True, return_potentials=True
        )
        assert value == pytest.approx(relaxed_lp(a, b, cost, penalty=penalty), rel=1e-7, abs=1e-9)
        check_proof(a, b, cost, value, duals, penalty)
        left = a.sum() + b.sum() - 2 * plan.sum()
        assert (plan.toarray() * cost).sum() + penalty * left == pytest.approx(value, rel=1e-9)
        assert tp.emd(a, b, x, y, penalty=penalty) == pytest.approx(value, rel=1e-9)


# POT passes them to SciPy.
@pytest.mark.filterwarnings("ignore:scipy.optimize. The `disp` and `iprint`:DeprecationWarning:ot")
def test_no_unbalanced_plan_of_pot_costs_less():
    for a, b, x, y in problems(6):
        cost = cdist(x, y)
        # Wherever its iteration stops, which differs from processor to processor: it is a plan.
        plan = ot.unbalanced.lbfgsb_unbalanced(
            a, b, cost, reg=0, reg_m=0.7, reg_div="kl", regm_div="tv"
        )
        reached = (plan * cost).sum() + 0.7 * (
            abs(plan.sum(1) - a).sum() + abs(plan.sum(0) - b).sum()
        )
        assert tp.emd(a, b, cost, penalty=0.7) <= reached + 1e-9


def test_unbalanced_transport_that_can_be_worked_out_by_hand():
    # All is moved that costs no more than two penalties, the nearer first.
    assert tp.emd([0.4], [0.3, 0.3], [[1.0, 3.0]], penalty=2.0) == pytest.approx(
        0.3 * 1 + 0.1 * 3 + 0.2 * 2, rel=1e-12
    )
    assert tp.emd([0.4], [0.3, 0.3], [[1.0, 3.0]], penalty=1.0) == pytest.approx(
        0.3 * 1 + 0.1 + 0.3, rel=1e-12
    )
    assert tp.emd([0.4], [0.3, 0.3], [[1.0, 3.0]], penalty=0.25) == pytest.approx(
        0.25 * (0.4 + 0.6), rel=1e-12
    )


def test_unbalanced_transport_on_one_set_of_points_and_on_graphs(rng):
    points = rng.normal(size=(15, 2))
    a, b = rng.random(15), rng.random(15) * (rng.random(15) < 0.5)
    cost = cdist(points, points)
    for penalty in [0.0, 0.3, 10.0]:
        judge = tp.emd(a, b, cost, penalty=penalty)
        assert tp.emd(a, b, points=points, penalty=penalty) == pytest.approx(
            judge, rel=1e-9, abs=1e-12
        )
        value, duals = tp.emd(a, b, points=points, penalty=penalty, return_potentials=True)
        check_proof(a, b, cost, value, duals, penalty)
    graph = nx.cycle_graph(15)
    paths = np.asarray(nx.floyd_warshall_numpy(graph))
    for option in [{"penalty": 1.3}, {"mass": 2.0}]:
        judge = tp.emd(a, b, paths, **option)
        assert tp.emd(a, b, graph=graph, weight=None, **option) == pytest.approx(judge, rel=1e-9)
    ring = nx.DiGraph([(i, (i + 1) % 15) for i in range(15)])
    ways = np.asarray(nx.floyd_warshall_numpy(ring))
    value, plan = tp.emd(a, b, graph=ring, weight=None, penalty=1.3, return_plan=True)
    assert value == pytest.approx(tp.emd(a, b, ways, penalty=1.3), rel=1e-9) and plan.shape == (
        15,
        15,
    )


def test_all_pairs_agree_with_pot_on_any_number_of_threads(rng):
    points = rng.normal(size=(12, 3))
    A, B = rng.dirichlet(np.ones(12), size=6), rng.dirichlet(np.ones(12), size=4)
    cost = cdist(points, points)
    table, cross = tp.emd_pairwise(A, points=points), tp.emd_pairwise(A, B, points=points)
    for i, a in enumerate(A):
        judges = [ot.emd2(a, b, cost) for b in B]
        np.testing.assert_allclose(cross[i], judges, rtol=1e-9)
        np.testing.assert_allclose(
            table[i], [ot.emd2(a, b, cost) for b in A], rtol=1e-9, atol=1e-13
        )
    assert (table == table.T).all() and (table == tp.emd_pairwise(A, points=points, n_jobs=1)).all()
    np.testing.assert_allclose(
        tp.emd_pairwise(A, B, cost=cost, assume_metric=True), cross, rtol=1e-12
    )


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_clouds_of_different_sizes(metric, rng):
    def cloud():
        size = int(rng.integers(1, 9))
        return rng.dirichlet(np.ones(size)), rng.normal(size=(size, 3))

    A, B = [cloud() for _ in range(5)], [cloud() for _ in range(4)]
    judge = [[tp.emd(a, b, x, y, metric=metric) for b, y in B] for a, x in A]
    np.testing.assert_allclose(tp.emd_pairwise(A, B, metric=metric), judge, rtol=1e-12)
    within = tp.emd_pairwise(A, metric=metric)
    assert within[1, 2] == pytest.approx(
        tp.emd(A[1][0], A[2][0], A[1][1], A[2][1], metric=metric), rel=1e-12
    )
    assert not within.diagonal().any()
    np.testing.assert_array_equal(tp.emd_pairs(A, [(1, 2)], metric=metric), within[1, 2])


def test_tables_of_measures_whose_masses_differ(rng):
    points, A, B = rng.normal(size=(9, 2)), rng.random((4, 9)), rng.random((3, 9)) * 2
    cost = cdist(points, points)
    judge = [[tp.emd(a, b, cost, penalty=0.6) for b in B] for a in A]
    np.testing.assert_allclose(tp.emd_pairwise(A, B, points=points, penalty=0.6), judge, rtol=1e-9)
    np.testing.assert_allclose(
        tp.emd_pairwise(tp.Measures(A), points=points, penalty=0.6)[1, 2],
        tp.emd(A[1], A[2], points=points, penalty=0.6),
        rtol=1e-12,
    )
    clouds = [(row[: 3 + k], points[: 3 + k]) for k, row in enumerate(A)]
    pairs = tp.emd_pairs(clouds, [(0, 3), (2, 1)], penalty=0.6, n_jobs=2)
    one = tp.emd(clouds[0][0], clouds[3][0], clouds[0][1], clouds[3][1], penalty=0.6)
    assert pairs[0] == pytest.approx(one, rel=1e-9)
    with pytest.raises(ValueError, match="penalty is -1; it must be finite and at least 0"):
        tp.emd_pairwise(A, points=points, penalty=-1)


HALF, LINE = [0.5, 0.5], [[0.0], [1.0]]
CALLS = [
    (
        lambda: tp.emd(HALF, HALF, LINE, 100000),
        "points_b is 100000; the fourth argument is the coordinates of the points of b, and everything after it is given by name",
    ),
    (
        lambda: tp.sinkhorn(HALF, HALF, np.eye(2), 0.1),
        "points_b is 0.1; the fourth argument is the coordinates of the points of b, and everything after it is given by name",
    ),
    (
        lambda: tp.emd(HALF, HALF, points_b=LINE),
        "points_b are the coordinates of the points of b, so give those of a as points (or both in the place of the cost matrix), and neither cost nor graph",
    ),
    (lambda: tp.emd(HALF, [1.0], LINE, LINE), "b has 1 masses, and points_b has 2 rows"),
    (lambda: tp.emd([1.0], HALF, LINE, LINE), "a has 1 masses, and points has 2 rows"),
    (
        lambda: tp.emd(HALF, HALF, LINE, [[0.0, 1.0], [1.0, 1.0]]),
        "points has 1 coordinates a point, points_b 2; the numbers have to be equal",
    ),
    (
        lambda: tp.emd(HALF, HALF, LINE, [[0.0], [np.nan]]),
        "points_b: coordinate 0 of point 1 is NaN; coordinates must be finite",
    ),
    (
        lambda: tp.emd(HALF, HALF, [[np.inf], [0.0]], LINE),
        "coordinate 0 of point 0 is inf; coordinates must be finite",
    ),
    (
        lambda: tp.emd(HALF, HALF, points=LINE, mass=0.1, penalty=1.0),
        "give mass or penalty, not both",
    ),
    (
        lambda: tp.emd(HALF, HALF, points=LINE, mass=1.1),
        "mass is 1.1; it must be at least 0 and at most the smaller of the totals",
    ),
    (
        lambda: tp.emd(HALF, HALF, points=LINE, penalty=-1),
        "penalty is -1; it must be finite and at least 0",
    ),
    (
        lambda: tp.emd_pairwise([(HALF, LINE), ([1.0], LINE)]),
        "cloud 1 has 1 masses and 2 points; there has to be one for each",
    ),
    (
        lambda: tp.emd_pairwise([(HALF, LINE)], [([-1.0, 2], LINE)]),
        "B: cloud 0: point 0 has mass -1; masses must be finite and at least 0",
    ),
    (
        lambda: tp.emd_pairwise([(HALF, LINE), ([0.0], [[1.0]])]),
        "cloud 1: it has no mass; drop it or give it a positive entry (with `empty=True`, `Clouds` may have none, for transport with a `penalty`)",
    ),
    (
        lambda: tp.emd_pairwise([(HALF, LINE), (HALF, [[1.0], [np.nan]])]),
        "cloud 1: coordinate 0 of point 1 is NaN; coordinates must be finite",
    ),
    (
        lambda: tp.emd_pairwise([(HALF, LINE), ([1.0], [[1.0, 2.0]])]),
        "the points of cloud 1 have 2 coordinates, those of cloud 0 1; the numbers have to be equal",
    ),
    (lambda: tp.emd_pairwise([]), "there are no clouds; a list of them has at least one"),
    (
        lambda: tp.emd_pairwise([HALF, HALF]),
        "give one of points, cost and graph; 0 of them are given",
    ),
    (
        lambda: tp.emd_pairwise([HALF], [[0.5, 1.5]], points=LINE),
        "measures 0 and 0 have total mass 1 and 2; transport needs equal masses, so divide each by its total first, or let mass be left over (`penalty` of `emd`, `emd_pairs`, `emd_pairwise` and `Tree.distance`, `mass` of `emd`)",
    ),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_bad_values_are_named(number):
    call, message = CALLS[number]
    with pytest.raises(ValueError) as caught:
        call()
    assert str(caught.value) == message
