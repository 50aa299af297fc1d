"""Tables of BIOM and phylogenies of scikit-bio, judged by scikit-bio."""

import io
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse

skbio = pytest.importorskip("skbio", reason="scikit-bio has no wheel for this Python")
biom = pytest.importorskip("biom", reason="it comes with scikit-bio")

TIPS = [f"t{k}" for k in range(40)]


# The table has 25 of the 40 tips of the tree.
LACKS_TIPS = partial(pytest.warns, tp.MissingColumnsWarning, match="15 of 40 points have no column")


@pytest.fixture(scope="module")
def node():
    """A phylogeny whose inner nodes have no names."""
    rng = np.random.default_rng(4)
    parts = [f"{tip}:{rng.random():.4f}" for tip in TIPS]
    while len(parts) > 1:
        first, second = parts.pop(0), parts.pop(int(rng.integers(len(parts))))
        parts.append(f"({first},{second}):{rng.random():.4f}")
    return skbio.TreeNode.read(io.StringIO(parts[0].rsplit(":", 1)[0] + ";"))


@pytest.fixture(scope="module")
def tree(node):
    return tp.Tree.from_skbio(node)


@pytest.fixture(scope="module")
def table():
    """Counts of some of the tips, not in the order of the tree."""
    rng = np.random.default_rng(5)
    kept = rng.permutation(40)[:25]
    counts = rng.poisson(0.5, size=(25, 12)) * rng.integers(1, 9, size=(25, 12))
    counts[0] += 1
    return biom.Table(counts, [TIPS[k] for k in kept], [f"s{k}" for k in range(12)])


def judge(table, node, **options):
    counts = table.matrix_data.T.toarray().astype(int)
    taxa = list(table.ids("observation"))
    return skbio.diversity.beta_diversity(
        "weighted_unifrac", counts, ids=table.ids(), taxa=taxa, tree=node, validate=False, **options
    )


def test_trees_of_scikit_bio_are_trees(node, tree):
    assert sorted(tree.names) == sorted(TIPS)
    ends = np.eye(40)
    theirs = node.cophenet()
    ours = pd.DataFrame(tree.pairwise(ends), tree.names, tree.names)
    np.testing.assert_allclose(ours.loc[theirs.ids, theirs.ids], theirs.data, atol=1e-12)
    assert tp.Tree.from_skbio(node, names=TIPS).names == TIPS


def test_trees_that_lack_something_say_what():
    def read(text):
        return skbio.TreeNode.read(io.StringIO(text))

    with pytest.raises(ValueError, match="edge above the tip b has no length.*`length = 0`"):
        tp.Tree.from_skbio(read("((a:1,b):1,c:1);"))
    with pytest.raises(
        ValueError, match="edge above the node with the tips a, b, c, … has no length"
    ):
        tp.Tree.from_skbio(read("((a:1,b:1,c:1,d:1),e:1);"))
    with pytest.raises(ValueError, match="a tip has no name"):
        tp.Tree.from_skbio(read("((a:1,:1):1,c:1);"))
    with pytest.raises(ValueError, match="two tips are called a"):
        tp.Tree.from_skbio(read("((a:1,a:1):1,c:1);"))
    with pytest.raises(ValueError, match="edge above the tip a has length -1"):
        tp.Tree.from_skbio(read("((a:-1,b:1):1,c:1);"))
    with pytest.raises(TypeError, match="of type str; .*from_newick"):
        tp.Tree.from_skbio("(a:1,b:1);")
    with pytest.raises(ValueError, match="not among the names"):
        tp.Tree.from_skbio(read("(a:1,b:1);"), names=["a", "c"])
    deep = "(" * 5000 + "a:1" + "):1" * 4999 + ");"
    assert tp.Tree.from_skbio(read(deep)).n_nodes == 5001


def test_unifrac_of_a_table_is_that_of_scikit_bio(node, tree, table):
    theirs = judge(table, node)
    for counts in (table, tp.Measures(table), pickle.loads(pickle.dumps(tp.Measures(table)))):
        with LACKS_TIPS():
            ours, plain = tree.unifrac(counts), tree.pairwise(counts, normalize=True)
        assert list(ours.index) == list(ours.columns) == list(table.ids())
        np.testing.assert_allclose(ours, theirs.data, atol=1e-12)
        back = tp.to_skbio(ours)
        assert back.ids == theirs.ids
        np.testing.assert_allclose(back.data, theirs.data, atol=1e-12)
        np.testing.assert_allclose(plain, theirs.data, atol=1e-12)
        assert list(plain.columns) == list(table.ids())


def test_a_reference_tree_has_more_tips_than_a_table(node, tree, table):
    """What the table does not name has no mass: as if the tree were pruned."""
    kept = list(table.ids("observation"))
    pruned = tp.Tree.from_skbio(node.shear(kept))
    frame = pd.DataFrame(table.matrix_data.T.toarray(), table.ids(), kept)
    expected = pruned.pairwise(frame, normalize=True)
    first, second = frame.iloc[0], frame.iloc[1]
    with LACKS_TIPS():
        for counts in (frame, table, tp.Measures(frame)):
            np.testing.assert_allclose(tree.pairwise(counts, normalize=True), expected, atol=1e-12)
            np.testing.assert_allclose(
                tree.cross(counts, frame[3:5], normalize=True), expected.iloc[:, 3:5], atol=1e-12
            )
            np.testing.assert_allclose(tree.paired(counts, counts, normalize=True), 0, atol=1e-12)
            distances, numbers = tree.kneighbors(counts, n_neighbors=1, normalize=True)
            np.testing.assert_allclose(distances[:, 0], np.sort(expected, axis=1)[:, 1], atol=1e-12)
            assert tree.embed(counts, normalize=True).shape == (12, tree.n_nodes)
        assert tree.distance(first, second, normalize=True) == pytest.approx(expected.iloc[0, 1])
        plan = tree.coupling(first, second, normalize=True)
        assert plan.shape == (40, 40) and plan.sum() == pytest.approx(1)
        with pytest.raises(ValueError, match="equal masses"):
            tree.pairwise(table)


def test_features_that_are_not_in_the_tree_are_named(tree, table):
    renamed = biom.Table(
        table.matrix_data, ["x1", "x2", *table.ids("observation")[2:]], table.ids()
    )
    for rows in (renamed, tp.Measures(renamed)):
        for call in (tree.unifrac, tree.pairwise, tree.embed):
            with pytest.raises(ValueError, match="2 of 25 columns name no point, such as x1, x2$"):
                call(rows)
    turned = pd.DataFrame(table.matrix_data.toarray(), table.ids("observation"), table.ids())
    with pytest.raises(
        ValueError, match="such as s0, s1, s2; the rows name points, so transpose the table"
    ):
        tree.unifrac(turned)
    with pytest.raises(
        ValueError, match=r"transpose the table \(`.T`, of a biom.Table `.transpose\(\)`\)"
    ):
        tree.unifrac(table.transpose())


def test_samples_without_counts_are_named(tree, table):
    counts = table.matrix_data.toarray()
    counts[:, [2, 5]] = 0
    samples = biom.Table(counts, table.ids("observation"), table.ids())
    no_mass = "2 of 12 rows have no mass, such as s2, s5; drop them"
    with LACKS_TIPS():
        with pytest.raises(ValueError, match=no_mass):
            tree.pairwise(samples, normalize=True)
        found = tree.unifrac(samples, "unweighted")
    assert found.loc["s2", "s5"] == 0 and found.loc["s2", "s0"] == 1


def test_estimators_take_tables(table, rng):
    points = rng.normal(size=(25, 3))
    rows = np.asarray(table.matrix_data.T.todense())
    plain = tp.TreeWasserstein(points, epochs=2).fit(rows)
    tw = tp.TreeWasserstein(points, epochs=2).fit(table)
    names = list(table.ids("observation"))
    assert tw.model_.names == names == list(tw.feature_names_in_)
    assert (tw.pairwise(table).to_numpy() == plain.pairwise(rows)).all()
    # Others may have fewer features, in any order.
    some = table.filter(names[20:3:-2], axis="observation", inplace=False)
    some = some.filter(lambda counts, *_: counts.sum() > 0, inplace=False)
    whole = pd.DataFrame(some.matrix_data.T.toarray(), some.ids(), some.ids("observation"))
    whole = whole.reindex(columns=names, fill_value=0)
    fewer = partial(pytest.warns, tp.MissingColumnsWarning, match="16 of 25 points have no column")
    for given in (some, tp.Measures(some)):
        with fewer():
            found, rows_of_some = tw.pairwise(given), tw.transform(given)
        assert list(found.index) == list(some.ids())
        np.testing.assert_allclose(found, plain.pairwise(whole.to_numpy()), atol=1e-12)
        assert rows_of_some.shape == (len(whole), tw.model_.n_nodes)
    neighbors = tp.WassersteinNeighbors(points, n_neighbors=2).fit(table)
    again = tp.WassersteinNeighbors(points, n_neighbors=2).fit(rows)
    assert (neighbors.kneighbors(table)[1] == again.kneighbors(rows)[1]).all()
    with fewer():
        distances, _ = neighbors.kneighbors(some)
    np.testing.assert_allclose(distances, again.kneighbors(whole.to_numpy())[0], atol=1e-12)
    pairs = [(0, 1), (2, 7)]
    ones = tp.Measures(
        sparse.csr_array(rows / rows.sum(1, keepdims=True)), ids=table.ids(), names=names
    )
    np.testing.assert_allclose(
        tp.emd_pairs(ones, pairs, points=points), tp.emd_pairs(ones._rows(), pairs, points=points)
    )


def test_measures_know_what_they_are_called(table):
    measures = tp.Measures(table)
    assert list(measures.ids) == list(table.ids()) and measures.names == list(
        table.ids("observation")
    )
    assert tp.Measures([[1, 2]]).ids is None and tp.Measures([[1, 2]]).names is None
    with pytest.raises(ValueError, match="1 IDs for 2 measures"):
        tp.Measures([[1, 2], [1, 3]], ids=["a"])
    with pytest.raises(ValueError, match="3 names for 2 points"):
        tp.Measures([[1, 2], [1, 3]], names=["a", "b", "c"])
