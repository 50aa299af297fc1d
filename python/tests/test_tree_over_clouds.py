"""Trees over clouds, and what samples alone make of distances."""

import pickle

import numpy as np
import pytest
import treeport as tp


def patients(count, seed=0, size=60, dim=5, apart=0.2):
    rng = np.random.default_rng(seed)
    clouds = {
        f"P{k}": apart * rng.normal(size=dim) + rng.normal(size=(size + k, dim))
        for k in range(count)
    }
    return tp.Clouds(clouds)


@pytest.fixture(scope="module")
def fitted():
    clouds = patients(14)
    return clouds, tp.TreeWasserstein(method="tree", epochs=20).fit(clouds[:12])


def slow_rows(clouds, points):
    """Masses of clouds at points, looked up one by one."""
    rows = np.zeros((len(clouds), len(points)))
    for row, (masses, at) in zip(rows, clouds):
        for mass, point in zip(masses, at):
            row[np.flatnonzero((points == point).all(axis=1))[0]] += mass
    return rows


def test_clouds_of_the_fit_are_rows_on_all_points(fitted):
    clouds, tw = fitted
    old = clouds[:12]
    assert tw.n_features_in_ == len(old.points) and tw.slack_ == 0
    rows = slow_rows(old, tw.points_)
    found = tw.pairwise(old)
    assert list(found.index) == old.ids
    np.testing.assert_allclose(found.to_numpy(), tw.pairwise(rows), rtol=1e-12)
    exact = tp.emd_pairwise(old).to_numpy()
    off = ~np.eye(12, dtype=bool)
    assert np.abs(found.to_numpy()[off] / exact[off] - 1).mean() < 0.1
    assert tw.transform(old).shape == (12, tw.model_.n_nodes)
    lower, upper = tw.bounds(old[:3], old[3:6], "arcs")
    both = tp.emd_pairs(old, [(0, 3), (1, 4), (2, 5)])
    assert np.all(lower <= both * (1 + 1e-9)) and np.all(both <= upper * (1 + 1e-9))
    np.testing.assert_allclose(tw.estimate(old[:3], old[3:6], "exact"), both, rtol=1e-9)


def test_new_clouds_are_as_far_as_old_ones(fitted, recwarn):
    clouds, tw = fitted
    new, old = clouds[12:], clouds[:12]
    exact = tp.emd_pairwise(clouds).to_numpy()
    found = tw.pairwise(new, old)
    assert (list(found.index), list(found.columns)) == (new.ids, old.ids)
    assert abs((found.to_numpy() / exact[12:, :12] - 1).mean()) < 0.05
    assert abs(tw.distance(new[:1], new[1:]) / exact[12, 13] - 1) < 0.1
    assert tw.distance(new[:1], new[1:]) == tw.distance(new[1:], new[:1])
    assert tw.transform(new).shape[0] == 2
    # The tree of the fit has not changed.
    assert tw.n_features_in_ == len(old.points)
    assert not [one for one in recwarn if one.category is tp.ExtendedTreeWarning]


def test_images_that_are_right_are_not_warned_of(recwarn):
    """Images share the places of their pixels, so few points are new, and pairs of such points say nothing about images."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)

    def image():
        center, width = rng.uniform(1, 6, size=2), rng.uniform(0.8, 1.6)
        masses = np.exp(-((grid - center) ** 2).sum(axis=1) / (2 * width**2))
        seen = masses > rng.uniform(0.05, 0.3)
        return masses[seen], grid[seen] + rng.choice([0.0, 0.5])

    clouds = tp.Clouds([image() for _ in range(50)], normalize=True)
    old, new = clouds[:30], clouds[30:]
    tw = tp.TreeWasserstein(random_state=0, epochs=5).fit(old)
    found, exact = tw.pairwise(new), tp.emd_pairwise(new)
    off = ~np.eye(len(new), dtype=bool)
    ratios = np.asarray(found)[off] / np.asarray(exact)[off]
    assert 0.9 < np.median(ratios) < 1.1
    assert not [one for one in recwarn if one.category is tp.ExtendedTreeWarning]


def test_old_distances_are_the_same_beside_new_clouds(fitted):
    clouds, tw = fitted
    together = tw.pairwise(clouds).to_numpy()
    np.testing.assert_allclose(together[:12, :12], tw.pairwise(clouds[:12]).to_numpy(), rtol=1e-9)
    again = pickle.loads(pickle.dumps(tw))
    np.testing.assert_array_equal(again.pairwise(clouds).to_numpy(), together)


def test_a_net_says_how_coarse_it_is():
    clouds = patients(8)
    tw = tp.TreeWasserstein(max_points=100, epochs=5).fit(clouds)
    assert tw.n_features_in_ == 100 and tw.slack_ > 0
    rows = np.zeros((8, 100))
    ways = 0.0
    for row, (masses, at) in zip(rows, clouds):
        apart = np.linalg.norm(at[:, None] - tw.points_, axis=2)
        np.add.at(row, apart.argmin(axis=1), masses)
        ways += masses @ apart.min(axis=1)
    assert tw.slack_ == pytest.approx(ways / 8)
    np.testing.assert_allclose(tw.pairwise(clouds).to_numpy(), tw.pairwise(rows), rtol=1e-9)


def test_a_later_fit_forgets_clouds(fitted):
    clouds, _ = fitted
    tw = tp.TreeWasserstein(epochs=2).fit(clouds[:4])
    rng = np.random.default_rng(0)
    tw.set_params(points=rng.normal(size=(20, 5))).fit(rng.random((10, 20)))
    assert not hasattr(tw, "points_") and tw.n_features_in_ == 20
    assert tw.pairwise(clouds[:2]).shape == (2, 2)  # any tree over points takes clouds


def test_what_cannot_be_says_why(fitted):
    clouds, tw = fitted
    with pytest.raises(ValueError, match="leave out `points`"):
        tp.TreeWasserstein(points=np.zeros((3, 5))).fit(clouds)
    with pytest.raises(ValueError, match="have 2 coordinates, those of the tree 5"):
        tw.pairwise(tp.Clouds([np.zeros((2, 2))]))
    with pytest.raises(ValueError, match="max_points is 0"):
        tp.TreeWasserstein(max_points=0).fit(clouds)
    with pytest.raises(ValueError, match="max_points makes a net for the metrics"):
        tp.TreeWasserstein(max_points=10, metric="cosine").fit(clouds)
    cost = tp.TreeWasserstein(cost=1 - np.eye(4), n_pairs=3).fit(np.eye(4))
    with pytest.raises(ValueError, match="Clouds need a tree over points with coordinates"):
        cost.pairwise(clouds)


def test_null_distances_are_those_of_two_draws():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(90, 2))
    rows = np.kron(np.eye(3), np.full((1, 30), 1 / 30))
    clouds = tp.Clouds([points[:30], points[30:60], points[60:]])
    found = tp.null_distance(clouds, n_points=10)
    assert found == pytest.approx(tp.null_distance(rows, points, n_points=10))
    generator, expected = np.random.default_rng(0), []
    for first in (0, 30, 60):
        drawn = generator.permutation(np.arange(30))[:20]
        at = points[first : first + 30]
        equal = np.full(10, 0.1)
        expected.append(tp.emd(equal, equal, at[drawn[:10]], at[drawn[10:]]))
    assert tp.null_distance(clouds, n_points=10, random_state=0) == pytest.approx(np.mean(expected))
    assert np.isnan(tp.null_distance(tp.Clouds([[[0.0, 1.0]]])))
    with pytest.warns(
        UserWarning, match="samples of 20 points need a group of 40; 3 of 3 groups are smaller"
    ):
        assert tp.null_distance(clouds, n_points=20) == tp.null_distance(clouds)
    with pytest.raises(ValueError, match="n_points is 0"):
        tp.null_distance(clouds, n_points=0)
    with pytest.raises(ValueError, match="live on 90 points, and there are 30"):
        tp.null_distance(rows, points[:30])


def test_drawn_cells_say_what_the_draw_makes():
    pandas = pytest.importorskip("pandas")
    from types import SimpleNamespace

    rng = np.random.default_rng(0)
    obs = pandas.DataFrame(
        {"patient": np.repeat(list("abcdef"), 80)}, index=[f"c{k}" for k in range(480)]
    )
    at = rng.normal(size=(480, 4)) + np.repeat(rng.normal(size=(6, 4)), 80, axis=0)
    cells = SimpleNamespace(obs=obs, obs_names=obs.index, obsm={"X_pca": at})
    tw = tp.TreeWasserstein(at, epochs=10)
    assert tw.fit(tp.Measures.from_anndata(cells, "patient")).sampling_ is None
    tw.fit(tp.Measures.from_anndata(cells, "patient", n_cells=20))
    whole = tp.Measures.from_anndata(cells, "patient")
    exact = tp.emd_pairwise(whole, points=at).to_numpy()
    off = ~np.eye(6, dtype=bool)
    error = np.abs(tw.pairwise(whole).to_numpy()[off] / exact[off] - 1).mean()
    assert tw.sampling_["error"] == pytest.approx(error)
    assert (
        0
        < tw.sampling_["null_distance"]
        == pytest.approx(tp.null_distance(whole, at, n_points=20), rel=0.2)
    )
