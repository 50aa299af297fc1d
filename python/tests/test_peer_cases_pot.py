"""The cases that POT tests exact, partial and one-dimensional transport by (its test_ot, test_partial, test_1d_solver).

The inputs are POT's, from the same seeds. Expected values are written down, follow from a formula (distribution functions on
a line, means), or come from a linear program or an assignment; none comes from POT.

Cases of POT that do not apply:

- backends, devices and gradients: arrays are NumPy's here (`TreeWasserstein.to_torch` has gradients, for trees).
- `numThreads`: `emd` takes no number of threads; `emd_pairs` takes `n_jobs`, and test_emd.py compares the bits.
- `potentials_init`, `numItermax`: there is no iteration to begin or to stop; `time` and `accuracy` give proved bounds instead.
- `check_marginals`, `center_dual`: marginals are always checked, and potentials are not centered.
- free-support and generic barycenters, gluing of plans: treeport has barycenters on trees alone.
- entropic partial transport, partial Gromov-Wasserstein: treeport has neither.
- `metric="cosine"` on a line, which POT refuses: it is a cost like any other here (test_line.py).
- rows of several coordinates, which POT refuses on a line: `emd` takes any number of coordinates.
- quantile functions: private to POT.
- costs on few arcs as a sparse matrix: there is no such input; arcs that are not there are given a large cost below.
"""

import networkx as nx
import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog
from scipy.spatial.distance import cdist


def normal(n, dim=2, m=None, seed=0):
    """One or two sets of points from one seed."""
    rng = np.random.RandomState(seed)
    x = rng.randn(n, dim)
    return x if m is None else (x, rng.randn(m, dim))


def gauss(bins, mean, deviation):
    """A bell on whole numbers."""
    found = np.exp(-((np.arange(bins) - mean) ** 2) / (2 * deviation**2))
    return found / found.sum()


def by_order(a, b, x, y, cost):
    """The cost of transport on a line, where cost is convex: the q-th part of one goes to the q-th part of the other."""
    left, right = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    ends = np.cumsum(a[left]), np.cumsum(b[right])
    cuts = np.unique(np.concatenate([[0.0], *ends]))
    middle = (cuts[1:] + cuts[:-1]) / 2
    at = [np.minimum(np.searchsorted(end, middle), len(end) - 1) for end in ends]
    return np.diff(cuts) @ cost(x[left][at[0]], y[right][at[1]])


def least(cost, a, b, mass=None, at_most=False):
    """The linear program; `mass` is moved, or at most all of it."""
    n, m = cost.shape
    rows, columns = sparse.kron(sparse.eye(n), np.ones(m)), sparse.kron(np.ones(n), sparse.eye(m))
    sums, totals = sparse.vstack([rows, columns]), np.concatenate([a, b])
    given = (
        {"A_ub": sums, "b_ub": totals}
        if mass is not None or at_most
        else {"A_eq": sums, "b_eq": totals}
    )
    if mass is not None:
        given |= {"A_eq": np.ones((1, n * m)), "b_eq": [mass]}
    found = linprog(np.ravel(cost), **given)
    assert found.status == 0, found.message
    return found.fun


def check_proof(a, b, cost, value, plan, potentials):
    """No duality gap, no dual above its cost, and nothing moved but where the two are equal."""
    u, v = potentials
    assert a @ u + b @ v == pytest.approx(value, rel=1e-9, abs=1e-12)
    slack = cost - u[:, None] - v
    assert slack.min() > -1e-9 * (1 + cost.max())
    assert abs(slack[plan.nonzero()]).max() < 1e-8 * (1 + cost.max())


# test_ot


def test_sizes_and_masses_that_differ_are_refused():
    x = normal(100)
    cost = cdist(x, x, "sqeuclidean")
    for n in (99, 101):
        a = np.full(n, 1 / n)
        with pytest.raises(
            ValueError, match=rf"the cost matrix has shape \(100, 100\), expected \({n}, {n}\)"
        ):
            tp.emd(a, a, cost)
    a, b = np.full(100, 0.01), np.full(100, 0.01)
    a[0] = 100
    with pytest.raises(ValueError, match=r"total mass 100\.99\d* and 1"):
        tp.emd(a, b, cost)


@pytest.mark.parametrize("uniform", [None, np.full(100, 0.01)])
def test_a_measure_stays_where_it_is(uniform):
    x = normal(100)
    value, plan = tp.emd(uniform, uniform, cdist(x, x, "sqeuclidean"), return_plan=True)
    assert value == pytest.approx(0, abs=1e-15)
    np.testing.assert_allclose(plan.toarray(), np.eye(100) / 100, atol=1e-15)
    assert tp.emd(uniform, uniform, x, x, metric="sqeuclidean") == pytest.approx(0, abs=1e-12)


def test_an_empty_list_of_masses_is_refused_and_none_is_uniform():
    """POT takes both for the same mass everywhere."""
    x = normal(100)
    uniform = np.full(100, 0.01)
    for empty in ([], np.array([])):
        for a, b, named in [(empty, empty, "a"), (uniform, empty, "b")]:
            for ground in ((x, x), (cdist(x, x),)):
                with pytest.raises(
                    ValueError, match=f"{named} has no masses; give one for each point, or `None`"
                ):
                    tp.emd(a, b, *ground)
                with pytest.raises(
                    ValueError, match=f"{named} has no masses; give one for each point, or `None`"
                ):
                    tp.sinkhorn(a, b, *ground)


def test_one_measure_against_several():
    x = np.arange(500.0)
    a, targets = gauss(500, 20, 5), [gauss(500, mean, 10) for mean in range(20, 500, 100)]
    cost = (x[:, None] - x) ** 2
    expected = [by_order(a, b, x, x, lambda s, t: (s - t) ** 2) for b in targets]
    # The way of the means and the difference of the spreads; the first target is cut off at 0.
    assert expected[1:] == pytest.approx(
        [(mean - 20) ** 2 + 25 for mean in range(120, 500, 100)], rel=1e-3
    )
    np.testing.assert_allclose(
        tp.emd_pairwise([a], targets, points=x[:, None], metric="sqeuclidean")[0],
        expected,
        rtol=1e-9,
    )
    for b, judge in zip(targets, expected):
        value, plan, potentials = tp.emd(a, b, cost, return_plan=True, return_potentials=True)
        assert value == pytest.approx(judge, rel=1e-9)
        check_proof(a, b, cost, value, plan, potentials)


def test_barycenter_of_two_points():
    """POT has squared costs, and the middle is best; the distance of a path has no better point than any between them."""
    path = tp.Tree.from_newick("((a:0,(b:0,c:1):1):0);", names=list("abc"))
    measures = [[1, 0, 0], [0, 0, 1]]
    assert path.distance(*measures) == 2
    center = path.barycenter(measures, weights=[0.5, 0.5])
    assert np.sum(center) == pytest.approx(1)
    assert sum(0.5 * path.distance(center, row) for row in measures) == pytest.approx(
        1.0, rel=1e-12
    )


def test_points_that_are_there_twice_are_one():
    twice, once = [[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]], [[1.0, 1.0], [2.0, 2.0]]
    assert tp.emd(np.full(3, 1 / 3), [2 / 3, 1 / 3], twice, once) == pytest.approx(0, abs=1e-15)
    assert tp.emd(
        np.full(3, 1 / 3), [1 / 3, 2 / 3], [[1.0, 1.0], [2.0, 2.0], [1.0, 1.0]], once
    ) == pytest.approx(2**0.5 / 3)


def test_little_time_gives_bounds_and_no_wrong_value():
    """POT warns when its iterations are used up, and returns what it has."""
    x, a, b = np.arange(100.0), gauss(100, 30, 5), gauss(100, 50, 10)
    expected = np.abs(np.cumsum(a - b)).sum()
    assert expected == pytest.approx(20, rel=1e-4)
    cost = np.abs(x[:, None] - x)
    found = tp.emd(a, b, cost, time=1e-9)
    assert found.lower <= expected * (1 + 1e-9) and expected <= found.upper * (1 + 1e-9)
    assert tp.emd(a, b, cost) == pytest.approx(expected, rel=1e-9)


def test_potentials_of_two_bells():
    x, y, a, b = np.arange(500.0), np.arange(600.0), gauss(500, 300, 5), gauss(600, 400, 10)
    cost = np.abs(x[:, None] - y)
    value, plan, potentials = tp.emd(a, b, cost, return_plan=True, return_potentials=True)
    assert value == pytest.approx(
        100, abs=1e-7
    )  # all of it goes to the right, so it is the way of the means
    assert tp.emd(b, a, np.ascontiguousarray(cost.T)) == pytest.approx(value, rel=1e-9)
    assert (plan.toarray() * cost).sum() == pytest.approx(value, rel=1e-9)
    check_proof(a, b, cost, value, plan, potentials)


@pytest.mark.parametrize("n, m, seed", [(100, 100, 42), (100, 150, 43)])
def test_costs_on_few_arcs(n, m, seed):
    """Arcs that are not there cost so much that none is used.

    Masses are whole: a hundred times 1/100 and a hundred and fifty times 1/150 differ by 2e-15, and what is over has no cheap arc.
    """
    rng = np.random.RandomState(seed)
    cost, there = rng.rand(n, m), np.zeros((n, m), dtype=bool)
    for i in range(n):
        there[i, rng.choice(m, 2, replace=False)] = True
    for j in range(m):
        there[rng.choice(n, 2, replace=False), j] = True
    a, b = np.full(n, m / 50.0), np.full(m, n / 50.0)
    arcs = np.argwhere(there)
    ends = sparse.coo_array(
        (
            np.ones(2 * len(arcs)),
            (np.concatenate([arcs[:, 0], n + arcs[:, 1]]), np.tile(np.arange(len(arcs)), 2)),
        )
    )
    judge = linprog(cost[there], A_eq=ends.tocsr(), b_eq=np.concatenate([a, b]))
    assert judge.status == 0
    value, plan = tp.emd(a, b, np.where(there, cost, 1e8), return_plan=True)
    assert value == pytest.approx(judge.fun, rel=1e-9)
    assert not plan.toarray()[~there].any()
    shares = tp.emd(a / a.sum(), b / b.sum(), np.where(there, cost, 1e8))
    assert shares == pytest.approx(judge.fun / a.sum(), abs=1e8 * 1e-14)


def test_costs_of_a_band():
    """A matrix whose diagonal is cheapest: nothing is mixed."""
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    np.fill_diagonal(cost, 0.1)
    value, plan = tp.emd(None, None, cost, return_plan=True)
    assert value == pytest.approx(0.1, rel=1e-12)
    np.testing.assert_allclose(plan.toarray(), np.eye(4) / 4, atol=1e-15)
    ring = np.full((10, 10), 1e8)
    for i in range(10):
        ring[i, [i, (i + 1) % 10, (i + 2) % 10]] = 0.1, 1.0, 2.0
    assert tp.emd(None, None, ring) == pytest.approx(0.1, rel=1e-9)


def test_arcs_that_are_missing_are_named():
    """POT takes a sparse matrix of costs; a directed graph here has to have a way from every source to every target."""
    graph = nx.DiGraph(["ax", "ay", "by", "bz", "cz"])
    with pytest.raises(ValueError, match="there is no path from node 'a' to node 'z'; each node"):
        tp.emd(dict(a=1, b=1, c=1), dict(x=1, y=1, z=1), graph=graph, weight=None)
    graph = nx.DiGraph([("a", "b", {"weight": -1.0})])
    with pytest.raises(ValueError, match="the edge from node 'a' to node 'b' has length -1.0"):
        tp.emd({"a": 1}, {"b": 1}, graph=graph)
    with pytest.raises(ValueError, match="distance from point 0 to point 1 is inf"):
        tp.emd(None, None, np.array([[1.0, np.inf], [2.0, 1.0]]))


def test_uniform_masses_are_an_assignment():
    """The problems that POT begins a second time from potentials."""
    x, y = normal(100, 2, 100, seed=42)
    rng = np.random.RandomState(42)
    for cost in (cdist(x, y, "sqeuclidean"), rng.rand(100, 100)):
        rows, columns = linear_sum_assignment(cost)
        value, plan = tp.emd(None, None, cost, return_plan=True)
        assert value == pytest.approx(cost[rows, columns].mean(), rel=1e-9)
        np.testing.assert_allclose(plan.toarray()[rows, columns], 0.01, rtol=1e-9)
    assert tp.emd(None, None, x, y, metric="sqeuclidean") == pytest.approx(
        tp.emd(None, None, cdist(x, y, "sqeuclidean")), rel=1e-9
    )


def test_plans_are_sparse():
    x, y = normal(12, 2, 15, seed=42)
    a, b, cost = np.full(12, 1 / 12), np.full(15, 1 / 15), cdist(x, y, "sqeuclidean")
    value, plan = tp.emd(a, b, x, y, metric="sqeuclidean", return_plan=True)
    assert value == pytest.approx(least(cost, a, b), rel=1e-9)
    assert sparse.issparse(plan) and plan.shape == (12, 15) and plan.nnz <= 27
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-12)


# test_partial


def with_noise():
    """Twenty points around the origin, and twenty to the upper right on one side, to the lower left on the other."""
    rng = np.random.RandomState(42)
    spread = np.sqrt([1.0, 2.0])
    x = np.concatenate([rng.randn(20, 2) * spread, (rng.rand(20, 2) + 1) * 4])
    y = np.concatenate([rng.randn(20, 2) * spread, (rng.rand(20, 2) + 1) * -3])
    return x, y, cdist(x, y, "sqeuclidean"), np.full(40, 1 / 40)


@pytest.mark.parametrize("mass", [2, -1, 1.001, np.nan, np.inf])
def test_masses_that_are_not_there_cannot_be_moved(mass):
    _, _, cost, a = with_noise()
    with pytest.raises(
        ValueError, match="mass is .*; it must be at least 0 and at most the smaller of the totals"
    ):
        tp.emd(a, a, cost, mass=mass)


def test_half_of_the_mass_is_moved():
    x, y, cost, a = with_noise()
    value, plan = tp.emd(a, a, cost, mass=0.5, return_plan=True)
    assert value == pytest.approx(least(cost, a, a, mass=0.5), rel=1e-9)
    assert plan.sum() == pytest.approx(0.5, rel=1e-12)
    assert (plan.sum(axis=1) <= a + 1e-15).all() and (plan.sum(axis=0) <= a + 1e-15).all()
    assert tp.emd(a, a, x, y, metric="sqeuclidean", mass=0.5) == pytest.approx(value, rel=1e-9)
    # The noise stays behind: it is farther than what is near.
    assert plan.toarray()[20:].sum() < 0.05
    # All of it, and any totals.
    assert tp.emd(a, a, cost, mass=1.0) == pytest.approx(tp.emd(a, a, cost), rel=1e-9)
    assert tp.emd(a + 1, a, cost, mass=1.0) == pytest.approx(
        least(cost, a + 1, a, mass=1.0), rel=1e-9
    )


@pytest.mark.parametrize("price", [1, 100])
def test_a_price_instead_of_a_mass(price):
    """POT takes a price off every cost; that is a penalty of half of it on either side, less what all penalties cost."""
    _, _, cost, a = with_noise()
    expected = least(cost - price, a, a, at_most=True)
    assert tp.emd(a, a, cost, penalty=price / 2) - price == pytest.approx(expected, rel=1e-9)


def test_so_many_of_the_points_on_a_line():
    """Each point more costs no less than the one before."""
    rng = np.random.RandomState(42)
    x, y, a = rng.randn(20, 1), rng.randn(20, 1), np.full(20, 1 / 20)
    cost = np.abs(x - y.T)
    values = [tp.emd(a, a, x, y, mass=count / 20) for count in range(21)]
    assert values[0] == 0 and values[20] == pytest.approx(
        np.abs(np.sort(x, axis=0) - np.sort(y, axis=0)).mean(), rel=1e-9
    )
    steps = np.diff(values)
    assert (np.diff(steps) > -1e-12).all()
    for count in (1, 5, 10, 19):
        assert values[count] == pytest.approx(least(cost, a, a, mass=count / 20), rel=1e-9)
    assert values[1] == pytest.approx(cost.min() / 20, rel=1e-12)


# test_1d_solver


def on_a_line(weights):
    rng = np.random.RandomState(0)
    x, y = rng.randn(20, 1), rng.randn(30, 1)
    a, b = (rng.uniform(0, 1, size) if weights else np.ones(size) for size in (20, 30))
    return a / a.sum(), b / b.sum(), x, y


@pytest.mark.parametrize("weights", [False, True])
def test_values_plans_and_potentials_on_a_line(weights):
    a, b, x, y = on_a_line(weights)
    for metric, formula in [
        ("sqeuclidean", lambda s, t: (s - t) ** 2),
        ("euclidean", lambda s, t: np.abs(s - t)),
    ]:
        expected = by_order(a, b, x[:, 0], y[:, 0], formula)
        cost = formula(x, y.T)
        assert least(cost, a, b) == pytest.approx(expected, rel=1e-9)
        value, plan, potentials = tp.emd(
            a, b, x, y, metric=metric, return_plan=True, return_potentials=True
        )
        assert value == pytest.approx(expected, rel=1e-12)
        assert tp.emd(a, b, cost) == pytest.approx(expected, rel=1e-9)
        check_proof(a, b, cost, value, plan, potentials)
        np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-12)
        if metric == "sqeuclidean":  # then there is one plan alone
            np.testing.assert_allclose(
                plan.toarray(), tp.emd(a, b, cost, return_plan=True)[1].toarray(), atol=1e-12
            )


def test_histograms_on_a_line():
    rng = np.random.RandomState(0)
    x = np.linspace(0, 5, 100)
    a, b = np.abs(rng.randn(100)), np.abs(rng.randn(100))
    a, b = a / a.sum(), b / b.sum()
    assert tp.emd(a, b, x, x) == pytest.approx(
        (np.abs(np.cumsum(a - b))[:-1] * np.diff(x)).sum(), rel=1e-9
    )
    # A shift by 1 costs 1, ten times the width a hundred times the squares.
    assert tp.emd(None, None, x, x + 1, metric="sqeuclidean") ** 0.5 == pytest.approx(1, rel=1e-12)
    square, wide = (tp.emd(a, b, scale * x, scale * x, metric="sqeuclidean") for scale in (1, 10))
    assert wide == pytest.approx(100 * square, rel=1e-12)


def test_a_plan_between_ten_and_four_points():
    rng = np.random.RandomState(0)
    x, y, a, b = rng.randn(10, 1), rng.randn(4, 1), rng.uniform(0, 1, 10), rng.uniform(0, 1, 4)
    a, b = a / a.sum(), b / b.sum()
    _, plan = tp.emd(a, b, x, y, metric="sqeuclidean", return_plan=True)
    # In order, each takes from the other side what is left of it.
    expected, left, right = np.zeros((10, 4)), list(np.argsort(x[:, 0])), list(np.argsort(y[:, 0]))
    rest, room = a.copy(), b.copy()
    while left and right:
        i, j = left[0], right[0]
        expected[i, j] = moved = min(rest[i], room[j])
        rest[i] -= moved
        room[j] -= moved
        (left if rest[i] <= room[j] else right).pop(0)
    np.testing.assert_allclose(plan.toarray(), expected, atol=1e-12)
