"""Unbalanced transport from every door, costs and penalties far apart: judged by linear programs and by its own proof."""

import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from scipy.optimize import linprog


def judge(a, b, cost, penalty):
    """The value by HiGHS, in units of the penalty; costs above twice the penalty count as that."""
    (n, m), cost = cost.shape, np.minimum(cost / penalty, 2.0)
    # min <P, C - 2> + |a| + |b|, where rows of P are at most a and columns at most b.
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    moved = linprog((cost - 2.0).ravel(), sparse.vstack([rows, columns]), np.concatenate([a, b]))
    return (moved.fun + a.sum() + b.sum()) * penalty


def problems(count, far):
    rng = np.random.default_rng(5)
    for _ in range(count):
        n, m = rng.integers(1, 7, size=2)
        a, b = rng.integers(1, 30, size=n) / 10, rng.integers(1, 30, size=m) / 10
        cost = rng.integers(1, 100, size=(n, m)) / 10 * far ** rng.integers(0, 2, size=(n, m))
        unit = 10.0 ** rng.integers(-20, 20)
        yield a, b, cost * unit, unit * 10.0 ** rng.integers(-6, 2)


@pytest.mark.parametrize("far", [1.0, 1e6, 1e12, 1e30])
def test_values_are_those_of_linear_programs(far):
    for a, b, cost, penalty in problems(100, far):
        value, plan, (u, v) = tp.emd(
            a, b, cost, penalty=penalty, return_plan=True, return_potentials=True
        )
        all_left = penalty * (a.sum() + b.sum())
        close = {"rtol": 1e-9, "atol": 1e-14 * all_left}
        np.testing.assert_allclose(
            value, judge(a, b, cost, penalty), rtol=1e-7, atol=1e-9 * all_left
        )
        assert value <= all_left * (1 + 1e-12)
        np.testing.assert_allclose(tp.emd(b, a, cost.T.copy(), penalty=penalty), value, rtol=0)
        np.testing.assert_allclose(
            tp.emd(a[::-1], b[::-1], cost[::-1, ::-1], penalty=penalty), value, **close
        )
        # What the caller gets proves it.
        plan = plan.toarray()
        left = a.sum() + b.sum() - 2 * plan.sum()
        np.testing.assert_allclose((plan * cost).sum() + penalty * left, value, **close)
        assert (plan.sum(1) <= a + 1e-12).all() and (plan.sum(0) <= b + 1e-12).all()
        np.testing.assert_allclose(a @ u + b @ v, value, **close)
        assert (u[:, None] + v <= cost + 1e-14 * penalty).all()
        assert max(u.max(), v.max()) <= penalty * (1 + 1e-12)


def test_costs_far_above_the_penalty_add_nothing():
    for high in 1e12, 1e30:
        assert tp.emd([0.8], [0.4, 0.3], np.full((1, 2), high), penalty=1.0) == pytest.approx(
            1.5, rel=1e-15
        )
    assert tp.emd([0.8], [0.4, 0.3], np.full((1, 2), 1e12), penalty=0.0) == 0.0
    assert tp.emd([0.8, 0.0], [0.0, 0.0], np.full((2, 2), 3.0), penalty=2.0) == 1.6


def test_every_door_has_the_same_value():
    rng = np.random.default_rng(1)
    n, penalty = 12, 1.0
    colors = rng.integers(0, 2**16, size=(n, 3)).astype(float)
    cost = ((colors[:, None] - colors) ** 2).sum(2)
    cost[0, 1] = cost[1, 0] = 0.25
    colors[1] = colors[0] + [0.5, 0.0, 0.0]
    cost[1], cost[:, 1] = ((colors - colors[1]) ** 2).sum(1), ((colors - colors[1]) ** 2).sum(1)
    a, b = (rng.integers(0, 5, size=n) / 10 + 0.1 for _ in range(2))
    value = judge(a, b, cost, penalty)
    by_colors = {"points": colors, "metric": "sqeuclidean", "penalty": penalty}
    edges = sparse.csr_array(np.triu(cost))
    way = {
        "matrix": tp.emd(a, b, cost, penalty=penalty),
        "points": tp.emd(a, b, **by_colors),
        "two sets": tp.emd(a, b, colors, colors, metric="sqeuclidean", penalty=penalty),
        "pairs": tp.emd_pairs([a, b], [(0, 1)], **by_colors)[0],
        "table": tp.emd_pairwise([a], [b], **by_colors)[0, 0],
        "clouds": tp.emd_pairs(
            [(a, colors), (b, colors)], [(0, 1)], metric="sqeuclidean", penalty=penalty
        )[0],
    }
    for door, found in way.items():
        np.testing.assert_allclose(found, value, rtol=1e-9, err_msg=door)
    # Shortest paths are shorter than squares.
    paths = sparse.csgraph.shortest_path(edges, directed=False)
    on_graph = judge(a, b, paths, penalty)
    np.testing.assert_allclose(tp.emd(a, b, graph=edges, penalty=penalty), on_graph, rtol=1e-9)
    np.testing.assert_allclose(
        tp.emd_pairs([a, b], [(0, 1)], graph=edges, penalty=penalty)[0], on_graph, rtol=1e-9
    )
    one_way = sparse.csr_array(cost * rng.integers(1, 3, size=(n, n)))
    there = judge(a, b, sparse.csgraph.shortest_path(one_way), penalty)
    np.testing.assert_allclose(tp.emd(a, b, graph=one_way, penalty=penalty), there, rtol=1e-9)


def judge_of_points(a, b, cost, of_a, of_b):
    """The value by HiGHS where each point has a penalty of its own, in units of the largest."""
    unit = max(of_a.max(), of_b.max())
    of_a, of_b = of_a / unit, of_b / unit
    (n, m), cost = cost.shape, np.minimum(cost / unit, of_a[:, None] + of_b)
    # min <P, C - λ - μ> + <a, λ> + <b, μ>, where rows of P are at most a and columns at most b.
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    gain = (cost - of_a[:, None] - of_b).ravel()
    moved = linprog(gain, sparse.vstack([rows, columns]), np.concatenate([a, b]))
    return (moved.fun + a @ of_a + b @ of_b) * unit


def check_proof(a, b, cost, of_a, of_b, found):
    """What the caller gets proves itself."""
    value, plan, (u, v) = found
    plan = plan.toarray()
    close = {"rtol": 1e-9, "atol": 1e-14 * (a @ of_a + b @ of_b)}
    paid = (plan * cost).sum() + (a - plan.sum(1)) @ of_a + (b - plan.sum(0)) @ of_b
    np.testing.assert_allclose(paid, value, **close)
    assert (plan.sum(1) <= a + 1e-12).all() and (plan.sum(0) <= b + 1e-12).all()
    np.testing.assert_allclose(a @ u + b @ v, value, **close)
    assert (u[:, None] + v <= cost + 1e-14 * (of_a[:, None] + of_b)).all()
    assert (u <= of_a * (1 + 1e-12)).all() and (v <= of_b * (1 + 1e-12)).all()


@pytest.mark.parametrize("far", [1.0, 1e6, 1e12, 1e30])
def test_penalties_of_points_are_those_of_linear_programs(far):
    rng = np.random.default_rng(6)
    for a, b, cost, penalty in problems(100, far):
        of_a, of_b = (penalty * rng.integers(0, 30, size=len(side)) / 10 for side in (a, b))
        of_a[0] += penalty
        found = tp.emd(a, b, cost, penalty=(of_a, of_b), return_plan=True, return_potentials=True)
        all_left = a @ of_a + b @ of_b
        np.testing.assert_allclose(
            found[0], judge_of_points(a, b, cost, of_a, of_b), rtol=1e-7, atol=1e-9 * all_left
        )
        assert tp.emd(b, a, cost.T.copy(), penalty=(of_b, of_a)) == found[0]
        check_proof(a, b, cost, of_a, of_b, found)


def test_penalties_of_points_through_every_door():
    rng = np.random.default_rng(2)
    n = 12
    x = rng.normal(size=(n, 3))
    cost = np.sqrt(((x[:, None] - x) ** 2).sum(2))
    a, b, prices = (
        rng.integers(0, 5, size=n) / 10 + 0.1,
        rng.integers(0, 5, size=n) / 10,
        rng.uniform(0, 2, size=n),
    )
    value = judge_of_points(a, b, cost, prices, prices)
    edges = sparse.csr_array(np.triu(cost))
    one_way = sparse.csr_array(cost * rng.uniform(1, 1.5, size=(n, n)))
    clouds = tp.Clouds([(a, x), (b, x)])
    twice = np.concatenate([prices, prices])
    way = {
        "matrix": tp.emd(a, b, cost, penalty=(prices, prices)),
        "points": tp.emd(a, b, points=x, penalty=prices),
        "list": tp.emd(a, b, points=x, penalty=prices.tolist()),
        "two sets": tp.emd(a, b, x, x, penalty=(prices, prices)),
        "graph": tp.emd(a, b, graph=edges, penalty=prices),
        "bounds": tp.emd(a, b, points=x, penalty=prices, accuracy="exact").upper,
        "pairs": tp.emd_pairs([a, b], [(0, 1)], points=x, penalty=prices)[0],
        "table": tp.emd_pairwise([a], [b], points=x, penalty=prices)[0, 0],
        "table of bounds": tp.emd_pairwise(
            [a, b], points=x, penalty=prices, accuracy="exact"
        ).upper[0, 1],
        "clouds": tp.emd_pairs(clouds, [(0, 1)], penalty=twice)[0],
        "their own": tp.emd_pairwise(clouds.with_penalties(twice))[0, 1],
        "their own, two sets": tp.emd_pairwise(
            *(clouds.with_penalties(twice)[[k]] for k in (0, 1))
        )[0, 0],
    }
    for door, found in way.items():
        np.testing.assert_allclose(found, value, rtol=1e-9, err_msg=door)
    there = judge_of_points(a, b, sparse.csgraph.shortest_path(one_way), prices, prices)
    np.testing.assert_allclose(tp.emd(a, b, graph=one_way, penalty=prices), there, rtol=1e-9)
    found = tp.emd(a, b, points=x, penalty=prices, return_plan=True, return_potentials=True)
    check_proof(a, b, cost, prices, prices, found)


def test_bad_penalties_of_points_are_named():
    x, a = np.arange(3.0)[:, None], np.ones(3)
    for bad, text in [
        ([1.0, -1.0, 1.0], "penalty of point 1 is -1"),
        ([1.0], r"penalties has shape \(1,\)"),
        (np.ones((3, 1)), "one axis"),
    ]:
        with pytest.raises(ValueError, match=text):
            tp.emd(a, a, points=x, penalty=bad)
        with pytest.raises(ValueError, match=text):
            tp.emd_pairwise([a, a], points=x, penalty=bad)
    for ground in ({"cost": np.ones((3, 3))}, {"cost": x, "points_b": x}):
        with pytest.raises(ValueError, match="two arrays"):
            tp.emd(a, a, **ground, penalty=[1.0, 1.0, 1.0])
    clouds = tp.Clouds([x, x[:2]], ids=["one", "two"])
    with pytest.raises(ValueError, match="cloud two: the penalty of point 1 is NaN"):
        clouds.with_penalties([1.0, 1.0, 1.0, 1.0, np.nan])
    with pytest.raises(ValueError, match="of their own"):
        tp.emd_pairwise(clouds.with_penalties(np.ones(5)), penalty=1.0)
    with pytest.raises(ValueError, match="some of the clouds have penalties"):
        tp.emd_pairwise(clouds.with_penalties(np.ones(5)), clouds)
