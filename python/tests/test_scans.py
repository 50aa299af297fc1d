"""Queries against a collection: the collection is laid out once, and never in the place of another."""

import numpy as np
import pytest
import treeport as tp
from scipy import sparse


@pytest.fixture
def words(rng):
    return rng.normal(size=(300, 4))


def documents(rng, count, words=300):
    rows = rng.random((count, words)) * (rng.random((count, words)) < 0.03)
    rows[:, 0] = 1.0  # none is empty
    return sparse.csr_matrix(rows / rows.sum(axis=1, keepdims=True))


def models(words, rng):
    tree = tp.linkage(points=words)
    forest = tp.Forest([tree, tp.linkage(points=words, method="single")])
    fitted = tp.TreeWasserstein(words, method="average").fit(documents(rng, 40))
    return [(tree, tree._raw), (forest, forest._raw), (fitted, fitted.model_._raw)]


def judge(model, query, collection):
    return [model.distance(query, collection[[row]]) for row in range(collection.shape[0])]


def test_measures_are_laid_out_once_for_a_model(words, rng):
    plain = [documents(rng, 80) for _ in range(4)]
    kept = [tp.Measures(rows) for rows in plain]
    queries = documents(rng, 3)
    for model, raw in models(words, rng):
        for query in queries, queries[[1]], queries[1:]:
            for rows, measures in zip(plain, kept):
                found = model.pairwise(query, measures)
                assert found[0] == pytest.approx(judge(model, query[[0]], rows), rel=1e-12)
                assert (model.pairwise(measures, query).T == found).all()
                out = np.empty_like(found)
                assert (model.pairwise(query, measures, out=out) == found).all()
        asked = 3 * 4 * 3  # the query, each time
        assert raw.layouts == asked + len(kept)


def test_a_plain_collection_is_laid_out_once(words, rng):
    collection, query = documents(rng, 80), documents(rng, 1)
    for model, raw in models(words, rng):
        for form in (lambda: collection, collection.toarray, collection.copy):
            for _ in range(2):
                model.pairwise(query, form())
        assert raw.layouts == 6 + 1
        other = documents(rng, 80)
        found = model.pairwise(query, other)
        assert found[0] == pytest.approx(judge(model, query, other), rel=1e-12)
        assert raw.layouts == 7 + 2


def test_a_collection_changed_in_place_is_laid_out_anew(words, rng):
    collection, query = documents(rng, 80).toarray(), documents(rng, 1)
    for model, _ in models(words, rng):
        before = model.pairwise(query, collection)
        collection[7], collection[8] = collection[8].copy(), collection[7].copy()
        after = model.pairwise(query, collection)
        order = np.r_[:7, 8, 7, 9:80]
        assert (after == before[:, order]).all() and (after != before).any()


def test_what_is_not_a_collection_is_not_kept(words, rng):
    tree = tp.linkage(points=words)
    rows = documents(rng, 40)
    for _ in range(2):
        tree.pairwise(rows)
        tree.pairwise(rows, rows)
    assert tree._raw.layouts == 2 * 3


def test_layouts_belong_to_one_model(words, rng):
    measures, query = tp.Measures(documents(rng, 80)), documents(rng, 1)
    expected = {}
    for factor in range(1, 6):  # each goes away, and another may come in its place
        tree = tp.linkage(points=words).scaled(factor)
        expected[factor] = tree.pairwise(query, measures)
        del tree
    for factor, found in expected.items():
        assert found == pytest.approx(factor * expected[1], rel=1e-12)
