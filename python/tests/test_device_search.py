"""Searches with a device that bounds likely neighbors, by its twin in NumPy."""

import pickle
import threading

import numpy as np
import pytest
import treeport as tp
from treeport import _core
from treeport._devices import pair_bounds

METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev"]
KINDS = ["any", "grid", "far", "orders"]


def collection(rng, kind, rows=60, size=40):
    """Points, and rows of masses on few of them: any, many at one place, far from the origin, masses over many orders."""
    points = rng.normal(size=(size, 3))
    if kind == "grid":
        points = np.round(points)
    if kind == "far":
        points = 1e-3 * points + 1e4
    masses = rng.random((rows, size)) * (rng.random((rows, size)) < 0.2)
    if kind == "orders":
        masses *= 10.0 ** rng.uniform(-12, 0, masses.shape)
    masses[np.arange(rows), rng.integers(size, size=rows)] += 0.1
    masses[1] = masses[0]
    return points, masses / masses.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_neighbors_are_those_without_a_device(metric, kind, monkeypatch):
    # Some queries at a time, and few likely neighbors, so that all ways are taken.
    monkeypatch.setattr(pair_bounds, "_AT_FIRST", 2)
    monkeypatch.setattr(pair_bounds, "_AT_ONCE", 7)
    monkeypatch.setattr(pair_bounds, "_MOST_LIKELY", 320)
    monkeypatch.setattr(pair_bounds, "_FIRST", 3)
    monkeypatch.setattr(pair_bounds, "_LIKELY", 20)
    rng = np.random.default_rng(3)
    points, rows = collection(rng, kind)
    plain = tp.WassersteinNeighbors(points, metric=metric, n_neighbors=4).fit(rows[:40])
    ours = tp.WassersteinNeighbors(points, metric=metric, n_neighbors=4, device="tiles").fit(
        rows[:40]
    )
    for queries in (rows[40:], None):
        for left, right in zip(plain.kneighbors(queries), ours.kneighbors(queries)):
            np.testing.assert_array_equal(left, right)
        radius = float(np.median(plain.kneighbors(queries)[0]))
        for left, right in zip(
            plain.radius_neighbors(queries, radius), ours.radius_neighbors(queries, radius)
        ):
            assert [part.tolist() for part in left] == [part.tolist() for part in right]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("metric", METRICS)
def test_no_bound_is_above_the_distance(metric, kind):
    rng = np.random.default_rng(4)
    points, rows = collection(rng, kind)
    index = tp.WassersteinNeighbors(points, metric=metric).fit(rows[:40])._index
    search = pair_bounds.DeviceSearch(index, "tiles")
    search.engine.begin(
        pair_bounds.MeasureRows.of(_core.Measures.dense(rows[40:], normalize=True)), search.kept
    )
    pairs = np.indices((20, 40)).reshape(2, -1)
    bounds = search._bounds(*pairs)
    exact = tp.emd_pairs(
        rows, np.stack([40 + pairs[0], pairs[1]], axis=1), points=points, metric=metric
    )
    assert np.all(bounds <= exact)
    if kind in ("any", "grid"):
        assert np.mean(bounds[exact > 0] / exact[exact > 0]) > 0.9  # and they are worth something


def test_a_collection_that_changes_is_searched_as_it_is():
    rng = np.random.default_rng(5)
    points, rows = collection(rng, "any")
    both = [
        tp.WassersteinNeighbors(points, n_neighbors=3, device=device).fit(rows[:30])
        for device in (None, "tiles")
    ]
    for nn in both:
        nn.kneighbors(rows[50:])
        nn.add(rows[30:50])
        nn.remove([2, 31])
    for queries in (rows[50:], None):
        for left, right in zip(both[0].kneighbors(queries), both[1].kneighbors(queries)):
            np.testing.assert_array_equal(left, right)
    again = pickle.loads(pickle.dumps(both[1]))
    np.testing.assert_array_equal(again.kneighbors(rows[50:])[0], both[0].kneighbors(rows[50:])[0])
    both[1].remove(np.setdiff1d(np.arange(50), [2, 31]))
    assert both[1].kneighbors(rows[50:])[1].shape == (10, 0)


def test_threads_share_a_search_with_a_device():
    rng = np.random.default_rng(6)
    points, rows = collection(rng, "any")
    nn = tp.WassersteinNeighbors(points, n_neighbors=3, device="tiles").fit(rows[:40])
    expected, found = nn.kneighbors(rows[40:])[0], []
    threads = [
        threading.Thread(target=lambda: found.append(nn.kneighbors(rows[40:])[0])) for _ in range(4)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 4
    for distances in found:
        np.testing.assert_array_equal(distances, expected)


def test_points_that_no_measure_of_the_collection_has_and_large_measures():
    rng = np.random.default_rng(7)
    points = rng.normal(size=(700, 2))
    rows = np.zeros((12, 700))
    rows[:10, :300] = rng.random((10, 300)) * (
        rng.random((10, 300)) < np.linspace(0.01, 1, 10)[:, None]
    )
    rows[10, 300:310] = rows[11, :] = (
        1.0  # beyond all that the collection has, and more than a device takes
    )
    rows[:, 0] += 0.01
    plain, ours = (
        tp.WassersteinNeighbors(points, n_neighbors=3, device=device).fit(rows[:10])
        for device in (None, "tiles")
    )
    for left, right in zip(plain.kneighbors(rows), ours.kneighbors(rows)):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(
    "given",
    [
        {"cost": np.ones((40, 40)) - np.eye(40)},
        {"metric": "cosine"},
        {"period": 7.0},
        {"metric": "haversine"},
    ],
)
def test_what_no_device_takes_is_refused(given):
    rng = np.random.default_rng(8)
    points, rows = collection(rng, "any")
    points = points[:, :2] if given.get("metric") == "haversine" else points
    nn = tp.WassersteinNeighbors(
        **({} if "cost" in given else {"points": points}), **given, device="tiles"
    ).fit(rows)
    with pytest.raises(ValueError, match="measures on shared points with the metrics euclidean"):
        nn.kneighbors(rows[:1])


def test_clouds_are_refused():
    nn = tp.WassersteinNeighbors(device="tiles").fit(tp.Clouds([[[0.0, 1.0]], [[1.0, 1.0]]]))
    with pytest.raises(ValueError, match="leave out `device`"):
        nn.kneighbors(tp.Clouds([[[0.0, 1.0]]]))


def test_progress_goes_on_from_part_to_part(monkeypatch, capfd):
    monkeypatch.setattr(pair_bounds, "_AT_FIRST", 3)
    monkeypatch.setattr(pair_bounds, "_AT_ONCE", 5)
    points, rows = collection(np.random.default_rng(9), "any")
    told = []
    search = pair_bounds.DeviceSearch(tp.WassersteinNeighbors(points).fit(rows)._index, "tiles")
    search.search(
        _core.Measures.dense(rows, normalize=True),
        3,
        None,
        "exact",
        1,
        lambda *state: told.append(state[1:]),
    )
    assert all(done <= total == 60 for done, total in told)


def test_distances_next_to_nothing_lose_no_neighbor():
    rng = np.random.default_rng(10)
    points, rows = collection(rng, "any")
    for scale in 2.0 ** np.arange(-539, -532):
        plain, ours = (
            tp.WassersteinNeighbors(
                scale * points, metric="sqeuclidean", n_neighbors=3, device=device
            ).fit(rows[:40])
            for device in (None, "tiles")
        )
        np.testing.assert_array_equal(plain.kneighbors(rows[40:])[1], ours.kneighbors(rows[40:])[1])


def test_only_removed_measures_and_a_copy_that_leaves_the_original_alone():
    points, rows = collection(np.random.default_rng(11), "any")
    nn = tp.WassersteinNeighbors(points, n_neighbors=2, device="tiles").fit(rows)
    nn.remove(np.arange(1, 60))
    assert np.all(nn.kneighbors()[1][1:] == -1)
    kept = nn._device_search()
    pickle.dumps(nn)
    assert nn._device_search() is kept
