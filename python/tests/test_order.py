"""Orders of the distance: Wasserstein-p and the bottleneck distance."""

import numpy as np
import pytest
import treeport as tp
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

ORDERS = [1.0, 1.5, 2.0, 4.0, np.inf]


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 2)), rng.normal(size=(12, 2)) + 1


def judge(cost, order):
    if np.isfinite(order):
        return ((cost[linear_sum_assignment(cost**order)] ** order).mean()) ** (1 / order)
    for limit in np.unique(cost):
        longer = (cost > limit).astype(float)
        if longer[linear_sum_assignment(longer)].sum() == 0:
            return limit
    raise AssertionError("some limit is enough")


@pytest.mark.parametrize("order", ORDERS)
def test_every_door_has_the_order(points, order):
    x, y = points
    cost, masses = cdist(x, y), np.full(12, 1 / 12)
    exact = judge(cost, order)
    both = np.concatenate([x, y])
    rows = np.kron(np.eye(2), masses)
    assert tp.emd(masses, masses, x, y, order=order) == pytest.approx(exact, rel=1e-9)
    assert tp.emd(masses, masses, cost, order=order) == pytest.approx(exact, rel=1e-9)
    assert tp.emd(None, None, cost, order=order) == pytest.approx(exact, rel=1e-9)
    assert tp.emd_pairs(rows, [(0, 1)], points=both, order=order)[0] == pytest.approx(
        exact, rel=1e-9
    )
    table = tp.emd_pairwise([(masses, x), (masses, y)], order=order)
    assert table[0, 1] == pytest.approx(exact, rel=1e-9)
    solution = tp.solve(masses, masses, x, y, order=order, potentials=True)
    assert solution.value == pytest.approx(exact, rel=1e-9)
    u, v = solution.potentials
    if np.isfinite(order):
        assert masses @ u + masses @ v == pytest.approx(exact**order, rel=1e-7)
        assert (u[:, None] + v <= cost**order + 1e-7).all()
    else:
        assert cost[solution.plan.toarray() > 1e-12].max() == pytest.approx(exact)
        assert masses @ u + masses @ v > 0
        assert (u[:, None] + v <= (cost >= solution.lower * (1 - 1e-12))).all()
        assert solution.engine == "bottleneck" and "order" in solution.route
    bounds = tp.emd(masses, masses, x, y, order=order, accuracy=0.1)
    assert bounds.lower <= exact * (1 + 1e-9) and exact <= bounds.upper * (1 + 1e-9)
    assert bounds.upper <= 1.1 * bounds.lower * (1 + 1e-9)


@pytest.mark.parametrize("order", [0.5, 0, -1, np.nan])
def test_orders_below_one_are_refused(points, order):
    x, y = points
    for ask in (
        lambda: tp.solve(None, None, x, y, order=order),
        lambda: tp.emd(None, None, x, y, order=order),
        lambda: tp.emd(np.ones(12), np.ones(12), x, y, order=order),
        lambda: tp.emd_pairwise([(np.ones(12), x), (np.ones(12), y)], order=order),
    ):
        with pytest.raises(ValueError, match="order is .*at least 1, or `inf`"):
            ask()
