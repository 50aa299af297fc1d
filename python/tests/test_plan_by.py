"""Plans between groups, judged by loops over the plan."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import treeport as tp
from scipy.spatial.distance import cdist, pdist


def judged(solution, labels_a, labels_b, costs):
    """Mass and cost between groups by a loop over all moves."""
    mass, cost = {}, {}
    for i, j in zip(*solution.plan.nonzero()):
        pair = labels_a[i], labels_b[j]
        mass[pair] = mass.get(pair, 0) + solution.plan[i, j]
        cost[pair] = cost.get(pair, 0) + solution.plan[i, j] * costs[i, j]
    return mass, cost


def check(solution, labels_a, labels_b, costs):
    by = solution.plan_by(labels_a, labels_b)
    mass, cost = judged(solution, labels_a, labels_a if labels_b is None else labels_b, costs)
    assert len(by.table) == len(mass)
    for _, row in by.table.iterrows():
        pair = row.source, row.target
        assert row.mass == pytest.approx(mass[pair]) == by.mass.loc[pair]
        assert row.cost == pytest.approx(cost[pair], abs=1e-12)
        assert by.cost.loc[pair] == row.cost and row.distance == row.cost / row.mass
    assert by.cost.to_numpy().sum() == pytest.approx(solution.value)
    assert (np.diff(by.table.cost) <= 0).all()


def test_groups_are_sums_of_moves_for_every_kind_of_cost(rng):
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    groups = rng.choice(["T", "B", "NK"], size=30), rng.choice(["T", "B"], size=20)
    for metric in ("euclidean", "sqeuclidean", "cityblock"):
        solution = tp.solve(None, None, x, y, metric=metric)
        check(solution, *groups, cdist(x, y, metric))
    check(tp.solve(None, None, cdist(x, y)), *groups, cdist(x, y))
    a, b = rng.random((2, 30))
    a, b = a / a.sum(), b / b.sum()
    square = cdist(x, x)
    check(tp.solve(a, b, points=x), groups[0], None, square)
    check(tp.solve(a, b, cost=pdist(x)), groups[0], None, square)
    path = nx.path_graph(30)
    lengths = np.abs(np.subtract.outer(np.arange(30), np.arange(30))).astype(float)
    check(tp.solve(a, b, graph=path, weight=None), groups[0], None, lengths)
    parts = nx.union(nx.path_graph(15), nx.path_graph(range(15, 30)))
    b[:15] *= a[:15].sum() / b[:15].sum()
    b[15:] *= a[15:].sum() / b[15:].sum()
    check(tp.solve(a, b, graph=parts, weight=None), groups[0], None, lengths)
    ring = nx.DiGraph([(at, (at + 1) % 30) for at in range(30)])
    ways = (np.arange(30)[None] - np.arange(30)[:, None]) % 30.0
    check(tp.solve(a, b, graph=ring, weight=None), groups[0], None, ways)


def test_solutions_can_be_pickled(rng):
    solution = tp.solve(None, None, rng.normal(size=(5, 2)), rng.normal(size=(4, 2)))
    again = pickle.loads(pickle.dumps(solution))
    groups = list("aabbc"), list("xyyx")
    assert again.plan_by(*groups).table.equals(solution.plan_by(*groups).table)
    assert again.value == solution.value and (again.plan != solution.plan).nnz == 0


def test_labels_are_matched_by_the_names_of_points():
    places = pd.DataFrame({"km": [0.0, 1.0, 5.0]}, index=["home", "shop", "work"])
    solution = tp.solve({"home": 3}, {"shop": 1, "work": 2}, points=places)
    kinds = {"work": "far", "home": "near", "shop": "near"}
    for labels in (kinds, pd.Series(kinds)):
        by = solution.plan_by(labels)
        assert by.mass.loc["near", "far"] == 2.0 and by.cost.loc["near", "near"] == 1.0
    with pytest.raises(ValueError, match="labels_a have no entry for 'shop'"):
        solution.plan_by({"home": "near"})


def test_pictures_show_every_pair_of_groups(tmp_path):
    solution = tp.solve([1, 1, 0], [0, 1, 1], points=[[0.0], [1.0], [3.0]])
    by = solution.plan_by(["<a>", "b & c", "d"])
    svg = by.to_svg()
    assert svg.startswith("<svg") and svg.endswith("</svg>") and "&lt;a&gt;" in svg
    assert by.to_svg("mass").count("<title>") == len(by.table)
    assert by._repr_html_() == svg and "source" in repr(by)
    by.save_svg(tmp_path / "plan.svg", "mass")
    assert "currentColor" not in (tmp_path / "plan.svg").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["plan.svg"]
    with pytest.raises(ValueError, match='must be "cost" or "mass"'):
        by.to_svg("flow")
    many = tp.solve(None, None, np.eye(70), np.eye(70)).plan_by(range(70))
    with pytest.raises(ValueError, match="70 by 70 groups are more"):
        many.to_svg()


def test_errors_name_the_side():
    solution = tp.solve(None, None, [[0.0], [1.0]], [[2.0]])
    with pytest.raises(ValueError, match="give labels_b"):
        solution.plan_by(["a", "b"])
    with pytest.raises(ValueError, match="3 labels_b for 1 points"):
        solution.plan_by(["a", "b"], [1, 2, 3])
    with pytest.raises(ValueError, match="labels_a have no label at position 1"):
        solution.plan_by(["a", None], ["b"])
    with pytest.raises(ValueError, match="the points have none"):
        solution.plan_by({0: "a"}, ["b"])
