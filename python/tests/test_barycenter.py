"""Barycenters with free support, judged by POT, by closed forms and by small changes."""

import numpy as np
import pytest
import treeport as tp


def value_at(points, clouds, weights, order):
    metric = "euclidean" if order == 1 else "sqeuclidean"
    masses = np.full(len(points), 1 / len(points))
    costs = [tp.emd(masses, mass, points, at, metric=metric) for mass, at in tp.Clouds(clouds)]
    return float(np.dot(weights, costs) / np.sum(weights))


def test_values_are_those_of_pot(rng):
    ot = pytest.importorskip("ot")
    clouds = [rng.normal(at, 1.0, size=(20 + 5 * at, 3)) for at in range(4)]
    weights = np.array([1.0, 2.0, 0.5, 1.5])
    init = rng.normal(size=(15, 3))
    for rounds in (1, 3):
        judge = ot.lp.free_support_barycenter(
            clouds,
            [np.full(len(one), 1 / len(one)) for one in clouds],
            init.copy(),
            weights=weights / weights.sum(),
            numItermax=rounds,
            stopThr=0.0,
        )
        found = tp.barycenter(
            clouds, weights=weights, init=init, max_iterations=rounds, tolerance=0.0
        )
        np.testing.assert_allclose(found.points, judge, atol=1e-9)
    whole = tp.barycenter(clouds, 15, weights=weights)
    judge = ot.lp.free_support_barycenter(
        clouds, [np.full(len(one), 1 / len(one)) for one in clouds], init, weights=weights / 5.0
    )
    assert whole.value < 1.05 * value_at(judge, clouds, weights, 2)


@pytest.mark.parametrize("order", [1, 2])
def test_the_value_is_true_falls_and_is_a_local_minimum(rng, order):
    clouds = [(rng.uniform(0.5, 1.5, size=12), rng.normal(size=(12, 2)) + at) for at in range(3)]
    clouds = tp.Clouds(clouds, normalize=True)
    weights = [1.0, 3.0, 1.0]
    found = tp.barycenter(clouds, 8, weights=weights, order=order, tolerance=1e-12)
    assert found.value == pytest.approx(value_at(found.points, clouds, weights, order), rel=1e-9)
    assert found.converged and found.values[-1] == found.value
    assert (np.diff(found.values) <= 1e-9 * found.values[0]).all()
    assert found.masses.sum() == pytest.approx(1.0)
    for _ in range(20):
        near = found.points + 0.02 * rng.normal(size=found.points.shape)
        assert value_at(near, clouds, weights, order) > found.value * (1 - 1e-4)


def test_closed_forms():
    line = [np.array([[0.0], [1.0], [2.0]]), np.array([[10.0], [12.0], [20.0]])]
    mean = tp.barycenter(line, 3)  # on a line quantiles are averaged
    np.testing.assert_allclose(np.sort(mean.points[:, 0]), [5.0, 6.5, 11.0])
    one = tp.barycenter([[[0.0, 0.0]], [[2.0, 0.0]], [[1.0, 9.0]]], 1, weights=[1, 1, 2])
    np.testing.assert_allclose(one.points, [[1.0, 4.5]])
    # Fermat's point of an equilateral triangle is its center.
    corners = [[[np.cos(at), np.sin(at)]] for at in 2 * np.pi * np.arange(3) / 3]
    median = tp.barycenter(corners, 1, order=1, init=[[0.4, 0.3]], tolerance=1e-12)
    np.testing.assert_allclose(median.points, [[0.0, 0.0]], atol=1e-3)
    assert median.value == pytest.approx(1.0, rel=1e-6)
    # Medians ignore an outlier, means follow it.
    far = [*([[[0.0, 0.0]]] * 4), [[100.0, 0.0]]]
    assert abs(tp.barycenter(far, 1, order=1).points).max() < 1e-6
    assert tp.barycenter(far, 1).points[0, 0] == pytest.approx(20.0)


def test_the_same_seed_and_any_threads_give_the_same_bits(rng):
    clouds = tp.Clouds([rng.normal(size=(30, 2)) for _ in range(5)])
    one, two = (tp.barycenter(clouds, 10, n_jobs=jobs) for jobs in (1, 2))
    assert one.points.tobytes() == two.points.tobytes()
    other = tp.barycenter(clouds, 10, random_state=1)
    assert other.points.tobytes() != one.points.tobytes()
    assert tp.barycenter(clouds).points.shape == (30, 2)
    many = tp.barycenter(clouds, 200, weights=[1, 0, 0, 0, 0], max_iterations=3)
    assert many.points.shape == (200, 2) and len(many.values) <= 4
    alone = tp.barycenter(clouds[:1], init=clouds[0][1])
    assert alone.value == 0 and alone.converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 3}, "order is 3"),
        ({"n_points": 0}, "n_points is 0"),
        ({"weights": [1.0]}, r"shape \(1,\), and there are 2 clouds"),
        ({"weights": [1.0, -1.0]}, "weight 1 is -1.0"),
        ({"weights": [0.0, 0.0]}, "all weights are 0"),
        ({"init": [[0.0]]}, r"init has shape \(1, 1\), and clouds have 2"),
        ({"init": [[0.0, np.nan]]}, "not finite"),
        ({"init": [[0.0, 1.0]], "n_points": 2}, "init has 1 points, and n_points is 2"),
        ({"max_iterations": 0}, "max_iterations is 0"),
    ],
)
def test_errors_name_the_option(options, message):
    with pytest.raises(ValueError, match=message):
        tp.barycenter([[[0.0, 0.0]], [[1.0, 1.0]]], **options)


def test_unequal_totals_are_refused():
    with pytest.raises(ValueError, match="total"):
        tp.barycenter([([1.0], [[0.0]]), ([2.0], [[1.0]])])
