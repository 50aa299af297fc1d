"""The cases that scikit-bio tests its UniFrac by: with values worked out by hand, and the same from scikit-bio itself."""

import io

import numpy as np
import pandas as pd
import pytest
import treeport as tp
from skbio import TreeNode
from skbio.diversity.beta import unweighted_unifrac, weighted_unifrac

#        ┌── a 1
#   ┌─2──┤
#   │    └── b 3
# ──┤    ┌── c 1
#   └─1──┤
#        └── d 2
TREE = "((a:1,b:3):2,(c:1,d:2):1);"
# The same with tips that no sample has.
MORE_TIPS = "((a:1,(b:2,x:4):1):2,(c:1,(d:2,(y:1,z:5):3):0):1);"
NAMES = list("abcd")
SAMPLES = {
    "left": [1, 1, 0, 0],
    "a": [3, 0, 0, 0],
    "right": [0, 0, 2, 2],
    "all": [1, 1, 1, 1],
    "none": [0, 0, 0, 0],
    "nothing": [0, 0, 0, 0],
}
# Length of one over length of either; Σ l |p − q|; the same over the sum of both depths.
CASES = [
    ("left", "a", 3 / 6, 0.5 * 1 + 0.5 * 3, 2.0 / (4 + 3)),
    ("left", "right", 1.0, 6.5, 1.0),
    ("left", "all", 4 / 10, 0.25 * (1 + 3 + 1 + 2) + 0.5 * (2 + 1), 3.25 / (4 + 3.25)),
    ("a", "all", 7 / 10, 0.75 + 0.25 * (3 + 1 + 2) + 0.5 * (2 + 1), 3.75 / (3 + 3.25)),
    ("right", "all", 6 / 10, 0.25 * (1 + 3 + 1 + 2) + 0.5 * (2 + 1), 3.25 / (2.5 + 3.25)),
    # All shares of a sample without counts are 0.
    ("left", "none", 1.0, 4.0, 1.0),
    ("all", "none", 1.0, 3.25, 1.0),
    ("none", "nothing", 0.0, 0.0, 0.0),
]
VARIANTS = ["unweighted", "weighted", "weighted-normalized"]


def theirs(variant, a, b, names=NAMES, tree=TREE):
    node = TreeNode.read(io.StringIO(tree))
    if variant == "unweighted":
        return unweighted_unifrac(a, b, names, node)
    return weighted_unifrac(a, b, names, node, normalized=variant == "weighted-normalized")


def frame(order=NAMES):
    return pd.DataFrame(SAMPLES, index=NAMES).T[list(order)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_values(variant):
    ours = tp.Tree.from_newick(TREE).unifrac(frame(), variant)
    for one, other, *values in CASES:
        expected = values[VARIANTS.index(variant)]
        assert ours.loc[one, other] == ours.loc[other, one] == pytest.approx(expected, abs=1e-15)
        assert theirs(variant, SAMPLES[one], SAMPLES[other]) == pytest.approx(expected, abs=1e-12)
    assert (np.diag(ours) == 0).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_order_of_taxa_and_tips_without_counts_do_not_matter(variant):
    expected = tp.Tree.from_newick(TREE).unifrac(frame(), variant)
    np.testing.assert_allclose(
        tp.Tree.from_newick(TREE).unifrac(frame("dbac"), variant), expected, atol=1e-15
    )
    with pytest.warns(tp.MissingColumnsWarning, match="3 of 7 points have no column"):
        found = tp.Tree.from_newick(MORE_TIPS).unifrac(frame("dbac"), variant)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("variant", VARIANTS)
def test_edges_above_all_that_is_there_count(variant):
    """Both samples live on one side: the edge from there to the root is theirs as well."""
    a, b = [1, 0, 0, 0], [1, 1, 0, 0]
    found = tp.Tree.from_newick(TREE).unifrac([a, b], variant)[0, 1]
    expected = {"unweighted": 3 / (1 + 3 + 2), "weighted": 2.0, "weighted-normalized": 2 / (3 + 4)}[
        variant
    ]
    assert found == pytest.approx(expected, abs=1e-15)
    assert theirs(variant, a, b) == pytest.approx(expected, abs=1e-12)


def test_samples_without_counts_on_the_smallest_tree():
    tree = tp.Tree.from_newick("(a:0.25,b:0.25);")
    rows = [[1, 0], [0, 0]]
    assert tree.unifrac(rows, "unweighted")[0, 1] == 1.0
    assert tree.unifrac(rows, "weighted")[0, 1] == 0.25
    deep = tp.Tree.from_newick("(((((a:0.5,b:0.5):0.5,c:1):1):0,(d:0.75,e:0.75):1.25):0);")
    rows = [[1, 1, 1, 0, 0], [0] * 5, [0] * 5]
    assert deep.unifrac(rows, "weighted").tolist() == [[0, 2, 2], [2, 0, 0], [2, 0, 0]]
    assert deep.unifrac(rows, "weighted-normalized").tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    for variant in ("generalized", "variance-adjusted"):
        assert deep.unifrac(rows, variant).tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
    assert tree.unifrac([[0, 0]]).tolist() == [[0]]


def test_samples_without_counts_by_every_route(tmp_path):
    tree = tp.Tree.from_newick(TREE)
    expected = tree.unifrac(frame())
    frame().to_csv(tmp_path / "table.csv", index_label="id")
    assert tree.unifrac(tp.Measures(frame(), empty=True)).equals(expected)
    assert tree.unifrac(tp.Measures.read(tmp_path / "table.csv", empty=True)).equals(expected)
    # Nothing else takes them.
    for refused in (
        lambda: tp.Measures(frame()),
        lambda: tree.pairwise(tp.Measures(frame(), empty=True)),
    ):
        with pytest.raises(ValueError, match="no mass"):
            refused()


def test_trees_that_are_not_rooted_are_refused_unless_asked_for():
    text = "((a:1,b:2):3,c:5,d:7);"
    tree = tp.Tree.from_newick(text)
    rows = [[1, 0, 0, 0], [0, 0, 1, 0]]
    for variant in (*VARIANTS, "generalized", "variance-adjusted"):
        with pytest.raises(ValueError, match="the root has 3 children.*root the tree.*unrooted"):
            tree.unifrac(rows, variant)
    assert tree.unifrac(rows, unrooted=True)[0, 1] == 9
    with pytest.raises(ValueError, match="rooted"):  # in scikit-bio, too
        weighted_unifrac(*rows, NAMES, TreeNode.read(io.StringIO(text)))
    assert tp.Tree.from_newick("(((a:1,b:1):1,c:1):2);").unifrac([[1, 0, 0]]).tolist() == [[0]]


def test_trees_without_lengths_are_refused_by_every_route(tmp_path):
    rows = [[1, 2, 3, 0], [1, 1, 1, 0]]
    for text, named in [
        ("((a,b),(c,d));", "an inner node over leaf `a`"),
        ("((a,b:1):1,(c:1,d:1):1);", "leaf `a`"),
        ("((a:1,b:1):1,(c:1,d:1));", "an inner node over leaf `c`"),
    ]:
        for tree in (tp.Tree.from_newick(text), tp.Tree.from_newick(text, names=NAMES)):
            with pytest.raises(ValueError, match=f"the edge above {named} has no length"):
                tree.unifrac(rows)
        with pytest.raises(ValueError, match="has no length"):
            tp.Tree.from_skbio(TreeNode.read(io.StringIO(text)))
    bare = tp.Tree.from_newick("((a,b),(c,d));")
    bare.save(tmp_path / "bare.tree")
    for tree in (tp.Tree.load(tmp_path / "bare.tree"), tp.Tree(bare.parents, bare.lengths)):
        with pytest.raises(ValueError, match="have no lengths"):
            tree.unifrac(rows)
    assert tp.Tree.from_newick("((a:0,b:1):1,(c:1,d:0):0);").unifrac(rows).shape == (
        2,
        2,
    )  # 0 is a length


def test_what_is_no_table_of_counts_is_refused():
    tree = tp.Tree.from_newick(TREE)
    for rows, said in [
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "b"]), "b is there twice"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "e"]), "name no point, such as e"),
        ([[1, 2], [1, 1, 1, 1]], "inhomogeneous"),
        ([[1, 2, 3]], "3 points"),
        ([[1, 2, 3, -1]], "mass -1"),
    ]:
        with pytest.raises(ValueError, match=said):
            tree.unifrac(rows)
    with pytest.raises(ValueError, match="`a` is in the tree twice"):
        tp.Tree.from_newick("((a:1,b:1):1,a:2);")
