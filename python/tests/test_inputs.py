"""What people have: DataFrames, AnnData, graphs."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse
from scipy.spatial.distance import pdist, squareform
from treeport import _blocks, _core


def test_data_frames_name_the_points(words, documents):
    names = [f"word{i}" for i in range(25)]
    frame = pd.DataFrame(documents, columns=names)
    points = pd.DataFrame(words, index=names, columns=["x", "y"])
    tw = tp.TreeWasserstein(points, epochs=3).fit(frame)
    plain = tp.TreeWasserstein(words, epochs=3).fit(documents)
    assert tw.model_.names == names == list(tw.feature_names_in_)
    assert "word3:" in tw.model_.to_newick()
    assert (tw.pairwise(frame).to_numpy() == plain.pairwise(documents)).all()
    assert tw.distance(frame.iloc[0], frame.iloc[1]) == plain.distance(*documents[:2])
    assert tp.linkage(points=points, names=points.index).names == names
    assert (tw.transform(frame[names[::-1]]) != tw.transform(frame)).nnz == 0
    with pytest.raises(
        ValueError, match="feature names"
    ):  # points without names: as in scikit-learn
        tp.TreeWasserstein(words, epochs=3).fit(frame).transform(frame[names[::-1]])


def test_every_kind_of_ground_metric_gives_the_same_tree(words, documents):
    distances = pdist(words)
    complete = nx.from_numpy_array(squareform(distances))
    trees = [
        tp.TreeWasserstein(epochs=3, **ground).fit(documents).model_
        for ground in [
            {"points": words},
            {"cost": distances},
            {"cost": squareform(distances)},
            {"cost": pd.DataFrame(squareform(distances))},
            {"graph": complete},
            {"graph": sparse.csr_array(squareform(distances))},
        ]
    ]
    units = np.eye(25)
    for tree in trees[1:]:
        # Edges are fitted until they change by less than 1e-5, which steps before have made more of.
        np.testing.assert_allclose(tree.pairwise(units), trees[0].pairwise(units), rtol=1e-3)
    single = tp.TreeWasserstein(cost=distances.astype(np.float32), epochs=3).fit(documents)
    assert single.score(documents) > -0.3


def test_nodes_of_a_graph_may_have_any_name():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("Basel", "Bern", 1.0), ("Bern", "Genf", 2.0)])
    assert tp.emd([1, 0, 0], [0, 0, 1], graph=graph) == 3.0


def test_lengths_of_edges_have_the_name_that_weight_says():
    graph = nx.path_graph(4)
    with pytest.raises(
        ValueError, match="edge from 0 to 1 has no attribute 'weight' .it has: none.*`weight=None`"
    ):
        tp.emd([1, 0, 0, 0], [0, 0, 0, 1], graph=graph)
    assert tp.emd([1, 0, 0, 0], [0, 0, 0, 1], graph=graph, weight=None) == 3.0
    for u, v in graph.edges:
        graph.edges[u, v]["length"] = 2.0
    with pytest.raises(ValueError, match="it has: 'length'"):
        tp.linkage(graph=graph)
    assert tp.sinkhorn([1, 0, 0, 0], [0, 0, 0, 1], graph=graph, weight="length") == 6.0
    assert tp.emd_pairs(np.eye(4), [(0, 2)], graph=graph, weight="length")[0] == 4.0
    tree = tp.linkage(graph=graph, weight="length", method="single")
    assert tree.distance([1, 0, 0, 0], [0, 1, 0, 0]) == 2.0
    tw = tp.TreeWasserstein(graph=graph, weight="length", method="single", scale=False).fit(
        np.eye(4)
    )
    assert tw.model_ == tree
    graph.add_edge(0, 3)
    with pytest.raises(ValueError, match="edge from 0 to 3 has no attribute 'length'"):
        tp.emd([1, 0, 0, 0], [0, 0, 0, 1], graph=graph, weight="length")


def test_anndata_like_objects_stand_for_what_they_hold(words, documents, rng):
    cells = SimpleNamespace(X=rng.random((25, 7)), obsm={"X_umap": words + 1, "X_pca": words})
    samples = SimpleNamespace(X=sparse.csr_matrix(documents), obsm={})
    tw = tp.TreeWasserstein(cells, epochs=3).fit(samples)
    plain = tp.TreeWasserstein(words, epochs=3).fit(documents)
    assert tw.model_ == plain.model_
    assert (tw.transform(samples) != plain.transform(documents)).nnz == 0
    shares = SimpleNamespace(X=documents / documents.sum(axis=1, keepdims=True), obsm={})
    np.testing.assert_allclose(tw.model_.pairwise(shares), tw.pairwise(samples), atol=1e-12)
    del cells.obsm["X_pca"]
    assert tp.TreeWasserstein(cells, epochs=3).fit(samples).model_.n_points == 25


def test_points_in_one_dimension_need_no_second_axis():
    assert tp.emd([1, 0, 0], [0, 0, 1], points=[0.0, 1.0, 5.0]) == 5.0


def test_a_hundred_thousand_pairs_are_one_call(rng):
    tree = tp.linkage(points=rng.normal(size=(200, 2)))
    places = rng.integers(200, size=(2, 100_000))
    ones = np.ones(100_000)
    start = np.arange(100_001)
    left, right = (sparse.csr_array((ones, at, start), shape=(100_000, 200)) for at in places)
    between = tree.pairwise(np.eye(200))
    np.testing.assert_allclose(tree.paired(left, right), between[places[0], places[1]], atol=1e-12)


def test_directed_graphs_are_refused():
    graph = nx.DiGraph([(0, 1), (1, 2)])
    with pytest.raises(ValueError, match="the graph is directed; .* `graph.to_undirected"):
        tp.linkage(graph=graph)
    assert tp.linkage(graph=graph.to_undirected(), weight=None).n_points == 3


def test_emd_follows_the_directions_of_a_graph(rng):
    ring = nx.cycle_graph(5, create_using=nx.DiGraph)
    away, back = ([1, 0, 0, 0, 0], [0, 1, 0, 0, 0]), ([0, 1, 0, 0, 0], [1, 0, 0, 0, 0])
    assert (
        tp.emd(*away, graph=ring, weight=None) == 1.0
        and tp.emd(*back, graph=ring, weight=None) == 4.0
    )
    assert tp.sinkhorn(*back, graph=ring, weight=None) == 4.0
    graph = nx.gnp_random_graph(30, 0.3, seed=2, directed=True)
    for u, v in graph.edges:
        graph.edges[u, v]["weight"] = float(rng.integers(0, 6))  # some ways cost nothing
    several = nx.MultiDiGraph(graph)
    several.add_weighted_edges_from((u, v, 7.0) for u, v in graph.edges)
    a, b = rng.random(30), rng.random(30)
    a[:9], b[20:] = 0, 0
    a, b = a / a.sum(), b / b.sum()
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    cost = np.array([[lengths[i][j] for j in range(30)] for i in range(30)], dtype=float)
    judge, plan = tp.emd(a, b, cost=cost, return_plan=True)
    for given in (graph, several):
        value, moves = tp.emd(a, b, graph=given, return_plan=True)
        np.testing.assert_allclose(value, judge, rtol=1e-12)
        np.testing.assert_allclose(moves.sum(axis=1), a, atol=1e-12)
        np.testing.assert_allclose(moves.sum(axis=0), b, atol=1e-12)
        np.testing.assert_allclose((moves.toarray() * cost).sum(), judge, rtol=1e-12)
    sparse_row = sparse.csr_array(a[np.newaxis])
    np.testing.assert_allclose(tp.emd(sparse_row, b, graph=graph), judge, rtol=1e-12)
    with pytest.raises(ValueError, match="live on 29 and 30 points, the graph on 30"):
        tp.emd(a[1:], b, graph=graph)


def test_entries_that_come_twice_add_up_in_every_format():
    ends, weights = ([0, 0, 1, 1], [1, 1, 0, 0]), [1.0, 2.0, 1.0, 2.0]
    matrix = sparse.coo_array((weights, ends), shape=(2, 2))
    assert tp.emd([1, 0], [0, 1], graph=matrix) == tp.emd([1, 0], [0, 1], graph=matrix.tocsr()) == 3


PETS = "((cat:1,dog:1):2,bird:3);"


def test_columns_are_matched_by_name(tmp_path):
    tree = tp.Tree.from_newick(PETS)
    frame = pd.DataFrame([[1, 0, 0], [0, 1, 0]], columns=["bird", "cat", "dog"])
    forest = tp.Forest([tree])
    tree.save(tmp_path / "pets.tree")
    for model in (tree, forest, tp.load(tmp_path / "pets.tree")):
        assert model.pairwise(frame).loc[0, 1] == 6
        assert model.paired(frame[:1], frame[1:])[0] == 6
        assert model.distance(frame.iloc[0], frame.iloc[1]) == 6
        assert model.coupling(frame.iloc[0], frame.iloc[1]).toarray()[2, 0] == 1
        assert model.pairwise(frame.to_numpy())[0, 1] == 2  # without names by position
    for columns, said in [
        (["bird", "cat", "fish"], "1 of 3 columns name no point, such as fish"),
        (["bird", "cat", "cat"], "the column cat is there twice"),
    ]:
        with pytest.raises(ValueError, match=said):
            tree.pairwise(pd.DataFrame(np.eye(2, len(columns)), columns=columns))


def test_nodes_are_matched_by_name():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("cat", "dog", 1.0), ("dog", "bird", 4.0)])
    a, b = (
        pd.Series({"bird": 1.0, "cat": 0, "dog": 0}),
        pd.Series({"cat": 1.0, "dog": 0, "bird": 0}),
    )
    assert tp.emd(a, b, graph=graph) == 5
    frame = pd.DataFrame([a, b])[["bird", "cat", "dog"]]
    assert tp.emd_pairs(frame, [(0, 1)], graph=graph)[0] == 5
    tw = tp.TreeWasserstein(graph=graph).fit(frame)
    assert tw.model_.names == ["cat", "dog", "bird"]
    assert tw.estimate(frame[:1], frame[1:], "exact")[0] == 5
    with pytest.raises(ValueError, match="1 of 3 columns name no point, such as fish"):
        tp.emd_pairs(frame.rename(columns={"bird": "fish"}), [(0, 1)], graph=graph)


@pytest.mark.parametrize(
    "part, value", [("indices", 2**31 - 1), ("indices", -1), ("indptr", 2**31 - 1)]
)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_matrices_whose_indices_lie_are_refused(part, value, format):
    table = sparse.csr_array(np.ones((4, 4))).asformat(format)
    getattr(table, part)[1] = value
    for use in USES_OF_A_TABLE:
        with pytest.raises(ValueError):
            use(table)


@pytest.mark.parametrize("value", [2**31 - 1, -1])
def test_sparse_entries_outside_of_the_matrix_are_refused(value):
    table = sparse.coo_matrix(np.ones((4, 4)))
    table.row[1] = value
    for use in USES_OF_A_TABLE:
        with pytest.raises(ValueError):
            use(table)


def test_tables_may_lie_anywhere_in_memory():
    def moved(array):
        place = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        place[:] = array
        assert not place.flags.aligned
        return place

    masses, tree = np.array([[0.5, 0.5, 0], [0, 0.25, 0.75]]), tp.linkage(points=np.arange(3.0))
    rows = sparse.csr_array(masses)
    rows.data, rows.indices, rows.indptr = moved(rows.data), moved(rows.indices), moved(rows.indptr)
    for table in (moved(masses), rows):
        np.testing.assert_array_equal(tree.pairwise(table), tree.pairwise(masses))
    points, cost = np.arange(6.0).reshape(3, 2), 1 - np.eye(3)
    for name, array in (("points", points), ("cost", cost)):
        judge = tp.emd_pairs(masses, [(0, 1)], **{name: array})
        np.testing.assert_array_equal(tp.emd_pairs(masses, [(0, 1)], **{name: moved(array)}), judge)


USES_OF_A_TABLE = [
    lambda table: tp.linkage(graph=table),
    lambda table: tp.linkage(points=table),
    lambda table: tp.Measures(table),
    lambda table: tp.TreeWasserstein(points=np.arange(4.0)).fit(table),
    lambda table: tp.TreeWasserstein(points=table).fit(np.eye(4)),
]


def unaligned(values):
    """The same numbers, one byte off, as some files and networks have them."""
    values = np.asarray(values)
    room = np.zeros(values.nbytes + 1, dtype=np.uint8)
    off = room[1:].view(values.dtype).reshape(values.shape)
    off[...] = values
    assert not off.flags.aligned
    return off


def test_numbers_may_lie_anywhere_in_memory():
    rng = np.random.default_rng(0)
    points, rows = rng.normal(size=(6, 2)), rng.dirichlet(np.ones(6), size=5)
    cost = np.abs(points[:, :1] - points[:, 0])
    pairs = np.array([(0, 1), (2, 3)])
    assert tp.emd(*unaligned(rows[:2]), points=unaligned(points)) == tp.emd(
        *rows[:2], points=points
    )
    assert tp.emd(*unaligned(rows[:2]), cost=unaligned(cost)) == tp.emd(*rows[:2], cost=cost)
    np.testing.assert_array_equal(
        tp.emd_pairs(unaligned(rows), unaligned(pairs), points=unaligned(points)),
        tp.emd_pairs(rows, pairs, points=points),
    )
    distances = tp.emd_pairs(rows, pairs, points=points)
    tw = tp.TreeWasserstein(points=unaligned(points)).fit(
        unaligned(rows), pairs=unaligned(pairs), distances=unaligned(distances)
    )
    tree = tp.Tree(unaligned(tw.model_.parents), unaligned(tw.model_.lengths))
    np.testing.assert_array_equal(tree.pairwise(unaligned(rows)), tw.model_.pairwise(rows))
    assert tp.Forest([tree, tree], weights=unaligned([1.0, 3.0])).weights.tolist() == [0.25, 0.75]
    near = tree.extend(unaligned(cost[:2]))
    assert near.n_points == 8
    a, b = unaligned(rows[:2])
    assert tp.sinkhorn(a, b, unaligned(cost)) == tp.sinkhorn(*rows[:2], cost)
    assert tp.sinkhorn(a, b, unaligned(points), unaligned(points)) == tp.sinkhorn(
        *rows[:2], points, points
    )
    np.testing.assert_array_equal(
        tree.barycenter(rows, weights=unaligned(np.arange(1.0, 6))),
        tree.barycenter(rows, weights=range(1, 6)),
    )
    collection = tp.WassersteinNeighbors(points).fit(rows).remove(unaligned([1, 3]))
    assert collection.kneighbors(rows[:1], 3)[1].min() == 0
    # What Dask has sent: a census, and a block of rows.
    whole = _blocks.census(tree, True, unaligned(rows))
    expected = _blocks.table(tree, True, rows, whole)
    np.testing.assert_array_equal(
        _blocks.table(tree, True, unaligned(rows), unaligned(whole)), expected
    )


def test_what_is_not_aligned_is_never_read():
    raw, rows = tp.Tree.from_newick("(a:1,b:2);")._raw, tp.Measures(np.eye(2))._raw
    with pytest.raises(TypeError, match="not aligned"):
        raw.pairwise_part((rows, unaligned(np.ones((1, 3), dtype=np.int64))), None, 1)
    with pytest.raises(TypeError, match="not aligned"):
        _core.Measures.dense(unaligned(np.eye(2)), normalize=False)
    # Steps of 12 bytes, which nothing takes where there is one row.
    records = np.zeros(2, dtype=[("mass", np.float64), ("more", np.int32)])["mass"]
    assert len(_core.Measures.dense(records[:1, None] + 1, normalize=False)) == 1
    with pytest.raises(TypeError, match="not aligned"):
        _core.Measures.dense(records[:, None], normalize=False)


def test_a_panic_is_an_error_that_can_be_caught():
    raw, rows = tp.Tree.from_newick("((a:1,b:1):2,c:3);")._raw, tp.Measures(np.eye(3))._raw
    with pytest.raises(RuntimeError, match="treeport has a fault, please report this: "):
        raw.pairwise_into(
            rows, None, np.zeros((3, 1)), 1
        )  # room that `pairwise` would have refused
