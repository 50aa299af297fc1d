"""Nearest neighbors beside solving every pair, and among scikit-learn's own."""

import pickle
import threading
import warnings

import joblib
import networkx as nx
import numpy as np
import ot
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks


# Their data have rows without mass, which are left out with a warning.
@pytest.mark.filterwarnings("ignore:.*rows have no mass:UserWarning")
@parametrize_with_checks([tp.WassersteinNeighbors(n_neighbors=2), tp.WassersteinNeighbors()])
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


def test_rows_without_mass_are_left_out(words, halves):
    measures, queries = halves
    whole = tp.WassersteinNeighbors(words, n_neighbors=4).fit(measures).remove([2, 9])
    measures, queries = measures.copy(), queries.copy()
    measures[[2, 9]] = 0
    nn = tp.WassersteinNeighbors(words, n_neighbors=4)
    with pytest.warns(UserWarning, match="2 of 45 rows have no mass, such as 2; they are left out"):
        nn.fit(measures)
    assert nn.n_samples_fit_ == 45
    for ours, theirs in zip(nn.kneighbors(queries), whole.kneighbors(queries)):
        np.testing.assert_array_equal(ours, theirs)
    queries[3] = 0
    rows = nn.transform(queries)
    assert (
        rows.shape == (15, 45)
        and (np.diff(rows.indptr) == np.where(np.arange(15) == 3, 0, 5)).all()
    )
    assert nn.transform(queries[3:4]).nnz == 0
    with pytest.warns(UserWarning):
        graph = nn.fit_transform(measures)
    assert (np.diff(graph.indptr) == np.where(np.isin(np.arange(45), [2, 9]), 0, 5)).all()
    np.testing.assert_array_equal(graph.toarray(), nn.transform(measures).toarray())
    with pytest.raises(ValueError, match="measure 3 has no mass"):
        nn.kneighbors(queries)
    with pytest.raises(ValueError, match="none of 3 rows has mass"):
        nn.fit(np.zeros((3, 25)))


def test_rows_may_be_wanted_of_equal_totals(words, halves):
    measures, queries = ((rows / rows.sum(axis=1, keepdims=True)) for rows in halves)
    ones = tp.WassersteinNeighbors(words, n_neighbors=3).fit(measures)
    twos = tp.WassersteinNeighbors(words, n_neighbors=3, normalize=False).fit(2 * measures)
    assert repr(ones) != repr(twos)
    assert "normalize=True" in repr(ones) and "normalize=False" in repr(twos)
    (near, numbers), (far, same) = ones.kneighbors(queries), twos.kneighbors(2 * queries)
    np.testing.assert_allclose(far, 2 * near, rtol=1e-9)
    np.testing.assert_array_equal(numbers, same)
    for refused in (
        lambda: twos.kneighbors(queries),
        lambda: twos.add(queries),
        lambda: twos.fit(halves[0]),
    ):
        with pytest.raises(ValueError, match="transport needs equal masses"):
            refused()


def test_names_are_those_of_rows(words, halves, tmp_path):
    measures, queries = halves
    frame = pd.DataFrame(measures, index=[f"S{row:03}" for row in range(45)])
    nn = tp.WassersteinNeighbors(words, n_neighbors=3).fit(frame)
    distances, numbers = nn.kneighbors(queries)
    far, names = nn.kneighbors(queries, return_names=True)
    np.testing.assert_array_equal(far, distances)
    assert names.tolist() == [[f"S{number:03}" for number in row] for row in numbers]
    assert nn.remove(["S003", "S040"]).measure_names_[4] == "S004"
    assert nn.kneighbors(return_distance=False, return_names=True)[3].tolist() == [None] * 3
    with pytest.raises(ValueError, match="no measure is called `S003`"):
        nn.remove("S003")
    with pytest.raises(ValueError, match="two measures would be called `S004`"):
        nn.add(frame.iloc[4:6])
    with pytest.raises(
        ValueError, match=r"name those that are added, too \(by the index of a DataFrame"
    ):
        nn.add(queries)
    assert nn.add(frame.iloc[[3]]).tolist() == [45]
    nn.save(tmp_path / "named.index")
    back = tp.WassersteinNeighbors.load(tmp_path / "named.index")
    assert back.measure_names_ == nn.measure_names_ and back.measure_names_[45] == "S003"
    assert clone(nn).fit(tp.Measures(measures, ids=frame.index)).measure_names_[3] == "S003"
    for nameless in (measures, pd.DataFrame(measures), frame.set_index(np.zeros(45, dtype=int))):
        plain = clone(nn).fit(nameless)
        assert plain.measure_names_ is None
        plain.add(frame.iloc[:2])
        with pytest.raises(ValueError, match="the measures have no names; fit a DataFrame"):
            plain.kneighbors(queries, return_names=True)


def test_threads_share_an_index(words, halves, rng):
    """Searches go on beside each other, and additions and removals wait for their turn."""
    measures, queries = halves
    nn = tp.WassersteinNeighbors(words, n_neighbors=3, n_jobs=2).fit(measures)
    always = nn.kneighbors(
        queries
    )  # measures that come are farther: their own queries are not among these
    far = np.zeros((6, 25))
    far[:, int(np.argmax(np.abs(words).sum(axis=1)))] = 1
    stop, wrong = threading.Event(), []

    def search():
        while not stop.is_set():
            try:
                for ours, theirs in zip(nn.kneighbors(queries), always):
                    np.testing.assert_array_equal(ours, theirs)
                nn.kneighbors_graph()
                nn.radius_neighbors(queries[:2], 0.5)
                pickle.loads(pickle.dumps(nn))
            except BaseException as error:
                wrong.append(error)
                return

    def change():
        try:
            for _ in range(15):
                numbers = nn.add(far)
                assert len(numbers) == 6
                nn.remove(numbers)
        except BaseException as error:
            wrong.append(error)

    readers = [threading.Thread(target=search) for _ in range(3)]
    writers = [threading.Thread(target=change) for _ in range(2)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert wrong == []
    assert nn.n_samples_fit_ == 45 + 2 * 15 * 6 and nn._index.present == 45


def test_joblib_backends_give_the_same(words, halves):
    measures, queries = halves
    nn = tp.WassersteinNeighbors(words, n_neighbors=3).fit(measures)
    expected = nn.kneighbors(queries)
    for backend in ("loky", "multiprocessing", "threading"):
        with joblib.parallel_config(backend, n_jobs=2):
            for ours, theirs in zip(nn.kneighbors(queries), expected):
                np.testing.assert_array_equal(ours, theirs)


def test_set_output_says_why_not(words, halves):
    nn = tp.WassersteinNeighbors(words, n_neighbors=3).fit(halves[0])
    tw = tp.TreeWasserstein(words, epochs=1).fit(halves[0])
    for estimator in (nn, tw):
        assert sparse.issparse(estimator.set_output(transform="default").transform(halves[1]))
        estimator.set_output(transform="pandas")
        for ask in (estimator.transform, estimator.fit_transform):
            with pytest.raises(
                ValueError,
                match='asks .* for pandas. The transformer outputs a scipy sparse matrix. .*"default"',
            ):
                ask(halves[1])


def grounds(words, rng):
    """Every kind of ground metric, and one that breaks the triangle inequality."""
    cost = rng.random((25, 25)) ** 3
    cost = np.triu(cost, 1) + np.triu(cost, 1).T
    ring = nx.cycle_graph(25)
    nx.set_edge_attributes(ring, {edge: float(rng.integers(1, 5)) for edge in ring.edges}, "weight")
    return [
        {"points": words},
        {"points": words, "metric": "manhattan"},
        {"cost": cost},
        {"graph": nx.to_scipy_sparse_array(ring)},
    ]


def brute(queries, measures, **ground):
    """Exact distances of all queries to all measures."""
    both = np.vstack([queries, measures]).astype(float)
    both /= both.sum(axis=1, keepdims=True)
    n = len(queries)
    pairs = [(i, n + j) for i in range(n) for j in range(len(measures))]
    return tp.emd_pairs(both, pairs, **ground).reshape(n, len(measures))


@pytest.fixture
def halves(documents):
    """A collection with two rows that are the same but for their totals, and queries."""
    documents[7] = 3 * documents[3]
    documents[11] = documents[3]
    return documents[:45], documents[45:]


@pytest.fixture
def fitted(words, halves):
    return tp.WassersteinNeighbors(words, n_neighbors=4).fit(halves[0])


def check_order(distances, numbers, matrix):
    """Rows are the nearest by a matrix of all distances."""
    k = distances.shape[1]
    np.testing.assert_allclose(distances, np.sort(matrix, axis=1)[:, :k], atol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(matrix, numbers, axis=1), distances, atol=1e-9)
    assert all(len(set(row)) == k for row in numbers)


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("memory", [None, 0])
def test_neighbors_are_those_of_solving_every_pair(words, halves, rng, kind, memory):
    measures, queries = halves
    ground = grounds(words, rng)[kind]
    matrix, own = brute(queries, measures, **ground), brute(measures, measures, **ground)
    nn = tp.WassersteinNeighbors(**ground, n_neighbors=6, memory=memory).fit(
        sparse.csr_array(measures)
    )
    distances, numbers, bounds, solved = nn.kneighbors(queries, return_bounds=True)
    check_order(distances, numbers, matrix)
    left_out = np.sort(matrix, axis=1)[:, 6]
    assert (bounds <= left_out + 1e-9).all() and (bounds >= distances[:, -1] - 1e-9).all()
    assert (solved <= len(measures)).all() and solved.sum() < matrix.size
    np.fill_diagonal(own, np.inf)
    check_order(*nn.kneighbors(), own)
    radius = np.median(matrix)
    far, near = nn.radius_neighbors(queries, radius)
    for row, (distances, numbers) in enumerate(zip(far, near)):
        assert set(numbers) == set(np.flatnonzero(matrix[row] <= radius))
        np.testing.assert_allclose(distances, np.sort(matrix[row])[: len(distances)], atol=1e-9)
    assert [list(row) for row in nn.radius_neighbors(queries, radius, return_distance=False)] == [
        list(row) for row in near
    ]


def test_distances_are_those_of_another_solver(words, halves, fitted):
    measures, queries = (rows / rows.sum(axis=1, keepdims=True) for rows in halves)
    cost = cdist(words, words)
    distances, numbers = fitted.kneighbors(queries[:5])
    for row, query in enumerate(queries[:5]):
        every = np.array([ot.emd2(query, other, cost) for other in measures])
        np.testing.assert_allclose(distances[row], np.sort(every)[:4], atol=1e-9)
        np.testing.assert_allclose(every[numbers[row]], distances[row], atol=1e-9)


def test_equal_measures_come_by_number_and_stay_entries(fitted, halves):
    distances, numbers = fitted.kneighbors(halves[0][[3]])
    assert numbers[0, :3].tolist() == [3, 7, 11] and (distances[0, :3] == 0).all()
    distances, numbers = fitted.kneighbors()
    assert [numbers[row, :2].tolist() for row in (3, 7, 11)] == [[7, 11], [3, 11], [3, 7]]
    graph = fitted.kneighbors_graph(mode="distance")
    assert graph.nnz == 45 * 4 and (graph.data == 0).sum() >= 6
    within = fitted.radius_neighbors(radius=0.0, return_distance=False)
    assert [within[row].tolist() for row in (3, 4, 7, 11)] == [[7, 11], [], [3, 11], [3, 7]]


def test_graphs_are_sound(fitted, halves):
    measures, queries = halves
    distances, numbers = fitted.kneighbors(queries, 5)
    graph = fitted.kneighbors_graph(queries, 5, mode="distance")
    graph.check_format(full_check=True)
    assert isinstance(graph, sparse.csr_matrix)  # scanpy cannot take an array
    assert graph.shape == (15, 45) and graph.dtype == np.float64
    assert (graph.indices.reshape(15, 5) == numbers).all()
    assert (graph.data.reshape(15, 5) == distances).all()
    ones = fitted.kneighbors_graph(queries, 5)
    assert (ones.data == 1).all() and (ones.indices == graph.indices).all()
    radius = float(np.median(distances))
    within = fitted.radius_neighbors_graph(queries, radius, mode="distance")
    within.check_format(full_check=True)
    far, near = fitted.radius_neighbors(queries, radius)
    assert (within.data == np.concatenate(far)).all() and (
        within.indices == np.concatenate(near)
    ).all()
    assert (np.diff(within.indptr) == [len(row) for row in near]).all()
    by_number = fitted.radius_neighbors_graph(queries, radius, mode="distance", sort_results=False)
    assert (by_number != within).nnz == 0
    assert not within.copy().has_sorted_indices and by_number.has_sorted_indices
    far, near = fitted.radius_neighbors(queries, radius, sort_results=False)
    assert (by_number.data == np.concatenate(far)).all() and (
        by_number.indices == np.concatenate(near)
    ).all()
    assert (fitted.radius_neighbors_graph(queries, radius).data == 1).all()
    assert fitted.radius_neighbors_graph(radius=radius).diagonal().sum() == 0


def test_approximate_and_within_a_factor(words, halves):
    measures, queries = halves
    matrix = brute(queries, measures, points=words)
    nearest = np.sort(matrix, axis=1)[:, :4]
    nn = tp.WassersteinNeighbors(words, n_neighbors=4, accuracy=0.5).fit(measures)
    distances, numbers, bounds, few = nn.kneighbors(queries, return_bounds=True)
    np.testing.assert_allclose(np.take_along_axis(matrix, numbers, axis=1), distances, atol=1e-9)
    assert (distances <= 1.5 * nearest + 1e-9).all()
    *_, all_ = nn.set_params(accuracy="exact").kneighbors(queries, return_bounds=True)
    assert few.sum() <= all_.sum()
    nn.set_params(accuracy="approximate")
    distances, numbers, bounds, solved = nn.kneighbors(queries, return_bounds=True)
    np.testing.assert_allclose(np.take_along_axis(matrix, numbers, axis=1), distances, atol=1e-9)
    assert (solved >= 4).all()
    left = matrix.copy()
    np.put_along_axis(left, numbers, np.inf, axis=1)
    assert (bounds <= left.min(axis=1) + 1e-9).all(), "nothing else is nearer than the bound"
    right = np.argsort(matrix, axis=1)[:, :4]
    found = np.mean([len(set(a) & set(b)) / 4 for a, b in zip(numbers, right)])
    assert found > 0.6 and nn.expected_recall() > 0.6
    assert nn.expected_recall(1) <= 1


def test_a_time_for_each_query(words, halves):
    measures, queries = halves
    nn = tp.WassersteinNeighbors(words, n_neighbors=4).fit(measures)
    exact, late = nn.kneighbors(queries, time=3600), nn.kneighbors(queries, time=0)
    np.testing.assert_array_equal(exact, nn.kneighbors(queries))
    matrix = brute(queries, measures, points=words)
    np.testing.assert_allclose(np.take_along_axis(matrix, late[1], axis=1), late[0], atol=1e-9)
    with pytest.raises(ValueError, match="`time` is for queries"):
        nn.kneighbors(time=1.0)
    with pytest.raises(ValueError, match="time is a number of seconds"):
        nn.kneighbors(queries, time=-1.0)


def test_a_transformer_like_scikit_learns(words, halves):
    # Points on a line with all mass in one place each: W1 is the distance of places.
    places = np.array([0.0, 1, 3, 7, 7.5, 12])[:, None]
    theirs = KNeighborsTransformer(n_neighbors=2, mode="distance")
    expected = theirs.fit_transform(places)
    ours = tp.WassersteinNeighbors(places, n_neighbors=2)
    np.testing.assert_allclose(ours.fit_transform(np.eye(6)).toarray(), expected.toarray())
    np.testing.assert_allclose(ours.transform(np.eye(6)).toarray(), expected.toarray())
    assert ours.fit_transform(np.eye(6)).nnz == expected.nnz == 18
    # Each is its own first neighbor even among many equal ones.
    same = np.ones((9, 6))
    graph = ours.fit_transform(same)
    assert graph.nnz == 27 and (graph.indices[::3] == np.arange(9)).all()
    assert len(ours.get_feature_names_out()) == 9


def two_kinds(words, rng):
    """Documents of words on the left, and of words on the right."""
    y = np.arange(60) % 2
    likely = np.where((words[:, 0] > 0) == y[:, None], 1.0, 0.1)
    return rng.poisson(likely) + np.eye(60, 25), y


def test_pipelines(words, rng):
    documents, y = two_kinds(words, rng)
    nn = tp.WassersteinNeighbors(words, n_neighbors=5)
    matrix = brute(documents, documents, points=words)
    for own, known in [(KNeighborsClassifier, y), (KNeighborsRegressor, words[:, 0][y] + y)]:
        pipeline = make_pipeline(nn, own(3, metric="precomputed"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of graphs that are not sorted
            found = pipeline.fit(documents[:40], known[:40]).predict(documents[40:])
        direct = own(3, metric="precomputed").fit(matrix[:40, :40], known[:40])
        np.testing.assert_allclose(found, direct.predict(matrix[40:, :40]))
    pipeline = make_pipeline(nn, KNeighborsClassifier(3, metric="precomputed"))
    assert cross_val_score(pipeline, sparse.csr_array(documents), y, cv=3).mean() > 0.8


def test_clusters_and_maps_from_graphs(words, rng):
    documents, _ = two_kinds(words, rng)
    matrix = brute(documents, documents, points=words)
    np.fill_diagonal(matrix, 0)
    matrix = (matrix + matrix.T) / 2
    nn = tp.WassersteinNeighbors(words, n_neighbors=8).fit(documents)
    eps = float(np.quantile(matrix, 0.1)) * (1 + 1e-7)
    whole = DBSCAN(eps=eps, metric="precomputed").fit(matrix)
    for queries in (None, documents):
        graph = nn.radius_neighbors_graph(queries, eps, mode="distance")
        labels = DBSCAN(eps=eps, metric="precomputed").fit(graph).labels_
        assert (labels == whole.labels_).all()
    direct = Isomap(n_neighbors=8, metric="precomputed").fit(matrix)
    ours = Isomap(n_neighbors=8, metric="precomputed").fit(nn.fit_transform(documents))
    np.testing.assert_allclose(ours.dist_matrix_, direct.dist_matrix_, atol=1e-6)


def test_umap_takes_neighbors(words, rng):
    umap = pytest.importorskip("umap")
    documents, _ = two_kinds(words, rng)
    nn = tp.WassersteinNeighbors(words, n_neighbors=8).fit(documents)
    distances, numbers = nn.kneighbors(documents)
    knn = (numbers.astype(np.int32), distances.astype(np.float32))
    flat = umap.UMAP(n_neighbors=8, precomputed_knn=knn, random_state=0).fit_transform(documents)
    assert flat.shape == (60, 2) and np.isfinite(flat).all()


def test_scanpy_takes_the_transformer(words, rng):
    scanpy = pytest.importorskip("scanpy")
    anndata = pytest.importorskip("anndata")
    documents, _ = two_kinds(words, rng)
    data = anndata.AnnData(documents.astype(np.float32))
    nn = tp.WassersteinNeighbors(words, n_neighbors=8)
    scanpy.pp.neighbors(data, n_neighbors=8, transformer=nn, use_rep="X")
    assert data.obsp["distances"].shape == (60, 60)


def test_measures_come_and_go(words, halves):
    measures, queries = halves
    nn = tp.WassersteinNeighbors(words, n_neighbors=3).fit(measures[:20])
    assert nn.add(measures[20:]).tolist() == list(range(20, 45)) and nn.n_samples_fit_ == 45
    whole = tp.WassersteinNeighbors(words, n_neighbors=3).fit(measures)
    for ours, theirs in zip(nn.kneighbors(queries), whole.kneighbors(queries)):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert nn.remove([3, 40]).remove(7) is nn
    matrix = brute(queries, measures, points=words)
    matrix[:, [3, 7, 40]] = np.inf
    check_order(*nn.kneighbors(queries), matrix)
    distances, numbers = nn.kneighbors()
    assert numbers.shape == (45, 3) and (numbers[[3, 7, 40]] == -1).all()
    assert np.isinf(distances[[3, 7, 40]]).all()
    assert not np.isin(np.delete(numbers, [3, 7, 40], axis=0), [-1, 3, 7, 40]).any()
    graph = nn.kneighbors_graph(mode="distance")
    assert graph.shape == (45, 45) and graph.nnz == 42 * 3
    assert len(nn.radius_neighbors(radius=100.0)[0][0]) == 41
    assert len(nn.radius_neighbors(radius=100.0)[0][3]) == 0
    with pytest.raises(ValueError, match="there is no measure 45"):
        nn.remove([0, 45])
    with pytest.raises(ValueError, match="measure 3 was removed before, or is listed twice"):
        nn.remove([3])
    with pytest.raises(ValueError, match="there is no measure -1"):
        nn.remove(-1)
    with pytest.raises(ValueError, match="numbers of measures are"):
        nn.remove([0.5])
    assert len(nn.radius_neighbors(radius=100.0)[0][0]) == 41


@pytest.mark.parametrize("kind", range(4))
def test_files_pickles_and_clones(words, halves, rng, kind, tmp_path):
    measures, queries = halves
    nn = tp.WassersteinNeighbors(**grounds(words, rng)[kind], n_neighbors=4).fit(measures)
    nn.remove(5)
    expected = nn.kneighbors(queries)
    path = tmp_path / "documents.index"
    nn.save(path)
    back = tp.WassersteinNeighbors.load(path)
    assert (back.n_samples_fit_, back.n_features_in_) == (45, 25)
    for other in (back, pickle.loads(pickle.dumps(nn))):
        for ours, theirs in zip(other.kneighbors(queries, 4), expected):
            np.testing.assert_array_equal(ours, theirs)
    back.save(tmp_path / "again.index")
    assert path.read_bytes() == (tmp_path / "again.index").read_bytes()
    refitted = clone(back).fit(measures).remove(5)
    np.testing.assert_allclose(refitted.kneighbors(queries, 4)[0], expected[0], atol=1e-9)
    with pytest.raises(NotFittedError):
        clone(nn).kneighbors(queries)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="documents.index"):
        tp.WassersteinNeighbors.load(path)
    with pytest.raises(FileNotFoundError):
        tp.WassersteinNeighbors.load(tmp_path / "nothing")


def test_a_model_lends_its_ground_metric(words, halves, tmp_path):
    measures, queries = halves
    expected = tp.WassersteinNeighbors(words).fit(measures).kneighbors(queries)
    tw = tp.TreeWasserstein(words, epochs=2).fit(measures)
    before = tw.pairwise(measures)
    nn = tp.WassersteinNeighbors(model=tw).fit(measures)
    tw.save(tmp_path / "model")
    others = [clone(nn), tp.WassersteinNeighbors(model=tp.load(tmp_path / "model"))]
    for other in (nn, *(other.fit(measures) for other in others)):
        np.testing.assert_array_equal(other.kneighbors(queries)[1], expected[1])
    np.testing.assert_array_equal(tw.pairwise(measures), before)
    tw.save(tmp_path / "bare", with_metric=False)
    bare = tp.WassersteinNeighbors(model=tp.load(tmp_path / "bare"))
    with pytest.raises(ValueError, match="has no ground metric"):
        bare.fit(measures)
    with pytest.raises(NotFittedError):  # not quietly that of points that are one apart
        clone(bare).fit(measures)


def test_names_of_points_are_matched(words, halves, tmp_path):
    measures, queries = halves
    names = [f"w{i}" for i in range(25)]
    frame = pd.DataFrame(queries, columns=names)
    nn = tp.WassersteinNeighbors(words, n_neighbors=3).fit(pd.DataFrame(measures, columns=names))
    expected = nn.kneighbors(frame)[0]
    nn.save(tmp_path / "index")
    back = tp.WassersteinNeighbors.load(tmp_path / "index")
    np.testing.assert_array_equal(back.kneighbors(frame[names[::-1]], 3)[0], expected)
    with pytest.raises(ValueError, match="w99"):
        back.kneighbors(frame.rename(columns={"w3": "w99"}), 3)
    tw = tp.TreeWasserstein(words, epochs=1).fit(pd.DataFrame(measures, columns=names))
    reordered = tp.WassersteinNeighbors(model=tw).fit(
        pd.DataFrame(measures, columns=names)[names[::-1]]
    )
    np.testing.assert_array_equal(reordered.kneighbors(frame, 3)[0], expected)


def test_every_form_of_rows_and_any_number_of_threads(words, halves):
    measures, queries = halves

    class Data:  # as AnnData has it
        obsm, X = {}, queries

    expected = tp.WassersteinNeighbors(words, n_jobs=1).fit(measures).kneighbors(queries)
    forms = [
        queries * 2.0,
        sparse.csc_array(queries),
        pd.DataFrame(queries),
        tp.Measures(queries),
        Data,
    ]
    nn = tp.WassersteinNeighbors(words, n_jobs=3).fit(tp.Measures(measures))
    for form in forms:
        for ours, theirs in zip(nn.kneighbors(form), expected):
            np.testing.assert_array_equal(ours, theirs)


def test_the_collection_is_paid_for_once(fitted, halves):
    before = fitted.nbytes_
    assert before > 0
    index = fitted._index
    fitted.kneighbors(halves[1])
    fitted.kneighbors(halves[1][:1])
    assert fitted._index is index


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"accuracy": "best"},
            "the accuracy of a search is `best`; it must be exact, approximate or a finite number of at least 0",
        ),
        ({"accuracy": -0.5}, "accuracy of a search is `-0.5`"),
        ({"accuracy": float("nan")}, "accuracy of a search is `NaN`"),
        ({"accuracy": None}, "accuracy of a search is `None`"),
        ({"memory": -1}, "memory is -1"),
        ({"memory": 0.5}, "memory is 0.5"),
        ({"memory": True}, "memory is True"),
        ({"accuracy": True}, "accuracy of a search is `True`"),
        ({"metric": "far"}, "far"),
        ({"cost": np.zeros((25, 25))}, "at most one of points, cost, graph and model; 2 of them"),
        ({"points": np.zeros((24, 2))}, "25 points"),
        ({"points": None, "model": "tree"}, "model is of type str"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_parameters_are_refused(words, halves, change, message):
    with pytest.raises(ValueError, match=message):
        tp.WassersteinNeighbors(words).set_params(**change).fit(halves[0])


def test_bad_questions_are_refused(fitted, halves):
    measures, queries = halves
    # All there are where they are fewer, as from Rust and from the command line.
    empty = clone(fitted).fit(measures[:1])
    assert empty.kneighbors()[1].shape == empty.remove(0).kneighbors()[1].shape == (1, 0)
    assert empty.kneighbors(queries)[1].shape == (15, 0)
    assert (
        fitted.kneighbors(queries, 46)[1].shape
        == fitted.kneighbors(queries, 45)[1].shape
        == (15, 45)
    )
    assert fitted.kneighbors(n_neighbors=99)[1].shape == (45, 44)
    assert (
        fitted.kneighbors_graph(n_neighbors=99) != fitted.kneighbors_graph(n_neighbors=44)
    ).nnz == 0
    with pytest.raises(ValueError, match="Expected n_neighbors > 0. Got 0"):
        fitted.kneighbors(queries, 0)
    with pytest.raises(TypeError, match="enter integer value"):
        fitted.kneighbors(queries, 2.5)
    for radius in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="radius is"):
            fitted.radius_neighbors(queries, radius)
    with pytest.raises(ValueError, match="mode is 'both'"):
        fitted.kneighbors_graph(queries, mode="both")
    with pytest.raises(ValueError, match="24 features"):
        fitted.kneighbors(queries[:, :24])
    with pytest.raises(ValueError, match="measure 1 has no mass"):
        fitted.kneighbors(np.vstack([queries[:1], np.zeros((1, 25))]))
    with pytest.raises(ValueError, match="Negative values"):
        fitted.add(-queries)
    with pytest.raises(NotFittedError):
        tp.WassersteinNeighbors().nbytes_


def test_verbose_shows_bars(words, halves, capsys):
    tp.WassersteinNeighbors(words, verbose=True).fit(halves[0]).kneighbors(halves[1])
    shown = capsys.readouterr().err
    assert "indexing done" in shown and "searching done" in shown


@pytest.mark.parametrize("dim", [2, 50])
def test_neighbors_are_as_far_one_way_as_the_other(dim):
    rng = np.random.default_rng(dim)
    rows = rng.random((60, 80)) * (rng.random((60, 80)) < 0.3)
    index = tp.WassersteinNeighbors(points=rng.normal(size=(80, dim))).fit(rows)
    distances, numbers = index.kneighbors(rows, n_neighbors=60)
    table = np.empty((60, 60))
    np.put_along_axis(table, numbers, distances, axis=1)
    np.testing.assert_array_equal(table, table.T)
