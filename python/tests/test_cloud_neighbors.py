"""Nearest neighbors among clouds: measures that bring their own points."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import treeport as tp


def some_clouds(count: int, dim: int, seed: int, **options: Any) -> tp.Clouds:
    """Clouds of one to seven points, some of which coincide."""
    rng = np.random.default_rng(seed)
    clouds = []
    for _ in range(count):
        size = int(rng.integers(1, 8))
        clouds.append((rng.integers(1, 4, size) / 1.0, rng.integers(0, 6, (size, dim)) / 3.0))
    return tp.Clouds(clouds, normalize=True, **options)


def brute(queries: tp.Clouds, clouds: tp.Clouds, k: int, metric: str) -> tuple[Any, Any]:
    """By solving every pair."""
    table = np.asarray(tp.emd_pairwise(queries, clouds, metric=metric))
    order = np.lexsort((np.broadcast_to(np.arange(table.shape[1]), table.shape), table), axis=1)[
        :, :k
    ]
    return np.take_along_axis(table, order, axis=1), order


@pytest.mark.parametrize("dim", [1, 2, 3, 20])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
@pytest.mark.parametrize("memory", [None, 0])
def test_neighbors_are_those_of_solving_every_pair(dim: int, metric: str, memory: Any) -> None:
    clouds, queries = some_clouds(60, dim, 1), some_clouds(9, dim, 2)
    found = tp.WassersteinNeighbors(metric=metric, memory=memory).fit(clouds)
    expected, _ = brute(queries, clouds, 10, metric)
    distances, numbers, bounds, solved = found.kneighbors(queries, return_bounds=True)
    np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-12)
    table = np.asarray(tp.emd_pairwise(queries, clouds, metric=metric))
    np.testing.assert_allclose(
        np.take_along_axis(table, numbers, axis=1), distances, rtol=1e-9, atol=1e-12
    )
    left = table.copy()
    np.put_along_axis(left, numbers, np.inf, axis=1)
    assert (bounds <= left.min(axis=1) * (1 + 1e-9) + 1e-12).all()
    assert (solved >= 10).all() or (table < 1e-12).any()
    radius = float(np.median(expected))
    near, _ = found.radius_neighbors(queries, radius * (1 + 1e-9))
    assert [len(of) for of in near] == (table <= radius * (1 + 1e-9)).sum(axis=1).tolist()


def test_one_thread_and_many_agree() -> None:
    clouds = some_clouds(80, 2, 3)
    one, many = (tp.WassersteinNeighbors(n_jobs=n).fit(clouds) for n in (1, 3))
    for a, b in zip(one.kneighbors(return_bounds=True), many.kneighbors(return_bounds=True)):
        np.testing.assert_array_equal(a, b)


def test_lists_stand_for_clouds() -> None:
    arrays = [np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[5.0, 5.0]]), np.array([[4.0, 4.0]])]
    found = tp.WassersteinNeighbors(n_neighbors=1).fit(arrays)
    assert found.kneighbors([np.array([[3.9, 4.0]])], return_distance=False).tolist() == [[2]]
    pairs = [(None, points) for points in arrays]
    assert tp.WassersteinNeighbors(n_neighbors=1).fit(pairs).kneighbors(pairs)[1].tolist() == [
        [0],
        [1],
        [2],
    ]
    assert found.n_features_in_ == 2 and found.n_samples_fit_ == 3


def test_names_are_kept(tmp_path: Any) -> None:
    clouds = tp.Clouds({"a": [[0.0, 0.0]], "b": [[1.0, 0.0]], "c": [[5.0, 0.0]]})
    found = tp.WassersteinNeighbors(n_neighbors=2).fit(clouds)
    query = tp.Clouds([[[0.9, 0.0]]])
    assert found.kneighbors(query, return_names=True)[1].tolist() == [["b", "a"]]
    assert found.add(tp.Clouds({"d": [[0.9, 0.1]]})).tolist() == [3]
    with pytest.raises(ValueError, match="two measures would be called `d`"):
        found.add(tp.Clouds({"d": [[2.0, 0.1]]}))
    with pytest.raises(ValueError, match="name those that are added"):
        found.add(tp.Clouds([[[2.0, 0.1]]]))
    found.remove("b")
    assert found.kneighbors(query, return_names=True)[1].tolist() == [["d", "a"]]
    found.save(tmp_path / "clouds.index")
    again = tp.WassersteinNeighbors.load(tmp_path / "clouds.index").set_params(n_neighbors=2)
    for other in (again, pickle.loads(pickle.dumps(found))):
        assert other.kneighbors(query, return_names=True)[1].tolist() == [["d", "a"]]
        assert other.measure_names_ == {0: "a", 2: "c", 3: "d"} and other.n_features_in_ == 2
    with pytest.raises(ValueError, match="two of the clouds have the same ID"):
        tp.WassersteinNeighbors().fit(tp.Clouds([[[0.0]], [[1.0]]], ids=["x", "x"]))


def test_graphs_and_transform() -> None:
    clouds = some_clouds(30, 2, 4)
    found = tp.WassersteinNeighbors(n_neighbors=3)
    graph = found.fit_transform(clouds)
    assert graph.shape == (30, 30) and (np.diff(graph.indptr) == 4).all()
    other = found.transform(some_clouds(5, 2, 5))
    assert other.shape == (5, 30) and (np.diff(other.indptr) == 4).all()
    near = found.radius_neighbors_graph(radius=0.7, mode="distance")
    assert abs(near - near.T).max() == 0
    assert 0.0 <= found.expected_recall(3) <= 1.0


def test_what_cannot_be_says_why() -> None:
    clouds = tp.Clouds([[[0.0, 0.0]], [[1.0, 0.0]]])
    with pytest.raises(ValueError, match="Clouds bring their own points; leave out `points`"):
        tp.WassersteinNeighbors([[0.0], [1.0]]).fit(clouds)
    found = tp.WassersteinNeighbors(n_neighbors=1).fit(clouds)
    with pytest.raises(ValueError, match="give Clouds, too"):
        found.kneighbors([[0.5, 0.5]])
    with pytest.raises(ValueError, match="rows of 2, as the clouds of the index have"):
        found.kneighbors(tp.Clouds([[[0.0, 0.0, 0.0]]]))
    heavy = tp.Clouds([([2.0], [[0.0, 0.0]])])
    assert found.kneighbors(heavy)[0].tolist() == [[0.0]]
    with pytest.raises(ValueError, match="total mass"):
        tp.WassersteinNeighbors(n_neighbors=1, normalize=False).fit(clouds).kneighbors(heavy)
    rows = tp.WassersteinNeighbors([[0.0], [1.0]], n_neighbors=1).fit([[1.0, 0.0]])
    with pytest.raises((ValueError, TypeError), match="Clouds"):
        rows.kneighbors(clouds)
    with pytest.raises(ValueError, match="cosine distance is undefined"):
        tp.WassersteinNeighbors(metric="cosine").fit(clouds)


@pytest.mark.parametrize("penalty", [0.0, 0.2, 1.0, 50.0])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_mass_may_be_left_behind(penalty: float, metric: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(8)

    def unequal(count: int) -> tp.Clouds:
        sizes = rng.integers(0, 7, count)
        return tp.Clouds(
            [(rng.random(n) * 3, rng.integers(0, 9, (n, 2)) / 3.0) for n in sizes], empty=True
        )

    clouds, queries = unequal(40), unequal(6)
    found = tp.WassersteinNeighbors(metric=metric, penalty=penalty, n_neighbors=7).fit(clouds)
    table = np.asarray(tp.emd_pairwise(queries, clouds, metric=metric, penalty=penalty))
    expected = np.sort(table, axis=1)[:, :7]
    distances, numbers, bounds, _ = found.kneighbors(queries, return_bounds=True)
    np.testing.assert_allclose(distances, expected, rtol=1e-8, atol=1e-10)
    left = table.copy()
    np.put_along_axis(left, numbers, np.inf, axis=1)
    assert (bounds <= left.min(axis=1) * (1 + 1e-8) + 1e-10).all()
    found.save(tmp_path / "relaxed.index")
    again = tp.WassersteinNeighbors.load(tmp_path / "relaxed.index").set_params(n_neighbors=7)
    assert again.penalty == penalty
    np.testing.assert_array_equal(again.kneighbors(queries)[0], distances)
    near = found.radius_neighbors_graph(radius=1.0, mode="distance")
    assert abs(near - near.T).max() == 0


def test_penalties_are_for_clouds() -> None:
    with pytest.raises(ValueError, match="a search with a penalty is for Clouds"):
        tp.WassersteinNeighbors([[0.0], [1.0]], penalty=1.0).fit([[1.0, 0.0]])
    with pytest.raises(ValueError, match="penalty is -1"):
        tp.WassersteinNeighbors(penalty=-1.0).fit([np.zeros((1, 2))])


def test_dask_asks_in_blocks_and_parts(tmp_path: Any) -> None:
    pytest.importorskip("distributed")
    from treeport import dask

    clouds, queries = some_clouds(50, 2, 11), some_clouds(9, 2, 12)
    whole = tp.WassersteinNeighbors(n_neighbors=4).fit(clouds)
    expected = whole.kneighbors(queries)
    found = dask.kneighbors(None, whole, queries, n_neighbors=4, chunks=4, return_bounds=True)
    for a, b in zip(expected, found):
        np.testing.assert_array_equal(a, b.compute(scheduler="threads"))
    parts = [tp.WassersteinNeighbors().fit(clouds[:20]), tp.WassersteinNeighbors().fit(clouds[20:])]
    parts[1].save(tmp_path / "second.index")
    distances, _ = dask.kneighbors(
        None, [parts[0], tmp_path / "second.index"], queries, n_neighbors=4
    )
    np.testing.assert_allclose(
        distances.compute(scheduler="threads"), expected[0], rtol=1e-9, atol=1e-12
    )
    other = tp.WassersteinNeighbors(metric="manhattan").fit(clouds)
    with pytest.raises(ValueError, match="part 1"):
        dask.kneighbors(None, [parts[0], other], queries)


def test_angles_go_round() -> None:
    rng = np.random.default_rng(5)
    arrays = [rng.random((int(rng.integers(2, 6)), 2)) * 2 * np.pi for _ in range(40)]
    found = tp.WassersteinNeighbors(period=[None, 2 * np.pi], n_neighbors=5).fit(arrays)
    query = [rng.random((4, 2)) * 2 * np.pi]
    turned = [query[0] + [0.0, 4 * np.pi]]
    table = np.asarray(tp.emd_pairwise(query, arrays, period=[None, 2 * np.pi]))
    np.testing.assert_allclose(found.kneighbors(query)[0][0], np.sort(table[0])[:5], rtol=1e-9)
    np.testing.assert_allclose(found.kneighbors(turned)[0], found.kneighbors(query)[0], rtol=1e-9)
    plain = np.asarray(tp.emd_pairwise(query, arrays))
    assert (table <= plain + 1e-12).all() and (table < plain - 1e-3).any()


def test_the_largest_difference_counts() -> None:
    clouds = some_clouds(40, 3, 6)
    found = tp.WassersteinNeighbors(metric="chebyshev", n_neighbors=5).fit(clouds)
    expected, _ = brute(some_clouds(4, 3, 7), clouds, 5, "chebyshev")
    np.testing.assert_allclose(
        found.kneighbors(some_clouds(4, 3, 7))[0], expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev", "manhattan"])
def test_nearest_diagrams(metric: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(13)

    def diagram() -> Any:
        births = rng.integers(0, 8, int(rng.integers(0, 7))) / 2.0
        return np.column_stack([births, births + rng.integers(0, 9, len(births)) / 4.0])

    known = tp.diagrams([diagram() for _ in range(60)], metric=metric)
    new = tp.diagrams([diagram() for _ in range(8)] + [np.empty((0, 2))], metric=metric)
    found = tp.WassersteinNeighbors(metric=metric, n_neighbors=6).fit(known)
    table = np.asarray(tp.emd_pairwise(new, known, metric=metric))
    expected = np.sort(table, axis=1)[:, :6]
    np.testing.assert_allclose(found.kneighbors(new)[0], expected, rtol=1e-9, atol=1e-10)
    found.save(tmp_path / "diagrams.index")
    again = tp.WassersteinNeighbors.load(tmp_path / "diagrams.index").set_params(n_neighbors=6)
    np.testing.assert_array_equal(again.kneighbors(new)[0], found.kneighbors(new)[0])
    assert again.penalty is None
    plain = tp.Clouds([np.zeros((1, 2))])
    with pytest.raises(ValueError, match="some of the clouds have penalties of their own"):
        found.kneighbors(plain)
    with pytest.raises(ValueError, match="some of the clouds have penalties of their own"):
        tp.WassersteinNeighbors(metric=metric, penalty=1.0).fit(known)
    other = "manhattan" if metric == "euclidean" else "euclidean"
    with pytest.raises(ValueError, match=metric):
        tp.WassersteinNeighbors(metric=other).fit(known)
    found.remove(list(range(30)))
    found.add(new)
    near = found.kneighbors(new)[0]
    np.testing.assert_allclose(near[:, 0], 0.0, atol=1e-12)


def test_no_queries_have_as_many_neighbors_as_others() -> None:
    index = tp.WassersteinNeighbors(n_neighbors=2).fit(some_clouds(5, 2, 0))
    index.remove([3])
    none = some_clouds(4, 2, 1)[:0]
    for k, columns in [(None, 2), (1, 1), (9, 4)]:
        distances, numbers = index.kneighbors(none, k)
        assert distances.shape == numbers.shape == (0, columns)
        assert index.kneighbors(some_clouds(4, 2, 1), k)[0].shape == (4, columns)
        assert numbers.dtype == np.int64
