"""Errors: which, and what they say."""

import numpy as np
import pytest
import treeport as tp
from scipy import sparse

POINTS = [[0.0], [1.0], [5.0]]
CALLS = [
    (
        lambda: tp.emd([1, 0, 0], [0, 1], points=POINTS),
        "the measures live on 2 points, the tree or metric on 3",
    ),
    (
        lambda: tp.emd([1, 0, -1], [0, 1, 0], points=POINTS),
        "measure 0 has mass -1 at point 2; masses must be finite and at least 0",
    ),
    (
        lambda: tp.emd([1, 0, 0], [0, np.nan, 0], points=POINTS),
        "measure 1 has mass NaN at point 1; masses must be finite and at least 0",
    ),
    (
        lambda: tp.emd([1, 0, 0], [0, 0, 0], points=POINTS),
        "measure 1 has no mass; drop the row or give it a positive entry",
    ),
    (
        lambda: tp.emd([], [], points=POINTS),
        "a has no masses; give one for each point, or `None` for the same mass at every point",
    ),
    (
        lambda: tp.emd([1, 0, 0], [0, 2, 0], points=POINTS),
        "measures 0 and 1 have total mass 1 and 2; transport needs equal masses, so divide each by its total first, or let mass be left over (`penalty` of `emd`, `emd_pairs`, `emd_pairwise` and `Tree.distance`, `mass` of `emd`)",
    ),
    (
        lambda: tp.emd([0, 0, 1], [0, 1, 0], points=[[0.0], [1.0], [np.inf]]),
        "coordinate 0 of point 2 is inf; coordinates must be finite",
    ),
    (
        lambda: tp.emd([0, 0, 1], [0, 1, 0], points=[[1.0], [1.0], [0.0]], metric="cosine"),
        "point 2 has length 0, so its cosine distance is undefined; drop it or use another metric",
    ),
    (
        lambda: tp.emd([1, 0], [0, 1], cost=[[0, -1], [1, 0]]),
        "distance from point 0 to point 1 is -1; distances must be finite and at least 0",
    ),
    (
        lambda: tp.emd([1, 0, 0], [0, 0, 1], cost=[1.0, np.nan, 1.0]),
        "distance from point 0 to point 2 is NaN; distances must be finite and at least 0",
    ),
    (
        lambda: tp.emd([1, 0], [0, 1], cost=np.ones((2, 3))),
        "the cost matrix has shape (2, 3), expected (2, 2)",
    ),
    (
        lambda: tp.emd([1, 0, 0], [0, 0, 1], points=POINTS, metric="canberra"),
        "the metric is `canberra`; it must be euclidean, manhattan, chebyshev, cosine, sqeuclidean or haversine",
    ),
    (lambda: tp.emd([1, 0], [0, 1]), "give one of points, cost and graph; 0 of them are given"),
    (
        lambda: tp.emd([1, 0], [0, 1], points=POINTS, cost=POINTS),
        "give one of points, cost and graph; 2 of them are given",
    ),
    (
        lambda: tp.emd([[1, 0], [0, 1]], [0, 1], points=POINTS),
        "a measure is one row of masses, not an array of shape (2, 2); rows that are points, of equal masses: "
        "`emd(None, None, x, y)`",
    ),
    (
        lambda: tp.emd([1, 0, 0], [0, 1, 0], graph=sparse.csr_array((3, 3))),
        "measures 0 and 1 have mass 1 and 0 in the component of node 0, and no path leads out of it; make them equal there, or join the components by edges, or let mass be left over (`penalty`)",
    ),
    (
        lambda: tp.linkage(graph=sparse.csr_array((3, 3))),
        "the graph falls into 3 components (node 1 cannot be reached from node 0); keep the largest component, or join them by edges; only exact distances and plans support disconnected graphs (`emd`, `emd_pairs`, `emd_pairwise`). The largest component of a networkx graph is `graph.subgraph(max(networkx.connected_components(graph), key=len))`; for a matrix see `scipy.sparse.csgraph.connected_components`",
    ),
    (
        lambda: tp.emd_pairs(np.eye(2), [(0, 1)], graph=sparse.csr_array([[0, 2], [3, 0]])),
        "the adjacency matrix has 2 at (0, 1) and 3 at (1, 0); distances are the same both ways here (`emd` alone knows directions), so say what it means: `A.maximum(A.T)`",
    ),
    (
        lambda: tp.emd(
            [1, 0, 0], [0, 0, 1], graph=sparse.csr_array([[0, 2, 0], [3, 0, 0], [0, 1, 0]])
        ),
        "there is no path from node 0 to node 2; each node with mass of a needs a path to each node with mass of b",
    ),
    (
        lambda: tp.emd([1, 0], [0, 1], graph=sparse.csr_array([[0, -2], [3, 0]])),
        "the edge from node 0 to node 1 has length -2; lengths must be finite and at least 0",
    ),
    (
        lambda: tp.linkage(graph=sparse.csr_array([[0, 2, 0], [2, 0, 1], [4, 0, 0]])),
        "the adjacency matrix has 0 at (0, 2) and 4 at (2, 0); distances are the same both ways here (`emd` alone knows directions), so say what it means: `A.maximum(A.T)`",
    ),
    (
        lambda: tp.emd(np.ma.masked_array([1.0, 0, 0], [0, 1, 0]), [0, 1, 0], points=POINTS),
        "some entries are masked; fill them (`filled`) or leave them out first",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, random_state=2**70).fit(np.eye(3)),
        f"random_state is {2**70}; a seed is at least 0 and below 2**64",
    ),
    (
        lambda: tp.emd_pairs(np.eye(3), [(0, 3)], points=POINTS),
        "there is no measure 3: the set holds 3, numbered from 0",
    ),
    (
        lambda: tp.emd_pairs(np.eye(3), [(0, -1)], points=POINTS),
        "pair 0 names measure -1; measures are numbered from 0",
    ),
    (
        lambda: tp.emd_pairs(np.eye(3), [(0, 1, 2)], points=POINTS),
        "the list of pairs has shape (1, 3), expected (n, 2)",
    ),
    (
        lambda: tp.emd_pairs(np.eye(2), [(0, 1)], cost=[[0, 1], [2, 0]]),
        "distance from point 0 to point 1 is 1 but 2 the other way; a ground metric is symmetric",
    ),
    (
        lambda: tp.emd_pairs(np.eye(2), [(0, 1)], cost=[[1, 1], [1, 0]]),
        "distance from point 0 to itself is 1, expected 0",
    ),
    (
        lambda: tp.emd_pairs(np.eye(2), [(0, 1)], cost=np.ones((2, 3))),
        "the cost matrix has shape (2, 3), expected a square, or one row of n(n − 1)/2 distances",
    ),
    (
        lambda: tp.sinkhorn([1, 0, 0], [0, 0, 1], points=POINTS, epsilon=0),
        "epsilon is 0; it must be above 0; exact transport is without entropy",
    ),
    (lambda: tp.Tree.from_newick("(a:1,b"), None),
    (
        lambda: tp.Tree.from_newick("(a:1,b:1);", names=["a", "c"]),
        "Newick, byte 5: leaf `b` is not among the names given",
    ),
    (
        lambda: tp.Tree.from_linkage([[0, 1, 2]]),
        "the linkage matrix has shape (1, 3), expected (n − 1, 4)",
    ),
    (
        lambda: tp.Tree([2, 2, 2], [1.0, -1.0, 0.0]),
        "not a tree: edge above node 1 has length -1; lengths are at least 0",
    ),
    (lambda: tp.Tree([2, 2, 2], [1.0, 1.0, 0.0], names=["a"]), "1 names for 2 points"),
    (
        lambda: tp.Tree([2, 2, 2], [1.0, 2.0, 0.0]).to_linkage(),
        "the tree is not ultrametric: leaf 0 is 1 from the root, leaf 1 is 2; a linkage matrix needs equal distances",
    ),
    (
        lambda: tp.linkage(points=POINTS, method="median"),
        "the linkage is `median`; it must be average, single, complete, ward, closest or neighbors",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, method="oak").fit(np.eye(3)),
        "the method is `oak`; it must be auto, tree, additive, ultrametric, skip-mst, forest, learned-forest, slices, quadtree, cluster, kmeans, qtwd, ctwd, qtwd-labels, ctwd-labels, sliced-quadtree, sliced-cluster, sliced-qtwd, sliced-ctwd, ultratwd-mst, ultratwd, single, average, neighbors or total-variation",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, method="forest", n_trees=0).fit(np.eye(3)),
        "n_trees is 0; it must be from 1 to 100,000",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, method="forest", start=tp.linkage(points=POINTS)).fit(
            np.eye(3)
        ),
        "start is a tree; the trees of a forest are grown by a linkage",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, method="forest", n_trees=-1).fit(np.eye(3)),
        "n_trees is -1; it must be a whole number of at least 0",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, epochs=2.5).fit(np.eye(3)),
        "epochs is 2.5; it must be a whole number of at least 0",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, start=tp.Tree([2, 2, 2], [1.0, 1.0, 0.0])).fit(
            np.eye(3)
        ),
        "start is a tree over 2 points; it must have the points of the ground metric",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, start="").fit(np.eye(3)),
        "the linkage is ``; it must be average, single, complete, ward, closest or neighbors",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, start=5).fit(np.eye(3)),
        "start is 5; it must be the name of a linkage or a tree",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, method="forest", start="median").fit(np.eye(3)),
        "the linkage is `median`; it must be average, single, complete, ward, closest or neighbors",
    ),
    (
        lambda: tp.TreeWasserstein(cost=[1.0, 5.0, 4.0], method="qtwd").fit(np.eye(3)),
        "qtwd needs coordinates, and this ground metric is a matrix or a graph; take a method that needs distances only, such as cluster or ctwd",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(np.eye(3)).estimate(np.eye(3), np.eye(3)[:2]),
        "the second set of measures has shape 2 rows, expected 3 rows",
    ),
    (
        lambda: (
            tp.TreeWasserstein(POINTS)
            .fit(np.eye(3))
            .set_params(points=POINTS + POINTS)
            .bounds(np.eye(3), np.eye(3))
        ),
        "the measures live on 3 points, the tree or metric on 6",
    ),
    (lambda: tp.Forest([]), "not a forest: it has no trees"),
    (
        lambda: tp.Forest([tp.Tree([2, 2, 2], [1.0, 1.0, 0.0])], weights=[1, 2]),
        "not a forest: 1 trees and 2 weights",
    ),
    (
        lambda: tp.Forest([tp.Tree([2, 2, 2], [1.0, 1.0, 0.0])], weights=[-1]),
        "not a forest: tree 0 has weight -1; weights are at least 0",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, learning_rate=-1).fit(np.eye(3)),
        "learning_rate is -1; it must be above 0; try 0.5",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, n_jobs=0).fit(np.eye(3)),
        "n_jobs is 0; give a number of threads, or -1 for all processors",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS, random_state="x").fit(np.eye(3)),
        "random_state is 'x'; give an int, a Generator or None",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(np.eye(4)),
        "the measures live on 4 points, the tree or metric on 3",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(-np.eye(3)),
        "Negative values in data: measure 0 has mass -1 at point 0; masses must be finite and at least 0",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(np.eye(3), pairs=[(0, 1)]),
        "give pairs and distances together, or neither",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(np.eye(3), pairs=[(0, 1)], distances=[-1]),
        "pair 0 (measures 0 and 1) has distance -1; distances must be finite and at least 0",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(np.eye(3), pairs=[(0, 1)], distances=[1, 2]),
        "the list of exact distances has shape (2,), expected (1,)",
    ),
    (
        lambda: tp.TreeWasserstein(POINTS).fit(np.diag([1, 0, 0])),
        "1 rows have mass; a pair needs two",
    ),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_bad_values_are_named(number):
    call, message = CALLS[number]
    with pytest.raises(ValueError) as caught:
        call()
    if message is not None:
        assert str(caught.value) == message


def test_files_that_cannot_be_read_or_written(tmp_path):
    missing = tmp_path / "no" / "model.tree"
    with pytest.raises(FileNotFoundError, match="cannot read `.*model.tree`: No such file"):
        tp.load(missing)
    tree = tp.Tree([2, 2, 2], [1.0, 2.0, 0.0])
    with pytest.raises(OSError, match="cannot write `.*model.tree`: "):
        tree.save(missing)
    other = tmp_path / "other.tree"
    other.write_text("not a tree at all")
    with pytest.raises(ValueError, match="other.tree` is not a treeport tree: "):
        tp.load(other)
    tree.save(other)
    other.write_bytes(other.read_bytes()[:-3])
    with pytest.raises(ValueError, match="other.tree` is "):
        tp.Tree.load(other)


def test_messages_are_for_people_who_write_python(tmp_path):
    """No names of Rust, no options of the command line, and no labels, which are classes elsewhere."""
    tree = tp.Tree.from_newick("(a:1,b:2);")
    (tmp_path / "a.csv").write_text("id,a\nx,1\ny,-1\n")
    more = [
        (lambda: tree.pairwise([[1, 0], [0, 2]]), None),
        (lambda: tree.unifrac([[1, 0]], "weighed"), None),
        (lambda: tree.distance([1, 0, 0], [0, 1, 0]), None),
        (lambda: tree.kneighbors(np.eye(2), n_neighbors=0), None),
        (lambda: tp.Measures.read(tmp_path / "a.csv"), None),
        (
            lambda: tp.TreeWasserstein(POINTS, method="auto").fit(
                np.eye(3), pairs=[(0, 1)], distances=[0]
            ),
            None,
        ),
        (
            lambda: tp.TreeWasserstein(POINTS, method="average").fit(
                np.eye(3), pairs=np.empty((0, 2), int), distances=[]
            ),
            None,
        ),
        (
            lambda: (
                tp.TreeWasserstein(POINTS).fit(np.eye(3)).estimate(np.eye(3), np.eye(3), "best")
            ),
            None,
        ),
        (lambda: tp.WassersteinNeighbors(POINTS, accuracy=-1).fit(np.eye(3)).kneighbors(), None),
        (lambda: tp.linkage(points=np.empty((0, 2))), None),
        (lambda: tp.set_memory_limit(-1), None),
        (lambda: tp.plot_distances(np.eye(3)), None),
    ]
    said = []
    for call, _ in CALLS + more:
        try:
            call()
        except (ValueError, MemoryError, OverflowError) as error:
            said.append(str(error))
    assert len(said) > 60
    for message in said:
        plain = message.split("must be auto, ")[0]  # names of methods end in -labels
        for word in ("::", "usize", "u32", "f64", "--", "Vec<", "GroundMetric", "Option", "label"):
            assert word not in plain, message
