"""Coordinates that go round, and the largest difference as a metric; judged by loops, SciPy and POT."""

import numpy as np
import ot
import pytest
import treeport as tp
from scipy.spatial.distance import cdist

METRICS = ["euclidean", "manhattan", "sqeuclidean", "chebyshev"]
PERIODS = [2.5, [None, 2 * np.pi], [1.0, 3.0], [None, 1e3]]


def textbook(x, y, metric, period):
    """The costs of all pairs, coordinate by coordinate."""
    periods = [period] * x.shape[1] if np.ndim(period) == 0 else period
    costs = np.empty((len(x), len(y)))
    for i, left in enumerate(x):
        for j, right in enumerate(y):
            apart = []
            for a, b, p in zip(left, right, periods):
                way = abs(a - b) if p is None else abs(a - b) % p
                apart.append(way if p is None else min(way, p - way))
            apart = np.array(apart)
            costs[i, j] = {
                "euclidean": np.sqrt((apart**2).sum()),
                "manhattan": apart.sum(),
                "sqeuclidean": (apart**2).sum(),
                "chebyshev": apart.max(),
            }[metric]
    return costs


def clouds(seed, n=12, m=9, dim=2):
    rng = np.random.default_rng(seed)
    masses = [rng.random(n) + 0.1, rng.random(m) + 0.1]
    masses = [mass / mass.sum() for mass in masses]
    return *masses, 8 * rng.random((n, dim)) - 4, 8 * rng.random((m, dim)) - 4


@pytest.mark.parametrize("name", ["chebyshev", "linf", "chessboard"])
@pytest.mark.parametrize("dim", [1, 2, 3, 20])
def test_chebyshev_is_that_of_scipy(name, dim):
    a, b, x, y = clouds(dim, dim=dim)
    expected = ot.emd2(a, b, cdist(x, y, "chebyshev"))
    assert tp.emd(a, b, x, y, metric=name) == pytest.approx(expected, rel=1e-9)
    points = np.concatenate([x, y])
    both = np.stack([np.r_[a, np.zeros(9)], np.r_[np.zeros(12), b]])
    assert tp.emd_pairs(both, [(0, 1)], points=points, metric=name) == pytest.approx(
        [expected], rel=1e-9
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("period", PERIODS, ids=str)
def test_every_door_knows_periods(metric, period):
    a, b, x, y = clouds(7)
    costs = textbook(x, y, metric, period)
    expected = pytest.approx(ot.emd2(a, b, costs), rel=1e-9)
    how = {"metric": metric, "period": period}
    assert tp.emd(a, b, x, y, **how) == expected
    assert tp.emd(list(a), list(b), x, y, **how) == expected
    points = np.concatenate([x, y])
    left, right = np.r_[a, np.zeros(9)], np.r_[np.zeros(12), b]
    assert tp.emd(left, right, points=points, **how) == expected
    both = np.stack([left, right])
    assert tp.emd_pairs(both, np.array([(0, 1)]), points=points, **how)[0] == expected
    assert tp.emd_pairwise(both, points=points, **how)[0, 1] == expected
    assert tp.emd_pairwise([(a, x), (b, y)], **how)[1, 0] == expected
    assert tp.emd_pairs([(a, x), (b, y)], [(0, 1)], **how)[0] == expected
    bounds = tp.emd(a, b, x, y, accuracy=0.01, **how)
    assert bounds.lower <= expected.expected * (1 + 1e-12) and expected.expected <= bounds.upper * (
        1 + 1e-12
    )
    value, plan = tp.emd(a, b, x, y, return_plan=True, **how)
    assert value == expected and (plan.toarray() * costs).sum() == expected
    entropic = tp.sinkhorn(a, b, x, y, epsilon=0.05, **how)
    assert entropic == pytest.approx(tp.sinkhorn(a, b, costs, epsilon=0.05), rel=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_search_trees_and_files(metric, tmp_path):
    rng = np.random.default_rng(3)
    points, period = 6 * rng.random((40, 2)) - 3, [None, 2 * np.pi]
    rows = rng.random((30, 40)) * (rng.random((30, 40)) < 0.2) + 1e-6 * (np.arange(40) == 3)
    rows /= rows.sum(axis=1, keepdims=True)
    costs = textbook(points, points, metric, period)
    exact = tp.emd_pairwise(rows, cost=costs)
    search = tp.WassersteinNeighbors(points, metric=metric, period=period, n_neighbors=4).fit(rows)
    distances, _ = search.kneighbors(rows[:5])
    np.testing.assert_allclose(distances, np.sort(exact[:5], axis=1)[:, :4], rtol=1e-9, atol=1e-12)
    search.save(tmp_path / "index")
    loaded = tp.WassersteinNeighbors.load(tmp_path / "index").set_params(n_neighbors=4)
    assert loaded.period == period and loaded.metric == metric
    np.testing.assert_array_equal(loaded.kneighbors(rows[:5], 4)[0], distances)
    model = tp.TreeWasserstein(points, metric=metric, period=period, n_pairs=40, epochs=3).fit(rows)
    truth = np.diagonal(exact[:6, 6:12])
    for level in ("tree", "flow", "arcs"):
        lower, upper = model.bounds(rows[:6], rows[6:12], level)
        assert (lower <= truth + 1e-12).all() and (truth <= upper + 1e-12).all()
    model.save(tmp_path / "model")
    again = tp.load(tmp_path / "model")
    assert again.period == period
    np.testing.assert_array_equal(again.pairwise(rows[:6]), model.pairwise(rows[:6]))
    np.testing.assert_allclose(again.estimate(rows[:6], rows[6:12], "exact"), truth, rtol=1e-9)
    tree = tp.linkage(points=points, metric=metric, period=period, method="single")
    judge = tp.linkage(cost=costs, method="single")
    np.testing.assert_allclose(
        tree.pairwise(np.eye(40)), judge.pairwise(np.eye(40)), rtol=1e-9, atol=1e-12
    )


def test_a_turn_more_or_less_changes_nothing():
    a, b, x, y = clouds(5)
    turns = np.random.default_rng(0).integers(-9, 9, (9, 1)) * 2 * np.pi
    moved = y + np.c_[np.zeros((9, 1)), turns]
    how = {"period": (None, 2 * np.pi)}
    assert tp.emd(a, b, x, moved, **how) == pytest.approx(tp.emd(a, b, x, y, **how), rel=1e-12)


def test_periods_that_are_none():
    a, b, x, y = clouds(1)
    expected = "it must be a finite number of at least 1e-300"
    for bad, said in [(0, "0"), (-1.0, "-1"), (np.nan, "NaN"), (np.inf, "inf")]:
        for period in (bad, [None, bad], np.array([1.0, bad])):
            with pytest.raises(ValueError, match=rf"period(=)? is {said}; {expected}"):
                tp.emd(a, b, x, y, period=period)
    with pytest.raises(
        ValueError,
        match="for points with 2 coordinates; it must be one number, or a number or none for each",
    ):
        tp.emd(a, b, x, y, period=[1.0, None, 2.0])
    for strange in ("none,1", [["a"], 2], {}):
        with pytest.raises(ValueError, match="period"):
            tp.emd(a, b, x, y, period=strange)
    with pytest.raises(ValueError, match="cosine compares directions"):
        tp.emd_pairwise([(a, x), (b, y)], metric="cosine", period=2.0)
    with pytest.raises(ValueError, match="haversine already treats longitudes as periodic"):
        tp.linkage(points=x, metric="haversine", period=[None, 360])
    matrix = textbook(x, y, "euclidean", 2.0)
    for call in (
        lambda: tp.emd(a, b, matrix, period=2.0),
        lambda: tp.linkage(cost=cdist(x, x), period=2.0),
        lambda: tp.TreeWasserstein(period=2.0).fit(np.eye(4)),
        lambda: tp.WassersteinNeighbors(period=2.0).fit(np.eye(4)),
        lambda: tp.emd_pairwise(np.eye(12), cost=cdist(x, x), period=[None, 2.0]),
    ):
        with pytest.raises(ValueError, match="period is .* that of coordinates"):
            call()
    # None for all coordinates is no period.
    assert tp.emd(a, b, x, y, period=[None, None]) == tp.emd(a, b, x, y)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("period", PERIODS, ids=str)
def test_searches_among_clouds_know_periods(metric, period, tmp_path):
    rng = np.random.default_rng(11)
    # Some lie within half a period, so that it would not matter among them alone.
    sets = [
        (None, rng.uniform(-4, 4, (rng.integers(1, 9), 2)) * (0.2 if k % 3 else 1.0) + k % 5)
        for k in range(40)
    ]
    queries, others = sets[:6], sets[6:]
    exact = tp.emd_pairwise(queries, others, metric=metric, period=period)
    for (_, x), found in zip(queries, exact):
        for (_, y), value in zip(others, found):
            masses = np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))
            judge = ot.emd2(*masses, textbook(x, y, metric, period))
            assert value == pytest.approx(judge, rel=1e-9, abs=1e-12)
    search = tp.WassersteinNeighbors(metric=metric, period=period, n_neighbors=5).fit(others)
    distances, _ = search.kneighbors(queries)
    np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :5], rtol=1e-9, atol=1e-12)
    search.save(tmp_path / "clouds")
    loaded = tp.WassersteinNeighbors.load(tmp_path / "clouds").set_params(n_neighbors=5)
    assert loaded.period == period
    np.testing.assert_array_equal(loaded.kneighbors(queries, 5)[0], distances)
