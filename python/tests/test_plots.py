"""Pictures: what they show, judged by what they were made from."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist
from treeport._distances import scaled
from treeport._summary import sketch


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def table(rng):
    places = rng.normal(size=(12, 2)) + np.repeat([[0, 0], [9, 0]], 6, axis=0)
    names = [f"s{k}" for k in rng.permutation(12)]
    return pd.DataFrame(cdist(places, places), names, names), places


def test_colors_of_rows_that_are_called_alike_are_in_their_order():
    index = ["a", "a", "b"]
    table = pd.DataFrame([[0.0, 1, 4], [1, 0, 3], [4, 3, 0]], index, index)
    ax = tp.plot_distances(table, "mds", colors=pd.Series(["x", "y", "x"], index))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]
    with pytest.raises(
        ValueError, match="colors have two entries for a; give them in the order of the rows"
    ):
        tp.plot_distances(table, "mds", colors=pd.Series(["x", "y", "x"], ["b", "a", "a"]))


def chain(leaves):
    """Every inner node has a leaf and the next inner node."""
    text = "a0:1"
    for k in range(1, leaves):
        text = f"({text},a{k}:1):1"
    return tp.Tree.from_newick(text.rsplit(":", 1)[0] + ";")


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: tp.linkage(points=rng.normal(size=(1500, 3))),
        lambda rng: tp.linkage(points=rng.normal(size=(1500, 3)), method="single"),
        lambda rng: chain(1500),
        lambda rng: tp.Tree(np.full(1501, 1500), np.append(np.ones(1500), 0)),
    ],
)
def test_large_trees_have_few_rows_which_stand_for_all_leaves(rng, make):
    tree = make(rng)
    picture = sketch(tree, 40)
    assert 10 <= len(picture.groups) <= 41  # a node of many leaves may have a rest
    assert sum(group.size for group in picture.groups) == 1500
    deepest = max(picture.x[group.node] + group.below for group in picture.groups)
    depth = np.zeros(tree.n_nodes)
    for v in range(tree.n_nodes - 2, -1, -1):
        depth[v] = depth[tree.parents[v]] + tree.lengths[v]
    assert deepest == pytest.approx(depth.max())
    ax = tree.plot()
    labels = [text.get_text() for text in ax.get_yticklabels()]
    counted = [
        int(text.rsplit(" and ")[1].split()[0]) + 2 if " more" in text else text.count(",") + 1
        for text in labels
    ]
    assert sum(counted) == 1500


def test_small_trees_are_drawn_as_they_are(rng):
    tree = tp.linkage(points=rng.normal(size=(30, 3)))
    picture = sketch(tree, 40)
    assert [group.size for group in picture.groups] == [1] * 30
    assert len(picture.parent) == tree.n_nodes
    depth = np.zeros(tree.n_nodes)
    for v in range(tree.n_nodes - 2, -1, -1):
        depth[v] = depth[tree.parents[v]] + tree.lengths[v]
    for group in picture.groups:
        assert picture.x[group.node] == pytest.approx(depth[group.points[0]])
    assert tp.Tree([0], [0.0], ["only"]).plot().get_yticklabels()[0].get_text() == "only"
    with pytest.raises(ValueError, match="max_rows is 2"):
        tree.plot(max_rows=2)


@pytest.mark.parametrize("kind", ["heatmap", "mds", "dendrogram"])
def test_every_kind_draws_where_it_is_told(table, kind):
    frame, _ = table
    _, ax = plt.subplots()
    groups = pd.Series(["x", "y"] * 6, index=frame.index[::-1])
    assert tp.plot_distances(frame, kind, ax=ax, colors=groups) is ax
    assert tp.plot_distances(frame.to_numpy(), kind) is not ax
    large = cdist(np.arange(90.0)[:, None], np.arange(90.0)[:, None])
    tp.plot_distances(large, kind).figure.canvas.draw()


def test_heatmaps_are_in_the_order_of_the_linkage(table):
    frame, _ = table
    ax = tp.plot_distances(frame)
    names = [text.get_text() for text in ax.get_yticklabels()]
    best = hierarchy.linkage(pdist(table[1]), "average", optimal_ordering=True)
    assert names == [frame.index[at] for at in hierarchy.leaves_list(best)]
    np.testing.assert_allclose(ax.images[0].get_array(), frame.loc[names, names])


def test_a_map_of_the_plane_is_the_plane(table):
    frame, places = table
    found = scaled(frame.to_numpy())
    np.testing.assert_allclose(cdist(found, found), frame, atol=1e-9)
    marks = tp.plot_distances(frame, "mds").collections[0].get_offsets()
    np.testing.assert_allclose(marks, found)
    assert scaled(np.zeros((3, 3))).tolist() == [[0, 0]] * 3


def test_dendrograms_name_what_they_close():
    places = np.sort(np.random.default_rng(1).random(90))[:, None]
    ax = tp.plot_distances(cdist(places, places), "dendrogram", labels=[f"n{k}" for k in range(90)])
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert len(labels) == 40 and any(" more" in text for text in labels)
    frame = pd.DataFrame([[0, 1, 4], [1, 0, 3], [4, 3, 0.0]], list("abc"), list("abc"))
    ax = tp.plot_distances(frame, "dendrogram")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["c", "b", "a"]


def test_what_is_no_table_of_distances_is_refused(table):
    frame, _ = table
    for given, said in [
        (np.ones((2, 3)), r"shape \(2, 3\), expected \(n, n\)"),
        ([[0, np.nan], [1, 0]], "distance of rows 0 and 1 is nan"),
        ([[0, 1], [2, 0]], "rows 0 and 1 are 1.0 apart, and 2.0 in the other order"),
    ]:
        with pytest.raises(ValueError, match=said):
            tp.plot_distances(given)
    with pytest.raises(ValueError, match="kind is 'tree'; it must be heatmap, mds or dendrogram"):
        tp.plot_distances(frame, "tree")
    with pytest.raises(ValueError, match="3 labels for 12 rows"):
        tp.plot_distances(frame, labels=list("abc"))
    with pytest.raises(ValueError, match="1 colors for 12 rows"):
        tp.plot_distances(frame, colors=["x"])
    with pytest.raises(ValueError, match="colors have no entry for"):
        tp.plot_distances(frame, colors=pd.Series(["x"], index=["s3"]))
