"""Persistence diagrams, judged by assignments with a place on the diagonal for every point."""

import pickle

import numpy as np
import pytest
import treeport as tp
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

METRICS = {"euclidean": 2**-0.5, "chebyshev": 0.5, "manhattan": 1.0}
NAMES = {"euclidean": "euclidean", "chebyshev": "chebyshev", "manhattan": "cityblock"}


def by_assignment(a, b, metric):
    """W1 of two diagrams: every point goes to a point of the other or to its own place on the diagonal."""
    n, m = len(a), len(b)
    to_diagonal = METRICS[metric]
    cost = np.zeros((n + m, n + m))
    cost[:n, :m] = cdist(a.reshape(n, 2), b.reshape(m, 2), NAMES[metric])
    cost[:n, m:] = (to_diagonal * (a[:, 1] - a[:, 0]))[:, None]
    cost[n:, :m] = to_diagonal * (b[:, 1] - b[:, 0])
    return cost[linear_sum_assignment(cost)].sum()


def some_diagrams(count, seed=0):
    """Most points are near the diagonal, and a few far from it."""
    rng = np.random.default_rng(seed)
    for size in rng.integers(0, 40, size=count):
        birth = rng.uniform(0, 1, size=size)
        far = rng.random(size) < 0.1
        yield np.stack([birth, birth + rng.exponential(np.where(far, 0.8, 0.05))], axis=1)


@pytest.mark.parametrize("metric", METRICS)
def test_tables_are_those_of_assignments(metric):
    shapes = [*some_diagrams(25), np.empty((0, 2)), np.array([[0.5, 0.5]]), np.array([[0.0, 3.0]])]
    table = tp.emd_pairwise(tp.diagrams(shapes, metric=metric), metric=metric)
    judge = [[by_assignment(a, b, metric) for b in shapes] for a in shapes]
    np.testing.assert_allclose(table, judge, rtol=1e-9, atol=1e-12)
    assert (np.diag(table) == 0).all() and (table == table.T).all()
    both = tp.emd_pairwise(
        *(tp.diagrams(part, metric=metric) for part in (shapes[:9], shapes[9:])), metric=metric
    )
    np.testing.assert_allclose(both, table[:9, 9:], rtol=1e-12, atol=1e-15)
    pairs = [(3, 4), (4, 3), (25, 27), (26, 25), (2, 2)]
    found = tp.emd_pairs(tp.diagrams(shapes, metric=metric), pairs, metric=metric)
    np.testing.assert_allclose(found, [table[pair] for pair in pairs], rtol=1e-12, atol=1e-12)


def test_threads_and_bounds_agree():
    shapes = tp.diagrams(list(some_diagrams(12, seed=3)))
    table = tp.emd_pairwise(shapes, n_jobs=1)
    assert (tp.emd_pairwise(shapes, n_jobs=2) == table).all()
    bounds = tp.emd_pairwise(shapes, accuracy=0.1)
    assert (bounds.lower <= table).all() and (table <= bounds.upper).all()


def test_diagrams_are_clouds_with_penalties():
    shapes = tp.diagrams({"circle": [[0.0, 2.0], [1.0, 1.5]], "nothing": []})
    assert shapes.ids == ["circle", "nothing"]
    assert (shapes.masses == 1).all() and shapes.sizes.tolist() == [2, 0]
    np.testing.assert_allclose(shapes.penalties, np.array([2.0, 0.5]) / 2**0.5)
    table = tp.emd_pairwise(shapes)
    assert table.loc["circle", "nothing"] == pytest.approx(2.5 / 2**0.5)
    assert pickle.loads(pickle.dumps(shapes)) == shapes
    assert tp.Clouds(shapes) == shapes
    again = tp.Clouds.concat([shapes[[1]], shapes[[0]]])
    assert (tp.emd_pairwise(again).to_numpy() == table.to_numpy()).all()


@pytest.mark.parametrize("nothing", [[], np.empty(0), np.empty((0, 2))])
def test_empty_diagrams_are_at_distance_0(nothing):
    assert (tp.emd_pairwise(tp.diagrams([nothing, nothing])) == np.zeros((2, 2))).all()
    assert tp.emd_pairs(tp.diagrams([nothing, [[0.0, 1.0]]]), [(0, 1)])[0] == pytest.approx(
        0.5**0.5
    )


def test_bad_diagrams_are_named():
    good = [[0.0, 1.0]]
    for bad, text in [
        ([[0.0, np.inf], [0.0, np.nan]], "cloud 1: coordinate 1 of point 1 is NaN"),
        ([[0.0, np.inf], [1.0, 0.5]], "cloud 1: point 1 dies at 0.5, before it is born at 1"),
        ([[np.inf, np.inf]], "cloud 1: coordinate 0 of point 0 is inf"),
        ([[0.0, np.nan]], "cloud 1: coordinate 1 of point 0 is NaN"),
        ([[-np.inf, 0.0]], "cloud 1: coordinate 0 of point 0 is -inf"),
        ([[1.0, 0.5]], "cloud 1: point 0 dies at 0.5, before it is born at 1"),
        ([[1.0, 0.5, 2.0]], "diagram 1 has shape"),
        ([(1, (0.0, 0.5))], "diagram 1"),
    ]:
        with pytest.raises(ValueError, match=text):
            tp.diagrams([good, bad])
    with pytest.raises(ValueError, match="cloud torus: coordinate 0 of point 0 is -inf"):
        tp.diagrams([good, [[-np.inf, np.inf]]], ids=["circle", "torus"])
    with pytest.raises(ValueError, match="no diagrams"):
        tp.diagrams([])
    with pytest.raises(ValueError, match="the metric of diagrams is `cosine`"):
        tp.diagrams([good], metric="cosine")


def test_a_diagram_is_made_for_one_metric():
    shapes = tp.diagrams([[[0.0, 1.0]], []], metric="manhattan")
    with pytest.raises(
        ValueError, match="distances by the metric manhattan, and this call uses euclidean"
    ):
        tp.emd_pairwise(shapes)
    with pytest.raises(ValueError, match="this call uses manhattan with a period"):
        tp.emd_pairwise(shapes, metric="manhattan", period=9.0)
    with pytest.raises(ValueError, match="some of the clouds have penalties"):
        tp.emd_pairwise(shapes, tp.diagrams([[[0.0, 1.0]]]), metric="manhattan")


def by_order(a, b, metric, order):
    """The distance of this order, by an assignment of powers, or by thresholds of assignments."""
    n, m = len(a), len(b)
    to_diagonal = METRICS[metric]
    cost = np.zeros((n + m, n + m))
    cost[:n, :m] = cdist(a.reshape(n, 2), b.reshape(m, 2), NAMES[metric])
    cost[:n, m:] = (to_diagonal * (a[:, 1] - a[:, 0]))[:, None]
    cost[n:, :m] = to_diagonal * (b[:, 1] - b[:, 0])
    if np.isfinite(order):
        return (cost[linear_sum_assignment(cost**order)] ** order).sum() ** (1 / order)
    for limit in np.unique(cost):
        longer = (cost > limit).astype(float)
        if longer[linear_sum_assignment(longer)].sum() == 0:
            return limit
    return 0.0


@pytest.mark.parametrize("order", [1.0, 2.0, 2.5, np.inf])
@pytest.mark.parametrize("metric", METRICS)
def test_every_order_is_that_of_assignments(metric, order):
    shapes = [*some_diagrams(7, seed=2), np.empty((0, 2)), np.array([[0.0, 3.0]])]
    found = tp.emd_pairwise(tp.diagrams(shapes, metric=metric), metric=metric, order=order)
    judge = [[by_order(a, b, metric, order) for b in shapes] for a in shapes]
    np.testing.assert_allclose(found, judge, rtol=1e-9, atol=1e-12)
    bounds = tp.emd_pairwise(
        tp.diagrams(shapes, metric=metric), metric=metric, order=order, accuracy=0.1
    )
    assert (bounds.lower <= found * (1 + 1e-9)).all() and (found <= bounds.upper * (1 + 1e-9)).all()


def with_essential(count, seed):
    rng = np.random.default_rng(seed)
    for shape in some_diagrams(count, seed):
        never = np.stack([rng.random(2), np.full(2, np.inf)], axis=1)
        yield rng.permutation(np.concatenate([shape, never]))


def test_essential_classes_are_matched_by_their_births():
    one = [[0.0, 1.0], [0.5, np.inf], [0.1, np.inf]]
    other = [[0.2, np.inf], [0.0, 1.5], [0.9, np.inf]]
    shapes = tp.diagrams([one, other, [[0.0, np.inf]], [[2.0, np.inf]]], metric="chebyshev")
    table = tp.emd_pairwise(shapes, metric="chebyshev")
    assert table[0, 1] == pytest.approx(0.5 + 0.1 + 0.4)
    assert table[0, 2] == np.inf and table[2, 3] == 2.0 and (np.diag(table) == 0).all()
    of_order = tp.emd_pairs(shapes, [(0, 1)], metric="chebyshev", order=2)
    assert of_order[0] == pytest.approx((0.25 + 0.01 + 0.16) ** 0.5)
    assert tp.emd_pairs(shapes, [(0, 1)], metric="chebyshev", order=np.inf)[0] == 0.5
    for same in (pickle.loads(pickle.dumps(shapes)), tp.Clouds(shapes), shapes[[0, 1, 2, 3]]):
        np.testing.assert_array_equal(tp.emd_pairwise(same, metric="chebyshev"), table)
    both = tp.emd_pairwise(shapes[:2], shapes[2:], metric="chebyshev")
    np.testing.assert_array_equal(both, table[:2, 2:])
    bounds = tp.emd_pairwise(shapes, metric="chebyshev", accuracy=0.1)
    assert bounds.lower[0, 2] == np.inf and bounds.upper[0, 2] == np.inf
    # Only points that never die: there are no finite points at all.
    alone = tp.diagrams([[[0.0, np.inf]], [[2.0, np.inf]]])
    np.testing.assert_array_equal(tp.emd_pairwise(alone), [[0.0, 2.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="cloud 0 has a point that never dies"):
        tp.WassersteinNeighbors().fit(shapes)
    with pytest.raises(ValueError, match="points that never die"):
        tp.TreeWasserstein().fit(shapes)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(("metric", "internal"), [("chebyshev", np.inf), ("euclidean", 2.0)])
def test_values_are_those_of_gudhi(metric, internal, order):
    gudhi = pytest.importorskip("gudhi.wasserstein", reason="GUDHI is not installed")
    pytest.importorskip("ot", reason="GUDHI's Wasserstein distances need POT")
    for make in (some_diagrams, with_essential):
        shapes = list(make(6, seed=4))
        found = tp.emd_pairwise(tp.diagrams(shapes, metric=metric), metric=metric, order=order)
        judge = [
            [
                gudhi.wasserstein_distance(
                    a, b, order=order, internal_p=internal, keep_essential_parts=True
                )
                for b in shapes
            ]
            for a in shapes
        ]
        np.testing.assert_allclose(found, judge, rtol=1e-6, atol=1e-6)


def test_bottlenecks_are_those_of_gudhi():
    gudhi = pytest.importorskip("gudhi", reason="GUDHI is not installed")
    for make in (some_diagrams, with_essential):
        shapes = list(make(8, seed=6))
        found = tp.emd_pairwise(
            tp.diagrams(shapes, metric="chebyshev"), metric="chebyshev", order=np.inf
        )
        judge = [[gudhi.bottleneck_distance(a, b) for b in shapes] for a in shapes]
        np.testing.assert_allclose(found, judge, rtol=1e-12, atol=1e-12)
