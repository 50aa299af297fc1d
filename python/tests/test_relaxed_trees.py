"""Unbalanced transport and barycenters on trees, judged by linear programs and by exact transport."""

import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from scipy.optimize import linprog


def scene(rng, count):
    """A tree over random points, its distances, and measures of any masses."""
    n = int(rng.integers(2, 12))
    tree = tp.linkage(points=rng.normal(size=(n, 2)), method=str(rng.choice(["average", "single"])))
    units = np.eye(n)
    masses = rng.random((count, n)) * (rng.random((count, n)) < 0.7) + 1e-3
    return tree, tree.pairwise(units), masses


def test_unbalanced_transport_on_trees_is_exact():
    rng = np.random.default_rng(3)
    for _ in range(200):
        tree, cost, (a, b) = scene(rng, 2)
        penalty = float(rng.choice([0.0, 0.2, 1.0, 20.0]))
        judge = tp.emd(a, b, cost, penalty=penalty)
        assert tree.distance(a, b, penalty=penalty) == pytest.approx(judge, rel=1e-9, abs=1e-12)
        assert tree.distance(sparse.csr_array(a[None]), b, penalty=penalty) == pytest.approx(
            judge, rel=1e-9, abs=1e-12
        )
        a, b = a / a.sum(), b / b.sum()
        assert tree.distance(a, b, penalty=100.0) == pytest.approx(
            tree.distance(a, b), rel=1e-9, abs=1e-12
        )


def test_unbalanced_transport_on_a_forest_is_the_mean():
    rng = np.random.default_rng(4)
    points, (a, b) = rng.normal(size=(9, 2)), rng.random((2, 9))
    trees = [tp.linkage(points=points, method=method) for method in ["average", "single"]]
    forest = tp.Forest(trees, weights=[1, 3])
    judge = 0.25 * trees[0].distance(a, b, penalty=0.7) + 0.75 * trees[1].distance(
        a, b, penalty=0.7
    )
    assert forest.distance(a, b, penalty=0.7) == pytest.approx(judge, rel=1e-12)


def barycenter_lp(tree, measures, weights):
    """The least weighted sum of distances, by a linear program: masses of points, and what every edge misses."""
    n, nodes = tree.n_points, tree.n_nodes
    below = np.zeros((nodes, n))
    below[:n] = np.eye(n)
    for v, parent in enumerate(tree.parents[:-1]):
        below[parent] += below[v]
    count = len(measures)
    price = np.concatenate([np.zeros(n), np.outer(weights, tree.lengths).ravel()])
    over = [np.hstack([below, np.kron(np.eye(count)[k], -np.eye(nodes))]) for k in range(count)]
    under = [np.hstack([-below, np.kron(np.eye(count)[k], -np.eye(nodes))]) for k in range(count)]
    masses = [below @ row for row in measures]
    total = np.concatenate([np.ones(n), np.zeros(count * nodes)])[None]
    found = linprog(
        price,
        A_ub=np.vstack(over + under),
        b_ub=np.concatenate(masses + [-row for row in masses]),
        A_eq=total,
        b_eq=[measures[0].sum()],
    )
    assert found.status == 0
    return found.fun


def test_barycenters_are_as_good_as_a_linear_program():
    rng = np.random.default_rng(5)
    for _ in range(60):
        tree, _, measures = scene(rng, int(rng.integers(1, 6)))
        measures *= 2 / measures.sum(axis=1, keepdims=True)
        weights = rng.random(len(measures)) + 0.1
        found = tree.barycenter(measures, weights)
        assert (found >= 0).all() and found.sum() == pytest.approx(2, rel=1e-12)
        ours = sum(weight * tree.distance(found, row) for weight, row in zip(weights, measures))
        assert ours == pytest.approx(barycenter_lp(tree, measures, weights), rel=1e-7, abs=1e-9)
        np.testing.assert_array_equal(
            found, tree.barycenter(sparse.csr_array(measures), weights.tolist())
        )


CALLS = [
    (
        lambda tree: tree.distance([1, 0], [0, 2]),
        "measures 0 and 1 have total mass 1 and 2; transport needs equal masses, so divide each by its total first, or let mass be left over (`penalty` of `emd`, `emd_pairs`, `emd_pairwise` and `Tree.distance`, `mass` of `emd`)",
    ),
    (
        lambda tree: tree.distance([1, 0], [0, 2], penalty=-1.0),
        "penalty is -1; it must be finite and at least 0",
    ),
    (
        lambda tree: tree.distance([1, 0, 1], [0, 2, 0], penalty=1.0),
        "the measures live on 3 points, the tree or metric on 2",
    ),
    (
        lambda tree: tree.barycenter(np.eye(2), [1.0]),
        "the list of weights has shape (1,), expected (2,)",
    ),
    (
        lambda tree: tree.barycenter(np.eye(2), [1.0, np.nan]),
        "weights is NaN for measure 1; weights must be finite and at least 0",
    ),
    (
        lambda tree: tree.barycenter(np.eye(2), np.eye(2)),
        "weights has shape (2, 2), expected one for every measure",
    ),
    (
        lambda tree: tree.barycenter(np.zeros((0, 2))),
        "the set of measures has shape 0 rows, expected at least one row",
    ),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_bad_values_are_named(number):
    call, message = CALLS[number]
    with pytest.raises(ValueError) as caught:
        call(tp.Tree.from_newick("(a:1,b:2);"))
    assert str(caught.value) == message
