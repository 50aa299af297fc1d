"""Certificates of plans and potentials that other packages found."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import treeport as tp
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist


@pytest.fixture
def problem():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 1
    a, b = rng.random(40) + 0.1, rng.random(30) + 0.1
    return a / a.sum(), b / b.sum(), x, y


def check(found, a, b, cost, exact):
    assert found.lower <= exact * (1 + 1e-9) and exact <= found.upper * (1 + 1e-9)
    plan = found.plan.toarray()
    np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-12)
    assert (plan * cost).sum() == pytest.approx(found.upper, rel=1e-9)
    u, v = found.potentials
    assert (u[:, None] + v <= cost + 1e-9).all()
    assert a @ u + b @ v == pytest.approx(found.lower, rel=1e-9, abs=1e-12)


def test_every_form_of_a_plan_is_the_same_plan(problem):
    a, b, x, y = problem
    cost, exact = cdist(x, y), tp.emd(a, b, x, y)
    table = np.outer(a, b) * np.random.default_rng(0).random((40, 30))
    moves = sparse.coo_array(table)
    forms = [
        table,
        np.asfortranarray(table),
        moves,
        sparse.csr_matrix(table),
        (moves.row, moves.col, moves.data),
    ]
    found = [tp.certify(a, b, x, y, plan=plan, potentials=np.zeros(40)) for plan in forms]
    for one in found:
        check(one, a, b, cost, exact)
        assert one.upper == pytest.approx(found[0].upper, rel=1e-9)
        assert one.rerouted == pytest.approx(found[0].rerouted)
    single = tp.certify(a, b, cost, plan=table.astype(np.float32), potentials=(None, np.zeros(30)))
    assert single.upper == pytest.approx(found[0].upper, rel=1e-5)
    alone = tp.certify(a, b, x, y, plan=table)
    assert alone.lower == pytest.approx(exact, rel=1e-9)
    bounds = tp.certify(a, b, x, y, plan=table, potentials=np.zeros(40), bounds_only=True)
    assert (bounds.upper, bounds.potentials) == (found[0].upper, None)


def test_exact_answers_have_no_gap(problem):
    a, b, x, y = problem
    solution = tp.solve(a, b, x, y, potentials=True)
    for plan in (solution.plan, solution.moves):
        found = tp.certify(a, b, x, y, plan=plan, potentials=solution.potentials)
        assert found.relative_gap < 1e-9 and found.rerouted < 1e-12
    u, v = solution.potentials
    for potentials in (u, (u, None), (None, v), (u + 7, v - 7)):
        assert tp.certify(a, b, x, y, potentials=potentials).relative_gap < 1e-9


def test_a_matching_is_a_list_of_targets():
    rng = np.random.default_rng(1)
    x, y = rng.random((2, 50, 3))
    cost = cdist(x, y)
    _, target = linear_sum_assignment(cost)
    optimal = tp.certify(None, None, x, y, plan=target)
    assert optimal.relative_gap < 1e-9
    greedy, free = np.empty(50, dtype=np.int32), list(range(50))
    for i in range(50):
        greedy[i] = free.pop(int(np.argmin(cost[i, free])))
    found = tp.certify(None, None, x, y, plan=greedy)
    assert found.upper == pytest.approx(cost[np.arange(50), greedy].mean())
    assert found.lower == pytest.approx(optimal.lower)
    assert tp.certify(None, None, x, y, plan=(np.arange(50), greedy)).upper == found.upper


def test_penalties_and_directed_graphs(problem):
    a, b, x, y = problem
    exact = tp.emd(2 * a, b, x, y, penalty=1.0)
    found = tp.certify(
        2 * a, b, x, y, plan=0.5 * np.outer(a, b), potentials=np.ones(40), penalty=1.0
    )
    assert found.lower <= exact * (1 + 1e-9) and exact <= found.upper * (1 + 1e-9)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 4.0)])
    plan = [[0.0, 0.0, 0.5], [0.0, 0.5, 0.0], [0.0, 0.0, 0.0]]
    found = tp.certify({"a": 0.5, "b": 0.5}, {"b": 0.5, "c": 0.5}, graph=graph, plan=plan)
    assert found.upper == pytest.approx(1.5)
    assert tp.emd({"a": 0.5, "b": 0.5}, {"b": 0.5, "c": 0.5}, graph=graph) == pytest.approx(
        found.lower
    )


@pytest.mark.parametrize(
    ("plan", "potentials", "said"),
    [
        ([[1.0, -1.0], [0.0, 1.0]], None, "the plan moves -1 from point 0 to point 1"),
        ([[1.0, 0.0], [np.nan, 1.0]], None, "the plan moves NaN from point 1 to point 0"),
        (
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            None,
            r"the plan has shape \(2, 3\), expected \(2, 2\)",
        ),
        (sparse.eye_array(3), None, r"the plan has shape \(3, 3\), expected \(2, 2\)"),
        ([0, 5], None, "move 1 of the plan has target 5, but there are 2 points"),
        ([0.0, 1.0], None, "the target of every point"),
        (([0, 1], [0, 1], [1.0]), None, "2 sources, 2 targets and 1 masses"),
        (None, None, "plan is missing; give a plan, potentials, or both"),
        (None, [0.0], r"potentials of measure 0 has shape \(1,\)"),
        (None, (None, [0.0, np.inf]), "the potential of point 1 of measure 1 is inf"),
        (None, ([0.0], [0.0], [0.0]), "a tuple of 3"),
    ],
)
def test_bad_proposals_name_the_entry(plan, potentials, said):
    with pytest.raises(ValueError, match=said):
        tp.certify(None, None, [[0.0], [1.0]], [[2.0], [3.0]], plan=plan, potentials=potentials)


def test_entropic_plans_of_pot_are_certified(problem):
    ot = pytest.importorskip("ot", reason="POT is not installed")
    a, b, x, y = problem
    cost, exact = cdist(x, y), tp.emd(a, b, x, y)
    plan, log = ot.sinkhorn(a, b, cost, 0.05, log=True, stopThr=1e-3, warn=False)
    potentials = 0.05 * np.log(log["u"]), 0.05 * np.log(log["v"])
    found = tp.certify(a, b, x, y, plan=plan, potentials=potentials)
    check(found, a, b, cost, exact)
    assert 0.5 * exact < found.lower and found.rerouted > 0
    plan, log = ot.emd(a, b, cost, log=True)
    found = tp.certify(a, b, x, y, plan=plan, potentials=(log["u"], log["v"]))
    check(found, a, b, cost, exact)
    assert found.relative_gap < 1e-9
