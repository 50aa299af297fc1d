"""New points on trees that stay as they are."""

import numpy as np
import pytest
import treeport as tp
from scipy.spatial.distance import cdist
from treeport import _core, _extended


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(60, 3))
    rows = rng.poisson(0.4, size=(80, 60))
    rows[:, 0] += 1
    return points, rows, tp.TreeWasserstein(points=points[:50], n_pairs=100).fit(rows[:, :50])


@pytest.mark.parametrize("method", ["auto", "forest"])
def test_old_distances_stay_and_new_points_are_like_their_neighbors(fitted, method):
    points, rows, _ = fitted
    tw = tp.TreeWasserstein(points=points[:50], method=method, n_pairs=60).fit(rows[:, :50])
    larger = tw.extend(points[50:])
    wide = np.hstack([rows[:, :50], np.zeros((80, 10))])
    np.testing.assert_allclose(
        larger.pairwise(wide), tw.pairwise(rows[:, :50]), rtol=1e-9, atol=1e-12
    )
    # Better than a guess: all mass of new points where their nearest old point is would be one.
    exact = tp.emd_pairs(rows / rows.sum(1, keepdims=True), [(0, 1), (2, 3), (4, 5)], points=points)
    guess = larger.paired(rows[[0, 2, 4]], rows[[1, 3, 5]])
    assert np.all(np.abs(guess / exact - 1) < 0.5)
    assert larger.bounds(rows[:3], rows[3:6])[0].shape == (3,)
    assert tw.n_features_in_ == 50


def test_trees_take_distances(fitted):
    points, rows, tw = fitted
    by_distances = tw.model_.extend(cdist(points[50:], points[:50]))
    assert by_distances == tw.model_.extend(cdist(points[50:], points[:50]), n_jobs=1)
    assert by_distances.n_points == tw.extend(points[50:]).model_.n_points


def test_any_number_of_threads_gives_the_same_tree(fitted):
    points, rows, _ = fitted
    trees = [
        tp.TreeWasserstein(points=points[:50], n_pairs=60, n_jobs=n)
        .fit(rows[:, :50])
        .extend(points[50:])
        .model_
        for n in (1, 2)
    ]
    assert trees[0] == trees[1]


def errors_of(model, rows, points, old):
    """Mean signed relative error of pairs of measures with none, one and two that are new."""
    pairs = np.array([(i, j) for j in range(len(rows)) for i in range(j)])
    exact = tp.emd_pairs(rows, pairs, points=points)
    errors = model.paired(rows[pairs[:, 0]], rows[pairs[:, 1]]) / exact - 1
    kind = np.count_nonzero(pairs >= old, axis=1)
    return [errors[kind == new].mean() for new in range(3)]


def test_measures_wholly_on_new_points_are_not_too_near(recwarn):
    # Groups of 100 normal points in R¹⁰, means a little apart: −0.11 and −0.25 where new points do not see each other.
    rng = np.random.default_rng(0)
    points = np.concatenate(
        [0.1 * rng.normal(size=10) + rng.normal(size=(100, 10)) for _ in range(12)]
    )
    rows = np.kron(np.eye(12), np.full((1, 100), 0.01))
    tw = tp.TreeWasserstein(points=points[:1000]).fit(rows[:10, :1000])
    assert tw.support_ == 100
    assert np.abs(errors_of(tw.extend(points[1000:]), rows, points, 10)[1:]).max() < 0.06
    assert (
        np.abs(errors_of(tw.extend(points[1000:], measures=rows), rows, points, 10)[1:]).max()
        < 0.03
    )
    assert not [one for one in recwarn if one.category is tp.ExtendedTreeWarning]
    with pytest.raises(ValueError, match="live on 1200 points, the tree or metric on 1100"):
        tw.extend(points[1000:1100], measures=rows)


def test_names_are_asked_for_and_kept():
    tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
    larger = tree.extend([[3.0, 1.0, 6.0], [6.0, 6.0, 0.5]], names=["wolf", "owl"])
    assert larger.names == ["cat", "dog", "bird", "wolf", "owl"]
    for call, said in [
        (lambda: tree.extend([[3.0, 1.0, 6.0]]), "give `names`"),
        (
            lambda: tree.extend([[3.0, 1.0, 6.0]], names=["cat"]),
            "there is a point called cat already",
        ),
        (lambda: tree.extend([[3.0, 1.0, 6.0]], names=["a", "b"]), "2 names for 1 new points"),
        (
            lambda: tree.extend([[3.0, 1.0]], names=["wolf"]),
            "2 columns; one is needed for each of 3 points",
        ),
        (lambda: tree.extend([[3.0, -1.0, 2.0]], names=["wolf"]), "-1 away from point 1"),
    ]:
        with pytest.raises(ValueError, match=said):
            call()


def test_what_cannot_be_extended_says_why(fitted):
    points, rows, tw = fitted
    with pytest.raises(ValueError, match="rows of 3"):
        tw.extend([[1.0, 2.0]])
    with pytest.raises(ValueError, match="have no names"):
        tw.extend(points[50:51], names=["new"])
    other = tp.TreeWasserstein(cost=cdist(points[:50], points[:50]), n_pairs=20).fit(rows[:, :50])
    with pytest.raises(ValueError, match="extend needs a fit with `points`"):
        other.extend(points[50:])


@pytest.mark.filterwarnings("error")  # as of scikit-learn about names of features
def test_names_of_frames(fitted):
    pandas = pytest.importorskip("pandas")
    points, rows, _ = fitted
    names = [f"w{k}" for k in range(60)]
    frame = pandas.DataFrame(rows[:, :50], columns=names[:50])
    tw = tp.TreeWasserstein(points=points[:50], n_pairs=20).fit(frame)
    larger = tw.extend(pandas.DataFrame(points[50:], index=names[50:]))
    whole = pandas.DataFrame(rows, columns=names)
    assert larger.model_.names == names
    np.testing.assert_array_equal(
        larger.pairwise(whole), larger.model_.pairwise(whole, normalize=True)
    )


def test_haversine_is_that_of_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(0)
    places = np.column_stack([rng.uniform(-90, 90, 30), rng.uniform(-180, 180, 30)])
    a, b = rng.dirichlet(np.ones(30), size=2)
    km = 6371.0088 * pairwise.haversine_distances(np.radians(places))
    np.fill_diagonal(km, 0)
    expected = tp.emd(a, b, cost=(km + km.T) / 2)
    assert tp.emd(a, b, points=places, metric="haversine") == pytest.approx(expected, rel=1e-9)
    rows = rng.dirichlet(np.ones(30), size=40)
    tw = tp.TreeWasserstein(points=places, metric="haversine", n_pairs=50).fit(rows)
    lower, upper = tw.bounds(rows[:5], rows[5:10], "arcs")
    exact = tw.estimate(rows[:5], rows[5:10], "exact")
    assert np.all(lower <= exact * (1 + 1e-9)) and np.all(exact <= upper * (1 + 1e-9))
    with pytest.raises(ValueError, match="latitude 95"):
        tp.emd([1.0, 0.0], [0.0, 1.0], points=[[95.0, 0.0], [0.0, 0.0]], metric="haversine")


def test_every_metric_of_points_is_documented_and_measures():
    for name, _ in _core.point_metrics():
        for documented in (tp.solve, tp.emd, tp.TreeWasserstein, tp.WassersteinNeighbors):
            assert f'"{name}"' in documented.__doc__ and "{metrics}" not in documented.__doc__
        assert tp.emd([1.0, 0.0], [0.0, 1.0], points=[[10.0, 20.0], [30.0, 50.0]], metric=name) > 0


def test_new_points_far_from_all_old_ones_stay_together(recwarn):
    rng = np.random.default_rng(3)
    old, rows = rng.normal(size=(40, 2)), rng.poisson(0.5, size=(30, 40)) + np.eye(30, 40)
    tw = tp.TreeWasserstein(points=old, epochs=5).fit(rows)
    cluster = 100 + 0.01 * rng.normal(size=(20, 2))
    larger = tw.extend(cluster)
    points = np.eye(60)
    assert 0 < larger.distance(points[40], points[41]) < 1
    assert 70 < larger.distance(points[0], points[41]) < 280
    assert not [one for one in recwarn if one.category is tp.ExtendedTreeWarning]


def test_distances_outside_their_bounds_are_warned_of():
    rng = np.random.default_rng(3)
    old, rows = rng.normal(size=(40, 2)), rng.poisson(0.5, size=(30, 40)) + np.eye(30, 40)
    larger = tp.TreeWasserstein(points=old, epochs=5).fit(rows).extend(rng.normal(size=(20, 2)))
    larger._set_model(larger.model_.scaled(0.1)._raw)
    with pytest.warns(
        tp.ExtendedTreeWarning, match="of 32 sampled pairs .* factor of [0-9.e+]+ in the median"
    ):
        _extended._tell(_extended._factors(larger, _extended._sampled(np.arange(40, 60), 60)), 1.0)


def test_new_points_among_old_ones_are_not(recwarn):
    rng = np.random.default_rng(3)
    old, rows = rng.normal(size=(60, 2)), rng.poisson(0.5, size=(40, 60)) + np.eye(40, 60)
    tw = tp.TreeWasserstein(points=old, epochs=5).fit(rows)
    new = old[:10] + 0.01 * rng.normal(size=(10, 2))
    tw.extend(new)
    tw.extend(new[:1])
    assert not [one for one in recwarn if one.category is tp.ExtendedTreeWarning]
