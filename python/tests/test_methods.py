"""Every method by its name."""

import pickle

import numpy as np
import pytest
import treeport as tp
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from treeport import _core, _estimator, _ground

METHODS = [name for name, *_ in _core.methods()]
FORESTS = [name for name in METHODS if "forest" in name or name.startswith("slice")]
GRIDS = ["kmeans", "quadtree", "qtwd", "qtwd-labels", "sliced-quadtree", "sliced-qtwd"]


@parametrize_with_checks([tp.TreeWasserstein(method="forest", n_trees=2)])
def test_scikit_learn_finds_nothing_wrong_with_forests(estimator, check):
    check(estimator)


def normalized(measures):
    return measures / measures.sum(axis=1, keepdims=True)


def test_the_docstring_has_every_method():
    assert set(GRIDS) <= set(METHODS)
    for name, _, text in _core.methods():
        assert f"- {name!r}: {text};" in tp.TreeWasserstein.__doc__


@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_and_answers(words, documents, method, tmp_path, options_of):
    options = options_of(method, n_trees=3, epochs=5)
    tw = tp.TreeWasserstein(words, method=method, **options).fit(documents)
    assert tw.method_ == method
    assert -0.6 < tw.score(documents) < 0
    matrix = tw.pairwise(documents)
    rows = tw.transform(documents)
    np.testing.assert_allclose(
        cdist(rows.toarray(), rows.toarray(), "cityblock"), matrix, atol=1e-9
    )
    np.testing.assert_allclose(tw.paired(documents[:9], documents[9:18]), np.diag(matrix[:9, 9:18]))
    assert tw.distance(documents[3], documents[8]) == pytest.approx(matrix[3, 8])
    plan = tw.coupling(documents[3], documents[8])
    np.testing.assert_allclose(plan.sum(axis=0), normalized(documents)[8], atol=1e-12)
    is_forest = method in FORESTS or tw.stage_ == "slices"
    assert hasattr(tw, "forest_") == is_forest != hasattr(tw, "tree_")
    if method == "slices":  # three paths and at most two hierarchies
        assert 0 < len(tw.forest_) == len(tw.forest_.trees) <= 5
    elif method in FORESTS:
        assert len(tw.forest_) == len(tw.forest_.trees) == 3
    assert len(tw.get_feature_names_out()) == rows.shape[1]
    nearest, _ = tw.kneighbors(documents[:9], documents, n_neighbors=4)
    np.testing.assert_allclose(nearest, np.sort(matrix[:9])[:, :4], atol=1e-12)
    tw.save(tmp_path / "model")
    loaded = tp.load(tmp_path / "model")
    assert (loaded.pairwise(documents) == matrix).all()
    assert (loaded.transform(documents) != rows).nnz == 0
    assert (loaded.coupling(documents[3], documents[8]) != plan).nnz == 0


@pytest.mark.parametrize("method", METHODS)
def test_methods_that_need_coordinates_say_so(words, documents, method, options_of):
    options = options_of(method, n_trees=2, epochs=1)
    tw = tp.TreeWasserstein(cost=pdist(words), method=method, **options)
    if method not in GRIDS:
        assert tw.fit(documents).score(documents) > -0.6
        return
    with pytest.raises(
        ValueError, match=f"^{method} needs coordinates, and this ground metric is a"
    ):
        tw.fit(documents)


@pytest.mark.parametrize("method", METHODS)
def test_without_a_ground_metric_every_method_is_a_star(documents, method):
    tw = tp.TreeWasserstein(method=method)
    if method in GRIDS:
        with pytest.raises(ValueError, match=f"^{method} needs coordinates"):
            tw.fit(documents)
        return
    tw.fit(documents)
    variations = pdist_square(normalized(documents)) / 2
    judge = tw.estimate(documents[:5], documents[5:10], accuracy="exact")
    np.testing.assert_allclose(judge, np.diag(variations[:5, 5:10]), rtol=1e-9)
    if not method.endswith("cluster"):  # clusters of points one apart are deeper than a star
        # Edges are fitted until they change by less than 1e-5.
        np.testing.assert_allclose(tw.pairwise(documents), variations, rtol=1e-3)
    lower, upper = tw.bounds(documents[:5], documents[5:10])
    assert (lower <= judge).all() and (judge <= upper).all()
    assert tw.coupling(documents[0], documents[1]).sum() == pytest.approx(1)
    pairs = [(0, 1), (0, 2), (1, 2)]
    tw.fit(
        documents, pairs=pairs, distances=[2 * tw.distance(*documents[[i, j]]) for i, j in pairs]
    )
    assert tw.score(documents) == pytest.approx(-1, abs=0.2)


def pdist_square(rows):
    return cdist(rows, rows, "cityblock")


def test_auto_keeps_the_best_of_its_stages(words, documents):
    tw = tp.TreeWasserstein(words).fit(documents[:30])
    assert tw.method_ == "auto"
    assert list(tw.stage_errors_) == ["start", "points", "learned", "edges", "slices"]
    slices = tw.stage_errors_.pop("slices")
    tree = min(tw.stage_errors_.values())
    assert (tw.stage_ == "slices") == (slices < 0.9 * tree)
    if tw.stage_ == "slices":
        with pytest.raises(
            AttributeError, match="the model is a forest; use `model_`, or fit with"
        ):
            tw.tree_  # noqa: B018
    one = clone(tw).set_params(method="tree").fit(documents[:30])
    assert one.stage_errors_ == tw.stage_errors_ and one.stage_errors_[one.stage_] == tree
    assert one.tree_ == one.model_
    assert len(tw.loss_curve_) == len(tw.validation_loss_curve_) == 51
    alone = tp.TreeWasserstein(words, method="additive").fit(documents[:30])
    assert (alone.stage_, alone.stage_errors_) == (None, {})
    assert tw.score(documents[30:]) > alone.score(documents[30:])
    assert tw.model_ == tp.TreeWasserstein(words, n_jobs=1).fit(documents[:30]).model_
    assert tw.model_ == clone(tw).set_params(validation_fraction=0.2).fit(documents[:30]).model_
    assert one.tree_ != clone(one).set_params(validation_fraction=0.1).fit(documents[:30]).tree_


def test_auto_starts_from_any_tree(words, documents):
    first = tp.TreeWasserstein(words, method="tree", epochs=1).fit(documents)
    again = tp.TreeWasserstein(words, start=first.model_).fit(documents)
    assert again.stage_errors_[again.stage_] <= again.stage_errors_["start"]


def test_every_tree_of_a_learned_forest_learns(words, documents):
    def forest(**options):
        return tp.TreeWasserstein(words, method="learned-forest", n_trees=4, **options).fit(
            documents[:30]
        )

    learned = forest()
    assert learned.forest_.weights.sum() == pytest.approx(1) and len(learned.forest_) == 4
    assert learned.score(documents[30:]) > forest(epochs=0).score(documents[30:])
    assert learned.forest_ != forest(start="single").forest_ != forest(epochs=1).forest_
    with pytest.raises(
        ValueError, match="start is a tree; the trees of a forest are grown by a linkage"
    ):
        forest(start=learned.forest_.trees[0])


def test_averaging_trees_beats_one(words, documents):
    one = tp.TreeWasserstein(words, method="average").fit(documents[:30])
    many = tp.TreeWasserstein(words, method="forest").fit(documents[:30])
    assert len(many.forest_) == 16
    assert many.score(documents[30:]) > one.score(documents[30:])
    equal = tp.TreeWasserstein(words, method="forest", scale=False).fit(documents[:30])
    np.testing.assert_allclose(equal.forest_.weights, 1 / 16)


def test_equal_rows_leave_a_forest_as_it_is(words, documents):
    tw = tp.TreeWasserstein(words, method="forest", n_trees=4).fit(documents[[0, 0, 0]])
    np.testing.assert_allclose(tw.forest_.weights, 0.25)
    assert tw.distance(documents[0], documents[1]) > 0


def test_the_plan_of_a_forest_costs_no_more_than_those_of_its_trees(words, documents):
    tw = tp.TreeWasserstein(words, method="forest", n_trees=5).fit(documents)
    own = tw.forest_.pairwise(np.eye(25))
    for a, b in zip(normalized(documents)[:20], normalized(documents)[20:40]):
        costs = [(tree.coupling(a, b).toarray() * own).sum() for tree in tw.forest_.trees]
        plan = tw.coupling(a, b).toarray()
        np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)
        assert (plan * own).sum() <= min(costs) * (1 + 1e-9)
        assert (plan * own).sum() >= tw.distance(a, b) * (1 - 1e-9)


def test_same_seed_same_forest_on_any_number_of_threads(words, documents):
    def forest(**options):
        options = {"method": "forest", "n_trees": 4, **options}
        return tp.TreeWasserstein(words, **options).fit(documents).forest_

    assert forest(n_jobs=1) == forest(n_jobs=3) == forest()
    assert forest(random_state=1) != forest()
    assert forest(start="single") != forest()
    # The first trees of a larger forest are the same, but for the factor that labels give.
    small, large = forest(scale=False), forest(scale=False, n_trees=6)
    assert small.trees == large.trees[:4]


def test_forests_pickle_and_clone(words, rng):
    documents = rng.random((3000, 25))
    tw = tp.TreeWasserstein(words, method="forest", n_trees=4, n_pairs=50).fit(documents)
    tw.estimate(documents[:2], documents[2:4])  # keeps what later calls share, but not in a pickle
    state = pickle.dumps(tw)
    assert len(state) < 15_000 < documents.nbytes // 30
    back = pickle.loads(state)
    assert (back.forest_, back.calibration_) == (tw.forest_, tw.calibration_)
    assert back.distance(documents[0], documents[1]) == tw.distance(documents[0], documents[1])
    fresh = clone(tw)
    assert not hasattr(fresh, "forest_") and fresh.get_params()["n_trees"] == 4
    assert not hasattr(tw.set_params(method="single", n_trees=None).fit(documents), "forest_")
    assert not hasattr(tw.set_params(method="forest", n_trees=4).fit(documents), "tree_")


def test_measures_are_read_once(words, documents):
    tw = tp.TreeWasserstein(words, method="forest", n_trees=3).fit(documents)
    measures = tp.Measures(documents)
    assert (len(measures), measures.shape) == (60, (60, 25))
    for _ in range(2):  # the second time from what was laid out before
        assert (tw.pairwise(measures) == tw.pairwise(documents)).all()
        assert (tw.pairwise(measures, documents[:7]) == tw.pairwise(documents, documents[:7])).all()
    assert (tw.estimate(measures, measures) == 0).all()
    assert tw.score(measures) == tw.score(documents)
    assert (tw.transform(pickle.loads(pickle.dumps(measures))) != tw.transform(documents)).nnz == 0
    assert tp.TreeWasserstein(words, epochs=1).fit(measures).model_ == (
        tp.TreeWasserstein(words, epochs=1).fit(documents).model_
    )
    rows = normalized(documents)
    assert (tw.forest_.pairwise(tp.Measures(rows)) == tw.forest_.pairwise(rows)).all()
    assert (tw.transform(documents) != tw.forest_.embed(rows)).nnz == 0


def test_a_ground_metric_is_read_by_fit_and_set_params_alone(words, documents, monkeypatch):
    read = []

    def counted(*given):
        read.append(given)
        return _ground.ground_of(*given)

    monkeypatch.setattr(_estimator, "ground_of", counted)
    points = words.copy()
    tw = tp.TreeWasserstein(points, epochs=1).fit(documents)
    before = tw.distance(documents[0], documents[1])

    def exact():
        return tw.estimate(documents[:1], documents[1:2], accuracy="exact")

    first = exact()
    points *= (
        4  # in place: tree, calibration and exact distances all stay those of the points at the fit
    )
    lower, upper = tw.bounds(documents[:1], documents[1:2], accuracy="exact")
    assert exact() == first and lower <= first <= upper <= 1.1 * lower
    assert len(read) == 1
    tw.set_params(points=points)  # which reads it anew, though it is the same array
    np.testing.assert_allclose(exact(), 4 * first, rtol=1e-12)
    tw.points = points / 2  # another array
    np.testing.assert_allclose(exact(), 2 * first, rtol=1e-12)
    tw.points *= 2
    assert tw.fit(documents).distance(documents[0], documents[1]) == pytest.approx(4 * before)
    np.testing.assert_allclose(exact(), 4 * first, rtol=1e-12)
    assert len(read) == 4
    tw.set_params(metric="manhattan")
    assert exact() != 4 * first and len(read) == 5
    plain = tp.TreeWasserstein(epochs=1).fit(documents)
    assert plain.fit(documents[:, :20] + 1).n_features_in_ == 20


def test_a_start_with_other_names_is_refused(documents):
    pd = pytest.importorskip("pandas")
    start = tp.Tree.from_newick("((dog:1,bird:1):1,cat:2);")
    frame = pd.DataFrame(documents[:, :3] + 1, columns=["cat", "dog", "bird"])
    with pytest.raises(ValueError, match="start calls point 0 'dog', the columns call it 'cat'"):
        tp.TreeWasserstein(start=start).fit(frame)
    assert (
        tp.TreeWasserstein(start=start).fit(frame[["dog", "bird", "cat"]]).model_.names
        == start.names
    )


def test_threads_share_one_graph(words, documents):
    nx = pytest.importorskip("networkx")
    from concurrent.futures import ThreadPoolExecutor

    graph = nx.random_regular_graph(3, 600, seed=1)
    measures = np.random.default_rng(0).random((6, 600))
    tw = tp.TreeWasserstein(graph=graph, weight=None, method="single", n_pairs=5).fit(measures)
    tw = pickle.loads(pickle.dumps(tw))  # without the distances
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tw.estimate(measures[:3], measures[3:]), range(16)))
    assert all((one == found[0]).all() for one in found)


def test_grid_search_over_methods(words, documents):
    grid = [{"method": ["quadtree", "ctwd", "auto"]}, {"method": ["forest"], "n_trees": [4]}]
    search = GridSearchCV(tp.TreeWasserstein(words), grid, cv=3).fit(documents)
    assert search.best_params_["method"] in ("forest", "auto")
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_graph_grows_forests(words, documents):
    nx = pytest.importorskip("networkx")
    graph = nx.random_geometric_graph(25, 0.6, seed=1)
    graph = nx.compose(graph, nx.path_graph(25))
    tw = tp.TreeWasserstein(graph=graph, weight=None, method="forest", n_trees=3).fit(documents)
    exact = tw.estimate(documents[:9], documents[9:18], accuracy="exact")
    distances = dict(nx.all_pairs_dijkstra_path_length(graph))
    cost = [[distances[i][j] for j in range(25)] for i in range(25)]
    judge = [
        tp.emd(a, b, cost=cost)
        for a, b in zip(normalized(documents)[:9], normalized(documents)[9:18])
    ]
    np.testing.assert_allclose(exact, judge, rtol=1e-9)


def test_names_come_from_columns(words, documents, options_of):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(documents, columns=[f"w{i}" for i in range(25)])
    for method in ("forest", "ctwd", "additive"):
        options = options_of(method, n_trees=2, epochs=1)
        tw = tp.TreeWasserstein(words, method=method, **options).fit(frame)
        assert tw.model_.names == list(frame.columns)
