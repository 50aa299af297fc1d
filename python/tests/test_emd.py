"""Exact transport, judged by POT and SciPy."""

import networkx as nx
import numpy as np
import ot
import pytest
import treeport as tp
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform


def measure(rng, n, support):
    masses = np.zeros(n)
    masses[rng.choice(n, support, replace=False)] = rng.random(support) + 1e-3
    return masses / masses.sum()


def instances():
    """Two hundred problems: points in 1 to 8 dimensions, supports of 1 to 40 of up to 60 points."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(2, 60))
        points = rng.normal(size=(n, int(rng.integers(1, 9))))
        a, b = (measure(rng, n, int(rng.integers(1, min(n, 40) + 1))) for _ in range(2))
        yield points, a, b


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean", "cosine"])
def test_values_and_plans_agree_with_pot(metric):
    for points, a, b in instances():
        cost = cdist(points, points, metric)
        np.fill_diagonal(cost, 0)  # rounding of the cosine
        judge = ot.emd2(a, b, cost)
        # POT stops at reduced costs of rounding size: relative to the largest cost.
        close = {"rel": 1e-9, "abs": 1e-13 * cost.max()}
        value, plan = tp.emd(a, b, points=points, metric=metric, return_plan=True)
        assert value == pytest.approx(judge, **close)
        assert tp.emd(a, b, points=points, metric=metric) == value
        assert tp.emd(a, b, cost=cost) == pytest.approx(judge, **close)
        assert tp.emd(a, b, cost=squareform(cost, checks=False)) == pytest.approx(judge, **close)
        assert plan.shape == (len(a), len(b))
        np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)
        assert plan.multiply(cost).sum() == pytest.approx(value, **close)


def test_the_two_measures_may_live_on_different_points(rng):
    for _ in range(200):
        n, m = rng.integers(1, 30, size=2)
        cost = rng.random((n, m))
        a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
        value, plan = tp.emd(a, b, cost=cost, return_plan=True)
        assert value == pytest.approx(ot.emd2(a, b, cost), rel=1e-9)
        assert plan.shape == (n, m)
        np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)


def test_many_pairs_agree_with_single_calls_on_any_number_of_threads(words, documents):
    measures = documents / documents.sum(axis=1, keepdims=True)
    pairs = np.array([(i, (7 * i + 3) % 60) for i in range(60)])
    one = tp.emd_pairs(measures, pairs, points=words, n_jobs=1)
    assert (one == tp.emd_pairs(sparse.csr_array(measures), pairs, points=words, n_jobs=3)).all()
    cost = cdist(words, words)
    assumed = tp.emd_pairs(measures, pairs, cost=cost, assume_metric=True)
    for (i, j), value, of_matrix in zip(pairs, one, assumed):
        judge = ot.emd2(measures[i], measures[j], cost) if i != j else 0
        assert value == pytest.approx(judge, rel=1e-9, abs=1e-14)
        assert of_matrix == pytest.approx(judge, rel=1e-9, abs=1e-14)
        assert tp.emd(measures[i], measures[j], points=words) == pytest.approx(value, rel=1e-12)
    assert tp.emd_pairs(measures, [], points=words).shape == (0,)


def test_a_graph_has_shortest_paths(rng):
    graph = nx.connected_watts_strogatz_graph(30, 4, 0.3, seed=1)
    for u, v in graph.edges:
        graph.edges[u, v]["weight"] = float(rng.random() + 0.1)
    paths = nx.floyd_warshall_numpy(graph)
    a, b = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(30))
    judge = ot.emd2(a, b, np.asarray(paths))
    adjacency = nx.to_scipy_sparse_array(graph)
    for given in [graph, adjacency, sparse.triu(adjacency)]:
        assert tp.emd(a, b, graph=given) == pytest.approx(judge, rel=1e-9)
        many = tp.emd_pairs(np.stack([a, b]), [(0, 1)], graph=given)
        assert many == pytest.approx([judge], rel=1e-9)


def test_any_layout_of_arrays_gives_the_same(rng):
    points = rng.normal(size=(12, 3))
    a, b = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
    value = tp.emd(a, b, points=points)
    cost = squareform(pdist(points))
    assert tp.emd(list(a), list(b), points=points.tolist()) == value
    assert tp.emd(a, b, points=np.asfortranarray(points)) == value
    assert tp.emd(np.repeat(a, 2)[::2], b, points=np.repeat(points, 2, axis=0)[::2]) == value
    assert tp.emd(sparse.csr_matrix(a), sparse.coo_array(b[None]), points=points) == value
    assert tp.emd(a, b, cost=np.asfortranarray(cost)) == pytest.approx(value, rel=1e-12)
    half = tp.emd_pairs(np.stack([a, b]), [(0, 1)], cost=cost.astype(np.float32))
    assert half == pytest.approx([value], rel=1e-6)


def test_any_layout_of_a_cost_matrix_gives_the_same_bits(rng):
    n, m = 12, 17
    cost = rng.random((n, m))
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    a[3], a[4] = 0, a[3] + a[4]
    value = tp.emd(a, b, cost=cost)
    with_plan, plan = tp.emd(a, b, cost=cost, return_plan=True)
    assert with_plan == value
    assert tp.emd(list(a), tuple(b), cost=cost.tolist()) == value
    assert tp.emd(np.repeat(a, 2)[::2], b[None], cost=np.asfortranarray(cost)) == value
    assert tp.emd(a, b, cost=cost[::-1, ::-1][::-1, ::-1]) == value
    assert tp.emd(a, b, cost=np.repeat(np.repeat(cost, 2, axis=0), 3, axis=1)[::2, ::3]) == value
    assert tp.emd(sparse.csr_matrix(a), sparse.coo_array(b[None]), cost=cost) == value
    other, moves = tp.emd(sparse.csr_matrix(a), b, cost=np.asfortranarray(cost), return_plan=True)
    assert other == value and (moves != plan).nnz == 0
    single = cost.astype(np.float32)
    assert tp.emd(a, b, cost=single) == tp.emd(a, b, cost=single.astype(np.float64))
    exact = tp.emd(
        (a * 64).astype(int), np.bincount([0], [(a * 64).astype(int).sum()], m), cost=cost
    )
    assert exact == pytest.approx((a * 64).astype(int) @ cost[:, 0], rel=1e-12)
    entropic = {
        tp.sinkhorn(a, b, cost=layout) for layout in [cost, np.asfortranarray(cost), cost.tolist()]
    }
    assert len(entropic) == 1 and entropic.pop() > value
    assert tp.sinkhorn(sparse.csr_matrix(a), b, cost=cost, return_plan=True)[0] == tp.sinkhorn(
        a, b, cost=cost
    )


def test_large_and_tiny_matrices_agree_with_pot(rng):
    for n, m in [(1, 1), (1, 5), (63, 64), (65, 64), (150, 90)]:
        cost, a, b = rng.random((n, m)), rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
        assert tp.emd(a, b, cost=cost) == pytest.approx(ot.emd2(a, b, cost), rel=1e-9)
        assert tp.emd(a, b, cost=cost, return_plan=True)[0] == tp.emd(a, b, cost=cost)


@pytest.mark.parametrize("plan", [False, True])
def test_what_is_wrong_with_a_cost_matrix_is_named(plan):
    half, ones = np.array([0.5, 0.5]), np.ones((2, 2))
    wrong = [
        (half, np.array([0.5, -0.5]), ones, "measure 1 has mass -0.5 at point 1"),
        (half, np.zeros(2), ones, "measure 1 has no mass"),
        (np.zeros(0), half, np.ones((0, 2)), "a has no masses"),
        (half, np.zeros(0), np.ones((2, 2)), "b has no masses"),
        (half, 3 * half, ones, "total mass 1 and 3"),
        (half, half, np.array([[0, 1], [np.nan, 0]]), "distance from point 1 to point 0 is NaN"),
        (half, half, np.ones((2, 3)), r"the cost matrix has shape \(2, 3\), expected \(2, 2\)"),
        (half, half, np.ones((2, 2, 2)), "expected one or two axes"),
    ]
    for a, b, cost, message in wrong:
        with pytest.raises(ValueError, match=message):
            tp.emd(a, b, cost=cost, return_plan=plan)
        with pytest.raises(ValueError, match=message):
            tp.sinkhorn(a, b, cost=cost, return_plan=plan)


def test_only_the_distances_of_points_with_mass_are_read(rng):
    points = rng.normal(size=(100_000, 2))
    points[3] = np.nan
    a, b = np.zeros(100_000), np.zeros(100_000)
    a[[5, 99_999]], b[70_000] = 0.5, 1.0
    far = np.linalg.norm(points[[5, 99_999]] - points[70_000], axis=1)
    value, plan = tp.emd(a, b, points=points, return_plan=True)
    assert value == pytest.approx(far.mean(), rel=1e-12)
    assert plan[5, 70_000] == plan[99_999, 70_000] == 0.5


def entropic_gap(a, b, cost, reg, plan):
    """What a plan can cost more than the best: the dual of the potentials that it implies costs less than any."""
    sums = cost + reg * np.log(plan)
    v = a @ sums
    u = (sums - v) @ b
    primal = (plan * cost).sum() + reg * (plan * (np.log(plan) - 1)).sum()
    return primal - (a @ u + b @ v - reg * np.exp((u[:, None] + v - cost) / reg).sum())


def test_sinkhorn_is_the_least_entropic_cost(rng):
    for _ in range(30):
        n = int(rng.integers(2, 25))
        points = rng.normal(size=(n, 2))
        a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
        cost = cdist(points, points)
        reg = 0.1 * cost.max()
        options = {"points": points, "epsilon": reg, "relative": False}
        value, plan = tp.sinkhorn(a, b, return_plan=True, **options)
        plan = plan.toarray()
        assert value == pytest.approx((plan * cost).sum(), rel=1e-9)
        assert -1e-12 * value <= entropic_gap(a, b, cost, reg, plan) <= 1e-6 * value
        assert tp.sinkhorn(a, b, **options) == pytest.approx(value, rel=1e-12)
        assert tp.sinkhorn(a, b, cost=cost, epsilon=0.1) == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)
        assert value >= tp.emd(a, b, points=points)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "sqeuclidean"])
def test_plain_arrays_take_a_short_way_to_the_same_bits(metric):
    rng = np.random.default_rng(3)
    rows, points = rng.random((5, 12)), rng.normal(size=(12, 4))
    rows[rng.random(rows.shape) < 0.4] = 0
    rows[:, 0] += 0.1
    rows /= rows.sum(axis=1, keepdims=True)
    pairs = np.array([(i, j) for i in range(5) for j in range(5)])
    found = tp.emd_pairs(rows, pairs, points=points, metric=metric)
    for same in [
        tp.emd_pairs(rows.tolist(), pairs.tolist(), points=points.tolist(), metric=metric),
        tp.emd_pairs(
            np.asfortranarray(rows), pairs, points=np.asfortranarray(points), metric=metric
        ),
        tp.emd_pairs(tp.Measures(rows), pairs.astype(np.int32), points=points, metric=metric),
        # Many at once go to other threads.
        tp.emd_pairs(rows, np.tile(pairs, (30, 1)), points=points, metric=metric)[-len(pairs) :],
    ]:
        np.testing.assert_array_equal(found, same)
    for (i, j), value in zip(pairs, found):
        np.testing.assert_allclose(
            tp.emd(rows[i], rows[j], points=points, metric=metric), value, rtol=1e-12
        )
        assert tp.emd(rows[i], rows[j], points=points, metric=metric) == tp.emd(
            rows[i].tolist(), rows[j].tolist(), points=points.tolist(), metric=metric
        )


def test_the_short_way_keeps_promises_and_refuses_alike():
    rows, points = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]), np.array([[0.0], [1.0], [2.0]])
    pairs = np.array([[0, 1]])
    both = {"points": points, "metric": "sqeuclidean"}
    assert tp.emd_pairs(rows, pairs, **both) == [1.0]
    with pytest.raises(ValueError, match="promised to obey"):
        tp.emd_pairs(rows, pairs, **both, assume_metric=True)
    wrong = [
        ((rows, pairs), {"points": points, "metric": "L7"}),
        ((rows, np.array([[0, 2]])), {"points": points}),
        ((rows, np.array([[0, -1]])), {"points": points}),
        ((rows, np.array([[0, 1, 1]])), {"points": points}),
        ((rows * [[1.0], [2.0]], pairs), {"points": points}),
        ((-rows, pairs), {"points": points}),
        ((rows, pairs), {"points": points[:2]}),
        ((rows, pairs), {"points": points * np.nan}),
    ]
    for (table, some), ground in wrong:
        with pytest.raises(ValueError) as short:
            tp.emd_pairs(table, some, **ground)
        with pytest.raises(ValueError) as long:
            tp.emd_pairs(table.tolist(), some, **ground)
        assert str(short.value) == str(long.value)


@pytest.mark.parametrize("which", ["a", "b", "cost", "points"])
def test_masked_entries_are_refused(which):
    given = {"a": np.array([0.5, 0.5]), "b": np.array([0.25, 0.75])}
    given["points" if which == "points" else "cost"] = np.array([[0.0, 1.0], [1.0, 0.0]])
    given[which] = np.ma.masked_greater(given[which], 0.6 if which in "cost points" else 0.4)
    a, b = given.pop("a"), given.pop("b")
    with pytest.raises(ValueError, match="masked"):
        tp.emd(a, b, **given)


def test_bounds_hold_the_value_and_the_plan_costs_no_more():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(150, 3)), rng.normal(size=(140, 3)) + 1
    a, b = np.full(150, 1 / 150), np.full(140, 1 / 140)
    value, cost = tp.emd(a, b, x, y), cdist(x, y)
    for given in [(x, y), (cost,)]:
        for accuracy in [0.3, 1e-3, "exact"]:
            bounds = tp.emd(a, b, *given, accuracy=accuracy, return_plan=True)
            assert bounds.lower <= value * (1 + 1e-9) and value <= bounds.upper * (1 + 1e-9)
            width = 1e-9 if accuracy == "exact" else accuracy
            assert bounds.upper - bounds.lower <= width * bounds.upper
            assert bounds.plan.multiply(cost).sum() <= bounds.upper * (1 + 1e-9)
            assert bounds.plan.sum(axis=1) == pytest.approx(a)
        hasty = tp.emd(a, b, *given, time=0)
        assert hasty.lower <= value <= hasty.upper and hasty.plan is None
    graph = sparse.diags([np.ones(199)], [1], shape=(200, 200))
    ends = np.eye(200)[[0, 199]]
    bounds = tp.emd(ends[0], ends[1], graph=graph, accuracy=0.01)
    assert bounds.lower <= 199 <= bounds.upper <= 199 / 0.99
    assert tp.emd([1, 2], [1], [[3.0], [9.0]], penalty=1.0, accuracy=0)[:2] == pytest.approx(
        (4.0, 4.0)
    )


def test_trivial_targets_have_trivial_intervals():
    rng = np.random.default_rng(5)
    a, b, x, y = (
        rng.dirichlet(np.ones(90)),
        rng.dirichlet(np.ones(80)),
        rng.random((90, 2)),
        rng.random((80, 2)),
    )
    value = tp.emd(a, b, x, y)
    for given in [(x, y), (ot.dist(x, y, metric="euclidean"),)]:
        assert tp.emd(a, b, *given, accuracy=0)[:2] == pytest.approx((value, value), rel=2e-9)
        for accuracy in (1, 1.5, 1e9, float("inf")):
            bounds = tp.emd(a, b, *given, accuracy=accuracy)
            assert (
                0 <= bounds.lower <= value * (1 + 1e-9)
                and value <= bounds.upper * (1 + 1e-9) < np.inf
            )
        hasty = tp.emd(a, b, *given, time=0)
        assert 0 <= hasty.lower <= value <= hasty.upper < np.inf
    hasty = tp.emd_pairwise([(a, x), (b, y)], time=0)
    assert 0 <= hasty.lower[0, 1] <= value <= hasty.upper[0, 1]


def test_bounds_refuse_what_they_cannot_use():
    cost = [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(
        ValueError,
        match="accuracy of a problem is `flow`; it must be exact, 0 or a number of at least 1e-9",
    ):
        tp.emd([1, 0], [0, 1], cost, accuracy="flow")
    for accuracy in (-1, -1e-9, float("nan"), -float("inf"), "-1", "nan", "fast", True, [0.1]):
        with pytest.raises(
            ValueError,
            match="accuracy of a problem is .*; it must be exact, 0 or a number of at least 1e-9",
        ):
            tp.emd([1, 0], [0, 1], cost, accuracy=accuracy)
        with pytest.raises(
            ValueError,
            match="accuracy of a problem is .*; it must be exact, 0 or a number of at least 1e-9",
        ):
            tp.emd_pairs([[1, 0], [0, 1]], [(0, 1)], cost=cost, accuracy=accuracy)
    for time in (-1, -1e-9, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="time is a number of seconds: finite and at least 0"):
            tp.emd([1, 0], [0, 1], cost, time=time)
        with pytest.raises(ValueError, match="time is a number of seconds: finite and at least 0"):
            tp.emd_pairwise([[1, 0], [0, 1]], cost=cost, time=time)
    # What is wrong is refused whether or not there is time to solve it.
    for time in [0, None]:
        wanted = {"accuracy": 0.1, "time": time}
        for bad, words in [
            (
                lambda: tp.emd([1, 0], [0, 1], np.full((2, 2), np.nan), **wanted),
                "is NaN; distances must be finite",
            ),
            (
                lambda: tp.emd([1, 0], [0, 1], np.full((2, 2), -3.0), **wanted),
                "is -3; distances must be finite",
            ),
            (
                lambda: tp.emd([1, 0], [0, 1], np.ones((3, 5)), **wanted),
                "the cost matrix has shape",
            ),
            (lambda: tp.emd([1, 0], [0, 3], cost, **wanted), "total mass 1 and 3"),
            (lambda: tp.emd([1, 0], [0, 1], cost, penalty=-1, **wanted), "penalty is -1"),
            (
                lambda: tp.emd([1, 0], [0, 1], points=[[0.0], [1.0]], penalty=np.nan, **wanted),
                "penalty is NaN",
            ),
            (
                lambda: tp.emd([1, 0], [0, 1], points=[[0.0], [1.0]], mass=50, **wanted),
                "mass is 50",
            ),
        ]:
            with pytest.raises(ValueError, match=words):
                bad()
    bounds = tp.emd([1, 0], [0, 1 - 9e-7], cost, time=0)
    assert bounds.lower <= 1.0 <= bounds.upper * (1 + 1e-12)


def test_verbose_says_how_much_is_proved(capfd):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 1500, 2))
    a, b = (rng.dirichlet(np.ones(1500)) for _ in range(2))
    value = tp.emd(a, b, x, y, verbose=True)
    assert "exact distance done in" in capfd.readouterr().err
    assert tp.emd(a, b, x, y) == value
    assert capfd.readouterr().err == ""
