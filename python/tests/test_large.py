"""Large problems between points, which are solved without a table of costs."""

import numpy as np
import ot
import pytest

import treeport as tp


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
    value, plan, (u, v) = tp.emd(a, b, x, y, metric=metric, return_plan=True, return_potentials=True)
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
    assert table.lower.shape == (4, 4) and np.all(table.lower <= exact) and np.all(exact <= table.upper + 1e-12)
    between = tp.emd_pairwise(measures[:1], measures[1:], points=points, accuracy=0.1)
    assert between.upper.shape == (1, 3)
    with pytest.raises(ValueError, match="accuracy"):
        tp.emd_pairs(measures, pairs, points=points, accuracy=-1)
    penalized = tp.emd_pairs(measures[:2] * [[1], [2]], [(0, 1)], points=points, penalty=0.1, accuracy=0.1)
    assert penalized.lower[0] <= penalized.upper[0]


def test_no_table_is_asked_for_where_none_is_needed():
    n = 3_000
    rng = np.random.default_rng(1)
    x, y = rng.random((n, 2)), rng.random((n, 2))
    tp.set_memory_limit(40 << 20)
    try:
        assert tp.emd(None, None, x, y) > 0
        assert tp.emd(None, None, x, y, time=0).lower == 0
        with pytest.raises(MemoryError, match="bytes|MB|GB|MiB|kB"):
            tp.emd(None, None, x, y, metric="haversine")
    finally:
        tp.set_memory_limit(None)
