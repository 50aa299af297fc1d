"""Exact transport with a device that looks through all pairs, by its twin in NumPy."""

import numpy as np
import pytest
import treeport as tp
from treeport._devices import scans

METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"]
FORMULAS = ["length", "square", "absolutes", "largest"]


def problem(rng, kind, size=60):
    """Masses and points: any, on a grid with duplicates, near each other and far from the origin, masses over ten orders."""
    n, m, dim = rng.integers(2, size), rng.integers(2, size), rng.integers(2, 6)
    x, y = rng.normal(size=(n, dim)), rng.normal(size=(m, dim))
    if kind == "grid":
        x, y = np.round(x) + 0.5, np.round(y) + 0.5
    if kind == "far":
        x, y = 1e-3 * x + 1e4, 1e-3 * y + 1e4
    a, b = (
        10.0 ** rng.uniform(-10, 0, size) if kind == "orders" else rng.random(size)
        for size in (n, m)
    )
    return a / a.sum(), b / b.sum(), x, y


@pytest.mark.parametrize("kind", ["any", "grid", "far", "orders"])
@pytest.mark.parametrize("metric", METRICS)
def test_values_plans_and_bounds_are_those_of_the_solver(metric, kind):
    rng = np.random.default_rng(7)
    for _ in range(10):
        a, b, x, y = problem(rng, kind)
        value = tp.emd(a, b, x, y, metric=metric)
        ours, plan, (u, v) = tp.emd(
            a, b, x, y, metric=metric, device="tiles", return_plan=True, return_potentials=True
        )
        slack = 2e-9 * value
        assert abs(ours - value) <= slack
        np.testing.assert_allclose(plan.sum(axis=1), a, rtol=0, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, rtol=0, atol=1e-12)
        assert abs(a @ u + b @ v - value) <= slack + 1e-12
        bounds = tp.emd(a, b, x, y, metric=metric, device="tiles", accuracy=0.1, return_plan=True)
        assert bounds.lower <= value + slack
        assert bounds.upper >= value - slack
        assert bounds.upper - bounds.lower <= 0.1 * bounds.upper
        np.testing.assert_allclose(bounds.plan.sum(axis=1), a, rtol=0, atol=1e-12)


def test_a_larger_problem_is_solved_by_searches_of_some_rows():
    rng = np.random.default_rng(1)
    x, y = rng.random((700, 2)), rng.random((800, 2))
    exact = tp.emd(None, None, x, y)
    bounds = tp.emd(None, None, x, y, device="tiles", accuracy=0.02)
    assert bounds.lower <= exact <= bounds.upper <= bounds.lower / 0.98
    again = tp.emd(None, None, x, y, device="tiles", accuracy=0.02)
    assert bounds == again


def test_pairs_and_tables():
    rng = np.random.default_rng(2)
    clouds = [rng.normal(size=(size, 4)) for size in (30, 40, 50)]
    exact = tp.emd_pairwise(clouds)
    np.testing.assert_allclose(tp.emd_pairwise(clouds, device="tiles"), exact, rtol=2e-9)
    bounds = tp.emd_pairwise(clouds, device="tiles", accuracy=0.05)
    assert (bounds.lower <= exact * (1 + 1e-9)).all()
    assert (bounds.upper >= exact * (1 - 1e-9)).all()
    pairs = tp.emd_pairs(clouds, [(0, 1), (2, 0)], device="tiles")
    np.testing.assert_allclose(pairs, [exact[0, 1], exact[0, 2]], rtol=2e-9)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("most", [1, 5, 32])
def test_searches_find_the_least_and_say_what_others_have(formula, most):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(20, 3)).astype(np.float32), rng.normal(size=(500, 3)).astype(np.float32)
    prices = rng.normal(size=500).astype(np.float32)
    engine = scans.ScanEngine()
    source, target = engine.keep(x), engine.keep(y)
    rows = np.arange(0, 20, 3)
    apart = np.abs(x[rows][:, None].astype(float) - y[None])
    costs = {
        "length": np.sqrt((apart**2).sum(axis=2)),
        "square": (apart**2).sum(axis=2),
        "absolutes": apart.sum(axis=2),
        "largest": apart.max(axis=2),
    }[formula]
    values = costs + prices
    for noise in (0.0, 0.1):
        points, paid, limits = engine.nearest(formula, source, rows, target, prices, most, noise)
        np.testing.assert_allclose(paid, np.take_along_axis(costs, points, 1), rtol=1e-5)
        for row, listed in enumerate(points):
            assert len(set(listed)) == most
            others = np.delete(values[row], listed)
            assert others.min() >= limits[row] - noise - 1e-4
            if noise == 0:
                assert values[row, listed].max() <= others.min() + 1e-5


def test_few_points_leave_places_empty():
    engine = scans.ScanEngine()
    x = np.zeros((1, 2), np.float32)
    cloud = engine.keep(x)
    points, _, limits = engine.nearest(
        "length", cloud, np.array([0]), cloud, np.zeros(1, np.float32), 3, 0.0
    )
    assert points.tolist() == [[0, -1, -1]]
    assert limits[0] >= 1e29
    engine.forget(cloud)
    assert not engine._points


def test_an_engine_that_fails_says_why(monkeypatch):
    def broken(*_):
        raise RuntimeError("the device has fallen off")

    monkeypatch.setattr(scans.ScanEngine, "nearest", broken)
    rng = np.random.default_rng(4)
    x, y = rng.random((50, 2)), rng.random((50, 2))
    for options in ({}, {"accuracy": 0.1}, {"time": 5.0}):
        with pytest.raises(RuntimeError, match="fallen off"):
            tp.emd(None, None, x, y, device="tiles", **options)
    with pytest.raises(RuntimeError, match="fallen off"):
        tp.emd_pairwise([x, y], device="tiles")


@pytest.mark.parametrize("answer", ["shape", "number"])
def test_an_engine_that_answers_nonsense_is_refused(monkeypatch, answer):
    def nonsense(self, formula, source, rows, target, prices, most, noise):
        shape = (len(rows), most + (answer == "shape"))
        return (
            np.full(shape, 10**6, np.int32),
            np.zeros(shape, np.float32),
            np.zeros(len(rows), np.float32),
        )

    monkeypatch.setattr(scans.ScanEngine, "nearest", nonsense)
    x = np.random.default_rng(5).random((50, 2))
    with pytest.raises(ValueError, match="an engine"):
        tp.emd(None, None, x, x + 1, device="tiles")


def test_what_no_device_looks_through_is_refused():
    x, y = np.zeros((3, 2)), np.ones((4, 2))
    for options, named in (
        ({"device": "gpu"}, "device is 'gpu'"),
        ({"device": "tiles", "penalty": 1.0}, "supports no penalty"),
        ({"device": "tiles", "mass": 0.5}, "supports no mass"),
        ({"device": "tiles", "period": 1.0}, "supports no period"),
        ({"device": "tiles", "metric": "haversine"}, "supports no haversine"),
    ):
        with pytest.raises(ValueError, match=named):
            tp.emd(None, None, x, y, **options)
    with pytest.raises(ValueError, match="between points"):
        tp.emd([1.0], [1.0], [[2.0]], device="tiles")
    with pytest.raises(ValueError, match="total mass 3 and 4"):
        tp.emd(np.ones(3), np.ones(4), x, y, device="tiles")
    with pytest.raises(ValueError, match="between points"):
        tp.emd_pairs([[1.0], [1.0]], [(0, 1)], cost=[[0.0]], device="tiles")


def test_time_that_is_up_leaves_bounds():
    x = np.random.default_rng(6).random((400, 2))
    bounds = tp.emd(None, None, x, x[::-1] + 0.1, device="tiles", time=0)
    assert 0 <= bounds.lower <= tp.emd(None, None, x, x[::-1] + 0.1) <= bounds.upper


def test_masses_that_are_next_to_nothing_leave_no_nan():
    x = np.arange(6.0).reshape(3, 2)
    measures = np.array([[1e-300, 1e100, 1e100, 0, 0, 0], [0, 0, 0, 1e100, 1e100, 1e-300]])
    points = np.concatenate([x, x + 1])
    exact = tp.emd_pairs(measures, [(0, 1)], points=points)
    bounds = tp.emd_pairs(measures, [(0, 1)], points=points, accuracy=0.1, device="tiles")
    assert bounds.lower[0] <= exact[0] * (1 + 1e-9)
    assert bounds.upper[0] >= exact[0] * (1 - 1e-9)


def test_threads_that_keep_points_at_the_same_time_get_numbers_of_their_own(monkeypatch):
    """A thread that is interrupted between keeping points and naming them must not get those of another."""
    import time
    from contextlib import contextmanager

    @contextmanager
    def slowly(self):
        yield
        time.sleep(1e-4)

    monkeypatch.setattr(scans.ScanEngine, "current", slowly)
    rng = np.random.default_rng(9)
    clouds = [rng.normal(size=(20, 2)) for _ in range(5)]
    exact = tp.emd_pairwise(clouds)
    np.testing.assert_allclose(tp.emd_pairwise(clouds, device="tiles", n_jobs=4), exact, rtol=2e-9)
