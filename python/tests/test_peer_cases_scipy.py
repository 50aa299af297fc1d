"""The cases that SciPy tests its Wasserstein distances by, with the same numbers.

Expected values are SciPy's own where it writes them down, and formulas elsewhere. Weights are divided by their sums first:
SciPy does so in silence, and `emd` asks for equal totals.

Cases of SciPy that do not apply:

- `energy_distance`, all of it: treeport has no energy distance.
- values at infinity that give `inf` or `nan`: coordinates have to be finite here, and the error names the one that is not.
- a one-dimensional array against rows of coordinates: one number a point here, and an error if the other side has more.
"""

import numpy as np
import pytest
import treeport as tp
from scipy.stats import ortho_group, wasserstein_distance


def share(weights):
    return np.asarray(weights, dtype=float) / np.sum(weights)


def w1(u, v, u_weights=None, v_weights=None):
    """SciPy's order of arguments."""
    a, b = (None if weights is None else share(weights) for weights in (u_weights, v_weights))
    return tp.emd(a, b, np.asarray(u, dtype=float), np.asarray(v, dtype=float))


LINES = [
    ("half of it goes one step", [0, 1], [0], [1, 1], [1], 0.5),
    ("a quarter goes one step", [0, 1], [0], [3, 1], [1], 0.25),
    ("half of it goes two steps", [0, 2], [0], [1, 1], [1], 1),
    ("all go one step", [0, 1, 2], [1, 2, 3], None, None, 1),
    ("the order does not matter", [1, 2, 3], [2, 1, 3], None, None, 0),
    ("three times is three times the weight", [1, 1, 1, 4], [4, 1], [1, 1, 1, 1], [1, 3], 0),
    ("one point, one step", [0], [1], None, None, 1),
    ("one point, ten steps", [-5], [5], None, None, 10),
    ("five points, ten steps", [1, 2, 3, 4, 5], [11, 12, 13, 14, 15], None, None, 10),
    ("weights and fractions", [4.5, 6.7, 2.1], [4.6, 7, 9.2], [3, 1, 1], [1, 3, 1], 2.5),
    ("no weight, no part in it", [1, 2, 100000], [1, 1], [1, 1, 0], [1, 1], 0.5),
]


@pytest.mark.parametrize("case", LINES, ids=[case[0] for case in LINES])
def test_values_on_a_line(case):
    _, u, v, u_weights, v_weights, expected = case
    assert w1(u, v, u_weights, v_weights) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    # The same in the plane, where nothing can be sorted.
    plane = [np.column_stack([x, np.full(len(x), 3.0)]) for x in (u, v)]
    assert w1(*plane, u_weights, v_weights) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_a_weight_stands_for_as_many_points():
    one_by_one = w1([0, 0, 1, 1, 1, 1, 5], [0, 3, 3, 3, 3, 4, 4])
    # Sorted, they go 0, 3, 2, 2, 2, 3 and 1 steps.
    assert one_by_one == pytest.approx(13 / 7, rel=1e-12)
    assert w1([5, 0, 1], [0, 4, 3], [1, 2, 4], [1, 2, 4]) == pytest.approx(13 / 7, rel=1e-12)


def test_all_to_one_point_is_the_mean_way():
    u = np.arange(-10, 30, 0.3)
    v = np.zeros_like(u)
    assert w1(u, v) == pytest.approx(np.abs(u).mean(), rel=1e-12)
    weights = np.arange(len(u))
    expected = np.average(np.abs(u), weights=weights)
    assert w1(u, v, weights, weights[::-1]) == pytest.approx(expected, rel=1e-12)


def test_published_values_in_the_plane():
    """Thirteen points a side; a plan worked out by hand, and published."""
    u = [(1, 1)] * 10 + [(4, 2), (6, 1), (6, 1)]
    v = [(2, 1)] * 2 + [(3, 2)] * 3 + [(5, 1)] * 7 + [(7, 1)]
    flow = np.array([2, 3, 5, 1, 1, 1])
    way = np.sqrt([1, 5, 16, 2, 1, 1])
    assert w1(u, v) == pytest.approx(flow @ way / flow.sum(), rel=1e-12)


@pytest.mark.parametrize("repeats", [5, 10])
@pytest.mark.parametrize("dim", [3, 4, 7])
@pytest.mark.parametrize("count", [4, 15, 35])
def test_equal_distributions_are_0_apart(count, dim, repeats):
    rng = np.random.default_rng(363836384995579937222333)
    times = rng.integers(1, repeats, size=count, dtype=int)
    u = rng.random(size=(count, dim))
    v_weights = rng.random(times.sum())
    u_weights = np.bincount(np.repeat(np.arange(count), times), weights=v_weights)
    order = rng.permutation(len(v_weights))
    assert w1(u, np.repeat(u, times, axis=0)[order], u_weights, v_weights[order]) == pytest.approx(
        0, abs=1e-15
    )


@pytest.mark.parametrize("dim", [3, 5, 23])
@pytest.mark.parametrize("n, m", [(8, 8), (8, 12), (9, 17), (38, 8), (38, 17)])
def test_all_to_the_origin_is_the_mean_norm(n, m, dim):
    rng = np.random.default_rng(38573488467338826109)
    u, u_weights, v_weights = rng.random(size=(n, dim)), rng.random(n), rng.random(m)
    expected = np.average(np.linalg.norm(u, axis=1), weights=u_weights)
    assert w1(u, np.zeros((m, dim)), u_weights, v_weights) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 6])
@pytest.mark.parametrize("n, m", [(8, 8), (8, 32), (16, 16), (32, 8), (32, 32)])
def test_what_changes_nothing(n, m, dim):
    """Points without weight, a coordinate that all points share, a turn and a shift."""
    rng = np.random.default_rng(38573488467338826109)
    u, v, u_weights, v_weights = (
        rng.random((n, dim)),
        rng.random((m, dim)),
        rng.random(n),
        rng.random(m),
    )
    expected = w1(u, v, u_weights, v_weights)
    assert expected > 0.01
    at, more = rng.integers(0, n, size=2)
    others = np.insert(u, at, rng.random((more, dim)), axis=0)
    assert w1(others, v, np.insert(u_weights, at, np.zeros(more)), v_weights) == pytest.approx(
        expected, rel=1e-12
    )
    column = rng.integers(0, dim + 1)
    shared = [np.insert(points, column, 0.7, axis=1) for points in (u, v)]
    assert w1(*shared, u_weights, v_weights) == pytest.approx(expected, rel=1e-9)
    turn, shift = ortho_group.rvs(dim, random_state=rng) if dim > 1 else -np.eye(1), rng.random(dim)
    turned = [points @ turn + shift for points in (u, v)]
    assert w1(*turned, u_weights, v_weights) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("m", [1, 10, 50])
@pytest.mark.parametrize("n", [1, 10, 50])
def test_a_line_inside_a_space_is_a_line(n, m):
    rng = np.random.default_rng(45634745675)
    u, v, u_weights, v_weights = (
        rng.random((n, 1)),
        rng.random((m, 1)),
        rng.random(n),
        rng.random(m),
    )
    for weights in [(None, None), (u_weights, v_weights)]:
        # By distribution functions, which SciPy's distance on a line is.
        expected = wasserstein_distance(u.ravel(), v.ravel(), *weights)
        assert w1(u, v, *weights) == pytest.approx(expected, rel=1e-12)
        assert w1(u.ravel(), v.ravel(), *weights) == pytest.approx(expected, rel=1e-12)
        a, b = (None if each is None else share(each) for each in weights)
        assert tp.emd(a, b, np.abs(u - v.T)) == pytest.approx(expected, rel=1e-9)


ONE, THREE = [0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]
REFUSED = [
    ("values at infinity", lambda: w1([1, 2, np.inf], [1, 1]), "coordinate 0 of point 2 is inf"),
    ("and below", lambda: w1([1, 2, 3], [-np.inf, 1]), "points_b: coordinate 0 of point 0 is -inf"),
    (
        "in the plane",
        lambda: w1([[1, 1], [2, 1]], [[np.inf, -np.inf]]),
        "points_b: coordinate 0 of point 0 is inf",
    ),
    ("no number", lambda: w1([1, np.nan], [1, 1]), "coordinate 0 of point 1 is NaN"),
    ("no points", lambda: w1([], [2, 2]), "there are no points"),
    ("none to go to", lambda: w1([1], []), "there are no points"),
    (
        "an infinite weight",
        lambda: tp.emd([1, np.inf, 1], ONE, [1.0, 2.0, 1.0], [1.0, 1.0]),
        "measure 0 has mass inf at point 1",
    ),
    (
        "a weight below 0",
        lambda: tp.emd([1, -1, 1], ONE, [1.0, 2.0, 1.0], [1.0, 1.0]),
        "measure 0 has mass -1 at point 1",
    ),
    (
        "no weight at all",
        lambda: tp.emd([0, 0], ONE, [1.0, 2.0], [1.0, 1.0]),
        "measure 0 has no mass",
    ),
    (
        "weights that are not shares",
        lambda: tp.emd([3, 1], [1], [0.0, 1.0], [0.0]),
        "total mass 4 and 1",
    ),
    (
        "fewer weights than points",
        lambda: tp.emd(ONE, THREE, [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]),
        "a has 2 masses, and points has 3 rows",
    ),
    (
        "three axes",
        lambda: w1(np.ones((4, 10, 15)), np.ones((6, 2, 7))),
        "points are rows of coordinates, not an array of shape",
    ),
    (
        "a line against a space",
        lambda: w1(np.ones(15), np.ones((3, 15))),
        "points has 1 coordinates a point, points_b 15",
    ),
    (
        "two spaces",
        lambda: w1(np.ones((2, 10)), np.ones((2, 2))),
        "points has 10 coordinates a point, points_b 2",
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=[case[0] for case in REFUSED])
def test_what_is_refused(case):
    _, call, said = case
    with pytest.raises(ValueError, match=said):
        call()
