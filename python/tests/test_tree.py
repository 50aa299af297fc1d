"""Trees, judged by SciPy and scikit-bio."""

import io
import pickle

import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist, squareform


def random_newick(rng, leaves):
    """A text of a random tree with multifurcations and unary nodes."""
    parts = [f"t{i}:{rng.random():.6f}" for i in range(leaves)]
    rng.shuffle(parts)
    while len(parts) > 1:
        take = min(int(rng.choice([1, 2, 2, 3, 5])), len(parts))
        joined, parts = parts[:take], parts[take:]
        parts.append(f"({','.join(joined)}):{rng.random():.6f}")
        rng.shuffle(parts)
    return f"({parts[0]});"


def test_distances_are_weighted_unifrac():
    skbio = pytest.importorskip("skbio", reason="scikit-bio has no wheel for this Python")
    from skbio.diversity.beta import weighted_unifrac

    rng = np.random.default_rng(3)
    for _ in range(60):
        n = int(rng.integers(2, 40))
        text = random_newick(rng, n)
        names = [f"t{i}" for i in range(n)]
        judge_tree = skbio.TreeNode.read(io.StringIO(text))
        counts = rng.poisson(1.0, size=(2, n))
        counts[:, int(rng.integers(n))] += 1
        judge = weighted_unifrac(*counts, taxa=names, tree=judge_tree, validate=False)
        a, b = counts / counts.sum(axis=1, keepdims=True)
        tree = tp.Tree.from_newick(text, names=names)
        assert tree.distance(a, b) == pytest.approx(judge, rel=1e-9, abs=1e-12)
        assert tree.paired([a], [b]) == pytest.approx([judge], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", ["single", "average", "complete", "ward"])
def test_linkage_agrees_with_scipy(rng, method):
    points = rng.normal(size=(60, 3))
    distances = pdist(points)
    judge = hierarchy.linkage(distances, method)
    for tree in [
        tp.linkage(points=points, method=method),
        tp.linkage(cost=distances, method=method),
        tp.linkage(cost=squareform(distances), method=method),
    ]:
        np.testing.assert_allclose(tree.to_linkage()[:, 2], judge[:, 2], rtol=1e-9)
        np.testing.assert_allclose(
            squareform(tree.pairwise(np.eye(60)), checks=False),
            hierarchy.cophenet(judge),
            rtol=1e-9,
        )
    back = tp.Tree.from_linkage(judge)
    assert back.is_ultrametric
    np.testing.assert_allclose(back.to_linkage(), judge, rtol=1e-12)
    hierarchy.dendrogram(back.to_linkage(), no_plot=True)


def test_cityblock_of_embeddings_is_the_distance(rng):
    tree = tp.Tree.from_newick(random_newick(rng, 30), names=[f"t{i}" for i in range(30)])
    measures = rng.dirichlet(np.full(30, 0.2), size=12)
    rows = tree.embed(measures)
    assert isinstance(rows, sparse.csr_array)
    assert rows.shape == (12, tree.n_nodes)
    assert rows.indices.dtype == np.int32
    matrix = tree.pairwise(measures)
    np.testing.assert_allclose(
        cdist(rows.toarray(), rows.toarray(), "cityblock"), matrix, atol=1e-12
    )
    np.testing.assert_allclose(tree.pairwise(measures[:5], measures), matrix[:5], atol=1e-12)
    np.testing.assert_allclose(tree.paired(measures[:5], measures[5:10]), np.diag(matrix[:5, 5:10]))
    assert tree.distance(measures[0], measures[1]) == pytest.approx(matrix[0, 1], rel=1e-12)
    compressed = sparse.csr_array(measures)
    assert (tree.pairwise(compressed, n_jobs=1) == tree.pairwise(measures, n_jobs=2)).all()
    wide = compressed.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert (tree.embed(wide) != rows).nnz == 0


def test_a_coupling_is_a_plan_of_the_trees_cost(rng):
    tree = tp.linkage(points=rng.normal(size=(20, 2)))
    a, b = rng.dirichlet(np.ones(20), size=2)
    plan = tree.coupling(a, b)
    np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)
    assert plan.multiply(tree.pairwise(np.eye(20))).sum() == pytest.approx(tree.distance(a, b))


def test_trees_come_back_from_everywhere(rng, tmp_path):
    tree = tp.Tree.from_newick("((cat:1,dog:1.5):2,'big bird':3,(fish:1):0.25);")
    tree.save(tmp_path / "a.tree")
    tree.save(str(tmp_path / "b.tree"))
    for other in [
        tp.Tree.load(tmp_path / "a.tree"),
        tp.Tree.load(str(tmp_path / "b.tree")),
        pickle.loads(pickle.dumps(tree)),
        tp.Tree.from_newick(tree.to_newick(), names=tree.names),
        tp.Tree(tree.parents, tree.lengths, tree.names),
    ]:
        assert other == tree
        assert other.names == ["cat", "dog", "big bird", "fish"]
    assert tree.scaled(2).distance([1, 0, 0, 0], [0, 1, 0, 0]) == 5.0
    assert tree != tree.scaled(2)
    assert tree != "a tree"
    assert not tree.is_ultrametric
    assert tp.Tree([0], [0.0]).n_points == 1


def test_plots_show_every_edge(rng):
    tree = tp.Tree.from_newick("((cat:1,dog:1.5):2,bird:3);")
    ax = tree.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cat", "dog", "bird"]
    lines = ax.collections[0].get_segments()
    lengths = sorted(np.ptp(line[:, 0]) for line in lines if np.ptp(line[:, 0]) > 0)
    assert lengths == [1.0, 1.5, 2.0, 3.0]
    assert tp.linkage(points=rng.normal(size=(300, 2))).plot(ax) is ax
