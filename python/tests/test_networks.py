"""People with networks: masses by node, plans by name, graphs in several pieces."""

import pickle

import networkx as nx
import numpy as np
import ot
import pandas as pd
import pytest
import treeport as tp
from scipy import sparse


def roads(seed=0, nodes=12, edges=20):
    """A connected network whose nodes are tuples, and its table of shortest paths."""
    graph = nx.gnm_random_graph(nodes, edges, seed=seed)
    graph = nx.compose(graph, nx.path_graph(nodes))
    rng = np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = float(rng.integers(1, 9))
    graph = nx.relabel_nodes(graph, {node: ("junction", node) for node in graph})
    return graph, np.asarray(nx.floyd_warshall_numpy(graph))


def drawn(graph, rng, size=4):
    """Masses of total 1 at some nodes."""
    nodes = list(graph.nodes)
    some = rng.choice(len(nodes), size, replace=False)
    return {nodes[at]: mass for at, mass in zip(some, rng.dirichlet(np.ones(size)))}


def dense(measure, graph):
    return np.array([measure.get(node, 0.0) for node in graph.nodes])


def test_masses_by_node_mean_what_arrays_mean():
    graph, table = roads()
    rng = np.random.default_rng(1)
    for _ in range(10):
        a, b = drawn(graph, rng), drawn(graph, rng)
        expected = ot.emd2(dense(a, graph), dense(b, graph), table)
        assert tp.emd(a, b, graph=graph) == pytest.approx(expected)
        assert tp.emd(a, dense(b, graph), graph=graph) == pytest.approx(expected)
        # The entropic plan costs more than the best by at most ε times the entropy that it can have more.
        entropy = min(-sum(mass * np.log(mass) for mass in one.values()) for one in (a, b))
        entropic = tp.sinkhorn(a, b, graph=graph, epsilon=1e-3)
        assert expected * (1 - 1e-9) <= entropic <= expected + 1e-3 * table.max() * entropy
    # Without names, numbers.
    numbered = {at: mass for at, mass in enumerate(dense(a, graph)) if mass}
    assert tp.emd(numbered, dense(b, graph), cost=table) == pytest.approx(expected)
    condensed = table[np.triu_indices(len(table), 1)]
    assert tp.emd(numbered, dense(b, graph), cost=condensed) == pytest.approx(expected)
    adjacency = nx.to_scipy_sparse_array(graph)
    assert tp.emd(numbered, dense(b, graph), graph=adjacency) == pytest.approx(expected)


def test_lists_of_masses_by_node():
    graph, table = roads(2)
    rng = np.random.default_rng(3)
    rows = [drawn(graph, rng) for _ in range(6)]
    arrays = np.array([dense(one, graph) for one in rows])
    pairs = [(0, 1), (2, 3), (4, 5)]
    np.testing.assert_array_equal(
        tp.emd_pairs(rows, pairs, graph=graph), tp.emd_pairs(arrays, pairs, graph=graph)
    )
    np.testing.assert_array_equal(
        tp.emd_pairwise(rows, arrays[:2], graph=graph),
        tp.emd_pairwise(arrays, arrays[:2], graph=graph),
    )
    options = {"graph": graph, "n_pairs": 20, "random_state": 0}
    by_name, by_number = (
        tp.TreeWasserstein(**options).fit(rows),
        tp.TreeWasserstein(**options).fit(arrays),
    )
    np.testing.assert_array_equal(by_name.pairwise(rows), by_number.pairwise(arrays))
    np.testing.assert_array_equal(by_number.pairwise(rows), by_number.pairwise(arrays))
    assert by_name.model_.names == [str(node) for node in graph.nodes]
    a, b = rows[:2]
    assert (
        by_name.distance(a, b)
        == by_number.distance(a, b)
        == by_number.distance(arrays[0], arrays[1])
    )
    np.testing.assert_array_equal(
        by_name.estimate([a], [b], "exact"), by_number.estimate(arrays[:1], arrays[1:2], "exact")
    )
    assert by_name.model_.distance(a, b) == pytest.approx(by_name.distance(a, b))
    np.testing.assert_array_equal(by_name.model_.pairwise(rows), by_number.model_.pairwise(arrays))
    near = tp.WassersteinNeighbors(graph=graph, n_neighbors=2).fit(rows)
    same = tp.WassersteinNeighbors(graph=graph, n_neighbors=2).fit(arrays)
    for found, expected in zip(near.kneighbors(rows[:2]), same.kneighbors(arrays[:2])):
        np.testing.assert_array_equal(found, expected)


def test_points_of_a_frame_have_names():
    places = pd.DataFrame(
        {"x": [0.0, 3.0, 9.0], "y": [0.0, 4.0, 0.0]}, index=["home", "shop", "work"]
    )
    assert tp.emd({"home": 1}, {"shop": 0.5, "work": 0.5}, points=places) == 7.0
    assert (
        tp.emd({"home": 2}, {"here": 2}, places, pd.DataFrame({"x": [0], "y": [1]}, index=["here"]))
        == 2.0
    )
    costs = pd.DataFrame([[1.0, 2.0]], index=["depot"], columns=["north", "south"])
    value, moves = tp.emd({"depot": 3}, {"south": 2, "north": 1}, costs, return_plan="table")
    assert value == 5.0
    assert moves.values.tolist() == [["depot", "south", 2.0], ["depot", "north", 1.0]]
    rows = [{"home": 1}, {"shop": 1}, {"home": 1, "work": 2}]
    model = tp.TreeWasserstein(points=places, method="quadtree").fit(rows)
    assert model.model_.names == ["home", "shop", "work"]
    assert model.distance({"home": 1}, {"home": 5}) == 0.0


def test_measures_of_names():
    words = tp.Measures([{"dog": 1}, {"cat": 2, "dog": 2}])
    assert words.names == ["dog", "cat"]
    tree = tp.Tree.from_newick("((cat:1,dog:1):2,bird:3);")
    assert tree.pairwise(words, normalize=True)[0, 1] == 1.0
    assert tree.pairwise([{"dog": 1}, {"bird": 1}])[0, 1] == 6.0
    assert tp.Measures([{"a": 1}], names=["b", "a"]).shape == (1, 2)


def test_measures_of_numbers_are_on_the_points_that_they_mention():
    points = np.array([[0.0], [1.0], [5.0], [7.0]])
    rows, expected = [{2: 1.0}, {1: 0.5, 0: 0.5}], np.array([[0.0, 4.5], [4.5, 0.0]])
    kept = tp.Measures(rows)
    np.testing.assert_array_equal(tp.emd_pairwise(rows, points=points), expected)
    np.testing.assert_array_equal(tp.emd_pairwise(kept, points=points), expected)
    np.testing.assert_array_equal(
        tp.emd_pairwise(kept, np.eye(4)[:3], points=points)[0], [5.0, 4.0, 0.0]
    )
    np.testing.assert_array_equal(
        tp.emd_pairwise(pickle.loads(pickle.dumps(kept)), points=points), expected
    )
    assert tp.emd(tp.Measures(rows[1:]), tp.Measures(rows[:1]), points=points) == 4.5
    tree = tp.linkage(points=points)
    np.testing.assert_array_equal(tree.pairwise(kept), tree.pairwise(rows))
    index = tp.WassersteinNeighbors(points, n_neighbors=1).fit(kept)
    np.testing.assert_array_equal(index.kneighbors(rows)[0], [[0.0], [0.0]])
    np.testing.assert_array_equal(index.kneighbors(kept, 2)[0], [[0.0, 4.5], [0.0, 4.5]])
    model = tp.TreeWasserstein(points, method="quadtree").fit(kept)
    np.testing.assert_array_equal(model.pairwise(kept), model.pairwise(rows))
    for wrong in [{4: 1.0}, {"home": 1.0}]:
        with pytest.raises(ValueError, match="1 of 1 columns name no point, such as (4|home)"):
            tp.emd_pairwise(tp.Measures([wrong]), points=points)
    # Without a ground metric the points are what they mention.
    assert tp.WassersteinNeighbors(n_neighbors=1).fit(kept).n_features_in_ == 3


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (
            {("junction", 99): 1.0},
            r"there is no node \('junction', 99\); there are 12, such as \('junction', 0\)",
        ),
        ({("junction", 1): -1.0}, r"node \('junction', 1\) has mass -1.0"),
        ({("junction", 1): float("nan")}, r"node \('junction', 1\) has mass nan"),
        ({}, "has no mass"),
    ],
)
def test_wrong_nodes_are_named(measure, message):
    graph, table = roads()
    good = {("junction", 0): 1.0}
    with pytest.raises(ValueError, match=message):
        tp.emd(good, measure, graph=graph)
    with pytest.raises(ValueError, match=message):
        tp.emd_pairs([good, measure], [(0, 1)], graph=graph)
    for number in (12, -1, "0", True, 0.0):
        with pytest.raises(ValueError, match=f"there is no point {number!r}; .* from 0 to 11"):
            tp.emd({number: 1.0}, {0: 1.0}, cost=table)


def test_large_networks_stay_sparse():
    nodes = 300_000
    chain = sparse.diags_array(np.ones(nodes - 1), offsets=1, format="csr")
    rows = [{at: 1.0, at + 7: 1.0} for at in range(3000)]
    # Rows of all nodes would be 7 GB.
    found = tp.emd_pairs(rows, [(0, 5), (10, 11)], graph=chain)
    np.testing.assert_allclose(found, [10.0, 2.0])


def test_plans_by_name():
    graph, table = roads(4)
    rng = np.random.default_rng(5)
    a, b = drawn(graph, rng), drawn(graph, rng)
    value, moves = tp.emd(a, b, graph=graph, return_plan="table")
    plan = tp.emd(a, b, graph=graph, return_plan=True)[1]
    assert list(moves.columns) == ["source", "target", "mass"]
    assert moves["mass"].is_monotonic_decreasing and len(moves) == plan.nnz
    paths = [nx.dijkstra_path_length(graph, row.source, row.target) for row in moves.itertuples()]
    assert moves["mass"] @ paths == pytest.approx(value)
    sums = moves.groupby("source")["mass"].sum()
    assert {node: pytest.approx(mass) for node, mass in a.items()} == sums.to_dict()
    assert tp.sinkhorn(a, b, graph=graph, return_plan="table")[1]["mass"].sum() == pytest.approx(
        1.0
    )
    partial = tp.emd(a, b, graph=graph, mass=0.5, return_plan="table")[1]
    assert partial["mass"].sum() == pytest.approx(0.5)
    numbered = tp.emd([1.0, 0.0], [0.25, 0.75], points=[[0.0], [1.0]], return_plan="table")[1]
    assert numbered.values.tolist() == [[0, 1, 0.75], [0, 0, 0.25]]
    assert numbered["source"].dtype == np.int64
    model = tp.TreeWasserstein(graph=graph, method="cluster").fit([a, b, drawn(graph, rng)])
    moves = model.coupling(a, b, table=True)
    assert moves["mass"].sum() == pytest.approx(1.0) and set(moves["source"]) == set(a)
    with pytest.raises(ValueError, match='return_plan is "tabel"|return_plan is .tabel.'):
        tp.emd(a, b, graph=graph, return_plan="tabel")


def test_plans_without_pandas(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    tree = tp.Tree.from_newick("(cat:1,dog:2);")
    assert tree.coupling({"cat": 4}, {"cat": 1, "dog": 3}, table=True) == [
        ("cat", "dog", 3.0),
        ("cat", "cat", 1.0),
    ]


def test_masses_are_judged_before_the_metric():
    # A negative length is an error of its own, which would come first if the metric were made first.
    graph = sparse.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    bad, pairs = [[1.0, 0.0], [0.0, -2.0]], [(0, 1)]
    with pytest.raises(ValueError, match="mass -2"):
        tp.emd_pairs(bad, pairs, graph=graph)
    with pytest.raises(ValueError, match="mass -2"):
        tp.emd_pairwise(bad, graph=graph)
    uneven = [[1.0, 0.0], [0.0, 2.0]]
    with pytest.raises(ValueError, match="total mass 1 and 2"):
        tp.emd_pairs(uneven, pairs, graph=graph)
    with pytest.raises(ValueError, match="total mass 1 and 2"):
        tp.emd_pairwise(uneven, graph=graph)
    with pytest.raises(ValueError, match="no measure 2"):
        tp.emd_pairs(uneven, [(0, 2)], graph=graph)
    with pytest.raises(ValueError, match="Negative values"):
        tp.TreeWasserstein(graph=graph).fit(bad)
    with pytest.raises(ValueError, match="1 rows have mass"):
        tp.TreeWasserstein(graph=graph).fit([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="has no mass"):
        tp.TreeWasserstein(graph=graph).fit([[1.0, 0.0], [0.0, 0.0]], pairs=pairs, distances=[1.0])
    with pytest.raises(ValueError, match="weight -1"):
        tp.emd_pairs([[1.0, 0.0], [0.0, 1.0]], pairs, graph=graph)


def islands(seed):
    """A network in pieces, and its table of distances, with pieces very far apart."""
    graph = nx.gnm_random_graph(14, 11, seed=seed)
    rng = np.random.default_rng(seed)
    for _, _, data in graph.edges(data=True):
        data["weight"] = float(rng.uniform(1, 9))
    graph = nx.relabel_nodes(graph, {node: f"n{node}" for node in graph})
    table = np.asarray(nx.floyd_warshall_numpy(graph))
    return graph, np.where(np.isinf(table), 1e6, table)


def spread(graph, rng):
    """Two measures that have the same mass in every component."""
    a, b = {}, {}
    for part in nx.connected_components(graph):
        part, mass = sorted(part), rng.uniform()
        for side in (a, b):
            some = rng.choice(len(part), min(3, len(part)), replace=False)
            side.update(
                {
                    part[at]: mass * share
                    for at, share in zip(some, rng.dirichlet(np.ones(len(some))))
                }
            )
    return a, b


@pytest.mark.parametrize("seed", range(5))
def test_networks_in_pieces(seed):
    graph, table = islands(seed)
    assert nx.number_connected_components(graph) > 2
    rng = np.random.default_rng(seed)
    a, b = spread(graph, rng)
    total = sum(a.values())
    expected = ot.emd2(dense(a, graph) / total, dense(b, graph) / total, table) * total
    assert tp.emd(a, b, graph=graph) == pytest.approx(expected)
    value, moves = tp.emd(a, b, graph=graph, return_plan="table")
    paths = [nx.dijkstra_path_length(graph, row.source, row.target) for row in moves.itertuples()]
    assert value == pytest.approx(expected) and moves["mass"] @ paths == pytest.approx(expected)
    value, (u, v) = tp.emd(a, b, graph=graph, return_potentials=True)
    assert dense(a, graph) @ u + dense(b, graph) @ v == pytest.approx(expected)
    assert (u[:, None] + v[None, :] <= table + 1e-9).all()
    np.testing.assert_allclose(tp.emd_pairs([a, b], [(0, 1), (1, 0)], graph=graph), expected)
    np.testing.assert_allclose(tp.emd_pairwise([a, b], graph=graph), [[0, expected], [expected, 0]])
    np.testing.assert_allclose(tp.emd_pairwise([a], [b, a], graph=graph, n_jobs=1), [[expected, 0]])
    # What is not moved may cost something in place of that.
    c = dict(a, **{next(iter(a)): 2.0})
    flat = tp.emd(dense(c, graph), dense(b, graph), table, penalty=3.0)
    assert tp.emd(c, b, graph=graph, penalty=3.0) == pytest.approx(flat)
    np.testing.assert_allclose(tp.emd_pairs([c, b], [(0, 1)], graph=graph, penalty=3.0), flat)


def test_masses_that_cannot_meet_are_named():
    graph = nx.Graph([("oslo", "bergen"), ("nuuk", "sisimiut")], name="apart")
    words = "have mass 1 and 0 in the component of node 'oslo', and no path leads out of it"
    a, b = {"oslo": 1}, {"nuuk": 1}
    with pytest.raises(ValueError, match=words):
        tp.emd(a, b, graph=graph, weight=None)
    with pytest.raises(ValueError, match=words + r".*`penalty`"):
        tp.emd_pairs([b, a], [(1, 0)], graph=graph, weight=None)
    with pytest.raises(ValueError, match="in the component of node 0,"):
        tp.emd([1, 0, 0, 0], [0, 0, 1, 0], graph=nx.to_scipy_sparse_array(graph))
    with pytest.raises(
        ValueError, match="2 components .*largest component of a networkx graph is `graph.subgraph"
    ):
        tp.TreeWasserstein(graph=graph, weight=None).fit([a, b])
    with pytest.raises(ValueError, match="2 components"):
        tp.sinkhorn(a, b, graph=graph, weight=None)
    with pytest.raises(ValueError, match="mass is 0.5; the graph falls into several components"):
        tp.emd(a, {"bergen": 1}, graph=graph, weight=None, mass=0.5)


def test_few_pairs_on_a_graph_do_not_ask_for_all_paths():
    # Sums along paths round as they are searched for: all paths at once have other last digits.
    rng = np.random.default_rng(0)
    n = 60
    ring = sparse.csr_array((rng.random(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    more = sparse.random_array((n, n), density=0.03, rng=rng, format="csr")
    graph = ring + ring.T + more + more.T
    for _ in range(20):
        a, b = np.zeros((2, n))
        a[rng.choice(n, 4, replace=False)] = rng.dirichlet(np.ones(4))
        b[rng.choice(n, 4, replace=False)] = rng.dirichlet(np.ones(4))
        assert tp.emd_pairs([a, b], [(0, 1)], graph=graph)[0] == tp.emd(a, b, graph=graph)
        assert tp.emd(a, b, graph=graph) == tp.emd(b, a, graph=graph)
