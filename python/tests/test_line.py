"""Points with one coordinate, judged by SciPy and by the simplex on a matrix; and small problems with coordinates."""

import numpy as np
import pytest
import treeport as tp
from scipy.stats import wasserstein_distance


def masses(rng, count):
    found = rng.random(count)
    return found / found.sum()


def sides(seed, n, m, ties=False):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n), rng.normal(0.3, 1.5, size=m)
    if ties:
        x, y = np.round(2 * x) / 2, np.round(2 * y) / 2
    return masses(rng, n), masses(rng, m), x, y


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n, m", [(1, 1), (1, 50), (7, 5), (300, 200), (20_000, 30_000)])
def test_scipy_finds_the_same(n, m, ties):
    a, b, x, y = sides(n + m, n, m, ties)
    expected = wasserstein_distance(x, y, a, b)
    for left, right in [
        (x, y),
        (x[:, None], y[:, None]),
        (np.asfortranarray(x[:, None]), y[:, None].copy()),
    ]:
        assert tp.emd(a, b, left, right) == pytest.approx(expected, rel=1e-9)
    assert tp.emd(a, b, x, y) == tp.emd(b, a, y, x)
    assert tp.emd(a, b, x, y, metric="manhattan") == tp.emd(a, b, x, y)
    bounds = tp.emd(a, b, x, y, accuracy=0.5)
    assert bounds.lower <= expected * (1 + 1e-9) and bounds.upper == tp.emd(a, b, x, y)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean", "cosine"])
def test_plan_and_potentials_prove_each_other(metric):
    a, b, x, y = sides(3, 60, 80, ties=True)
    x, y = np.where(x == 0, 0.25, x), np.where(y == 0, 0.25, y)
    way = np.abs(x[:, None] - y)
    cost = {"sqeuclidean": way**2, "cosine": 1 - np.sign(x[:, None] * y)}.get(metric, way)
    value, plan, (u, v) = tp.emd(
        a, b, x, y, metric=metric, return_plan=True, return_potentials=True
    )
    assert value == tp.emd(a, b, x, y, metric=metric)
    assert value == pytest.approx(tp.emd(a, b, cost), rel=1e-9)
    assert plan.nnz < len(a) + len(b)
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-12)
    assert (plan.toarray() * cost).sum() == pytest.approx(value, rel=1e-12)
    assert (u[:, None] + v <= cost + 1e-14).all()
    assert a @ u + b @ v == pytest.approx(value, rel=1e-9)


def test_many_pairs_on_a_line():
    rng = np.random.default_rng(5)
    points = rng.permutation(40) / 7
    measures = rng.dirichlet(np.ones(40), size=6)
    table = tp.emd_pairwise(measures, points=points[:, None])
    clouds = tp.emd_pairwise([(row, points) for row in measures])
    for i in range(6):
        for j in range(6):
            expected = wasserstein_distance(points, points, measures[i], measures[j])
            assert table[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert clouds[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    pairs = np.array([(0, 1), (2, 5)])
    assert (
        tp.emd_pairs(measures, pairs, points=points[:, None]) == [table[0, 1], table[2, 5]]
    ).all()


def test_what_may_be_left_behind_has_no_order():
    a, b, x, y = sides(9, 30, 20)
    cost = np.abs(x[:, None] - y)
    for options in ({"penalty": 0.3}, {"mass": 0.4}):
        assert tp.emd(a, b, x, y, **options) == pytest.approx(
            tp.emd(a, b, cost, **options), rel=1e-9
        )


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("n, m", [(1, 1), (10, 10), (30, 20), (64, 64), (80, 70)])
def test_small_problems_with_coordinates_are_those_of_their_costs(n, m, metric):
    rng = np.random.default_rng(n)
    a, b, x, y = masses(rng, n), masses(rng, m), rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    value, plan, (u, v) = tp.emd(
        a, b, x, y, metric=metric, return_plan=True, return_potentials=True
    )
    different = [
        (a, b, np.asfortranarray(x), y),
        (a, b, x.repeat(2, axis=0)[::2], y),
        (a.repeat(2)[::2], b, x, y),
        (a, b, x.astype(">f8"), y),
        (list(a), b, x, y.tolist()),
    ]
    for arrays in different:
        assert tp.emd(*arrays, metric=metric) == pytest.approx(value, rel=1e-12)
    assert tp.emd(a, b, points=x, points_b=y, metric=metric) == tp.emd(a, b, x, y, metric=metric)
    assert tp.emd(b, a, y, x, metric=metric) == tp.emd(a, b, x, y, metric=metric)
    assert a @ u + b @ v == pytest.approx(value, rel=1e-9)
    # A point without mass is not looked at.
    more = np.append(a, 0.0), b, np.vstack([x, np.full(3, np.nan)]), y
    assert tp.emd(*more, metric=metric) == pytest.approx(value, rel=1e-12)


def test_what_is_wrong_with_small_problems_is_said():
    a, b, x, y = np.full(2, 0.5), np.full(3, 1 / 3), np.zeros((2, 2)), np.ones((3, 2))
    for bad, message in [
        ((a, b, np.array([[0.0, np.nan], [0, 0]]), y), "coordinate 1 of point 0 is NaN"),
        ((a, b, x, np.full((3, 2), np.inf)), "points_b: coordinate 0 of point 0 is inf"),
        ((a, b, x, np.zeros((3, 3))), "the points of the second measure"),
        ((a, 2 * b, x, y), "total"),
        ((-a, b, x, y), "mass"),
        ((a, b[:2], x, y), "2 points"),
        ((a, b, x[:, 0:0], y[:, 0:0]), "."),
    ]:
        with pytest.raises(ValueError, match=message):
            tp.emd(*bad)
    with pytest.raises(ValueError, match="metric"):
        tp.emd(a, b, x, y, metric="no such metric")
    with pytest.raises(TypeError):
        tp.emd(a, b, x, y, metric=3)
