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
    both = tp.emd_pairwise(*(tp.diagrams(part, metric=metric) for part in (shapes[:9], shapes[9:])), metric=metric)
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
    assert tp.emd_pairs(tp.diagrams([nothing, [[0.0, 1.0]]]), [(0, 1)])[0] == pytest.approx(0.5**0.5)


def test_bad_diagrams_are_named():
    good = [[0.0, 1.0]]
    for bad, text in [
        ([[0.0, 1.0], [0.5, np.inf]], r"cloud 1: point 1 is born at 0.5 and never dies \(an essential class\)"),
        ([[0.0, np.nan]], "cloud 1: coordinate 1 of point 0 is NaN"),
        ([[-np.inf, 0.0]], "cloud 1: coordinate 0 of point 0 is -inf"),
        ([[1.0, 0.5]], "cloud 1: point 0 dies at 0.5, before it is born at 1"),
        ([[1.0, 0.5, 2.0]], "diagram 1 has shape"),
        ([(1, (0.0, 0.5))], "diagram 1"),
    ]:
        with pytest.raises(ValueError, match=text):
            tp.diagrams([good, bad])
    with pytest.raises(ValueError, match="cloud torus: point 0 is born"):
        tp.diagrams([good, [[0.0, np.inf]]], ids=["circle", "torus"])
    with pytest.raises(ValueError, match="no diagrams"):
        tp.diagrams([])
    with pytest.raises(ValueError, match="the metric of diagrams is `cosine`"):
        tp.diagrams([good], metric="cosine")


def test_a_diagram_is_made_for_one_metric():
    shapes = tp.diagrams([[[0.0, 1.0]], []], metric="manhattan")
    with pytest.raises(ValueError, match="distances by the metric manhattan, and this call uses euclidean"):
        tp.emd_pairwise(shapes)
    with pytest.raises(ValueError, match="this call uses manhattan with a period"):
        tp.emd_pairwise(shapes, metric="manhattan", period=9.0)
    with pytest.raises(ValueError, match="some of the clouds have penalties"):
        tp.emd_pairwise(shapes, tp.diagrams([[[0.0, 1.0]]]), metric="manhattan")
