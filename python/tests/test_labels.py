"""Labels decide, and not places: columns, rows and masses that are called something are matched by that."""

import io
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse

TREE = tp.Tree.from_newick("((a:1,b:1):2,c:3);")
MASSES = np.array([[0.0, 1, 0], [0, 0, 1]])


@pytest.fixture(params=[np.array, sparse.csr_matrix])
def cells(request):
    anndata = pytest.importorskip(
        "anndata", reason="anndata is not installed; `pip install anndata` adds it"
    )
    made = anndata.AnnData(request.param(MASSES))
    made.obs_names, made.var_names = ["s", "t"], ["c", "a", "b"]
    return made


def test_variables_of_an_anndata_are_matched_by_name(cells):
    expected = TREE.pairwise(cells.to_df())
    assert expected.loc["s", "t"] == 2
    for rows in (cells, tp.Measures(cells), cells[:, ["b", "c", "a"]]):
        pd.testing.assert_frame_equal(TREE.pairwise(rows), expected)
    pd.testing.assert_frame_equal(TREE.unifrac(cells), TREE.unifrac(cells.to_df()))
    measures = tp.Measures(cells)
    assert list(measures.ids) == ["s", "t"] and measures.names == ["c", "a", "b"]
    with pytest.raises(ValueError, match="1 of 3 columns name no point, such as d"):
        cells.var_names = ["d", "a", "b"]
        TREE.pairwise(cells)


def test_models_of_frames_answer_for_anndata_in_another_order(cells):
    frame = pd.DataFrame(np.eye(3), columns=list("abc"))
    line = [[0.0], [1.0], [5.0]]
    tw = tp.TreeWasserstein(line, epochs=2).fit(frame)
    ordered = cells.to_df()[list("abc")]
    np.testing.assert_array_equal(tw.pairwise(cells), tw.pairwise(ordered))
    np.testing.assert_array_equal(tw.transform(cells).toarray(), tw.transform(ordered).toarray())
    near = tp.WassersteinNeighbors(line, n_neighbors=1).fit(frame)
    assert near.kneighbors(cells)[1].tolist() == [[0], [1]]


def test_variables_without_names_are_points_in_their_order(cells):
    cells.var_names = ["0", "1", "2"]  # what AnnData calls them by itself
    assert TREE.pairwise(cells).loc["s", "t"] == 6
    assert tp.Measures(cells).names is None
    cells.X = None
    with pytest.raises(ValueError, match="the AnnData has no X"):
        TREE.pairwise(cells)


def test_numbers_are_names_where_points_have_them():
    skbio = pytest.importorskip("skbio", reason="scikit-bio has no wheel for this Python")
    tree = tp.Tree.from_skbio(skbio.TreeNode.read(io.StringIO("((2:1,0:1):2,1:3);")))
    assert tree.names == ["2", "0", "1"]
    frame = pd.DataFrame([[1.0, 0, 0], [0, 0, 1]])
    measures = tp.Measures(frame)
    assert measures.names is None
    for rows in (frame, frame.rename(columns=str), measures, pickle.loads(pickle.dumps(measures))):
        assert tree.pairwise(rows).loc[0, 1] == 2
    assert tree.distance(frame.loc[0], frame.loc[1]) == 2
    assert TREE.pairwise(frame).loc[0, 1] == 6  # no point is called so: they only count
    assert TREE.distance(frame.loc[0], frame.loc[1]) == 6


def test_numbers_of_nodes_are_their_names():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(2, 0, 1), (0, 1, 5)])
    a, b = pd.Series([1.0, 0, 0]), pd.Series([0.0, 1, 0])
    assert tp.emd(a, b, graph=graph) == tp.emd(a.rename(str), b.rename(str), graph=graph) == 5
    assert tp.emd_pairwise(pd.DataFrame([a, b]), graph=graph).loc[0, 1] == 5


@pytest.mark.parametrize(
    "solve", [tp.emd, lambda *given, **ground: tp.sinkhorn(*given, epsilon=1e-3, **ground)]
)
def test_masses_are_matched_to_labeled_costs_and_points(solve):
    a, b = pd.Series([1.0, 0], ["x", "y"]), pd.Series([1.0, 0], ["y", "x"])
    cost = pd.DataFrame([[0.0, 1], [1, 0]], ["x", "y"], ["x", "y"])
    points = pd.DataFrame([[0.0], [1.0]], ["x", "y"])
    assert solve(a, b, cost) == pytest.approx(1)
    assert solve(a, b, cost[["y", "x"]]) == pytest.approx(
        1
    )  # rows are those of a, columns those of b
    assert solve(a, b, points=points) == pytest.approx(1)
    assert solve(a, b, points, points[::-1]) == pytest.approx(1)
    with pytest.raises(ValueError, match="1 of 1 columns name no point, such as z"):
        solve(a, pd.Series([1.0], ["z"]), cost)


def test_labels_that_contradict_each_other_are_refused():
    a, b = pd.Series([1.0, 0], ["x", "y"]), pd.Series([1.0, 0], ["y", "x"])
    cost = np.array([[0.0, 1], [1, 0]])
    expected = "a is about 'x', 'y', and b about 'y', 'x', and the points have no names"
    for ground in ({"cost": cost}, {"points": [[0.0], [1.0]]}, {"graph": sparse.csr_matrix(cost)}):
        with pytest.raises(ValueError, match=expected):
            tp.emd(a, b, **ground)
        assert tp.emd(a, b.reindex(a.index), **ground) == 1
    # What one library counts by numbers, another counts by their text.
    assert tp.emd(pd.Series([1.0, 0]), pd.Series([0.0, 1], ["0", "1"]), points=[[0.0], [1.0]]) == 1
    # Mines and mills are others, and two sets of points are, too.
    mills = pd.Series([0.0, 1], ["m", "n"])
    assert tp.emd(a, mills, cost) == 1
    assert tp.emd(a, b, [[0.0], [1.0]], [[3.0], [4.0]]) == 3


def test_many_measures_are_matched_to_labeled_points():
    rows = pd.DataFrame([[0.0, 1, 0], [0, 0, 1]], index=["s", "t"], columns=["c", "a", "b"])
    points = pd.DataFrame([[0.0], [1.0], [5.0]], index=["a", "b", "c"])
    cost = pd.DataFrame(np.abs(points.to_numpy() - points.to_numpy().T), points.index, points.index)
    for ground in ({"points": points}, {"cost": cost}):
        assert tp.emd_pairwise(rows, **ground).loc["s", "t"] == 1
        assert tp.emd_pairs(rows, [(0, 1)], **ground).tolist() == [1]
        tw = tp.TreeWasserstein(**ground, epochs=2).fit(rows)
        assert list(tw.feature_names_in_) == tw.model_.names == ["a", "b", "c"]
        near = tp.WassersteinNeighbors(**ground, n_neighbors=1).fit(rows)
        with pytest.warns(tp.MissingColumnsWarning, match="1 of 3 points has no column, such as c"):
            _, numbers = near.kneighbors(pd.DataFrame({"b": [0.9], "a": [0.1]}))
        assert numbers.tolist() == [[1]]


def test_exact_tables_have_the_ids_of_their_rows():
    points = [[0.0], [1.0], [5.0]]
    rows, others = (pd.DataFrame(MASSES, index=index) for index in (["s", "t"], ["u", "v"]))
    expected = tp.emd_pairwise(MASSES, points=points)
    assert type(expected) is np.ndarray
    found = tp.emd_pairwise(rows, others, points=points)
    assert list(found.index) == ["s", "t"] and list(found.columns) == ["u", "v"]
    np.testing.assert_array_equal(found, expected)
    measures = tp.Measures(MASSES, ids=["s", "t"])
    assert list(tp.emd_pairwise(measures, points=points).columns) == ["s", "t"]


def test_weights_of_cells_are_matched_by_name(cells):
    cells.obs["group"] = "all"
    weights = pd.Series([3.0, 1.0, 9.0], index=["t", "s", "other"])
    found = tp.Measures.from_anndata(cells, "group", weights=weights)
    assert found._rows().toarray().tolist() == [[0.25, 0.75]]
    counted = tp.Measures.from_anndata(cells, "group", weights=pd.Series([1.0, 3.0]))
    assert counted._rows().toarray().tolist() == [[0.25, 0.75]]
    with pytest.raises(ValueError, match="the weights have no entry for cell s"):
        tp.Measures.from_anndata(cells, "group", weights=weights[["t", "other"]])
    with pytest.raises(ValueError, match="the index of the weights has a cell twice"):
        tp.Measures.from_anndata(cells, "group", weights=pd.Series([1.0, 2.0], index=["t", "t"]))


def test_what_is_no_matrix_of_costs_is_refused_by_name():
    graph = nx.path_graph(2)
    for call in (
        lambda cost: tp.emd([1, 0], [0, 1], cost),
        lambda cost: tp.emd({0: 1}, {1: 1}, cost),
    ):
        with pytest.raises(
            ValueError, match="the cost matrix is a networkx graph; give it by name, as `graph=`"
        ):
            call(graph)
        with pytest.raises(ValueError, match=r"the cost matrix is sparse.*`cost.toarray\(\)`"):
            call(nx.to_scipy_sparse_array(graph))
    with pytest.raises(ValueError, match="is a networkx graph"):
        tp.TreeWasserstein(cost=graph).fit(np.eye(2))


def test_two_sets_of_cells_are_points(cells):
    cells.obsm["X_pca"] = np.array([[0.0], [2.0]])
    assert tp.emd([1.0, 0.0], [0.0, 1.0], cells, cells) == 2


def test_cells_without_names_are_points_in_their_order(cells):
    cells.obs_names = ["0", "1"]  # what AnnData calls them by itself
    cells.obsm["X_pca"] = np.array([[0.0], [2.0]])
    rows = pd.DataFrame(np.eye(2), columns=["x", "y"])
    assert tp.emd_pairwise(rows, points=cells).loc[0, 1] == 2
    assert list(tp.TreeWasserstein(cells, epochs=2).fit(rows).feature_names_in_) == ["x", "y"]


def test_missing_entries_are_named():
    some, all_ = pd.array([1, None], "Int64"), pd.array([1, 2], "Int64")
    whole = pd.DataFrame({"a": all_, "b": some, "c": all_}, index=["s", "t"])
    for frame in (whole, whole[["c", "b", "a"]]):
        with pytest.raises(ValueError, match="the entry of row t, column b is missing"):
            TREE.pairwise(frame)
