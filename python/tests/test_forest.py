"""Forests of one's own."""

import pickle

import numpy as np
import pytest
import treeport as tp
from scipy.spatial.distance import cdist


@pytest.fixture
def forest(rng):
    trees = [tp.linkage(points=rng.normal(size=(12, 2))) for _ in range(3)]
    return tp.Forest(trees, weights=[1, 2, 5])


def test_a_forest_is_the_weighted_mean_of_its_trees(forest, rng):
    A, B = rng.dirichlet(np.ones(12), size=7), rng.dirichlet(np.ones(12), size=5)
    np.testing.assert_allclose(forest.weights, [0.125, 0.25, 0.625])
    judge = sum(w * tree.pairwise(A, B) for w, tree in zip(forest.weights, forest.trees))
    np.testing.assert_allclose(forest.pairwise(A, B), judge, rtol=1e-12)
    rows = forest.embed(A).toarray()
    assert rows.shape == (7, forest.n_nodes)
    np.testing.assert_allclose(cdist(rows, rows, "cityblock"), forest.pairwise(A), atol=1e-12)
    np.testing.assert_allclose(forest.paired(A[:5], B), np.diag(judge), rtol=1e-12)
    assert forest.distance(A[1], B[2]) == pytest.approx(judge[1, 2], rel=1e-12)
    np.testing.assert_allclose(forest.scaled(2).pairwise(A, B), 2 * judge, rtol=1e-12)


def test_forests_in_files_and_pickles(forest, tmp_path):
    path = tmp_path / "model.forest"
    forest.save(path)
    assert tp.Forest.load(path) == forest == pickle.loads(pickle.dumps(forest))
    assert forest != tp.Forest(forest.trees) and forest != 3
    assert tp.load(path).forest_ == forest
    assert repr(forest) == "Forest(n_trees=3, n_points=12)"
    plan = tp.load(path).coupling(np.eye(12)[0], np.eye(12)[1])
    assert (plan.toarray() == forest.coupling(np.eye(12)[0], np.eye(12)[1]).toarray()).all()
    with pytest.raises(ValueError, match="the file has no ground metric; give one"):
        tp.load(path).estimate(np.eye(12), np.eye(12))
    with pytest.raises(ValueError, match="holds a forest; read it with `Forest.load`"):
        tp.Tree.load(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="model.forest` is "):
        tp.load(path)
    forest.trees[0].save(path)
    with pytest.raises(ValueError, match="holds a tree; read it with `Tree.load`"):
        tp.Forest.load(path)
