"""Estimates between clouds without a tree over their points."""

import pickle

import numpy as np
import pytest
import treeport as tp


def clouds(count, seed, dim=2, scale=1.0, ids=None):
    """Clouds of 5 to 30 points around a few centers."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        size = rng.integers(5, 31)
        centers = rng.normal(size=(3, dim))
        points = centers[rng.integers(0, 3, size)] + 0.2 * rng.normal(size=(size, dim))
        made.append((rng.dirichlet(np.ones(size)), scale * points))
    return tp.Clouds(made, ids=ids)


@pytest.fixture(scope="module", params=["space", "lifted", "rg"])
def fitted(request):
    return tp.TreeWasserstein(method=request.param, n_pairs=100).fit(clouds(40, 0))


def test_new_clouds_are_close_to_exact(fitted):
    new = clouds(20, 1)
    exact, found = tp.emd_pairwise(new), fitted.pairwise(new)
    apart = ~np.eye(20, dtype=bool)
    error = np.mean(np.abs(found - exact)[apart] / exact[apart])
    assert error < {"space": 0.12, "lifted": 0.06, "rg": 0.12}[fitted.method_]
    assert fitted.score(new) == pytest.approx(-error, abs=0.02)
    assert fitted.space_.error == pytest.approx(error, abs=0.04)
    assert (found == found.T).all() and (np.diag(found) == 0).all()
    assert not hasattr(fitted, "tree_") and "TreeWasserstein" in fitted._repr_html_()
    with pytest.raises(AttributeError, match='has no tree; fit with method="tree"'):
        _ = fitted.tree_
    with pytest.raises(AttributeError, match='has no tree; fit with method="tree"'):
        _ = fitted.model_
    with pytest.raises(ValueError, match="needs no new points: give it new clouds"):
        fitted.extend([[0.0, 0.0]])


def test_all_answers_agree(fitted):
    a, b = clouds(6, 2), clouds(6, 3)
    table = fitted.pairwise(a, b)
    assert (fitted.paired(a, b) == np.diag(table)).all()
    assert fitted.distance(a[:1], b[:1]) == table[0, 0]
    distances, numbers = fitted.kneighbors(a, b, 2)
    assert (np.take_along_axis(table, numbers, axis=1) == distances).all()
    assert (distances[:, 0] == table.min(axis=1)).all()
    _, others = fitted.kneighbors(a, n_neighbors=5)
    assert (others != np.arange(6)[:, None]).all()
    named = fitted.pairwise(clouds(2, 4, ids=["x", "y"]))
    assert list(named.index) == list(named.columns) == ["x", "y"]


def test_rows_have_the_distances_of_pairs():
    tw = tp.TreeWasserstein(method="space", n_pairs=60).fit(clouds(40, 0))
    one, more = clouds(8, 5), clouds(3, 6)
    rows = tw.transform(one)
    # Columns do not depend on what else is in a call.
    both = tw.transform(tp.Clouds.concat([more, one]))
    assert (both[3:] != rows).nnz == 0
    table = tw.pairwise(one)
    for i in range(8):
        for j in range(i):
            l1 = abs(rows[[i]] - rows[[j]]).sum()
            assert 0.95 * table[i, j] < l1 <= table[i, j] * (1 + 1e-9)


def test_bounds_are_certified():
    a, b = clouds(15, 2), clouds(15, 3)
    exact = np.array([tp.emd(x[0], y[0], x[1], y[1]) for x, y in zip(a, b)])
    tw = tp.TreeWasserstein(method="lifted", n_pairs=60).fit(clouds(40, 0))
    lower, upper = tw.bounds(a, b)
    assert (lower <= exact * (1 + 1e-9)).all() and (exact <= upper * (1 + 1e-9)).all()
    found = tw.paired(a, b)
    assert (lower <= found).all() and (found <= upper).all()
    assert ((upper - lower) / exact).max() < 1
    with pytest.raises(ValueError, match="lifted"):
        tp.TreeWasserstein(method="space", n_pairs=20).fit(a).bounds(a, b)


def test_a_saved_model_gives_the_same(fitted, tmp_path):
    path, new = tmp_path / "clouds.space", clouds(5, 7)
    fitted.save(path)
    loaded = tp.load(path)
    copied = pickle.loads(pickle.dumps(fitted))
    for again in (loaded, copied):
        assert (again.pairwise(new) == fitted.pairwise(new)).all()
        assert again.space_ == fitted.space_
    (tmp_path / "other.space").write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="bytes of data"):
        tp.load(tmp_path / "other.space")


def test_known_distances_and_totals():
    some = clouds(12, 0)
    pairs = np.array([(i, j) for i in range(12) for j in range(i)])
    known = tp.emd_pairs(some, pairs=pairs)
    one = tp.TreeWasserstein(method="space").fit(some, pairs=pairs, distances=known)
    assert one.n_pairs_ == 66
    ten = tp.Clouds([(10 * masses, points) for masses, points in some])
    heavy = tp.TreeWasserstein(method="space", normalize=False)
    heavy.fit(ten, pairs=pairs, distances=10 * known)
    assert np.allclose(heavy.pairwise(ten), 10 * one.pairwise(some), rtol=1e-6)
    with pytest.raises(ValueError, match="equal masses"):
        heavy.paired(some[:3], ten[:3])


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "cosine"])
def test_other_metrics(metric):
    tw = tp.TreeWasserstein(method="lifted", metric=metric, n_pairs=60).fit(clouds(30, 0))
    assert tw.score(clouds(12, 1)) > -0.12
    assert tw.space_.metric == metric


def test_periods():
    tw = tp.TreeWasserstein(method="lifted", period=3.0, n_pairs=60).fit(clouds(30, 0))
    new = clouds(10, 1)
    moved = tp.Clouds([(masses, points + 3.0) for masses, points in new])
    assert np.allclose(tw.pairwise(new), tw.pairwise(moved), rtol=1e-9)
    assert tw.score(new) > -0.12


def test_auto_needs_no_tree_over_many_points():
    rng = np.random.default_rng(0)
    many = tp.Clouds(rng.normal(size=(30, 200, 2)) + rng.normal(size=(30, 1, 2)))
    tw = tp.TreeWasserstein(n_pairs=30).fit(many)
    assert tw.method_ == "space" and not hasattr(tw, "tree_")
    # An option of trees asks for one.
    tw = tp.TreeWasserstein(n_pairs=30, epochs=1, method="tree").fit(many[:5])
    assert tw.method_ == "tree" and not hasattr(tw, "space_")


def test_auto_takes_what_expects_the_smaller_error():
    some = clouds(40, 0)
    tw = tp.TreeWasserstein(n_pairs=100).fit(some)
    assert tw.method_ == "space"
    assert tw.score(clouds(20, 1)) > -0.12
    same = tw.pairwise(some)
    again = tp.TreeWasserstein(method="space", n_pairs=100).fit(some)
    assert (again.pairwise(some) == same).all()
    assert np.allclose(again.pairwise(same_of(some)), same, rtol=1e-12)
    tw.fit(np.eye(6), pairs=[(0, 1)], distances=[1.0])
    assert not hasattr(tw, "space_")
    # Few points that all clouds share are better fitted by a tree.
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    shared = tp.Clouds([(rng.dirichlet(np.ones(3)), places) for _ in range(30)])
    tw = tp.TreeWasserstein(n_pairs=100).fit(shared)
    assert tw.method_ == "auto" and not hasattr(tw, "space_")


def same_of(clouds):
    """The clouds with their points in reversed order."""
    return tp.Clouds([(masses[::-1], points[::-1]) for masses, points in clouds])


def test_what_does_not_fit_is_refused(fitted):
    with pytest.raises(ValueError, match="2 coordinates, like those of the fit"):
        fitted.pairwise(clouds(2, 0, dim=3))
    with pytest.raises(ValueError, match="needs a tree"):
        fitted.coupling(clouds(1, 0), clouds(1, 1))
    with pytest.raises(TypeError, match="give Clouds"):
        fitted.pairwise(np.eye(3))
    with pytest.raises(ValueError, match="is for Clouds"):
        tp.TreeWasserstein(method=fitted.method_).fit(np.eye(3))
    with pytest.raises(ValueError, match="leave out `points`"):
        tp.TreeWasserstein(np.eye(3), method=fitted.method_).fit(clouds(4, 0))
    with pytest.raises(ValueError, match="take euclidean"):
        tp.TreeWasserstein(method=fitted.method_, metric="sqeuclidean").fit(clouds(4, 0))
    if fitted.method_ != "space":
        with pytest.raises(ValueError, match="fit `space`"):
            fitted.transform(clouds(2, 0))
