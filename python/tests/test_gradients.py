"""Gradients by plans and potentials, in NumPy: judged by central differences of exact values."""

import threading
import time

import numpy as np
import pytest
import treeport as tp
from treeport import _core, _gradients

GEOMETRIES = [
    ("euclidean", None),
    ("sqeuclidean", None),
    ("manhattan", None),
    ("chebyshev", None),
    ("cosine", None),
    ("euclidean", 2.5),
    ("sqeuclidean", [None, 2.0, 3.0]),
    ("manhattan", [1.5, None, 3.0]),
    ("chebyshev", [2.0, 2.5, None]),
]
STEP = 1e-6


def drawn(rng, count=4, n=5, m=7, d=3):
    a, b = rng.dirichlet(np.ones(n), size=count), rng.dirichlet(np.ones(m), size=count)
    return a, b, rng.normal(size=(count, n, d)), rng.normal(size=(count, m, d))


def solved(a, b, x, y, metric="euclidean", period=None, **options):
    geometry = metric if period is None else (metric, period)
    return _gradients.solve_batch(
        a, b, lambda i: (x[i], y[i], geometry), plans=True, rates=True, **options
    )


def slope(value, array, place):
    """The central difference of a value along one number of an array."""
    ahead, behind = array.copy(), array.copy()
    ahead[place] += STEP
    behind[place] -= STEP
    return (value(ahead) - value(behind)) / (2 * STEP)


def close(found, expected):
    """Values near 1 are exact to about 1e-15, so difference quotients to 1e-9; what curvature adds is less."""
    np.testing.assert_allclose(found, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("metric, period", GEOMETRIES)
def test_in_points_as_central_differences(rng, metric, period):
    a, b, x, y = drawn(rng)
    batch = solved(a, b, x, y, metric, period)
    of_x, of_y = _gradients.in_points(batch.plans, x, y, metric, period)
    for i in range(len(a)):
        options = {"metric": metric, "period": period}
        assert batch.values[i] == tp.emd(a[i], b[i], x[i], y[i], **options)
        judge_x = [
            slope(lambda moved: tp.emd(a[i], b[i], moved, y[i], **options), x[i], k)
            for k in np.ndindex(x[i].shape)
        ]
        judge_y = [
            slope(lambda moved: tp.emd(a[i], b[i], x[i], moved, **options), y[i], k)
            for k in np.ndindex(y[i].shape)
        ]
        close(of_x[i].ravel(), judge_x)
        close(of_y[i].ravel(), judge_y)


def with_zeros(rng, masses):
    """Rows of masses of which some are 0, with a total of 1."""
    kept = masses * (rng.random(masses.shape) < 0.6)
    kept[:, 0] += 0.1
    return kept / kept.sum(axis=1, keepdims=True)


def judge_rates(value, masses, rates):
    """Compares rates with the change of the value as mass moves from the largest place to every other one."""
    from_here = int(masses.argmax())
    for place in range(len(masses)):
        moved = masses.copy()
        moved[from_here] -= STEP
        moved[place] += STEP
        change = (value(moved) - value(masses)) / STEP
        np.testing.assert_allclose(rates[place] - rates[from_here], change, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("metric, period", GEOMETRIES)
def test_in_masses_where_some_points_have_none(rng, metric, period):
    a, b, x, y = drawn(rng, count=8)
    a, b = with_zeros(rng, a), with_zeros(rng, b)
    of_a, of_b = solved(a, b, x, y, metric, period).rates
    for i in range(len(a)):
        options = {"metric": metric, "period": period}
        judge_rates(lambda masses: tp.emd(masses, b[i], x[i], y[i], **options), a[i], of_a[i])
        judge_rates(lambda masses: tp.emd(a[i], masses, x[i], y[i], **options), b[i], of_b[i])


def test_in_masses_of_a_matrix_where_some_rows_have_none(rng):
    a, b, *_ = drawn(rng, count=8)
    a, b, costs = with_zeros(rng, a), with_zeros(rng, b), rng.random((8, 5, 7))
    of_a, of_b = _gradients.solve_batch(a, b, lambda i: costs[i], plans=False, rates=True).rates
    for i in range(len(a)):
        judge_rates(lambda masses: tp.emd(masses, b[i], costs[i]), a[i], of_a[i])
        judge_rates(lambda masses: tp.emd(a[i], masses, costs[i]), b[i], of_b[i])


def test_mass_that_arrives_comes_from_points_with_mass():
    """The other point without mass must not lower the rate."""
    solution = tp.solve(
        [1.0, 0.0], [0.5, 0.5, 0.0], [[0.0], [10.0]], [[0.0], [1.0], [10.0]], rates=True
    )
    _, of_b = solution.rates
    np.testing.assert_allclose(of_b - of_b[0], [0.0, 1.0, 10.0])
    u, v = solution.potentials
    assert u[1] + v[2] <= 1e-12
    with pytest.raises(ValueError, match="rates=True"):
        tp.solve([1.0], [1.0], [[2.0]]).rates


def test_in_points_only_what_is_asked_for(rng):
    a, b, x, y = drawn(rng)
    plans = solved(a, b, x, y).plans
    both = _gradients.in_points(plans, x, y, "euclidean")
    left, none = _gradients.in_points(plans, x, y, "euclidean", right=False)
    assert none is None and np.array_equal(left, both[0])
    none, right = _gradients.in_points(plans, x, y, "euclidean", left=False)
    assert none is None and np.array_equal(right, both[1])


def test_in_points_as_sums_over_dense_plans(rng):
    a, b, x, y = drawn(rng)
    of_x, of_y = _gradients.in_points(solved(a, b, x, y).plans, x, y, "euclidean")
    for i in range(len(a)):
        _, plan = tp.emd(a[i], b[i], x[i], y[i], return_plan=True)
        apart = x[i][:, None] - y[i][None]
        moves = plan.toarray()[..., None] * apart / np.linalg.norm(apart, axis=2, keepdims=True)
        np.testing.assert_allclose(of_x[i], moves.sum(axis=1), atol=1e-15)
        np.testing.assert_allclose(of_y[i], -moves.sum(axis=0), atol=1e-15)


def test_in_masses_as_central_differences(rng):
    a, b, x, y = drawn(rng)
    batch = solved(a, b, x, y)
    of_a, of_b = (_gradients.in_masses(side) for side in batch.rates)
    np.testing.assert_allclose(of_a.sum(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(of_b.sum(axis=1), 0, atol=1e-14)
    for i in range(len(a)):

        def value(parts, others=None):
            mine, theirs = (parts, b[i]) if others is None else (others, parts)
            return tp.emd(mine, theirs, x[i], y[i])

        # Along moves of mass that keep the total: from the last point to each of the others.
        for k in range(a.shape[1] - 1):
            step = np.zeros(a.shape[1])
            step[[k, -1]] = STEP, -STEP
            close(of_a[i, k] - of_a[i, -1], (value(a[i] + step) - value(a[i] - step)) / (2 * STEP))
        for k in range(b.shape[1] - 1):
            step = np.zeros(b.shape[1])
            step[[k, -1]] = STEP, -STEP
            close(
                of_b[i, k] - of_b[i, -1],
                (value(b[i] + step, a[i]) - value(b[i] - step, a[i])) / (2 * STEP),
            )


def test_mass_that_arrives_at_an_empty_point(rng):
    a, b, x, y = drawn(rng, count=1)
    a[0, 2] = 0
    a /= a.sum()
    (of_a,) = _gradients.in_masses(solved(a, b, x, y).rates[0])
    step = np.zeros(a.shape[1])
    step[[2, 0]] = STEP, -STEP
    ahead = (tp.emd(a[0] + step, b[0], x[0], y[0]) - tp.emd(a[0], b[0], x[0], y[0])) / STEP
    close(of_a[2] - of_a[0], ahead)


def test_in_costs_as_plans(rng):
    a, b, _, _ = drawn(rng, count=6)
    costs = rng.random((2, 5, 7))
    reads = np.array([0, 1, 1, 0, 1, 1])
    batch = _gradients.solve_batch(a, b, lambda i: costs[reads[i]], plans=True, rates=False)
    assert batch.rates is None
    factors = rng.normal(size=6)
    found = _gradients.in_costs(batch.plans, factors, reads, costs.shape)
    judge = np.zeros_like(costs)
    for i in range(6):
        value, plan = tp.emd(a[i], b[i], costs[reads[i]], return_plan=True)
        assert batch.values[i] == value
        judge[reads[i]] += factors[i] * plan.toarray()
    np.testing.assert_allclose(found, judge, atol=1e-15)


def test_kinks_have_documented_subgradients():
    same = np.array([[1.0, 2.0]])
    for metric in ("euclidean", "sqeuclidean", "manhattan", "chebyshev"):
        for side in _gradients.slopes_of(same, same, metric):
            assert np.array_equal(side, [[0.0, 0.0]]), metric
    left, right = np.array([[3.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 3.0]])
    assert np.array_equal(_gradients.slopes_of(left, right, "manhattan")[0], [[1.0, 0.0, -1.0]])
    assert np.array_equal(_gradients.slopes_of(left, right, "chebyshev")[0], [[1.0, 0.0, 0.0]])
    assert np.array_equal(_gradients.slopes_of(left, right, "chebyshev")[1], [[-1.0, 0.0, 0.0]])


def test_lengths_that_squares_have_no_room_for():
    for scale in (1e200, 1e-200, 5e-324):
        left, right = scale * np.array([[3.0, 4.0]]), np.zeros((1, 2))
        np.testing.assert_allclose(
            _gradients.slopes_of(left, right, "euclidean")[0], [[0.6, 0.8]], rtol=1e-15
        )
    left, right = 1e200 * np.array([[1.0, 0.0]]), 1e-200 * np.array([[1.0, 1.0]])
    of_left, of_right = _gradients.slopes_of(left, right, "cosine")
    np.testing.assert_allclose(1e200 * of_left, [[0.0, -(0.5**0.5)]], atol=1e-15)
    np.testing.assert_allclose(1e-200 * of_right, [[-(0.5**1.5), 0.5**1.5]], rtol=1e-14)


def test_every_metric_has_a_gradient_or_says_so():
    refused = []
    for name, _ in _core.point_metrics():
        try:
            _gradients.check_slopes(name)
        except ValueError as error:
            assert "has no gradient in the points here" in str(error)
            refused.append(name)
    assert refused == ["haversine"]


def test_totals_that_rounding_explains_are_made_equal():
    a = np.array([[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    b = np.array([[1.0], [1 + 1e-9], [1 + 1e-5], [1.01]])
    found = _gradients.with_equal_totals(a, b, 1e-4)
    assert np.array_equal(found[[0, 1, 3]], b[[0, 1, 3]]), "equal as it is, and not rounding"
    assert found[2] == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_give_the_same_and_the_first_error_wins(rng, threads):
    a, b, x, y = drawn(
        rng, count=6, n=70, m=70, d=2
    )  # too many pairs to be solved one after the other
    batch = solved(a, b, x, y, threads=threads)
    assert batch.values.tolist() == [tp.emd(*of_one) for of_one in zip(a, b, x, y)]
    wanted = [
        tp.emd(*of_one, return_plan=True, return_potentials=True) for of_one in zip(a, b, x, y)
    ]
    for i, (_, plan, (u, v)) in enumerate(wanted):
        mine = batch.plans.problem == i
        dense = np.zeros((70, 70))
        dense[batch.plans.source[mine], batch.plans.target[mine]] = batch.plans.mass[mine]
        assert np.array_equal(dense, plan.toarray())
        assert np.array_equal(batch.rates[0][i], u) and np.array_equal(batch.rates[1][i], v)
    b[4, 3], a[2, 1] = np.nan, -1
    with pytest.raises(
        ValueError, match="^batch entry 2: measure 0 has mass -1 at point 1; masses must be"
    ):
        solved(a, b, x, y, threads=threads)


def test_nothing_is_a_batch():
    none = np.empty((0, 3))
    batch = _gradients.solve_batch(none, none, lambda i: None, plans=True, rates=True)
    assert len(batch.values) == len(batch.plans.mass) == len(batch.rates[0]) == 0
    of_x, of_y = _gradients.in_points(
        batch.plans, np.empty((0, 3, 2)), np.empty((0, 3, 2)), "euclidean"
    )
    assert of_x.shape == of_y.shape == (0, 3, 2)


def test_an_interrupt_ends_the_work_on_all_threads(rng, monkeypatch):
    all_wait, begun, stopped = threading.Barrier(3, timeout=60), [], []

    def endless(*_, report, **__):
        begun.append(threading.current_thread())
        all_wait.wait()
        for _ in range(20_000):
            time.sleep(0.001)
            try:
                report("exact distance", 0, 0)
            except KeyboardInterrupt:
                stopped.append(threading.current_thread())
                raise
        raise AssertionError("nobody has stopped it")

    def interrupted(futures, timeout):
        all_wait.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(_core, "solve", endless)
    monkeypatch.setattr(_gradients, "wait", interrupted)
    a, b, x, y = drawn(rng, count=5, n=70, m=70)
    with pytest.raises(KeyboardInterrupt):
        solved(a, b, x, y, threads=2)
    assert len(begun) == len(stopped) == 2, "the other problems are never begun"
    assert not any(thread.is_alive() for thread in begun)


RELAXED = {
    "penalty": {"penalty": 0.9},
    "penalties": {"penalty": (np.linspace(0.3, 2.0, 5), np.linspace(1.5, 0.2, 7))},
    "mass": {"mass": 0.37},
}


@pytest.mark.parametrize("metric, period", GEOMETRIES)
@pytest.mark.parametrize("kind", RELAXED)
def test_relaxed_as_central_differences(rng, metric, period, kind):
    a, b, x, y = drawn(rng)
    b, relaxed, options = 1.3 * b, RELAXED[kind], {"metric": metric, "period": period}
    batch = solved(a, b, x, y, metric, period, relaxed=lambda i: relaxed)
    of_x, of_y = _gradients.in_points(batch.plans, x, y, metric, period)
    rest_a, rest_b = _gradients.in_penalties(batch.plans, a, b)
    for i in range(len(a)):

        def emd(a=a[i], b=b[i], x=x[i], y=y[i], relaxed=relaxed):
            return tp.emd(a, b, x, y, **options, **relaxed)

        def judge(value, array):
            return [slope(value, array, place) for place in np.ndindex(array.shape)]

        assert batch.values[i] == emd()
        close(batch.rates[0][i], judge(lambda moved: emd(a=moved), a[i]))
        close(batch.rates[1][i], judge(lambda moved: emd(b=moved), b[i]))
        close(of_x[i].ravel(), judge(lambda moved: emd(x=moved), x[i]))
        close(of_y[i].ravel(), judge(lambda moved: emd(y=moved), y[i]))
        if kind == "mass":
            of_mass = (emd(relaxed={"mass": 0.37 + STEP}) - emd(relaxed={"mass": 0.37 - STEP})) / (
                2 * STEP
            )
            close(2 * batch.penalties[i], of_mass)
        elif kind == "penalty":
            value = slope(lambda one: emd(relaxed={"penalty": float(one[0])}), np.array([0.9]), 0)
            close(rest_a[i].sum() + rest_b[i].sum(), value)
        else:
            left, right = relaxed["penalty"]
            close(rest_a[i], judge(lambda one: emd(relaxed={"penalty": (one, right)}), left))
            close(rest_b[i], judge(lambda one: emd(relaxed={"penalty": (left, one)}), right))


@pytest.mark.parametrize("kind", RELAXED)
def test_relaxed_rates_where_some_points_have_no_mass(rng, kind):
    """Mass that arrives, and mass that leaves."""
    a, b, x, y = drawn(rng, count=8)
    a, b, relaxed = with_zeros(rng, a), 1.3 * with_zeros(rng, b), RELAXED[kind]
    batch = solved(a, b, x, y, relaxed=lambda i: relaxed)
    for i in range(len(a)):
        for side, masses in enumerate((a[i], b[i])):

            def value(masses):
                pair = (masses, b[i]) if side == 0 else (a[i], masses)
                return tp.emd(*pair, x[i], y[i], **relaxed)

            for place in range(len(masses)):
                more = masses.copy()
                more[place] += STEP
                change = (value(more) - value(masses)) / STEP
                np.testing.assert_allclose(batch.rates[side][i][place], change, atol=1e-6)
