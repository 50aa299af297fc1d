"""Names decide, wherever there are any: the same measure is the same, however it is written down."""

import pickle

import networkx as nx
import numpy as np
import pytest
import treeport as tp

pd = pytest.importorskip("pandas")

FRAME = pd.DataFrame([[0.0], [1.0], [3.0], [7.0]], index=list("abcd"))
LEFT = pd.Series([1.0, 0.0, 0.0, 0.0], index=list("dcba"))
RIGHT = pd.Series([0.0, 1.0, 0.0, 0.0], index=list("dcba"))


def test_a_fit_to_arrays_knows_the_names_of_its_points():
    tw = tp.TreeWasserstein(points=FRAME).fit(np.eye(4))
    rows = pd.DataFrame([LEFT, RIGHT])
    expected = tw.distance({"d": 1}, {"c": 1})
    assert tw.distance(LEFT, RIGHT) == expected
    assert tw.pairwise(rows).iloc[0, 1] == pytest.approx(expected)
    assert tw.pairwise(tp.Measures(rows)).to_numpy()[0, 1] == pytest.approx(expected)
    assert tw.coupling(LEFT, RIGHT, table=True)["source"].tolist() == ["d"]
    assert tw.extend(pd.DataFrame([[5.0]], index=["e"])).model_.names == list("abcde")


def test_linkage_keeps_names():
    tree = tp.linkage(points=FRAME)
    assert tree.names == list("abcd")
    assert tree.distance(LEFT, RIGHT) == tree.distance({"d": 1}, {"c": 1})
    assert tp.linkage(graph=nx.path_graph(["x", "y", "z"]), weight=None).names == ["x", "y", "z"]


def test_tables_of_differing_columns_are_refused_where_nothing_tells():
    A, B = (
        pd.DataFrame([[1, 0, 0]], columns=list("xyz")),
        pd.DataFrame([[0, 0, 1]], columns=list("zyx")),
    )
    points = [[0.0], [1.0], [5.0]]
    tree = tp.linkage(points=points)
    for call in (
        lambda: tp.emd_pairwise(A, B, points=points),
        lambda: tree.cross(A, B),
        lambda: tree.paired(A, B),
    ):
        with pytest.raises(ValueError, match="column 0 is x on the left and z on the right"):
            call()


def test_square_tables_may_have_columns_in_another_order():
    adjacency = pd.DataFrame(
        [[0, 1, 0], [1, 0, 10], [0, 10, 0]], index=list("abc"), columns=list("abc")
    )
    assert tp.emd({"a": 1}, {"c": 1}, graph=adjacency[["c", "a", "b"]]) == 11
    cost = pd.DataFrame([[0.0, 1, 4], [1, 0, 3], [4, 3, 0]], index=list("abc"), columns=list("abc"))
    turned = tp.emd_pairs([{"a": 1}, {"c": 1}], [(0, 1)], cost=cost[["c", "b", "a"]])
    assert turned.tolist() == [4.0]
    with pytest.raises(ValueError, match="have different names"):
        tp.emd_pairs([{"a": 1}, {"c": 1}], [(0, 1)], cost=cost.rename(columns={"a": "q"}))


def test_nodes_that_read_alike_are_refused():
    graph = nx.path_graph([1, 2, 3])
    with pytest.raises(ValueError, match="are the same node"):
        tp.emd({1: 0.5, "1": 0.5}, {3: 1}, graph=graph, weight=None)
    both = nx.path_graph([1, "1", 2])
    assert tp.emd({"1": 1}, {2: 1}, graph=both, weight=None) == 1
    with pytest.raises(ValueError, match="has mass 'x', which is no number"):
        tp.emd({1: "x"}, {3: 1}, graph=graph, weight=None)


def test_places_begin_with_latitudes():
    places = pd.DataFrame({"lon": [13.4, -74.0], "lat": [52.5, 40.7]})
    with pytest.raises(ValueError, match="latitude, then longitude"):
        tp.emd([1, 0], [0, 1], points=places, metric="haversine")


def test_new_points_need_names_of_their_own():
    tw = tp.TreeWasserstein(points=FRAME.to_numpy()).fit(np.eye(4))
    assert tw.extend([5.0, 6.0]).model_.n_points == 6
    tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
    with pytest.raises(ValueError, match="two new points are called wolf"):
        tree.extend([[3.0, 1.0, 6.0]] * 2, names=["wolf", "wolf"])


def one_warning(call):
    """What the only warning of a call says."""
    with pytest.warns(tp.MissingColumnsWarning) as said:
        call()
    (only,) = said
    assert only.filename == __file__
    return str(only.message)


def test_points_without_a_column_are_said_once_and_refused_where_asked():
    rows = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=["d", "a"], index=["S1", "S2"])
    tree, tw = tp.linkage(points=FRAME), tp.TreeWasserstein(points=FRAME).fit(np.eye(4))
    near = tp.WassersteinNeighbors(points=FRAME).fit(pd.DataFrame(np.eye(4), columns=list("abcd")))
    calls = [
        lambda X, **how: tree.pairwise(X, **how),
        lambda X, **how: tree.cross(X, np.eye(4), **how),
        lambda X, **how: tree.paired(np.eye(4)[:2], X, **how),
        lambda X, **how: tree.kneighbors(X, n_neighbors=1, **how),
        lambda X, **how: tree.embed(X, **how),
        lambda X, **how: tree.unifrac(X, **how),
        lambda X, **how: tree.barycenter(X, **how),
        lambda X, **how: tp.emd_pairs(X, [(0, 1)], points=FRAME, **how),
        lambda X, **how: tp.emd_pairwise(X, points=FRAME, **how),
    ]
    estimators = [
        lambda X: tw.pairwise(X),
        lambda X: near.kneighbors(X, n_neighbors=1),
        lambda X: tw.transform(X),
    ]
    said = "2 of 4 points have no column, such as b; they count as 0"
    for call in calls + estimators:
        assert one_warning(lambda: call(rows)).startswith(said)
        assert one_warning(lambda: call(tp.Measures(rows))).startswith(said)
        with pytest.raises(
            ValueError, match="2 of 4 points have no column, such as b; give every point one"
        ):
            call(tp.Measures(rows, missing="error"))
    for call in calls:
        with pytest.raises(ValueError, match="2 of 4 points have no column"):
            call(rows, missing="error")
        with pytest.raises(ValueError, match="2 of 4 points have no column"):
            call(tp.Measures(rows), missing="error")
        with pytest.raises(ValueError, match="missing is 'no'; it must be"):
            call(rows, missing="no")
    assert one_warning(lambda: tree.distance(rows.loc["S1"], [0, 1, 0, 0])).startswith(said)


def test_what_names_its_points_on_purpose_is_not_warned_of(recwarn):
    tree = tp.linkage(points=FRAME)
    some = [{"a": 1}, {"d": 1}]
    assert tree.pairwise(some)[0, 1] == tree.pairwise(tp.Measures(some), missing="error")[0, 1]
    again = pickle.loads(pickle.dumps(tp.Measures(some, missing="error")))
    assert tree.pairwise(again)[0, 1] == tree.pairwise(some)[0, 1]
    tree.pairwise(pd.DataFrame(np.eye(4), columns=list("dcba")), missing="error")
    assert not recwarn.list


def test_files_without_all_columns_are_refused_where_asked(tmp_path):
    (tmp_path / "some.csv").write_text("id,d,a\nS1,0,1\nS2,1,0\n")
    tree = tp.linkage(points=FRAME)
    assert one_warning(lambda: tree.pairwise(tp.Measures.read(tmp_path / "some.csv"))).startswith(
        "2 of 4"
    )
    with pytest.raises(ValueError, match="2 of 4 points have no column"):
        tree.pairwise(tp.Measures.read(tmp_path / "some.csv", missing="error"))
