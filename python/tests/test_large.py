"""Large problems between points, which are solved without a table of costs."""

import pickle
import re

import numpy as np
import ot
import pytest
import treeport as tp
from scipy import sparse
from scipy.spatial.distance import squareform


def clouds(kind, n, m):
    rng = np.random.default_rng(7)
    dim = 20 if kind == "clusters" else 2
    x, y = rng.random((n, dim)), rng.random((m, dim))
    if kind == "shifted":
        y += 0.5
    if kind == "grid":
        x, y = np.round(20 * x), np.round(20 * y)
    if kind == "clusters":
        centers = 3 * rng.normal(size=(8, dim))
        x, y = (centers[rng.integers(8, size=len(p))] + 0.3 * p for p in (x, y))
    return rng.random(n), rng.random(m), x, y


@pytest.mark.parametrize("kind", ["plane", "shifted", "grid", "clusters"])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock"])
def test_a_large_problem_has_the_value_plan_and_potentials_of_a_linear_program(kind, metric):
    a, b, x, y = clouds(kind, 1_600, 1_450)
    a, b = a / a.sum(), b / b.sum()
    cost = ot.dist(x, y, metric=metric)
    value, plan, (u, v) = tp.emd(
        a, b, x, y, metric=metric, return_plan=True, return_potentials=True
    )
    assert value == pytest.approx(ot.emd2(a, b, cost, numItermax=10**7), rel=1e-8)
    assert value == tp.emd(b, a, y, x, metric=metric)
    assert plan.nnz < len(a) + len(b)
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=0, atol=1e-15)
    np.testing.assert_allclose(plan.sum(axis=0), b, rtol=0, atol=1e-15)
    assert (plan.multiply(cost)).sum() == pytest.approx(value, rel=1e-12)
    assert np.all(u[:, None] + v[None] <= cost + 1e-12 * cost.max())
    assert u @ a + v @ b == pytest.approx(value, rel=1e-9)
    bounds = tp.emd(a, b, x, y, metric=metric, accuracy=0.02)
    assert bounds.lower <= value * (1 + 1e-9) and value <= bounds.upper * (1 + 1e-9)
    assert bounds.upper - bounds.lower <= 0.02 * bounds.upper


def test_many_problems_have_bounds():
    rng = np.random.default_rng(3)
    measures, points = rng.random((4, 300)), rng.random((300, 2))
    measures /= measures.sum(axis=1, keepdims=True)
    pairs = [(0, 1), (2, 3), (1, 1)]
    exact = tp.emd_pairs(measures, pairs, points=points)
    for accuracy in (0.3, 0.01, "exact"):
        lower, upper, _ = tp.emd_pairs(measures, pairs, points=points, accuracy=accuracy)
        assert np.all(lower <= exact * (1 + 1e-9)) and np.all(exact <= upper * (1 + 1e-9))
        assert np.all(upper - lower <= (1e-9 if accuracy == "exact" else accuracy) * upper)
        one = tp.emd_pairs(measures, pairs, points=points, accuracy=accuracy, n_jobs=1)
        assert np.array_equal(one.lower, lower) and np.array_equal(one.upper, upper)
    table = tp.emd_pairwise(measures, points=points, accuracy=0.1)
    exact = tp.emd_pairwise(measures, points=points)
    assert (
        table.lower.shape == (4, 4)
        and np.all(table.lower <= exact)
        and np.all(exact <= table.upper + 1e-12)
    )
    between = tp.emd_pairwise(measures[:1], measures[1:], points=points, accuracy=0.1)
    assert between.upper.shape == (1, 3)
    with pytest.raises(ValueError, match="accuracy"):
        tp.emd_pairs(measures, pairs, points=points, accuracy=-1)
    penalized = tp.emd_pairs(
        measures[:2] * [[1], [2]], [(0, 1)], points=points, penalty=0.1, accuracy=0.1
    )
    assert penalized.lower[0] <= penalized.upper[0]


def test_no_table_is_asked_for_where_none_is_needed():
    n = 3_000
    rng = np.random.default_rng(1)
    x, y = rng.random((n, 2)), rng.random((n, 2))
    tp.set_memory_limit(40 << 20)
    try:
        assert tp.emd(None, None, x, y) > 0
        assert tp.emd(None, None, x, y, time=0).lower == 0
        assert tp.emd(None, None, x, y, metric="haversine") > 0
        assert tp.emd(None, None, x, y, penalty=1.0) > 0
        with pytest.raises(MemoryError, match="bytes|MB|GB|MiB|kB"):
            tp.sinkhorn(None, None, x, y)
    finally:
        tp.set_memory_limit(None)


@pytest.mark.parametrize("where", ["earth", "country", "opposite"])
def test_large_problems_on_the_earth(where):
    rng = np.random.default_rng(11)
    n, m = 1_600, 1_450
    degrees = {"earth": [180, 360], "country": [4, 6], "opposite": [1e-2, 1e-2]}[where]
    x, y = ((rng.random((k, 2)) - 0.5) * degrees for k in (n, m))
    y += [0, 180] if where == "opposite" else [0, 0]
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    radians = [np.radians(p) for p in (x, y)]
    lat, lon = ((radians[0][:, None, k] - radians[1][None, :, k]) / 2 for k in (0, 1))
    half = (
        np.sin(lat) ** 2
        + np.cos(radians[0][:, None, 0]) * np.cos(radians[1][None, :, 0]) * np.sin(lon) ** 2
    )
    cost = 2 * 6371.0088 * np.arctan2(np.sqrt(half), np.sqrt(np.maximum(1 - half, 0)))
    value, plan, (u, v) = tp.emd(
        a, b, x, y, metric="haversine", return_plan=True, return_potentials=True
    )
    # Near the other side of the Earth the formula of haversines has lost digits.
    near = 1e-5 if where == "opposite" else 1e-8
    assert value == pytest.approx(tp.emd(a, b, cost), rel=near)
    assert plan.multiply(cost).sum() == pytest.approx(value, rel=near)
    assert np.all(u[:, None] + v[None] <= cost * (1 + near) + 1e-9)
    assert u @ a + v @ b == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "chebyshev", "haversine"])
@pytest.mark.parametrize("n", [60, 400, 1_700])
def test_potentials_prove_lower_bounds(metric, n):
    rng = np.random.default_rng(n)
    x, y = rng.random((n, 2)) + 0.01, rng.random((n + 3, 2)) + 0.01
    a, b = rng.random(n), rng.random(n + 3)
    a[::5], b[1::7] = 0, 0  # potentials are those of all points
    a, b = a / a.sum(), b / b.sum()
    cost = tp.emd_pairwise([p[None] for p in x[:40]], [p[None] for p in y[:40]], metric=metric)
    value = tp.emd(a, b, x, y, metric=metric)
    for wanted in (
        {"accuracy": 0.05},
        {"accuracy": 1e-3},
        {"accuracy": "exact"},
        {"time": 0},
        {"accuracy": 0.05, "time": 60},
    ):
        bounds = tp.emd(
            a, b, x, y, metric=metric, return_plan=True, return_potentials=True, **wanted
        )
        lower, upper, plan = bounds
        u, v = bounds.potentials
        assert lower <= value * (1 + 1e-9) and value <= upper * (1 + 1e-9)
        size = max(abs(u).max(), abs(v).max())
        assert a @ u + b @ v == pytest.approx(lower, rel=1e-9, abs=3e-12 * size)
        assert np.all(u[:40, None] + v[None, :40] <= cost + 1e-12 * (size + cost))
        assert plan.shape == (n, n + 3)
        if "time" not in wanted and wanted["accuracy"] != "exact":
            assert upper - lower <= wanted["accuracy"] * upper
    assert tp.emd(a, b, x, y, metric=metric, accuracy=0.1).potentials is None


def test_potentials_prove_lower_bounds_from_every_door():
    rng = np.random.default_rng(2)
    a, b = rng.dirichlet(np.ones(200), size=2)
    b[::3] = 0
    b /= b.sum()
    line, plane, turn = rng.random((200, 1)), rng.random((200, 2)), {"period": [0.4, None]}
    matrix = rng.random((200, 200))
    ring = sparse.diags([rng.random(199)], [1], shape=(200, 200)).tocsr()
    for ground, rest in [
        ({"points": line}, {}),
        ({"points": plane}, turn),
        ({"cost": matrix}, {}),
        ({"graph": ring}, {}),
    ]:
        for more in ({}, {"penalty": 0.1}):
            for wanted in ({"accuracy": 0.1}, {"time": 0}, {"accuracy": 0}):
                bounds = tp.emd(a, b, **ground, **rest, **more, **wanted, return_potentials=True)
                u, v = bounds.potentials
                assert a @ u + b @ v == pytest.approx(bounds.lower, rel=2e-9, abs=1e-11)
                value, (s, t) = tp.emd(a, b, **ground, **rest, **more, return_potentials=True)
                assert bounds.lower <= value * (1 + 1e-9) <= bounds.upper * (1 + 2e-9)
                if "cost" in ground:
                    assert np.all(u[:, None] + v[None] <= matrix + 1e-12)
                elif not more:
                    np.testing.assert_array_equal(u, -v)
                assert max(u.max(), v.max()) <= more.get("penalty", np.inf) + 1e-12
    again = pickle.loads(pickle.dumps(bounds))
    assert again == bounds and np.array_equal(again.potentials[0], bounds.potentials[0])


def test_many_problems_share_their_time():
    rng = np.random.default_rng(4)
    measures, points = rng.random((5, 400)), rng.random((400, 2))
    measures /= measures.sum(axis=1, keepdims=True)
    exact = tp.emd_pairwise(measures, points=points)
    for time in (0, 1e6):
        bounds = tp.emd_pairwise(measures, points=points, time=time)
        assert np.all(bounds.lower <= exact + 1e-9) and np.all(exact <= bounds.upper + 1e-9)
    assert bounds.upper == pytest.approx(exact, rel=1e-9)
    pairs = [(0, 1), (3, 2)]
    bounds = tp.emd_pairs(measures, pairs, points=points, time=1e6, accuracy=0.2)
    assert np.all(bounds.upper - bounds.lower <= 0.2 * bounds.upper)


def test_what_long_work_takes_is_said_at_its_start(capsys):
    n = 60_000
    x = np.random.default_rng(0).random((n, 2))
    tp.emd(None, None, x, x + 0.1, time=0, verbose=True)
    assert "roughly" not in capsys.readouterr().err  # no time, nothing to wait for
    with pytest.raises(MemoryError):
        tp.set_memory_limit(64 << 20)
        try:
            tp.emd(None, None, x, x + 0.1, verbose=True)
        finally:
            tp.set_memory_limit(None)
    said = capsys.readouterr().err
    assert re.search(
        r"exact distance: about \d+ (second|minute|hour)s? and [\d.]+ [kMG]?i?B, roughly", said
    ), said


@pytest.mark.parametrize("layout", ["C", "F", "float32", "condensed"])
def test_large_matrices_are_solved_where_they_lie(layout):
    rng = np.random.default_rng(8)
    n, m = 2_100, 2_060
    if layout == "condensed":
        m = n
        given = rng.random(n * (n - 1) // 2)
        cost = squareform(given)
    else:
        cost = rng.random((n, m)).astype(np.float32 if layout == "float32" else np.float64)
        given = cost = np.asfortranarray(cost) if layout == "F" else cost
    a, b = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    a[3], b[5] = 0, 0
    a, b = a / a.sum(), b / b.sum()
    value, plan, (u, v) = tp.emd(a, b, given, return_plan=True, return_potentials=True)
    assert value == pytest.approx(
        ot.emd2(a, b, np.ascontiguousarray(cost, dtype=float), numItermax=10**7), rel=1e-8
    )
    assert plan.multiply(cost).sum() == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=0, atol=1e-15)
    assert np.all(u[:, None] + v[None] <= cost + 1e-12) and u @ a + v @ b == pytest.approx(
        value, rel=1e-9
    )
    assert tp.emd(b, a, cost.T) == value == tp.emd(a, b, given)
    bounds = tp.emd(a, b, given, accuracy=0.05, return_potentials=True)
    assert bounds.upper - bounds.lower <= 0.05 * bounds.upper
    # The value is another engine's, within its certificate.
    assert bounds.lower <= value * (1 + 1e-9) and value <= bounds.upper * (1 + 1e-9)
    u, v = bounds.potentials
    assert np.all(u[:, None] + v[None] <= cost + 1e-12) and u @ a + v @ b == pytest.approx(
        bounds.lower, rel=1e-9
    )
